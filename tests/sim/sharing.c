/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs that share GPUs. One part checks which placements are valid. The other part runs random policies; checked mode
   verifies that the free capacity of each GPU and node is its total capacity minus the slices of its jobs. */

#include "harness.h"
#include "headroom/sim.h"

#include <stdlib.h>
#include <string.h>

#define S HR_SECOND_US
#define GPUS(...) gpu_set((const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static uint64_t gpu_set(const uint32_t *gpus, size_t count) {
  uint64_t set = 0;
  for (size_t i = 0; i < count; i++) set |= UINT64_C(1) << gpus[i];
  return set;
}

/* ---- Valid placements ---- */

enum { JOBS = 5 };

/* Five jobs. Job 0 requests a third of a GPU. Job 1 requests two whole GPUs. Job 2 has two tasks with half a GPU and 3
   CPUs each. Job 3 requests 2 CPUs and no GPU. Job 4 requests no resources. */
static const struct hr_trace *a_trace(void) {
  static const int64_t submit_us[JOBS] = {0}, work_us[JOBS] = {10 * S, 10 * S, 10 * S, 10 * S, 10 * S};
  static const uint32_t gpus[JOBS] = {1, 2, 2, 0, 0}, tasks[JOBS] = {1, 1, 2, 1, 1};
  static const uint16_t gpu_milli[JOBS] = {333, 1000, 500, 1000, 1000};
  static const uint32_t cpu_milli[JOBS] = {0, 0, 3000, 2000, 0};
  static const uint64_t gpu_mem_mib[JOBS] = {5000, 0, 0, 0, 0};
  static const struct hr_trace trace = {.source = "test",
                                        .n_jobs = JOBS,
                                        .submit_us = submit_us,
                                        .work_us = work_us,
                                        .gpus = gpus,
                                        .tasks = tasks,
                                        .gpu_milli = gpu_milli,
                                        .cpu_milli = cpu_milli,
                                        .gpu_mem_mib = gpu_mem_mib};
  return &trace;
}

struct scripted_start {
  uint32_t job, n_slices;
  struct hr_slice slice[3];
};

/* A policy that places jobs as scripted at the first instant and rejects all others. */
struct script {
  const struct scripted_start *scripted_start;
  uint32_t count;
};
static const struct script *script_now;

static enum hr_status no_create(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  (void)env;
  (void)self;
  (void)error;
  return HR_OK;
}

static enum hr_status decide_scripted(void *self, const struct hr_view *view, struct hr_moves *plan) {
  (void)self;
  for (uint32_t i = 0; view->now_us == 0 && i < script_now->count; i++) {
    const struct scripted_start *scripted_start = &script_now->scripted_start[i];
    struct hr_placement placement = {{0}, scripted_start->n_slices, scripted_start->slice};
    if (hr_moves_start(plan, (hr_job){scripted_start->job}, &placement, HR_REASON_IN_ORDER) != HR_OK) return HR_OK;
  }
  for (uint32_t job = 0; job < JOBS; job++)
    if (view->state[job] == HR_JOB_WAITING) (void)hr_moves_reject(plan, (hr_job){job}, HR_REASON_POLICY);
  return HR_OK;
}

static const struct hr_policy_ops script_ops = {
    .abi = HR_POLICY_ABI, .size = sizeof script_ops, .name = "script", .create = no_create, .decide = decide_scripted};

/* Runs the script on two nodes, each with 2 shared GPUs of 16 GiB and 4 CPUs. */
static enum hr_status run_script(const struct scripted_start *scripted_start, uint32_t count, struct hr_result **result,
                                 struct hr_error *error) {
  char name[] = "p", gpu[] = "T4";
  struct hr_pool_spec pool = {.name = name,
                              .gpu = gpu,
                              .nodes = 2,
                              .gpus_per_node = 2,
                              .gpu_mem_mib = 16384,
                              .cpu_milli_per_node = 4000,
                              .sharing = HR_SHARING_FRACTION};
  const struct hr_cluster_spec cluster = {&pool, 1};
  const struct script script = {scripted_start, count};
  script_now = &script;
  struct hr_run_config config = {
      .trace = a_trace(), .cluster = &cluster, .policy = &script_ops, .horizon_us = HR_NEVER_US, .check = true};
  return hr_sim_run(&config, result, error);
}

#define RUN(result, error, ...)                                                                                        \
  run_script((const struct scripted_start[]){__VA_ARGS__},                                                             \
             sizeof((const struct scripted_start[]){__VA_ARGS__}) / sizeof(struct scripted_start), result, error)

