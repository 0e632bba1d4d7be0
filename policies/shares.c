/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shares and usage of accounts: see policies/shares.h. Tenants and users are two levels of one list. */

#include "policies/shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LN_2 0.69314718055994530942

/* An account while accounts are ranked. */
struct hr__standings {
  uint32_t account;
  double usage;         /* now; a tenant's is that of its users */
  double parent, own;   /* what it is ranked by, the least first: its parent's, then its own */
  double weights_below; /* of its users */
};

void hr__shares_init(struct hr__shares *shares, enum hr__share_rule rule, int64_t half_life_us, int64_t period_us,
                     const struct hr_quota_spec *weights) {
  *shares = (struct hr__shares){.rule = rule, .half_life_us = half_life_us, .period_us = period_us, .weights = weights};
}

/* ---- Accounts --------------------------------------------------------------------------------------- */

double hr__tenant_weight(const struct hr_quota_spec *quotas, const struct hr_trace *trace, uint32_t tenant) {
  for (uint32_t i = 0; quotas && tenant != HR_NONE && i < quotas->n_nodes; i++)
    if (quotas->nodes[i].is_tenant && strcmp(quotas->nodes[i].name, trace->tenants.text[tenant]) == 0)
      return quotas->nodes[i].weight;
  return quotas && quotas->fallback.weight > 0 ? quotas->fallback.weight : 1;
}

static uint32_t find_or_make(struct hr__shares *shares, const struct hr__queue *queue, struct hr__pair name,
                             uint32_t parent) {
  uint32_t number = hr__pair_map_find(&shares->numbers, name);
  if (number != HR_NONE) return number;
  if (shares->count == shares->capacity) {
    struct hr__account *accounts =
        hr_arena_grown(queue->arena, shares->accounts, &shares->capacity, sizeof *shares->accounts);
    struct hr__standings *room = hr_arena_grown(queue->arena, shares->room, &shares->room_capacity, sizeof *room);
    if (!accounts || !room) return HR_NONE;
    shares->accounts = accounts;
    shares->room = room;
  }
  if (!hr__pair_map_add(&shares->numbers, queue->arena, name, shares->count)) return HR_NONE;
  double weight = parent == HR_NONE ? hr__tenant_weight(shares->weights, queue->trace, (uint32_t)name.a) : 1;
  shares->n_tenants += parent == HR_NONE;
  struct hr__account account = {.parent = parent, .weight = weight, .factor = 1};
  if (parent != HR_NONE) { /* until it is ranked it stands where the tenant does */
    account.rank = shares->accounts[parent].rank;
    account.factor = shares->accounts[parent].factor;
  }
  shares->accounts[shares->count] = account;
  return shares->count++;
}

uint32_t hr__shares_account(struct hr__shares *shares, const struct hr__queue *queue, hr_job job) {
  const struct hr_trace *trace = queue->trace;
  uint64_t tenant = trace->tenant ? trace->tenant[job.id] : HR_NONE;
  uint64_t user = trace->user ? trace->user[job.id] : HR_NONE;
  uint32_t number = find_or_make(shares, queue, (struct hr__pair){tenant, HR_NONE}, HR_NONE);
  if (number == HR_NONE || !trace->user) return number;
  return find_or_make(shares, queue, (struct hr__pair){tenant, user}, number);
}

double hr__shares_usage(const struct hr__shares *shares, uint32_t account, int64_t now_us) {
  const struct hr__account *of = &shares->accounts[account];
  double passed_us = (double)(now_us - of->at_us), gpus = of->running_gpus;
  if (shares->half_life_us == 0) return of->usage + gpus * passed_us;
  double half_lives = passed_us / (double)shares->half_life_us;
  double gone = -expm1(-half_lives * LN_2); /* 1 - 2^-x, exact where little time has passed, too */
  return of->usage * exp2(-half_lives) + gpus * ((double)shares->half_life_us / LN_2) * gone;
}

void hr__shares_run(struct hr__shares *shares, uint32_t account, int64_t gpus, int64_t now_us) {
  struct hr__account *of = &shares->accounts[account];
  of->usage = hr__shares_usage(shares, account, now_us);
  of->at_us = now_us;
  of->running_gpus = (uint32_t)((int64_t)of->running_gpus + gpus);
}

