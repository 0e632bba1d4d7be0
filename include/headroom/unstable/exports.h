/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_EXPORTS_H
#define HEADROOM_UNSTABLE_EXPORTS_H

/*
 * Output other than the tables and JSON files of headroom/report.h: the history of a run, charts, files for Perfetto
 * and OpenMetrics, the HTML report, statistics and checks of traces, explanations of waits, results of services, and
 * fits of failure logs.
 *
 * The history is an observer that records all attempts of jobs and all changes of nodes, for evaluation after the run.
 * It stores 88 bytes per attempt, and 24 bytes per slice and per change.
 */

#include "headroom/policy.h"
#include "headroom/report.h"
#include "headroom/sim.h"
#include "headroom/unstable/failures.h"
#include "headroom/unstable/metrics.h"
#include "headroom/unstable/trace_tools.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How an attempt ended. */
enum hr_attempt_end {
  HR_ATTEMPT_RUNNING,     /* the attempt had not ended at the end of the run; `end_us` is the end of the run */
  HR_ATTEMPT_COMPLETED,   /* the job completed */
  HR_ATTEMPT_INTERRUPTED, /* the job was stopped for end_reason, but not by a move of the policy */
  HR_ATTEMPT_PREEMPTED    /* a move of the policy stopped the job, or the job was resized (HR_REASON_RESIZED) */
};

/* An attempt: a period in which a job held GPUs. */
struct hr_attempt {
  hr_job job;
  hr_pool pool;
  uint32_t number;                  /* index of the attempt among the job's attempts, from 0 */
  uint32_t previous;                /* index of the previous attempt of the job; HR_NONE: this is the first */
  uint32_t gpu_milli;               /* milli-GPUs held */
  uint32_t n_slices;                /* 0: the attempt had GPUs of the pool, but no specific nodes */
  uint32_t first_slice;             /* internal; used by hr_history_slices */
  uint8_t end;                      /* enum hr_attempt_end */
  uint8_t start_reason, end_reason; /* enum hr_reason */
  int64_t begin_us, end_us;
  /* parts of the time from begin_us to end_us, as in struct hr_job_accounting */
  int64_t kept_us, lost_us, saving_us, restarting_us, data_us;
};

/* A change of a node, or of the number of available nodes of a pool (an offer). */
struct hr_node_change {
  int64_t at_us;
  hr_node node; /* HR_NONE for an offer */
  hr_pool pool;
  uint32_t offer; /* for an offer: the number of nodes that are up or can be requested from this time on */
  /* kind: enum hr_event_kind (node-down, notice, offer, node-up, acquire or release); reason: enum hr_reason */
  uint8_t kind, reason;
};

/*
 * The averages: an observer that writes a JSON file for charts. The period from the first instant of the run to the
 * last change is divided into intervals of equal length. For each interval, the file has the mean numbers of waiting
 * jobs, of running jobs, of allocated GPUs and of all GPUs, and the maximum number of waiting jobs (`most_waiting`):
 *     {"begin_s": 0, "end_s": 86400, "waiting": [...], "running": [...], "gpus_allocated": [...], "gpus_total": [...],
 *      "most_waiting": [...]}
 * The observer stores 32 bytes for each instant at which a number changed.
 */
enum { HR_MAX_AVERAGES = 2000 };
struct hr_averages;
/* Creates the averages for one run. `count`: number of intervals; a number outside 1 .. HR_MAX_AVERAGES is replaced by
   the nearest of these bounds. */
HR_API enum hr_status hr_averages_create(const char *path, const struct hr_trace *trace, uint32_t count,
                                         struct hr_averages **averages, struct hr_error *error);
/* Returns the observer of the averages. Pass it to one run. */
HR_API struct hr_observer hr_averages_observer(struct hr_averages *averages);
/* Writes the file after the run. */
HR_API enum hr_status hr_averages_finish(struct hr_averages *averages, struct hr_error *error);
/* Frees the averages. If hr_averages_finish was not called, the file does not appear. NULL is accepted. */
HR_API void hr_averages_destroy(struct hr_averages *averages);

