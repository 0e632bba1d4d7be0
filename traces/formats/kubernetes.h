/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_FORMATS_KUBERNETES_H
#define HR_TRACES_FORMATS_KUBERNETES_H

/* Reading Kubernetes objects: kube_objects.c reads objects and pods' requests, kubernetes.c joins the objects that
   belong together. */

#include "base/names.h"
#include "traces/json/json_stream.h"

/* Request of one pod. */
struct hr__kube_pod {
  uint64_t gpus, shared, mig, cpu_milli, mem_mib; /* whole GPUs; replicas of shared GPUs; MIG instances */
  uint32_t mig_profile, types;                    /* name numbers; HR_NONE: none */
  uint32_t kinds;                                 /* requested kinds of GPUs, one bit each */
};

enum hr__kube_kind { HR__KUBE_JOB, HR__KUBE_WORKLOAD, HR__KUBE_POD };

struct hr__kube_object {
  uint64_t line;
  int64_t created_us, start_us, finish_us;                      /* INT64_MIN if unknown */
  int64_t limit_us;                                             /* HR_UNKNOWN_US: none */
  uint32_t name, namespace_, queue, uid, owner, priority_class; /* name numbers; HR_NONE: none */
  uint32_t root;                                                /* the object that this one is part of, or itself */
  struct hr__kube_pod pod;
  uint64_t pods, evictions, past_s; /* concurrent pods; seconds that ran before the last eviction */
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
  uint64_t replicas; /* per GPU that is shared under a resource name of its own */
  struct hr__kube_object *objects;
  struct hr__kube_word *words;
  uint32_t n_objects, objects_capacity, n_words, words_capacity;
  uint64_t n_items, n_other; /* objects; objects of other kinds */
  bool no_memory;
};

/* Reads one item of the list. */
enum hr_status hr__kube_item_read(struct hr__kube *kube, const struct hr__json_item *item);

#endif
