/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether a budget was passed is for the statements to say, which hold all that a tenant owes. When it was passed is
 * found here: what the tenant's jobs cost is summed up as they go, at the prices of the pools, and the microsecond in
 * which the sum passes the budget is looked for by halving. Where only services or a share of what is idle took a
 * tenant over, that is at the month's end, when they are split.
 */

#include "report/alerts/alert_budgets.h"

#include "base/array.h"
#include "headroom/sim.h"
#include "sim/market/market.h"

#include <stdlib.h>
#include <string.h>

struct purse {
  const struct hr_budget *budget;
  uint32_t tenant; /* of the trace; HR_NONE: none of its jobs are theirs */
  hr_amount limit;
  uint64_t *gpu_milli; /* by pool: held now */
  int64_t until_us;
  hr_amount spent;    /* in the month of `until_us` */
  bool is_passed;     /* in that month */
  int64_t *passed_us; /* by month: when, HR_NEVER_US: not */
  uint32_t n_months, capacity;
};

struct hr__alert_budgets {
  const struct hr_trace *trace;
  const struct hr_alert_rules *rules;
  struct hr__alert_log *log;
  struct hr__price_sums *prices; /* by pool */
  struct purse *purses;
  uint32_t n_pools;
  size_t n_purses;
};

static uint32_t tenant_named(const struct hr_trace *trace, const char *name) {
  for (uint32_t i = 0; trace->tenant && i < trace->tenants.count; i++)
    if (strcmp(trace->tenants.text[i], name) == 0) return i;
  return HR_NONE;
}

static bool purses_init(struct hr__alert_budgets *self, const struct hr_cost_spec *costs) {
  for (size_t i = 0; i < self->n_purses; i++) {
    const struct hr_budget *budget = &costs->budgets[i];
    double limit_uusd = (double)budget->uusd_per_month * self->rules->budget_above;
    self->purses[i] = (struct purse){.budget = budget,
                                     .tenant = tenant_named(self->trace, budget->tenant),
                                     .limit = (hr_amount)limit_uusd * HR_LEDGER_UNITS_PER_UUSD,
                                     .gpu_milli = calloc((size_t)self->n_pools + 1, sizeof(uint64_t))};
    if (!self->purses[i].gpu_milli) return false;
  }
  return true;
}

struct hr__alert_budgets *hr__alert_budgets_create(const struct hr_alerts_config *config, struct hr__alert_log *log) {
  struct hr__alert_budgets *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  bool is_off = config->rules->is_off[HR_ALERT_BUDGET] || !config->costs;
  *self = (struct hr__alert_budgets){.trace = config->trace,
                                     .rules = config->rules,
                                     .log = log,
                                     .n_pools = config->cluster->n_pools,
                                     .n_purses = is_off ? 0 : config->costs->n_budgets};
  self->prices = calloc((size_t)self->n_pools + 1, sizeof *self->prices);
  self->purses = calloc(self->n_purses + 1, sizeof *self->purses);
  bool made = self->prices && self->purses;
  for (uint32_t i = 0; made && self->n_purses && i < self->n_pools; i++)
    made = hr__price_sums_init(&self->prices[i], &config->cluster->pools[i].market) == HR_OK;
  if (made && purses_init(self, config->costs)) return self;
  hr__alert_budgets_destroy(self);
  return NULL;
}

void hr__alert_budgets_destroy(struct hr__alert_budgets *budgets) {
  if (!budgets) return;
  for (uint32_t i = 0; budgets->prices && i < budgets->n_pools; i++) hr__price_sums_finish(&budgets->prices[i]);
  for (size_t i = 0; budgets->purses && i < budgets->n_purses; i++) {
    free(budgets->purses[i].gpu_milli);
    free(budgets->purses[i].passed_us);
  }
  free(budgets->prices);
  free(budgets->purses);
  free(budgets);
}

/* ---- Spending --------------------------------------------------------------------------------------- */

static hr_amount cost_of(const struct hr__alert_budgets *self, const struct purse *purse, int64_t to_us) {
  hr_amount cost = 0;
  for (uint32_t i = 0; i < self->n_pools; i++)
    if (purse->gpu_milli[i])
      cost += (hr_amount)purse->gpu_milli[i] * hr__price_sum_between(&self->prices[i], purse->until_us, to_us);
  return cost;
}

