/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_JSON_JSON_H
#define HR_TRACES_JSON_JSON_H

/* JSON: checks of text, positions in it, files as trees, and files that are read item by item. */

#include "headroom/base.h"
#include "traces/core/fields.h"
#include "traces/core/reader.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Text ------------------------------------------------------------------------------------------ */

/* Checks JSON text and finds positions in it, for messages. The text must be NUL-terminated UTF-8 without other NUL
   characters.

   cJSON builds the trees, but it stores no positions and accepts some malformed text, so a separate check is necessary.
   YAJL 2.1 is not used for this check, because it accepts malformed text, too: vertical tabs and form feeds as white
   space, and unpaired surrogates and U+0000 in strings. */

/* Maximum nesting depth of lists and objects. */
enum { HR__JSON_DEPTH = 64 };

/* The first error in a text. */
struct hr__json_flaw {
  size_t offset;    /* offset of the error in the text, in bytes */
  const char *text; /* a description of the error and of the expected input */
};
/* Returns true if `text` is exactly one JSON value of at most HR__JSON_DEPTH levels, with numbers of at most 60
   characters. Otherwise `flaw` describes the first error. */
bool hr__json_check(const char *text, struct hr__json_flaw *flaw);

/* Returns the offset of a value in valid JSON text. `ordinals`, which has `depth` entries, is the path to the value:
   the child with index ordinals[0] of the outermost value, then the child with index ordinals[1] of that child, and so
   on. If `at_key` is set and the value is a member of an object, returns the offset of its key. Returns SIZE_MAX if the
   value does not exist. */
size_t hr__json_find(const char *text, const uint32_t *ordinals, size_t depth, bool at_key);

/* Line and column of an offset, both from 1. Columns count characters. */
struct hr__json_position {
  size_t line, column;
};
struct hr__json_position hr__json_position(const char *text, size_t offset);

/* ---- Files ----------------------------------------------------------------------------------------- */

/* A JSON file, as text and as a tree. */

/* A JSON file in memory. */
struct hr__json_file {
  char *text;
  cJSON *tree;
};

/* Reads a file or a pipe of at most 16 MiB. A compressed file, a malformed file and a duplicate key are errors. A byte
   order mark is removed. A member of an object is a comment if its key begins with "//" and its value is a string;
   comments are not in the tree, and are spaces in the text. After an error, `file` is empty. Otherwise the caller
   finishes it with hr__json_file_finish(). */
enum hr_status hr__json_file_read(const char *path, struct hr__json_file *file, struct hr_error *error);
/* Parses bytes in memory, which are copied. `path` is for messages. Unlike in hr__json_file_read(), a byte order mark
   is an error, and comments are members of the tree. After an error, `file` is empty. Otherwise the caller finishes it
   with hr__json_file_finish(). */
enum hr_status hr__json_file_copy(const char *path, const unsigned char *bytes, size_t length,
                                  struct hr__json_file *file, struct hr_error *error);
/* Frees the text and the tree. */
void hr__json_file_finish(struct hr__json_file *file);

/* ---- Duplicate keys -------------------------------------------------------------------------------- */

/* The place of a duplicate key. */
struct hr__json_repeat {
  const char *key;                       /* the duplicate key, in the tree; NULL: no duplicate */
  uint32_t ordinals[HR__JSON_DEPTH + 1]; /* path to the second occurrence of the key, for hr__json_find() */
  size_t depth;                          /* number of entries of `ordinals` */
};
/* Finds the first duplicate key of a tree. An object is searched before the objects inside it. The depth of the tree
   must not exceed HR__JSON_DEPTH. Returns false if out of memory. */
bool hr__json_repeat_find(const cJSON *tree, struct hr__json_repeat *repeat);

/* ---- Items ----------------------------------------------------------------------------------------- */

/* Reads a JSON file item by item. Only one item, of at most 16 MiB, is in memory, so the file may have any size. */

/* An item of a JSON file. */
struct hr__json_item {
  /* name of the member of the outermost object that contains the item, or that is the item; NULL: the outermost value
     is a list */
  const char *member;
  uint32_t index; /* index of the item in its list or object, from 0 */
  /* key of the item in its object; NULL: the item is an entry of a list, or a member that is read as a whole */
  const char *key;
  const cJSON *value; /* valid until the callback returns */
  uint64_t line;      /* line on which the item begins */
};

/* The members of a file to read, and the callback for items. */
struct hr__json_schema {
  /* Members of the outermost object that are read item by item if they are lists or objects: at most 8,
     NULL-terminated. Other members are only checked. If the outermost value is a list, its items are read one by one.
   */
  const char *const *streamed;
  /* receives each item; any result except HR_OK ends reading */
  enum hr_status (*on_item)(void *self, const struct hr__json_item *item);
  void *self; /* first argument of on_item */
};

/* Reads a file. Malformed JSON is an error with file, line and column. So are a duplicate key inside an item and a
   duplicate member of `streamed`. Other duplicate keys of the outermost object, and duplicate keys of items, are not
   detected. */
enum hr_status hr__json_stream_read(struct hr__reader *reader, const struct hr__json_schema *schema);

/* Getters for members of an item. Paths are dotted (`spec.template.spec`). If the member is missing or null, a
   getter returns true and does not change its target, unless the member is required. If the member is invalid, or is
   required and missing, the getter returns false and sets `fault`. */

struct hr__json_get {
  struct hr__reader *reader;      /* set by the caller before the first item */
  struct hr__value_reader values; /* parser of values; it remembers how the file writes times */
  struct hr__row_fault fault;     /* fault of the item; `line` and `item` are always set */
  char item[40];
  char value[64]; /* memory for the faulty value as text; not used if the value is a JSON string */
};

/* Begins an item, without a fault. `list` is the name of the list that contains the item, for messages ("items"). */
void hr__get_begin(struct hr__json_get *get, const char *list, const struct hr__json_item *item);
/* Returns the member at `path`; NULL if it is missing or null. */
const cJSON *hr__get_member(const cJSON *object, const char *path);
/* Sets the fault of the member at `path` and returns false. `value` is the invalid value; NULL: none. */
bool hr__get_wrong(struct hr__json_get *get, const char *path, const cJSON *value, const char *fault);

/* Reads a text, which is valid as long as the tree. If `required` is set, a missing text and "" are faults. */
bool hr__get_text(struct hr__json_get *get, const cJSON *object, const char *path, bool required, struct hr_text *text);
/* Reads a whole number from 0 to `most`. */
bool hr__get_whole(struct hr__json_get *get, const cJSON *object, const char *path, uint64_t most, uint64_t *value);
/* Reads seconds with decimals and converts them to microseconds. */
bool hr__get_seconds(struct hr__json_get *get, const cJSON *object, const char *path, int64_t *us);
/* Reads an instant from a text: a date, or a number of seconds. "None", "Unknown" and "" are treated as null. */
bool hr__get_date(struct hr__json_get *get, const cJSON *object, const char *path, int64_t *us);

#endif
