/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Drawn jobs as a file. A load is met exactly by drawing the jobs twice: run times and requests do not depend on the
 * rate of arrivals, so the first pass adds up GPU time, and the tempo is chosen for which the span gives the load.
 */

#include "traces/tools/workload_model_draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void hr_workload_model_spec_init(struct hr_workload_model_spec *spec) {
  *spec = (struct hr_workload_model_spec){.count = 1000, .seed = 1, .nodes = 16, .gpus_per_node = 8};
}

/* Shares that fall by a power of the rank. */
static bool replace(double **shares, uint32_t *n_shares, uint32_t n, double exponent) {
  double *fresh = n ? realloc(*shares, n * sizeof *fresh) : *shares;
  if (n && !fresh) return false;
  for (uint32_t i = 0; i < n; i++) fresh[i] = pow(i + 1.0, -exponent);
  *shares = fresh;
  if (n) *n_shares = n;
  return true;
}

enum hr_status hr_workload_model_set_people(struct hr_workload_model *model, uint32_t n_users, uint32_t n_tenants,
                                            struct hr_error *error) {
  bool fine =
      replace(&model->users, &model->n_users, n_users, 1) && replace(&model->tenants, &model->n_tenants, n_tenants, 0);
  return fine ? HR_OK : hr_fail(error, HR_NO_MEMORY, "generator: out of memory");
}

enum { NAME_BYTES = 32, MS_US = 1000 };

/* "user-3" of rank 2; nothing of an unknown one. */
static struct hr_text name_text(char buffer[NAME_BYTES], const char *name, uint32_t rank) {
  if (rank == HR_NONE) return (struct hr_text){0};
  return (struct hr_text){buffer, (size_t)snprintf(buffer, NAME_BYTES, "%s%llu", name, (unsigned long long)rank + 1)};
}

static enum hr_status add_job(struct hr_trace_builder *builder, uint32_t number, const struct hr__drawn_job *job,
                              struct hr_error *error) {
  char id[NAME_BYTES], user[NAME_BYTES], tenant[NAME_BYTES];
  const struct hr_workload_model_request *request = job->request;
  struct hr_job_record record;
  hr_job_record_init(&record);
  record.id = name_text(id, "", number);
  record.user = name_text(user, "user-", job->user);
  record.tenant = name_text(tenant, "tenant-", job->tenant);
  record.submit_us = job->submit_ms * MS_US;
  record.work_us = job->run_ms * MS_US;
  if (job->limit_ms >= 0) record.limit_us = job->limit_ms * MS_US;
  record.gpus = request->gpus;
  record.tasks = request->tasks;
  record.cpu_milli = request->cpu_milli;
  record.mem_mib = request->mem_mib;
  record.gpu_milli = request->gpu_milli;
  if (request->gpu_type) record.gpu_types = (struct hr_text){request->gpu_type, strlen(request->gpu_type)};
  record.class_ = request->class_;
  record.outcome = (uint8_t)job->outcome;
  return hr_trace_builder_add(builder, &record, number + 2ULL, error); /* below the header */
}

static enum hr_status draw_trace(struct hr__model_draw *draw, uint64_t count, struct hr_trace **trace,
                                 struct hr_error *error) {
  struct hr_trace_builder *builder = hr_trace_builder_create("headroom trace generate", "csv");
  if (!builder) return hr_fail(error, HR_NO_MEMORY, "generator: out of memory");
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < count && status == HR_OK; i++) {
    struct hr__drawn_job job = hr__model_draw_next(draw);
    status = add_job(builder, i, &job, error);
  }
  if (status == HR_OK) status = hr_trace_builder_finish(builder, false, false, trace, error);
  hr_trace_builder_destroy(builder);
  return status;
}

static struct hr_workload_model_figures figures_of(const struct hr_trace *trace,
                                                   const struct hr_workload_model_spec *spec) {
  struct hr_workload_model_figures figures = {
      .jobs = trace->n_jobs, .users = trace->users.count, .tenants = trace->tenants.count};
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    double gpus = (double)hr_trace_gpus_milli(trace, (hr_job){i}) / 1000;
    figures.gpu_hours += gpus * (double)trace->work_us[i] / (3600.0 * HR_SECOND_US);
    figures.too_large += spec->load > 0 && trace->gpus[i] > (uint64_t)spec->nodes * spec->gpus_per_node;
    if (trace->gpus[i] > figures.max_gpus) figures.max_gpus = trace->gpus[i];
  }
  figures.span_s = (double)(trace->submit_us[trace->n_jobs - 1] - trace->submit_us[0]) / HR_SECOND_US;
  figures.mean_gpus = figures.span_s > 0 ? figures.gpu_hours * 3600 / figures.span_s : 0;
  return figures;
}

