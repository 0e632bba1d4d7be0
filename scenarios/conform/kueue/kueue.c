/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the test vectors of Kueue against its model: looks up the function for the kind of a case. Source of the
   cases: table tests of kubernetes-sigs/kueue. */

#include "scenarios/conform/kueue/kueue_objects.h"

#include "policies/kueue/kueue.h"

#include <string.h>

/* ---- Several cycles ------------------------------------------------------------------------------------ */

/* Runs the Kueue cases of several scheduling cycles: what is reserved after workloads are deleted, and which flavors
   are tried in later cycles. The bookmarks of a workload last until its queue's quota rises. */

struct multi_run {
  struct hr__kueue_cycle_run cycles;
  int32_t **rows;             /* by workload: bookmarks of the last attempt; NULL: none */
  int64_t *generation, *when; /* by workload: of the last attempt */
  int64_t cycle;
};

static bool begin(struct multi_run *run, const cJSON *whole, struct hr__verdict *verdict) {
  if (!hr__kueue_cycle_start(&run->cycles, whole, verdict)) return false;
  size_t n = (size_t)run->cycles.self.world.n_workloads + 1;
  run->rows = hr__verdict_alloc(verdict, n, sizeof *run->rows);
  run->generation = hr__verdict_alloc(verdict, n, sizeof *run->generation);
  run->when = hr__verdict_alloc(verdict, n, sizeof *run->when);
  return run->rows && run->generation && run->when;
}

/* Removes invalid bookmarks. */
static void check_bookmarks(struct multi_run *run) {
  struct hr__kueue_world *world = &run->cycles.self.world;
  for (uint32_t i = 0; i < world->n_workloads; i++) {
    struct hr__kueue_workload *workload = &world->workloads[i];
    workload->tried = run->rows[i];
    if (!run->rows[i] || workload->queue == HR_NONE) continue;
    int64_t now = world->queues[workload->queue].generation;
    if (hr__kueue_bookmark_is_outdated(world->gates, run->generation[i], now, run->when[i], run->cycle, true, true))
      workload->tried = NULL;
  }
}

static bool save_bookmarks(struct multi_run *run) {
  struct hr__kueue_world *world = &run->cycles.self.world;
  for (uint32_t i = 0; i < run->cycles.cycle.n_entries; i++) {
    const struct hr__kueue_entry *entry = &run->cycles.cycle.entries[i];
    const struct hr__kueue_workload *workload = &world->workloads[entry->workload];
    run->rows[entry->workload] = NULL;
    if (!entry->nominated || !entry->keeps_bookmark) continue;
    size_t room = (size_t)workload->n_pod_sets * world->n_resources + 1;
    int32_t *row = hr__verdict_alloc(run->cycles.self.verdict, room, sizeof *row);
    if (!row) return false;
    hr__kueue_bookmarks_save(world, workload, &entry->assignment, row);
    run->rows[entry->workload] = row;
    run->generation[entry->workload] = world->queues[workload->queue].generation;
    run->when[entry->workload] = run->cycle;
  }
  return true;
}

static bool step(struct multi_run *run) {
  run->cycle++;
  check_bookmarks(run);
  return hr__kueue_cycle_step(&run->cycles) && save_bookmarks(run) && hr__kueue_cycle_take_effect(&run->cycles);
}

/* Returns all parked workloads to their heaps. */
static void return_all(struct multi_run *run) {
  for (uint32_t queue = 0; queue < run->cycles.self.world.tree.n_queues; queue++)
    hr__kueue_pending_return(&run->cycles.pending, queue);
}

/* ---- Cases with two cycles ---- */

