/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_OUTPUT_FILE_H
#define HR_BASE_OUTPUT_FILE_H

/* A file that appears under its name whole or not at all: written without a name, synced, and then given it. What ends
   the process in between leaves nothing. Where there are no files without a name it is written beside, and renamed. */

#include "headroom/base.h"

#include <stdbool.h>
#include <stdint.h>
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

/* Files that go when the process ends before they are whole (hr_discard_unfinished in headroom/base.h). */

/* Makes a new file whose name fills the X's at the end of `path`, which must live until it is removed from the list.
   Its descriptor, -1 with errno set; `*place`: in the list, 0 when that is full. */
int hr__unfinished_make(char *path, uint32_t *place);
/* From now on there are no such files, or there are again: for tests of what happens then. */
void hr__unfinished_name_all(bool all);
/* The file is whole, or gone. Whether its path is the caller's again; it is not where the process is about to end. */
bool hr__unfinished_remove(uint32_t place);

#endif
