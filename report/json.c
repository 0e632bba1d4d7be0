/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The summary as JSON (docs/summary.schema.json). Numbers are written as text made here: cJSON would print 0.1 as
 * 0.10000000000000001 where it must, and keeps integers only up to 2^53. cJSON's functions pass NULL on, so a failed
 * allocation is noticed by whoever adds, and asked for once at the end.
 */

#include "headroom/report.h"
#include "report/text.h"
#include "sim/output_file.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_IN_DOUBLE (UINT64_C(1) << 53)

/* ---- One value each --------------------------------------------------------------------------------- */

struct json {
  bool failed;
};

static void put_raw(struct json *json, cJSON *object, const char *key, const char *text) {
  if (!cJSON_AddRawToObject(object, key, text)) json->failed = true;
}

static void put_null(struct json *json, cJSON *object, const char *key) {
  put_raw(json, object, key, "null");
}

static void put_count(struct json *json, cJSON *object, const char *key, uint64_t count) {
  char buffer[HR__NUMBER_BYTES];
  *hr__put_u64(buffer, count) = '\0';
  put_raw(json, object, key, buffer);
}

static void put_number(struct json *json, cJSON *object, const char *key, double value) {
  char buffer[HR__NUMBER_BYTES];
  put_raw(json, object, key, hr__decimal_text(value, buffer));
}

static void put_number_if(struct json *json, cJSON *object, const char *key, bool known, double value) {
  if (known)
    put_number(json, object, key, value);
  else
    put_null(json, object, key);
}

static void put_text(struct json *json, cJSON *object, const char *key, const char *text) {
  if (!text) {
    put_null(json, object, key);
    return;
  }
  char *utf8 = hr__utf8_copy(text);
  if (!utf8 || !cJSON_AddStringToObject(object, key, utf8)) json->failed = true;
  free(utf8);
}

static cJSON *put_object(struct json *json, cJSON *object, const char *key) {
  char *utf8 = hr__utf8_copy(key);
  cJSON *fresh = utf8 ? cJSON_AddObjectToObject(object, utf8) : NULL;
  if (!fresh) json->failed = true;
  free(utf8);
  return fresh;
}

static cJSON *put_array(struct json *json, cJSON *object, const char *key) {
  cJSON *fresh = cJSON_AddArrayToObject(object, key);
  if (!fresh) json->failed = true;
  return fresh;
}

static cJSON *append(struct json *json, cJSON *array, cJSON *item) {
  if (item && cJSON_AddItemToArray(array, item)) return item;
  cJSON_Delete(item);
  json->failed = true;
  return NULL;
}

static void put_bool(struct json *json, cJSON *object, const char *key, bool value) {
  put_raw(json, object, key, value ? "true" : "false");
}

static void put_usd(struct json *json, cJSON *object, const char *key, int64_t uusd) {
  char buffer[HR__NUMBER_BYTES];
  *hr__put_usd(buffer, uusd) = '\0';
  put_raw(json, object, key, uusd == HR_UNKNOWN_UUSD ? "null" : buffer);
}

/* ---- What was run ----------------------------------------------------------------------------------- */

static void put_cluster(struct json *json, cJSON *root, const struct hr_summary *summary,
                        const struct hr_cluster_spec *spec) {
  cJSON *cluster = put_object(json, root, "cluster");
  put_count(json, cluster, "gpus", summary->gpus);
  put_count(json, cluster, "nodes", summary->nodes);
  cJSON *pools = put_array(json, cluster, "pools");
  for (uint32_t i = 0; i < spec->n_pools; i++) {
    cJSON *pool = append(json, pools, cJSON_CreateObject());
    put_text(json, pool, "name", spec->pools[i].name);
    put_text(json, pool, "gpu", spec->pools[i].gpu);
    put_count(json, pool, "nodes", spec->pools[i].nodes);
    put_count(json, pool, "gpus_per_node", spec->pools[i].gpus_per_node);
  }
}

static void put_policy(struct json *json, cJSON *root, const struct hr_policy_choice *choice) {
  cJSON *policy = put_object(json, root, "policy");
  put_text(json, policy, "name", choice->ops->name);
  for (size_t i = 0; i < choice->n_params; i++) {
    char buffer[HR__NUMBER_BYTES];
    const char *text = hr_policy_choice_text(choice, i, buffer);
    if (choice->ops->params[i].type == HR_PARAM_CHOICE)
      put_text(json, policy, choice->ops->params[i].key, text);
    else
      put_raw(json, policy, choice->ops->params[i].key, text);
  }
}

/* Readers of JSON that know only doubles would change a larger seed; as text it stays whole. */
static void put_seed(struct json *json, cJSON *root, uint64_t seed) {
  char buffer[HR__NUMBER_BYTES];
  *hr__put_u64(buffer, seed) = '\0';
  if (seed <= EXACT_IN_DOUBLE)
    put_raw(json, root, "seed", buffer);
  else
    put_text(json, root, "seed", buffer);
}

