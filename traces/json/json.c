/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks JSON text, reads a JSON file into a tree, and reads a JSON file of any size item by item.
 *
 * A recursive-descent scanner for the grammar of RFC 8259 checks the text. Its depth is bounded, and it builds no tree.
 * To find the position of a value, the scanner stops at that value.
 *
 * All faults of the file are found before its contents are interpreted: the file cannot be opened, is a directory, is
 * too large, is empty, is compressed, is not UTF-8, is not JSON, or has a duplicate key. cJSON accepts duplicate keys
 * and returns the first of them. Duplicate keys are therefore found by sorting the keys of each object.
 */

#include "traces/json/json.h"

#include "base/containers.h"
#include "base/process.h"
#include "base/text.h"
#include "traces/core/fields.h"
#include "traces/core/reader.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- The scanner ----------------------------------------------------------------------------------- */

struct scan {
  const char *start, *at;
  unsigned depth;
  struct hr__json_flaw flaw;
};

static bool fail_at(struct scan *scan, const char *at, const char *text) {
  scan->flaw = (struct hr__json_flaw){(size_t)(at - scan->start), text};
  return false;
}

static const char no_comments[] = "comments are not allowed, except members such as \"//\": \"text\"";

/* Sets the error to `text` and returns false. If the text at the current position is a comment, the error instead
   reports that comments are not allowed. */
static bool fail(struct scan *scan, const char *text) {
  bool is_comment = scan->at[0] == '/' && (scan->at[1] == '/' || scan->at[1] == '*');
  return fail_at(scan, scan->at, is_comment || scan->at[0] == '#' ? no_comments : text);
}

