/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads the configuration, the cluster, the queues and the jobs of a case of KAI into the description of a session.
 *
 * Nodes get their ids in the order of their names. The pods of a job have consecutive ids. A shared GPU that pods use
 * at the start is identified by its node and its name. Shared GPUs are numbered in the order in which they first occur.
 */

#include "scenarios/conform/conform.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int64_t second_us = 1000000, minute_us = 60 * 1000000LL;
static const char node_type_label[] = "kai.scheduler/type";
static const int64_t default_cpu_milli = 1000, default_mem_bytes = 1000000000, most_devices = 1024;

/* ---- Dimensions ---- */

/* The state of reading. */
struct reader {
  struct hr__kai_case *read;
  struct hr__verdict *verdict;
  const cJSON *cluster;
  const char **profiles; /* [n_profiles] names of MIG profiles; profile i is the dimension HR__KAI_DIM_MIG + i */
  uint32_t n_profiles, max_profiles;
};

static uint32_t profile_of(struct reader *reader, const char *name) {
  const uint32_t found = hr__case_find(reader->profiles, reader->n_profiles, name);
  if (found != HR__KAI_NONE) return found;
  reader->profiles[reader->n_profiles] = name;
  return reader->n_profiles++;
}

/* Adds the profiles in {PROFILE: count}, or only their number if the profiles are not allocated yet. */
static void read_profiles_of(struct reader *reader, const cJSON *counts) {
  const cJSON *count;
  reader->max_profiles += (uint32_t)cJSON_GetArraySize(counts);
  cJSON_ArrayForEach(count, counts) if (reader->profiles)(void) profile_of(reader, count->string);
}

/* Returns the number of slices of a MIG profile, such as 2 for "nvidia.com/mig-2g.10gb"; 0: unknown. */
static int64_t slices_of(const char *profile) {
  const char *at = strstr(profile, "mig-");
  return at ? strtol(at + strlen("mig-"), NULL, 10) : 0;
}

/* Collects the MIG profiles of nodes and pods, and sets the number of dimensions. The first pass only counts. */
static void read_dimensions(struct reader *reader) {
  const cJSON *node, *job, *task;
  for (int pass = 0; pass < 2; pass++) {
    cJSON_ArrayForEach(node, hr__case_get(reader->cluster, "nodes"))
        read_profiles_of(reader, hr__case_get(node, "mig_instances"));
    cJSON_ArrayForEach(job, hr__case_get(reader->verdict->whole, "jobs"))
        cJSON_ArrayForEach(task, hr__case_get(job, "tasks")) read_profiles_of(reader, hr__case_get(task, "mig"));
    if (pass == 0)
      reader->profiles = hr__verdict_alloc(reader->verdict, reader->max_profiles, sizeof *reader->profiles);
  }
  struct hr__kai_cluster *cluster = &reader->read->cluster;
  cluster->n_dims = HR__KAI_DIM_MIG + reader->n_profiles;
  int64_t *slices = hr__verdict_alloc(reader->verdict, cluster->n_dims, sizeof *slices);
  for (uint32_t i = 0; slices && i < reader->n_profiles; i++)
    slices[HR__KAI_DIM_MIG + i] = slices_of(reader->profiles[i]);
  cluster->mig_slices = slices;
}

static void add_profiles(struct reader *reader, const cJSON *counts, int64_t *amounts) {
  const cJSON *count;
  cJSON_ArrayForEach(count, counts) amounts[HR__KAI_DIM_MIG + profile_of(reader, count->string)] +=
      hr__case_value_whole(count, 0);
}

/* ---- Nodes ---- */

static enum hr__kai_mig mig_of(const char *strategy) {
  if (!*strategy) return HR__KAI_MIG_NONE;
  if (strcmp(strategy, "mixed") == 0) return HR__KAI_MIG_MIXED;
  return strcmp(strategy, "single") == 0 ? HR__KAI_MIG_SINGLE : HR__KAI_MIG_UNNAMED;
}

static void read_node(struct reader *reader, const cJSON *source, struct hr__kai_node *node) {
  int64_t *amounts = hr__verdict_alloc(reader->verdict, reader->read->cluster.n_dims, sizeof *amounts);
  if (!amounts) return;
  node->mig = mig_of(hr__case_text(source, "mig_strategy", ""));
  node->n_gpus = hr__case_whole(source, "gpus", 0);
  node->gpu_mib = hr__case_whole(source, "gpu_memory_mib", 100);
  if (node->gpu_mib >= 100) node->gpu_mib -= node->gpu_mib % 100;
  amounts[HR__KAI_DIM_CPU] = hr__case_milli(source, "cpu_milli", 20000000);
  amounts[HR__KAI_DIM_MEM] = hr__case_whole(source, "mem_bytes", 20000000000);
  amounts[HR__KAI_DIM_PODS] = hr__case_whole(source, "max_pods", 110);
  amounts[HR__KAI_DIM_GPUS] = node->mig == HR__KAI_MIG_MIXED ? 0 : node->n_gpus;
  add_profiles(reader, hr__case_get(source, "mig_instances"), amounts);
  node->allocatable = amounts;
}

