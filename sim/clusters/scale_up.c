/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One scale-up of the cluster autoscaler: from pending pods to options, from options to the best ones (expanders), and
 * from the chosen option to the growth of node groups. Groups, pods and options are flat arrays of the caller.
 * Invariant: no group exceeds its maximum, the cluster exceeds neither its number of nodes nor a quota, and an expander
 * never adds an option. Source: kubernetes/autoscaler, cluster-autoscaler/core/scaleup/orchestrator, expander and
 * processors/nodegroupset.
 */

#include "sim/clusters/cluster_autoscaler.h"

#include <math.h>

/* ---- Limits ---------------------------------------------------------------------------------------------- */

static int64_t cluster_nodes(const struct hr__ca_scale_up *self) {
  int64_t nodes = 0;
  for (uint32_t i = 0; i < self->n_groups; i++) nodes += self->groups[i].size + self->groups[i].grow;
  return nodes;
}

static bool applies(const struct hr__ca_quota *quota, uint32_t group) {
  return quota->group == group || (quota->group == HR__CA_ALL_GROUPS && (!quota->groups || quota->groups[group]));
}

static int64_t quota_use(const struct hr__ca_scale_up *self, const struct hr__ca_quota *quota, int amount) {
  int64_t used = 0;
  for (uint32_t i = 0; i < self->n_groups; i++) {
    const struct hr__ca_group *group = &self->groups[i];
    if (applies(quota, i)) used += group->node.of[amount] * (group->size + group->grow);
  }
  return used;
}

/* Returns how many nodes of a group the quotas allow, at most `wanted`, and sets the reason if these are fewer. */
static int64_t within_quotas(const struct hr__ca_scale_up *self, uint32_t at, int64_t wanted,
                             enum hr__ca_refusal *refusal) {
  static const enum hr__ca_refusal refusals[HR__N_AMOUNTS] = {HR__CA_CPU_QUOTA, HR__CA_MEMORY_QUOTA, HR__CA_GPU_QUOTA};
  for (uint32_t i = 0; i < self->n_quotas; i++) {
    const struct hr__ca_quota *quota = &self->quotas[i];
    if (!applies(quota, at)) continue;
    for (int amount = 0; amount < HR__N_AMOUNTS; amount++) {
      const int64_t each = self->groups[at].node.of[amount];
      if (quota->limit.of[amount] == INT64_MAX || each <= 0) continue;
      const int64_t room = hr__ca_room(quota->limit.of[amount], quota_use(self, quota, amount)) / each;
      if (room >= wanted) continue;
      wanted = room;
      *refusal = refusals[amount];
    }
  }
  return wanted;
}

/* Returns how many nodes may be added to a group, at most `wanted`. */
static int64_t within_limits(const struct hr__ca_scale_up *self, uint32_t at, int64_t wanted,
                             enum hr__ca_refusal *refusal) {
  const int64_t room = self->max_nodes ? hr__ca_room(self->max_nodes, cluster_nodes(self)) : INT64_MAX;
  if (room < wanted) {
    wanted = room;
    *refusal = HR__CA_NODE_COUNT;
  }
  return within_quotas(self, at, wanted, refusal);
}

/* ---- Options --------------------------------------------------------------------------------------------- */

static bool is_similar(const struct hr__ca_group *a, const struct hr__ca_group *b) {
  for (int i = 0; i < HR__N_AMOUNTS; i++) {
    const int64_t larger = a->node.of[i] > b->node.of[i] ? a->node.of[i] : b->node.of[i];
    const int64_t smaller = a->node.of[i] > b->node.of[i] ? b->node.of[i] : a->node.of[i];
    /* memory may differ by 1.5 % */
    if (i == HR__MEMORY_BYTES ? (double)(larger - smaller) > 0.015 * (double)larger : larger != smaller) return false;
  }
  return a->zero_or_max == b->zero_or_max;
}

static bool may_balance(const struct hr__ca_scale_up *self, uint32_t chosen, uint32_t other) {
  const struct hr__ca_group *group = &self->groups[other];
  if (other == chosen) return true;
  return self->balances && !group->zero_or_max && !group->is_fixed && group->option_nodes > 0 &&
         is_similar(&self->groups[chosen], group);
}

/* Returns the maximum number of nodes of one estimate: the room of the group and of similar groups, and the room of the
   cluster. */
