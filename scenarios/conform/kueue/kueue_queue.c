/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the Kueue cases about queues of waiting workloads: order, heads, requeuing, back-off and the second pass. Some
   of the original tests use fixed objects that the cases do not contain. This file builds these objects. */

#include "policies/kueue/cycle.h"
#include "policies/kueue/kueue.h"
#include "scenarios/conform/kueue/kueue_objects.h"

#include <string.h>

static enum hr__kueue_requeue read_reason(const char *text) {
  static const char *const names[] = {"",
                                      "FailedAfterNomination",
                                      "NamespaceMismatch",
                                      "PendingPreemption",
                                      "PendingMigration",
                                      "PreemptionGated",
                                      "PreemptionFailed",
                                      "NoFit",
                                      "PreemptionNoCandidates"};
  for (int i = 0; i <= HR__KUEUE_REQUEUE_NO_CANDIDATES; i++)
    if (strcmp(names[i], text) == 0) return (enum hr__kueue_requeue)i;
  return HR__KUEUE_REQUEUE_GENERIC;
}

struct queue_run {
  struct hr__kueue_case *self;
  struct hr__kueue_pending pending;
};

static bool has_queue(const cJSON *input) {
  return hr__case_get(input, "clusterQueues") || hr__case_get(input, "cq");
}

/* Adds a BestEffortFIFO queue to an input without queues. */
static void prepare(cJSON *input) {
  if (!has_queue(input)) cJSON_AddItemToObject(input, "cq", cJSON_Parse("{\"name\":\"cq\"}"));
}

/* Starts a case with the workloads in the member `list` of the input. If the case has no queues, all workloads belong
   to the queue that was added. Returns false if memory is exhausted. */
static bool begin(struct queue_run *run, struct hr__kueue_case *self, const char *list) {
  const cJSON *workloads = hr__case_get(self->input, list);
  run->self = self;
  self->requeuing =
      hr__case_text(hr__case_get(self->input, "workloadOrdering"), "podsReadyRequeuingTimestamp", self->requeuing);
  if (!hr__kueue_case_workloads(self, &workloads, 1)) return false;
  struct hr__kueue_world *world = &self->world;
  for (uint32_t i = 0; !has_queue(self->verdict->input) && i < world->n_workloads; i++) world->workloads[i].queue = 0;
  if (hr__kueue_pending_begin(&run->pending, self->verdict->arena, world)) return true;
  self->verdict->no_memory = true;
  return false;
}

/* Takes a workload from the first queue. Returns its name; "" if the queue is empty. */
static const char *pop_name(struct queue_run *run) {
  uint32_t head = hr__kueue_pending_pop(&run->pending, 0);
  return head == HR_NONE ? "" : hr__case_text(run->self->workload_json[head], "name", "");
}

/* Reads the back-off of a workload: the time before which it is not queued again, and whether its condition Requeued is
   False, so that it stays parked. */
static void read_backoff(struct queue_run *run, uint32_t id) {
  const cJSON *json = run->self->workload_json[id], *item;
  run->pending.requeue_us[id] = hr__kueue_case_time(hr__case_get(json, "requeueState"), "at", HR__KUEUE_NO_TIME);
  cJSON_ArrayForEach(item, hr__case_get(json, "conditions")) if (hr__case_text_is(item, "type", "Requeued") &&
                                                                 hr__case_text_is(item, "status", "False"))
      run->pending.held[id] = true;
}

/* ---- Order ---- */

/* Adds a list of the two workloads of a case. */
static void prepare_pair(cJSON *input) {
  cJSON *list = cJSON_AddArrayToObject(input, "pair");
  cJSON_AddItemToArray(list, cJSON_Duplicate(hr__case_get(input, "w1"), true));
  cJSON_AddItemToArray(list, cJSON_Duplicate(hr__case_get(input, "w2"), true));
  prepare(input);
}

static void case_queue_order(struct hr__kueue_case *self) {
  struct queue_run run = {0};
  if (!begin(&run, self, "pair")) return;
  for (uint32_t i = 0; i < 2; i++) hr__kueue_pending_add(&run.pending, i);
  hr__compare_text(self->verdict, "expected", pop_name(&run));
}

