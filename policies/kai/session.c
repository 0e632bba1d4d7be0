/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Creates a session: counts the pods on their nodes, sums what queues hold and request, and divides the cluster.
 *
 * Invariant: the counts of pod sets and jobs agree with the statuses of the pods; a node counts the pods that are used.
 *
 * Source: KAI-Scheduler, framework/session, plugins/proportion and api/podgroup_info.
 */

#include "policies/kai/session.h"

#include "policies/kai/node_usage.h"

enum { FIRST_CHANGES = 1024, FIRST_OPERATIONS = 64 };

struct hr__kai_config hr__kai_default_config(void) {
  return (struct hr__kai_config){.proportion = true,
                                 .priority = true,
                                 .elastic = true,
                                 .predicates = true,
                                 .node_availability = true,
                                 .gpu_sharing_order = true,
                                 .gpu_pack = true,
                                 .resource_type = true,
                                 .pod_set_order = true,
                                 .task_order = true,
                                 .topology = true,
                                 .min_runtime = true,
                                 .allow_consolidating_reclaim = true,
                                 .gpu_placement = HR__KAI_BINPACK,
                                 .cpu_placement = HR__KAI_BINPACK,
                                 .reclaim_method = HR_KAI_RECLAIM_LCA,
                                 .max_consolidation_victims = -1,
                                 .min_gpu_mib = 100,
                                 .k_value = 1,
                                 .saturation_multiplier = 1};
}

struct hr__kai_amounts hr__kai_request_of(const struct hr__kai_cluster *cluster, uint32_t pod) {
  struct hr__kai_amounts amounts = cluster->pods[pod].quota;
  if (cluster->pods[pod].kind == HR__KAI_MEMORY && cluster->config.min_gpu_mib > 0)
    amounts.of[HR__KAI_GPU] +=
        cluster->pods[pod].n_devices * cluster->pods[pod].gpu_mib * HR__KAI_GPU_UNIT / cluster->config.min_gpu_mib;
  return amounts;
}

/* ---- Memory ---- */

static void *alloc(struct hr__kai_session *session, size_t n, size_t bytes) {
  void *memory = hr_arena_alloc(session->arena, (n ? n : 1) * bytes);
  if (!memory) session->no_memory = true;
  return memory;
}

static uint32_t larger(uint32_t a, uint32_t b) {
  return a > b ? a : b;
}

/* Allocates the lists of shared GPUs: each pod has several, for as many GPUs as it requests parts of. */
static void allocate_gpus(struct hr__kai_session *session, const struct hr__kai_start *start) {
  const struct hr__kai_cluster *cluster = session->cluster;
  uint32_t n = 0, n_shared = 0;
  session->first_gpu = alloc(session, cluster->n_pods, sizeof *session->first_gpu);
  if (!session->first_gpu) return;
  for (uint32_t p = 0; p < cluster->n_pods; p++) {
    session->first_gpu[p] = n;
    n += (1 + HR__KAI_ENTRIES) * cluster->pods[p].n_devices;
    n_shared += HR__KAI_ENTRIES * cluster->pods[p].n_devices;
    for (uint32_t i = 0; i < start[p].n_gpus; i++)
      if (start[p].gpus[i] >= session->max_shared) session->max_shared = start[p].gpus[i] + 1;
  }
  session->n_shared = session->max_shared;
  session->max_shared = larger(session->max_shared + n_shared, cluster->room_shared);
  session->n_devices = n;
  session->gpus = alloc(session, larger(n, (1 + HR__KAI_ENTRIES) * cluster->room_devices), sizeof *session->gpus);
  session->shared = alloc(session, session->max_shared, sizeof *session->shared);
}

static void allocate_state(struct hr__kai_session *session) {
  const struct hr__kai_cluster *cluster = session->cluster;
  const size_t cells = (size_t)cluster->n_nodes * cluster->n_dims;
  session->idle = alloc(session, cells, sizeof *session->idle);
  session->releasing = alloc(session, cells, sizeof *session->releasing);
  session->used_gpus = alloc(session, cluster->n_nodes, sizeof *session->used_gpus);
  session->first_shared = alloc(session, cluster->n_nodes, sizeof *session->first_shared);
  session->pods = alloc(session, cluster->n_pods, sizeof *session->pods);
  session->sets = alloc(session, cluster->n_sets, sizeof *session->sets);
  session->jobs = alloc(session, cluster->n_jobs, sizeof *session->jobs);
  session->is_recounted = alloc(session, cluster->n_nodes, sizeof *session->is_recounted);
  session->hopeful = alloc(session, cluster->n_jobs, sizeof *session->hopeful);
  session->ids = alloc(session, cluster->n_queues, sizeof *session->ids);
  session->remainders = alloc(session, cluster->n_queues, sizeof *session->remainders);
  session->max_changes = FIRST_CHANGES;
  session->changes = alloc(session, session->max_changes, sizeof *session->changes);
  session->max_operations = FIRST_OPERATIONS;
  session->operations = alloc(session, session->max_operations, sizeof *session->operations);
}

