/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The cost tables of the summary, computed from the cost items.
 *
 * Each breakdown (by market, pool, class and GPU type) is computed in one pass over the items. Rows of the CSV file are
 * computed from the items sorted by tenant, market and GPU type. Monthly statements are computed from the items sorted
 * by tenant and month. The idle and shared costs of a month are then split among the statements of that month by the
 * rule of the scenario (`idle_split`). In a month in which no tenant used GPUs, they are not split. The sums by tenant
 * and the use of budgets are computed from the statements.
 */

#include "report/metrics/metrics.h"

#include "base/output_file.h"
#include "headroom/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Breakdowns ------------------------------------------------------------------------------------ */

const char hr__idle_name[] = "(idle)", hr__shared_name[] = "(shared)", hr__services_name[] = "(services)";

/* Appends a line to the array, which must have space for it. */
static enum hr_status cost_line_add(struct hr_cost_lines *lines, const char *name, int64_t uusd) {
  char *copy = strdup(name);
  if (!copy) return HR_NO_MEMORY;
  lines->line[lines->count++] = (struct hr_cost_line){copy, uusd};
  return HR_OK;
}

/* The keys of the breakdowns of the costs. */
enum breakdown { BY_MARKET, BY_POOL, BY_CLASS, BY_GPU };

/* Returns the key of an item; HR_NONE if it has none. */
static uint32_t breakdown_key(const struct hr__costing *costing, enum breakdown by, const struct hr__cost_item *item) {
  if (by == BY_CLASS) return item->kind == HR__COST_USE ? item->class_ : HR_NONE;
  if (by == BY_POOL || item->pool == HR_NONE) return item->pool;
  return by == BY_GPU ? costing->first_of_gpu[item->pool] : (uint32_t)costing->cluster->pools[item->pool].market.market;
}

static const char *breakdown_name(const struct hr__costing *costing, enum breakdown by, uint32_t key) {
  if (by == BY_MARKET) return hr_market_name((enum hr_market)key);
  if (by == BY_CLASS) return hr_job_class_name((enum hr_job_class)key);
  return hr__name_or_empty(by == BY_GPU ? costing->cluster->pools[key].gpu : costing->cluster->pools[key].name);
}

static bool is_service(enum hr__cost_kind kind) {
  return kind > HR__COST_IDLE;
}

static enum hr_status add_rest(const struct hr__costing *costing, enum breakdown by, struct hr_cost_lines *lines) {
  int64_t idle = 0, services = 0;
  for (size_t i = 0; i < costing->n_items; i++) {
    const struct hr__cost_item *item = &costing->items[i];
    if (breakdown_key(costing, by, item) != HR_NONE) continue;
    if (is_service(item->kind))
      services += item->uusd;
    else
      idle += item->uusd;
  }
  enum hr_status status = idle ? cost_line_add(lines, hr__idle_name, idle) : HR_OK;
  return status == HR_OK && services ? cost_line_add(lines, hr__services_name, services) : status;
}

/* Fills `lines` with the sum of the items of each of `n_keys` keys. Omits keys without items, except keys of pools with
   prices. */
static enum hr_status break_down(const struct hr__costing *costing, enum breakdown by, uint32_t n_keys,
                                 struct hr_cost_lines *lines) {
  const struct hr_cluster_spec *cluster = costing->cluster;
  int64_t *sums = calloc(n_keys + 1, sizeof *sums);
  bool *any = calloc(n_keys + 1, sizeof *any);
  lines->line = calloc((size_t)n_keys + 2, sizeof *lines->line);
  enum hr_status status = sums && any && lines->line ? HR_OK : HR_NO_MEMORY;
  for (uint32_t i = 0; i < cluster->n_pools && status == HR_OK && by != BY_CLASS; i++)
    if (cluster->pools[i].market.market != HR_MARKET_NONE)
      any[breakdown_key(costing, by, &(struct hr__cost_item){.pool = i})] = true;
  for (size_t i = 0; i < costing->n_items && status == HR_OK; i++) {
    uint32_t key = breakdown_key(costing, by, &costing->items[i]);
    if (key == HR_NONE) continue;
    sums[key] += costing->items[i].uusd;
    any[key] = true;
  }
  for (uint32_t key = 0; key < n_keys && status == HR_OK; key++)
    if (any[key]) status = cost_line_add(lines, breakdown_name(costing, by, key), sums[key]);
  if (status == HR_OK) status = add_rest(costing, by, lines);
  free(sums);
  free(any);
  return status;
}

