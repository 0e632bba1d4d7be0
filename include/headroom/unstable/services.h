/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_SERVICES_H
#define HEADROOM_UNSTABLE_SERVICES_H

/*
 * Inference services: requests, replicas that serve requests in batches, routers that assign requests to replicas, and
 * autoscalers that choose the number of replicas.
 *
 * A request has a prompt and an output, each with a number of tokens. A sequence is a request that a replica serves. A
 * replica runs one iteration after another. An iteration processes prompts or parts of prompts. For each sequence with
 * a complete prompt, it produces one token of the output (a decode). The iteration that completes a prompt also
 * produces the first token. The memory of a replica for the tokens of its sequences is called KV memory, or memory for
 * short.
 *
 * Times are microseconds in the clock of the request trace. docs/reference/services.md has the details.
 */

#include "headroom/base.h"
#include "headroom/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Engines: the rules by which a replica forms batches. The columns: enumerator, name in scenarios, meaning. */
#define HR_SERVICE_ENGINE_TABLE(X)                                                                                     \
  X(HR_SERVICE_VLLM_V1, "vllm-v1", "one token budget for prompts and decodes, as in vLLM V1")                          \
  X(HR_SERVICE_VLLM_V0, "vllm-v0", "prompts first and never mixed with decodes, as in vLLM V0")                        \
  X(HR_SERVICE_SARATHI, "sarathi", "decodes first, then chunks of prompts")                                            \
  X(HR_SERVICE_ORCA, "orca", "mixed batches; each request reserves memory for the longest one")                        \
  X(HR_SERVICE_ORCA_SPLITWISE, "orca-splitwise", "mixed batches; memory for the prompt, then for the output")          \
  X(HR_SERVICE_DISAGGREGATED, "disaggregated", "prompts and decodes on replicas of their own, as in DistServe")        \
  X(HR_SERVICE_COLOCATED, "colocated", "prompts first, then decodes in turn, as in DistServe's simulation of vLLM")    \
  X(HR_SERVICE_STATIC, "static", "a batch runs until its longest sequence ends")                                       \
  X(HR_SERVICE_DYNAMIC_BATCH, "dynamic-batch", "one pass for a batch that fills up for a while, as in Triton")         \
  X(HR_SERVICE_SINGLE, "single", "c servers: first come, first served, or processor sharing")

enum hr_service_engine {
#define HR_SERVICE_ENGINE_NAME(name, text, words) name,
  HR_SERVICE_ENGINE_TABLE(HR_SERVICE_ENGINE_NAME)
#undef HR_SERVICE_ENGINE_NAME
      HR_N_SERVICE_ENGINES
};

/* Routers: rules that assign requests to replicas. The columns: enumerator, name in scenarios, meaning. */
#define HR_SERVICE_ROUTER_TABLE(X)                                                                                     \
  X(HR_SERVICE_ROUND_ROBIN, "round-robin", "in turn")                                                                  \
  X(HR_SERVICE_RANDOM, "random", "any replica")                                                                        \
  X(HR_SERVICE_LEAST_OUTSTANDING, "least-outstanding", "fewest requests that are not complete")                        \
  X(HR_SERVICE_LEAST_WAITING, "least-waiting", "fewest requests that have not started")                                \
  X(HR_SERVICE_TOKEN_JSQ, "token-jsq", "fewest tokens: prompts that wait, and one for each decoding sequence")         \
  X(HR_SERVICE_POWER_OF_TWO, "power-of-two", "of two random replicas, the one with fewer incomplete requests")         \
  X(HR_SERVICE_FIRST_AVAILABLE, "first-available", "the first replica with room, in a fixed order")                    \
  X(HR_SERVICE_WEIGHTED, "weighted", "in turn, in proportion to the weights of pools or GPU types")

enum hr_service_router {
#define HR_SERVICE_ROUTER_NAME(name, text, words) name,
  HR_SERVICE_ROUTER_TABLE(HR_SERVICE_ROUTER_NAME)
#undef HR_SERVICE_ROUTER_NAME
      HR_N_SERVICE_ROUTERS
};

