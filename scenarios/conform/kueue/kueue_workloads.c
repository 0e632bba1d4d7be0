/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads workloads, pod sets and the requirements of pods on nodes from a Kueue case, and writes placements. A workload
   with quota is listed in its queue, and its usage counts in the tree of quotas and on the nodes. */

#include "policies/kueue/kueue.h"
#include "scenarios/conform/kueue/kueue_objects.h"

#include <stdlib.h>
#include <string.h>

#define ALLOC(self, count, type) ((type *)hr__verdict_alloc((self)->verdict, (count), sizeof(type)))

/* ---- Labels ---- */

struct hr__kueue_labels hr__kueue_case_labels(struct hr__kueue_case *self, const cJSON *object) {
  struct hr__kueue_labels labels = {0};
  struct hr__kueue_label *items = ALLOC(self, (size_t)cJSON_GetArraySize(object) + 1, struct hr__kueue_label);
  if (!items) return labels;
  const cJSON *item;
  cJSON_ArrayForEach(item, object) {
    if (item->string)
      items[labels.count++] = (struct hr__kueue_label){item->string, cJSON_IsString(item) ? item->valuestring : ""};
  }
  labels.items = items;
  return labels;
}

static enum hr__kueue_effect read_effect(const cJSON *json) {
  const char *text = hr__case_text(json, "effect", "");
  if (strcmp(text, "NoSchedule") == 0) return HR__KUEUE_NO_SCHEDULE;
  if (strcmp(text, "NoExecute") == 0) return HR__KUEUE_NO_EXECUTE;
  return strcmp(text, "PreferNoSchedule") == 0 ? HR__KUEUE_PREFER_NO_SCHEDULE : HR__KUEUE_ANY_EFFECT;
}

struct hr__kueue_taints hr__kueue_case_taints(struct hr__kueue_case *self, const cJSON *list) {
  struct hr__kueue_taints taints = {0};
  struct hr__kueue_taint *items = ALLOC(self, (size_t)cJSON_GetArraySize(list) + 1, struct hr__kueue_taint);
  if (!items) return taints;
  const cJSON *item;
  cJSON_ArrayForEach(item, list) items[taints.count++] =
      (struct hr__kueue_taint){hr__case_text(item, "key", ""), hr__case_text(item, "value", ""), read_effect(item)};
  taints.items = items;
  return taints;
}

struct hr__kueue_tolerations hr__kueue_case_tolerations(struct hr__kueue_case *self, const cJSON *list) {
  struct hr__kueue_tolerations tolerations = {0};
  struct hr__kueue_toleration *items = ALLOC(self, (size_t)cJSON_GetArraySize(list) + 1, struct hr__kueue_toleration);
  if (!items) return tolerations;
  const cJSON *item;
  cJSON_ArrayForEach(item, list) items[tolerations.count++] =
      (struct hr__kueue_toleration){.key = hr__case_text(item, "key", ""),
                                    .value = hr__case_text(item, "value", ""),
                                    .exists = strcmp(hr__case_text(item, "operator", "Equal"), "Exists") == 0,
                                    .effect = read_effect(item)};
  tolerations.items = items;
  return tolerations;
}

static struct hr__kueue_expression read_expression(struct hr__kueue_case *self, const cJSON *json) {
  static const char *const names[] = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
  struct hr__kueue_expression expression = {.key = hr__case_text(json, "key", "")};
  const char *text = hr__case_text(json, "operator", "In");
  for (int i = 0; i < 6; i++)
    if (strcmp(names[i], text) == 0) expression.operation = (enum hr__kueue_operator)i;
  const char **values = ALLOC(self, hr__case_count(json, "values") + 1, const char *);
  if (!values) return expression;
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(json, "values")) if (cJSON_IsString(item)) values[expression.n_values++] =
      item->valuestring;
  expression.values = values;
  return expression;
}

static const struct hr__kueue_term *read_terms(struct hr__kueue_case *self, const cJSON *list, uint32_t *count) {
  struct hr__kueue_term *terms = ALLOC(self, (size_t)cJSON_GetArraySize(list) + 1, struct hr__kueue_term);
  *count = 0;
  if (!terms) return NULL;
  const cJSON *item, *expression;
  cJSON_ArrayForEach(item, list) {
    const cJSON *body = hr__case_get(item, "preference") ? hr__case_get(item, "preference") : item;
    struct hr__kueue_term *term = &terms[(*count)++];
    struct hr__kueue_expression *expressions =
        ALLOC(self, hr__case_count(body, "matchExpressions") + 1, struct hr__kueue_expression);
    if (!expressions) return NULL;
    term->weight = (int32_t)hr__case_whole(item, "weight", 0);
    cJSON_ArrayForEach(expression, hr__case_get(body, "matchExpressions")) expressions[term->n_expressions++] =
        read_expression(self, expression);
    term->expressions = expressions;
  }
  return terms;
}

