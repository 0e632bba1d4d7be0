/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ---- Keys ------------------------------------------------------------------------------------------- */

#include "report/page/page_parts.h"

#include <stdlib.h>

/* Jobs without a tenant make one more key after the tenants. */
uint32_t hr__page_keys(const struct hr__page_view *view, enum hr__page_dimension dimension) {
  const struct hr_trace *trace = view->run->trace;
  if (dimension == HR__PAGE_TENANT) return trace->tenant ? trace->tenants.count + 1 : 0;
  if (dimension == HR__PAGE_CLASS) return trace->class_ ? HR_N_CLASSES : 0;
  return dimension == HR__PAGE_MARKET ? (uint32_t)HR_N_MARKETS : view->run->cluster->n_pools;
}

uint32_t hr__page_key(const struct hr__page_view *view, enum hr__page_dimension dimension,
                      const struct hr_attempt *attempt) {
  const struct hr_trace *trace = view->run->trace;
  uint32_t job = attempt->job.id, pool = attempt->pool.id;
  if (dimension == HR__PAGE_TENANT) return trace->tenant[job] == HR_NONE ? trace->tenants.count : trace->tenant[job];
  if (dimension == HR__PAGE_CLASS) return trace->class_[job];
  if (dimension == HR__PAGE_MARKET) return (uint32_t)view->run->cluster->pools[pool].market.market;
  return dimension == HR__PAGE_GPU ? view->first_of_gpu[pool] : pool;
}

/* "": none, as of a job without a tenant. */
static const char *hr__page_key_name(const struct hr__page_view *view, enum hr__page_dimension dimension,
                                     uint32_t key) {
  const struct hr_trace *trace = view->run->trace;
  const struct hr_pool_spec *pools = view->run->cluster->pools;
  if (dimension == HR__PAGE_TENANT) return key < trace->tenants.count ? trace->tenants.text[key] : "";
  if (dimension == HR__PAGE_CLASS) return hr_job_class_name((enum hr_job_class)key);
  if (dimension == HR__PAGE_MARKET) return hr_market_name((enum hr_market)key);
  const char *name = dimension == HR__PAGE_GPU ? pools[key].gpu : pools[key].name;
  return name ? name : "";
}

/* ---- Rows ------------------------------------------------------------------------------------------- */

/* Puts a key into the list of the largest, of at most `room`; equal ones in their order. */
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

void hr__page_split_finish(struct hr__page_split *split) {
  free(split->row);
  *split = (struct hr__page_split){0};
}

const char *hr__page_row_name(const struct hr__page_view *view, enum hr__page_dimension dimension,
                              const struct hr__page_split *split, uint32_t row) {
  return split->key[row] == HR_NONE ? "(others)" : hr__page_key_name(view, dimension, split->key[row]);
}
