/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shares of accounts (policies/queue/order/shares.h). Decayed usage is compared with a sum over all intervals of usage.
   Ranks of Fair Tree are compared with those of a recursion from the root. Factors of the rule classic are compared
   with a tree computed by hand. */

#include "policies/queue/order/shares.h"
#include "base/containers.h"
#include "harness.h"

#include <math.h>
#include <string.h>

enum { ACCOUNTS = 40, STRETCHES = 400, TENANTS = 4, USERS = 6 };

static uint64_t state = 1;

static uint32_t roll(uint32_t below) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((state >> 33) % below);
}

/* Accounts of jobs; each job has a tenant and a user. */
struct fixture {
  struct hr_arena arena;
  struct hr_trace trace;
  struct hr__queue queue;
  struct hr__shares shares;
  uint32_t tenant[ACCOUNTS], user[ACCOUNTS];
  struct hr_quota_node nodes[TENANTS];
  struct hr_quota_spec quotas;
};

static const char *const tenant_names[TENANTS] = {"a", "b", "c", "d"};

static void begin(struct fixture *f, enum hr__share_rule rule, int64_t half_life_us) {
  *f = (struct fixture){0};
  f->trace = (struct hr_trace){.n_jobs = ACCOUNTS, .tenant = f->tenant, .user = f->user};
  f->trace.tenants = (struct hr_names){TENANTS, tenant_names};
  f->queue = (struct hr__queue){.arena = &f->arena, .trace = &f->trace};
  f->quotas = (struct hr_quota_spec){.nodes = f->nodes, .fallback = {.weight = 1}};
  hr__shares_init(&f->shares, rule, half_life_us, &f->quotas);
}

static void set_weight(struct fixture *f, uint32_t tenant, double weight) {
  struct hr_quota_node *node = &f->nodes[f->quotas.n_nodes++];
  *node = (struct hr_quota_node){.is_tenant = true, .weight = weight};
  node->name = (char *)(uintptr_t)tenant_names[tenant]; /* the name is not modified */
}

static uint32_t account(struct fixture *f, uint32_t job) {
  uint32_t number = hr__shares_account(&f->shares, &f->queue, (hr_job){job});
  CU_ASSERT_NOT_EQUAL_FATAL(number, HR_NONE);
  return number;
}

/* ---- Usage ------------------------------------------------------------------------------------------ */

struct stretch {
  int64_t from_us, to_us, milli;
};

/* At time T, the usage of g GPUs from a to b is g (h / ln 2) (2^(-(T - b) / h) - 2^(-(T - a) / h)); without decay, it
   is g (b - a). The two powers may be almost equal, so their difference is computed as 2^(-(T - b) / h) (1 - 2^(-(b -
   a) / h)). */
static double used(const struct stretch *stretch, int64_t now_us, int64_t half_life_us) {
  int64_t end_us = stretch->to_us < now_us ? stretch->to_us : now_us;
  if (stretch->from_us >= now_us) return 0;
  double a = (double)(now_us - stretch->from_us), b = (double)(now_us - end_us), h = (double)half_life_us;
  double gpus = (double)stretch->milli / 1000;
  if (half_life_us == 0) return gpus * (a - b);
  return gpus * (h / log(2)) * exp2(-b / h) * -expm1(-(a - b) / h * log(2));
}

static int by_time(const void *left, const void *right) {
  const int64_t *a = left, *b = right;
  return (*a > *b) - (*a < *b);
}

/* Returns the decayed usage at the current time, in GPU-microseconds. */
static double usage_now(struct fixture *f, uint32_t of) {
  hr__shares_add_running(&f->shares, of, 0);
  double scaled = f->shares.accounts[of].usage;
  return f->shares.half_life_us > 0 ? scaled / f->shares.x : scaled;
}

