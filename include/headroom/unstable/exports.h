/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_EXPORTS_H
#define HEADROOM_UNSTABLE_EXPORTS_H

/*
 * All that happened to jobs and nodes in a run, kept for who looks at it afterwards: a page, a viewer of traces, an
 * explanation. A fold fills it; 80 bytes an attempt, 24 more a slice.
 */

#include "headroom/report.h"
#include "headroom/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a stay on GPUs ended. */
enum hr_attempt_end {
  HR_ATTEMPT_RUNNING,     /* not yet, as the run ended first; `end_us` is the run's end */
  HR_ATTEMPT_COMPLETED,   /* the job's work was done */
  HR_ATTEMPT_INTERRUPTED, /* it lost its place; end_reason says to what */
  HR_ATTEMPT_PREEMPTED    /* the policy stopped it */
};

/* One stay of a job on its GPUs, from a start to whatever ended it. */
struct hr_attempt {
  hr_job job;
  hr_pool pool;
  uint32_t number;    /* of the job's attempts, from 0 */
  uint32_t previous;  /* the place of the job's attempt before this one; HR_NONE: it is the first */
  uint32_t gpu_milli; /* GPUs held, in thousandths */
  uint32_t n_slices;  /* on nodes; none: only counted in the pool */
  uint32_t first_slice;
  uint8_t end;                      /* enum hr_attempt_end */
  uint8_t start_reason, end_reason; /* enum hr_reason */
  int64_t begin_us, end_us;
  /* What became of the time: these sum to end_us - begin_us. */
  int64_t kept_us, lost_us, saving_us, restarting_us;
};

/* What happened to a node, or to what can be had of a pool. */
struct hr_node_change {
  int64_t at_us;
  hr_node node; /* HR_NONE of offers */
  hr_pool pool;
  uint32_t offer;       /* of offers: nodes that could be had or were up, from now on */
  uint8_t kind, reason; /* enum hr_event_kind: node-down, notice, offer, node-up, acquire, release; enum hr_reason */
};

struct hr_history;
/* NULL when out of memory. `trace` must outlive it. */
HR_API struct hr_history *hr_history_create(const struct hr_trace *trace);
HR_API void hr_history_destroy(struct hr_history *history);
/* To be given to a run, once. */
HR_API struct hr_observer hr_history_observer(struct hr_history *history);
/* Ends what still runs at the run's end. HR_NO_MEMORY if something was lost. To be done once, before anything is asked.
 */
HR_API enum hr_status hr_history_close(struct hr_history *history, const struct hr_result *result);

/* After the close; owned by the history. Attempts are in the order of their starts. */
HR_API size_t hr_history_attempts(const struct hr_history *history, const struct hr_attempt **attempts);
HR_API const struct hr_slice *hr_history_slices(const struct hr_history *history, const struct hr_attempt *attempt);
HR_API size_t hr_history_changes(const struct hr_history *history, const struct hr_node_change **changes);
/* The place of the job's last attempt; HR_NONE: it never started. */
HR_API uint32_t hr_history_last(const struct hr_history *history, hr_job job);
/* The last instant of the run. */
HR_API int64_t hr_history_end_us(const struct hr_history *history);

/*
 * A run in the formats of other tools: a timeline for Perfetto, metrics for Prometheus and Grafana, a page of Markdown.
 * docs/reference/exports.md says what stands for what.
 */

/* What holds from an instant on. */
struct hr_count_change {
  int64_t at_us;
  uint32_t waiting, running;
  uint64_t allocated_milli, total_milli; /* of GPUs; in total: of nodes that are up */
};

struct hr_rejection {
  int64_t at_us;
  hr_job job;
  uint8_t reason; /* enum hr_reason */
};

/* A fold that keeps every change of the counts, 40 bytes each, and every rejection. For one run; NULL when out of
   memory. */
struct hr_counts;
HR_API struct hr_counts *hr_counts_create(void);
HR_API void hr_counts_destroy(struct hr_counts *counts);
HR_API struct hr_observer hr_counts_observer(struct hr_counts *counts);
/* After the run, both owned by `counts`: times rise, no two are the same. False: it was out of memory on the way. */
HR_API bool hr_counts_complete(const struct hr_counts *counts);
HR_API size_t hr_counts_changes(const struct hr_counts *counts, const struct hr_count_change **changes);
HR_API size_t hr_counts_rejections(const struct hr_counts *counts, const struct hr_rejection **rejections);