static void case_order_time(struct hr__kueue_case *self) {
  struct hr__kueue_workload workload;
  if (!hr__kueue_case_workload(self, hr__case_get(self->input, "wl"), &workload)) return;
  const cJSON *want = hr__case_get(self->expect, "want"); /* a result that is not a number is not compared */
  if (cJSON_IsNumber(want)) hr__verdict_compare_number(self->verdict, "want", want, (double)workload.queue_us / 1e6);
}

/* Computes the usage of the local queues from their consumed resources. Returns false if memory is exhausted. */
static bool read_consumed(struct hr__kueue_case *self) {
  struct hr__kueue_world *world = &self->world;
  const cJSON *weights_json = hr__case_get(hr__case_get(self->input, "afsConfig"), "resourceWeights");
  double *weights = hr__verdict_alloc(self->verdict, (size_t)world->n_resources + 1, sizeof *weights);
  if (!weights) return false;
  for (uint32_t i = 0; i < world->n_resources; i++) weights[i] = hr__case_real(weights_json, world->resources[i], 1);
  uint32_t cpu = hr__kueue_name_find(&self->resources, "cpu");
  for (uint32_t i = 0; i < world->n_local_queues; i++) {
    const cJSON *row = hr__case_get(hr__case_get(self->input, "initConsumedResources"), world->local_queues[i].name);
    struct hr__kueue_amounts consumed = hr__kueue_case_amounts(self, row);
    world->local_queues[i].usage = hr__kueue_local_usage(&consumed, NULL, weights, world->local_queues[i].weight, cpu);
  }
  world->admission_fair_sharing = true;
  return true;
}

static void prepare_local_queues(cJSON *input) {
  cJSON *item;
  cJSON_AddItemToObject(input, "localQueues", cJSON_Duplicate(hr__case_get(input, "lqs"), true));
  cJSON_ArrayForEach(item,
                     cJSON_GetObjectItemCaseSensitive(input, "localQueues")) if (!hr__case_get(item, "clusterQueue"))
      cJSON_AddStringToObject(item, "clusterQueue", hr__case_text(hr__case_get(input, "cq"), "name", "cq"));
  prepare(input);
}

static void add_workloads(struct queue_run *run) {
  for (uint32_t i = 0; i < run->self->world.n_workloads; i++)
    if (run->self->world.workloads[i].queue != HR_NONE) hr__kueue_pending_add(&run->pending, i);
}

static void case_local_order(struct hr__kueue_case *self) {
  struct queue_run run = {0};
  if (!begin(&run, self, "wls") || !read_consumed(self)) return;
  add_workloads(&run);
  const cJSON *want = hr__case_get(hr__case_get(self->expect, "wantWl"), "name");
  hr__verdict_compare_text(self->verdict, "wantWl", want, pop_name(&run));
}

/* ---- Requeue ---- */

/* Adds one queue with one workload to the input of a case about a reason for requeuing. */
static void prepare_one(cJSON *input, const char *queue) {
  cJSON_AddItemToObject(input, "cq", cJSON_Parse(queue));
  cJSON_AddItemToArray(cJSON_AddArrayToObject(input, "workloads"),
                       cJSON_Parse("{\"name\":\"wl\",\"namespace\":\"ns\",\"podSets\":[]}"));
}

static void prepare_strict(cJSON *input) {
  prepare_one(input, "{\"name\":\"cq\",\"queueingStrategy\":\"StrictFIFO\"}");
}

static void prepare_best_effort(cJSON *input) {
  prepare_one(input, "{\"name\":\"cq\",\"queueingStrategy\":\"BestEffortFIFO\"}");
}

/* Starts a case about a reason for requeuing, and takes its workload from the queue. */
static bool begin_one(struct queue_run *run, struct hr__kueue_case *self) {
  if (!begin(run, self, "workloads")) return false;
  self->world.workloads[0].queue = 0;
  return hr__kueue_pending_add(&run->pending, 0) && hr__kueue_pending_pop(&run->pending, 0) == 0;
}

