/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The cost items of a run: the arithmetic of amounts, the meter, and the list of items for used capacity, idle capacity
 * and services.
 *
 * The meter integrates over time the rates that the ledger does not record.
 *
 * Capacity items are taken from the ledger. The ledger records the charges for used capacity by month, but it records
 * the idle cost of a pool only for the whole run. Idle costs are therefore distributed over the months in proportion to
 * the GPU time that was paid for and not used in each month. All capacity items are rounded to micro-dollars in one
 * apportionment, so the rounded items sum to the rounded total.
 *
 * Each service item (storage, egress, operations, downtime, savings plans) is rounded on its own. Service costs that
 * depend on jobs are first summed exactly by tenant and month. Each of these sums becomes one item.
 */

#include "report/metrics/metrics.h"

#include "base/containers.h"
#include "headroom/unstable/data.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- Amounts --------------------------------------------------------------------------------------- */

/* Rounds and splits integer amounts so that the parts sum to the whole. */

struct remainder {
  hr_amount rest;
  size_t at;
};

static int largest_first(const void *a, const void *b) {
  const struct remainder *x = a, *y = b;
  if (x->rest != y->rest) return x->rest > y->rest ? -1 : 1;
  return (x->at > y->at) - (x->at < y->at);
}

enum hr_status hr__apportion(const hr_amount *amounts, size_t count, hr_amount unit, int64_t *parts) {
  hr_amount sum = 0, left = 0;
  for (size_t i = 0; i < count; i++) sum += amounts[i];
  left = hr__divided(sum, unit);
  if (left >= HR__MAX_UUSD) return HR_BAD_INPUT;
  struct remainder *remainders = malloc((count + 1) * sizeof *remainders);
  if (!remainders) return HR_NO_MEMORY;
  for (size_t i = 0; i < count; i++) {
    parts[i] = (int64_t)(amounts[i] / unit);
    remainders[i] = (struct remainder){amounts[i] % unit, i};
    left -= parts[i];
  }
  if (left > 0) qsort(remainders, count, sizeof *remainders, largest_first);
  for (size_t i = 0; (hr_amount)i < left; i++) parts[remainders[i].at]++;
  free(remainders);
  return HR_OK;
}

/* Shifts all weights right until their sum is below 2^60. Then `amount % sum` and each weight are below 2^60, so their
   product fits into 128 bits. */
void hr__spread(hr_amount amount, const hr_amount *weights, size_t count, hr_amount *parts) {
  hr_amount sum = 0, left = amount;
  size_t last = 0;
  unsigned shift = 0;
  for (size_t i = 0; i < count; i++) {
    parts[i] = 0;
    sum += weights[i];
  }
  while (sum >> shift >= (hr_amount)1 << 60) shift++;
  sum = 0;
  for (size_t i = 0; i < count; i++) {
    if (weights[i] >> shift) last = i;
    sum += weights[i] >> shift;
  }
  for (size_t i = 0; i < last; i++) {
    hr_amount weight = weights[i] >> shift;
    parts[i] = amount / sum * weight + amount % sum * weight / sum;
    left -= parts[i];
  }
  parts[last] += left;
}

/* ---- Meter ----------------------------------------------------------------------------------------- */

/*
 * The meter integrates over time three rates that the ledger does not record: the number of nodes of each elastic pool,
 * the usage that savings plans cover, and the number of withheld GPUs. Withheld GPUs are GPUs that the spot market does
 * not offer although waiting jobs could run on them.
 *
 * Rates are constant between two changes, so each interval adds rate x duration to the integrals of its month.
 * Intervals are split at the ends of months and at changes of on-demand prices. The number of nodes follows node
 * events. Withheld GPUs are computed after each pass, and only if the scenario sets a price for them (`downtime`).
 */

struct meter_pool {
  const struct hr_pool_spec *spec;
  uint32_t nodes;      /* number of nodes that are paid for at present; elastic pools only */
  uint32_t next_price; /* index of the next price change; on-demand pools only, and only if there are savings plans */
};

struct meter_plan {
  const struct hr_savings_plan *spec;
  hr_amount covers; /* list price of the usage that the fee covers: micro-dollars per GPU-hour x milli-GPUs */
  bool *eligible;   /* by pool: the plan covers usage of the pool */
};

struct hr_meter {
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  struct meter_pool *pools;
  struct meter_plan *plans; /* sorted by descending discount */
  uint32_t n_plans;
  bool prices_downtime, failed;

  int64_t until_us;
  uint64_t waiting_milli;   /* GPUs requested by waiting jobs that accept spot pools */
  hr_amount withheld_milli; /* number of withheld GPUs, computed after the last pass; at most `waiting_milli` */
  hr_amount covered; /* current list price of the usage that the plans cover: micro-dollars per GPU-hour x milli-GPUs */
  hr_amount *left;   /* [n_pools]: scratch space of update_coverage() */

