/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_SERVICES_H
#define HEADROOM_UNSTABLE_SERVICES_H

/*
 * Inference services: requests, replicas that serve them in batches, and a router that assigns requests to replicas.
 *
 * A replica runs one iteration after another. An iteration processes prompts or parts of them, and produces one token
 * for each sequence with a complete prompt. The prompt yields the first token.
 *
 * Times are microseconds in the clock of the request trace.
 */

#include "headroom/base.h"
#include "headroom/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a replica forms batches. The columns: enumerator, name in scenarios, meaning. */
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

/* How requests are assigned to replicas. The columns: enumerator, name in scenarios, meaning. */
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

/* A knot of a table: the time of an iteration with a number of tokens of prompts only, or of decoding sequences. */
struct hr_service_knot {
  double tokens, prompt_us, token_us;
};

/* Separate times of prefill and decode, as in DistServe's simulator. A list has three terms. Prefill: constant, per
   token, per square of the tokens of a prompt. Decode: constant, per token of context (including the new one), per
   sequence. A pipeline stage takes its share of the sum. */
struct hr_service_phases {
  double *prefill_ms, *decode_ms, *large_ms; /* large: decode of `large_batch` sequences or more. NULL: not set */
  uint32_t n_prefill, n_decode, n_large;     /* 3 */
  uint32_t large_batch, stages;
  double stage_ms;                       /* of prefill: for each pipeline stage, in every stage */
  double overhead_ms, overhead_token_ms; /* in the first stage: once, and for each token of context */
};

/* The time of an iteration: fixed_us + per_prompt_token_us for each token of a prompt + per_sequence_us for each
   decoding sequence + per_context_ktoken_us for each 1000 tokens that the sequences have processed before. `integer`:
   whole microseconds; the last term is rounded down. If there are knots or phases, they replace these terms. */
struct hr_service_cost {
  double fixed_us, per_prompt_token_us, per_sequence_us, per_context_ktoken_us;
  bool integer;
  struct hr_service_knot *knots; /* [n_knots] by rising tokens; at least 2 if there are any */
  uint32_t n_knots;
  double mixed_factor; /* time of an iteration with prompts and decodes / time of the same number of prompt tokens */
  struct hr_service_phases phases;
};

struct hr_service_limits {
  uint32_t max_sequences;
  uint32_t max_batch_tokens; /* of an iteration; for `orca` also of a request */
  uint32_t chunk_tokens;     /* `sarathi`: tokens of an iteration */
  uint32_t block_tokens;     /* tokens of a block of memory */
  uint64_t kv_blocks;        /* memory; 0: from kv_tokens */
  double kv_tokens;          /* the same in tokens */
  double watermark;          /* part of the blocks that prompts must leave free */
};

/* The time in which the memory of a request moves from one replica to another: setup_ms + bytes / gb_per_s. */
struct hr_service_link {
  double setup_ms, gb_per_s; /* 0: moving the bytes takes no time */
  double kv_bytes_per_token;
};

/* Rules of the engines `disaggregated` and `colocated`. */
struct hr_service_phase_rules {
  uint32_t prefill_replicas, decode_replicas; /* `disaggregated`: the numbers of replicas of each kind */
  bool chunked;                               /* an iteration takes parts of prompts, and decodes in the rest */
  uint32_t max_decode_sequences;              /* of an iteration */
  uint64_t decode_context_tokens;             /* of an iteration */
  double max_decode_tokens, decode_pressure;  /* no prompt starts while decodes hold more than their product */
  struct hr_service_link link;
};

/* Rules of the engine `dynamic-batch`: a batch starts with a preferred size, or when the first request has waited. */
struct hr_service_dynamic_rules {
  uint32_t *preferred, n_preferred; /* none: max_sequences */
  double max_queue_delay_us;        /* 0: a free replica starts at once */
};

/* Rules of the engine `single`. */
struct hr_service_single_rules {
  uint32_t servers;
  uint8_t shares; /* processor sharing; otherwise first come, first served */
};

/* What happens to a request if the queue is full when it arrives. */
enum hr_queue_when_full { HR_QUEUE_REFUSE, HR_QUEUE_SPILL };

