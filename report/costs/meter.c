/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Integrates over time three rates that the ledger does not record: the number of nodes of each elastic pool, the usage
 * that savings plans cover, and the number of withheld GPUs. Withheld GPUs are GPUs that the spot market does not offer
 * although waiting jobs could run on them.
 *
 * Rates are constant between two changes, so each interval adds rate x duration to the integrals of its month.
 * Intervals are split at the ends of months and at changes of on-demand prices. The number of nodes follows node
 * events. Withheld GPUs are computed after each pass, and only if the scenario sets a price for them (`downtime`).
 *
 * The first part rounds and splits integer amounts so that the parts sum to the whole.
 */

#include "report/costs/costs.h"

#include "base/containers.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- Amounts ------------------------------------------------------------------------------------------- */

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

/* ---- The meter ----------------------------------------------------------------------------------------- */

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

/* ---- Life cycle ---------------------------------------------------------------------------------- */

/* Whether a list contains a name. Names in scenarios are not case-sensitive. */
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

/* ---- Integration --------------------------------------------------------------------------------- */

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

/* ---- Events -------------------------------------------------------------------------------------- */

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

/* ---- Results ------------------------------------------------------------------------------------- */

enum hr_status hr__meter_close(struct hr_meter *meter, int64_t end_us, struct hr__meter_sums *sums) {
  advance(meter, end_us);
  *sums = (struct hr__meter_sums){meter->months, meter->node_us, meter->n_months};
  return meter->failed ? HR_NO_MEMORY : HR_OK;
}
