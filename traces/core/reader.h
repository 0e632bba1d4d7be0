/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_CORE_READER_H
#define HR_TRACES_CORE_READER_H

/* Common parts of the readers of all formats: text input; a reader with its builder, bad rows and notes; and picks,
   which are fields of jobs that a column map reads from further columns of a table. */

#include "base/text.h"
#include "headroom/base.h"
#include "headroom/trace_files.h"
#include "traces/core/builder.h"

#include <string.h>
#include <strings.h>

/* ---- Input ----------------------------------------------------------------------------------------- */

/* A text file, plain or compressed, read line by line in bounded memory. */

#define HR__LONGEST_LINE ((size_t)1 << 20) /* bytes, including the line end */

/* The beginning of packed traces, which are not text. Programs that convert line ends or strip the eighth bit change
   these bytes, so such damage is detected. */
#define HR__PACKED_MAGIC "\x89HRT\r\n\x1A\n"
enum { HR__PACKED_MAGIC_BYTES = 8 };

struct hr__input;
/* Opens a text file, which may be compressed with gzip or zstd. If `path` is the pointer hr__standard_input, reads
   standard input. `path` must outlive the input. Returns HR_BAD_INPUT if the file cannot be opened, is empty, has an
   unsupported format or has a NUL byte in its first block; also returns HR_IO_ERROR and HR_NO_MEMORY. The functions
   that read more of the file return the same errors. */
enum hr_status hr__input_open(const char *path, struct hr__input **input, struct hr_error *error);
/* Closes the file and frees the input. NULL is allowed. */
void hr__input_close(struct hr__input *input);

/* Returns the beginning of the file, up to 128 KiB, without a byte order mark. Must be called before the first line is
   read; the text is valid until then. */
struct hr_text hr__input_peek(const struct hr__input *input);

/* Returns true if a text begins with `start`. */
static inline bool hr__begins_with(struct hr_text text, const char *start) {
  size_t length = strlen(start);
  return text.length >= length && memcmp(text.at, start, length) == 0;
}

/* Returns true if a header line begins with `start`, ignoring case. */
static inline bool hr__begins_with_names(struct hr_text line, const char *start) {
  size_t length = strlen(start);
  return line.length >= length && strncasecmp(line.at, start, length) == 0;
}

/* Returns a line without its line feed and carriage returns at the end. */
static inline struct hr_text hr__without_end(struct hr_text line) {
  while (line.length && (line.at[line.length - 1] == '\n' || line.at[line.length - 1] == '\r')) line.length--;
  return line;
}

/* Returns the field at a position of a row of a simple CSV file; its text is NULL if the row is shorter. Quotes have no
   meaning. */
static inline struct hr_text hr__comma_field(struct hr_text line, uint32_t position) {
  const char *at = line.at, *end = line.at + line.length;
  for (;; position--) {
    const char *comma = memchr(at, ',', (size_t)(end - at));
    if (position == 0) return (struct hr_text){at, (size_t)((comma ? comma : end) - at)};
    if (!comma) return (struct hr_text){NULL, 0};
    at = comma + 1;
  }
}

/* Returns the first line that is neither blank nor a `#` comment, without surrounding white space. */
struct hr_text hr__first_line(struct hr_text beginning);

/* Reads the next line, including its line end. The last line of a file may have no line end. The line is valid until
   the next call. At the end of the file, `line->at` is NULL. A line of more than HR__LONGEST_LINE bytes is an error. */
enum hr_status hr__input_line(struct hr__input *input, struct hr_text *line, struct hr_error *error);
/* Reads the next bytes, which need not end at a line end. They are valid until the next call. The chunk is empty at
   the end of the file. */
enum hr_status hr__input_chunk(struct hr__input *input, struct hr_text *chunk, struct hr_error *error);
/* Reads consecutive plain rows that are in memory, and returns them as one text. A plain row is a complete line that
   has no quote and no carriage return, is not empty, and does not begin with white space. The text may end before the
   last plain row. If it is empty, nothing was read, and hr__input_line() reads the next line. */
struct hr_text hr__input_plain_lines(struct hr__input *input);
/* Returns the number, from 1, of the line that was read last; 0 before the first line. */
uint64_t hr__input_line_number(const struct hr__input *input);

/* The path of standard input, and its name in messages. It is recognized by its address, so a file may have the same
   name. */
extern const char hr__standard_input[];

/* Returns true if `bytes`, the first bytes of a file, are those of gzip or zstd. Four bytes are sufficient. */
static inline bool hr__is_compressed(const void *bytes, size_t length) {
  return (length >= 2 && memcmp(bytes, "\x1f\x8b", 2) == 0) ||
         (length >= 4 && memcmp(bytes, "\x28\xb5\x2f\xfd", 4) == 0);
}

