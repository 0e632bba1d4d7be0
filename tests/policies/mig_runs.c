/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole runs on GPUs with MIG, compared with independent rules and tables (mig_brute.h). The tests check
   three properties. Each running job has an instance that it accepts. A job begins to work when its instance exists.
   With the backfill `skip`, no job waits while an instance for it is available. */

#include "base/random.h"
#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "holds.h"
#include "mig_brute.h"
#include "queue_choice.h"

#include <string.h>

enum { JOBS = 80, POOLS = 2, NODES = 3, GPUS = 3, CASES = 240, LAYOUTS = 4, NAMES = 4 };

struct gpu {
  struct brute_state has; /* the existing instances; if instances are created on demand, only those that jobs use */
  bool taken[BRUTE_SLICES];
  int layout;
  int64_t ready_us;
};

static struct {
  int64_t submit_us[JOBS], work_us[JOBS];
  uint32_t gpus[JOBS], tasks[JOBS], cpu_milli[JOBS], mig_profile[JOBS];
  uint16_t gpu_milli[JOBS];
  uint64_t gpu_mem_mib[JOBS];
  struct hr_trace trace;
  struct hr_pool_spec pools[POOLS];
  struct hr_cluster_spec cluster;
  /* The expected state, according to the independent rules. */
  const struct brute_type *type[POOLS];
  struct brute_state layout[POOLS][LAYOUTS];
  struct gpu gpu[POOLS * NODES][GPUS];
  long cpu_milli_left[POOLS * NODES];
  bool waits[JOBS];
  int64_t end_us[JOBS], now_us;
  const char *rule;
  const char *backfill;
  uint64_t n_waited, n_splits, n_shared;
} world;

static struct hr__stream draws;

static uint32_t draw(uint32_t below) {
  return hr__stream_next(&draws) % below;
}

/* ---- Random scenarios ------------------------------------------------------------------------------- */

static const char *const names[NAMES] = {"1g.10gb", "3g.40gb", "2g.12gb", "1g.10gb+me"};

static struct hr_mig_spec *make_spec(const struct brute_type *type, enum hr_mig_mode mode) {
  struct hr_mig_profile profiles[BRUTE_PROFILES];
  for (int i = 0; i < type->n_profiles; i++) {
    const struct brute_profile *brute = &type->profiles[i];
    profiles[i] = (struct hr_mig_profile){.name = brute->name,
                                          .mem_mib = (uint32_t)brute->memory * 1000,
                                          .compute_slices = (uint8_t)brute->compute,
                                          .memory_slices = (uint8_t)brute->memory,
                                          .max_instances = (uint8_t)brute->most,
                                          .media = strstr(brute->name, "+me") != NULL};
    for (const int *start = brute->starts; *start >= 0; start++)
      profiles[i].starts = (uint8_t)(profiles[i].starts | 1 << *start);
  }
  struct hr_mig_type made;
  hr_mig_type_init(&made, type->gpu, profiles, (uint32_t)type->n_profiles);
  struct hr_mig_spec *spec = hr_mig_spec_create(&made, mode);
  for (uint32_t i = 0; i < made.n_profiles; i++) /* profiles have the same indices in both tables */
    CU_ASSERT_STRING_EQUAL_FATAL(made.profiles[i].name, type->profiles[i].name);
  return spec;
}

/* Tries 12 times to create a random instance at a random position. */
static struct brute_state draw_layout(const struct brute_type *type) {
  struct brute_state state;
  memset(state.begins, -1, sizeof state.begins);
  for (int tries = 0; tries < 12; tries++) {
    int profile = (int)draw((uint32_t)type->n_profiles), start = (int)draw(BRUTE_SLICES);
    if (brute_may_begin(type, &state, profile, start)) state.begins[start] = (signed char)profile;
  }
  return state;
}

