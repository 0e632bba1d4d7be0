/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Scores of nodes for a task: the plug-ins binpack, nodeorder, resource-strategy-fit, and those of nodes.c.
 *
 * The functions use the amounts that are in use on the node before the task is added. nodeorder counts as the scoring
 * plug-ins of kube-scheduler do: whole numbers from 0 to 100, tasks without a CPU or memory request count as 100 milli-
 * cores and 200 MiB, tasks that are being evicted do not count, and tasks that wait for resources do. Source:
 * volcano-sh/volcano, pkg/scheduler/plugins/{binpack,nodeorder,resource-strategy-fit}; kubernetes/kubernetes,
 * pkg/scheduler/framework/plugins/noderesources.
 */

#include "policies/volcano/volcano.h"

#include "policies/volcano/session.h"

#include <math.h>

/* ---- Resources ----------------------------------------------------------------------------------------- */

/* Arithmetic and comparisons of resource vectors; see volcano.h for the layout, the invariant and the source. */

enum { ALWAYS = 1 << HR__VOLCANO_CPU | 1 << HR__VOLCANO_MEMORY };

/* ---- Arithmetic ---- */

void hr__volcano_clear(struct hr__volcano_vector *vector) {
  *vector = (struct hr__volcano_vector){.present = ALWAYS, .width = HR__VOLCANO_MEMORY + 1};
}

void hr__volcano_add(struct hr__volcano_vector *to, const struct hr__volcano_vector *what) {
  for (uint32_t i = 0; i < what->width; i++) to->amount[i] += what->amount[i];
  to->present |= what->present;
  if (to->width < what->width) to->width = what->width;
}

void hr__volcano_subtract(struct hr__volcano_vector *from, const struct hr__volcano_vector *what) {
  uint32_t width = from->present == ALWAYS ? HR__VOLCANO_MEMORY + 1 : what->width;
  for (uint32_t i = 0; i < width; i++) from->amount[i] -= what->amount[i];
  if (from->present == ALWAYS) return;
  from->present |= what->present;
  if (from->width < what->width) from->width = what->width;
}

void hr__volcano_limit(struct hr__volcano_vector *vector, const struct hr__volcano_vector *limit,
                       bool absent_is_unlimited) {
  for (uint32_t i = 0; i < vector->width; i++) {
    if (absent_is_unlimited && !hr__volcano_has(limit, i)) continue;
    if (vector->amount[i] > limit->amount[i]) vector->amount[i] = limit->amount[i];
    /* An absent limit is 0, even for negative amounts. */
    if (!hr__volcano_has(limit, i)) vector->amount[i] = 0;
  }
}

struct hr__volcano_vector hr__volcano_exceeding(const struct hr__volcano_vector *left,
                                                const struct hr__volcano_vector *right) {
  struct hr__volcano_vector result;
  hr__volcano_clear(&result);
  uint32_t width = left->width > right->width ? left->width : right->width;
  for (uint32_t i = 0; i < width; i++)
    if (left->amount[i] > right->amount[i]) hr__volcano_set(&result, i, left->amount[i] - right->amount[i]);
  return result;
}

/* ---- Comparisons ---- */

static bool at_most(double left, double right) {
  return left < right || fabs(left - right) < HR__VOLCANO_TOLERANCE;
}

bool hr__volcano_less_equal(const struct hr__volcano_vector *left, const struct hr__volcano_vector *right) {
  for (uint32_t i = 0; i < left->width; i++)
    if (hr__volcano_has(left, i) && !at_most(left->amount[i], right->amount[i])) return false;
  return true;
}

bool hr__volcano_within_partly(const struct hr__volcano_vector *used, const struct hr__volcano_vector *limit,
                               const struct hr__volcano_vector *request) {
  for (uint32_t i = 0; i < request->width; i++) {
    if (i == HR__VOLCANO_PODS || request->amount[i] <= 0) continue;
    if (!hr__volcano_is_positive(used, i) && !hr__volcano_is_positive(limit, i)) continue;
    if (at_most(used->amount[i], limit->amount[i])) return true;
  }
  return false;
}

bool hr__volcano_exceeds_partly(const struct hr__volcano_vector *used, const struct hr__volcano_vector *limit,
                                const struct hr__volcano_vector *request) {
  for (uint32_t i = 0; i < request->width; i++) {
    if (i == HR__VOLCANO_PODS || request->amount[i] <= 0) continue;
    bool relevant = i <= HR__VOLCANO_MEMORY ? hr__volcano_is_positive(limit, i) : hr__volcano_has(limit, i);
    if (relevant && used->amount[i] > limit->amount[i]) return true;
  }
  return false;
}

