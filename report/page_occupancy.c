/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which nodes were held, over time: a picture with a row for each node, or for a few neighbours where there are many.
   What a job held of a pool without having a place there is taken to be on all of its nodes alike. */

#include "report/page_parts.h"

#include <stdlib.h>

enum { MOST_ROWS = 256, MOST_COLUMNS = 480, FULL = 255 };

struct map {
  const struct hr__page_view *view;
  struct hr__page_grid grid; /* columns: some of the series' buckets each */
  uint32_t nodes_per_row;
  uint32_t *first_row; /* by pool, and one more: the number of rows */
  struct hr__page_sums *rows;
};

static uint32_t count_rows(const struct hr_cluster_spec *cluster, uint32_t nodes_per_row, uint32_t *first_row) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    first_row[i] = count;
    if (cluster->pools[i].gpus_per_node) count += (cluster->pools[i].nodes + nodes_per_row - 1) / nodes_per_row;
  }
  first_row[cluster->n_pools] = count;
  return count;
}

/* Rows are of one pool each, so that many small pools may need more rows than that. */
static void group_nodes(struct map *map) {
  const struct hr_cluster_spec *cluster = map->view->run->cluster;
  uint32_t n_nodes = map->view->first_node[cluster->n_pools];
  map->nodes_per_row = (n_nodes + MOST_ROWS - 1) / MOST_ROWS;
  if (map->nodes_per_row == 0) map->nodes_per_row = 1;
  while (count_rows(cluster, map->nodes_per_row, map->first_row) > MOST_ROWS && map->nodes_per_row < n_nodes)
    map->nodes_per_row++;
}

static void join_buckets(struct map *map) {
  const struct hr__page_grid *grid = &map->view->grid;
  uint32_t joined = (grid->n + MOST_COLUMNS - 1) / MOST_COLUMNS;
  if (joined == 0) joined = 1;
  map->grid = (struct hr__page_grid){grid->width_us * joined, grid->end_us, (grid->n + joined - 1) / joined};
}

/* The nodes that a row is of. */
static uint32_t nodes_in(const struct map *map, uint32_t pool, uint32_t row) {
  uint32_t left = map->view->run->cluster->pools[pool].nodes - (row - map->first_row[pool]) * map->nodes_per_row;
  return left < map->nodes_per_row ? left : map->nodes_per_row;
}

/* Sums are kept in thousandths of GPUs x nodes of the pool, which an even share of what is held divides. */
static void add_attempt(struct map *map, const struct hr_attempt *attempt) {
  const struct hr__page_view *view = map->view;
  uint32_t pool = attempt->pool.id, n_nodes = view->run->cluster->pools[pool].nodes;
  const struct hr_slice *slices = hr_history_slices(view->run->history, attempt);
  for (uint32_t i = 0; i < attempt->n_slices; i++) {
    uint32_t row = map->first_row[pool] + (slices[i].node.id - view->first_node[pool]) / map->nodes_per_row;
    hr__page_hold(&map->rows[row], &map->grid, attempt->begin_us, attempt->end_us,
                  (hr_amount)slices[i].gpu_milli * n_nodes);
  }
  if (attempt->n_slices) return;
  for (uint32_t row = map->first_row[pool]; row < map->first_row[pool + 1]; row++)
    hr__page_hold(&map->rows[row], &map->grid, attempt->begin_us, attempt->end_us,
                  (hr_amount)attempt->gpu_milli * nodes_in(map, pool, row));
}

/* Only what is full looks full, and only what is empty looks empty. */
static unsigned char shade(hr_amount held, hr_amount whole) {
  if (held <= 0) return 0;
  if (held >= whole) return FULL;
  hr_amount part = (held * FULL + whole / 2) / whole;
  return (unsigned char)(part < 1 ? 1 : part >= FULL ? FULL - 1 : part);
}

static void put_pixels(const struct map *map, uint32_t pool, uint32_t row, struct hr__page_block *block) {
  const struct hr_pool_spec *spec = &map->view->run->cluster->pools[pool];
  unsigned char *pixel = hr__page_block_room(block, map->grid.n);
  if (!pixel) return;
  hr_amount milli = (hr_amount)nodes_in(map, pool, row) * spec->gpus_per_node * 1000 * spec->nodes;
  for (uint32_t i = 0; i < map->grid.n; i++)
    pixel[i] = shade(map->rows[row].sum[i], milli * hr__page_span_us(&map->grid, i));
  block->size += map->grid.n;
}

static void put_map(const struct map *map, struct hr__page_json *json, struct hr__page_block *block) {
  const struct hr_cluster_spec *cluster = map->view->run->cluster;
  hr__page_open(json, "occupancy", '{');
  hr__page_open(json, "rows", '[');
  for (uint32_t pool = 0; pool < cluster->n_pools; pool++) {
    for (uint32_t row = map->first_row[pool]; row < map->first_row[pool + 1]; row++) {
      hr__page_open(json, NULL, '{');
      hr__page_text(json, "pool", cluster->pools[pool].name);
      hr__page_count(json, "first_node",
                     map->view->first_node[pool] + (row - map->first_row[pool]) * map->nodes_per_row);
      hr__page_count(json, "nodes", nodes_in(map, pool, row));
      hr__page_close(json, '}');
      put_pixels(map, pool, row, block);
    }
  }
  hr__page_close(json, ']');
  hr__page_count(json, "columns", map->grid.n);
  hr__page_count(json, "begin_s", 0);
  hr__page_seconds(json, "step_s", map->grid.width_us);
  hr__page_text(json, "block", "occupancy");
  hr__page_close(json, '}');
}

enum hr_status hr__page_occupancy(const struct hr__page_view *view, struct hr__page_json *json,
                                  struct hr__page_block *block) {
  uint32_t n_pools = view->run->cluster->n_pools, n_rows = 0;
  struct map map = {.view = view, .first_row = calloc((size_t)n_pools + 1, sizeof *map.first_row)};
  if (!map.first_row) return HR_NO_MEMORY;
  group_nodes(&map);
  join_buckets(&map);
  n_rows = map.first_row[n_pools];
  map.rows = calloc((size_t)n_rows + 1, sizeof *map.rows);
  enum hr_status status = map.rows ? HR_OK : HR_NO_MEMORY;
  for (uint32_t row = 0; row < n_rows && status == HR_OK; row++) status = hr__page_sums_init(&map.rows[row], &map.grid);
  if (status == HR_OK && n_rows) {
    for (size_t i = 0; i < view->n_attempts; i++) add_attempt(&map, &view->attempts[i]);
    for (uint32_t row = 0; row < n_rows; row++) hr__page_sums_close(&map.rows[row], &map.grid);
    put_map(&map, json, block);
  }
  for (uint32_t row = 0; map.rows && row < n_rows; row++) hr__page_sums_finish(&map.rows[row]);
  free(map.rows);
  free(map.first_row);
  return status;
}
