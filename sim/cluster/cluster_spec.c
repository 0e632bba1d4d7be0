/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The description of a cluster (struct hr_cluster_spec), and properties of placements and jobs that depend only on it.
 *
 * The file has three parts. The first part creates and frees descriptions: pools and the objects that belong to them,
 * speeds by network, MIG settings and quotas. The second part computes the tier and the network links of a placement,
 * and the tier that a job requires. The third part computes the speeds of jobs by GPU type, power limit, number of GPUs
 * and network.
 */

#include "base/containers.h"
#include "base/text.h"
#include "headroom/cluster.h"
#include "headroom/unstable/clusters.h"
#include "headroom/unstable/faults.h"
#include "sim/cluster/cluster.h"
#include "sim/power/power.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum hr_status hr_cluster_spec_add(struct hr_cluster_spec *spec, const struct hr_pool_spec *pool,
                                   struct hr_error *error) {
  if (!HR__ARRAY_RESIZE(spec->pools, spec->n_pools + 1)) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  struct hr_pool_spec copy = *pool;
  copy.name = strdup(pool->name);
  copy.gpu = strdup(pool->gpu);
  copy.gpu_names = pool->gpu_names ? strdup(pool->gpu_names) : NULL;
  copy.region = pool->region ? strdup(pool->region) : NULL;
  if (!copy.name || !copy.gpu || (pool->gpu_names && !copy.gpu_names) || (pool->region && !copy.region)) {
    free(copy.name);
    free(copy.gpu);
    free(copy.gpu_names);
    free(copy.region);
    return hr_fail(error, HR_NO_MEMORY, "out of memory");
  }
  spec->pools[spec->n_pools++] = copy;
  return HR_OK;
}

/* Frees a MIG description. `spec` may be NULL. */
static void destroy_mig(struct hr_mig_spec *spec) {
  if (!spec) return;
  for (uint32_t i = 0; i < spec->n_layouts; i++) free(spec->layouts[i].name);
  free(spec->layouts);
  free(spec->layout_of_gpu);
  free((void *)(uintptr_t)spec->type.gpu);
  free((void *)(uintptr_t)spec->type.profiles);
  free(spec);
}

void hr_pool_sharing_finish(struct hr_pool_spec *pool) {
  for (uint32_t i = 0; i < pool->n_pairs; i++) {
    free(pool->pairs[i].model);
    free(pool->pairs[i].with);
  }
  free(pool->pairs);
  free(pool->interference);
  destroy_mig(pool->mig);
}

void hr_autoscaler_spec_destroy(struct hr_autoscaler_spec *spec) {
  if (!spec) return;
  for (uint32_t i = 0; i < spec->n_quotas; i++) {
    free(spec->quotas[i].gpu);
    free(spec->quotas[i].region);
    free(spec->quotas[i].of_pool);
  }
  for (uint32_t i = 0; i < spec->n_node_pools; i++) {
    struct hr_node_pool *pool = &spec->node_pools[i];
    for (uint32_t k = 0; k < pool->n_pools; k++) free(pool->pools[k].name);
    free(pool->name);
    free(pool->pools);
    free(pool->of_pool);
    for (uint32_t k = 0; k < pool->n_budgets; k++) free(pool->budgets[k].schedule);
    free(pool->budgets);
    free(pool->drifts_us);
  }
  free(spec->node_pools);
  free(spec->quotas);
  free(spec->expanders);
  free(spec->failure_share);
  free(spec);
}

void hr_cluster_spec_finish(struct hr_cluster_spec *spec) {
  for (uint32_t i = 0; i < spec->n_pools; i++) {
    hr_fault_spec_destroy(spec->pools[i].faults);
    hr_maintenance_destroy(spec->pools[i].maintenance, spec->pools[i].n_maintenance);
    hr_power_spec_destroy(spec->pools[i].power);
    free(spec->pools[i].name);
    free(spec->pools[i].gpu);
    free(spec->pools[i].gpu_names);
    free(spec->pools[i].region);
    free(spec->pools[i].market.prices);
    free(spec->pools[i].market.spot.levels);
    hr_pool_sharing_finish(&spec->pools[i]);
  }
  free(spec->pools);
  free(spec->node_order);
  hr_autoscaler_spec_destroy(spec->autoscaler);
  free(spec->gpu_vocabulary);
  *spec = (struct hr_cluster_spec){0};
}

