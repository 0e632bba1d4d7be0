/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Statements, which are changes of a session that can be undone, and the counts of pods on nodes.
 *
 * Each change of a cell of the state is recorded with the former value of the cell (hr__kai_set). To undo a statement,
 * the former values are restored in reverse order. A statement also has a list of operations on pods; a commit makes
 * them final. Invariant: at a commit, the changes recorded since the last commit are exactly those of the statement.
 *
 * Source: KAI-Scheduler, framework/statement.
 */

#include "policies/kai/solver.h"

#include "policies/kai/session.h"

#include <math.h>

/* ---- Pods on nodes ---------------------------------------------------------------------------------- */

/*
 * Counts pods on nodes.
 *
 * A node has a vector of idle and a vector of releasing resources. The request of a releasing pod is subtracted from
 * the idle resources and added to the releasing ones; that of a pipelined pod is subtracted from the releasing ones. A
 * shared GPU has three numbers in MiB: used (by all pods), allocated (to pods that are not pipelined), and releasing
 * (by releasing pods, minus the requests of pipelined pods). When the first pod is placed on a shared GPU, one GPU is
 * subtracted from the idle whole GPUs. When all its pods are releasing, it counts as one releasing whole GPU. A pod
 * that is pipelined on such a GPU, or on a new one, subtracts one releasing whole GPU again. Invariant: if a pod is
 * counted and then uncounted, all numbers are as before. The last pod on a shared GPU is the only exception.
 *
 * Source: KAI-Scheduler, api/node_info (node_info and gpu_sharing_node_info).
 */

/* If a pod requests less than this, its request is negligible. Memory is in bytes, CPU in thousandths of a core. */
enum { LEAST_CPU = 10, LEAST_MEM = 10 * 1024 * 1024 };

/* ---- Pods on nodes: state --------------------------------------------------------------------------- */

void hr__kai_set(struct hr__kai_session *session, int64_t *cell, int64_t value) {
  if (*cell == value) return;
  if (!HR__ARENA_HAS_ROOM(session->arena, session->changes, session->n_changes, session->max_changes)) {
    session->no_memory = true;
    return;
  }
  session->changes[session->n_changes++] = (struct hr__kai_change){cell, *cell};
  *cell = value;
}

static void add(struct hr__kai_session *session, int64_t *cell, int64_t amount) {
  hr__kai_set(session, cell, *cell + amount);
}

static int64_t *length_of(struct hr__kai_session *session, uint32_t pod, int list) {
  struct hr__kai_pod_state *state = &session->pods[pod];
  return list == 0 ? &state->n_gpus : &state->n_gpus_on_node[list - 1];
}

/* Copies list `from` of the shared GPUs of a pod to list `to`. */
static void kai_copy_gpus(struct hr__kai_session *session, uint32_t pod, int to, int from) {
  const int64_t n = *length_of(session, pod, from);
  for (int64_t i = 0; i < n; i++)
    hr__kai_set(session, &hr__kai_gpus_of(session, pod, to)[i], hr__kai_gpus_of(session, pod, from)[i]);
  hr__kai_set(session, length_of(session, pod, to), n);
}

int64_t hr__kai_open_gpu(struct hr__kai_session *session, uint32_t node, bool reserved) {
  int64_t gpu = session->free_shared;
  if (gpu >= 0) {
    hr__kai_set(session, &session->free_shared, session->shared[gpu].next);
    hr__kai_set(session, &session->shared[gpu].next, -1);
    hr__kai_set(session, &session->shared[gpu].has_allocated, 0);
    session->shared[gpu].reserved = reserved;
    session->shared[gpu].physical = -1;
  } else if (session->n_shared < (int64_t)session->max_shared) {
    gpu = session->n_shared;
    session->shared[gpu] = (struct hr__kai_shared_gpu){.next = -1, .reserved = reserved, .physical = -1};
    hr__kai_set(session, &session->n_shared, gpu + 1);
  } else {
    session->no_memory = true;
    return -1;
  }
  int64_t *link = &session->first_shared[node];
  while (*link >= 0) link = &session->shared[*link].next;
  hr__kai_set(session, link, gpu);
  return gpu;
}

void hr__kai_free_gpu(struct hr__kai_session *session, int64_t gpu) {
  int64_t *link = &session->free_shared;
  while (*link >= 0 && *link < gpu) link = &session->shared[*link].next;
  session->shared[gpu].next = *link;
  *link = gpu;
}

/* ---- Pods on nodes: shared GPUs --------------------------------------------------------------------- */

static int64_t *releasing_gpus(const struct hr__kai_session *session, uint32_t node) {
  return &session->releasing[node * session->cluster->n_dims + HR__KAI_DIM_GPUS];
}

