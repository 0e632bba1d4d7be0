/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the Kueue cases about queues of waiting workloads: order, heads, requeuing, back-off and the second pass. Some
   of the original tests use fixed objects that the cases do not contain. This file builds these objects. */

#include "policies/kueue/cycle.h"
#include "policies/kueue/kueue.h"
#include "scenarios/conform/kueue/kueue_objects.h"

#include <string.h>

static const cJSON *expect_of(const cJSON *whole, const char *name) {
  return hr__case_get(hr__case_get(whole, "expect"), name);
}

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
  struct hr__kueue_case self;
  struct hr__kueue_pending pending;
  cJSON *copy; /* the case with the objects that were added; NULL: none were added */
};

/* Starts a case with the workloads in `lists`. A case without queues gets one BestEffortFIFO queue, to which all
   workloads belong. Returns false if memory is exhausted; the caller must call finish() in any case. */
static bool begin(struct queue_run *run, const cJSON *whole, struct hr__verdict *verdict, const cJSON *const *lists,
                  uint32_t n_lists) {
  const cJSON *input = hr__case_get(whole, "input");
  bool has_queue = hr__case_get(input, "clusterQueues") || hr__case_get(input, "cq");
  if (!has_queue) {
    run->copy = cJSON_Duplicate(whole, true);
    cJSON_AddItemToObject(cJSON_GetObjectItemCaseSensitive(run->copy, "input"), "cq", cJSON_Parse("{\"name\":\"cq\"}"));
    whole = run->copy;
  }
  if (!hr__kueue_case_begin(&run->self, whole, verdict)) return false;
  run->self.requeuing =
      hr__case_text(hr__case_get(input, "workloadOrdering"), "podsReadyRequeuingTimestamp", run->self.requeuing);
  if (!hr__kueue_case_workloads(&run->self, lists, n_lists)) return false;
  struct hr__kueue_world *world = &run->self.world;
  for (uint32_t i = 0; !has_queue && i < world->n_workloads; i++) world->workloads[i].queue = 0;
  if (hr__kueue_pending_begin(&run->pending, verdict->arena, world)) return true;
  verdict->no_memory = true;
  return false;
}

static void finish(struct queue_run *run) {
  cJSON_Delete(run->copy);
}

/* Reads the back-off of a workload: the time before which it is not queued again, and whether its condition Requeued is
   False, so that it stays parked. */
static void read_backoff(struct queue_run *run, uint32_t id) {
  const cJSON *json = run->self.workload_json[id], *item;
  run->pending.requeue_us[id] = hr__kueue_case_time(hr__case_get(json, "requeueState"), "at", HR__KUEUE_NO_TIME);
  cJSON_ArrayForEach(item, hr__case_get(json, "conditions")) if (hr__case_text_is(item, "type", "Requeued") &&
                                                                 hr__case_text_is(item, "status", "False"))
      run->pending.held[id] = true;
}

/* ---- Order ---- */

/* Returns a list of the two workloads of a case. The caller must free it. */
static cJSON *pair_of(const cJSON *input) {
  cJSON *list = cJSON_CreateArray();
  cJSON_AddItemToArray(list, cJSON_Duplicate(hr__case_get(input, "w1"), true));
  cJSON_AddItemToArray(list, cJSON_Duplicate(hr__case_get(input, "w2"), true));
  return list;
}

static void case_queue_order(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct queue_run run = {0};
  cJSON *pair = pair_of(hr__case_get(whole, "input"));
  const cJSON *list = pair;
  if (begin(&run, whole, verdict, &list, 1)) {
    for (uint32_t i = 0; i < 2; i++) hr__kueue_pending_add(&run.pending, i);
    uint32_t head = hr__kueue_pending_pop(&run.pending, 0);
    const char *name = head == HR_NONE ? "" : hr__case_text(run.self.workload_json[head], "name", "");
    hr__verdict_compare_text(verdict, "expected", expect_of(whole, "expected"), name);
  }
  finish(&run);
  cJSON_Delete(pair);
}

