/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole runs of jobs with topology constraints (islands, NUMA domains, nodes, racks, zones) under per-GPU allocation.
   The start time, nodes and GPUs of each job are compared with those of a naive scheduler, which computes the free
   capacity of every group for every job. */

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

enum { JOBS = 60, POOLS = 2, MAX_TASKS = 4, CASES = 330, WINDOW_CASES = 60 };

struct job {
  int64_t start_us, end_us;
  bool rejected;
  uint32_t n_slices;
  struct hr_slice slices[MAX_TASKS];
};

static struct {
  int64_t submit_us[JOBS], work_us[JOBS], limit_us[JOBS], wait_us[JOBS];
  uint32_t gpus[JOBS], tasks[JOBS], cpu_milli[JOBS];
  uint16_t gpu_milli[JOBS];
  uint8_t flags[JOBS], within[JOBS];
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
  for (uint32_t i = 0; i < POOLS; i++) {
    world.pools[i] = (struct hr_pool_spec){.name = i ? second : first,
                                           .gpu = gpu,
                                           .nodes = 3 + draw(7),
                                           .gpus_per_node = draw(2) ? 4 : 8,
                                           .gpu_mem_mib = draw(2) ? 16384 : 0,
                                           .cpu_milli_per_node = i && draw(2) ? 0 : 16000,
                                           .mem_mib_per_node = i && draw(2) ? 0 : 16000,
                                           .sharing = draw(4) ? HR_SHARING_FRACTION : HR_SHARING_WHOLE};
    if (world.pools[i].cpu_milli_per_node && draw(2)) world.pools[i].cpu_milli_per_gpu = 1 + draw(3000);
    struct hr_topology *topology = &world.pools[i].topology;
    if (draw(4)) topology->numa_gpus = 4;
    if (draw(4)) topology->island_gpus = 1 + draw(2);
    if (draw(4)) topology->nodes_per_rack = 1 + draw(3);
    if (topology->nodes_per_rack && draw(2)) topology->racks_per_zone = 2;
  }
  world.cluster = (struct hr_cluster_spec){.pools = world.pools, .n_pools = 1 + draw(POOLS), .by_gpu = true};
}

/* `of_several`: some of the jobs request fractions of several GPUs. */
static void draw_jobs(bool of_several) {
  for (uint32_t i = 0; i < JOBS; i++) {
    world.submit_us[i] = (i ? world.submit_us[i - 1] : 0) + draw(6);
    world.work_us[i] = 1 + draw(40);
    world.limit_us[i] = world.work_us[i] * (1 + draw(3));
    world.tasks[i] = draw(2) ? 1 : 1 + draw(MAX_TASKS);
    world.gpus[i] = world.tasks[i] * (draw(8) ? 1 + draw(draw(2) ? 2 : 4) : 0);
    bool may_share = of_several || world.gpus[i] <= world.tasks[i];
    world.gpu_milli[i] = (uint16_t)(!may_share || draw(2) ? 1000 : 50 * (1 + draw(19)));
    world.flags[i] = draw(12) ? 0 : HR_JOB_DEDICATED;
    world.cpu_milli[i] = draw(2) * draw(8000);
    world.mem_mib[i] = draw(2) * draw(8000);
    world.gpu_mem_mib[i] = draw(2) * draw(16384);
    world.within[i] = (uint8_t)draw(HR_TIER_POOL);
    world.wait_us[i] = world.within[i] && draw(3) ? (int64_t)draw(60) * draw(2) : HR_UNKNOWN_US;
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
                                  .gpu_mem_mib = world.gpu_mem_mib,
                                  .within = world.within,
                                  .within_wait_us = world.wait_us};
}

/* ---- Simulated run ---------------------------------------------------------------------------------- */