bool hr_cluster_spec_by_gpu(const struct hr_cluster_spec *spec) {
  for (uint32_t i = 0; i < spec->n_pools; i++) {
    const struct hr_pool_spec *pool = &spec->pools[i];
    if (pool->nodes == 0) continue;
    if (pool->sharing != HR_SHARING_WHOLE || hr_topology_parts_nodes(&pool->topology, pool->gpus_per_node)) return true;
  }
  return spec->by_gpu;
}

/* ---- Tiers, networks and speeds by network ---- */

HR__NAME_FUNCTION(hr_tier_name, enum hr_tier, HR_TIER_TABLE)
HR__NAME_FUNCTION(hr_network_name, enum hr_network, HR_NETWORK_TABLE)

void hr_network_speeds_destroy(struct hr_network_speeds *speeds) {
  if (!speeds) return;
  for (uint32_t i = 0; speeds->rows && i < speeds->n_rows; i++) free(speeds->rows[i].model);
  free(speeds->rows);
  free(speeds);
}

static bool is_of_family(const char *model, const char *family) {
  if (strcmp(family, "*") == 0) return true;
  return model && strncasecmp(model, family, strlen(family)) == 0;
}

/* Returns the rank of a model family. If several families match a model, the family with the highest rank is used.
   Longer names have higher ranks, and "*" has the lowest. */
static size_t length_of(const char *family) {
  return strcmp(family, "*") == 0 ? 0 : strlen(family);
}

struct hr_network_span hr_network_span_of(const struct hr_network_speeds *speeds, const char *model,
                                          enum hr_network network) {
  struct hr_network_span best = {0};
  for (uint32_t i = 0; i < speeds->n_rows; i++) {
    const struct hr_network_speed *row = &speeds->rows[i], *first = &speeds->rows[best.first];
    if (row->network != network || !is_of_family(model, row->model)) continue;
    if (best.count && strcasecmp(row->model, first->model) == 0)
      best.count++;
    else if (!best.count || length_of(row->model) > length_of(first->model))
      best = (struct hr_network_span){i, 1};
  }
  return best;
}

/* ---- Sharing ---- */

HR__NAME_FUNCTION(hr_sharing_name, enum hr_sharing, HR_SHARING_TABLE)
HR__NAME_FUNCTION(hr_gpu_memory_name, enum hr_gpu_memory, HR_GPU_MEMORY_TABLE)

/* ---- MIG settings of a pool ---- */

HR__NAME_FUNCTION(hr_mig_mode_name, enum hr_mig_mode, HR_MIG_MODE_TABLE)

/* Copies profiles and their names into one block of memory. Returns NULL if memory is exhausted. */
static struct hr_mig_profile *copy_profiles(const struct hr_mig_type *type) {
  struct hr_mig_profile *copy = malloc(type->n_profiles * (sizeof *copy + HR_MIG_NAME_BYTES));
  if (!copy) return NULL;
  char *names = (char *)(copy + type->n_profiles);
  for (uint32_t i = 0; i < type->n_profiles; i++) {
    copy[i] = type->profiles[i];
    copy[i].name = strcpy(names + (size_t)i * HR_MIG_NAME_BYTES, type->profiles[i].name);
  }
  return copy;
}

struct hr_mig_spec *hr_mig_spec_create(const struct hr_mig_type *type, enum hr_mig_mode mode) {
  struct hr_mig_spec *spec = calloc(1, sizeof *spec);
  if (!spec) return NULL;
  spec->mode = mode;
  spec->type = *type;
  spec->type.gpu = strdup(type->gpu);
  spec->type.profiles = copy_profiles(type);
  if (spec->type.gpu && spec->type.profiles) return spec;
  destroy_mig(spec);
  return NULL;
}

