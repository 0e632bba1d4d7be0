/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Usage is a sum over all that ran; a use of g GPUs from b to e counts, at time t, the integral of g x 2^(-(t - x) / h)
 * over x from b to e, which is g x (h / ln 2) x 2^(-(t - e) / h) x (1 - 2^(-(e - b) / h)).
 *
 * Sums of doubles in different orders differ in their last bits, and the rule itself counts uses as equal that differ
 * by less than about a millionth. So what is nearly the same is the same here, and where two uses differ by more than
 * rounding but not clearly by more than that millionth, nothing is claimed.
 */

#include "naive_shares.h"

#include <math.h>

#define LN_2 0.69314718055994530942
#define ROUNDING 1e-11
#define CLEARLY 3e-6
#define FADED 1e-280

static bool tells_users(const struct naive_input *in) {
  for (uint32_t job = 0; job < in->n_jobs; job++)
    if (in->user[job] > 0) return true;
  return false;
}

struct naive_account naive_account_of(const struct naive_input *in, uint32_t job) {
  return (struct naive_account){in->tenant[job], in->user[job]};
}

/* ---- Usage ---------------------------------------------------------------------------------------------- */

static double use_of(const struct naive_past *past, uint32_t job) {
  int64_t begin = past->start[job], end = begin + past->in->work[job], half_life = past->in->terms.half_life;
  if (begin < 0) return 0;
  if (end > past->now) end = past->now;
  double length = (double)(end - begin), age = (double)(past->now - end);
  double gpus = (double)past->in->gpus[job] / past->in->units_per_gpu;
  if (half_life == 0) return gpus * length;
  double h = (double)half_life;
  return gpus * (h / LN_2) * exp2(-age / h) * -expm1(-LN_2 * length / h);
}

void naive_uses_sum_up(struct naive_uses *uses, const struct naive_past *past) {
  *uses = (struct naive_uses){.when = past->now, .tells_users = tells_users(past->in)};
  const struct naive_input *in = past->in;
  for (uint32_t p = 0; p < in->n_pools; p++) uses->all_gpus += in->pools[p].nodes * in->pools[p].gpus_per_node;
  uses->all_gpus /= in->units_per_gpu;
  for (uint32_t i = 0; i < in->n_jobs; i++) uses->highest_priority = fmax(uses->highest_priority, in->priority[i]);
  for (uint32_t i = 0; i < past->n_heard; i++) {
    uint32_t job = past->heard[i];
    struct naive_account account = naive_account_of(in, job);
    double use = use_of(past, job);
    bool ran = past->start[job] >= 0 && past->start[job] < past->now && in->work[job] > 0;
    uses->known[account.tenant][account.user] = true;
    uses->used[account.tenant][account.user] += use;
    if (ran && in->gpus[job] > 0 && use < FADED) uses->lost[account.tenant][account.user] = true;
  }
}

static double used_by_tenant(const struct naive_uses *uses, uint32_t tenant) {
  double sum = 0;
  for (uint32_t u = 0; u < NAIVE_MAX_USERS; u++) sum += uses->used[tenant][u];
  return sum;
}

static bool tenant_is_known(const struct naive_uses *uses, uint32_t tenant) {
  for (uint32_t u = 0; u < NAIVE_MAX_USERS; u++)
    if (uses->known[tenant][u]) return true;
  return false;
}

/* ---- Down the tree -------------------------------------------------------------------------------------- */

static int compare(double a, double b, bool lost, bool *unsure) {
  double apart = fabs(a - b), greater = fmax(a, b);
  if (apart <= ROUNDING * greater) {
    *unsure = *unsure || (lost && greater < FADED);
    return 0;
  }
  if (apart < CLEARLY * greater || (lost && greater < FADED)) *unsure = true;
  return a < b ? -1 : 1;
}

static bool any_lost(const struct naive_uses *uses, struct naive_account account) {
  bool lost = false;
  for (uint32_t u = 0; u < NAIVE_MAX_USERS; u++) lost = lost || uses->lost[account.tenant][u];
  return lost;
}

int naive_tree_compare(const struct naive_uses *uses, const struct naive_input *in, struct naive_account a,
                       struct naive_account b, bool *unsure) {
  const double *weight = in->terms.tenant_weight;
  double of_a = used_by_tenant(uses, a.tenant), of_b = used_by_tenant(uses, b.tenant);
  bool lost = any_lost(uses, a) || any_lost(uses, b);
  int tenants = a.tenant == b.tenant ? 0 : compare(of_a / weight[a.tenant], of_b / weight[b.tenant], lost, unsure);
  if (tenants != 0 || !uses->tells_users) return tenants;
  if (a.tenant == b.tenant && a.user == b.user) return 0;
  return compare(uses->used[a.tenant][a.user], uses->used[b.tenant][b.user], lost, unsure);
}

