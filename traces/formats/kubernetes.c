/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ---- Pods -------------------------------------------------------------------------------------------- */

#include "traces/formats/kubernetes.h"

#include "traces/core/numbers.h"
#include "traces/formats/formats.h"
#include "traces/formats/job_facts.h"

#include <stdlib.h>
#include <string.h>

/* ---- Quantities ------------------------------------------------------------------------------------- */

/* Parses "500m", "2", "16Gi" or "1e3", times `factor` and the suffix. */
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
    bool ok = hr__number_parse(text, &rule, result) ==
              HR__NUMBER_FINE; /* rejects "1500m" of a resource that is counted in whole units */
    *result = (*result + suffixes[i].over - 1) / suffixes[i].over;
    return ok;
  }
  return hr__number_parse(text, &rule, result) == HR__NUMBER_FINE;
}

/* ---- Containers ------------------------------------------------------------------------------------- */

/* Bits of hr__kube_pod.kinds, above those of makers of whole GPUs. */
enum { SHARED_KIND = 1 << 8, MIG_KIND = 1 << 9, OTHER_MIG_KIND = 1 << 10 };

/* The bit of a whole GPU's maker; 0: not a GPU. */
static uint32_t maker_of(const char *resource) {
  static const char *const names[] = {"nvidia.com/gpu",   "amd.com/gpu",     "gpu.intel.com/i915",
                                      "gpu.intel.com/xe", "habana.ai/gaudi", NULL};
  for (uint32_t i = 0; names[i]; i++)
    if (strcmp(names[i], resource) == 0) return UINT32_C(1) << i;
  return 0;
}

/* Whether the pod requests more than one kind of GPU: several makers, shares, or several MIG profiles. */
static bool requests_several_kinds(const struct hr__kube_pod *pod) {
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

/* ---- GPU types --------------------------------------------------------------------------------------- */

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

/* Appends the values of an expression `label In (...)`, separated by `|`; false if it is not one, or too long. */
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

/* The required terms are alternatives: the union of the types that they name, or none if one of them names none. */
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
    return hr__get_wrong(&kube->get, path, NULL, "a pod with invalid or too large resource quantities");
  pod->types = types_of(kube, spec);
  return true;
}

/*
 * Converts lists of Kubernetes objects to jobs (`kubectl get jobs,pods,workloads,events -A -o json`). Objects that
 * belong together are one job: Pods are parts of the Job that owns them, a Workload is part of the Job or Pod that
 * owns it, and objects with an owner of another kind (a JobSet, a PyTorchJob) are parts of the Workload with the same
 * owner. The root object defines the job; its parts fill in what it lacks.
 */

struct joined {
  struct hr__kube *kube;
  uint32_t *of_uid;   /* by name number: the object with that uid; HR_NONE: none */
  uint32_t *of_owner; /* the Workload of the object with that uid */
  uint32_t *of_class; /* the priority class with that name, an index into `words` */
  uint64_t n_evicted, n_past, n_mixed, n_kinds, n_shared, n_early;
};

static int64_t earlier(int64_t a, int64_t b) {
  return a == INT64_MIN || (b != INT64_MIN && b < a) ? b : a;
}

/* ---- Joining objects --------------------------------------------------------------------------------- */

static bool index_objects(struct joined *joined) {
  struct hr__kube *kube = joined->kube;
  size_t n = kube->names.count ? kube->names.count : 1;
  joined->of_uid = malloc(n * sizeof *joined->of_uid);
  joined->of_owner = malloc(n * sizeof *joined->of_owner);
  joined->of_class = malloc(n * sizeof *joined->of_class);
  if (!joined->of_uid || !joined->of_owner || !joined->of_class) return false;
  for (size_t i = 0; i < n; i++) joined->of_uid[i] = joined->of_owner[i] = joined->of_class[i] = HR_NONE;
  for (uint32_t i = 0; i < kube->n_objects; i++) {
    const struct hr__kube_object *object = &kube->objects[i];
    if (object->uid != HR_NONE) joined->of_uid[object->uid] = i;
    if (object->kind == HR__KUBE_WORKLOAD && object->owner != HR_NONE) joined->of_owner[object->owner] = i;
  }
  for (uint32_t i = 0; i < kube->n_words; i++)
    if (kube->words[i].is_class) joined->of_class[kube->words[i].subject] = i;
  return true;
}

static uint32_t root_of(const struct joined *joined, uint32_t number) {
  enum { DEEPEST = 8 }; /* maximum length of a chain of owners, which also ends cycles */
  for (int depth = 0; depth < DEEPEST; depth++) {
    uint32_t owner = joined->kube->objects[number].owner;
    uint32_t above = owner == HR_NONE ? HR_NONE : joined->of_uid[owner];
    if (above == HR_NONE && owner != HR_NONE) above = joined->of_owner[owner];
    if (above == HR_NONE || above == number) break;
    number = above;
  }
  return number;
}

