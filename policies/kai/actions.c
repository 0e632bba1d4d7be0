/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The actions of a session.
 *
 * - allocate places jobs on free resources. A job that still has pending pods after some were placed is put back into
 *   the order.
 * - consolidation moves preemptible pods to other nodes, if all of them can be placed again.
 * - reclaim takes resources from other queues.
 * - preempt takes resources from jobs of lower priority in the same queue.
 * - stalegangeviction evicts jobs that have run with fewer pods than their minimum for longer than a grace period.
 *
 * Invariant: all statements are committed or undone before the next job is examined.
 *
 * Source: KAI-Scheduler, actions.
 */

#include "policies/kai/solver.h"

#include "policies/kai/session.h"

/* ---- Gangs --------------------------------------------------------------------------------------------- */

/*
 * Gangs: the choice of the next pods of a job.
 *
 * A job has pod sets; each lists its pods in task order. If a pod set is below its minimum, its next pods are all the
 * pods that it lacks; otherwise its next pods are a single pod. If n pod sets are below their minimum, at most n pod
 * sets get pods. If none is below its minimum, at most one gets a pod. Victims are chosen in the opposite order: a
 * single pod if some pod set is above its minimum, else the whole job. While the solver examines a part of the job, the
 * next pods are those of the part.
 *
 * Source: KAI-Scheduler, api/podgroup_info (allocation_info, eviction_info), plugins/elastic and subgrouporder.
 */

static const struct hr__kai_pod_set *set_of(const struct hr__kai_session *session, uint32_t set) {
  return &session->cluster->sets[set];
}

/* The number of active pods of a pod set that are not `taken`. */
static int64_t active_in(const struct hr__kai_session *session, uint32_t set, const uint8_t *taken) {
  int64_t n = session->sets[set].n_active;
  if (!taken) return n;
  const struct hr__kai_pod_set *described = set_of(session, set);
  for (uint32_t i = 0; i < described->n_pods; i++) {
    const uint32_t pod = session->cluster->pods_of_sets[described->first_pod + i];
    n -= taken[pod] && hr__kai_is(session->pods[pod].status, HR__KAI_ACTIVE);
  }
  return n;
}

/* Whether each pod set has at least its minimum of pods that are alive and not gated. */
static bool is_ready(const struct hr__kai_session *session, uint32_t job) {
  const struct hr__kai_job *described = &session->cluster->jobs[job];
  for (uint32_t s = described->first_set; s < described->first_set + described->n_sets; s++)
    if (session->sets[s].n_alive - session->sets[s].count[HR__KAI_GATED] < set_of(session, s)->min_available)
      return false;
  return true;
}

/* Whether some pod set has pipelined pods and, without these, fewer active pods than its minimum. */
static bool must_wait(const struct hr__kai_session *session, uint32_t job) {
  const struct hr__kai_job *described = &session->cluster->jobs[job];
  for (uint32_t s = described->first_set; s < described->first_set + described->n_sets; s++) {
    const int64_t n_waiting = session->sets[s].count[HR__KAI_PIPELINED];
    if (n_waiting > 0 && session->sets[s].n_active - n_waiting < set_of(session, s)->min_available) return true;
  }
  return false;
}

/* ---- Order of pod sets ---- */

/* Whether pod set `l` comes before `r`. Pod sets below their minimum come first. The others are ordered by the ratio of
   active pods to their minimum, the smaller one first. Ties are broken by name. */
static bool set_before(const struct hr__kai_session *session, uint32_t l, uint32_t r, const uint8_t *taken) {
  const double active_l = (double)active_in(session, l, taken), active_r = (double)active_in(session, r, taken);
  const double min_l = set_of(session, l)->min_available, min_r = set_of(session, r)->min_available;
  if (session->cluster->config.pod_set_order) {
    if ((active_l < min_l) != (active_r < min_r)) return active_l < min_l;
    if (active_l >= min_l) {
      if (active_l / min_l < active_r / min_r) return true;
      if (active_l / min_l > active_r / min_r) return false;
    }
  }
  return set_of(session, l)->name_rank < set_of(session, r)->name_rank;
}

