/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How users hold back when much is running. Demand is the GPUs that would be in use if every job ran at once. Of the
 * trace it is known how much of the time it is above a level, and how many campaigns of each band begin while it is.
 * Of drawn jobs both can only be seen: pilots are drawn with the probabilities at hand, which are then moved so that
 * the next ones come nearer, in steps that grow shorter (Robbins and Monro, Ann. Math. Statist. 22, 1951); the means of
 * the later half are kept. The same pilots tell how hours and weekdays of beginnings must be for those of jobs to be
 * the trace's.
 */

#include "workload/like_fit.h"
#include "workload/like_flow.h"

#include <math.h>
#include <stdlib.h>

enum { LEAST_JOBS = 1000, SEEDS = 10, FIRST_SEED = 1000, MOST_ROUNDS = 30, LEAST_ROUNDS = 5, JOBS_OF_ALL = 4000000 };
enum { HOUR_MS = 3600000, HOURS = 24, DAYS = 7, WEEK_MS = HOUR_MS * HOURS * DAYS };
static const double level_p[HR_LIKE_LEVELS] = {0.5, 0.65, 0.75, 0.85, 0.9, 0.95, 0.975, 0.99, 0.999};
static const double least_share = 0.02, time_weight = 0.5;

/* What is seen of a trace, or of a pilot. */
struct seen {
  double usual_gpus;
  double times_above[HR_LIKE_LEVELS]; /* shares of the time */
  struct hr__begins begins[HR_LIKE_MOST_BANDS];
  double hours[HOURS], weekdays[DAYS]; /* of the jobs: factors of their rate */
};

struct search {
  struct hr__like_fit *fit;
  struct seen trace, pilot;
  double usual_gpus[SEEDS]; /* of the pilots */
  double logs[HR_LIKE_MOST_BANDS][HR_LIKE_LEVELS];
  uint32_t n_rounds, n_kept;
};

/* ---- The trace -------------------------------------------------------------------------------------- */

static int64_t end_of_weeks_ms(const struct hr__like_fit *fit) {
  int64_t end_ms = fit->start_us / 1000 + (int64_t)fit->n_weeks * WEEK_MS;
  int64_t last_ms = fit->trace->submit_us[fit->trace->n_jobs - 1] / 1000;
  return end_ms < last_ms ? end_ms : last_ms;
}

/* Demand over the weeks that are kept. With `bands` [n_jobs]: of the jobs that a campaign begins with, else HR_NONE,
   whose beginnings are counted. */
static enum hr_status run_trace(const struct hr__like_fit *fit, struct hr__like_demand *demand, const uint8_t *bands,
                                struct seen *seen) {
  const struct hr_trace *trace = fit->trace;
  int64_t end_ms = end_of_weeks_ms(fit);
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < trace->n_jobs && trace->submit_us[i] / 1000 <= end_ms && status == HR_OK; i++) {
    uint64_t gpus_milli = hr_trace_gpus_milli(trace, (hr_job){i});
    hr__like_demand_advance(demand, trace->submit_us[i] / 1000);
    status = hr__like_demand_add(demand, trace->work_us[i] / 1000, gpus_milli);
    if (!bands || bands[i] == UINT8_MAX || gpus_milli == 0) continue;
    hr__begins_add(&seen->begins[bands[i]], fit->model->levels, (double)demand->in_use_milli / 1000 / seen->usual_gpus);
  }
  hr__like_demand_advance(demand, end_ms);
  return status;
}

static uint8_t *bands_of_jobs(const struct hr__like_fit *fit) {
  uint8_t *bands = malloc(fit->trace->n_jobs);
  for (uint32_t i = 0; i < fit->trace->n_jobs && bands; i++) bands[i] = UINT8_MAX;
  for (uint32_t i = 0; i < fit->n_campaigns && bands; i++) {
    const struct hr__like_fit_campaign *campaign = &fit->campaigns[i];
    if (hr__like_fit_week(fit, campaign->start_us) != HR_NONE)
      bands[fit->order[campaign->first]] = (uint8_t)hr__like_fit_band(fit, campaign);
  }
  return bands;
}

