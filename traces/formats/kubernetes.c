/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads lists of Kubernetes objects (`kubectl get jobs,pods,workloads,events -A -o json`) and converts them to jobs.
 *
 * Objects are Jobs (batch/v1), Kueue Workloads (kueue.x-k8s.io), Pods, Events, priority classes and LocalQueues. The
 * priority class of a Workload is a name in v1beta1 and a reference in v1beta2. Objects of other kinds are counted.
 * Only the properties that a trace needs are stored, so the list may have any size. Texts are stored as name numbers,
 * which are indices in the name table of struct kube.
 *
 * The request of a pod is the sum of the requests of its containers. Init containers run before the other containers,
 * so the number of GPUs is at least that of each init container; CPUs and memory of init containers are ignored. If a
 * container has a limit for a resource but no request, the limit is the request (Kubernetes, "Resource Management for
 * Pods and Containers").
 *
 * Objects that belong together form one job. A Pod is a part of the Job that owns it. A Workload is a part of the Job
 * or Pod that owns it. If an object has an owner of another kind (a JobSet, a PyTorchJob), it is a part of the
 * Workload with the same owner. The root is the object that is not a part of another object. It defines the job. Its
 * parts add properties that the root does not have, and a Workload replaces some properties of the root (add_part()).
 */

#include "base/containers.h"
#include "traces/core/fields.h"
#include "traces/core/reader.h"
#include "traces/formats/formats.h"
#include "traces/json/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The request of one pod. */
struct kube_pod {
  /* gpus: whole GPUs; shared: replicas of shared GPUs; mig: MIG instances */
  uint64_t gpus, shared, mig, cpu_milli, mem_mib;
  uint32_t mig_profile, types; /* name numbers; HR_NONE: not set */
  uint32_t kinds;              /* the kinds of GPUs that the pod requests, one bit for each kind */
};

enum kube_kind { KUBE_JOB, KUBE_WORKLOAD, KUBE_POD };

/* A Job, a Workload or a Pod. */
struct kube_object {
  uint64_t line;
  int64_t created_us, start_us, finish_us;               /* INT64_MIN if unknown */
  int64_t limit_us;                                      /* HR_UNKNOWN_US: no limit */
  uint32_t name, namespace_, uid, owner, priority_class; /* name numbers; HR_NONE: not set */
  /* name numbers; HR_NONE: not set. queue: NAMESPACE/NAME of the LocalQueue; cluster_queue: the ClusterQueue that
     admitted the Workload */
  uint32_t queue, cluster_queue;
  uint32_t root; /* index of the object that this object is a part of; its own index if it is a root */
  struct kube_pod pod;
  uint64_t pods, evictions, past_s; /* pods: concurrent pods; past_s: run time before the last eviction, in seconds */
  int32_t priority;
  bool has_priority, finished, mixed;
  uint8_t kind, outcome;
};

/* An event, a priority class with its value, or a LocalQueue with its ClusterQueue. */
struct kube_word {
  uint32_t subject; /* name number: of an event, the uid of the object; of a priority class or a queue, its name */
  uint32_t cluster_queue; /* name number; HR_NONE: the word is not a LocalQueue */
  int64_t admitted_us;
  int32_t value;
  bool evicted, is_class;
};

/* The objects of a list. */
struct kube {
  struct hr__json_get get;
  struct hr__name_table names;
  uint64_t replicas; /* replicas of each GPU that is shared under the resource name nvidia.com/gpu.shared */
  struct kube_object *objects;
  struct kube_word *words;
  uint32_t n_objects, objects_capacity, n_words, words_capacity;
  /* [objects_capacity * number of picks]: by object, the name numbers of the texts that column maps read; HR_NONE: the
     object does not have the member */
  uint32_t *picked;
  uint64_t n_items, n_other; /* n_items: all objects; n_other: objects of kinds that are not used */
  bool no_memory;
};

/* Returns the name number of a text (its index in the name table); HR_NONE if the text is empty. If out of memory,
   returns HR_NONE and sets `no_memory`. */
static uint32_t kube_name(struct kube *kube, struct hr_text text) {
  if (!text.length) return HR_NONE;
  uint32_t number = hr__names_intern(&kube->names, text.at, text.length);
  if (number == HR_NONE) kube->no_memory = true;
  return number;
}

static uint32_t name_at(struct kube *kube, const cJSON *object, const char *path) {
  const cJSON *value = hr__get_member(object, path);
  return cJSON_IsString(value) ? kube_name(kube, hr__text_make(value->valuestring)) : HR_NONE;
}

static bool is_text(const cJSON *value, const char *expected) {
  return cJSON_IsString(value) && strcmp(value->valuestring, expected) == 0;
}

static bool is_true(const cJSON *condition) {
  return is_text(hr__get_member(condition, "status"), "True");
}

static const cJSON *condition_of(const cJSON *object, const char *type) {
  const cJSON *conditions = hr__get_member(object, "status.conditions"), *condition;
  if (!cJSON_IsArray(conditions)) return NULL;
  cJSON_ArrayForEach(condition, conditions) {
    if (is_text(hr__get_member(condition, "type"), type)) return condition;
  }
  return NULL;
}

/* If the condition `type` is true, sets `*us` to the time at which it became true. */
static bool condition_time(struct kube *kube, const cJSON *object, const char *type, int64_t *us) {
  const cJSON *condition = condition_of(object, type);
  return !is_true(condition) || hr__get_date(&kube->get, condition, "lastTransitionTime", us);
}

/* ---- Pods: quantities ------------------------------------------------------------------------------ */

/* Parses a quantity such as "500m", "2", "16Gi" or "1e3". `*result` is the quantity multiplied by `factor`, as a
   whole number. Returns false if the value is invalid or too large. */
static bool read_quantity(const cJSON *value, uint64_t factor, uint64_t *result) {
  static const struct {
    const char *suffix;
    uint64_t times, over;
  } suffixes[] = {{"Ki", 1 << 10, 1},
                  {"Mi", 1 << 20, 1},
                  {"Gi", 1 << 30, 1},
                  {"Ti", UINT64_C(1) << 40, 1},
                  {"Pi", UINT64_C(1) << 50, 1},
                  {"m", 1, 1000},
                  {"k", 1000, 1},
                  {"M", 1000000, 1},
                  {"G", 1000000000, 1},
                  {"T", 1000000000000, 1},
                  {"P", 1000000000000000, 1}};
  struct hr__number_rule rule = {factor, UINT64_C(1) << 62, false};
  if (cJSON_IsNumber(value)) {
    bool fits = value->valuedouble >= 0 && value->valuedouble * (double)factor < 4e18;
    if (fits) *result = (uint64_t)(value->valuedouble * (double)factor + 0.5);
    return fits;
  }
  if (!cJSON_IsString(value)) return false;
  struct hr_text text = {value->valuestring, strlen(value->valuestring)};
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
    size_t length = strlen(suffixes[i].suffix);
    if (text.length <= length || strcmp(text.at + text.length - length, suffixes[i].suffix) != 0) continue;
    text.length -= length;
    rule.factor = factor * suffixes[i].times;
    if (suffixes[i].over == 1) break;
    if (factor % suffixes[i].over == 0) {
      rule.factor = factor / suffixes[i].over;
      break;
    }
    /* "1500m" of a resource that is counted in whole units is rounded up to 2. */
    bool ok = hr__number_parse(text, &rule, result) == HR__NUMBER_FINE;
    *result = (*result + suffixes[i].over - 1) / suffixes[i].over;
    return ok;
  }
  return hr__number_parse(text, &rule, result) == HR__NUMBER_FINE;
}

