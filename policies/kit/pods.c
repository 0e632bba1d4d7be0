/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kinds of jobs, the ledger of pods on nodes, and a cluster autoscaler; see pods.h.

   Invariant: the free amount of a resource on a node is the capacity of the node minus the requests of the pods in its
   list. In per-GPU allocation, exactly the slices of these pods are allocated in the inventory. */

#include "policies/kit/pods.h"

#include "headroom/unstable/clusters.h"
#include "policies/kit/params.h"

#include <stdio.h>
#include <string.h>

#define HR__POD_UNLIMITED (INT64_MAX / 4) /* the amount of a resource that its pool does not declare */

/* ---- Nodes ---- */

/* The resources of a node of a pool. */
static struct hr__pod_node empty_node(const struct hr__pods *pods, uint32_t pool) {
  const struct hr_pool_spec *spec = hr_cluster_pool_spec(pods->cluster, (hr_pool){pool});
  return (struct hr__pod_node){.gpu_milli = (int64_t)spec->gpus_per_node * HR_WHOLE_GPU_MILLI,
                               .cpu_milli =
                                   spec->cpu_milli_per_node ? (int64_t)spec->cpu_milli_per_node : HR__POD_UNLIMITED,
                               .mem_mib = spec->mem_mib_per_node ? (int64_t)spec->mem_mib_per_node : HR__POD_UNLIMITED,
                               .pods = pods->pods_per_node,
                               .pool = pool,
                               .first_pod = HR_NONE};
}

static void init_nodes(struct hr__pods *pods) {
  for (uint32_t pool = 0; pool < pods->n_pools; pool++) {
    uint32_t first = hr_cluster_first_node(pods->cluster, (hr_pool){pool}).id;
    for (uint32_t i = 0; i < hr_cluster_pool_spec(pods->cluster, (hr_pool){pool})->nodes; i++) {
      pods->nodes[first + i] = empty_node(pods, pool);
      pods->nodes[first + i].is_usable = hr_cluster_node_state(pods->cluster, (hr_node){first + i}) == HR_NODE_UP;
      pods->idle_us[first + i] = HR_NEVER_US;
    }
  }
}

bool hr__pods_init(struct hr__pods *pods, const struct hr_policy_env *env, uint32_t pods_per_node,
                   int64_t idle_release_us) {
  *pods = (struct hr__pods){.arena = env->arena,
                            .jobs = env->jobs,
                            .cluster = env->cluster,
                            .requests = hr_cluster_requests(env->cluster),
                            .n_pools = hr_cluster_pools(env->cluster),
                            .pods_per_node = pods_per_node,
                            .free_pod = HR_NONE,
                            .idle_release_us = idle_release_us};
  for (uint32_t i = 0; i < pods->n_pools; i++) pods->n_nodes += hr_cluster_pool_spec(env->cluster, (hr_pool){i})->nodes;
  if (!HR__ARENA_ARRAY(env->arena, pods->nodes, pods->n_nodes + 1) ||
      !HR__ARENA_ARRAY(env->arena, pods->idle_us, pods->n_nodes + 1) ||
      !HR__ARENA_ARRAY(env->arena, pods->is_needed, pods->n_nodes + 1) ||
      !HR__ARENA_ARRAY(env->arena, pods->scratch, pods->n_pools) ||
      !HR__ARENA_ARRAY(env->arena, pods->n_opened, pods->n_pools) ||
      !HR__ARENA_ARRAY_BY_JOB(env->arena, pods->first_of_job, env->jobs->n_jobs) ||
      !HR__ARENA_ARRAY_BY_JOB(env->arena, pods->last_of_job, env->jobs->n_jobs))
    return false;
  init_nodes(pods);
  if (!pods->requests) return true;
  pods->inventory = hr_gpu_inventory_create(env->arena, hr_cluster_spec_of(env->cluster), pods->requests);
  return pods->inventory != NULL;
}

void hr__pods_node_event(struct hr__pods *pods, const struct hr_event *event) {
  if (event->kind != HR_EVENT_NODE_UP && event->kind != HR_EVENT_NOTICE && event->kind != HR_EVENT_NODE_DOWN) return;
  struct hr__pod_node *node = &pods->nodes[event->node.id];
  node->is_usable = event->kind == HR_EVENT_NODE_UP;
  pods->idle_us[event->node.id] = HR_NEVER_US;
  if (event->kind != HR_EVENT_NODE_UP) return;
  if (pods->inventory) hr_cluster_copy_layouts(pods->cluster, pods->inventory, event->node);
  pods->idle_us[event->node.id] = event->at_us;
}

/* ---- Kinds ---- */

/* `widest`: the maximum number of GPUs of a node that the job accepts. A task that fits on such a node is not divided.
   `gpus`: the number of GPUs of all pods. */
