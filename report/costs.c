/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The costs of a run: items are gathered, then summed into the tables that are shown. */

#include "report/costs.h"

#include "report/apportion.h"
#include "report/cost_tables.h"
#include "report/csv_out.h"
#include "report/meter.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ---- Sums ------------------------------------------------------------------------------------------- */

static enum hr_status sum_items(const struct hr__costing *costing, struct hr_cost_summary *costs) {
  hr_amount total = 0;
  for (size_t i = 0; i < costing->n_items; i++) total += costing->items[i].uusd;
  if (total >= HR__MOST_UUSD || total <= -HR__MOST_UUSD) return HR_BAD_INPUT;
  costs->total_uusd = (int64_t)total;
  for (size_t i = 0; i < costing->n_items; i++) {
    const struct hr__cost_item *item = &costing->items[i];
    if (!hr__is_service(item->kind)) costs->capacity_uusd += item->uusd;
    if (item->kind == HR__COST_IDLE) costs->idle_uusd += item->uusd;
    if (hr__is_service(item->kind) && item->tenant == HR_NONE) costs->shared_uusd += item->uusd;
  }
  return HR_OK;
}

/* What used GPUs would cost on demand, and the services, which would cost the same; not plans, which it does without.
 */
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
    if (hr__is_service(kind) && kind != HR__COST_SAVINGS_PLAN) uusd += costing->items[i].uusd;
  }
  uusd += hr__divided(units, HR_LEDGER_UNITS_PER_UUSD);
  return uusd < HR__MOST_UUSD ? (int64_t)uusd : HR_UNKNOWN_UUSD;
}

static int64_t per(int64_t uusd, hr_amount unit, hr_amount count) {
  if (count <= 0) return HR_UNKNOWN_UUSD;
  hr_amount each = hr__divided((hr_amount)uusd * unit, count);
  return each < HR__MOST_UUSD && each > -HR__MOST_UUSD ? (int64_t)each : HR_UNKNOWN_UUSD;
}

/* Demand that goes on has no last job whose end is waited for: what stands costs by the length of the run, what is
   taken when it is wanted by the time in which that work came. */
static int64_t monthly_uusd(const struct hr__costing *costing) {
  const struct hr_result *result = costing->result;
  int64_t last_us = result->n_submitted ? costing->trace->submit_us[result->n_submitted - 1] : 0;
  int64_t window_us = last_us > 0 && last_us < result->end_us ? last_us : result->end_us;
  hr_amount elastic = 0, standing = 0;
  for (size_t i = 0; i < costing->n_items; i++) {
    uint32_t pool = costing->items[i].pool;
    bool comes_and_goes = pool != HR_NONE && hr_market_is_elastic(costing->cluster->pools[pool].market.market);
    *(comes_and_goes ? &elastic : &standing) += costing->items[i].uusd;
  }
  int64_t of_elastic = per((int64_t)elastic, HR_MONTH_US, window_us);
  int64_t of_standing = per((int64_t)standing, HR_MONTH_US, result->end_us);
  if (of_elastic == HR_UNKNOWN_UUSD || of_standing == HR_UNKNOWN_UUSD) return HR_UNKNOWN_UUSD;
  return of_elastic + of_standing;
}

static void fill_ratios(const struct hr__costing *costing, hr_amount useful_milli_us, struct hr_cost_summary *costs) {
  const struct hr_result *result = costing->result;
  costs->all_on_demand_uusd = all_on_demand_uusd(costing);
  costs->saving_vs_on_demand = (double)NAN;
  if (costs->all_on_demand_uusd > 0)
    costs->saving_vs_on_demand = 1 - (double)costs->total_uusd / (double)costs->all_on_demand_uusd;
  costs->per_completed_job_uusd = per(costs->total_uusd, 1, (hr_amount)result->n_completed);
  costs->per_goodput_gpu_hour_uusd = per(costs->total_uusd, 3600 * 1000 * HR_SECOND_US, useful_milli_us);
  costs->per_month_uusd = per(costs->total_uusd, HR_MONTH_US, result->end_us);
  costs->monthly_uusd = monthly_uusd(costing);
}

/* ---- The whole -------------------------------------------------------------------------------------- */

static enum hr_status fill(struct hr__costing *costing, hr_amount useful_milli_us, struct hr_cost_summary *costs) {
  enum hr_status status = hr__cost_capacity(costing);
  if (status == HR_OK) status = hr__cost_services(costing);
  if (status == HR_OK) status = sum_items(costing, costs);
  if (status != HR_OK) return status;
  fill_ratios(costing, useful_milli_us, costs);
  status = hr__cost_breakdowns(costing, costs);
  if (status == HR_OK) status = hr__cost_statements(costing, costs);
  return status == HR_OK ? hr__cost_rows(costing, costs) : status;
}

enum hr_status hr__costs_make(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                              const struct hr_result *result, const struct hr_cost_basis *basis,
                              hr_amount useful_milli_us, struct hr_cost_summary **costs) {
  struct hr__costing costing;
  *costs = calloc(1, sizeof **costs);
  if (!*costs) return HR_NO_MEMORY;
  enum hr_status status = hr__meter_close(basis->meter, result->end_us);
  if (status != HR_OK) return status;
  status = hr__costing_init(&costing, trace, cluster, result, basis);
  if (status == HR_OK) status = fill(&costing, useful_milli_us, *costs);
  hr__costing_finish(&costing);
  return status;
}

enum hr_status hr__cannot_sum(const struct hr_trace *trace, enum hr_status status, struct hr_error *error) {
  if (status == HR_BAD_INPUT)
    return hr_fail(error, status, "%s: the costs pass 4 trillion dollars: prices or times are too large",
                   trace->source);
  return hr_fail(error, status, "%s: out of memory for the figures of %" PRIu32 " jobs", trace->source, trace->n_jobs);
}

static void free_lines(struct hr_cost_lines *lines) {
  for (size_t i = 0; i < lines->count; i++) free(lines->line[i].name);
  free(lines->line);
}

void hr__costs_destroy(struct hr_cost_summary *costs) {
  if (!costs) return;
  free_lines(&costs->by_market);
  free_lines(&costs->by_pool);
  free_lines(&costs->by_tenant);
  free_lines(&costs->by_class);
  free_lines(&costs->by_gpu);
  for (size_t i = 0; i < costs->n_statements; i++) free(costs->statements[i].tenant);
  for (size_t i = 0; i < costs->n_budgets; i++) free(costs->budgets[i].tenant);
  for (size_t i = 0; i < costs->n_rows; i++) {
    free(costs->rows[i].tenant);
    free(costs->rows[i].market);
    free(costs->rows[i].gpu);
  }
  free(costs->statements);
  free(costs->budgets);
  free(costs->rows);
  free(costs);
}

/* ---- The file --------------------------------------------------------------------------------------- */

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