/* A knot of a table of times: prompt_us is the time of an iteration with `tokens` tokens of prompts and no decodes.
   token_us is the time of an iteration with `tokens` decoding sequences and no prompts. */
struct hr_service_knot {
  double tokens, prompt_us, token_us;
};

/* Separate times of iterations with prompts (prefill) and with decodes, as in DistServe's simulator. Each list has
   three terms. Prefill: constant, per token, per square of the tokens of a prompt. Decode: constant, per token of
   context (including the new token), per sequence. Each of the pipeline stages of a replica takes an equal share of the
   sum. */
struct hr_service_phases {
  /* large_ms: decode terms for batches of at least `large_batch` sequences. NULL: not specified */
  double *prefill_ms, *decode_ms, *large_ms;
  uint32_t n_prefill, n_decode, n_large; /* lengths of the lists: 3, or 0 if not specified */
  uint32_t large_batch, stages;          /* stages: number of pipeline stages */
  double stage_ms;                       /* prefill: each stage takes `stages` * stage_ms in addition */
  double overhead_ms,
      overhead_token_ms; /* the first stage takes overhead_ms, and overhead_token_ms per context token */
};

/* The time of an iteration: fixed_us + per_prompt_token_us for each token of a prompt + per_sequence_us for each
   decoding sequence + per_context_ktoken_us for each 1000 tokens that the sequences have processed before. Knots or
   phases replace these terms. */
struct hr_service_cost {
  double fixed_us, per_prompt_token_us, per_sequence_us, per_context_ktoken_us;
  bool integer; /* iterations take whole microseconds; the term per_context_ktoken_us is rounded down */
  /* [n_knots], by ascending tokens: a piecewise linear function, at least 2 knots. n_knots 0: no table */
  struct hr_service_knot *knots;
  uint32_t n_knots;
  /* with knots: (time of an iteration with prompts and decodes) / (time of as many tokens of prompts alone) */
  double mixed_factor;
  struct hr_service_phases phases; /* prefill_ms NULL: no separate times */
};

/* Limits of a replica. */
struct hr_service_limits {
  uint32_t max_sequences;    /* maximum number of sequences of a batch */
  uint32_t max_batch_tokens; /* maximum number of tokens of an iteration; for `orca` also of a request */
  uint32_t chunk_tokens;     /* `sarathi`: maximum number of tokens of an iteration */
  uint32_t block_tokens;     /* tokens of a block of KV memory */
  uint64_t kv_blocks;        /* KV memory of a replica in blocks; 0: computed from kv_tokens */
  double kv_tokens;          /* KV memory of a replica in tokens */
  double watermark;          /* `vllm-v0` and `sarathi`: share of the blocks that new prompts must leave free */
};

/* The time to transfer the KV memory of a request from one replica to another: setup_ms + bytes / gb_per_s. */
struct hr_service_link {
  double setup_ms, gb_per_s; /* gb_per_s 0: the bytes take no time */
  double kv_bytes_per_token;
};

/* Rules of the engines `disaggregated` and `colocated`. */
struct hr_service_phase_rules {
  uint32_t prefill_replicas, decode_replicas; /* `disaggregated`: numbers of replicas for prompts, and for decodes */
  bool chunked;                               /* an iteration has parts of prompts, and decodes if tokens are left */
  uint32_t max_decode_sequences;              /* maximum number of decodes of an iteration */
  uint64_t decode_context_tokens;             /* maximum context of all decodes of an iteration, in tokens */
  /* `colocated`: no prompt starts while the waiting decodes have more context tokens than max_decode_tokens *
     decode_pressure */
  double max_decode_tokens, decode_pressure;
  struct hr_service_link link;
};

/* Rules of the engine `dynamic-batch`. A batch starts when it has a preferred size, or when its first request has
   waited for max_queue_delay_us. */
struct hr_service_dynamic_rules {
  uint32_t *preferred, n_preferred; /* preferred sizes; n_preferred 0: only max_sequences */
  double max_queue_delay_us;        /* 0: a free replica starts a batch at once */
};

