/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Converts a policy in one word, such as "queue:order=sjf", to overrides of a scenario: "policy.name=queue" and
 * "policy.order=sjf". The parameters are checked against those of the policy.
 */

#include "base/array.h"
#include "base/confinement.h"
#include "headroom/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct override_list {
  char **at;
  size_t count;
};

static enum hr_status add(struct override_list *list, const char *key, const char *value, struct hr_error *error) {
  size_t bytes = sizeof "policy.=" + strlen(key) + strlen(value);
  char *text = HR__ARRAY_RESIZE(list->at, list->count + 1) ? malloc(bytes) : NULL;
  if (!text) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  snprintf(text, bytes, "policy.%s=%s", key, value);
  list->at[list->count++] = text;
  return HR_OK;
}

static bool is_set(const struct override_list *list, const char *key) {
  static const char head[] = "policy.";
  size_t length = strlen(key);
  for (size_t i = 0; i < list->count; i++) {
    const char *has = list->at[i] + sizeof head - 1;
    if (strncmp(has, key, length) == 0 && has[length] == '=') return true;
  }
  return false;
}

/* Checks "key=value" against the parameters of the policy and adds it to the list of overrides. */
static enum hr_status add_param(struct override_list *list, struct hr_policy_choice *choice, char *pair,
                                struct hr_error *error) {
  char *value = strchr(pair, '=');
  if (!value) return hr_fail(error, HR_BAD_INPUT, "'%.60s': key=value expected", pair);
  *value++ = '\0';
  enum hr_status status = hr_policy_choice_set(choice, pair, value, error);
  if (status != HR_OK) return status;
  if (is_set(list, pair)) return hr_fail(error, HR_BAD_INPUT, "duplicate parameter '%s'; keep one", pair);
  return add(list, pair, value, error);
}

static enum hr_status add_parts(struct override_list *list, char *text, struct hr_error *error) {
  struct hr_policy_choice choice = {0};
  char *pairs = strchr(text, ':');
  if (pairs) *pairs++ = '\0';
  /* Paths in a scenario are relative to the scenario file, so the path of a policy must be absolute. */
  char *path = strchr(text, '/') && hr__allows_plugins() ? realpath(text, NULL) : NULL;
  const char *name = path ? path : text;
  enum hr_status status = hr_policy_choice_init(&choice, name, error);
  if (status == HR_OK) status = add(list, "name", name, error);
  for (char *pair = pairs, *next; status == HR_OK && pair; pair = next) {
    next = strchr(pair, ',');
    if (next) *next++ = '\0';
    status = add_param(list, &choice, pair, error);
  }
  hr_policy_choice_finish(&choice);
  free(path);
  return status;
}

enum hr_status hr_policy_overrides(const char *policy, char ***overrides, size_t *count, struct hr_error *error) {
  struct override_list list = {0};
  char *text = strdup(policy);
  enum hr_status status = text ? add_parts(&list, text, error) : hr_fail(error, HR_NO_MEMORY, "out of memory");
  free(text);
  *overrides = list.at;
  *count = list.count;
  return status;
}
