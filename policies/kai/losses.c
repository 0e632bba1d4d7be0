/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What victims lose, and whether the rules of the action allow it.
 *
 * A loss is the sum of the resources of those pods of a victim that have no place any more. Consolidation allows none;
 * reclaim compares the losses with fair shares and quotas. Invariant: the state of the session is the same before and
 * after.
 *
 * Source: KAI-Scheduler, plugins/proportion and plugins/minruntime.
 */

#include "policies/kai/node_usage.h"
#include "policies/kai/solver.h"

/* ---- Minimum run time ---- */

bool hr__kai_is_protected(const struct hr__kai_solver *solver, enum hr__kai_purpose purpose, uint32_t pending,
                          uint32_t victim) {
  const struct hr__kai_cluster *cluster = solver->session->cluster;
  const struct hr__kai_config *config = &cluster->config;
  const struct hr__kai_job *job = &cluster->jobs[victim];
  if (!config->min_runtime || purpose == HR__KAI_CONSOLIDATION || job->last_start_us == INT64_MIN) return false;
  const int64_t runtime = purpose == HR__KAI_PREEMPTION
                              ? hr__kai_preempt_min_runtime(cluster->queues, job->queue, config->preempt_min_runtime_us)
                              : hr__kai_reclaim_min_runtime(cluster->queues, cluster->jobs[pending].queue, job->queue,
                                                            config->reclaim_method, config->reclaim_min_runtime_us);
  return cluster->now_us < job->last_start_us + runtime;
}

/* ---- Rules of the actions ---- */

/* Adds the losses of some pods of a victim, as one loss. Pods that have a place again count only if no victim may be
   placed again. */
static uint32_t add_loss(struct hr__kai_solver *solver, uint32_t n_losses, const uint32_t *pods, uint32_t n) {
  const struct hr__kai_session *session = solver->session;
  const struct hr__kai_cluster *cluster = session->cluster;
  struct hr__kai_taken *loss = &solver->losses[n_losses];
  *loss = (struct hr__kai_taken){.queue = HR__KAI_NONE};
  for (uint32_t i = 0; i < n; i++) {
    if (cluster->config.allow_consolidating_reclaim && hr__kai_is(session->pods[pods[i]].status, HR__KAI_ACTIVE))
      continue;
    const struct hr__kai_amounts amounts = hr__kai_accepted_of(session, pods[i]);
    hr__kai_add(&loss->amounts, &amounts);
    loss->queue = cluster->jobs[cluster->pods[pods[i]].job].queue;
    loss->involved |= (unsigned)(amounts.of[HR__KAI_CPU] > 0) << HR__KAI_CPU;
    loss->involved |= (unsigned)(amounts.of[HR__KAI_MEM] > 0) << HR__KAI_MEM;
    const bool instance = cluster->pods[pods[i]].kind == HR__KAI_INSTANCE;
    loss->involved |= (unsigned)(amounts.of[HR__KAI_GPU] > 0 && !instance) << HR__KAI_GPU;
  }
  return n_losses + (loss->queue != HR__KAI_NONE);
}

/* Collects the pods of a job in the scenario into `solver->pods`: those of one pod set, or of all (HR__KAI_NONE). */
static uint32_t victims_of(const struct hr__kai_solver *solver, uint32_t job, uint32_t set, uint32_t *pods) {
  const struct hr__kai_victim_list *list = &solver->scenario;
  uint32_t n = 0;
  for (uint32_t g = 0; g < list->n_groups; g++) {
    if (list->groups[g].job != job) continue;
    for (uint32_t i = 0; i < list->groups[g].n; i++) {
      const uint32_t pod = list->pods[list->groups[g].first + i];
      if (set == HR__KAI_NONE || solver->session->cluster->pods[pod].pod_set == set) pods[n++] = pod;
    }
  }
  return n;
}

/* Adds the losses of a victim: each pod above the minimum of its pod set separately, then the others together. */
static uint32_t add_losses_of(struct hr__kai_solver *solver, uint32_t n_losses, uint32_t job) {
  const struct hr__kai_cluster *cluster = solver->session->cluster;
  uint32_t *core = solver->pods, n_core = 0;
  for (uint32_t s = cluster->jobs[job].first_set; s < cluster->jobs[job].first_set + cluster->jobs[job].n_sets; s++) {
    const uint32_t n = victims_of(solver, job, s, core + n_core), min = cluster->sets[s].min_available;
    for (uint32_t i = min; i < n; i++) n_losses = add_loss(solver, n_losses, core + n_core + i, 1);
    n_core += n < min ? n : min;
  }
  return add_loss(solver, n_losses, core, n_core);
}

