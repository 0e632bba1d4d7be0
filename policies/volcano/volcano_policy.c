/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The policy `volcano`: the scheduler Volcano, with one session per period if something has changed, and a cluster
   autoscaler. A job is a PodGroup with pods as tasks; it runs when all of them are bound or, if the job is elastic,
   enough of them. A session binds and evicts pods. Then the policy stops each job with an evicted pod, and starts each
   waiting job with enough bound pods. An elastic job that keeps enough pods is resized instead of stopped. Jobs that
   wait for resources of evicted pods get them in the next session. See volcano_policy.h for the layout. Source:
   volcano-sh/volcano, pkg/scheduler. */

#include "policies/volcano/volcano_policy.h"

#include "base/containers.h"
#include "headroom/unstable/systems/systems.h"

#include <stdio.h>
#include <string.h>

/* ---- Queues ----------------------------------------------------------------------------------------- */

/* Queues and waiting jobs: the configuration, the sums over the jobs of each queue, and the action enqueue. For
   enqueue, the plug-ins vote on the first pending job of each kind. If they reject it, its kind is not tried again in
   the same session, because the admission of other jobs only reduces the available resources. Invariant: the sums of a
   queue are those over its jobs that wait or run; see struct hr__volcano_queue_sums. Source: volcano-sh/volcano,
   pkg/scheduler/actions/enqueue. */

#define ALL_CALLBACKS ((UINT32_C(1) << HR__VOLCANO_N_CALLBACKS) - 1)
#define IN_GIB 0x1p30

/* ---- Queues: plug-ins ------------------------------------------------------------------------------- */

/* The tiers of a default installation of Volcano, and the callbacks that are disabled for each plug-in. */
static const struct {
  enum hr_volcano_plugin_id id;
  uint32_t tier, disabled;
} installed[] = {{HR_VOLCANO_PRIORITY, 0, 0},
                 {HR_VOLCANO_GANG, 0, UINT32_C(1) << HR_VOLCANO_PREEMPTABLE},
                 {HR_VOLCANO_CONFORMANCE, 0, 0},
                 {HR_VOLCANO_OVERCOMMIT, 1, 0},
                 {HR_VOLCANO_DRF, 1, UINT32_C(1) << HR_VOLCANO_PREEMPTABLE},
                 {HR_VOLCANO_PREDICATES, 1, 0},
                 {HR_VOLCANO_PROPORTION, 1, 0},
                 {HR_VOLCANO_NODEORDER, 1, 0},
                 {HR_VOLCANO_BINPACK, 1, 0}};
enum { N_INSTALLED = sizeof installed / sizeof *installed };

static void init_plugin(struct hr__volcano_plugin *plugin, enum hr_volcano_plugin_id id, uint32_t tier,
                        uint32_t disabled) {
  *plugin = (struct hr__volcano_plugin){.id = (enum hr__volcano_plugin_id)id,
                                        .tier = tier,
                                        .enabled = ALL_CALLBACKS & ~disabled & ~(UINT32_C(1) << HR__VOLCANO_HIERARCHY)};
  hr__volcano_default_arguments(plugin);
}

/* The dimension of a resource; HR_NONE: jobs and nodes do not have it. */
static uint32_t dimension_of(const struct hr__volcano_policy *volcano, const char *name) {
  const char *gpu = volcano->config->gpu_resource ? volcano->config->gpu_resource : "nvidia.com/gpu";
  if (strcmp(name, "cpu") == 0) return HR__VOLCANO_CPU;
  if (strcmp(name, "memory") == 0) return HR__VOLCANO_MEMORY;
  if (strcmp(name, "pods") == 0) return HR__VOLCANO_PODS;
  return strcmp(name, gpu) == 0 ? (uint32_t)HR__VOLCANO_GPU : HR_NONE;
}

static void set_arguments(const struct hr__volcano_policy *volcano, const struct hr_volcano_plugin_config *from,
                          struct hr__volcano_plugin *plugin) {
  struct hr__volcano_binpack_arguments *binpack = &plugin->arguments.binpack;
  switch (from->id) {
  case HR_VOLCANO_CAPACITY:
    plugin->arguments.ancestor_reclaim_level = (int32_t)from->ancestor_level;
    if (from->is_hierarchical) plugin->enabled |= UINT32_C(1) << HR__VOLCANO_HIERARCHY;
    return;
  case HR_VOLCANO_OVERCOMMIT:
    plugin->arguments.overcommit_factor = from->overcommit_factor;
    return;
  case HR_VOLCANO_SLA:
    plugin->arguments.waiting_us = from->waiting_us;
    return;
  case HR_VOLCANO_NODEORDER:
    plugin->arguments.nodeorder.least_requested = (int32_t)from->least_requested;
    plugin->arguments.nodeorder.most_requested = (int32_t)from->most_requested;
    plugin->arguments.nodeorder.balanced_resource = (int32_t)from->balanced_resource;
    return;
  case HR_VOLCANO_BINPACK:
    binpack->weight = (int32_t)from->weight;
    for (uint32_t i = 0; i < from->n_resources; i++) {
      uint32_t k = dimension_of(volcano, from->resources[i].resource);
      if (k == HR_NONE) continue;
      binpack->weighted |= UINT32_C(1) << k;
      binpack->dimension_weight[k] = (int32_t)from->resources[i].weight;
    }
    return;
  default:
    return;
  }
}

