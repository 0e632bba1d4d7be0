/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_JSON_JSON_STREAM_H
#define HR_TRACES_JSON_JSON_STREAM_H

/* Reads a JSON file item by item. Only one item, of at most 16 MiB, is in memory, so the file may have any size. */

#include "traces/core/reader.h"
#include "traces/core/values.h"

#include <cjson/cJSON.h>

/* An item of a JSON file. */
struct hr__json_item {
  const char *member; /* member of the outermost object that contains the item; NULL: the outermost value is a list */
  uint32_t index;     /* index of the item in its list or object, from 0 */
  /* key of the item in its object; NULL: the item is an entry of a list, or a member that is read as a whole */
  const char *key;
  const cJSON *value; /* valid until the callback returns */
  uint64_t line;      /* line on which the item begins */
};

/* The members of a file to read, and the callback for items. */
struct hr__json_schema {
  /* Members of the outermost object that are read item by item, NULL-terminated. Other members are read as a
     whole. If the outermost value is a list, its items are read one by one. */
  const char *const *streamed;
  /* returns true if a member that is not in `streamed` is needed; NULL: no such member is needed */
  bool (*is_used)(const char *member);
  enum hr_status (*on_item)(void *self, const struct hr__json_item *item);
  void *self;
};

/* Reads a file. Malformed JSON and duplicate keys are errors with file, line and column. */
enum hr_status hr__json_stream_read(struct hr__reader *reader, const struct hr__json_schema *schema);

/* Getters for members of an item. Paths are dotted (`spec.template.spec`). If the member is missing or null, a
   getter returns true and does not change its target. If the member is invalid, the getter returns false and sets
   `fault`. */

struct hr__json_get {
  struct hr__reader *reader;
  struct hr__value_reader values; /* parser of values; it remembers how the file writes times */
  struct hr__row_fault fault;     /* fault of the item; `line` and `item` are always set */
  char item[40];
  char value[64]; /* memory for the faulty value as text; not used if the value is a JSON string */
};

/* Begins an item. `list` is the name of the list that contains the item, for messages ("items"). */
void hr__get_begin(struct hr__json_get *get, const char *list, const struct hr__json_item *item);
/* Returns the member at `path`; NULL if it is missing or null. */
const cJSON *hr__get_member(const cJSON *object, const char *path);
/* Sets the fault and returns false. `value` may be NULL. */
bool hr__get_wrong(struct hr__json_get *get, const char *path, const cJSON *value, const char *fault);

/* Reads a text, which is valid as long as the tree. If `required` is set, "" is treated as missing. */
bool hr__get_text(struct hr__json_get *get, const cJSON *object, const char *path, bool required, struct hr_text *text);
/* Reads a whole number from 0 to `most`. */
bool hr__get_whole(struct hr__json_get *get, const cJSON *object, const char *path, uint64_t most, uint64_t *value);
/* Reads seconds with decimals and converts them to microseconds. */
bool hr__get_seconds(struct hr__json_get *get, const cJSON *object, const char *path, int64_t *us);
/* Reads a date from a text. "None", "Unknown" and "" are treated as null. */
bool hr__get_date(struct hr__json_get *get, const cJSON *object, const char *path, int64_t *us);
/* Must be called after the last item. Sets reader->dated, and adds a note if dates have no zone. */
enum hr_status hr__get_note_clock(struct hr__json_get *get);

#endif
