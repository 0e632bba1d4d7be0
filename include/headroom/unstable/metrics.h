/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_METRICS_H
#define HEADROOM_UNSTABLE_METRICS_H

/*
 * The catalogue of metrics: everything that Headroom knows about each metric of a run. Tables, files, goals, tolerances
 * and documentation are generated from it. docs/reference/metrics.md has the definitions.
 *
 * A metric has two names: its path in the JSON summary ("wait_s.p95") and its column in CSV and SQLite files
 * ("wait_p95_s").
 */

#include "headroom/base.h"
#include "headroom/report.h"
#include "headroom/sim.h"
#include "headroom/unstable/services.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Rejected jobs ------------------------------------------------------------------------------------- */

/* Jobs that are rejected because they can never run, by reason, with remedies. Most rejections have a cause that can be
   corrected, such as GPU types with different names in trace and cluster. Results without these jobs would be
   misleading. */

enum { HR_MAX_REASONS = 32 };

/* Numbers of jobs. */
struct hr_rejections {
  uint64_t n_jobs, n_rejected;
  uint64_t by_reason[HR_MAX_REASONS]; /* by enum hr_reason */
};

/* Counts the jobs that a run rejected. In a streamed run, the result has no rejected jobs; see
   hr_streamed_rejections. */
HR_API void hr_rejections_of(const struct hr_result *result, struct hr_rejections *rejections);
/* Counts the jobs that can never run on a cluster, whatever the quotas are. `classes` and `speeds` are as in struct
   hr_run_config. `usable_nodes`: by pool, how many nodes the policy lets jobs use (hr_scenario_usable_nodes); NULL:
   all. `has_queue`: whether the queue of a job exists and admits jobs, the same for jobs with equal fields `queue` and
   `tenant`; NULL: jobs need none. */
HR_API enum hr_status hr_rejections_predict(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                            const uint32_t *usable_nodes, const struct hr_class_spec *classes,
                                            const struct hr_speeds *speeds,
                                            bool (*has_queue)(const void *self, hr_job job), const void *self,
                                            struct hr_rejections *rejections, struct hr_error *error);
/* Whether more than 1 % of the jobs were rejected. Users must then be warned. */
HR_API bool hr_rejections_are_many(const struct hr_rejections *rejections);
/* Writes a warning if many jobs were rejected: one line with their number, and one line with the remedy for each
   reason. */
HR_API void hr_rejections_warn(FILE *out, const struct hr_rejections *rejections, const struct hr_trace *trace,
                               const struct hr_cluster_spec *cluster);
/* Adds a note for each list of GPU types in the trace of which no pool has any type, with the nearest type. */
HR_API enum hr_status hr_gpu_type_notes(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                        struct hr_notes *notes, struct hr_error *error);

/* ---- The catalogue of metrics -------------------------------------------------------------------------- */

enum hr_unit {
  HR_UNIT_COUNT,
  HR_UNIT_SECONDS,
  HR_UNIT_GPU_HOURS,
  HR_UNIT_SHARE, /* a part of 1, shown in percent */
  HR_UNIT_FACTOR,
  HR_UNIT_INDEX, /* a number with four decimals */
  HR_UNIT_RATE,  /* events per hour */
  HR_UNIT_DOLLARS,
  HR_UNIT_MILLISECONDS,
  HR_UNIT_KWH,
  HR_UNIT_KW,
  HR_UNIT_KG,
  HR_UNIT_G_PER_KWH,
  HR_UNIT_LITRES,
  HR_UNIT_GIGABYTES /* 10^9 bytes */
};

/* The kind decides how a metric is written, and which interval it has over several runs. */
enum hr_metric_kind {
  HR_METRIC_COUNT,    /* a whole number of things */
  HR_METRIC_SUM,      /* a sum or a duration */
  HR_METRIC_RATIO,    /* a quotient of two sums */
  HR_METRIC_MEAN,     /* the mean of a distribution, or a mean over time */
  HR_METRIC_QUANTILE, /* a quantile or the maximum of a distribution */
  HR_METRIC_EXTREME   /* the maximum or minimum of a count over time */
};

