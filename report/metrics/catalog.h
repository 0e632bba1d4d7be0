/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_METRICS_CATALOG_H
#define HR_REPORT_METRICS_CATALOG_H

/*
 * The catalogue of metrics: one row per metric. All lists of metrics are generated from this table or refer to its
 * rows. A new metric therefore needs one row, and also a member of struct hr_summary if no member contains its value.
 */

#include "headroom/report.h"
#include "headroom/unstable/metrics.h"

#include <math.h>

/* The value of an unknown metric. */
#define HR__UNKNOWN ((double)NAN)

/* ---- The table ------------------------------------------------------------------------------------- */

/*
 * Columns: id, path, column, unit, kind, direction, flags, title, help, getter, getter of groups (if groups have it).
 *
 * The identifiers of unit, kind, direction and flags are shortened; catalog.c defines the short forms. A getter is an
 * expression that computes the value with a function of catalog.c such as count(n), number(known, x), share(n, all),
 * positive(x) or usd(uusd), or with a macro that names members of the summary, such as KNOWN(part, member). A getter
 * uses the summary `s` or, for metrics of services, the service `v`. A getter of groups uses the group `g` and `lines`,
 * the costs of the groups by name. The help text is printed in one row of a Markdown table.
 */

/* Six rows, one for each statistic of a distribution. `s` is the distribution of a run, `g` the distribution of a
   group. */