static struct hr__pod_shape counted_shape(const struct hr__job_kind *kind, uint32_t gpus, uint32_t per_node,
                                          uint32_t widest) {
  uint32_t each = kind->tasks > 1 ? kind->gpus / kind->tasks : kind->gpus;
  struct hr__pod_shape shape = {.cpu_milli = kind->cpu_milli, .mem_mib = (int64_t)kind->mem_mib};
  if (each <= per_node) {
    shape.n_pods = gpus == kind->gpus ? kind->tasks : gpus / each;
    shape.gpu_milli = shape.last_milli = each * HR_WHOLE_GPU_MILLI;
  } else if (per_node && each > widest) {
    shape.n_pods = (gpus + per_node - 1) / per_node;
    shape.gpu_milli = per_node * HR_WHOLE_GPU_MILLI;
    shape.last_milli = (gpus - (shape.n_pods - 1) * per_node) * HR_WHOLE_GPU_MILLI;
  }
  shape.fewest = shape.n_pods;
  return shape;
}

/* The shape of an elastic job. `n_pods` is its maximum number of pods. `fewest` is the smallest number of pods that
   together have at least its minimum number of GPUs. */
static struct hr__pod_shape elastic_shape(const struct hr__job_kind *kind, uint32_t per_node, uint32_t widest) {
  struct hr__pod_shape shape = counted_shape(kind, kind->max_gpus, per_node, widest);
  uint32_t each = shape.gpu_milli / HR_WHOLE_GPU_MILLI;
  if (each) shape.fewest = (kind->min_gpus + each - 1) / each;
  return shape;
}

static struct hr__pod_shape shape_of(const struct hr__pods *pods, const struct hr__job_kind *kind, uint32_t pool,
                                     uint32_t widest, bool is_elastic) {
  const struct hr_pool_spec *spec = hr_cluster_pool_spec(pods->cluster, (hr_pool){pool});
  if (is_elastic) return elastic_shape(kind, spec->gpus_per_node, widest);
  if (!pods->requests) return counted_shape(kind, kind->gpus, spec->gpus_per_node, widest);
  const struct hr_request *request = &pods->requests->request[kind->request];
  uint32_t slot_milli = hr_pool_slot_milli(spec);
  uint32_t milli = request->gpus * (slot_milli ? slot_milli : request->gpu_milli);
  return (struct hr__pod_shape){.n_pods = request->tasks,
                                .fewest = request->tasks,
                                .gpu_milli = milli,
                                .last_milli = milli,
                                .cpu_milli = hr_pool_cpu_milli(spec, request),
                                .mem_mib = (int64_t)request->mem_mib};
}

/* Returns how many pods of the shape fit on an empty node of the pool. */
static uint64_t pods_on_empty_node(const struct hr__pods *pods, const struct hr__job_kind *kind, uint32_t pool,
                                   const struct hr__pod_shape *shape) {
  struct hr__pod_node node = empty_node(pods, pool);
  int64_t most = node.pods;
  if (pods->requests) {
    const struct hr_request *request = &pods->requests->request[kind->request];
    uint32_t tasks = hr_pool_max_tasks(hr_cluster_spec_of(pods->cluster), (hr_pool){pool}, request);
    return tasks < (uint64_t)most ? tasks : (uint64_t)most;
  }
  if (shape->gpu_milli && node.gpu_milli / shape->gpu_milli < most) most = node.gpu_milli / shape->gpu_milli;
  if (shape->cpu_milli && node.cpu_milli / shape->cpu_milli < most) most = node.cpu_milli / shape->cpu_milli;
  if (shape->mem_mib && node.mem_mib / shape->mem_mib < most) most = node.mem_mib / shape->mem_mib;
  return (uint64_t)most;
}

/* The maximum number of GPUs of a node that jobs of the kind accept. */
static uint32_t widest_node(const struct hr__pods *pods, const struct hr__job_kind *kind) {
  uint32_t widest = 0;
  for (uint32_t pool = 0; pool < pods->n_pools; pool++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(pods->cluster, (hr_pool){pool});
    if (spec->nodes && spec->gpus_per_node > widest &&
        hr_cluster_accepts(pods->cluster, kind->accept_class, (hr_pool){pool}))
      widest = spec->gpus_per_node;
  }
  return widest;
}

/* Sets the shape of the kind in each pool. In a pool in which its jobs cannot run, the kind has no pods. */
static void set_shapes(const struct hr__pods *pods, const struct hr_view *view, hr_job job, struct hr__job_kind *kind,
                       bool is_elastic) {
  uint32_t widest = widest_node(pods, kind);
  kind->never_fits = kind->is_single = true;
  for (uint32_t pool = 0; pool < pods->n_pools; pool++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(pods->cluster, (hr_pool){pool});
    kind->shapes[pool] = (struct hr__pod_shape){0};
    if (!hr_cluster_accepts(pods->cluster, kind->accept_class, (hr_pool){pool}) || spec->nodes == 0) continue;
    if (hr_view_speed_ppm(view, job, (hr_pool){pool}) == 0) continue;
    struct hr__pod_shape shape = shape_of(pods, kind, pool, widest, is_elastic);
    if (shape.n_pods == 0 || pods_on_empty_node(pods, kind, pool, &shape) * spec->nodes < shape.fewest) continue;
    kind->shapes[pool] = shape;
    kind->never_fits = false;
    kind->is_single = kind->is_single && shape.n_pods == 1;
  }
}

/* Whether the jobs of an elastic kind can have fewer pods than their maximum, all their pods are equal, and the shape
   is the same in all pools in which they can run. */
