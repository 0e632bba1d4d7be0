/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads the cases of Volcano and runs them against its model: single rules, and whole sessions. Queues, jobs
 * (PodGroups) and tasks (pods) are read into the arrays of a snapshot; volcano_config.c reads nodes, selectors and the
 * configuration.
 *
 * Volcano takes a random node among the nodes with the highest score. Its tests are written so that this choice does
 * not change the results that they check. In a session of a case, the model always chooses the last of these nodes. If
 * the case does not pass, it is run again, and the model always chooses the first of these nodes. All jobs of a case
 * have the same creation time, as in the tests of Volcano, which then orders jobs by name.
 */

#include "scenarios/conform/conform.h"

#include <stdlib.h>
#include <string.h>

/* ---- Cases ------------------------------------------------------------------------------------------ */

#define OTHER_UNIT 1000 /* resources other than memory and pods are counted in thousandths */
#define SECOND_US 1000000.0
/* All jobs were created at 0; sessions are opened long after that. */
#define NOW_US INT64_C(1000000000000000)

/* ---- Cases: names ----------------------------------------------------------------------------------- */

uint32_t hr__volcano_intern(struct hr__volcano_case *world, struct hr__volcano_names *names, const char *name) {
  uint32_t at = hr__case_find(names->items, names->n_items, name);
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

/* ---- Cases: resources ------------------------------------------------------------------------------- */

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

/* Sets the amount of one resource. The unit of `amount` depends on the name: thousandths of a core for "cpu_milli", and
   bytes for "mem_bytes" and "memory". For all other names, the amount is a number of units, such as cores for "cpu". */
static void set_resource(struct hr__volcano_case *world, struct hr__volcano_vector *vector, const char *name,
                         double amount) {
  double unit = OTHER_UNIT;
  static const char *const single[] = {"cpu_milli", "mem_bytes", "pods", "memory"};
  if (hr__case_find(single, sizeof single / sizeof single[0], name) != HR__VOLCANO_NONE) unit = 1;
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

/* ---- Cases: queues ---------------------------------------------------------------------------------- */

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
  const cJSON *list = hr__case_get(world->verdict->whole, "queues"), *item;
  uint32_t n = hr__case_count(world->verdict->whole, "queues"), at = 0;
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
    queues[at].parent = parent[0] ? hr__case_find(names, n, parent) : HR__VOLCANO_NONE;
    if (parent[0] && queues[at].parent == HR__VOLCANO_NONE) queues[at].parent = HR__VOLCANO_MISSING;
    at++;
  }
  world->snapshot.queues = queues;
  world->snapshot.n_queues = n;
  world->snapshot.root_queue = hr__case_find(names, n, "root");
}

/* ---- Cases: tasks ----------------------------------------------------------------------------------- */

/* Returns the annotation `name` of a pod; without the annotation, the label `name`; NULL if the pod has neither. */
static const char *mark_of(const cJSON *pod, const char *name) {
  const char *annotation = hr__case_text(hr__case_get(pod, "annotations"), name, NULL);
  return annotation ? annotation : hr__case_text(hr__case_get(pod, "labels"), name, NULL);
}

static bool is_true(const char *text) {
  static const char *const texts[] = {"1", "t", "T", "true", "TRUE", "True"};
  return hr__case_find(texts, sizeof texts / sizeof texts[0], text) != HR__VOLCANO_NONE;
}

/* Returns the number at the end of the name of a pod, such as 3 for "job-worker-3". The name must have at least two
   hyphens. Returns -1 if the name has fewer hyphens or no number at its end. */
static int64_t pod_index(const char *name) {
  const char *slash = strchr(name, '/'), *last = strrchr(name, '-');
  if (slash) name = slash + 1;
  if (!last || strchr(name, '-') == last || !last[1]) return -1;
  char *end;
  int64_t index = strtoll(last + 1, &end, 10);
  return *end ? -1 : index;
}

/* Returns a copy of "NAMESPACE/NAME" with a hyphen instead of the slash. */
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

static bool is_critical_class(const char *name) {
  return strcmp(name, "system-cluster-critical") == 0 || strcmp(name, "system-node-critical") == 0;
}

static bool is_critical(const cJSON *json, const char *name) {
  const char *class_name = hr__case_text(json, "priority_class", hr__case_text(json, "priority_class_name", ""));
  return strncmp(name, "kube-system/", 12) == 0 || is_critical_class(class_name);
}