static double guess_gpus(const struct hr_trace *trace) {
  double gpu_us = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++)
    gpu_us += (double)hr_trace_gpus_milli(trace, (hr_job){i}) / 1000 * (double)trace->work_us[i];
  return gpu_us / fmax(1, (double)trace->submit_us[trace->n_jobs - 1]);
}

/* Once for the mean and the levels, once more for what is above them. */
static enum hr_status see_trace(struct hr__like_fit *fit, struct seen *seen) {
  int64_t from_ms = fit->start_us > 0 ? fit->start_us / 1000 : 0;
  struct hr__like_demand demand;
  hr__like_demand_init(&demand, 0, from_ms, guess_gpus(fit->trace));
  enum hr_status status = run_trace(fit, &demand, NULL, seen);
  seen->usual_gpus = hr__like_demand_mean(&demand);
  for (uint32_t i = 0; i < HR_LIKE_LEVELS && seen->usual_gpus > 0; i++) {
    double level_gpus = hr__like_demand_quantile(&demand, level_p[i]);
    fit->model->levels[i] = level_gpus / seen->usual_gpus;
    seen->times_above[i] = hr__like_demand_share_above(&demand, level_gpus);
  }
  hr__like_demand_finish(&demand);
  uint8_t *bands = status == HR_OK ? bands_of_jobs(fit) : NULL;
  if (!bands) return HR_NO_MEMORY;
  hr__like_demand_init(&demand, 0, from_ms, seen->usual_gpus);
  status = run_trace(fit, &demand, bands, seen);
  hr__like_demand_finish(&demand);
  free(bands);
  hr__like_fit_profile(fit, true, seen->hours, seen->weekdays);
  return status;
}

/* ---- A pilot ---------------------------------------------------------------------------------------- */

static void factors_of(double *counts, uint32_t n) {
  double sum = 0;
  for (uint32_t i = 0; i < n; i++) sum += counts[i];
  for (uint32_t i = 0; i < n; i++) counts[i] *= sum > 0 ? n / sum : 0;
}

static enum hr_status run_pilot(struct hr__flow *flow, int64_t end_ms, struct seen *seen) {
  struct hr__drawn_job job = {0};
  for (;;) {
    const struct hr__campaign *campaign;
    enum hr_status status = hr__flow_next(flow, &campaign, &job);
    if (status != HR_OK) return status;
    if (job.submit_ms >= end_ms) return HR_OK;
    seen->hours[job.submit_ms / HOUR_MS % HOURS]++;
    seen->weekdays[job.submit_ms / HOUR_MS / HOURS % DAYS]++;
  }
}

static enum hr_status see_pilot(struct search *search, uint32_t round) {
  const struct hr_like_model *model = search->fit->model;
  struct seen *seen = &search->pilot;
  struct hr__flow *flow = malloc(sizeof *flow);
  if (!flow) return HR_NO_MEMORY;
  *seen = (struct seen){0};
  double *usual_gpus = &search->usual_gpus[round % SEEDS];
  enum hr_status status = hr__flow_init(flow, model, FIRST_SEED + round % SEEDS, 1, *usual_gpus);
  if (status == HR_OK) status = run_pilot(flow, (int64_t)search->fit->n_weeks * WEEK_MS, seen);
  seen->usual_gpus = *usual_gpus = hr__like_demand_mean(&flow->demand);
  for (uint32_t i = 0; i < HR_LIKE_LEVELS; i++)
    seen->times_above[i] = hr__like_demand_share_above(&flow->demand, model->levels[i] * seen->usual_gpus);
  for (uint32_t i = 0; i < model->n_bands; i++) seen->begins[i] = flow->begins[i];
  factors_of(seen->hours, HOURS);
  factors_of(seen->weekdays, DAYS);
  hr__flow_finish(flow);
  free(flow);
  return status;
}

