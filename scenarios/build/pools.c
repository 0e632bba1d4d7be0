/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `cluster`: pools that the scenario describes, or nodes that are listed in a file. Also `network_speeds` and `scaling`
 * of a scenario: the speeds of jobs by network and by number of GPUs.
 *
 * A pool is built as a draft (builder.h) in steps: shape, market and price, GPU memory, sharing, CPUs, topology,
 * failures, maintenance, power. Nodes are numbered pool by pool. `node_order` may define another order of the nodes;
 * the position of each node in that order is stored.
 */

#include "scenarios/build/builder.h"

#include "headroom/gpu_inventory.h"
#include "headroom/unstable/catalog.h"
#include "headroom/unstable/faults.h"
#include "headroom/unstable/ownership.h"
#include "scenarios/catalog/catalog_tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- Sharing and topology: sharing ------------------------------------------------------------------ */

/*
 * `sharing` of a pool: whole GPUs, MPS, time-slicing or MIG, with the interference between jobs on one GPU. `mig`: the
 * partitions of its GPUs.
 *
 * Keys that have no effect with the selected kind of sharing or mode of MIG are errors.
 */

static enum hr_status check_keys(struct hr__builder *builder, const cJSON *entry, enum hr_sharing sharing) {
  bool divided = sharing == HR_SHARING_MPS || sharing == HR_SHARING_TIME_SLICE;
  if (hr__has(entry, "replicas") && !divided)
    return hr__build_fail_at(builder, entry, "replicas", "only GPUs shared by 'mps' or 'time-slice' have replicas");
  if (hr__has(entry, "clients") && sharing != HR_SHARING_MPS)
    return hr__build_fail_at(builder, entry, "clients", "only GPUs shared by 'mps' have clients");
  static const char *const pairings[] = {"interference", "interference_pairs"};
  for (size_t i = 0; i < sizeof pairings / sizeof *pairings && sharing == HR_SHARING_WHOLE; i++)
    if (hr__has(entry, pairings[i]))
      return hr__build_fail_at(builder, entry, pairings[i], "'%s' has no effect: the GPUs are not shared", pairings[i]);
  if (sharing != HR_SHARING_TIME_SLICE && strcmp(hr__text_of(entry, "memory", ""), "first-come") == 0)
    return hr__build_fail_at(builder, entry, "memory",
                             "'first-come' memory needs 'sharing' 'time-slice'; with '%s' memory is 'reserved'",
                             hr_sharing_name(sharing));
  if (sharing == HR_SHARING_TIME_SLICE && !hr__has(entry, "replicas"))
    return hr__build_fail_at(builder, entry, "sharing",
                             "'time-slice' needs 'replicas', the number of jobs that share a GPU");
  return HR_OK;
}

static enum hr_status check_interference(struct hr__builder *builder, const struct hr__pool_draft *draft) {
  const struct hr_pool_spec *pool = &draft->pool;
  for (uint32_t i = 1; i < pool->n_interference; i++)
    if (pool->interference[i].up_to_milli <= pool->interference[i - 1].up_to_milli)
      return hr__build_fail_at(builder, draft->entry, "interference",
                               "'up_to' must increase from entry to entry, by at least 0.001 GPU");
  for (uint32_t i = 0; i < pool->n_pairs; i++)
    for (uint32_t k = 0; k < i; k++)
      if (strcmp(pool->pairs[k].model, pool->pairs[i].model) == 0 &&
          strcmp(pool->pairs[k].with, pool->pairs[i].with) == 0)
        return hr__build_fail_at(builder, draft->entry, "interference_pairs",
                                 "duplicate pair '%.60s' with '%.60s'; keep one", pool->pairs[i].model,
                                 pool->pairs[i].with);
  return HR_OK;
}

/* With per-GPU allocation, checks the number of GPUs per node. Must be called after all pools are built. */
static enum hr_status check_sharing(struct hr__builder *builder) {
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  bool by_gpu = hr_cluster_spec_by_gpu(cluster);
  for (uint32_t i = 0; by_gpu && i < cluster->n_pools; i++)
    if (cluster->pools[i].nodes > 0 && cluster->pools[i].gpus_per_node > HR_MAX_INVENTORY_GPUS)
      return hr__build_fail(builder, hr__nodes_place(builder),
                            "pool '%.60s' has %u GPUs per node; with per-GPU allocation a node has at most %u",
                            cluster->pools[i].name, cluster->pools[i].gpus_per_node, HR_MAX_INVENTORY_GPUS);
  return HR_OK;
}

/* ---- Sharing and topology: MIG ---------------------------------------------------------------------- */

static enum hr_mig_mode mode_of(const cJSON *mig) {
#define WORD(name, text) text,
  static const char *const modes[] = {HR_MIG_MODE_TABLE(WORD) NULL};
#undef WORD
  return (enum hr_mig_mode)hr__choice_of(mig, "mode", modes, HR_MIG_STATIC);
}

