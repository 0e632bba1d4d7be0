/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the Kueue cases about a whole scheduling cycle: queues the waiting workloads, takes the heads of the queues and
   runs the cycle. Then compares the admissions, preemptions and events, and the workloads that still wait. Inadmissible
   workloads are parked until something changes; the other waiting workloads are in the heap of their queue. */

#include "scenarios/conform/kueue/kueue_objects.h"

#include "policies/kueue/cycle.h"
#include "policies/kueue/kueue.h"

#include <string.h>

/* ---- Reading ---- */

/* Returns whether labels match an expression {key, operator, values}. */
static bool expression_matches(const cJSON *labels, const cJSON *expression) {
  const char *value = hr__case_text(labels, hr__case_text(expression, "key", ""), NULL);
  const char *operation = hr__case_text(expression, "operator", "In");
  if (strcmp(operation, "Exists") == 0) return value != NULL;
  if (strcmp(operation, "DoesNotExist") == 0) return value == NULL;
  bool listed = value && hr__case_list_has(hr__case_get(expression, "values"), value);
  return strcmp(operation, "NotIn") == 0 ? !listed : listed;
}

static bool namespace_matches(const struct hr__kueue_case *self, uint32_t queue, const cJSON *workload) {
  const cJSON *json = NULL, *item;
  for (uint32_t i = 0; i < self->n_queue_json; i++)
    if (hr__case_text_is(self->queue_json[i], "name", self->queues.items[queue])) json = self->queue_json[i];
  const cJSON *selector = hr__case_get(json, "namespaceSelector");
  const cJSON *labels = hr__case_get(hr__case_get(self->input, "namespaces"), hr__case_text(workload, "namespace", ""));
  cJSON_ArrayForEach(item,
                     hr__case_get(selector, "matchExpressions")) if (!expression_matches(labels, item)) return false;
  cJSON_ArrayForEach(item,
                     hr__case_get(selector, "matchLabels")) if (!cJSON_IsString(item) ||
                                                                !hr__case_text_is(labels, item->string,
                                                                                  item->valuestring)) return false;
  return true;
}

static bool exceeds_limits(const cJSON *workload) {
  const cJSON *pod_set, *limit;
  cJSON_ArrayForEach(pod_set, hr__case_get(workload, "podSets")) cJSON_ArrayForEach(
      limit, hr__case_get(pod_set, "limits")) if (hr__case_whole(hr__case_get(pod_set, "requests"), limit->string, 0) >
                                                  hr__case_value_whole(limit, INT64_MAX)) return true;
  return false;
}

static bool has_check(const cJSON *workload, const char *state) {
  const cJSON *check;
  cJSON_ArrayForEach(
      check, hr__case_get(workload, "admissionChecks")) if (hr__case_text_is(check, "state", state)) return true;
  return false;
}

/* Variants of one workload have the same owner, which is a Workload. Returns the index of the first variant with the
   owner of `workload`; HR_NONE: `workload` is not a variant. */
static uint32_t variant_of(const struct hr__kueue_case *self, const cJSON *workload) {
  const cJSON *owner = cJSON_GetArrayItem(hr__case_get(workload, "owners"), 0);
  if (!hr__case_text_is(owner, "kind", "Workload")) return HR_NONE;
  for (uint32_t i = 0; i < self->world.n_workloads; i++) {
    const cJSON *other = cJSON_GetArrayItem(hr__case_get(self->workload_json[i], "owners"), 0);
    if (hr__case_text_is(other, "kind", "Workload") &&
        hr__case_text_is(other, "name", hr__case_text(owner, "name", "")))
      return i;
  }
  return HR_NONE;
}

/* Returns whether a workload has a preemption gate {name} that is not open. A gate without a state {name, position} is
   closed. */
static bool has_closed_gate(const cJSON *other) {
  const cJSON *gate, *state;
  cJSON_ArrayForEach(gate, hr__case_get(other, "PreemptionGates")) {
    bool open = false;
    cJSON_ArrayForEach(state, hr__case_get(other, "PreemptionGateStates")) open |=
        hr__case_text_is(state, "name", hr__case_text(gate, "name", "")) && hr__case_text_is(state, "position", "Open");
    if (!open) return true;
  }
  return false;
}

