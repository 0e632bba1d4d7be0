/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads CSV files: splits a file into rows and fields with libcsv, block by block, and stores the rows in structs.
 *
 * Error messages contain the number of the first line of a row. A quoted field may contain line ends, and blank lines
 * are not rows, so libcsv parses the text line by line. Plain rows (hr__input_plain_lines()) are an exception: each
 * line is a row, so libcsv parses all consecutive plain rows in memory in one call.
 *
 * Blocks form a ring. The caller fills the first block. If the file is longer, a second thread fills the other blocks,
 * because splitting a large file takes as long as parsing its fields. If the thread cannot be created, the caller fills
 * all blocks. The result is the same in both cases.
 *
 * Invariant: blocks n_done .. n_made - 1 are filled and not yet released. While the thread runs, a lock protects the
 * ring and both counters.
 */

#include "traces/csv/csv.h"

#include "base/containers.h"
#include "base/process.h"
#include "traces/core/fields.h"
#include "traces/core/reader.h"

#include <csv.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { N_BLOCKS = 4, ENOUGH_BYTES = 1 << 16, ENOUGH_FIELDS = 1 << 14 };

struct hr__csv_blocks {
  /* State of the producer, which fills blocks: the thread, or the caller without a thread. */
  const char *path;
  struct hr__input *input;
  struct csv_parser parser;
  struct hr__csv_block *making;
  char *first; /* the line that was read before the blocks were opened; NULL: no such line, or already parsed */
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

/* ---- Blocks: fields and rows ----------------------------------------------------------------------- */

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
  /* Sets the line of the next row. It is correct if libcsv parses the next row in the same call, which is the case for
     plain rows and for rows that end with a single CR. Otherwise feed_line() sets the line again. */
  blocks->row_line++;
}

/* ---- Blocks: lines --------------------------------------------------------------------------------- */