struct hr_history;
/* Creates a history for one run. `trace` must outlive the history. Returns NULL if memory is exhausted. */
HR_API struct hr_history *hr_history_create(const struct hr_trace *trace);
HR_API void hr_history_destroy(struct hr_history *history);
/* Returns the observer of the history. Pass it to one run. */
HR_API struct hr_observer hr_history_observer(struct hr_history *history);
/* Completes the history after the run: attempts that are still running end at the end of the run. Must be called once,
   before the functions below. Returns HR_NO_MEMORY if records were lost during the run. */
HR_API enum hr_status hr_history_close(struct hr_history *history, const struct hr_result *result);

/* Functions that return the records. The arrays belong to the history. hr_history_attempts sets `*attempts` to the
   attempts, sorted by start, and returns their number. hr_history_slices returns the n_slices slices of an attempt.
   hr_history_changes sets `*changes` to the changes of nodes, sorted by time, and returns their number. */
HR_API size_t hr_history_attempts(const struct hr_history *history, const struct hr_attempt **attempts);
HR_API const struct hr_slice *hr_history_slices(const struct hr_history *history, const struct hr_attempt *attempt);
HR_API size_t hr_history_changes(const struct hr_history *history, const struct hr_node_change **changes);
/* Returns the index of the last attempt of a job; HR_NONE: the job never started. */
HR_API uint32_t hr_history_last(const struct hr_history *history, hr_job job);
/* Returns the end of the run (`end_us` of struct hr_result). */
HR_API int64_t hr_history_end_us(const struct hr_history *history);

/* ---- Formats of other tools: Perfetto, OpenMetrics (docs/reference/exports.md) ---- */

/* The numbers of waiting jobs, running jobs and milli-GPUs from `at_us` until the next change. */
struct hr_count_change {
  int64_t at_us;
  uint32_t waiting, running;
  uint64_t allocated_milli, total_milli; /* total_milli: GPUs of nodes that are up or closing (enum hr_node_state) */
};

/* The rejection of a job. */
struct hr_rejection {
  int64_t at_us;
  hr_job job;
  uint8_t reason; /* enum hr_reason */
};

/* The counts: an observer that records each change of the numbers of waiting jobs, running jobs or GPUs, and each
   rejection. It stores 32 bytes per change. Use it for one run. hr_counts_create returns NULL if memory is exhausted.
 */
struct hr_counts;
HR_API struct hr_counts *hr_counts_create(void);
HR_API void hr_counts_destroy(struct hr_counts *counts);
HR_API struct hr_observer hr_counts_observer(struct hr_counts *counts);
/* hr_counts_changes and hr_counts_rejections set `*changes` and `*rejections` to the records, and return their number.
   The arrays belong to `counts`. Times of changes are strictly ascending. hr_counts_complete returns false if memory
   was exhausted during the run, so that records are missing. Call these functions after the run. */
HR_API bool hr_counts_complete(const struct hr_counts *counts);
HR_API size_t hr_counts_changes(const struct hr_counts *counts, const struct hr_count_change **changes);
HR_API size_t hr_counts_rejections(const struct hr_counts *counts, const struct hr_rejection **rejections);

/* A finished run. Everything is borrowed. */
struct hr_export {
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_result *result;
  const struct hr_history *history; /* closed */
  const struct hr_counts *counts;
  const struct hr_ledger *ledger; /* closed; created with `by_job`. NULL: no costs */
  const struct hr_run_label *label;
  const struct hr_summary *summary; /* NULL: files without the metrics of the whole run */
};

/* Writes the run as trace events in JSON (the "JSON Object Format" of Chrome's Trace Event Format), which Perfetto
   displays. In the terms of this format, a pool is a process, and a node is a set of threads, one for each concurrent
   job. An attempt is a slice. Numbers of jobs and GPUs are counters. Changes of nodes and rejections are instant
   events. Times are in microseconds. `path` "-" is standard output. */
HR_API enum hr_status hr_perfetto_write(const char *path, const struct hr_export *run, struct hr_error *error);

/* ---- Metrics ---- */

/* Each GPU metric has one time series for each node, for each GPU or for each pool. */
enum hr_metrics_place { HR_METRICS_BY_NODE, HR_METRICS_BY_GPU, HR_METRICS_BY_POOL };

