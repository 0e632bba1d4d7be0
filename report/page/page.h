/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_PAGE_PAGE_H
#define HR_REPORT_PAGE_PAGE_H

/* The HTML report: a JSON document and binary blocks that are embedded into an HTML template. page.c writes the
   document; page_jobs.c and page_series.c write sections of it. Functions that write sections return HR_NO_MEMORY if
   out of memory. All of these files use the writer in page_writer.c. */

#include "base/output_file.h"
#include "headroom/sim.h"
#include "headroom/unstable/exports.h"

#include <stdlib.h>

/* ---- The template ---------------------------------------------------------------------------------- */

/* The HTML template that the build embeds into the program. NULL if the program was built without node and npm. */

extern const char *const hr__page_template;

/* ---- The writer (page_writer.c) -------------------------------------------------------------------- */

/* Writes JSON inside an HTML element. `<` is escaped in strings, so that no text can end the element. `key` is the
   key of the value in an object, and NULL in an array. */

struct hr__page_json {
  struct hr__out *out;
  bool more;   /* the current object or array already has a value */
  bool failed; /* out of memory */
};

/* Writes the comma (if needed) and the key (if any) before a value. */
void hr__page_begin_value(struct hr__page_json *json, const char *key);

/* Begin and end an object or an array. `bracket` is the bracket or brace to write. */
static inline void hr__page_open(struct hr__page_json *json, const char *key, char bracket) {
  hr__page_begin_value(json, key);
  hr__out_byte(json->out, bracket);
  json->more = false;
}
static inline void hr__page_close(struct hr__page_json *json, char bracket) {
  hr__out_byte(json->out, bracket);
  json->more = true;
}

/* The maximum length of texts in bytes. A longer text is cut and ends with "...". */
enum { HR__PAGE_NAME_BYTES = 100, HR__PAGE_JSON_BYTES = 1000, HR__PAGE_TEXT_BYTES = 10000 };

/* Returns the length of the longest part at the beginning of a UTF-8 text that has at most `max` bytes and does not
   divide a character. */
size_t hr__page_cut(const char *text, size_t max);
/* Write a text, converted to UTF-8; NULL is written as null. hr__page_name is for names from the input, of which a page
   may have very many. */
void hr__page_text(struct hr__page_json *json, const char *key, const char *text);
void hr__page_name(struct hr__page_json *json, const char *key, const char *text);
/* Writes a value that is already JSON text; writes null if `text` is NULL. Strings in it are limited to
   HR__PAGE_JSON_BYTES. */
void hr__page_json_text(struct hr__page_json *json, const char *key, const char *text);
static inline void hr__page_count(struct hr__page_json *json, const char *key, uint64_t count) {
  hr__page_begin_value(json, key);
  hr__out_u64(json->out, count);
}

static inline void hr__page_null(struct hr__page_json *json, const char *key) {
  hr__page_begin_value(json, key);
  hr__out_text(json->out, "null");
}
/* Writes a number with at most six significant digits; null if it is not finite. */
void hr__page_number(struct hr__page_json *json, const char *key, double value);
/* Writes microseconds as seconds. */
static inline void hr__page_seconds(struct hr__page_json *json, const char *key, int64_t us) {
  hr__page_begin_value(json, key);
  hr__out_millionths(json->out, us);
}
/* Writes micro-dollars as dollars. */
static inline void hr__page_usd(struct hr__page_json *json, const char *key, int64_t uusd) {
  hr__page_begin_value(json, key);
  hr__out_millionths(json->out, uusd);
}

/* A binary block next to the document. It contains numbers in little-endian order. It is compressed with zlib and
   written in base64. */

struct hr__page_block {
  unsigned char *bytes;
  size_t size;
  uint32_t capacity;
  bool failed; /* out of memory */
};

static inline void hr__page_block_finish(struct hr__page_block *block) {
  free(block->bytes);
  *block = (struct hr__page_block){0};
}
/* Returns a pointer to space for `bytes` bytes at the end of the block; NULL if out of memory. The caller writes the
   bytes and increases `size`. */
unsigned char *hr__page_block_room(struct hr__page_block *block, size_t bytes);
/* Appends bytes; sets `failed` if out of memory. */
void hr__page_block_add(struct hr__page_block *block, const void *bytes, size_t count);
/* Writes the block as an HTML element with the id "block-NAME". Returns HR_NO_MEMORY if out of memory. */
enum hr_status hr__page_block_write(const struct hr__page_block *block, struct hr__out *out, const char *name);

