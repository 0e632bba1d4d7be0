/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Updates the session of KAI when jobs are added or removed, and chooses the GPUs of jobs in per-GPU allocation.
 *
 * The session's arrays have room for `max_slots` jobs and `max_pods` pods; entries that are not in use have no queue
 * and no job. Invariant: a slot in `waiting` has pending pods, and a slot in `running` has pods that are not pending.
 * Only elastic jobs can be in both lists. A free slot is in neither list.
 */

#include "policies/kai/session.h"

#include "policies/kai/world.h"

#include <string.h>

enum { FIRST_SLOTS = 64, FIRST_JOB_PODS = 16 };

/* ---- Slots --------------------------------------------------------------------------------------------- */

/* Lists the present status and node of each pod. NULL: out of memory. */
static struct hr__kai_start *list_starts(const struct hr__kai_world *world, struct hr_arena *arena) {
  const struct hr__kai_session *old = world->session;
  struct hr__kai_start *start = hr_arena_alloc(arena, ((size_t)world->cluster.n_pods + 1) * sizeof *start);
  for (uint32_t p = 0; p < world->cluster.n_pods && start; p++) {
    start[p] = (struct hr__kai_start){.status = HR__KAI_DELETED, .node = HR__KAI_NONE};
    if (!old || p >= world->n_pods) continue;
    const struct hr__kai_pod_state *state = &old->pods[p];
    start[p].status = (enum hr__kai_status)state->status;
    start[p].node = state->node < 0 ? HR__KAI_NONE : (uint32_t)state->node;
    start[p].n_gpus = state->node < 0 ? 0 : (uint32_t)state->n_gpus;
    uint32_t *gpus = hr_arena_alloc(arena, (start[p].n_gpus + 1) * sizeof *gpus);
    if (!gpus) return NULL;
    for (uint32_t i = 0; i < start[p].n_gpus; i++) gpus[i] = (uint32_t)hr__kai_gpus_of(old, p, 0)[i];
    start[p].gpus = gpus;
  }
  return start;
}

/* Creates the session with the present status and node of each pod, and frees the old session. False: out of memory. */
bool hr__kai_renew_session(struct hr__kai_world *world) {
  const struct hr__kai_session *old = world->session;
  struct hr_arena *arena = &world->sessions[1 - world->used];
  const struct hr__kai_start *start = list_starts(world, arena);
  struct hr__kai_session *session = start ? hr__kai_session_create(arena, &world->cluster, start) : NULL;
  struct hr__kai_cycle *cycle = session ? hr__kai_cycle_create(session) : NULL;
  if (!cycle) return false;
  for (int64_t g = session->n_shared - 1; g >= 0; g--) {
    if (old) session->shared[g].physical = old->shared[g].physical;
    if (session->shared[g].next == -2) hr__kai_free_gpu(session, g);
  }
  hr__arena_finish(&world->sessions[world->used]);
  world->used = 1 - world->used;
  world->session = session;
  world->cycle = cycle;
  return true;
}

static bool grow_arrays(struct hr__kai_world *world, uint32_t slots, uint32_t pods) {
  struct hr_arena *arena = world->arena;
  const uint32_t n = world->n_slots;
  if (!HR__ARENA_RESIZE(arena, world->jobs, n, slots) || !HR__ARENA_RESIZE(arena, world->sets, n, slots) ||
      !HR__ARENA_RESIZE(arena, world->groups, n, slots) || !HR__ARENA_RESIZE(arena, world->kind_of, n, slots) ||
      !HR__ARENA_RESIZE(arena, world->job_of, n, slots) || !HR__ARENA_RESIZE(arena, world->next_spare, n, slots) ||
      !HR__ARENA_RESIZE(arena, world->class_of, n, slots) || !HR__ARENA_RESIZE(arena, world->by_queue, 0, slots) ||
      !HR__ARENA_RESIZE(arena, world->is_leaving, n, slots) || !HR__ARENA_RESIZE(arena, world->is_frozen, n, slots) ||
      !HR__ARENA_RESIZE(arena, world->is_running, n, slots) ||
      !HR__ARENA_RESIZE(arena, world->waiting, world->n_waiting, slots) ||
      !HR__ARENA_RESIZE(arena, world->running, world->n_running, slots) ||
      !HR__ARENA_RESIZE(arena, world->pods, world->n_pods, pods) ||
      !HR__ARENA_RESIZE(arena, world->pods_of_sets, world->n_pods, pods))
    return false;
  for (uint32_t j = world->n_slots; j < slots; j++) world->jobs[j].queue = HR__KAI_NONE;
  for (uint32_t p = world->n_pods; p < pods; p++) {
    world->pods[p].job = HR__KAI_NONE;
    world->pods_of_sets[p] = p;
  }
  return true;
}

