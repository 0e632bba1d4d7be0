/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shares and usage of accounts, and the orders by usage relative to shares: fair-share, multifactor and drf.
 *
 * fair-share: the account with the least usage relative to its share is first. With the rule `tree`, the current usage
 * is compared. With the rule `classic`, the factors of the last update are compared (see shares.h). Within an account,
 * jobs are in order of (submit, row).
 *
 * multifactor: the job with the largest sum of weight x factor is first, as in Slurm's multifactor priority. Factors
 * are from 0 to 1 and, as in Slurm, computed at intervals. The factors are: age (waiting time / max_age_s, at most 1);
 * fair share (of the account, see shares.h); size (the job's share of all GPUs or, with favor_small, 1 minus this
 * share); and quality of service (the job's priority relative to the highest priority in the trace).
 *
 * drf: see below, before struct tenant.
 *
 * Under fair-share, the jobs of one account form one subqueue. Under multifactor, jobs with the same account, priority
 * and size keep their relative order, so they form one subqueue.
 */

#include "headroom/policy_kit.h"
#include "policies/queue/dispatch.h"
#include "policies/queue/order/shares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Returns the weight of a tenant in the quotas. For other tenants, and for HR_NONE, returns the weight of the fallback
   if it is positive, else 1. */
static inline double tenant_weight(const struct hr_quota_spec *quotas, const struct hr_trace *trace, uint32_t tenant) {
  for (uint32_t i = 0; quotas && tenant != HR_NONE && i < quotas->n_nodes; i++)
    if (quotas->nodes[i].is_tenant && strcmp(quotas->nodes[i].name, trace->tenants.text[tenant]) == 0)
      return quotas->nodes[i].weight;
  return quotas && quotas->fallback.weight > 0 ? quotas->fallback.weight : 1;
}

/* ---- Shares and usage ------------------------------------------------------------------------------- */

/* The rules are in shares.h. One list contains the accounts of both levels, tenants and users. A tenant precedes its
   users. */

#define LN_2 0.69314718055994530942

/* An account in a ranking of accounts. Accounts are ranked by (usage / share) of their parent; accounts with the same
   parent are ranked by their own (usage / share). hr__shares_key returns a key with this order. */
struct hr__standing_of {
  uint32_t account;
  int64_t key;
};

/* After this number of half-lives, usage is scaled to a later time. Without this step, scaled usage would overflow. */
enum { MAX_HALF_LIVES = 256 };

/* ---- Shares and usage: accounts --------------------------------------------------------------------- */

static bool make_room(struct hr__shares *shares, const struct hr__queue *queue) {
  return HR__ARENA_HAS_ROOM(queue->arena, shares->accounts, shares->count, shares->capacity) &&
         HR__ARENA_HAS_ROOM(queue->arena, shares->ranking, shares->count, shares->ranking_capacity) &&
         HR__ARENA_HAS_ROOM(queue->arena, shares->risen, shares->count, shares->risen_capacity);
}

/* Returns the index of the account with a name, which is (tenant, user), created if needed; HR_NONE: out of memory. A
   new account of a user has the factor of its tenant until factors are computed again. */
static uint32_t find_or_make(struct hr__shares *shares, const struct hr__queue *queue, struct hr__pair name,
                             uint32_t parent) {
  uint32_t number = hr__pair_map_find(&shares->numbers, name);
  if (number != HR_NONE) return number;
  if (!make_room(shares, queue)) return HR_NONE;
  if (!hr__pair_map_add(&shares->numbers, queue->arena, name, shares->count)) return HR_NONE;
  struct hr__share_account account = {
      .parent = parent, .at_us = shares->now_us, .x_at = shares->x, .weight = 1, .factor = 1};
  if (parent == HR_NONE) {
    account.weight = tenant_weight(shares->weights, queue->trace, (uint32_t)name.a);
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

/* ---- Shares and usage: usage ------------------------------------------------------------------------ */

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

/* ---- Shares and usage: keys ------------------------------------------------------------------------- */

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

/* ---- Shares and usage: factors ---------------------------------------------------------------------- */

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

/* Sets the factor and the excess of an account. A tenant has the largest factor and the smallest excess of its
   users. */
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

/* ---- Orders ----------------------------------------------------------------------------------------- */

/* Common properties of the jobs of a subqueue. */
struct fair_share_kind {
  uint32_t account;
  int32_t priority;
  uint64_t milli; /* GPUs of the job, in thousandths of a GPU */
};

struct fairness {
  struct hr__shares shares;
  uint32_t *account_of;       /* by job: index of its account */
  int64_t period_us, next_us; /* interval between computations of the factors; time of the next one */
  int64_t computed_us;        /* time at which factors were last computed */
  /* value of shares.moment_us (see shares.h) when subqueues were last ranked; the keys refer to this time */
  int64_t moment_us;
  /* For multifactor only. */
  double weight_age, weight_fair_share, weight_size, weight_qos, max_age_us;
  bool favours_small;
  double total_gpus, highest_priority;
  struct fair_share_kind *kinds;
  uint32_t kinds_capacity;
  /* index of the kind with a certain (account, priority) and size in thousandths of a GPU */
  struct hr__pair_map kind_numbers;
  uint32_t *kind_of; /* by job: index of its kind */
};

static enum hr_status create(struct hr__queue *queue, const struct hr_policy_env *env, struct hr_error *error) {
  (void)error;
  struct fairness *fairness = hr_arena_alloc(env->arena, sizeof *fairness);
  if (!fairness) return HR_NO_MEMORY;
  queue->order_state = fairness;
  hr__shares_init(&fairness->shares, (enum hr__share_rule)hr__queue_param(env, "fair_share")->integer,
                  hr__queue_param_us(env, "half_life_s"), env->quotas);
  fairness->period_us = hr__queue_param_us(env, "calc_period_s");
  return HR__ARENA_ARRAY_BY_JOB(env->arena, fairness->account_of, env->jobs->n_jobs) ? HR_OK : HR_NO_MEMORY;
}

/* ---- Events ----------------------------------------------------------------------------------------- */

static enum hr_status job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct fairness *fairness = queue->order_state;
  hr__shares_advance(&fairness->shares, view->now_us);
  fairness->account_of[job.id] = hr__shares_account(&fairness->shares, queue, job);
  return fairness->account_of[job.id] == HR_NONE ? HR_NO_MEMORY : HR_OK;
}

static enum hr_status job_starts(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                 const struct hr_placement *placement) {
  (void)placement;
  struct fairness *fairness = queue->order_state;
  hr__shares_advance(&fairness->shares, view->now_us);
  hr__shares_add_running(&fairness->shares, fairness->account_of[job.id], (int64_t)hr__counted_milli(queue, job));
  return HR_OK;
}

static enum hr_status job_stops(struct hr__queue *queue, const struct hr_view *view, const struct hr_event *event) {
  struct fairness *fairness = queue->order_state;
  hr_job job = event->job;
  hr__shares_advance(&fairness->shares, view->now_us);
  hr__shares_add_running(&fairness->shares, fairness->account_of[job.id], -(int64_t)hr__counted_milli(queue, job));
  return HR_OK;
}

/* Ranks the subqueues again. While the time to which usage is scaled is the same, keys only increase, so it is enough
   to check the first subqueue of each shape. Preemption also examines other subqueues, so with preemption all subqueues
   are ranked. */
static enum hr_status rank_by_use(struct hr__queue *queue) {
  struct fairness *fairness = queue->order_state;
  bool only_grown = fairness->moment_us == fairness->shares.moment_us && !queue->preemptor;
  fairness->moment_us = fairness->shares.moment_us;
  if (only_grown) return hr__waiting_find_first(&queue->waiting);
  return hr__waiting_rerank_all(&queue->waiting);
}

static enum hr_status begin_pass(struct hr__queue *queue, const struct hr_view *view) {
  struct fairness *fairness = queue->order_state;
  if (!hr__waiting_any(&queue->waiting)) return HR_OK;
  hr__shares_advance(&fairness->shares, view->now_us);
  if (queue->order->keys_only_grow && fairness->shares.rule == HR__SHARE_TREE) return rank_by_use(queue);
  if (view->now_us < fairness->next_us) return HR_OK;
  fairness->next_us = view->now_us + fairness->period_us;
  fairness->computed_us = view->now_us;
  hr__shares_update(&fairness->shares);
  return hr__waiting_rerank_all(&queue->waiting);
}

static int64_t by_id(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  (void)queue;
  (void)view;
  (void)job;
  return 0;
}

/* ---- Fair share ------------------------------------------------------------------------------------- */

static uint64_t account_subqueue(const struct hr__queue *queue, hr_job job) {
  const struct fairness *fairness = queue->order_state;
  return fairness->account_of[job.id];
}

static int64_t key_of_account(void *self, const struct hr__subqueue *subqueue, struct hr_job_entry entry) {
  (void)entry;
  const struct hr__queue *queue = self;
  const struct fairness *fairness = queue->order_state;
  return hr__shares_key(&fairness->shares, (uint32_t)subqueue->name);
}

/* ---- Multifactor ------------------------------------------------------------------------------------ */

static double highest_priority(const struct hr_policy_env *env) {
  const struct hr_trace *trace = env->jobs;
  int32_t highest = 0;
  for (uint32_t i = 0; trace->priority && i < trace->n_jobs; i++) {
    if (trace->priority[i] > highest) highest = trace->priority[i];
    hr_arena_passed_job(env->arena, (hr_job){i});
  }
  return highest;
}

static enum hr_status create_multifactor(struct hr__queue *queue, const struct hr_policy_env *env,
                                         struct hr_error *error) {
  enum hr_status status = create(queue, env, error);
  if (status != HR_OK) return status;
  struct fairness *fairness = queue->order_state;
  fairness->weight_age = hr__queue_param(env, "weight_age")->real;
  fairness->weight_fair_share = hr__queue_param(env, "weight_fair_share")->real;
  fairness->weight_size = hr__queue_param(env, "weight_size")->real;
  fairness->weight_qos = hr__queue_param(env, "weight_qos")->real;
  fairness->max_age_us = (double)hr__queue_param_us(env, "max_age_s");
  fairness->favours_small = hr__queue_param(env, "favor_small")->integer != 0;
  fairness->highest_priority = highest_priority(env);
  for (uint32_t i = 0; i < hr_cluster_pools(env->cluster); i++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(env->cluster, (hr_pool){i});
    fairness->total_gpus += (double)spec->nodes * spec->gpus_per_node;
  }
  return HR__ARENA_ARRAY_BY_JOB(env->arena, fairness->kind_of, env->jobs->n_jobs) ? HR_OK : HR_NO_MEMORY;
}

static uint32_t find_kind(struct hr__queue *queue, struct fair_share_kind kind) {
  struct fairness *fairness = queue->order_state;
  struct hr__pair name = {(uint64_t)kind.account << 32 | (uint32_t)kind.priority, kind.milli};
  uint32_t number = hr__pair_map_intern(&fairness->kind_numbers, queue->arena, name);
  if (number == HR_NONE || !HR__ARENA_HAS_ROOM(queue->arena, fairness->kinds, number, fairness->kinds_capacity))
    return HR_NONE;
  fairness->kinds[number] = kind;
  return number;
}

static enum hr_status job_waits_multifactor(struct hr__queue *queue, const struct hr_view *view, hr_job job) {
  struct fairness *fairness = queue->order_state;
  enum hr_status status = job_waits(queue, view, job);
  if (status != HR_OK) return status;
  struct fair_share_kind kind = {fairness->account_of[job.id],
                                 queue->trace->priority ? queue->trace->priority[job.id] : 0,
                                 hr__counted_milli(queue, job)};
  fairness->kind_of[job.id] = find_kind(queue, kind);
  return fairness->kind_of[job.id] == HR_NONE ? HR_NO_MEMORY : HR_OK;
}

static uint64_t kind_subqueue(const struct hr__queue *queue, hr_job job) {
  const struct fairness *fairness = queue->order_state;
  return fairness->kind_of[job.id];
}

/* Returns the key of a job: the negated weighted sum of its factors, in millionths, because the smallest key is
   first. */
static int64_t sum_of_factors(void *self, const struct hr__subqueue *subqueue, struct hr_job_entry entry) {
  const struct hr__queue *queue = self;
  const struct fairness *fairness = queue->order_state;
  const struct fair_share_kind *kind = &fairness->kinds[subqueue->name];
  double waited_us = (double)(fairness->computed_us - queue->trace->submit_us[entry.job.id]);
  double age = waited_us <= 0 ? 0 : waited_us >= fairness->max_age_us ? 1 : waited_us / fairness->max_age_us;
  double gpus = (double)kind->milli / HR_WHOLE_GPU_MILLI;
  double size = fairness->total_gpus > 0 ? gpus / fairness->total_gpus : 0;
  double qos = kind->priority > 0 ? kind->priority / fairness->highest_priority : 0;
  double sum = fairness->weight_age * age;
  sum += fairness->weight_fair_share * fairness->shares.accounts[kind->account].factor;
  sum += fairness->weight_size * (fairness->favours_small ? 1 - size : size);
  sum += fairness->weight_qos * qos;
  return -llround(sum * 1e6);
}

/* Returns a line (struct hr__line) with the key as since_us and slowness 1, so that lines have the same order as the
   keys. This is valid because the keys of all jobs are computed at the same time, and do not change until factors are
   computed again. */
static struct hr__line line_of_sum(void *self, const struct hr__subqueue *subqueue, struct hr_job_entry entry) {
  return (struct hr__line){sum_of_factors(self, subqueue, entry), 1};
}

static const struct hr__listener listener = {.job_waits = job_waits, .job_starts = job_starts, .job_stops = job_stops};
static const struct hr__listener multifactor_listener = {
    .job_waits = job_waits_multifactor, .job_starts = job_starts, .job_stops = job_stops};

const struct hr__order hr__order_fair_share = {.key = by_id,
                                               .subqueue = account_subqueue,
                                               .full_key = key_of_account,
                                               .keys_only_grow = true,
                                               .create = create,
                                               .listener = &listener,
                                               .begin_pass = begin_pass};
const struct hr__order hr__order_multifactor = {.key = by_id,
                                                .subqueue = kind_subqueue,
                                                .full_key = sum_of_factors,
                                                .create = create_multifactor,
                                                .listener = &multifactor_listener,
                                                .begin_pass = begin_pass,
                                                .line_of = line_of_sum};

/* Dominant resource fairness (Ghodsi et al., NSDI'11). The tenant with the smallest (dominant share / weight) is first;
   within a tenant, jobs are in order of (submit, row). The share of a tenant in a resource is the amount that its
   running jobs use, divided by the total amount of the cluster. The dominant share is the maximum over all resources.
   Resources are the GPUs of each type, and CPU and memory if the pools specify them. Shares are updated after each
   start and each stop. */

/* WHOLE_SHARE is the key of a tenant with weight 1 and a dominant share of 1. MAX_KEY limits the keys of tenants with
   very small weights. */
#define WHOLE_SHARE ((double)(INT64_C(1) << 50))
#define MAX_KEY ((double)(INT64_C(1) << 62))

struct tenant {
  double weight;
  int64_t key;      /* key when subqueues were last ranked */
  int64_t next_key; /* current key */
  uint64_t *held;   /* by resource: amount that running jobs use */
};

struct drf {
  uint32_t n_resources, n_types; /* resources: GPU types, then CPU, then memory */
  uint32_t *type_of;             /* by pool: index of its GPU type */
  uint64_t *total;               /* by resource: total amount; 0: unspecified */
  struct tenant *tenants;        /* by tenant; the last element is for jobs without a tenant */
  uint32_t n_tenants;
  uint32_t changed; /* the only tenant with a changed key since the last ranking; or NO_TENANT or SEVERAL_TENANTS */
};

#define NO_TENANT HR_NONE
#define SEVERAL_TENANTS (HR_NONE - 1)

static uint32_t tenant_of(const struct hr__queue *queue, hr_job job) {
  const struct drf *drf = queue->order_state;
  uint32_t tenant = hr__tenant(queue, job);
  return tenant == HR_NONE ? drf->n_tenants - 1 : tenant;
}

/* ---- Construction ----------------------------------------------------------------------------------- */

static uint32_t type_of_pool(const struct hr_cluster *cluster, const struct drf *drf, uint32_t pool) {
  const char *gpu = hr_cluster_pool_spec(cluster, (hr_pool){pool})->gpu;
  for (uint32_t i = 0; i < pool; i++)
    if (strcmp(hr_cluster_pool_spec(cluster, (hr_pool){i})->gpu, gpu) == 0) return drf->type_of[i];
  return drf->n_types;
}

static void count_resources(const struct hr_cluster *cluster, struct drf *drf) {
  for (uint32_t i = 0; i < hr_cluster_pools(cluster); i++) {
    drf->type_of[i] = type_of_pool(cluster, drf, i);
    if (drf->type_of[i] == drf->n_types) drf->n_types++;
  }
  drf->n_resources = drf->n_types + 2;
  for (uint32_t i = 0; i < hr_cluster_pools(cluster); i++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(cluster, (hr_pool){i});
    drf->total[drf->type_of[i]] += (uint64_t)spec->nodes * spec->gpus_per_node * HR_WHOLE_GPU_MILLI;
    drf->total[drf->n_types] += (uint64_t)spec->nodes * spec->cpu_milli_per_node;
    drf->total[drf->n_types + 1] += (uint64_t)spec->nodes * spec->mem_mib_per_node;
  }
}

static enum hr_status drf_create(struct hr__queue *queue, const struct hr_policy_env *env, struct hr_error *error) {
  (void)error;
  struct drf *drf = hr_arena_alloc(env->arena, sizeof *drf);
  if (!drf) return HR_NO_MEMORY;
  uint32_t n_pools = hr_cluster_pools(env->cluster);
  *drf = (struct drf){.n_tenants = env->jobs->tenants.count + 1, .changed = NO_TENANT};
  if (!HR__ARENA_ARRAY(env->arena, drf->type_of, n_pools) ||
      !HR__ARENA_ARRAY(env->arena, drf->total, (size_t)n_pools + 2) ||
      !HR__ARENA_ARRAY(env->arena, drf->tenants, drf->n_tenants))
    return HR_NO_MEMORY;
  count_resources(env->cluster, drf);
  for (uint32_t i = 0; i < drf->n_tenants; i++) {
    struct tenant *tenant = &drf->tenants[i];
    tenant->weight = tenant_weight(env->quotas, env->jobs, i + 1 < drf->n_tenants ? i : HR_NONE);
    if (!HR__ARENA_ARRAY(env->arena, tenant->held, drf->n_resources)) return HR_NO_MEMORY;
  }
  queue->order_state = drf;
  return HR_OK;
}

/* ---- Shares ----------------------------------------------------------------------------------------- */

static int64_t key_of_share(const struct drf *drf, const struct tenant *tenant) {
  double dominant = 0;
  for (uint32_t i = 0; i < drf->n_resources; i++)
    if (drf->total[i]) dominant = fmax(dominant, (double)tenant->held[i] / (double)drf->total[i]);
  return llround(fmin(dominant / tenant->weight * WHOLE_SHARE, MAX_KEY));
}

/* Resources of a job, in addition to GPUs. Without per-GPU allocation, `tasks` is the number of tasks in the trace. */
struct fair_share_demand {
  uint64_t tasks, cpu_milli, mem_mib; /* CPU and memory of each task */
};

static struct fair_share_demand demand_of(const struct hr__queue *queue, hr_job job) {
  const struct hr_requests *requests = hr_cluster_requests(queue->cluster);
  if (requests) {
    const struct hr_request *request = &requests->request[requests->of_job[job.id]];
    return (struct fair_share_demand){request->tasks, request->cpu_milli, request->mem_mib};
  }
  const struct hr_trace *trace = queue->trace;
  return (struct fair_share_demand){trace->tasks ? trace->tasks[job.id] : 1,
                                    trace->cpu_milli ? trace->cpu_milli[job.id] : 0,
                                    trace->mem_mib ? trace->mem_mib[job.id] : 0};
}

/* Adds the resources of the job to those of its tenant (sign = 1), or subtracts them (sign = UINT64_MAX, which is -1 in
   unsigned arithmetic). */
static enum hr_status job_uses(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                               const struct hr_placement *placement, bool uses) {
  (void)view;
  const uint64_t sign = uses ? 1 : UINT64_MAX;
  struct drf *drf = queue->order_state;
  uint32_t number = tenant_of(queue, job);
  struct tenant *tenant = &drf->tenants[number];
  struct fair_share_demand demand = demand_of(queue, job);
  tenant->held[drf->type_of[placement->pool.id]] += sign * hr__counted_milli(queue, job);
  tenant->held[drf->n_types] += sign * demand.tasks * demand.cpu_milli;
  tenant->held[drf->n_types + 1] += sign * demand.tasks * demand.mem_mib;
  tenant->next_key = key_of_share(drf, tenant);
  drf->changed = drf->changed == NO_TENANT || drf->changed == number ? number : SEVERAL_TENANTS;
  return HR_OK;
}

/* ---- The order -------------------------------------------------------------------------------------- */

static enum hr_status refresh(struct hr__queue *queue, const struct hr_view *view) {
  (void)view;
  struct drf *drf = queue->order_state;
  uint32_t tenant = drf->changed;
  drf->changed = NO_TENANT;
  if (tenant == NO_TENANT) return HR_OK;
  uint32_t first = tenant == SEVERAL_TENANTS ? 0 : tenant,
           end = tenant == SEVERAL_TENANTS ? drf->n_tenants : tenant + 1;
  for (uint32_t i = first; i < end; i++) drf->tenants[i].key = drf->tenants[i].next_key;
  return tenant == SEVERAL_TENANTS ? hr__waiting_rerank_all(&queue->waiting)
                                   : hr__waiting_rerank(&queue->waiting, tenant);
}

static uint64_t subqueue(const struct hr__queue *queue, hr_job job) {
  return tenant_of(queue, job);
}

static int64_t full_key(void *self, const struct hr__subqueue *subqueue, struct hr_job_entry entry) {
  (void)entry;
  const struct hr__queue *queue = self;
  const struct drf *drf = queue->order_state;
  return drf->tenants[subqueue->name].key;
}

static const struct hr__listener drf_listener = {.job_uses = job_uses};

const struct hr__order hr__order_drf = {.key = by_id,
                                        .subqueue = subqueue,
                                        .full_key = full_key,
                                        .create = drf_create,
                                        .listener = &drf_listener,
                                        .refresh = refresh};