/* ---- The search ------------------------------------------------------------------------------------- */

/* How many times as often as in the pilot a level should be exceeded; what a few campaigns tell counts for little. */
static double want_of(const struct search *search, uint32_t band, uint32_t level) {
  const struct seen *trace = &search->trace, *pilot = &search->pilot;
  double begins = ((double)trace->begins[band].above[level] + 2) / ((double)trace->begins[band].n + 2) /
                  (((double)pilot->begins[band].above[level] + 2) / ((double)pilot->begins[band].n + 2));
  double times = (trace->times_above[level] + 1e-3) / (pilot->times_above[level] + 1e-3);
  return pow(begins, 1 - time_weight) * pow(times, time_weight);
}

static void move_shares(struct search *search, double step, bool kept) {
  struct hr_like_model *model = search->fit->model;
  for (uint32_t band = 0; band < model->n_bands; band++) {
    double *admits = model->bands[band].admits, most = 1;
    for (uint32_t i = 0; i < HR_LIKE_LEVELS; i++) {
      double share = fmin(1, fmax(least_share, admits[i] * pow(want_of(search, band, i), step)));
      if (kept) search->logs[band][i] += log(share) / search->n_kept;
      admits[i] = most = fmin(most, share);
    }
  }
}

static void move_factors(double *factors, const double *wanted, const double *had, uint32_t n, double step) {
  for (uint32_t i = 0; i < n; i++)
    if (wanted[i] > 0.01 && had[i] > 0.01) factors[i] *= pow(wanted[i] / had[i], step);
  factors_of(factors, n);
}

static void keep_means(struct search *search) {
  for (uint32_t band = 0; band < search->fit->model->n_bands; band++) {
    double *admits = search->fit->model->bands[band].admits, most = 1;
    for (uint32_t i = 0; i < HR_LIKE_LEVELS; i++) admits[i] = most = fmin(most, exp(search->logs[band][i]));
  }
}

static enum hr_status seek(struct search *search) {
  struct hr_like_model *model = search->fit->model;
  enum hr_status status = HR_OK;
  for (uint32_t round = 0; round < search->n_rounds && status == HR_OK; round++) {
    status = see_pilot(search, round);
    double step = 0.7 / (1 + round / 5.0);
    move_shares(search, step, round >= search->n_rounds - search->n_kept);
    move_factors(model->hours, search->trace.hours, search->pilot.hours, HOURS, step / 2);
    move_factors(model->weekdays, search->trace.weekdays, search->pilot.weekdays, DAYS, step / 2);
  }
  keep_means(search);
  return status;
}

static void admit_all(struct hr_like_model *model) {
  for (uint32_t band = 0; band < model->n_bands; band++)
    for (uint32_t i = 0; i < HR_LIKE_LEVELS; i++) model->bands[band].admits[i] = 1;
}

/* A short trace, or one of less than two weeks, tells too little. */
enum hr_status hr__like_fit_feedback(struct hr__like_fit *fit) {
  uint32_t n_jobs = fit->trace->n_jobs;
  admit_all(fit->model);
  if (n_jobs < LEAST_JOBS || fit->model->n_weeks < 2) return HR_OK;
  struct search *search = calloc(1, sizeof *search);
  if (!search) return HR_NO_MEMORY;
  search->fit = fit;
  uint32_t rounds = JOBS_OF_ALL / n_jobs;
  search->n_rounds = rounds < LEAST_ROUNDS ? LEAST_ROUNDS : rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds;
  search->n_kept = (search->n_rounds + 1) / 2;
  enum hr_status status = see_trace(fit, &search->trace);
  if (status == HR_OK && search->trace.usual_gpus > 0) status = seek(search);
  free(search);
  return status;
}
