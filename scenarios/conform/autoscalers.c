/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs test vectors of autoscalers: Knative, the horizontal pod autoscaler of Kubernetes, Ray Serve, NVIDIA Cloud
 * Functions and KEDA. A case is one decision, or a sequence of steps of one autoscaler. In this file, "the original" is
 * the code of the autoscaler that the model reproduces.
 */

#include "scenarios/conform/conform.h"

#include "sim/services/autoscalers.h"

#include <math.h>
#include <stdio.h>

/* ---- Reading ---- */

/* Times are limited to the range from -LONGEST_S to LONGEST_S seconds. */
#define LONGEST_S 1e9

static int64_t us_of(const cJSON *object, const char *name, double fallback_s) {
  return llround(fmax(-LONGEST_S, fmin(LONGEST_S, hr__case_real(object, name, fallback_s))) * (double)HR_SECOND_US);
}

/* Returns the time of a step. A time before 0 makes the case malformed; the result is then 0. */
static int64_t now_of(struct hr__verdict *verdict, const cJSON *step) {
  const int64_t now_us = us_of(step, "now_s", 0);
  if (now_us < 0) verdict->malformed = "\"now_s\" must not be below 0";
  return now_us < 0 ? 0 : now_us;
}

/* Compares a value of a step, at a place such as "steps.3.want". Frees `actual`. */
static void compare_value(struct hr__verdict *verdict, const cJSON *item, uint32_t step, const char *name,
                          cJSON *actual, double tolerance) {
  char place[80];
  snprintf(place, sizeof place, "steps.%u.%s", (unsigned)step, name);
  if (!actual)
    verdict->no_memory = true;
  else
    hr__verdict_compare(verdict, place, hr__case_get(item, name), actual, HR__COMPARE_EXACTLY, tolerance);
  cJSON_Delete(actual);
}

/* Compares a number of a step, if the step has an expected value. */
static void compare_step(struct hr__verdict *verdict, const cJSON *item, uint32_t step, const char *name,
                         double actual) {
  if (hr__case_get(item, name)) compare_value(verdict, item, step, name, cJSON_CreateNumber(actual), 0);
}

/* Returns the steps of a case. If the list is missing or empty, marks the case as malformed and returns NULL. */
static const cJSON *steps_of(struct hr__verdict *verdict) {
  const cJSON *list = hr__case_get(verdict->input, "steps");
  if (cJSON_IsArray(list) && list->child) return list;
  verdict->malformed = "expected a list of steps that is not empty";
  return NULL;
}

/* Returns whether the case has the expected value "want" of a single decision, which may be JSON null. If not, marks
   the case as malformed. */
static bool has_want(struct hr__verdict *verdict) {
  bool exists = cJSON_GetObjectItemCaseSensitive(verdict->input, "want") != NULL;
  if (!exists) verdict->malformed = "expected the member \"want\"";
  return exists;
}

/* ---- Knative ---- */

static struct hr__knative_spec knative_spec(const cJSON *object) {
  return (struct hr__knative_spec){.target = hr__case_real(object, "target", 1),
                                   .total = hr__case_real(object, "total", 0),
                                   .target_burst = hr__case_real(object, "target_burst_capacity", 0),
                                   .panic_threshold = hr__case_real(object, "panic_threshold", 2),
                                   .max_up_rate = hr__case_real(object, "max_scale_up_rate", 1000),
                                   .max_down_rate = hr__case_real(object, "max_scale_down_rate", 2),
                                   .stable_window_us = us_of(object, "stable_window_s", 60),
                                   .down_delay_us = us_of(object, "scale_down_delay_s", 0),
                                   .activation_scale = hr__case_whole(object, "activation_scale", 0),
                                   .reachable = hr__case_bool(object, "reachable", true)};
}