static int64_t *idle_gpus(const struct hr__kai_session *session, uint32_t node) {
  return &session->idle[node * session->cluster->n_dims + HR__KAI_DIM_GPUS];
}

/* The number of idle GPUs and of GPUs in use, whole or shared. */
static int64_t known_gpus(const struct hr__kai_session *session, uint32_t node) {
  int64_t n = *idle_gpus(session, node) + session->used_gpus[node];
  for (int64_t gpu = session->first_shared[node]; gpu >= 0; gpu = session->shared[gpu].next)
    n += session->shared[gpu].used > 0;
  return n;
}

/* Called after a whole GPU has become a shared GPU. Subtracts it from the idle GPUs if this has not been done. */
static void take_idle_gpu(struct hr__kai_session *session, uint32_t node) {
  if (session->cluster->nodes[node].n_gpus < known_gpus(session, node)) add(session, idle_gpus(session, node), -1);
}

static void return_idle_gpu(struct hr__kai_session *session, uint32_t node) {
  if (session->cluster->nodes[node].n_gpus >= known_gpus(session, node)) add(session, idle_gpus(session, node), 1);
}

static void mark_releasing(struct hr__kai_session *session, uint32_t node, int64_t gpu, bool releasing) {
  struct hr__kai_shared_gpu *shared = &session->shared[gpu];
  if ((shared->is_releasing != 0) == releasing) return;
  add(session, releasing_gpus(session, node), releasing ? 1 : -1);
  hr__kai_set(session, &shared->is_releasing, releasing);
}

static void allocate_shared(struct hr__kai_session *session, int64_t gpu, int64_t mib) {
  add(session, &session->shared[gpu].allocated, mib);
  hr__kai_set(session, &session->shared[gpu].has_allocated, 1);
}

static void share(struct hr__kai_session *session, uint32_t node, int64_t gpu, int64_t status, int64_t mib) {
  struct hr__kai_shared_gpu *shared = &session->shared[gpu];
  add(session, &shared->used, mib);
  if (status == HR__KAI_RELEASING) {
    add(session, &shared->releasing, mib);
    allocate_shared(session, gpu, mib);
    if (shared->used == shared->releasing) {
      mark_releasing(session, node, gpu, true);
      take_idle_gpu(session, node);
    }
  } else if (status == HR__KAI_PIPELINED) {
    add(session, &shared->releasing, -mib);
    if (shared->used - mib == shared->releasing + mib) add(session, releasing_gpus(session, node), -1);
  } else {
    allocate_shared(session, gpu, mib);
    if (shared->used <= mib) take_idle_gpu(session, node);
    mark_releasing(session, node, gpu, false);
  }
}

static void unshare(struct hr__kai_session *session, uint32_t node, int64_t gpu, int64_t status, int64_t mib) {
  struct hr__kai_shared_gpu *shared = &session->shared[gpu];
  add(session, &shared->used, -mib);
  if (status == HR__KAI_RELEASING) {
    add(session, &shared->releasing, -mib);
    allocate_shared(session, gpu, -mib);
    if (shared->used <= 0) {
      return_idle_gpu(session, node);
      mark_releasing(session, node, gpu, false);
    }
  } else if (status == HR__KAI_PIPELINED) {
    add(session, &shared->releasing, mib);
    const bool was_all = shared->used + mib == shared->releasing - mib;
    if (was_all || (shared->used == 0 && shared->releasing == 0)) add(session, releasing_gpus(session, node), 1);
  } else {
    allocate_shared(session, gpu, -mib);
    if (shared->used <= 0) return_idle_gpu(session, node);
    if (shared->used != 0 && shared->releasing == shared->used) mark_releasing(session, node, gpu, true);
  }
}

/* ---- Pods on nodes: counts -------------------------------------------------------------------------- */

/* Adds the resources of a pod to those that the node counts (`sign` 1), or subtracts them (`sign` -1). */
static void count(struct hr__kai_session *session, uint32_t pod, uint32_t node, int64_t status, int64_t sign) {
  const struct hr__kai_cluster *cluster = session->cluster;
  const int64_t *request = cluster->pods[pod].request;
  int64_t *idle = session->idle + node * cluster->n_dims, *releasing = session->releasing + node * cluster->n_dims;
  add(session, &session->used_gpus[node], sign * request[HR__KAI_DIM_GPUS]);
  for (uint32_t d = 0; d < cluster->n_dims; d++) {
    if (status != HR__KAI_PIPELINED) add(session, &idle[d], -sign * request[d]);
    if (status == HR__KAI_RELEASING) add(session, &releasing[d], sign * request[d]);
    if (status == HR__KAI_PIPELINED) add(session, &releasing[d], -sign * request[d]);
  }
}

