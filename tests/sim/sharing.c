/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs that share GPUs: valid placements, and for random policies that the free capacity of each GPU and node is
   what the jobs leave, according to checked mode. */

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

/* Jobs: a third of a GPU; two whole ones; two tasks of half a GPU and 3 CPUs; 2 CPUs; nothing at all. */
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

struct wanted {
  uint32_t job, n_slices;
  struct hr_slice slice[3];
};

/* Places jobs as scripted at the first instant, and rejects the others. */
struct script {
  const struct wanted *wanted;
  uint32_t count;
};
static const struct script *script_now;

static enum hr_status no_create(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  (void)env;
  (void)self;
  (void)error;
  return HR_OK;
}

static enum hr_status play(void *self, const struct hr_view *view, struct hr_moves *plan) {
  (void)self;
  for (uint32_t i = 0; view->now_us == 0 && i < script_now->count; i++) {
    const struct wanted *wanted = &script_now->wanted[i];
    struct hr_placement placement = {{0}, wanted->n_slices, wanted->slice};
    if (hr_moves_start(plan, (hr_job){wanted->job}, &placement, HR_REASON_IN_ORDER) != HR_OK) return HR_OK;
  }
  for (uint32_t job = 0; job < JOBS; job++)
    if (view->state[job] == HR_JOB_WAITING) (void)hr_moves_reject(plan, (hr_job){job}, HR_REASON_POLICY);
  return HR_OK;
}

static const struct hr_policy_ops script_ops = {
    .abi = HR_POLICY_ABI, .size = sizeof script_ops, .name = "script", .create = no_create, .decide = play};

/* One node with 2 shared GPUs of 16 GB and 4 CPUs. */
static enum hr_status run_script(const struct wanted *wanted, uint32_t count, struct hr_result **result,
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
  const struct script script = {wanted, count};
  script_now = &script;
  struct hr_run_config config = {
      .trace = a_trace(), .cluster = &cluster, .policy = &script_ops, .horizon_us = HR_NEVER_US, .check = true};
  return hr_sim_run(&config, result, error);
}

#define RUN(result, error, ...)                                                                                        \
  run_script((const struct wanted[]){__VA_ARGS__},                                                                     \
             sizeof((const struct wanted[]){__VA_ARGS__}) / sizeof(struct wanted), result, error)

#define IS_REFUSED(rule, ...)                                                                                          \
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
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "too little CPU")); /* 3 and 2 of 4 */
  CU_ASSERT_EQUAL_FATAL(RUN(&result, &error, {0, 1, {{{0}, 333, GPUS(1)}}},
                            {2, 2, {{{0}, 500, GPUS(1)}, {{1}, 500, GPUS(0)}}}, {4, 0, {{{0}, 0, 0}}}),
                        HR_OK);
  CU_ASSERT_EQUAL(result->n_completed, 3);
  CU_ASSERT_EQUAL(result->gpu_milli[0], 333);
  CU_ASSERT_EQUAL(result->gpu_milli[2], 1000);
  hr_result_destroy(result);
}

static void a_placement_is_what_the_tasks_ask_for(void) {
  IS_REFUSED("the number of GPUs", {0, 1, {{{0}, 333, GPUS(0, 1)}}});
  IS_REFUSED("the number of GPUs", {1, 1, {{{0}, 2000, 0}}});
  IS_REFUSED("the number of GPUs", {3, 1, {{{0}, 0, GPUS(1)}}});
  IS_REFUSED("the share of its GPUs", {0, 1, {{{0}, 334, GPUS(0)}}});
  IS_REFUSED("the share of its GPUs", {1, 1, {{{0}, 1000, GPUS(0, 1)}}});
  IS_REFUSED("too little free", {0, 1, {{{0}, 333, GPUS(5)}}}); /* there is no such GPU */
  IS_REFUSED("one slice per task", {2, 1, {{{0}, 500, GPUS(0)}}});
  IS_REFUSED("one slice per task", {0, 2, {{{0}, 333, GPUS(0)}, {{0}, 333, GPUS(0)}}});
  IS_REFUSED("not in the placement's pool", {0, 1, {{{2}, 333, GPUS(0)}}});
  IS_REFUSED("must not have slices", {4, 1, {{{0}, 0, 0}}});
  IS_REFUSED("too little free", {0, 1, {{{0}, 333, GPUS(0)}}}, {1, 1, {{{0}, 2000, GPUS(0, 1)}}});
  IS_REFUSED("too little CPU", {2, 2, {{{0}, 500, GPUS(0)}, {{0}, 500, GPUS(1)}}});
}

