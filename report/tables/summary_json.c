/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes and reads the summary of a run as JSON (docs/reference/schemas/summary.schema.json). */

#include "base/text.h"
#include "headroom/policies.h"
#include "headroom/unstable/metrics.h"
#include "report/metrics/catalog.h"
#include "report/metrics/metrics.h"
#include "report/tables/tables.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_IN_DOUBLE (UINT64_C(1) << 53)

/* ---- Configuration --------------------------------------------------------------------------------- */

static void put_cluster(struct hr__json *json, cJSON *root, const struct hr_summary *summary,
                        const struct hr_cluster_spec *spec) {
  cJSON *cluster = hr__json_object(json, root, "cluster");
  hr__json_count(json, cluster, "gpus", summary->gpus);
  hr__json_count(json, cluster, "nodes", summary->nodes);
  cJSON *pools = hr__json_array(json, cluster, "pools");
  for (uint32_t i = 0; i < spec->n_pools; i++) {
    cJSON *pool = hr__json_item(json, pools);
    hr__json_text(json, pool, "name", spec->pools[i].name);
    hr__json_text(json, pool, "gpu", spec->pools[i].gpu);
    hr__json_count(json, pool, "nodes", spec->pools[i].nodes);
    hr__json_count(json, pool, "gpus_per_node", spec->pools[i].gpus_per_node);
    hr__json_text(json, pool, "sharing", hr_sharing_name(spec->pools[i].sharing));
  }
}

void hr__json_params(struct hr__json *json, cJSON *object, const struct hr_policy_choice *choice) {
  for (size_t i = 0; i < choice->n_params; i++) {
    char buffer[HR__NUMBER_BYTES];
    const char *text = hr_policy_choice_text(choice, i, buffer);
    if (choice->ops->params[i].type == HR_PARAM_CHOICE)
      hr__json_text(json, object, choice->ops->params[i].key, text);
    else
      hr__json_raw(json, object, choice->ops->params[i].key, text);
  }
}

static void put_policy(struct hr__json *json, cJSON *root, const struct hr_policy_choice *choice) {
  cJSON *policy = hr__json_object(json, root, "policy");
  hr__json_text(json, policy, "name", choice->ops->name);
  hr__json_params(json, policy, choice);
}

cJSON *hr__json_make_seed(uint64_t seed) {
  char buffer[HR__NUMBER_BYTES];
  *hr__put_u64(buffer, seed) = '\0';
  return seed <= EXACT_IN_DOUBLE ? cJSON_CreateRaw(buffer) : cJSON_CreateString(buffer);
}

static void put_label(struct hr__json *json, cJSON *root, const struct hr_summary *summary,
                      const struct hr_run_label *label) {
  hr__json_head(json, root, label->scenario, label->trace, label->format);
  put_cluster(json, root, summary, label->cluster);
  put_policy(json, root, label->policy);
  hr__json_seed(json, root, "seed", label->seed);
}

void hr__json_notes(struct hr__json *json, cJSON *array, const struct hr_notes *notes) {
  for (size_t i = 0; i < notes->count; i++) {
    char *utf8 = hr__utf8_copy(notes->text[i]);
    hr__json_append(json, array, utf8 ? cJSON_CreateString(utf8) : NULL);
    free(utf8);
  }
}

static void put_remarks(struct hr__json *json, cJSON *root, const struct hr_run_label *label) {
  cJSON *notes = hr__json_array(json, root, "notes");
  for (size_t i = 0; i < label->n_notes; i++) hr__json_notes(json, notes, label->notes[i]);
  cJSON *skipped = hr__json_array(json, root, "skipped");
  for (size_t i = 0; i < label->n_skipped_reasons; i++) {
    cJSON *rows = hr__json_item(json, skipped);
    hr__json_text(json, rows, "reason", label->skipped[i].reason);
    hr__json_count(json, rows, "count", label->skipped[i].count);
    hr__json_count(json, rows, "first_line", label->skipped[i].first_line);
  }
}

/* ---- Metrics --------------------------------------------------------------------------------------- */

