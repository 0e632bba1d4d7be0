/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Converts lists of Kubernetes objects to jobs (`kubectl get jobs,pods,workloads,events -A -o json`).
 *
 * Objects that belong together form one job. A Pod is a part of the Job that owns it. A Workload is a part of the Job
 * or Pod that owns it. If an object has an owner of another kind (a JobSet, a PyTorchJob), it is a part of the
 * Workload with the same owner. The root is the object that is not a part of another one. It defines the job; its
 * parts add properties that it does not have.
 */

#include "traces/formats/kubernetes.h"

#include "traces/core/numbers.h"
#include "traces/core/reader.h"
#include "traces/formats/formats.h"

#include <stdlib.h>
#include <string.h>

struct joined {
  struct hr__kube *kube;
  uint32_t *of_uid;   /* [names.count] for a uid: the object with this uid; HR_NONE: no such object */
  uint32_t *of_owner; /* [names.count] for a uid: the Workload that belongs to the object with this uid */
  uint32_t *of_class; /* [names.count] for a name: the priority class with this name, as an index in `words` */
  uint32_t *of_queue; /* [names.count] for a LocalQueue: the name number of its ClusterQueue; HR_NONE: unknown */
  /* Counters of jobs. note_all() prints each of them in a note that describes what it counts. */
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
  joined->of_queue = malloc(n * sizeof *joined->of_queue);
  if (!joined->of_uid || !joined->of_owner || !joined->of_class || !joined->of_queue) return false;
  for (size_t i = 0; i < n; i++)
    joined->of_uid[i] = joined->of_owner[i] = joined->of_class[i] = joined->of_queue[i] = HR_NONE;
  for (uint32_t i = 0; i < kube->n_objects; i++) {
    const struct hr__kube_object *object = &kube->objects[i];
    if (object->uid != HR_NONE) joined->of_uid[object->uid] = i;
    if (object->kind == HR__KUBE_WORKLOAD && object->owner != HR_NONE) joined->of_owner[object->owner] = i;
    if (object->queue != HR_NONE && object->cluster_queue != HR_NONE)
      joined->of_queue[object->queue] = object->cluster_queue;
  }
  for (uint32_t i = 0; i < kube->n_words; i++) {
    const struct hr__kube_word *word = &kube->words[i];
    if (word->is_class) joined->of_class[word->subject] = i;
    if (word->cluster_queue != HR_NONE) joined->of_queue[word->subject] = word->cluster_queue;
  }
  return true;
}

static uint32_t root_of(const struct joined *joined, uint32_t number) {
  enum { DEEPEST = 8 }; /* maximum length of a chain of owners; it also ends the search if owners form a cycle */
  for (int depth = 0; depth < DEEPEST; depth++) {
    uint32_t owner = joined->kube->objects[number].owner;
    uint32_t above = owner == HR_NONE ? HR_NONE : joined->of_uid[owner];
    if (above == HR_NONE && owner != HR_NONE) above = joined->of_owner[owner];
    if (above == HR_NONE || above == number) break;
    number = above;
  }
  return number;
}

/* Merges the properties of a part, except its times, into its root. The queue and the request of a Workload replace
   those of the root. */
