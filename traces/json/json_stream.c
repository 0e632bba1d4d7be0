/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads a JSON file of any size item by item. An item is a child of the outermost list, or of a list or object that is
 * a member of the outermost object.
 *
 * The text of an item is found by counting brackets outside of strings. This text is then checked and parsed like a
 * file of its own, with its position in the file. The getters read members of an item.
 */

#include "traces/json/json.h"

#include "base/containers.h"
#include "traces/core/numbers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_ITEM_MIB = 16, MAX_STREAMED = 8, MAX_KEY = 200 };

struct stream {
  struct hr__reader *reader;
  const struct hr__json_schema *schema;
  const char *at, *end;           /* rest of the current chunk */
  bool ended;                     /* end of the file reached */
  struct hr__json_position place; /* position of `at` */
  char *text;                     /* text of the current value */
  size_t length;
  uint32_t capacity;
  struct hr__json_position begin; /* position of the beginning of the text */
  bool seen[MAX_STREAMED];
};

static enum hr_status fail_at(const struct stream *stream, struct hr__json_position place, const char *text) {
  return hr_fail(stream->reader->error, HR_BAD_INPUT, "%s:%zu:%zu: %s", stream->reader->path, place.line, place.column,
                 text);
}

static enum hr_status fail(const struct stream *stream, const char *text) {
  return fail_at(stream, stream->place, text);
}

/* ---- Characters ------------------------------------------------------------------------------------- */

static enum hr_status refill(struct stream *stream) {
  if (stream->at < stream->end || stream->ended) return HR_OK;
  struct hr_text chunk;
  enum hr_status status = hr__input_chunk(stream->reader->input, &chunk, stream->reader->error);
  stream->at = chunk.at;
  stream->end = chunk.at + chunk.length;
  stream->ended = chunk.length == 0;
  return status;
}

/* Sets `*c` to the next character, without reading it; '\0' at the end of the file. */
static enum hr_status peek(struct stream *stream, char *c) {
  enum hr_status status = refill(stream);
  *c = status == HR_OK && !stream->ended ? *stream->at : '\0';
  return status;
}

static void advance(struct stream *stream) {
  if (*stream->at == '\n') {
    stream->place.line++;
    stream->place.column = 1;
  } else if (((unsigned char)*stream->at & 0xc0) != 0x80) { /* continuation bytes of UTF-8 are not counted */
    stream->place.column++;
  }
  stream->at++;
}

static enum hr_status skip_space(struct stream *stream, char *c) {
  enum hr_status status;
  while ((status = peek(stream, c)) == HR_OK && (*c == ' ' || *c == '\t' || *c == '\r' || *c == '\n')) advance(stream);
  return status;
}

/* ---- Values ----------------------------------------------------------------------------------------- */

static enum hr_status append_char(struct stream *stream, char c) {
  if (stream->length + 1 >= (size_t)LARGEST_ITEM_MIB << 20)
    return fail_at(stream, stream->begin, "the value that begins here is larger than 16 MiB");
  if (!HR__ARRAY_HAS_ROOM(stream->text, stream->length, stream->capacity)) return hr__reader_no_memory(stream->reader);
  stream->text[stream->length++] = c;
  return HR_OK;
}

/* State of the search for the end of a value: the number of open brackets, whether the position is in a string, and
   whether the previous character of the string was an escaping backslash. */
struct cut {
  size_t depth;
  bool in_text, escaped;
};

/* Returns true if the value ends at character `c`. If `*with_it` is set, the character is a part of the value;
   otherwise the value ends before the character. */
static bool ends(struct cut *cut, char c, bool first, bool *with_it) {
  *with_it = true;
  if (cut->in_text) {
    bool closing = c == '"' && !cut->escaped;
    cut->escaped = c == '\\' && !cut->escaped;
    cut->in_text = !closing;
    return closing && cut->depth == 0;
  }
  if (c == '"') {
    cut->in_text = true;
    return false;
  }
  if (c == '{' || c == '[') {
    cut->depth++;
    return false;
  }
  *with_it = cut->depth > 0 || first;
  if (c == '}' || c == ']') return cut->depth == 0 || --cut->depth == 0;
  return cut->depth == 0 && !first && (c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ':');
}

/* Copies the text of the next value to stream->text. The scanner checks the text later. */
static enum hr_status cut_value(struct stream *stream) {
  struct cut cut = {0};
  char c;
  stream->length = 0;
  stream->begin = stream->place;
  for (;;) {
    enum hr_status status = peek(stream, &c);
    if (status != HR_OK) return status;
    bool with_it = false;
    if (c == '\0') break;
    bool last = ends(&cut, c, stream->length == 0, &with_it);
    if (!last || with_it) {
      status = append_char(stream, c);
      if (status != HR_OK) return status;
      advance(stream);
    }
    if (last) break;
  }
  enum hr_status status = append_char(stream, '\0');
  stream->length--;
  return status;
}