/* Rules of the engine `single`. */
struct hr_service_single_rules {
  uint32_t servers; /* number of requests that a replica serves at full speed */
  uint8_t shares;   /* 1: processor sharing, in which more requests are served at lower speed; 0: first come, first
                       served */
};

/* What happens to a request if the queue is full when it arrives. */
enum hr_queue_when_full { HR_QUEUE_REFUSE, HR_QUEUE_SPILL };

/* The queue of a service: requests that have arrived and are not part of an iteration yet. */
struct hr_service_queue {
  uint32_t limit;     /* maximum number of waiting requests; 0: no limit */
  int64_t timeout_us; /* a request that has waited for this time leaves the queue; 0: no timeout */
  uint8_t when_full;  /* enum hr_queue_when_full */
};

/* The weight of each replica in a pool, or on a GPU type. */
struct hr_router_weight {
  char *pool, *gpu_type; /* one of them is NULL */
  double weight;
};

/* The destination of requests if the predicted wait is too long, or if the queue is full. */
struct hr_service_spill {
  char *to;                  /* a service, a pool, a market or "clusters"; NULL: no destination */
  int64_t predicted_wait_us; /* maximum predicted wait; HR_NEVER_US: no maximum */
  /* index of the service that gets the requests; HR_NONE: replicas of the same service in `pools` get them */
  uint32_t service;
  uint32_t *pools, n_pools; /* indices of pools */
};

/* The parameters of routers. */
struct hr_service_routing {
  char **order; /* `first-available`: pools or GPU types, by descending precedence; others are last */
  uint32_t n_order;
  /* `first-available`: a replica has no room if it has this number of incomplete requests; 0: the maximum batch */
  uint32_t room;
  struct hr_router_weight *weights; /* [n_weights], of `weighted` */
  uint32_t n_weights;
  struct hr_service_spill spill;
};

/* The goals of a service. A goal of 0 is not set. A request meets the goals if its latencies are at most ttft_ms,
   tpot_ms and e2e_ms. */
struct hr_service_slo {
  double ttft_ms, tpot_ms, e2e_ms;
  double attainment; /* share of all requests that must meet the other goals */
};

/* Arrival processes of drawn requests. The columns: enumerator, name in scenarios, meaning. */
#define HR_REQUEST_ARRIVALS_TABLE(X)                                                                                   \
  X(HR_ARRIVALS_POISSON, "poisson", "independent of each other")                                                       \
  X(HR_ARRIVALS_GAMMA, "gamma", "gaps of a gamma distribution with the coefficient of variation 'cv'")

enum hr_request_arrivals {
#define HR_REQUEST_ARRIVALS_NAME(name, text, words) name,
  HR_REQUEST_ARRIVALS_TABLE(HR_REQUEST_ARRIVALS_NAME)
#undef HR_REQUEST_ARRIVALS_NAME
      HR_N_REQUEST_ARRIVALS
};

/* Distributions of a number of tokens. The columns: enumerator, name in scenarios, meaning. */
#define HR_TOKEN_LAW_TABLE(X)                                                                                          \
  X(HR_TOKENS_FIXED, "fixed", "always 'mean'")                                                                         \
  X(HR_TOKENS_EXPONENTIAL, "exponential", "exponential, rounded up (a geometric distribution with this mean)")         \
  X(HR_TOKENS_LOG_NORMAL, "log-normal", "log-normal with the standard deviation 'sigma' of the logarithm, rounded")    \
  X(HR_TOKENS_EMPIRICAL, "empirical", "those of the rows of a request trace, drawn with replacement")

enum hr_token_law_kind {
#define HR_TOKEN_LAW_NAME(name, text, words) name,
  HR_TOKEN_LAW_TABLE(HR_TOKEN_LAW_NAME)
#undef HR_TOKEN_LAW_NAME
      HR_N_TOKEN_LAWS
};

