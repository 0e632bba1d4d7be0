/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the Kueue cases about preemption, and about the life of workloads: waitForPodsReady, requeuing and eviction. A
   case about the life of a workload contains the workload before and after a step. The step of the model is applied to
   a copy of the workload before it, and the copy is compared with the workload after it. */

#include "policies/kueue/cycle.h"
#include "policies/kueue/kueue.h"
#include "scenarios/conform/kueue/kueue_objects.h"

#include <stdlib.h>
#include <string.h>

/* ---- Preemption ---------------------------------------------------------------------------------------- */

/* A case about preemption contains the incoming workload and the assignment of flavors to its pod sets. The model
   selects the workloads that are preempted. */

static enum hr__kueue_mode read_mode(const char *text) {
  for (int i = 0; i < 4; i++)
    if (strcmp(hr__kueue_mode_name((enum hr__kueue_mode)i), text) == 0) return (enum hr__kueue_mode)i;
  return HR__KUEUE_NO_FIT;
}

/* Reads the assignment of a case. Its requests are the requests of the pod sets of the incoming workload. */
static void read_assignment(struct hr__kueue_case *self, const struct hr__kueue_workload *workload,
                            struct hr__kueue_assignment *out) {
  const cJSON *item, *flavor;
  uint32_t at = 0;
  cJSON_ArrayForEach(item, hr__case_get(self->input, "assignment")) {
    if (at == workload->n_pod_sets) break;
    const struct hr__kueue_pod_set *pod_set = &workload->pod_sets[at];
    struct hr__kueue_pod_set_assignment *row = &out->pod_sets[out->n_pod_sets++];
    row->pod_set = at++;
    row->count = hr__case_whole(item, "count", pod_set->count);
    for (uint32_t i = 0; i < pod_set->requests.count; i++) {
      uint32_t resource = pod_set->requests.items[i].resource;
      flavor = hr__case_get(hr__case_get(item, "flavors"), self->world.resources[resource]);
      uint32_t id = hr__kueue_name_find(&self->flavors, hr__case_text(flavor, "flavor", NULL));
      int64_t amount = hr__kueue_times(pod_set->requests.items[i].amount, row->count);
      row->requests[row->n_requests++] = (struct hr__kueue_amount){resource, amount};
      if (id == HR_NONE) continue;
      row->choices[row->n_choices++] = (struct hr__kueue_choice){
          .resource = resource, .flavor = id, .mode = read_mode(hr__case_text(flavor, "mode", ""))};
      if (amount) hr__kueue_usage_add(out->usage, &out->n_usage, hr__kueue_pair(&self->world, id, resource), amount);
    }
    row->imperfect = true;
  }
}

/* Returns a hash of the state of a world: all usages, and which workloads are listed in their queues. */
static uint64_t fingerprint(const struct hr__kueue_world *world) {
  uint64_t hash = 1469598103934665603U;
  size_t cells = (size_t)world->tree.n_nodes * world->tree.n_pairs;
  for (size_t i = 0; i < cells; i++) hash = (hash ^ (uint64_t)world->tree.usage[i]) * 1099511628211U;
  for (uint32_t i = 0; i < world->n_workloads; i++) hash = (hash ^ world->workloads[i].listed) * 1099511628211U;
  return hash;
}

static cJSON *targets_json(const struct hr__kueue_case *self, const struct hr__kueue_preemptor *preemptor) {
  cJSON *list = cJSON_CreateArray();
  for (uint32_t i = 0; i < preemptor->n_targets; i++) {
    const struct hr__kueue_workload *workload = &self->world.workloads[preemptor->targets[i].workload];
    if (workload->evicted) continue; /* already evicted: counted as a target, but not preempted again */
    cJSON *row = cJSON_CreateObject();
    const char *slash = strchr(workload->name, '/');
    cJSON_AddStringToObject(row, "workload", slash == workload->name ? slash + 1 : workload->name);
    cJSON_AddStringToObject(row, "reason", hr__kueue_cause_name(preemptor->targets[i].cause));
    cJSON_AddItemToArray(list, row);
  }
  return list;
}