static void record_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  (void)self;
  (void)view;
  if (event->job.id == HR_NONE) return;
  struct job *job = &world.engine[event->job.id];
  job->rejected = job->rejected || event->kind == HR_EVENT_REJECT;
  if (event->kind != HR_EVENT_START) return;
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
  for (uint32_t i = 0; i < JOBS; i++) world.engine[i] = (struct job){.start_us = -1};
  enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status != HR_OK) printf("%s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  holds_check_end(&holds, result);
  CU_ASSERT_STRING_EQUAL(holds.fault, "");
  if (holds.fault[0]) printf("  %s\n", holds.fault);
  holds_finish(&holds);
  CU_ASSERT_EQUAL(result->n_completed + result->n_rejected, JOBS);
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
      *node = (struct naive_node){.pool = pool,
                                  .id = (uint32_t)naive.n_nodes++,
                                  .whole_only = spec->sharing == HR_SHARING_WHOLE,
                                  .n_gpus = (int)spec->gpus_per_node};
      node->cpu = node->cpu_capacity = spec->cpu_milli_per_node ? (long)spec->cpu_milli_per_node : -1;
      node->cpu_per_gpu = spec->cpu_milli_per_gpu;
      node->mem = node->mem_capacity = spec->mem_mib_per_node ? (long)spec->mem_mib_per_node : -1;
      for (int gpu = 0; gpu < node->n_gpus; gpu++) {
        node->left[gpu] = 1000;
        node->gpu_mem[gpu] = spec->gpu_mem_mib ? (long)spec->gpu_mem_mib : -1;
      }
    }
  }
}

static uint32_t milli_on(const struct hr_request *request, const struct naive_node *node) {
  return request->gpus * (node->whole_only ? 1000 : request->gpu_milli);
}

/* Places one task on GPUs of a set. GPUs with less free capacity are preferred. False: the task does not fit. */
static bool place_on_gpus(const char *rule, struct naive_node *node, const struct hr_request *request, uint64_t set,
                          uint64_t *gpus) {
  struct naive alone = naive;
  uint64_t unused;
  uint32_t milli = node->whole_only ? 1000 : request->gpu_milli;
  for (int i = 0; i < alone.n_nodes; i++) alone.node[i].closed = alone.node[i].id != node->id;
  *gpus = 0;
  if (naive_find(&alone, rule, request, &unused) < 0) return false;
  for (uint32_t i = 0; i < request->gpus; i++) {
    int best = -1;
    for (int gpu = 0; gpu < node->n_gpus; gpu++) {
      bool has_memory = node->gpu_mem[gpu] < 0 || node->gpu_mem[gpu] >= (long)request->gpu_mem_mib;
      bool may = set >> gpu & 1 && !(*gpus >> gpu & 1) && node->left[gpu] >= (int)milli && has_memory;
      if (may && (best < 0 || node->left[gpu] < node->left[best])) best = gpu;
    }
    if (best < 0) return false;
    *gpus |= UINT64_C(1) << best;
  }
  return true;
}

/* A set of nodes, or a set of GPUs of one node. */
struct group {
  uint32_t from, end;
  uint64_t set;
  bool by_priority;
};

/* Places as many tasks as fit, one by one, up to `max_tasks`. Returns their number. */
static uint32_t fill_group(const char *rule, const struct group *group, const struct hr_request *request,
                           uint32_t max_tasks, struct hr_slice *slices) {
  uint32_t placed = 0;
  for (; placed < max_tasks; placed++) {
    uint64_t gpus;
    int at;
    for (int i = 0; i < naive.n_nodes; i++)
      naive.node[i].closed = naive.node[i].id < group->from || naive.node[i].id >= group->end;
    if (group->by_priority)
      at = place_on_gpus(rule, &naive.node[group->from], request, group->set, &gpus) ? (int)group->from : -1;
    else
      at = naive_find(&naive, rule, request, &gpus);
    for (int i = 0; i < naive.n_nodes; i++) naive.node[i].closed = false;
    if (at < 0) break;
    naive_change(&naive.node[at], request, gpus, 1);
    slices[placed] = (struct hr_slice){{naive.node[at].id}, milli_on(request, &naive.node[at]), gpus, {0}};
  }
  return placed;
}

static void empty_group(const struct hr_request *request, const struct hr_slice *slices, uint32_t placed) {
  while (placed-- > 0) naive_change(&naive.node[slices[placed].node.id], request, slices[placed].gpus, -1);
}