static bool configure_plugins(struct hr__volcano_policy *volcano) {
  const struct hr_volcano_config *config = volcano->config;
  uint32_t n = config->n_tiers ? 0 : N_INSTALLED, at = 0;
  for (uint32_t i = 0; i < config->n_tiers; i++) n += config->tiers[i].n_plugins;
  struct hr__volcano_plugin *plugins;
  if (!HR__ARENA_ARRAY(volcano->arena, plugins, n)) return false;
  for (uint32_t i = 0; i < N_INSTALLED && !config->n_tiers; i++)
    init_plugin(&plugins[at++], installed[i].id, installed[i].tier, installed[i].disabled);
  for (uint32_t i = 0; i < config->n_tiers; i++)
    for (uint32_t k = 0; k < config->tiers[i].n_plugins; k++, at++) {
      const struct hr_volcano_plugin_config *from = &config->tiers[i].plugins[k];
      init_plugin(&plugins[at], from->id, i, from->disabled);
      set_arguments(volcano, from, &plugins[at]);
    }
  for (uint32_t i = 0; i < n; i++)
    if (plugins[i].id == HR__VOLCANO_PRIORITY)
      volcano->by_priority = hr__volcano_enables(&plugins[i], HR__VOLCANO_JOB_ORDER);
  volcano->rules.plugins = plugins;
  volcano->rules.n_plugins = n;
  return true;
}

/* Sets the actions of the session. Enqueue is not one of them, because this file performs it. Neither is backfill,
   because jobs that request nothing need no node. False: out of memory. */
static bool configure_actions(struct hr__volcano_policy *volcano) {
  static const uint32_t usual[] = {HR_VOLCANO_ENQUEUE, HR_VOLCANO_ALLOCATE, HR_VOLCANO_BACKFILL};
  const uint32_t *from = volcano->config->n_actions ? volcano->config->actions : usual;
  uint32_t n = volcano->config->n_actions ? volcano->config->n_actions : 3;
  enum hr__volcano_action *actions = hr_arena_alloc(volcano->arena, n * sizeof *actions);
  if (!actions) return false;
  volcano->rules.actions = actions;
  for (uint32_t i = 0; i < n; i++) {
    if (from[i] == HR_VOLCANO_ENQUEUE) volcano->enqueues = true;
    if (from[i] == HR_VOLCANO_PREEMPT || from[i] == HR_VOLCANO_RECLAIM) volcano->evicts = true;
    if (from[i] == HR_VOLCANO_ALLOCATE) actions[volcano->rules.n_actions++] = HR__VOLCANO_ALLOCATE;
    if (from[i] == HR_VOLCANO_PREEMPT) actions[volcano->rules.n_actions++] = HR__VOLCANO_PREEMPT;
    if (from[i] == HR_VOLCANO_RECLAIM) actions[volcano->rules.n_actions++] = HR__VOLCANO_RECLAIM;
  }
  return true;
}

/* ---- Queues: resources ------------------------------------------------------------------------------ */

static struct hr__volcano_vector vector_of(const struct hr__volcano_policy *volcano,
                                           const struct hr_volcano_amount *amounts, uint32_t n) {
  struct hr__volcano_vector vector;
  hr__volcano_clear(&vector);
  for (uint32_t i = 0; i < n; i++) {
    uint32_t k = dimension_of(volcano, amounts[i].resource);
    if (k == HR_NONE) continue;
    double scale = k == HR__VOLCANO_MEMORY ? IN_GIB : k == HR__VOLCANO_PODS ? 1 : 1000;
    hr__volcano_set(&vector, k, amounts[i].amount * scale);
  }
  return vector;
}

static struct hr__volcano_queue implicit_queue(const char *name) {
  struct hr__volcano_queue queue = {
      .name = name, .parent = HR__VOLCANO_NONE, .weight = 1, .is_open = true, .reclaimable = true};
  hr__volcano_clear(&queue.capability);
  queue.deserved = queue.guarantee = queue.capability;
  return queue;
}

static uint32_t find_queue(const struct hr__volcano_policy *volcano, const char *name) {
  for (uint32_t i = 0; i < volcano->snapshot.n_queues; i++)
    if (strcmp(volcano->queues[i].name, name) == 0) return i;
  return HR_NONE;
}

/* Returns the queue with this name. Adds it if it does not exist. */
static uint32_t add_queue(struct hr__volcano_policy *volcano, const char *name) {
  uint32_t at = find_queue(volcano, name);
  if (at != HR_NONE) return at;
  volcano->queues[volcano->snapshot.n_queues] = implicit_queue(name);
  return volcano->snapshot.n_queues++;
}

static bool configure_queues(struct hr__volcano_policy *volcano) {
  const struct hr_volcano_config *config = volcano->config;
  if (!HR__ARENA_ARRAY(volcano->arena, volcano->queues, config->n_queues + 1)) return false;
  for (uint32_t i = 0; i < config->n_queues; i++) {
    const struct hr_volcano_queue *from = &config->queues[i];
    struct hr__volcano_queue queue = implicit_queue(from->name);
    queue.weight = (int32_t)from->weight;
    queue.priority = from->priority;
    queue.is_open = !from->is_closed;
    queue.reclaimable = from->reclaimable;
    queue.has_capability = from->n_capability > 0;
    queue.capability = vector_of(volcano, from->capability, from->n_capability);
    queue.deserved = vector_of(volcano, from->deserved, from->n_deserved);
    queue.guarantee = vector_of(volcano, from->guarantee, from->n_guarantee);
    volcano->queues[volcano->snapshot.n_queues++] = queue;
  }
  volcano->default_queue = add_queue(volcano, config->default_queue ? config->default_queue : "default");
  volcano->snapshot.root_queue = add_queue(volcano, "root");
  for (uint32_t i = 0; i < config->n_queues; i++)
    if (config->queues[i].parent) volcano->queues[i].parent = find_queue(volcano, config->queues[i].parent);
  volcano->snapshot.queues = volcano->queues;
  return true;
}

