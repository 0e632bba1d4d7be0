/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The `slurm` policy: one partition of Slurm with sched/builtin or sched/backfill, select/cons_tres and priority/basic
 * or the priorities of the trace.
 *
 * The main scheduler runs at each event: it starts jobs in the order of the queue until one does not fit, and examines
 * at most default_queue_depth jobs. The backfill scheduler runs every bf_interval seconds (backfill.h). A backfill pass
 * whose input has not changed since the last one is skipped, since it would decide the same.
 *
 * A job gets whole GPUs on nodes of one pool: as many nodes as it has tasks, with the same number of GPUs on each; a
 * job with one task gets as few nodes as possible. Invariant: `queue` has the waiting jobs, sorted by priority and then
 * by submission.
 */

#include "headroom/policy.h"
#include "policies/slurm/selector.h"
#include "policies/slurm/slurm.h"

#include <string.h>

enum {
  PARAM_SCHEDULER,
  PARAM_PRIORITY,
  PARAM_INTERVAL,
  PARAM_RESOLUTION,
  PARAM_WINDOW,
  PARAM_MAX_JOB_TEST,
  PARAM_MAX_JOB_START,
  PARAM_DEPTH,
  PARAM_MIN_AGE_RESERVE
};

static const char *const scheduler_names[] = {"backfill", "builtin", NULL};
static const char *const priority_names[] = {"basic", "trace", NULL};

#define WHOLE(name, value, low, high, words)                                                                           \
  { .key = (name), .type = HR_PARAM_INTEGER, .fallback = (value), .min = (low), .max = (high), .help = (words) }

static const struct hr_param params[] = {
    {.key = "scheduler",
     .type = HR_PARAM_CHOICE,
     .fallback = "backfill",
     .choices = scheduler_names,
     .help = "SchedulerType: backfill, or builtin for strict order only"},
    {.key = "priority",
     .type = HR_PARAM_CHOICE,
     .fallback = "basic",
     .choices = priority_names,
     .help = "PriorityType: basic is first come first served; trace: the priorities of the jobs in the trace"},
    WHOLE("bf_interval", "30", 1, 10800, "seconds between two passes of the backfill scheduler"),
    WHOLE("bf_resolution", "60", 1, 3600, "seconds to which planned starts are rounded"),
    WHOLE("bf_window", "1440", 1, 43200, "minutes that the backfill scheduler plans ahead"),
    WHOLE("bf_max_job_test", "500", 1, 1000000, "maximum number of jobs that a backfill pass tests"),
    WHOLE("bf_max_job_start", "0", 0, 10000, "maximum number of jobs that a backfill pass starts; 0: no limit"),
    WHOLE("default_queue_depth", "100", 1, 1000000,
          "maximum number of jobs that the main scheduler examines per event"),
    WHOLE("bf_min_age_reserve", "0", 0, 2592000, "seconds that a job has waited before nodes are reserved for it"),
    {0}};

struct slurm {
  struct hr_arena *arena;
  const struct hr_trace *jobs;
  const struct hr_cluster *cluster;
  const struct hr_param_value *params;
  struct hr__slurm_nodes nodes;
  struct hr__slurm_shape *shapes; /* by job */
  uint64_t *usable;               /* set of nodes on which jobs may start */
  uint64_t *set;                  /* scratch set of nodes */
  struct hr_slice *slices;        /* [n_nodes] scratch */
  struct hr__slurm_queued *queue; /* [n_queued] */
  struct hr__slurm_planned *planned;
  uint32_t n_queued, capacity;
  struct hr__slurm_timeline line;
  struct hr__slurm_backfill_limits limits;
  uint32_t **spare; /* [n_nodes + 1] per number of nodes: a list of memory for the nodes of running jobs */
  int64_t interval_us, wake_us;
  bool changed;       /* since the last pass of the main scheduler */
  bool plan_is_stale; /* an event has happened since the last backfill pass */
  bool has_gpuless;   /* a waiting job requests no GPUs */
  const struct hr_view *view;
  struct hr_moves *moves;
  enum hr_status status; /* of the moves of this pass */
};

