/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads YAML with libyaml's events into trees. JSON is read as YAML, of which it is a subset.
 *
 * Invariant: the weight of each collection (list or map) is the sum of the weights of its children plus one, and is at
 * most MAX_VALUES. An alias within the value of its own anchor is an error, so trees are finite.
 *
 * Members with the key managedFields are skipped. In them, the API server of Kubernetes records which client has set
 * which field. They are often the largest part of a file.
 *
 * Source: yaml.org/spec/1.1. Scalars have the same types as in the decoder of Kubernetes (sigs.k8s.io/yaml).
 */

#include "scenarios/import/import.h"

#include "traces/core/reader.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <yaml.h>

enum { MAX_DEPTH = 64, MAX_VALUES = 4000000, MAX_ANCHORS = 10000, MAX_KEYS = 20000 };

struct anchor {
  char *name;
  struct hr__yaml *value; /* NULL: the value has not been read completely */
};

struct yaml_reader {
  yaml_parser_t parser;
  struct hr__yaml_documents *documents;
  const char *path;
  FILE *file; /* NULL: the text is in memory */
  bool has_begun, is_compressed;
  uint32_t first_line; /* line number of the first line */
  uint32_t n_values;   /* number of values in memory; at most MAX_VALUES */
  struct anchor *anchors;
  uint32_t n_anchors, anchor_capacity;
  struct hr_error *error;
};

/* ---- Errors ----------------------------------------------------------------------------------------- */

static uint32_t line_of(const struct yaml_reader *reader, yaml_mark_t mark) {
  return (uint32_t)mark.line + reader->first_line;
}

static enum hr_status fail_at(const struct yaml_reader *reader, yaml_mark_t mark, const char *what) {
  return hr_fail(reader->error, HR_BAD_INPUT, "%s:%u:%u: %s", reader->path, line_of(reader, mark),
                 (uint32_t)mark.column + 1, what);
}

static enum hr_status no_memory(const struct yaml_reader *reader) {
  return hr_fail(reader->error, HR_NO_MEMORY, "%s: out of memory", reader->path);
}

/* Reports an error of libyaml. */
static enum hr_status fail_parse(const struct yaml_reader *reader) {
  const yaml_parser_t *parser = &reader->parser;
  if (parser->error == YAML_MEMORY_ERROR) return no_memory(reader);
  if (reader->is_compressed)
    return hr_fail(reader->error, HR_BAD_INPUT, "%s: is compressed; expected a plain YAML or JSON file", reader->path);
  const char *problem = parser->problem ? parser->problem : "not valid";
  if (parser->error == YAML_READER_ERROR)
    return hr_fail(reader->error, HR_BAD_INPUT, "%s: byte %zu: %s, expected UTF-8", reader->path,
                   parser->problem_offset, problem);
  char text[300];
  snprintf(text, sizeof text, "not valid YAML: %s%s%s", problem, parser->context ? " " : "",
           parser->context ? parser->context : "");
  return fail_at(reader, parser->problem_mark, text);
}

/* ---- Values ----------------------------------------------------------------------------------------- */

static char *copy_text(struct yaml_reader *reader, const yaml_char_t *text, size_t length) {
  char *copy = hr_arena_alloc(&reader->documents->arena, length + 1);
  if (copy) memcpy(copy, text, length);
  return copy;
}

static struct hr__yaml *new_value(struct yaml_reader *reader, const yaml_event_t *event, enum hr__yaml_kind kind) {
  if (++reader->n_values > MAX_VALUES) return NULL;
  struct hr__yaml *value = hr_arena_alloc(&reader->documents->arena, sizeof *value);
  if (!value) return NULL;
  uint32_t line = line_of(reader, event->start_mark), column = (uint32_t)event->start_mark.column + 1;
  *value = (struct hr__yaml){.path = reader->path,
                             .text = "",
                             .line = line,
                             .column = column,
                             .key_line = line,
                             .key_column = column,
                             .weight = 1,
                             .kind = (uint8_t)kind};
  return value;
}

/* Reports the error after new_value() has returned NULL, and returns its status. */
static enum hr_status fail_value(const struct yaml_reader *reader, yaml_mark_t mark) {
  if (reader->n_values <= MAX_VALUES) return no_memory(reader);
  return fail_at(reader, mark, "the file has more than 4,000,000 values; expected fewer objects in a file");
}