static bool read_states(struct hr__kueue_cycle_run *run) {
  struct hr__kueue_world *world = &run->self->world;
  for (uint32_t i = 0; i < world->n_workloads; i++) {
    struct hr__kueue_workload *workload = &world->workloads[i];
    const cJSON *json = run->self->workload_json[i], *other = hr__case_get(json, "other");
    if (has_check(json, "Retry") || has_check(json, "Rejected"))
      workload->obstacle = HR__KUEUE_FAILED_CHECKS;
    else if (workload->queue != HR_NONE && !namespace_matches(run->self, workload->queue, json))
      workload->obstacle = HR__KUEUE_NAMESPACE_MISMATCH;
    else if (exceeds_limits(json))
      workload->obstacle = HR__KUEUE_INVALID;
    workload->gated = has_closed_gate(other);
    workload->variant_of = variant_of(run->self, json);
    if (!hr__kueue_read_allowed(run->self, hr__case_get(other, "AllowedFlavors"), workload)) return false;
  }
  return true;
}

/* Returns whether a workload with quota waits for a second pass. The second pass replaces an unhealthy node of an
   admitted workload, or places pods with a pending placement. In the second case, no admission check of the workload
   may be Pending, Retry or Rejected. */
static bool needs_second_pass(const struct hr__kueue_workload *workload, const cJSON *json) {
  if (!workload->reserved || workload->evicted || hr__kueue_case_condition(json, "Finished")) return false;
  if (workload->n_unhealthy_nodes && workload->admitted) return true;
  bool pending = false;
  for (uint32_t i = 0; i < workload->n_pod_sets; i++) pending |= workload->pod_sets[i].placement_pending;
  return pending && !has_check(json, "Pending") && !has_check(json, "Retry") && !has_check(json, "Rejected");
}

/* Returns the shape of a workload: the index of the first workload with the same pod sets and the same priority. */
static uint32_t shape_of(const struct hr__kueue_cycle_run *run, uint32_t id) {
  const cJSON *const *json = run->self->workload_json;
  for (uint32_t i = 0; i < id; i++)
    if (run->self->world.workloads[i].priority == run->self->world.workloads[id].priority &&
        cJSON_Compare(hr__case_get(json[i], "podSets"), hr__case_get(json[id], "podSets"), true))
      return i;
  return id;
}

static bool add_pending(struct hr__kueue_cycle_run *run) {
  struct hr__kueue_world *world = &run->self->world;
  for (uint32_t i = 0; i < world->n_workloads; i++) {
    const struct hr__kueue_workload *workload = &world->workloads[i];
    const cJSON *json = run->self->workload_json[i];
    if (workload->queue == HR_NONE || workload->local_queue == HR_NONE || workload->reserved ||
        !hr__case_bool(json, "active", true) || hr__kueue_case_condition(json, "Finished"))
      continue;
    run->pending.shape[i] = shape_of(run, i);
    if (!hr__kueue_pending_add(&run->pending, i)) return false;
  }
  return true;
}

/* ---- Writing ---- */

static void add_event(cJSON *events, const char *key, const char *reason, bool warning) {
  cJSON *event = cJSON_CreateObject();
  cJSON_AddStringToObject(event, "key", key);
  cJSON_AddStringToObject(event, "reason", reason);
  cJSON_AddStringToObject(event, "type", warning ? "Warning" : "Normal");
  cJSON_AddItemToArray(events, event);
}

