/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The power of GPUs and nodes as whole numbers. The power of a node is its host plus its GPUs, passed through the
 * stages of conversion. Each part is divided among the GPUs of the node, so that the power of a pool is the sum over
 * its milli-GPUs in use and free, which makes the energy of jobs and of idle capacity add up exactly. A power is
 * rounded once, to a nanowatt per milli-GPU.
 *
 * Curves: OpenDC, PowerModels. Losses: RAPS, node (P + 13) / 0.98, then rectifier (P + 17) / 0.96.
 */

#include "sim/power/power.h"

#include <math.h>
#include <stdlib.h>

#define PPM 1e6

/* ---- Curves ------------------------------------------------------------------------------------------- */

/* Returns the position between idle power (0) and maximum power (1). */
static double shape(const struct hr_power_spec *spec, double u) {
  switch (spec->model) {
  case HR_POWER_SQRT:
    return sqrt(u);
  case HR_POWER_SQUARE:
    return u * u;
  case HR_POWER_CUBIC:
    return u * u * u;
  case HR_POWER_ASYMPTOTIC:
    return 0.5 * (1 + u - exp(-u / spec->asymptote));
  case HR_POWER_LINEAR:
  case HR_POWER_TABLE:
  case HR_N_POWER_MODELS:
    break;
  }
  return u;
}

/* Returns the watts of the table at a utilization. Outside of the table, its first or last point applies. */
static double from_table(const struct hr_power_spec *spec, double u) {
  const struct hr_power_point *points = spec->table;
  uint32_t last = spec->n_table - 1, at = 0;
  if (u <= points[0].utilization) return points[0].gpu_w;
  if (u >= points[last].utilization) return points[last].gpu_w;
  while (points[at + 1].utilization < u) at++;
  double part = (u - points[at].utilization) / (points[at + 1].utilization - points[at].utilization);
  return points[at].gpu_w + part * (points[at + 1].gpu_w - points[at].gpu_w);
}

/* Returns the watts of a GPU in use, without a limit. `fraction_ppm`: of the maximum watts; HR__NO_FRACTION: as
   follows from the utilization of the pool. */
static double gpu_watts(const struct hr_power_spec *spec, uint32_t fraction_ppm) {
  if (fraction_ppm != HR__NO_FRACTION) {
    double watts = spec->gpu_max_w * fraction_ppm / PPM;
    return watts > spec->gpu_idle_w ? watts : spec->gpu_idle_w;
  }
  if (spec->model == HR_POWER_TABLE) return from_table(spec, spec->utilization);
  return spec->gpu_idle_w + (spec->gpu_max_w - spec->gpu_idle_w) * shape(spec, spec->utilization);
}

/* The load of the host equals that of its GPUs. If the job states its own power, the load is the position of this power
   between idle and maximum power. */
static double host_watts(const struct hr_power_spec *spec, uint32_t fraction_ppm) {
  double part = shape(spec, spec->utilization), range = spec->gpu_max_w - spec->gpu_idle_w;
  if (fraction_ppm != HR__NO_FRACTION)
    part = range > 0 ? (gpu_watts(spec, fraction_ppm) - spec->gpu_idle_w) / range : 1;
  return spec->host_idle_w + (spec->host_max_w - spec->host_idle_w) * part;
}

/* ---- Power limits -------------------------------------------------------------------------------------- */

/* Returns the effect of a limit, interpolated linearly between the measured limits. */
static struct hr_power_cap effect_of_limit(const struct hr_power_spec *spec, double cap_w) {
  const struct hr_power_cap *caps = spec->caps;
  uint32_t at = 0, last = spec->n_caps - 1;
  if (cap_w >= caps[0].limit_w) return caps[0];
  if (cap_w <= caps[last].limit_w) return caps[last];
  while (caps[at + 1].limit_w > cap_w) at++;
  const struct hr_power_cap *high = &caps[at], *low = &caps[at + 1];
  double part = (high->limit_w - cap_w) / (high->limit_w - low->limit_w);
  return (struct hr_power_cap){.limit_w = cap_w,
                               .time_ratio = high->time_ratio + part * (low->time_ratio - high->time_ratio),
                               .power_ratio = high->power_ratio + part * (low->power_ratio - high->power_ratio)};
}