/* Fills by_market, by_pool, by_class and by_gpu. */
static enum hr_status cost_breakdowns(const struct hr__costing *costing, struct hr_cost_summary *costs) {
  uint32_t n_pools = costing->cluster->n_pools;
  enum hr_status status = break_down(costing, BY_MARKET, HR_N_MARKETS, &costs->by_market);
  if (status == HR_OK) status = break_down(costing, BY_POOL, n_pools, &costs->by_pool);
  if (status == HR_OK) status = break_down(costing, BY_CLASS, HR_N_CLASSES, &costs->by_class);
  return status == HR_OK ? break_down(costing, BY_GPU, n_pools, &costs->by_gpu) : status;
}

/* Sums the use of GPUs by inference service and market. */
static enum hr_status cost_services(const struct hr__costing *costing, struct hr_cost_summary *costs) {
  const struct hr_charge *charges = NULL;
  const size_t n_charges = hr_ledger_charges(costing->basis->ledger, &charges);
  uint32_t count = 0;
  for (size_t i = 0; i < n_charges; i++) {
    const uint32_t service = charges[i].account.service;
    if (service != HR_NONE && service >= count) count = service + 1;
  }
  costs->services = calloc((size_t)count + 1, sizeof *costs->services);
  if (!costs->services) return HR_NO_MEMORY;
  costs->n_services = count;
  for (size_t i = 0; i < n_charges; i++) {
    const struct hr_account *account = &charges[i].account;
    if (account->service != HR_NONE && costing->cluster->pools[account->pool].market.market == HR_MARKET_NONE)
      costs->services[account->service].is_partial = true;
  }
  for (size_t i = 0; i < costing->n_items; i++) {
    const struct hr__cost_item *item = &costing->items[i];
    if (item->kind == HR__COST_USE && item->service != HR_NONE)
      costs->services[item->service].uusd[costing->cluster->pools[item->pool].market.market] += item->uusd;
  }
  return HR_OK;
}

/* ---- Rows of the CSV file -------------------------------------------------------------------------- */

/* Sort key of a row. */
struct costs_key {
  uint32_t section; /* 0: GPUs of tenants, 1: services of tenants, 2: idle capacity, 3: shared services */
  uint32_t tenant;  /* HR_NONE in sections 2 and 3 */
  uint32_t market;  /* for services: enum hr__cost_kind */
  uint32_t gpu;     /* index of the first pool with the GPU type; HR_NONE: services */
};

struct sorted_item {
  struct costs_key key;
  const struct hr__cost_item *item;
};

static struct costs_key key_of(const struct hr__costing *costing, const struct hr__cost_item *item) {
  bool service = is_service(item->kind);
  struct costs_key key = {.section = (item->tenant == HR_NONE ? 2u : 0u) + service, .tenant = item->tenant};
  key.market = service ? (uint32_t)item->kind : (uint32_t)costing->cluster->pools[item->pool].market.market;
  key.gpu = service ? HR_NONE : costing->first_of_gpu[item->pool];
  return key;
}

