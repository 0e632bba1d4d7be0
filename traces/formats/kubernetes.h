/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_FORMATS_KUBERNETES_H
#define HR_TRACES_FORMATS_KUBERNETES_H

/* Reads Kubernetes objects. kube_objects.c reads the objects and the requests of pods. kubernetes.c combines objects
   that belong to one job. Texts are stored as name numbers, which are indices in the name table of struct
   hr__kube. */

#include "base/containers.h"
#include "traces/json/json.h"

/* The request of one pod. */
struct hr__kube_pod {
  /* gpus: whole GPUs; shared: replicas of shared GPUs; mig: MIG instances */
  uint64_t gpus, shared, mig, cpu_milli, mem_mib;
  uint32_t mig_profile, types; /* name numbers; HR_NONE: not set */
  uint32_t kinds;              /* the kinds of GPUs that the pod requests, one bit for each kind */
};

enum hr__kube_kind { HR__KUBE_JOB, HR__KUBE_WORKLOAD, HR__KUBE_POD };

/* A Job, a Workload or a Pod. */
struct hr__kube_object {
  uint64_t line;
  int64_t created_us, start_us, finish_us;               /* INT64_MIN if unknown */
  int64_t limit_us;                                      /* HR_UNKNOWN_US: no limit */
  uint32_t name, namespace_, uid, owner, priority_class; /* name numbers; HR_NONE: not set */
  /* name numbers: the LocalQueue as NAMESPACE/NAME, and the ClusterQueue that admitted the Workload; HR_NONE: not set
   */
  uint32_t queue, cluster_queue;
  uint32_t root; /* index of the object that this object is a part of; its own index if it is a root */
  struct hr__kube_pod pod;
  uint64_t pods, evictions, past_s; /* pods: concurrent pods; past_s: run time before the last eviction, in seconds */
  int32_t priority;
  bool has_priority, finished, mixed;
  uint8_t kind, outcome;
};

/* An event, a priority class with its value, or a LocalQueue with its ClusterQueue. */
struct hr__kube_word {
  uint32_t subject; /* name number: of an event, the uid of the object; of a priority class or a queue, its name */
  uint32_t cluster_queue; /* name number; HR_NONE: the word is not a LocalQueue */
  int64_t admitted_us;
  int32_t value;
  bool evicted, is_class;
};

/* The objects of a list. */
struct hr__kube {
  struct hr__json_get get;
  struct hr__name_table names;
  uint64_t replicas; /* replicas of each GPU that is shared under the resource name nvidia.com/gpu.shared */
  struct hr__kube_object *objects;
  struct hr__kube_word *words;
  uint32_t n_objects, objects_capacity, n_words, words_capacity;
  /* [objects_capacity * number of picks]: by object, the name numbers of the texts that column maps read; HR_NONE: the
     object does not have the member */
  uint32_t *picked;
  uint64_t n_items, n_other; /* n_items: all objects; n_other: objects of kinds that are not used */
  bool no_memory;
};

/* Reads one object of the list. */
enum hr_status hr__kube_item_read(struct hr__kube *kube, const struct hr__json_item *item);

#endif
