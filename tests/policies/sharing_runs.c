/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole runs on pools with shared GPUs. The start time, nodes and GPUs of each job are compared with those of a naive
   scheduler, which examines every node for every task. */

#include "base/containers.h"
#include "base/random.h"
#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "headroom/unstable/fragmentation.h"
#include "holds.h"
#include "naive_packing.h"
#include "queue_choice.h"

#include <string.h>

enum { JOBS = 60, POOLS = 2, MAX_TASKS = 2, CASES = 264 };

struct job {
  int64_t start_us, end_us;
  uint32_t n_slices;
  struct hr_slice slices[MAX_TASKS];
};

static struct {
  int64_t submit_us[JOBS], work_us[JOBS], limit_us[JOBS];
  uint32_t gpus[JOBS], tasks[JOBS], cpu_milli[JOBS];
  uint16_t gpu_milli[JOBS];
  uint8_t flags[JOBS];
  uint64_t mem_mib[JOBS], gpu_mem_mib[JOBS];
  struct hr_trace trace;
  struct hr_pool_spec pools[POOLS];
  struct hr_cluster_spec cluster;
  struct job engine[JOBS], naive[JOBS];
} world;

static struct hr__stream draws;

static uint32_t draw(uint32_t below) {
  return hr__stream_next(&draws) % below;
}

/* ---- Random scenarios ------------------------------------------------------------------------------- */

static void draw_pools(void) {
  static char first[] = "first", second[] = "second", gpu[] = "T4";
  for (uint32_t i = 0; i < POOLS; i++)
    world.pools[i] = (struct hr_pool_spec){.name = i ? second : first,
                                           .gpu = gpu,
                                           .nodes = 2 + draw(4),
                                           .gpus_per_node = 2 + draw(3),
                                           .gpu_mem_mib = draw(2) ? 16384 : 0,
                                           .cpu_milli_per_node = i && draw(2) ? 0 : 8000,
                                           .mem_mib_per_node = i && draw(2) ? 0 : 8000,
                                           .sharing = HR_SHARING_FRACTION};
  world.cluster = (struct hr_cluster_spec){.pools = world.pools, .n_pools = 1 + draw(POOLS)};
}

static void draw_jobs(void) {
  for (uint32_t i = 0; i < JOBS; i++) {
    world.submit_us[i] = (i ? world.submit_us[i - 1] : 0) + draw(6);
    world.work_us[i] = 1 + draw(40);
    world.limit_us[i] = 1 + draw(80);
    world.tasks[i] = 1 + draw(4) / 3;
    world.gpus[i] = world.tasks[i] * (draw(8) ? 1 + draw(2) : 0);
    world.gpu_milli[i] = (uint16_t)(draw(2) ? 1000 : 50 * (1 + draw(19)));
    world.flags[i] = draw(8) ? 0 : HR_JOB_DEDICATED;
    world.cpu_milli[i] = draw(2) * draw(8000);
    world.mem_mib[i] = draw(2) * draw(8000);
    world.gpu_mem_mib[i] = draw(2) * draw(16384);
  }
  world.trace = (struct hr_trace){.source = "test",
                                  .n_jobs = JOBS,
                                  .submit_us = world.submit_us,
                                  .work_us = world.work_us,
                                  .limit_us = world.limit_us,
                                  .gpus = world.gpus,
                                  .tasks = world.tasks,
                                  .gpu_milli = world.gpu_milli,
                                  .cpu_milli = world.cpu_milli,
                                  .mem_mib = world.mem_mib,
                                  .flags = world.flags,
                                  .gpu_mem_mib = world.gpu_mem_mib};
}

/* ---- Simulated run ---------------------------------------------------------------------------------- */

static void record_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  (void)self;
  (void)view;
  if (event->kind != HR_EVENT_START) return;
  struct job *job = &world.engine[event->job.id];
  job->start_us = event->at_us;
  job->n_slices = event->placement->n_slices;
  for (uint32_t i = 0; i < job->n_slices; i++) job->slices[i] = event->placement->slices[i];
}

static void run_engine(const char *backfill, const char *rule) {
  struct hr_policy_choice choice = queue_choice(backfill, rule);
  struct holds holds;
  struct hr_observer observers[1 + HOLDS_FOLDS] = {{.on_event = record_event}};
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
  memset(world.engine, 0, sizeof world.engine);
  enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status != HR_OK) printf("%s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  holds_check_end(&holds, result);
  CU_ASSERT_STRING_EQUAL(holds.fault, "");
  if (holds.fault[0]) printf("  %s\n", holds.fault);
  holds_finish(&holds);
  CU_ASSERT_EQUAL(result->n_completed, JOBS);
  hr_result_destroy(result);
  hr_policy_choice_finish(&choice);
}

/* ---- Naive scheduler -------------------------------------------------------------------------------- */

static struct naive naive;
/* by acceptance class and pool: class 0 accepts both pools, class 1 only the first, class 2 only the second */
static const uint8_t accepted[] = {1, 1, 1, 0, 0, 1};