  struct hr__meter_month *months;
  hr_amount *node_us; /* [n_months][n_pools]: nodes x microseconds */
  uint32_t n_months, capacity;
};

/* ---- Meter: life cycle ----------------------------------------------------------------------------- */

/* Returns whether a list contains a name. Names in scenarios are not case-sensitive. */
static bool is_named(char *const *names, size_t count, const char *name) {
  for (size_t i = 0; i < count; i++)
    if (name && strcasecmp(names[i], name) == 0) return true;
  return false;
}

static bool is_eligible(const struct hr_savings_plan *plan, const struct hr_pool_spec *pool) {
  if (pool->market.market != HR_MARKET_ON_DEMAND) return false;
  if (plan->n_pools + plan->n_gpus == 0) return true;
  return is_named(plan->pools, plan->n_pools, pool->name) || is_named(plan->gpus, plan->n_gpus, pool->gpu);
}

/* Inserts a plan into the list, which is sorted by descending discount. Plans with equal discounts remain in the order
   of the scenario. */
static void insert_plan(struct hr_meter *meter, struct meter_plan added) {
  uint32_t at = meter->n_plans++;
  for (; at > 0 && meter->plans[at - 1].spec->discount_ppm < added.spec->discount_ppm; at--)
    meter->plans[at] = meter->plans[at - 1];
  meter->plans[at] = added;
}

static bool make_plans(struct hr_meter *meter, const struct hr_cost_spec *spec) {
  uint32_t n_pools = meter->cluster->n_pools;
  meter->plans = calloc(spec->n_plans + 1, sizeof *meter->plans);
  if (!meter->plans) return false;
  for (size_t i = 0; i < spec->n_plans; i++) {
    const struct hr_savings_plan *plan = &spec->plans[i];
    struct meter_plan added = {.spec = plan,
                               .covers = (hr_amount)plan->uusd_per_h * 1000 * 1000000 / (1000000 - plan->discount_ppm),
                               .eligible = calloc(n_pools + 1, sizeof *added.eligible)};
    if (!added.eligible) return false;
    for (uint32_t k = 0; k < n_pools; k++) added.eligible[k] = is_eligible(plan, &meter->cluster->pools[k]);
    insert_plan(meter, added);
  }
  return true;
}

struct hr_meter *hr_meter_create(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                                 const struct hr_cost_spec *spec) {
  struct hr_meter *meter = calloc(1, sizeof *meter);
  if (!meter) return NULL;
  meter->trace = trace;
  meter->cluster = cluster;
  meter->pools = calloc((size_t)cluster->n_pools + 1, sizeof *meter->pools);
  meter->left = calloc((size_t)cluster->n_pools + 1, sizeof *meter->left);
  meter->prices_downtime = spec && spec->downtime.uusd_per_gpu_hour > 0;
  if (!meter->pools || !meter->left || (spec && !make_plans(meter, spec))) {
    hr_meter_destroy(meter);
    return NULL;
  }
  for (uint32_t i = 0; i < cluster->n_pools; i++) meter->pools[i] = (struct meter_pool){&cluster->pools[i], 0, 0};
  return meter;
}

void hr_meter_destroy(struct hr_meter *meter) {
  if (!meter) return;
  for (uint32_t i = 0; i < meter->n_plans; i++) free(meter->plans[i].eligible);
  free(meter->plans);
  free(meter->pools);
  free(meter->left);
  free(meter->months);
  free(meter->node_us);
  free(meter);
}

/* ---- Meter: integration ---------------------------------------------------------------------------- */

/* Returns the integrals of a month. Extends the arrays up to this month if necessary. Returns NULL if out of memory. */
static struct hr__meter_month *month_at(struct hr_meter *meter, uint32_t month) {
  size_t n_pools = meter->cluster->n_pools;
  if (month >= meter->capacity) {
    uint32_t capacity = month + 1 > 2 * meter->capacity ? month + 1 : 2 * meter->capacity;
    if (!HR__ARRAY_RESIZE(meter->months, capacity) || !HR__ARRAY_RESIZE(meter->node_us, capacity * n_pools))
      return NULL;
    meter->capacity = capacity;
  }
  while (meter->n_months <= month) {
    meter->months[meter->n_months] = (struct hr__meter_month){0};
    memset(meter->node_us + meter->n_months++ * n_pools, 0, n_pools * sizeof *meter->node_us);
  }
  return &meter->months[month];
}

/* Returns the time of the next price change of any on-demand pool. Returns HR_NEVER_US if none exists or the meter has
   no savings plans. */