static bool starts_gpuless(const struct slurm *slurm, uint32_t job) {
  return slurm->jobs->gpus[job] == 0;
}

/* ---- Creation --------------------------------------------------------------------------------------- */

static uint32_t count_nodes(const struct hr_cluster *cluster) {
  uint32_t count = 0;
  for (uint32_t p = 0; p < hr_cluster_pools(cluster); p++) count += hr_cluster_pool_spec(cluster, (hr_pool){p})->nodes;
  return count;
}

static bool create_nodes(struct slurm *slurm) {
  struct hr__slurm_nodes *nodes = &slurm->nodes;
  nodes->n_nodes = count_nodes(slurm->cluster);
  nodes->n_words = (nodes->n_nodes + 63) / 64;
  nodes->origin_us = slurm->jobs->origin_us;
  uint32_t *gpus = hr_arena_alloc(slurm->arena, (nodes->n_nodes + 1) * sizeof *gpus);
  nodes->gpus = gpus;
  nodes->used = hr_arena_alloc(slurm->arena, (nodes->n_nodes + 1) * sizeof *nodes->used);
  nodes->future = hr_arena_alloc(slurm->arena, (nodes->n_nodes + 1) * sizeof *nodes->future);
  nodes->chosen = hr_arena_alloc(slurm->arena, (nodes->n_nodes + 1) * sizeof *nodes->chosen);
  slurm->usable = hr_arena_alloc(slurm->arena, (nodes->n_words + 1) * sizeof *slurm->usable);
  slurm->set = hr_arena_alloc(slurm->arena, (nodes->n_words + 1) * sizeof *slurm->set);
  slurm->line.set = hr_arena_alloc(slurm->arena, (nodes->n_words + 1) * sizeof *slurm->line.set);
  slurm->slices = hr_arena_alloc(slurm->arena, (nodes->n_nodes + 1) * sizeof *slurm->slices);
  slurm->spare = hr_arena_alloc(slurm->arena, (nodes->n_nodes + 1) * sizeof(*slurm->spare));
  slurm->shapes = hr_arena_alloc_by_job(slurm->arena, slurm->jobs->n_jobs, sizeof *slurm->shapes);
  if (!gpus || !nodes->used || !nodes->future || !nodes->chosen || !slurm->usable || !slurm->set || !slurm->line.set ||
      !slurm->slices || !slurm->spare || !slurm->shapes)
    return false;
  uint64_t sum = 0;
  for (uint32_t p = 0; p < hr_cluster_pools(slurm->cluster); p++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(slurm->cluster, (hr_pool){p});
    uint32_t first = hr_cluster_first_node(slurm->cluster, (hr_pool){p}).id;
    for (uint32_t n = 0; n < spec->nodes; n++) gpus[first + n] = spec->gpus_per_node;
    sum += (uint64_t)spec->nodes * spec->gpus_per_node;
  }
  nodes->running = hr_arena_alloc(slurm->arena, (size_t)(sum + 1) * sizeof *nodes->running);
  return nodes->running != NULL;
}

static enum hr_status create(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  struct slurm *slurm = hr_arena_alloc(env->arena, sizeof *slurm);
  if (!(*self = slurm)) return HR_NO_MEMORY;
  *slurm = (struct slurm){
      .arena = env->arena, .jobs = env->jobs, .cluster = env->cluster, .params = env->params, .wake_us = -1};
  if (hr_cluster_gpu_inventory(env->cluster))
    return hr_fail(error, HR_BAD_INPUT,
                   "policy 'slurm': pools must have whole GPUs, without sharing, CPU or memory of nodes");
  slurm->interval_us = env->params[PARAM_INTERVAL].integer * HR_SECOND_US;
  slurm->limits = (struct hr__slurm_backfill_limits){
      .resolution_us = env->params[PARAM_RESOLUTION].integer * HR_SECOND_US,
      .window_us = env->params[PARAM_WINDOW].integer * 60 * HR_SECOND_US,
      .max_job_test = (uint32_t)env->params[PARAM_MAX_JOB_TEST].integer,
      .max_job_start = (uint32_t)env->params[PARAM_MAX_JOB_START].integer,
      .min_age_reserve_us = env->params[PARAM_MIN_AGE_RESERVE].integer * HR_SECOND_US};
  if (!create_nodes(slurm)) return HR_NO_MEMORY;
  struct hr__slurm_timeline *line = &slurm->line;
  line->n_nodes = slurm->nodes.n_nodes;
  line->n_words = slurm->nodes.n_words;
  return HR_OK;
}