enum hr_status hr_mig_spec_add(struct hr_mig_spec *spec, const char *name, const struct hr_mig_gpu *gpu,
                               uint32_t *number) {
  for (*number = 0; *number < spec->n_layouts; ++*number)
    if (memcmp(spec->layouts[*number].gpu.at, gpu->at, sizeof gpu->at) == 0) return HR_OK;
  if (!HR__ARRAY_RESIZE(spec->layouts, spec->n_layouts + 1)) return HR_NO_MEMORY;
  struct hr_mig_layout layout = {.name = strdup(name), .gpu = *gpu};
  if (!layout.name) return HR_NO_MEMORY;
  for (uint32_t start = 0; start < HR_MIG_SLICES; start++)
    if (gpu->at[start]) layout.starts[gpu->at[start] - 1] = (uint8_t)(layout.starts[gpu->at[start] - 1] | 1U << start);
  spec->layouts[spec->n_layouts++] = layout;
  return HR_OK;
}

void hr_quota_spec_destroy(struct hr_quota_spec *spec) {
  if (!spec) return;
  for (uint32_t i = 0; i < spec->n_nodes; i++) free(spec->nodes[i].name);
  free(spec->nodes);
  free(spec);
}

/* ---- Locality --------------------------------------------------------------------------------------- */

/*
 * The tier and the network links of a placement, the tier that a job requires, and whether any placement in an empty
 * pool could satisfy this requirement.
 */

/* ---- Locality: placements --------------------------------------------------------------------------- */

/* The lowest and the highest node of a placement, relative to the first node of its pool. */
struct network_range {
  uint32_t low, high;
};

static struct network_range nodes_of(const struct hr_cluster *cluster, const struct hr_placement *placement) {
  uint32_t first = cluster->pools[placement->pool.id].first_node.id;
  struct network_range range = {UINT32_MAX, 0};
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    uint32_t number = placement->slices[i].node.id - first;
    if (number < range.low) range.low = number;
    if (number > range.high) range.high = number;
  }
  return range;
}

/* Returns the tier of a placement on one node. This is the narrowest tier that has a group which contains all GPUs of
   the placement. */
static enum hr_tier tier_on_node(const struct hr_pool_spec *spec, const struct hr_placement *placement) {
  uint64_t gpus = 0;
  for (uint32_t i = 0; i < placement->n_slices; i++) gpus |= placement->slices[i].gpus;
  uint32_t low = gpus ? (uint32_t)__builtin_ctzll(gpus) : 0;
  uint32_t high = gpus ? 63 - (uint32_t)__builtin_clzll(gpus) : 0;
  for (enum hr_tier tier = HR_TIER_ISLAND; tier < HR_TIER_NODE; tier++) {
    uint32_t size = hr_topology_gpus(&spec->topology, tier, spec->gpus_per_node);
    if (low / size == high / size) return tier;
  }
  return HR_TIER_NODE;
}

/* Returns the narrowest tier that has a group which contains the whole placement. Groups consist of consecutive nodes,
   so it suffices to compare the groups of the lowest and the highest node. In counted allocation, a placement on one
   node has HR_TIER_ISLAND, because the GPUs of its slices are unknown. */
enum hr_tier hr_cluster_span(const struct hr_cluster *cluster, const struct hr_placement *placement) {
  const struct hr_pool_spec *spec = cluster->pools[placement->pool.id].spec;
  if (placement->n_slices == 0) return HR_TIER_POOL;
  struct network_range range = nodes_of(cluster, placement);
  if (range.low == range.high) return tier_on_node(spec, placement);
  for (enum hr_tier tier = HR_TIER_RACK; tier < HR_TIER_POOL; tier++)
    if (hr_topology_group(&spec->topology, tier, spec->nodes, range.low) ==
        hr_topology_group(&spec->topology, tier, spec->nodes, range.high))
      return tier;
  return HR_TIER_POOL;
}