/* The power of an idle GPU and its power limit, in watts. Below 0: unknown. */
struct hr_gpu_watts {
  double idle_w, tdp_w;
};

/* The options of hr_openmetrics_write. */
struct hr_openmetrics_config {
  /* time between samples. 0: the shortest time from a list of round times, at least 5 minutes, with which the file has
     at most about 500,000 samples */
  int64_t step_us;
  enum hr_metrics_place place;
  const struct hr_gpu_watts *watts; /* [pools]; NULL: unknown for all pools */
};

/* The size of the written file. */
struct hr_openmetrics_size {
  int64_t step_us;
  uint64_t steps, samples; /* steps: number of points in time; samples: number of lines */
};

/* Writes metrics with simulated time stamps as OpenMetrics text. The metrics have the same names as in dcgm-exporter,
   Kueue and a Slurm exporter. `path` "-" is standard output. Sets `*size` to the step and the size of the file; `size`
   may be NULL. Returns HR_BAD_INPUT if the step is so short that a series would have 100,000,000 samples or more. */
HR_API enum hr_status hr_openmetrics_write(const char *path, const struct hr_export *run,
                                           const struct hr_openmetrics_config *config, struct hr_openmetrics_size *size,
                                           struct hr_error *error);

/*
 * ---- HTML report ----
 *
 * A report is one HTML file, which loads nothing from the network. It consists of a template, which is built into the
 * library, and a JSON document with the data to draw. docs/reference/report-data.md describes the document. The report
 * of a run needs two observers of this run: a history and a watch.
 */

/* The watch: an observer that records waiting and running jobs, GPUs and available spot nodes over time, in a bounded
   number of time buckets. Peaks are preserved. */
struct hr_page_watch;
/* Creates a watch for one run. All arguments must outlive the watch. `usage` provides fragmentation; it must precede
   the watch in the list of observers of the same run. `usage` may be NULL. Returns NULL if memory is exhausted. */
HR_API struct hr_page_watch *hr_page_watch_create(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                                  const struct hr_usage *usage);
HR_API void hr_page_watch_destroy(struct hr_page_watch *watch);
/* Returns the observer of the watch. Pass it to one run. */
HR_API struct hr_observer hr_page_watch_observer(struct hr_page_watch *watch);

/* The run that a report shows in detail. Everything is borrowed. The history and the ledger are closed. */
struct hr_page_run {
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_result *result;
  const struct hr_history *history;
  struct hr_page_watch *watch;
  const struct hr_ledger *ledger; /* created with `by_job`; NULL: the run has no prices */
  const struct hr_summary *summary;
  const struct hr_run_label *label;
  const struct hr_perf *perf;
};

/* The maximum number of tenants, and of users, in a report. If the trace has more, the report has only the largest of
   them. */
enum { HR_PAGE_MAX_TENANTS = 1000 };

/* A goal for the run of the report. */
struct hr_page_goal {
  const char *text; /* such as "wait_s.p95 of interactive <= 10 min" */
  double value;     /* value of the metric in the run, in the metric's unit; NAN: unknown */
  bool met;         /* the run meets the goal */
  bool assumed;     /* the goal is not in the scenario, but added by default */
};

/* The price of a pool and its source. Texts may be NULL. */
struct hr_page_price {
  const char *pool, *market, *status, *as_of, *source; /* status: "stated", "quoted", "derived" or "assumed" */
  int64_t uusd_per_gpu_hour;
};

/* The change of the scenario that saves most without worse service, as `headroom advise` finds it. */
struct hr_page_saving {
  const char *advise_command; /* command line that lists all such changes; NULL: the scenario has no prices */
  bool is_searched;           /* false: changes were not searched, because the search would take too long */
  size_t n_examined;          /* number of changes that were examined */
  const char *command;        /* command line that runs the scenario with the change; NULL: no such change exists */
  double usd_per_month;       /* the saving */
  const char *pool, *class_, *from, *to; /* texts of struct hr_advice_item (headroom/unstable/planning.h) */
};

