/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verdict on one case of a vector file: compares expected with actual values, and checks the size of numbers. */

#include "scenarios/conform/conform.h"

#include "base/containers.h"
#include "scenarios/import/import.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DIFFERENCES = 20 };

bool hr__case_value_milli(const cJSON *value, int64_t *milli) {
  return cJSON_IsString(value) && value->valuestring && hr__quantity_milli(value->valuestring, milli);
}

static char *text_of(const cJSON *value) {
  return value ? cJSON_PrintUnformatted(value) : strdup("null");
}

static void add_difference(struct hr__verdict *verdict, const char *place, const cJSON *expected, const cJSON *actual) {
  struct hr_conform_case *row = verdict->row;
  if (row->n_differences == MAX_DIFFERENCES) return;
  struct hr_conform_difference difference = {strdup(place), text_of(expected), text_of(actual)};
  if (difference.place && difference.expected && difference.actual &&
      HR__ARRAY_RESIZE(row->differences, row->n_differences + 1)) {
    row->differences[row->n_differences++] = difference;
    return;
  }
  free(difference.place);
  free(difference.expected);
  free(difference.actual);
  verdict->no_memory = true;
}

struct comparison {
  unsigned flags;
  double tolerance;
};

static bool is_missing(const cJSON *value) {
  return !value || cJSON_IsNull(value);
}

static bool is_equal(const cJSON *expected, const cJSON *actual, const struct comparison *how);

static bool is_equal_object(const cJSON *expected, const cJSON *actual, const struct comparison *how) {
  const cJSON *member;
  cJSON_ArrayForEach(member, expected) if (!is_equal(member, cJSON_GetObjectItemCaseSensitive(actual, member->string),
                                                     how)) return false;
  if (how->flags & HR__COMPARE_EXPECTED) return true;
  cJSON_ArrayForEach(member, actual) if (!is_missing(member) &&
                                         !cJSON_GetObjectItemCaseSensitive(expected, member->string)) return false;
  return true;
}

/* Returns whether the two lists are equal as multisets: each item of `expected` is paired with its own equal item of
   `actual`. Pairing with the first free equal item is sufficient if equality is transitive. That is the case without a
   tolerance and without HR__COMPARE_EXPECTED. Returns false if memory is exhausted. */
static bool is_equal_set(const cJSON *expected, const cJSON *actual, const struct comparison *how) {
  int n_items = cJSON_GetArraySize(actual);
  if (cJSON_GetArraySize(expected) != n_items) return false;
  if (!n_items) return true;
  bool *taken = calloc((size_t)n_items, sizeof *taken);
  if (!taken) return false;
  bool equal = true;
  const cJSON *item;
  cJSON_ArrayForEach(item, expected) {
    int at = 0;
    const cJSON *other = actual->child;
    for (; other; other = other->next, at++)
      if (!taken[at] && is_equal(item, other, how)) break;
    if (!other) equal = false;
    if (!equal) break;
    taken[at] = true;
  }
  free(taken);
  return equal;
}

static bool is_equal_list(const cJSON *expected, const cJSON *actual, const struct comparison *how) {
  if (how->flags & HR__COMPARE_SETS) return is_equal_set(expected, actual, how);
  const cJSON *a = expected->child, *b = actual->child;
  for (; a && b; a = a->next, b = b->next)
    if (!is_equal(a, b, how)) return false;
  return !a && !b;
}

static bool is_equal(const cJSON *expected, const cJSON *actual, const struct comparison *how) {
  if (is_missing(expected) || is_missing(actual)) return is_missing(expected) && is_missing(actual);
  if (cJSON_IsNumber(expected) && cJSON_IsNumber(actual))
    return expected->valuedouble == actual->valuedouble || // equal infinities, too
           fabs(expected->valuedouble - actual->valuedouble) <= how->tolerance;
  if (cJSON_IsString(expected) && cJSON_IsString(actual))
    return strcmp(expected->valuestring, actual->valuestring) == 0;
  if (cJSON_IsBool(expected) && cJSON_IsBool(actual)) return cJSON_IsTrue(expected) == cJSON_IsTrue(actual);
  if (cJSON_IsArray(expected) && cJSON_IsArray(actual)) return is_equal_list(expected, actual, how);
  if (cJSON_IsObject(expected) && cJSON_IsObject(actual)) return is_equal_object(expected, actual, how);
  return false;
}