static enum hr_status check_mig_keys(struct hr__builder *builder, const cJSON *mig, enum hr_mig_mode mode) {
  for (const struct hr__key *key = hr__table_of(&hr__scenario_keys, "cluster.pools.mig"); key->name; key++) {
    if (!hr__has(mig, key->name) || !key->only_with || key->only_with >> mode & 1) continue;
    if (key->only_with >> HR_MIG_STATIC & 1)
      return hr__build_fail_at(builder, mig, key->name, "mode 'on-demand' has no layout");
    return hr__build_fail_at(builder, mig, key->name, "'%s' needs mode '%s'", key->name,
                             key->only_with >> HR_MIG_DYNAMIC & 1 ? "dynamic" : "on-demand");
  }
  if (hr__has(mig, "layout") && hr__has(mig, "layout_of_gpus"))
    return hr__build_fail_at(builder, mig, "layout_of_gpus",
                             "'layout' and 'layout_of_gpus' exclude each other; keep one");
  if (mode == HR_MIG_STATIC && !hr__has(mig, "layout") && !hr__has(mig, "layout_of_gpus"))
    return hr__build_fail(builder, mig, "'mig' needs 'layout', e.g. \"all-1g.10gb\", or 'mode' dynamic or on-demand");
  return HR_OK;
}

/* ---- Sharing and topology: layouts ------------------------------------------------------------------ */

static enum hr_status add_layout(struct hr__builder *builder, const cJSON *mig, const char *key, const char *text,
                                 struct hr_mig_spec *spec, uint32_t *number) {
  struct hr_mig_gpu gpu;
  struct hr_error inner;
  if (hr_mig_layout(&spec->type, text, &gpu, &inner) != HR_OK)
    return hr__build_fail_at(builder, mig, key, "%s", inner.text);
  if (spec->n_layouts > UINT8_MAX) return hr__build_fail_at(builder, mig, key, "more than 256 layouts are too many");
  return hr_mig_spec_add(spec, text, &gpu, number) == HR_OK ? HR_OK : hr__build_no_memory(builder);
}

/* Adds the default set of layouts of the mode 'dynamic': the partition groups of Volcano's MIG support. */
static enum hr_status add_groups(struct hr__builder *builder, struct hr_mig_spec *spec) {
  struct hr_mig_gpu gpu;
  uint32_t unused;
  for (uint32_t group = 0; hr_mig_group(&spec->type, group, &gpu); group++) {
    char name[24];
    snprintf(name, sizeof name, "group%u", (unsigned)group + 1);
    if (hr_mig_spec_add(spec, name, &gpu, &unused) != HR_OK) return hr__build_no_memory(builder);
  }
  return HR_OK;
}

static enum hr_status add_choices(struct hr__builder *builder, const cJSON *mig, struct hr_mig_spec *spec) {
  const cJSON *list = hr__get(mig, "layouts");
  enum hr_status status = HR_OK;
  uint32_t unused;
  if (spec->mode != HR_MIG_DYNAMIC) return HR_OK;
  if (!list) status = add_groups(builder, spec);
  for (const cJSON *text = list ? list->child : NULL; text && status == HR_OK; text = text->next)
    status = add_layout(builder, mig, "layouts", text->valuestring, spec, &unused);
  return status;
}

/* Sets the initial layout of each GPU of a node. */
static enum hr_status add_initial(struct hr__builder *builder, const cJSON *mig, uint32_t n_gpus,
                                  struct hr_mig_spec *spec) {
  const cJSON *list = hr__get(mig, "layout_of_gpus"), *text = list ? list->child : NULL;
  if (spec->mode == HR_MIG_ON_DEMAND) return HR_OK;
  if (list && (uint32_t)cJSON_GetArraySize(list) != n_gpus)
    return hr__build_fail_at(builder, mig, "layout_of_gpus", "a node has %u GPUs; one layout for each is expected",
                             (unsigned)n_gpus);
  spec->layout_of_gpu = calloc(n_gpus, sizeof *spec->layout_of_gpu);
  if (!spec->layout_of_gpu) return hr__build_no_memory(builder);
  for (uint32_t gpu = 0; gpu < n_gpus; gpu++) {
    const char *layout = list ? text->valuestring : hr__text_of(mig, "layout", "all-enabled");
    uint32_t number = 0;
    enum hr_status status = add_layout(builder, mig, list ? "layout_of_gpus" : "layout", layout, spec, &number);
    if (status != HR_OK) return status;
    spec->layout_of_gpu[gpu] = (uint8_t)number;
    if (list) text = text->next;
  }
  return HR_OK;
}

/* Checks that an instance of each profile has room for all its compute slices after each of its possible starts. This
   is required because the share of an instance is an interval of adjacent slices that begins at its start. */
static enum hr_status check_type(struct hr__builder *builder, const cJSON *mig, const struct hr_mig_type *type) {
  for (uint32_t i = 0; i < type->n_profiles; i++) {
    const struct hr_mig_profile *profile = &type->profiles[i];
    uint32_t last = 31U - (uint32_t)__builtin_clz(profile->starts | 1U);
    if (profile->compute_slices > profile->memory_slices || last + profile->compute_slices > type->compute_slices)
      return hr__build_fail(builder, mig,
                            "profile '%.23s' of %.60s in the catalogue has more compute slices than fit after one of "
                            "its starts",
                            profile->name, type->gpu);
  }
  return HR_OK;
}

static int64_t lead_us_of(const cJSON *mig) {
  double lead_s = hr__number_of(mig, "repartition_s", hr__number_of(mig, "create_s", 0));
  return (int64_t)llround(lead_s * (double)HR_SECOND_US);
}

static enum hr_status build_partitions(struct hr__builder *builder, struct hr__pool_draft *draft, const cJSON *mig) {
  const struct hr_mig_type *type;
  struct hr_error inner;
  enum hr_status status = check_mig_keys(builder, mig, mode_of(mig));
  if (status == HR_OK && hr_catalog_mig(builder->catalog, draft->pool.gpu, &type, &inner) != HR_OK)
    status = hr__build_fail(builder, mig, "%s", inner.text);
  if (status == HR_OK) status = check_type(builder, mig, type);
  if (status != HR_OK) return status;
  struct hr_mig_spec *spec = draft->pool.mig = hr_mig_spec_create(type, mode_of(mig));
  if (!spec) return hr__build_no_memory(builder);
  spec->lead_us = lead_us_of(mig);
  status = add_choices(builder, mig, spec);
  return status == HR_OK ? add_initial(builder, mig, draft->pool.gpus_per_node, spec) : status;
}

