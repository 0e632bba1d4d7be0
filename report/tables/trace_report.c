/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes the results of `headroom trace check` and of transformations of traces, as tables and as JSON. */

#include "base/output_file.h"
#include "base/text.h"
#include "headroom/trace_files.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/trace_tools.h"
#include "report/tables/json_tree.h"
#include "traces/tools/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Checks -------------------------------------------------------------------------------------------- */

/* Writes the result of `headroom trace check` as a table of 80 columns and as JSON. The table begins with the most
   severe findings. Each finding is printed with the first affected job, its meaning and advice. Notes are printed in
   one or two sentences. */

struct trace_check_page {
  struct hr__console console;
  const struct hr_trace_check *check;
};

static void put_head(struct trace_check_page *page) {
  struct hr__console *console = &page->console;
  const struct hr_trace_check *check = page->check;
  const struct hr_trace *trace = check->config.trace;
  const struct hr_cluster_spec *cluster = check->config.cluster;
  char jobs[HR__NUMBER_BYTES], span[HR__NUMBER_BYTES], counts[HR_N_SEVERITIES][HR__NUMBER_BYTES];
  char *name = hr__fitted(console, trace->source, HR__LINE_WIDTH - 30, true);
  if (!name) return;
  fprintf(console->out, "%sHeadroom %s: check of %s%s\n\n", hr__bold(console), hr_version(), name, hr__plain(console));
  free(name);
  hr__put_field(console, "trace", "%s job%s (%s), submitted over %s", hr__count_text(trace->n_jobs, jobs),
                hr__plural(trace->n_jobs), trace->format,
                hr__duration_text(hr__seconds(trace->submit_us[trace->n_jobs - 1]), span));
  if (cluster)
    hr__put_field(console, "cluster", "%s: %s GPU%s", check->config.cluster_name,
                  hr__count_text(hr_cluster_spec_gpus(cluster), jobs), hr__plural(hr_cluster_spec_gpus(cluster)));
  size_t n[HR_N_SEVERITIES];
  for (unsigned i = 0; i < HR_N_SEVERITIES; i++) {
    n[i] = hr_trace_check_count(check, (enum hr_severity)i);
    hr__count_text(n[i], counts[i]);
  }
  hr__put_field(console, "found", "%s error%s, %s warning%s, %s note%s", counts[HR_SEVERITY_ERROR],
                hr__plural(n[HR_SEVERITY_ERROR]), counts[HR_SEVERITY_WARNING], hr__plural(n[HR_SEVERITY_WARNING]),
                counts[HR_SEVERITY_NOTE], hr__plural(n[HR_SEVERITY_NOTE]));
}

static void put_loads(struct trace_check_page *page) {
  enum { TYPES_WIDTH = 26 };
  struct hr__console *console = &page->console;
  if (page->check->n_loads == 0) return;
  fprintf(console->out, "\n  %s%-*s %12s %15s %9s %9s%s\n", hr__bold(console), TYPES_WIDTH, "requested GPU types",
          "GPUs", "GPU hours", "load", "days over", hr__plain(console));
  for (size_t i = 0; i < page->check->n_loads; i++) {
    const struct hr_offered_load *load = &page->check->loads[i];
    char gpus[HR__NUMBER_BYTES], hours[HR__NUMBER_BYTES], days[HR__NUMBER_BYTES];
    char percent[HR__NUMBER_BYTES];
    char *types = hr__fitted(console, load->gpu_types, TYPES_WIDTH, false);
    if (!types) return;
    snprintf(days, sizeof days, "%" PRIu32 "/%" PRIu32, load->over, load->days);
    int pad = TYPES_WIDTH - (int)hr__width_of(types, strlen(types));
    fprintf(console->out, "  %s%*s %12s %15s %7s %% %9s\n", types, pad, "", hr__count_text(load->gpus, gpus),
            hr__fixed_text(load->gpu_hours, 0, hours), hr__fixed_text(100 * load->load, 1, percent), days);
    free(types);
  }
}

/* Prints the first affected job, if it is known. */
static void put_place(struct trace_check_page *page, const struct hr_finding *finding) {
  const struct hr_trace *trace = page->check->config.trace;
  char buffer[HR_JOB_ID_BUFFER], when[HR__NUMBER_BYTES];
  if (finding->job.id == HR_NONE) return;
  const char *id = hr_trace_job_id(trace, finding->job, buffer);
  int64_t submit_us = trace->submit_us[finding->job.id];
  if (submit_us == 0)
    hr__put_field(&page->console, "first", "job %s, submitted at the start of the trace", id);
  else
    hr__put_field(&page->console, "first", "job %s, submitted %s after the first job", id,
                  hr__duration_text(hr__seconds(submit_us), when));
}

