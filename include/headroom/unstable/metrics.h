/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_METRICS_H
#define HEADROOM_UNSTABLE_METRICS_H

/*
 * Rejected jobs, the catalogue of metrics, metrics of services, and metrics of streamed runs.
 *
 * The catalogue of metrics has all properties of each metric of a run. Tables, files, goals, tolerances and
 * documentation are generated from the catalogue. docs/reference/metrics.md has the definitions. A metric has two
 * names: its path in the JSON summary ("wait_s.p95") and its column in CSV and SQLite files ("wait_p95_s").
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

/* Counts of rejected jobs by reason, and warnings with remedies. Most rejections have a cause that can be corrected,
   such as a GPU type with different names in trace and cluster. Results without these jobs would be misleading, so the
   user must be warned. */

enum { HR_MAX_REASONS = 32 };

/* Numbers of jobs. */
struct hr_rejections {
  uint64_t n_jobs, n_rejected;
  uint64_t by_reason[HR_MAX_REASONS]; /* by enum hr_reason */
};

/* Counts the jobs that a run rejected, except those with the reason HR_REASON_WITHDRAWN or HR_REASON_REQUEUES. The
   result of a streamed run does not list its rejected jobs; use hr_streamed_rejections for such a run. */
HR_API void hr_rejections_of(const struct hr_result *result, struct hr_rejections *rejections);
/* Counts the jobs that would be rejected because they can never run on a cluster. Rejections because of quotas are not
   counted. `classes` and `speeds` are as in struct hr_run_config. `usable_nodes`: by pool, the number of nodes that the
   policy lets jobs use (hr_scenario_usable_nodes); NULL: all. `has_queue`: returns whether the queue of a job exists
   and admits jobs; the result depends only on the fields `queue` and `tenant` of the job. NULL: jobs need no queue.
   `self` is passed to it. */
HR_API enum hr_status hr_rejections_predict(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                            const uint32_t *usable_nodes, const struct hr_class_spec *classes,
                                            const struct hr_speeds *speeds,
                                            bool (*has_queue)(const void *self, hr_job job), const void *self,
                                            struct hr_rejections *rejections, struct hr_error *error);
/* Returns whether more than 1 % of the jobs were rejected. Users must then be warned. */
HR_API bool hr_rejections_are_many(const struct hr_rejections *rejections);
/* If more than 1 % of the jobs were rejected, writes a warning: one line with their number, and for each reason one
   line with the remedy. */
HR_API void hr_rejections_warn(FILE *out, const struct hr_rejections *rejections, const struct hr_trace *trace,
                               const struct hr_cluster_spec *cluster);
/* Adds notes about the lists of acceptable GPU types in the trace of which no pool has any type: one note for each of
   the five lists with the most jobs, with a similar type if one exists; and one note with the number of the other
   lists. Jobs without GPUs are ignored. */
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

/* The kind determines how a metric is printed, and how its confidence interval over several runs is computed. */
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

/* Flags of metrics. */
enum {
  HR_METRIC_OF_GROUPS = 1,   /* classes and tenants have the metric, too */
  HR_METRIC_OF_SERVICE = 2,  /* the metric describes the service that jobs get, which more capacity improves */
  HR_METRIC_NULLABLE = 4,    /* in the JSON summary an unknown value is null; without this flag it is 0 */
  HR_METRIC_SIGNED = 8,      /* the metric may be negative */
  HR_METRIC_NO_JSON = 16,    /* the JSON summary omits the metric */
  HR_METRIC_LISTED = 32,     /* the table and the Markdown page of a run contain the metric */
  HR_METRIC_OF_REQUESTS = 64 /* inference services have the metric; for a run, it covers the requests of all services */
};

/* A metric. */
struct hr_metric {
  const char *path, *column;
  enum hr_unit unit;
  enum hr_metric_kind kind;
  enum hr_direction direction;
  unsigned flags;    /* a set of the flags above */
  const char *title; /* a few words */
  const char *help;  /* the definition; all metrics of a distribution have the same definition */
};

