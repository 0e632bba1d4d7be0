/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Costs in the HTML report: over time, and by tenant and market.
 *
 * A session is the interval from the acquisition of a node of an elastic pool until the node is released or lost.
 *
 * The ledger contains sums by month only, so sums by bucket are computed from the history. The cost of a pool is the
 * price of its nodes while they are paid for. The cost of a job is the price of its GPUs while it runs. Idle cost is
 * the difference. Billing rules (minimum times, rounding) may bill a session for more than its duration; the difference
 * is added at the end of the session. Amounts are in units of the ledger.
 */

#include "report/costs/costs.h"
#include "report/page/page.h"
#include "sim/market/market.h"

#include <stdlib.h>
#include <string.h>

/* ---- Sessions ------------------------------------------------------------------------------------ */

struct page_session {
  int64_t since_us, to_us;
  uint32_t pool, node;
  bool free; /* not billed, because the node was reclaimed early enough */
};

struct page_sessions {
  struct page_session *at; /* sorted by node, then time */
  size_t count;
};

/* ---- Spending ------------------------------------------------------------------------------------ */

/* Services are spread over all buckets in parts of a micro-dollar, so that small amounts are not rounded to 0. */
#define OTHER_PARTS 1000000

struct page_spending {
  struct hr__page_sums used;                  /* cost of the GPUs that jobs used */
  struct hr__page_sums market[HR_N_MARKETS];  /* cost of the pools of each market, used or idle */
  struct hr__page_sums other;                 /* services, spread evenly over the run: micro-dollars x OTHER_PARTS */
  struct hr__page_sums tenant[HR__PAGE_ROWS]; /* `used` by tenant, for each row of `tenants` */
  struct hr__page_split tenants;
  bool in_use[HR_N_MARKETS];
  hr_amount after; /* cost of reservations after the end of the run */
};

static int compare(const void *a, const void *b) {
  const struct page_session *x = a, *y = b;
  if (x->node != y->node) return x->node < y->node ? -1 : 1;
  if (x->since_us != y->since_us) return x->since_us < y->since_us ? -1 : 1;
  return (x->to_us > y->to_us) - (x->to_us < y->to_us);
}

static void close_session(const struct hr__page_view *view, struct page_session *session,
                          const struct hr_node_change *change) {
  const struct hr_market_spec *market = &view->run->cluster->pools[session->pool].market;
  int64_t free_us = market->market == HR_MARKET_SPOT ? market->billing.free_if_reclaimed_us : 0;
  session->to_us = change->at_us;
  session->free = change->reason == HR_REASON_RECLAIMED && free_us > 0 && session->to_us - session->since_us <= free_us;
}

/* Updates the sessions with a node change. open[node] is the index + 1 of the open session of a node; 0: none. */
static void note_change(struct page_sessions *sessions, const struct hr__page_view *view, uint32_t *open,
                        const struct hr_node_change *change) {
  if (!hr_market_is_elastic(view->run->cluster->pools[change->pool.id].market.market)) return;
  uint32_t node = change->node.id;
  if (change->kind == HR_EVENT_ACQUIRE) {
    sessions->at[sessions->count++] =
        (struct page_session){change->at_us, view->grid.end_us, change->pool.id, node, false};
    open[node] = (uint32_t)sessions->count;
  } else if ((change->kind == HR_EVENT_RELEASE || change->kind == HR_EVENT_NODE_DOWN) && open[node]) {
    close_session(view, &sessions->at[open[node] - 1], change);
    open[node] = 0;
  }
}

static enum hr_status page_sessions_make(struct page_sessions *sessions, const struct hr__page_view *view) {
  size_t n_nodes = view->first_node[view->run->cluster->n_pools], max_sessions = 0;
  for (size_t i = 0; i < view->n_changes; i++) max_sessions += view->changes[i].kind == HR_EVENT_ACQUIRE;
  uint32_t *open = calloc(n_nodes + 1, sizeof *open);
  *sessions = (struct page_sessions){.at = calloc(max_sessions + 1, sizeof *sessions->at)};
  if (open && sessions->at)
    for (size_t i = 0; i < view->n_changes; i++) note_change(sessions, view, open, &view->changes[i]);
  bool good = open && sessions->at;
  if (good && sessions->count) qsort(sessions->at, sessions->count, sizeof *sessions->at, compare);
  free(open);
  return good ? HR_OK : HR_NO_MEMORY;
}