static bool has_bookmark(const cJSON *last) {
  const cJSON *row, *tried;
  cJSON_ArrayForEach(row, hr__case_get(last, "lastTriedFlavorIdx"))
      cJSON_ArrayForEach(tried, row) if (hr__case_value_whole(tried, -1) != -1) return true;
  return false;
}

static void case_requeue_by_reason(struct hr__kueue_case *self) {
  struct queue_run run = {0};
  if (!begin_one(&run, self)) return;
  hr__kueue_pending_requeue(&run.pending, 0, read_reason(hr__case_text(self->input, "reason", "")),
                            has_bookmark(hr__case_get(self->input, "lastAssignment")));
  hr__compare_bool(self->verdict, "wantInadmissible", hr__kueue_pending_place(&run.pending, 0) == HR__KUEUE_PARKED);
}

static void case_shape_reason(struct hr__kueue_case *self) {
  enum hr__kueue_requeue why = read_reason(hr__case_text(self->input, "reason", ""));
  hr__compare_bool(self->verdict, "wantHash", hr__kueue_requeue_counts_for_shape(why));
}

static void case_no_fit_known(struct hr__kueue_case *self) {
  struct queue_run run = {0};
  if (!begin_one(&run, self)) return;
  hr__kueue_pending_requeue(&run.pending, 0, read_reason(hr__case_text(self->input, "requeueReason", "")), false);
  if (hr__case_bool(self->input, "deleteFromInadmissible", false)) hr__kueue_pending_remove(&run.pending, 0);
  bool known = hr__kueue_pending_place(&run.pending, 0) == HR__KUEUE_PARKED &&
               hr__kueue_requeue_counts_for_shape(run.pending.why[0]);
  hr__compare_bool(self->verdict, "wantOk", known);
}

static void prepare_backoff(cJSON *input) {
  cJSON_AddItemToArray(cJSON_AddArrayToObject(input, "workloads"),
                       cJSON_Duplicate(hr__case_get(input, "workloadInfo"), true));
  prepare(input);
}

static void case_backoff(struct hr__kueue_case *self) {
  struct queue_run run = {0};
  if (!begin(&run, self, "workloads")) return;
  read_backoff(&run, 0);
  hr__kueue_pending_add(&run.pending, 0); /* parked while its back-off is not over */
  hr__compare_bool(self->verdict, "want", hr__kueue_pending_place(&run.pending, 0) == HR__KUEUE_IN_HEAP);
}

/* Returns the status of the workload after the cycle. Its pod set has the name "main" and requests nothing. */
static cJSON *status_json(const char *reason) {
  cJSON *status = cJSON_CreateObject(), *conditions = cJSON_AddArrayToObject(status, "conditions");
  hr__kueue_add_condition(conditions, "QuotaReserved", false, reason);
  hr__kueue_add_condition(conditions, "Admitted", false, "NoReservation");
  cJSON *row = cJSON_CreateObject();
  cJSON_AddStringToObject(row, "name", "main");
  cJSON_AddItemToArray(cJSON_AddArrayToObject(status, "resourceRequests"), row);
  return status;
}

/* Returns the workloads at a place of the queue: {"cq": ["ns1/w1"]} if the workload is there, otherwise NULL. */
static cJSON *place_json(const struct queue_run *run, enum hr__kueue_place place) {
  if (hr__kueue_pending_place(&run->pending, 0) != place) return NULL;
  cJSON *all = cJSON_CreateObject();
  cJSON_AddItemToArray(cJSON_AddArrayToObject(all, "cq"), cJSON_CreateString("ns1/w1"));
  return all;
}

