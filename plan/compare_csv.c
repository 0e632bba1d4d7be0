/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A comparison as CSV: a row for each policy, group and figure. What cannot be told is empty. */

#include "plan/comparison.h"
#include "report/csv_out.h"

#include <math.h>

static void put_number(struct hr__csv_out *out, double value) {
  char buffer[HR__NUMBER_BYTES];
  hr__csv_text(out, isnan(value) ? "" : hr__decimal_text(value, buffer));
}

static void put_row(struct hr__csv_out *out, const char *policy, const char *group, const char *name,
                    const char *metric, const struct hr_estimate *estimate) {
  hr__csv_text(out, policy);
  hr__csv_text(out, group);
  hr__csv_text(out, name);
  hr__csv_text(out, metric);
  put_number(out, estimate->value);
  put_number(out, estimate->difference);
  put_number(out, estimate->low);
  put_number(out, estimate->high);
  hr__csv_text(out, isnan(estimate->low) ? "" : estimate->significant ? "true" : "false");
  hr__csv_end_row(out);
}

static void put_groups(struct hr__csv_out *out, const struct hr_comparison *comparison,
                       const struct hr__group_table *table, uint32_t contender) {
  size_t count;
  const struct hr_group *groups = table->of(comparison->first_runs[0].summary, &count);
  for (size_t i = 0; i < count; i++) {
    size_t place = hr__group_find(table, groups[i].name);
    for (unsigned m = 0; place != SIZE_MAX && m < HR__N_GROUP_METRICS; m++) {
      struct hr_estimate estimate = hr__group_estimate(comparison, table, contender, place, (enum hr__group_metric)m);
      put_row(out, comparison->config.contenders[contender].label, table->title, groups[i].name,
              hr__metric_name(&hr__group_metric_infos[m]), &estimate);
    }
  }
}

enum hr_status hr_comparison_write_csv(const char *path, const struct hr_comparison *comparison,
                                       struct hr_error *error) {
  struct hr__csv_out out;
  enum hr_status status =
      hr__csv_open(&out, path, "policy,group,name,metric,value,difference,low,high,significant", error);
  if (status != HR_OK) return status;
  for (uint32_t i = 0; i < comparison->config.n_contenders; i++) {
    for (unsigned m = 0; m < HR__N_METRICS; m++) {
      if (!hr__has_metric(comparison, (enum hr__metric)m)) continue;
      struct hr_estimate estimate = hr__estimate(comparison, i, (enum hr__metric)m);
      put_row(&out, comparison->config.contenders[i].label, "all", "", hr__metric_name(&hr__metric_infos[m]),
              &estimate);
    }
    put_groups(&out, comparison, &comparison->groups[HR__CLASSES], i);
    put_groups(&out, comparison, &comparison->groups[HR__TENANTS], i);
  }
  return hr__csv_commit(&out, error);
}