#define HR__DISTRIBUTION_ROWS(X, ID, path, first, last, unit, flags, title, help, s, g)                                \
  HR__STATISTIC_ROW(X, ID##_MEAN, path, first, last, unit, MEAN, flags, title, help, s, g, mean, "mean")               \
  HR__STATISTIC_ROW(X, ID##_P50, path, first, last, unit, QUANTILE, flags, title, help, s, g, p50, "median")           \
  HR__STATISTIC_ROW(X, ID##_P90, path, first, last, unit, QUANTILE, flags, title, help, s, g, p90, "p90")              \
  HR__STATISTIC_ROW(X, ID##_P95, path, first, last, unit, QUANTILE, flags, title, help, s, g, p95, "p95")              \
  HR__STATISTIC_ROW(X, ID##_P99, path, first, last, unit, QUANTILE, flags, title, help, s, g, p99, "p99")              \
  HR__STATISTIC_ROW(X, ID##_MAX, path, first, last, unit, QUANTILE, flags, title, help, s, g, max, "maximum")
#define HR__STATISTIC_ROW(X, id, path, first, last, unit, kind, flags, title, help, s, g, part, words)                 \
  X(id, path "." #part, first #part last, unit, kind, LOWER, (flags) | NULLABLE, title ", " words, help,               \
    number((s).count > 0, (s).part), number((g).count > 0, (g).part))

#define HR__JOB_METRICS(X)                                                                                             \
  X(HR__M_SUBMITTED, "jobs.submitted", "jobs_submitted", COUNTS, COUNT, NEITHER, GROUPS | SERVICE | LISTED,            \
    "Jobs submitted", "jobs that arrived before the run ended", count(s->jobs_submitted), count(g->jobs))              \
  X(HR__M_COMPLETED, "jobs.completed", "jobs_completed", COUNTS, COUNT, HIGHER, GROUPS | SERVICE | LISTED,             \
    "Jobs completed", "jobs that ran to their end", count(s->jobs_completed), count(g->completed))                     \
  X(HR__M_REJECTED, "jobs.rejected", "jobs_rejected", COUNTS, COUNT, LOWER, SERVICE | LISTED, "Jobs rejected",         \
    "jobs that will never run, because they do not fit into any pool or because the policy rejected them",             \
    count(s->jobs_rejected))                                                                                           \
  X(HR__M_UNFINISHED, "jobs.unfinished", "jobs_unfinished", COUNTS, COUNT, LOWER, SERVICE | LISTED, "Jobs unfinished", \
    "jobs that waited or ran when the run ended, either because of the horizon or because a policy never started "     \
    "them",                                                                                                            \
    count(s->jobs_unfinished))                                                                                         \
  X(HR__M_BACKFILLED, "jobs.backfilled", "jobs_backfilled", COUNTS, COUNT, NEITHER, SERVICE, "Starts by backfill",     \
    "number of starts of jobs while a job before them in order still waited", count(s->jobs_backfilled))               \
  X(HR__M_OUTCOME_FAILED, "jobs.outcome_failed", "jobs_outcome_failed", COUNTS, COUNT, NEITHER, SERVICE,               \
    "Completed jobs that failed",                                                                                      \
    "completed jobs that failed when the trace was recorded; a replay runs them for their recorded time",              \
    count(s->outcome_failed))                                                                                          \
  X(HR__M_OUTCOME_CANCELLED, "jobs.outcome_cancelled", "jobs_outcome_cancelled", COUNTS, COUNT, NEITHER, SERVICE,      \
    "Completed jobs that were cancelled",                                                                              \
    "completed jobs that were cancelled when the trace was recorded; a replay runs them for their recorded time",      \
    count(s->outcome_cancelled))                                                                                       \
  X(HR__M_DEADLINES, "jobs.deadlines", "jobs_deadlines", COUNTS, COUNT, NEITHER, GROUPS | SERVICE,                     \
    "Jobs with a deadline", "submitted jobs that have a deadline", count(s->deadlines), count(g->deadlines))           \
  X(HR__M_MISSED_DEADLINES, "jobs.missed_deadlines", "jobs_missed_deadlines", COUNTS, COUNT, LOWER, GROUPS | SERVICE,  \
    "Missed deadlines",                                                                                                \
    "jobs with a deadline that were rejected, or that were not complete at their deadline. Deadlines after the end "   \
    "of the run are not counted as missed",                                                                            \
    count(s->missed_deadlines), count(g->missed_deadlines))                                                            \
  X(HR__M_COMPLETED_SHARE, "completed", "completed_share", SHARE, RATIO, HIGHER, GROUPS | SERVICE | NO_JSON,           \
    "Share of jobs completed", "`jobs.completed` / `jobs.submitted`", share(s->jobs_completed, s->jobs_submitted),     \
    share(g->completed, g->jobs))                                                                                      \
  X(HR__M_DEADLINE_MISS, "deadline_miss", "deadline_miss_share", SHARE, RATIO, LOWER,                                  \
    GROUPS | SERVICE | NO_JSON | LISTED, "Share of deadlines missed", "`jobs.missed_deadlines` / `jobs.deadlines`",    \
    share(s->missed_deadlines, s->deadlines), share(g->missed_deadlines, g->deadlines))                                \
  HR__DISTRIBUTION_ROWS(X, HR__M_WAIT, "wait_s", "wait_", "_s", SECONDS, GROUPS | SERVICE, "Wait",                     \
                        "first start - submit, of jobs that started", s->wait_s, g->wait_s)                            \
  HR__DISTRIBUTION_ROWS(X, HR__M_JCT, "jct_s", "jct_", "_s", SECONDS, GROUPS | SERVICE, "Completion time",             \
                        "job completion time: end - submit, of completed jobs", s->jct_s, g->jct_s)                    \
  HR__DISTRIBUTION_ROWS(X, HR__M_SLOWDOWN, "slowdown", "slowdown_", "", FACTOR, GROUPS | SERVICE, "Slowdown",          \
                        "bounded slowdown (Feitelson): max(1, jct / max(run time, 10 s)), of completed jobs",          \
                        s->slowdown, g->slowdown)

#define HR__TIME_METRICS(X)                                                                                            \
  X(HR__M_MAKESPAN, "makespan_s", "makespan_s", SECONDS, SUM, LOWER, SERVICE | NULLABLE | LISTED, "Makespan",          \
    "time from the first submit to the last end. If jobs are `unfinished`, or were not yet submitted at the horizon, " \
    "it ends at the horizon instead. `null` if no job is `completed` or `unfinished`",                                 \
    number(s->jobs_completed + s->jobs_unfinished > 0, s->makespan_s))                                                 \
  X(HR__M_SUBMIT_WINDOW, "submit_window_s", "submit_window_s", SECONDS, SUM, NEITHER, SERVICE, "Submit window",        \
    "time from the first submit to the last submit, or to the horizon if that is earlier",                             \
    number(true, s->submit_window_s))                                                                                  \
  X(HR__M_UTILIZATION_SUBMIT_WINDOW, "utilization.submit_window", "utilization_submit_window", SHARE, RATIO, HIGHER,   \
    NULLABLE | LISTED, "Utilization, submit window",                                                                   \
    "allocated GPU time within the submit window / available GPU time in it. In a cluster without elastic nodes, the " \
    "available GPU time is the number of GPUs x the window",                                                           \
    number(s->submit_window_s > 0, s->utilization_submit_window))                                                      \
  X(HR__M_UTILIZATION_MAKESPAN, "utilization.makespan", "utilization_makespan", SHARE, RATIO, HIGHER,                  \
    NULLABLE | LISTED, "Utilization", "allocated GPU time / available GPU time, both within the makespan",             \
    number(spanned(s), s->utilization_makespan))                                                                       \
  X(HR__M_QUEUE_MEAN, "queue.mean", "queue_mean", COUNTS, MEAN, LOWER, SERVICE | NULLABLE | LISTED,                    \
    "Waiting jobs, mean",                                                                                              \
    "time-weighted mean, over the makespan, of the number of waiting jobs after each pass of the policy",              \
    number(spanned(s), s->queue_mean))                                                                                 \
  X(HR__M_QUEUE_MAX, "queue.max", "queue_max", COUNTS, EXTREME, LOWER, SERVICE | LISTED, "Waiting jobs, maximum",      \
    "the maximum number of waiting jobs after a pass", count(s->queue_max))                                            \
  X(HR__M_GPU_HOURS, "gpu_hours", "gpu_hours", GPU_HOURS, SUM, NEITHER, GROUPS | LISTED, "GPU hours",                  \
    "GPUs x the time that jobs held them, in all their attempts; for jobs that are still running, until the end of "   \
    "the run",                                                                                                         \
    number(true, s->gpu_hours), number(true, g->gpu_hours))

#define HR__GOODPUT_METRICS(X)                                                                                         \
  X(HR__M_USEFUL, "goodput.useful_gpu_hours", "useful_gpu_hours", GPU_HOURS, SUM, HIGHER, GROUPS | SERVICE,            \
    "Useful GPU hours",                                                                                                \
    "GPU hours in which jobs did work that was not lost: work in a checkpoint, and work that was present when the "    \
    "job or the run ended",                                                                                            \
    number(true, s->goodput.useful_gpu_hours), number(true, g->useful_gpu_hours))                                      \
  X(HR__M_LOST, "goodput.lost_gpu_hours", "lost_gpu_hours", GPU_HOURS, SUM, LOWER, LISTED, "Lost GPU hours",           \
    "GPU hours in which jobs did work that was lost by an interruption", number(true, s->goodput.lost_gpu_hours))      \
  X(HR__M_SAVING, "goodput.checkpoint_gpu_hours", "checkpoint_gpu_hours", GPU_HOURS, SUM, LOWER, 0,                    \
    "GPU hours of checkpoints", "GPU hours in which jobs wrote checkpoints, during which they do no work",             \
    number(true, s->goodput.checkpoint_gpu_hours))                                                                     \
  X(HR__M_RESTARTING, "goodput.restart_gpu_hours", "restart_gpu_hours", GPU_HOURS, SUM, LOWER, 0,                      \
    "GPU hours of restarts",                                                                                           \
    "GPU hours in which jobs loaded image and checkpoint after an interruption, or waited for GPU memory after they "  \
    "were killed for lack of it",                                                                                      \
    number(true, s->goodput.restart_gpu_hours))                                                                        \
  X(HR__M_GOODPUT, "goodput.fraction", "goodput_fraction", SHARE, RATIO, HIGHER, NULLABLE | LISTED, "Goodput",         \
    "useful GPU hours / GPU hours held; `null` if no GPU was held", number(s->gpu_hours > 0, s->goodput.fraction))     \
  X(HR__M_PREEMPTIONS, "preemptions", "preemptions", COUNTS, COUNT, LOWER, NO_JSON, "Preemptions",                     \
    "number of times that the policy stopped a job", count(s->preemptions))                                            \
  X(HR__M_RESTARTS, "restarts", "restarts", COUNTS, COUNT, LOWER, NO_JSON, "Restarts",                                 \
    "number of starts that are not the first start of a job", count(s->restarts))

#define HR__SPOT_METRICS(X)                                                                                            \
  X(HR__M_RECLAIMS, "spot.reclaims", "spot_reclaims", COUNTS, COUNT, LOWER, LISTED, "Spot reclaims",                   \
    "nodes that the market reclaimed", known_count(s->spot.pools > 0, s->spot.reclaims))                               \
  X(HR__M_RECLAIM_RATE, "spot.reclaims_per_node_hour", "spot_reclaims_per_node_hour", RATE, RATIO, LOWER, NULLABLE,    \
    "Spot reclaims per node hour", "reclaims / hours that nodes were paid for, including boot and notice",             \
    number(s->spot.node_hours > 0, s->spot.reclaims_per_node_hour))                                                    \
  X(HR__M_INTERRUPTED, "spot.jobs_interrupted", "spot_jobs_interrupted", COUNTS, COUNT, LOWER, 0,                      \
    "Spot interruptions", "number of times that a job on spot nodes was stopped, other than by preemption",            \
    known_count(s->spot.pools > 0, s->spot.jobs_interrupted))                                                          \
  X(HR__M_SPOT_HOURS, "spot.gpu_hours", "spot_gpu_hours", GPU_HOURS, SUM, NEITHER, 0, "Spot GPU hours",                \
    "GPUs x the time that their nodes were paid for", number(s->spot.pools > 0, s->spot.gpu_hours))                    \
  X(HR__M_SPOT_AVAILABILITY, "spot.availability", "spot_availability", SHARE, RATIO, HIGHER, NULLABLE,                 \
    "Spot availability",                                                                                               \
    "node time that was held or could have been requested / (nodes of the pools x length of the run)",                 \
    number(s->spot.pools > 0, s->spot.availability))                                                                   \
  X(HR__M_OOM_KILLS, "oom_kills.count", "oom_kills", COUNTS, COUNT, LOWER, 0, "Out-of-memory kills",                   \
    "kills for lack of GPU memory, counting each failed try", KNOWN_COUNT(oom, kills))                                 \
  X(HR__M_OOM_JOBS, "oom_kills.jobs", "oom_killed_jobs", COUNTS, COUNT, LOWER, 0, "Jobs killed out of memory",         \
    "jobs that were killed at least once", KNOWN_COUNT(oom, jobs))                                                     \
  X(HR__M_OOM_BACK_OFF, "oom_kills.back_off_gpu_hours", "oom_back_off_gpu_hours", GPU_HOURS, SUM, LOWER, 0,            \
    "GPU hours in back-off",                                                                                           \
    "GPUs x time from a kill to the successful try, or to the end of the attempt; part of "                            \
    "`goodput.restart_gpu_hours`",                                                                                     \
    KNOWN(oom, back_off_gpu_hours))

#define HR__FAULT_METRICS(X)                                                                                           \
  X(HR__M_FAILURES, "faults.failures", "failures", COUNTS, COUNT, LOWER, LISTED, "Failures",                           \
    "failures of nodes, and of groups of nodes that fail together; a group counts once",                               \
    KNOWN_COUNT(faults, failures))                                                                                     \
  X(HR__M_FAILED_JOBS, "faults.jobs_stopped", "jobs_stopped_by_failures", COUNTS, COUNT, LOWER, LISTED,                \
    "Jobs stopped by failures", "number of times that a failure stopped a job", KNOWN_COUNT(faults, jobs_stopped))     \
  X(HR__M_AVAILABILITY, "faults.availability", "availability", SHARE, RATIO, HIGHER, NULLABLE | LISTED,                \
    "Availability",                                                                                                    \
    "1 - (node time from failures to repairs) / (nodes x length of the run), in owned and reserved pools with "        \
    "failures; `null` without such pools",                                                                             \
    number(s->faults.known && s->faults.availability >= 0, s->faults.availability))                                    \
  X(HR__M_MTBF, "faults.mtbf_s", "mtbf_s", SECONDS, MEAN, HIGHER, NULLABLE, "Mean time between failures",              \
    "(node time, without the time from failures to repairs) / failures, in the pools of `faults.availability`; "       \
    "`null` without a failure",                                                                                        \
    positive(s->faults.mtbf_s))                                                                                        \
  X(HR__M_MTTI, "faults.mtti_s", "mtti_s", SECONDS, MEAN, HIGHER, NULLABLE | LISTED, "Mean time to interruption",      \
    "(time for which jobs held GPUs) / `faults.jobs_stopped`; `null` if no job was stopped",                           \
    positive(s->faults.mtti_s))                                                                                        \
  X(HR__M_MTTI_LOW, "faults.mtti_low_s", "mtti_low_s", SECONDS, MEAN, HIGHER, NULLABLE, "MTTI, lower bound",           \
    "lower bound of the exact 95 % interval for a Poisson process: 2 x (time for which jobs held GPUs) / the 97.5 % "  \
    "quantile of chi-square with 2 n + 2 degrees of freedom, where n is `faults.jobs_stopped`",                        \
    positive(s->faults.mtti_low_s))                                                                                    \
  X(HR__M_MTTI_HIGH, "faults.mtti_high_s", "mtti_high_s", SECONDS, MEAN, HIGHER, NULLABLE, "MTTI, upper bound",        \
    "upper bound of the same interval: 2 x (time for which jobs held GPUs) / the 2.5 % quantile of chi-square with 2 " \
    "n degrees of freedom",                                                                                            \
    positive(s->faults.mtti_high_s))                                                                                   \
  X(HR__M_ETTR, "faults.ettr", "ettr", SHARE, RATIO, HIGHER, GROUPS | NULLABLE | LISTED, "ETTR",                       \
    "effective training time ratio: useful GPU time / (GPU time that jobs held + requested GPUs x time that jobs "     \
    "waited after interruptions). The ETTR of `headroom tco` does not include these waits",                            \
    number(s->faults.known && s->faults.ettr >= 0, s->faults.ettr), number(g->ettr >= 0, g->ettr))                     \
  X(HR__M_HANGING, "faults.hanging_gpu_hours", "hanging_gpu_hours", GPU_HOURS, SUM, LOWER, 0,                          \
    "GPU hours until detection", "GPU hours that jobs held from a failure until it was detected",                      \
    KNOWN(faults, hanging_gpu_hours))                                                                                  \
  X(HR__M_SPARE_SWAPS, "faults.spare_swaps", "spare_swaps", COUNTS, COUNT, NEITHER, NULLABLE,                          \
    "Spares that replaced a node", "number of times that a spare replaced a node",                                     \
    known_count(s->faults.has_spares, s->faults.spare_swaps))                                                          \
  X(HR__M_SPARE_HELD, "faults.spare_gpu_hours", "spare_gpu_hours", GPU_HOURS, SUM, LOWER, NULLABLE,                    \
    "GPU hours of spares", "GPUs x time in which nodes waited as spares",                                              \
    number(s->faults.has_spares, s->faults.spare_gpu_hours))                                                           \
  X(HR__M_SPARE_USED, "faults.spare_used_gpu_hours", "spare_used_gpu_hours", GPU_HOURS, SUM, NEITHER, NULLABLE,        \
    "GPU hours of spares in use", "GPUs x time in which a spare had replaced another node or had failed itself",       \
    number(s->faults.has_spares, s->faults.spare_used_gpu_hours))                                                      \
  X(HR__M_SLOW_EPISODES, "faults.slow_episodes", "slow_episodes", COUNTS, COUNT, LOWER, NULLABLE,                      \
    "Times a node became slow", "number of times that a node became slow",                                             \
    known_count(s->faults.has_slow, s->faults.slow_episodes))                                                          \
  X(HR__M_SLOW_LOST, "faults.slow_gpu_hours", "slow_gpu_hours", GPU_HOURS, SUM, LOWER, NULLABLE,                       \
    "GPU hours lost to slow nodes", "GPUs x time of work x (1 - speed of the slowest node of the job)",                \
    number(s->faults.has_slow, s->faults.slow_gpu_hours))                                                              \
  X(HR__M_EXCLUSIONS, "faults.exclusions", "exclusions", COUNTS, COUNT, NEITHER, 0, "Excluded nodes",                  \
    "number of times that a node was excluded for a job after its failure had stopped this job (`exclude_nodes` of "   \
    "the policy)",                                                                                                     \
    KNOWN_COUNT(faults, exclusions))                                                                                   \
  X(HR__M_EXCLUDED, "faults.excluded_s", "excluded_s", SECONDS, SUM, LOWER, 0, "Time of exclusions",                   \
    "sum over all exclusions of the time until the exclusion expired or its job completed", KNOWN(faults, excluded_s)) \
  X(HR__M_RESTART_PREEMPTIONS, "faults.restart_preemptions", "restart_preemptions", COUNTS, COUNT, LOWER, 0,           \
    "Preemptions caused by restarts",                                                                                  \
    "number of preemptions for a job that a failure had stopped: this job started again, at the same instant, on a "   \
    "node of the preempted job. Part of `preemptions`",                                                                \
    KNOWN_COUNT(faults, restart_preemptions))

#define HR__MAINTENANCE_METRICS(X)                                                                                     \
  X(HR__M_MAINTENANCES, "maintenance.groups", "maintained_groups", COUNTS, COUNT, NEITHER, LISTED,                     \
    "Groups of nodes served", "number of times that the work on a group of nodes began",                               \
    KNOWN_COUNT(maintenance, groups))                                                                                  \
  X(HR__M_MAINTAINED_JOBS, "maintenance.jobs_stopped", "jobs_stopped_by_maintenance", COUNTS, COUNT, LOWER, LISTED,    \
    "Jobs stopped by maintenance", "number of times that maintenance stopped a job",                                   \
    KNOWN_COUNT(maintenance, jobs_stopped))                                                                            \
  X(HR__M_PLANNED, "maintenance.planned_gpu_hours", "planned_gpu_hours", GPU_HOURS, SUM, LOWER, 0, "Planned downtime", \
    "GPU hours of nodes in maintenance, without the time in which the node had also failed",                           \
    KNOWN(maintenance, planned_gpu_hours))                                                                             \
  X(HR__M_UNPLANNED, "maintenance.unplanned_gpu_hours", "unplanned_gpu_hours", GPU_HOURS, SUM, LOWER, 0,               \
    "Unplanned downtime", "GPU hours of nodes from failures to repairs, in owned and reserved pools with maintenance", \
    KNOWN(maintenance, unplanned_gpu_hours))                                                                           \
  X(HR__M_DRAINING, "maintenance.draining_gpu_hours", "draining_gpu_hours", GPU_HOURS, SUM, LOWER, 0,                  \
    "Time of drains", "GPU hours of nodes on which no job could start because of the next maintenance",                \
    KNOWN(maintenance, draining_gpu_hours))                                                                            \
  X(HR__M_OPERATIONAL, "maintenance.availability", "operational_availability", SHARE, RATIO, HIGHER, LISTED,           \
    "Operational availability",                                                                                        \
    "1 - (node time of planned and unplanned downtime) / (nodes x length of the run), in pools with maintenance",      \
    KNOWN(maintenance, availability))
#define HR__CARBON_METRICS(X)                                                                                          \
  X(HR__M_CARBON_KG, "carbon.operational_kg", "carbon_kg", KG, SUM, LOWER, NULLABLE | LISTED, "Operational carbon",    \
    "carbon of the electricity of pools with known `power` and `carbon`, including cooling and other "                 \
    "facilities, as CO2 equivalents. With a battery, it is the carbon of the energy from the grid",                    \
    KNOWN(carbon, all.operational_kg))                                                                                 \
  X(HR__M_CARBON_JOBS_KG, "carbon.jobs_kg", "carbon_jobs_kg", KG, SUM, LOWER, NULLABLE | LISTED, "Carbon of jobs",     \
    "part of `carbon.operational_kg`: GPUs in use, and their share of the hosts", KNOWN(carbon, jobs.operational_kg))  \
  X(HR__M_CARBON_OF_NO_WAIT, "carbon.of_no_wait", "carbon_of_no_wait", INDEX, RATIO, LOWER, NULLABLE | LISTED,         \
    "Carbon relative to no wait",                                                                                      \
    "carbon of the electricity of completed jobs / carbon of the same jobs if each of them had started at its "        \
    "submission. `null` if pools have different series, and in streamed runs",                                         \
    positive(s->carbon.of_no_wait))                                                                                    \
  X(HR__M_CARBON_G_PER_KWH, "carbon.g_per_kwh", "g_per_kwh", G_PER_KWH, RATIO, LOWER, NULLABLE,                        \
    "Mean carbon intensity", "`carbon.operational_kg` / energy of the pools with known `power` and `carbon`",          \
    positive(s->carbon.g_per_kwh))                                                                                     \
  X(HR__M_EMBODIED_KG, "carbon.embodied_kg", "embodied_kg", KG, SUM, LOWER, NULLABLE | LISTED, "Embodied carbon",      \
    "carbon of the production of the nodes, for the time in which the nodes existed",                                  \
    number(s->carbon.embodied_known, s->carbon.all.embodied_kg))                                                       \
  X(HR__M_EMBODIED_JOBS_KG, "carbon.embodied_jobs_kg", "embodied_jobs_kg", KG, SUM, NEITHER, NULLABLE,                 \
    "Embodied carbon of jobs", "part of `carbon.embodied_kg`: GPUs in use",                                            \
    number(s->carbon.embodied_known, s->carbon.jobs.embodied_kg))                                                      \
  X(HR__M_CARBON_TOTAL_KG, "carbon.total_kg", "carbon_total_kg", KG, SUM, LOWER, NULLABLE, "Carbon",                   \
    "`carbon.operational_kg` + `carbon.embodied_kg`",                                                                  \
    number(s->carbon.known, s->carbon.all.operational_kg + s->carbon.all.embodied_kg))                                 \
  X(HR__M_ENERGY_USD, "carbon.energy_usd", "energy_usd", DOLLARS, SUM, LOWER, NULLABLE | LISTED, "Price of energy",    \
    "price of the energy of pools with known `power` and `energy_price`, including cooling and other facilities. It "  \
    "is not part of `cost.total_usd`",                                                                                 \
    dollars(s->carbon.price_known, s->carbon.all.energy_usd))                                                          \
  X(HR__M_USD_PER_KWH, "carbon.usd_per_kwh", "usd_per_kwh", DOLLARS, RATIO, LOWER, NULLABLE, "Mean price of energy",   \
    "`carbon.energy_usd` / energy of the pools with known `power` and `energy_price`; `null` if unknown",              \
    dollars(s->carbon.price_known && s->carbon.any_energy, s->carbon.usd_per_kwh))                                     \
  X(HR__M_WATER_L, "carbon.water_l", "water_l", LITRES, SUM, LOWER, NULLABLE, "Water",                                 \
    "energy of pools with known `power` and `wue_l_per_kwh` (without cooling and other facilities) x "                 \
    "`wue_l_per_kwh`",                                                                                                 \
    number(s->carbon.water_known, s->carbon.all.water_l))

#define HR__ENERGY_METRICS(X)                                                                                          \
  X(HR__M_IT_KWH, "energy.it_kwh", "it_kwh", KWH, SUM, LOWER, LISTED, "Energy",                                        \
    "energy of the pools with known `power`: nodes, conversion losses and other equipment, without cooling and other " \
    "facilities",                                                                                                      \
    KNOWN(energy, it_kwh))                                                                                             \
  X(HR__M_SITE_KWH, "energy.site_kwh", "site_kwh", KWH, SUM, LOWER, LISTED, "Energy of the site",                      \
    "`energy.it_kwh` and the energy of cooling and other facilities, as `pue` and `cooling_w` state",                  \
    KNOWN(energy, site_kwh))                                                                                           \
  X(HR__M_PUE, "energy.pue", "pue", FACTOR, RATIO, LOWER, NULLABLE, "PUE",                                             \
    "`energy.site_kwh` / `energy.it_kwh`; `null` if no energy was used", positive(s->energy.pue))                      \
  X(HR__M_JOBS_KWH, "energy.jobs_kwh", "jobs_kwh", KWH, SUM, NEITHER, LISTED, "Energy of jobs",                        \
    "part of `energy.it_kwh`: GPUs in use, and their share of the hosts", KNOWN(energy, use_kwh[HR_ENERGY_JOBS]))      \
  X(HR__M_IDLE_KWH, "energy.idle_kwh", "idle_kwh", KWH, SUM, LOWER, LISTED, "Energy of idle GPUs",                     \
    "part of `energy.it_kwh`: free GPUs of nodes that are on, and their share of the hosts",                           \
    KNOWN(energy, use_kwh[HR_ENERGY_IDLE]))                                                                            \
  X(HR__M_TRANSITION_KWH, "energy.transition_kwh", "transition_kwh", KWH, SUM, LOWER, 0, "Energy of transitions",      \
    "part of `energy.it_kwh`: nodes that boot or go to sleep", KNOWN(energy, use_kwh[HR_ENERGY_BOOT]))                 \
  X(HR__M_DOWN_KWH, "energy.down_kwh", "down_kwh", KWH, SUM, LOWER, 0, "Energy of nodes that are down",                \
    "part of `energy.it_kwh`: nodes that are off, asleep or in repair", KNOWN(energy, use_kwh[HR_ENERGY_DOWN]))        \
  X(HR__M_OTHER_KWH, "energy.other_kwh", "other_kwh", KWH, SUM, LOWER, 0, "Energy of other equipment",                 \
    "part of `energy.it_kwh`: `other_w`", KNOWN(energy, use_kwh[HR_ENERGY_OTHER]))                                     \
  X(HR__M_LOSS_KWH, "energy.loss_kwh", "loss_kwh", KWH, SUM, LOWER, 0, "Conversion losses",                            \
    "energy that is lost in the conversion stages (`losses`). It is contained in the other parts of `energy.it_kwh`",  \
    KNOWN(energy, loss_kwh))                                                                                           \
  X(HR__M_MEAN_KW, "energy.mean_kw", "mean_kw", KW, MEAN, LOWER, NULLABLE | LISTED, "Mean power",                      \
    "`energy.it_kwh` / length of the run", positive(s->energy.mean_kw))                                                \
  X(HR__M_PEAK_KW, "energy.peak_kw", "peak_kw", KW, QUANTILE, LOWER, LISTED, "Peak power",                             \
    "maximum power of all pools with known `power` together, without the facility", KNOWN(energy, peak_kw))            \
  X(HR__M_SITE_PEAK_KW, "energy.site_peak_kw", "site_peak_kw", KW, QUANTILE, LOWER, 0, "Peak power of the site",       \
    "maximum power of all pools with known `power` together, with the facility", KNOWN(energy, site_peak_kw))          \
  X(HR__M_KWH_PER_GPU_HOUR, "energy.kwh_per_gpu_hour", "kwh_per_gpu_hour", KWH, RATIO, LOWER, NULLABLE,                \
    "Energy per GPU hour", "`energy.site_kwh` / `gpu_hours`; `null` if no GPU was held",                               \
    positive(s->energy.kwh_per_gpu_hour))                                                                              \
  X(HR__M_SLEEPS, "energy.sleeps", "sleeps", COUNTS, COUNT, NEITHER, NULLABLE, "Suspended nodes",                      \
    "number of times that an idle node was suspended; `null` if nodes do not sleep",                                   \
    known_count(s->energy.sleep_known, s->energy.sleeps))                                                              \
  X(HR__M_WAKES, "energy.wakes", "wakes", COUNTS, COUNT, LOWER, NULLABLE, "Woken nodes",                               \
    "number of times that a sleeping node was woken", known_count(s->energy.sleep_known, s->energy.wakes))             \
  X(HR__M_BUDGET_KW, "energy.budget_kw", "budget_kw", KW, QUANTILE, NEITHER, NULLABLE, "Power budget",                 \
    "`power_budget_w` of the cluster; `null` without one", positive(s->energy.budget_kw))                              \
  X(HR__M_BUDGET_S, "energy.budget_s", "budget_s", SECONDS, SUM, LOWER, NULLABLE, "Time at the power budget",          \
    "time in which jobs waited while nodes were closed because of the power budget",                                   \
    number(s->energy.budget_kw > 0, s->energy.budget_s))                                                               \
  X(HR__M_BUDGET_JOB_S, "energy.budget_job_s", "budget_job_s", SECONDS, SUM, LOWER, NULLABLE,                          \
    "Waits at the power budget",                                                                                       \
    "sum over jobs of the time that they waited while nodes were closed because of the power budget",                  \
    number(s->energy.budget_kw > 0, s->energy.budget_job_s))                                                           \
  X(HR__M_CAPPED_S, "energy.capped_s", "capped_s", SECONDS, SUM, LOWER, NULLABLE, "Time with slower GPUs",             \
    "time in which the power budget slowed GPUs; `null` if `power_budget_mode` is not `cap`",                          \
    number(s->energy.budget_caps, s->energy.capped_s))

#define HR__BATTERY_METRICS(X)                                                                                         \
  X(HR__M_GRID_KWH, "battery.grid_kwh", "grid_kwh", KWH, SUM, LOWER, LISTED, "Energy from the grid",                   \
    "`energy.site_kwh` + `battery.charged_kwh` - `battery.discharged_kwh`", KNOWN(battery, grid_kwh))                  \
  X(HR__M_CHARGED_KWH, "battery.charged_kwh", "charged_kwh", KWH, SUM, NEITHER, LISTED, "Energy into batteries",       \
    "energy from the grid that charges batteries, including the loss", KNOWN(battery, charged_kwh))                    \
  X(HR__M_DISCHARGED_KWH, "battery.discharged_kwh", "discharged_kwh", KWH, SUM, NEITHER, LISTED,                       \
    "Energy from batteries", "part of `energy.site_kwh` that batteries serve", KNOWN(battery, discharged_kwh))         \
  X(HR__M_BATTERY_LOSS_KWH, "battery.loss_kwh", "battery_loss_kwh", KWH, SUM, LOWER, 0, "Loss of batteries",           \
    "part of `battery.charged_kwh` that is not stored", KNOWN(battery, loss_kwh))                                      \
  X(HR__M_STORED_KWH, "battery.stored_kwh", "stored_kwh", KWH, SUM, NEITHER, 0, "Energy in batteries",                 \
    "energy that batteries store at the end of the run", KNOWN(battery, stored_kwh))                                   \
  X(HR__M_BATTERY_CARBON_KG, "battery.carbon_kg", "battery_carbon_kg", KG, SUM, LOWER, SIGNED | LISTED,                \
    "Carbon of batteries",                                                                                             \
    "carbon of the energy from the grid, minus the carbon of the energy of the site without batteries. It is part of " \
    "`carbon.operational_kg`, and negative if batteries save carbon",                                                  \
    KNOWN(battery, carbon_kg))                                                                                         \
  X(HR__M_BATTERY_USD, "battery.energy_usd", "battery_energy_usd", DOLLARS, SUM, LOWER, NULLABLE | SIGNED,             \
    "Price of energy, change by batteries",                                                                            \
    "price of the energy from the grid, minus the price of the energy of the site without batteries. It is part of "   \
    "`carbon.energy_usd`, and negative if batteries save money",                                                       \
    dollars(s->battery.price_known, s->battery.energy_usd))

#define HR__FAIRNESS_METRICS(X)                                                                                        \
  X(HR__M_PARTIES, "fairness.parties", "fairness_parties", COUNTS, COUNT, NEITHER, 0, "Parties",                       \
    "number of parties with a completed job", known_count(s->fairness.over, s->fairness.parties))                      \
  X(HR__M_JAIN, "fairness.jain", "jain", INDEX, RATIO, HIGHER, NULLABLE, "Fairness (Jain)",                            \
    "Jain's index (sum of x)^2 / (n x sum of x^2) over the n parties. Here x is the mean of run time / completion "    \
    "time over the jobs of a party (Jain, Chiu and Hawe, 1984). The index is 1 if all parties progress at the same "   \
    "pace, and 1/n if only one progresses",                                                                            \
    number(s->fairness.parties > 0, s->fairness.jain))                                                                 \
  HR__DISTRIBUTION_ROWS(X, HR__M_RHO, "fairness.finish_time_fairness", "finish_time_fairness_", "", FACTOR, SERVICE,   \
                        "Finish-time fairness",                                                                        \
                        "rho = completion time / completion time on an equal share of the cluster, after "             \
                        "Themis (Mahajan et al., NSDI 2020)",                                                          \
                        s->fairness.finish_time, no_distribution)                                                      \
  X(HR__M_RHO_ABOVE_1, "fairness.finish_time_fairness.share_above_1", "finish_time_fairness_share_above_1", SHARE,     \
    RATIO, LOWER, NULLABLE, "Jobs with finish-time fairness > 1",                                                      \
    "the share of jobs with rho above 1. These jobs would have ended sooner on an equal share of the cluster",         \
    number(s->fairness.finish_time.count > 0, s->fairness.share_above_1))

#define HR__FRAGMENTATION_METRICS(X)                                                                                   \
  X(HR__M_FRAGMENTS_SUBMITS, "fragmentation.submit_window", "fragmentation_submit_window", SHARE, RATIO, LOWER,        \
    NULLABLE, "Fragmentation, submit window",                                                                          \
    "share of the GPUs that is idle, but of no use for a typical task: (sum of F over all nodes, integrated over the " \
    "submit window) / (available GPU time in the submit window). F of a node is the part of its idle GPU capacity "    \
    "that a typical task cannot use, as a weighted mean over the typical tasks",                                       \
    number(s->fragmentation.known && s->submit_window_s > 0, s->fragmentation.submit_window))                          \
  X(HR__M_FRAGMENTS_MAKESPAN, "fragmentation.makespan", "fragmentation_makespan", SHARE, RATIO, LOWER, NULLABLE,       \
    "Fragmentation", "the same share over the makespan",                                                               \
    number(s->fragmentation.known &&spanned(s), s->fragmentation.makespan))                                            \
  X(HR__M_FRAGMENTS_MAX, "fragmentation.max", "fragmentation_max", SHARE, QUANTILE, LOWER, 0,                          \
    "Fragmentation, maximum", "the maximum of this share after any pass of the policy", KNOWN(fragmentation, max))     \
  X(HR__M_STRANDED, "fragmentation.stranded", "stranded", SHARE, RATIO, LOWER, NULLABLE, "Stranded GPUs",              \
    "*stranded* GPU time / available GPU time, over the makespan. A node is stranded if its free GPUs suffice for "    \
    "some typical task with GPUs, but its free CPU or memory suffices for none of these tasks. Then all idle GPU "     \
    "capacity of the node is stranded",                                                                                \
    number(s->fragmentation.known &&spanned(s), s->fragmentation.stranded))                                            \
  X(HR__M_GANG_MEAN, "fragmentation.largest_gang.mean", "largest_gang_mean", COUNTS, MEAN, HIGHER, NULLABLE,           \
    "Largest gang, mean",                                                                                              \
    "time-weighted mean, over the makespan, of the largest gang that could start. The gang consists of tasks with "    \
    "one GPU each, in one pool",                                                                                       \
    number(s->fragmentation.known &&spanned(s), s->fragmentation.largest_gang_mean))                                   \
  X(HR__M_GANG_MIN, "fragmentation.largest_gang.min", "largest_gang_min", COUNTS, EXTREME, HIGHER, SERVICE,            \
    "Largest gang, minimum", "the minimum size of this gang after any pass",                                           \
    KNOWN_COUNT(fragmentation, largest_gang_min))

#define HR__COST_METRICS(X)                                                                                            \
  X(HR__M_COST, "cost.total_usd", "cost_total_usd", DOLLARS, SUM, LOWER, GROUPS | LISTED, "Cost",                      \
    "capacity and services (charges in addition to capacity)", COST(total_uusd), usd(line_of(lines, g->name)))         \
  X(HR__M_COST_CAPACITY, "cost.capacity_usd", "cost_capacity_usd", DOLLARS, SUM, LOWER, 0, "Cost of capacity",         \
    "cost of the pools, at their own prices", COST(capacity_uusd))                                                     \
  X(HR__M_COST_IDLE, "cost.idle_usd", "cost_idle_usd", DOLLARS, SUM, LOWER, LISTED, "Cost of idle GPUs",               \
    "the part of `capacity_usd` that was charged to no job", COST(idle_uusd))                                          \
  X(HR__M_COST_IDLE_SHARE, "cost.idle_share", "cost_idle_share", SHARE, RATIO, LOWER, NULLABLE | NO_JSON | LISTED,     \
    "Idle share of the cost", "`idle_usd` / total",                                                                    \
    number(s->costs && s->costs->total_uusd,                                                                           \
           s->costs && s->costs->total_uusd ? (double)s->costs->idle_uusd / (double)s->costs->total_uusd : 0))         \
  X(HR__M_COST_SHARED, "cost.shared_usd", "cost_shared_usd", DOLLARS, SUM, LOWER, SIGNED, "Shared cost",               \
    "cost of services (charges in addition to capacity) that cannot be assigned to a tenant. Savings plans may make "  \
    "this cost negative",                                                                                              \
    COST(shared_uusd))                                                                                                 \
  X(HR__M_ALL_ON_DEMAND, "cost.all_on_demand_usd", "cost_all_on_demand_usd", DOLLARS, SUM, LOWER, NULLABLE,            \
    "Cost on demand",                                                                                                  \
    "the GPU time that jobs used, at the pools' on-demand prices, plus the same services without savings plans. "      \
    "`null` if a pool that was used has no on-demand price",                                                           \
    COST(all_on_demand_uusd))                                                                                          \
  X(HR__M_COST_SAVING, "cost.saving_vs_on_demand", "cost_saving_vs_on_demand", SHARE, RATIO, HIGHER,                   \
    NULLABLE | SIGNED | LISTED, "Savings compared with on-demand",                                                     \
    "1 - total / `all_on_demand_usd`. Both amounts include the GPU time lost to interruptions, although on-demand "    \
    "nodes would not have lost it",                                                                                    \
    number(s->costs && !isnan(s->costs->saving_vs_on_demand), s->costs ? s->costs->saving_vs_on_demand : 0))           \
  X(HR__M_PER_JOB, "cost.usd_per_completed_job", "usd_per_completed_job", DOLLARS, RATIO, LOWER, NULLABLE | LISTED,    \
    "Cost per completed job", "total / completed jobs", COST(per_completed_job_uusd))                                  \
  X(HR__M_PER_GOODPUT, "cost.usd_per_goodput_gpu_hour", "usd_per_goodput_gpu_hour", DOLLARS, RATIO, LOWER,             \
    NULLABLE | LISTED, "Cost per useful GPU hour", "total / useful GPU hours", COST(per_goodput_gpu_hour_uusd))        \
  X(HR__M_PER_MONTH, "cost.usd_per_month", "usd_per_month", DOLLARS, RATIO, LOWER, NULLABLE,                           \
    "Cost a month (old name)", "another name of `monthly_usd`", COST(monthly_uusd))                                    \
  X(HR__M_MONTHLY, "monthly_usd", "monthly_usd", DOLLARS, RATIO, LOWER, NULLABLE | LISTED, "Cost a month",             \
    "cost of a month of 730 hours if the demand continues. It is a sum of two parts. The first part is: costs of "     \
    "on-demand and spot pools with nodes that are paid for only while they are used, x 730 h / the submit window (if " \
    "all jobs are submitted at once: the length of the run). The second part is: all other costs x 730 h / the "       \
    "length of the run. The two lengths differ because, after the last submit, the run only waits for its last jobs",  \
    COST(monthly_uusd))

/* Metrics of services: `v` is a service, or all services together. */
#define HR__OF_REQUESTS (REQUESTS | NO_JSON)
/* A row for the part of the serving cost that was paid in one market. */
#define HR__SERVING_MARKET_ROW(X, id, key, words, market)                                                              \
  X(id, "serving_by_market." key, "serving_" key "_usd", DOLLARS, SUM, NEITHER, HR__OF_REQUESTS | NULLABLE,            \
    "Cost of serving, " words, "the part of `serving_usd` in " words " pools",                                         \
    usd(v->is_present && v->cost_uusd != HR_UNKNOWN_UUSD ? v->market_uusd[market] : HR_UNKNOWN_UUSD))
#define HR__SERVICE_METRICS(X)                                                                                         \
  X(HR__M_OFFERED, "requests.offered", "requests_offered", COUNTS, COUNT, NEITHER, HR__OF_REQUESTS,                    \
    "Requests offered", "requests that arrived", requests(v, v->offered))                                              \
  X(HR__M_SERVED, "requests.completed", "requests_completed", COUNTS, COUNT, HIGHER, HR__OF_REQUESTS | SERVICE,        \
    "Requests completed", "requests that got their last token", requests(v, v->completed))                             \
  X(HR__M_REFUSED, "requests.refused", "requests_refused", COUNTS, COUNT, LOWER, HR__OF_REQUESTS | SERVICE,            \
    "Requests refused", "requests that are too large for a replica, or that found the queue full",                     \
    requests(v, v->refused))                                                                                           \
  X(HR__M_TIMED_OUT, "requests.timed_out", "requests_timed_out", COUNTS, COUNT, LOWER, HR__OF_REQUESTS | SERVICE,      \
    "Requests timed out", "requests that left because they had waited for `queue.timeout_s`",                          \
    requests(v, v->timed_out))                                                                                         \
  X(HR__M_SPILLED, "requests.spilled", "requests_spilled", COUNTS, COUNT, NEITHER, HR__OF_REQUESTS,                    \
    "Requests spilled", "requests that moved to another service, which also counts them", requests(v, v->spilled))     \
  X(HR__M_SPILLED_SHARE, "spilled_share", "spilled_share", SHARE, RATIO, NEITHER, HR__OF_REQUESTS | NULLABLE,          \
    "Spilled share",                                                                                                   \
    "(requests that moved to another service, or to the pools of `router.spill`) / `requests.offered`",                \
    number(v->offered > 0, v->offered ? (double)(v->spilled + v->overflowed) / (double)v->offered : 0))                \
  X(HR__M_NOT_SERVED, "requests.unfinished", "requests_unfinished", COUNTS, COUNT, LOWER, HR__OF_REQUESTS | SERVICE,   \
    "Requests unfinished", "requests that waited or were being served when the run ended", requests(v, v->unfinished)) \
  X(HR__M_ATTAINED, "requests.attained", "requests_attained", COUNTS, COUNT, HIGHER,                                   \
    HR__OF_REQUESTS | SERVICE | NULLABLE, "Requests within the goals",                                                 \
    "requests that met all goals (`slo`) of their service", known_count(v->has_goals, v->attained))                    \
  X(HR__M_ATTAINMENT, "attainment", "attainment", SHARE, RATIO, HIGHER, HR__OF_REQUESTS | SERVICE | NULLABLE,          \
    "Attainment", "`requests.attained` / (`requests.offered` - `requests.spilled`)",                                   \
    number(v->has_goals && v->due > 0, v->due ? (double)v->attained / (double)v->due : 0))                             \
  HR__DISTRIBUTION_ROWS(X, HR__M_TTFT, "ttft_ms", "ttft_", "_ms", MILLISECONDS, HR__OF_REQUESTS | SERVICE,             \
                        "Time to first token", "first token - arrival, of completed requests", v->ttft_ms,             \
                        no_distribution)                                                                               \
  HR__DISTRIBUTION_ROWS(                                                                                               \
      X, HR__M_TPOT, "tpot_ms", "tpot_", "_ms", MILLISECONDS, HR__OF_REQUESTS | SERVICE, "Time per output token",      \
      "(last token - first token) / (output tokens - 1), of completed requests", v->tpot_ms, no_distribution)          \
  HR__DISTRIBUTION_ROWS(X, HR__M_E2E, "e2e_ms", "e2e_", "_ms", MILLISECONDS, HR__OF_REQUESTS | SERVICE,                \
                        "Time to last token", "last token - arrival, of completed requests", v->e2e_ms,                \
                        no_distribution)                                                                               \
  X(HR__M_GOODPUT_PER_GPU, "goodput_per_gpu", "goodput_per_gpu", INDEX, RATIO, HIGHER, HR__OF_REQUESTS | NULLABLE,     \
    "Goodput per GPU",                                                                                                 \
    "requests within the goals per second and GPU: `requests.attained` / (`gpu_hours.held` x 3,600 s/h)",              \
    number(v->has_goals && v->gpu_hours > 0, v->goodput_per_gpu))                                                      \
  X(HR__M_PROMPT_TOKENS, "tokens.prompt", "tokens_prompt", COUNTS, COUNT, NEITHER, HR__OF_REQUESTS, "Prompt tokens",   \
    "tokens of the prompts of completed requests", requests(v, v->prompt_tokens))                                      \
  X(HR__M_OUTPUT_TOKENS, "tokens.output", "tokens_output", COUNTS, COUNT, NEITHER, HR__OF_REQUESTS, "Output tokens",   \
    "output tokens of completed requests", requests(v, v->output_tokens))                                              \
  X(HR__M_RECOMPUTED, "tokens.recomputed", "tokens_recomputed", COUNTS, COUNT, LOWER, HR__OF_REQUESTS,                 \
    "Recomputed tokens", "tokens that were computed again after their sequence had lost its KV memory",                \
    requests(v, v->recomputed_tokens))                                                                                 \
  X(HR__M_KV_PREEMPTIONS, "kv_preemptions", "kv_preemptions", COUNTS, COUNT, LOWER, HR__OF_REQUESTS,                   \
    "Preempted sequences", "number of times that a sequence lost its KV memory", requests(v, v->restarts))             \
  X(HR__M_KV_MEAN, "kv_use.mean", "kv_use_mean", SHARE, MEAN, NEITHER, HR__OF_REQUESTS | NULLABLE, "KV memory, mean",  \
    "used share of the KV memory of a replica, as a mean over all iterations",                                         \
    number(v->memory_iterations > 0, v->memory_mean))                                                                  \
  X(HR__M_KV_PEAK, "kv_use.peak", "kv_use_peak", SHARE, QUANTILE, LOWER, HR__OF_REQUESTS | NULLABLE,                   \
    "KV memory, peak", "maximum of the used share of the KV memory of a replica",                                      \
    number(v->memory_iterations > 0, v->memory_peak))                                                                  \
  X(HR__M_COLD_STARTS, "cold_starts.replicas", "cold_starts", COUNTS, COUNT, LOWER, HR__OF_REQUESTS, "Cold starts",    \
    "number of times that a replica got its GPUs and needed a cold start", known_count(v->is_present, v->cold_starts)) \
  X(HR__M_COLD_REQUESTS, "cold_starts.requests", "cold_start_requests", COUNTS, COUNT, LOWER,                          \
    HR__OF_REQUESTS | SERVICE, "Requests that met no ready replica",                                                   \
    "requests that found no ready replica when they arrived, and were not refused", requests(v, v->held_requests))     \
  X(HR__M_STOPPED_REPLICAS, "stopped_replicas", "stopped_replicas", COUNTS, COUNT, LOWER, HR__OF_REQUESTS,             \
    "Stopped replicas", "number of times that a replica was preempted or lost its GPUs",                               \
    known_count(v->is_present, v->interruptions))                                                                      \
  X(HR__M_HELD, "gpu_hours.held", "gpu_hours_held", GPU_HOURS, SUM, LOWER, HR__OF_REQUESTS, "GPU hours of replicas",   \
    "GPUs x the time that replicas held them", number(v->is_present, v->gpu_hours))                                    \
  X(HR__M_STARTING, "gpu_hours.starting", "gpu_hours_starting", GPU_HOURS, SUM, LOWER, HR__OF_REQUESTS,                \
    "GPU hours of cold starts", "the part of `gpu_hours.held` in which replicas were not ready yet",                   \
    number(v->is_present, v->starting_gpu_hours))                                                                      \
  X(HR__M_BUSY, "gpu_hours.busy", "gpu_hours_busy", GPU_HOURS, SUM, NEITHER, HR__OF_REQUESTS,                          \
    "Busy GPU hours of replicas", "the part of `gpu_hours.held` in which an iteration ran",                            \
    number(v->is_present, v->busy_gpu_hours))                                                                          \
  X(HR__M_NOT_BUSY, "gpu_hours.idle", "gpu_hours_idle", GPU_HOURS, SUM, LOWER, HR__OF_REQUESTS,                        \
    "Idle GPU hours of replicas", "`gpu_hours.held` - `gpu_hours.starting` - `gpu_hours.busy`",                        \
    number(v->is_present, v->gpu_hours - v->starting_gpu_hours - v->busy_gpu_hours))                                   \
  X(HR__M_SERVING_COST, "serving_usd", "serving_usd", DOLLARS, SUM, LOWER, HR__OF_REQUESTS | NULLABLE,                 \
    "Cost of serving", "cost of the GPUs that replicas held, as charged by the ledger; part of `cost.capacity_usd`",   \
    usd(v->is_present ? v->cost_uusd : HR_UNKNOWN_UUSD))                                                               \
  HR__SERVING_MARKET_ROW(X, HR__M_SERVING_OWNED, "owned", "owned", HR_MARKET_OWNED)                                    \
  HR__SERVING_MARKET_ROW(X, HR__M_SERVING_RESERVED, "reserved", "reserved", HR_MARKET_RESERVED)                        \
  HR__SERVING_MARKET_ROW(X, HR__M_SERVING_ON_DEMAND, "on_demand", "on demand", HR_MARKET_ON_DEMAND)                    \
  HR__SERVING_MARKET_ROW(X, HR__M_SERVING_SPOT, "spot", "spot", HR_MARKET_SPOT)                                        \
  X(HR__M_PER_MTOK, "usd_per_mtok", "usd_per_mtok", DOLLARS, RATIO, LOWER, HR__OF_REQUESTS | NULLABLE,                 \
    "Cost per million tokens", "`serving_usd` / prompt and output tokens, in millions",                                \
    usd(quotient(v->offered ? v->cost_uusd : HR_UNKNOWN_UUSD, 1e-6 * (double)(v->prompt_tokens + v->output_tokens))))  \
  X(HR__M_PER_ATTAINED, "usd_per_attained_request", "usd_per_attained_request", DOLLARS, RATIO, LOWER,                 \
    HR__OF_REQUESTS | NULLABLE, "Cost per request within the goals", "`serving_usd` / `requests.attained`",            \
    usd(quotient(v->has_goals ? v->cost_uusd : HR_UNKNOWN_UUSD, (double)v->attained)))                                 \
  X(HR__M_REVENUE, "revenue_usd", "revenue_usd", DOLLARS, SUM, HIGHER, HR__OF_REQUESTS | NULLABLE, "Revenue",          \
    "tokens of completed requests at the `price` of their service",                                                    \
    usd(v->is_present ? v->revenue_uusd : HR_UNKNOWN_UUSD))

/* A test compiles the catalogue with further rows. */
#ifndef HR__MORE_METRICS
#define HR__MORE_METRICS(X)
#endif

#define HR__DATA_METRICS(X)                                                                                            \
  X(HR__M_DATA_WAITING, "data.waiting_gpu_hours", "data_waiting_gpu_hours", GPU_HOURS, SUM, LOWER, LISTED,             \
    "GPU hours waiting for data", "GPU hours in which jobs waited for data, but could otherwise have worked",          \
    KNOWN(data, waiting_gpu_hours))                                                                                    \
  X(HR__M_DATA_WAITING_SHARE, "data.waiting_share", "data_waiting_share", SHARE, RATIO, LOWER, LISTED,                 \
    "Share of time waiting for data", "`data.waiting_gpu_hours` / `gpu_hours`", KNOWN(data, waiting_share))            \
  X(HR__M_DATA_READ, "data.read_gb", "data_read_gb", GIGABYTES, SUM, NEITHER, LISTED, "Data read",                     \
    "data that jobs read from storage systems and caches, in units of 10^9 bytes. Work that is repeated reads its "    \
    "data again",                                                                                                      \
    KNOWN(data, read_gb))                                                                                              \
  X(HR__M_DATA_CACHED, "data.cached_share", "data_cached_share", SHARE, RATIO, HIGHER, LISTED, "Share of cached data", \
    "share of `data.read_gb` that was read from caches of nodes", KNOWN(data, cached_share))                           \
  X(HR__M_DATA_MOVED, "data.moved_gb", "data_moved_gb", GIGABYTES, SUM, LOWER, LISTED, "Data over links",              \
    "data that was transferred over links: the sum over `data.by_link`", KNOWN(data, moved_gb))                        \
  X(HR__M_DATA_COPIED, "data.copied_gb", "data_copied_gb", GIGABYTES, SUM, LOWER, 0, "Data copied",                    \
    "data that was copied to further storage systems, or into caches before a job works", KNOWN(data, copied_gb))      \
  X(HR__M_DATA_SAVED, "data.saved_gb", "data_saved_gb", GIGABYTES, SUM, NEITHER, 0, "Checkpoints in storage systems",  \
    "size of all checkpoints that jobs wrote to storage systems of `data`", KNOWN(data, saved_gb))                     \
  X(HR__M_DATA_STORAGE, "data.storage_usd", "data_storage_usd", DOLLARS, SUM, LOWER, LISTED, "Cost of stored data",    \
    "sum over data sets and storage systems: size x time in which the data set was stored x price of the storage "     \
    "system",                                                                                                          \
    usd(s->data.known ? s->data.storage_uusd : HR_UNKNOWN_UUSD))                                                       \
  X(HR__M_DATA_EGRESS, "data.egress_usd", "data_egress_usd", DOLLARS, SUM, LOWER, LISTED, "Cost of moved data",        \
    "sum over links: transferred data x price of the link",                                                            \
    usd(s->data.known ? s->data.egress_uusd : HR_UNKNOWN_UUSD))

#define HR__ELASTIC_METRICS(X)                                                                                         \
  X(HR__M_GROWS, "elastic.grows", "grows", COUNTS, COUNT, NEITHER, LISTED, "Jobs that grew",                           \
    "resizes after which a job had more GPUs; a job that grows twice counts twice", KNOWN_COUNT(elastic, grows))       \
  X(HR__M_SHRINKS, "elastic.shrinks", "shrinks", COUNTS, COUNT, NEITHER, LISTED, "Jobs that shrank",                   \
    "resizes after which a job had fewer GPUs; a job that shrinks twice counts twice", KNOWN_COUNT(elastic, shrinks))

#define HR__SCALING_METRICS(X)                                                                                         \
  X(HR__M_SCALING_ADDED, "scaling.nodes_added", "nodes_added", COUNTS, COUNT, NEITHER, LISTED, "Nodes added",          \
    "nodes of elastic pools that the autoscaler has requested", KNOWN_COUNT(scaling, added))                           \
  X(HR__M_SCALING_REMOVED, "scaling.nodes_removed", "nodes_removed", COUNTS, COUNT, NEITHER, LISTED, "Nodes removed",  \
    "nodes that the autoscaler has removed", KNOWN_COUNT(scaling, removed))                                            \
  X(HR__M_SCALING_FAILURES, "scaling.failures", "scale_up_failures", COUNTS, COUNT, LOWER, LISTED, "Failed scale-ups", \
    "scale-ups that failed: the provider had too few nodes, or nodes did not boot in time",                            \
    KNOWN_COUNT(scaling, failures))                                                                                    \
  X(HR__M_SCALING_PROVISION, "scaling.provision_s", "provision_s", SECONDS, MEAN, LOWER, NULLABLE | LISTED,            \
    "Mean time to provide a node",                                                                                     \
    "mean time from the request for a node until the node is up; `null` if no node has booted",                        \
    number(s->scaling.booted > 0, s->scaling.provision_s))                                                             \
  X(HR__M_SCALING_GPU_HOURS, "scaling.gpu_hours", "scaled_gpu_hours", GPU_HOURS, SUM, LOWER, LISTED,                   \
    "GPU hours of elastic nodes",                                                                                      \
    "sum over the nodes of elastic pools: GPUs x time from the request for the node to its removal",                   \
    KNOWN(scaling, gpu_hours))                                                                                         \
  X(HR__M_SCALING_EMPTY, "scaling.empty_gpu_hours", "empty_gpu_hours", GPU_HOURS, SUM, LOWER, LISTED,                  \
    "GPU hours of empty nodes", "part of `scaling.gpu_hours`: nodes that are up and have no job",                      \
    KNOWN(scaling, empty_gpu_hours))

#define HR__METRIC_TABLE(X)                                                                                            \
  HR__JOB_METRICS(X)                                                                                                   \
  HR__TIME_METRICS(X)                                                                                                  \
  HR__GOODPUT_METRICS(X)                                                                                               \
  HR__SPOT_METRICS(X)                                                                                                  \
  HR__FAULT_METRICS(X)                                                                                                 \
  HR__MAINTENANCE_METRICS(X)                                                                                           \
  HR__ENERGY_METRICS(X)                                                                                                \
  HR__CARBON_METRICS(X)                                                                                                \
  HR__DATA_METRICS(X)                                                                                                  \
  HR__ELASTIC_METRICS(X)                                                                                               \
  HR__SCALING_METRICS(X)                                                                                               \
  HR__BATTERY_METRICS(X)                                                                                               \
  HR__FAIRNESS_METRICS(X)                                                                                              \
  HR__FRAGMENTATION_METRICS(X)                                                                                         \
  HR__COST_METRICS(X)                                                                                                  \
  HR__SERVICE_METRICS(X)                                                                                               \
  HR__MORE_METRICS(X)

enum hr__metric {
#define HR__METRIC_ID(id, ...) id,
  HR__METRIC_TABLE(HR__METRIC_ID)
#undef HR__METRIC_ID
      HR__N_METRICS
};

extern const struct hr_metric hr__metric_rows[HR__N_METRICS];

/* ---- Names ----------------------------------------------------------------------------------------- */

/* Finds a metric by its path, its column or an alias, such as "usd_per_job". Returns HR__N_METRICS if no metric has the
   name. */
enum hr__metric hr__metric_find(const char *name, size_t length);
/* Returns the rank of a metric for lists that begin with the most important metrics; 0 is the most important one. The
   metrics of a list in catalog.c are first, such as cost, waits and completed jobs. The others follow in the order of
   the table. */
unsigned hr__metric_importance(enum hr__metric metric);
/* Writes a NULL-terminated list of the paths of all metrics or, if `of_groups` is set, of the metrics that groups have.
   The list is for hr_nearest_word. */
void hr__metric_names(bool of_groups, const char *names[HR__N_METRICS + 1]);
/* Returns the path of a metric in the JSON summary. It equals the path in the catalogue, except for monthly_usd, which
   is cost.monthly_usd in the JSON summary. */
const char *hr__metric_json_path(enum hr__metric metric);
/* Returns the path in an entry of by_size, by_class and by_tenant of the JSON summary; NULL if they omit the metric. */
const char *hr__metric_group_path(enum hr__metric metric);

/* The sections of the JSON summary. A section is an object of the summary with the same name, such as "cost"; the
   summaries of some runs do not have it. The main section consists of all other keys. */
#define HR__METRIC_SECTION_TABLE(X)                                                                                    \
  X(HR__SECTION_MAIN, "")                                                                                              \
  X(HR__SECTION_FAIRNESS, "fairness")                                                                                  \
  X(HR__SECTION_FRAGMENTATION, "fragmentation")                                                                        \
  X(HR__SECTION_COST, "cost")                                                                                          \
  X(HR__SECTION_GOODPUT, "goodput")                                                                                    \
  X(HR__SECTION_SPOT, "spot")                                                                                          \
  X(HR__SECTION_OOM, "oom_kills")                                                                                      \
  X(HR__SECTION_FAULTS, "faults")                                                                                      \
  X(HR__SECTION_MAINTENANCE, "maintenance")                                                                            \
  X(HR__SECTION_ENERGY, "energy")                                                                                      \
  X(HR__SECTION_CARBON, "carbon")                                                                                      \
  X(HR__SECTION_DATA, "data")                                                                                          \
  X(HR__SECTION_ELASTIC, "elastic")                                                                                    \
  X(HR__SECTION_SCALING, "scaling")                                                                                    \
  X(HR__SECTION_BATTERY, "battery")

enum hr__metric_section {
#define HR__SECTION_ID(id, name) id,
  HR__METRIC_SECTION_TABLE(HR__SECTION_ID)
#undef HR__SECTION_ID
      HR__N_METRIC_SECTIONS /* the section of metrics that the summary omits */
};
enum hr__metric_section hr__metric_section(enum hr__metric metric);

/* ---- Values ---------------------------------------------------------------------------------------- */

/* The value of a metric. `exact` is the value of a count, and micro-dollars if the unit is dollars. */
struct hr__metric_value {
  double value; /* HR__UNKNOWN: unknown */
  int64_t exact;
};

struct hr__metric_value hr__metric_of_run(enum hr__metric metric, const struct hr_summary *summary);
/* Returns the value of a metric for a group of jobs; unknown if groups do not have the metric. `lines`: the costs of
   the groups by name; NULL if unknown. */
struct hr__metric_value hr__metric_of_group(enum hr__metric metric, const struct hr_group *group,
                                            const struct hr_cost_lines *lines);
/* Returns the value of a metric for a service; unknown if services do not have the metric. */
struct hr__metric_value hr__metric_of_service(enum hr__metric metric, const struct hr_service_summary *service);
/* Write all metrics of a run, or of one class or tenant of a run, to `values`; HR__UNKNOWN if unknown. */
void hr__metrics_of_run(const struct hr_summary *summary, double values[HR__N_METRICS]);
void hr__metrics_of_group(const struct hr_group *group, const struct hr_cost_lines *lines,
                          double values[HR__N_METRICS]);

/* ---- Text ------------------------------------------------------------------------------------------ */

enum { HR__METRIC_BYTES = 64 };

/* The functions below write to `buffer`, which has HR__METRIC_BYTES bytes, and return it. hr__metric_text writes a
   value with its unit, or "-" if the value is unknown. */
const char *hr__metric_text(enum hr_unit unit, double value, char *buffer);
/* Writes a difference with its sign, "=" if it is zero, "-" if it is unknown. */
const char *hr__difference_text(enum hr_unit unit, double difference, char *buffer);
/* Writes half the width of the interval low..high after a plus-minus sign, or "-" if the interval is unknown. */
const char *hr__margin_text(enum hr_unit unit, double low, double high, char *buffer);

#endif
