/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_JSON_FILE_H
#define HR_TRACES_JSON_FILE_H

/* A JSON file as text and tree, or the words for why it is none. */

#include "headroom/base.h"

#include <cjson/cJSON.h>

struct hr__json_file {
  char *text; /* without a byte order mark */
  cJSON *tree;
};

/* Reads a regular file or a pipe of at most 16 MiB. */
enum hr_status hr__json_file_read(const char *path, struct hr__json_file *file, struct hr_error *error);
void hr__json_file_finish(struct hr__json_file *file);

#endif