static bool begin(struct hr__kueue_case *self, struct hr__kueue_preemptor *preemptor) {
  const cJSON *const lists[] = {hr__case_get(self->input, "admitted"), hr__case_get(self->input, "candidates")};
  self->world.max_pod_sets = hr__case_count(hr__case_get(self->input, "incoming"), "podSets");
  if (!hr__kueue_case_workloads(self, lists, 2)) return false;
  if (hr__kueue_preemptor_begin(preemptor, self->verdict->arena, &self->world)) return true;
  self->verdict->no_memory = true;
  return false;
}

static void case_preempt(struct hr__kueue_case *self) {
  struct hr__kueue_preemptor preemptor;
  struct hr__kueue_workload incoming;
  struct hr__kueue_assignment assignment;
  if (!begin(self, &preemptor)) return;
  if (!hr__kueue_case_workload(self, hr__case_get(self->input, "incoming"), &incoming)) return;
  incoming.queue = hr__kueue_name_find(&self->queues, hr__case_text(self->input, "targetCQ", NULL));
  if (incoming.queue == HR_NONE) {
    self->verdict->malformed = "expected the ClusterQueue of the incoming workload";
    return;
  }
  if (!hr__kueue_assignment_begin(&assignment, self->verdict->arena, &self->world)) {
    self->verdict->no_memory = true;
    return;
  }
  read_assignment(self, &incoming, &assignment);
  uint64_t before = fingerprint(&self->world);
  uint32_t count = hr__kueue_preempt(&preemptor, &incoming, &assignment);
  const cJSON unchanged = {.type = cJSON_True};
  hr__compare_json(self->verdict, "preempted", targets_json(self, &preemptor), HR__COMPARE_SETS);
  hr__compare_number(self->verdict, "preemptedCount", count);
  hr__verdict_compare_bool(self->verdict, "state is unchanged", &unchanged, before == fingerprint(&self->world));
}

/* ---- Orders ---- */

/* Adds all workloads of the case as candidates. */
static void add_candidates(struct hr__kueue_preemptor *preemptor) {
  for (uint32_t i = 0; i < preemptor->world->n_workloads; i++)
    preemptor->candidates[preemptor->n_candidates++] = (struct hr__kueue_candidate){.workload = i, .ancestor = HR_NONE};
}

static bool is_same_text(const cJSON *a, const cJSON *b, const char *name) {
  return strcmp(hr__case_text(a, name, ""), hr__case_text(b, name, "")) == 0;
}

/* Numbers the queues and the local queues of the candidates. The queue of the preemptor has the number 0. The case need
   not contain these queues. Only two facts matter: which candidates have the same queue, and the usage of the local
   queues in admission fair sharing. Returns false if memory is exhausted. */
static bool read_candidate_queues(struct hr__kueue_case *self) {
  struct hr__kueue_world *world = &self->world;
  world->queues = hr__verdict_alloc(self->verdict, world->n_workloads + 1, sizeof *world->queues);
  world->local_queues = hr__verdict_alloc(self->verdict, world->n_workloads + 1, sizeof *world->local_queues);
  if (!world->queues || !world->local_queues) return false;
  world->admission_fair_sharing = hr__kueue_has_gate(world, HR__KUEUE_BIT_ADMISSION_FAIR_SHARING);
  const char *own = hr__case_text(self->input, "preemptorCq", "");
  for (uint32_t i = 0; i < world->n_workloads; i++) {
    struct hr__kueue_workload *workload = &world->workloads[i];
    const cJSON *json = self->workload_json[i], *admission = hr__case_get(json, "admission");
    workload->queue = strcmp(hr__case_text(admission, "clusterQueue", ""), own) == 0 ? 0 : 1 + i;
    workload->local_queue = i;
    for (uint32_t j = 0; j < i; j++) {
      const cJSON *other = self->workload_json[j];
      if (is_same_text(admission, hr__case_get(other, "admission"), "clusterQueue"))
        workload->queue = world->workloads[j].queue;
      if (is_same_text(json, other, "namespace") && is_same_text(json, other, "queue"))
        workload->local_queue = world->workloads[j].local_queue;
    }
    world->queues[workload->queue].usage_based = true;
    world->local_queues[i].usage = hr__case_real(json, "localQueueFSUsage", 0);
  }
  return true;
}

