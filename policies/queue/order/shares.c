/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shares and usage of accounts: see shares.h. One list contains the accounts of both levels, tenants and users. A
   tenant precedes its users. */

#include "policies/queue/order/shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LN_2 0.69314718055994530942

/* An account in a ranking of accounts. Accounts are ranked by (usage / share) of their parent; accounts with the same
   parent are ranked by their own (usage / share). hr__shares_key returns a key with this order. */
struct hr__standing_of {
  uint32_t account;
  int64_t key;
};

/* After this number of half-lives, usage is scaled to a later time. Without this step, scaled usage would overflow. */
enum { MAX_HALF_LIVES = 256 };

/* ---- Accounts ------------------------------------------------------------------------------------- */

static bool make_room(struct hr__shares *shares, const struct hr__queue *queue) {
  if (shares->count < shares->capacity) return true;
  shares->accounts = hr_arena_grown(queue->arena, shares->accounts, &shares->capacity, sizeof *shares->accounts);
  shares->ranking = hr_arena_grown(queue->arena, shares->ranking, &shares->ranking_capacity, sizeof *shares->ranking);
  shares->risen = hr_arena_grown(queue->arena, shares->risen, &shares->risen_capacity, sizeof *shares->risen);
  return shares->accounts && shares->ranking && shares->risen;
}

/* Returns the index of the account with a name, created if needed. A new account of a user has the factor of its tenant
   until factors are computed again. */