/* ---- Start ---- */

static void start_nodes(struct hr__kai_session *session) {
  const struct hr__kai_cluster *cluster = session->cluster;
  for (uint32_t n = 0; n < cluster->n_nodes; n++) {
    const int64_t *allocatable = cluster->nodes[n].allocatable;
    session->first_shared[n] = -1;
    for (uint32_t d = 0; d < cluster->n_dims; d++) session->idle[n * cluster->n_dims + d] = allocatable[d];
    session->total.of[HR__KAI_CPU] += allocatable[HR__KAI_DIM_CPU];
    session->total.of[HR__KAI_MEM] += allocatable[HR__KAI_DIM_MEM];
    session->total.of[HR__KAI_GPU] += allocatable[HR__KAI_DIM_GPUS] * HR__KAI_GPU_UNIT;
    for (uint32_t d = HR__KAI_DIM_MIG; d < cluster->n_dims; d++)
      session->total.of[HR__KAI_GPU] += allocatable[d] * cluster->mig_slices[d] * HR__KAI_GPU_UNIT;
  }
}

/* Puts the shared GPUs that pods are on into the lists of their nodes. */
static void start_shared(struct hr__kai_session *session, const struct hr__kai_start *start) {
  const struct hr__kai_cluster *cluster = session->cluster;
  for (int64_t g = 0; g < session->n_shared; g++) session->shared[g] = (struct hr__kai_shared_gpu){.next = -2};
  for (uint32_t p = 0; p < cluster->n_pods; p++) {
    if (start[p].node == HR__KAI_NONE || !hr__kai_is(start[p].status, HR__KAI_USED)) continue;
    for (uint32_t i = 0; i < start[p].n_gpus; i++) {
      struct hr__kai_shared_gpu *shared = &session->shared[start[p].gpus[i]];
      if (shared->next != -2) continue;
      *shared = (struct hr__kai_shared_gpu){.next = -1, .reserved = true};
      int64_t *link = &session->first_shared[start[p].node];
      while (*link >= 0) link = &session->shared[*link].next;
      *link = start[p].gpus[i];
    }
  }
}

static void start_pod(struct hr__kai_session *session, uint32_t pod, const struct hr__kai_start *start) {
  const struct hr__kai_pod *described = &session->cluster->pods[pod];
  struct hr__kai_pod_state *state = &session->pods[pod];
  *state = (struct hr__kai_pod_state){.status = start->status,
                                      .node = start->node == HR__KAI_NONE ? -1 : (int64_t)start->node};
  for (int i = 0; i < HR__KAI_ENTRIES; i++) state->on_node[i] = -1;
  for (uint32_t i = 0; i < start->n_gpus && i < described->n_devices; i++)
    hr__kai_gpus_of(session, pod, 0)[state->n_gpus++] = start->gpus[i];
  if (start->node != HR__KAI_NONE && hr__kai_is(start->status, HR__KAI_USED))
    hr__kai_count_on(session, pod, start->node);

  if (described->job == HR__KAI_NONE) return;
  struct hr__kai_set_state *set = &session->sets[described->pod_set];
  struct hr__kai_job_state *job = &session->jobs[described->job];
  set->count[start->status]++;
  set->n_active += hr__kai_is(start->status, HR__KAI_ACTIVE);
  set->n_used += hr__kai_is(start->status, HR__KAI_USED);
  set->n_alive += hr__kai_is(start->status, HR__KAI_ALIVE);
  job->n_active += hr__kai_is(start->status, HR__KAI_ACTIVE);
  job->n_used += hr__kai_is(start->status, HR__KAI_USED);
  job->n_pending += start->status == HR__KAI_PENDING;
  job->n_succeeded += start->status == HR__KAI_SUCCEEDED;
  if (hr__kai_is(start->status, HR__KAI_HOLDING)) hr__kai_add(&job->allocated, &described->quota);
}

