/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Searches for victims. The solver finds victims for the first of the pending job's next pods, then for its first two
 * next pods, and so on. The victims that were found for the first k pods (the recorded victims) are evicted first in
 * the search for k + 1 pods.
 *
 * A scenario is a list of victims in victim order. After each addition, the nodes of the last victim are examined one
 * by one. For each node, the recorded victims and the victims of jobs with new victims on this node are evicted. Then a
 * simulation places the pending job and the evicted jobs, in the order of queues. Other pending jobs are in this order,
 * too, but are not placed. A rule of the action then accepts or rejects the result. The pods of a victim that were
 * placed again are not lost. Lists of victims consist of groups of pods; `taken` marks the pods of the scenario.
 *
 * Source: KAI-Scheduler, actions/common/solvers and actions/common/action.
 */

#include "policies/kai/solver.h"

#include "policies/kai/session.h"

/* ---- Losses ----------------------------------------------------------------------------------------- */

/*
 * The losses of victims, and whether the rules of the action allow them.
 *
 * The loss of a victim is the sum of the resources of its pods that were not placed again. Consolidation allows no
 * losses; reclaim compares the losses with fair shares and quotas. Invariant: these functions do not change the state
 * of the session.
 *
 * Source: KAI-Scheduler, plugins/proportion and plugins/minruntime.
 */

/* ---- Losses: minimum run time ----------------------------------------------------------------------- */

/* Whether some pod set of the job has more pods than its minimum. */
static bool is_elastic(const struct hr__kai_session *session, uint32_t job) {
  const struct hr__kai_job *described = &session->cluster->jobs[job];
  for (uint32_t s = described->first_set; s < described->first_set + described->n_sets; s++)
    if (session->cluster->sets[s].min_available < session->cluster->sets[s].n_pods) return true;
  return false;
}