/* A column of integers. The type in which they are stored depends on the values. */
struct hr__page_column {
  const char *name;
  const int64_t *values; /* [n] */
  double scale;          /* factor by which the reader multiplies the values; 1: none */
  bool delta;            /* store differences between consecutive values, which are small if these values are similar */
};
/* Appends a column to a block and its description to the current array of the document. */
void hr__page_column_put(struct hr__page_block *block, struct hr__page_json *json, const struct hr__page_column *column,
                         size_t n);

/* ---- Sums over time -------------------------------------------------------------------------------- */

/* Sums of values and rates for buckets of time. */

/* A division of the run into `n` buckets of equal width. The last bucket may be shorter. */
struct hr__page_grid {
  int64_t width_us, end_us;
  uint32_t n;
};

/* Returns the index of the bucket that contains a time. Times after the end are in the last bucket. */
static inline uint32_t hr__page_bucket(const struct hr__page_grid *grid, int64_t at_us) {
  int64_t place = at_us / grid->width_us;
  return place < grid->n ? (uint32_t)place : grid->n - 1;
}

/* Returns the end of bucket `i` or `to_us`, whichever is earlier. For the last bucket, returns `to_us`. */
static inline int64_t hr__page_part_end_us(const struct hr__page_grid *grid, uint32_t i, int64_t to_us) {
  int64_t end_us = (i + INT64_C(1)) * grid->width_us;
  return i + 1 == grid->n || to_us < end_us ? to_us : end_us;
}

/* Exact sums by bucket. A constant rate can be added over an interval in constant time, independent of the number of
   buckets in the interval (page_writer.c). */
struct hr__page_sums {
  hr_amount *sum;  /* [n] */
  hr_amount *rate; /* [n + 1]: rate[i] is R(i) - R(i - 1), where R(i) is the sum of the rates that apply during all of
                      bucket i; NULL after hr__page_sums_close() */
};

/* Returns HR_NO_MEMORY if out of memory; call hr__page_sums_finish() even on failure. */
static inline enum hr_status hr__page_sums_init(struct hr__page_sums *sums, const struct hr__page_grid *grid) {
  sums->sum = calloc((size_t)grid->n + 1, sizeof *sums->sum);
  sums->rate = calloc((size_t)grid->n + 1, sizeof *sums->rate);
  return sums->sum && sums->rate ? HR_OK : HR_NO_MEMORY;
}
static inline void hr__page_sums_finish(struct hr__page_sums *sums) {
  free(sums->sum);
  free(sums->rate);
  *sums = (struct hr__page_sums){0};
}
/* Adds a constant rate during an interval. The sum of each bucket increases by rate x the microseconds of the interval
   that are in the bucket. */
void hr__page_hold(struct hr__page_sums *sums, const struct hr__page_grid *grid, int64_t from_us, int64_t to_us,
                   hr_amount rate);
/* Spreads an amount evenly over an interval. The parts sum to the amount. If the interval is empty, the whole amount is
   added at `from_us`. */
void hr__page_spread(struct hr__page_sums *sums, const struct hr__page_grid *grid, int64_t from_us, int64_t to_us,
                     hr_amount amount);
/* Adds an amount to the bucket that contains a time. */
static inline void hr__page_put(struct hr__page_sums *sums, const struct hr__page_grid *grid, int64_t at_us,
                                hr_amount amount) {
  if (grid->n) sums->sum[hr__page_bucket(grid, at_us)] += amount;
}
/* Computes the final sums. The caller may read `sum` only after this call, and may not add further values. */
void hr__page_sums_close(struct hr__page_sums *sums, const struct hr__page_grid *grid);

/* ---- Sections -------------------------------------------------------------------------------------- */

/* The run and the derived data that all sections use. */
struct hr__page_view {
  const struct hr_page_run *run;
  struct hr__page_grid grid;
  const struct hr_attempt *attempts;
  size_t n_attempts;
  const struct hr_node_change *changes;
  size_t n_changes;
  uint32_t *first_node; /* [n_pools + 1]: index of the first node of each pool; the last entry is the number of nodes */
  uint32_t *first_of_gpu; /* [n_pools]: index of the first pool with the same GPU type */
};

