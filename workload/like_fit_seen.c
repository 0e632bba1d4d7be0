/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload/like_fit_seen.h"

#include "workload/like_flow.h"

#include <math.h>
#include <stdlib.h>

enum { HOUR_MS = 3600000, WEEK_MS = HOUR_MS * HR__HOURS * HR__WEEKDAYS };
static const double level_p[HR_LIKE_LEVELS] = {0.65, 0.75, 0.85, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999};
static const double least_trend = 0.3, least_days = 1.0 / 24;

enum hr_status hr__seen_init(struct hr__seen *seen, const struct hr_like_model *model) {
  *seen = (struct hr__seen){.weeks = calloc((size_t)model->n_bands * model->n_weeks, sizeof *seen->weeks)};
  return seen->weeks ? HR_OK : HR_NO_MEMORY;
}

void hr__seen_finish(struct hr__seen *seen) {
  free(seen->weeks);
}

/* What is seen of the weeks that are kept: from the first submit to the last. On the trace's clock. */
struct window {
  int64_t from_ms, to_ms;
};

static struct window window_of(const struct hr__like_fit *fit) {
  int64_t end_ms = fit->start_us / 1000 + (int64_t)fit->n_weeks * WEEK_MS;
  int64_t last_ms = fit->trace->submit_us[fit->trace->n_jobs - 1] / 1000;
  return (struct window){.from_ms = fit->start_us > 0 ? fit->start_us / 1000 : 0,
                         .to_ms = end_ms < last_ms ? end_ms : last_ms};
}

/* A job of `gpus` GPUs is in use for a part of each of some weeks, while the trace lasts. */
static void add_to_weeks(const struct hr__like_fit *fit, double *weeks, int64_t submit_ms, int64_t run_ms,
                         double gpus) {
  const struct window window = window_of(fit);
  int64_t begin_ms = fit->start_us / 1000, now_ms = submit_ms > window.from_ms ? submit_ms : window.from_ms;
  int64_t end_ms = submit_ms + run_ms < window.to_ms ? submit_ms + run_ms : window.to_ms;
  while (now_ms < end_ms) {
    int64_t week = (now_ms - begin_ms) / WEEK_MS, next_ms = begin_ms + (week + 1) * WEEK_MS;
    if (next_ms > end_ms) next_ms = end_ms;
    weeks[week] += gpus * (double)(next_ms - now_ms) / WEEK_MS;
    now_ms = next_ms;
  }
}

/* ---- The trace -------------------------------------------------------------------------------------- */

/* Demand over the weeks that are kept. */
static enum hr_status run_trace(const struct hr__like_fit *fit, struct hr__like_demand *demand, double usual_gpus) {
  const struct hr_trace *trace = fit->trace;
  const struct window window = window_of(fit);
  enum hr_status status = HR_OK;
  hr__like_demand_init(demand, 0, window.from_ms, usual_gpus, hr__trend_of(fit->model, fit->start_us / 1000));
  for (uint32_t i = 0; i < trace->n_jobs && trace->submit_us[i] / 1000 <= window.to_ms && status == HR_OK; i++) {
    hr__like_demand_advance(demand, trace->submit_us[i] / 1000);
    status = hr__like_demand_add(demand, trace->work_us[i] / 1000, hr_trace_gpus_milli(trace, (hr_job){i}));
  }
  hr__like_demand_advance(demand, window.to_ms);
  return status;
}

static double guess_gpus(const struct hr_trace *trace) {
  double gpu_us = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++)
    gpu_us += (double)hr_trace_gpus_milli(trace, (hr_job){i}) / 1000 * (double)trace->work_us[i];
  return gpu_us / fmax(1, (double)trace->submit_us[trace->n_jobs - 1]);
}

static void sum_weeks(const struct hr__like_fit *fit, struct hr__seen *seen) {
  const struct hr_trace *trace = fit->trace;
  for (uint32_t i = 0; i < fit->n_campaigns; i++) {
    const struct hr__like_fit_campaign *campaign = &fit->campaigns[i];
    double *weeks = &seen->weeks[(size_t)hr__like_fit_band(fit, campaign) * fit->n_weeks];
    for (uint32_t k = campaign->first; k < campaign->first + campaign->n_jobs; k++) {
      hr_job job = {fit->order[k]};
      add_to_weeks(fit, weeks, trace->submit_us[job.id] / 1000, trace->work_us[job.id] / 1000,
                   (double)hr_trace_gpus_milli(trace, job) / 1000);
    }
  }
}

