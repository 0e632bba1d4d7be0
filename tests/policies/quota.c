/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The quota tree. Some trees are computed by hand. The results for random trees are compared with
   those of a second, recursive implementation, which stores only the usage of each tenant. Amounts in this file are
   small integers, in thousandths of a GPU. */

#include "base/containers.h"
#include "base/random.h"
#include "harness.h"
#include "headroom/policy.h"
#include "headroom/policy_kit.h"

#include <math.h>
#include <string.h>

enum { MAX_NODES = 40 };
#define NEVER HR_NO_LIMIT

/* A quota spec, a trace with the tenants of the spec and with other tenants, and the tree. */
struct fixture {
  struct hr_quota_node nodes[MAX_NODES];
  struct hr_quota_spec spec;
  char names[MAX_NODES][16];
  const char *tenants[MAX_NODES];
  struct hr_trace trace;
  struct hr_arena arena;
  struct hr_quota_tree *tree;
};

static void begin(struct fixture *f) {
  *f = (struct fixture){0};
  f->spec = (struct hr_quota_spec){.nodes = f->nodes,
                                   .fallback = {.parent = HR_NONE,
                                                .borrow_milli = NEVER,
                                                .lend_milli = NEVER,
                                                .max_milli = NEVER,
                                                .is_tenant = true,
                                                .weight = 1}};
}

static uint32_t add(struct fixture *f, uint32_t parent, bool is_tenant, uint64_t guaranteed) {
  uint32_t place = f->spec.n_nodes++;
  snprintf(f->names[place], sizeof f->names[place], "%c%u", is_tenant ? 't' : 'c', (unsigned)place);
  f->nodes[place] = (struct hr_quota_node){.name = f->names[place],
                                           .parent = parent,
                                           .is_tenant = is_tenant,
                                           .guaranteed_milli = guaranteed,
                                           .borrow_milli = NEVER,
                                           .lend_milli = NEVER,
                                           .max_milli = NEVER,
                                           .weight = 1};
  return place;
}

static void add_tenant_of_trace(struct fixture *f, const char *name) {
  f->tenants[f->trace.tenants.count++] = name;
}

/* Adds a tenant to a cohort and to the trace; returns the index of the tenant. */
static uint32_t add_tenant(struct fixture *f, uint32_t parent, uint64_t guaranteed) {
  add_tenant_of_trace(f, f->names[add(f, parent, true, guaranteed)]);
  return f->trace.tenants.count - 1;
}

static struct hr_quota_node *last(struct fixture *f) {
  return &f->nodes[f->spec.n_nodes - 1];
}

static void create_tree(struct fixture *f, uint64_t total) {
  f->trace.tenants.text = f->tenants;
  f->tree = hr_quota_tree_create(&f->arena, &f->spec, &f->trace, total);
  CU_ASSERT_PTR_NOT_NULL_FATAL(f->tree);
}

#define AVAILABLE(tenant, milli) CU_ASSERT_EQUAL(hr_quota_tree_available(f.tree, tenant), milli)
#define POTENTIAL(tenant, milli) CU_ASSERT_EQUAL(hr_quota_tree_potential(f.tree, tenant), milli)

/* ---- Cases computed by hand ------------------------------------------------------------------------- */

static void guarantees_are_lent_within_the_cohort(void) {
  struct fixture f;
  begin(&f);
  uint32_t cohort = add(&f, HR_NONE, false, 0);
  f.nodes[cohort].borrow_milli = 0;
  uint32_t a = add_tenant(&f, cohort, 6), b = add_tenant(&f, cohort, 4);
  create_tree(&f, 100);
  AVAILABLE(a, 10);
  POTENTIAL(a, 10);
  hr_quota_tree_take(f.tree, a, 8);
  AVAILABLE(a, 2);
  AVAILABLE(b, 2);
  CU_ASSERT_TRUE(hr_quota_tree_borrows(f.tree, a, 0));
  CU_ASSERT_TRUE(hr_quota_tree_borrows(f.tree, b, 5));
  CU_ASSERT_FALSE(hr_quota_tree_borrows(f.tree, b, 4));
  CU_ASSERT_TRUE(hr_quota_tree_may_reclaim(f.tree, b, 4, a));
  CU_ASSERT_FALSE(hr_quota_tree_may_reclaim(f.tree, b, 5, a));
  CU_ASSERT_FALSE(hr_quota_tree_may_reclaim(f.tree, a, 1, b));
  CU_ASSERT_FALSE(hr_quota_tree_may_reclaim(f.tree, a, 0, a));
  hr_quota_tree_give(f.tree, a, 2);
  CU_ASSERT_FALSE(hr_quota_tree_may_reclaim(f.tree, b, 4, a));
  hr__arena_finish(&f.arena);
}