static void put_label(struct json *json, cJSON *root, const struct hr_summary *summary,
                      const struct hr_run_label *label) {
  put_text(json, root, "headroom", hr_version());
  put_text(json, root, "scenario", label->scenario);
  cJSON *trace = put_object(json, root, "trace");
  put_text(json, trace, "file", label->trace);
  put_text(json, trace, "format", label->format);
  put_cluster(json, root, summary, label->cluster);
  put_policy(json, root, label->policy);
  put_seed(json, root, label->seed);
}

static void put_remarks(struct json *json, cJSON *root, const struct hr_run_label *label) {
  cJSON *notes = put_array(json, root, "notes");
  for (size_t i = 0; i < label->n_notes; i++)
    for (size_t k = 0; k < label->notes[i]->count; k++) {
      char *utf8 = hr__utf8_copy(label->notes[i]->text[k]);
      append(json, notes, utf8 ? cJSON_CreateString(utf8) : NULL);
      free(utf8);
    }
  cJSON *skipped = put_array(json, root, "skipped");
  for (size_t i = 0; i < label->n_skipped_reasons; i++) {
    cJSON *rows = append(json, skipped, cJSON_CreateObject());
    put_text(json, rows, "reason", label->skipped[i].reason);
    put_count(json, rows, "count", label->skipped[i].count);
    put_count(json, rows, "first_line", label->skipped[i].first_line);
  }
}

/* ---- Figures ---------------------------------------------------------------------------------------- */

static void put_distribution(struct json *json, cJSON *object, const char *key,
                             const struct hr_distribution *distribution) {
  const struct {
    const char *key;
    double value;
  } figures[] = {{"mean", distribution->mean}, {"p50", distribution->p50}, {"p90", distribution->p90},
                 {"p95", distribution->p95},   {"p99", distribution->p99}, {"max", distribution->max}};
  cJSON *inner = put_object(json, object, key);
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
    put_number_if(json, inner, figures[i].key, distribution->count > 0, figures[i].value);
}

static void put_jobs(struct json *json, cJSON *root, const struct hr_summary *summary) {
  cJSON *jobs = put_object(json, root, "jobs");
  put_count(json, jobs, "submitted", summary->jobs_submitted);
  put_count(json, jobs, "completed", summary->jobs_completed);
  put_count(json, jobs, "rejected", summary->jobs_rejected);
  put_count(json, jobs, "unfinished", summary->jobs_unfinished);
  put_count(json, jobs, "backfilled", summary->jobs_backfilled);
  put_count(json, jobs, "outcome_failed", summary->outcome_failed);
  put_count(json, jobs, "outcome_cancelled", summary->outcome_cancelled);
}

static void put_figures(struct json *json, cJSON *root, const struct hr_summary *summary) {
  bool spanned = summary->makespan_s > 0;
  put_jobs(json, root, summary);
  put_distribution(json, root, "wait_s", &summary->wait_s);
  put_distribution(json, root, "jct_s", &summary->jct_s);
  put_distribution(json, root, "slowdown", &summary->slowdown);
  put_number_if(json, root, "makespan_s", summary->jobs_completed + summary->jobs_unfinished > 0, summary->makespan_s);
  put_number(json, root, "submit_window_s", summary->submit_window_s);
  cJSON *utilization = put_object(json, root, "utilization");
  put_number_if(json, utilization, "submit_window", summary->submit_window_s > 0, summary->utilization_submit_window);
  put_number_if(json, utilization, "makespan", spanned, summary->utilization_makespan);
  cJSON *queue = put_object(json, root, "queue");
  put_number_if(json, queue, "mean", spanned, summary->queue_mean);
  put_count(json, queue, "max", summary->queue_max);
  put_number(json, root, "gpu_hours", summary->gpu_hours);
}

static void put_groups(struct json *json, cJSON *root, const char *key, const struct hr_group *group, size_t count) {
  cJSON *groups = put_object(json, root, key);
  for (size_t i = 0; i < count; i++) {
    cJSON *inner = put_object(json, groups, group[i].name);
    put_count(json, inner, "jobs", group[i].jobs);
    put_count(json, inner, "completed", group[i].completed);
    put_number(json, inner, "gpu_hours", group[i].gpu_hours);
    put_number(json, inner, "useful_gpu_hours", group[i].useful_gpu_hours);
    put_distribution(json, inner, "wait_s", &group[i].wait_s);
    put_distribution(json, inner, "jct_s", &group[i].jct_s);
    put_distribution(json, inner, "slowdown", &group[i].slowdown);
  }
}

