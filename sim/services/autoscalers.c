/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The rules of autoscalers of inference services.
 *
 * Kubernetes (horizontal pod autoscaler): proposals from metrics, stabilization over a window, and limits of the rate
 * of change. Amounts are whole numbers as in Kubernetes: utilization in whole percent, rounded down; metrics in
 * thousandths. Source: kubernetes/kubernetes, pkg/controller/podautoscaler/{replica_calculator,horizontal}.go.
 *
 * Knative: averages over a stable and a panic window, a panic mode in which the number never decreases, limits of each
 * decision, and an optional delay before the number decreases. For the delay, a ring stores wanted numbers of the last
 * ticks in decreasing order, so the first one is the largest. Invariant: the ring has at most one entry per tick of the
 * delay. Source: knative/serving, pkg/autoscaler/scaling/autoscaler.go, aggregation/bucketing.go and aggregation/max.
 *
 * The other rules are those of Ray Serve, NVIDIA Cloud Functions and KEDA. Sources: ray-project/ray,
 * python/ray/serve/autoscaling_policy.py; NVIDIA/nvcf, function-autoscaler, scaling/mod.rs; kedacore/keda,
 * pkg/scaling/executor/scale_scaledobjects.go.
 */

#include "sim/services/autoscalers.h"

#include <math.h>

/* ---- Kubernetes: proposals -------------------------------------------------------------------------- */

/* How pods without a usable level are counted. */
struct counted {
  bool ignored_as_zero; /* ignored pods count with the level 0; otherwise they do not count */
  bool missing;         /* pods without a level count; otherwise they do not count */
  bool missing_as_zero;
};

/* The ratio of the metric to the target. `measured`: the metric in percent (utilization) or in thousandths. `n`: the
   number of pods that count. */
struct ratio {
  double value;
  int64_t measured;
  uint32_t n;
};

/* Returns whether the CPU usage of a pod must be ignored. */
static bool is_ignored(const struct hr__hpa_pod *pod) {
  return pod->unready || pod->initializing;
}

static bool ratio_of(const struct hr__hpa_measured *measured, struct counted how, struct ratio *ratio) {
  const bool is_utilization = measured->metric == HR__HPA_UTILIZATION;
  int64_t levels = 0, requests = 0;
  ratio->n = 0;
  for (uint32_t i = 0; i < measured->n_pods; i++) {
    const struct hr__hpa_pod *pod = &measured->pods[i];
    int64_t level = pod->level;
    if (!pod->has_level) {
      if (!how.missing) continue;
      level = how.missing_as_zero ? 0 : is_utilization ? pod->request : measured->target;
    } else if (is_utilization && is_ignored(pod)) {
      if (!how.ignored_as_zero) continue;
      level = 0;
    }
    levels += level;
    requests += pod->request;
    ratio->n++;
  }
  if (ratio->n == 0 || (is_utilization && requests == 0)) return false;
  ratio->measured = is_utilization ? levels * 100 / requests : levels / ratio->n;
  ratio->value = (double)ratio->measured / (double)measured->target;
  return true;
}

static bool is_tolerated(const struct hr__hpa_measured *measured, double ratio) {
  return fabs(1 - ratio) <= measured->tolerance;
}

/* Returns the number if pods without a known metric are counted such that the change becomes smaller. If this reverses
   the direction of the change, returns `current`. */
static int64_t rebalanced(const struct hr__hpa_measured *measured, const struct ratio *first, int64_t current,
                          struct counted how) {
  struct ratio second;
  if (!ratio_of(measured, how, &second) || is_tolerated(measured, second.value)) return current;
  if ((first->value < 1 && second.value > 1) || (first->value > 1 && second.value < 1)) return current;
  int64_t replicas = (int64_t)ceil(second.value * (double)second.n);
  bool turns = (second.value < 1 && replicas > current) || (second.value > 1 && replicas < current);
  return turns ? current : replicas;
}

static bool propose_by_pods(const struct hr__hpa_measured *measured, int64_t current,
                            struct hr__hpa_proposal *proposal) {
  bool any_missing = false, any_ignored = false;
  for (uint32_t i = 0; i < measured->n_pods; i++) {
    const struct hr__hpa_pod *pod = &measured->pods[i];
    if (measured->metric == HR__HPA_UTILIZATION && !pod->has_request) return false;
    any_missing |= !pod->has_level;
    any_ignored |= pod->has_level && is_ignored(pod) && measured->metric == HR__HPA_UTILIZATION;
  }
  struct ratio first;
  if (!ratio_of(measured, (struct counted){0}, &first)) return false;
  proposal->measured = first.measured;
  const bool rebalances = any_ignored && first.value > 1;
  if (rebalances || any_missing) {
    struct counted how = {.ignored_as_zero = rebalances, .missing = true, .missing_as_zero = first.value > 1};
    if (first.value >= 1 && first.value <= 1) how.missing = false;
    proposal->replicas = rebalanced(measured, &first, current, how);
  } else {
    proposal->replicas = is_tolerated(measured, first.value) ? current : (int64_t)ceil(first.value * (double)first.n);
  }
  return true;
}

