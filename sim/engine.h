/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_ENGINE_H
#define HR_SIM_ENGINE_H

/* All state of one run, and the parts of the engine that work on it. */

#include "headroom/sim.h"
#include "sim/arena.h"
#include "sim/cluster.h"
#include "sim/event_heap.h"

/* Where a running job sits. One slice, by far the most common, is kept in place. */
struct hr__seat {
  uint32_t first; /* no slice: the pool; one: the node; more: where they stand in the slice store */
  uint32_t n_slices;
};

/* Blocks of slices of gangs that span nodes, by size class: a block of class k holds 2^k slices. */
enum { HR__SLICE_CLASSES = 32 };
struct hr__slice_store {
  struct hr_slice *slices;
  uint32_t count, capacity;
  uint32_t free_block[HR__SLICE_CLASSES]; /* first free block + 1; the next one's place + 1 stands in its node */
};

enum hr__move_kind { HR__MOVE_START, HR__MOVE_REJECT, HR__MOVE_WAKE };

struct hr__move {
  enum hr__move_kind kind;
  enum hr_reason reason;
  hr_job job;
  int64_t at_us; /* of a wake-up */
};

struct hr_plan {
  struct hr__engine *engine;
  struct hr__move *moves;
  uint32_t n_moves, capacity;
  enum hr_status status; /* of the first move that was refused */
};

struct hr__engine {
  const struct hr_run_config *config;
  const struct hr_trace *trace;
  struct hr_arena arena;
  struct hr_cluster cluster;
  struct hr__event_heap heap; /* ends of running jobs, wake-ups */
  uint32_t cursor;            /* the next job to arrive */
  struct hr_view view;
  struct hr_plan plan;
  void *policy;
  struct hr_error *error;

  uint8_t *state, *reason; /* by job: enum hr_job_state, enum hr_reason */
  int64_t *start_us;       /* by job */
  struct hr__seat *seat;   /* by job, while it runs */
  struct hr__slice_store store;

  uint64_t n_submitted, n_completed, n_rejected, n_backfilled, n_events, n_passes;
  int64_t last_us; /* the last instant at which something happened */
  uint64_t digest;
};

/* seats.c */
enum hr_status hr__seat_keep(struct hr__engine *engine, hr_job job, const struct hr_placement *placement);
/* The placement of a running job; `one` is where a single slice is written. Valid until the next seat is kept. */
struct hr_placement hr__seat_placement(const struct hr__engine *engine, hr_job job, struct hr_slice *one);
void hr__seat_drop(struct hr__engine *engine, hr_job job);

/* plan.c */
void hr__plan_clear(struct hr_plan *plan);

/* check.c: the whole state against itself; HR_INTERNAL and the error's text when something does not hold. */
enum hr_status hr__check_state(const struct hr__engine *engine, bool every_job);

static inline uint64_t hr__job_gpu_milli(const struct hr_trace *trace, hr_job job) {
  return (uint64_t)trace->gpus[job.id] * 1000;
}

#endif
