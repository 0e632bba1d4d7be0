/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Groups of alert rules that alerts.c combines with its own: rules of inference services, temperatures, and budgets.
 * Each group has its own state, and appends its alerts to the log of the caller.
 */

#include "report/metrics/metrics.h"

#include "headroom/sim.h"
#include "sim/market/market.h"
#include "sim/power/power.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Services -------------------------------------------------------------------------------------- */

/*
 * Alerts of inference services, computed after the run from the results of their requests.
 *
 * Rule `service-latency`: requests are grouped by arrival into windows of equal length. The latency of a window is the
 * p95 of the time to the first token of its completed requests; windows with fewer than MIN_REQUESTS completed requests
 * have none. The baseline is the median latency of all windows. An alert lasts for successive windows that exceed a
 * multiple of the baseline.
 *
 * Rule `serving-idle`: a ready replica runs no iteration for longer than `idle_for_us`. The run has recorded the idle
 * periods of replicas. The alert of a service begins when the first of its replicas exceeds this limit. It ends
 * as soon as no replica exceeds it.
 *
 * Rule `out-of-memory`: sequences lose their KV memory. Losses less than `memory_within_us` apart are one alert.
 *
 * Layout: all data of a rule are arrays of one service, sorted by time; each rule is one pass over them.
 */

enum { MIN_REQUESTS = 20, MIN_WINDOWS = 3 };

/* The data that all rules of a service need. */
struct alert_service {
  const struct hr_alert_rules *rules;
  const struct hr_served *served;
  int64_t origin_us; /* time 0 of the run in the clock of the requests */
  struct hr__alert_log *log;
};

static void add_alert(const struct alert_service *self, enum hr_alert_rule rule, int64_t begin_us, int64_t end_us,
                      double value, uint64_t count) {
  hr__alert_log_add(self->log, (struct hr_alert){.rule = rule,
                                                 .where = self->served->service->name,
                                                 .begin_us = begin_us - self->origin_us,
                                                 .end_us = end_us - self->origin_us,
                                                 .value = value,
                                                 .count = count});
}

