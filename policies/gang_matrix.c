/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Each row has its own free capacity, as if its jobs were the only ones: an index of free GPUs by node, or a count by
 * pool. A node that cannot be used has no free GPUs in any row, and gets none back when a job leaves it.
 */

#include "policies/gang_matrix.h"

#include <string.h>

enum { MILLI = 1000 };

/* ---- Making one ------------------------------------------------------------------------------------- */

static bool by_count(const struct hr__matrix *matrix) {
  return matrix->rule == HR_PLACE_POOL;
}

static enum hr_status init_pool(const struct hr__matrix *matrix, struct hr__gang_row *row, hr_pool pool) {
  const struct hr_pool_spec *spec = hr_cluster_pool_spec(matrix->cluster, pool);
  row->free_gpus[pool.id] = (uint64_t)spec->nodes * spec->gpus_per_node;
  if (by_count(matrix)) return HR_OK;
  row->index[pool.id] = hr_free_index_create(matrix->arena, spec->nodes, spec->gpus_per_node);
  if (!row->index[pool.id]) return HR_NO_MEMORY;
  uint32_t first = hr_cluster_first_node(matrix->cluster, pool).id;
  for (uint32_t node = 0; node < spec->nodes; node++)
    if (!matrix->usable[first + node]) hr_free_index_set(row->index[pool.id], node, 0);
  return HR_OK;
}

static enum hr_status init_row(const struct hr__matrix *matrix, struct hr__gang_row *row) {
  row->index = hr_arena_alloc(matrix->arena, matrix->n_pools * sizeof(*row->index));
  row->free_gpus = hr_arena_alloc(matrix->arena, matrix->n_pools * sizeof *row->free_gpus);
  if (!row->index || !row->free_gpus) return HR_NO_MEMORY;
  row->capacity =
      (struct hr_capacity){matrix->n_pools, (const struct hr_free_index *const *)row->index, row->free_gpus};
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < matrix->n_pools && status == HR_OK; i++) status = init_pool(matrix, row, (hr_pool){i});
  return status;
}

static enum hr_status init_nodes(struct hr__matrix *matrix) {
  uint32_t n_nodes = 0;
  for (uint32_t i = 0; i < matrix->n_pools; i++) n_nodes += hr_cluster_pool_spec(matrix->cluster, (hr_pool){i})->nodes;
  matrix->usable = hr_arena_alloc(matrix->arena, n_nodes * sizeof *matrix->usable);
  if (!matrix->usable) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < n_nodes; i++)
    matrix->usable[i] = hr_cluster_node_state(matrix->cluster, (hr_node){i}) == HR_NODE_UP;
  return HR_OK;
}

enum hr_status hr__matrix_init(struct hr__matrix *matrix, const struct hr_policy_env *env, enum hr_placement_rule rule,
                               uint32_t n_rows) {
  *matrix = (struct hr__matrix){.arena = env->arena,
                                .jobs = env->jobs,
                                .cluster = env->cluster,
                                .rule = rule,
                                .n_rows = n_rows,
                                .n_pools = hr_cluster_pools(env->cluster)};
  matrix->placer = hr_placer_create(env->arena, env->cluster, rule);
  matrix->rows = hr_arena_alloc(env->arena, n_rows * sizeof *matrix->rows);
  matrix->gang_of = hr_arena_alloc(env->arena, ((size_t)env->jobs->n_jobs + 1) * sizeof(*matrix->gang_of));
  matrix->outside.store = hr_tree_store_create(env->arena);
  if (!matrix->placer || !matrix->rows || !matrix->gang_of || !matrix->outside.store) return HR_NO_MEMORY;
  enum hr_status status = init_nodes(matrix);
  for (uint32_t i = 0; i < n_rows && status == HR_OK; i++) status = init_row(matrix, &matrix->rows[i]);
  return status;
}

/* ---- A row's capacity ------------------------------------------------------------------------------- */

static uint32_t number_of(const struct hr__matrix *matrix, const struct hr__gang *gang, hr_node node) {
  return node.id - hr_cluster_first_node(matrix->cluster, gang->pool).id;
}

static bool fits_as_it_is(const struct hr__matrix *matrix, const struct hr__gang_row *row,
                          const struct hr__gang *gang) {
  if (by_count(matrix)) return row->free_gpus[gang->pool.id] >= matrix->jobs->gpus[gang->job.id];
  for (uint32_t i = 0; i < gang->n_slices; i++) {
    uint32_t node = number_of(matrix, gang, gang->slices[i].node);
    if (hr_free_index_get(row->index[gang->pool.id], node) < gang->slices[i].gpu_milli / MILLI) return false;
  }
  return true;
}

