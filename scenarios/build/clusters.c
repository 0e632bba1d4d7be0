/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `clusters`, `router` and `data` of a scenario: where pools and data are.
 *
 * Each cluster is built as a scenario of its own. The tree of this scenario refers to parts of the file. Its `cluster`
 * is the entry of `clusters`. Its other sections are those of the entry; if the entry lacks one, it is that of the
 * file. The pools of all clusters are then copied to one list, the pools of the whole scenario. A copy borrows all data
 * from the pool of the cluster, except its name, "CLUSTER/POOL".
 */

#include "headroom/unstable/data.h"
#include "headroom/unstable/scenario_files.h"
#include "headroom/unstable/services.h"
#include "headroom/unstable/systems/systems.h"
#include "scenarios/build/builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Data ------------------------------------------------------------------------------------------- */

/*
 * A location is the name of a pool, a cluster or a region. This file resolves locations when the scenario is loaded: it
 * finds the link from each storage system to each pool and to each other storage system. The engine identifies pools,
 * storage systems and links by their numbers.
 */

struct data_places {
  const struct hr_scenario *scenario;
  const struct hr_data_spec *spec;
};

/* Returns the name of the cluster of a pool; "" in a scenario with one cluster. */
static const char *cluster_of(const struct hr_scenario *scenario, uint32_t pool) {
  const struct hr_scenario_clusters *clusters = scenario->clusters;
  uint32_t at = 0;
  while (clusters && pool >= clusters->at[at].scenario->cluster.n_pools)
    pool -= clusters->at[at++].scenario->cluster.n_pools;
  return clusters ? clusters->at[at].name : "";
}

static bool pool_is_in(const struct hr_scenario *scenario, uint32_t pool, const char *location) {
  const struct hr_pool_spec *spec = &scenario->cluster.pools[pool];
  return strcmp(spec->name, location) == 0 || strcmp(cluster_of(scenario, pool), location) == 0 ||
         (spec->region && strcmp(spec->region, location) == 0);
}

/* Returns whether a storage system is in `location`. This is true if `location` is the location of the storage system,
   or if that location has pools and all of them are in `location`. */
static bool storage_is_in(const struct data_places *places, uint32_t storage, const char *location) {
  const char *own = places->spec->storage[storage].location;
  if (strcmp(own, location) == 0) return true;
  bool any = false, all = true;
  for (uint32_t i = 0; i < places->scenario->cluster.n_pools; i++) {
    if (!pool_is_in(places->scenario, i, own)) continue;
    any = true;
    all = all && pool_is_in(places->scenario, i, location);
  }
  return any && all;
}

/* ---- Data: names ------------------------------------------------------------------------------------ */

/* Returns whether `name` names the region `provider_region` of the catalogue. Such a region begins with the provider
   ("aws:us-east-1"), and may end with the letter of a zone ("gcp:us-central1-a"). `name` may omit the provider, or the
   provider and the zone. */
static bool is_same_region(const char *name, const char *provider_region) {
  if (strcmp(name, provider_region) == 0) return true;
  const char *region = strchr(provider_region, ':');
  if (!region) return false;
  const size_t length = strlen(++region), own = strlen(name);
  if (strncmp(name, region, own) != 0) return false;
  return own == length || (length == own + 2 && region[own] == '-');
}

/* Returns whether the catalogue has a region of this name, or a link from such a region. */
static bool is_region(const struct hr_catalog *catalog, const char *name) {
  for (size_t i = 0; i < catalog->n_regions; i++)
    if (strcmp(catalog->regions[i].name, name) == 0 || strcmp(catalog->regions[i].base, name) == 0) return true;
  for (size_t i = 0; i < catalog->n_region_links; i++)
    if (is_same_region(name, catalog->region_links[i].from)) return true;
  return false;
}

static const char *entry_name(const cJSON *entry) {
  return hr__text_of(entry, "name", "");
}

/* Returns the index of the entry with the name `name`; HR_NONE: no entry has this name. `list` may be NULL. */
static uint32_t number_of(const cJSON *list, const char *name) {
  uint32_t at = 0;
  for (const cJSON *entry = list ? list->child : NULL; entry; entry = entry->next, at++)
    if (strcmp(entry_name(entry), name) == 0) return at;
  return HR_NONE;
}

/* Reports that no entry of the list has the name in `value`. Returns HR_BAD_INPUT or HR_NO_MEMORY. */
static enum hr_status fail_unknown(const struct hr__builder *builder, const cJSON *value, const cJSON *list,
                                   const char *noun) {
  const char **known = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *known);
  if (!known) return hr__build_no_memory(builder);
  size_t count = 0;
  for (const cJSON *entry = list ? list->child : NULL; entry; entry = entry->next) known[count++] = entry_name(entry);
  const char *nearest = hr_nearest_word(value->valuestring, known);
  const enum hr_status status =
      hr__build_fail(builder, value, "no %s has the name '%.60s'%s%s%s", noun, value->valuestring,
                     nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
  free(known);
  return status;
}

static enum hr_status check_data_names(const struct hr__builder *builder, const cJSON *list, const char *noun) {
  const cJSON *entry = hr__repeated(list, "name");
  if (!entry) return HR_OK;
  return hr__build_fail_at(builder, entry, "name", "two %s have the name '%.60s'", noun, entry_name(entry));
}

/* Checks that the value of `key` is a location: a pool, a cluster or a region of this scenario, or a region of the
   catalogue. */
