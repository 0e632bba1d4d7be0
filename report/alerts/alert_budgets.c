/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The budget rule (`over-budget`) of the alerts.
 *
 * The monthly statements (report/costs/costs.c) decide in which months a tenant exceeded its budget, because they
 * contain all costs of the tenant. This file computes the time at which the budget was exceeded. It accumulates the
 * cost of the GPUs that jobs of the tenant use, and finds by bisection the first microsecond in which this cost exceeds
 * the limit. The tenant also pays for parts of the services and of the idle capacity, but these parts are known only at
 * the end of the month. If the limit is exceeded only because of these parts, the alert therefore begins at the end of
 * the month.
 *
 * The limit is the monthly budget times the threshold of the rule.
 */

#include "report/alerts/alerts.h"

#include "headroom/sim.h"
#include "sim/market/market.h"

#include <stdlib.h>
#include <string.h>

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

/* ---- Spending ------------------------------------------------------------------------------------ */

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
  bool stops = event->kind == HR_EVENT_END || event->kind == HR_EVENT_INTERRUPT || event->kind == HR_EVENT_PREEMPT;
  if (budgets->n_accounts == 0 || !budgets->trace->tenant || !(starts || stops)) return;
  uint32_t tenant = budgets->trace->tenant[event->job.id];
  for (size_t i = 0; tenant != HR_NONE && i < budgets->n_accounts; i++) {
    struct budget_account *budget_account = &budgets->accounts[i];
    if (budget_account->tenant != tenant) continue;
    spend_until(budgets, budget_account, event->at_us);
    uint64_t gpu_milli = hr_placement_milli(event->placement, budgets->trace, event->job);
    budget_account->gpu_milli[event->placement->pool.id] += starts ? gpu_milli : -gpu_milli;
  }
}

/* ---- Results ------------------------------------------------------------------------------------- */

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
