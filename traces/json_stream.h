/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_JSON_STREAM_H
#define HR_TRACES_JSON_STREAM_H

/* A JSON file of many items, one item at a time: memory holds one of them, of at most 16 MiB, whatever the file's size.
 */

#include "traces/reader.h"

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
  bool (*wanted)(const char *member); /* whether another member is wanted at all; NULL: none is */
  enum hr_status (*on_item)(void *self, const struct hr__json_item *item);
  void *self;
};

/* What is no JSON is an error with file, line and column; so is a key that stands twice in one object. */
enum hr_status hr__json_stream_read(struct hr__reader *reader, const struct hr__json_schema *schema);

#endif
