/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds the objects in the documents of manifests and checks them against the tables of their kinds. Lists, as kubectl
 * prints them, are replaced by their items. If many objects have the same field that is not modelled, there is one
 * note, with the place of the first field.
 */

#include "scenarios/import/import.h"

#include "policies/kueue/kueue.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 240, SUBJECT_BYTES = 260, MESSAGE_BYTES = 700, TEXT_BYTES = 1400, FOUND_BYTES = 60 };

const char *const hr__version_1[] = {"v1", NULL};
static const struct hr__field map_fields[] = {
    {HR__USED("data", LABELS)}, HR__IGNORED("binaryData"), HR__IGNORED("immutable"), HR__END};
const struct hr__object_kind hr__kind_config_map = {"ConfigMap", "", hr__version_1, map_fields, false, true};

static const struct hr__field level_fields[] = {{HR__USED("nodeLabel", TEXT), .required = true}, HR__END};
static const struct hr__field topology_spec[] = {{HR__USED("levels", LIST), .fields = level_fields, .required = true},
                                                 HR__END};
const struct hr__field hr__topology_fields[] = {
    {HR__USED("spec", OBJECT), .fields = topology_spec, .required = true}, HR__IGNORED("status"), HR__END};

/* ---- Messages --------------------------------------------------------------------------------------- */

static const char *kind_of(const struct hr__object *object) {
  return object && object->kind ? object->kind->name : "object";
}

/* Writes the kind and the name of an object, such as "ClusterQueue 'a': ". */
static void put_object(char *text, size_t size, const struct hr__object *object) {
  const char *space = object->name_space && object->name_space[0] ? object->name_space : NULL;
  if (object->name && object->name[0])
    snprintf(text, size, "%.60s '%.60s%s%.80s': ", kind_of(object), space ? space : "", space ? "/" : "", object->name);
  else
    snprintf(text, size, "%.60s: ", kind_of(object));
}

static void put_message(char *text, size_t size, const struct hr__object *object, const struct hr__yaml *at,
                        const char *format, va_list args) {
  char subject[SUBJECT_BYTES] = "", message[MESSAGE_BYTES];
  if (object) put_object(subject, sizeof subject, object);
  vsnprintf(message, sizeof message, format, args);
  snprintf(text, size, "%.300s:%" PRIu32 ":%" PRIu32 ": %s%s", at->path, at->line, at->column, subject, message);
}

enum hr_status hr__object_fail(const struct hr__objects *objects, const struct hr__object *object,
                               const struct hr__yaml *at, const char *format, ...) {
  char text[TEXT_BYTES];
  va_list args;
  va_start(args, format);
  put_message(text, sizeof text, object, at, format, args);
  va_end(args);
  return hr_fail(objects->error, HR_BAD_INPUT, "%s", text);
}

enum hr_status hr__objects_note(const struct hr__objects *objects, const char *format, ...) {
  char text[TEXT_BYTES];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return hr_notes_add(objects->notes, "%s", text) == HR_OK ? HR_OK : hr__objects_no_memory(objects);
}

enum hr_status hr__object_note(const struct hr__objects *objects, const struct hr__object *object,
                               const struct hr__yaml *at, const char *format, ...) {
  char text[TEXT_BYTES];
  va_list args;
  va_start(args, format);
  put_message(text, sizeof text, object, at, format, args);
  va_end(args);
  return hr__objects_note(objects, "%s", text);
}

/* Writes what a value is, for a message: the text of a scalar in quotation marks, "a list" or "an object". Returns
   `buffer`. */
static const char *found_text(const struct hr__yaml *value, char *buffer) {
  static const char *const kinds[] = {[HR__YAML_LIST] = "a list", [HR__YAML_MAP] = "an object"};
  if (value->kind == HR__YAML_SCALAR)
    snprintf(buffer, FOUND_BYTES, "%s%.50s%s", value->quoted ? "\"" : "'", value->text, value->quoted ? "\"" : "'");
  else
    snprintf(buffer, FOUND_BYTES, "%s", kinds[value->kind]);
  return buffer;
}

/* ---- Values ----------------------------------------------------------------------------------------- */

/* Reads a unit of durations, and advances `*at` past it. Sets `*us` to the unit in microseconds. Returns false if the
   unit is unknown. */
