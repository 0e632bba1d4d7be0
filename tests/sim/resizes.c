/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Elastic jobs: closed forms, and random worlds in checked mode, with counted and per-GPU allocation and failures of
 * nodes. In these worlds, a policy starts jobs with any of their sizes and resizes them at random. The same worlds are
 * also run with the `queue` policy.
 *
 * An observer computes the work of each job from the events alone, in GPU-microseconds. A segment is the time between
 * two starts, stops or resizes of a job, in which its number of GPUs is constant. Its work is its GPUs times its time
 * after the restart. A job must end at the first microsecond at which this sum reaches its work times the GPUs that it
 * requests. The observer also adds up the GPU time and the cost of each segment.
 */

#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "headroom/unstable/faults.h"
#include "queue_choice.h"

#include <string.h>

#define S HR_SECOND_US

enum { MAX_JOBS = 12, MAX_NODES = 6, MAX_GPUS = 8, MAX_SLICES = 64, MILLI = 1000, PRICE_UUSD_H = 1234567 };

static uint64_t random_state;

static uint32_t draw(uint32_t below) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((random_state >> 33) % below);
}

/* ---- A world, and what the observer knows ---- */

struct world {
  int64_t submit_us[MAX_JOBS], work_us[MAX_JOBS];
  uint32_t gpus[MAX_JOBS], tasks[MAX_JOBS], min_gpus[MAX_JOBS], max_gpus[MAX_JOBS];
  struct hr_trace trace;
  struct hr_pool_spec pool;
  struct hr_cluster_spec cluster;
  struct hr_fault_spec faults;
  struct hr_fault_process process;
  struct hr_class_spec classes[HR_N_CLASSES];
  uint32_t n_wakes; /* remaining number of wake-ups that the policy requests */
  bool is_exact;    /* failures are detected immediately, so events show when jobs work */
  /* by job, from the events */
  struct seen {
    bool runs, has_run;
    uint32_t gpus, n_resizes;
    int64_t since_us, end_us, held_us, saved_us;
    hr_amount done, held; /* GPU-microseconds of work and of time */
  } seen[MAX_JOBS];
  uint32_t used[MAX_NODES], n_violations, n_failures, n_shrinks;
  const char *elastic; /* parameter `elastic` of the `queue` policy; NULL: the random policy */
};

static struct world *world; /* of the present run */

static uint32_t step_of(const struct world *self, uint32_t job) {
  return self->tasks[job] > 1 ? self->gpus[job] / self->tasks[job] : self->cluster.by_gpu ? self->gpus[job] : 1;
}

static void violation(const char *what, const struct hr_event *event) {
  if (world->n_violations++ == 0)
    fprintf(stderr, "\n    %s: %s of job %u at %lld us\n", what, hr_event_name(event->kind), event->job.id,
            (long long)event->at_us);
}

static uint32_t gpus_at(const struct hr_placement *placement, int sign) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    const struct hr_slice *slice = &placement->slices[i];
    world->used[slice->node.id] += (uint32_t)sign * (slice->gpu_milli / MILLI);
    sum += slice->gpu_milli / MILLI;
  }
  return sum;
}

static void note_start(const struct hr_event *event) {
  struct seen *seen = &world->seen[event->job.id];
  uint32_t job = event->job.id, step = step_of(world, job);
  if (seen->runs) violation("a running job starts", event);
  seen->gpus = gpus_at(event->placement, 1);
  for (uint32_t i = 0; i < world->pool.nodes; i++)
    if (world->used[i] > world->pool.gpus_per_node) violation("a node is over capacity", event);
  if (seen->gpus < world->min_gpus[job] || seen->gpus > world->max_gpus[job] || seen->gpus % step)
    violation("not a size of the job", event);
  seen->runs = true;
  seen->since_us = event->at_us;
}