static int by_time(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* ---- Services: latency ----------------------------------------------------------------------------- */

struct window {
  uint32_t number;     /* index of the window; window 0 begins at the first arrival */
  uint32_t first, end; /* requests [first, end) arrived in the window */
  int64_t p95_us;
};

static int64_t ttft_us(const struct hr_served *served, uint32_t id) {
  return served->result->first_token_us[id] - served->requests->arrival_us[id];
}

static bool is_complete(const struct hr_served *served, uint32_t id) {
  return served->result->state[id] == HR_REQUEST_COMPLETED;
}

/* Computes the p95 of the window that begins with request window->first; sets `number`, `end` and `p95_us`. `times` is
   scratch space for all requests. Returns false if too few requests of the window were completed. */
static bool measure(const struct alert_service *self, struct window *window, int64_t *times) {
  const struct hr_service_requests *requests = self->served->requests;
  const int64_t length_us = self->rules->latency_within_us, first_us = requests->arrival_us[0];
  window->number = (uint32_t)((requests->arrival_us[window->first] - first_us) / length_us);
  const int64_t until_us = first_us + (int64_t)(window->number + 1) * length_us;
  size_t count = 0;
  for (window->end = window->first; window->end < requests->count; window->end++) {
    if (requests->arrival_us[window->end] >= until_us) break;
    if (is_complete(self->served, window->end)) times[count++] = ttft_us(self->served, window->end);
  }
  if (count < MIN_REQUESTS) return false;
  qsort(times, count, sizeof *times, by_time);
  window->p95_us = times[(95 * count + 99) / 100 - 1];
  return true;
}

/* Finds the windows with enough completed requests. Returns their number. */
static uint32_t find_windows(const struct alert_service *self, struct window *windows, int64_t *times) {
  const uint32_t n_requests = self->served->requests->count;
  struct window window = {0};
  uint32_t count = 0;
  for (uint32_t at = 0; at < n_requests; at = window.end) {
    window.first = at;
    if (measure(self, &window, times)) windows[count++] = window;
  }
  return count;
}

static uint64_t count_slow(const struct alert_service *self, const struct window *window, double bound_us) {
  uint64_t count = 0;
  for (uint32_t id = window->first; id < window->end; id++)
    count += is_complete(self->served, id) && (double)ttft_us(self->served, id) > bound_us;
  return count;
}

/* Merges successive windows above the bound into alerts. */
static void report_slow(const struct alert_service *self, const struct window *windows, uint32_t n_windows,
                        int64_t baseline_us) {
  const double bound_us = self->rules->latency_above * (double)baseline_us;
  const int64_t length_us = self->rules->latency_within_us, first_us = self->served->requests->arrival_us[0];
  for (uint32_t i = 0; i < n_windows;) {
    uint32_t end = i;
    uint64_t count = 0;
    int64_t worst_us = 0;
    while (end < n_windows && windows[end].number == windows[i].number + (end - i) &&
           (double)windows[end].p95_us > bound_us) {
      if (windows[end].p95_us > worst_us) worst_us = windows[end].p95_us;
      count += count_slow(self, &windows[end++], bound_us);
    }
    if (end > i)
      add_alert(self, HR_ALERT_LATENCY, first_us + windows[i].number * length_us,
                first_us + (int64_t)(windows[end - 1].number + 1) * length_us, (double)worst_us / (double)baseline_us,
                count);
    i = end > i ? end : i + 1;
  }
}

static void check_latency(const struct alert_service *self) {
  const uint32_t n_requests = self->served->requests->count;
  if (self->rules->is_off[HR_ALERT_LATENCY] || n_requests < MIN_REQUESTS * MIN_WINDOWS) return;
  struct window *windows = calloc((size_t)n_requests / MIN_REQUESTS + 1, sizeof *windows);
  int64_t *times = calloc(n_requests, sizeof *times);
  self->log->failed |= !windows || !times;
  if (windows && times) {
    const uint32_t count = find_windows(self, windows, times);
    for (uint32_t i = 0; i < count; i++) times[i] = windows[i].p95_us;
    if (count) qsort(times, count, sizeof *times, by_time);
    if (count >= MIN_WINDOWS && times[count / 2] > 0) report_slow(self, windows, count, times[count / 2]);
  }
  free(windows);
  free(times);
}

/* ---- Services: idle replicas ----------------------------------------------------------------------- */

/* Reports one alert for each time span in which at least one period is open. `begins` and `ends` are sorted separately.
   At equal times, begins are processed before ends, so periods that touch are one alert. */
static void report_idle(const struct alert_service *self, const int64_t *begins, const int64_t *ends, uint32_t count) {
  uint32_t n_begun = 0, n_ended = 0, before = 0, most = 0;
  while (n_ended < count) {
    if (n_begun < count && begins[n_begun] <= ends[n_ended]) {
      n_begun++;
      if (n_begun - n_ended > most) most = n_begun - n_ended;
      continue;
    }
    n_ended++;
    if (n_begun > n_ended) continue;
    add_alert(self, HR_ALERT_IDLE_REPLICA, begins[before], ends[n_ended - 1], most, n_begun - before);
    before = n_begun;
    most = 0;
  }
}

static void check_idle(const struct alert_service *self) {
  const struct hr_service_result *result = self->served->result;
  if (self->rules->is_off[HR_ALERT_IDLE_REPLICA] || !result->n_idle) return;
  int64_t *begins = calloc((size_t)result->n_idle, sizeof *begins), *ends = calloc(result->n_idle, sizeof *ends);
  uint32_t count = 0;
  self->log->failed |= !begins || !ends;
  for (uint32_t i = 0; begins && ends && i < result->n_idle; i++) {
    const struct hr_idle_period *period = &result->idle[i];
    if (period->to_us - period->from_us <= self->rules->idle_for_us) continue;
    begins[count] = period->from_us + self->rules->idle_for_us;
    ends[count++] = period->to_us;
  }
  if (count) {
    qsort(begins, count, sizeof *begins, by_time);
    qsort(ends, count, sizeof *ends, by_time);
    report_idle(self, begins, ends, count);
  }
  free(begins);
  free(ends);
}

/* ---- Services: memory ------------------------------------------------------------------------------ */

/* Losses are counted by minute. The value of an alert is its maximum number of losses in a minute. */
static void check_memory(const struct alert_service *self) {
  const struct hr_service_result *result = self->served->result;
  const int64_t minute_us = 60 * HR_SECOND_US;
  if (self->rules->is_off[HR_ALERT_KV_MEMORY]) return;
  for (uint32_t i = 0; i < result->n_losses;) {
    uint64_t sum = 0, most = 0;
    uint32_t end = i;
    do {
      sum += result->losses[end].count;
      if (result->losses[end].count > most) most = result->losses[end].count;
      end++;
    } while (end < result->n_losses && (result->losses[end].minute - result->losses[end - 1].minute - 1) * minute_us <
                                           self->rules->memory_within_us);
    add_alert(self, HR_ALERT_KV_MEMORY, result->losses[i].minute * minute_us,
              (result->losses[end - 1].minute + 1) * minute_us, (double)most, sum);
    i = end;
  }
}

void hr__alert_services(const struct hr_alert_rules *rules, const struct hr_served *served, uint32_t count,
                        int64_t origin_us, struct hr__alert_log *log) {
  for (uint32_t i = 0; i < count; i++) {
    const struct alert_service self = {rules, &served[i], origin_us, log};
    check_latency(&self);
    check_idle(&self);
    check_memory(&self);
  }
}

/* ---- Temperatures ---------------------------------------------------------------------------------- */

/*
 * The rule of temperatures (`gpus-hot`): the GPUs of a node are too hot.
 *
 * The temperature of a node has first-order dynamics: it approaches ambient + resistance x (mean watts of its GPUs)
 * exponentially. It is updated when the power of the node changes. Between two changes it is monotone, so it crosses
 * the threshold at most once, and the time of the crossing is computed with a logarithm. The periods in which nodes of
 * a pool are too hot are collected. At the end of the run, periods that overlap are merged into one alert.
 *
 * Invariant: `watts_milli` of a node is the sum over its jobs of milli-GPUs x watts of a GPU. `hot_us` of a node is the
 * time at which it became too hot, or HR_NEVER_US if it is not too hot.
 *
 * Source: Newton's law of cooling; 90 degrees C is the usual limit of alerts on DCGM_FI_DEV_GPU_TEMP.
 */

struct hot_node {
  double watts_milli, celsius, highest;
  int64_t touched_us, hot_us;
  uint32_t busy_milli;
  bool is_off;
};

struct hot_period {
  uint32_t pool;
  int64_t begin_us, end_us;
  double celsius;
};

struct alert_heat {
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_class_spec *classes;
  const struct hr_alert_rules *rules;
  struct hr__alert_log *log;
  struct hot_node *nodes; /* NULL: no pool has temperatures */
  uint32_t *first;        /* [n_pools + 1] first node of each pool */
  struct hot_period *periods;
  uint32_t n_periods, capacity;
};

static const struct hr_power_spec *hot_spec(const struct hr_cluster_spec *cluster, uint32_t pool) {
  const struct hr_power_spec *power = cluster->pools[pool].power;
  return power && power->heat.c_per_w > 0 ? power : NULL;
}

/* Returns the temperature that the node approaches with its current power. */
static double limit_of(const struct alert_heat *self, uint32_t pool, const struct hot_node *node) {
  const struct hr_power_spec *power = hot_spec(self->cluster, pool);
  double size_milli = 1000.0 * self->cluster->pools[pool].gpus_per_node;
  double watts = node->is_off ? 0 : node->watts_milli + (size_milli - node->busy_milli) * power->gpu_idle_w;
  return power->heat.ambient_c + power->heat.c_per_w * watts / size_milli;
}

/* ---- Temperatures: periods ------------------------------------------------------------------------- */

static void end_period(struct alert_heat *self, uint32_t pool, struct hot_node *node, int64_t end_us) {
  if (HR__ARRAY_HAS_ROOM(self->periods, self->n_periods, self->capacity))
    self->periods[self->n_periods++] = (struct hot_period){pool, node->hot_us, end_us, node->highest};
  else
    self->log->failed = true;
  node->hot_us = HR_NEVER_US;
}

/* Returns the time at which the temperature crosses the threshold. The temperature was `from` at the last update and
   approaches `limit`. */
static int64_t crossing_us(const struct hot_node *node, double from, double limit, double threshold, double tau_s) {
  double seconds = tau_s * log((limit - from) / (limit - threshold));
  return node->touched_us + (int64_t)(seconds * (double)HR_SECOND_US);
}

/* Updates the temperature of a node to the time `now_us`. Must be called before the power of the node changes. */
static void advance(struct alert_heat *self, uint32_t pool, uint32_t number, int64_t now_us) {
  struct hot_node *node = &self->nodes[number];
  double tau_s = hot_spec(self->cluster, pool)->heat.time_constant_s, threshold = self->rules->hot_above_c;
  double limit = limit_of(self, pool, node), from = node->celsius;
  double passed_s = (double)(now_us - node->touched_us) / (double)HR_SECOND_US;
  node->celsius = limit + (from - limit) * exp(-passed_s / tau_s);
  if (node->hot_us == HR_NEVER_US && node->celsius > threshold) {
    node->hot_us = from > threshold ? node->touched_us : crossing_us(node, from, limit, threshold, tau_s);
    node->highest = node->celsius;
  }
  if (node->hot_us != HR_NEVER_US) node->highest = fmax(node->highest, node->celsius);
  if (node->hot_us != HR_NEVER_US && node->celsius <= threshold)
    end_period(self, pool, node, crossing_us(node, from, limit, threshold, tau_s));
  node->touched_us = now_us;
}

/* ---- Temperatures: events -------------------------------------------------------------------------- */

/* Adds (`sign` 1) or subtracts (`sign` -1) the power of the job of the event on the nodes of its slices. */
static void change(struct alert_heat *self, const struct hr_event *event, int sign) {
  const struct hr_placement *placement = event->placement;
  const struct hr_power_spec *power = hot_spec(self->cluster, placement->pool.id);
  if (!power) return;
  uint32_t fraction_ppm = hr__power_fraction(self->trace, self->classes, event->job);
  double watts = hr__power_limit_at(power, 0, fraction_ppm).gpu_w;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    struct hr_slice slice = placement->slices[i];
    struct hot_node *node = &self->nodes[slice.node.id];
    advance(self, placement->pool.id, slice.node.id, event->at_us);
    node->busy_milli += sign > 0 ? slice.gpu_milli : -slice.gpu_milli;
    node->watts_milli = node->busy_milli ? node->watts_milli + sign * watts * slice.gpu_milli : 0;
  }
}

