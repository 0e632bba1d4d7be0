/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_ORACLE_NAIVE_KUEUE_H
#define HR_TESTS_ORACLE_NAIVE_KUEUE_H

/*
 * One scheduling cycle of Kueue, written from its rules in the simplest way: usage is summed up again over all
 * workloads whenever it is needed, a preemption is tried on a copy of the state, and lists are sorted by exchanging
 * neighbors. It shares no code with policies/kueue. All queues have one resource group with all flavors.
 */

#include <stdbool.h>

enum { KUEUE_QUEUES = 5, KUEUE_NODES = 9, KUEUE_FLAVORS = 2, KUEUE_RESOURCES = 2, KUEUE_PAIRS = 4, KUEUE_JOBS = 18 };
enum { KUEUE_NO_LIMIT = -1, KUEUE_NOBODY = -1 };

enum naive_policy { NAIVE_NEVER, NAIVE_LOWER, NAIVE_LOWER_OR_NEWER, NAIVE_ANY };

struct naive_queue {
  enum naive_policy within, reclaim;
  bool borrow;   /* borrowWithinCohort */
  int threshold; /* KUEUE_NO_LIMIT: none */
  bool borrow_next, preempt_next, preemption_first;
  int head; /* workload; KUEUE_NOBODY: none */
};

struct naive_job {
  int queue, priority, created, reserved, uid, count, minimum;
  long request[KUEUE_RESOURCES]; /* per pod */
  bool admitted, evicted;
  int flavor; /* if admitted */
};

struct naive_cluster {
  int n_queues, n_nodes, n_jobs;
  int parent[KUEUE_NODES];
  bool has[KUEUE_NODES][KUEUE_PAIRS]; /* pair: flavor * KUEUE_RESOURCES + resource */
  long nominal[KUEUE_NODES][KUEUE_PAIRS], borrowing[KUEUE_NODES][KUEUE_PAIRS], lending[KUEUE_NODES][KUEUE_PAIRS];
  int weight[KUEUE_NODES];
  struct naive_queue queues[KUEUE_QUEUES];
  struct naive_job jobs[KUEUE_JOBS];
  bool fair, second_strategy, initial_first, within_nominal, non_borrowing_first, recompute, partial, sort_by_priority;
};

enum naive_cause { NAIVE_OWN_QUEUE, NAIVE_RECLAIMED, NAIVE_SHARED, NAIVE_WHILE_BORROWING };
enum naive_verdict { NAIVE_WAITS, NAIVE_SKIPPED, NAIVE_ADMITTED };
enum naive_mode_of_fit { NAIVE_NO_FIT, NAIVE_PREEMPTS, NAIVE_DEFERRED, NAIVE_FITS };

struct naive_targets {
  int n, job[KUEUE_JOBS];
  enum naive_cause cause[KUEUE_JOBS];
};

/* The decision about the head of a queue. */
struct naive_decision {
  enum naive_mode_of_fit mode;
  enum naive_verdict verdict;
  int flavor, count, level;
  bool preempts;
  struct naive_targets targets;
};

/* Returns whether the admitted workloads fit into the quotas and limits. */
bool naive_kueue_is_sound(const struct naive_cluster *cluster);
/* Returns whether a workload that is not admitted would fit now with a flavor. */
bool naive_kueue_fits(const struct naive_cluster *cluster, int job, int flavor);
/* Makes the decisions for all heads; `decisions` has one entry per queue. */
void naive_kueue_cycle(const struct naive_cluster *cluster, struct naive_decision *decisions);

#endif