#define ASSERT_REFUSED(rule, ...)                                                                                      \
  do {                                                                                                                 \
    struct hr_result *none;                                                                                            \
    struct hr_error error;                                                                                             \
    CU_ASSERT_EQUAL(RUN(&none, &error, __VA_ARGS__), HR_BAD_POLICY);                                                   \
    CU_ASSERT_PTR_NOT_NULL(strstr(error.text, rule));                                                                  \
  } while (0)

static void jobs_share_a_gpu(void) {
  struct hr_result *result;
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(RUN(&result, &error, {0, 1, {{{0}, 333, GPUS(1)}}},
                            {2, 2, {{{0}, 500, GPUS(1)}, {{1}, 500, GPUS(0)}}}, {3, 1, {{{1}, 0, 0}}}),
                        HR_BAD_POLICY);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "too little CPU")); /* 3 + 2 CPUs on a node with 4 */
  CU_ASSERT_EQUAL_FATAL(RUN(&result, &error, {0, 1, {{{0}, 333, GPUS(1)}}},
                            {2, 2, {{{0}, 500, GPUS(1)}, {{1}, 500, GPUS(0)}}}, {4, 0, {{{0}, 0, 0}}}),
                        HR_OK);
  CU_ASSERT_EQUAL(result->n_completed, 3);
  CU_ASSERT_EQUAL(result->gpu_milli[0], 333);
  CU_ASSERT_EQUAL(result->gpu_milli[2], 1000);
  hr_result_destroy(result);
}

static void placement_must_match_request(void) {
  ASSERT_REFUSED("the number of GPUs", {0, 1, {{{0}, 333, GPUS(0, 1)}}});
  ASSERT_REFUSED("the number of GPUs", {1, 1, {{{0}, 2000, 0}}});
  ASSERT_REFUSED("the number of GPUs", {3, 1, {{{0}, 0, GPUS(1)}}});
  ASSERT_REFUSED("the share of its GPUs", {0, 1, {{{0}, 334, GPUS(0)}}});
  ASSERT_REFUSED("the share of its GPUs", {1, 1, {{{0}, 1000, GPUS(0, 1)}}});
  ASSERT_REFUSED("too little free", {0, 1, {{{0}, 333, GPUS(5)}}}); /* there is no such GPU */
  ASSERT_REFUSED("one slice per task", {2, 1, {{{0}, 500, GPUS(0)}}});
  ASSERT_REFUSED("one slice per task", {0, 2, {{{0}, 333, GPUS(0)}, {{0}, 333, GPUS(0)}}});
  ASSERT_REFUSED("not in the placement's pool", {0, 1, {{{2}, 333, GPUS(0)}}});
  ASSERT_REFUSED("must not have slices", {4, 1, {{{0}, 0, 0}}});
  ASSERT_REFUSED("too little free", {0, 1, {{{0}, 333, GPUS(0)}}}, {1, 1, {{{0}, 2000, GPUS(0, 1)}}});
  ASSERT_REFUSED("too little CPU", {2, 2, {{{0}, 500, GPUS(0)}, {{0}, 500, GPUS(1)}}});
}

/* ---- Random policies ---- */

/* A policy that places, stops and rolls back at random. */
struct generator {
  uint64_t state;
};

static uint32_t below(struct generator *generator, uint32_t bound) {
  generator->state = generator->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((generator->state >> 33) % bound);
}

static struct generator *generator_now;

/* Tries to place the tasks of a job on consecutive nodes from a random node on, with one task per node. Returns false
   if the job does not fit. */
static bool place(struct generator *generator, const struct hr_view *view, hr_job job, struct hr_slice *slices,
                  struct hr_placement *placement) {
  const struct hr_gpu_inventory *inventory = hr_cluster_gpu_inventory(view->cluster);
  const struct hr_requests *requests = hr_cluster_requests(view->cluster);
  const struct hr_request *request = &requests->request[requests->of_job[job.id]];
  uint32_t from = below(generator, inventory->n_nodes);
  *placement = (struct hr_placement){{HR_NONE}, 0, slices};
  if (!hr_request_needs_node(request)) placement->pool = (hr_pool){0};
  if (!hr_request_needs_node(request)) return true;
  for (uint32_t i = 0; i < inventory->n_nodes && placement->n_slices < request->tasks; i++) {
    hr_node node = {(from + i) % inventory->n_nodes};
    hr_pool pool = {inventory->pool[node.id]};
    if (!hr_cluster_accepts(view->cluster, request->accept_class, pool)) continue;
    if (placement->pool.id != HR_NONE && pool.id != placement->pool.id) continue;
    if (!hr_gpu_inventory_fits(inventory, request, node)) continue;
    placement->pool = pool;
    slices[placement->n_slices++] =
        hr_gpu_inventory_slice(inventory, request, node, hr_gpu_inventory_pick(inventory, request, node));
  }
  return placement->n_slices == request->tasks;
}