/* The queue of a service: requests that have arrived, before their first iteration. */
struct hr_service_queue {
  uint32_t limit;     /* maximum number of waiting requests; 0: no limit */
  int64_t timeout_us; /* a request that has waited for this time leaves; 0: never */
  uint8_t when_full;  /* enum hr_queue_when_full */
};

/* A weight of each replica in a pool, or with a GPU type. */
struct hr_router_weight {
  char *pool, *gpu_type; /* one of them is NULL */
  double weight;
};

/* The destination of requests if the predicted wait is too long, or if the queue is full. */
struct hr_service_spill {
  char *to;                  /* a service, a pool or a market; NULL: nowhere */
  int64_t predicted_wait_us; /* bound; HR_NEVER_US: none */
  uint32_t service;          /* index of the service; HR_NONE: replicas of the same service in `pools` */
  uint32_t *pools, n_pools;  /* indices */
};

/* The parameters of routers. */
struct hr_service_routing {
  char **order; /* `first-available`: pools or GPU types, the first one first; those that are not listed are last */
  uint32_t n_order;
  uint32_t room;                    /* `first-available`: requests of a replica without room; 0: the largest batch */
  struct hr_router_weight *weights; /* `weighted`; [n_weights] */
  uint32_t n_weights;
  struct hr_service_spill spill;
};

/* Goals of requests; 0: none. */
struct hr_service_slo {
  double ttft_ms, tpot_ms, e2e_ms;
  double attainment; /* share of all requests that must meet the other goals */
};

/* How the requests of a service are generated. The columns: enumerator, name in scenarios, meaning. */
#define HR_REQUEST_ARRIVALS_TABLE(X)                                                                                   \
  X(HR_ARRIVALS_POISSON, "poisson", "independent of each other")                                                       \
  X(HR_ARRIVALS_GAMMA, "gamma", "gaps of a gamma distribution with the coefficient of variation 'cv'")

enum hr_request_arrivals {
#define HR_REQUEST_ARRIVALS_NAME(name, text, words) name,
  HR_REQUEST_ARRIVALS_TABLE(HR_REQUEST_ARRIVALS_NAME)
#undef HR_REQUEST_ARRIVALS_NAME
      HR_N_REQUEST_ARRIVALS
};

/* The distribution of a number of tokens. The columns: enumerator, name in scenarios, meaning. */
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

struct hr_token_law {
  enum hr_token_law_kind kind;
  double mean, sigma;
  uint32_t min, max; /* bounds that replace smaller and larger numbers; max 0: no upper bound */
  char *trace;       /* path; only HR_TOKENS_EMPIRICAL */
};

/* Requests that are drawn. Time 0 is 0:00 on a Monday. */
struct hr_request_draw {
  enum hr_request_arrivals arrivals;
  double rate_per_s; /* mean of a week at time 0; 0: the requests are a trace */
  double cv;
  double *hourly, *weekly; /* [24] and [7] relative rates by hour of the day and by weekday; NULL: equal */
  uint32_t n_hourly, n_weekly;
  double growth_per_year; /* factor of the rate after 365 days */
  struct hr_token_law prompt, output;
  int64_t duration_us; /* 0: until `count` */
  int32_t offset_h;    /* `hourly` and `weekly` are in a local time: that of the run plus these hours */
  uint64_t count;      /* 0: until `duration_us` */
  uint64_t seed;       /* 0: that of the run */
};

/* What customers pay, in micro-dollars per million tokens. */
struct hr_service_price {
  int64_t input_uusd, output_uusd;
};

/* How the number of replicas is chosen. The columns: enumerator, name in scenarios, meaning. */
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

/* What an autoscaler measures. The columns: enumerator, name in scenarios, meaning. */
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

/* A limit of the rate of change of `hpa`. */
struct hr_scale_policy {
  bool is_percent; /* otherwise a number of replicas */
  uint32_t value;
  int64_t period_us;
};

/* The behaviour of `hpa` in one direction. */
struct hr_scale_rules {
  int64_t stabilization_us;
  uint8_t select; /* 0: the largest change; 1: the smallest; 2: none */
  struct hr_scale_policy *policies;
  uint32_t n_policies;
};

/* An entry of a schedule. */
struct hr_scale_step {
  int64_t at_us; /* since the begin of the period */
  uint32_t replicas;
};