static enum hr_status build_mig(struct hr__builder *builder, struct hr__pool_draft *draft) {
  const cJSON *mig = hr__get(draft->entry, "mig");
  if (!mig && draft->pool.sharing != HR_SHARING_MIG) return HR_OK;
  if (!mig)
    return hr__build_fail_at(builder, draft->entry, "sharing",
                             "sharing 'mig' needs the key 'mig', e.g. { \"layout\": \"all-balanced\" }");
  if (draft->pool.sharing != HR_SHARING_MIG) return hr__build_fail(builder, mig, "'mig' needs 'sharing' 'mig'");
  return build_partitions(builder, draft, mig);
}

/* ---- Sharing and topology: the section -------------------------------------------------------------- */

/* Builds the sharing of GPUs between jobs. Must be called after the number of GPUs of a node is set. */
static enum hr_status build_sharing(struct hr__builder *builder, struct hr__pool_draft *draft) {
  struct hr_pool_spec *pool = &draft->pool;
  if (!hr__has(draft->entry, "memory") && pool->sharing == HR_SHARING_TIME_SLICE)
    pool->memory = HR_GPU_MEMORY_FIRST_COME;
  enum hr_status status = check_keys(builder, draft->entry, pool->sharing);
  if (status == HR_OK) status = check_interference(builder, draft);
  return status == HR_OK ? build_mig(builder, draft) : status;
}

/* ---- Sharing and topology: topology ----------------------------------------------------------------- */

/*
 * `topology` of a pool: islands, NUMA domains, racks, zones, and the networks that connect them. `network_speeds`: the
 * speed of jobs with GPUs that are connected by a network.
 *
 * The number of GPUs of an island divides that of a NUMA domain, which divides that of a node. The table of speeds is
 * sorted by network, model and GPUs. If the scenario has rows for a model and a network, all rows of the catalogue for
 * this model and network are ignored.
 */

#define WORD(name, text) text,
static const char *const tiers[] = {HR_TIER_TABLE(WORD) NULL};
#undef WORD

static enum hr_status check_gpus(struct hr__builder *builder, const cJSON *entry, const struct hr_pool_spec *pool) {
  const struct hr_topology *topology = &pool->topology;
  uint32_t wider = hr_topology_gpus(topology, HR_TIER_NUMA, pool->gpus_per_node);
  if (pool->gpus_per_node % wider != 0)
    return hr__build_fail_at(builder, entry, "numa_gpus", "'numa_gpus' %u does not divide the %u GPUs of a node",
                             (unsigned)wider, (unsigned)pool->gpus_per_node);
  if (topology->island_gpus && wider % topology->island_gpus != 0)
    return hr__build_fail_at(builder, entry, "island_gpus", "'island_gpus' %u does not divide the %u GPUs of a %s",
                             (unsigned)topology->island_gpus, (unsigned)wider,
                             topology->numa_gpus ? "NUMA domain" : "node");
  return HR_OK;
}

static enum hr_status check_nodes(struct hr__builder *builder, const cJSON *entry, const struct hr_topology *topology) {
  if (!topology->racks_per_zone || topology->nodes_per_rack) return HR_OK;
  return hr__build_fail_at(builder, entry, "racks_per_zone",
                           "'racks_per_zone' has no effect without 'nodes_per_rack', the nodes of a rack");
}

/* For each tier, the key that defines its size. */
static const char *const sizes[HR_N_TIERS] = {[HR_TIER_ISLAND] = "island_gpus",
                                              [HR_TIER_NUMA] = "numa_gpus",
                                              [HR_TIER_RACK] = "nodes_per_rack",
                                              [HR_TIER_ZONE] = "racks_per_zone"};

/* Reports an error if a network is set for a tier that the pool does not have. */
static enum hr_status check_network(struct hr__builder *builder, const cJSON *entry,
                                    const struct hr_topology *topology) {
  const cJSON *network = hr__get(entry, "network");
  for (unsigned tier = HR_TIER_ISLAND; tier < HR_N_TIERS; tier++)
    if (hr__has(network, tiers[tier]) && !hr_topology_has(topology, (enum hr_tier)tier))
      return hr__build_fail_at(builder, network, tiers[tier], "the pool has no tier '%s'; set '%s'", tiers[tier],
                               sizes[tier]);
  return HR_OK;
}

/* Checks islands, NUMA domains, racks and zones, and their networks. Must be called after the shape is built. */
static enum hr_status build_topology(struct hr__builder *builder, struct hr__pool_draft *draft) {
  const cJSON *entry = hr__get(draft->entry, "topology");
  if (!entry) return HR_OK;
  enum hr_status status = check_gpus(builder, entry, &draft->pool);
  if (status == HR_OK) status = check_nodes(builder, entry, &draft->pool.topology);
  return status == HR_OK ? check_network(builder, entry, &draft->pool.topology) : status;
}

/* ---- Sharing and topology: speeds by network -------------------------------------------------------- */

static bool any_network(const struct hr_cluster_spec *cluster) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    for (unsigned tier = 0; tier < HR_N_TIERS; tier++)
      if (cluster->pools[i].topology.network[tier] != HR_NETWORK_NONE) return true;
  return false;
}

