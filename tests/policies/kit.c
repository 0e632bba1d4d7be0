/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The job tree and the capacity profiles of the kit, compared with plain arrays in random operations. */

#include "base/containers.h"
#include "base/random.h"
#include "harness.h"
#include "headroom/policy.h"
#include "headroom/policy_kit.h"
#include "headroom/sim.h"
#include "policies/queue/backfill/backfill.h"

#include <string.h>

static struct hr__stream draws;

static uint32_t draw(uint32_t below) {
  return hr__stream_next(&draws) % below;
}

/* ---- Job tree ---------------------------------------------------------------------------------------- */

enum { JOBS = 3000, KEYS = 40, VALUES = 1000 };

struct model {
  bool in[JOBS];
  int64_t key[JOBS], value[JOBS];
};

static bool before(const struct model *model, uint32_t a, uint32_t b) {
  return model->key[a] != model->key[b] ? model->key[a] < model->key[b] : a < b;
}

static uint32_t model_next(const struct model *model, int64_t key, uint32_t job, int64_t bound) {
  uint32_t best = JOBS;
  for (uint32_t i = 0; i < JOBS; i++) {
    bool after = model->key[i] != key ? model->key[i] > key : i > job;
    if (model->in[i] && after && model->value[i] <= bound && (best == JOBS || before(model, i, best))) best = i;
  }
  return best;
}

/* Returns the sum of the values of all entries up to and including (key, job). */
static int64_t model_sum_up_to(const struct model *model, int64_t key, uint32_t job) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < JOBS; i++)
    if (model->in[i] && (model->key[i] < key || (model->key[i] == key && i <= job))) sum += model->value[i];
  return sum;
}

static int64_t model_sum_to(const struct model *model, int64_t key) {
  return model_sum_up_to(model, key, JOBS);
}

static void compare(const struct hr_job_tree *tree, const struct model *model) {
  int64_t key = draw(KEYS), bound = draw(VALUES);
  uint32_t job = draw(JOBS), expected = model_next(model, key, job, bound);
  struct hr_job_entry entry;
  CU_ASSERT_EQUAL_FATAL(hr_job_tree_next(tree, key, (hr_job){job}, bound, &entry), expected < JOBS);
  if (expected < JOBS) CU_ASSERT_EQUAL_FATAL(entry.job.id, expected);
  expected = model_next(model, INT64_MIN, 0, INT64_MAX);
  CU_ASSERT_EQUAL_FATAL(hr_job_tree_first(tree, &entry), expected < JOBS);
  if (expected < JOBS) CU_ASSERT_EQUAL_FATAL(entry.job.id, expected);
  CU_ASSERT_EQUAL_FATAL(hr_job_tree_sum_to(tree, key), model_sum_to(model, key));
  int64_t all = model_sum_to(model, KEYS), wanted = all ? 1 + draw((uint32_t)all) : 1;
  CU_ASSERT_EQUAL_FATAL(hr_job_tree_reach(tree, wanted, &entry), all >= wanted);
  if (all < wanted) return;
  int64_t reached = model_sum_up_to(model, entry.key, entry.job.id);
  CU_ASSERT_FATAL(reached >= wanted && reached - model->value[entry.job.id] < wanted);
}

struct listing {
  const struct model *model;
  int64_t last_key;
  uint32_t last_job, count;
};

static bool in_order(void *self, struct hr_job_entry entry) {
  struct listing *listing = self;
  bool after = listing->count == 0 || entry.key > listing->last_key ||
               (entry.key == listing->last_key && entry.job.id > listing->last_job);
  CU_ASSERT_FATAL(after && listing->model->in[entry.job.id]);
  listing->last_key = entry.key;
  listing->last_job = entry.job.id;
  listing->count++;
  return true;
}

static bool in_reverse(void *self, struct hr_job_entry entry) {
  struct listing *listing = self;
  bool before = listing->count == 0 || entry.key < listing->last_key ||
                (entry.key == listing->last_key && entry.job.id < listing->last_job);
  CU_ASSERT_FATAL(before && listing->model->in[entry.job.id]);
  *listing = (struct listing){listing->model, entry.key, entry.job.id, listing->count + 1};
  return true;
}