static int64_t next_price_us(const struct hr_meter *meter) {
  int64_t next_us = HR_NEVER_US;
  for (uint32_t i = 0; meter->n_plans && i < meter->cluster->n_pools; i++) {
    const struct meter_pool *pool = &meter->pools[i];
    const struct hr_market_spec *market = &pool->spec->market;
    if (market->market != HR_MARKET_ON_DEMAND || pool->next_price >= market->n_prices) continue;
    if (market->prices[pool->next_price].at_us < next_us) next_us = market->prices[pool->next_price].at_us;
  }
  return next_us;
}

/* Recomputes `covered`. The plan with the largest discount is applied first. Each further plan covers only usage that
   the previous plans did not cover. */
static void update_coverage(struct hr_meter *meter) {
  meter->covered = 0;
  for (uint32_t i = 0; i < meter->cluster->n_pools; i++) {
    struct meter_pool *pool = &meter->pools[i];
    const struct hr_market_spec *market = &pool->spec->market;
    if (market->market != HR_MARKET_ON_DEMAND) continue;
    while (pool->next_price < market->n_prices && market->prices[pool->next_price].at_us <= meter->until_us)
      pool->next_price++;
    uint64_t milli = (uint64_t)pool->nodes * pool->spec->gpus_per_node * 1000;
    meter->left[i] = milli ? (hr_amount)hr_market_price_at(market, meter->until_us) * milli : 0;
  }
  for (uint32_t i = 0; i < meter->n_plans; i++) {
    hr_amount left = meter->plans[i].covers;
    for (uint32_t k = 0; k < meter->cluster->n_pools; k++) {
      if (!meter->plans[i].eligible[k]) continue;
      hr_amount part = left < meter->left[k] ? left : meter->left[k];
      left -= part;
      meter->left[k] -= part;
      meter->covered += part;
    }
  }
}

/* Adds `passed_us` microseconds at the current rates to the integrals of a month. */
static void add_interval(struct hr_meter *meter, uint32_t month, int64_t passed_us) {
  struct hr__meter_month *row = month_at(meter, month);
  if (!row) {
    meter->failed = true;
    return;
  }
  row->covered += meter->covered * passed_us;
  row->withheld_milli += meter->withheld_milli * passed_us;
  hr_amount *node_us = meter->node_us + (size_t)month * meter->cluster->n_pools;
  for (uint32_t i = 0; i < meter->cluster->n_pools; i++) node_us[i] += (hr_amount)meter->pools[i].nodes * passed_us;
}

static void advance(struct hr_meter *meter, int64_t now_us) {
  while (meter->until_us < now_us) {
    uint32_t month = (uint32_t)(meter->until_us / HR_MONTH_US);
    int64_t month_end_us = (month + INT64_C(1)) * HR_MONTH_US, price_us = next_price_us(meter), to_us = now_us;
    if (to_us > month_end_us) to_us = month_end_us;
    if (to_us > price_us) to_us = price_us;
    add_interval(meter, month, to_us - meter->until_us);
    meter->until_us = to_us;
    if (to_us == price_us) update_coverage(meter);
  }
}

/* ---- Meter: events --------------------------------------------------------------------------------- */

static void change_nodes(struct hr_meter *meter, const struct hr_event *event, bool more) {
  struct meter_pool *pool = &meter->pools[event->pool.id];
  if (!hr_market_is_elastic(pool->spec->market.market)) return;
  advance(meter, event->at_us);
  pool->nodes += more ? 1 : UINT32_MAX;
  if (meter->n_plans) update_coverage(meter);
}

static bool may_go_to_spot(const struct hr_meter *meter, const struct hr_view *view, hr_job job) {
  uint32_t accept_class = hr_cluster_accept_class(view->cluster, job);
  for (uint32_t i = 0; i < meter->cluster->n_pools; i++)
    if (meter->pools[i].spec->market.market == HR_MARKET_SPOT &&
        hr_cluster_accepts(view->cluster, accept_class, (hr_pool){i}))
      return true;
  return false;
}

static void change_waiting(struct hr_meter *meter, const struct hr_view *view, hr_job job, bool more) {
  if (!meter->prices_downtime || !may_go_to_spot(meter, view, job)) return;
  uint64_t milli = hr_cluster_asked_milli(view->cluster, job);
  meter->waiting_milli += more ? milli : 0 - milli;
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr_meter *meter = self;
  switch (event->kind) {
  case HR_EVENT_ACQUIRE:
    change_nodes(meter, event, true);
    break;
  case HR_EVENT_RELEASE:
  case HR_EVENT_NODE_DOWN:
    change_nodes(meter, event, false);
    break;
  case HR_EVENT_SUBMIT:
  case HR_EVENT_INTERRUPT:
  case HR_EVENT_PREEMPT:
    change_waiting(meter, view, event->job, true);
    break;
  case HR_EVENT_START:
  case HR_EVENT_REJECT:
  case HR_EVENT_WITHDRAW:
    change_waiting(meter, view, event->job, false);
    break;
  case HR_EVENT_END:
  case HR_EVENT_SAVED:
  case HR_EVENT_NOTICE:
  case HR_EVENT_OFFER:
  case HR_EVENT_NODE_UP:
  case HR_EVENT_TIMER:
  case HR_EVENT_RESIZE:
    break;
  }
}