/* Ends a segment. The first segment of a job needs no restart. */
static void note_stop(const struct hr_event *event) {
  struct seen *seen = &world->seen[event->job.id];
  int64_t passed_us = event->at_us - seen->since_us, restart_us = seen->has_run ? world->classes[0].restart_us : 0;
  if (!seen->runs) violation("a job stops that does not run", event);
  if (gpus_at(event->placement, -1) != seen->gpus) violation("a job stops with other GPUs", event);
  seen->runs = false;
  seen->has_run = true;
  seen->held_us += passed_us;
  seen->held += (hr_amount)passed_us * seen->gpus;
  if (passed_us > restart_us) seen->done += (hr_amount)(passed_us - restart_us) * seen->gpus;
}

static void note_end(const struct hr_event *event) {
  const struct seen *seen = &world->seen[event->job.id];
  world->seen[event->job.id].end_us = event->at_us;
  hr_amount work = (hr_amount)world->work_us[event->job.id] * world->gpus[event->job.id];
  if (!world->is_exact) return;
  if (seen->done < work) violation("a job ends too early", event);
  if (seen->done - seen->gpus >= work && work > 0) violation("a job ends too late", event);
}

/* A job that is stopped keeps whole microseconds of work: all of them if the policy stops it. Otherwise it keeps the
   work that was complete when the policy last stopped or resized it. */
static void note_loss(const struct hr_view *view, const struct hr_event *event) {
  struct seen *seen = &world->seen[event->job.id];
  int64_t gpus = world->gpus[event->job.id];
  bool is_resize = event->reason == HR_REASON_RESIZED, loses_node = false;
  for (uint32_t i = 0; i < event->placement->n_slices; i++)
    loses_node |= hr_cluster_node_state(view->cluster, event->placement->slices[i].node) != HR_NODE_UP;
  if (is_resize) seen->n_resizes++;
  if (is_resize && loses_node) world->n_shrinks++;
  if (event->kind == HR_EVENT_PREEMPT && !(is_resize && loses_node)) seen->saved_us = (int64_t)(seen->done / gpus);
  if (!is_resize) seen->done = (hr_amount)seen->saved_us * gpus;
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  (void)self;
  if (event->kind == HR_EVENT_START) note_start(event);
  if (event->kind == HR_EVENT_END || event->kind == HR_EVENT_PREEMPT || event->kind == HR_EVENT_INTERRUPT)
    note_stop(event);
  if (event->kind == HR_EVENT_END) note_end(event);
  if (event->kind == HR_EVENT_PREEMPT || event->kind == HR_EVENT_INTERRUPT) note_loss(view, event);
  world->n_failures += event->kind == HR_EVENT_NODE_DOWN;
}

static uint32_t free_on(const struct hr_view *view, uint32_t node) {
  return hr_free_index_get(hr_cluster_free_index(view->cluster, (hr_pool){0}), node);
}

/* Returns whether a running job could grow by one step with the free GPUs of its own nodes. */
static bool can_grow(const struct hr_view *view, hr_job job) {
  struct hr_slice one;
  struct hr_placement placement = hr_view_placement(view, job, &one);
  uint32_t step = step_of(world, job.id), gpus = world->seen[job.id].gpus, free = 0;
  for (uint32_t i = 0; i < placement.n_slices; i++) {
    if (hr_cluster_node_state(view->cluster, placement.slices[i].node) != HR_NODE_UP) return false;
    free += free_on(view, placement.slices[i].node.id);
  }
  return gpus + step <= world->max_gpus[job.id] && free >= step;
}

/* Checks two properties after each pass of the queue policy. The first waiting job does not fit with its minimum number
   of GPUs. If no job waits, no running job can get more GPUs of its nodes. */
static void on_instant(void *self, const struct hr_view *view) {
  struct hr_event event = {.at_us = view->now_us, .kind = HR_EVENT_TIMER};
  (void)self;
  if (!world->elastic || strcmp(world->elastic, "off") == 0) return;
  uint32_t first = 0, most = 0;
  while (first < world->trace.n_jobs && view->state[first] != HR_JOB_WAITING) first++;
  for (uint32_t i = 0; i < world->pool.nodes; i++) most = free_on(view, i) > most ? free_on(view, i) : most;
  event.job.id = first;
  if (first < world->trace.n_jobs && world->min_gpus[first] <= most) violation("the first job waits but fits", &event);
  if (strcmp(world->elastic, "start") == 0 || view->n_waiting > 0) return;
  for (event.job.id = 0; event.job.id < world->trace.n_jobs; event.job.id++)
    if (view->state[event.job.id] == HR_JOB_RUNNING && can_grow(view, event.job))
      violation("a job does not grow", &event);
}

