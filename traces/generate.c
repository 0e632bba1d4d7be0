/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A workload from a few numbers: which they may be, and its jobs as a file. */

#include "sim/output_file.h"
#include "traces/generation.h"

#include <inttypes.h>
#include <stdio.h>

enum { MS_US = 1000 };

void hr_generator_init(struct hr_generator *generator) {
  *generator = (struct hr_generator){.count = 1000,
                                     .seed = 1,
                                     .load = 0.8,
                                     .nodes = 16,
                                     .gpus_per_node = 8,
                                     .median_s = 1800,
                                     .sigma = 1.6,
                                     .max_s = 172800,
                                     .diurnal = 0.4,
                                     .users = 40,
                                     .tenants = 5};
}

/* ---- What may be asked for -------------------------------------------------------------------------- */

static enum hr_status refuse(struct hr_error *error, const char *what, double value, const char *right) {
  return hr_fail(error, HR_BAD_INPUT, "generator: %s: %g is not %s", what, value, right);
}

static bool within(double value, double least, double most) {
  return value >= least && value <= most; /* false for NaN */
}

static enum hr_status check_size(const struct hr_generator *g, struct hr_error *error) {
  if (g->count < 1 || g->count >= HR_NONE)
    return refuse(error, "count", (double)g->count, "a number of jobs from 1 to 4294967294");
  if (g->nodes < 1 || g->nodes > HR_MAX_NODES) return refuse(error, "nodes", g->nodes, "from 1 to 16000000");
  if (g->gpus_per_node < 1 || (uint64_t)g->nodes * g->gpus_per_node > HR_MAX_GPUS)
    return refuse(error, "gpus-per-node", g->gpus_per_node, "at least 1, and at most 4000000 on all nodes");
  if (g->users < 1 || g->users > 10000000) return refuse(error, "users", g->users, "from 1 to 10000000");
  if (g->tenants < 1) return refuse(error, "tenants", g->tenants, "at least 1");
  return HR_OK;
}

static enum hr_status check_limits(const struct hr_generator *g, struct hr_error *error) {
  if (!within(g->limit_min, 0, 1e6)) return refuse(error, "limit-min", g->limit_min, "from 0 to 1e6");
  if (!within(g->limit_max, 0, 1e6)) return refuse(error, "limit-max", g->limit_max, "from 0 to 1e6");
  if (g->limit_max >= g->limit_min) return HR_OK;
  return hr_fail(
      error, HR_BAD_INPUT,
      "generator: limit-max: %g is below limit-min, %g: limits are the run time times a number from limit-min "
      "to limit-max",
      g->limit_max, g->limit_min);
}

static enum hr_status check_shape(const struct hr_generator *g, struct hr_error *error) {
  if (!within(g->load, 1e-9, 1e9)) return refuse(error, "load", g->load, "above 0");
  if (!within(g->median_s, 1e-3, 1e9)) return refuse(error, "median-s", g->median_s, "from 0.001 to 1e9 seconds");
  if (!within(g->sigma, 0, 10)) return refuse(error, "sigma", g->sigma, "from 0 to 10");
  if (g->max_s != 0 && !within(g->max_s, 1e-3, 1e9))
    return refuse(error, "max-s", g->max_s, "0 (no bound) or from 0.001 to 1e9 seconds");
  if (!within(g->diurnal, 0, 1)) return refuse(error, "diurnal", g->diurnal, "from 0 to 1");
  return check_limits(g, error);
}

static enum hr_status check_gpu_counts(const struct hr_generator *g, struct hr_error *error) {
  uint64_t cluster = (uint64_t)g->nodes * g->gpus_per_node;
  double sum = 0;
  for (size_t i = 0; g->gpu_counts && i < g->n_gpu_counts; i++) {
    if (g->gpu_counts[i].gpus < 1 || g->gpu_counts[i].gpus > cluster)
      return refuse(error, "GPU count", g->gpu_counts[i].gpus, "from 1 to the GPUs of the cluster");
    if (!within(g->gpu_counts[i].weight, 0, 1e9))
      return refuse(error, "GPU count's weight", g->gpu_counts[i].weight, "at least 0");
    sum += g->gpu_counts[i].weight;
  }
  if (g->gpu_counts && !(sum > 0)) return refuse(error, "sum of the GPU counts' weights", sum, "above 0");
  return HR_OK;
}

