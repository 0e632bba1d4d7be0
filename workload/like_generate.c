/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is asked for, and jobs written one after the other as they are drawn. */

#include "base/writers.h"
#include "headroom/unstable/like.h"
#include "workload/like_flow.h"
#include "workload/like_pilot.h"
#include "workload/like_rows.h"

#include <math.h>
#include <stdlib.h>

void hr_like_spec_init(struct hr_like_spec *spec) {
  *spec = (struct hr_like_spec){.count = 1000, .seed = 1, .nodes = 16, .gpus_per_node = 8};
}

static enum hr_status replace(double **shares, uint32_t *n_shares, uint32_t n, double exponent) {
  double *fresh = malloc(n * sizeof *fresh);
  if (!fresh) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < n; i++) fresh[i] = pow(i + 1.0, -exponent);
  free(*shares);
  *shares = fresh;
  *n_shares = n;
  return HR_OK;
}

enum hr_status hr_like_set_people(struct hr_like_model *model, uint32_t n_users, uint32_t n_tenants,
                                  struct hr_error *error) {
  enum hr_status status = HR_OK;
  if (n_users) status = replace(&model->users, &model->n_users, n_users, 1);
  if (n_tenants && status == HR_OK) status = replace(&model->tenants, &model->n_tenants, n_tenants, 0);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "generator: out of memory");
}

/* ---- Writing ---------------------------------------------------------------------------------------- */

/* No job comes after so many. */
static enum hr_status fail_at(enum hr_status status, uint64_t n_jobs, struct hr_error *error) {
  if (status == HR_NO_MEMORY) return hr_fail(error, status, "generator: out of memory");
  return hr_fail(error, status,
                 "generator: after %llu jobs none comes for thousands of years; ask for fewer jobs or more load",
                 (unsigned long long)n_jobs);
}

static enum hr_status write_all(struct hr__flow *flow, struct hr__rows *rows, uint64_t count, struct hr_error *error) {
  enum hr_status status = HR_OK;
  hr__rows_head(rows);
  while (status == HR_OK && rows->figures.jobs < count && rows->out.file.failure == 0) {
    const struct hr__campaign *campaign;
    struct hr__drawn_job job;
    status = hr__flow_next(flow, &campaign, &job);
    if (status != HR_OK) return fail_at(status, rows->figures.jobs, error);
    status = hr__rows_add(rows, campaign, &job, error);
  }
  return status;
}

/* ---- What is asked for ------------------------------------------------------------------------------ */

static enum hr_status check(const struct hr_like_spec *spec, struct hr_error *error) {
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

struct pace {
  double tempo, stretch; /* how much faster than in the model jobs come; what times are then multiplied with */
  double usual_gpus;     /* demand on average; 0: what the model's laws give */
};

static enum hr_status choose_pace(const struct hr_like_model *model, const struct hr_like_spec *spec,
                                  const struct hr__draws *draws, struct pace *pace, struct hr_error *error) {
  double per_day = 0, gpus = hr__draws_gpus(draws);
  pace->usual_gpus = spec->load * spec->nodes * spec->gpus_per_node;
  for (uint32_t i = 0; i < model->n_bands; i++) per_day += model->bands[i].jobs_per_day;
  if (spec->load > 0 && !(gpus > 0))
    return hr_fail(error, HR_BAD_INPUT, "generator: load: no job of the model '%s' asks for GPUs; leave --load out",
                   model->name);
  pace->tempo = spec->load > 0 ? pace->usual_gpus / gpus : 1;
  if ((double)spec->count / (per_day * pace->tempo) > 1e5)
    return hr_fail(error, HR_BAD_INPUT,
                   "generator: the jobs would arrive over more than 270 years; ask for fewer jobs or more load");
  enum hr_status status = spec->load > 0 ? hr__pilot_tempo(model, spec, pace->usual_gpus, &pace->tempo, &pace->stretch)
                                         : hr__pilot_usual(model, spec->seed, &pace->usual_gpus);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "generator: out of memory");
}

static enum hr_status begin(struct hr__flow *flow, const struct hr_like_model *model, const struct hr_like_spec *spec,
                            struct hr_error *error) {
  struct pace pace = {.stretch = 1};
  enum hr_status status = check(spec, error);
  if (status != HR_OK) return status;
  status = hr__flow_init(flow, model, spec->seed, 1, 0);
  if (status != HR_OK) return hr_fail(error, status, "generator: out of memory");
  status = choose_pace(model, spec, &flow->draws, &pace, error);
  if (status != HR_OK) return status;
  hr__flow_finish(flow);
  status = hr__flow_init(flow, model, spec->seed, pace.tempo, pace.usual_gpus);
  flow->stretch = pace.stretch;
  return status == HR_OK ? HR_OK : hr_fail(error, status, "generator: out of memory");
}

enum hr_status hr_like_generate(const struct hr_like_model *model, const struct hr_like_spec *spec, const char *path,
                                struct hr_like_figures *figures, struct hr_error *error) {
  struct hr__rows rows;
  struct hr__flow *flow = calloc(1, sizeof *flow);
  if (!flow) return hr_fail(error, HR_NO_MEMORY, "generator: out of memory");
  enum hr_status status = begin(flow, model, spec, error);
  uint64_t cluster_gpus = spec->load > 0 ? (uint64_t)spec->nodes * spec->gpus_per_node : UINT64_MAX;
  if (status == HR_OK) status = hr__rows_open(&rows, model, cluster_gpus, path, error);
  if (status == HR_OK) {
    status = write_all(flow, &rows, spec->count, error);
    if (figures) *figures = hr__rows_figures(&rows);
    if (figures) figures->stretch = flow->stretch;
    status = hr__rows_close(&rows, status, error);
  }
  hr__flow_finish(flow);
  free(flow);
  return status;
}
