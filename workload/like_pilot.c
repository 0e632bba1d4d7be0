/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload/like_pilot.h"

#include "workload/like_flow.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_JOBS = 20000000, JOBS_OF_ALL = 1500000, WEEK_S = 7 * 86400 };
enum { LEAST_PASSES = 6, MOST_PASSES = 64, STRAIGHT_PASSES = 4 };
static const double near_enough = 0.002, far = 0.01, golden = 0.6180339887498949, most_moved_s = 7200;

/* ---- The usual demand ------------------------------------------------------------------------------- */

enum hr_status hr__pilot_usual(const struct hr_like_model *model, uint64_t seed, double *gpus) {
  *gpus = 0;
  if (!hr__holds_back(model)) return HR_OK;
  struct hr__flow *flow = malloc(sizeof *flow);
  if (!flow) return HR_NO_MEMORY;
  enum hr_status status = hr__flow_init(flow, model, seed, 1, 0);
  struct hr__drawn_job job = {0};
  int64_t end_ms = (int64_t)model->n_weeks * WEEK_S * 1000;
  for (uint32_t i = 0; i < MOST_JOBS && status == HR_OK && job.submit_ms < end_ms; i++) {
    const struct hr__campaign *campaign;
    status = hr__flow_next(flow, &campaign, &job);
  }
  if (status == HR_BAD_INPUT) status = HR_OK; /* no more come */
  *gpus = hr__like_demand_mean(&flow->demand);
  hr__flow_finish(flow);
  free(flow);
  return status;
}

/* ---- The load --------------------------------------------------------------------------------------- */

struct pass {
  double gpus;    /* what the jobs ask for from the first submit to the last; 0 where both are at the same time */
  double last_s;  /* submit */
  uint64_t drawn; /* jobs, those before time 0, too */
};

static enum hr_status draw_pass(const struct hr_like_model *model, const struct hr_like_spec *spec, double wanted_gpus,
                                double tempo, struct pass *pass) {
  struct hr__flow *flow = malloc(sizeof *flow);
  if (!flow) return HR_NO_MEMORY;
  enum hr_status status = hr__flow_init(flow, model, spec->seed, tempo, wanted_gpus);
  uint64_t count = spec->count < MOST_JOBS ? spec->count : MOST_JOBS;
  int64_t first_ms = 0, last_ms = 0;
  double gpu_s = 0;
  for (uint64_t i = 0; i < count && status == HR_OK; i++) {
    const struct hr__campaign *campaign;
    struct hr__drawn_job job;
    status = hr__flow_next(flow, &campaign, &job);
    if (status != HR_OK) break;
    if (i == 0) first_ms = job.submit_ms;
    last_ms = job.submit_ms;
    gpu_s += (double)hr__campaign_gpus_milli(campaign) / 1000 * (double)job.run_ms / 1000;
  }
  if (status == HR_BAD_INPUT) status = HR_OK;
  pass->gpus = last_ms > first_ms ? gpu_s / ((double)(last_ms - first_ms) / 1000) : 0;
  pass->last_s = (double)last_ms / 1000;
  pass->drawn = flow->n_drawn;
  hr__flow_finish(flow);
  free(flow);
  return status;
}

/* Another tempo is another draw of what weeks and days give, so that the load of a few jobs jumps as the tempo moves:
   first straight to where the load should be, then evenly spread about where it would be if it did not jump. What is
   left is made up by stretching the clock: by no more than two hours at its end, so that hours of the day stay what
   they are, but all of it where the tempo alone does not come near. */
static double stretch_for(double off, double last_s) {
  double most = most_moved_s / last_s;
  return fabs(off) > far ? exp(-off) : 1 + fmin(most, fmax(-most, expm1(-off)));
}

enum hr_status hr__pilot_tempo(const struct hr_like_model *model, const struct hr_like_spec *spec, double wanted_gpus,
                               double *tempo, double *stretch) {
  double at = *tempo, off = HUGE_VAL, place = 0;
  uint64_t drawn = 0;
  enum hr_status status = HR_OK;
  *stretch = 1;
  for (uint32_t i = 0; i < MOST_PASSES && fabs(off) > near_enough && status == HR_OK; i++) {
    if (i >= LEAST_PASSES && drawn >= JOBS_OF_ALL) break;
    struct pass pass = {0};
    status = draw_pass(model, spec, wanted_gpus, at, &pass);
    drawn += pass.drawn;
    if (!(pass.gpus > 0)) break;
    double off_now = log(wanted_gpus / pass.gpus);
    if (fabs(off_now) < fabs(off)) {
      off = off_now;
      *tempo = at;
      *stretch = stretch_for(off, pass.last_s);
    }
    place = fmod(place + golden, 1);
    at = i < STRAIGHT_PASSES ? at * exp(fmin(2, fmax(-2, off_now))) : *tempo * exp(off * (3 * place - 0.5));
  }
  return status;
}
