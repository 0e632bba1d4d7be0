/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_ORACLE_NAIVE_SHARES_H
#define HR_TESTS_ORACLE_NAIVE_SHARES_H

/* Usage relative to shares for the naive scheduler: summed over all jobs that ever ran, for every query. */

#include "naive.h"

struct naive_account {
  uint32_t tenant, user; /* user 0: jobs without one, or all where no job has one */
};

/* As of one moment. */
struct naive_uses {
  bool known[NAIVE_MAX_TENANTS][NAIVE_MAX_USERS]; /* accounts that have had a job by then */
  double used[NAIVE_MAX_TENANTS][NAIVE_MAX_USERS];
  bool lost[NAIVE_MAX_TENANTS][NAIVE_MAX_USERS];     /* so faded that a double may not hold it */
  double excess[NAIVE_MAX_TENANTS][NAIVE_MAX_USERS]; /* classic: U / S */
  double factor[NAIVE_MAX_TENANTS][NAIVE_MAX_USERS];
  bool tells_users;
  double all_gpus, highest_priority; /* of the cluster, of all jobs */
  int64_t when;
};

/* What has happened: jobs that have been submitted and were not rejected, and when each started, -1 if it did not. */
struct naive_past {
  const struct naive_input *in;
  const uint32_t *heard;
  uint32_t n_heard;
  const int64_t *start;
  int64_t now;
};

struct naive_account naive_account_of(const struct naive_input *in, uint32_t job);
void naive_uses_sum_up(struct naive_uses *uses, const struct naive_past *past);
/* Down the tree; 0: equal. `unsure` becomes true when that cannot be told. */
int naive_tree_compare(const struct naive_uses *uses, const struct naive_input *in, struct naive_account a,
                       struct naive_account b, bool *unsure);
/* Fills in the factors of all accounts. */
void naive_tree_factors(struct naive_uses *uses, const struct naive_input *in, bool *unsure);
void naive_classic_factors(struct naive_uses *uses, const struct naive_input *in);
/* By factors 2^(-U / S), the greatest first, so by U / S, the least first; 0: equal. `unsure` as above. */
int naive_classic_compare(const struct naive_uses *uses, struct naive_account a, struct naive_account b, bool *unsure);
/* The weighted sum of factors, in millionths. */
int64_t naive_sum_of_factors(const struct naive_uses *uses, const struct naive_input *in, uint32_t job);

#endif