static int64_t estimate_limit(const struct hr__ca_scale_up *self, uint32_t at) {
  const struct hr__ca_group *group = &self->groups[at];
  int64_t room = 0;
  for (uint32_t i = 0; i < self->n_groups; i++) {
    const struct hr__ca_group *other = &self->groups[i];
    if (i == at || (self->balances && !other->is_fixed && !other->is_unready && is_similar(group, other)))
      room += hr__ca_room(other->max, other->size);
  }
  return hr__ca_smaller_limit(hr__ca_room_limit(room), hr__ca_cluster_limit(self->max_nodes, cluster_nodes(self)));
}

/* Packs the pending pods on new nodes of a group. */
static uint32_t estimate(struct hr__ca_scale_up *self, uint32_t at) {
  const struct hr__ca_group *group = &self->groups[at];
  struct hr__ca_packing packing = {.fresh = {.free = group->node, .pods_left = group->max_pods},
                                   .nodes = self->nodes,
                                   .max_new = estimate_limit(self, at),
                                   .order = self->order};
  hr__ca_pack(&packing, self->pods, self->n_pods);
  return packing.n_used;
}

static enum hr__ca_refusal check(const struct hr__ca_scale_up *self, uint32_t at) {
  const struct hr__ca_group *group = &self->groups[at];
  const int64_t wanted = group->zero_or_max ? hr__ca_room(group->max, group->size) : 1;
  enum hr__ca_refusal refusal = HR__CA_NOT_REFUSED;
  if (group->size >= group->max) return HR__CA_AT_MAXIMUM;
  return within_limits(self, at, wanted, &refusal) < wanted ? refusal : HR__CA_NOT_REFUSED;
}

void hr__ca_find_options(struct hr__ca_scale_up *self) {
  for (uint32_t i = 0; i < self->n_groups; i++) self->groups[i].grow = self->groups[i].option_nodes = 0;
  for (uint32_t i = 0; i < self->n_pods; i++) self->states[i] = HR__CA_NO_GROUP_FITS;
  for (uint32_t i = 0; i < self->n_groups; i++) {
    struct hr__ca_group *group = &self->groups[i];
    group->refusal = check(self, i);
    if (group->is_fixed || group->is_unready || group->refusal != HR__CA_NOT_REFUSED) continue;
    const struct hr__ca_node fresh = {.free = group->node};
    for (uint32_t k = 0; k < self->n_pods; k++)
      if (group->max_pods > 0 && hr__amounts_fit(&self->pods[k].request, &fresh.free))
        self->states[k] = HR__CA_ANOTHER_FITS;
    const uint32_t nodes = estimate(self, i);
    group->option_nodes = nodes && group->zero_or_max ? hr__ca_room(group->max, group->size) : nodes;
    if (!nodes) group->refusal = HR__CA_NO_POD_FITS;
  }
}

/* ---- Growing --------------------------------------------------------------------------------------------- */

int64_t hr__ca_balance(struct hr__ca_size *groups, uint32_t n_groups, int64_t add) {
  int64_t added = 0;
  for (; added < add; added++) {
    struct hr__ca_size *smallest = NULL;
    for (uint32_t i = 0; i < n_groups; i++)
      if (groups[i].size < groups[i].max && (!smallest || groups[i].size < smallest->size)) smallest = &groups[i];
    if (!smallest) break;
    smallest->size++;
  }
  return added;
}

/* Returns the smallest group below its maximum, among the chosen group and the groups with which it is balanced. */
static struct hr__ca_group *smallest_group(struct hr__ca_scale_up *self, uint32_t chosen) {
  struct hr__ca_group *smallest = NULL;
  for (uint32_t i = 0; i < self->n_groups; i++) {
    struct hr__ca_group *group = &self->groups[i];
    if (!may_balance(self, chosen, i) || group->size + group->grow >= group->max) continue;
    if (!smallest || group->size + group->grow < smallest->size + smallest->grow) smallest = group;
  }
  return smallest;
}

void hr__ca_grow(struct hr__ca_scale_up *self, uint32_t chosen) {
  enum hr__ca_refusal refusal = HR__CA_NOT_REFUSED;
  const int64_t wanted = self->groups[chosen].option_nodes;
  const int64_t allowed = within_limits(self, chosen, wanted, &refusal);
  if (wanted == 0 || allowed == 0 || (self->groups[chosen].zero_or_max && allowed < wanted)) {
    self->groups[chosen].refusal = refusal;
    return;
  }
  estimate(self, chosen);
  for (uint32_t i = 0; i < self->n_pods; i++)
    if (self->pods[i].placed > 0) self->states[i] = HR__CA_TRIGGERED;
  for (int64_t i = 0; i < allowed; i++) {
    struct hr__ca_group *group = smallest_group(self, chosen);
    if (!group) return;
    group->grow++;
  }
}

