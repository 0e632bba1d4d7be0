/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_JSON_FILE_H
#define HR_TRACES_JSON_FILE_H

/* A JSON file as text and tree, or the words for why it is none. */

#include "headroom/base.h"
#include "traces/json_scan.h"

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

#endif
