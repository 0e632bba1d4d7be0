/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_CONFORM_CONFORM_H
#define HR_SCENARIOS_CONFORM_CONFORM_H

/*
 * Types and functions for running the cases of vector files against the models of other systems. A case has an input
 * and the expected result, both as JSON.
 *
 * Each system has one adapter, in the files or in the folder with the name of the system. The adapter reads the input
 * of a case and calls the model of the system, which is in policies/ or sim/. The adapter then compares the result of
 * the model with the expected result. An adapter must not depend on the id of a case.
 */

#include "base/containers.h"
#include "headroom/unstable/conform.h"
#include "policies/kai/solver.h"
#include "policies/volcano/volcano.h"

#include <cjson/cJSON.h>
#include <string.h>

/* The systems. The columns: name, function that runs a case, whether a file is an object of groups instead of a list
   (see conform.c), and the largest number that a case may contain, which prevents overflows (0: any):
   - kai: amounts are in millionths of a GPU and in bytes, and the sums of a case must fit into 63 bits;
   - volcano: amounts are double-precision numbers;
   - kubernetes: amounts are multiplied by 100 and summed, and the sums must fit into 64 bits;
   - slurm: minutes are converted to microseconds, which must fit into 64 bits;
   - autoscalers: products of numbers of replicas with rates and with 1000 must fit into 64 bits. */
#define HR__CONFORM_SYSTEMS(X)                                                                                         \
  X("kueue", hr__conform_kueue, false, 0)                                                                              \
  X("kai", hr__conform_kai, false, 1e10)                                                                               \
  X("volcano", hr__conform_volcano, false, 1e12)                                                                       \
  X("kubernetes", hr__conform_kubernetes, false, 1e15)                                                                 \
  X("slurm", hr__conform_slurm, false, 1e11)                                                                           \
  X("autoscalers", hr__conform_autoscalers, true, 1e12)                                                                \
  X("clusters", hr__conform_clusters, false, 0)

/* A case that runs, and the verdict on it. A case passes if it is supported and well-formed, and has no differences. */
struct hr__verdict {
  const cJSON *whole, *input, *expect; /* the object of the case, and its members "input" and "expect" (NULL: none). A
                                          case in a file with groups is its own input and expected result. */
  const char *kind;                    /* the member "kind" or, in a file with groups, "GROUP.LIST" */
  struct hr_arena *arena;              /* memory that lasts until the end of the case */
  struct hr_conform_case *row;         /* receives the differences, and the feature that is not supported */
  bool no_memory;                      /* memory was exhausted; the run ends with HR_NO_MEMORY */
  /* several clusters: bit i: member i of `expect` was compared; at most 64 members are supported */
  uint64_t compared;
  const char *malformed; /* static text that describes an error in the case, which then fails; NULL: no error */
  void (*release)(
      void *data); /* called with `released` at the end of the case, before the arena is freed; NULL: none */
  void *released;
};

/* A function that runs one case. */
typedef void hr__conform_run_case(struct hr__verdict *verdict);
#define HR__CONFORM_DECLARE(name, run, grouped, largest) hr__conform_run_case run;
HR__CONFORM_SYSTEMS(HR__CONFORM_DECLARE)
#undef HR__CONFORM_DECLARE

/* A kind of cases, and the function that runs a case of this kind. The last row of a table has NULL as its kind. */
struct hr__case_kind {
  const char *kind;
  hr__conform_run_case *run;
};
/* Runs a case with the function for its kind. Returns false if its kind is not in the table. */
bool hr__run_kind(struct hr__verdict *verdict, const struct hr__case_kind *kinds);

/* Marks the case as not supported. `what` names the feature that the model does not cover; it is copied. Later calls
   for the same case have no effect. */
static inline void hr__verdict_unsupported(struct hr__verdict *verdict, const char *what) {
  if (verdict->row->unsupported) return;
  verdict->row->unsupported = strdup(what);
  if (!verdict->row->unsupported) verdict->no_memory = true;
}