static void case_after_cycle(struct hr__kueue_case *self) {
  struct queue_run run = {0};
  const cJSON *entry = hr__case_get(self->input, "e");
  if (!begin_one(&run, self)) return;
  const char *status = hr__case_text(entry, "status", "");
  enum hr__kueue_requeue why = read_reason(hr__case_text(entry, "requeueReason", ""));
  if (*status && why == HR__KUEUE_REQUEUE_GENERIC) why = HR__KUEUE_REQUEUE_FAILED_AFTER_NOMINATION;
  hr__kueue_pending_requeue(&run.pending, 0, why, false);
  bool reported = strcmp(status, "assumed") != 0 && strcmp(status, "nominated") != 0;
  hr__compare_json(self->verdict, "wantWorkloads", place_json(&run, HR__KUEUE_IN_HEAP), HR__COMPARE_EXACTLY);
  hr__compare_json(self->verdict, "wantInadmissible", place_json(&run, HR__KUEUE_PARKED), HR__COMPARE_EXACTLY);
  hr__compare_json(self->verdict, "wantStatus",
                   reported ? status_json(hr__case_text(entry, "quotaReservedReason", "")) : NULL, HR__COMPARE_SETS);
  if (reported || hr__case_get(self->expect, "wantStatusUpdates"))
    hr__compare_number(self->verdict, "wantStatusUpdates", reported);
}

/* ---- Many workloads ---- */

static cJSON *keys_at(const struct queue_run *run, enum hr__kueue_place place, uint32_t queue) {
  cJSON *list = cJSON_CreateArray();
  for (uint32_t i = 0; i < run->self->world.n_workloads; i++)
    if (hr__kueue_pending_place(&run->pending, i) == place &&
        (queue == HR_NONE || run->self->world.workloads[i].queue == queue))
      cJSON_AddItemToArray(list, cJSON_CreateString(run->self->world.workloads[i].name));
  return list;
}

/* Calls `step` for each workload in a list of the case. Workloads are identified by namespace and name. */
static void for_each(struct queue_run *run, const char *list,
                     void (*step)(struct queue_run *, uint32_t, const cJSON *)) {
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(run->self->input, list)) {
    uint32_t id = hr__kueue_case_find_workload(run->self, hr__kueue_case_key(run->self, item));
    if (id != HR_NONE) step(run, id, item);
  }
}

static void op_add(struct queue_run *run, uint32_t id, const cJSON *json) {
  (void)json;
  hr__kueue_pending_add(&run->pending, id);
}

static void op_park(struct queue_run *run, uint32_t id, const cJSON *json) {
  (void)json;
  hr__kueue_pending_requeue_as(&run->pending, id, false, HR__KUEUE_REQUEUE_GENERIC);
}

static void op_requeue(struct queue_run *run, uint32_t id, const cJSON *json) {
  (void)json;
  hr__kueue_pending_requeue_as(&run->pending, id, true, HR__KUEUE_REQUEUE_GENERIC);
}

/* Updates a workload, and queues it. But if the workload is parked and none of `members` has changed, it remains
   parked, because it cannot have become admissible. */
static void op_update(struct queue_run *run, uint32_t id, const cJSON *json) {
  static const char *const members[] = {"podSets", "priority", "queue", "active", "reclaimablePods", "conditions"};
  bool changed = false;
  for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
    const cJSON *old = hr__case_get(run->self->workload_json[id], members[i]), *now = hr__case_get(json, members[i]);
    changed |= (old || now) && !cJSON_Compare(old, now, true);
  }
  run->self->workload_json[id] = json;
  if (hr__kueue_pending_place(&run->pending, id) == HR__KUEUE_PARKED && !changed) return;
  struct hr__kueue_workload *workload = &run->self->world.workloads[id];
  workload->priority = hr__case_whole(json, "priority", 0);
  read_backoff(run, id);
  hr__kueue_pending_add(&run->pending, id);
}

static void op_remove(struct queue_run *run, uint32_t id, const cJSON *json) {
  (void)json;
  hr__kueue_pending_remove(&run->pending, id);
}

/* Collects the workloads of several lists. If a workload is in more than one list, the first list defines it. */
static void prepare_ops(cJSON *input) {
  static const char *const names[] = {"workloadsToAdd", "inadmissibleWorkloadsToRequeue",
                                      "admissibleWorkloadsToRequeue", "workloadsToUpdate", "workloadsToDelete"};
  cJSON *all = cJSON_AddArrayToObject(input, "workloads");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const cJSON *item, *other;
    cJSON_ArrayForEach(item, hr__case_get(input, names[i])) {
      bool known = false;
      cJSON_ArrayForEach(other, all) known |=
          hr__case_text_is(other, "name", hr__case_text(item, "name", "")) &&
          hr__case_text_is(other, "namespace", hr__case_text(item, "namespace", ""));
      if (!known) cJSON_AddItemToArray(all, cJSON_Duplicate(item, true));
    }
  }
  prepare(input);
}