/* Prepares queues, actions and plug-ins. False: out of memory. */
static bool configure(struct hr__volcano_policy *volcano, const struct hr_trace *jobs) {
  volcano->rules = hr__volcano_default_config();
  volcano->snapshot.gpu_dimension = HR__VOLCANO_GPU;
  for (uint32_t i = 0; i < volcano->pods.n_pools; i++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(volcano->pods.cluster, (hr_pool){i});
    volcano->has_cpu = volcano->has_cpu || spec->cpu_milli_per_node;
    volcano->has_mem = volcano->has_mem || spec->mem_mib_per_node;
  }
  if (!configure_plugins(volcano) || !configure_actions(volcano) || !configure_queues(volcano)) return false;
  uint32_t n = volcano->snapshot.n_queues;
  volcano->kind_of = hr_arena_alloc_by_job(volcano->arena, jobs->n_jobs, sizeof *volcano->kind_of);
  volcano->phase_of = hr_arena_alloc_by_job(volcano->arena, jobs->n_jobs, sizeof *volcano->phase_of);
  volcano->slot_of = hr_arena_alloc_by_job(volcano->arena, jobs->n_jobs, sizeof *volcano->slot_of);
  if (!HR__ARENA_ARRAY(volcano->arena, volcano->sums, n) || !HR__ARENA_ARRAY(volcano->arena, volcano->first_kind, n) ||
      !HR__ARENA_ARRAY(volcano->arena, volcano->asked, n) || !volcano->kind_of || !volcano->phase_of ||
      !volcano->slot_of)
    return false;
  for (uint32_t i = 0; i < n; i++) {
    hr__volcano_clear(&volcano->sums[i].allocated);
    volcano->sums[i].request = volcano->sums[i].inqueue = volcano->sums[i].elastic = volcano->sums[i].allocated;
  }
  return true;
}

/* The queue of a job; HR_NONE: out of memory. */
static uint32_t queue_of(struct hr__volcano_policy *volcano, const struct hr_trace *jobs, hr_job job) {
  bool is_named = jobs->queue && jobs->queue[job.id] != HR_NONE;
  uint32_t name = is_named ? jobs->queue[job.id] : jobs->tenant ? jobs->tenant[job.id] : HR_NONE;
  if (name == HR_NONE) return volcano->default_queue;
  /* Names of queues have even entries, names of tenants odd ones. */
  uint32_t entry = 2 * name + !is_named;
  while (entry >= volcano->names_capacity)
    if (!HR__ARENA_HAS_ROOM(volcano->arena, volcano->queue_of_name, entry, volcano->names_capacity)) return HR_NONE;
  if (volcano->queue_of_name[entry] == 0) {
    uint32_t found = find_queue(volcano, is_named ? jobs->queues.text[name] : jobs->tenants.text[name]);
    volcano->queue_of_name[entry] = 1 + (found == HR_NONE ? volcano->default_queue : found);
  }
  return volcano->queue_of_name[entry] - 1;
}

/* ---- Queues: kinds ---------------------------------------------------------------------------------- */

static struct hr__volcano_vector request_of(const struct hr__volcano_policy *volcano, const struct hr__pod_shape *shape,
                                            uint32_t number) {
  struct hr__volcano_vector request;
  hr__volcano_clear(&request);
  if (volcano->has_cpu) hr__volcano_set(&request, HR__VOLCANO_CPU, (double)shape->cpu_milli);
  if (volcano->has_mem) hr__volcano_set(&request, HR__VOLCANO_MEMORY, (double)shape->mem_mib * 0x1p20);
  hr__volcano_set(&request, HR__VOLCANO_PODS, 1);
  if (hr__pod_milli(shape, number)) hr__volcano_set(&request, HR__VOLCANO_GPU, hr__pod_milli(shape, number));
  return request;
}

static bool has_same_request(const struct hr__pod_shape *a, const struct hr__pod_shape *b) {
  return a->gpu_milli == b->gpu_milli && a->cpu_milli == b->cpu_milli && a->mem_mib == b->mem_mib;
}

static void without_pods(struct hr__volcano_vector *vector) {
  vector->amount[HR__VOLCANO_PODS] = 0;
  vector->present &= ~(UINT32_C(1) << HR__VOLCANO_PODS);
}

static bool fill_kind(struct hr__volcano_policy *volcano, uint32_t at) {
  struct hr__volcano_kind *kind = &volcano->kinds[at];
  const struct hr__job_kind *of = &volcano->pods.kinds[at];
  uint32_t n_pools = volcano->pods.n_pools, first = HR_NONE;
  struct hr_arena *arena = volcano->arena;
  if (!HR__ARENA_ARRAY(arena, kind->requests, n_pools) || !HR__ARENA_ARRAY(arena, kind->last, n_pools) ||
      !HR__ARENA_ARRAY(arena, kind->nodes, n_pools))
    return false;
  kind->is_uniform = of->is_single;
  for (uint32_t i = 0; i < n_pools; i++) {
    const struct hr__pod_shape *shape = &of->shapes[i];
    if (shape->n_pods == 0) continue;
    if (first == HR_NONE) first = i;
    kind->is_uniform = kind->is_uniform && has_same_request(shape, &of->shapes[first]);
    kind->requests[i] = request_of(volcano, shape, 0);
    kind->last[i] = request_of(volcano, shape, shape->n_pods - 1);
  }
  hr__volcano_clear(&kind->whole);
  kind->minimum = kind->each = kind->whole;
  if (first == HR_NONE) return true;
  const struct hr__pod_shape *shape = &of->shapes[first];
  kind->n_pods = shape->n_pods;
  kind->fewest = shape->fewest;
  kind->is_elastic = shape->fewest < shape->n_pods;
  kind->each = kind->requests[first];
  for (uint32_t i = 0; i < shape->n_pods; i++) {
    const struct hr__volcano_vector *request = i + 1 == shape->n_pods ? &kind->last[first] : &kind->requests[first];
    hr__volcano_add(&kind->whole, request);
    if (i < shape->fewest) hr__volcano_add(&kind->minimum, request);
  }
  without_pods(&kind->minimum);
  without_pods(&kind->whole);
  without_pods(&kind->each);
  return true;
}

