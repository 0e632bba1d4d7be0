/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plug-ins gang, priority and conformance: which jobs are complete, ready or starving, and which tasks a job may
   lose.

   The counts of a job by state are kept by session.c. Counts by role are computed when a job has minimum numbers by
   role. Source: volcano-sh/volcano, pkg/scheduler/plugins/{gang,priority,conformance} and
   pkg/scheduler/api/job_info.go. */

#include "policies/volcano/session.h"

/* ---- Counts ---- */

uint32_t hr__volcano_allocated_tasks(const struct hr__volcano_session *session, uint32_t job) {
  const uint32_t *count = session->job_count[job];
  return count[HR__VOLCANO_ALLOCATED] + count[HR__VOLCANO_BINDING] + count[HR__VOLCANO_BOUND] +
         count[HR__VOLCANO_RUNNING];
}

uint32_t hr__volcano_ready_tasks(const struct hr__volcano_session *session, uint32_t job) {
  return hr__volcano_allocated_tasks(session, job) + session->job_count[job][HR__VOLCANO_SUCCEEDED];
}

/* Sets of states, for counts by role. */
enum {
  READY = 1 << HR__VOLCANO_ALLOCATED | 1 << HR__VOLCANO_BINDING | 1 << HR__VOLCANO_BOUND | 1 << HR__VOLCANO_RUNNING |
          1 << HR__VOLCANO_SUCCEEDED,
  PIPELINED = 1 << HR__VOLCANO_PIPELINED,
  PENDING = 1 << HR__VOLCANO_PENDING
};

/* The number of tasks of a role in one of the states. Pending best-effort tasks can be counted, too. */
static int32_t count_role(const struct hr__volcano_session *session, uint32_t job, uint32_t role, unsigned states,
                          bool with_best_effort) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  int32_t count = 0;
  for (uint32_t i = info->first_task; i < info->first_task + info->n_tasks; i++) {
    if (session->snapshot->tasks[i].role != role) continue;
    enum hr__volcano_state state = session->task_state[i];
    count += (states >> state & 1) || (with_best_effort && state == HR__VOLCANO_PENDING && session->is_best_effort[i]);
  }
  return count;
}

/* Whether each role has its minimum number of tasks in the given states. The minimums by role apply only if the minimum
   of the job is at least their sum. */
static bool roles_are_met(const struct hr__volcano_session *session, uint32_t job, unsigned states,
                          bool with_best_effort) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  if (!info->role_min_total || info->min_available < info->role_min_total) return true;
  for (uint32_t role = 0; role < info->n_roles; role++)
    if (info->role_min[role] && count_role(session, job, role, states, with_best_effort) < info->role_min[role])
      return false;
  return true;
}

/* ---- gang ---- */

bool hr__volcano_gang_is_valid(const struct hr__volcano_session *session, uint32_t job) {
  const uint32_t *count = session->job_count[job];
  uint32_t valid = hr__volcano_ready_tasks(session, job) + count[HR__VOLCANO_PIPELINED] + count[HR__VOLCANO_PENDING];
  return roles_are_met(session, job, READY | PIPELINED | PENDING, false) &&
         (int64_t)valid >= session->snapshot->jobs[job].min_available;
}

/* Whether enough tasks are ready, without regard to roles. */
static bool has_minimum(const struct hr__volcano_session *session, uint32_t job, bool with_pipelined) {
  uint32_t count = hr__volcano_ready_tasks(session, job) + session->job_pending_best_effort[job];
  if (with_pipelined) count += session->job_count[job][HR__VOLCANO_PIPELINED];
  return (int64_t)count >= session->snapshot->jobs[job].min_available;
}

bool hr__volcano_gang_is_ready(const struct hr__volcano_session *session, uint32_t job, bool with_pipelined) {
  return has_minimum(session, job, with_pipelined) &&
         roles_are_met(session, job, READY | (with_pipelined ? PIPELINED : 0), true);
}

bool hr__volcano_gang_is_starving(const struct hr__volcano_session *session, uint32_t job) {
  uint32_t count = hr__volcano_ready_tasks(session, job) + session->job_count[job][HR__VOLCANO_PIPELINED];
  return (int64_t)count < session->snapshot->jobs[job].min_available;
}

int hr__volcano_gang_compare_jobs(const struct hr__volcano_session *session, uint32_t left, uint32_t right) {
  return (int)has_minimum(session, left, false) - (int)has_minimum(session, right, false);
}

uint32_t hr__volcano_gang_victims(struct hr__volcano_session *session, const uint32_t *candidates, uint32_t n,
                                  uint32_t *victims) {
  uint32_t n_victims = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t job = session->snapshot->tasks[candidates[i]].job, taken = 0;
    if (job == HR__VOLCANO_NONE) continue;
    for (uint32_t k = 0; k < n_victims; k++) taken += session->snapshot->tasks[victims[k]].job == job;
    int64_t left = (int64_t)hr__volcano_ready_tasks(session, job) - taken;
    if (left > session->snapshot->jobs[job].min_available) victims[n_victims++] = candidates[i];
  }
  return n_victims;
}

bool hr__volcano_may_continue(const struct hr__volcano_session *session, uint32_t job) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  if (info->min_available >= (int64_t)info->n_tasks) return false;
  const bool *failed = session->role_failed[job];
  if (info->min_available < info->role_min_total) {
    int64_t left = hr__volcano_ready_tasks(session, job);
    for (uint32_t role = 0; role < info->n_roles; role++)
      if (!failed[role]) left += count_role(session, job, role, PENDING, false);
    return left >= info->min_available;
  }
  for (uint32_t role = 0; role < info->n_roles; role++)
    if (failed[role] && info->role_min[role] && count_role(session, job, role, READY, true) < info->role_min[role])
      return false;
  return true;
}

/* ---- priority ---- */

bool hr__volcano_priority_is_starving(const struct hr__volcano_session *session, uint32_t job) {
  return hr__volcano_ready_tasks(session, job) + session->job_count[job][HR__VOLCANO_PIPELINED] <
         session->snapshot->jobs[job].n_tasks;
}

uint32_t hr__volcano_priority_victims(struct hr__volcano_session *session, uint32_t preemptor,
                                      const uint32_t *candidates, uint32_t n, uint32_t *victims) {
  const struct hr__volcano_task *tasks = session->snapshot->tasks;
  const struct hr__volcano_job *jobs = session->snapshot->jobs;
  uint32_t n_victims = 0, preemptor_job = tasks[preemptor].job;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t task = candidates[i], job = tasks[task].job;
    if (job == HR__VOLCANO_NONE) continue;
    bool lower = job == preemptor_job ? tasks[task].priority < tasks[preemptor].priority
                                      : jobs[job].priority < jobs[preemptor_job].priority;
    if (lower) victims[n_victims++] = task;
  }
  return n_victims;
}

/* ---- conformance ---- */

uint32_t hr__volcano_conformance_victims(struct hr__volcano_session *session, const uint32_t *candidates, uint32_t n,
                                         uint32_t *victims) {
  uint32_t n_victims = 0;
  for (uint32_t i = 0; i < n; i++)
    if (!session->snapshot->tasks[candidates[i]].is_critical) victims[n_victims++] = candidates[i];
  return n_victims;
}
