/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks whether the replicas of services can ever start, and whether all replicas fit at once. A replica is checked
 * against the pools of its cluster like a job: as a trace with one row. If no pool can hold a replica, the error is at
 * the key that excludes the pools.
 *
 * Elastic pools count with their maximum number of nodes. The numbers of nodes can be variables of a plan or a sweep,
 * so the values in the file are not final. A pool without nodes is therefore treated as if it had one node. In a
 * scenario with a plan, all pools are treated as if they had enough nodes.
 *
 * A note is added if some replicas never start because the pools hold fewer. The replicas of a service end together, so
 * those that get no GPUs at the start wait until the end.
 *
 * The default cost and memory of a replica are those for the GPU type of the first pool that can hold a replica. A
 * service has only one cost and one size of memory. If its replicas can also run on GPUs of another type, a note
 * states that they are assumed to be as fast there.
 */

#include "base/containers.h"
#include "headroom/mig.h"
#include "headroom/unstable/metrics.h"
#include "headroom/unstable/scenario_files.h"
#include "headroom/unstable/services.h"
#include "scenarios/build/builder.h"
#include "scenarios/catalog/catalog_tables.h"
#include "sim/cluster/cluster.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The replica as a job --------------------------------------------------------------------------- */

/* The columns of a trace with one row, and the texts to which they refer. */
struct replica_row {
  int64_t submit_us, work_us;
  uint64_t gpu_mem_mib, mem_mib;
  uint32_t gpus, cpu_milli, first;
  uint16_t gpu_milli;
  uint8_t class_, flags;
  const char *gpu_types, *regions, *profile, *model;
};

static struct hr_names names_of(const char *const *text) {
  return (struct hr_names){.count = *text != NULL, .text = text};
}

static struct replica_row row_of(const struct hr_service *service) {
  return (struct replica_row){.work_us = 1,
                              .gpu_mem_mib = service->gpu_mem_mib,
                              .mem_mib = service->mem_mib,
                              .gpus = service->gpus,
                              .cpu_milli = service->cpu_milli,
                              .gpu_milli = (uint16_t)(service->gpu_milli ? service->gpu_milli : 1000),
                              .class_ = (uint8_t)service->class_,
                              .flags = service->uninterruptible ? HR_JOB_NOT_INTERRUPTIBLE : 0,
                              .gpu_types = service->gpu_types,
                              .regions = service->regions,
                              .profile = service->mig_profile,
                              .model = service->model};
}

static struct hr_trace trace_of(const struct replica_row *row) {
  return (struct hr_trace){.n_jobs = 1,
                           .submit_us = &row->submit_us,
                           .work_us = &row->work_us,
                           .gpus = &row->gpus,
                           .class_ = &row->class_,
                           .gpu_milli = row->gpu_milli == 1000 ? NULL : &row->gpu_milli,
                           .gpu_mem_mib = row->gpu_mem_mib ? &row->gpu_mem_mib : NULL,
                           .cpu_milli = row->cpu_milli ? &row->cpu_milli : NULL,
                           .mem_mib = row->mem_mib ? &row->mem_mib : NULL,
                           .flags = row->flags ? &row->flags : NULL,
                           .gpu_type_lists = names_of(&row->gpu_types),
                           .gpu_types = row->gpu_types ? &row->first : NULL,
                           .region_lists = names_of(&row->regions),
                           .regions = row->regions ? &row->first : NULL,
                           .mig_profiles = names_of(&row->profile),
                           .mig_profile = row->profile ? &row->first : NULL,
                           .models = names_of(&row->model),
                           .model = row->model ? &row->first : NULL};
}

/* Sets `*reason` to the reason why no pool of a cluster can hold a replica; HR_REASON_NONE: a pool can. `usable_nodes`:
   the number of nodes of each pool that the policy lets jobs use; NULL: all nodes. */
static enum hr_status replica_reason(const struct hr_scenario *scenario, const struct hr_cluster_spec *cluster,
                                     const uint32_t *usable_nodes, const struct hr_service *service,
                                     enum hr_reason *reason, struct hr_error *error) {
  const struct replica_row row = row_of(service);
  const struct hr_trace trace = trace_of(&row);
  struct hr_rejections rejections;
  *reason = HR_REASON_NONE;
  const enum hr_status status = hr_rejections_predict(&trace, cluster, usable_nodes, scenario->classes,
                                                      scenario->speeds, NULL, NULL, &rejections, error);
  for (unsigned i = 0; i < HR_MAX_REASONS && status == HR_OK; i++)
    if (rejections.by_reason[i]) *reason = (enum hr_reason)i;
  return status;
}

/* Sets `*reason` as replica_reason() does, with the numbers of nodes that are described at the beginning of this file.
   A replica needs at most one node for each GPU, so more nodes are not checked. */