static void lending_limit(void) {
  struct fixture f;
  begin(&f);
  uint32_t cohort = add(&f, HR_NONE, false, 0);
  f.nodes[cohort].borrow_milli = 0;
  uint32_t a = add_tenant(&f, cohort, 6);
  last(&f)->lend_milli = 0;
  uint32_t b = add_tenant(&f, cohort, 4);
  last(&f)->lend_milli = 1;
  create_tree(&f, 10);
  AVAILABLE(a, 7); /* its own quota, and one of b's */
  AVAILABLE(b, 4);
  hr_quota_tree_take(f.tree, a, 7);
  AVAILABLE(a, 0);
  AVAILABLE(b, 3);
  CU_ASSERT_TRUE(hr_quota_tree_may_reclaim(f.tree, b, 4, a));
  hr_quota_tree_take(f.tree, b, 3);
  AVAILABLE(b, 0);
  hr__arena_finish(&f.arena);
}

static void borrowing_limit(void) {
  struct fixture f;
  begin(&f);
  uint32_t cohort = add(&f, HR_NONE, false, 0);
  f.nodes[cohort].borrow_milli = 0;
  uint32_t a = add_tenant(&f, cohort, 6);
  last(&f)->borrow_milli = 3;
  uint32_t b = add_tenant(&f, cohort, 10);
  create_tree(&f, 16);
  AVAILABLE(a, 9);
  POTENTIAL(a, 9);
  POTENTIAL(b, 16);
  hr_quota_tree_take(f.tree, a, 7);
  AVAILABLE(a, 2);
  AVAILABLE(b, 9);
  hr__arena_finish(&f.arena);
}

/* Cohort org has a guarantee of 2 itself, and two children. Cohort research contains the tenants a and b, with
   guarantees of 4 each, and lends at most 3. Cohort product contains tenant c, with a guarantee of 6, and has a maximum
   of 9. */
struct company {
  struct fixture f;
  uint32_t a, b, c;
};

static void create_company(struct company *company, uint64_t total) {
  struct fixture *f = &company->f;
  begin(f);
  uint32_t org = add(f, HR_NONE, false, 2), research = add(f, org, false, 0);
  f->nodes[research].lend_milli = 3;
  uint32_t product = add(f, org, false, 0);
  f->nodes[product].max_milli = 9;
  company->a = add_tenant(f, research, 4);
  company->b = add_tenant(f, research, 4);
  company->c = add_tenant(f, product, 6);
  add_tenant_of_trace(f, "stranger");
  create_tree(f, total);
}

static void three_levels(void) {
  struct company company;
  create_company(&company, 20); /* 16 are guaranteed; the root has the other 4 */
  struct fixture f = company.f;
  uint32_t a = company.a, b = company.b, c = company.c, stranger = c + 1;
  AVAILABLE(a, 20);
  AVAILABLE(c, 9); /* limited by the maximum of 9; without it, 15 including its own 6 */
  POTENTIAL(c, 9);
  AVAILABLE(stranger, 15);
  AVAILABLE(HR_NONE, 15);
  hr_quota_tree_take(f.tree, stranger, 12);
  AVAILABLE(a, 8);
  AVAILABLE(c, 3);
  CU_ASSERT_TRUE(hr_quota_tree_may_reclaim(f.tree, a, 4, stranger));
  /* because research has a guarantee of 8 in total */
  CU_ASSERT_TRUE(hr_quota_tree_may_reclaim(f.tree, a, 8, stranger));
  CU_ASSERT_TRUE(hr_quota_tree_may_reclaim(f.tree, a, 16, stranger));
  CU_ASSERT_FALSE(hr_quota_tree_may_reclaim(f.tree, a, 17, stranger));
  CU_ASSERT_FALSE(hr_quota_tree_may_reclaim(f.tree, stranger, 1, a));
  hr_quota_tree_take(f.tree, a, 8);
  AVAILABLE(a, 0);
  AVAILABLE(b, 0);
  AVAILABLE(c, 0);
  CU_ASSERT_TRUE(hr_quota_tree_may_reclaim(f.tree, b, 4, a));
  CU_ASSERT_FALSE(hr_quota_tree_may_reclaim(f.tree, c, 6, a)); /* because research as a whole is within its guarantee */
  CU_ASSERT_TRUE(hr_quota_tree_may_reclaim(f.tree, c, 6, stranger));
  hr__arena_finish(&f.arena);
}

