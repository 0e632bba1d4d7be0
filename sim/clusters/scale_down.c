/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which nodes the cluster autoscaler removes, and how long a node group does not grow after a failure (back-off). Times
 * are microseconds of one clock. Invariant: no group falls below its minimum, and an atomic group is removed as a
 * whole. Source: kubernetes/autoscaler, cluster-autoscaler/core/scaledown, simulator/utilization and utils/backoff.
 */

#include "sim/clusters/cluster_autoscaler.h"

/* ---- Back-off -------------------------------------------------------------------------------------------- */

void hr__ca_fail(const struct hr__ca_backoff_spec *spec, struct hr__ca_backoff *self, int64_t now_us) {
  if (!self->has_failed)
    self->length_us = spec->first_us;
  else if (self->until_us < now_us) // a failure during the back-off does not make it longer
    self->length_us = 2 * self->length_us < spec->longest_us ? 2 * self->length_us : spec->longest_us;
  self->has_failed = true;
  self->until_us = now_us + self->length_us;
  self->last_us = now_us;
}

void hr__ca_forget(const struct hr__ca_backoff_spec *spec, struct hr__ca_backoff *self, int64_t now_us) {
  if (self->has_failed && self->last_us + spec->forget_us < now_us) *self = (struct hr__ca_backoff){0};
}

/* ---- Utilization ----------------------------------------------------------------------------------------- */

static int64_t request_of(const struct hr__ca_use *pod, enum hr__amount amount) {
  const int64_t running = pod->containers.of[amount], init = pod->init.of[amount];
  return running > init ? running : init;
}

/* Returns false if the node has nothing of this resource. */
static bool share_of(const struct hr__ca_used_node *node, enum hr__amount amount, double *share) {
  int64_t used = 0, whole = node->allocatable.of[amount];
  if (whole <= 0) return false;
  for (uint32_t i = 0; i < node->n_pods; i++) {
    const struct hr__ca_use *pod = &node->pods[i];
    if ((node->skips_daemons && pod->is_daemon) || (node->skips_mirrors && pod->is_mirror))
      whole -= request_of(pod, amount);
    else if (!pod->is_overdue)
      used += request_of(pod, amount);
  }
  *share = used > 0 || whole > 0 ? (double)used / (double)whole : 0;
  return true;
}

static struct hr__ca_utilization of_devices(const struct hr__ca_used_node *node) {
  struct hr__ca_utilization highest = {.by = HR__CA_BY_DEVICES};
  for (uint32_t i = 0; i < node->n_devices; i++) {
    const struct hr__ca_devices *pool = &node->devices[i];
    const double share = pool->total > 0 ? (double)pool->claimed / (double)pool->total : 0;
    if (share <= highest.share) continue;
    highest.share = share;
    highest.pool = i;
  }
  return highest;
}

bool hr__ca_utilization(const struct hr__ca_used_node *node, struct hr__ca_utilization *utilization) {
  *utilization = (struct hr__ca_utilization){.by = HR__CA_BY_GPU};
  if (node->has_gpus) { // without a ready GPU: 0, so that the node can go
    share_of(node, HR__GPUS, &utilization->share);
    return true;
  }
  if (node->n_devices) {
    *utilization = of_devices(node);
    return true;
  }
  if (!share_of(node, HR__CPU_M, &utilization->cpu) || !share_of(node, HR__MEMORY_BYTES, &utilization->memory))
    return false;
  const bool is_cpu = utilization->cpu > utilization->memory;
  utilization->by = is_cpu ? HR__CA_BY_CPU : HR__CA_BY_MEMORY;
  utilization->share = is_cpu ? utilization->cpu : utilization->memory;
  return true;
}

/* ---- Single nodes ---------------------------------------------------------------------------------------- */

const char *const hr__ca_reasons[HR__CA_N_REASONS] = {[HR__CA_NO_REASON] = "NoReason",
                                                      [HR__CA_BEING_DELETED] = "CurrentlyBeingDeleted",
                                                      [HR__CA_DISABLED] = "ScaleDownDisabledAnnotation",
                                                      [HR__CA_UNEXPECTED] = "UnexpectedError",
                                                      [HR__CA_NOT_AUTOSCALED] = "NotAutoscaled",
                                                      [HR__CA_UNREADY_DISABLED] = "ScaleDownUnreadyDisabled",
                                                      [HR__CA_NOT_UNDERUTILIZED] = "NotUnderutilized",
                                                      [HR__CA_NOT_UNNEEDED_LONG] = "NotUnneededLongEnough",
                                                      [HR__CA_NOT_UNREADY_LONG] = "NotUnreadyLongEnough",
                                                      [HR__CA_MIN_SIZE] = "NodeGroupMinSizeReached",
                                                      [HR__CA_MIN_RESOURCES] = "MinimalResourceLimitExceeded"};