static void add_part(struct hr__kube_object *root, const struct hr__kube_object *part) {
  root->created_us = earlier(root->created_us, part->created_us);
  if (part->kind == HR__KUBE_WORKLOAD) {
    if (part->queue != HR_NONE) root->queue = part->queue;
    if (part->cluster_queue != HR_NONE) root->cluster_queue = part->cluster_queue;
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

/* Merges the times of a part into its root. The finish time is taken only from the root or from its Workload, because
   a Pod that has ended may be retried. `own_start` is true if the root had a start time before any merge; this start
   time is then kept. */
static void add_times(struct hr__kube_object *root, const struct hr__kube_object *part, bool own_start) {
  if (!own_start && part->kind != HR__KUBE_WORKLOAD) root->start_us = earlier(root->start_us, part->start_us);
  if (root->finished || part->kind != HR__KUBE_WORKLOAD || !part->finished) return;
  root->finished = true;
  root->finish_us = part->finish_us;
  root->outcome = part->outcome;
}

/* If no pod of a job has a start time, uses the time at which the Workload got its quota. */
static void add_admission(const struct hr__kube *kube, const struct hr__kube_object *part) {
  struct hr__kube_object *root = &kube->objects[part->root];
  if (part->kind == HR__KUBE_WORKLOAD && root->start_us == INT64_MIN) root->start_us = part->start_us;
}

/* Copies the texts of column maps that the root does not have from a part. */
static void add_picked(const struct hr__kube *kube, uint32_t root, uint32_t part) {
  size_t count = hr__picks_count(kube->get.reader->picks);
  for (size_t i = 0; i < count; i++)
    if (kube->picked[root * count + i] == HR_NONE) kube->picked[root * count + i] = kube->picked[part * count + i];
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
    add_picked(kube, root, i);
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
    bool is_event = !word->is_class && word->cluster_queue == HR_NONE;
    uint32_t number = is_event ? joined->of_uid[word->subject] : HR_NONE;
    if (number == HR_NONE) continue;
    struct hr__kube_object *root = &kube->objects[kube->objects[number].root];
    if (word->evicted && !root->evictions) root->evictions = 1;
    if (root->start_us == INT64_MIN) root->start_us = word->admitted_us;
  }
}

/* ---- Jobs ------------------------------------------------------------------------------------------- */

/* Returns true if the pod requests more than one kind of GPU: GPUs of several makers, shared GPUs, or several MIG
   profiles. */
static bool requests_several_kinds(const struct hr__kube_pod *pod) {
  return (pod->kinds & (pod->kinds - 1)) != 0;
}

static struct hr_text text_of(const struct hr__kube *kube, uint32_t name) {
  if (name == HR_NONE) return (struct hr_text){NULL, 0};
  return (struct hr_text){kube->names.text[name], kube->names.length[name]};
}

/* Sets the request of the job. Returns false if it exceeds HR_MAX_GPUS. */
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

/* Sets the texts of column maps for the job of an object. */
static void set_picks(const struct hr__kube *kube, const struct hr__kube_object *object) {
  size_t count = hr__picks_count(kube->get.reader->picks), at = (size_t)(object - kube->objects) * count;
  for (size_t i = 0; i < count; i++) hr__picks_set(kube->get.reader->picks, i, text_of(kube, kube->picked[at + i]));
}

static int32_t priority_of(const struct joined *joined, const struct hr__kube_object *object) {
  if (object->has_priority || object->priority_class == HR_NONE) return object->priority;
  uint32_t word = joined->of_class[object->priority_class];
  return word == HR_NONE ? 0 : joined->kube->words[word].value;
}

/* Returns the tenant of a job: its ClusterQueue. If that is unknown, NAMESPACE/LocalQueue; without a queue, the
   namespace. */
static uint32_t tenant_of(const struct joined *joined, const struct hr__kube_object *object) {
  if (object->cluster_queue != HR_NONE) return object->cluster_queue;
  if (object->queue == HR_NONE) return object->namespace_;
  uint32_t cluster_queue = joined->of_queue[object->queue];
  return cluster_queue == HR_NONE ? object->queue : cluster_queue;
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
  job.tenant = text_of(kube, tenant_of(joined, object));
  job.user = text_of(kube, object->namespace_);
  job.queue = text_of(kube, object->queue);
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
  enum hr_status status = hr_notes_add(
      reader->notes, "%llu %s nvidia.com/gpu.shared, counted as 1/%llu of a GPU%s (--format kubernetes:replicas=N)",
      (unsigned long long)joined->n_shared, hr__counted(joined->n_shared, "job requests", "jobs request"),
      (unsigned long long)joined->kube->replicas, reader->params ? "" : " (assumed)");
  return status == HR_OK ? HR_OK : hr__reader_no_memory(reader);
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
  free(joined.of_queue);
  return status;
}

static enum hr_status on_item(void *self, const struct hr__json_item *item) {
  struct hr__kube *kube = self;
  kube->n_items++;
  hr__get_begin(&kube->get, item->member ? item->member : "", item);
  return hr__kube_item_read(kube, item);
}

static enum hr_status read_kubernetes(struct hr__reader *reader) {
  static const char *const streamed[] = {"items", NULL};
  struct hr__kube kube = {.get = {.reader = reader}, .replicas = 4};
  const struct hr__reader_param params[] = {{"replicas", 1, 1000, &kube.replicas, NULL}};
  const struct hr__json_schema schema = {.streamed = streamed, .on_item = on_item, .self = &kube};
  enum hr_status status = hr__reader_params(reader, "kubernetes", params, sizeof params / sizeof *params);
  if (status == HR_OK) status = hr__json_stream_read(reader, &schema);
  if (status == HR_OK && !kube.n_items)
    status = hr_fail(reader->error, HR_BAD_INPUT,
                     "%s: no \"items\", or the list is empty; expected a list from kubectl get jobs -A -o json",
                     reader->path);
  if (status == HR_OK) status = hr__get_note_clock(&kube.get);
  if (status == HR_OK) status = add_jobs(&kube);
  hr__names_finish(&kube.names);
  free(kube.objects);
  free(kube.picked);
  free(kube.words);
  return status;
}

const struct hr__format_reader hr__kubernetes_reader = {
    .read = read_kubernetes, .has_params = true, .has_columns = true};