/* ---- Anchors ---------------------------------------------------------------------------------------- */

/* Adds an anchor before its value is read, and sets `*index` to its index. If `name` is NULL, the value has no anchor,
   and `*index` is set to UINT32_MAX. */
static enum hr_status open_anchor(struct yaml_reader *reader, const yaml_char_t *name, yaml_mark_t mark,
                                  uint32_t *index) {
  *index = UINT32_MAX;
  if (!name) return HR_OK;
  if (reader->n_anchors == MAX_ANCHORS) return fail_at(reader, mark, "more than 10,000 anchors in a document");
  if (!HR__ARRAY_HAS_ROOM(reader->anchors, reader->n_anchors, reader->anchor_capacity)) return no_memory(reader);
  reader->anchors[reader->n_anchors] = (struct anchor){.name = strdup((const char *)name)};
  if (!reader->anchors[reader->n_anchors].name) return no_memory(reader);
  *index = reader->n_anchors++;
  return HR_OK;
}

static void close_anchor(struct yaml_reader *reader, uint32_t index, struct hr__yaml *value) {
  if (index != UINT32_MAX) reader->anchors[index].value = value;
}

static void drop_anchors(struct yaml_reader *reader) {
  for (uint32_t i = 0; i < reader->n_anchors; i++) free(reader->anchors[i].name);
  reader->n_anchors = 0;
}

/* Makes a value that shares the children of the value of an anchor. If several anchors have the name, the last one
   applies. */
static enum hr_status read_alias(struct yaml_reader *reader, const yaml_event_t *event, struct hr__yaml **value) {
  const char *name = (const char *)event->data.alias.anchor;
  uint32_t i = reader->n_anchors;
  char text[160];
  while (i > 0 && strcmp(reader->anchors[i - 1].name, name) != 0) i--;
  if (i == 0 || !reader->anchors[i - 1].value) {
    snprintf(text, sizeof text, i ? "the alias '*%.60s' is within its own anchor" : "the alias '*%.60s' has no anchor",
             name);
    return fail_at(reader, event->start_mark, text);
  }
  *value = new_value(reader, event, HR__YAML_SCALAR);
  if (!*value) return fail_value(reader, event->start_mark);
  const struct hr__yaml *target = reader->anchors[i - 1].value;
  uint32_t line = (*value)->line, column = (*value)->column;
  **value = *target;
  (*value)->key = NULL;
  (*value)->next = NULL;
  (*value)->line = (*value)->key_line = line;
  (*value)->column = (*value)->key_column = column;
  return HR_OK;
}

/* ---- Collections ------------------------------------------------------------------------------------ */

static enum hr_status read_value(struct yaml_reader *reader, const yaml_event_t *event, unsigned depth,
                                 struct hr__yaml **value);

static enum hr_status next_event(struct yaml_reader *reader, yaml_event_t *event) {
  return yaml_parser_parse(&reader->parser, event) ? HR_OK : fail_parse(reader);
}

/* Appends a child. Returns false if the expanded tree would be too large. */
static bool append(struct hr__yaml *collection, struct hr__yaml **last, struct hr__yaml *child) {
  if (collection->weight + child->weight > MAX_VALUES) return false;
  collection->weight += child->weight;
  collection->count++;
  *(*last ? &(*last)->next : &collection->first) = child;
  *last = child;
  return true;
}

static enum hr_status fail_weight(const struct yaml_reader *reader, yaml_mark_t mark) {
  return fail_at(reader, mark, "aliases expand the document to more than 4,000,000 values");
}

static enum hr_status read_list(struct yaml_reader *reader, struct hr__yaml *list, unsigned depth) {
  struct hr__yaml *last = NULL;
  for (;;) {
    yaml_event_t event;
    struct hr__yaml *child = NULL;
    enum hr_status status = next_event(reader, &event);
    if (status != HR_OK) return status;
    bool ends = event.type == YAML_SEQUENCE_END_EVENT;
    yaml_mark_t mark = event.start_mark;
    if (!ends) status = read_value(reader, &event, depth + 1, &child);
    yaml_event_delete(&event);
    if (ends || status != HR_OK) return status;
    if (!append(list, &last, child)) return fail_weight(reader, mark);
  }
}

