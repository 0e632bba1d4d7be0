/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_KIT_TRACE_FILES_H
#define HR_TESTS_KIT_TRACE_FILES_H

/* Small input files for tests, in a temporary folder, and traces read from such files. */

#include "headroom/trace_files.h"

/* Return the path of the file `name`. file_write and file_write_text write the file first. The path is valid until the
   next call of one of these functions. */
const char *file_path(const char *name);
const char *file_write(const char *name, const void *bytes, size_t length);
const char *file_write_text(const char *name, const char *text);
/* Return the text as one gzip member or one zstd frame. The caller frees the memory. */
void *gzip_bytes(const char *text, size_t *length);
void *zstd_bytes(const char *text, size_t *length);

/* trace_of reads `text` as a file named jobs.csv, and trace_at reads the file `path`. On failure they return NULL;
   trace_error then returns the message without the folder, and trace_status the status. */
struct hr_trace *trace_of(const char *text, const struct hr_trace_options *options);
struct hr_trace *trace_at(const char *path, const struct hr_trace_options *options);
const char *trace_error(void);
enum hr_status trace_status(void);

/* Return whether reading fails as bad input with a message that begins with `start` and contains `part`. Otherwise they
   print the message. */
bool refused(const char *text, const struct hr_trace_options *options, const char *start, const char *part);
bool refused_at(const char *path, const struct hr_trace_options *options, const char *start, const char *part);
bool has_note(const struct hr_notes *notes, const char *part);

#endif
