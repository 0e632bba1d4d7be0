/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `sharing`, `mig` and `topology` of a pool, and `network_speeds` and `scaling` of a scenario. */

#include "headroom/gpu_inventory.h"
#include "scenarios/build/builder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- Sharing ------------------------------------------------------------------------------------------- */

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

enum hr_status hr__check_sharing(struct hr__builder *builder) {
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  bool by_gpu = hr_cluster_spec_by_gpu(cluster);
  for (uint32_t i = 0; by_gpu && i < cluster->n_pools; i++)
    if (cluster->pools[i].nodes > 0 && cluster->pools[i].gpus_per_node > HR_MAX_INVENTORY_GPUS)
      return hr__build_fail(builder, hr__nodes_place(builder),
                            "pool '%.60s' has %u GPUs per node; with per-GPU allocation a node has at most %u",
                            cluster->pools[i].name, cluster->pools[i].gpus_per_node, HR_MAX_INVENTORY_GPUS);
  return HR_OK;
}

/* ---- MIG -------------------------------------------------------------------------------------------- */

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

/* ---- Layouts ---------------------------------------------------------------------------------------- */

static enum hr_status add_layout(struct hr__builder *builder, const cJSON *mig, const char *key, const char *text,
                                 struct hr_mig_spec *spec, uint32_t *number) {
  struct hr_mig_gpu gpu;
  struct hr_error inner;
  if (hr_mig_layout(&spec->type, text, &gpu, &inner) != HR_OK)
    return hr__build_fail_at(builder, mig, key, "%s", inner.text);
  if (spec->n_layouts > UINT8_MAX) return hr__build_fail_at(builder, mig, key, "more than 256 layouts are too many");
  return hr_mig_spec_add(spec, text, &gpu, number) == HR_OK ? HR_OK : hr__build_no_memory(builder);
}

/* Adds the partition groups of Volcano's MIG support, which are the default set of layouts. */
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

/* Checks that an instance of each profile has all its compute slices after each of its possible starts. This is
   required because the share of an instance is an interval of adjacent slices. */
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

/* ---- The section ------------------------------------------------------------------------------------ */

enum hr_status hr__build_sharing(struct hr__builder *builder, struct hr__pool_draft *draft) {
  struct hr_pool_spec *pool = &draft->pool;
  if (!hr__has(draft->entry, "memory") && pool->sharing == HR_SHARING_TIME_SLICE)
    pool->memory = HR_GPU_MEMORY_FIRST_COME;
  enum hr_status status = check_keys(builder, draft->entry, pool->sharing);
  if (status == HR_OK) status = check_interference(builder, draft);
  return status == HR_OK ? build_mig(builder, draft) : status;
}

/* ---- Topology ------------------------------------------------------------------------------------------ */

/*
 * `topology` of a pool: islands, NUMA domains, racks, zones, and the networks that connect them. `network_speeds`: the
 * speed of jobs with GPUs that are connected by a network.
 *
 * The size of each tier divides that of the next larger tier. The table of speeds is sorted by network, model and GPUs.
 * If the scenario has rows for a model and a network, all rows of the catalogue for this model and network are ignored.
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

/* Reports a network of a tier that the pool does not have. */
static enum hr_status check_network(struct hr__builder *builder, const cJSON *entry,
                                    const struct hr_topology *topology) {
  const cJSON *network = hr__get(entry, "network");
  for (unsigned tier = HR_TIER_ISLAND; tier < HR_N_TIERS; tier++)
    if (hr__has(network, tiers[tier]) && !hr_topology_has(topology, (enum hr_tier)tier))
      return hr__build_fail_at(builder, network, tiers[tier], "the pool has no tier '%s'; set '%s'", tiers[tier],
                               sizes[tier]);
  return HR_OK;
}

enum hr_status hr__build_topology(struct hr__builder *builder, struct hr__pool_draft *draft) {
  const cJSON *entry = hr__get(draft->entry, "topology");
  if (!entry) return HR_OK;
  enum hr_status status = check_gpus(builder, entry, &draft->pool);
  if (status == HR_OK) status = check_nodes(builder, entry, &draft->pool.topology);
  return status == HR_OK ? check_network(builder, entry, &draft->pool.topology) : status;
}

/* ---- Speeds by network ------------------------------------------------------------------------------ */

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
    enum hr_status status = hr__read(builder, entry, hr__table_of(&hr__scenario_keys, "network_speeds"), row);
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
    status = hr_notes_add(&builder->scenario->notes,
                          "warning: 'network_speeds' has no effect: no pool has a 'network' in its 'topology'") == HR_OK
                 ? HR_OK
                 : hr__build_no_memory(builder);
  return status;
}

/* ---- Speeds of elastic jobs ------------------------------------------------------------------------- */

/* Rows of all models, which have no name, come first. */
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
    enum hr_status status = hr__read(builder, entry, hr__table_of(&hr__scenario_keys, "scaling"), row);
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