/* ---- The random policy ---- */

static enum hr_status create(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  (void)env, (void)error;
  *self = world;
  return HR_OK;
}

static uint32_t abilities(void *self) {
  (void)self;
  return HR_POLICY_RESIZES | HR_POLICY_SHRINKS | HR_POLICY_PREEMPTS;
}

/* Returns which GPUs of a node are free or belong to the job, as a set. In counted allocation, returns the GPUs with
   the lowest numbers. */
static uint64_t available(const struct hr_view *view, const struct hr_placement *own, uint32_t node) {
  const struct hr_gpu_inventory *inventory = hr_cluster_gpu_inventory(view->cluster);
  uint64_t set = 0;
  if (hr_cluster_node_state(view->cluster, (hr_node){node}) != HR_NODE_UP) return 0;
  if (!inventory) {
    uint32_t count = hr_free_index_get(hr_cluster_free_index(view->cluster, (hr_pool){0}), node);
    for (uint32_t i = 0; i < own->n_slices; i++)
      if (own->slices[i].node.id == node) count += own->slices[i].gpu_milli / MILLI;
    return (UINT64_C(1) << count) - 1;
  }
  for (uint32_t gpu = 0; gpu < world->pool.gpus_per_node; gpu++)
    if (hr_gpu_inventory_gpus(inventory, (hr_node){node})[gpu] == MILLI) set |= UINT64_C(1) << gpu;
  for (uint32_t i = 0; i < own->n_slices; i++)
    if (own->slices[i].node.id == node) set |= own->slices[i].gpus;
  return set;
}

/* Adds slices of `task` GPUs each, at most `most`, on a node. Returns their number. */
static uint32_t add_slices(const struct hr_view *view, uint32_t node, uint64_t *set, uint32_t task, uint32_t most,
                           struct hr_placement *placement, struct hr_slice *slices) {
  bool by_gpu = hr_cluster_gpu_inventory(view->cluster) != NULL;
  uint32_t count = 0;
  for (; count < most && (uint32_t)__builtin_popcountll(*set) >= task && placement->n_slices < MAX_SLICES; count++) {
    struct hr_slice slice = {{node}, task * MILLI, 0, {0}};
    for (uint32_t i = 0; i < task; i++) {
      slice.gpus |= *set & -*set;
      *set &= *set - 1;
    }
    if (!by_gpu) slice.gpus = 0;
    slices[placement->n_slices++] = slice;
  }
  return count;
}

/* Finds a random placement of `gpus` GPUs for a job. `own`: its present placement. Returns false if too few GPUs are
   free. */
static bool find(const struct hr_view *view, hr_job job, const struct hr_placement *own, uint32_t gpus,
                 struct hr_placement *placement, struct hr_slice *slices) {
  uint32_t n_nodes = world->pool.nodes, first = draw(n_nodes), step = step_of(world, job.id);
  uint32_t task = hr_cluster_gpu_inventory(view->cluster) ? step : 1, left = gpus / task;
  uint64_t sets[MAX_NODES];
  *placement = (struct hr_placement){{0}, 0, slices};
  for (uint32_t i = 0; i < n_nodes; i++) sets[i] = available(view, own, i);
  for (uint32_t i = 0; i < n_nodes && left > 0; i++) {
    uint32_t most = draw(left + 1);
    left -= add_slices(view, (first + i) % n_nodes, &sets[(first + i) % n_nodes], task, most, placement, slices);
  }
  for (uint32_t i = 0; i < n_nodes && left > 0; i++)
    left -= add_slices(view, i, &sets[i], task, left, placement, slices);
  return left == 0;
}

