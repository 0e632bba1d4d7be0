/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scenario's `replications`. Which figures there are is known above; their names are kept with their places. */

#include "scenarios/builder.h"

#include <stdlib.h>
#include <string.h>

void hr_replication_spec_init(struct hr_replication_spec *spec) {
  *spec = (struct hr_replication_spec){.confidence = 0.95};
  hr_workload_spec_init(&spec->workload);
}

void hr_replication_spec_finish(struct hr_replication_spec *spec) {
  free(spec->metric.text);
  free(spec->metric.place);
}

static enum hr_status build_precision(struct hr__builder *builder, const cJSON *json,
                                      struct hr_replication_spec *spec) {
  const cJSON *metric = hr__build_enter(builder, json, "metric");
  enum hr_status status = hr__build_placed(builder, metric->valuestring, &spec->metric);
  hr__build_leave(builder);
  if (status != HR_OK) return status;
  if (hr__has(json, "count"))
    return hr__build_fail_at(builder, json, "count",
                             "replications have a 'count', or a 'metric' that is to be known so well, not both");
  if (!hr__has(json, "relative"))
    return hr__build_fail(builder, false, "'metric' wants 'relative', half the width of its interval as a share of it");
  spec->relative = hr__number_of(json, "relative", 0);
  spec->most = (uint32_t)hr__number_of(json, "max", HR_MOST_REPLICATIONS);
  spec->least = (uint32_t)hr__number_of(json, "min", HR_LEAST_REPLICATIONS);
  if (!hr__has(json, "min") && spec->least > spec->most) spec->least = spec->most;
  if (spec->least > spec->most)
    return hr__build_fail_at(builder, json, "min", "'min' is %u, more than 'max', which is %u", spec->least,
                             spec->most);
  return HR_OK;
}

enum hr_status hr__build_replications(struct hr__builder *builder) {
  static const char *const words[] = {"none", "days", "weeks", NULL};
  struct hr_replication_spec *spec = &builder->scenario->replications;
  hr_replication_spec_init(spec);
  const cJSON *json = hr__build_enter(builder, builder->source.file.tree, "replications");
  if (!json) return HR_OK;
  spec->count = (uint32_t)hr__number_of(json, "count", 0);
  spec->confidence = hr__number_of(json, "confidence", spec->confidence);
  const cJSON *workload = cJSON_GetObjectItemCaseSensitive(json, "workload");
  spec->workload.blocks = (enum hr_blocks)hr__choice_of(workload, "resample", words, HR_BLOCKS_NONE);
  spec->workload.growth = hr__number_of(workload, "growth", 1);
  enum hr_status status = hr__has(json, "metric") ? build_precision(builder, json, spec) : HR_OK;
  if (status == HR_OK && !spec->metric.text && hr__has(json, "relative"))
    status = hr__build_fail_at(builder, json, "relative", "'relative' wants a 'metric', the figure that is meant");
  hr__build_leave(builder);
  return status;
}