/* Of n accounts, the one that k stand before has the factor (n - k) / n. */
static double tree_factor(const struct naive_uses *uses, const struct naive_input *in, struct naive_account account,
                          bool *unsure) {
  double count = 0, before = 0;
  for (uint32_t t = 0; t < NAIVE_MAX_TENANTS; t++)
    for (uint32_t u = 0; u < NAIVE_MAX_USERS; u++) {
      if (!uses->known[t][u]) continue;
      count++;
      if (naive_tree_compare(uses, in, (struct naive_account){t, u}, account, unsure) < 0) before++;
    }
  return (count - before) / count;
}

void naive_tree_factors(struct naive_uses *uses, const struct naive_input *in, bool *unsure) {
  for (uint32_t t = 0; t < NAIVE_MAX_TENANTS; t++)
    for (uint32_t u = 0; u < NAIVE_MAX_USERS; u++)
      if (uses->known[t][u]) uses->factor[t][u] = tree_factor(uses, in, (struct naive_account){t, u}, unsure);
}

/* ---- Classic -------------------------------------------------------------------------------------------- */

/* Shares are those of tenants and users that have had a job so far. */
static double classic_excess(const struct naive_uses *uses, const struct naive_input *in,
                             struct naive_account account) {
  double all = 0, weights = 0, users = 0;
  for (uint32_t t = 0; t < NAIVE_MAX_TENANTS; t++) {
    if (!tenant_is_known(uses, t)) continue;
    all += used_by_tenant(uses, t);
    weights += in->terms.tenant_weight[t];
  }
  for (uint32_t u = 0; u < NAIVE_MAX_USERS; u++) users += uses->known[account.tenant][u];
  if (all <= 0) return 0;
  double own = uses->used[account.tenant][account.user] / all, tenants = used_by_tenant(uses, account.tenant) / all;
  double effective = own + (tenants - own) / users;
  double share = in->terms.tenant_weight[account.tenant] / weights / users;
  return effective / share;
}

void naive_classic_factors(struct naive_uses *uses, const struct naive_input *in) {
  for (uint32_t t = 0; t < NAIVE_MAX_TENANTS; t++)
    for (uint32_t u = 0; u < NAIVE_MAX_USERS; u++)
      if (uses->known[t][u]) {
        uses->excess[t][u] = classic_excess(uses, in, (struct naive_account){t, u});
        uses->factor[t][u] = exp2(-uses->excess[t][u]);
      }
}

/* A new account ranks with the best of its tenant; a new tenant is the best of all. */
static double factor_of(const struct naive_uses *uses, struct naive_account account) {
  if (uses->known[account.tenant][account.user]) return uses->factor[account.tenant][account.user];
  if (!tenant_is_known(uses, account.tenant)) return 1;
  double best = 0;
  for (uint32_t u = 0; u < NAIVE_MAX_USERS; u++)
    if (uses->known[account.tenant][u]) best = fmax(best, uses->factor[account.tenant][u]);
  return best;
}

static double excess_of(const struct naive_uses *uses, struct naive_account account) {
  if (uses->known[account.tenant][account.user]) return uses->excess[account.tenant][account.user];
  if (!tenant_is_known(uses, account.tenant)) return 0;
  double best = HUGE_VAL;
  for (uint32_t u = 0; u < NAIVE_MAX_USERS; u++)
    if (uses->known[account.tenant][u]) best = fmin(best, uses->excess[account.tenant][u]);
  return best;
}

int naive_classic_compare(const struct naive_uses *uses, struct naive_account a, struct naive_account b, bool *unsure) {
  return compare(excess_of(uses, a), excess_of(uses, b), any_lost(uses, a) || any_lost(uses, b), unsure);
}

/* ---- Factors -------------------------------------------------------------------------------------------- */

int64_t naive_sum_of_factors(const struct naive_uses *uses, const struct naive_input *in, uint32_t job) {
  const struct naive_terms *terms = &in->terms;
  double gpus = uses->all_gpus, waited = (double)(uses->when - in->submit[job]), highest = uses->highest_priority;
  double age = fmax(0, fmin(1, waited / (double)terms->max_age));
  double size = gpus > 0 ? (double)in->gpus[job] / in->units_per_gpu / gpus : 0;
  double qos = highest > 0 && in->priority[job] > 0 ? in->priority[job] / highest : 0;
  double sum = terms->weight_age * age + terms->weight_fair_share * factor_of(uses, naive_account_of(in, job)) +
               terms->weight_size * (terms->favor_small ? 1 - size : size) + terms->weight_qos * qos;
  return llround(sum * 1e6);
}
