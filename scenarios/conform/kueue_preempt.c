/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the Kueue cases about preemption. The assignment of the incoming workload is given by the case. */

#include "policies/kueue/preempt.h"
#include "policies/kueue/quota.h"
#include "policies/kueue/workload.h"
#include "scenarios/conform/kueue_objects.h"

#include <stdlib.h>
#include <string.h>

hr__conform_run_case hr__kueue_case_preempt, hr__kueue_case_candidate_order, hr__kueue_case_fair_order;
hr__conform_run_case hr__kueue_case_policy;

static enum hr__kueue_mode read_mode(const char *text) {
  for (int i = 0; i < 4; i++)
    if (strcmp(hr__kueue_mode_name((enum hr__kueue_mode)i), text) == 0) return (enum hr__kueue_mode)i;
  return HR__KUEUE_NO_FIT;
}

/* Reads the assignment of a case: the requests are those of the pod sets of the incoming workload. */
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

/* The state of all lists and usages in one number. */
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
    if (workload->evicted) continue; /* is counted, but is evicted already */
    cJSON *row = cJSON_CreateObject();
    const char *slash = strchr(workload->name, '/');
    cJSON_AddStringToObject(row, "workload", slash == workload->name ? slash + 1 : workload->name);
    cJSON_AddStringToObject(row, "reason", hr__kueue_cause_name(preemptor->targets[i].cause));
    cJSON_AddItemToArray(list, row);
  }
  return list;
}

static bool begin(struct hr__kueue_case *self, const cJSON *whole, struct hr__verdict *verdict,
                  struct hr__kueue_preemptor *preemptor) {
  if (!hr__kueue_case_begin(self, whole, verdict)) return false;
  const cJSON *incoming = hr__case_get(self->input, "incoming"), *lists[2];
  lists[0] = hr__case_get(self->input, "admitted");
  lists[1] = hr__case_get(self->input, "candidates");
  self->world.max_pod_sets = hr__case_count(incoming, "podSets");
  if (!hr__kueue_case_workloads(self, lists, 2)) return false;
  if (hr__kueue_preemptor_begin(preemptor, verdict->arena, &self->world)) return true;
  verdict->no_memory = true;
  return false;
}

void hr__kueue_case_preempt(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct hr__kueue_case self;
  struct hr__kueue_preemptor preemptor;
  struct hr__kueue_workload incoming;
  struct hr__kueue_assignment assignment;
  if (!begin(&self, whole, verdict, &preemptor)) return;
  if (!hr__kueue_case_workload(&self, hr__case_get(self.input, "incoming"), &incoming)) return;
  incoming.queue = hr__kueue_name_find(&self.queues, hr__case_text(self.input, "targetCQ", NULL));
  if (incoming.queue == HR_NONE) {
    verdict->malformed = "expected the ClusterQueue of the incoming workload";
    return;
  }
  if (!hr__kueue_assignment_begin(&assignment, verdict->arena, &self.world)) {
    verdict->no_memory = true;
    return;
  }
  read_assignment(&self, &incoming, &assignment);
  uint64_t before = fingerprint(&self.world);
  uint32_t count = hr__kueue_preempt(&preemptor, &incoming, &assignment);
  const cJSON *expect = hr__case_get(whole, "expect");
  cJSON *actual = targets_json(&self, &preemptor), *unchanged = cJSON_CreateTrue();
  hr__verdict_compare(verdict, "preempted", hr__case_get(expect, "preempted"), actual, HR__COMPARE_SETS, 0);
  hr__verdict_compare_number(verdict, "preemptedCount", hr__case_get(expect, "preemptedCount"), count);
  hr__verdict_compare_bool(verdict, "state is unchanged", unchanged, before == fingerprint(&self.world));
  cJSON_Delete(unchanged);
  cJSON_Delete(actual);
}

/* ---- Orders ---- */

/* Adds all workloads of the case as candidates. */
static void add_candidates(struct hr__kueue_preemptor *preemptor) {
  for (uint32_t i = 0; i < preemptor->world->n_workloads; i++)
    preemptor->candidates[preemptor->n_candidates++] = (struct hr__kueue_candidate){.workload = i, .ancestor = HR_NONE};
}

