/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The rules of the cluster autoscaler. Groups, pods, nodes and options are flat arrays of the caller; times are
 * microseconds of one clock. Source: kubernetes/autoscaler, cluster-autoscaler/{estimator, core/scaleup/orchestrator,
 * expander, processors/nodegroupset, core/scaledown, simulator/utilization, utils/backoff}.
 *
 * Packing computes how many new nodes of one node group are needed for pending pods, by first fit over the new nodes.
 * One array contains the existing nodes, followed by the new nodes in the order in which they are added. Invariant: the
 * pods of a node fit into its resources and its maximum number of pods, no two of them have the same host port, and a
 * pod is placed only if its owner's maximum skew is not exceeded.
 *
 * Scale-up computes options from pending pods, selects the best options (expanders), and computes the growth of node
 * groups from the chosen option. Invariant: no group exceeds its maximum, the cluster exceeds neither its number of
 * nodes nor a quota, and an expander never adds an option.
 *
 * Scale-down decides which nodes are removed. It also decides how long a node group does not grow after a failure
 * (back-off). Invariant: no group falls below its minimum, and an atomic group is removed as a whole.
 */

#include "sim/clusters/node_autoscalers.h"

#include "base/containers.h"

#include <math.h>

int64_t hr__ca_smaller_limit(int64_t a, int64_t b) {
  if (a < 0 || b < 0) return -1;
  return b > 0 && (b < a || a == 0) ? b : a;
}

int64_t hr__ca_cluster_limit(int64_t max_nodes, int64_t nodes) {
  if (max_nodes == 0) return 0;
  return hr__ca_room_limit(max_nodes - nodes);
}

/* ---- Whether a pod may be placed on a node ---------------------------------------------------------------------- */

static uint64_t port_bit(const struct hr__ca_pods *pods) {
  return pods->host_port ? UINT64_C(1) << (pods->host_port - 1) : 0;
}

static bool has_room(const struct hr__ca_node *node, const struct hr__ca_pods *pods) {
  return node->pods_left > 0 && !(node->ports & port_bit(pods)) && hr__amounts_fit(&pods->request, &node->free);
}

/* Returns the smallest number of pods of the owner on a node; 0 if there are fewer than `min_domains` nodes. */
static int64_t emptiest_host(const struct hr__ca_packing *packing, const struct hr__ca_pods *pods) {
  if (packing->n_nodes < pods->min_domains) return 0;
  int64_t fewest = INT64_MAX;
  for (uint32_t i = 0; i < packing->n_nodes; i++)
    if (packing->nodes[i].own < fewest) fewest = packing->nodes[i].own;
  return fewest;
}

/* Returns by how much the number of pods of the owner in `zone` exceeds that of the zone with the fewest of them. With
   fewer than `min_domains` zones, the number of the zone with the fewest counts as 0. */
static int64_t above_emptiest_zone(const struct hr__ca_packing *packing, const struct hr__ca_pods *pods,
                                   uint32_t zone) {
  int64_t own[HR__CA_MAX_ZONES];
  for (uint32_t i = 0; i < HR__CA_MAX_ZONES; i++) own[i] = -1;
  for (uint32_t i = 0; i < packing->n_nodes; i++) {
    int64_t *pods_of_zone = &own[packing->nodes[i].zone];
    *pods_of_zone = (*pods_of_zone < 0 ? 0 : *pods_of_zone) + packing->nodes[i].own;
  }
  int64_t fewest = INT64_MAX, n_zones = 0;
  for (uint32_t i = 0; i < HR__CA_MAX_ZONES; i++) {
    if (own[i] < 0) continue;
    n_zones++;
    if (own[i] < fewest) fewest = own[i];
  }
  return own[zone] - (n_zones < pods->min_domains ? 0 : fewest);
}

static bool keeps_skew(const struct hr__ca_packing *packing, const struct hr__ca_pods *pods, uint32_t at) {
  const struct hr__ca_node *node = &packing->nodes[at];
  if (pods->spread == HR__CA_SPREAD_HOSTS)
    return (int64_t)node->own + 1 - emptiest_host(packing, pods) <= pods->max_skew;
  if (pods->spread == HR__CA_SPREAD_ZONES) return above_emptiest_zone(packing, pods, node->zone) + 1 <= pods->max_skew;
  return true;
}