static void case_candidate_order(struct hr__kueue_case *self) {
  struct hr__kueue_preemptor preemptor;
  if (!begin(self, &preemptor)) return;
  struct hr__kueue_workload subject = {.queue = 0};
  if (!read_candidate_queues(self)) return;
  preemptor.demand.workload = &subject;
  add_candidates(&preemptor);
  hr__kueue_candidates_sort(&preemptor);
  cJSON *actual = cJSON_CreateArray();
  for (uint32_t i = 0; i < preemptor.n_candidates; i++) {
    const cJSON *json = self->workload_json[preemptor.candidates[i].workload];
    cJSON_AddItemToArray(actual, cJSON_CreateString(hr__case_text(json, "name", "")));
  }
  hr__verdict_compare(self->verdict, "order", hr__case_get(self->expect, "wantCandidates"), actual, HR__COMPARE_EXACTLY,
                      0);
  cJSON_Delete(actual);
}

/* Removes all candidates except those in the queues that "candidateCQs" names. */
static void keep_candidates(struct hr__kueue_case *self, struct hr__kueue_preemptor *preemptor) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < preemptor->n_candidates; i++) {
    uint32_t id = self->world.workloads[preemptor->candidates[i].workload].queue;
    if (id == HR_NONE) continue;
    if (hr__case_list_has(hr__case_get(self->input, "candidateCQs"), self->queues.items[id]))
      preemptor->candidates[kept++] = preemptor->candidates[i];
  }
  preemptor->n_candidates = kept;
}

static void case_fair_order(struct hr__kueue_case *self) {
  struct hr__kueue_preemptor preemptor;
  if (!begin(self, &preemptor)) return;
  struct hr__kueue_workload subject = {0};
  subject.queue = hr__kueue_name_find(&self->queues, hr__case_text(self->input, "preemptorCQ", NULL));
  if (subject.queue == HR_NONE) {
    self->verdict->malformed = "expected the ClusterQueue of the preemptor";
    return;
  }
  preemptor.demand.workload = &subject;
  add_candidates(&preemptor);
  keep_candidates(self, &preemptor);
  hr__kueue_candidates_sort(&preemptor);
  hr__kueue_fair_begin(&preemptor);
  cJSON *actual = cJSON_CreateArray();
  uint32_t queue;
  for (int step = 0; (queue = hr__kueue_fair_next(&preemptor)) != HR_NONE; step++) {
    cJSON_AddItemToArray(actual, cJSON_CreateString(self->queues.items[queue]));
    const cJSON *action = cJSON_GetArrayItem(hr__case_get(self->input, "actions"), step);
    if (cJSON_IsString(action) && strcmp(action->valuestring, "drop") == 0)
      hr__kueue_fair_drop(&preemptor, queue);
    else
      hr__kueue_fair_pop(&preemptor, queue);
  }
  const cJSON *want = hr__case_get(self->expect, "wantOrder");
  hr__verdict_compare(self->verdict, "order", want, want || cJSON_GetArraySize(actual) ? actual : NULL,
                      HR__COMPARE_EXACTLY, 0);
  cJSON_Delete(actual);
}

static void case_policy(struct hr__kueue_case *self) {
  struct hr__kueue_workload preemptor, candidate;
  if (!hr__kueue_case_workload(self, hr__case_get(self->input, "preemptor"), &preemptor) ||
      !hr__kueue_case_workload(self, hr__case_get(self->input, "candidate"), &candidate))
    return;
  enum hr__kueue_policy policy = hr__kueue_policy_named(hr__case_text(self->input, "policy", ""));
  hr__compare_bool(self->verdict, "want", hr__kueue_policy_allows(policy, &preemptor, &candidate));
}

