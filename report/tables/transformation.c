/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes the result of a trace transformation as a table and as JSON (docs/reference/schemas/transform.schema.json). */

#include "base/console.h"
#include "base/text.h"
#include "headroom/trace_files.h"
#include "headroom/unstable/trace_report.h"
#include "headroom/unstable/trace_tools.h"
#include "headroom/unstable/workload_model.h"
#include "report/tables/json_tree.h"

#include <stdlib.h>

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