/* Adds a value at a path such as "queue.mean". Objects on the path are created if they are missing. */
static void put_metric(struct hr__json *json, cJSON *object, const char *path, const struct hr_metric *metric,
                       struct hr__metric_value value) {
  char key[HR__METRIC_BYTES];
  for (const char *dot; (dot = strchr(path, '.')); path = dot + 1) {
    snprintf(key, sizeof key, "%.*s", (int)(dot - path), path);
    cJSON *inner = cJSON_GetObjectItemCaseSensitive(object, key);
    object = inner ? inner : hr__json_object(json, object, key);
  }
  bool whole = metric->kind == HR_METRIC_COUNT || metric->kind == HR_METRIC_EXTREME;
  bool known = !isnan(value.value);
  if (!known && metric->flags & HR_METRIC_NULLABLE)
    hr__json_null(json, object, path);
  else if (metric->unit == HR_UNIT_DOLLARS)
    hr__json_usd(json, object, path, value.exact);
  else if (whole)
    hr__json_count(json, object, path, known ? (uint64_t)value.exact : 0);
  else
    hr__json_number(json, object, path, known ? value.value : 0);
}

/* Adds the metrics of a section. */
static void put_section(struct hr__json *json, cJSON *root, enum hr__metric_section section,
                        const struct hr_summary *summary) {
  for (unsigned i = 0; i < HR__N_METRICS; i++) {
    enum hr__metric metric = (enum hr__metric)i;
    if (hr__metric_section(metric) == section)
      put_metric(json, root, hr__metric_json_path(metric), &hr__metric_rows[i], hr__metric_of_run(metric, summary));
  }
}

/* Adds the metrics of groups. In each group, metrics of job times, which are objects, follow all other metrics. Metrics
   of failures are omitted if they are unknown. */
static void put_groups(struct hr__json *json, cJSON *root, const struct hr_summary *summary, const char *key,
                       const struct hr_group *group, size_t count) {
  cJSON *groups = hr__json_object(json, root, key);
  for (size_t i = 0; i < count; i++) {
    cJSON *inner = hr__json_object(json, groups, group[i].name);
    for (unsigned k = 0; k < 2 * HR__N_METRICS; k++) {
      enum hr__metric metric = (enum hr__metric)(k % HR__N_METRICS);
      const char *path = hr__metric_group_path(metric);
      if (hr__metric_section(metric) == HR__SECTION_FAULTS && !summary->faults.known) continue;
      if (path && (strchr(path, '.') != NULL) == (k >= HR__N_METRICS))
        put_metric(json, inner, path, &hr__metric_rows[metric], hr__metric_of_group(metric, &group[i], NULL));
    }
  }
}

/* Adds the metrics of each cluster, and the numbers of jobs that were routed to it. Adds nothing in a run with one
   cluster. */
static void put_clusters(struct hr__json *json, cJSON *root, const struct hr_summary *summary) {
  if (!summary->n_routing) return;
  put_groups(json, root, summary, "by_cluster", summary->by_cluster, summary->n_clusters);
  cJSON *clusters = hr__json_object(json, root, "routing");
  for (size_t i = 0; i < summary->n_routing; i++) {
    const struct hr_cluster_routing *routing = &summary->routing[i];
    cJSON *inner = hr__json_object(json, clusters, routing->name);
    char digest[20];
    snprintf(digest, sizeof digest, "%016" PRIx64, routing->digest);
    hr__json_count(json, inner, "jobs", routing->jobs);
    hr__json_count(json, inner, "rejected", routing->rejected);
    hr__json_count(json, inner, "spilled_in", routing->spilled_in);
    hr__json_count(json, inner, "spilled_out", routing->spilled_out);
    cJSON *from = hr__json_object(json, inner, "from");
    for (size_t k = 0; k < summary->n_routing; k++)
      if (routing->from[k]) hr__json_count(json, from, summary->routing[k].name, routing->from[k]);
    hr__json_text(json, inner, "digest", digest);
  }
}

/* Adds a distribution. If it is empty, all values are null. */
static void json_distribution(struct hr__json *json, cJSON *object, const char *key,
                              const struct hr_distribution *distribution) {
  const struct {
    const char *key;
    double value;
  } parts[] = {{"mean", distribution->mean}, {"p50", distribution->p50}, {"p90", distribution->p90},
               {"p95", distribution->p95},   {"p99", distribution->p99}, {"max", distribution->max}};
  cJSON *inner = hr__json_object(json, object, key);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    hr__json_number_if(json, inner, parts[i].key, distribution->count > 0, parts[i].value);
}