/* ---- Pods: containers ------------------------------------------------------------------------------ */

/* Bits of kube_pod.kinds for shared GPUs and MIG instances. Each lower bit means whole GPUs of one maker. */
enum { SHARED_KIND = 1 << 8, MIG_KIND = 1 << 9, OTHER_MIG_KIND = 1 << 10 };

/* Returns the bit in kube_pod.kinds for the maker of a whole GPU; 0 if the resource is not a GPU. */
static uint32_t maker_of(const char *resource) {
  static const char *const names[] = {"nvidia.com/gpu",   "amd.com/gpu",     "gpu.intel.com/i915",
                                      "gpu.intel.com/xe", "habana.ai/gaudi", NULL};
  for (uint32_t i = 0; names[i]; i++)
    if (strcmp(names[i], resource) == 0) return UINT32_C(1) << i;
  return 0;
}

static bool starts_with(const char *text, const char *start) {
  return strncmp(text, start, strlen(start)) == 0;
}

static bool add_resource(struct kube *kube, const cJSON *resource, struct kube_pod *pod) {
  static const char mig[] = "nvidia.com/mig-";
  uint64_t value = 0;
  const char *name = resource->string;
  bool memory = strcmp(name, "memory") == 0, cpu = strcmp(name, "cpu") == 0;
  bool instance = starts_with(name, mig), shared = strcmp(name, "nvidia.com/gpu.shared") == 0;
  uint32_t maker = maker_of(name);
  if (!memory && !cpu && !instance && !shared && !maker) return true;
  if (!read_quantity(resource, cpu ? 1000 : 1, &value)) return false;
  if (memory)
    pod->mem_mib += (value + (1 << 19)) >> 20;
  else if (cpu)
    pod->cpu_milli += value;
  else if (shared)
    pod->shared += value;
  else if (!instance)
    pod->gpus += value;
  if (value) pod->kinds |= maker | (shared ? SHARED_KIND : 0);
  if (instance && value) {
    uint32_t before = pod->mig_profile;
    pod->mig += value;
    pod->mig_profile = kube_name(kube, (struct hr_text){name + sizeof mig - 1, strlen(name) - sizeof mig + 1});
    pod->kinds |= MIG_KIND | (before != HR_NONE && before != pod->mig_profile ? OTHER_MIG_KIND : 0);
  }
  return pod->mem_mib <= UINT64_C(1) << 30 && pod->cpu_milli <= 1000000000 &&
         pod->gpus + pod->shared + pod->mig <= HR_MAX_GPUS && value <= UINT64_C(1) << 52;
}

static bool add_container(struct kube *kube, const cJSON *container, struct kube_pod *pod) {
  const cJSON *requests = hr__get_member(container, "resources.requests"), *resource;
  const cJSON *limits = hr__get_member(container, "resources.limits");
  if (cJSON_IsObject(requests)) cJSON_ArrayForEach(resource, requests) {
      if (!add_resource(kube, resource, pod)) return false;
    }
  if (cJSON_IsObject(limits)) cJSON_ArrayForEach(resource, limits) {
      if (cJSON_IsObject(requests) && cJSON_GetObjectItemCaseSensitive(requests, resource->string)) continue;
      if (!add_resource(kube, resource, pod)) return false;
    }
  return true;
}

static bool add_containers(struct kube *kube, const cJSON *spec, const char *which, struct kube_pod *pod,
                           bool at_once) {
  const cJSON *list = hr__get_member(spec, which), *container;
  if (!cJSON_IsArray(list)) return list == NULL;
  cJSON_ArrayForEach(container, list) {
    struct kube_pod one = {.mig_profile = pod->mig_profile}, *to = at_once ? pod : &one;
    if (!add_container(kube, container, to)) return false;
    pod->mig_profile = to->mig_profile;
    pod->kinds |= to->kinds;
    if (one.gpus > pod->gpus) pod->gpus = one.gpus;
    if (one.shared > pod->shared) pod->shared = one.shared;
    if (one.mig > pod->mig) pod->mig = one.mig;
  }
  return true;
}

/* ---- Pods: GPU types ------------------------------------------------------------------------------- */

static const char *const type_labels[] = {"nvidia.com/gpu.product", "cloud.google.com/gke-accelerator",
                                          "amd.com/gpu.product-name", NULL};

static bool is_type_label(const cJSON *key) {
  for (size_t i = 0; type_labels[i]; i++)
    if (cJSON_IsString(key) && strcmp(key->valuestring, type_labels[i]) == 0) return true;
  return false;
}

static bool is_listed(const char *list, const char *name) {
  size_t length = strlen(name);
  for (const char *at = list; *at; at += strcspn(at, "|"), at += *at == '|')
    if (strcspn(at, "|") == length && strncmp(at, name, length) == 0) return true;
  return false;
}