static void run_ops(struct queue_run *run) {
  struct hr__kueue_case *self = run->self;
  for (uint32_t i = 0; i < run->self->world.n_workloads; i++) {
    /* The queue of these cases selects the namespaces ns1 and ns2. */
    if (hr__case_text_is(run->self->workload_json[i], "namespace", "ns3"))
      run->self->world.workloads[i].obstacle = HR__KUEUE_NAMESPACE_MISMATCH;
    read_backoff(run, i);
  }
  for_each(run, "workloadsToAdd", op_add);
  for_each(run, "inadmissibleWorkloadsToRequeue", op_park);
  for_each(run, "admissibleWorkloadsToRequeue", op_requeue);
  for_each(run, "workloadsToUpdate", op_update);
  for_each(run, "workloadsToDelete", op_remove);
  uint32_t moved = 0;
  if (hr__case_bool(run->self->input, "queueInadmissibleWorkloads", false))
    moved = hr__kueue_pending_return(&run->pending, 0);
  const struct hr__kueue_pending_queue *queue = &run->pending.queues[0];
  hr__kueue_compare_list(self, "wantActiveWorkloads", keys_at(run, HR__KUEUE_IN_HEAP, HR_NONE), HR__COMPARE_SETS);
  hr__compare_number(self->verdict, "wantPending", queue->n_heap + queue->n_parked);
  if (hr__case_get(self->expect, "wantInadmissibleWorkloadsRequeued"))
    hr__compare_number(self->verdict, "wantInadmissibleWorkloadsRequeued", moved);
}

static void case_queue_ops(struct hr__kueue_case *self) {
  struct queue_run run = {0};
  if (begin(&run, self, "workloads")) run_ops(&run);
}

/* Returns {queue: [workloads]} for the workloads at a place; NULL: there are none. */
static cJSON *table_at(const struct queue_run *run, enum hr__kueue_place place) {
  cJSON *all = cJSON_CreateObject();
  for (uint32_t queue = 0; queue < run->self->world.tree.n_queues; queue++) {
    cJSON *list = keys_at(run, place, queue);
    if (cJSON_GetArraySize(list))
      cJSON_AddItemToObject(all, run->self->queues.items[queue], list);
    else
      cJSON_Delete(list);
  }
  if (all->child) return all;
  cJSON_Delete(all);
  return NULL;
}

/* Renames workloads of the namespace "defaultNamespace", which is the name of a constant of the tests. Its value is
   "default". */
static void rename_namespace(struct queue_run *run) {
  for (uint32_t i = 0; i < run->self->world.n_workloads; i++) {
    struct hr__kueue_workload *workload = &run->self->world.workloads[i];
    const char *slash = strchr(workload->name, '/');
    if (strncmp(workload->name, "defaultNamespace/", 17) != 0 || !slash) continue;
    size_t length = strlen(slash + 1) + 9;
    char *key = hr__verdict_alloc(run->self->verdict, length, 1);
    if (!key) return;
    strcpy(key, "default/");
    strcat(key, slash + 1);
    workload->name = key;
  }
}

static void case_requeue_cohort(struct hr__kueue_case *self) {
  struct queue_run run = {0};
  const cJSON *item;
  if (!begin(&run, self, "workloads")) return;
  rename_namespace(&run);
  struct hr__kueue_world *world = &self->world;
  for (uint32_t i = 0; i < world->n_workloads; i++)
    if (world->workloads[i].queue != HR_NONE)
      hr__kueue_pending_requeue_as(&run.pending, i, false, HR__KUEUE_REQUEUE_GENERIC);
  uint32_t moved = 0;
  cJSON_ArrayForEach(item, hr__case_get(self->input, "cqNames")) {
    uint32_t queue = hr__kueue_name_find(&self->queues, cJSON_IsString(item) ? item->valuestring : NULL);
    /* Queues below a cycle of cohorts are inactive; their workloads remain parked. */
    if (queue != HR_NONE && !world->queues[queue].inactive) moved += hr__kueue_pending_return(&run.pending, queue);
  }
  hr__compare_json(self->verdict, "wantActive", table_at(&run, HR__KUEUE_IN_HEAP), HR__COMPARE_SETS);
  hr__compare_json(self->verdict, "wantInadmissible", table_at(&run, HR__KUEUE_PARKED), HR__COMPARE_SETS);
  if (hr__case_get(self->expect, "wantMovedCount")) hr__compare_number(self->verdict, "wantMovedCount", moved);
}

