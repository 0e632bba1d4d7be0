/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The rules of Ray Serve, NVIDIA Cloud Functions and KEDA for the number of replicas. Sources: ray-project/ray,
 * python/ray/serve/autoscaling_policy.py; NVIDIA/nvcf, function-autoscaler, scaling/mod.rs; kedacore/keda,
 * pkg/scaling/executor/scale_scaledobjects.go.
 */

#include "sim/services/autoscalers.h"

#include <math.h>

/* ---- Ray Serve ------------------------------------------------------------------------------------- */

int64_t hr__ray_scaled(double wanted, int64_t current, double up_factor, double down_factor) {
  const double distance = wanted - (double)current;
  const int64_t scaled = (int64_t)ceil((double)current + (distance > 0 ? up_factor : down_factor) * distance);
  /* if the number should decrease, it decreases by at least 1, despite rounding up */
  return scaled == current && wanted < (double)current ? scaled - 1 : scaled;
}

/* Returns the number without delays, at least 0. As in the original, ratios have rounding errors, and the number is
   rounded up: 250.00000000000003 becomes 251. */
static int64_t wanted_replicas(const struct hr__ray_spec *spec, int64_t current, double requests) {
  const double replicas = (double)current, ratio = requests / (spec->target * replicas);
  const double factor = ratio >= 1 ? spec->up_factor : spec->down_factor;
  const double scaled = ceil(replicas * (1 + (ratio - 1) * factor));
  if (scaled <= 0) return 0;
  const bool is_stuck = scaled >= replicas && scaled <= replicas && ceil(replicas * ratio) < replicas;
  return (int64_t)scaled - is_stuck;
}

/* Returns whether the same decision has been made during the whole delay. A decision in the other direction restarts
   the delay. */
static bool is_due(struct hr__ray *self, int direction, int64_t now_us, int64_t delay_us) {
  if (self->direction != direction) *self = (struct hr__ray){direction, now_us};
  if (now_us - self->since_us < delay_us) return false;
  *self = (struct hr__ray){0};
  return true;
}

int64_t hr__ray_decide(const struct hr__ray_spec *spec, struct hr__ray *self, int64_t now_us, int64_t current,
                       int64_t target, double requests) {
  if (current == 0) {
    const int64_t first = (int64_t)ceil(spec->up_factor);
    return requests > 0 && first > target ? first : target;
  }
  int64_t desired = wanted_replicas(spec, current, requests);
  if (desired > target) return is_due(self, 1, now_us, spec->up_delay_us) ? desired : target;
  if (desired == target) {
    *self = (struct hr__ray){0};
    return target;
  }
  const bool to_zero = target == 1; /* zero is reached only from one */
  if (!to_zero && desired < 1) desired = 1;
  const int64_t delay_us = to_zero && spec->to_zero_delay_us >= 0 ? spec->to_zero_delay_us : spec->down_delay_us;
  return is_due(self, -1, now_us, delay_us) ? desired : target;
}

/* ---- NVIDIA Cloud Functions ------------------------------------------------------------------------ */

/* In single precision, as in the original: 10 replicas times 1.2 are 12. */
static float average(const struct hr__nvcf_spec *spec, const double *samples, uint32_t n_samples) {
  float sum = 0, weights = 0;
  for (uint32_t i = 0; i < n_samples; i++) {
    const float weight = expf(-spec->decay * (float)(n_samples - 1 - i));
    sum += weight * (float)samples[i];
    weights += weight;
  }
  return n_samples ? sum / weights : 0;
}

static uint32_t first_of(struct hr__nvcf_stickiness stickiness, uint32_t n_samples) {
  return n_samples > stickiness.window ? n_samples - stickiness.window : 0;
}

static bool is_high(const struct hr__nvcf_spec *spec, const double *samples, uint32_t n_samples) {
  uint32_t count = 0;
  for (uint32_t i = first_of(spec->up, n_samples); i < n_samples; i++) count += (float)samples[i] > spec->up_threshold;
  return count >= spec->up.required;
}

static bool is_low(const struct hr__nvcf_spec *spec, const double *samples, uint32_t n_samples) {
  uint32_t count = 0;
  for (uint32_t i = first_of(spec->down, n_samples); i < n_samples; i++)
    count += (float)samples[i] < spec->down_threshold;
  return count >= spec->down.required;
}

int64_t hr__nvcf_by_utilization(const struct hr__nvcf_spec *spec, const double *samples, uint32_t n_samples,
                                int64_t current) {
  const int64_t base = current > 1 ? current : 1;
  if (n_samples == 0) return base;
  if (is_high(spec, samples, n_samples)) return (int64_t)ceilf((float)base * spec->up_factor);
  if (!is_low(spec, samples, n_samples)) return base;
  const int64_t fewer = (int64_t)floorf((float)base * spec->down_factor);
  return fewer > 1 ? fewer : 1;
}

bool hr__nvcf_decide(const struct hr__nvcf_spec *spec, const double *samples, uint32_t n_samples, int64_t current,
                     int64_t last_requested, bool recently_invoked, int64_t *desired) {
  if (current == 0 && last_requested > 0) return false;
  *desired = hr__nvcf_by_utilization(spec, samples, n_samples, current);
  if (!recently_invoked && average(spec, samples, n_samples) < spec->down_threshold) *desired = 0;
  return true;
}

/* ---- KEDA ------------------------------------------------------------------------------------------ */

static int64_t activated(const struct hr__keda_spec *spec, int64_t current) {
  const bool starts = current == 0 || (spec->idle >= 0 && current < spec->min);
  if (!starts || spec->pauses_out) return current;
  return spec->min > 0 ? spec->min : 1;
}

/* The number after the cooldown: the number of idle services if it is set, otherwise the minimum. */
static int64_t deactivated(const struct hr__keda_spec *spec, int64_t current, int64_t inactive_us) {
  const bool cools = inactive_us >= 0 && inactive_us <= spec->cooldown_us;
  if (cools || spec->pauses_in) return current;
  return spec->idle >= 0 ? spec->idle : spec->min;
}

int64_t hr__keda_decide(const struct hr__keda_spec *spec, int64_t current, bool is_active, bool is_failing,
                        int64_t inactive_us) {
  if (is_active || spec->forces_activation) return activated(spec, current);
  if (is_failing) return current;
  if ((spec->idle >= 0 && current > spec->idle) || (current > 0 && spec->min == 0))
    return deactivated(spec, current, inactive_us);
  return current < spec->min && spec->idle < 0 ? spec->min : current;
}