/* Reads a complete file. Its first bytes determine whether it is plain, gzip or zstd. `max_bytes` is a power of two of
   at least 64 KiB; the decoded file must be smaller. For other known formats (zip, bzip2, xz, Parquet, UTF-16), the
   error message explains how to convert the file. The caller frees `*bytes`, also after an error. */
enum hr_status hr__decoded_file(const char *path, size_t max_bytes, char **bytes, size_t *size, struct hr_error *error);

/* ---- Reader ---------------------------------------------------------------------------------------- */

struct hr__picks;

/* The state of reading a file. */
struct hr__reader {
  const char *path;
  struct hr__input *input;
  struct hr_trace_builder *builder; /* NULL if the rows are not jobs */
  struct hr_notes *notes;
  const struct hr_column_map *map; /* may be NULL */
  const char *params;              /* parameters after the name of the format, without the `:`; NULL: none */
  bool lenient;                    /* true: bad rows are counted; false: a bad row is an error */
  bool drop_failed;                /* true: jobs that had failed are left out */
  bool dated;                      /* set by the reader of the format if the times of the file are dates */
  uint64_t n_fractions;            /* jobs that request a fraction of a GPU */
  uint64_t n_elastic;              /* jobs with a minimum below, or a maximum above, the requested number of GPUs */
  uint64_t n_mig_types;            /* jobs with the name of a MIG profile as GPU type */
  struct hr_error *error;
  bool without_times;      /* true: times are not needed, so columns of times may be missing */
  struct hr__picks *picks; /* fields from columns that the format does not read itself; NULL: none */
};

/* The reader of a format. Each reader is defined in the file of its format. formats.c lists all readers. */
struct hr__format_reader {
  /* Reads all rows from `reader->input` into `reader->builder`. */
  enum hr_status (*read)(struct hr__reader *reader);
  const char *missing; /* text of a note on the fields that traces of this format lack; NULL: no note */
  bool has_params;     /* parameters may follow the name of the format */
  bool has_columns;    /* columns or members have names, so fields can be mapped from any of them */
};

/* The fault of a row. If `column` is set, the fault is in the field of that column, and `value` is its value. If
   `column` is NULL, the fault is in the row as a whole, and `fault` is a complete sentence. In JSON files a row is
   an item of a list, and `column` is a path inside the item. */
struct hr__row_fault {
  uint64_t line;
  const char *item; /* the item in a JSON file, such as "items[3]"; NULL in a table */
  const char *column;
  struct hr_text value;
  /* completes the sentence "COLUMN: 'VALUE' is"; a constant, because bad rows are counted by this text */
  const char *fault;
  const char *detail; /* details of a fault without a column; NULL: none */
};

/* Reports that memory ran out. Returns HR_NO_MEMORY. */
static inline enum hr_status hr__reader_no_memory(const struct hr__reader *reader) {
  return hr_fail(reader->error, HR_NO_MEMORY, "%s: out of memory", reader->path);
}

/* Reports a bad row. If the reader is lenient, counts the row and returns HR_OK, or HR_NO_MEMORY if out of memory. If
   the reader is not lenient, writes the error and returns HR_BAD_INPUT. */
enum hr_status hr__reader_bad_row(struct hr__reader *reader, const struct hr__row_fault *row);

static inline enum hr_status hr__reader_bad_job(struct hr__reader *reader, uint64_t line, const char *fault) {
  return hr__reader_bad_row(reader, &(struct hr__row_fault){.line = line, .fault = fault});
}

/* Returns the status of a note that was added, and reports that memory was exhausted. */
static inline enum hr_status hr__reader_noted(const struct hr__reader *reader, enum hr_status status) {
  return status == HR_OK ? HR_OK : hr__reader_no_memory(reader);
}

/* Sets reader->dated, and notes dates without a zone. */
static inline enum hr_status hr__reader_note_clock(struct hr__reader *reader, enum hr__clock clock) {
  reader->dated = clock == HR__CLOCK_LOCAL_DATES || clock == HR__CLOCK_ZONED_DATES;
  if (clock != HR__CLOCK_LOCAL_DATES) return HR_OK;
  return hr__reader_noted(reader, hr_notes_add(reader->notes, "%s", HR__LOCAL_DATES_NOTE));
}
/* Skips a row that is valid but is not replayed, for example a job that was still running. `reason` is a constant
   sentence. Rows with the same reason are counted together. */
