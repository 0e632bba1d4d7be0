/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writers of traces: the encoder that writes text files, the selection of a writer, and the writer of the Standard
 * Workload Format.
 *
 * A writer is selected by format name or file name; all writers are in one table. The losses of a format are collected:
 * fields of records that are known but cannot be stored.
 */

#include "base/output_file.h"
#include "base/text.h"
#include "traces/core/builder.h"
#include "traces/core/fields.h"
#include "traces/formats/formats.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>
#include <zstd.h>

/* ---- Encoder --------------------------------------------------------------------------------------- */

/*
 * Buffered text output, plain or through zlib or zstd. The file name determines the compression. The gzip header
 * contains no time and no name. With the same version of the library, equal texts therefore result in equal bytes.
 */

enum write_packed { PLAIN, GZIP, ZSTD };

struct hr__encoder {
  struct hr__output_file file;
  const char *path;
  enum write_packed packing;
  z_stream gzip;
  ZSTD_CCtx *zstd;
  bool failed;      /* the compressor reported an error */
  uint64_t drained; /* bytes of text that were passed to the compressor or to the file */
  size_t used;      /* bytes in `text` */
  char text[HR__ENCODER_BYTES];
  char packed[HR__ENCODER_BYTES];
};

static bool ends_with(const char *path, size_t length, const char *ending) {
  size_t n = strlen(ending);
  return length > n && strcasecmp(path + length - n, ending) == 0;
}

static enum write_packed packing_of(const char *path) {
  size_t length = strlen(path);
  if (ends_with(path, length, ".gz")) return GZIP;
  return ends_with(path, length, ".zst") ? ZSTD : PLAIN;
}

/* Returns the length of `path` without the suffix of a compression. */
static size_t encoder_plain_name_length(const char *path) {
  static const size_t ending_length[] = {[PLAIN] = 0, [GZIP] = sizeof ".gz" - 1, [ZSTD] = sizeof ".zst" - 1};
  return strlen(path) - ending_length[packing_of(path)];
}

/* ---- Encoder: compression -------------------------------------------------------------------------- */

enum { GZIP_WINDOW = 15 + 16, GZIP_MEMORY = 8, ZSTD_LEVEL = 3 };

static bool start_packing(struct hr__encoder *encoder) {
  if (encoder->packing == GZIP)
    return deflateInit2(&encoder->gzip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
                        Z_DEFAULT_STRATEGY) == Z_OK;
  if (encoder->packing != ZSTD) return true;
  encoder->zstd = ZSTD_createCCtx();
  return encoder->zstd && !ZSTD_isError(ZSTD_CCtx_setParameter(encoder->zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL)) &&
         !ZSTD_isError(ZSTD_CCtx_setParameter(encoder->zstd, ZSTD_c_checksumFlag, 1));
}