static enum hr_status parse(struct stream *stream, cJSON **tree) {
  return hr__json_text_parse(stream->reader->path, stream->text, stream->length, stream->begin, tree,
                             stream->reader->error);
}

static enum hr_status parse_item(struct stream *stream, struct hr__json_item *item) {
  cJSON *tree = NULL;
  enum hr_status status = cut_value(stream);
  if (status == HR_OK) status = parse(stream, &tree);
  item->value = tree;
  item->line = stream->begin.line;
  if (status == HR_OK) status = stream->schema->on_item(stream->schema->self, item);
  cJSON_Delete(tree);
  return status;
}

/* ---- The outermost value ---------------------------------------------------------------------------- */

/* Reads the key of a member and the colon after the key. */
static enum hr_status read_key(struct stream *stream, char key[MAX_KEY + 1]) {
  char c;
  enum hr_status status = skip_space(stream, &c);
  if (status != HR_OK) return status;
  if (c != '"') return fail(stream, "expected a key in double quotes");
  cJSON *tree = NULL;
  status = cut_value(stream);
  if (status == HR_OK) status = parse(stream, &tree);
  bool fits = status == HR_OK && strlen(tree->valuestring) <= MAX_KEY;
  if (fits) strcpy(key, tree->valuestring);
  cJSON_Delete(tree);
  if (status != HR_OK) return status;
  if (!fits) return fail_at(stream, stream->begin, "a key of more than 200 characters");
  status = skip_space(stream, &c);
  if (status != HR_OK) return status;
  if (c != ':') return fail(stream, "expected ':' after the key");
  advance(stream);
  return skip_space(stream, &c);
}

/* Called after a child of a list or object. Reads a comma or the closing bracket, and sets `*more` to true if it was
   a comma. Any other character is an error. */