static void read_nodes(struct reader *reader) {
  struct hr__kai_case *read = reader->read;
  const cJSON *sources = hr__case_get(reader->cluster, "nodes"), *source;
  const uint32_t n = hr__case_count(reader->cluster, "nodes");
  struct hr__kai_node *nodes = hr__verdict_alloc(reader->verdict, n, sizeof *nodes);
  const char **names = hr__verdict_alloc(reader->verdict, n, sizeof *names);
  uint32_t *ranks = hr__verdict_alloc(reader->verdict, n, sizeof *ranks), i = 0;
  read->node_names = hr__verdict_alloc(reader->verdict, n, sizeof *read->node_names);
  if (reader->verdict->no_memory) return;
  cJSON_ArrayForEach(source, sources) names[i++] = hr__case_text(source, "name", "");
  hr__kai_rank_names(names, n, ranks);
  i = 0;
  cJSON_ArrayForEach(source, sources) {
    const uint32_t id = ranks[i];
    if (read->node_names[id]) reader->verdict->malformed = "two nodes have the same name";
    read->node_names[id] = names[i++];
    nodes[id].name_rank = id;
    read_node(reader, source, &nodes[id]);
  }
  read->cluster.nodes = nodes;
  read->cluster.n_nodes = n;
}

/* ---- Topologies ---- */

/* Returns the JSON object of a node; NULL: not found. */
static const cJSON *node_source(const struct reader *reader, uint32_t node) {
  const cJSON *source;
  cJSON_ArrayForEach(source, hr__case_get(reader->cluster,
                                          "nodes")) if (hr__case_text_is(source, "name",
                                                                         reader->read->node_names[node])) return source;
  return NULL;
}

/* Returns the value of a label of a node; NULL if the node does not have the label. The label of the type of a node has
   the name of the node as its default. */
static const char *label_of(const struct reader *reader, uint32_t node, const char *label) {
  const char *own = strcmp(label, node_type_label) == 0 ? reader->read->node_names[node] : NULL;
  return hr__case_text(hr__case_get(node_source(reader, node), "labels"), label, own);
}

/* Returns whether the node has the labels of all levels. */
static bool has_all_labels(const struct reader *reader, uint32_t node, const cJSON *levels) {
  const cJSON *level;
  cJSON_ArrayForEach(level, levels) {
    if (!cJSON_IsString(level) || !label_of(reader, node, level->valuestring)) return false;
  }
  return true;
}

/* Returns the id of the domain of a node at a level: the values of the labels of the levels 1 to `level`, joined by
   dots. Returns NULL if memory is exhausted. */
static char *domain_id(const struct reader *reader, uint32_t node, const cJSON *levels, uint32_t level) {
  size_t length = 1;
  const cJSON *label = levels->child;
  for (uint32_t l = 0; l < level && label; l++, label = label->next)
    length += strlen(label_of(reader, node, label->valuestring)) + 1;
  char *id = hr__verdict_alloc(reader->verdict, length, 1), *end = id;
  label = levels->child;
  for (uint32_t l = 0; id && l < level && label; l++, label = label->next) {
    const char *text = label_of(reader, node, label->valuestring);
    if (l > 0) *end++ = '.';
    memcpy(end, text, strlen(text));
    end += strlen(text);
  }
  return id;
}

static void read_topology(struct reader *reader, const cJSON *source, struct hr__kai_topology *topology) {
  const cJSON *levels = hr__case_get(source, "levels");
  const uint32_t n_nodes = reader->read->cluster.n_nodes, n_levels = hr__case_count(source, "levels");
  uint32_t *domain_of = hr__verdict_alloc(reader->verdict, (size_t)(n_levels + 1) * n_nodes, sizeof *domain_of);
  const char **ids = hr__verdict_alloc(reader->verdict, (size_t)n_levels * n_nodes + 1, sizeof *ids);
  uint32_t *ranks = hr__verdict_alloc(reader->verdict, (size_t)n_levels * n_nodes + 1, sizeof *ranks);
  if (reader->verdict->no_memory) return;
  topology->n_levels = n_levels;
  topology->n_domains = 1;
  ids[0] = "root";
  for (uint32_t level = 0; level <= n_levels; level++) {
    const uint32_t first = level == 0 ? 0 : topology->n_domains;
    for (uint32_t n = 0; n < n_nodes; n++) {
      uint32_t *domain = &domain_of[level * n_nodes + n];
      *domain = HR__KAI_NONE;
      if (!has_all_labels(reader, n, levels)) continue;
      if (level == 0) {
        *domain = 0;
        continue;
      }
      const char *id = domain_id(reader, n, levels, level);
      if (!id) return;
      const uint32_t found = hr__case_find(ids + first, topology->n_domains - first, id);
      *domain = found == HR__KAI_NONE ? topology->n_domains : first + found;
      if (found == HR__KAI_NONE) ids[topology->n_domains++] = id;
    }
  }
  hr__kai_rank_names(ids, topology->n_domains, ranks);
  topology->domain_of = domain_of;
  topology->id_ranks = ranks;
}

static void read_topologies(struct reader *reader) {
  struct hr__kai_cluster *cluster = &reader->read->cluster;
  const cJSON *source;
  cluster->n_topologies = hr__case_count(reader->cluster, "topologies");
  struct hr__kai_topology *topologies = hr__verdict_alloc(reader->verdict, cluster->n_topologies, sizeof *topologies);
  uint32_t i = 0;
  if (!topologies) return;
  cJSON_ArrayForEach(source, hr__case_get(reader->cluster, "topologies"))
      read_topology(reader, source, &topologies[i++]);
  cluster->topologies = topologies;
}