/* Appends the values of an expression `LABEL In (...)` to `joined`, separated by `|`. Returns false if the expression
   has another form, if LABEL is not one of type_labels, or if the text becomes too long. */
static bool join_values(const cJSON *expression, char *joined, size_t size) {
  const cJSON *operator= hr__get_member(expression, "operator"), *values = hr__get_member(expression, "values"), *value;
  if (!is_type_label(hr__get_member(expression, "key")) || !cJSON_IsString(operator) || !cJSON_IsArray(values) ||
      strcmp(operator->valuestring, "In") != 0)
    return false;
  size_t used = strlen(joined);
  cJSON_ArrayForEach(value, values) {
    size_t length = cJSON_IsString(value) ? strlen(value->valuestring) : 0;
    if (!length || used + length + 2 > size) return false;
    if (is_listed(joined, value->valuestring)) continue;
    if (used) joined[used++] = '|';
    memcpy(joined + used, value->valuestring, length + 1);
    used += length;
  }
  return used > 0;
}

static bool join_term(const cJSON *term, char *joined, size_t size) {
  const cJSON *expression;
  cJSON_ArrayForEach(expression, hr__get_member(term, "matchExpressions")) {
    if (join_values(expression, joined, size)) return true;
  }
  return false;
}

/* Returns the GPU types that the required node affinity allows, as a name number. The terms of the affinity are
   alternatives, so the result is the union of the types of all terms. If some term names no type, all types are
   allowed, and the result is HR_NONE. */