static enum hr_status find_reason(const struct hr__builder *builder, const struct hr_scenario *scenario,
                                  const struct hr_service *service, enum hr_reason *reason) {
  struct hr_cluster_spec cluster = scenario->cluster;
  const bool is_planned = hr__get(builder->source.file.tree, "plan") != NULL;
  cluster.pools = calloc((size_t)cluster.n_pools + 1, sizeof *cluster.pools);
  if (!cluster.pools) return hr__build_no_memory(builder);
  for (uint32_t i = 0; i < cluster.n_pools; i++) {
    struct hr_pool_spec *pool = &cluster.pools[i];
    *pool = scenario->cluster.pools[i];
    if (is_planned || pool->nodes > service->gpus) pool->nodes = service->gpus;
    if (!pool->nodes) pool->nodes = 1;
  }
  const enum hr_status status = replica_reason(scenario, &cluster, NULL, service, reason, builder->error);
  free(cluster.pools);
  return status;
}

/* ---- Errors ----------------------------------------------------------------------------------------- */

enum { LIST_BYTES = 300 };

/* The service of which a replica is checked. */
struct subject {
  const struct hr__builder *builder;
  const cJSON *entry, *replica;
  const struct hr_service *service;
  const struct hr_scenario *scenario; /* the scenario of the cluster of the service */
  const struct hr_cluster_spec *cluster;
  char pools[100]; /* "pool", or "pool of the cluster 'east'" */
};

static const char *gpu_of(const struct hr_pool_spec *pool) {
  return pool->gpu;
}

static const char *region_of(const struct hr_pool_spec *pool) {
  return pool->region;
}

/* Writes the distinct results of `name_of` for the pools to `text`. Returns the one that is most similar to the first
   name of the list `wanted`; NULL: none is similar. */
static const char *list_names(const struct hr_cluster_spec *cluster, const char *name_of(const struct hr_pool_spec *),
                              const char *wanted, char text[LIST_BYTES]) {
  const char *names[65] = {NULL};
  char first[100];
  size_t used = 0, count = 0;
  snprintf(first, sizeof first, "%.*s", (int)strcspn(wanted, "|"), wanted);
  text[0] = '\0';
  for (uint32_t i = 0; i < cluster->n_pools && count < 64; i++) {
    const char *name = name_of(&cluster->pools[i]);
    bool is_new = name != NULL;
    for (size_t k = 0; k < count && is_new; k++) is_new = strcmp(names[k], name) != 0;
    if (!is_new) continue;
    names[count++] = name;
    if (used + strlen(name) + 2 < LIST_BYTES)
      used += (size_t)snprintf(text + used, LIST_BYTES - used, "%s%s", used ? ", " : "", name);
  }
  return hr_nearest_word(first, names);
}

static enum hr_status fail_gpu_type(const struct subject *of) {
  const char *types = of->service->gpu_types;
  char listed[LIST_BYTES], hint[sizeof(struct hr_error)] = "";
  if (!types)
    return hr__build_fail_at(of->builder, of->replica, "gpu_type",
                             "a replica can never start: no %s has GPUs on which the model '%.60s' runs", of->pools,
                             of->service->model ? of->service->model : "");
  const char *nearest = list_names(of->cluster, gpu_of, types, listed);
  struct hr_error inner;
  if (nearest) {
    snprintf(hint, sizeof hint, "; did you mean '%.60s'?", nearest);
  } else if (hr__catalog_check_spelling_gpu(of->builder->catalog, types, &inner) == HR_BAD_INPUT) {
    snprintf(hint, sizeof hint, "; %.200s", inner.text);
  }
  return hr__build_fail_at(of->builder, of->replica, "gpu_type", "no %s has GPUs of the type '%.60s'%s (types: %s)",
                           of->pools, types, hint, listed);
}

static enum hr_status fail_region(const struct subject *of) {
  const char *regions = of->service->regions ? of->service->regions : "";
  char listed[LIST_BYTES];
  const char *nearest = list_names(of->cluster, region_of, regions, listed);
  return hr__build_fail_at(of->builder, of->replica, "region",
                           "no %s that the replica accepts is in the region '%.60s'%s%.60s%s (regions: %s)", of->pools,
                           regions, nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "",
                           listed[0] ? listed : "none");
}