static enum hr_status decide_random(void *self, const struct hr_view *view, struct hr_moves *plan) {
  struct generator *generator = generator_now;
  (void)self;
  for (uint32_t round = 0; round < 3; round++) {
    uint32_t mark = hr_moves_mark(plan);
    for (uint32_t job = 0; job < view->jobs->n_jobs; job++) {
      struct hr_slice slices[8];
      struct hr_placement placement;
      hr_job this = {job};
      if (view->state[job] == HR_JOB_RUNNING && view->attempt_us[job] < view->now_us && below(generator, 8) == 0)
        (void)hr_moves_preempt(plan, this, HR_REASON_PREEMPTED);
      if (view->state[job] == HR_JOB_WAITING && below(generator, 3) && place(generator, view, this, slices, &placement))
        (void)hr_moves_start(plan, this, &placement, HR_REASON_IN_ORDER);
    }
    if (below(generator, 3) == 0) hr_moves_rollback(plan, mark);
  }
  return view->n_waiting ? hr_moves_wake_at(plan, view->now_us + 1 + below(generator, 5)) : HR_OK;
}

static uint32_t stops(void *self) {
  (void)self;
  return HR_POLICY_PREEMPTS;
}

static const struct hr_policy_ops random_ops = {.abi = HR_POLICY_ABI,
                                                .size = sizeof random_ops,
                                                .name = "chance",
                                                .create = no_create,
                                                .decide = decide_random,
                                                .abilities = stops};

/* The allocated milli-GPUs of each GPU, computed from the events. */
struct gpu_use {
  uint32_t milli[16][8];
  bool is_exceeded;
};

static void add_use(struct gpu_use *gpu_use, const struct hr_placement *placement, uint32_t request_gpus, bool more) {
  for (uint32_t i = 0; i < placement->n_slices; i++)
    for (uint32_t gpu = 0; gpu < 8; gpu++) {
      struct hr_slice slice = placement->slices[i];
      uint32_t *milli = &gpu_use->milli[slice.node.id][gpu];
      if (slice.gpus >> gpu & 1) *milli += more ? slice.gpu_milli / request_gpus : -(slice.gpu_milli / request_gpus);
      gpu_use->is_exceeded = gpu_use->is_exceeded || *milli > 1000;
    }
}

static void log_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  bool stops = event->kind == HR_EVENT_END || event->kind == HR_EVENT_INTERRUPT || event->kind == HR_EVENT_PREEMPT;
  if (!stops && event->kind != HR_EVENT_START) return;
  const struct hr_requests *requests = hr_cluster_requests(view->cluster);
  uint32_t gpus = requests->request[requests->of_job[event->job.id]].gpus;
  if (gpus > 0) add_use(self, event->placement, gpus, !stops);
}

enum { RANDOM_JOBS = 30 };

struct random_trace {
  int64_t submit_us[RANDOM_JOBS], work_us[RANDOM_JOBS];
  uint32_t gpus[RANDOM_JOBS], tasks[RANDOM_JOBS], cpu_milli[RANDOM_JOBS];
  uint16_t gpu_milli[RANDOM_JOBS];
  uint8_t flags[RANDOM_JOBS];
  uint64_t mem_mib[RANDOM_JOBS], gpu_mem_mib[RANDOM_JOBS];
};

static void draw_trace(struct generator *generator, struct random_trace *jobs) {
  for (uint32_t i = 0; i < RANDOM_JOBS; i++) {
    jobs->submit_us[i] = (i ? jobs->submit_us[i - 1] : 0) + below(generator, 8);
    jobs->work_us[i] = 1 + below(generator, 30);
    jobs->tasks[i] = 1 + below(generator, 3) / 2;
    jobs->gpus[i] = jobs->tasks[i] * below(generator, 4);
    jobs->gpu_milli[i] = (uint16_t)(below(generator, 2) ? 1000 : 1 + below(generator, 1000));
    jobs->cpu_milli[i] = below(generator, 2) * below(generator, 5000);
    jobs->flags[i] = below(generator, 8) ? 0 : HR_JOB_DEDICATED;
    jobs->mem_mib[i] = below(generator, 2) * below(generator, 5000);
    jobs->gpu_mem_mib[i] = below(generator, 2) * below(generator, 12000);
  }
}

/* GPUs with four slices and the profiles 4g, 2g and 1g. Unless instances are created on demand, the second of three
   GPUs begins with the layout "4g", the other two with "2g,2x1g". */