static void read_task(struct hr__volcano_case *world, const cJSON *json, uint32_t at, struct hr__volcano_task *task) {
  const char *name = hr__case_text(json, "name", "");
  const char *preemptable = mark_of(json, "volcano.sh/preemptable");
  const char *zone = hr__case_text(hr__case_get(json, "annotations"), "volcano.sh/revocable-zone", NULL);
  const char *annotated = hr__case_text(hr__case_get(json, "annotations"), "volcano.sh/preemptable", NULL);
  const char *policy = hr__case_text(json, "preemption_policy", "");
  task->uid = uid_of(world, name);
  task->index = pod_index(name);
  task->node = hr__case_find(world->node_names, world->snapshot.n_nodes, hr__case_text(json, "node", NULL));
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

/* ---- Cases: jobs ------------------------------------------------------------------------------------ */

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

/* Reads the role of each task, and the minimum number of tasks of each role. */
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

/* Returns the name of the sub-job of a pod under a policy: the name of the policy, and the values of the labels that
   the policy lists in "MatchLabelKeys", joined by hyphens. Returns "" if the policy does not select the pod, or if
   memory is exhausted. */
static const char *subjob_name(struct hr__volcano_case *world, const cJSON *policy, const cJSON *pod) {
  const cJSON *labels = hr__case_get(pod, "labels"), *key;
  const cJSON *selected = hr__case_get(hr__case_get(policy, "LabelSelector"), "MatchLabels");
  const char *policy_name = hr__case_text(policy, "Name", "");
  size_t length = strlen(policy_name) + 1;
  if (!hr__case_has_labels(labels, selected)) return "";
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

/* Reads the policies of sub-jobs, and the sub-job of each task. The first policy that selects a task defines its
   sub-job. */
static void read_subjobs(struct hr__volcano_case *world, const cJSON *json, struct hr__volcano_job *job,
                         struct hr__volcano_task *tasks) {
  const cJSON *policies = hr__case_get(json, "subgroup_policy"), *policy;
  uint32_t n = (uint32_t)cJSON_GetArraySize(policies), p = 0;
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

/* Reads the jobs and their tasks. Pods without a PodGroup become tasks without a job. */
static void read_jobs(struct hr__volcano_case *world) {
  const cJSON *list = hr__case_get(world->verdict->whole, "jobs"), *item, *pod;
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

/* ---- Cases: quotas ---------------------------------------------------------------------------------- */

static void read_quotas(struct hr__volcano_case *world) {
  const cJSON *list = hr__case_get(hr__case_get(world->verdict->whole, "cluster"), "ResourceQuotas"), *item;
  uint32_t n = (uint32_t)cJSON_GetArraySize(list);
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

/* ---- Cases: features that the model does not cover -------------------------------------------------- */

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

/* Reads a case. Returns false if the case cannot run: it is not supported, it is malformed, or memory is exhausted. */
static bool volcano_read_case(struct hr__volcano_case *world, struct hr__verdict *verdict) {
  *world = (struct hr__volcano_case){.verdict = verdict};
  const char *unsupported = unsupported_case(verdict->whole);
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
  world->snapshot.gpu_dimension = hr__case_find(world->dimensions.items, world->dimensions.n_items, "nvidia.com/gpu");
  world->config.now_us = NOW_US;
  return !verdict->no_memory && !verdict->malformed && !verdict->row->unsupported;
}

/* ---- Rules ------------------------------------------------------------------------------------------ */

/* Runs cases of single rules of Volcano: scores and predicates of nodes, whether jobs may be enqueued, orders of jobs,
   and victims. The members of "expect"."custom" define which results are computed. Members that repeat the input of the
   test are not compared. */

#define SCORE_TOLERANCE 1e-6
#define HOUR_US INT64_C(3600000000)

/* ---- Nodes ------------------------------------------------------------------------------------------ */

/* Returns {"task": {"node": value}} for the tasks and nodes that the case expects. If `scores` is set, a value is the
   score of the node; otherwise it is the result of the predicates (enum hr__volcano_verdict, as a number). */
static cJSON *by_node_json(const struct hr__volcano_case *world, const struct hr__volcano_session *session,
                           const cJSON *expected, bool scores) {
  cJSON *result = cJSON_CreateObject();
  const cJSON *of_task, *of_node;
  cJSON_ArrayForEach(of_task, expected) {
    uint32_t task = hr__case_find(world->task_names, world->snapshot.n_tasks, of_task->string);
    cJSON *values = cJSON_AddObjectToObject(result, of_task->string);
    cJSON_ArrayForEach(of_node, of_task) {
      uint32_t node = hr__case_find(world->node_names, world->snapshot.n_nodes, of_node->string);
      if (task == HR__VOLCANO_NONE || node == HR__VOLCANO_NONE) continue;
      double value =
          scores ? hr__volcano_score(session, task, node) : (double)hr__volcano_predicate(session, task, node, NULL);
      cJSON_AddNumberToObject(values, of_node->string, value);
    }
  }
  return result;
}

/* Returns {"node": true} for the nodes that the first task may use. */
static cJSON *accepting_json(const struct hr__volcano_case *world, const struct hr__volcano_session *session) {
  cJSON *result = cJSON_CreateObject();
  for (uint32_t i = 0; i < world->snapshot.n_nodes && world->snapshot.n_tasks; i++)
    if (hr__volcano_predicate(session, 0, i, NULL) == HR__VOLCANO_FITS)
      cJSON_AddTrueToObject(result, world->node_names[i]);
  return result;
}

/* Returns {"predicateStatus": [{"Code", "Reason"}]}: the result of the predicates for the first task on the first
   node. */
static cJSON *status_json(const struct hr__volcano_case *world, const struct hr__volcano_session *session) {
  cJSON *result = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(result, "predicateStatus");
  if (!world->snapshot.n_tasks || !world->snapshot.n_nodes) return result;
  const char *reason;
  cJSON *item = cJSON_CreateObject();
  cJSON_AddNumberToObject(item, "Code", (double)hr__volcano_predicate(session, 0, 0, &reason));
  cJSON_AddStringToObject(item, "Reason", reason ? reason : "");
  cJSON_AddItemToArray(list, item);
  return result;
}

/* Returns {"job": {"MilliCPU", "Memory", "ScalarResources": {"pods"}}}: the resources that are allocated to each
   expected job. */
static cJSON *allocated_json(const struct hr__volcano_case *world, const struct hr__volcano_session *session,
                             const cJSON *expected) {
  cJSON *result = cJSON_CreateObject();
  const cJSON *item;
  cJSON_ArrayForEach(item, expected) for (uint32_t i = 0; i < world->snapshot.n_jobs; i++) {
    const char *slash = strchr(world->job_names[i], '/');
    if (strcmp(slash ? slash + 1 : world->job_names[i], item->string) != 0) continue;
    const struct hr__volcano_vector *vector = hr__volcano_job_allocated(session, i);
    cJSON *job = cJSON_AddObjectToObject(result, item->string);
    cJSON_AddNumberToObject(job, "MilliCPU", vector->amount[HR__VOLCANO_CPU]);
    cJSON_AddNumberToObject(job, "Memory", vector->amount[HR__VOLCANO_MEMORY]);
    cJSON *others = cJSON_AddObjectToObject(job, "ScalarResources");
    cJSON_AddNumberToObject(others, "pods", vector->amount[HR__VOLCANO_PODS]);
  }
  return result;
}

/* ---- Victims ---------------------------------------------------------------------------------------- */

/* Returns copies of the items of `preemptees` that may be preempted. Replaces the tasks of the snapshot by all items of
   `preemptees`. */
static cJSON *kept_json(struct hr__volcano_case *world, const cJSON *preemptees) {
  cJSON *result = cJSON_CreateArray();
  uint32_t n = (uint32_t)cJSON_GetArraySize(preemptees), at = 0;
  struct hr__volcano_task *tasks = hr__verdict_alloc(world->verdict, n, sizeof *tasks);
  uint32_t *ids = hr__verdict_alloc(world->verdict, n, sizeof *ids);
  struct hr__volcano_vector *request = hr__verdict_alloc(world->verdict, 1, sizeof *request);
  if (!tasks || !ids || !request) return result;
  hr__volcano_clear(request);
  const cJSON *item;
  cJSON_ArrayForEach(item, preemptees) {
    const char *class_name = hr__case_text(hr__case_get(hr__case_get(item, "Pod"), "Spec"), "PriorityClassName", "");
    tasks[at] = (struct hr__volcano_task){.uid = hr__case_text(item, "UID", ""),
                                          .request = request,
                                          .index = -1,
                                          .job = HR__VOLCANO_NONE,
                                          .node = HR__VOLCANO_NONE,
                                          .state = HR__VOLCANO_RUNNING,
                                          .preemptable = true};
    tasks[at].is_critical = hr__case_text_is(item, "Namespace", "kube-system") || is_critical_class(class_name);
    ids[at] = at;
    at++;
  }
  world->snapshot.tasks = tasks;
  world->snapshot.n_tasks = n;
  struct hr__volcano_session *session = hr__volcano_open(world->verdict->arena, &world->snapshot, &world->config);
  uint32_t n_kept = session ? hr__volcano_preemptable(session, HR__VOLCANO_NONE, ids, n) : 0;
  for (uint32_t i = 0; i < n_kept; i++)
    cJSON_AddItemToArray(result, cJSON_Duplicate(cJSON_GetArrayItem(preemptees, (int)ids[i]), true));
  return result;
}

static double count_victims(struct hr__volcano_case *world, const struct hr__volcano_session *session) {
  uint32_t *victims = hr__verdict_alloc(world->verdict, world->snapshot.n_tasks, sizeof *victims);
  return victims ? hr__volcano_victims(session, victims) : 0;
}

/* ---- Jobs ------------------------------------------------------------------------------------------- */

/* Returns whether all jobs that have a queue may be enqueued. */
static bool all_enqueueable(const struct hr__volcano_case *world, struct hr__volcano_session *session) {
  for (uint32_t i = 0; i < world->snapshot.n_jobs; i++)
    if (world->snapshot.jobs[i].queue != HR__VOLCANO_NONE && !hr__volcano_is_enqueueable(session, i)) return false;
  return true;
}

/* Adds the two jobs that the tests of the plug-in sla use. The cases do not contain them. The first job has no maximum
   waiting time, the second has one of an hour. */
static void add_sla_jobs(struct hr__volcano_case *world) {
  struct hr__volcano_job *jobs = hr__verdict_alloc(world->verdict, 2, sizeof *jobs);
  struct hr__volcano_queue *queue = hr__verdict_alloc(world->verdict, 1, sizeof *queue);
  if (!jobs || !queue) return;
  jobs[0].uid = jobs[1].uid = "";
  jobs[1].waiting_us = HOUR_US;
  queue->name = "";
  world->snapshot.jobs = jobs;
  world->snapshot.n_jobs = 2;
  world->snapshot.queues = queue;
  world->snapshot.n_queues = 1;
  world->snapshot.n_namespaces = 1;
}

/* ---- All -------------------------------------------------------------------------------------------- */

/* Returns the result of the model for a member of "custom"; NULL if the member repeats the input of the test. */
static cJSON *result_of(struct hr__volcano_case *world, struct hr__volcano_session *session, const cJSON *custom,
                        const cJSON *expected) {
  const char *name = expected->string;
  if (strcmp(name, "expectVictims") == 0) return kept_json(world, hr__case_get(custom, "preemptees"));
  if (strcmp(name, "want") == 0) return cJSON_CreateNumber(count_victims(world, session));
  if (strcmp(name, "expectedEnqueueAble") == 0) return cJSON_CreateBool(all_enqueueable(world, session));
  if (strcmp(name, "expectedOrder") == 0)
    return cJSON_CreateBool(world->snapshot.n_jobs > 1 && hr__volcano_job_precedes(session, 0, 1));
  if (strcmp(name, "predicatedExpected") == 0) return accepting_json(world, session);
  if (strcmp(name, "scoreExpected") == 0) return by_node_json(world, session, expected, true);
  if (strcmp(name, "expectedStatus") == 0) return by_node_json(world, session, expected, false);
  if (strcmp(name, "expected") != 0) return NULL;
  if (hr__case_get(expected, "predicateStatus")) return status_json(world, session);
  if (expected->child && hr__case_get(expected->child, "MilliCPU")) return allocated_json(world, session, expected);
  return by_node_json(world, session, expected, true);
}

/* Runs a case of a single rule. */
static void run_rules(struct hr__volcano_case *world) {
  struct hr__verdict *verdict = world->verdict;
  const cJSON *custom = hr__case_get(verdict->expect, "custom"), *item;
  if (!hr__case_count(world->verdict->whole, "jobs") && hr__case_get(custom, "expectedOrder")) add_sla_jobs(world);
  struct hr__volcano_session *session = hr__volcano_open(verdict->arena, &world->snapshot, &world->config);
  if (!session) {
    verdict->no_memory = true;
    return;
  }
  hr__volcano_run(session);
  cJSON_ArrayForEach(item, custom) {
    cJSON *actual = result_of(world, session, custom, item);
    if (!actual) continue;
    /* The expected status also contains the text of an error, as a Go expression. */
    cJSON *expected = cJSON_Duplicate(item, true);
    cJSON_DeleteItemFromObjectCaseSensitive(expected, "err");
    hr__verdict_compare(verdict, item->string, expected, actual, HR__COMPARE_EXACTLY, SCORE_TOLERANCE);
    cJSON_Delete(expected);
    cJSON_Delete(actual);
  }
}

/* ---- Results as JSON -------------------------------------------------------------------------------- */

/* Returns {"namespace/pod": "node"} for the pods that were bound. A pod that waits for its volume is not bound yet. */
static cJSON *binds_json(const struct hr__volcano_case *world, const struct hr__volcano_session *session) {
  cJSON *result = cJSON_CreateObject();
  struct hr__volcano_id_list binds = hr__volcano_binds(session);
  for (uint32_t i = 0; i < binds.n_ids; i++) {
    uint32_t task = binds.ids[i];
    if (!world->task_waits_for_volume[task])
      cJSON_AddStringToObject(result, world->task_names[task], world->node_names[hr__volcano_task_node(session, task)]);
  }
  return result;
}

static cJSON *evictions_json(const struct hr__volcano_case *world, const struct hr__volcano_session *session) {
  cJSON *result = cJSON_CreateArray();
  struct hr__volcano_id_list evictions = hr__volcano_evictions(session);
  for (uint32_t i = 0; i < evictions.n_ids; i++)
    cJSON_AddItemToArray(result, cJSON_CreateString(world->task_names[evictions.ids[i]]));
  return result;
}

/* Returns the nodes of the pipelined tasks of a job. `expected` lists the nodes that are possible. If there is at least
   one node and all nodes are in this list, returns a copy of the list, so that the values are equal. */
static cJSON *pipelined_json(const struct hr__volcano_case *world, const struct hr__volcano_session *session,
                             const cJSON *expected) {
  cJSON *nodes = cJSON_CreateArray();
  uint32_t job = hr__case_find(world->job_names, world->snapshot.n_jobs, expected->string);
  bool all_expected = true;
  for (uint32_t i = 0; i < world->snapshot.n_tasks; i++) {
    if (world->snapshot.tasks[i].job != job || hr__volcano_task_state(session, i) != HR__VOLCANO_PIPELINED) continue;
    const char *node = world->node_names[hr__volcano_task_node(session, i)];
    all_expected = all_expected && hr__case_list_has(expected, node);
    if (!hr__case_list_has(nodes, node)) cJSON_AddItemToArray(nodes, cJSON_CreateString(node));
  }
  if (!nodes->child || !all_expected) return nodes;
  cJSON_Delete(nodes);
  return cJSON_Duplicate(expected, true);
}

static const char *phase_text(enum hr__volcano_phase phase) {
  static const char *const texts[] = {"Pending", "Inqueue", "Running", "Unknown"};
  return texts[phase];
}

static const char *state_text(enum hr__volcano_state state) {
  static const char *const texts[] = {"Pending", "Allocated", "Pipelined", "Binding", "Bound",
                                      "Running", "Releasing", "Succeeded", "Failed"};
  return texts[state];
}

static cJSON *status_counts_json(const struct hr__volcano_case *world, const struct hr__volcano_session *session,
                                 const char *job_name) {
  uint32_t job = hr__case_find(world->job_names, world->snapshot.n_jobs, job_name);
  uint32_t counts[HR__VOLCANO_N_STATES] = {0};
  for (uint32_t i = 0; i < world->snapshot.n_tasks; i++)
    if (world->snapshot.tasks[i].job == job) counts[hr__volcano_task_state(session, i)]++;
  cJSON *result = cJSON_CreateObject();
  for (uint32_t i = 0; i < HR__VOLCANO_N_STATES; i++)
    if (counts[i]) cJSON_AddNumberToObject(result, state_text((enum hr__volcano_state)i), counts[i]);
  return result;
}

/* ---- Comparing -------------------------------------------------------------------------------------- */

/* Compares the actual value unless `condition` is NULL, and frees it. */
static void compare_if(const cJSON *condition, struct hr__verdict *verdict, const char *name, cJSON *actual,
                       unsigned flags) {
  if (condition)
    hr__compare_json(verdict, name, actual, flags);
  else
    cJSON_Delete(actual);
}

static void compare_jobs(const struct hr__volcano_case *world, const struct hr__volcano_session *session,
                         struct hr__verdict *verdict) {
  const cJSON *expect = verdict->expect;
  const cJSON *item;
  cJSON *pipelined = cJSON_CreateObject(), *phases = cJSON_CreateObject(), *counts = cJSON_CreateObject();
  cJSON_ArrayForEach(item, hr__case_get(expect, "pipelined"))
      cJSON_AddItemToObject(pipelined, item->string, pipelined_json(world, session, item));
  cJSON_ArrayForEach(item, hr__case_get(expect, "podgroup_phase")) {
    uint32_t job = hr__case_find(world->job_names, world->snapshot.n_jobs, item->string);
    if (job == HR__VOLCANO_NONE) continue;
    cJSON_AddStringToObject(phases, item->string, phase_text(hr__volcano_job_phase(session, job)));
  }
  cJSON_ArrayForEach(item, hr__case_get(expect, "task_status_counts"))
      cJSON_AddItemToObject(counts, item->string, status_counts_json(world, session, item->string));
  compare_if(pipelined->child, verdict, "pipelined", pipelined, HR__COMPARE_EXACTLY);
  compare_if(hr__case_get(expect, "podgroup_phase"), verdict, "podgroup_phase", phases, HR__COMPARE_EXACTLY);
  compare_if(counts->child, verdict, "task_status_counts", counts, HR__COMPARE_EXPECTED);
}

static void compare_session(const struct hr__volcano_case *world, const struct hr__volcano_session *session,
                            struct hr__verdict *verdict) {
  const cJSON *expect = verdict->expect;
  cJSON *binds = binds_json(world, session);
  if (hr__case_get(expect, "binds_count")) hr__compare_number(verdict, "binds_count", cJSON_GetArraySize(binds));
  compare_if(hr__case_bool(expect, "binds_count_only", false) ? NULL : hr__case_get(expect, "binds"), verdict, "binds",
             binds, HR__COMPARE_EXACTLY);
  if (hr__case_get(expect, "evicted_count"))
    hr__compare_number(verdict, "evicted_count", hr__volcano_evictions(session).n_ids);
  compare_if(hr__case_get(expect, "evicted"), verdict, "evicted", evictions_json(world, session), HR__COMPARE_SETS);
  compare_jobs(world, session, verdict);
  const char *violation = hr__volcano_check(session);
  if (violation) hr__verdict_compare_text(verdict, "invariant", NULL, violation);
}

/* Runs a session and compares its result. `prefers_last_node`: of several nodes with the highest score, take the last
   instead of the first. */
static void run_session(struct hr__volcano_case *world, bool prefers_last_node, struct hr__verdict *verdict) {
  world->config.prefers_last_node = prefers_last_node;
  struct hr__volcano_session *session = hr__volcano_open(verdict->arena, &world->snapshot, &world->config);
  if (!session) {
    verdict->no_memory = true;
    return;
  }
  hr__volcano_run(session);
  compare_session(world, session, verdict);
}

/* Returns whether the case passes if the last of several nodes with the highest score is taken. Does not report
   differences. */
static bool passes_with_last_nodes(struct hr__volcano_case *world) {
  struct hr_conform_case row = {0};
  struct hr__verdict verdict = {.expect = world->verdict->expect, .arena = world->verdict->arena, .row = &row};
  run_session(world, true, &verdict);
  bool passes = !row.n_differences && !verdict.no_memory;
  hr__free_case(&row);
  return passes;
}

void hr__conform_volcano(struct hr__verdict *verdict) {
  const char *kind = verdict->kind;
  struct hr__volcano_case world;
  if (!volcano_read_case(&world, verdict)) return;
  if (strcmp(kind, "schedule") == 0) {
    if (!passes_with_last_nodes(&world)) run_session(&world, false, verdict);
  } else if (strcmp(kind, "plugin-function") == 0 || strcmp(kind, "schedule-custom") == 0) {
    run_rules(&world);
  } else {
    hr__verdict_unknown_kind(verdict);
  }
}