static void put_pools(struct hr__json *json, cJSON *root, const struct hr_summary *summary) {
  cJSON *pools = hr__json_array(json, root, "by_pool");
  for (size_t i = 0; i < summary->n_pools; i++) {
    const struct hr_pool_metrics *pool = &summary->by_pool[i];
    cJSON *inner = hr__json_item(json, pools);
    hr__json_text(json, inner, "name", pool->name);
    hr__json_text(json, inner, "gpu", pool->gpu);
    hr__json_text(json, inner, "sharing", hr_sharing_name(pool->sharing));
    hr__json_count(json, inner, "completed", pool->completed);
    hr__json_number(json, inner, "gpu_hours", pool->gpu_hours);
    hr__json_finite(json, inner, "utilization", pool->utilization);
    json_distribution(json, inner, "latency_factor", &pool->latency_factor);
    hr__json_usd(json, inner, "cost_usd", pool->cost_uusd);
    hr__json_usd(json, inner, "usd_per_completed_job", pool->per_completed_job_uusd);
  }
}

static void put_fairness(struct hr__json *json, cJSON *root, const struct hr_summary *summary) {
  hr__json_text(json, hr__json_object(json, root, "fairness"), "over", summary->fairness.over);
  put_section(json, root, HR__SECTION_FAIRNESS, summary);
}

static void put_fragmentation(struct hr__json *json, cJSON *root, const struct hr_summary *summary) {
  if (summary->fragmentation.known)
    put_section(json, root, HR__SECTION_FRAGMENTATION, summary);
  else
    hr__json_null(json, root, "fragmentation");
}

/* ---- Services -------------------------------------------------------------------------------------- */

static void put_hours(struct hr__json *json, cJSON *object, const struct hr_service_summary *service) {
  cJSON *hours = hr__json_array(json, object, "hours");
  for (uint32_t i = 0; i < service->n_hours; i++) {
    cJSON *inner = hr__json_item(json, hours);
    hr__json_number(json, inner, "hour", (double)(service->first_hour + i));
    hr__json_count(json, inner, "offered", service->hours[i].offered);
    hr__json_number_if(json, inner, "attainment", service->has_goals && service->hours[i].due > 0,
                       (double)service->hours[i].attained / (double)service->hours[i].due);
  }
}

/* Writes the decisions of the autoscaler. The list contains a limited number of decisions; `count` is the number of
   all. */
static void put_decisions(struct hr__json *json, cJSON *object, const struct hr_service_summary *service) {
  cJSON *scaling = hr__json_object(json, object, "scaling");
  hr__json_count(json, scaling, "count", service->n_decisions);
  cJSON *list = hr__json_array(json, scaling, "decisions");
  for (uint32_t i = 0; i < service->n_listed; i++) {
    const struct hr_scale_decision *decision = &service->decisions[i];
    cJSON *inner = hr__json_item(json, list);
    hr__json_number(json, inner, "time_s", hr__seconds(decision->at_us));
    hr__json_count(json, inner, "from", decision->from);
    hr__json_count(json, inner, "to", decision->to);
    hr__json_text(json, inner, "reason", hr_scale_reason_words((enum hr_scale_reason)decision->reason));
  }
}

/* Writes the numbers of replicas over time. */
static void put_levels(struct hr__json *json, cJSON *object, const struct hr_service_summary *service) {
  cJSON *list = hr__json_array(json, object, "replicas");
  for (uint32_t i = 0; i < service->n_levels; i++) {
    const struct hr_replica_level *level = &service->levels[i];
    cJSON *inner = hr__json_item(json, list);
    hr__json_number(json, inner, "time_s", hr__seconds(level->at_us));
    hr__json_count(json, inner, "wanted", level->wanted);
    hr__json_count(json, inner, "ready", level->ready);
    hr__json_count(json, inner, "starting", level->starting);
  }
}