/* Places one pod on a node if it fits and does not exceed the maximum skew. Returns whether it was placed. */
static bool put(struct hr__ca_packing *packing, struct hr__ca_pods *pods, uint32_t at) {
  struct hr__ca_node *node = &packing->nodes[at];
  if (!has_room(node, pods) || !keeps_skew(packing, pods, at)) return false;
  hr__amounts_add(&node->free, &pods->request, -1);
  node->pods_left--;
  node->ports |= port_bit(pods);
  node->own++;
  packing->n_used += !node->has_pods;
  node->has_pods = true;
  pods->placed++;
  packing->n_placed++;
  return true;
}

/* ---- Packing --------------------------------------------------------------------------------------------- */

/* Places pods by first fit on the new nodes that already exist. The pods are equal, so without a spread rule a node
   that refused one of them refuses all later ones. Therefore the search does not return to earlier nodes. With a spread
   rule, it begins again at the first new node after each pod. */
static void fill_new_nodes(struct hr__ca_packing *packing, struct hr__ca_pods *pods) {
  uint32_t at = packing->n_present;
  while (pods->placed < pods->count && at < packing->n_nodes) {
    if (!put(packing, pods, at))
      at++;
    else if (pods->spread != HR__CA_NO_SPREAD)
      at = packing->n_present;
  }
}

/* Places a pod on any other node if the last node refuses it because the pods are spread over hosts. */
static bool put_elsewhere(struct hr__ca_packing *packing, struct hr__ca_pods *pods) {
  const uint32_t last = packing->n_nodes - 1;
  if (pods->spread != HR__CA_SPREAD_HOSTS || keeps_skew(packing, pods, last)) return false;
  for (uint32_t at = 0; at < last; at++)
    if (put(packing, pods, at)) return true;
  return false;
}

static bool may_add(const struct hr__ca_packing *packing) {
  return packing->max_new == 0 ||
         (packing->max_new > 0 && packing->n_nodes - packing->n_present < (uint64_t)packing->max_new);
}

/* Adds nodes until all pods are placed, a new node cannot take a pod, or the limit is reached. */
static void add_nodes(struct hr__ca_packing *packing, struct hr__ca_pods *pods) {
  while (pods->placed < pods->count) {
    const bool has_new = packing->n_nodes > packing->n_present;
    if (has_new && (put(packing, pods, packing->n_nodes - 1) || put_elsewhere(packing, pods))) continue;
    if (has_new && !packing->nodes[packing->n_nodes - 1].has_pods) return;
    if (!may_add(packing)) return;
    packing->nodes[packing->n_nodes++] = packing->fresh;
    if (!put(packing, pods, packing->n_nodes - 1)) return;
  }
}

static double share(int64_t part, int64_t whole) {
  return whole > 0 ? (double)part / (double)whole : 0;
}

static double score(const struct hr__ca_packing *packing, const struct hr__ca_pods *pods) {
  const int64_t *request = pods->request.of, *node = packing->fresh.free.of;
  return share(request[HR__CPU_M], node[HR__CPU_M]) + share(request[HR__MEMORY_BYTES], node[HR__MEMORY_BYTES]);
}

/* Sorts the groups by score, the highest score first. Groups with equal scores remain in order. */
static void order_groups(struct hr__ca_packing *packing, const struct hr__ca_pods *groups, uint32_t n_groups) {
  for (uint32_t i = 0; i < n_groups; i++) {
    uint32_t at = i;
    for (; at > 0 && score(packing, &groups[packing->order[at - 1]]) < score(packing, &groups[i]); at--)
      packing->order[at] = packing->order[at - 1];
    packing->order[at] = i;
  }
}

void hr__ca_pack(struct hr__ca_packing *packing, struct hr__ca_pods *groups, uint32_t n_groups) {
  packing->n_nodes = packing->n_present;
  packing->n_used = packing->n_placed = 0;
  for (uint32_t i = 0; i < packing->n_present; i++) packing->nodes[i].has_pods = false;
  order_groups(packing, groups, n_groups);
  for (uint32_t i = 0; i < n_groups; i++) {
    struct hr__ca_pods *pods = &groups[packing->order[i]];
    pods->placed = 0;
    for (uint32_t k = 0; k < packing->n_nodes; k++) packing->nodes[k].own = 0;
    fill_new_nodes(packing, pods);
    add_nodes(packing, pods);
  }
}

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

/* Returns how many new nodes of a group the quotas allow, at most `wanted`. If fewer than `wanted`, writes the reason
   to `*refusal`. */
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

/* Returns how many nodes may be added to a group, at most `wanted`. If fewer than `wanted`, writes the reason to
   `*refusal`. */
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

/* Packs the pending pods on new nodes of a group. Returns the number of nodes that got pods. */
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

