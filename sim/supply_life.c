/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lives of nodes that end by age, and how long a node of any model lives on average. */

#include "sim/supply.h"

#include <math.h>

/* Of nodes launched, the share that is gone at an age. The form of Kadupitige, Jadhao and Sharma (HPDC'20) is a little
   above 0 at age 0, where such nodes end at once, and may pass 1 before the last hour: there it is cut. */
static double gone(const struct hr_bathtub *bathtub, double age_h) {
  if (age_h >= bathtub->last_h) return 1;
  double raw = bathtub->a * (1 - exp(-age_h / bathtub->tau1_h) + exp((age_h - bathtub->b_h) / bathtub->tau2_h));
  return raw < 1 ? raw : 1;
}

/* The age at which a share of nodes is gone: by bisection, down to less than a microsecond. */
static double age_h(const struct hr_bathtub *bathtub, double share) {
  double low = 0, high = bathtub->last_h;
  for (int i = 0; i < 44; i++) {
    double middle = (low + high) / 2;
    if (gone(bathtub, middle) < share)
      low = middle;
    else
      high = middle;
  }
  return high;
}

int64_t hr__life_draw(const struct hr_spot_spec *spec, uint64_t seed, uint32_t node, uint32_t launch,
                      uint32_t replication) {
  if (spec->model != HR_SPOT_BATHTUB) return HR_NEVER_US;
  struct hr__stream stream;
  hr__stream_init(&stream, seed, HR__PURPOSE_SPOT_LIFE, node, replication);
  hr__stream_skip_to_life(&stream, launch);
  int64_t life_us = llround(age_h(&spec->bathtub, hr__stream_uniform(&stream)) * 3600 * (double)HR_SECOND_US);
  return life_us > 0 ? life_us : 1;
}

/* The integral of what is left, by the midpoint rule on a grid far finer than the curve bends. */
static double mean_life_h(const struct hr_bathtub *bathtub) {
  enum { STEPS = 20000 };
  double sum = 0, step = bathtub->last_h / STEPS;
  for (int i = 0; i < STEPS; i++) sum += 1 - gone(bathtub, (i + 0.5) * step);
  return sum * step;
}

/* Node time up per node reclaimed, over one round of the record. */
static double recorded_life_s(const struct hr_spot_spec *spec) {
  double up_us = 0, lost = 0;
  for (uint32_t i = 0; i < spec->n_levels; i++) {
    const struct hr_level_step *step = &spec->levels[i], *next = &spec->levels[(i + 1) % spec->n_levels];
    int64_t until_us = i + 1 < spec->n_levels ? next->at_us : spec->period_us;
    up_us += (double)step->level * (double)(until_us - step->at_us);
    if (next->level < step->level) lost += step->level - next->level;
  }
  return lost > 0 ? up_us / (double)HR_SECOND_US / lost : (double)INFINITY;
}

double hr__spot_mean_life_s(const struct hr_spot_spec *spec) {
  switch (spec->model) {
  case HR_SPOT_TRACE:
    return spec->n_levels ? recorded_life_s(spec) : (double)INFINITY;
  case HR_SPOT_ON_OFF:
    return hr__duration_mean_s(&spec->up);
  case HR_SPOT_EXPONENTIAL:
  case HR_SPOT_ADVISOR:
    return spec->rate_per_h > 0 ? 3600 / spec->rate_per_h : (double)INFINITY;
  case HR_SPOT_BATHTUB:
    return 3600 * mean_life_h(&spec->bathtub);
  case HR_SPOT_NONE:
  case HR_N_SPOT_MODELS:
    break;
  }
  return (double)INFINITY;
}