static bool is_skipped(const struct hr__csv_blocks *blocks, struct hr_text line) {
  if (blocks->row_bytes) return false;
  return !hr__text_trim(line, " \t\r\n").length || (!blocks->any_row && line.at[0] == '#');
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

static enum hr_status feed_next(struct hr__csv_blocks *blocks, struct hr_error *error) {
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
  while (block->status == HR_OK && !block->last && !has_enough(blocks))
    block->status = feed_next(blocks, &block->error);
  if (block->status != HR_OK) block->last = true;
  return block;
}

/* ---- Blocks: the ring ------------------------------------------------------------------------------ */

/* Makes a filled block available to the caller. If it is not the last block, waits until the ring has a free block.
   Returns false if no other block is needed: the block is the last one, or the caller closes the blocks. */
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

/* Begins to split a file at the current position of `input`. The caller must not use `input` until the blocks are
   closed. `path` is for messages. Blank lines are skipped, and so are lines before the first row that begin with `#`.
   `separator` separates fields. If `unquoted` is set, quotes are ordinary characters. Returns NULL if out of memory. */
static struct hr__csv_blocks *csv_blocks_open(struct hr__input *input, const char *path, char separator,
                                              bool unquoted) {
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
  struct hr__csv_blocks *blocks = csv_blocks_open(input, path, ',', false);
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

/* ---- Rows ------------------------------------------------------------------------------------------ */

/*
 * Matches the header of a file with the columns of a schema, and stores field values in a row struct.
 *
 * The header is a table of column names. Each column of the file has a list of the schema columns that use it,
 * because several schema columns may use one column. Values are parsed directly from the block into members of the
 * row. Only texts are copied. The size of the text store is the length of the longest possible row, multiplied by the
 * maximum number of schema columns that use one column of the file. If a row has a wrong number of fields, only this
 * error is reported, because it probably caused the invalid values.
 */

enum { MAX_CSV_COLUMNS = 4096, MAX_SCHEMA_COLUMNS = 64 };

struct csv_header {
  uint32_t n; /* number of columns in the file */
  struct hr__name_table names;
  uint32_t column_of[MAX_CSV_COLUMNS]; /* by index of a column name in `names`: the index of that column in the file */
  uint8_t first_use[MAX_CSV_COLUMNS];  /* by column of the file: 1 + the first schema column that uses it; 0: none */
  /* by schema column: 1 + the next schema column that uses the same column of the file; 0: none */
  uint8_t next_use[MAX_SCHEMA_COLUMNS];
};

/* ---- Rows: messages -------------------------------------------------------------------------------- */

/* A message under construction. Text beyond its capacity is dropped. */
struct sentence {
  char text[700];
  size_t length;
};

static HR_PRINTF(2, 3) void append(struct sentence *sentence, const char *format, ...) {
  size_t space = sizeof sentence->text - sentence->length;
  va_list args;
  va_start(args, format);
  int length = vsnprintf(sentence->text + sentence->length, space, format, args);
  va_end(args);
  if (length > 0) sentence->length += (size_t)length < space ? (size_t)length : space - 1;
}

static const char *quoted_name(const char *name, char buffer[HR__QUOTE_BYTES]) {
  return hr__quote(hr__text_make(name), buffer);
}

/* ---- Rows: names ----------------------------------------------------------------------------------- */

static enum hr_status header_add(struct csv_header *header, struct hr__reader *reader, struct hr_text name,
                                 uint64_t line) {
  unsigned long long at = line;
  if (header->n == MAX_CSV_COLUMNS)
    return hr_fail(reader->error, HR_BAD_INPUT, "%s:%llu: the header has more than %d columns", reader->path, at,
                   MAX_CSV_COLUMNS);
  uint32_t known = header->names.count;
  uint32_t number = hr__names_intern(&header->names, name.length ? name.at : "", name.length);
  if (number == HR_NONE) return hr__reader_no_memory(reader);
  if (number < known && name.length) {
    char buffer[HR__QUOTE_BYTES];
    return hr_fail(reader->error, HR_BAD_INPUT, "%s:%llu: column '%s' is in the header twice", reader->path, at,
                   hr__quote(name, buffer));
  }
  header->column_of[number] = header->n++;
  return HR_OK;
}

/* Returns the length of a column name of a column map without its unit: 11 for "submit_time(us)". The name in the map
   matches the name "submit_time" in the file, too. */
static size_t length_without_unit(const char *name) {
  size_t length = strlen(name);
  const char *open = strrchr(name, '(');
  if (!open || name[length - 1] != ')') return length;
  while (open > name && open[-1] == ' ') open--;
  return (size_t)(open - name);
}

static bool equals_ignoring_case(const char *name, const char *target, size_t length) {
  return strlen(name) == length && strncasecmp(name, target, length) == 0;
}

/* Returns the index of the first column name of the file, from index `from` on, that equals the name of the schema
   column `target`, ignoring case. If the column can be mapped, its name without the unit counts, too. Returns HR_NONE
   if no name matches. */
static uint32_t find_ignoring_case(const struct csv_header *header, const struct hr__csv_column *target,
                                   uint32_t from) {
  size_t length = strlen(target->name), shorter = target->field ? length_without_unit(target->name) : length;
  for (uint32_t i = from; i < header->names.count; i++)
    if (equals_ignoring_case(header->names.text[i], target->name, length) ||
        equals_ignoring_case(header->names.text[i], target->name, shorter))
      return i;
  return HR_NONE;
}

static uint32_t find_exactly(const struct csv_header *header, const struct hr__csv_column *target) {
  uint32_t number = hr__names_find(&header->names, target->name, strlen(target->name));
  if (number == HR_NONE && target->field)
    number = hr__names_find(&header->names, target->name, length_without_unit(target->name));
  return number;
}

static uint32_t find_column(const struct csv_header *header, const struct hr__csv_column *target) {
  uint32_t number = find_exactly(header, target);
  if (number == HR_NONE) number = find_ignoring_case(header, target, 0);
  return number == HR_NONE ? HR_NONE : header->column_of[number];
}

/* Reports an ambiguous header: no column name of the file equals that of the schema column `target` exactly, but two
   column names equal it if case is ignored. */
static enum hr_status refuse_clash(const struct csv_header *header, const struct hr__reader *reader,
                                   const struct hr__csv_column *target, uint64_t line) {
  uint32_t first = find_exactly(header, target) == HR_NONE ? find_ignoring_case(header, target, 0) : HR_NONE;
  uint32_t second = first == HR_NONE ? HR_NONE : find_ignoring_case(header, target, first + 1);
  char a[HR__QUOTE_BYTES], b[HR__QUOTE_BYTES];
  if (second == HR_NONE || !header->names.text) return HR_OK;
  return hr_fail(reader->error, HR_BAD_INPUT, "%s:%llu: columns '%s' and '%s' both match '%s'%s%s%s%s%s", reader->path,
                 (unsigned long long)line, quoted_name(header->names.text[first], a),
                 quoted_name(header->names.text[second], b), target->name, target->field ? "; choose one with " : "",
                 target->field ? hr__phrase("--map") : "", target->field ? " " : "", target->field ? target->field : "",
                 target->field ? "=COLUMN" : "");
}

/* ---- Rows: missing columns ------------------------------------------------------------------------- */

/* Returns the unused column of the file with the most similar name, for "did you mean"; NULL if none is similar. */
static const char *nearest_unused(const struct csv_header *header, const char *name) {
  const char *words[MAX_CSV_COLUMNS + 1];
  size_t n = 0;
  for (uint32_t i = 0; i < header->names.count; i++)
    if (!header->first_use[header->column_of[i]]) words[n++] = header->names.text[i];
  words[n] = NULL;
  return hr_nearest_word(name, words);
}

static bool is_missing(const struct csv_header *header, const struct hr__csv_column *target) {
  return target->must_exist && find_column(header, target) == HR_NONE;
}

static void append_missing(struct sentence *sentence, const struct csv_header *header,
                           const struct hr__csv_schema *schema, size_t n_missing) {
  append(sentence, n_missing > 1 ? "missing columns" : "missing column");
  const char *separator = "";
  for (size_t i = 0; i < schema->n_columns; i++) {
    if (!is_missing(header, &schema->columns[i])) continue;
    append(sentence, "%s '%s'", separator, schema->columns[i].name);
    char buffer[HR__QUOTE_BYTES];
    const char *nearest = nearest_unused(header, schema->columns[i].name);
    if (nearest) append(sentence, " (did you mean '%s'?)", quoted_name(nearest, buffer));
    separator = ",";
  }
}

static void append_columns(struct sentence *sentence, const struct csv_header *header) {
  const size_t enough = 400;
  append(sentence, "; the file has: ");
  for (uint32_t i = 0; i < header->names.count; i++) {
    char buffer[HR__QUOTE_BYTES];
    append(sentence, "%s%s", i ? ", " : "", quoted_name(header->names.text[i], buffer));
    if (sentence->length < enough) continue;
    append(sentence, ", ...");
    break;
  }
}

static void append_remedy(struct sentence *sentence, const struct csv_header *header,
                          const struct hr__csv_schema *schema) {
  if (!schema->separator && header->n == 1 && strpbrk(header->names.text[0], ";\t")) {
    append(sentence, "; columns must be separated by commas, not by ';' or tabs");
    return;
  }
  if (schema->missing_hint) {
    append(sentence, "; %s", schema->missing_hint);
    return;
  }
  const char *map = hr__phrase("--map"), *before = " ";
  size_t n_named = 0;
  for (size_t i = 0; i < schema->n_columns; i++) {
    if (!is_missing(header, &schema->columns[i])) continue;
    if (n_named++ == 0) append(sentence, "; name the column with %s", map);
    append(sentence, "%s%s=COLUMN", before, schema->columns[i].field);
    before = ",";
  }
}

static enum hr_status missing_columns(const struct csv_header *header, const struct hr__reader *reader,
                                      const struct hr__csv_schema *schema, size_t n_missing, uint64_t line) {
  struct sentence sentence = {.length = 0};
  append_missing(&sentence, header, schema, n_missing);
  append_columns(&sentence, header);
  append_remedy(&sentence, header, schema);
  return hr_fail(reader->error, HR_BAD_INPUT, "%s:%llu: %s", reader->path, (unsigned long long)line, sentence.text);
}

/* ---- Rows: unknown columns ------------------------------------------------------------------------- */

static bool is_ignored(const struct hr__csv_schema *schema, const char *name) {
  for (const char *const *ignored = schema->ignored; ignored && *ignored; ignored++)
    if (strcasecmp(*ignored, name) == 0) return true;
  return false;
}

static const char *nearest_unfed(const struct csv_header *header, const struct hr__csv_schema *schema,
                                 const char *name) {
  const char *words[MAX_SCHEMA_COLUMNS + 1];
  size_t n = 0;
  for (size_t i = 0; i < schema->n_columns; i++)
    if (find_column(header, &schema->columns[i]) == HR_NONE) words[n++] = schema->columns[i].name;
  words[n] = NULL;
  return hr_nearest_word(name, words);
}

static enum hr_status note_unknown_columns(const struct csv_header *header, struct hr__reader *reader,
                                           const struct hr__csv_schema *schema) {
  for (uint32_t i = 0; i < header->names.count; i++) {
    const char *name = header->names.text[i];
    if (!*name || header->first_use[header->column_of[i]] || is_ignored(schema, name)) continue;
    if (hr__picks_use(reader->picks, header->column_of[i])) continue;
    char buffer[HR__QUOTE_BYTES];
    const char *nearest = nearest_unfed(header, schema, name);
    if (hr_notes_add(reader->notes, "unknown column '%s' is ignored%s%s%s", quoted_name(name, buffer),
                     nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "") != HR_OK)
      return hr__reader_no_memory(reader);
  }
  return HR_OK;
}

/* Finds the columns that the column map reads in addition to those of the schema. */
static enum hr_status bind_picks(const struct csv_header *header, const struct hr__reader *reader, uint64_t line) {
  for (size_t i = 0; i < hr__picks_count(reader->picks); i++) {
    const struct hr__csv_column target = {.name = hr__picks_column(reader->picks, i)};
    uint32_t column = find_column(header, &target);
    hr__picks_bind(reader->picks, i, column);
    if (column != HR_NONE) continue;
    const char *words[MAX_CSV_COLUMNS + 1];
    size_t n = 0;
    for (uint32_t k = 0; k < header->names.count; k++) words[n++] = header->names.text[k];
    words[n] = NULL;
    const char *nearest = hr_nearest_word(target.name, words);
    struct sentence sentence = {.length = 0};
    char name[HR__QUOTE_BYTES], near[HR__QUOTE_BYTES];
    append(&sentence, "missing column '%s', which the column map names", quoted_name(target.name, name));
    if (nearest) append(&sentence, " (did you mean '%s'?)", quoted_name(nearest, near));
    append_columns(&sentence, header);
    return hr_fail(reader->error, HR_BAD_INPUT, "%s:%llu: %s", reader->path, (unsigned long long)line, sentence.text);
  }
  return HR_OK;
}

/* Finds the columns of the schema in the header. Must be called after the header is complete. */
static enum hr_status header_bind(struct csv_header *header, struct hr__reader *reader,
                                  const struct hr__csv_schema *schema, uint64_t line) {
  size_t n_missing = 0;
  for (size_t i = 0; i < schema->n_columns; i++) {
    uint32_t column = find_column(header, &schema->columns[i]);
    enum hr_status status = refuse_clash(header, reader, &schema->columns[i], line);
    if (status != HR_OK) return status;
    n_missing += is_missing(header, &schema->columns[i]);
    if (column == HR_NONE) continue;
    header->next_use[i] = header->first_use[column];
    header->first_use[column] = (uint8_t)(i + 1);
  }
  if (n_missing) return missing_columns(header, reader, schema, n_missing, line);
  enum hr_status status = bind_picks(header, reader, line);
  if (status != HR_OK) return status;
  return note_unknown_columns(header, reader, schema);
}

/* ---- Rows: feeds ----------------------------------------------------------------------------------- */

/* Destination of the values of a column. Feeds form a linked list if several members use the same column. */
struct feed {
  void *member;
  uint64_t unit_us;
  const char *name;
  const struct feed *next;
  enum hr__kind kind;
  bool must_fill;
};

struct csv_rows {
  struct hr__reader *reader;
  const struct hr__csv_schema *schema;
  struct csv_header header;
  const struct feed **feed_of; /* by column of the file; NULL: the column is ignored */
  struct feed feeds[MAX_SCHEMA_COLUMNS];
  bool have_header;
  uint64_t n_rows; /* number of rows after the header */
  struct hr__value_reader values;
  struct hr__row_fault fault; /* first fault of the current row; fault.fault is NULL if none exists */
};

/* ---- Rows: fields ---------------------------------------------------------------------------------- */

static void store_value(struct csv_rows *rows, const struct feed *feed, struct hr_text text, uint64_t line) {
  for (; feed; feed = feed->next) {
    const char *fault = NULL;
    if (text.length)
      fault = hr__value_read(&rows->values, feed->kind, feed->unit_us, text, feed->member);
    else if (feed->must_fill)
      fault = "empty";
    if (fault && !rows->fault.fault)
      rows->fault = (struct hr__row_fault){.column = feed->name, .value = text, .fault = fault, .line = line};
  }
}

/* Computes feed_of from the header, so that a value is stored in its member without a search. */
static enum hr_status bind_feeds(struct csv_rows *rows) {
  const struct hr__csv_schema *schema = rows->schema;
  size_t max_uses = 1;
  rows->feed_of = calloc((size_t)rows->header.n + 1, sizeof(*rows->feed_of));
  if (!rows->feed_of) return hr__reader_no_memory(rows->reader);
  for (uint32_t column = 0; column < rows->header.n; column++) {
    size_t uses = 0;
    for (uint8_t use = rows->header.first_use[column]; use; use = rows->header.next_use[use - 1]) {
      const struct hr__csv_column *target = &schema->columns[use - 1];
      rows->feeds[use - 1] = (struct feed){.member = (char *)schema->row + target->offset,
                                           .unit_us = target->unit_us,
                                           .name = target->name,
                                           .next = rows->feed_of[column],
                                           .kind = target->kind,
                                           .must_fill = target->must_fill};
      rows->feed_of[column] = &rows->feeds[use - 1];
      uses++;
    }
    if (uses > max_uses) max_uses = uses;
  }
  rows->values.texts.at = malloc(max_uses * HR__LONGEST_LINE);
  return rows->values.texts.at ? HR_OK : hr__reader_no_memory(rows->reader);
}

/* ---- Rows: the file -------------------------------------------------------------------------------- */

static enum hr_status wrong_field_count(struct csv_rows *rows, const struct hr__csv_row *row) {
  char detail[80];
  const char *model = rows->schema->header ? "a row" : "the header";
  snprintf(detail, sizeof detail, "%u field%s where %s has %u", row->n_fields, hr__plural(row->n_fields), model,
           rows->header.n);
  struct hr__row_fault fault = {.line = row->line, .detail = detail};
  if (row->n_fields > rows->header.n)
    fault.fault = "too many fields";
  else
    fault.fault = row->cut_off ? "the last line is cut off" : "too few fields";
  return hr__reader_bad_row(rows->reader, &fault);
}

static struct hr_text field_text(const struct hr__csv_block *block, uint32_t field) {
  uint32_t begin = block->bound[field];
  const char *bytes = block->bytes ? block->bytes : ""; /* `bytes` is NULL if all fields are empty */
  return (struct hr_text){bytes + begin, block->bound[field + 1] - begin};
}

/* Ends the header in line `line` after its names were added with `status`. */
static enum hr_status end_header(struct csv_rows *rows, enum hr_status status, uint64_t line) {
  if (status == HR_OK) status = header_bind(&rows->header, rows->reader, rows->schema, line);
  rows->have_header = true;
  return status == HR_OK ? bind_feeds(rows) : status;
}

static enum hr_status read_header(struct csv_rows *rows, const struct hr__csv_block *block,
                                  const struct hr__csv_row *row) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; status == HR_OK && i < row->n_fields; i++)
    status = header_add(&rows->header, rows->reader, field_text(block, row->first_field + i), row->line);
  return end_header(rows, status, row->line);
}

