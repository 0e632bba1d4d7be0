/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who held the GPUs, over time: by tenant, class, type of GPU, market and pool. */

#include "report/page_split.h"

#include <stdlib.h>

static const char *const names[HR__PAGE_DIMENSIONS] = {[HR__PAGE_TENANT] = "tenant",
                                                       [HR__PAGE_CLASS] = "class",
                                                       [HR__PAGE_GPU] = "gpu",
                                                       [HR__PAGE_MARKET] = "market",
                                                       [HR__PAGE_POOL] = "pool"};

static hr_amount *weigh(const struct hr__page_view *view, enum hr__page_dimension dimension, uint32_t n_keys) {
  hr_amount *weight = calloc((size_t)n_keys + 1, sizeof *weight);
  if (!weight) return NULL;
  for (size_t i = 0; i < view->n_attempts; i++) {
    const struct hr_attempt *attempt = &view->attempts[i];
    weight[hr__page_key(view, dimension, attempt)] +=
        (hr_amount)attempt->gpu_milli * (attempt->end_us - attempt->begin_us);
  }
  return weight;
}

static enum hr_status put_rows(const struct hr__page_view *view, struct hr__page_json *json,
                               enum hr__page_dimension dimension, const struct hr__page_split *split) {
  struct hr__page_sums rows[HR__PAGE_ROWS] = {0};
  enum hr_status status = HR_OK;
  for (uint32_t row = 0; row < split->n_rows && status == HR_OK; row++)
    status = hr__page_sums_init(&rows[row], &view->grid);
  for (size_t i = 0; status == HR_OK && split->n_rows && i < view->n_attempts; i++) {
    const struct hr_attempt *attempt = &view->attempts[i];
    hr__page_hold(&rows[split->row[hr__page_key(view, dimension, attempt)]], &view->grid, attempt->begin_us,
                  attempt->end_us, attempt->gpu_milli);
  }
  for (uint32_t row = 0; row < split->n_rows && status == HR_OK; row++) {
    hr__page_sums_close(&rows[row], &view->grid);
    hr__page_open(json, NULL, '{');
    hr__page_text(json, "name", hr__page_row_name(view, dimension, split, row));
    hr__page_put_means(json, "allocated", &rows[row], &view->grid, 1000);
    hr__page_close(json, '}');
  }
  for (uint32_t row = 0; row < split->n_rows; row++) hr__page_sums_finish(&rows[row]);
  return status;
}

static enum hr_status put_dimension(const struct hr__page_view *view, struct hr__page_json *json,
                                    enum hr__page_dimension dimension) {
  uint32_t n_keys = hr__page_keys(view, dimension);
  hr__page_open(json, names[dimension], '[');
  enum hr_status status = HR_OK;
  if (n_keys) {
    struct hr__page_split split = {0};
    hr_amount *weight = weigh(view, dimension, n_keys);
    status = weight ? hr__page_split_make(&split, weight, n_keys) : HR_NO_MEMORY;
    if (status == HR_OK) status = put_rows(view, json, dimension, &split);
    hr__page_split_finish(&split);
    free(weight);
  }
  hr__page_close(json, ']');
  return status;
}

enum hr_status hr__page_by(const struct hr__page_view *view, struct hr__page_json *json) {
  enum hr_status status = HR_OK;
  hr__page_open(json, "by", '{');
  for (unsigned i = 0; i < HR__PAGE_DIMENSIONS && status == HR_OK; i++)
    status = put_dimension(view, json, (enum hr__page_dimension)i);
  hr__page_close(json, '}');
  return status;
}
