/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef TESTS_POLICIES_NAIVE_SLURM_H
#define TESTS_POLICIES_NAIVE_SLURM_H

/* Slow models of a pass and of whole runs of Slurm, for comparison. They share only descriptions of jobs with
   Headroom. */

#include "policies/slurm/slurm.h"

/* The nodes and the running jobs. The caller allocates the arrays. */
struct naive_nodes {
  uint32_t n_nodes, n_words;
  const uint32_t *gpus;
  uint32_t *used, *future, *chosen;  /* [n_nodes] */
  struct hr__slurm_running *running; /* [n_running] by increasing end */
  uint32_t n_running;
  int64_t origin_us;
  const int64_t *cpu_milli, *mem_mib; /* [n_nodes] CPUs and memory of empty nodes; NULL: not limited */
};

bool naive_select_now(struct naive_nodes *nodes, const struct hr__slurm_shape *shape, uint64_t *set);
bool naive_select(struct naive_nodes *nodes, const struct hr__slurm_shape *shape, int64_t now_us, uint64_t *set,
                  int64_t *start_us);
struct hr__slurm_running *naive_nodes_add(struct naive_nodes *nodes, uint32_t job, const struct hr__slurm_shape *shape,
                                          int64_t end_us, uint32_t *at);

struct naive_slot {
  int64_t begin_us, end_us;
  uint32_t next; /* the slot that follows; HR_NONE: the last */
};

struct naive_timeline {
  struct naive_slot *slots; /* [max_slots] */
  uint64_t *nodes;          /* [max_slots * n_words] */
  uint32_t *licenses;       /* [max_slots * n_license_kinds] */
  uint64_t *set;            /* [n_words] */
  int64_t from_us;          /* the begin of the interval for which the selector is called */
  uint32_t n_slots, max_slots, n_nodes, n_words, n_license_kinds;
};

uint32_t naive_backfill(struct naive_timeline *line, const struct hr__slurm_backfill_limits *limits,
                        const struct hr__slurm_queued *queue, uint32_t n_queued, const uint32_t *licenses,
                        const struct hr__slurm_selector *selector, int64_t now_us, struct hr__slurm_planned *planned);

/* ---- Whole runs (naive_slurm_run.c) ----------------------------------------------------------------- */

enum { NAIVE_JOBS = 16, NAIVE_NODES = 8, NAIVE_NAMES = 6, NAIVE_EVENTS = 200 };
enum { NAIVE_FUTURE, NAIVE_WAITS, NAIVE_RUNS, NAIVE_REQUEUED, NAIVE_GONE };

struct naive_job {
  int64_t submit_s, work_s, limit_s;
  uint32_t gpus, nodes, part, qos, user;
  struct hr__slurm_shape shape;
  /* during a run */
  int state;
  int64_t queued_s, eligible_s, start_s, charged_s;
  uint32_t priority, at[NAIVE_NODES];
};

struct naive_part {
  uint64_t nodes;
  uint32_t tier, factor;
  int64_t max_time_s;
  bool is_down;
  int64_t over_s; /* OverTimeLimit: -1: not set */
};

/* Limits are -1 if there are none. */
struct naive_qos {
  uint32_t priority, preempts; /* preempts: set of QOS */
  bool no_reserve;
  int64_t grp_jobs, grp_gpus, user_jobs, user_gpus;
};

/* kind: 's' start, 'p' the job was preempted. */
struct naive_event {
  int64_t at_s;
  char kind;
  uint32_t job;
  uint64_t nodes;
};

struct naive_run {
  uint32_t n_nodes, gpus_per_node, n_jobs, n_parts, n_qos, n_users, n_accounts;
  struct naive_job jobs[NAIVE_JOBS];
  struct naive_part parts[NAIVE_NAMES];
  struct naive_qos qos[NAIVE_NAMES];
  uint32_t user_account[NAIVE_NAMES];
  double user_shares[NAIVE_NAMES], account_shares[NAIVE_NAMES];
  bool is_multifactor, enforces, preempts, preempts_by_qos, cancels, youngest_first;
  double weight_age, weight_fairshare, weight_size, weight_partition, weight_qos, half_life_s;
  int64_t period_s, calc_start_s, interval_s, exempt_s, min_age_s, over_s;
  int64_t sched_interval_s, batch_delay_s;
  uint32_t depth;
  uint32_t min_prio, max_job_test, part_reserves, max_tests[HR__SLURM_N_SCOPES];
  /* during a run */
  int64_t now_s, tick_s, rested_s;
  int64_t looped_s; /* when the background loop last ran the main scheduler */
  bool has_changed, is_queued, is_stale, is_old;
  double usage[NAIVE_NAMES], factor[NAIVE_NAMES];
  uint32_t gpus[NAIVE_NODES], used[NAIVE_NODES], future[NAIVE_NODES], chosen[NAIVE_NODES];
  uint32_t memory[NAIVE_JOBS][NAIVE_NODES];
  struct hr__slurm_running running[NAIVE_JOBS];
  struct naive_nodes nodes;
  struct naive_timeline line;
  struct naive_slot slots[2 * NAIVE_JOBS + 2];
  uint64_t slot_nodes[2 * NAIVE_JOBS + 2], slot_set;
  struct naive_event events[NAIVE_EVENTS];
  uint32_t n_events;
};

/* Runs until `until_s`, and stores the starts and preemptions in `events`. */
void naive_slurm_run(struct naive_run *run, int64_t until_s);

#endif