static void run_knative(struct hr__verdict *verdict) {
  const cJSON *initial = hr__case_get(verdict->input, "initial"), *item, *list = steps_of(verdict);
  struct hr__knative_spec spec = knative_spec(hr__case_get(verdict->input, "spec"));
  struct hr__knative self = {.panics = hr__case_bool(initial, "in_panic", false),
                             .panic_us = us_of(initial, "panic_since_s", 0),
                             .max_panic = hr__case_whole(initial, "max_panic_pods", 0)};
  self.delayed = hr__verdict_alloc(verdict, HR__KNATIVE_MAX_DELAY_TICKS, sizeof *self.delayed);
  uint32_t step = 0;
  if (self.delayed) cJSON_ArrayForEach(item, list) {
      const cJSON *change = hr__case_get(item, "spec_change");
      if (change) spec = knative_spec(change);
      if (spec.target <= 0 || spec.max_down_rate <= 0) {
        verdict->malformed = "\"target\" and the rates must be above 0";
        return;
      }
      struct hr__knative_decision decision =
          hr__knative_decide(&spec, &self, now_of(verdict, item), hr__case_real(item, "stable", 0),
                             hr__case_real(item, "panic", 0), hr__case_whole(item, "ready_pods", 0));
      compare_step(verdict, item, step, "want_desired", (double)decision.desired);
      compare_step(verdict, item, step, "want_excess_burst", decision.excess_burst);
      compare_step(verdict, item, step, "max_panic_pods_after", (double)self.max_panic);
      compare_value(verdict, item, step, "in_panic_after", cJSON_CreateBool(self.panics), 0);
      step++;
    }
}

static bool make_window(struct hr__verdict *verdict, struct hr__knative_window *window, int64_t seconds) {
  *window = (struct hr__knative_window){.seconds = seconds, .first_s = -1, .last_s = -1};
  if (seconds < 1 || seconds > HR__KNATIVE_MAX_SECONDS) {
    verdict->malformed = "a window must have from 1 to 3600 seconds";
    return false;
  }
  window->bucket = hr__verdict_alloc(verdict, (size_t)seconds, sizeof *window->bucket);
  return window->bucket != NULL;
}

/* Compares whether the window is empty and, if it is not, its average. The original rounds averages to six decimals, so
   the tolerance is 1e-6. */
static void compare_average(struct hr__verdict *verdict, const cJSON *item, uint32_t step, const char *want,
                            const char *empty, const struct hr__knative_window *window, int64_t now_us) {
  bool is_empty;
  const double average = hr__knative_window_average(window, now_us, &is_empty);
  if (!is_empty) compare_value(verdict, item, step, want, cJSON_CreateNumber(average), 1e-6);
  compare_value(verdict, item, step, empty, cJSON_CreateBool(is_empty), 0);
}

static void run_window(struct hr__verdict *verdict) {
  struct hr__knative_window stable, panic;
  const cJSON *item, *list = steps_of(verdict);
  if (!list || !make_window(verdict, &stable, hr__case_whole(verdict->input, "stable_window_s", 60)) ||
      !make_window(verdict, &panic, hr__case_whole(verdict->input, "panic_window_s", 6)))
    return;
  uint32_t step = 0;
  cJSON_ArrayForEach(item, list) {
    const int64_t now_us = now_of(verdict, item);
    if (hr__case_get(item, "record")) {
      hr__knative_window_add(&stable, now_us, hr__case_real(item, "record", 0));
      hr__knative_window_add(&panic, now_us, hr__case_real(item, "record", 0));
    } else {
      compare_average(verdict, item, step, "want_stable", "stable_empty", &stable, now_us);
      compare_average(verdict, item, step, "want_panic", "panic_empty", &panic, now_us);
    }
    step++;
  }
}

/* ---- Horizontal pod autoscaler ---- */

static const struct {
  const char *kind;
  enum hr__hpa_metric metric;
} hpa_kinds[] = {{"resource-utilization", HR__HPA_UTILIZATION},
                 {"pods-average-value", HR__HPA_PODS_AVERAGE},
                 {"object-value", HR__HPA_VALUE},
                 {"external-value", HR__HPA_VALUE},
                 {"object-average-value", HR__HPA_AVERAGE_VALUE},
                 {"external-average-value", HR__HPA_AVERAGE_VALUE}};

static bool flag_at(const cJSON *input, const char *name, uint32_t at, bool fallback) {
  const cJSON *item = cJSON_GetArrayItem(hr__case_get(input, name), (int)at);
  return cJSON_IsBool(item) ? cJSON_IsTrue(item) : fallback;
}