/* Creates the data of this policy for a kind of jobs. False: out of memory. */
static bool make_kind(struct hr__volcano_policy *volcano, uint32_t kind) {
  while (kind >= volcano->kinds_capacity) {
    uint32_t before = volcano->kinds_capacity;
    if (!HR__ARENA_HAS_ROOM(volcano->arena, volcano->kinds, before, volcano->kinds_capacity) ||
        !HR__ARENA_RESIZE(volcano->arena, volcano->listed, volcano->n_listed, volcano->kinds_capacity))
      return false;
    for (uint32_t i = before; i < volcano->kinds_capacity; i++)
      volcano->kinds[i] = (struct hr__volcano_kind){.waiting = {{.store = volcano->store}, {.store = volcano->store}},
                                                    .kind = i,
                                                    .listed_at = HR_NONE,
                                                    .next = HR_NONE};
  }
  if (volcano->kinds[kind].requests) return true;
  volcano->kinds[kind].queue = volcano->pods.kinds[kind].group;
  return fill_kind(volcano, kind);
}

/* ---- Queues: waiting jobs --------------------------------------------------------------------------- */

/* Adds a job to the waiting jobs in the phase. False: out of memory. */
static bool enter_phase(struct hr__volcano_policy *volcano, hr_job job, enum hr__volcano_waiting phase) {
  struct hr__volcano_kind *kind = &volcano->kinds[volcano->kind_of[job.id]];
  struct hr__volcano_queue_sums *sums = &volcano->sums[kind->queue];
  const struct hr_job_entry entry = {volcano->pods.jobs->submit_us[job.id], job, 0};
  if (!hr_job_tree_insert(&kind->waiting[phase], entry)) return false;
  volcano->phase_of[job.id] = (uint8_t)phase;
  if (phase == HR__VOLCANO_WAITS_INQUEUE) {
    hr__volcano_add(&sums->inqueue, &kind->minimum);
    hr__volcano_add(&sums->request, &kind->whole);
  }
  if (kind->listed_at != HR_NONE) return true;
  kind->listed_at = volcano->n_listed;
  volcano->listed[volcano->n_listed++] = kind->kind;
  return true;
}

/* Adds a job to the waiting jobs. False: out of memory. */
static bool enter(struct hr__volcano_policy *volcano, hr_job job) {
  return enter_phase(volcano, job, volcano->enqueues ? HR__VOLCANO_WAITS_PENDING : HR__VOLCANO_WAITS_INQUEUE);
}

/* Removes a job from the waiting jobs. */
static void stop_waiting(struct hr__volcano_policy *volcano, hr_job job) {
  struct hr__volcano_kind *kind = &volcano->kinds[volcano->kind_of[job.id]];
  hr_job_tree_remove(&kind->waiting[volcano->phase_of[job.id]], volcano->pods.jobs->submit_us[job.id], job);
  if (volcano->phase_of[job.id] == HR__VOLCANO_WAITS_INQUEUE) {
    hr__volcano_subtract(&volcano->sums[kind->queue].inqueue, &kind->minimum);
    hr__volcano_subtract(&volcano->sums[kind->queue].request, &kind->whole);
  }
  if (kind->waiting[0].count || kind->waiting[1].count) return;
  uint32_t last = volcano->listed[--volcano->n_listed];
  volcano->listed[kind->listed_at] = last;
  volcano->kinds[last].listed_at = kind->listed_at;
  kind->listed_at = HR_NONE;
}

/* ---- Queues: the action enqueue --------------------------------------------------------------------- */

/* Whether the first pending job of `a` precedes that of `b` in the plug-ins' order of jobs. */
static bool precedes(const struct hr__volcano_policy *volcano, const struct hr__volcano_kind *a,
                     const struct hr__volcano_kind *b) {
  int32_t one = volcano->pods.kinds[a->kind].priority, other = volcano->pods.kinds[b->kind].priority;
  if (volcano->by_priority && one != other) return one > other;
  if (a->pending.key != b->pending.key) return a->pending.key < b->pending.key;
  return a->pending.job.id < b->pending.job.id;
}

/* Returns whether the plug-ins admit the first pending job of the kind. Slot 0 represents this job. */
static bool may_enqueue(struct hr__volcano_policy *volcano, const struct hr__volcano_kind *kind) {
  struct hr__volcano_job *voter = &volcano->jobs[0];
  voter->queue = kind->queue;
  voter->created_us = kind->pending.key;
  voter->has_min_resources = true;
  voter->min_resources = kind->minimum;
  bool may = hr__volcano_is_enqueueable(volcano->session, 0);
  if (may) hr__volcano_job_enqueued(volcano->session, 0);
  voter->queue = HR__VOLCANO_NONE;
  return may;
}

