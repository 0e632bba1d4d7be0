/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_HISTORY_H
#define HEADROOM_HISTORY_H

/*
 * All that happened to jobs and nodes in a run, kept for who looks at it afterwards: a page, a viewer of traces, an
 * explanation. A fold fills it; 80 bytes an attempt, 24 more a slice.
 */

#include "headroom/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a stay on GPUs ended. */
enum hr_attempt_end {
  HR_ATTEMPT_RUNNING,     /* not yet, as the run ended first; `end_us` is the run's end */
  HR_ATTEMPT_COMPLETED,   /* the job's work was done */
  HR_ATTEMPT_INTERRUPTED, /* it lost its place; end_reason says to what */
  HR_ATTEMPT_PREEMPTED    /* the policy stopped it */
};

/* One stay of a job on its GPUs, from a start to whatever ended it. */
struct hr_attempt {
  hr_job job;
  hr_pool pool;
  uint32_t number;    /* of the job's attempts, from 0 */
  uint32_t previous;  /* the place of the job's attempt before this one; HR_NONE: it is the first */
  uint32_t gpu_milli; /* GPUs held, in thousandths */
  uint32_t n_slices;  /* on nodes; none: only counted in the pool */
  uint32_t first_slice;
  uint8_t end;                      /* enum hr_attempt_end */
  uint8_t start_reason, end_reason; /* enum hr_reason */
  int64_t begin_us, end_us;
  /* What became of the time: these sum to end_us - begin_us. */
  int64_t kept_us, lost_us, saving_us, restarting_us;
};

/* What happened to a node, or to what can be had of a pool. */
struct hr_node_change {
  int64_t at_us;
  hr_node node; /* HR_NONE of offers */
  hr_pool pool;
  uint32_t offer;       /* of offers: nodes that could be had or were up, from now on */
  uint8_t kind, reason; /* enum hr_event_kind: node-down, notice, offer, node-up, acquire, release; enum hr_reason */
};

struct hr_history;
/* NULL when out of memory. `trace` must outlive it. */
HR_API struct hr_history *hr_history_create(const struct hr_trace *trace);
HR_API void hr_history_destroy(struct hr_history *history);
/* To be given to a run, once. */
HR_API struct hr_fold hr_history_fold(struct hr_history *history);
/* Ends what still runs at the run's end. HR_NO_MEMORY if something was lost. To be done once, before anything is asked.
 */
HR_API enum hr_status hr_history_close(struct hr_history *history, const struct hr_result *result);

/* After the close; owned by the history. Attempts are in the order of their starts. */
HR_API size_t hr_history_attempts(const struct hr_history *history, const struct hr_attempt **attempts);
HR_API const struct hr_slice *hr_history_slices(const struct hr_history *history, const struct hr_attempt *attempt);
HR_API size_t hr_history_changes(const struct hr_history *history, const struct hr_node_change **changes);
/* The place of the job's last attempt; HR_NONE: it never started. */
HR_API uint32_t hr_history_last(const struct hr_history *history, hr_job job);
/* The last instant of the run. */
HR_API int64_t hr_history_end_us(const struct hr_history *history);

#ifdef __cplusplus
}
#endif
#endif