static uint32_t count_gpus(const struct hr__kai_world *world) {
  uint64_t n = 0;
  for (uint32_t i = 0; i < world->cluster.n_nodes; i++) n += (uint64_t)world->nodes[i].n_gpus;
  return (uint32_t)n;
}

bool hr__kai_make_room(struct hr__kai_world *world, uint32_t n_pods, uint32_t n_devices) {
  struct hr__kai_cluster *cluster = &world->cluster;
  if (n_pods <= world->max_job_pods && world->n_slots < world->max_slots && world->n_pods + n_pods <= world->max_pods &&
      world->n_devices + n_devices <= cluster->room_devices)
    return true;
  const uint32_t slots = world->n_slots < world->max_slots ? world->max_slots : 2 * world->max_slots + FIRST_SLOTS;
  uint32_t pods = world->max_pods;
  if (world->n_pods + n_pods > pods) pods = 2 * (world->n_pods + n_pods) + FIRST_SLOTS;
  if (n_pods > world->max_job_pods) {
    const uint32_t most = 2 * n_pods > FIRST_JOB_PODS ? 2 * n_pods : FIRST_JOB_PODS;
    const uint32_t before = world->max_job_pods ? world->max_job_pods + 1 : 0;
    if (!HR__ARENA_RESIZE(world->arena, world->spare_by_pods, before, most)) return false;
    for (uint32_t i = before; i <= most; i++) world->spare_by_pods[i] = HR_NONE;
    world->max_job_pods = most;
  }
  if (world->n_devices + n_devices > cluster->room_devices) cluster->room_devices = 2 * (world->n_devices + n_devices);
  if (!grow_arrays(world, slots, pods)) return false;
  world->max_slots = slots;
  world->max_pods = pods;
  cluster->jobs = world->jobs;
  cluster->sets = world->sets;
  cluster->groups = world->groups;
  cluster->pods = world->pods;
  cluster->pods_of_sets = world->pods_of_sets;
  cluster->n_jobs = cluster->n_sets = cluster->n_groups = slots;
  cluster->n_pods = pods;
  cluster->waiting = world->waiting;
  cluster->running = world->running;
  cluster->is_running = world->is_running;
  cluster->class_of = world->class_of;
  cluster->leaves = world->is_plain ? NULL : world->leaves;
  cluster->room_pods_of_job = world->max_job_pods;
  cluster->room_shared = 2 * count_gpus(world) + 64;
  return hr__kai_renew_session(world);
}

/* Takes a free slot with the same number of pods, and the same number of shared GPUs per pod; HR_NONE: none. */
static uint32_t take_spare(struct hr__kai_world *world, const struct hr__kai_kind *kind) {
  if (kind->n_pods > world->max_job_pods) return HR_NONE;
  for (uint32_t *link = &world->spare_by_pods[kind->n_pods]; *link != HR_NONE; link = &world->next_spare[*link]) {
    const uint32_t slot = *link;
    if (world->pods[world->jobs[slot].first_pod].n_devices != kind->pod.n_devices) continue;
    *link = world->next_spare[slot];
    return slot;
  }
  return HR_NONE;
}

