/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The plug-ins that vote on the action enqueue by other limits than those of queues: overcommit (of the cluster),
   resourcequota (of a namespace) and sla (a maximum wait).
   Source: volcano-sh/volcano, pkg/scheduler/plugins/{overcommit,resourcequota,sla}. */

#include "policies/volcano/session.h"

#define DEFAULT_FACTOR 1.2

/* ---- overcommit ---- */

void hr__volcano_admission_open(struct hr__volcano_session *session) {
  const struct hr__volcano_plugin *plugin = session->plugin[HR__VOLCANO_OVERCOMMIT];
  if (!plugin) return;
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  double factor = plugin->arguments.overcommit_factor;
  session->overcommit_idle = session->total;
  hr__volcano_multiply(&session->overcommit_idle, factor < 1 ? DEFAULT_FACTOR : factor);
  for (uint32_t i = 0; i < snapshot->n_nodes; i++)
    hr__volcano_subtract(&session->overcommit_idle, &session->nodes[i].used);
  hr__volcano_clear(&session->overcommit_inqueue);
  for (uint32_t i = 0; i < snapshot->n_jobs; i++) {
    const struct hr__volcano_job *job = &snapshot->jobs[i];
    if (!job->has_min_resources || job->queue == HR__VOLCANO_NONE) continue;
    struct hr__volcano_vector more;
    if (job->phase == HR__VOLCANO_PHASE_INQUEUE)
      more = hr__volcano_minimum(session, i);
    else if (job->phase == HR__VOLCANO_PHASE_RUNNING &&
             (int64_t)hr__volcano_allocated_tasks(session, i) >= job->min_available)
      more = hr__volcano_reserved(session, i, &session->job_allocated[i]);
    else
      continue;
    hr__volcano_add(&session->overcommit_inqueue, &more);
  }
}

bool hr__volcano_overcommit_allows(const struct hr__volcano_session *session, uint32_t job) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  if (!info->has_min_resources) return true;
  struct hr__volcano_vector used = session->overcommit_inqueue;
  hr__volcano_add(&used, &info->min_resources);
  return hr__volcano_within(&used, &session->overcommit_idle, &info->min_resources);
}

/* ---- resourcequota ---- */

static bool quota_limits(const struct hr__volcano_namespace_quota *quota, uint32_t dimension) {
  if (dimension == HR__VOLCANO_CPU) return quota->limits_cpu;
  if (dimension == HR__VOLCANO_MEMORY) return quota->limits_memory;
  return hr__volcano_has(&quota->hard, dimension);
}

bool hr__volcano_quota_allows(const struct hr__volcano_session *session, uint32_t job) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  if (!info->has_min_resources) return true;
  const struct hr__volcano_vector *pending = &session->namespace_pending[info->name_space];
  for (uint32_t i = 0; i < session->snapshot->n_quotas; i++) {
    const struct hr__volcano_namespace_quota *quota = &session->snapshot->quotas[i];
    if (quota->name_space != info->name_space) continue;
    for (uint32_t k = 0; k < info->min_resources.width; k++)
      if (info->min_resources.amount[k] > 0 && quota_limits(quota, k) &&
          quota->used.amount[k] + pending->amount[k] + info->min_resources.amount[k] > quota->hard.amount[k])
        return false;
  }
  return true;
}

void hr__volcano_quota_enqueued(struct hr__volcano_session *session, uint32_t job) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  if (info->has_min_resources) hr__volcano_add(&session->namespace_pending[info->name_space], &info->min_resources);
}

/* ---- sla ---- */

/* The maximum wait of a job: its own, or that of the plug-in; 0: none. */
static int64_t waiting_us(const struct hr__volcano_session *session, uint32_t job) {
  int64_t own = session->snapshot->jobs[job].waiting_us;
  return own > 0 ? own : session->plugin[HR__VOLCANO_SLA]->arguments.waiting_us;
}

bool hr__volcano_sla_is_over(const struct hr__volcano_session *session, uint32_t job) {
  int64_t limit = waiting_us(session, job);
  return limit > 0 && session->config->now_us - session->snapshot->jobs[job].created_us >= limit;
}

int hr__volcano_sla_compare(const struct hr__volcano_session *session, uint32_t left, uint32_t right) {
  int64_t a = waiting_us(session, left), b = waiting_us(session, right);
  if (a <= 0 || b <= 0) return (a <= 0) - (b <= 0);
  a += session->snapshot->jobs[left].created_us;
  b += session->snapshot->jobs[right].created_us;
  return (a > b) - (a < b);
}