static bool has_equal_shapes(const struct hr__pods *pods, const struct hr__job_kind *kind) {
  const struct hr__pod_shape *first = NULL;
  for (uint32_t pool = 0; pool < pods->n_pools; pool++) {
    const struct hr__pod_shape *shape = &kind->shapes[pool];
    if (shape->n_pods == 0) continue;
    if (!first) first = shape;
    if (shape->fewest >= shape->n_pods || shape->gpu_milli != shape->last_milli || shape->n_pods != first->n_pods ||
        shape->gpu_milli != first->gpu_milli)
      return false;
  }
  return first != NULL;
}

static bool is_same_kind(const struct hr__job_kind *a, const struct hr__job_kind *b) {
  return a->gpus == b->gpus && a->tasks == b->tasks && a->cpu_milli == b->cpu_milli && a->mem_mib == b->mem_mib &&
         a->accept_class == b->accept_class && a->request == b->request && a->gpu_mem_mib == b->gpu_mem_mib &&
         a->model == b->model && a->group == b->group && a->priority == b->priority && a->is_fixed == b->is_fixed &&
         a->min_gpus == b->min_gpus && a->max_gpus == b->max_gpus;
}

static uint32_t hash_kind(const struct hr__job_kind *kind) {
  uint64_t digest = hr__digest_add(HR__DIGEST_SEED, (uint64_t)kind->gpus << 32 | kind->tasks);
  digest = hr__digest_add(digest, (uint64_t)kind->cpu_milli << 32 | kind->accept_class);
  digest = hr__digest_add(digest, (uint64_t)kind->request << 32 | kind->gpu_mem_mib);
  digest = hr__digest_add(digest, kind->mem_mib);
  digest = hr__digest_add(digest, (uint64_t)kind->model << 32 | kind->group);
  digest = hr__digest_add(digest, (uint64_t)(uint32_t)kind->priority << 1 | kind->is_fixed);
  if (kind->min_gpus != kind->max_gpus)
    digest = hr__digest_add(digest, (uint64_t)kind->min_gpus << 32 | kind->max_gpus);
  return hr__hash_u64(digest);
}

/* Whether there is a pool in which jobs with the model of this job cannot run. */
static bool depends_on_model(const struct hr__pods *pods, const struct hr_view *view, hr_job job) {
  for (uint32_t pool = 0; pool < pods->n_pools && pods->jobs->model; pool++)
    if (hr_view_speed_ppm(view, job, (hr_pool){pool}) == 0) return true;
  return false;
}

static struct hr__job_kind key_of(const struct hr__pods *pods, const struct hr_view *view, hr_job job, uint32_t group,
                                  int32_t priority) {
  const struct hr_trace *jobs = pods->jobs;
  struct hr__job_kind kind = {.gpus = jobs->gpus[job.id],
                              .tasks = jobs->tasks ? jobs->tasks[job.id] : 1,
                              .accept_class = hr_cluster_accept_class(pods->cluster, job),
                              .request = HR_NONE,
                              .cpu_milli = jobs->cpu_milli ? jobs->cpu_milli[job.id] : 0,
                              .mem_mib = jobs->mem_mib ? jobs->mem_mib[job.id] : 0,
                              .model = HR_NONE,
                              .group = group,
                              .priority = priority,
                              .is_fixed = !hr__is_interruptible(jobs, job)};
  kind.min_gpus = kind.max_gpus = kind.gpus;
  if (pods->resizes && !pods->requests) {
    struct hr_sizes sizes = hr_cluster_sizes(pods->cluster, job);
    kind.min_gpus = sizes.min;
    kind.max_gpus = sizes.max;
  }
  if (pods->requests) kind.request = pods->requests->of_job[job.id];
  if (pods->requests && jobs->gpu_mem_mib) kind.gpu_mem_mib = (uint32_t)jobs->gpu_mem_mib[job.id];
  if (depends_on_model(pods, view, job)) kind.model = jobs->model[job.id];
  return kind;
}

uint32_t hr__pods_kind(struct hr__pods *pods, const struct hr_view *view, hr_job job, uint32_t group,
                       int32_t priority) {
  struct hr__job_kind kind = key_of(pods, view, job, group, priority);
  struct hr__hash_cursor at;
  uint32_t hash = hash_kind(&kind);
  for (uint32_t i = hr__hash_first(&pods->kind_at, hash, &at); i != HR_NONE; i = hr__hash_next(&pods->kind_at, &at))
    if (is_same_kind(&pods->kinds[i], &kind)) return i;
  if (!HR__ARENA_HAS_ROOM(pods->arena, pods->kinds, pods->n_kinds, pods->kinds_capacity)) return HR_NONE;
  if (!HR__ARENA_ARRAY(pods->arena, kind.shapes, pods->n_pools) ||
      !hr__hash_add(&pods->kind_at, pods->arena, hash, pods->n_kinds))
    return HR_NONE;
  struct hr_need need = hr_need_of(pods->cluster, pods->jobs, job);
  kind.is_empty = hr_need_is_empty(pods->cluster, &need);
  set_shapes(pods, view, job, &kind, kind.min_gpus != kind.max_gpus);
  if (kind.min_gpus != kind.max_gpus && !has_equal_shapes(pods, &kind)) set_shapes(pods, view, job, &kind, false);
  pods->kinds[pods->n_kinds] = kind;
  return pods->n_kinds++;
}

