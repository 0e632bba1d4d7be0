/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replications as JSON: the summary of the first, and what all tell (docs/reference/schemas/summary.schema.json). */

#include "headroom/compare.h"
#include "plan/interval_json.h"
#include "plan/replicating.h"

#include <string.h>

struct writer {
  struct hr__json json;
  const struct hr_replicates *replicates;
};

/* Figures `from` on that are of one group, those known in any replication; returns where the next group begins. */
static size_t put_group(struct writer *writer, cJSON *object, size_t from) {
  const struct hr_replicates *replicates = writer->replicates;
  const struct hr__figure *first = &replicates->figures[from];
  size_t i = from;
  for (; i < replicates->n_figures; i++) {
    const struct hr__figure *figure = &replicates->figures[i];
    struct hr__interval interval;
    if (figure->of != first->of || figure->name != first->name) break;
    if (hr__replicates_interval(replicates, i, &interval) != HR_OK)
      writer->json.failed = true;
    else if (interval.count)
      hr__json_interval(&writer->json, hr__json_object(&writer->json, object, hr__measure_infos[figure->measure].path),
                        &interval);
  }
  return i;
}

/* Groups without a figure are left out. */
static void put_groups(struct writer *writer, cJSON *root) {
  const struct hr_replicates *replicates = writer->replicates;
  cJSON *metrics = hr__json_object(&writer->json, root, "metrics");
  size_t at = put_group(writer, metrics, 0);
  cJSON *classes = hr__json_object(&writer->json, root, "by_class");
  cJSON *tenants = hr__json_object(&writer->json, root, "by_tenant");
  while (at < replicates->n_figures) {
    const struct hr__figure *figure = &replicates->figures[at];
    cJSON *group = cJSON_CreateObject();
    at = put_group(writer, group, at);
    if (!group || !group->child)
      cJSON_Delete(group);
    else if (!cJSON_AddItemToObject(figure->of == HR__OF_CLASS ? classes : tenants, figure->name, group))
      writer->json.failed = true;
  }
}

static void put_replications(struct writer *writer, cJSON *root) {
  const struct hr_replicates *replicates = writer->replicates;
  const struct hr_replication_spec *spec = replicates->config.spec;
  struct hr__json *json = &writer->json;
  cJSON *inner = hr__json_object(json, root, "replications");
  hr__json_count(json, inner, "count", replicates->count);
  hr__json_bool(json, inner, "random", !replicates->exact);
  hr__json_number(json, inner, "confidence", spec->confidence);
  hr__json_text(json, inner, "resample", hr_blocks_name(spec->workload.blocks));
  hr__json_number(json, inner, "growth", spec->workload.growth);
  hr__json_text(json, inner, "metric", spec->metric.text);
  bool reached = spec->metric.text && !replicates->exact && isfinite(replicates->relative);
  hr__json_number_if(json, inner, "relative", reached, replicates->relative);
  cJSON *seeds = hr__json_array(json, inner, "seeds");
  for (uint32_t r = 0; r < replicates->count; r++)
    hr__json_append_seed(json, seeds, hr_replication_seed(replicates->config.scenario->seed, r));
  put_groups(writer, inner);
}

enum hr_status hr_replicates_write_json(const char *path, const struct hr_replicates *replicates,
                                        const struct hr_perf *perf, struct hr_error *error) {
  const struct hr_scenario *scenario = hr__lab_scenario(replicates->lab, replicates->mix);
  const struct hr_trace *trace = replicates->config.trace;
  const struct hr_notes *notes[] = {&scenario->notes, &trace->notes, &replicates->first.notes, &replicates->notes};
  const struct hr_run_label label = {.scenario = scenario->name,
                                     .trace = trace->source,
                                     .format = trace->format,
                                     .cluster = &scenario->cluster,
                                     .policy = &scenario->policy,
                                     .seed = scenario->seed,
                                     .notes = notes,
                                     .n_notes = sizeof notes / sizeof *notes,
                                     .skipped = trace->skipped,
                                     .n_skipped_reasons = trace->n_skipped_reasons};
  struct writer writer = {.replicates = replicates};
  cJSON *root = cJSON_CreateObject();
  hr__json_summary(&writer.json, root, replicates->first.summary, &label);
  put_replications(&writer, root);
  if (perf) hr__json_perf(&writer.json, root, replicates->first.summary, perf);
  return hr__json_write(&writer.json, root, path, error);
}
