/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What campaigns and jobs are. The run time of a job is the quantile of its cell at a probability that comes from a
 * normal score, the sum of a user's part, a campaign's and the job's own.
 */

#include "workload/like_draw.h"
#include "workload/like_course.h"
#include "workload/like_numbers.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

enum { DAY_S = 86400 };
enum { WARM_WEEKS = 4, USUAL_WARM_JOBS = 100000, MOST_WARM_JOBS = 1000000 };

/* Of the root of 2: what asks are taken from fills the interval evenly, and with like_lengths.c's the square. */
static const double ask_step = 0.4142135623730951;

/* ---- Tables ----------------------------------------------------------------------------------------- */

static double *sums_of(const double *shares, uint32_t n) {
  double *sums = malloc(n * sizeof *sums), sum = 0;
  for (uint32_t i = 0; i < n && sums; i++) sums[i] = sum += shares[i];
  return sums;
}

static void init_size(struct hr__band_draws *band, uint32_t place, double jobs_per_day) {
  struct hr__size_draws *at = &band->sizes[place];
  const struct hr_like_size *size = &band->band->sizes[place];
  double cells = 0;
  at->size = size;
  for (uint32_t i = 0; i < size->n_cells; i++) cells += size->cells[i].share;
  for (uint32_t i = 0; i < size->n_cells; i++) {
    struct hr__cell_draws *cell = &at->cells[i];
    cell->cell = &size->cells[i];
    cell->runs = &band->runs[place * HR_LIKE_MOST_CELLS + i];
    cell->scores = &band->scores[place * HR_LIKE_MOST_CELLS + i];
    double share = cell->cell->share / cells;
    cell->campaigns = jobs_per_day * share / hr__mean_jobs(cell->cell);
    at->campaigns += cell->campaigns;
    at->gpu_s += share * hr__mean_gpus(size) * hr__run_times_mean(cell->runs);
  }
  for (uint32_t i = 0; i < size->n_asks; i++) at->asks += size->asks[i].share;
}

/* How many jobs of each cell come in each week, [n_sizes][HR_LIKE_MOST_CELLS][n_weeks]. NULL when out of memory. */
static double *jobs_by_week(const struct hr_like_band *band, const struct hr__score_map *lengths, uint32_t n_weeks) {
  double scores[HR__QUANTILE_STEPS], by_cell[HR_LIKE_MOST_CELLS];
  double *jobs = calloc((size_t)band->n_sizes * HR_LIKE_MOST_CELLS * n_weeks, sizeof *jobs);
  hr__quantile_scores(scores);
  for (uint32_t i = 0; i < band->n_sizes && jobs; i++)
    for (uint32_t week = 0; week < n_weeks; week++) {
      hr__jobs_by_cell(&band->sizes[i], lengths, scores, band->length_shifts[week], by_cell);
      for (uint32_t k = 0; k < HR_LIKE_MOST_CELLS; k++)
        jobs[((size_t)i * HR_LIKE_MOST_CELLS + k) * n_weeks + week] = band->weeks[week] * by_cell[k];
    }
  return jobs;
}

/* Over all weeks the jobs of each cell have its law, whatever the weeks in which most of them come. */
static bool init_scores(struct hr__band_draws *draws, uint32_t n_weeks) {
  const struct hr_like_band *band = draws->band;
  uint32_t n_maps = band->n_sizes * HR_LIKE_MOST_CELLS;
  double *jobs = jobs_by_week(band, &draws->lengths, n_weeks);
  draws->scores = malloc(n_maps * sizeof *draws->scores);
  if (jobs && draws->scores) hr__score_maps_init(draws->scores, n_maps, band->shifts, jobs, n_weeks);
  free(jobs);
  return jobs && draws->scores;
}

static bool init_band(struct hr__draws *draws, uint32_t band) {
  const struct hr_like_band *from = &draws->model->bands[band];
  struct hr__band_draws *to = &draws->bands[band];
  struct hr__stream stream;
  hr__stream_init(&stream, draws->seed, HR__PURPOSE_LIKE_SEQUENCE, band, 0);
  double shares = 0;
  to->band = from;
  to->runs = hr__run_times_of(from);
  hr__score_map_init(&to->lengths, from->length_shifts, from->weeks, draws->model->n_weeks);
  if (!to->runs || !init_scores(to, draws->model->n_weeks)) return false;
  for (uint32_t i = 0; i < from->n_sizes; i++) shares += from->sizes[i].share;
  for (uint32_t i = 0; i < from->n_sizes; i++) {
    double jobs_per_day = from->jobs_per_day * from->sizes[i].share / shares;
    init_size(to, i, jobs_per_day);
    to->sizes[i].ask_at = hr__stream_uniform(&stream);
    to->campaigns += to->sizes[i].campaigns;
    to->gpu_s += jobs_per_day * to->sizes[i].gpu_s;
  }
  hr__lengths_init(to, &stream);
  return true;
}