static void put_finding(struct trace_check_page *page, const struct hr_finding *finding) {
  struct hr__console *console = &page->console;
  const char *meaning = hr_finding_meaning(finding->code), *advice = hr_finding_advice(finding->code);
  fprintf(console->out, "\n%s%s: %s%s\n", hr__bold(console), hr_severity_name(finding->severity),
          hr_finding_name(finding->code), hr__plain(console));
  hr__put_field(console, "found", "%s", finding->text);
  put_place(page, finding);
  if (meaning) hr__put_field(console, "meaning", "%s", meaning);
  if (advice) hr__put_field(console, "advice", "%s", advice);
}

/* Prints a note in one or two sentences. */
static void put_note(struct trace_check_page *page, const struct hr_finding *finding) {
  const char *meaning = hr_finding_meaning(finding->code);
  hr__put_field(&page->console, "", "%s: %s%s%s", hr_finding_name(finding->code), finding->text, meaning ? "; " : "",
                meaning ? meaning : "");
}

enum hr_status hr_trace_check_write(const char *path, const struct hr_trace_check *check, bool colour,
                                    struct hr_error *error) {
  struct hr__output_file file;
  enum hr_status status = hr__output_open(&file, path, error);
  if (status != HR_OK) return status;
  struct trace_check_page page = {.console = {.out = file.stream, .colour = colour}, .check = check};
  put_head(&page);
  put_loads(&page);
  size_t i = 0;
  for (; i < check->n_findings && check->findings[i].severity != HR_SEVERITY_NOTE; i++)
    put_finding(&page, &check->findings[i]);
  if (i < check->n_findings) fprintf(file.stream, "\n%snotes%s\n", hr__bold(&page.console), hr__plain(&page.console));
  for (; i < check->n_findings; i++) put_note(&page, &check->findings[i]);
  if (!page.console.out_of_memory) return hr__output_commit(&file, error);
  hr__output_abandon(&file);
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
}

/* ---- JSON (docs/reference/schemas/trace-check.schema.json) --------------------------------------- */

static void put_trace(struct hr__json *json, cJSON *root, const struct hr_trace *trace) {
  cJSON *object = hr__json_object(json, root, "trace");
  hr__json_text(json, object, "file", trace->source);
  hr__json_text(json, object, "format", trace->format);
  hr__json_count(json, object, "jobs", trace->n_jobs);
  hr__json_count(json, object, "left_out", trace->n_skipped);
  hr__json_number(json, object, "span_s", hr__seconds(trace->submit_us[trace->n_jobs - 1]));
}

