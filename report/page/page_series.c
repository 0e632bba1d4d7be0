/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Usage and costs over time in the HTML report: allocated GPUs by tenant, class, GPU type, market and pool; busy,
 * useful and lost GPU time; waits; a heat map of the occupancy of nodes; histograms of waits; costs by tenant and
 * market.
 *
 * Busy and useful time. The history contains the total durations of an attempt for restarting, saving checkpoints,
 * useful work and lost work, but not the times at which they occurred. This file assumes that an attempt begins with
 * the restart, continues with useful work and ends with lost work, and that the time for saving is spread evenly over
 * the work. Lost work is shown at the time of the interruption.
 *
 * Occupancy. A heat map with one row per node, or per group of consecutive nodes of a pool if there are many nodes.
 * Jobs to which the policy assigned a pool but no particular nodes are spread evenly over the nodes of the pool.
 *
 * Histograms. Bins have four bounds per factor of ten. Bin 0 contains jobs that did not wait. Bin k > 0 contains waits
 * that are longer than edge_us[k] and at most edge_us[k + 1]. Shorter or longer waits are in the first or the last of
 * these bins.
 *
 * Costs. A session is the interval from the acquisition of a node of an elastic pool until the node is released or
 * lost. The ledger contains sums by month only, so sums by bucket are computed from the history. The cost of a pool is
 * the price of its nodes while they are paid for. The cost of a job is the price of its GPUs while it runs. Idle cost
 * is the difference. Billing rules (minimum times, rounding) may bill a session for more than its duration; the
 * difference is added at the end of the session. Amounts are in units of the ledger.
 */

#include "base/text.h"
#include "report/metrics/metrics.h"
#include "report/page/page.h"
#include "sim/market/market.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t key_of(const struct hr__page_view *view, enum hr__page_dimension dimension,
                       const struct hr_attempt *attempt) {
  return hr__page_key(view, dimension, attempt->job.id, attempt->pool.id);
}

/* ---- By dimension ---------------------------------------------------------------------------------- */

static const char *const names[HR__PAGE_DIMENSIONS] = {[HR__PAGE_TENANT] = "tenant",
                                                       [HR__PAGE_CLASS] = "class",
                                                       [HR__PAGE_GPU] = "gpu",
                                                       [HR__PAGE_MARKET] = "market",
                                                       [HR__PAGE_POOL] = "pool"};

static hr_amount *weigh(const struct hr__page_view *view, enum hr__page_dimension dimension, uint32_t n_keys) {
  hr_amount *weight = calloc((size_t)n_keys + 1, sizeof *weight);
  if (!weight) return NULL;
  for (size_t i = 0; i < view->n_attempts; i++) {
    const struct hr_attempt *attempt = &view->attempts[i];
    weight[key_of(view, dimension, attempt)] += (hr_amount)attempt->gpu_milli * (attempt->end_us - attempt->begin_us);
  }
  return weight;
}

/* Returns the duration of bucket `i` in microseconds. */
static int64_t page_span_us(const struct hr__page_grid *grid, uint32_t i) {
  int64_t left_us = grid->end_us - i * grid->width_us;
  return left_us < grid->width_us ? left_us : grid->width_us;
}

/* Writes an array with the number sum / (duration x unit) for each bucket. */
static void put_means(struct hr__page_json *json, const char *key, const struct hr__page_sums *sums,
                      const struct hr__page_grid *grid, double unit) {
  hr__page_open(json, key, '[');
  for (uint32_t i = 0; i < grid->n; i++) {
    int64_t span_us = page_span_us(grid, i);
    hr__page_number(json, NULL, span_us > 0 ? (double)sums->sum[i] / ((double)span_us * unit) : (double)NAN);
  }
  hr__page_close(json, ']');
}

static enum hr_status put_rows(const struct hr__page_view *view, struct hr__page_json *json,
                               enum hr__page_dimension dimension, const struct hr__page_split *split) {
  struct hr__page_sums rows[HR__PAGE_ROWS] = {0};
  enum hr_status status = HR_OK;
  for (uint32_t row = 0; row < split->n_rows && status == HR_OK; row++)
    status = hr__page_sums_init(&rows[row], &view->grid);
  for (size_t i = 0; status == HR_OK && split->n_rows && i < view->n_attempts; i++) {
    const struct hr_attempt *attempt = &view->attempts[i];
    hr__page_hold(&rows[split->row[key_of(view, dimension, attempt)]], &view->grid, attempt->begin_us, attempt->end_us,
                  attempt->gpu_milli);
  }
  for (uint32_t row = 0; row < split->n_rows && status == HR_OK; row++) {
    hr__page_sums_close(&rows[row], &view->grid);
    hr__page_open(json, NULL, '{');
    hr__page_name(json, "name", hr__page_row_name(view, dimension, split, row));
    put_means(json, "allocated", &rows[row], &view->grid, 1000);
    hr__page_close(json, '}');
  }
  for (uint32_t row = 0; row < split->n_rows; row++) hr__page_sums_finish(&rows[row]);
  return status;
}