/* The distribution of a number of tokens. */
struct hr_token_law {
  enum hr_token_law_kind kind;
  double mean, sigma;
  uint32_t min, max; /* smaller numbers are replaced by min, and larger numbers by max; max 0: no upper bound */
  char *trace;       /* path of a request trace, for HR_TOKENS_EMPIRICAL */
};

/* Requests that are drawn at random. Time 0 is 0:00 on a Monday. */
struct hr_request_draw {
  enum hr_request_arrivals arrivals;
  double rate_per_s;       /* mean rate of a week at time 0; 0: requests are not drawn, but read from a trace */
  double cv;               /* HR_ARRIVALS_GAMMA: standard deviation of gaps / mean gap, at a constant rate */
  double *hourly, *weekly; /* [24] and [7] relative rates by hour of the day and by weekday; NULL: equal */
  uint32_t n_hourly, n_weekly;
  double growth_per_year; /* rate after 365 days / rate at time 0 */
  struct hr_token_law prompt, output;
  int64_t duration_us; /* requests arrive before this time; 0: no bound */
  int32_t offset_h;    /* local time, in which `hourly` and `weekly` are, minus the time of the run, in hours */
  uint64_t count;      /* maximum number of requests; 0: no bound */
  uint64_t seed;       /* 0: the seed of the run */
};

/* The price that customers pay, in micro-dollars per million tokens of prompts and of outputs. */
struct hr_service_price {
  int64_t input_uusd, output_uusd;
};

/* Rules by which the number of replicas is chosen. The columns: enumerator, name in scenarios, meaning. */
#define HR_AUTOSCALER_TABLE(X)                                                                                         \
  X(HR_AUTOSCALE_FIXED, "fixed", "always the same number")                                                             \
  X(HR_AUTOSCALE_SCHEDULE, "schedule", "by time")                                                                      \
  X(HR_AUTOSCALE_KNATIVE, "knative", "the pod autoscaler of Knative")                                                  \
  X(HR_AUTOSCALE_HPA, "hpa", "the horizontal pod autoscaler of Kubernetes")                                            \
  X(HR_AUTOSCALE_KEDA, "keda", "KEDA: from and to zero; between them as hpa")                                          \
  X(HR_AUTOSCALE_RAY_SERVE, "ray-serve", "Ray Serve")                                                                  \
  X(HR_AUTOSCALE_NVCF, "nvcf", "NVIDIA Cloud Functions")                                                               \
  X(HR_AUTOSCALE_SLO, "slo", "the fewest replicas that are predicted to meet the goals")

enum hr_autoscaler {
#define HR_AUTOSCALER_NAME(name, text, words) name,
  HR_AUTOSCALER_TABLE(HR_AUTOSCALER_NAME)
#undef HR_AUTOSCALER_NAME
      HR_N_AUTOSCALERS
};

/* Metrics that autoscalers measure. The columns: enumerator, name in scenarios, meaning. */
#define HR_SCALE_METRIC_TABLE(X)                                                                                       \
  X(HR_SCALE_CONCURRENCY, "concurrency", "requests that have arrived and are not complete")                            \
  X(HR_SCALE_RPS, "rps", "requests that arrive per second")                                                            \
  X(HR_SCALE_UTILIZATION, "utilization", "percent of the time in which replicas run iterations")

enum hr_scale_metric {
#define HR_SCALE_METRIC_NAME(name, text, words) name,
  HR_SCALE_METRIC_TABLE(HR_SCALE_METRIC_NAME)
#undef HR_SCALE_METRIC_NAME
      HR_N_SCALE_METRICS
};

/* A limit on the rate of change of `hpa` and `keda`: the maximum change in a period. */
struct hr_scale_policy {
  bool is_percent; /* true: `value` is a percentage of the replicas; false: a number of replicas */
  uint32_t value;
  int64_t period_us;
};

/* The behaviour of `hpa` and `keda` in one direction. */
struct hr_scale_rules {
  /* length of a window before each decision. Of the numbers of replicas that were computed in this window, the number
     with the smallest change is used */
  int64_t stabilization_us;
  /* 0: the policy that allows the largest change applies; 1: the smallest; 2: no change in this direction */
  uint8_t select;
  struct hr_scale_policy *policies;
  uint32_t n_policies;
};

