/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which nodes Karpenter buys for pods that no node can take. Pods come in the caller's order (Karpenter: CPU, then
 * memory, falling). A job with several pods is bought as one option, because all its pods must be in one pool;
 * Karpenter itself does not know jobs.
 *
 * Layout: the options of planned node i, and what its pods request if it is bought as that option, are rows of
 * n_options. Invariant: a planned node has an option, and its pods fit each of its options. Source: see the header.
 */

#include "base/containers.h"
#include "sim/clusters/karpenter.h"

#include <math.h>

void hr__karpenter_plan_finish(struct hr__karpenter_plan *plan) {
  free(plan->nodes);
  free(plan->may);
  free(plan->used);
  free(plan->trial);
  free(plan->trial_pods);
  free(plan->trial_node);
}

/* Adds a planned node without options. */
static bool add_node(struct hr__karpenter_plan *plan, uint32_t node_pool) {
  if (plan->n_nodes == plan->capacity) {
    const uint32_t capacity = plan->capacity ? 2 * plan->capacity : 16;
    const size_t cells = (size_t)capacity * plan->n_options;
    plan->lacks_memory = capacity <= plan->capacity || !HR__ARRAY_RESIZE(plan->nodes, capacity) ||
                         !HR__ARRAY_RESIZE(plan->may, cells) || !HR__ARRAY_RESIZE(plan->used, cells);
    if (plan->lacks_memory) return false;
    plan->capacity = capacity;
  }
  const size_t row = (size_t)plan->n_nodes * plan->n_options;
  for (uint32_t i = 0; i < plan->n_options; i++) {
    plan->may[row + i] = false;
    plan->used[row + i] = (struct hr__node_amounts){{0}};
  }
  plan->nodes[plan->n_nodes++] = (struct hr__karpenter_planned){.node_pool = node_pool};
  return true;
}

static bool fits(const struct hr__node_amounts *used, const struct hr__node_amounts *request,
                 const struct hr__node_amounts *size) {
  struct hr__node_amounts sum = *used;
  hr__amounts_add(&sum, request, 1);
  return hr__amounts_fit(&sum, size);
}

/* Returns how many planned nodes can only be bought as one option. */
static int64_t only_in(const struct hr__karpenter_plan *plan, uint32_t option) {
  int64_t n = 0;
  for (uint32_t i = 0; i < plan->n_nodes; i++) {
    const bool *may = &plan->may[(size_t)i * plan->n_options];
    bool is_only = may[option];
    for (uint32_t k = 0; k < plan->n_options && is_only; k++) is_only = k == option || !may[k];
    n += is_only;
  }
  return n;
}

/* Returns how many nodes of an option may be planned. */
static int64_t room_of(const struct hr__karpenter_plan *plan, uint32_t option) {
  const struct hr__karpenter_option *self = &plan->options[option];
  const struct hr__karpenter_node_pool *pool = &plan->node_pools[self->node_pool];
  if (!self->is_available) return 0;
  int64_t room = self->room - only_in(plan, option);
  if (pool->nodes_left < room) room = pool->nodes_left;
  for (int k = 0; k < HR__N_AMOUNTS; k++)
    if (self->size.of[k] > 0 && pool->left.of[k] != INT64_MAX && pool->left.of[k] / self->size.of[k] < room)
      room = pool->left.of[k] / self->size.of[k];
  return room > 0 ? room : 0;
}

/* Reduces the limits of a node pool by the largest of the options of the last planned node. */
static void count_node(struct hr__karpenter_plan *plan) {
  const bool *may = &plan->may[(size_t)(plan->n_nodes - 1) * plan->n_options];
  struct hr__karpenter_node_pool *pool = &plan->node_pools[plan->nodes[plan->n_nodes - 1].node_pool];
  if (pool->nodes_left != INT64_MAX) pool->nodes_left--;
  for (int k = 0; k < HR__N_AMOUNTS; k++) {
    int64_t largest = 0;
    for (uint32_t i = 0; i < plan->n_options; i++)
      if (may[i] && plan->options[i].size.of[k] > largest) largest = plan->options[i].size.of[k];
    if (pool->left.of[k] != INT64_MAX) pool->left.of[k] -= largest;
  }
}