static bool enqueue_head(struct hr__volcano_policy *volcano, struct hr__volcano_kind *kind) {
  hr_job job = kind->pending.job;
  if (!hr__job_list_add(&volcano->admitted, volcano->arena, job)) return false;
  hr_job_tree_remove(&kind->waiting[HR__VOLCANO_WAITS_PENDING], kind->pending.key, job);
  return true;
}

/* Creates the pods of the admitted jobs: the next session may place them. */
static void make_pods(struct hr__volcano_policy *volcano) {
  for (uint32_t i = 0; i < volcano->admitted.count && volcano->status == HR_OK; i++) {
    if (!enter_phase(volcano, volcano->admitted.jobs[i], HR__VOLCANO_WAITS_INQUEUE)) volcano->status = HR_NO_MEMORY;
    volcano->changed = true;
  }
  volcano->admitted.count = 0;
}

static void enqueue_in(struct hr__volcano_policy *volcano, uint32_t queue) {
  while (volcano->first_kind[queue] != HR_NONE && volcano->status == HR_OK) {
    uint32_t *best = &volcano->first_kind[queue];
    for (uint32_t *link = &volcano->kinds[*best].next; *link != HR_NONE; link = &volcano->kinds[*link].next)
      if (precedes(volcano, &volcano->kinds[*link], &volcano->kinds[*best])) best = link;
    struct hr__volcano_kind *kind = &volcano->kinds[*best];
    bool goes_on = may_enqueue(volcano, kind);
    if (goes_on && !enqueue_head(volcano, kind)) volcano->status = HR_NO_MEMORY;
    goes_on = goes_on && hr_job_tree_first(&kind->waiting[HR__VOLCANO_WAITS_PENDING], &kind->pending);
    if (!goes_on) *best = kind->next;
  }
}

/* Runs the action enqueue. The pods of admitted jobs exist from the next session on. */
static void run_enqueue(struct hr__volcano_policy *volcano) {
  struct hr__volcano_session *session = volcano->session;
  for (uint32_t i = 0; i < volcano->snapshot.n_queues; i++) volcano->first_kind[i] = HR_NONE;
  session->queue_heap.count = 0;
  for (uint32_t i = 0; i < volcano->n_listed; i++) {
    struct hr__volcano_kind *kind = &volcano->kinds[volcano->listed[i]];
    if (!hr_job_tree_first(&kind->waiting[HR__VOLCANO_WAITS_PENDING], &kind->pending)) continue;
    if (volcano->first_kind[kind->queue] == HR_NONE) hr__volcano_push_queue(session, &session->queue_heap, kind->queue);
    kind->next = volcano->first_kind[kind->queue];
    volcano->first_kind[kind->queue] = kind->kind;
  }
  while (session->queue_heap.count && volcano->status == HR_OK)
    enqueue_in(volcano, hr__volcano_pop_queue(session, &session->queue_heap));
}

/* ---- Creation --------------------------------------------------------------------------------------- */

/* The configuration of a scenario without the section `volcano`. */
static const struct hr_volcano_config defaults = {
    .period_us = HR_SECOND_US, .pods_per_node = 110, .idle_release_us = 600 * HR_SECOND_US};

/* The size of the first session, in slots and tasks. */
enum { MIN_JOBS = 256, MIN_TASKS = 1024 };

static bool create_session(struct hr__volcano_policy *volcano) {
  uint32_t n_nodes = volcano->pods.n_nodes;
  if (!HR__ARENA_ARRAY(volcano->arena, volcano->nodes, n_nodes)) return false;
  for (uint32_t i = 0; i < n_nodes; i++) hr__volcano_update_node(volcano, i);
  volcano->snapshot.nodes = volcano->nodes;
  volcano->snapshot.n_nodes = n_nodes;
  volcano->snapshot.n_namespaces = 1;
  volcano->owner = hr__volcano_owner_of_policy;
  volcano->owner.self = volcano;
  volcano->owner.sums = volcano->sums;
  volcano->free_slot = HR_NONE;
  volcano->n_slots = 1; /* slot 0 is used by enqueue */
  return hr__volcano_make_room(volcano, MIN_JOBS, MIN_TASKS);
}

static enum hr_status create(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  (void)error;
  struct hr__volcano_policy *volcano = hr_arena_alloc(env->arena, sizeof *volcano);
  if (!(*self = volcano)) return HR_NO_MEMORY;
  volcano->arena = env->arena;
  volcano->config = env->systems && env->systems->volcano ? env->systems->volcano : &defaults;
  volcano->wake_us = volcano->release_wake_us = HR_NEVER_US;
  volcano->store = hr_tree_store_create(env->arena);
  if (!volcano->store ||
      !hr__pods_init(&volcano->pods, env, volcano->config->pods_per_node, volcano->config->idle_release_us))
    return HR_NO_MEMORY;
  volcano->pods.resizes = (env->jobs->min_gpus || env->jobs->max_gpus) && !volcano->pods.requests;
  if (!configure(volcano, env->jobs) || !create_session(volcano)) return HR_NO_MEMORY;
  volcano->scales = hr__pods_are_scaled(&volcano->pods, env);
  return HR_OK;
}

static uint32_t abilities(void *self) {
  const struct hr__volcano_policy *volcano = self;
  return HR_POLICY_REASONS_BY_JOB | (volcano->evicts ? (uint32_t)HR_POLICY_PREEMPTS : 0) |
         (volcano->pods.resizes ? (uint32_t)HR_POLICY_RESIZES : 0) |
         (volcano->pods.resizes && !volcano->config->restarts_jobs ? (uint32_t)HR_POLICY_SHRINKS : 0) |
         (volcano->scales ? (uint32_t)HR_POLICY_MANAGES_CAPACITY : 0);
}