static void check_usage(int64_t half_life_us) {
  struct fixture f;
  struct stretch stretches[STRETCHES];
  int64_t times[2 * STRETCHES];
  begin(&f, HR__SHARE_TREE, half_life_us);
  uint32_t of = account(&f, 0);
  for (uint32_t i = 0; i < STRETCHES; i++) {
    int64_t from_us = roll(1000000) * INT64_C(1000003);
    stretches[i] =
        (struct stretch){from_us, from_us + roll(1000000) * (roll(4) ? INT64_C(100003) : 1), 1 + roll(64000)};
    times[2 * i] = stretches[i].from_us;
    times[2 * i + 1] = stretches[i].to_us;
  }
  qsort(times, 2 * STRETCHES, sizeof *times, by_time);
  for (uint32_t i = 0; i < 2 * STRETCHES; i++) {
    if (i > 0 && times[i] == times[i - 1]) continue;
    hr__shares_advance(&f.shares, times[i]);
    for (uint32_t k = 0; k < STRETCHES; k++) {
      if (stretches[k].from_us == times[i]) hr__shares_add_running(&f.shares, of, stretches[k].milli);
      if (stretches[k].to_us == times[i]) hr__shares_add_running(&f.shares, of, -stretches[k].milli);
    }
    int64_t now_us = times[i] + roll(2) * roll(1000000);
    if (i + 1 < 2 * STRETCHES && now_us > times[i + 1]) now_us = times[i];
    hr__shares_advance(&f.shares, now_us);
    double expected = 0, told = usage_now(&f, of);
    for (uint32_t k = 0; k < STRETCHES; k++) expected += used(&stretches[k], now_us, half_life_us);
    CU_ASSERT_FATAL(fabs(told - expected) <= 1e-9 * expected + 1e-3);
  }
  hr__arena_finish(&f.arena);
}

static void usage_equals_sum_over_intervals(void) {
  const int64_t day_us = 86400 * HR_SECOND_US;
  const int64_t half_lives_us[] = {0, day_us / 24, day_us, 7 * day_us, 1000 * day_us};
  for (size_t i = 0; i < sizeof half_lives_us / sizeof *half_lives_us; i++) check_usage(half_lives_us[i]);
}

/* ---- Fair Tree -------------------------------------------------------------------------------------- */

/* Without decay: sets the usage of an account, by a run of one second. */
static void set_usage(struct fixture *f, uint32_t of, uint32_t gpus) {
  int64_t milli = (int64_t)gpus * 1000;
  hr__shares_advance(&f->shares, 0);
  hr__shares_add_running(&f->shares, of, milli);
  hr__shares_advance(&f->shares, HR_SECOND_US);
  hr__shares_add_running(&f->shares, of, -milli);
}

struct tree {
  uint32_t n_accounts, number[ACCOUNTS], tenant[ACCOUNTS], gpus[ACCOUNTS];
  double weight[TENANTS];
  bool placed[ACCOUNTS];
};

static double level(const struct tree *tree, uint32_t tenant) {
  double sum = 0;
  for (uint32_t i = 0; i < tree->n_accounts; i++) sum += tree->tenant[i] == tenant ? tree->gpus[i] : 0;
  return sum * 1e6 / tree->weight[tenant];
}

/* Returns the number of accounts that precede an account. These are all users of tenants with less usage / weight than
   its own tenant. In addition, of its own tenant and of tenants with equal usage / weight, these are the users with
   less usage. */
static uint32_t rank_of(const struct tree *tree, uint32_t of) {
  uint32_t before = 0;
  for (uint32_t i = 0; i < tree->n_accounts; i++) {
    double theirs = level(tree, tree->tenant[i]), own = level(tree, tree->tenant[of]);
    before += theirs < own || (theirs == own && tree->gpus[i] < tree->gpus[of]);
  }
  return before;
}

static void tree_factors_equal_recursive_ranks(void) {
  for (uint32_t round = 0; round < 300; round++) {
    struct fixture f;
    struct tree tree = {0};
    begin(&f, HR__SHARE_TREE, 0);
    for (uint32_t t = 0; t < TENANTS; t++) set_weight(&f, t, tree.weight[t] = 1 << roll(3));
    for (uint32_t t = 0; t < TENANTS; t++)
      for (uint32_t u = 0; u < USERS; u++) {
        uint32_t i = tree.n_accounts;
        if (roll(3) == 0) continue;
        f.tenant[i] = tree.tenant[i] = t;
        f.user[i] = u;
        tree.gpus[i] = roll(5);
        tree.n_accounts++;
      }
    for (uint32_t i = 0; i < tree.n_accounts; i++) tree.number[i] = account(&f, i);
    for (uint32_t i = 0; i < tree.n_accounts; i++)
      if (tree.gpus[i]) set_usage(&f, tree.number[i], tree.gpus[i]);
    hr__shares_update(&f.shares);
    for (uint32_t i = 0; i < tree.n_accounts; i++) {
      const struct hr__share_account *at = &f.shares.accounts[tree.number[i]];
      uint32_t rank = rank_of(&tree, i);
      CU_ASSERT_DOUBLE_EQUAL(at->factor, (double)(tree.n_accounts - rank) / tree.n_accounts, 1e-12);
      for (uint32_t k = 0; k < tree.n_accounts; k++) {
        int64_t own = hr__shares_key(&f.shares, tree.number[i]), theirs = hr__shares_key(&f.shares, tree.number[k]);
        CU_ASSERT_EQUAL_FATAL(own < theirs, rank < rank_of(&tree, k));
      }
    }
    hr__arena_finish(&f.arena);
  }
}

