/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_SERVICES_AUTOSCALERS_H
#define HR_SIM_SERVICES_AUTOSCALERS_H

/*
 * Autoscalers of inference services, as pure rules: they compute the wanted number of replicas from the measured load
 * and the present number. Each rule has settings, which do not change, and a state, which belongs to one service. Times
 * are in microseconds of one clock. The caller determines how often the rule decides.
 *
 * Sources: knative/serving pkg/autoscaler; kubernetes/kubernetes pkg/controller/podautoscaler; ray-project/ray
 * python/ray/serve/autoscaling_policy.py; NVIDIA/nvcf function-autoscaler; kedacore/keda pkg/scaling/executor.
 */

#include "headroom/base.h"

/* ---- Knative ------------------------------------------------------------------------------------------- */

struct hr__knative_spec {
  double target;          /* wanted value of the metric per replica, above 0 */
  double total;           /* maximum value of the metric per replica, for the excess burst capacity */
  double target_burst;    /* target burst capacity; 0: none; -1: unlimited */
  double panic_threshold; /* wanted replicas, as a multiple of the ready ones, at which a panic begins */
  double max_up_rate;     /* maximum factor by which one decision increases the number, above 1 */
  double max_down_rate;   /* maximum factor by which one decision decreases the number, above 1 */
  int64_t stable_window_us;
  int64_t down_delay_us;    /* delay before the wanted number decreases; 0: none */
  int64_t activation_scale; /* minimum number of replicas if the number is not 0; 0 or 1: no minimum */
  bool reachable;           /* requests can arrive; otherwise the number may decrease without limit */
};

enum { HR__KNATIVE_TICK_US = 2000000, HR__KNATIVE_MAX_DELAY_TICKS = 1800 };

struct hr__knative_maximum {
  int64_t tick; /* number of the tick in which `replicas` was recorded */
  int64_t replicas;
};

/* The state of one autoscaler. All bytes zero: no panic. */
struct hr__knative {
  bool panics;
  int64_t panic_us;  /* when the load last reached the threshold */
  int64_t max_panic; /* largest wanted number during the panic */
  /* wanted numbers during the delay in decreasing order, the oldest first: a ring of [HR__KNATIVE_MAX_DELAY_TICKS] */
  struct hr__knative_maximum *delayed;
  uint32_t first_delayed, n_delayed;
};

struct hr__knative_decision {
  int64_t desired;
  /* excess burst capacity; negative: requests go through the activator. -1 also if the target burst capacity is
     unlimited */
  double excess_burst;
};

/* Decides from the averages of the metric over the stable and the panic window, summed over replicas. `ready`: number
   of ready replicas. `self->delayed` may be NULL if the spec has no delay. The caller must limit the result to the
   minimum and maximum of the service. */
struct hr__knative_decision hr__knative_decide(const struct hr__knative_spec *spec, struct hr__knative *self,
                                               int64_t now_us, double stable, double panic, int64_t ready);

/* A metric by second, for averages over a window that ends now. */
enum { HR__KNATIVE_MAX_SECONDS = 3600 };

struct hr__knative_window {
  int64_t seconds;         /* length, at most HR__KNATIVE_MAX_SECONDS */
  double *bucket;          /* [seconds]: the value of second s is in bucket[s % seconds] */
  double total;            /* sum of the buckets */
  int64_t first_s, last_s; /* first and last second with a value, since the window was last empty; -1: none */
};

/* Adds a value to the present second. */
void hr__knative_window_add(struct hr__knative_window *window, int64_t now_us, double value);
/* Returns the average over the window. If the window has not been observed completely, the sum is divided by the
   observed seconds. Sets `*is_empty` if the last value is older than the window. */
double hr__knative_window_average(const struct hr__knative_window *window, int64_t now_us, bool *is_empty);

/* ---- Horizontal pod autoscaler of Kubernetes --------------------------------------------------------------- */