/* ---- Events ----------------------------------------------------------------------------------------- */

static bool submit(struct hr__volcano_policy *volcano, const struct hr_view *view, hr_job job) {
  int32_t priority = view->jobs->priority ? view->jobs->priority[job.id] : 0;
  uint32_t queue = queue_of(volcano, view->jobs, job);
  uint32_t kind = queue == HR_NONE ? HR_NONE : hr__pods_kind(&volcano->pods, view, job, queue, priority);
  if (kind == HR_NONE || !make_kind(volcano, kind)) return false;
  volcano->kind_of[job.id] = kind;
  if (volcano->pods.kinds[kind].is_empty) return hr__job_list_add(&volcano->pods.idle_jobs, volcano->arena, job);
  if (volcano->pods.kinds[kind].never_fits) return hr__job_list_add(&volcano->pods.unfit, volcano->arena, job);
  volcano->sums[queue].n_jobs++;
  return enter(volcano, job);
}

/* Removes the pods of a running job that ends or stops from the session and from the ledger. `is_aside`: its pods were
   already set aside in the ledger, unless it is elastic. */
static void stop(struct hr__volcano_policy *volcano, hr_job job, bool is_aside) {
  uint32_t slot = hr__volcano_slot_of(volcano, job);
  const struct hr__volcano_kind *kind = &volcano->kinds[volcano->kind_of[job.id]];
  if (slot == HR_NONE) return;
  if (kind->is_elastic)
    hr__volcano_elastic_end(volcano, slot);
  else
    hr__volcano_subtract(&volcano->sums[kind->queue].allocated, &kind->whole);
  hr__volcano_subtract(&volcano->sums[kind->queue].request, &kind->whole);
  hr__volcano_free_slot(volcano, slot);
  if (is_aside && !kind->is_elastic)
    hr__pods_drop(&volcano->pods, job);
  else
    hr__pods_cut(&volcano->pods, job, HR_NONE, false);
}

static void forget(struct hr__volcano_policy *volcano, hr_job job) {
  volcano->sums[volcano->kinds[volcano->kind_of[job.id]].queue].n_jobs--;
}

/* Handles a waiting job that was withdrawn. Between sessions, it has no slot. False: out of memory. */
static bool withdraw(struct hr__volcano_policy *volcano, hr_job job) {
  if (hr__pods_lists(&volcano->pods, job)) return true; /* the job starts or is rejected in this pass */
  stop_waiting(volcano, job);
  forget(volcano, job);
  return hr__job_list_add(&volcano->pods.withdrawn, volcano->arena, job);
}

static enum hr_status observe(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr__volcano_policy *volcano = self;
  volcano->view = view;
  if (event->kind != HR_EVENT_TIMER) volcano->changed = true;
  switch (event->kind) {
  case HR_EVENT_SUBMIT:
    return submit(volcano, view, event->job) ? HR_OK : HR_NO_MEMORY;
  case HR_EVENT_END:
    if (hr__volcano_slot_of(volcano, event->job) != HR_NONE) forget(volcano, event->job);
    stop(volcano, event->job, false);
    return HR_OK;
  case HR_EVENT_INTERRUPT:
    stop(volcano, event->job, false);
    return enter(volcano, event->job) ? HR_OK : HR_NO_MEMORY;
  case HR_EVENT_RESIZE:
    hr__volcano_elastic_lose(volcano, event->job);
    return HR_OK;
  case HR_EVENT_WITHDRAW:
    return withdraw(volcano, event->job) ? HR_OK : HR_NO_MEMORY;
  case HR_EVENT_NODE_UP:
  case HR_EVENT_NOTICE:
  case HR_EVENT_NODE_DOWN:
    hr__pods_node_event(&volcano->pods, event);
    if (event->kind == HR_EVENT_NOTICE) {
      hr__volcano_elastic_notice(volcano, event->node);
      return HR_OK; /* its pods still run */
    }
    hr__volcano_update_node(volcano, event->node.id);
    hr__volcano_set_node(volcano->session, event->node.id);
    return HR_OK;
  default:
    return HR_OK;
  }
}

/* ---- Decisions of a session ------------------------------------------------------------------------- */

static void stop_evicted(struct hr__volcano_policy *volcano) {
  struct hr__volcano_id_list list = hr__volcano_evictions(volcano->session);
  for (uint32_t i = 0; i < list.n_ids && volcano->status == HR_OK; i++) {
    uint32_t slot = volcano->tasks[list.ids[i]].job;
    if (slot == HR__VOLCANO_NONE) continue; /* the job was already stopped for another evicted pod */
    volcano->changed = true;
    if (hr__volcano_elastic_shrink(volcano, list.ids[i])) continue;
    hr_job job = volcano->slots[slot].job;
    stop(volcano, job, true);
    volcano->status = hr_moves_requeue(volcano->moves, job, HR_REASON_PREEMPTED);
    if (volcano->status == HR_OK && !enter(volcano, job)) volcano->status = HR_NO_MEMORY;
  }
}

/* Whether enough pods of a waiting job were bound for it to run. */
static bool is_bound(const struct hr__volcano_policy *volcano, uint32_t slot) {
  return (int64_t)volcano->session->job_count[slot][HR__VOLCANO_BINDING] >= volcano->jobs[slot].min_available;
}