double hr__volcano_dominant_share(const struct hr__volcano_vector *used, const struct hr__volcano_vector *of) {
  double result = 0;
  for (uint32_t i = 0; i < of->width; i++) {
    if (!hr__volcano_is_positive(of, i)) continue;
    double share = hr__volcano_share(used->amount[i], of->amount[i]);
    if (share > result) result = share;
  }
  return result;
}

/* ---- Scores -------------------------------------------------------------------------------------------- */

#define MAX_SCORE 100
#define DEFAULT_CPU_MILLI 100.0
#define DEFAULT_MEMORY 209715200.0

/* ---- binpack ---- */

static double binpack_score(const struct hr__volcano_session *session, uint32_t task, uint32_t node) {
  const struct hr__volcano_binpack_arguments *binpack = &session->plugin[HR__VOLCANO_BINPACK]->arguments.binpack;
  const struct hr__volcano_vector *request = hr__volcano_request(session, task);
  double score = 0;
  int64_t weights = 0;
  for (uint32_t i = 0; i < request->width; i++) {
    if (!hr__volcano_is_positive(request, i) || !(binpack->weighted >> i & 1)) continue;
    double capacity = session->snapshot->nodes[node].allocatable.amount[i];
    double used = session->nodes[node].used.amount[i] + request->amount[i];
    weights += binpack->dimension_weight[i];
    if (capacity == 0 || !binpack->dimension_weight[i]) continue;
    if (used > capacity) return 0;
    score += used * binpack->dimension_weight[i] / capacity;
  }
  if (weights > 0) score /= (double)weights;
  return score * ((double)MAX_SCORE * binpack->weight);
}

/* ---- resource-strategy-fit ---- */

static double strategy_score(const struct hr__volcano_strategy_arguments *strategy,
                             const struct hr__volcano_session *session, uint32_t task, uint32_t node) {
  const struct hr__volcano_vector *request = hr__volcano_request(session, task);
  double score = 0;
  int64_t weights = 0;
  for (uint32_t i = 0; i < request->width; i++) {
    if (!hr__volcano_is_positive(request, i) || !(strategy->weighted >> i & 1)) continue;
    double capacity = session->snapshot->nodes[node].allocatable.amount[i];
    double used = session->nodes[node].used.amount[i] + request->amount[i];
    weights += strategy->dimension_weight[i];
    if (capacity == 0) continue;
    if (used > capacity) return 0;
    score += (strategy->most_allocated >> i & 1 ? used : capacity - used) * strategy->dimension_weight[i] / capacity;
  }
  if (weights > 0) score /= (double)weights;
  return score * ((double)MAX_SCORE * strategy->weight);
}

/* Nodes without scarce resources come first, for tasks that fit them. */
static double scarce_score(const struct hr__volcano_strategy_arguments *strategy,
                           const struct hr__volcano_session *session, uint32_t task, uint32_t node) {
  const struct hr__volcano_vector *request = hr__volcano_request(session, task);
  const struct hr__volcano_vector *capacity = &session->snapshot->nodes[node].allocatable;
  for (uint32_t i = 0; i < request->width; i++)
    if (hr__volcano_is_positive(request, i) && capacity->amount[i] == 0) return 0;
  double score = 0;
  for (uint32_t i = 0; i < capacity->width; i++)
    if ((strategy->scarce >> i & 1) && capacity->amount[i] > 0) score += strategy->scarce_dimension_weight[i];
  if (strategy->scarce_weight_sum > 0) score = 1 - score / strategy->scarce_weight_sum;
  return score * ((double)MAX_SCORE * strategy->scarce_weight);
}

static double resource_strategy_score(const struct hr__volcano_session *session, uint32_t task, uint32_t node) {
  const struct hr__volcano_strategy_arguments *strategy =
      &session->plugin[HR__VOLCANO_RESOURCE_STRATEGY_FIT]->arguments.strategy;
  double score = 0;
  if (strategy->weight > 0) score += strategy_score(strategy, session, task, node);
  if (strategy->scarce_weight > 0) score += scarce_score(strategy, session, task, node);
  return score;
}

/* ---- nodeorder ---- */

/* What the task and those on the node request of a dimension. `with_defaults`: a missing CPU or memory request counts
   as a small one. */
static double requested_with(const struct hr__volcano_session *session, uint32_t task, uint32_t node,
                             uint32_t dimension, bool with_defaults) {
  const struct hr__volcano_node_state *state = &session->nodes[node];
  double own = hr__volcano_request(session, task)->amount[dimension];
  double sum = state->used.amount[dimension] - state->releasing.amount[dimension] + state->pipelined.amount[dimension];
  if (!with_defaults || dimension > HR__VOLCANO_MEMORY) return sum + own;
  double small = dimension == HR__VOLCANO_CPU ? DEFAULT_CPU_MILLI : DEFAULT_MEMORY;
  for (uint32_t at = state->first_task; at != HR__VOLCANO_NONE; at = session->task_next[at])
    if (session->task_state[at] != HR__VOLCANO_RELEASING && hr__volcano_request(session, at)->amount[dimension] == 0)
      sum += small;
  return sum + (own == 0 ? small : own);
}