/* ---- Pods on nodes ---- */

bool hr__pods_fit(const struct hr__pods *pods, uint32_t kind, uint32_t number, uint32_t at) {
  const struct hr__pod_node *node = &pods->nodes[at];
  const struct hr__pod_shape *shape = &pods->kinds[kind].shapes[node->pool];
  if (!node->is_usable || number >= shape->n_pods || node->pods < 1 || node->cpu_milli < shape->cpu_milli ||
      node->mem_mib < shape->mem_mib)
    return false;
  if (!pods->inventory) return node->gpu_milli >= (int64_t)hr__pod_milli(shape, number);
  return hr_gpu_inventory_fits(pods->inventory, &pods->requests->request[pods->kinds[kind].request], (hr_node){at});
}

static uint32_t new_pod(struct hr__pods *pods) {
  uint32_t number = pods->free_pod;
  if (number != HR_NONE) {
    pods->free_pod = pods->pods[number].next_of_job;
    return number;
  }
  if (!HR__ARENA_HAS_ROOM(pods->arena, pods->pods, pods->n_pods, pods->pods_capacity)) return HR_NONE;
  return pods->n_pods++;
}

/* Adds the request of a pod to the free amount on its node (sign 1), or subtracts it (sign -1). */
static void count(struct hr__pods *pods, const struct hr__pod *pod, int sign) {
  struct hr__pod_node *node = &pods->nodes[pod->slice.node.id];
  node->gpu_milli += sign * (int64_t)pod->slice.gpu_milli;
  node->cpu_milli += sign * pod->cpu_milli;
  node->mem_mib += sign * pod->mem_mib;
  node->pods += sign;
  node->n_without_cpu += pod->cpu_milli == 0 ? (uint32_t)-sign : 0;
  node->n_without_mem += pod->mem_mib == 0 ? (uint32_t)-sign : 0;
}

/* Adds a pod to the list of its node, and takes its resources. */
static void attach(struct hr__pods *pods, uint32_t number) {
  struct hr__pod *pod = &pods->pods[number];
  struct hr__pod_node *node = &pods->nodes[pod->slice.node.id];
  pod->previous_on_node = HR_NONE;
  pod->next_on_node = node->first_pod;
  if (node->first_pod != HR_NONE) pods->pods[node->first_pod].previous_on_node = number;
  node->first_pod = number;
  count(pods, pod, -1);
}

static void detach(struct hr__pods *pods, uint32_t number) {
  struct hr__pod *pod = &pods->pods[number];
  if (pod->previous_on_node == HR_NONE)
    pods->nodes[pod->slice.node.id].first_pod = pod->next_on_node;
  else
    pods->pods[pod->previous_on_node].next_on_node = pod->next_on_node;
  if (pod->next_on_node != HR_NONE) pods->pods[pod->next_on_node].previous_on_node = pod->previous_on_node;
  count(pods, pod, 1);
}

static const struct hr_request *request_of(const struct hr__pods *pods, uint32_t kind) {
  return &pods->requests->request[pods->kinds[kind].request];
}

uint32_t hr__pods_place(struct hr__pods *pods, hr_job job, uint32_t kind, uint32_t number, uint32_t node) {
  const struct hr__pod_shape *shape = &pods->kinds[kind].shapes[pods->nodes[node].pool];
  uint32_t at = new_pod(pods);
  if (at == HR_NONE) return HR_NONE;
  struct hr__pod *pod = &pods->pods[at];
  *pod = (struct hr__pod){.job = job.id,
                          .kind = kind,
                          .next_of_job = HR_NONE,
                          .cpu_milli = shape->cpu_milli,
                          .mem_mib = shape->mem_mib,
                          .slice = {.node = {node}, .gpu_milli = hr__pod_milli(shape, number)}};
  if (pods->inventory) {
    const struct hr_request *request = request_of(pods, kind);
    uint64_t gpus = hr_gpu_inventory_pick(pods->inventory, request, (hr_node){node});
    pod->slice = hr_gpu_inventory_slice(pods->inventory, request, (hr_node){node}, gpus);
    hr_gpu_inventory_take(pods->inventory, request, &pod->slice);
  }
  attach(pods, at);
  if (pods->first_of_job[job.id])
    pods->pods[pods->last_of_job[job.id] - 1].next_of_job = at;
  else
    pods->first_of_job[job.id] = at + 1;
  pods->last_of_job[job.id] = at + 1;
  return at;
}

/* Releases the resources of the pods from `at` on, the last pod first. `undo`: in per-GPU allocation, reverts the last
   allocations instead of releasing GPUs. */
static void release(struct hr__pods *pods, uint32_t at, bool undo) {
  /* the list is reversed, walked, and reversed again: undo must happen in the reverse order */
  uint32_t reversed = HR_NONE;
  for (uint32_t next; at != HR_NONE; at = next) {
    next = pods->pods[at].next_of_job;
    pods->pods[at].next_of_job = reversed;
    reversed = at;
  }
  for (uint32_t next, before = HR_NONE; reversed != HR_NONE; reversed = next) {
    struct hr__pod *pod = &pods->pods[reversed];
    next = pod->next_of_job;
    pod->next_of_job = before;
    before = reversed;
    detach(pods, reversed);
    if (!pods->inventory) continue;
    if (undo)
      hr_gpu_inventory_undo(pods->inventory, request_of(pods, pod->kind), &pod->slice);
    else
      hr_gpu_inventory_give(pods->inventory, request_of(pods, pod->kind), &pod->slice);
  }
}