static void gzip_text(struct hr__encoder *encoder, bool last) {
  z_stream *gzip = &encoder->gzip;
  gzip->next_in = (unsigned char *)encoder->text;
  gzip->avail_in = (unsigned)encoder->used;
  do {
    gzip->next_out = (unsigned char *)encoder->packed;
    gzip->avail_out = sizeof encoder->packed;
    if (deflate(gzip, last ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_ERROR) encoder->failed = true;
    hr__output_write(&encoder->file, encoder->packed, sizeof encoder->packed - gzip->avail_out);
  } while (gzip->avail_out == 0 && !encoder->failed);
}

static void zstd_text(struct hr__encoder *encoder, bool last) {
  ZSTD_inBuffer in = {encoder->text, encoder->used, 0};
  size_t left;
  do {
    ZSTD_outBuffer out = {encoder->packed, sizeof encoder->packed, 0};
    left = ZSTD_compressStream2(encoder->zstd, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
    if (ZSTD_isError(left)) encoder->failed = true;
    hr__output_write(&encoder->file, encoder->packed, out.pos);
  } while (!encoder->failed && (last ? left > 0 : in.pos < in.size));
}

static void drain(struct hr__encoder *encoder, bool last) {
  if (encoder->packing == GZIP)
    gzip_text(encoder, last);
  else if (encoder->packing == ZSTD)
    zstd_text(encoder, last);
  else
    hr__output_write(&encoder->file, encoder->text, encoder->used);
  encoder->drained += encoder->used;
  encoder->used = 0;
}

/* ---- Encoder: the file ----------------------------------------------------------------------------- */

static void destroy(struct hr__encoder *encoder) {
  if (encoder->packing == GZIP) deflateEnd(&encoder->gzip);
  ZSTD_freeCCtx(encoder->zstd);
  free(encoder);
}

enum hr_status hr__encoder_open(const char *path, struct hr__encoder **encoder, struct hr_error *error) {
  *encoder = NULL;
  struct hr__encoder *created = calloc(1, sizeof *created);
  if (!created) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  created->path = path;
  created->packing = packing_of(path);
  enum hr_status status = start_packing(created) ? HR_OK : hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  if (status == HR_OK) status = hr__output_open(&created->file, path, error);
  if (status == HR_OK)
    *encoder = created;
  else
    destroy(created);
  return status;
}

enum hr_status hr__encoder_commit(struct hr__encoder *encoder, struct hr_error *error) {
  drain(encoder, true);
  enum hr_status status = HR_OK;
  if (encoder->failed) {
    status = hr_fail(error, HR_NO_MEMORY, "%s: out of memory while compressing", encoder->path);
    hr__output_abandon(&encoder->file);
  } else {
    status = hr__output_commit(&encoder->file, error);
  }
  destroy(encoder);
  return status;
}

void hr__encoder_abandon(struct hr__encoder *encoder) {
  if (!encoder) return;
  hr__output_abandon(&encoder->file);
  destroy(encoder);
}

/* ---- Encoder: text --------------------------------------------------------------------------------- */

/* Returns the position in the buffer where at least `bytes` bytes are free. Writes the buffer to the file if it is
   too full. */
static inline char *room(struct hr__encoder *encoder, size_t bytes) {
  if (encoder->used + bytes > sizeof encoder->text) drain(encoder, false);
  return encoder->text + encoder->used;
}

void hr__encode_bytes(struct hr__encoder *encoder, const char *bytes, size_t count) {
  while (count > 0) {
    char *to = room(encoder, 1);
    size_t free_bytes = sizeof encoder->text - encoder->used, part = count < free_bytes ? count : free_bytes;
    memcpy(to, bytes, part);
    encoder->used += part;
    bytes += part;
    count -= part;
  }
}

void hr__encode_byte(struct hr__encoder *encoder, char byte) {
  *room(encoder, 1) = byte;
  encoder->used++;
}

void hr__encode_i64(struct hr__encoder *encoder, int64_t value) {
  char *at = room(encoder, HR__NUMBER_BYTES);
  encoder->used += (size_t)(hr__put_i64(at, value) - at);
}

uint64_t hr__encoder_count(const struct hr__encoder *encoder) {
  return encoder->drained + encoder->used;
}

/* ---- Fields of records ----------------------------------------------------------------------------- */

const size_t hr__field_bytes[HR__N_FIELDS] = {
#define HR__FIELD(key, column, kind, required, filled, member) sizeof((struct hr_job_record *)0)->member,
    HR__FIELDS
#undef HR__FIELD
};

static uint8_t flag_of(size_t field) {
  return hr__fields[field].kind == HR__DEDICATED ? HR_JOB_DEDICATED : HR_JOB_NOT_INTERRUPTIBLE;
}

bool hr__field_is_known(const struct hr_job_record *record, const struct hr_job_record *blank, size_t field) {
  const char *member = (const char *)record + hr__fields[field].offset;
  switch (hr__fields[field].kind) {
  case HR__TEXT:
  case HR__LIST:
    return ((const struct hr_text *)(const void *)member)->length > 0;
  case HR__DEDICATED:
  case HR__INTERRUPTIBLE:
    return *(const uint8_t *)member & flag_of(field);
  default:
    return memcmp(member, (const char *)blank + hr__fields[field].offset, hr__field_bytes[field]) != 0;
  }
}

/* Returns true if ids are row numbers because the input contained no ids. */
static bool ids_number_rows(const struct hr_trace *trace) {
  if (trace->has_ids || trace->id_text) return false;
  for (uint32_t job = 0; trace->id_number && job < trace->n_jobs; job++)
    if (trace->id_number[job] != (int64_t)(trace->row ? trace->row[job] : job) + 1) return false;
  return true;
}

void hr__known_fields(const struct hr_trace *trace, bool known[HR__N_FIELDS]) {
  struct hr_job_record blank, record;
  char id[HR_JOB_ID_BUFFER];
  hr_job_record_init(&blank);
  for (size_t field = 0; field < HR__N_FIELDS; field++) known[field] = hr__fields[field].must_exist;
  for (uint32_t job = 0; job < trace->n_jobs; job++) {
    hr_trace_job_record(trace, (hr_job){job}, &record, id);
    for (size_t field = 1; field < HR__N_FIELDS; field++)
      known[field] = known[field] || hr__field_is_known(&record, &blank, field);
    hr__trace_row_done(trace, job);
  }
  known[0] = !ids_number_rows(trace);
}

static void forget(struct hr_job_record *record, const struct hr_job_record *blank, size_t field) {
  char *member = (char *)record + hr__fields[field].offset;
  if (hr__fields[field].kind == HR__DEDICATED || hr__fields[field].kind == HR__INTERRUPTIBLE)
    *(uint8_t *)member = (uint8_t)(*(uint8_t *)member & ~flag_of(field));
  else
    memcpy(member, (const char *)blank + hr__fields[field].offset, hr__field_bytes[field]);
}

void hr_job_record_forget(struct hr_job_record *record, uint64_t fields) {
  struct hr_job_record blank;
  hr_job_record_init(&blank);
  for (size_t field = 0; field < HR__N_FIELDS; field++)
    if (fields >> field & 1) forget(record, &blank, field);
  if (record->within == HR_TIER_ANY) record->within_wait_us = HR_UNKNOWN_US;
}

/* ---- Selection of a writer ------------------------------------------------------------------------- */

/* The formats that can be written: name, suffix of file names (without the suffix of a compression), writer,
   summary. */
#define WRITER_TABLE(X)                                                                                                \
  X("csv", ".csv", hr__csv_writer, "Headroom's own CSV, with all fields")                                              \
  X("swf", ".swf", hr__swf_writer, "Standard Workload Format: GPUs as processors, whole seconds, numbered names")      \
  X("packed", ".hrt", hr__packed_writer, "memory-mapped columns, with all fields")

static const struct hr_trace_format formats[] = {
#define FORMAT_ENTRY(name, ending, writer, summary) {name, summary},
    WRITER_TABLE(FORMAT_ENTRY)
#undef FORMAT_ENTRY
        {NULL, NULL}};

/* Writers, in the order of `formats`. */
static const struct {
  const char *ending;
  const struct hr__trace_writer *writer;
} writers[] = {
#define WRITER_ENTRY(name, ending, writer, summary) {ending, &writer},
    WRITER_TABLE(WRITER_ENTRY)
#undef WRITER_ENTRY
};

enum { N_WRITERS = sizeof writers / sizeof *writers };

/* ---- Writing a trace ------------------------------------------------------------------------------- */

static enum hr_status unknown_writer(const char *name, struct hr_error *error) {
  const char *words[N_WRITERS + 1];
  for (size_t i = 0; i <= N_WRITERS; i++) words[i] = formats[i].name;
  const char *nearest = hr_nearest_word(name, words);
#define WRITER_NAME(name, ...) " " name
  return hr_fail(error, HR_BAD_INPUT, "unknown output format '%.60s'%s%s%s; formats:%s", name,
                 nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "",
                 WRITER_TABLE(WRITER_NAME));
#undef WRITER_NAME
}

/* Returns the last suffix of the file name, with its point, not counting the suffix of a compression. Returns NULL
   if no suffix exists. A point at the beginning of a file name marks a hidden file and begins no suffix. */
static const char *ending_of(const char *path, size_t length) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  for (const char *at = path + length; at > name + 1; at--)
    if (at[-1] == '.') return at - 1;
  return NULL;
}

static bool is_ending(const char *ending, size_t length, const char *known) {
  return strlen(known) == length && strncasecmp(ending, known, length) == 0;
}

static enum hr_status unknown_ending(const char *path, const char *ending, size_t length, struct hr_error *error) {
#define WRITER_ENDING(name, ending, ...) " " ending
  return hr_fail(error, HR_BAD_INPUT,
                 "%s: unknown suffix '%.*s'; suffixes:" WRITER_TABLE(
                     WRITER_ENDING) ", .gz or .zst after .csv and .swf; without a suffix, the format is CSV",
                 path, (int)length, ending);
#undef WRITER_ENDING
}

/* Returns the format for a file name. If the suffix is unknown, sets the error and returns NULL. */
static const struct hr_trace_format *format_of_name(const char *path, struct hr_error *error) {
  size_t length = encoder_plain_name_length(path);
  const char *ending = ending_of(path, length);
  if (!ending) return formats;
  size_t n = (size_t)(path + length - ending);
  for (size_t i = 0; i < N_WRITERS; i++)
    if (is_ending(ending, n, writers[i].ending)) return &formats[i];
  unknown_ending(path, ending, n, error);
  return NULL;
}

/* Checks the suffix of a compression in a file name. It must be .gz or .zst, and the format must support
   compression. */
static enum hr_status check_compression(const struct hr_trace_format *format, const char *path,
                                        struct hr_error *error) {
  static const char *const others[] = {".xz", ".bz2", ".zip", ".lz4", ".7z", ".br", ".lzma"};
  size_t length = encoder_plain_name_length(path);
  const char *ending = ending_of(path, length);
  for (size_t i = 0; ending && i < sizeof others / sizeof *others; i++)
    if (is_ending(ending, (size_t)(path + length - ending), others[i]))
      return hr_fail(error, HR_BAD_INPUT, "%s: unsupported compression '%s'; use '.gz' or '.zst'", path, others[i]);
  if (path[length] == '\0' || writers[format - formats].writer->compresses) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: format '%s' cannot be compressed; remove '%s' from the name", path,
                 format->name, path + length);
}