/* Writes the pods that have not failed and are not being deleted to `pods`. Returns their number. */
static uint32_t read_pods(const cJSON *input, struct hr__hpa_pod *pods, uint32_t n_all) {
  const cJSON *levels = hr__case_get(input, "levels_milli"), *requests = hr__case_get(input, "requests_milli");
  /* for the resource CPU, pods that are starting do not count: their CPU usage is not representative */
  const bool starts_count = strcmp(hr__case_text(input, "resource", "cpu"), "cpu") != 0;
  uint32_t n = 0;
  for (uint32_t i = 0; i < n_all; i++) {
    if (flag_at(input, "pod_failed", i, false) || flag_at(input, "pod_deleting", i, false)) continue;
    const cJSON *level = cJSON_GetArrayItem(levels, (int)i), *request = cJSON_GetArrayItem(requests, (int)i);
    pods[n++] =
        (struct hr__hpa_pod){.level = hr__case_value_whole(level, 0),
                             .request = hr__case_value_whole(request, 0),
                             .has_level = cJSON_IsNumber(level),
                             .has_request = cJSON_IsNumber(request),
                             .unready = !starts_count && !flag_at(input, "pod_ready", i, true),
                             .initializing = !starts_count && flag_at(input, "pod_in_cpu_init_period", i, false)};
  }
  return n;
}

/* Returns the sum of a list of values. An external metric may have several values, which are summed; a metric of an
   object has one. */
static int64_t sum_of(const cJSON *list) {
  int64_t sum = 0;
  const cJSON *item;
  cJSON_ArrayForEach(item, list) sum += hr__case_value_whole(item, 0);
  return sum;
}

static void run_hpa_replicas(struct hr__verdict *verdict) {
  const char *kind = hr__case_text(verdict->input, "kind", "");
  static const char *const lists[] = {"pod_ready", "pod_in_cpu_init_period", "pod_failed", "pod_deleting"};
  size_t at = 0, n_kinds = sizeof hpa_kinds / sizeof *hpa_kinds;
  while (at < n_kinds && strcmp(hpa_kinds[at].kind, kind) != 0) at++;
  const int64_t current = hr__case_whole(verdict->input, "current", 0);
  const cJSON *levels = hr__case_get(verdict->input, "levels_milli");
  has_want(verdict);
  if (at == n_kinds || current < 0 || current > 100000) verdict->malformed = "unknown kind, or too many replicas";
  if (verdict->malformed) return;
  uint32_t n_all = (uint32_t)current;
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    if (hr__case_count(verdict->input, lists[i]) > n_all) n_all = hr__case_count(verdict->input, lists[i]);
  struct hr__hpa_pod *pods = hr__verdict_alloc(verdict, n_all, sizeof *pods);
  if (!pods) return;
  struct hr__hpa_measured measured = {.metric = hpa_kinds[at].metric,
                                      .pods = pods,
                                      .n_pods = read_pods(verdict->input, pods, n_all),
                                      .value = sum_of(levels),
                                      .has_value = levels && levels->child,
                                      .tolerance = hr__case_real(verdict->input, "tolerance", 0.1)};
  measured.target = hr__case_whole(
      verdict->input, "target_percent",
      hr__case_whole(verdict->input, "target_milli", hr__case_whole(verdict->input, "target_per_pod_milli", 0)));
  if (measured.target <= 0) {
    verdict->malformed = "the target must be above 0";
    return;
  }
  struct hr__hpa_proposal proposal;
  const bool is_proposed = hr__hpa_propose(&measured, current, &proposal);
  if (!is_proposed || hr__case_get(verdict->input, "want_error")) hr__compare_bool(verdict, "want_error", !is_proposed);
  if (!is_proposed) return;
  hr__compare_number(verdict, "want", (double)proposal.replicas);
  const char *detail = measured.metric == HR__HPA_UTILIZATION ? "want_utilization_percent" : "want_metric_milli";
  if (hr__case_get(verdict->input, detail)) hr__compare_number(verdict, detail, (double)proposal.measured);
}