void hr__pods_set_aside(struct hr__pods *pods, hr_job job) {
  release(pods, hr__pods_first(pods, job), false);
}

void hr__pods_put_back(struct hr__pods *pods, hr_job job) {
  for (uint32_t at = hr__pods_first(pods, job); at != HR_NONE; at = pods->pods[at].next_of_job) {
    struct hr__pod *pod = &pods->pods[at];
    if (pods->inventory) {
      hr_gpu_inventory_rebase(pods->inventory, &pod->slice, 1);
      hr_gpu_inventory_take(pods->inventory, request_of(pods, pod->kind), &pod->slice);
    }
    attach(pods, at);
  }
}

/* Frees the numbers of the pods that follow `last`; HR_NONE: of all pods of the job. */
static void free_numbers(struct hr__pods *pods, hr_job job, uint32_t last) {
  uint32_t at = last == HR_NONE ? hr__pods_first(pods, job) : pods->pods[last].next_of_job;
  for (uint32_t next; at != HR_NONE; at = next) {
    next = pods->pods[at].next_of_job;
    pods->pods[at].next_of_job = pods->free_pod;
    pods->free_pod = at;
  }
  pods->last_of_job[job.id] = last + 1;
  if (last == HR_NONE)
    pods->first_of_job[job.id] = 0;
  else
    pods->pods[last].next_of_job = HR_NONE;
}

void hr__pods_drop(struct hr__pods *pods, hr_job job) {
  free_numbers(pods, job, HR_NONE);
}

void hr__pods_cut(struct hr__pods *pods, hr_job job, uint32_t last, bool undo) {
  release(pods, last == HR_NONE ? hr__pods_first(pods, job) : pods->pods[last].next_of_job, undo);
  free_numbers(pods, job, last);
}

void hr__pods_remove(struct hr__pods *pods, hr_job job, uint32_t node) {
  uint32_t before = HR_NONE, at = hr__pods_first(pods, job);
  for (; pods->pods[at].slice.node.id != node; at = pods->pods[at].next_of_job) before = at;
  detach(pods, at);
  if (before == HR_NONE)
    pods->first_of_job[job.id] = pods->pods[at].next_of_job + 1;
  else
    pods->pods[before].next_of_job = pods->pods[at].next_of_job;
  if (hr__pods_last(pods, job) == at) pods->last_of_job[job.id] = before + 1;
  pods->pods[at].next_of_job = pods->free_pod;
  pods->free_pod = at;
}

/* ---- Jobs without pods ---- */

enum hr_status hr__pods_settle_lists(struct hr__pods *pods, struct hr_moves *moves) {
  enum hr_status status = hr__job_list_reject(&pods->withdrawn, moves, HR_REASON_WITHDRAWN);
  if (status == HR_OK) status = hr__job_list_start(&pods->idle_jobs, moves);
  return status == HR_OK ? hr__job_list_reject(&pods->unfit, moves, HR_REASON_NODE_TOO_SMALL) : status;
}

/* ---- Placements ---- */

/* Adds a slice to a placement. In counted allocation (not `by_gpu`), a node has only one slice, to which the GPUs are
   added. */
static void add_slice(struct hr_placement *placement, struct hr_slice *slices, const struct hr_slice *slice,
                      bool by_gpu) {
  for (uint32_t i = 0; i < placement->n_slices && !by_gpu; i++) {
    if (slices[i].node.id != slice->node.id) continue;
    slices[i].gpu_milli += slice->gpu_milli;
    return;
  }
  slices[placement->n_slices++] = *slice;
}

bool hr__pods_placement(struct hr__pods *pods, hr_job job, struct hr_placement *placement) {
  uint32_t first = hr__pods_first(pods, job), n = 0;
  for (uint32_t at = first; at != HR_NONE; at = pods->pods[at].next_of_job) n++;
  if (!HR__ARENA_HAS_ROOM_FOR(pods->arena, pods->slices, n, pods->slices_capacity)) return false;
  *placement = (struct hr_placement){.slices = pods->slices};
  if (first != HR_NONE) placement->pool.id = pods->nodes[pods->pods[first].slice.node.id].pool;
  for (uint32_t at = first; at != HR_NONE; at = pods->pods[at].next_of_job)
    add_slice(placement, pods->slices, &pods->pods[at].slice, pods->inventory != NULL);
  const struct hr_gpu_inventory *now = hr_cluster_gpu_inventory(pods->cluster);
  if (now) hr_gpu_inventory_rebase(now, pods->slices, n);
  return true;
}

/* ---- What nodes lack ---- */