static struct hr__yaml *find_key(const struct hr__yaml *map, const char *key) {
  for (struct hr__yaml *child = map->first; child; child = child->next)
    if (strcmp(child->key, key) == 0) return child;
  return NULL;
}

/* Adds copies of the members of `merged` to `map`, except those with keys that `map` already has. */
static enum hr_status merge_map(struct yaml_reader *reader, struct hr__yaml *map, struct hr__yaml **last,
                                const struct hr__yaml *merged, yaml_mark_t mark) {
  for (const struct hr__yaml *child = merged->first; child; child = child->next) {
    if (find_key(map, child->key)) continue;
    struct hr__yaml *copy = hr_arena_alloc(&reader->documents->arena, sizeof *copy);
    if (!copy) return no_memory(reader);
    *copy = *child;
    copy->next = NULL;
    if (!append(map, last, copy) || ++reader->n_values > MAX_VALUES) return fail_weight(reader, mark);
  }
  return HR_OK;
}

/* Applies the merge key "<<". Its value `merged` is a map or a list of maps; earlier maps have precedence. */
static enum hr_status merge(struct yaml_reader *reader, struct hr__yaml *map, struct hr__yaml **last,
                            const struct hr__yaml *merged, yaml_mark_t mark) {
  if (merged->kind == HR__YAML_MAP) return merge_map(reader, map, last, merged, mark);
  enum hr_status status = merged->kind == HR__YAML_LIST ? HR_OK : HR_BAD_INPUT;
  for (const struct hr__yaml *child = merged->first; child && status == HR_OK; child = child->next)
    status = child->kind == HR__YAML_MAP ? merge_map(reader, map, last, child, mark) : HR_BAD_INPUT;
  return status == HR_BAD_INPUT && !reader->error->text[0]
             ? fail_at(reader, mark, "the merge key '<<' has another value than a map or a list of maps")
             : status;
}

/* Reads a key of a map. Fails if it is not a text, or if the map has it already. */
static enum hr_status read_key(struct yaml_reader *reader, const struct hr__yaml *map, const yaml_event_t *event,
                               char **key) {
  char text[160];
  if (event->type != YAML_SCALAR_EVENT) return fail_at(reader, event->start_mark, "found a key that is no text");
  if (map->count == MAX_KEYS) return fail_at(reader, event->start_mark, "an object has more than 20,000 keys");
  *key = copy_text(reader, event->data.scalar.value, event->data.scalar.length);
  if (!*key) return no_memory(reader);
  if (!find_key(map, *key)) return HR_OK;
  snprintf(text, sizeof text, "the key '%.100s' occurs twice", *key);
  return fail_at(reader, event->start_mark, text);
}

/* Reads the value of a key. */
static enum hr_status read_member(struct yaml_reader *reader, unsigned depth, struct hr__yaml **value) {
  yaml_event_t event;
  enum hr_status status = next_event(reader, &event);
  if (status != HR_OK) return status;
  status = read_value(reader, &event, depth + 1, value);
  yaml_event_delete(&event);
  return status;
}

static enum hr_status add_member(struct yaml_reader *reader, struct hr__yaml *map, struct hr__yaml **last, char *key,
                                 yaml_mark_t mark, struct hr__yaml *value, const struct hr__yaml **merged) {
  if (strcmp(key, "managedFields") == 0) return HR_OK;
  if (strcmp(key, "<<") == 0) {
    *merged = value;
    return HR_OK;
  }
  value->key = key;
  value->key_line = line_of(reader, mark);
  value->key_column = (uint32_t)mark.column + 1;
  return append(map, last, value) ? HR_OK : fail_weight(reader, mark);
}

static enum hr_status read_map(struct yaml_reader *reader, struct hr__yaml *map, unsigned depth) {
  struct hr__yaml *last = NULL;
  const struct hr__yaml *merged = NULL;
  for (;;) {
    yaml_event_t event;
    char *key = NULL;
    struct hr__yaml *value = NULL;
    enum hr_status status = next_event(reader, &event);
    if (status != HR_OK) return status;
    bool ends = event.type == YAML_MAPPING_END_EVENT;
    yaml_mark_t mark = event.start_mark;
    if (!ends) status = read_key(reader, map, &event, &key);
    yaml_event_delete(&event);
    if (ends) return merged ? merge(reader, map, &last, merged, mark) : HR_OK;
    if (status == HR_OK) status = read_member(reader, depth, &value);
    if (status == HR_OK) status = add_member(reader, map, &last, key, mark, value, &merged);
    if (status != HR_OK) return status;
  }
}