/* Applies a random operation: an insertion with a probability of grow / 10, else a removal. */
static void change(struct hr_job_tree *tree, struct model *model, uint32_t grow) {
  uint32_t job = draw(JOBS);
  if (draw(10) < grow && !model->in[job]) {
    model->in[job] = true;
    model->key[job] = draw(KEYS);
    model->value[job] = draw(VALUES);
    CU_ASSERT_FATAL(hr_job_tree_insert(tree, (struct hr_job_entry){model->key[job], {job}, model->value[job]}));
  } else {
    CU_ASSERT_EQUAL_FATAL(hr_job_tree_remove(tree, model->key[job], (hr_job){job}), model->in[job]);
    model->in[job] = false;
  }
}

static void job_tree_equals_array(void) {
  struct hr_arena arena = {0};
  struct hr_job_tree tree = {.store = hr_tree_store_create(&arena)};
  struct model *model = calloc(1, sizeof *model);
  const uint32_t phases[] = {9, 5, 2, 8, 0};
  for (size_t phase = 0; phase < sizeof phases / sizeof *phases; phase++)
    for (int i = 0; i < 20000; i++) {
      change(&tree, model, phases[phase]);
      if (i % 16 == 0) compare(&tree, model);
    }
  for (uint32_t i = 0; i < JOBS; i++) {
    CU_ASSERT_EQUAL_FATAL(hr_job_tree_remove(&tree, model->key[i], (hr_job){i}), model->in[i]);
    model->in[i] = false;
  }
  CU_ASSERT_EQUAL(tree.count, 0);
  CU_ASSERT_EQUAL(tree.root, 0);
  free(model);
  hr__arena_finish(&arena);
}

/* Removes the first or the last job. */
static void remove_end(struct hr_job_tree *tree, struct model *model) {
  struct listing last = {.model = model};
  struct hr_job_entry entry;
  CU_ASSERT_FATAL(hr_job_tree_first(tree, &entry));
  hr_job_tree_each(tree, NULL, in_order, &last);
  uint32_t job = draw(2) ? entry.job.id : last.last_job;
  CU_ASSERT_FATAL(hr_job_tree_remove(tree, model->key[job], (hr_job){job}));
  model->in[job] = false;
}

/* A tree that has no more than three entries. */
static void small_job_tree_equals_array(void) {
  struct hr_arena arena = {0};
  struct hr_job_tree tree = {.store = hr_tree_store_create(&arena)};
  struct model *model = calloc(1, sizeof *model);
  for (int i = 0; i < 5000; i++) {
    if (tree.count > draw(4))
      remove_end(&tree, model);
    else
      change(&tree, model, 10);
    compare(&tree, model);
    struct listing listing = {.model = model}, backwards = {.model = model}, rest = {.model = model};
    struct hr_job_entry after = {draw(KEYS), {draw(JOBS)}, 0}, entry = after;
    uint32_t left = 0;
    while (hr_job_tree_next(&tree, entry.key, entry.job, INT64_MAX, &entry)) left++;
    CU_ASSERT(hr_job_tree_each(&tree, NULL, in_order, &listing));
    CU_ASSERT(hr_job_tree_each_back(&tree, in_reverse, &backwards));
    CU_ASSERT(hr_job_tree_each(&tree, &after, in_order, &rest));
    CU_ASSERT_FATAL(listing.count == tree.count && backwards.count == tree.count && rest.count == left);
  }
  free(model);
  hr__arena_finish(&arena);
}

static void job_tree_in_arrival_order(void) {
  struct hr_arena arena = {0};
  struct hr_job_tree tree = {.store = hr_tree_store_create(&arena)};
  struct hr_job_entry entry;
  uint32_t taken = 0;
  for (uint32_t i = 0; i < 200000; i++) {
    CU_ASSERT_FATAL(hr_job_tree_insert(&tree, (struct hr_job_entry){0, {i}, i % 7}));
    if (i % 3 != 0) continue;
    CU_ASSERT_FATAL(hr_job_tree_first(&tree, &entry));
    CU_ASSERT_EQUAL_FATAL(entry.job.id, taken);
    CU_ASSERT_FATAL(hr_job_tree_remove(&tree, 0, (hr_job){taken++}));
  }
  CU_ASSERT_EQUAL(tree.count, 200000 - taken);
  hr__arena_finish(&arena);
}