/* Reports why no pool can hold a replica that needs a MIG instance. */
static enum hr_status fail_profile(const struct subject *of) {
  const char *profile = of->service->mig_profile;
  struct hr_error inner;
  bool has_mig = false;
  for (uint32_t i = 0; i < of->cluster->n_pools; i++) has_mig = has_mig || of->cluster->pools[i].mig;
  if (has_mig && of->service->gpus > 1)
    return hr__build_fail_at(of->builder, of->replica, "gpus",
                             "a replica can never start in a %s: MIG instances of several GPUs cannot work together; "
                             "expected 1 GPU, or a pool without MIG",
                             of->pools);
  if (has_mig && !profile)
    return hr__build_fail_at(of->builder, of->replica, of->service->gpu_mem_mib ? "gpu_mem_gb" : "gpu_milli",
                             "a replica can never start in a %s: no MIG instance is as large as it requests without "
                             "'mig' (%" PRIu32 " thousandths of a GPU, %.10g GiB); set 'mig', or request less",
                             of->pools, of->service->gpu_milli, (double)of->service->gpu_mem_mib / 1024);
  for (uint32_t i = 0; i < of->cluster->n_pools && profile; i++) {
    const struct hr_mig_spec *mig = of->cluster->pools[i].mig;
    uint32_t number;
    if (mig && hr_mig_profile_parse(&mig->type, profile, &number, &inner) == HR_BAD_INPUT)
      return hr__build_fail_at(of->builder, of->replica, "mig", "a replica can never start in a %s: %s", of->pools,
                               inner.text);
  }
  for (uint32_t i = 0; i < of->cluster->n_pools && profile; i++)
    if (of->cluster->pools[i].mig)
      return hr__build_fail_at(of->builder, of->replica, "mig",
                               "a replica can never start: no %s has the instances '%.60s' that it needs", of->pools,
                               profile);
  return hr__build_fail_at(of->builder, of->replica, "mig",
                           "no %s has the MIG profile '%.60s': no GPU is partitioned; set 'sharing' of a pool to 'mig'",
                           of->pools, profile ? profile : "");
}

/* Sets `*accepted` to whether a pool accepts a replica apart from its size: a replica with one GPU, without requests
   for CPUs and memory, and otherwise with the same properties. */
static enum hr_status accepts(const struct subject *of, uint32_t pool, bool *accepted) {
  struct hr_service small = *of->service;
  struct hr_scenario alone = *of->scenario;
  struct hr_pool_spec *pools = calloc((size_t)alone.cluster.n_pools + 1, sizeof *pools);
  enum hr_reason reason = HR_REASON_NONE;
  *accepted = false;
  if (!pools) return hr__build_no_memory(of->builder);
  for (uint32_t i = 0; i < alone.cluster.n_pools; i++) {
    pools[i] = of->cluster->pools[i];
    pools[i].nodes = i == pool;
  }
  alone.cluster.pools = pools;
  small.gpus = 1;
  small.cpu_milli = 0;
  small.mem_mib = small.gpu_mem_mib = 0;
  const enum hr_status status = replica_reason(&alone, &alone.cluster, NULL, &small, &reason, of->builder->error);
  free(pools);
  *accepted = status == HR_OK && reason == HR_REASON_NONE;
  return status;
}

static enum hr_status fail_size(const struct subject *of, enum hr_reason reason) {
  const struct hr_service *service = of->service;
  uint64_t gpus = 0, memory_mib = 0;
  for (uint32_t i = 0; i < of->cluster->n_pools; i++) {
    const struct hr_pool_spec *pool = &of->cluster->pools[i];
    const uint64_t count = (uint64_t)pool->nodes * pool->gpus_per_node;
    bool accepted;
    const enum hr_status status = accepts(of, i, &accepted);
    if (status != HR_OK) return status;
    if (accepted && count > gpus) gpus = count;
    if (accepted && pool->gpu_mem_mib > memory_mib) memory_mib = pool->gpu_mem_mib;
  }
  if (reason == HR_REASON_GPU_MEMORY)
    return hr__build_fail_at(of->builder, of->replica, "gpu_mem_gb",
                             "no %s that the replica accepts has %.10g GiB for each GPU; the largest GPU has %.10g",
                             of->pools, (double)service->gpu_mem_mib / 1024, (double)memory_mib / 1024);
  return hr__build_fail_at(of->builder, of->replica, "gpus",
                           "no %s that the replica accepts has %" PRIu32 " GPU%s; the largest such pool has %" PRIu64,
                           of->pools, service->gpus, service->gpus == 1 ? "" : "s", gpus);
}

static enum hr_status fail_reason(const struct subject *of, enum hr_reason reason) {
  const cJSON *object = of->replica;
  const char *key = "gpus";
  switch (reason) {
  case HR_REASON_NO_GPU_TYPE:
    return fail_gpu_type(of);
  case HR_REASON_NO_REGION:
    return fail_region(of);
  case HR_REASON_MIG_PROFILE:
    return fail_profile(of);
  case HR_REASON_TOO_LARGE:
  case HR_REASON_GPU_MEMORY:
    return fail_size(of, reason);
  case HR_REASON_NODE_TOO_SMALL:
    if (of->service->cpu_milli || of->service->mem_mib) key = of->service->cpu_milli ? "cpu" : "mem_gb";
    break;
  case HR_REASON_NO_CLASS_POOL:
    object = of->entry;
    key = "class";
    break;
  case HR_REASON_SPOT_ONLY:
    key = "interruptible";
    break;
  default:
    break;
  }
  return hr__build_fail_at(of->builder, object, key, "a replica can never start in a %s: %s", of->pools,
                           hr_rejection_words(reason));
}

