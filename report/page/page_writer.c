/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes the JSON document and the binary blocks of the HTML report. Also computes what sections share: sums over time,
 * and the rows to which tenants and other keys are assigned.
 *
 * A column of a block begins at a multiple of 8 bytes. Its values (or differences) are stored in the smallest type that
 * can represent all of them: unsigned integers of 8 or 16 bits, signed integers of 32 bits, or doubles. Doubles
 * represent all values of the report exactly.
 */

#include "report/page/page.h"

#include "base/containers.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static const double power_of_10[] = {1,    1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8, 1e9,
                                     1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};

/* Returns the decimal exponent of a value >= 1: the number of digits before the decimal point minus one. */
static int magnitude_of(double value) {
  int magnitude = 0;
  while (magnitude < 17 && value >= power_of_10[magnitude + 1]) magnitude++;
  return magnitude;
}

static char *put_decimals(char *at, uint64_t scaled, unsigned decimals) {
  char digits[HR__NUMBER_BYTES], *end = hr__put_u64(digits, scaled);
  unsigned count = (unsigned)(end - digits);
  while (decimals && *(end - 1) == '0' && count > 1) {
    end--;
    count--;
    decimals--;
  }
  if (count <= decimals) {
    *at++ = '0';
    *at++ = '.';
    for (unsigned i = count; i < decimals; i++) *at++ = '0';
    return (char *)memcpy(at, digits, count) + count;
  }
  at = (char *)memcpy(at, digits, count - decimals) + (count - decimals);
  if (decimals == 0) return at;
  *at++ = '.';
  return (char *)memcpy(at, end - decimals, decimals) + decimals;
}

/* Writes a finite number with at most six significant digits to `at`, without a terminating NUL. Returns the end. */
static char *put_significant(char *at, double value) {
  enum { DIGITS = 6, MAX_DECIMALS = 12 };
  double size = fmin(fabs(value), 9e18);
  char *begin = at;
  if (value < 0) *at++ = '-';
  if (size >= 1) {
    int magnitude = magnitude_of(size);
    if (magnitude >= DIGITS) {
      double unit = power_of_10[magnitude + 1 - DIGITS];
      return hr__put_u64(at, (uint64_t)llround(size / unit) * (uint64_t)unit);
    }
    unsigned decimals = (unsigned)(DIGITS - 1 - magnitude);
    return put_decimals(at, (uint64_t)llround(size * power_of_10[decimals]), decimals);
  }
  unsigned decimals = DIGITS;
  while (decimals < MAX_DECIMALS && size * power_of_10[decimals] < power_of_10[DIGITS - 1]) decimals++;
  uint64_t scaled = (uint64_t)llround(size * power_of_10[decimals]);
  if (scaled) return put_decimals(at, scaled, decimals);
  *begin = '0';
  return begin + 1;
}

/* ---- Texts ----------------------------------------------------------------------------------------- */

