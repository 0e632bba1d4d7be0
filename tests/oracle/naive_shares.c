/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sources: Slurm's Fair Tree (fair_tree.html) and its multifactor priority plugin.
 *
 * Usage decays with half-life h. The usage of an account is the sum over its jobs. At time t, a job that ran on g GPUs
 * from b to e counts the integral of g x 2^(-(t - x) / h) over x from b to e. The integral is g x (h / ln 2) x 2^(-(t -
 * e) / h) x (1 - 2^(-(e - b) / h)).
 *
 * Comparing two usages needs tolerances, for two reasons. Sums of doubles depend on the order of summation, so
 * Headroom's sums and these differ in the last bits. Headroom also treats usages as equal if they differ by less than
 * about one millionth. Therefore two usages are equal here if they differ by at most ROUNDING, and they are ordered if
 * they differ by at least DISTINCT (both relative). Between these two limits the comparison is undecided, and the
 * result of the run is not compared.
 */

#include "naive_shares.h"

#include <math.h>

#define LN_2 0.69314718055994530942
#define ROUNDING 1e-11         /* relative difference that rounding errors can cause */
#define DISTINCT 3e-6          /* from this relative difference on, Headroom certainly treats usages as different */
#define UNDERFLOW_LIMIT 1e-280 /* smaller usages lose precision or become 0 */

static bool has_users(const struct naive_input *in) {
  for (uint32_t job = 0; job < in->n_jobs; job++)
    if (in->user[job] > 0) return true;
  return false;
}

struct naive_account naive_account_of(const struct naive_input *in, uint32_t job) {
  return (struct naive_account){in->tenant[job], in->user[job]};
}

/* ---- Usage ---------------------------------------------------------------------------------------------- */

/* Returns the decayed GPU time of a job until history->now. */
static double usage_of_job(const struct naive_run_history *history, uint32_t job) {
  int64_t begin = history->start[job], end = begin + history->in->work[job], half_life = history->in->params.half_life;
  if (begin < 0) return 0;
  if (end > history->now) end = history->now;
  double length = (double)(end - begin), age = (double)(history->now - end);
  double gpus = (double)history->in->gpus[job] / history->in->units_per_gpu;
  if (half_life == 0) return gpus * length;
  double h = (double)half_life;
  return gpus * (h / LN_2) * exp2(-age / h) * -expm1(-LN_2 * length / h);
}

void naive_usage_compute(struct naive_usage *usage, const struct naive_run_history *history) {
  *usage = (struct naive_usage){.time = history->now, .has_users = has_users(history->in)};
  const struct naive_input *in = history->in;
  for (uint32_t p = 0; p < in->n_pools; p++) usage->all_gpus += in->pools[p].nodes * in->pools[p].gpus_per_node;
  usage->all_gpus /= in->units_per_gpu;
  for (uint32_t i = 0; i < in->n_jobs; i++) usage->highest_priority = fmax(usage->highest_priority, in->priority[i]);
  for (uint32_t i = 0; i < history->n_admitted; i++) {
    uint32_t job = history->admitted[i];
    struct naive_account account = naive_account_of(in, job);
    double job_usage = usage_of_job(history, job);
    bool ran = history->start[job] >= 0 && history->start[job] < history->now && in->work[job] > 0;
    usage->known[account.tenant][account.user] = true;
    usage->gpu_time[account.tenant][account.user] += job_usage;
    if (ran && in->gpus[job] > 0 && job_usage < UNDERFLOW_LIMIT)
      usage->underflowed[account.tenant][account.user] = true;
  }
}

static double usage_of_tenant(const struct naive_usage *usage, uint32_t tenant) {
  double sum = 0;
  for (uint32_t u = 0; u < NAIVE_MAX_USERS; u++) sum += usage->gpu_time[tenant][u];
  return sum;
}

static bool tenant_is_known(const struct naive_usage *usage, uint32_t tenant) {
  for (uint32_t u = 0; u < NAIVE_MAX_USERS; u++)
    if (usage->known[tenant][u]) return true;
  return false;
}

/* ---- Rule "tree" ---------------------------------------------------------------------------------------- */

/* Compares two usages with the tolerances described above. Returns -1 if a is smaller, 1 if b is smaller, 0 if they are
   equal. `underflowed`: at least one of them includes usage below UNDERFLOW_LIMIT. */
static int compare(double a, double b, bool underflowed, bool *undecided) {
  double difference = fabs(a - b), greater = fmax(a, b);
  if (difference <= ROUNDING * greater) {
    *undecided = *undecided || (underflowed && greater < UNDERFLOW_LIMIT);
    return 0;
  }
  if (difference < DISTINCT * greater || (underflowed && greater < UNDERFLOW_LIMIT)) *undecided = true;
  return a < b ? -1 : 1;
}

/* Returns whether the usage of any user of the account's tenant has underflowed. */
static bool any_underflowed(const struct naive_usage *usage, struct naive_account account) {
  bool underflowed = false;
  for (uint32_t u = 0; u < NAIVE_MAX_USERS; u++) underflowed = underflowed || usage->underflowed[account.tenant][u];
  return underflowed;
}

int naive_tree_compare(const struct naive_usage *usage, const struct naive_input *in, struct naive_account a,
                       struct naive_account b, bool *undecided) {
  const double *weight = in->params.tenant_weight;
  double of_a = usage_of_tenant(usage, a.tenant), of_b = usage_of_tenant(usage, b.tenant);
  bool underflowed = any_underflowed(usage, a) || any_underflowed(usage, b);
  int tenants =
      a.tenant == b.tenant ? 0 : compare(of_a / weight[a.tenant], of_b / weight[b.tenant], underflowed, undecided);
  if (tenants != 0 || !usage->has_users) return tenants;
  if (a.tenant == b.tenant && a.user == b.user) return 0;
  return compare(usage->gpu_time[a.tenant][a.user], usage->gpu_time[b.tenant][b.user], underflowed, undecided);
}