/* Returns the number of the level with a label, counted from 1; 0 if `label` is empty; -1 if the topology does not have
   the level. */
static int32_t level_of(const cJSON *topology, const char *label) {
  const cJSON *level;
  int32_t i = 0;
  if (!*label) return 0;
  cJSON_ArrayForEach(level, hr__case_get(topology, "levels")) {
    i++;
    if (cJSON_IsString(level) && strcmp(level->valuestring, label) == 0) return i;
  }
  return -1;
}

static struct hr__kai_constraint read_constraint(const struct reader *reader, const cJSON *source) {
  struct hr__kai_constraint constraint = {.topology = HR__KAI_NONE};
  const cJSON *topology, *found = NULL;
  const char *name = hr__case_text(source, "topology", "");
  uint32_t i = 0;
  if (!*name) return constraint;
  constraint.topology = reader->read->cluster.n_topologies;
  cJSON_ArrayForEach(topology, hr__case_get(reader->cluster, "topologies")) {
    if (!found && strcmp(hr__case_text(topology, "name", ""), name) == 0) {
      found = topology;
      constraint.topology = i;
    }
    i++;
  }
  constraint.required = level_of(found, hr__case_text(source, "required_level", ""));
  constraint.preferred = level_of(found, hr__case_text(source, "preferred_level", ""));
  return constraint;
}

/* ---- Queues ---- */

/* Reads a quota or a limit, and multiplies it by `unit`. Missing and negative values mean unlimited. */
static int64_t amount_of(const cJSON *source, const char *member, double unit) {
  const double value = hr__case_real(source, member, -1);
  return value < 0 ? HR__KAI_UNLIMITED : llround(value * unit);
}

static void read_queue(const cJSON *source, struct hr__kai_queue *queue) {
  static const char *const members[] = {"cpu_milli", "mem_mb", "gpu"}, *const weights[] = {"cpu", "mem", "gpu"};
  static const double units[] = {1, 1e6, HR__KAI_GPU_UNIT};
  queue->priority = (int32_t)hr__case_whole(source, "priority", 100);
  queue->created = hr__case_whole(source, "created_order", 0);
  const int64_t preempt_s = hr__case_whole(source, "preempt_min_runtime_s", -1);
  const int64_t reclaim_s = hr__case_whole(source, "reclaim_min_runtime_s", -1);
  queue->preempt_min_runtime_us = preempt_s < 0 ? -1 : preempt_s * second_us;
  queue->reclaim_min_runtime_us = reclaim_s < 0 ? -1 : reclaim_s * second_us;
  for (int r = 0; r < HR__KAI_RESOURCES; r++) {
    queue->share[r].deserved = amount_of(hr__case_get(source, "deserved"), members[r], units[r]);
    queue->share[r].limit = amount_of(hr__case_get(source, "limit"), members[r], units[r]);
    queue->share[r].weight = hr__case_real(hr__case_get(source, "weight"), weights[r], 1);
    queue->share[r].usage = hr__case_real(hr__case_get(source, "usage"), weights[r], 0);
  }
}

/* Returns whether any queue is its own ancestor. */
static bool has_cycle(const struct hr__kai_queue *queues, uint32_t n_queues) {
  for (uint32_t i = 0; i < n_queues; i++) {
    uint32_t q = i;
    for (uint32_t depth = 0; q != HR__KAI_NONE && depth < n_queues; depth++) q = queues[q].parent;
    if (q != HR__KAI_NONE) return true;
  }
  return false;
}

bool hr__kai_read_queues(struct hr__kai_queues *queues, const cJSON *source, const char *name, const char *parent,
                         struct hr__verdict *verdict) {
  const cJSON *item;
  queues->n = (uint32_t)cJSON_GetArraySize(source);
  queues->list = hr__verdict_alloc(verdict, queues->n, sizeof *queues->list);
  queues->names = hr__verdict_alloc(verdict, queues->n, sizeof *queues->names);
  uint32_t *ranks = hr__verdict_alloc(verdict, queues->n, sizeof *ranks), i = 0;
  if (verdict->no_memory) return false;
  cJSON_ArrayForEach(item, source) queues->names[i++] = name ? hr__case_text(item, name, "") : item->string;
  hr__kai_rank_names(queues->names, queues->n, ranks);
  i = 0;
  cJSON_ArrayForEach(item, source) {
    struct hr__kai_queue *queue = &queues->list[i];
    const char *above = hr__case_text(item, parent, "");
    queue->name_rank = ranks[i++];
    queue->parent = *above ? hr__case_find(queues->names, queues->n, above) : HR__KAI_NONE;
    if (queue->parent != HR__KAI_NONE) queues->list[queue->parent].n_children++;
  }
  if (has_cycle(queues->list, queues->n)) verdict->malformed = "a queue is its own ancestor";
  return !verdict->malformed;
}