/* ---- Ranks ------------------------------------------------------------------------------------------ */

static bool has_users(const struct hr__shares *shares) {
  return shares->count > shares->n_tenants;
}

static bool is_leaf(const struct hr__shares *shares, uint32_t account) {
  return !has_users(shares) || shares->accounts[account].parent != HR_NONE;
}

static int by_standing(const void *left, const void *right) {
  const struct hr__standings *a = left, *b = right;
  if (a->parent != b->parent) return a->parent < b->parent ? -1 : 1;
  if (a->own != b->own) return a->own < b->own ? -1 : 1;
  return a->account < b->account ? -1 : 1;
}

/* Usage of all accounts now, by number; returns that of all tenants. */
static double read_usage(struct hr__shares *shares, int64_t now_us, double *weights) {
  double total = 0;
  *weights = 0;
  for (uint32_t i = 0; i < shares->count; i++)
    shares->room[i] = (struct hr__standings){.account = i, .usage = hr__shares_usage(shares, i, now_us)};
  for (uint32_t i = 0; i < shares->count; i++) {
    const struct hr__account *account = &shares->accounts[i];
    if (account->parent != HR_NONE) {
      shares->room[account->parent].usage += shares->room[i].usage;
      shares->room[account->parent].weights_below += account->weight;
    } else {
      *weights += account->weight;
    }
    if (is_leaf(shares, i)) total += shares->room[i].usage;
  }
  return total;
}

/* Siblings by usage / weight, depth first. */
static void stand_by_tree(struct hr__shares *shares) {
  for (uint32_t i = 0; i < shares->count; i++) {
    const struct hr__account *account = &shares->accounts[i];
    shares->room[i].own = shares->room[i].usage / account->weight;
    if (account->parent != HR_NONE) shares->room[i].parent = shares->room[account->parent].own;
  }
}

/* U / S; parents stand before their children. */
static void stand_by_classic(struct hr__shares *shares, double total, double weights) {
  for (uint32_t i = 0; i < shares->count; i++) {
    struct hr__standings *standing = &shares->room[i];
    const struct hr__account *account = &shares->accounts[i];
    double effective = total > 0 ? standing->usage / total : 0, share = account->weight / weights;
    if (account->parent != HR_NONE) {
      const struct hr__standings *parent = &shares->room[account->parent];
      double among = account->weight / parent->weights_below;
      double of_parent = total > 0 ? parent->usage / total : 0;
      effective += (of_parent - effective) * among;
      share = shares->accounts[account->parent].weight / weights * among;
    }
    standing->own = effective / share;
  }
}

/* Leaves in order; ties share the place of the first. A tenant stands where its first user does. */
static void rank_leaves(struct hr__shares *shares) {
  uint32_t n_leaves = 0;
  for (uint32_t i = 0; i < shares->count; i++) shares->accounts[i].rank = HR_NONE;
  for (uint32_t i = 0; i < shares->count; i++)
    if (is_leaf(shares, i)) shares->room[n_leaves++] = shares->room[i];
  qsort(shares->room, n_leaves, sizeof *shares->room, by_standing);
  for (uint32_t i = 0, place = 0; i < n_leaves; i++) {
    const struct hr__standings *standing = &shares->room[i];
    bool tied = i > 0 && standing->parent == shares->room[i - 1].parent && standing->own == shares->room[i - 1].own;
    if (!tied) place = i;
    struct hr__account *account = &shares->accounts[standing->account];
    account->rank = place;
    account->factor = shares->rule == HR__SHARE_CLASSIC ? exp2(-standing->own) : (double)(n_leaves - place) / n_leaves;
    if (account->parent == HR_NONE || shares->accounts[account->parent].rank <= place) continue;
    shares->accounts[account->parent].rank = place;
    shares->accounts[account->parent].factor = account->factor;
  }
}

bool hr__shares_update(struct hr__shares *shares, int64_t now_us) {
  if (now_us < shares->next_us || shares->count == 0) return false;
  shares->next_us = now_us + shares->period_us;
  double weights, total = read_usage(shares, now_us, &weights);
  if (shares->rule == HR__SHARE_TREE)
    stand_by_tree(shares);
  else
    stand_by_classic(shares, total, weights);
  rank_leaves(shares);
  return true;
}
