/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A check of a trace as JSON: docs/reference/schemas/trace-check.schema.json. */

#include "report/json_tree.h"
#include "workload/checking.h"

static void put_trace(struct hr__json *json, cJSON *root, const struct hr_trace *trace) {
  cJSON *object = hr__json_object(json, root, "trace");
  hr__json_text(json, object, "file", trace->source);
  hr__json_text(json, object, "format", trace->format);
  hr__json_count(json, object, "jobs", trace->n_jobs);
  hr__json_count(json, object, "left_out", trace->n_skipped);
  hr__json_number(json, object, "span_s", hr__seconds(trace->submit_us[trace->n_jobs - 1]));
}

static void put_cluster(struct hr__json *json, cJSON *root, const struct hr_trace_check *check) {
  const struct hr_scenario *scenario = check->config.scenario;
  if (!scenario) {
    hr__json_null(json, root, "cluster");
    return;
  }
  cJSON *object = hr__json_object(json, root, "cluster");
  hr__json_text(json, object, "scenario", scenario->name);
  hr__json_count(json, object, "gpus", hr_cluster_spec_gpus(&scenario->cluster));
  cJSON *loads = hr__json_array(json, object, "loads");
  for (size_t i = 0; i < check->n_loads; i++) {
    const struct hr_offered_load *load = &check->loads[i];
    cJSON *item = hr__json_append(json, loads, cJSON_CreateObject());
    hr__json_text(json, item, "gpu_types", load->gpu_types);
    hr__json_count(json, item, "gpus", load->gpus);
    hr__json_number(json, item, "gpu_hours", load->gpu_hours);
    hr__json_number(json, item, "load", load->load);
    hr__json_count(json, item, "days", load->days);
    hr__json_count(json, item, "days_over", load->over);
    hr__json_number(json, item, "load_within", load->within);
    hr__json_number(json, item, "worst_day_load", load->worst);
    hr__json_count(json, item, "worst_day", load->worst_day);
    hr__json_number(json, item, "backlog_h", load->backlog_h);
  }
}

static void put_finding(struct hr__json *json, cJSON *findings, const struct hr_trace *trace,
                        const struct hr_finding *finding) {
  cJSON *object = hr__json_append(json, findings, cJSON_CreateObject());
  char buffer[HR_JOB_ID_BUFFER];
  bool has_job = finding->job.id != HR_NONE;
  hr__json_text(json, object, "code", hr_finding_name(finding->code));
  hr__json_text(json, object, "severity", hr_severity_name(finding->severity));
  hr__json_text(json, object, "text", finding->text);
  hr__json_text(json, object, "meaning", hr_finding_meaning(finding->code));
  hr__json_text(json, object, "advice", hr_finding_advice(finding->code));
  hr__json_text(json, object, "subject", finding->subject);
  hr__json_number_if(json, object, "count", finding->of > 0, (double)finding->count);
  hr__json_number_if(json, object, "of", finding->of > 0, (double)finding->of);
  hr__json_number_if(json, object, "line", finding->line > 0, (double)finding->line);
  hr__json_text(json, object, "job", has_job ? hr_trace_job_id(trace, finding->job, buffer) : NULL);
  hr__json_number_if(json, object, "submit_s", has_job, has_job ? hr__seconds(trace->submit_us[finding->job.id]) : 0);
}

enum hr_status hr_trace_check_write_json(const char *path, const struct hr_trace_check *check, struct hr_error *error) {
  struct hr__json json = {false};
  cJSON *root = cJSON_CreateObject();
  hr__json_text(&json, root, "headroom", hr_version());
  put_trace(&json, root, check->config.trace);
  put_cluster(&json, root, check);
  hr__json_count(&json, root, "errors", hr_trace_check_count(check, HR_SEVERITY_ERROR));
  hr__json_count(&json, root, "warnings", hr_trace_check_count(check, HR_SEVERITY_WARNING));
  hr__json_count(&json, root, "notes", hr_trace_check_count(check, HR_SEVERITY_NOTE));
  cJSON *allowed = hr__json_array(&json, root, "allowed");
  for (unsigned code = 0; code < HR_N_FINDINGS; code++)
    if (check->config.allowed[code])
      hr__json_append(&json, allowed, cJSON_CreateString(hr_finding_name((enum hr_finding_code)code)));
  cJSON *findings = hr__json_array(&json, root, "findings");
  for (size_t i = 0; i < check->n_findings; i++) put_finding(&json, findings, check->config.trace, &check->findings[i]);
  return hr__json_write(&json, root, path, error);
}