/* Whether the victim has run for less than the minimum run time that applies to it. */
static bool is_protected(const struct hr__kai_solver *solver, enum hr__kai_purpose purpose, uint32_t pending,
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

/* ---- Losses: rules of the actions ------------------------------------------------------------------- */

/* Adds the loss of some pods of a victim to the list of losses. Pods that were placed again count only if the
   configuration does not allow consolidating reclaim. Returns the new length of the list. */
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

/* Writes the pods of a pod set of a job that are in the scenario to `pods`. Returns their number. */
static uint32_t victims_of(const struct hr__kai_solver *solver, uint32_t job, uint32_t set, uint32_t *pods) {
  const struct hr__kai_victim_list *list = &solver->scenario;
  uint32_t n = 0;
  for (uint32_t g = 0; g < list->n_groups; g++) {
    if (list->groups[g].job != job) continue;
    for (uint32_t i = 0; i < list->groups[g].n; i++) {
      const uint32_t pod = list->pods[list->groups[g].first + i];
      if (solver->session->cluster->pods[pod].pod_set == set) pods[n++] = pod;
    }
  }
  return n;
}

/* Adds the losses of a victim to the list of losses: each pod above the minimum of its pod set separately, then all its
   remaining pods together. Returns the new length of the list. */
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

/* Swaps the present allocations of queues with those from before the search. */
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

/* Describes the part of the pending job that the solver examines, as a reclaimer. */
static struct hr__kai_reclaimer reclaimer_of(const struct hr__kai_solver *solver, uint32_t pending) {
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
  const struct hr__kai_reclaimer reclaimer = reclaimer_of(solver, pending);
  uint32_t n = 0;
  for (uint32_t g = 0; g < solver->scenario.n_groups; g++)
    if (is_first_of_job(&solver->scenario, g)) n = add_losses_of(solver, n, solver->scenario.groups[g].job);
  exchange_allocated(solver);
  const bool allowed = hr__kai_reclaimable(cluster->queues, cluster->n_queues, &reclaimer, solver->losses, n,
                                           cluster->config.saturation_multiplier, solver->remaining);
  exchange_allocated(solver);
  return allowed;
}

/* Whether all victims were placed again. */
static bool all_placed(const struct hr__kai_solver *solver) {
  for (uint32_t i = 0; i < solver->scenario.n_pods; i++)
    if (solver->session->pods[solver->scenario.pods[i]].status == HR__KAI_RELEASING) return false;
  return true;
}

/* Whether elastic victims that the minimum run time protects keep at least their minimum of pods. */
static bool keeps_minimum(struct hr__kai_solver *solver, enum hr__kai_purpose purpose, uint32_t pending) {
  const struct hr__kai_session *session = solver->session;
  const struct hr__kai_cluster *cluster = session->cluster;
  for (uint32_t g = 0; g < solver->scenario.n_groups; g++) {
    const uint32_t job = solver->scenario.groups[g].job;
    if (!is_first_of_job(&solver->scenario, g) || !is_elastic(session, job) ||
        !is_protected(solver, purpose, pending, job))
      continue;
    const struct hr__kai_job *described = &cluster->jobs[job];
    for (uint32_t s = described->first_set; s < described->first_set + described->n_sets; s++) {
      const uint32_t n = victims_of(solver, job, s, solver->pods);
      if (n > 0 && cluster->sets[s].min_available > session->sets[s].n_used - n) return false;
    }
  }
  return true;
}

/* Whether the rules of the action allow the losses of the scenario after a simulation. */
static bool is_allowed(struct hr__kai_solver *solver, enum hr__kai_purpose purpose, uint32_t pending) {
  if (purpose == HR__KAI_CONSOLIDATION) return all_placed(solver);
  if (purpose == HR__KAI_RECLAIM && !is_reclaimable(solver, pending)) return false;
  return keeps_minimum(solver, purpose, pending);
}

/* ---- Creation --------------------------------------------------------------------------------------- */

static bool create_list(struct hr__kai_session *session, struct hr__kai_victim_list *list) {
  /* Each group has at least one pod, and groups do not share pods. */
  return HR__ARENA_ARRAY(session->arena, list->groups, session->cluster->n_pods) &&
         HR__ARENA_ARRAY(session->arena, list->pods, session->cluster->n_pods);
}

bool hr__kai_solver_create(struct hr__kai_solver *solver, struct hr__kai_session *session,
                           struct hr__kai_placer *placer) {
  const struct hr__kai_cluster *cluster = session->cluster;
  *solver = (struct hr__kai_solver){.session = session, .placer = placer};
  const uint32_t n_pods = cluster->n_pods, n_jobs = cluster->n_jobs, n_nodes = cluster->n_nodes;
  const uint32_t n_queues = cluster->n_queues;
  struct hr_arena *arena = session->arena;
  return create_list(session, &solver->scenario) && create_list(session, &solver->recorded) &&
         HR__ARENA_ARRAY(arena, solver->evicted, n_pods) && HR__ARENA_ARRAY(arena, solver->is_evicted, n_pods) &&
         HR__ARENA_ARRAY(arena, solver->taken, n_pods) && HR__ARENA_ARRAY(arena, solver->is_recorded, n_pods) &&
         HR__ARENA_ARRAY(arena, solver->is_victim, n_jobs) && HR__ARENA_ARRAY(arena, solver->on_node, n_pods) &&
         HR__ARENA_ARRAY(arena, solver->is_on_node, n_jobs) && HR__ARENA_ARRAY(arena, solver->feasible, n_nodes) &&
         HR__ARENA_ARRAY(arena, solver->free, n_nodes) && HR__ARENA_ARRAY(arena, solver->lost, n_nodes) &&
         HR__ARENA_ARRAY(arena, solver->feasible_nodes, n_nodes) &&
         HR__ARENA_ARRAY(arena, solver->first_on_node, n_nodes) &&
         HR__ARENA_ARRAY(arena, solver->last_on_node, n_nodes) &&
         HR__ARENA_ARRAY(arena, solver->next_on_node, n_pods) && HR__ARENA_ARRAY(arena, solver->group_of, n_pods) &&
         HR__ARENA_ARRAY(arena, solver->groups_of_job, n_jobs) &&
         HR__ARENA_ARRAY(arena, solver->leaves, (size_t)n_pods + 1) && HR__ARENA_ARRAY(arena, solver->part, n_pods) &&
         HR__ARENA_ARRAY(arena, solver->pods, n_pods) && HR__ARENA_ARRAY(arena, solver->sets, cluster->n_sets) &&
         HR__ARENA_ARRAY(arena, solver->losses, n_pods) && HR__ARENA_ARRAY(arena, solver->remaining, n_queues) &&
         HR__ARENA_ARRAY(arena, solver->is_losable, n_queues) && HR__ARENA_ARRAY(arena, solver->n_left, n_queues) &&
         HR__ARENA_ARRAY(arena, solver->allocated, 2 * (size_t)n_queues) &&
         hr__kai_order_create(&solver->victims, session, solver->pods, solver->sets) &&
         hr__kai_order_create(&solver->simulated, session, solver->pods, solver->sets);
}

/* ---- Candidates ------------------------------------------------------------------------------------- */

static bool may_be_victim(const struct hr__kai_solver *solver, enum hr__kai_purpose purpose, uint32_t pending,
                          uint32_t victim) {
  const struct hr__kai_session *session = solver->session;
  const struct hr__kai_job *mine = &session->cluster->jobs[pending], *job = &session->cluster->jobs[victim];
  if (!job->preemptible || session->jobs[victim].n_active == 0 || victim == pending) return false;
  if (purpose == HR__KAI_CONSOLIDATION) return true;
  if (purpose == HR__KAI_PREEMPTION && (job->priority >= mine->priority || job->queue != mine->queue)) return false;
  if (purpose == HR__KAI_RECLAIM && job->queue == mine->queue) return false;
  return is_elastic(session, victim) || !is_protected(solver, purpose, pending, victim);
}

/* The number of jobs that may have active pods: running jobs, and jobs with pods that this session has pipelined. */
static uint32_t count_active(const struct hr__kai_session *session) {
  return hr__kai_running(session->cluster).n + session->n_hopeful;
}

static uint32_t active_job(const struct hr__kai_session *session, uint32_t i) {
  const struct hr__kai_job_list running = hr__kai_running(session->cluster);
  if (i < running.n) return hr__kai_listed(&running, i);
  const uint32_t job = session->hopeful[i - running.n];
  return session->cluster->is_running[job] ? HR__KAI_NONE : job; /* meanwhile, the job was listed as running */
}

/* Fills the order of victims. */
static void collect_candidates(struct hr__kai_solver *solver, enum hr__kai_purpose purpose, uint32_t pending) {
  const struct hr__kai_cluster *cluster = solver->session->cluster;
  const int64_t limit = cluster->config.max_consolidation_victims;
  int64_t n = 0;
  const uint32_t n_active = count_active(solver->session);
  hr__kai_order_clear(&solver->victims, true, solver->taken);
  for (uint32_t i = 0; i < n_active; i++) {
    const uint32_t j = active_job(solver->session, i);
    if (purpose == HR__KAI_CONSOLIDATION && limit >= 0 && n > limit) break;
    if (j == HR__KAI_NONE || !may_be_victim(solver, purpose, pending, j)) continue;
    hr__kai_order_push(&solver->victims, j);
    n++;
  }
  hr__kai_order_build(&solver->victims);
}

/* ---- Scenario --------------------------------------------------------------------------------------- */

static void add_group(struct hr__kai_victim_list *list, uint32_t job, const uint32_t *pods, uint32_t n, bool recorded) {
  list->groups[list->n_groups++] =
      (struct hr__kai_victims){.job = job, .first = list->n_pods, .n = n, .recorded = recorded};
  for (uint32_t i = 0; i < n; i++) list->pods[list->n_pods++] = pods[i];
}

/* Adds a new victim to the list of its node. `position`: its index in `scenario.pods`. */
static void add_on_node(struct hr__kai_solver *solver, uint32_t position, uint32_t node) {
  solver->next_on_node[position] = HR__KAI_NONE;
  if (solver->first_on_node[node] == HR__KAI_NONE)
    solver->first_on_node[node] = position;
  else
    solver->next_on_node[solver->last_on_node[node]] = position;
  solver->last_on_node[node] = position;
}

/* Adds victims to the scenario. `recorded`: they are the victims of an earlier part of the job. */
static void add_victims(struct hr__kai_solver *solver, uint32_t job, const uint32_t *pods, uint32_t n, bool recorded) {
  const uint32_t first = solver->scenario.n_pods, group = solver->scenario.n_groups;
  add_group(&solver->scenario, job, pods, n, recorded);
  if (solver->groups_of_job[job]++ > 0) solver->some_split = true;
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t node = (uint32_t)solver->session->pods[pods[i]].node;
    solver->on_node[pods[i]] = node;
    solver->group_of[first + i] = group;
    if (!recorded && node < solver->session->cluster->n_nodes) add_on_node(solver, first + i, node);
  }
}

