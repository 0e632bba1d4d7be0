/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Explains why a job waits: as a reason of Headroom, and as the message of Kueue's condition QuotaReserved.
 *
 * Kueue writes, for each resource that finds no flavor, which amounts each flavor of its group lacks. Here the text is
 * computed on request, from the quotas after the last cycle. No decision is changed.
 *
 * Source: pkg/scheduler/scheduler.go and pkg/scheduler/flavorassigner/flavorassigner.go of kubernetes-sigs/kueue.
 */

#include "policies/kueue/engine.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Words of Kueue ------------------------------------------------------------------------------------- */

/* A text that is cut at the end of its buffer. */
struct kueue_words {
  char *text;
  size_t size, used;
};

static void put(struct kueue_words *words, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(words->text + words->used, words->size - words->used, format, arguments);
  va_end(arguments);
  if (n > 0) words->used += (size_t)n;
  if (words->used >= words->size) words->used = words->size - 1;
}

/* Writes an amount as a Kubernetes quantity: "8", "500m" or "64Gi". */
static void put_quantity(const struct hr__kueue_engine *self, struct kueue_words *words, uint32_t resource,
                         int64_t amount) {
  static const char *const suffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
  size_t suffix = 0;
  if (resource == self->gpu || resource == self->cpu) {
    bool is_whole = amount % 1000 == 0;
    put(words, "%" PRId64 "%s", is_whole ? amount / 1000 : amount, is_whole ? "" : "m");
    return;
  }
  for (; resource == self->memory && amount && amount % 1024 == 0 && suffix + 1 < sizeof suffixes / sizeof *suffixes;
       suffix++)
    amount /= 1024;
  put(words, "%" PRId64 "%s", amount, suffixes[suffix]);
}

/* ---- What flavors lack ---------------------------------------------------------------------------------- */

/* The reasons of one pod set. Kueue sorts them. */
enum { MAX_REASONS = 24, MAX_REASON = 256 };
struct kueue_reasons {
  char text[MAX_REASONS][MAX_REASON];
  size_t count;
};

static struct kueue_words begin_reason(struct kueue_reasons *reasons) {
  size_t at = reasons->count < MAX_REASONS ? reasons->count++ : MAX_REASONS - 1;
  reasons->text[at][0] = '\0';
  return (struct kueue_words){reasons->text[at], MAX_REASON, 0};
}

static int compare_reasons(const void *a, const void *b) {
  return strcmp(a, b);
}

static void put_reasons(struct kueue_words *words, struct kueue_reasons *reasons) {
  qsort(reasons->text, reasons->count, sizeof *reasons->text, compare_reasons);
  for (size_t i = 0; i < reasons->count; i++) put(words, "%s%s", i > 0 ? ", " : "", reasons->text[i]);
}

/* Writes how a flavor and a request for a topology contradict each other. Returns false if they do not. */
static bool put_contradiction(const struct hr__kueue_engine *self, struct kueue_words *words,
                              const struct hr__kueue_workload *workload, uint32_t flavor) {
  const struct hr__kueue_topology_calls *calls = &self->world.topology;
  const char *name = self->world.flavors[flavor].name;
  bool is_explicit = workload->pod_sets[0].topology.mode != HR__KUEUE_NO_TOPOLOGY;
  if (!calls->matches || calls->matches(calls->self, &self->world, workload->queue, &workload->pod_sets[0], flavor))
    return false;
  if (!is_explicit)
    put(words, "Flavor \"%s\" supports only TopologyAwareScheduling", name);
  else if (!self->world.flavors[flavor].topology)
    put(words, "Flavor \"%s\" does not support TopologyAwareScheduling", name);
  else
    put(words, "Flavor \"%s\" does not contain the requested level", name);
  return true;
}

