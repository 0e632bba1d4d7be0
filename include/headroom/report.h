/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_REPORT_H
#define HEADROOM_REPORT_H

/*
 * Numbers folded from a run, and what is written from them.
 *
 * Definitions. wait = first start - submit, over jobs that started. jct (completion time) = end - submit, over jobs
 * that completed. slowdown = max(1, jct / max(run time, 10 s)), the bounded slowdown (Feitelson), over jobs that
 * completed. Quantiles interpolate linearly between order statistics (GSL's, numpy's default). makespan = last end
 * - first submit, or the run's last instant where a horizon left jobs over. Utilization = GPU time allocated / GPU
 * time there is, over the submit window (first to last submit) and over the makespan. queue = waiting jobs after each
 * pass: its time-weighted mean over the makespan, and its maximum. docs/reference/metrics.md says it at length.
 */

#include "headroom/alerts.h"
#include "headroom/base.h"
#include "headroom/costs.h"
#include "headroom/policies.h"
#include "headroom/sim.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Folds ------------------------------------------------------------------------------------------ */

/* Integrals over time of waiting jobs, allocated GPUs and GPUs that are there, of these two also by pool where there
   are several; in runs that tell GPUs apart (hr_cluster_stock), of fragments, too. For one run. */
struct hr_usage;
HR_API struct hr_usage *hr_usage_create(const struct hr_trace *trace);
HR_API void hr_usage_destroy(struct hr_usage *usage);
HR_API struct hr_fold hr_usage_fold(struct hr_usage *usage);

/* Counts the GPU time of jobs on several GPUs that a network joins, and what of it `speeds` has no figure for. NULL
   when out of memory; all that is given must outlive it. */
struct hr_links;
HR_API struct hr_links *hr_links_create(const struct hr_trace *trace, const struct hr_network_speeds *speeds);
HR_API void hr_links_destroy(struct hr_links *links);
HR_API struct hr_fold hr_links_fold(struct hr_links *links);
/* Says which share has none, and whose; nothing where all has. Jobs that have ended, or were stopped, count. */
HR_API enum hr_status hr_links_notes(const struct hr_links *links, struct hr_notes *notes, struct hr_error *error);

/* Remembers every job's last placement, for hr_jobs_write. NULL when out of memory. */
struct hr_placements;
HR_API struct hr_placements *hr_placements_create(const struct hr_trace *trace);
HR_API void hr_placements_destroy(struct hr_placements *placements);
HR_API struct hr_fold hr_placements_fold(struct hr_placements *placements);

/* Writes a row whenever a count changed: time_s, waiting, running, gpus_allocated, gpus_total; fragmented_gpus,
   stranded_gpus, largest_gang, which are empty unless `usage`, which may be NULL, is told of the same run before it and
   GPUs are told apart. The file appears under its name when hr_timeline_finish succeeds, and not before. */
struct hr_timeline;
HR_API enum hr_status hr_timeline_create(const char *path, const struct hr_trace *trace, const struct hr_usage *usage,
                                         struct hr_timeline **timeline, struct hr_error *error);
HR_API struct hr_fold hr_timeline_fold(struct hr_timeline *timeline);
HR_API enum hr_status hr_timeline_finish(struct hr_timeline *timeline, struct hr_error *error);
HR_API void hr_timeline_destroy(struct hr_timeline *timeline);

/* How many GPUs were allocated and how many jobs waited over the time of the run, for a line each of the table; takes
   little memory, however long the run is. For one run; NULL when out of memory. To be closed when it is over. */
struct hr_course;
HR_API struct hr_course *hr_course_create(void);
HR_API void hr_course_destroy(struct hr_course *course);
HR_API struct hr_fold hr_course_fold(struct hr_course *course);
HR_API void hr_course_close(struct hr_course *course, const struct hr_result *result);

/* ---- Summary ---------------------------------------------------------------------------------------- */

struct hr_distribution {
  uint64_t count;
  double mean, p50, p90, p95, p99, max; /* 0 when count is 0 */
};