/* An entry of a schedule: the number of replicas from a time on. */
struct hr_scale_step {
  int64_t at_us; /* since the begin of the period */
  uint32_t replicas;
};

/* The settings of an autoscaler. Settings that do not apply to its policy are 0. scenarios/schema/keys_services.c
   explains each setting. */
struct hr_autoscale {
  enum hr_autoscaler policy;
  uint32_t min, max;       /* bounds of the number of replicas; `fixed`: both are this number */
  uint32_t initial;        /* number of replicas at the begin of the run; HR_NONE: `min` */
  int64_t interval_us;     /* time between decisions; 0: the default of the policy */
  int64_t metric_delay_us; /* age of the metrics that a decision uses */
  enum hr_scale_metric metric;
  double target; /* wanted value of the metric per replica; of utilization in percent */
  struct hr_scale_step *steps;
  uint32_t n_steps;
  int64_t period_us; /* the schedule repeats after this time; 0: it does not repeat */
  /* knative */
  double panic_threshold, panic_window_share, max_scale_up_rate, max_scale_down_rate;
  int64_t stable_window_us, scale_down_delay_us, grace_us, retention_us;
  uint32_t activation_scale;
  /* hpa, keda */
  double tolerance;
  struct hr_scale_rules up, down;
  int64_t cooldown_us;
  uint32_t idle; /* keda: number of replicas while the service is inactive; HR_NONE: not specified */
  double activation_threshold;
  /* ray-serve */
  double upscaling_factor, downscaling_factor;
  int64_t upscale_delay_us, downscale_delay_us, downscale_to_zero_delay_us, look_back_us;
  /* nvcf */
  double up_threshold, down_threshold, up_factor, down_factor, decay;
  uint32_t up_window, up_required, down_window, down_required;
  int64_t idle_to_zero_us; /* also slo: time without requests after which no replica is kept; HR_NEVER_US: never */
  /* slo */
  int64_t window_us;
};

/* The time from the start of the job of a replica until the replica is ready. It is the sum of the stages: preparation
   of the node, pull of the image, start of the container, load of the weights, initialization of the engine. */
struct hr_cold_start {
  int64_t node_us, image_us, container_us, weights_us, engine_us;
  /* Name and index of the data set with the weights; the index is set when the scenario is built. NULL: each load takes
     weights_us. With a data set, loads share bandwidth with other flows (headroom/unstable/data.h); weights_us is then
     the time of a load without other flows, for predictions. */
  char *weights;
  uint32_t weights_set;
  /* the stages of node, image and weights are omitted on nodes on which the service has been ready since they last went
     down */
  bool caches;
};

/* A cluster in which a service has replicas. */
struct hr_service_place {
  char *name;
  double share;      /* number of requests that arrive in this cluster, relative to the other clusters */
  int32_t offset_h;  /* local time, in which `hourly` and `weekly` are, minus the time of the run, in hours */
  char *spill_to;    /* with spill.to "clusters": the cluster to which requests are sent; NULL: the next in the list */
  uint32_t min, max; /* bounds of the autoscaler; `fixed`: max is the number of replicas. HR_NONE: as for the service */
};

