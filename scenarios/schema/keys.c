/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Searches key tables, and words for messages: what is expected of a value, and which keys are known.
 *
 * Tables are short, so they are searched linearly.
 */

#include "scenarios/schema/keys.h"

#include "headroom/trace.h"

#include <inttypes.h>
#include <stdio.h>

const char *const hr__class_keys[] = {"default",   "training",    "fine-tune", "batch-inference",
                                      "inference", "interactive", "data-prep", NULL};
_Static_assert(sizeof hr__class_keys / sizeof *hr__class_keys == HR_N_CLASSES + 1, "a name for each class");

const struct hr__key *hr__key_member(const struct hr__key *parent, const char *name) {
  const struct hr__key *key = parent->keys;
  while (key->name && strcmp(key->name, "*") != 0 && strcmp(key->name, name) != 0) key++;
  bool is_any = key->name && strcmp(key->name, "*") == 0;
  if (is_any && parent->type == HR__KEY_OBJECT && parent->choices && !hr__word_is_in(name, parent->choices))
    return NULL;
  return key->name ? key : NULL;
}

void hr__key_names(const struct hr__key *parent, const char **names) {
  size_t count = 0;
  for (const struct hr__key *key = parent->keys; key->name && count < HR__MAX_KEYS; key++)
    if (strcmp(key->name, "*") != 0) names[count++] = key->name;
  for (size_t i = 0; parent->choices && parent->choices[i] && count < HR__MAX_KEYS; i++)
    names[count++] = parent->choices[i];
  names[count] = NULL;
}

struct hr__key hr__key_of_param(const struct hr_param *param) {
  static const enum hr__key_type types[] = {[HR_PARAM_INTEGER] = HR__KEY_WHOLE,
                                            [HR_PARAM_REAL] = HR__KEY_REAL,
                                            [HR_PARAM_BOOLEAN] = HR__KEY_BOOLEAN,
                                            [HR_PARAM_CHOICE] = HR__KEY_CHOICE};
  return (struct hr__key){.name = param->key,
                          .type = types[param->type],
                          .min = param->min,
                          .max = param->max,
                          .choices = param->choices,
                          .fallback = param->fallback,
                          .help = param->help};
}

void hr__key_unknown(const char *path, const char *name, const char *const *known, char *text, size_t size) {
  const char *nearest = hr_nearest_word(name, known), *dot = path[0] ? "." : "";
  int used = snprintf(text, size, "unknown key '%s%s%.60s'%s", path, dot, name, nearest ? "; " : " ");
  if (nearest) used += snprintf(text + used, size - (size_t)used, "did you mean '%s%s%s'? ", path, dot, nearest);
  used += snprintf(text + used, size - (size_t)used, "(known keys");
  for (size_t i = 0; known[i] && (size_t)used + strlen(known[i]) + 4 < size; i++)
    used += snprintf(text + used, size - (size_t)used, "%s%s", i ? ", " : ": ", known[i]);
  snprintf(text + used, size - (size_t)used, ")");
}

static void choices_expected(const struct hr__key *key, char *text, size_t size) {
  size_t used = (size_t)snprintf(text, size, "one of");
  for (size_t i = 0; key->choices[i] && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s %s", i ? "," : "", key->choices[i]);
}

void hr__key_expected(const struct hr__key *key, char *text, size_t size) {
  switch (key->type) {
  case HR__KEY_OBJECT:
    snprintf(text, size, "%s%s%san object {...} of at most %.15g keys", key->or_text ? "the text \"" : "",
             key->or_text ? key->or_text : "", key->or_text ? "\" or " : "", key->max);
    return;
  case HR__KEY_LIST:
    snprintf(text, size, "a list of %.15g to %.15g entries", key->min, key->max);
    return;
  case HR__KEY_TEXT:
    snprintf(text, size, "a text \"...\" of %s%.15g bytes", key->min > 0 ? "1 to " : "at most ", key->max);
    return;
  case HR__KEY_WHOLE:
    snprintf(text, size, "a whole number from %.15g to %.15g", key->min, key->max);
    return;
  case HR__KEY_REAL:
    snprintf(text, size, "a number from %.15g to %.15g", key->min, key->max);
    return;
  case HR__KEY_BOOLEAN:
    snprintf(text, size, "true or false");
    return;
  case HR__KEY_CHOICE:
    choices_expected(key, text, size);
    return;
  case HR__KEY_SEED:
    snprintf(text, size, "a whole number from 0 to %.0f, or the digits of one up to %" PRIu64 " as text,", key->max,
             UINT64_MAX);
    return;
  case HR__KEY_SCALAR:
    snprintf(text, size, "a text, a number, true or false");
    return;
  }
}