/* Returns the member `name` of an object; NULL if it is missing or null, or if `object` is NULL or not an object. Names
   are case-sensitive. */
static inline const cJSON *hr__case_get(const cJSON *object, const char *name) {
  const cJSON *value = cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, name) : NULL;
  return cJSON_IsNull(value) ? NULL : value;
}

/* Frees all members of a case, but not the case itself. */
void hr__free_case(struct hr_conform_case *row);

/* ---- Comparing -------------------------------------------------------------------------------------- */

enum hr__compare_flags {
  HR__COMPARE_EXACTLY = 0,
  HR__COMPARE_SETS = 1,    /* the order of list items does not matter, at any depth */
  HR__COMPARE_EXPECTED = 2 /* members of objects that only the actual value has are ignored, at any depth */
};

/* Returns whether two values and all values in them are equal. NULL is a missing value, and equals JSON null. Numbers
   may differ by `tolerance`. With HR__COMPARE_SETS, also returns false if memory is exhausted. */
bool hr__json_is_equal(const cJSON *expected, const cJSON *actual, unsigned flags, double tolerance);
/* Compares two values in the same way, and adds differences to the case, at most 20. Two objects: one difference for
   each member that differs. Lists and other values: one difference for the whole value. `place` is the place of the
   values, such as "podSets"; members are reported as "podSets.count". */
void hr__verdict_compare(struct hr__verdict *verdict, const char *place, const cJSON *expected, const cJSON *actual,
                         unsigned flags, double tolerance);
/* Compare a single value exactly, and add a difference if it differs. The text `actual` may be NULL, which equals JSON
   null. */
void hr__verdict_compare_number(struct hr__verdict *verdict, const char *place, const cJSON *expected, double actual);
void hr__verdict_compare_bool(struct hr__verdict *verdict, const char *place, const cJSON *expected, bool actual);
void hr__verdict_compare_text(struct hr__verdict *verdict, const char *place, const cJSON *expected,
                              const char *actual);

/* Compares `actual` with the member `name` of the expected result, and frees it. NULL is a missing value. */
static inline void hr__compare_json(struct hr__verdict *verdict, const char *name, cJSON *actual, unsigned flags) {
  hr__verdict_compare(verdict, name, hr__case_get(verdict->expect, name), actual, flags, 0);
  cJSON_Delete(actual);
}

/* Compare a single value exactly with the member `name` of the expected result. The text may be NULL. */
static inline void hr__compare_number(struct hr__verdict *verdict, const char *name, double actual) {
  hr__verdict_compare_number(verdict, name, hr__case_get(verdict->expect, name), actual);
}
static inline void hr__compare_bool(struct hr__verdict *verdict, const char *name, bool actual) {
  hr__verdict_compare_bool(verdict, name, hr__case_get(verdict->expect, name), actual);
}
static inline void hr__compare_text(struct hr__verdict *verdict, const char *name, const char *actual) {
  hr__verdict_compare_text(verdict, name, hr__case_get(verdict->expect, name), actual);
}

/* Marks the case as malformed if a number, or a text that is a quantity, has an absolute value above `limit`. Members
   with names that begin with "mem_bytes" have a limit that is 4096 times higher. The member "expect" is not checked. */
void hr__verdict_limit_numbers(struct hr__verdict *verdict, double limit);

/* Makes a case fail because the model does not know its kind. */
void hr__verdict_unknown_kind(struct hr__verdict *verdict);

/* ---- Reading ---------------------------------------------------------------------------------------- */

/* Reads a quantity of Kubernetes, such as "2", "500m" or "100Mi". Sets `*milli` to the quantity in thousandths, rounded
   away from 0; quantities out of range become INT64_MAX or INT64_MIN. Returns false if `value` is not a text, or is a
   text that is not a quantity. `value` may be NULL. */
bool hr__case_value_milli(const cJSON *value, int64_t *milli);