static uint32_t types_by_affinity(struct kube *kube, const cJSON *spec) {
  const cJSON *terms =
      hr__get_member(spec, "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
  const cJSON *term;
  char joined[500] = "";
  cJSON_ArrayForEach(term, terms) {
    if (!join_term(term, joined, sizeof joined)) return HR_NONE;
  }
  return joined[0] ? kube_name(kube, hr__text_make(joined)) : HR_NONE;
}

static uint32_t types_of(struct kube *kube, const cJSON *spec) {
  const cJSON *selector = hr__get_member(spec, "nodeSelector");
  for (size_t i = 0; cJSON_IsObject(selector) && type_labels[i]; i++) {
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(selector, type_labels[i]);
    if (cJSON_IsString(value) && *value->valuestring) return kube_name(kube, hr__text_make(value->valuestring));
  }
  return types_by_affinity(kube, spec);
}

static bool read_pod_spec(struct kube *kube, const cJSON *spec, const char *path, struct kube_pod *pod) {
  *pod = (struct kube_pod){.mig_profile = HR_NONE, .types = HR_NONE};
  if (!add_containers(kube, spec, "containers", pod, true) || !add_containers(kube, spec, "initContainers", pod, false))
    return hr__get_wrong(&kube->get, path, NULL, "a pod with invalid or too large resource quantities");
  pod->types = types_of(kube, spec);
  return true;
}

/* ---- Objects --------------------------------------------------------------------------------------- */

static void read_owner(struct kube *kube, const cJSON *object, struct kube_object *read) {
  const cJSON *owners = hr__get_member(object, "metadata.ownerReferences"), *owner;
  if (!cJSON_IsArray(owners)) return;
  cJSON_ArrayForEach(owner, owners) {
    bool controls = cJSON_IsTrue(hr__get_member(owner, "controller"));
    if (read->owner == HR_NONE || controls) read->owner = name_at(kube, owner, "uid");
    if (controls) return;
  }
}

/* Returns the name number of NAMESPACE/NAME of a LocalQueue; HR_NONE if `queue` is empty. The namespace is included,
   because namespaces may have LocalQueues with equal names. */
static uint32_t name_in(struct kube *kube, struct hr_text space, const char *queue) {
  char full[600];
  int length =
      snprintf(full, sizeof full, "%.253s%s%.253s", space.length ? space.at : "", space.length ? "/" : "", queue);
  return kube_name(kube, (struct hr_text){full, queue[0] ? (size_t)length : 0});
}

static bool read_head(struct kube *kube, const cJSON *object, struct kube_object *read) {
  struct hr_text name = {NULL, 0}, space = {"", 0};
  struct hr__json_get *get = &kube->get;
  if (!hr__get_text(get, object, "metadata.name", true, &name) ||
      !hr__get_text(get, object, "metadata.namespace", false, &space) ||
      !hr__get_date(get, object, "metadata.creationTimestamp", &read->created_us))
    return false;
  if (read->created_us == INT64_MIN) return hr__get_wrong(get, "metadata.creationTimestamp", NULL, "missing");
  read->name = name_in(kube, space, name.at);
  read->namespace_ = kube_name(kube, space);
  read->uid = name_at(kube, object, "metadata.uid");
  const cJSON *labels = hr__get_member(object, "metadata.labels");
  const cJSON *queue = cJSON_GetObjectItemCaseSensitive(labels, "kueue.x-k8s.io/queue-name");
  if (cJSON_IsString(queue)) read->queue = name_in(kube, space, queue->valuestring);
  read_owner(kube, object, read);
  return true;
}

static bool get_priority(struct kube *kube, const cJSON *value, const char *path, int32_t *priority) {
  bool fits = cJSON_IsNumber(value) && value->valuedouble >= -2147483647.0 && value->valuedouble <= 2147483647.0;
  if (!fits) return hr__get_wrong(&kube->get, path, value, "not a whole number from -2147483647 to 2147483647");
  *priority = (int32_t)value->valuedouble;
  return true;
}

static bool read_priority(struct kube *kube, const cJSON *spec, const char *path, struct kube_object *read) {
  const cJSON *value = hr__get_member(spec, "priority");
  read->has_priority = value != NULL;
  return !value || get_priority(kube, value, path, &read->priority);
}

static bool read_job_status(struct kube *kube, const cJSON *object, struct kube_object *read) {
  struct hr__json_get *get = &kube->get;
  if (!hr__get_date(get, object, "status.startTime", &read->start_us) ||
      !condition_time(kube, object, "Complete", &read->finish_us) ||
      !hr__get_date(get, object, "status.completionTime", &read->finish_us))
    return false;
  if (read->finish_us != INT64_MIN) read->outcome = HR_OUTCOME_COMPLETED;
  if (is_true(condition_of(object, "Failed"))) read->outcome = HR_OUTCOME_FAILED;
  if (!condition_time(kube, object, "Failed", &read->finish_us)) return false;
  read->finished = read->finish_us != INT64_MIN;
  return true;
}

static bool read_job(struct kube *kube, const cJSON *object, struct kube_object *read) {
  struct hr__json_get *get = &kube->get;
  uint64_t parallel = 1, completions = UINT64_MAX, seconds = UINT64_MAX;
  if (!hr__get_whole(get, object, "spec.parallelism", HR_MAX_GPUS, &parallel) ||
      !hr__get_whole(get, object, "spec.completions", HR_MAX_GPUS, &completions) ||
      !hr__get_whole(get, object, "spec.activeDeadlineSeconds", (uint64_t)(HR_MAX_INPUT_US / HR_SECOND_US), &seconds) ||
      !read_pod_spec(kube, hr__get_member(object, "spec.template.spec"), "spec.template.spec", &read->pod))
    return false;
  read->pods = completions < parallel ? completions : parallel;
  if (seconds != UINT64_MAX) read->limit_us = (int64_t)seconds * HR_SECOND_US;
  read->priority_class = name_at(kube, object, "spec.template.spec.priorityClassName");
  return read_priority(kube, hr__get_member(object, "spec.template.spec"), "spec.template.spec.priority", read) &&
         read_job_status(kube, object, read);
}

/* ---- Objects: pods --------------------------------------------------------------------------------- */

static bool read_container_times(struct kube *kube, const cJSON *object, struct kube_object *read) {
  const cJSON *statuses = hr__get_member(object, "status.containerStatuses"), *status;
  int64_t first_us = INT64_MIN;
  if (!cJSON_IsArray(statuses)) return true;
  cJSON_ArrayForEach(status, statuses) {
    int64_t start_us = INT64_MIN, finish_us = INT64_MIN;
    if (!hr__get_date(&kube->get, status, "state.running.startedAt", &start_us) ||
        !hr__get_date(&kube->get, status, "state.terminated.startedAt", &start_us) ||
        !hr__get_date(&kube->get, status, "state.terminated.finishedAt", &finish_us))
      return false;
    if (start_us != INT64_MIN && (first_us == INT64_MIN || start_us < first_us)) first_us = start_us;
    if (finish_us > read->finish_us) read->finish_us = finish_us;
  }
  /* A pod has its GPUs from the time at which it is bound to a node. If that time is unknown, the start of its first
     container is used. */
  if (read->start_us == INT64_MIN) read->start_us = first_us;
  return true;
}

static bool read_pod(struct kube *kube, const cJSON *object, struct kube_object *read) {
  const cJSON *phase = hr__get_member(object, "status.phase");
  read->pods = 1;
  if (!read_pod_spec(kube, hr__get_member(object, "spec"), "spec", &read->pod) ||
      !read_priority(kube, hr__get_member(object, "spec"), "spec.priority", read) ||
      !condition_time(kube, object, "PodScheduled", &read->start_us) || !read_container_times(kube, object, read))
    return false;
  read->priority_class = name_at(kube, object, "spec.priorityClassName");
  read->evictions = is_text(hr__get_member(object, "status.reason"), "Evicted");
  bool succeeded = is_text(phase, "Succeeded"), failed = is_text(phase, "Failed");
  read->finished = succeeded || failed;
  read->outcome = succeeded ? HR_OUTCOME_COMPLETED : failed ? HR_OUTCOME_FAILED : HR_OUTCOME_UNKNOWN;
  if (!read->finished) read->finish_us = INT64_MIN;
  return true;
}

/* ---- Objects: workloads ---------------------------------------------------------------------------- */

/* Reads the number of concurrent pods of a pod set. The admitted number has precedence; it may be below the
   requested number. */
static bool read_count(struct kube *kube, const cJSON *object, const cJSON *set, uint64_t *count) {
  const cJSON *name = hr__get_member(set, "name"), *assignment;
  const cJSON *assignments = hr__get_member(object, "status.admission.podSetAssignments");
  *count = 1;
  if (!hr__get_whole(&kube->get, set, "count", HR_MAX_GPUS, count)) return false;
  if (!cJSON_IsArray(assignments) || !cJSON_IsString(name)) return true;
  cJSON_ArrayForEach(assignment, assignments) {
    if (is_text(hr__get_member(assignment, "name"), name->valuestring))
      return hr__get_whole(&kube->get, assignment, "count", HR_MAX_GPUS, count);
  }
  return true;
}

static bool requests_gpus(const struct kube_pod *pod) {
  return pod->gpus || pod->shared || pod->mig;
}

static bool same_pod(const struct kube_pod *a, const struct kube_pod *b) {
  return a->gpus == b->gpus && a->shared == b->shared && a->mig == b->mig && a->mig_profile == b->mig_profile &&
         a->types == b->types;
}

/* Adds a pod set to the pod sets that were read before. If only some sets request GPUs, the other sets are ignored.
   If the pods of all sets request equal GPUs, the numbers of pods are added up. If these requests differ, all sets
   together become one pod that requests the sum. */
static void add_set(struct kube_object *read, const struct kube_pod *pod, uint64_t count) {
  if (!read->pods || (requests_gpus(pod) && !requests_gpus(&read->pod))) {
    read->mixed = read->mixed || read->pods;
    read->pod = *pod;
    read->pods = count;
    return;
  }
  if (!requests_gpus(pod) && requests_gpus(&read->pod)) {
    read->mixed = true;
    return;
  }
  if (same_pod(&read->pod, pod)) {
    read->pods += count;
    return;
  }
  struct kube_pod *all = &read->pod;
  all->gpus = all->gpus * read->pods + pod->gpus * count;
  all->shared = all->shared * read->pods + pod->shared * count;
  all->mig = all->mig * read->pods + pod->mig * count;
  all->cpu_milli = all->cpu_milli * read->pods + pod->cpu_milli * count;
  all->mem_mib = all->mem_mib * read->pods + pod->mem_mib * count;
  read->pods = 1;
  read->mixed = true;
}

static bool read_sets(struct kube *kube, const cJSON *object, struct kube_object *read) {
  const cJSON *sets = hr__get_member(object, "spec.podSets"), *set;
  if (!cJSON_IsArray(sets)) return hr__get_wrong(&kube->get, "spec.podSets", sets, "not a list of pod sets");
  read->pod = (struct kube_pod){.mig_profile = HR_NONE, .types = HR_NONE};
  if (cJSON_GetArraySize(sets) > 8)
    return hr__get_wrong(&kube->get, "spec.podSets", sets, "a list of more than 8 pod sets");
  cJSON_ArrayForEach(set, sets) {
    struct kube_pod pod;
    uint64_t count;
    if (!read_count(kube, object, set, &count) ||
        !read_pod_spec(kube, hr__get_member(set, "template.spec"), "spec.podSets", &pod))
      return false;
    if (count) add_set(read, &pod, count);
  }
  return true;
}

static bool read_evictions(struct kube *kube, const cJSON *object, struct kube_object *read) {
  struct hr__json_get *get = &kube->get;
  const cJSON *list = hr__get_member(object, "status.schedulingStats.evictions"), *entry;
  uint64_t requeued = 0;
  if (!hr__get_whole(get, object, "status.requeueState.count", UINT32_MAX, &requeued) ||
      !hr__get_whole(get, object, "status.accumulatedPastExexcutionTimeSeconds", UINT32_MAX, &read->past_s) ||
      !hr__get_whole(get, object, "status.accumulatedPastExecutionTimeSeconds", UINT32_MAX, &read->past_s))
    return false;
  if (cJSON_IsArray(list)) cJSON_ArrayForEach(entry, list) {
      uint64_t count = 0;
      if (!hr__get_whole(get, entry, "count", UINT32_MAX, &count)) return false;
      read->evictions += count;
    }
  if (requeued > read->evictions) read->evictions = requeued;
  if (!read->evictions) read->evictions = condition_of(object, "Evicted") || condition_of(object, "Requeued");
  return true;
}

static bool read_workload(struct kube *kube, const cJSON *object, struct kube_object *read) {
  uint64_t seconds = UINT64_MAX;
  const cJSON *finished = condition_of(object, "Finished"), *reason = hr__get_member(finished, "reason");
  if (!read_sets(kube, object, read) ||
      !hr__get_whole(&kube->get, object, "spec.maximumExecutionTimeSeconds", INT32_MAX, &seconds) ||
      !read_priority(kube, hr__get_member(object, "spec"), "spec.priority", read) ||
      !condition_time(kube, object, "QuotaReserved", &read->start_us) ||
      !condition_time(kube, object, "Admitted", &read->start_us) ||
      !condition_time(kube, object, "Finished", &read->finish_us) || !read_evictions(kube, object, read))
    return false;
  if (seconds != UINT64_MAX) read->limit_us = (int64_t)seconds * HR_SECOND_US;
  struct hr_text space = {"", 0};
  const cJSON *queue = hr__get_member(object, "spec.queueName");
  if (!hr__get_text(&kube->get, object, "metadata.namespace", false, &space)) return false;
  if (cJSON_IsString(queue) && *queue->valuestring) read->queue = name_in(kube, space, queue->valuestring);
  read->cluster_queue = name_at(kube, object, "status.admission.clusterQueue");
  read->priority_class = name_at(kube, object, "spec.priorityClassRef.name");
  if (read->priority_class == HR_NONE) read->priority_class = name_at(kube, object, "spec.priorityClassName");
  read->finished = read->finish_us != INT64_MIN;
  if (read->finished && is_text(reason, "Succeeded")) read->outcome = HR_OUTCOME_COMPLETED;
  if (read->finished && is_text(reason, "Failed")) read->outcome = HR_OUTCOME_FAILED;
  return true;
}

/* ---- Objects: events and priority classes ---------------------------------------------------------- */

static bool read_word(struct kube *kube, const cJSON *object, bool is_class, struct kube_word *word) {
  *word =
      (struct kube_word){.subject = HR_NONE, .cluster_queue = HR_NONE, .admitted_us = INT64_MIN, .is_class = is_class};
  if (is_class) {
    word->subject = name_at(kube, object, "metadata.name");
    return get_priority(kube, hr__get_member(object, "value"), "value", &word->value);
  }
  const cJSON *reason = hr__get_member(object, "reason");
  const char *text = cJSON_IsString(reason) ? reason->valuestring : "";
  word->subject = name_at(kube, object, "involvedObject.uid");
  word->evicted = strncmp(text, "Evicted", 7) == 0 || strcmp(text, "Preempted") == 0;
  if (strcmp(text, "Admitted") != 0) return true;
  return hr__get_date(&kube->get, object, "firstTimestamp", &word->admitted_us) &&
         hr__get_date(&kube->get, object, "eventTime", &word->admitted_us) &&
         hr__get_date(&kube->get, object, "lastTimestamp", &word->admitted_us);
}

static enum hr_status put_word(struct kube *kube, struct kube_word word) {
  if (!HR__ARRAY_HAS_ROOM(kube->words, kube->n_words, kube->words_capacity))
    return hr__reader_no_memory(kube->get.reader);
  kube->words[kube->n_words++] = word;
  return HR_OK;
}

/* Stores the ClusterQueue of a LocalQueue. */
static enum hr_status add_local_queue(struct kube *kube, const cJSON *object) {
  struct hr_text name = {NULL, 0}, space = {"", 0};
  if (!hr__get_text(&kube->get, object, "metadata.name", true, &name) ||
      !hr__get_text(&kube->get, object, "metadata.namespace", false, &space))
    return hr__reader_bad_row(kube->get.reader, &kube->get.fault);
  struct kube_word word = {.subject = name_in(kube, space, name.at),
                           .cluster_queue = name_at(kube, object, "spec.clusterQueue"),
                           .admitted_us = INT64_MIN};
  if (kube->no_memory) return hr__reader_no_memory(kube->get.reader);
  return word.cluster_queue == HR_NONE || word.subject == HR_NONE ? HR_OK : put_word(kube, word);
}

static enum hr_status add_word(struct kube *kube, const cJSON *object, bool is_class) {
  struct kube_word word;
  if (!read_word(kube, object, is_class, &word)) return hr__reader_bad_row(kube->get.reader, &kube->get.fault);
  if (word.subject == HR_NONE || (!is_class && !word.evicted && word.admitted_us == INT64_MIN)) return HR_OK;
  return put_word(kube, word);
}

/* Returns the member that a column map names with a path such as "metadata.namespace". After "metadata.labels." or
   "metadata.annotations.", the rest of the path is a key, which may contain dots. */
static const cJSON *picked_member(const cJSON *object, const char *path) {
  static const char *const maps[] = {"metadata.labels", "metadata.annotations"};
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
    size_t length = strlen(maps[i]);
    if (strncmp(path, maps[i], length) != 0 || path[length] != '.') continue;
    return cJSON_GetObjectItemCaseSensitive(hr__get_member(object, maps[i]), path + length + 1);
  }
  return hr__get_member(object, path);
}