static enum hr_status check_location(struct hr__builder *builder, const cJSON *entry, const char *key) {
  const struct hr_scenario *scenario = builder->scenario;
  const cJSON *value = hr__get(entry, key);
  const char *name = value->valuestring;
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++)
    if (pool_is_in(scenario, i, name)) return HR_OK;
  const enum hr_status opened = hr__open_catalog(builder);
  if (opened != HR_OK || is_region(builder->catalog, name)) return opened;
  const char **known = calloc(3 * (size_t)scenario->cluster.n_pools + 1, sizeof *known);
  if (!known) return hr__build_no_memory(builder);
  size_t count = 0;
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++) {
    known[count++] = scenario->cluster.pools[i].name;
    known[count++] = cluster_of(scenario, i);
    if (scenario->cluster.pools[i].region) known[count++] = scenario->cluster.pools[i].region;
  }
  const char *nearest = hr_nearest_word(name, known);
  const enum hr_status status =
      hr__build_fail(builder, value, "unknown location '%.60s'; a pool, a cluster or a region is expected%s%s%s", name,
                     nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
  free(known);
  return status;
}

static enum hr_status check_locations(struct hr__builder *builder, const cJSON *list, const char *key) {
  enum hr_status status = HR_OK;
  for (const cJSON *entry = list ? list->child : NULL; entry && status == HR_OK; entry = entry->next)
    status = check_location(builder, entry, key);
  return status;
}

/* Refuses two caches for one location, because the second would have no effect. */
static enum hr_status check_caches(const struct hr__builder *builder, const cJSON *list) {
  const cJSON *entry = hr__repeated(list, "location");
  if (!entry) return HR_OK;
  return hr__build_fail_at(builder, entry, "location", "duplicate cache in '%.60s'; keep one",
                           hr__text_of(entry, "location", ""));
}

/* ---- Data: sets and reads --------------------------------------------------------------------------- */

/* Sets `*numbers` to an array [count] with the indexes of the storage systems that `names` lists. The caller frees it,
   also after an error. */
static enum hr_status find_storage(const struct hr__builder *builder, const cJSON *data, const cJSON *names,
                                   uint32_t count, uint32_t **numbers) {
  *numbers = calloc((size_t)count + 1, sizeof **numbers);
  if (!*numbers) return hr__build_no_memory(builder);
  if (hr__build_check_distinct(builder, names) != HR_OK) return HR_BAD_INPUT;
  uint32_t at = 0;
  for (const cJSON *name = names ? names->child : NULL; name; name = name->next, at++) {
    (*numbers)[at] = number_of(hr__get(data, "storage"), name->valuestring);
    if ((*numbers)[at] == HR_NONE) return fail_unknown(builder, name, hr__get(data, "storage"), "storage system");
  }
  return HR_OK;
}

/* Refuses copies of a data set on a storage system that already has it. */
static enum hr_status check_copies(const struct hr__builder *builder, const cJSON *entry,
                                   const struct hr_data_set *set) {
  for (uint32_t i = 0; i < set->n_copies; i++)
    for (uint32_t k = 0; k < set->n_storage; k++)
      if (set->copies[i] == set->storage[k])
        return hr__build_fail(builder, cJSON_GetArrayItem(hr__get(entry, "copies"), (int)i),
                              "'%.60s' has the data set already; a storage system that is not in 'storage' is expected",
                              set->copy_names[i]);
  return HR_OK;
}

static enum hr_status build_sets(const struct hr__builder *builder, const cJSON *data, struct hr_data_spec *spec) {
  uint32_t at = 0;
  enum hr_status status = check_data_names(builder, hr__get(data, "sets"), "data sets");
  for (const cJSON *entry = hr__first(data, "sets"); entry && status == HR_OK; entry = entry->next, at++) {
    struct hr_data_set *set = &spec->sets[at];
    status = find_storage(builder, data, hr__get(entry, "storage"), set->n_storage, &set->storage);
    if (status == HR_OK) status = find_storage(builder, data, hr__get(entry, "copies"), set->n_copies, &set->copies);
    if (status == HR_OK) status = check_copies(builder, entry, set);
    if (status == HR_OK && hr__has(entry, "copy") && set->n_copies == 0)
      status = hr__build_fail_at(builder, entry, "copy", "'copy' has no effect without 'copies'");
  }
  return status;
}

static enum hr_status build_reads(const struct hr__builder *builder, const cJSON *data, struct hr_data_spec *spec) {
  uint32_t at = 0;
  for (const cJSON *entry = hr__first(data, "reads"); entry; entry = entry->next, at++) {
    struct hr_data_read *read = &spec->reads[at];
    if (!hr__has(entry, "class")) read->class_ = HR_NONE;
    read->set = read->set_name ? number_of(hr__get(data, "sets"), read->set_name) : HR_NONE;
    if (read->set_name && read->set == HR_NONE)
      return fail_unknown(builder, hr__get(entry, "set"), hr__get(data, "sets"), "data set");
    if (hr__has(entry, "epochs") == hr__has(entry, "gb_s_per_gpu"))
      return hr__build_fail(builder, entry, "either 'epochs' or 'gb_s_per_gpu' is expected");
  }
  return HR_OK;
}

/* ---- Data: links ------------------------------------------------------------------------------------ */

static const struct hr_region_link *catalogued(const struct hr_catalog *catalog, const char *from, const char *to) {
  for (size_t i = 0; i < catalog->n_region_links; i++)
    if (is_same_region(from, catalog->region_links[i].from) && is_same_region(to, catalog->region_links[i].to))
      return &catalog->region_links[i];
  return NULL;
}

/* Checks a link, and sets bandwidth, latency and price from the catalogue if the entry lacks them. `first`: the first
   link of the list. The links from `first` to the one before `link` are built already. */
