/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What each tenant is shown month by month. Items sorted by tenant and month are one run of items for each statement.
 * What is idle or shared in a month is then split over the month's statements by the scenario's rule; a month in which
 * no tenant used GPUs has nobody to show it to. Tenants' sums, what is over budget, and what was not split follow.
 */

#include "report/apportion.h"
#include "report/cost_tables.h"

#include <stdlib.h>
#include <string.h>

/* A statement in the making: whose it is, and by what it takes its part of what is split. */
struct draft {
  uint32_t tenant, month;
  bool used_gpus;
  struct hr_statement sums; /* without its name */
};

struct drafts {
  struct draft *draft;
  size_t count;
  int64_t *idle, *shared; /* by month: what is not split yet */
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

static void add_item(struct draft *draft, const struct hr__cost_item *item) {
  struct hr_statement *sums = &draft->sums;
  if (item->kind == HR__COST_USE) {
    *use_line(sums, item->class_) += item->uusd;
    draft->used_gpus |= item->gpu_time > 0;
  }
  if (item->kind == HR__COST_STORAGE) sums->storage_uusd += item->uusd;
  if (item->kind == HR__COST_EGRESS) sums->egress_uusd += item->uusd;
  if (item->kind == HR__COST_DOWNTIME) sums->downtime_uusd += item->uusd;
}

static enum hr_status draft_all(struct hr__costing *costing, struct drafts *drafts) {
  if (costing->n_items) qsort(costing->items, costing->n_items, sizeof *costing->items, by_tenant_and_month);
  drafts->draft = calloc(costing->n_items + 1, sizeof *drafts->draft);
  drafts->idle = calloc((size_t)costing->n_months * 2, sizeof *drafts->idle);
  if (!drafts->draft || !drafts->idle) return HR_NO_MEMORY;
  drafts->shared = drafts->idle + costing->n_months;
  for (size_t i = 0; i < costing->n_items; i++) {
    const struct hr__cost_item *item = &costing->items[i];
    if (item->tenant == HR_NONE) {
      *(hr__is_service(item->kind) ? &drafts->shared[item->month] : &drafts->idle[item->month]) += item->uusd;
      continue;
    }
    struct draft *last = drafts->count ? &drafts->draft[drafts->count - 1] : NULL;
    if (!last || last->tenant != item->tenant || last->month != item->month) {
      last = &drafts->draft[drafts->count++];
      last->tenant = item->tenant;
      last->month = item->month;
    }
    add_item(last, item);
  }
  return HR_OK;
}

/* ---- Splitting -------------------------------------------------------------------------------------- */

/* Room for the statements of one month. */
struct split {
  struct draft **members;
  hr_amount *amounts;
  int64_t *parts;
  size_t count;
};

static int64_t weight_of(const struct draft *draft, enum hr_idle_split rule) {
  const struct hr_statement *sums = &draft->sums;
  if (!draft->used_gpus) return 0;
  return rule == HR_IDLE_SPLIT_EVEN ? 1 : sums->training_uusd + sums->inference_uusd + sums->other_uusd;
}

/* Takes `*sum`, which may be less than 0, apart; leaves it where nobody has a weight. */
static enum hr_status split_sum(struct split *split, enum hr_idle_split rule, int64_t *sum) {
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

static enum hr_status split_month(struct split *split, enum hr_idle_split rule, int64_t *idle, int64_t *shared) {
  enum hr_status status = split_sum(split, rule, idle);
  for (size_t i = 0; i < split->count; i++) split->members[i]->sums.idle_uusd = split->parts[i];
  if (status == HR_OK) status = split_sum(split, rule, shared);
  for (size_t i = 0; i < split->count; i++) split->members[i]->sums.shared_uusd = split->parts[i];
  return status;
}

static int members_by_month(const void *a, const void *b) {
  const struct draft *x = *(struct draft *const *)a, *y = *(struct draft *const *)b;
  if (x->month != y->month) return x->month < y->month ? -1 : 1;
  return (x->tenant > y->tenant) - (x->tenant < y->tenant);
}

static enum hr_status split_all(struct drafts *drafts, enum hr_idle_split rule) {
  if (rule == HR_IDLE_SPLIT_NONE || drafts->count == 0) return HR_OK;
  struct draft **members = malloc(drafts->count * sizeof *members);
  hr_amount *amounts = malloc(drafts->count * sizeof *amounts);
  int64_t *parts = malloc(drafts->count * sizeof *parts);
  enum hr_status status = members && amounts && parts ? HR_OK : HR_NO_MEMORY;
  for (size_t i = 0; i < drafts->count && status == HR_OK; i++) members[i] = &drafts->draft[i];
  if (status == HR_OK) qsort(members, drafts->count, sizeof *members, members_by_month);
  for (size_t i = 0, end = 0; i < drafts->count && status == HR_OK; i = end) {
    uint32_t month = members[i]->month;
    while (end < drafts->count && members[end]->month == month) end++;
    struct split split = {members + i, amounts, parts, end - i};
    status = split_month(&split, rule, &drafts->idle[month], &drafts->shared[month]);
  }
  free(members);
  free(amounts);
  free(parts);
  return status;
}

/* ---- Showing ---------------------------------------------------------------------------------------- */

static enum hr_status show_statements(const struct hr__costing *costing, struct drafts *drafts,
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

static enum hr_status show_tenants(const struct hr__costing *costing, const struct drafts *drafts,
                                   struct hr_cost_summary *costs) {
  struct tenant_sum *sums = malloc((drafts->count + 1) * sizeof *sums);
  costs->by_tenant.line = calloc(drafts->count + 2, sizeof *costs->by_tenant.line);
  enum hr_status status = sums && costs->by_tenant.line ? HR_OK : HR_NO_MEMORY;
  size_t count = 0;
  for (size_t i = 0; i < drafts->count && status == HR_OK; i++) {
    const struct draft *draft = &drafts->draft[i];
    if (count == 0 || sums[count - 1].tenant != draft->tenant) sums[count++] = (struct tenant_sum){draft->tenant, 0};
    sums[count - 1].uusd += draft->sums.total_uusd;
  }
  if (count) qsort(sums, count, sizeof *sums, largest_first);
  for (size_t i = 0; i < count && status == HR_OK; i++)
    status = hr__cost_line_add(&costs->by_tenant, costing->tenants[sums[i].tenant], sums[i].uusd);
  free(sums);
  if (status != HR_OK) return status;
  int64_t idle = sum_over(drafts->idle, costing->n_months), shared = sum_over(drafts->shared, costing->n_months);
  if (idle) status = hr__cost_line_add(&costs->by_tenant, hr__idle_name, idle);
  return status == HR_OK && shared ? hr__cost_line_add(&costs->by_tenant, hr__shared_name, shared) : status;
}

static int64_t spent(const struct drafts *drafts, uint32_t tenant, uint32_t month) {
  size_t low = 0, high = drafts->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const struct draft *draft = &drafts->draft[middle];
    if (draft->tenant < tenant || (draft->tenant == tenant && draft->month < month))
      low = middle + 1;
    else
      high = middle;
  }
  bool found = low < drafts->count && drafts->draft[low].tenant == tenant && drafts->draft[low].month == month;
  return found ? drafts->draft[low].sums.total_uusd : 0;
}

static enum hr_status show_budgets(const struct hr__costing *costing, const struct drafts *drafts,
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

enum hr_status hr__cost_statements(struct hr__costing *costing, struct hr_cost_summary *costs) {
  struct drafts drafts = {0};
  const struct hr_cost_spec *spec = costing->basis->spec;
  enum hr_status status = draft_all(costing, &drafts);
  if (status == HR_OK) status = split_all(&drafts, spec ? spec->idle_split : HR_IDLE_SPLIT_NONE);
  if (status == HR_OK) status = show_statements(costing, &drafts, costs);
  if (status == HR_OK) status = show_tenants(costing, &drafts, costs);
  if (status == HR_OK) status = show_budgets(costing, &drafts, costs);
  free(drafts.draft);
  free(drafts.idle);
  return status;
}