/* Stores the texts that the column map reads from the next object. Returns false if memory is exhausted. */
static bool pick_texts(struct kube *kube, const cJSON *object) {
  const struct hr__picks *picks = kube->get.reader->picks;
  size_t count = hr__picks_count(picks);
  if (!count) return true;
  uint32_t *grown = realloc(kube->picked, (size_t)kube->objects_capacity * count * sizeof *grown);
  if (!grown) return false;
  kube->picked = grown;
  for (size_t i = 0; i < count; i++) {
    const cJSON *value = picked_member(object, hr__picks_column(picks, i));
    const char *text = cJSON_IsString(value) ? value->valuestring : "";
    grown[kube->n_objects * count + i] = kube_name(kube, hr__text_make(text));
  }
  return !kube->no_memory;
}

static enum hr_status add_object(struct kube *kube, const struct hr__json_item *item, enum kube_kind kind) {
  static bool (*const readers[])(struct kube *, const cJSON *, struct kube_object *) = {
      [KUBE_JOB] = read_job, [KUBE_WORKLOAD] = read_workload, [KUBE_POD] = read_pod};
  struct kube_object read = {.line = item->line,
                             .created_us = INT64_MIN,
                             .start_us = INT64_MIN,
                             .finish_us = INT64_MIN,
                             .limit_us = HR_UNKNOWN_US,
                             .queue = HR_NONE,
                             .cluster_queue = HR_NONE,
                             .owner = HR_NONE,
                             .priority_class = HR_NONE,
                             .kind = (uint8_t)kind};
  bool ok = read_head(kube, item->value, &read) && readers[kind](kube, item->value, &read);
  if (kube->no_memory) return hr__reader_no_memory(kube->get.reader);
  if (!ok) return hr__reader_bad_row(kube->get.reader, &kube->get.fault);
  if (!HR__ARRAY_HAS_ROOM(kube->objects, kube->n_objects, kube->objects_capacity))
    return hr__reader_no_memory(kube->get.reader);
  if (!pick_texts(kube, item->value)) return hr__reader_no_memory(kube->get.reader);
  kube->objects[kube->n_objects++] = read;
  return HR_OK;
}