static uint32_t draw_size(const struct hr_view *view, hr_job job) {
  struct hr_sizes sizes = hr_cluster_sizes(view->cluster, job);
  CU_ASSERT_EQUAL(sizes.step, step_of(world, job.id));
  return sizes.min + sizes.step * draw((sizes.max - sizes.min) / sizes.step + 1);
}

static enum hr_status try_start(const struct hr_view *view, struct hr_moves *moves, hr_job job, bool must) {
  struct hr_slice slices[MAX_SLICES];
  struct hr_placement placement, none = {{0}, 0, NULL};
  uint32_t gpus = must ? hr_cluster_sizes(view->cluster, job).min : draw_size(view, job);
  if ((!must && draw(4) == 0) || !find(view, job, &none, gpus, &placement, slices)) return HR_OK;
  return hr_moves_start(moves, job, &placement, HR_REASON_POLICY);
}

static enum hr_status try_resize(const struct hr_view *view, struct hr_moves *moves, hr_job job) {
  struct hr_slice slices[MAX_SLICES], one;
  struct hr_placement placement, own = hr_view_placement(view, job, &one);
  uint32_t mark = hr_moves_mark(moves);
  if (world->min_gpus[job.id] == world->max_gpus[job.id]) return HR_OK;
  if (draw(3) || !find(view, job, &own, draw_size(view, job), &placement, slices)) return HR_OK;
  enum hr_status status = hr_moves_resize(moves, job, &placement);
  if (draw(3) == 0) hr_moves_rollback(moves, mark);
  return status;
}

static enum hr_status decide(void *self, const struct hr_view *view, struct hr_moves *moves) {
  enum hr_status status = HR_OK;
  (void)self;
  bool is_last = world->n_wakes == 0;
  for (uint32_t i = 0; i < view->jobs->n_jobs && status == HR_OK; i++) {
    if (view->state[i] == HR_JOB_RUNNING && draw(12) == 0 && !is_last)
      status = hr_moves_preempt(moves, (hr_job){i}, HR_REASON_PREEMPTED);
    else if (view->state[i] == HR_JOB_WAITING)
      status = try_start(view, moves, (hr_job){i}, is_last);
    for (int k = 0; k < 2 && status == HR_OK && view->state[i] == HR_JOB_RUNNING; k++)
      status = try_resize(view, moves, (hr_job){i});
  }
  if (status != HR_OK || is_last) return status;
  world->n_wakes--;
  return hr_moves_wake_at(moves, view->now_us + 1 + draw(draw(2) ? 5 : 60000000));
}

static const struct hr_policy_ops resizer = {HR_POLICY_HEAD,   .name = "resizer", .summary = "resizes jobs at random",
                                             .create = create, .decide = decide,  .abilities = abilities};

/* ---- Random worlds ---- */

static void draw_jobs(struct world *self) {
  uint32_t n_jobs = 1 + draw(MAX_JOBS), all = self->pool.nodes * self->pool.gpus_per_node;
  int64_t at_us = 0;
  for (uint32_t i = 0; i < n_jobs; i++) {
    uint32_t task = self->cluster.by_gpu && draw(3) == 0 ? 1 + draw(2) : 1, room = all / task;
    at_us += draw(3) ? draw(40000000) : 0;
    self->submit_us[i] = at_us;
    self->work_us[i] = draw(12) ? 1 + (int64_t)draw(100000000) : draw(3);
    self->tasks[i] = self->cluster.by_gpu || draw(3) == 0 ? 2 + draw(3) : 1;
    while (self->tasks[i] > room || task > self->pool.gpus_per_node) self->tasks[i] = 1, task = 1, room = all;
    self->gpus[i] = self->tasks[i] > 1 ? self->tasks[i] * task : 1 + draw(all < 9 ? all : 9);
    if (self->cluster.by_gpu && self->tasks[i] == 1) self->gpus[i] = 1;
    uint32_t step = step_of(self, i), most = all / step * step;
    if (self->cluster.by_gpu) most = self->pool.nodes * (self->pool.gpus_per_node / step) * step;
    if (self->gpus[i] > most) self->tasks[i] = self->gpus[i] = step = 1, most = all;
    self->min_gpus[i] = step * (1 + draw(self->gpus[i] / step));
    self->max_gpus[i] = self->gpus[i] + step * draw((most - self->gpus[i]) / step + 1);
  }
  self->trace = (struct hr_trace){.source = "random",
                                  .n_jobs = n_jobs,
                                  .submit_us = self->submit_us,
                                  .work_us = self->work_us,
                                  .gpus = self->gpus,
                                  .tasks = self->tasks,
                                  .min_gpus = self->min_gpus,
                                  .max_gpus = self->max_gpus};
}