static bool read_rules(struct hr__verdict *verdict, const cJSON *object, struct hr__hpa_rules *rules) {
  const char *select = hr__case_text(object, "select", "Max");
  *rules = (struct hr__hpa_rules){.stabilization_us = us_of(object, "stabilization_s", 0)};
  if (strcmp(select, "Min") == 0) rules->select = HR__HPA_MIN;
  if (strcmp(select, "Disabled") == 0) rules->select = HR__HPA_DISABLED;
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(object, "policies")) {
    if (rules->n_policies == HR__HPA_MAX_POLICIES) {
      verdict->malformed = "too many policies";
      return false;
    }
    rules->policies[rules->n_policies++] =
        (struct hr__hpa_policy){.is_percent = hr__case_text_is(item, "type", "Percent"),
                                .value = hr__case_whole(item, "value", 0),
                                .period_us = us_of(item, "period_s", 60)};
  }
  return true;
}

/* Reads the events in the list `name`. The case states their age at the time 0, so their times are negative. The result
   has room for `more` further events. Returns NULL if memory is exhausted. */
static struct hr__hpa_event *read_events(struct hr__verdict *verdict, const cJSON *input, const char *name,
                                         uint32_t *n_events, uint32_t more) {
  struct hr__hpa_event *events = hr__verdict_alloc(verdict, hr__case_count(input, name) + more, sizeof *events);
  const cJSON *item;
  *n_events = 0;
  if (events)
    cJSON_ArrayForEach(item, hr__case_get(input, name)) events[(*n_events)++] =
        (struct hr__hpa_event){.at_us = -us_of(item, "age_s", 0), .change = hr__case_whole(item, "change", 0)};
  return events;
}

static bool read_history(struct hr__verdict *verdict, const cJSON *input, uint32_t more,
                         struct hr__hpa_history *history) {
  const cJSON *item;
  history->up = read_events(verdict, input, "up_events", &history->n_up, more);
  history->down = read_events(verdict, input, "down_events", &history->n_down, more);
  history->recommendations =
      hr__verdict_alloc(verdict, hr__case_count(input, "recommendations") + more, sizeof *history->recommendations);
  history->n_recommendations = 0;
  if (!history->up || !history->down || !history->recommendations) return false;
  cJSON_ArrayForEach(item, hr__case_get(input, "recommendations"))
      history->recommendations[history->n_recommendations++] = (struct hr__hpa_recommendation){
      .at_us = -us_of(item, "age_s", 0), .replicas = hr__case_whole(item, "replicas", 0)};
  return true;
}

/* Runs a case about one function of the original: calls the same function of the model, at the time 0. */
static void run_hpa_function(struct hr__verdict *verdict) {
  const cJSON *input = hr__case_get(verdict->input, "in");
  const char *function = hr__case_text(verdict->input, "function", "");
  const int64_t current = hr__case_whole(input, "current", 0), desired = hr__case_whole(input, "desired", 0);
  const struct hr__hpa_limits limits = {hr__case_whole(input, "min", 0), hr__case_whole(input, "max", INT32_MAX)};
  struct hr__hpa_rules up, down;
  struct hr__hpa_history history;
  if (!has_want(verdict) || !read_rules(verdict, hr__case_get(input, "up"), &up) ||
      !read_rules(verdict, hr__case_get(input, "down"), &down) || !read_history(verdict, input, 1, &history))
    return;
  struct hr__hpa_limited result = {0, NULL};
  if (strcmp(function, "normalize-behavior") == 0)
    result.replicas = hr__hpa_normalize(&up, &down, &history, 0, current, desired, limits);
  else if (strcmp(function, "stabilize-behavior") == 0)
    result = hr__hpa_stabilize(&up, &down, &history, 0, current, desired);
  else if (strcmp(function, "rate-limit-behavior") == 0)
    result = hr__hpa_limit_rate(&up, &down, &history, 0, current, desired, limits);
  else if (strcmp(function, "rate-limit-default") == 0)
    result = hr__hpa_limit_default(current, desired, limits);
  else if (strcmp(function, "scale-up-limit-default") == 0)
    result.replicas = hr__hpa_default_up_limit(current);
  else if (strcmp(function, "scale-up-limit-behavior") == 0)
    result.replicas = hr__hpa_limit(&up, &history, 0, current, true);
  else if (strcmp(function, "scale-down-limit-behavior") == 0)
    result.replicas = hr__hpa_limit(&down, &history, 0, current, false);
  else
    verdict->malformed = "unknown \"function\"";
  hr__compare_number(verdict, "want", (double)result.replicas);
  if (hr__case_get(verdict->input, "reason")) hr__compare_text(verdict, "reason", result.reason);
}

