/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_ORACLE_NAIVE_H
#define HR_TESTS_ORACLE_NAIVE_H

/*
 * A second implementation of the engine and the queue policy, without preemption. docs/reference/rules.md specifies the
 * rules. Every pass examines every waiting job and every node. This implementation shares no code with Headroom. If the
 * two differ, one of them has an error.
 */

#include <stdbool.h>
#include <stdint.h>

/*
 * The orders that naive.c implements, as X(NAME, order, fair_share, key).
 *
 *   order       value of the queue policy's parameter `order`
 *   fair_share  value of its parameter `fair_share`; NULL: the order does not use that parameter
 *   key         expression for the sort key of `job` in `in`, evaluated in naive.c; the job with the smallest key is
 *               first. 0: the order has no key; naive.c compares jobs by other rules. Of jobs with
 *               equal keys, the one with the lower index is first
 *
 * Every order of the queue policy must be in this table or in naive_preemptive.h; test oracle_compare checks this.
 * Code depends on the sequence of the rows: the orders before EDF depend only on the job's submit, run time (or limit
 * or estimate), GPUs and priority; the orders from FAIR_TREE on depend on past usage or on finished jobs (GITTINS only
 * with preemption).
 */
#define NAIVE_ORDER_TABLE(X)                                                                                           \
  X(FIFO, "fifo", NULL, 0)                                                                                             \
  X(SJF, "sjf", NULL, run_time_of(in, job))                                                                            \
  X(SMALLEST, "smallest", NULL, in->gpus[job])                                                                         \
  X(LARGEST, "largest", NULL, -(int64_t)in->gpus[job])                                                                 \
  X(PRIORITY, "priority", NULL, -(int64_t)in->priority[job])                                                           \
  X(EDF, "edf", NULL, deadline_of(in, job))                                                                            \
  X(F1, "f1", NULL, f1(in, job))                                                                                       \
  X(WFP3, "wfp3", NULL, 0) /* depends on the time of the pass, see naive.c */                                          \
  X(DRF, "drf", NULL, 0)   /* depends on the running jobs; conservative backfill does not sort again while it plans */ \
  X(FAIR_TREE, "fair-share", "tree", 0)                                                                                \
  X(FAIR_CLASSIC, "fair-share", "classic", 0)                                                                          \
  X(FACTORS_TREE, "multifactor", "tree", 0)                                                                            \
  X(FACTORS_CLASSIC, "multifactor", "classic", 0)                                                                      \
  X(QSSF, "qssf", NULL, 0)                                                                                             \
  X(GITTINS, "gittins", NULL, 0) /* without preemption no waiting job has attained service, so all tie */

#define NAIVE_ORDER_VALUE(name, order, fair_share, key) NAIVE_##name,
enum naive_order { NAIVE_ORDER_TABLE(NAIVE_ORDER_VALUE) NAIVE_ORDERS };

/* The values of the queue policy's parameters `backfill` and `placement`. */
enum naive_backfill { NAIVE_STRICT, NAIVE_SKIP, NAIVE_EASY, NAIVE_CONSERVATIVE, NAIVE_BACKFILLS };
enum naive_placement_rule { NAIVE_POOL, NAIVE_FIRST_FIT, NAIVE_BEST_FIT, NAIVE_WORST_FIT, NAIVE_PLACEMENTS };

enum { NAIVE_MAX_POOLS = 8, NAIVE_MAX_TENANTS = 8, NAIVE_MAX_USERS = 16 };

/* Parameters of the orders that depend on past usage or on finished jobs. They have the meaning of the queue policy's
   parameters of the same names, but times are in the unit of the jobs. */
struct naive_params {
  double tenant_weight[NAIVE_MAX_TENANTS]; /* relative shares; used by the fair-share and multifactor orders */
  int64_t half_life;                       /* half-life of usage; 0: usage does not decay */
  int64_t calc_period;                     /* minimum time between two updates of the fair-share factors */
  int64_t max_age;                         /* the wait at which the age factor reaches 1 */
  double weight_age, weight_fair_share, weight_size, weight_qos;
  bool favor_small;
  double decay, similarity; /* qssf_decay, qssf_similarity */
};

/* Without sharing, gpus_per_node counts GPUs; with sharing, thousandths of a GPU. */
struct naive_pool {
  uint32_t nodes, gpus_per_node;
};

/* Each array has one element per job. A job is identified by its index. Jobs are sorted by submit. Times are in any
   whole unit, except that F1 and WFP3 require microseconds. A limit, estimate or deadline of -1 is unknown. */
struct naive_input {
  uint32_t n_jobs;
  const int64_t *submit, *work, *limit, *estimate, *deadline;
  const int32_t *priority;
  const uint32_t *gpus, *accepts; /* accepts: bit p is set if the job accepts pool p */
  /* the unit of all GPU counts. 1: counts are in GPUs; 1000: counts are in thousandths of a GPU */
  uint32_t units_per_gpu;
  const uint32_t *tenant;  /* below NAIVE_MAX_TENANTS */
  const uint32_t *user;    /* below NAIVE_MAX_USERS; 0: none */
  const char *const *name; /* NULL: none */
  struct naive_params params;
  uint32_t n_pools;
  struct naive_pool pools[NAIVE_MAX_POOLS];
  uint32_t gpu_type[NAIVE_MAX_POOLS]; /* below NAIVE_MAX_POOLS */
  enum naive_order order;
  enum naive_backfill backfill;
  enum naive_placement_rule placement;
};

/* The placement of a job: its GPUs by unit. A unit is a node; under placement rule NAIVE_POOL a unit is a whole pool.
   Units are numbered in the order of the pools. */
struct naive_placement {
  uint32_t count;
  struct naive_slot {
    uint32_t unit, gpus;
  } * slot;
};

struct naive_result {
  int64_t *start;                    /* by job; -1: rejected */
  struct naive_placement *placement; /* by job; meaningful only for jobs that started */
  /* some decision depended on two usages that were too close to be compared reliably (see naive_shares.c) */
  bool undecided;
};

/* Runs until all jobs have ended. Aborts if out of memory. Free the result with naive_result_finish. */
struct naive_result naive_run(const struct naive_input *input);
void naive_result_finish(struct naive_result *result, uint32_t n_jobs);

#endif