static enum hr_status add_row(const struct hr__builder *builder, const char *model, struct hr_network_speed row) {
  struct hr_network_speeds *speeds = builder->scenario->network_speeds;
  row.model = strdup(model);
  if (!row.model) return hr__build_no_memory(builder);
  speeds->rows[speeds->n_rows++] = row;
  return HR_OK;
}

static bool is_same(const struct hr_network_speed *a, const struct hr_network_speed *b) {
  return a->network == b->network && a->gpus == b->gpus && strcasecmp(a->model, b->model) == 0;
}

static bool is_duplicate(const struct hr_network_speeds *speeds) {
  const struct hr_network_speed *last = &speeds->rows[speeds->n_rows - 1];
  for (const struct hr_network_speed *before = speeds->rows; before < last; before++)
    if (is_same(before, last)) return true;
  return false;
}

static enum hr_status add_own_rows(struct hr__builder *builder, const cJSON *list) {
  struct hr_network_speeds *speeds = builder->scenario->network_speeds;
  for (const cJSON *entry = list ? list->child : NULL; entry; entry = entry->next) {
    struct hr_network_speed *row = &speeds->rows[speeds->n_rows++];
    enum hr_status status = hr__read_at(builder, entry, "network_speeds", row);
    if (status != HR_OK) return status;
    if (is_duplicate(speeds))
      return hr__build_fail(builder, entry, "duplicate speed of '%.60s' on %u GPUs over %s; keep one", row->model,
                            (unsigned)row->gpus, hr_network_name(row->network));
  }
  return HR_OK;
}

static bool has_own_rows(const struct hr_network_speeds *speeds, uint32_t n_own, const struct hr_network_entry *entry) {
  for (uint32_t i = 0; i < n_own; i++)
    if (speeds->rows[i].network == entry->network && strcasecmp(speeds->rows[i].model, entry->model) == 0) return true;
  return false;
}

static enum hr_status add_catalog_rows(const struct hr__builder *builder) {
  const struct hr_catalog *catalog = builder->catalog;
  uint32_t n_own = builder->scenario->network_speeds->n_rows;
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < catalog->n_network_speeds && status == HR_OK; i++) {
    const struct hr_network_entry *entry = &catalog->network_speeds[i];
    if (has_own_rows(builder->scenario->network_speeds, n_own, entry)) continue;
    status =
        add_row(builder, entry->model,
                (struct hr_network_speed){
                    .network = entry->network, .gpus = (uint32_t)entry->gpus, .speed_ppm = (uint32_t)entry->speed_ppm});
  }
  return status;
}

static int compare(const void *a, const void *b) {
  const struct hr_network_speed *x = a, *y = b;
  int order = (x->network > y->network) - (x->network < y->network);
  if (order == 0) order = strcasecmp(x->model, y->model);
  return order ? order : (x->gpus > y->gpus) - (x->gpus < y->gpus);
}

static enum hr_status make(struct hr__builder *builder, const cJSON *list) {
  struct hr_scenario *scenario = builder->scenario;
  enum hr_status status = hr__open_catalog(builder);
  if (status != HR_OK) return status;
  size_t n_rows = (size_t)cJSON_GetArraySize(list) + builder->catalog->n_network_speeds;
  scenario->network_speeds = calloc(1, sizeof *scenario->network_speeds);
  if (!scenario->network_speeds) return hr__build_no_memory(builder);
  struct hr_network_speeds *speeds = scenario->network_speeds;
  speeds->rows = calloc(n_rows + 1, sizeof *speeds->rows);
  if (!speeds->rows) return hr__build_no_memory(builder);
  status = add_own_rows(builder, list);
  if (status == HR_OK) status = add_catalog_rows(builder);
  if (speeds->n_rows) qsort(speeds->rows, speeds->n_rows, sizeof *speeds->rows, compare);
  return status;
}

enum hr_status hr__build_network_speeds(struct hr__builder *builder) {
  const cJSON *list = hr__get(builder->source.file.tree, "network_speeds");
  bool is_used = any_network(&builder->scenario->cluster);
  enum hr_status status = HR_OK;
  if (list || is_used) status = make(builder, list);
  if (status == HR_OK && list && !is_used)
    status =
        hr__build_note(builder, "warning: 'network_speeds' has no effect: no pool has a 'network' in its 'topology'");
  return status;
}

/* ---- Sharing and topology: speeds of elastic jobs --------------------------------------------------- */

/* Order of rows: by model, then by GPUs. Rows that apply to all models have no model name and precede the others. */
static int compare_scaling(const void *a, const void *b) {
  const struct hr_scaling_row *x = a, *y = b;
  int order = x->model && y->model ? strcmp(x->model, y->model) : (x->model != NULL) - (y->model != NULL);
  return order ? order : (x->gpus > y->gpus) - (x->gpus < y->gpus);
}

static bool is_listed(const struct hr_scaling_table *table, const struct hr_scaling_row *row) {
  for (const struct hr_scaling_row *before = table->rows; before < row; before++)
    if (compare_scaling(before, row) == 0) return true;
  return false;
}