void hr__kueue_case_candidate_order(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct hr__kueue_case self;
  struct hr__kueue_preemptor preemptor;
  if (!begin(&self, whole, verdict, &preemptor)) return;
  /* The queues of the candidates need not exist: only whether they are the preemptor's matters. */
  struct hr__kueue_workload subject = {.queue = 0};
  const char *own = hr__case_text(self.input, "preemptorCq", "");
  for (uint32_t i = 0; i < self.world.n_workloads; i++) {
    const char *queue = hr__case_text(hr__case_get(self.workload_json[i], "admission"), "clusterQueue", "");
    self.world.workloads[i].queue = strcmp(queue, own) == 0 ? 0 : 1 + i;
  }
  preemptor.demand.workload = &subject;
  add_candidates(&preemptor);
  hr__kueue_candidates_sort(&preemptor);
  cJSON *actual = cJSON_CreateArray();
  for (uint32_t i = 0; i < preemptor.n_candidates; i++) {
    const cJSON *json = self.workload_json[preemptor.candidates[i].workload];
    cJSON_AddItemToArray(actual, cJSON_CreateString(hr__case_text(json, "name", "")));
  }
  hr__verdict_compare(verdict, "order", hr__case_get(hr__case_get(whole, "expect"), "wantCandidates"), actual,
                      HR__COMPARE_EXACTLY, 0);
  cJSON_Delete(actual);
}

/* Keeps the candidates of the queues that the case names. */
static void keep_candidates(struct hr__kueue_case *self, struct hr__kueue_preemptor *preemptor) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < preemptor->n_candidates; i++) {
    const char *queue = self->queues.items[self->world.workloads[preemptor->candidates[i].workload].queue];
    bool named = false;
    const cJSON *item;
    cJSON_ArrayForEach(item, hr__case_get(self->input, "candidateCQs")) named |=
        cJSON_IsString(item) && strcmp(item->valuestring, queue) == 0;
    if (named) preemptor->candidates[kept++] = preemptor->candidates[i];
  }
  preemptor->n_candidates = kept;
}

void hr__kueue_case_fair_order(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  struct hr__kueue_case self;
  struct hr__kueue_preemptor preemptor;
  if (!begin(&self, whole, verdict, &preemptor)) return;
  struct hr__kueue_workload subject = {0};
  subject.queue = hr__kueue_name_find(&self.queues, hr__case_text(self.input, "preemptorCQ", NULL));
  if (subject.queue == HR_NONE) {
    verdict->malformed = "expected the ClusterQueue of the preemptor";
    return;
  }
  preemptor.demand.workload = &subject;
  add_candidates(&preemptor);
  keep_candidates(&self, &preemptor);
  hr__kueue_candidates_sort(&preemptor);
  hr__kueue_fair_begin(&preemptor);
  cJSON *actual = cJSON_CreateArray();
  uint32_t queue;
  for (int step = 0; (queue = hr__kueue_fair_next(&preemptor)) != HR_NONE; step++) {
    cJSON_AddItemToArray(actual, cJSON_CreateString(self.queues.items[queue]));
    const cJSON *action = cJSON_GetArrayItem(hr__case_get(self.input, "actions"), step);
    if (cJSON_IsString(action) && strcmp(action->valuestring, "drop") == 0)
      hr__kueue_fair_drop(&preemptor, queue);
    else
      hr__kueue_fair_pop(&preemptor, queue);
  }
  const cJSON *want = hr__case_get(hr__case_get(whole, "expect"), "wantOrder");
  hr__verdict_compare(verdict, "order", want, want || cJSON_GetArraySize(actual) ? actual : NULL, HR__COMPARE_EXACTLY,
                      0);
  cJSON_Delete(actual);
}

void hr__kueue_case_policy(const cJSON *whole, const char *kind, struct hr__verdict *verdict) {
  (void)kind;
  static const char *const names[] = {"Never", "", "LowerPriority", "LowerOrNewerEqualPriority", "Any"};
  struct hr__kueue_case self;
  struct hr__kueue_workload preemptor, candidate;
  if (!hr__kueue_case_begin(&self, whole, verdict)) return;
  if (!hr__kueue_case_workload(&self, hr__case_get(self.input, "preemptor"), &preemptor) ||
      !hr__kueue_case_workload(&self, hr__case_get(self.input, "candidate"), &candidate))
    return;
  enum hr__kueue_policy policy = HR__KUEUE_POLICY_UNSET;
  for (int i = 0; i < 5; i++)
    if (strcmp(names[i], hr__case_text(self.input, "policy", "")) == 0) policy = (enum hr__kueue_policy)i;
  hr__verdict_compare_bool(verdict, "want", hr__case_get(hr__case_get(whole, "expect"), "want"),
                           hr__kueue_policy_allows(policy, &preemptor, &candidate));
}