/* Reads one object of the list. */
static enum hr_status on_item(void *self, const struct hr__json_item *item) {
  struct kube *kube = self;
  struct hr_text kind = {NULL, 0};
  kube->n_items++;
  hr__get_begin(&kube->get, item->member ? item->member : "", item);
  if (!cJSON_IsObject(item->value) || !hr__get_text(&kube->get, item->value, "kind", true, &kind)) {
    if (!cJSON_IsObject(item->value))
      (void)hr__get_wrong(&kube->get, "kind", NULL, "missing: expected an object {...}");
    return hr__reader_bad_row(kube->get.reader, &kube->get.fault);
  }
  if (strcmp(kind.at, "Job") == 0) return add_object(kube, item, KUBE_JOB);
  if (strcmp(kind.at, "Workload") == 0) return add_object(kube, item, KUBE_WORKLOAD);
  if (strcmp(kind.at, "Pod") == 0) return add_object(kube, item, KUBE_POD);
  bool is_class = strcmp(kind.at, "PriorityClass") == 0 || strcmp(kind.at, "WorkloadPriorityClass") == 0;
  if (is_class || strcmp(kind.at, "Event") == 0) return add_word(kube, item->value, is_class);
  if (strcmp(kind.at, "LocalQueue") == 0) return add_local_queue(kube, item->value);
  kube->n_other++;
  return HR_OK;
}

/* What a name stands for; each member is HR_NONE if it stands for nothing of the kind. */
struct kube_links {
  uint32_t object;   /* a uid: the object with this uid */
  uint32_t workload; /* a uid: the Workload that belongs to the object with this uid */
  uint32_t class_;   /* the priority class with this name, as an index in `words` */
  uint32_t queue;    /* a LocalQueue: the name number of its ClusterQueue */
};

struct joined {
  struct kube *kube;
  struct kube_links *links; /* [names.count] */
  /* Counters of jobs. note_all() prints each of them in a note that describes what it counts. */
  uint64_t n_evicted, n_past, n_mixed, n_kinds, n_shared, n_early;
};

static int64_t earlier(int64_t a, int64_t b) {
  return a == INT64_MIN || (b != INT64_MIN && b < a) ? b : a;
}

/* ---- Joining objects ------------------------------------------------------------------------------- */

static bool index_objects(struct joined *joined) {
  struct kube *kube = joined->kube;
  struct kube_links *links = joined->links = malloc(((size_t)kube->names.count + 1) * sizeof *links);
  if (!links) return false;
  for (size_t i = 0; i < kube->names.count; i++) links[i] = (struct kube_links){HR_NONE, HR_NONE, HR_NONE, HR_NONE};
  for (uint32_t i = 0; i < kube->n_objects; i++) {
    const struct kube_object *object = &kube->objects[i];
    if (object->uid != HR_NONE) links[object->uid].object = i;
    if (object->kind == KUBE_WORKLOAD && object->owner != HR_NONE) links[object->owner].workload = i;
    if (object->queue != HR_NONE && object->cluster_queue != HR_NONE)
      links[object->queue].queue = object->cluster_queue;
  }
  for (uint32_t i = 0; i < kube->n_words; i++) {
    const struct kube_word *word = &kube->words[i];
    if (word->is_class) links[word->subject].class_ = i;
    if (word->cluster_queue != HR_NONE) links[word->subject].queue = word->cluster_queue;
  }
  return true;
}