static int compare(const void *a, const void *b) {
  const struct costs_key *x = &((const struct sorted_item *)a)->key, *y = &((const struct sorted_item *)b)->key;
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

static enum hr_status begin_row(const struct hr__costing *costing, const struct sorted_item *keyed,
                                struct hr_cost_summary *costs) {
  const struct hr__cost_item *item = keyed->item;
  bool service = is_service(item->kind);
  const char *no_tenant_name = service ? hr__shared_name : hr__idle_name;
  const struct hr_pool_spec *pool = service ? NULL : &costing->cluster->pools[item->pool];
  struct hr_cost_row *row = &costs->rows[costs->n_rows++];
  row->tenant = strdup(item->tenant == HR_NONE ? no_tenant_name : costing->tenants[item->tenant]);
  row->market = strdup(service ? service_name(item->kind) : hr_market_name(pool->market.market));
  row->gpu = strdup(service ? "" : hr__name_or_empty(pool->gpu));
  return row->tenant && row->market && row->gpu ? HR_OK : HR_NO_MEMORY;
}

/* Fills the rows of the CSV file. */
static enum hr_status cost_rows(const struct hr__costing *costing, struct hr_cost_summary *costs) {
  struct sorted_item *keyed = malloc((costing->n_items + 1) * sizeof *keyed);
  costs->rows = calloc(costing->n_items + 1, sizeof *costs->rows);
  enum hr_status status = keyed && costs->rows ? HR_OK : HR_NO_MEMORY;
  for (size_t i = 0; i < costing->n_items && status == HR_OK; i++)
    keyed[i] = (struct sorted_item){key_of(costing, &costing->items[i]), &costing->items[i]};
  if (status == HR_OK && costing->n_items) qsort(keyed, costing->n_items, sizeof *keyed, compare);
  for (size_t i = 0; i < costing->n_items && status == HR_OK; i++) {
    if (i == 0 || compare(&keyed[i - 1], &keyed[i]) != 0) status = begin_row(costing, &keyed[i], costs);
    costs->rows[costs->n_rows - 1].uusd += keyed[i].item->uusd;
    costs->rows[costs->n_rows - 1].gpu_time += keyed[i].item->gpu_time;
  }
  free(keyed);
  return status;
}

/* ---- Statements ------------------------------------------------------------------------------------ */

/* The statement of one tenant for one month. The tenant is identified by its index instead of its name. */
struct costs_draft {
  uint32_t tenant, month;
  bool used_gpus;
  struct hr_statement sums; /* `tenant` is not set */
};

struct drafts {
  struct costs_draft *draft;
  size_t count;
  int64_t *idle, *shared; /* by month: costs that are not (or not yet) split among the tenants */
};

static int by_tenant_and_month(const void *a, const void *b) {
  const struct hr__cost_item *x = a, *y = b;
  if (x->tenant != y->tenant) return x->tenant < y->tenant ? -1 : 1;
  return (x->month > y->month) - (x->month < y->month);
}

static int64_t *use_line(struct hr_statement *sums, uint8_t class_) {
  switch ((enum hr_job_class)class_) {
  case HR_CLASS_TRAINING:
  case HR_CLASS_FINE_TUNE:
  case HR_CLASS_DATA_PREP:
    return &sums->training_uusd;
  case HR_CLASS_INFERENCE:
  case HR_CLASS_BATCH_INFERENCE:
    return &sums->inference_uusd;
  case HR_CLASS_INTERACTIVE:
  case HR_CLASS_UNKNOWN:
  case HR_N_CLASSES:
    break;
  }
  return &sums->other_uusd;
}

static void add_item(struct costs_draft *draft, const struct hr__cost_item *item) {
  struct hr_statement *sums = &draft->sums;
  if (item->kind == HR__COST_USE) {
    *use_line(sums, item->class_) += item->uusd;
    draft->used_gpus |= item->gpu_time > 0;
  }
  if (item->kind == HR__COST_STORAGE) sums->storage_uusd += item->uusd;
  if (item->kind == HR__COST_EGRESS) sums->egress_uusd += item->uusd;
  if (item->kind == HR__COST_DOWNTIME) sums->downtime_uusd += item->uusd;
}

static enum hr_status make_drafts(struct hr__costing *costing, struct drafts *drafts) {
  if (costing->n_items) qsort(costing->items, costing->n_items, sizeof *costing->items, by_tenant_and_month);
  drafts->draft = calloc(costing->n_items + 1, sizeof *drafts->draft);
  drafts->idle = calloc((size_t)costing->n_months * 2, sizeof *drafts->idle);
  if (!drafts->draft || !drafts->idle) return HR_NO_MEMORY;
  drafts->shared = drafts->idle + costing->n_months;
  for (size_t i = 0; i < costing->n_items; i++) {
    const struct hr__cost_item *item = &costing->items[i];
    if (item->tenant == HR_NONE) {
      *(is_service(item->kind) ? &drafts->shared[item->month] : &drafts->idle[item->month]) += item->uusd;
      continue;
    }
    struct costs_draft *last = drafts->count ? &drafts->draft[drafts->count - 1] : NULL;
    if (!last || last->tenant != item->tenant || last->month != item->month) {
      last = &drafts->draft[drafts->count++];
      last->tenant = item->tenant;
      last->month = item->month;
    }
    add_item(last, item);
  }
  return HR_OK;
}

/* ---- Splitting ------------------------------------------------------------------------------------- */

/* Scratch space for the statements of one month. */
struct costs_split {
  struct costs_draft **members;
  hr_amount *amounts;
  int64_t *parts;
  size_t count;
};

static int64_t weight_of(const struct costs_draft *draft, enum hr_idle_split rule) {
  const struct hr_statement *sums = &draft->sums;
  if (!draft->used_gpus) return 0;
  return rule == HR_IDLE_SPLIT_EVEN ? 1 : sums->training_uusd + sums->inference_uusd + sums->other_uusd;
}

/* Splits `*sum`, which may be negative, among the members of `split`, stores the parts in split->parts, and sets `*sum`
   to 0. If all weights are 0, all parts are 0 and `*sum` is unchanged. */
static enum hr_status split_sum(struct costs_split *split, enum hr_idle_split rule, int64_t *sum) {
  hr_amount all = 0, size = *sum < 0 ? -(hr_amount)*sum : *sum;
  for (size_t i = 0; i < split->count; i++) {
    split->amounts[i] = size * weight_of(split->members[i], rule);
    split->parts[i] = 0;
    all += weight_of(split->members[i], rule);
  }
  if (all == 0) return HR_OK;
  enum hr_status status = hr__apportion(split->amounts, split->count, all, split->parts);
  if (*sum < 0)
    for (size_t i = 0; i < split->count; i++) split->parts[i] = -split->parts[i];
  *sum = 0;
  return status;
}

static enum hr_status split_month(struct costs_split *split, enum hr_idle_split rule, int64_t *idle, int64_t *shared) {
  enum hr_status status = split_sum(split, rule, idle);
  for (size_t i = 0; i < split->count; i++) split->members[i]->sums.idle_uusd = split->parts[i];
  if (status == HR_OK) status = split_sum(split, rule, shared);
  for (size_t i = 0; i < split->count; i++) split->members[i]->sums.shared_uusd = split->parts[i];
  return status;
}

static int members_by_month(const void *a, const void *b) {
  const struct costs_draft *x = *(struct costs_draft *const *)a, *y = *(struct costs_draft *const *)b;
  if (x->month != y->month) return x->month < y->month ? -1 : 1;
  return (x->tenant > y->tenant) - (x->tenant < y->tenant);
}

static enum hr_status split_all(struct drafts *drafts, enum hr_idle_split rule) {
  if (rule == HR_IDLE_SPLIT_NONE || drafts->count == 0) return HR_OK;
  struct costs_draft **members = malloc(drafts->count * sizeof *members);
  hr_amount *amounts = malloc(drafts->count * sizeof *amounts);
  int64_t *parts = malloc(drafts->count * sizeof *parts);
  enum hr_status status = members && amounts && parts ? HR_OK : HR_NO_MEMORY;
  for (size_t i = 0; i < drafts->count && status == HR_OK; i++) members[i] = &drafts->draft[i];
  if (status == HR_OK) qsort(members, drafts->count, sizeof *members, members_by_month);
  for (size_t i = 0, end = 0; i < drafts->count && status == HR_OK; i = end) {
    uint32_t month = members[i]->month;
    while (end < drafts->count && members[end]->month == month) end++;
    struct costs_split split = {members + i, amounts, parts, end - i};
    status = split_month(&split, rule, &drafts->idle[month], &drafts->shared[month]);
  }
  free(members);
  free(amounts);
  free(parts);
  return status;
}

/* ---- Output of statements -------------------------------------------------------------------------- */

static enum hr_status put_statements(const struct hr__costing *costing, struct drafts *drafts,
                                     struct hr_cost_summary *costs) {
  costs->statements = calloc(drafts->count + 1, sizeof *costs->statements);
  if (!costs->statements) return HR_NO_MEMORY;
  for (size_t i = 0; i < drafts->count; i++) {
    struct hr_statement *sums = &drafts->draft[i].sums;
    sums->month = drafts->draft[i].month;
    sums->total_uusd = sums->training_uusd + sums->inference_uusd + sums->other_uusd + sums->storage_uusd +
                       sums->egress_uusd + sums->downtime_uusd + sums->shared_uusd + sums->idle_uusd;
    struct hr_statement *shown = &costs->statements[i];
    *shown = *sums;
    shown->tenant = strdup(costing->tenants[drafts->draft[i].tenant]);
    if (!shown->tenant) return HR_NO_MEMORY;
    costs->n_statements++;
  }
  return HR_OK;
}

struct tenant_sum {
  uint32_t tenant;
  int64_t uusd;
};

static int largest_first(const void *a, const void *b) {
  const struct tenant_sum *x = a, *y = b;
  if (x->uusd != y->uusd) return x->uusd > y->uusd ? -1 : 1;
  return (x->tenant > y->tenant) - (x->tenant < y->tenant);
}

static int64_t sum_over(const int64_t *by_month, uint32_t n_months) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < n_months; i++) sum += by_month[i];
  return sum;
}