static cJSON *row_json(const struct hr__kueue_cycle_run *run, const struct hr__kueue_workload *workload,
                       const struct hr__kueue_pod_set_assignment *row) {
  const struct hr__kueue_world *world = &run->self->world;
  cJSON *json = cJSON_CreateObject();
  cJSON_AddStringToObject(json, "name", workload->pod_sets[row->pod_set].name);
  cJSON_AddNumberToObject(json, "count", (double)row->count);
  cJSON *flavors = cJSON_AddObjectToObject(json, "flavors"), *usage = cJSON_AddObjectToObject(json, "usage");
  for (uint32_t i = 0; i < row->n_choices; i++) {
    const char *resource = world->resources[row->choices[i].resource];
    cJSON_AddStringToObject(flavors, resource, world->flavors[row->choices[i].flavor].name);
    for (uint32_t k = 0; k < row->n_requests; k++)
      if (row->requests[k].resource == row->choices[i].resource)
        cJSON_AddNumberToObject(usage, resource, (double)row->requests[k].amount);
  }
  if (row->placement) cJSON_AddItemToObject(json, "topologyAssignment", hr__kueue_placement_json(row->placement));
  if (row->placement_ready) cJSON_AddStringToObject(json, "delayedTopologyRequest", "Ready");
  if (row->placement_pending) cJSON_AddStringToObject(json, "delayedTopologyRequest", "Pending");
  return json;
}

static cJSON *admission_json(const struct hr__kueue_cycle_run *run, const struct hr__kueue_entry *entry) {
  const struct hr__kueue_workload *workload = &run->self->world.workloads[entry->workload];
  cJSON *json = cJSON_CreateObject();
  cJSON_AddStringToObject(json, "clusterQueue", run->self->queues.items[workload->queue]);
  cJSON *rows = cJSON_AddArrayToObject(json, "podSets");
  for (uint32_t i = 0; i < entry->assignment.n_pod_sets; i++)
    cJSON_AddItemToArray(rows, row_json(run, workload, &entry->assignment.pod_sets[i]));
  return json;
}

/* Returns whether an admission check applies to an entry. A check without "onFlavors" applies to all entries; otherwise
   it applies if the entry uses one of these flavors. */
static bool check_applies(const struct hr__kueue_cycle_run *run, const cJSON *check,
                          const struct hr__kueue_entry *entry) {
  const cJSON *flavors = hr__case_get(check, "onFlavors"), *flavor;
  bool applies = !cJSON_GetArraySize(flavors);
  for (uint32_t i = 0; i < entry->assignment.n_pod_sets; i++)
    for (uint32_t k = 0; k < entry->assignment.pod_sets[i].n_choices; k++) {
      uint32_t used = entry->assignment.pod_sets[i].choices[k].flavor;
      cJSON_ArrayForEach(flavor, flavors) applies |=
          cJSON_IsString(flavor) && hr__kueue_name_find(&run->self->flavors, flavor->valuestring) == used;
    }
  return applies;
}

/* Returns whether all admission checks of the queue that apply to the entry are ready, and its pods are placed. */
static bool is_fully_admitted(const struct hr__kueue_cycle_run *run, const struct hr__kueue_entry *entry) {
  uint32_t queue = run->self->world.workloads[entry->workload].queue;
  const cJSON *json = run->self->workload_json[entry->workload], *check, *state;
  for (uint32_t i = 0; i < entry->assignment.n_pod_sets; i++)
    if (entry->assignment.pod_sets[i].placement_pending) return false;
  for (uint32_t i = 0; i < run->self->n_queue_json; i++) {
    if (!hr__case_text_is(run->self->queue_json[i], "name", run->self->queues.items[queue])) continue;
    cJSON_ArrayForEach(check, hr__case_get(run->self->queue_json[i], "admissionChecks")) {
      const char *name = cJSON_IsString(check) ? check->valuestring : hr__case_text(check, "name", "");
      bool ready = !check_applies(run, check, entry);
      cJSON_ArrayForEach(state, hr__case_get(json, "admissionChecks")) ready |=
          hr__case_text_is(state, "name", name) && hr__case_text_is(state, "state", "Ready");
      if (!ready) return false;
    }
  }
  return true;
}

/* Records an admission in the results of the cycle. */
static void admit(struct hr__kueue_cycle_run *run, const struct hr__kueue_entry *entry) {
  const struct hr__kueue_workload *workload = &run->self->world.workloads[entry->workload];
  cJSON_DeleteItemFromObjectCaseSensitive(run->reserved, workload->name);
  cJSON_AddItemToObject(run->reserved, workload->name, admission_json(run, entry));
  if (!workload->reserved) {
    cJSON_AddItemToArray(run->admitted, cJSON_CreateString(workload->name));
    add_event(run->events, workload->name, "QuotaReserved", false);
  }
  if (!workload->admitted && is_fully_admitted(run, entry)) add_event(run->events, workload->name, "Admitted", false);
}