static void add_layouts(struct hr_mig_spec *spec, uint32_t pool) {
  for (uint32_t i = 0; spec->n_layouts < LAYOUTS && i < 50; i++) {
    struct brute_state state = draw_layout(world.type[pool]);
    struct hr_mig_gpu gpu = {0};
    for (uint32_t start = 0; start < BRUTE_SLICES; start++)
      if (state.begins[start] >= 0)
        CU_ASSERT_TRUE_FATAL(hr_mig_create(&spec->type, &gpu, (uint32_t)state.begins[start], start));
    uint32_t number;
    CU_ASSERT_EQUAL_FATAL(hr_mig_spec_add(spec, "drawn", &gpu, &number), HR_OK);
    world.layout[pool][number] = state;
  }
}

static void begin_gpus(uint32_t pool, uint32_t first_node) {
  const struct hr_pool_spec *spec = &world.pools[pool];
  for (uint32_t node = first_node; node < first_node + spec->nodes; node++) {
    world.cpu_milli_left[node] = spec->cpu_milli_per_node;
    for (uint32_t i = 0; i < spec->gpus_per_node; i++) {
      struct gpu *gpu = &world.gpu[node][i];
      *gpu = (struct gpu){.layout = spec->mig->layout_of_gpu ? spec->mig->layout_of_gpu[i] : 0};
      memset(gpu->has.begins, -1, sizeof gpu->has.begins);
      if (spec->mig->layout_of_gpu) gpu->has = world.layout[pool][gpu->layout];
    }
  }
}

static void draw_pools(void) {
  static char gpu[] = "GPU", name[] = "pool";
  world.cluster = (struct hr_cluster_spec){.pools = world.pools, .n_pools = 1 + draw(POOLS), .mig_fallback = true};
  for (uint32_t i = 0, node = 0; i < world.cluster.n_pools; i++) {
    world.type[i] = &brute_types[draw(2) ? 2 : 0]; /* A100-80, A30 */
    struct hr_mig_spec *spec = make_spec(world.type[i], (enum hr_mig_mode)draw(HR_N_MIG_MODES));
    world.pools[i] = (struct hr_pool_spec){.name = name,
                                           .gpu = gpu,
                                           .nodes = 1 + draw(NODES),
                                           .gpus_per_node = 1 + draw(GPUS),
                                           .cpu_milli_per_node = 8000,
                                           .sharing = HR_SHARING_MIG,
                                           .mig = spec};
    if (spec->mode != HR_MIG_STATIC) spec->lead_us = draw(3) * 4;
    if (spec->mode != HR_MIG_ON_DEMAND) {
      add_layouts(spec, i);
      spec->layout_of_gpu = calloc(GPUS, 1);
      for (uint32_t k = 0; k < GPUS; k++) spec->layout_of_gpu[k] = (uint8_t)draw(spec->n_layouts);
    }
    begin_gpus(i, node);
    node += world.pools[i].nodes;
  }
}

static void draw_jobs(void) {
  for (uint32_t i = 0; i < JOBS; i++) {
    world.submit_us[i] = (i ? world.submit_us[i - 1] : 0) + draw(6);
    world.work_us[i] = 1 + draw(40);
    world.tasks[i] = 1 + draw(8) / 7;
    if (draw(30) == 0) world.tasks[i] = 2 + draw(10);
    world.gpus[i] = world.tasks[i];
    world.gpu_milli[i] = (uint16_t)(draw(6) ? 50 * (1 + draw(9)) : 1000);
    world.gpu_mem_mib[i] = draw(2) * draw(4500);
    world.cpu_milli[i] = draw(2) * draw(2000);
    world.mig_profile[i] = draw(3) ? HR_NONE : draw(NAMES);
    world.waits[i] = false;
    world.end_us[i] = -1;
  }
  world.now_us = 0;
  world.trace = (struct hr_trace){.source = "test",
                                  .n_jobs = JOBS,
                                  .submit_us = world.submit_us,
                                  .work_us = world.work_us,
                                  .gpus = world.gpus,
                                  .tasks = world.tasks,
                                  .gpu_milli = world.gpu_milli,
                                  .gpu_mem_mib = world.gpu_mem_mib,
                                  .cpu_milli = world.cpu_milli,
                                  .mig_profile = world.mig_profile,
                                  .mig_profiles = {.text = names, .count = NAMES}};
}

/* ---- Expected state --------------------------------------------------------------------------------- */

/* Returns whether an instance is acceptable for the job. A job may request 3 of 7 slices as 428 or as 429 thousandths;
   both must be accepted. */