static const struct hr_trace_format *format_called(const char *name, struct hr_error *error) {
  for (const struct hr_trace_format *format = formats; format->name; format++)
    if (strcmp(format->name, name) == 0) return format;
  unknown_writer(name, error);
  return NULL;
}

const struct hr_trace_format *hr_trace_writer_find(const char *name, const char *path, struct hr_error *error) {
  const struct hr_trace_format *format = name ? format_called(name, error) : format_of_name(path, error);
  return format && check_compression(format, path, error) == HR_OK ? format : NULL;
}

enum hr_status hr_generated_file(const char *path, bool *job_by_job, struct hr_error *error) {
  const struct hr_trace_format *format = hr_trace_writer_find(NULL, path, error);
  *job_by_job = false;
  if (!format) return HR_BAD_INPUT;
  if (strcmp(format->name, "swf") == 0)
    return hr_fail(error, HR_BAD_INPUT,
                   "%s: SWF would lose fields of generated jobs; write CSV, and convert it with 'headroom trace "
                   "convert', which reports the losses",
                   path);
  *job_by_job = strcmp(format->name, "csv") == 0 && encoder_plain_name_length(path) == strlen(path);
  return HR_OK;
}

enum hr_status hr_trace_write(const struct hr_trace *trace, const char *path, const char *format,
                              struct hr_trace_written *written, struct hr_error *error) {
  struct hr_trace_written unasked;
  if (!written) written = &unasked;
  *written = (struct hr_trace_written){0};
  const struct hr_trace_format *found = hr_trace_writer_find(format, path, error);
  if (!found) return HR_BAD_INPUT;
  written->format = found->name;
  return writers[found - formats].writer->write(trace, path, written, error);
}

