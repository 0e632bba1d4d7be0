/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests of containers add up; an init container runs before them, so that of GPUs the larger of the two counts. A
   resource that is only limited is requested as well (Kubernetes, "Resource Management for Pods and Containers"). */

#include "traces/kube.h"
#include "traces/numbers.h"

#include <string.h>

/* ---- Quantities ------------------------------------------------------------------------------------- */

/* "500m", "2", "16Gi", "1e3": times `factor`, which a suffix changes. */
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
    bool fine = hr__number_parse(text, &rule, result) == HR__NUMBER_FINE; /* "1500m" of a thing that comes whole */
    *result = (*result + suffixes[i].over - 1) / suffixes[i].over;
    return fine;
  }
  return hr__number_parse(text, &rule, result) == HR__NUMBER_FINE;
}

/* ---- Containers ------------------------------------------------------------------------------------- */

/* Bits of hr__kube_pod.kinds, behind those of the makers of whole GPUs. */
enum { SHARED_KIND = 1 << 8, MIG_KIND = 1 << 9, OTHER_MIG_KIND = 1 << 10 };

/* The bit of a whole GPU's maker; 0: it is none. */
static uint32_t maker_of(const char *resource) {
  static const char *const names[] = {"nvidia.com/gpu",   "amd.com/gpu",     "gpu.intel.com/i915",
                                      "gpu.intel.com/xe", "habana.ai/gaudi", NULL};
  for (uint32_t i = 0; names[i]; i++)
    if (strcmp(names[i], resource) == 0) return UINT32_C(1) << i;
  return 0;
}

bool hr__kube_asks_for_kinds(const struct hr__kube_pod *pod) {
  return (pod->kinds & (pod->kinds - 1)) != 0;
}

static bool starts_with(const char *text, const char *start) {
  return strncmp(text, start, strlen(start)) == 0;
}

static bool add_resource(struct hr__kube *kube, const cJSON *resource, struct hr__kube_pod *pod) {
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
    pod->mig_profile = hr__kube_name(kube, (struct hr_text){name + sizeof mig - 1, strlen(name) - sizeof mig + 1});
    pod->kinds |= MIG_KIND | (before != HR_NONE && before != pod->mig_profile ? OTHER_MIG_KIND : 0);
  }
  return pod->mem_mib <= UINT64_C(1) << 30 && pod->cpu_milli <= 1000000000 &&
         pod->gpus + pod->shared + pod->mig <= HR_MAX_GPUS && value <= UINT64_C(1) << 52;
}

static bool add_container(struct hr__kube *kube, const cJSON *container, struct hr__kube_pod *pod) {
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

static bool add_containers(struct hr__kube *kube, const cJSON *spec, const char *which, struct hr__kube_pod *pod,
                           bool at_once) {
  const cJSON *list = hr__get_member(spec, which), *container;
  if (!cJSON_IsArray(list)) return list == NULL;
  cJSON_ArrayForEach(container, list) {
    struct hr__kube_pod one = {.mig_profile = pod->mig_profile}, *to = at_once ? pod : &one;
    if (!add_container(kube, container, to)) return false;
    pod->mig_profile = to->mig_profile;
    pod->kinds |= to->kinds;
    if (one.gpus > pod->gpus) pod->gpus = one.gpus;
    if (one.shared > pod->shared) pod->shared = one.shared;
    if (one.mig > pod->mig) pod->mig = one.mig;
  }
  return true;
}

/* ---- Types of GPUs ---------------------------------------------------------------------------------- */

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

/* Adds the values of an expression `label In (...)` with `|` between them; false when it is none or they are too long.
 */
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

/* Any of the required terms will do: all that they name, nothing where one of them names none. */
static uint32_t types_by_affinity(struct hr__kube *kube, const cJSON *spec) {
  const cJSON *terms =
      hr__get_member(spec, "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
  const cJSON *term;
  char joined[500] = "";
  cJSON_ArrayForEach(term, terms) {
    if (!join_term(term, joined, sizeof joined)) return HR_NONE;
  }
  return joined[0] ? hr__kube_name(kube, (struct hr_text){joined, strlen(joined)}) : HR_NONE;
}

static uint32_t types_of(struct hr__kube *kube, const cJSON *spec) {
  const cJSON *selector = hr__get_member(spec, "nodeSelector");
  for (size_t i = 0; cJSON_IsObject(selector) && type_labels[i]; i++) {
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(selector, type_labels[i]);
    if (cJSON_IsString(value) && *value->valuestring)
      return hr__kube_name(kube, (struct hr_text){value->valuestring, strlen(value->valuestring)});
  }
  return types_by_affinity(kube, spec);
}

bool hr__kube_pod_read(struct hr__kube *kube, const cJSON *spec, const char *path, struct hr__kube_pod *pod) {
  *pod = (struct hr__kube_pod){.mig_profile = HR_NONE, .types = HR_NONE};
  if (!add_containers(kube, spec, "containers", pod, true) || !add_containers(kube, spec, "initContainers", pod, false))
    return hr__get_wrong(&kube->get, path, NULL,
                         "a pod whose containers have resources that are no quantities, or are too many");
  pod->types = types_of(kube, spec);
  return true;
}