/* Adds the reason why the pods cannot run in a flavor at all. Returns false if they can. */
static bool add_mismatch(const struct hr__kueue_engine *self, struct kueue_reasons *reasons,
                         const struct hr__kueue_workload *workload, uint32_t flavor) {
  static const char *const effects[] = {"", "NoSchedule", "PreferNoSchedule", "NoExecute"};
  const struct hr__kueue_flavor *from = &self->world.flavors[flavor];
  const struct hr__kueue_pod_set *pod_set = &workload->pod_sets[0];
  if (workload->suits[flavor] && hr__kueue_flavor_matches(&self->world, workload->queue, pod_set, flavor)) return false;
  struct kueue_words words = begin_reason(reasons);
  const struct hr__kueue_taint *taint =
      hr__kueue_untolerated(&from->taints, &pod_set->selector.tolerations, &from->tolerations);
  if (put_contradiction(self, &words, workload, flavor)) return true;
  if (taint)
    put(&words, "untolerated taint {%s %s %s <nil>} in flavor %s", taint->key, taint->value, effects[taint->effect],
        from->name);
  else
    put(&words, "flavor %s doesn't match node affinity", from->name);
  return true;
}

/* Adds the amount of a resource that a flavor lacks. Returns false if it has enough. */
static bool add_lack(const struct hr__kueue_engine *self, struct kueue_reasons *reasons,
                     const struct hr__kueue_workload *workload, uint32_t flavor,
                     const struct hr__kueue_amount *request) {
  const struct hr__kueue_tree *tree = &self->world.tree;
  uint32_t resource = request->resource, pair = hr__kueue_pair(&self->world, flavor, resource);
  const char *name = self->world.resources[resource], *flavor_name = self->world.flavors[flavor].name;
  int64_t amount = hr__kueue_times(request->amount, workload->pod_sets[0].count);
  int64_t most = hr__kueue_potential(tree, workload->queue, pair);
  int64_t available = hr__kueue_available(tree, workload->queue, pair);
  if (amount <= available && amount <= most) return false;
  struct kueue_words words = begin_reason(reasons);
  if (amount > most) {
    put(&words,
        "insufficient quota for %s in flavor %s, previously considered podsets requests (0) + current podset "
        "request (",
        name, flavor_name);
    put_quantity(self, &words, resource, amount);
    put(&words, ") > maximum capacity (");
    put_quantity(self, &words, resource, most);
    put(&words, ")");
    return true;
  }
  put(&words, "insufficient unused quota for %s in flavor %s, ", name, flavor_name);
  put_quantity(self, &words, resource, hr__kueue_minus(amount, available));
  put(&words, " more needed");
  return true;
}

/* Adds the amounts that the flavors of a group lack; nothing if some flavor has enough. */
static void add_group(const struct hr__kueue_engine *self, struct kueue_reasons *reasons,
                      const struct hr__kueue_workload *workload, const struct hr__kueue_group *group) {
  const struct hr__kueue_queue *queue = &self->world.queues[workload->queue];
  const struct hr__kueue_amounts *requests = &workload->pod_sets[0].requests;
  size_t before = reasons->count;
  for (uint32_t i = 0; i < group->n_flavors; i++) {
    bool lacks = add_mismatch(self, reasons, workload, group->flavors[i]);
    for (uint32_t k = 0, n = lacks ? 0 : requests->count; k < n; k++)
      if (hr__kueue_group_of(queue, requests->items[k].resource) == group)
        lacks |= add_lack(self, reasons, workload, group->flavors[i], &requests->items[k]);
    if (lacks) continue;
    reasons->count = before;
    return;
  }
}

static void add_quotas(const struct hr__kueue_engine *self, struct kueue_reasons *reasons,
                       const struct hr__kueue_workload *workload) {
  const struct hr__kueue_queue *queue = &self->world.queues[workload->queue];
  const struct hr__kueue_amounts *requests = &workload->pod_sets[0].requests;
  for (uint32_t i = 0; i < requests->count; i++) {
    const struct hr__kueue_group *group = hr__kueue_group_of(queue, requests->items[i].resource);
    bool is_first = group != NULL;
    for (uint32_t k = 0; k < i; k++) is_first &= hr__kueue_group_of(queue, requests->items[k].resource) != group;
    if (is_first) add_group(self, reasons, workload, group);
  }
}