static void read_queues(struct reader *reader) {
  struct hr__kai_case *read = reader->read;
  const cJSON *sources = hr__case_get(reader->verdict->whole, "queues"), *source;
  struct hr__kai_queues queues;
  uint32_t i = 0;
  if (!hr__kai_read_queues(&queues, sources, "name", "parent", reader->verdict)) return;
  cJSON_ArrayForEach(source, sources) read_queue(source, &queues.list[i++]);
  read->queue_names = queues.names;
  read->cluster.queues = queues.list;
  read->cluster.n_queues = queues.n;
}

/* Returns the queue of a job; HR__KAI_NONE if the queue does not exist, or if it names a parent that does not exist. */
static uint32_t queue_of(const struct reader *reader, const cJSON *job) {
  const struct hr__kai_case *read = reader->read;
  const uint32_t queue = hr__case_find(read->queue_names, read->cluster.n_queues, hr__case_text(job, "queue", ""));
  if (queue == HR__KAI_NONE) return queue;
  const cJSON *source = cJSON_GetArrayItem(hr__case_get(reader->verdict->whole, "queues"), (int)queue);
  const bool wants_parent = *hr__case_text(source, "parent", "") != '\0';
  return wants_parent && read->cluster.queues[queue].parent == HR__KAI_NONE ? HR__KAI_NONE : queue;
}

/* ---- Pods ---- */

const char *const hr__kai_status_words[HR__KAI_N_STATUSES] = {
#define STATUS_WORD(name, text) text,
    HR__KAI_STATUSES(STATUS_WORD)
#undef STATUS_WORD
};

enum hr__kai_status hr__kai_status_named(const char *word) {
  const uint32_t status = hr__case_find(hr__kai_status_words, HR__KAI_N_STATUSES, word);
  return status == HR__KAI_NONE ? HR__KAI_UNKNOWN : (enum hr__kai_status)status;
}

/* Reads the GPUs that a pod requests. */
static void read_gpus(struct reader *reader, const cJSON *task, struct hr__kai_pod *pod, int64_t *request) {
  const double gpus = hr__case_real(task, "gpus", 0), part = hr__case_real(task, "gpu_fraction", 0);
  const int64_t n_devices = hr__case_whole(task, "gpu_fraction_devices", 1);
  if (hr__case_get(task, "mig")) {
    pod->kind = HR__KAI_INSTANCE;
    add_profiles(reader, hr__case_get(task, "mig"), request);
    for (uint32_t d = HR__KAI_DIM_MIG; d < reader->read->cluster.n_dims; d++)
      pod->quota.of[HR__KAI_GPU] += request[d] * reader->read->cluster.mig_slices[d] * HR__KAI_GPU_UNIT;
    return;
  }
  if (hr__case_whole(task, "gpu_memory_mib", 0) > 0) {
    pod->kind = HR__KAI_MEMORY;
    pod->gpu_mib = hr__case_whole(task, "gpu_memory_mib", 0);
    pod->n_devices = (uint32_t)n_devices;
    return;
  }
  if (part > 0 || gpus > floor(gpus)) {
    pod->kind = HR__KAI_FRACTION;
    pod->portion = part > 0 ? part : gpus;
    pod->n_devices = (uint32_t)n_devices;
    pod->gpus = llround(pod->portion * 100) * n_devices * (HR__KAI_GPU_UNIT / 100);
  } else {
    request[HR__KAI_DIM_GPUS] = (int64_t)gpus;
    pod->gpus = (int64_t)gpus * HR__KAI_GPU_UNIT;
  }
  pod->quota.of[HR__KAI_GPU] = pod->gpus;
}

/* Returns a flag for each node: 1 if the type of the node is one of `names`. Without names, all nodes are allowed, and
   the result is NULL. The result is also NULL if memory is exhausted. */
static const uint8_t *read_affinity(const struct reader *reader, const cJSON *names) {
  const struct hr__kai_case *read = reader->read;
  if (!cJSON_IsArray(names) || cJSON_GetArraySize(names) == 0) return NULL;
  uint8_t *allowed = hr__verdict_alloc(reader->verdict, read->cluster.n_nodes, 1);
  for (uint32_t n = 0; allowed && n < read->cluster.n_nodes; n++)
    allowed[n] = hr__case_list_has(names, label_of(reader, n, node_type_label));
  return allowed;
}

/* Lists the shared GPUs that a pod on a node uses. The member "gpu_groups" has their names. For each GPU without a
   name, a pod that requests a fraction gets a new shared GPU; a pod that requests GPU memory gets none. */
static void read_groups(struct reader *reader, const cJSON *task, const struct hr__kai_pod *pod,
                        struct hr__kai_start *start, const char **group_names, uint32_t *group_nodes) {
  struct hr__kai_case *read = reader->read;
  const cJSON *groups = hr__case_get(task, "gpu_groups"), *group = groups ? groups->child : NULL;
  if (start->node == HR__KAI_NONE || pod->n_devices == 0) return;
  uint32_t *gpus = hr__verdict_alloc(reader->verdict, pod->n_devices, sizeof *gpus);
  for (uint32_t i = 0; gpus && i < pod->n_devices; i++, group = group ? group->next : NULL) {
    if (!group && pod->kind == HR__KAI_MEMORY) break;
    uint32_t gpu = 0;
    const char *name = group && cJSON_IsString(group) ? group->valuestring : "";
    while (gpu < read->n_gpus && (!group || group_nodes[gpu] != start->node || strcmp(group_names[gpu], name) != 0))
      gpu++;
    if (gpu == read->n_gpus) {
      group_names[read->n_gpus] = name;
      group_nodes[read->n_gpus++] = start->node;
    }
    gpus[i] = gpu;
    start->n_gpus = i + 1;
  }
  start->gpus = gpus;
}

