/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dollars over time, and by who spends them where. */

#include "report/cost_tables.h"
#include "report/page_spend.h"

#include <stdlib.h>
#include <string.h>

/* ---- Over time -------------------------------------------------------------------------------------- */

static const double units_per_usd = 1e6 * (double)HR_LEDGER_UNITS_PER_UUSD;

static const double parts_per_usd = 1e6 * HR__PAGE_OTHER_PARTS;

static void put_idle(const struct hr__page_spending *spending, const struct hr__page_grid *grid,
                     struct hr__page_json *json) {
  for (uint32_t i = 0; i < grid->n; i++) {
    hr_amount idle = -spending->used.sum[i];
    for (unsigned market = 0; market < HR_N_MARKETS; market++) idle += spending->market[market].sum[i];
    hr__page_number(json, NULL, (double)idle / units_per_usd);
  }
}

static void put_line(struct hr__page_json *json, const char *name, const struct hr__page_sums *sums,
                     const struct hr__page_grid *grid, double unit) {
  hr__page_open(json, NULL, '{');
  hr__page_text(json, "name", name);
  hr__page_put_sums(json, "usd", sums, grid, unit);
  hr__page_close(json, '}');
}

static void put_markets(const struct hr__page_spending *spending, const struct hr__page_view *view,
                        struct hr__page_json *json, bool other) {
  hr__page_open(json, "by_market", '[');
  for (unsigned i = 0; i < HR_N_MARKETS; i++)
    if (spending->in_use[i])
      put_line(json, hr_market_name((enum hr_market)i), &spending->market[i], &view->grid, units_per_usd);
  if (other) put_line(json, hr__services_name, &spending->other, &view->grid, parts_per_usd);
  hr__page_close(json, ']');
}

static void put_tenants(const struct hr__page_spending *spending, const struct hr__page_view *view,
                        struct hr__page_json *json, bool other) {
  hr__page_open(json, "by_tenant", '[');
  for (uint32_t row = 0; row < spending->tenants.n_rows; row++)
    put_line(json, hr__page_row_name(view, HR__PAGE_TENANT, &spending->tenants, row), &spending->tenant[row],
             &view->grid, units_per_usd);
  hr__page_open(json, NULL, '{');
  hr__page_text(json, "name", hr__idle_name);
  hr__page_open(json, "usd", '[');
  put_idle(spending, &view->grid, json);
  hr__page_close(json, ']');
  hr__page_close(json, '}');
  if (other) put_line(json, hr__services_name, &spending->other, &view->grid, parts_per_usd);
  hr__page_close(json, ']');
}

enum hr_status hr__page_spend(const struct hr__page_view *view, struct hr__page_json *json) {
  const struct hr_cost_summary *costs = view->run->summary->costs;
  struct hr__page_spending spending;
  enum hr_status status = hr__page_spending_make(&spending, view);
  if (status == HR_OK) {
    bool other = costs->total_uusd != costs->capacity_uusd;
    hr__page_open(json, "cost", '{');
    hr__page_put_sums(json, "used", &spending.used, &view->grid, units_per_usd);
    hr__page_open(json, "idle", '[');
    put_idle(&spending, &view->grid, json);
    hr__page_close(json, ']');
    if (other) hr__page_put_sums(json, "other", &spending.other, &view->grid, parts_per_usd);
    if (spending.after) hr__page_number(json, "after_usd", (double)spending.after / units_per_usd);
    put_markets(&spending, view, json, other);
    if (spending.tenants.n_rows) put_tenants(&spending, view, json, other);
    hr__page_close(json, '}');
  }
  hr__page_spending_finish(&spending);
  return status;
}

/* ---- By tenant and market --------------------------------------------------------------------------- */

/* Where there are more tenants than anyone looks through, the rest is one. */
enum { MOST_CELLS = 600 };

/* Rows that differ in nothing but the type of GPU make one cell. */
static bool same_cell(const struct hr_cost_row *a, const struct hr_cost_row *b) {
  return strcmp(a->tenant, b->tenant) == 0 && strcmp(a->market, b->market) == 0;
}

