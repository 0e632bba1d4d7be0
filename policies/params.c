/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of parameters: conversion of text to values and back (see params.h). */

#include "policies/params.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Suggestions ---------------------------------------------------------------------------------- */

/* Joins a NULL-terminated list as "a, b, c". */
static void join_words(const char *const *words, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (; *words && used < size; words++) {
    int written = snprintf(text + used, size - used, "%s%s", used ? ", " : "", *words);
    used += written > 0 ? (size_t)written : 0;
  }
}

void hr__suggest_word(const char *word, const char *const *words, char *text, size_t size) {
  char known[400];
  const char *nearest = hr_nearest_word(word, words);
  join_words(words, known, sizeof known);
  if (nearest)
    snprintf(text, size, "did you mean '%s'? (known: %s)", nearest, known);
  else
    snprintf(text, size, "known: %s", known);
}

/* ---- Values --------------------------------------------------------------------------------------- */

static enum hr_status parse_choice(const struct hr_param *param, const char *text, struct hr_param_value *value,
                                   struct hr_error *error) {
  for (int64_t i = 0; param->choices[i]; i++) {
    if (strcmp(param->choices[i], text) != 0) continue;
    value->integer = i;
    return HR_OK;
  }
  char hint[500];
  hr__suggest_word(text, param->choices, hint, sizeof hint);
  return hr_fail(error, HR_BAD_INPUT, "parameter '%s': '%s' is not one of its choices; %s", param->key, text, hint);
}

static enum hr_status parse_number(const struct hr_param *param, const char *text, struct hr_param_value *value,
                                   struct hr_error *error) {
  bool whole = param->type == HR_PARAM_INTEGER;
  char *end;
  errno = 0;
  double real = strtod(text, &end);
  bool good = end != text && *end == '\0' && errno == 0 && isfinite(real) && real >= param->min && real <= param->max;
  if (whole && good) {
    good = real == floor(real) && fabs(real) <= 0x1p53;
    if (good) value->integer = (int64_t)real;
  }
  value->real = real;
  if (good) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "parameter '%s': '%s' is not a %s from %g to %g", param->key, text,
                 whole ? "whole number" : "number", param->min, param->max);
}

static enum hr_status parse_boolean(const struct hr_param *param, const char *text, struct hr_param_value *value,
                                    struct hr_error *error) {
  bool yes = strcmp(text, "true") == 0, no = strcmp(text, "false") == 0;
  value->integer = yes;
  return yes || no ? HR_OK
                   : hr_fail(error, HR_BAD_INPUT, "parameter '%s': '%s' is not true or false", param->key, text);
}

enum hr_status hr__param_parse(const struct hr_param *param, const char *text, struct hr_param_value *value,
                               struct hr_error *error) {
  switch (param->type) {
  case HR_PARAM_CHOICE:
    return parse_choice(param, text, value, error);
  case HR_PARAM_INTEGER:
  case HR_PARAM_REAL:
    return parse_number(param, text, value, error);
  case HR_PARAM_BOOLEAN:
    return parse_boolean(param, text, value, error);
  }
  return HR_INTERNAL;
}

const char *hr__param_text(const struct hr_param *param, const struct hr_param_value *value, char *buffer) {
  switch (param->type) {
  case HR_PARAM_CHOICE:
    return param->choices[value->integer];
  case HR_PARAM_BOOLEAN:
    return value->integer ? "true" : "false";
  case HR_PARAM_INTEGER:
    snprintf(buffer, 32, "%" PRId64, value->integer);
    return buffer;
  case HR_PARAM_REAL:
    /* shortest text that reads back as the same number: 0.8 instead of 0.80000000000000004 */
    for (int digits = 15; digits <= 17; digits++) {
      snprintf(buffer, 32, "%.*g", digits, value->real);
      if (strtod(buffer, NULL) == value->real) break;
    }
    return buffer;
  }
  return "";
}

/* ---- Tables --------------------------------------------------------------------------------------- */

enum hr_status hr__params_create(const struct hr_param *params, struct hr_param_value **values, size_t *count,
                                 struct hr_error *error) {
  size_t n = 0;
  while (params && params[n].key) n++;
  *count = n;
  *values = calloc(n + 1, sizeof **values);
  if (!*values) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  for (size_t i = 0; i < n; i++) {
    enum hr_status status = hr__param_parse(&params[i], params[i].fallback, &(*values)[i], error);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

const struct hr_param *hr__param_find(const struct hr_param *params, const char *key) {
  while (params && params->key && strcmp(params->key, key) != 0) params++;
  return params && params->key ? params : NULL;
}

enum hr_status hr__params_set(const struct hr__params_of *of, struct hr_param_value *values, const char *key,
                              const char *text, struct hr_error *error) {
  const struct hr_param *param = hr__param_find(of->params, key);
  if (param) return hr__param_parse(param, text, &values[param - of->params], error);
  size_t n = 0;
  while (of->params && of->params[n].key) n++;
  const char **keys = calloc(n + 1, sizeof(*keys));
  if (!keys) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  for (size_t i = 0; i < n; i++) keys[i] = of->params[i].key;
  char hint[500];
  hr__suggest_word(key, keys, hint, sizeof hint);
  free(keys);
  return hr_fail(error, HR_BAD_INPUT, "%s '%s' has no parameter '%s'; %s", of->kind, of->name, key, hint);
}