/* ---- Notes ------------------------------------------------------------------------------------------ */

/* Adds a note if a replica requests a share of a GPU and a pool without sharing would allocate a whole GPU. */
static enum hr_status note_share(const struct subject *of) {
  const struct hr_service *service = of->service;
  if (service->gpu_milli == 0 || service->gpu_milli >= 1000 || service->mig_profile) return HR_OK;
  for (uint32_t i = 0; i < of->cluster->n_pools; i++) {
    const struct hr_pool_spec *pool = &of->cluster->pools[i];
    if (pool->sharing != HR_SHARING_WHOLE || !pool->nodes) continue;
    return hr__build_note(of->builder,
                          "service '%.60s': a replica requests a fraction of a GPU ('gpu_milli' %" PRIu32
                          "): pools that share GPUs allocate the fraction, others, such as '%.60s', a whole GPU",
                          service->name, (uint32_t)service->gpu_milli, pool->name);
  }
  return HR_OK;
}

/* A list of names such as "L4|T4" of a replica. */
struct name_list {
  const char *key, *noun, *text;
  enum hr_reason reason; /* reason of a rejection if no pool has a name of the list */
  const char *(*name_of)(const struct hr_pool_spec *);
};

/* Adds a note for each name of a list with several names that no pool has. An empty name is an error. */
static enum hr_status note_names(const struct subject *of, const struct hr_scenario *scenario,
                                 const struct name_list *list) {
  enum hr_status status = HR_OK;
  char *copy = list->text && strchr(list->text, '|') ? strdup(list->text) : NULL;
  if (!copy) return list->text && strchr(list->text, '|') ? hr__build_no_memory(of->builder) : HR_OK;
  for (char *name = copy, *next; name && status == HR_OK; name = next) {
    struct hr_service one = *of->service;
    char listed[LIST_BYTES];
    enum hr_reason reason;
    next = strchr(name, '|');
    if (next) *next++ = '\0';
    if (!name[0])
      status = hr__build_fail_at(of->builder, of->replica, list->key, "empty name in the list '%.60s'", list->text);
    *(list->reason == HR_REASON_NO_REGION ? &one.regions : &one.gpu_types) = name;
    if (status == HR_OK) status = find_reason(of->builder, scenario, &one, &reason);
    if (status != HR_OK || reason != list->reason) continue;
    const char *nearest = list_names(of->cluster, list->name_of, name, listed);
    status = hr__build_note(of->builder,
                            "service '%.60s': no pool for its replicas has the %s '%.60s' of '%s'%s%.60s%s (%ss: %s)",
                            of->service->name, list->noun, name, list->key, nearest ? "; did you mean '" : "",
                            nearest ? nearest : "", nearest ? "'?" : "", list->noun, listed);
  }
  free(copy);
  return status;
}

static enum hr_status note_lists(const struct subject *of, const struct hr_scenario *scenario) {
  const struct name_list types = {"gpu_type", "GPU type", of->service->gpu_types, HR_REASON_NO_GPU_TYPE, gpu_of},
                         regions = {"region", "region", of->service->regions, HR_REASON_NO_REGION, region_of};
  const enum hr_status status = note_names(of, scenario, &types);
  return status == HR_OK ? note_names(of, scenario, &regions) : status;
}

/* The maximum number of replicas of a service that the pools of its cluster hold at once. */
struct replica_room {
  uint64_t replicas;
  const char *pool;                 /* the only pool that holds any; NULL: none, or several */
  const struct hr_pool_spec *small; /* a pool that holds a replica only on several nodes; NULL: none */
};

static enum hr_status find_room(const struct hr__builder *builder, const struct hr_scenario *scenario,
                                const struct hr_service *service, struct replica_room *room) {
  const struct replica_row row = row_of(service);
  const struct hr_trace trace = trace_of(&row);
  struct hr_arena arena = {0};
  struct hr__speed_table speeds;
  struct hr_cluster cluster;
  uint32_t n_pools = 0;
  *room = (struct replica_room){0};
  enum hr_status status = hr__speeds_init(&speeds, &arena, scenario->speeds, &scenario->cluster, &trace);
  if (status == HR_OK)
    status = hr__cluster_init(&cluster, &arena, &scenario->cluster, &trace, scenario->classes, &speeds);
  for (uint32_t i = 0; i < scenario->cluster.n_pools && status == HR_OK; i++) {
    const uint64_t held = hr__cluster_max_copies(&cluster, (hr_pool){i}, (hr_job){0});
    if (held) room->pool = n_pools++ ? NULL : scenario->cluster.pools[i].name;
    room->replicas += held;
    const struct hr_pool_spec *pool = &scenario->cluster.pools[i];
    if (held && !room->small && service->gpus > pool->gpus_per_node) room->small = pool;
  }
  hr__arena_finish(&arena);
  return status == HR_OK ? HR_OK : hr__build_no_memory(builder);
}

