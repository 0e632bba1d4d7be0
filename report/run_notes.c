/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a person should know of how a run went. */

#include "report/run_notes.h"

#include "headroom/why.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A run without a horizon in which jobs wait for what never comes, or lose their work again and again. */
static enum hr_status note_standstill(const struct hr_result *result, struct hr_notes *notes) {
  uint64_t left = result->n_waiting + result->n_running;
  if (!result->stood_still) return HR_OK;
  return hr_notes_add(notes,
                      "warning: the run was given up after %" PRId64 " days, %" PRIu64
                      " job%s unfinished: for a year none ended and no work became safe; 'horizon_s' ends a run sooner",
                      result->end_us / (86400 * HR_SECOND_US), left, left == 1 ? "" : "s");
}

/* Likewise of jobs that die for want of GPU memory: a gang, it may be, whose tasks sit on one GPU. */
static enum hr_status note_kills(const struct hr_result *result, struct hr_notes *notes) {
  uint64_t dead = 0;
  if (!result->stood_still) return HR_OK;
  for (uint32_t job = 0; job < result->n_jobs; job++)
    dead += result->state[job] == HR_JOB_RUNNING && result->fate && result->fate[job].oom_kills > 0;
  if (dead == 0) return HR_OK;
  return hr_notes_add(notes,
                      "warning: %" PRIu64
                      " job%s found too little GPU memory to the end, beside others or with several "
                      "tasks on one GPU; \"memory\": \"reserved\" keeps a pool's memory for who asks for it",
                      dead, dead == 1 ? "" : "s");
}

/* ---- Rejections ------------------------------------------------------------------------------------- */

/* Those for which a job can never run, as they are told. */
static const enum hr_reason reasons[] = {HR_REASON_TOO_LARGE,  HR_REASON_NO_GPU_TYPE,    HR_REASON_GPU_MEMORY,
                                         HR_REASON_NO_REGION,  HR_REASON_NO_CLASS_POOL,  HR_REASON_SPOT_ONLY,
                                         HR_REASON_OVER_QUOTA, HR_REASON_NODE_TOO_SMALL, HR_REASON_MIG_PROFILE,
                                         HR_REASON_NO_GROUP,   HR_REASON_POLICY};

void hr__rejections_add(struct hr__rejections *rejections, const struct hr_trace *trace, hr_job job,
                        enum hr_reason reason) {
  struct hr__rejected *rejected = &rejections->of[reason];
  char buffer[HR_JOB_ID_BUFFER];
  uint32_t n_ids = rejected->count < HR__MOST_REJECTED_IDS ? (uint32_t)rejected->count : HR__MOST_REJECTED_IDS, at = 0;
  rejected->count++;
  while (at < n_ids && rejected->first[at].id < job.id) at++;
  if (at == HR__MOST_REJECTED_IDS) return;
  for (uint32_t i = n_ids < HR__MOST_REJECTED_IDS ? n_ids : n_ids - 1; i > at; i--) {
    rejected->first[i] = rejected->first[i - 1];
    memcpy(rejected->id[i], rejected->id[i - 1], HR__REJECTED_ID_BYTES);
  }
  rejected->first[at] = job;
  snprintf(rejected->id[at], HR__REJECTED_ID_BYTES, "%s", hr_trace_job_id(trace, job, buffer));
}

static enum hr_status note_rejected(const struct hr__rejected *rejected, enum hr_reason reason,
                                    struct hr_notes *notes) {
  uint64_t count = rejected->count;
  char ids[HR__MOST_REJECTED_IDS * (HR__REJECTED_ID_BYTES + 2)] = "";
  size_t used = 0;
  for (uint32_t i = 0; i < count && i < HR__MOST_REJECTED_IDS; i++)
    used += (size_t)snprintf(ids + used, sizeof ids - used, "%s%s", i ? ", " : "", rejected->id[i]);
  if (count == 0) return HR_OK;
  return hr_notes_add(notes, "%" PRIu64 " job%s can never run and %s rejected: %s%s (%s: %s)", count,
                      count == 1 ? "" : "s", count == 1 ? "was" : "were", ids,
                      count > HR__MOST_REJECTED_IDS ? ", ..." : "", hr_reason_name(reason), hr_rejection_words(reason));
}

enum hr_status hr__rejections_note(const struct hr__rejections *rejections, struct hr_notes *notes) {
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons && status == HR_OK; i++)
    status = note_rejected(&rejections->of[reasons[i]], reasons[i], notes);
  return status;
}

/* None where the run was streamed: they were noted while it went. */
static enum hr_status note_all_rejected(const struct hr_trace *trace, const struct hr_result *result,
                                        struct hr_notes *notes) {
  struct hr__rejections rejections = {0};
  for (uint32_t job = 0; job < result->n_jobs && result->n_rejected > 0; job++)
    if (result->state[job] == HR_JOB_REJECTED)
      hr__rejections_add(&rejections, trace, (hr_job){job}, (enum hr_reason)result->reason[job]);
  return hr__rejections_note(&rejections, notes);
}

/* ---- All of it -------------------------------------------------------------------------------------- */

static bool has_tenant(const struct hr_trace *trace, const char *name) {
  for (uint32_t i = 0; i < trace->tenants.count; i++)
    if (strcmp(trace->tenants.text[i], name) == 0) return true;
  return false;
}

enum hr_status hr_run_notes(const struct hr_trace *trace, const struct hr_cost_spec *costs,
                            const struct hr_quota_spec *quotas, const struct hr_result *result, struct hr_notes *notes,
                            struct hr_error *error) {
  enum hr_status status = note_standstill(result, notes);
  if (status == HR_OK) status = note_kills(result, notes);
  for (size_t i = 0; i < costs->n_budgets && status == HR_OK; i++)
    if (!has_tenant(trace, costs->budgets[i].tenant))
      status =
          hr_notes_add(notes, "the budget of tenant '%s': no job of the trace is theirs", costs->budgets[i].tenant);
  for (uint32_t i = 0; status == HR_OK && quotas && i < quotas->n_nodes; i++) {
    const struct hr_quota_node *node = &quotas->nodes[i];
    if (node->is_tenant && !has_tenant(trace, node->name))
      status = hr_notes_add(notes, "the quota of tenant '%s': no job of the trace is theirs", node->name);
  }
  if (status == HR_OK) status = note_all_rejected(trace, result, notes);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory");
}
