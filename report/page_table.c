/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/page_table.h"

#include <stdlib.h>

enum hr_status hr__page_table_init(struct hr__page_table *table, const struct hr__page_view *view,
                                   struct hr__page_json *json, struct hr__page_block *block, uint32_t n) {
  *table = (struct hr__page_table){view, json, block, malloc(((size_t)n + 1) * sizeof *table->values), n};
  return table->values ? HR_OK : HR_NO_MEMORY;
}

void hr__page_table_finish(struct hr__page_table *table) {
  free(table->values);
  table->values = NULL;
}

/* ---- Columns ---------------------------------------------------------------------------------------- */

static void put_scaled(struct hr__page_table *table, const char *name, double scale, bool delta) {
  const struct hr__page_column column = {name, table->values, scale, delta};
  hr__page_column_put(table->block, table->json, &column, table->n);
}

void hr__page_table_column(struct hr__page_table *table, const char *name, bool delta) {
  put_scaled(table, name, 1, delta);
}

static bool all_whole(const struct hr__page_table *table, int64_t unit) {
  for (uint32_t i = 0; i < table->n; i++)
    if (table->values[i] != -1 && table->values[i] % unit != 0) return false;
  return true;
}

static int64_t most_of(const struct hr__page_table *table) {
  int64_t most = 0;
  for (uint32_t i = 0; i < table->n; i++)
    if (table->values[i] > most) most = table->values[i];
  return most;
}

/* Values are in millionths, of a second or of a dollar. */
static void put_millionths(struct hr__page_table *table, const char *name, bool delta) {
  enum { MILLION = 1000000, THOUSAND = 1000 };
  int64_t unit = all_whole(table, MILLION) ? MILLION : most_of(table) <= INT32_MAX ? 1 : THOUSAND;
  for (uint32_t i = 0; i < table->n; i++)
    if (table->values[i] != -1) table->values[i] = (table->values[i] + unit / 2) / unit;
  put_scaled(table, name, (double)unit / 1e6, delta);
}

void hr__page_table_times(struct hr__page_table *table, const char *name, bool delta) {
  put_millionths(table, name, delta);
}

void hr__page_table_usd(struct hr__page_table *table, const char *name) {
  put_millionths(table, name, false);
}

/* ---- Texts ------------------------------------------------------------------------------------------ */

enum hr_status hr__page_numbering_init(struct hr__page_numbering *numbering, size_t n_keys) {
  *numbering = (struct hr__page_numbering){calloc(n_keys + 1, sizeof *numbering->number),
                                           calloc(n_keys + 1, sizeof *numbering->keys), 0};
  return numbering->number && numbering->keys ? HR_OK : HR_NO_MEMORY;
}

void hr__page_numbering_finish(struct hr__page_numbering *numbering) {
  free(numbering->number);
  free(numbering->keys);
}

uint32_t hr__page_number_of(struct hr__page_numbering *numbering, uint32_t key) {
  if (!numbering->number[key]) {
    numbering->keys[numbering->count++] = key;
    numbering->number[key] = numbering->count;
  }
  return numbering->number[key] - 1;
}

/* ---- Attempts --------------------------------------------------------------------------------------- */

uint32_t hr__page_nodes_of(const struct hr__page_view *view, const struct hr_attempt *attempt) {
  const struct hr_slice *slices = hr_history_slices(view->run->history, attempt);
  uint32_t count = 0;
  for (uint32_t i = 0; i < attempt->n_slices; i++) count += i == 0 || slices[i].node.id != slices[i - 1].node.id;
  return count;
}

int64_t hr__page_node_of(const struct hr__page_view *view, const struct hr_attempt *attempt) {
  return attempt->n_slices ? (int64_t)hr_history_slices(view->run->history, attempt)->node.id : -1;
}

const struct hr_attempt *hr__page_last_attempt(const struct hr__page_view *view, uint32_t job) {
  uint32_t last = hr_history_last(view->run->history, (hr_job){job});
  return last == HR_NONE ? NULL : &view->attempts[last];
}