static void read_pod(struct reader *reader, const cJSON *job, const cJSON *task, struct hr__kai_pod *pod,
                     struct hr__kai_start *start) {
  struct hr__kai_case *read = reader->read;
  const bool least = hr__case_bool(job, "best_effort", false);
  int64_t *request = hr__verdict_alloc(reader->verdict, read->cluster.n_dims, sizeof *request);
  if (!request) return;
  request[HR__KAI_DIM_CPU] = hr__case_milli(task, "cpu_milli", least ? 0 : default_cpu_milli);
  request[HR__KAI_DIM_MEM] = hr__case_whole(task, "mem_bytes", least ? 0 : default_mem_bytes);
  request[HR__KAI_DIM_PODS] = 1;
  pod->quota.of[HR__KAI_CPU] = request[HR__KAI_DIM_CPU];
  pod->quota.of[HR__KAI_MEM] = request[HR__KAI_DIM_MEM];
  pod->request = request;
  pod->legacy_mig = hr__case_bool(task, "legacy_mig", false);
  pod->allowed_nodes = read_affinity(reader, hr__case_get(task, "node_affinity"));
  read_gpus(reader, task, pod, request);
  start->status = hr__kai_status_named(hr__case_text(task, "state", "Pending"));
  start->node = hr__case_find(read->node_names, read->cluster.n_nodes, hr__case_text(task, "node", ""));
}

/* Returns whether pod `l` of a job precedes pod `r`. With the plug-in taskorder, pods with a task priority precede pods
   without one, and higher priorities precede lower ones. Pods that are equal in this order, and all pods without the
   plug-in, are ordered by name. */
static bool task_before(const struct reader *reader, const cJSON *l, const cJSON *r) {
  const cJSON *of_l = hr__case_get(l, "task_priority"), *of_r = hr__case_get(r, "task_priority");
  if (reader->read->cluster.config.task_order) {
    if ((of_l != NULL) != (of_r != NULL)) return of_l != NULL;
    if (of_l && hr__case_value_whole(of_l, 0) != hr__case_value_whole(of_r, 0))
      return hr__case_value_whole(of_l, 0) > hr__case_value_whole(of_r, 0);
  }
  return strcmp(hr__case_text(l, "name", ""), hr__case_text(r, "name", "")) < 0;
}

/* ---- Jobs ---- */

/* Arrays for the pods, pod sets and groups of all jobs, with the numbers of entries that are in use. */
struct room {
  struct hr__kai_pod *pods;
  struct hr__kai_pod_set *sets;
  struct hr__kai_group *groups;
  const char **set_names, **group_names, **gpu_names;
  uint32_t *pods_of_sets, *gpu_nodes;
  uint32_t n_pods, n_sets, n_groups;
};

static void add_set(const struct reader *reader, struct room *room, uint32_t job, uint32_t group, const char *name,
                    int64_t min_available, const cJSON *topology) {
  room->set_names[room->n_sets] = name;
  room->sets[room->n_sets++] = (struct hr__kai_pod_set){.job = job,
                                                        .group = group,
                                                        .min_available = (uint32_t)min_available,
                                                        .constraint = read_constraint(reader, topology)};
}

/* Reads a group, its pod sets, and all groups below it. */
static void read_group(const struct reader *reader, struct room *room, uint32_t job, uint32_t parent,
                       const cJSON *source) {
  const uint32_t group = room->n_groups++;
  const cJSON *child;
  room->group_names[group] = hr__case_text(source, "name", "");
  room->groups[group] = (struct hr__kai_group){
      .job = job, .parent = parent, .constraint = read_constraint(reader, hr__case_get(source, "topology"))};
  cJSON_ArrayForEach(child, hr__case_get(source, "pod_sets"))
      add_set(reader, room, job, group, hr__case_text(child, "name", ""), hr__case_whole(child, "min_available", 1),
              hr__case_get(child, "topology"));
  cJSON_ArrayForEach(child, hr__case_get(source, "groups")) read_group(reader, room, job, group, child);
}

static uint32_t count_sets(const cJSON *source, bool groups) {
  uint32_t n = groups ? 1 : hr__case_count(source, "pod_sets");
  const cJSON *child;
  cJSON_ArrayForEach(child, hr__case_get(source, "groups")) n += count_sets(child, groups);
  return n;
}

/* Reads the tree of groups and pod sets of a job. Pods without a pod set belong to the pod set "default", which is
   added if the job does not have it. */