/* Empties the scenario and clears the marks `taken` and `is_recorded`. All pods with these marks are in the
   scenario. */
static void clear_scenario(struct hr__kai_solver *solver) {
  struct hr__kai_victim_list *list = &solver->scenario;
  for (uint32_t i = 0; i < list->n_pods; i++) solver->taken[list->pods[i]] = solver->is_recorded[list->pods[i]] = 0;
  for (uint32_t g = 0; g < list->n_groups; g++) solver->groups_of_job[list->groups[g].job] = 0;
  for (uint32_t n = 0; n < solver->session->cluster->n_nodes; n++) solver->first_on_node[n] = HR__KAI_NONE;
  list->n_groups = list->n_pods = 0;
  solver->some_split = false;
}

/* Starts a scenario with the recorded victims. */
static void start_scenario(struct hr__kai_solver *solver) {
  const struct hr__kai_victim_list *recorded = &solver->recorded;
  clear_scenario(solver);
  for (uint32_t g = 0; g < recorded->n_groups; g++)
    add_victims(solver, recorded->groups[g].job, recorded->pods + recorded->groups[g].first, recorded->groups[g].n,
                true);
  for (uint32_t i = 0; i < recorded->n_pods; i++) solver->is_recorded[recorded->pods[i]] = 1;
}

/* Puts the victim back into the order without its recorded pods. */
static void push_without_recorded(struct hr__kai_solver *solver, uint32_t job) {
  const struct hr__kai_job *described = &solver->session->cluster->jobs[job];
  bool some_left = false;
  for (uint32_t p = described->first_pod; p < described->first_pod + described->n_pods; p++) {
    solver->taken[p] = solver->taken[p] || solver->is_recorded[p];
    some_left = some_left || !solver->taken[p];
  }
  if (some_left) hr__kai_order_push(&solver->victims, job);
}