/* Sets `*metrics` to the table of all metrics, and returns its length. */
HR_API size_t hr_metrics(const struct hr_metric **metrics);
/* Returns the name of a unit: "count", "s", "GPU-hours", "share", "factor", "index", "per hour", "USD", "ms", "kWh",
   "kW", "kg", "g/kWh", "l" or "GB". */
HR_API const char *hr_unit_name(enum hr_unit unit);
/* Returns which values are better: "lower", "higher", or "-" for neither. */
HR_API const char *hr_direction_name(enum hr_direction direction);

/* ---- Services ------------------------------------------------------------------------------------------ */

/* An inference service after its run. Everything is borrowed. */
struct hr_served {
  const struct hr_service *service;
  const struct hr_service_requests *requests;
  const struct hr_service_result *result;
  uint32_t index; /* index of the service in the scenario */
};

/* Numbers of requests that arrived within an hour. */
struct hr_service_hour {
  uint64_t offered, due, attained; /* as in struct hr_service_summary */
};

/* The figures of a service, or of all services together. Durations include completed requests only. */
struct hr_service_summary {
  char *name;      /* NULL: all services together */
  bool is_present; /* false: the run has no services */
  /* numbers of requests; `offered`: all requests */
  uint64_t offered, completed, refused, timed_out, unfinished;
  uint64_t spilled;    /* requests that were sent to another service; for one service, offered = spilled + due */
  uint64_t overflowed; /* requests that were sent to replicas in the pools of `router.spill` */
  /* requests that were not spilled. For several services together, `offered` is set to `due`, because a spilled request
     is also offered to the service that receives it */
  uint64_t due;
  uint64_t attained; /* completed requests that met the goals */
  bool has_goals;
  double required;                                 /* share of requests that must meet the goals; 0: not specified */
  struct hr_distribution ttft_ms, tpot_ms, e2e_ms; /* tpot: of requests with more than one output token */
  uint64_t prompt_tokens, output_tokens, recomputed_tokens, restarts, iterations;
  double memory_mean, memory_peak;     /* used share of the KV memory: mean over iterations; maximum over replicas */
  uint64_t memory_iterations;          /* number of iterations with a known use of memory; 0: memory_* are unknown */
  uint64_t cold_starts, interruptions; /* of replicas */
  uint64_t held_requests;              /* requests that waited while no replica was ready */
  double span_s;                       /* from the first arrival to the end of the last request */
  /* gpu_hours: GPU time of all replicas. starting_gpu_hours, busy_gpu_hours: the parts in which replicas were starting
     or busy. If replicas are not jobs of the run, each replica had its GPUs for the whole span */
  double gpu_hours, starting_gpu_hours, busy_gpu_hours;
  double goodput_per_gpu;            /* requests that met the goals, per second and GPU */
  int64_t cost_uusd, revenue_uusd;   /* HR_UNKNOWN_UUSD: no price */
  int64_t market_uusd[HR_N_MARKETS]; /* parts of cost_uusd by market */
  bool has_unpriced;                 /* replicas used GPUs without a price, so cost_uusd is unknown */
  int64_t first_hour;                /* number of the hour of hours[0] in the clock of the requests */
  struct hr_service_hour *hours;     /* [n_hours]: one entry for each hour */
  uint32_t n_hours;
  /* number of decisions of the autoscaler; the first is the initial number of replicas */
  uint64_t n_decisions;
  struct hr_scale_decision *decisions; /* [n_listed]: the first decisions, at most HR_MAX_LISTED */
  /* [n_levels]: numbers of replicas at each change. If the number changed more than HR_MAX_LISTED times: the maxima in
     HR_MAX_LISTED intervals of equal length */
  struct hr_replica_level *levels;
  uint32_t n_listed, n_levels;
  int64_t end_us; /* end of `levels`, in the clock of the requests */
};