/* ---- Manager of the queues ---- */

static const cJSON *local_queue_of(const cJSON *input, const cJSON *workload) {
  const cJSON *item;
  cJSON_ArrayForEach(
      item, hr__case_get(input, "queues")) if (hr__case_text_is(item, "name", hr__case_text(workload, "queue", "")) &&
                                               hr__case_text_is(item, "namespace",
                                                                hr__case_text(workload, "namespace", ""))) return item;
  return NULL;
}

/* Returns whether the workload may wait in a queue: it is active, has not finished, and has no quota. */
static bool is_admissible(const cJSON *workload) {
  return hr__case_bool(workload, "active", true) && !hr__kueue_case_condition(workload, "Finished") &&
         !hr__kueue_case_condition(workload, "QuotaReserved");
}

static bool queue_exists(const cJSON *input, const cJSON *local_queue) {
  const char *name = hr__case_text(local_queue, "clusterQueue", "");
  return *name && hr__case_text_is(hr__case_get(input, "cq"), "name", name);
}

static void case_requeue_strict(struct hr__kueue_case *self) {
  const cJSON *input = self->input, *workload = hr__case_get(input, "workload");
  bool requeued = hr__case_bool(input, "inClient", false) && !hr__case_bool(input, "inQueue", false) &&
                  is_admissible(workload) && queue_exists(input, local_queue_of(input, workload));
  hr__compare_bool(self->verdict, "wantRequeued", requeued);
}

static cJSON *assigned_json(struct hr__kueue_case *self, const cJSON *workload, const cJSON *local_queue, cJSON *all) {
  if (local_queue)
    cJSON_AddStringToObject(all, hr__kueue_case_key(self, workload), hr__kueue_case_key(self, local_queue));
  return all;
}

static void case_add_workload(struct hr__kueue_case *self) {
  const cJSON *workload = hr__case_get(self->input, "workload");
  const cJSON *local_queue = local_queue_of(self->input, workload);
  bool admissible = is_admissible(workload);
  const char *error = NULL;
  if (!admissible)
    error = "errWorkloadIsInadmissible";
  else if (!local_queue)
    error = "ErrLocalQueueDoesNotExistOrInactive";
  else if (!queue_exists(self->input, local_queue))
    error = "ErrClusterQueueDoesNotExist";
  hr__compare_text(self->verdict, "wantErr", error);
  cJSON *assigned = assigned_json(self, workload, admissible ? local_queue : NULL, cJSON_CreateObject());
  hr__compare_json(self->verdict, "wantAssigned", assigned, HR__COMPARE_EXACTLY);
}

static void prepare_heads(cJSON *input) {
  cJSON_AddItemToObject(input, "localQueues", cJSON_Duplicate(hr__case_get(input, "queues"), true));
  prepare(input);
}

static void case_heads(struct hr__kueue_case *self) {
  struct queue_run run = {0};
  if (!begin(&run, self, "workloads")) return;
  cJSON *heads = cJSON_CreateArray(), *assigned = cJSON_CreateObject();
  for (uint32_t i = 0; i < self->world.n_workloads; i++)
    assigned_json(self, self->workload_json[i], local_queue_of(self->input, self->workload_json[i]), assigned);
  add_workloads(&run);
  for (uint32_t queue = 0; queue < self->world.tree.n_queues; queue++) {
    /* In these cases the queues with names that begin with "active-" are active. */
    if (strncmp(self->queues.items[queue], "active-", 7) != 0) continue;
    uint32_t head = hr__kueue_pending_pop(&run.pending, queue);
    if (head != HR_NONE)
      cJSON_AddItemToArray(heads, cJSON_CreateString(hr__case_text(self->workload_json[head], "name", "")));
  }
  const cJSON *want = hr__case_get(self->expect, "wantWorkloads");
  bool none = cJSON_IsObject(want) && !cJSON_GetArraySize(want); /* an empty set is written as {} */
  if (!none || cJSON_GetArraySize(heads))
    hr__verdict_compare(self->verdict, "wantWorkloads", want, heads, HR__COMPARE_SETS, 0);
  hr__compare_json(self->verdict, "wantAssigned", assigned, HR__COMPARE_EXACTLY);
  cJSON_Delete(heads);
}

