/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_ORACLE_NAIVE_GPUS_ENGINE_H
#define HR_TESTS_ORACLE_NAIVE_GPUS_ENGINE_H

/* The state of a run of the naive scheduler for GPUs, shared by its parts: naive_gpus.c has the engine and the passes,
   naive_gpus_plan.c conservative backfill and preemption, naive_gpus_market.c elastic nodes. */

#include "naive_gpus_state.h"

#define NAIVE_NEVER INT64_MAX

enum { NAIVE_ALL_POOLS = (1 << NAIVE_GPUS_POOLS) - 1 };

enum naive_phase { NAIVE_ABSENT, NAIVE_WAITING, NAIVE_RUNNING, NAIVE_ENDED };

/* `done`: work that earlier attempts have kept. `start`: of the current attempt. */
struct naive_live {
  enum naive_phase phase;
  int64_t start, done, waiting_since;
  struct naive_seat seat;
};

/* A node of an elastic pool. `idle_number` orders nodes that have been idle since the same time. */
struct naive_elastic {
  bool booting;
  int64_t boots_at, idle_since;
  int idle_number;
};

enum { NAIVE_TIMERS = 4000 };

/* Times at which a pass takes place although no job or node changes. Future times are not removed, even if they no
   longer matter. `protected`: ends of the times in which jobs may not be stopped. `timer`: the scheduled passes.
   `wake`: the time of the last pass that the market rule scheduled. */
struct naive_timers {
  int n_protected, n_timers;
  int64_t protected[NAIVE_TIMERS], timer[NAIVE_TIMERS], wake;
};

struct naive_engine {
  const struct naive_gpus_input *in;
  struct naive_gpus_result *out;
  int64_t now;
  struct naive_state state;
  struct naive_live job[NAIVE_GPUS_JOBS];
  long used[NAIVE_GPUS_TENANTS]; /* milli-GPUs that running jobs request, by tenant */
  struct naive_elastic node[NAIVE_GPUS_NODES];
  struct naive_timers *timers;
  bool retries; /* the only reason not to stop some job was that it started at this instant */
  bool changed; /* a job began to wait or has left, or a node or an offer changed, at this instant */
  /* time of a pass that considers again the jobs that could not be moved to spot nodes because they had just started;
     NAIVE_NEVER: no such jobs */
  int64_t returns_at;
  int n_idled;                      /* the next idle_number */
  int step[NAIVE_GPUS_POOLS];       /* the present entry of the levels */
  int64_t stable[NAIVE_GPUS_POOLS]; /* time from which the pool has been available; NAIVE_NEVER: it is not available */
  int n_returning, returning[NAIVE_GPUS_JOBS];
  int n_demands, demand[NAIVE_GPUS_JOBS]; /* by demand: a job with its request */
};

/* ---- naive_gpus.c ---- */

/* Lists the waiting jobs in order. Returns their number. */
int naive_in_order(const struct naive_engine *e, int *jobs);
/* naive_precedes returns whether a precedes b in the order; naive_has_greater_key returns whether the key of b is
   greater than the key of a. */
bool naive_precedes(const struct naive_engine *e, int a, int b);
bool naive_has_greater_key(const struct naive_engine *e, int a, int b);
/* Returns whether two jobs have equal requests and constraints. */
bool naive_same_request(const struct naive_engine *e, int a, int b);
/* Returns whether the topology constraint is still required at a time. */
bool naive_is_required(const struct naive_engine *e, int job, int64_t at);
/* Adds a time to a list of struct naive_timers. Removes the times of the list that are not after the present time. */
void naive_add_time(const struct naive_engine *e, int64_t *times, int *count, int64_t at);
/* Finds a placement in the present state. Returns false if the job does not fit. */
bool naive_find(const struct naive_engine *e, int job, struct naive_seat *seat);
/* Starts a job, or stops it so that it waits again. */
void naive_start(struct naive_engine *e, int job, const struct naive_seat *seat);
void naive_stop(struct naive_engine *e, int job, bool keeps);
/* Moves a running job to another placement, with its work kept. */
void naive_move(struct naive_engine *e, int job, const struct naive_seat *seat);
/* Return the limit of a job, the expected end of a running job, and the milli-GPUs that a job requests. */
int64_t naive_limit(const struct naive_engine *e, int job);
int64_t naive_expected_end(const struct naive_engine *e, int job);
long naive_milli(const struct naive_engine *e, int job);

/* Quotas. Return whether the quota of the job's tenant admits the job, and whether the job stays within the tenant's
   guarantee. */
bool naive_quota_allows(const struct naive_engine *e, int job);
bool naive_is_guaranteed(const struct naive_engine *e, int job);

/* ---- naive_gpus_plan.c ---- */

void naive_conservative_pass(struct naive_engine *e);
/* Tries waiting jobs in order, and stops running jobs for them. `guaranteed_only`: only for jobs within the guarantees
   of their tenants. */
void naive_preemption_pass(struct naive_engine *e, bool guaranteed_only);

/* ---- naive_gpus_market.c ---- */

void naive_market_init(struct naive_engine *e);
/* Applies the changes of nodes at the present time: nodes leave, then nodes arrive. */
void naive_market_advance(struct naive_engine *e);
void naive_market_pass(struct naive_engine *e);
void naive_market_job_waits(struct naive_engine *e, int job);
void naive_market_job_starts(struct naive_engine *e, int job);
void naive_market_job_leaves(struct naive_engine *e, int job, const struct naive_seat *seat);
/* Returns the next time at which nodes change or the market rule acts. Only boots may end at the present time;
   everything else is later. */
int64_t naive_market_next(const struct naive_engine *e);

#endif