static void alert_heat_note(void *self, const struct hr_event *event) {
  struct alert_heat *heat = self;
  if (!heat->nodes) return;
  switch (event->kind) {
  case HR_EVENT_START:
    change(heat, event, 1);
    break;
  case HR_EVENT_END:
  case HR_EVENT_INTERRUPT:
  case HR_EVENT_PREEMPT:
    change(heat, event, -1);
    break;
  case HR_EVENT_NODE_UP:
  case HR_EVENT_NODE_DOWN:
  case HR_EVENT_RELEASE:
    if (!hot_spec(heat->cluster, event->pool.id)) break;
    advance(heat, event->pool.id, event->node.id, event->at_us);
    heat->nodes[event->node.id].is_off = event->kind != HR_EVENT_NODE_UP;
    break;
  default:
    break;
  }
}

/* ---- Temperatures: begin and end ------------------------------------------------------------------- */

static void alert_heat_destroy(void *self) {
  struct alert_heat *heat = self;
  if (!heat) return;
  free(heat->nodes);
  free(heat->first);
  free(heat->periods);
  free(heat);
}

static bool create_nodes(struct alert_heat *self) {
  const struct hr_cluster_spec *cluster = self->cluster;
  self->first = calloc((size_t)cluster->n_pools + 1, sizeof *self->first);
  if (!self->first) return false;
  for (uint32_t i = 0; i < cluster->n_pools; i++) self->first[i + 1] = self->first[i] + cluster->pools[i].nodes;
  self->nodes = calloc((size_t)self->first[cluster->n_pools] + 1, sizeof *self->nodes);
  for (uint32_t i = 0; self->nodes && i < cluster->n_pools; i++) {
    const struct hr_market_spec *market = &cluster->pools[i].market;
    for (uint32_t n = self->first[i]; n < self->first[i + 1]; n++) {
      struct hot_node *node = &self->nodes[n];
      *node = (struct hot_node){.hot_us = HR_NEVER_US,
                                .is_off = hr_market_is_elastic(market->market) || market->from_us > 0};
      if (hot_spec(cluster, i)) node->celsius = limit_of(self, i, node);
    }
  }
  return self->nodes != NULL;
}

