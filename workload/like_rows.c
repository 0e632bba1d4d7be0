/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload/like_rows.h"

#include "headroom/trace_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Columns ---------------------------------------------------------------------------------------- */

static void choose_columns(struct hr__rows *rows, const struct hr_like_size *size) {
  for (uint32_t i = 0; i < size->n_asks; i++) {
    const struct hr_like_ask *ask = &size->asks[i];
    rows->tasks |= ask->tasks > 1;
    rows->cpu |= ask->cpu_milli > 0;
    rows->mem |= ask->mem_mib > 0;
    rows->gpu_milli |= ask->gpu_milli < 1000;
    rows->gpu_type |= ask->gpu_type != NULL;
    rows->class_ |= ask->class_ != HR_CLASS_UNKNOWN;
  }
  for (uint32_t i = 0; i < HR_LIKE_STRATA; i++)
    rows->status |= size->outcomes[i].completed > 0 || size->outcomes[i].failed > 0 || size->outcomes[i].cancelled > 0;
}

void hr__rows_head(struct hr__rows *rows) {
  const struct {
    bool there;
    const char *name;
  } columns[] = {{true, "job_id,submit_s,duration_s,gpus"},
                 {rows->model->n_users > 0, ",user"},
                 {rows->model->n_tenants > 0, ",tenant"},
                 {rows->model->limit_share > 0, ",limit_s"},
                 {rows->tasks, ",tasks"},
                 {rows->cpu, ",cpu"},
                 {rows->mem, ",mem_gb"},
                 {rows->gpu_milli, ",gpu_milli"},
                 {rows->gpu_type, ",gpu_type"},
                 {rows->class_, ",class"},
                 {rows->status, ",status"},
                 {true, "\n"}};
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
    if (columns[i].there && !rows->builder) hr__out_text(&rows->out, columns[i].name);
}

/* ---- One row ---------------------------------------------------------------------------------------- */

static void add_rank(struct hr__rows *rows, const char *name, uint32_t rank) {
  hr__out_text(&rows->out, name);
  hr__out_u64(&rows->out, (uint64_t)rank + 1);
}

/* Quoted where it must be. */
static void add_text(struct hr__out *out, const char *text) {
  if (!text[strcspn(text, ",\"\r\n")]) {
    hr__out_text(out, text);
    return;
  }
  hr__out_byte(out, '"');
  for (; *text; text++) {
    if (*text == '"') hr__out_byte(out, '"');
    hr__out_byte(out, *text);
  }
  hr__out_byte(out, '"');
}

static void add_ask(struct hr__rows *rows, const struct hr_like_ask *ask) {
  struct hr__out *out = &rows->out;
  if (rows->tasks) {
    hr__out_byte(out, ',');
    hr__out_u64(out, ask->tasks);
  }
  if (rows->cpu) {
    hr__out_byte(out, ',');
    if (ask->cpu_milli) hr__out_milli(out, ask->cpu_milli);
  }
  if (rows->mem) {
    hr__out_byte(out, ',');
    if (ask->mem_mib) hr__out_millionths(out, (int64_t)((ask->mem_mib * 1000000 + 512) / 1024));
  }
  if (rows->gpu_milli) {
    hr__out_byte(out, ',');
    hr__out_u64(out, ask->gpu_milli);
  }
  if (rows->gpu_type) {
    hr__out_byte(out, ',');
    if (ask->gpu_type) add_text(out, ask->gpu_type);
  }
  if (rows->class_) {
    hr__out_byte(out, ',');
    hr__out_text(out, hr_job_class_name((enum hr_job_class)ask->class_));
  }
}

static void count(struct hr__rows *rows, const struct hr__campaign *campaign, const struct hr__drawn_job *job) {
  if (rows->figures.jobs == 0) rows->first_ms = job->submit_ms;
  rows->last_ms = job->submit_ms;
  rows->figures.jobs++;
  rows->figures.too_large += campaign->ask->gpus > rows->cluster_gpus;
  if (campaign->ask->gpus > rows->figures.most_gpus) rows->figures.most_gpus = campaign->ask->gpus;
  rows->gpu_s += (double)campaign->ask->gpus * campaign->ask->gpu_milli / 1000 * (double)job->run_ms / 1000;
  if (campaign->user != HR_NONE && !rows->seen_users[campaign->user]) {
    rows->seen_users[campaign->user] = true;
    rows->figures.users++;
  }
  if (campaign->tenant != HR_NONE && !rows->seen_tenants[campaign->tenant]) {
    rows->seen_tenants[campaign->tenant] = true;
    rows->figures.tenants++;
  }
}

static void write_row(struct hr__rows *rows, const struct hr__campaign *campaign, const struct hr__drawn_job *job) {
  struct hr__out *out = &rows->out;
  hr__out_u64(out, rows->figures.jobs);
  hr__out_byte(out, ',');
  hr__out_milli(out, (uint64_t)job->submit_ms);
  hr__out_byte(out, ',');
  hr__out_milli(out, (uint64_t)job->run_ms);
  hr__out_byte(out, ',');
  hr__out_u64(out, campaign->ask->gpus);
  if (rows->model->n_users) add_rank(rows, ",user-", campaign->user);
  if (rows->model->n_tenants) add_rank(rows, ",tenant-", campaign->tenant);
  if (rows->model->limit_share > 0) {
    hr__out_byte(out, ',');
    if (job->limit_ms >= 0) hr__out_milli(out, (uint64_t)job->limit_ms);
  }
  add_ask(rows, campaign->ask);
  if (rows->status) {
    hr__out_byte(out, ',');
    hr__out_text(out, hr_outcome_name(job->outcome));
  }
  hr__out_byte(out, '\n');
}