static enum hr_status put_dimension(const struct hr__page_view *view, struct hr__page_json *json,
                                    enum hr__page_dimension dimension) {
  uint32_t n_keys = hr__page_keys(view, dimension);
  hr__page_open(json, names[dimension], '[');
  enum hr_status status = HR_OK;
  if (n_keys) {
    struct hr__page_split split = {0};
    hr_amount *weight = weigh(view, dimension, n_keys);
    status = weight ? hr__page_split_make(&split, weight, n_keys) : HR_NO_MEMORY;
    if (status == HR_OK) status = put_rows(view, json, dimension, &split);
    hr__page_split_finish(&split);
    free(weight);
  }
  hr__page_close(json, ']');
  return status;
}

static enum hr_status put_by(const struct hr__page_view *view, struct hr__page_json *json) {
  enum hr_status status = HR_OK;
  hr__page_open(json, "by", '{');
  for (unsigned i = 0; i < HR__PAGE_DIMENSIONS && status == HR_OK; i++)
    status = put_dimension(view, json, (enum hr__page_dimension)i);
  hr__page_close(json, '}');
  return status;
}

/* ---- Busy, useful, lost ---------------------------------------------------------------------------- */

struct use {
  struct hr__page_sums busy, useful, lost;
};

static void add_use(struct use *use, const struct hr__page_grid *grid, const struct hr_attempt *attempt) {
  int64_t work_us = attempt->kept_us + attempt->lost_us, end_us = attempt->end_us;
  int64_t from_us = attempt->begin_us + attempt->restarting_us, kept_to_us = from_us;
  if (work_us > 0) kept_to_us += (int64_t)((hr_amount)(end_us - from_us) * attempt->kept_us / work_us);
  hr_amount milli = attempt->gpu_milli;
  if (attempt->lost_us) hr__page_put(&use->lost, grid, end_us, milli * attempt->lost_us);
  if (attempt->saving_us) {
    hr__page_spread(&use->busy, grid, from_us, end_us, milli * work_us);
    hr__page_spread(&use->useful, grid, from_us, kept_to_us, milli * attempt->kept_us);
  } else {
    hr__page_hold(&use->busy, grid, from_us, end_us, milli);
    hr__page_hold(&use->useful, grid, from_us, kept_to_us, milli);
  }
}

/* Writes an object with the mean number of GPUs in each bucket. */
static void put_mean(struct hr__page_json *json, const char *key, const struct hr__page_sums *sums,
                     const struct hr__page_grid *grid) {
  hr__page_open(json, key, '{');
  put_means(json, "mean", sums, grid, 1000);
  hr__page_close(json, '}');
}

static enum hr_status put_use(const struct hr__page_view *view, struct hr__page_json *json) {
  struct use use = {0};
  struct hr__page_sums *const all[] = {&use.busy, &use.useful, &use.lost};
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < sizeof all / sizeof *all && status == HR_OK; i++)
    status = hr__page_sums_init(all[i], &view->grid);
  if (status == HR_OK) {
    for (size_t i = 0; i < view->n_attempts; i++) add_use(&use, &view->grid, &view->attempts[i]);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) hr__page_sums_close(all[i], &view->grid);
    put_mean(json, "busy", &use.busy, &view->grid);
    put_mean(json, "useful", &use.useful, &view->grid);
    if (view->run->summary->stoppable)
      hr__page_put_sums(json, "lost_gpu_hours", &use.lost, &view->grid, 1000 * 3600.0 * (double)HR_SECOND_US);
  }
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) hr__page_sums_finish(all[i]);
  return status;
}

/* ---- Waits ----------------------------------------------------------------------------------------- */

struct waits {
  uint32_t *count;
  hr_amount *sum_us;
  int64_t *max_us;
};

static void put_waits(const struct hr__page_grid *grid, const struct waits *waits, struct hr__page_json *json) {
  hr__page_open(json, "wait_s", '{');
  hr__page_open(json, "mean", '[');
  for (uint32_t i = 0; i < grid->n; i++) {
    double seconds = (double)waits->sum_us[i] / (double)HR_SECOND_US;
    hr__page_number(json, NULL, waits->count[i] ? seconds / waits->count[i] : (double)NAN);
  }
  hr__page_close(json, ']');
  hr__page_open(json, "max", '[');
  for (uint32_t i = 0; i < grid->n; i++)
    hr__page_number(json, NULL, waits->count[i] ? (double)waits->max_us[i] / (double)HR_SECOND_US : (double)NAN);
  hr__page_close(json, ']');
  hr__page_close(json, '}');
}

/* For each bucket, writes the mean and the maximum wait of the jobs with their first start in the bucket. */
static enum hr_status put_wait_series(const struct hr__page_view *view, struct hr__page_json *json) {
  const struct hr__page_grid *grid = &view->grid;
  const struct hr_result *result = view->run->result;
  size_t n = (size_t)grid->n + 1;
  struct waits waits = {calloc(n, sizeof *waits.count), calloc(n, sizeof *waits.sum_us),
                        calloc(n, sizeof *waits.max_us)};
  bool good = waits.count && waits.sum_us && waits.max_us;
  for (uint32_t job = 0; good && grid->n && job < result->n_jobs; job++) {
    if (result->start_us[job] == HR_NEVER_US) continue;
    int64_t wait_us = result->start_us[job] - view->run->trace->submit_us[job];
    uint32_t i = hr__page_bucket(grid, result->start_us[job]);
    waits.count[i]++;
    waits.sum_us[i] += wait_us;
    if (waits.max_us[i] < wait_us) waits.max_us[i] = wait_us;
  }
  if (good) put_waits(grid, &waits, json);
  free(waits.count);
  free(waits.sum_us);
  free(waits.max_us);
  return good ? HR_OK : HR_NO_MEMORY;
}

