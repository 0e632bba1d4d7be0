/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The order in which the entries of a cycle are processed. Without fair sharing they are sorted once. With fair sharing
 * a tournament over the tree of quotas picks one entry after the other: each cohort compares the entries that its
 * children put forward by the shares that the children would have with them.
 *
 * Source: pkg/scheduler/scheduler.go (makeClassicalIterator) and fair_sharing_iterator.go of kubernetes-sigs/kueue.
 */

#include "policies/kueue/cycle.h"
#include "policies/kueue/quota.h"

/* ---- Classical ---- */

int hr__kueue_entry_order(const struct hr__kueue_world *world, const struct hr__kueue_workload *a, int32_t a_borrowing,
                          const struct hr__kueue_workload *b, int32_t b_borrowing) {
  if (a->reserved != b->reserved) return a->reserved ? -1 : 1;
  if (hr__kueue_has_gate(world, HR__KUEUE_BIT_PRIORITIZE_PREEMPTORS) && a->preemptor != b->preemptor)
    return a->preemptor ? -1 : 1;
  if (a_borrowing != b_borrowing) return a_borrowing < b_borrowing ? -1 : 1;
  if (hr__kueue_has_gate(world, HR__KUEUE_BIT_PRIORITY_SORTING) && a->priority != b->priority)
    return a->priority > b->priority ? -1 : 1;
  return (a->queue_us > b->queue_us) - (a->queue_us < b->queue_us);
}

void hr__kueue_order_classical(struct hr__kueue_cycle *self) {
  for (uint32_t i = 0; i < self->n_entries; i++) {
    const struct hr__kueue_entry *entry = &self->entries[i];
    if (!entry->nominated) continue;
    uint32_t at = self->n_order++;
    for (; at > 0; at--) { /* insertion: there is about one entry per queue */
      const struct hr__kueue_entry *other = &self->entries[self->order[at - 1]];
      if (hr__kueue_entry_order(self->world, &self->world->workloads[other->workload], other->assignment.borrowing,
                                &self->world->workloads[entry->workload], entry->assignment.borrowing) <= 0)
        break;
      self->order[at] = self->order[at - 1];
    }
    self->order[at] = i;
  }
}

/* ---- Tournament ---- */

bool hr__kueue_fair_before(const struct hr__kueue_world *world, const struct hr__kueue_workload *a,
                           const struct hr__kueue_share *a_share, bool a_borrows, const struct hr__kueue_workload *b,
                           const struct hr__kueue_share *b_share, bool b_borrows) {
  if (hr__kueue_has_gate(world, HR__KUEUE_BIT_FAIR_NON_BORROWING_FIRST) && a_borrows != b_borrows) return b_borrows;
  int order = hr__kueue_share_compare(a_share, b_share);
  if (order) return order < 0;
  if (hr__kueue_has_gate(world, HR__KUEUE_BIT_PRIORITY_SORTING) && a->priority != b->priority)
    return a->priority > b->priority;
  return a->queue_us < b->queue_us;
}

void hr__kueue_tournament_begin(struct hr__kueue_cycle *self) {
  for (uint32_t i = 0; i < self->world->tree.n_queues; i++) self->first_of[i] = HR_NONE;
  /* Workloads with quota come first in their queue. */
  for (int pass = 0; pass < 2; pass++) {
    for (uint32_t i = self->n_entries; i-- > 0;) {
      const struct hr__kueue_workload *workload = &self->world->workloads[self->entries[i].workload];
      if (!self->entries[i].nominated || workload->reserved != (pass == 1)) continue;
      self->next_of[i] = self->first_of[workload->queue];
      self->first_of[workload->queue] = i;
    }
  }
}

/* Adds or removes the quota that an entry would take. A workload with quota takes no more. */
static void change_usage(struct hr__kueue_cycle *self, const struct hr__kueue_entry *entry, bool add) {
  const struct hr__kueue_workload *workload = &self->world->workloads[entry->workload];
  for (uint32_t i = 0; !workload->reserved && i < entry->assignment.n_usage; i++) {
    const struct hr__kueue_usage *usage = &entry->assignment.usage[i];
    if (add)
      hr__kueue_add_usage(&self->world->tree, workload->queue, usage->pair, usage->amount);
    else
      hr__kueue_remove_usage(&self->world->tree, workload->queue, usage->pair, usage->amount);
  }
}

/* The share of a node with the usage of its nominee. */
static void measure(struct hr__kueue_cycle *self, uint32_t node, uint32_t nominee) {
  const struct hr__kueue_entry *entry = &self->entries[nominee];
  change_usage(self, entry, true);
  self->shares[node] = hr__kueue_share_of(self->world, node, NULL, 0);
  self->borrows[node] = hr__kueue_borrows_on(self->world, node, entry->assignment.usage, entry->assignment.n_usage);
  change_usage(self, entry, false);
}

/* The entry that a node puts forward; HR_NONE: none. Cohorts among the children come first. */
static uint32_t run_tournament(struct hr__kueue_cycle *self, uint32_t node) {
  const struct hr__kueue_tree *tree = &self->world->tree;
  if (node < tree->n_queues) return self->first_of[node];
  uint32_t best = HR_NONE;
  for (int queues = 0; queues < 2; queues++) {
    for (uint32_t i = tree->child_start[node]; i < tree->child_start[node + 1]; i++) {
      uint32_t child = tree->children[i];
      if ((child < tree->n_queues) != (queues == 1)) continue;
      uint32_t nominee = self->winners[child] = run_tournament(self, child);
      if (nominee == HR_NONE) continue;
      measure(self, child, nominee);
      if (best != HR_NONE &&
          !hr__kueue_fair_before(self->world, &self->world->workloads[self->entries[nominee].workload],
                                 &self->shares[child], self->borrows[child],
                                 &self->world->workloads[self->entries[self->winners[best]].workload],
                                 &self->shares[best], self->borrows[best]))
        continue;
      best = child;
    }
  }
  return best == HR_NONE ? HR_NONE : self->winners[best];
}

uint32_t hr__kueue_tournament_next(struct hr__kueue_cycle *self) {
  const struct hr__kueue_tree *tree = &self->world->tree;
  for (uint32_t queue = 0; queue < tree->n_queues; queue++) {
    if (self->first_of[queue] == HR_NONE) continue;
    uint32_t winner = run_tournament(self, hr__kueue_root(tree, queue));
    self->first_of[self->world->workloads[self->entries[winner].workload].queue] = self->next_of[winner];
    return winner;
  }
  return HR_NONE;
}
