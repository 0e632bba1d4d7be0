/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/overrides.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum hr_status overrides_add(struct overrides *overrides, const char *path, const char *value, struct hr_error *error) {
  size_t bytes = strlen(path) + strlen(value) + 2;
  char **grown = realloc(overrides->owned, (overrides->n_owned + 1) * sizeof *grown);
  if (grown) overrides->owned = grown;
  char *text = grown ? malloc(bytes) : NULL;
  if (!text) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  snprintf(text, bytes, "%s=%s", path, value);
  grown[overrides->n_owned++] = text;
  return words_add(&overrides->words, text, error);
}

/* Whether one of the texts after the first `skipped` sets the path. */
static bool is_set(const struct words *words, size_t skipped, const char *path) {
  size_t length = strlen(path);
  for (size_t i = skipped; i < words->count; i++)
    if (strncmp(words->at[i], path, length) == 0 && words->at[i][length] == '=') return true;
  return false;
}

/* One "key=value" of --policy, checked against the policy and added as "policy.key=value"; the texts after the first
   `skipped` are the policy's own. */
static enum hr_status add_param(struct overrides *overrides, size_t skipped, struct hr_policy_choice *choice,
                                char *pair, struct hr_error *error) {
  char *value = strchr(pair, '=');
  if (!value) return hr_fail(error, HR_BAD_INPUT, "'%.60s' is not of the form key=value", pair);
  *value++ = '\0';
  enum hr_status status = hr_policy_choice_set(choice, pair, value, error);
  if (status != HR_OK) return status;
  char path[128];
  snprintf(path, sizeof path, "policy.%s", pair);
  if (is_set(&overrides->words, skipped, path))
    return hr_fail(error, HR_BAD_INPUT, "parameter '%s' is given twice; keep one", pair);
  return overrides_add(overrides, path, value, error);
}

static enum hr_status add_policy_parts(struct overrides *overrides, char *text, struct hr_error *error) {
  struct hr_policy_choice choice = {0};
  char *pairs = strchr(text, ':');
  if (pairs) *pairs++ = '\0';
  char *path = strchr(text, '/') ? realpath(text, NULL) : NULL; /* a scenario's paths begin in its folder */
  const char *name = path ? path : text;
  size_t skipped = overrides->words.count;
  enum hr_status status = hr_policy_choice_init(&choice, name, error);
  if (status == HR_OK) status = overrides_add(overrides, "policy.name", name, error);
  for (char *pair = pairs, *next; status == HR_OK && pair; pair = next) {
    next = strchr(pair, ',');
    if (next) *next++ = '\0';
    status = add_param(overrides, skipped, &choice, pair, error);
  }
  hr_policy_choice_finish(&choice);
  free(path);
  return status;
}

enum hr_status overrides_add_policy(struct overrides *overrides, const char *option, const char *policy,
                                    struct hr_error *error) {
  char *text = strdup(policy);
  if (!text) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  struct hr_error inner = {0};
  enum hr_status status = add_policy_parts(overrides, text, &inner);
  free(text);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "--%s %.200s: %s", option, policy, inner.text);
}

void overrides_finish(struct overrides *overrides) {
  for (size_t i = 0; i < overrides->n_owned; i++) free(overrides->owned[i]);
  free(overrides->owned);
  words_finish(&overrides->words);
}