/* ---- Random policies ---- */

/* Places, stops and rolls back at random. */
struct chance {
  uint64_t state;
};

static uint32_t below(struct chance *chance, uint32_t bound) {
  chance->state = chance->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((chance->state >> 33) % bound);
}

static struct chance *chance_now;

/* Tasks of one job are placed on consecutive nodes from a random one on, each on a GPU of its own. */
static bool place(struct chance *chance, const struct hr_view *view, hr_job job, struct hr_slice *slices,
                  struct hr_placement *placement) {
  const struct hr_gpu_inventory *inventory = hr_cluster_gpu_inventory(view->cluster);
  const struct hr_requests *requests = hr_cluster_requests(view->cluster);
  const struct hr_request *request = &requests->request[requests->of_job[job.id]];
  uint32_t from = below(chance, inventory->n_nodes);
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

static enum hr_status act(void *self, const struct hr_view *view, struct hr_moves *plan) {
  struct chance *chance = chance_now;
  (void)self;
  for (uint32_t round = 0; round < 3; round++) {
    uint32_t mark = hr_moves_mark(plan);
    for (uint32_t job = 0; job < view->jobs->n_jobs; job++) {
      struct hr_slice slices[8];
      struct hr_placement placement;
      hr_job this = {job};
      if (view->state[job] == HR_JOB_RUNNING && view->attempt_us[job] < view->now_us && below(chance, 8) == 0)
        (void)hr_moves_preempt(plan, this, HR_REASON_PREEMPTED);
      if (view->state[job] == HR_JOB_WAITING && below(chance, 3) && place(chance, view, this, slices, &placement))
        (void)hr_moves_start(plan, this, &placement, HR_REASON_IN_ORDER);
    }
    if (below(chance, 3) == 0) hr_moves_rollback(plan, mark);
  }
  return view->n_waiting ? hr_moves_wake_at(plan, view->now_us + 1 + below(chance, 5)) : HR_OK;
}

static uint32_t stops(void *self) {
  (void)self;
  return HR_POLICY_PREEMPTS;
}

static const struct hr_policy_ops chance_ops = {.abi = HR_POLICY_ABI,
                                                .size = sizeof chance_ops,
                                                .name = "chance",
                                                .create = no_create,
                                                .decide = act,
                                                .abilities = stops};

/* The part of each GPU that jobs have, according to events. */
struct told {
  uint32_t milli[16][8];
  bool over;
};

static void tell(struct told *told, const struct hr_placement *placement, uint32_t request_gpus, bool more) {
  for (uint32_t i = 0; i < placement->n_slices; i++)
    for (uint32_t gpu = 0; gpu < 8; gpu++) {
      struct hr_slice slice = placement->slices[i];
      uint32_t *milli = &told->milli[slice.node.id][gpu];
      if (slice.gpus >> gpu & 1) *milli += more ? slice.gpu_milli / request_gpus : -(slice.gpu_milli / request_gpus);
      told->over = told->over || *milli > 1000;
    }
}

static void hear(void *self, const struct hr_view *view, const struct hr_event *event) {
  bool stops = event->kind == HR_EVENT_END || event->kind == HR_EVENT_INTERRUPT || event->kind == HR_EVENT_PREEMPT;
  if (!stops && event->kind != HR_EVENT_START) return;
  const struct hr_requests *requests = hr_cluster_requests(view->cluster);
  uint32_t gpus = requests->request[requests->of_job[event->job.id]].gpus;
  if (gpus > 0) tell(self, event->placement, gpus, !stops);
}

enum { MANY = 30 };

struct random_trace {
  int64_t submit_us[MANY], work_us[MANY];
  uint32_t gpus[MANY], tasks[MANY], cpu_milli[MANY];
  uint16_t gpu_milli[MANY];
  uint8_t flags[MANY];
  uint64_t mem_mib[MANY], gpu_mem_mib[MANY];
};

static void draw_trace(struct chance *chance, struct random_trace *jobs) {
  for (uint32_t i = 0; i < MANY; i++) {
    jobs->submit_us[i] = (i ? jobs->submit_us[i - 1] : 0) + below(chance, 8);
    jobs->work_us[i] = 1 + below(chance, 30);
    jobs->tasks[i] = 1 + below(chance, 3) / 2;
    jobs->gpus[i] = jobs->tasks[i] * below(chance, 4);
    jobs->gpu_milli[i] = (uint16_t)(below(chance, 2) ? 1000 : 1 + below(chance, 1000));
    jobs->cpu_milli[i] = below(chance, 2) * below(chance, 5000);
    jobs->flags[i] = below(chance, 8) ? 0 : HR_JOB_DEDICATED;
    jobs->mem_mib[i] = below(chance, 2) * below(chance, 5000);
    jobs->gpu_mem_mib[i] = below(chance, 2) * below(chance, 12000);
  }
}

/* GPUs of four slices: 4g, 2g, 1g; one GPU in three begins with another layout. */
static struct hr_mig_spec *make_split(enum hr_mig_mode mode, int64_t lead_us) {
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

static void what_is_free_is_what_jobs_leave(void) {
  uint64_t n_completed = 0, n_digests = 0;
  for (uint64_t seed = 1; seed <= 300; seed++) {
    struct chance chance = {seed};
    struct random_trace jobs;
    draw_trace(&chance, &jobs);
    const struct hr_trace trace = {.source = "test",
                                   .n_jobs = MANY,
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
                                     .nodes = 1 + below(&chance, 4),
                                     .gpus_per_node = 1 + below(&chance, 4),
                                     .gpu_mem_mib = 16384,
                                     .cpu_milli_per_node = 6000,
                                     .mem_mib_per_node = 6000,
                                     .sharing = HR_SHARING_FRACTION},
                                    {.name = name, .gpu = gpu, .nodes = 2, .gpus_per_node = 3}};
    if (below(&chance, 3)) {
      pools[1].sharing = HR_SHARING_MIG;
      pools[1].mig = make_split((enum hr_mig_mode)below(&chance, HR_N_MIG_MODES), below(&chance, 2) * 3);
    }
    const struct hr_cluster_spec cluster = {pools, 2};
    chance_now = &chance;
    struct told told = {0};
    struct hr_observer observer = {.self = &told, .on_event = hear};
    struct hr_run_config config = {.trace = &trace,
                                   .cluster = &cluster,
                                   .policy = &chance_ops,
                                   .horizon_us = 2000,
                                   .check = true,
                                   .observers = &observer,
                                   .n_observers = 1};
    struct hr_result *result;
    struct hr_error error = {0};
    enum hr_status status = hr_sim_run(&config, &result, &error);
    if (status != HR_OK) printf("seed %llu: %s\n", (unsigned long long)seed, error.text);
    CU_ASSERT_EQUAL_FATAL(status, HR_OK);
    CU_ASSERT_FALSE(told.over);
    n_completed += result->n_completed;
    n_digests += result->digest != 0;
    hr_pool_sharing_finish(&(struct hr_pool_spec){.mig = pools[1].mig});
    hr_result_destroy(result);
  }
  CU_ASSERT(n_completed > 300 * MANY * 8 / 10);
  CU_ASSERT_EQUAL(n_digests, 300);
}

TEST_MAIN("sharing", TEST(jobs_share_a_gpu), TEST(a_placement_is_what_the_tasks_ask_for),
          TEST(what_is_free_is_what_jobs_leave))