/* The status and the reason of the condition QuotaReserved that a workload has after the first cycle. */
static void compare_first_cycle(struct multi_run *run, const cJSON *expect) {
  struct hr__kueue_cycle_run *cycles = &run->cycles;
  const cJSON *item, *condition, *target;
  cJSON_ArrayForEach(item, hr__case_get(expect, "wantWorkloads")) {
    const char *key = hr__kueue_case_key(&cycles->self, item), *evicted = "";
    cJSON_ArrayForEach(target, cycles->preempted) if (hr__case_text_is(target, "workload", key)) evicted =
        hr__case_text(target, "reason", "");
    const cJSON *reason = hr__case_get(cycles->reasons, key);
    cJSON_ArrayForEach(condition, hr__case_get(item, "conditions")) {
      if (hr__case_text_is(condition, "type", "QuotaReserved") && hr__case_text_is(condition, "status", "False"))
        hr__verdict_compare(cycles->self.verdict, key, hr__case_get(condition, "reason"), reason, HR__COMPARE_EXACTLY,
                            0);
      if (hr__case_text_is(condition, "type", "Preempted"))
        hr__verdict_compare_text(cycles->self.verdict, key, hr__case_get(condition, "reason"), evicted);
    }
    bool reserved = hr__case_get(item, "admission") != NULL;
    uint32_t id = hr__kueue_case_find_workload(&cycles->self, key);
    cJSON *want = cJSON_CreateBool(reserved);
    hr__verdict_compare_bool(cycles->self.verdict, key, want,
                             id != HR_NONE && cycles->self.world.workloads[id].reserved);
    cJSON_Delete(want);
  }
}

static void delete_workload(struct multi_run *run, uint32_t id) {
  struct hr__kueue_world *world = &run->cycles.self.world;
  struct hr__kueue_workload *workload = &world->workloads[id];
  if (workload->queue == HR_NONE) return;
  if (workload->listed) {
    hr__kueue_unlist(world, id);
    uint32_t queue = workload->queue;
    world->queues[queue].generation++;
    hr__kueue_pending_return(&run->cycles.pending, queue);
  } else {
    hr__kueue_pending_remove(&run->cycles.pending, id);
  }
  workload->reserved = false;
}

/* {workload: admission} of all workloads with quota. */
static cJSON *admissions_json(const struct multi_run *run) {
  const struct hr__kueue_case *self = &run->cycles.self;
  cJSON *all = cJSON_CreateObject();
  for (uint32_t i = 0; i < self->world.n_workloads; i++) {
    const struct hr__kueue_workload *workload = &self->world.workloads[i];
    if (!workload->listed) continue;
    cJSON *admission = cJSON_AddObjectToObject(all, workload->name);
    cJSON_AddStringToObject(admission, "clusterQueue", self->queues.items[workload->queue]);
    cJSON *rows = cJSON_AddArrayToObject(admission, "podSets");
    for (uint32_t k = 0; k < workload->n_pod_sets; k++) {
      const struct hr__kueue_pod_set *pod_set = &workload->pod_sets[k];
      cJSON *row = cJSON_CreateObject(), *flavors, *usage;
      cJSON_AddStringToObject(row, "name", pod_set->name);
      cJSON_AddNumberToObject(row, "count", (double)pod_set->admitted_count);
      flavors = cJSON_AddObjectToObject(row, "flavors");
      usage = cJSON_AddObjectToObject(row, "usage");
      for (uint32_t m = 0; m < pod_set->n_assigned; m++) {
        const char *resource = self->world.resources[pod_set->assigned[m].resource];
        cJSON_AddStringToObject(flavors, resource, self->world.flavors[pod_set->assigned[m].flavor].name);
        cJSON_AddNumberToObject(usage, resource, (double)pod_set->assigned[m].amount);
      }
      cJSON_AddItemToArray(rows, row);
    }
  }
  return all;
}

/* The name of the tests' constant for the namespace "default". */
static const char *namespace_of(const cJSON *object) {
  const char *name = hr__case_text(object, "namespace", "");
  return strcmp(name, "NamespaceDefault") == 0 ? "default" : name;
}

static void delete_workloads(struct multi_run *run) {
  struct hr__kueue_case *self = &run->cycles.self;
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(self->input, "deleteWorkloads")) for (uint32_t i = 0;
                                                                              i < self->world.n_workloads; i++) {
    if (hr__case_text_is(self->workload_json[i], "name", hr__case_text(item, "name", "")) &&
        hr__case_text_is(self->workload_json[i], "namespace", namespace_of(item)))
      delete_workload(run, i);
  }
}

static void run_two_cycles(struct multi_run *run, const cJSON *expect) {
  if (!step(run)) return;
  compare_first_cycle(run, expect);
  delete_workloads(run);
  if (!step(run)) return;
  cJSON *actual = admissions_json(run);
  hr__verdict_compare(run->cycles.self.verdict, "wantAdmissionsOnSecondSchedule",
                      hr__case_get(expect, "wantAdmissionsOnSecondSchedule"), actual, HR__COMPARE_SETS, 0);
  cJSON_Delete(actual);
}