/* An inference service. */
struct hr_service {
  char *name;
  char *place; /* "FILE:LINE:COLUMN: " of its autoscaler in the scenario, for messages; NULL: not from a scenario */
  /* [n_places]: the clusters that the scenario lists for the service; n_places 0: the home of its tenant */
  struct hr_service_place *places;
  uint32_t n_places;
  uint32_t cluster;       /* index of the cluster in which its replicas run; 0 if there is a single cluster */
  uint32_t spill_cluster; /* with spill.to "clusters": index of the cluster to which its requests are sent */
  uint32_t stated;        /* index in hr_services.stated */
  /* fields of the jobs of its replicas: names as in a trace, NULL if not specified */
  char *tenant, *gpu_types, *regions, *mig_profile;
  enum hr_job_class class_;
  int32_t priority;
  bool uninterruptible; /* the jobs must not use spot capacity, and must not be preempted */
  uint32_t gpu_milli;   /* share of each GPU; 1000: whole GPUs */
  uint64_t gpu_mem_mib;
  uint32_t cpu_milli;
  uint64_t mem_mib;
  struct hr_autoscale autoscale;
  struct hr_cold_start cold_start;
  /* A replica that the autoscaler removes gets no more requests. It ends when it is idle, at the latest after this
     time. */
  int64_t drain_us;
  char *requests;          /* path of the request trace; NULL: requests are drawn */
  bool only_gets;          /* the service gets requests from other services only */
  uint32_t prefix_hit_ppm; /* share of the tokens of prompts that need no computation, in ppm */
  struct hr_request_draw draw;
  enum hr_service_router router;
  struct hr_service_routing routing;
  struct hr_service_queue queue;
  uint32_t replicas; /* number of replicas for hr_service_run */
  uint32_t gpus;     /* GPUs of a replica */
  char *model;       /* NULL: not specified */
  uint32_t tensor_parallel;
  enum hr_service_engine engine;
  struct hr_service_limits limits;
  struct hr_service_phase_rules phases;
  struct hr_service_dynamic_rules dynamic;
  struct hr_service_single_rules single;
  struct hr_service_cost cost;
  struct hr_service_slo slo;
  struct hr_service_price price;
};

/* The services of a scenario. A service with replicas in several clusters has one entry in `stated`, and one entry for
   each cluster in `at`, named "CLUSTER/SERVICE". The entries in `at` borrow everything that they point to from the
   entry in `stated`. */
struct hr_services {
  struct hr_service *at; /* [count] */
  uint32_t count;
  struct hr_service *stated; /* [n_stated]: the services as written in the scenario; NULL: not from a scenario */
  uint32_t n_stated;
  /* why a service can never run, if hr_scenario_load_candidate loaded the scenario; NULL: all services can run */
  char *unfit;
};

/* Requests in order of arrival. */
struct hr_service_requests {
  uint32_t count;
  int64_t *arrival_us;
  uint32_t *prompt_tokens, *output_tokens; /* at least 1 */
  uint32_t *cached_tokens; /* tokens of the prompt that need no computation; less than prompt_tokens. NULL: none */
};

/* Returns the number of tokens of a prompt that must be computed. */
static inline uint32_t hr_request_new_tokens(const struct hr_service_requests *requests, uint32_t id) {
  return requests->prompt_tokens[id] - (requests->cached_tokens ? requests->cached_tokens[id] : 0);
}

/* States of requests at the end. The columns: enumerator, name in files. */
#define HR_REQUEST_STATE_TABLE(X)                                                                                      \
  X(HR_REQUEST_COMPLETED, "completed")                                                                                 \
  X(HR_REQUEST_REFUSED, "refused")       /* too large for a replica, or the queue was full */                          \
  X(HR_REQUEST_UNFINISHED, "unfinished") /* not complete at the end of the run */                                      \
  X(HR_REQUEST_TIMED_OUT, "timed-out")   /* it left the queue after `timeout_us` */                                    \
  X(HR_REQUEST_SPILLED, "spilled")       /* sent to another service, which has its result */

enum hr_request_state {
#define HR_REQUEST_STATE_NAME(name, text) name,
  HR_REQUEST_STATE_TABLE(HR_REQUEST_STATE_NAME)
#undef HR_REQUEST_STATE_NAME
};

/* Reasons for a change of the wanted number of replicas. The columns: enumerator, text. */
#define HR_SCALE_REASON_TABLE(X)                                                                                       \
  X(HR_SCALE_INITIAL, "initial number")                                                                                \
  X(HR_SCALE_SCHEDULED, "schedule")                                                                                    \
  X(HR_SCALE_LOAD, "load")                                                                                             \
  X(HR_SCALE_PANIC, "panic: load above the threshold")                                                                 \
  X(HR_SCALE_ACTIVATION, "activation: requests wait and no replica exists")                                            \
  X(HR_SCALE_IDLE, "idle: no request for long enough")                                                                 \
  X(HR_SCALE_GOALS, "predicted to meet the goals")                                                                     \
  X(HR_SCALE_UNREACHABLE, "no number is predicted to meet the goals")

