/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_OUTPUT_FILE_H
#define HR_BASE_OUTPUT_FILE_H

/*
 * Output files that appear under their name only when they are complete. A file is written without a name (O_TMPFILE),
 * synced and then linked to its name. If the process ends before that, no file remains. If a file with this name exists
 * already, the new file is first linked to a temporary name in the same folder. The temporary name is then renamed,
 * which replaces the existing file. If the file system does not support files without a name, the data is written to a
 * temporary file in the same folder, and that file is renamed when it is complete. Devices and pipes are written
 * directly. If the path is a symbolic link, the file that it refers to is replaced, and the link stays. Other hard
 * links to a replaced file keep its old content.
 *
 * Several files can appear together: see hr_outputs_hold (headroom/base.h).
 *
 * Use: open the file, write to `stream` or with hr__output_write, then call hr__output_commit or hr__output_abandon.
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
  bool nameless;   /* the file was created without a name */
  unsigned begun;  /* how often hr_discard_unfinished was called before the file was opened; if it is called later, the
                      commit fails */
  int failure;     /* errno of the first hr__output_write that failed; 0 if all succeeded */
};

/* Opens a file for writing. The `path` "-" is standard output. On failure the function returns HR_BAD_INPUT,
   HR_IO_ERROR or HR_NO_MEMORY, and `error` has the reason. */
enum hr_status hr__output_open(struct hr__output_file *file, const char *path, struct hr_error *error);
/* Writes bytes to the stream. If this fails, hr__output_commit reports the error. */
static inline void hr__output_write(struct hr__output_file *file, const char *bytes, size_t count) {
  if (fwrite(bytes, 1, count, file->stream) < count && !file->failure) file->failure = errno;
}

/* Flushes the stream, checks for errors of earlier writes, syncs the file, gives it its name and closes it. If one of
   these steps fails, the new file is removed and a file that already has the name stays unchanged. */
enum hr_status hr__output_commit(struct hr__output_file *file, struct hr_error *error);
/* Closes the file and removes it. The call has no effect after a commit. */
void hr__output_abandon(struct hr__output_file *file);

/* ---- Unfinished files: hr_discard_unfinished (headroom/base.h) removes these temporary files before an exit ---- */

/* Creates a file as mkstemp does, replacing the X's at the end of `path`, and adds it to the list of unfinished files.
   `path` must stay allocated until hr__unfinished_remove is called. Returns the descriptor, or -1 with errno set.
   `*place` is set to the index of the file in the list plus 1, or to 0 if the list is full. */
int hr__unfinished_make(char *path, uint32_t *place);
/* For tests. While `all` is true, each file is created with a temporary name. If `all` is false, files are created
   without a name again. */
void hr__unfinished_name_all(bool all);
/* Removes a file from the list of unfinished files. Call it when the file is complete or deleted. Returns true if the
   caller may free the path that was passed to hr__unfinished_make. Returns false if hr_discard_unfinished has already
   removed the file from the list; the path must then stay allocated, because a signal handler may still use it. */
bool hr__unfinished_remove(uint32_t place);

#endif
