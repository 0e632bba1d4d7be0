/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_OUTPUT_FILE_H
#define HR_SIM_OUTPUT_FILE_H

/* A file that appears under its name whole or not at all: written beside it, synced, renamed. */

#include "headroom/base.h"

#include <stdio.h>

struct hr__output_file {
  FILE *stream;
  char *path;      /* NULL for standard output */
  char *temporary; /* what is renamed to `path`; NULL for devices and pipes, which are written directly */
  uint32_t place;  /* of that in the list of unfinished files */
  int failure;     /* errno of the first hr__output_write that failed; 0: none did */
};

/* `path` "-" is standard output. */
enum hr_status hr__output_open(struct hr__output_file *file, const char *path, struct hr_error *error);
/* Writes to the stream; what fails is told by the commit, with its reason. */
void hr__output_write(struct hr__output_file *file, const char *bytes, size_t count);
/* Flushes and checks, syncs, renames. On failure nothing is left behind. */
enum hr_status hr__output_commit(struct hr__output_file *file, struct hr_error *error);
/* Gives the file up; does nothing after a commit. */
void hr__output_abandon(struct hr__output_file *file);

#endif