/* The contents of a report. Everything is borrowed. */
struct hr_page {
  const char *kind;              /* "run", "compare", "sweep", "plan" or "tco" */
  const char *title;             /* title of the page */
  const char *command;           /* command line that writes this report */
  const struct hr_page_run *run; /* the run that the report shows in detail; NULL: none */
  /* JSON documents of a comparison, a sweep, a plan or costs of ownership; NULL: none */
  const char *compare, *sweep, *plan, *tco;
  const char *why;           /* JSON document of hr_why_json: why jobs of `run` waited; NULL: none */
  const char *workload;      /* JSON document of hr_trace_stats_json: statistics of the trace of `run`; NULL: none */
  const char *baseline;      /* JSON summary of another run, with which `run` is compared; NULL: none */
  const char *baseline_name; /* name of the other run for the user */
  const struct hr_notes *const *notes; /* [n_notes] lists of notes */
  size_t n_notes;
  const struct hr_notes *assumptions; /* NULL: none */
  const char *description;            /* of the scenario; NULL or "": none */
  const struct hr_page_goal *goals;   /* [n_goals] */
  size_t n_goals;
  const struct hr_page_price *prices; /* [n_prices] */
  size_t n_prices;
  const struct hr_page_saving *saving; /* NULL: the report does not mention savings */
  const char *template_html;           /* replaces the built-in template; NULL: the built-in template */
};

/* Returns whether the library contains the built-in template. */
HR_API bool hr_page_is_built(void);
/* Writes the report. If an error occurs, no file appears. `path` "-" is standard output. Returns HR_BAD_INPUT if no
   template exists, or if the template has no placeholder for the JSON document. */
HR_API enum hr_status hr_page_write(const char *path, const struct hr_page *page, struct hr_error *error);

/* ---- Traces -------------------------------------------------------------------------------------------- */

/* Output of statistics, findings and transformations of traces as tables and as JSON. */

/* Prints the inputs and the output of a transformation, 80 columns wide. Losses when the output was written, such as
   fields that the format does not have, are not included; see hr_trace_loss_notes. */
HR_API enum hr_status hr_transformation_print(FILE *out, const struct hr_transformation *done);

/* Writes a transformation as JSON (docs/reference/schemas/transform.schema.json). `path` "-" is standard output. */
HR_API enum hr_status hr_transformation_write_json(const char *path, const struct hr_transformation *done,
                                                   struct hr_error *error);

/* Writes statistics as tables, at most 80 columns wide. `style`: a set of HR_STYLE_COLOUR and HR_STYLE_UNICODE. `path`
   "-" is standard output. */
HR_API enum hr_status hr_trace_stats_write(const char *path, const struct hr_trace_stats *stats, unsigned style,
                                           struct hr_error *error);

/* Statistics as JSON (docs/reference/schemas/trace-stats.schema.json). hr_trace_stats_write_json writes a file; `path`
   "-" is standard output. hr_trace_stats_json returns text, which the caller frees with free(); NULL if memory is
   exhausted. The text has at most `max_rows` tenants, `max_rows` users and `max_rows` GPU types; 0: all. */
HR_API enum hr_status hr_trace_stats_write_json(const char *path, const struct hr_trace_stats *stats,
                                                struct hr_error *error);

HR_API char *hr_trace_stats_json(const struct hr_trace_stats *stats, size_t max_rows);

/* hr_trace_check_write writes findings as text, 80 columns wide; hr_trace_check_write_json writes them as JSON
   (docs/reference/schemas/trace-check.schema.json). `path` "-" is standard output. */
HR_API enum hr_status hr_trace_check_write(const char *path, const struct hr_trace_check *check, bool colour,
                                           struct hr_error *error);

HR_API enum hr_status hr_trace_check_write_json(const char *path, const struct hr_trace_check *check,
                                                struct hr_error *error);

/* Writes the figures of a generated workload as JSON (docs/reference/schemas/like-result.schema.json). `path` "-" is
   standard output. */
HR_API enum hr_status hr_workload_model_figures_write(const struct hr_workload_model *model,
                                                      const struct hr_workload_model_spec *spec,
                                                      const struct hr_workload_model_figures *figures, const char *path,
                                                      struct hr_error *error);