static enum hr_status put_tenants(const struct hr__costing *costing, const struct drafts *drafts,
                                  struct hr_cost_summary *costs) {
  struct tenant_sum *sums = malloc((drafts->count + 1) * sizeof *sums);
  costs->by_tenant.line = calloc(drafts->count + 2, sizeof *costs->by_tenant.line);
  enum hr_status status = sums && costs->by_tenant.line ? HR_OK : HR_NO_MEMORY;
  size_t count = 0;
  for (size_t i = 0; i < drafts->count && status == HR_OK; i++) {
    const struct costs_draft *draft = &drafts->draft[i];
    if (count == 0 || sums[count - 1].tenant != draft->tenant) sums[count++] = (struct tenant_sum){draft->tenant, 0};
    sums[count - 1].uusd += draft->sums.total_uusd;
  }
  if (count) qsort(sums, count, sizeof *sums, largest_first);
  for (size_t i = 0; i < count && status == HR_OK; i++)
    status = cost_line_add(&costs->by_tenant, costing->tenants[sums[i].tenant], sums[i].uusd);
  free(sums);
  if (status != HR_OK) return status;
  int64_t idle = sum_over(drafts->idle, costing->n_months), shared = sum_over(drafts->shared, costing->n_months);
  if (idle) status = cost_line_add(&costs->by_tenant, hr__idle_name, idle);
  return status == HR_OK && shared ? cost_line_add(&costs->by_tenant, hr__shared_name, shared) : status;
}