/* Whether a flavor lacks quota for a requested resource in the resource group of the first request. */
static bool lacks_quota(const struct hr__kueue_engine *self, struct kueue_reasons *reasons,
                        const struct hr__kueue_workload *workload, uint32_t flavor) {
  const struct hr__kueue_amounts *requests = &workload->pod_sets[0].requests;
  const struct hr__kueue_queue *queue = &self->world.queues[workload->queue];
  const struct hr__kueue_group *group = hr__kueue_group_of(queue, requests->items[0].resource);
  for (uint32_t k = 0; k < requests->count; k++)
    if (hr__kueue_group_of(queue, requests->items[k].resource) == group &&
        add_lack(self, reasons, workload, flavor, &requests->items[k]))
      return true;
  return false;
}

/* ---- What topologies lack ------------------------------------------------------------------------------- */

/* Writes how many nodes cannot run one pod, by reason. */
static void put_exclusions(const struct hr__kueue_engine *self, struct kueue_words *words, uint32_t slot,
                           uint32_t flavor, const struct hr__kueue_lack *lack) {
  const struct hr__kueue_amounts *requests = &self->world.workloads[slot].pod_sets[0].requests;
  const char *separator = "";
  size_t end = words->used;
  put(words, ". Total nodes: %" PRIu32 "; excluded: ", lack->leaves);
  size_t begin = words->used;
  if (lack->selector) {
    put(words, "nodeSelector: %" PRIu32, lack->selector);
    separator = ", ";
  }
  for (uint32_t i = 0; i < requests->count; i++) {
    uint32_t resource = requests->items[i].resource;
    uint32_t count = hr__kueue_topology_lacking(self, slot, flavor, resource);
    if (!count) continue;
    put(words, "%sresource \"%s\": %" PRIu32, separator, self->world.resources[resource], count);
    separator = ", ";
  }
  if (words->used > begin) return;
  words->used = end;
  words->text[end] = '\0';
}

/* Adds why the first flavor with enough quota and a topology has no placement. */
static void add_topology(struct hr__kueue_engine *self, struct kueue_reasons *reasons, uint32_t slot) {
  const struct hr__kueue_workload *workload = &self->world.workloads[slot];
  const struct hr__kueue_amounts *requests = &workload->pod_sets[0].requests;
  const struct hr__kueue_group *group =
      requests->count ? hr__kueue_group_of(&self->world.queues[workload->queue], requests->items[0].resource) : NULL;
  struct hr__kueue_lack lack;
  struct kueue_reasons unused = {.count = 0};
  for (uint32_t i = 0; group && i < group->n_flavors; i++) {
    uint32_t flavor = group->flavors[i];
    unused.count = 0;
    if (add_mismatch(self, &unused, workload, flavor) || lacks_quota(self, &unused, workload, flavor)) continue;
    if (!hr__kueue_topology_lack(self, slot, flavor, &lack)) continue;
    struct kueue_words words = begin_reason(reasons);
    const char *unit = lack.slices ? "slice(s)" : "pod(s)";
    if (lack.fits)
      put(&words, "topology \"%s\" allows to fit only %" PRId64 " out of %" PRId64 " %s", lack.topology, lack.fits,
          lack.of, unit);
    else
      put(&words, "topology \"%s\" doesn't allow to fit any of %" PRId64 " %s", lack.topology, lack.of, unit);
    put_exclusions(self, &words, slot, flavor, &lack);
    return;
  }
}

/* ---- Terms of Headroom ---------------------------------------------------------------------------------- */

/* Whether a queued job has enough quota in some flavor, but no placement. */
static bool waits_for_topology(struct hr__kueue_engine *self, uint32_t slot) {
  struct kueue_reasons reasons = {.count = 0};
  if (!self->topologies || !self->topologies->of_queue[self->world.workloads[slot].queue]) return false;
  add_quotas(self, &reasons, &self->world.workloads[slot]);
  if (reasons.count) return false;
  add_topology(self, &reasons, slot);
  return reasons.count > 0;
}