static enum hr_status use_schema_header(struct csv_rows *rows) {
  enum hr_status status = HR_OK;
  for (const char *const *name = rows->schema->header; status == HR_OK && *name; name++)
    status = header_add(&rows->header, rows->reader, hr__text_make(*name), 1);
  return end_header(rows, status, 1);
}

static enum hr_status read_row(struct csv_rows *rows, const struct hr__csv_block *block,
                               const struct hr__csv_row *row) {
  rows->n_rows++;
  if (row->n_fields != rows->header.n) return wrong_field_count(rows, row);
  memcpy(rows->schema->row, rows->schema->blank_row, rows->schema->row_bytes);
  rows->values.texts.used = 0;
  rows->fault.fault = NULL;
  for (uint32_t column = 0; column < row->n_fields; column++)
    if (rows->feed_of[column])
      store_value(rows, rows->feed_of[column], field_text(block, row->first_field + column), row->line);
  if (rows->fault.fault) return hr__reader_bad_row(rows->reader, &rows->fault);
  for (size_t i = 0; i < hr__picks_count(rows->reader->picks); i++) {
    uint32_t column = hr__picks_bound(rows->reader->picks, i);
    hr__picks_set(rows->reader->picks, i, field_text(block, row->first_field + column));
  }
  enum hr_status status = rows->schema->on_row(rows->schema->self, rows->schema->row, row->line);
  hr__picks_end_row(rows->reader->picks);
  return status;
}