/* Sets the amount that the pod counts for quotas on the node. As in KAI, this is not undone with a statement. */
static void accept(struct hr__kai_session *session, uint32_t pod, uint32_t node) {
  const struct hr__kai_pod *described = &session->cluster->pods[pod];
  int64_t gpus = described->quota.of[HR__KAI_GPU];
  if (described->kind == HR__KAI_MEMORY)
    gpus = hr__kai_hundredths(described->gpu_mib, session->cluster->nodes[node].gpu_mib) * (HR__KAI_GPU_UNIT / 100) *
           described->n_devices;
  session->pods[pod].accepted_gpus = gpus;
  session->pods[pod].accepted = true;
}

static void enter(struct hr__kai_session *session, uint32_t pod, uint32_t node, int entry) {
  struct hr__kai_pod_state *state = &session->pods[pod];
  accept(session, pod, node);
  hr__kai_set(session, &state->on_node[entry], node);
  hr__kai_set(session, &state->status_on_node[entry], state->status);
  count(session, pod, node, state->status, 1);
  if (!hr__kai_takes_parts(&session->cluster->pods[pod])) return;
  kai_copy_gpus(session, pod, 1 + entry, 0);
  const int64_t mib = hr__kai_mib_on(session, pod, node);
  for (int64_t i = 0; i < state->n_gpus; i++)
    share(session, node, hr__kai_gpus_of(session, pod, 0)[i], state->status, mib);
}

/* A pod on a node that is not in the cluster counts for its job, but on no node. */
void hr__kai_count_on(struct hr__kai_session *session, uint32_t pod, uint32_t node) {
  if (node >= session->cluster->n_nodes) return;
  int entry = 0;
  while (entry < HR__KAI_ENTRIES - 1 && session->pods[pod].on_node[entry] >= 0) entry++;
  enter(session, pod, node, entry);
}

/* Counts a pod that moves to other shared GPUs of its node. The shared GPUs that it releases stay counted. */
static void kai_count_moved(struct hr__kai_session *session, uint32_t pod, uint32_t node) {
  if (node >= session->cluster->n_nodes) return;
  enter(session, pod, node, hr__kai_entry_on(session, pod, node));
}

/* Stops counting a pod on a node. */
static void kai_uncount_on(struct hr__kai_session *session, uint32_t pod, uint32_t node) {
  struct hr__kai_pod_state *state = &session->pods[pod];
  const int entry = hr__kai_entry_on(session, pod, node);
  if (entry < 0) return;
  const int64_t status = state->status_on_node[entry];
  count(session, pod, node, status, -1);
  if (hr__kai_takes_parts(&session->cluster->pods[pod])) {
    const int64_t mib = hr__kai_mib_on(session, pod, node);
    for (int64_t i = 0; i < state->n_gpus_on_node[entry]; i++)
      unshare(session, node, hr__kai_gpus_of(session, pod, 1 + entry)[i], status, mib);
  }
  hr__kai_set(session, &state->on_node[entry], -1);
}

/* ---- Pods on nodes: fit ----------------------------------------------------------------------------- */

bool hr__kai_fits(const struct hr__kai_session *session, uint32_t pod, uint32_t node, bool releasing) {
  const struct hr__kai_cluster *cluster = session->cluster;
  const struct hr__kai_pod *described = &cluster->pods[pod];
  const int64_t *idle = session->idle + node * cluster->n_dims, *freed = session->releasing + node * cluster->n_dims;
  for (uint32_t d = 0; d < cluster->n_dims; d++) {
    /* A resource that is not requested does not matter, except CPU and memory, and GPUs unless they are shared. */
    const bool always = d < HR__KAI_DIM_PODS || (d == HR__KAI_DIM_GPUS && !hr__kai_takes_parts(described));
    if (!always && described->request[d] == 0) continue;
    if (described->request[d] > idle[d] + (releasing ? freed[d] : 0)) return false;
  }
  if (!hr__kai_takes_parts(described)) return true;
  int64_t portion = llround(described->portion * 100);
  if (described->kind == HR__KAI_MEMORY) portion = hr__kai_hundredths(described->gpu_mib, cluster->nodes[node].gpu_mib);
  if (portion > 100 && portion % 100 != 0) return false;
  const int64_t whole = idle[HR__KAI_DIM_GPUS] + (releasing ? freed[HR__KAI_DIM_GPUS] : 0);
  return whole + hr__kai_count_fitting(session, hr__kai_mib_on(session, pod, node), node) >= described->n_devices;
}