enum hr_status hr__page_usage_series(const struct hr__page_view *view, struct hr__page_json *json) {
  enum hr_status status = put_use(view, json);
  if (status == HR_OK) status = put_wait_series(view, json);
  return status == HR_OK ? put_by(view, json) : status;
}

/* ---- Occupancy ------------------------------------------------------------------------------------- */

enum { MAX_ROWS = 256, MAX_COLUMNS = 480, FULL = 255 };

struct map {
  const struct hr__page_view *view;
  struct hr__page_grid grid; /* columns of the heat map: each is a group of consecutive buckets of the series */
  uint32_t nodes_per_row;
  uint32_t *first_row; /* [n_pools + 1]: first row of each pool; the last entry is the number of rows */
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

/* Computes the smallest number of nodes per row with which at most MAX_ROWS rows are needed. A row contains nodes of
   one pool only, so clusters with many small pools may need more rows. */
static void group_nodes(struct map *map) {
  const struct hr_cluster_spec *cluster = map->view->run->cluster;
  uint32_t n_nodes = map->view->first_node[cluster->n_pools];
  map->nodes_per_row = (n_nodes + MAX_ROWS - 1) / MAX_ROWS;
  if (map->nodes_per_row == 0) map->nodes_per_row = 1;
  while (count_rows(cluster, map->nodes_per_row, map->first_row) > MAX_ROWS && map->nodes_per_row < n_nodes)
    map->nodes_per_row++;
}

static void join_buckets(struct map *map) {
  const struct hr__page_grid *grid = &map->view->grid;
  uint32_t joined = (grid->n + MAX_COLUMNS - 1) / MAX_COLUMNS;
  if (joined == 0) joined = 1;
  map->grid = (struct hr__page_grid){grid->width_us * joined, grid->end_us, (grid->n + joined - 1) / joined};
}

/* Returns the number of nodes of a row; the last row of a pool may have fewer than the others. */
static uint32_t nodes_in(const struct map *map, uint32_t pool, uint32_t row) {
  uint32_t left = map->view->run->cluster->pools[pool].nodes - (row - map->first_row[pool]) * map->nodes_per_row;
  return left < map->nodes_per_row ? left : map->nodes_per_row;
}

/* Adds an attempt to its rows. Values are multiplied by the number of nodes of the pool, so that the part of each node
   in an even distribution is an integer. */
static void add_occupancy(struct map *map, const struct hr_attempt *attempt) {
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

/* Returns the value of a pixel. It is FULL only if all GPUs are allocated, and 0 only if none is. */
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
    pixel[i] = shade(map->rows[row].sum[i], milli * page_span_us(&map->grid, i));
  block->size += map->grid.n;
}

static void put_map(const struct map *map, struct hr__page_json *json, struct hr__page_block *block) {
  const struct hr_cluster_spec *cluster = map->view->run->cluster;
  hr__page_open(json, "occupancy", '{');
  hr__page_open(json, "rows", '[');
  for (uint32_t pool = 0; pool < cluster->n_pools; pool++) {
    for (uint32_t row = map->first_row[pool]; row < map->first_row[pool + 1]; row++) {
      hr__page_open(json, NULL, '{');
      hr__page_name(json, "pool", cluster->pools[pool].name);
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
    for (size_t i = 0; i < view->n_attempts; i++) add_occupancy(&map, &view->attempts[i]);
    for (uint32_t row = 0; row < n_rows; row++) hr__page_sums_close(&map.rows[row], &map.grid);
    put_map(&map, json, block);
  }
  for (uint32_t row = 0; map.rows && row < n_rows; row++) hr__page_sums_finish(&map.rows[row]);
  free(map.rows);
  free(map.first_row);
  return status;
}

/* ---- Histograms of waits --------------------------------------------------------------------------- */

enum { MAX_BINS = 80, MAX_GROUPS = 12 };

struct bins {
  int64_t edge_us[MAX_BINS + 1]; /* [n + 1]: bounds; the first is 0 */
  uint32_t n;
};

/* Returns the bound with index `place`, which is 10^(place / 4) microseconds. */
static int64_t edge_at(uint32_t place) {
  static const int64_t step[] = {1000000, 1778279, 3162278, 5623413};
  int64_t edge = step[place % 4];
  uint32_t tens = place / 4;
  for (; tens < 6; tens++) edge /= 10;
  for (; tens > 6; tens--) edge *= 10;
  return edge;
}

static int64_t wait_us_of(const struct hr_page_run *run, uint32_t job) {
  return run->result->start_us[job] - run->trace->submit_us[job];
}

static bool started(const struct hr_page_run *run, uint32_t job) {
  return run->result->start_us[job] != HR_NEVER_US;
}

/* Selects the bounds from the last one below the shortest wait to the first one at or above the longest wait. Bounds
   below 10 us are omitted, because they are equal after rounding. */
static void make_bins(const struct hr_page_run *run, struct bins *bins) {
  int64_t min_us = HR_NEVER_US, max_us = 0;
  for (uint32_t job = 0; job < run->result->n_jobs; job++) {
    int64_t wait_us = started(run, job) ? wait_us_of(run, job) : 0;
    if (wait_us > 0 && wait_us < min_us) min_us = wait_us;
    if (wait_us > max_us) max_us = wait_us;
  }
  uint32_t place = 4;
  while (max_us && edge_at(place + 1) < min_us) place++;
  *bins = (struct bins){.edge_us = {0, edge_at(place)}, .n = 1};
  while (max_us && bins->n < MAX_BINS && (bins->n < 2 || bins->edge_us[bins->n] < max_us))
    bins->edge_us[++bins->n] = edge_at(++place);
}

static uint32_t bin_of(const struct bins *bins, int64_t wait_us) {
  uint32_t low = 1, high = bins->n - 1;
  if (wait_us <= 0) return 0;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (bins->edge_us[middle + 1] < wait_us)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void put_bins(struct hr__page_json *json, const char *key, const uint64_t *counts, uint32_t n) {
  hr__page_open(json, key, '[');
  for (uint32_t i = 0; i < n; i++) hr__page_count(json, NULL, counts[i]);
  hr__page_close(json, ']');
}

/* ---- Groups ---------------------------------------------------------------------------------------- */

/* A grouping of jobs in the summary. The group of a job is the one with the name of its key in the dimension. */
struct page_usage_grouping {
  const char *key;
  const struct hr_group *group;
  size_t n_groups;
  enum hr__page_dimension dimension;
};

/* Returns an array with the index of the group of each key; `n` for keys of groups that are not shown. The caller frees
   the array. Returns NULL if out of memory. */
static uint32_t *number_keys(const struct page_usage_grouping *grouping, const struct hr__page_view *view, size_t n) {
  uint32_t n_keys = hr__page_keys(view, grouping->dimension);
  uint32_t *number = malloc(((size_t)n_keys + 1) * sizeof *number);
  for (uint32_t key = 0; number && key < n_keys; key++) {
    size_t i = 0;
    while (i < n && strcmp(grouping->group[i].name, hr__page_key_name(view, grouping->dimension, key)) != 0) i++;
    number[key] = (uint32_t)i;
  }
  return number;
}

static void put_group(struct hr__page_json *json, const struct hr_group *group, const uint64_t *counts, uint32_t n) {
  hr__page_open(json, NULL, '{');
  hr__page_name(json, "name", group->name);
  put_bins(json, "counts", counts, n);
  hr__page_number(json, "median_s", group->wait_s.count ? group->wait_s.p50 : (double)NAN);
  hr__page_number(json, "p95_s", group->wait_s.count ? group->wait_s.p95 : (double)NAN);
  hr__page_close(json, '}');
}

static enum hr_status put_groups(const struct hr__page_view *view, struct hr__page_json *json, const struct bins *bins,
                                 const struct page_usage_grouping *grouping) {
  const struct hr_page_run *run = view->run;
  size_t n = grouping->n_groups < MAX_GROUPS ? grouping->n_groups : MAX_GROUPS;
  uint32_t *number = number_keys(grouping, view, n);
  uint64_t *counts = calloc((n + 1) * MAX_BINS, sizeof *counts);
  hr__page_open(json, grouping->key, '[');
  if (number && counts && n) {
    for (uint32_t job = 0; job < run->result->n_jobs; job++)
      if (started(run, job)) {
        uint32_t key = hr__page_key(view, grouping->dimension, job, HR_NONE);
        counts[(size_t)number[key] * MAX_BINS + bin_of(bins, wait_us_of(run, job))]++;
      }
    for (size_t i = 0; i < n; i++) put_group(json, &grouping->group[i], counts + i * MAX_BINS, bins->n);
  }
  hr__page_close(json, ']');
  bool good = number && counts;
  free(number);
  free(counts);
  return good ? HR_OK : HR_NO_MEMORY;
}

enum hr_status hr__page_distributions(const struct hr__page_view *view, struct hr__page_json *json) {
  const struct hr_page_run *run = view->run;
  const struct hr_summary *summary = run->summary;
  const struct page_usage_grouping groupings[] = {
      {"by_class", summary->by_class, summary->n_classes, HR__PAGE_CLASS},
      {"by_size", summary->by_size, summary->n_sizes, HR__PAGE_SIZE},
      {"by_tenant", summary->by_tenant, summary->n_tenants, HR__PAGE_TENANT}};
  uint64_t all[MAX_BINS] = {0};
  struct bins bins;
  make_bins(run, &bins);
  for (uint32_t job = 0; job < run->result->n_jobs; job++)
    if (started(run, job)) all[bin_of(&bins, wait_us_of(run, job))]++;
  hr__page_open(json, "distributions", '{');
  hr__page_open(json, "wait_s", '{');
  hr__page_open(json, "edges_s", '[');
  for (uint32_t i = 0; i <= bins.n; i++) hr__page_seconds(json, NULL, bins.edge_us[i]);
  hr__page_close(json, ']');
  put_bins(json, "all", all, bins.n);
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < sizeof groupings / sizeof *groupings && status == HR_OK; i++)
    status = put_groups(view, json, &bins, &groupings[i]);
  hr__page_close(json, '}');
  hr__page_close(json, '}');
  return status;
}

/* ---- Costs: sessions ------------------------------------------------------------------------------- */

struct page_session {
  int64_t since_us, to_us;
  uint32_t pool, node;
  bool free; /* not billed, because the node was reclaimed early enough */
};

struct page_sessions {
  struct page_session *at; /* sorted by node, then time */
  size_t count;
};

/* ---- Costs: spending ------------------------------------------------------------------------------- */

/* Costs other than those of capacity are spread over all buckets in parts of a micro-dollar, so that small amounts are
   not rounded to 0. */
#define OTHER_PARTS 1000000

struct page_spending {
  struct hr__page_sums used;                  /* cost of the GPUs that jobs used */
  struct hr__page_sums market[HR_N_MARKETS];  /* cost of the pools of each market, used or idle */
  struct hr__page_sums other;                 /* all other costs: micro-dollars x OTHER_PARTS */
  struct hr__page_sums tenant[HR__PAGE_ROWS]; /* `used` by tenant, for each row of `tenants` */
  struct hr__page_split tenants;
  bool in_use[HR_N_MARKETS];
  hr_amount after; /* cost of reservations after the end of the run */
};

static int compare(const void *a, const void *b) {
  const struct page_session *x = a, *y = b;
  if (x->node != y->node) return x->node < y->node ? -1 : 1;
  if (x->since_us != y->since_us) return x->since_us < y->since_us ? -1 : 1;
  return (x->to_us > y->to_us) - (x->to_us < y->to_us);
}

static void close_session(const struct hr__page_view *view, struct page_session *session,
                          const struct hr_node_change *change) {
  const struct hr_market_spec *market = &view->run->cluster->pools[session->pool].market;
  int64_t free_us = market->market == HR_MARKET_SPOT ? market->billing.free_if_reclaimed_us : 0;
  session->to_us = change->at_us;
  session->free = change->reason == HR_REASON_RECLAIMED && free_us > 0 && session->to_us - session->since_us <= free_us;
}

/* Updates the sessions with a node change. open[node] is the index + 1 of the open session of a node; 0: none. */
static void note_change(struct page_sessions *sessions, const struct hr__page_view *view, uint32_t *open,
                        const struct hr_node_change *change) {
  if (!hr_market_is_elastic(view->run->cluster->pools[change->pool.id].market.market)) return;
  uint32_t node = change->node.id;
  if (change->kind == HR_EVENT_ACQUIRE) {
    sessions->at[sessions->count++] =
        (struct page_session){change->at_us, view->grid.end_us, change->pool.id, node, false};
    open[node] = (uint32_t)sessions->count;
  } else if ((change->kind == HR_EVENT_RELEASE || change->kind == HR_EVENT_NODE_DOWN) && open[node]) {
    close_session(view, &sessions->at[open[node] - 1], change);
    open[node] = 0;
  }
}

static enum hr_status page_sessions_make(struct page_sessions *sessions, const struct hr__page_view *view) {
  size_t n_nodes = view->first_node[view->run->cluster->n_pools], max_sessions = 0;
  for (size_t i = 0; i < view->n_changes; i++) max_sessions += view->changes[i].kind == HR_EVENT_ACQUIRE;
  uint32_t *open = calloc(n_nodes + 1, sizeof *open);
  *sessions = (struct page_sessions){.at = calloc(max_sessions + 1, sizeof *sessions->at)};
  if (open && sessions->at)
    for (size_t i = 0; i < view->n_changes; i++) note_change(sessions, view, open, &view->changes[i]);
  bool good = open && sessions->at;
  if (good && sessions->count) qsort(sessions->at, sessions->count, sizeof *sessions->at, compare);
  free(open);
  return good ? HR_OK : HR_NO_MEMORY;
}

static void page_sessions_finish(struct page_sessions *sessions) {
  free(sessions->at);
  *sessions = (struct page_sessions){0};
}

/* Returns whether a node is free of charge at `begin_us`. It is free of charge if the last session of the node that
   began at or before `begin_us` is not billed. */
static bool page_is_free(const struct page_sessions *sessions, uint32_t node, int64_t begin_us) {
  size_t low = 0, high = sessions->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const struct page_session *session = &sessions->at[middle];
    bool before = session->node != node ? session->node < node : session->since_us <= begin_us;
    if (before)
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 && sessions->at[low - 1].node == node && sessions->at[low - 1].free;
}

/* ---- Costs: cost of pools -------------------------------------------------------------------------- */

struct spender {
  const struct hr__page_view *view;
  struct page_spending *spending;
  struct hr__price_sums *prices; /* [n_pools] */
  struct page_sessions sessions;
};

static const struct hr_pool_spec *pool_of(const struct spender *spender, uint32_t pool) {
  return &spender->view->run->cluster->pools[pool];
}

static hr_amount node_milli(const struct hr_pool_spec *pool) {
  return (hr_amount)pool->gpus_per_node * 1000;
}

/* Adds milli-GPUs x price during an interval. This takes constant time if the price is constant; otherwise the time is
   linear in the number of buckets of the interval. */
static void hold_priced(struct hr__page_sums *sums, const struct hr__page_grid *grid, int64_t from_us, int64_t to_us,
                        hr_amount milli, const struct hr__price_sums *prices) {
  if (!prices->market) return;
  if (!prices->before) {
    hr__page_hold(sums, grid, from_us, to_us, milli * prices->market->price_uusd_h);
    return;
  }
  if (from_us >= to_us || !grid->n) return;
  for (uint32_t i = hr__page_bucket(grid, from_us); from_us < to_us; i++) {
    int64_t end_us = hr__page_part_end_us(grid, i, to_us);
    sums->sum[i] += milli * hr__price_sum_between(prices, from_us, end_us);
    from_us = end_us;
  }
}

static void add_window(struct spender *spender, uint32_t pool) {
  const struct hr_pool_spec *spec = pool_of(spender, pool);
  const struct hr__page_grid *grid = &spender->view->grid;
  bool reserved = spec->market.market == HR_MARKET_RESERVED;
  int64_t end_us = grid->end_us, from_us = spec->market.from_us;
  int64_t to_us = reserved && spec->market.to_us != HR_NEVER_US ? spec->market.to_us : end_us;
  int64_t after_us = from_us > end_us ? from_us : end_us;
  hr_amount milli = node_milli(spec) * spec->nodes;
  hold_priced(&spender->spending->market[spec->market.market], grid, from_us, to_us < end_us ? to_us : end_us, milli,
              &spender->prices[pool]);
  if (to_us > after_us)
    spender->spending->after += milli * hr__price_sum_between(&spender->prices[pool], after_us, to_us);
}

static void add_session(struct spender *spender, const struct page_session *session) {
  const struct hr_market_spec *market = &pool_of(spender, session->pool)->market;
  const struct hr__page_grid *grid = &spender->view->grid;
  struct hr__page_sums *sums = &spender->spending->market[market->market];
  hr_amount milli = node_milli(pool_of(spender, session->pool));
  if (session->free) return;
  int64_t length_us = session->to_us - session->since_us;
  int64_t extra_us = hr__billed_us(&market->billing, length_us) - length_us;
  hold_priced(sums, grid, session->since_us, session->to_us, milli, &spender->prices[session->pool]);
  if (extra_us > 0)
    hr__page_put(sums, grid, session->to_us, milli * extra_us * hr_market_price_at(market, session->to_us));
}

/* ---- Costs: use by jobs ---------------------------------------------------------------------------- */

/* Returns how many milli-GPUs of an attempt are billed. GPUs on nodes that are free of charge do not count. */
static hr_amount paid_milli(const struct spender *spender, const struct hr_attempt *attempt) {
  const struct hr_market_spec *market = &pool_of(spender, attempt->pool.id)->market;
  hr_amount milli = attempt->gpu_milli;
  if (market->market != HR_MARKET_SPOT || market->billing.free_if_reclaimed_us == 0) return milli;
  const struct hr_slice *slices = hr_history_slices(spender->view->run->history, attempt);
  for (uint32_t i = 0; i < attempt->n_slices; i++)
    if (page_is_free(&spender->sessions, slices[i].node.id, attempt->begin_us)) milli -= slices[i].gpu_milli;
  return milli;
}

static void add_spending(struct spender *spender, const struct hr_attempt *attempt) {
  struct page_spending *spending = spender->spending;
  const struct hr__page_grid *grid = &spender->view->grid;
  const struct hr__price_sums *prices = &spender->prices[attempt->pool.id];
  hr_amount milli = paid_milli(spender, attempt);
  hold_priced(&spending->used, grid, attempt->begin_us, attempt->end_us, milli, prices);
  if (!spending->tenants.n_rows) return;
  uint32_t row = spending->tenants.row[key_of(spender->view, HR__PAGE_TENANT, attempt)];
  hold_priced(&spending->tenant[row], grid, attempt->begin_us, attempt->end_us, milli, prices);
}

static enum hr_status split_tenants(struct page_spending *spending, const struct hr__page_view *view) {
  const struct hr_charge *charges;
  uint32_t n_keys = hr__page_keys(view, HR__PAGE_TENANT);
  if (n_keys == 0) return HR_OK;
  hr_amount *weight = calloc(n_keys, sizeof *weight);
  if (!weight) return HR_NO_MEMORY;
  size_t n_charges = hr_ledger_charges(view->run->ledger, &charges);
  for (size_t i = 0; i < n_charges; i++) {
    uint32_t tenant = charges[i].account.tenant;
    weight[tenant == HR_NONE ? n_keys - 1 : tenant] += charges[i].amount;
  }
  enum hr_status status = hr__page_split_make(&spending->tenants, weight, n_keys);
  free(weight);
  return status;
}

/* ---- Costs: all spending --------------------------------------------------------------------------- */

static enum hr_status open_prices(struct spender *spender) {
  uint32_t n_pools = spender->view->run->cluster->n_pools;
  enum hr_status status = HR_OK;
  spender->prices = calloc((size_t)n_pools + 1, sizeof *spender->prices);
  if (!spender->prices) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < n_pools && status == HR_OK; i++)
    status = hr__price_sums_init(&spender->prices[i], &pool_of(spender, i)->market);
  return status;
}

static void spend(struct spender *spender) {
  const struct hr__page_view *view = spender->view;
  const struct hr_cost_summary *costs = view->run->summary->costs;
  for (uint32_t i = 0; i < view->run->cluster->n_pools; i++) {
    enum hr_market market = pool_of(spender, i)->market.market;
    if (pool_of(spender, i)->nodes) spender->spending->in_use[market] = market != HR_MARKET_NONE;
    if (!hr_market_is_elastic(market)) add_window(spender, i);
  }
  for (size_t i = 0; i < spender->sessions.count; i++) add_session(spender, &spender->sessions.at[i]);
  for (size_t i = 0; i < view->n_attempts; i++) add_spending(spender, &view->attempts[i]);
  hr__page_spread(&spender->spending->other, &view->grid, 0, view->grid.end_us,
                  (hr_amount)(costs->total_uusd - costs->capacity_uusd) * OTHER_PARTS);
}

typedef enum hr_status each_sums(struct hr__page_sums *sums, const struct hr__page_grid *grid);

static enum hr_status for_each(struct page_spending *spending, const struct hr__page_grid *grid, each_sums *act) {
  enum hr_status status = act(&spending->used, grid);
  if (status == HR_OK) status = act(&spending->other, grid);
  for (uint32_t i = 0; i < HR_N_MARKETS && status == HR_OK; i++) status = act(&spending->market[i], grid);
  for (uint32_t i = 0; i < spending->tenants.n_rows && status == HR_OK; i++) status = act(&spending->tenant[i], grid);
  return status;
}

static enum hr_status close_one(struct hr__page_sums *sums, const struct hr__page_grid *grid) {
  hr__page_sums_close(sums, grid);
  return HR_OK;
}

static enum hr_status finish_one(struct hr__page_sums *sums, const struct hr__page_grid *grid) {
  (void)grid;
  hr__page_sums_finish(sums);
  return HR_OK;
}

static enum hr_status page_spending_make(struct page_spending *spending, const struct hr__page_view *view) {
  struct spender spender = {.view = view, .spending = spending};
  *spending = (struct page_spending){0};
  enum hr_status status = split_tenants(spending, view);
  if (status == HR_OK) status = for_each(spending, &view->grid, hr__page_sums_init);
  if (status == HR_OK) status = open_prices(&spender);
  if (status == HR_OK) status = page_sessions_make(&spender.sessions, view);
  if (status == HR_OK) {
    spend(&spender);
    for_each(spending, &view->grid, close_one);
  }
  for (uint32_t i = 0; spender.prices && i < view->run->cluster->n_pools; i++)
    hr__price_sums_finish(&spender.prices[i]);
  free(spender.prices);
  page_sessions_finish(&spender.sessions);
  return status;
}

static void page_spending_finish(struct page_spending *spending) {
  for_each(spending, NULL, finish_one);
  hr__page_split_finish(&spending->tenants);
}

/* ---- Costs: series --------------------------------------------------------------------------------- */

static const double units_per_usd = 1e6 * (double)HR_LEDGER_UNITS_PER_UUSD;

static const double parts_per_usd = 1e6 * OTHER_PARTS;

static void put_idle(const struct page_spending *spending, const struct hr__page_grid *grid, const char *key,
                     struct hr__page_json *json) {
  hr__page_open(json, key, '[');
  for (uint32_t i = 0; i < grid->n; i++) {
    hr_amount idle = -spending->used.sum[i];
    for (unsigned market = 0; market < HR_N_MARKETS; market++) idle += spending->market[market].sum[i];
    hr__page_number(json, NULL, (double)idle / units_per_usd);
  }
  hr__page_close(json, ']');
}

static void put_line(struct hr__page_json *json, const char *name, const struct hr__page_sums *sums,
                     const struct hr__page_grid *grid, double unit) {
  hr__page_open(json, NULL, '{');
  hr__page_name(json, "name", name);
  hr__page_put_sums(json, "usd", sums, grid, unit);
  hr__page_close(json, '}');
}

static void put_markets(const struct page_spending *spending, const struct hr__page_view *view,
                        struct hr__page_json *json, bool other) {
  hr__page_open(json, "by_market", '[');
  for (unsigned i = 0; i < HR_N_MARKETS; i++)
    if (spending->in_use[i])
      put_line(json, hr_market_name((enum hr_market)i), &spending->market[i], &view->grid, units_per_usd);
  if (other) put_line(json, hr__services_name, &spending->other, &view->grid, parts_per_usd);
  hr__page_close(json, ']');
}

static void put_tenants(const struct page_spending *spending, const struct hr__page_view *view,
                        struct hr__page_json *json, bool other) {
  hr__page_open(json, "by_tenant", '[');
  for (uint32_t row = 0; row < spending->tenants.n_rows; row++)
    put_line(json, hr__page_row_name(view, HR__PAGE_TENANT, &spending->tenants, row), &spending->tenant[row],
             &view->grid, units_per_usd);
  hr__page_open(json, NULL, '{');
  hr__page_text(json, "name", hr__idle_name);
  put_idle(spending, &view->grid, "usd", json);
  hr__page_close(json, '}');
  if (other) put_line(json, hr__services_name, &spending->other, &view->grid, parts_per_usd);
  hr__page_close(json, ']');
}

enum hr_status hr__page_spend(const struct hr__page_view *view, struct hr__page_json *json) {
  const struct hr_cost_summary *costs = view->run->summary->costs;
  struct page_spending spending;
  enum hr_status status = page_spending_make(&spending, view);
  if (status == HR_OK) {
    bool other = costs->total_uusd != costs->capacity_uusd;
    hr__page_open(json, "cost", '{');
    hr__page_put_sums(json, "used", &spending.used, &view->grid, units_per_usd);
    put_idle(&spending, &view->grid, "idle", json);
    if (other) hr__page_put_sums(json, "other", &spending.other, &view->grid, parts_per_usd);
    if (spending.after) hr__page_number(json, "after_usd", (double)spending.after / units_per_usd);
    put_markets(&spending, view, json, other);
    if (spending.tenants.n_rows) put_tenants(&spending, view, json, other);
    hr__page_close(json, '}');
  }
  page_spending_finish(&spending);
  return status;
}

/* ---- Costs: by tenant and market ------------------------------------------------------------------- */

/* A cell is the cost of one tenant in one market. The MAX_CELLS most expensive cells are written individually. All
   other cells are summed by market. */
enum { MAX_CELLS = 600 };

/* Returns whether two rows belong to the same cell. Their GPU types may differ. */
static bool same_cell(const struct hr_cost_row *a, const struct hr_cost_row *b) {
  return strcmp(a->tenant, b->tenant) == 0 && strcmp(a->market, b->market) == 0;
}

static void put_cell(struct hr__page_json *json, const char *tenant, const struct hr_cost_row *cell) {
  hr__page_open(json, NULL, '{');
  if (tenant) hr__page_name(json, "tenant", tenant);
  hr__page_text(json, "market", cell->market);
  hr__page_number(json, "gpu_hours", (double)cell->gpu_time / (1000 * 3600.0 * (double)HR_SECOND_US));
  hr__page_usd(json, "usd", cell->uusd);
  hr__page_close(json, '}');
}

/* Sums the rows of the cell that begins at row `begin`; returns the index after its last row. */
static size_t sum_cell(const struct hr_cost_summary *costs, size_t begin, struct hr_cost_row *cell) {
  size_t i = begin;
  *cell = costs->rows[begin];
  for (i++; i < costs->n_rows && same_cell(cell, &costs->rows[i]); i++) {
    cell->uusd += costs->rows[i].uusd;
    cell->gpu_time += costs->rows[i].gpu_time;
  }
  return i;
}

static int compare_cells(const void *a, const void *b) {
  const struct hr_cost_row *x = a, *y = b;
  if (x->uusd != y->uusd) return x->uusd > y->uusd ? -1 : 1;
  int order = strcmp(x->tenant, y->tenant);
  return order ? order : strcmp(x->market, y->market);
}

/* Writes the sums by market of `cells`, which are not written individually. Changes `cells`. */
static void put_rest(struct hr__page_json *json, struct hr_cost_row *cells, size_t count) {
  for (size_t i = 0; i < count; i++) {
    struct hr_cost_row sum = cells[i];
    if (!sum.market) continue;
    for (size_t k = i + 1; k < count; k++) {
      if (!cells[k].market || strcmp(cells[k].market, sum.market) != 0) continue;
      sum.uusd += cells[k].uusd;
      sum.gpu_time += cells[k].gpu_time;
      cells[k].market = NULL;
    }
    put_cell(json, "(others)", &sum);
  }
}

static void put_cells(struct hr__page_json *json, struct hr_cost_row *cells, size_t count) {
  size_t shown = count > MAX_CELLS ? MAX_CELLS : count;
  if (count > MAX_CELLS) qsort(cells, count, sizeof *cells, compare_cells);
  hr__page_open(json, "cells", '[');
  for (size_t i = 0; i < shown; i++) put_cell(json, cells[i].tenant, &cells[i]);
  put_rest(json, cells + shown, count - shown);
  hr__page_close(json, ']');
}

/* The rows are sorted: first the tenants, then idle capacity, then shared costs. The function searches from the end, so
   that a tenant with the same name as one of the last two sections is not mistaken for it. */
enum hr_status hr__page_cells(const struct hr__page_view *view, struct hr__page_json *json) {
  const struct hr_cost_summary *costs = view->run->summary->costs;
  int64_t shared_uusd = 0;
  size_t n_cells = 0, end = costs->n_rows;
  struct hr_cost_row *cells = malloc((costs->n_rows + 1) * sizeof *cells);
  if (!cells) return HR_NO_MEMORY;
  for (; end > 0 && strcmp(costs->rows[end - 1].tenant, hr__shared_name) == 0; end--)
    shared_uusd += costs->rows[end - 1].uusd;
  size_t idle = end;
  while (idle > 0 && strcmp(costs->rows[idle - 1].tenant, hr__idle_name) == 0) idle--;
  for (size_t i = 0; i < idle; n_cells++) i = sum_cell(costs, i, &cells[n_cells]);
  hr__page_open(json, "costs", '{');
  put_cells(json, cells, n_cells);
  hr__page_open(json, "idle", '[');
  for (size_t i = idle; i < end;) {
    i = sum_cell(costs, i, &cells[0]);
    put_cell(json, NULL, &cells[0]);
  }
  hr__page_close(json, ']');
  hr__page_usd(json, "shared_usd", shared_uusd);
  hr__page_close(json, '}');
  free(cells);
  return HR_OK;
}
