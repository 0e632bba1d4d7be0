/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Proposals: their overrides in the notation of --set, their assumptions, and their runs, which are compared with the
 * unchanged scenario. Entries of pools are copied from the scenario's JSON and edited. Keys that a proposal does not
 * change therefore keep their values.
 */

#include "plan/advise/advise.h"

#include "base/containers.h"
#include "base/text.h"
#include "plan/search/search.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Names ----------------------------------------------------------------------------------------- */

HR__NAME_FUNCTION(hr_advice_kind_name, enum hr_advice_kind, HR_ADVICE_TABLE)

/* ---- Overrides ------------------------------------------------------------------------------------- */

/* Takes ownership of the text. */
static enum hr_status add_text(struct hr__texts *texts, char *text, struct hr_error *error) {
  if (!text || !HR__ARRAY_HAS_ROOM(texts->at, texts->count, texts->capacity)) {
    free(text);
    return hr__advice_no_memory(error);
  }
  texts->at[texts->count++] = text;
  return HR_OK;
}

enum hr_status hr__proposal_set(struct hr__proposal *proposal, struct hr_error *error, const char *format, ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return add_text(&proposal->set, strdup(text), error);
}

enum hr_status hr__proposal_set_json(struct hr__proposal *proposal, const char *path, cJSON *value,
                                     struct hr_error *error) {
  char *json = value ? cJSON_PrintUnformatted(value) : NULL;
  size_t size = strlen(path) + 2 + (json ? strlen(json) : 0);
  char *text = json ? malloc(size) : NULL;
  if (text) snprintf(text, size, "%s=%s", path, json);
  cJSON_free(json);
  cJSON_Delete(value);
  return add_text(&proposal->set, text, error);
}

enum hr_status hr__proposal_assume(struct hr__proposal *proposal, struct hr_error *error, const char *format, ...) {
  char text[600];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return hr_notes_add(&proposal->assumed, "%s", text) == HR_OK ? HR_OK : hr__advice_no_memory(error);
}

/* ---- Loading --------------------------------------------------------------------------------------- */

/* Whether an override changes the policy. Such a proposal is run once when it is loaded, since some policies reject
   their parameters only at the start of a run. */
static bool changes_policy(const struct hr__proposal *proposal) {
  for (size_t i = 0; i < proposal->set.count; i++)
    if (strncmp(proposal->set.at[i], "policy.", strlen("policy.")) == 0) return true;
  return false;
}

enum hr_status hr__proposal_load(struct hr_advice *advice, struct hr__proposal *proposal, struct hr_error *error) {
  struct hr_error inner = {0};
  enum hr_status status =
      hr__runner_add_candidate(advice->runner, (const char *const *)proposal->set.at, proposal->set.count,
                               advice->environment, &proposal->candidate, &inner);
  if (status == HR_OK && changes_policy(proposal)) status = hr__advice_run(advice, &proposal->candidate, 1, 1, &inner);
  if (status == HR_OK) return HR_OK;
  proposal->candidate = HR_NONE;
  if (status != HR_BAD_INPUT) return hr_fail(error, status, "%s", inner.text);
  status = hr_notes_add(&advice->notes, "%s: %.100s -> %.100s cannot be run: %.500s",
                        hr_advice_kind_name(proposal->kind), proposal->from, proposal->to, inner.text);
  return status == HR_OK ? HR_OK : hr__advice_no_memory(error);
}

enum hr_status hr__proposal_keep(struct hr_advice *advice, struct hr__proposal *proposal, struct hr_error *error) {
  enum hr_status status = proposal->candidate == HR_NONE ? hr__proposal_load(advice, proposal, error) : HR_OK;
  if (status == HR_OK && !HR__ARRAY_HAS_ROOM(advice->proposals, advice->n_proposals, advice->proposal_capacity))
    status = hr__advice_no_memory(error);
  if (status == HR_OK && proposal->candidate != HR_NONE)
    advice->proposals[advice->n_proposals++] = *proposal;
  else
    hr__proposal_finish(proposal);
  return status;
}