/* ---- The life of workloads ----------------------------------------------------------------------------- */

static const char *const end_names[] = {"",
                                        "PodsReadyTimeout",
                                        "AdmissionCheck",
                                        "ClusterQueueStopped",
                                        "LocalQueueStopped",
                                        "Deactivated",
                                        "RequeuingLimitExceeded"};
static const char *const cause_names[] = {"", "WaitForStart", "WaitForRecovery"};

/* Returns the condition of a type, with any status; NULL: none. */
static const cJSON *condition(const cJSON *list, const char *type) {
  const cJSON *item;
  cJSON_ArrayForEach(item, list) if (hr__case_text_is(item, "type", type)) return item;
  return NULL;
}

static int64_t seconds(const cJSON *object, const char *name, double fallback) {
  return (int64_t)(hr__case_real(object, name, fallback) * 1e6);
}

static struct hr__kueue_ready_rules read_rules(const cJSON *json) {
  struct hr__kueue_ready_rules rules = {.timeout_us = hr__kueue_case_time(json, "timeout", HR__KUEUE_NO_TIME),
                                        .recovery_timeout_us =
                                            hr__kueue_case_time(json, "recoveryTimeout", HR__KUEUE_NO_TIME),
                                        .backoff_limit = hr__case_whole(json, "requeuingBackoffLimitCount", -1),
                                        .backoff_base_us = seconds(json, "requeuingBackoffBaseSeconds", 60),
                                        .backoff_max_us = seconds(json, "requeuingBackoffMaxDuration", 3600)};
  return rules;
}

/* Reads the conditions Admitted and PodsReady. `time` is the member of a condition that states its time. */
static struct hr__kueue_readiness read_readiness(const cJSON *conditions, const char *time) {
  const cJSON *admitted = condition(conditions, "Admitted"), *ready = condition(conditions, "PodsReady");
  return (struct hr__kueue_readiness){.admitted = hr__case_text_is(admitted, "status", "True"),
                                      .ready = hr__case_text_is(ready, "status", "True"),
                                      .was_ready = hr__case_text_is(ready, "reason", "WaitForRecovery"),
                                      .admitted_us = hr__kueue_case_time(admitted, time, 0),
                                      .changed_us = hr__kueue_case_time(ready, time, 0)};
}

static void case_countdown(struct hr__kueue_case *self) {
  const cJSON *input = self->input;
  const cJSON *status = hr__case_get(hr__case_get(input, "workload"), "status");
  struct hr__kueue_ready_rules rules = read_rules(hr__case_get(input, "waitForPodsReady"));
  struct hr__kueue_readiness readiness = read_readiness(hr__case_get(status, "conditions"), "lastTransitionTime");
  int64_t left;
  enum hr__kueue_ready_cause cause = hr__kueue_ready_countdown(&rules, &readiness, 0, &left);
  hr__compare_text(self->verdict, "wantUnderlyingCause", cause ? cause_names[cause] : NULL);
  const cJSON *recheck = hr__case_get(self->expect, "wantRecheckAfter");
  if (recheck || left) hr__verdict_compare_number(self->verdict, "wantRecheckAfter", recheck, (double)left / 1e6);
}

/* ---- State of requeuing ---- */