static void count_lacks(const struct hr__pods *pods, uint32_t kind, uint32_t number, uint32_t at,
                        struct hr__pod_lacks *lacks) {
  const struct hr__pod_node *node = &pods->nodes[at];
  const struct hr__pod_shape *shape = &pods->kinds[kind].shapes[node->pool];
  lacks->n_nodes++;
  if (number >= shape->n_pods) {
    lacks->other++;
    return;
  }
  bool few_cpus = node->cpu_milli < shape->cpu_milli, little_mem = node->mem_mib < shape->mem_mib;
  bool few_pods = node->pods < 1, fits = hr__pods_fit(pods, kind, number, at);
  bool few_gpus = node->gpu_milli < (int64_t)hr__pod_milli(shape, number);
  lacks->fits += fits;
  lacks->cpu += few_cpus;
  lacks->mem += little_mem;
  lacks->pods += few_pods;
  lacks->gpu += few_gpus || (!fits && !few_cpus && !little_mem && !few_pods);
}

struct hr__pod_lacks hr__pods_lacks(const struct hr__pods *pods, uint32_t kind, uint32_t number) {
  struct hr__pod_lacks lacks = {0};
  for (uint32_t i = 0; i < pods->n_nodes; i++)
    if (pods->nodes[i].is_usable) count_lacks(pods, kind, number, i, &lacks);
  return lacks;
}

static size_t put(char *text, size_t size, size_t used, uint32_t n, const char *words, const char *name) {
  if (n == 0 || used + 1 >= size) return used;
  int more =
      snprintf(text + used, size - used, "%s %u %s%.100s", used && text[used - 1] == ':' ? "" : ",", n, words, name);
  return more > 0 && (size_t)more < size - used ? used + (size_t)more : size - 1;
}

void hr__pods_put_lacks(const struct hr__pods *pods, hr_job job, const struct hr__pod_lacks *lacks, const char *gpu,
                        char *text, size_t size, size_t used) {
  const struct hr_trace *jobs = pods->jobs;
  bool has_profile = jobs->mig_profile && jobs->mig_profile[job.id] != HR_NONE;
  const char *name = gpu ? gpu : "nvidia.com/gpu";
  if (has_profile) name = jobs->mig_profiles.text[jobs->mig_profile[job.id]];
  if (used >= size) return;
  used = put(text, size, used, lacks->cpu, "Insufficient cpu", "");
  used = put(text, size, used, lacks->mem, "Insufficient memory", "");
  used = put(text, size, used, lacks->gpu, has_profile ? "Insufficient nvidia.com/mig-" : "Insufficient ", name);
  used = put(text, size, used, lacks->pods, "Too many pods", "");
  used = put(text, size, used, lacks->other, "node(s) didn't match Pod's node affinity/selector", "");
  if (used && text[used - 1] == ':') text[used - 1] = '\0';
}

/* ---- Autoscaler ------------------------------------------------------------------------------------- */

/* A cluster autoscaler, which requests nodes for waiting jobs that do not fit. A pass places waiting jobs for a trial,
   in their order. Each job is placed on the nodes that are up or boot or, if it does not fit there, also on nodes that
   could be requested, beginning with the cheapest pool. The nodes that were needed are requested, and the trial is
   undone. A node that has been idle for a long time, and that no waiting job would use, is released. Source:
   kubernetes/autoscaler, cluster-autoscaler (scale-up by bin packing, expander `price`, scale-down-unneeded-time). */

enum { AUTOSCALER };
static const char *const elastic_names[] = {[AUTOSCALER] = "autoscaler", "static", NULL};
const struct hr_param hr__pod_params[] = {
    HR__CHOICE(
        "elastic_nodes", "autoscaler", elastic_names, HR__ADVANCED,
        "how nodes of elastic pools are requested. autoscaler: for pods that do not fit; idle nodes are released; "
        "static: all available nodes at all times"),
    {0}};

bool hr__pods_are_scaled(const struct hr__pods *pods, const struct hr_policy_env *env) {
  if (env->params[0].integer != AUTOSCALER || hr_cluster_is_autoscaled(pods->cluster)) return false;
  for (uint32_t i = 0; i < pods->n_pools; i++)
    if (hr__pool_is_elastic(pods->cluster, (hr_pool){i})) return true;
  return false;
}

/* ---- Autoscaler: trial nodes ------------------------------------------------------------------------ */

/* Treats a node that is not up as if it had come up. */
static void set_trial(struct hr__pods *pods, uint32_t node) {
  pods->nodes[node].is_trial = pods->nodes[node].is_usable = true;
  if (pods->inventory) hr_cluster_copy_layouts(pods->cluster, pods->inventory, (hr_node){node});
}

static void begin_trial(struct hr__pods *pods) {
  pods->n_trials = 0;
  for (uint32_t i = 0; i < pods->n_pools; i++) pods->n_opened[i] = 0;
  for (uint32_t i = 0; i < pods->n_nodes; i++) {
    pods->is_needed[i] = false;
    pods->nodes[i].is_trial = false;
    if (hr_cluster_node_state(pods->cluster, (hr_node){i}) == HR_NODE_BOOTING) set_trial(pods, i);
  }
}

static void end_trial(struct hr__pods *pods) {
  while (pods->n_trials > 0) {
    const struct hr__pods_trial *trial = &pods->trials[--pods->n_trials];
    hr__pods_cut(pods, trial->job, trial->last, true);
  }
  for (uint32_t i = 0; i < pods->n_nodes; i++) {
    if (!pods->nodes[i].is_trial) continue;
    pods->nodes[i].is_usable = pods->nodes[i].is_trial = false;
  }
}

