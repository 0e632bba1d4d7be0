/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The horizontal pod autoscaler of Kubernetes: proposals from metrics, stabilization over a window, and limits of the
 * rate of change.
 *
 * Amounts are whole numbers as in Kubernetes: utilization in whole percent, rounded down; metrics in thousandths.
 * Source: kubernetes/kubernetes, pkg/controller/podautoscaler/{replica_calculator,horizontal}.go.
 */

#include "sim/services/autoscalers.h"

#include <math.h>

/* ---- Proposals ------------------------------------------------------------------------------------- */

/* The pods that count, and their levels. */
struct counted {
  bool ignored_as_zero; /* ignored pods count with the level 0; otherwise they do not count */
  bool missing;         /* pods without a level count as `share` x the request or target */
  bool missing_as_zero;
};

/* The ratio of the metric to the target. `n` is the number of pods that count. */
struct ratio {
  double value;
  int64_t measured;
  uint32_t n;
};

/* Whether the CPU usage of a pod must be ignored. */
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

/* Pods without a known metric are counted such that the change becomes smaller. If this reverses the direction of the
   change, the number does not change. */
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

/* One value for all pods together, compared with one target. */
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

/* ---- Stabilization --------------------------------------------------------------------------------- */

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

/* ---- Rates ----------------------------------------------------------------------------------------- */

static int64_t changed_since(const struct hr__hpa_event *events, uint32_t n_events, int64_t since_us) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < n_events; i++)
    if (events[i].at_us > since_us) sum += events[i].change;
  return sum;
}

/* The number at the beginning of the period of a policy. */
static int64_t at_start(const struct hr__hpa_policy *policy, const struct hr__hpa_history *history, int64_t now_us,
                        int64_t current) {
  const int64_t since_us = now_us - policy->period_us;
  return current - changed_since(history->up, history->n_up, since_us) +
         changed_since(history->down, history->n_down, since_us);
}

int64_t hr__hpa_up_limit(const struct hr__hpa_rules *up, const struct hr__hpa_history *history, int64_t now_us,
                         int64_t current) {
  if (up->select == HR__HPA_DISABLED) return current;
  const bool smallest = up->select == HR__HPA_MIN;
  int64_t limit = smallest ? INT32_MAX : INT32_MIN;
  for (uint32_t i = 0; i < up->n_policies; i++) {
    const struct hr__hpa_policy *policy = &up->policies[i];
    const int64_t start = at_start(policy, history, now_us, current);
    const double grown = ceil((double)start * (1 + (double)policy->value / 100));
    const int64_t allowed = policy->is_percent ? (int64_t)grown : start + policy->value;
    if (smallest ? allowed < limit : allowed > limit) limit = allowed;
  }
  return limit;
}

int64_t hr__hpa_down_limit(const struct hr__hpa_rules *down, const struct hr__hpa_history *history, int64_t now_us,
                           int64_t current) {
  if (down->select == HR__HPA_DISABLED) return current;
  const bool smallest = down->select == HR__HPA_MIN; /* the smallest change leaves the largest number */
  int64_t limit = smallest ? INT32_MIN : INT32_MAX;
  for (uint32_t i = 0; i < down->n_policies; i++) {
    const struct hr__hpa_policy *policy = &down->policies[i];
    const int64_t start = at_start(policy, history, now_us, current);
    const double shrunk = (double)start * (1 - (double)policy->value / 100);
    const int64_t allowed = policy->is_percent ? (int64_t)shrunk : start - policy->value;
    if (smallest ? allowed > limit : allowed < limit) limit = allowed;
  }
  return limit;
}

struct hr__hpa_limited hr__hpa_limit_rate(const struct hr__hpa_rules *up, const struct hr__hpa_rules *down,
                                          const struct hr__hpa_history *history, int64_t now_us, int64_t current,
                                          int64_t desired, struct hr__hpa_limits limits) {
  if (desired > current) {
    int64_t limit = hr__hpa_up_limit(up, history, now_us, current);
    if (limit < current) limit = current;
    const bool by_rate = limits.max > limit;
    const int64_t most = by_rate ? limit : limits.max;
    if (desired > most) return (struct hr__hpa_limited){most, by_rate ? "ScaleUpLimit" : "TooManyReplicas"};
  } else if (desired < current) {
    int64_t limit = hr__hpa_down_limit(down, history, now_us, current);
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

/* Marks events that are older than the longest period of their direction. The new event replaces the last of them. */
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
