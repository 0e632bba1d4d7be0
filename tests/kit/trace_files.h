/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_KIT_TRACE_FILES_H
#define HR_TESTS_KIT_TRACE_FILES_H

/* Small files for tests, in a temporary folder of the test, and traces read from them. */

#include "headroom/trace_files.h"

/* The path of file `name`, valid until the next call of any function here. */
const char *file_path(const char *name);
const char *file_write(const char *name, const void *bytes, size_t length);
const char *file_write_text(const char *name, const char *text);
/* The text as one gzip member, or one zstd frame; the caller frees the memory. */
void *gzip_bytes(const char *text, size_t *length);
void *zstd_bytes(const char *text, size_t *length);

/* Reads `text` as a file named jobs.csv. Returns NULL on failure, with the message (without the folder) in
   trace_error(). */
struct hr_trace *trace_of(const char *text, const struct hr_trace_options *options);
struct hr_trace *trace_at(const char *path, const struct hr_trace_options *options);
const char *trace_error(void);
enum hr_status trace_status(void);

/* Whether reading `text` fails as bad input, with a message that begins with `start` and contains `part`; otherwise
   prints the message. */
bool refused(const char *text, const struct hr_trace_options *options, const char *start, const char *part);
bool refused_at(const char *path, const struct hr_trace_options *options, const char *start, const char *part);
bool has_note(const struct hr_notes *notes, const char *part);

#endif