static void put_escaped(struct hr__out *out, unsigned char byte) {
  static const char hex[] = "0123456789abcdef";
  const char text[] = {'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15]};
  hr__out_bytes(out, text, sizeof text);
}

size_t hr__page_cut(const char *text, size_t max) {
  size_t length = strnlen(text, max + 1);
  if (length <= max) return length;
  for (length = max; length > 0 && !hr__begins_character(text[length]);) length--;
  return length;
}

static void put_string(struct hr__page_json *json, const char *text, size_t max) {
  char *utf8 = hr__utf8_copy(text);
  if (!utf8) {
    json->failed = true;
    return;
  }
  size_t length = hr__page_cut(utf8, max);
  hr__out_byte(json->out, '"');
  for (size_t i = 0; i < length; i++) {
    unsigned char byte = (unsigned char)utf8[i];
    if (byte == '"' || byte == '\\') hr__out_byte(json->out, '\\');
    if (byte < 0x20 || byte == '<')
      put_escaped(json->out, byte);
    else
      hr__out_byte(json->out, utf8[i]);
  }
  hr__out_text(json->out, utf8[length] ? "...\"" : "\"");
  free(utf8);
}

/* Returns how many bytes the character or the escape sequence at `at` has, within a string of a JSON text. */
static size_t json_character(const char *at) {
  size_t length = *at == '\\' ? at[1] == 'u' ? 6 : 2 : 1;
  while (*at != '\\' && at[length] && !hr__begins_character(at[length])) length++;
  return length;
}

/* Copies the string of a JSON text that begins at `at`, with its quotes. Returns the end of the string. Escapes `<`, so
   that the text cannot end the HTML element. In JSON, `<` occurs only within strings, where the escape is valid. */
static const char *copy_json_string(struct hr__out *out, const char *at) {
  const char *begin = ++at;
  hr__out_byte(out, '"');
  while (*at && *at != '"') {
    size_t length = json_character(at);
    bool fits = (size_t)(at - begin) + length <= HR__PAGE_JSON_BYTES;
    if (fits && *at == '<')
      put_escaped(out, '<');
    else if (fits)
      hr__out_bytes(out, at, length);
    at += length;
  }
  hr__out_text(out, (size_t)(at - begin) > HR__PAGE_JSON_BYTES ? "...\"" : "\"");
  return *at ? at + 1 : at;
}

/* ---- Values ---------------------------------------------------------------------------------------- */

void hr__page_begin_value(struct hr__page_json *json, const char *key) {
  if (json->more) hr__out_byte(json->out, ',');
  json->more = true;
  if (!key) return;
  put_string(json, key, HR__PAGE_NAME_BYTES);
  hr__out_byte(json->out, ':');
}

static void put_text(struct hr__page_json *json, const char *key, const char *text, size_t max) {
  hr__page_begin_value(json, key);
  if (text)
    put_string(json, text, max);
  else
    hr__out_text(json->out, "null");
}

void hr__page_text(struct hr__page_json *json, const char *key, const char *text) {
  put_text(json, key, text, HR__PAGE_TEXT_BYTES);
}

void hr__page_name(struct hr__page_json *json, const char *key, const char *text) {
  put_text(json, key, text, HR__PAGE_NAME_BYTES);
}

void hr__page_json_text(struct hr__page_json *json, const char *key, const char *text) {
  hr__page_begin_value(json, key);
  if (!text) hr__out_text(json->out, "null");
  while (text && *text) {
    size_t plain = strcspn(text, "\"");
    hr__out_bytes(json->out, text, plain);
    text += plain;
    if (*text) text = copy_json_string(json->out, text);
  }
}

void hr__page_number(struct hr__page_json *json, const char *key, double value) {
  if (!isfinite(value)) {
    hr__page_null(json, key);
    return;
  }
  hr__page_begin_value(json, key);
  hr__out_to(json->out, put_significant(hr__out_room(json->out, HR__NUMBER_BYTES), value));
}

/* ---- Bytes ----------------------------------------------------------------------------------------- */

unsigned char *hr__page_block_room(struct hr__page_block *block, size_t bytes) {
  /* One byte more, so that the address is not NULL if both sizes are 0. */
  if (HR__ARRAY_HAS_ROOM_FOR(block->bytes, block->size + bytes + 1, block->capacity)) return block->bytes + block->size;
  block->failed = true;
  return NULL;
}

void hr__page_block_add(struct hr__page_block *block, const void *bytes, size_t count) {
  unsigned char *room = hr__page_block_room(block, count);
  if (!room) return;
  if (count) memcpy(room, bytes, count);
  block->size += count;
}

static void put_base64(struct hr__out *out, const unsigned char *bytes, size_t count) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < count; i += 3) {
    size_t left = count - i;
    uint32_t group = (uint32_t)bytes[i] << 16;
    if (left > 1) group |= (uint32_t)bytes[i + 1] << 8;
    if (left > 2) group |= bytes[i + 2];
    char *at = hr__out_room(out, 4);
    at[0] = digits[group >> 18];
    at[1] = digits[group >> 12 & 63];
    at[2] = '=';
    at[3] = '=';
    if (left > 1) at[2] = digits[group >> 6 & 63];
    if (left > 2) at[3] = digits[group & 63];
    hr__out_to(out, at + 4);
  }
}

enum hr_status hr__page_block_write(const struct hr__page_block *block, struct hr__out *out, const char *name) {
  static const unsigned char nothing[1];
  enum { LEVEL = 6 };
  if (block->failed) return HR_NO_MEMORY;
  uLongf size = compressBound(block->size);
  unsigned char *packed = malloc(size);
  const unsigned char *bytes = block->bytes ? block->bytes : nothing;
  if (!packed || compress2(packed, &size, bytes, block->size, LEVEL) != Z_OK) {
    free(packed);
    return HR_NO_MEMORY;
  }
  hr__out_text(out, "<script type=\"application/x-headroom-block\" id=\"block-");
  hr__out_text(out, name);
  hr__out_text(out, "\">");
  put_base64(out, packed, size);
  hr__out_text(out, "</script>\n");
  free(packed);
  return HR_OK;
}

/* ---- Columns --------------------------------------------------------------------------------------- */

enum type { U8, U16, I32, F64 };
static const struct {
  const char *name;
  size_t bytes;
} types[] = {[U8] = {"u8", 1}, [U16] = {"u16", 2}, [I32] = {"i32", 4}, [F64] = {"f64", 8}};

static int64_t value_at(const struct hr__page_column *column, size_t i) {
  return column->delta && i ? column->values[i] - column->values[i - 1] : column->values[i];
}