static void job_tree_iteration_order(void) {
  struct hr_arena arena = {0};
  struct hr_job_tree tree = {.store = hr_tree_store_create(&arena)};
  struct model *model = calloc(1, sizeof *model);
  for (int i = 0; i < 10000; i++) change(&tree, model, 8);
  struct listing listing = {.model = model};
  CU_ASSERT(hr_job_tree_each(&tree, NULL, in_order, &listing));
  CU_ASSERT_EQUAL(listing.count, tree.count);
  struct listing backwards = {.model = model};
  CU_ASSERT(hr_job_tree_each_back(&tree, in_reverse, &backwards));
  CU_ASSERT_EQUAL(backwards.count, tree.count);
  for (int i = 0; i < 200; i++) { /* begins at a random entry, and visits all following entries in order */
    int64_t key = draw(KEYS);
    uint32_t job = draw(JOBS), left = 0;
    struct hr_job_entry after = {key, {job}, 0}, entry = after;
    while (hr_job_tree_next(&tree, entry.key, entry.job, INT64_MAX, &entry)) left++;
    struct listing rest = {.model = model};
    CU_ASSERT(hr_job_tree_each(&tree, &after, in_order, &rest));
    CU_ASSERT_EQUAL(rest.count, left);
  }
  free(model);
  hr__arena_finish(&arena);
}

/* ---- Profiles ---------------------------------------------------------------------------------------- */

enum { TICKS = 400, SIZE = 12 };

static bool free_throughout(const uint32_t *free_gpus, int64_t from, int64_t length, uint32_t gpus) {
  for (int64_t t = from; t < from + length && t < TICKS; t++)
    if (free_gpus[t] < gpus) return false;
  return true;
}

/* Reserves a random number of GPUs at the earliest possible time, in the profile and in `free_gpus`, which has the free
   GPUs of each tick of one microsecond. The cluster has one pool of SIZE GPUs. */
static void reserve_at_random(struct hr__cluster_profile *profile, uint32_t accept_class, uint32_t *free_gpus) {
  int64_t from = draw(TICKS / 2), length = 1 + draw(40);
  uint32_t gpus = 1 + draw(SIZE), minimum = SIZE;
  struct hr__profile_demand demand = {gpus, accept_class, length};
  struct hr_placement placement;
  int64_t expected = from;
  while (!free_throughout(free_gpus, expected, length, gpus)) expected++;
  CU_ASSERT_EQUAL_FATAL(hr__cluster_profile_earliest(profile, &demand, from), expected);
  for (int64_t t = expected; t < expected + length; t++) minimum = free_gpus[t] < minimum ? free_gpus[t] : minimum;
  struct hr__profile_demand larger = {minimum + 1, accept_class, length};
  CU_ASSERT_FALSE_FATAL(hr__cluster_profile_place(profile, &larger, expected, &placement));
  CU_ASSERT_TRUE_FATAL(hr__cluster_profile_place(profile, &demand, expected, &placement));
  CU_ASSERT_EQUAL_FATAL(hr__cluster_profile_count_equal(profile, &demand, &placement, UINT32_MAX), minimum / gpus);
  CU_ASSERT_EQUAL_FATAL(profile->free_gpus[0], minimum);
  if (expected + length >= TICKS - 60) return;
  CU_ASSERT_FATAL(hr__cluster_profile_take(profile, &demand, 1, expected, &placement));
  for (int64_t t = expected; t < expected + length; t++) free_gpus[t] -= gpus;
}