static void run_hpa_steps(struct hr__verdict *verdict) {
  const cJSON *item, *list = steps_of(verdict);
  const struct hr__hpa_limits limits = {hr__case_whole(verdict->input, "min", 1),
                                        hr__case_whole(verdict->input, "max", INT32_MAX)};
  struct hr__hpa_rules up, down;
  struct hr__hpa_history history;
  if (!list || !read_rules(verdict, hr__case_get(verdict->input, "up"), &up) ||
      !read_rules(verdict, hr__case_get(verdict->input, "down"), &down) ||
      !read_history(verdict, verdict->input, hr__case_count(verdict->input, "steps"), &history))
    return;
  uint32_t step = 0;
  cJSON_ArrayForEach(item, list) {
    const int64_t now_us = now_of(verdict, item), current = hr__case_whole(item, "current", 0);
    const int64_t desired = hr__case_whole(item, "desired", 0);
    const int64_t replicas = hr__hpa_normalize(&up, &down, &history, now_us, current, desired, limits);
    hr__hpa_changed(&up, &down, &history, now_us, current, replicas);
    compare_step(verdict, item, step++, "want", (double)replicas);
  }
}

/* ---- Ray Serve ---- */

static bool ray_spec(struct hr__verdict *verdict, const cJSON *object, struct hr__ray_spec *spec) {
  const bool has_zero = hr__case_get(object, "downscale_to_zero_delay_s") != NULL;
  *spec = (struct hr__ray_spec){.min = hr__case_whole(object, "min_replicas", 1),
                                .max = hr__case_whole(object, "max_replicas", 1),
                                .target = hr__case_real(object, "target_ongoing_requests", 2),
                                .up_factor = hr__case_real(object, "upscaling_factor", 1),
                                .down_factor = hr__case_real(object, "downscaling_factor", 1),
                                .up_delay_us = us_of(object, "upscale_delay_s", 30),
                                .down_delay_us = us_of(object, "downscale_delay_s", 600),
                                .to_zero_delay_us = has_zero ? us_of(object, "downscale_to_zero_delay_s", 0) : -1};
  if (spec->target <= 0) verdict->malformed = "\"target_ongoing_requests\" must be above 0";
  return spec->target > 0;
}

static void run_ray_steps(struct hr__verdict *verdict) {
  const cJSON *item, *list = steps_of(verdict);
  const bool keeps = hr__case_bool(verdict->input, "keep_state", true);
  struct hr__ray_spec spec;
  struct hr__ray self = {0};
  if (!list || !ray_spec(verdict, hr__case_get(verdict->input, "config"), &spec)) return;
  uint32_t step = 0;
  cJSON_ArrayForEach(item, list) {
    const cJSON *change = hr__case_get(item, "config_change");
    if (change && !ray_spec(verdict, change, &spec)) return;
    if (!keeps) self = (struct hr__ray){0};
    const int64_t replicas =
        hr__ray_decide(&spec, &self, now_of(verdict, item), hr__case_whole(item, "current", 0),
                       hr__case_whole(item, "target", 0), hr__case_real(item, "total_requests", 0));
    const int64_t least = replicas < spec.max ? replicas : spec.max;
    compare_step(verdict, item, step, "want", (double)replicas);
    compare_step(verdict, item, step++, "want_bounded", (double)(least > spec.min ? least : spec.min));
  }
}

static void run_ray_scaled(struct hr__verdict *verdict) {
  has_want(verdict);
  const int64_t scaled = hr__ray_scaled(
      hr__case_real(verdict->input, "desired", 0), hr__case_whole(verdict->input, "current", 0),
      hr__case_real(verdict->input, "upscaling_factor", 1), hr__case_real(verdict->input, "downscaling_factor", 1));
  hr__compare_number(verdict, "want", (double)scaled);
}

