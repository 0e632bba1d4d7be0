/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Splits a CSV file into rows and fields with libcsv, block by block.
 *
 * Error messages name the first line of a row. A quoted field may contain line ends, and blank lines are not rows, so
 * libcsv gets the text line by line. Of plain rows (hr__input_plain_lines()), each line is a row, and libcsv gets all
 * that follow each other in memory in one call.
 *
 * Blocks form a ring. The caller fills the first block. If the file is longer, a second thread fills the other blocks,
 * because splitting a large file takes as long as parsing its fields. If the thread cannot be created, the caller
 * fills all blocks. The result is the same in both cases.
 *
 * Invariant: blocks n_done .. n_made - 1 are filled and not yet released. While the thread runs, a lock protects the
 * ring and both counters.
 */

#include "traces/csv/csv.h"

#include "base/containers.h"

#include <csv.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { N_BLOCKS = 4, ENOUGH_BYTES = 1 << 16, ENOUGH_FIELDS = 1 << 14 };

struct hr__csv_blocks {
  /* State of the producer, which fills blocks: the thread, or the caller without a thread. */
  const char *path;
  struct hr__input *input;
  struct csv_parser parser;
  struct hr__csv_block *making;
  char *first; /* the line that was read before the blocks were opened; NULL: none, or done */
  size_t first_length;
  uint64_t row_line;    /* first line of the current row */
  size_t row_bytes;     /* bytes of the row so far; 0 between rows */
  uint32_t first_field; /* index of the first field of the row in its block */
  bool row_ended;       /* the row ended at the end of the current line */
  bool any_row;

  /* Shared state. A lock protects it while the thread runs. */
  struct hr__csv_block ring[N_BLOCKS];
  size_t n_made, n_done; /* blocks filled and blocks released so far */
  bool stop;
  pthread_mutex_t lock;
  pthread_cond_t created, done;

  /* State of the caller, which uses the blocks. */
  pthread_t thread;
  bool threaded;
  bool in_use; /* the caller is using block n_done */
};

static enum hr_status out_of_memory(const struct hr__csv_blocks *blocks, struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", blocks->path);
}

/* ---- Fields and rows -------------------------------------------------------------------------------- */

/* A callback of libcsv cannot stop the parser. If memory runs out, the callbacks below therefore set the status of the
   block, and do nothing unless the status is HR_OK. */

static void on_field(void *at, size_t length, void *data) {
  struct hr__csv_blocks *blocks = data;
  struct hr__csv_block *block = blocks->making;
  if (block->status != HR_OK) return;
  size_t end = block->n_bytes + length, field = block->n_fields;
  if (!HR__ARRAY_HAS_ROOM_FOR(block->bytes, end, block->bytes_capacity) ||
      !HR__ARRAY_HAS_ROOM_FOR(block->bound, field + 2, block->bounds_capacity)) {
    block->status = HR_NO_MEMORY;
    return;
  }
  if (length) memcpy(block->bytes + block->n_bytes, at, length);
  block->bound[field] = (uint32_t)block->n_bytes;
  block->bound[field + 1] = (uint32_t)end;
  block->n_bytes = end;
  block->n_fields = field + 1;
}

/* Called by libcsv at the end of each row. `terminator` is the character that ended the row, or -1 at the end of the
   file. */
static void on_row_end(int terminator, void *data) {
  struct hr__csv_blocks *blocks = data;
  struct hr__csv_block *block = blocks->making;
  if (block->status != HR_OK) return;
  if (!HR__ARRAY_HAS_ROOM(block->rows, block->n_rows, block->rows_capacity)) {
    block->status = HR_NO_MEMORY;
    return;
  }
  block->rows[block->n_rows++] = (struct hr__csv_row){.line = blocks->row_line,
                                                      .first_field = blocks->first_field,
                                                      .n_fields = (uint32_t)block->n_fields - blocks->first_field,
                                                      .cut_off = terminator < 0};
  blocks->first_field = (uint32_t)block->n_fields;
  blocks->row_ended = true;
  blocks->any_row = true;
  /* The line of the next row, if libcsv gets this row in the same call. That is the case for plain rows, and for rows
     that end with a single CR. Otherwise feed_line() sets the line. */
  blocks->row_line++;
}

/* ---- Lines ------------------------------------------------------------------------------------------ */

static bool is_blank(struct hr_text line) {
  for (size_t i = 0; i < line.length; i++)
    if (line.at[i] != '\n' && line.at[i] != '\r' && line.at[i] != ' ' && line.at[i] != '\t') return false;
  return true;
}