/* Reports that a disaggregated service has GPUs for only one replica. Each request needs two: one for its prompt and
   one that decodes. The report is only a warning
   - if the service has an autoscaler, because its minimum may be 0;
   - in a scenario with a plan, because the plan may add nodes; but not for a candidate of the plan.
   In all other cases it is an error. */
static enum hr_status refuse_half(const struct subject *of) {
  const struct hr__builder *builder = of->builder;
  const struct hr_service *service = of->service;
  const bool is_planned = hr__get(builder->source.file.tree, "plan") != NULL && !builder->is_candidate;
  static const char words[] = "the GPUs suffice for one replica, but a request of the engine 'disaggregated' needs one "
                              "for its prompt and one that decodes, so none can complete; add nodes";
  if (service->autoscale.policy == HR_AUTOSCALE_FIXED && !is_planned)
    return hr__build_fail(builder, hr__get(of->replica, "engine"), "%s", words);
  return hr__build_note(builder, "warning: service '%.60s': %s", service->name, words);
}

/* Adds a note if a replica needs several nodes in the pool `small`. NULL: no pool holds a replica in this way. */
static enum hr_status note_small(const struct subject *of, const struct hr_pool_spec *small) {
  const uint32_t gpus = of->service->gpus, per_node = small ? small->gpus_per_node : 0;
  if (!per_node) return HR_OK;
  return hr__build_note(
      of->builder,
      "service '%.60s': a replica of %" PRIu32 " GPUs spans %" PRIu32 " nodes in the pool '%.60s', which has %" PRIu32
      " GPU%s per node; it is assumed to be as fast as on one node",
      of->service->name, gpus, (gpus + per_node - 1) / per_node, small->name, per_node, per_node == 1 ? "" : "s");
}

/* Adds a note if some replicas never start because the pools hold fewer. If the number of replicas is fixed and the
   scenario is a candidate (see hr_scenario_load_candidate), returns HR_BAD_INPUT instead. */
static enum hr_status note_waiting(const struct subject *of, const struct hr_scenario *scenario) {
  const struct hr__builder *builder = of->builder;
  const struct hr_service *service = of->service;
  const uint32_t wanted = service->autoscale.min;
  const bool is_fixed = service->autoscale.policy == HR_AUTOSCALE_FIXED;
  struct replica_room room;
  enum hr_status status = find_room(builder, scenario, service, &room);
  if (status == HR_OK) status = note_small(of, room.small);
  if (status != HR_OK || !room.replicas) return status;
  if (service->engine == HR_SERVICE_DISAGGREGATED && room.replicas == 1) return refuse_half(of);
  if (room.replicas >= wanted) return HR_OK;
  const struct hr_scenario_clusters *clusters = builder->scenario->clusters;
  char words[400];
  size_t used = (size_t)snprintf(
      words, sizeof words, "%" PRIu64 " of %" PRIu32 " replicas never start: the pool%s%.60s%s", wanted - room.replicas,
      wanted, room.pool ? " '" : "s", room.pool ? room.pool : "", room.pool ? "'" : "");
  if (clusters)
    used += (size_t)snprintf(words + used, sizeof words - used, " of the cluster '%.60s'",
                             clusters->at[service->cluster].name);
  snprintf(words + used, sizeof words - used, " hold%s at most %" PRIu64 "; add nodes, or lower '%s'",
           room.pool ? "s" : "", room.replicas, is_fixed ? "replicas" : "min");
  if (is_fixed && builder->is_candidate)
    return hr__build_fail_at(builder, hr__get(of->entry, "autoscale"), "replicas", "service '%.60s': %s", service->name,
                             words);
  return hr__build_note(builder, "service '%.60s': %s", service->name, words);
}

/* ---- Services --------------------------------------------------------------------------------------- */

enum hr_status hr__build_unfit(struct hr__builder *builder, enum hr_status status) {
  struct hr_services *services = builder->scenario->services;
  if (status != HR_BAD_INPUT || !builder->is_candidate || !services) return status;
  if (!services->unfit) services->unfit = strdup(builder->error->text);
  return services->unfit ? HR_OK : hr__build_no_memory(builder);
}

enum hr_status hr__check_replica(struct hr__builder *builder, const cJSON *entry, const struct hr_service *service) {
  const struct hr_scenario_clusters *clusters = builder->scenario->clusters;
  const struct hr_scenario *scenario = clusters ? clusters->at[service->cluster].scenario : builder->scenario;
  struct subject of = {.builder = builder,
                       .entry = entry,
                       .replica = hr__get(entry, "replica"),
                       .service = service,
                       .scenario = scenario,
                       .cluster = &scenario->cluster};
  enum hr_reason reason;
  if (!service->autoscale.max) return HR_OK;
  enum hr_status status = find_reason(builder, scenario, service, &reason);
  if (status == HR_OK && reason != HR_REASON_NONE) status = hr__open_catalog(builder);
  if (status != HR_OK) return status;
  if (reason == HR_REASON_NONE) status = note_share(&of);
  if (reason == HR_REASON_NONE && status == HR_OK) status = note_lists(&of, scenario);
  if (reason == HR_REASON_NONE) return status == HR_OK ? hr__build_unfit(builder, note_waiting(&of, scenario)) : status;
  snprintf(of.pools, sizeof of.pools, "pool");
  if (clusters) snprintf(of.pools, sizeof of.pools, "pool of the cluster '%.60s'", clusters->at[service->cluster].name);
  return hr__build_unfit(builder, fail_reason(&of, reason));
}