static int64_t spent(const struct drafts *drafts, uint32_t tenant, uint32_t month) {
  size_t low = 0, high = drafts->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const struct costs_draft *draft = &drafts->draft[middle];
    if (draft->tenant < tenant || (draft->tenant == tenant && draft->month < month))
      low = middle + 1;
    else
      high = middle;
  }
  bool found = low < drafts->count && drafts->draft[low].tenant == tenant && drafts->draft[low].month == month;
  return found ? drafts->draft[low].sums.total_uusd : 0;
}

static enum hr_status put_budgets(const struct hr__costing *costing, const struct drafts *drafts,
                                  struct hr_cost_summary *costs) {
  const struct hr_cost_spec *spec = costing->basis->spec;
  if (!spec || spec->n_budgets == 0) return HR_OK;
  costs->budgets = calloc(spec->n_budgets * costing->n_months, sizeof *costs->budgets);
  if (!costs->budgets) return HR_NO_MEMORY;
  for (size_t i = 0; i < spec->n_budgets; i++) {
    const struct hr_budget *budget = &spec->budgets[i];
    uint32_t tenant = hr__costing_tenant(costing, budget->tenant);
    for (uint32_t month = 0; month < costing->n_months; month++) {
      int64_t spent_uusd = spent(drafts, tenant, month);
      struct hr_budget_line line = {.tenant = strdup(budget->tenant),
                                    .month = month,
                                    .budget_uusd = budget->uusd_per_month,
                                    .spent_uusd = spent_uusd,
                                    .over = spent_uusd > budget->uusd_per_month};
      if (!line.tenant) return HR_NO_MEMORY;
      costs->budgets[costs->n_budgets++] = line;
    }
  }
  return HR_OK;
}

