/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_WRITE_WRITE_H
#define HR_TRACES_WRITE_WRITE_H

/* Writers of trace formats, and the text encoder that they share. write.c selects a writer; each writer is a file of
   its own. */

#include "traces/csv/headroom_csv.h"

#include <string.h>

struct hr__trace_writer {
  bool compresses; /* compressed according to the file name */
  /* Writes the trace to `path`. `written` is not NULL and empty except for its format. */
  enum hr_status (*write)(const struct hr_trace *trace, const char *path, struct hr_trace_written *written,
                          struct hr_error *error);
};

extern const struct hr__trace_writer hr__csv_writer, hr__swf_writer, hr__packed_writer;

/* ---- Text files (encoder.c) --------------------------------------------------------------------------- */

/* A text file that appears complete or not at all; compressed if its name ends with `.gz` or `.zst`. Errors are
   remembered and returned by hr__encoder_commit(). */

enum { HR__ENCODER_BYTES = 1 << 17, HR__ENCODER_NUMBER_BYTES = 32 };

struct hr__encoder;
/* `path` "-" is standard output; `path` must outlive the encoder. */
enum hr_status hr__encoder_open(const char *path, struct hr__encoder **encoder, struct hr_error *error);
/* Writes the rest and makes the file appear. Frees the encoder in any case. */
enum hr_status hr__encoder_commit(struct hr__encoder *encoder, struct hr_error *error);
/* Frees the encoder and leaves no file. NULL is allowed. */
void hr__encoder_abandon(struct hr__encoder *encoder);

/* Appends text. Errors are kept until the commit. */
void hr__encode_bytes(struct hr__encoder *encoder, const char *bytes, size_t count);
static inline void hr__encode_text(struct hr__encoder *encoder, const char *text) {
  hr__encode_bytes(encoder, text, strlen(text));
}
void hr__encode_byte(struct hr__encoder *encoder, char byte);
void hr__encode_i64(struct hr__encoder *encoder, int64_t value);
/* Length of `path` without a compression suffix. */
size_t hr__encoder_plain_name_length(const char *path);
/* Bytes of text written so far. */
uint64_t hr__encoder_count(const struct hr__encoder *encoder);

/* ---- Fields of jobs (record.c) ------------------------------------------------------------------------ */

/* Whether hr__fields[field] of the record is known; `blank` has all fields unknown. */
bool hr__field_is_known(const struct hr_job_record *record, const struct hr_job_record *blank, size_t field);

/* Sets known[i] if field i of any job is known. Ids are known unless they are generated row numbers. */
void hr__known_fields(const struct hr_trace *trace, bool known[HR__N_FIELDS]);

#endif