static enum hr_status read_scalar(struct yaml_reader *reader, const yaml_event_t *event, struct hr__yaml *value) {
  value->text = copy_text(reader, event->data.scalar.value, event->data.scalar.length);
  value->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
  value->block =
      event->data.scalar.style == YAML_LITERAL_SCALAR_STYLE || event->data.scalar.style == YAML_FOLDED_SCALAR_STYLE;
  if (!value->text) return no_memory(reader);
  if (strlen(value->text) == event->data.scalar.length) return HR_OK;
  return fail_at(reader, event->start_mark, "found a text with a null character");
}

/* Reads the value that begins with an event. The caller must delete the event. */
static enum hr_status read_value(struct yaml_reader *reader, const yaml_event_t *event, unsigned depth,
                                 struct hr__yaml **value) {
  bool is_list = event->type == YAML_SEQUENCE_START_EVENT, is_map = event->type == YAML_MAPPING_START_EVENT;
  uint32_t anchor;
  if (event->type == YAML_ALIAS_EVENT) return read_alias(reader, event, value);
  if (depth > MAX_DEPTH) return fail_at(reader, event->start_mark, "values are nested more than 64 levels deep");
  *value = new_value(reader, event, is_list ? HR__YAML_LIST : is_map ? HR__YAML_MAP : HR__YAML_SCALAR);
  if (!*value) return fail_value(reader, event->start_mark);
  const yaml_char_t *name = is_list  ? event->data.sequence_start.anchor
                            : is_map ? event->data.mapping_start.anchor
                                     : event->data.scalar.anchor;
  enum hr_status status = open_anchor(reader, name, event->start_mark, &anchor);
  if (status == HR_OK)
    status = is_list  ? read_list(reader, *value, depth)
             : is_map ? read_map(reader, *value, depth)
                      : read_scalar(reader, event, *value);
  if (status == HR_OK) close_anchor(reader, anchor, *value);
  return status;
}

/* ---- Documents -------------------------------------------------------------------------------------- */

static enum hr_status add_document(struct yaml_reader *reader, struct hr__yaml *root) {
  struct hr__yaml_documents *documents = reader->documents;
  if (root->kind == HR__YAML_SCALAR && hr__yaml_type_of(root) == HR__YAML_NULL) return HR_OK;
  if (!HR__ARRAY_HAS_ROOM(documents->roots, documents->count, documents->capacity)) return no_memory(reader);
  documents->roots[documents->count++] = root;
  return HR_OK;
}

static enum hr_status read_documents(struct yaml_reader *reader) {
  for (unsigned depth = 0;;) {
    yaml_event_t event;
    enum hr_status status = next_event(reader, &event);
    if (status != HR_OK) return status;
    bool ends = event.type == YAML_STREAM_END_EVENT;
    if (event.type == YAML_DOCUMENT_START_EVENT) {
      drop_anchors(reader);
    } else if (!ends && event.type != YAML_STREAM_START_EVENT && event.type != YAML_DOCUMENT_END_EVENT) {
      struct hr__yaml *root = NULL;
      status = read_value(reader, &event, depth, &root);
      if (status == HR_OK) status = add_document(reader, root);
    }
    yaml_event_delete(&event);
    if (ends || status != HR_OK) return status;
  }
}

/* Reads the next bytes of the file for libyaml. Returns 0 after an error. */
static int read_bytes(void *self, unsigned char *buffer, size_t size, size_t *length) {
  struct yaml_reader *reader = self;
  *length = fread(buffer, 1, size, reader->file);
  if (!reader->has_begun) reader->is_compressed = hr__is_compressed(buffer, *length);
  reader->has_begun = true;
  return !reader->is_compressed && !ferror(reader->file);
}