/* ---- Entries of pools ------------------------------------------------------------------------------ */

static bool is_taken(const struct hr_advice *advice, const char *name) {
  const struct hr_cluster_spec *cluster = &advice->config.scenario->cluster;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (strcmp(cluster->pools[i].name, name) == 0) return true;
  return false;
}

cJSON *hr__pool_entry(const struct hr_advice *advice, uint32_t pool, const char *suffix, const char *const *unwanted) {
  cJSON *entry = cJSON_Duplicate(cJSON_GetArrayItem(advice->pools, (int)pool), true);
  char name[260];
  if (!entry) return NULL;
  for (size_t i = 0; unwanted[i]; i++) cJSON_DeleteItemFromObjectCaseSensitive(entry, unwanted[i]);
  snprintf(name, sizeof name, "%.180s%s", hr__advice_pool(advice, pool)->name, suffix);
  for (unsigned i = 2; suffix[0] && is_taken(advice, name); i++)
    snprintf(name, sizeof name, "%.180s%s-%u", hr__advice_pool(advice, pool)->name, suffix, i);
  if (!suffix[0] || hr__put_text(entry, "name", name)) return entry;
  cJSON_Delete(entry);
  return NULL;
}

/* ---- Runs ------------------------------------------------------------------------------------------ */

enum hr_status hr__advice_run(struct hr_advice *advice, const uint32_t *candidates, size_t count, uint32_t replications,
                              struct hr_error *error) {
  size_t n_trials = (count + 1) * replications, used = 0;
  struct hr__trial *trials = calloc(n_trials + 1, sizeof *trials);
  if (!trials) return hr__advice_no_memory(error);
  for (uint32_t r = 0; r < replications; r++) {
    trials[used++] = (struct hr__trial){advice->base, r};
    for (size_t i = 0; i < count; i++) trials[used++] = (struct hr__trial){candidates[i], r};
  }
  enum hr_status status = hr__runner_run(advice->runner, trials, n_trials, error);
  free(trials);
  return status;
}

static bool is_exact(const struct hr_advice *advice, uint32_t candidate) {
  return !hr__runner_is_random(advice->runner, advice->base) && !hr__runner_is_random(advice->runner, candidate);
}

static uint32_t count_of(const struct hr_advice *advice, uint32_t candidate, uint32_t replications) {
  return is_exact(advice, candidate) ? 1 : replications;
}

enum hr_status hr__advice_difference(const struct hr_advice *advice, uint32_t candidate, size_t metric,
                                     uint32_t replications, struct hr__interval *interval, struct hr_error *error) {
  uint32_t count = count_of(advice, candidate, replications);
  double *values = malloc(((size_t)count + 1) * sizeof *values);
  if (!values) return hr__advice_no_memory(error);
  for (uint32_t r = 0; r < count; r++)
    values[r] = hr__runner_values(advice->runner, candidate, r)[metric] -
                hr__runner_values(advice->runner, advice->base, r)[metric];
  enum hr_status status =
      hr__interval_uncorrected(values, count, HR_METRIC_MEAN, advice->config.scenario->replications.confidence,
                               is_exact(advice, candidate), interval);
  free(values);
  return status == HR_OK ? HR_OK : hr__advice_no_memory(error);
}

/* The mean of a metric over the replications in which it is known. If the metric is a quantile: the median. */
static double centre_of(const struct hr_advice *advice, uint32_t candidate, size_t metric, uint32_t count) {
  for (uint32_t r = 0; r < count; r++) advice->scratch[r] = hr__runner_values(advice->runner, candidate, r)[metric];
  return hr__metric_centre(advice->scratch, count, hr__metric_rows[advice->metrics[metric].id].kind);
}

struct hr_advice_metric hr__advice_metric(const struct hr_advice *advice, uint32_t candidate, size_t metric,
                                          uint32_t replications) {
  uint32_t count = count_of(advice, candidate, replications);
  return (struct hr_advice_metric){centre_of(advice, advice->base, metric, count),
                                   centre_of(advice, candidate, metric, count)};
}

