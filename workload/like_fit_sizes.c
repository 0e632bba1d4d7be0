/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sizes and cells: run times by number of GPUs and by how long campaigns are, how alike those of a campaign are, what
 * campaigns look like, and at which tempo they go on. A size of fewer than 20 jobs is taken together with the one below
 * it, a cell of fewer than 100 with the one before it, so that no quantile is one job's.
 */

#include "workload/like_fit.h"
#include "workload/like_numbers.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>

enum { LEAST_JOBS_OF_SIZE = 20, LEAST_JOBS_OF_CELL = 100, LEAST_CAMPAIGNS = 5, LEAST_CLAMPED = 10, LEAST_SPREAD = 4 };

static const uint32_t bin_ends[HR_LIKE_MOST_CELLS] = {1, 3, 10, 50, HR_NONE};

const double hr_like_run_p[HR_LIKE_RUN_KNOTS] = {
    0,     0.01,  0.025, 0.05,  0.075, 0.1,   0.125, 0.15,  0.175, 0.2,   0.225, 0.25,  0.275, 0.3,   0.325,
    0.35,  0.375, 0.4,   0.425, 0.45,  0.475, 0.5,   0.525, 0.55,  0.575, 0.6,   0.625, 0.65,  0.675, 0.7,
    0.725, 0.75,  0.775, 0.8,   0.825, 0.85,  0.875, 0.9,   0.925, 0.95,  0.975, 0.99,  0.995, 1};
const double hr_like_p[HR_LIKE_KNOTS] = {0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 0.99, 1};
const double hr_like_stratum_ends[HR_LIKE_STRATA] = {0.2, 0.4, 0.6, 0.8, 0.95, 1};

/* ---- Which size, which cell ------------------------------------------------------------------------- */

static uint8_t place_of(const uint32_t *ends, uint32_t value) {
  uint8_t place = 0;
  while (value > ends[place]) place++;
  return place;
}

/* Where jobs of each place go, so that none has fewer than `least`: to the place below, of the lowest to that above. */
static void join_small(uint64_t *jobs, uint8_t *to, uint8_t n, uint64_t least) {
  for (uint8_t i = 0; i < n; i++) to[i] = i;
  for (uint8_t i = n; i-- > 0;) {
    if (jobs[i] == 0 || jobs[i] >= least) continue;
    uint8_t other = i;
    for (uint8_t k = i; k-- > 0 && other == i;)
      if (jobs[k]) other = k;
    for (uint8_t k = (uint8_t)(i + 1); k < n && other == i; k++)
      if (jobs[k]) other = k;
    jobs[other] += other == i ? 0 : jobs[i];
    if (other != i) jobs[i] = 0;
    for (uint8_t k = 0; k < n; k++)
      if (to[k] == i) to[k] = other;
  }
}

/* Sizes of like rates: up to 1, 4 and 8 GPUs, and more. */
static uint8_t band_of(uint32_t size_end) {
  static const uint32_t ends[HR_LIKE_MOST_BANDS] = {1, 4, 8, HR_NONE};
  return place_of(ends, size_end);
}

static void place_sizes(struct hr__like_fit *fit) {
  uint64_t jobs[HR_LIKE_MOST_SIZES] = {0};
  uint8_t to[HR_LIKE_MOST_SIZES];
  for (uint32_t i = 0; i < fit->n_campaigns; i++) {
    struct hr__like_fit_campaign *campaign = &fit->campaigns[i];
    campaign->size = place_of(fit->size_ends, fit->trace->gpus[fit->order[campaign->first]]);
    jobs[campaign->size] += campaign->n_jobs;
  }
  join_small(jobs, to, HR_LIKE_MOST_SIZES, LEAST_JOBS_OF_SIZE);
  for (uint32_t i = 0; i < fit->n_campaigns; i++) fit->campaigns[i].size = to[fit->campaigns[i].size];
}

static void place_bins(struct hr__like_fit *fit, uint64_t jobs[HR_LIKE_MOST_SIZES][HR_LIKE_MOST_CELLS]) {
  uint8_t to[HR_LIKE_MOST_SIZES][HR_LIKE_MOST_CELLS];
  for (uint32_t i = 0; i < fit->n_campaigns; i++) {
    struct hr__like_fit_campaign *campaign = &fit->campaigns[i];
    campaign->bin = place_of(bin_ends, campaign->n_jobs);
    jobs[campaign->size][campaign->bin] += campaign->n_jobs;
  }
  for (uint32_t size = 0; size < HR_LIKE_MOST_SIZES; size++)
    join_small(jobs[size], to[size], HR_LIKE_MOST_CELLS, LEAST_JOBS_OF_CELL);
  for (uint32_t i = 0; i < fit->n_campaigns; i++)
    fit->campaigns[i].bin = to[fit->campaigns[i].size][fit->campaigns[i].bin];
}