bool hr__kai_fits_now(const struct hr__kai_session *session, uint32_t pod, uint32_t node) {
  const struct hr__kai_pod *described = &session->cluster->pods[pod];
  if (described->kind != HR__KAI_MEMORY && described->request[HR__KAI_DIM_CPU] < LEAST_CPU &&
      described->request[HR__KAI_DIM_MEM] < LEAST_MEM && described->quota.of[HR__KAI_GPU] <= HR__KAI_GPU_UNIT / 100)
    return true;
  return hr__kai_fits(session, pod, node, false);
}

/* The number of GPUs in a vector of idle or releasing resources of a node: whole GPUs, plus the slices of MIG
   instances. */
static int64_t whole_and_instances(const struct hr__kai_session *session, const int64_t *amounts) {
  const struct hr__kai_cluster *cluster = session->cluster;
  int64_t gpus = amounts[HR__KAI_DIM_GPUS];
  for (uint32_t d = HR__KAI_DIM_MIG; d < cluster->n_dims; d++) gpus += amounts[d] * cluster->mig_slices[d];
  return gpus;
}

void hr__kai_free_gpus(const struct hr__kai_session *session, uint32_t node, double gpus[2], int64_t *mib) {
  const struct hr__kai_cluster *cluster = session->cluster;
  const int64_t gpu_mib = cluster->nodes[node].gpu_mib;
  const int64_t idle = whole_and_instances(session, session->idle + node * cluster->n_dims);
  const int64_t releasing = whole_and_instances(session, session->releasing + node * cluster->n_dims);
  double shared_idle = 0, shared_releasing = 0;
  *mib = (idle + releasing) * gpu_mib;
  for (int64_t gpu = session->first_shared[node]; gpu >= 0; gpu = session->shared[gpu].next) {
    const struct hr__kai_shared_gpu *shared = &session->shared[gpu];
    if (shared->allocated > 0) {
      shared_idle += 1 - (double)hr__kai_hundredths(shared->allocated, gpu_mib) / 100;
      *mib += gpu_mib - shared->allocated;
    }
    if (shared->releasing > 0 && shared->releasing != shared->used) {
      shared_releasing += (double)hr__kai_hundredths(shared->releasing, gpu_mib) / 100;
      *mib += shared->releasing;
    }
  }
  gpus[0] = shared_idle + (double)idle;
  gpus[1] = shared_releasing + (double)releasing;
}

/* ---- Statements ------------------------------------------------------------------------------------- */

/* Marks the cached values of a job as invalid. They are still invalid after the change is undone. */
static void forget_cache(struct hr__kai_session *session, struct hr__kai_job_state *job) {
  job->is_cached = 1;
  hr__kai_set(session, &job->is_cached, 0);
  if (session->n_changes > 0) session->changes[session->n_changes - 1].before = 0;
}

static void set_status(struct hr__kai_session *session, uint32_t pod, int64_t status) {
  const struct hr__kai_pod *described = &session->cluster->pods[pod];
  struct hr__kai_set_state *set = &session->sets[described->pod_set];
  struct hr__kai_job_state *job = &session->jobs[described->job];
  const int64_t before = session->pods[pod].status;
  const int active = hr__kai_is(status, HR__KAI_ACTIVE) - hr__kai_is(before, HR__KAI_ACTIVE);
  const int used = hr__kai_is(status, HR__KAI_USED) - hr__kai_is(before, HR__KAI_USED);
  const int holds = hr__kai_is(status, HR__KAI_HOLDING) - hr__kai_is(before, HR__KAI_HOLDING);
  add(session, &set->count[before], -1);
  add(session, &set->count[status], 1);
  add(session, &set->n_active, active);
  add(session, &set->n_used, used);
  add(session, &set->n_alive, hr__kai_is(status, HR__KAI_ALIVE) - hr__kai_is(before, HR__KAI_ALIVE));
  add(session, &job->n_active, active);
  add(session, &job->n_used, used);
  add(session, &job->n_pending, (status == HR__KAI_PENDING) - (before == HR__KAI_PENDING));
  for (int r = 0; r < HR__KAI_RESOURCES; r++) add(session, &job->allocated.of[r], holds * described->quota.of[r]);
  hr__kai_set(session, &session->pods[pod].status, status);
  forget_cache(session, job);
}

/* Adds the amounts of the pod to the allocations of its queue and all queues above it (`sign` 1), or subtracts them
   (`sign` -1). */