static void take(const struct hr__matrix *matrix, struct hr__gang_row *row, const struct hr__gang *gang) {
  row->free_gpus[gang->pool.id] -= matrix->jobs->gpus[gang->job.id];
  for (uint32_t i = 0; i < gang->n_slices; i++) {
    uint32_t node = number_of(matrix, gang, gang->slices[i].node);
    struct hr_free_index *index = row->index[gang->pool.id];
    hr_free_index_set(index, node, hr_free_index_get(index, node) - gang->slices[i].gpu_milli / MILLI);
  }
}

static void give(const struct hr__matrix *matrix, struct hr__gang_row *row, const struct hr__gang *gang) {
  row->free_gpus[gang->pool.id] += matrix->jobs->gpus[gang->job.id];
  row->freed = true;
  for (uint32_t i = 0; i < gang->n_slices; i++) {
    uint32_t node = number_of(matrix, gang, gang->slices[i].node);
    struct hr_free_index *index = row->index[gang->pool.id];
    if (matrix->usable[gang->slices[i].node.id])
      hr_free_index_set(index, node, hr_free_index_get(index, node) + gang->slices[i].gpu_milli / MILLI);
  }
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
  take(matrix, row, gang);
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
  give(matrix, row, gang);
}

static bool set_place(struct hr__matrix *matrix, struct hr__gang *gang, const struct hr_placement *placement) {
  if (placement->n_slices > gang->n_room) {
    struct hr_slice *slices = hr_arena_alloc(matrix->arena, placement->n_slices * sizeof *slices);
    if (!slices) return false;
    gang->slices = slices;
    gang->n_room = placement->n_slices;
  }
  gang->pool = placement->pool;
  gang->n_slices = placement->n_slices;
  if (placement->n_slices) memcpy(gang->slices, placement->slices, placement->n_slices * sizeof *gang->slices);
  return true;
}

static bool find_place(struct hr__matrix *matrix, const struct hr__gang_row *row, hr_job job,
                       struct hr_placement *placement) {
  uint32_t accept_class = hr_cluster_accept_class(matrix->cluster, job);
  return hr_placer_find_in(matrix->placer, &row->capacity, matrix->jobs->gpus[job.id], accept_class, placement);
}

static struct hr__gang *new_gang(struct hr__matrix *matrix, hr_job job) {
  struct hr__gang *gang = matrix->unused;
  if (gang)
    matrix->unused = gang->next;
  else
    gang = hr_arena_alloc(matrix->arena, sizeof *gang);
  if (gang) *gang = (struct hr__gang){.job = job, .slices = gang->slices, .n_room = gang->n_room};
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
  if (!gang || !set_place(matrix, gang, &placement)) return HR_NO_MEMORY;
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

static enum hr_status unify_into(struct hr__matrix *matrix, uint32_t number, struct hr__gang *gang) {
  struct hr__gang_row *row = &matrix->rows[number];
  struct hr_placement placement = hr__gang_placement(gang);
  bool stays = fits_as_it_is(matrix, row, gang);
  if (!stays && (gang->runs || !find_place(matrix, row, gang->job, &placement))) return HR_OK;
  unlink_from(matrix, gang);
  bool placed = stays || set_place(matrix, gang, &placement);
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

static bool sits_on(const struct hr__gang *gang, hr_node node) {
  for (uint32_t i = 0; i < gang->n_slices; i++)
    if (gang->slices[i].node.id == node.id) return true;
  return false;
}

enum hr_status hr__matrix_set_usable(struct hr__matrix *matrix, hr_pool pool, hr_node node, bool usable) {
  if (by_count(matrix) || matrix->usable[node.id] == usable) return HR_OK;
  matrix->usable[node.id] = usable;
  uint32_t number = node.id - hr_cluster_first_node(matrix->cluster, pool).id;
  uint32_t gpus = usable ? hr_cluster_pool_spec(matrix->cluster, pool)->gpus_per_node : 0;
  for (uint32_t row = 0; row < matrix->n_rows; row++) {
    hr_free_index_set(matrix->rows[row].index[pool.id], number, gpus);
    matrix->rows[row].freed = matrix->rows[row].freed || usable;
    for (struct hr__gang *gang = matrix->rows[row].first, *next; gang && !usable; gang = next) {
      next = gang->next;
      if (!sits_on(gang, node)) continue;
      gang->pinned = gang->runs;
      if (gang->pinned) continue;
      hr_job job = gang->job;
      hr__matrix_remove(matrix, gang);
      if (!hr__matrix_put_outside(matrix, job)) return HR_NO_MEMORY;
    }
  }
  return HR_OK;
}