bool hr__json_is_equal(const cJSON *expected, const cJSON *actual, unsigned flags, double tolerance) {
  const struct comparison how = {flags, tolerance};
  return is_equal(expected, actual, &how);
}

static void compare(struct hr__verdict *verdict, const char *place, const cJSON *expected, const cJSON *actual,
                    const struct comparison *how) {
  if (is_equal(expected, actual, how)) return;
  if (!cJSON_IsObject(expected) || !cJSON_IsObject(actual)) {
    add_difference(verdict, place, expected, actual);
    return;
  }
  char inner[300];
  const cJSON *member;
  cJSON_ArrayForEach(member, expected) {
    snprintf(inner, sizeof inner, "%s%s%s", place, place[0] ? "." : "", member->string);
    compare(verdict, inner, member, cJSON_GetObjectItemCaseSensitive(actual, member->string), how);
  }
  if (how->flags & HR__COMPARE_EXPECTED) return;
  cJSON_ArrayForEach(member, actual) {
    if (is_missing(member) || cJSON_GetObjectItemCaseSensitive(expected, member->string)) continue;
    snprintf(inner, sizeof inner, "%s%s%s", place, place[0] ? "." : "", member->string);
    add_difference(verdict, inner, NULL, member);
  }
}

void hr__verdict_compare(struct hr__verdict *verdict, const char *place, const cJSON *expected, const cJSON *actual,
                         unsigned flags, double tolerance) {
  const struct comparison how = {flags, tolerance};
  compare(verdict, place, expected, actual, &how);
}

/* Compares exactly with `actual`, and frees it. If `actual` is NULL, memory is exhausted. */
static void compare_new(struct hr__verdict *verdict, const char *place, const cJSON *expected, cJSON *actual) {
  if (actual)
    hr__verdict_compare(verdict, place, expected, actual, HR__COMPARE_EXACTLY, 0);
  else
    verdict->no_memory = true;
  cJSON_Delete(actual);
}

void hr__verdict_compare_number(struct hr__verdict *verdict, const char *place, const cJSON *expected, double actual) {
  compare_new(verdict, place, expected, cJSON_CreateNumber(actual));
}

void hr__verdict_compare_bool(struct hr__verdict *verdict, const char *place, const cJSON *expected, bool actual) {
  compare_new(verdict, place, expected, cJSON_CreateBool(actual));
}

void hr__verdict_compare_text(struct hr__verdict *verdict, const char *place, const cJSON *expected,
                              const char *actual) {
  compare_new(verdict, place, expected, actual ? cJSON_CreateString(actual) : cJSON_CreateNull());
}

/* ---- Kinds ---------------------------------------------------------------------------------------------- */

void hr__verdict_unknown_kind(struct hr__verdict *verdict) {
  const cJSON expected = {.type = cJSON_String, .valuestring = (char *)verdict->kind};
  hr__verdict_compare_text(verdict, "kind", &expected, NULL);
}

bool hr__run_kind(struct hr__verdict *verdict, const struct hr__case_kind *kinds) {
  while (kinds->kind && strcmp(kinds->kind, verdict->kind) != 0) kinds++;
  if (kinds->kind) kinds->run(verdict);
  return kinds->kind != NULL;
}

/* ---- Limits --------------------------------------------------------------------------------------------- */

#define MEMORY_FACTOR 4096

static bool is_within(const cJSON *tree, double limit) {
  const cJSON *item;
  int64_t milli;
  double own = tree->string && strncmp(tree->string, "mem_bytes", 9) == 0 ? limit * MEMORY_FACTOR : limit, number = 0;
  if (cJSON_IsNumber(tree)) number = tree->valuedouble;
  if (cJSON_IsString(tree) && hr__case_value_milli(tree, &milli)) number = (double)milli / 1000;
  if (!(number <= own && number >= -own)) return false;
  cJSON_ArrayForEach(item, tree) if (!is_within(item, limit)) return false;
  return true;
}

void hr__verdict_limit_numbers(struct hr__verdict *verdict, double limit) {
  const cJSON *item;
  cJSON_ArrayForEach(item, verdict->whole) {
    if (strcmp(item->string, "expect") == 0 || is_within(item, limit)) continue;
    verdict->malformed = "a number is out of range";
  }
}
