/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_DEADLINE_DEADLINES_H
#define HR_POLICIES_DEADLINE_DEADLINES_H

/* Market rules by deadline: each job acquires its own nodes, and releases them when it ends or changes to other nodes.
   Sources and rules: see deadlines.c. */

#include "policies/queue/market/market.h"

/* Creates queue->deadlines, which then replaces the order and the backfill. HR_BAD_INPUT if the rule does not support
   the scenario. */
enum hr_status hr__deadlines_create(struct hr__queue *queue, enum hr__market_rule rule, int64_t changeover_us,
                                    struct hr_error *error);
/* Updates the state after an event. Called instead of the notifications of queue modules. */
enum hr_status hr__deadlines_observe(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event);
/* Writes the reason why a job waits. */
void hr__deadlines_explain(const struct hr__queue *queue, const struct hr_view *view, hr_job job,
                           struct hr_wait_reason *wait);
/* Acquires and releases nodes, and starts and stops jobs. Called instead of the order and the backfill. */
enum hr_status hr__deadlines_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);

/* One step of the itinerary of a job under `omniscient`. */

struct hr__itinerary_step {
  int64_t at_us;
  uint32_t pool; /* the pool to use from `at_us` on; HR_NONE: none */
};
struct hr__itinerary {
  struct hr__itinerary_step *steps;
  uint32_t n_steps;
};

/* Computes the cheapest itinerary that begins at `from_us` and meets the job's deadline. The steps are allocated in the
   arena; n_steps is 0 if the deadline cannot be met. HR_BAD_INPUT if the spot capacity of a pool is not recorded, or if
   the search would be too large, because the greatest common divisor of all times is too small. */
enum hr_status hr__itinerary_make(struct hr__queue *queue, hr_job job, int64_t from_us, int64_t changeover_us,
                                  struct hr__itinerary *itinerary, struct hr_error *error);

#endif