static void sort_sets(const struct hr__kai_session *session, uint32_t *sets, uint32_t n, const uint8_t *taken) {
  for (uint32_t i = 1; i < n; i++) {
    const uint32_t set = sets[i];
    uint32_t at = i;
    for (; at > 0 && set_before(session, set, sets[at - 1], taken); at--) sets[at] = sets[at - 1];
    sets[at] = set;
  }
}

void hr__kai_sort_sets(const struct hr__kai_session *session, uint32_t *sets, uint32_t n) {
  sort_sets(session, sets, n, NULL);
}

static uint32_t sorted_sets_of(const struct hr__kai_session *session, uint32_t job, const uint8_t *taken,
                               uint32_t *sets) {
  const struct hr__kai_job *described = &session->cluster->jobs[job];
  for (uint32_t i = 0; i < described->n_sets; i++) sets[i] = described->first_set + i;
  sort_sets(session, sets, described->n_sets, taken);
  return described->n_sets;
}

/* ---- Next pods ---- */

static bool is_waiting(const struct hr__kai_session *session, uint32_t pod, bool real) {
  const struct hr__kai_pod_state *state = &session->pods[pod];
  return state->status == HR__KAI_PENDING || (!real && state->status == HR__KAI_RELEASING && state->is_virtual);
}

/* Adds the next pods of a pod set: all that it lacks, or one if it has its minimum. Returns their number. `real`: does
   not add pods that were evicted by the current, uncommitted changes of the session (statement.c). */
static uint32_t add_next(const struct hr__kai_session *session, uint32_t set, bool real, uint32_t *pods) {
  const struct hr__kai_pod_set *described = set_of(session, set);
  const int64_t n_active = session->sets[set].n_active, min = described->min_available;
  const int64_t wanted = n_active >= min ? 1 : min - n_active;
  uint32_t n = 0;
  for (uint32_t i = 0; i < described->n_pods && n < wanted; i++) {
    const uint32_t pod = session->cluster->pods_of_sets[described->first_pod + i];
    if (is_waiting(session, pod, real)) pods[n++] = pod;
  }
  return n;
}

uint32_t hr__kai_next_pods(const struct hr__kai_session *session, uint32_t job, bool real, uint32_t *pods,
                           uint32_t *sets) {
  if (job == session->part_job) {
    for (uint32_t i = 0; i < session->part_n; i++) pods[i] = session->part_pods[i];
    return session->part_n;
  }
  const uint32_t n_sets = sorted_sets_of(session, job, NULL, sets);
  uint32_t n_unsatisfied = 0, n_served = 0, n = 0;
  for (uint32_t i = 0; i < n_sets; i++)
    n_unsatisfied += session->sets[sets[i]].n_active < set_of(session, sets[i])->min_available;
  if (n_unsatisfied == 0) n_unsatisfied = 1;
  for (uint32_t i = 0; i < n_sets && n_served < n_unsatisfied; i++) {
    const uint32_t added = add_next(session, sets[i], real, pods + n);
    n += added;
    n_served += added > 0;
  }
  return n;
}

/* Adds up to `wanted` active pods of a pod set that are not `taken`, the last ones first. Returns their number. */
static uint32_t add_victims(const struct hr__kai_session *session, uint32_t set, const uint8_t *taken, int64_t wanted,
                            uint32_t *pods) {
  const struct hr__kai_pod_set *described = set_of(session, set);
  uint32_t n = 0;
  for (uint32_t i = described->n_pods; i-- > 0 && n < wanted;) {
    const uint32_t pod = session->cluster->pods_of_sets[described->first_pod + i];
    if (!taken[pod] && hr__kai_is(session->pods[pod].status, HR__KAI_ACTIVE)) pods[n++] = pod;
  }
  return n;
}

uint32_t hr__kai_next_victims(const struct hr__kai_session *session, uint32_t job, const uint8_t *taken, uint32_t *pods,
                              uint32_t *sets) {
  const uint32_t n_sets = sorted_sets_of(session, job, taken, sets);
  uint32_t max_sets = n_sets, n = 0;
  for (uint32_t i = 0; i < n_sets; i++)
    if (active_in(session, sets[i], taken) > set_of(session, sets[i])->min_available) max_sets = 1;
  for (uint32_t i = n_sets; i-- > n_sets - max_sets;) {
    const int64_t n_active = active_in(session, sets[i], taken);
    const bool above = n_active > set_of(session, sets[i])->min_available;
    n += add_victims(session, sets[i], taken, above ? 1 : n_active, pods + n);
  }
  return n;
}