static void case_requeue_state(struct hr__kueue_case *self) {
  const cJSON *input = self->input, *expect = self->expect;
  const cJSON *json = hr__case_get(hr__case_get(hr__case_get(input, "workload"), "status"), "requeueState");
  struct hr__kueue_requeue_state state = {.count = hr__case_whole(json, "count", -1),
                                          .at_us = hr__kueue_case_time(json, "requeueAt", HR__KUEUE_NO_TIME)};
  bool updated = hr__kueue_requeue_delay(&state, hr__kueue_case_time(input, "waitUntil", HR__KUEUE_NO_TIME),
                                         hr__case_bool(input, "incrementCount", false));
  hr__compare_bool(self->verdict, "wantUpdated", updated);
  const cJSON *at = hr__case_get(expect, "wantRequeueAt"), *count = hr__case_get(expect, "wantCount");
  if (at || state.at_us != HR__KUEUE_NO_TIME)
    hr__verdict_compare_number(self->verdict, "wantRequeueAt", at, (double)state.at_us / 1e6);
  if (count || state.count >= 0) hr__verdict_compare_number(self->verdict, "wantCount", count, (double)state.count);
}

static void case_on_hold(struct hr__kueue_case *self) {
  const cJSON *workload = hr__case_get(self->input, "wl");
  const cJSON *quota = condition(hr__case_get(workload, "conditions"), "QuotaReserved");
  bool held = hr__case_text_is(quota, "status", "False") && hr__case_text_is(quota, "reason", "OnHold");
  hr__compare_bool(self->verdict, "want", held);
}

/* ---- Steps ---- */

static enum hr__kueue_stop read_stop(const cJSON *queue) {
  if (hr__case_text_is(queue, "stopPolicy", "HoldAndDrain")) return HR__KUEUE_HOLD_AND_DRAIN;
  return hr__case_text_is(queue, "stopPolicy", "Hold") ? HR__KUEUE_HOLD : HR__KUEUE_RUNS;
}

/* Converts the reason of an eviction. The reason of a deactivation may also name its cause: "DeactivatedDueTo...". */
static enum hr__kueue_end read_end(const char *reason) {
  static const char derived[] = "DeactivatedDueTo";
  if (strncmp(reason, derived, sizeof derived - 1) == 0) return HR__KUEUE_END_DEACTIVATED;
  for (int i = 1; i <= HR__KUEUE_END_LIMIT; i++)
    if (strcmp(end_names[i], reason) == 0) return (enum hr__kueue_end)i;
  return HR__KUEUE_END_NONE;
}

/* If a case does not state the time of admission, or states 0, the workload was admitted five minutes ago. */
#define ADMITTED_BEFORE_US (300 * HR_SECOND_US)

static struct hr__kueue_life read_life(const cJSON *input, const cJSON *workload) {
  const cJSON *conditions = hr__case_get(workload, "conditions"), *check, *requeued = condition(conditions, "Requeued");
  const cJSON *state = hr__case_get(workload, "requeueState");
  struct hr__kueue_life life = {
      .active = hr__case_bool(workload, "active", true),
      .reserved = hr__case_text_is(condition(conditions, "QuotaReserved"), "status", "True"),
      .evicted = hr__case_text_is(condition(conditions, "Evicted"), "status", "True"),
      .deactivating = hr__case_text_is(condition(conditions, "DeactivationTarget"), "status", "True"),
      .finished = hr__case_text_is(condition(conditions, "Finished"), "status", "True"),
      .requeued = !requeued                                       ? HR__KUEUE_REQUEUED_UNSET
                  : hr__case_text_is(requeued, "status", "False") ? HR__KUEUE_REQUEUED_FALSE
                                                                  : HR__KUEUE_REQUEUED_TRUE,
      .requeued_reason = read_end(hr__case_text(requeued, "reason", "")),
      .queue_stop = read_stop(hr__case_get(input, "cq")),
      .local_stop = read_stop(hr__case_get(input, "lq")),
      .readiness = read_readiness(conditions, "at"),
      .requeue = {hr__case_whole(state, "count", -1), hr__kueue_case_time(state, "at", HR__KUEUE_NO_TIME)}};
  cJSON_ArrayForEach(check, hr__case_get(workload, "admissionChecks")) {
    life.check_retry |= hr__case_text_is(check, "state", "Retry");
    life.check_rejected |= hr__case_text_is(check, "state", "Rejected");
  }
  if (!life.readiness.admitted_us) life.readiness.admitted_us = -ADMITTED_BEFORE_US;
  return life;
}