static bool is_acceptable(const struct brute_type *type, uint32_t job, int number) {
  const struct brute_profile *profile = &type->profiles[number];
  if ((uint64_t)profile->memory * 1000 < world.gpu_mem_mib[job]) return false;
  if (world.mig_profile[job] != HR_NONE) return strcmp(profile->name, names[world.mig_profile[job]]) == 0;
  if (strstr(profile->name, "+me")) return false;
  return profile->compute * 1000 > (world.gpu_milli[job] - 1) * type->compute;
}

static bool is_idle(const struct gpu *gpu, int start) {
  return gpu->has.begins[start] >= 0 && !gpu->taken[start];
}

static bool is_empty(const struct gpu *gpu) {
  for (int start = 0; start < BRUTE_SLICES; start++)
    if (gpu->taken[start]) return false;
  return true;
}

/* Returns whether the GPU has an idle instance that is acceptable for the job. */
static bool has_idle_instance(uint32_t pool, uint32_t job, const struct gpu *gpu) {
  for (int start = 0; start < BRUTE_SLICES; start++)
    if (is_idle(gpu, start) && is_acceptable(world.type[pool], job, gpu->has.begins[start])) return true;
  return false;
}

static bool could_get_instance(uint32_t pool, uint32_t job, const struct gpu *gpu) {
  const struct hr_mig_spec *spec = world.pools[pool].mig;
  if (spec->mode != HR_MIG_ON_DEMAND && has_idle_instance(pool, job, gpu)) return true;
  for (int profile = 0; spec->mode == HR_MIG_ON_DEMAND && profile < world.type[pool]->n_profiles; profile++)
    for (int start = 0; start < BRUTE_SLICES; start++)
      if (is_acceptable(world.type[pool], job, profile) && brute_may_begin(world.type[pool], &gpu->has, profile, start))
        return true;
  for (uint32_t i = 0; spec->mode == HR_MIG_DYNAMIC && is_empty(gpu) && i < spec->n_layouts; i++) {
    struct gpu other = {.has = world.layout[pool][i]};
    if (has_idle_instance(pool, job, &other)) return true;
  }
  return false;
}

static bool could_start(uint32_t job) {
  for (uint32_t pool = 0, node = 0; pool < world.cluster.n_pools; pool++)
    for (uint32_t i = 0; i < world.pools[pool].nodes; i++, node++)
      for (uint32_t gpu = 0; gpu < world.pools[pool].gpus_per_node; gpu++)
        if (world.cpu_milli_left[node] >= world.cpu_milli[job] && could_get_instance(pool, job, &world.gpu[node][gpu]))
          return true;
  return false;
}

static void check_no_job_waits_that_could_start(void *self, const struct hr_view *view) {
  (void)self;
  (void)view;
  for (uint32_t job = 0; job < JOBS; job++)
    if (strcmp(world.backfill, "skip") == 0 && world.waits[job] && world.tasks[job] == 1)
      CU_ASSERT_FALSE(could_start(job));
}

/* ---- Events ----------------------------------------------------------------------------------------- */

/* Returns whether an idle instance may be reserved for another job. */
static bool reserves_idle(void) {
  return strcmp(world.backfill, "conservative") == 0;
}

static void check_smallest(uint32_t pool, uint32_t job, const struct gpu *gpu, int profile) {
  if (reserves_idle()) return;
  for (int start = 0; start < BRUTE_SLICES; start++)
    if (is_idle(gpu, start) && is_acceptable(world.type[pool], job, gpu->has.begins[start]))
      CU_ASSERT(gpu->has.begins[start] <= profile);
}

static void split(uint32_t pool, uint32_t node, struct gpu *gpu, uint32_t job, struct hr_instance instance) {
  const struct hr_mig_spec *spec = world.pools[pool].mig;
  bool packs = !reserves_idle() && (strcmp(world.rule, "best-fit") == 0 || strcmp(world.rule, "first-fit") == 0);
  CU_ASSERT_EQUAL_FATAL(spec->mode, HR_MIG_DYNAMIC);
  CU_ASSERT_TRUE(is_empty(gpu));
  CU_ASSERT_FATAL(instance.layout < spec->n_layouts);
  for (uint32_t i = 0; packs && world.tasks[job] == 1 && i < world.pools[pool].gpus_per_node; i++)
    CU_ASSERT_FALSE(has_idle_instance(pool, job, &world.gpu[node][i]));
  gpu->layout = instance.layout;
  gpu->has = world.layout[pool][instance.layout];
  gpu->ready_us = world.now_us + spec->lead_us;
  world.n_splits++;
}

