/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads files that are plain text, gzip or zstd, line by line or completely. The kind is detected by magic bytes.
 *
 * The decoder reads raw bytes into one buffer. The first block of raw bytes determines the compression. Decompressors
 * write directly into the memory of the caller. The flag `between` is true at the positions where compressed data may
 * end: before the first byte, and after each gzip member or zstd frame. A file may contain several members or frames.
 *
 * The input stores a window of the decoded file. Bytes [begin, end) of the window are decoded but not yet returned. If
 * they contain no complete line, they are moved to the beginning of the window, and the next block is decoded after
 * them. Each line is therefore contiguous, and memory is bounded by the maximum line length. A block fits into the
 * cache of the processor.
 */

#include "traces/core/input.h"

#include "base/containers.h"
#include "base/process.h"
#include "traces/packed/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { RAW_BYTES = 1 << 16, GZIP_WINDOW = 15 + 16 };

enum compression { PLAIN, GZIP, ZSTD };

const char hr__standard_input[] = "standard input";

/* The decoder of a file. */
struct decoder {
  const char *path;
  int descriptor;
  enum compression compression;
  size_t raw_at, raw_end;  /* range of unread bytes in `raw` */
  bool raw_ended, between; /* raw_ended: end of the file reached; between: compressed data may end here */
  z_stream inflater;
  ZSTD_DStream *zstd;
  unsigned char raw[RAW_BYTES];
};

static enum hr_status cannot_read(const char *path, int number, struct hr_error *error) {
  enum hr_status status = number == EIO ? HR_IO_ERROR : number == ENOMEM ? HR_NO_MEMORY : HR_BAD_INPUT;
  return hr_fail(error, status, "%s: cannot be read: %s", path, strerror(number));
}

static enum hr_status no_memory(const struct decoder *decoder, struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", decoder->path);
}

/* Reads until `capacity` bytes are read or the file ends. Several calls of read() may be necessary, because read()
   from a pipe can return fewer bytes. */