/* ---- Losses ---------------------------------------------------------------------------------------- */

HR__NAME_FUNCTION(hr_loss_name, enum hr_loss_kind, HR_LOSS_TABLE)

static enum hr_status note_loss(const char *format, const struct hr_trace_loss *loss, struct hr_notes *notes) {
  uint64_t n = loss->n_jobs;
  const char *s = n == 1 ? "" : "s";
  switch (loss->kind) {
  case HR_LOSS_DROPPED:
    return hr_notes_add(notes, "'%s' of %" PRIu64 " job%s is dropped: %s cannot store it", loss->field, n, s, format);
  case HR_LOSS_ROUNDED:
    return hr_notes_add(notes, "'%s' of %" PRIu64 " job%s is rounded: %s stores whole seconds", loss->field, n, s,
                        format);
  case HR_LOSS_RENUMBERED:
    return hr_notes_add(notes, "'%s' of %" PRIu64 " job%s is replaced by a number from 1: %s stores only numbers",
                        loss->field, n, s, format);
  default:
    return hr_notes_add(notes, "%" PRIu64 " job%s left out: %s cannot store the value of '%s'", n, s, format,
                        loss->field);
  }
}

enum hr_status hr_trace_loss_notes(const struct hr_trace_written *written, struct hr_notes *notes) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; status == HR_OK && i < written->n_losses; i++)
    status = note_loss(written->format, &written->losses[i], notes);
  return status;
}

