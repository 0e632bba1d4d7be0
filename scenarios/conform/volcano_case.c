/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a case of Volcano: queues, jobs (PodGroups) and tasks (pods) into the arrays of a snapshot. volcano_config.c
   reads nodes, selectors and the configuration. Jobs of a case have equal creation times, as in the tests that the
   cases are taken from; Volcano then orders them by name. */

#include "scenarios/conform/volcano_case.h"

#include <stdlib.h>
#include <string.h>

#define OTHER_UNIT 1000 /* other resources than CPU, memory and pods are counted in thousandths */
#define SECOND_US 1000000.0
/* All jobs were created at 0; sessions are opened long after that. */
#define NOW_US INT64_C(1000000000000000)

/* ---- Names ---- */

uint32_t hr__volcano_intern(struct hr__volcano_case *world, struct hr__volcano_names *names, const char *name) {
  uint32_t at = hr__volcano_find(names->items, names->n_items, name);
  if (at != HR__VOLCANO_NONE) return at;
  if (names->n_items == names->capacity) {
    uint32_t capacity = names->capacity ? 2 * names->capacity : 16;
    const char **items = hr__verdict_alloc(world->verdict, capacity, sizeof *items);
    if (!items) return 0;
    if (names->n_items) memcpy(items, names->items, names->n_items * sizeof *items);
    names->items = items;
    names->capacity = capacity;
  }
  names->items[names->n_items] = name;
  return names->n_items++;
}

/* ---- Resources ---- */