static void set_condition(cJSON *workload, const char *type, bool status, const char *reason) {
  cJSON *list = cJSON_GetObjectItemCaseSensitive(workload, "conditions"), *item;
  if (!list) list = cJSON_AddArrayToObject(workload, "conditions");
  int at = 0;
  cJSON_ArrayForEach(item, list) {
    if (hr__case_text_is(item, "type", type)) break;
    at++;
  }
  if (item) cJSON_DeleteItemFromArray(list, at);
  hr__kueue_add_condition(list, type, status, reason);
}

static void count_eviction(cJSON *workload, const char *reason, const char *cause) {
  cJSON *list = cJSON_GetObjectItemCaseSensitive(workload, "evictionCounts"), *item;
  if (!list) list = cJSON_AddArrayToObject(workload, "evictionCounts");
  cJSON_ArrayForEach(item, list) {
    if (!hr__case_text_is(item, "reason", reason) || !hr__case_text_is(item, "underlyingCause", cause)) continue;
    cJSON *count = cJSON_GetObjectItemCaseSensitive(item, "count");
    if (count) cJSON_SetNumberValue(count, count->valuedouble + 1);
    return;
  }
  item = cJSON_CreateObject();
  cJSON_AddStringToObject(item, "reason", reason);
  if (*cause) cJSON_AddStringToObject(item, "underlyingCause", cause);
  cJSON_AddNumberToObject(item, "count", 1);
  cJSON_AddItemToArray(list, item);
}

/* Sets a member of an object, which then owns `value`. If `object` is not an object, only frees `value`. */
static void set_member(cJSON *object, const char *name, cJSON *value) {
  cJSON_DeleteItemFromObjectCaseSensitive(object, name);
  if (!cJSON_IsObject(object) || !cJSON_AddItemToObject(object, name, value)) cJSON_Delete(value);
}

static void evict(cJSON *workload, const struct hr__kueue_step *step) {
  const char *cause = cause_names[step->cause], *reason = end_names[step->end];
  char full[120];
  const cJSON *target = condition(hr__case_get(workload, "conditions"), "DeactivationTarget");
  strcpy(full, reason);
  if (step->end == HR__KUEUE_END_DEACTIVATED && target) {
    cause = hr__case_text(target, "reason", "");
    strcat(full, "DueTo");
    strncat(full, cause, 60);
  }
  set_condition(workload, "Evicted", true, full);
  count_eviction(workload, reason, cause);
  cJSON *check;
  cJSON_ArrayForEach(check, cJSON_GetObjectItemCaseSensitive(workload, "admissionChecks"))
      set_member(check, "state", cJSON_CreateString("Pending"));
}

static void write_requeue_state(cJSON *workload, const struct hr__kueue_requeue_state *state) {
  cJSON_DeleteItemFromObjectCaseSensitive(workload, "requeueState");
  if (state->count < 0 && state->at_us == HR__KUEUE_NO_TIME) return;
  cJSON *json = cJSON_AddObjectToObject(workload, "requeueState");
  if (state->count >= 0) cJSON_AddNumberToObject(json, "count", (double)state->count);
  if (state->at_us != HR__KUEUE_NO_TIME) cJSON_AddNumberToObject(json, "at", (double)state->at_us / 1e6);
}