/* Fills statements, by_tenant and budgets. Reorders the items. */
static enum hr_status cost_statements(struct hr__costing *costing, struct hr_cost_summary *costs) {
  struct drafts drafts = {0};
  const struct hr_cost_spec *spec = costing->basis->spec;
  enum hr_status status = make_drafts(costing, &drafts);
  if (status == HR_OK) status = split_all(&drafts, spec ? spec->idle_split : HR_IDLE_SPLIT_NONE);
  if (status == HR_OK) status = put_statements(costing, &drafts, costs);
  if (status == HR_OK) status = put_tenants(costing, &drafts, costs);
  if (status == HR_OK) status = put_budgets(costing, &drafts, costs);
  free(drafts.draft);
  free(drafts.idle);
  return status;
}

/* ---- Totals and ratios ----------------------------------------------------------------------------- */

static enum hr_status sum_items(const struct hr__costing *costing, struct hr_cost_summary *costs) {
  hr_amount total = 0;
  for (size_t i = 0; i < costing->n_items; i++) total += costing->items[i].uusd;
  if (total >= HR__MAX_UUSD || total <= -HR__MAX_UUSD) return HR_BAD_INPUT;
  costs->total_uusd = (int64_t)total;
  for (size_t i = 0; i < costing->n_items; i++) {
    const struct hr__cost_item *item = &costing->items[i];
    if (!is_service(item->kind)) costs->capacity_uusd += item->uusd;
    if (item->kind == HR__COST_IDLE) costs->idle_uusd += item->uusd;
    if (is_service(item->kind) && item->tenant == HR_NONE) costs->shared_uusd += item->uusd;
  }
  return HR_OK;
}

/* Returns the cost of the used GPU time at on-demand prices, plus the services at their actual cost. Savings plans are
   excluded. Returns HR_UNKNOWN_UUSD if the on-demand price of a used pool is unknown or the sum is too large. */
static int64_t all_on_demand_uusd(const struct hr__costing *costing) {
  hr_amount units = 0, uusd = 0;
  for (uint32_t i = 0; i < costing->cluster->n_pools; i++) {
    const struct hr_market_spec *market = &costing->cluster->pools[i].market;
    const struct hr_pool_account *account = hr_ledger_pool(costing->basis->ledger, (hr_pool){i});
    if (market->market == HR_MARKET_NONE || account->used_time == 0) continue;
    if (market->on_demand_uusd_h < 0) return HR_UNKNOWN_UUSD;
    units += account->on_demand;
  }
  for (size_t i = 0; i < costing->n_items; i++) {
    enum hr__cost_kind kind = costing->items[i].kind;
    if (is_service(kind) && kind != HR__COST_SAVINGS_PLAN) uusd += costing->items[i].uusd;
  }
  uusd += hr__divided(units, HR_LEDGER_UNITS_PER_UUSD);
  return uusd < HR__MAX_UUSD ? (int64_t)uusd : HR_UNKNOWN_UUSD;
}

static int64_t per(int64_t uusd, hr_amount unit, hr_amount count) {
  if (count <= 0) return HR_UNKNOWN_UUSD;
  hr_amount each = hr__divided((hr_amount)uusd * unit, count);
  return each < HR__MAX_UUSD && each > -HR__MAX_UUSD ? (int64_t)each : HR_UNKNOWN_UUSD;
}

/* Returns whether the nodes of a pool are paid only while they are used. */
static bool is_by_use(const struct hr__costing *costing, uint32_t pool) {
  return pool != HR_NONE && hr_market_is_elastic(costing->cluster->pools[pool].market.market) &&
         !costing->result->pools[pool].is_kept;
}

/* Returns the monthly cost in steady state; HR_UNKNOWN_UUSD if unknown. The cost of capacity that is paid while it is
   used is divided by the time until the last submit, because in steady state jobs never stop arriving. All other costs
   are divided by the duration of the run. */
static int64_t monthly_uusd(const struct hr__costing *costing) {
  const struct hr_result *result = costing->result;
  const struct hr_trace *trace = costing->trace;
  uint64_t n_jobs = trace->n_jobs - trace->n_added; /* the result also counts the replicas of services */
  if (n_jobs > result->n_submitted) n_jobs = result->n_submitted;
  while (n_jobs > 0 && trace->submit_us[n_jobs - 1] > result->end_us) n_jobs--;
  int64_t last_us = n_jobs ? trace->submit_us[n_jobs - 1] : 0;
  int64_t window_us = last_us > 0 && last_us < result->end_us ? last_us : result->end_us;
  hr_amount used = 0, fixed = 0;
  for (size_t i = 0; i < costing->n_items; i++)
    *(is_by_use(costing, costing->items[i].pool) ? &used : &fixed) += costing->items[i].uusd;
  int64_t of_used = per((int64_t)used, HR_MONTH_US, window_us);
  int64_t of_fixed = per((int64_t)fixed, HR_MONTH_US, result->end_us);
  if (of_used == HR_UNKNOWN_UUSD || of_fixed == HR_UNKNOWN_UUSD) return HR_UNKNOWN_UUSD;
  return of_used + of_fixed;
}