struct hr__kueue_selector hr__kueue_case_selector(struct hr__kueue_case *self, const cJSON *pod_set) {
  struct hr__kueue_selector selector = {.labels = hr__kueue_case_labels(self, hr__case_get(pod_set, "nodeSelector")),
                                        .tolerations =
                                            hr__kueue_case_tolerations(self, hr__case_get(pod_set, "tolerations"))};
  const cJSON *affinity = hr__case_get(pod_set, "nodeAffinity");
  if (!affinity) affinity = pod_set;
  const cJSON *required = hr__case_get(affinity, "requiredDuringSchedulingIgnoredDuringExecution");
  if (cJSON_IsObject(required)) required = hr__case_get(required, "nodeSelectorTerms");
  selector.required = read_terms(self, required, &selector.n_required);
  selector.preferred = read_terms(self, hr__case_get(affinity, "preferredDuringSchedulingIgnoredDuringExecution"),
                                  &selector.n_preferred);
  return selector;
}

/* ---- Amounts ---- */

static int by_resource(const void *a, const void *b) {
  const struct hr__kueue_amount *left = a, *right = b;
  return (left->resource > right->resource) - (left->resource < right->resource);
}

struct hr__kueue_amounts hr__kueue_case_amounts(struct hr__kueue_case *self, const cJSON *object) {
  struct hr__kueue_amounts amounts = {0};
  struct hr__kueue_amount *items = ALLOC(self, (size_t)cJSON_GetArraySize(object) + 1, struct hr__kueue_amount);
  if (!items) return amounts;
  const cJSON *item;
  cJSON_ArrayForEach(item, object) {
    uint32_t resource = hr__kueue_name_find(&self->resources, item->string);
    if (resource != HR_NONE)
      items[amounts.count++] = (struct hr__kueue_amount){resource, hr__case_value_whole(item, 0)};
  }
  qsort(items, amounts.count, sizeof *items, by_resource);
  amounts.items = items;
  return amounts;
}

struct hr__kueue_usage *hr__kueue_case_usage(struct hr__kueue_case *self, const cJSON *object, uint32_t *count) {
  struct hr__kueue_usage *items = ALLOC(self, (size_t)cJSON_GetArraySize(object) + 1, struct hr__kueue_usage);
  *count = 0;
  if (!items) return NULL;
  const cJSON *item;
  cJSON_ArrayForEach(item, object) {
    uint32_t pair = hr__kueue_case_pair(self, item->string);
    if (pair != HR_NONE) items[(*count)++] = (struct hr__kueue_usage){pair, hr__case_value_whole(item, 0)};
  }
  return items;
}

/* ---- Topology ---- */

static void read_slices(struct hr__kueue_case *self, const cJSON *json, struct hr__kueue_topology_request *request) {
  const cJSON *list = hr__case_get(json, "sliceConstraints"), *item;
  if (!list) list = hr__case_get(json, "podsetSliceRequiredTopologyConstraints");
  struct hr__kueue_slice *slices = ALLOC(self, (size_t)cJSON_GetArraySize(list) + 2, struct hr__kueue_slice);
  if (!slices) return;
  const char *level = hr__case_text(json, "sliceRequired", hr__case_text(json, "podSetSliceRequiredTopology", NULL));
  if (level && !cJSON_GetArraySize(list))
    slices[request->n_slices++] =
        (struct hr__kueue_slice){level, hr__case_whole(json, "sliceSize", hr__case_whole(json, "podSetSliceSize", 0))};
  cJSON_ArrayForEach(item, list) slices[request->n_slices++] =
      (struct hr__kueue_slice){hr__case_text(item, "topology", ""), hr__case_whole(item, "size", 0)};
  request->slices = slices;
}

struct hr__kueue_topology_request hr__kueue_case_topology_request(struct hr__kueue_case *self, const cJSON *json) {
  struct hr__kueue_topology_request request = {0};
  if (!cJSON_IsObject(json)) return request;
  read_slices(self, json, &request);
  if ((request.level = hr__case_text(json, "required", NULL)) != NULL)
    request.mode = HR__KUEUE_REQUIRED;
  else if ((request.level = hr__case_text(json, "preferred", NULL)) != NULL)
    request.mode = HR__KUEUE_PREFERRED;
  else if (hr__case_bool(json, "unconstrained", false))
    request.mode = HR__KUEUE_UNCONSTRAINED;
  else if (request.n_slices)
    request.mode = HR__KUEUE_SLICES_ONLY;
  return request;
}