static struct hr_duration exponential(double mean_s) {
  return (struct hr_duration){HR_DURATION_EXPONENTIAL, mean_s, 0};
}

static void draw_world(struct world *self, uint64_t number, bool is_counted) {
  static char name[] = "pool", gpu[] = "A100";
  random_state = number * 77 + 5;
  memset(self, 0, sizeof *self);
  self->pool = (struct hr_pool_spec){.name = name,
                                     .gpu = gpu,
                                     .nodes = 1 + draw(MAX_NODES),
                                     .gpus_per_node = 1 + draw(MAX_GPUS),
                                     .market = {.to_us = HR_NEVER_US, .price_uusd_h = PRICE_UUSD_H}};
  self->cluster = (struct hr_cluster_spec){.pools = &self->pool, .n_pools = 1, .by_gpu = draw(2) && !is_counted};
  self->classes[0].restart_us = draw(2) ? draw(20000000) : 0;
  for (uint32_t i = 1; i < HR_N_CLASSES; i++) self->classes[i] = self->classes[0];
  self->n_wakes = draw(60);
  self->is_exact = true;
  if (number % 3 == 0) {
    self->faults = (struct hr_fault_spec){.processes = &self->process, .n_processes = 1};
    self->process = (struct hr_fault_process){.unit = HR_TIER_NODE, .bad_factor = 1, .between = exponential(300)};
    self->is_exact = draw(3) > 0;
    self->process.only = (struct hr_fault_class){.repair = exponential(20)};
    if (!self->is_exact) self->process.only.detect = exponential(5);
    self->pool.faults = &self->faults;
  }
  draw_jobs(self);
}