/* ---- GPU type of the defaults ----------------------------------------------------------------------- */

/* Returns whether a service may have replicas in the cluster of a pool. */
static bool is_placed(const struct hr_scenario *scenario, const struct hr_service *service, uint32_t pool) {
  const struct hr_scenario_clusters *clusters = scenario->clusters;
  bool any = !clusters || service->n_places == 0;
  uint32_t at = 0;
  while (clusters && pool >= clusters->at[at].scenario->cluster.n_pools)
    pool -= clusters->at[at++].scenario->cluster.n_pools;
  for (uint32_t i = 0; i < service->n_places && !any; i++)
    any = strcmp(service->places[i].name, clusters->at[at].name) == 0;
  return any;
}

/* Returns whether a pool could hold a replica if it had enough nodes. */
static bool can_hold(const struct hr_scenario *scenario, const struct hr_service *service, uint32_t pool) {
  struct hr_pool_spec copy = scenario->cluster.pools[pool];
  struct hr_cluster_spec one = scenario->cluster;
  enum hr_reason reason;
  struct hr_error error;
  copy.nodes = service->gpus ? service->gpus : 1;
  one.pools = &copy;
  one.n_pools = 1;
  return is_placed(scenario, service, pool) &&
         replica_reason(scenario, &one, NULL, service, &reason, &error) == HR_OK && reason == HR_REASON_NONE;
}

uint32_t hr__service_pool(const struct hr_scenario *scenario, const struct hr_service *service) {
  uint32_t found = HR_NONE;
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++) {
    const bool is_better =
        found == HR_NONE || (!scenario->cluster.pools[found].nodes && scenario->cluster.pools[i].nodes);
    if (is_better && can_hold(scenario, service, i)) found = i;
  }
  return found;
}

enum hr_status hr__note_other_gpus(struct hr__builder *builder, const struct hr_service *service) {
  const struct hr_scenario *scenario = builder->scenario;
  const uint32_t first = hr__service_pool(scenario, service);
  for (uint32_t i = 0; i < scenario->cluster.n_pools && first != HR_NONE; i++) {
    const struct hr_pool_spec *pool = &scenario->cluster.pools[i];
    if (pool->nodes > 0 && strcmp(pool->gpu, scenario->cluster.pools[first].gpu) != 0 && can_hold(scenario, service, i))
      return hr__build_note(builder,
                            "service '%.60s': its replicas are as fast on %.60s as on %.60s, with the same memory for "
                            "tokens; set 'replica.gpu_type', and have a service for each type",
                            service->name, pool->gpu, scenario->cluster.pools[first].gpu);
  }
  return HR_OK;
}

/* ---- All replicas at once --------------------------------------------------------------------------- */

/*
 * hr_replicas_fit() checks whether all replicas (the maximum of an autoscaler) fit into the pools at once and hold
 * their GPUs for the whole run. If so, the services can be simulated without the engine of jobs.
 *
 * The replicas are placed one service after the other, in the order of the pools: first fit. Nodes of a pool with the
 * same free capacity are one entry with a number, so the time does not depend on the number of nodes or replicas. The
 * answer may be "no" although the replicas fit; the engine of jobs is then used. The answer is always "no" with a
 * horizon, quotas, models of real schedulers, failures, maintenance, power budgets and locality constraints. Pools that
 * share GPUs are not used.
 */

/* Nodes of a pool with the same free capacity. CPUs and memory: UINT64_MAX if unknown. Also the capacity that a replica
   needs; CPUs and memory are then 0 if it requests none. */
struct free_nodes {
  uint32_t pool, gpus;
  uint64_t nodes, cpu_milli, mem_mib;
};

struct replica_fit {
  const struct hr_scenario *scenario; /* with the pools of one cluster */
  struct hr_cluster_spec alone;       /* a copy of the pools, of which one at a time has nodes */
  struct free_nodes *at;
  uint32_t count, capacity;
};

/* ---- All replicas at once: placement ---------------------------------------------------------------- */