static const char **read_texts(struct hr__kueue_case *self, const cJSON *list, uint32_t *count) {
  const char **texts = ALLOC(self, (size_t)cJSON_GetArraySize(list) + 1, const char *);
  *count = 0;
  if (!texts) return NULL;
  const cJSON *item;
  cJSON_ArrayForEach(item, list) texts[(*count)++] =
      cJSON_IsString(item) ? item->valuestring : hr__case_text(item, "name", "");
  return texts;
}

const struct hr__kueue_placement *hr__kueue_case_placement(struct hr__kueue_case *self, const cJSON *json) {
  if (!cJSON_IsObject(json)) return NULL;
  struct hr__kueue_placement *placement = ALLOC(self, 1, struct hr__kueue_placement);
  struct hr__kueue_domain *domains = ALLOC(self, hr__case_count(json, "domains") + 1, struct hr__kueue_domain);
  if (!placement || !domains) return NULL;
  placement->levels = read_texts(self, hr__case_get(json, "levels"), &placement->n_levels);
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(json, "domains")) {
    uint32_t count;
    domains[placement->n_domains++] = (struct hr__kueue_domain){read_texts(self, hr__case_get(item, "values"), &count),
                                                                hr__case_whole(item, "count", 0)};
    if (count == placement->n_levels) continue;
    self->verdict->malformed = "a domain of a placement does not have one value for each level";
    return NULL;
  }
  placement->domains = domains;
  return placement;
}

static cJSON *text_list(const char *const *texts, uint32_t count) {
  cJSON *list = cJSON_CreateArray();
  for (uint32_t i = 0; i < count; i++) cJSON_AddItemToArray(list, cJSON_CreateString(texts[i]));
  return list;
}

cJSON *hr__kueue_placement_json(const struct hr__kueue_placement *placement) {
  cJSON *json = cJSON_CreateObject(), *domains = cJSON_CreateArray();
  cJSON_AddItemToObject(json, "levels", text_list(placement->levels, placement->n_levels));
  for (uint32_t i = 0; i < placement->n_domains; i++) {
    cJSON *domain = cJSON_CreateObject();
    cJSON_AddItemToObject(domain, "values", text_list(placement->domains[i].values, placement->n_levels));
    cJSON_AddNumberToObject(domain, "count", (double)placement->domains[i].count);
    cJSON_AddItemToArray(domains, domain);
  }
  cJSON_AddItemToObject(json, "domains", domains);
  return json;
}

/* ---- Pod sets ---- */

/* The name of the group of a pod set; NULL: none. */
static const char *group_name(const cJSON *pod_set) {
  const cJSON *request = hr__case_get(pod_set, "topologyRequest");
  return hr__case_text(request, "podSetGroup", hr__case_text(request, "podSetGroupName", NULL));
}

/* The number of a group name: the position of the first pod set with it. */
static uint32_t group_of(const cJSON *list, const cJSON *pod_set) {
  const char *name = group_name(pod_set);
  if (!name) return HR_NONE;
  uint32_t at = 0;
  const cJSON *item;
  cJSON_ArrayForEach(item, list) {
    const char *other = group_name(item);
    if (other && strcmp(other, name) == 0) return at;
    at++;
  }
  return HR_NONE;
}

struct hr__kueue_pod_set *hr__kueue_case_pod_sets(struct hr__kueue_case *self, const cJSON *list, uint32_t *count) {
  struct hr__kueue_pod_set *pod_sets = ALLOC(self, (size_t)cJSON_GetArraySize(list) + 1, struct hr__kueue_pod_set);
  *count = 0;
  if (!pod_sets) return NULL;
  const cJSON *item;
  cJSON_ArrayForEach(item, list) {
    const cJSON *request = hr__case_get(item, "topologyRequest");
    pod_sets[(*count)++] =
        (struct hr__kueue_pod_set){.name = hr__case_text(item, "name", ""),
                                   .count = hr__case_whole(item, "count", 1),
                                   .min_count = hr__case_whole(item, "minCount", -1),
                                   .requests = hr__kueue_case_amounts(self, hr__case_get(item, "requests")),
                                   .selector = hr__kueue_case_selector(self, item),
                                   .topology = hr__kueue_case_topology_request(self, request),
                                   .group = group_of(list, item)};
  }
  return pod_sets;
}