/* Returns the node pool after `last` in the order of weight, falling, then of their index; HR_NONE: none. */
static uint32_t next_pool(const struct hr__karpenter_plan *plan, uint32_t last) {
  uint32_t next = HR_NONE;
  for (uint32_t i = 0; i < plan->n_node_pools; i++) {
    const uint32_t weight = plan->node_pools[i].weight;
    if (last != HR_NONE) {
      const uint32_t before = plan->node_pools[last].weight;
      if (weight > before || (weight == before && i <= last)) continue;
    }
    if (next == HR_NONE || weight > plan->node_pools[next].weight) next = i;
  }
  return next;
}

/* ---- Single pods ------------------------------------------------------------------------------------------ */

static bool node_can_have(const struct hr__karpenter_plan *plan, uint32_t node, const struct hr__karpenter_pods *pods) {
  const size_t row = (size_t)node * plan->n_options;
  for (uint32_t i = 0; i < plan->n_options; i++)
    if (plan->may[row + i] && pods[i].count[0] > 0 &&
        fits(&plan->used[row + i], &pods[i].request[0], &plan->options[i].size))
      return true;
  return false;
}

static void add_to_node(struct hr__karpenter_plan *plan, uint32_t node, const struct hr__karpenter_pods *pods) {
  const size_t row = (size_t)node * plan->n_options;
  plan->nodes[node].n_pods++;
  for (uint32_t i = 0; i < plan->n_options; i++) {
    if (!plan->may[row + i]) continue;
    plan->may[row + i] =
        pods[i].count[0] > 0 && fits(&plan->used[row + i], &pods[i].request[0], &plan->options[i].size);
    if (plan->may[row + i]) hr__amounts_add(&plan->used[row + i], &pods[i].request[0], 1);
  }
}

bool hr__karpenter_place_pod(struct hr__karpenter_plan *plan, const struct hr__karpenter_pods *pods) {
  uint32_t best = HR_NONE;
  for (uint32_t i = 0; i < plan->n_nodes; i++)
    if ((best == HR_NONE || plan->nodes[i].n_pods < plan->nodes[best].n_pods) && node_can_have(plan, i, pods)) best = i;
  if (best != HR_NONE) {
    add_to_node(plan, best, pods);
    return true;
  }
  for (uint32_t pool = next_pool(plan, HR_NONE); pool != HR_NONE; pool = next_pool(plan, pool)) {
    bool any = false;
    if (!add_node(plan, pool)) return false;
    bool *may = &plan->may[(size_t)(plan->n_nodes - 1) * plan->n_options];
    for (uint32_t i = 0; i < plan->n_options; i++) {
      const struct hr__karpenter_option *option = &plan->options[i];
      may[i] = option->node_pool == pool && pods[i].count[0] > 0 &&
               hr__amounts_fit(&pods[i].request[0], &option->size) && room_of(plan, i) > 0;
      any = any || may[i];
    }
    if (any) {
      add_to_node(plan, plan->n_nodes - 1, pods);
      count_node(plan);
      return true;
    }
    plan->n_nodes--;
  }
  return false;
}

/* ---- Jobs with several pods ------------------------------------------------------------------------------- */

/* Where the pods of a job would go with one option: the entries of the scratch arrays are first the planned nodes that
   may be bought as it, then new nodes. */
struct job_trial {
  uint32_t n, n_planned;
};

static bool add_trial(struct hr__karpenter_plan *plan, struct job_trial *trial, uint32_t node) {
  if (trial->n == plan->trial_capacity) {
    const uint32_t capacity = plan->trial_capacity ? 2 * plan->trial_capacity : 16;
    plan->lacks_memory = capacity <= plan->trial_capacity || !HR__ARRAY_RESIZE(plan->trial, capacity) ||
                         !HR__ARRAY_RESIZE(plan->trial_pods, capacity) || !HR__ARRAY_RESIZE(plan->trial_node, capacity);
    if (plan->lacks_memory) return false;
    plan->trial_capacity = capacity;
  }
  plan->trial[trial->n] = (struct hr__node_amounts){{0}};
  plan->trial_pods[trial->n] = 0;
  plan->trial_node[trial->n++] = node;
  return true;
}

