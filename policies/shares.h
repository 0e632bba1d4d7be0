/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_SHARES_H
#define HR_POLICIES_SHARES_H

/*
 * Who has used how much of what is due to him. An account is a tenant, or a user of a tenant where the trace tells
 * users; its usage is GPU-time that fades with a half-life, worked out in closed form: what was used dt ago counts
 * 2^(-dt / half-life). All users of a tenant have equal shares, tenants have those that their quotas' weights say.
 *
 * Factors and ranks are worked out every `period_us`, as Slurm does (multifactor priority plugin: PriorityCalcPeriod):
 *
 *   tree     Fair Tree: siblings are ranked by share / usage, the greatest first, depth first; ties are one, and share
 *            their children. The factor is rank from the end / number of accounts.
 *   classic  factor 2^(-U / S): S an account's share of the whole, U its effective usage, U = own + (U of parent - own)
 * x share among its siblings, all as parts of the total usage.
 */

#include "policies/queue.h"

enum hr__share_rule { HR__SHARE_TREE, HR__SHARE_CLASSIC };

struct hr__account {
  uint32_t parent;       /* HR_NONE: a tenant */
  uint32_t running_gpus; /* of accounts that have jobs */
  int64_t at_us;         /* when `usage` was true */
  double usage;          /* GPUs x microseconds */
  double weight;         /* among those of one parent */
  double factor;         /* 0 to 1, 1 the best */
  int64_t rank;          /* the least is the best; equal when tied */
};

struct hr__shares {
  enum hr__share_rule rule;
  int64_t half_life_us; /* 0: nothing fades */
  int64_t period_us, next_us;
  const struct hr_quota_spec *weights; /* of tenants; NULL: all equal */
  struct hr__account *accounts;
  uint32_t count, capacity, n_tenants;
  struct hr__pair_map numbers; /* (tenant, user); (tenant, HR_NONE) of the tenant itself */
  struct hr__standings *room;  /* for all accounts, while they are ranked */
  uint32_t room_capacity;
};

void hr__shares_init(struct hr__shares *shares, enum hr__share_rule rule, int64_t half_life_us, int64_t period_us,
                     const struct hr_quota_spec *weights);
/* What the quotas say of a tenant, 1 when nothing. */
double hr__tenant_weight(const struct hr_quota_spec *quotas, const struct hr_trace *trace, uint32_t tenant);
/* The job's account, made when it is not there yet; HR_NONE: out of memory. */
uint32_t hr__shares_account(struct hr__shares *shares, const struct hr__queue *queue, hr_job job);
/* A job of the account starts (more GPUs) or stops (fewer). */
void hr__shares_run(struct hr__shares *shares, uint32_t account, int64_t gpus, int64_t now_us);
/* Usage as of now. */
double hr__shares_usage(const struct hr__shares *shares, uint32_t account, int64_t now_us);
/* Works factors and ranks out if it is time; whether it was. */
bool hr__shares_update(struct hr__shares *shares, int64_t now_us);

#endif
