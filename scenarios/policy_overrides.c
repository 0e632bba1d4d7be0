/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A policy as people write it in one word, "NAME[:KEY=VALUE,...]", as overrides of a scenario. */

#include "headroom/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list {
  char **at;
  size_t count;
};

static enum hr_status add(struct list *list, const char *key, const char *value, struct hr_error *error) {
  char **grown = realloc(list->at, (list->count + 1) * sizeof *grown);
  if (grown) list->at = grown;
  size_t bytes = sizeof "policy.=" + strlen(key) + strlen(value);
  char *text = grown ? malloc(bytes) : NULL;
  if (!text) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  snprintf(text, bytes, "policy.%s=%s", key, value);
  grown[list->count++] = text;
  return HR_OK;
}

static bool is_set(const struct list *list, const char *key) {
  static const char head[] = "policy.";
  size_t length = strlen(key);
  for (size_t i = 0; i < list->count; i++) {
    const char *has = list->at[i] + sizeof head - 1;
    if (strncmp(has, key, length) == 0 && has[length] == '=') return true;
  }
  return false;
}

/* One "key=value", checked against the policy. */
static enum hr_status add_param(struct list *list, struct hr_policy_choice *choice, char *pair,
                                struct hr_error *error) {
  char *value = strchr(pair, '=');
  if (!value) return hr_fail(error, HR_BAD_INPUT, "'%.60s' is not of the form key=value", pair);
  *value++ = '\0';
  enum hr_status status = hr_policy_choice_set(choice, pair, value, error);
  if (status != HR_OK) return status;
  if (is_set(list, pair)) return hr_fail(error, HR_BAD_INPUT, "parameter '%s' is given twice; keep one", pair);
  return add(list, pair, value, error);
}

static enum hr_status add_parts(struct list *list, char *text, struct hr_error *error) {
  struct hr_policy_choice choice = {0};
  char *pairs = strchr(text, ':');
  if (pairs) *pairs++ = '\0';
  char *path = strchr(text, '/') ? realpath(text, NULL) : NULL; /* a scenario's paths begin in its folder */
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
  struct list list = {0};
  char *text = strdup(policy);
  enum hr_status status = text ? add_parts(&list, text, error) : hr_fail(error, HR_NO_MEMORY, "out of memory");
  free(text);
  *overrides = list.at;
  *count = list.count;
  return status;
}