static enum hr_status check(const struct hr_workload_model_spec *spec, struct hr_error *error) {
  if (spec->count < 1 || spec->count >= HR_NONE)
    return hr_fail(error, HR_BAD_INPUT, "generator: count: %llu is not a number of jobs from 1 to 4294967294",
                   (unsigned long long)spec->count);
  if (!(spec->load >= 0 && spec->load <= 1e9))
    return hr_fail(error, HR_BAD_INPUT, "generator: load: %g is not at least 0", spec->load);
  if (spec->nodes < 1 || spec->gpus_per_node < 1 || (uint64_t)spec->nodes * spec->gpus_per_node > HR_MAX_GPUS)
    return hr_fail(error, HR_BAD_INPUT, "generator: %u nodes of %u GPUs are not from 1 to 4000000 GPUs", spec->nodes,
                   spec->gpus_per_node);
  return HR_OK;
}

/* Chooses the tempo for a load by bisection: the span falls as the tempo rises. */
static enum hr_status choose_tempo(struct hr__model_draw *draw, const struct hr_workload_model_spec *spec,
                                   struct hr_error *error) {
  double gpu_s = 0, first = 0, low = 1e-15, high = 1e15;
  for (uint64_t i = 0; i < spec->count; i++) {
    struct hr__drawn_job job = hr__model_draw_next(draw);
    gpu_s += job.request->gpus * (double)job.request->gpu_milli / 1000 * (double)job.run_ms / 1000;
    if (i == 0) first = draw->mass;
  }
  if (!(gpu_s > 0))
    return hr_fail(error, HR_BAD_INPUT,
                   "generator: load: none of the drawn jobs requests GPUs; omit --load or draw more");
  double span_s = gpu_s / (spec->load * spec->nodes * spec->gpus_per_node);
  for (uint32_t i = 0; i < 200 && spec->count > 1; i++) {
    double tempo = draw->tempo = sqrt(low * high);
    bool too_long =
        hr__model_draw_time_s(draw, draw->mass / tempo) - hr__model_draw_time_s(draw, first / tempo) > span_s;
    *(too_long ? &low : &high) = tempo;
  }
  return HR_OK;
}

static enum hr_status prepare(struct hr__model_draw *draw, const struct hr_workload_model *model,
                              const struct hr_workload_model_spec *spec, struct hr_error *error) {
  enum hr_status status = check(spec, error);
  if (status != HR_OK) return status;
  status = hr__model_draw_init(draw, model, spec->seed);
  if (status != HR_OK) return hr_fail(error, status, "generator: out of memory");
  if (spec->load > 0) status = choose_tempo(draw, spec, error);
  hr__model_draw_restart(draw);
  if (status != HR_OK || hr__model_draw_time_s(draw, (double)spec->count / draw->tempo) <= 1e5 * 86400) return status;
  return hr_fail(error, HR_BAD_INPUT,
                 "generator: the jobs would arrive over more than 270 years; ask for fewer jobs or more load");
}

enum hr_status hr_workload_model_generate(const struct hr_workload_model *model,
                                          const struct hr_workload_model_spec *spec, const char *path,
                                          struct hr_workload_model_figures *figures, struct hr_error *error) {
  struct hr__model_draw *draw = calloc(1, sizeof *draw);
  struct hr_trace *trace = NULL;
  bool row_by_row;
  if (!draw) return hr_fail(error, HR_NO_MEMORY, "generator: out of memory");
  enum hr_status status = hr_generated_file(path, &row_by_row, error);
  if (status == HR_OK) status = prepare(draw, model, spec, error);
  if (status == HR_OK) status = draw_trace(draw, spec->count, &trace, error);
  if (status == HR_OK) status = hr_trace_write(trace, path, NULL, NULL, error);
  if (status == HR_OK && figures) *figures = figures_of(trace, spec);
  hr_trace_destroy(trace);
  hr__model_draw_finish(draw);
  free(draw);
  return status;
}