static void *alert_heat_create(const struct hr_alerts_config *config, struct hr__alert_log *log) {
  struct alert_heat *self = calloc(1, sizeof *self);
  bool any = false;
  if (!self) return NULL;
  self->trace = config->trace;
  self->cluster = config->cluster;
  self->classes = config->classes;
  self->rules = config->rules;
  self->log = log;
  for (uint32_t i = 0; i < config->cluster->n_pools; i++) any = any || hot_spec(config->cluster, i);
  if (!any || config->rules->is_off[HR_ALERT_HOT] || create_nodes(self)) return self;
  alert_heat_destroy(self);
  return NULL;
}

static int in_order(const void *left, const void *right) {
  const struct hot_period *a = left, *b = right;
  if (a->pool != b->pool) return a->pool < b->pool ? -1 : 1;
  if (a->begin_us != b->begin_us) return a->begin_us < b->begin_us ? -1 : 1;
  return (a->end_us > b->end_us) - (a->end_us < b->end_us);
}

static void alert_heat_close(void *self, const struct hr_cost_summary *costs, int64_t end_us) {
  struct alert_heat *heat = self;
  (void)costs;
  for (uint32_t i = 0; heat->nodes && i < heat->cluster->n_pools; i++)
    for (uint32_t n = heat->first[i]; hot_spec(heat->cluster, i) && n < heat->first[i + 1]; n++) {
      advance(heat, i, n, end_us);
      if (heat->nodes[n].hot_us != HR_NEVER_US) end_period(heat, i, &heat->nodes[n], end_us);
    }
  if (heat->n_periods > 1) qsort(heat->periods, heat->n_periods, sizeof *heat->periods, in_order);
  for (uint32_t i = 0; i < heat->n_periods;) {
    struct hr_alert alert = {HR_ALERT_HOT,
                             heat->cluster->pools[heat->periods[i].pool].name,
                             heat->periods[i].begin_us,
                             heat->periods[i].end_us,
                             0,
                             0};
    uint32_t pool = heat->periods[i].pool;
    for (; i < heat->n_periods && heat->periods[i].pool == pool && heat->periods[i].begin_us <= alert.end_us; i++) {
      if (heat->periods[i].end_us > alert.end_us) alert.end_us = heat->periods[i].end_us;
      alert.value = fmax(alert.value, heat->periods[i].celsius);
      alert.count++;
    }
    hr__alert_log_add(heat->log, alert);
  }
}