static void put_fairness(struct json *json, cJSON *root, const struct hr_fairness *fairness) {
  cJSON *inner = put_object(json, root, "fairness");
  bool any = fairness->parties > 0;
  put_text(json, inner, "over", fairness->over);
  put_count(json, inner, "parties", fairness->parties);
  put_number_if(json, inner, "jain", any, fairness->jain);
  put_distribution(json, inner, "finish_time_fairness", &fairness->finish_time);
  cJSON *finish = cJSON_GetObjectItemCaseSensitive(inner, "finish_time_fairness");
  put_number_if(json, finish, "share_above_1", any, fairness->share_above_1);
}

/* ---- Costs ------------------------------------------------------------------------------------------ */

/* A name of the input as a key. */
static void put_usd_of(struct json *json, cJSON *object, const char *name, int64_t uusd) {
  char *utf8 = hr__utf8_copy(name);
  if (utf8)
    put_usd(json, object, utf8, uusd);
  else
    json->failed = true;
  free(utf8);
}

static void put_lines(struct json *json, cJSON *object, const char *key, const struct hr_cost_lines *lines) {
  cJSON *inner = put_object(json, object, key);
  for (size_t i = 0; i < lines->count; i++) put_usd_of(json, inner, lines->line[i].name, lines->line[i].uusd);
}

static void put_statements(struct json *json, cJSON *cost, const struct hr_cost_summary *costs) {
  cJSON *statements = put_array(json, cost, "statements");
  for (size_t i = 0; i < costs->n_statements; i++) {
    const struct hr_statement *statement = &costs->statements[i];
    cJSON *inner = append(json, statements, cJSON_CreateObject());
    put_text(json, inner, "tenant", statement->tenant);
    put_count(json, inner, "month", statement->month);
    put_usd(json, inner, "training_usd", statement->training_uusd);
    put_usd(json, inner, "inference_usd", statement->inference_uusd);
    put_usd(json, inner, "other_usd", statement->other_uusd);
    put_usd(json, inner, "storage_usd", statement->storage_uusd);
    put_usd(json, inner, "egress_usd", statement->egress_uusd);
    put_usd(json, inner, "downtime_usd", statement->downtime_uusd);
    put_usd(json, inner, "shared_usd", statement->shared_uusd);
    put_usd(json, inner, "idle_usd", statement->idle_uusd);
    put_usd(json, inner, "total_usd", statement->total_uusd);
  }
}

static void put_cost(struct json *json, cJSON *root, const struct hr_cost_summary *costs) {
  cJSON *cost = put_object(json, root, "cost");
  put_usd(json, cost, "total_usd", costs->total_uusd);
  put_usd(json, cost, "capacity_usd", costs->capacity_uusd);
  put_usd(json, cost, "idle_usd", costs->idle_uusd);
  put_usd(json, cost, "shared_usd", costs->shared_uusd);
  put_usd(json, cost, "all_on_demand_usd", costs->all_on_demand_uusd);
  bool known = !isnan(costs->saving_vs_on_demand);
  put_number_if(json, cost, "saving_vs_on_demand", known, costs->saving_vs_on_demand);
  put_usd(json, cost, "usd_per_completed_job", costs->per_completed_job_uusd);
  put_usd(json, cost, "usd_per_goodput_gpu_hour", costs->per_goodput_gpu_hour_uusd);
  put_usd(json, cost, "usd_per_month", costs->per_month_uusd);
  put_lines(json, cost, "by_market", &costs->by_market);
  put_lines(json, cost, "by_pool", &costs->by_pool);
  put_lines(json, cost, "by_tenant", &costs->by_tenant);
  put_lines(json, cost, "by_class", &costs->by_class);
  put_lines(json, cost, "by_gpu", &costs->by_gpu);
  put_statements(json, cost, costs);
}

static void put_budgets(struct json *json, cJSON *root, const struct hr_cost_summary *costs) {
  cJSON *budgets = put_array(json, root, "budgets");
  for (size_t i = 0; i < costs->n_budgets; i++) {
    const struct hr_budget_line *budget = &costs->budgets[i];
    cJSON *inner = append(json, budgets, cJSON_CreateObject());
    put_text(json, inner, "tenant", budget->tenant);
    put_count(json, inner, "month", budget->month);
    put_usd(json, inner, "budget_usd", budget->budget_uusd);
    put_usd(json, inner, "spent_usd", budget->spent_uusd);
    put_bool(json, inner, "over", budget->over);
  }
}

static void put_goodput(struct json *json, cJSON *root, const struct hr_summary *summary) {
  const struct hr_goodput *goodput = &summary->goodput;
  cJSON *inner = put_object(json, root, "goodput");
  put_number(json, inner, "useful_gpu_hours", goodput->useful_gpu_hours);
  put_number(json, inner, "lost_gpu_hours", goodput->lost_gpu_hours);
  put_number(json, inner, "checkpoint_gpu_hours", goodput->checkpoint_gpu_hours);
  put_number(json, inner, "restart_gpu_hours", goodput->restart_gpu_hours);
  put_number_if(json, inner, "fraction", summary->gpu_hours > 0, goodput->fraction);
}