static void case_order_time(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct hr__kueue_case self;
  struct hr__kueue_workload workload;
  if (!hr__kueue_case_begin(&self, whole, verdict)) return;
  if (!hr__kueue_case_workload(&self, hr__case_get(self.input, "wl"), &workload)) return;
  const cJSON *want = expect_of(whole, "want"); /* a result that is not a number is not compared */
  if (cJSON_IsNumber(want)) hr__verdict_compare_number(verdict, "want", want, (double)workload.queue_us / 1e6);
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

static void case_local_order(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct queue_run run = {0};
  cJSON *copy = cJSON_Duplicate(whole, true), *input = cJSON_GetObjectItemCaseSensitive(copy, "input"), *item;
  cJSON_AddItemToObject(input, "localQueues", cJSON_Duplicate(hr__case_get(input, "lqs"), true));
  cJSON_ArrayForEach(item,
                     cJSON_GetObjectItemCaseSensitive(input, "localQueues")) if (!hr__case_get(item, "clusterQueue"))
      cJSON_AddStringToObject(item, "clusterQueue", hr__case_text(hr__case_get(input, "cq"), "name", "cq"));
  const cJSON *list = hr__case_get(input, "wls");
  if (begin(&run, copy, verdict, &list, 1) && read_consumed(&run.self)) {
    for (uint32_t i = 0; i < run.self.world.n_workloads; i++)
      if (run.self.world.workloads[i].queue != HR_NONE) hr__kueue_pending_add(&run.pending, i);
    uint32_t head = hr__kueue_pending_pop(&run.pending, 0);
    const char *name = head == HR_NONE ? "" : hr__case_text(run.self.workload_json[head], "name", "");
    hr__verdict_compare_text(verdict, "wantWl", hr__case_get(expect_of(whole, "wantWl"), "name"), name);
  }
  finish(&run);
  cJSON_Delete(copy);
}

/* ---- Requeue ---- */

/* Starts a case about a reason for requeuing: builds one queue with one workload, and takes the workload from the
   queue. `strict`: the queue is StrictFIFO. */
static bool begin_one(struct queue_run *run, const cJSON *whole, struct hr__verdict *verdict, bool strict) {
  run->copy = cJSON_Duplicate(whole, true);
  cJSON *input = cJSON_GetObjectItemCaseSensitive(run->copy, "input");
  cJSON_AddItemToObject(input, "cq",
                        cJSON_Parse(strict ? "{\"name\":\"cq\",\"queueingStrategy\":\"StrictFIFO\"}"
                                           : "{\"name\":\"cq\",\"queueingStrategy\":\"BestEffortFIFO\"}"));
  cJSON *list = cJSON_AddArrayToObject(input, "workloads");
  cJSON_AddItemToArray(list, cJSON_Parse("{\"name\":\"wl\",\"namespace\":\"ns\",\"podSets\":[]}"));
  const cJSON *lists = list;
  if (!begin(run, run->copy, verdict, &lists, 1)) return false;
  run->self.world.workloads[0].queue = 0;
  return hr__kueue_pending_add(&run->pending, 0) && hr__kueue_pending_pop(&run->pending, 0) == 0;
}

static bool has_bookmark(const cJSON *last) {
  const cJSON *row, *tried;
  cJSON_ArrayForEach(row, hr__case_get(last, "lastTriedFlavorIdx"))
      cJSON_ArrayForEach(tried, row) if (hr__case_value_whole(tried, -1) != -1) return true;
  return false;
}

static void case_requeue_by_reason(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  struct queue_run run = {0};
  if (begin_one(&run, whole, verdict, strcmp(kind, "queue.strictRequeue") == 0)) {
    const cJSON *input = hr__case_get(whole, "input");
    hr__kueue_pending_requeue(&run.pending, 0, read_reason(hr__case_text(input, "reason", "")),
                              has_bookmark(hr__case_get(input, "lastAssignment")));
    hr__verdict_compare_bool(verdict, "wantInadmissible", expect_of(whole, "wantInadmissible"),
                             hr__kueue_pending_place(&run.pending, 0) == HR__KUEUE_PARKED);
  }
  finish(&run);
}

static void case_shape_reason(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  enum hr__kueue_requeue why = read_reason(hr__case_text(hr__case_get(whole, "input"), "reason", ""));
  hr__verdict_compare_bool(verdict, "wantHash", expect_of(whole, "wantHash"), hr__kueue_requeue_counts_for_shape(why));
}

static void case_no_fit_known(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct queue_run run = {0};
  const cJSON *input = hr__case_get(whole, "input");
  if (begin_one(&run, whole, verdict, false)) {
    hr__kueue_pending_requeue(&run.pending, 0, read_reason(hr__case_text(input, "requeueReason", "")), false);
    if (hr__case_bool(input, "deleteFromInadmissible", false)) hr__kueue_pending_remove(&run.pending, 0);
    bool known = hr__kueue_pending_place(&run.pending, 0) == HR__KUEUE_PARKED &&
                 hr__kueue_requeue_counts_for_shape(run.pending.why[0]);
    hr__verdict_compare_bool(verdict, "wantOk", expect_of(whole, "wantOk"), known);
  }
  finish(&run);
}

static void case_backoff(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct queue_run run = {0};
  cJSON *list = cJSON_CreateArray();
  cJSON_AddItemToArray(list, cJSON_Duplicate(hr__case_get(hr__case_get(whole, "input"), "workloadInfo"), true));
  const cJSON *lists = list;
  if (begin(&run, whole, verdict, &lists, 1)) {
    read_backoff(&run, 0);
    hr__kueue_pending_add(&run.pending, 0); /* parked while its back-off is not over */
    hr__verdict_compare_bool(verdict, "want", expect_of(whole, "want"),
                             hr__kueue_pending_place(&run.pending, 0) == HR__KUEUE_IN_HEAP);
  }
  finish(&run);
  cJSON_Delete(list);
}

/* Adds {type, status, reason} with the status "False" to a list of conditions. */
static void add_condition(cJSON *list, const char *type, const char *reason) {
  cJSON *row = cJSON_CreateObject();
  cJSON_AddStringToObject(row, "type", type);
  cJSON_AddStringToObject(row, "status", "False");
  cJSON_AddStringToObject(row, "reason", reason);
  cJSON_AddItemToArray(list, row);
}

/* Returns the status of the workload after the cycle. Its pod set has the name "main" and requests nothing. */
static cJSON *status_json(const char *reason) {
  cJSON *status = cJSON_CreateObject(), *conditions = cJSON_AddArrayToObject(status, "conditions");
  add_condition(conditions, "QuotaReserved", reason);
  add_condition(conditions, "Admitted", "NoReservation");
  cJSON *row = cJSON_CreateObject();
  cJSON_AddStringToObject(row, "name", "main");
  cJSON_AddItemToArray(cJSON_AddArrayToObject(status, "resourceRequests"), row);
  return status;
}

/* Returns the workloads at a place of the queue: {"cq": ["ns1/w1"]} if the workload is there, otherwise NULL. */
static cJSON *place_json(bool there) {
  if (!there) return NULL;
  cJSON *all = cJSON_CreateObject();
  cJSON_AddItemToArray(cJSON_AddArrayToObject(all, "cq"), cJSON_CreateString("ns1/w1"));
  return all;
}

static void case_after_cycle(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct queue_run run = {0};
  const cJSON *entry = hr__case_get(hr__case_get(whole, "input"), "e");
  if (begin_one(&run, whole, verdict, false)) {
    const char *status = hr__case_text(entry, "status", "");
    enum hr__kueue_requeue why = read_reason(hr__case_text(entry, "requeueReason", ""));
    if (*status && why == HR__KUEUE_REQUEUE_GENERIC) why = HR__KUEUE_REQUEUE_FAILED_AFTER_NOMINATION;
    hr__kueue_pending_requeue(&run.pending, 0, why, false);
    cJSON *heap = place_json(hr__kueue_pending_place(&run.pending, 0) == HR__KUEUE_IN_HEAP),
          *parked = place_json(hr__kueue_pending_place(&run.pending, 0) == HR__KUEUE_PARKED);
    bool reported = strcmp(status, "assumed") != 0 && strcmp(status, "nominated") != 0;
    hr__verdict_compare(verdict, "wantWorkloads", expect_of(whole, "wantWorkloads"), heap, HR__COMPARE_EXACTLY, 0);
    hr__verdict_compare(verdict, "wantInadmissible", expect_of(whole, "wantInadmissible"), parked, HR__COMPARE_EXACTLY,
                        0);
    cJSON *actual = reported ? status_json(hr__case_text(entry, "quotaReservedReason", "")) : NULL;
    hr__verdict_compare(verdict, "wantStatus", expect_of(whole, "wantStatus"), actual, HR__COMPARE_SETS, 0);
    const cJSON *updates = expect_of(whole, "wantStatusUpdates");
    if (updates || reported) hr__verdict_compare_number(verdict, "wantStatusUpdates", updates, reported);
    cJSON_Delete(heap);
    cJSON_Delete(parked);
    cJSON_Delete(actual);
  }
  finish(&run);
}

/* ---- Many workloads ---- */

static cJSON *keys_at(const struct queue_run *run, enum hr__kueue_place place, uint32_t queue) {
  cJSON *list = cJSON_CreateArray();
  for (uint32_t i = 0; i < run->self.world.n_workloads; i++)
    if (hr__kueue_pending_place(&run->pending, i) == place &&
        (queue == HR_NONE || run->self.world.workloads[i].queue == queue))
      cJSON_AddItemToArray(list, cJSON_CreateString(run->self.world.workloads[i].name));
  return list;
}

/* Calls `step` for each workload in a list of the case. Workloads are identified by namespace and name. */
static void for_each(struct queue_run *run, const char *list,
                     void (*step)(struct queue_run *, uint32_t, const cJSON *)) {
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(run->self.input, list)) {
    uint32_t id = hr__kueue_case_find_workload(&run->self, hr__kueue_case_key(&run->self, item));
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
    const cJSON *old = hr__case_get(run->self.workload_json[id], members[i]), *now = hr__case_get(json, members[i]);
    changed |= (old || now) && !cJSON_Compare(old, now, true);
  }
  run->self.workload_json[id] = json;
  if (hr__kueue_pending_place(&run->pending, id) == HR__KUEUE_PARKED && !changed) return;
  struct hr__kueue_workload *workload = &run->self.world.workloads[id];
  workload->priority = hr__case_whole(json, "priority", 0);
  read_backoff(run, id);
  hr__kueue_pending_add(&run->pending, id);
}

