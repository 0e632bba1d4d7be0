/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_WRITE_WRITE_H
#define HR_TRACES_WRITE_WRITE_H

/* Writers of trace formats, and the text encoder that they use. write.c selects a writer. Each writer is a file of
   its own. */

#include "traces/csv/csv.h"

#include <string.h>

/* The writer of a format. */
struct hr__trace_writer {
  /* the format supports compression; a file is then compressed if its name ends with `.gz` or `.zst` */
  bool compresses;
  /* Writes the trace to `path`. `written` must not be NULL; only its format is set before the call. */
  enum hr_status (*write)(const struct hr_trace *trace, const char *path, struct hr_trace_written *written,
                          struct hr_error *error);
};

extern const struct hr__trace_writer hr__csv_writer, hr__swf_writer, hr__packed_writer;

/* ---- Text files (encoder.c) --------------------------------------------------------------------------- */

/* A text file that either appears completely or not at all. It is compressed if its name ends with `.gz` or `.zst`.
   Functions that append text do not return errors; hr__encoder_commit() returns the first error that occurred. */

enum { HR__ENCODER_BYTES = 1 << 17, HR__ENCODER_NUMBER_BYTES = 32 };

struct hr__encoder;
/* Creates a text file. `path` "-" is standard output. `path` must outlive the encoder. */
enum hr_status hr__encoder_open(const char *path, struct hr__encoder **encoder, struct hr_error *error);
/* Writes the remaining text and makes the file visible under its name. Frees the encoder, also after an error.
   Returns the first error since hr__encoder_open(). */
enum hr_status hr__encoder_commit(struct hr__encoder *encoder, struct hr_error *error);
/* Frees the encoder without leaving a file. NULL is allowed. */
void hr__encoder_abandon(struct hr__encoder *encoder);

/* Appends text. hr__encoder_commit() returns an error of this call. */
void hr__encode_bytes(struct hr__encoder *encoder, const char *bytes, size_t count);
/* Appends a NUL-terminated text. */
static inline void hr__encode_text(struct hr__encoder *encoder, const char *text) {
  hr__encode_bytes(encoder, text, strlen(text));
}
/* Appends a byte. */
void hr__encode_byte(struct hr__encoder *encoder, char byte);
/* Appends an integer in decimal. */
void hr__encode_i64(struct hr__encoder *encoder, int64_t value);
/* Returns the length of `path` without the suffix of a compression. */
size_t hr__encoder_plain_name_length(const char *path);
/* Returns the number of bytes of text written so far, before compression. */
uint64_t hr__encoder_count(const struct hr__encoder *encoder);

/* ---- Fields of jobs (write.c) ------------------------------------------------------------------------- */

/* The sizes of the members of struct hr_job_record that hr__fields describes. */
extern const size_t hr__field_bytes[HR__N_FIELDS];

/* Returns true if field hr__fields[field] of the record is known. All fields of `blank` must be unknown. */
bool hr__field_is_known(const struct hr_job_record *record, const struct hr_job_record *blank, size_t field);

/* Sets known[i] to true if field i is known for some job. Ids are unknown if they are row numbers that the input did
   not contain. */
void hr__known_fields(const struct hr_trace *trace, bool known[HR__N_FIELDS]);

#endif
