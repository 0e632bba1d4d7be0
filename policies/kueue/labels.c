/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Matches labels and taints of nodes with what pods ask for.
 *
 * Lists are short, so they are searched from the start. Source: kubernetes/kubernetes,
 * staging/src/k8s.io/component-helpers/scheduling/corev1 (nodeaffinity, helpers.go) and
 * staging/src/k8s.io/apimachinery/pkg/labels/selector.go.
 */

#include "policies/kueue/labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *hr__kueue_label_get(const struct hr__kueue_labels *labels, const char *key) {
  for (uint32_t i = 0; i < labels->count; i++)
    if (!strcmp(labels->items[i].key, key)) return labels->items[i].value;
  return NULL;
}

bool hr__kueue_labels_include(const struct hr__kueue_labels *labels, const struct hr__kueue_labels *wanted) {
  for (uint32_t i = 0; i < wanted->count; i++) {
    const char *value = hr__kueue_label_get(labels, wanted->items[i].key);
    if (!value || strcmp(value, wanted->items[i].value)) return false;
  }
  return true;
}

static bool is_one_of(const struct hr__kueue_expression *expression, const char *value) {
  for (uint32_t i = 0; i < expression->n_values; i++)
    if (!strcmp(expression->values[i], value)) return true;
  return false;
}

/* Reads a whole number; false: the text is not one. */
static bool read_whole(const char *text, long long *number) {
  char *end;
  errno = 0;
  *number = strtoll(text, &end, 10);
  return *text && !*end && !errno;
}

/* Returns whether a value is greater (or less) than the single number of the expression. */
static bool compares(const struct hr__kueue_expression *expression, const char *value, bool greater) {
  long long left, right;
  if (expression->n_values != 1 || !value) return false;
  if (!read_whole(value, &left) || !read_whole(expression->values[0], &right)) return false;
  return greater ? left > right : left < right;
}

static bool expression_matches(const struct hr__kueue_expression *expression, const struct hr__kueue_labels *labels) {
  const char *value = hr__kueue_label_get(labels, expression->key);
  switch (expression->operation) {
  case HR__KUEUE_IN:
    return value && is_one_of(expression, value);
  case HR__KUEUE_NOT_IN:
    return !value || !is_one_of(expression, value);
  case HR__KUEUE_EXISTS:
    return value != NULL;
  case HR__KUEUE_DOES_NOT_EXIST:
    return value == NULL;
  case HR__KUEUE_GREATER:
    return compares(expression, value, true);
  case HR__KUEUE_LESS:
    return compares(expression, value, false);
  }
  return false;
}

bool hr__kueue_term_matches(const struct hr__kueue_term *term, const struct hr__kueue_labels *labels) {
  for (uint32_t i = 0; i < term->n_expressions; i++)
    if (!expression_matches(&term->expressions[i], labels)) return false;
  return term->n_expressions > 0;
}

bool hr__kueue_tolerates(const struct hr__kueue_tolerations *tolerations, const struct hr__kueue_taint *taint) {
  for (uint32_t i = 0; i < tolerations->count; i++) {
    const struct hr__kueue_toleration *toleration = &tolerations->items[i];
    if (toleration->effect != HR__KUEUE_ANY_EFFECT && toleration->effect != taint->effect) continue;
    if (*toleration->key ? strcmp(toleration->key, taint->key) != 0 : !toleration->exists) continue;
    if (toleration->exists || !strcmp(toleration->value, taint->value)) return true;
  }
  return false;
}

const struct hr__kueue_taint *hr__kueue_untolerated(const struct hr__kueue_taints *taints,
                                                    const struct hr__kueue_tolerations *pods,
                                                    const struct hr__kueue_tolerations *flavor) {
  for (uint32_t i = 0; i < taints->count; i++) {
    const struct hr__kueue_taint *taint = &taints->items[i];
    if (taint->effect != HR__KUEUE_NO_SCHEDULE && taint->effect != HR__KUEUE_NO_EXECUTE) continue;
    if (!hr__kueue_tolerates(pods, taint) && !hr__kueue_tolerates(flavor, taint)) return taint;
  }
  return NULL;
}
