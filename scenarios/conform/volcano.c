/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs the test vectors of Volcano against its model: single rules, and whole sessions.
 *
 * Volcano takes a random node among those with equal scores, and the tests are written so that the choice does not
 * matter for what they check. The model takes the first or, on request, the last of them; a case passes if either run
 * gives the expected result.
 */

#include "scenarios/conform/volcano_case.h"

#include <stdlib.h>
#include <string.h>

/* ---- Rules --------------------------------------------------------------------------------------------- */

/* Runs cases of single rules of Volcano: scores and predicates of nodes, votes on enqueueing, orders of jobs, and
   victims. What a case asks for follows from the members of "expect"."custom". Some members repeat input of the
   test; they are not compared. */

#define SCORE_TOLERANCE 1e-6
#define HOUR_US INT64_C(3600000000)

/* ---- Nodes ---- */

/* {"task": {"node": value}} for the tasks and nodes that the case expects. `scores`: scores, else verdicts. */
static cJSON *by_node_json(const struct hr__volcano_case *world, const struct hr__volcano_session *session,
                           const cJSON *expected, bool scores) {
  cJSON *result = cJSON_CreateObject();
  const cJSON *of_task, *of_node;
  cJSON_ArrayForEach(of_task, expected) {
    uint32_t task = hr__volcano_find(world->task_names, world->snapshot.n_tasks, of_task->string);
    cJSON *values = cJSON_AddObjectToObject(result, of_task->string);
    cJSON_ArrayForEach(of_node, of_task) {
      uint32_t node = hr__volcano_find(world->node_names, world->snapshot.n_nodes, of_node->string);
      if (task == HR__VOLCANO_NONE || node == HR__VOLCANO_NONE) continue;
      double value =
          scores ? hr__volcano_score(session, task, node) : (double)hr__volcano_predicate(session, task, node, NULL);
      cJSON_AddNumberToObject(values, of_node->string, value);
    }
  }
  return result;
}

/* {"node": true} for the nodes that the first task may use. */
static cJSON *accepting_json(const struct hr__volcano_case *world, const struct hr__volcano_session *session) {
  cJSON *result = cJSON_CreateObject();
  for (uint32_t i = 0; i < world->snapshot.n_nodes && world->snapshot.n_tasks; i++)
    if (hr__volcano_predicate(session, 0, i, NULL) == HR__VOLCANO_FITS)
      cJSON_AddTrueToObject(result, world->node_names[i]);
  return result;
}

/* {"predicateStatus": [{"Code", "Reason"}]} of the first task on the first node. */
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

/* {"job": {"MilliCPU", "Memory", "ScalarResources": {"pods"}}}: what the jobs have. */
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

/* ---- Victims ---- */

/* The items of "preemptees" that may be preempted, as they are written in the case. */
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
    tasks[at].is_critical = hr__case_text_is(item, "Namespace", "kube-system") ||
                            strcmp(class_name, "system-cluster-critical") == 0 ||
                            strcmp(class_name, "system-node-critical") == 0;
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

/* ---- Jobs ---- */

/* Whether all jobs may be enqueued. */
static bool all_enqueueable(const struct hr__volcano_case *world, struct hr__volcano_session *session) {
  for (uint32_t i = 0; i < world->snapshot.n_jobs; i++)
    if (world->snapshot.jobs[i].queue != HR__VOLCANO_NONE && !hr__volcano_is_enqueueable(session, i)) return false;
  return true;
}

/* The tests of the plug-in sla use two jobs that their cases do not contain: the second one has a maximum wait of an
   hour. */
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

/* ---- All ---- */

/* Returns what the model gives for a member of "custom", NULL if the member is input. */
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
  const cJSON *custom = hr__case_get(hr__case_get(world->whole, "expect"), "custom"), *item;
  if (!hr__case_count(world->whole, "jobs") && hr__case_get(custom, "expectedOrder")) add_sla_jobs(world);
  struct hr__volcano_session *session = hr__volcano_open(verdict->arena, &world->snapshot, &world->config);
  if (!session) {
    verdict->no_memory = true;
    return;
  }
  hr__volcano_run(session);
  cJSON_ArrayForEach(item, custom) {
    cJSON *actual = result_of(world, session, custom, item);
    if (!actual) continue;
    /* The expected status has the text of an error as well, as an expression of the test's language. */
    unsigned flags = 0;
    cJSON *expected = cJSON_Duplicate(item, true);
    cJSON_DeleteItemFromObjectCaseSensitive(expected, "err");
    hr__verdict_compare(verdict, item->string, expected, actual, flags, SCORE_TOLERANCE);
    cJSON_Delete(expected);
    cJSON_Delete(actual);
  }
}

/* ---- All cases ----------------------------------------------------------------------------------------- */

/* ---- Results as JSON ---- */

/* {"namespace/pod": "node"}. A pod that waits for its volume is not bound yet. */
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

/* The nodes of the pipelined tasks of a job. If there are some and all are expected, the result is the expected list.
 */