/* Returns the class of the network links of the tier of a placement. If the topology does not specify the size of this
   tier, the tier equals the next wider tier, and the links of the wider tier are returned. */
enum hr_network hr_cluster_links(const struct hr_cluster *cluster, const struct hr_placement *placement) {
  const struct hr_pool_spec *spec = cluster->pools[placement->pool.id].spec;
  enum hr_tier tier = hr_cluster_span(cluster, placement);
  while (tier < HR_TIER_POOL && !hr_topology_has(&spec->topology, tier)) tier++;
  return (enum hr_network)spec->topology.network[tier];
}

/* ---- Locality: required tiers of jobs --------------------------------------------------------------- */

/* Returns whether a placement of the job can extend over several groups. This is false for a job with one GPU, which
   satisfies every required tier. In per-GPU allocation, tasks without GPUs are placed on nodes, so a job with several
   such tasks can extend over several groups, too. */
static bool may_spread(const struct hr_cluster *cluster, hr_job job) {
  const struct hr_trace *trace = cluster->trace;
  return trace->gpus[job.id] > 1 || (cluster->inventory && trace->tasks && trace->tasks[job.id] > 1);
}

/* Returns the tier that a job requires. A tier in the job's own columns takes precedence over the tier of its class. */
struct hr_locality hr_cluster_locality(const struct hr_cluster *cluster, hr_job job) {
  const struct hr_trace *trace = cluster->trace;
  enum hr_tier tier = trace->within ? (enum hr_tier)trace->within[job.id] : HR_TIER_ANY;
  int64_t wait_us = trace->within_wait_us ? trace->within_wait_us[job.id] : HR_UNKNOWN_US;
  if (tier == HR_TIER_ANY && cluster->classes) {
    const struct hr_class_spec *class_ = &cluster->classes[trace->class_ ? trace->class_[job.id] : HR_CLASS_UNKNOWN];
    tier = (enum hr_tier)class_->within;
    wait_us = class_->within_wait_us;
  }
  if (tier == HR_TIER_ANY || !may_spread(cluster, job)) return (struct hr_locality){HR_TIER_ANY, HR_NEVER_US};
  return (struct hr_locality){tier, wait_us == HR_UNKNOWN_US ? HR_NEVER_US : trace->submit_us[job.id] + wait_us};
}

bool hr_cluster_any_within(const struct hr_cluster *cluster) {
  return cluster->tiers_within != 0;
}

static void find_tiers(struct hr_cluster *cluster, struct hr_arena *arena) {
  bool any_class = false;
  for (unsigned i = 0; cluster->classes && i < HR_N_CLASSES; i++)
    any_class = any_class || cluster->classes[i].within != HR_TIER_ANY;
  if (!cluster->trace->within && !any_class) return;
  for (uint32_t job = 0; job < cluster->trace->n_jobs; job++) {
    cluster->tiers_within |= 1u << hr_cluster_locality(cluster, (hr_job){job}).tier;
    hr_arena_passed_job(arena, (hr_job){job});
  }
  cluster->tiers_within &= ~(1u << HR_TIER_ANY);
}

/* In counted allocation, makes the group indices of the required tiers from rack to zone. Tiers with only one group in
   the pool need no index. In per-GPU allocation, policies examine the groups one after the other. */
static bool make_groups(struct hr_cluster *cluster, struct hr_arena *arena) {
  for (uint32_t i = 0; i < cluster->n_pools && !cluster->inventory; i++) {
    const struct hr_pool_spec *spec = cluster->pools[i].spec;
    for (enum hr_tier tier = HR_TIER_RACK; tier <= HR_TIER_ZONE; tier++) {
      uint32_t n_nodes = hr_topology_nodes(&spec->topology, tier, spec->nodes);
      if (!(cluster->tiers_within >> tier & 1) || n_nodes >= spec->nodes) continue;
      if (!hr_free_index_add_groups(arena, cluster->pools[i].index, n_nodes)) return false;
    }
  }
  return true;
}