/* With the priorities of the trace, a job of low priority may wait for ever. */
static uint32_t abilities(void *self) {
  const struct slurm *slurm = self;
  return slurm->params[PARAM_PRIORITY].integer == 0 ? HR_POLICY_STARVES_NOBODY : 0;
}

/* ---- The queue -------------------------------------------------------------------------------------- */

/* Makes room for one more job, and for the time line of a backfill pass. */
static bool make_room(struct slurm *slurm) {
  if (slurm->n_queued < slurm->capacity) return true;
  struct hr__slurm_queued *queue = hr_arena_grown(slurm->arena, slurm->queue, &slurm->capacity, sizeof *slurm->queue);
  if (!queue) return false;
  slurm->queue = queue;
  uint32_t n_tested = slurm->capacity < slurm->limits.max_job_test ? slurm->capacity : slurm->limits.max_job_test;
  struct hr__slurm_timeline *line = &slurm->line;
  slurm->planned = hr_arena_alloc(slurm->arena, slurm->capacity * sizeof *slurm->planned);
  if (line->max_slots < 2 * n_tested + 2) {
    line->max_slots = 2 * n_tested + 2;
    line->slots = hr_arena_alloc(slurm->arena, line->max_slots * sizeof *line->slots);
    line->nodes = hr_arena_alloc(slurm->arena, (size_t)(line->max_slots + 1) * line->n_words * sizeof *line->nodes);
  }
  return slurm->planned && line->slots && line->nodes;
}

static bool goes_before(const struct hr__slurm_queued *a, const struct hr__slurm_queued *b) {
  if (a->priority != b->priority) return a->priority > b->priority;
  return a->job < b->job;
}

/* The number of nodes of a job and its GPUs per node, in a pool with nodes of `per_node` GPUs. */
static struct hr__slurm_shape shape_of(const struct slurm *slurm, uint32_t job, uint32_t per_node) {
  uint32_t gpus = slurm->jobs->gpus[job], tasks = slurm->jobs->tasks ? slurm->jobs->tasks[job] : 1;
  if (tasks > 1 && gpus / tasks <= per_node) return (struct hr__slurm_shape){tasks, gpus / tasks, gpus / tasks};
  if (gpus <= per_node) return (struct hr__slurm_shape){1, gpus, gpus};
  uint32_t nodes = (gpus + per_node - 1) / per_node;
  return (struct hr__slurm_shape){nodes, per_node, gpus - (nodes - 1) * per_node};
}

static uint32_t fewest_nodes(const struct slurm *slurm, uint32_t job, uint32_t accept_class) {
  uint32_t fewest = UINT32_MAX;
  for (uint32_t p = 0; p < hr_cluster_pools(slurm->cluster); p++) {
    if (!hr_cluster_accepts(slurm->cluster, accept_class, (hr_pool){p})) continue;
    uint32_t per_node = hr_cluster_pool_spec(slurm->cluster, (hr_pool){p})->gpus_per_node;
    uint32_t nodes = shape_of(slurm, job, per_node ? per_node : 1).nodes;
    if (nodes < fewest) fewest = nodes;
  }
  return fewest;
}

static bool enqueue(struct slurm *slurm, const struct hr_view *view, uint32_t job) {
  if (!make_room(slurm)) return false;
  uint32_t accept_class = hr_cluster_accept_class(slurm->cluster, (hr_job){job});
  bool by_priority = slurm->params[PARAM_PRIORITY].integer == 1 && slurm->jobs->priority;
  const struct hr__slurm_queued queued = {
      .job = job,
      .priority = by_priority ? (uint32_t)slurm->jobs->priority[job] ^ UINT32_C(0x80000000) : 1,
      .limit_us = hr_trace_limit_us(slurm->jobs, (hr_job){job}),
      .submit_us = view->now_us,
      .min_nodes = fewest_nodes(slurm, job, accept_class)};
  slurm->has_gpuless = slurm->has_gpuless || starts_gpuless(slurm, job);
  uint32_t at = slurm->n_queued++;
  for (; at > 0 && goes_before(&queued, &slurm->queue[at - 1]); at--) slurm->queue[at] = slurm->queue[at - 1];
  slurm->queue[at] = queued;
  return true;
}