/* A run that is over; all borrowed. */
struct hr_export {
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_result *result;
  const struct hr_history *history; /* closed */
  const struct hr_counts *counts;
  const struct hr_ledger *ledger; /* closed, with each job's cost; NULL: that is not told */
  const struct hr_run_label *label;
};

/* Trace events in JSON (the "JSON Object Format" of Chrome's Trace Event Format): a process for each pool, a thread for
   each node and as many more for it as jobs are on it at once, a slice for each stay of a job there; counters of jobs
   and GPUs; instants for what happened to nodes, and for rejections. Times in microseconds. `path` "-" is standard
   output. */
HR_API enum hr_status hr_perfetto_write(const char *path, const struct hr_export *run, struct hr_error *error);

/* ---- Metrics ---------------------------------------------------------------------------------------- */

/* What a series of GPU metrics is of. */
enum hr_metrics_place { HR_METRICS_BY_NODE, HR_METRICS_BY_GPU, HR_METRICS_BY_POOL };

/* What one GPU draws idle and at its limit; less than 0: not known. */
struct hr_gpu_watts {
  double idle_w, tdp_w;
};

struct hr_openmetrics_config {
  int64_t step_us; /* between samples; 0: 5 minutes, or as much more as keeps them below about 500,000 in all */
  enum hr_metrics_place place;
  const struct hr_gpu_watts *watts; /* [pools]; NULL: of none it is known */
};

struct hr_openmetrics_size {
  int64_t step_us;
  uint64_t steps, samples; /* points in time; lines of samples */
};

/* Metrics with simulated time stamps as OpenMetrics text, under the names of dcgm-exporter, Kueue and a Slurm exporter.
   `path` "-" is standard output; `size` (may be NULL) tells what was written. */
HR_API enum hr_status hr_openmetrics_write(const char *path, const struct hr_export *run,
                                           const struct hr_openmetrics_config *config, struct hr_openmetrics_size *size,
                                           struct hr_error *error);

/*
 * A run as a page to be looked at: one HTML file that needs no network, in which a template made at build time draws
 * what the run's document says. docs/reference/report-data.md has all that is in the document.
 *
 * A page that shows a run is made of what followed it: a history, and a watch beside it.
 */

/* Keeps waiting and running jobs, GPUs and what spot pools offer over time, in a bounded number of buckets that lose no
 * peak. */
struct hr_page_watch;
/* NULL when out of memory. All must outlive it. `usage`, which is to be told of the run before it, knows of fragments;
   NULL: nobody does. */
HR_API struct hr_page_watch *hr_page_watch_create(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                                  const struct hr_usage *usage);
HR_API void hr_page_watch_destroy(struct hr_page_watch *watch);
/* To be given to a run, once. */
HR_API struct hr_observer hr_page_watch_observer(struct hr_page_watch *watch);

/* The run that a page shows in depth; all borrowed, the history and the ledger closed. */
struct hr_page_run {
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_result *result;
  const struct hr_history *history;
  struct hr_page_watch *watch;
  const struct hr_ledger *ledger; /* with each job's cost; NULL: nothing has a price */
  const struct hr_summary *summary;
  const struct hr_run_label *label;
  const struct hr_perf *perf;
};

struct hr_page {
  const char *kind;                    /* "run", "compare", "sweep", "plan" */
  const char *title;                   /* for a person */
  const char *command;                 /* what makes the page again */
  const struct hr_page_run *run;       /* NULL: none is shown */
  const char *compare, *sweep, *plan;  /* documents of other kinds, as JSON; NULL: the page is of none */
  const char *why;                     /* likewise: why the jobs of `run` waited (hr_why_json) */
  const char *workload;                /* likewise: what is in its trace (hr_trace_stats_json) */
  const char *baseline;                /* likewise: the summary of a run to set beside this one */
  const char *baseline_name;           /* what a person calls it */
  const struct hr_notes *const *notes; /* n_notes lists */
  size_t n_notes;
  const struct hr_notes *assumptions; /* NULL: none */
  const char *template_html;          /* in the place of the template that was built in; NULL: that one */
};

/* Whether a template was built in. */
HR_API bool hr_page_is_built(void);
/* Writes the page, whole or not at all; `path` "-" is standard output. HR_BAD_INPUT where there is no template, or the
   one that is given lacks the place for the document. */
HR_API enum hr_status hr_page_write(const char *path, const struct hr_page *page, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