static uint32_t root_of(const struct joined *joined, uint32_t number) {
  enum { DEEPEST = 8 }; /* maximum length of a chain of owners; it also ends the search if owners form a cycle */
  for (int depth = 0; depth < DEEPEST; depth++) {
    uint32_t owner = joined->kube->objects[number].owner;
    uint32_t above = owner == HR_NONE ? HR_NONE : joined->links[owner].object;
    if (above == HR_NONE && owner != HR_NONE) above = joined->links[owner].workload;
    if (above == HR_NONE || above == number) break;
    number = above;
  }
  return number;
}

/* Merges the properties of a part, except its start and finish, into its root. The queue and the request of a Workload
   replace those of the root. */
static void add_part(struct kube_object *root, const struct kube_object *part) {
  root->created_us = earlier(root->created_us, part->created_us);
  if (part->kind == KUBE_WORKLOAD) {
    if (part->queue != HR_NONE) root->queue = part->queue;
    if (part->cluster_queue != HR_NONE) root->cluster_queue = part->cluster_queue;
    if (part->limit_us >= 0 && (root->limit_us < 0 || part->limit_us < root->limit_us)) root->limit_us = part->limit_us;
    root->past_s += part->past_s;
    root->pod = part->pod;
    root->pods = part->pods;
    root->mixed = part->mixed;
  }
  if (part->has_priority && (!root->has_priority || part->kind == KUBE_WORKLOAD)) {
    root->priority = part->priority;
    root->has_priority = true;
  }
  if (root->priority_class == HR_NONE) root->priority_class = part->priority_class;
  root->evictions += part->evictions;
}

/* Merges the times of a part into its root. The finish time is taken only from the root or from its Workload, because
   a Pod that has ended may be retried. `own_start` is true if the root had a start time before any merge; this start
   time is then kept. */
static void add_times(struct kube_object *root, const struct kube_object *part, bool own_start) {
  if (!own_start && part->kind != KUBE_WORKLOAD) root->start_us = earlier(root->start_us, part->start_us);
  if (root->finished || part->kind != KUBE_WORKLOAD || !part->finished) return;
  root->finished = true;
  root->finish_us = part->finish_us;
  root->outcome = part->outcome;
}

/* If the job has no start time, uses the time at which the Workload was admitted. */
static void add_admission(const struct kube *kube, const struct kube_object *part) {
  struct kube_object *root = &kube->objects[part->root];
  if (part->kind == KUBE_WORKLOAD && root->start_us == INT64_MIN) root->start_us = part->start_us;
}

/* Copies the texts of column maps that the root does not have from a part. */
static void add_picked(const struct kube *kube, uint32_t root, uint32_t part) {
  size_t count = hr__picks_count(kube->get.reader->picks);
  for (size_t i = 0; i < count; i++)
    if (kube->picked[root * count + i] == HR_NONE) kube->picked[root * count + i] = kube->picked[part * count + i];
}

static bool join(struct joined *joined) {
  struct kube *kube = joined->kube;
  if (!index_objects(joined)) return false;
  bool *own_start = malloc((size_t)kube->n_objects + 1);
  if (!own_start) return false;
  for (uint32_t i = 0; i < kube->n_objects; i++) {
    own_start[i] = kube->objects[i].start_us != INT64_MIN;
    kube->objects[i].root = root_of(joined, i);
  }
  for (uint32_t i = 0; i < kube->n_objects; i++) {
    uint32_t root = kube->objects[i].root;
    if (root == i) continue;
    add_part(&kube->objects[root], &kube->objects[i]);
    add_picked(kube, root, i);
    add_times(&kube->objects[root], &kube->objects[i], own_start[root]);
  }
  for (uint32_t i = 0; i < kube->n_objects; i++) add_admission(kube, &kube->objects[i]);
  free(own_start);
  return true;
}

static void add_events(const struct joined *joined) {
  const struct kube *kube = joined->kube;
  for (uint32_t i = 0; i < kube->n_words; i++) {
    const struct kube_word *word = &kube->words[i];
    bool is_event = !word->is_class && word->cluster_queue == HR_NONE;
    uint32_t number = is_event ? joined->links[word->subject].object : HR_NONE;
    if (number == HR_NONE) continue;
    struct kube_object *root = &kube->objects[kube->objects[number].root];
    if (word->evicted && !root->evictions) root->evictions = 1;
    if (root->start_us == INT64_MIN) root->start_us = word->admitted_us;
  }
}

/* ---- Jobs of a trace ------------------------------------------------------------------------------- */

/* Sets the request of the job. Returns false if it exceeds HR_MAX_GPUS. */
static bool fill_request(struct joined *joined, const struct kube_object *object, struct hr_job_record *job) {
  const struct kube *kube = joined->kube;
  const struct kube_pod *pod = &object->pod;
  uint64_t pods = object->pods ? object->pods : 1;
  bool shared = !pod->gpus && pod->shared, mig = !pod->gpus && !pod->shared && pod->mig;
  uint64_t each = pod->gpus ? pod->gpus : shared ? pod->shared : pod->mig;
  if (pods > HR_MAX_GPUS || each > HR_MAX_GPUS || each * pods > HR_MAX_GPUS) return false;
  job->tasks = (uint32_t)pods;
  job->gpus = (uint32_t)(each * pods);
  if (shared) job->gpu_milli = (uint32_t)(1000 / kube->replicas);
  joined->n_shared += shared;
  if (mig) job->mig_profile = hr__text_stored(&kube->names, pod->mig_profile);
  if (each) job->gpu_types = hr__text_stored(&kube->names, pod->types);
  job->cpu_milli = pod->cpu_milli < UINT32_MAX ? (uint32_t)pod->cpu_milli : UINT32_MAX;
  job->mem_mib = pod->mem_mib;
  joined->n_mixed += object->mixed;
  /* pods with more than one kind of GPU: GPUs of several makers, shared GPUs, or several MIG profiles */
  joined->n_kinds += (pod->kinds & (pod->kinds - 1)) != 0;
  return true;
}

/* Sets the texts of column maps for the job of an object. */
static void set_picks(const struct kube *kube, const struct kube_object *object) {
  size_t count = hr__picks_count(kube->get.reader->picks), at = (size_t)(object - kube->objects) * count;
  for (size_t i = 0; i < count; i++)
    hr__picks_set(kube->get.reader->picks, i, hr__text_stored(&kube->names, kube->picked[at + i]));
}