static enum hr_status build_link(struct hr__builder *builder, const cJSON *entry, const struct hr_data_link *first,
                                 struct hr_data_link *link) {
  enum hr_status status = check_location(builder, entry, "from");
  if (status == HR_OK) status = check_location(builder, entry, "to");
  if (status == HR_OK) status = hr__open_catalog(builder);
  if (status != HR_OK) return status;
  if (strcmp(link->from, link->to) == 0)
    return hr__build_fail_at(builder, entry, "to", "the link leads from '%.60s' to itself", link->from);
  for (const struct hr_data_link *other = first; other < link; other++)
    if (strcmp(other->from, link->from) == 0 && strcmp(other->to, link->to) == 0)
      return hr__build_fail(builder, entry, "two links lead from '%.60s' to '%.60s'", link->from, link->to);
  for (uint32_t i = 1; i < link->n_tiers; i++)
    if (link->tiers[i].above_bytes <= link->tiers[i - 1].above_bytes)
      return hr__build_fail_at(builder, cJSON_GetArrayItem(hr__get(entry, "tiers"), (int)i), "above_gb",
                               "the amounts of 'tiers' must rise");
  const struct hr_region_link *known = catalogued(builder->catalog, link->from, link->to);
  if (!known && !hr__has(entry, "gb_s") && !hr__has(entry, "client_gb_s"))
    return hr__build_fail(
        builder, entry,
        "the link has no bandwidth; 'gb_s' or 'client_gb_s' is expected, as the catalogue has no link "
        "from '%.60s' to '%.60s'",
        link->from, link->to);
  if (!known) return HR_OK;
  if (!hr__has(entry, "gb_s") && !hr__has(entry, "client_gb_s"))
    link->client_bytes_s = (int64_t)llround(known->gbit_s * 125e6);
  if (!hr__has(entry, "latency_s") && known->rtt_ms != HR_UNKNOWN_NUMBER)
    link->latency_us = (int64_t)llround(known->rtt_ms * 1000);
  if (!hr__has(entry, "usd_per_gb") && known->usd_per_gb != HR_UNKNOWN_NUMBER)
    link->uusd_per_gb = (int64_t)llround(known->usd_per_gb * 1e6);
  return HR_OK;
}

static enum hr_status build_links(struct hr__builder *builder, const cJSON *data, struct hr_data_spec *spec) {
  uint32_t at = 0;
  enum hr_status status = HR_OK;
  for (const cJSON *entry = hr__first(data, "links"); entry && status == HR_OK; entry = entry->next)
    status = build_link(builder, entry, spec->links, &spec->links[at++]);
  return status;
}

/* ---- Data: routes ----------------------------------------------------------------------------------- */

/* route_to_pool() returns the route from a storage system to a pool, route_to_storage() that to a storage system. If
   both are in the same location, the route has no link. Otherwise it is the first suitable link of the list. */
static struct hr_data_route route_to_pool(const struct data_places *places, uint32_t from, uint32_t pool) {
  const struct hr_data_spec *spec = places->spec;
  if (pool_is_in(places->scenario, pool, spec->storage[from].location)) return (struct hr_data_route){true, HR_NONE};
  for (uint32_t i = 0; i < spec->n_links; i++)
    if (storage_is_in(places, from, spec->links[i].from) && pool_is_in(places->scenario, pool, spec->links[i].to))
      return (struct hr_data_route){true, i};
  return (struct hr_data_route){false, HR_NONE};
}

static struct hr_data_route route_to_storage(const struct data_places *places, uint32_t from, uint32_t to) {
  const struct hr_data_spec *spec = places->spec;
  if (strcmp(spec->storage[from].location, spec->storage[to].location) == 0)
    return (struct hr_data_route){true, HR_NONE};
  for (uint32_t i = 0; i < spec->n_links; i++)
    if (storage_is_in(places, from, spec->links[i].from) && storage_is_in(places, to, spec->links[i].to))
      return (struct hr_data_route){true, i};
  return (struct hr_data_route){false, HR_NONE};
}

static enum hr_status find_routes(const struct hr__builder *builder, const struct data_places *places,
                                  struct hr_data_spec *spec) {
  spec->n_pools = places->scenario->cluster.n_pools;
  spec->to_pool = calloc((size_t)spec->n_storage * spec->n_pools + 1, sizeof *spec->to_pool);
  spec->to_storage = calloc((size_t)spec->n_storage * spec->n_storage + 1, sizeof *spec->to_storage);
  spec->cache_of = calloc((size_t)spec->n_pools + 1, sizeof *spec->cache_of);
  if (!spec->to_pool || !spec->to_storage || !spec->cache_of) return hr__build_no_memory(builder);
  for (uint32_t i = 0; i < spec->n_storage; i++) {
    for (uint32_t k = 0; k < spec->n_pools; k++)
      spec->to_pool[(size_t)i * spec->n_pools + k] = route_to_pool(places, i, k);
    for (uint32_t k = 0; k < spec->n_storage; k++)
      spec->to_storage[(size_t)i * spec->n_storage + k] = route_to_storage(places, i, k);
  }
  for (uint32_t k = 0; k < spec->n_pools; k++) {
    spec->cache_of[k] = HR_NONE;
    for (uint32_t i = spec->n_caches; i-- > 0;)
      if (pool_is_in(places->scenario, k, spec->caches[i].location)) spec->cache_of[k] = i;
  }
  return HR_OK;
}

/* Checks that every pool with nodes has a route from a storage system with the data set. `rule`: the value that makes
   jobs or services read the data set; it is the place of the error. `only_in`: check only the pools of this cluster;
   NULL: check all pools. */
static enum hr_status check_reach(const struct hr__builder *builder, const cJSON *rule, const struct hr_data_spec *spec,
                                  const struct hr_data_set *set, const char *only_in) {
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  for (uint32_t pool = 0; pool < spec->n_pools; pool++) {
    bool reaches = cluster->pools[pool].nodes == 0;
    if (only_in && strcmp(cluster_of(builder->scenario, pool), only_in) != 0) continue;
    for (uint32_t k = 0; k < set->n_storage; k++)
      reaches = reaches || spec->to_pool[(size_t)set->storage[k] * spec->n_pools + pool].exists;
    if (!reaches)
      return hr__build_fail(builder, rule, "pool '%.60s' has no link from a storage system with the data set '%.60s'",
                            cluster->pools[pool].name, set->name);
  }
  return HR_OK;
}

/* Checks that every pool with nodes has a route from each data set that its jobs may read. Also checks that each
   storage system in `copies` has a route from a storage system with the data set. If an entry of `reads` names no data
   set, jobs may read all data sets. */