static void op_remove(struct queue_run *run, uint32_t id, const cJSON *json) {
  (void)json;
  hr__kueue_pending_remove(&run->pending, id);
}

/* Collects the workloads of several lists. If a workload is in more than one list, the first list defines it. */
static cJSON *unique_workloads(const cJSON *input, const char *const *names, size_t n_names) {
  cJSON *all = cJSON_CreateArray();
  for (size_t i = 0; i < n_names; i++) {
    const cJSON *item, *other;
    cJSON_ArrayForEach(item, hr__case_get(input, names[i])) {
      bool known = false;
      cJSON_ArrayForEach(other, all) known |=
          hr__case_text_is(other, "name", hr__case_text(item, "name", "")) &&
          hr__case_text_is(other, "namespace", hr__case_text(item, "namespace", ""));
      if (!known) cJSON_AddItemToArray(all, cJSON_Duplicate(item, true));
    }
  }
  return all;
}

static void run_ops(struct queue_run *run, const cJSON *whole) {
  struct hr__verdict *verdict = run->self.verdict;
  for (uint32_t i = 0; i < run->self.world.n_workloads; i++) {
    /* The queue of these cases selects the namespaces ns1 and ns2. */
    if (hr__case_text_is(run->self.workload_json[i], "namespace", "ns3"))
      run->self.world.workloads[i].obstacle = HR__KUEUE_NAMESPACE_MISMATCH;
    read_backoff(run, i);
  }
  for_each(run, "workloadsToAdd", op_add);
  for_each(run, "inadmissibleWorkloadsToRequeue", op_park);
  for_each(run, "admissibleWorkloadsToRequeue", op_requeue);
  for_each(run, "workloadsToUpdate", op_update);
  for_each(run, "workloadsToDelete", op_remove);
  uint32_t moved = 0;
  if (hr__case_bool(run->self.input, "queueInadmissibleWorkloads", false))
    moved = hr__kueue_pending_return(&run->pending, 0);
  const struct hr__kueue_pending_queue *queue = &run->pending.queues[0];
  cJSON *active = keys_at(run, HR__KUEUE_IN_HEAP, HR_NONE);
  const cJSON *want = expect_of(whole, "wantActiveWorkloads"),
              *want_moved = expect_of(whole, "wantInadmissibleWorkloadsRequeued");
  hr__verdict_compare(verdict, "wantActiveWorkloads", want, want || cJSON_GetArraySize(active) ? active : NULL,
                      HR__COMPARE_SETS, 0);
  hr__verdict_compare_number(verdict, "wantPending", expect_of(whole, "wantPending"), queue->n_heap + queue->n_parked);
  if (want_moved) hr__verdict_compare_number(verdict, "wantInadmissibleWorkloadsRequeued", want_moved, moved);
  cJSON_Delete(active);
}