static void preempt(struct hr__kueue_cycle_run *run, const struct hr__kueue_entry *entry) {
  const struct hr__kueue_world *world = &run->self->world;
  for (uint32_t i = 0; entry->preempts && i < entry->n_targets; i++) {
    const struct hr__kueue_target *target = &run->cycle.targets[entry->first_target + i];
    const struct hr__kueue_workload *victim = &world->workloads[target->workload];
    if (victim->evicted) continue;
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "workload", victim->name);
    cJSON_AddStringToObject(row, "reason", hr__kueue_cause_name(target->cause));
    cJSON_AddItemToArray(run->preempted, row);
    add_event(run->events, victim->name, "EvictedDueToPreempted", false);
    add_event(run->events, victim->name, "Preempted", false);
    add_event(run->events, world->workloads[entry->workload].name, "PreemptedWorkload", false);
  }
}

static void count_metrics(struct hr__kueue_cycle_run *run, const struct hr__kueue_entry *entry) {
  static const char *const outcomes[] = {"", "new_targets", "deferred_fit", "overlap"};
  const char *queue = run->self->queues.items[run->self->world.workloads[entry->workload].queue];
  if (entry->skipped_preemption) hr__kueue_case_add_to(run->skipped, queue, 1);
  if (!entry->recomputation) return;
  cJSON *row = cJSON_GetObjectItemCaseSensitive(run->recomputed, queue);
  if (!row) row = cJSON_AddObjectToObject(run->recomputed, queue);
  cJSON_AddNumberToObject(row, outcomes[entry->recomputation], 1);
}

static void requeue(struct hr__kueue_cycle_run *run, const struct hr__kueue_entry *entry) {
  const struct hr__kueue_workload *workload = &run->self->world.workloads[entry->workload];
  const char *reason = hr__kueue_reason_name(entry->reason);
  if (entry->migrated != HR_NONE)
    add_event(run->events, run->self->world.workloads[entry->migrated].name, "EvictedDueToFlavorMigration", false);
  preempt(run, entry);
  if (workload->reserved) { /* keeps its quota and waits for the next second pass */
    add_event(run->events, workload->name, "SecondPassFailed", true);
    return;
  }
  bool bookmark = entry->nominated && entry->keeps_bookmark && hr__kueue_has_bookmark(&entry->assignment);
  hr__kueue_pending_requeue(&run->pending, entry->workload, entry->requeue, bookmark);
  if (!*reason) return;
  cJSON_AddStringToObject(run->reasons, workload->name, reason);
  add_event(run->events, workload->name, reason, true);
}

/* Records an eviction in the second pass. Kueue evicts a workload with a change in the API of Kubernetes. If the API
   refuses the change, the second pass fails. Cases do not state whether the API refuses it, so both possible events are
   recorded. */
static void evict(struct hr__kueue_cycle_run *run, const struct hr__kueue_entry *entry) {
  const char *key = run->self->world.workloads[entry->workload].name;
  if (!run->refused_events) run->refused_events = cJSON_AddArrayToObject(run->actual, "refusedEvents");
  add_event(run->events, key, "EvictedDueToNodeFailures", false);
  add_event(run->refused_events, key, "SecondPassFailed", true);
}

static void finish_entries(struct hr__kueue_cycle_run *run) {
  for (uint32_t i = 0; i < run->cycle.n_entries; i++) {
    const struct hr__kueue_entry *entry = &run->cycle.entries[i];
    if (run->self->world.workloads[entry->workload].queue != HR_NONE) count_metrics(run, entry);
    if (entry->status == HR__KUEUE_ADMITTED && hr__case_get(run->self->input, "admissionError"))
      hr__kueue_pending_requeue(&run->pending, entry->workload, HR__KUEUE_REQUEUE_FAILED_AFTER_NOMINATION, false);
    else if (entry->status == HR__KUEUE_ADMITTED)
      admit(run, entry);
    else if (entry->status == HR__KUEUE_EVICTED)
      evict(run, entry);
    else
      requeue(run, entry);
  }
}