static enum hr_status read_comma(struct stream *stream, char closing, bool *more) {
  char c;
  enum hr_status status = skip_space(stream, &c);
  if (status != HR_OK) return status;
  *more = c == ',';
  if (!*more && c != closing) return fail(stream, closing == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
  advance(stream);
  return skip_space(stream, &c);
}

typedef enum hr_status read_child(struct stream *stream, const char *member, const char *key, uint32_t index);

/* Calls `child` for each child of a list or an object. The current position must be at the opening bracket. */
static enum hr_status read_children(struct stream *stream, const char *member, read_child *child) {
  char opening, c, key[MAX_KEY + 1];
  enum hr_status status = peek(stream, &opening);
  char closing = opening == '{' ? '}' : ']';
  if (status != HR_OK) return status;
  advance(stream);
  status = skip_space(stream, &c);
  bool more = status == HR_OK && c != closing;
  if (status == HR_OK && !more) advance(stream);
  for (uint32_t index = 0; status == HR_OK && more; index++) {
    if (opening == '{') status = read_key(stream, key);
    if (status == HR_OK) status = child(stream, member, opening == '{' ? key : NULL, index);
    if (status == HR_OK) status = read_comma(stream, closing, &more);
  }
  return status;
}

static enum hr_status read_item(struct stream *stream, const char *member, const char *key, uint32_t index) {
  struct hr__json_item item = {.member = member, .index = index, .key = key};
  return parse_item(stream, &item);
}

/* Skips a member that is not needed. It must be valid JSON, too. */
static enum hr_status skip_value(struct stream *stream) {
  cJSON *tree = NULL;
  enum hr_status status = cut_value(stream);
  if (status == HR_OK) status = parse(stream, &tree);
  cJSON_Delete(tree);
  return status;
}

static enum hr_status read_member(struct stream *stream, const char *outer, const char *key, uint32_t index) {
  (void)outer;
  const struct hr__json_schema *schema = stream->schema;
  char c;
  enum hr_status status = peek(stream, &c);
  if (status != HR_OK) return status;
  for (size_t i = 0; i < MAX_STREAMED && schema->streamed[i]; i++) {
    if (strcmp(schema->streamed[i], key) != 0) continue;
    if (stream->seen[i]) return fail(stream, "duplicate member of the outermost object");
    stream->seen[i] = true;
    if (c == '[' || c == '{') return read_children(stream, schema->streamed[i], read_item);
  }
  if (!schema->is_used || !schema->is_used(key)) return skip_value(stream);
  struct hr__json_item item = {.member = key, .index = index};
  return parse_item(stream, &item);
}

static enum hr_status read_all(struct stream *stream) {
  char c;
  enum hr_status status = skip_space(stream, &c);
  if (status != HR_OK) return status;
  if (c != '[' && c != '{') return fail(stream, "expected a list [...] or an object {...}");
  status = read_children(stream, NULL, c == '[' ? read_item : read_member);
  if (status == HR_OK) status = skip_space(stream, &c);
  if (status != HR_OK) return status;
  return stream->ended ? HR_OK : fail(stream, "unexpected text after the JSON value");
}

enum hr_status hr__json_stream_read(struct hr__reader *reader, const struct hr__json_schema *schema) {
  struct stream stream = {.reader = reader, .schema = schema, .place = {1, 1}};
  enum hr_status status = read_all(&stream);
  free(stream.text);
  return status;
}

void hr__get_begin(struct hr__json_get *get, const char *list, const struct hr__json_item *item) {
  if (item->key)
    snprintf(get->item, sizeof get->item, "%.10s[\"%.20s\"]", list, item->key);
  else
    snprintf(get->item, sizeof get->item, "%.20s[%u]", list, item->index);
  get->fault = (struct hr__row_fault){.line = item->line, .item = get->item};
}

const cJSON *hr__get_member(const cJSON *object, const char *path) {
  enum { MAX_NAME = 64 };
  char name[MAX_NAME];
  while (object && *path) {
    size_t length = strcspn(path, ".");
    if (length >= MAX_NAME || !cJSON_IsObject(object)) return NULL;
    memcpy(name, path, length);
    name[length] = '\0';
    object = cJSON_GetObjectItemCaseSensitive(object, name);
    path += path[length] ? length + 1 : length;
  }
  return cJSON_IsNull(object) ? NULL : object;
}

bool hr__get_wrong(struct hr__json_get *get, const char *path, const cJSON *value, const char *fault) {
  get->value[0] = '\0';
  get->fault.column = path;
  get->fault.fault = fault;
  if (cJSON_IsString(value))
    get->fault.value = (struct hr_text){value->valuestring, strlen(value->valuestring)};
  else if (cJSON_IsNumber(value))
    snprintf(get->value, sizeof get->value, "%.17g", value->valuedouble);
  else if (value)
    snprintf(get->value, sizeof get->value, "%s",
             cJSON_IsArray(value)    ? "[...]"
             : cJSON_IsObject(value) ? "{...}"
             : cJSON_IsTrue(value)   ? "true"
                                     : "false");
  if (!cJSON_IsString(value)) get->fault.value = (struct hr_text){get->value, strlen(get->value)};
  return false;
}

bool hr__get_text(struct hr__json_get *get, const cJSON *object, const char *path, bool required,
                  struct hr_text *text) {
  const cJSON *value = hr__get_member(object, path);
  if (!value) return !required || hr__get_wrong(get, path, NULL, "missing");
  if (!cJSON_IsString(value)) return hr__get_wrong(get, path, value, "not a text");
  if (required && !*value->valuestring) return hr__get_wrong(get, path, NULL, "empty");
  *text = (struct hr_text){value->valuestring, strlen(value->valuestring)};
  return true;
}

bool hr__get_whole(struct hr__json_get *get, const cJSON *object, const char *path, uint64_t max, uint64_t *whole) {
  const cJSON *value = hr__get_member(object, path);
  if (!value) return true;
  if (!cJSON_IsNumber(value) || value->valuedouble < 0 || value->valuedouble != floor(value->valuedouble))
    return hr__get_wrong(get, path, value, "not a whole number of at least 0");
  if (value->valuedouble > (double)max) return hr__get_wrong(get, path, value, "too large");
  *whole = (uint64_t)value->valuedouble;
  return true;
}

bool hr__get_seconds(struct hr__json_get *get, const cJSON *object, const char *path, int64_t *us) {
  const cJSON *value = hr__get_member(object, path);
  if (!value) return true;
  if (!cJSON_IsNumber(value) || !(value->valuedouble >= 0))
    return hr__get_wrong(get, path, value, "not a number of seconds of at least 0");
  if (value->valuedouble > (double)(HR_MAX_INPUT_US / HR_SECOND_US))
    return hr__get_wrong(get, path, value, "more than 100000000000 s");
  *us = llround(value->valuedouble * (double)HR_SECOND_US);
  return true;
}

bool hr__get_date(struct hr__json_get *get, const cJSON *object, const char *path, int64_t *us) {
  struct hr_text text = {NULL, 0};
  if (!hr__get_text(get, object, path, false, &text)) return false;
  if (!text.length) return true;
  const char *fault = hr__value_read(&get->values, HR__INSTANT_OR_NONE, (uint64_t)HR_SECOND_US, text, us);
  return !fault || hr__get_wrong(get, path, hr__get_member(object, path), fault);
}

enum hr_status hr__get_note_clock(struct hr__json_get *get) {
  enum hr__clock clock = get->values.clock;
  get->reader->dated = clock == HR__CLOCK_LOCAL_DATES || clock == HR__CLOCK_ZONED_DATES;
  if (clock != HR__CLOCK_LOCAL_DATES) return HR_OK;
  enum hr_status status = hr_notes_add(get->reader->notes, "%s", HR__LOCAL_DATES_NOTE);
  return status == HR_OK ? HR_OK : hr__reader_no_memory(get->reader);
}