/* Which values are better. */
enum hr_direction { HR_NEITHER_IS_BETTER, HR_LOWER_IS_BETTER, HR_HIGHER_IS_BETTER };

/* Properties of metrics, as a set. */
enum {
  HR_METRIC_OF_GROUPS = 1,   /* classes and tenants have the metric too */
  HR_METRIC_OF_SERVICE = 2,  /* it describes the service of jobs, which more capacity improves */
  HR_METRIC_NULLABLE = 4,    /* an unknown value is null in the JSON summary; otherwise it is 0 */
  HR_METRIC_SIGNED = 8,      /* it may be negative */
  HR_METRIC_NO_JSON = 16,    /* the JSON summary omits it */
  HR_METRIC_LISTED = 32,     /* the table and the Markdown page of a run contain it */
  HR_METRIC_OF_REQUESTS = 64 /* services have the metric; for a run, the requests of all services are counted */
};

struct hr_metric {
  const char *path, *column;
  enum hr_unit unit;
  enum hr_metric_kind kind;
  enum hr_direction direction;
  unsigned flags;
  const char *title; /* a few words */
  const char *help;  /* the definition; the metrics of a distribution have one definition */
};

/* Stores the table of all metrics, and returns its length. */
HR_API size_t hr_metrics(const struct hr_metric **metrics);
/* Returns "count", "s", "GPU-hours", "share", "factor", "index", "per hour", "USD" or "ms". */
HR_API const char *hr_unit_name(enum hr_unit unit);
/* Returns "lower", "higher" or "-". */
HR_API const char *hr_direction_name(enum hr_direction direction);

/* ---- Services ------------------------------------------------------------------------------------------ */

/* A service after its run. */
struct hr_served {
  const struct hr_service *service;
  const struct hr_service_requests *requests;
  const struct hr_service_result *result;
  uint32_t index; /* of the service in the scenario */
};

/* Requests that arrived within an hour. */
struct hr_service_hour {
  uint64_t offered, due, attained; /* as in struct hr_service_summary */
};

/* The figures of a service, or of all services together. Durations are those of completed requests. */
struct hr_service_summary {
  char *name;      /* NULL: all services together */
  bool is_present; /* false: the run has no services */
  uint64_t offered, completed, refused, timed_out, unfinished;
  uint64_t spilled;    /* requests that went to another service; offered = spilled + due */
  uint64_t overflowed; /* requests of replicas in the pools of `router.spill` */
  uint64_t due;        /* offered requests that were not spilled. For all services together: equal to `offered` */
  uint64_t attained;   /* requests within the goals; refused ones are not */
  bool has_goals;
  double required;                                 /* share that must be within the goals; 0: none */
  struct hr_distribution ttft_ms, tpot_ms, e2e_ms; /* tpot: of requests with more than one output token */
  uint64_t prompt_tokens, output_tokens, recomputed_tokens, restarts, iterations;
  double memory_mean, memory_peak;     /* share of the KV memory: mean over iterations, maximum of a replica */
  uint64_t memory_iterations;          /* iterations with a known memory; 0: the two above are unknown */
  uint64_t cold_starts, interruptions; /* of replicas */
  uint64_t held_requests;              /* requests that waited while no replica was ready */
  double span_s;                       /* from the first arrival to the end of the last request */
  /* held = starting + busy + idle; without replicas that are jobs, held over the span */
  double gpu_hours, starting_gpu_hours, busy_gpu_hours;
  double goodput_per_gpu;            /* requests within the goals, per second and GPU */
  int64_t cost_uusd, revenue_uusd;   /* HR_UNKNOWN_UUSD: no price */
  int64_t market_uusd[HR_N_MARKETS]; /* parts of cost_uusd */
  bool has_unpriced;                 /* replicas used GPUs without a price; cost_uusd is unknown */
  int64_t first_hour;                /* in the clock of the requests */
  struct hr_service_hour *hours;     /* [n_hours] */
  uint32_t n_hours;
  uint64_t n_decisions;                /* of the autoscaler; the initial number is the first */
  struct hr_scale_decision *decisions; /* [n_listed] the first ones, at most HR_MAX_LISTED */
  struct hr_replica_level *levels;     /* [n_levels] all changes, or the maxima of HR_MAX_LISTED equal intervals */
  uint32_t n_listed, n_levels;
  int64_t end_us; /* of the levels, in the clock of the requests */
};

