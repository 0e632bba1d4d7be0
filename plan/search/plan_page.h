/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_SEARCH_PLAN_PAGE_H
#define HR_PLAN_SEARCH_PLAN_PAGE_H

/* A plan that is printed. The files that print its parts share this header. */

#include "base/console.h"
#include "plan/search/plan.h"

#include <string.h>

struct hr__plan_page {
  struct hr__console console;
  const struct hr_plan *plan;
};

static inline enum hr_unit hr__plan_page_unit(const struct hr__plan_page *page, size_t metric) {
  return hr__metric_rows[page->plan->goals.metrics[metric].id].unit;
}

/* Whether the objective is one metric in dollars. */
static inline bool hr__plan_page_minimizes_money(const struct hr__plan_page *page) {
  return page->plan->goals.n_terms == 1 && hr__plan_page_unit(page, page->plan->goals.terms[0]) == HR_UNIT_DOLLARS;
}

/* Returns the text that is printed after a difference of the objective: that it is a cost per month, or "" if it is a
   cost of the run. */
static inline const char *hr__plan_page_per_month(const struct hr__plan_page *page) {
  const struct hr__goals *goals = &page->plan->goals;
  bool is_monthly = hr__plan_page_minimizes_money(page) && goals->metrics[goals->terms[0]].id == HR__M_MONTHLY;
  return is_monthly ? " a month" : "";
}

/* Whether the scenario has services and no jobs, so that figures of jobs have no meaning. */
static inline bool hr__plan_has_services_only(const struct hr_plan *plan) {
  return plan->config.trace->n_jobs == 0 && plan->config.scenario->services &&
         plan->config.scenario->services->count > 0;
}

/* Prints text right-aligned in `width` columns. */
static inline void hr__plan_page_put_right(struct hr__plan_page *page, const char *text, size_t width) {
  size_t taken = hr__width_of(text, strlen(text));
  fprintf(page->console.out, "%*s%s", (int)(taken < width ? width - taken : 0), "", text);
}

/* Prints the conditions on which the choice depends, safer mixes, and commitments at risk (robustness_table.c). */
void hr__plan_page_put_certainty(struct hr__plan_page *page);
/* Prints the table of the tested mixes under all conditions. */
void hr__plan_page_put_conditions(struct hr__plan_page *page);

#endif