static inline enum hr_status hr__reader_leave_out(const struct hr__reader *reader, const char *reason, uint64_t line) {
  return hr__reader_noted(reader, hr_trace_builder_leave_out(reader->builder, reason, line));
}

/* A note that begins with `count`, followed by `one` if the count is 1 or `many` otherwise, and by `rest`. Examples:
   "job was", "jobs were" and " tried more than once". `rest` may be NULL. */
struct hr__count_note {
  uint64_t count;
  const char *one, *many, *rest;
};
/* Adds the notes with a count above 0. Returns HR_OK or HR_NO_MEMORY. */
enum hr_status hr__reader_note_counts(const struct hr__reader *reader, const struct hr__count_note *notes,
                                      size_t n_notes);
/* Splits a GPU type that names a MIG profile: "1g.10gb", "a100_3g.20gb" (Slurm), "nvidia.com/mig-1g.10gb" or
   "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb" (Kubernetes). Sets `*profile` to the profile, and `*type` to the GPU type before
   it, which may be empty. Both are parts of `name`. Returns false, and sets nothing, if the name has another form or is
   a list. */
bool hr__split_mig_type(struct hr_text name, struct hr_text *type, struct hr_text *profile);

/* Adds a job. Fields that the column map picks from further columns replace those of `job`. If the GPU type names a MIG
   profile, the profile moves to the job's own field, unless this field is already set. An invalid job is reported as a
   bad row. If `drop_failed` is set, a job that had failed is left out. */
enum hr_status hr__reader_add(struct hr__reader *reader, const struct hr_job_record *job, uint64_t line);

/* A parameter of a format. Users append parameters to the name of the format, as in
   `azure-llm:decode=50,prefill=10000`. If `number` is set, the value is a whole number in min .. max; otherwise it
   is a text. The value is unchanged if the user omits the parameter. */
struct hr__reader_param {
  const char *key;
  uint64_t min, max;
  uint64_t *number;
  struct hr_text *text;
};

/* Why a job is left out if the user drops failed jobs. */
#define HR__HAD_FAILED "the job had failed when the trace was recorded"

/* Parses `reader->params` into the variables of `params`, of which there are at most 8. Unknown keys, duplicate keys
   and invalid values are errors (HR_BAD_INPUT). `format` is the name of the format, for messages. */
enum hr_status hr__reader_params(const struct hr__reader *reader, const char *format,
                                 const struct hr__reader_param *params, size_t n_params);

/* ---- Picks ----------------------------------------------------------------------------------------- */

/* Columns of a table that a column map reads in addition to the columns of the format: columns of fields, and
   columns of rules (patterns). */

struct hr__picks;

/* Creates the picks of a map; `map` may be NULL. There is one pick for each entry. If `rules_only` is set, entries
   without a pattern are ignored, because the reader of the format uses them itself. If no entry remains, `*picks` is
   NULL. The map must outlive the picks. Returns HR_OK or HR_NO_MEMORY. */
enum hr_status hr__picks_create(const struct hr_column_map *map, bool rules_only, struct hr__picks **picks);
void hr__picks_destroy(struct hr__picks *picks);

/* hr__picks_count returns the number of picks; `picks` may be NULL. hr__picks_column returns the name of the column of
   a pick. */
size_t hr__picks_count(const struct hr__picks *picks);
const char *hr__picks_column(const struct hr__picks *picks, size_t pick);
/* The reader of the header calls hr__picks_bind to set the index of the column of a pick in the file. hr__picks_bound
   returns this index; HR_NONE if it was not set. hr__picks_use returns true if some pick uses the column with the given
   index; `picks` may be NULL. */
void hr__picks_bind(struct hr__picks *picks, size_t pick, uint32_t column);
uint32_t hr__picks_bound(const struct hr__picks *picks, size_t pick);
bool hr__picks_use(const struct hr__picks *picks, uint32_t column);

/* hr__picks_set begins a row, if none is current, and sets the text of a pick in the row. The text must exist until
   hr__picks_end_row ends the row. */
void hr__picks_set(struct hr__picks *picks, size_t pick, struct hr_text text);
void hr__picks_end_row(struct hr__picks *picks);

/* Sets the fields of the job that the picks of the current row determine: user, model, tenant, queue and class. Changes
   nothing if no row is current or `picks` is NULL. Texts belong to the row or to the map. */
void hr__picks_apply(struct hr__picks *picks, struct hr_job_record *job);

/* Adds notes on values that are not classes, and on rules that applied to no job. `picks` may be NULL. Returns HR_OK or
   HR_NO_MEMORY. */
enum hr_status hr__picks_notes(const struct hr__picks *picks, struct hr_notes *notes);

#endif