static void apply(cJSON *workload, const struct hr__kueue_life *life, const struct hr__kueue_step *step) {
  bool by_check = step->end == HR__KUEUE_END_CHECK;
  if (step->kind == HR__KUEUE_STEP_REQUEUE) {
    const char *reason = "BackoffFinished";
    if (step->end == HR__KUEUE_END_QUEUE_STOPPED) reason = "ClusterQueueRestarted";
    if (step->end == HR__KUEUE_END_LOCAL_STOPPED) reason = "LocalQueueRestarted";
    if (step->end == HR__KUEUE_END_DEACTIVATED) reason = "Reactivated";
    set_condition(workload, "Requeued", true, reason);
  }
  if (step->kind == HR__KUEUE_STEP_SWITCH_OFF) set_member(workload, "active", cJSON_CreateFalse());
  if (step->kind == HR__KUEUE_STEP_DEACTIVATE)
    set_condition(workload, "DeactivationTarget", true, end_names[step->end]);
  if (step->kind == HR__KUEUE_STEP_EVICT) evict(workload, step);
  if (by_check && (step->kind == HR__KUEUE_STEP_EVICT || step->kind == HR__KUEUE_STEP_DEACTIVATE) &&
      !life->readiness.admitted)
    set_condition(workload, "Admitted", false, "UnsatisfiedAdmissionChecks");
  if (step->kind == HR__KUEUE_STEP_REQUEUE || step->end == HR__KUEUE_END_TIMEOUT)
    write_requeue_state(workload, &life->requeue);
}

/* Removes values that the cases do not contain, or that the tests of Kueue do not compare: times, and the reasons of
   conditions that had the same status before the step. */
static void strip(cJSON *workload, const cJSON *before) {
  cJSON *item;
  cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(workload, "conditions")) {
    const cJSON *old = condition(hr__case_get(before, "conditions"), hr__case_text(item, "type", ""));
    cJSON_DeleteItemFromObjectCaseSensitive(item, "at");
    if (old && hr__case_text_is(old, "status", hr__case_text(item, "status", "")))
      cJSON_DeleteItemFromObjectCaseSensitive(item, "reason");
  }
  cJSON_DeleteItemFromObjectCaseSensitive(cJSON_GetObjectItemCaseSensitive(workload, "requeueState"), "at");
}

static void case_reconcile(struct hr__kueue_case *self) {
  const cJSON *input = self->input, *expect = self->expect;
  const cJSON *before = hr__case_get(input, "workload"), *want = hr__case_get(expect, "wantWorkload");
  const cJSON *options = cJSON_GetArrayItem(hr__case_get(input, "reconcilerOpts"), 0);
  struct hr__kueue_ready_rules rules = read_rules(hr__case_get(options, "waitForPodsReady"));
  struct hr__kueue_life life = read_life(input, before);
  if (life.check_retry &&
      !life.reserved) { /* the case does not contain the delay that the check's controller demands */
    hr__verdict_unsupported(self->verdict, "admission-check controllers");
    return;
  }
  struct hr__kueue_step step = hr__kueue_life_step(&rules, &life, 0);
  const cJSON *after = hr__case_get(hr__case_get(expect, "wantResult"), "requeueAfter");
  if (after || step.kind == HR__KUEUE_STEP_WAIT)
    hr__verdict_compare_number(self->verdict, "requeueAfter", after, (double)step.wait_us / 1e6);
  if (!want) return;
  cJSON *actual = cJSON_Duplicate(before, true), *expected = cJSON_Duplicate(want, true);
  apply(actual, &life, &step);
  strip(actual, before);
  strip(expected, before);
  hr__verdict_compare(self->verdict, "wantWorkload", expected, actual, HR__COMPARE_SETS, 0);
  cJSON_Delete(expected);
  cJSON_Delete(actual);
}

const struct hr__kueue_case_kind hr__kueue_life_kinds[] = {{"preemption", case_preempt, NULL},
                                                           {"preemption.candidateOrder", case_candidate_order, NULL},
                                                           {"preemption.fairTargetOrder", case_fair_order, NULL},
                                                           {"preemption.policy", case_policy, NULL},
                                                           {"podsReady.countdown", case_countdown, NULL},
                                                           {"podsReady.requeue", case_reconcile, NULL},
                                                           {"eviction.reconcile", case_reconcile, NULL},
                                                           {"queue.setRequeueState", case_requeue_state, NULL},
                                                           {"queue.onHold", case_on_hold, NULL},
                                                           {NULL, NULL, NULL}};