double hr__volcano_quantity(const char *text) {
  static const struct {
    const char *suffix;
    double factor;
  } suffixes[] = {{"m", 0.001},   {"k", 1e3},     {"M", 1e6},     {"G", 1e9},    {"T", 1e12},
                  {"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}};
  char *end;
  double number = strtod(text, &end);
  for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
    if (strcmp(end, suffixes[i].suffix) == 0) return number * suffixes[i].factor;
  return number;
}

/* Sets one dimension. The names "cpu_milli" and "mem_bytes" state their unit. */
static void set_resource(struct hr__volcano_case *world, struct hr__volcano_vector *vector, const char *name,
                         double amount) {
  double unit = OTHER_UNIT;
  if (strcmp(name, "cpu_milli") == 0 || strcmp(name, "mem_bytes") == 0 || strcmp(name, "pods") == 0) unit = 1;
  if (strcmp(name, "memory") == 0) unit = 1;
  if (strcmp(name, "cpu_milli") == 0) name = "cpu";
  if (strcmp(name, "mem_bytes") == 0) name = "memory";
  uint32_t at = hr__volcano_intern(world, &world->dimensions, name);
  if (at < HR__VOLCANO_MAX_DIMENSIONS)
    hr__volcano_set(vector, at, amount * unit);
  else
    world->verdict->malformed = "more than 16 resources";
}

struct hr__volcano_vector hr__volcano_read_vector(struct hr__volcano_case *world, const cJSON *object) {
  struct hr__volcano_vector result;
  hr__volcano_clear(&result);
  const cJSON *member;
  cJSON_ArrayForEach(member, object) {
    if (cJSON_IsNumber(member)) set_resource(world, &result, member->string, member->valuedouble);
    if (!cJSON_IsString(member)) continue;
    const double unit = strcmp(member->string, "cpu_milli") == 0 ? 1000 : 1;
    set_resource(world, &result, member->string, hr__volcano_quantity(member->valuestring) * unit);
  }
  return result;
}

/* ---- Queues ---- */

static void read_queue(struct hr__volcano_case *world, const cJSON *json, struct hr__volcano_queue *queue) {
  const cJSON *annotations = hr__case_get(json, "annotations");
  queue->name = hr__case_text(json, "name", "");
  queue->weight = (int32_t)hr__case_whole(json, "weight", 1);
  queue->priority = (int32_t)hr__case_whole(json, "priority", 0);
  queue->is_open = strcmp(hr__case_text(json, "state", "Open"), "Open") == 0;
  queue->reclaimable = hr__case_bool(json, "reclaimable", true);
  queue->has_capability = hr__case_count(json, "limit") > 0;
  queue->capability = hr__volcano_read_vector(world, hr__case_get(json, "limit"));
  queue->deserved = hr__volcano_read_vector(world, hr__case_get(json, "deserved"));
  queue->guarantee = hr__volcano_read_vector(world, hr__case_get(json, "guarantee"));
  queue->hierarchy = hr__case_text(annotations, "volcano.sh/hierarchy", NULL);
  queue->hierarchy_weights = hr__case_text(annotations, "volcano.sh/hierarchy-weights", NULL);
  hr__volcano_read_groups(world, json, queue);
}

static void read_queues(struct hr__volcano_case *world) {
  const cJSON *list = hr__case_get(world->whole, "queues"), *item;
  uint32_t n = hr__case_count(world->whole, "queues"), at = 0;
  struct hr__volcano_queue *queues = hr__verdict_alloc(world->verdict, n, sizeof *queues);
  const char **names = hr__verdict_alloc(world->verdict, n, sizeof *names);
  if (!queues || !names) return;
  cJSON_ArrayForEach(item, list) {
    read_queue(world, item, &queues[at]);
    names[at] = queues[at].name;
    at++;
  }
  at = 0;
  cJSON_ArrayForEach(item, list) {
    const char *parent = hr__case_text(item, "parent", "");
    queues[at].parent = parent[0] ? hr__volcano_find(names, n, parent) : HR__VOLCANO_NONE;
    if (parent[0] && queues[at].parent == HR__VOLCANO_NONE) queues[at].parent = HR__VOLCANO_MISSING;
    at++;
  }
  world->snapshot.queues = queues;
  world->snapshot.n_queues = n;
  world->snapshot.root_queue = hr__volcano_find(names, n, "root");
}

/* ---- Tasks ---- */

/* Returns an annotation, else a label, of a pod; NULL if neither is set. */
static const char *mark_of(const cJSON *pod, const char *name) {
  const char *annotation = hr__case_text(hr__case_get(pod, "annotations"), name, NULL);
  return annotation ? annotation : hr__case_text(hr__case_get(pod, "labels"), name, NULL);
}

static bool is_true(const char *text) {
  static const char *const texts[] = {"1", "t", "T", "true", "TRUE", "True"};
  return hr__volcano_find(texts, sizeof texts / sizeof texts[0], text) != HR__VOLCANO_NONE;
}

/* The number at the end of a pod's name that has at least three parts; -1: none. */
static int64_t pod_index(const char *name) {
  const char *slash = strchr(name, '/'), *last = strrchr(name, '-');
  if (slash) name = slash + 1;
  if (!last || strchr(name, '-') == last || !last[1]) return -1;
  char *end;
  int64_t index = strtoll(last + 1, &end, 10);
  return *end ? -1 : index;
}

/* The text "namespace-name". */
static const char *uid_of(struct hr__volcano_case *world, const char *name) {
  char *uid = hr__verdict_alloc(world->verdict, strlen(name) + 1, 1);
  if (!uid) return name;
  memcpy(uid, name, strlen(name) + 1);
  char *slash = strchr(uid, '/');
  if (slash) *slash = '-';
  return uid;
}

static enum hr__volcano_state state_of(const cJSON *json, uint32_t node) {
  const char *phase = hr__case_text(json, "phase", "Pending");
  if (strcmp(phase, "Running") == 0)
    return hr__case_bool(json, "deleting", false) ? HR__VOLCANO_RELEASING : HR__VOLCANO_RUNNING;
  if (strcmp(phase, "Releasing") == 0) return HR__VOLCANO_RELEASING;
  if (strcmp(phase, "Succeeded") == 0) return HR__VOLCANO_SUCCEEDED;
  if (strcmp(phase, "Failed") == 0) return HR__VOLCANO_FAILED;
  return node == HR__VOLCANO_NONE ? HR__VOLCANO_PENDING : HR__VOLCANO_BOUND;
}

static void read_request(struct hr__volcano_case *world, const cJSON *json, struct hr__volcano_task *task) {
  struct hr__volcano_vector *request = hr__verdict_alloc(world->verdict, 1, sizeof *request);
  if (!request) return;
  *request = hr__volcano_read_vector(world, hr__case_get(json, "requests"));
  hr__volcano_set(request, HR__VOLCANO_PODS, 1);
  task->request = request;
}

static void read_priority(const cJSON *json, struct hr__volcano_task *task) {
  const char *own = hr__case_text(hr__case_get(json, "annotations"), "volcano.sh/task-priority", NULL);
  task->pod_priority = (int32_t)hr__case_whole(json, "priority", 0);
  task->priority = (int32_t)hr__case_whole(json, "priority", 1);
  if (own) task->priority = (int32_t)strtol(own, NULL, 10);
}

static bool is_critical(const cJSON *json, const char *name) {
  const char *class_name = hr__case_text(json, "priority_class", hr__case_text(json, "priority_class_name", ""));
  return strncmp(name, "kube-system/", 12) == 0 || strcmp(class_name, "system-cluster-critical") == 0 ||
         strcmp(class_name, "system-node-critical") == 0;
}

static void read_task(struct hr__volcano_case *world, const cJSON *json, uint32_t at, struct hr__volcano_task *task) {
  const char *name = hr__case_text(json, "name", "");
  const char *preemptable = mark_of(json, "volcano.sh/preemptable");
  const char *zone = hr__case_text(hr__case_get(json, "annotations"), "volcano.sh/revocable-zone", NULL);
  const char *annotated = hr__case_text(hr__case_get(json, "annotations"), "volcano.sh/preemptable", NULL);
  const char *policy = hr__case_text(json, "preemption_policy", "");
  task->uid = uid_of(world, name);
  task->index = pod_index(name);
  task->node = hr__volcano_find(world->node_names, world->snapshot.n_nodes, hr__case_text(json, "node", NULL));
  task->state = state_of(json, hr__case_text(json, "node", NULL) ? 0 : HR__VOLCANO_NONE);
  task->preemptable = !preemptable || is_true(preemptable);
  task->uses_revocable_zones = zone ? strcmp(zone, "*") == 0 : is_true(annotated);
  task->never_preempts = strcmp(policy, "Never") == 0 || strcmp(policy, "PreemptNever") == 0;
  task->gated = hr__case_count(json, "scheduling_gates") > 0;
  task->is_critical = is_critical(json, name);
  read_priority(json, task);
  read_request(world, json, task);
  hr__volcano_read_selectors(world, json, at, task);
  world->task_json[at] = json;
  world->task_names[at] = name;
}

/* ---- Jobs ---- */

static enum hr__volcano_phase phase_of(const char *text) {
  if (!text[0] || strncmp(text, "Pending", 7) == 0) return HR__VOLCANO_PHASE_PENDING;
  if (strncmp(text, "Inqueue", 7) == 0) return HR__VOLCANO_PHASE_INQUEUE;
  return strncmp(text, "Running", 7) == 0 ? HR__VOLCANO_PHASE_RUNNING : HR__VOLCANO_PHASE_OTHER;
}

static struct hr__volcano_budget read_budget(const cJSON *annotations, const char *name) {
  const char *text = hr__case_text(annotations, name, NULL);
  if (!text || !text[0]) return (struct hr__volcano_budget){0};
  char *end;
  long value = strtol(text, &end, 10);
  return (struct hr__volcano_budget){.is_set = true, .is_percent = *end == '%', .value = (int32_t)value};
}

/* Reads the roles of the tasks and their minimum numbers. */
static void read_roles(struct hr__volcano_case *world, const cJSON *json, struct hr__volcano_job *job,
                       struct hr__volcano_task *tasks) {
  struct hr__volcano_names roles = {0};
  const cJSON *member, *minimums = hr__case_get(json, "min_task_member");
  cJSON_ArrayForEach(member, minimums) hr__volcano_intern(world, &roles, member->string);
  for (uint32_t i = job->first_task; i < job->first_task + job->n_tasks; i++) {
    const char *role = mark_of(world->task_json[i], "volcano.sh/task-spec");
    tasks[i].role = hr__volcano_intern(world, &roles, role ? role : "");
  }
  int32_t *least = hr__verdict_alloc(world->verdict, roles.n_items, sizeof *least);
  bool *has_name = hr__verdict_alloc(world->verdict, roles.n_items, sizeof *has_name);
  if (!least || !has_name) return;
  for (uint32_t i = 0; i < roles.n_items; i++) {
    least[i] = (int32_t)hr__case_whole(minimums, roles.items[i], 0);
    has_name[i] = roles.items[i][0];
    job->role_min_total += least[i];
  }
  job->role_min = least;
  job->role_has_name = has_name;
  job->n_roles = roles.n_items;
}

/* The name of the sub-job of a pod: the policy and the values of its labels, or "" if the policy does not select it. */
static const char *subjob_name(struct hr__volcano_case *world, const cJSON *policy, const cJSON *pod) {
  const cJSON *labels = hr__case_get(pod, "labels"), *key;
  const cJSON *selected = hr__case_get(hr__case_get(policy, "LabelSelector"), "MatchLabels");
  const char *policy_name = hr__case_text(policy, "Name", "");
  size_t length = strlen(policy_name) + 1;
  cJSON_ArrayForEach(key, selected) {
    const char *value = hr__case_text(labels, key->string, NULL);
    if (!value || !cJSON_IsString(key) || strcmp(value, key->valuestring) != 0) return "";
  }
  cJSON_ArrayForEach(key, hr__case_get(policy, "MatchLabelKeys")) {
    const char *value = cJSON_IsString(key) ? hr__case_text(labels, key->valuestring, "") : "";
    if (!value[0]) return "";
    length += strlen(value) + 1;
  }
  char *name = hr__verdict_alloc(world->verdict, length + 1, 1);
  if (!name) return "";
  size_t at = (size_t)snprintf(name, length, "%s", policy_name);
  cJSON_ArrayForEach(key, hr__case_get(policy, "MatchLabelKeys")) at +=
      (size_t)snprintf(name + at, length + 1 - at, "-%s", hr__case_text(labels, key->valuestring, ""));
  return name;
}

/* Reads the policies of sub-jobs, and the sub-job of each task: that of the first policy that selects it. */
static void read_subjobs(struct hr__volcano_case *world, const cJSON *json, struct hr__volcano_job *job,
                         struct hr__volcano_task *tasks) {
  const cJSON *policies = hr__case_get(json, "subgroup_policy"), *policy;
  uint32_t n = policies ? (uint32_t)cJSON_GetArraySize(policies) : 0, p = 0;
  int32_t *least = hr__verdict_alloc(world->verdict, n, sizeof *least);
  struct hr__volcano_subjob *subjobs = hr__verdict_alloc(world->verdict, job->n_tasks + 1, sizeof *subjobs);
  struct hr__volcano_names names = {0};
  if (!n || !least || !subjobs) return;
  for (uint32_t i = job->first_task; i < job->first_task + job->n_tasks; i++) {
    const char *name = "";
    p = 0;
    uint32_t found = HR__VOLCANO_NONE;
    cJSON_ArrayForEach(policy, policies) {
      if (!name[0]) name = subjob_name(world, policy, world->task_json[i]);
      if (name[0] && found == HR__VOLCANO_NONE) found = p;
      p++;
    }
    tasks[i].subjob = hr__volcano_intern(world, &names, name);
    struct hr__volcano_subjob *subjob = &subjobs[tasks[i].subjob];
    *subjob = (struct hr__volcano_subjob){.name = name, .policy = found};
    if (found != HR__VOLCANO_NONE)
      subjob->min_tasks = (int32_t)hr__case_whole(cJSON_GetArrayItem(policies, (int)found), "SubGroupSize", 1);
  }
  p = 0;
  cJSON_ArrayForEach(policy, policies) least[p++] = (int32_t)hr__case_whole(policy, "MinSubGroups", 0);
  job->subjobs = subjobs;
  job->n_subjobs = names.n_items;
  job->policy_min = least;
  job->n_policies = n;
}

static uint32_t read_namespace(struct hr__volcano_case *world, const char *name) {
  const char *slash = strchr(name, '/');
  size_t length = slash ? (size_t)(slash - name) : 0;
  char *text = hr__verdict_alloc(world->verdict, length + 1, 1);
  if (!text) return 0;
  memcpy(text, name, length);
  return hr__volcano_intern(world, &world->namespaces, text);
}

int64_t hr__volcano_duration_us(const char *text) {
  static const struct {
    const char *unit;
    double us;
  } units[] = {{"ms", 1e3}, {"us", 1}, {"ns", 1e-3}, {"h", 3600e6}, {"m", 60e6}, {"s", SECOND_US}};
  double sum = 0;
  while (text && *text) {
    char *end;
    double number = strtod(text, &end);
    if (end == text) return 0;
    size_t i = 0, n = sizeof units / sizeof units[0];
    while (i < n && strncmp(end, units[i].unit, strlen(units[i].unit)) != 0) i++;
    if (i == n) return 0;
    sum += number * units[i].us;
    text = end + strlen(units[i].unit);
  }
  return (int64_t)sum;
}

static void read_job(struct hr__volcano_case *world, const cJSON *json, struct hr__volcano_job *job) {
  const cJSON *annotations = hr__case_get(json, "annotations"), *minimum = hr__case_get(json, "min_resources");
  const char *queue = hr__case_text(json, "queue", NULL);
  job->uid = hr__case_text(json, "name", "");
  job->name_space = read_namespace(world, job->uid);
  job->queue = HR__VOLCANO_NONE;
  for (uint32_t i = 0; i < world->snapshot.n_queues && queue; i++)
    if (strcmp(world->snapshot.queues[i].name, queue) == 0) job->queue = i;
  job->priority = (int32_t)hr__case_whole(json, "priority", 0);
  job->min_available = (int32_t)hr__case_whole(json, "min_available", 0);
  job->has_min_resources = minimum != NULL;
  job->min_resources = hr__volcano_read_vector(world, minimum);
  job->phase = phase_of(hr__case_text(json, "phase", ""));
  job->preemptable = is_true(mark_of(json, "volcano.sh/preemptable"));
  job->max_unavailable = read_budget(annotations, "volcano.sh/jdb-max-unavailable");
  job->min_available_budget = read_budget(annotations, "volcano.sh/jdb-min-available");
  job->waiting_us = hr__volcano_duration_us(hr__case_text(annotations, "sla-waiting-time", NULL));
}

/* Reads the jobs. Pods without PodGroup become tasks without job. */
static void read_jobs(struct hr__volcano_case *world) {
  const cJSON *list = hr__case_get(world->whole, "jobs"), *item, *pod;
  uint32_t n_jobs = 0, n_tasks = 0, at = 0;
  cJSON_ArrayForEach(item, list) {
    n_jobs += !hr__case_bool(item, "no_podgroup", false);
    n_tasks += hr__case_count(item, "tasks");
  }
  struct hr__volcano_job *jobs = hr__verdict_alloc(world->verdict, n_jobs, sizeof *jobs);
  struct hr__volcano_task *tasks = hr__verdict_alloc(world->verdict, n_tasks, sizeof *tasks);
  world->job_names = hr__verdict_alloc(world->verdict, n_jobs, sizeof *world->job_names);
  world->task_names = hr__verdict_alloc(world->verdict, n_tasks, sizeof *world->task_names);
  world->task_json = hr__verdict_alloc(world->verdict, n_tasks, sizeof *world->task_json);
  world->task_waits_for_volume = hr__verdict_alloc(world->verdict, n_tasks, sizeof *world->task_waits_for_volume);
  if (world->verdict->no_memory) return;
  n_jobs = 0;
  cJSON_ArrayForEach(item, list) {
    bool is_stray = hr__case_bool(item, "no_podgroup", false);
    uint32_t first = at;
    cJSON_ArrayForEach(pod, hr__case_get(item, "tasks")) {
      tasks[at].job = is_stray ? HR__VOLCANO_NONE : n_jobs;
      read_task(world, pod, at, &tasks[at]);
      at++;
    }
    if (is_stray) continue;
    struct hr__volcano_job *job = &jobs[n_jobs];
    job->first_task = first;
    job->n_tasks = at - first;
    read_job(world, item, job);
    read_roles(world, item, job, tasks);
    read_subjobs(world, item, job, tasks);
    world->job_names[n_jobs++] = job->uid;
  }
  world->snapshot.jobs = jobs;
  world->snapshot.n_jobs = n_jobs;
  world->snapshot.tasks = tasks;
  world->snapshot.n_tasks = n_tasks;
  for (uint32_t i = 0; i < n_tasks; i++) hr__volcano_read_spread(world, i, &tasks[i]);
}

/* ---- Quotas ---- */

static void read_quotas(struct hr__volcano_case *world) {
  const cJSON *list = hr__case_get(hr__case_get(world->whole, "cluster"), "ResourceQuotas"), *item;
  uint32_t n = list ? (uint32_t)cJSON_GetArraySize(list) : 0;
  struct hr__volcano_namespace_quota *quotas = hr__verdict_alloc(world->verdict, n, sizeof *quotas);
  if (!quotas) return;
  cJSON_ArrayForEach(item, list) {
    const cJSON *spec = hr__case_get(item, "Spec"), *status = hr__case_get(item, "Status");
    const cJSON *hard = hr__case_get(status, "Hard");
    /* A quota with a scope does not apply to jobs. */
    if (hr__case_count(spec, "Scopes") || hr__case_get(spec, "ScopeSelector")) continue;
    struct hr__volcano_namespace_quota *quota = &quotas[world->snapshot.n_quotas++];
    quota->name_space =
        hr__volcano_intern(world, &world->namespaces, hr__case_text(hr__case_get(item, "ObjectMeta"), "Namespace", ""));
    quota->hard = hr__volcano_read_vector(world, hard);
    quota->used = hr__volcano_read_vector(world, hr__case_get(status, "Used"));
    quota->limits_cpu = hr__case_get(hard, "cpu") != NULL;
    quota->limits_memory = hr__case_get(hard, "memory") != NULL;
  }
  world->snapshot.quotas = quotas;
}

/* ---- What the model does not cover ---- */

static const char *unsupported_pod(const cJSON *pod) {
  const cJSON *affinity = hr__case_get(pod, "affinity");
  if (hr__case_get(affinity, "PodAffinity") || hr__case_get(affinity, "PodAntiAffinity"))
    return "affinity between pods";
  return hr__case_count(pod, "resourceClaims") ? "DRA" : NULL;
}

static const char *unsupported_case(const cJSON *whole) {
  const cJSON *cluster = hr__case_get(whole, "cluster"), *job, *policy, *pod;
  if (hr__case_count(cluster, "shard")) return "sharding";
  if (hr__case_count(cluster, "ResourceClaims")) return "DRA";
  if (hr__case_count(cluster, "hypernodes")) return "network topology";
  cJSON_ArrayForEach(job, hr__case_get(whole, "jobs")) {
    if (hr__case_get(job, "network_topology")) return "network topology";
    cJSON_ArrayForEach(
        policy,
        hr__case_get(job, "subgroup_policy")) if (hr__case_get(policy, "NetworkTopology")) return "network topology";
    cJSON_ArrayForEach(pod, hr__case_get(job, "tasks")) if (unsupported_pod(pod)) return unsupported_pod(pod);
  }
  return NULL;
}

bool hr__volcano_read_case(struct hr__volcano_case *world, const cJSON *whole, struct hr__verdict *verdict) {
  *world = (struct hr__volcano_case){.verdict = verdict, .whole = whole};
  const char *unsupported = unsupported_case(whole);
  if (unsupported) {
    hr__verdict_unsupported(verdict, unsupported);
    return false;
  }
  hr__volcano_intern(world, &world->dimensions, "cpu");
  hr__volcano_intern(world, &world->dimensions, "memory");
  hr__volcano_intern(world, &world->dimensions, "pods");
  hr__volcano_read_nodes(world);
  read_queues(world);
  if (!verdict->no_memory) read_jobs(world);
  read_quotas(world);
  hr__volcano_read_config(world);
  world->snapshot.n_groups = world->groups.n_items;
  world->snapshot.n_zones = world->zones.n_items;
  world->snapshot.n_namespaces = world->namespaces.n_items;
  world->snapshot.gpu_dimension =
      hr__volcano_find(world->dimensions.items, world->dimensions.n_items, "nvidia.com/gpu");
  world->config.now_us = NOW_US;
  return !verdict->no_memory && !verdict->malformed && !verdict->row->unsupported;
}