enum hr_status hr__draws_init(struct hr__draws *draws, const struct hr_like_model *model, uint64_t seed) {
  static const double none = 0, all = 1;
  *draws = (struct hr__draws){.model = model, .seed = seed};
  hr__score_map_init(&draws->plain, &none, &all, 1);
  hr__candidates_init(draws);
  bool whole = true;
  for (uint32_t i = 0; i < model->n_bands; i++) whole = init_band(draws, i) && whole;
  if (model->n_users) draws->users = sums_of(model->users, model->n_users);
  if (model->n_tenants) draws->tenants = sums_of(model->tenants, model->n_tenants);
  whole = whole && (!model->n_users || draws->users) && (!model->n_tenants || draws->tenants);
  return whole ? HR_OK : HR_NO_MEMORY;
}

void hr__draws_finish(struct hr__draws *draws) {
  for (uint32_t i = 0; i < HR_LIKE_MOST_BANDS; i++) {
    free(draws->bands[i].runs);
    free(draws->bands[i].scores);
  }
  free(draws->users);
  free(draws->tenants);
}

/* Weeks that campaigns and jobs of before are taken from: four, fewer where that is too many jobs. */
static uint32_t warm_weeks(const struct hr__draws *draws, double tempo) {
  double per_week = 0;
  for (uint32_t i = 0; i < draws->model->n_bands; i++) per_week += 7 * tempo * draws->model->bands[i].jobs_per_day;
  return (uint32_t)fmin(WARM_WEEKS, fmax(per_week < MOST_WARM_JOBS, USUAL_WARM_JOBS / fmax(1, per_week)));
}

uint32_t hr__draws_begin(struct hr__draws *draws, double tempo) {
  uint32_t weeks = warm_weeks(draws, tempo);
  draws->tempo = tempo;
  draws->warm_weeks = weeks;
  for (uint32_t i = 0; i < draws->model->n_bands; i++)
    if (draws->bands[i].campaigns > 0)
      hr__starts_init(&draws->bands[i].starts, draws->model, i, draws->bands[i].campaigns * tempo, weeks, draws->seed);
    else
      draws->bands[i].starts.next_s = HUGE_VAL;
  return weeks;
}

double hr__draws_gpus(const struct hr__draws *draws) {
  double gpu_s = 0;
  for (uint32_t i = 0; i < draws->model->n_bands; i++) gpu_s += draws->bands[i].gpu_s;
  return gpu_s / DAY_S;
}

/* ---- A campaign ------------------------------------------------------------------------------------- */

static double normal(struct hr__stream *stream) {
  return gsl_cdf_ugaussian_Pinv(hr__stream_uniform(stream));
}

/* Who submits; the normal score of that user, or of the tenant where the model has no users. */
static double draw_user(const struct hr__draws *draws, struct hr__stream *stream, struct hr__campaign *campaign) {
  const struct hr_like_model *model = draws->model;
  double p = hr__stream_uniform(stream);
  campaign->user = model->n_users ? hr__weighted_place(draws->users, model->n_users, p) : HR_NONE;
  bool by_tenant = !model->n_users && model->n_tenants;
  uint32_t tenant = by_tenant ? hr__weighted_place(draws->tenants, model->n_tenants, p) : HR_NONE;
  if (!model->n_users && !by_tenant) {
    campaign->tenant = HR_NONE;
    return normal(stream);
  }
  struct hr__stream own;
  hr__stream_init(&own, draws->seed, HR__PURPOSE_LIKE_USER, by_tenant ? tenant : campaign->user, 0);
  double score = normal(&own), place = hr__stream_uniform(&own);
  if (!by_tenant && model->n_tenants) tenant = hr__weighted_place(draws->tenants, model->n_tenants, place);
  campaign->tenant = tenant;
  return score;
}

static void draw_ask(struct hr__size_draws *size, struct hr__stream *stream, struct hr__campaign *campaign) {
  bool again = hr__stream_uniform(stream) < size->size->repeats && size->last;
  size->ask_at += ask_step;
  if (size->ask_at >= 1) size->ask_at -= 1;
  double left = size->ask_at * size->asks;
  uint32_t ask = 0;
  while (ask + 1 < size->size->n_asks && left >= size->size->asks[ask].share) left -= size->size->asks[ask++].share;
  if (!again) size->last = &size->size->asks[ask];
  campaign->ask = size->last;
}

static uint32_t week_of(const struct hr__draws *draws, double at_s) {
  return hr__week_of(draws->model, draws->warm_weeks, (int64_t)(at_s / (HR__LIKE_DAYS * DAY_S)));
}