/* Moves the next victims from their order to the scenario. Returns whether there are new victims. */
static bool add_next_victims(struct hr__kai_solver *solver) {
  const struct hr__kai_session *session = solver->session;
  const struct hr__kai_job *described;
  const uint32_t job = hr__kai_order_pop(&solver->victims);
  const uint32_t n = hr__kai_next_victims(session, job, solver->taken, solver->pods, solver->sets);
  for (uint32_t i = 0; i < n; i++) {
    if (!solver->is_recorded[solver->pods[i]]) continue;
    push_without_recorded(solver, job);
    return false;
  }
  if (n > 0) add_victims(solver, job, solver->pods, n, false);
  for (uint32_t i = 0; i < n; i++) solver->taken[solver->pods[i]] = 1;
  described = &session->cluster->jobs[job];
  for (uint32_t p = described->first_pod; p < described->first_pod + described->n_pods; p++)
    if (!solver->taken[p] && hr__kai_is(session->pods[p].status, HR__KAI_ACTIVE)) {
      hr__kai_order_push(&solver->victims, job);
      break;
    }
  return n > 0;
}

/* Marks the jobs that have a new victim (one that is not recorded) on the node; with `mark` false, unmarks them. */
static void mark_on_node(struct hr__kai_solver *solver, uint32_t node, bool mark) {
  const struct hr__kai_victim_list *list = &solver->scenario;
  for (uint32_t g = 0; g < list->n_groups; g++) {
    if (list->groups[g].recorded) continue;
    for (uint32_t i = 0; i < list->groups[g].n; i++)
      if (solver->on_node[list->pods[list->groups[g].first + i]] == node)
        solver->is_on_node[list->groups[g].job] = mark;
  }
}

/* ---- Simulation ------------------------------------------------------------------------------------- */

static void evict_group(struct hr__kai_solver *solver, const struct hr__kai_victims *group) {
  for (uint32_t i = 0; i < group->n; i++) {
    const uint32_t pod = solver->scenario.pods[group->first + i];
    if (solver->is_evicted[pod]) continue;
    hr__kai_evict(solver->session, pod);
    solver->is_evicted[pod] = 1;
    solver->evicted[solver->n_evicted++] = pod;
  }
}

/* Removes all but the first `n` pods from the list of evicted pods. */
static void forget_evicted(struct hr__kai_solver *solver, uint32_t n) {
  while (solver->n_evicted > n) solver->is_evicted[solver->evicted[--solver->n_evicted]] = 0;
}

/* Sets the mark `is_victim` of all jobs with evicted pods. */
static void mark_victims(struct hr__kai_solver *solver, uint8_t is_victim) {
  for (uint32_t i = 0; i < solver->n_evicted; i++)
    solver->is_victim[solver->session->cluster->pods[solver->evicted[i]].job] = is_victim;
}

/* Whether the part of the pending job might fit if no further victim were placed again. This is a bound: each pod is
   counted with the request of the last pod. Returns true without a check if some pod is smaller than the last one, may
   run on other nodes, or requests parts of GPUs. */
static bool could_have_room(const struct hr__kai_solver *solver) {
  const struct hr__kai_session *session = solver->session;
  const struct hr__kai_cluster *cluster = session->cluster;
  const struct hr__kai_pod *pod = &cluster->pods[solver->part[session->part_n - 1]];
  int64_t n_left = session->part_n;
  for (uint32_t i = 0; i < session->part_n; i++) {
    const struct hr__kai_pod *other = &cluster->pods[solver->part[i]];
    if (other->kind != HR__KAI_WHOLE || other->allowed_nodes != pod->allowed_nodes) return true;
    for (uint32_t d = 0; d < cluster->n_dims; d++)
      if (other->request[d] < pod->request[d]) return true;
  }
  for (uint32_t f = solver->n_feasible; f-- > 0 && n_left > 0;) {
    const uint32_t n = solver->feasible_nodes[f];
    if (pod->allowed_nodes && !pod->allowed_nodes[n]) continue;
    int64_t fits = n_left;
    for (uint32_t d = 0; d < cluster->n_dims && fits > 0; d++) {
      const int64_t free = hr__kai_free_on(session, n, d);
      if (pod->request[d] > 0 && free < pod->request[d] * fits) fits = free / pod->request[d];
    }
    if (fits > 0) n_left -= fits;
  }
  return n_left <= 0;
}

/* Adds those lists of pending jobs that can influence the order of the victims and the pending job. */
static void add_lists(struct hr__kai_solver *solver, uint32_t pending) {
  const struct hr__kai_cluster *cluster = solver->session->cluster;
  uint32_t n = 0;
  solver->leaves[n++] = cluster->jobs[pending].queue;
  for (uint32_t i = 0; i < solver->n_evicted; i++)
    solver->leaves[n++] = cluster->jobs[cluster->pods[solver->evicted[i]].job].queue;
  hr__kai_order_add_lists_of(&solver->simulated, solver->leaves, n);
}

