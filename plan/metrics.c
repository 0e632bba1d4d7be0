/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/metrics.h"

#define METRIC_INFO(id, measure, block, title) [id] = {measure, block, title},
const struct hr__metric_info hr__metric_infos[HR__N_METRICS] = {HR__METRIC_TABLE(METRIC_INFO)};
const struct hr__metric_info hr__group_metric_infos[HR__N_GROUP_METRICS] = {HR__GROUP_METRIC_TABLE(METRIC_INFO)};

void hr__metrics_of_run(const struct hr__one_run *run, double values[HR__N_METRICS]) {
  double measures[HR__N_MEASURES];
  hr__measures_of_run(run, measures);
  for (size_t i = 0; i < HR__N_METRICS; i++) values[i] = measures[hr__metric_infos[i].measure];
}

void hr__metrics_of_group(const struct hr_group *group, double values[HR__N_GROUP_METRICS]) {
  double measures[HR__N_MEASURES];
  hr__measures_of_group(group, NULL, measures);
  for (size_t i = 0; i < HR__N_GROUP_METRICS; i++) values[i] = measures[hr__group_metric_infos[i].measure];
}
