/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_OUTPUT_FILE_H
#define HR_BASE_OUTPUT_FILE_H

/*
 * Output files that appear under their name only when they are complete. A file is written without a name (O_TMPFILE),
 * synced and then linked to its name. If the process ends earlier, no file remains. If the file system does not support
 * files without a name, or if the name exists already, the data is written to a temporary file in the same folder,
 * which is then renamed. Devices and pipes are written directly.
 *
 * Use: open the file, write to `stream` or with hr__output_write, then commit or abandon.
 */

#include "headroom/base.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct hr__output_file {
  FILE *stream;
  char *path;      /* NULL for standard output */
  char *temporary; /* the temporary file that will be renamed to `path`; NULL if no such file exists */
  uint32_t place;  /* the index of `temporary` in the list of unfinished files, plus 1; 0 if it is not in the list */
  bool nameless;   /* the file has no name yet */
  unsigned begun;  /* the number of calls of hr_discard_unfinished before the file was opened */
  int failure;     /* errno of the first hr__output_write that failed; 0 if all succeeded */
};

/* Opens a file for writing. The `path` "-" is standard output. Returns HR_BAD_INPUT or HR_IO_ERROR, with the system's
   reason in the error. */
enum hr_status hr__output_open(struct hr__output_file *file, const char *path, struct hr_error *error);
/* Writes bytes to the stream. The commit reports errors. */
static inline void hr__output_write(struct hr__output_file *file, const char *bytes, size_t count) {
  if (fwrite(bytes, 1, count, file->stream) < count && !file->failure) file->failure = errno;
}

/* Flushes, checks for errors, syncs, closes and names the file. If this fails, the new file is removed. */
enum hr_status hr__output_commit(struct hr__output_file *file, struct hr_error *error);
/* Closes and removes the file. The call has no effect after a commit. */
void hr__output_abandon(struct hr__output_file *file);

/* ---- Unfinished files: hr_discard_unfinished (headroom/base.h) removes them if the process ends early ---- */

/* Creates a file as mkstemp does: replaces the X's at the end of `path`. `path` must stay allocated until
   hr__unfinished_remove. Returns the descriptor, or -1 with errno set. `*place` is the index of the file in the list of
   unfinished files plus 1, or 0 if the list is full. */
int hr__unfinished_make(char *path, uint32_t *place);
/* For tests: disables files without a name if `all` is true, and enables them again if it is false. */
void hr__unfinished_name_all(bool all);
/* Removes a file from the list of unfinished files, because it is complete or removed. Returns true if the caller owns
   the path again, and false if hr_discard_unfinished has already removed the file. */
bool hr__unfinished_remove(uint32_t place);

#endif
