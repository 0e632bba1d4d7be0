/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_CONFORM_CONFORM_H
#define HR_SCENARIOS_CONFORM_CONFORM_H

/*
 * Functions and types that the adapters of the systems share. An adapter (one per system, in the files of its name)
 * reads the input of a case from JSON and calls the model, which is in policies/ or sim/. It writes the result as JSON
 * in the form of the expected values, and compares both. An adapter must not depend on the id of a case.
 */

#include "base/containers.h"
#include "headroom/unstable/conform.h"
#include "policies/kai/solver.h"
#include "policies/volcano/volcano.h"

#include <cjson/cJSON.h>
#include <string.h>

/* The systems. The columns: name, function that runs a case, whether files have groups of cases instead of one list. */
#define HR__CONFORM_SYSTEMS(X)                                                                                         \
  X("kueue", hr__conform_kueue, false)                                                                                 \
  X("kai", hr__conform_kai, false)                                                                                     \
  X("volcano", hr__conform_volcano, false)                                                                             \
  X("kubernetes", hr__conform_kubernetes, false)                                                                       \
  X("slurm", hr__conform_slurm, false)                                                                                 \
  X("autoscalers", hr__conform_autoscalers, true)                                                                      \
  X("clusters", hr__conform_clusters, false)

/* The verdict on one case. A case has passed without differences and no unsupported features. */
struct hr__verdict {
  struct hr_arena *arena;      /* memory that lasts until the end of the case */
  struct hr_conform_case *row; /* collects the differences */
  bool no_memory;              /* memory was exhausted; the run ends with HR_NO_MEMORY */
  const char *malformed;       /* static text: what is wrong in the case, which then fails; NULL: nothing */
  void (*release)(
      void *data); /* called with `released` at the end of the case, before the arena is freed; NULL: none */
  void *released;
};

/* A function that runs one case. `whole` is the object of the case, `kind` its member "kind", or its group. */
typedef void hr__conform_run_case(const cJSON *whole, const char *kind, struct hr__verdict *verdict);
#define HR__CONFORM_DECLARE(name, run, grouped) hr__conform_run_case run;
HR__CONFORM_SYSTEMS(HR__CONFORM_DECLARE)
#undef HR__CONFORM_DECLARE

/* Marks the case as not supported. `what` names the feature that the model does not cover. */
static inline void hr__verdict_unsupported(struct hr__verdict *verdict, const char *what) {
  if (verdict->row->unsupported) return;
  verdict->row->unsupported = strdup(what);
  if (!verdict->row->unsupported) verdict->no_memory = true;
}

/* ---- Comparing -------------------------------------------------------------------------------------- */

enum hr__compare_flags {
  HR__COMPARE_EXACTLY = 0,
  HR__COMPARE_SETS = 1,    /* the order of list items does not matter, at any depth */
  HR__COMPARE_EXPECTED = 2 /* members of objects that only the actual value has are ignored, at any depth */
};

/* Returns whether two values are equal at any depth. Numbers may differ by `tolerance`. A missing member equals null.
   NULL means a missing value. */
bool hr__json_is_equal(const cJSON *expected, const cJSON *actual, unsigned flags, double tolerance);
/* Compares two values in the same way, and adds a difference for each member or item that differs (at most 20 per
 * case). */
void hr__verdict_compare(struct hr__verdict *verdict, const char *place, const cJSON *expected, const cJSON *actual,
                         unsigned flags, double tolerance);
/* Compare single values exactly, and add a difference as hr__verdict_compare does. */
void hr__verdict_compare_number(struct hr__verdict *verdict, const char *place, const cJSON *expected, double actual);
void hr__verdict_compare_bool(struct hr__verdict *verdict, const char *place, const cJSON *expected, bool actual);
void hr__verdict_compare_text(struct hr__verdict *verdict, const char *place, const cJSON *expected,
                              const char *actual);

/* Marks the case as malformed if it has a number, or a text that is a quantity, beyond `limit` on either side of 0.
   Members with a name that begins with "mem_bytes" may be 4096 times larger. */
void hr__verdict_limit_numbers(struct hr__verdict *verdict, const cJSON *whole, double limit);

/* Makes a case fail because the model does not know its kind. */
static inline void hr__verdict_unknown_kind(struct hr__verdict *verdict, const char *kind) {
  cJSON *expected = cJSON_CreateString(kind);
  hr__verdict_compare_text(verdict, "kind", expected, NULL);
  if (!expected) verdict->no_memory = true;
  cJSON_Delete(expected);
}

/* ---- Reading ---------------------------------------------------------------------------------------- */

/* Returns the member `name` of an object, NULL if it is missing or null. `object` may be NULL. Case matters. */
static inline const cJSON *hr__case_get(const cJSON *object, const char *name) {
  const cJSON *value = cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, name) : NULL;
  return cJSON_IsNull(value) ? NULL : value;
}

/* Reads a quantity of Kubernetes, such as "2", "500m" or "100Mi", in thousandths, rounded up. Returns false for other
   texts, and if `value` is not a text. */
bool hr__case_value_milli(const cJSON *value, int64_t *milli);