/* Copies what the part has and the root lacks. */
static void add_part(struct hr__kube_object *root, const struct hr__kube_object *part) {
  root->created_us = earlier(root->created_us, part->created_us);
  if (part->kind == HR__KUBE_WORKLOAD) {
    if (part->queue != HR_NONE) root->queue = part->queue;
    if (part->limit_us >= 0 && (root->limit_us < 0 || part->limit_us < root->limit_us)) root->limit_us = part->limit_us;
    root->past_s += part->past_s;
    root->pod = part->pod;
    root->pods = part->pods;
    root->mixed = part->mixed;
  }
  if (part->has_priority && (!root->has_priority || part->kind == HR__KUBE_WORKLOAD)) {
    root->priority = part->priority;
    root->has_priority = true;
  }
  if (root->priority_class == HR_NONE) root->priority_class = part->priority_class;
  root->evictions += part->evictions;
}

/* The finish time comes only from the object itself or its Workload, since pods that ended may be retried. */
static void add_times(struct hr__kube_object *root, const struct hr__kube_object *part, bool own_start) {
  if (!own_start && part->kind != HR__KUBE_WORKLOAD) root->start_us = earlier(root->start_us, part->start_us);
  if (root->finished || part->kind != HR__KUBE_WORKLOAD || !part->finished) return;
  root->finished = true;
  root->finish_us = part->finish_us;
  root->outcome = part->outcome;
}

/* The time of quota reservation, used if no pod has a start time. */
static void add_admission(const struct hr__kube *kube, const struct hr__kube_object *part) {
  struct hr__kube_object *root = &kube->objects[part->root];
  if (part->kind == HR__KUBE_WORKLOAD && root->start_us == INT64_MIN) root->start_us = part->start_us;
}

static bool join(struct joined *joined) {
  struct hr__kube *kube = joined->kube;
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
    add_times(&kube->objects[root], &kube->objects[i], own_start[root]);
  }
  for (uint32_t i = 0; i < kube->n_objects; i++) add_admission(kube, &kube->objects[i]);
  free(own_start);
  return true;
}

static void add_events(const struct joined *joined) {
  const struct hr__kube *kube = joined->kube;
  for (uint32_t i = 0; i < kube->n_words; i++) {
    const struct hr__kube_word *word = &kube->words[i];
    uint32_t number = word->is_class ? HR_NONE : joined->of_uid[word->subject];
    if (number == HR_NONE) continue;
    struct hr__kube_object *root = &kube->objects[kube->objects[number].root];
    if (word->evicted && !root->evictions) root->evictions = 1;
    if (root->start_us == INT64_MIN) root->start_us = word->admitted_us;
  }
}

/* ---- Jobs ------------------------------------------------------------------------------------------- */

static struct hr_text text_of(const struct hr__kube *kube, uint32_t name) {
  if (name == HR_NONE) return (struct hr_text){NULL, 0};
  return (struct hr_text){kube->names.text[name], kube->names.length[name]};
}

/* Returns false if there are more than HR_MAX_GPUS GPUs. */
static bool fill_request(struct joined *joined, const struct hr__kube_object *object, struct hr_job_record *job) {
  const struct hr__kube *kube = joined->kube;
  const struct hr__kube_pod *pod = &object->pod;
  uint64_t pods = object->pods ? object->pods : 1;
  bool shared = !pod->gpus && pod->shared, mig = !pod->gpus && !pod->shared && pod->mig;
  uint64_t each = pod->gpus ? pod->gpus : shared ? pod->shared : pod->mig;
  if (pods > HR_MAX_GPUS || each > HR_MAX_GPUS || each * pods > HR_MAX_GPUS) return false;
  job->tasks = (uint32_t)pods;
  job->gpus = (uint32_t)(each * pods);
  if (shared) job->gpu_milli = (uint32_t)(1000 / kube->replicas);
  joined->n_shared += shared;
  if (mig) job->mig_profile = text_of(kube, pod->mig_profile);
  if (each) job->gpu_types = text_of(kube, pod->types);
  job->cpu_milli = pod->cpu_milli < UINT32_MAX ? (uint32_t)pod->cpu_milli : UINT32_MAX;
  job->mem_mib = pod->mem_mib;
  joined->n_mixed += object->mixed;
  joined->n_kinds += requests_several_kinds(pod);
  return true;
}

static int32_t priority_of(const struct joined *joined, const struct hr__kube_object *object) {
  if (object->has_priority || object->priority_class == HR_NONE) return object->priority;
  uint32_t word = joined->of_class[object->priority_class];
  return word == HR_NONE ? 0 : joined->kube->words[word].value;
}