struct hr_group {
  char *name;
  uint64_t jobs, completed;
  uint64_t deadlines, missed_deadlines; /* jobs that have one, and of them those not done by it */
  double gpu_hours;                     /* GPUs x the time that jobs held them */
  double useful_gpu_hours;              /* of that, work that was kept */
  struct hr_distribution wait_s, jct_s, slowdown;
};

/* What became of the GPU time that jobs held. */
struct hr_goodput {
  double useful_gpu_hours, lost_gpu_hours, checkpoint_gpu_hours, restart_gpu_hours; /* sum to what was held */
  double fraction;                                                                  /* useful / held; 0 of nothing */
};

/* What spot pools did. */
struct hr_spot_figures {
  uint32_t pools; /* that have nodes */
  uint64_t reclaims, jobs_interrupted;
  double node_hours, gpu_hours; /* that nodes were paid for */
  double reclaims_per_node_hour;
  double availability; /* nodes that were there or could be had / nodes of the pools, over the run */
};

/* Jobs that died for want of GPU memory, where that is first come, first served. */
struct hr_oom_figures {
  bool known;                /* false: there is no such pool, and all of this is 0 */
  uint64_t kills, jobs;      /* jobs: that died at least once */
  double back_off_gpu_hours; /* of those to restart: held by jobs that had died and not yet come up */
};

/* How evenly those who share the cluster were served, over jobs that completed. */
struct hr_fairness {
  const char *over; /* who they are: "tenants", or "users" where the trace has no tenants, else "jobs" */
  uint64_t parties; /* of them, those with a completed job */
  double jain;      /* Jain's index of their mean run time / completion time; 0 of nothing */
  struct hr_distribution finish_time; /* completion time / that on an equal share of the cluster */
  double share_above_1;               /* jobs that would have done better on their share; 0 of nothing */
};

/* What was idle and of little use, in runs that tell GPUs apart. F, the expected part of the idle GPUs that a task
   drawn from the typical ones could not use, and what is stranded are shares of the GPUs that were there. */
struct hr_fragmentation_figures {
  bool known;                          /* false: GPUs are not told apart, and all of this is 0 */
  double submit_window, makespan, max; /* F: means over time, and the most after any pass */
  double stranded;                     /* over the makespan: idle where CPU or memory keeps all typical tasks out */
  double largest_gang_mean;            /* over the makespan: tasks of a whole GPU each that one pool had room for */
  uint64_t largest_gang_min;           /* after any pass */
};

/* A pool, where there are several. A job counts where it ran last; GPU time where it was held. */
struct hr_pool_figures {
  char *name, *gpu; /* NULL where the pool has none */
  enum hr_sharing sharing;
  uint64_t completed;
  double gpu_hours;                      /* GPUs x the time that jobs held them */
  double utilization;                    /* over the makespan; NAN where it was never there */
  struct hr_distribution latency_factor; /* of completed jobs: time that it held GPUs / recorded run time */
  int64_t cost_uusd;                     /* HR_UNKNOWN_UUSD: it has no price */
  int64_t per_completed_job_uusd;        /* likewise, and of no job */
};

struct hr_summary {
  uint64_t jobs_submitted, jobs_completed, jobs_rejected, jobs_unfinished;
  uint64_t jobs_backfilled;
  uint64_t deadlines, missed_deadlines;       /* jobs that have one, and of them those not done by it */
  uint64_t outcome_failed, outcome_cancelled; /* of the completed: how the trace says that they ended */
  struct hr_distribution wait_s, jct_s, slowdown;
  double makespan_s, submit_window_s;
  double utilization_submit_window, utilization_makespan;
  double queue_mean;
  uint64_t queue_max;
  double gpu_hours;
  uint64_t gpus, nodes;
  uint64_t digest, n_events, n_passes;
  struct hr_group *by_tenant;      /* by GPU hours, most first */
  struct hr_group *by_class;       /* none where the trace has no classes */
  struct hr_group *by_size;        /* from small to large */
  struct hr_pool_figures *by_pool; /* as the cluster has them; none where that has one pool */
  size_t n_tenants, n_classes, n_sizes, n_pools;
  bool stoppable; /* jobs could be stopped before their end: the two below tell something */
  struct hr_goodput goodput;
  struct hr_spot_figures spot;
  struct hr_cost_summary *costs; /* NULL: nothing has a price */
  struct hr_fairness fairness;
  struct hr_fragmentation_figures fragmentation;
  struct hr_oom_figures oom;
};