/* Fills the order of the simulation with all pending jobs and the victims. Returns the number of jobs to place. */
static uint32_t collect_simulated(struct hr__kai_solver *solver, uint32_t pending) {
  const struct hr__kai_session *session = solver->session;
  const struct hr__kai_cluster *cluster = session->cluster;
  const struct hr__kai_job_list waiting = hr__kai_waiting(cluster);
  const uint32_t n_active = cluster->running ? count_active(session) : 0;
  mark_victims(solver, 1);
  uint32_t n_left = 1;
  hr__kai_order_clear(&solver->simulated, false, NULL);
  if (cluster->leaves) add_lists(solver, pending);
  for (uint32_t i = 0; !cluster->leaves && i < waiting.n; i++) {
    const uint32_t j = hr__kai_listed(&waiting, i);
    if (solver->is_victim[j] && cluster->running) continue; /* added below; an elastic job is in both lists */
    if (session->jobs[j].n_pending == 0 && !solver->is_victim[j] && j != pending) continue;
    n_left += solver->is_victim[j] && j != pending;
    hr__kai_order_push(&solver->simulated, j);
  }
  for (uint32_t i = 0; i < n_active; i++) {
    const uint32_t j = active_job(session, i);
    if (j == HR__KAI_NONE || !solver->is_victim[j]) continue;
    n_left++;
    solver->n_left[cluster->jobs[j].queue]++;
    hr__kai_order_push(&solver->simulated, j);
  }
  hr__kai_order_build(&solver->simulated);
  return n_left;
}

enum outcome { NO_ROOM, REJECTED, SOLVED };

/* Whether the evicted pods of a job must be placed again. */
static bool must_return(const struct hr__kai_solver *solver, enum hr__kai_purpose purpose, uint32_t victim) {
  if (purpose == HR__KAI_RECLAIM) return !solver->is_losable[solver->session->cluster->jobs[victim].queue];
  return purpose == HR__KAI_CONSOLIDATION;
}

/* The leaf queue that contains all victims that are still to be placed; HR__KAI_NONE: there are several such queues. */
static uint32_t only_leaf(const struct hr__kai_solver *solver, uint32_t n_left) {
  const struct hr__kai_cluster *cluster = solver->session->cluster;
  for (uint32_t i = 0; i < solver->n_evicted; i++) {
    const uint32_t queue = cluster->jobs[cluster->pods[solver->evicted[i]].job].queue;
    if (solver->n_left[queue] == n_left) return queue;
  }
  return HR__KAI_NONE;
}

/* The next job that the simulation places; HR__KAI_NONE: none. If the pending job was placed and all remaining victims
   are in one queue, the other queues need not be examined. */
static uint32_t next_simulated(struct hr__kai_solver *solver, uint32_t pending, bool placed, uint32_t n_left) {
  const uint32_t leaf = solver->session->cluster->leaves && placed ? only_leaf(solver, n_left) : HR__KAI_NONE;
  if (leaf != HR__KAI_NONE) return hr__kai_order_pop_pushed(&solver->simulated, leaf);
  uint32_t job = hr__kai_order_pop(&solver->simulated);
  while (job != HR__KAI_NONE && job != pending && !solver->is_victim[job]) job = hr__kai_order_pop(&solver->simulated);
  return job;
}

static void end_simulation(struct hr__kai_solver *solver) {
  const struct hr__kai_cluster *cluster = solver->session->cluster;
  for (uint32_t i = 0; i < solver->n_evicted && cluster->leaves; i++)
    solver->n_left[cluster->jobs[cluster->pods[solver->evicted[i]].job].queue] = 0;
  mark_victims(solver, 0);
}

/* Places the pending job, and as many evicted victims as possible. Returns SOLVED if the pending job was placed. With
   lists of queues, the simulation ends as soon as the outcome is known. `is_final`: the caller does not distinguish
   NO_ROOM from REJECTED. */
static enum outcome simulate(struct hr__kai_solver *solver, uint32_t pending, enum hr__kai_purpose purpose,
                             bool is_final) {
  const struct hr__kai_cluster *cluster = solver->session->cluster;
  uint32_t n_left = collect_simulated(solver, pending);
  bool placed = false;
  enum outcome outcome = SOLVED;
  while (n_left > 0 && outcome == SOLVED) {
    const uint32_t job = next_simulated(solver, pending, placed, n_left);
    if (job == HR__KAI_NONE) break;
    const bool has_place = hr__kai_place_job(solver->placer, job, solver->feasible, true);
    n_left--;
    if (job == pending) {
      placed = true;
      if (!has_place) outcome = NO_ROOM;
    } else if (cluster->leaves) {
      solver->n_left[cluster->jobs[job].queue]--;
      if (!has_place && (placed || is_final) && must_return(solver, purpose, job)) outcome = REJECTED;
      if (has_place && !placed && !could_have_room(solver)) outcome = NO_ROOM;
    }
  }
  end_simulation(solver);
  return outcome == SOLVED && !placed ? NO_ROOM : outcome;
}

/* ---- Search ----------------------------------------------------------------------------------------- */

