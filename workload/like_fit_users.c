/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who submits: shares of the campaigns by rank, and how much of the variance of run times is between users. */

#include "workload/like_fit.h"
#include "workload/like_numbers.h"

#include <stdlib.h>

struct person {
  double sum, squares; /* of the mean scores of campaigns */
  uint32_t campaigns;
};

static int by_campaigns(const void *a, const void *b) {
  uint32_t first = ((const struct person *)a)->campaigns, second = ((const struct person *)b)->campaigns;
  return first > second ? -1 : first < second;
}

/* Shares of the campaigns, the largest first; none where nobody is told. */
static enum hr_status rank(struct person *persons, uint32_t n_persons, double **shares, uint32_t *n_shares) {
  qsort(persons, n_persons, sizeof *persons, by_campaigns);
  double sum = 0;
  for (*n_shares = 0; *n_shares < n_persons && *n_shares < HR_LIKE_MOST_RANKS; ++*n_shares) {
    if (persons[*n_shares].campaigns == 0) break;
    sum += persons[*n_shares].campaigns;
  }
  if (*n_shares == 0) return HR_OK;
  *shares = malloc(*n_shares * sizeof **shares);
  if (!*shares) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < *n_shares; i++) (*shares)[i] = persons[i].campaigns / sum;
  return HR_OK;
}

static double mean_score(const struct hr__like_fit *fit, const struct hr__like_fit_campaign *campaign) {
  double sum = 0;
  for (uint32_t k = 0; k < campaign->n_jobs; k++) sum += fit->score[campaign->first + k];
  return sum / campaign->n_jobs;
}

static void count(const struct hr__like_fit *fit, const uint32_t *column, struct person *persons) {
  for (uint32_t i = 0; i < fit->n_campaigns; i++) {
    const struct hr__like_fit_campaign *campaign = &fit->campaigns[i];
    uint32_t who = column[fit->order[campaign->first]];
    if (who == HR_NONE) continue;
    double score = mean_score(fit, campaign);
    persons[who].sum += score;
    persons[who].squares += score * score;
    persons[who].campaigns++;
  }
}

static double between(const struct person *persons, uint32_t n_persons) {
  struct hr__variances variances = {0};
  for (uint32_t i = 0; i < n_persons; i++)
    if (persons[i].campaigns) hr__variances_add(&variances, persons[i].sum, persons[i].squares, persons[i].campaigns);
  double component = hr__variances_component(&variances);
  return component < 0.9 ? component : 0.9;
}

static enum hr_status fit_column(struct hr__like_fit *fit, const uint32_t *column, const struct hr_names *names,
                                 bool told_apart, double **shares, uint32_t *n_shares) {
  struct person *persons = calloc(names->count + 1, sizeof *persons);
  if (!persons) return HR_NO_MEMORY;
  count(fit, column, persons);
  if (told_apart) fit->model->user_together = between(persons, names->count);
  enum hr_status status = rank(persons, names->count, shares, n_shares);
  free(persons);
  return status;
}

enum hr_status hr__like_fit_users(struct hr__like_fit *fit) {
  const struct hr_trace *trace = fit->trace;
  struct hr_like_model *model = fit->model;
  enum hr_status status = HR_OK;
  if (trace->user) status = fit_column(fit, trace->user, &trace->users, true, &model->users, &model->n_users);
  if (status == HR_OK && trace->tenant)
    status = fit_column(fit, trace->tenant, &trace->tenants, !fit->has_users, &model->tenants, &model->n_tenants);
  return status;
}
