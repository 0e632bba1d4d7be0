/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the pools cost. The ledger's charges are cut by month; its idleness is not, and is laid to the months by the GPU
 * time that was paid for and not used in each. All of it is rounded to micro-dollars at once.
 */

#include "report/apportion.h"
#include "report/cost_items.h"
#include "report/meter.h"

#include <stdlib.h>

static bool is_priced(const struct hr__costing *costing, uint32_t pool) {
  return costing->cluster->pools[pool].market.market != HR_MARKET_NONE;
}

static enum hr_status add_charges(struct hr__costing *costing) {
  const struct hr_charge *charges = NULL;
  size_t n_charges = hr_ledger_charges(costing->basis->ledger, &charges);
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < n_charges && status == HR_OK; i++) {
    const struct hr_account *account = &charges[i].account;
    if (!is_priced(costing, account->pool)) continue;
    struct hr__cost_item item = {.kind = HR__COST_USE,
                                 .tenant = account->tenant == HR_NONE ? costing->nobody : account->tenant,
                                 .month = account->month,
                                 .pool = account->pool,
                                 .class_ = account->class_,
                                 .amount = charges[i].amount,
                                 .gpu_time = charges[i].gpu_time};
    status = hr__costing_add(costing, item);
  }
  return status;
}

/* By month: a pool's GPU time that was paid for and not used. Charges come by pool: `cursor` is where the pool's begin,
   and then end. */
static void weigh_months(const struct hr__costing *costing, uint32_t pool, size_t *cursor, hr_amount *weights) {
  const struct hr_pool_spec *spec = &costing->cluster->pools[pool];
  bool window = spec->market.market == HR_MARKET_RESERVED && spec->market.to_us != HR_NEVER_US;
  int64_t end_us = window ? HR_NEVER_US : costing->result->end_us;
  for (uint32_t month = 0; month < costing->n_months; month++)
    weights[month] =
        hr__meter_node_us(costing->basis->meter, (hr_pool){pool}, month, end_us) * spec->gpus_per_node * 1000;
  for (const struct hr__cost_item *item = costing->items + *cursor;
       *cursor < costing->n_items && item->kind == HR__COST_USE && item->pool == pool; item++, ++*cursor)
    weights[item->month] -= item->gpu_time;
  for (uint32_t month = 0; month < costing->n_months; month++)
    if (weights[month] < 0) weights[month] = 0;
}

/* `room` is for three amounts a month. */
static enum hr_status add_idle(struct hr__costing *costing, uint32_t pool, size_t *cursor, hr_amount *room) {
  const struct hr_pool_account *account = hr_ledger_pool(costing->basis->ledger, (hr_pool){pool});
  uint32_t n_months = costing->n_months;
  hr_amount *weights = room, *amounts = room + n_months, *times = room + 2 * n_months;
  weigh_months(costing, pool, cursor, weights);
  hr__spread(account->cost - account->used, weights, n_months, amounts);
  hr__spread(account->gpu_time - account->used_time, weights, n_months, times);
  enum hr_status status = HR_OK;
  for (uint32_t month = 0; month < n_months && status == HR_OK; month++)
    if (amounts[month] || times[month])
      status = hr__costing_add(costing, (struct hr__cost_item){.kind = HR__COST_IDLE,
                                                               .tenant = HR_NONE,
                                                               .month = month,
                                                               .pool = pool,
                                                               .amount = amounts[month],
                                                               .gpu_time = times[month]});
  return status;
}

static enum hr_status round_items(struct hr__costing *costing) {
  hr_amount *amounts = malloc((costing->n_items + 1) * sizeof *amounts);
  int64_t *parts = malloc((costing->n_items + 1) * sizeof *parts);
  enum hr_status status = amounts && parts ? HR_OK : HR_NO_MEMORY;
  if (status == HR_OK) {
    for (size_t i = 0; i < costing->n_items; i++) amounts[i] = costing->items[i].amount;
    status = hr__apportion(amounts, costing->n_items, HR_LEDGER_UNITS_PER_UUSD, parts);
  }
  for (size_t i = 0; i < costing->n_items && status == HR_OK; i++) costing->items[i].uusd = parts[i];
  free(amounts);
  free(parts);
  return status;
}

enum hr_status hr__cost_capacity(struct hr__costing *costing) {
  hr_amount *room = calloc((size_t)costing->n_months * 3, sizeof *room);
  enum hr_status status = room ? add_charges(costing) : HR_NO_MEMORY;
  size_t cursor = 0;
  for (uint32_t i = 0; i < costing->cluster->n_pools && status == HR_OK; i++)
    if (is_priced(costing, i)) status = add_idle(costing, i, &cursor, room);
  free(room);
  return status == HR_OK ? round_items(costing) : status;
}
