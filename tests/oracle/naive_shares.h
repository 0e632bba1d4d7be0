/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_ORACLE_NAIVE_SHARES_H
#define HR_TESTS_ORACLE_NAIVE_SHARES_H

/*
 * Fair-share usage and factors for the naive scheduler (docs/reference/rules.md, `fair-share` and `multifactor`). Each
 * update sums the usage over all jobs that have started so far. All accounts are kept in tables by tenant and user.
 */

#include "naive.h"

/* A user of a tenant. User 0 has the jobs without a user. */
struct naive_account {
  uint32_t tenant, user;
};

/* The usage of all accounts at one time. Times and GPU times are in the unit of the jobs. */
struct naive_usage {
  bool known[NAIVE_MAX_TENANTS][NAIVE_MAX_USERS];             /* whether a job of the account has been submitted */
  double gpu_time[NAIVE_MAX_TENANTS][NAIVE_MAX_USERS];        /* decayed usage */
  bool underflowed[NAIVE_MAX_TENANTS][NAIVE_MAX_USERS];       /* the usage of a job is too small for a double */
  double usage_per_share[NAIVE_MAX_TENANTS][NAIVE_MAX_USERS]; /* usage divided by share (rule "classic") */
  double factor[NAIVE_MAX_TENANTS][NAIVE_MAX_USERS]; /* fair-share factor from 0 to 1; 1 is first in the queue */
  bool has_users;                                    /* whether any job of the trace has a user */
  /* all_gpus: GPUs of the cluster; highest_priority: maximum of all jobs of the trace, at least 0 */
  double all_gpus, highest_priority;
  int64_t time; /* when the usage was computed */
};

/* The starts of a run so far. */
struct naive_run_history {
  const struct naive_input *in;
  const uint32_t *admitted; /* jobs that have been submitted and not rejected */
  uint32_t n_admitted;
  const int64_t *start; /* by job; -1: not started */
  int64_t now;
};

struct naive_account naive_account_of(const struct naive_input *in, uint32_t job);
/* Computes all members except usage_per_share and factor. */
void naive_usage_compute(struct naive_usage *usage, const struct naive_run_history *history);
/* Compares two accounts by rule "tree": tenants by usage / weight, then users by usage. Returns -1 if a is first, 1 if
   b is first, 0 if the accounts are equal. Sets `*undecided` if rounding errors may decide the comparison. */
int naive_tree_compare(const struct naive_usage *usage, const struct naive_input *in, struct naive_account a,
                       struct naive_account b, bool *undecided);
/* Computes the factors of all accounts, by rule "tree" and by rule "classic". `*undecided` is set as by
   naive_tree_compare. */
void naive_tree_factors(struct naive_usage *usage, const struct naive_input *in, bool *undecided);
void naive_classic_factors(struct naive_usage *usage, const struct naive_input *in);
/* Compares two accounts by rule "classic": the account with the smaller usage per share, that is, with the greater
   factor, is first. The result and `*undecided` are those of naive_tree_compare. */
int naive_classic_compare(const struct naive_usage *usage, struct naive_account a, struct naive_account b,
                          bool *undecided);
/* Returns the weighted sum of the job's factors (age, fair share, size, priority), in millionths. The job with the
   greatest sum is first. */
int64_t naive_factor_sum(const struct naive_usage *usage, const struct naive_input *in, uint32_t job);

#endif
