/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_WRITE_WRITE_H
#define HR_TRACES_WRITE_WRITE_H

/* The writers, one file each; write.c lists them and says which one a file is for. */

#include "headroom/trace_files.h"

struct hr__trace_writer {
  const char *ending; /* of a file's name, before one of compression */
  bool compresses;    /* as the name's ending says */
  /* Writes the trace to `path`; `written` is empty but for its format, and not NULL. */
  enum hr_status (*write)(const struct hr_trace *trace, const char *path, struct hr_trace_written *written,
                          struct hr_error *error);
};

enum hr_status hr__write_csv(const struct hr_trace *trace, const char *path, struct hr_trace_written *written,
                             struct hr_error *error);
enum hr_status hr__write_swf(const struct hr_trace *trace, const char *path, struct hr_trace_written *written,
                             struct hr_error *error);
enum hr_status hr__write_packed(const struct hr_trace *trace, const char *path, struct hr_trace_written *written,
                                struct hr_error *error);

/* Counts `n_jobs` more of that loss; 0 is none. */
void hr__lose(struct hr_trace_written *written, enum hr_loss_kind kind, const char *field, uint64_t n_jobs);

/* A text file in the making, which appears whole or not at all; plain, or compressed where its name ends in `.gz` or
   `.zst`. What fails on the way is told when it is committed. */

enum { HR__ENCODER_BYTES = 1 << 17, HR__ENCODER_NUMBER_BYTES = 32 };

struct hr__encoder;
/* `path` "-" is standard output; it must outlive the encoder. */
enum hr_status hr__encoder_open(const char *path, struct hr__encoder **encoder, struct hr_error *error);
/* Writes what is left; the file appears. The encoder is freed in any case. */
enum hr_status hr__encoder_commit(struct hr__encoder *encoder, struct hr_error *error);
/* Gives the file up; takes NULL. */
void hr__encoder_abandon(struct hr__encoder *encoder);

void hr__encode_bytes(struct hr__encoder *encoder, const char *bytes, size_t count);
void hr__encode_text(struct hr__encoder *encoder, const char *text);
void hr__encode_byte(struct hr__encoder *encoder, char byte);
void hr__encode_i64(struct hr__encoder *encoder, int64_t value);
/* `value` / 10^`decimals`, exactly; zeros at the end are cut, and the point with them. */
void hr__encode_decimal(struct hr__encoder *encoder, uint64_t value, unsigned decimals);
/* Bytes of text so far. */
uint64_t hr__encoder_count(const struct hr__encoder *encoder);

#endif