static hr_amount withheld_milli(const struct hr_meter *meter, const struct hr_view *view) {
  hr_amount milli = 0;
  for (uint32_t i = 0; i < meter->cluster->n_pools; i++) {
    const struct hr_pool_spec *spec = meter->pools[i].spec;
    if (spec->market.market != HR_MARKET_SPOT) continue;
    uint32_t off = hr_cluster_nodes_in(view->cluster, (hr_pool){i}, HR_NODE_OFF);
    uint32_t offered = hr_cluster_offer(view->cluster, (hr_pool){i});
    milli += (hr_amount)(off - offered) * spec->gpus_per_node * 1000;
  }
  return milli < meter->waiting_milli ? milli : meter->waiting_milli;
}

static void on_instant(void *self, const struct hr_view *view) {
  struct hr_meter *meter = self;
  advance(meter, view->now_us);
  meter->withheld_milli = meter->waiting_milli ? withheld_milli(meter, view) : 0;
}

struct hr_observer hr_meter_observer(struct hr_meter *meter) {
  return (struct hr_observer){
      .self = meter, .on_event = on_event, .on_instant = meter->prices_downtime ? on_instant : NULL};
}

/* ---- Meter: results -------------------------------------------------------------------------------- */

/* Advances the integrals to the end of the run and returns them in *sums. Returns HR_NO_MEMORY if memory ran out during
   the run; then the integrals are incomplete. */
static enum hr_status meter_close(struct hr_meter *meter, int64_t end_us, struct hr__meter_sums *sums) {
  advance(meter, end_us);
  *sums = (struct hr__meter_sums){meter->months, meter->node_us, meter->n_months};
  return meter->failed ? HR_NO_MEMORY : HR_OK;
}

/* ---- Items ----------------------------------------------------------------------------------------- */

static void free_texts(char **text, size_t count) {
  for (size_t i = 0; i < count; i++) free(text[i]);
  free(text);
}

void hr_cost_spec_finish(struct hr_cost_spec *spec) {
  for (size_t i = 0; i < spec->storage.n_datasets; i++) free(spec->storage.datasets[i].tenant);
  for (size_t i = 0; i < spec->n_budgets; i++) free(spec->budgets[i].tenant);
  for (size_t i = 0; i < spec->n_plans; i++) {
    free_texts(spec->plans[i].pools, spec->plans[i].n_pools);
    free_texts(spec->plans[i].gpus, spec->plans[i].n_gpus);
  }
  free(spec->storage.datasets);
  free(spec->budgets);
  free(spec->plans);
  *spec = (struct hr_cost_spec){0};
}

static void add_tenant(struct hr__costing *costing, const char *name) {
  if (name && hr__costing_tenant(costing, name) == HR_NONE) costing->tenants[costing->n_tenants++] = name;
}

static enum hr_status list_tenants(struct hr__costing *costing) {
  static const struct hr_cost_spec nothing;
  const struct hr_cost_spec *spec = costing->basis->spec ? costing->basis->spec : &nothing;
  const struct hr_names *names = &costing->trace->tenants;
  costing->tenants = calloc(names->count + spec->storage.n_datasets + spec->n_budgets + 1, sizeof *costing->tenants);
  if (!costing->tenants) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < names->count; i++) costing->tenants[i] = names->text[i];
  costing->no_tenant = names->count;
  costing->tenants[names->count] = "";
  costing->n_tenants = names->count + 1;
  for (size_t i = 0; i < spec->storage.n_datasets; i++) add_tenant(costing, spec->storage.datasets[i].tenant);
  for (size_t i = 0; i < spec->n_budgets; i++) add_tenant(costing, spec->budgets[i].tenant);
  return HR_OK;
}

static bool has_gpu(const struct hr_pool_spec *pool, const char *gpu) {
  return strcmp(hr__name_or_empty(pool->gpu), gpu) == 0;
}

/* Returns the index of the first pool of a GPU type. GPU types are listed in the order of these indices. Pools without
   nodes are returned only if no others exist, so that they do not change this order. */
static uint32_t first_of(const struct hr_cluster_spec *cluster, const char *gpu) {
  uint32_t first = 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->pools[i].nodes > 0 && has_gpu(&cluster->pools[i], gpu)) return i;
  while (!has_gpu(&cluster->pools[first], gpu)) first++;
  return first;
}

static enum hr_status list_gpus(struct hr__costing *costing) {
  const struct hr_cluster_spec *cluster = costing->cluster;
  costing->first_of_gpu = calloc((size_t)cluster->n_pools + 1, sizeof *costing->first_of_gpu);
  if (!costing->first_of_gpu) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    costing->first_of_gpu[i] = first_of(cluster, hr__name_or_empty(cluster->pools[i].gpu));
  return HR_OK;
}