/* ---- Cases that ask which flavor is reached ---- */

static const char *flavor_of(const struct multi_run *run, const char *name) {
  const struct hr__kueue_case *self = &run->cycles.self;
  for (uint32_t i = 0; i < self->world.n_workloads; i++) {
    const struct hr__kueue_workload *workload = &self->world.workloads[i];
    if (!hr__case_text_is(self->workload_json[i], "name", name) || !workload->listed ||
        !workload->pod_sets[0].n_assigned)
      continue;
    return self->world.flavors[workload->pod_sets[0].assigned[0].flavor].name;
  }
  return "";
}

static void run_flavor_cycles(struct multi_run *run, const cJSON *expect) {
  struct hr__kueue_case *self = &run->cycles.self;
  int64_t cycles = hr__case_whole(self->input, "preserveProgressCycles", 4);
  bool churn = !hr__case_bool(self->input, "noChurn", false);
  for (int64_t i = 0; i < cycles; i++) {
    if (!step(run)) return;
    for (uint32_t queue = 0; churn && queue < self->world.tree.n_queues; queue++)
      self->world.queues[queue].generation++;
    return_all(run);
  }
  hr__verdict_compare_text(self->verdict, "wantPendingFlavor", hr__case_get(expect, "wantPendingFlavor"),
                           flavor_of(run, "pending"));
  cJSON *blocker = cJSON_CreateString("tas-flavor-1");
  hr__verdict_compare_text(self->verdict, "blocker", blocker, flavor_of(run, "blocker"));
  cJSON_Delete(blocker);
}

/* The case in the form of a single cycle. */
static cJSON *normalized(const cJSON *whole) {
  cJSON *copy = cJSON_Duplicate(whole, true), *input = cJSON_GetObjectItemCaseSensitive(copy, "input");
  cJSON_AddItemToObject(input, "localQueues", cJSON_Duplicate(hr__case_get(input, "queues"), true));
  if (hr__case_get(input, "cqs"))
    cJSON_AddItemToObject(input, "clusterQueues", cJSON_Duplicate(hr__case_get(input, "cqs"), true));
  if (!hr__case_get(input, "blocker")) return copy;
  cJSON *list = cJSON_AddArrayToObject(input, "workloads");
  cJSON_AddItemToArray(list, cJSON_Duplicate(hr__case_get(input, "blocker"), true));
  cJSON_AddItemToArray(list, cJSON_Duplicate(hr__case_get(input, "pending"), true));
  cJSON_AddItemToArray(cJSON_AddArrayToObject(input, "topologies"),
                       cJSON_Duplicate(hr__case_get(input, "singleLevelTopology"), true));
  cJSON_AddItemToObject(input, "fairSharing", cJSON_CreateObject());
  cJSON_AddBoolToObject(cJSON_AddObjectToObject(input, "featureGates"), "FlavorFungibilityPreserveScanProgress",
                        hr__case_bool(input, "gateEnabled", false));
  return copy;
}

static void case_multi(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct multi_run run = {0};
  cJSON *copy = normalized(whole);
  const cJSON *expect = hr__case_get(whole, "expect");
  if (begin(&run, copy, verdict)) {
    if (hr__case_get(hr__case_get(whole, "input"), "blocker"))
      run_flavor_cycles(&run, expect);
    else
      run_two_cycles(&run, expect);
  }
  cJSON_Delete(run.cycles.actual);
  cJSON_Delete(copy);
}

/* ---- All kinds ----------------------------------------------------------------------------------------- */

static const struct hr__kueue_case_kind multi_kinds[] = {{"cycle.multi", case_multi}, {NULL, NULL}};

static const struct hr__kueue_case_kind *const tables[] = {
    multi_kinds,           hr__kueue_rules_kinds, hr__kueue_flavor_kinds, hr__kueue_life_kinds,
    hr__kueue_cycle_kinds, hr__kueue_names_kinds, hr__kueue_queue_kinds};

void hr__conform_kueue(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    for (const struct hr__kueue_case_kind *row = tables[i]; row->kind; row++)
      if (strcmp(row->kind, kind) == 0) {
        row->run(whole, kind, verdict);
        return;
      }
  if (strncmp(kind, "tas.", 4) == 0 && hr__conform_kueue_tas(whole, kind, verdict)) return;
  hr__verdict_unknown_kind(verdict, kind);
}