/* Returns a value as a whole number:
   - a text that is a quantity is rounded up;
   - a number is truncated toward 0; numbers beyond the range of int64_t become INT64_MAX or INT64_MIN;
   - for NULL and for any other value, the result is `fallback`. */
static inline int64_t hr__case_value_whole(const cJSON *value, int64_t fallback) {
  int64_t milli;
  if (hr__case_value_milli(value, &milli)) return milli / 1000 + (milli % 1000 > 0);
  if (!cJSON_IsNumber(value)) return fallback;
  if (value->valuedouble >= 0x1p63) return INT64_MAX;
  if (value->valuedouble <= -0x1p63) return INT64_MIN;
  return (int64_t)value->valuedouble;
}

/* The following functions return the member `name` of an object. They return `fallback` if the member is missing or
   null, or has another type. hr__case_whole converts the value as hr__case_value_whole does. */
static inline int64_t hr__case_whole(const cJSON *object, const char *name, int64_t fallback) {
  return hr__case_value_whole(hr__case_get(object, name), fallback);
}

/* Returns a member in thousandths: a number states thousandths, and a text is a quantity. */
static inline int64_t hr__case_milli(const cJSON *object, const char *name, int64_t fallback) {
  int64_t milli;
  const cJSON *value = hr__case_get(object, name);
  return hr__case_value_milli(value, &milli) ? milli : hr__case_value_whole(value, fallback);
}

/* Returns a number, or a text that is a quantity. */
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

/* Returns the index of the first equal name; UINT32_MAX, which is the number for "none" of all models: not found, or
   `name` is NULL. */
static inline uint32_t hr__case_find(const char *const *names, size_t n, const char *name) {
  for (uint32_t i = 0; i < n && name; i++)
    if (strcmp(names[i], name) == 0) return i;
  return UINT32_MAX;
}

/* Returns whether the member equals `text`. A missing member equals "". */
static inline bool hr__case_text_is(const cJSON *object, const char *name, const char *text) {
  return strcmp(hr__case_text(object, name, ""), text) == 0;
}

/* Returns whether a list contains a text. `list` may be NULL. */
static inline bool hr__case_list_has(const cJSON *list, const char *text) {
  const cJSON *item;
  cJSON_ArrayForEach(item, list) if (cJSON_IsString(item) && strcmp(item->valuestring, text) == 0) return true;
  return false;
}

/* Returns whether an object of labels has all labels of `wanted`, with the same values. */
static inline bool hr__case_has_labels(const cJSON *labels, const cJSON *wanted) {
  const cJSON *label;
  cJSON_ArrayForEach(label, wanted) {
    const char *value = hr__case_text(labels, label->string, NULL);
    if (!value || !cJSON_IsString(label) || strcmp(value, label->valuestring) != 0) return false;
  }
  return true;
}

static inline bool hr__case_bool(const cJSON *object, const char *name, bool fallback) {
  const cJSON *value = hr__case_get(object, name);
  return cJSON_IsBool(value) ? cJSON_IsTrue(value) : fallback;
}

/* Returns the number of items of the member `name`, which is a list or an object; 0 if it is missing. */
static inline uint32_t hr__case_count(const cJSON *object, const char *name) {
  const cJSON *value = hr__case_get(object, name);
  return value ? (uint32_t)cJSON_GetArraySize(value) : 0;
}

/* Allocates zeroed memory for `count` items (at least one) of `bytes` bytes. It is freed at the end of the case. If
   memory is exhausted, sets `no_memory` and returns NULL. */
static inline void *hr__verdict_alloc(struct hr__verdict *verdict, size_t count, size_t bytes) {
  void *memory = hr_arena_alloc(verdict->arena, (count ? count : 1) * bytes);
  if (!memory) verdict->no_memory = true;
  return memory;
}

/* ---- KAI-Scheduler ---------------------------------------------------------------------------------- */

/* A case of KAI: the cluster, the queues and the jobs that are read from its JSON. The position of a name in a list of
   names is the id of the object. */