/* ---- Waits --------------------------------------------------------------------------------------------- */

/* Explanations of waits. At each instant, an observer determines the reason for which each job waits
   (hr_view_wait_reason). It adds the time until the next instant to the part of the wait with this reason. The sum of
   the parts of a wait is exactly the length of the wait.

   Jobs that always wait for the same reason are evaluated together. The caller can name watched jobs, which are
   evaluated separately. For watched jobs, the observer also records periods with their reasons (struct
   hr_wait_segment). */

/* The part of a wait that has one reason. */
struct hr_wait_part {
  uint32_t reason; /* enum hr_wait_reason_kind */
  uint32_t quota;  /* as in struct hr_wait_reason */
  int64_t us;      /* length of the part */
};

/* A wait of a job: from submission to the first start, or from a stop to the next start. A wait of length 0 is recorded
   only if it had not ended at the end of the run; it then has one part. */
struct hr_wait {
  hr_job job;
  uint32_t n_parts;  /* number of parts; hr_waits_parts returns the longest part first */
  size_t first_part; /* internal; used by hr_waits_parts */
  int64_t begin_us, end_us;
  bool is_first; /* the job had not started before this wait */
  bool is_open;  /* the wait had not ended at the end of the run, which is `end_us` */
};

/* A period in which a watched job waited for one reason. */
struct hr_wait_segment {
  hr_job job;
  int64_t begin_us, end_us;
  struct hr_wait_reason hold;              /* the reason; free_milli and until_us have their values at begin_us */
  uint64_t min_free_milli, max_free_milli; /* minimum and maximum of free_milli during the period */
  /* at begin_us: the reason in the words of the scheduler that the policy models; "": it models none */
  char description[HR_WAIT_DESCRIPTION_BYTES];
};

/* The input of hr_waits_create. The list of jobs is copied. */
struct hr_waits_config {
  const struct hr_trace *trace;
  const hr_job *watched; /* [n_watched] */
  uint32_t n_watched;
  bool each; /* evaluate each job separately, for tests */
};

struct hr_waits;
/* Creates an observer for one run. The trace must outlive the observer. Returns NULL if memory is exhausted. */
HR_API struct hr_waits *hr_waits_create(const struct hr_waits_config *config);
HR_API void hr_waits_destroy(struct hr_waits *waits);
/* Returns the observer of the waits. Pass it to one run. */
HR_API struct hr_observer hr_waits_observer(struct hr_waits *waits);
/* Completes the records after the run: jobs that still wait have waited until the end of the run. Must be called once,
   before the functions below. Returns HR_NO_MEMORY if a wait was lost during the run. */
HR_API enum hr_status hr_waits_close(struct hr_waits *waits, const struct hr_result *result);

/* Functions that return the results, which belong to `waits`. hr_waits_all sets `*all` to all waits, sorted by (job,
   time), and returns their number. hr_waits_of sets `*all` to the waits of one job, sorted by time, and returns their
   number. hr_waits_parts returns the n_parts parts of a wait, the longest first. */
HR_API size_t hr_waits_all(const struct hr_waits *waits, const struct hr_wait **all);
HR_API size_t hr_waits_of(const struct hr_waits *waits, hr_job job, const struct hr_wait **all);
HR_API const struct hr_wait_part *hr_waits_parts(const struct hr_waits *waits, const struct hr_wait *wait);
/* Sets `*segments` to the segments of a watched job, sorted by time, and returns their number; 0 for other jobs. */
HR_API size_t hr_waits_segments(const struct hr_waits *waits, hr_job job, const struct hr_wait_segment **segments);

/* ---- Explanations of waits and of the life of a job ---- */

/* A finished run, for explanations. Everything is borrowed. Waits, history and ledger are closed. */
struct hr_why {
  const char *scenario; /* name of the scenario */
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_quota_spec *quotas; /* NULL: none */
  const struct hr_policy_choice *policy;
  uint64_t seed; /* seed of the run */
  const struct hr_result *result;
  const struct hr_waits *waits;
  const struct hr_history *history; /* needed for questions about single jobs; for other questions it may be NULL */
  const struct hr_ledger *ledger;   /* created with `by_job`; NULL: the run has no prices */
};