static void put_cell(struct hr__page_json *json, const char *tenant, const struct hr_cost_row *cell) {
  hr__page_open(json, NULL, '{');
  if (tenant) hr__page_text(json, "tenant", tenant);
  hr__page_text(json, "market", cell->market);
  hr__page_number(json, "gpu_hours", (double)cell->gpu_time / (1000 * 3600.0 * (double)HR_SECOND_US));
  hr__page_usd(json, "usd", cell->uusd);
  hr__page_close(json, '}');
}

/* The rows from `begin` on that are of one cell, summed; returns where they end. */
static size_t sum_cell(const struct hr_cost_summary *costs, size_t begin, struct hr_cost_row *cell) {
  size_t i = begin;
  *cell = costs->rows[begin];
  for (i++; i < costs->n_rows && same_cell(cell, &costs->rows[i]); i++) {
    cell->uusd += costs->rows[i].uusd;
    cell->gpu_time += costs->rows[i].gpu_time;
  }
  return i;
}

static int compare_cells(const void *a, const void *b) {
  const struct hr_cost_row *x = a, *y = b;
  if (x->uusd != y->uusd) return x->uusd > y->uusd ? -1 : 1;
  int order = strcmp(x->tenant, y->tenant);
  return order ? order : strcmp(x->market, y->market);
}

/* The cells beyond the first few, by market. */
static void put_rest(struct hr__page_json *json, struct hr_cost_row *cells, size_t count) {
  for (size_t i = 0; i < count; i++) {
    struct hr_cost_row sum = cells[i];
    if (!sum.market) continue;
    for (size_t k = i + 1; k < count; k++) {
      if (!cells[k].market || strcmp(cells[k].market, sum.market) != 0) continue;
      sum.uusd += cells[k].uusd;
      sum.gpu_time += cells[k].gpu_time;
      cells[k].market = NULL;
    }
    put_cell(json, "(others)", &sum);
  }
}

static void put_cells(struct hr__page_json *json, struct hr_cost_row *cells, size_t count) {
  size_t shown = count > MOST_CELLS ? MOST_CELLS : count;
  if (count > MOST_CELLS) qsort(cells, count, sizeof *cells, compare_cells);
  hr__page_open(json, "cells", '[');
  for (size_t i = 0; i < shown; i++) put_cell(json, cells[i].tenant, &cells[i]);
  put_rest(json, cells + shown, count - shown);
  hr__page_close(json, ']');
}

/* Rows come with tenants first, then what is idle, then what is shared; a tenant of such a name is before them. */
enum hr_status hr__page_cells(const struct hr__page_view *view, struct hr__page_json *json) {
  const struct hr_cost_summary *costs = view->run->summary->costs;
  int64_t shared_uusd = 0;
  size_t n_cells = 0, end = costs->n_rows;
  struct hr_cost_row *cells = malloc((costs->n_rows + 1) * sizeof *cells);
  if (!cells) return HR_NO_MEMORY;
  for (; end > 0 && strcmp(costs->rows[end - 1].tenant, hr__shared_name) == 0; end--)
    shared_uusd += costs->rows[end - 1].uusd;
  size_t idle = end;
  while (idle > 0 && strcmp(costs->rows[idle - 1].tenant, hr__idle_name) == 0) idle--;
  for (size_t i = 0; i < idle; n_cells++) i = sum_cell(costs, i, &cells[n_cells]);
  hr__page_open(json, "costs", '{');
  put_cells(json, cells, n_cells);
  hr__page_open(json, "idle", '[');
  for (size_t i = idle; i < end;) {
    i = sum_cell(costs, i, &cells[0]);
    put_cell(json, NULL, &cells[0]);
  }
  hr__page_close(json, ']');
  hr__page_usd(json, "shared_usd", shared_uusd);
  hr__page_close(json, '}');
  free(cells);
  return HR_OK;
}