static struct hr_result *run_world(struct world *self, const struct hr_policy_choice *choice,
                                   struct hr_ledger **ledger) {
  struct hr_result *result = NULL;
  struct hr_error error = {0};
  world = self;
  *ledger = hr_ledger_create(&self->trace, &self->cluster, true);
  CU_ASSERT_PTR_NOT_NULL_FATAL(*ledger);
  struct hr_observer observers[] = {hr_ledger_observer(*ledger),
                                    {.self = self, .on_event = on_event, .on_instant = on_instant}};
  struct hr_run_config config = {.trace = &self->trace,
                                 .cluster = &self->cluster,
                                 .policy = choice ? choice->ops : &resizer,
                                 .params = choice ? choice->params : NULL,
                                 .seed = 7,
                                 .horizon_us = HR_NEVER_US,
                                 .check = true,
                                 .classes = self->classes,
                                 .observers = observers,
                                 .n_observers = 2};
  if (hr_sim_run(&config, &result, &error) != HR_OK) fprintf(stderr, "\n    %s\n", error.text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(result);
  CU_ASSERT_EQUAL(hr_ledger_close(*ledger, result), HR_OK);
  return result;
}

/* Compares the accounts of the run with those of the observer. */
static void compare(const struct world *self, const struct hr_result *result, const struct hr_ledger *ledger) {
  hr_amount all_held = 0;
  for (uint32_t i = 0; i < self->trace.n_jobs; i++) {
    const struct seen *seen = &self->seen[i];
    hr_amount held = 0;
    CU_ASSERT_EQUAL(result->state[i], HR_JOB_COMPLETED);
    CU_ASSERT_EQUAL(hr_result_end_us(result, (hr_job){i}), seen->end_us);
    if (result->account) CU_ASSERT_EQUAL(hr_result_accounting(result, (hr_job){i}).held_us, seen->held_us);
    CU_ASSERT_EQUAL(hr_result_resizes(result, (hr_job){i}, &held), seen->n_resizes);
    if (result->resized) CU_ASSERT(held == seen->held * MILLI);
    CU_ASSERT(hr_ledger_job(ledger, (hr_job){i}) == seen->held * MILLI * PRICE_UUSD_H);
    all_held += seen->held;
  }
  const struct hr_pool_account *account = hr_ledger_pool(ledger, (hr_pool){0});
  CU_ASSERT(account->used_time == all_held * MILLI);
  CU_ASSERT(account->used == all_held * MILLI * PRICE_UUSD_H);
  CU_ASSERT_EQUAL(self->n_violations, 0);
}

/* ---- The queue policy ---- */

/* Runs random worlds with the queue policy. Returns the number of resizes. Adds to `*n_shrinks` the number of resizes
   of jobs that lost a node. */
static uint32_t run_queue(const char *elastic, const char *backfill, uint32_t n_worlds, uint32_t *n_shrinks) {
  static struct world self;
  uint32_t n_resizes = 0;
  for (uint32_t number = 0; number < n_worlds; number++) {
    struct hr_ledger *ledger;
    struct hr_policy_choice choice = queue_choice(backfill, number % 2 ? "best-fit" : "worst-fit");
    draw_world(&self, 3 * number + (number % 4 > 0), true);
    self.elastic = elastic;
    queue_set(&choice, "elastic", elastic);
    queue_set(&choice, "recovery", number % 5 ? "shrink" : "requeue");
    struct hr_result *result = run_world(&self, &choice, &ledger);
    compare(&self, result, ledger);
    for (uint32_t i = 0; i < self.trace.n_jobs; i++) n_resizes += self.seen[i].n_resizes;
    *n_shrinks += self.n_shrinks;
    hr_result_destroy(result);
    hr_ledger_destroy(ledger);
    hr_policy_choice_finish(&choice);
  }
  return n_resizes;
}

static void queue_worlds(void) {
  static const char *const backfills[] = {"strict", "skip", "easy"};
  uint32_t n_worlds = test_argument(1, 120), n_shrinks = 0;
  for (int i = 0; i < 3; i++) {
    CU_ASSERT(run_queue("off", backfills[i], n_worlds, &n_shrinks) > 0);
    run_queue("start", backfills[i], n_worlds, &n_shrinks);
    CU_ASSERT(run_queue("grow", backfills[i], n_worlds, &n_shrinks) > n_worlds / 2);
    CU_ASSERT(run_queue("shrink", backfills[i], n_worlds, &n_shrinks) > n_worlds);
  }
  CU_ASSERT(n_shrinks > n_worlds / 8);
}

/* Three jobs on a node of 8 GPUs; computed by hand. a has 4 GPUs (2 to 8), b 4 (2 to 4), c 8 (1 to 8), and each runs
   for 100 s with the GPUs that it requests; they are submitted at 0, 10 and 20 s. */
static void by_hand(const char *elastic, const int64_t *end_s) {
  static struct world self;
  struct hr_ledger *ledger;
  draw_world(&self, 1, true);
  struct hr_policy_choice choice = queue_choice("skip", "best-fit");
  static const uint32_t gpus[] = {4, 4, 8}, min_gpus[] = {2, 2, 1}, max_gpus[] = {8, 4, 8};
  self.pool.nodes = 1;
  self.pool.gpus_per_node = 8;
  self.classes[0].restart_us = 0;
  self.trace.n_jobs = 3;
  for (uint32_t i = 0; i < 3; i++) {
    self.submit_us[i] = 10 * S * i;
    self.work_us[i] = 100 * S;
    self.tasks[i] = 1;
    self.gpus[i] = gpus[i];
    self.min_gpus[i] = min_gpus[i];
    self.max_gpus[i] = max_gpus[i];
  }
  queue_set(&choice, "elastic", elastic);
  self.elastic = elastic;
  struct hr_result *result = run_world(&self, &choice, &ledger);
  compare(&self, result, ledger);
  for (uint32_t i = 0; i < 3; i++) CU_ASSERT_EQUAL(hr_result_end_us(result, (hr_job){i}), end_s[i] * S);
  hr_result_destroy(result);
  hr_ledger_destroy(ledger);
  hr_policy_choice_finish(&choice);
}

/* off: c waits for both. start: c starts at 100 s with 4 GPUs, which takes twice as long.
   grow: a has 8 GPUs until 50 s. Then b and c start with 4 GPUs each. At 150 s b ends, and c has 400 of its 800
   GPU-seconds left.
   shrink: a has 8 GPUs until 10 s. It releases 2 for b at 10 s and 1 for c at 20 s. At 72 s a ends (80 + 60 + 52 x 5 =
   400), and b and c have 4 GPUs each. b ends at 141 s (20 + 52 x 2 + 69 x 4 = 400), and c at 200 s (52 + 69 x 4 + 59 x
   8 = 800). */
static void levels_by_hand(void) {
  by_hand("off", (const int64_t[]){100, 110, 210});
  by_hand("start", (const int64_t[]){100, 110, 300});
  by_hand("grow", (const int64_t[]){50, 150, 200});
  by_hand("shrink", (const int64_t[]){72, 141, 200});
}

static uint64_t digest_of(struct world *self, const char *elastic) {
  struct hr_ledger *ledger;
  struct hr_policy_choice choice = queue_choice("easy", "best-fit");
  queue_set(&choice, "elastic", elastic);
  memset(self->seen, 0, sizeof self->seen);
  memset(self->used, 0, sizeof self->used);
  self->elastic = elastic;
  struct hr_result *result = run_world(self, &choice, &ledger);
  uint64_t digest = result->digest;
  hr_result_destroy(result);
  hr_ledger_destroy(ledger);
  hr_policy_choice_finish(&choice);
  return digest;
}

/* A job with min_gpus = gpus = max_gpus is a job without these fields. */
static void equal_bounds_change_nothing(void) {
  static struct world self;
  uint32_t n_different = 0;
  for (uint32_t number = 0; number < 100; number++) {
    draw_world(&self, 3 * number + 1, true);
    uint64_t elastic = digest_of(&self, "shrink"), off = digest_of(&self, "off");
    n_different += elastic != off;
    memcpy(self.min_gpus, self.gpus, sizeof self.gpus);
    memcpy(self.max_gpus, self.gpus, sizeof self.gpus);
    CU_ASSERT_EQUAL(digest_of(&self, "shrink"), off);
    self.trace.min_gpus = self.trace.max_gpus = NULL;
    CU_ASSERT_EQUAL(digest_of(&self, "shrink"), off);
  }
  CU_ASSERT(n_different > 50);
}

static void random_worlds(void) {
  static struct world self;
  uint32_t n_worlds = test_argument(1, 1000), n_resizes = 0, n_shrinks = 0, n_failures = 0, n_by_gpu = 0;
  for (uint32_t number = 0; number < n_worlds; number++) {
    struct hr_ledger *ledger;
    draw_world(&self, number, false);
    struct hr_result *result = run_world(&self, NULL, &ledger);
    compare(&self, result, ledger);
    for (uint32_t i = 0; i < self.trace.n_jobs; i++) n_resizes += self.seen[i].n_resizes;
    n_by_gpu += self.cluster.by_gpu && n_resizes > 0;
    n_shrinks += self.n_shrinks;
    n_failures += self.n_failures;
    hr_result_destroy(result);
    hr_ledger_destroy(ledger);
    if (self.n_violations) fprintf(stderr, "    world %u\n", number);
    if (self.n_violations) break;
  }
  CU_ASSERT(n_resizes > n_worlds && n_shrinks > n_worlds / 20 && n_failures > n_worlds / 10 && n_by_gpu > n_worlds / 4);
}

TEST_MAIN("sim: resizes", TEST(random_worlds), TEST(queue_worlds), TEST(levels_by_hand),
          TEST(equal_bounds_change_nothing))