struct hr__power_limit hr__power_limit_at(const struct hr_power_spec *spec, double cap_w, uint32_t fraction_ppm) {
  struct hr__power_limit limit = {1000000, gpu_watts(spec, fraction_ppm)};
  if (!(cap_w > 0) || limit.gpu_w <= cap_w) return limit;
  struct hr_power_cap effect = spec->n_caps ? effect_of_limit(spec, cap_w) : (struct hr_power_cap){0, 1, 1};
  limit.speed_ppm = (uint32_t)lround(PPM / effect.time_ratio);
  limit.gpu_w *= effect.power_ratio;
  if (limit.gpu_w > cap_w) limit.gpu_w = cap_w;
  if (limit.gpu_w < spec->gpu_idle_w) limit.gpu_w = spec->gpu_idle_w;
  return limit;
}

struct hr__power_limit hr__power_limit(const struct hr_power_spec *spec, uint32_t fraction_ppm) {
  return hr__power_limit_at(spec, spec->gpu_cap_w, fraction_ppm);
}

double hr__cap_w(const struct hr_power_spec *spec, uint32_t level) {
  double most_w = spec->gpu_max_w, least_w = spec->n_caps ? spec->caps[spec->n_caps - 1].limit_w : most_w;
  if (level == 0) return spec->gpu_cap_w;
  if (spec->gpu_cap_w > 0 && spec->gpu_cap_w < most_w) most_w = spec->gpu_cap_w;
  if (least_w < spec->gpu_idle_w) least_w = spec->gpu_idle_w;
  if (least_w > most_w) least_w = most_w;
  return most_w - (most_w - least_w) * level / HR__CAP_LEVELS;
}

double hr_power_gpu_watts(const struct hr_power_spec *spec) {
  return hr__power_limit(spec, HR__NO_FRACTION).gpu_w;
}

/* ---- Losses and rates ---------------------------------------------------------------------------------- */

/* Returns the power at the input of the conversion. `watts`: the output, of a part of a node; `parts`: how many such
   parts a node has. */
static double before_losses(const struct hr_power_spec *spec, double watts, double parts) {
  for (uint32_t i = 0; i < spec->n_losses; i++)
    watts = (watts + spec->losses[i].constant_w / (spec->losses[i].nodes * parts)) / spec->losses[i].efficiency;
  return watts;
}

/* Returns a power in `units` per watt. */
static struct hr__watts rate_of(const struct hr_power_spec *spec, double watts, double output_w, double units) {
  struct hr__watts rate = {.it = llround(watts * units)};
  rate.loss = rate.it - llround(output_w * units);
  rate.facility = llround(watts * (spec->pue - 1) * units);
  return rate;
}

/* Per milli-GPU: a watt per GPU is 10^9 / 1000 nanowatts per milli-GPU. */
static struct hr__watts per_milli(const struct hr_power_spec *spec, double gpu_w, double host_w, uint32_t gpus) {
  double output_w = gpu_w + host_w / gpus;
  return rate_of(spec, before_losses(spec, output_w, gpus), output_w, 1e6);
}

struct hr__watts hr__busy_rate(const struct hr_power_spec *spec, uint32_t gpus_per_node, uint32_t fraction_ppm) {
  return per_milli(spec, hr__power_limit(spec, fraction_ppm).gpu_w, host_watts(spec, fraction_ppm), gpus_per_node);
}

struct hr__watts hr__busy_rate_at(const struct hr_power_spec *spec, uint32_t gpus_per_node, uint32_t level,
                                  uint32_t fraction_ppm) {
  double gpu_w = hr__power_limit_at(spec, hr__cap_w(spec, level), fraction_ppm).gpu_w;
  return per_milli(spec, gpu_w, host_watts(spec, fraction_ppm), gpus_per_node);
}

struct hr__watts hr__idle_rate(const struct hr_power_spec *spec, uint32_t gpus_per_node) {
  return per_milli(spec, spec->gpu_idle_w, spec->host_idle_w, gpus_per_node);
}

struct hr__watts hr__node_rate(const struct hr_power_spec *spec, double node_w) {
  if (!(node_w > 0)) return (struct hr__watts){0};
  return rate_of(spec, before_losses(spec, node_w, 1), node_w, 1e9);
}

struct hr__watts hr__other_rate(const struct hr_power_spec *spec) {
  struct hr__watts rate = rate_of(spec, spec->other_w, spec->other_w, 1e9);
  rate.facility += llround(spec->cooling_w * 1e9);
  return rate;
}

/* ---- Names ----------------------------------------------------------------------------------------------- */

void hr_power_spec_destroy(struct hr_power_spec *spec) {
  if (!spec) return;
  free(spec->table);
  free(spec->losses);
  free(spec->caps);
  free(spec);
}