static enum hr_status check_routes(const struct hr__builder *builder, const cJSON *data,
                                   const struct hr_data_spec *spec) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < spec->n_reads; i++)
    for (uint32_t set = 0; set < spec->n_sets && status == HR_OK; set++)
      if (spec->reads[i].set == HR_NONE || spec->reads[i].set == set)
        status = check_reach(builder, cJSON_GetArrayItem(hr__get(data, "reads"), (int)i), spec, &spec->sets[set], NULL);
  if (status != HR_OK) return status;
  for (uint32_t i = 0; i < spec->n_sets; i++)
    for (uint32_t k = 0; k < spec->sets[i].n_copies; k++) {
      bool reaches = false;
      for (uint32_t from = 0; from < spec->sets[i].n_storage; from++)
        reaches =
            reaches ||
            spec->to_storage[(size_t)spec->sets[i].storage[from] * spec->n_storage + spec->sets[i].copies[k]].exists;
      if (!reaches)
        return hr__build_fail_at(builder, cJSON_GetArrayItem(hr__get(data, "sets"), (int)i), "copies",
                                 "no link leads from a storage system with the data set to '%.60s'",
                                 spec->sets[i].copy_names[k]);
    }
  return HR_OK;
}

/* ---- Data: weights of services ---------------------------------------------------------------------- */

static int64_t least(int64_t limit, int64_t bytes_s) {
  return bytes_s > 0 && bytes_s < limit ? bytes_s : limit;
}

/* Returns the highest rate, in bytes per second, at which one node of a pool can read a data set if nothing else is
   transferred. */
static int64_t best_rate(const struct hr_data_spec *spec, const struct hr_data_set *set, uint32_t pool) {
  int64_t best = 0;
  for (uint32_t i = 0; i < set->n_storage; i++) {
    const struct hr_data_route *route = &spec->to_pool[(size_t)set->storage[i] * spec->n_pools + pool];
    const struct hr_data_storage *storage = &spec->storage[set->storage[i]];
    int64_t rate = least(storage->bytes_s, storage->client_bytes_s);
    if (!route->exists) continue;
    if (route->link != HR_NONE)
      rate = least(least(rate, spec->links[route->link].bytes_s), spec->links[route->link].client_bytes_s);
    if (rate > best) best = rate;
  }
  return best;
}

/* Sets the data set with the weights of a service, and the time to load it in the slowest pool. Predictions use this
   time. Adds a note if a pool has no cache although the service uses caches. */
static enum hr_status bind_service(const struct hr__builder *builder, const cJSON *cold,
                                   const struct hr_data_spec *spec, struct hr_service *service) {
  struct hr_cold_start *self = &service->cold_start;
  const struct hr_cluster_spec *cluster = &builder->scenario->cluster;
  uint32_t set = 0;
  if (hr__has(cold, "weights_s"))
    return hr__build_fail_at(builder, cold, "weights_s", "'weights' and 'weights_s' exclude each other");
  if (!spec)
    return hr__build_fail_at(builder, cold, "weights", "'weights' names a data set, but the scenario has no 'data'");
  while (set < spec->n_sets && strcmp(spec->sets[set].name, self->weights) != 0) set++;
  if (set == spec->n_sets)
    return hr__build_fail_at(builder, cold, "weights", "'data.sets' has no '%.60s'", self->weights);
  const struct hr_scenario_clusters *clusters = builder->scenario->clusters;
  const char *only_in = clusters ? clusters->at[service->cluster].name : NULL;
  const enum hr_status status = check_reach(builder, cold, spec, &spec->sets[set], only_in);
  if (status != HR_OK) return status;
  int64_t rate = INT64_MAX;
  for (uint32_t pool = 0; pool < spec->n_pools; pool++)
    if (cluster->pools[pool].nodes > 0 && (!only_in || strcmp(cluster_of(builder->scenario, pool), only_in) == 0))
      rate = least(rate, best_rate(spec, &spec->sets[set], pool));
  self->weights_set = set;
  self->weights_us = (int64_t)((double)spec->sets[set].bytes / (double)rate * (double)HR_SECOND_US);
  for (uint32_t pool = 0; pool < spec->n_pools && self->caches; pool++)
    if (cluster->pools[pool].nodes > 0 && spec->cache_of[pool] == HR_NONE &&
        (!only_in || strcmp(cluster_of(builder->scenario, pool), only_in) == 0))
      return hr__build_note(
          builder,
          "service '%.60s': each start in pool '%.60s' loads the weights again, because 'data.caches' has "
          "no cache there",
          service->name, cluster->pools[pool].name);
  return HR_OK;
}

/* Calls bind_service() for each service that loads its weights from a data set. `spec`: NULL if the scenario has no
   `data`. */
static enum hr_status bind_weights(const struct hr__builder *builder, const struct hr_data_spec *spec) {
  const struct hr_services *services = builder->scenario->services;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; services && i < services->count && status == HR_OK; i++) {
    struct hr_service *service = &services->at[i];
    const cJSON *entry = cJSON_GetArrayItem(hr__get(builder->source.file.tree, "services"), (int)service->stated);
    if (service->cold_start.weights) status = bind_service(builder, hr__get(entry, "cold_start"), spec, service);
  }
  return status;
}

/* ---- Data: the section ------------------------------------------------------------------------------ */

