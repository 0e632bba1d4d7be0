/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A change in the making: overrides that a person can repeat with --set, what they take for granted, and edits of the
   scenario's own entries, so that whatever else a pool says stays as it is. */

#include "plan/advising.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hr__proposal_init(struct hr__proposal *proposal, enum hr_advice_kind kind, uint32_t class_, uint32_t pool) {
  *proposal = (struct hr__proposal){.kind = kind, .class_ = class_, .pool = pool, .mix = HR_NONE, .stricter = HR_NONE};
}

void hr__proposal_finish(struct hr__proposal *proposal) {
  for (size_t i = 0; i < proposal->set.count; i++) free(proposal->set.at[i]);
  free(proposal->set.at);
  hr_notes_finish(&proposal->assumed);
  *proposal = (struct hr__proposal){.mix = HR_NONE, .stricter = HR_NONE};
}

static enum hr_status no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory for the advice");
}

/* ---- Overrides -------------------------------------------------------------------------------------- */

/* Takes the text over. */
static enum hr_status add_text(struct hr__texts *texts, char *text, struct hr_error *error) {
  char **grown = text ? realloc(texts->at, (texts->count + 1) * sizeof *grown) : NULL;
  if (!grown) {
    free(text);
    return no_memory(error);
  }
  texts->at = grown;
  grown[texts->count++] = text;
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
  return hr_notes_add(&proposal->assumed, "%s", text) == HR_OK ? HR_OK : no_memory(error);
}

enum hr_status hr__proposal_manage(const struct hr_advice *advice, struct hr__proposal *proposal, bool spot,
                                   struct hr_error *error) {
  const struct hr_policy_choice *policy = &advice->config.scenario->policy;
  if (!advice->queue) return HR_OK;
  for (size_t i = 0; i < policy->n_params; i++) {
    char buffer[32];
    const char *key = policy->ops->params[i].key, *value = hr_policy_choice_text(policy, i, buffer);
    enum hr_status status = HR_OK;
    if (strcmp(key, "placement") == 0 && strcmp(value, "pool") == 0)
      status = hr__proposal_set(proposal, error, "policy.placement=best-fit");
    else if (strcmp(key, "market") == 0 &&
             (strcmp(value, "static") == 0 || (spot && strcmp(value, "on-demand-only") == 0)))
      status = hr__proposal_set(proposal, error, "policy.market=%s", spot ? "spot-first" : "on-demand-only");
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

/* ---- Keeping one ------------------------------------------------------------------------------------ */

/* Whether it can be run is then known to the policy alone. */
static bool changes_policy(const struct hr__proposal *proposal) {
  for (size_t i = 0; i < proposal->set.count; i++)
    if (strncmp(proposal->set.at[i], "policy.", strlen("policy.")) == 0) return true;
  return false;
}

enum hr_status hr__proposal_load(struct hr_advice *advice, struct hr__proposal *proposal, struct hr_error *error) {
  struct hr_error inner = {0};
  enum hr_status status = hr__lab_add_mix(advice->lab, (const char *const *)proposal->set.at, proposal->set.count,
                                          advice->world, &proposal->mix, &inner);
  if (status == HR_OK && changes_policy(proposal)) status = hr__advice_run(advice, &proposal->mix, 1, 1, &inner);
  if (status == HR_OK) return HR_OK;
  proposal->mix = HR_NONE;
  if (status != HR_BAD_INPUT) return hr_fail(error, status, "%s", inner.text);
  status = hr_notes_add(&advice->notes, "%s: %.100s -> %.100s cannot be run: %.500s",
                        hr_advice_kind_name(proposal->kind), proposal->from, proposal->to, inner.text);
  return status == HR_OK ? HR_OK : no_memory(error);
}

enum hr_status hr__proposal_keep(struct hr_advice *advice, struct hr__proposal *proposal, struct hr_error *error) {
  enum hr_status status = proposal->mix == HR_NONE ? hr__proposal_load(advice, proposal, error) : HR_OK;
  struct hr__proposal *grown = NULL;
  if (status == HR_OK && proposal->mix != HR_NONE) {
    grown = realloc(advice->proposals, (advice->n_proposals + 1) * sizeof *grown);
    if (!grown) status = no_memory(error);
  }
  if (!grown) {
    hr__proposal_finish(proposal);
    return status;
  }
  advice->proposals = grown;
  grown[advice->n_proposals++] = *proposal;
  return HR_OK;
}

/* ---- Entries of pools ------------------------------------------------------------------------------- */

static bool is_taken(const struct hr_advice *advice, const char *name) {
  const struct hr_cluster_spec *cluster = &advice->config.scenario->cluster;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (strcmp(cluster->pools[i].name, name) == 0) return true;
  return false;
}

bool hr__put_item(cJSON *entry, const char *key, cJSON *value) {
  cJSON_DeleteItemFromObjectCaseSensitive(entry, key);
  if (value && cJSON_AddItemToObject(entry, key, value)) return true;
  cJSON_Delete(value);
  return false;
}

bool hr__put_number(cJSON *entry, const char *key, double number) {
  return hr__put_item(entry, key, cJSON_CreateNumber(number));
}

bool hr__put_text(cJSON *entry, const char *key, const char *text) {
  return hr__put_item(entry, key, cJSON_CreateString(text));
}

bool hr__put_class(cJSON *entry, uint32_t class_) {
  cJSON *list = cJSON_CreateArray(), *name = cJSON_CreateString(hr_job_class_name((enum hr_job_class)class_));
  if (list && name && cJSON_AddItemToArray(list, name)) return hr__put_item(entry, "classes", list);
  cJSON_Delete(list);
  cJSON_Delete(name);
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

/* ---- Words ------------------------------------------------------------------------------------------ */

const char *hr_advice_kind_name(enum hr_advice_kind kind) {
#define WORD(name, text) text,
  static const char *const names[] = {HR_ADVICE_TABLE(WORD)};
#undef WORD
  return names[kind];
}

const char *hr__class_words(uint32_t class_) {
  if (class_ == HR_N_CLASSES) return "all jobs";
  return class_ == HR_CLASS_UNKNOWN ? "jobs without a class" : hr_job_class_name((enum hr_job_class)class_);
}

const char *hr__proposal_tenant(const struct hr_advice *advice, const struct hr__proposal *proposal) {
  uint32_t tenant = hr__look_tenant(&advice->look, proposal->class_, proposal->pool);
  return tenant == HR_NONE ? NULL : advice->config.trace->tenants.text[tenant];
}