static enum hr_status read_fully(struct decoder *decoder, void *buffer, size_t capacity, size_t *length,
                                 struct hr_error *error) {
  *length = 0;
  while (*length < capacity && !decoder->raw_ended) {
    ssize_t got = read(decoder->descriptor, (char *)buffer + *length, capacity - *length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot_read(decoder->path, errno, error);
    decoder->raw_ended = got == 0;
    *length += (size_t)got;
  }
  return HR_OK;
}

static enum hr_status refill_raw(struct decoder *decoder, struct hr_error *error) {
  decoder->raw_at = 0;
  return read_fully(decoder, decoder->raw, RAW_BYTES, &decoder->raw_end, error);
}

/* ---- Detection of formats ---------------------------------------------------------------------------- */

/* The magic bytes of a file format that is not supported. */
struct signature {
  const char *bytes;
  size_t length;
  const char *what; /* name of the unsupported format, for messages */
};

static bool starts_with(const struct decoder *decoder, const char *bytes, size_t length) {
  return decoder->raw_end >= length && memcmp(decoder->raw, bytes, length) == 0;
}

static enum hr_status refuse_foreign(const struct decoder *decoder, struct hr_error *error) {
  static const struct signature foreign[] = {
      {"PK", 2, "a zip archive or a spreadsheet: unpack it, or save the sheet as CSV"},
      {"BZh", 3, "compressed with bzip2: unpack it, or compress with gzip or zstd"},
      {"\xFD"
       "7zXZ",
       5, "compressed with xz: unpack it, or compress with gzip or zstd"},
      {"PAR1", 4, "a Parquet file: convert it to CSV"},
      {"\xFF\xFE", 2, "UTF-16 text: save it as UTF-8"},
      {"\xFE\xFF", 2, "UTF-16 text: save it as UTF-8"},
  };
  for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
    if (starts_with(decoder, foreign[i].bytes, foreign[i].length))
      return hr_fail(error, HR_BAD_INPUT, "%s: this is %s", decoder->path, foreign[i].what);
  return HR_OK;
}

static enum hr_status recognise(struct decoder *decoder, struct hr_error *error) {
  enum hr_status status = refill_raw(decoder, error);
  if (status != HR_OK) return status;
  if (starts_with(decoder, "\x1F\x8B", 2)) {
    decoder->compression = GZIP;
    return inflateInit2(&decoder->inflater, GZIP_WINDOW) == Z_OK ? HR_OK : no_memory(decoder, error);
  }
  if (starts_with(decoder, "\x28\xB5\x2F\xFD", 4)) {
    decoder->compression = ZSTD;
    decoder->zstd = ZSTD_createDStream();
    return decoder->zstd ? HR_OK : no_memory(decoder, error);
  }
  return refuse_foreign(decoder, error);
}

static enum hr_status open_file(struct decoder *decoder, struct hr_error *error) {
  if (!*decoder->path) return hr_fail(error, HR_BAD_INPUT, "'': cannot be read: the file name is empty");
  bool is_stdin = decoder->path == hr__standard_input;
  const char *file = is_stdin ? NULL : hr__input_path(decoder->path);
  if (!is_stdin && !file) return cannot_read(decoder->path, errno, error);
  decoder->descriptor = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(file, O_RDONLY | O_CLOEXEC);
  if (decoder->descriptor < 0) return cannot_read(decoder->path, errno, error);
  struct stat info;
  if (fstat(decoder->descriptor, &info) != 0) return cannot_read(decoder->path, errno, error);
  if (S_ISDIR(info.st_mode)) return hr_fail(error, HR_BAD_INPUT, "%s: is a directory, not a trace file", decoder->path);
  return HR_OK;
}

/* Closes the file and frees the decoder. NULL is allowed. */
static void decoder_close(struct decoder *decoder) {
  if (!decoder) return;
  if (decoder->descriptor >= 0) close(decoder->descriptor);
  if (decoder->compression == GZIP) inflateEnd(&decoder->inflater);
  ZSTD_freeDStream(decoder->zstd);
  free(decoder);
}

/* Opens a plain, gzip or zstd file. The kind is detected by its first bytes. `path` must outlive the decoder. */
static enum hr_status decoder_open(const char *path, struct decoder **decoder, struct hr_error *error) {
  *decoder = NULL;
  struct decoder *created = calloc(1, sizeof *created);
  if (!created) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  created->path = path;
  created->between = true;
  enum hr_status status = open_file(created, error);
  if (status == HR_OK) status = recognise(created, error);
  if (status == HR_OK)
    *decoder = created;
  else
    decoder_close(created);
  return status;
}

/* ---- Reading ---------------------------------------------------------------------------------------- */

static enum hr_status truncated(const struct decoder *decoder, const char *kind, struct hr_error *error) {
  return hr_fail(error, HR_BAD_INPUT, "%s: is a truncated %s file: it ends in the middle of its data", decoder->path,
                 kind);
}

static enum hr_status read_plain(struct decoder *decoder, char *buffer, size_t capacity, size_t *length,
                                 struct hr_error *error) {
  size_t sniffed = decoder->raw_end - decoder->raw_at;
  if (sniffed > capacity) sniffed = capacity;
  memcpy(buffer, decoder->raw + decoder->raw_at, sniffed);
  decoder->raw_at += sniffed;
  enum hr_status status = read_fully(decoder, buffer + sniffed, capacity - sniffed, length, error);
  *length += sniffed;
  return status;
}

/* Called after the end of a gzip member. Zeros are padding, and another member may follow. Any other byte is an
   error. */
static enum hr_status next_member(struct decoder *decoder, struct hr_error *error) {
  if (decoder->raw[decoder->raw_at] == 0) {
    decoder->raw_at++;
    return HR_OK;
  }
  if (decoder->raw[decoder->raw_at] != 0x1F)
    return hr_fail(error, HR_BAD_INPUT, "%s: unexpected data after the end of its gzip data", decoder->path);
  decoder->between = false;
  return inflateReset(&decoder->inflater) == Z_OK ? HR_OK : no_memory(decoder, error);
}

static enum hr_status inflate_some(struct decoder *decoder, char *buffer, size_t capacity, size_t *length,
                                   struct hr_error *error) {
  z_stream *z = &decoder->inflater;
  z->next_in = decoder->raw + decoder->raw_at;
  z->avail_in = (uInt)(decoder->raw_end - decoder->raw_at);
  z->next_out = (unsigned char *)buffer + *length;
  z->avail_out = (uInt)(capacity - *length);
  int code = inflate(z, Z_NO_FLUSH);
  decoder->raw_at = decoder->raw_end - z->avail_in;
  *length = capacity - z->avail_out;
  decoder->between = code == Z_STREAM_END;
  if (code == Z_OK || code == Z_STREAM_END) return HR_OK;
  if (code == Z_MEM_ERROR) return no_memory(decoder, error);
  return hr_fail(error, HR_BAD_INPUT, "%s: is a damaged gzip file%s%s", decoder->path, z->msg ? ": " : "",
                 z->msg ? z->msg : "");
}

static enum hr_status read_gzip(struct decoder *decoder, char *buffer, size_t capacity, size_t *length,
                                struct hr_error *error) {
  *length = 0;
  while (*length < capacity) {
    enum hr_status status = HR_OK;
    if (decoder->raw_at == decoder->raw_end) status = refill_raw(decoder, error);
    if (status != HR_OK) return status;
    if (decoder->raw_end == 0) return decoder->between ? HR_OK : truncated(decoder, "gzip", error);
    if (decoder->between)
      status = next_member(decoder, error);
    else
      status = inflate_some(decoder, buffer, capacity, length, error);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

static enum hr_status read_zstd(struct decoder *decoder, char *buffer, size_t capacity, size_t *length,
                                struct hr_error *error) {
  ZSTD_outBuffer out = {buffer, capacity, 0};
  while (out.pos < capacity) {
    if (decoder->raw_at == decoder->raw_end) {
      enum hr_status status = refill_raw(decoder, error);
      if (status != HR_OK) return status;
    }
    ZSTD_inBuffer in = {decoder->raw, decoder->raw_end, decoder->raw_at};
    size_t before = out.pos;
    size_t code = decoder->raw_end == 0 && decoder->between ? 0 : ZSTD_decompressStream(decoder->zstd, &out, &in);
    if (ZSTD_isError(code))
      return hr_fail(error, HR_BAD_INPUT, "%s: is a damaged zstd file: %s", decoder->path, ZSTD_getErrorName(code));
    decoder->raw_at = in.pos;
    decoder->between = code == 0;
    if (decoder->raw_end > 0 || out.pos > before) continue;
    if (!decoder->between) return truncated(decoder, "zstd", error);
    break;
  }
  *length = out.pos;
  return HR_OK;
}

/* Fills `buffer`. If `*length` is below `capacity`, the file has ended. A truncated or damaged compressed file is an
   error. */
static enum hr_status decoder_read(struct decoder *decoder, char *buffer, size_t capacity, size_t *length,
                                   struct hr_error *error) {
  switch (decoder->compression) {
  case GZIP:
    return read_gzip(decoder, buffer, capacity, length, error);
  case ZSTD:
    return read_zstd(decoder, buffer, capacity, length, error);
  case PLAIN:
    break;
  }
  return read_plain(decoder, buffer, capacity, length, error);
}

/* ---- Input ------------------------------------------------------------------------------------------ */

enum { BLOCK_BYTES = 1 << 17 };

/* A decoded file and its window. */
struct hr__input {
  const char *path;
  struct decoder *decoder;
  size_t begin, end; /* range of bytes of the window that are not yet returned */
  uint64_t line;     /* number of the line that was read last */
  bool ended;        /* end of the file reached */
  char window[HR__LONGEST_LINE + BLOCK_BYTES];
};

static uint64_t count_lines(const char *at, size_t length) {
  uint64_t count = 0;
  for (size_t i = 0; i < length; i++) count += at[i] == '\n';
  return count;
}

/* Returns an error if the text contains NUL, because nearly every binary file does. */
static enum hr_status refuse_binary(const struct hr__input *input, size_t from, struct hr_error *error) {
  const char *nul = memchr(input->window + from, '\0', input->end - from);
  if (!nul) return HR_OK;
  uint64_t line =
      input->line + 1 + count_lines(input->window + input->begin, (size_t)(nul - input->window) - input->begin);
  return hr_fail(error, HR_BAD_INPUT, "%s:%llu: not a text file: it contains a NUL byte", input->path,
                 (unsigned long long)line);
}

static enum hr_status refuse_packed(const struct hr__input *input, struct hr_error *error) {
  if (input->end < HR__PACKED_MAGIC_BYTES || memcmp(input->window, HR__PACKED_MAGIC, HR__PACKED_MAGIC_BYTES) != 0)
    return HR_OK;
  return hr_fail(error, HR_BAD_INPUT,
                 "%s: is a packed trace; packed traces must be plain files, neither compressed nor read from a pipe",
                 input->path);
}

static enum hr_status refill(struct hr__input *input, struct hr_error *error) {
  size_t kept = input->end - input->begin, got;
  memmove(input->window, input->window + input->begin, kept);
  input->begin = 0;
  input->end = kept;
  enum hr_status status = decoder_read(input->decoder, input->window + kept, BLOCK_BYTES, &got, error);
  if (status != HR_OK) return status;
  input->end += got;
  input->ended = got < BLOCK_BYTES;
  if (input->line == 0 && kept == 0) status = refuse_packed(input, error);
  return status != HR_OK ? status : refuse_binary(input, kept, error);
}

enum hr_status hr__input_open(const char *path, struct hr__input **input, struct hr_error *error) {
  *input = NULL;
  struct hr__input *created = malloc(sizeof *created);
  if (!created) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  created->path = path;
  created->begin = created->end = 0;
  created->line = 0;
  created->ended = false;
  enum hr_status status = decoder_open(path, &created->decoder, error);
  if (status == HR_OK) status = refill(created, error);
  if (status == HR_OK && created->end == 0) status = hr_fail(error, HR_BAD_INPUT, "%s: the file is empty", path);
  if (status != HR_OK) {
    hr__input_close(created);
    return status;
  }
  if (created->end >= 3 && memcmp(created->window, "\xEF\xBB\xBF", 3) == 0) created->begin = 3; /* byte order mark */
  *input = created;
  return HR_OK;
}

void hr__input_close(struct hr__input *input) {
  if (!input) return;
  decoder_close(input->decoder);
  free(input);
}

struct hr_text hr__input_peek(const struct hr__input *input) {
  return (struct hr_text){input->window + input->begin, input->end - input->begin};
}

static enum hr_status next_whole_line(struct hr__input *input, size_t length, struct hr_text *line,
                                      struct hr_error *error) {
  input->line++;
  if (length > HR__LONGEST_LINE)
    return hr_fail(error, HR_BAD_INPUT, "%s:%llu: line %llu is longer than 1 MiB; expected one job per line",
                   input->path, (unsigned long long)input->line, (unsigned long long)input->line);
  *line = (struct hr_text){input->window + input->begin, length};
  input->begin += length;
  return HR_OK;
}

enum hr_status hr__input_line(struct hr__input *input, struct hr_text *line, struct hr_error *error) {
  size_t searched = 0;
  for (;;) {
    const char *at = input->window + input->begin;
    size_t available = input->end - input->begin;
    const char *newline = memchr(at + searched, '\n', available - searched);
    if (newline) return next_whole_line(input, (size_t)(newline - at) + 1, line, error);
    if (available > HR__LONGEST_LINE || (input->ended && available))
      return next_whole_line(input, available, line, error);
    if (input->ended) {
      *line = (struct hr_text){NULL, 0};
      return HR_OK;
    }
    searched = available;
    enum hr_status status = refill(input, error);
    if (status != HR_OK) return status;
  }
}

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

static struct hr_text next_line(struct hr_text *rest) {
  const char *newline = memchr(rest->at, '\n', rest->length);
  size_t length = newline ? (size_t)(newline - rest->at) : rest->length;
  struct hr_text line = {rest->at, length};
  size_t taken = newline ? length + 1 : length;
  *rest = (struct hr_text){rest->at + taken, rest->length - taken};
  while (line.length && is_space(*line.at)) {
    line.at++;
    line.length--;
  }
  while (line.length && is_space(line.at[line.length - 1])) line.length--;
  return line;
}

struct hr_text hr__first_line(struct hr_text beginning) {
  struct hr_text line = {beginning.at, 0};
  while (beginning.length && (!line.length || line.at[0] == '#')) line = next_line(&beginning);
  return line;
}

enum hr_status hr__input_chunk(struct hr__input *input, struct hr_text *chunk, struct hr_error *error) {
  enum hr_status status = HR_OK;
  if (input->begin == input->end && !input->ended) status = refill(input, error);
  *chunk = hr__input_peek(input);
  input->line += count_lines(chunk->at, chunk->length);
  input->begin = input->end;
  return status;
}

/* Returns true if the text has a quote, a carriage return, or a line that is empty or begins with white space, except
   for the first line. The byte after the text is read. The loop has no branches, so that the compiler vectorizes it. */
static bool has_special(const char *at, size_t length) {
  unsigned found = 0;
  for (size_t i = 0; i < length; i++)
    found |= (unsigned)(at[i] == '"') | (unsigned)(at[i] == '\r') |
             ((unsigned)(at[i] == '\n') & (unsigned)((unsigned char)at[i + 1] <= ' '));
  return found;
}

/* The text is examined in pieces, so that few bytes are examined again if the next row is not plain. */
struct hr_text hr__input_plain_lines(struct hr__input *input) {
  enum { PIECE_BYTES = 512 };
  const char *at = input->window + input->begin;
  size_t length = input->end - input->begin, plain = 0;
  while (length > 0 && at[length - 1] != '\n') length--;
  if (length == 0 || (unsigned char)at[0] <= ' ') return (struct hr_text){NULL, 0};
  while (plain < length) {
    /* the byte after the last line may not exist */
    size_t piece = length - plain > PIECE_BYTES ? PIECE_BYTES : length - 1 - plain;
    if (has_special(at + plain, piece)) break;
    if (plain + piece == length - 1) piece++;
    plain += piece;
  }
  while (plain > 0 && at[plain - 1] != '\n') plain--;
  input->line += count_lines(at, plain);
  input->begin += plain;
  return (struct hr_text){plain ? at : NULL, plain};
}

uint64_t hr__input_line_number(const struct hr__input *input) {
  return input->line;
}

/* ---- Whole files ------------------------------------------------------------------------------------ */

static enum hr_status read_whole(struct decoder *decoder, size_t max_bytes, char **bytes, size_t *size,
                                 struct hr_error *error) {
  uint32_t capacity = 0;
  for (*size = 0; *size < max_bytes;) {
    size_t got = 0;
    if (!HR__ARRAY_HAS_ROOM_FOR(*bytes, *size + (1 << 16), capacity)) return no_memory(decoder, error);
    enum hr_status status = decoder_read(decoder, *bytes + *size, capacity - *size, &got, error);
    if (status != HR_OK) return status;
    *size += got;
    if (*size < capacity) return HR_OK;
  }
  return hr_fail(error, HR_BAD_INPUT, "%s: is larger than %zu MiB, the limit for tables", decoder->path,
                 max_bytes >> 20);
}

enum hr_status hr__decoded_file(const char *path, size_t max_bytes, char **bytes, size_t *size,
                                struct hr_error *error) {
  struct decoder *decoder;
  *bytes = NULL;
  enum hr_status status = decoder_open(path, &decoder, error);
  if (status == HR_OK) status = read_whole(decoder, max_bytes, bytes, size, error);
  decoder_close(decoder);
  return status;
}