/* The number of decisions, and of numbers of replicas, that a summary has at most for a service. */
enum { HR_MAX_LISTED = 1000 };

/* Adds a note if the goals of a service cannot be met with any number of replicas, because too many requests would miss
   them alone on a replica. Only for costs without knots and phases. The only error is HR_NO_MEMORY. */
HR_API enum hr_status hr_service_goal_notes(const struct hr_service *service,
                                            const struct hr_service_requests *requests, struct hr_notes *notes);
/* Adds the figures of the services to a summary. The only error is HR_NO_MEMORY. */
HR_API enum hr_status hr_summary_add_services(struct hr_summary *summary, const struct hr_served *served,
                                              uint32_t count, struct hr_error *error);
/* Adds the alerts of inference services to those of a run, before hr_alerts_close. `origin_us`: time 0 of the run in
   the clock of the requests. The scenario must outlive the alerts. */
HR_API void hr_alerts_add_services(struct hr_alerts *alerts, const struct hr_served *served, uint32_t count,
                                   int64_t origin_us);
/* Adds a note for each series of carbon intensities or prices that does not cover the whole run, and if the first
   stamps of series, at which they begin without 'start', are different times. */
HR_API enum hr_status hr_series_notes(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                      const struct hr_result *result, struct hr_notes *notes, struct hr_error *error);
/* ---- Streamed runs ----------------------------------------------------------------------------- */

struct hr_streamed;
/* Creates an observer for one run. The trace must outlive the observer. Returns NULL if memory is exhausted. */
HR_API struct hr_streamed *hr_streamed_create(const struct hr_trace *trace);
HR_API void hr_streamed_destroy(struct hr_streamed *streamed);
HR_API struct hr_observer hr_streamed_observer(struct hr_streamed *streamed);

/* Returns the metrics after the run. The groups, fairness, fragmentation, costs, preemptions and restarts of the
   summary are not known; they are empty. Do not pass the summary to hr_summary_destroy. */
HR_API struct hr_summary hr_streamed_close(const struct hr_streamed *streamed, const struct hr_cluster_spec *cluster,
                                           const struct hr_result *result);
/* Computes the costs of the run and stores them in `summary`. Costs that depend on single jobs are omitted: checkpoint
   storage, egress per job and missed deadlines. The caller then frees the costs with hr_streamed_summary_finish.
   Returns HR_BAD_INPUT if costs exceed the range of micro-dollars. */
HR_API enum hr_status hr_streamed_cost(const struct hr_streamed *streamed, const struct hr_cluster_spec *cluster,
                                       const struct hr_result *result, const struct hr_cost_basis *basis,
                                       struct hr_summary *summary, struct hr_error *error);
HR_API void hr_streamed_summary_finish(struct hr_summary *summary);
/* Adds notes on jobs that can never run, as hr_run_notes does. */
HR_API enum hr_status hr_streamed_notes(const struct hr_streamed *streamed, struct hr_notes *notes);
/* Counts the rejected jobs of a streamed run. */
HR_API void hr_streamed_rejections(const struct hr_streamed *streamed, const struct hr_result *result,
                                   struct hr_rejections *rejections);

/* Print the metrics as tables, 80 columns wide, or write them as JSON (docs/reference/schemas/streamed.schema.json).
   `style`: a set of HR_STYLE flags. `path` "-" is standard output. */
HR_API enum hr_status hr_streamed_print(FILE *out, const struct hr_summary *summary, const struct hr_run_label *label,
                                        const struct hr_perf *perf, unsigned style);
HR_API enum hr_status hr_streamed_write_json(const char *path, const struct hr_summary *summary,
                                             const struct hr_run_label *label, const struct hr_perf *perf,
                                             struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
