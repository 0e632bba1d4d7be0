/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk that holds a tree against the table of keys. A misspelt key is told before a missing one: it usually is
   the missing one. */

#include "scenarios/source.h"

#include <stdio.h>
#include <string.h>

struct walk {
  const struct hr__source *source;
  const char *noun;
  struct hr_error *error;
  struct hr__place place;
};

static enum hr_status check_name(struct walk *walk, const struct hr__key *parent, const cJSON *member) {
  if (!hr__key_child(parent, member->string)) {
    const char *known[HR__MOST_CHILDREN + 1];
    char path[300], text[700];
    struct hr__place outer = walk->place;
    hr__place_leave(&outer);
    hr__place_text(&outer, path, sizeof path);
    hr__key_children(parent, known);
    hr__key_unknown(path, member->string, known, text, sizeof text);
    return hr__source_fail(walk->source, &walk->place, true, walk->error, "%s", text);
  }
  return HR_OK;
}

static enum hr_status check_names(struct walk *walk, const struct hr__key *key, const cJSON *object) {
  enum hr_status status = HR_OK;
  uint32_t ordinal = 0;
  for (const cJSON *member = object->child; member && status == HR_OK; member = member->next) {
    hr__place_enter(&walk->place, ordinal++, member->string);
    status = check_name(walk, key, member);
    hr__place_leave(&walk->place);
  }
  return status;
}

static enum hr_status check_required(struct walk *walk, const struct hr__key *parent, const cJSON *object) {
  for (const struct hr__key *key = parent + 1; key->path; key++) {
    if (!key->required || !hr__key_is_child(key, parent)) continue;
    if (cJSON_GetObjectItemCaseSensitive(object, hr__key_name(key))) continue;
    char path[300], wanted[200];
    hr__place_text(&walk->place, path, sizeof path);
    hr__key_wanted(key, wanted, sizeof wanted);
    return hr__source_fail(walk->source, &walk->place, false, walk->error, "%s%s%s lacks the key '%s'; %s is wanted",
                           path[0] ? "'" : "", path[0] ? path : walk->noun, path[0] ? "'" : "", hr__key_name(key),
                           wanted);
  }
  return HR_OK;
}

static enum hr_status check_type(struct walk *walk, const struct hr__key *key, const cJSON *value) {
  if (hr__key_fits(key, value)) return HR_OK;
  char path[300], found[100], wanted[200], slip[100] = "";
  hr__place_text(&walk->place, path, sizeof path);
  hr__key_found(value, found, sizeof found);
  hr__key_wanted(key, wanted, sizeof wanted);
  const char *nearest =
      key->choices && cJSON_IsString(value) ? hr_nearest_word(value->valuestring, key->choices) : NULL;
  if (nearest) snprintf(slip, sizeof slip, "; did you mean '%s'?", nearest);
  return hr__source_fail(walk->source, &walk->place, false, walk->error, "%s%s%s is %s; %s is wanted%s",
                         path[0] ? "'" : "", path[0] ? path : walk->noun, path[0] ? "'" : "", found, wanted, slip);
}

static enum hr_status check(struct walk *walk, const struct hr__key *key, const cJSON *value) {
  enum hr_status status = check_type(walk, key, value);
  if (status == HR_OK && key->type == HR__KEY_OBJECT) status = check_names(walk, key, value);
  uint32_t ordinal = 0;
  for (const cJSON *child = value->child; child && status == HR_OK; child = child->next) {
    hr__place_enter(&walk->place, ordinal++, child->string);
    status = check(walk, hr__key_child(key, child->string ? child->string : "*"), child);
    hr__place_leave(&walk->place);
  }
  if (status == HR_OK && key->type == HR__KEY_OBJECT) status = check_required(walk, key, value);
  return status;
}

enum hr_status hr__source_validate(const struct hr__source *source, const struct hr__key *keys, const char *noun,
                                   struct hr_error *error) {
  struct walk walk = {.source = source, .noun = noun, .error = error};
  return check(&walk, keys, source->file.tree);
}
