/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The actions of a session, in the order of the configuration.
 *
 * - allocate: places jobs on free resources. A job that still has pending pods afterwards goes back into the order.
 * - consolidation: moves preemptible pods to other nodes, if all of them get a place again.
 * - reclaim: takes resources from other queues.
 * - preempt: takes resources from jobs of lower priority in the same queue.
 * - stalegangeviction: evicts jobs that have run below their minimum for too long.
 *
 * Invariant: between two jobs there is no statement that is not committed.
 *
 * Source: KAI-Scheduler, actions.
 */

#include "policies/kai/actions.h"

#include "policies/kai/gangs.h"
#include "policies/kai/node_usage.h"
#include "policies/kai/statement.h"

struct hr__kai_cycle *hr__kai_cycle_create(struct hr__kai_session *session) {
  const struct hr__kai_cluster *cluster = session->cluster;
  struct hr__kai_cycle *cycle = hr_arena_alloc(session->arena, sizeof *cycle);
  if (!cycle) return NULL;
  cycle->session = session;
  cycle->pods = hr_arena_alloc(session->arena, ((size_t)cluster->n_pods + 1) * sizeof *cycle->pods);
  cycle->sets = hr_arena_alloc(session->arena, ((size_t)cluster->n_sets + 1) * sizeof *cycle->sets);
  cycle->all_nodes = hr_arena_alloc(session->arena, (size_t)cluster->n_nodes + 1);
  if (!cycle->pods || !cycle->sets || !cycle->all_nodes) return NULL;
  for (uint32_t n = 0; n < cluster->n_nodes; n++) cycle->all_nodes[n] = 1;
  if (!hr__kai_placer_create(&cycle->placer, session) ||
      !hr__kai_solver_create(&cycle->solver, session, &cycle->placer) ||
      !hr__kai_order_create(&cycle->order, session, cycle->pods, cycle->sets))
    return NULL;
  return cycle;
}

/* Fills the order with the jobs that are ready and have pending pods. */
static void collect_pending(struct hr__kai_cycle *cycle, bool only_preemptible) {
  const struct hr__kai_session *session = cycle->session;
  hr__kai_order_clear(&cycle->order, false, NULL);
  for (uint32_t j = 0; j < session->cluster->n_jobs; j++)
    if (session->jobs[j].n_pending > 0 && hr__kai_is_ready(session, j) &&
        (!only_preemptible || session->cluster->jobs[j].preemptible))
      hr__kai_order_push(&cycle->order, j);
}

/* ---- Allocate ---- */

static bool holds_a_place(const struct hr__kai_session *session, uint32_t job) {
  const struct hr__kai_job *described = &session->cluster->jobs[job];
  for (uint32_t p = described->first_pod; p < described->first_pod + described->n_pods; p++)
    if (hr__kai_is(session->pods[p].status, HR__KAI_HOLDING)) return true;
  return false;
}

static void allocate(struct hr__kai_cycle *cycle) {
  struct hr__kai_session *session = cycle->session;
  collect_pending(cycle, false);
  while (!hr__kai_order_is_empty(&cycle->order)) {
    const uint32_t job = hr__kai_order_pop(&cycle->order);
    const bool held = holds_a_place(session, job);
    if (!hr__kai_place_job(&cycle->placer, job, cycle->all_nodes, false) || session->n_operations == 0) continue;
    const bool waits = hr__kai_must_wait(session, job);
    if (waits) hr__kai_pipeline_all(session, job);
    hr__kai_commit(session);
    if (!waits && !held) session->cluster->jobs[job].last_start_us = session->cluster->now_us;
    if (session->jobs[job].n_pending > 0) hr__kai_order_push(&cycle->order, job);
  }
}

/* ---- Consolidation, reclaim, preemption ---- */

/* The next pods of a job, in `cycle->pods`. */
static uint32_t next_pods(struct hr__kai_cycle *cycle, uint32_t job) {
  return hr__kai_next_pods(cycle->session, job, false, cycle->pods, cycle->sets);
}

/* Whether the cluster has enough free GPUs and GPU memory for the job, on whatever nodes. */
static bool has_free_gpus(struct hr__kai_cycle *cycle, uint32_t job) {
  const struct hr__kai_session *session = cycle->session;
  const struct hr__kai_cluster *cluster = session->cluster;
  double free_gpus = 0, gpus = 0;
  int64_t free_mib = 0, mib = 0;
  for (uint32_t n = 0; n < cluster->n_nodes; n++) {
    double of_node[2];
    int64_t mib_of_node;
    hr__kai_free_gpus(session, n, of_node, &mib_of_node);
    free_gpus += of_node[0];
    free_gpus += of_node[1];
    free_mib += mib_of_node;
  }
  const uint32_t n = next_pods(cycle, job);
  for (uint32_t i = 0; i < n; i++) {
    gpus += (double)cluster->pods[cycle->pods[i]].quota.of[HR__KAI_GPU] / HR__KAI_GPU_UNIT;
    mib += cluster->pods[cycle->pods[i]].gpu_mib;
  }
  return free_gpus >= gpus && free_mib >= mib;
}