static enum hr_status read_all(struct hr__yaml_documents *documents, const char *path, uint32_t line, FILE *file,
                               const char *text, struct hr_error *error) {
  struct hr_error own = {0};
  struct yaml_reader reader = {.documents = documents, .path = path, .file = file, .first_line = line, .error = &own};
  if (!yaml_parser_initialize(&reader.parser)) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
  if (file)
    yaml_parser_set_input(&reader.parser, read_bytes, &reader);
  else
    yaml_parser_set_input_string(&reader.parser, (const unsigned char *)text, strlen(text));
  enum hr_status status = read_documents(&reader);
  drop_anchors(&reader);
  free(reader.anchors);
  yaml_parser_delete(&reader.parser);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "%s", own.text);
}

enum hr_status hr__yaml_read(struct hr__yaml_documents *documents, const char *path, struct hr_error *error) {
  struct stat info;
  bool piped = strcmp(path, "-") == 0;
  if (!piped && stat(path, &info) != 0) return hr_fail(error, HR_BAD_INPUT, "%s: %s", path, strerror(errno));
  if (!piped && S_ISDIR(info.st_mode)) return hr_fail(error, HR_BAD_INPUT, "%s: it is a folder, expected a file", path);
  FILE *file = piped ? stdin : fopen(path, "rb");
  if (!file) return hr_fail(error, HR_BAD_INPUT, "%s: %s", path, strerror(errno));
  enum hr_status status = read_all(documents, piped ? "standard input" : path, 1, file, NULL, error);
  if (status == HR_OK && ferror(file)) status = hr_fail(error, HR_BAD_INPUT, "%s: cannot be read", path);
  if (!piped) fclose(file);
  return status;
}

enum hr_status hr__yaml_read_text(struct hr__yaml_documents *documents, const char *path, const char *text,
                                  uint32_t line, struct hr_error *error) {
  return read_all(documents, path, line, NULL, text, error);
}

void hr__yaml_finish(struct hr__yaml_documents *documents) {
  hr__arena_finish(&documents->arena);
  free(documents->roots);
  *documents = (struct hr__yaml_documents){0};
}

/* ---- Access ----------------------------------------------------------------------------------------- */

static bool is_in(const char *text, const char *const *words) {
  while (*words && strcmp(text, *words) != 0) words++;
  return *words != NULL;
}

static bool is_whole(const char *text) {
  size_t sign = *text == '-' || *text == '+', digits = strspn(text + sign, "0123456789");
  return digits && text[sign + digits] == '\0';
}

static bool is_real(const char *text) {
  char *end;
  if (!isdigit((unsigned char)text[strspn(text, "+-.")]) || strpbrk(text, "xXpPnN")) return false;
  (void)strtod(text, &end);
  return *end == '\0';
}

enum hr__yaml_type hr__yaml_type_of(const struct hr__yaml *scalar) {
  static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
  static const char *const booleans[] = {"true", "True", "TRUE", "false", "False", "FALSE", "yes", "Yes", "YES", "no",
                                         "No",   "NO",   "on",   "On",    "ON",    "off",   "Off", "OFF", NULL};
  if (scalar->quoted) return HR__YAML_TEXT;
  if (is_in(scalar->text, nulls)) return HR__YAML_NULL;
  if (is_in(scalar->text, booleans)) return HR__YAML_BOOLEAN;
  if (is_whole(scalar->text)) return HR__YAML_WHOLE;
  return is_real(scalar->text) ? HR__YAML_REAL : HR__YAML_TEXT;
}

struct hr__yaml *hr__yaml_child(const struct hr__yaml *map, const char *key) {
  if (!map || map->kind != HR__YAML_MAP) return NULL;
  struct hr__yaml *child = find_key(map, key);
  bool is_null = child && child->kind == HR__YAML_SCALAR && hr__yaml_type_of(child) == HR__YAML_NULL;
  return is_null ? NULL : child;
}

struct hr__yaml *hr__yaml_at(const struct hr__yaml *map, const char *path) {
  struct hr__yaml *value = NULL;
  while (*path) {
    char key[200];
    size_t length = strcspn(path, ".");
    snprintf(key, sizeof key, "%.*s", (int)(length < sizeof key ? length : sizeof key - 1), path);
    value = hr__yaml_child(map, key);
    if (!value) return NULL;
    map = value;
    path += length + (path[length] == '.');
  }
  return value;
}

const char *hr__yaml_text(const struct hr__yaml *map, const char *path) {
  const struct hr__yaml *value = hr__yaml_at(map, path);
  return value && value->kind == HR__YAML_SCALAR ? value->text : NULL;
}