static void read_sets(const struct reader *reader, struct room *room, uint32_t j, const cJSON *source) {
  struct hr__kai_job *job = &reader->read->cluster.jobs[j];
  const cJSON *task;
  uint32_t n_without = 0;
  cJSON_ArrayForEach(task, hr__case_get(source, "tasks")) n_without += *hr__case_text(task, "subgroup", "") == '\0';
  job->first_set = room->n_sets;
  job->first_group = room->n_groups;
  read_group(reader, room, j, HR__KAI_NONE, hr__case_get(source, "subgroups"));
  const uint32_t n_sets = room->n_sets - job->first_set;
  if ((n_without > 0 || n_sets == 0) &&
      hr__case_find(room->set_names + job->first_set, n_sets, "default") == HR__KAI_NONE)
    add_set(reader, room, j, job->first_group, "default",
            n_sets == 0 ? hr__case_whole(source, "min_available", 1) : hr__case_count(source, "tasks"), NULL);
  job->n_sets = room->n_sets - job->first_set;
  job->n_groups = room->n_groups - job->first_group;
  uint32_t *ranks = hr__verdict_alloc(reader->verdict, job->n_sets + job->n_groups, sizeof *ranks);
  if (!ranks) return;
  hr__kai_rank_names(room->set_names + job->first_set, job->n_sets, ranks);
  for (uint32_t i = 0; i < job->n_sets; i++) room->sets[job->first_set + i].name_rank = ranks[i];
  hr__kai_rank_names(room->group_names + job->first_group, job->n_groups, ranks);
  for (uint32_t i = 0; i < job->n_groups; i++) room->groups[job->first_group + i].name_rank = ranks[i];
}

/* Lists the pods of each pod set, sorted by `order`. */
static void list_pods(struct room *room, const struct hr__kai_job *job) {
  uint32_t n_listed = job->first_pod;
  for (uint32_t s = job->first_set; s < job->first_set + job->n_sets; s++) {
    struct hr__kai_pod_set *set = &room->sets[s];
    uint32_t *list = room->pods_of_sets + n_listed;
    set->first_pod = n_listed;
    for (uint32_t p = job->first_pod; p < job->first_pod + job->n_pods; p++) {
      if (room->pods[p].pod_set != s) continue;
      uint32_t at = set->n_pods++;
      for (; at > 0 && room->pods[list[at - 1]].order > room->pods[p].order; at--) list[at] = list[at - 1];
      list[at] = p;
    }
    n_listed += set->n_pods;
  }
}

static void read_pods(struct reader *reader, struct room *room, uint32_t j, const cJSON *source) {
  struct hr__kai_case *read = reader->read;
  struct hr__kai_job *job = &read->cluster.jobs[j];
  const cJSON *tasks = hr__case_get(source, "tasks"), *task, *other;
  job->first_pod = room->n_pods;
  cJSON_ArrayForEach(task, tasks) {
    const uint32_t p = room->n_pods++;
    struct hr__kai_pod *pod = &room->pods[p];
    const char *name = hr__case_text(task, "subgroup", "default");
    const uint32_t set = hr__case_find(room->set_names + job->first_set, job->n_sets, name);
    read->pod_names[p] = hr__case_text(task, "name", "");
    read_pod(reader, source, task, pod, &read->start[p]);
    read_groups(reader, task, pod, &read->start[p], room->gpu_names, room->gpu_nodes);
    pod->job = j;
    pod->pod_set = job->first_set + (set == HR__KAI_NONE ? 0 : set);
    cJSON_ArrayForEach(other, tasks) pod->order += task_before(reader, other, task);
  }
  job->n_pods = room->n_pods - job->first_pod;
  list_pods(room, job);
}

static void read_job(struct reader *reader, struct room *room, uint32_t j, const cJSON *source) {
  struct hr__kai_case *read = reader->read;
  struct hr__kai_job *job = &read->cluster.jobs[j];
  read->jobs[j] = source;
  read->stale_s[j] = hr__case_whole(source, "stale_s", -1);
  read->keeps_releasing[j] = hr__case_bool(source, "keep_releasing", false);
  job->queue = queue_of(reader, source);
  job->priority = (int32_t)hr__case_whole(source, "priority", 50);
  job->preemptible = hr__case_bool(source, "preemptible", job->priority < 100);
  job->created = hr__case_whole(source, "created_min", 0) * minute_us;
  read_sets(reader, room, j, source);
  read_pods(reader, room, j, source);
}

/* Counts the pods, pod sets and groups of all jobs, and allocates the arrays for them. Returns false if the case is
   malformed or memory is exhausted. */