/* The settings of an autoscaler. Settings that do not apply to its policy are 0. */
struct hr_autoscale {
  enum hr_autoscaler policy;
  uint32_t min, max;   /* `fixed`: both are the number of replicas */
  uint32_t initial;    /* at the begin; HR_NONE: `min` */
  int64_t interval_us; /* between decisions; 0: that of the policy */
  int64_t metric_delay_us;
  enum hr_scale_metric metric;
  double target; /* wanted value of the metric per replica */
  struct hr_scale_step *steps;
  uint32_t n_steps;
  int64_t period_us; /* the schedule repeats; 0: it does not */
  /* knative */
  double panic_threshold, panic_window_share, max_scale_up_rate, max_scale_down_rate;
  int64_t stable_window_us, scale_down_delay_us, grace_us, retention_us;
  uint32_t activation_scale;
  /* hpa, keda */
  double tolerance;
  struct hr_scale_rules up, down;
  int64_t cooldown_us;
  uint32_t idle; /* keda: number while inactive; HR_NONE: off */
  double activation_threshold;
  /* ray-serve */
  double upscaling_factor, downscaling_factor;
  int64_t upscale_delay_us, downscale_delay_us, downscale_to_zero_delay_us, look_back_us;
  /* nvcf */
  double up_threshold, down_threshold, up_factor, down_factor, decay;
  uint32_t up_window, up_required, down_window, down_required;
  int64_t idle_to_zero_us; /* also slo: without a request for this time, no replica is needed; HR_NEVER_US: off */
  /* slo */
  int64_t window_us;
};

/* The time from the start of the job of a replica until it is ready: the sum of these stages. Those for the node, the
   image and the weights are left out on nodes on which the service has been ready before, if they are cached. */
struct hr_cold_start {
  int64_t node_us, image_us, container_us, weights_us, engine_us;
  /* The data set with the weights, and its index, set by the builder; NULL: loads take `weights_us`. With a data set,
     loads share bandwidth with other flows, and `weights_us` is the time of one alone, for predictions. */
  char *weights;
  uint32_t weights_set;
  bool caches; /* node, image and weights stay on a node until it goes down */
};

/* A cluster in which a service has replicas. */
struct hr_service_place {
  char *name;
  double share;      /* relative number of the requests that arrive in this cluster, compared with the other clusters */
  int32_t offset_h;  /* of `hourly` and `weekly`: local time minus the time of the run */
  char *spill_to;    /* the cluster to which requests go with the spill-over to "clusters"; NULL: the next one */
  uint32_t min, max; /* of the autoscaler; `fixed`: max replicas. HR_NONE: those of the service */
};