/* ---- Standard Workload Format ---------------------------------------------------------------------- */

/*
 * Writes the Standard Workload Format, version 2.2 (D. Feitelson, Parallel Workloads Archive). Lines are in order of
 * submit time, as the format requires. Times are rounded half up to seconds. The wait is an exception: it is the
 * difference of the rounded start and the rounded submit time. A limit above 0 is written as at least 1 s, because 0
 * means no limit.
 */

/* The numbers that are written in place of names, such as users. If all names are numbers, these numbers are written.
   Otherwise, the names are numbered from 1. */
struct numbering {
  const struct hr_names *names;
  bool are_numbers;
};

_Static_assert(HR__N_FIELDS + 16 <= HR_MAX_LOSSES,
               "there is room for a dropped loss of each field, and for 16 other losses");

struct swf_file {
  const struct hr_trace *trace;
  struct hr__encoder *out;
  struct hr_trace_written *written;
  struct hr_job_record blank;
  int64_t zero_us; /* time in the input at which the clock of the file is 0 */
  bool ids_are_numbers;
  struct numbering users, tenants;
};

static bool is_count(const char *text) {
  int64_t number;
  return hr__integer_parse(hr__text_make(text), &number) && number >= 0;
}

static struct numbering numbering_of(const struct hr_names *names) {
  struct numbering numbering = {names, true};
  for (uint32_t i = 0; i < names->count; i++) numbering.are_numbers = numbering.are_numbers && is_count(names->text[i]);
  return numbering;
}

static bool ids_are_numbers(const struct hr_trace *trace) {
  if (trace->id_text) return false;
  for (uint32_t job = 0; trace->id_number && job < trace->n_jobs; job++)
    if (trace->id_number[job] < 0) return false;
  return true;
}

/* ---- Standard Workload Format: values -------------------------------------------------------------- */

/* Adds a loss of `n_jobs` jobs. Nothing is added if `n_jobs` is 0. */
static void count_loss(struct hr_trace_written *written, enum hr_loss_kind kind, const char *field, uint64_t n_jobs) {
  if (!n_jobs) return;
  uint32_t i = 0;
  while (i < written->n_losses && (written->losses[i].kind != kind || strcmp(written->losses[i].field, field) != 0))
    i++;
  if (i == written->n_losses) written->losses[written->n_losses++] = (struct hr_trace_loss){kind, field, 0};
  written->losses[i].n_jobs += n_jobs;
}

static int64_t round_s(int64_t us) {
  return (us + HR_SECOND_US / 2) / HR_SECOND_US;
}

static void count_partial_losses(struct swf_file *swf, const char *field, int64_t us) {
  count_loss(swf->written, HR_LOSS_ROUNDED, field, us % HR_SECOND_US != 0);
}

static void put(struct swf_file *swf, int64_t value) {
  hr__encode_byte(swf->out, ' ');
  hr__encode_i64(swf->out, value);
}

static void put_unknown(struct swf_file *swf, unsigned count) {
  for (unsigned i = 0; i < count; i++) hr__encode_text(swf->out, " -1");
}

static void put_limit(struct swf_file *swf, int64_t limit_us) {
  if (limit_us <= 0) {
    count_loss(swf->written, HR_LOSS_DROPPED, "limit", limit_us == 0);
    put_unknown(swf, 1);
    return;
  }
  int64_t limit_s = round_s(limit_us);
  count_partial_losses(swf, "limit", limit_us);
  put(swf, limit_s ? limit_s : 1);
}

