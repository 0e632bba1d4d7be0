/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Why a job waits: in the terms of Headroom, and in the words of Kueue's condition QuotaReserved.
 *
 * Kueue writes, for each resource that finds no flavor, what each flavor of its group lacks. Here the text is computed
 * when it is asked for, from the quotas after the last cycle. Nothing is changed.
 *
 * Source: pkg/scheduler/scheduler.go and pkg/scheduler/flavorassigner/flavorassigner.go of kubernetes-sigs/kueue.
 */

#include "policies/kueue/engine.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- Terms of Headroom ---------------------------------------------------------------------------------- */

/* Why a queued job waits. If it could start at once, it waits for its turn or for quota; without a configuration, the
   only quota is that of all GPUs. */
static void explain_queued(struct hr__kueue_engine *self, const struct hr_view *view, uint32_t slot,
                           struct hr_wait_reason *wait) {
  const struct hr__kueue_slot *at = &self->slots[slot];
  struct hr_need need = hr__kueue_need_of(self, slot);
  if (self->pending.requeue_us[slot] > view->now_us) wait->until_us = self->pending.requeue_us[slot];
  if (at->reason == HR__KUEUE_WAITING_FOR_PREEMPTED) {
    wait->reason = HR_WAIT_REASON_PREEMPTION;
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

/* ---- Words of Kueue ------------------------------------------------------------------------------------- */

/* A text that ends where its memory ends. */
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

/* Writes what a flavor lacks. Returns false if it has enough. */
static bool put_lack(const struct hr__kueue_engine *self, struct kueue_words *words,
                     const struct hr__kueue_workload *workload, uint32_t flavor, uint32_t resource, int64_t amount) {
  const struct hr__kueue_tree *tree = &self->world.tree;
  uint32_t pair = hr__kueue_pair(&self->world, flavor, resource);
  const char *name = self->world.resources[resource], *flavor_name = self->world.flavors[flavor].name;
  int64_t most = hr__kueue_potential(tree, workload->queue, pair);
  int64_t available = hr__kueue_available(tree, workload->queue, pair);
  if (!workload->suits[flavor] ||
      !hr__kueue_flavor_matches(&self->world, workload->queue, &workload->pod_sets[0], flavor)) {
    put(words, "flavor %s doesn't match node affinity", flavor_name);
  } else if (amount > most) {
    put(words,
        "insufficient quota for %s in flavor %s, previously considered podsets requests (0) + current podset "
        "request (",
        name, flavor_name);
    put_quantity(self, words, resource, amount);
    put(words, ") > maximum capacity (");
    put_quantity(self, words, resource, most);
    put(words, ")");
  } else if (amount > available) {
    put(words, "insufficient unused quota for %s in flavor %s, ", name, flavor_name);
    put_quantity(self, words, resource, hr__kueue_minus(amount, available));
    put(words, " more needed");
  } else {
    return false;
  }
  return true;
}

/* Writes what the flavors lack for a resource that finds none. Returns false if some flavor has enough. */
static bool put_lacks(const struct hr__kueue_engine *self, struct kueue_words *words,
                      const struct hr__kueue_workload *workload, const struct hr__kueue_amount *request) {
  const struct hr__kueue_group *group = hr__kueue_group_of(&self->world.queues[workload->queue], request->resource);
  int64_t amount = hr__kueue_times(request->amount, workload->pod_sets[0].count);
  struct kueue_words before = *words;
  for (uint32_t i = 0; group && i < group->n_flavors; i++) {
    if (i > 0) put(words, ", ");
    if (put_lack(self, words, workload, group->flavors[i], request->resource, amount)) continue;
    *words = before;
    words->text[words->used] = '\0';
    return false;
  }
  return group && group->n_flavors > 0;
}

static void describe_queued(const struct hr__kueue_engine *self, uint32_t slot, struct kueue_words *words) {
  const struct hr__kueue_slot *at = &self->slots[slot];
  const struct hr__kueue_workload *workload = &self->world.workloads[slot];
  const struct hr__kueue_pod_set *pod_set = &workload->pod_sets[0];
  if (at->reason == HR__KUEUE_WAITING_FOR_PODS_READY) {
    put(words, "waiting for all admitted workloads to be in PodsReady condition");
    return;
  }
  put(words, "couldn't assign flavors to pod set %s: ", pod_set->name);
  size_t begin = words->used;
  for (uint32_t i = 0; i < pod_set->requests.count && words->used == begin; i++)
    put_lacks(self, words, workload, &pod_set->requests.items[i]);
  if (words->used == begin) {
    words->used = 0;
    put(words, "Workload no longer fits after processing another workload");
  } else if (at->reason == HR__KUEUE_WAITING_FOR_PREEMPTED) {
    put(words, ". Pending the preemption of %" PRIu32 " workload(s)", at->n_targets);
  }
}

void hr__kueue_describe(void *state, const struct hr_view *view, hr_job job, char *text, size_t size) {
  const struct hr__kueue_engine *self = state;
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