static void account(struct hr__kai_session *session, uint32_t pod, int64_t sign) {
  const struct hr__kai_cluster *cluster = session->cluster;
  const struct hr__kai_job *job = &cluster->jobs[cluster->pods[pod].job];
  const struct hr__kai_amounts amounts = hr__kai_accepted_of(session, pod);
  for (uint32_t q = job->queue; q != HR__KAI_NONE; q = cluster->queues[q].parent)
    for (int r = 0; r < HR__KAI_RESOURCES; r++) {
      struct hr__kai_share *share = &cluster->queues[q].share[r];
      add(session, &share->allocated, sign * amounts.of[r]);
      if (!job->preemptible) add(session, &share->allocated_non_preemptible, sign * amounts.of[r]);
    }
}

static void recount_on(struct hr__kai_session *session, uint32_t pod, uint32_t node) {
  if (hr__kai_entry_on(session, pod, node) >= 0) kai_uncount_on(session, pod, node);
  hr__kai_count_on(session, pod, node);
}

/* ---- Statements: operations ------------------------------------------------------------------------- */

static void append(struct hr__kai_session *session, enum hr__kai_operation_kind kind, uint32_t pod, uint32_t node) {
  struct hr__kai_operation *old = session->operations;
  const struct hr__kai_pod_state *state = &session->pods[pod];
  if (!HR__ARENA_HAS_ROOM(session->arena, session->operations, session->n_operations, session->max_operations)) {
    session->no_memory = true;
    return;
  }
  /* Recorded changes of `valid` point to the old list. They must point to the new one. */
  for (size_t i = 0; session->operations != old && i < session->n_changes; i++)
    for (int64_t j = 0; j < session->n_operations; j++)
      if (session->changes[i].cell == &old[j].valid) session->changes[i].cell = &session->operations[j].valid;
  session->operations[session->n_operations] =
      (struct hr__kai_operation){kind, pod, node, state->status, state->is_virtual, 1};
  hr__kai_set(session, &session->n_operations, session->n_operations + 1);
}

void hr__kai_evict(struct hr__kai_session *session, uint32_t pod) {
  struct hr__kai_pod_state *state = &session->pods[pod];
  const uint32_t node = (uint32_t)state->node;
  append(session, HR__KAI_EVICT, pod, node);
  set_status(session, pod, HR__KAI_RELEASING);
  recount_on(session, pod, node);
  account(session, pod, -1);
  hr__kai_set(session, &state->is_virtual, 1);
}

void hr__kai_bind(struct hr__kai_session *session, uint32_t pod, uint32_t node) {
  struct hr__kai_pod_state *state = &session->pods[pod];
  append(session, HR__KAI_BIND, pod, node);
  set_status(session, pod, HR__KAI_ALLOCATED);
  hr__kai_set(session, &state->node, node);
  hr__kai_count_on(session, pod, node);
  account(session, pod, 1);
  hr__kai_set(session, &state->is_virtual, 1);
}

/* Undoes the first eviction of the pod in this statement. Its shared GPUs are those of its entry on the node. */
static void undo_eviction(struct hr__kai_session *session, uint32_t pod) {
  struct hr__kai_pod_state *state = &session->pods[pod];
  for (int64_t i = 0; i < session->n_operations; i++) {
    struct hr__kai_operation *operation = &session->operations[i];
    if (operation->pod != pod || operation->kind != HR__KAI_EVICT || !operation->valid) continue;
    hr__kai_set(session, &operation->valid, 0);
    set_status(session, pod, operation->status_before);
    hr__kai_set(session, &state->is_virtual, operation->virtual_before);
    recount_on(session, pod, operation->node);
    account(session, pod, 1);
    return;
  }
}

/* Whether the pod gets other shared GPUs of the node (list 0) than those of its entry for the node. */
static bool gets_other_gpus(const struct hr__kai_session *session, uint32_t pod, int entry) {
  const struct hr__kai_pod_state *state = &session->pods[pod];
  if (!hr__kai_takes_parts(&session->cluster->pods[pod]) || state->n_gpus == 0) return false;
  if (state->n_gpus != state->n_gpus_on_node[entry]) return true;
  for (int64_t i = 0; i < state->n_gpus; i++)
    if (hr__kai_gpus_of(session, pod, 0)[i] != hr__kai_gpus_of(session, pod, 1 + entry)[i]) return true;
  return false;
}

void hr__kai_pipeline(struct hr__kai_session *session, uint32_t pod, uint32_t node) {
  struct hr__kai_pod_state *state = &session->pods[pod];
  const int entry = hr__kai_entry_on(session, pod, node);
  const bool moves = entry >= 0 && gets_other_gpus(session, pod, entry);
  if (entry >= 0 && !moves) {
    kai_copy_gpus(session, pod, 0, 1 + entry);
    undo_eviction(session, pod);
    return;
  }
  append(session, HR__KAI_PIPELINE, pod, node);
  set_status(session, pod, HR__KAI_PIPELINED);
  hr__kai_set(session, &state->node, node);
  if (moves)
    kai_count_moved(session, pod, node);
  else
    hr__kai_count_on(session, pod, node);
  account(session, pod, 1);
  hr__kai_set(session, &state->is_virtual, 1);
}