enum hr__hpa_metric {
  HR__HPA_UTILIZATION,  /* usage of a resource in percent of the request */
  HR__HPA_PODS_AVERAGE, /* average of a value per pod */
  HR__HPA_VALUE,        /* one value, compared with a target for all pods */
  HR__HPA_AVERAGE_VALUE /* one value, divided by the number of pods */
};

/* A pod that has neither failed nor is being deleted. */
struct hr__hpa_pod {
  int64_t level, request; /* thousandths */
  bool has_level;
  bool has_request;
  bool unready;
  bool initializing; /* the pod has just started, so its CPU does not count */
};

struct hr__hpa_measured {
  enum hr__hpa_metric metric;
  const struct hr__hpa_pod *pods; /* [n_pods] */
  uint32_t n_pods;
  int64_t value; /* HR__HPA_VALUE and HR__HPA_AVERAGE_VALUE: the value, in thousandths */
  bool has_value;
  int64_t target; /* HR__HPA_UTILIZATION: percent; other metrics: thousandths */
  double tolerance;
};

struct hr__hpa_proposal {
  int64_t replicas;
  int64_t measured; /* utilization in percent, or the metric in thousandths */
};

/* Proposes a number of replicas. Returns false if the metric is missing or, for HR__HPA_UTILIZATION, a pod has no
   request. */
bool hr__hpa_propose(const struct hr__hpa_measured *measured, int64_t current, struct hr__hpa_proposal *proposal);

enum hr__hpa_select { HR__HPA_MAX, HR__HPA_MIN, HR__HPA_DISABLED };

struct hr__hpa_policy {
  bool is_percent; /* otherwise a number of pods */
  int64_t value, period_us;
};

enum { HR__HPA_MAX_POLICIES = 16 };

/* Limits of the changes of the number in one direction. */
struct hr__hpa_rules {
  struct hr__hpa_policy policies[HR__HPA_MAX_POLICIES];
  uint32_t n_policies;
  enum hr__hpa_select select;
  int64_t stabilization_us;
};

struct hr__hpa_event {
  int64_t at_us, change; /* positive */
  /* the event is older than the longest period of its direction, and is replaced by the next event */
  bool is_old;
};

struct hr__hpa_recommendation {
  int64_t at_us, replicas;
};

/* The state of one autoscaler: lists that the caller owns. At each call, they must have room for one more entry.
   `recommendations` may be NULL; recommendations are then not recorded. */
struct hr__hpa_history {
  struct hr__hpa_event *up, *down;
  uint32_t n_up, n_down;
  struct hr__hpa_recommendation *recommendations;
  uint32_t n_recommendations;
};

struct hr__hpa_limits {
  int64_t min, max;
};

/* A number of replicas after a limit. `reason`: the reason in the words of Kubernetes: "ScaleUpLimit",
   "TooManyReplicas", ... */
struct hr__hpa_limited {
  int64_t replicas;
  const char *reason;
};

/* Returns the number after stabilization, and records the recommendation. */
struct hr__hpa_limited hr__hpa_stabilize(const struct hr__hpa_rules *up, const struct hr__hpa_rules *down,
                                         struct hr__hpa_history *history, int64_t now_us, int64_t current,
                                         int64_t desired);
/* Returns the number after the rate limits of the rules and the limits of the service are applied. */
struct hr__hpa_limited hr__hpa_limit_rate(const struct hr__hpa_rules *up, const struct hr__hpa_rules *down,
                                          const struct hr__hpa_history *history, int64_t now_us, int64_t current,
                                          int64_t desired, struct hr__hpa_limits limits);
/* Returns the highest (`is_up`) or the lowest number that the rules of one direction allow now. */
int64_t hr__hpa_limit(const struct hr__hpa_rules *rules, const struct hr__hpa_history *history, int64_t now_us,
                      int64_t current, bool is_up);