static bool read_unit(const char **at, double *us) {
  static const struct {
    const char *name;
    double us;
  } units[] = {{"ns", 1e-3}, {"us", 1},     {"ms", 1e3},    {"s", 1e6},
               {"m", 60e6},  {"h", 3600e6}, {"d", 86400e6}, {"w", 604800e6}};
  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    size_t length = strlen(units[i].name);
    if (strncmp(*at, units[i].name, length) != 0) continue;
    *at += length;
    *us = units[i].us;
    return true;
  }
  return false;
}

bool hr__duration(const char *text, int64_t *us) {
  double sum = 0;
  *us = 0;
  if (strcmp(text, "0") == 0) return true;
  if (!*text) return false;
  while (*text) {
    char *end;
    double unit;
    if (!isdigit((unsigned char)*text) && *text != '.') return false;
    double number = strtod(text, &end);
    text = end;
    if (!read_unit(&text, &unit)) return false;
    sum += number * unit;
  }
  if (!(sum <= (double)HR_MAX_INPUT_US)) return false;
  *us = (int64_t)(sum + 0.5);
  return true;
}

/* ---- Checks of values ------------------------------------------------------------------------------- */

/* The state of a check. `path` is the path of the current value within its object. */
struct check {
  struct hr__objects *objects;
  const struct hr__object *object;
  char path[PATH_BYTES];
};

static enum hr_status check_fields(struct check *check, struct hr__yaml *map, const struct hr__field *fields);

/* Appends a key or, if `key` is NULL, an index to the path. Returns the old length of the path, for leave(). */
static size_t enter(struct check *check, const char *key, uint32_t index) {
  size_t used = strlen(check->path);
  if (key)
    snprintf(check->path + used, PATH_BYTES - used, "%s%.100s", used ? "." : "", key);
  else
    snprintf(check->path + used, PATH_BYTES - used, "[%" PRIu32 "]", index);
  return used;
}

static void leave(struct check *check, size_t used) {
  check->path[used] = '\0';
}

static enum hr_status expected(const struct check *check, const struct hr__yaml *value, const char *what) {
  char found[FOUND_BYTES];
  return hr__object_fail(check->objects, check->object, value, "%s: found %s, expected %s", check->path,
                         found_text(value, found), what);
}