/* Whether the group is the first one of its job in the scenario. */
static bool is_first_of_job(const struct hr__kai_victim_list *list, uint32_t group) {
  for (uint32_t g = 0; g < group; g++)
    if (list->groups[g].job == list->groups[group].job) return false;
  return true;
}

/* Exchanges what queues hold now with what they held before the search. */
static void exchange_allocated(struct hr__kai_solver *solver) {
  const struct hr__kai_cluster *cluster = solver->session->cluster;
  for (uint32_t q = 0; q < cluster->n_queues; q++)
    for (int r = 0; r < HR__KAI_RESOURCES; r++) {
      struct hr__kai_share *share = &cluster->queues[q].share[r];
      const int64_t all = share->allocated, fixed = share->allocated_non_preemptible;
      share->allocated = solver->allocated[2 * q].of[r];
      share->allocated_non_preemptible = solver->allocated[2 * q + 1].of[r];
      solver->allocated[2 * q].of[r] = all;
      solver->allocated[2 * q + 1].of[r] = fixed;
    }
}

struct hr__kai_reclaimer hr__kai_reclaimer_of(const struct hr__kai_solver *solver, uint32_t pending) {
  const struct hr__kai_cluster *cluster = solver->session->cluster;
  struct hr__kai_reclaimer reclaimer = {.queue = cluster->jobs[pending].queue,
                                        .preemptible = cluster->jobs[pending].preemptible};
  bool gpus = false;
  for (uint32_t i = 0; i < solver->session->part_n; i++) {
    const struct hr__kai_amounts request = hr__kai_request_of(cluster, solver->part[i]);
    hr__kai_add(&reclaimer.request, &request);
    gpus = gpus || (request.of[HR__KAI_GPU] > 0 && cluster->pods[solver->part[i]].kind != HR__KAI_INSTANCE);
  }
  reclaimer.involved = (unsigned)(reclaimer.request.of[HR__KAI_CPU] > 0) << HR__KAI_CPU |
                       (unsigned)(reclaimer.request.of[HR__KAI_MEM] > 0) << HR__KAI_MEM | (unsigned)gpus << HR__KAI_GPU;
  return reclaimer;
}

static bool is_reclaimable(struct hr__kai_solver *solver, uint32_t pending) {
  const struct hr__kai_cluster *cluster = solver->session->cluster;
  const struct hr__kai_reclaimer reclaimer = hr__kai_reclaimer_of(solver, pending);
  uint32_t n = 0;
  for (uint32_t g = 0; g < solver->scenario.n_groups; g++)
    if (is_first_of_job(&solver->scenario, g)) n = add_losses_of(solver, n, solver->scenario.groups[g].job);
  exchange_allocated(solver);
  const bool allowed = hr__kai_reclaimable(cluster->queues, cluster->n_queues, &reclaimer, solver->losses, n,
                                           cluster->config.saturation_multiplier, solver->remaining);
  exchange_allocated(solver);
  return allowed;
}

/* Whether all victims have a place again. */
static bool all_placed(const struct hr__kai_solver *solver) {
  for (uint32_t i = 0; i < solver->scenario.n_pods; i++)
    if (solver->session->pods[solver->scenario.pods[i]].status == HR__KAI_RELEASING) return false;
  return true;
}

/* Whether protected elastic victims keep their minimum. */
static bool keeps_minimum(struct hr__kai_solver *solver, enum hr__kai_purpose purpose, uint32_t pending) {
  const struct hr__kai_session *session = solver->session;
  const struct hr__kai_cluster *cluster = session->cluster;
  for (uint32_t g = 0; g < solver->scenario.n_groups; g++) {
    const uint32_t job = solver->scenario.groups[g].job;
    if (!is_first_of_job(&solver->scenario, g) || !hr__kai_is_elastic(session, job) ||
        !hr__kai_is_protected(solver, purpose, pending, job))
      continue;
    const struct hr__kai_job *described = &cluster->jobs[job];
    for (uint32_t s = described->first_set; s < described->first_set + described->n_sets; s++) {
      const uint32_t n = victims_of(solver, job, s, solver->pods);
      if (n > 0 && cluster->sets[s].min_available > session->sets[s].n_used - n) return false;
    }
  }
  return true;
}

bool hr__kai_is_allowed(struct hr__kai_solver *solver, enum hr__kai_purpose purpose, uint32_t pending) {
  if (purpose == HR__KAI_CONSOLIDATION) return all_placed(solver);
  if (purpose == HR__KAI_RECLAIM && !is_reclaimable(solver, pending)) return false;
  return keeps_minimum(solver, purpose, pending);
}