enum hr_scale_reason {
#define HR_SCALE_REASON_NAME(name, text) name,
  HR_SCALE_REASON_TABLE(HR_SCALE_REASON_NAME)
#undef HR_SCALE_REASON_NAME
};

/* A change of the wanted number of replicas. */
struct hr_scale_decision {
  int64_t at_us;
  uint32_t from, to;
  uint8_t reason; /* enum hr_scale_reason */
};

/* The numbers of replicas of a service from an instant on. */
struct hr_replica_level {
  int64_t at_us; /* in the clock of the requests */
  /* wanted: number that the autoscaler wants. starting: replicas that have GPUs, but are not ready yet */
  uint32_t wanted, ready, starting;
};

/* A period in which a ready replica ran no iteration. Periods shorter than HR_MIN_IDLE_US are not recorded. */
struct hr_idle_period {
  int64_t from_us, to_us; /* in the clock of the requests */
  uint32_t replica;
};
#define HR_MIN_IDLE_US (60 * HR_SECOND_US)

/* The number of sequences that lost their KV memory in a minute. Sequences of replicas that ended are not counted. */
struct hr_memory_losses {
  int64_t minute; /* in the clock of the requests */
  uint64_t count;
};

/* GPU time of the replicas of a service, in milli-GPU x microseconds. held = starting + busy + idle. busy: the replica
   ran iterations. idle: it was ready and ran no iteration. */
struct hr_replica_times {
  hr_amount held, starting, busy, idle;
};

/* The result of a service. The first columns have one entry for each request. scheduled_us is the start of the first
   iteration of a request. A time that a request did not reach is HR_NEVER_US. All times of refused and spilled requests
   are their arrival. The end of a request that timed out is the time at which it left the queue. */
struct hr_service_result {
  uint32_t count;    /* number of requests */
  uint32_t *replica; /* the replica that served the request; HR_NONE: it was never assigned, or timed out */
  int64_t *scheduled_us, *first_token_us, *end_us;
  uint8_t *state;     /* enum hr_request_state */
  uint16_t *restarts; /* how many times the request lost its KV memory and was computed again */
  /* sum of the times from a loss of KV memory to the next token; losses before the first token do not count */
  int64_t *preempted_us;
  int64_t *cold_us; /* time before the first iteration in which no replica was ready and one was starting */
  /* time to transfer the KV memory from the replica of the prompt to the replica that decodes; NULL: no
     transfers */
  int64_t *transfer_us;
  /* Only for the engines `disaggregated` and `colocated`; NULL for other engines. decode_replica: the replica that
     decodes. rest_ps: the exact times scheduled, first_token and end minus the rounded times above, in picoseconds. */
  uint32_t *decode_replica;
  int32_t (*rest_ps)[3];
  uint64_t iterations, recomputed_tokens; /* totals of the service */
  /* KV memory in blocks (`orca-splitwise`: in tokens). memory_sum: sum over all iterations of the memory that the
     replica used. memory_peak: maximum that a replica used. memory_capacity: memory of a replica; 0: the engine has no
     limited memory */
  uint64_t memory_sum, memory_peak, memory_capacity;
  struct hr_idle_period *idle; /* [n_idle], sorted by end; not recorded for `disaggregated` and `colocated` */
  uint32_t n_idle, idle_capacity;
  struct hr_memory_losses *losses; /* [n_losses], by minute; minutes without losses have no entry */
  uint32_t n_losses, losses_capacity;
  uint32_t n_replicas;
  int64_t *busy_us; /* [n_replicas]: time in which the replica ran iterations */
  /* The remaining members describe replicas that are jobs. They are 0 in the results of hr_service_run. */
  struct hr_replica_times gpu_time;
  uint64_t cold_starts, interruptions, lost_tokens;
  uint64_t met_cold_start; /* number of requests that waited while no replica was ready */
  uint64_t received;       /* number of requests that came from other services */
  uint64_t overflowed;     /* number of requests that were assigned to replicas in the pools of `spill` */
  struct hr_scale_decision *decisions;
  uint32_t n_decisions, decisions_capacity;
  struct hr_replica_level *levels; /* an entry for each change */
  uint32_t n_levels, levels_capacity;
};