struct hr__kai_case {
  struct hr__verdict *verdict;
  struct hr__kai_cluster cluster;
  struct hr__kai_start *start; /* [n_pods] state of each pod at the start of the next session */
  uint32_t n_gpus;             /* number of shared GPUs; their ids in `start` are below this number */
  const char **node_names, **queue_names, **job_names, **pod_names;
  const cJSON **jobs;    /* [n_jobs] */
  int64_t *stale_s;      /* [n_jobs] seconds since the gang runs below its minimum; -1: it does not */
  bool *keeps_releasing; /* [n_jobs] releasing pods of the job are still releasing in the next session */
};

/* The words for the statuses of pods in cases. */
extern const char *const hr__kai_status_words[HR__KAI_N_STATUSES];
/* Returns the status with a word; HR__KAI_UNKNOWN if there is none. */
enum hr__kai_status hr__kai_status_named(const char *word);

/* Reads a case into `read`. Returns false if the case is not supported or malformed, or if memory is exhausted; the
   verdict states which. */
bool hr__kai_case_read(struct hr__kai_case *read, struct hr__verdict *verdict);

/* Sets each rank to the number of names that sort before the name. Equal names have equal ranks. O(n^2). */
static inline void hr__kai_rank_names(const char *const *names, uint32_t n, uint32_t *ranks) {
  for (uint32_t i = 0; i < n; i++) {
    ranks[i] = 0;
    for (uint32_t j = 0; j < n; j++) ranks[i] += strcmp(names[j], names[i]) < 0;
  }
}

/* The queues of a case, in the order of the case. */
struct hr__kai_queues {
  struct hr__kai_queue *list;
  const char **names;
  uint32_t n;
};

/* Allocates the queues in a list or object, and links them to their parents. `name` and `parent` are the members of a
   queue with its name and the name of its parent. If `name` is NULL, `source` is an object {NAME: queue}. Returns false
   if a queue is its own ancestor, or if memory is exhausted. */
bool hr__kai_read_queues(struct hr__kai_queues *queues, const cJSON *source, const char *name, const char *parent,
                         struct hr__verdict *verdict);

/* Runs a case of whole sessions of KAI (kai.c). The cases in kai_rules.c test single rules. */
hr__conform_run_case hr__kai_run_schedule;

/* ---- Volcano ---------------------------------------------------------------------------------------- */

/* A case of Volcano: the snapshot and the configuration that are read from its JSON. */

/* Distinct names in the order in which they were added. */
struct hr__volcano_names {
  const char **items;
  uint32_t n_items, capacity;
};

struct hr__volcano_case {
  struct hr__verdict *verdict;
  struct hr__volcano_names dimensions; /* "cpu", "memory", "pods", then the others */
  struct hr__volcano_names groups, zones, namespaces;
  struct hr__volcano_snapshot snapshot;
  struct hr__volcano_config config;
  const cJSON **node_json, **task_json; /* by index */
  const char **node_names, **job_names, **task_names;
  bool *task_waits_for_volume; /* by task: the pod is bound only after its volume */
};

/* Returns the index of a name, and adds the name if it is new. The name is not copied. Returns 0 if memory is
   exhausted. */
uint32_t hr__volcano_intern(struct hr__volcano_case *world, struct hr__volcano_names *names, const char *name);

/* Reads a resource vector, such as {"cpu_milli": 1000, "nvidia.com/gpu": 2}. Resources with new names are added to
   `dimensions`. If `object` is NULL, all amounts are 0. */
struct hr__volcano_vector hr__volcano_read_vector(struct hr__volcano_case *world, const cJSON *object);
/* Reads a Kubernetes quantity such as "3", "500m" or "8Gi". An unknown suffix is ignored. A text without a number is
   0. */
double hr__volcano_quantity(const char *text);
/* Reads a duration such as "1h2m3s" and returns it in microseconds; 0 if it is malformed or NULL. */
int64_t hr__volcano_duration_us(const char *text);