static cJSON *pipelined_json(const struct hr__volcano_case *world, const struct hr__volcano_session *session,
                             const cJSON *expected) {
  cJSON *nodes = cJSON_CreateArray();
  uint32_t job = hr__volcano_find(world->job_names, world->snapshot.n_jobs, expected->string);
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
  uint32_t job = hr__volcano_find(world->job_names, world->snapshot.n_jobs, job_name);
  uint32_t counts[HR__VOLCANO_N_STATES] = {0};
  for (uint32_t i = 0; i < world->snapshot.n_tasks; i++)
    if (world->snapshot.tasks[i].job == job) counts[hr__volcano_task_state(session, i)]++;
  cJSON *result = cJSON_CreateObject();
  for (uint32_t i = 0; i < HR__VOLCANO_N_STATES; i++)
    if (counts[i]) cJSON_AddNumberToObject(result, state_text((enum hr__volcano_state)i), counts[i]);
  return result;
}

/* ---- Comparing ---- */

/* Compares and deletes the actual value. */
static void compare(struct hr__verdict *verdict, const char *place, const cJSON *expected, cJSON *actual,
                    unsigned flags) {
  hr__verdict_compare(verdict, place, expected, actual, flags, 0);
  cJSON_Delete(actual);
}

static void compare_jobs(const struct hr__volcano_case *world, const struct hr__volcano_session *session,
                         const cJSON *expect, struct hr__verdict *verdict) {
  const cJSON *item;
  cJSON *pipelined = cJSON_CreateObject(), *phases = cJSON_CreateObject(), *counts = cJSON_CreateObject();
  cJSON_ArrayForEach(item, hr__case_get(expect, "pipelined"))
      cJSON_AddItemToObject(pipelined, item->string, pipelined_json(world, session, item));
  cJSON_ArrayForEach(item, hr__case_get(expect, "podgroup_phase")) {
    uint32_t job = hr__volcano_find(world->job_names, world->snapshot.n_jobs, item->string);
    if (job == HR__VOLCANO_NONE) continue;
    enum hr__volcano_phase phase = hr__volcano_job_phase(session, job);
    cJSON_AddStringToObject(phases, item->string, phase_text(phase));
  }
  cJSON_ArrayForEach(item, hr__case_get(expect, "task_status_counts"))
      cJSON_AddItemToObject(counts, item->string, status_counts_json(world, session, item->string));
  if (pipelined->child) hr__verdict_compare(verdict, "pipelined", hr__case_get(expect, "pipelined"), pipelined, 0, 0);
  if (hr__case_get(expect, "podgroup_phase"))
    hr__verdict_compare(verdict, "podgroup_phase", hr__case_get(expect, "podgroup_phase"), phases, 0, 0);
  if (counts->child)
    hr__verdict_compare(verdict, "task_status_counts", hr__case_get(expect, "task_status_counts"), counts,
                        HR__COMPARE_EXPECTED, 0);
  cJSON_Delete(pipelined);
  cJSON_Delete(phases);
  cJSON_Delete(counts);
}

static void compare_session(const struct hr__volcano_case *world, const struct hr__volcano_session *session,
                            struct hr__verdict *verdict) {
  const cJSON *expect = hr__case_get(world->whole, "expect");
  const cJSON *binds = hr__case_get(expect, "binds"), *evicted = hr__case_get(expect, "evicted");
  cJSON *actual = binds_json(world, session);
  if (hr__case_get(expect, "binds_count"))
    hr__verdict_compare_number(verdict, "binds_count", hr__case_get(expect, "binds_count"), cJSON_GetArraySize(actual));
  if (binds && !hr__case_bool(expect, "binds_count_only", false))
    hr__verdict_compare(verdict, "binds", binds, actual, 0, 0);
  cJSON_Delete(actual);
  if (hr__case_get(expect, "evicted_count"))
    hr__verdict_compare_number(verdict, "evicted_count", hr__case_get(expect, "evicted_count"),
                               hr__volcano_evictions(session).n_ids);
  if (evicted) compare(verdict, "evicted", evicted, evictions_json(world, session), HR__COMPARE_SETS);
  compare_jobs(world, session, expect, verdict);
  const char *violation = hr__volcano_check(session);
  if (violation) hr__verdict_compare_text(verdict, "invariant", NULL, violation);
}

/* Runs a session with one order of equal nodes, and compares. */
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

/* Whether the other order of equal nodes gives the expected result. Differences are not reported. */
static bool passes_with_last_nodes(struct hr__volcano_case *world) {
  struct hr_conform_case row = {0};
  struct hr__verdict verdict = {.arena = world->verdict->arena, .row = &row};
  run_session(world, true, &verdict);
  bool passes = !row.n_differences && !verdict.no_memory;
  for (size_t i = 0; i < row.n_differences; i++) {
    free(row.differences[i].place);
    free(row.differences[i].expected);
    free(row.differences[i].actual);
  }
  free(row.differences);
  return passes;
}

/* Amounts are numbers in double precision; numbers of pods and weights are at most 32 bits wide. */
#define LARGEST_NUMBER 1e12

void hr__conform_volcano(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  struct hr__volcano_case world;
  hr__verdict_limit_numbers(verdict, whole, LARGEST_NUMBER);
  if (verdict->malformed || !hr__volcano_read_case(&world, whole, verdict)) return;
  if (strcmp(kind, "schedule") == 0) {
    if (!passes_with_last_nodes(&world)) run_session(&world, false, verdict);
  } else if (strcmp(kind, "plugin-function") == 0 || strcmp(kind, "schedule-custom") == 0) {
    run_rules(&world);
  } else {
    hr__verdict_unknown_kind(verdict, kind);
  }
}
