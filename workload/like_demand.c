/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload/like_demand.h"

#include <math.h>

enum { BINS_OF_USUAL = 64 };

void hr__like_demand_init(struct hr__like_demand *demand, int64_t now_ms, int64_t from_ms, double usual_gpus) {
  *demand = (struct hr__like_demand){
      .now_ms = now_ms, .from_ms = from_ms, .bin_gpus = fmax(usual_gpus, 1e-3) / BINS_OF_USUAL};
}

void hr__like_demand_finish(struct hr__like_demand *demand) {
  hr__event_heap_finish(&demand->ends);
}

/* What was in use stays so until then. */
static void pass(struct hr__like_demand *demand, int64_t at_ms) {
  int64_t from_ms = demand->now_ms > demand->from_ms ? demand->now_ms : demand->from_ms;
  demand->now_ms = at_ms;
  if (at_ms <= from_ms) return;
  double seconds = (double)(at_ms - from_ms) / 1000, gpus = (double)demand->in_use_milli / 1000;
  double bin = fmin(HR__DEMAND_BINS - 1, gpus / demand->bin_gpus);
  demand->seconds[(uint32_t)bin] += seconds;
  demand->gpu_s += seconds * gpus;
}

void hr__like_demand_advance(struct hr__like_demand *demand, int64_t at_ms) {
  while (demand->ends.count && demand->ends.entries[0].at_us <= at_ms) {
    struct hr__pending end = hr__event_heap_pop(&demand->ends);
    pass(demand, end.at_us);
    demand->in_use_milli -= hr__pending_entity(end);
  }
  pass(demand, at_ms);
}

enum hr_status hr__like_demand_add(struct hr__like_demand *demand, int64_t run_ms, uint64_t gpus_milli) {
  if (gpus_milli == 0 || run_ms <= 0) return HR_OK;
  demand->in_use_milli += gpus_milli;
  return hr__event_heap_push(&demand->ends,
                             hr__pending(demand->now_ms + run_ms, HR__PENDING_END, (uint32_t)gpus_milli));
}

/* ---- What it was ------------------------------------------------------------------------------------ */

static double time_of(const struct hr__like_demand *demand) {
  double sum = 0;
  for (uint32_t i = 0; i < HR__DEMAND_BINS; i++) sum += demand->seconds[i];
  return sum;
}

double hr__like_demand_mean(const struct hr__like_demand *demand) {
  double time_s = time_of(demand);
  return time_s > 0 ? demand->gpu_s / time_s : 0;
}

double hr__like_demand_quantile(const struct hr__like_demand *demand, double p) {
  double left = p * time_of(demand);
  uint32_t bin = 0;
  while (bin + 1 < HR__DEMAND_BINS && left > demand->seconds[bin]) left -= demand->seconds[bin++];
  double part = demand->seconds[bin] > 0 ? fmin(1, left / demand->seconds[bin]) : 0;
  return (bin + part) * demand->bin_gpus;
}

double hr__like_demand_share_above(const struct hr__like_demand *demand, double gpus) {
  double at = gpus / demand->bin_gpus, above = 0, time_s = time_of(demand);
  for (uint32_t i = 0; i < HR__DEMAND_BINS; i++) above += demand->seconds[i] * fmin(1, fmax(0, i + 1 - at));
  return time_s > 0 ? above / time_s : 0;
}
