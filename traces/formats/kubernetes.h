/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_FORMATS_KUBERNETES_H
#define HR_TRACES_FORMATS_KUBERNETES_H

/* What the parts of the reader of Kubernetes objects share: kube_pods.c reads what pods ask for, kube_objects.c reads
   objects, kubernetes.c joins those that belong together. */

#include "base/names.h"
#include "traces/json/json_stream.h"

/* What one pod asks for. */
struct hr__kube_pod {
  uint64_t gpus, shared, mig, cpu_milli, mem_mib; /* whole GPUs; replicas of shared ones; instances */
  uint32_t mig_profile, types;                    /* numbers of names; HR_NONE: none */
  uint32_t kinds;                                 /* of GPUs that are asked for: a bit each */
};

enum hr__kube_kind { HR__KUBE_JOB, HR__KUBE_WORKLOAD, HR__KUBE_POD };

struct hr__kube_object {
  uint64_t line;
  int64_t created_us, start_us, finish_us;                      /* INT64_MIN where unknown */
  int64_t limit_us;                                             /* HR_UNKNOWN_US: none */
  uint32_t name, namespace_, queue, uid, owner, priority_class; /* numbers of names; HR_NONE: none */
  uint32_t root; /* the object whose part it is, itself where it is none's */
  struct hr__kube_pod pod;
  uint64_t pods, evictions, past_s; /* pods at once; seconds that ran before the last eviction */
  int32_t priority;
  bool has_priority, finished, mixed;
  uint8_t kind, outcome;
};

/* An event, or the value of a priority class. */
struct hr__kube_word {
  uint32_t subject; /* uid of the object; name of the class */
  int64_t admitted_us;
  int32_t value;
  bool evicted, is_class;
};

struct hr__kube {
  struct hr__json_get get;
  struct hr__name_table names;
  uint64_t replicas; /* of a GPU that is shared under a name of its own */
  struct hr__kube_object *objects;
  struct hr__kube_word *words;
  uint32_t n_objects, objects_capacity, n_words, words_capacity;
  uint64_t n_items, n_other; /* objects, and those of other kinds */
  bool no_memory;
};

/* The number of a text, HR_NONE where it is empty (or where memory ends: `no_memory` is then set). */
uint32_t hr__kube_name(struct hr__kube *kube, struct hr_text text);
/* Reads the `spec` of a pod; `path` is where it stands, for messages. */
bool hr__kube_pod_read(struct hr__kube *kube, const cJSON *spec, const char *path, struct hr__kube_pod *pod);
/* Reads one item of the list. */
enum hr_status hr__kube_item_read(struct hr__kube *kube, const struct hr__json_item *item);

#endif