/*
 * With lists of queues, searches that cannot succeed are skipped. A part has no solution if it requests more GPUs than
 * are free or held by queues that may lose victims. An attempt has no solution if the part and the victims that must be
 * placed again do not fit on the nodes after the evictions. If several nodes count a pod, the pod is placed again
 * without a check. If such a pod exists, no search is skipped.
 */

/* Whether several nodes count the pod. */
static bool is_moved(const struct hr__kai_session *session, uint32_t pod) {
  int n = 0;
  for (int entry = 0; entry < HR__KAI_ENTRIES; entry++) n += session->pods[pod].on_node[entry] >= 0;
  return n > 1;
}

static bool some_moved(const struct hr__kai_session *session) {
  for (size_t i = 0; i < session->n_log; i++)
    if (is_moved(session, session->log[i].pod)) return true;
  return false;
}

static int64_t free_gpus(const struct hr__kai_session *session) {
  int64_t sum = 0;
  for (uint32_t n = 0; n < session->cluster->n_nodes; n++) {
    const int64_t free = hr__kai_free_on(session, n, HR__KAI_DIM_GPUS);
    if (free > 0) sum += free;
  }
  return sum;
}

/* Counts the feasible nodes by their number of free GPUs. The last entry is for nodes with MOST_FREE or more. */
enum { MOST_FREE = 64 };
static void count_free(const struct hr__kai_solver *solver, uint32_t *n_nodes) {
  const struct hr__kai_session *session = solver->session;
  for (int gpus = 0; gpus <= MOST_FREE; gpus++) n_nodes[gpus] = 0;
  for (uint32_t f = 0; f < solver->n_feasible; f++) {
    const int64_t free = hr__kai_free_on(session, solver->feasible_nodes[f], HR__KAI_DIM_GPUS);
    if (free > 0) n_nodes[free < MOST_FREE ? free : MOST_FREE]++;
  }
}

/* Whether a necessary condition for pods to fit on nodes is met: if each request and each node is divided into whole
   pieces of `piece` GPUs, the nodes have enough pieces. `requests[g]`: number of pods that request g GPUs.
   `n_nodes[g]`: number of nodes with g free GPUs. */
static bool fits_in_pieces(const uint32_t *requests, const uint32_t *n_nodes, uint32_t piece) {
  uint64_t needed = 0, free = 0;
  for (uint32_t gpus = piece; gpus < MOST_FREE; gpus++) {
    needed += (uint64_t)requests[gpus] * (gpus / piece);
    free += (uint64_t)n_nodes[gpus] * (gpus / piece);
  }
  return needed <= free;
}

static void count_request(const struct hr__kai_solver *solver, uint32_t pod, uint32_t *requests) {
  const int64_t gpus = solver->session->cluster->pods[pod].request[HR__KAI_DIM_GPUS];
  if (gpus > 0) requests[gpus < MOST_FREE ? gpus : MOST_FREE]++;
}

/* Whether the evictions free too few GPUs for the part and for the victims that must be placed again. */
static bool is_hopeless(const struct hr__kai_solver *solver, enum hr__kai_purpose purpose) {
  const struct hr__kai_session *session = solver->session;
  uint32_t requests[MOST_FREE + 1] = {0}, n_nodes[MOST_FREE + 1];
  if (!session->cluster->leaves || purpose == HR__KAI_PREEMPTION) return false;
  for (uint32_t i = 0; i < solver->n_evicted; i++) {
    if (is_moved(session, solver->evicted[i])) return false;
    if (must_return(solver, purpose, session->cluster->pods[solver->evicted[i]].job))
      count_request(solver, solver->evicted[i], requests);
  }
  for (uint32_t i = 0; i < session->part_n; i++) count_request(solver, solver->part[i], requests);
  count_free(solver, n_nodes);
  bool fits = n_nodes[MOST_FREE] > 0 || requests[MOST_FREE] > 0;
  for (uint32_t gpus = MOST_FREE; gpus-- > 1 && !fits;)
    if (requests[gpus] > 0 && !fits_in_pieces(requests, n_nodes, gpus)) return true;
  return false;
}

/* Finds the queues that may lose victims for the part (`is_losable`). Returns whether their GPUs and the free GPUs may
   suffice. */
static bool may_suffice(struct hr__kai_solver *solver, uint32_t pending, enum hr__kai_purpose purpose) {
  const struct hr__kai_session *session = solver->session;
  const struct hr__kai_cluster *cluster = session->cluster;
  if (!cluster->leaves || purpose != HR__KAI_RECLAIM) return true;
  const struct hr__kai_reclaimer reclaimer = reclaimer_of(solver, pending);
  bool suffices = !cluster->config.allow_consolidating_reclaim || some_moved(session);
  int64_t lacking = -free_gpus(session);
  for (uint32_t i = 0; i < session->part_n; i++) lacking += cluster->pods[solver->part[i]].request[HR__KAI_DIM_GPUS];
  for (uint32_t q = 0; q < cluster->n_queues; q++) {
    solver->is_losable[q] = cluster->queues[q].n_children == 0 && hr__kai_may_lose(cluster->queues, &reclaimer, q);
    const int64_t held = cluster->queues[q].share[HR__KAI_GPU].allocated;
    if (solver->is_losable[q]) lacking -= (held + HR__KAI_GPU_UNIT - 1) / HR__KAI_GPU_UNIT;
  }
  for (uint32_t n = 0; n < cluster->n_nodes && !suffices; n++) suffices = session->first_shared[n] >= 0;
  return suffices || lacking <= 0;
}