static enum hr_status read_block(struct csv_rows *rows, const struct hr__csv_block *block) {
  enum hr_status status = HR_OK;
  for (size_t i = 0; status == HR_OK && i < block->n_rows; i++)
    status = rows->have_header ? read_row(rows, block, &block->rows[i]) : read_header(rows, block, &block->rows[i]);
  return status;
}

static enum hr_status read_blocks(struct csv_rows *rows, struct hr__csv_blocks *blocks) {
  struct hr__reader *reader = rows->reader;
  const struct hr__csv_block *block;
  enum hr_status status = rows->schema->header ? use_schema_header(rows) : HR_OK;
  if (status != HR_OK) return status;
  while ((status = hr__csv_blocks_next(blocks, &block, reader->error)) == HR_OK && block) {
    status = read_block(rows, block);
    if (status != HR_OK) return status;
  }
  if (status != HR_OK) return status;
  if (!rows->have_header) return hr_fail(reader->error, HR_BAD_INPUT, "%s: the file has no header row", reader->path);
  if (!rows->n_rows && rows->schema->header)
    return hr_fail(reader->error, HR_BAD_INPUT, "%s: the file has no rows", reader->path);
  if (!rows->n_rows) return hr_fail(reader->error, HR_BAD_INPUT, "%s: the file has a header but no rows", reader->path);
  return HR_OK;
}

enum hr_status hr__csv_read_rows(struct hr__reader *reader, const struct hr__csv_schema *schema) {
  struct csv_rows *rows = calloc(1, sizeof *rows);
  struct hr__csv_blocks *blocks =
      csv_blocks_open(reader->input, reader->path, schema->separator ? schema->separator : ',', schema->unquoted);
  enum hr_status status = HR_OK;
  if (rows && blocks) {
    rows->reader = reader;
    rows->schema = schema;
    status = read_blocks(rows, blocks);
    if (status == HR_OK) status = hr__reader_note_clock(reader, rows->values.clock);
    hr__names_finish(&rows->header.names);
    free(rows->feed_of);
    free(rows->values.texts.at);
  } else {
    status = hr__reader_no_memory(reader);
  }
  hr__csv_blocks_close(blocks);
  free(rows);
  return status;
}
