/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_JSON_JSON_STREAM_H
#define HR_TRACES_JSON_JSON_STREAM_H

/* Reads a JSON file item by item. Memory holds one item, of at most 16 MiB, for files of any size. */

#include "traces/core/reader.h"
#include "traces/core/values.h"

#include <cjson/cJSON.h>

struct hr__json_item {
  const char *member; /* member of the outermost object; NULL: the outermost value is a list */
  uint32_t index;     /* index in its list or object, from 0 */
  const char *key;    /* key in its object; NULL: it is in a list, or is the whole member */
  const cJSON *value; /* valid until the callback returns */
  uint64_t line;      /* line on which it begins */
};

struct hr__json_schema {
  const char *const
      *streamed; /* members of the outermost object with items that are read one by one, ended by NULL; other members
                    are read whole. If the outermost value is a list, its items are read one by one */
  bool (*is_used)(const char *member); /* whether another member is needed; NULL: none is */
  enum hr_status (*on_item)(void *self, const struct hr__json_item *item);
  void *self;
};

/* Malformed JSON and duplicate keys are errors with file, line and column. */
enum hr_status hr__json_stream_read(struct hr__reader *reader, const struct hr__json_schema *schema);

/* Members of an item, by dotted paths (`spec.template.spec`). A getter does not change its target if the member is
   missing or null. It returns false if the member is invalid, with the reason in `fault`. */

struct hr__json_get {
  struct hr__reader *reader;
  struct hr__value_reader values; /* kind of all times of the file */
  struct hr__row_fault fault;     /* of the item: line and item are always set */
  char item[40];
  char value[64]; /* text of the fault's value, if it is not a text of the file */
};

/* Begins an item; `list` is the name of its member in messages ("items"). */
void hr__get_begin(struct hr__json_get *get, const char *list, const struct hr__json_item *item);
/* The member; NULL if it is missing or null. */
const cJSON *hr__get_member(const cJSON *object, const char *path);
/* Sets the fault and returns false; `value` may be NULL. */
bool hr__get_wrong(struct hr__json_get *get, const char *path, const cJSON *value, const char *fault);

/* Text, valid as long as the tree; "" counts as missing if `required` is set. */
bool hr__get_text(struct hr__json_get *get, const cJSON *object, const char *path, bool required, struct hr_text *text);
bool hr__get_whole(struct hr__json_get *get, const cJSON *object, const char *path, uint64_t most, uint64_t *value);
/* Seconds with decimals, converted to microseconds. */
bool hr__get_seconds(struct hr__json_get *get, const cJSON *object, const char *path, int64_t *us);
/* A date as text; "None", "Unknown" and "" are treated like null. */
bool hr__get_date(struct hr__json_get *get, const cJSON *object, const char *path, int64_t *us);
/* Call after the last item: sets reader->dated, and adds the note on dates without zones. */
enum hr_status hr__get_note_clock(struct hr__json_get *get);

#endif