/* ---- Expanders -------------------------------------------------------------------------------------------- */

/* The share of a capacity that is not requested. */
static double unused_share(int64_t capacity, int64_t requested) {
  return capacity > 0 ? (double)(capacity - requested) / (double)capacity : 0;
}

static double waste(const struct hr__ca_option *option) {
  const int64_t cpu = option->nodes * option->node.of[HR__CPU_M];
  const int64_t memory = option->nodes * option->node.of[HR__MEMORY_BYTES];
  return unused_share(cpu, option->pods.of[HR__CPU_M]) + unused_share(memory, option->pods.of[HR__MEMORY_BYTES]);
}

int64_t hr__ca_preferred_cores(int64_t cluster_nodes) {
  static const struct { int64_t nodes, cores; } sizes[] = {{2, 1}, {6, 2}, {20, 4}, {60, 8}, {200, 16}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (cluster_nodes <= sizes[i].nodes) return sizes[i].cores;
  return 32;
}

double hr__ca_unfitness(int64_t preferred_cpu_m, int64_t node_cpu_m) {
  const double preferred = (double)preferred_cpu_m, offered = (double)node_cpu_m;
  return fmax(preferred / offered, offered / preferred);
}

static double price_score(const struct hr__ca_option *option, const struct hr__ca_price_settings *price) {
  if (isnan(option->node_usd_h) || isnan(option->pods_usd_h)) return (double)NAN;
  const double stabilization = price->stabilization_usd_h, nodes = (double)option->nodes;
  const double per_pods = (nodes * option->node_usd_h + stabilization) / (option->pods_usd_h + stabilization);
  const double unfitness = hr__ca_unfitness(price->preferred_cpu_m, option->node.of[HR__CPU_M]);
  /* the more new nodes, the less the size of a node counts; a group with GPUs is chosen only if no other group fits */
  const double faded = (unfitness - 1) * (1 - tanh((nodes - 1) / 15)) + 1;
  return (option->has_gpus ? 1000 : faded) * per_pods * (option->is_new_group ? 2 : 1);
}

void hr__ca_score_options(enum hr__ca_expander expander, const struct hr__ca_option *options, uint32_t n_options,
                          const struct hr__ca_price_settings *price, double *scores) {
  for (uint32_t i = 0; i < n_options; i++) {
    const struct hr__ca_option *option = &options[i];
    switch (expander) {
    case HR__CA_RANDOM:
      scores[i] = 0;
      break;
    case HR__CA_MOST_PODS:
      scores[i] = -(double)option->n_pods;
      break;
    case HR__CA_LEAST_NODES:
      scores[i] = option->nodes > 0 ? (double)option->nodes : (double)NAN;
      break;
    case HR__CA_LEAST_WASTE:
      scores[i] = waste(option);
      break;
    case HR__CA_PRICE:
      scores[i] = price_score(option, price);
      break;
    case HR__CA_PRIORITY:
      scores[i] = option->has_priority ? -(double)option->priority : (double)NAN;
      break;
    }
  }
}

uint32_t hr__ca_keep_lowest(const double *scores, uint32_t *kept, uint32_t n_kept) {
  double lowest = (double)INFINITY;
  for (uint32_t i = 0; i < n_kept; i++) lowest = fmin(lowest, scores[kept[i]]); // fmin ignores NAN
  uint32_t n = 0;
  for (uint32_t i = 0; i < n_kept; i++)
    if (scores[kept[i]] <= lowest) kept[n++] = kept[i];
  return n;
}

uint32_t hr__ca_expand(enum hr__ca_expander expander, const struct hr__ca_option *options,
                       const struct hr__ca_price_settings *price, double *scores, uint32_t *kept, uint32_t n_kept) {
  for (uint32_t i = 0; i < n_kept; i++) hr__ca_score_options(expander, &options[kept[i]], 1, price, &scores[kept[i]]);
  if (expander == HR__CA_PRIORITY) {
    bool matches = false;
    for (uint32_t i = 0; i < n_kept; i++) matches |= options[kept[i]].has_priority;
    if (!matches) return n_kept;
  }
  return hr__ca_keep_lowest(scores, kept, n_kept);
}

uint32_t hr__ca_chain(const struct hr__ca_filter *filters, uint32_t n_filters, uint32_t *kept, uint32_t n_kept) {
  for (uint32_t i = 0; i < n_filters; i++) {
    n_kept = filters[i].keep(filters[i].self, kept, n_kept);
    if (n_kept == 1) break;
  }
  return n_kept;
}