/* Sets the reason of a queued job. A parked job waits for quota. Without a configuration, the only quota is that of all
   GPUs, so the job then waits for capacity or for its turn. */
static void explain_queued(struct hr__kueue_engine *self, const struct hr_view *view, uint32_t slot,
                           struct hr_wait_reason *wait) {
  const struct hr__kueue_slot *at = &self->slots[slot];
  struct hr_need need = hr__kueue_need_of(self, slot);
  if (self->pending.requeue_us[slot] > view->now_us) wait->until_us = self->pending.requeue_us[slot];
  if (at->reason == HR__KUEUE_WAITING_FOR_PREEMPTED) {
    wait->reason = HR_WAIT_REASON_PREEMPTION;
  } else if (waits_for_topology(self, slot)) {
    wait->reason = HR_WAIT_REASON_TOPOLOGY;
  } else if (self->config && hr__kueue_pending_place(&self->pending, slot) == HR__KUEUE_PARKED &&
             wait->until_us == HR_NEVER_US) {
    wait->reason = HR_WAIT_REASON_QUOTA;
    wait->quota = HR_QUOTA_FALLBACK;
  } else if (!hr_capacity_fits(self->capacity, &need)) {
    hr_view_lack(view, (hr_job){at->job}, wait);
  } else if (at->reason == HR__KUEUE_WAITING_FOR_QUOTA || at->reason == HR__KUEUE_NO_REASON) {
    wait->reason = HR_WAIT_REASON_ORDER;
  }
}

void hr__kueue_explain(void *state, const struct hr_view *view, hr_job job, struct hr_wait_reason *wait) {
  struct hr__kueue_engine *self = state;
  uint32_t slot = hr__kueue_slot_of(self, job);
  if (slot == HR_NONE) return;
  if (self->slots[slot].phase == HR__KUEUE_HELD)
    hr_view_lack(view, job, wait);
  else if (self->slots[slot].phase == HR__KUEUE_QUEUED)
    explain_queued(self, view, slot, wait);
  else if (self->slots[slot].phase == HR__KUEUE_CHECKING)
    wait->until_us = self->slots[slot].timer_us;
}

/* ---- Text ------------------------------------------------------------------------------------------------ */

static void describe_queued(struct hr__kueue_engine *self, uint32_t slot, struct kueue_words *words) {
  const struct hr__kueue_slot *at = &self->slots[slot];
  const struct hr__kueue_workload *workload = &self->world.workloads[slot];
  struct kueue_reasons reasons = {.count = 0};
  if (at->reason == HR__KUEUE_WAITING_FOR_PODS_READY) {
    put(words, "waiting for all admitted workloads to be in PodsReady condition");
    return;
  }
  add_quotas(self, &reasons, workload);
  if (!reasons.count) add_topology(self, &reasons, slot);
  if (!reasons.count) {
    put(words, "Workload no longer fits after processing another workload");
    return;
  }
  put(words, "couldn't assign flavors to pod set %s: ", workload->pod_sets[0].name);
  put_reasons(words, &reasons);
  if (at->reason == HR__KUEUE_WAITING_FOR_PREEMPTED)
    put(words, ". Pending the preemption of %" PRIu32 " workload(s)", at->n_targets);
}

void hr__kueue_describe(void *state, const struct hr_view *view, hr_job job, char *text, size_t size) {
  struct hr__kueue_engine *self = state;
  uint32_t slot = hr__kueue_slot_of(self, job);
  struct kueue_words words = {text, size, 0};
  text[0] = '\0';
  if (slot == HR_NONE || size == 0) return;
  const struct hr__kueue_slot *at = &self->slots[slot];
  if (at->phase == HR__KUEUE_HELD)
    put(&words, "Not all pods are ready or succeeded");
  else if (at->phase == HR__KUEUE_QUEUED && self->pending.requeue_us[slot] > view->now_us &&
           at->history.evicted_by_timeout)
    put(&words, "Exceeded the PodsReady timeout");
  else if (at->phase == HR__KUEUE_QUEUED && self->pending.requeue_us[slot] <= view->now_us)
    describe_queued(self, slot, &words);
}
