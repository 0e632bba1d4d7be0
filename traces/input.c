/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A window slides over the file: [begin, end) is what was read and not taken. When it holds no whole line, the
 * rest moves to the front and a block is read behind it, so a line is always in one piece and memory is bounded
 * by the longest line that is allowed. Blocks are small enough to stay in the processor's cache.
 */

#include "traces/input.h"

#include "traces/decode.h"
#include "traces/packed.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 1 << 17 };

struct hr__input {
  const char *path;
  struct hr__decoder *decoder;
  size_t begin, end;
  uint64_t line;
  bool ended;
  char window[HR__LONGEST_LINE + BLOCK_BYTES];
};

static uint64_t count_lines(const char *at, size_t length) {
  uint64_t count = 0;
  for (size_t i = 0; i < length; i++) count += at[i] == '\n';
  return count;
}

/* NUL stands in no text and in nearly every binary file. */
static enum hr_status refuse_binary(const struct hr__input *input, size_t from, struct hr_error *error) {
  const char *nul = memchr(input->window + from, '\0', input->end - from);
  if (!nul) return HR_OK;
  uint64_t line =
      input->line + 1 + count_lines(input->window + input->begin, (size_t)(nul - input->window) - input->begin);
  return hr_fail(error, HR_BAD_INPUT, "%s:%llu: is not text (a NUL byte stands here): a binary file?", input->path,
                 (unsigned long long)line);
}

static enum hr_status refuse_packed(const struct hr__input *input, struct hr_error *error) {
  if (input->end < HR__PACKED_MAGIC_BYTES || memcmp(input->window, HR__PACKED_MAGIC, HR__PACKED_MAGIC_BYTES) != 0)
    return HR_OK;
  return hr_fail(error, HR_BAD_INPUT,
                 "%s: is a packed trace, which is read as a trace from a plain file only: neither compressed nor "
                 "through a pipe",
                 input->path);
}

static enum hr_status refill(struct hr__input *input, struct hr_error *error) {
  size_t kept = input->end - input->begin, got;
  memmove(input->window, input->window + input->begin, kept);
  input->begin = 0;
  input->end = kept;
  enum hr_status status = hr__decoder_read(input->decoder, input->window + kept, BLOCK_BYTES, &got, error);
  if (status != HR_OK) return status;
  input->end += got;
  input->ended = got < BLOCK_BYTES;
  if (input->line == 0 && kept == 0) status = refuse_packed(input, error);
  return status != HR_OK ? status : refuse_binary(input, kept, error);
}

enum hr_status hr__input_open(const char *path, struct hr__input **input, struct hr_error *error) {
  *input = NULL;
  struct hr__input *made = malloc(sizeof *made);
  if (!made) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  made->path = path;
  made->begin = made->end = 0;
  made->line = 0;
  made->ended = false;
  enum hr_status status = hr__decoder_open(path, &made->decoder, error);
  if (status == HR_OK) status = refill(made, error);
  if (status == HR_OK && made->end == 0) status = hr_fail(error, HR_BAD_INPUT, "%s: the file is empty", path);
  if (status != HR_OK) {
    hr__input_close(made);
    return status;
  }
  if (made->end >= 3 && memcmp(made->window, "\xEF\xBB\xBF", 3) == 0) made->begin = 3; /* byte order mark */
  *input = made;
  return HR_OK;
}

void hr__input_close(struct hr__input *input) {
  if (!input) return;
  hr__decoder_close(input->decoder);
  free(input);
}

struct hr_text hr__input_peek(const struct hr__input *input) {
  return (struct hr_text){input->window + input->begin, input->end - input->begin};
}

static enum hr_status take_line(struct hr__input *input, size_t length, struct hr_text *line, struct hr_error *error) {
  input->line++;
  if (length > HR__LONGEST_LINE)
    return hr_fail(error, HR_BAD_INPUT, "%s:%llu: line %llu is longer than 1 MiB; each job is one line of text",
                   input->path, (unsigned long long)input->line, (unsigned long long)input->line);
  *line = (struct hr_text){input->window + input->begin, length};
  input->begin += length;
  return HR_OK;
}

enum hr_status hr__input_line(struct hr__input *input, struct hr_text *line, struct hr_error *error) {
  size_t searched = 0;
  for (;;) {
    const char *at = input->window + input->begin;
    size_t there = input->end - input->begin;
    const char *newline = memchr(at + searched, '\n', there - searched);
    if (newline) return take_line(input, (size_t)(newline - at) + 1, line, error);
    if (there > HR__LONGEST_LINE || (input->ended && there)) return take_line(input, there, line, error);
    if (input->ended) {
      *line = (struct hr_text){NULL, 0};
      return HR_OK;
    }
    searched = there;
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

/* Written so that the compiler works on many bytes at once. */
static bool has_blank_beginnings(const char *at, size_t length) {
  unsigned found = 0;
  for (size_t i = 0; i + 1 < length; i++)
    found |= (unsigned)(at[i] == '\n') & (unsigned)((unsigned char)at[i + 1] <= ' ');
  return found || (unsigned char)at[0] <= ' ';
}

struct hr_text hr__input_plain_lines(struct hr__input *input) {
  const char *at = input->window + input->begin;
  size_t length = input->end - input->begin;
  while (length > 0 && at[length - 1] != '\n') length--;
  if (length == 0 || memchr(at, '"', length) || memchr(at, '\r', length) || has_blank_beginnings(at, length))
    return (struct hr_text){NULL, 0};
  input->line += count_lines(at, length);
  input->begin += length;
  return (struct hr_text){at, length};
}

uint64_t hr__input_line_number(const struct hr__input *input) {
  return input->line;
}
