/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The campaigns that have jobs left are a heap by when the next one comes. Users hold back when much is running: one
 * that would begin may be put off by a day, which leaves the hours of the day as they are, and may be put off again.
 * Jobs of campaigns that have begun come as they would.
 */

#include "workload/like_flow.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>

enum { DAY_S = 86400 };

/* ---- The heap --------------------------------------------------------------------------------------- */

static bool comes_before(const struct hr__campaign *a, const struct hr__campaign *b) {
  if (a->next_s < b->next_s || a->next_s > b->next_s) return a->next_s < b->next_s;
  if (a->band != b->band) return a->band < b->band;
  return a->number < b->number;
}

static void sift_down(struct hr__flow *flow, uint32_t at) {
  struct hr__campaign *heap = flow->heap, moved = heap[at];
  for (;;) {
    uint32_t child = 2 * at + 1;
    if (child >= flow->n_heap) break;
    if (child + 1 < flow->n_heap && comes_before(&heap[child + 1], &heap[child])) child++;
    if (!comes_before(&heap[child], &moved)) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = moved;
}

static void sift_up(struct hr__flow *flow, uint32_t at) {
  struct hr__campaign *heap = flow->heap, moved = heap[at];
  while (at > 0 && comes_before(&moved, &heap[(at - 1) / 2])) {
    heap[at] = heap[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  heap[at] = moved;
}

static bool begin_campaign(struct hr__flow *flow, uint32_t band) {
  if (flow->n_heap == flow->heap_room) {
    struct hr__campaign *grown = hr__grown(flow->heap, &flow->heap_room, sizeof *grown);
    if (!grown) return false;
    flow->heap = grown;
  }
  hr__campaign_draw(&flow->draws, band, &flow->heap[flow->n_heap++]);
  sift_up(flow, flow->n_heap - 1);
  return true;
}

static uint32_t next_band(const struct hr__flow *flow) {
  uint32_t next = 0;
  for (uint32_t i = 1; i < flow->draws.model->n_bands; i++)
    if (flow->draws.bands[i].starts.next_s < flow->draws.bands[next].starts.next_s) next = i;
  return next;
}

/* Until the first campaign is the one whose job comes next. HR_BAD_INPUT where that is after `last_s`. */
static enum hr_status begin_campaigns(struct hr__flow *flow, double last_s) {
  for (;;) {
    uint32_t band = next_band(flow);
    double begin_s = flow->draws.bands[band].starts.next_s, next_s = flow->n_heap ? flow->heap[0].next_s : HUGE_VAL;
    if (fmin(begin_s, next_s) > last_s) return HR_BAD_INPUT;
    if (begin_s > next_s) return HR_OK;
    if (!begin_campaign(flow, band)) return HR_NO_MEMORY;
  }
}

/* ---- Feedback --------------------------------------------------------------------------------------- */

/* The probability that a campaign begins, `demand` by the mean. */
static double admission(const struct hr_like_holding *holding, double demand) {
  double share = 1;
  for (uint32_t i = 0; i < HR_LIKE_LEVELS && demand > holding->levels[i]; i++) share = holding->admits[i];
  return share;
}

/* Whether the first campaign, none of whose jobs has come, is put off; if so it is. */
static bool put_off(struct hr__flow *flow) {
  const struct hr_like_model *model = flow->draws.model;
  struct hr__campaign *campaign = &flow->heap[0];
  uint64_t gpus_milli = hr__campaign_gpus_milli(campaign);
  if (gpus_milli == 0 || !hr__holds_back(model)) return false;
  double share = 1;
  for (enum hr_like_measure i = 0; i < HR_LIKE_MEASURES; i++)
    share *= admission(&model->holding[i], hr__like_demand_now(&flow->demand, i, gpus_milli) / flow->usual_gpus);
  if (share >= 1 || hr__stream_uniform(&flow->admissions) < share) return false;
  campaign->next_s += DAY_S;
  sift_down(flow, 0);
  return true;
}

/* ---- Jobs ------------------------------------------------------------------------------------------- */

/* The first campaign, whose job was taken, goes to its place. */
static void settle(struct hr__flow *flow) {
  if (!flow->taken) return;
  flow->taken = false;
  if (flow->heap[0].left == 0) flow->heap[0] = flow->heap[--flow->n_heap];
  if (flow->n_heap) sift_down(flow, 0);
}

static enum hr_status take_job(struct hr__flow *flow, struct hr__drawn_job *job) {
  double last_s = (double)flow->warm_ms / 1000 + (double)HR_MAX_INPUT_US / 1e6;
  for (;;) {
    enum hr_status status = begin_campaigns(flow, last_s);
    if (status != HR_OK) return status;
    struct hr__campaign *campaign = &flow->heap[0];
    hr__like_demand_advance(&flow->demand, llround(campaign->next_s * 1000));
    if (!campaign->begun && put_off(flow)) continue;
    hr__job_draw(&flow->draws, campaign, job);
    flow->n_drawn++;
    flow->taken = true;
    return hr__like_demand_add(&flow->demand, job->run_ms, hr__campaign_gpus_milli(campaign));
  }
}

enum hr_status hr__flow_next(struct hr__flow *flow, const struct hr__campaign **campaign, struct hr__drawn_job *job) {
  do {
    settle(flow);
    enum hr_status status = take_job(flow, job);
    if (status != HR_OK) return status;
  } while (job->submit_ms < flow->warm_ms);
  job->submit_ms = llround((double)(job->submit_ms - flow->warm_ms) * flow->stretch);
  *campaign = &flow->heap[0];
  return HR_OK;
}

/* ---- Beginning and end ------------------------------------------------------------------------------ */

enum hr_status hr__flow_init(struct hr__flow *flow, const struct hr_like_model *model, uint64_t seed, double tempo,
                             double usual_gpus) {
  *flow = (struct hr__flow){.stretch = 1};
  enum hr_status status = hr__draws_init(&flow->draws, model, seed);
  if (status != HR_OK) return status;
  flow->warm_ms = (int64_t)hr__draws_begin(&flow->draws, tempo) * HR__LIKE_DAYS * DAY_S * 1000;
  flow->usual_gpus = usual_gpus > 0 ? usual_gpus : hr__draws_gpus(&flow->draws) * tempo;
  hr__stream_init(&flow->admissions, seed, HR__PURPOSE_LIKE_ADMISSION, 0, 0);
  hr__like_demand_init(&flow->demand, 0, flow->warm_ms, flow->usual_gpus, hr__trend_of(model, flow->warm_ms));
  return HR_OK;
}

void hr__flow_finish(struct hr__flow *flow) {
  hr__draws_finish(&flow->draws);
  hr__like_demand_finish(&flow->demand);
  free(flow->heap);
}