enum hr_status hr__build_data(struct hr__builder *builder) {
  const cJSON *tree = builder->source.file.tree, *data = hr__get(tree, "data");
  if (!data) return bind_weights(builder, NULL);
  struct hr_data_spec *spec = calloc(1, sizeof *spec);
  if (!spec) return hr__build_no_memory(builder);
  builder->scenario->data = spec;
  const struct data_places places = {builder->scenario, spec};
  enum hr_status status = hr__read_at(builder, data, "data", spec);
  if (status == HR_OK) status = check_data_names(builder, hr__get(data, "storage"), "storage systems");
  if (status == HR_OK) status = check_locations(builder, hr__get(data, "storage"), "location");
  if (status == HR_OK) status = check_locations(builder, hr__get(data, "caches"), "location");
  if (status == HR_OK) status = check_caches(builder, hr__get(data, "caches"));
  if (status == HR_OK) status = build_sets(builder, data, spec);
  if (status == HR_OK) status = build_links(builder, data, spec);
  if (status == HR_OK) status = build_reads(builder, data, spec);
  if (status == HR_OK) status = find_routes(builder, &places, spec);
  if (status == HR_OK) status = check_routes(builder, data, spec);
  return status == HR_OK ? bind_weights(builder, spec) : status;
}

void hr__data_destroy(struct hr_data_spec *spec) {
  if (!spec) return;
  for (uint32_t i = 0; i < spec->n_sets; i++) {
    free(spec->sets[i].storage);
    free(spec->sets[i].copies);
  }
  free(spec->to_pool);
  free(spec->to_storage);
  free(spec->cache_of);
  hr__finish_values(hr__table_of(&hr__scenario_keys, "data"), spec);
  free(spec);
}

/* ---- Clusters --------------------------------------------------------------------------------------- */

/* `common`: sections of the file that apply to all clusters. `own`: sections that an entry of `clusters` may have, too;
   they replace those of the file. */
static const char *const common[] = {"catalog", "classes", "models", "network_speeds", "scaling"};
static const char *const own[] = {"policy", "quotas", "kai", "kueue", "kubernetes", "volcano", "slurm"};

/* Adds a reference to a value. Does nothing if `value` is NULL. Returns false if memory runs out. */
static bool refer(cJSON *tree, const char *name, const cJSON *value) {
  return !value || cJSON_AddItemReferenceToObject(tree, name, (cJSON *)(uintptr_t)value);
}

/* Returns the tree of a cluster, which refers to values of the file; NULL: out of memory. The caller frees it. */
static cJSON *tree_of(const cJSON *file, const cJSON *entry) {
  cJSON *tree = cJSON_CreateObject();
  bool made = tree && refer(tree, "cluster", entry);
  for (size_t i = 0; made && i < sizeof common / sizeof *common; i++)
    made = refer(tree, common[i], hr__get(file, common[i]));
  for (size_t i = 0; made && i < sizeof own / sizeof *own; i++)
    made = refer(tree, own[i], hr__has(entry, own[i]) ? hr__get(entry, own[i]) : hr__get(file, own[i]));
  if (made) return tree;
  cJSON_Delete(tree);
  return NULL;
}

/* Sets the region of pools without one to that of their cluster. Sets the provider of pools with an instance type, but
   without a provider, to that of their cluster. Returns false if memory runs out. */
static bool inherit(const cJSON *entry) {
  const cJSON *region = hr__get(entry, "region"), *provider = hr__get(entry, "provider"),
              *pools = hr__get(entry, "pools");
  bool made = true;
  for (cJSON *pool = pools ? pools->child : NULL; pool && made; pool = pool->next) {
    if (!hr__has(pool, "region")) made = refer(pool, "region", region);
    if (made && hr__has(pool, "instance") && !hr__has(pool, "provider")) made = refer(pool, "provider", provider);
  }
  return made;
}

/* Copies the notes of a cluster and the list of its files to the scenario. */
static enum hr_status move_notes(struct hr__builder *builder, const char *name, const struct hr_scenario *part) {
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < part->notes.count && status == HR_OK; i++)
    status = hr__build_note(builder, "cluster '%s': %s", name, part->notes.text[i]);
  for (size_t i = 0; i < part->files.count && status == HR_OK; i++)
    status = hr_notes_add(&builder->scenario->files, "%s", part->files.text[i]);
  return status == HR_OK ? HR_OK : hr__build_no_memory(builder);
}

static enum hr_status build_entry(struct hr__builder *builder, const cJSON *entry,
                                  struct hr_scenario_cluster *cluster) {
  cJSON *tree = inherit(entry) ? tree_of(builder->source.file.tree, entry) : NULL;
  cluster->scenario = calloc(1, sizeof *cluster->scenario);
  if (!tree || !cluster->scenario) {
    cJSON_Delete(tree);
    return hr__build_no_memory(builder);
  }
  struct hr__builder part = {.source = builder->source,
                             .scenario = cluster->scenario,
                             .error = builder->error,
                             .shared_catalog = hr__has(builder->source.file.tree, "catalog") ? builder->shared_catalog
                                                                                             : builder->catalog};
  part.source.places = builder->source.file.tree;
  part.source.file.tree = tree;
  enum hr_status status = hr__build_part(&part);
  if (status == HR_OK && cluster->own_policy)
    status = hr__build_note(builder, "cluster '%s' has its own policy, '%s'", cluster->name,
                            cluster->scenario->policy.ops->name);
  if (status == HR_OK) status = move_notes(builder, cluster->name, cluster->scenario);
  builder->scenario->prices_drawn = builder->scenario->prices_drawn || cluster->scenario->prices_drawn;
  hr_catalog_destroy(part.own_catalog);
  cJSON_Delete(tree);
  return status;
}

static enum hr_status check_cluster_names(struct hr__builder *builder, const cJSON *list) {
  for (const cJSON *entry = list->child; entry; entry = entry->next)
    for (const cJSON *other = list->child; other != entry; other = other->next) {
      if (strcmp(hr__text_of(entry, "name", ""), hr__text_of(other, "name", "")) == 0)
        return hr__build_fail_at(builder, entry, "name", "two clusters have the name '%.60s'",
                                 hr__text_of(entry, "name", ""));
      const cJSON *tenant, *taken;
      cJSON_ArrayForEach(tenant, hr__get(entry, "tenants")) cJSON_ArrayForEach(
          taken,
          hr__get(other,
                  "tenants")) if (strcmp(tenant->valuestring, taken->valuestring) ==
                                  0) return hr__build_fail(builder, tenant,
                                                           "tenant '%.60s' already has its home in cluster '%.60s'",
                                                           tenant->valuestring, hr__text_of(other, "name", ""));
    }
  return HR_OK;
}

