/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which weeks of a trace tell of demand, and which series each job is of.
 *
 * A tenant's jobs of a class stand alone if they are enough to be fitted: `is_enough`. What is too small is pooled with
 * its like of the same class, and what is still too small then in one series for all classes. Pots are numbered
 * tenant by tenant: (tenant, class), then the pooled ones of each class, then the last.
 */

#include "plan/forecasting.h"

#include <inttypes.h>
#include <stdlib.h>

enum { LEAST_JOBS = 50, MOST_WEEKS = 1040, AFTER = 4 };
static const double least_share = 0.01, least_weeks = 0.75, hardly = 0.5;
static const int64_t nearly_us = 12 * 3600 * HR_SECOND_US;

/* ---- Jobs ------------------------------------------------------------------------------------------- */

double hr__job_gpu_hours(const struct hr_trace *trace, uint32_t job) {
  return (double)hr_trace_gpus_milli(trace, (hr_job){job}) / 1000 *
         ((double)trace->work_us[job] / (3600.0 * HR_SECOND_US));
}

/* ---- Weeks ------------------------------------------------------------------------------------------ */

static int compare_doubles(const void *a, const void *b) {
  double first = *(const double *)a, second = *(const double *)b;
  return (first > second) - (first < second);
}

/* The middle of the next few weeks. */
static double usual_after(const double *week, uint32_t n, uint32_t place) {
  double next[AFTER];
  uint32_t count = 0;
  while (count < AFTER && place + 1 + count < n) {
    next[count] = week[place + 1 + count];
    count++;
  }
  qsort(next, count, sizeof *next, compare_doubles);
  return (next[(count - 1) / 2] + next[count / 2]) / 2;
}

/* A trace often begins before all is recorded. Its first weeks are left out for as long as they have less than half of
   what the next ones have: that is no growth, but a step. Two weeks stay. */
static enum hr_status find_first_week(const struct hr_trace *trace, struct hr__history *demand,
                                      struct hr_error *error) {
  uint32_t n = demand->n_weeks;
  double *week = calloc(n, sizeof *week), total = 0;
  if (!week) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  for (uint32_t i = 0; i < trace->n_jobs && trace->submit_us[i] / HR__WEEK_US < n; i++) {
    week[trace->submit_us[i] / HR__WEEK_US] += hr__job_gpu_hours(trace, i);
    total += hr__job_gpu_hours(trace, i);
  }
  while (demand->first_week + 2 < n && week[demand->first_week] < hardly * usual_after(week, n, demand->first_week))
    demand->first_week++;
  free(week);
  if (total > 0) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: no job asks for GPU time: there is no demand to forecast", trace->source);
}

/* A last week that lacks no more than half a day is whole: jobs do not come at its very end. */
static enum hr_status find_weeks(const struct hr_trace *trace, struct hr__history *demand, struct hr_error *error) {
  int64_t last_us = trace->submit_us[trace->n_jobs - 1], weeks = (last_us + nearly_us) / HR__WEEK_US;
  if (weeks < 2)
    return hr_fail(error, HR_BAD_INPUT,
                   "%s: jobs come over %.1f days: a forecast wants at least 2 whole weeks of them, and 6 for a trend",
                   trace->source, (double)last_us / (86400.0 * HR_SECOND_US));
  if (weeks > MOST_WEEKS)
    return hr_fail(error, HR_BAD_INPUT, "%s: jobs come over %" PRId64 " weeks: at most %d can be fitted", trace->source,
                   weeks, MOST_WEEKS);
  demand->n_weeks = (uint32_t)weeks;
  return find_first_week(trace, demand, error);
}

/* ---- Series ----------------------------------------------------------------------------------------- */

struct pot {
  uint64_t jobs;
  double gpu_hours;
  uint32_t weeks; /* in which jobs came */
  int64_t last_week;
  bool used;       /* a job is in it, be it without GPUs */
  uint32_t series; /* its number + 1 */
};

struct pots {
  struct pot *at;
  uint32_t n_tenants, first_class, last; /* tenants with the unknown one; places of what is pooled */
  double gpu_hours;
};

static void put(struct pots *pots, const struct hr__history *demand, const struct hr_trace *trace, uint32_t place,
                uint32_t job) {
  struct pot *pot = &pots->at[place];
  int64_t week = trace->submit_us[job] / HR__WEEK_US;
  pot->used = true;
  if (week >= demand->n_weeks || hr_trace_gpus_milli(trace, (hr_job){job}) == 0) return;
  pot->jobs++;
  pot->gpu_hours += hr__job_gpu_hours(trace, job);
  if (week < demand->first_week || (pot->weeks > 0 && pot->last_week == week)) return;
  pot->weeks++;
  pot->last_week = week;
}