static bool is_skipped(const struct hr__csv_blocks *blocks, struct hr_text line) {
  if (blocks->row_bytes) return false;
  return is_blank(line) || (!blocks->any_row && line.at[0] == '#');
}

static enum hr_status parser_failed(struct hr__csv_blocks *blocks, struct hr_error *error) {
  unsigned long long line = blocks->row_line;
  if (csv_error(&blocks->parser) == CSV_ENOMEM) return out_of_memory(blocks, error);
  if (csv_error(&blocks->parser) != CSV_EPARSE)
    return hr_fail(error, HR_BAD_INPUT, "%s:%llu: %s", blocks->path, line, csv_strerror(csv_error(&blocks->parser)));
  return hr_fail(error, HR_BAD_INPUT,
                 "%s:%llu: unexpected quote (\") inside a field of the row that begins here; quote the whole field and "
                 "double its quotes",
                 blocks->path, line);
}

static enum hr_status parse(struct hr__csv_blocks *blocks, struct hr_text text, struct hr_error *error) {
  if (csv_parse(&blocks->parser, text.at, text.length, on_field, on_row_end, blocks) != text.length)
    return parser_failed(blocks, error);
  return blocks->making->status == HR_OK ? HR_OK : out_of_memory(blocks, error);
}

static enum hr_status feed_line(struct hr__csv_blocks *blocks, struct hr_text line, struct hr_error *error) {
  if (is_skipped(blocks, line)) return HR_OK;
  if (!blocks->row_bytes) blocks->row_line = hr__input_line_number(blocks->input);
  if (blocks->row_bytes + line.length > HR__LONGEST_LINE)
    return hr_fail(error, HR_BAD_INPUT,
                   "%s:%llu: the row that begins here is longer than 1 MiB; is a quote (\") never closed?",
                   blocks->path, (unsigned long long)blocks->row_line);
  blocks->row_ended = false;
  enum hr_status status = parse(blocks, line, error);
  blocks->row_bytes = blocks->row_ended ? 0 : blocks->row_bytes + line.length;
  return status;
}

/* Passes plain rows to libcsv in one call. on_row_end() increments the line number after each row. */
static enum hr_status feed_plain_lines(struct hr__csv_blocks *blocks, struct hr_error *error) {
  if (!blocks->any_row || blocks->row_bytes) return HR_OK;
  uint64_t first = hr__input_line_number(blocks->input) + 1;
  struct hr_text lines = hr__input_plain_lines(blocks->input);
  if (!lines.length) return HR_OK;
  blocks->row_line = first;
  return parse(blocks, lines, error);
}

static enum hr_status end_of_file(struct hr__csv_blocks *blocks, struct hr_error *error) {
  blocks->making->last = true;
  if (csv_fini(&blocks->parser, on_field, on_row_end, blocks) == 0)
    return blocks->making->status == HR_OK ? HR_OK : out_of_memory(blocks, error);
  if (csv_error(&blocks->parser) != CSV_EPARSE) return parser_failed(blocks, error);
  return hr_fail(error, HR_BAD_INPUT, "%s:%llu: a quote (\") that opens in this row is never closed", blocks->path,
                 (unsigned long long)blocks->row_line);
}

static enum hr_status feed_first(struct hr__csv_blocks *blocks, struct hr_error *error) {
  const enum hr_status status = feed_line(blocks, (struct hr_text){blocks->first, blocks->first_length}, error);
  free(blocks->first);
  blocks->first = NULL;
  return status;
}

static enum hr_status feed(struct hr__csv_blocks *blocks, struct hr_error *error) {
  struct hr_text line;
  if (blocks->first) return feed_first(blocks, error);
  enum hr_status status = feed_plain_lines(blocks, error);
  if (status == HR_OK) status = hr__input_line(blocks->input, &line, error);
  if (status != HR_OK) return status;
  return line.at ? feed_line(blocks, line, error) : end_of_file(blocks, error);
}

/* Returns true if the block is large enough and no row is incomplete. All fields of a row must be in one block. */
static bool has_enough(const struct hr__csv_blocks *blocks) {
  const struct hr__csv_block *block = blocks->making;
  return !blocks->row_bytes && (block->n_bytes >= ENOUGH_BYTES || block->n_fields >= ENOUGH_FIELDS);
}

static struct hr__csv_block *make_block(struct hr__csv_blocks *blocks) {
  struct hr__csv_block *block = &blocks->ring[blocks->n_made % N_BLOCKS];
  block->n_rows = block->n_fields = block->n_bytes = 0;
  blocks->making = block;
  blocks->first_field = 0;
  while (block->status == HR_OK && !block->last && !has_enough(blocks)) block->status = feed(blocks, &block->error);
  if (block->status != HR_OK) block->last = true;
  return block;
}