/* For each number of GPUs, checks for how long from now on at least this number of GPUs is free. */
static void check_window(struct hr__cluster_profile *profile, uint32_t accept_class, const uint32_t *free_gpus) {
  for (uint32_t gpus = 1; gpus <= SIZE; gpus++) {
    int64_t end = 0;
    while (end < TICKS && free_gpus[end] >= gpus) end++;
    CU_ASSERT_EQUAL_FATAL(hr__cluster_profile_window(profile, gpus, accept_class), end == TICKS ? HR_NEVER_US : end);
  }
}

/* A policy whose creation compares profiles with a table that has the free GPUs of each tick. The test is in a policy
   because only policies have access to a cluster. After the test, the policy starts the only job, so that the run ends.
 */
static enum hr_status create_checker(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  const hr_job running_job = {0};
  const struct hr_placement in_pool = {.n_slices = 0};
  uint32_t accept_class = hr_cluster_accept_class(env->cluster, running_job), free_gpus[TICKS];
  struct hr__cluster_profile profile = {.arena = env->arena,
                                        .cluster = env->cluster,
                                        .placer = hr_placer_create(env->arena, env->cluster, HR_PLACE_POOL),
                                        .calendar =
                                            hr_release_calendar_create(env->arena, env->cluster, HR_PLACE_POOL, 1),
                                        .rule = HR_PLACE_POOL};
  (void)error;
  *self = profile.placer;
  CU_ASSERT_TRUE_FATAL(profile.placer && profile.calendar);
  CU_ASSERT_EQUAL_FATAL(hr__cluster_profile_init(&profile), HR_OK);
  for (int round = 0; round < 200; round++) {
    uint32_t running = 1 + draw(SIZE), back_at = 1 + draw(50);
    CU_ASSERT_TRUE_FATAL(hr_release_calendar_add(profile.calendar, running_job, running, &in_pool, back_at));
    CU_ASSERT_EQUAL_FATAL(hr__cluster_profile_begin(&profile, 0), HR_OK);
    for (uint32_t t = 0; t < TICKS; t++) free_gpus[t] = t < back_at ? SIZE - running : SIZE;
    for (int i = 0; i < 30; i++) reserve_at_random(&profile, accept_class, free_gpus);
    check_window(&profile, accept_class, free_gpus);
    CU_ASSERT_TRUE_FATAL(hr_release_calendar_remove(profile.calendar, running_job, running, &in_pool, back_at));
  }
  return HR_OK;
}

static enum hr_status start_job(void *self, const struct hr_view *view, struct hr_moves *moves) {
  struct hr_placement placement;
  if (view->n_waiting == 0) return HR_OK;
  CU_ASSERT_TRUE_FATAL(hr_placer_find(self, 1, hr_cluster_accept_class(view->cluster, (hr_job){0}), &placement));
  return hr_moves_start(moves, (hr_job){0}, &placement, HR_REASON_IN_ORDER);
}

static void profile_equals_table_of_ticks(void) {
  static const struct hr_policy_ops checker = {HR_POLICY_HEAD, .name = "checker",
                                               .summary = "compares capacity profiles with a table",
                                               .create = create_checker, .decide = start_job};
  int64_t submit_us = 0, work_us = 1;
  uint32_t gpus = 1;
  struct hr_trace trace = {.source = "test", .n_jobs = 1, .submit_us = &submit_us, .work_us = &work_us, .gpus = &gpus};
  char type[] = "T";
  struct hr_pool_spec pool = {
      .name = type, .gpu = type, .nodes = 1, .gpus_per_node = SIZE, .market = {.to_us = HR_NEVER_US}};
  struct hr_cluster_spec cluster = {&pool, 1};
  struct hr_run_config config = {
      .trace = &trace, .cluster = &cluster, .policy = &checker, .seed = 1, .horizon_us = HR_NEVER_US, .check = true};
  struct hr_result *result = NULL;
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_sim_run(&config, &result, &error), HR_OK);
  hr_result_destroy(result);
}

TEST_MAIN("policy kit", TEST(job_tree_equals_array), TEST(small_job_tree_equals_array), TEST(job_tree_in_arrival_order),
          TEST(job_tree_iteration_order), TEST(profile_equals_table_of_ticks))
