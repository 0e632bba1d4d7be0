/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_FAULTS_FAULTS_H
#define HR_SIM_FAULTS_FAULTS_H

/* The units that fail (faults.c), their random times (draws.c), and the accounts of their outages (outages.c). */

#include "base/containers.h"
#include "base/random.h"
#include "headroom/unstable/faults.h"

/* ---- Random times (draws.c) ---------------------------------------------------------------------------- */

/* How the life of a unit begins in the stationary state. */
struct hr__fault_start {
  bool is_down;
  int64_t rest_us;                     /* until the repair is complete, or until the first failure */
  const struct hr_fault_class *class_; /* of the repair; NULL: it is not down, or the lengths of repairs are recorded */
};

/* Draws from failure `number` of a unit, counted from 1. Each failure has separate draws, so the number of draws for
   one failure does not affect the next. `process_id` is different for each process of a run; `unit` counts within the
   process. */
struct hr__fault_draws {
  uint64_t seed;
  uint32_t process_id, unit;
};
/* Returns the time on the clock until failure `number`. `factor`: how often the unit fails, relative to others. */
int64_t hr__fault_between_us(const struct hr__fault_draws *draws, const struct hr_fault_process *process, double factor,
                             uint32_t number);
/* Returns the class of failure `number`, and stores the delays until it is detected, and from then until it is
   repaired. */
const struct hr_fault_class *hr__fault_class_draw(const struct hr__fault_draws *draws,
                                                  const struct hr_fault_process *process, uint32_t number,
                                                  int64_t *detect_us, int64_t *repair_us);
/* Returns whether the unit is down at the start of the run, and the remaining time until it is repaired or fails. The
   start of the run is a random time in an endless alternation of work and repair. */
struct hr__fault_start hr__fault_start_draw(const struct hr__fault_draws *draws, const struct hr_fault_process *process,
                                            double factor);
/* Returns how often the unit fails, relative to others: bad_factor with the probability bad_share, otherwise 1. */
double hr__fault_factor(const struct hr__fault_draws *draws, const struct hr_fault_process *process);

/* ---- Units -------------------------------------------------------------------------------------- */

struct hr__engine;
struct hr__running;

enum hr__unit_state { HR__UNIT_WORKS, HR__UNIT_FAILED, HR__UNIT_QUEUED, HR__UNIT_REPAIRED };

struct hr__fault_unit {
  int64_t due_us; /* time of its next failure, detection or end of repair; HR_NEVER_US: unknown */
  /* remaining time on its clock until it fails. Clock busy: as of `busy_us`. Clock up: set only while it works and its
     node is down for another reason; otherwise HR_NEVER_US */
  int64_t left_us;
  int64_t wall_us;   /* clock wall: time of its next failure, independent of its state */
  int64_t busy_us;   /* clock busy: time since which jobs run on it; HR_NEVER_US: no job runs */
  int64_t repair_us; /* how long the present repair takes */
  uint32_t failures; /* the number of the next failure, from 1 */
  uint32_t process;
  uint32_t first_node, n_nodes;
  uint32_t first_replay, n_replays; /* its recorded failures, in those of the process */
  uint32_t n_jobs;                  /* clock busy: number of pairs of a job and a node of the unit */
  uint8_t state;                    /* enum hr__unit_state */
  bool corrupts;                    /* its jobs continue, with corrupted results, until the failure is detected */
  bool is_drawn;                    /* the time of the next failure was drawn */
  uint32_t class_;                  /* of its last failure: index in the accounts of failures */
  int64_t down_since_us;            /* when its nodes went down */
};

struct hr__fault_group {
  const struct hr_fault_process *spec;
  hr_pool pool;
  uint32_t first_unit;
  struct hr_fault_units units;
  uint32_t first_class; /* the accounts of its classes in those of the run */
};

struct hr__fault_pool {
  uint32_t first_process, n_processes;
  uint32_t in_repair;
  bool is_elastic;
  bool counts_jobs;      /* some process has the clock `busy` */
  struct hr__fifo queue; /* uint32_t: units that wait for the repair crew */
  uint32_t n_down;       /* nodes of failed units, detected or not */
  int64_t touched_us;
};

struct hr__faults {
  struct hr__fault_group *processes;
  uint32_t n_processes, n_units;
  struct hr__fault_unit *units;
  struct hr__fault_pool *pools; /* by pool */
  uint16_t *down;               /* by node: number of its units with a detected failure */
  uint16_t *failed;             /* by node: number of its units that do not work */
};

/* ---- Accounts (outages.c) -------------------------------------------------------------------------------- */

/* Counts the nodes of a unit that fails or works again. */
void hr__faults_count_outage(struct hr__engine *engine, struct hr__fault_unit *unit, bool begins);
/* Counts a failure, which is of the class `class_` of its process. */
void hr__faults_count_failure(struct hr__engine *engine, struct hr__fault_unit *unit,
                              const struct hr_fault_class *class_);
/* Sets the class of the outage of a unit that is down at the start of the run. */
void hr__faults_set_class(const struct hr__engine *engine, struct hr__fault_unit *unit,
                          const struct hr_fault_class *class_);
/* Closes the accounts at the end of the run. */
void hr__faults_settle(struct hr__engine *engine);
/* Checks the invariants. */
enum hr_status hr__faults_check(const struct hr__engine *engine, const struct hr__running *running);

#endif
