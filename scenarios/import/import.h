/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_IMPORT_IMPORT_H
#define HR_SCENARIOS_IMPORT_IMPORT_H

/* Types and functions that the readers of configurations share. */

#include "headroom/unstable/catalog.h"
#include "headroom/unstable/scenario_files.h"
#include "scenarios/import/manifest.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

/* A function that reads the configuration files of a system, and adds members to the scenario `root`. */
typedef enum hr_status hr__import_read(const char *const *files, size_t n_files, cJSON *root, struct hr_notes *notes,
                                       struct hr_error *error);

/* The systems. The columns: name, function that reads their configuration. */
#define HR__IMPORT_SYSTEMS(X)                                                                                          \
  X("kueue", hr__import_kueue)                                                                                         \
  X("kai", hr__import_kai)                                                                                             \
  X("volcano", hr__import_volcano)                                                                                     \
  X("kubernetes", hr__import_kubernetes)                                                                               \
  X("slurm", hr__import_slurm)

#define HR__IMPORT_DECLARE(name, read) hr__import_read read;
HR__IMPORT_SYSTEMS(HR__IMPORT_DECLARE)
#undef HR__IMPORT_DECLARE

/* ---- Fields to keys ---------------------------------------------------------------------------------- */

/*
 * Copies checked fields of Kubernetes objects to keys of a scenario. All functions accept NULL as the object to which
 * they add, and set `failed` if memory is exhausted, so callers check it once at the end. A field that is missing or
 * null adds nothing.
 */

struct hr__convert {
  struct hr__objects *objects;
  bool failed; /* out of memory */
};

/* Adds `item` with a key to an object or, if `key` is NULL, to a list. */
static inline cJSON *hr__put(struct hr__convert *convert, cJSON *to, const char *key, cJSON *item) {
  bool added = to && item && (key ? cJSON_AddItemToObject(to, key, item) : cJSON_AddItemToArray(to, item));
  if (added) return item;
  cJSON_Delete(item);
  convert->failed = true;
  return NULL;
}

static inline cJSON *hr__put_object(struct hr__convert *convert, cJSON *to, const char *key) {
  return hr__put(convert, to, key, cJSON_CreateObject());
}

static inline cJSON *hr__put_list(struct hr__convert *convert, cJSON *to, const char *key) {
  return hr__put(convert, to, key, cJSON_CreateArray());
}

static inline void hr__put_text(struct hr__convert *convert, cJSON *to, const char *key, const char *text) {
  hr__put(convert, to, key, cJSON_CreateString(text));
}

static inline void hr__put_number(struct hr__convert *convert, cJSON *to, const char *key, double number) {
  hr__put(convert, to, key, cJSON_CreateNumber(number));
}

static inline void hr__put_boolean(struct hr__convert *convert, cJSON *to, const char *key, bool value) {
  hr__put(convert, to, key, cJSON_CreateBool(value));
}

/* Removes a member that is an empty object or list. */
static inline void hr__drop_empty(cJSON *from, const char *key) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(from, key);
  if (item && !item->child) cJSON_DeleteItemFromObjectCaseSensitive(from, key);
}

/* Copy the value at a path of an object. */
static inline void hr__copy_text(struct hr__convert *convert, cJSON *to, const char *key, const struct hr__yaml *from,
                                 const char *path) {
  const char *text = hr__yaml_text(from, path);
  if (text && text[0]) hr__put_text(convert, to, key, text);
}

static inline void hr__copy_number(struct hr__convert *convert, cJSON *to, const char *key, const struct hr__yaml *from,
                                   const char *path) {
  const char *text = hr__yaml_text(from, path);
  if (text) hr__put_number(convert, to, key, strtod(text, NULL));
}

static inline void hr__copy_boolean(struct hr__convert *convert, cJSON *to, const char *key,
                                    const struct hr__yaml *from, const char *path) {
  const struct hr__yaml *value = hr__yaml_at(from, path);
  if (value) hr__put_boolean(convert, to, key, hr__is_true(value));
}

/* A duration, in seconds. */
static inline void hr__copy_seconds(struct hr__convert *convert, cJSON *to, const char *key,
                                    const struct hr__yaml *from, const char *path) {
  int64_t us;
  const char *text = hr__yaml_text(from, path);
  if (text && hr__duration(text, &us)) hr__put_number(convert, to, key, (double)us / 1e6);
}