const struct hr__alert_watcher hr__alert_heat = {
    .create = alert_heat_create, .destroy = alert_heat_destroy, .note = alert_heat_note, .close = alert_heat_close};

/* ---- Budgets --------------------------------------------------------------------------------------- */

/*
 * The budget rule (`over-budget`): a tenant exceeds its budget.
 *
 * The monthly statements (report/costs/costs.c) decide in which months a tenant exceeded its budget, because they
 * contain all costs of the tenant. This rule computes the time at which the budget was exceeded. It accumulates the
 * cost of the GPUs that jobs of the tenant use, and finds by bisection the first microsecond in which this cost exceeds
 * the limit. The tenant also pays for parts of the services and of the idle capacity, but these parts are known only at
 * the end of the month. If the limit is exceeded only because of these parts, the alert therefore begins at the end of
 * the month, or of the run if this is earlier.
 *
 * The limit is the monthly budget times the threshold of the rule.
 */

struct budget_account {
  const struct hr_budget *budget;
  uint32_t tenant; /* index in the names of the trace; HR_NONE: the trace does not contain the tenant */
  hr_amount limit;
  uint64_t *gpu_milli; /* by pool: GPUs that jobs of the tenant hold now */
  int64_t until_us;
  hr_amount spent;      /* cost of jobs from the begin of the month to `until_us`, in units of the ledger */
  bool is_exceeded;     /* the limit was exceeded in the month of `until_us` */
  int64_t *exceeded_us; /* by month: when the cost of jobs exceeded the limit; HR_NEVER_US: it did not */
  uint32_t n_months, capacity;
};