/* ---- Order of jobs ---- */

int hr__kai_elastic_state(const struct hr__kai_session *session, uint32_t job, const uint8_t *taken) {
  if (job == session->part_job) return -1;
  const struct hr__kai_job *described = &session->cluster->jobs[job];
  int state = 0;
  for (uint32_t s = described->first_set; s < described->first_set + described->n_sets; s++) {
    const int64_t n_active = active_in(session, s, taken), min = set_of(session, s)->min_available;
    if (n_active < min) return -1;
    if (n_active > min) state = 1;
  }
  return state;
}

void hr__kai_cache_job(struct hr__kai_session *session, uint32_t job, uint32_t *pods, uint32_t *sets) {
  struct hr__kai_job_state *state = &session->jobs[job];
  if (state->is_cached) return;
  state->request = (struct hr__kai_amounts){{0}};
  const uint32_t n = hr__kai_next_pods(session, job, false, pods, sets);
  for (uint32_t i = 0; i < n; i++) {
    const struct hr__kai_amounts amounts = hr__kai_request_of(session->cluster, pods[i]);
    hr__kai_add(&state->request, &amounts);
  }
  state->elastic = hr__kai_elastic_state(session, job, NULL);
  state->is_cached = 1;
}

/* ---- Actions ------------------------------------------------------------------------------------------- */

struct hr__kai_cycle *hr__kai_cycle_create(struct hr__kai_session *session) {
  const struct hr__kai_cluster *cluster = session->cluster;
  struct hr_arena *arena = session->arena;
  struct hr__kai_cycle *cycle = hr_arena_alloc(arena, sizeof *cycle);
  if (!cycle) return NULL;
  cycle->session = session;
  if (!HR__ARENA_ARRAY(arena, cycle->pods, cluster->n_pods) || !HR__ARENA_ARRAY(arena, cycle->sets, cluster->n_sets) ||
      !HR__ARENA_ARRAY(arena, cycle->all_nodes, cluster->n_nodes) ||
      !HR__ARENA_ARRAY(arena, cycle->failed, cluster->n_jobs) ||
      !HR__ARENA_ARRAY(arena, cycle->last_failed, cluster->n_queues) ||
      !HR__ARENA_ARRAY(arena, cycle->dead, cluster->room_classes) || !hr__kai_placer_create(&cycle->placer, session) ||
      !hr__kai_solver_create(&cycle->solver, session, &cycle->placer) ||
      !hr__kai_order_create(&cycle->order, session, cycle->pods, cycle->sets))
    return NULL;
  for (uint32_t n = 0; n < cluster->n_nodes; n++) cycle->all_nodes[n] = 1;
  return cycle;
}

/* ---- Jobs that need not be tried ---- */

/*
 * With signatures, KAI compares each job with the jobs that have failed in the same action. It skips a job that is not
 * easier to place than one of the failed jobs: it has the same constraints and no fewer pods, and its pods do not
 * request less.
 *
 * With classes, jobs with a known outcome are skipped; this changes no decision. As long as pods are only placed and
 * never evicted, a job fails in `allocate` if a job of its class has failed (FOR_GOOD). A job that may not reclaim now
 * is considered again only after another job got a place (FOR_NOW). If only jobs with a known outcome are left, the
 * action ends.
 */
enum { FOR_NOW = 1, FOR_GOOD = 2 };

static void begin_action(struct hr__kai_cycle *cycle) {
  const struct hr__kai_cluster *cluster = cycle->session->cluster;
  cycle->n_failed = 0;
  cycle->n_live = 0;
  for (uint32_t q = 0; q < cluster->n_queues; q++) cycle->last_failed[q] = HR__KAI_NONE;
  for (uint32_t c = 0; cluster->leaves && c < cluster->n_classes; c++) {
    cycle->dead[c] = 0;
    cycle->n_live += cluster->jobs_of_class[c] > 0;
  }
}

