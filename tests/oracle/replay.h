/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_ORACLE_REPLAY_H
#define HR_TESTS_ORACLE_REPLAY_H

/* Runs a workload on a cluster by Headroom or by the naive scheduler of naive.h. Outcomes have the same form, so that
   they can be compared. The functions abort on errors of the test itself, such as a lack of memory or an unknown
   parameter. */

#include "naive.h"

#include "headroom/policies.h"
#include "headroom/sim.h"

/* Times are in microseconds; a limit or an estimate of -1 is unknown. `types`, `regions`: bit i is set if GPU type or
   region i is accepted; 0: all are accepted. */
struct replay_job {
  int64_t submit, work, limit, estimate;
  int32_t priority;
  uint32_t gpus, types, regions;
  uint8_t class_;   /* enum hr_job_class */
  uint32_t tenant;  /* below REPLAY_TENANTS; 0: no tenant */
  int64_t deadline; /* absolute, as `submit`; 0: no deadline */
  uint32_t user;    /* below NAIVE_MAX_USERS; 0: no user */
  uint32_t name;    /* argument of replay_name; 0: no name */
};

/* Numbers of GPU types, regions and tenants. No pool has the last GPU type or the last region, so a job that accepts
   only these is rejected. */
enum { REPLAY_TYPES = 4, REPLAY_REGIONS = 3, REPLAY_TENANTS = 4 };
struct replay_pool {
  struct naive_pool shape;
  uint32_t type;
  uint32_t region;  /* index of the region + 1; 0: no region */
  uint32_t classes; /* as in struct hr_pool_spec */
};

enum { REPLAY_NAMES = 48 };
/* Returns a name; NULL for 0. Some names are more similar to each other than others; some differ only after the first
   64 characters. */
const char *replay_name(uint32_t name);

/* A workload and its cluster. The jobs are sorted by submit. */
struct replay_case {
  struct replay_job *jobs;
  uint32_t n_jobs;
  struct replay_pool pools[NAIVE_MAX_POOLS];
  uint32_t n_pools;
  bool shares; /* each node has one shared GPU; `gpus` of jobs and pools counts thousandths of a GPU */
  /* times are in microseconds; tenant weights are used only with backfill `skip`; if the weight of tenant 0 is 0,
     tenants have no weights */
  struct naive_params params;
};
/* Returns the documented defaults of the queue policy. */
struct naive_params replay_default_params(void);
/* Sets the parameters of the queue policy. `fair_share`: "tree", "classic" or NULL. */
void replay_set_params(struct hr_policy_choice *choice, const struct naive_params *params, const char *fair_share);
void replay_print_params(const struct naive_params *params);

struct replay_rules {
  enum naive_order order;
  enum naive_backfill backfill;
  enum naive_placement_rule placement;
};
/* All combinations are numbered from 0 to REPLAY_RULES - 1. The placement changes with every number, the backfill with
   every NAIVE_PLACEMENTS numbers, and the order most rarely. */
enum { REPLAY_RULES = NAIVE_ORDERS * NAIVE_BACKFILLS * NAIVE_PLACEMENTS };
/* The first REPLAY_PLAIN_RULES combinations have the orders before EDF in NAIVE_ORDER_TABLE. */
enum { REPLAY_PLAIN_RULES = NAIVE_EDF * NAIVE_BACKFILLS * NAIVE_PLACEMENTS };
struct replay_rules replay_rules_at(uint32_t number);
/* Returns whether the order depends on past usage or on finished jobs. */
bool replay_uses_history(struct replay_rules rules);
/* Returns whether the naive scheduler implements a value of the queue policy's parameter `order`. */
bool replay_has_order(const char *order);
/* Formats a combination, such as "fifo, easy, best-fit". Returns `buffer`, which must have at least 64 bytes. */
const char *replay_rules_text(struct replay_rules rules, char *buffer);

/* Starts are in microseconds since the first submit. The slots of a placement are sorted by unit. */
struct replay_outcome {
  struct naive_result result;
  uint32_t n_jobs;
  uint64_t digest; /* of Headroom's event log; 0 for the naive scheduler */
  bool failed;     /* Headroom's run failed with `error` */
  struct hr_error error;
};
void replay_outcome_finish(struct replay_outcome *outcome);

/* Returns the workload as a trace, to be destroyed by the caller. */
struct hr_trace *replay_trace(const struct replay_case *workload);
/* Returns the jobs of a trace, to be freed by the caller. They accept all pools. Classes, deadlines and names are not
   copied. */
struct replay_job *replay_jobs_of(const struct hr_trace *trace);

/* Run a workload by Headroom and by the naive scheduler. `trace`: the same workload as a trace. `check`: enables
   Headroom's checked mode. Free the outcome with replay_outcome_finish. */
struct replay_outcome replay_headroom(const struct hr_trace *trace, const struct replay_case *workload,
                                      struct replay_rules rules, bool check);
struct replay_outcome replay_naive(const struct replay_case *workload, struct replay_rules rules);

/* Returns the first job whose start or placement differs; HR_NONE: none. If a run failed, returns job 0. */
uint32_t replay_first_difference(const struct replay_outcome *a, const struct replay_outcome *b);
/* Prints the workload, the rules and both outcomes. */
void replay_print(const struct replay_case *workload, struct replay_rules rules, const struct replay_outcome *naive,
                  const struct replay_outcome *headroom);

#endif