/* ---- NVIDIA Cloud Functions and KEDA ---- */

static struct hr__nvcf_stickiness stickiness_of(const cJSON *input, const char *name) {
  const cJSON *object = hr__case_get(input, name);
  return (struct hr__nvcf_stickiness){(uint32_t)hr__case_whole(object, "window", 1),
                                      (uint32_t)hr__case_whole(object, "required", 1)};
}

static void run_nvcf(struct hr__verdict *verdict) {
  const struct hr__nvcf_spec spec = {.up_threshold = (float)hr__case_real(verdict->input, "scale_up_threshold", 70),
                                     .down_threshold = (float)hr__case_real(verdict->input, "scale_down_threshold", 30),
                                     .up_factor = (float)hr__case_real(verdict->input, "scale_up_factor", 1.2),
                                     .down_factor = (float)hr__case_real(verdict->input, "scale_down_factor", 0.8),
                                     .up = stickiness_of(verdict->input, "scale_up_stickiness"),
                                     .down = stickiness_of(verdict->input, "scale_down_stickiness"),
                                     .decay = (float)hr__case_real(verdict->input, "decay", 0)};
  const cJSON *item;
  const int64_t current = hr__case_whole(verdict->input, "current", 0);
  const char *function = hr__case_text(verdict->input, "function", "");
  double *samples = hr__verdict_alloc(verdict, hr__case_count(verdict->input, "utilisation_percent"), sizeof *samples);
  uint32_t n = 0;
  if (!samples || !has_want(verdict)) return;
  cJSON_ArrayForEach(item, hr__case_get(verdict->input, "utilisation_percent")) samples[n++] = item->valuedouble;
  int64_t desired = hr__nvcf_by_utilization(&spec, samples, n, current);
  bool is_decided = true;
  if (strcmp(function, "decide") == 0)
    is_decided = hr__nvcf_decide(&spec, samples, n, current, hr__case_whole(verdict->input, "last_requested", 0),
                                 hr__case_bool(verdict->input, "recently_invoked", true), &desired);
  else if (strcmp(function, "utilisation") != 0)
    verdict->malformed = "unknown \"function\"";
  if (is_decided)
    hr__compare_number(verdict, "want", (double)desired);
  else
    hr__compare_text(verdict, "want", NULL);
}

static void run_keda(struct hr__verdict *verdict) {
  has_want(verdict);
  const struct hr__keda_spec spec = {.min = hr__case_whole(verdict->input, "min", 0),
                                     .idle = hr__case_whole(verdict->input, "idle", -1),
                                     .cooldown_us = us_of(verdict->input, "cooldown_s", 300),
                                     .pauses_in = hr__case_bool(verdict->input, "pause_in", false),
                                     .pauses_out = hr__case_bool(verdict->input, "pause_out", false),
                                     .forces_activation = hr__case_bool(verdict->input, "force_activation", false)};
  const int64_t replicas = hr__keda_decide(
      &spec, hr__case_whole(verdict->input, "current", 0), hr__case_bool(verdict->input, "active", false),
      hr__case_bool(verdict->input, "error", false), us_of(verdict->input, "seconds_since_last_active", -1));
  hr__compare_number(verdict, "want", (double)replicas);
}

/* ---- Cases ---- */

void hr__conform_autoscalers(struct hr__verdict *verdict) {
  static const struct hr__case_kind kinds[] = {{"knative_kpa.tests", run_knative},
                                               {"knative_kpa.generated", run_knative},
                                               {"knative_window_average.generated", run_window},
                                               {"hpa_replicas.tests", run_hpa_replicas},
                                               {"hpa_behaviour.tests", run_hpa_function},
                                               {"hpa_behaviour.generated", run_hpa_steps},
                                               {"ray_serve.tests", run_ray_steps},
                                               {"ray_serve.generated", run_ray_steps},
                                               {"ray_serve.scaling_factor", run_ray_scaled},
                                               {"nvcf.tests", run_nvcf},
                                               {"keda.tests", run_keda},
                                               {NULL, NULL}};
  if (!hr__run_kind(verdict, kinds)) hr__verdict_unknown_kind(verdict);
}