static void put_services(struct hr__json *json, cJSON *root, const struct hr_summary *summary) {
  cJSON *list = summary->n_services ? hr__json_array(json, root, "services") : NULL;
  for (size_t i = 0; i < summary->n_services; i++) {
    cJSON *inner = hr__json_item(json, list);
    hr__json_text(json, inner, "name", summary->services[i].name);
    for (unsigned k = 0; k < HR__N_METRICS; k++)
      if (hr__metric_rows[k].flags & HR_METRIC_OF_REQUESTS)
        put_metric(json, inner, hr__metric_rows[k].path, &hr__metric_rows[k],
                   hr__metric_of_service((enum hr__metric)k, &summary->services[i]));
    put_hours(json, inner, &summary->services[i]);
    put_decisions(json, inner, &summary->services[i]);
    put_levels(json, inner, &summary->services[i]);
  }
}

/* ---- Costs ----------------------------------------------------------------------------------------- */

/* Adds an amount in dollars. The key is a name from the input, which is converted to UTF-8. */
static void put_usd_of(struct hr__json *json, cJSON *object, const char *name, int64_t uusd) {
  char *utf8 = hr__utf8_copy(name);
  if (utf8)
    hr__json_usd(json, object, utf8, uusd);
  else
    json->failed = true;
  free(utf8);
}

static void put_lines(struct hr__json *json, cJSON *object, const char *key, const struct hr_cost_lines *lines) {
  cJSON *inner = hr__json_object(json, object, key);
  for (size_t i = 0; i < lines->count; i++) put_usd_of(json, inner, lines->line[i].name, lines->line[i].uusd);
}

static void put_statements(struct hr__json *json, cJSON *cost, const struct hr_cost_summary *costs) {
  cJSON *statements = hr__json_array(json, cost, "statements");
  for (size_t i = 0; i < costs->n_statements; i++) {
    const struct hr_statement *statement = &costs->statements[i];
    cJSON *inner = hr__json_item(json, statements);
    hr__json_text(json, inner, "tenant", statement->tenant);
    hr__json_count(json, inner, "month", statement->month);
    hr__json_usd(json, inner, "training_usd", statement->training_uusd);
    hr__json_usd(json, inner, "inference_usd", statement->inference_uusd);
    hr__json_usd(json, inner, "other_usd", statement->other_uusd);
    hr__json_usd(json, inner, "storage_usd", statement->storage_uusd);
    hr__json_usd(json, inner, "egress_usd", statement->egress_uusd);
    hr__json_usd(json, inner, "downtime_usd", statement->downtime_uusd);
    hr__json_usd(json, inner, "shared_usd", statement->shared_uusd);
    hr__json_usd(json, inner, "idle_usd", statement->idle_uusd);
    hr__json_usd(json, inner, "total_usd", statement->total_uusd);
  }
}

static void put_cost(struct hr__json *json, cJSON *root, const struct hr_summary *summary) {
  const struct hr_cost_summary *costs = summary->costs;
  put_section(json, root, HR__SECTION_COST, summary);
  cJSON *cost = cJSON_GetObjectItemCaseSensitive(root, "cost");
  put_lines(json, cost, "by_market", &costs->by_market);
  put_lines(json, cost, "by_pool", &costs->by_pool);
  put_lines(json, cost, "by_tenant", &costs->by_tenant);
  put_lines(json, cost, "by_class", &costs->by_class);
  put_lines(json, cost, "by_gpu", &costs->by_gpu);
  put_statements(json, cost, costs);
}

static void put_budgets(struct hr__json *json, cJSON *root, const struct hr_cost_summary *costs) {
  cJSON *budgets = hr__json_array(json, root, "budgets");
  for (size_t i = 0; i < costs->n_budgets; i++) {
    const struct hr_budget_line *budget = &costs->budgets[i];
    cJSON *inner = hr__json_item(json, budgets);
    hr__json_text(json, inner, "tenant", budget->tenant);
    hr__json_count(json, inner, "month", budget->month);
    hr__json_usd(json, inner, "budget_usd", budget->budget_uusd);
    hr__json_usd(json, inner, "spent_usd", budget->spent_uusd);
    hr__json_bool(json, inner, "over", budget->over);
  }
}

