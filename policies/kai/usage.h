/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KAI_USAGE_H
#define HR_POLICIES_KAI_USAGE_H

/*
 * Past usage of queues, for KAI's time-based fair share.
 *
 * The usage of a queue is its integral of allocated resources over the window, divided by the integral of what the
 * cluster had. With a half-life, older parts of both integrals count less. KAI reads it from a database of metrics
 * each `fetch_interval`; so it changes only at multiples of the interval.
 */

#include "policies/kai/world.h"

/* A time from which an amount stays the same. */
struct hr__kai_piece {
  int64_t from_us;
  double integral; /* of the amounts before, as of `from_us`, in amounts times us */
  double amount;
};

/* The pieces of one amount that the window still needs, oldest first. */
struct hr__kai_history {
  struct hr__kai_piece *pieces;
  uint32_t first, end, capacity;
};

struct hr__kai_past {
  struct hr__kai_world *world;
  struct hr_kai_usage rules;
  struct hr__kai_history *queues;                     /* [n_queues * HR__KAI_RESOURCES] */
  struct hr__kai_history capacity[HR__KAI_RESOURCES]; /* of the cluster */
  int64_t recorded_us;                                /* the last time at which amounts could change */
  int64_t fetched_us;                                 /* when usage was read last */
  bool changed;                                       /* usage has changed since the caller set this member to false */
};

/* Prepares the histories. False: out of memory. */
bool hr__kai_past_create(struct hr__kai_past *past, struct hr__kai_world *world, const struct hr_kai_usage *rules);
/* Sets the time, before anything changes at this time. Reads the usage if an interval has passed.
   False: out of memory. */
bool hr__kai_past_advance(struct hr__kai_past *past, int64_t now_us);

#endif
