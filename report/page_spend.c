/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ledger keeps sums by month; this is the same money by bucket, made from the history: what nodes cost while they
 * were paid for, what jobs held of it, at the price of the moment. What a session is charged beyond its length falls to
 * the moment at which it ends.
 */

#include "report/page_spend.h"

#include <stdlib.h>

struct spender {
  const struct hr__page_view *view;
  struct hr__page_spending *spending;
  struct hr__price_sums *prices; /* by pool */
  struct hr__page_sessions sessions;
};

static const struct hr_pool_spec *pool_of(const struct spender *spender, uint32_t pool) {
  return &spender->view->run->cluster->pools[pool];
}

/* ---- What pools cost -------------------------------------------------------------------------------- */

static hr_amount node_milli(const struct hr_pool_spec *pool) {
  return (hr_amount)pool->gpus_per_node * 1000;
}

static void add_window(struct spender *spender, uint32_t pool) {
  const struct hr_pool_spec *spec = pool_of(spender, pool);
  const struct hr__page_grid *grid = &spender->view->grid;
  bool reserved = spec->market.market == HR_MARKET_RESERVED;
  int64_t end_us = grid->end_us, from_us = reserved ? spec->market.from_us : 0;
  int64_t to_us = reserved && spec->market.to_us != HR_NEVER_US ? spec->market.to_us : end_us;
  int64_t after_us = from_us > end_us ? from_us : end_us;
  hr_amount milli = node_milli(spec) * spec->nodes;
  hr__page_hold_priced(&spender->spending->market[spec->market.market], grid, from_us, to_us < end_us ? to_us : end_us,
                       milli, &spender->prices[pool]);
  if (to_us > after_us)
    spender->spending->after += milli * hr__price_sum_between(&spender->prices[pool], after_us, to_us);
}

static void add_session(struct spender *spender, const struct hr__page_session *session) {
  const struct hr_market_spec *market = &pool_of(spender, session->pool)->market;
  const struct hr__page_grid *grid = &spender->view->grid;
  struct hr__page_sums *sums = &spender->spending->market[market->market];
  hr_amount milli = node_milli(pool_of(spender, session->pool));
  if (session->free) return;
  int64_t length_us = session->to_us - session->since_us;
  int64_t extra_us = hr__billed_us(&market->billing, length_us) - length_us;
  hr__page_hold_priced(sums, grid, session->since_us, session->to_us, milli, &spender->prices[session->pool]);
  if (extra_us > 0)
    hr__page_put(sums, grid, session->to_us, milli * extra_us * hr_market_price_at(market, session->to_us));
}

/* ---- What jobs used --------------------------------------------------------------------------------- */

/* Of an attempt, what is paid for. */
static hr_amount paid_milli(const struct spender *spender, const struct hr_attempt *attempt) {
  const struct hr_market_spec *market = &pool_of(spender, attempt->pool.id)->market;
  hr_amount milli = attempt->gpu_milli;
  if (market->market != HR_MARKET_SPOT || market->billing.free_if_reclaimed_us == 0) return milli;
  const struct hr_slice *slices = hr_history_slices(spender->view->run->history, attempt);
  for (uint32_t i = 0; i < attempt->n_slices; i++)
    if (hr__page_is_free(&spender->sessions, slices[i].node.id, attempt->begin_us)) milli -= slices[i].gpu_milli;
  return milli;
}

static void add_attempt(struct spender *spender, const struct hr_attempt *attempt) {
  struct hr__page_spending *spending = spender->spending;
  const struct hr__page_grid *grid = &spender->view->grid;
  const struct hr__price_sums *prices = &spender->prices[attempt->pool.id];
  hr_amount milli = paid_milli(spender, attempt);
  hr__page_hold_priced(&spending->used, grid, attempt->begin_us, attempt->end_us, milli, prices);
  if (!spending->tenants.n_rows) return;
  uint32_t row = spending->tenants.row[hr__page_key(spender->view, HR__PAGE_TENANT, attempt)];
  hr__page_hold_priced(&spending->tenant[row], grid, attempt->begin_us, attempt->end_us, milli, prices);
}

static enum hr_status split_tenants(struct hr__page_spending *spending, const struct hr__page_view *view) {
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

/* ---- All of it -------------------------------------------------------------------------------------- */

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
                  (hr_amount)(costs->total_uusd - costs->capacity_uusd) * HR__PAGE_OTHER_PARTS);
}

typedef enum hr_status each_sums(struct hr__page_sums *sums, const struct hr__page_grid *grid);

static enum hr_status for_each(struct hr__page_spending *spending, const struct hr__page_grid *grid, each_sums *act) {
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

enum hr_status hr__page_spending_make(struct hr__page_spending *spending, const struct hr__page_view *view) {
  struct spender spender = {.view = view, .spending = spending};
  *spending = (struct hr__page_spending){0};
  enum hr_status status = split_tenants(spending, view);
  if (status == HR_OK) status = for_each(spending, &view->grid, hr__page_sums_init);
  if (status == HR_OK) status = open_prices(&spender);
  if (status == HR_OK) status = hr__page_sessions_make(&spender.sessions, view);
  if (status == HR_OK) {
    spend(&spender);
    for_each(spending, &view->grid, close_one);
  }
  for (uint32_t i = 0; spender.prices && i < view->run->cluster->n_pools; i++)
    hr__price_sums_finish(&spender.prices[i]);
  free(spender.prices);
  hr__page_sessions_finish(&spender.sessions);
  return status;
}

void hr__page_spending_finish(struct hr__page_spending *spending) {
  for_each(spending, NULL, finish_one);
  hr__page_split_finish(&spending->tenants);
}