static uint32_t find_or_make(struct hr__shares *shares, const struct hr__queue *queue, struct hr__pair name,
                             uint32_t parent) {
  uint32_t number = hr__pair_map_find(&shares->numbers, name);
  if (number != HR_NONE) return number;
  if (!make_room(shares, queue)) return HR_NONE;
  if (!hr__pair_map_add(&shares->numbers, queue->arena, name, shares->count)) return HR_NONE;
  struct hr__share_account account = {
      .parent = parent, .at_us = shares->now_us, .x_at = shares->x, .weight = 1, .factor = 1};
  if (parent == HR_NONE) {
    account.weight = hr__tenant_weight(shares->weights, queue->trace, (uint32_t)name.a);
    shares->weights_of_tenants += account.weight;
    shares->n_tenants++;
  } else {
    account.factor = shares->accounts[parent].factor;
    account.excess = shares->accounts[parent].excess;
    shares->accounts[parent].weights_below += account.weight;
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
  return find_or_make(shares, queue, (struct hr__pair){tenant, (uint64_t)1 << 32 | user}, number);
}

/* ---- Usage ---------------------------------------------------------------------------------------- */

/* Returns the usage of an account at the current time, scaled to moment_us. */
static double scaled_usage(const struct hr__shares *shares, uint32_t account) {
  const struct hr__share_account *of = &shares->accounts[account];
  double gpus = (double)of->running_milli / HR_WHOLE_GPU_MILLI;
  if (shares->half_life_us <= 0) return of->usage + gpus * (double)(shares->now_us - of->at_us);
  double half_lives = (double)(shares->now_us - of->at_us) / shares->half_life_us;
  double grown = expm1(half_lives * LN_2); /* 2^x - 1, accurate for small x, too */
  return of->usage + gpus * (shares->half_life_us / LN_2) * of->x_at * grown;
}

void hr__shares_advance(struct hr__shares *shares, int64_t now_us) {
  shares->now_us = now_us;
  if (shares->half_life_us <= 0) return;
  while ((double)(now_us - shares->moment_us) > MAX_HALF_LIVES * shares->half_life_us) {
    for (uint32_t i = 0; i < shares->count; i++) {
      shares->accounts[i].usage = ldexp(shares->accounts[i].usage, -MAX_HALF_LIVES);
      shares->accounts[i].x_at = ldexp(shares->accounts[i].x_at, -MAX_HALF_LIVES);
    }
    shares->moment_us += (int64_t)(MAX_HALF_LIVES * shares->half_life_us);
  }
  shares->x = exp2((double)(now_us - shares->moment_us) / shares->half_life_us);
}

static void run(struct hr__shares *shares, uint32_t account, int64_t milli) {
  struct hr__share_account *of = &shares->accounts[account];
  of->usage = scaled_usage(shares, account);
  of->at_us = shares->now_us;
  of->x_at = shares->x;
  of->running_milli += milli;
}

void hr__shares_add_running(struct hr__shares *shares, uint32_t account, int64_t milli) {
  run(shares, account, milli);
  uint32_t parent = shares->accounts[account].parent;
  if (parent != HR_NONE) run(shares, parent, milli);
}

/* ---- Keys ----------------------------------------------------------------------------------------- */

/* Returns the upper 32 bits of a non-negative double: its sign, its exponent and 20 bits of its fraction. Read as
   integers, these bits have the same order as the numbers. */
static uint64_t upper_bits(double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  return bits >> 32;
}

static double by_weight(const struct hr__shares *shares, uint32_t account) {
  return scaled_usage(shares, account) / shares->accounts[account].weight;
}

/* Returns U / S of an account (see shares.h). `total`: total usage. */
static double effective_by_share(const struct hr__shares *shares, uint32_t account, double total) {
  const struct hr__share_account *of = &shares->accounts[account];
  if (total <= 0) return 0;
  double own = scaled_usage(shares, account) / total;
  if (of->parent == HR_NONE) return own / (of->weight / shares->weights_of_tenants);
  const struct hr__share_account *parent = &shares->accounts[of->parent];
  double among = of->weight / parent->weights_below;
  double effective = own + (scaled_usage(shares, of->parent) / total - own) * among;
  return effective / (parent->weight / shares->weights_of_tenants * among);
}

/* Returns the total usage of all tenants. Tenants are summed in the order in which they were added, so that rounding is
   reproducible. */
static double total_usage(const struct hr__shares *shares) {
  double total = 0;
  for (uint32_t i = 0; i < shares->count; i++)
    if (shares->accounts[i].parent == HR_NONE) total += scaled_usage(shares, i);
  return total;
}

int64_t hr__shares_key(const struct hr__shares *shares, uint32_t account) {
  uint32_t parent = shares->accounts[account].parent;
  if (shares->rule == HR__SHARE_CLASSIC) return (int64_t)(upper_bits(shares->accounts[account].excess) << 32);
  if (parent == HR_NONE) return (int64_t)(upper_bits(by_weight(shares, account)) << 32);
  return (int64_t)(upper_bits(by_weight(shares, parent)) << 32 | upper_bits(by_weight(shares, account)));
}

/* ---- Factors -------------------------------------------------------------------------------------- */

static int by_standing(const void *left, const void *right) {
  const struct hr__standing_of *a = left, *b = right;
  if (a->key != b->key) return a->key < b->key ? -1 : 1;
  return a->account < b->account ? -1 : 1;
}

/* Returns whether jobs are directly assigned to the account. If the trace has users, these are the accounts of users,
   otherwise those of tenants. */
static bool is_leaf(const struct hr__shares *shares, uint32_t account) {
  return shares->count == shares->n_tenants || shares->accounts[account].parent != HR_NONE;
}

/* Sets the factor and the excess of an account. A tenant has the best factor and the best excess of its users. */
static void set_factor(struct hr__shares *shares, uint32_t account, double factor, double excess) {
  uint32_t parent = shares->accounts[account].parent;
  shares->accounts[account].factor = factor;
  shares->accounts[account].excess = excess;
  if (parent == HR_NONE) return;
  shares->accounts[parent].factor = fmax(shares->accounts[parent].factor, factor);
  shares->accounts[parent].excess = fmin(shares->accounts[parent].excess, excess);
}

static struct hr__standing_of standing_now(const struct hr__shares *shares, uint32_t account) {
  return (struct hr__standing_of){account, hr__shares_key(shares, account)};
}

/* First step of a drop-merge sort, which is fast because most accounts keep their order: updates the keys in the last
   ranking, and moves accounts that now come after their successor from the ranking to the list `risen`. New accounts
   are added to this list, too. Returns the number of accounts in `risen`. */
static uint32_t take_out_risen(struct hr__shares *shares) {
  uint32_t n_kept = 0, n_risen = 0;
  for (uint32_t i = 0; i < shares->n_ranked; i++) {
    struct hr__standing_of now = standing_now(shares, shares->ranking[i].account);
    while (n_kept > 0 && by_standing(&shares->ranking[n_kept - 1], &now) > 0)
      shares->risen[n_risen++] = shares->ranking[--n_kept];
    shares->ranking[n_kept++] = now;
  }
  for (; shares->n_seen < shares->count; shares->n_seen++)
    if (is_leaf(shares, shares->n_seen)) shares->risen[n_risen++] = standing_now(shares, shares->n_seen);
  shares->n_ranked = n_kept;
  return n_risen;
}

/* Second step: merges the sorted list `risen` into the ranking. The lists are merged from their ends, so no further
   memory is needed. */
static void merge_risen(struct hr__shares *shares, uint32_t n_risen) {
  uint32_t n_kept = shares->n_ranked, to = n_kept + n_risen;
  shares->n_ranked = to;
  while (n_risen > 0) {
    bool kept_is_last = n_kept > 0 && by_standing(&shares->ranking[n_kept - 1], &shares->risen[n_risen - 1]) > 0;
    shares->ranking[--to] = kept_is_last ? shares->ranking[--n_kept] : shares->risen[--n_risen];
  }
}

static void rank_down_the_tree(struct hr__shares *shares) {
  uint32_t n_risen = take_out_risen(shares);
  if (n_risen > 1) qsort(shares->risen, n_risen, sizeof *shares->risen, by_standing);
  merge_risen(shares, n_risen);
  uint32_t n_leaves = shares->n_ranked;
  for (uint32_t i = 0, place = 0; i < n_leaves; i++) {
    const struct hr__standing_of *of = &shares->ranking[i];
    if (i > 0 && of->key != shares->ranking[i - 1].key) place = i;
    set_factor(shares, of->account, (double)(n_leaves - place) / n_leaves, 0);
  }
}

void hr__shares_update(struct hr__shares *shares) {
  double total = total_usage(shares);
  for (uint32_t i = 0; i < shares->count; i++) {
    shares->accounts[i].factor = 0;
    shares->accounts[i].excess = HUGE_VAL;
  }
  if (shares->rule == HR__SHARE_TREE) {
    rank_down_the_tree(shares);
    return;
  }
  for (uint32_t i = 0; i < shares->count; i++) {
    if (!is_leaf(shares, i)) continue;
    double excess = effective_by_share(shares, i, total);
    set_factor(shares, i, exp2(-excess), excess);
  }
}
