/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_SLURM_BACKFILL_H
#define HR_POLICIES_SLURM_BACKFILL_H

/*
 * One pass of Slurm's backfill scheduler (sched/backfill). Jobs are tested in the order of the queue. A job that can
 * run now is started. Another job gets a reservation of whole nodes from its expected start for its time limit, and
 * later jobs must not use these nodes during that time.
 *
 * The time line is a list of slots, from now to the end of the window. A slot has the set of nodes, and the licences,
 * that no reservation uses during it. The selector, which the caller provides, knows the running jobs: it says when a
 * job could start on a set of nodes if only the running jobs existed.
 *
 * Source: src/plugins/sched/backfill/backfill.c of SchedMD/slurm.
 */

#include <stdbool.h>
#include <stdint.h>

/* The parameters of SchedulerParameters that a pass uses. */
struct hr__slurm_backfill_limits {
  int64_t resolution_us, window_us;
  uint32_t max_job_test, max_job_start; /* max_job_start 0: no limit */
  uint32_t max_job_user, max_job_part;  /* jobs tested per user and per partition; 0: no limit */
  uint32_t job_part_count_reserve;      /* reservations per partition; 0: no limit */
  int64_t min_age_reserve_us;           /* younger jobs get no reservation */
  uint32_t min_prio_reserve;            /* jobs of lower priority get no reservation */
};

/* A waiting job, in the order of the queue. */
struct hr__slurm_queued {
  uint32_t job;             /* passed to the selector */
  uint32_t user, partition; /* dense numbers, for the limits */
  uint32_t priority;
  int64_t limit_us; /* its time limit */
  int64_t submit_us;
  uint32_t min_nodes;           /* fewer available nodes are not passed to the selector */
  const uint64_t *usable;       /* set of nodes that it may use; NULL: all */
  uint32_t license, n_licenses; /* licences that it needs; n_licenses 0: none */
};

/* The decision on a waiting job. */
struct hr__slurm_planned {
  int64_t start_us; /* now: it was started; later: expected start; HR_NEVER_US: none within the window */
  bool was_tested;
};

struct hr__slurm_selector {
  /* Finds when and where a job can start on the nodes of a set, if only the running jobs existed. Reduces the set to
     the chosen nodes and returns true; returns false if the job can never run on them. */
  bool (*find)(void *self, uint32_t job, int64_t now_us, uint64_t *nodes, int64_t *start_us);
  /* Starts a job on the nodes that `find` chose. Returns false if it cannot start after all. */
  bool (*start)(void *self, uint32_t job, const uint64_t *nodes);
  void *self;
};

/* A slot of the time line. Its set of nodes and its licences follow in separate arrays. */
struct hr__slurm_slot {
  int64_t begin_us, end_us;
  uint32_t next; /* the slot that follows; HR_NONE: the last */
};

/* The memory of a pass. The caller allocates the arrays once; a pass allocates nothing. */
struct hr__slurm_timeline {
  struct hr__slurm_slot *slots; /* [max_slots]; slot 0 begins now */
  uint64_t *nodes;              /* [max_slots * n_words] per slot: the set of nodes that are not reserved */
  uint32_t *licenses;           /* [max_slots * n_license_kinds] per slot: licences that are not reserved */
  uint64_t *set;                /* [n_words] scratch */
  uint32_t *user_tests, *part_tests, *part_reserves; /* [n_users], [n_partitions] counters; NULL: no limits used */
  uint32_t n_users, n_partitions;
  uint32_t n_slots, max_slots;
  uint32_t n_nodes, n_words; /* n_words = (n_nodes + 63) / 64 */
  uint32_t n_license_kinds;
};

/* Runs a pass at `now_us`. `licenses` [n_license_kinds] are those that are free now. Writes a decision for each job of
   the queue. Returns the number of jobs that were started. */
uint32_t hr__slurm_backfill(struct hr__slurm_timeline *line, const struct hr__slurm_backfill_limits *limits,
                            const struct hr__slurm_queued *queue, uint32_t n_queued, const uint32_t *licenses,
                            const struct hr__slurm_selector *selector, int64_t now_us,
                            struct hr__slurm_planned *planned);

#endif
