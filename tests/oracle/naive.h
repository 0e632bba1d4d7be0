/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_ORACLE_NAIVE_H
#define HR_TESTS_ORACLE_NAIVE_H

/* The queue policy in the simplest form: every pass examines every waiting job and every node. It shares no code with
   the product; if the two differ, one of them is wrong. */

#include <stdbool.h>
#include <stdint.h>

/* The orders that naive.c implements, as X(NAME, order, fair_share, key): the values of the queue policy's parameters,
   with fair_share NULL for orders without that parameter, and the key of `job` in `in`, an expression that naive.c
   evaluates; the smallest key goes first. Every order of the policy must be here or in naive_preemptive.h; test
   oracle_compare fails on one that is in neither. Orders by the job's request alone come before EDF, orders that depend
   on past usage from FAIR_TREE on. */
#define NAIVE_ORDER_TABLE(X)                                                                                           \
  X(FIFO, "fifo", NULL, 0)                                                                                             \
  X(SJF, "sjf", NULL, run_time_of(in, job))                                                                            \
  X(SMALLEST, "smallest", NULL, in->gpus[job])                                                                         \
  X(LARGEST, "largest", NULL, -(int64_t)in->gpus[job])                                                                 \
  X(PRIORITY, "priority", NULL, -(int64_t)in->priority[job])                                                           \
  X(EDF, "edf", NULL, deadline_of(in, job))                                                                            \
  X(F1, "f1", NULL, f1(in, job))                                                                                       \
  X(WFP3, "wfp3", NULL, 0) /* ranks as of each pass */                                                                 \
  X(DRF, "drf", NULL, 0)   /* ranks as of each start; a conservative plan is made in the order in which it began */    \
  X(FAIR_TREE, "fair-share", "tree", 0)                                                                                \
  X(FAIR_CLASSIC, "fair-share", "classic", 0)                                                                          \
  X(FACTORS_TREE, "multifactor", "tree", 0)                                                                            \
  X(FACTORS_CLASSIC, "multifactor", "classic", 0)                                                                      \
  X(QSSF, "qssf", NULL, 0)                                                                                             \
  X(GITTINS, "gittins", NULL, 0) /* without preemption: no waiting job has attained service */

#define NAIVE_ORDER_VALUE(name, order, fair_share, key) NAIVE_##name,
enum naive_order { NAIVE_ORDER_TABLE(NAIVE_ORDER_VALUE) NAIVE_ORDERS };
enum naive_backfill { NAIVE_STRICT, NAIVE_SKIP, NAIVE_EASY, NAIVE_CONSERVATIVE, NAIVE_BACKFILLS };
enum naive_placement { NAIVE_POOL, NAIVE_FIRST_FIT, NAIVE_BEST_FIT, NAIVE_WORST_FIT, NAIVE_PLACEMENTS };

enum { NAIVE_MAX_POOLS = 8, NAIVE_MAX_TENANTS = 8, NAIVE_MAX_USERS = 16 };

/* What orders with a memory go by. Times in the unit of the jobs. */
struct naive_terms {
  double tenant_weight[NAIVE_MAX_TENANTS]; /* only of the fair shares */
  int64_t half_life;                       /* 0: use never fades */
  int64_t calc_period, max_age;
  double weight_age, weight_fair_share, weight_size, weight_qos;
  bool favor_small;
  double decay, similarity;
};

struct naive_pool {
  uint32_t nodes, gpus_per_node;
};

/* Jobs sorted by submit; times in any whole unit, but microseconds for F1 and WFP3; -1 where a limit, an estimate or a
   deadline is unknown. */
struct naive_input {
  uint32_t n_jobs;
  const int64_t *submit, *work, *limit, *estimate, *deadline;
  const int32_t *priority;
  const uint32_t *gpus, *accepts; /* accepts: bit p is set where pool p will do */
  uint32_t units_per_gpu;         /* what GPUs of jobs and pools are counted in: 1, or 1000 where shares count */
  const uint32_t *tenant;         /* below NAIVE_MAX_TENANTS */
  const uint32_t *user;           /* below NAIVE_MAX_USERS; 0: none */
  const char *const *name;        /* NULL: none */
  struct naive_terms terms;
  uint32_t n_pools;
  struct naive_pool pools[NAIVE_MAX_POOLS];
  uint32_t gpu_type[NAIVE_MAX_POOLS]; /* below NAIVE_MAX_POOLS */
  enum naive_order order;
  enum naive_backfill backfill;
  enum naive_placement placement;
};

/* Where a job sat: GPUs on units. A unit is a node, or, with pool placement, a whole pool. */
struct naive_seat {
  uint32_t count;
  struct naive_part {
    uint32_t unit, gpus;
  } * part;
};

struct naive_result {
  int64_t *start; /* by job; -1: rejected */
  struct naive_seat *seat;
  bool unsure; /* a choice hung on uses that lie too close to tell which is greater */
};

/* Runs to the end; aborts when out of memory. */
struct naive_result naive_run(const struct naive_input *input);
void naive_result_finish(struct naive_result *result, uint32_t n_jobs);

#endif