static enum hr_status read_scaling(struct hr__builder *builder, const cJSON *list, struct hr_scaling_table *table) {
  for (const cJSON *entry = list->child; entry; entry = entry->next) {
    struct hr_scaling_row *row = &table->rows[table->n_rows++];
    enum hr_status status = hr__read_at(builder, entry, "scaling", row);
    if (status != HR_OK) return status;
    if (strcmp(row->model, "*") == 0) {
      free(row->model);
      row->model = NULL;
    }
    if (is_listed(table, row))
      return hr__build_fail(builder, entry, "duplicate speed of '%.60s' on %u GPUs; keep one",
                            row->model ? row->model : "*", (unsigned)row->gpus);
  }
  return HR_OK;
}

enum hr_status hr__build_scaling(struct hr__builder *builder) {
  const cJSON *list = hr__get(builder->source.file.tree, "scaling");
  if (!list) return HR_OK;
  struct hr_scaling_table *table = builder->scenario->scaling = calloc(1, sizeof *table);
  if (!table) return hr__build_no_memory(builder);
  table->rows = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *table->rows);
  if (!table->rows) return hr__build_no_memory(builder);
  enum hr_status status = read_scaling(builder, list, table);
  if (status == HR_OK && table->n_rows) qsort(table->rows, table->n_rows, sizeof *table->rows, compare_scaling);
  return status;
}

/* ---- CPUs ------------------------------------------------------------------------------------------- */

/* Reads `cpu_per_gpu`, the CPUs that a task gets with each GPU. It is a number, or "proportional", which means
   (CPUs of a node) / (GPUs of a node). Must be called after the shape is built. */
static enum hr_status build_cpus(struct hr__builder *builder, struct hr__pool_draft *draft) {
  struct hr_pool_spec *pool = &draft->pool;
  const cJSON *value = hr__get(draft->entry, "cpu_per_gpu");
  if (!value) return HR_OK;
  bool is_part = cJSON_IsString(value) && strcmp(value->valuestring, "proportional") == 0;
  if (!is_part && !(cJSON_IsNumber(value) && value->valuedouble > 0))
    return hr__build_fail_at(builder, draft->entry, "cpu_per_gpu", "a number above 0 or \"proportional\" is expected");
  if (!pool->cpu_milli_per_node)
    return hr__build_fail_at(builder, draft->entry, "cpu_per_gpu",
                             "'cpu_per_gpu' has no effect without 'cpu_per_node'");
  if (!is_part && value->valuedouble * 1000 > pool->cpu_milli_per_node)
    return hr__build_fail_at(builder, draft->entry, "cpu_per_gpu", "a node has only %g CPUs",
                             pool->cpu_milli_per_node / 1000.0);
  pool->cpu_milli_per_gpu =
      is_part ? pool->cpu_milli_per_node / pool->gpus_per_node : (uint32_t)lround(value->valuedouble * 1000);
  return HR_OK;
}

static const cJSON *cluster_of(const struct hr__builder *builder) {
  return hr__get(builder->source.file.tree, "cluster");
}

static enum hr_status check_cpus(struct hr__builder *builder) {
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  for (uint32_t i = 0; i < cluster->n_pools && !hr_cluster_spec_by_gpu(cluster); i++)
    if (cluster->pools[i].nodes > 0 && cluster->pools[i].cpu_milli_per_gpu)
      return hr__build_fail(builder, hr__nodes_place(builder),
                            "pool '%.60s' has 'cpu_per_gpu', which needs per-GPU allocation; set 'cluster.by_gpu'",
                            cluster->pools[i].name);
  return HR_OK;
}

/* ---- Node order ------------------------------------------------------------------------------------- */

/* `node_order` is a list of runs of nodes. The run "POOL*COUNT" means the next COUNT nodes of the pool, and "POOL"
   means the next one. If the pool has fewer nodes left, the run means only these. Nodes that no run contains follow at
   the end. An order therefore stays valid if the size of a pool is overridden. */

struct order {
  const struct hr_cluster_spec *cluster;
  uint32_t *next, *end; /* [n_pools] nodes next[i] .. end[i] - 1 of pool i have no position yet */
  uint32_t *place_of;   /* [nodes] position of each node */
  uint32_t n_placed;    /* number of nodes that have a position */
};

static bool order_init(struct order *order, const struct hr_cluster_spec *cluster) {
  uint32_t n_nodes = 0;
  *order = (struct order){.cluster = cluster,
                          .next = calloc(cluster->n_pools, sizeof *order->next),
                          .end = calloc(cluster->n_pools, sizeof *order->end)};
  if (!order->next || !order->end) return false;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    order->next[i] = n_nodes;
    n_nodes += cluster->pools[i].nodes;
    order->end[i] = n_nodes;
  }
  order->place_of = calloc((size_t)n_nodes + 1, sizeof *order->place_of);
  return order->place_of != NULL;
}

static void place(struct order *order, uint32_t pool, uint32_t count) {
  for (; count > 0 && order->next[pool] < order->end[pool]; count--)
    order->place_of[order->next[pool]++] = order->n_placed++;
}

/* Returns the value of a decimal number from 1 to HR_MAX_NODES; 0 for any other text. */
static uint32_t count_of(const char *digits) {
  uint32_t count = 0;
  if (!digits[0] || digits[strspn(digits, "0123456789")]) return 0;
  for (; *digits; digits++) {
    count = count * 10 + (uint32_t)(*digits - '0');
    if (count > HR_MAX_NODES) return 0;
  }
  return count;
}

/* Assigns positions to the nodes of a run. The name of a pool may contain a star, so the whole text is first searched
   among the names of pools. */