/* Returns {queue: [workloads]} for the workloads at a place. */
static cJSON *places_json(const struct hr__kueue_cycle_run *run, enum hr__kueue_place place) {
  cJSON *all = cJSON_CreateObject();
  for (uint32_t i = 0; i < run->self->world.n_workloads; i++) {
    if (hr__kueue_pending_place(&run->pending, i) != place) continue;
    const char *queue = run->self->queues.items[run->self->world.workloads[i].queue];
    cJSON *list = cJSON_GetObjectItemCaseSensitive(all, queue);
    if (!list) list = cJSON_AddArrayToObject(all, queue);
    cJSON_AddItemToArray(list, cJSON_CreateString(run->self->world.workloads[i].name));
  }
  return all;
}

/* ---- Cycles ---- */

bool hr__kueue_cycle_start(struct hr__kueue_cycle_run *run, struct hr__kueue_case *self) {
  const cJSON *list = hr__case_get(self->input, "workloads");
  run->self = self;
  if (!hr__kueue_case_workloads(self, &list, 1) || !read_states(run)) return false;
  struct hr_arena *arena = self->verdict->arena;
  uint32_t heads = self->world.tree.n_queues + self->world.n_workloads;
  run->heads = hr__verdict_alloc(self->verdict, (size_t)heads + 1, sizeof *run->heads);
  bool ready = run->heads && hr__kueue_cycle_begin(&run->cycle, arena, &self->world, heads) &&
               hr__kueue_pending_begin(&run->pending, arena, &self->world) && add_pending(run);
  if (!ready) self->verdict->no_memory = true;
  return ready;
}

/* Writes the workloads of the next cycle to `run->heads`: the workloads that wait for a second pass, then the heads of
   the active queues. Returns their number. */
static uint32_t take_heads(struct hr__kueue_cycle_run *run) {
  struct hr__kueue_world *world = &run->self->world;
  uint32_t n = 0;
  for (uint32_t i = 0; i < world->n_workloads; i++)
    if (needs_second_pass(&world->workloads[i], run->self->workload_json[i])) run->heads[n++] = i;
  for (uint32_t queue = 0; queue < world->tree.n_queues; queue++) {
    uint32_t head = world->queues[queue].inactive ? HR_NONE : hr__kueue_pending_pop(&run->pending, queue);
    if (head != HR_NONE) run->heads[n++] = head;
  }
  return n;
}

static void create_results(struct hr__kueue_cycle_run *run) {
  run->actual = cJSON_CreateObject();
  run->reserved = cJSON_AddObjectToObject(run->actual, "reserved");
  run->admitted = cJSON_AddArrayToObject(run->actual, "admittedThisCycle");
  run->preempted = cJSON_AddArrayToObject(run->actual, "preempted");
  run->events = cJSON_AddArrayToObject(run->actual, "events");
  run->refused_events = NULL;
  run->reasons = cJSON_AddObjectToObject(run->actual, "pendingReason");
  run->skipped = cJSON_AddObjectToObject(run->actual, "skippedPreemptions");
  run->recomputed = cJSON_AddObjectToObject(run->actual, "targetRecomputations");
  for (uint32_t i = 0; i < run->self->world.tree.n_queues; i++)
    cJSON_AddNumberToObject(run->skipped, run->self->queues.items[i], 0);
}

bool hr__kueue_cycle_step(struct hr__kueue_cycle_run *run) {
  cJSON_Delete(run->actual);
  create_results(run);
  if (hr__kueue_cycle_run(&run->cycle, run->heads, take_heads(run))) {
    finish_entries(run);
    return true;
  }
  run->self->verdict->no_memory = true;
  return false;
}

bool hr__kueue_cycle_take_effect(struct hr__kueue_cycle_run *run) {
  struct hr__kueue_world *world = &run->self->world;
  for (uint32_t i = 0; i < run->cycle.n_entries; i++) {
    const struct hr__kueue_entry *entry = &run->cycle.entries[i];
    if (entry->status != HR__KUEUE_ADMITTED || world->workloads[entry->workload].reserved) continue;
    size_t room = (size_t)world->workloads[entry->workload].n_pod_sets * world->n_resources + 1;
    struct hr__kueue_assigned *assigned = hr__verdict_alloc(run->self->verdict, room, sizeof *assigned);
    if (!assigned) return false;
    hr__kueue_give_quota(world, entry->workload, &entry->assignment, assigned);
  }
  return true;
}