/* Takes a slot for a job of the kind; HR_NONE: out of memory. */
static uint32_t take_slot(struct hr__kai_world *world, const struct hr__kai_kind *kind, bool *is_new) {
  const uint32_t n_devices = kind->n_pods * kind->pod.n_devices, spare = take_spare(world, kind);
  *is_new = spare == HR_NONE;
  if (spare != HR_NONE) return spare;
  if (!hr__kai_make_room(world, kind->n_pods, n_devices)) return HR_NONE;
  const uint32_t slot = world->n_slots++;
  world->jobs[slot] = (struct hr__kai_job){.queue = HR__KAI_NONE,
                                           .first_pod = world->n_pods,
                                           .n_pods = kind->n_pods,
                                           .first_set = slot,
                                           .n_sets = 1,
                                           .first_group = slot,
                                           .n_groups = 1};
  world->n_pods += kind->n_pods;
  world->n_devices += n_devices;
  return slot;
}

static void describe_job(struct hr__kai_world *world, uint32_t slot, const struct hr__kai_kind *kind) {
  struct hr__kai_job *job = &world->jobs[slot];
  world->groups[slot] =
      (struct hr__kai_group){.constraint = kind->constraint, .job = slot, .parent = HR__KAI_NONE, .name_rank = 0};
  world->sets[slot] = (struct hr__kai_pod_set){.constraint = {.topology = HR__KAI_NONE},
                                               .job = slot,
                                               .group = slot,
                                               .first_pod = job->first_pod,
                                               .n_pods = job->n_pods,
                                               .min_available = kind->fewest};
  for (uint32_t i = 0; i < job->n_pods; i++) {
    struct hr__kai_pod *pod = &world->pods[job->first_pod + i];
    const bool is_last = i + 1 == job->n_pods;
    *pod = kind->pod;
    pod->request = is_last ? kind->last : kind->amounts;
    pod->allowed_nodes = kind->allowed_nodes;
    pod->job = pod->pod_set = slot;
    pod->order = i;
    if (!is_last || kind->pod.kind != HR__KAI_WHOLE) continue;
    pod->gpus = pod->quota.of[HR__KAI_GPU] = (int64_t)kind->last_gpus * HR__KAI_GPU_UNIT;
  }
}

/* ---- Classes and lists of queues ----------------------------------------------------------------------- */

/* Sets the class of a slot. False: out of memory. */
static bool classify(struct hr__kai_world *world, uint32_t slot) {
  struct hr__kai_kind *kind = &world->kinds[world->kind_of[slot]];
  const struct hr__kai_job *job = &world->jobs[slot];
  for (uint32_t c = kind->first_class; c != HR_NONE; c = world->classes[c].next)
    if (world->classes[c].queue == job->queue && world->classes[c].preemptible == job->preemptible) {
      world->class_of[slot] = c;
      return true;
    }
  if (world->n_classes == world->classes_capacity) {
    const uint32_t n = 2 * world->classes_capacity + 32;
    if (!HR__ARENA_RESIZE(world->arena, world->classes, world->n_classes, n) ||
        !HR__ARENA_RESIZE(world->arena, world->jobs_of_class, world->n_classes, n))
      return false;
    world->classes_capacity = n;
    world->cluster.jobs_of_class = world->jobs_of_class;
    world->cluster.room_classes = n;
    if (!hr__kai_renew_session(world)) return false;
  }
  const uint32_t c = world->n_classes++;
  world->classes[c] = (struct hr__kai_class){
      .kind = world->kind_of[slot], .queue = job->queue, .next = kind->first_class, .preemptible = job->preemptible};
  kind->first_class = world->class_of[slot] = c;
  world->cluster.n_classes = world->n_classes;
  return true;
}

/* Whether slot `a` is listed before slot `b`: by priority if `by_priority`, then by job. */
static bool goes_before(const struct hr__kai_world *world, uint32_t a, uint32_t b, bool by_priority) {
  const int32_t priority = world->jobs[a].priority, other = world->jobs[b].priority;
  return by_priority && priority != other ? priority > other : world->job_of[a] < world->job_of[b];
}