/* ---- One cell --------------------------------------------------------------------------------------- */

/* A run time, or the gap before a job. */
struct timed {
  double log_s;
  uint32_t place;
};

static int by_time(const void *a, const void *b) {
  const struct timed *first = a, *second = b;
  if (first->log_s < second->log_s || first->log_s > second->log_s) return first->log_s < second->log_s ? -1 : 1;
  return first->place < second->place ? -1 : first->place > second->place;
}

static int by_number(const void *a, const void *b) {
  double first = *(const double *)a, second = *(const double *)b;
  return (first > second) - (first < second);
}

/* What a cell is made from; each array has room for all of the trace's jobs. */
struct gathered {
  struct timed *times;
  double *values, *scores;
  uint32_t n_times;
  double bound_s; /* that the trace's run times were cut at; HUGE_VAL: none */
};

/* Normal scores by rank, the same for equal times. */
static void score(const struct timed *times, uint32_t n, double *scores) {
  for (uint32_t first = 0, end = 0; first < n; first = end) {
    while (end < n && times[end].log_s <= times[first].log_s) end++;
    double z = gsl_cdf_ugaussian_Pinv(((double)first + end) / 2 / n);
    for (uint32_t i = first; i < end; i++) scores[times[i].place] = z;
  }
}

/* Beyond what all but one in `n` stay within, the tail goes on as the sample's own, which is told by the exceedances
   over its 95 % quantile: above a higher threshold the law is the same, with its scale moved on. Nothing goes beyond
   what the trace's run times were cut at. */
static void fit_tail(struct hr_like_cell *cell, const double *logs, uint32_t n, double bound_s, double *room) {
  uint32_t first = (uint32_t)(0.95 * (n - 1)) + 1, count = first < n ? n - first : 0;
  double base = gsl_stats_quantile_from_sorted_data(logs, 1, n, 0.95), scale, shape;
  cell->tail_from = 1;
  cell->most_s = exp(logs[n - 1]);
  for (uint32_t i = 0; i < count; i++) room[i] = logs[first + i] - base;
  if (cell->most_s >= bound_s * (1 - 1e-9) || !hr__pareto_fit(room, count, &scale, &shape)) return;
  scale += shape * (logs[n - 1] - base);
  if (!(scale > 1e-6)) return;
  cell->tail_from = 1 - 1.0 / n;
  cell->tail_scale = scale;
  cell->tail_shape = shape;
  cell->most_s = fmin(fmin(bound_s, 4 * exp(logs[n - 1])), (double)HR_MAX_INPUT_US / 1e6);
}

/* The scores of what was gathered; `values` are the logarithms, rising. */
static void rank(struct gathered *gathered, double *scores) {
  uint32_t n = gathered->n_times;
  qsort(gathered->times, n, sizeof *gathered->times, by_time);
  score(gathered->times, n, scores);
  for (uint32_t i = 0; i < n; i++) gathered->values[i] = gathered->times[i].log_s;
}

static void fit_runs(struct hr__like_fit *fit, struct hr_like_cell *cell, struct gathered *gathered) {
  uint32_t n = gathered->n_times;
  rank(gathered, fit->score);
  for (uint32_t k = 0; k < HR_LIKE_RUN_KNOTS; k++)
    cell->run_s[k] = exp(gsl_stats_quantile_from_sorted_data(gathered->values, 1, n, hr_like_run_p[k]));
  fit_tail(cell, gathered->values, n, gathered->bound_s, gathered->values + n);
}

static void fit_knots(double *values, uint32_t n, double knots[HR_LIKE_KNOTS]) {
  for (uint32_t k = 0; k < HR_LIKE_KNOTS; k++) knots[k] = 0;
  if (n == 0) return;
  qsort(values, n, sizeof *values, by_number);
  for (uint32_t k = 0; k < HR_LIKE_KNOTS; k++)
    knots[k] = gsl_stats_quantile_from_sorted_data(values, 1, n, hr_like_p[k]);
}

static void fit_lengths(const struct hr__like_fit *fit, struct hr_like_cell *cell, uint32_t size, uint32_t bin,
                        double *room) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < fit->n_campaigns; i++)
    if (hr__like_fit_is_of(&fit->campaigns[i], size, bin)) room[n++] = fit->campaigns[i].n_jobs;
  fit_knots(room, n, cell->jobs);
}