/* Applies both steps: stabilization, then the limits. */
static inline int64_t hr__hpa_normalize(const struct hr__hpa_rules *up, const struct hr__hpa_rules *down,
                                        struct hr__hpa_history *history, int64_t now_us, int64_t current,
                                        int64_t desired, struct hr__hpa_limits limits) {
  int64_t stable = hr__hpa_stabilize(up, down, history, now_us, current, desired).replicas;
  return hr__hpa_limit_rate(up, down, history, now_us, current, stable, limits).replicas;
}
/* Records that the number changed. */
void hr__hpa_changed(const struct hr__hpa_rules *up, const struct hr__hpa_rules *down, struct hr__hpa_history *history,
                     int64_t now_us, int64_t before, int64_t after);

/* hr__hpa_default_up_limit returns the upper limit without rules: twice the number, but at least 4.
   hr__hpa_limit_default limits the number to this value and to the limits of the service. */
static inline int64_t hr__hpa_default_up_limit(int64_t current) {
  return 2 * current > 4 ? 2 * current : 4;
}
struct hr__hpa_limited hr__hpa_limit_default(int64_t current, int64_t desired, struct hr__hpa_limits limits);

/* ---- Rules without windows ------------------------------------------------------------------------------ */

struct hr__ray_spec {
  int64_t min, max;
  double target; /* ongoing requests per replica, above 0 */
  double up_factor, down_factor;
  int64_t up_delay_us, down_delay_us;
  int64_t to_zero_delay_us; /* delay of the step from 1 to 0; negative: down_delay_us applies */
};

/* The state of Ray Serve's rule. All bytes zero: no decision is delayed. */
struct hr__ray {
  int direction;    /* direction of the delayed decision: 1 or -1; 0: none */
  int64_t since_us; /* when this decision was first made */
};

/* Returns current + factor * (wanted - current), rounded up, with the factor of the direction. `wanted` may be
   fractional. If `wanted` is less than `current`, the result is at most `current` - 1. */
int64_t hr__ray_scaled(double wanted, int64_t current, double up_factor, double down_factor);
/* Returns the wanted number of replicas. The caller must limit it to the minimum and maximum. `current`: number of
   ready replicas. `target`: the last decision. `requests`: number of ongoing and queued requests. */
int64_t hr__ray_decide(const struct hr__ray_spec *spec, struct hr__ray *self, int64_t now_us, int64_t current,
                       int64_t target, double requests);

/* Of the last `window` samples, at least `required` must be beyond the threshold. */
struct hr__nvcf_stickiness {
  uint32_t window, required;
};

struct hr__nvcf_spec {
  float up_threshold, down_threshold; /* percent */
  float up_factor, down_factor;
  struct hr__nvcf_stickiness up, down; /* {1, 1}: only the newest sample */
  float decay; /* in the average, the weight of the sample that is i samples old is exp(-decay * i) */
};

/* Returns the number by utilization, at least 1. `samples` are percentages, the oldest first; n_samples may be 0. */
int64_t hr__nvcf_by_utilization(const struct hr__nvcf_spec *spec, const double *samples, uint32_t n_samples,
                                int64_t current);
/* Sets `*desired` to the number by utilization. The number is 0 if no request was served recently (`recently_invoked`
   is false) and the mean utilization is low. `current`: number of ready replicas. `last_requested`: the last decision.
   Returns false if no decision is made because all replicas are still starting. */
bool hr__nvcf_decide(const struct hr__nvcf_spec *spec, const double *samples, uint32_t n_samples, int64_t current,
                     int64_t last_requested, bool recently_invoked, int64_t *desired);

struct hr__keda_spec {
  int64_t min;
  int64_t idle; /* number of replicas while inactive; negative: not set */
  int64_t cooldown_us;
  bool pauses_in, pauses_out;
  bool forces_activation;
};

/* Returns the number of replicas. `inactive_us`: time since the last activity; negative: never active. `is_failing`: a
   trigger reported an error. For an active service with at least `min` replicas, returns `current`, because the
   horizontal pod autoscaler determines the number between the minimum and the maximum. */
int64_t hr__keda_decide(const struct hr__keda_spec *spec, int64_t current, bool is_active, bool is_failing,
                        int64_t inactive_us);

#endif
