/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload/like_demand.h"

#include <math.h>

enum { BINS_OF_USUAL = 64, WEEK_MS = 7 * 86400 * 1000 };

double hr__trend_at(struct hr__trend trend, int64_t at_ms) {
  if (trend.n_weeks == 0) return 1;
  double from_middle = (double)(at_ms - trend.from_ms) / WEEK_MS - 0.5;
  if (from_middle <= 0) return trend.weeks[0];
  double whole = floor(from_middle);
  uint32_t week = (uint32_t)fmod(whole, trend.n_weeks), next = (week + 1) % trend.n_weeks;
  return trend.weeks[week] + (trend.weeks[next] - trend.weeks[week]) * (from_middle - whole);
}

void hr__like_demand_init(struct hr__like_demand *demand, int64_t now_ms, int64_t from_ms, double usual_gpus,
                          struct hr__trend trend) {
  *demand = (struct hr__like_demand){
      .now_ms = now_ms, .from_ms = from_ms, .trend = trend, .bin_gpus = fmax(usual_gpus, 1e-3) / BINS_OF_USUAL};
}

void hr__like_demand_finish(struct hr__like_demand *demand) {
  hr__event_heap_finish(&demand->ends);
}

double hr__like_demand_now(const struct hr__like_demand *demand, enum hr_like_measure measure, uint64_t more_milli) {
  double gpus = (double)(demand->in_use_milli + more_milli) / 1000;
  if (measure == HR_LIKE_BY_MEAN) return gpus;
  return gpus / hr__trend_at(demand->trend, demand->now_ms);
}

/* What was in use stays so until then. */
static void pass(struct hr__like_demand *demand, int64_t at_ms) {
  int64_t from_ms = demand->now_ms > demand->from_ms ? demand->now_ms : demand->from_ms;
  if (at_ms > from_ms) {
    double seconds = (double)(at_ms - from_ms) / 1000;
    for (enum hr_like_measure i = 0; i < HR_LIKE_MEASURES; i++) {
      double bin = fmin(HR__DEMAND_BINS - 1, hr__like_demand_now(demand, i, 0) / demand->bin_gpus);
      demand->seconds[i][(uint32_t)bin] += seconds;
    }
    demand->gpu_s += seconds * hr__like_demand_now(demand, HR_LIKE_BY_MEAN, 0);
  }
  demand->now_ms = at_ms;
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
  for (uint32_t i = 0; i < HR__DEMAND_BINS; i++) sum += demand->seconds[HR_LIKE_BY_MEAN][i];
  return sum;
}

double hr__like_demand_mean(const struct hr__like_demand *demand) {
  double time_s = time_of(demand);
  return time_s > 0 ? demand->gpu_s / time_s : 0;
}

double hr__like_demand_quantile(const struct hr__like_demand *demand, enum hr_like_measure measure, double p) {
  const double *seconds = demand->seconds[measure];
  double left = p * time_of(demand);
  uint32_t bin = 0;
  while (bin + 1 < HR__DEMAND_BINS && left > seconds[bin]) left -= seconds[bin++];
  double part = seconds[bin] > 0 ? fmin(1, left / seconds[bin]) : 0;
  return (bin + part) * demand->bin_gpus;
}

double hr__like_demand_share_above(const struct hr__like_demand *demand, enum hr_like_measure measure, double gpus) {
  double at = gpus / demand->bin_gpus, above = 0, time_s = time_of(demand);
  for (uint32_t i = 0; i < HR__DEMAND_BINS; i++) above += demand->seconds[measure][i] * fmin(1, fmax(0, i + 1 - at));
  return time_s > 0 ? above / time_s : 0;
}