/* Removes the jobs that do not wait any more. */
static void sweep_queue(struct slurm *slurm) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < slurm->n_queued; i++)
    if (slurm->view->state[slurm->queue[i].job] == HR_JOB_WAITING) slurm->queue[kept++] = slurm->queue[i];
  slurm->n_queued = kept;
}

/* ---- Nodes of jobs ---------------------------------------------------------------------------------- */

/* Memory for the nodes of a job that starts. The first bytes of spare memory link to the next spare. */
static uint32_t *take_memory(struct slurm *slurm, uint32_t n_nodes) {
  uint32_t *memory = slurm->spare[n_nodes];
  if (memory) {
    memcpy(&slurm->spare[n_nodes], memory, sizeof(uint32_t *)); // NOLINT(bugprone-sizeof-expression)
    return memory;
  }
  size_t bytes = n_nodes * sizeof *memory;
  return hr_arena_alloc(slurm->arena, bytes < sizeof memory ? sizeof memory : bytes);
}

static void leave_nodes(struct slurm *slurm, uint32_t job) {
  uint32_t n_nodes, *memory = hr__slurm_nodes_remove(&slurm->nodes, job, &n_nodes);
  if (!memory) return;
  memcpy(memory, &slurm->spare[n_nodes], sizeof(uint32_t *));
  slurm->spare[n_nodes] = memory;
}

/* Restricts a set to the usable nodes of a pool. Returns false if the job does not accept the pool. */
static bool restrict_to_pool(const struct slurm *slurm, uint32_t job, uint32_t pool, const uint64_t *from,
                             uint64_t *set) {
  if (!hr_cluster_accepts(slurm->cluster, hr_cluster_accept_class(slurm->cluster, (hr_job){job}), (hr_pool){pool}))
    return false;
  uint32_t first = hr_cluster_first_node(slurm->cluster, (hr_pool){pool}).id;
  uint32_t end = first + hr_cluster_pool_spec(slurm->cluster, (hr_pool){pool})->nodes;
  for (uint32_t w = 0; w < slurm->nodes.n_words; w++) {
    uint64_t inside = UINT64_MAX;
    if (w < first / 64 || w * 64 >= end) inside = 0;
    if (w == first / 64) inside &= UINT64_MAX << first % 64;
    if (w == end / 64) inside &= (UINT64_C(1) << end % 64) - 1;
    set[w] = (from ? from[w] & slurm->usable[w] : slurm->usable[w]) & inside;
  }
  return true;
}

static hr_pool pool_of(const struct slurm *slurm, uint32_t node) {
  uint32_t pool = hr_cluster_pools(slurm->cluster) - 1;
  while (pool > 0 && hr_cluster_first_node(slurm->cluster, (hr_pool){pool}).id > node) pool--;
  return (hr_pool){pool};
}

/* Starts a job on the nodes that were chosen last. */
static bool start_on_chosen(struct slurm *slurm, uint32_t job, const struct hr__slurm_shape *shape,
                            enum hr_reason reason) {
  for (uint32_t i = 0; i < shape->nodes; i++) {
    uint32_t gpus = i + 1 == shape->nodes ? shape->last_gpus : shape->gpus_per_node;
    slurm->slices[i] = (struct hr_slice){.node = {slurm->nodes.chosen[i]}, .gpu_milli = gpus * 1000};
  }
  const struct hr_placement placement = {pool_of(slurm, slurm->nodes.chosen[0]), shape->nodes, slurm->slices};
  uint32_t *memory = take_memory(slurm, shape->nodes);
  slurm->status = memory ? hr_moves_start(slurm->moves, (hr_job){job}, &placement, reason) : HR_NO_MEMORY;
  if (slurm->status != HR_OK) return false;
  slurm->shapes[job] = *shape;
  int64_t left_us = hr_trace_limit_us(slurm->jobs, (hr_job){job});
  hr__slurm_nodes_add(&slurm->nodes, job, shape, slurm->view->now_us + left_us, memory);
  return true;
}