static int64_t start_task(uint32_t pool, uint32_t job, struct hr_slice slice) {
  const struct hr_mig_spec *spec = world.pools[pool].mig;
  CU_ASSERT_EQUAL_FATAL(__builtin_popcountll(slice.gpus), 1);
  struct gpu *gpu = &world.gpu[slice.node.id][__builtin_ctzll(slice.gpus)];
  int start = slice.instance.start, profile = slice.instance.profile;
  const struct brute_type *type = world.type[pool];
  world.n_shared += !is_empty(gpu);
  CU_ASSERT_TRUE(is_acceptable(type, job, profile));
  if (spec->mode == HR_MIG_ON_DEMAND) {
    CU_ASSERT_TRUE(brute_may_begin(type, &gpu->has, profile, start));
    gpu->has.begins[start] = (signed char)profile;
  } else {
    if (slice.instance.layout != gpu->layout) split(pool, slice.node.id, gpu, job, slice.instance);
    check_smallest(pool, job, gpu, profile);
  }
  CU_ASSERT_EQUAL(gpu->has.begins[start], profile);
  CU_ASSERT_FALSE(gpu->taken[start]);
  gpu->taken[start] = true;
  int end = start + type->profiles[profile].compute;
  CU_ASSERT_EQUAL((int)slice.gpu_milli, end * 1000 / type->compute - start * 1000 / type->compute);
  world.cpu_milli_left[slice.node.id] -= world.cpu_milli[job];
  CU_ASSERT(world.cpu_milli_left[slice.node.id] >= 0);
  if (spec->mode == HR_MIG_ON_DEMAND) return spec->lead_us;
  return gpu->ready_us > world.now_us ? gpu->ready_us - world.now_us : 0;
}

static void end_task(uint32_t pool, uint32_t job, struct hr_slice slice) {
  struct gpu *gpu = &world.gpu[slice.node.id][__builtin_ctzll(slice.gpus)];
  CU_ASSERT_TRUE(gpu->taken[slice.instance.start]);
  gpu->taken[slice.instance.start] = false;
  if (world.pools[pool].mig->mode == HR_MIG_ON_DEMAND) gpu->has.begins[slice.instance.start] = -1;
  world.cpu_milli_left[slice.node.id] += world.cpu_milli[job];
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  (void)self;
  (void)view;
  uint32_t job = event->job.id;
  world.now_us = event->at_us;
  if (event->kind == HR_EVENT_SUBMIT) world.waits[job] = true;
  if (event->kind == HR_EVENT_START || event->kind == HR_EVENT_REJECT) world.waits[job] = false;
  if (event->kind == HR_EVENT_REJECT)
    CU_ASSERT(event->reason == HR_REASON_MIG_PROFILE || (world.tasks[job] > 1 && event->reason == HR_REASON_TOO_LARGE));
  if (event->kind == HR_EVENT_START) {
    int64_t lead_us = 0;
    for (uint32_t i = 0; i < event->placement->n_slices; i++) {
      int64_t one_us = start_task(event->placement->pool.id, job, event->placement->slices[i]);
      if (one_us > lead_us) lead_us = one_us;
    }
    world.end_us[job] = event->at_us + lead_us + world.work_us[job];
    world.n_waited += event->at_us > world.submit_us[job];
  }
  if (event->kind != HR_EVENT_END) return;
  CU_ASSERT_EQUAL(world.end_us[job], event->at_us);
  for (uint32_t i = 0; i < event->placement->n_slices; i++)
    end_task(event->placement->pool.id, job, event->placement->slices[i]);
}

/* ---- Runs ------------------------------------------------------------------------------------------- */