/* Adds what the pod holds or requests to its queue and all queues above it. */
static void start_share(struct hr__kai_session *session, uint32_t pod) {
  const struct hr__kai_cluster *cluster = session->cluster;
  const struct hr__kai_job *job = &cluster->jobs[cluster->pods[pod].job];
  const int64_t status = session->pods[pod].status;
  const bool holds = hr__kai_is(status, HR__KAI_HOLDING);
  if (!holds && status != HR__KAI_PENDING) return;
  const struct hr__kai_amounts amounts = holds ? hr__kai_accepted_of(session, pod) : hr__kai_request_of(cluster, pod);
  for (uint32_t q = job->queue; q != HR__KAI_NONE; q = cluster->queues[q].parent) {
    for (int r = 0; r < HR__KAI_RESOURCES; r++) {
      struct hr__kai_share *share = &cluster->queues[q].share[r];
      share->request += amounts.of[r];
      if (holds) share->allocated += amounts.of[r];
      if (holds && !job->preemptible) share->allocated_non_preemptible += amounts.of[r];
    }
  }
}

static void start_queues(struct hr__kai_session *session) {
  const struct hr__kai_cluster *cluster = session->cluster;
  for (uint32_t q = 0; q < cluster->n_queues; q++)
    for (int r = 0; r < HR__KAI_RESOURCES; r++) {
      struct hr__kai_share *share = &cluster->queues[q].share[r];
      share->fair = share->allocated = share->allocated_non_preemptible = share->request = 0;
    }
  for (uint32_t p = 0; p < cluster->n_pods; p++)
    if (cluster->pods[p].job != HR__KAI_NONE && cluster->jobs[cluster->pods[p].job].queue != HR__KAI_NONE)
      start_share(session, p);
  hr__kai_divide_tree(cluster->queues, cluster->n_queues, &session->total, cluster->config.k_value, session->ids,
                      session->remainders);
}

struct hr__kai_session *hr__kai_session_create(struct hr_arena *arena, const struct hr__kai_cluster *cluster,
                                               const struct hr__kai_start *start) {
  struct hr__kai_session *session = hr_arena_alloc(arena, sizeof *session);
  if (!session) return NULL;
  *session = (struct hr__kai_session){.arena = arena, .cluster = cluster, .part_job = HR__KAI_NONE, .free_shared = -1};
  allocate_gpus(session, start);
  allocate_state(session);
  if (session->no_memory) return NULL;
  start_nodes(session);
  start_shared(session, start);
  for (uint32_t i = 0; i < cluster->n_pods; i++) {
    const uint32_t pod = cluster->start_order ? cluster->start_order[i] : i;
    start_pod(session, pod, &start[pod]);
  }
  start_queues(session);
  session->n_changes = 0;
  return session->no_memory ? NULL : session;
}

/* ---- Checked mode ------------------------------------------------------------------------------- */

/*
 * Checks a session: the counts of pod sets and jobs, what nodes count, what queues hold, and that gangs are complete.
 *
 * All sums are computed again from the states of the pods. A node counts the pods that have an entry for it; its GPUs
 * are compared only if it has no shared ones. Pods that were bound in the session belong to pod sets that run at least
 * their minimum. A node gives no more than it has, unless it counts pods that are counted by other nodes too: KAI
 * places such a pod back without a check. A node without pods in its description has left; its pods may still be there.
 */

static const char *check_sets(const struct hr__kai_session *session) {
  const struct hr__kai_cluster *cluster = session->cluster;
  for (uint32_t s = 0; s < cluster->n_sets; s++) {
    const struct hr__kai_set_state *set = &session->sets[s];
    int64_t count[HR__KAI_N_STATUSES] = {0}, n_active = 0, n_used = 0;
    for (uint32_t i = 0; i < cluster->sets[s].n_pods; i++) {
      const int64_t status = session->pods[cluster->pods_of_sets[cluster->sets[s].first_pod + i]].status;
      count[status]++;
      n_active += hr__kai_is(status, HR__KAI_ACTIVE);
      n_used += hr__kai_is(status, HR__KAI_USED);
    }
    for (int i = 0; i < HR__KAI_N_STATUSES; i++)
      if (count[i] != set->count[i]) return "a pod set counts its pods by status";
    if (n_active != set->n_active || n_used != set->n_used) return "a pod set counts its active and used pods";
    if (count[HR__KAI_ALLOCATED] > 0) return "no pod is allocated without being bound";
    if (count[HR__KAI_BINDING] > 0 && n_active < cluster->sets[s].min_available) return "bound gangs are complete";
  }
  return NULL;
}