struct hr_service {
  char *name;
  char *place; /* of its autoscaler in the scenario, "FILE:LINE:COLUMN: ", for messages; NULL: not from a scenario */
  struct hr_service_place *places; /* [n_places]: the clusters that the scenario names; none: the home of the tenant */
  uint32_t n_places;
  uint32_t cluster;       /* index of the cluster in which its replicas run; 0 without `clusters` */
  uint32_t spill_cluster; /* that to which its requests go with the spill-over to "clusters" */
  uint32_t stated;        /* index in hr_services.stated */
  char *tenant, *gpu_types, *regions, *mig_profile; /* of the jobs; NULL: none */
  enum hr_job_class class_;
  int32_t priority;
  bool uninterruptible; /* the jobs must not use spot capacity, and must not be preempted */
  uint32_t gpu_milli;   /* share of each GPU; 1000: whole GPUs */
  uint64_t gpu_mem_mib;
  uint32_t cpu_milli;
  uint64_t mem_mib;
  struct hr_autoscale autoscale;
  struct hr_cold_start cold_start;
  int64_t drain_us;        /* time after which a replica that gets no more requests ends, even if it is not idle */
  char *requests;          /* path of the request trace; NULL: they are drawn */
  bool only_gets;          /* no request arrives here first: all come from other services */
  uint32_t prefix_hit_ppm; /* part of the prompts that needs no computation, in millionths */
  struct hr_request_draw draw;
  enum hr_service_router router;
  struct hr_service_routing routing;
  struct hr_service_queue queue;
  uint32_t replicas;
  uint32_t gpus; /* of a replica */
  char *model;   /* NULL: not stated */
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

/* The services of a scenario. A service of the scenario with replicas in several clusters is one service for each of
   them in `at`, named "CLUSTER/SERVICE"; they share everything that they point to with that in `stated`. */
struct hr_services {
  struct hr_service *at; /* [count] */
  uint32_t count;
  struct hr_service *stated; /* [n_stated]: as the scenario has them; NULL: not from a scenario */
  uint32_t n_stated;
  /* why a service can never run, if hr_scenario_load_candidate loaded the scenario; NULL: all services can run */
  char *unfit;
};

/* Requests in order of arrival. */
struct hr_service_requests {
  uint32_t count;
  int64_t *arrival_us;
  uint32_t *prompt_tokens, *output_tokens; /* at least 1 */
  uint32_t *cached_tokens; /* tokens of the prompt that need no computation; less than all of them. NULL: none */
};

/* The tokens of a prompt that are to be computed. */
static inline uint32_t hr_request_new_tokens(const struct hr_service_requests *requests, uint32_t id) {
  return requests->prompt_tokens[id] - (requests->cached_tokens ? requests->cached_tokens[id] : 0);
}

/* The outcome of a request. The columns: enumerator, name in files. */
#define HR_REQUEST_STATE_TABLE(X)                                                                                      \
  X(HR_REQUEST_COMPLETED, "completed")                                                                                 \
  X(HR_REQUEST_REFUSED, "refused")       /* too large for a replica, or the queue was full */                          \
  X(HR_REQUEST_UNFINISHED, "unfinished") /* it was not complete at the end of the run */                               \
  X(HR_REQUEST_TIMED_OUT, "timed-out")   /* its first iteration had not begun in time */                               \
  X(HR_REQUEST_SPILLED, "spilled")       /* it went to another service, which has its result */

enum hr_request_state {
#define HR_REQUEST_STATE_NAME(name, text) name,
  HR_REQUEST_STATE_TABLE(HR_REQUEST_STATE_NAME)
#undef HR_REQUEST_STATE_NAME
};

/* Why the number of wanted replicas changed. The columns: enumerator, text. */
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

/* A change of the number of wanted replicas. */
struct hr_scale_decision {
  int64_t at_us;
  uint32_t from, to;
  uint8_t reason; /* enum hr_scale_reason */
};

/* The replicas of a service from an instant on: wanted by the autoscaler, ready, and with GPUs but not ready yet. */
struct hr_replica_level {
  int64_t at_us; /* in the clock of the requests */
  uint32_t wanted, ready, starting;
};

/* A time in which a ready replica ran no iteration. Times shorter than HR_MIN_IDLE_US are not listed. */
struct hr_idle_period {
  int64_t from_us, to_us; /* in the clock of the requests */
  uint32_t replica;
};
#define HR_MIN_IDLE_US (60 * HR_SECOND_US)

/* How many sequences lost their memory in a minute, without those of replicas that ended. */
struct hr_memory_losses {
  int64_t minute; /* in the clock of the requests */
  uint64_t count;
};

/* GPU time of the replicas of a service, in milli-GPU x microseconds. held = starting + busy + idle; `idle` includes
   replicas that drain. */
struct hr_replica_times {
  hr_amount held, starting, busy, idle;
};

/* The result, by request. A time that was not reached is HR_NEVER_US. Times of refused and spilled requests are their
   arrival. The end of a request that timed out is the time at which it left. */
struct hr_service_result {
  uint32_t count;
  uint32_t *replica; /* HR_NONE: never assigned, or timed out */
  int64_t *scheduled_us, *first_token_us, *end_us;
  uint8_t *state;     /* enum hr_request_state */
  uint16_t *restarts; /* how often the request lost its memory and was computed again */
  /* time from each loss of memory to the next token, without losses before the first token */
  int64_t *preempted_us;
  int64_t *cold_us; /* time before the first iteration in which no replica was ready and one was starting */
  /* time in which memory moved from the replica of the prompt to the one that decodes; NULL: it never does */
  int64_t *transfer_us;
  /* Of the engines `disaggregated` and `colocated`, otherwise NULL: the replica that decodes, and what is left of the
     times scheduled, first_token and end after rounding to microseconds, in picoseconds. */
  uint32_t *decode_replica;
  int32_t (*rest_ps)[3];
  uint64_t iterations, recomputed_tokens;
  /* Memory, in blocks (`orca-splitwise`: in tokens): the sum over all iterations of what the replica used,
     its maximum, and the capacity of a replica; 0: engines without such memory */
  uint64_t memory_sum, memory_peak, memory_capacity;
  struct hr_idle_period *idle; /* [n_idle] by end. Engines with phases: none */
  uint32_t n_idle, idle_capacity;
  struct hr_memory_losses *losses; /* [n_losses] by minute; minutes without losses are missing */
  uint32_t n_losses, losses_capacity;
  uint32_t n_replicas;
  int64_t *busy_us; /* [n_replicas] */
  /* The replicas as jobs. All members are 0 in the results of hr_service_run. */
  struct hr_replica_times gpu_time;
  uint64_t cold_starts, interruptions, lost_tokens;
  uint64_t met_cold_start; /* requests that waited while no replica was ready */
  uint64_t received;       /* the requests that came from other services */
  uint64_t overflowed;     /* requests that were assigned to replicas in the pools of `spill` */
  struct hr_scale_decision *decisions;
  uint32_t n_decisions, decisions_capacity;
  struct hr_replica_level *levels; /* one for each change */
  uint32_t n_levels, levels_capacity;
};

/* Names in scenarios and files. */
HR_API const char *hr_service_engine_name(enum hr_service_engine engine);
HR_API const char *hr_service_router_name(enum hr_service_router router);
HR_API const char *hr_request_state_name(enum hr_request_state state);

/* Returns why a request can never be served by a replica, in words; NULL: it can. */
HR_API const char *hr_service_refusal(const struct hr_service *service, uint32_t prompt_tokens, uint32_t output_tokens);
/* Serves requests with a fixed number of replicas that are ready at the first arrival. `seed` is that of random
   routers. `steps`: simulate each iteration separately. Otherwise iterations that differ only in the context are
   simulated in one step, with the same result. The caller finishes the result, also after an error. HR_NO_MEMORY is the
   only error. */
HR_API enum hr_status hr_service_run(const struct hr_service *service, const struct hr_service_requests *requests,
                                     uint64_t seed, bool steps, struct hr_service_result *result,
                                     struct hr_error *error);
/*
 * The services of one run. Each replica is a job of the run: it is submitted when the autoscaler wants one more, waits
 * for GPUs under the policy like any other job, and does not end by itself. The rows of these jobs follow those of the
 * job trace. Their number is known only after the run, so rows are reserved before the run. Times of the run are those
 * of the requests minus hr_fleet_origin_us().
 */
struct hr_fleet;
struct hr_fleet_config {
  const struct hr_services *services;
  const struct hr_service_requests *requests; /* [services->count] */
  const struct hr_trace *trace;               /* jobs; NULL: none */
  uint64_t seed;
  bool steps; /* simulate each iteration separately */
};
/* All inputs are borrowed. HR_BAD_INPUT: the times of requests do not fit. */
HR_API enum hr_status hr_fleet_create(const struct hr_fleet_config *config, struct hr_fleet **fleet,
                                      struct hr_error *error);
HR_API void hr_fleet_destroy(struct hr_fleet *fleet);
/* The trace, including a row for each replica that has been submitted so far. */
HR_API const struct hr_trace *hr_fleet_trace(const struct hr_fleet *fleet);
HR_API int64_t hr_fleet_origin_us(const struct hr_fleet *fleet);
/* The requests of a service. If a service gets requests from others, all its requests are known only after the run. */
HR_API const struct hr_service_requests *hr_fleet_requests(const struct hr_fleet *fleet, uint32_t service);
/* The service of which a submitted job is a replica; HR_NONE: it is a job of the input. */
HR_API uint32_t hr_fleet_service_of(const struct hr_fleet *fleet, hr_job job);
/* The result of a service, after the run. */
HR_API const struct hr_service_result *hr_fleet_result(const struct hr_fleet *fleet, uint32_t service);

/* Names in scenarios and files. */
HR_API const char *hr_autoscaler_name(enum hr_autoscaler policy);
HR_API const char *hr_scale_reason_words(enum hr_scale_reason reason);

/* Frees the columns of a result. */
HR_API void hr_service_result_finish(struct hr_service_result *result);

#ifdef __cplusplus
}
#endif
#endif