static void page_sessions_finish(struct page_sessions *sessions) {
  free(sessions->at);
  *sessions = (struct page_sessions){0};
}

/* Whether a node is free of charge at `begin_us`. This is the case if the last session of the node that began at or
   before `begin_us` is not billed. */
static bool page_is_free(const struct page_sessions *sessions, uint32_t node, int64_t begin_us) {
  size_t low = 0, high = sessions->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const struct page_session *session = &sessions->at[middle];
    bool before = session->node != node ? session->node < node : session->since_us <= begin_us;
    if (before)
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 && sessions->at[low - 1].node == node && sessions->at[low - 1].free;
}

/* ---- Cost of pools ------------------------------------------------------------------------------- */

struct spender {
  const struct hr__page_view *view;
  struct page_spending *spending;
  struct hr__price_sums *prices; /* [n_pools] */
  struct page_sessions sessions;
};

static const struct hr_pool_spec *pool_of(const struct spender *spender, uint32_t pool) {
  return &spender->view->run->cluster->pools[pool];
}

static hr_amount node_milli(const struct hr_pool_spec *pool) {
  return (hr_amount)pool->gpus_per_node * 1000;
}

/* Adds milli-GPUs x price during an interval. This takes constant time if the price is constant; otherwise the time is
   linear in the number of buckets of the interval. */
static void hold_priced(struct hr__page_sums *sums, const struct hr__page_grid *grid, int64_t from_us, int64_t to_us,
                        hr_amount milli, const struct hr__price_sums *prices) {
  if (!prices->market) return;
  if (!prices->before) {
    hr__page_hold(sums, grid, from_us, to_us, milli * prices->market->price_uusd_h);
    return;
  }
  if (from_us >= to_us || !grid->n) return;
  for (uint32_t i = hr__page_bucket(grid, from_us); from_us < to_us; i++) {
    int64_t end_us = hr__page_part_end_us(grid, i, to_us);
    sums->sum[i] += milli * hr__price_sum_between(prices, from_us, end_us);
    from_us = end_us;
  }
}

static void add_window(struct spender *spender, uint32_t pool) {
  const struct hr_pool_spec *spec = pool_of(spender, pool);
  const struct hr__page_grid *grid = &spender->view->grid;
  bool reserved = spec->market.market == HR_MARKET_RESERVED;
  int64_t end_us = grid->end_us, from_us = spec->market.from_us;
  int64_t to_us = reserved && spec->market.to_us != HR_NEVER_US ? spec->market.to_us : end_us;
  int64_t after_us = from_us > end_us ? from_us : end_us;
  hr_amount milli = node_milli(spec) * spec->nodes;
  hold_priced(&spender->spending->market[spec->market.market], grid, from_us, to_us < end_us ? to_us : end_us, milli,
              &spender->prices[pool]);
  if (to_us > after_us)
    spender->spending->after += milli * hr__price_sum_between(&spender->prices[pool], after_us, to_us);
}

static void add_session(struct spender *spender, const struct page_session *session) {
  const struct hr_market_spec *market = &pool_of(spender, session->pool)->market;
  const struct hr__page_grid *grid = &spender->view->grid;
  struct hr__page_sums *sums = &spender->spending->market[market->market];
  hr_amount milli = node_milli(pool_of(spender, session->pool));
  if (session->free) return;
  int64_t length_us = session->to_us - session->since_us;
  int64_t extra_us = hr__billed_us(&market->billing, length_us) - length_us;
  hold_priced(sums, grid, session->since_us, session->to_us, milli, &spender->prices[session->pool]);
  if (extra_us > 0)
    hr__page_put(sums, grid, session->to_us, milli * extra_us * hr_market_price_at(market, session->to_us));
}

/* ---- Use by jobs --------------------------------------------------------------------------------- */