/* Returns whether no GPU can have an instance for the job, even if the GPU is in its initial state and empty. */
static bool never_fits(uint32_t job) {
  for (uint32_t pool = 0; pool < world.cluster.n_pools; pool++) {
    const struct hr_mig_spec *spec = world.pools[pool].mig;
    for (uint32_t i = 0; i < world.pools[pool].gpus_per_node; i++) {
      struct gpu gpu = {.layout = 0};
      memset(gpu.has.begins, -1, sizeof gpu.has.begins);
      if (spec->mode != HR_MIG_ON_DEMAND) gpu.has = world.layout[pool][spec->layout_of_gpu[i]];
      if (could_get_instance(pool, job, &gpu)) return false;
    }
  }
  return true;
}

static uint64_t run_one(void) {
  struct hr_policy_choice choice = queue_choice(world.backfill, world.rule);
  struct holds holds;
  struct hr_observer observers[1 + HOLDS_FOLDS] = {
      {.on_event = on_event, .on_instant = check_no_job_waits_that_could_start}};
  CU_ASSERT_TRUE_FATAL(holds_init(&holds, &world.trace));
  holds_observers(&holds, observers + 1);
  struct hr_run_config config = {.trace = &world.trace,
                                 .cluster = &world.cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .horizon_us = HR_NEVER_US,
                                 .check = true,
                                 .observers = observers,
                                 .n_observers = 1 + HOLDS_FOLDS};
  struct hr_result *result;
  struct hr_error error = {0};
  enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status != HR_OK) printf("%s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  holds_check_end(&holds, result);
  CU_ASSERT_STRING_EQUAL(holds.fault, "");
  if (holds.fault[0]) printf("  %s\n", holds.fault);
  holds_finish(&holds);
  CU_ASSERT_FALSE(result->stalled);
  CU_ASSERT_EQUAL(result->n_completed + result->n_rejected, JOBS);
  uint64_t n_completed = result->n_completed;
  for (uint32_t job = 0; job < JOBS; job++)
    if (world.tasks[job] == 1) CU_ASSERT_EQUAL(result->state[job] == HR_JOB_REJECTED, never_fits(job));
  hr_result_destroy(result);
  hr_policy_choice_finish(&choice);
  return n_completed;
}

/* Runs random cases. `backfill`: NULL for `skip` in four of five cases, and `easy` in the others. */
static void run_cases(const char *backfill, uint32_t n_cases) {
  static const char *const rules[] = {"best-fit", "first-fit",         "worst-fit",    "spread",
                                      "fgd",      "gpu-packing",       "dot-product",  "gpu-clustering",
                                      "random",   "weighted-best-fit", "kube-default", "kube-most-allocated"};
  uint64_t n_completed = 0;
  world.n_waited = world.n_splits = world.n_shared = 0;
  for (uint32_t seed = 0; seed < n_cases; seed++) {
    hr__stream_init(&draws, 11, HR__PURPOSE_ARRIVAL, seed, 0);
    world.rule = rules[seed % (sizeof rules / sizeof *rules)];
    world.backfill = backfill ? backfill : seed % 5 > 0 ? "skip" : "easy";
    draw_pools();
    draw_jobs();
    unsigned failed_before = CU_get_number_of_failures();
    n_completed += run_one();
    if (CU_get_number_of_failures() > failed_before) printf("seed %u, %s\n", seed, world.rule);
    for (uint32_t i = 0; i < world.cluster.n_pools; i++)
      hr_pool_sharing_finish(&(struct hr_pool_spec){.mig = world.pools[i].mig});
  }
  CU_ASSERT(n_completed > n_cases * JOBS / 2);
  CU_ASSERT(world.n_waited > n_cases * JOBS / 10);
  CU_ASSERT(world.n_splits > n_cases * 2);
  CU_ASSERT(world.n_shared > n_cases * JOBS / 10);
}

static void jobs_get_acceptable_instances(void) {
  run_cases(NULL, CASES);
}

static void conservative_backfill_gives_acceptable_instances(void) {
  run_cases("conservative", CASES / 2);
}

TEST_MAIN("mig runs", TEST(jobs_get_acceptable_instances), TEST(conservative_backfill_gives_acceptable_instances))
