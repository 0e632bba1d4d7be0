/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "brute_books.h"

#include <string.h>

static int64_t price_at(const struct hr_market_spec *market, int64_t at_us) {
  int64_t price = market->price_uusd_h;
  for (uint32_t i = 0; i < market->n_prices; i++)
    if (market->prices[i].at_us <= at_us) price = market->prices[i].uusd_h;
  return price;
}

/* Returns the first time after `from_us` at which the price or the month changes, limited to `to_us`. */
static int64_t next_change(const struct hr_market_spec *market, int64_t from_us, int64_t to_us) {
  int64_t next_us = to_us;
  for (uint32_t i = 0; i < market->n_prices; i++)
    if (market->prices[i].at_us > from_us && market->prices[i].at_us < next_us) next_us = market->prices[i].at_us;
  for (int64_t month = 0; month <= BRUTE_MONTHS; month++)
    if (month * HR_MONTH_US > from_us && month * HR_MONTH_US < next_us) next_us = month * HR_MONTH_US;
  return next_us;
}

/* Adds to the pool's account the cost and the GPU time of `gpu_milli` milli-GPUs of the pool between two times. */
static void pay(const struct brute_log *log, struct brute_books *books, uint32_t pool, hr_amount gpu_milli,
                int64_t from_us, int64_t to_us) {
  const struct hr_market_spec *market = &log->cluster->pools[pool].market;
  for (int64_t at_us = from_us, next_us; at_us < to_us; at_us = next_us) {
    next_us = next_change(market, at_us, to_us);
    books->pools[pool].cost += gpu_milli * price_at(market, at_us) * (next_us - at_us);
    books->pools[pool].gpu_time += gpu_milli * (next_us - at_us);
  }
}

static bool is_free(const struct brute_log *log, const struct brute_session *session) {
  const struct hr_market_spec *market = &log->cluster->pools[session->pool].market;
  int64_t limit_us = market->billing.free_if_reclaimed_us;
  return market->market == HR_MARKET_SPOT && session->reclaimed && limit_us > 0 &&
         session->to_us <= session->from_us + limit_us;
}

static void count_session(const struct brute_log *log, struct brute_books *books, const struct brute_session *session) {
  const struct hr_pool_spec *spec = &log->cluster->pools[session->pool];
  const struct hr_billing *billing = &spec->market.billing;
  struct hr_pool_account *account = &books->pools[session->pool];
  hr_amount gpu_milli = (hr_amount)spec->gpus_per_node * 1000;
  int64_t up_us = session->to_us - session->from_us, billed_us = up_us;
  if (is_free(log, session)) {
    account->waived_time += gpu_milli * up_us;
    return;
  }
  if (billing->granularity_us > 0 && up_us % billing->granularity_us)
    billed_us += billing->granularity_us - up_us % billing->granularity_us;
  if (billed_us < billing->minimum_us) billed_us = billing->minimum_us;
  pay(log, books, session->pool, gpu_milli, session->from_us, session->to_us);
  account->cost += gpu_milli * (billed_us - up_us) * price_at(&spec->market, session->to_us);
  account->gpu_time += gpu_milli * (billed_us - up_us);
}

static void count_pool(const struct brute_log *log, struct brute_books *books, uint32_t pool) {
  const struct hr_pool_spec *spec = &log->cluster->pools[pool];
  hr_amount gpu_milli = (hr_amount)spec->gpus_per_node * spec->nodes * 1000;
  switch (spec->market.market) {
  case HR_MARKET_NONE:
  case HR_MARKET_OWNED:
    pay(log, books, pool, gpu_milli, 0, log->end_us);
    return;
  case HR_MARKET_RESERVED:
    pay(log, books, pool, gpu_milli, spec->market.from_us,
        spec->market.to_us == HR_NEVER_US ? log->end_us : spec->market.to_us);
    return;
  case HR_MARKET_ON_DEMAND:
  case HR_MARKET_SPOT:
    for (uint32_t i = 0; i < log->n_sessions; i++)
      if (log->sessions[i].pool == pool) count_session(log, books, &log->sessions[i]);
    return;
  case HR_N_MARKETS:
    break;
  }
}

static void count_use(const struct brute_log *log, struct brute_books *books, const struct brute_use *use) {
  const struct hr_market_spec *market = &log->cluster->pools[use->pool].market;
  const struct hr_trace *trace = log->trace;
  uint32_t tenant = trace->tenant && trace->tenant[use->job] != HR_NONE ? trace->tenant[use->job] : BRUTE_TENANTS - 1;
  uint32_t class_ = trace->class_ ? trace->class_[use->job] : HR_CLASS_UNKNOWN;
  struct hr_pool_account *pool = &books->pools[use->pool];
  if (use->session != HR_NONE && is_free(log, &log->sessions[use->session])) return;
  for (int64_t at_us = use->from_us, next_us; at_us < use->to_us; at_us = next_us) {
    next_us = next_change(market, at_us, use->to_us);
    struct brute_account *account = &books->accounts[use->pool][tenant][class_][at_us / HR_MONTH_US];
    hr_amount gpu_time = (hr_amount)use->gpu_milli * (next_us - at_us), amount = gpu_time * price_at(market, at_us);
    account->amount += amount;
    account->gpu_time += gpu_time;
    pool->used += amount;
    pool->used_time += gpu_time;
    if (market->on_demand_uusd_h != HR_UNKNOWN_UUSD_H) pool->on_demand += gpu_time * market->on_demand_uusd_h;
    books->jobs[use->job] += amount;
  }
}

void brute_count(const struct brute_log *log, struct brute_books *books) {
  memset(books, 0, sizeof *books);
  for (uint32_t i = 0; i < log->cluster->n_pools; i++) count_pool(log, books, i);
  for (uint32_t i = 0; i < log->n_uses; i++) count_use(log, books, &log->uses[i]);
}