/* The share of the variance that is between campaigns, of the scores of their jobs from the `skipped`th on. */
static double fit_together(const struct hr__like_fit *fit, uint32_t size, uint32_t bin, const double *scores,
                           uint32_t skipped) {
  struct hr__variances variances = {0};
  for (uint32_t i = 0; i < fit->n_campaigns; i++) {
    const struct hr__like_fit_campaign *campaign = &fit->campaigns[i];
    if (!hr__like_fit_is_of(campaign, size, bin) || campaign->n_jobs == skipped) continue;
    double sum = 0, squares = 0;
    for (uint32_t k = skipped; k < campaign->n_jobs; k++) {
      double z = scores[campaign->first + k];
      sum += z;
      squares += z * z;
    }
    hr__variances_add(&variances, sum, squares, campaign->n_jobs - skipped);
  }
  return variances.n_groups < LEAST_CAMPAIGNS ? 0 : hr__variances_between(&variances, 0);
}

static double spread_of(const double *scores, uint32_t n) {
  return fmin(1, gsl_stats_sd(scores, 1, n));
}

/* How far the scores of a campaign's jobs are from each other, of some campaigns less than of others. Two or three jobs
   tell too little. */
static void fit_spreads(const struct hr__like_fit *fit, struct hr_like_cell *cell, uint32_t size, uint32_t bin,
                        double *room) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < fit->n_campaigns; i++) {
    const struct hr__like_fit_campaign *campaign = &fit->campaigns[i];
    if (hr__like_fit_is_of(campaign, size, bin) && campaign->n_jobs >= LEAST_SPREAD)
      room[n++] = spread_of(fit->score + campaign->first, campaign->n_jobs);
  }
  if (n < LEAST_CAMPAIGNS)
    for (uint32_t k = 0; k < HR_LIKE_KNOTS; k++) cell->spreads[k] = sqrt(1 - cell->together);
  else
    fit_knots(room, n, cell->spreads);
}

static void gather_gaps(const struct hr__like_fit *fit, uint32_t size, uint32_t bin, struct gathered *gathered) {
  const int64_t *submit_us = fit->trace->submit_us;
  gathered->n_times = 0;
  for (uint32_t i = 0; i < fit->n_campaigns; i++) {
    const struct hr__like_fit_campaign *campaign = &fit->campaigns[i];
    for (uint32_t k = 1; hr__like_fit_is_of(campaign, size, bin) && k < campaign->n_jobs; k++) {
      uint32_t place = campaign->first + k;
      double gap_s = (double)(submit_us[fit->order[place]] - submit_us[fit->order[place - 1]]) / 1e6;
      gathered->times[gathered->n_times++] = (struct timed){log1p(gap_s), place};
    }
  }
}

static void fit_gaps(const struct hr__like_fit *fit, struct hr_like_cell *cell, uint32_t size, uint32_t bin,
                     struct gathered *gathered) {
  gather_gaps(fit, size, bin, gathered);
  rank(gathered, gathered->scores);
  for (uint32_t i = 0; i < gathered->n_times; i++) gathered->values[i] = expm1(gathered->values[i]);
  fit_knots(gathered->values, gathered->n_times, cell->gaps_s);
  cell->gaps_together = fit_together(fit, size, bin, gathered->scores, 1);
}

static void gather_runs(const struct hr__like_fit *fit, uint32_t size, uint32_t bin, struct gathered *gathered) {
  gathered->n_times = 0;
  for (uint32_t i = 0; i < fit->n_campaigns; i++) {
    const struct hr__like_fit_campaign *campaign = &fit->campaigns[i];
    for (uint32_t k = 0; hr__like_fit_is_of(campaign, size, bin) && k < campaign->n_jobs; k++) {
      uint32_t place = campaign->first + k;
      double run_s = fmax(1e-3, (double)fit->trace->work_us[fit->order[place]] / 1e6);
      gathered->times[gathered->n_times++] = (struct timed){log(run_s), place};
    }
  }
}

static void fit_cell(struct hr__like_fit *fit, struct hr_like_cell *cell, uint32_t size, uint32_t bin,
                     struct gathered *gathered) {
  gather_runs(fit, size, bin, gathered);
  fit_runs(fit, cell, gathered);
  cell->together = fit_together(fit, size, bin, fit->score, 0);
  fit_spreads(fit, cell, size, bin, gathered->values);
  hr__like_fit_alike(fit, size, bin, cell, gathered->values);
  fit_lengths(fit, cell, size, bin, gathered->values);
  fit_gaps(fit, cell, size, bin, gathered);
}

/* ---- All of them ------------------------------------------------------------------------------------ */

static enum hr_status fit_size(struct hr__like_fit *fit, struct hr_like_size *to, uint32_t size,
                               const uint64_t jobs[HR_LIKE_MOST_CELLS], struct gathered *gathered) {
  to->cells = calloc(HR_LIKE_MOST_CELLS, sizeof *to->cells);
  if (!to->cells) return HR_NO_MEMORY;
  for (uint32_t bin = 0; bin < HR_LIKE_MOST_CELLS; bin++) {
    if (jobs[bin] == 0) continue;
    struct hr_like_cell *cell = &to->cells[to->n_cells++];
    cell->share = (double)jobs[bin];
    fit_cell(fit, cell, size, bin, gathered);
    to->share += (double)jobs[bin];
  }
  return HR_OK;
}