/* Returns the capacity that a replica needs. */
static struct free_nodes need_of(const struct replica_fit *fit, const struct hr_service *service, uint32_t pool) {
  const struct hr_cluster_spec *cluster = &fit->scenario->cluster;
  struct free_nodes need = {.gpus = service->gpus, .cpu_milli = service->cpu_milli, .mem_mib = service->mem_mib};
  if (!need.cpu_milli && hr_cluster_spec_by_gpu(cluster))
    need.cpu_milli = (uint64_t)service->gpus * cluster->pools[pool].cpu_milli_per_gpu;
  return need;
}

/* Returns how many replicas fit onto one of the nodes. */
static uint64_t count_on_node(const struct free_nodes *nodes, const struct free_nodes *need) {
  uint64_t count = nodes->gpus / need->gpus;
  if (need->cpu_milli && nodes->cpu_milli / need->cpu_milli < count) count = nodes->cpu_milli / need->cpu_milli;
  if (need->mem_mib && nodes->mem_mib / need->mem_mib < count) count = nodes->mem_mib / need->mem_mib;
  return count;
}

static bool add(struct replica_fit *fit, struct free_nodes nodes) {
  if (!nodes.nodes) return true;
  if (!HR__ARRAY_HAS_ROOM(fit->at, fit->count, fit->capacity)) return false;
  fit->at[fit->count++] = nodes;
  return true;
}

static struct free_nodes without(struct free_nodes nodes, const struct free_nodes *need, uint64_t replicas) {
  nodes.gpus -= (uint32_t)(replicas * need->gpus);
  if (nodes.cpu_milli != UINT64_MAX) nodes.cpu_milli -= replicas * need->cpu_milli;
  if (nodes.mem_mib != UINT64_MAX) nodes.mem_mib -= replicas * need->mem_mib;
  return nodes;
}

/* Places as many of `*wanted` replicas as possible on the nodes of an entry, and subtracts their number from `*wanted`.
   Returns false if memory runs out. */
static bool place_on_nodes(struct replica_fit *fit, uint32_t entry, const struct free_nodes *need, uint64_t *wanted) {
  const struct free_nodes nodes = fit->at[entry];
  const uint64_t on_each = count_on_node(&nodes, need);
  if (!on_each || !*wanted) return true;
  const uint64_t full = nodes.nodes < *wanted / on_each ? nodes.nodes : *wanted / on_each;
  const uint64_t rest = nodes.nodes > full ? *wanted - full * on_each : 0;
  struct free_nodes untouched = nodes, partial = without(nodes, need, rest);
  fit->at[entry] = without(nodes, need, on_each);
  fit->at[entry].nodes = full;
  untouched.nodes -= full + (rest > 0);
  partial.nodes = rest > 0;
  *wanted -= full * on_each + rest;
  return add(fit, untouched) && add(fit, partial);
}

/* Does the same for replicas with more GPUs than a node: they take whole empty nodes. Places none if a replica requests
   CPUs or memory. */
static bool place_on_several(struct replica_fit *fit, uint32_t entry, const struct free_nodes *need, uint64_t *wanted) {
  struct free_nodes *nodes = &fit->at[entry];
  const uint32_t per_node = fit->scenario->cluster.pools[nodes->pool].gpus_per_node;
  if (!per_node || nodes->gpus < per_node || need->cpu_milli || need->mem_mib) return true;
  const uint64_t span = (need->gpus + per_node - 1) / per_node;
  const uint64_t placed = nodes->nodes / span < *wanted ? nodes->nodes / span : *wanted;
  nodes->nodes -= placed * span;
  *wanted -= placed;
  return true;
}

/* ---- All replicas at once: nodes that the policy uses ----------------------------------------------- */

static uint32_t *add_usable_nodes(const struct hr_scenario *scenario, uint32_t *nodes) {
  const struct hr_policy_choice *policy = &scenario->policy;
  const bool has_limits = policy->ops->size > offsetof(struct hr_policy_ops, usable_nodes) && policy->ops->usable_nodes;
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++)
    *nodes++ = has_limits ? policy->ops->usable_nodes(policy->params, &scenario->cluster, (hr_pool){i})
                          : scenario->cluster.pools[i].nodes;
  return nodes;
}

uint32_t *hr_scenario_usable_nodes(const struct hr_scenario *scenario) {
  const struct hr_scenario_clusters *clusters = scenario->clusters;
  uint32_t *nodes = calloc((size_t)scenario->cluster.n_pools + 1, sizeof *nodes), *at = nodes;
  for (uint32_t i = 0; nodes && i < (clusters ? clusters->count : 1); i++)
    at = add_usable_nodes(clusters ? clusters->at[i].scenario : scenario, at);
  return nodes;
}

/* ---- All replicas at once: services ----------------------------------------------------------------- */

/* Sets `*accepted` to whether a pool can hold a replica of a service. */
static enum hr_status fit_accepts(struct replica_fit *fit, const struct hr_service *service, uint32_t pool,
                                  bool *accepted, struct hr_error *error) {
  const uint32_t nodes = fit->scenario->cluster.pools[pool].nodes;
  enum hr_reason reason;
  *accepted = false;
  if (!nodes) return HR_OK;
  fit->alone.pools[pool].nodes = nodes < service->gpus ? nodes : service->gpus;
  const enum hr_status status = replica_reason(fit->scenario, &fit->alone, NULL, service, &reason, error);
  fit->alone.pools[pool].nodes = 0;
  *accepted = status == HR_OK && reason == HR_REASON_NONE;
  return status;
}