void hr__kai_pipeline_all(struct hr__kai_session *session, uint32_t job) {
  const int64_t n = session->n_operations;
  for (int64_t i = 0; i < n; i++) {
    struct hr__kai_operation *operation = &session->operations[i];
    const uint32_t pod = operation->pod, node = operation->node;
    if (operation->kind != HR__KAI_BIND || !operation->valid || session->cluster->pods[pod].job != job) continue;
    hr__kai_set(session, &operation->valid, 0);
    set_status(session, pod, HR__KAI_PENDING);
    kai_uncount_on(session, pod, node);
    account(session, pod, -1);
    hr__kai_pipeline(session, pod, node);
  }
}

/* Stores the first committed operation of a pod until the session ends. */
static void log_operation(struct hr__kai_session *session, const struct hr__kai_operation *operation) {
  if (session->pods[operation->pod].is_logged) return;
  session->pods[operation->pod].is_logged = true;
  if (!HR__ARENA_HAS_ROOM(session->arena, session->log, session->n_log, session->max_log)) {
    session->no_memory = true;
    return;
  }
  session->log[session->n_log++] = *operation;
}

/* If the cluster has a list of running jobs, and a job with a pipelined pod is not in it, adds the job to `hopeful`. */
static void list_hopeful(struct hr__kai_session *session, uint32_t job) {
  const struct hr__kai_cluster *cluster = session->cluster;
  if (!cluster->running || cluster->is_running[job] || session->jobs[job].is_hopeful) return;
  session->jobs[job].is_hopeful = true;
  session->hopeful[session->n_hopeful++] = job;
}

void hr__kai_commit(struct hr__kai_session *session) {
  for (int64_t i = 0; i < session->n_operations; i++) {
    const struct hr__kai_operation *operation = &session->operations[i];
    if (!operation->valid) continue;
    log_operation(session, operation);
    if (operation->kind == HR__KAI_EVICT) {
      session->pods[operation->pod].is_virtual = 0;
      session->jobs[session->cluster->pods[operation->pod].job].is_cached = 0;
      session->n_evicted++;
    } else if (operation->kind == HR__KAI_PIPELINE) {
      session->n_pipelined++;
      list_hopeful(session, session->cluster->pods[operation->pod].job);
    } else {
      set_status(session, operation->pod, HR__KAI_BINDING);
      session->n_bound++;
    }
  }
  session->n_operations = 0;
  session->n_changes = 0;
}

void hr__kai_evict_now(struct hr__kai_session *session, uint32_t pod) {
  set_status(session, pod, HR__KAI_RELEASING);
  recount_on(session, pod, (uint32_t)session->pods[pod].node);
  account(session, pod, -1);
  session->n_evicted++;
  session->n_changes = 0;
}

/* ---- Statements: a session that lasts --------------------------------------------------------------- */

bool hr__kai_session_extend(struct hr__kai_session *session, uint32_t job, bool is_new) {
  const struct hr__kai_cluster *cluster = session->cluster;
  const struct hr__kai_job *described = &cluster->jobs[job];
  uint32_t n_devices = session->n_devices;
  for (uint32_t p = described->first_pod; p < described->first_pod + described->n_pods; p++) {
    if (is_new) session->first_gpu[p] = n_devices;
    if (is_new) n_devices += (1 + HR__KAI_ENTRIES) * cluster->pods[p].n_devices;
    session->pods[p] = (struct hr__kai_pod_state){.status = HR__KAI_DELETED, .node = -1};
    for (int i = 0; i < HR__KAI_ENTRIES; i++) session->pods[p].on_node[i] = -1;
  }
  if (n_devices > (1 + HR__KAI_ENTRIES) * cluster->room_devices) return n_devices == session->n_devices;
  session->n_devices = n_devices;
  session->jobs[job] = (struct hr__kai_job_state){.n_pending = 0};
  for (uint32_t s = described->first_set; s < described->first_set + described->n_sets; s++) {
    session->sets[s] = (struct hr__kai_set_state){.n_active = 0};
    session->sets[s].count[HR__KAI_DELETED] = cluster->sets[s].n_pods;
  }
  return true;
}

