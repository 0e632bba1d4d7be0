/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the test vectors of Volcano against its model: whole sessions here, single rules in volcano_rules.c.

   Volcano takes a random node among those with equal scores, and the tests are written so that the choice does not
   matter for what they check. The model takes the first or, on request, the last of them; a case passes if either run
   gives the expected result. */

#include "scenarios/conform/volcano_case.h"

#include <stdlib.h>
#include <string.h>

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

static bool list_has(const cJSON *list, const char *text) {
  const cJSON *item;
  cJSON_ArrayForEach(item, list) if (cJSON_IsString(item) && strcmp(item->valuestring, text) == 0) return true;
  return false;
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
    all_expected = all_expected && list_has(expected, node);
    if (!list_has(nodes, node)) cJSON_AddItemToArray(nodes, cJSON_CreateString(node));
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

void hr__conform_volcano(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  struct hr__volcano_case world;
  if (!hr__volcano_read_case(&world, whole, verdict)) return;
  if (strcmp(kind, "schedule") == 0) {
    if (!passes_with_last_nodes(&world)) run_session(&world, false, verdict);
  } else if (strcmp(kind, "plugin-function") == 0 || strcmp(kind, "schedule-custom") == 0) {
    hr__volcano_run_rules(&world);
  } else {
    verdict->malformed = "an unknown kind";
  }
}