static void put_status(struct swf_file *swf, uint8_t outcome) {
  static const int64_t status[] = {
      [HR_OUTCOME_UNKNOWN] = -1, [HR_OUTCOME_COMPLETED] = 1, [HR_OUTCOME_FAILED] = 0, [HR_OUTCOME_CANCELLED] = 5};
  put(swf, status[outcome]);
}

static void put_name(struct swf_file *swf, const struct numbering *numbering, const uint32_t *column, uint32_t job,
                     const char *field) {
  uint32_t name = column ? column[job] : HR_NONE;
  if (name == HR_NONE) {
    put_unknown(swf, 1);
  } else if (numbering->are_numbers) {
    hr__encode_byte(swf->out, ' ');
    hr__encode_text(swf->out, numbering->names->text[name]);
  } else {
    count_loss(swf->written, HR_LOSS_RENUMBERED, field, 1);
    put(swf, (int64_t)name + 1);
  }
}

/* Writes the id of a job. If some ids are not numbers, the jobs that are written are numbered from 1; skipped jobs
   are not counted. */
static void put_id(struct swf_file *swf, struct hr_text id) {
  if (swf->ids_are_numbers) {
    hr__encode_bytes(swf->out, id.at, id.length);
    return;
  }
  count_loss(swf->written, HR_LOSS_RENUMBERED, "job_id", 1);
  hr__encode_i64(swf->out, (int64_t)swf->written->n_jobs + 1);
}

/* ---- Standard Workload Format: jobs ---------------------------------------------------------------- */

/* Returns true if a line of SWF has a place for the field. */
static bool is_stored(size_t field) {
  static const char *const stored[] = {"job_id", "submit", "duration", "gpus", "user",
                                       "tenant", "limit",  "status",   "start"};
  for (size_t i = 0; i < sizeof stored / sizeof *stored; i++)
    if (strcmp(hr__fields[field].field, stored[i]) == 0) return true;
  return false;
}

/* Returns true if `field` is the minimum or maximum number of GPUs of an elastic job, and equals the number that the
   job requests. The trace stores such values also for jobs that are not elastic, so they are not a loss. */
static bool is_no_bound(const struct hr_job_record *record, size_t field) {
  return hr__fields[field].kind == HR__GPU_BOUND &&
         memcmp((const char *)record + hr__fields[field].offset, &record->gpus, sizeof record->gpus) == 0;
}

static void count_other_losses(struct swf_file *swf, const struct hr_job_record *record,
                               const bool others[HR__N_FIELDS]) {
  for (size_t field = 0; field < HR__N_FIELDS; field++)
    if (others[field] && hr__field_is_known(record, &swf->blank, field) && !is_no_bound(record, field))
      count_loss(swf->written, HR_LOSS_DROPPED, hr__fields[field].field, 1);
}

static void put_job(struct swf_file *swf, uint32_t job, const struct hr_job_record *record) {
  const struct hr_trace *trace = swf->trace;
  const bool started = record->recorded_start_us != INT64_MIN;
  int64_t submit_us = record->submit_us - swf->zero_us;
  int64_t start_us = started ? record->recorded_start_us - swf->zero_us : 0;
  put_id(swf, record->id);
  put(swf, round_s(submit_us));
  count_partial_losses(swf, "submit", submit_us);
  put(swf, started ? round_s(start_us) - round_s(submit_us) : -1);
  if (started) count_partial_losses(swf, "start", start_us);
  put(swf, round_s(record->work_us));
  count_partial_losses(swf, "duration", record->work_us);
  put(swf, record->gpus); /* field 5: allocated processors */
  put_unknown(swf, 2);    /* fields 6 and 7: processor time used, memory used */
  put(swf, record->gpus); /* field 8: requested processors */
  put_limit(swf, record->limit_us);
  put_unknown(swf, 1); /* field 10: requested memory */
  put_status(swf, record->outcome);
  put_name(swf, &swf->users, trace->user, job, "user");
  put_name(swf, &swf->tenants, trace->tenant, job, "tenant");
  put_unknown(swf, 5); /* fields 14 to 18: program, queue, partition, preceding job, think time */
  hr__encode_byte(swf->out, '\n');
}

