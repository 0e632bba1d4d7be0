/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows for a spreadsheet: items sorted by what a row is of, and summed. */

#include "report/cost_tables.h"

#include <stdlib.h>
#include <string.h>

/* What a row is of; rows stand in this order. */
struct key {
  uint32_t section; /* tenants' GPUs, tenants' services, idleness, shared services */
  uint32_t tenant;  /* of tenants' rows */
  uint32_t market;  /* of services: their kind */
  uint32_t gpu;     /* a pool of the GPU type; HR_NONE: of services */
};

struct keyed {
  struct key key;
  const struct hr__cost_item *item;
};

static struct key key_of(const struct hr__costing *costing, const struct hr__cost_item *item) {
  bool service = hr__is_service(item->kind);
  struct key key = {.section = (item->tenant == HR_NONE ? 2u : 0u) + service, .tenant = item->tenant};
  key.market = service ? (uint32_t)item->kind : (uint32_t)costing->cluster->pools[item->pool].market.market;
  key.gpu = service ? HR_NONE : costing->first_of_gpu[item->pool];
  return key;
}

static int compare(const void *a, const void *b) {
  const struct key *x = &((const struct keyed *)a)->key, *y = &((const struct keyed *)b)->key;
  if (x->section != y->section) return x->section < y->section ? -1 : 1;
  if (x->tenant != y->tenant) return x->tenant < y->tenant ? -1 : 1;
  if (x->market != y->market) return x->market < y->market ? -1 : 1;
  return (x->gpu > y->gpu) - (x->gpu < y->gpu);
}

static const char *service_name(enum hr__cost_kind kind) {
  static const char *const names[HR__COST_KINDS] = {[HR__COST_STORAGE] = "(storage)",
                                                    [HR__COST_EGRESS] = "(egress)",
                                                    [HR__COST_OPERATIONS] = "(operations)",
                                                    [HR__COST_DOWNTIME] = "(downtime)",
                                                    [HR__COST_SAVINGS_PLAN] = "(savings-plan)"};
  return names[kind];
}

static enum hr_status begin_row(const struct hr__costing *costing, const struct keyed *keyed,
                                struct hr_cost_summary *costs) {
  const struct hr__cost_item *item = keyed->item;
  bool service = hr__is_service(item->kind);
  const char *nobody = service ? hr__shared_name : hr__idle_name;
  const struct hr_pool_spec *pool = service ? NULL : &costing->cluster->pools[item->pool];
  struct hr_cost_row *row = &costs->rows[costs->n_rows++];
  row->tenant = strdup(item->tenant == HR_NONE ? nobody : costing->tenants[item->tenant]);
  row->market = strdup(service ? service_name(item->kind) : hr_market_name(pool->market.market));
  row->gpu = strdup(service ? "" : hr__name_or_nothing(pool->gpu));
  return row->tenant && row->market && row->gpu ? HR_OK : HR_NO_MEMORY;
}

enum hr_status hr__cost_rows(const struct hr__costing *costing, struct hr_cost_summary *costs) {
  struct keyed *keyed = malloc((costing->n_items + 1) * sizeof *keyed);
  costs->rows = calloc(costing->n_items + 1, sizeof *costs->rows);
  enum hr_status status = keyed && costs->rows ? HR_OK : HR_NO_MEMORY;
  for (size_t i = 0; i < costing->n_items && status == HR_OK; i++)
    keyed[i] = (struct keyed){key_of(costing, &costing->items[i]), &costing->items[i]};
  if (status == HR_OK && costing->n_items) qsort(keyed, costing->n_items, sizeof *keyed, compare);
  for (size_t i = 0; i < costing->n_items && status == HR_OK; i++) {
    if (i == 0 || compare(&keyed[i - 1], &keyed[i]) != 0) status = begin_row(costing, &keyed[i], costs);
    costs->rows[costs->n_rows - 1].uusd += keyed[i].item->uusd;
    costs->rows[costs->n_rows - 1].gpu_time += keyed[i].item->gpu_time;
  }
  free(keyed);
  return status;
}