/* Return the names in scenarios and files. */
HR_API const char *hr_service_engine_name(enum hr_service_engine engine);
HR_API const char *hr_service_router_name(enum hr_service_router router);
HR_API const char *hr_request_state_name(enum hr_request_state state);

/* Returns the reason why a replica can never serve a request, in words; NULL if it can. */
HR_API const char *hr_service_refusal(const struct hr_service *service, uint32_t prompt_tokens, uint32_t output_tokens);
/* Simulates a service with service->replicas replicas, all of which are ready at the first arrival. `seed` is used by
   random routers. `steps` true: each iteration is simulated separately. `steps` false: successive iterations of an
   unchanged batch are simulated in one step, with the same result. The caller frees the result with
   hr_service_result_finish, also after an error. The only error is HR_NO_MEMORY. */
HR_API enum hr_status hr_service_run(const struct hr_service *service, const struct hr_service_requests *requests,
                                     uint64_t seed, bool steps, struct hr_service_result *result,
                                     struct hr_error *error);
/*
 * The fleet: the services of one run in which replicas are jobs. A replica is submitted as a job when the autoscaler
 * wants one more replica. The job waits for GPUs under the policy like other jobs. It does not end by itself. In the
 * trace of the run, the rows of these jobs follow the rows of the job trace. Their number is known only after the run,
 * so rows are reserved before the run. Times of the run are times in the clock of the requests minus
 * hr_fleet_origin_us().
 */
struct hr_fleet;
/* The input of a fleet. Everything is borrowed. */
struct hr_fleet_config {
  const struct hr_services *services;
  const struct hr_service_requests *requests; /* [services->count] */
  const struct hr_trace *trace;               /* other jobs of the run; NULL: none */
  uint64_t seed;
  bool steps; /* simulate each iteration separately */
};
/* Creates a fleet for one run. The caller frees it with hr_fleet_destroy, also after an error. Returns HR_BAD_INPUT if
   the last request arrives 2^46 microseconds (2.2 years) or more after the first submit or request, or if requests
   arrive before the first submit of a trace with dates. */
HR_API enum hr_status hr_fleet_create(const struct hr_fleet_config *config, struct hr_fleet **fleet,
                                      struct hr_error *error);
HR_API void hr_fleet_destroy(struct hr_fleet *fleet);
/* Returns the trace of the run, with a row for each replica that has been submitted so far. */
HR_API const struct hr_trace *hr_fleet_trace(const struct hr_fleet *fleet);
/* Returns time zero of the run in the clock of the requests. */
HR_API int64_t hr_fleet_origin_us(const struct hr_fleet *fleet);
/* Returns the requests of a service. If the service gets requests from other services, they are complete only after the
   run. */
HR_API const struct hr_service_requests *hr_fleet_requests(const struct hr_fleet *fleet, uint32_t service);
/* Returns the index of the service if a submitted job is a replica; HR_NONE if it is a job of the input. */
HR_API uint32_t hr_fleet_service_of(const struct hr_fleet *fleet, hr_job job);
/* Returns the result of a service. Must be called after the run. */
HR_API const struct hr_service_result *hr_fleet_result(const struct hr_fleet *fleet, uint32_t service);

/* Return the names in scenarios and files. */
HR_API const char *hr_autoscaler_name(enum hr_autoscaler policy);
HR_API const char *hr_scale_reason_words(enum hr_scale_reason reason);

/* Frees everything that a result points to. */
HR_API void hr_service_result_finish(struct hr_service_result *result);

#ifdef __cplusplus
}
#endif
#endif
