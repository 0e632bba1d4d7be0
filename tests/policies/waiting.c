/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The waiting jobs with quotas, compared with a scan of all jobs, over random quota trees. Random operations add,
   start, stop and remove jobs, and change the ranks of tenants. After each operation, three jobs are compared for each
   shape: the first job that is not held back, the first job within its tenant's guarantee, and the first job with a
   value within a bound. */

#include "policies/queue/waiting.h"
#include "base/containers.h"
#include "harness.h"
#include "headroom/policy_kit.h"

#include <stdlib.h>

enum { TREES = 500, STEPS = 1500, JOBS = 700, COHORTS = 4, TENANTS = 9, KINDS = 2, SHAPES = 3 };

static uint64_t state = 1;

static uint32_t roll(uint32_t below) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((state >> 33) % below);
}

enum stage { WAITS, RUNS, GONE };

struct job {
  enum stage stage;
  uint32_t tenant, kind, shape;
  uint64_t milli;
  int64_t value;
};

struct fixture {
  struct hr_arena arena;
  struct hr_trace trace;
  struct hr_quota_node nodes[COHORTS + TENANTS];
  struct hr_quota_spec spec;
  struct hr_quota_tree *tree;
  struct hr__waiting waiting;
  struct job jobs[JOBS];
  uint32_t n_jobs;
  bool by_shape;
  int64_t rank[TENANTS * KINDS];
};