static void put_spot(struct json *json, cJSON *root, const struct hr_spot_figures *spot) {
  cJSON *inner = put_object(json, root, "spot");
  put_count(json, inner, "reclaims", spot->reclaims);
  put_number_if(json, inner, "reclaims_per_node_hour", spot->node_hours > 0, spot->reclaims_per_node_hour);
  put_count(json, inner, "jobs_interrupted", spot->jobs_interrupted);
  put_number(json, inner, "gpu_hours", spot->gpu_hours);
  put_number_if(json, inner, "availability", spot->pools > 0, spot->availability);
}

/* Sections that only runs have in which something has a price, or nodes come and go. */
static void put_markets(struct json *json, cJSON *root, const struct hr_summary *summary) {
  if (summary->costs) {
    put_cost(json, root, summary->costs);
    put_budgets(json, root, summary->costs);
  }
  if (!summary->costs && !summary->stoppable) return;
  put_goodput(json, root, summary);
  put_spot(json, root, &summary->spot);
}

static void put_evidence(struct json *json, cJSON *root, const struct hr_summary *summary) {
  char digest[17];
  snprintf(digest, sizeof digest, "%016" PRIx64, summary->digest);
  put_count(json, root, "events", summary->n_events);
  put_count(json, root, "passes", summary->n_passes);
  put_text(json, root, "digest", digest);
}

static void put_perf(struct json *json, cJSON *root, const struct hr_summary *summary, const struct hr_perf *perf) {
  cJSON *inner = put_object(json, root, "perf");
  bool timed = perf->sim_s > 0;
  put_number(json, inner, "load_s", perf->load_s);
  put_number(json, inner, "sim_s", perf->sim_s);
  put_number_if(json, inner, "jobs_per_s", timed, timed ? (double)summary->jobs_submitted / perf->sim_s : 0);
  put_number(json, inner, "peak_rss_mib", perf->peak_rss_mib);
}

/* ---- The whole -------------------------------------------------------------------------------------- */

static cJSON *make_tree(const struct hr_summary *summary, const struct hr_run_label *label,
                        const struct hr_perf *perf) {
  struct json json = {false};
  cJSON *root = cJSON_CreateObject();
  put_label(&json, root, summary, label);
  put_figures(&json, root, summary);
  put_groups(&json, root, "by_size", summary->by_size, summary->n_sizes);
  put_groups(&json, root, "by_class", summary->by_class, summary->n_classes);
  put_groups(&json, root, "by_tenant", summary->by_tenant, summary->n_tenants);
  put_fairness(&json, root, &summary->fairness);
  put_markets(&json, root, summary);
  put_evidence(&json, root, summary);
  put_remarks(&json, root, label);
  put_perf(&json, root, summary, perf);
  if (root && !json.failed) return root;
  cJSON_Delete(root);
  return NULL;
}

static void begin_line(FILE *out, unsigned depth) {
  fprintf(out, "\n%*s", (int)(2 * depth), "");
}

/* Writes the string that begins at `text` and returns what follows it. */
static const char *write_string(FILE *out, const char *text) {
  const char *end = text + 1;
  while (*end != '"') end += *end == '\\' ? 2 : 1;
  end++;
  fwrite(text, 1, (size_t)(end - text), out);
  return end;
}

/* Lays out what cJSON printed without space: a key a line, two spaces a level. */
static void write_laid_out(FILE *out, const char *text) {
  unsigned depth = 0;
  while (*text) {
    if (*text == '"') {
      text = write_string(out, text);
      continue;
    }
    char byte = *text++;
    bool opens = byte == '{' || byte == '[', closes = byte == '}' || byte == ']';
    if (closes) begin_line(out, --depth);
    fputc(byte, out);
    if (opens && (*text == '}' || *text == ']'))
      fputc(*text++, out);
    else if (opens || byte == ',')
      begin_line(out, depth += opens);
    else if (byte == ':')
      fputc(' ', out);
  }
  fputc('\n', out);
}

enum hr_status hr_summary_write_json(const char *path, const struct hr_summary *summary,
                                     const struct hr_run_label *label, const struct hr_perf *perf,
                                     struct hr_error *error) {
  cJSON *tree = make_tree(summary, label, perf);
  char *text = cJSON_PrintUnformatted(tree);
  cJSON_Delete(tree);
  if (!text) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  struct hr__output_file file;
  enum hr_status status = hr__output_open(&file, path, error);
  if (status == HR_OK) {
    write_laid_out(file.stream, text);
    status = hr__output_commit(&file, error);
  }
  cJSON_free(text);
  return status;
}
