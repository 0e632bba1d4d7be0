/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Usage in the HTML report: allocated GPUs over time by tenant, class, GPU type, market and pool; busy, useful and lost
 * GPU time; waits over time; a heat map of the occupancy of nodes; histograms of waits.
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
 * that are longer than edge_us[k] and at most edge_us[k + 1].
 */

#include "base/text.h"
#include "report/metrics/summary.h"
#include "report/page/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- By dimension -------------------------------------------------------------------------------- */

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
    weight[hr__page_key(view, dimension, attempt)] +=
        (hr_amount)attempt->gpu_milli * (attempt->end_us - attempt->begin_us);
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
    hr__page_hold(&rows[split->row[hr__page_key(view, dimension, attempt)]], &view->grid, attempt->begin_us,
                  attempt->end_us, attempt->gpu_milli);
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

/* ---- Busy, useful, lost -------------------------------------------------------------------------- */

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

static enum hr_status put_use(const struct hr__page_view *view, struct hr__page_json *json) {
  struct use use = {0};
  struct hr__page_sums *const all[] = {&use.busy, &use.useful, &use.lost};
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < sizeof all / sizeof *all && status == HR_OK; i++)
    status = hr__page_sums_init(all[i], &view->grid);
  if (status == HR_OK) {
    for (size_t i = 0; i < view->n_attempts; i++) add_use(&use, &view->grid, &view->attempts[i]);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) hr__page_sums_close(all[i], &view->grid);
    hr__page_open(json, "busy", '{');
    put_means(json, "mean", &use.busy, &view->grid, 1000);
    hr__page_close(json, '}');
    hr__page_open(json, "useful", '{');
    put_means(json, "mean", &use.useful, &view->grid, 1000);
    hr__page_close(json, '}');
    if (view->run->summary->stoppable)
      hr__page_put_sums(json, "lost_gpu_hours", &use.lost, &view->grid, 1000 * 3600.0 * (double)HR_SECOND_US);
  }
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) hr__page_sums_finish(all[i]);
  return status;
}

/* ---- Waits --------------------------------------------------------------------------------------- */

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

/* ---- Occupancy ----------------------------------------------------------------------------------- */

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
    for (size_t i = 0; i < view->n_attempts; i++) add_attempt(&map, &view->attempts[i]);
    for (uint32_t row = 0; row < n_rows; row++) hr__page_sums_close(&map.rows[row], &map.grid);
    put_map(&map, json, block);
  }
  for (uint32_t row = 0; map.rows && row < n_rows; row++) hr__page_sums_finish(&map.rows[row]);
  free(map.rows);
  free(map.first_row);
  return status;
}

/* ---- Histograms of waits ------------------------------------------------------------------------- */

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

/* ---- Groups -------------------------------------------------------------------------------------- */

/* A grouping of jobs in the summary. `key_of` returns the key of a job, `key_name` the name of a key; the group of a
   job is the one with the name of its key. */
struct page_usage_grouping {
  const char *key;
  const struct hr_group *group;
  size_t n_groups;
  uint32_t n_keys;
  const char *(*key_name)(const struct hr_trace *trace, uint32_t key);
  uint32_t (*key_of)(const struct hr_trace *trace, uint32_t job);
};

static const char *tenant_name(const struct hr_trace *trace, uint32_t key) {
  return key < trace->tenants.count ? trace->tenants.text[key] : "";
}
static uint32_t tenant_of(const struct hr_trace *trace, uint32_t job) {
  return trace->tenant[job] == HR_NONE ? trace->tenants.count : trace->tenant[job];
}
static const char *class_name(const struct hr_trace *trace, uint32_t key) {
  (void)trace;
  return hr_job_class_name((enum hr_job_class)key);
}
static uint32_t class_of(const struct hr_trace *trace, uint32_t job) {
  return trace->class_[job];
}
static const char *size_name(const struct hr_trace *trace, uint32_t key) {
  (void)trace;
  return hr__size_name(key);
}
static uint32_t size_of_job(const struct hr_trace *trace, uint32_t job) {
  return hr__size_of(trace->gpus[job]);
}

/* Returns an array with the index of the group of each key; `n` for keys of groups that are not shown. The caller frees
   the array. Returns NULL if out of memory. */
static uint32_t *number_keys(const struct page_usage_grouping *grouping, const struct hr_trace *trace, size_t n) {
  uint32_t *number = malloc(((size_t)grouping->n_keys + 1) * sizeof *number);
  for (uint32_t key = 0; number && key < grouping->n_keys; key++) {
    size_t i = 0;
    while (i < n && strcmp(grouping->group[i].name, grouping->key_name(trace, key)) != 0) i++;
    number[key] = (uint32_t)i;
  }
  return number;
}

static void put_group(struct hr__page_json *json, const struct hr_group *group, const uint64_t *counts, uint32_t n) {
  hr__page_open(json, NULL, '{');
  hr__page_name(json, "name", group->name);
  put_bins(json, "counts", counts, n);
  if (group->wait_s.count) {
    hr__page_number(json, "median_s", group->wait_s.p50);
    hr__page_number(json, "p95_s", group->wait_s.p95);
  } else {
    hr__page_null(json, "median_s");
    hr__page_null(json, "p95_s");
  }
  hr__page_close(json, '}');
}

static enum hr_status put_groups(const struct hr_page_run *run, struct hr__page_json *json, const struct bins *bins,
                                 const struct page_usage_grouping *grouping) {
  size_t n = grouping->n_groups < MAX_GROUPS ? grouping->n_groups : MAX_GROUPS;
  uint32_t *number = number_keys(grouping, run->trace, n);
  uint64_t *counts = calloc((n + 1) * MAX_BINS, sizeof *counts);
  hr__page_open(json, grouping->key, '[');
  if (number && counts && n) {
    for (uint32_t job = 0; job < run->result->n_jobs; job++)
      if (started(run, job))
        counts[(size_t)number[grouping->key_of(run->trace, job)] * MAX_BINS + bin_of(bins, wait_us_of(run, job))]++;
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
      {"by_class", summary->by_class, summary->n_classes, HR_N_CLASSES, class_name, class_of},
      {"by_size", summary->by_size, summary->n_sizes, hr__size_of(UINT32_MAX) + 1, size_name, size_of_job},
      {"by_tenant", summary->by_tenant, summary->n_tenants, run->trace->tenants.count + 1, tenant_name, tenant_of}};
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
    status = put_groups(run, json, &bins, &groupings[i]);
  hr__page_close(json, '}');
  hr__page_close(json, '}');
  return status;
}