static bool allocate_jobs(struct reader *reader, struct room *room) {
  struct hr__kai_case *read = reader->read;
  struct hr__verdict *verdict = reader->verdict;
  const uint32_t n_jobs = hr__case_count(reader->verdict->whole, "jobs");
  uint32_t n_pods = 0, n_sets = 0, n_groups = 0, n_gpus = 0;
  const cJSON *job, *task;
  cJSON_ArrayForEach(job, hr__case_get(reader->verdict->whole, "jobs")) {
    n_pods += hr__case_count(job, "tasks");
    n_sets += count_sets(hr__case_get(job, "subgroups"), false) + 1;
    n_groups += count_sets(hr__case_get(job, "subgroups"), true);
    cJSON_ArrayForEach(task, hr__case_get(job, "tasks")) {
      const int64_t n_devices = hr__case_whole(task, "gpu_fraction_devices", 1);
      if (n_devices < 0 || n_devices > most_devices) verdict->malformed = "gpu_fraction_devices: expected 0 to 1024";
      n_gpus += (uint32_t)n_devices;
    }
  }
  if (verdict->malformed) return false;
  read->cluster.jobs = hr__verdict_alloc(verdict, n_jobs, sizeof *read->cluster.jobs);
  read->jobs = hr__verdict_alloc(verdict, n_jobs, sizeof *read->jobs);
  read->job_names = hr__verdict_alloc(verdict, n_jobs, sizeof *read->job_names);
  read->stale_s = hr__verdict_alloc(verdict, n_jobs, sizeof *read->stale_s);
  read->keeps_releasing = hr__verdict_alloc(verdict, n_jobs, sizeof *read->keeps_releasing);
  read->start = hr__verdict_alloc(verdict, n_pods, sizeof *read->start);
  read->pod_names = hr__verdict_alloc(verdict, n_pods, sizeof *read->pod_names);
  room->pods = hr__verdict_alloc(verdict, n_pods, sizeof *room->pods);
  room->pods_of_sets = hr__verdict_alloc(verdict, n_pods, sizeof *room->pods_of_sets);
  room->sets = hr__verdict_alloc(verdict, n_sets, sizeof *room->sets);
  room->set_names = hr__verdict_alloc(verdict, n_sets, sizeof *room->set_names);
  room->groups = hr__verdict_alloc(verdict, n_groups, sizeof *room->groups);
  room->group_names = hr__verdict_alloc(verdict, n_groups, sizeof *room->group_names);
  room->gpu_names = hr__verdict_alloc(verdict, n_gpus, sizeof *room->gpu_names);
  room->gpu_nodes = hr__verdict_alloc(verdict, n_gpus, sizeof *room->gpu_nodes);
  read->cluster.n_jobs = n_jobs;
  return !verdict->no_memory;
}

/* Sorts the pods by name. A session adds them to their nodes in this order at its start. */
static void order_pods(struct reader *reader) {
  struct hr__kai_case *read = reader->read;
  const uint32_t n = read->cluster.n_pods;
  uint32_t *order = hr__verdict_alloc(reader->verdict, n, sizeof *order);
  for (uint32_t p = 0; order && p < n; p++) {
    uint32_t at = p;
    for (; at > 0 && strcmp(read->pod_names[order[at - 1]], read->pod_names[p]) > 0; at--) order[at] = order[at - 1];
    order[at] = p;
  }
  read->cluster.start_order = order;
}

static void read_jobs(struct reader *reader) {
  struct hr__kai_case *read = reader->read;
  struct room room = {.n_pods = 0};
  const cJSON *job;
  if (!allocate_jobs(reader, &room)) return;
  uint32_t *ranks = hr__verdict_alloc(reader->verdict, read->cluster.n_jobs, sizeof *ranks), j = 0;
  if (!ranks) return;
  cJSON_ArrayForEach(job, hr__case_get(reader->verdict->whole, "jobs")) read->job_names[j++] =
      hr__case_text(job, "name", "");
  hr__kai_rank_names(read->job_names, read->cluster.n_jobs, ranks);
  j = 0;
  cJSON_ArrayForEach(job, hr__case_get(reader->verdict->whole, "jobs")) {
    read->cluster.jobs[j].name_rank = ranks[j];
    read_job(reader, &room, j++, job);
  }
  read->cluster.pods = room.pods;
  read->cluster.sets = room.sets;
  read->cluster.groups = room.groups;
  read->cluster.pods_of_sets = room.pods_of_sets;
  read->cluster.n_pods = room.n_pods;
  read->cluster.n_sets = room.n_sets;
  read->cluster.n_groups = room.n_groups;
  order_pods(reader);
}

/* ---- Configuration ---- */

/* Returns an argument of a plug-in as a number. The argument may be a number or a text. */
static double argument(const cJSON *arguments, const char *name, double fallback) {
  const char *text = hr__case_text(arguments, name, NULL);
  return text ? strtod(text, NULL) : hr__case_real(arguments, name, fallback);
}

/* Returns a duration in microseconds. A text is a sum such as "1h30m" or "500ms"; a number states nanoseconds. Returns
   0 if the argument is missing, malformed or negative. */
static int64_t duration_us(const cJSON *arguments, const char *name) {
  const char *text = hr__case_text(arguments, name, NULL);
  if (!text) return hr__case_whole(arguments, name, 0) / 1000;
  double sum = 0;
  while (*text) {
    char *end;
    const double value = strtod(text, &end);
    if (end == text) return 0;
    double unit = 1e6;
    if (strncmp(end, "ms", 2) == 0)
      unit = 1e3, end++;
    else if (*end == 'm')
      unit = 60e6;
    else if (*end == 'h')
      unit = 3600e6;
    sum += value * unit;
    text = *end ? end + 1 : end;
  }
  return sum > 0 ? (int64_t)sum : 0;
}

static enum hr__kai_placement placement_of(const cJSON *arguments, const char *name) {
  return strcmp(hr__case_text(arguments, name, "binpack"), "spread") == 0 ? HR__KAI_SPREAD : HR__KAI_BINPACK;
}