static void put_cluster(struct hr__json *json, cJSON *root, const struct hr_trace_check *check) {
  const struct hr_cluster_spec *cluster = check->config.cluster;
  if (!cluster) {
    hr__json_null(json, root, "cluster");
    return;
  }
  cJSON *object = hr__json_object(json, root, "cluster");
  hr__json_text(json, object, "scenario", check->config.cluster_name);
  hr__json_count(json, object, "gpus", hr_cluster_spec_gpus(cluster));
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

static void json_put_finding(struct hr__json *json, cJSON *findings, const struct hr_trace *trace,
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
  for (size_t i = 0; i < check->n_findings; i++)
    json_put_finding(&json, findings, check->config.trace, &check->findings[i]);
  return hr__json_write(&json, root, path, error);
}

/* ---- Transformations ----------------------------------------------------------------------------------- */

/* Writes the result of a trace transformation as a table and as JSON (docs/reference/schemas/transform.schema.json). */

/* ---- Table --------------------------------------------------------------------------------------- */

static void put_size(struct hr__console *console, const char *label, const char *path,
                     const struct hr_trace_size *size) {
  char jobs[HR__NUMBER_BYTES], hours[HR__NUMBER_BYTES], span[HR__NUMBER_BYTES];
  char *name = hr__fitted(console, path, HR__LINE_WIDTH - HR__LABEL_WIDTH, true);
  if (!name) return;
  hr__put_label(console, label);
  fprintf(console->out, "%s\n", name);
  free(name);
  hr__put_field(console, "", "%s job%s, %s GPU hours, submitted within %s", hr__count_text(size->n_jobs, jobs),
                size->n_jobs == 1 ? "" : "s", hr__fixed_text(size->gpu_hours, 1, hours),
                hr__duration_text((double)size->span_us / (double)HR_SECOND_US, span));
}

enum hr_status hr_transformation_print(FILE *out, const struct hr_transformation *done) {
  struct hr__console console = {.out = out};
  for (size_t i = 0; i < done->n_inputs; i++)
    put_size(&console, i ? "" : "read", done->inputs[i].path, &done->inputs[i].size);
  if (done->method) hr__put_field(&console, done->action, "%s", done->method);
  if (done->seeded) hr__put_field(&console, "seed", "%llu", (unsigned long long)done->seed);
  struct hr_trace_size size = done->out;
  size.n_jobs = done->written->n_jobs;
  put_size(&console, "written", done->path, &size);
  if (console.out_of_memory) return HR_NO_MEMORY;
  return fflush(out) != 0 || ferror(out) ? HR_IO_ERROR : HR_OK;
}

/* ---- JSON ---------------------------------------------------------------------------------------- */

static void put_json_size(struct hr__json *json, cJSON *object, const struct hr_trace_size *size) {
  hr__json_count(json, object, "jobs", size->n_jobs);
  hr__json_number(json, object, "gpu_hours", size->gpu_hours);
  hr__json_number(json, object, "span_s", (double)size->span_us / (double)HR_SECOND_US);
}

static void put_json_inputs(struct hr__json *json, cJSON *root, const struct hr_transformation *done) {
  cJSON *list = hr__json_array(json, root, "in");
  for (size_t i = 0; i < done->n_inputs; i++) {
    cJSON *item = hr__json_append(json, list, cJSON_CreateObject());
    hr__json_text(json, item, "file", done->inputs[i].path);
    put_json_size(json, item, &done->inputs[i].size);
  }
}

static void put_json_output(struct hr__json *json, cJSON *root, const struct hr_transformation *done) {
  const struct hr_trace_written *written = done->written;
  struct hr_trace_size out = done->out;
  out.n_jobs = written->n_jobs;
  cJSON *object = hr__json_object(json, root, "out");
  hr__json_text(json, object, "file", done->path);
  hr__json_text(json, object, "format", written->format);
  put_json_size(json, object, &out);
  hr__json_count(json, object, "bytes", written->bytes);
  cJSON *lost = hr__json_array(json, object, "lost");
  for (uint32_t i = 0; i < written->n_losses; i++) {
    cJSON *item = hr__json_append(json, lost, cJSON_CreateObject());
    hr__json_text(json, item, "field", written->losses[i].field);
    hr__json_text(json, item, "loss", hr_loss_name(written->losses[i].kind));
    hr__json_count(json, item, "jobs", written->losses[i].n_jobs);
  }
}

enum hr_status hr_transformation_write_json(const char *path, const struct hr_transformation *done,
                                            struct hr_error *error) {
  struct hr__json json = {0};
  cJSON *root = cJSON_CreateObject();
  hr__json_text(&json, root, "headroom", hr_version());
  hr__json_text(&json, root, "action", done->action);
  hr__json_text(&json, root, "method", done->method);
  if (done->seeded)
    hr__json_seed(&json, root, "seed", done->seed);
  else
    hr__json_null(&json, root, "seed");
  put_json_inputs(&json, root, done);
  put_json_output(&json, root, done);
  return hr__json_write(&json, root, path, error);
}

/* ---- Generated workloads ------------------------------------------------------------------------- */

enum hr_status hr_workload_model_figures_write(const struct hr_workload_model *model,
                                               const struct hr_workload_model_spec *spec,
                                               const struct hr_workload_model_figures *figures, const char *path,
                                               struct hr_error *error) {
  struct hr__json json = {0};
  cJSON *root = cJSON_CreateObject();
  hr__json_text(&json, root, "headroom", hr_version());
  hr__json_text(&json, root, "model", model->name);
  hr__json_text(&json, root, "source", model->source);
  hr__json_seed(&json, root, "seed", spec->seed);
  hr__json_count(&json, root, "jobs", figures->jobs);
  hr__json_count(&json, root, "users", figures->users);
  hr__json_count(&json, root, "tenants", figures->tenants);
  hr__json_number(&json, root, "span_s", figures->span_s);
  hr__json_number(&json, root, "gpu_hours", figures->gpu_hours);
  hr__json_number(&json, root, "mean_gpus", figures->mean_gpus);
  if (spec->load > 0) {
    hr__json_number(&json, root, "load_asked", spec->load);
    hr__json_number(&json, root, "load", figures->mean_gpus / ((double)spec->nodes * spec->gpus_per_node));
    hr__json_number(&json, root, "stretch", 1); /* always 1, for readers of an older version of the format */
  }
  hr__json_count(&json, root, "most_gpus", figures->max_gpus);
  hr__json_count(&json, root, "too_large", figures->too_large);
  return hr__json_write(&json, root, path, error);
}