static struct hr_mig_spec *make_mig_spec(enum hr_mig_mode mode, int64_t lead_us) {
  static const struct hr_mig_profile profiles[] = {
      {"4g", 24000, 0, 4, 4, 1, 1, false}, {"2g", 12000, 0, 2, 2, 5, 2, false}, {"1g", 6000, 0, 1, 1, 15, 4, false}};
  static const char *const layouts[] = {"2g,2x1g", "4x1g", "4g"};
  struct hr_mig_profile copy[3];
  memcpy(copy, profiles, sizeof copy);
  struct hr_mig_type type;
  hr_mig_type_init(&type, "A30", copy, 3);
  struct hr_mig_spec *spec = hr_mig_spec_create(&type, mode);
  CU_ASSERT_PTR_NOT_NULL_FATAL(spec);
  spec->lead_us = lead_us;
  for (uint32_t i = 0; mode != HR_MIG_ON_DEMAND && i < 3; i++) {
    struct hr_mig_gpu gpu;
    uint32_t number;
    CU_ASSERT_EQUAL_FATAL(hr_mig_layout(&type, layouts[i], &gpu, NULL), HR_OK);
    CU_ASSERT_EQUAL_FATAL(hr_mig_spec_add(spec, layouts[i], &gpu, &number), HR_OK);
  }
  if (mode != HR_MIG_ON_DEMAND) spec->layout_of_gpu = calloc(3, 1);
  if (spec->layout_of_gpu) spec->layout_of_gpu[1] = 2;
  return spec;
}

static void free_capacity_is_consistent(void) {
  uint64_t n_completed = 0, n_digests = 0;
  for (uint64_t seed = 1; seed <= 300; seed++) {
    struct generator generator = {seed};
    struct random_trace jobs;
    draw_trace(&generator, &jobs);
    const struct hr_trace trace = {.source = "test",
                                   .n_jobs = RANDOM_JOBS,
                                   .submit_us = jobs.submit_us,
                                   .work_us = jobs.work_us,
                                   .gpus = jobs.gpus,
                                   .flags = jobs.flags,
                                   .tasks = jobs.tasks,
                                   .gpu_milli = jobs.gpu_milli,
                                   .cpu_milli = jobs.cpu_milli,
                                   .mem_mib = jobs.mem_mib,
                                   .gpu_mem_mib = jobs.gpu_mem_mib};
    char name[] = "p", gpu[] = "T4";
    struct hr_pool_spec pools[2] = {{.name = name,
                                     .gpu = gpu,
                                     .nodes = 1 + below(&generator, 4),
                                     .gpus_per_node = 1 + below(&generator, 4),
                                     .gpu_mem_mib = 16384,
                                     .cpu_milli_per_node = 6000,
                                     .mem_mib_per_node = 6000,
                                     .sharing = HR_SHARING_FRACTION},
                                    {.name = name, .gpu = gpu, .nodes = 2, .gpus_per_node = 3}};
    if (below(&generator, 3)) {
      pools[1].sharing = HR_SHARING_MIG;
      pools[1].mig = make_mig_spec((enum hr_mig_mode)below(&generator, HR_N_MIG_MODES), below(&generator, 2) * 3);
    }
    const struct hr_cluster_spec cluster = {.pools = pools, .n_pools = 2, .mig_fallback = true};
    generator_now = &generator;
    struct gpu_use gpu_use = {0};
    struct hr_observer observer = {.self = &gpu_use, .on_event = log_event};
    struct hr_run_config config = {.trace = &trace,
                                   .cluster = &cluster,
                                   .policy = &random_ops,
                                   .horizon_us = 2000,
                                   .check = true,
                                   .observers = &observer,
                                   .n_observers = 1};
    struct hr_result *result;
    struct hr_error error = {0};
    enum hr_status status = hr_sim_run(&config, &result, &error);
    if (status != HR_OK) printf("seed %llu: %s\n", (unsigned long long)seed, error.text);
    CU_ASSERT_EQUAL_FATAL(status, HR_OK);
    CU_ASSERT_FALSE(gpu_use.is_exceeded);
    n_completed += result->n_completed;
    n_digests += result->digest != 0;
    hr_pool_sharing_finish(&(struct hr_pool_spec){.mig = pools[1].mig});
    hr_result_destroy(result);
  }
  CU_ASSERT(n_completed > 300 * RANDOM_JOBS * 8 / 10);
  CU_ASSERT_EQUAL(n_digests, 300);
}

TEST_MAIN("sharing", TEST(jobs_share_a_gpu), TEST(placement_must_match_request), TEST(free_capacity_is_consistent))