/* Adds what a pod holds (`holds`) or requests to the requests of its queues (`sign` 1), or subtracts it (`sign` -1). */
static void count_request(struct hr__kai_session *session, uint32_t pod, bool holds, int64_t sign) {
  const struct hr__kai_cluster *cluster = session->cluster;
  const struct hr__kai_amounts amounts = holds ? hr__kai_accepted_of(session, pod) : hr__kai_request_of(cluster, pod);
  for (uint32_t q = cluster->jobs[cluster->pods[pod].job].queue; q != HR__KAI_NONE; q = cluster->queues[q].parent)
    for (int r = 0; r < HR__KAI_RESOURCES; r++) cluster->queues[q].share[r].request += sign * amounts.of[r];
}

void hr__kai_count_share(struct hr__kai_session *session, uint32_t pod, int64_t sign) {
  const bool holds = hr__kai_is(session->pods[pod].status, HR__KAI_HOLDING);
  if (!holds && session->pods[pod].status != HR__KAI_PENDING) return;
  if (holds) account(session, pod, sign);
  count_request(session, pod, holds, sign);
}

/* Removes the shared GPUs of a node that no pod uses any more. */
static void drop_unused_gpus(struct hr__kai_session *session, uint32_t node) {
  int64_t *link = &session->first_shared[node];
  while (*link >= 0) {
    const int64_t gpu = *link;
    struct hr__kai_shared_gpu *shared = &session->shared[gpu];
    if (shared->used != 0 || shared->allocated != 0 || shared->releasing != 0) {
      shared->reserved = true;
      link = &shared->next;
      continue;
    }
    *link = shared->next;
    hr__kai_free_gpu(session, gpu);
  }
}

/* Stops counting the pod on all nodes. */
static void uncount(struct hr__kai_session *session, uint32_t pod) {
  for (int i = 0; i < HR__KAI_ENTRIES; i++) {
    const int64_t node = session->pods[pod].on_node[i];
    if (node < 0) continue;
    kai_uncount_on(session, pod, (uint32_t)node);
    drop_unused_gpus(session, (uint32_t)node);
  }
}

/* Sets the status and the node of a pod that no node counts. */
static void place_again(struct hr__kai_session *session, uint32_t pod, enum hr__kai_status status, uint32_t node) {
  struct hr__kai_pod_state *state = &session->pods[pod];
  set_status(session, pod, status);
  state->is_virtual = 0;
  state->node = node == HR__KAI_NONE ? -1 : (int64_t)node;
  if (node != HR__KAI_NONE && hr__kai_is(status, HR__KAI_USED) && !session->is_recounted[node])
    hr__kai_count_on(session, pod, node);
  hr__kai_count_share(session, pod, 1);
  session->n_changes = 0;
}

void hr__kai_put(struct hr__kai_session *session, uint32_t pod, enum hr__kai_status status, uint32_t node) {
  hr__kai_count_share(session, pod, -1);
  uncount(session, pod);
  place_again(session, pod, status, node);
}

void hr__kai_add_capacity(struct hr__kai_session *session, uint32_t node, uint32_t dim, int64_t more) {
  const struct hr__kai_cluster *cluster = session->cluster;
  session->idle[(size_t)node * cluster->n_dims + dim] += more;
  if (dim == HR__KAI_DIM_CPU) session->total.of[HR__KAI_CPU] += more;
  if (dim == HR__KAI_DIM_MEM) session->total.of[HR__KAI_MEM] += more;
  if (dim == HR__KAI_DIM_GPUS) session->total.of[HR__KAI_GPU] += more * HR__KAI_GPU_UNIT;
  if (dim >= HR__KAI_DIM_MIG) session->total.of[HR__KAI_GPU] += more * cluster->mig_slices[dim] * HR__KAI_GPU_UNIT;
}

void hr__kai_set_allocatable(struct hr__kai_session *session, struct hr__kai_node *node, const int64_t *allocatable) {
  const struct hr__kai_cluster *cluster = session->cluster;
  for (uint32_t d = 0; d < cluster->n_dims; d++)
    hr__kai_add_capacity(session, (uint32_t)(node - cluster->nodes), d, allocatable[d] - node->allocatable[d]);
  node->allocatable = allocatable;
  session->n_divisions++;
}

void hr__kai_divide_again(struct hr__kai_session *session) {
  const struct hr__kai_cluster *cluster = session->cluster;
  session->n_divisions++;
  for (uint32_t q = 0; q < cluster->n_queues; q++)
    for (int r = 0; r < HR__KAI_RESOURCES; r++) cluster->queues[q].share[r].fair = 0;
  hr__kai_divide_tree(cluster->queues, cluster->n_queues, &session->total, cluster->config.k_value, session->ids,
                      session->remainders);
}