/* Returns how many milli-GPUs of an attempt are billed. GPUs on nodes that are free of charge do not count. */
static hr_amount paid_milli(const struct spender *spender, const struct hr_attempt *attempt) {
  const struct hr_market_spec *market = &pool_of(spender, attempt->pool.id)->market;
  hr_amount milli = attempt->gpu_milli;
  if (market->market != HR_MARKET_SPOT || market->billing.free_if_reclaimed_us == 0) return milli;
  const struct hr_slice *slices = hr_history_slices(spender->view->run->history, attempt);
  for (uint32_t i = 0; i < attempt->n_slices; i++)
    if (page_is_free(&spender->sessions, slices[i].node.id, attempt->begin_us)) milli -= slices[i].gpu_milli;
  return milli;
}

static void add_attempt(struct spender *spender, const struct hr_attempt *attempt) {
  struct page_spending *spending = spender->spending;
  const struct hr__page_grid *grid = &spender->view->grid;
  const struct hr__price_sums *prices = &spender->prices[attempt->pool.id];
  hr_amount milli = paid_milli(spender, attempt);
  hold_priced(&spending->used, grid, attempt->begin_us, attempt->end_us, milli, prices);
  if (!spending->tenants.n_rows) return;
  uint32_t row = spending->tenants.row[hr__page_key(spender->view, HR__PAGE_TENANT, attempt)];
  hold_priced(&spending->tenant[row], grid, attempt->begin_us, attempt->end_us, milli, prices);
}

static enum hr_status split_tenants(struct page_spending *spending, const struct hr__page_view *view) {
  const struct hr_charge *charges;
  uint32_t n_keys = hr__page_keys(view, HR__PAGE_TENANT);
  if (n_keys == 0) return HR_OK;
  hr_amount *weight = calloc(n_keys, sizeof *weight);
  if (!weight) return HR_NO_MEMORY;
  size_t n_charges = hr_ledger_charges(view->run->ledger, &charges);
  for (size_t i = 0; i < n_charges; i++) {
    uint32_t tenant = charges[i].account.tenant;
    weight[tenant == HR_NONE ? n_keys - 1 : tenant] += charges[i].amount;
  }
  enum hr_status status = hr__page_split_make(&spending->tenants, weight, n_keys);
  free(weight);
  return status;
}

/* ---- All spending -------------------------------------------------------------------------------- */

static enum hr_status open_prices(struct spender *spender) {
  uint32_t n_pools = spender->view->run->cluster->n_pools;
  enum hr_status status = HR_OK;
  spender->prices = calloc((size_t)n_pools + 1, sizeof *spender->prices);
  if (!spender->prices) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < n_pools && status == HR_OK; i++)
    status = hr__price_sums_init(&spender->prices[i], &pool_of(spender, i)->market);
  return status;
}

static void spend(struct spender *spender) {
  const struct hr__page_view *view = spender->view;
  const struct hr_cost_summary *costs = view->run->summary->costs;
  for (uint32_t i = 0; i < view->run->cluster->n_pools; i++) {
    enum hr_market market = pool_of(spender, i)->market.market;
    if (pool_of(spender, i)->nodes) spender->spending->in_use[market] = market != HR_MARKET_NONE;
    if (!hr_market_is_elastic(market)) add_window(spender, i);
  }
  for (size_t i = 0; i < spender->sessions.count; i++) add_session(spender, &spender->sessions.at[i]);
  for (size_t i = 0; i < view->n_attempts; i++) add_attempt(spender, &view->attempts[i]);
  hr__page_spread(&spender->spending->other, &view->grid, 0, view->grid.end_us,
                  (hr_amount)(costs->total_uusd - costs->capacity_uusd) * OTHER_PARTS);
}

typedef enum hr_status each_sums(struct hr__page_sums *sums, const struct hr__page_grid *grid);

static enum hr_status for_each(struct page_spending *spending, const struct hr__page_grid *grid, each_sums *act) {
  enum hr_status status = act(&spending->used, grid);
  if (status == HR_OK) status = act(&spending->other, grid);
  for (uint32_t i = 0; i < HR_N_MARKETS && status == HR_OK; i++) status = act(&spending->market[i], grid);
  for (uint32_t i = 0; i < spending->tenants.n_rows && status == HR_OK; i++) status = act(&spending->tenant[i], grid);
  return status;
}

static enum hr_status close_one(struct hr__page_sums *sums, const struct hr__page_grid *grid) {
  hr__page_sums_close(sums, grid);
  return HR_OK;
}