/* Runs a simulation with the present set of evicted pods. `is_final`: see simulate. */
static enum outcome try_evicted(struct hr__kai_solver *solver, uint32_t pending, enum hr__kai_purpose purpose,
                                bool is_final) {
  if (!could_have_room(solver) || (is_final && is_hopeless(solver, purpose))) return NO_ROOM;
  const enum outcome outcome = simulate(solver, pending, purpose, is_final);
  return outcome == SOLVED && !is_allowed(solver, purpose, pending) ? REJECTED : outcome;
}

/* For each job with new victims on the node, evicts all of its victims in the scenario. */
static void evict_on_node(struct hr__kai_solver *solver, uint32_t node) {
  const struct hr__kai_victim_list *list = &solver->scenario;
  for (uint32_t i = solver->first_on_node[node]; i != HR__KAI_NONE && !solver->some_split; i = solver->next_on_node[i])
    evict_group(solver, &list->groups[solver->group_of[i]]);
  if (!solver->some_split) return;
  mark_on_node(solver, node, true);
  for (uint32_t g = 0; g < list->n_groups; g++)
    if (solver->is_on_node[list->groups[g].job]) evict_group(solver, &list->groups[g]);
  mark_on_node(solver, node, false);
}

static void make_feasible(struct hr__kai_solver *solver, uint32_t node) {
  if (solver->feasible[node]) return;
  solver->feasible[node] = 1;
  solver->feasible_nodes[solver->n_feasible++] = node;
}

/* Evicts the victims of jobs that have new victims on a node, and runs a simulation. NO_ROOM: the evictions are undone.
   `is_final`: no further node is tried. */
static enum outcome try_node(struct hr__kai_solver *solver, uint32_t pending, enum hr__kai_purpose purpose,
                             uint32_t node, bool is_final) {
  const struct hr__kai_mark mark = hr__kai_mark(solver->session);
  const uint32_t n_before = solver->n_evicted, n_feasible = solver->n_feasible;
  evict_on_node(solver, node);
  for (uint32_t i = n_before; i < solver->n_evicted; i++) {
    const uint32_t at = solver->on_node[solver->evicted[i]];
    if (at < solver->session->cluster->n_nodes) make_feasible(solver, at);
  }
  const enum outcome outcome = try_evicted(solver, pending, purpose, is_final);
  if (outcome != NO_ROOM) return outcome;
  while (solver->n_feasible > n_feasible) solver->feasible[solver->feasible_nodes[--solver->n_feasible]] = 0;
  hr__kai_undo(solver->session, mark);
  forget_evicted(solver, n_before);
  return NO_ROOM;
}

/* The first node from `from` on with a pod of the job; `n_nodes`: none. */
static uint32_t next_node_of(const struct hr__kai_session *session, uint32_t job, uint32_t from) {
  const struct hr__kai_job *described = &session->cluster->jobs[job];
  uint32_t next = session->cluster->n_nodes;
  for (uint32_t p = described->first_pod; p < described->first_pod + described->n_pods; p++)
    if (session->pods[p].node >= (int64_t)from && session->pods[p].node < (int64_t)next)
      next = (uint32_t)session->pods[p].node;
  return next;
}

/* Tries to place the part with the victims of the scenario. Returns whether it was placed; if not, all changes are
   undone. */
static bool try_scenario(struct hr__kai_solver *solver, uint32_t pending, enum hr__kai_purpose purpose) {
  struct hr__kai_session *session = solver->session;
  const struct hr__kai_victim_list *list = &solver->scenario;
  const struct hr__kai_mark mark = hr__kai_mark(session);
  enum outcome outcome = NO_ROOM;
  const bool only_recorded = list->n_groups == solver->recorded.n_groups;
  const uint32_t last = list->n_groups > 0 ? list->groups[list->n_groups - 1].job : HR__KAI_NONE;
  forget_evicted(solver, 0);
  for (uint32_t g = 0; g < list->n_groups; g++)
    if (list->groups[g].recorded) evict_group(solver, &list->groups[g]);
  if (only_recorded && solver->n_evicted > 0) outcome = try_evicted(solver, pending, purpose, true);
  const uint32_t n_nodes = session->cluster->n_nodes;
  for (uint32_t n = only_recorded ? n_nodes : next_node_of(session, last, 0); n < n_nodes && outcome == NO_ROOM;) {
    const uint32_t next = next_node_of(session, last, n + 1);
    outcome = try_node(solver, pending, purpose, n, next >= n_nodes);
    n = next;
  }
  if (outcome == SOLVED) return true;
  hr__kai_undo(session, mark);
  forget_evicted(solver, 0);
  return false;
}

