/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Summaries as bytes. Each structure is copied as a whole; then the arrays and texts that it points to follow, in the
   order of its members. Reading replaces all pointers, so no pointer of the other process remains. */

#include "report/metrics/summary.h"

#include "base/containers.h"

#include "headroom/unstable/metrics.h"

/* Copies an array that has a separate count. An empty array need not be NULL, and stays as it is when it is written. */
#define PARCEL_ARRAY(parcel, array, count)                                                                             \
  do {                                                                                                                 \
    void *copied = hr__parcel_array((parcel), (array), &(count), sizeof *(array));                                     \
    if ((parcel)->reading) (array) = copied;                                                                           \
  } while (0)

/* The same for structures of which only `name` is a pointer. */
#define PARCEL_NAMED(parcel, array, count)                                                                             \
  do {                                                                                                                 \
    PARCEL_ARRAY(parcel, array, count);                                                                                \
    for (size_t n = 0; (array) && n < (count); n++) hr__parcel_text((parcel), &(array)[n].name);                       \
  } while (0)

static void put_pools(struct hr__parcel *parcel, struct hr_summary *summary) {
  PARCEL_ARRAY(parcel, summary->by_pool, summary->n_pools);
  for (size_t i = 0; i < summary->n_pools; i++) {
    hr__parcel_text(parcel, &summary->by_pool[i].name);
    hr__parcel_text(parcel, &summary->by_pool[i].gpu);
  }
}

static void put_costs(struct hr__parcel *parcel, struct hr_cost_summary **at) {
  size_t count = *at != NULL;
  *at = hr__parcel_array(parcel, *at, &count, sizeof **at);
  struct hr_cost_summary *costs = *at;
  if (!costs) return;
  PARCEL_NAMED(parcel, costs->by_market.line, costs->by_market.count);
  PARCEL_NAMED(parcel, costs->by_pool.line, costs->by_pool.count);
  PARCEL_NAMED(parcel, costs->by_tenant.line, costs->by_tenant.count);
  PARCEL_NAMED(parcel, costs->by_class.line, costs->by_class.count);
  PARCEL_NAMED(parcel, costs->by_gpu.line, costs->by_gpu.count);
  PARCEL_ARRAY(parcel, costs->statements, costs->n_statements);
  for (size_t i = 0; i < costs->n_statements; i++) hr__parcel_text(parcel, &costs->statements[i].tenant);
  PARCEL_ARRAY(parcel, costs->budgets, costs->n_budgets);
  for (size_t i = 0; i < costs->n_budgets; i++) hr__parcel_text(parcel, &costs->budgets[i].tenant);
  PARCEL_ARRAY(parcel, costs->rows, costs->n_rows);
  for (size_t i = 0; i < costs->n_rows; i++) {
    hr__parcel_text(parcel, &costs->rows[i].tenant);
    hr__parcel_text(parcel, &costs->rows[i].market);
    hr__parcel_text(parcel, &costs->rows[i].gpu);
  }
  PARCEL_ARRAY(parcel, costs->services, costs->n_services);
}

/* Copies the word for a party of `fairness`, which is a constant. */
static void put_party(struct hr__parcel *parcel, const char **over) {
  static const char *const words[] = {"tenants", "users", "jobs"};
  enum { N_WORDS = sizeof words / sizeof *words };
  uint32_t number = 0;
  while (!parcel->reading && *over && number < N_WORDS && strcmp(words[number], *over) != 0) number++;
  hr__parcel_bytes(parcel, &number, sizeof number);
  *over = words[number < N_WORDS ? number : 0];
}

static void put_services(struct hr__parcel *parcel, struct hr_service_summary **services, size_t *count) {
  PARCEL_ARRAY(parcel, *services, *count);
  for (size_t i = 0; *services && i < *count; i++) {
    struct hr_service_summary *service = &(*services)[i];
    size_t n_hours = service->n_hours;
    hr__parcel_text(parcel, &service->name);
    PARCEL_ARRAY(parcel, service->hours, n_hours);
    service->n_hours = (uint32_t)n_hours;
    size_t n_decisions = service->n_listed, n_levels = service->n_levels;
    PARCEL_ARRAY(parcel, service->decisions, n_decisions);
    PARCEL_ARRAY(parcel, service->levels, n_levels);
    service->n_listed = (uint32_t)n_decisions;
    service->n_levels = (uint32_t)n_levels;
  }
}

void hr__parcel_summary(struct hr__parcel *parcel, struct hr_summary **summary) {
  size_t one = 1;
  *summary = hr__parcel_array(parcel, *summary, &one, sizeof **summary);
  struct hr_summary *self = *summary;
  if (!self) return;
  PARCEL_NAMED(parcel, self->by_tenant, self->n_tenants);
  PARCEL_NAMED(parcel, self->by_class, self->n_classes);
  PARCEL_NAMED(parcel, self->by_size, self->n_sizes);
  PARCEL_NAMED(parcel, self->by_cluster, self->n_clusters);
  PARCEL_NAMED(parcel, self->routing, self->n_routing);
  put_pools(parcel, self);
  put_costs(parcel, &self->costs);
  put_party(parcel, &self->fairness.over);
  PARCEL_NAMED(parcel, self->energy.by_pool, self->energy.n_pools);
  PARCEL_NAMED(parcel, self->energy.by_tenant, self->energy.n_tenants);
  PARCEL_NAMED(parcel, self->carbon.by_pool, self->carbon.n_pools);
  PARCEL_NAMED(parcel, self->carbon.by_tenant, self->carbon.n_tenants);
  PARCEL_NAMED(parcel, self->faults.by_failure_class, self->faults.n_failure_classes);
  PARCEL_NAMED(parcel, self->data.by_storage, self->data.n_storage);
  PARCEL_NAMED(parcel, self->data.by_link, self->data.n_links);
  size_t n_all = self->all_services != NULL;
  put_services(parcel, &self->services, &self->n_services);
  put_services(parcel, &self->all_services, &n_all);
}