static struct hr_request request_of(uint32_t job, uint32_t accept_class) {
  bool has_gpus = world.gpus[job] > 0;
  return (struct hr_request){.accept_class = accept_class,
                             .tasks = world.tasks[job],
                             .gpus = world.gpus[job] / world.tasks[job],
                             .gpu_milli = has_gpus ? world.gpu_milli[job] : 0,
                             .gpu_mem_mib = has_gpus ? (uint32_t)world.gpu_mem_mib[job] : 0,
                             .cpu_milli = world.cpu_milli[job],
                             .mem_mib = world.mem_mib[job],
                             .dedicated = world.flags[job] != 0};
}

static void init_naive(struct hr_arena *arena) {
  const struct hr_requests *requests = hr_requests_create(arena, &world.trace, NULL, NULL, NULL);
  naive = (struct naive){.acceptance = {accepted, 3, POOLS}, .typical = hr_typical_pods_create(arena, requests)};
  for (uint32_t pool = 0; pool < world.cluster.n_pools; pool++) {
    const struct hr_pool_spec *spec = &world.pools[pool];
    for (uint32_t i = 0; i < spec->nodes; i++) {
      struct naive_node *node = &naive.node[naive.n_nodes];
      *node = (struct naive_node){.pool = pool, .id = (uint32_t)naive.n_nodes++, .n_gpus = (int)spec->gpus_per_node};
      node->cpu = node->cpu_capacity = spec->cpu_milli_per_node ? (long)spec->cpu_milli_per_node : -1;
      node->mem = node->mem_capacity = spec->mem_mib_per_node ? (long)spec->mem_mib_per_node : -1;
      for (int gpu = 0; gpu < node->n_gpus; gpu++) {
        node->left[gpu] = 1000;
        node->gpu_mem[gpu] = spec->gpu_mem_mib ? (long)spec->gpu_mem_mib : -1;
      }
    }
  }
}

/* Places all tasks of a job, or none. Returns whether they were placed. */
static bool try_class(const char *rule, uint32_t number, uint32_t accept_class, struct job *job) {
  struct hr_request request = request_of(number, accept_class);
  int at[MAX_TASKS];
  uint32_t placed = 0;
  for (; placed < request.tasks; placed++) {
    uint64_t gpus;
    at[placed] = naive_find(&naive, rule, &request, &gpus);
    if (at[placed] < 0) break;
    struct naive_node *node = &naive.node[at[placed]];
    naive_change(node, &request, gpus, 1);
    job->slices[placed] = (struct hr_slice){{node->id}, request.gpus * request.gpu_milli, gpus, {0}};
  }
  job->n_slices = placed;
  if (placed == request.tasks) return true;
  while (placed-- > 0) naive_change(&naive.node[at[placed]], &request, job->slices[placed].gpus, -1);
  return false;
}

static bool try_start(const char *rule, uint32_t number, int64_t now_us) {
  struct job *job = &world.naive[number];
  bool needs_node = world.gpus[number] || world.cpu_milli[number] || world.mem_mib[number];
  bool placed = !needs_node || (world.tasks[number] == 1 && try_class(rule, number, 0, job));
  for (uint32_t pool = 0; !placed && world.tasks[number] > 1 && pool < world.cluster.n_pools; pool++)
    placed = try_class(rule, number, 1 + pool, job);
  if (!placed) return false;
  if (!needs_node) job->n_slices = 0;
  job->start_us = now_us;
  job->end_us = now_us + world.work_us[number];
  return true;
}

static void end_jobs(int64_t now_us) {
  for (uint32_t i = 0; i < JOBS; i++) {
    struct job *job = &world.naive[i];
    if (job->start_us < 0 || job->end_us != now_us) continue;
    struct hr_request request = request_of(i, 0);
    for (uint32_t k = 0; k < job->n_slices; k++)
      naive_change(&naive.node[job->slices[k].node.id], &request, job->slices[k].gpus, -1);
  }
}

/* ---- Backfilling ------------------------------------------------------------------------------------ */

static int64_t expected_end_us(uint32_t job) {
  return world.naive[job].start_us + world.limit_us[job];
}

static bool runs_at(uint32_t job, int64_t now_us) {
  return world.naive[job].start_us >= 0 && world.naive[job].end_us > now_us;
}

static void release_gpus(uint32_t job) {
  struct hr_request request = request_of(job, 0);
  for (uint32_t k = 0; k < world.naive[job].n_slices; k++)
    naive_change(&naive.node[world.naive[job].slices[k].node.id], &request, world.naive[job].slices[k].gpus, -1);
}

/* Returns whether the job fits now, without changing the state. */
static bool fits_now(const char *rule, uint32_t job) {
  struct naive before = naive;
  struct job is = world.naive[job];
  bool fits = try_start(rule, job, 0);
  world.naive[job] = is;
  naive = before;
  return fits;
}

/* Returns whether the job would fit without the running jobs that are expected to end by `at_us`. */
static bool fits_at(const char *rule, uint32_t job, int64_t at_us, int64_t now_us) {
  struct naive before = naive;
  for (uint32_t i = 0; i < JOBS; i++)
    if (runs_at(i, now_us) && expected_end_us(i) <= at_us) release_gpus(i);
  bool fits = fits_now(rule, job);
  naive = before;
  return fits;
}