static enum hr_status add_job(struct joined *joined, const struct hr__kube_object *object) {
  const struct hr__kube *kube = joined->kube;
  struct hr__reader *reader = kube->get.reader;
  if (!object->finished || object->finish_us == INT64_MIN)
    return hr__reader_leave_out(reader, "the job had not finished", object->line);
  if (object->start_us == INT64_MIN)
    return hr__reader_leave_out(reader, "the start of the job is unknown", object->line);
  struct hr__row_fault fault = {.line = object->line, .fault = "the job finishes before it starts"};
  if (object->finish_us < object->start_us) return hr__reader_bad_row(reader, &fault);
  struct hr_job_record job;
  hr_job_record_init(&job);
  fault.fault = "the job requests more than 4000000 GPUs";
  if (!fill_request(joined, object, &job)) return hr__reader_bad_row(reader, &fault);
  job.id = text_of(kube, object->name);
  job.tenant = text_of(kube, object->queue != HR_NONE ? object->queue : object->namespace_);
  job.user = text_of(kube, object->namespace_);
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
  return hr__reader_add(reader, &job, object->line);
}

static enum hr_status note_shared(const struct joined *joined) {
  const struct hr__reader *reader = joined->kube->get.reader;
  if (!joined->n_shared) return HR_OK;
  enum hr_status status = hr_notes_add(
      reader->notes, "%llu %s nvidia.com/gpu.shared, counted as 1/%llu of a GPU%s (--format kubernetes:replicas=N)",
      (unsigned long long)joined->n_shared, hr__counted(joined->n_shared, "job requests", "jobs request"),
      (unsigned long long)joined->kube->replicas, reader->params ? "" : " (assumed)");
  return status == HR_OK ? HR_OK : hr__reader_no_memory(reader);
}

static enum hr_status note_all(const struct joined *joined) {
  const struct hr__reader *reader = joined->kube->get.reader;
  const struct {
    uint64_t count;
    struct hr__count_words words;
  } notes[] = {
      {joined->kube->n_other,
       {"object is of an unsupported kind", "objects are of unsupported kinds",
        "; Job, Workload, Pod, Event and priority classes are supported"}},
      {joined->n_evicted, {"job was", "jobs were", " evicted or requeued: each is replayed once, with its last run"}},
      {joined->n_past,
       {"job ran before it was evicted", "jobs ran before they were evicted", "; that time is not replayed"}},
      {joined->n_mixed,
       {"workload has", "workloads have",
        " pod sets with different requests: sets without GPUs are ignored if others have some, and the others become "
        "one task"}},
      {joined->n_kinds,
       {"job requests", "jobs request",
        " several kinds of GPUs in a pod: of whole GPUs, shares and MIG instances the first kind counts, of any maker; "
        "of MIG profiles the last, for all instances"}},
      {joined->n_early,
       {"job started before it was", "jobs started before they were", " created: the start is treated as unknown"}},
  };
  enum hr_status status = note_shared(joined);
  for (size_t i = 0; status == HR_OK && i < sizeof notes / sizeof *notes; i++)
    status = hr__reader_note_count(reader, notes[i].count, notes[i].words);
  return status;
}

static enum hr_status add_jobs(struct hr__kube *kube) {
  struct joined joined = {.kube = kube};
  enum hr_status status = join(&joined) ? HR_OK : hr__reader_no_memory(kube->get.reader);
  if (status == HR_OK) add_events(&joined);
  for (uint32_t i = 0; status == HR_OK && i < kube->n_objects; i++)
    if (kube->objects[i].root == i) status = add_job(&joined, &kube->objects[i]);
  if (status == HR_OK) status = note_all(&joined);
  free(joined.of_uid);
  free(joined.of_owner);
  free(joined.of_class);
  return status;
}

static enum hr_status on_item(void *self, const struct hr__json_item *item) {
  struct hr__kube *kube = self;
  kube->n_items++;
  hr__get_begin(&kube->get, item->member ? item->member : "", item);
  return hr__kube_item_read(kube, item);
}

enum hr_status hr__read_kubernetes(struct hr__reader *reader) {
  static const char *const streamed[] = {"items", NULL};
  struct hr__kube kube = {.get = {.reader = reader}, .replicas = 4};
  const struct hr__format_param params[] = {{"replicas", 1, 1000, &kube.replicas, NULL}};
  const struct hr__json_schema schema = {.streamed = streamed, .on_item = on_item, .self = &kube};
  enum hr_status status = hr__format_params_read(reader, "kubernetes", params, sizeof params / sizeof *params);
  if (status == HR_OK) status = hr__json_stream_read(reader, &schema);
  if (status == HR_OK && !kube.n_items)
    status = hr_fail(reader->error, HR_BAD_INPUT,
                     "%s: no \"items\", or the list is empty; expected a list from kubectl get jobs -A -o json",
                     reader->path);
  if (status == HR_OK) status = hr__get_note_clock(&kube.get);
  if (status == HR_OK) status = add_jobs(&kube);
  hr__names_finish(&kube.names);
  free(kube.objects);
  free(kube.words);
  return status;
}
