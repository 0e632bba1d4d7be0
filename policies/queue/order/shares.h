/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_ORDER_SHARES_H
#define HR_POLICIES_QUEUE_ORDER_SHARES_H

/*
 * Usage of accounts relative to their shares. An account is a tenant, or a user of a tenant if the trace has users.
 * Usage is GPU time that decays with a half-life h: usage dt ago counts 2^(-dt / h). All users of a tenant have equal
 * shares; tenants have the weights of their quotas.
 *
 * Usage is kept in closed form and scaled to a fixed time, as the sum of GPUs x (h / ln 2) x (x(end) - x(begin)) with
 * x(t) = 2^((t - moment) / h). The usage of an account that runs nothing is then constant while that of others grows,
 * and accounts compare as their decayed usages do. Without decay, x is time itself.
 *
 * Rules:
 *
 *   tree     Fair Tree (Slurm, fair_tree.html): siblings by usage / share, the smallest first, depth first; accounts
 * that are tied are one, and share their children. The factor is the rank from the end / number of accounts. classic
 * factor 2^(-U / S) (Slurm, multifactor priority plugin): S an account's share of the whole, U its effective usage, U =
 * own + (U of parent - own) x share among its siblings, all relative to the total usage.
 */

#include "policies/queue/dispatch.h"

#include <string.h>

enum hr__share_rule { HR__SHARE_TREE, HR__SHARE_CLASSIC };

struct hr__share_account {
  uint32_t parent;       /* HR_NONE: a tenant; its usage is that of all its jobs */
  int64_t running_milli; /* of GPUs */
  int64_t at_us;         /* the time of `usage`, which is scaled */
  double usage;
  double x_at;          /* x at that time */
  double weight;        /* among the accounts of one parent */
  double weights_below; /* sum over its users */
  double factor;        /* 0 to 1, 1 is best; as of the last update */
  double excess;        /* classic: U / S as of the last update; more precise than the factor near 0 and 1 */
};

struct hr__shares {
  enum hr__share_rule rule;
  double half_life_us; /* 0: no decay */
  int64_t moment_us;   /* to which usage is scaled */
  int64_t now_us;
  double x;                            /* as of now */
  const struct hr_quota_spec *weights; /* of tenants; NULL: all equal */
  struct hr__share_account *accounts;
  uint32_t count, capacity, n_tenants;
  double weights_of_tenants;
  struct hr__pair_map numbers;  /* (tenant, user); (tenant, HR_NONE) for the tenant itself */
  struct hr__standing_of *room; /* accounts that have jobs of their own, as last ranked */
  uint32_t room_capacity;
  struct hr__standing_of *risen; /* buffer of the ranking: those that may have passed others */
  uint32_t risen_capacity;
  uint32_t n_ranked, n_seen; /* in `room`; accounts seen by the last ranking */
};

/* Returns the job's account, created if needed; HR_NONE: out of memory. */
uint32_t hr__shares_account(struct hr__shares *shares, const struct hr__queue *queue, hr_job job);
/* Advances to `now_us`. To be called before all functions below. */
void hr__shares_advance(struct hr__shares *shares, int64_t now_us);
/* Adds to the thousandths of GPUs that an account runs on: positive when a job starts, negative when it stops. Brings
   the account's `usage` up to now. */
void hr__shares_add_running(struct hr__shares *shares, uint32_t account, int64_t milli);
/* Returns a key by which accounts compare under the rule; the smallest goes first. It distinguishes usages that differ
   by a millionth. Under `tree` it never decreases with time, unless `moment_us` changes. */
int64_t hr__shares_key(const struct hr__shares *shares, uint32_t account);
/* Computes all factors. */
void hr__shares_update(struct hr__shares *shares);

static inline void hr__shares_init(struct hr__shares *shares, enum hr__share_rule rule, int64_t half_life_us,
                                   const struct hr_quota_spec *weights) {
  *shares = (struct hr__shares){.rule = rule, .half_life_us = (double)half_life_us, .x = 1, .weights = weights};
}

/* Returns the weight of a tenant in the quotas; 1 by default. */
static inline double hr__tenant_weight(const struct hr_quota_spec *quotas, const struct hr_trace *trace,
                                       uint32_t tenant) {
  for (uint32_t i = 0; quotas && tenant != HR_NONE && i < quotas->n_nodes; i++)
    if (quotas->nodes[i].is_tenant && strcmp(quotas->nodes[i].name, trace->tenants.text[tenant]) == 0)
      return quotas->nodes[i].weight;
  return quotas && quotas->fallback.weight > 0 ? quotas->fallback.weight : 1;
}

#endif