static void bury(struct hr__kai_cycle *cycle, uint32_t job, uint8_t how) {
  const struct hr__kai_cluster *cluster = cycle->session->cluster;
  if (!cluster->leaves) return;
  uint8_t *dead = &cycle->dead[cluster->class_of[job]];
  if (*dead == 0) cycle->n_live--;
  if (how > *dead) *dead = how;
  hr__kai_order_pass(&cycle->order, job);
}

/* Whether the outcome of a job that was removed from the order is already known. */
static bool is_dead(struct hr__kai_cycle *cycle, uint32_t job) {
  const struct hr__kai_cluster *cluster = cycle->session->cluster;
  if (!cluster->leaves || cycle->dead[cluster->class_of[job]] == 0) return false;
  hr__kai_order_pass(&cycle->order, job);
  return true;
}

/* After a job has got a place, considers jobs again that were skipped until then. */
static void revive(struct hr__kai_cycle *cycle) {
  const struct hr__kai_cluster *cluster = cycle->session->cluster;
  cycle->order.passes = false; // allocations of other queues than that of the last job have changed
  for (uint32_t c = 0; cluster->leaves && c < cluster->n_classes; c++) {
    if (cycle->dead[c] != FOR_NOW) continue;
    cycle->dead[c] = 0;
    cycle->n_live++;
  }
}

/* Whether only jobs with a known outcome are left. */
static bool is_over(struct hr__kai_cycle *cycle) {
  return hr__kai_order_is_empty(&cycle->order) || (cycle->session->cluster->leaves && cycle->n_live == 0);
}

/* Whether `job` is not easier to place than `other`. */
static bool is_no_easier(const struct hr__kai_cluster *cluster, uint32_t job, uint32_t other) {
  const struct hr__kai_job *a = &cluster->jobs[job], *b = &cluster->jobs[other];
  const struct hr__kai_constraint *l = &cluster->groups[a->first_group].constraint,
                                  *r = &cluster->groups[b->first_group].constraint;
  const struct hr__kai_pod *pod = &cluster->pods[a->first_pod], *rival = &cluster->pods[b->first_pod];
  if (a->n_pods < b->n_pods || pod->kind != rival->kind || pod->allowed_nodes != rival->allowed_nodes) return false;
  if (l->topology != r->topology || l->required != r->required || l->preferred != r->preferred) return false;
  if (pod->portion < rival->portion || pod->n_devices < rival->n_devices || pod->gpu_mib < rival->gpu_mib) return false;
  const int64_t *least = cluster->pods[a->first_pod + a->n_pods - 1].request;
  for (uint32_t d = 0; d < cluster->n_dims; d++)
    if (least[d] < rival->request[d]) return false;
  return true;
}

/* Records that a job has failed, for is_skipped. */
static void add_failed(struct hr__kai_cycle *cycle, uint32_t job) {
  uint32_t *last = &cycle->last_failed[cycle->session->cluster->jobs[job].queue];
  cycle->failed[cycle->n_failed] = (struct hr__kai_failed){job, *last};
  *last = cycle->n_failed++;
}

/* Whether a job is skipped because it is not easier to place than a job that has failed. `in_queue`: compares the job
   only with failed jobs of its queue. */
static bool is_skipped(const struct hr__kai_cycle *cycle, uint32_t job, bool in_queue) {
  const struct hr__kai_cluster *cluster = cycle->session->cluster;
  if (!cluster->config.signatures) return false;
  for (uint32_t i = in_queue ? cycle->last_failed[cluster->jobs[job].queue] : cycle->n_failed - 1; i != HR__KAI_NONE;
       i = in_queue ? cycle->failed[i].before : i - 1)
    if (is_no_easier(cluster, job, cycle->failed[i].job)) return true;
  return false;
}