static void put_faults(struct hr__json *json, cJSON *root, const struct hr_summary *summary) {
  const struct hr_fault_metrics *faults = &summary->faults;
  if (!faults->known) return;
  put_section(json, root, HR__SECTION_FAULTS, summary);
  cJSON *list = hr__json_array(json, cJSON_GetObjectItemCaseSensitive(root, "faults"), "by_failure_class");
  for (size_t i = 0; i < faults->n_failure_classes; i++) {
    const struct hr_outage_line *line = &faults->by_failure_class[i];
    cJSON *inner = hr__json_item(json, list);
    hr__json_text(json, inner, "name", line->name);
    hr__json_count(json, inner, "failures", line->failures);
    hr__json_count(json, inner, "jobs_stopped", line->jobs_stopped);
    hr__json_number(json, inner, "lost_gpu_hours", line->lost_gpu_hours);
    hr__json_number(json, inner, "down_node_hours", line->down_node_hours);
  }
}

static void put_markets(struct hr__json *json, cJSON *root, const struct hr_summary *summary) {
  if (summary->costs) {
    put_cost(json, root, summary);
    put_budgets(json, root, summary->costs);
  }
  if (!summary->costs && !summary->stoppable) return;
  put_section(json, root, HR__SECTION_GOODPUT, summary);
  put_section(json, root, HR__SECTION_SPOT, summary);
  if (summary->oom.known) put_section(json, root, HR__SECTION_OOM, summary);
  put_faults(json, root, summary);
  if (summary->maintenance.known) put_section(json, root, HR__SECTION_MAINTENANCE, summary);
  if (summary->scaling.known) put_section(json, root, HR__SECTION_SCALING, summary);
}

/* ---- Energy ---------------------------------------------------------------------------------------- */

static void put_energy_lines(struct hr__json *json, cJSON *energy, const char *key, const struct hr_energy_line *lines,
                             size_t count, bool of_pools) {
  cJSON *list = hr__json_array(json, energy, key);
  for (size_t i = 0; i < count; i++) {
    cJSON *inner = hr__json_item(json, list);
    hr__json_text(json, inner, "name", lines[i].name);
    hr__json_number(json, inner, "it_kwh", lines[i].it_kwh);
    hr__json_number(json, inner, "site_kwh", lines[i].site_kwh);
    if (!of_pools) continue;
    hr__json_number(json, inner, "jobs_kwh", lines[i].jobs_kwh);
    hr__json_number(json, inner, "peak_kw", lines[i].peak_kw);
  }
}

static void put_energy(struct hr__json *json, cJSON *root, const struct hr_summary *summary) {
  const struct hr_energy_metrics *energy = &summary->energy;
  if (!energy->known) return;
  put_section(json, root, HR__SECTION_ENERGY, summary);
  cJSON *inner = cJSON_GetObjectItemCaseSensitive(root, "energy");
  put_energy_lines(json, inner, "by_pool", energy->by_pool, energy->n_pools, true);
  put_energy_lines(json, inner, "by_tenant", energy->by_tenant, energy->n_tenants, false);
  if (summary->battery.known) put_section(json, root, HR__SECTION_BATTERY, summary);
}

static void put_carbon_lines(struct hr__json *json, cJSON *carbon, const char *key, const struct hr_carbon_line *lines,
                             size_t count, bool of_pools) {
  cJSON *list = hr__json_array(json, carbon, key);
  for (size_t i = 0; i < count; i++) {
    cJSON *inner = hr__json_item(json, list);
    hr__json_text(json, inner, "name", lines[i].name);
    hr__json_number_if(json, inner, "operational_kg", lines[i].known, lines[i].operational_kg);
    hr__json_number_if(json, inner, "embodied_kg", lines[i].embodied_known, lines[i].embodied_kg);
    hr__json_number_if(json, inner, "energy_usd", lines[i].price_known, lines[i].energy_usd);
    if (of_pools) hr__json_number_if(json, inner, "water_l", lines[i].water_known, lines[i].water_l);
  }
}

static void put_carbon(struct hr__json *json, cJSON *root, const struct hr_summary *summary) {
  const struct hr_carbon_metrics *carbon = &summary->carbon;
  if (!carbon->known && !carbon->price_known && !carbon->water_known && !carbon->embodied_known) return;
  put_section(json, root, HR__SECTION_CARBON, summary);
  cJSON *inner = cJSON_GetObjectItemCaseSensitive(root, "carbon");
  put_carbon_lines(json, inner, "by_pool", carbon->by_pool, carbon->n_pools, true);
  put_carbon_lines(json, inner, "by_tenant", carbon->by_tenant, carbon->n_tenants, false);
}