void hr__campaign_draw(struct hr__draws *draws, uint32_t band, struct hr__campaign *campaign) {
  struct hr__band_draws *from = &draws->bands[band];
  struct hr__stream stream;
  *campaign = (struct hr__campaign){.next_s = from->starts.next_s, .number = from->n_campaigns++};
  hr__stream_init(&stream, draws->seed, HR__PURPOSE_LIKE_CAMPAIGN, campaign->number, band);
  hr__stream_init(&campaign->stream, draws->seed, HR__PURPOSE_LIKE_JOBS, campaign->number, band);
  campaign->band = (uint8_t)band;
  uint32_t week = week_of(draws, campaign->next_s);
  campaign->shift = from->band->shifts[week];
  hr__length_draw(draws, week, &stream, campaign);
  struct hr__size_draws *size = &from->sizes[campaign->size];
  draw_ask(size, &stream, campaign);
  double user = draw_user(draws, &stream, campaign);
  hr__candidates_draw(draws, user, &stream, campaign);
  bool has_limit = hr__stream_uniform(&stream) < draws->model->limit_share;
  campaign->limit_p = has_limit ? hr__stream_uniform(&stream) : -1;
  campaign->common_gap = sqrt(size->cells[campaign->cell].cell->gaps_together) * normal(&stream);
  hr__starts_advance(&from->starts);
}

/* ---- A job ------------------------------------------------------------------------------------------ */

static uint32_t stratum_of(double p) {
  uint32_t stratum = 0;
  while (stratum + 1 < HR_LIKE_STRATA && p > hr_like_stratum_ends[stratum]) stratum++;
  return stratum;
}

static enum hr_outcome draw_outcome(const struct hr_like_outcomes *outcomes, double p) {
  if (p < outcomes->completed) return HR_OUTCOME_COMPLETED;
  p -= outcomes->completed;
  if (p < outcomes->failed) return HR_OUTCOME_FAILED;
  return p - outcomes->failed < outcomes->cancelled ? HR_OUTCOME_CANCELLED : HR_OUTCOME_UNKNOWN;
}

static int64_t limit_of(const struct hr_like_model *model, const struct hr__campaign *campaign, uint32_t stratum,
                        int64_t run_ms) {
  if (campaign->limit_p < 0) return -1;
  double part;
  const double *ratios = model->limit_ratios[stratum];
  uint32_t low = hr__knot_below(hr_like_p, HR_LIKE_KNOTS, campaign->limit_p, &part);
  double ratio = ratios[low] + (ratios[low + 1] - ratios[low]) * part;
  return llround(fmax(1, fmin((double)run_ms * ratio, 1e13)));
}

/* Gaps are taken between knots by a straight line of log(1 + gap): most are short, some very long. */
static double gap_of(const struct hr_like_cell *cell, double p) {
  double part;
  uint32_t low = hr__knot_below(hr_like_p, HR_LIKE_KNOTS, p, &part);
  double from = log1p(cell->gaps_s[low]), to = log1p(cell->gaps_s[low + 1]);
  return expm1(from + (to - from) * part);
}

/* The job's own part of the score: that of the job before, or a level's, which holds on, and what is this job's alone.
 */
static void draw_own(const struct hr_like_cell *cell, struct hr__campaign *campaign) {
  bool again = campaign->begun && hr__stream_uniform(&campaign->stream) < cell->alike[campaign->pause];
  double held = campaign->begun ? cell->holds[campaign->pause] : 0;
  campaign->begun = true;
  if (again) return;
  campaign->last = sqrt(1 - cell->steady) * normal(&campaign->stream);
  if (!(cell->steady > 0)) return;
  campaign->level = held * campaign->level + sqrt(1 - held * held) * normal(&campaign->stream);
  campaign->last += sqrt(cell->steady) * campaign->level;
}

void hr__job_draw(struct hr__draws *draws, struct hr__campaign *campaign, struct hr__drawn_job *job) {
  const struct hr__size_draws *size = &draws->bands[campaign->band].sizes[campaign->size];
  const struct hr__cell_draws *cell = &size->cells[campaign->cell];
  draw_own(cell->cell, campaign);
  double score = campaign->common + campaign->own * campaign->last;
  double p = fmin(1 - 1e-12, fmax(1e-12, hr__score_map_p(cell->scores, score + campaign->shift)));
  uint32_t stratum = stratum_of(p);
  job->submit_ms = llround(campaign->next_s * 1000);
  job->run_ms = llround(hr__run_times_quantile(cell->runs, p) * 1000);
  if (job->run_ms < 1) job->run_ms = 1;
  job->limit_ms = limit_of(draws->model, campaign, stratum, job->run_ms);
  job->outcome = draw_outcome(&size->size->outcomes[stratum], hr__stream_uniform(&campaign->stream));
  double gap = campaign->common_gap + sqrt(1 - cell->cell->gaps_together) * normal(&campaign->stream);
  double gap_s = gap_of(cell->cell, hr__score_map_p(&draws->plain, gap));
  campaign->next_s += gap_s;
  campaign->pause = (uint8_t)hr__like_pause(gap_s);
  campaign->left--;
}