/* Fills the order with the jobs that have pending pods, and enough pods for the minimum of each pod set. */
static void collect_pending(struct hr__kai_cycle *cycle, enum hr__kai_action action) {
  const bool only_preemptible = action == HR__KAI_CONSOLIDATE;
  const struct hr__kai_session *session = cycle->session;
  const struct hr__kai_job_list waiting = hr__kai_waiting(session->cluster);
  hr__kai_order_clear(&cycle->order, false, NULL);
  cycle->order.depth = session->cluster->config.depth[action];
  begin_action(cycle);
  if (session->cluster->leaves) {
    hr__kai_order_add_lists(&cycle->order, only_preemptible);
    hr__kai_order_build(&cycle->order);
    return;
  }
  for (uint32_t i = 0; i < waiting.n; i++) {
    const uint32_t j = hr__kai_listed(&waiting, i);
    if (session->jobs[j].n_pending > 0 && is_ready(session, j) &&
        (!only_preemptible || session->cluster->jobs[j].preemptible))
      hr__kai_order_push(&cycle->order, j);
  }
  hr__kai_order_build(&cycle->order);
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
  collect_pending(cycle, HR__KAI_ALLOCATE);
  while (!is_over(cycle)) {
    const uint32_t job = hr__kai_order_pop(&cycle->order);
    if (is_dead(cycle, job)) continue;
    const bool held = holds_a_place(session, job);
    if (!hr__kai_place_job(&cycle->placer, job, cycle->all_nodes, false) || session->n_operations == 0) {
      bury(cycle, job, FOR_GOOD);
      continue;
    }
    hr__kai_order_changed(&cycle->order);
    const bool waits = must_wait(session, job);
    if (waits) hr__kai_pipeline_all(session, job);
    hr__kai_commit(session);
    if (!waits && !held) session->cluster->jobs[job].last_start_us = session->cluster->now_us;
    if (session->jobs[job].n_pending > 0) hr__kai_order_push(&cycle->order, job);
  }
}

/* ---- Consolidation, reclaim, preemption ---- */

/* Writes the next pods of a job to `cycle->pods` and returns their number. */
static uint32_t next_pods(struct hr__kai_cycle *cycle, uint32_t job) {
  return hr__kai_next_pods(cycle->session, job, false, cycle->pods, cycle->sets);
}

/* Whether all nodes together have enough free GPUs and GPU memory for the job. */
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

/* Whether the job is preemptible, or non-preemptible jobs stay within the quotas if it gets its next pods. */
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

/* Whether the action searches for victims for the job. */
static bool is_considered(struct hr__kai_cycle *cycle, uint32_t job, enum hr__kai_purpose purpose) {
  if (purpose == HR__KAI_CONSOLIDATION) return has_free_gpus(cycle, job);
  return purpose == HR__KAI_RECLAIM || stays_within_quotas(cycle, job);
}

static void take_victims(struct hr__kai_cycle *cycle, enum hr__kai_action action) {
  static const enum hr__kai_purpose purposes[] = {[HR__KAI_CONSOLIDATE] = HR__KAI_CONSOLIDATION,
                                                  [HR__KAI_RECLAIM_ACTION] = HR__KAI_RECLAIM,
                                                  [HR__KAI_PREEMPT] = HR__KAI_PREEMPTION};
  const enum hr__kai_purpose purpose = purposes[action];
  const struct hr__kai_config *config = &cycle->session->cluster->config;
  if (purpose == HR__KAI_CONSOLIDATION && config->max_consolidation_victims == 0) return;
  collect_pending(cycle, action);
  while (!is_over(cycle)) {
    const uint32_t job = hr__kai_order_pop(&cycle->order);
    if (is_dead(cycle, job)) continue;
    if (purpose == HR__KAI_RECLAIM && !may_reclaim(cycle, job)) {
      bury(cycle, job, FOR_NOW);
    } else if (is_skipped(cycle, job, purpose != HR__KAI_CONSOLIDATION)) {
      bury(cycle, job, FOR_GOOD);
    } else if (is_considered(cycle, job, purpose) && hr__kai_solve(&cycle->solver, job, purpose)) {
      hr__kai_commit(cycle->session);
      revive(cycle);
    } else if (config->signatures) {
      add_failed(cycle, job);
      bury(cycle, job, FOR_GOOD);
    }
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
  if (action == HR__KAI_ALLOCATE)
    allocate(cycle);
  else if (action == HR__KAI_EVICT_STALE)
    evict_stale(cycle);
  else
    take_victims(cycle, action);
}