/* ---- Writing ---------------------------------------------------------------------------------------- */

static void write_job(FILE *out, const struct hr__generated_job *job) {
  fprintf(out, "%" PRIu32 ",%" PRId64 ".%03d,%" PRId64 ".%03d,%" PRIu32 ",user-%" PRIu32 ",tenant-%" PRIu32,
          job->number, job->submit_ms / 1000, (int)(job->submit_ms % 1000), job->run_ms / 1000,
          (int)(job->run_ms % 1000), job->gpus, job->user, job->tenant);
  if (job->limit_ms >= 0) fprintf(out, ",%" PRId64 ".%03d", job->limit_ms / 1000, (int)(job->limit_ms % 1000));
  fputc('\n', out);
}

static enum hr_status write_rows(struct hr__generation *work, const char *path, struct hr_error *error) {
  struct hr__output_file file;
  enum hr_status status = hr__output_open(&file, path, error);
  if (status != HR_OK) return status;
  fprintf(file.stream, "job_id,submit_s,duration_s,gpus,user,tenant%s\n", work->g->limit_max > 0 ? ",limit_s" : "");
  while (work->n_drawn < work->g->count && !ferror(file.stream)) {
    struct hr__generated_job job = hr__generation_next(work);
    write_job(file.stream, &job);
  }
  return hr__output_commit(&file, error);
}

static enum hr_status add_job(struct hr_trace_builder *builder, const struct hr__generated_job *job,
                              struct hr_error *error) {
  char id[16], user[32], tenant[32];
  struct hr_job_record record;
  hr_job_record_init(&record);
  record.id = (struct hr_text){id, (size_t)snprintf(id, sizeof id, "%" PRIu32, job->number)};
  record.user = (struct hr_text){user, (size_t)snprintf(user, sizeof user, "user-%" PRIu32, job->user)};
  record.tenant = (struct hr_text){tenant, (size_t)snprintf(tenant, sizeof tenant, "tenant-%" PRIu32, job->tenant)};
  record.submit_us = job->submit_ms * MS_US;
  record.work_us = job->run_ms * MS_US;
  record.gpus = job->gpus;
  if (job->limit_ms >= 0) record.limit_us = job->limit_ms * MS_US;
  return hr_trace_builder_add(builder, &record, (uint64_t)job->number + 1, error); /* below the header */
}

/* What cannot be written row by row. */
static enum hr_status write_gathered(struct hr__generation *work, const char *path, struct hr_error *error) {
  struct hr_trace_builder *builder = hr_trace_builder_create("headroom trace generate", "csv");
  if (!builder) return hr_fail(error, HR_NO_MEMORY, "generator: out of memory");
  enum hr_status status = HR_OK;
  while (status == HR_OK && work->n_drawn < work->g->count) {
    struct hr__generated_job job = hr__generation_next(work);
    status = add_job(builder, &job, error);
  }
  if (status == HR_OK) status = hr_trace_builder_write(builder, path, error);
  hr_trace_builder_destroy(builder);
  return status;
}

enum hr_status hr_generate(const struct hr_generator *generator, const char *path, struct hr_error *error) {
  enum hr_status status = check_size(generator, error);
  if (status == HR_OK) status = check_shape(generator, error);
  if (status == HR_OK) status = check_gpu_counts(generator, error);
  if (status != HR_OK) return status;
  struct hr__generation work;
  bool job_by_job;
  status = hr_generated_file(path, &job_by_job, error);
  if (status != HR_OK) return status;
  status = hr__generation_begin(&work, generator, error);
  if (status != HR_OK) return status;
  status = job_by_job ? write_rows(&work, path, error) : write_gathered(&work, path, error);
  hr__generation_finish(&work);
  return status;
}
