/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each row has its own free capacity, as if its jobs were the only ones. A node that cannot be used has no free GPUs in
   any row, and gets none back when a job leaves it. */

#include "policies/gang_matrix.h"

/* ---- Making one ------------------------------------------------------------------------------------- */

enum hr_status hr__matrix_init(struct hr__matrix *matrix, const struct hr_policy_env *env, enum hr_placement_rule rule,
                               uint32_t n_rows) {
  *matrix = (struct hr__matrix){.arena = env->arena, .jobs = env->jobs, .cluster = env->cluster, .n_rows = n_rows};
  matrix->placer = hr_placer_create(env->arena, env->cluster, rule);
  matrix->rows = hr_arena_alloc(env->arena, n_rows * sizeof *matrix->rows);
  matrix->gang_of = hr_arena_alloc_by_job(env->arena, env->jobs->n_jobs, sizeof(*matrix->gang_of));
  matrix->outside.store = hr_tree_store_create(env->arena);
  if (!matrix->placer || !matrix->rows || !matrix->gang_of || !matrix->outside.store) return HR_NO_MEMORY;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < n_rows && status == HR_OK; i++)
    status = hr__capacity_init(&matrix->rows[i].capacity, env->arena, env->cluster, rule);
  return status;
}

/* ---- Jobs of rows ----------------------------------------------------------------------------------- */

static void link_into(struct hr__matrix *matrix, struct hr__gang *gang, uint32_t number) {
  struct hr__gang_row *row = &matrix->rows[number];
  gang->row = number;
  gang->next = NULL;
  gang->previous = row->last;
  if (row->last)
    row->last->next = gang;
  else
    row->first = gang;
  row->last = gang;
  row->count++;
  hr__capacity_take(&row->capacity, &gang->place);
}

static void unlink_from(struct hr__matrix *matrix, struct hr__gang *gang) {
  struct hr__gang_row *row = &matrix->rows[gang->row];
  if (gang->previous)
    gang->previous->next = gang->next;
  else
    row->first = gang->next;
  if (gang->next)
    gang->next->previous = gang->previous;
  else
    row->last = gang->previous;
  row->count--;
  row->freed = true;
  hr__capacity_give(&row->capacity, &gang->place);
}

static bool find_place(const struct hr__matrix *matrix, const struct hr__gang_row *row, hr_job job,
                       struct hr_placement *placement) {
  uint32_t accept_class = hr_cluster_accept_class(matrix->cluster, job);
  return hr__capacity_find(&row->capacity, matrix->placer, matrix->jobs->gpus[job.id], accept_class, placement);
}

static struct hr__gang *new_gang(struct hr__matrix *matrix, hr_job job) {
  struct hr__gang *gang = matrix->unused;
  if (gang)
    matrix->unused = gang->next;
  else
    gang = hr_arena_alloc(matrix->arena, sizeof *gang);
  if (gang) *gang = (struct hr__gang){.job = job, .place = gang->place};
  return gang;
}

/* Whether it fits in some row; the status is that of memory. */
static enum hr_status admit(struct hr__matrix *matrix, const struct hr_view *view, hr_job job, bool *fits) {
  struct hr_placement placement;
  uint32_t row = 0;
  while (row < matrix->n_rows && !find_place(matrix, &matrix->rows[row], job, &placement)) row++;
  *fits = row < matrix->n_rows;
  if (!*fits) return HR_OK;
  struct hr__gang *gang = new_gang(matrix, job);
  if (!gang || !hr__place_set(&gang->place, matrix->arena, &placement, matrix->jobs->gpus[job.id])) return HR_NO_MEMORY;
  gang->begun_us = hr_view_done_us(view, job);
  link_into(matrix, gang, row);
  matrix->gang_of[job.id] = gang;
  return HR_OK;
}

enum hr_status hr__matrix_admit(struct hr__matrix *matrix, const struct hr_view *view) {
  struct hr_job_entry first;
  enum hr_status status = HR_OK;
  bool fits = true;
  while (status == HR_OK && fits && hr_job_tree_first(&matrix->outside, &first)) {
    status = admit(matrix, view, first.job, &fits);
    if (status == HR_OK && fits) hr_job_tree_remove(&matrix->outside, first.key, first.job);
  }
  return status;
}

bool hr__matrix_has_room(const struct hr__matrix *matrix, hr_job job) {
  struct hr_placement unused;
  for (uint32_t row = 0; row < matrix->n_rows; row++)
    if (find_place(matrix, &matrix->rows[row], job, &unused)) return true;
  return false;
}

static enum hr_status unify_into(struct hr__matrix *matrix, uint32_t number, struct hr__gang *gang) {
  struct hr__gang_row *row = &matrix->rows[number];
  struct hr_placement placement = hr__place_placement(&gang->place);
  bool stays = hr__capacity_holds(&row->capacity, &gang->place);
  if (!stays && (gang->runs || !find_place(matrix, row, gang->job, &placement))) return HR_OK;
  unlink_from(matrix, gang);
  bool placed = stays || hr__place_set(&gang->place, matrix->arena, &placement, gang->place.gpus);
  link_into(matrix, gang, number);
  return placed ? HR_OK : HR_NO_MEMORY;
}

static enum hr_status unify_from(struct hr__matrix *matrix, uint32_t number, const struct hr__gang_row *later) {
  enum hr_status status = HR_OK;
  for (struct hr__gang *gang = later->first, *next; gang && status == HR_OK; gang = next) {
    next = gang->next;
    if (!gang->pinned) status = unify_into(matrix, number, gang);
  }
  return status;
}

enum hr_status hr__matrix_unify(struct hr__matrix *matrix, uint32_t present) {
  enum hr_status status = HR_OK;
  for (uint32_t number = 0; number < matrix->n_rows; number++) {
    if (!matrix->rows[number].freed) continue;
    matrix->rows[number].freed = false;
    for (uint32_t later = number + 1; later < matrix->n_rows && status == HR_OK; later++)
      if (later != present) status = unify_from(matrix, number, &matrix->rows[later]);
  }
  return status;
}

void hr__matrix_remove(struct hr__matrix *matrix, struct hr__gang *gang) {
  unlink_from(matrix, gang);
  matrix->gang_of[gang->job.id] = NULL;
  gang->next = matrix->unused;
  matrix->unused = gang;
}

bool hr__matrix_put_outside(struct hr__matrix *matrix, hr_job job) {
  return hr_job_tree_insert(&matrix->outside, (struct hr_job_entry){.job = job});
}

/* ---- Nodes that come and go ------------------------------------------------------------------------- */

static enum hr_status leave_node(struct hr__matrix *matrix, struct hr__gang *gang, hr_node node) {
  if (!hr__place_has(&gang->place, node)) return HR_OK;
  gang->pinned = gang->runs;
  if (gang->pinned) return HR_OK;
  hr_job job = gang->job;
  hr__matrix_remove(matrix, gang);
  return hr__matrix_put_outside(matrix, job) ? HR_OK : HR_NO_MEMORY;
}

enum hr_status hr__matrix_set_usable(struct hr__matrix *matrix, hr_pool pool, hr_node node, bool usable) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < matrix->n_rows; i++) {
    struct hr__gang_row *row = &matrix->rows[i];
    hr__capacity_set_usable(&row->capacity, pool, node, usable);
    row->freed = row->freed || usable;
    for (struct hr__gang *gang = row->first, *next; gang && !usable && status == HR_OK; gang = next) {
      next = gang->next;
      status = leave_node(matrix, gang, node);
    }
  }
  return status;
}