/* Copies the pools of the clusters, with names "CLUSTER/POOL". */
static enum hr_status join_pools(struct hr__builder *builder, struct hr_scenario_clusters *clusters) {
  struct hr_cluster_spec *whole = &builder->scenario->cluster;
  size_t count = 0;
  for (uint32_t i = 0; i < clusters->count; i++) count += clusters->at[i].scenario->cluster.n_pools;
  whole->pools = calloc(count + 1, sizeof *whole->pools);
  builder->scenario->pool_sources = calloc(count + 1, sizeof *builder->scenario->pool_sources);
  if (!whole->pools || !builder->scenario->pool_sources) return hr__build_no_memory(builder);
  for (uint32_t i = 0; i < clusters->count; i++) {
    const struct hr_cluster_spec *part = &clusters->at[i].scenario->cluster;
    whole->by_gpu = whole->by_gpu || hr_cluster_spec_by_gpu(part);
    whole->mig_fallback = whole->mig_fallback || part->mig_fallback;
    for (uint32_t k = 0; k < part->n_pools; k++) {
      struct hr_pool_spec *pool = &whole->pools[whole->n_pools];
      const size_t bytes = strlen(clusters->at[i].name) + strlen(part->pools[k].name) + sizeof "/";
      char *name = malloc(bytes);
      if (!name) return hr__build_no_memory(builder);
      snprintf(name, bytes, "%s/%s", clusters->at[i].name, part->pools[k].name);
      *pool = part->pools[k];
      pool->name = name;
      if (clusters->at[i].scenario->pool_sources)
        builder->scenario->pool_sources[whole->n_pools] = clusters->at[i].scenario->pool_sources[k];
      whole->n_pools++;
    }
  }
  if (whole->n_pools > HR_MAX_POOLS)
    return hr__build_fail(builder, hr__get(builder->source.file.tree, "clusters"),
                          "the clusters have %u pools; at most %u", whole->n_pools, HR_MAX_POOLS);
  return HR_OK;
}

static enum hr_status make_parts(struct hr__builder *builder, struct hr_scenario_clusters *clusters) {
  clusters->parts = calloc((size_t)clusters->count + 1, sizeof *clusters->parts);
  if (!clusters->parts) return hr__build_no_memory(builder);
  for (uint32_t i = 0; i < clusters->count; i++) {
    const struct hr_scenario_cluster *cluster = &clusters->at[i];
    const struct hr_scenario *part = cluster->scenario;
    clusters->parts[i] = (struct hr_cluster_part){.name = cluster->name,
                                                  .cluster = &part->cluster,
                                                  .policy = cluster->own_policy ? part->policy.ops : NULL,
                                                  .params = cluster->own_policy ? part->policy.params : NULL,
                                                  .classes = part->classes,
                                                  .quotas = part->quotas,
                                                  .systems = part->systems,
                                                  .speeds = part->speeds,
                                                  .network_speeds = part->network_speeds,
                                                  .scaling = part->scaling,
                                                  .tenants = cluster->tenants,
                                                  .n_tenants = cluster->n_tenants,
                                                  .only = cluster->only,
                                                  .n_only = cluster->n_only};
  }
  return HR_OK;
}

/* ---- Router ----------------------------------------------------------------------------------------- */

static const struct hr__key *router_keys(void) {
  return hr__table_of(&hr__scenario_keys, "router");
}

/* Keys that have an effect with some routers only. `needs`: names of these routers, for messages. */
static const struct router_key {
  const char *name, *needs;
  uint32_t kinds; /* a set of bits 1 << enum hr_job_router_kind */
} router_key_table[] = {
    {"spill", "local-first or affinity", 1u << HR_JOB_ROUTER_LOCAL_FIRST | 1u << HR_JOB_ROUTER_AFFINITY},
    {"max_waiting", "local-first", 1u << HR_JOB_ROUTER_LOCAL_FIRST},
    {"keep_deadlines", "local-first", 1u << HR_JOB_ROUTER_LOCAL_FIRST},
    {"budget_usd", "local-first", 1u << HR_JOB_ROUTER_LOCAL_FIRST},
    {"rules", "affinity", 1u << HR_JOB_ROUTER_AFFINITY},
    {"dispatch", "multikueue", 1u << HR_JOB_ROUTER_MULTIKUEUE},
    {"step", "multikueue", 1u << HR_JOB_ROUTER_MULTIKUEUE},
    {"round_s", "multikueue", 1u << HR_JOB_ROUTER_MULTIKUEUE},
    {"timeout_s", "skypilot", 1u << HR_JOB_ROUTER_SKYPILOT},
    {"file", "plugin", 1u << HR_JOB_ROUTER_PLUGIN},
    {"settings", "plugin", 1u << HR_JOB_ROUTER_PLUGIN},
};

/* Routers that can use 'max_wait_s', 'reroute_s' and 'data_local_wait_s': they choose a cluster by its load, and can
   choose again while the job waits. */
enum {
  BY_LOAD = 1 << HR_JOB_ROUTER_LOCAL_FIRST | 1 << HR_JOB_ROUTER_CHEAPEST | 1 << HR_JOB_ROUTER_SHORTEST_WAIT |
            1 << HR_JOB_ROUTER_LEAST_LOADED | 1 << HR_JOB_ROUTER_AFFINITY | 1 << HR_JOB_ROUTER_PLUGIN
};

/* Returns whether a cluster serves at least one tenant of the rule. A cluster without 'only_tenants' serves all
   tenants. A rule without 'tenants' applies to all tenants. */