/* Writes "A, B or C". */
static void list_words(const char *const *words, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (size_t i = 0; words[i] && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%s", i == 0 ? "" : words[i + 1] ? ", " : " or ", words[i]);
}

static enum hr_status check_word(const struct check *check, const struct hr__yaml *value, const char *const *words) {
  char text[300];
  if (value->kind == HR__YAML_SCALAR)
    for (size_t i = 0; words[i]; i++)
      if (strcmp(words[i], value->text) == 0) return HR_OK;
  list_words(words, text, sizeof text);
  return expected(check, value, text);
}

static bool is_number(enum hr__yaml_type type) {
  return type == HR__YAML_WHOLE || type == HR__YAML_REAL;
}

/* Returns whether a scalar has a type. Does not check its bounds. */
static bool fits(const struct hr__yaml *value, enum hr__field_type type) {
  enum hr__yaml_type own = hr__yaml_type_of(value);
  int64_t amount;
  switch (type) {
  case HR__FIELD_TEXT:
    return own == HR__YAML_TEXT;
  case HR__FIELD_WHOLE:
    return own == HR__YAML_WHOLE && strlen(value->text) < 19;
  case HR__FIELD_REAL:
    return is_number(own);
  case HR__FIELD_BOOLEAN:
    return own == HR__YAML_BOOLEAN;
  case HR__FIELD_QUANTITY:
    return (own == HR__YAML_TEXT || is_number(own)) && hr__quantity(value->text, &amount);
  case HR__FIELD_DURATION:
    return (own == HR__YAML_TEXT || own == HR__YAML_WHOLE) && hr__duration(value->text, &amount);
  default:
    return true;
  }
}

static const char *words_for(enum hr__field_type type, bool not_negative) {
  switch (type) {
  case HR__FIELD_TEXT:
    return "a text";
  case HR__FIELD_WHOLE:
    return not_negative ? "a whole number of at least 0" : "a whole number";
  case HR__FIELD_REAL:
    return not_negative ? "a number of at least 0" : "a number";
  case HR__FIELD_BOOLEAN:
    return "true or false";
  case HR__FIELD_QUANTITY:
    return not_negative ? "a quantity of at least 0, such as 8, 500m or 64Gi" : "a quantity, such as 8, 500m or 64Gi";
  case HR__FIELD_DURATION:
    return "a duration, such as 5m or 1h30m";
  case HR__FIELD_LIST:
    return "a list of objects";
  case HR__FIELD_TEXTS:
    return "a list of texts";
  case HR__FIELD_WORDS:
    return "a list of words";
  default:
    return "an object";
  }
}

static enum hr_status check_scalar(const struct check *check, const struct hr__yaml *value, enum hr__field_type type,
                                   bool not_negative) {
  bool right = value->kind == HR__YAML_SCALAR && fits(value, type) && !(not_negative && value->text[0] == '-');
  return right ? HR_OK : expected(check, value, words_for(type, not_negative));
}

/* Checks a list, or an object with any keys, and its entries. */
static enum hr_status check_entries(struct check *check, struct hr__yaml *value, const struct hr__field *field) {
  static const enum hr__field_type types[] = {[HR__FIELD_TEXTS] = HR__FIELD_TEXT,
                                              [HR__FIELD_LABELS] = HR__FIELD_TEXT,
                                              [HR__FIELD_AMOUNTS] = HR__FIELD_QUANTITY,
                                              [HR__FIELD_NUMBERS] = HR__FIELD_REAL,
                                              [HR__FIELD_SWITCHES] = HR__FIELD_BOOLEAN};
  bool is_list = field->type == HR__FIELD_TEXTS || field->type == HR__FIELD_WORDS || field->type == HR__FIELD_LIST;
  if (value->kind != (is_list ? HR__YAML_LIST : HR__YAML_MAP))
    return expected(check, value, words_for(field->type, field->not_negative));
  if (is_list && field->required && value->count == 0) return expected(check, value, "at least one entry");
  enum hr_status status = HR_OK;
  uint32_t index = 0;
  for (struct hr__yaml *entry = value->first; entry && status == HR_OK; entry = entry->next, index++) {
    size_t used = enter(check, is_list ? NULL : entry->key, index);
    if (field->type == HR__FIELD_LIST)
      status = check_fields(check, entry, field->fields);
    else if (field->type == HR__FIELD_WORDS)
      status = check_word(check, entry, field->words);
    else
      status = check_scalar(check, entry, types[field->type], field->not_negative);
    leave(check, used);
  }
  return status;
}

static enum hr_status check_type(struct check *check, struct hr__yaml *value, const struct hr__field *field) {
  switch (field->type) {
  case HR__FIELD_ANY:
    return HR_OK;
  case HR__FIELD_WORD:
    return check_word(check, value, field->words);
  case HR__FIELD_OBJECT:
    return check_fields(check, value, field->fields);
  case HR__FIELD_LIST:
  case HR__FIELD_TEXTS:
  case HR__FIELD_WORDS:
  case HR__FIELD_LABELS:
  case HR__FIELD_AMOUNTS:
  case HR__FIELD_NUMBERS:
  case HR__FIELD_SWITCHES:
    return check_entries(check, value, field);
  default:
    return check_scalar(check, value, field->type, field->not_negative);
  }
}

/* ---- Fields ----------------------------------------------------------------------------------------- */

/* Counts a value of a field that is not modelled. The first value also sets the text of the note, with its place. */
static enum hr_status add_finding(struct check *check, const struct hr__yaml *value, const struct hr__field *field) {
  struct hr__objects *objects = check->objects;
  for (uint32_t i = 0; i < objects->n_findings; i++)
    if (objects->findings[i].field == field) {
      objects->findings[i].count++;
      return HR_OK;
    }
  if (!HR__ARRAY_HAS_ROOM(objects->findings, objects->n_findings, objects->finding_capacity))
    return hr__objects_no_memory(objects);
  char subject[SUBJECT_BYTES], text[TEXT_BYTES];
  put_object(subject, sizeof subject, check->object);
  snprintf(text, sizeof text, "%.300s:%" PRIu32 ":%" PRIu32 ": %s%s is not modelled: %s", value->path, value->key_line,
           value->key_column, subject, check->path, field->effect);
  objects->findings[objects->n_findings] = (struct hr__finding){field, strdup(text), 1};
  return objects->findings[objects->n_findings++].text ? HR_OK : hr__objects_no_memory(objects);
}

/* Returns whether a value of a field that is not modelled changes nothing: it is empty, null, or the neutral value. */
static bool is_neutral(const struct hr__yaml *value, const struct hr__field *field) {
  if (value->kind != HR__YAML_SCALAR) return value->count == 0;
  return hr__yaml_type_of(value) == HR__YAML_NULL || (field->neutral && strcmp(value->text, field->neutral) == 0);
}

static const struct hr__field *find_field(const struct hr__field *fields, const char *name) {
  while (fields->name && strcmp(fields->name, name) != 0) fields++;
  return fields->name ? fields : NULL;
}

/* Adds a warning about an unknown field. `other` is the field of this name in another version of the API; NULL: no
   version has the field. */
static enum hr_status warn_unknown(const struct check *check, const struct hr__yaml *value,
                                   const struct hr__field *fields, const struct hr__field *other) {
  const char *names[80], *nearest = NULL;
  char subject[SUBJECT_BYTES], hint[120] = "";
  size_t count = 0;
  for (; fields->name && count + 1 < sizeof names / sizeof *names; fields++) names[count++] = fields->name;
  names[count] = NULL;
  if (!other) nearest = hr_nearest_word(value->key, names);
  if (other) snprintf(hint, sizeof hint, ", which is a field of %s only", other->version);
  if (nearest) snprintf(hint, sizeof hint, "; did you mean '%s'?", nearest);
  put_object(subject, sizeof subject, check->object);
  return hr__objects_note(check->objects, "warning: %.300s:%" PRIu32 ":%" PRIu32 ": %sunknown field '%s' is ignored%s",
                          value->path, value->key_line, value->key_column, subject, check->path, hint);
}

static enum hr_status check_field(struct check *check, struct hr__yaml *value, const struct hr__field *fields) {
  const struct hr__field *field = find_field(fields, value->key);
  bool other_version = field && field->version && strcmp(field->version, check->object->version) != 0;
  if (!field || other_version) return warn_unknown(check, value, fields, field);
  if (value->kind == HR__YAML_SCALAR && hr__yaml_type_of(value) == HR__YAML_NULL) return HR_OK;
  enum hr_status status = check_type(check, value, field);
  if (status != HR_OK || !field->effect || is_neutral(value, field)) return status;
  return add_finding(check, value, field);
}

static enum hr_status check_required(const struct check *check, const struct hr__yaml *map,
                                     const struct hr__field *fields) {
  for (; fields->name; fields++)
    if (fields->required && !hr__yaml_child(map, fields->name))
      return hr__object_fail(check->objects, check->object, map, "%s%s%s is missing", check->path,
                             check->path[0] ? "." : "", fields->name);
  return HR_OK;
}

static enum hr_status check_fields(struct check *check, struct hr__yaml *map, const struct hr__field *fields) {
  if (map->kind != HR__YAML_MAP) return expected(check, map, "an object");
  enum hr_status status = HR_OK;
  for (struct hr__yaml *value = map->first; value && status == HR_OK; value = value->next) {
    size_t used = enter(check, value->key, 0);
    status = check_field(check, value, fields);
    leave(check, used);
  }
  return status == HR_OK ? check_required(check, map, fields) : status;
}

enum hr_status hr__objects_check(struct hr__objects *objects, const struct hr__object *object, struct hr__yaml *value,
                                 const char *path, const struct hr__field *fields) {
  struct check check = {.objects = objects, .object = object};
  snprintf(check.path, sizeof check.path, "%s", path);
  return check_fields(&check, value, fields);
}

/* ---- Objects ---------------------------------------------------------------------------------------- */

static const struct hr__field metadata_fields[] = {{HR__USED("name", TEXT)},
                                                   {HR__USED("namespace", TEXT)},
                                                   {HR__USED("labels", LABELS)},
                                                   {HR__USED("annotations", LABELS)},
                                                   HR__IGNORED("uid"),
                                                   HR__IGNORED("creationTimestamp"),
                                                   HR__IGNORED("deletionTimestamp"),
                                                   HR__IGNORED("deletionGracePeriodSeconds"),
                                                   HR__IGNORED("resourceVersion"),
                                                   HR__IGNORED("generation"),
                                                   HR__IGNORED("generateName"),
                                                   HR__IGNORED("selfLink"),
                                                   HR__IGNORED("finalizers"),
                                                   HR__IGNORED("ownerReferences"),
                                                   HR__END};

/* Splits "group/version". The group of "v1" is "". */
static void split_version(const char *api, char *group, size_t size, const char **version) {
  const char *slash = strrchr(api, '/');
  snprintf(group, size, "%.*s", slash ? (int)(slash - api) : 0, api);
  *version = slash ? slash + 1 : api;
}

static bool has_version(const struct hr__object_kind *kind, const char *version) {
  for (size_t i = 0; kind->versions[i]; i++)
    if (strcmp(kind->versions[i], version) == 0) return true;
  return false;
}

/* Returns the kind with this name and this group; if only other groups have the name, the first kind with this name.
   NULL: no kind has this name. */
static const struct hr__object_kind *find_kind(const struct hr__objects *objects, const char *name, const char *group) {
  const struct hr__object_kind *found = NULL;
  for (size_t i = 0; i < objects->n_kinds + 2; i++) {
    const struct hr__object_kind *kind = i < objects->n_kinds    ? &objects->kinds[i]
                                         : i == objects->n_kinds ? objects->nodes
                                                                 : &hr__kind_config_map;
    if (strcmp(kind->name, name) != 0) continue;
    if (strcmp(kind->group, group) == 0) return kind;
    if (!found) found = kind;
  }
  return found;
}

/* Fails because an object of a known kind has an unknown API version. */
static enum hr_status fail_version(const struct hr__objects *objects, const struct hr__object *object,
                                   const struct hr__yaml *api) {
  const struct hr__object_kind *kind = object->kind;
  char known[300];
  size_t used = 0;
  for (size_t i = 0; kind->versions[i] && used < sizeof known; i++)
    used += (size_t)snprintf(known + used, sizeof known - used, "%s%s%s%s", i == 0 ? "" : " or ", kind->group,
                             kind->group[0] ? "/" : "", kind->versions[i]);
  return hr__object_fail(objects, object, api, "apiVersion: found '%.80s', expected %s", api->text, known);
}

static enum hr_status fail_duplicate(const struct hr__objects *objects, const struct hr__object *object,
                                     const struct hr__object *other) {
  return hr__object_fail(objects, object, object->root, "is defined twice; first at %.200s:%" PRIu32, other->root->path,
                         other->root->line);
}

/* Checks an object of a known kind and adds it. */
static enum hr_status add_object(struct hr__objects *objects, struct hr__object *object) {
  const struct hr__field fields[] = {{.name = "metadata", .type = HR__FIELD_OBJECT, .fields = metadata_fields},
                                     HR__END};
  struct check check = {.objects = objects, .object = object};
  struct hr__yaml *metadata = hr__yaml_child(object->root, "metadata");
  enum hr_status status = HR_OK;
  if (!object->kind->nameless && !object->name)
    return hr__object_fail(objects, object, object->root, "metadata.name is missing");
  if (metadata) {
    size_t used = enter(&check, "metadata", 0);
    status = check_fields(&check, metadata, fields->fields);
    leave(&check, used);
  }
  for (struct hr__yaml *value = object->root->first; value && status == HR_OK; value = value->next) {
    if (strcmp(value->key, "apiVersion") == 0 || strcmp(value->key, "kind") == 0 || value == metadata) continue;
    size_t used = enter(&check, value->key, 0);
    status = check_field(&check, value, object->kind->fields);
    leave(&check, used);
  }
  if (status == HR_OK) status = check_required(&check, object->root, object->kind->fields);
  if (status != HR_OK) return status;
  const struct hr__object *other =
      object->name ? hr__objects_find(objects, object->kind, object->name_space, object->name) : NULL;
  if (other) return fail_duplicate(objects, object, other);
  if (!HR__ARRAY_HAS_ROOM(objects->list, objects->count, objects->capacity)) return hr__objects_no_memory(objects);
  objects->list[objects->count++] = *object;
  return HR_OK;
}

/* Counts an object of a kind that is not read. */
static enum hr_status count_other(struct hr__objects *objects, const char *kind) {
  for (uint32_t i = 0; i < objects->n_findings; i++)
    if (!objects->findings[i].field && strcmp(objects->findings[i].text, kind) == 0) {
      objects->findings[i].count++;
      return HR_OK;
    }
  if (!HR__ARRAY_HAS_ROOM(objects->findings, objects->n_findings, objects->finding_capacity))
    return hr__objects_no_memory(objects);
  objects->findings[objects->n_findings] = (struct hr__finding){NULL, strdup(kind), 1};
  return objects->findings[objects->n_findings++].text ? HR_OK : hr__objects_no_memory(objects);
}

/* Reads an object. Items of a list such as a NodeList may lack their kind and API version. `list_kind` and
   `list_version` are then used; NULL: the object is not in such a list. */
static enum hr_status read_object(struct hr__objects *objects, struct hr__yaml *root, const char *list_kind,
                                  const char *list_version) {
  char group[200];
  if (root->kind != HR__YAML_MAP)
    return hr__object_fail(objects, NULL, root, "found a %s, expected a Kubernetes object",
                           root->kind == HR__YAML_LIST ? "list" : "text");
  const struct hr__yaml *api = hr__yaml_child(root, "apiVersion"), *kind = hr__yaml_child(root, "kind");
  const char *api_text = api && api->kind == HR__YAML_SCALAR ? api->text : list_version;
  const char *kind_text = kind && kind->kind == HR__YAML_SCALAR ? kind->text : list_kind;
  struct hr__object object = {.root = root};
  if (!kind_text && !api_text && objects->bare) {
    object = (struct hr__object){.kind = objects->bare, .root = root, .name_space = "", .version = ""};
    return add_object(objects, &object);
  }
  if (!kind_text || !api_text)
    return hr__object_fail(objects, NULL, root, "%s is missing: expected a Kubernetes object with apiVersion and kind",
                           kind_text ? "apiVersion" : "kind");
  split_version(api_text, group, sizeof group, &object.version);
  object.kind = find_kind(objects, kind_text, group);
  if (!object.kind) return count_other(objects, kind_text);
  object.name = hr__yaml_text(root, "metadata.name");
  object.name_space = hr__yaml_text(root, "metadata.namespace");
  if (!object.name_space) object.name_space = object.kind->namespaced ? "default" : "";
  if (strcmp(object.kind->group, group) != 0 || !has_version(object.kind, object.version))
    return fail_version(objects, &object, api ? api : root);
  return add_object(objects, &object);
}

/* Reads a document: an object, or a list of objects as kubectl prints it. */
static enum hr_status read_document(struct hr__objects *objects, struct hr__yaml *root) {
  const char *kind = hr__yaml_text(root, "kind"), *version = hr__yaml_text(root, "apiVersion");
  struct hr__yaml *items = hr__yaml_child(root, "items");
  if (!kind || !hr__ends_with(kind, "List") || !items) return read_object(objects, root, NULL, NULL);
  if (items->kind != HR__YAML_LIST) return hr__object_fail(objects, NULL, items, "items: expected a list of objects");
  char of_items[100];
  snprintf(of_items, sizeof of_items, "%.*s", (int)(strlen(kind) < 90 ? strlen(kind) - strlen("List") : 0), kind);
  enum hr_status status = HR_OK;
  for (struct hr__yaml *item = items->first; item && status == HR_OK; item = item->next)
    status = read_object(objects, item, of_items[0] ? of_items : NULL, of_items[0] ? version : NULL);
  return status;
}

enum hr_status hr__objects_report(struct hr__objects *objects) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < objects->n_findings && status == HR_OK; i++) {
    const struct hr__finding *finding = &objects->findings[i];
    uint32_t more = finding->count - 1;
    if (!finding->field)
      status = hr__objects_note(objects, "%" PRIu32 " object%s of kind %.80s %s not used", finding->count,
                                more ? "s" : "", finding->text, more ? "are" : "is");
    else if (more)
      status =
          hr__objects_note(objects, "%s (and in %" PRIu32 " more place%s)", finding->text, more, more == 1 ? "" : "s");
    else
      status = hr__objects_note(objects, "%s", finding->text);
  }
  return status;
}