struct alert_budgets {
  const struct hr_trace *trace;
  const struct hr_alert_rules *rules;
  struct hr__alert_log *log;
  struct hr__price_sums *prices; /* by pool */
  struct budget_account *accounts;
  uint32_t n_pools;
  size_t n_accounts;
};

static uint32_t tenant_named(const struct hr_trace *trace, const char *name) {
  for (uint32_t i = 0; trace->tenant && i < trace->tenants.count; i++)
    if (strcmp(trace->tenants.text[i], name) == 0) return i;
  return HR_NONE;
}

static bool accounts_init(struct alert_budgets *self, const struct hr_cost_spec *costs) {
  for (size_t i = 0; i < self->n_accounts; i++) {
    const struct hr_budget *budget = &costs->budgets[i];
    double limit_uusd = (double)budget->uusd_per_month * self->rules->budget_above;
    self->accounts[i] = (struct budget_account){.budget = budget,
                                                .tenant = tenant_named(self->trace, budget->tenant),
                                                .limit = (hr_amount)limit_uusd * HR_LEDGER_UNITS_PER_UUSD,
                                                .gpu_milli = calloc((size_t)self->n_pools + 1, sizeof(uint64_t))};
    if (!self->accounts[i].gpu_milli) return false;
  }
  return true;
}

static void budgets_destroy(void *self) {
  struct alert_budgets *budgets = self;
  if (!budgets) return;
  for (uint32_t i = 0; budgets->prices && i < budgets->n_pools; i++) hr__price_sums_finish(&budgets->prices[i]);
  for (size_t i = 0; budgets->accounts && i < budgets->n_accounts; i++) {
    free(budgets->accounts[i].gpu_milli);
    free(budgets->accounts[i].exceeded_us);
  }
  free(budgets->prices);
  free(budgets->accounts);
  free(budgets);
}

static void *budgets_create(const struct hr_alerts_config *config, struct hr__alert_log *log) {
  struct alert_budgets *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  bool is_off = config->rules->is_off[HR_ALERT_BUDGET] || !config->costs;
  *self = (struct alert_budgets){.trace = config->trace,
                                 .rules = config->rules,
                                 .log = log,
                                 .n_pools = config->cluster->n_pools,
                                 .n_accounts = is_off ? 0 : config->costs->n_budgets};
  self->prices = calloc((size_t)self->n_pools + 1, sizeof *self->prices);
  self->accounts = calloc(self->n_accounts + 1, sizeof *self->accounts);
  bool made = self->prices && self->accounts;
  for (uint32_t i = 0; made && self->n_accounts && i < self->n_pools; i++)
    made = hr__price_sums_init(&self->prices[i], &config->cluster->pools[i].market) == HR_OK;
  if (made && accounts_init(self, config->costs)) return self;
  budgets_destroy(self);
  return NULL;
}

/* ---- Budgets: spending ----------------------------------------------------------------------------- */

static hr_amount cost_of(const struct alert_budgets *self, const struct budget_account *budget_account, int64_t to_us) {
  hr_amount cost = 0;
  for (uint32_t i = 0; i < self->n_pools; i++)
    if (budget_account->gpu_milli[i])
      cost += (hr_amount)budget_account->gpu_milli[i] *
              hr__price_sum_between(&self->prices[i], budget_account->until_us, to_us);
  return cost;
}

/* Returns the first microsecond in which the cost of the tenant's jobs exceeds the limit. The caller has checked that
   it does so at `to_us`. */
static int64_t exceeded_at_us(const struct alert_budgets *self, const struct budget_account *budget_account,
                              int64_t to_us) {
  int64_t below_us = budget_account->until_us;
  while (to_us - below_us > 1) {
    int64_t middle_us = below_us + (to_us - below_us) / 2;
    if (budget_account->spent + cost_of(self, budget_account, middle_us) > budget_account->limit)
      to_us = middle_us;
    else
      below_us = middle_us;
  }
  return to_us;
}