/* Writes "distributions": histograms of waits by class, size and tenant. */
enum hr_status hr__page_distributions(const struct hr__page_view *view, struct hr__page_json *json);
/* Writes "costs": cost and GPU time by tenant and market. The run must have costs. */
enum hr_status hr__page_cells(const struct hr__page_view *view, struct hr__page_json *json);
/* Writes "occupancy": a heat map of nodes over time. The pixels are appended to `block`. */
enum hr_status hr__page_occupancy(const struct hr__page_view *view, struct hr__page_json *json,
                                  struct hr__page_block *block);
/* Blocks of the job table: the columns of jobs, the ids of jobs if they are not numbers, and the attempts of jobs with
   more than one attempt. */
struct hr__page_job_blocks {
  struct hr__page_block jobs, ids, attempts;
};
/* Writes "jobs" and, if jobs have more than one attempt, "attempts". */
enum hr_status hr__page_jobs(const struct hr__page_view *view, struct hr__page_json *json,
                             struct hr__page_job_blocks *blocks);

/* Write parts of "series". hr__page_usage_series() writes GPU usage and waits. hr__page_spend() writes costs; the run
   must have costs. */
enum hr_status hr__page_usage_series(const struct hr__page_view *view, struct hr__page_json *json);
enum hr_status hr__page_spend(const struct hr__page_view *view, struct hr__page_json *json);

/* Writes an array with the number sum / unit for each bucket. `sums` must be closed. */
void hr__page_put_sums(struct hr__page_json *json, const char *key, const struct hr__page_sums *sums,
                       const struct hr__page_grid *grid, double unit);

/* ---- Splits ---------------------------------------------------------------------------------------- */

/* Rows for the largest tenants, classes, GPU types, markets or pools, and one row for the others. */

enum hr__page_dimension {
  HR__PAGE_TENANT,
  HR__PAGE_CLASS,
  HR__PAGE_GPU,
  HR__PAGE_MARKET,
  HR__PAGE_POOL,
  HR__PAGE_DIMENSIONS,
  /* The following dimensions of jobs are not those of splits. */
  HR__PAGE_USER = HR__PAGE_DIMENSIONS,
  HR__PAGE_SIZE,
  HR__PAGE_STATE
};

/* Returns the number of keys of a dimension, such as tenants; 0 if the trace does not contain the dimension. */
uint32_t hr__page_keys(const struct hr__page_view *view, enum hr__page_dimension dimension);
/* Returns the key of a job that runs in a pool. All jobs without a tenant have the same key, which follows the keys of
   the tenants; so do all jobs without a user. */
uint32_t hr__page_key(const struct hr__page_view *view, enum hr__page_dimension dimension, uint32_t job, uint32_t pool);
/* Returns the name of a key; "" for jobs without a tenant, user or pool. */
const char *hr__page_key_name(const struct hr__page_view *view, enum hr__page_dimension dimension, uint32_t key);

enum { HR__PAGE_ROWS = 12 };

struct hr__page_split {
  uint8_t *row;                /* [n_keys]: row of each key */
  uint32_t key[HR__PAGE_ROWS]; /* key of each row, in descending order of weight; HR_NONE: the row of all other keys */
  uint32_t n_rows;
};

/* Assigns a row to each key. weight[key] is the total of a key; only keys with a positive weight have rows of their
   own. Returns HR_NO_MEMORY if out of memory; call hr__page_split_finish() even on failure. */
enum hr_status hr__page_split_make(struct hr__page_split *split, const hr_amount *weight, uint32_t n_keys);
static inline void hr__page_split_finish(struct hr__page_split *split) {
  free(split->row);
  *split = (struct hr__page_split){0};
}
/* Returns the name of a row: the name of its key, "" for jobs without a tenant, "(others)" for all other keys. */
const char *hr__page_row_name(const struct hr__page_view *view, enum hr__page_dimension dimension,
                              const struct hr__page_split *split, uint32_t row);

/* ---- Selection of jobs ----------------------------------------------------------------------------- */

enum { HR__PAGE_MAX_JOBS = 200000 };

/* Selects the jobs of the job table. If the run has at most `max` jobs (`max` >= 3), all are selected. Otherwise, `max`
   jobs are selected: one third with the longest waits, one third with the most requested GPU time among the other jobs,
   and a sample of the remaining jobs. Returns the indices in ascending order; the caller frees them. Returns NULL if
   out of memory. */
uint32_t *hr__page_shown(const struct hr_result *result, uint32_t max, uint32_t *n_shown);

#endif
