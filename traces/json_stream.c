/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The outermost value is taken apart here, character by character; each item is cut out by counting brackets outside of
 * texts, and only then looked at by the scanner and cJSON, which see it as a small file of its own.
 */

#include "traces/json_stream.h"

#include "traces/json_file.h"
#include "traces/json_scan.h"

#include <stdlib.h>
#include <string.h>

enum { LARGEST_ITEM_MIB = 16, MOST_STREAMED = 8, MOST_KEY = 200 };

struct stream {
  struct hr__reader *reader;
  const struct hr__json_schema *schema;
  const char *at, *end;           /* of the text at hand */
  bool ended;                     /* there is no more of it */
  struct hr__json_position place; /* of `at` */
  char *text;                     /* of the value that was cut out */
  size_t length, capacity;
  struct hr__json_position begin; /* where it began */
  bool seen[MOST_STREAMED];
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

/* The character that comes next, '\0' at the end of the file. */
static enum hr_status peek(struct stream *stream, char *c) {
  enum hr_status status = refill(stream);
  *c = status == HR_OK && !stream->ended ? *stream->at : '\0';
  return status;
}

static void pass(struct stream *stream) {
  if (*stream->at == '\n') {
    stream->place.line++;
    stream->place.column = 1;
  } else if (((unsigned char)*stream->at & 0xc0) != 0x80) { /* not the rest of a character */
    stream->place.column++;
  }
  stream->at++;
}

static enum hr_status skip_space(struct stream *stream, char *c) {
  enum hr_status status;
  while ((status = peek(stream, c)) == HR_OK && (*c == ' ' || *c == '\t' || *c == '\r' || *c == '\n')) pass(stream);
  return status;
}

/* ---- Values ----------------------------------------------------------------------------------------- */

static enum hr_status keep(struct stream *stream, char c) {
  if (stream->length + 1 >= stream->capacity) {
    size_t capacity = stream->capacity ? 2 * stream->capacity : 4096;
    if (capacity > (size_t)LARGEST_ITEM_MIB << 20)
      return fail_at(stream, stream->begin, "the value that begins here is larger than 16 MiB");
    char *grown = realloc(stream->text, capacity);
    if (!grown) return hr__reader_no_memory(stream->reader);
    stream->text = grown;
    stream->capacity = capacity;
  }
  stream->text[stream->length++] = c;
  return HR_OK;
}

struct cut {
  size_t depth;
  bool in_text, escaped;
};

/* Whether the value ends with this character (`*with_it`) or before it. */
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

/* Cuts the next value out; what it is, the scanner will say. */
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
      status = keep(stream, c);
      if (status != HR_OK) return status;
      pass(stream);
    }
    if (last) break;
  }
  enum hr_status status = keep(stream, '\0');
  stream->length--;
  return status;
}

static enum hr_status parse(struct stream *stream, cJSON **tree) {
  return hr__json_text_parse(stream->reader->path, stream->text, stream->length, stream->begin, tree,
                             stream->reader->error);
}

static enum hr_status hand_over(struct stream *stream, struct hr__json_item *item) {
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

/* Reads `"key" :`. */
static enum hr_status take_key(struct stream *stream, char key[MOST_KEY + 1]) {
  char c;
  enum hr_status status = skip_space(stream, &c);
  if (status != HR_OK) return status;
  if (c != '"') return fail(stream, "a key in double quotes is wanted here");
  cJSON *tree = NULL;
  status = cut_value(stream);
  if (status == HR_OK) status = parse(stream, &tree);
  bool fits = status == HR_OK && strlen(tree->valuestring) <= MOST_KEY;
  if (fits) strcpy(key, tree->valuestring);
  cJSON_Delete(tree);
  if (status != HR_OK) return status;
  if (!fits) return fail_at(stream, stream->begin, "a key of more than 200 characters");
  status = skip_space(stream, &c);
  if (status != HR_OK) return status;
  if (c != ':') return fail(stream, "':' is wanted after a key");
  pass(stream);
  return skip_space(stream, &c);
}

/* After a child of a list or an object: `*more` when another follows. */
static enum hr_status take_comma(struct stream *stream, char closing, bool *more) {
  char c;
  enum hr_status status = skip_space(stream, &c);
  if (status != HR_OK) return status;
  *more = c == ',';
  if (!*more && c != closing)
    return fail(stream, closing == '}' ? "',' or '}' is wanted here" : "',' or ']' is wanted here");
  pass(stream);
  return skip_space(stream, &c);
}

typedef enum hr_status take_child(struct stream *stream, const char *member, const char *key, uint32_t index);

/* Takes a list or an object apart; the position is at its opening bracket. */
static enum hr_status take_children(struct stream *stream, const char *member, take_child *child) {
  char opening, c, key[MOST_KEY + 1];
  enum hr_status status = peek(stream, &opening);
  char closing = opening == '{' ? '}' : ']';
  if (status != HR_OK) return status;
  pass(stream);
  status = skip_space(stream, &c);
  bool more = status == HR_OK && c != closing;
  if (status == HR_OK && !more) pass(stream);
  for (uint32_t index = 0; status == HR_OK && more; index++) {
    if (opening == '{') status = take_key(stream, key);
    if (status == HR_OK) status = child(stream, member, opening == '{' ? key : NULL, index);
    if (status == HR_OK) status = take_comma(stream, closing, &more);
  }
  return status;
}

static enum hr_status take_item(struct stream *stream, const char *member, const char *key, uint32_t index) {
  struct hr__json_item item = {.member = member, .index = index, .key = key};
  return hand_over(stream, &item);
}

/* A member that nobody wants must be JSON all the same. */
static enum hr_status pass_over(struct stream *stream) {
  cJSON *tree = NULL;
  enum hr_status status = cut_value(stream);
  if (status == HR_OK) status = parse(stream, &tree);
  cJSON_Delete(tree);
  return status;
}

static enum hr_status take_member(struct stream *stream, const char *outer, const char *key, uint32_t index) {
  (void)outer;
  const struct hr__json_schema *schema = stream->schema;
  char c;
  enum hr_status status = peek(stream, &c);
  if (status != HR_OK) return status;
  for (size_t i = 0; i < MOST_STREAMED && schema->streamed[i]; i++) {
    if (strcmp(schema->streamed[i], key) != 0) continue;
    if (stream->seen[i]) return fail(stream, "this member of the outermost object stands here for the second time");
    stream->seen[i] = true;
    if (c == '[' || c == '{') return take_children(stream, schema->streamed[i], take_item);
  }
  if (!schema->wanted || !schema->wanted(key)) return pass_over(stream);
  struct hr__json_item item = {.member = key, .index = index};
  return hand_over(stream, &item);
}

static enum hr_status take_all(struct stream *stream) {
  char c;
  enum hr_status status = skip_space(stream, &c);
  if (status != HR_OK) return status;
  if (c != '[' && c != '{') return fail(stream, "a list [...] or an object {...} is wanted");
  status = take_children(stream, NULL, c == '[' ? take_item : take_member);
  if (status == HR_OK) status = skip_space(stream, &c);
  if (status != HR_OK) return status;
  return stream->ended ? HR_OK : fail(stream, "something follows the end of the JSON value");
}

enum hr_status hr__json_stream_read(struct hr__reader *reader, const struct hr__json_schema *schema) {
  struct stream stream = {.reader = reader, .schema = schema, .place = {1, 1}};
  enum hr_status status = take_all(&stream);
  free(stream.text);
  return status;
}