static void record_exceeded(struct alert_budgets *self, struct budget_account *budget_account, uint32_t month,
                            int64_t at_us) {
  while (budget_account->n_months <= month) {
    if (!HR__ARRAY_HAS_ROOM(budget_account->exceeded_us, budget_account->n_months, budget_account->capacity)) {
      self->log->failed = true;
      return;
    }
    budget_account->exceeded_us[budget_account->n_months++] = HR_NEVER_US;
  }
  budget_account->exceeded_us[month] = at_us;
  budget_account->is_exceeded = true;
}

static void spend_until(struct alert_budgets *self, struct budget_account *budget_account, int64_t now_us) {
  while (budget_account->until_us < now_us) {
    int64_t month = budget_account->until_us / HR_MONTH_US, month_end_us = (month + 1) * HR_MONTH_US;
    int64_t to_us = now_us < month_end_us ? now_us : month_end_us;
    hr_amount spent = budget_account->spent + cost_of(self, budget_account, to_us);
    if (spent > budget_account->limit && !budget_account->is_exceeded)
      record_exceeded(self, budget_account, (uint32_t)month, exceeded_at_us(self, budget_account, to_us));
    budget_account->spent = spent;
    budget_account->until_us = to_us;
    if (to_us < month_end_us) continue;
    budget_account->spent = 0;
    budget_account->is_exceeded = false;
  }
}

static void budgets_note(void *self, const struct hr_event *event) {
  struct alert_budgets *budgets = self;
  bool starts = event->kind == HR_EVENT_START;
  if (budgets->n_accounts == 0 || !budgets->trace->tenant || !(starts || hr__releases(event->kind))) return;
  uint32_t tenant = budgets->trace->tenant[event->job.id];
  for (size_t i = 0; tenant != HR_NONE && i < budgets->n_accounts; i++) {
    struct budget_account *budget_account = &budgets->accounts[i];
    if (budget_account->tenant != tenant) continue;
    spend_until(budgets, budget_account, event->at_us);
    uint64_t gpu_milli = hr_placement_milli(event->placement, budgets->trace, event->job);
    budget_account->gpu_milli[event->placement->pool.id] += starts ? gpu_milli : -gpu_milli;
  }
}

/* ---- Budgets: results ------------------------------------------------------------------------------ */

static int64_t exceeded_in(const struct budget_account *budget_account, uint32_t month, int64_t month_end_us) {
  int64_t at_us = month < budget_account->n_months ? budget_account->exceeded_us[month] : HR_NEVER_US;
  return at_us < month_end_us ? at_us : month_end_us;
}

static void budgets_close(void *self, const struct hr_cost_summary *costs, int64_t end_us) {
  struct alert_budgets *budgets = self;
  for (size_t i = 0; i < budgets->n_accounts; i++) {
    struct budget_account *budget_account = &budgets->accounts[i];
    spend_until(budgets, budget_account, end_us);
    for (size_t k = 0; costs && k < costs->n_budgets; k++) {
      const struct hr_budget_line *line = &costs->budgets[k];
      double limit_uusd = (double)line->budget_uusd * budgets->rules->budget_above;
      if (strcmp(line->tenant, budget_account->budget->tenant) != 0 || (double)line->spent_uusd <= limit_uusd) continue;
      int64_t month_end_us = ((int64_t)line->month + 1) * HR_MONTH_US;
      if (month_end_us > end_us) month_end_us = end_us;
      struct hr_alert alert = {.rule = HR_ALERT_BUDGET,
                               .where = budget_account->budget->tenant,
                               .begin_us = exceeded_in(budget_account, line->month, month_end_us),
                               .end_us = month_end_us,
                               .value = line->budget_uusd ? (double)line->spent_uusd / (double)line->budget_uusd : 0};
      hr__alert_log_add(budgets->log, alert);
    }
  }
}

const struct hr__alert_watcher hr__alert_budgets = {
    .create = budgets_create, .destroy = budgets_destroy, .note = budgets_note, .close = budgets_close};