static void read_arguments(struct hr__kai_config *config, const char *name, const cJSON *arguments) {
  if (strcmp(name, "nodeplacement") == 0) {
    config->gpu_placement = placement_of(arguments, "gpu");
    config->cpu_placement = placement_of(arguments, "cpu");
  } else if (strcmp(name, "proportion") == 0) {
    const double k = argument(arguments, "kValue", 1);
    const double multiplier = argument(arguments, "relcaimerSaturationMultiplier", 1);
    config->k_value = k > 0 ? k : 0;
    config->saturation_multiplier = multiplier >= 1 ? multiplier : 1;
  } else if (strcmp(name, "minruntime") == 0) {
    config->preempt_min_runtime_us = duration_us(arguments, "defaultPreemptMinRuntime");
    config->reclaim_min_runtime_us = duration_us(arguments, "defaultReclaimMinRuntime");
    config->reclaim_method = strcmp(hr__case_text(arguments, "reclaimResolveMethod", "lca"), "queue") == 0
                                 ? HR_KAI_RECLAIM_QUEUE
                                 : HR_KAI_RECLAIM_LCA;
  }
}

/* Enables a plug-in. Returns false if the plug-in is unknown. */
static bool enable_plugin(struct hr__kai_config *config, const char *name) {
  /* These plug-ins have no flag. All but nodeplacement have no effect on the cases that are supported; for
     nodeplacement, read_arguments sets the placement. */
  static const char *const others[] = {"kubeflow", "ray",         "nominatednode",   "dynamicresources",
                                       "snapshot", "podaffinity", "reflectjoborder", "nodeplacement"};
  const struct {
    const char *name;
    bool *enabled;
  } plugins[] = {{"proportion", &config->proportion},
                 {"priority", &config->priority},
                 {"elastic", &config->elastic},
                 {"predicates", &config->predicates},
                 {"nodeavailability", &config->node_availability},
                 {"gpusharingorder", &config->gpu_sharing_order},
                 {"gpupack", &config->gpu_pack},
                 {"gpuspread", &config->gpu_spread},
                 {"resourcetype", &config->resource_type},
                 {"subgrouporder", &config->pod_set_order},
                 {"taskorder", &config->task_order},
                 {"topology", &config->topology},
                 {"minruntime", &config->min_runtime}};
  for (size_t i = 0; i < sizeof plugins / sizeof *plugins; i++) {
    if (strcmp(plugins[i].name, name) != 0) continue;
    *plugins[i].enabled = true;
    return true;
  }
  return hr__case_find(others, sizeof others / sizeof *others, name) != HR__KAI_NONE;
}

/* Reads the configuration. Without a list of plug-ins, the default plug-ins are enabled. If the list has an unknown
   plug-in, marks the case as not supported and returns false. */
static bool read_config(struct reader *reader) {
  struct hr__kai_config *config = &reader->read->cluster.config;
  const cJSON *source = hr__case_get(reader->verdict->whole, "config"), *plugins = hr__case_get(source, "plugins"),
              *plugin;
  *config = hr__kai_default_config();
  config->allow_consolidating_reclaim = hr__case_bool(source, "allow_consolidating_reclaim", true);
  config->max_consolidation_victims = hr__case_whole(source, "max_consolidation_preemptees", -1);
  if (!plugins) return true;
  *config = (struct hr__kai_config){.allow_consolidating_reclaim = config->allow_consolidating_reclaim,
                                    .max_consolidation_victims = config->max_consolidation_victims,
                                    .min_gpu_mib = config->min_gpu_mib,
                                    .k_value = config->k_value,
                                    .saturation_multiplier = config->saturation_multiplier};
  cJSON_ArrayForEach(plugin, plugins) {
    const char *name = hr__case_text(plugin, "name", "");
    if (!enable_plugin(config, name)) {
      hr__verdict_unsupported(reader->verdict, "custom plug-ins");
      return false;
    }
    read_arguments(config, name, hr__case_get(plugin, "arguments"));
  }
  return true;
}

/* Returns whether the model covers the case. If not, marks the case as not supported. */
static bool is_supported(const struct reader *reader) {
  const cJSON *job, *task;
  const char *missing = hr__case_get(reader->cluster, "dra") ? "DRA" : NULL;
  cJSON_ArrayForEach(job, hr__case_get(reader->verdict->whole, "jobs")) {
    cJSON_ArrayForEach(task, hr__case_get(job, "tasks")) {
      if (hr__case_get(task, "resource_claims")) missing = "DRA";
      if (hr__case_get(task, "pod_affinity_topology_key")) missing = "pod affinity";
      if (hr__case_get(task, "pod_anti_affinity_topology_key")) missing = "pod anti-affinity";
    }
  }
  if (missing) hr__verdict_unsupported(reader->verdict, missing);
  return !missing;
}

bool hr__kai_case_read(struct hr__kai_case *read, struct hr__verdict *verdict) {
  struct reader reader = {.read = read, .verdict = verdict, .cluster = hr__case_get(verdict->whole, "cluster")};
  *read = (struct hr__kai_case){.verdict = verdict};
  if (!is_supported(&reader) || !read_config(&reader)) return false;
  read_dimensions(&reader);
  if (verdict->no_memory) return false;
  read_nodes(&reader);
  if (verdict->no_memory || verdict->malformed) return false;
  read_topologies(&reader);
  read_queues(&reader);
  if (verdict->no_memory || verdict->malformed) return false;
  read_jobs(&reader);
  return !verdict->no_memory && !verdict->malformed;
}
