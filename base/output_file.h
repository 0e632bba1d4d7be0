/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_OUTPUT_FILE_H
#define HR_BASE_OUTPUT_FILE_H

/*
 * Output files that appear under their name either completely or not at all. A file is written without a name
 * (O_TMPFILE), synced and then linked to its name; if the process ends earlier, nothing remains. If the file system has
 * no such files, or the name exists, a temporary file in the same folder is renamed. Devices and pipes are written
 * directly.
 *
 * Life cycle: open; write to `stream` or with hr__output_write; then commit or abandon.
 */

#include "headroom/base.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct hr__output_file {
  FILE *stream;
  char *path;      /* NULL for standard output */
  char *temporary; /* the name of the temporary file, to be renamed to `path`; NULL if none exists (yet) */
  uint32_t place;  /* of `temporary` in the list of unfinished files; 0: not listed */
  bool nameless;   /* the file has no name yet */
  unsigned begun;  /* the number of calls of hr_discard_unfinished before the file was opened */
  int failure;     /* errno of the first hr__output_write that failed; 0 if none did */
};

/* Opens a file for writing; `path` "-" is standard output. HR_BAD_INPUT or HR_IO_ERROR with the system's reason. */
enum hr_status hr__output_open(struct hr__output_file *file, const char *path, struct hr_error *error);
/* Writes bytes to the stream. An error is reported by the commit. */
static inline void hr__output_write(struct hr__output_file *file, const char *bytes, size_t count) {
  if (fwrite(bytes, 1, count, file->stream) < count && !file->failure) file->failure = errno;
}

/* Flushes, checks for errors, syncs, closes and names the file. On failure nothing remains. */
enum hr_status hr__output_commit(struct hr__output_file *file, struct hr_error *error);
/* Closes and removes the file. Does nothing after a commit. */
void hr__output_abandon(struct hr__output_file *file);

/* ---- Unfinished files: removed if the process ends first (hr_discard_unfinished in headroom/base.h) ---- */

/* Creates a file like mkstemp: replaces the X's at the end of `path`. Until hr__unfinished_remove, `path` must stay
   allocated. Returns its descriptor, or -1 with errno set. `*place` is its place in the list of unfinished files, 0
   if that is full. */
int hr__unfinished_make(char *path, uint32_t *place);
/* Disables files without a name, or enables them again. For tests. */
void hr__unfinished_name_all(bool all);
/* Removes a file from the list of unfinished files, because it is complete or removed. Returns whether the caller
   owns its path again: false if hr_discard_unfinished has taken it. */
bool hr__unfinished_remove(uint32_t place);

#endif