/* 12 GPUs with weight 3 and 8 GPUs with weight 2 are equal usages per weight, for any run time. */
static void rounding_does_not_break_ties(void) {
  for (uint32_t round = 1; round <= 200; round++) {
    struct fixture f;
    begin(&f, HR__SHARE_TREE, 3 * HR_SECOND_US);
    f.trace.user = NULL;
    set_weight(&f, 0, 3);
    set_weight(&f, 1, 2);
    f.tenant[1] = 1;
    uint32_t a = account(&f, 0), b = account(&f, 1);
    hr__shares_add_running(&f.shares, a, 12000);
    hr__shares_add_running(&f.shares, b, 8000);
    hr__shares_advance(&f.shares, (int64_t)round * 123457);
    hr__shares_update(&f.shares);
    CU_ASSERT_EQUAL(f.shares.accounts[a].factor, 1);
    CU_ASSERT_EQUAL(f.shares.accounts[b].factor, 1);
    hr__arena_finish(&f.arena);
  }
}

/* ---- Classic ---------------------------------------------------------------------------------------- */

/*
 * Tenant a (weight 3) has users 0 and 1, who used 6 and 2 of the total 16; tenant b (weight 1) has user 2, who used 8.
 * The factor of a user is 2^(-U / S), with the share S and the effective usage U:
 *
 *   a 0: S = 3/4 x 1/2 = 3/8, U = 6/16 + (8/16 - 6/16) / 2 = 7/16    2^(-7/6)
 *   a 1: S = 3/8,             U = 2/16 + (8/16 - 2/16) / 2 = 5/16    2^(-5/6)
 *   b 2: S = 1/4,             U = 8/16 + 0                 = 1/2     2^-2
 */
static void classic_factors_equal_the_formula(void) {
  struct fixture f;
  begin(&f, HR__SHARE_CLASSIC, 0);
  set_weight(&f, 0, 3);
  set_weight(&f, 1, 1);
  const uint32_t gpus[] = {6, 2, 8};
  const double factors[] = {exp2(-7.0 / 6), exp2(-5.0 / 6), 0.25};
  const int64_t ranks[] = {1, 0, 2};
  uint32_t number[3];
  for (uint32_t i = 0; i < 3; i++) {
    f.tenant[i] = i / 2;
    f.user[i] = i;
    number[i] = account(&f, i);
    CU_ASSERT_EQUAL(f.shares.accounts[number[i]].factor, 1);
  }
  for (uint32_t i = 0; i < 3; i++) set_usage(&f, number[i], gpus[i]);
  hr__shares_update(&f.shares);
  for (uint32_t i = 0; i < 3; i++) {
    CU_ASSERT_DOUBLE_EQUAL(f.shares.accounts[number[i]].factor, factors[i], 1e-12);
    for (uint32_t k = 0; k < 3; k++) {
      int64_t own = hr__shares_key(&f.shares, number[i]), theirs = hr__shares_key(&f.shares, number[k]);
      CU_ASSERT_EQUAL(own < theirs, ranks[i] < ranks[k]);
    }
  }
  hr__arena_finish(&f.arena);
}

/* Tenants a and b each have 1/1002 of all shares. a used 1/3 of the total usage, so its U / S is 334; b used 2/3, so
   its U / S is 668. Both factors are therefore almost 0. */
static void tiny_classic_factors_differ(void) {
  struct fixture f;
  uint32_t number[3];
  begin(&f, HR__SHARE_CLASSIC, 0);
  set_weight(&f, 2, 1000);
  for (uint32_t i = 0; i < 3; i++) {
    f.tenant[i] = i;
    number[i] = account(&f, i);
  }
  set_usage(&f, number[0], 1);
  set_usage(&f, number[1], 2);
  hr__shares_update(&f.shares);
  CU_ASSERT(hr__shares_key(&f.shares, number[2]) < hr__shares_key(&f.shares, number[0]));
  CU_ASSERT(hr__shares_key(&f.shares, number[0]) < hr__shares_key(&f.shares, number[1]));
  hr__arena_finish(&f.arena);
}

TEST_MAIN("shares", TEST(usage_equals_sum_over_intervals), TEST(tree_factors_equal_recursive_ranks),
          TEST(rounding_does_not_break_ties), TEST(tiny_classic_factors_differ),
          TEST(classic_factors_equal_the_formula))