/* Adds a node of the pool that could be requested. Returns false if no such node exists. */
static bool open_node(struct hr__pods *pods, uint32_t pool) {
  if (pods->n_opened[pool] >= hr_cluster_offer(pods->cluster, (hr_pool){pool})) return false;
  uint32_t first = hr_cluster_first_node(pods->cluster, (hr_pool){pool}).id;
  uint32_t end = first + hr_cluster_pool_spec(pods->cluster, (hr_pool){pool})->nodes;
  for (uint32_t i = first; i < end; i++) {
    if (pods->nodes[i].is_trial || hr_cluster_node_state(pods->cluster, (hr_node){i}) != HR_NODE_OFF) continue;
    set_trial(pods, i);
    pods->n_opened[pool]++;
    return true;
  }
  return false;
}

/* Removes the nodes that were added last, until `n` are left. They have no pods. */
static void close_nodes(struct hr__pods *pods, uint32_t pool, uint32_t n) {
  uint32_t first = hr_cluster_first_node(pods->cluster, (hr_pool){pool}).id;
  for (uint32_t i = first + hr_cluster_pool_spec(pods->cluster, (hr_pool){pool})->nodes;
       i-- > first && pods->n_opened[pool] > n;) {
    struct hr__pod_node *node = &pods->nodes[i];
    if (!node->is_trial || hr_cluster_node_state(pods->cluster, (hr_node){i}) != HR_NODE_OFF) continue;
    node->is_trial = node->is_usable = false;
    pods->n_opened[pool]--;
  }
}

/* ---- Autoscaler: jobs ------------------------------------------------------------------------------- */

static uint32_t find_node(const struct hr__pods *pods, uint32_t kind, uint32_t number, uint32_t pool) {
  uint32_t first = hr_cluster_first_node(pods->cluster, (hr_pool){pool}).id;
  uint32_t end = first + hr_cluster_pool_spec(pods->cluster, (hr_pool){pool})->nodes;
  for (uint32_t i = first; i < end; i++)
    if (hr__pods_fit(pods, kind, number, i)) return i;
  return HR_NONE;
}

enum trial_outcome { PLACED, DOES_NOT_FIT, OUT_OF_MEMORY };

/* The condition under which a trial succeeds. ALL_ON_PRESENT: all pods are on present nodes. MORE_ON_ADDED: with added
   nodes, the job has more pods than before and can run. SOME_ON_PRESENT: the job can run on present nodes. If the job
   is not elastic, it can run only with all its pods. */
enum trial { ALL_ON_PRESENT, MORE_ON_ADDED, SOME_ON_PRESENT };

/* Places a job in a pool for a trial, in addition to the pods that it already has. If it does not fit, the added pods
   are removed again. */
static enum trial_outcome place_in(struct hr__pods *pods, hr_job job, uint32_t kind, uint32_t pool, enum trial trial) {
  const struct hr__pod_shape *shape = &pods->kinds[kind].shapes[pool];
  uint32_t n_pods = shape->n_pods, number = 0, n_before = pods->n_opened[pool], last = hr__pods_last(pods, job);
  for (uint32_t at = hr__pods_first(pods, job); at != HR_NONE; at = pods->pods[at].next_of_job) number++;
  uint32_t held = number, enough = trial == ALL_ON_PRESENT ? n_pods : shape->fewest;
  if (trial == MORE_ON_ADDED && enough <= held) enough = held + 1;
  for (; number < n_pods; number++) {
    uint32_t node = find_node(pods, kind, number, pool);
    if (node == HR_NONE && trial == MORE_ON_ADDED && open_node(pods, pool)) node = find_node(pods, kind, number, pool);
    if (node == HR_NONE && number >= enough) break;
    if (node != HR_NONE && hr__pods_place(pods, job, kind, number, node) == HR_NONE) return OUT_OF_MEMORY;
    if (node != HR_NONE) continue;
    hr__pods_cut(pods, job, last, true);
    close_nodes(pods, pool, n_before);
    return DOES_NOT_FIT;
  }
  for (uint32_t at = hr__pods_first(pods, job); at != HR_NONE; at = pods->pods[at].next_of_job)
    pods->is_needed[pods->pods[at].slice.node.id] = true;
  pods->trials[pods->n_trials++] = (struct hr__pods_trial){job, last};
  return n_pods ? PLACED : DOES_NOT_FIT;
}

/* Of the elastic pools that offer nodes and in which the kind can run, returns the next one by price after the pool
   `before` (HR_NONE: returns the cheapest one). HR_NONE: no further pool. */
static uint32_t next_pool(const struct hr__pods *pods, uint32_t kind, uint32_t before, int64_t now_us) {
  uint32_t best = HR_NONE;
  int64_t best_price = 0;
  int64_t last = before == HR_NONE ? -1 : hr_cluster_price_uusd_h(pods->cluster, (hr_pool){before}, now_us);
  for (uint32_t i = 0; i < pods->n_pools; i++) {
    int64_t price = hr_cluster_price_uusd_h(pods->cluster, (hr_pool){i}, now_us);
    if (pods->kinds[kind].shapes[i].n_pods == 0 || hr_cluster_offer(pods->cluster, (hr_pool){i}) == 0) continue;
    if (!hr__pool_is_elastic(pods->cluster, (hr_pool){i})) continue;
    if (before != HR_NONE && (price < last || (price == last && i <= before))) continue;
    if (best != HR_NONE && price >= best_price) continue;
    best = i;
    best_price = price;
  }
  return best;
}