static uint32_t months_until(int64_t at_us) {
  return (uint32_t)((at_us + HR_MONTH_US - 1) / HR_MONTH_US);
}

/* Returns the number of months with charges, at least 1. A reservation is paid until its end, even if the run ends
   earlier. */
static uint32_t count_months(const struct hr__costing *costing) {
  const struct hr_cluster_spec *cluster = costing->cluster;
  const struct hr_charge *charges = NULL;
  size_t n_charges = hr_ledger_charges(costing->basis->ledger, &charges);
  uint32_t months = months_until(costing->result->end_us);
  for (size_t i = 0; i < n_charges; i++)
    if (months <= charges[i].account.month) months = charges[i].account.month + 1;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_market_spec *market = &cluster->pools[i].market;
    if (market->market != HR_MARKET_RESERVED || market->to_us == HR_NEVER_US) continue;
    if (cluster->pools[i].nodes == 0) continue;
    if (months < months_until(market->to_us)) months = months_until(market->to_us);
  }
  return months ? months : 1;
}

static enum hr_status add_item(struct hr__costing *costing, struct hr__cost_item item) {
  if (!HR__ARRAY_HAS_ROOM(costing->items, costing->n_items, costing->capacity)) return HR_NO_MEMORY;
  costing->items[costing->n_items++] = item;
  return HR_OK;
}

/* ---- Items: months --------------------------------------------------------------------------------- */

/* Returns the duration of the part of [from_us, to_us) that is in a month. */
static int64_t month_part_us(uint32_t month, int64_t from_us, int64_t to_us) {
  int64_t begin_us = month * HR_MONTH_US, end_us = begin_us + HR_MONTH_US;
  if (from_us > begin_us) begin_us = from_us;
  if (to_us < end_us) end_us = to_us;
  return end_us > begin_us ? end_us - begin_us : 0;
}

/* Returns the integrals of the meter over a month; all are 0 if the run ended before the month. */
static struct hr__meter_month metered(const struct hr__costing *costing, uint32_t month) {
  return month < costing->meter.n_months ? costing->meter.months[month] : (struct hr__meter_month){0};
}

/* Returns nodes x microseconds of a pool within a month. Nodes of elastic pools count while they are paid for. Nodes of
   other pools count while they are present, but not after `end_us`. */
static hr_amount node_us_of(const struct hr__costing *costing, uint32_t pool, uint32_t month, int64_t end_us) {
  const struct hr__meter_sums *meter = &costing->meter;
  const struct hr_pool_spec *spec = &costing->cluster->pools[pool];
  if (hr_market_is_elastic(spec->market.market))
    return month < meter->n_months ? meter->node_us[(size_t)month * costing->cluster->n_pools + pool] : 0;
  bool reserved = spec->market.market == HR_MARKET_RESERVED;
  int64_t from_us = spec->market.from_us, to_us = end_us;
  if (reserved && spec->market.to_us < to_us) to_us = spec->market.to_us;
  return (hr_amount)spec->nodes * month_part_us(month, from_us, to_us);
}

/* ---- Items: capacity ------------------------------------------------------------------------------- */

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
                                 .tenant = account->tenant == HR_NONE ? costing->no_tenant : account->tenant,
                                 .month = account->month,
                                 .pool = account->pool,
                                 .service = account->service,
                                 .class_ = account->class_,
                                 .amount = charges[i].amount,
                                 .gpu_time = charges[i].gpu_time};
    status = add_item(costing, item);
  }
  return status;
}

/* Sets weights[month] to the GPU time of a pool that was paid for in the month but not used. Items of used capacity are
   sorted by pool. `*cursor` is the index of the first item of this pool; the function advances it to the first item of
   the next pool. */
static void weigh_months(const struct hr__costing *costing, uint32_t pool, size_t *cursor, hr_amount *weights) {
  const struct hr_pool_spec *spec = &costing->cluster->pools[pool];
  bool window = spec->market.market == HR_MARKET_RESERVED && spec->market.to_us != HR_NEVER_US;
  int64_t end_us = window ? HR_NEVER_US : costing->result->end_us;
  for (uint32_t month = 0; month < costing->n_months; month++)
    weights[month] = node_us_of(costing, pool, month, end_us) * spec->gpus_per_node * 1000;
  for (; *cursor < costing->n_items; ++*cursor) {
    const struct hr__cost_item *item = &costing->items[*cursor];
    if (item->kind != HR__COST_USE || item->pool != pool) break;
    weights[item->month] -= item->gpu_time;
  }
  for (uint32_t month = 0; month < costing->n_months; month++)
    if (weights[month] < 0) weights[month] = 0;
}