/* The mean score of CPU and memory, by how much is left (least allocated), or used. */
static int64_t allocation_score(const struct hr__volcano_session *session, uint32_t task, uint32_t node, bool least) {
  int64_t sum = 0, n = 0;
  for (uint32_t i = HR__VOLCANO_CPU; i <= HR__VOLCANO_MEMORY; i++) {
    int64_t capacity = (int64_t)session->snapshot->nodes[node].allocatable.amount[i];
    int64_t requested = (int64_t)requested_with(session, task, node, i, true);
    if (capacity == 0) continue;
    n++;
    if (least)
      sum += requested > capacity ? 0 : (capacity - requested) * MAX_SCORE / capacity;
    else
      sum += (requested > capacity ? capacity : requested) * MAX_SCORE / capacity;
  }
  return n ? sum / n : 0;
}

/* 100 if the same fractions of CPU, memory and GPUs are used; GPUs count for tasks that request them. */
static int64_t balance_score(const struct hr__volcano_session *session, uint32_t task, uint32_t node) {
  double fractions[3], sum = 0;
  int n = 0;
  const uint32_t dimensions[] = {HR__VOLCANO_CPU, HR__VOLCANO_MEMORY, session->snapshot->gpu_dimension};
  for (int i = 0; i < 3; i++) {
    uint32_t k = dimensions[i];
    if (k == HR__VOLCANO_NONE) continue;
    double capacity = session->snapshot->nodes[node].allocatable.amount[k];
    if (capacity <= 0 || (k >= HR__VOLCANO_FIRST_OTHER && hr__volcano_request(session, task)->amount[k] <= 0)) continue;
    double fraction = requested_with(session, task, node, k, false) / capacity;
    fractions[n] = fraction > 1 ? 1 : fraction;
    sum += fractions[n++];
  }
  double deviation = 0;
  if (n == 2) deviation = fabs((fractions[0] - fractions[1]) / 2);
  if (n == 3) {
    double mean = sum / n, squares = 0;
    for (int i = 0; i < n; i++) squares += (fractions[i] - mean) * (fractions[i] - mean);
    deviation = sqrt(squares / n);
  }
  return (int64_t)((1 - deviation) * MAX_SCORE);
}

static double nodeorder_score(const struct hr__volcano_session *session, uint32_t task, uint32_t node) {
  const struct hr__volcano_nodeorder_arguments *weights = &session->plugin[HR__VOLCANO_NODEORDER]->arguments.nodeorder;
  const int64_t *preference = session->snapshot->tasks[task].preference;
  const int64_t *avoidance = session->snapshot->tasks[task].avoidance;
  double score = 0;
  if (weights->least_requested)
    score += (double)(allocation_score(session, task, node, true) * weights->least_requested);
  if (weights->most_requested)
    score += (double)(allocation_score(session, task, node, false) * weights->most_requested);
  if (weights->balanced_resource) score += (double)(balance_score(session, task, node) * weights->balanced_resource);
  if (weights->node_affinity && preference) score += (double)(preference[node] * weights->node_affinity);
  if (weights->taint_toleration && avoidance) score -= (double)(avoidance[node] * weights->taint_toleration);
  if (weights->topology_spread && session->snapshot->tasks[task].n_spread)
    score += session->spread_scores[node] * weights->topology_spread;
  return score;
}

/* ---- All ---- */

double hr__volcano_score(const struct hr__volcano_session *session, uint32_t task, uint32_t node) {
  double score = 0;
  for (uint32_t i = 0; i < session->config->n_plugins; i++) {
    const struct hr__volcano_plugin *plugin = &session->config->plugins[i];
    if (!hr__volcano_enables(plugin, HR__VOLCANO_NODE_ORDER)) continue;
    switch (plugin->id) {
    case HR__VOLCANO_BINPACK:
      score += binpack_score(session, task, node);
      break;
    case HR__VOLCANO_RESOURCE_STRATEGY_FIT:
      score += resource_strategy_score(session, task, node);
      break;
    case HR__VOLCANO_NODEORDER:
      score += nodeorder_score(session, task, node);
      break;
    case HR__VOLCANO_USAGE:
      score += hr__volcano_usage_score(session, node);
      break;
    case HR__VOLCANO_NODEGROUP:
      score += hr__volcano_nodegroup_score(session, task, node);
      break;
    case HR__VOLCANO_TDM:
      score += hr__volcano_tdm_score(session, task, node);
      break;
    default:
      break;
    }
  }
  return score;
}
