/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_EXPORTS_H
#define HEADROOM_UNSTABLE_EXPORTS_H

/*
 * Exports of a run: its history, formats of other tools, and the HTML report.
 *
 * The history records all attempts of jobs and all changes of nodes, for evaluation after the run. It takes 80 bytes
 * per attempt, and 24 per slice in addition.
 */

#include "headroom/report.h"
#include "headroom/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How an attempt ended. */
enum hr_attempt_end {
  HR_ATTEMPT_RUNNING,     /* not ended when the run ended; `end_us` is the end of the run */
  HR_ATTEMPT_COMPLETED,   /* the job completed */
  HR_ATTEMPT_INTERRUPTED, /* the job was stopped for end_reason */
  HR_ATTEMPT_PREEMPTED    /* the policy stopped it */
};

/* An attempt: one stay of a job on its GPUs. */
struct hr_attempt {
  hr_job job;
  hr_pool pool;
  uint32_t number;    /* number among the job's attempts, from 0 */
  uint32_t previous;  /* index of the job's previous attempt; HR_NONE: it is the first */
  uint32_t gpu_milli; /* milli-GPUs held */
  uint32_t n_slices;  /* on nodes; 0: only counted in the pool */
  uint32_t first_slice;
  uint8_t end;                      /* enum hr_attempt_end */
  uint8_t start_reason, end_reason; /* enum hr_reason */
  int64_t begin_us, end_us;
  /* Uses of the time; they sum to end_us - begin_us. */
  int64_t kept_us, lost_us, saving_us, restarting_us;
};

/* A change of a node, or of the available nodes of a pool. */
struct hr_node_change {
  int64_t at_us;
  hr_node node; /* HR_NONE for offers */
  hr_pool pool;
  uint32_t offer; /* for offers: nodes that are available or up from now on */
  /* kind: enum hr_event_kind (node-down, notice, offer, node-up, acquire, release); reason: enum hr_reason */
  uint8_t kind, reason;
};

struct hr_history;
/* Creates a history for one run. `trace` must outlive it. NULL if memory is exhausted. */
HR_API struct hr_history *hr_history_create(const struct hr_trace *trace);
HR_API void hr_history_destroy(struct hr_history *history);
/* The observer, to be passed to one run. */
HR_API struct hr_observer hr_history_observer(struct hr_history *history);
/* Closes attempts that are running at the end of the run. Must be called once, before the functions below.
   HR_NO_MEMORY if something was lost. */
HR_API enum hr_status hr_history_close(struct hr_history *history, const struct hr_result *result);

/* The results belong to the history. Attempts are in the order of their starts. */
HR_API size_t hr_history_attempts(const struct hr_history *history, const struct hr_attempt **attempts);
HR_API const struct hr_slice *hr_history_slices(const struct hr_history *history, const struct hr_attempt *attempt);
HR_API size_t hr_history_changes(const struct hr_history *history, const struct hr_node_change **changes);
/* The index of the job's last attempt; HR_NONE: it never started. */
HR_API uint32_t hr_history_last(const struct hr_history *history, hr_job job);
/* The last instant of the run. */
HR_API int64_t hr_history_end_us(const struct hr_history *history);

/* ---- Formats of other tools: Perfetto, OpenMetrics (docs/reference/exports.md) ---- */

/* The counts from an instant on. */
struct hr_count_change {
  int64_t at_us;
  uint32_t waiting, running;
  uint64_t allocated_milli, total_milli; /* GPUs; total: of nodes that are up */
};

struct hr_rejection {
  int64_t at_us;
  hr_job job;
  uint8_t reason; /* enum hr_reason */
};

/* An observer that records every change of the counts, 40 bytes each, and every rejection. For one run; NULL if
   memory is exhausted. */
struct hr_counts;
HR_API struct hr_counts *hr_counts_create(void);
HR_API void hr_counts_destroy(struct hr_counts *counts);
HR_API struct hr_observer hr_counts_observer(struct hr_counts *counts);
/* After the run; the arrays belong to `counts`; times are strictly ascending. hr_counts_complete is false if memory
   was exhausted during the run. */
HR_API bool hr_counts_complete(const struct hr_counts *counts);
HR_API size_t hr_counts_changes(const struct hr_counts *counts, const struct hr_count_change **changes);
HR_API size_t hr_counts_rejections(const struct hr_counts *counts, const struct hr_rejection **rejections);

