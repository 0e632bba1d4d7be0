/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gangs: which pods of a job are next.
 *
 * A job has pod sets; each lists its pods by the order of tasks. A pod set below its minimum gets all the pods that it
 * lacks at once; at or above its minimum it grows by one pod. While a pod set is below its minimum, only as many pod
 * sets are served as are below it. Victims are taken in the opposite order: one pod while a pod set is above its
 * minimum, else the whole job. If a solver looks at a part of the job, its next pods are those of the part.
 *
 * Source: KAI-Scheduler, api/podgroup_info (allocation_info, eviction_info), plugins/elastic and subgrouporder.
 */

#include "policies/kai/gangs.h"

static const struct hr__kai_pod_set *set_of(const struct hr__kai_session *session, uint32_t set) {
  return &session->cluster->sets[set];
}

/* The pods of a pod set that have a place, without those that are taken. */
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

bool hr__kai_is_ready(const struct hr__kai_session *session, uint32_t job) {
  const struct hr__kai_job *described = &session->cluster->jobs[job];
  for (uint32_t s = described->first_set; s < described->first_set + described->n_sets; s++)
    if (session->sets[s].n_alive - session->sets[s].count[HR__KAI_GATED] < set_of(session, s)->min_available)
      return false;
  return true;
}

bool hr__kai_gang_runs(const struct hr__kai_session *session, uint32_t job) {
  const struct hr__kai_job *described = &session->cluster->jobs[job];
  for (uint32_t s = described->first_set; s < described->first_set + described->n_sets; s++)
    if (session->sets[s].n_used < set_of(session, s)->min_available) return false;
  return true;
}

bool hr__kai_is_elastic(const struct hr__kai_session *session, uint32_t job) {
  const struct hr__kai_job *described = &session->cluster->jobs[job];
  for (uint32_t s = described->first_set; s < described->first_set + described->n_sets; s++)
    if (set_of(session, s)->min_available < set_of(session, s)->n_pods) return true;
  return false;
}

bool hr__kai_must_wait(const struct hr__kai_session *session, uint32_t job) {
  const struct hr__kai_job *described = &session->cluster->jobs[job];
  for (uint32_t s = described->first_set; s < described->first_set + described->n_sets; s++) {
    const int64_t n_waiting = session->sets[s].count[HR__KAI_PIPELINED];
    if (n_waiting > 0 && session->sets[s].n_active - n_waiting < set_of(session, s)->min_available) return true;
  }
  return false;
}

/* ---- Order of pod sets ---- */

/* Whether pod set `l` comes before `r`: below its minimum, then the smaller part of the minimum, then the name. */
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

/* Adds the next pods of a pod set: those that it lacks, or one. Returns their number. */
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

/* Adds up to `wanted` pods of a pod set that have a place, the last ones first. Returns their number. */
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