/* ---- The main scheduler ----------------------------------------------------------------------------- */

static bool fits_now(struct slurm *slurm, uint32_t job, struct hr__slurm_shape *shape) {
  for (uint32_t p = 0; p < hr_cluster_pools(slurm->cluster); p++) {
    if (!restrict_to_pool(slurm, job, p, NULL, slurm->set)) continue;
    *shape = shape_of(slurm, job, hr_cluster_pool_spec(slurm->cluster, (hr_pool){p})->gpus_per_node);
    if (hr__slurm_select_now(&slurm->nodes, shape, slurm->set)) return true;
  }
  return false;
}

/* Starts jobs in order until one does not fit. */
static void run_main(struct slurm *slurm) {
  uint32_t depth = (uint32_t)slurm->params[PARAM_DEPTH].integer, n_started = 0;
  for (uint32_t i = 0; i < slurm->n_queued && i < depth && slurm->status == HR_OK; i++) {
    struct hr__slurm_shape shape;
    if (starts_gpuless(slurm, slurm->queue[i].job)) continue;
    if (!fits_now(slurm, slurm->queue[i].job, &shape)) break;
    n_started += start_on_chosen(slurm, slurm->queue[i].job, &shape, HR_REASON_IN_ORDER);
  }
  if (n_started) sweep_queue(slurm);
}

/* Jobs without GPUs need no nodes. */
static void start_gpuless(struct slurm *slurm) {
  static const struct hr_placement nowhere = {0};
  for (uint32_t i = 0; i < slurm->n_queued && slurm->status == HR_OK; i++)
    if (starts_gpuless(slurm, slurm->queue[i].job))
      slurm->status = hr_moves_start(slurm->moves, (hr_job){slurm->queue[i].job}, &nowhere, HR_REASON_IN_ORDER);
  slurm->has_gpuless = false;
  sweep_queue(slurm);
}

/* ---- The backfill scheduler ------------------------------------------------------------------------- */

/* The selector of a backfill pass: the pool in which the job starts first. */
static bool find_start(void *self, uint32_t job, int64_t now_us, uint64_t *nodes, int64_t *start_us) {
  struct slurm *slurm = self;
  uint32_t best = HR_NONE;
  *start_us = HR_NEVER_US;
  for (uint32_t p = 0; p < hr_cluster_pools(slurm->cluster); p++) {
    int64_t at_us;
    if (!restrict_to_pool(slurm, job, p, nodes, slurm->set)) continue;
    struct hr__slurm_shape shape =
        shape_of(slurm, job, hr_cluster_pool_spec(slurm->cluster, (hr_pool){p})->gpus_per_node);
    if (!hr__slurm_select(&slurm->nodes, &shape, now_us, slurm->set, &at_us) || at_us >= *start_us) continue;
    *start_us = at_us;
    slurm->shapes[job] = shape;
    best = p;
    memcpy(slurm->line.nodes + (size_t)slurm->line.max_slots * slurm->line.n_words, slurm->set,
           slurm->nodes.n_words * sizeof *nodes);
  }
  if (best == HR_NONE) return false;
  memcpy(nodes, slurm->line.nodes + (size_t)slurm->line.max_slots * slurm->line.n_words,
         slurm->nodes.n_words * sizeof *nodes);
  return true;
}

static bool start_planned(void *self, uint32_t job, const uint64_t *nodes) {
  struct slurm *slurm = self;
  const struct hr__slurm_shape shape = slurm->shapes[job];
  memcpy(slurm->set, nodes, slurm->nodes.n_words * sizeof *nodes);
  if (slurm->status != HR_OK || !hr__slurm_select_now(&slurm->nodes, &shape, slurm->set)) return false;
  return start_on_chosen(slurm, job, &shape, HR_REASON_BACKFILL);
}