/* Ends the session for a pod. `before`: its status when the session began. */
static void settle_pod(struct hr__kai_session *session, uint32_t pod, int64_t before) {
  struct hr__kai_pod_state *state = &session->pods[pod];
  const bool held = hr__kai_is(before, HR__KAI_HOLDING);
  count_request(session, pod, held, -1);
  if (hr__kai_is(state->status, HR__KAI_ACTIVE)) account(session, pod, -1);
  enum hr__kai_status status = HR__KAI_PENDING;
  uint32_t node = HR__KAI_NONE;
  if (state->status == HR__KAI_BINDING || (held && state->status == HR__KAI_RUNNING)) {
    status = HR__KAI_RUNNING;
    node = (uint32_t)state->node;
  }
  for (int i = 0; held && status == HR__KAI_PENDING && i < HR__KAI_ENTRIES; i++) {
    if (state->on_node[i] < 0 || state->status_on_node[i] != HR__KAI_RELEASING) continue;
    status = HR__KAI_RELEASING;
    node = (uint32_t)state->on_node[i];
    kai_copy_gpus(session, pod, 0, 1 + i);
  }
  for (int i = 0; i < HR__KAI_ENTRIES; i++)
    if (state->on_node[i] >= 0 && !session->is_recounted[state->on_node[i]])
      kai_uncount_on(session, pod, (uint32_t)state->on_node[i]);
  for (int i = 0; i < HR__KAI_ENTRIES; i++) state->on_node[i] = -1;
  place_again(session, pod, status, node);
}

/* Marks the nodes with shared GPUs that the session has changed. The counts of pipelined pods on them depend on the
   order in which pods were counted and uncounted, so all pods of these nodes are counted again. */
static void mark_recounted(struct hr__kai_session *session) {
  for (uint32_t n = 0; n < session->cluster->n_nodes; n++) session->is_recounted[n] = 0;
  for (size_t i = 0; i < session->n_log; i++)
    for (int entry = 0; entry < HR__KAI_ENTRIES; entry++) {
      const int64_t node = session->pods[session->log[i].pod].on_node[entry];
      if (node >= 0 && session->first_shared[node] >= 0) session->is_recounted[node] = 1;
    }
}

static void empty_node(struct hr__kai_session *session, uint32_t node) {
  const struct hr__kai_cluster *cluster = session->cluster;
  for (uint32_t d = 0; d < cluster->n_dims; d++) {
    session->idle[(size_t)node * cluster->n_dims + d] = cluster->nodes[node].allocatable[d];
    session->releasing[(size_t)node * cluster->n_dims + d] = 0;
  }
  session->used_gpus[node] = 0;
  for (int64_t gpu = session->first_shared[node]; gpu >= 0; gpu = session->shared[gpu].next) {
    struct hr__kai_shared_gpu *shared = &session->shared[gpu];
    shared->used = shared->releasing = shared->allocated = shared->has_allocated = shared->is_releasing = 0;
  }
}

static void count_again(struct hr__kai_session *session) {
  const struct hr__kai_cluster *cluster = session->cluster;
  const struct hr__kai_job_list running = hr__kai_running(cluster);
  for (uint32_t n = 0; n < cluster->n_nodes; n++)
    if (session->is_recounted[n]) empty_node(session, n);
  for (uint32_t i = 0; i < running.n; i++) {
    const struct hr__kai_job *job = &cluster->jobs[hr__kai_listed(&running, i)];
    for (uint32_t p = job->first_pod; p < job->first_pod + job->n_pods; p++) {
      struct hr__kai_pod_state *state = &session->pods[p];
      if (state->node < 0 || !session->is_recounted[state->node] || !hr__kai_is(state->status, HR__KAI_USED)) continue;
      for (int entry = 0; entry < HR__KAI_ENTRIES; entry++) state->on_node[entry] = -1;
      hr__kai_count_on(session, p, (uint32_t)state->node);
      session->n_changes = 0;
    }
  }
  for (uint32_t n = 0; n < cluster->n_nodes; n++) {
    if (session->is_recounted[n]) drop_unused_gpus(session, n);
    session->is_recounted[n] = 0;
  }
}

void hr__kai_settle(struct hr__kai_session *session) {
  bool some_shared = false;
  for (uint32_t n = 0; n < session->cluster->n_nodes && session->n_log > 0 && !some_shared; n++)
    some_shared = session->first_shared[n] >= 0;
  if (some_shared) mark_recounted(session);
  for (size_t i = 0; i < session->n_log; i++) {
    settle_pod(session, session->log[i].pod, session->log[i].status_before);
    session->pods[session->log[i].pod].is_logged = false;
  }
  if (some_shared) count_again(session);
  while (session->n_hopeful > 0) session->jobs[session->hopeful[--session->n_hopeful]].is_hopeful = false;
  session->n_log = 0;
  session->n_changes = 0;
}
