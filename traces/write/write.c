/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Buffered text output through zlib or zstd, as the file name requests. The gzip header has no time and no name: the
 * same text gives the same bytes with the same version of the library.
 */

#include "traces/write/write.h"

#include "base/output_file.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>
#include <zstd.h>

enum write_packed { PLAIN, GZIP, ZSTD };

struct hr__encoder {
  struct hr__output_file file;
  const char *path;
  enum write_packed packing;
  z_stream gzip;
  ZSTD_CCtx *zstd;
  bool failed; /* the compressor failed */
  uint64_t drained;
  size_t used;
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

/* Length of `path` without a compression suffix. */
static size_t plain_name_length(const char *path) {
  static const size_t ending_length[] = {[PLAIN] = 0, [GZIP] = sizeof ".gz" - 1, [ZSTD] = sizeof ".zst" - 1};
  return strlen(path) - ending_length[packing_of(path)];
}

/* ---- Compression ------------------------------------------------------------------------------------ */

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

/* ---- The file --------------------------------------------------------------------------------------- */

static void destroy(struct hr__encoder *encoder) {
  if (encoder->packing == GZIP) deflateEnd(&encoder->gzip);
  ZSTD_freeCCtx(encoder->zstd);
  free(encoder);
}

enum hr_status hr__encoder_open(const char *path, struct hr__encoder **encoder, struct hr_error *error) {
  *encoder = NULL;
  struct hr__encoder *made = calloc(1, sizeof *made);
  if (!made) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  made->path = path;
  made->packing = packing_of(path);
  enum hr_status status = start_packing(made) ? HR_OK : hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  if (status == HR_OK) status = hr__output_open(&made->file, path, error);
  if (status == HR_OK)
    *encoder = made;
  else
    destroy(made);
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

/* ---- Text ------------------------------------------------------------------------------------------- */

/* Returns room for a few bytes in the buffer. */
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

void hr__encode_text(struct hr__encoder *encoder, const char *text) {
  hr__encode_bytes(encoder, text, strlen(text));
}

void hr__encode_byte(struct hr__encoder *encoder, char byte) {
  *room(encoder, 1) = byte;
  encoder->used++;
}

static char *put_digits(char *at, uint64_t value) {
  char digits[HR__ENCODER_NUMBER_BYTES], *first = digits + sizeof digits;
  do {
    *--first = (char)('0' + value % 10);
    value /= 10;
  } while (value > 0);
  size_t length = (size_t)(digits + sizeof digits - first);
  memcpy(at, first, length);
  return at + length;
}

void hr__encode_i64(struct hr__encoder *encoder, int64_t value) {
  if (value < 0) hr__encode_byte(encoder, '-');
  uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
  char *at = room(encoder, HR__ENCODER_NUMBER_BYTES);
  encoder->used += (size_t)(put_digits(at, magnitude) - at);
}

void hr__encode_decimal(struct hr__encoder *encoder, uint64_t value, unsigned decimals) {
  uint64_t unit = 1;
  for (unsigned i = 0; i < decimals; i++) unit *= 10;
  char *begin = room(encoder, HR__ENCODER_NUMBER_BYTES), *at = put_digits(begin, value / unit);
  uint64_t rest = value % unit;
  if (rest) *at++ = '.';
  for (; rest; rest %= unit) {
    unit /= 10;
    *at++ = (char)('0' + rest / unit);
  }
  encoder->used += (size_t)(at - begin);
}

uint64_t hr__encoder_count(const struct hr__encoder *encoder) {
  return encoder->drained + encoder->used;
}

/* Selects a writer by format name or file name, and collects what a format loses. Formats are lines of one table. */

/* Name, file name suffix, whether it may be compressed, writer, summary. */
#define WRITER_TABLE(X)                                                                                                \
  X("csv", ".csv", true, hr__write_csv, "Headroom's own CSV, with all fields")                                         \
  X("swf", ".swf", true, hr__write_swf, "Standard Workload Format: GPUs as processors, whole seconds, numbered names") \
  X("packed", ".hrt", false, hr__packed_write, "memory-mapped columns, with all fields")

static const struct hr_trace_format formats[] = {
#define FORMAT_ENTRY(name, ending, compresses, writer, summary) {name, summary},
    WRITER_TABLE(FORMAT_ENTRY)
#undef FORMAT_ENTRY
        {NULL, NULL}};

/* In the order of `formats`. */
static const struct hr__trace_writer writers[] = {
#define WRITER_ENTRY(name, ending, compresses, writer, summary) {ending, compresses, writer},
    WRITER_TABLE(WRITER_ENTRY)
#undef WRITER_ENTRY
};

enum { N_WRITERS = sizeof writers / sizeof *writers };

const struct hr_trace_format *hr_trace_writers(void) {
  return formats;
}

/* ---- Selection --------------------------------------------------------------------------------------- */

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

/* The last suffix before a compression suffix, with its point; NULL if there is none. The leading point of a hidden
   file does not begin a suffix. */
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

/* NULL with an error if the suffix is unknown. */
static const struct hr_trace_format *format_of_name(const char *path, struct hr_error *error) {
  size_t length = plain_name_length(path);
  const char *ending = ending_of(path, length);
  if (!ending) return formats;
  size_t n = (size_t)(path + length - ending);
  for (size_t i = 0; i < N_WRITERS; i++)
    if (is_ending(ending, n, writers[i].ending)) return &formats[i];
  unknown_ending(path, ending, n, error);
  return NULL;
}

/* The suffix must match the content, whatever the format. */
static enum hr_status check_compression(const struct hr_trace_format *format, const char *path,
                                        struct hr_error *error) {
  static const char *const others[] = {".xz", ".bz2", ".zip", ".lz4", ".7z", ".br", ".lzma"};
  size_t length = plain_name_length(path);
  const char *ending = ending_of(path, length);
  for (size_t i = 0; ending && i < sizeof others / sizeof *others; i++)
    if (is_ending(ending, (size_t)(path + length - ending), others[i]))
      return hr_fail(error, HR_BAD_INPUT, "%s: unsupported compression '%s'; use '.gz' or '.zst'", path, others[i]);
  if (path[length] == '\0' || writers[format - formats].compresses) return HR_OK;
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
                   "convert', which reports what is lost",
                   path);
  *job_by_job = strcmp(format->name, "csv") == 0 && plain_name_length(path) == strlen(path);
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
  return writers[found - formats].write(trace, path, written, error);
}

/* ---- Losses ------------------------------------------------------------------------------------------ */

const char *hr_loss_name(enum hr_loss_kind kind) {
  static const char *const names[] = {
#define LOSS_TEXT(name, text) [name] = text,
      HR_LOSS_TABLE(LOSS_TEXT)
#undef LOSS_TEXT
  };
  return (unsigned)kind < HR_N_LOSSES ? names[kind] : "";
}

void hr__count_loss(struct hr_trace_written *written, enum hr_loss_kind kind, const char *field, uint64_t n_jobs) {
  if (!n_jobs) return;
  uint32_t i = 0;
  while (i < written->n_losses && (written->losses[i].kind != kind || strcmp(written->losses[i].field, field) != 0))
    i++;
  if (i == written->n_losses) written->losses[written->n_losses++] = (struct hr_trace_loss){kind, field, 0};
  written->losses[i].n_jobs += n_jobs;
}

static enum hr_status note_loss(const char *format, const struct hr_trace_loss *loss, struct hr_notes *notes) {
  uint64_t n = loss->n_jobs;
  const char *s = n == 1 ? "" : "s";
  switch (loss->kind) {
  case HR_LOSS_DROPPED:
    return hr_notes_add(notes, "%s cannot store '%s': dropped, of %" PRIu64 " job%s", format, loss->field, n, s);
  case HR_LOSS_ROUNDED:
    return hr_notes_add(notes, "%s stores '%s' in whole seconds: rounded, of %" PRIu64 " job%s", format, loss->field, n,
                        s);
  case HR_LOSS_RENUMBERED:
    return hr_notes_add(notes, "%s stores '%s' as numbers: numbered from 1, of %" PRIu64 " job%s", format, loss->field,
                        n, s);
  default:
    return hr_notes_add(notes, "%s cannot store %" PRIu64 " job%s because of '%s': left out", format, n, s,
                        loss->field);
  }
}

enum hr_status hr_trace_loss_notes(const struct hr_trace_written *written, struct hr_notes *notes) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; status == HR_OK && i < written->n_losses; i++)
    status = note_loss(written->format, &written->losses[i], notes);
  return status;
}

enum hr_status hr_trace_builder_write(struct hr_trace_builder *builder, const char *path, struct hr_error *error) {
  struct hr_trace *trace = NULL;
  enum hr_status status = hr_trace_builder_finish(builder, false, false, &trace, error);
  if (status == HR_OK) status = hr_trace_write(trace, path, NULL, NULL, error);
  hr_trace_destroy(trace);
  return status;
}