static void run_backfill(struct slurm *slurm) {
  const struct hr__slurm_selector selector = {find_start, start_planned, slurm};
  uint32_t n_started = hr__slurm_backfill(&slurm->line, &slurm->limits, slurm->queue, slurm->n_queued, NULL, &selector,
                                          slurm->view->now_us, slurm->planned);
  if (n_started) sweep_queue(slurm);
  slurm->plan_is_stale = n_started > 0;
}

/* ---- Events and passes ------------------------------------------------------------------------------ */

static enum hr_status observe(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct slurm *slurm = self;
  if (event->kind == HR_EVENT_TIMER) return HR_OK;
  slurm->changed = slurm->plan_is_stale = true;
  switch (event->kind) {
  case HR_EVENT_SUBMIT:
    return enqueue(slurm, view, event->job.id) ? HR_OK : HR_NO_MEMORY;
  case HR_EVENT_END:
    leave_nodes(slurm, event->job.id);
    return HR_OK;
  case HR_EVENT_INTERRUPT:
    leave_nodes(slurm, event->job.id);
    return enqueue(slurm, view, event->job.id) ? HR_OK : HR_NO_MEMORY;
  default:
    return HR_OK;
  }
}

/* Updates the set of nodes on which jobs may start. */
static void update_usable(struct slurm *slurm) {
  for (uint32_t n = 0; n < slurm->nodes.n_nodes; n++) {
    uint64_t bit = UINT64_C(1) << n % 64;
    if (hr_cluster_node_state(slurm->cluster, (hr_node){n}) == HR_NODE_UP)
      slurm->usable[n / 64] |= bit;
    else
      slurm->usable[n / 64] &= ~bit;
  }
}

/* Requests a pass at the next time of the backfill scheduler, if it has something to do. */
static enum hr_status wake_for_backfill(struct slurm *slurm) {
  if (!slurm->plan_is_stale || slurm->n_queued == 0 || slurm->params[PARAM_SCHEDULER].integer != 0) return HR_OK;
  int64_t next_us = (slurm->view->now_us / slurm->interval_us + 1) * slurm->interval_us;
  if (next_us == slurm->wake_us) return HR_OK;
  slurm->wake_us = next_us;
  return hr_moves_wake_at(slurm->moves, next_us);
}

static enum hr_status decide(void *self, const struct hr_view *view, struct hr_moves *moves) {
  struct slurm *slurm = self;
  slurm->view = view;
  slurm->moves = moves;
  slurm->status = HR_OK;
  if (slurm->changed) update_usable(slurm);
  if (slurm->has_gpuless) start_gpuless(slurm);
  if (slurm->changed) run_main(slurm);
  slurm->changed = false;
  bool is_time = view->now_us % slurm->interval_us == 0 && slurm->params[PARAM_SCHEDULER].integer == 0;
  if (is_time && slurm->plan_is_stale && slurm->n_queued > 0 && slurm->status == HR_OK) run_backfill(slurm);
  return slurm->status == HR_OK ? wake_for_backfill(slurm) : slurm->status;
}

/* A job that would fit now waits behind the first job of the queue; any other job waits for capacity. Slurm calls these
   reasons Priority and Resources. */
static void explain(void *self, const struct hr_view *view, hr_job job, struct hr_wait_reason *wait) {
  struct slurm *slurm = self;
  struct hr__slurm_shape shape;
  bool is_first = slurm->n_queued > 0 && slurm->queue[0].job == job.id;
  if (!is_first && slurm->n_queued > 0 && fits_now(slurm, job.id, &shape)) {
    wait->reason = HR_WAIT_REASON_ORDER;
    wait->behind = (hr_job){slurm->queue[0].job};
  } else {
    hr_view_lack(view, job, wait);
  }
}

HR_POLICY(slurm) = {HR_POLICY_HEAD,
                    .name = "slurm",
                    .summary = "one partition of Slurm: main scheduler, backfill scheduler and select/cons_tres",
                    .params = params,
                    .create = create,
                    .observe = observe,
                    .decide = decide,
                    .abilities = abilities,
                    .explain = explain};