/* A week in which next to nothing ran, as where recording began, tells nothing of what is usual. */
static enum hr_status fit_trend(const struct hr__like_fit *fit, const struct hr__seen *seen) {
  struct hr_like_model *model = fit->model;
  model->trend = calloc(fit->n_weeks, sizeof *model->trend);
  if (!model->trend) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < fit->n_weeks; i++) {
    for (uint32_t band = 0; band < model->n_bands; band++)
      model->trend[i] += seen->weeks[(size_t)band * fit->n_weeks + i];
    double lasted = fmax(least_days, fit->week_days[i]) / HR__WEEKDAYS;
    model->trend[i] = fmax(least_trend, model->trend[i] / lasted / seen->usual_gpus);
  }
  return HR_OK;
}

static void fit_levels(struct hr_like_model *model, const struct hr__like_demand *demand, struct hr__seen *seen) {
  for (enum hr_like_measure measure = 0; measure < HR_LIKE_MEASURES; measure++)
    for (uint32_t i = 0; i < HR_LIKE_LEVELS; i++) {
      double level_gpus = hr__like_demand_quantile(demand, measure, level_p[i]);
      model->holding[measure].levels[i] = level_gpus / seen->usual_gpus;
      seen->times_above[measure][i] = hr__like_demand_share_above(demand, measure, level_gpus);
    }
}

/* Once for the mean, once more for the levels, which are by mean and trend. */
enum hr_status hr__see_trace(struct hr__like_fit *fit, struct hr__seen *seen) {
  struct hr__like_demand demand;
  enum hr_status status = run_trace(fit, &demand, guess_gpus(fit->trace));
  seen->usual_gpus = hr__like_demand_mean(&demand);
  hr__like_demand_finish(&demand);
  if (status != HR_OK || !(seen->usual_gpus > 0)) return status;
  sum_weeks(fit, seen);
  status = fit_trend(fit, seen);
  if (status != HR_OK) return status;
  status = run_trace(fit, &demand, seen->usual_gpus);
  fit_levels(fit->model, &demand, seen);
  hr__like_demand_finish(&demand);
  hr__like_fit_profile(fit, true, seen->hours, seen->weekdays);
  return status;
}

/* ---- A pilot ---------------------------------------------------------------------------------------- */

static void factors_of(double *counts, uint32_t n) {
  double sum = 0;
  for (uint32_t i = 0; i < n; i++) sum += counts[i];
  for (uint32_t i = 0; i < n; i++) counts[i] *= sum > 0 ? n / sum : 0;
}

/* Its time 0 is where the first week of the trace begins. */
static enum hr_status run_pilot(const struct hr__like_fit *fit, struct hr__flow *flow, struct hr__seen *seen) {
  struct hr__drawn_job job = {0};
  for (;;) {
    const struct hr__campaign *campaign;
    enum hr_status status = hr__flow_next(flow, &campaign, &job);
    if (status == HR_BAD_INPUT) return HR_OK; /* no more come */
    if (status != HR_OK) return status;
    if (job.submit_ms >= (int64_t)fit->n_weeks * WEEK_MS) return HR_OK;
    add_to_weeks(fit, &seen->weeks[(size_t)campaign->band * fit->n_weeks], fit->start_us / 1000 + job.submit_ms,
                 job.run_ms, (double)hr__campaign_gpus_milli(campaign) / 1000);
    seen->hours[job.submit_ms / HOUR_MS % HR__HOURS]++;
    seen->weekdays[job.submit_ms / HOUR_MS / HR__HOURS % HR__WEEKDAYS]++;
  }
}

enum hr_status hr__see_pilot(const struct hr__like_fit *fit, uint64_t seed, double usual_gpus, struct hr__seen *seen) {
  const struct hr_like_model *model = fit->model;
  struct hr__flow *flow = malloc(sizeof *flow);
  if (!flow) return HR_NO_MEMORY;
  enum hr_status status = hr__flow_init(flow, model, seed, 1, usual_gpus);
  if (status == HR_OK) status = run_pilot(fit, flow, seen);
  seen->usual_gpus = hr__like_demand_mean(&flow->demand);
  for (enum hr_like_measure measure = 0; measure < HR_LIKE_MEASURES; measure++)
    for (uint32_t i = 0; i < HR_LIKE_LEVELS; i++) {
      double level_gpus = model->holding[measure].levels[i] * seen->usual_gpus;
      seen->times_above[measure][i] = hr__like_demand_share_above(&flow->demand, measure, level_gpus);
    }
  factors_of(seen->hours, HR__HOURS);
  factors_of(seen->weekdays, HR__WEEKDAYS);
  hr__flow_finish(flow);
  free(flow);
  return status;
}