static void start(struct hr__volcano_policy *volcano, uint32_t slot) {
  hr_job job = volcano->slots[slot].job;
  struct hr__volcano_kind *kind = &volcano->kinds[volcano->slots[slot].kind];
  struct hr_placement placement;
  if (!hr__pods_placement(&volcano->pods, job, &placement)) {
    volcano->status = HR_NO_MEMORY;
    return;
  }
  bool is_first = volcano->n_listed == 1 && kind->waiting[0].count + kind->waiting[1].count == 1;
  stop_waiting(volcano, job);
  if (!hr__pods_have_memory(&volcano->pods, job, &placement)) {
    forget(volcano, job);
    hr__volcano_free_slot(volcano, slot);
    hr__pods_cut(&volcano->pods, job, HR_NONE, false);
    volcano->status = hr_moves_reject(volcano->moves, job, HR_REASON_GPU_MEMORY);
    return;
  }
  volcano->slots[slot].is_running = true;
  volcano->changed = true; /* the allocation of the queue has changed */
  hr__volcano_settle(volcano->session, slot);
  if (!kind->is_elastic)
    hr__volcano_add(&volcano->sums[kind->queue].allocated, &kind->whole);
  else if (!hr__volcano_elastic_begin(volcano, slot))
    volcano->status = HR_NO_MEMORY;
  hr__volcano_add(&volcano->sums[kind->queue].request, &kind->whole);
  if (volcano->status != HR_OK) return;
  volcano->status = hr_moves_start(volcano->moves, job, &placement, is_first ? HR_REASON_IN_ORDER : HR_REASON_POLICY);
}

/* Starts the waiting jobs with bound pods, and frees the slots of all other waiting jobs. */
static void settle(struct hr__volcano_policy *volcano) {
  for (uint32_t i = 0; i < volcano->n_fresh && volcano->status == HR_OK; i++) {
    uint32_t slot = volcano->fresh[i];
    if (is_bound(volcano, slot)) {
      start(volcano, slot);
      continue;
    }
    hr_job job = volcano->slots[slot].job;
    hr__volcano_free_slot(volcano, slot);
    hr__pods_cut(&volcano->pods, job, HR_NONE, true);
  }
  volcano->n_fresh = 0;
}

/* ---- A session -------------------------------------------------------------------------------------- */

static enum hr_status check(const struct hr__volcano_policy *volcano) {
  const char *violation = hr__volcano_check_binds(volcano->session);
  if (!violation) return HR_OK;
  fprintf(stderr, "volcano: %s\n", violation);
  return HR_INTERNAL;
}

static void run_session(struct hr__volcano_policy *volcano) {
  uint32_t n_jobs = volcano->snapshot.n_jobs, n_tasks = volcano->snapshot.n_tasks;
  if ((volcano->is_full || volcano->n_slots + volcano->n_listed > n_jobs) &&
      !hr__volcano_make_room(volcano, 2 * n_jobs + volcano->n_listed, 2 * n_tasks)) {
    volcano->status = HR_NO_MEMORY;
    return;
  }
  volcano->rules.now_us = volcano->view->now_us;
  hr__volcano_refresh(volcano->session);
  hr__volcano_fill(volcano);
  if (volcano->enqueues && volcano->status == HR_OK) run_enqueue(volcano);
  if (volcano->status != HR_OK) return;
  if (volcano->n_fresh || volcano->n_missing) hr__volcano_run(volcano->session);
  make_pods(volcano);
  if (volcano->status == HR_OK) volcano->status = check(volcano);
  if (volcano->status == HR_OK) stop_evicted(volcano);
  if (volcano->status == HR_OK) hr__volcano_elastic_settle(volcano);
  if (volcano->status == HR_OK) settle(volcano);
  if (volcano->is_full) volcano->changed = true;
}

/* Whether the limit of a queue allows this request to the autoscaler. If so, the request is counted. */
static bool may_ask(struct hr__volcano_policy *volcano, uint32_t at, const struct hr__volcano_vector *request) {
  const struct hr__volcano_queue *queue = &volcano->queues[at];
  double gpus = request->amount[HR__VOLCANO_GPU];
  double asked = volcano->asked[at] + volcano->sums[at].allocated.amount[HR__VOLCANO_GPU] + gpus;
  bool is_limited = queue->has_capability && hr__volcano_has(&queue->capability, HR__VOLCANO_GPU);
  if (!queue->is_open || (is_limited && asked > queue->capability.amount[HR__VOLCANO_GPU])) return false;
  volcano->asked[at] += gpus;
  return true;
}

/* Returns the next job for the autoscaler: first waiting jobs within the limits of their queues, kind by kind, then
   running jobs that may get more pods. */
static hr_job next_waiting(void *self, bool fits, uint32_t *kind) {
  struct hr__volcano_policy *volcano = self;
  for (; volcano->scale_at < volcano->n_listed; volcano->scale_at += volcano->scale_phase == 0) {
    struct hr__volcano_kind *of = &volcano->kinds[volcano->listed[volcano->scale_at]];
    uint32_t seen = 2 * of->kind + volcano->scale_phase;
    struct hr_job_tree *tree = &of->waiting[volcano->scale_phase];
    bool found = seen != *kind ? hr_job_tree_first(tree, &volcano->scale_entry)
                               : fits && hr_job_tree_next(tree, volcano->scale_entry.key, volcano->scale_entry.job,
                                                          INT64_MAX, &volcano->scale_entry);
    *kind = seen;
    if (found && may_ask(volcano, of->queue, &of->minimum)) return volcano->scale_entry.job;
    volcano->scale_phase = !volcano->scale_phase;
  }
  while (volcano->scale_elastic < volcano->n_elastic) {
    const struct hr__volcano_slot *slot = &volcano->slots[volcano->elastic[volcano->scale_elastic++]];
    const struct hr__volcano_kind *of = &volcano->kinds[slot->kind];
    if (slot->held < of->n_pods && !slot->is_leaving && may_ask(volcano, of->queue, &of->each)) return slot->job;
  }
  return (hr_job){HR_NONE};
}