enum hr__ca_reason hr__ca_eligible(const struct hr__ca_candidate *candidate, const struct hr__ca_used_node *node) {
  struct hr__ca_utilization utilization;
  if (candidate->is_being_deleted) return HR__CA_BEING_DELETED;
  if (candidate->is_disabled) return HR__CA_DISABLED;
  if (!hr__ca_utilization(node, &utilization)) return HR__CA_UNEXPECTED;
  if (!candidate->has_group) return HR__CA_NOT_AUTOSCALED;
  if (!candidate->is_ready && candidate->keeps_unready) return HR__CA_UNREADY_DISABLED;
  return utilization.share > candidate->threshold ? HR__CA_NOT_UNDERUTILIZED : HR__CA_NO_REASON;
}

enum hr__ca_reason hr__ca_removable(const struct hr__ca_candidate *candidate, const struct hr__node_amounts *node,
                                    int64_t now_us) {
  if (candidate->is_disabled) return HR__CA_DISABLED;
  if (!candidate->has_group) return HR__CA_NOT_AUTOSCALED;
  const int64_t wait_us = candidate->is_ready ? candidate->unneeded_us : candidate->unready_us;
  if (candidate->since_us + wait_us >= now_us)
    return candidate->is_ready ? HR__CA_NOT_UNNEEDED_LONG : HR__CA_NOT_UNREADY_LONG;
  if (candidate->group_size <= candidate->group_min) return HR__CA_MIN_SIZE;
  if (candidate->cluster_nodes_left < 1 || !hr__amounts_fit(node, &candidate->cluster_left))
    return HR__CA_MIN_RESOURCES;
  return HR__CA_NO_REASON;
}

void hr__ca_note_unneeded(int64_t *since_us, const bool *is_unneeded, uint32_t n_nodes, int64_t now_us) {
  for (uint32_t i = 0; i < n_nodes; i++) {
    if (!is_unneeded[i])
      since_us[i] = -1;
    else if (since_us[i] < 0)
      since_us[i] = now_us;
  }
}

/* ---- Budgets --------------------------------------------------------------------------------------------- */

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Returns whether all nodes of an atomic group are candidates: as many as its target size, or all existing nodes. */
static bool is_whole(const struct hr__ca_deletion *group) {
  const int64_t candidates = group->empty + group->drain;
  return candidates == group->target || candidates == group->registered;
}

static void take_whole(struct hr__ca_deletion *group, struct hr__ca_budget *budget, bool *may_exceed) {
  group->take_empty = group->empty;
  group->take_drain = group->drain;
  budget->all -= group->empty + group->drain;
  budget->drain -= group->drain;
  *may_exceed = false;
}

/* Chooses atomic groups for removal: first those with empty nodes, then those with pods on all nodes. As in the
   original, only a budget of exactly 0 stops the first group; a negative one does not. */
static void take_atomic(struct hr__ca_deletions *self, struct hr__ca_budget *budget) {
  bool may_exceed = true;
  for (uint32_t i = 0; i < self->n_empty; i++) {
    struct hr__ca_deletion *group = &self->groups[self->empty[i]];
    if (!group->is_atomic) continue;
    const bool exceeds = budget->all < group->empty + group->drain || budget->drain < group->drain;
    if (exceeds && (budget->all == 0 || (group->drain > 0 && budget->drain == 0) || !may_exceed)) break;
    if (is_whole(group)) take_whole(group, budget, &may_exceed);
  }
  budget->drain = smaller(budget->all, budget->drain);
  for (uint32_t i = 0; i < self->n_drain; i++) {
    struct hr__ca_deletion *group = &self->groups[self->drain[i]];
    if (!group->is_atomic || group->empty > 0) continue;
    if (budget->drain < group->drain && (budget->drain == 0 || !may_exceed)) break;
    if (is_whole(group)) take_whole(group, budget, &may_exceed);
  }
}

void hr__ca_take(struct hr__ca_deletions *self, struct hr__ca_budget budget) {
  for (uint32_t i = 0; i < self->n_empty; i++)
    self->groups[self->empty[i]].take_empty = self->groups[self->empty[i]].take_drain = 0;
  for (uint32_t i = 0; i < self->n_drain; i++)
    self->groups[self->drain[i]].take_empty = self->groups[self->drain[i]].take_drain = 0;
  take_atomic(self, &budget);
  for (uint32_t i = 0; i < self->n_empty && budget.all > 0; i++) {
    struct hr__ca_deletion *group = &self->groups[self->empty[i]];
    if (group->is_atomic) continue;
    group->take_empty = smaller(group->empty, budget.all);
    budget.all -= group->take_empty;
  }
  budget.drain = smaller(budget.all, budget.drain);
  for (uint32_t i = 0; i < self->n_drain && budget.drain > 0; i++) {
    struct hr__ca_deletion *group = &self->groups[self->drain[i]];
    if (group->is_atomic) continue;
    group->take_drain = smaller(group->drain, budget.drain);
    budget.drain -= group->take_drain;
  }
}
