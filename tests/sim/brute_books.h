/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_SIM_BRUTE_BOOKS_H
#define HR_TESTS_SIM_BRUTE_BOOKS_H

/* A second implementation of the cost rules in docs/planner/costs.md. It computes all accounts after the run, by
   examining every interval in which neither the price nor the month changes. It shares no code with the ledger
   (sim/accounting/ledger.c) and is not optimized. */

#include "headroom/sim.h"

enum {
  BRUTE_POOLS = 4,
  BRUTE_TENANTS = 5, /* the last index is used for jobs without a tenant */
  BRUTE_MONTHS = 16,
  BRUTE_JOBS = 40,
  BRUTE_SESSIONS = 1000,
  BRUTE_USES = 4000
};

/* One session of a node of an elastic pool: from its launch to its end or to the end of the run. */
struct brute_session {
  uint32_t pool;
  int64_t from_us, to_us;
  bool reclaimed;
};

/* The GPUs of a job on one node. If the placement has no slices, and so no specific nodes: all GPUs of the job. */
struct brute_use {
  uint32_t job, pool, gpu_milli;
  uint32_t session; /* index in `sessions`; HR_NONE if the pool is not elastic */
  int64_t from_us, to_us;
};

struct brute_log {
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  int64_t end_us;
  struct brute_session sessions[BRUTE_SESSIONS];
  struct brute_use uses[BRUTE_USES];
  uint32_t n_sessions, n_uses;
};

struct brute_account {
  hr_amount amount, gpu_time;
};

struct brute_books {
  struct brute_account accounts[BRUTE_POOLS][BRUTE_TENANTS][HR_N_CLASSES][BRUTE_MONTHS];
  struct hr_pool_account pools[BRUTE_POOLS];
  hr_amount jobs[BRUTE_JOBS];
};

void brute_count(const struct brute_log *log, struct brute_books *books);

#endif