static void usage_may_exceed_availability(void) {
  struct company company;
  create_company(&company, 17);
  struct fixture f = company.f;
  hr_quota_tree_take(f.tree, company.c + 1, 15);
  AVAILABLE(company.c, -3);
  AVAILABLE(company.a, 2); /* research keeps 5 for itself */
  hr_quota_tree_take(f.tree, company.a, 10);
  AVAILABLE(company.a, -8);
  hr__arena_finish(&f.arena);
  create_company(&company, 0); /* guarantees are larger than the cluster */
  f = company.f;
  POTENTIAL(company.a, 16);
  hr__arena_finish(&f.arena);
}

static void maximum_applies_at_every_level(void) {
  struct fixture f;
  begin(&f);
  uint32_t org = add(&f, HR_NONE, false, 0), team = add(&f, org, false, 0);
  f.nodes[org].max_milli = 10;
  f.nodes[team].max_milli = 7;
  uint32_t a = add_tenant(&f, team, 2);
  last(&f)->lend_milli = 0;
  uint32_t b = add_tenant(&f, team, 0), c = add_tenant(&f, org, 0);
  last(&f)->max_milli = 0;
  uint32_t d = add_tenant(&f, org, 0);
  create_tree(&f, 100);
  POTENTIAL(a, 7);
  POTENTIAL(c, 0);
  AVAILABLE(c, 0);
  hr_quota_tree_take(f.tree, d, 5);
  AVAILABLE(b, 5);
  hr_quota_tree_take(f.tree, b, 4);
  AVAILABLE(a, 1);
  hr_quota_tree_give(f.tree, d, 5);
  AVAILABLE(a, 3);
  hr__arena_finish(&f.arena);
}

static void weighted_shares(void) {
  struct fixture f;
  begin(&f);
  uint32_t cohort = add(&f, HR_NONE, false, 0);
  f.nodes[cohort].borrow_milli = 0;
  uint32_t a = add_tenant(&f, cohort, 6), b = add_tenant(&f, cohort, 14);
  f.nodes[2].weight = 2;
  create_tree(&f, 20);
  hr_quota_tree_take(f.tree, a, 6);
  CU_ASSERT_EQUAL(hr_quota_tree_share(f.tree, a, 0), 0);
  CU_ASSERT_EQUAL(hr_quota_tree_share(f.tree, a, 4), 200);
  CU_ASSERT_EQUAL(hr_quota_tree_share(f.tree, b, 18), 100);
  hr__arena_finish(&f.arena);
  begin(&f);
  cohort = add(&f, HR_NONE, false, 0);
  f.nodes[cohort].max_milli = 0;
  a = add_tenant(&f, cohort, 0);
  create_tree(&f, 20);
  CU_ASSERT_EQUAL(hr_quota_tree_share(f.tree, a, 0), 0);
  CU_ASSERT_TRUE(isinf(hr_quota_tree_share(f.tree, a, 1)));
  hr__arena_finish(&f.arena);
}

static void large_amounts_do_not_overflow(void) {
  struct fixture f;
  begin(&f);
  uint32_t cohort = add(&f, HR_NONE, false, UINT64_MAX - 1);
  f.nodes[cohort].borrow_milli = UINT64_MAX - 1;
  f.nodes[cohort].lend_milli = UINT64_MAX - 1;
  uint32_t a = add_tenant(&f, cohort, HR_MAX_QUOTA_MILLI);
  create_tree(&f, UINT64_MAX);
  int64_t before = hr_quota_tree_available(f.tree, a);
  CU_ASSERT_TRUE(before > (int64_t)(2 * HR_MAX_QUOTA_MILLI));
  CU_ASSERT_TRUE(hr_quota_tree_borrows(f.tree, a, UINT64_MAX));
  CU_ASSERT_FALSE(hr_quota_tree_may_reclaim(f.tree, a, UINT64_MAX, HR_NONE));
  hr_quota_tree_take(f.tree, a, UINT64_MAX);
  CU_ASSERT_TRUE(hr_quota_tree_available(f.tree, a) <= 0);
  hr_quota_tree_give(f.tree, a, UINT64_MAX);
  CU_ASSERT_FALSE(hr_quota_tree_borrows(f.tree, a, 0));
  CU_ASSERT_EQUAL(hr_quota_tree_available(f.tree, a), before);
  hr__arena_finish(&f.arena);
}