/* Adds the admissions that exist before the cycle to the result. If `is_unsettled` is set, adds only those of workloads
   that are not fully admitted or that have a failed node. */
static void add_existing(struct hr__kueue_cycle_run *run, bool is_unsettled) {
  const struct hr__kueue_topology_calls *topology = &run->self->world.topology;
  for (uint32_t i = 0; i < run->self->world.n_workloads; i++) {
    const struct hr__kueue_workload *workload = &run->self->world.workloads[i];
    bool failed = topology->has_failed_node && topology->has_failed_node(topology->self, workload);
    if (workload->listed && (!is_unsettled || !workload->admitted || failed))
      cJSON_AddItemToObject(run->reserved, run->self->world.workloads[i].name,
                            cJSON_Duplicate(hr__case_get(run->self->workload_json[i], "admission"), true));
  }
}

/* Returns the events of the cycle. If the cycle evicts workloads, the case may expect that the API refuses this; then
   returns the events of a cycle with refused evictions. */
static const cJSON *possible_events(const struct hr__kueue_cycle_run *run, const cJSON *want) {
  cJSON *item;
  if (!run->refused_events || hr__json_is_equal(want, run->events, HR__COMPARE_SETS, 0)) return run->events;
  cJSON_ArrayForEach(item, run->events) if (!hr__case_text_is(item, "reason", "EvictedDueToNodeFailures"))
      cJSON_AddItemToArray(run->refused_events, cJSON_Duplicate(item, true));
  return hr__json_is_equal(want, run->refused_events, HR__COMPARE_SETS, 0) ? run->refused_events : run->events;
}

/* Compares the results for which the case has an expected value. */
static void compare(struct hr__kueue_cycle_run *run) {
  static const char *const members[] = {"reserved",      "admittedThisCycle",  "left",
                                        "inadmissible",  "preempted",          "events",
                                        "pendingReason", "skippedPreemptions", "targetRecomputations"};
  cJSON_AddItemToObject(run->actual, "left", places_json(run, HR__KUEUE_IN_HEAP));
  cJSON_AddItemToObject(run->actual, "inadmissible", places_json(run, HR__KUEUE_PARKED));
  for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
    const cJSON *want = hr__case_get(run->self->expect, members[i]);
    bool counts = strcmp(members[i], "skippedPreemptions") == 0; /* only the queues that the case names are compared */
    bool are_events = strcmp(members[i], "events") == 0;
    if (want)
      hr__verdict_compare(run->self->verdict, members[i], want,
                          are_events ? possible_events(run, want) : hr__case_get(run->actual, members[i]),
                          counts ? HR__COMPARE_EXPECTED : HR__COMPARE_SETS, 0);
  }
}

/* ---- Admission fair sharing: cycles until nothing changes ---- */

/* The half life and the sampling interval of these cases. */
#define HALF_LIFE_US (10 * HR_SECOND_US)
#define SAMPLING_US HR_SECOND_US

static void add_local_usage(struct hr__kueue_world *world, uint32_t local_queue, double amount) {
  struct hr__kueue_local_queue *queue = &world->local_queues[local_queue];
  queue->usage = queue->weight > 0 ? queue->usage + amount / queue->weight : 1e300;
}

static void read_local_usage(struct hr__kueue_cycle_run *run, const cJSON *usage) {
  struct hr__kueue_world *world = &run->self->world;
  world->admission_fair_sharing = hr__kueue_has_gate(world, HR__KUEUE_BIT_ADMISSION_FAIR_SHARING);
  for (uint32_t i = 0; i < world->n_local_queues; i++) {
    const cJSON *row = hr__case_get(usage, strchr(world->local_queues[i].name, '/') + 1), *item;
    add_local_usage(world, i, 0);
    cJSON_ArrayForEach(item, row)
        add_local_usage(world, i, item->valuedouble / (strcmp(item->string, "cpu") == 0 ? 1000 : 1));
  }
}

