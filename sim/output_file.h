/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_OUTPUT_FILE_H
#define HR_SIM_OUTPUT_FILE_H

/* A file that appears under its name whole or not at all: written without a name, synced, and then given it. What ends
   the process in between leaves nothing. Where there are no files without a name it is written beside, and renamed. */

#include "headroom/base.h"

#include <stdio.h>

struct hr__output_file {
  FILE *stream;
  char *path;      /* NULL for standard output */
  char *temporary; /* what is renamed to `path`; NULL where nothing is, or has a name yet */
  uint32_t place;  /* of that in the list of unfinished files */
  bool nameless;   /* it has no name yet; devices and pipes, which are written directly, have theirs */
  unsigned begun;  /* hr__unfinished_discards when it was */
  int failure;     /* errno of the first hr__output_write that failed; 0: none did */
};

/* `path` "-" is standard output. */
enum hr_status hr__output_open(struct hr__output_file *file, const char *path, struct hr_error *error);
/* Writes to the stream; what fails is told by the commit, with its reason. */
void hr__output_write(struct hr__output_file *file, const char *bytes, size_t count);
/* Flushes and checks, syncs, names. On failure nothing is left behind. */
enum hr_status hr__output_commit(struct hr__output_file *file, struct hr_error *error);
/* Gives the file up; does nothing after a commit. */
void hr__output_abandon(struct hr__output_file *file);

#endif