static enum type type_of(const struct hr__page_column *column, size_t n) {
  int64_t min = 0, max = 0;
  for (size_t i = 0; i < n; i++) {
    int64_t value = value_at(column, i);
    if (value < min) min = value;
    if (value > max) max = value;
  }
  if (min >= 0 && max <= UINT8_MAX) return U8;
  if (min >= 0 && max <= UINT16_MAX) return U16;
  return min >= INT32_MIN && max <= INT32_MAX ? I32 : F64;
}

/* Writes a value in little-endian byte order on any machine. */
static void put_value(unsigned char *at, enum type type, int64_t value) {
  uint64_t bits = (uint64_t)value;
  if (type == F64) {
    double real = (double)value;
    memcpy(&bits, &real, sizeof bits);
  }
  for (size_t i = 0; i < types[type].bytes; i++) at[i] = (unsigned char)(bits >> 8 * i);
}

void hr__page_column_put(struct hr__page_block *block, struct hr__page_json *json, const struct hr__page_column *column,
                         size_t n) {
  static const unsigned char zeros[8];
  enum type type = type_of(column, n);
  hr__page_block_add(block, zeros, (8 - block->size % 8) % 8);
  size_t offset = block->size, bytes = types[type].bytes;
  unsigned char *at = hr__page_block_room(block, n * bytes);
  if (!at) return;
  for (size_t i = 0; i < n; i++) put_value(at + i * bytes, type, value_at(column, i));
  block->size += n * bytes;
  hr__page_open(json, NULL, '{');
  hr__page_text(json, "name", column->name);
  hr__page_text(json, "type", types[type].name);
  hr__page_text(json, "coding", column->delta ? "delta" : "plain");
  if (column->scale != 1) hr__page_number(json, "scale", column->scale);
  hr__page_count(json, "offset", offset);
  hr__page_count(json, "length", n);
  hr__page_close(json, '}');
}

/* ---- Sums over time -------------------------------------------------------------------------------- */

/* Sums for each bucket of time. To add a rate during an interval, the sums of the two buckets that contain its ends are
   increased directly. For all buckets between them, only two changes of the rate are stored: at the first of these
   buckets and after the last one. hr__page_sums_close() computes the rate in each bucket as a prefix sum of the
   changes. */

void hr__page_hold(struct hr__page_sums *sums, const struct hr__page_grid *grid, int64_t from_us, int64_t to_us,
                   hr_amount rate) {
  if (from_us >= to_us || !grid->n) return;
  uint32_t first = hr__page_bucket(grid, from_us), last = hr__page_bucket(grid, to_us);
  if (first == last) {
    sums->sum[first] += rate * (to_us - from_us);
    return;
  }
  sums->sum[first] += rate * ((first + INT64_C(1)) * grid->width_us - from_us);
  sums->sum[last] += rate * (to_us - last * grid->width_us);
  sums->rate[first + 1] += rate;
  sums->rate[last] -= rate;
}

void hr__page_spread(struct hr__page_sums *sums, const struct hr__page_grid *grid, int64_t from_us, int64_t to_us,
                     hr_amount amount) {
  if (!grid->n) return;
  if (from_us >= to_us) {
    hr__page_put(sums, grid, from_us, amount);
    return;
  }
  hr_amount done = 0;
  int64_t at_us = from_us;
  for (uint32_t i = hr__page_bucket(grid, from_us); at_us < to_us; i++) {
    at_us = hr__page_part_end_us(grid, i, to_us);
    hr_amount so_far = amount * (at_us - from_us) / (to_us - from_us);
    sums->sum[i] += so_far - done;
    done = so_far;
  }
}

void hr__page_sums_close(struct hr__page_sums *sums, const struct hr__page_grid *grid) {
  hr_amount rate = 0;
  for (uint32_t i = 0; i < grid->n; i++) {
    rate += sums->rate[i];
    sums->sum[i] += rate * grid->width_us;
  }
  free(sums->rate);
  sums->rate = NULL;
}

/* ---- Splits ---------------------------------------------------------------------------------------- */

uint32_t hr__page_keys(const struct hr__page_view *view, enum hr__page_dimension dimension) {
  const struct hr_trace *trace = view->run->trace;
  if (dimension == HR__PAGE_TENANT) return trace->tenant ? trace->tenants.count + 1 : 0;
  if (dimension == HR__PAGE_USER) return trace->user ? trace->users.count + 1 : 0;
  if (dimension == HR__PAGE_CLASS) return trace->class_ ? HR_N_CLASSES : 0;
  if (dimension == HR__PAGE_SIZE) return HR__SIZES;
  if (dimension == HR__PAGE_STATE) return HR_JOB_REJECTED + 1;
  return dimension == HR__PAGE_MARKET ? (uint32_t)HR_N_MARKETS : view->run->cluster->n_pools;
}

static uint32_t key_of_name(const uint32_t *column, const struct hr_names *names, uint32_t job) {
  return column[job] == HR_NONE ? names->count : column[job];
}