/* ---- Second pass ---- */

/* Returns whether a workload with quota needs a second pass: a node of its placement is unhealthy, or its placement is
   pending. All its admission checks must be ready. */
static bool needs_second_pass(const cJSON *workload) {
  const cJSON *row, *check;
  if (!hr__kueue_case_condition(workload, "QuotaReserved") || hr__kueue_case_condition(workload, "Evicted") ||
      hr__kueue_case_condition(workload, "Finished"))
    return false;
  bool pending = cJSON_GetArraySize(hr__case_get(workload, "unhealthyNodes")) > 0;
  cJSON_ArrayForEach(row, hr__case_get(hr__case_get(workload, "admission"), "podSets")) pending |=
      hr__case_text_is(row, "delayedTopologyRequest", "Pending");
  cJSON_ArrayForEach(check, hr__case_get(workload, "admissionChecks")) pending &=
      hr__case_text_is(check, "state", "Ready");
  return pending;
}

/* The delay before the second pass. */
#define SECOND_PASS_S 1.0

static void case_second_pass(struct hr__kueue_case *self) {
  cJSON *queued = cJSON_CreateObject();
  const cJSON *item, *update = hr__case_get(self->input, "updateWorkload");
  cJSON_ArrayForEach(item, hr__case_get(self->input, "workloads")) {
    const char *key = hr__kueue_case_key(self, item);
    if (needs_second_pass(item) && !hr__case_get(queued, key)) cJSON_AddTrueToObject(queued, key);
  }
  if (update) {
    const char *key = hr__kueue_case_key(self, update);
    bool needed = needs_second_pass(update), is_new = needed && !hr__case_get(queued, key);
    if (!needed) cJSON_DeleteItemFromObjectCaseSensitive(queued, key);
    if (is_new) cJSON_AddTrueToObject(queued, key);
    hr__compare_bool(self->verdict, "wantUpdateQueued", is_new);
  }
  cJSON *ready = cJSON_CreateArray();
  if (hr__case_real(self->input, "passTime", 0) >= SECOND_PASS_S)
    cJSON_ArrayForEach(item, queued) cJSON_AddItemToArray(ready, cJSON_CreateString(item->string));
  hr__kueue_compare_list(self, "wantReady", ready, HR__COMPARE_SETS);
  cJSON_Delete(queued);
}

const struct hr__kueue_case_kind hr__kueue_queue_kinds[] = {
    {"queue.strictFIFO", case_queue_order, prepare_pair},
    {"queue.orderTimestamp", case_order_time, NULL},
    {"queue.admissionFairSharing", case_local_order, prepare_local_queues},
    {"queue.bestEffortRequeue", case_requeue_by_reason, prepare_best_effort},
    {"queue.strictRequeue", case_requeue_by_reason, prepare_strict},
    {"queue.inadmissibleHash", case_shape_reason, NULL},
    {"queue.noFitReason", case_no_fit_known, prepare_best_effort},
    {"queue.backoff", case_backoff, prepare_backoff},
    {"queue.requeueAfterCycle", case_after_cycle, prepare_best_effort},
    {"queue.ops", case_queue_ops, prepare_ops},
    {"queue.requeueCohort", case_requeue_cohort, prepare},
    {"queue.requeueStrict", case_requeue_strict, NULL},
    {"queue.addWorkload", case_add_workload, NULL},
    {"queue.heads", case_heads, prepare_heads},
    {"queue.secondPass", case_second_pass, NULL},
    {NULL, NULL, NULL}};
