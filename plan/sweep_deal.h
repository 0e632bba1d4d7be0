/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_SWEEP_DEAL_H
#define HR_PLAN_SWEEP_DEAL_H

/* Who makes the runs of a sweep: threads of this process, or the ranks of an MPI job, of which the first only deals. */

#include "plan/sweep.h"

struct hr__deal {
  const struct hr__sweep *sweep;
  const uint64_t *runs; /* to be made, in this order */
  size_t n_runs;
  uint32_t n_threads;
  /* What becomes of a run's record; called by one thread at a time, in the order in which runs end. */
  void *self;
  enum hr_status (*keep)(void *self, const struct hr__record *record, struct hr_error *error);
};

/* Of runs that fail, the first by number is told; those before it were kept. */
enum hr_status hr__deal_on_threads(const struct hr__deal *deal, struct hr_error *error);

/* ---- Ranks ------------------------------------------------------------------------------------------ */

/* The job that this process is a rank of; alone, unless it was started as one of several. */
struct hr__ranks {
  int rank, size;
};

/* To be left again whatever comes of it. MPI is begun only where there is a job of several. */
enum hr_status hr__ranks_join(struct hr__ranks *ranks, struct hr_error *error);
void hr__ranks_leave(struct hr__ranks *ranks);
/* Whether this process is its job's first, by what its launcher left in the environment. */
bool hr__ranks_first(void);

/* What the ranks have in common of what they did: the status of the first that failed, whose words the first rank gets;
   of the others only the status is told. All ranks call it, with their own in `status` and `error`. */
enum hr_status hr__ranks_agree(const struct hr__ranks *ranks, enum hr_status status, struct hr_error *error);
/* HR_BAD_INPUT where the ranks' numbers are not all the same. */
enum hr_status hr__ranks_same(const struct hr__ranks *ranks, uint64_t number, struct hr_error *error);

/* By the first rank; the others are in hr__ranks_work until it returns. They get as many runs at a time as they have
   threads. */
enum hr_status hr__deal_on_ranks(const struct hr__ranks *ranks, const struct hr__deal *deal, struct hr_error *error);
enum hr_status hr__ranks_work(const struct hr__ranks *ranks, const struct hr__sweep *sweep, uint32_t n_threads,
                              struct hr_error *error);

#endif