static enum trial_outcome place_job(struct hr__pods *pods, hr_job job, uint32_t kind, int64_t now_us) {
  enum trial_outcome outcome = DOES_NOT_FIT;
  uint32_t first = hr__pods_first(pods, job), only = HR_NONE;
  if (first != HR_NONE) only = pods->nodes[pods->pods[first].slice.node.id].pool;
  if (!HR__ARENA_HAS_ROOM(pods->arena, pods->trials, pods->n_trials, pods->trials_capacity)) return OUT_OF_MEMORY;
  for (uint32_t pool = 0; pool < pods->n_pools && outcome == DOES_NOT_FIT; pool++)
    if (pods->kinds[kind].shapes[pool].n_pods && (only == HR_NONE || pool == only))
      outcome = place_in(pods, job, kind, pool, ALL_ON_PRESENT);
  for (uint32_t pool = next_pool(pods, kind, HR_NONE, now_us); pool != HR_NONE && outcome == DOES_NOT_FIT;
       pool = next_pool(pods, kind, pool, now_us))
    if (only == HR_NONE || pool == only) outcome = place_in(pods, job, kind, pool, MORE_ON_ADDED);
  for (uint32_t pool = 0; pool < pods->n_pools && outcome == DOES_NOT_FIT; pool++)
    if (pods->kinds[kind].shapes[pool].fewest < pods->kinds[kind].shapes[pool].n_pods &&
        (only == HR_NONE || pool == only))
      outcome = place_in(pods, job, kind, pool, SOME_ON_PRESENT);
  return outcome;
}

uint32_t hr__pods_pool_that_fits(struct hr__pods *pods, hr_job job, uint32_t kind) {
  uint32_t first = hr__pods_first(pods, job), last = hr__pods_last(pods, job), only = HR_NONE, held = 0;
  uint32_t fallback = HR_NONE;
  if (first != HR_NONE) only = pods->nodes[pods->pods[first].slice.node.id].pool;
  for (uint32_t at = first; at != HR_NONE; at = pods->pods[at].next_of_job) held++;
  for (uint32_t pool = 0; pool < pods->n_pools; pool++) {
    uint32_t n_pods = pods->kinds[kind].shapes[pool].n_pods, number = held, node = HR_NONE;
    if (n_pods == 0 || (only != HR_NONE && pool != only)) continue;
    for (; number < n_pods && (node = find_node(pods, kind, number, pool)) != HR_NONE; number++)
      if (hr__pods_place(pods, job, kind, number, node) == HR_NONE) break;
    hr__pods_cut(pods, job, last, true);
    if (number == n_pods) return pool;
    if (fallback == HR_NONE && number >= pods->kinds[kind].shapes[pool].fewest) fallback = pool;
  }
  return fallback;
}

/* ---- Autoscaler: idle nodes ------------------------------------------------------------------------- */

static enum hr_status release_idle(struct hr__pods *pods, const struct hr_view *view, struct hr_moves *moves,
                                   int64_t *wake_us) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < pods->n_nodes && status == HR_OK; i++) {
    struct hr__pod_node *node = &pods->nodes[i];
    if (!hr__pool_is_elastic(pods->cluster, (hr_pool){node->pool})) continue;
    bool is_idle = node->is_usable && node->first_pod == HR_NONE && !pods->is_needed[i];
    if (!is_idle) {
      pods->idle_us[i] = HR_NEVER_US;
      continue;
    }
    if (pods->idle_us[i] == HR_NEVER_US) pods->idle_us[i] = view->now_us;
    int64_t end_us = pods->idle_us[i] + pods->idle_release_us;
    if (end_us > view->now_us) {
      if (end_us < *wake_us) *wake_us = end_us;
      continue;
    }
    if (hr_cluster_node_state(pods->cluster, (hr_node){i}) != HR_NODE_UP) continue;
    node->is_usable = false;
    pods->idle_us[i] = HR_NEVER_US;
    status = hr_moves_release(moves, (hr_node){i});
  }
  return status;
}

enum hr_status hr__pods_scale(struct hr__pods *pods, const struct hr_view *view, struct hr_moves *moves,
                              hr__pods_next *next, void *self, int64_t *wake_us) {
  enum trial_outcome outcome = PLACED;
  enum hr_status status = HR_OK;
  uint32_t kind = HR_NONE;
  begin_trial(pods);
  for (hr_job job = next(self, true, &kind); job.id != HR_NONE && outcome != OUT_OF_MEMORY;
       job = next(self, outcome == PLACED, &kind))
    outcome = place_job(pods, job, kind, view->now_us);
  end_trial(pods);
  if (outcome == OUT_OF_MEMORY) return HR_NO_MEMORY;
  *wake_us = HR_NEVER_US;
  for (uint32_t i = 0; i < pods->n_pools && status == HR_OK; i++)
    if (pods->n_opened[i]) status = hr_moves_acquire(moves, (hr_pool){i}, pods->n_opened[i]);
  return status == HR_OK ? release_idle(pods, view, moves, wake_us) : status;
}