/* ---- Random cases ----------------------------------------------------------------------------------- */

/* A random tree, for which the formulas are evaluated directly. Node -1 is the root. The node of a tenant of the trace
   that is not in the spec is n_nodes + the index of the tenant. */
struct brute {
  const struct fixture *f;
  int64_t total;
  int64_t used[MAX_NODES + 1]; /* by tenant of the trace; the last element is for jobs without a tenant */
};

static int n_all(const struct brute *b) {
  return (int)(b->f->spec.n_nodes + b->f->trace.tenants.count + 1);
}

static int node_of(const struct brute *b, uint32_t tenant) {
  const struct hr_trace *trace = &b->f->trace;
  for (uint32_t i = 0; tenant < trace->tenants.count && i < b->f->spec.n_nodes; i++)
    if (b->f->nodes[i].is_tenant && strcmp(b->f->nodes[i].name, trace->tenants.text[tenant]) == 0) return (int)i;
  return (int)(b->f->spec.n_nodes + (tenant < trace->tenants.count ? tenant : trace->tenants.count));
}

static const struct hr_quota_node *spec_of(const struct brute *b, int n) {
  return n < (int)b->f->spec.n_nodes ? &b->f->nodes[n] : &b->f->spec.fallback;
}

/* Returns whether node n exists. For a tenant that is in the spec, node n_nodes + index does not exist. */
static bool exists(const struct brute *b, int n) {
  int tenant = n - (int)b->f->spec.n_nodes;
  return tenant < 0 || node_of(b, (uint32_t)tenant) == n;
}