static enum hr_status place_run(struct hr__builder *builder, struct order *order, const cJSON *value) {
  const char *run = value->valuestring;
  const char *star = strrchr(run, '*');
  uint32_t pool = hr__pool_named(order->cluster, run, strlen(run)), count = 1;
  if (pool == HR_NONE && star) {
    pool = hr__pool_named(order->cluster, run, (size_t)(star - run));
    count = count_of(star + 1);
  }
  if (pool == HR_NONE || count == 0)
    return hr__build_fail(builder, value,
                          "'%.60s' is not a run of nodes; POOL or POOL*COUNT is expected, with a pool of 'pools'", run);
  place(order, pool, count);
  return HR_OK;
}

static enum hr_status build_node_order(struct hr__builder *builder) {
  const cJSON *runs = hr__get(cluster_of(builder), "node_order");
  struct order order;
  if (!runs) return HR_OK;
  enum hr_status status = order_init(&order, &builder->scenario->cluster) ? HR_OK : hr__build_no_memory(builder);
  for (const cJSON *run = runs->child; run && status == HR_OK; run = run->next)
    status = place_run(builder, &order, run);
  for (uint32_t i = 0; status == HR_OK && i < order.cluster->n_pools; i++) place(&order, i, HR_MAX_NODES);
  free(order.next);
  free(order.end);
  if (status == HR_OK)
    builder->scenario->cluster.node_order = order.place_of;
  else
    free(order.place_of);
  return status;
}

/* ---- Shape ------------------------------------------------------------------------------------------ */

static enum hr_status check_name(struct hr__builder *builder, const cJSON *entry, const char *name) {
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  if (name[0] == '(')
    return hr__build_fail_at(builder, entry, "name",
                             "the name of a pool must not begin with '(', which marks summary rows of reports");
  if (hr__pool_named(cluster, name, strlen(name)) == HR_NONE) return HR_OK;
  return hr__build_fail_at(builder, entry, "name", "duplicate pool '%.60s'; each pool needs a name of its own", name);
}

static enum hr_status missing_shape(const struct hr__builder *builder, const cJSON *entry, const char *name) {
  char path[300];
  hr__source_path(&builder->source, entry, path, sizeof path);
  return hr__build_fail(builder, entry, "'%s' lacks the key '%s', or 'provider' and 'instance' for the catalogue", path,
                        name);
}

/* Sets the shape of a pool. Keys that the entry lacks are set from its instance type in the catalogue. */
static enum hr_status build_shape(struct hr__builder *builder, struct hr__pool_draft *draft) {
  const cJSON *entry = draft->entry;
  const char *as_of = hr__text_of(entry, "as_of", NULL);
  if (as_of && !hr_catalog_is_date(as_of))
    return hr__build_fail_at(builder, entry, "as_of", "'%.60s' is not a date like 2026-07-20, 2026-07 or 2026", as_of);
  enum hr_status status = hr__build_shape(builder, draft);
  if (status == HR_OK && !draft->pool.gpu) return missing_shape(builder, entry, "gpu");
  if (status == HR_OK && !draft->pool.gpus_per_node) return missing_shape(builder, entry, "gpus_per_node");
  return status;
}

/* ---- Location --------------------------------------------------------------------------------------- */

static bool copy_text(const cJSON *entry, const char *name, char **copy) {
  const char *text = hr__text_of(entry, name, NULL);
  if (text) *copy = strdup(text);
  return !text || *copy;
}

/* Returns the number of months for which the nodes are paid for: the term of a reservation, such as 12 for 1y, or the
   lifetime of owned nodes; 0: unknown. */
static uint32_t term_months(const cJSON *entry) {
  const cJSON *owned = hr__get(entry, "owned");
  double years = strtod(hr__text_of(entry, "term", "0"), NULL);
  if (owned) years = hr__number_of(owned, "lifetime_years", 0);
  return (uint32_t)lround(fmin(12 * years, 12000));
}

static bool copy_source(const cJSON *entry, struct hr_pool_source *source) {
  source->term_months = term_months(entry);
  return copy_text(entry, "provider", &source->provider) && copy_text(entry, "instance", &source->instance) &&
         copy_text(entry, "region", &source->region) && copy_text(entry, "zone", &source->zone);
}

void hr__pool_source_finish(struct hr_pool_source *source) {
  free(source->provider);
  free(source->instance);
  free(source->region);
  free(source->zone);
  free(source->spot_preset);
  free(source->as_of);
  free(source->status);
  free(source->source);
  hr_ownership_destroy(source->ownership);
}

static bool same_text(const char *a, const char *b) {
  return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool share_zone(const struct hr_scenario *scenario, uint32_t a, const struct hr__pool_draft *draft) {
  const struct hr_pool_source *one = &scenario->pool_sources[a], *other = draft->source;
  return strcasecmp(scenario->cluster.pools[a].gpu, draft->pool.gpu) == 0 &&
         same_text(one->provider, other->provider) && same_text(one->region, other->region) &&
         same_text(one->zone, other->zone);
}

/* Returns the zone number of a spot pool. Pools with the same number are interrupted together. They have the same GPU
   type, provider, region and zone. The first spot pool has the number 0; each new combination gets the next number. */
static uint32_t zone_number(const struct hr_scenario *scenario, const struct hr__pool_draft *draft) {
  uint32_t next = 0;
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++) {
    const struct hr_market_spec *market = &scenario->cluster.pools[i].market;
    if (market->market != HR_MARKET_SPOT) continue;
    if (share_zone(scenario, i, draft)) return market->spot.zone;
    if (market->spot.zone >= next) next = market->spot.zone + 1;
  }
  return next;
}

/* ---- Pools ------------------------------------------------------------------------------------------ */