/* Returns the share of a capacity that is not requested. */
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
  /* the size of a node has less effect if there are more new nodes; a group with GPUs is chosen only if no other group
     fits */
  const double faded = (unfitness - 1) * (1 - tanh((nodes - 1) / 15)) + 1;
  return (option->has_gpus ? 1000 : faded) * per_pods * (option->is_new_group ? 2 : 1);
}

/* Returns the score of an option. The option with the lowest score is the best; NAN excludes the option. `price` may be
   NULL for other expanders than HR__CA_PRICE. */
static double score_option(enum hr__ca_expander expander, const struct hr__ca_option *option,
                           const struct hr__ca_price_settings *price) {
  switch (expander) {
  case HR__CA_RANDOM:
    break;
  case HR__CA_MOST_PODS:
    return -(double)option->n_pods;
  case HR__CA_LEAST_NODES:
    return option->nodes > 0 ? (double)option->nodes : (double)NAN;
  case HR__CA_LEAST_WASTE:
    return waste(option);
  case HR__CA_PRICE:
    return price_score(option, price);
  case HR__CA_PRIORITY:
    return option->has_priority ? -(double)option->priority : (double)NAN;
  }
  return 0;
}

/* Removes from `kept` (indices of options) all options except those with the lowest score. Options with equal scores
   all remain; options with the score NAN are removed. Returns the number of remaining options. */
static uint32_t keep_lowest(const double *scores, uint32_t *kept, uint32_t n_kept) {
  double lowest = (double)INFINITY;
  for (uint32_t i = 0; i < n_kept; i++) lowest = fmin(lowest, scores[kept[i]]); // fmin ignores NAN
  uint32_t n = 0;
  for (uint32_t i = 0; i < n_kept; i++)
    if (scores[kept[i]] <= lowest) kept[n++] = kept[i];
  return n;
}

uint32_t hr__ca_expand(enum hr__ca_expander expander, const struct hr__ca_option *options,
                       const struct hr__ca_price_settings *price, double *scores, uint32_t *kept, uint32_t n_kept) {
  for (uint32_t i = 0; i < n_kept; i++) scores[kept[i]] = score_option(expander, &options[kept[i]], price);
  if (expander == HR__CA_PRIORITY) {
    bool matches = false;
    for (uint32_t i = 0; i < n_kept; i++) matches |= options[kept[i]].has_priority;
    if (!matches) return n_kept;
  }
  return keep_lowest(scores, kept, n_kept);
}

uint32_t hr__ca_chain(const struct hr__ca_filter *filters, uint32_t n_filters, uint32_t *kept, uint32_t n_kept) {
  for (uint32_t i = 0; i < n_filters; i++) {
    n_kept = filters[i].keep(filters[i].self, kept, n_kept);
    if (n_kept == 1) break;
  }
  return n_kept;
}

/* ---- Back-off -------------------------------------------------------------------------------------------- */

void hr__ca_fail(const struct hr__ca_backoff_spec *spec, struct hr__ca_backoff *self, int64_t now_us) {
  if (!self->has_failed)
    self->length_us = spec->first_us;
  else if (self->until_us < now_us) // a failure during the back-off does not double the length
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

/* Writes the share of a resource of the node that is used. Returns false if the node does not have the resource. */
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
  if (node->has_gpus) { // without a ready GPU: 0, so that the node can be removed
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

/* Returns whether all nodes of an atomic group are candidates: the number of candidates is the target size, or the
   number of existing nodes. */
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
   original, only a budget of exactly 0 prevents the choice of the first group; a negative budget does not. */
static void take_atomic(struct hr__ca_deletions *self, struct hr__ca_budget *budget) {
  bool may_exceed = true;
  for (uint32_t i = 0; i < self->n_empty; i++) {
    struct hr__ca_deletion *group = &self->groups[self->empty[i]];
    if (!group->is_atomic) continue;
    const bool exceeds = budget->all < group->empty + group->drain || budget->drain < group->drain;
    if (exceeds && (budget->all == 0 || (group->drain > 0 && budget->drain == 0) || !may_exceed)) break;
    if (is_whole(group)) take_whole(group, budget, &may_exceed);
  }
  budget->drain = hr__smaller(budget->all, budget->drain);
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
    group->take_empty = hr__smaller(group->empty, budget.all);
    budget.all -= group->take_empty;
  }
  budget.drain = hr__smaller(budget.all, budget.drain);
  for (uint32_t i = 0; i < self->n_drain && budget.drain > 0; i++) {
    struct hr__ca_deletion *group = &self->groups[self->drain[i]];
    if (group->is_atomic) continue;
    group->take_drain = hr__smaller(group->drain, budget.drain);
    budget.drain -= group->take_drain;
  }
}