static inline void hr__copy_texts(struct hr__convert *convert, cJSON *to, const char *key, const struct hr__yaml *from,
                                  const char *path) {
  const struct hr__yaml *list = hr__yaml_at(from, path);
  if (!list || !list->count) return;
  cJSON *copy = hr__put_list(convert, to, key);
  for (const struct hr__yaml *entry = list->first; entry; entry = entry->next)
    hr__put_text(convert, copy, NULL, entry->text);
}

/* ---- Pools (nodes.c) --------------------------------------------------------------------------------- */

/*
 * Pools from Kubernetes Nodes. Nodes are in one pool if they have the same GPU type, number of GPUs, sharing of GPUs,
 * CPUs, nearly the same memory (1 %), and the same values of the labels that the scheduler's configuration names.
 * Jobs of a trace have no tolerations, except of taints with the name of a GPU resource, which Kubernetes adds to pods
 * that request this resource (admission plug-in ExtendedResourceToleration).
 */

extern const struct hr__object_kind hr__kind_node;

enum { HR__MAX_NODE_LABELS = 64, HR__MAX_NODE_LEVELS = 16 };

/* The properties of nodes that the configuration uses. Texts are borrowed. */
struct hr__node_interest {
  const char *labels[HR__MAX_NODE_LABELS]; /* keys with values that distinguish pools */
  uint32_t n_labels;
  const char *levels[HR__MAX_NODE_LEVELS]; /* keys of topology levels, widest first, without that of single nodes */
  uint32_t n_levels;
  bool respects_taints; /* leave out nodes with taints that jobs of a trace do not tolerate */
};

/* Adds a key unless the list has it. Further keys are ignored if the list is full. */
void hr__node_interest_add(struct hr__node_interest *interest, const char *key);
/* Adds the levels of a topology: a list (NULL: none) of objects with nodeLabel. The level of hosts is left out. */
void hr__node_interest_levels(struct hr__node_interest *interest, const struct hr__yaml *levels);

/* A pool. */
struct hr__node_pool {
  char name[100];
  const char *gpu;              /* of the catalogue, or as the nodes name it; borrowed */
  const struct hr__yaml *first; /* the first node; NULL: the pool is assumed */
  uint32_t n_nodes, n_gpus;
  int64_t cpu_milli, mem_mib; /* 0: unknown */
  uint32_t replicas;          /* parts of each GPU; 0: GPUs are not shared in time */
  bool mps;
  char layouts[1000];                      /* MIG: layouts of the GPUs, separated by ';'; "": none */
  uint32_t nodes_per_rack, racks_per_zone; /* 0: unknown */
};

/* The pools of a cluster. Must be initialized to zero. */
struct hr__node_pools {
  struct hr_catalog *catalog;
  struct hr__node_pool *list;
  uint32_t count, capacity;
  struct node_in_pool *nodes; /* used while pools are made */
  uint32_t n_nodes, node_capacity;
};

/* Makes the pools of all Nodes. Nodes that are not ready, cannot be scheduled or have no GPUs are left out, with
   notes. Without Node objects there are no pools. */
enum hr_status hr__node_pools_make(struct hr__node_pools *pools, const struct hr__objects *objects,
                                   const struct hr__node_interest *interest);
/* Adds a pool of `gpus` GPUs with unknown nodes. `gpu` is a name of the type. */
enum hr_status hr__node_pools_assume(struct hr__node_pools *pools, const struct hr__objects *objects, const char *name,
                                     const char *gpu, int64_t gpus);
/* Whether the nodes of a pool have all labels of a map (NULL: none). An assumed pool has no labels. */
bool hr__node_pool_has_labels(const struct hr__node_pool *pool, const struct hr__yaml *labels);
void hr__node_pools_finish(struct hr__node_pools *pools);

/* The label of a map that names a GPU type, such as nvidia.com/gpu.product; NULL: none. */
const struct hr__yaml *hr__gpu_label(const struct hr__yaml *labels);

/* Writes cluster.pools, the name of the policy and the section of a system to `root`, which owns the section then. If
   `status` is an error, the pools are left out, and it is returned. */
enum hr_status hr__import_write(struct hr__convert *convert, const struct hr__node_pools *pools, cJSON *root,
                                const char *system, cJSON *section, enum hr_status status);

#endif