static void skip_space(struct scan *scan) {
  scan->at += strspn(scan->at, " \t\r\n");
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* ---- Strings --------------------------------------------------------------------------------------- */

/* Returns the value of four hexadecimal digits; -1 if some character is not a hexadecimal digit. */
static int hex4(const char *at) {
  static const char digits[] = "0123456789abcdef";
  int value = 0;
  for (int i = 0; i < 4; i++) {
    char c = at[i] >= 'A' && at[i] <= 'F' ? (char)(at[i] - 'A' + 'a') : at[i];
    const char *digit = c ? strchr(digits, c) : NULL;
    if (!digit) return -1;
    value = value * 16 + (int)(digit - digits);
  }
  return value;
}

static bool scan_unicode(struct scan *scan) {
  int code = hex4(scan->at + 2);
  if (code < 0) return fail(scan, "expected four hexadecimal digits after \\u");
  if (code == 0) return fail(scan, "\\u0000 is not allowed in a string");
  bool high = code >= 0xd800 && code < 0xdc00, low = code >= 0xdc00 && code < 0xe000;
  const char *next = scan->at + 6;
  int second = high && next[0] == '\\' && next[1] == 'u' ? hex4(next + 2) : -1;
  if (low || (high && (second < 0xdc00 || second >= 0xe000)))
    return fail(scan, "unpaired surrogate: \\ud800-\\udbff and \\udc00-\\udfff must form pairs");
  scan->at += high ? 12 : 6;
  return true;
}

static bool scan_escape(struct scan *scan) {
  char kind = scan->at[1];
  if (kind == 'u') return scan_unicode(scan);
  if (!kind || !strchr("\"\\/bfnrt", kind))
    return fail(scan, "unknown escape; expected \\\" \\\\ \\/ \\b \\f \\n \\r \\t or \\uXXXX");
  scan->at += 2;
  return true;
}

static bool scan_string(struct scan *scan) {
  const char *opening = scan->at++;
  while (*scan->at != '"') {
    if (*scan->at == '\\') {
      if (!scan_escape(scan)) return false;
      continue;
    }
    if (*scan->at == '\0' || *scan->at == '\n' || *scan->at == '\r')
      return fail_at(scan, opening, "this string has no closing '\"' on its line");
    if ((unsigned char)*scan->at < 0x20) return fail(scan, "control character in a string; write \\t or \\uXXXX");
    scan->at++;
  }
  scan->at++;
  return true;
}

/* ---- Numbers and words ----------------------------------------------------------------------------- */

static bool scan_digits(struct scan *scan) {
  if (!is_digit(*scan->at)) return fail(scan, "expected a digit");
  while (is_digit(*scan->at)) scan->at++;
  return true;
}

static bool scan_number(struct scan *scan) {
  enum { LONGEST = 60 };
  const char *first = scan->at;
  if (*scan->at == '-') scan->at++;
  if (scan->at[0] == '0' && is_digit(scan->at[1])) return fail(scan, "a number must not begin with a redundant 0");
  if (!scan_digits(scan)) return false;
  if (*scan->at == '.') {
    scan->at++;
    if (!scan_digits(scan)) return false;
  }
  if (*scan->at == 'e' || *scan->at == 'E') {
    scan->at++;
    if (*scan->at == '+' || *scan->at == '-') scan->at++;
    if (!scan_digits(scan)) return false;
  }
  return scan->at - first <= LONGEST || fail_at(scan, first, "number of more than 60 characters");
}

static bool scan_word(struct scan *scan) {
  static const char *const words[] = {"true", "false", "null"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    size_t length = strlen(words[i]);
    if (strncmp(scan->at, words[i], length) != 0) continue;
    scan->at += length;
    return true;
  }
  switch (*scan->at) {
  case '\0':
    return fail(scan, "unexpected end of the text; expected a value");
  case '\'':
    return fail(scan, "strings must be in double quotes");
  case ',':
  case '}':
  case ']':
    return fail(scan, "missing value");
  default:
    return fail(scan, "not a JSON value; expected \"text\" in double quotes, a number, true, false, [...] or {...}");
  }
}

/* ---- Lists and objects ----------------------------------------------------------------------------- */

static bool scan_value(struct scan *scan);

static bool scan_key(struct scan *scan) {
  if (*scan->at == '}') return fail(scan, "trailing comma before '}'");
  if (*scan->at == '\0') return fail(scan, "unexpected end of the text inside an object; expected '}'");
  if (*scan->at != '"') return fail(scan, "expected a key in double quotes");
  if (!scan_string(scan)) return false;
  skip_space(scan);
  if (*scan->at != ':') return fail(scan, "expected ':' after the key");
  scan->at++;
  skip_space(scan);
  return true;
}

/* Called after a child of a list or object. Reads a comma or the closing bracket, and sets `*more` to true if it was
   a comma. Returns false for any other character. */
static bool scan_comma(struct scan *scan, char closing, bool *more) {
  skip_space(scan);
  *more = *scan->at == ',';
  if (!*more && *scan->at != closing) return fail(scan, closing == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
  scan->at++;
  skip_space(scan);
  return true;
}

static bool scan_members(struct scan *scan) {
  char closing = *scan->at++ == '{' ? '}' : ']';
  skip_space(scan);
  bool more = *scan->at != closing;
  if (!more) scan->at++;
  while (more) {
    if (closing == ']' && *scan->at == ']') return fail(scan, "trailing comma before ']'");
    if (closing == '}' && !scan_key(scan)) return false;
    if (!scan_value(scan) || !scan_comma(scan, closing, &more)) return false;
  }
  return true;
}

static bool scan_value(struct scan *scan) {
  if (*scan->at == '{' || *scan->at == '[') {
    if (scan->depth == HR__JSON_DEPTH) return fail(scan, "nested more than 64 levels deep");
    scan->depth++;
    bool good = scan_members(scan);
    scan->depth--;
    return good;
  }
  if (*scan->at == '"') return scan_string(scan);
  if (*scan->at == '-' || is_digit(*scan->at)) return scan_number(scan);
  return scan_word(scan);
}

bool hr__json_check(const char *text, struct hr__json_flaw *flaw) {
  struct scan scan = {.start = text, .at = text};
  skip_space(&scan);
  bool good = scan_value(&scan);
  if (good) {
    skip_space(&scan);
    good = *scan.at == '\0' || fail(&scan, "unexpected text after the JSON value");
  }
  *flaw = scan.flaw;
  return good;
}

/* ---- Positions ------------------------------------------------------------------------------------- */

/* Moves to the child with index `ordinal` of a list or an object. Sets `*key` to the beginning of the child of a
   list, or to the beginning of the key of the child of an object. Returns false if there are fewer children. */
static bool enter(struct scan *scan, uint32_t ordinal, const char **key) {
  if (*scan->at != '{' && *scan->at != '[') return false;
  char closing = *scan->at++ == '{' ? '}' : ']';
  skip_space(scan);
  bool more = *scan->at != closing;
  while (more) {
    *key = scan->at;
    if (closing == '}' && !scan_key(scan)) return false;
    if (ordinal-- == 0) return true;
    if (!scan_value(scan) || !scan_comma(scan, closing, &more)) return false;
  }
  return false;
}

size_t hr__json_find(const char *text, const uint32_t *ordinals, size_t depth, bool at_key) {
  struct scan scan = {.start = text, .at = text};
  skip_space(&scan);
  const char *key = scan.at;
  for (size_t i = 0; i < depth; i++)
    if (!enter(&scan, ordinals[i], &key)) return SIZE_MAX;
  return (size_t)((at_key ? key : scan.at) - text);
}

static void move_past(struct hr__json_position *position, char byte) {
  if (byte == '\n') {
    position->line++;
    position->column = 1;
  } else {
    position->column += hr__begins_character(byte);
  }
}

struct hr__json_position hr__json_position(const char *text, size_t offset) {
  struct hr__json_position position = {1, 1};
  for (size_t i = 0; i < offset; i++) move_past(&position, text[i]);
  return position;
}

/* ---- Files ----------------------------------------------------------------------------------------- */

enum { LARGEST_MIB = 16 };
static const size_t largest_bytes = (size_t)LARGEST_MIB << 20;

static enum hr_status open_file(const char *path, FILE **stream, struct hr_error *error) {
  struct stat info;
  const char *file = hr__input_path(path);
  if (file && stat(file, &info) == 0 && S_ISDIR(info.st_mode))
    return hr_fail(error, HR_BAD_INPUT, "%s: is a directory, expected a JSON file", path);
  *stream = file ? fopen(file, "rb") : NULL;
  if (*stream) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: cannot be read: %s", path, strerror(errno));
}

/* Reads the whole stream. The caller frees `*text`. */
static enum hr_status read_stream(FILE *stream, const char *path, char **text, size_t *length, struct hr_error *error) {
  *text = hr__file_text(stream, largest_bytes, length);
  if (!*text) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  if (ferror(stream)) return hr_fail(error, HR_IO_ERROR, "%s: cannot be read: %s", path, strerror(errno));
  if (*length <= largest_bytes) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: is larger than %d MiB, the limit for JSON files", path, LARGEST_MIB);
}

static enum hr_status check_file(const char *path, const char *text, size_t length, struct hr_error *error) {
  if (strspn(text, " \t\r\n") == length)
    return hr_fail(error, HR_BAD_INPUT, "%s: is empty; expected a JSON object {...}", path);
  if (hr__is_compressed(text, length))
    return hr_fail(error, HR_BAD_INPUT, "%s: is compressed; expected a plain JSON file", path);
  return HR_OK;
}

/* Returns the position in the file of byte `offset` of a text that begins at `start`. */
static struct hr__json_position position_in_file(const char *text, size_t offset, struct hr__json_position start) {
  struct hr__json_position position = hr__json_position(text, offset);
  if (position.line == 1) position.column += start.column - 1;
  position.line += start.line - 1;
  return position;
}

static enum hr_status check_characters(const char *path, const char *text, size_t length,
                                       struct hr__json_position start, struct hr_error *error) {
  size_t bytes;
  for (size_t at = 0; at < length; at += bytes) {
    bytes = text[at] ? hr__utf8_length(text + at) : 0;
    if (bytes) continue;
    struct hr__json_position position = position_in_file(text, at, start);
    return hr_fail(error, HR_BAD_INPUT, "%s:%zu:%zu: byte 0x%02x is not valid UTF-8", path, position.line,
                   position.column, (unsigned)(unsigned char)text[at]);
  }
  return HR_OK;
}

static enum hr_status check_keys(const char *path, const char *text, struct hr__json_position start, const cJSON *tree,
                                 struct hr_error *error) {
  struct hr__json_repeat repeat;
  if (!hr__json_repeat_find(tree, &repeat)) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  if (!repeat.key) return HR_OK;
  size_t offset = hr__json_find(text, repeat.ordinals, repeat.depth, true);
  struct hr__json_position position = position_in_file(text, offset, start);
  return hr_fail(error, HR_BAD_INPUT, "%s:%zu:%zu: duplicate key '%.60s'", path, position.line, position.column,
                 repeat.key);
}

/* Parses one JSON value. `text` is NUL-terminated. `start` is the position of the text in the file, for messages.
   The caller deletes the tree. */
static enum hr_status json_text_parse(const char *path, const char *text, size_t length, struct hr__json_position start,
                                      cJSON **tree, struct hr_error *error) {
  struct hr__json_flaw flaw;
  *tree = NULL;
  enum hr_status status = check_characters(path, text, length, start, error);
  if (status != HR_OK) return status;
  if (!hr__json_check(text, &flaw)) {
    struct hr__json_position position = position_in_file(text, flaw.offset, start);
    return hr_fail(error, HR_BAD_INPUT, "%s:%zu:%zu: %s", path, position.line, position.column, flaw.text);
  }
  *tree = cJSON_Parse(text);
  if (!*tree) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  status = check_keys(path, text, start, *tree, error);
  if (status == HR_OK) return HR_OK;
  cJSON_Delete(*tree);
  *tree = NULL;
  return status;
}

/* ---- Comments -------------------------------------------------------------------------------------- */

/* A member of an object is a comment if its key begins with "//" and its value is a string. Comments are overwritten
   with spaces before the text is parsed. The positions of other values therefore do not change. */

static char *skip_spaces(char *at) {
  return at + strspn(at, " \t\r\n");
}

/* Returns the end of the string that begins at `at`; NULL if it has no end. */
static char *string_end(char *at) {
  for (at++; *at && *at != '"'; at++)
    if (*at == '\\' && at[1]) at++;
  return *at ? at + 1 : NULL;
}

/* Returns the end of the comment with a key that begins at `at`; NULL if it is not a comment. */
static char *comment_end(char *at) {
  char *end = strncmp(at, "\"//", 3) == 0 ? string_end(at) : NULL;
  char *colon = end ? skip_spaces(end) : NULL;
  char *value = colon && *colon == ':' ? skip_spaces(colon + 1) : NULL;
  return value && *value == '"' ? string_end(value) : NULL;
}

static void erase(char *from, const char *to) {
  for (; from < to; from++)
    if (*from != '\n') *from = ' ';
}

/* Overwrites each comment with spaces. The comma after the comment is overwritten, too. If the comment is the last
   member of its object, the comma before it is overwritten instead. */
static void erase_comments(char *text) {
  char *before = NULL; /* the last character that is neither white space nor in a string */
  for (char *at = text; at && *(at = skip_spaces(at));) {
    bool is_key = *at == '"' && before && (*before == '{' || *before == ',');
    char *end = is_key ? comment_end(at) : NULL, *after = end ? skip_spaces(end) : NULL;
    if (after && *after == ',' && *skip_spaces(after + 1) != '}') {
      erase(at, after + 1);
    } else if (after && *after == '}') {
      erase(*before == ',' ? before : at, end);
    } else {
      end = *at == '"' ? string_end(at) : at + 1;
      if (*at != '"') before = at;
    }
    at = end;
  }
}

enum hr_status hr__json_file_read(const char *path, struct hr__json_file *file, struct hr_error *error) {
  static const char mark[] = "\xef\xbb\xbf";
  *file = (struct hr__json_file){0};
  FILE *stream;
  size_t length = 0;
  enum hr_status status = open_file(path, &stream, error);
  if (status != HR_OK) return status;
  status = read_stream(stream, path, &file->text, &length, error);
  fclose(stream);
  if (status == HR_OK && strncmp(file->text, mark, sizeof mark - 1) == 0) {
    length -= sizeof mark - 1;
    memmove(file->text, file->text + sizeof mark - 1, length + 1);
  }
  if (status == HR_OK) status = check_file(path, file->text, length, error);
  if (status == HR_OK) erase_comments(file->text);
  if (status == HR_OK)
    status = json_text_parse(path, file->text, length, (struct hr__json_position){1, 1}, &file->tree, error);
  if (status != HR_OK) hr__json_file_finish(file);
  return status;
}

enum hr_status hr__json_file_copy(const char *path, const unsigned char *bytes, size_t length,
                                  struct hr__json_file *file, struct hr_error *error) {
  *file = (struct hr__json_file){0};
  file->text = strndup((const char *)bytes, length);
  if (!file->text) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  enum hr_status status =
      json_text_parse(path, file->text, length, (struct hr__json_position){1, 1}, &file->tree, error);
  if (status != HR_OK) hr__json_file_finish(file);
  return status;
}

void hr__json_file_finish(struct hr__json_file *file) {
  cJSON_Delete(file->tree);
  free(file->text);
  *file = (struct hr__json_file){0};
}

/* ---- Duplicate keys -------------------------------------------------------------------------------- */

struct member {
  const char *key;
  uint32_t ordinal;
};

struct search {
  struct hr__json_repeat *repeat;
  struct member *members;
  uint32_t capacity;
};

static int by_key(const void *left, const void *right) {
  const struct member *a = left, *b = right;
  int order = strcmp(a->key, b->key);
  return order ? order : a->ordinal < b->ordinal ? -1 : 1;
}

static bool list_members(struct search *search, const cJSON *object, uint32_t *count) {
  *count = 0;
  for (const cJSON *member = object->child; member; member = member->next) {
    if (!HR__ARRAY_HAS_ROOM(search->members, *count, search->capacity)) return false;
    search->members[*count] = (struct member){member->string, *count};
    ++*count;
  }
  return true;
}

/* Searches an object for the first member with the same key as an earlier member. Returns false if out of
   memory. */
static bool search_object(struct search *search, const cJSON *object) {
  struct hr__json_repeat *repeat = search->repeat;
  uint32_t count;
  if (!list_members(search, object, &count)) return false;
  if (count > 1) qsort(search->members, count, sizeof *search->members, by_key);
  for (uint32_t i = 1; i < count; i++) {
    const struct member *member = &search->members[i];
    if (strcmp(member[-1].key, member->key) != 0) continue;
    if (repeat->key && repeat->ordinals[repeat->depth] < member->ordinal) continue;
    repeat->key = member->key;
    repeat->ordinals[repeat->depth] = member->ordinal;
  }
  if (repeat->key) repeat->depth++;
  return true;
}

static bool search_value(struct search *search, const cJSON *value) {
  struct hr__json_repeat *repeat = search->repeat;
  if (cJSON_IsObject(value) && !search_object(search, value)) return false;
  uint32_t ordinal = 0;
  for (const cJSON *child = value->child; child && !repeat->key; child = child->next, ordinal++) {
    if (!child->child) continue;
    repeat->ordinals[repeat->depth++] = ordinal;
    if (!search_value(search, child)) return false;
    if (!repeat->key) repeat->depth--;
  }
  return true;
}

bool hr__json_repeat_find(const cJSON *tree, struct hr__json_repeat *repeat) {
  struct search search = {.repeat = repeat};
  *repeat = (struct hr__json_repeat){0};
  bool good = search_value(&search, tree);
  free(search.members);
  return good;
}

/* ---- Items ----------------------------------------------------------------------------------------- */

/*
 * An item is a child of the outermost list, or of a list or object that is a member of the outermost object.
 *
 * The text of an item is found by counting brackets outside of strings. This text is then checked and parsed like a
 * file of its own, with its position in the file. The getters read members of an item.
 */

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

static enum hr_status stream_fail_at(const struct stream *stream, struct hr__json_position place, const char *text) {
  return hr_fail(stream->reader->error, HR_BAD_INPUT, "%s:%zu:%zu: %s", stream->reader->path, place.line, place.column,
                 text);
}

static enum hr_status stream_fail(const struct stream *stream, const char *text) {
  return stream_fail_at(stream, stream->place, text);
}

/* ---- Items: characters ----------------------------------------------------------------------------- */

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
  move_past(&stream->place, *stream->at++);
}

static enum hr_status skip_blanks(struct stream *stream, char *c) {
  enum hr_status status;
  while ((status = peek(stream, c)) == HR_OK && (*c == ' ' || *c == '\t' || *c == '\r' || *c == '\n')) advance(stream);
  return status;
}

/* ---- Items: values --------------------------------------------------------------------------------- */

static enum hr_status append_char(struct stream *stream, char c) {
  if (stream->length + 1 >= (size_t)LARGEST_ITEM_MIB << 20)
    return stream_fail_at(stream, stream->begin, "the value that begins here is larger than 16 MiB");
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
  return json_text_parse(stream->reader->path, stream->text, stream->length, stream->begin, tree,
                         stream->reader->error);
}

/* Parses a value and passes it to the schema; skips it if `item` is NULL. */
static enum hr_status parse_item(struct stream *stream, struct hr__json_item *item) {
  cJSON *tree = NULL;
  enum hr_status status = cut_value(stream);
  if (status == HR_OK) status = parse(stream, &tree);
  if (status == HR_OK && item) {
    item->value = tree;
    item->line = stream->begin.line;
    status = stream->schema->on_item(stream->schema->self, item);
  }
  cJSON_Delete(tree);
  return status;
}

/* ---- Items: the outermost value -------------------------------------------------------------------- */

/* Reads the key of a member and the colon after the key. */
static enum hr_status read_key(struct stream *stream, char key[MAX_KEY + 1]) {
  char c;
  enum hr_status status = skip_blanks(stream, &c);
  if (status != HR_OK) return status;
  if (c != '"') return stream_fail(stream, "expected a key in double quotes");
  cJSON *tree = NULL;
  status = cut_value(stream);
  if (status == HR_OK) status = parse(stream, &tree);
  bool fits = status == HR_OK && strlen(tree->valuestring) <= MAX_KEY;
  if (fits) strcpy(key, tree->valuestring);
  cJSON_Delete(tree);
  if (status != HR_OK) return status;
  if (!fits) return stream_fail_at(stream, stream->begin, "a key of more than 200 characters");
  status = skip_blanks(stream, &c);
  if (status != HR_OK) return status;
  if (c != ':') return stream_fail(stream, "expected ':' after the key");
  advance(stream);
  return skip_blanks(stream, &c);
}

/* Called after a child of a list or object. Reads a comma or the closing bracket, and sets `*more` to true if it was
   a comma. Any other character is an error. */
static enum hr_status read_comma(struct stream *stream, char closing, bool *more) {
  char c;
  enum hr_status status = skip_blanks(stream, &c);
  if (status != HR_OK) return status;
  *more = c == ',';
  if (!*more && c != closing)
    return stream_fail(stream, closing == '}' ? "expected ',' or '}'" : "expected ',' or ']'");
  advance(stream);
  return skip_blanks(stream, &c);
}

typedef enum hr_status read_child(struct stream *stream, const char *member, const char *key, uint32_t index);

/* Calls `child` for each child of a list or an object. The current position must be at the opening bracket. */
static enum hr_status read_children(struct stream *stream, const char *member, read_child *child) {
  char opening, c, key[MAX_KEY + 1];
  enum hr_status status = peek(stream, &opening);
  char closing = opening == '{' ? '}' : ']';
  if (status != HR_OK) return status;
  advance(stream);
  status = skip_blanks(stream, &c);
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

static enum hr_status read_member(struct stream *stream, const char *outer, const char *key, uint32_t index) {
  (void)outer, (void)index;
  const struct hr__json_schema *schema = stream->schema;
  char c;
  enum hr_status status = peek(stream, &c);
  if (status != HR_OK) return status;
  for (size_t i = 0; i < MAX_STREAMED && schema->streamed[i]; i++) {
    if (strcmp(schema->streamed[i], key) != 0) continue;
    if (stream->seen[i]) return stream_fail(stream, "duplicate member of the outermost object");
    stream->seen[i] = true;
    if (c == '[' || c == '{') return read_children(stream, schema->streamed[i], read_item);
  }
  return parse_item(stream, NULL);
}

static enum hr_status read_all(struct stream *stream) {
  char c;
  enum hr_status status = skip_blanks(stream, &c);
  if (status != HR_OK) return status;
  if (c != '[' && c != '{') return stream_fail(stream, "expected a list [...] or an object {...}");
  status = read_children(stream, NULL, c == '[' ? read_item : read_member);
  if (status == HR_OK) status = skip_blanks(stream, &c);
  if (status != HR_OK) return status;
  return stream->ended ? HR_OK : stream_fail(stream, "unexpected text after the JSON value");
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
    get->fault.value = hr__text_make(value->valuestring);
  else if (cJSON_IsNumber(value))
    snprintf(get->value, sizeof get->value, "%.17g", value->valuedouble);
  else if (value)
    snprintf(get->value, sizeof get->value, "%s",
             cJSON_IsArray(value)    ? "[...]"
             : cJSON_IsObject(value) ? "{...}"
             : cJSON_IsTrue(value)   ? "true"
                                     : "false");
  if (!cJSON_IsString(value)) get->fault.value = hr__text_make(get->value);
  return false;
}

bool hr__get_text(struct hr__json_get *get, const cJSON *object, const char *path, bool required,
                  struct hr_text *text) {
  const cJSON *value = hr__get_member(object, path);
  if (!value) return !required || hr__get_wrong(get, path, NULL, "missing");
  if (!cJSON_IsString(value)) return hr__get_wrong(get, path, value, "not a text");
  if (required && !*value->valuestring) return hr__get_wrong(get, path, NULL, "empty");
  *text = hr__text_make(value->valuestring);
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
