/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums by bucket of time, and the assignment of keys to rows. To add a rate during an interval, the sums of the two
   buckets that contain its ends are increased directly. For all buckets between them, only two changes of the rate are
   stored: at the first of these buckets and after the last one. hr__page_sums_close() computes the rate in each bucket
   as a prefix sum of the changes. */

#include "report/page/page.h"

#include <stdlib.h>

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

/* ---- Splits -------------------------------------------------------------------------------------- */

static const char *page_key_name(const struct hr__page_view *view, enum hr__page_dimension dimension, uint32_t key) {
  const struct hr_trace *trace = view->run->trace;
  const struct hr_pool_spec *pools = view->run->cluster->pools;
  if (dimension == HR__PAGE_TENANT) return key < trace->tenants.count ? trace->tenants.text[key] : "";
  if (dimension == HR__PAGE_CLASS) return hr_job_class_name((enum hr_job_class)key);
  if (dimension == HR__PAGE_MARKET) return hr_market_name((enum hr_market)key);
  const char *name = dimension == HR__PAGE_GPU ? pools[key].gpu : pools[key].name;
  return name ? name : "";
}

/* ---- Rows ---------------------------------------------------------------------------------------- */

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
  return split->key[row] == HR_NONE ? "(others)" : page_key_name(view, dimension, split->key[row]);
}

void hr__page_put_sums(struct hr__page_json *json, const char *key, const struct hr__page_sums *sums,
                       const struct hr__page_grid *grid, double unit) {
  hr__page_open(json, key, '[');
  for (uint32_t i = 0; i < grid->n; i++) hr__page_number(json, NULL, (double)sums->sum[i] / unit);
  hr__page_close(json, ']');
}