/* Returns the factor of an account: (n - k) / n, where n is the number of known accounts, and k the number of accounts
   that precede this one. */
static double tree_factor(const struct naive_usage *usage, const struct naive_input *in, struct naive_account account,
                          bool *undecided) {
  double n_accounts = 0, n_before = 0;
  for (uint32_t t = 0; t < NAIVE_MAX_TENANTS; t++)
    for (uint32_t u = 0; u < NAIVE_MAX_USERS; u++) {
      if (!usage->known[t][u]) continue;
      n_accounts++;
      if (naive_tree_compare(usage, in, (struct naive_account){t, u}, account, undecided) < 0) n_before++;
    }
  return (n_accounts - n_before) / n_accounts;
}

void naive_tree_factors(struct naive_usage *usage, const struct naive_input *in, bool *undecided) {
  for (uint32_t t = 0; t < NAIVE_MAX_TENANTS; t++)
    for (uint32_t u = 0; u < NAIVE_MAX_USERS; u++)
      if (usage->known[t][u]) usage->factor[t][u] = tree_factor(usage, in, (struct naive_account){t, u}, undecided);
}

/* ---- Rule "classic" ------------------------------------------------------------------------------------- */

/* Returns effective usage / share of an account, both relative to the totals of all accounts. Effective usage is the
   account's own usage plus an equal part of the usage of the other users of its tenant. Only tenants and users that
   have submitted a job have a share. */
static double classic_usage_per_share(const struct naive_usage *usage, const struct naive_input *in,
                                      struct naive_account account) {
  double all = 0, weights = 0, users = 0;
  for (uint32_t t = 0; t < NAIVE_MAX_TENANTS; t++) {
    if (!tenant_is_known(usage, t)) continue;
    all += usage_of_tenant(usage, t);
    weights += in->params.tenant_weight[t];
  }
  for (uint32_t u = 0; u < NAIVE_MAX_USERS; u++) users += usage->known[account.tenant][u];
  if (all <= 0) return 0;
  double own = usage->gpu_time[account.tenant][account.user] / all,
         tenants = usage_of_tenant(usage, account.tenant) / all;
  double effective = own + (tenants - own) / users;
  double share = in->params.tenant_weight[account.tenant] / weights / users;
  return effective / share;
}

void naive_classic_factors(struct naive_usage *usage, const struct naive_input *in) {
  for (uint32_t t = 0; t < NAIVE_MAX_TENANTS; t++)
    for (uint32_t u = 0; u < NAIVE_MAX_USERS; u++)
      if (usage->known[t][u]) {
        usage->usage_per_share[t][u] = classic_usage_per_share(usage, in, (struct naive_account){t, u});
        usage->factor[t][u] = exp2(-usage->usage_per_share[t][u]);
      }
}

/* Returns the factor of an account. An account that was unknown at the last update has the maximum factor of its
   tenant; an account of an unknown tenant has factor 1. */
static double factor_of(const struct naive_usage *usage, struct naive_account account) {
  if (usage->known[account.tenant][account.user]) return usage->factor[account.tenant][account.user];
  if (!tenant_is_known(usage, account.tenant)) return 1;
  double best = 0;
  for (uint32_t u = 0; u < NAIVE_MAX_USERS; u++)
    if (usage->known[account.tenant][u]) best = fmax(best, usage->factor[account.tenant][u]);
  return best;
}

/* Returns the usage per share of an account. An account that was unknown at the last update has the minimum of its
   tenant; an account of an unknown tenant has 0. */
static double usage_per_share_of(const struct naive_usage *usage, struct naive_account account) {
  if (usage->known[account.tenant][account.user]) return usage->usage_per_share[account.tenant][account.user];
  if (!tenant_is_known(usage, account.tenant)) return 0;
  double best = HUGE_VAL;
  for (uint32_t u = 0; u < NAIVE_MAX_USERS; u++)
    if (usage->known[account.tenant][u]) best = fmin(best, usage->usage_per_share[account.tenant][u]);
  return best;
}

int naive_classic_compare(const struct naive_usage *usage, struct naive_account a, struct naive_account b,
                          bool *undecided) {
  return compare(usage_per_share_of(usage, a), usage_per_share_of(usage, b),
                 any_underflowed(usage, a) || any_underflowed(usage, b), undecided);
}

/* ---- Factors -------------------------------------------------------------------------------------------- */

int64_t naive_factor_sum(const struct naive_usage *usage, const struct naive_input *in, uint32_t job) {
  const struct naive_params *params = &in->params;
  double gpus = usage->all_gpus, waited = (double)(usage->time - in->submit[job]), highest = usage->highest_priority;
  double age = fmax(0, fmin(1, waited / (double)params->max_age));
  double size = gpus > 0 ? (double)in->gpus[job] / in->units_per_gpu / gpus : 0;
  double qos = highest > 0 && in->priority[job] > 0 ? in->priority[job] / highest : 0;
  double sum = params->weight_age * age + params->weight_fair_share * factor_of(usage, naive_account_of(in, job)) +
               params->weight_size * (params->favor_small ? 1 - size : size) + params->weight_qos * qos;
  return llround(sum * 1e6);
}