static enum hr_status read_documents(struct hr__objects *objects, uint32_t from) {
  enum hr_status status = HR_OK;
  for (uint32_t i = from; i < objects->documents.count && status == HR_OK; i++)
    status = read_document(objects, objects->documents.roots[i]);
  return status;
}

enum hr_status hr__objects_read(struct hr__objects *objects, const char *const *files, size_t n_files) {
  enum hr_status status = HR_OK;
  uint32_t from = objects->documents.count;
  for (size_t i = 0; i < n_files && status == HR_OK; i++)
    status = hr__yaml_read(&objects->documents, files[i], objects->error);
  return status == HR_OK ? read_documents(objects, from) : status;
}

enum hr_status hr__objects_read_text(struct hr__objects *objects, const struct hr__yaml *text) {
  uint32_t from = objects->documents.count;
  enum hr_status status =
      hr__yaml_read_text(&objects->documents, text->path, text->text, text->line + text->block, objects->error);
  return status == HR_OK ? read_documents(objects, from) : status;
}

enum hr_status hr__objects_read_maps(struct hr__objects *objects, const char *const *keys) {
  enum hr_status status = HR_OK;
  const uint32_t count = objects->count;
  for (uint32_t i = 0; i < count && status == HR_OK; i++) {
    if (objects->list[i].kind != &hr__kind_config_map) continue;
    const struct hr__yaml *data = hr__yaml_child(objects->list[i].root, "data");
    for (size_t k = 0; keys[k] && status == HR_OK; k++) {
      const struct hr__yaml *text = hr__yaml_child(data, keys[k]);
      if (text) status = hr__objects_read_text(objects, text);
    }
  }
  return status;
}

