/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_JSON_JSON_STREAM_H
#define HR_TRACES_JSON_JSON_STREAM_H

/* A JSON file of many items, one item at a time: memory holds one of them, of at most 16 MiB, whatever the file's size.
 */

#include "traces/core/reader.h"
#include "traces/core/values.h"

#include <cjson/cJSON.h>

struct hr__json_item {
  const char *member; /* of the outermost object; NULL: the outermost value is a list */
  uint32_t index;     /* place in its list or object, from 0 */
  const char *key;    /* in its object; NULL: it is in a list, or it is all of the member */
  const cJSON *value; /* until the callback returns */
  uint64_t line;      /* where it begins */
};

struct hr__json_schema {
  const char *const *streamed; /* members of the outermost object whose items come one by one, ended by NULL; other
                                  members come whole, or one by one if the outermost value is a list */
  bool (*is_used)(const char *member); /* whether another member is wanted at all; NULL: none is */
  enum hr_status (*on_item)(void *self, const struct hr__json_item *item);
  void *self;
};

/* What is no JSON is an error with file, line and column; so is a key that stands twice in one object. */
enum hr_status hr__json_stream_read(struct hr__reader *reader, const struct hr__json_schema *schema);

/* Members of an item of JSON, by dotted paths (`spec.template.spec`). A getter leaves its target as it is where the
   member is missing or null, and returns false where it is wrong: what is wrong is then in `fault`. */

struct hr__json_get {
  struct hr__reader *reader;
  struct hr__value_reader values; /* the clock of all instants of the file */
  struct hr__row_fault fault;     /* of the item: line and item are always set */
  char item[40];
  char value[64]; /* what the fault's value shows, where that is no text of the file */
};

/* Begins an item: `list` is its member's name, as messages show it ("items"). */
void hr__get_begin(struct hr__json_get *get, const char *list, const struct hr__json_item *item);
/* The member, NULL where it is missing or null. */
const cJSON *hr__get_member(const cJSON *object, const char *path);
/* Sets the fault and returns false; `value` may be NULL. */
bool hr__get_wrong(struct hr__json_get *get, const char *path, const cJSON *value, const char *fault);

/* Text; "" counts as missing where `must_be` is set. The text lives as long as the tree. */
bool hr__get_text(struct hr__json_get *get, const cJSON *object, const char *path, bool must_be, struct hr_text *text);
bool hr__get_whole(struct hr__json_get *get, const cJSON *object, const char *path, uint64_t most, uint64_t *value);
/* Seconds, with decimals, to microseconds. */
bool hr__get_seconds(struct hr__json_get *get, const cJSON *object, const char *path, int64_t *us);
/* A date as text; "None", "Unknown" and "" are like null. */
bool hr__get_date(struct hr__json_get *get, const cJSON *object, const char *path, int64_t *us);
/* After the last item: whether instants were dates, with the note on zones. */
enum hr_status hr__get_note_clock(struct hr__json_get *get);

#endif