/* Adds the usage of an admitted workload to its local queue, multiplied by the weight that a new value has after one
   sampling interval. */
static void charge(struct hr__kueue_cycle_run *run, const struct hr__kueue_entry *entry) {
  struct hr__kueue_world *world = &run->self->world;
  const struct hr__kueue_workload *workload = &world->workloads[entry->workload];
  double part = hr__kueue_decay_part(SAMPLING_US, HALF_LIFE_US);
  uint32_t cpu = hr__kueue_name_find(&run->self->resources, "cpu");
  for (uint32_t i = 0; workload->local_queue != HR_NONE && i < entry->assignment.n_usage; i++) {
    const struct hr__kueue_usage *usage = &entry->assignment.usage[i];
    double amount = (double)usage->amount / (usage->pair % world->n_resources == cpu ? 1000.0 : 1.0);
    add_local_usage(world, workload->local_queue, amount * part);
  }
}

static void run_until_quiet(struct hr__kueue_cycle_run *run) {
  while (hr__kueue_cycle_step(run) && cJSON_GetArraySize(run->admitted) > 0) {
    for (uint32_t i = 0; i < run->cycle.n_entries; i++)
      if (run->cycle.entries[i].status == HR__KUEUE_ADMITTED) charge(run, &run->cycle.entries[i]);
    if (!hr__kueue_cycle_take_effect(run)) return;
  }
}

/* Runs cycles until none admits a workload. Then compares the workloads that still wait. */
static void run_local_usage(struct hr__kueue_cycle_run *run, const cJSON *usage) {
  read_local_usage(run, usage);
  for (uint32_t i = 0; i < run->self->world.n_workloads; i++) { /* builds the heaps again: the order depends on usage */
    hr__kueue_pending_remove(&run->pending, i);
    if (run->self->world.workloads[i].queue != HR_NONE) hr__kueue_pending_add(&run->pending, i);
  }
  run_until_quiet(run);
  cJSON *waiting = cJSON_CreateObject();
  for (uint32_t i = 0; i < run->self->world.n_workloads; i++)
    if (!run->self->world.workloads[i].reserved)
      cJSON_AddStringToObject(waiting, run->self->world.workloads[i].name, "WaitingForQuota");
  hr__kueue_compare_list(run->self, "pendingReason", waiting, HR__COMPARE_EXACTLY);
}

/* Returns whether a workload replaces an earlier slice of its job: Kueue resizes a job by a new workload that replaces
   the old one. */
static bool has_slices(const struct hr__kueue_cycle_run *run) {
  if (!hr__kueue_has_gate(&run->self->world, HR__KUEUE_BIT_WORKLOAD_SLICES)) return false;
  for (uint32_t i = 0; i < run->self->world.n_workloads; i++)
    if (hr__case_get(hr__case_get(run->self->workload_json[i], "annotations"),
                     "kueue.x-k8s.io/workload-slice-replacement-for"))
      return true;
  return false;
}

static void case_cycle(struct hr__kueue_case *self) {
  struct hr__kueue_cycle_run run = {0};
  if (!hr__kueue_cycle_start(&run, self)) return;
  if (has_slices(&run)) {
    hr__verdict_unsupported(self->verdict, "workload slices");
    return;
  }
  create_results(&run);
  const cJSON *usage = hr__case_get(self->input, "initialUsage");
  if (usage) {
    run_local_usage(&run, usage);
  } else {
    bool has_topology = !strcmp(self->verdict->kind, "cycle.tas");
    if (has_topology || !hr__case_bool(self->expect, "reservedIsNewOnly", false)) add_existing(&run, has_topology);
    if (hr__kueue_cycle_run(&run.cycle, run.heads, take_heads(&run)))
      finish_entries(&run);
    else
      self->verdict->no_memory = true;
    compare(&run);
  }
  cJSON_Delete(run.actual);
}

const struct hr__kueue_case_kind hr__kueue_cycle_kinds[] = {
    {"cycle", case_cycle, NULL}, {"cycle.tas", case_cycle, NULL}, {NULL, NULL, NULL}};