static const char *check_jobs(const struct hr__kai_session *session) {
  const struct hr__kai_cluster *cluster = session->cluster;
  for (uint32_t j = 0; j < cluster->n_jobs; j++) {
    struct hr__kai_amounts allocated = {{0}};
    int64_t n_pending = 0;
    const struct hr__kai_job *job = &cluster->jobs[j];
    for (uint32_t p = job->first_pod; p < job->first_pod + job->n_pods; p++) {
      n_pending += session->pods[p].status == HR__KAI_PENDING;
      if (hr__kai_is(session->pods[p].status, HR__KAI_HOLDING)) hr__kai_add(&allocated, &cluster->pods[p].quota);
    }
    if (n_pending != session->jobs[j].n_pending) return "a job counts its pending pods";
    for (int r = 0; r < HR__KAI_RESOURCES; r++)
      if (allocated.of[r] != session->jobs[j].allocated.of[r]) return "a job sums what its pods hold";
  }
  return NULL;
}

static const char *check_node(const struct hr__kai_session *session, uint32_t node, uint32_t dim) {
  const struct hr__kai_cluster *cluster = session->cluster;
  int64_t idle = cluster->nodes[node].allocatable[dim], releasing = 0;
  for (uint32_t p = 0; p < cluster->n_pods; p++)
    for (int entry = 0; entry < HR__KAI_ENTRIES; entry++) {
      if (session->pods[p].on_node[entry] != (int64_t)node) continue;
      const int64_t status = session->pods[p].status_on_node[entry], request = cluster->pods[p].request[dim];
      if (status != HR__KAI_PIPELINED) idle -= request;
      if (status == HR__KAI_RELEASING) releasing += request;
      if (status == HR__KAI_PIPELINED) releasing -= request;
    }
  if (idle != session->idle[node * cluster->n_dims + dim]) return "a node has the idle resources that pods leave";
  if (releasing != session->releasing[node * cluster->n_dims + dim])
    return "a node has the resources that pods release";
  return NULL;
}

static int counts_moved_pods(const struct hr__kai_session *session, uint32_t node) {
  for (uint32_t p = 0; p < session->cluster->n_pods; p++) {
    int n_entries = 0, is_here = 0;
    for (int entry = 0; entry < HR__KAI_ENTRIES; entry++) {
      n_entries += session->pods[p].on_node[entry] >= 0;
      is_here |= session->pods[p].on_node[entry] == (int64_t)node;
    }
    if (is_here && n_entries > 1) return 1;
  }
  return 0;
}

static const char *check_nodes(const struct hr__kai_session *session) {
  const struct hr__kai_cluster *cluster = session->cluster;
  for (uint32_t n = 0; n < cluster->n_nodes; n++)
    for (uint32_t d = 0; d < cluster->n_dims; d++) {
      if (d == HR__KAI_DIM_GPUS && session->first_shared[n] >= 0) continue;
      const char *broken = check_node(session, n, d);
      if (broken) return broken;
      const size_t cell = (size_t)n * cluster->n_dims + d;
      const bool is_up = cluster->nodes[n].allocatable[HR__KAI_DIM_PODS] > 0;
      if (is_up && session->idle[cell] + session->releasing[cell] < 0 && !counts_moved_pods(session, n))
        return "a node gives no more than it has";
    }
  return NULL;
}

static const char *check_queues(const struct hr__kai_session *session) {
  const struct hr__kai_cluster *cluster = session->cluster;
  for (uint32_t q = 0; q < cluster->n_queues; q++) {
    struct hr__kai_amounts all = {{0}}, fixed = {{0}};
    for (uint32_t p = 0; p < cluster->n_pods; p++) {
      if (cluster->pods[p].job == HR__KAI_NONE) continue;
      const struct hr__kai_job *job = &cluster->jobs[cluster->pods[p].job];
      uint32_t at = job->queue;
      while (at != HR__KAI_NONE && at != q) at = cluster->queues[at].parent;
      if (at != q || !hr__kai_is(session->pods[p].status, HR__KAI_ACTIVE)) continue;
      const struct hr__kai_amounts amounts = hr__kai_accepted_of(session, p);
      hr__kai_add(&all, &amounts);
      if (!job->preemptible) hr__kai_add(&fixed, &amounts);
    }
    for (int r = 0; r < HR__KAI_RESOURCES; r++)
      if (all.of[r] != cluster->queues[q].share[r].allocated ||
          fixed.of[r] != cluster->queues[q].share[r].allocated_non_preemptible)
        return "a queue sums what its pods hold";
  }
  return NULL;
}

const char *hr__kai_check(const struct hr__kai_session *session) {
  if (session->n_operations > 0) return "no statement is open";
  const char *broken = check_sets(session);
  if (!broken) broken = check_jobs(session);
  if (!broken) broken = check_nodes(session);
  return broken ? broken : check_queues(session);
}