static void case_queue_ops(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  static const char *const lists[] = {"workloadsToAdd", "inadmissibleWorkloadsToRequeue",
                                      "admissibleWorkloadsToRequeue", "workloadsToUpdate", "workloadsToDelete"};
  struct queue_run run = {0};
  cJSON *all = unique_workloads(hr__case_get(whole, "input"), lists, sizeof lists / sizeof *lists);
  const cJSON *list = all;
  if (begin(&run, whole, verdict, &list, 1)) run_ops(&run, whole);
  finish(&run);
  cJSON_Delete(all);
}

/* Returns {queue: [workloads]} for the workloads at a place; NULL: there are none. */
static cJSON *table_at(const struct queue_run *run, enum hr__kueue_place place) {
  cJSON *all = cJSON_CreateObject();
  for (uint32_t queue = 0; queue < run->self.world.tree.n_queues; queue++) {
    cJSON *list = keys_at(run, place, queue);
    if (cJSON_GetArraySize(list))
      cJSON_AddItemToObject(all, run->self.queues.items[queue], list);
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
  for (uint32_t i = 0; i < run->self.world.n_workloads; i++) {
    struct hr__kueue_workload *workload = &run->self.world.workloads[i];
    const char *slash = strchr(workload->name, '/');
    if (strncmp(workload->name, "defaultNamespace/", 17) != 0 || !slash) continue;
    size_t length = strlen(slash + 1) + 9;
    char *key = hr__verdict_alloc(run->self.verdict, length, 1);
    if (!key) return;
    strcpy(key, "default/");
    strcat(key, slash + 1);
    workload->name = key;
  }
}

static void case_requeue_cohort(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct queue_run run = {0};
  const cJSON *list = hr__case_get(hr__case_get(whole, "input"), "workloads"), *item;
  if (!begin(&run, whole, verdict, &list, 1)) {
    finish(&run);
    return;
  }
  rename_namespace(&run);
  struct hr__kueue_world *world = &run.self.world;
  for (uint32_t i = 0; i < world->n_workloads; i++)
    if (world->workloads[i].queue != HR_NONE)
      hr__kueue_pending_requeue_as(&run.pending, i, false, HR__KUEUE_REQUEUE_GENERIC);
  uint32_t moved = 0;
  cJSON_ArrayForEach(item, hr__case_get(run.self.input, "cqNames")) {
    uint32_t queue = hr__kueue_name_find(&run.self.queues, cJSON_IsString(item) ? item->valuestring : NULL);
    /* Queues below a cycle of cohorts are inactive; their workloads remain parked. */
    if (queue != HR_NONE && !world->queues[queue].inactive) moved += hr__kueue_pending_return(&run.pending, queue);
  }
  cJSON *active = table_at(&run, HR__KUEUE_IN_HEAP), *parked = table_at(&run, HR__KUEUE_PARKED);
  hr__verdict_compare(verdict, "wantActive", expect_of(whole, "wantActive"), active, HR__COMPARE_SETS, 0);
  hr__verdict_compare(verdict, "wantInadmissible", expect_of(whole, "wantInadmissible"), parked, HR__COMPARE_SETS, 0);
  const cJSON *want = expect_of(whole, "wantMovedCount");
  if (want) hr__verdict_compare_number(verdict, "wantMovedCount", want, moved);
  cJSON_Delete(active);
  cJSON_Delete(parked);
  finish(&run);
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

static void case_requeue_strict(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  const cJSON *input = hr__case_get(whole, "input"), *workload = hr__case_get(input, "workload");
  bool requeued = hr__case_bool(input, "inClient", false) && !hr__case_bool(input, "inQueue", false) &&
                  is_admissible(workload) && queue_exists(input, local_queue_of(input, workload));
  hr__verdict_compare_bool(verdict, "wantRequeued", expect_of(whole, "wantRequeued"), requeued);
}

static cJSON *assigned_json(struct hr__kueue_case *self, const cJSON *workload, const cJSON *local_queue, cJSON *all) {
  if (local_queue)
    cJSON_AddStringToObject(all, hr__kueue_case_key(self, workload), hr__kueue_case_key(self, local_queue));
  return all;
}

static void case_add_workload(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct hr__kueue_case self;
  if (!hr__kueue_case_begin(&self, whole, verdict)) return;
  const cJSON *workload = hr__case_get(self.input, "workload");
  const cJSON *local_queue = local_queue_of(self.input, workload), *want = expect_of(whole, "wantErr");
  bool admissible = is_admissible(workload);
  const char *error = NULL;
  if (!admissible)
    error = "errWorkloadIsInadmissible";
  else if (!local_queue)
    error = "ErrLocalQueueDoesNotExistOrInactive";
  else if (!queue_exists(self.input, local_queue))
    error = "ErrClusterQueueDoesNotExist";
  cJSON *actual = error ? cJSON_CreateString(error) : NULL;
  hr__verdict_compare(verdict, "wantErr", want, actual, HR__COMPARE_EXACTLY, 0);
  cJSON *assigned = assigned_json(&self, workload, admissible ? local_queue : NULL, cJSON_CreateObject());
  hr__verdict_compare(verdict, "wantAssigned", expect_of(whole, "wantAssigned"), assigned, HR__COMPARE_EXACTLY, 0);
  cJSON_Delete(assigned);
  cJSON_Delete(actual);
}

static void case_heads(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct queue_run run = {0};
  cJSON *copy = cJSON_Duplicate(whole, true), *input = cJSON_GetObjectItemCaseSensitive(copy, "input");
  cJSON_AddItemToObject(input, "localQueues", cJSON_Duplicate(hr__case_get(input, "queues"), true));
  const cJSON *list = hr__case_get(input, "workloads");
  cJSON *heads = cJSON_CreateArray(), *assigned = cJSON_CreateObject();
  if (begin(&run, copy, verdict, &list, 1)) {
    for (uint32_t i = 0; i < run.self.world.n_workloads; i++) {
      assigned_json(&run.self, run.self.workload_json[i], local_queue_of(input, run.self.workload_json[i]), assigned);
      if (run.self.world.workloads[i].queue != HR_NONE) hr__kueue_pending_add(&run.pending, i);
    }
    for (uint32_t queue = 0; queue < run.self.world.tree.n_queues; queue++) {
      /* In these cases the queues with names that begin with "active-" are active. */
      if (strncmp(run.self.queues.items[queue], "active-", 7) != 0) continue;
      uint32_t head = hr__kueue_pending_pop(&run.pending, queue);
      if (head != HR_NONE)
        cJSON_AddItemToArray(heads, cJSON_CreateString(hr__case_text(run.self.workload_json[head], "name", "")));
    }
    const cJSON *want = expect_of(whole, "wantWorkloads");
    bool none = cJSON_IsObject(want) && !cJSON_GetArraySize(want); /* an empty set is written as {} */
    if (!none || cJSON_GetArraySize(heads))
      hr__verdict_compare(verdict, "wantWorkloads", want, heads, HR__COMPARE_SETS, 0);
    hr__verdict_compare(verdict, "wantAssigned", expect_of(whole, "wantAssigned"), assigned, HR__COMPARE_EXACTLY, 0);
  }
  cJSON_Delete(heads);
  cJSON_Delete(assigned);
  finish(&run);
  cJSON_Delete(copy);
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

static void case_second_pass(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct hr__kueue_case self;
  if (!hr__kueue_case_begin(&self, whole, verdict)) return;
  cJSON *queued = cJSON_CreateObject();
  const cJSON *item, *update = hr__case_get(self.input, "updateWorkload");
  cJSON_ArrayForEach(item, hr__case_get(self.input, "workloads")) {
    const char *key = hr__kueue_case_key(&self, item);
    if (needs_second_pass(item) && !hr__case_get(queued, key)) cJSON_AddTrueToObject(queued, key);
  }
  if (update) {
    const char *key = hr__kueue_case_key(&self, update);
    bool needed = needs_second_pass(update), is_new = needed && !hr__case_get(queued, key);
    if (!needed) cJSON_DeleteItemFromObjectCaseSensitive(queued, key);
    if (is_new) cJSON_AddTrueToObject(queued, key);
    hr__verdict_compare_bool(verdict, "wantUpdateQueued", expect_of(whole, "wantUpdateQueued"), is_new);
  }
  cJSON *ready = cJSON_CreateArray();
  if (hr__case_real(self.input, "passTime", 0) >= SECOND_PASS_S)
    cJSON_ArrayForEach(item, queued) cJSON_AddItemToArray(ready, cJSON_CreateString(item->string));
  const cJSON *want = expect_of(whole, "wantReady");
  hr__verdict_compare(verdict, "wantReady", want, want || cJSON_GetArraySize(ready) ? ready : NULL, HR__COMPARE_SETS,
                      0);
  cJSON_Delete(ready);
  cJSON_Delete(queued);
}

const struct hr__kueue_case_kind hr__kueue_queue_kinds[] = {
    {"queue.strictFIFO", case_queue_order},           {"queue.orderTimestamp", case_order_time},
    {"queue.admissionFairSharing", case_local_order}, {"queue.bestEffortRequeue", case_requeue_by_reason},
    {"queue.strictRequeue", case_requeue_by_reason},  {"queue.inadmissibleHash", case_shape_reason},
    {"queue.noFitReason", case_no_fit_known},         {"queue.backoff", case_backoff},
    {"queue.requeueAfterCycle", case_after_cycle},    {"queue.ops", case_queue_ops},
    {"queue.requeueCohort", case_requeue_cohort},     {"queue.requeueStrict", case_requeue_strict},
    {"queue.addWorkload", case_add_workload},         {"queue.heads", case_heads},
    {"queue.secondPass", case_second_pass},           {NULL, NULL}};
