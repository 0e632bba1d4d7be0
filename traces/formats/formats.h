/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_FORMATS_FORMATS_H
#define HR_TRACES_FORMATS_FORMATS_H

/* Readers and writers of trace formats, functions that several readers use, and the encoder of text files. formats.c
   lists the readers and detects formats. writers.c lists the writers and selects one. */

#include "traces/core/reader.h"

#include "traces/csv/csv.h"

#include <stdbool.h>
#include <string.h>

/* ---- Readers --------------------------------------------------------------------------------------- */

extern const struct hr__format_reader hr__swf_reader, hr__philly_reader, hr__philly_log_reader, hr__openb_reader,
    hr__sacct_reader, hr__kubernetes_reader, hr__helios_reader, hr__acme_reader, hr__pai2020_reader,
    hr__spot2026_reader, hr__gavel_reader, hr__azure_llm_reader, hr__batsim_reader, hr__gaia_reader, hr__lwa_reader;

/* Maps a packed trace and checks it (packed/packed.c). Of the options, `streamed` and `spooled` apply. If the file
   cannot be opened, is not a plain file or does not begin with HR__PACKED_MAGIC, returns HR_OK and sets `*trace` to
   NULL. */
enum hr_status hr__packed_read(const char *path, const struct hr_trace_options *options, struct hr_trace **trace,
                               struct hr_error *error);

/* ---- Requests and states of jobs ------------------------------------------------------------------- */

/* Sets a request of `tasks` tasks with `milli_per_task` thousandths of a GPU each. Below 1000, they are a share of one
   GPU; 0 means no GPU. From 1000 on, they are rounded up to whole GPUs. Sets `*rounded` to whether rounding changes the
   request. Returns false, and does not change the job, if `tasks` is 0 or if the request exceeds HR_MAX_GPUS GPUs. */
bool hr__request_milli(struct hr_job_record *job, uint64_t milli_per_task, uint64_t tasks, bool *rounded);

/* Divides a job into one task for each of `nodes` nodes: its GPUs, and its totals in `cpu_milli` and `mem_mib`. If
   the number of GPUs is not a multiple of `nodes`, or if `nodes` is 0 or above HR_MAX_GPUS, the job is not changed,
   and false is returned. */
bool hr__request_nodes(struct hr_job_record *job, uint64_t nodes);

/* States of Slurm jobs, as sacct prints them and as published logs of Slurm clusters contain them. */

enum hr__job_stage { HR__STAGE_ENDED, HR__STAGE_WAITING, HR__STAGE_RUNNING };

struct hr__slurm_state {
  enum hr__job_stage stage;
  uint8_t outcome; /* enum hr_outcome */
};

/* Parses a state such as "COMPLETED" or "CANCELLED by 1000". Sets the outcome to HR_OUTCOME_UNKNOWN if the job had not
   ended, or if the system ended it. Returns false if the text is not a state. */
bool hr__job_state_parse(struct hr_text text, struct hr__slurm_state *state);

/* ---- Writers --------------------------------------------------------------------------------------- */

/* The writer of a format. */
struct hr__trace_writer {
  /* the format supports compression; a file is then compressed if its name ends with `.gz` or `.zst` */
  bool compresses;
  /* Writes the trace to `path`, and sets the members of `written`, which must not be NULL. The caller has set
     `written->format`, and all other members to 0. */
  enum hr_status (*write)(const struct hr_trace *trace, const char *path, struct hr_trace_written *written,
                          struct hr_error *error);
};

extern const struct hr__trace_writer hr__csv_writer, hr__swf_writer, hr__packed_writer;

/* ---- Text files (writers.c) ------------------------------------------------------------------------ */

/* A text file that either appears completely or not at all. It is compressed if its name ends with `.gz` or `.zst`.
   Functions that append text do not return errors; hr__encoder_commit() returns the first error that occurred. */

enum { HR__ENCODER_BYTES = 1 << 17 };

struct hr__encoder;
/* Creates a text file. `path` "-" is standard output. `path` must outlive the encoder. */
enum hr_status hr__encoder_open(const char *path, struct hr__encoder **encoder, struct hr_error *error);
/* Writes the remaining text and makes the file visible under its name. Frees the encoder, also after an error.
   Returns the first error since hr__encoder_open(). */
enum hr_status hr__encoder_commit(struct hr__encoder *encoder, struct hr_error *error);
/* Frees the encoder and deletes the unfinished file. NULL is allowed. */
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
/* Returns the number of bytes of text written so far, before compression. */
uint64_t hr__encoder_count(const struct hr__encoder *encoder);

/* ---- Fields of jobs (writers.c) -------------------------------------------------------------------- */

/* The sizes of the members of struct hr_job_record that hr__fields describes. */
extern const size_t hr__field_bytes[HR__N_FIELDS];

/* Returns true if field hr__fields[field] of the record is known. All fields of `blank` must be unknown. */
bool hr__field_is_known(const struct hr_job_record *record, const struct hr_job_record *blank, size_t field);

/* Sets known[i] to whether field i is known for some job. Mandatory fields are always known. Ids are unknown if they
   are row numbers that the input did not contain. */
void hr__known_fields(const struct hr_trace *trace, bool known[HR__N_FIELDS]);

#endif