/* ---- Service --------------------------------------------------------------------------------------- */

/* Writes a value in the unit of a goal. */
static const char *goal_value_text(const struct hr_advice *advice, size_t goal, double value, char *buffer) {
  enum hr__metric metric = advice->goals.metrics[advice->goals.goals[goal].metric].id;
  return hr__metric_text(hr__metric_rows[metric].unit, value, buffer);
}

/* Whether no goal is missed by more than in the unchanged scenario. A goal that is met today must stay met. */
static bool keeps_goals(const struct hr_advice *advice, uint32_t candidate, uint32_t replications, char *reason,
                        size_t size) {
  char text[2][HR__METRIC_BYTES];
  for (size_t i = 0; i < advice->goals.n_goals; i++) {
    const struct hr__goal *goal = &advice->goals.goals[i];
    struct hr_advice_metric value = hr__advice_goal(advice, candidate, i, replications);
    double before = hr__goal_violation(goal, value.before), after = hr__goal_violation(goal, value.after);
    if (after <= before + 1e-12) continue;
    snprintf(reason, size, "it misses the goal %.150s: %s, today %s", goal->text,
             goal_value_text(advice, i, value.after, text[0]), goal_value_text(advice, i, value.before, text[1]));
    return false;
  }
  return true;
}

static bool completes_group(const struct hr_advice *advice, uint32_t candidate, uint32_t class_, uint32_t replications,
                            char *reason, size_t size) {
  struct hr_advice_metric done =
      hr__advice_metric(advice, candidate, hr__advice_group_metric(advice, class_, HR__A_COMPLETED), replications);
  if (done.after < done.before - 1e-9) {
    snprintf(reason, size, "%.2f %% of %s complete, before %.2f %%", 100 * done.after, hr__advice_class_text(class_),
             100 * done.before);
    return false;
  }
  return true;
}

static bool waits_of_group(const struct hr_advice *advice, uint32_t candidate, uint32_t class_, uint32_t replications,
                           char *reason, size_t size) {
  struct hr_advice_metric wait =
      hr__advice_metric(advice, candidate, hr__advice_group_metric(advice, class_, HR__A_WAIT), replications);
  char text[2][HR__NUMBER_BYTES];
  if (wait.after <= wait.before + fmax(HR_ADVISE_WAIT_S, HR_ADVISE_WAIT_SHARE * wait.before)) return true;
  if (isnan(wait.before) || isnan(wait.after)) return true;
  snprintf(reason, size, "the p95 wait of %s grows from %s to %s", hr__advice_class_text(class_),
           hr__duration_text(wait.before, text[0]), hr__duration_text(wait.after, text[1]));
  return false;
}

/* Whether a goal bounds how many jobs complete. */
static bool goals_bound_completion(const struct hr_advice *advice) {
  static const enum hr__metric metrics[] = {HR__M_COMPLETED, HR__M_COMPLETED_SHARE, HR__M_REJECTED, HR__M_UNFINISHED};
  for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
    if (hr__goals_have(&advice->goals, metrics[i])) return true;
  return false;
}

static bool serves_group(const struct hr_advice *advice, uint32_t candidate, uint32_t class_, uint32_t replications,
                         char *reason, size_t size) {
  bool by_goals = advice->goals.n_goals > 0;
  if ((!by_goals || !goals_bound_completion(advice)) &&
      !completes_group(advice, candidate, class_, replications, reason, size))
    return false;
  return by_goals || waits_of_group(advice, candidate, class_, replications, reason, size);
}

bool hr__advice_serves(const struct hr_advice *advice, uint32_t candidate, uint32_t replications, char *reason,
                       size_t size) {
  for (uint32_t i = 0; i < HR_N_CLASSES; i++)
    if (advice->class_at[i] != HR_NONE && !serves_group(advice, candidate, i, replications, reason, size)) return false;
  return serves_group(advice, candidate, HR_N_CLASSES, replications, reason, size) &&
         keeps_goals(advice, candidate, replications, reason, size);
}