/* The maximum of n_listed and of n_levels. */
enum { HR_MAX_LISTED = 1000 };

/* Adds a warning if no number of replicas meets the goals of a service, because too many requests would miss the goals
   even alone on a replica. Adds nothing if the cost model of the service has knots or separate phases. The only error
   is HR_NO_MEMORY. */
HR_API enum hr_status hr_service_goal_notes(const struct hr_service *service,
                                            const struct hr_service_requests *requests, struct hr_notes *notes);
/* Adds the figures of `count` services to a summary. The only error is HR_NO_MEMORY. */
HR_API enum hr_status hr_summary_add_services(struct hr_summary *summary, const struct hr_served *served,
                                              uint32_t count, struct hr_error *error);
/* Adds the alerts of inference services to the alerts of a run. Must be called before hr_alerts_close. `origin_us`:
   time 0 of the run in the clock of the requests. The scenario must outlive the alerts. */
HR_API void hr_alerts_add_services(struct hr_alerts *alerts, const struct hr_served *served, uint32_t count,
                                   int64_t origin_us);
/* Adds a note for each series of carbon intensities or electricity prices that does not cover the whole run. If the
   trace has no dates, a series without the key `start` begins with its first stamp at time zero. A note is also added
   if the first stamps of two such series differ. */
HR_API enum hr_status hr_series_notes(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                      const struct hr_result *result, struct hr_notes *notes, struct hr_error *error);
/* ---- Streamed runs ----------------------------------------------------------------------------- */

/* Metrics of a streamed run (hr_run_config.stream), for which the result has no per-job columns. */
struct hr_streamed;
/* Creates an observer for one run. The trace must outlive the observer. Returns NULL if memory is exhausted. */
HR_API struct hr_streamed *hr_streamed_create(const struct hr_trace *trace);
HR_API void hr_streamed_destroy(struct hr_streamed *streamed);
HR_API struct hr_observer hr_streamed_observer(struct hr_streamed *streamed);

/* Returns the metrics after the run. The groups, fairness, fragmentation, costs, preemptions and restarts of the
   summary are unknown; these members are empty. Do not pass the summary to hr_summary_destroy. */
HR_API struct hr_summary hr_streamed_close(const struct hr_streamed *streamed, const struct hr_cluster_spec *cluster,
                                           const struct hr_result *result);
/* Computes the costs of the run and stores them in `summary`. Costs that depend on single jobs are omitted: checkpoint
   storage, egress per job and missed deadlines. The caller then frees the costs with hr_streamed_summary_finish.
   Returns HR_BAD_INPUT if costs exceed the range of micro-dollars. */
HR_API enum hr_status hr_streamed_cost(const struct hr_streamed *streamed, const struct hr_cluster_spec *cluster,
                                       const struct hr_result *result, const struct hr_cost_basis *basis,
                                       struct hr_summary *summary, struct hr_error *error);
HR_API void hr_streamed_summary_finish(struct hr_summary *summary);
/* Adds the notes of hr_run_notes on rejected jobs. */
HR_API enum hr_status hr_streamed_notes(const struct hr_streamed *streamed, struct hr_notes *notes);
/* Counts the rejected jobs of a streamed run. Unlike hr_rejections_of, it counts all reasons. */
HR_API void hr_streamed_rejections(const struct hr_streamed *streamed, const struct hr_result *result,
                                   struct hr_rejections *rejections);

/* hr_streamed_print prints the metrics as tables, 80 columns wide. hr_streamed_write_json writes them as JSON
   (docs/reference/schemas/streamed.schema.json). `style`: a set of HR_STYLE flags. `path` "-" is standard output. */
HR_API enum hr_status hr_streamed_print(FILE *out, const struct hr_summary *summary, const struct hr_run_label *label,
                                        const struct hr_perf *perf, unsigned style);
HR_API enum hr_status hr_streamed_write_json(const char *path, const struct hr_summary *summary,
                                             const struct hr_run_label *label, const struct hr_perf *perf,
                                             struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