/* ---- Volcano: the configuration (volcano_config.c) -------------------------------------------------- */

/* The functions of this section record in the verdict if the case is malformed or not supported, or if memory is
   exhausted. `json` is the object of the queue or of the pod in the case. */

/* Reads the member "run" into `config`: the actions, and the plug-ins with their arguments. */
void hr__volcano_read_config(struct hr__volcano_case *world);
/* Reads the nodes of the cluster. */
void hr__volcano_read_nodes(struct hr__volcano_case *world);
/* Reads the node groups of a queue: the groups that it requires, prefers and avoids, and its limits in each group. */
void hr__volcano_read_groups(struct hr__volcano_case *world, const cJSON *json, struct hr__volcano_queue *queue);
/* Reads the topology spread constraints of a pod. Must be called after all pods were read. */
void hr__volcano_read_spread(struct hr__volcano_case *world, uint32_t task_index, struct hr__volcano_task *task);
/* Reads which nodes a pod accepts, prefers and avoids. */
void hr__volcano_read_selectors(struct hr__volcano_case *world, const cJSON *json, uint32_t task_index,
                                struct hr__volcano_task *task);

/* ---- Several clusters ------------------------------------------------------------------------------- */

/*
 * Types and functions that the files in clusters/ share. A case has an input and an object of expected values. Each
 * expected value must be compared: a case with a value that was not compared is not supported.
 */

/* The kinds of cases in cluster_autoscaler.c and karpenter.c; the last row has NULL as its kind. */
extern const struct hr__case_kind hr__cluster_autoscaler_kinds[], hr__karpenter_kinds[];

/* Returns the expected value `name`, and marks it as compared. Returns NULL if the value is missing or null. Sets
   `*is_there` to true if the member exists, even if it is null; otherwise to false. `is_there` may be NULL. */
const cJSON *hr__expected(struct hr__verdict *verdict, const char *name, bool *is_there);

/* The following functions compare `actual` with the expected value `name`. If no such value is expected, they compare
   nothing. hr__check_json frees `actual`; if it is NULL, memory is exhausted. `flags` are those of hr__verdict_compare.
   The number of hr__check_number may be INFINITY, which equals null and "inf". */
void hr__check_json(struct hr__verdict *verdict, const char *name, cJSON *actual, unsigned flags, double tolerance);
void hr__check_number(struct hr__verdict *verdict, const char *name, double actual, double tolerance);
static inline void hr__check_bool(struct hr__verdict *verdict, const char *name, bool actual) {
  hr__check_json(verdict, name, cJSON_CreateBool(actual), HR__COMPARE_EXACTLY, 0);
}
static inline void hr__check_text(struct hr__verdict *verdict, const char *name, const char *actual) {
  hr__check_json(verdict, name, actual ? cJSON_CreateString(actual) : cJSON_CreateNull(), HR__COMPARE_EXACTLY, 0);
}

/* Returns number * factor, limited to the range from -2^52 to 2^52, so that sums of up to 2047 results do not overflow.
   `factor` must be above 0. */
static inline int64_t hr__scaled(int64_t number, int64_t factor) {
  const int64_t most = INT64_C(1) << 52;
  if (number > most / factor) return most;
  return number < -most / factor ? -most : number * factor;
}

struct hr__node_amounts; /* sim/clusters/node_autoscalers.h */
/* Reads the resources of a node or a pod; a missing amount is 0. CPU: "cpu_m" (thousandths of a core) or "cpu" (cores).
   Memory: "mem_bytes" or "mem" (bytes), or "mem_MiB". GPUs: "gpus". */
struct hr__node_amounts hr__read_amounts(const cJSON *object);
/* Returns the position of a text in a list of texts, or of a member in an object; UINT32_MAX if it is not found. `list`
   and `name` may be NULL. */
uint32_t hr__position_of(const cJSON *list, const char *name);

#endif
