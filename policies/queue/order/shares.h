/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_ORDER_SHARES_H
#define HR_POLICIES_QUEUE_ORDER_SHARES_H

/*
 * Who has used how much of what is due to him. An account is a tenant, or a user of a tenant where the trace tells
 * users. Usage is GPU-time that fades with a half-life h: what was used dt ago counts 2^(-dt / h). All users of a
 * tenant have equal shares, tenants have those that their quotas' weights say.
 *
 * Usage is kept in closed form and scaled to a fixed moment, as the sum of GPUs x (h / ln 2) x (x(end) - x(begin)) with
 * x(t) = 2^((t - moment) / h): so the usage of who runs nothing stands still while that of others grows, and accounts
 * compare as their faded usages do. Without fading x is time itself.
 *
 * Two rules say who is better off:
 *
 *   tree     Fair Tree (Slurm, fair_tree.html): siblings by usage / share, the least first, depth first; accounts that
 *            are tied are one, and share their children. The factor is the rank from the end / number of accounts.
 *   classic  factor 2^(-U / S) (Slurm, multifactor priority plugin): S an account's share of the whole, U its effective
 *            usage, U = own + (U of parent - own) x share among its siblings, all as parts of the total usage.
 */

#include "policies/queue/dispatch.h"

#include <string.h>

enum hr__share_rule { HR__SHARE_TREE, HR__SHARE_CLASSIC };

struct hr__share_account {
  uint32_t parent;       /* HR_NONE: a tenant, whose usage is that of all its jobs */
  int64_t running_milli; /* of GPUs */
  int64_t at_us;         /* when `usage`, scaled, was true */
  double usage;
  double x_at;          /* x at that time */
  double weight;        /* among those of one parent */
  double weights_below; /* of those whose parent it is */
  double factor;        /* 0 to 1, 1 the best; as of the last update */
  double excess;        /* classic: U / S, of which the factor holds the less the nearer it is to 0 or 1; likewise */
};

struct hr__shares {
  enum hr__share_rule rule;
  double half_life_us; /* 0: nothing fades */
  int64_t moment_us;   /* that usage is scaled to */
  int64_t now_us;
  double x;                            /* now */
  const struct hr_quota_spec *weights; /* of tenants; NULL: all equal */
  struct hr__share_account *accounts;
  uint32_t count, capacity, n_tenants;
  double weights_of_tenants;
  struct hr__pair_map numbers;  /* (tenant, user); (tenant, HR_NONE) of the tenant itself */
  struct hr__standing_of *room; /* all that have jobs of their own, as they were ranked last */
  uint32_t room_capacity;
  struct hr__standing_of *risen; /* likewise, while they are ranked: those that may have passed others */
  uint32_t risen_capacity;
  uint32_t n_ranked, n_seen; /* in `room`; of all accounts, when they were ranked */
};

/* The job's account, made when it is not there yet; HR_NONE: out of memory. */
uint32_t hr__shares_account(struct hr__shares *shares, const struct hr__queue *queue, hr_job job);
/* Time has come to `now_us`; to be told before all that follows. */
void hr__shares_advance(struct hr__shares *shares, int64_t now_us);
/* A job of the account starts (more thousandths of GPUs) or stops (fewer). */
void hr__shares_add_running(struct hr__shares *shares, uint32_t account, int64_t milli);
/* Usage now, in GPUs x microseconds, faded. */
double hr__shares_usage(const struct hr__shares *shares, uint32_t account);
/* A key by which accounts compare under the rule, the least the best off. It tells usages apart that differ by a
   millionth; under `tree` it never decreases with time, unless `moment_us` moves. */
int64_t hr__shares_key(const struct hr__shares *shares, uint32_t account);
/* Works all factors out. */
void hr__shares_update(struct hr__shares *shares);

static inline void hr__shares_init(struct hr__shares *shares, enum hr__share_rule rule, int64_t half_life_us,
                                   const struct hr_quota_spec *weights) {
  *shares = (struct hr__shares){.rule = rule, .half_life_us = (double)half_life_us, .x = 1, .weights = weights};
}

/* What the quotas say of a tenant, 1 when nothing. */
static inline double hr__tenant_weight(const struct hr_quota_spec *quotas, const struct hr_trace *trace,
                                       uint32_t tenant) {
  for (uint32_t i = 0; quotas && tenant != HR_NONE && i < quotas->n_nodes; i++)
    if (quotas->nodes[i].is_tenant && strcmp(quotas->nodes[i].name, trace->tenants.text[tenant]) == 0)
      return quotas->nodes[i].weight;
  return quotas && quotas->fallback.weight > 0 ? quotas->fallback.weight : 1;
}

#endif
