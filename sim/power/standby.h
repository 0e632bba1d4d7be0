/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_POWER_STANDBY_H
#define HR_SIM_POWER_STANDBY_H

/*
 * Nodes that take no jobs because of their power: they sleep (standby.c), or the power budget of the cluster does not
 * permit that they work (budget.c).
 */

#include "sim/engine/engine.h"
#include "sim/power/power.h"

/* The mode of a node. A held node is closed and has no jobs, so it draws the power of an idle node. */
enum standby_mode { STANDBY_NONE, STANDBY_FALLING, STANDBY_ASLEEP, STANDBY_WAKING, STANDBY_HELD };

struct standby_node {
  int64_t due_us; /* awake: when it falls asleep if it is still idle; falling or waking: when this ends */
  uint8_t mode;   /* enum standby_mode */
};

struct standby_pool {
  const struct hr_power_sleep *sleep; /* NULL: its nodes do not sleep */
  uint32_t n_in[STANDBY_HELD + 1];    /* number of nodes in each mode except STANDBY_NONE */
  uint64_t room_milli;                /* scratch of a search: free GPUs on idle nodes and on those that boot */
  bool is_wanted;                     /* a job waits that accepts the pool and is not held by a rule */
  bool is_refused;                    /* the budget did not permit to wake a node after the last pass */
  bool has_demand;                    /* budget: some job waits and accepts the pool */
  int64_t busy_nw;                    /* budget: maximum additional power of a milli-GPU when it works */
  /* budget: maximum additional power of a node: when it is woken, when it has booted and works, and when it is repaired
     and idle */
  int64_t wake_nw, booted_nw, repaired_nw;
};

struct hr__standby {
  struct standby_node *nodes; /* by node */
  struct standby_pool *pools; /* by pool */
  hr_job *waiting;            /* [n_waiting] */
  uint32_t *place;            /* by job: index in `waiting` + 1; 0: not waiting */
  uint32_t n_waiting, capacity, n_asleep, n_held;
  bool lacks_memory;
  enum hr_status status; /* of a search; HR_OK until an error */
  int64_t budget_nw;     /* 0: none */
  bool caps;             /* GPUs become slower when the budget binds */
  int64_t touched_us;
  int64_t turn_us; /* instant at which there were `turns` passes after which jobs waited and none ran */
  uint32_t turns;
  uint32_t bound_jobs; /* number of jobs that wait since touched_us while nodes are held; 0: the budget has no effect */
};

/* Returns whether the job accepts the pool and is placed there: a job that fits on one node of some pool always is.
   hr__standby_set_mode changes the mode of a node, and the counts of its pool (standby.c). */
bool hr__standby_suits(const struct hr__engine *engine, hr_job job, hr_pool pool);
void hr__standby_set_mode(struct hr__engine *engine, hr_node node, enum standby_mode mode);

/* meter.c: hr__power_busy_milli returns the milli-GPUs of a pool that jobs use, and the least power that they take.
   hr__power_at_level returns the power of all pools if the power limits had this level. hr__power_set_level changes the
   level; the caller then changes the speeds of the jobs. */
int64_t hr__power_busy_milli(const struct hr__engine *engine, hr_pool pool, int64_t *taken_nw);
int64_t hr__power_at_level(const struct hr__engine *engine, uint32_t level);
enum hr_status hr__power_set_level(struct hr__engine *engine, uint32_t level);

/* ---- budget.c ---- */
enum hr_status hr__budget_init(struct hr__engine *engine);
/* Closes idle nodes, or opens held ones, so that the budget suffices even if all free GPUs of open nodes get jobs. */
enum hr_status hr__budget_apply(struct hr__engine *engine);
/* After a pass: requests another pass at this instant if a held node could be opened for waiting jobs. */
enum hr_status hr__budget_after(struct hr__engine *engine);
/* Whether a node of the pool may wake up. */
bool hr__budget_lets_wake(const struct hr__engine *engine, hr_pool pool);
void hr__budget_settle(struct hr__engine *engine);
enum hr_status hr__budget_check(const struct hr__engine *engine);

#endif
