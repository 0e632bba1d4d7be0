/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Common parts of all readers of trace formats: text input, fields from mapped columns (picks), bad rows, notes, MIG
 * profiles as GPU types, and parameters of formats.
 *
 * Input is plain text, gzip or zstd. The kind is detected by magic bytes.
 *
 * Picks read fields of jobs from any column of a table. The map of columns has two kinds of entries. An entry without a
 * pattern copies a column to a field. An entry with a pattern is a rule: it sets a field to a fixed value if the column
 * matches a POSIX extended regular expression. Rules have precedence over entries without a pattern. The first rule
 * that matches applies. A column of classes may contain words that are not classes, such as the names of Slurm
 * partitions. The jobs with these words are counted, and a note lists some of the words.
 *
 * All readers report bad rows with hr__reader_bad_row(). If the reader is lenient, this function counts the row;
 * otherwise it returns an error, and reading ends.
 */

#include "traces/core/reader.h"

#include "base/containers.h"
#include "base/process.h"
#include "traces/core/fields.h"

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

/* ---- Input ----------------------------------------------------------------------------------------- */

/*
 * The decoder reads raw bytes into one buffer. The first block of raw bytes determines the compression. Decompressors
 * write directly into the memory of the caller. The flag `between` is true at the positions where compressed data may
 * end: before the first byte, and after each gzip member or zstd frame. A file may contain several members or frames.
 *
 * The input stores a window of the decoded file. Bytes [begin, end) of the window are decoded but not yet returned. If
 * they contain no complete line, they are moved to the beginning of the window, and the next block is decoded after
 * them. Each line is therefore contiguous, and memory is bounded by the maximum line length. A block fits into the
 * cache of the processor.
 */

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

/* ---- Input: detection of formats ------------------------------------------------------------------- */

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

/* ---- Input: reading -------------------------------------------------------------------------------- */

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

/* ---- Input: lines ---------------------------------------------------------------------------------- */

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