static enum hr_status finish_one(struct hr__page_sums *sums, const struct hr__page_grid *grid) {
  (void)grid;
  hr__page_sums_finish(sums);
  return HR_OK;
}

static enum hr_status page_spending_make(struct page_spending *spending, const struct hr__page_view *view) {
  struct spender spender = {.view = view, .spending = spending};
  *spending = (struct page_spending){0};
  enum hr_status status = split_tenants(spending, view);
  if (status == HR_OK) status = for_each(spending, &view->grid, hr__page_sums_init);
  if (status == HR_OK) status = open_prices(&spender);
  if (status == HR_OK) status = page_sessions_make(&spender.sessions, view);
  if (status == HR_OK) {
    spend(&spender);
    for_each(spending, &view->grid, close_one);
  }
  for (uint32_t i = 0; spender.prices && i < view->run->cluster->n_pools; i++)
    hr__price_sums_finish(&spender.prices[i]);
  free(spender.prices);
  page_sessions_finish(&spender.sessions);
  return status;
}

static void page_spending_finish(struct page_spending *spending) {
  for_each(spending, NULL, finish_one);
  hr__page_split_finish(&spending->tenants);
}

/* ---- Series -------------------------------------------------------------------------------------- */

static const double units_per_usd = 1e6 * (double)HR_LEDGER_UNITS_PER_UUSD;

static const double parts_per_usd = 1e6 * OTHER_PARTS;

static void put_idle(const struct page_spending *spending, const struct hr__page_grid *grid,
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
  hr__page_name(json, "name", name);
  hr__page_put_sums(json, "usd", sums, grid, unit);
  hr__page_close(json, '}');
}

static void put_markets(const struct page_spending *spending, const struct hr__page_view *view,
                        struct hr__page_json *json, bool other) {
  hr__page_open(json, "by_market", '[');
  for (unsigned i = 0; i < HR_N_MARKETS; i++)
    if (spending->in_use[i])
      put_line(json, hr_market_name((enum hr_market)i), &spending->market[i], &view->grid, units_per_usd);
  if (other) put_line(json, hr__services_name, &spending->other, &view->grid, parts_per_usd);
  hr__page_close(json, ']');
}

static void put_tenants(const struct page_spending *spending, const struct hr__page_view *view,
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
  struct page_spending spending;
  enum hr_status status = page_spending_make(&spending, view);
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
  page_spending_finish(&spending);
  return status;
}

/* ---- By tenant and market ------------------------------------------------------------------------ */

/* A cell is the cost of one tenant in one market. The MAX_CELLS most expensive cells are written individually. All
   other cells are summed by market. */
enum { MAX_CELLS = 600 };

/* Whether two rows belong to the same cell. Their GPU types may differ. */
static bool same_cell(const struct hr_cost_row *a, const struct hr_cost_row *b) {
  return strcmp(a->tenant, b->tenant) == 0 && strcmp(a->market, b->market) == 0;
}

static void put_cell(struct hr__page_json *json, const char *tenant, const struct hr_cost_row *cell) {
  hr__page_open(json, NULL, '{');
  if (tenant) hr__page_name(json, "tenant", tenant);
  hr__page_text(json, "market", cell->market);
  hr__page_number(json, "gpu_hours", (double)cell->gpu_time / (1000 * 3600.0 * (double)HR_SECOND_US));
  hr__page_usd(json, "usd", cell->uusd);
  hr__page_close(json, '}');
}

/* Sums the rows of the cell that begins at row `begin`; returns the index after its last row. */
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

/* Writes the sums by market of `cells`, which are not written individually. Changes `cells`. */
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
  size_t shown = count > MAX_CELLS ? MAX_CELLS : count;
  if (count > MAX_CELLS) qsort(cells, count, sizeof *cells, compare_cells);
  hr__page_open(json, "cells", '[');
  for (size_t i = 0; i < shown; i++) put_cell(json, cells[i].tenant, &cells[i]);
  put_rest(json, cells + shown, count - shown);
  hr__page_close(json, ']');
}

/* The rows are sorted: first the tenants, then idle capacity, then shared costs. The function searches from the end, so
   that a tenant with the same name as one of the last two sections is not mistaken for it. */
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