/* The first microsecond at which the budget is passed, which it is by `to_us`. */
static int64_t passing_us(const struct hr__alert_budgets *self, const struct purse *purse, int64_t to_us) {
  int64_t within_us = purse->until_us;
  while (to_us - within_us > 1) {
    int64_t middle_us = within_us + (to_us - within_us) / 2;
    if (purse->spent + cost_of(self, purse, middle_us) > purse->limit)
      to_us = middle_us;
    else
      within_us = middle_us;
  }
  return to_us;
}

static void note_passed(struct hr__alert_budgets *self, struct purse *purse, uint32_t month, int64_t at_us) {
  while (purse->n_months <= month) {
    if (purse->n_months == purse->capacity) {
      int64_t *grown = hr__grown(purse->passed_us, &purse->capacity, sizeof *grown);
      if (!grown) {
        self->log->failed = true;
        return;
      }
      purse->passed_us = grown;
    }
    purse->passed_us[purse->n_months++] = HR_NEVER_US;
  }
  purse->passed_us[month] = at_us;
  purse->is_passed = true;
}

static void spend_until(struct hr__alert_budgets *self, struct purse *purse, int64_t now_us) {
  while (purse->until_us < now_us) {
    int64_t month = purse->until_us / HR_MONTH_US, month_end_us = (month + 1) * HR_MONTH_US;
    int64_t to_us = now_us < month_end_us ? now_us : month_end_us;
    hr_amount spent = purse->spent + cost_of(self, purse, to_us);
    if (spent > purse->limit && !purse->is_passed)
      note_passed(self, purse, (uint32_t)month, passing_us(self, purse, to_us));
    purse->spent = spent;
    purse->until_us = to_us;
    if (to_us < month_end_us) continue;
    purse->spent = 0;
    purse->is_passed = false;
  }
}

void hr__alert_budgets_note(struct hr__alert_budgets *budgets, const struct hr_event *event) {
  bool starts = event->kind == HR_EVENT_START;
  bool stops = event->kind == HR_EVENT_END || event->kind == HR_EVENT_INTERRUPT || event->kind == HR_EVENT_PREEMPT;
  if (budgets->n_purses == 0 || !budgets->trace->tenant || !(starts || stops)) return;
  uint32_t tenant = budgets->trace->tenant[event->job.id];
  for (size_t i = 0; tenant != HR_NONE && i < budgets->n_purses; i++) {
    struct purse *purse = &budgets->purses[i];
    if (purse->tenant != tenant) continue;
    spend_until(budgets, purse, event->at_us);
    uint64_t gpu_milli = hr_placement_milli(event->placement, budgets->trace, event->job);
    purse->gpu_milli[event->placement->pool.id] += starts ? gpu_milli : -gpu_milli;
  }
}

/* ---- The end ---------------------------------------------------------------------------------------- */

static int64_t passed_in(const struct purse *purse, uint32_t month, int64_t month_end_us) {
  int64_t at_us = month < purse->n_months ? purse->passed_us[month] : HR_NEVER_US;
  return at_us < month_end_us ? at_us : month_end_us;
}

void hr__alert_budgets_close(struct hr__alert_budgets *budgets, const struct hr_cost_summary *costs, int64_t end_us) {
  for (size_t i = 0; i < budgets->n_purses; i++) {
    struct purse *purse = &budgets->purses[i];
    spend_until(budgets, purse, end_us);
    for (size_t k = 0; costs && k < costs->n_budgets; k++) {
      const struct hr_budget_line *line = &costs->budgets[k];
      double limit_uusd = (double)line->budget_uusd * budgets->rules->budget_above;
      if (strcmp(line->tenant, purse->budget->tenant) != 0 || (double)line->spent_uusd <= limit_uusd) continue;
      int64_t month_end_us = ((int64_t)line->month + 1) * HR_MONTH_US;
      if (month_end_us > end_us) month_end_us = end_us;
      struct hr_alert alert = {.rule = HR_ALERT_BUDGET,
                               .where = purse->budget->tenant,
                               .begin_us = passed_in(purse, line->month, month_end_us),
                               .end_us = month_end_us,
                               .value = line->budget_uusd ? (double)line->spent_uusd / (double)line->budget_uusd : 0};
      hr__alert_log_add(budgets->log, alert);
    }
  }
}
