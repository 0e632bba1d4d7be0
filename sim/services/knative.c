/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The autoscaler of Knative: averages over a stable and a panic window, a panic mode in which the number never
 * decreases, limits of each decision, and an optional delay before the number decreases.
 *
 * Layout: for the delay, a ring has the wanted numbers of its ticks, in decreasing order, so the first one is the
 * largest. Invariant: the ring has at most one entry per tick of the delay. Source: knative/serving,
 * pkg/autoscaler/scaling/autoscaler.go, aggregation/bucketing.go and aggregation/max.
 */

#include "sim/services/autoscalers.h"

#include <math.h>

/* ---- Decisions ------------------------------------------------------------------------------------- */

static double clamp(double value, double low, double high) {
  return fmin(fmax(value, low), high);
}

/* Begins, extends or ends the panic. */
static void change_mode(const struct hr__knative_spec *spec, struct hr__knative *self, int64_t now_us, bool is_over) {
  if (is_over) {
    self->panics = true;
    self->panic_us = now_us;
  } else if (self->panics && self->panic_us + spec->stable_window_us < now_us) {
    self->panics = false;
    self->max_panic = 0;
  }
}

static struct hr__knative_maximum *delayed_at(const struct hr__knative *self, uint32_t position) {
  return &self->delayed[(self->first_delayed + position) % HR__KNATIVE_MAX_DELAY_TICKS];
}

/* Records a wanted number, and returns the largest of the ticks within the delay. */
static int64_t delay(const struct hr__knative_spec *spec, struct hr__knative *self, int64_t now_us, int64_t desired) {
  int64_t n_ticks = (spec->down_delay_us + HR__KNATIVE_TICK_US - 1) / HR__KNATIVE_TICK_US;
  if (n_ticks > HR__KNATIVE_MAX_DELAY_TICKS) n_ticks = HR__KNATIVE_MAX_DELAY_TICKS;
  const int64_t tick = now_us / HR__KNATIVE_TICK_US;
  while (self->n_delayed && delayed_at(self, self->n_delayed - 1)->replicas <= desired) self->n_delayed--;
  while (self->n_delayed && delayed_at(self, 0)->tick <= tick - n_ticks) {
    self->first_delayed = (self->first_delayed + 1) % HR__KNATIVE_MAX_DELAY_TICKS;
    self->n_delayed--;
  }
  /* if a tick has two numbers, only the larger one is kept */
  if (!self->n_delayed || delayed_at(self, self->n_delayed - 1)->tick != tick)
    *delayed_at(self, self->n_delayed++) = (struct hr__knative_maximum){tick, desired};
  return delayed_at(self, 0)->replicas;
}

static double excess_burst(const struct hr__knative_spec *spec, double panic, int64_t ready) {
  if (spec->target_burst > 0) return floor((double)ready * spec->total - spec->target_burst - panic);
  return spec->target_burst < 0 ? -1 : 0;
}

struct hr__knative_decision hr__knative_decide(const struct hr__knative_spec *spec, struct hr__knative *self,
                                               int64_t now_us, double stable, double panic, int64_t ready) {
  const double replicas = ready > 1 ? (double)ready : 1;
  const double highest = ceil(spec->max_up_rate * replicas);
  const double lowest = spec->reachable ? floor(replicas / spec->max_down_rate) : 0;
  const double by_stable = ceil(stable / spec->target), by_panic = ceil(panic / spec->target);
  int64_t desired = (int64_t)clamp(by_stable, lowest, highest);
  int64_t in_panic = (int64_t)clamp(by_panic, lowest, highest);
  if (by_stable > 0 && desired < spec->activation_scale) desired = spec->activation_scale;
  if (by_panic > 0 && in_panic < spec->activation_scale) in_panic = spec->activation_scale;
  change_mode(spec, self, now_us, by_panic / replicas >= spec->panic_threshold);
  if (self->panics) {
    if (in_panic > desired) desired = in_panic;
    if (desired > self->max_panic) self->max_panic = desired;
    desired = self->max_panic;
  }
  if (spec->reachable && spec->down_delay_us > 0 && self->delayed) desired = delay(spec, self, now_us, desired);
  return (struct hr__knative_decision){desired, excess_burst(spec, panic, ready)};
}

/* ---- Averages -------------------------------------------------------------------------------------- */

void hr__knative_window_add(struct hr__knative_window *window, int64_t now_us, double value) {
  const int64_t now_s = now_us / HR_SECOND_US;
  if (window->last_s < 0 || now_s - window->last_s >= window->seconds) {
    for (int64_t i = 0; i < window->seconds; i++) window->bucket[i] = 0;
    window->total = 0;
    window->first_s = now_s;
  } else {
    for (int64_t s = window->last_s + 1; s <= now_s; s++) {
      window->total -= window->bucket[s % window->seconds];
      window->bucket[s % window->seconds] = 0;
    }
  }
  if (now_s > window->last_s) window->last_s = now_s;
  window->bucket[now_s % window->seconds] += value;
  window->total += value;
}

double hr__knative_window_average(const struct hr__knative_window *window, int64_t now_us, bool *is_empty) {
  const int64_t now_s = now_us / HR_SECOND_US, silent = window->last_s < 0 ? INT64_MAX : now_s - window->last_s;
  *is_empty = silent > window->seconds;
  if (silent >= window->seconds) return 0;
  double total = window->total;
  for (int64_t s = window->last_s + 1; s <= now_s; s++) total -= window->bucket[s % window->seconds];
  int64_t observed = window->last_s - window->first_s + 1, left = window->seconds - (silent > 0 ? silent : 0);
  /* rounded to six digits, as in Knative, because sums over the window do not return to zero exactly */
  return round(total / (double)(observed < left ? observed : left) * 1e6) / 1e6;
}
