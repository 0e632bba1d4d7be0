/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_JSON_JSON_FILE_H
#define HR_TRACES_JSON_JSON_FILE_H

/* A JSON file, as text and as a tree. */

#include "headroom/base.h"
#include "traces/json/json_scan.h"

#include <cjson/cJSON.h>

/* A JSON file in memory. */
struct hr__json_file {
  char *text; /* without the byte order mark */
  cJSON *tree;
};

/* Parses one JSON value. `text` is NUL-terminated. `start` is the position of the text in the file, for messages.
   The caller deletes the tree. */
enum hr_status hr__json_text_parse(const char *path, const char *text, size_t length, struct hr__json_position start,
                                   cJSON **tree, struct hr_error *error);

/* Reads a regular file or a pipe of at most 16 MiB. Compressed files are an error. The caller finishes the file with
   hr__json_file_finish(). */
enum hr_status hr__json_file_read(const char *path, struct hr__json_file *file, struct hr_error *error);
/* Parses bytes in memory, which are copied. `path` is for messages. The caller finishes the file with
   hr__json_file_finish(). */
enum hr_status hr__json_file_copy(const char *path, const unsigned char *bytes, size_t length,
                                  struct hr__json_file *file, struct hr_error *error);
/* Frees the text and the tree. */
void hr__json_file_finish(struct hr__json_file *file);

/* ---- Duplicate keys ---------------------------------------------------------------------------------- */

/* The place of a duplicate key. */
struct hr__json_repeat {
  const char *key;                       /* the duplicate key, in the tree; NULL: no duplicate */
  uint32_t ordinals[HR__JSON_DEPTH + 1]; /* path to the second occurrence of the key, for hr__json_find() */
  size_t depth;                          /* number of entries of `ordinals` */
};
/* Finds the first duplicate key of a tree. The depth of the tree must not exceed HR__JSON_DEPTH. Returns false if
   out of memory. */
bool hr__json_repeat_find(const cJSON *tree, struct hr__json_repeat *repeat);

#endif