static void read_reclaimable(struct hr__kueue_workload *workload, const cJSON *list) {
  const cJSON *item;
  cJSON_ArrayForEach(item, list) for (uint32_t i = 0; i < workload->n_pod_sets; i++) {
    if (strcmp(workload->pod_sets[i].name, hr__case_text(item, "name", "")) == 0)
      workload->pod_sets[i].reclaimable = hr__case_whole(item, "count", 0);
  }
}

static int by_assigned_resource(const void *a, const void *b) {
  const struct hr__kueue_assigned *left = a, *right = b;
  return (left->resource > right->resource) - (left->resource < right->resource);
}

static bool read_admitted_pod_set(struct hr__kueue_case *self, const cJSON *json, struct hr__kueue_pod_set *pod_set) {
  const cJSON *flavors = hr__case_get(json, "flavors"), *item;
  struct hr__kueue_assigned *assigned = ALLOC(self, hr__case_count(json, "flavors") + 1, struct hr__kueue_assigned);
  if (!assigned) return false;
  pod_set->n_assigned = 0;
  cJSON_ArrayForEach(item, flavors) {
    uint32_t flavor = hr__kueue_name_find(&self->flavors, cJSON_IsString(item) ? item->valuestring : NULL);
    uint32_t resource = hr__kueue_name_find(&self->resources, item->string);
    if (flavor == HR_NONE || resource == HR_NONE) continue;
    assigned[pod_set->n_assigned++] =
        (struct hr__kueue_assigned){resource, flavor, hr__case_whole(hr__case_get(json, "usage"), item->string, 0)};
  }
  qsort(assigned, pod_set->n_assigned, sizeof *assigned, by_assigned_resource);
  pod_set->assigned = assigned;
  pod_set->admitted_count = hr__case_whole(json, "count", pod_set->count);
  pod_set->placement = hr__kueue_case_placement(self, hr__case_get(json, "topologyAssignment"));
  pod_set->placement_pending = hr__case_text_is(json, "delayedTopologyRequest", "Pending");
  return true;
}

static bool read_admission(struct hr__kueue_case *self, const cJSON *json, struct hr__kueue_workload *workload) {
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(json, "podSets")) {
    for (uint32_t i = 0; i < workload->n_pod_sets; i++) {
      if (strcmp(workload->pod_sets[i].name, hr__case_text(item, "name", "")) == 0 &&
          !read_admitted_pod_set(self, item, &workload->pod_sets[i]))
        return false;
    }
  }
  workload->queue = hr__kueue_name_find(&self->queues, hr__case_text(json, "clusterQueue", NULL));
  return true;
}

/* ---- Workloads ---- */

const cJSON *hr__kueue_case_condition(const cJSON *workload, const char *type) {
  const cJSON *item;
  cJSON_ArrayForEach(item,
                     hr__case_get(workload, "conditions")) if (strcmp(hr__case_text(item, "type", ""), type) == 0 &&
                                                               strcmp(hr__case_text(item, "status", ""), "True") ==
                                                                   0) return item;
  return NULL;
}

static int64_t read_queue_time(const struct hr__kueue_case *self, const cJSON *json, int64_t created_us) {
  const cJSON *evicted = hr__kueue_case_condition(json, "Evicted"),
              *preempted = hr__kueue_case_condition(json, "Preempted");
  struct hr__kueue_history history = {
      .created_us = created_us,
      .evicted_us = hr__kueue_case_time(evicted, "at", HR__KUEUE_NO_TIME),
      .evicted_by_timeout = evicted && hr__case_text_is(evicted, "reason", "PodsReadyTimeout"),
      .evicted_by_check = evicted && hr__case_text_is(evicted, "reason", "AdmissionCheck"),
      .preempted_us = hr__kueue_case_time(preempted, "at", HR__KUEUE_NO_TIME),
      .reclaimed_while_borrowing = preempted && hr__case_text_is(preempted, "reason", "InCohortReclaimWhileBorrowing")};
  bool sorting = hr__kueue_has_gate(&self->world, HR__KUEUE_BIT_PRIORITY_SORTING);
  return hr__kueue_queue_time(&history, strcmp(self->requeuing, "Creation") == 0, sorting);
}

static void read_queue_of(struct hr__kueue_case *self, const cJSON *json, struct hr__kueue_workload *out) {
  const char *namespace = hr__case_text(json, "namespace", ""), *name = hr__case_text(json, "queue", "");
  size_t length = strlen(namespace);
  for (uint32_t i = 0; i < self->world.n_local_queues; i++) {
    const char *key = self->world.local_queues[i].name;
    if (strncmp(key, namespace, length) != 0 || key[length] != '/' || strcmp(key + length + 1, name) != 0) continue;
    out->local_queue = i;
    if (out->queue == HR_NONE) out->queue = self->world.local_queues[i].queue;
    return;
  }
}