bool hr__locality_init(struct hr_cluster *cluster, struct hr_arena *arena) {
  find_tiers(cluster, arena);
  return make_groups(cluster, arena);
}

/* ---- Locality: the empty cluster -------------------------------------------------------------------- */

/* Returns the number of tasks for which the GPUs of one group on one empty node have MIG instances. The groups of a
   node may have GPUs with different layouts. The result is that of the group with the most instances. */
static uint64_t mig_room_on_node(const struct hr_cluster *cluster, hr_pool pool, const struct hr_request *request,
                                 uint32_t gpus_per_group) {
  uint64_t most = 0;
  for (uint32_t gpu = 0; gpu < cluster->pools[pool.id].spec->gpus_per_node; gpu += gpus_per_group) {
    uint64_t room = hr__gpu_inventory_mig_empty_room(cluster->inventory, request, pool, gpu, gpus_per_group);
    if (room > most) most = room;
  }
  return most;
}

/* Returns how many tasks fit into one group of the empty pool. */
static uint64_t room_of_group(const struct hr_cluster *cluster, hr_pool pool, const struct hr_request *request,
                              enum hr_tier tier) {
  const struct hr_pool_spec *spec = cluster->pools[pool.id].spec;
  /* a copy of the pool in which nodes have only the GPUs that one group has on a node */
  struct hr_pool_spec part = *spec;
  struct hr_cluster_spec alone = {.pools = &part, .n_pools = 1};
  struct hr_request asked = *request;
  part.gpus_per_node = hr_topology_gpus(&spec->topology, tier, spec->gpus_per_node);
  uint64_t on_node = UINT64_MAX;
  if (spec->mig && request->gpus > 0) {
    on_node = mig_room_on_node(cluster, pool, request, part.gpus_per_node);
    asked.gpus = 0; /* hr_pool_max_tasks then checks only CPU and memory */
    asked.cpu_milli = hr_pool_cpu_milli(spec, request);
  }
  uint64_t room = hr_pool_max_tasks(&alone, (hr_pool){0}, &asked);
  if (on_node < room) room = on_node;
  return room * hr_topology_nodes(&spec->topology, tier, spec->nodes);
}

bool hr__locality_never_fits(const struct hr_cluster *cluster, hr_pool pool, hr_job job,
                             const struct hr_request *request) {
  const struct hr_pool_spec *spec = cluster->pools[pool.id].spec;
  if (!cluster->tiers_within) return false;
  struct hr_locality within = hr_cluster_locality(cluster, job);
  if (within.tier == HR_TIER_ANY || within.until_us != HR_NEVER_US) return false;
  if (request) return room_of_group(cluster, pool, request, within.tier) < request->tasks;
  uint64_t n_nodes = hr_topology_nodes(&spec->topology, within.tier, spec->nodes);
  return n_nodes * spec->gpus_per_node < cluster->trace->gpus[job.id];
}

/* ---- Speeds ----------------------------------------------------------------------------------------- */

/*
 * Tables of speeds. The rows of a table are sorted by model and, for each model, by number of GPUs. The range of rows
 * of a model is looked up once for each model of the trace, not once for each job.
 */