/* Checks that times are in the range of SWF. Dates in a trace may be further apart. */
static enum hr_status check_times(const struct swf_file *swf, const struct hr_job_record *record,
                                  struct hr_error *error) {
  const char *wrong = NULL;
  if (record->submit_us < swf->zero_us) wrong = "it is before 0 s";
  if (record->submit_us - swf->zero_us > HR_MAX_INPUT_US) wrong = "it is more than 100000000000 s after the first one";
  if (record->recorded_start_us > record->submit_us + HR_MAX_INPUT_US)
    wrong = "the start is more than 100000000000 s later";
  if (!wrong) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: job %.60s: cannot write its 'submit' as SWF: %s", swf->trace->source,
                 record->id.at, wrong);
}

static enum hr_status put_jobs(struct swf_file *swf, struct hr_error *error) {
  bool others[HR__N_FIELDS];
  hr__known_fields(swf->trace, others);
  for (size_t field = 0; field < HR__N_FIELDS; field++) others[field] = others[field] && !is_stored(field);
  for (uint32_t job = 0; job < swf->trace->n_jobs; job++) {
    struct hr_job_record record;
    char id[HR_JOB_ID_BUFFER];
    hr_trace_job_record(swf->trace, (hr_job){job}, &record, id);
    enum hr_status status = check_times(swf, &record, error);
    if (status != HR_OK) return status;
    if (record.gpus == 0) {
      count_loss(swf->written, HR_LOSS_LEFT_OUT, "gpus", 1);
      continue;
    }
    count_other_losses(swf, &record, others);
    put_job(swf, job, &record);
    swf->written->n_jobs++;
  }
  if (swf->written->n_jobs) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: no job requests a GPU; SWF jobs need at least one processor",
                 swf->trace->source);
}

/* ---- Standard Workload Format: the file ------------------------------------------------------------ */

static void put_header(const struct swf_file *swf) {
  const struct hr_trace *trace = swf->trace;
  uint32_t n_jobs = 0;
  for (uint32_t job = 0; job < trace->n_jobs; job++) n_jobs += trace->gpus[job] > 0;
  hr__encode_text(swf->out, "; Version: 2.2\n; MaxJobs: ");
  hr__encode_i64(swf->out, n_jobs);
  hr__encode_text(swf->out, "\n; MaxRecords: ");
  hr__encode_i64(swf->out, n_jobs);
  if (trace->dated) {
    hr__encode_text(swf->out, "\n; UnixStartTime: ");
    hr__encode_i64(swf->out, swf->zero_us / HR_SECOND_US);
    if (!hr_trace_has_local_dates(trace)) hr__encode_text(swf->out, "\n; TimeZoneString: UTC");
  }
  hr__encode_text(swf->out, "\n; Note: written by Headroom; processors are GPUs\n");
}

/* Returns the first submit time of a dated trace, rounded down to a second. */
static int64_t first_second_us(const struct hr_trace *trace) {
  int64_t us = trace->origin_us + trace->submit_us[0], part_us = us % HR_SECOND_US;
  return us - (part_us < 0 ? part_us + HR_SECOND_US : part_us);
}

static enum hr_status write_swf(const struct hr_trace *trace, const char *path, struct hr_trace_written *written,
                                struct hr_error *error) {
  struct swf_file swf = {.trace = trace,
                         .written = written,
                         .zero_us = trace->dated ? first_second_us(trace) : 0,
                         .ids_are_numbers = ids_are_numbers(trace),
                         .users = numbering_of(&trace->users),
                         .tenants = numbering_of(&trace->tenants)};
  hr_job_record_init(&swf.blank);
  if (hr_trace_has_local_dates(trace)) count_loss(written, HR_LOSS_DROPPED, "dates", trace->n_jobs);
  enum hr_status status = hr__encoder_open(path, &swf.out, error);
  if (status != HR_OK) return status;
  put_header(&swf);
  status = put_jobs(&swf, error);
  written->bytes = hr__encoder_count(swf.out);
  if (status == HR_OK) return hr__encoder_commit(swf.out, error);
  hr__encoder_abandon(swf.out);
  return status;
}

const struct hr__trace_writer hr__swf_writer = {.compresses = true, .write = write_swf};