/* A value as a whole number; `fallback` if it is NULL or of another type. Whole numbers beyond the range of int64_t
   become INT64_MAX or INT64_MIN. A text that is a quantity is rounded up. */
static inline int64_t hr__case_value_whole(const cJSON *value, int64_t fallback) {
  int64_t milli;
  if (hr__case_value_milli(value, &milli)) return milli / 1000 + (milli % 1000 > 0);
  if (!cJSON_IsNumber(value)) return fallback;
  if (value->valuedouble >= 0x1p63) return INT64_MAX;
  if (value->valuedouble <= -0x1p63) return INT64_MIN;
  return (int64_t)value->valuedouble;
}

/* Return a member as a whole number (converted as above), a number, a text or a truth value; `fallback` if it is
   missing or of another type. */
static inline int64_t hr__case_whole(const cJSON *object, const char *name, int64_t fallback) {
  return hr__case_value_whole(hr__case_get(object, name), fallback);
}

/* The same in thousandths: numbers are thousandths already, texts are quantities. */
static inline int64_t hr__case_milli(const cJSON *object, const char *name, int64_t fallback) {
  int64_t milli;
  const cJSON *value = hr__case_get(object, name);
  return hr__case_value_milli(value, &milli) ? milli : hr__case_value_whole(value, fallback);
}

static inline double hr__case_real(const cJSON *object, const char *name, double fallback) {
  int64_t milli;
  const cJSON *value = hr__case_get(object, name);
  if (hr__case_value_milli(value, &milli)) return (double)milli / 1000;
  return cJSON_IsNumber(value) ? value->valuedouble : fallback;
}

static inline const char *hr__case_text(const cJSON *object, const char *name, const char *fallback) {
  const cJSON *value = hr__case_get(object, name);
  return cJSON_IsString(value) && value->valuestring ? value->valuestring : fallback;
}

/* Whether the member is this text. */
static inline bool hr__case_text_is(const cJSON *object, const char *name, const char *text) {
  return strcmp(hr__case_text(object, name, ""), text) == 0;
}

/* Whether a list has this text. */
static inline bool hr__case_list_has(const cJSON *list, const char *text) {
  const cJSON *item;
  cJSON_ArrayForEach(item, list) if (cJSON_IsString(item) && strcmp(item->valuestring, text) == 0) return true;
  return false;
}

static inline bool hr__case_bool(const cJSON *object, const char *name, bool fallback) {
  const cJSON *value = hr__case_get(object, name);
  return cJSON_IsBool(value) ? cJSON_IsTrue(value) : fallback;
}

/* The number of items of the list or object that is the member `name`; 0 if it is missing. */
static inline uint32_t hr__case_count(const cJSON *object, const char *name) {
  const cJSON *value = hr__case_get(object, name);
  return value ? (uint32_t)cJSON_GetArraySize(value) : 0;
}

/* Allocates zeroed memory that lasts until the end of the case. If memory is exhausted, sets `no_memory` and returns
   NULL. */
static inline void *hr__verdict_alloc(struct hr__verdict *verdict, size_t count, size_t bytes) {
  void *memory = hr_arena_alloc(verdict->arena, (count ? count : 1) * bytes);
  if (!memory) verdict->no_memory = true;
  return memory;
}

/* ---- KAI-Scheduler ---------------------------------------------------------------------------------- */

/* A case of KAI: the cluster, the queues and the jobs that are read from its JSON. */

struct hr__kai_case {
  struct hr__verdict *verdict;
  struct hr__kai_cluster cluster;
  struct hr__kai_start *start; /* [n_pods] */
  uint32_t n_gpus;             /* ids of shared GPUs in `start` */
  const char **node_names, **queue_names, **job_names, **pod_names;
  const cJSON **jobs;    /* [n_jobs] */
  int64_t *stale_s;      /* [n_jobs] -1: not stale */
  bool *keeps_releasing; /* [n_jobs] */
};

/* Reads a case. Returns false if it is not supported or malformed, or if memory is exhausted. */
bool hr__kai_case_read(struct hr__kai_case *read, const cJSON *whole, struct hr__verdict *verdict);

/* The position of each name among the sorted names. Equal names have the same position. */
static inline void hr__kai_rank_names(const char *const *names, uint32_t n, uint32_t *ranks) {
  for (uint32_t i = 0; i < n; i++) {
    ranks[i] = 0;
    for (uint32_t j = 0; j < n; j++) ranks[i] += strcmp(names[j], names[i]) < 0;
  }
}

/* Returns whether a queue is its own ancestor. */
bool hr__kai_has_cycle(const struct hr__kai_queue *queues, uint32_t n_queues);

/* The index of a name; HR__KAI_NONE: not found. */
static inline uint32_t hr__kai_find_name(const char *const *names, uint32_t n, const char *name) {
  for (uint32_t i = 0; i < n; i++)
    if (strcmp(names[i], name) == 0) return i;
  return HR__KAI_NONE;
}

/* Runs a case that tests one rule. */
void hr__kai_run_rule(const cJSON *whole, const char *kind, struct hr__verdict *verdict);

/* ---- Volcano ---------------------------------------------------------------------------------------- */