static struct hr__row_span rows_of(const struct hr_speeds *table, const char *model) {
  uint32_t low = 0, high = table->n_rows;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (strcmp(table->rows[middle].model, model) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  struct hr__row_span span = {low, 0};
  while (low + span.count < table->n_rows && strcmp(table->rows[low + span.count].model, model) == 0) span.count++;
  return span;
}

/* Among the rows of a model with at most `gpus` GPUs, returns the row with the most GPUs. If no such row exists,
   returns the first row of the model. If the model has no rows, returns the extra row at the end of the table. */
static uint32_t row_for(const struct hr_speeds *table, struct hr__row_span span, uint32_t gpus) {
  if (span.count == 0) return table->n_rows;
  uint32_t row = span.first;
  while (row + 1 < span.first + span.count && table->rows[row + 1].gpus <= gpus) row++;
  return row;
}

static uint32_t min_ppm(const struct hr_speeds *table, const struct hr_cluster_spec *cluster) {
  uint32_t lowest = UINT32_MAX;
  for (uint32_t row = 0; row <= table->n_rows; row++)
    for (uint32_t pool = 0; pool < table->n_pools; pool++) {
      uint32_t ppm = cluster->pools[pool].nodes > 0 ? hr__speed_of_row(table, row, pool) : 0;
      if (ppm > 0 && ppm < lowest) lowest = ppm;
    }
  return lowest;
}

enum hr_status hr__speeds_init(struct hr__speed_table *speeds, struct hr_arena *arena, const struct hr_speeds *table,
                               const struct hr_cluster_spec *cluster, const struct hr_trace *trace) {
  *speeds = (struct hr__speed_table){.table = table, .min_ppm = HR__FULL_SPEED_PPM};
  if (!table) return HR_OK;
  speeds->min_ppm = min_ppm(table, cluster);
  speeds->row_of = hr_arena_alloc_by_job(arena, trace->n_jobs, sizeof *speeds->row_of);
  if (!HR__ARENA_ARRAY(arena, speeds->spans, trace->models.count) || !speeds->row_of) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < trace->models.count; i++) speeds->spans[i] = rows_of(table, trace->models.text[i]);
  for (uint32_t job = 0; job < trace->n_jobs && !hr__arena_is_streamed(arena); job++)
    hr__speeds_find_row(speeds, trace, (hr_job){job});
  return HR_OK;
}

void hr__speeds_find_row(const struct hr__speed_table *speeds, const struct hr_trace *trace, hr_job job) {
  if (!speeds->table) return;
  uint32_t model = trace->model ? trace->model[job.id] : HR_NONE, gpus = trace->gpus[job.id];
  struct hr__row_span span = model == HR_NONE ? (struct hr__row_span){0} : speeds->spans[model];
  speeds->row_of[job.id] = gpus ? row_for(speeds->table, span, gpus) : HR_NONE;
}

void hr_speeds_destroy(struct hr_speeds *speeds) {
  if (!speeds) return;
  for (uint32_t i = 0; speeds->rows && i < speeds->n_rows; i++) free(speeds->rows[i].model);
  free(speeds->rows);
  free(speeds->ppm);
  free(speeds->reference);
  free(speeds);
}

/* ---- Speeds: power limits --------------------------------------------------------------------------- */

static uint32_t times_ppm(uint32_t ppm, uint32_t factor_ppm) {
  uint32_t product = (uint32_t)((uint64_t)ppm * factor_ppm / HR__FULL_SPEED_PPM);
  return product > 0 || ppm == 0 ? product : 1;
}

enum hr_status hr__speeds_limit(struct hr__speed_table *speeds, struct hr_arena *arena,
                                const struct hr_cluster_spec *cluster, const struct hr_trace *trace,
                                const struct hr_class_spec *classes) {
  uint32_t lowest = HR__FULL_SPEED_PPM;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_power_spec *power = cluster->pools[i].power;
    bool is_limited = power && (power->gpu_cap_w > 0 || power->budget_caps);
    if (cluster->pools[i].nodes == 0 || !is_limited) continue;
    uint32_t level = power->budget_caps ? HR__CAP_LEVELS : 0;
    uint32_t ppm = hr__power_limit_at(power, level, HR__FULL_SPEED_PPM).speed_ppm;
    if (ppm == HR__FULL_SPEED_PPM) continue;
    if (!speeds->limited) speeds->limited = hr_arena_alloc(arena, cluster->n_pools * sizeof *speeds->limited);
    if (!speeds->limited) return HR_NO_MEMORY;
    speeds->limited[i] = power;
    if (ppm < lowest) lowest = ppm;
  }
  speeds->trace = trace;
  speeds->classes = classes;
  speeds->min_ppm = times_ppm(speeds->min_ppm, lowest);
  return HR_OK;
}