/* For the next part of the job, records the groups with pods that lost their place, and the nodes of these pods. */
static void record(struct hr__kai_solver *solver) {
  const struct hr__kai_session *session = solver->session;
  const struct hr__kai_victim_list *list = &solver->scenario;
  solver->recorded.n_groups = solver->recorded.n_pods = 0;
  for (uint32_t n = 0; n < session->cluster->n_nodes; n++) solver->lost[n] = 0;
  for (uint32_t g = 0; g < list->n_groups; g++) {
    const uint32_t *pods = list->pods + list->groups[g].first;
    bool lost = false;
    for (uint32_t i = 0; i < list->groups[g].n; i++) {
      const int64_t status = session->pods[pods[i]].status;
      if (!solver->is_evicted[pods[i]] || (status != HR__KAI_RELEASING && status != HR__KAI_PIPELINED)) continue;
      if (solver->on_node[pods[i]] < solver->session->cluster->n_nodes) solver->lost[solver->on_node[pods[i]]] = 1;
      lost = true;
    }
    if (lost) add_group(&solver->recorded, list->groups[g].job, pods, list->groups[g].n, true);
  }
}

/* Finds victims for the part of the job, and places the part. Returns whether it was placed. */
static bool solve_part(struct hr__kai_solver *solver, uint32_t pending, enum hr__kai_purpose purpose) {
  solver->n_feasible = 0;
  for (uint32_t i = 0; i < solver->session->cluster->n_nodes; i++) {
    solver->feasible[i] = 0;
    if (solver->free[i] || solver->lost[i]) make_feasible(solver, i);
  }
  if (!may_suffice(solver, pending, purpose)) return false;
  start_scenario(solver);
  collect_candidates(solver, purpose, pending);
  if (solver->scenario.n_groups > 0 && try_scenario(solver, pending, purpose)) return true;
  while (!hr__kai_order_is_empty(&solver->victims))
    if (add_next_victims(solver) && try_scenario(solver, pending, purpose)) return true;
  return false;
}

/* Limits the session to the first `n` next pods of the job; 0: ends the limit. */
static void look_at_part(struct hr__kai_solver *solver, uint32_t pending, uint32_t n) {
  struct hr__kai_session *session = solver->session;
  session->part_job = n > 0 ? pending : HR__KAI_NONE;
  session->part_n = n;
  session->part_pods = solver->part;
  session->jobs[pending].is_cached = 0;
}

/* Finds the nodes on which the job may be placed without evictions. If all its pods request GPUs, these are the nodes
   with free GPUs, else all nodes. */
static void find_feasible(struct hr__kai_solver *solver, uint32_t pending) {
  const struct hr__kai_cluster *cluster = solver->session->cluster;
  const struct hr__kai_job *job = &cluster->jobs[pending];
  bool all_want = true;
  for (uint32_t p = job->first_pod; p < job->first_pod + job->n_pods; p++)
    all_want = all_want && hr__kai_wants_gpus(&cluster->pods[p]);
  for (uint32_t n = 0; n < cluster->n_nodes; n++) {
    double gpus[2];
    int64_t mib;
    hr__kai_free_gpus(solver->session, n, gpus, &mib);
    solver->free[n] = !all_want || gpus[0] > 0 || gpus[1] > 0;
    solver->lost[n] = 0;
  }
}

static void remember_allocated(struct hr__kai_solver *solver) {
  const struct hr__kai_cluster *cluster = solver->session->cluster;
  for (uint32_t q = 0; q < cluster->n_queues; q++) {
    solver->allocated[2 * q] = hr__kai_allocated_of(&cluster->queues[q]);
    solver->allocated[2 * q + 1] = hr__kai_non_preemptible_of(&cluster->queues[q]);
  }
}

bool hr__kai_solve(struct hr__kai_solver *solver, uint32_t job, enum hr__kai_purpose purpose) {
  struct hr__kai_session *session = solver->session;
  const struct hr__kai_mark mark = hr__kai_mark(session);
  const int64_t n_used = session->jobs[job].n_used;
  const uint32_t n = hr__kai_next_pods(session, job, false, solver->part, solver->sets);
  bool solved = n > 0;
  solver->recorded.n_groups = solver->recorded.n_pods = 0;
  forget_evicted(solver, 0);
  remember_allocated(solver);
  find_feasible(solver, job);
  look_at_part(solver, job, n);
  if (solved) solved = may_suffice(solver, job, purpose);
  for (uint32_t k = 1; k <= n && solved; k++) {
    look_at_part(solver, job, k);
    solved = solve_part(solver, job, purpose);
    if (!solved || k == n) break;
    record(solver);
    hr__kai_undo(session, mark);
    forget_evicted(solver, 0);
  }
  look_at_part(solver, job, 0);
  solved = solved && hr__kai_gang_runs(session, job) && session->jobs[job].n_used > n_used;
  if (!solved) hr__kai_undo(session, mark);
  return solved;
}