/* ---- The ring --------------------------------------------------------------------------------------- */

/* Makes the current block available to the caller and begins the next block. Waits until the ring has a free block.
   Returns false if the caller has closed the blocks. */
static bool publish_block(struct hr__csv_blocks *blocks, bool last) {
  pthread_mutex_lock(&blocks->lock);
  blocks->n_made++;
  pthread_cond_signal(&blocks->created);
  while (!last && !blocks->stop && blocks->n_made - blocks->n_done == N_BLOCKS)
    pthread_cond_wait(&blocks->done, &blocks->lock);
  bool more = !last && !blocks->stop;
  pthread_mutex_unlock(&blocks->lock);
  return more;
}

static void *make_blocks(void *data) {
  struct hr__csv_blocks *blocks = data;
  while (publish_block(blocks, make_block(blocks)->last)) continue;
  return NULL;
}

static void release_block(struct hr__csv_blocks *blocks) {
  if (blocks->threaded) pthread_mutex_lock(&blocks->lock);
  blocks->n_done++;
  if (!blocks->threaded) return;
  pthread_cond_signal(&blocks->done);
  pthread_mutex_unlock(&blocks->lock);
}

static void wait_for_block(struct hr__csv_blocks *blocks) {
  pthread_mutex_lock(&blocks->lock);
  while (blocks->n_made == blocks->n_done) pthread_cond_wait(&blocks->created, &blocks->lock);
  pthread_mutex_unlock(&blocks->lock);
}

enum hr_status hr__csv_blocks_next(struct hr__csv_blocks *blocks, const struct hr__csv_block **block,
                                   struct hr_error *error) {
  *block = NULL;
  if (blocks->in_use) {
    const struct hr__csv_block *before = &blocks->ring[blocks->n_done % N_BLOCKS];
    if (before->last) {
      if (before->status != HR_OK && error) *error = before->error;
      return before->status;
    }
    release_block(blocks);
    if (blocks->n_done == 1) blocks->threaded = pthread_create(&blocks->thread, NULL, make_blocks, blocks) == 0;
  }
  if (blocks->threaded) {
    wait_for_block(blocks);
  } else {
    make_block(blocks);
    blocks->n_made++;
  }
  blocks->in_use = true;
  *block = &blocks->ring[blocks->n_done % N_BLOCKS];
  return HR_OK;
}

struct hr__csv_blocks *hr__csv_blocks_open(struct hr__input *input, const char *path, char separator, bool unquoted) {
  struct hr__csv_blocks *blocks = calloc(1, sizeof *blocks);
  if (!blocks) return NULL;
  if (csv_init(&blocks->parser, CSV_STRICT | CSV_STRICT_FINI) != 0) {
    free(blocks);
    return NULL;
  }
  csv_set_delim(&blocks->parser, (unsigned char)separator);
  if (unquoted) csv_set_quote(&blocks->parser, '\0'); /* disables quotes, because NUL does not occur in text */
  pthread_mutex_init(&blocks->lock, NULL);
  pthread_cond_init(&blocks->created, NULL);
  pthread_cond_init(&blocks->done, NULL);
  blocks->input = input;
  blocks->path = path;
  return blocks;
}

struct hr__csv_blocks *hr__csv_blocks_resume(struct hr__input *input, const char *path, struct hr_text line) {
  struct hr__csv_blocks *blocks = hr__csv_blocks_open(input, path, ',', false);
  if (!blocks) return NULL;
  blocks->any_row = true;
  blocks->first_length = line.length;
  blocks->first = malloc(line.length + 1);
  if (blocks->first) {
    memcpy(blocks->first, line.at, line.length);
    return blocks;
  }
  hr__csv_blocks_close(blocks);
  return NULL;
}

static void stop_thread(struct hr__csv_blocks *blocks) {
  pthread_mutex_lock(&blocks->lock);
  blocks->stop = true;
  pthread_cond_signal(&blocks->done);
  pthread_mutex_unlock(&blocks->lock);
  pthread_join(blocks->thread, NULL);
}

void hr__csv_blocks_close(struct hr__csv_blocks *blocks) {
  if (!blocks) return;
  if (blocks->threaded) stop_thread(blocks);
  for (size_t i = 0; i < N_BLOCKS; i++) {
    free(blocks->ring[i].rows);
    free(blocks->ring[i].bound);
    free(blocks->ring[i].bytes);
  }
  free(blocks->first);
  csv_free(&blocks->parser);
  pthread_cond_destroy(&blocks->done);
  pthread_cond_destroy(&blocks->created);
  pthread_mutex_destroy(&blocks->lock);
  free(blocks);
}