/* Adds the idle items of a pool. `room` is scratch space for three amounts per month; `cursor` is passed to
   weigh_months(). */
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
      status = add_item(costing, (struct hr__cost_item){.kind = HR__COST_IDLE,
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

static enum hr_status add_capacity(struct hr__costing *costing) {
  hr_amount *room = calloc((size_t)costing->n_months * 3, sizeof *room);
  enum hr_status status = room ? add_charges(costing) : HR_NO_MEMORY;
  size_t cursor = 0;
  for (uint32_t i = 0; i < costing->cluster->n_pools && status == HR_OK; i++)
    if (is_priced(costing, i)) status = add_idle(costing, i, &cursor, room);
  free(room);
  return status == HR_OK ? round_items(costing) : status;
}

/* ---- Items: services ------------------------------------------------------------------------------- */

#define MB_PER_GB 1000
#define BYTES_PER_GB INT64_C(1000000000)
#define BYTES_PER_MIB (INT64_C(1) << 20)
#define HOUR_US (INT64_C(3600) * HR_SECOND_US)

struct services {
  struct hr__costing *costing;
  const struct hr_cost_spec *spec;
  hr_amount *sums; /* [n_tenants][n_months]: scratch space for sums by tenant and month */
};

/* Adds an item of part / whole micro-dollars; omits it if it rounds to 0. If `tenant` is the index for jobs without a
   tenant, the item becomes a shared cost. */
static enum hr_status add_line(struct services *services, enum hr__cost_kind kind, uint32_t tenant, uint32_t month,
                               hr_amount part, hr_amount whole) {
  hr_amount uusd = hr__divided(part, whole);
  if (uusd == 0) return HR_OK;
  if (uusd >= HR__MAX_UUSD || uusd <= -HR__MAX_UUSD) return HR_BAD_INPUT;
  struct hr__cost_item item = {.kind = kind,
                               .tenant = tenant == services->costing->no_tenant ? HR_NONE : tenant,
                               .month = month,
                               .pool = HR_NONE,
                               .uusd = (int64_t)uusd};
  return add_item(services->costing, item);
}

/* Adds an item of amount x price / whole micro-dollars; returns HR_BAD_INPUT if the product overflows. */
static enum hr_status add_priced(struct services *services, enum hr__cost_kind kind, uint32_t tenant, uint32_t month,
                                 hr_amount amount, hr_amount price, hr_amount whole) {
  hr_amount part;
  if (__builtin_mul_overflow(amount, price, &part)) return HR_BAD_INPUT;
  return add_line(services, kind, tenant, month, part, whole);
}

static hr_amount *sum_of(struct services *services, uint32_t tenant, uint32_t month) {
  return &services->sums[(size_t)tenant * services->costing->n_months + month];
}

static void clear_sums(struct services *services) {
  size_t count = (size_t)services->costing->n_tenants * services->costing->n_months;
  memset(services->sums, 0, count * sizeof *services->sums);
}

static enum hr_status add_sums(struct services *services, enum hr__cost_kind kind, hr_amount price, hr_amount whole) {
  const struct hr__costing *costing = services->costing;
  enum hr_status status = HR_OK;
  for (uint32_t tenant = 0; tenant < costing->n_tenants; tenant++)
    for (uint32_t month = 0; month < costing->n_months && status == HR_OK; month++)
      status = add_priced(services, kind, tenant, month, *sum_of(services, tenant, month), price, whole);
  return status;
}

static uint32_t tenant_of(const struct hr__costing *costing, uint32_t job) {
  uint32_t tenant = costing->trace->tenant ? costing->trace->tenant[job] : HR_NONE;
  return tenant == HR_NONE ? costing->no_tenant : tenant;
}

static uint8_t class_of(const struct hr__costing *costing, uint32_t job) {
  return costing->trace->class_ ? costing->trace->class_[job] : HR_CLASS_UNKNOWN;
}

/* Returns the month of a time. If the run ends exactly at the end of a month, its last instant counts in that month. */
static uint32_t month_of(const struct hr__costing *costing, int64_t at_us) {
  int64_t month = at_us / HR_MONTH_US;
  return month < costing->n_months ? (uint32_t)month : costing->n_months - 1;
}

/* ---- Items: storage -------------------------------------------------------------------------------- */

static enum hr_status add_datasets(struct services *services) {
  const struct hr_storage_cost *storage = &services->spec->storage;
  const struct hr__costing *costing = services->costing;
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < storage->n_datasets; i++) {
    const struct hr_dataset *dataset = &storage->datasets[i];
    uint32_t tenant = dataset->tenant ? hr__costing_tenant(costing, dataset->tenant) : HR_NONE;
    for (uint32_t month = 0; month < costing->n_months && status == HR_OK; month++) {
      hr_amount mb_us = (hr_amount)dataset->mb * month_part_us(month, 0, costing->result->end_us);
      status = add_priced(services, HR__COST_STORAGE, tenant, month, mb_us, storage->uusd_per_gb_month,
                          (hr_amount)MB_PER_GB * HR_MONTH_US);
    }
  }
  return status;
}

/* Returns the size of the checkpoint that a job has stored, in MiB; 0 if none. */
static uint64_t checkpoint_mib(const struct hr__costing *costing, uint32_t job) {
  const struct hr_trace *trace = costing->trace;
  const struct hr_class_spec *class_ = &costing->basis->classes[class_of(costing, job)];
  if (!costing->result->account || hr_result_accounting(costing->result, (hr_job){job}).saved_us == HR_NEVER_US)
    return 0;
  uint64_t own = trace->checkpoint_mib ? trace->checkpoint_mib[job] : 0;
  return own ? own : class_->checkpoint_mib;
}

static void sum_checkpoints(struct services *services) {
  const struct hr__costing *costing = services->costing;
  const struct hr_result *result = costing->result;
  for (uint32_t job = 0; job < result->n_jobs; job++) {
    uint64_t mib = checkpoint_mib(costing, job);
    if (mib == 0) continue;
    int64_t from_us = hr_result_accounting(result, (hr_job){job}).saved_us,
            to_us = hr_result_end_us(result, (hr_job){job});
    int64_t retention_us = services->spec->storage.checkpoint_retention_us;
    to_us = to_us < result->end_us - retention_us ? to_us + retention_us : result->end_us;
    for (uint32_t month = month_of(costing, from_us); month <= month_of(costing, to_us); month++)
      *sum_of(services, tenant_of(costing, job), month) += (hr_amount)mib * month_part_us(month, from_us, to_us);
  }
}

static enum hr_status add_storage(struct services *services) {
  int64_t price = services->spec->storage.uusd_per_gb_month;
  if (price == 0) return HR_OK;
  enum hr_status status = add_datasets(services);
  if (status != HR_OK || !services->costing->basis->classes) return status;
  clear_sums(services);
  sum_checkpoints(services);
  return add_sums(services, HR__COST_STORAGE, (hr_amount)price * BYTES_PER_MIB, (hr_amount)BYTES_PER_GB * HR_MONTH_US);
}

/* ---- Items: egress --------------------------------------------------------------------------------- */

/* Sums egress by tenant and month in units of 1 MB / HR_LEDGER_UNITS_PER_UUSD. A GPU-hour has HR_LEDGER_UNITS_PER_UUSD
   milli-GPUs x microseconds, so GPU time x MB per GPU-hour has this unit, too. */
static void sum_egress(struct services *services) {
  const struct hr__costing *costing = services->costing;
  const struct hr_egress_cost *egress = &services->spec->egress;
  const struct hr_charge *charges = NULL;
  size_t n_charges = hr_ledger_charges(costing->basis->ledger, &charges);
  for (size_t i = 0; i < n_charges; i++) {
    const struct hr_account *account = &charges[i].account;
    uint32_t tenant = account->tenant == HR_NONE ? costing->no_tenant : account->tenant;
    *sum_of(services, tenant, account->month) += charges[i].gpu_time * egress->mb_per_gpu_hour[account->class_];
  }
  for (uint32_t job = 0; job < costing->result->n_jobs; job++) {
    uint64_t mb = egress->mb_per_job[class_of(costing, job)];
    int64_t end_us = mb ? hr_result_end_us(costing->result, (hr_job){job}) : HR_NEVER_US;
    if (end_us != HR_NEVER_US)
      *sum_of(services, tenant_of(costing, job), month_of(costing, end_us)) += (hr_amount)mb * HR_LEDGER_UNITS_PER_UUSD;
  }
}

static enum hr_status add_egress(struct services *services) {
  int64_t price = services->spec->egress.uusd_per_gb;
  if (price == 0) return HR_OK;
  clear_sums(services);
  sum_egress(services);
  return add_sums(services, HR__COST_EGRESS, price, (hr_amount)MB_PER_GB * HR_LEDGER_UNITS_PER_UUSD);
}

/* ---- Items: data with a location ------------------------------------------------------------------- */

/* Adds the costs of stored data sets and of transfers over links, by month, as shared costs. */
static enum hr_status add_data(struct services *services) {
  const struct hr__costing *costing = services->costing;
  const struct hr_data_result *data = costing->result->data;
  enum hr_status status = HR_OK;
  for (uint32_t month = 0; data && month < costing->n_months && status == HR_OK; month++) {
    hr_amount stored = 0, moved = 0; /* micro-dollars x bytes x us per GB and month; micro-dollars x bytes per GB */
    for (uint32_t i = 0; i < data->n_replicas; i++) {
      const struct hr_data_replica *replica = &data->replicas[i];
      stored += (hr_amount)data->spec->sets[replica->set].bytes *
                month_part_us(month, replica->since_us, costing->result->end_us) *
                data->spec->storage[replica->storage].uusd_per_gb_month;
    }
    for (uint32_t i = 0; i < data->n_links && month < data->n_months; i++)
      moved += hr_data_month_price(&data->spec->links[i], data->month_bytes[(size_t)month * data->n_links + i]);
    status = add_line(services, HR__COST_STORAGE, HR_NONE, month, stored, (hr_amount)BYTES_PER_GB * HR_MONTH_US);
    if (status == HR_OK) status = add_line(services, HR__COST_EGRESS, HR_NONE, month, moved, BYTES_PER_GB);
  }
  return status;
}

/* ---- Items: operations and downtime ---------------------------------------------------------------- */

static enum hr_status add_operations(struct services *services) {
  const struct hr__costing *costing = services->costing;
  const struct hr_operations_cost *operations = &services->spec->operations;
  enum hr_status status = HR_OK;
  for (uint32_t month = 0; month < costing->n_months && status == HR_OK; month++) {
    hr_amount node_us = 0;
    for (uint32_t i = 0; i < costing->cluster->n_pools; i++)
      node_us += node_us_of(costing, i, month, costing->result->end_us);
    hr_amount fixed = (hr_amount)operations->uusd_per_month * month_part_us(month, 0, costing->result->end_us);
    status = add_line(services, HR__COST_OPERATIONS, HR_NONE, month, fixed + node_us * operations->uusd_per_node_month,
                      HR_MONTH_US);
  }
  return status;
}

static enum hr_status add_downtime(struct services *services) {
  const struct hr__costing *costing = services->costing;
  const struct hr_downtime_cost *downtime = &services->spec->downtime;
  enum hr_status status = HR_OK;
  for (uint32_t month = 0; month < costing->n_months && status == HR_OK; month++)
    status = add_line(services, HR__COST_DOWNTIME, HR_NONE, month,
                      metered(costing, month).withheld_milli * downtime->uusd_per_gpu_hour, HR_LEDGER_UNITS_PER_UUSD);
  if (status != HR_OK || !costing->trace->deadline_us || downtime->uusd_per_missed_deadline == 0) return status;
  clear_sums(services);
  for (uint32_t job = 0; job < costing->result->n_jobs; job++)
    if (hr__missed_deadline(costing->result, job))
      ++*sum_of(services, tenant_of(costing, job), month_of(costing, costing->trace->deadline_us[job]));
  return add_sums(services, HR__COST_DOWNTIME, downtime->uusd_per_missed_deadline, 1);
}

/* ---- Items: savings plans -------------------------------------------------------------------------- */

static enum hr_status add_plans(struct services *services) {
  const struct hr__costing *costing = services->costing;
  hr_amount fee = 0; /* of all plans: micro-dollars per hour */
  for (size_t i = 0; i < services->spec->n_plans; i++) fee += services->spec->plans[i].uusd_per_h;
  enum hr_status status = HR_OK;
  for (uint32_t month = 0; fee && month < costing->n_months && status == HR_OK; month++) {
    hr_amount paid = fee * month_part_us(month, 0, costing->result->end_us);
    status = add_line(services, HR__COST_SAVINGS_PLAN, HR_NONE, month,
                      paid * (HR_LEDGER_UNITS_PER_UUSD / HOUR_US) - metered(costing, month).covered,
                      HR_LEDGER_UNITS_PER_UUSD);
  }
  return status;
}

static enum hr_status add_services(struct hr__costing *costing) {
  struct services services = {.costing = costing, .spec = costing->basis->spec};
  if (!services.spec) return HR_OK;
  services.sums = calloc((size_t)costing->n_tenants * costing->n_months, sizeof *services.sums);
  enum hr_status status = services.sums ? add_storage(&services) : HR_NO_MEMORY;
  if (status == HR_OK) status = add_egress(&services);
  if (status == HR_OK) status = add_data(&services);
  if (status == HR_OK) status = add_operations(&services);
  if (status == HR_OK) status = add_downtime(&services);
  if (status == HR_OK) status = add_plans(&services);
  free(services.sums);
  return status;
}

enum hr_status hr__costing_init(struct hr__costing *costing, const struct hr_trace *trace,
                                const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                const struct hr_cost_basis *basis) {
  *costing = (struct hr__costing){.trace = trace, .cluster = cluster, .result = result, .basis = basis};
  costing->n_months = count_months(costing);
  enum hr_status status = meter_close(basis->meter, result->end_us, &costing->meter);
  if (status == HR_OK) status = list_tenants(costing);
  if (status == HR_OK) status = list_gpus(costing);
  if (status == HR_OK) status = add_capacity(costing);
  return status == HR_OK ? add_services(costing) : status;
}