void hr__objects_finish(struct hr__objects *objects) {
  for (uint32_t i = 0; i < objects->n_findings; i++) free(objects->findings[i].text);
  free(objects->findings);
  free(objects->list);
  hr__yaml_finish(&objects->documents);
}

const struct hr__object *hr__objects_find(const struct hr__objects *objects, const struct hr__object_kind *kind,
                                          const char *name_space, const char *name) {
  for (uint32_t i = 0; i < objects->count; i++) {
    const struct hr__object *object = &objects->list[i];
    if (object->kind == kind && object->name && strcmp(object->name, name) == 0 &&
        (!name_space || strcmp(object->name_space, name_space) == 0))
      return object;
  }
  return NULL;
}

const struct hr__object *hr__objects_next(const struct hr__objects *objects, const struct hr__object_kind *kind,
                                          const struct hr__object *last) {
  for (uint32_t i = last ? (uint32_t)(last - objects->list) + 1 : 0; i < objects->count; i++)
    if (objects->list[i].kind == kind) return &objects->list[i];
  return NULL;
}

enum hr_status hr__objects_only(const struct hr__objects *objects, const struct hr__object_kind *kind,
                                const struct hr__object **only) {
  const struct hr__object *first = *only = hr__objects_next(objects, kind, NULL);
  const struct hr__object *second = first ? hr__objects_next(objects, kind, first) : NULL;
  if (!second) return HR_OK;
  return hr__object_fail(objects, second, second->root, "is the second one; the first is at %.200s:%" PRIu32,
                         first->root->path, first->root->line);
}

const struct hr__yaml *hr__object_parent(const struct hr__object *object, const char *path, const char *root) {
  const struct hr__yaml *parent = hr__yaml_at(object->root, path);
  return parent && parent->text[0] && !(root && strcmp(parent->text, root) == 0) ? parent : NULL;
}

enum hr_status hr__objects_check_parents(const struct hr__objects *objects, const struct hr__object *queue,
                                         const char *path, const char *root) {
  const struct hr__object *at = queue;
  for (uint32_t steps = 0; steps <= objects->count; steps++) {
    const struct hr__yaml *parent = hr__object_parent(at, path, root);
    if (!parent) return HR_OK;
    const struct hr__object *above = hr__objects_find(objects, queue->kind, NULL, parent->text);
    if (!above)
      return hr__object_fail(objects, at, parent, "%s: found '%.80s', expected %s%sthe name of a Queue in these files",
                             path, parent->text, root ? root : "", root ? " or " : "");
    if (above == queue)
      return hr__object_fail(objects, at, parent, "%s: the parents of queue '%.80s' form a cycle", path, queue->name);
    at = above;
  }
  return HR_OK; /* a cycle of other queues, which is reported for them */
}