/* Whether the pods that cannot be preempted stay within the quotas. */
static bool stays_within_quotas(struct hr__kai_cycle *cycle, uint32_t job) {
  const struct hr__kai_cluster *cluster = cycle->session->cluster;
  struct hr__kai_amounts request = {{0}};
  if (cluster->jobs[job].preemptible || !cluster->config.proportion) return true;
  const uint32_t n = next_pods(cycle, job);
  for (uint32_t i = 0; i < n; i++) hr__kai_add(&request, &cluster->pods[cycle->pods[i]].quota);
  return hr__kai_within_quotas(cluster->queues, cluster->jobs[job].queue, &request);
}

static bool may_reclaim(struct hr__kai_cycle *cycle, uint32_t job) {
  const struct hr__kai_cluster *cluster = cycle->session->cluster;
  struct hr__kai_reclaimer reclaimer = {.queue = cluster->jobs[job].queue,
                                        .preemptible = cluster->jobs[job].preemptible};
  if (!cluster->config.proportion) return false;
  const uint32_t n = next_pods(cycle, job);
  for (uint32_t i = 0; i < n; i++) {
    const struct hr__kai_amounts request = hr__kai_request_of(cluster, cycle->pods[i]);
    hr__kai_add(&reclaimer.request, &request);
  }
  return hr__kai_may_reclaim(cluster->queues, &reclaimer);
}

static void take_victims(struct hr__kai_cycle *cycle, enum hr__kai_purpose purpose) {
  const struct hr__kai_config *config = &cycle->session->cluster->config;
  if (purpose == HR__KAI_CONSOLIDATION && config->max_consolidation_victims == 0) return;
  collect_pending(cycle, purpose == HR__KAI_CONSOLIDATION);
  while (!hr__kai_order_is_empty(&cycle->order)) {
    const uint32_t job = hr__kai_order_pop(&cycle->order);
    if (purpose == HR__KAI_CONSOLIDATION && !has_free_gpus(cycle, job)) continue;
    if (purpose == HR__KAI_RECLAIM && !may_reclaim(cycle, job)) continue;
    if (purpose == HR__KAI_PREEMPTION && !stays_within_quotas(cycle, job)) continue;
    if (hr__kai_solve(&cycle->solver, job, purpose)) hr__kai_commit(cycle->session);
  }
}

/* ---- Stale gangs ---- */

static bool is_stale(const struct hr__kai_session *session, uint32_t job) {
  return session->jobs[job].n_succeeded == 0 && session->jobs[job].n_used > 0 && !hr__kai_gang_runs(session, job);
}

static void evict_stale(struct hr__kai_cycle *cycle) {
  struct hr__kai_session *session = cycle->session;
  const struct hr__kai_cluster *cluster = session->cluster;
  for (uint32_t j = 0; j < cluster->n_jobs; j++) {
    struct hr__kai_job *job = &cluster->jobs[j];
    if (!is_stale(session, j)) {
      job->stale_since_us = INT64_MIN;
      continue;
    }
    if (job->stale_since_us == INT64_MIN) job->stale_since_us = cluster->now_us;
    const int64_t grace = cluster->config.stale_grace_us;
    if (grace < 0 || cluster->now_us - job->stale_since_us < grace) continue;
    for (uint32_t p = job->first_pod; p < job->first_pod + job->n_pods; p++)
      if (hr__kai_is(session->pods[p].status, HR__KAI_ACTIVE)) hr__kai_evict_now(session, p);
  }
}

void hr__kai_run_action(struct hr__kai_cycle *cycle, enum hr__kai_action action) {
  switch (action) {
  case HR__KAI_ALLOCATE:
    allocate(cycle);
    break;
  case HR__KAI_CONSOLIDATE:
    take_victims(cycle, HR__KAI_CONSOLIDATION);
    break;
  case HR__KAI_RECLAIM_ACTION:
    take_victims(cycle, HR__KAI_RECLAIM);
    break;
  case HR__KAI_PREEMPT:
    take_victims(cycle, HR__KAI_PREEMPTION);
    break;
  case HR__KAI_EVICT_STALE:
    evict_stale(cycle);
    break;
  case HR__KAI_N_ACTIONS:
    break;
  }
}