/* How long things took on the wall clock; measured by the caller. */
struct hr_perf {
  double load_s, sim_s, peak_rss_mib;
};

/* What was run, for the head of the table and of the JSON. All borrowed. */
struct hr_run_label {
  const char *scenario, *trace, *format;
  const struct hr_cluster_spec *cluster;
  const struct hr_policy_choice *policy;
  uint64_t seed;
  const struct hr_notes *const *notes; /* n_notes lists */
  size_t n_notes;
  const struct hr_skipped_rows *skipped;
  size_t n_skipped_reasons;
  const struct hr_alerts *alerts; /* NULL: they were not looked for */
  int64_t clock_us;               /* added to times since the first submit to show them in files */
  const struct hr_course *course; /* for the table; NULL: it does not draw it */
};

/* `basis`: what costs are made of; NULL: none are told. HR_BAD_INPUT when they pass what dollars may come to. */
HR_API enum hr_status hr_summarize(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                   const struct hr_result *result, const struct hr_usage *usage,
                                   const struct hr_cost_basis *basis, struct hr_summary **summary,
                                   struct hr_error *error);
HR_API void hr_summary_destroy(struct hr_summary *summary);

/* Adds what a person should know of how the run went: that it was given up, that a budget or quota is nobody's, that
   jobs can never run. `quotas` may be NULL. */
HR_API enum hr_status hr_run_notes(const struct hr_trace *trace, const struct hr_cost_spec *costs,
                                   const struct hr_quota_spec *quotas, const struct hr_result *result,
                                   struct hr_notes *notes, struct hr_error *error);
/* Models that pairs of a pool's neighbours speak of, and no job is of. */
HR_API enum hr_status hr_pair_notes(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                    struct hr_notes *notes, struct hr_error *error);
/* Jobs that go by the default speeds, where models have speeds; `speeds` may be NULL. */
HR_API enum hr_status hr_speed_notes(const struct hr_trace *trace, const struct hr_speeds *speeds,
                                     struct hr_notes *notes, struct hr_error *error);

/* What a terminal can show. */
enum { HR_STYLE_COLOUR = 1, HR_STYLE_UNICODE = 2 };

/* The table for a person, at most 80 columns wide. `style`: of the above, what to make use of. */
HR_API enum hr_status hr_summary_print(FILE *out, const struct hr_summary *summary, const struct hr_run_label *label,
                                       const struct hr_perf *perf, unsigned style);
/* The summary as JSON (docs/reference/schemas/summary.schema.json). `path` "-" is standard output. */
HR_API enum hr_status hr_summary_write_json(const char *path, const struct hr_summary *summary,
                                            const struct hr_run_label *label, const struct hr_perf *perf,
                                            struct hr_error *error);
/* Likewise as text, which the caller frees; NULL when out of memory. */
HR_API char *hr_summary_json(const struct hr_summary *summary, const struct hr_run_label *label,
                             const struct hr_perf *perf);
/* The text of such a file, which the caller frees, looked at: HR_BAD_INPUT where it is another file. */
HR_API enum hr_status hr_summary_read_json(const char *path, char **json, struct hr_error *error);

/* The summary as a page of Markdown, without what the wall clock says. `path` "-" is standard output. */
HR_API enum hr_status hr_summary_write_markdown(const char *path, const struct hr_summary *summary,
                                                const struct hr_run_label *label, struct hr_error *error);

/* One row per trace row in the file's order. `path` "-" is standard output. `ledger`, which knows each job's cost, may
   be NULL; where it is given or jobs could be interrupted, rows have columns for that, and one more where jobs could
   find too little GPU memory. */
HR_API enum hr_status hr_jobs_write(const char *path, const struct hr_trace *trace,
                                    const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                    const struct hr_placements *placements, const struct hr_ledger *ledger,
                                    struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
