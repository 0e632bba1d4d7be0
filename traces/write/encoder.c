/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Buffered text output through zlib or zstd. The file name determines the compression. The gzip header contains no
 * time and no name, so the same text gives the same bytes with the same version of the library.
 */

#include "traces/write/write.h"

#include "base/output_file.h"

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
  bool failed; /* the compressor reported an error */
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

size_t hr__encoder_plain_name_length(const char *path) {
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

/* ---- Text ------------------------------------------------------------------------------------------- */

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

uint64_t hr__encoder_count(const struct hr__encoder *encoder) {
  return encoder->drained + encoder->used;
}