/* Returns the number for HR__HPA_VALUE: one value for all pods together is compared with one target. */
static int64_t by_value(const struct hr__hpa_measured *measured, int64_t current) {
  const double ratio = (double)measured->value / (double)measured->target;
  if (current == 0) return (int64_t)ceil(ratio);
  if (is_tolerated(measured, ratio)) return current;
  int64_t ready = 0;
  for (uint32_t i = 0; i < measured->n_pods; i++) ready += !measured->pods[i].unready;
  return (int64_t)ceil(ratio * (double)ready);
}

bool hr__hpa_propose(const struct hr__hpa_measured *measured, int64_t current, struct hr__hpa_proposal *proposal) {
  if (measured->metric <= HR__HPA_PODS_AVERAGE) return propose_by_pods(measured, current, proposal);
  if (!measured->has_value) return false;
  const double value = (double)measured->value, target = (double)measured->target;
  if (measured->metric == HR__HPA_VALUE) {
    *proposal = (struct hr__hpa_proposal){by_value(measured, current), measured->value};
    return true;
  }
  const bool stays = current > 0 && is_tolerated(measured, value / (target * (double)current));
  proposal->replicas = stays ? current : (int64_t)ceil(value / target);
  proposal->measured = current > 0 ? (int64_t)ceil(value / (double)current) : 0;
  return true;
}

/* ---- Kubernetes: stabilization ---------------------------------------------------------------------- */

struct hr__hpa_limited hr__hpa_stabilize(const struct hr__hpa_rules *up, const struct hr__hpa_rules *down,
                                         struct hr__hpa_history *history, int64_t now_us, int64_t current,
                                         int64_t desired) {
  const int64_t up_from_us = now_us - up->stabilization_us, down_from_us = now_us - down->stabilization_us;
  int64_t low = desired, high = desired;
  uint32_t place = history->n_recommendations;
  for (uint32_t i = 0; i < history->n_recommendations; i++) {
    const struct hr__hpa_recommendation *old = &history->recommendations[i];
    if (old->at_us > up_from_us && old->replicas < low) low = old->replicas;
    if (old->at_us > down_from_us && old->replicas > high) high = old->replicas;
    if (old->at_us < up_from_us && old->at_us < down_from_us) place = i;
  }
  int64_t stable = current > low ? current : low;
  if (stable > high) stable = high;
  if (history->recommendations) {
    history->recommendations[place] = (struct hr__hpa_recommendation){now_us, desired};
    if (place == history->n_recommendations) history->n_recommendations++;
  }
  return (struct hr__hpa_limited){stable, desired >= current ? "ScaleUpStabilized" : "ScaleDownStabilized"};
}

/* ---- Kubernetes: rates ------------------------------------------------------------------------------ */

static int64_t changed_since(const struct hr__hpa_event *events, uint32_t n_events, int64_t since_us) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < n_events; i++)
    if (events[i].at_us > since_us) sum += events[i].change;
  return sum;
}

/* Returns the number at the start of a policy's period. The period ends now. */
static int64_t at_start(const struct hr__hpa_policy *policy, const struct hr__hpa_history *history, int64_t now_us,
                        int64_t current) {
  const int64_t since_us = now_us - policy->period_us;
  return current - changed_since(history->up, history->n_up, since_us) +
         changed_since(history->down, history->n_down, since_us);
}

int64_t hr__hpa_limit(const struct hr__hpa_rules *rules, const struct hr__hpa_history *history, int64_t now_us,
                      int64_t current, bool is_up) {
  if (rules->select == HR__HPA_DISABLED) return current;
  /* the smallest change downwards leaves the largest number */
  const bool least = (rules->select == HR__HPA_MIN) == is_up;
  int64_t limit = least ? INT32_MAX : INT32_MIN;
  for (uint32_t i = 0; i < rules->n_policies; i++) {
    const struct hr__hpa_policy *policy = &rules->policies[i];
    const int64_t start = at_start(policy, history, now_us, current), change = is_up ? policy->value : -policy->value;
    const double scaled = (double)start * (1 + (double)change / 100);
    const int64_t allowed = policy->is_percent ? (int64_t)(is_up ? ceil(scaled) : scaled) : start + change;
    if (least ? allowed < limit : allowed > limit) limit = allowed;
  }
  return limit;
}

struct hr__hpa_limited hr__hpa_limit_rate(const struct hr__hpa_rules *up, const struct hr__hpa_rules *down,
                                          const struct hr__hpa_history *history, int64_t now_us, int64_t current,
                                          int64_t desired, struct hr__hpa_limits limits) {
  if (desired > current) {
    int64_t limit = hr__hpa_limit(up, history, now_us, current, true);
    if (limit < current) limit = current;
    const bool by_rate = limits.max > limit;
    const int64_t most = by_rate ? limit : limits.max;
    if (desired > most) return (struct hr__hpa_limited){most, by_rate ? "ScaleUpLimit" : "TooManyReplicas"};
  } else if (desired < current) {
    int64_t limit = hr__hpa_limit(down, history, now_us, current, false);
    if (limit > current) limit = current;
    const bool by_rate = limits.min < limit;
    const int64_t least = by_rate ? limit : limits.min;
    if (desired < least) return (struct hr__hpa_limited){least, by_rate ? "ScaleDownLimit" : "TooFewReplicas"};
  }
  return (struct hr__hpa_limited){desired, "DesiredWithinRange"};
}