/* Places all tasks of a job, or none. Returns whether they were placed. */
static bool try_group(const char *rule, uint32_t number, uint32_t accept_class, const struct group *group,
                      struct job *job) {
  struct hr_request request = request_of(number, accept_class);
  job->n_slices = fill_group(rule, group, &request, request.tasks, job->slices);
  if (job->n_slices == request.tasks) return true;
  empty_group(&request, job->slices, job->n_slices);
  return false;
}

static uint32_t room_in_group(const char *rule, uint32_t number, uint32_t accept_class, const struct group *group) {
  enum { MAX_ROOM = 4000 };
  static struct hr_slice slices[MAX_ROOM];
  struct hr_request request = request_of(number, accept_class);
  uint32_t room = fill_group(rule, group, &request, MAX_ROOM, slices);
  empty_group(&request, slices, room);
  return room;
}

static uint32_t first_node(uint32_t pool) {
  return pool ? world.pools[0].nodes : 0;
}

/* Writes the groups of a pool in their order. Returns their number. */
static uint32_t groups_of(uint32_t pool, enum hr_tier tier, struct group *groups) {
  const struct hr_pool_spec *spec = &world.pools[pool];
  const struct hr_topology *topology = &spec->topology;
  uint32_t gpus = spec->gpus_per_node, nodes = 1, count = 0, end = first_node(pool) + spec->nodes;
  if (tier <= HR_TIER_NUMA && topology->numa_gpus) gpus = topology->numa_gpus;
  if (tier == HR_TIER_ISLAND && topology->island_gpus) gpus = topology->island_gpus;
  if (tier >= HR_TIER_RACK) nodes = spec->nodes;
  if (tier >= HR_TIER_RACK && topology->racks_per_zone) nodes = topology->nodes_per_rack * topology->racks_per_zone;
  if (tier == HR_TIER_RACK && topology->nodes_per_rack) nodes = topology->nodes_per_rack;
  for (uint32_t from = first_node(pool); from < end; from += nodes)
    for (uint32_t gpu = 0; gpu < spec->gpus_per_node; gpu += gpus)
      groups[count++] = (struct group){.from = from,
                                       .end = from + nodes < end ? from + nodes : end,
                                       .set = ((UINT64_C(1) << gpus) - 1) << gpu,
                                       .by_priority = gpus < spec->gpus_per_node};
  return count;
}

/* Places a job in the first pool with a group that has enough capacity; in that pool, in the group with the smallest
   sufficient capacity. Returns whether it was placed. */
static bool try_within(const char *rule, uint32_t number, enum hr_tier tier, struct job *job) {
  static struct group groups[NAIVE_MOST_NODES * NAIVE_MOST_GPUS];
  for (uint32_t pool = 0; pool < world.cluster.n_pools; pool++) {
    uint32_t count = groups_of(pool, tier, groups), tightest = UINT32_MAX, best = 0;
    for (uint32_t i = 0; i < count; i++) {
      uint32_t room = room_in_group(rule, number, 1 + pool, &groups[i]);
      if (room < world.tasks[number] || room >= tightest) continue;
      tightest = room;
      best = i;
    }
    if (tightest != UINT32_MAX) return try_group(rule, number, 1 + pool, &groups[best], job);
  }
  return false;
}

static bool needs_node(uint32_t number) {
  return world.gpus[number] || world.cpu_milli[number] || world.mem_mib[number];
}

static bool try_anywhere(const char *rule, uint32_t number, struct job *job) {
  const struct group all = {0, UINT32_MAX, UINT64_MAX, false};
  if (world.tasks[number] == 1) return try_group(rule, number, 0, &all, job);
  for (uint32_t pool = 0; pool < world.cluster.n_pools; pool++)
    if (try_group(rule, number, 1 + pool, &all, job)) return true;
  return false;
}

static int64_t until_of(uint32_t number) {
  return world.wait_us[number] == HR_UNKNOWN_US ? INT64_MAX : world.submit_us[number] + world.wait_us[number];
}

/* Returns whether the constraint restricts the placement of the request. A job with a single task is always within one
   group if the tier splits the nodes of no pool. */