static int32_t priority_of(const struct joined *joined, const struct kube_object *object) {
  if (object->has_priority || object->priority_class == HR_NONE) return object->priority;
  uint32_t word = joined->links[object->priority_class].class_;
  return word == HR_NONE ? 0 : joined->kube->words[word].value;
}

/* Returns the tenant of a job: its ClusterQueue. If that is unknown, the tenant is NAMESPACE/LocalQueue. If the job has
   no queue, the tenant is its namespace. */
static uint32_t tenant_of(const struct joined *joined, const struct kube_object *object) {
  if (object->cluster_queue != HR_NONE) return object->cluster_queue;
  if (object->queue == HR_NONE) return object->namespace_;
  uint32_t cluster_queue = joined->links[object->queue].queue;
  return cluster_queue == HR_NONE ? object->queue : cluster_queue;
}

static enum hr_status add_job(struct joined *joined, const struct kube_object *object) {
  const struct kube *kube = joined->kube;
  struct hr__reader *reader = kube->get.reader;
  if (!object->finished || object->finish_us == INT64_MIN)
    return hr__reader_leave_out(reader, "the job had not finished", object->line);
  if (object->start_us == INT64_MIN)
    return hr__reader_leave_out(reader, "the start of the job is unknown", object->line);
  if (object->finish_us < object->start_us)
    return hr__reader_bad_job(reader, object->line, "the job finishes before it starts");
  struct hr_job_record job;
  hr_job_record_init(&job);
  if (!fill_request(joined, object, &job))
    return hr__reader_bad_job(reader, object->line, "the job requests more than 4000000 GPUs");
  job.id = hr__text_stored(&kube->names, object->name);
  job.tenant = hr__text_stored(&kube->names, tenant_of(joined, object));
  job.user = hr__text_stored(&kube->names, object->namespace_);
  job.queue = hr__text_stored(&kube->names, object->queue);
  job.submit_us = object->created_us;
  bool early = object->start_us < object->created_us;
  joined->n_early += early;
  if (!early) job.recorded_start_us = object->start_us;
  job.work_us = object->finish_us - object->start_us;
  job.limit_us = object->limit_us;
  job.priority = priority_of(joined, object);
  job.outcome = object->outcome;
  joined->n_evicted += object->evictions > 0;
  joined->n_past += object->past_s > 0;
  set_picks(kube, object);
  enum hr_status status = hr__reader_add(reader, &job, object->line);
  hr__picks_end_row(reader->picks);
  return status;
}

static enum hr_status note_shared(const struct joined *joined) {
  const struct hr__reader *reader = joined->kube->get.reader;
  if (!joined->n_shared) return HR_OK;
  return hr__reader_noted(
      reader,
      hr_notes_add(reader->notes,
                   "%llu %s nvidia.com/gpu.shared, counted as 1/%llu of a GPU%s (--format kubernetes:replicas=N)",
                   (unsigned long long)joined->n_shared, hr__counted(joined->n_shared, "job requests", "jobs request"),
                   (unsigned long long)joined->kube->replicas, reader->params ? "" : " (assumed)"));
}

static enum hr_status note_all(const struct joined *joined) {
  const struct hr__reader *reader = joined->kube->get.reader;
  const struct hr__count_note notes[] = {
      {joined->kube->n_other, "object is of an unsupported kind", "objects are of unsupported kinds",
       "; Job, Workload, Pod, Event, LocalQueue and priority classes are supported"},
      {joined->n_evicted, "job was", "jobs were", " evicted or requeued: each is replayed once, with its last run"},
      {joined->n_past, "job ran before it was evicted", "jobs ran before they were evicted",
       "; that time is not replayed"},
      {joined->n_mixed, "workload has", "workloads have",
       " pod sets with different requests: sets without GPUs are ignored if others have some, and the others become "
       "one task"},
      {joined->n_kinds, "job requests", "jobs request",
       " several kinds of GPUs in a pod: only the first of whole GPUs (of any maker), shares and MIG instances "
       "counts, and the last MIG profile is used for all instances"},
      {joined->n_early, "job started before it was", "jobs started before they were",
       " created: the start is treated as unknown"},
  };
  enum hr_status status = note_shared(joined);
  return status == HR_OK ? hr__reader_note_counts(reader, notes, sizeof notes / sizeof *notes) : status;
}

static enum hr_status add_jobs(struct kube *kube) {
  struct joined joined = {.kube = kube};
  enum hr_status status = join(&joined) ? HR_OK : hr__reader_no_memory(kube->get.reader);
  if (status == HR_OK) add_events(&joined);
  for (uint32_t i = 0; status == HR_OK && i < kube->n_objects; i++)
    if (kube->objects[i].root == i) status = add_job(&joined, &kube->objects[i]);
  if (status == HR_OK) status = note_all(&joined);
  free(joined.links);
  return status;
}

static enum hr_status read_kubernetes(struct hr__reader *reader) {
  static const char *const streamed[] = {"items", NULL};
  struct kube kube = {.get = {.reader = reader}, .replicas = 4};
  const struct hr__reader_param params[] = {{"replicas", 1, 1000, &kube.replicas, NULL}};
  const struct hr__json_schema schema = {.streamed = streamed, .on_item = on_item, .self = &kube};
  enum hr_status status = hr__reader_params(reader, "kubernetes", params, sizeof params / sizeof *params);
  if (status == HR_OK) status = hr__json_stream_read(reader, &schema);
  if (status == HR_OK && !kube.n_items)
    status = hr_fail(reader->error, HR_BAD_INPUT,
                     "%s: no \"items\", or the list is empty; expected a list from kubectl get jobs -A -o json",
                     reader->path);
  if (status == HR_OK) status = hr__reader_note_clock(reader, kube.get.values.clock);
  if (status == HR_OK) status = add_jobs(&kube);
  hr__names_finish(&kube.names);
  free(kube.objects);
  free(kube.picked);
  free(kube.words);
  return status;
}

const struct hr__format_reader hr__kubernetes_reader = {
    .read = read_kubernetes, .has_params = true, .has_columns = true};