struct hr__hpa_limited hr__hpa_limit_default(int64_t current, int64_t desired, struct hr__hpa_limits limits) {
  const int64_t limit = hr__hpa_default_up_limit(current);
  const bool by_rate = limits.max > limit;
  const int64_t most = by_rate ? limit : limits.max;
  if (desired < limits.min) return (struct hr__hpa_limited){limits.min, "TooFewReplicas"};
  if (desired > most) return (struct hr__hpa_limited){most, by_rate ? "ScaleUpLimit" : "TooManyReplicas"};
  return (struct hr__hpa_limited){desired, "DesiredWithinRange"};
}

/* Adds an event. Events that are older than the longest period of their direction are marked as old, and the new event
   replaces the last of them. */
static void store_event(const struct hr__hpa_rules *rules, struct hr__hpa_event *events, uint32_t *n_events,
                        int64_t now_us, int64_t change) {
  int64_t longest_us = 0;
  for (uint32_t i = 0; i < rules->n_policies; i++)
    if (rules->policies[i].period_us > longest_us) longest_us = rules->policies[i].period_us;
  uint32_t place = *n_events;
  for (uint32_t i = 0; i < *n_events; i++) {
    if (events[i].at_us < now_us - longest_us) events[i].is_old = true;
    if (events[i].is_old) place = i;
  }
  events[place] = (struct hr__hpa_event){now_us, change, false};
  if (place == *n_events) ++*n_events;
}

void hr__hpa_changed(const struct hr__hpa_rules *up, const struct hr__hpa_rules *down, struct hr__hpa_history *history,
                     int64_t now_us, int64_t before, int64_t after) {
  if (after > before)
    store_event(up, history->up, &history->n_up, now_us, after - before);
  else if (after < before)
    store_event(down, history->down, &history->n_down, now_us, before - after);
}

/* ---- Knative: decisions ----------------------------------------------------------------------------- */

static double clamp(double value, double low, double high) {
  return fmin(fmax(value, low), high);
}

/* Begins, extends or ends the panic. `is_over`: the load reaches the threshold. */
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

/* Records a wanted number, and returns the largest number that was recorded within the delay. */
static int64_t delay(const struct hr__knative_spec *spec, struct hr__knative *self, int64_t now_us, int64_t desired) {
  int64_t n_ticks = (spec->down_delay_us + HR__KNATIVE_TICK_US - 1) / HR__KNATIVE_TICK_US;
  if (n_ticks > HR__KNATIVE_MAX_DELAY_TICKS) n_ticks = HR__KNATIVE_MAX_DELAY_TICKS;
  const int64_t tick = now_us / HR__KNATIVE_TICK_US;
  while (self->n_delayed && delayed_at(self, self->n_delayed - 1)->replicas <= desired) self->n_delayed--;
  while (self->n_delayed && delayed_at(self, 0)->tick <= tick - n_ticks) {
    self->first_delayed = (self->first_delayed + 1) % HR__KNATIVE_MAX_DELAY_TICKS;
    self->n_delayed--;
  }
  /* if two numbers are recorded in a tick, only the larger number is stored */
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

/* ---- Knative: averages ------------------------------------------------------------------------------ */

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

/* ---- Ray Serve -------------------------------------------------------------------------------------- */

int64_t hr__ray_scaled(double wanted, int64_t current, double up_factor, double down_factor) {
  const double distance = wanted - (double)current;
  const int64_t scaled = (int64_t)ceil((double)current + (distance > 0 ? up_factor : down_factor) * distance);
  /* if the number should decrease, it decreases by at least 1, despite rounding up */
  return scaled == current && wanted < (double)current ? scaled - 1 : scaled;
}

/* Returns the number without delays, at least 0. As in the original, the ratio has rounding errors, and the number is
   rounded up: 250.00000000000003 results in 251. */
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

/* ---- NVIDIA Cloud Functions ------------------------------------------------------------------------- */

/* Returns the weighted average of the samples. All computations for NVIDIA Cloud Functions are in single precision, as
   in the original, so that 10 replicas times 1.2 are 12. */
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

/* ---- KEDA ------------------------------------------------------------------------------------------- */

static int64_t activated(const struct hr__keda_spec *spec, int64_t current) {
  const bool starts = current == 0 || (spec->idle >= 0 && current < spec->min);
  if (!starts || spec->pauses_out) return current;
  return spec->min > 0 ? spec->min : 1;
}

/* Returns the number for an inactive service. During the cooldown, and while decreases are paused, the number does not
   change. Otherwise it is `idle` or, if `idle` is not set, the minimum. */
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