static bool needs_group(uint32_t number) {
  static struct group groups[NAIVE_MOST_NODES * NAIVE_MOST_GPUS];
  enum hr_tier tier = (enum hr_tier)world.within[number];
  if (tier == HR_TIER_ANY || world.tasks[number] > 1) return tier != HR_TIER_ANY;
  bool any_parted = false;
  for (uint32_t pool = 0; tier < HR_TIER_NODE && pool < world.cluster.n_pools; pool++)
    any_parted = any_parted || (groups_of(pool, tier, groups) > 0 && groups[0].by_priority);
  return world.gpus[number] > 1 && any_parted;
}

static bool place(const char *rule, uint32_t number, int64_t now_us, struct job *job) {
  job->n_slices = 0;
  if (!needs_node(number)) return true;
  if (!needs_group(number)) return try_anywhere(rule, number, job);
  if (try_within(rule, number, (enum hr_tier)world.within[number], job)) return true;
  return now_us >= until_of(number) && try_anywhere(rule, number, job);
}

static bool try_start(const char *rule, uint32_t number, int64_t now_us) {
  struct job *job = &world.naive[number];
  if (!place(rule, number, now_us, job)) return false;
  job->start_us = now_us;
  job->end_us = now_us + world.work_us[number];
  return true;
}

