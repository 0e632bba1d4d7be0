/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_RANKS_H
#define HEADROOM_UNSTABLE_RANKS_H

/*
 * The ranks of an MPI job. mpirun starts one program as several processes, the ranks, which share the runs of a sweep,
 * a plan, a comparison or of replications. Every rank makes the same calls with the same input. The functions that make
 * runs (hr_sweep, hr_plan, hr_compare, hr_replicate) divide them among the ranks; rank 0 makes its share of the runs
 * too. Only rank 0 has output. Results do not depend on the number of ranks.
 *
 * MPI is initialized only if environment variables of the launcher show that the job has several ranks. So a single
 * process has no overhead and needs no MPI daemon. A build without MPI rejects jobs of several ranks.
 *
 * Use: join, then agree after each step that may fail on some ranks only, then leave. All functions except
 * hr_ranks_lead must be called by the thread that called hr_ranks_join.
 */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hr__ranks_start;
/* This process in its MPI job. A structure with all members 0 is a process without MPI. */
struct hr_ranks {
  int rank, size;                /* size is 0 or 1 if there is only one rank */
  bool failed;                   /* the ranks have agreed that one of them failed */
  struct hr__ranks_start *start; /* private: MPI is starting; NULL: it has started */
};

/* Whether this process should print results: true for rank 0, and without MPI. May be called before hr_ranks_join. */
HR_API bool hr_ranks_lead(void);
/* Whether a launcher has started this process, even as the only rank. May be called before hr_ranks_join. */
HR_API bool hr_ranks_launched(void);
/* Begins to initialize MPI if this process is one of several ranks. The caller can read its input meanwhile, because
   only the next call of a function below waits until MPI is initialized. `command` identifies the command: the first
   agreement returns HR_BAD_INPUT if it is not equal on all ranks. The caller must call hr_ranks_leave, even after an
   error. */
HR_API enum hr_status hr_ranks_join(struct hr_ranks *ranks, uint64_t command, struct hr_error *error);
/* Every rank passes its own `status` and `error`. Returns the same value on all ranks: the status of the first rank
   that failed. Rank 0 also gets the message of that rank. After a failure, the ranks do not communicate any more. */
HR_API enum hr_status hr_ranks_agree(struct hr_ranks *ranks, enum hr_status status, struct hr_error *error);
/* Returns HR_BAD_INPUT on all ranks if `number` is not equal on all ranks. `what` is the name of the number in the
   message: "rank 1 has other WHAT than rank 0". */
HR_API enum hr_status hr_ranks_same(struct hr_ranks *ranks, uint64_t number, const char *what, struct hr_error *error);
/* Waits for all ranks and ends MPI; it cannot be joined again. Returns on rank 0 the status of the first rank that
   failed, with its message, or `status`. Returns HR_OK on the other ranks, which have nothing to report. */
HR_API enum hr_status hr_ranks_leave(struct hr_ranks *ranks, enum hr_status status, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