/* The position of a slot in a sorted list. */
static uint32_t position_in(const struct hr__kai_world *world, const uint32_t *list, uint32_t n, uint32_t slot,
                            bool by_priority) {
  uint32_t low = 0, high = n;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (goes_before(world, list[middle], slot, by_priority))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void insert(uint32_t *list, uint32_t *n, uint32_t at, uint32_t slot) {
  memmove(list + at + 1, list + at, (*n - at) * sizeof *list);
  list[at] = slot;
  ++*n;
}

static void unlist(uint32_t *list, uint32_t *n, uint32_t at) {
  memmove(list + at, list + at + 1, (*n - at - 1) * sizeof *list);
  --*n;
}

static bool list_in_queue(struct hr__kai_world *world, uint32_t slot) {
  struct hr__kai_leaf_list *list = &world->leaves[world->jobs[slot].queue];
  if (!classify(world, slot) || !HR__ARENA_HAS_ROOM(world->arena, list->jobs, list->n, list->capacity)) return false;
  insert(list->jobs, &list->n, position_in(world, list->jobs, list->n, slot, true), slot);
  world->classes_in_queue[world->jobs[slot].queue] += world->jobs_of_class[world->class_of[slot]]++ == 0;
  return true;
}

static void unlist_in_queue(struct hr__kai_world *world, uint32_t slot) {
  struct hr__kai_leaf_list *list = &world->leaves[world->jobs[slot].queue];
  const uint32_t at = position_in(world, list->jobs, list->n, slot, true);
  if (at == list->n || list->jobs[at] != slot) return;
  unlist(list->jobs, &list->n, at);
  world->classes_in_queue[world->jobs[slot].queue] -= --world->jobs_of_class[world->class_of[slot]] == 0;
}

/* ---- Jobs ---------------------------------------------------------------------------------------------- */

static void set_pods(struct hr__kai_world *world, uint32_t slot, enum hr__kai_status status) {
  const struct hr__kai_job *job = &world->jobs[slot];
  for (uint32_t p = job->first_pod; p < job->first_pod + job->n_pods; p++)
    hr__kai_put(world->session, p, status, HR__KAI_NONE);
}

/* Inserts a slot into the waiting list, which is sorted by job. False: out of memory. */
static bool list_waiting(struct hr__kai_world *world, uint32_t slot) {
  const uint32_t at = position_in(world, world->waiting, world->n_waiting, slot, false);
  insert(world->waiting, &world->n_waiting, at, slot);
  world->cluster.n_waiting = world->n_waiting;
  return list_in_queue(world, slot);
}

static void unlist_waiting(struct hr__kai_world *world, uint32_t slot) {
  const uint32_t at = position_in(world, world->waiting, world->n_waiting, slot, false);
  if (at == world->n_waiting || world->waiting[at] != slot) return;
  unlist(world->waiting, &world->n_waiting, at);
  world->cluster.n_waiting = world->n_waiting;
  unlist_in_queue(world, slot);
}

static void unlist_all(struct hr__kai_world *world, uint32_t slot) {
  uint32_t at = 0;
  unlist_waiting(world, slot);
  world->is_running[slot] = 0;
  while (at < world->n_running && world->running[at] != slot) at++;
  if (at < world->n_running) unlist(world->running, &world->n_running, at);
  world->cluster.n_running = world->n_running;
}

void hr__kai_list_by_queue(struct hr__kai_world *world) {
  uint32_t n = 0;
  for (uint32_t q = 0; q < world->cluster.n_queues; q++)
    for (uint32_t i = 0; i < world->leaves[q].n; i++) world->by_queue[n++] = world->leaves[q].jobs[i];
  world->cluster.waiting = world->by_queue;
  world->cluster.n_waiting = n;
}

void hr__kai_list_running(struct hr__kai_world *world, uint32_t slot) {
  if (world->session->jobs[slot].n_pending == 0) unlist_waiting(world, slot);
  if (world->is_running[slot]) return;
  world->is_running[slot] = 1;
  world->running[world->n_running++] = slot;
  world->cluster.n_running = world->n_running;
}

bool hr__kai_add_job(struct hr__kai_world *world, hr_job job, const struct hr__kai_admission *admission) {
  bool is_new;
  const uint32_t slot = take_slot(world, &world->kinds[admission->kind], &is_new);
  if (slot == HR_NONE) return false;
  struct hr__kai_job *described = &world->jobs[slot];
  world->job_of[slot] = job.id;
  world->slot_of[job.id] = slot + 1;
  world->kind_of[slot] = admission->kind;
  describe_job(world, slot, &world->kinds[admission->kind]);
  if (!hr__kai_session_extend(world->session, slot, is_new)) return false;
  described->queue = admission->queue;
  described->created = described->name_rank = job.id;
  described->last_start_us = described->stale_since_us = INT64_MIN;
  described->priority = hr__kai_priority_of(world->config, world->trace, job);
  described->preemptible = hr__kai_is_preemptible(world->config, world->trace, job);
  world->jobs_in_queue[admission->queue]++;
  world->is_frozen[slot] = false;
  set_pods(world, slot, HR__KAI_PENDING);
  return list_waiting(world, slot);
}

void hr__kai_remove_job(struct hr__kai_world *world, hr_job job) {
  const uint32_t slot = hr__kai_slot_of(world, job);
  if (slot == HR_NONE) return;
  struct hr__kai_job *described = &world->jobs[slot];
  unlist_all(world, slot);
  set_pods(world, slot, HR__KAI_DELETED);
  world->jobs_in_queue[described->queue]--;
  described->queue = HR__KAI_NONE;
  world->slot_of[job.id] = 0;
  world->job_of[slot] = HR_NONE;
  world->next_spare[slot] = world->spare_by_pods[described->n_pods];
  world->spare_by_pods[described->n_pods] = slot;
}

bool hr__kai_wait_again(struct hr__kai_world *world, uint32_t slot) {
  const struct hr__kai_job *job = &world->jobs[slot];
  unlist_all(world, slot);
  set_pods(world, slot, HR__KAI_PENDING);
  world->is_frozen[slot] = false;
  for (uint32_t p = job->first_pod; p < job->first_pod + job->n_pods && hr__kai_resizes(world, slot); p++)
    world->pods[p].allowed_nodes = world->kinds[world->kind_of[slot]].allowed_nodes;
  return list_waiting(world, slot);
}

/* ---- Elastic jobs -------------------------------------------------------------------------------------- */

uint32_t hr__kai_count_running(const struct hr__kai_world *world, uint32_t slot) {
  const struct hr__kai_job *job = &world->jobs[slot];
  uint32_t n = 0;
  for (uint32_t p = job->first_pod; p < job->first_pod + job->n_pods; p++)
    n += world->session->pods[p].status == HR__KAI_RUNNING;
  return n;
}

bool hr__kai_confine(struct hr__kai_world *world, uint32_t slot, uint32_t pool) {
  const struct hr__kai_kind *kind = &world->kinds[world->kind_of[slot]];
  const struct hr__kai_job *job = &world->jobs[slot];
  if (world->n_pools < 2) return true;
  if (!kind->in_pool[pool]) {
    uint8_t *nodes;
    if (!HR__ARENA_ARRAY(world->arena, nodes, world->cluster.n_nodes)) return false;
    for (uint32_t n = 0; n < world->cluster.n_nodes; n++)
      nodes[n] = world->pool_of[n] == pool && (!kind->allowed_nodes || kind->allowed_nodes[n]);
    kind->in_pool[pool] = nodes;
  }
  for (uint32_t p = job->first_pod; p < job->first_pod + job->n_pods; p++)
    world->pods[p].allowed_nodes = kind->in_pool[pool];
  return true;
}

bool hr__kai_list_pending(struct hr__kai_world *world, uint32_t slot) {
  unlist_waiting(world, slot);
  return world->session->jobs[slot].n_pending == 0 || list_waiting(world, slot);
}

bool hr__kai_drop_evicted(struct hr__kai_world *world, uint32_t slot) {
  const struct hr__kai_job *job = &world->jobs[slot];
  for (uint32_t p = job->first_pod; p < job->first_pod + job->n_pods; p++)
    if (world->session->pods[p].status == HR__KAI_RELEASING)
      hr__kai_put(world->session, p, HR__KAI_PENDING, HR__KAI_NONE);
  return hr__kai_list_pending(world, slot);
}

void hr__kai_freeze(struct hr__kai_world *world, uint32_t slot) {
  const struct hr__kai_job *job = &world->jobs[slot];
  world->is_frozen[slot] = true;
  unlist_waiting(world, slot);
  for (uint32_t p = job->first_pod; p < job->first_pod + job->n_pods; p++)
    if (world->session->pods[p].status == HR__KAI_PENDING) hr__kai_put(world->session, p, HR__KAI_GATED, HR__KAI_NONE);
}

void hr__kai_freeze_node(struct hr__kai_world *world, uint32_t node) {
  for (uint32_t i = 0; i < world->n_running && world->resizes; i++) {
    const uint32_t slot = world->running[i];
    const struct hr__kai_job *job = &world->jobs[slot];
    bool is_there = false;
    for (uint32_t p = job->first_pod; p < job->first_pod + job->n_pods; p++)
      is_there = is_there || world->session->pods[p].node == (int64_t)node;
    if (is_there && hr__kai_resizes(world, slot)) hr__kai_freeze(world, slot);
  }
}

bool hr__kai_renew_kind(struct hr__kai_world *world, uint32_t slot, int64_t now_us) {
  struct hr__kai_admission admission;
  if (!hr__kai_admit(world, (hr_job){world->job_of[slot]}, now_us, &admission)) return false;
  if (admission.kind == world->kind_of[slot]) return true;
  unlist_waiting(world, slot);
  world->kind_of[slot] = admission.kind;
  world->groups[slot].constraint = world->kinds[admission.kind].constraint;
  return list_waiting(world, slot);
}

/* ---- Per-GPU allocation ------------------------------------------------------------------------- */

/*
 * The choice of GPUs for the pods of a job that starts.
 *
 * KAI chooses the nodes, and which pods share a GPU. A shared GPU of the session gets the number of a GPU of its node
 * (`physical`) when its first pod starts. The inventory contains the slices of all running jobs; the pods of a job are
 * placed one after another. Invariant: between two passes, the inventory is equal to that of the engine.
 */

bool hr__kai_gpus_create(struct hr__kai_world *world) {
  if (!hr_cluster_gpu_inventory(world->simulated)) return true;
  world->inventory = hr_gpu_inventory_create(world->arena, hr_cluster_spec_of(world->simulated),
                                             hr_cluster_requests(world->simulated));
  return world->inventory != NULL;
}

/* The set of GPUs of a node on which nothing runs. */
static uint64_t idle_gpus(const struct hr_gpu_inventory *inventory, uint32_t node) {
  uint64_t idle = 0;
  for (uint32_t g = 0; g < inventory->n_gpus[node]; g++)
    if (inventory->gpu_tasks[(size_t)node * inventory->max_gpus + g] == 0) idle |= UINT64_C(1) << g;
  return idle;
}

/* The set of GPUs of the node to which the shared GPUs of a pod belong; 0: they do not have room. A shared GPU without
   a number gets the first idle GPU. */
static uint64_t shared_gpus(struct hr__kai_world *world, uint32_t pod, const struct hr_request *request,
                            uint32_t node) {
  struct hr__kai_session *session = world->session;
  const uint64_t room = hr_gpu_inventory_fitting_gpus(world->inventory, request, (hr_node){node});
  uint64_t chosen = 0;
  for (int64_t i = 0; i < session->pods[pod].n_gpus; i++) {
    struct hr__kai_shared_gpu *shared = &session->shared[hr__kai_gpus_of(session, pod, 0)[i]];
    if (shared->physical < 0) {
      const uint64_t idle = idle_gpus(world->inventory, node) & room & ~chosen;
      if (!idle) return 0;
      for (shared->physical = 0; !(idle >> shared->physical & 1);) shared->physical++;
    }
    if (!(room >> shared->physical & 1)) return 0;
    chosen |= UINT64_C(1) << shared->physical;
  }
  return chosen;
}

/* Chooses the GPUs of a pod within the set `within`; 0: too few. */
static uint64_t choose(struct hr__kai_world *world, uint32_t pod, const struct hr_request *request, uint32_t node,
                       uint64_t within) {
  if (request->gpus == 0) return 0;
  const uint64_t gpus = world->pods[pod].kind == HR__KAI_FRACTION
                            ? shared_gpus(world, pod, request, node) & within
                            : hr_gpu_inventory_pick_of(world->inventory, request, (hr_node){node}, within);
  uint32_t n = 0;
  for (uint64_t left = gpus; left; left &= left - 1) n++;
  return n == request->gpus ? gpus : 0;
}

static void give_back(struct hr__kai_world *world, const struct hr_request *request, const struct hr_slice *slices,
                      uint32_t n) {
  while (n-- > 0) hr_gpu_inventory_undo(world->inventory, request, &slices[n]);
}

/* Places all pods of a job on GPUs within the set `within`. Returns whether all were placed; if not, nothing has
   changed. */
static bool place_within(struct hr__kai_world *world, uint32_t slot, uint64_t within, struct hr_slice *slices) {
  const struct hr__kai_job *job = &world->jobs[slot];
  const struct hr_request *request =
      &hr_cluster_requests(world->simulated)->request[world->kinds[world->kind_of[slot]].request];
  for (uint32_t i = 0; i < job->n_pods; i++) {
    const uint32_t node = (uint32_t)world->session->pods[job->first_pod + i].node;
    const uint64_t gpus = choose(world, job->first_pod + i, request, node, within);
    if (request->gpus > 0 && gpus == 0) {
      give_back(world, request, slices, i);
      return false;
    }
    slices[i] = hr_gpu_inventory_slice(world->inventory, request, (hr_node){node}, gpus);
    if (hr_gpu_inventory_refuse(world->inventory, request, &slices[i])) {
      give_back(world, request, slices, i);
      return false;
    }
    hr_gpu_inventory_take(world->inventory, request, &slices[i]);
  }
  return true;
}

bool hr__kai_gpus_place(struct hr__kai_world *world, uint32_t slot, struct hr_slice *slices) {
  const struct hr__kai_kind *kind = &world->kinds[world->kind_of[slot]];
  const uint32_t node = (uint32_t)world->session->pods[world->jobs[slot].first_pod].node;
  const struct hr_pool_spec *spec = hr_cluster_pool_spec(world->simulated, (hr_pool){world->pool_of[node]});
  const uint32_t group = hr_topology_gpus(&spec->topology, kind->tier, spec->gpus_per_node);
  const bool in_groups = kind->tier != HR_TIER_ANY && kind->tier < HR_TIER_NODE && group < spec->gpus_per_node;
  for (uint32_t first = 0; in_groups && first < spec->gpus_per_node; first += group)
    if (place_within(world, slot, ((UINT64_C(1) << group) - 1) << first, slices)) return true;
  return (!in_groups || kind->preferred) && place_within(world, slot, UINT64_MAX, slices);
}

void hr__kai_gpus_leave(struct hr__kai_world *world, hr_job job, const struct hr_placement *placement) {
  if (!world->inventory || !placement) return;
  const struct hr_requests *requests = hr_cluster_requests(world->simulated);
  const struct hr_request *request = &requests->request[requests->of_job[job.id]];
  for (uint32_t i = 0; i < placement->n_slices; i++)
    hr_gpu_inventory_give(world->inventory, request, &placement->slices[i]);
}