/* Adds warnings for unknown GPU types and regions that look misspelt. Other unknown names are errors only if a price or
   another figure of the catalogue is needed. */
static enum hr_status warn_misspelt_names(struct hr__builder *builder, const struct hr__pool_draft *draft) {
  const char *provider = draft->source->provider, *region = draft->source->region;
  struct hr_error inner;
  enum hr_status status = hr__open_catalog(builder);
  if (status != HR_OK) return status;
  status = hr__catalog_check_spelling_gpu(builder->catalog, draft->pool.gpu, &inner);
  if (status == HR_BAD_INPUT) status = hr__pool_note(builder, draft->pool.name, "warning: %s", inner.text);
  if (status == HR_OK && provider && region)
    status = hr__catalog_check_spelling_region(builder->catalog, provider, region, &inner);
  if (status == HR_BAD_INPUT) status = hr__pool_note(builder, draft->pool.name, "warning: %s", inner.text);
  return status == HR_OK ? HR_OK : hr__build_no_memory(builder);
}

/* The GPU type of a pool may be a name that Slurm, Kubernetes, a cloud or nvidia-smi uses. Replaces such a name by that
   of the catalogue, and adds a note. */
static enum hr_status translate_gpu(struct hr__builder *builder, struct hr__pool_draft *draft) {
  const char *name = draft->pool.gpu;
  if (!name) return HR_OK;
  enum hr_status status = hr__open_catalog(builder);
  if (status != HR_OK) return status;
  const struct hr_gpu_type *type = hr_catalog_gpu_named(builder->catalog, name);
  if (!type || strcasecmp(type->name, name) == 0) return HR_OK;
  draft->pool.gpu = (char *)type->name; /* the text is not written; it is copied when the pool is added */
  status = hr__pool_note(builder, hr__text_of(draft->entry, "name", ""), "GPU type '%.60s' is %s of the catalogue",
                         name, type->name);
  return status == HR_OK ? HR_OK : hr__build_no_memory(builder);
}

/* Sets the other names of the GPU type of each pool, and the list of all names of GPU types (gpu_vocabulary). */
static enum hr_status name_gpus(struct hr__builder *builder) {
  struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  enum hr_status status = hr__open_catalog(builder);
  for (uint32_t i = 0; i < cluster->n_pools && status == HR_OK; i++) {
    const struct hr_gpu_type *type = hr_catalog_gpu_named(builder->catalog, cluster->pools[i].gpu);
    if (!type) continue;
    cluster->pools[i].gpu_names = hr_catalog_gpu_names(builder->catalog, type->name);
    if (!cluster->pools[i].gpu_names) status = hr__build_no_memory(builder);
  }
  if (status == HR_OK) cluster->gpu_vocabulary = hr_catalog_gpu_vocabulary(builder->catalog);
  if (status == HR_OK && !cluster->gpu_vocabulary) status = hr__build_no_memory(builder);
  return status;
}

/* Sets the memory of a GPU from its type in the catalogue, unless the entry sets it. For unknown types, the memory
   stays unknown. */
static enum hr_status set_gpu_memory(struct hr__builder *builder, struct hr__pool_draft *draft) {
  const struct hr_gpu_type *gpu;
  struct hr_error inner;
  if (hr__has(draft->entry, "gpu_mem_gb")) return HR_OK;
  enum hr_status status = hr_catalog_gpu(builder->catalog, draft->pool.gpu, &gpu, &inner);
  if (status == HR_OK && gpu->mem_gb > 0) draft->pool.gpu_mem_mib = (uint32_t)lround(gpu->mem_gb * 1024);
  return status == HR_BAD_INPUT ? HR_OK : status;
}

/* The market of pools without the key, and of pools from a file of nodes: always available, without a price. */
static const struct hr_market_spec no_market = {.on_demand_uusd_h = HR_UNKNOWN_UUSD_H, .to_us = HR_NEVER_US};

static enum hr_status add_pool(struct hr__builder *builder, const cJSON *entry) {
  struct hr_scenario *scenario = builder->scenario;
  struct hr__pool_draft draft = {.entry = entry, .source = &scenario->pool_sources[scenario->cluster.n_pools]};
  draft.pool.market = no_market;
  enum hr_status status = check_name(builder, entry, hr__text_of(entry, "name", ""));
  if (status == HR_OK) status = hr__read(builder, entry, hr__pool_keys, &draft.pool);
  if (status == HR_OK) status = translate_gpu(builder, &draft);
  if (status == HR_OK) status = build_shape(builder, &draft);
  if (status == HR_OK && !copy_source(entry, draft.source)) status = hr__build_no_memory(builder);
  if (status == HR_OK) {
    draft.zone = zone_number(scenario, &draft);
    status = hr__build_market(builder, &draft);
  }
  if (status == HR_OK) status = warn_misspelt_names(builder, &draft);
  if (status == HR_OK) status = set_gpu_memory(builder, &draft);
  if (status == HR_OK) status = build_sharing(builder, &draft);
  if (status == HR_OK) status = build_cpus(builder, &draft);
  if (status == HR_OK) status = build_topology(builder, &draft);
  if (status == HR_OK) status = hr__build_faults(builder, &draft);
  if (status == HR_OK) status = hr__build_maintenance(builder, &draft);
  if (status == HR_OK) status = hr__build_power(builder, &draft);
  if (status == HR_OK) status = hr_cluster_spec_add(&scenario->cluster, &draft.pool, builder->error);
  if (status == HR_OK) return HR_OK;
  hr__pool_source_finish(draft.source);
  free(draft.pool.market.prices);
  free(draft.pool.market.spot.levels);
  hr_fault_spec_destroy(draft.pool.faults);
  hr_maintenance_destroy(draft.pool.maintenance, draft.pool.n_maintenance);
  hr_power_spec_destroy(draft.pool.power);
  hr_pool_sharing_finish(&draft.pool);
  return status;
}