static char names[][4] = {"c0", "c1", "c2", "c3", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8"};
static const char *const tenants[TENANTS] = {"t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8"};

/* ---- Admission: held back and preferred subqueues ----------------------------------------------------- */

static bool is_held(void *self, const struct hr__subqueue *subqueue, struct hr__admission_limit *bar) {
  const struct fixture *f = self;
  const struct job *job = &f->jobs[subqueue->head.job.id];
  return hr__quota_tree_find_limit(f->tree, job->tenant, job->milli, bar) != HR_NONE;
}

static int64_t room(void *self, uint32_t place, enum hr__admission_limit_kind kind) {
  const struct fixture *f = self;
  return hr__quota_tree_room(f->tree, place, kind);
}

static bool is_preferred(void *self, const struct hr__subqueue *subqueue) {
  const struct fixture *f = self;
  const struct job *job = &f->jobs[subqueue->head.job.id];
  return !hr_quota_tree_borrows(f->tree, job->tenant, job->milli);
}

static int64_t full_key(void *self, const struct hr__subqueue *subqueue, struct hr_job_entry entry) {
  const struct fixture *f = self;
  (void)entry;
  return f->rank[subqueue->name];
}

/* ---- Creation --------------------------------------------------------------------------------------- */

/* Draws a random quota tree. The cohorts are either nested in a chain, or all are children of the root. Each tenant is
   a child of a random cohort or of the root. */
static void create_tree(struct fixture *f) {
  uint32_t limits = roll(4);
  for (uint32_t i = 0; i < COHORTS + TENANTS; i++) {
    bool is_tenant = i >= COHORTS;
    struct hr_quota_node *node = &f->nodes[i];
    *node = (struct hr_quota_node){names[i], HR_NONE, is_tenant, 0, HR_NO_LIMIT, HR_NO_LIMIT, HR_NO_LIMIT, 1};
    if (is_tenant ? roll(4) > 0 : i > 0 && roll(2)) node->parent = roll(is_tenant ? COHORTS : i);
    if (roll(3)) node->guaranteed_milli = 500 * roll(is_tenant ? 9 : 5);
    if (limits & 1 && roll(2)) node->borrow_milli = 500 * roll(9);
    if (limits & 2 && roll(2))
      node->lend_milli = node->guaranteed_milli ? 500 * roll(1 + (uint32_t)node->guaranteed_milli / 500) : 0;
    if (roll(3) == 0) node->max_milli = node->guaranteed_milli + 500 * roll(9);
  }
  f->spec = (struct hr_quota_spec){f->nodes, COHORTS + TENANTS, {.parent = HR_NONE, .is_tenant = true, .weight = 1}};
  f->tree = hr_quota_tree_create(&f->arena, &f->spec, &f->trace, 30000);
  CU_ASSERT_PTR_NOT_NULL_FATAL(f->tree);
}

static void begin(struct fixture *f) {
  *f = (struct fixture){.by_shape = roll(3) > 0};
  f->trace = (struct hr_trace){.n_jobs = JOBS, .tenants = {TENANTS, tenants}};
  create_tree(f);
  struct hr__admission admission = {is_held, room, is_preferred, hr__quota_tree_n_places(f->tree), TENANTS};
  CU_ASSERT_EQUAL_FATAL(hr__waiting_init(&f->waiting, &f->arena, JOBS, full_key, &admission, f), HR_OK);
}

/* ---- Operations ------------------------------------------------------------------------------------- */

static void add_job(struct fixture *f) {
  uint32_t id = f->n_jobs++;
  struct job *job = &f->jobs[id];
  *job = (struct job){.tenant = roll(TENANTS), .kind = roll(KINDS), .shape = roll(SHAPES), .value = roll(100)};
  job->milli = 1000 * (uint64_t)(1 + job->shape);
  if (!f->by_shape) job->shape = 0;
  struct hr__queued_job queued = {.job = {id},
                                  .gpus = job->shape,
                                  .subqueue = job->tenant * KINDS + job->kind,
                                  .part = job->tenant,
                                  .value = job->value,
                                  .owner = job->tenant};
  CU_ASSERT_EQUAL_FATAL(hr__waiting_add(&f->waiting, &queued), HR_OK);
}

static void remove_job(struct fixture *f, uint32_t id) {
  struct hr__shape *shape = hr__waiting_shape(&f->waiting, f->jobs[id].shape, 0);
  struct hr_job_entry entry = {0, {id}, f->jobs[id].value};
  CU_ASSERT_EQUAL_FATAL(hr__waiting_remove(&f->waiting, shape, entry), HR_OK);
}

static void start_job(struct fixture *f) {
  if (f->waiting.n_active == 0) return;
  uint32_t id = hr__active_shape(&f->waiting, roll(f->waiting.n_active))->head.job.id;
  hr_quota_tree_take(f->tree, f->jobs[id].tenant, f->jobs[id].milli);
  CU_ASSERT_EQUAL_FATAL(hr__waiting_update_preferred(&f->waiting, f->jobs[id].tenant), HR_OK);
  remove_job(f, id);
  f->jobs[id].stage = RUNS;
}

/* Returns a random job at the given stage; HR_NONE: no such job was found. */
static uint32_t random_job(const struct fixture *f, enum stage stage) {
  uint32_t from = f->n_jobs ? roll(f->n_jobs) : 0;
  for (uint32_t i = 0; i < f->n_jobs; i++)
    if (f->jobs[(from + i) % f->n_jobs].stage == stage) return (from + i) % f->n_jobs;
  return HR_NONE;
}

static void stop_job(struct fixture *f) {
  uint32_t id = random_job(f, RUNS), tenant = id == HR_NONE ? 0 : f->jobs[id].tenant;
  if (id == HR_NONE) return;
  f->jobs[id].stage = GONE;
  hr_quota_tree_give(f->tree, tenant, f->jobs[id].milli);
  CU_ASSERT_EQUAL_FATAL(hr__waiting_update_preferred(&f->waiting, tenant), HR_OK);
  if (hr__quota_tree_keeps_capacity(f->tree, tenant))
    CU_ASSERT_EQUAL_FATAL(hr__waiting_unpark_owner(&f->waiting, tenant), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr__waiting_ease_limit(&f->waiting, HR_NONE, HR__LIMIT_MAXIMUM), HR_OK);
  for (uint32_t place = hr__quota_tree_place(f->tree, tenant); place != HR_NONE;
       place = hr__quota_tree_parent(f->tree, place)) {
    CU_ASSERT_EQUAL_FATAL(hr__waiting_ease_limit(&f->waiting, place, HR__LIMIT_MAXIMUM), HR_OK);
    CU_ASSERT_EQUAL_FATAL(hr__waiting_ease_limit(&f->waiting, place, HR__LIMIT_BORROWING), HR_OK);
  }
}

static void change_rank(struct fixture *f) {
  uint32_t name = roll(TENANTS * KINDS);
  f->rank[name] = roll(5);
  CU_ASSERT_EQUAL_FATAL(hr__waiting_rerank(&f->waiting, name), HR_OK);
  if (roll(4)) return;
  for (uint32_t i = 0; i < TENANTS * KINDS; i++) f->rank[i] = roll(5);
  CU_ASSERT_EQUAL_FATAL(hr__waiting_rerank_all(&f->waiting), HR_OK);
}

static void reject_job(struct fixture *f) {
  uint32_t id = random_job(f, WAITS);
  if (id == HR_NONE) return;
  remove_job(f, id);
  f->jobs[id].stage = GONE;
}

/* ---- Scans ------------------------------------------------------------------------------------------ */

static bool is_before(const struct fixture *f, uint32_t a, uint32_t b) {
  int64_t first = f->rank[f->jobs[a].tenant * KINDS + f->jobs[a].kind];
  int64_t second = f->rank[f->jobs[b].tenant * KINDS + f->jobs[b].kind];
  return first != second ? first < second : a < b;
}

/* Returns the first job of a subqueue with a value within the bound; HR_NONE: no such job, or the first job of the
   subqueue may not start. `preferred_only`: it may not start if its tenant would borrow. */
static uint32_t first_of_subqueue(const struct fixture *f, const struct job *like, bool preferred_only, int64_t bound) {
  uint32_t found = HR_NONE;
  bool is_first = true;
  for (uint32_t i = 0; i < f->n_jobs && found == HR_NONE; i++) {
    const struct job *job = &f->jobs[i];
    bool in_it = job->tenant == like->tenant && job->kind == like->kind && job->shape == like->shape;
    if (job->stage != WAITS || !in_it) continue;
    if (is_first && hr_quota_tree_available(f->tree, job->tenant) < (int64_t)job->milli) return HR_NONE;
    if (is_first && preferred_only && hr_quota_tree_borrows(f->tree, job->tenant, job->milli)) return HR_NONE;
    is_first = false;
    if (job->value <= bound) found = i;
  }
  return found;
}

static uint32_t first_of_shape(const struct fixture *f, uint32_t shape, bool preferred_only, int64_t bound) {
  uint32_t first = HR_NONE;
  for (uint32_t i = 0; i < TENANTS * KINDS; i++) {
    struct job like = {.tenant = i / KINDS, .kind = i % KINDS, .shape = shape};
    uint32_t found = first_of_subqueue(f, &like, preferred_only, bound);
    if (found != HR_NONE && (first == HR_NONE || is_before(f, found, first))) first = found;
  }
  return first;
}

static void check_first(struct fixture *f, bool preferred_only) {
  uint32_t n_active = 0;
  for (uint32_t i = 0; i < f->waiting.n_shapes; i++) {
    const struct hr__shape *shape = f->waiting.shapes[i];
    uint32_t first = first_of_shape(f, shape->gpus, preferred_only, INT64_MAX);
    bool is_active = shape->active_at[preferred_only] != HR_NONE;
    CU_ASSERT_EQUAL_FATAL(is_active, first != HR_NONE);
    n_active += is_active;
    if (is_active) CU_ASSERT_EQUAL_FATAL(shape->head.job.id, first);
  }
  CU_ASSERT_EQUAL_FATAL(f->waiting.n_active, n_active);
}

static void check_bounded(struct fixture *f) {
  for (uint32_t i = 0; i < f->waiting.n_active; i++) {
    struct hr__shape *shape = hr__active_shape(&f->waiting, i);
    int64_t bound = roll(100);
    struct hr_job_entry entry, none = {0};
    bool found = hr__waiting_next(&f->waiting, shape, none, bound, &entry);
    CU_ASSERT_EQUAL_FATAL(found ? entry.job.id : HR_NONE, first_of_shape(f, shape->gpus, false, bound));
  }
}

/* ---- Tests ------------------------------------------------------------------------------------------ */

static void random_step(struct fixture *f) {
  switch (roll(10)) {
  case 0:
  case 1:
  case 2:
    if (f->n_jobs < JOBS) add_job(f);
    break;
  case 3:
  case 4:
    start_job(f);
    break;
  case 5:
  case 6:
    stop_job(f);
    break;
  case 7:
    change_rank(f);
    break;
  case 8:
    if (roll(3) == 0) reject_job(f);
    break;
  default:
    CU_ASSERT_EQUAL_FATAL(hr__waiting_select_preferred(&f->waiting, !f->waiting.preferred_only), HR_OK);
  }
}

static void first_jobs_equal_scan(void) {
  static struct fixture f;
  for (uint32_t k = 0; k < TREES; k++) {
    begin(&f);
    for (uint32_t i = 0; i < STEPS; i++) {
      random_step(&f);
      if (roll(3) == 0) continue;
      CU_ASSERT_EQUAL_FATAL(hr__waiting_find_first(&f.waiting), HR_OK);
      check_first(&f, f.waiting.preferred_only);
      if (!f.waiting.preferred_only && roll(4) == 0) check_bounded(&f);
    }
    hr__arena_finish(&f.arena);
  }
}

TEST_MAIN("waiting", TEST(first_jobs_equal_scan))
