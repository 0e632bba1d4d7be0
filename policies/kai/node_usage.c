/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Counts pods on nodes.
 *
 * A node has vectors of idle and of releasing resources. A pod that is released counts as releasing and no longer as
 * idle; a pipelined pod takes from what is releasing. A shared GPU has three numbers in MiB: used (all pods), allocated
 * (pods that hold it), and releasing (minus what pipelined pods wait for). It takes one whole GPU from the idle ones
 * when the first pod is placed on it. When all its pods are releasing, it counts as one releasing whole GPU; a pod that
 * is pipelined onto it, or onto a new one, takes one back. Invariant: after a pod is counted and no longer counted, all
 * numbers are as before, unless it was the last on a shared GPU.
 *
 * Source: KAI-Scheduler, api/node_info (node_info and gpu_sharing_node_info).
 */

#include "policies/kai/node_usage.h"

#include <math.h>

/* Below this, a pod counts as one without a request. */
enum { LEAST_CPU = 10, LEAST_MEM = 10 * 1024 * 1024 };

/* ---- State ---- */

static bool grow_changes(struct hr__kai_session *session) {
  const size_t capacity = 2 * session->max_changes;
  struct hr__kai_change *changes = hr_arena_alloc(session->arena, capacity * sizeof *changes);
  if (!changes) {
    session->no_memory = true;
    return false;
  }
  for (size_t i = 0; i < session->n_changes; i++) changes[i] = session->changes[i];
  session->changes = changes;
  session->max_changes = capacity;
  return true;
}

void hr__kai_set(struct hr__kai_session *session, int64_t *cell, int64_t value) {
  if (*cell == value) return;
  if (session->n_changes == session->max_changes && !grow_changes(session)) return;
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

void hr__kai_copy_gpus(struct hr__kai_session *session, uint32_t pod, int to, int from) {
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

/* ---- Shared GPUs ---- */

static int64_t *releasing_gpus(const struct hr__kai_session *session, uint32_t node) {
  return &session->releasing[node * session->cluster->n_dims + HR__KAI_DIM_GPUS];
}

static int64_t *idle_gpus(const struct hr__kai_session *session, uint32_t node) {
  return &session->idle[node * session->cluster->n_dims + HR__KAI_DIM_GPUS];
}

/* Idle GPUs and GPUs in use, whole or shared. */
static int64_t known_gpus(const struct hr__kai_session *session, uint32_t node) {
  int64_t n = *idle_gpus(session, node) + session->used_gpus[node];
  for (int64_t gpu = session->first_shared[node]; gpu >= 0; gpu = session->shared[gpu].next)
    n += session->shared[gpu].used > 0;
  return n;
}

/* A whole GPU became a shared one, unless that is already counted. */
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

/* ---- Pods on nodes ---- */

/* Adds the pod's resources to the node (`sign` 1), or takes them away (`sign` -1). */
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

static bool shares_gpus(const struct hr__kai_pod *pod) {
  return pod->kind == HR__KAI_FRACTION || pod->kind == HR__KAI_MEMORY;
}

/* What the pod counts for quotas on the node. As in KAI, this stays if a statement is undone. */
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
  if (!shares_gpus(&session->cluster->pods[pod])) return;
  hr__kai_copy_gpus(session, pod, 1 + entry, 0);
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

void hr__kai_count_moved(struct hr__kai_session *session, uint32_t pod, uint32_t node) {
  if (node >= session->cluster->n_nodes) return;
  enter(session, pod, node, hr__kai_entry_on(session, pod, node));
}

void hr__kai_uncount_on(struct hr__kai_session *session, uint32_t pod, uint32_t node) {
  struct hr__kai_pod_state *state = &session->pods[pod];
  const int entry = hr__kai_entry_on(session, pod, node);
  if (entry < 0) return;
  const int64_t status = state->status_on_node[entry];
  count(session, pod, node, status, -1);
  if (shares_gpus(&session->cluster->pods[pod])) {
    const int64_t mib = hr__kai_mib_on(session, pod, node);
    for (int64_t i = 0; i < state->n_gpus_on_node[entry]; i++)
      unshare(session, node, hr__kai_gpus_of(session, pod, 1 + entry)[i], status, mib);
  }
  hr__kai_set(session, &state->on_node[entry], -1);
}

/* ---- Fit ---- */

bool hr__kai_fits(const struct hr__kai_session *session, uint32_t pod, uint32_t node, bool releasing) {
  const struct hr__kai_cluster *cluster = session->cluster;
  const struct hr__kai_pod *described = &cluster->pods[pod];
  const int64_t *idle = session->idle + node * cluster->n_dims, *freed = session->releasing + node * cluster->n_dims;
  for (uint32_t d = 0; d < cluster->n_dims; d++) {
    /* A resource that is not requested does not matter, except CPU and memory, and GPUs unless they are shared. */
    const bool always = d < HR__KAI_DIM_PODS || (d == HR__KAI_DIM_GPUS && !shares_gpus(described));
    if (!always && described->request[d] == 0) continue;
    if (described->request[d] > idle[d] + (releasing ? freed[d] : 0)) return false;
  }
  if (!shares_gpus(described)) return true;
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

/* GPUs of a node that are idle or releasing: whole ones and MIG instances. */
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