static enum hr_status add_pools(struct hr__builder *builder, const cJSON *pools) {
  enum hr_status status = HR_OK;
  for (const cJSON *entry = pools->child; entry && status == HR_OK; entry = entry->next)
    status = add_pool(builder, entry);
  return status;
}

static enum hr_status build_pools(struct hr__builder *builder, const cJSON *pools) {
  struct hr__pool_notes notes = {0};
  builder->scenario->pool_sources = calloc((size_t)cJSON_GetArraySize(pools), sizeof *builder->scenario->pool_sources);
  if (!builder->scenario->pool_sources) return hr__build_no_memory(builder);
  builder->pool_notes = &notes;
  enum hr_status status = add_pools(builder, pools);
  builder->pool_notes = NULL;
  bool moved = hr__pool_notes_move(&notes, status == HR_OK ? &builder->scenario->notes : NULL) == HR_OK;
  return moved ? status : hr__build_no_memory(builder);
}

/* ---- The cluster ------------------------------------------------------------------------------------ */

/* Checks the numbers of nodes and GPUs of all pools together against the limits of the engine. Adds a warning if the
   cluster has no nodes. */
static enum hr_status check_totals(struct hr__builder *builder) {
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  uint64_t nodes = 0, gpus = 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    nodes += cluster->pools[i].nodes;
    gpus += (uint64_t)cluster->pools[i].nodes * cluster->pools[i].gpus_per_node;
  }
  if (nodes == 0 && hr__build_note(builder, "warning: no pool has a node; every job that requests GPUs "
                                            "is rejected") != HR_OK)
    return HR_NO_MEMORY;
  if (nodes <= HR_MAX_NODES && gpus <= HR_MAX_GPUS) {
    enum hr_status status = check_sharing(builder);
    return status == HR_OK ? check_cpus(builder) : status;
  }
  return hr__build_fail(builder, hr__nodes_place(builder),
                        "a cluster of %" PRIu64 " nodes and %" PRIu64 " GPUs is too large; at most %" PRIu32
                        " nodes and %" PRIu32 " GPUs",
                        nodes, gpus, HR_MAX_NODES, HR_MAX_GPUS);
}

/* If some pool has a market, adds a note for each pool with nodes but without a market, because the costs do not
   include such pools. */
static enum hr_status note_unpriced(struct hr__builder *builder) {
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  bool any = false;
  for (uint32_t i = 0; i < cluster->n_pools; i++) any = any || cluster->pools[i].market.market != HR_MARKET_NONE;
  for (uint32_t i = 0; i < cluster->n_pools && any; i++) {
    const struct hr_pool_spec *pool = &cluster->pools[i];
    if (pool->nodes == 0 || pool->market.market != HR_MARKET_NONE) continue;
    if (hr__build_note(builder, "pool '%.60s' has no 'market' and no price; costs do not contain it", pool->name) !=
        HR_OK)
      return HR_NO_MEMORY;
  }
  return HR_OK;
}

static enum hr_status read_nodes(struct hr__builder *builder, const char *file) {
  char *path = hr__resolve(builder, file);
  if (!path) return hr__build_no_memory(builder);
  struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  enum hr_status status = hr_nodes_read(path, cluster, &builder->scenario->notes, builder->error);
  for (uint32_t i = 0; i < cluster->n_pools; i++) cluster->pools[i].market = no_market;
  free(path);
  return status;
}

enum hr_status hr__build_cluster(struct hr__builder *builder) {
  const cJSON *cluster = cluster_of(builder);
  builder->scenario->cluster.by_gpu = cJSON_IsTrue(hr__get(cluster, "by_gpu"));
  builder->scenario->cluster.mig_fallback = cJSON_IsTrue(hr__get(cluster, "mig_fallback"));
  bool has_file = hr__has(cluster, "nodes_file"), has_pools = hr__has(cluster, "pools");
  if (has_pools == has_file)
    return hr__build_fail(builder, cluster, "%s",
                          has_pools ? "'cluster' has both 'pools' and 'nodes_file'; keep one"
                                    : "'cluster' lacks 'pools' (or 'nodes_file', a file that lists the nodes)");
  if (has_file && hr__has(cluster, "node_order"))
    return hr__build_fail_at(builder, cluster, "node_order",
                             "'nodes_file' defines an order of nodes; remove one of them");
  enum hr_status status = hr__has(builder->source.file.tree, "catalog") ? hr__open_catalog(builder) : HR_OK;
  if (status != HR_OK) return status;
  if (has_pools)
    status = build_pools(builder, hr__get(cluster, "pools"));
  else
    status = read_nodes(builder, hr__get(cluster, "nodes_file")->valuestring);
  if (status == HR_OK) status = name_gpus(builder);
  if (status == HR_OK) status = check_totals(builder);
  if (status == HR_OK) status = hr__build_autoscaler(builder, cluster);
  if (status == HR_OK) status = hr__build_power_budget(builder, cluster, 0, builder->scenario->cluster.n_pools);
  if (status == HR_OK) status = hr__build_electricity(builder);
  if (status == HR_OK) status = note_unpriced(builder);
  if (status == HR_OK && has_pools) status = build_node_order(builder);
  return status;
}