static hr_job next_for_autoscaler(void *self, bool fits, uint32_t *kind) {
  struct hr__volcano_policy *volcano = self;
  hr_job job = next_waiting(self, fits, &volcano->scale_seen);
  if (job.id != HR_NONE) *kind = volcano->kind_of[job.id];
  return job;
}

static void scale(struct hr__volcano_policy *volcano) {
  volcano->scale_at = volcano->scale_phase = volcano->scale_elastic = 0;
  volcano->scale_seen = HR_NONE;
  for (uint32_t i = 0; i < volcano->snapshot.n_queues; i++) volcano->asked[i] = 0;
  volcano->status = hr__pods_scale(&volcano->pods, volcano->view, volcano->moves, next_for_autoscaler, volcano,
                                   &volcano->release_wake_us);
}

/* Whether a session may change something: a job waits, or a running job may get more pods. */
static bool has_work(const struct hr__volcano_policy *volcano) {
  return volcano->n_listed || volcano->n_missing;
}

static enum hr_status decide(void *self, const struct hr_view *view, struct hr_moves *moves) {
  struct hr__volcano_policy *volcano = self;
  int64_t period_us = volcano->config->period_us;
  volcano->view = view;
  volcano->moves = moves;
  volcano->status = hr__pods_settle_lists(&volcano->pods, moves);
  if (volcano->changed && has_work(volcano) && view->now_us % period_us == 0 && volcano->status == HR_OK) {
    volcano->changed = false;
    run_session(volcano);
  }
  if (volcano->scales && volcano->status == HR_OK) scale(volcano);
  int64_t wake_us = volcano->scales ? volcano->release_wake_us : HR_NEVER_US;
  if (volcano->changed && has_work(volcano)) {
    int64_t next_us = (view->now_us / period_us + 1) * period_us;
    if (next_us < wake_us) wake_us = next_us;
  }
  if (volcano->status != HR_OK || wake_us == HR_NEVER_US) return volcano->status;
  if (wake_us == volcano->wake_us && volcano->wake_us > view->now_us) return HR_OK;
  volcano->wake_us = wake_us;
  return hr_moves_wake_at(moves, wake_us);
}

/* ---- Reasons ---------------------------------------------------------------------------------------- */

/* Whether the queue of a job has no room for its minimum. */
static bool is_over_quota(const struct hr__volcano_policy *volcano, const struct hr__volcano_kind *kind) {
  const struct hr__volcano_session *session = volcano->session;
  return (session->proportion && !hr__volcano_has_room(&session->proportion[kind->queue], &kind->minimum)) ||
         (session->capacity && !hr__volcano_has_room(&session->capacity[kind->queue], &kind->minimum));
}

static void explain(void *self, const struct hr_view *view, hr_job job, struct hr_wait_reason *wait) {
  struct hr__volcano_policy *volcano = self;
  const struct hr__volcano_kind *waiting = &volcano->kinds[volcano->kind_of[job.id]];
  if (hr__pods_pool_that_fits(&volcano->pods, job, volcano->kind_of[job.id]) == HR_NONE) {
    hr_view_lack(view, job, wait);
    if (waiting->is_elastic) wait->asked_milli = (uint64_t)waiting->minimum.amount[HR__VOLCANO_GPU];
  } else if (volcano->changed) {
    wait->reason = HR_WAIT_REASON_TURN;
    wait->until_us = volcano->wake_us;
  } else if (is_over_quota(volcano, waiting) || hr__volcano_overused(volcano->session, waiting->queue)) {
    wait->reason = HR_WAIT_REASON_QUOTA;
    wait->quota = HR_QUOTA_FALLBACK;
  }
}

static void describe(void *self, const struct hr_view *view, hr_job job, char *text, size_t size) {
  struct hr__volcano_policy *volcano = self;
  const struct hr__volcano_kind *kind = &volcano->kinds[volcano->kind_of[job.id]];
  (void)view;
  if (volcano->phase_of[job.id] == HR__VOLCANO_WAITS_PENDING) {
    snprintf(text, size, "PodGroup is Pending: %s",
             is_over_quota(volcano, kind) ? "queue resource quota insufficient" : "resource in cluster is overused");
    return;
  }
  struct hr__pod_lacks lacks = hr__pods_lacks(&volcano->pods, kind->kind, 0);
  int used = snprintf(text, size,
                      "%u/%u tasks in gang unschedulable: pod group is not ready, %u Pending, %u minAvailable; %u/%u "
                      "nodes are available:",
                      kind->fewest, kind->n_pods, kind->n_pods, kind->fewest, lacks.fits, lacks.n_nodes);
  if (used > 0)
    hr__pods_put_lacks(&volcano->pods, job, &lacks, volcano->config->gpu_resource, text, size, (size_t)used);
}

HR_POLICY(volcano) = {HR_POLICY_HEAD,
                      .name = "volcano",
                      .summary = "Volcano: sessions with gangs, queues by weight or capacity, preemption and reclaim",
                      .params = hr__pod_params,
                      .create = create,
                      .observe = observe,
                      .decide = decide,
                      .abilities = abilities,
                      .explain = explain,
                      .describe = describe};