static void join_bands(struct hr__like_fit *fit, uint64_t jobs[HR_LIKE_MOST_SIZES][HR_LIKE_MOST_CELLS]) {
  uint8_t last = UINT8_MAX;
  for (uint32_t size = 0; size < HR_LIKE_MOST_SIZES; size++) {
    uint64_t all = 0;
    for (uint32_t bin = 0; bin < HR_LIKE_MOST_CELLS; bin++) all += jobs[size][bin];
    if (all == 0) continue;
    uint8_t band = band_of(fit->size_ends[size]);
    if (band != last) fit->model->n_bands++;
    last = band;
    fit->band_of_size[size] = (uint8_t)(fit->model->n_bands - 1);
  }
}

static void shares_of_one(struct hr_like_size *size) {
  for (uint32_t i = 0; i < size->n_cells; i++) size->cells[i].share /= size->share;
}

static void shares_of_band(struct hr_like_band *band) {
  double sum = 0;
  for (uint32_t i = 0; i < band->n_sizes; i++) {
    shares_of_one(&band->sizes[i]);
    sum += band->sizes[i].share;
  }
  for (uint32_t i = 0; i < band->n_sizes; i++) band->sizes[i].share /= sum;
}

/* What the users of the trace could get, or cared to ask for, at once. */
static void bound_campaigns(struct hr__like_fit *fit) {
  const struct hr_trace *trace = fit->trace;
  for (uint32_t i = 0; i < fit->n_campaigns; i++) {
    const struct hr__like_fit_campaign *campaign = &fit->campaigns[i];
    double gpu_s = 0;
    for (uint32_t k = campaign->first; k < campaign->first + campaign->n_jobs; k++) {
      uint32_t job = fit->order[k];
      double gpus = (double)hr_trace_gpus_milli(trace, (hr_job){job}) / 1000;
      gpu_s += gpus * (double)trace->work_us[job] / 1e6;
    }
    struct hr_like_size *size = hr__like_fit_size(fit, campaign);
    size->most_gpu_s = fmax(size->most_gpu_s, fmin(gpu_s, 1e18)); /* what a model may say */
  }
}

static enum hr_status fit_all(struct hr__like_fit *fit, struct gathered *gathered) {
  uint64_t jobs[HR_LIKE_MOST_SIZES][HR_LIKE_MOST_CELLS] = {{0}};
  place_sizes(fit);
  place_bins(fit, jobs);
  join_bands(fit, jobs);
  enum hr_status status = HR_OK;
  for (uint32_t size = 0; size < HR_LIKE_MOST_SIZES && status == HR_OK; size++) {
    uint64_t all = 0;
    for (uint32_t bin = 0; bin < HR_LIKE_MOST_CELLS; bin++) all += jobs[size][bin];
    if (all == 0) continue;
    struct hr_like_band *band = &fit->model->bands[fit->band_of_size[size]];
    if (!band->sizes) band->sizes = calloc(HR_LIKE_MOST_SIZES, sizeof *band->sizes);
    fit->index_of_size[size] = (uint8_t)band->n_sizes;
    status = band->sizes ? fit_size(fit, &band->sizes[band->n_sizes++], size, jobs[size], gathered) : HR_NO_MEMORY;
  }
  for (uint32_t i = 0; i < fit->model->n_bands && status == HR_OK; i++) shares_of_band(&fit->model->bands[i]);
  if (status == HR_OK) bound_campaigns(fit);
  return status;
}

/* The longest run time, if several jobs have just that. */
static double bound_of(const struct hr_trace *trace) {
  int64_t longest_us = 0;
  uint32_t n = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    if (trace->work_us[i] > longest_us) n = 0;
    if (trace->work_us[i] >= longest_us) longest_us = trace->work_us[i];
    n += trace->work_us[i] == longest_us;
  }
  return n < LEAST_CLAMPED ? HUGE_VAL : (double)longest_us / 1e6;
}

enum hr_status hr__like_fit_sizes(struct hr__like_fit *fit) {
  uint32_t n = fit->trace->n_jobs;
  struct gathered gathered = {.times = malloc(n * sizeof *gathered.times),
                              .values = malloc(2 * (size_t)n * sizeof *gathered.values),
                              .scores = malloc(n * sizeof *gathered.scores),
                              .bound_s = bound_of(fit->trace)};
  fit->score = calloc(n, sizeof *fit->score);
  bool room = gathered.times && gathered.values && gathered.scores && fit->score;
  enum hr_status status = room ? fit_all(fit, &gathered) : HR_NO_MEMORY;
  free(gathered.times);
  free(gathered.values);
  free(gathered.scores);
  return status;
}