static struct hr_text next_line(struct hr_text *rest) {
  const char *newline = memchr(rest->at, '\n', rest->length);
  size_t length = newline ? (size_t)(newline - rest->at) : rest->length;
  struct hr_text line = {rest->at, length};
  size_t taken = newline ? length + 1 : length;
  *rest = (struct hr_text){rest->at + taken, rest->length - taken};
  return hr__text_trim(line, " \t\r");
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

/* Returns true if the text has a quote, a carriage return, or a line end that is followed by a byte up to ' ', which is
   the case if the next line is empty or begins with white space. The byte after the text is examined, too. The loop has
   no branches, so that the compiler vectorizes it. */
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

/* ---- Input: whole files ---------------------------------------------------------------------------- */

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

/* ---- Picks ----------------------------------------------------------------------------------------- */

enum { MAX_WORDS = 5, WORD_BYTES = 40, MAX_SUBJECT = 4096 };

struct pick {
  const struct hr_column_name *entry;
  regex_t pattern; /* only of rules */
  uint32_t column;
  uint8_t class_; /* of a rule for classes: the class that it sets */
  struct hr_text text;
  uint64_t n_used;
};

struct hr__picks {
  size_t count;
  bool has_row;
  uint64_t n_no_class;              /* jobs with a word that is not a class */
  const char *class_column;         /* the column that contains these words */
  char word[MAX_WORDS][WORD_BYTES]; /* the first distinct words that are not classes */
  size_t n_words;
  struct pick pick[];
};

static bool read_class(struct hr_text text, uint8_t *class_) {
  struct hr__value_reader reader = {0};
  return hr__value_read(&reader, HR__CLASS, 1, text, class_) == NULL;
}

static bool init(struct pick *pick, const struct hr_column_name *entry) {
  *pick = (struct pick){.entry = entry, .column = HR_NONE};
  if (!entry->pattern) return true;
  if (strcmp(entry->field, "class") == 0) (void)read_class(hr__text_make(entry->value), &pick->class_);
  return regcomp(&pick->pattern, entry->pattern, REG_EXTENDED | REG_NOSUB) == 0;
}

enum hr_status hr__picks_create(const struct hr_column_map *map, bool rules_only, struct hr__picks **picks) {
  *picks = NULL;
  size_t count = 0;
  for (size_t i = 0; map && i < map->count; i++) count += map->entry[i].pattern || !rules_only;
  if (!count) return HR_OK;
  struct hr__picks *made = calloc(1, sizeof *made + count * sizeof *made->pick);
  if (!made) return HR_NO_MEMORY;
  for (size_t i = 0; i < map->count; i++) {
    if (!map->entry[i].pattern && rules_only) continue;
    if (!init(&made->pick[made->count], &map->entry[i])) { /* the pattern was checked, so memory is exhausted */
      hr__picks_destroy(made);
      return HR_NO_MEMORY;
    }
    made->count++;
  }
  *picks = made;
  return HR_OK;
}

void hr__picks_destroy(struct hr__picks *picks) {
  for (size_t i = 0; picks && i < picks->count; i++)
    if (picks->pick[i].entry->pattern) regfree(&picks->pick[i].pattern);
  free(picks);
}

/* ---- Columns --------------------------------------------------------------------------------------- */

size_t hr__picks_count(const struct hr__picks *picks) {
  return picks ? picks->count : 0;
}

const char *hr__picks_column(const struct hr__picks *picks, size_t pick) {
  return picks->pick[pick].entry->column;
}

void hr__picks_bind(struct hr__picks *picks, size_t pick, uint32_t column) {
  picks->pick[pick].column = column;
}

uint32_t hr__picks_bound(const struct hr__picks *picks, size_t pick) {
  return picks->pick[pick].column;
}

bool hr__picks_use(const struct hr__picks *picks, uint32_t column) {
  for (size_t i = 0; picks && i < picks->count; i++)
    if (picks->pick[i].column == column) return true;
  return false;
}

/* ---- Rows ------------------------------------------------------------------------------------------ */

void hr__picks_set(struct hr__picks *picks, size_t pick, struct hr_text text) {
  picks->pick[pick].text = text;
  picks->has_row = true;
}

void hr__picks_end_row(struct hr__picks *picks) {
  if (picks) picks->has_row = false;
}

/* Returns true if the text of a rule matches its pattern. Only the first MAX_SUBJECT bytes of the text are used. */
static bool matches(const struct pick *pick) {
  char subject[MAX_SUBJECT + 1];
  size_t length = pick->text.length < MAX_SUBJECT ? pick->text.length : MAX_SUBJECT;
  if (length) memcpy(subject, pick->text.at, length);
  subject[length] = '\0';
  return regexec(&pick->pattern, subject, 0, NULL, 0) == 0;
}

/* Counts a word that is not a class. Stores it for the note unless MAX_WORDS distinct words are already stored. */
static void count_word(struct hr__picks *picks, const struct pick *pick) {
  char word[WORD_BYTES];
  picks->n_no_class++;
  picks->class_column = pick->entry->column;
  if (picks->n_words == MAX_WORDS) return;
  snprintf(word, sizeof word, "%.*s", (int)(pick->text.length < WORD_BYTES ? pick->text.length : WORD_BYTES - 1),
           pick->text.at);
  for (size_t i = 0; i < picks->n_words; i++)
    if (strcmp(picks->word[i], word) == 0) return;
  memcpy(picks->word[picks->n_words++], word, sizeof word);
}

/* Returns the first rule for the field that matches; NULL if no rule matches. */
static struct pick *find_rule(struct hr__picks *picks, const char *field) {
  for (size_t i = 0; i < picks->count; i++) {
    struct pick *pick = &picks->pick[i];
    if (!pick->entry->pattern || strcmp(pick->entry->field, field) != 0 || !matches(pick)) continue;
    pick->n_used++;
    return pick;
  }
  return NULL;
}

static const struct pick *find_column(const struct hr__picks *picks, const char *field) {
  for (size_t i = 0; i < picks->count; i++) {
    const struct pick *pick = &picks->pick[i];
    if (!pick->entry->pattern && strcmp(pick->entry->field, field) == 0 && pick->text.length) return pick;
  }
  return NULL;
}

static void apply_text(const struct hr__picks *picks, const char *field, struct hr_text *member) {
  const struct pick *pick = find_column(picks, field);
  if (pick) *member = pick->text;
}

void hr__picks_apply(struct hr__picks *picks, struct hr_job_record *job) {
  if (!picks || !picks->has_row) return;
  apply_text(picks, "user", &job->user);
  apply_text(picks, "model", &job->model);
  apply_text(picks, "tenant", &job->tenant);
  apply_text(picks, "queue", &job->queue);
  const struct pick *rule = find_rule(picks, "tenant");
  if (rule) job->tenant = hr__text_make(rule->entry->value);
  rule = find_rule(picks, "class");
  const struct pick *column = rule ? NULL : find_column(picks, "class");
  if (rule) job->class_ = rule->class_;
  if (column && !read_class(column->text, &job->class_)) count_word(picks, column);
}

/* ---- Notes ----------------------------------------------------------------------------------------- */

static enum hr_status note_words(const struct hr__picks *picks, struct hr_notes *notes) {
  char words[MAX_WORDS * (WORD_BYTES + 4)] = "";
  size_t used = 0;
  for (size_t i = 0; i < picks->n_words; i++)
    used += (size_t)snprintf(words + used, sizeof words - used, "%s'%s'", i ? ", " : "", picks->word[i]);
  return hr_notes_add(notes,
                      "%llu job%s a '%.60s' that is not a class and get%s no class from it: %s%s; name the class with "
                      "--class, e.g. --class 'training=%.60s~^%s$'",
                      (unsigned long long)picks->n_no_class, picks->n_no_class == 1 ? " has" : "s have",
                      picks->class_column, picks->n_no_class == 1 ? "s" : "", words,
                      picks->n_words == MAX_WORDS ? ", ..." : "", picks->class_column, picks->word[0]);
}

enum hr_status hr__picks_notes(const struct hr__picks *picks, struct hr_notes *notes) {
  if (!picks) return HR_OK;
  enum hr_status status = picks->n_no_class ? note_words(picks, notes) : HR_OK;
  for (size_t i = 0; i < picks->count && status == HR_OK; i++) {
    const struct hr_column_name *rule = picks->pick[i].entry;
    if (!rule->pattern || picks->pick[i].n_used) continue;
    status =
        hr_notes_add(notes, "%s '%.60s=%.60s~%.100s': no job matches, or an earlier pattern applies to all that do",
                     rule->field, rule->value, rule->column, rule->pattern);
  }
  return status;
}

/* ---- Readers --------------------------------------------------------------------------------------- */

static enum hr_status skip_row(struct hr__reader *reader, const struct hr__row_fault *row) {
  char reason[2 * HR__QUOTE_BYTES];
  if (!row->column)
    snprintf(reason, sizeof reason, "%s", row->fault);
  else
    snprintf(reason, sizeof reason, "%s '%s': %s", row->item ? "member" : "column", row->column, row->fault);
  return hr__reader_noted(reader, hr_trace_builder_skip(reader->builder, reason, row->line));
}

enum hr_status hr__reader_bad_row(struct hr__reader *reader, const struct hr__row_fault *row) {
  if (reader->lenient) return skip_row(reader, row);
  unsigned long long line = row->line;
  const char *item = row->item ? row->item : "", *after = row->item ? ": " : "";
  if (!row->column)
    return hr_fail(reader->error, HR_BAD_INPUT, "%s:%llu: %s%s%s%s%s", reader->path, line, item, after, row->fault,
                   row->detail ? ": " : "", row->detail ? row->detail : "");
  const char *before = row->item ? "." : "column '", *closing = row->item ? "" : "'";
  char quoted[HR__QUOTE_BYTES];
  if (!row->value.length)
    return hr_fail(reader->error, HR_BAD_INPUT, "%s:%llu: %s%s%s%s is %s", reader->path, line, item, before,
                   row->column, closing, row->fault);
  return hr_fail(reader->error, HR_BAD_INPUT, "%s:%llu: %s%s%s%s: '%s' is %s", reader->path, line, item, before,
                 row->column, closing, hr__quote(row->value, quoted), row->fault);
}

enum hr_status hr__reader_note_counts(const struct hr__reader *reader, const struct hr__count_note *notes,
                                      size_t n_notes) {
  for (const struct hr__count_note *note = notes; note < notes + n_notes; note++) {
    if (!note->count) continue;
    enum hr_status status = hr_notes_add(reader->notes, "%llu %s%s", (unsigned long long)note->count,
                                         hr__counted(note->count, note->one, note->many), note->rest ? note->rest : "");
    if (status != HR_OK) return hr__reader_no_memory(reader);
  }
  return HR_OK;
}

/* ---- MIG profiles as GPU types --------------------------------------------------------------------- */

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static size_t digits_from(struct hr_text text, size_t at) {
  size_t end = at;
  while (end < text.length && is_digit(text.at[end])) end++;
  return end;
}

static bool has_at(struct hr_text text, size_t at, const char *word) {
  size_t length = strlen(word);
  return at + length <= text.length && strncasecmp(text.at + at, word, length) == 0;
}

/* Returns true if the text from index `at` on is a profile such as "1g.10gb" or "1g.10gb+me". */
static bool is_profile(struct hr_text text, size_t at) {
  size_t slices = digits_from(text, at);
  if (slices == at || !has_at(text, slices, "g.")) return false;
  size_t memory = digits_from(text, slices + 2);
  if (memory == slices + 2 || !has_at(text, memory, "gb")) return false;
  size_t end = memory + 2;
  return end == text.length || (text.at[end] == '+' && end + 1 < text.length) || has_at(text, end, ".me");
}

static void cut_end(struct hr_text *text, const char *word) {
  size_t length = strlen(word);
  if (text->length >= length && has_at(*text, text->length - length, word)) text->length -= length;
}

bool hr__split_mig_type(struct hr_text name, struct hr_text *type, struct hr_text *profile) {
  size_t at = name.length;
  if (!name.length || !memchr(name.at, '.', name.length) || memchr(name.at, '|', name.length)) return false;
  for (size_t i = 0; i < name.length && at == name.length; i++) {
    bool begins = i == 0 || strchr("_-:/", name.at[i - 1]);
    if (begins && is_digit(name.at[i]) && is_profile(name, i)) at = i;
  }
  if (at == name.length) return false;
  *profile = (struct hr_text){name.at + at, name.length - at};
  *type = (struct hr_text){name.at, at};
  if (type->length) type->length--;
  cut_end(type, "mig");
  cut_end(type, "nvidia.com/");
  if (type->length && strchr("_-:/", type->at[type->length - 1])) type->length--;
  return true;
}

enum hr_status hr__reader_add(struct hr__reader *reader, const struct hr_job_record *job, uint64_t line) {
  struct hr_job_record copy;
  struct hr_text type, profile;
  if (reader->picks) {
    copy = *job;
    hr__picks_apply(reader->picks, &copy);
    job = &copy;
  }
  const char *fault = hr_job_record_fault(job);
  if (job->gpu_types.length && hr__split_mig_type(job->gpu_types, &type, &profile)) {
    copy = *job;
    copy.gpu_types = type;
    if (!copy.mig_profile.length) copy.mig_profile = profile;
    job = &copy;
    reader->n_mig_types++;
  }
  if (fault) return hr__reader_bad_job(reader, line, fault);
  if (reader->drop_failed && job->outcome == HR_OUTCOME_FAILED)
    return hr__reader_leave_out(reader, HR__HAD_FAILED, line);
  reader->n_elastic += (job->min_gpus != HR_NONE && job->min_gpus < job->gpus) ||
                       (job->max_gpus != HR_NONE && job->max_gpus > job->gpus);
  reader->n_fractions += job->gpu_milli < 1000 && job->gpus > 0;
  return hr__builder_append(reader->builder, job, line, reader->error);
}

/* ---- Parameters of formats ------------------------------------------------------------------------- */

enum { MAX_PARAMS = 8 };

static enum hr_status unknown_key(const struct hr__reader *reader, const char *format, struct hr_text key,
                                  const struct hr__reader_param *params, size_t n_params) {
  const char *words[MAX_PARAMS + 1];
  char quoted[HR__QUOTE_BYTES];
  for (size_t i = 0; i < n_params; i++) words[i] = params[i].key;
  words[n_params] = NULL;
  const char *nearest = hr_nearest_word(hr__quote(key, quoted), words);
  return hr_fail(reader->error, HR_BAD_INPUT, "trace format '%s' has no parameter '%s'; did you mean '%s'?", format,
                 quoted, nearest ? nearest : params[0].key);
}

static enum hr_status set(const struct hr__reader *reader, const char *format, const struct hr__reader_param *param,
                          struct hr_text value) {
  uint64_t number = 0;
  const struct hr__number_rule rule = {1, INT64_MAX, true};
  if (!param->number && value.length) {
    *param->text = value;
    return HR_OK;
  }
  if (param->number && hr__number_parse(value, &rule, &number) == HR__NUMBER_FINE && number >= param->min &&
      number <= param->max) {
    *param->number = number;
    return HR_OK;
  }
  char quoted[HR__QUOTE_BYTES];
  if (!param->number)
    return hr_fail(reader->error, HR_BAD_INPUT, "trace format '%s': '%s' is empty", format, param->key);
  return hr_fail(reader->error, HR_BAD_INPUT, "trace format '%s': '%s' is '%s', not a whole number from %llu to %llu",
                 format, param->key, hr__quote(value, quoted), (unsigned long long)param->min,
                 (unsigned long long)param->max);
}

enum hr_status hr__reader_params(const struct hr__reader *reader, const char *format,
                                 const struct hr__reader_param *params, size_t n_params) {
  struct hr_text rest = {reader->params, reader->params ? strlen(reader->params) : 0};
  bool seen[MAX_PARAMS] = {false};
  while (rest.length) {
    struct hr_text value = hr__text_take(&rest, ','), key = hr__text_take(&value, '=');
    size_t i = 0;
    while (i < n_params && !hr__text_is(key, params[i].key)) i++;
    if (i == n_params) return unknown_key(reader, format, key, params, n_params);
    if (seen[i])
      return hr_fail(reader->error, HR_BAD_INPUT, "trace format '%s': '%s' is set twice", format, params[i].key);
    seen[i] = true;
    enum hr_status status = set(reader, format, &params[i], value);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}
