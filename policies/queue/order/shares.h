/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_ORDER_SHARES_H
#define HR_POLICIES_QUEUE_ORDER_SHARES_H

/*
 * Usage of accounts relative to their shares. An account is a tenant, or a user of a tenant if the trace has users.
 * Usage is GPU time that decays with a half-life h: usage at an age of dt is multiplied by 2^(-dt / h). All users of a
 * tenant have equal shares; shares of tenants are the weights of their quotas.
 *
 * Representation: usage is scaled to a time `moment`, which rarely changes. Let x(t) = 2^((t - moment) / h). For a
 * period from `begin` to `end` in which an account uses a constant number of GPUs, its scaled usage increases by GPUs x
 * (h / ln 2) x (x(end) - x(begin)). It is constant while the account has no running jobs. The scaled usages of all
 * accounts differ from their decayed usages by the same factor, so they have the same order. Without decay, scaled
 * usage increases by GPUs x (end - begin).
 *
 * Rules:
 *
 *   tree      Fair Tree (Slurm, fair_tree.html): accounts are ranked depth first. The children of an account are sorted
 *             by usage / share, the smallest first. Accounts with equal values are treated as one account that has the
 *             children of all of them. The factor of an account is its rank, counted from the last account, divided by
 *             the number of accounts.
 *   classic   The factor is 2^(-U / S) (Slurm, multifactor priority plugin). S is the account's share of the cluster. U
 *             is its effective usage: own usage + (U of the parent - own usage) x (share among the children of the
 *             parent), all relative to the total usage.
 */

#include "policies/queue/dispatch.h"

#include <string.h>

/* The rules `tree` and `classic`, see above. */
enum hr__share_rule { HR__SHARE_TREE, HR__SHARE_CLASSIC };

/* A tenant or a user of a tenant. */
struct hr__share_account {
  /* the tenant of a user; HR_NONE: the account is a tenant, and its usage includes that of all its users */
  uint32_t parent;
  int64_t running_milli; /* GPUs of running jobs, in thousandths of a GPU */
  int64_t at_us;         /* time up to which `usage` includes the running jobs */
  double usage;
  double x_at; /* x at the time `at_us` */
  /* the account's share is proportional to its weight, relative to the other accounts with the same parent */
  double weight;
  double weights_below; /* sum of the weights of its users */
  double factor;        /* 0 to 1, larger is better; as of the last update */
  double excess;        /* for `classic`: U / S as of the last update; more precise than a factor near 0 or 1 */
};

/* The usage of all accounts. */
struct hr__shares {
  enum hr__share_rule rule;
  double half_life_us; /* 0: no decay */
  int64_t moment_us;   /* time to which usage is scaled */
  int64_t now_us;
  double x;                            /* x at the current time */
  const struct hr_quota_spec *weights; /* weights of tenants; NULL: all equal */
  struct hr__share_account *accounts;
  uint32_t count, capacity, n_tenants;
  double weights_of_tenants;
  /* index of the account of (tenant, user), or of (tenant, HR_NONE) for the tenant itself */
  struct hr__pair_map numbers;
  struct hr__standing_of *ranking; /* last ranking of the accounts to which jobs are directly assigned */
  uint32_t ranking_capacity;
  struct hr__standing_of *risen; /* buffer of the ranking: accounts that may have changed their position */
  uint32_t risen_capacity;
  /* n_ranked: number of accounts in `ranking`; n_seen: value of `count` at the last ranking */
  uint32_t n_ranked, n_seen;
};

/* Returns the index of the job's account, created if needed; HR_NONE: out of memory. */
uint32_t hr__shares_account(struct hr__shares *shares, const struct hr__queue *queue, hr_job job);
/* Advances the time to `now_us`. Call this before the functions below are called at a new time. */
void hr__shares_advance(struct hr__shares *shares, int64_t now_us);
/* Adds `milli` to the GPUs of the account's running jobs, in thousandths of a GPU. `milli` is positive when a job
   starts, and negative when it stops. Updates the account's `usage` to the current time. */
void hr__shares_add_running(struct hr__shares *shares, uint32_t account, int64_t milli);
/* Returns the key by which accounts are compared under the rule; the smallest key is first. Usages with a relative
   difference of more than a millionth have different keys. Under `tree` the key of an account never decreases while
   `moment_us` is unchanged. */
int64_t hr__shares_key(const struct hr__shares *shares, uint32_t account);
/* Computes the factors of all accounts. */
void hr__shares_update(struct hr__shares *shares);

/* Initializes the shares. The list of accounts is empty at first. */
static inline void hr__shares_init(struct hr__shares *shares, enum hr__share_rule rule, int64_t half_life_us,
                                   const struct hr_quota_spec *weights) {
  *shares = (struct hr__shares){.rule = rule, .half_life_us = (double)half_life_us, .x = 1, .weights = weights};
}

#endif