static int parent_of(const struct brute *b, int n) {
  uint32_t parent = spec_of(b, n)->parent;
  return parent == HR_NONE ? -1 : (int)parent;
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t local(const struct brute *b, int n);

static int64_t subtree(const struct brute *b, int n) {
  int64_t sum = n < 0 ? 0 : (int64_t)spec_of(b, n)->guaranteed_milli, all = 0;
  for (int c = 0; c < n_all(b); c++) {
    if (!exists(b, c)) continue;
    all += (int64_t)spec_of(b, c)->guaranteed_milli;
    if (parent_of(b, c) == n) sum += subtree(b, c) - local(b, c);
  }
  return n < 0 ? sum + larger(0, b->total - all) : sum;
}

static int64_t local(const struct brute *b, int n) {
  uint64_t limit = spec_of(b, n)->lend_milli;
  return limit == NEVER ? 0 : larger(0, subtree(b, n) - (int64_t)limit);
}

/* Returns the usage of a node. If `counted`, returns the usage as Kueue counts it: each child adds only the part of its
   usage that exceeds the capacity that it does not lend. Otherwise returns all usage at the node and below it. */
static int64_t usage(const struct brute *b, int n, bool counted) {
  int64_t sum = 0;
  for (uint32_t tenant = 0; tenant <= b->f->trace.tenants.count; tenant++)
    if (node_of(b, tenant) == n) sum += b->used[tenant];
  for (int c = 0; c < n_all(b); c++)
    if (exists(b, c) && parent_of(b, c) == n)
      sum += counted ? larger(0, usage(b, c, true) - local(b, c)) : usage(b, c, false);
  return sum;
}

static int64_t available(const struct brute *b, int n) {
  if (n < 0) return subtree(b, n) - usage(b, n, true);
  int64_t parent = available(b, parent_of(b, n)), kept = local(b, n), used = usage(b, n, true);
  if (spec_of(b, n)->borrow_milli != NEVER)
    parent = smaller(parent, subtree(b, n) - kept - larger(0, used - kept) + (int64_t)spec_of(b, n)->borrow_milli);
  return larger(0, kept - used) + parent;
}

static int64_t potential(const struct brute *b, int n) {
  if (n < 0) return subtree(b, n);
  int64_t sum = local(b, n) + potential(b, parent_of(b, n));
  if (spec_of(b, n)->borrow_milli == NEVER) return sum;
  return smaller(sum, subtree(b, n) + (int64_t)spec_of(b, n)->borrow_milli);
}

/* Returns `milli`, or less if the maximum of the node or of one of its ancestors allows only less. With `of_usage`, the
   current usage is subtracted from the maxima; otherwise the usage is taken as 0. */
static int64_t limited_by_maxima(const struct brute *b, int n, bool of_usage, int64_t milli) {
  for (; n >= 0; n = parent_of(b, n))
    if (spec_of(b, n)->max_milli != NEVER)
      milli = smaller(milli, (int64_t)spec_of(b, n)->max_milli - (of_usage ? usage(b, n, false) : 0));
  return milli;
}

static bool is_above(const struct brute *b, int above, int n) {
  while (n >= 0 && n != above) n = parent_of(b, n);
  return n == above;
}

static bool may_reclaim(const struct brute *b, int from, int64_t wanted, int to) {
  bool fits = false;
  for (int n = to; !is_above(b, n, from); n = parent_of(b, n))
    if (usage(b, n, true) <= subtree(b, n)) return false;
  for (int n = from; !is_above(b, n, to); n = parent_of(b, n)) {
    int64_t used = usage(b, n, true);
    fits = fits || used + wanted <= subtree(b, n);
    wanted = larger(0, wanted - larger(0, local(b, n) - used));
  }
  return fits;
}

static struct hr__stream draws;

static uint32_t draw(uint32_t below) {
  return hr__stream_next(&draws) % below;
}

static uint64_t draw_limit(void) {
  return draw(2) ? NEVER : draw(12);
}

static void draw_limits(struct hr_quota_node *node) {
  node->borrow_milli = draw_limit();
  node->lend_milli = draw_limit();
  node->max_milli = draw(3) ? NEVER : 5 + draw(30);
  node->weight = 1 + draw(3);
}

static void draw_tree(struct fixture *f) {
  begin(f);
  uint32_t n_cohorts = draw(7), n_tenants = 1 + draw(7);
  for (uint32_t i = 0; i < n_cohorts; i++) {
    add(f, i && draw(4) ? draw(i) : HR_NONE, false, draw(2) ? draw(6) : 0);
    draw_limits(last(f));
  }
  for (uint32_t i = 0; i < n_tenants; i++) {
    add(f, n_cohorts && draw(5) ? draw(n_cohorts) : HR_NONE, true, draw(10));
    draw_limits(last(f));
    if (draw(6)) add_tenant_of_trace(f, last(f)->name);
  }
  add_tenant_of_trace(f, "stranger");
  if (draw(2)) return;
  add_tenant_of_trace(f, "c0"); /* a tenant with the name of a cohort */
  f->spec.fallback.guaranteed_milli = draw(4);
  f->spec.fallback.parent = n_cohorts ? draw(n_cohorts) : HR_NONE;
  draw_limits(&f->spec.fallback);
}

static double share(const struct brute *b, int n, int64_t extra) {
  int64_t borrowed = larger(0, usage(b, n, true) + extra - subtree(b, n));
  int64_t lendable = limited_by_maxima(b, parent_of(b, n), false, potential(b, parent_of(b, n)));
  if (!borrowed) return 0;
  return lendable > 0 ? 1000.0 * (double)borrowed / (double)lendable / spec_of(b, n)->weight : HUGE_VAL;
}

static void compare(const struct brute *b, uint32_t tenant) {
  const struct hr_quota_tree *tree = b->f->tree;
  int n = node_of(b, tenant);
  CU_ASSERT_EQUAL_FATAL(hr_quota_tree_available(tree, tenant), limited_by_maxima(b, n, true, available(b, n)));
  CU_ASSERT_EQUAL_FATAL((int64_t)hr_quota_tree_potential(tree, tenant),
                        limited_by_maxima(b, n, false, potential(b, n)));
  CU_ASSERT_EQUAL_FATAL(hr_quota_tree_borrows(tree, tenant, 0), b->used[tenant] > subtree(b, n));
  uint32_t milli = draw(12), victim = draw(b->f->trace.tenants.count + 1);
  CU_ASSERT_EQUAL_FATAL(hr_quota_tree_borrows(tree, tenant, milli), b->used[tenant] + milli > subtree(b, n));
  CU_ASSERT_EQUAL_FATAL(hr_quota_tree_share(tree, tenant, milli), share(b, n, milli));
  CU_ASSERT_EQUAL_FATAL(hr_quota_tree_may_reclaim(tree, tenant, milli, victim),
                        may_reclaim(b, n, milli, node_of(b, victim)));
}

static void take(struct brute *b, uint32_t tenant, int64_t milli) {
  if (milli >= 0)
    hr_quota_tree_take(b->f->tree, tenant, (uint64_t)milli);
  else
    hr_quota_tree_give(b->f->tree, tenant, (uint64_t)-milli);
  b->used[tenant] += milli;
}

/* Adds random usage, sometimes more than is available, and then removes some of it. */
static void use_random_amounts(struct brute *b) {
  uint32_t n_tenants = b->f->trace.tenants.count;
  for (int step = 0; step < 20; step++) {
    uint32_t tenant = draw(n_tenants + 1), other = draw(n_tenants + 1);
    int64_t before = hr_quota_tree_available(b->f->tree, other), milli = draw(9);
    take(b, tenant, milli);
    compare(b, other);
    if (draw(2)) {
      take(b, tenant, -milli);
      CU_ASSERT_EQUAL_FATAL(hr_quota_tree_available(b->f->tree, other), before);
    }
  }
  for (uint32_t tenant = 0; tenant <= n_tenants; tenant++) compare(b, tenant);
}

/* The tenants use, in random order and in random portions, all capacity that is available to them. Checks that no
   maximum is exceeded, and that the total usage is at most the size of the cluster or the sum of the guarantees,
   whichever is larger. */
static void use_available_amounts(struct brute *b) {
  uint32_t n_tenants = b->f->trace.tenants.count;
  int64_t all = 0, guaranteed = 0;
  for (uint32_t tenant = 0; tenant <= n_tenants; tenant++) take(b, tenant, -b->used[tenant]);
  for (int step = 0; step < 60; step++) {
    uint32_t tenant = step < 40 ? draw(n_tenants + 1) : (uint32_t)step % (n_tenants + 1);
    int64_t maximum = hr_quota_tree_available(b->f->tree, tenant);
    CU_ASSERT_FATAL(maximum >= 0);
    take(b, tenant, step < 40 ? draw((uint32_t)maximum + 1) : maximum);
    CU_ASSERT_FATAL(b->used[tenant] <= (int64_t)hr_quota_tree_potential(b->f->tree, tenant));
  }
  for (int n = 0; n < n_all(b); n++) {
    if (!exists(b, n)) continue;
    guaranteed += (int64_t)spec_of(b, n)->guaranteed_milli;
    CU_ASSERT_FATAL((uint64_t)usage(b, n, false) <= spec_of(b, n)->max_milli);
  }
  for (uint32_t tenant = 0; tenant <= n_tenants; tenant++) all += b->used[tenant];
  CU_ASSERT_FATAL(all <= larger(guaranteed, b->total));
  CU_ASSERT_FATAL(usage(b, -1, true) <= subtree(b, -1));
}

/* Creates a tree for a different cluster size, and adds the same usage in another order. The result must not depend on
   that order. */
static void create_tree_again(struct fixture *f, struct brute *b, uint32_t total) {
  b->total = total;
  create_tree(f, total);
  for (uint32_t tenant = 0; tenant <= f->trace.tenants.count; tenant++)
    hr_quota_tree_take(f->tree, tenant, (uint64_t)b->used[tenant]);
}

static void random_trees_equal_the_formulas(void) {
  hr__stream_init(&draws, 20, HR__PURPOSE_ARRIVAL, 0, 0);
  for (int round = 0; round < 1000; round++) {
    struct fixture f;
    draw_tree(&f);
    struct brute brute = {.f = &f, .total = draw(60)};
    create_tree(&f, (uint64_t)brute.total);
    use_random_amounts(&brute);
    create_tree_again(&f, &brute, draw(60));
    use_random_amounts(&brute);
    use_available_amounts(&brute);
    hr__arena_finish(&f.arena);
  }
}

TEST_MAIN("policies_quota", TEST(guarantees_are_lent_within_the_cohort), TEST(lending_limit), TEST(borrowing_limit),
          TEST(three_levels), TEST(usage_may_exceed_availability), TEST(maximum_applies_at_every_level),
          TEST(weighted_shares), TEST(large_amounts_do_not_overflow), TEST(random_trees_equal_the_formulas))