uint32_t hr__speed_limited_ppm(const struct hr__speed_table *speeds, hr_job job, hr_pool pool, uint32_t ppm) {
  const struct hr_power_spec *power = speeds->limited[pool.id];
  if (!power || speeds->trace->gpus[job.id] == 0) return ppm;
  uint32_t fraction_ppm = hr__power_fraction(speeds->trace, speeds->classes, job);
  return times_ppm(ppm, hr__power_limit_at(power, speeds->level, fraction_ppm).speed_ppm);
}

/* ---- Speeds: elastic jobs --------------------------------------------------------------------------- */

void hr_scaling_destroy(struct hr_scaling_table *table) {
  if (!table) return;
  for (uint32_t i = 0; table->rows && i < table->n_rows; i++) free(table->rows[i].model);
  free(table->rows);
  free(table);
}

/* Returns the rows of a model. If the model has no rows, returns the rows that apply to all models. */
static struct hr__row_span scaling_rows(const struct hr_scaling_table *table, const char *model) {
  struct hr__row_span common = {0, 0}, own = {0, 0};
  for (uint32_t i = 0; i < table->n_rows; i++) {
    const char *name = table->rows[i].model;
    if (!name) {
      common.count++;
    } else if (model && strcmp(name, model) == 0) {
      if (own.count++ == 0) own.first = i;
    }
  }
  return own.count ? own : common;
}

uint32_t hr_scaling_speed(const struct hr_scaling_table *table, const char *model, uint32_t gpus) {
  if (gpus == 0) return 1;
  struct hr__row_span span = {0, 0};
  if (table) span = scaling_rows(table, model);
  if (span.count == 0) return gpus;
  const struct hr_scaling_row *rows = table->rows + span.first;
  uint32_t above = 0;
  while (above < span.count && rows[above].gpus < gpus) above++;
  if (above == span.count) return rows[span.count - 1].speed_milli;
  struct hr_scaling_row high = rows[above], low = {NULL, 0, 0};
  if (above > 0) low = rows[above - 1];
  uint64_t width = high.gpus - low.gpus, from_low = gpus - low.gpus;
  uint64_t sum = (uint64_t)low.speed_milli * (width - from_low) + (uint64_t)high.speed_milli * from_low;
  uint64_t speed = (sum + width / 2) / width;
  return speed ? (uint32_t)speed : 1;
}

/* ---- Speeds: by network ----------------------------------------------------------------------------- */

static bool any_links(const struct hr_cluster_spec *cluster) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    for (unsigned tier = 0; cluster->pools[i].nodes > 0 && tier < HR_N_TIERS; tier++)
      if (cluster->pools[i].topology.network[tier] != HR_NETWORK_NONE) return true;
  return false;
}

enum hr_status hr__network_init(struct hr__network_speeds *network, struct hr_arena *arena,
                                const struct hr_network_speeds *table, const struct hr_cluster_spec *cluster,
                                const struct hr_trace *trace) {
  *network = (struct hr__network_speeds){.min_ppm = HR__FULL_SPEED_PPM};
  if (!table || table->n_rows == 0 || !any_links(cluster)) return HR_OK;
  network->table = table;
  for (uint32_t i = 0; i < table->n_rows; i++)
    if (table->rows[i].speed_ppm < network->min_ppm) network->min_ppm = table->rows[i].speed_ppm;
  size_t n_models = (size_t)trace->models.count + 1;
  if (!HR__ARENA_ARRAY(arena, network->spans, n_models * HR_N_NETWORKS)) return HR_NO_MEMORY;
  for (size_t model = 0; model < n_models; model++)
    for (unsigned links = 0; links < HR_N_NETWORKS; links++)
      network->spans[model * HR_N_NETWORKS + links] = hr_network_span_of(
          table, model < trace->models.count ? trace->models.text[model] : NULL, (enum hr_network)links);
  return HR_OK;
}