static bool serves_any(const struct hr_scenario_cluster *cluster, const struct hr_job_router_rule *rule) {
  if (!cluster->n_only || !rule->n_tenants) return true;
  for (uint32_t i = 0; i < rule->n_tenants; i++)
    for (uint32_t k = 0; k < cluster->n_only; k++)
      if (strcmp(rule->tenants[i], cluster->only[k]) == 0) return true;
  return false;
}

static enum hr_status build_rule(struct hr__builder *builder, const cJSON *json, struct hr_scenario_clusters *clusters,
                                 struct hr_job_router_rule *rule) {
  static const char *const lists[] = {"tenants", "classes", "clusters"};
  bool any = false;
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    if (hr__build_check_distinct(builder, hr__get(json, lists[i])) != HR_OK) return HR_BAD_INPUT;
  rule->clusters = calloc(rule->n_clusters, sizeof *rule->clusters);
  if (!rule->clusters) return hr__build_no_memory(builder);
  const cJSON *name = hr__get(json, "clusters")->child;
  for (uint32_t i = 0; i < rule->n_clusters; i++, name = name->next) {
    rule->clusters[i] = hr__cluster_named(clusters, rule->names[i]);
    if (rule->clusters[i] == HR_NONE)
      return hr__build_fail(builder, name, "no cluster has the name '%.60s'", rule->names[i]);
    any = any || serves_any(&clusters->at[rule->clusters[i]], rule);
  }
  if (any || !rule->only) return HR_OK;
  return hr__build_fail(builder, json, "the rule leaves no cluster: its clusters serve other tenants ('only_tenants')");
}

static enum hr_status build_rules(struct hr__builder *builder, const cJSON *json,
                                  struct hr_scenario_clusters *clusters) {
  const cJSON *entry = hr__first(json, "rules");
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; entry && i < clusters->router.n_rules && status == HR_OK; i++, entry = entry->next)
    status = build_rule(builder, entry, clusters, &clusters->router.rules[i]);
  return status;
}

/* Checks that no tenant has its home in a cluster that serves only other tenants. */
static enum hr_status check_homes(struct hr__builder *builder, const cJSON *list,
                                  const struct hr_scenario_clusters *clusters) {
  const cJSON *entry = list->child;
  for (uint32_t i = 0; i < clusters->count; i++, entry = entry->next) {
    const struct hr_scenario_cluster *cluster = &clusters->at[i];
    for (uint32_t k = 0; k < cluster->n_tenants; k++) {
      struct hr_job_router_rule rule = {.tenants = &cluster->tenants[k], .n_tenants = 1};
      if (!serves_any(cluster, &rule))
        return hr__build_fail_at(builder, entry, "tenants",
                                 "tenant '%.60s' has its home here, but 'only_tenants' lacks it", cluster->tenants[k]);
    }
  }
  return HR_OK;
}

/* Refuses keys that have no effect with the router, because the user expects an effect. Also checks that the keys exist
   that the router needs. */
static enum hr_status check_router(struct hr__builder *builder, const cJSON *json,
                                   const struct hr_scenario_clusters *clusters) {
  const struct hr_job_router_spec *router = &clusters->router;
  const char *name = hr_job_router_name(router->kind);
  const bool by_load = BY_LOAD >> router->kind & 1;
  for (size_t i = 0; i < sizeof router_key_table / sizeof *router_key_table; i++) {
    const struct router_key *key = &router_key_table[i];
    if (!(key->kinds >> router->kind & 1) && hr__has(json, key->name))
      return hr__build_fail_at(builder, json, key->name, "'%s' has no effect with the router '%s'; it needs %s",
                               key->name, name, key->needs);
  }
  if (!by_load && hr__has(json, "max_wait_s"))
    return hr__build_fail_at(builder, json, "max_wait_s", "'max_wait_s' has no effect with the router '%s'", name);
  if (!by_load && hr__has(json, "reroute_s"))
    return hr__build_fail_at(builder, json, "reroute_s", "'reroute_s' has no effect with the router '%s'", name);
  if (router->kind == HR_JOB_ROUTER_MULTIKUEUE && clusters->count > HR_MULTIKUEUE_CLUSTERS)
    return hr__build_fail_at(builder, json, "name", "the router '%s' can have at most %d clusters; there are %u", name,
                             HR_MULTIKUEUE_CLUSTERS, (unsigned)clusters->count);
  if (router->kind == HR_JOB_ROUTER_AFFINITY && !router->n_rules)
    return hr__build_fail_at(builder, json, "name", "the router 'affinity' needs 'rules'");
  if (router->kind == HR_JOB_ROUTER_PLUGIN && !router->file)
    return hr__build_fail_at(builder, json, "name", "the router 'plugin' needs 'file', the path of a shared object");
  if (hr__has(json, "data_local_wait_s") && !hr__has(builder->source.file.tree, "data"))
    return hr__build_fail_at(builder, json, "data_local_wait_s", "'data_local_wait_s' has no effect without 'data'");
  if (!by_load && hr__has(json, "data_local_wait_s"))
    return hr__build_fail_at(builder, json, "data_local_wait_s",
                             "'data_local_wait_s' has no effect with the router '%s'", name);
  return HR_OK;
}

/* Loads a router from a shared object and sets its parameters. */
static enum hr_status load_router(struct hr__builder *builder, const cJSON *json,
                                  struct hr_scenario_clusters *clusters) {
  struct hr_router_choice *choice = &clusters->router_plugin;
  struct hr_error inner;
  char buffer[32];
  enum hr_status status = hr_router_choice_init(choice, clusters->router.file, &inner);
  if (status != HR_OK) return hr__build_wrap(builder, hr__get(json, "file"), status, &inner);
  for (const cJSON *member = hr__first(json, "settings"); member; member = member->next) {
    status = hr_router_choice_set(choice, member->string, hr__scalar_text(member, buffer), &inner);
    if (status != HR_OK) return hr__build_wrap(builder, member, status, &inner);
  }
  clusters->router.ops = choice->ops;
  clusters->router.params = choice->params;
  return HR_OK;
}