/* Rejects the jobs that would not fit even on an empty cluster. Returns their number. */
static uint32_t reject(const char *rule) {
  uint32_t n_rejected = 0;
  for (uint32_t i = 0; i < JOBS; i++) {
    struct hr_request request = request_of(i, 0);
    struct job job = {0};
    bool fits = place(rule, i, until_of(i) == INT64_MAX ? 0 : INT64_MAX - 1, &job);
    if (fits) empty_group(&request, job.slices, job.n_slices);
    world.naive[i] = (struct job){.start_us = -1, .end_us = -1, .rejected = !fits};
    n_rejected += !fits;
  }
  return n_rejected;
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

enum mode { STRICT, SKIP, EASY, CONSERVATIVE, N_MODES };
static const char *const mode_names[] = {"strict", "skip", "easy", "conservative"};

static void change_job(uint32_t number, int by) {
  struct hr_request request = request_of(number, 0);
  const struct job *job = &world.naive[number];
  for (uint32_t k = 0; k < job->n_slices; k++)
    naive_change(&naive.node[job->slices[k].node.id], &request, job->slices[k].gpus, by);
}

static int64_t expected_us(uint32_t number) {
  return world.naive[number].start_us + world.limit_us[number];
}

static bool is_gone_by(uint32_t number, int64_t at_us, int64_t now_us) {
  const struct job *job = &world.naive[number];
  return job->start_us >= 0 && job->end_us > now_us && expected_us(number) <= at_us;
}

/* Returns whether the job could start at a later time if running jobs end as expected. */
static bool could_start(const char *rule, uint32_t number, int64_t at_us, int64_t now_us) {
  struct job job = {0};
  struct hr_request request = request_of(number, 0);
  for (uint32_t i = 0; i < JOBS; i++)
    if (is_gone_by(i, at_us, now_us)) change_job(i, -1);
  bool could = place(rule, number, at_us, &job);
  if (could) empty_group(&request, job.slices, job.n_slices);
  for (uint32_t i = 0; i < JOBS; i++)
    if (is_gone_by(i, at_us, now_us)) change_job(i, 1);
  return could;
}

static int64_t reserved_us(const char *rule, uint32_t head, int64_t now_us) {
  int64_t best = INT64_MAX;
  for (uint32_t i = 0; i < JOBS; i++)
    if (is_gone_by(i, INT64_MAX, now_us) && expected_us(i) < best && could_start(rule, head, expected_us(i), now_us))
      best = expected_us(i);
  bool waits = needs_group(head) && until_of(head) > now_us && until_of(head) < best;
  return waits && could_start(rule, head, until_of(head), now_us) ? until_of(head) : best;
}

/* Starts a job that fits now if it ends before the reservation of the head, or if the head still fits at its
   reservation. Returns whether the job was started. */
static bool backfill(const char *rule, uint32_t number, uint32_t head, int64_t reserved, int64_t now_us) {
  if (!try_start(rule, number, now_us)) return false;
  if (world.limit_us[number] <= reserved - now_us || could_start(rule, head, reserved, now_us)) return true;
  change_job(number, -1);
  world.naive[number] = (struct job){.start_us = -1, .end_us = -1};
  return false;
}

/* ---- Conservative backfill: each waiting job gets the earliest window in which it fits ----------------- */

struct occupant {
  uint32_t number; /* job */
  int64_t from_us, to_us;
  struct job job;
};

static struct occupant occupants[JOBS];
static uint32_t n_occupants;

static void occupy(uint32_t number, int64_t from_us, int64_t to_us, const struct job *job) {
  occupants[n_occupants++] = (struct occupant){number, from_us, to_us, *job};
}

static int min_of(int a, int b) {
  return a < b ? a : b;
}

static long min_long(long a, long b) {
  return a < b ? a : b;
}

static int max_of(int a, int b) {
  return a > b ? a : b;
}

static void combine(struct naive_node *node, const struct naive_node *other) {
  for (int gpu = 0; gpu < node->n_gpus; gpu++) {
    node->left[gpu] = min_of(node->left[gpu], other->left[gpu]);
    node->gpu_mem[gpu] = min_long(node->gpu_mem[gpu], other->gpu_mem[gpu]);
  }
  node->cpu = min_long(node->cpu, other->cpu);
  node->mem = min_long(node->mem, other->mem);
  node->alone = max_of(node->alone, other->alone);
  node->shares = max_of(node->shares, other->shares);
  node->no_gpu = max_of(node->no_gpu, other->no_gpu);
  for (int i = 0; i <= NAIVE_MOST_GPUS; i++) node->whole[i] = max_of(node->whole[i], other->whole[i]);
}

/* Sets the state to that of one instant: the empty cluster with all occupants of the instant. */
static void set_instant(const struct naive *empty, int64_t at_us) {
  naive = *empty;
  for (uint32_t i = 0; i < n_occupants; i++) {
    const struct occupant *occupant = &occupants[i];
    struct hr_request request = request_of(occupant->number, 0);
    if (occupant->from_us > at_us || occupant->to_us <= at_us) continue;
    for (uint32_t k = 0; k < occupant->job.n_slices; k++)
      naive_change(&naive.node[occupant->job.slices[k].node.id], &request, occupant->job.slices[k].gpus, 1);
  }
}

/* Sets the state to the capacity that is free during a whole window. The use increases only when an occupant begins. */
static void set_window(const struct naive *empty, int64_t from_us, int64_t to_us) {
  set_instant(empty, from_us);
  struct naive window = naive;
  for (uint32_t i = 0; i < n_occupants; i++) {
    if (occupants[i].from_us <= from_us || occupants[i].from_us >= to_us) continue;
    set_instant(empty, occupants[i].from_us);
    for (int node = 0; node < naive.n_nodes; node++) combine(&window.node[node], &naive.node[node]);
  }
  naive = window;
}

static bool fits_in_window(const char *rule, const struct naive *empty, uint32_t number, int64_t at_us, int64_t now_us,
                           struct job *job) {
  struct hr_request request = request_of(number, 0);
  set_window(empty, at_us, at_us + world.limit_us[number]);
  bool fits = place(rule, number, now_us, job);
  if (fits) empty_group(&request, job->slices, job->n_slices);
  return fits;
}

/* Returns the earliest window of a job: it begins now, or when an occupant ends. INT64_MAX: the job is too large for a
   group, and its constraint has not expired. */
static int64_t earliest_window(const char *rule, const struct naive *empty, uint32_t number, int64_t now_us,
                               struct job *job) {
  int64_t at_us = now_us;
  while (!fits_in_window(rule, empty, number, at_us, now_us, job)) {
    int64_t next_us = INT64_MAX;
    for (uint32_t i = 0; i < n_occupants; i++)
      if (occupants[i].to_us > at_us && occupants[i].to_us < next_us) next_us = occupants[i].to_us;
    if (next_us == INT64_MAX) return INT64_MAX;
    at_us = next_us;
  }
  return at_us;
}

/* The first reservation of each job, to check that later passes do not delay it. */
static int64_t first_reserved_us[JOBS];

static uint32_t conservative_pass(const char *rule, const struct naive *empty, int64_t now_us) {
  uint32_t n_started = 0;
  n_occupants = 0;
  for (uint32_t i = 0; i < JOBS; i++)
    if (world.naive[i].start_us >= 0 && world.naive[i].end_us > now_us)
      occupy(i, now_us, expected_us(i) > now_us ? expected_us(i) : now_us + 1, &world.naive[i]);
  for (uint32_t i = 0; i < JOBS && world.submit_us[i] <= now_us; i++) {
    struct job job = world.naive[i];
    if (job.start_us >= 0 || job.rejected) continue;
    int64_t at_us = earliest_window(rule, empty, i, now_us, &job);
    if (at_us == INT64_MAX) continue;
    occupy(i, at_us, at_us + world.limit_us[i], &job);
    if (!first_reserved_us[i]) first_reserved_us[i] = at_us;
    if (at_us > now_us) continue;
    job.start_us = now_us;
    job.end_us = now_us + world.work_us[i];
    world.naive[i] = job;
    n_started++;
  }
  set_instant(empty, now_us);
  return n_started;
}

/* ---- Whole runs ------------------------------------------------------------------------------------- */

/* Returns the number of started jobs. */
static uint32_t pass(enum mode mode, const char *rule, int64_t now_us) {
  uint32_t head = JOBS, started = 0;
  int64_t reserved = 0;
  for (uint32_t i = 0; i < JOBS && world.submit_us[i] <= now_us; i++) {
    if (world.naive[i].start_us >= 0 || world.naive[i].rejected) continue;
    if (head < JOBS && mode == EASY) {
      started += backfill(rule, i, head, reserved, now_us);
    } else if (try_start(rule, i, now_us)) {
      started++;
    } else if (head == JOBS) {
      head = i;
      if (mode == STRICT) break;
      if (mode == EASY) reserved = reserved_us(rule, head, now_us);
    }
  }
  return started;
}

/* Returns whether an event occurs at this instant. Passes occur only at such instants. */
static bool has_event(int64_t now_us) {
  for (uint32_t i = 0; i < JOBS; i++) {
    bool ends = world.naive[i].start_us >= 0 && world.naive[i].end_us == now_us;
    if (ends || world.submit_us[i] == now_us || (needs_group(i) && until_of(i) == now_us)) return true;
  }
  return false;
}

static void run_naive(enum mode mode, const char *rule) {
  struct hr_arena arena = {0};
  init_naive(&arena);
  uint32_t left = JOBS - reject(rule);
  const struct naive empty = naive;
  for (int64_t now_us = 0; left > 0 && now_us < 100000; now_us++) {
    end_jobs(now_us);
    if (!has_event(now_us)) continue;
    left -= mode == CONSERVATIVE ? conservative_pass(rule, &empty, now_us) : pass(mode, rule, now_us);
  }
  CU_ASSERT_EQUAL(left, 0);
  hr__arena_finish(&arena);
}

/* ---- Comparison ------------------------------------------------------------------------------------- */

static bool same_job(const struct job *a, const struct job *b) {
  if (a->rejected || b->rejected) return a->rejected == b->rejected;
  if (a->start_us != b->start_us || a->n_slices != b->n_slices) return false;
  for (uint32_t i = 0; i < a->n_slices; i++)
    if (a->slices[i].node.id != b->slices[i].node.id || a->slices[i].gpus != b->slices[i].gpus ||
        a->slices[i].gpu_milli != b->slices[i].gpu_milli)
      return false;
  return true;
}

static void placements_equal_count_of_all_groups(void) {
  static const char *const rules[] = {"best-fit",     "worst-fit",           "first-fit",   "spread",
                                      "dot-product",  "weighted-best-fit",   "gpu-packing", "gpu-clustering",
                                      "kube-default", "kube-most-allocated", "fgd"};
  uint64_t waited = 0, gangs = 0, lapsed = 0, rejected = 0;
  for (uint32_t seed = 0; seed < CASES; seed++) {
    hr__stream_init(&draws, 13, HR__PURPOSE_ARRIVAL, seed, 0);
    const char *rule = rules[seed % (sizeof rules / sizeof *rules)];
    enum mode mode = (enum mode)draw(CONSERVATIVE);
    draw_pools();
    draw_jobs(false);
    run_engine(mode_names[mode], rule);
    run_naive(mode, rule);
    for (uint32_t i = 0; i < JOBS; i++) {
      bool same = same_job(&world.engine[i], &world.naive[i]);
      if (!same) printf("seed %u, %s, %s, job %u, within %u\n", seed, mode_names[mode], rule, i, world.within[i]);
      CU_ASSERT_FATAL(same);
      if (!needs_group(i)) continue;
      waited += world.naive[i].start_us > world.submit_us[i];
      gangs += world.naive[i].n_slices > 1;
      rejected += world.naive[i].rejected;
      lapsed += until_of(i) > world.submit_us[i] && world.naive[i].start_us == until_of(i);
    }
  }
  CU_ASSERT(waited > 2000);
  CU_ASSERT(gangs > 2000);
  CU_ASSERT(rejected > 300);
  CU_ASSERT(lapsed > 100);
}

static void conservative_windows_equal_naive_windows(void) {
  static const char *const rules[] = {
      "best-fit", "first-fit",    "worst-fit",         "dot-product",
      "fgd",      "kube-default", "weighted-best-fit", "gpu-packing"}; /* rules that do not count tasks */
  uint64_t n_waited = 0, n_ahead = 0;
  for (uint32_t seed = 0; seed < WINDOW_CASES; seed++) {
    hr__stream_init(&draws, 19, HR__PURPOSE_ARRIVAL, seed, 0);
    const char *rule = rules[seed % (sizeof rules / sizeof *rules)];
    draw_pools();
    draw_jobs(false);
    if (seed % 2) world.trace.within = NULL;
    if (seed % 2) memset(world.within, 0, sizeof world.within);
    memset(first_reserved_us, 0, sizeof first_reserved_us);
    run_engine("conservative", rule);
    run_naive(CONSERVATIVE, rule);
    int64_t last_us = 0;
    for (uint32_t i = 0; i < JOBS; i++) {
      bool same = same_job(&world.engine[i], &world.naive[i]);
      if (!same) printf("seed %u, %s, job %u, within %u\n", seed, rule, i, world.within[i]);
      CU_ASSERT_FATAL(same);
      n_waited += world.naive[i].start_us > world.submit_us[i];
      n_ahead += world.naive[i].start_us >= 0 && world.naive[i].start_us < last_us;
      if (world.naive[i].start_us > last_us) last_us = world.naive[i].start_us;
    }
  }
  CU_ASSERT(n_waited > WINDOW_CASES * JOBS / 10);
  CU_ASSERT(n_ahead > WINDOW_CASES * JOBS / 10);
}

/* If all jobs end at their limits, no job starts later than its first reservation. */
static void reservations_are_not_delayed(void) {
  for (uint32_t seed = 0; seed < WINDOW_CASES; seed++) {
    hr__stream_init(&draws, 23, HR__PURPOSE_ARRIVAL, seed, 0);
    draw_pools();
    draw_jobs(false);
    memcpy(world.limit_us, world.work_us, sizeof world.limit_us);
    memset(world.within, 0, sizeof world.within);
    memset(first_reserved_us, 0, sizeof first_reserved_us);
    run_engine("conservative", "first-fit");
    run_naive(CONSERVATIVE, "first-fit");
    for (uint32_t i = 0; i < JOBS; i++) {
      CU_ASSERT_FATAL(same_job(&world.engine[i], &world.naive[i]));
      CU_ASSERT(world.engine[i].start_us <= first_reserved_us[i]);
    }
  }
}

/* If tasks request fractions of several GPUs, a group may have enough free capacity in sum but no placement, so groups
   are tried one after the other. The test checks that each job that can run does run, within its constraint. */
static void fractions_of_several_gpus_are_placed(void) {
  for (uint32_t seed = 0; seed < CASES; seed++) {
    hr__stream_init(&draws, 17, HR__PURPOSE_ARRIVAL, seed, 0);
    draw_pools();
    draw_jobs(true);
    run_engine(mode_names[draw(N_MODES)], draw(2) ? "best-fit" : "random");
  }
}

TEST_MAIN("sharing runs within groups", TEST(placements_equal_count_of_all_groups),
          TEST(conservative_windows_equal_naive_windows), TEST(reservations_are_not_delayed),
          TEST(fractions_of_several_gpus_are_placed))
