/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run of a check: made, kept as a baseline keeps it, and compared at once, while its jobs are still there. */

#include "headroom/replay.h"
#include "plan/checking.h"
#include "plan/figures.h"
#include "plan/job_starts.h"
#include "plan/replicating.h"
#include "report/policy_words.h"

#include <stdlib.h>
#include <string.h>

static enum hr_status no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory for the check");
}

static bool describe(const struct hr_check *check, struct hr__check_case *item) {
  const struct hr__check_trace *trace = &check->traces[item->trace];
  struct hr_baseline_run *now = &item->now;
  now->name = strdup(item->name);
  now->policy = hr__policy_words(&item->scenario->policy);
  now->trace = strdup(hr__base_name(trace->path));
  now->seed = item->scenario->seed;
  now->trace_digest = trace->digest;
  now->n_jobs = trace->trace->n_jobs;
  return now->name && now->policy && now->trace;
}

/* ---- One run ---------------------------------------------------------------------------------------- */

static enum hr_status keep(const struct hr_replay *replay, const struct hr__decisions *decisions,
                           struct hr_baseline_run *now) {
  const struct hr__one_run run = {
      .summary = replay->summary, .preemptions = replay->preemptions, .restarts = replay->restarts};
  now->digest = replay->summary->digest;
  now->decisions = decisions->count;
  now->spacing = decisions->spacing;
  now->chain = hr__decisions_chain(decisions);
  now->starts = hr__job_starts_code(replay->result);
  if (!now->chain || !now->starts) return HR_NO_MEMORY;
  return hr__check_figures(&run, replay->config.trace, now);
}

static enum hr_status run_once(const struct hr_check *check, struct hr__check_case *item, struct hr_progress progress,
                               struct hr_error *error) {
  const struct hr_replay_config config = {.scenario = item->scenario,
                                          .trace = check->traces[item->trace].trace,
                                          .seed = item->scenario->seed,
                                          .progress = progress};
  struct hr__decisions decisions;
  struct hr_replay replay;
  enum hr_status status = hr_replay_init(&replay, &config, error);
  bool whole = hr__decisions_init(&decisions);
  if (status == HR_OK && !whole) status = no_memory(error);
  if (status == HR_OK) status = hr_replay_add(&replay, hr__decisions_fold(&decisions), error);
  if (status == HR_OK) status = hr_replay_run(&replay, error);
  if (status == HR_OK && (keep(&replay, &decisions, &item->now) != HR_OK ||
                          hr__check_compare(check, item, replay.result, &decisions) != HR_OK))
    status = no_memory(error);
  hr__decisions_finish(&decisions);
  hr_replay_finish(&replay);
  bool later = item->start.found && item->start.now_s > item->start.before_s;
  return status == HR_OK && later ? hr__check_held(check, item, error) : status;
}

/* ---- Replications ----------------------------------------------------------------------------------- */

static enum hr_status run_often(const struct hr_check *check, struct hr__check_case *item, struct hr_error *error) {
  const struct hr_replicate_config config = {.scenario = item->scenario,
                                             .overrides = item->overrides,
                                             .n_overrides = item->n_overrides,
                                             .trace = check->traces[item->trace].trace,
                                             .spec = &item->scenario->replications,
                                             .n_threads = check->n_cases == 1 ? check->config.n_threads : 1};
  struct hr_replicates *replicates = NULL;
  enum hr_status status = hr_replicate(&config, &replicates, error);
  if (status != HR_OK) return status;
  item->now.replications = hr_replicates_count(replicates);
  item->now.digest = replicates->first.summary->digest;
  item->now.spacing = 1;
  item->now.chain = strdup("");
  if (!item->now.chain || hr__check_replicated_figures(replicates, config.trace, &item->now) != HR_OK ||
      hr__check_compare(check, item, NULL, NULL) != HR_OK)
    status = no_memory(error);
  hr_replicates_destroy(replicates);
  return status;
}

enum hr_status hr__check_run(const struct hr_check *check, struct hr__check_case *item, struct hr_progress progress,
                             struct hr_error *error) {
  const struct hr_replication_spec *spec = &item->scenario->replications;
  if (!describe(check, item)) return no_memory(error);
  return spec->count > 1 || spec->metric.text ? run_often(check, item, error) : run_once(check, item, progress, error);
}