static enum hr_status build_router(struct hr__builder *builder, struct hr_scenario_clusters *clusters) {
  const cJSON *json = hr__get(builder->source.file.tree, "router");
  clusters->router = (struct hr_job_router_spec){.kind = HR_JOB_ROUTER_HOME,
                                                 .spill = HR_JOB_ROUTER_CHEAPEST,
                                                 .max_waiting = HR_NONE,
                                                 .max_wait_us = HR_NEVER_US,
                                                 .budget_uusd = HR_NEVER_US};
  if (!json) return HR_OK;
  const enum hr_status status = hr__read(builder, json, router_keys(), &clusters->router);
  clusters->router.prefers_local_data = hr__has(json, "data_local_wait_s");
  if (status != HR_OK || check_router(builder, json, clusters) != HR_OK) return HR_BAD_INPUT;
  if (clusters->router.kind == HR_JOB_ROUTER_PLUGIN) return load_router(builder, json, clusters);
  return build_rules(builder, json, clusters);
}

enum hr_status hr__check_cluster_sections(struct hr__builder *builder) {
  const cJSON *tree = builder->source.file.tree;
  if (hr__has(tree, "clusters") && hr__has(tree, "cluster"))
    return hr__build_fail_at(builder, tree, "clusters", "'cluster' and 'clusters' exclude each other; keep one");
  if (hr__has(tree, "router") && !hr__has(tree, "clusters"))
    return hr__build_fail_at(builder, tree, "router", "'router' has no effect without 'clusters'");
  if (hr__has(tree, "cluster") || hr__has(tree, "clusters")) return HR_OK;
  char expected[200];
  hr__key_expected(hr__key_member(&hr__scenario_keys, "cluster"), expected, sizeof expected);
  return hr__build_fail(builder, tree, "the scenario lacks the key 'cluster'; %s is expected", expected);
}

enum hr_status hr__build_clusters(struct hr__builder *builder) {
  const cJSON *list = hr__get(builder->source.file.tree, "clusters");
  if (!list) return HR_OK;
  enum hr_status status = check_cluster_names(builder, list);
  if (status != HR_OK) return status;
  struct hr_scenario_clusters *clusters = calloc(1, sizeof *clusters);
  if (!clusters) return hr__build_no_memory(builder);
  builder->scenario->clusters = clusters;
  clusters->at = calloc((size_t)cJSON_GetArraySize(list), sizeof *clusters->at);
  if (!clusters->at) return hr__build_no_memory(builder);
  const struct hr__key *keys = hr__table_of(&hr__scenario_keys, "clusters");
  status = hr__open_catalog(builder); /* once for all clusters */
  for (const cJSON *entry = list->child; entry && status == HR_OK; entry = entry->next) {
    struct hr_scenario_cluster *cluster = &clusters->at[clusters->count++];
    status = hr__read(builder, entry, keys, cluster);
    if (status == HR_OK) status = hr__build_check_distinct(builder, hr__get(entry, "tenants"));
    if (status == HR_OK) status = hr__build_check_distinct(builder, hr__get(entry, "only_tenants"));
    cluster->own_policy = hr__has(entry, "policy");
    if (status == HR_OK) status = build_entry(builder, entry, cluster);
  }
  if (status == HR_OK) status = check_homes(builder, list, clusters);
  if (status == HR_OK) status = build_router(builder, clusters);
  if (status == HR_OK) status = join_pools(builder, clusters);
  return status == HR_OK ? make_parts(builder, clusters) : status;
}

const char *hr_scenario_pool_path(const struct hr_scenario *scenario, uint32_t pool, char text[HR_POOL_PATH_BYTES]) {
  const struct hr_scenario_clusters *clusters = scenario->clusters;
  uint32_t at = 0;
  while (clusters && pool >= clusters->at[at].scenario->cluster.n_pools)
    pool -= clusters->at[at++].scenario->cluster.n_pools;
  if (clusters)
    snprintf(text, HR_POOL_PATH_BYTES, "clusters.%u.pools.%u", (unsigned)at, (unsigned)pool);
  else
    snprintf(text, HR_POOL_PATH_BYTES, "cluster.pools.%u", (unsigned)pool);
  return text;
}

void hr_scenario_clusters_update(struct hr_scenario *scenario) {
  struct hr_scenario_clusters *clusters = scenario->clusters;
  uint32_t at = 0;
  for (uint32_t i = 0; clusters && i < clusters->count; i++) {
    struct hr_cluster_spec *part = &clusters->at[i].scenario->cluster;
    part->by_gpu = part->by_gpu || hr_cluster_spec_by_gpu(part);
    for (uint32_t k = 0; k < part->n_pools; k++) {
      char *name = part->pools[k].name;
      part->pools[k] = scenario->cluster.pools[at++];
      part->pools[k].name = name;
    }
  }
}

void hr__clusters_destroy(struct hr_scenario *scenario) {
  struct hr_scenario_clusters *clusters = scenario->clusters;
  if (!clusters) return;
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++) free(scenario->cluster.pools[i].name);
  free(scenario->cluster.pools);
  free(scenario->pool_sources);
  scenario->pool_sources = NULL;
  scenario->cluster = (struct hr_cluster_spec){0};
  for (uint32_t i = 0; i < clusters->count; i++) {
    hr_scenario_destroy(clusters->at[i].scenario);
    hr__grid_texts_free(clusters->at[i].tenants, clusters->at[i].n_tenants);
    hr__grid_texts_free(clusters->at[i].only, clusters->at[i].n_only);
    free(clusters->at[i].name);
  }
  for (uint32_t i = 0; i < clusters->router.n_rules; i++) free(clusters->router.rules[i].clusters);
  hr__finish_values(router_keys(), &clusters->router);
  hr_router_choice_finish(&clusters->router_plugin);
  free(clusters->at);
  free(clusters->parts);
  free(clusters);
  scenario->clusters = NULL;
}