/* Places one pod on the node with the fewest pods that has room, or on a new node. */
static bool try_pod(struct hr__karpenter_plan *plan, struct job_trial *trial, const struct hr__node_amounts *request,
                    uint32_t option, int64_t room) {
  const struct hr__node_amounts *size = &plan->options[option].size;
  uint32_t best = HR_NONE;
  for (uint32_t i = 0; i < trial->n; i++)
    if ((best == HR_NONE || plan->trial_pods[i] < plan->trial_pods[best]) && fits(&plan->trial[i], request, size))
      best = i;
  if (best == HR_NONE) {
    if (trial->n - trial->n_planned >= room || !hr__amounts_fit(request, size) || !add_trial(plan, trial, HR_NONE))
      return false;
    best = trial->n - 1;
  }
  hr__amounts_add(&plan->trial[best], request, 1);
  plan->trial_pods[best]++;
  return true;
}

/* Places the pods of a job with one option. Returns the number of new nodes; INT64_MAX: they do not fit. */
static int64_t try_job(struct hr__karpenter_plan *plan, struct job_trial *trial, const struct hr__karpenter_pods *pods,
                       uint32_t option) {
  const int64_t room = room_of(plan, option);
  *trial = (struct job_trial){0};
  for (uint32_t i = 0; i < plan->n_nodes; i++) {
    const size_t cell = (size_t)i * plan->n_options + option;
    if (!plan->may[cell]) continue;
    if (!add_trial(plan, trial, i)) return INT64_MAX;
    plan->trial[trial->n - 1] = plan->used[cell];
    plan->trial_pods[trial->n - 1] = plan->nodes[i].n_pods;
  }
  trial->n_planned = trial->n;
  for (int row = 0; row < 2; row++)
    for (uint32_t k = 0; k < pods->count[row]; k++)
      if (!try_pod(plan, trial, &pods->request[row], option, room)) return INT64_MAX;
  return trial->n - trial->n_planned;
}

/* Buys the nodes of a trial as its option. */
static bool take_trial(struct hr__karpenter_plan *plan, const struct job_trial *trial, uint32_t option) {
  for (uint32_t i = 0; i < trial->n; i++) {
    const bool is_new = i >= trial->n_planned;
    if (is_new && !add_node(plan, plan->options[option].node_pool)) return false;
    const uint32_t node = is_new ? plan->n_nodes - 1 : plan->trial_node[i];
    if (!is_new && plan->trial_pods[i] == plan->nodes[node].n_pods) continue;
    const size_t row = (size_t)node * plan->n_options;
    for (uint32_t k = 0; k < plan->n_options; k++) plan->may[row + k] = k == option;
    plan->used[row + option] = plan->trial[i];
    plan->nodes[node].n_pods = plan->trial_pods[i];
    if (is_new) count_node(plan);
  }
  return true;
}

bool hr__karpenter_place_job(struct hr__karpenter_plan *plan, const struct hr__karpenter_pods *pods) {
  struct job_trial trial;
  for (uint32_t pool = next_pool(plan, HR_NONE); pool != HR_NONE; pool = next_pool(plan, pool)) {
    uint32_t best = HR_NONE;
    double least = (double)INFINITY;
    for (uint32_t i = 0; i < plan->n_options; i++) {
      if (plan->options[i].node_pool != pool || pods[i].count[0] == 0) continue;
      const int64_t n = try_job(plan, &trial, &pods[i], i);
      if (n == INT64_MAX || !((double)n * plan->options[i].price < least)) continue;
      least = (double)n * plan->options[i].price;
      best = i;
    }
    if (best == HR_NONE) continue;
    return try_job(plan, &trial, &pods[best], best) != INT64_MAX && take_trial(plan, &trial, best);
  }
  return false;
}

/* ---- Launches --------------------------------------------------------------------------------------------- */

uint32_t hr__karpenter_cheapest(const struct hr__karpenter_option *options, const bool *may, uint32_t n_options,
                                bool is_spot) {
  uint32_t best = HR_NONE;
  for (uint32_t i = 0; i < n_options; i++)
    if (may[i] && options[i].is_available && options[i].room > 0 && options[i].is_spot == is_spot &&
        (best == HR_NONE || options[i].price < options[best].price))
      best = i;
  return best;
}

bool hr__karpenter_buys_spot(const struct hr__karpenter_option *options, const bool *may, uint32_t n_options) {
  const uint32_t spot = hr__karpenter_cheapest(options, may, n_options, true);
  const uint32_t on_demand = hr__karpenter_cheapest(options, may, n_options, false);
  return spot != HR_NONE && (on_demand == HR_NONE || options[spot].price <= options[on_demand].price);
}