/* A question: about one watched job, about all jobs, or about the jobs of a tenant. */
struct hr_why_question {
  hr_job job;           /* the job; HR_NONE: the question is not about a single job */
  bool of_tenant;       /* the question is about the jobs of one tenant */
  uint32_t tenant;      /* the tenant, if of_tenant */
  uint32_t slowest;     /* length of the list of the jobs with the longest waits */
  bool only_slowest;    /* print only this list */
  uint32_t max_tenants; /* the JSON text has at most this number of tenants, with the longest waits; 0: all tenants */
};

/* Prints the answer, at most 80 columns wide. Returns HR_NO_MEMORY or HR_IO_ERROR on failure. */
HR_API enum hr_status hr_why_print(FILE *out, const struct hr_why *why, const struct hr_why_question *question,
                                   bool colour);
/* Returns the answer as JSON text (docs/reference/schemas/why.schema.json), which the caller frees with free(); NULL if
   memory is exhausted. */
HR_API char *hr_why_json(const struct hr_why *why, const struct hr_why_question *question);
/* Writes the answer as JSON. `path` "-" is standard output. */
HR_API enum hr_status hr_why_write_json(const char *path, const struct hr_why *why,
                                        const struct hr_why_question *question, struct hr_error *error);

/* ---- Services --------------------------------------------------------------------------------------- */

/* Results of inference services: figures of a service, and a file with one row for each request. */

/* Prints the figures as a table. */
HR_API void hr_service_print(FILE *out, const struct hr_served *served, const struct hr_service_summary *summary);
/* Writes the requests of several services as CSV, in order of arrival. `path` "-" is standard output. `count`: number
   of services. Requests are numbered from 0 for each service. */
HR_API enum hr_status hr_services_write_requests(const char *path, const struct hr_served *served, uint32_t count,
                                                 struct hr_error *error);

/* The parts of the time of a completed request. Their sum is its end-to-end latency (E2E). */
struct hr_request_parts {
  int64_t queue_us;      /* from the arrival to the start of the first iteration, without `cold_start_us` */
  int64_t cold_start_us; /* before the first iteration: time in which no replica was ready and one was starting */
  int64_t prompt_us;     /* from the start of the first iteration to the first token */
  int64_t transfer_us;   /* transfer of the KV memory from the replica of the prompt to the replica that decodes */
  int64_t batch_us;      /* from the first token to the last, without `transfer_us` and `preemption_us` */
  int64_t preemption_us; /* sum of the times from a loss of the KV memory to the next token */
};
/* Returns the parts of the time of a request, which must be completed. */
HR_API struct hr_request_parts hr_request_parts_of(const struct hr_served *served, uint32_t request);
/* Explains the mean time of requests. `request`: index of a completed request to explain. HR_NONE: explains the mean of
   all completed requests, and the mean of all completed requests that missed the goals. `out`: prints a table; NULL: no
   table. `json`: path of a JSON file; "-": standard output; NULL: no file. Returns HR_BAD_INPUT if the request does not
   exist or was not completed. */
HR_API enum hr_status hr_service_why(FILE *out, const char *json, const struct hr_served *served, uint32_t request,
                                     struct hr_error *error);

/* ---- Fits of failure logs --------------------------------------------------------------------------- */

/* Distributions of the intervals of a log of failures, fitted by maximum likelihood. */

/* Fit distributions to the intervals of a log. hr_failure_fits_print prints a table. hr_failure_fits_write_json writes
   JSON to `path`; "-" is standard output. `source`: name of the log, for output. `system`: name of the group to fit, or
   "all" for the intervals of all groups together. NULL: each group is fitted. If the log has several groups, the
   intervals of all groups together are fitted, too. Return HR_BAD_INPUT if the log does not have the system. */
HR_API enum hr_status hr_failure_fits_print(FILE *out, const char *source, const struct hr_failure_log *log,
                                            const char *system, struct hr_error *error);
HR_API enum hr_status hr_failure_fits_write_json(const char *path, const char *source, const struct hr_failure_log *log,
                                                 const char *system, struct hr_error *error);

#ifdef __cplusplus
}
#endif

#endif
