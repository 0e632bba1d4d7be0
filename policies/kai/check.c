/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks a session: the counts of pod sets and jobs, what nodes count, what queues hold, and that gangs are complete.
 *
 * All sums are computed again from the states of the pods. A node counts the pods that have an entry for it; its GPUs
 * are compared only if it has no shared ones. Pods that were bound in the session belong to pod sets that run at least
 * their minimum. A node gives no more than it has, unless it counts pods that are counted by other nodes too: KAI
 * places such a pod back without a check. A node without pods in its description has left; its pods may still be there.
 */

#include "policies/kai/node_usage.h"

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
