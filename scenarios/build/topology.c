/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `topology` of a pool: islands, NUMA domains, racks, zones, and the networks that connect them. `network_speeds`: the
 * speed of jobs with GPUs that are connected by a network.
 *
 * The size of each tier divides that of the next larger tier. The table of speeds is sorted by network, model and
 * GPUs. If the scenario has rows for a model and a network, all rows of the catalogue for this model and network are
 * ignored.
 */

#include "scenarios/build/builder.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

/* A network of a tier that the pool does not have is an error. */
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