static void fill_ratios(const struct hr__costing *costing, hr_amount useful_milli_us, struct hr_cost_summary *costs) {
  const struct hr_result *result = costing->result;
  costs->all_on_demand_uusd = all_on_demand_uusd(costing);
  costs->saving_vs_on_demand = (double)NAN;
  if (costs->all_on_demand_uusd > 0)
    costs->saving_vs_on_demand = 1 - (double)costs->total_uusd / (double)costs->all_on_demand_uusd;
  costs->per_completed_job_uusd = per(costs->total_uusd, 1, (hr_amount)result->n_completed);
  costs->per_goodput_gpu_hour_uusd = per(costs->total_uusd, 3600 * 1000 * HR_SECOND_US, useful_milli_us);
  costs->monthly_uusd = monthly_uusd(costing);
}

/* ---- Life cycle ------------------------------------------------------------------------------------ */

static enum hr_status fill(struct hr__costing *costing, hr_amount useful_milli_us, struct hr_cost_summary *costs) {
  enum hr_status status = sum_items(costing, costs);
  if (status != HR_OK) return status;
  fill_ratios(costing, useful_milli_us, costs);
  status = cost_breakdowns(costing, costs);
  if (status == HR_OK) status = cost_services(costing, costs);
  if (status == HR_OK) status = cost_statements(costing, costs);
  return status == HR_OK ? cost_rows(costing, costs) : status;
}

enum hr_status hr__costs_make(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                              const struct hr_result *result, const struct hr_cost_basis *basis,
                              hr_amount useful_milli_us, struct hr_cost_summary **costs) {
  struct hr__costing costing;
  *costs = calloc(1, sizeof **costs);
  if (!*costs) return HR_NO_MEMORY;
  enum hr_status status = hr__costing_init(&costing, trace, cluster, result, basis);
  if (status == HR_OK) status = fill(&costing, useful_milli_us, *costs);
  hr__costing_finish(&costing);
  return status;
}

static void free_lines(struct hr_cost_lines *lines) {
  hr__lines_free(lines->line, lines->count, sizeof *lines->line);
}

void hr__costs_destroy(struct hr_cost_summary *costs) {
  if (!costs) return;
  free_lines(&costs->by_market);
  free_lines(&costs->by_pool);
  free_lines(&costs->by_tenant);
  free_lines(&costs->by_class);
  free_lines(&costs->by_gpu);
  for (size_t i = 0; i < costs->n_rows; i++) {
    free(costs->rows[i].tenant);
    free(costs->rows[i].market);
    free(costs->rows[i].gpu);
  }
  hr__lines_free(costs->statements, costs->n_statements, sizeof *costs->statements);
  hr__lines_free(costs->budgets, costs->n_budgets, sizeof *costs->budgets);
  free(costs->rows);
  free(costs->services);
  free(costs);
}

/* ---- The CSV file ---------------------------------------------------------------------------------- */

enum hr_status hr_costs_write(const char *path, const struct hr_cost_summary *costs, struct hr_error *error) {
  struct hr__csv_out csv;
  enum hr_status status = hr__csv_open(&csv, path, "tenant,market,gpu,gpu_hours,cost_usd", error);
  if (status != HR_OK) return status;
  for (size_t i = 0; i < costs->n_rows; i++) {
    const struct hr_cost_row *row = &costs->rows[i];
    hr__csv_text(&csv, row->tenant);
    hr__csv_text(&csv, row->market);
    hr__csv_text(&csv, row->gpu);
    hr__csv_millionths(&csv, (int64_t)hr__divided(row->gpu_time, HR_LEDGER_UNITS_PER_UUSD / 1000000));
    hr__csv_usd(&csv, row->uusd);
    hr__csv_end_row(&csv);
  }
  return hr__csv_commit(&csv, error);
}