static bool is_enough(const struct pots *pots, const struct hr__history *demand, const struct pot *pot) {
  return pot->jobs >= LEAST_JOBS && pot->gpu_hours >= least_share * pots->gpu_hours &&
         pot->weeks >= least_weeks * (demand->n_weeks - demand->first_week);
}

static uint32_t class_of(const struct hr_trace *trace, uint32_t job) {
  return trace->class_ ? trace->class_[job] : HR_CLASS_UNKNOWN;
}

static uint32_t place_of(const struct pots *pots, const struct hr_trace *trace, uint32_t job) {
  uint32_t tenant = trace->tenant ? trace->tenant[job] : HR_NONE;
  return (tenant == HR_NONE ? pots->n_tenants - 1 : tenant) * HR_N_CLASSES + class_of(trace, job);
}

/* One tenant and class alone need not be enough: nothing is there to be pooled with. */
static bool is_alone(const struct pots *pots) {
  uint32_t used = 0;
  for (uint32_t i = 0; i < pots->first_class; i++) used += pots->at[i].used;
  return used == 1;
}

/* Where the job's demand is counted in the end. `settled`: pools of classes are full, and may be too small. */
static uint32_t pot_of(const struct pots *pots, const struct hr__history *demand, const struct hr_trace *trace,
                       uint32_t job, bool settled) {
  uint32_t own = place_of(pots, trace, job), pooled = pots->first_class + class_of(trace, job);
  if (is_enough(pots, demand, &pots->at[own])) return own;
  return !settled || is_enough(pots, demand, &pots->at[pooled]) ? pooled : pots->last;
}

/* Notes each job's pot in series_of. */
static void fill_pots(struct pots *pots, const struct hr_trace *trace, struct hr__history *demand) {
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    put(pots, demand, trace, place_of(pots, trace, i), i);
    if (trace->submit_us[i] / HR__WEEK_US < demand->n_weeks) pots->gpu_hours += hr__job_gpu_hours(trace, i);
  }
  bool alone = is_alone(pots);
  for (uint32_t i = 0; i < trace->n_jobs && !alone; i++) {
    uint32_t place = pot_of(pots, demand, trace, i, false);
    if (place >= pots->first_class) put(pots, demand, trace, place, i);
  }
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    uint32_t place = alone ? place_of(pots, trace, i) : pot_of(pots, demand, trace, i, true);
    demand->series_of[i] = place;
    if (place == pots->last) put(pots, demand, trace, place, i);
  }
}

static struct hr__series describe(const struct pots *pots, const struct hr_trace *trace, uint32_t place) {
  struct hr__series series = {.tenant = "(others)", .class_ = "(all)", .jobs = pots->at[place].jobs};
  if (place < pots->last) series.class_ = hr_job_class_name((enum hr_job_class)(place % HR_N_CLASSES));
  if (place < pots->first_class) {
    uint32_t tenant = place / HR_N_CLASSES;
    series.tenant = tenant < trace->tenants.count ? trace->tenants.text[tenant] : "";
  }
  return series;
}

/* Pots that hold jobs are numbered as series, and jobs have their numbers. */
static enum hr_status number_series(struct pots *pots, const struct hr_trace *trace, struct hr__history *demand) {
  for (uint32_t i = 0; i < trace->n_jobs; i++) pots->at[demand->series_of[i]].series = 1;
  for (uint32_t i = 0; i <= pots->last; i++)
    if (pots->at[i].series) pots->at[i].series = ++demand->n_series;
  demand->series = calloc(demand->n_series, sizeof *demand->series);
  if (!demand->series) return HR_NO_MEMORY;
  for (uint32_t i = 0; i <= pots->last; i++)
    if (pots->at[i].series) demand->series[pots->at[i].series - 1] = describe(pots, trace, i);
  for (uint32_t i = 0; i < trace->n_jobs; i++) demand->series_of[i] = pots->at[demand->series_of[i]].series - 1;
  return HR_OK;
}

enum hr_status hr__history_assign(const struct hr_trace *trace, struct hr__history *demand, struct hr_error *error) {
  enum hr_status status = find_weeks(trace, demand, error);
  if (status != HR_OK) return status;
  struct pots pots = {.n_tenants = trace->tenants.count + 1};
  pots.first_class = pots.n_tenants * HR_N_CLASSES;
  pots.last = pots.first_class + HR_N_CLASSES;
  pots.at = calloc(pots.last + 1, sizeof *pots.at);
  demand->series_of = calloc(trace->n_jobs, sizeof *demand->series_of);
  if (pots.at && demand->series_of) {
    fill_pots(&pots, trace, demand);
    status = number_series(&pots, trace, demand);
  } else {
    status = HR_NO_MEMORY;
  }
  free(pots.at);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory");
}
