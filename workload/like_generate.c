/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs in the order of their submits: the campaigns that have jobs left are a heap by when the next one comes. */

#include "headroom/like.h"
#include "report/out.h"
#include "workload/like_draw.h"
#include "workload/like_rows.h"

#include <math.h>
#include <stdlib.h>

struct making {
  struct hr__draws draws;
  struct hr__campaign *heap;
  uint32_t n_heap, heap_room;
  struct hr__rows rows;
};

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

/* ---- The heap --------------------------------------------------------------------------------------- */

static bool comes_before(const struct hr__campaign *a, const struct hr__campaign *b) {
  if (a->next_s < b->next_s || a->next_s > b->next_s) return a->next_s < b->next_s;
  if (a->band != b->band) return a->band < b->band;
  return a->number < b->number;
}

static void sift_down(struct making *making, uint32_t at) {
  struct hr__campaign *heap = making->heap, moved = heap[at];
  for (;;) {
    uint32_t child = 2 * at + 1;
    if (child >= making->n_heap) break;
    if (child + 1 < making->n_heap && comes_before(&heap[child + 1], &heap[child])) child++;
    if (!comes_before(&heap[child], &moved)) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = moved;
}

static void sift_up(struct making *making, uint32_t at) {
  struct hr__campaign *heap = making->heap, moved = heap[at];
  while (at > 0 && comes_before(&moved, &heap[(at - 1) / 2])) {
    heap[at] = heap[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  heap[at] = moved;
}

static bool begin_campaign(struct making *making, uint32_t band) {
  if (making->n_heap == making->heap_room) {
    uint32_t room = making->heap_room ? 2 * making->heap_room : 256;
    struct hr__campaign *grown = realloc(making->heap, room * sizeof *grown);
    if (!grown) return false;
    making->heap = grown;
    making->heap_room = room;
  }
  hr__campaign_draw(&making->draws, band, &making->heap[making->n_heap++]);
  sift_up(making, making->n_heap - 1);
  return true;
}

static uint32_t next_band(const struct making *making) {
  uint32_t next = 0;
  for (uint32_t i = 1; i < making->draws.model->n_bands; i++)
    if (making->draws.bands[i].starts.next_s < making->draws.bands[next].starts.next_s) next = i;
  return next;
}

/* ---- Writing ---------------------------------------------------------------------------------------- */

static void write_next(struct making *making) {
  struct hr__campaign *campaign = making->heap;
  struct hr__drawn_job job;
  hr__job_draw(&making->draws, campaign, &job);
  hr__rows_add(&making->rows, campaign, &job);
  if (campaign->left == 0) making->heap[0] = making->heap[--making->n_heap];
  if (making->n_heap) sift_down(making, 0);
}

static enum hr_status write_all(struct making *making, uint64_t count, struct hr_error *error) {
  struct hr__rows *rows = &making->rows;
  hr__rows_head(rows);
  while (rows->figures.jobs < count && rows->out.file.failure == 0) {
    uint32_t band = next_band(making);
    bool begins = making->n_heap == 0 || making->draws.bands[band].starts.next_s <= making->heap[0].next_s;
    if (!begins)
      write_next(making);
    else if (!begin_campaign(making, band))
      return hr_fail(error, HR_NO_MEMORY, "generator: out of memory");
  }
  return HR_OK;
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

/* How much faster than in the model jobs come. */
static enum hr_status choose_tempo(const struct hr__draws *draws, const struct hr_like_spec *spec, double *tempo,
                                   struct hr_error *error) {
  const struct hr_like_model *model = draws->model;
  double per_day = 0, gpus = hr__draws_gpus(draws), wanted = spec->load * spec->nodes * spec->gpus_per_node;
  for (uint32_t i = 0; i < model->n_bands; i++) per_day += model->bands[i].jobs_per_day;
  if (spec->load > 0 && !(gpus > 0))
    return hr_fail(error, HR_BAD_INPUT, "generator: load: no job of the model '%s' asks for GPUs; leave --load out",
                   model->name);
  *tempo = spec->load > 0 ? wanted / gpus : 1;
  if ((double)spec->count / (per_day * *tempo) <= 1e5) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT,
                 "generator: the jobs would arrive over more than 270 years; ask for fewer jobs or more load");
}

enum hr_status hr_like_generate(const struct hr_like_model *model, const struct hr_like_spec *spec, const char *path,
                                struct hr_like_figures *figures, struct hr_error *error) {
  struct making *making = calloc(1, sizeof *making);
  if (!making) return hr_fail(error, HR_NO_MEMORY, "generator: out of memory");
  double tempo = 1;
  enum hr_status status = check(spec, error);
  if (status == HR_OK && hr__draws_init(&making->draws, model, spec->seed) != HR_OK)
    status = hr_fail(error, HR_NO_MEMORY, "generator: out of memory");
  if (status == HR_OK) status = choose_tempo(&making->draws, spec, &tempo, error);
  if (status == HR_OK) status = hr__rows_open(&making->rows, model, path, error);
  if (status == HR_OK) {
    hr__draws_begin(&making->draws, tempo);
    status = write_all(making, spec->count, error);
    if (figures) *figures = hr__rows_figures(&making->rows);
    status = hr__rows_close(&making->rows, status, error);
  }
  hr__draws_finish(&making->draws);
  free(making->heap);
  free(making);
  return status;
}