static void put_data_lines(struct hr__json *json, cJSON *data, const char *key, const struct hr_data_line *lines,
                           size_t count) {
  cJSON *list = hr__json_array(json, data, key);
  for (size_t i = 0; i < count; i++) {
    cJSON *inner = hr__json_item(json, list);
    hr__json_text(json, inner, "name", lines[i].name);
    hr__json_number(json, inner, "sent_gb", lines[i].sent_gb);
    hr__json_number(json, inner, "received_gb", lines[i].received_gb);
    hr__json_number(json, inner, "utilization", lines[i].utilization);
    hr__json_usd(json, inner, "usd", lines[i].uusd);
  }
}

static void put_data(struct hr__json *json, cJSON *root, const struct hr_summary *summary) {
  const struct hr_data_metrics *data = &summary->data;
  if (!data->known) return;
  put_section(json, root, HR__SECTION_DATA, summary);
  cJSON *inner = cJSON_GetObjectItemCaseSensitive(root, "data");
  put_data_lines(json, inner, "by_storage", data->by_storage, data->n_storage);
  put_data_lines(json, inner, "by_link", data->by_link, data->n_links);
}

static void put_evidence(struct hr__json *json, cJSON *root, const struct hr_summary *summary) {
  char digest[17];
  snprintf(digest, sizeof digest, "%016" PRIx64, summary->digest);
  hr__json_count(json, root, "events", summary->n_events);
  hr__json_count(json, root, "passes", summary->n_passes);
  hr__json_text(json, root, "digest", digest);
}

void hr__json_perf(struct hr__json *json, cJSON *root, const struct hr_summary *summary, const struct hr_perf *perf) {
  cJSON *inner = hr__json_object(json, root, "perf");
  bool timed = perf->sim_s > 0;
  hr__json_number(json, inner, "load_s", perf->load_s);
  hr__json_number(json, inner, "sim_s", perf->sim_s);
  hr__json_number_if(json, inner, "jobs_per_s", timed, timed ? (double)summary->jobs_submitted / perf->sim_s : 0);
  hr__json_number(json, inner, "peak_rss_mib", perf->peak_rss_mib);
}

/* ---- Alerts ---------------------------------------------------------------------------------------- */

static void put_alerts(struct hr__json *json, cJSON *root, const struct hr_alerts *alerts, int64_t clock_us) {
  const struct hr_alert *list;
  size_t count = alerts ? hr_alerts_list(alerts, &list) : 0;
  if (!alerts) return;
  cJSON *array = hr__json_array(json, root, "alerts");
  for (size_t i = 0; i < count; i++) {
    const struct hr_alert *alert = &list[i];
    cJSON *inner = hr__json_item(json, array);
    hr__json_text(json, inner, "rule", hr_alert_name(alert->rule));
    hr__json_text(json, inner, "where", alert->where);
    hr__json_number(json, inner, "begin_s", hr__seconds(alert->begin_us + clock_us));
    hr__json_number(json, inner, "end_s", hr__seconds(alert->end_us + clock_us));
    hr__json_number(json, inner, "duration_s", hr__seconds(alert->end_us - alert->begin_us));
    hr__json_number(json, inner, "value", alert->value);
    hr__json_count(json, inner, "count", alert->count);
    char *words = hr__alert_words(alert);
    if (!words) json->failed = true;
    hr__json_text(json, inner, "text", words);
    free(words);
  }
}

/* ---- Summary --------------------------------------------------------------------------------------- */

void hr__json_summary(struct hr__json *json, cJSON *root, const struct hr_summary *summary,
                      const struct hr_run_label *label) {
  put_label(json, root, summary, label);
  put_section(json, root, HR__SECTION_MAIN, summary);
  if (summary->elastic.known) put_section(json, root, HR__SECTION_ELASTIC, summary);
  put_groups(json, root, summary, "by_size", summary->by_size, summary->n_sizes);
  put_groups(json, root, summary, "by_class", summary->by_class, summary->n_classes);
  put_groups(json, root, summary, "by_tenant", summary->by_tenant, summary->n_tenants);
  put_clusters(json, root, summary);
  put_pools(json, root, summary);
  put_fairness(json, root, summary);
  put_fragmentation(json, root, summary);
  put_markets(json, root, summary);
  put_energy(json, root, summary);
  put_carbon(json, root, summary);
  put_data(json, root, summary);
  put_services(json, root, summary);
  put_alerts(json, root, label->alerts, label->clock_us);
  put_evidence(json, root, summary);
  put_remarks(json, root, label);
}