/* A finished run; borrowed. */
struct hr_export {
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_result *result;
  const struct hr_history *history; /* closed */
  const struct hr_counts *counts;
  const struct hr_ledger *ledger; /* closed, with the cost of each job; NULL: no costs */
  const struct hr_run_label *label;
};

/* Writes trace events in JSON (the "JSON Object Format" of Chrome's Trace Event Format): a process per pool, a
   thread per node and concurrent job, a slice per attempt; counters of jobs and GPUs; instant events for nodes and
   rejections. Times in microseconds. `path` "-" is standard output. */
HR_API enum hr_status hr_perfetto_write(const char *path, const struct hr_export *run, struct hr_error *error);

/* ---- Metrics ---- */

/* What a time series of GPU metrics refers to. */
enum hr_metrics_place { HR_METRICS_BY_NODE, HR_METRICS_BY_GPU, HR_METRICS_BY_POOL };

/* The power of a GPU when idle and at its limit; below 0: unknown. */
struct hr_gpu_watts {
  double idle_w, tdp_w;
};

struct hr_openmetrics_config {
  int64_t step_us; /* between samples; 0: 5 minutes, or more so that there are at most about 500,000 samples */
  enum hr_metrics_place place;
  const struct hr_gpu_watts *watts; /* [pools]; NULL: unknown for all */
};

struct hr_openmetrics_size {
  int64_t step_us;
  uint64_t steps, samples; /* steps: points in time; samples: lines */
};

/* Writes metrics with simulated time stamps as OpenMetrics text, with the names of dcgm-exporter, Kueue and a Slurm
   exporter. `path` "-" is standard output. `size` (may be NULL) is set to the step and the counts of the file. */
HR_API enum hr_status hr_openmetrics_write(const char *path, const struct hr_export *run,
                                           const struct hr_openmetrics_config *config, struct hr_openmetrics_size *size,
                                           struct hr_error *error);

/*
 * ---- HTML report ----
 *
 * One HTML file that needs no network: a template made at build time that draws the data of its document.
 * docs/reference/report-data.md describes the document. A report of a run needs its history and a watch.
 */

/* An observer of waiting and running jobs, GPUs and available spot nodes over time, in a bounded number of buckets
   that preserve peaks. */
struct hr_page_watch;
/* Creates a watch for one run. All arguments must outlive it. `usage` (may be NULL) must observe the run before the
   watch; it provides fragmentation. NULL if memory is exhausted. */
HR_API struct hr_page_watch *hr_page_watch_create(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                                  const struct hr_usage *usage);
HR_API void hr_page_watch_destroy(struct hr_page_watch *watch);
/* The observer, to be passed to one run. */
HR_API struct hr_observer hr_page_watch_observer(struct hr_page_watch *watch);

/* The run that a report shows in detail; borrowed; history and ledger are closed. */
struct hr_page_run {
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_result *result;
  const struct hr_history *history;
  struct hr_page_watch *watch;
  const struct hr_ledger *ledger; /* with the cost of each job; NULL: nothing has a price */
  const struct hr_summary *summary;
  const struct hr_run_label *label;
  const struct hr_perf *perf;
};

struct hr_page {
  const char *kind;                    /* "run", "compare", "sweep", "plan" */
  const char *title;                   /* title of the page */
  const char *command;                 /* the command that writes the report */
  const struct hr_page_run *run;       /* NULL: none */
  const char *compare, *sweep, *plan;  /* documents of other kinds, as JSON; NULL: none */
  const char *why;                     /* why the jobs of `run` waited (hr_why_json); NULL: none */
  const char *workload;                /* statistics of its trace (hr_trace_stats_json); NULL: none */
  const char *baseline;                /* summary of a run to compare with; NULL: none */
  const char *baseline_name;           /* its name for the user */
  const struct hr_notes *const *notes; /* n_notes lists */
  size_t n_notes;
  const struct hr_notes *assumptions; /* NULL: none */
  const char *template_html;          /* replaces the built-in template; NULL: that one */
};

/* Whether the library has a built-in template. */
HR_API bool hr_page_is_built(void);
/* Writes the report, completely or not at all; `path` "-" is standard output. HR_BAD_INPUT without a template,
   or if the given one has no place for the document. */
HR_API enum hr_status hr_page_write(const char *path, const struct hr_page *page, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