bool hr__kueue_case_is_one_pod(const cJSON *workload) {
  const cJSON *owners = hr__case_get(workload, "owners"), *annotations = hr__case_get(workload, "annotations");
  if (cJSON_GetArraySize(owners) != 1) return false;
  const cJSON *kind = hr__case_get(cJSON_GetArrayItem(owners, 0), "kind");
  const char *name = cJSON_IsString(kind) ? kind->valuestring : hr__case_text(kind, "kind", "");
  const char *group = hr__case_text(annotations, "kueue.x-k8s.io/is-group-workload", "");
  return strcmp(name, "Pod") == 0 && strcmp(group, "true") != 0;
}

bool hr__kueue_case_workload(struct hr__kueue_case *self, const cJSON *json, struct hr__kueue_workload *out) {
  const cJSON *admission = hr__case_get(json, "admission");
  bool boost = hr__kueue_has_gate(&self->world, HR__KUEUE_BIT_PRIORITY_BOOST);
  const char *annotation = hr__case_text(hr__case_get(json, "annotations"), "kueue.x-k8s.io/priority-boost", NULL);
  *out = (struct hr__kueue_workload){.name = hr__kueue_case_key(self, json),
                                     .queue = HR_NONE,
                                     .local_queue = HR_NONE,
                                     .created_us = hr__kueue_case_time(json, "creation", HR__KUEUE_NO_TIME),
                                     .reserved_us = hr__kueue_case_time(json, "quotaReservedAt", HR__KUEUE_NO_TIME),
                                     .uid_rank = hr__kueue_name_find(&self->uids, hr__case_text(json, "uid", "")),
                                     .reserved = hr__kueue_case_condition(json, "QuotaReserved") != NULL,
                                     .admitted = hr__kueue_case_condition(json, "Admitted") != NULL,
                                     .evicted = hr__kueue_case_condition(json, "Evicted") != NULL,
                                     .is_one_pod = hr__kueue_case_is_one_pod(json),
                                     .previous_admitted = HR_NONE,
                                     .next_admitted = HR_NONE};
  out->priority = hr__kueue_boosted_priority(hr__case_whole(json, "priority", 0), boost ? annotation : NULL);
  out->queue_us = read_queue_time(self, json, out->created_us);
  out->pod_sets = hr__kueue_case_pod_sets(self, hr__case_get(json, "podSets"), &out->n_pod_sets);
  out->unhealthy_nodes = read_texts(self, hr__case_get(json, "unhealthyNodes"), &out->n_unhealthy_nodes);
  if (!out->pod_sets) return false;
  if (hr__kueue_has_gate(&self->world, HR__KUEUE_BIT_RECLAIMABLE_PODS))
    read_reclaimable(out, hr__case_get(json, "reclaimablePods"));
  if (admission && !read_admission(self, admission, out)) return false;
  read_queue_of(self, json, out);
  out->usage = ALLOC(self, (size_t)out->n_pod_sets * self->world.n_resources + 1, struct hr__kueue_usage);
  if (!out->usage) return false;
  if (admission) hr__kueue_workload_sum_usage(&self->world, out);
  return true;
}

bool hr__kueue_case_workloads(struct hr__kueue_case *self, const cJSON *const *lists, uint32_t n_lists) {
  struct hr__kueue_world *world = &self->world;
  size_t bound = 1;
  for (uint32_t i = 0; i < n_lists; i++) bound += (size_t)cJSON_GetArraySize(lists[i]);
  world->workloads = ALLOC(self, bound, struct hr__kueue_workload);
  self->workload_json = ALLOC(self, bound, const cJSON *);
  if (!world->workloads || !self->workload_json) return false;
  const cJSON *item;
  for (uint32_t i = 0; i < n_lists; i++) cJSON_ArrayForEach(item, lists[i]) {
      self->workload_json[world->n_workloads] = item;
      struct hr__kueue_workload *workload = &world->workloads[world->n_workloads++];
      if (!hr__kueue_case_workload(self, item, workload)) return false;
      if (workload->n_pod_sets > world->max_pod_sets) world->max_pod_sets = workload->n_pod_sets;
    }
  if (!hr__kueue_case_topology(self)) return false;
  for (uint32_t i = 0; i < world->n_workloads; i++) {
    struct hr__kueue_workload *workload = &world->workloads[i];
    if (workload->reserved && workload->queue != HR_NONE && hr__case_get(self->workload_json[i], "admission"))
      hr__kueue_list(world, i);
  }
  return true;
}