static cJSON *make_tree(struct hr__json *json, const struct hr_summary *summary, const struct hr_run_label *label,
                        const struct hr_perf *perf) {
  cJSON *root = cJSON_CreateObject();
  hr__json_summary(json, root, summary, label);
  hr__json_perf(json, root, summary, perf);
  return root;
}

char *hr_summary_json(const struct hr_summary *summary, const struct hr_run_label *label, const struct hr_perf *perf) {
  struct hr__json json = {false};
  cJSON *root = make_tree(&json, summary, label, perf);
  return hr__json_print(&json, root);
}

enum hr_status hr_summary_write_json(const char *path, const struct hr_summary *summary,
                                     const struct hr_run_label *label, const struct hr_perf *perf,
                                     struct hr_error *error) {
  struct hr__json json = {false};
  cJSON *root = make_tree(&json, summary, label, perf);
  return hr__json_write(&json, root, path, error);
}

enum hr_status hr_streamed_write_json(const char *path, const struct hr_summary *summary,
                                      const struct hr_run_label *label, const struct hr_perf *perf,
                                      struct hr_error *error) {
  struct hr__json json = {false};
  cJSON *root = cJSON_CreateObject();
  put_label(&json, root, summary, label);
  put_section(&json, root, HR__SECTION_MAIN, summary);
  hr__json_number(&json, root, "quantile_error", 1.0 / HR__SKETCH_ERROR_PART);
  put_markets(&json, root, summary);
  put_energy(&json, root, summary);
  put_carbon(&json, root, summary);
  put_evidence(&json, root, summary);
  put_remarks(&json, root, label);
  hr__json_perf(&json, root, summary, perf);
  return hr__json_write(&json, root, path, error);
}

/* ---- Reading --------------------------------------------------------------------------------------- */

static enum hr_status cannot_read(const char *path, struct hr_error *error) {
  return hr_fail(error, HR_BAD_INPUT, "%s: cannot be read: %s", path, strerror(errno ? errno : EIO));
}

/* Reads a file. The caller frees `*text`. */
static enum hr_status read_file(const char *path, char **text, struct hr_error *error) {
  size_t length;
  FILE *file = fopen(path, "rb");
  if (!file) return cannot_read(path, error);
  errno = 0;
  *text = hr__file_text(file, SIZE_MAX, &length);
  bool failed = ferror(file) != 0;
  fclose(file);
  if (!*text) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  if (!failed) return HR_OK;
  free(*text);
  return cannot_read(path, error);
}

static uint64_t line_of(const char *text, const char *at) {
  uint64_t line = 1;
  for (; text < at; text++) line += *text == '\n';
  return line;
}

/* Returns whether a JSON document is a summary: it has the keys that all versions of the format have. */
static bool is_summary(const cJSON *root) {
  static const char *const keys[] = {"headroom", "scenario", "jobs", "wait_s", "utilization", "digest"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (!cJSON_GetObjectItemCaseSensitive(root, keys[i])) return false;
  return true;
}

enum hr_status hr_summary_read_json(const char *path, char **json, struct hr_error *error) {
  char *text = NULL;
  const char *end = NULL;
  enum hr_status status = read_file(path, &text, error);
  if (status != HR_OK) return status;
  cJSON *root = cJSON_ParseWithOpts(text, &end, 1);
  if (!root)
    status =
        hr_fail(error, HR_BAD_INPUT, "%s:%" PRIu64 ": invalid JSON; expected a file written by 'headroom run --json'",
                path, end ? line_of(text, end) : 1);
  else if (!is_summary(root))
    status = hr_fail(error, HR_BAD_INPUT,
                     "%s: not the summary of a run; expected a file written by 'headroom run --json'", path);
  cJSON_Delete(root);
  if (status == HR_OK) {
    cJSON_Minify(text);
    *json = text;
  } else {
    free(text);
  }
  return status;
}