uint32_t hr__page_key(const struct hr__page_view *view, enum hr__page_dimension dimension, uint32_t job,
                      uint32_t pool) {
  const struct hr_trace *trace = view->run->trace;
  uint32_t state = view->run->result->state[job];
  if (dimension == HR__PAGE_TENANT) return key_of_name(trace->tenant, &trace->tenants, job);
  if (dimension == HR__PAGE_USER) return key_of_name(trace->user, &trace->users, job);
  if (dimension == HR__PAGE_CLASS) return trace->class_[job];
  if (dimension == HR__PAGE_SIZE) return hr__size_of(trace->gpus[job]);
  if (dimension == HR__PAGE_STATE) return state == HR_JOB_RUNNING ? (uint32_t)HR_JOB_WAITING : state;
  if (dimension == HR__PAGE_MARKET) return (uint32_t)view->run->cluster->pools[pool].market.market;
  return dimension == HR__PAGE_GPU ? view->first_of_gpu[pool] : pool;
}

const char *hr__page_key_name(const struct hr__page_view *view, enum hr__page_dimension dimension, uint32_t key) {
  /* the names of states are those of the CSV file of jobs */
  static const char *const states[] = {[HR_JOB_FUTURE] = "unsubmitted",
                                       [HR_JOB_WAITING] = "unfinished",
                                       [HR_JOB_RUNNING] = "unfinished",
                                       [HR_JOB_COMPLETED] = "completed",
                                       [HR_JOB_REJECTED] = "rejected"};
  const struct hr_trace *trace = view->run->trace;
  const struct hr_cluster_spec *cluster = view->run->cluster;
  if (dimension == HR__PAGE_TENANT) return key < trace->tenants.count ? trace->tenants.text[key] : "";
  if (dimension == HR__PAGE_USER) return key < trace->users.count ? trace->users.text[key] : "";
  if (dimension == HR__PAGE_CLASS) return hr_job_class_name((enum hr_job_class)key);
  if (dimension == HR__PAGE_SIZE) return hr__size_name(key);
  if (dimension == HR__PAGE_STATE) return states[key];
  if (dimension == HR__PAGE_MARKET) return hr_market_name((enum hr_market)key);
  if (key >= cluster->n_pools) return "";
  const char *name = dimension == HR__PAGE_GPU ? cluster->pools[key].gpu : cluster->pools[key].name;
  return name ? name : "";
}

/* ---- Rows ------------------------------------------------------------------------------------------ */

/* Inserts a key into split->key, which contains the `room` keys with the largest weights in descending order. Keys with
   equal weights remain in ascending order. */
static void insert(struct hr__page_split *split, uint32_t room, const hr_amount *weight, uint32_t key) {
  uint32_t at = split->n_rows;
  while (at > 0 && weight[split->key[at - 1]] < weight[key]) at--;
  if (at == room) return;
  if (split->n_rows < room) split->n_rows++;
  for (uint32_t i = split->n_rows - 1; i > at; i--) split->key[i] = split->key[i - 1];
  split->key[at] = key;
}

enum hr_status hr__page_split_make(struct hr__page_split *split, const hr_amount *weight, uint32_t n_keys) {
  uint32_t known = 0;
  *split = (struct hr__page_split){.row = calloc((size_t)n_keys + 1, sizeof *split->row)};
  if (!split->row) return HR_NO_MEMORY;
  for (uint32_t key = 0; key < n_keys; key++) known += weight[key] > 0;
  uint32_t room = known > HR__PAGE_ROWS ? HR__PAGE_ROWS - 1 : HR__PAGE_ROWS;
  for (uint32_t key = 0; key < n_keys; key++)
    if (weight[key] > 0) insert(split, room, weight, key);
  if (known > room) split->key[split->n_rows++] = HR_NONE;
  for (uint32_t key = 0; key < n_keys; key++) split->row[key] = (uint8_t)(split->n_rows ? split->n_rows - 1 : 0);
  for (uint32_t row = 0; row < split->n_rows; row++)
    if (split->key[row] != HR_NONE) split->row[split->key[row]] = (uint8_t)row;
  return HR_OK;
}

const char *hr__page_row_name(const struct hr__page_view *view, enum hr__page_dimension dimension,
                              const struct hr__page_split *split, uint32_t row) {
  return split->key[row] == HR_NONE ? "(others)" : hr__page_key_name(view, dimension, split->key[row]);
}

void hr__page_put_sums(struct hr__page_json *json, const char *key, const struct hr__page_sums *sums,
                       const struct hr__page_grid *grid, double unit) {
  hr__page_open(json, key, '[');
  for (uint32_t i = 0; i < grid->n; i++) hr__page_number(json, NULL, (double)sums->sum[i] / unit);
  hr__page_close(json, ']');
}