/* Places the replicas of a service. Sets `*fits` to whether all of them have a place. */
static enum hr_status place_service(struct replica_fit *fit, const struct hr_service *service, bool *fits,
                                    struct hr_error *error) {
  uint64_t wanted = service->autoscale.max;
  for (uint32_t pool = 0; pool < fit->scenario->cluster.n_pools && wanted; pool++) {
    const struct hr_pool_spec *spec = &fit->scenario->cluster.pools[pool];
    bool accepted;
    const enum hr_status status = fit_accepts(fit, service, pool, &accepted, error);
    if (status != HR_OK) return status;
    if (!accepted || spec->sharing != HR_SHARING_WHOLE) continue;
    const struct free_nodes need = need_of(fit, service, pool);
    for (uint32_t i = 0, count = fit->count; i < count; i++) {
      if (fit->at[i].pool != pool) continue;
      const bool is_large = need.gpus > spec->gpus_per_node;
      if (!(is_large ? place_on_several : place_on_nodes)(fit, i, &need, &wanted))
        return hr_fail(error, HR_NO_MEMORY, "out of memory");
    }
  }
  *fits = !wanted;
  return HR_OK;
}

/* Returns whether the capacity for replicas is constant during the whole run, and no quota, scheduler model or locality
   constraint restricts it. */
static bool is_constant(const struct hr_scenario *scenario) {
  if (scenario->quotas || scenario->systems) return false;
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++) {
    const struct hr_pool_spec *pool = &scenario->cluster.pools[i];
    if (pool->faults || pool->n_maintenance || hr_pool_power_budget_w(pool) > 0) return false;
  }
  for (unsigned i = 0; i < HR_N_CLASSES; i++)
    if (scenario->classes[i].within != HR_TIER_ANY) return false;
  return true;
}

static enum hr_status fit_cluster(const struct hr_scenario *scenario, const struct hr_services *all, uint32_t number,
                                  bool *fits, struct hr_error *error) {
  const struct hr_cluster_spec *cluster = &scenario->cluster;
  struct replica_fit fit = {.scenario = scenario, .alone = *cluster};
  enum hr_status status = HR_OK;
  fit.alone.pools = calloc((size_t)cluster->n_pools + 1, sizeof *fit.alone.pools);
  bool has_memory = fit.alone.pools != NULL;
  for (uint32_t i = 0; i < cluster->n_pools && has_memory; i++) {
    const struct hr_pool_spec *pool = &cluster->pools[i];
    fit.alone.pools[i] = *pool;
    fit.alone.pools[i].nodes = 0;
    has_memory = add(&fit, (struct free_nodes){i, pool->gpus_per_node, pool->nodes,
                                               pool->cpu_milli_per_node ? pool->cpu_milli_per_node : UINT64_MAX,
                                               pool->mem_mib_per_node ? pool->mem_mib_per_node : UINT64_MAX});
  }
  if (!has_memory) status = hr_fail(error, HR_NO_MEMORY, "out of memory");
  *fits = is_constant(scenario);
  for (uint32_t i = 0; i < all->count && status == HR_OK && *fits; i++)
    if (all->at[i].cluster == number) status = place_service(&fit, &all->at[i], fits, error);
  free(fit.alone.pools);
  free(fit.at);
  return status;
}

enum hr_status hr_replicas_fit(const struct hr_scenario *scenario, bool *fit, struct hr_error *error) {
  const struct hr_scenario_clusters *clusters = scenario->clusters;
  enum hr_status status = HR_OK;
  *fit = scenario->horizon_us == HR_NEVER_US && is_constant(scenario);
  for (uint32_t i = 0; scenario->services && i < (clusters ? clusters->count : 1) && status == HR_OK && *fit; i++)
    status = fit_cluster(clusters ? clusters->at[i].scenario : scenario, scenario->services, i, fit, error);
  return status;
}

enum hr_status hr_replica_refusal(const struct hr_scenario *scenario, const struct hr_service *service,
                                  enum hr_reason *reason, struct hr_error *error) {
  const struct hr_scenario_clusters *clusters = scenario->clusters;
  const struct hr_scenario *home = clusters ? clusters->at[service->cluster].scenario : scenario;
  *reason = HR_REASON_NONE;
  if (!service->autoscale.max) return HR_OK;
  uint32_t *usable_nodes = hr_scenario_usable_nodes(home);
  if (!usable_nodes) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  enum hr_status status = replica_reason(home, &home->cluster, usable_nodes, service, reason, error);
  free(usable_nodes);
  return status;
}