/* A case of Volcano: the snapshot and the configuration that are read from its JSON. */

struct hr__volcano_names {
  const char **items;
  uint32_t n_items, capacity;
};

struct hr__volcano_case {
  struct hr__verdict *verdict;
  const cJSON *whole;
  struct hr__volcano_names dimensions; /* "cpu", "memory", "pods", then the others */
  struct hr__volcano_names groups, zones, namespaces;
  struct hr__volcano_snapshot snapshot;
  struct hr__volcano_config config;
  const cJSON **node_json, **task_json; /* by index */
  const char **node_names, **job_names, **task_names;
  bool *task_waits_for_volume; /* the pod is bound only after its volume */
};

/* Returns the index of a name, and adds the name if it is new. */
uint32_t hr__volcano_intern(struct hr__volcano_case *world, struct hr__volcano_names *names, const char *name);

/* Returns the index of the name, HR__VOLCANO_NONE if it is unknown. */
static inline uint32_t hr__volcano_find(const char *const *names, uint32_t n_names, const char *name) {
  for (uint32_t i = 0; i < n_names && name; i++)
    if (strcmp(names[i], name) == 0) return i;
  return HR__VOLCANO_NONE;
}

/* Reads a resource vector, such as {"cpu_milli": 1000, "nvidia.com/gpu": 2}. NULL: zeros. */
struct hr__volcano_vector hr__volcano_read_vector(struct hr__volcano_case *world, const cJSON *object);
/* Reads a Kubernetes quantity such as "3", "500m" or "8Gi". */
double hr__volcano_quantity(const char *text);
/* Reads a duration such as "1h2m3s" in microseconds; 0 if it is malformed or NULL. */
int64_t hr__volcano_duration_us(const char *text);

/* ---- Volcano: the configuration (volcano_config.c) -------------------------------------------------- */

/* Reads "run". */
void hr__volcano_read_config(struct hr__volcano_case *world);
/* Reads the nodes; the groups of queues; and which nodes a pod accepts and prefers. */
void hr__volcano_read_nodes(struct hr__volcano_case *world);
void hr__volcano_read_groups(struct hr__volcano_case *world, const cJSON *json, struct hr__volcano_queue *queue);
/* Reads the topology spread constraints of a pod, after all pods were read. */
void hr__volcano_read_spread(struct hr__volcano_case *world, uint32_t task_index, struct hr__volcano_task *task);
void hr__volcano_read_selectors(struct hr__volcano_case *world, const cJSON *json, uint32_t task_index,
                                struct hr__volcano_task *task);

/* ---- Several clusters ------------------------------------------------------------------------------- */

/*
 * Functions and types that the adapters in clusters/ share. A case has an input and an object of expected values. Each
 * expected value must be compared: a case with a value that no adapter knows is not supported.
 */

struct hr__cluster_case {
  const cJSON *input, *expect;
  struct hr__verdict *verdict;
  uint64_t compared; /* bit of each member of `expect`, by position */
};

typedef void hr__run_cluster_case(struct hr__cluster_case *self);

struct hr__cluster_kind {
  const char *kind;
  hr__run_cluster_case *run;
};

/* The kinds of cases of the adapters in other files; the last row has no name. */
extern const struct hr__cluster_kind hr__cluster_autoscaler_kinds[], hr__karpenter_kinds[];

/* Marks an expected value as compared. Returns it, or NULL if it is missing or null; `is_there` may be NULL. */
const cJSON *hr__expected(struct hr__cluster_case *self, const char *name, bool *is_there);

/* Compare a value if it is expected. A number may be INFINITY: it equals null and "inf". hr__check_json frees `actual`.
   `flags` are those of hr__verdict_compare. */
void hr__check_json(struct hr__cluster_case *self, const char *name, cJSON *actual, unsigned flags, double tolerance);
void hr__check_number(struct hr__cluster_case *self, const char *name, double actual, double tolerance);
static inline void hr__check_bool(struct hr__cluster_case *self, const char *name, bool actual) {
  hr__check_json(self, name, cJSON_CreateBool(actual), HR__COMPARE_EXACTLY, 0);
}
static inline void hr__check_text(struct hr__cluster_case *self, const char *name, const char *actual) {
  hr__check_json(self, name, actual ? cJSON_CreateString(actual) : cJSON_CreateNull(), HR__COMPARE_EXACTLY, 0);
}

/* Returns a number times a factor above 0. The result is limited so that sums of many such numbers do not overflow. */
static inline int64_t hr__scaled(int64_t number, int64_t factor) {
  const int64_t most = INT64_C(1) << 52;
  if (number > most / factor) return most;
  return number < -most / factor ? -most : number * factor;
}

struct hr__node_amounts; /* sim/clusters/node_autoscalers.h */
/* Reads cpu_m or cpu (cores), mem, mem_bytes or mem_MiB, and gpus. */
struct hr__node_amounts hr__read_amounts(const cJSON *object);
/* Returns the position of a text in a list of texts, or of a member in an object; UINT32_MAX: none. */
uint32_t hr__position_of(const cJSON *list, const char *name);

#endif
