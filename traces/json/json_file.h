/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_JSON_JSON_FILE_H
#define HR_TRACES_JSON_JSON_FILE_H

/* A JSON file as text and tree, or the words for why it is none. */

#include "headroom/base.h"
#include "traces/json/json_scan.h"

#include <cjson/cJSON.h>

struct hr__json_file {
  char *text; /* without a byte order mark */
  cJSON *tree;
};

/* The tree of one JSON value; `start` is where the text, which is NUL-terminated, begins in the file, for messages. The
   caller deletes the tree. */
enum hr_status hr__json_text_parse(const char *path, const char *text, size_t length, struct hr__json_position start,
                                   cJSON **tree, struct hr_error *error);

/* Reads a regular file or a pipe of at most 16 MiB. */
enum hr_status hr__json_file_read(const char *path, struct hr__json_file *file, struct hr_error *error);
/* Likewise of bytes that are in memory already, which are copied. */
enum hr_status hr__json_file_copy(const char *path, const unsigned char *bytes, size_t length,
                                  struct hr__json_file *file, struct hr_error *error);
void hr__json_file_finish(struct hr__json_file *file);

/* Keys that stand twice in one object: cJSON keeps both and finds the first, so the second would be read past in
   silence. */

struct hr__json_repeat {
  const char *key;                       /* of the tree; NULL: no key stands twice */
  uint32_t ordinals[HR__JSON_DEPTH + 1]; /* the way to its second place, as hr__json_find takes it */
  size_t depth;
};
/* False: out of memory. The tree is no deeper than HR__JSON_DEPTH. */
bool hr__json_repeat_find(const cJSON *tree, struct hr__json_repeat *repeat);

#endif