/* Returns the earliest time at which the head fits if running jobs end as expected. Overdue jobs are expected to end
   now. */
static int64_t reserve(const char *rule, uint32_t head, int64_t now_us) {
  int64_t at_us = now_us + 1;
  while (!fits_at(rule, head, at_us, now_us)) {
    int64_t next_us = INT64_MAX;
    for (uint32_t i = 0; i < JOBS; i++)
      if (runs_at(i, now_us) && expected_end_us(i) > at_us && expected_end_us(i) < next_us)
        next_us = expected_end_us(i);
    CU_ASSERT_NOT_EQUAL_FATAL(next_us, INT64_MAX);
    at_us = next_us;
  }
  return at_us;
}

/* Starts jobs that do not delay the head. Returns their number. */
static uint32_t backfill(const char *rule, uint32_t head, int64_t now_us) {
  int64_t at_us = reserve(rule, head, now_us);
  uint32_t n_started = 0;
  for (uint32_t i = head + 1; i < JOBS && world.submit_us[i] <= now_us; i++) {
    if (world.naive[i].start_us >= 0) continue;
    struct naive before = naive;
    struct job was = world.naive[i];
    if (!try_start(rule, i, now_us)) continue;
    /* If a job reaches its limit before the reservation begins, it does not delay the head. */
    bool is_short = world.limit_us[i] <= at_us - now_us;
    bool allowed = is_short;
    if (!is_short) {
      int64_t limit_us = world.limit_us[i];
      world.limit_us[i] = INT32_MAX;
      allowed = fits_at(rule, head, at_us, now_us);
      world.limit_us[i] = limit_us;
    }
    n_started += allowed;
    if (allowed) continue;
    naive = before;
    world.naive[i] = was;
  }
  return n_started;
}

/* ---- Whole runs ------------------------------------------------------------------------------------- */

enum backfill { STRICT, SKIP, EASY };

/* Returns whether an event occurs at this instant. Passes occur only at such instants. */
static bool has_event(int64_t now_us) {
  for (uint32_t i = 0; i < JOBS; i++)
    if (world.submit_us[i] == now_us || (world.naive[i].start_us >= 0 && world.naive[i].end_us == now_us)) return true;
  return false;
}

static void run_naive(enum backfill mode, const char *rule) {
  uint32_t left = JOBS;
  struct hr_arena arena = {0};
  init_naive(&arena);
  for (uint32_t i = 0; i < JOBS; i++) world.naive[i] = (struct job){.start_us = -1, .end_us = -1};
  for (int64_t now_us = 0; left > 0 && now_us < 100000; now_us++) {
    end_jobs(now_us);
    if (!has_event(now_us)) continue;
    for (uint32_t i = 0; i < JOBS && world.submit_us[i] <= now_us; i++) {
      if (world.naive[i].start_us >= 0) continue;
      if (try_start(rule, i, now_us))
        left--;
      else if (mode == EASY)
        left -= backfill(rule, i, now_us);
      if (mode != SKIP && world.naive[i].start_us < 0) break;
    }
  }
  CU_ASSERT_EQUAL(left, 0);
  hr__arena_finish(&arena);
}

/* ---- Comparison ------------------------------------------------------------------------------------- */

static bool same_job(const struct job *a, const struct job *b) {
  if (a->start_us != b->start_us || a->n_slices != b->n_slices) return false;
  for (uint32_t i = 0; i < a->n_slices; i++)
    if (a->slices[i].node.id != b->slices[i].node.id || a->slices[i].gpus != b->slices[i].gpus ||
        a->slices[i].gpu_milli != b->slices[i].gpu_milli)
      return false;
  return true;
}

static void placements_equal_scan_of_all_nodes(void) {
  static const char *const rules[] = {"best-fit",     "worst-fit",           "first-fit",   "spread",
                                      "dot-product",  "weighted-best-fit",   "gpu-packing", "gpu-clustering",
                                      "kube-default", "kube-most-allocated", "fgd"};
  uint64_t waited = 0, gangs = 0;
  for (uint32_t seed = 0; seed < CASES; seed++) {
    hr__stream_init(&draws, 7, HR__PURPOSE_ARRIVAL, seed, 0);
    const char *rule = rules[seed % (sizeof rules / sizeof *rules)];
    static const char *const modes[] = {"strict", "skip", "easy"};
    enum backfill mode = (enum backfill)draw(3);
    draw_pools();
    draw_jobs();
    run_engine(modes[mode], rule);
    run_naive(mode, rule);
    for (uint32_t i = 0; i < JOBS; i++) {
      bool same = same_job(&world.engine[i], &world.naive[i]);
      if (!same) printf("seed %u, %s, job %u\n", seed, rule, i);
      CU_ASSERT_FATAL(same);
      waited += world.naive[i].start_us > world.submit_us[i];
      gangs += world.tasks[i] > 1;
    }
  }
  CU_ASSERT(waited > CASES * JOBS / 10);
  CU_ASSERT(gangs > CASES * JOBS / 10);
}

TEST_MAIN("sharing runs", TEST(placements_equal_scan_of_all_nodes))