/* ---- One record ------------------------------------------------------------------------------------- */

enum { NAME_BYTES = 32 };

static struct hr_text name_text(char buffer[NAME_BYTES], const char *name, uint64_t number) {
  return (struct hr_text){buffer, (size_t)snprintf(buffer, NAME_BYTES, "%s%" PRIu64, name, number)};
}

static enum hr_status add_record(struct hr__rows *rows, const struct hr__campaign *campaign,
                                 const struct hr__drawn_job *job, struct hr_error *error) {
  enum { MS_US = 1000 };
  char id[NAME_BYTES], user[NAME_BYTES], tenant[NAME_BYTES];
  const struct hr_like_ask *ask = campaign->ask;
  struct hr_job_record record;
  hr_job_record_init(&record);
  record.id = name_text(id, "", rows->figures.jobs);
  if (rows->model->n_users) record.user = name_text(user, "user-", (uint64_t)campaign->user + 1);
  if (rows->model->n_tenants) record.tenant = name_text(tenant, "tenant-", (uint64_t)campaign->tenant + 1);
  record.submit_us = job->submit_ms * MS_US;
  record.work_us = job->run_ms * MS_US;
  if (job->limit_ms >= 0) record.limit_us = job->limit_ms * MS_US;
  record.gpus = ask->gpus;
  record.tasks = ask->tasks;
  record.cpu_milli = ask->cpu_milli;
  record.mem_mib = ask->mem_mib;
  record.gpu_milli = ask->gpu_milli;
  if (ask->gpu_type) record.gpu_types = (struct hr_text){ask->gpu_type, strlen(ask->gpu_type)};
  record.class_ = (uint8_t)ask->class_;
  record.outcome = (uint8_t)job->outcome;
  return hr_trace_builder_add(rows->builder, &record, rows->figures.jobs + 1, error); /* below the header */
}

enum hr_status hr__rows_add(struct hr__rows *rows, const struct hr__campaign *campaign, const struct hr__drawn_job *job,
                            struct hr_error *error) {
  count(rows, campaign, job);
  if (rows->builder) return add_record(rows, campaign, job, error);
  write_row(rows, campaign, job);
  return HR_OK;
}

/* ---- The file --------------------------------------------------------------------------------------- */

static enum hr_status open_file(struct hr__rows *rows, struct hr_error *error) {
  bool job_by_job;
  enum hr_status status = hr_generated_file(rows->path, &job_by_job, error);
  if (status != HR_OK || job_by_job) return status == HR_OK ? hr__out_open(&rows->out, rows->path, error) : status;
  rows->builder = hr_trace_builder_create("headroom trace generate", "csv");
  return rows->builder ? HR_OK : hr_fail(error, HR_NO_MEMORY, "generator: out of memory");
}

enum hr_status hr__rows_open(struct hr__rows *rows, const struct hr_like_model *model, uint64_t cluster_gpus,
                             const char *path, struct hr_error *error) {
  *rows = (struct hr__rows){.model = model, .path = path, .cluster_gpus = cluster_gpus};
  for (uint32_t i = 0; i < model->n_bands; i++)
    for (uint32_t k = 0; k < model->bands[i].n_sizes; k++) choose_columns(rows, &model->bands[i].sizes[k]);
  rows->seen_users = calloc(model->n_users + 1, sizeof *rows->seen_users);
  rows->seen_tenants = calloc(model->n_tenants + 1, sizeof *rows->seen_tenants);
  enum hr_status status = HR_OK;
  if (!rows->seen_users || !rows->seen_tenants) status = hr_fail(error, HR_NO_MEMORY, "generator: out of memory");
  if (status == HR_OK) status = open_file(rows, error);
  if (status == HR_OK) return HR_OK;
  free(rows->seen_users);
  free(rows->seen_tenants);
  return status;
}

struct hr_like_figures hr__rows_figures(const struct hr__rows *rows) {
  struct hr_like_figures figures = rows->figures;
  figures.span_s = (double)(rows->last_ms - rows->first_ms) / 1000;
  figures.gpu_hours = rows->gpu_s / 3600;
  figures.mean_gpus = figures.span_s > 0 ? rows->gpu_s / figures.span_s : 0;
  return figures;
}

enum hr_status hr__rows_close(struct hr__rows *rows, enum hr_status status, struct hr_error *error) {
  free(rows->seen_users);
  free(rows->seen_tenants);
  if (rows->builder) {
    if (status == HR_OK) status = hr_trace_builder_write(rows->builder, rows->path, error);
    hr_trace_builder_destroy(rows->builder);
    return status;
  }
  if (status == HR_OK) return hr__out_commit(&rows->out, error);
  hr__out_abandon(&rows->out);
  return status;
}
