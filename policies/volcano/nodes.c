/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Nodes for a task: whether the plug-ins accept a node, and its score.
 *
 * Invariant: group_allocated[queue * n_groups + group] is the sum over the allocated tasks of the queue in the group.
 *
 * Source: volcano-sh/volcano, pkg/scheduler/plugins/{predicates,nodegroup,tdm,usage,resource-strategy-fit}.
 */

#include "policies/volcano/volcano.h"

#include <math.h>

#define MAX_SCORE 100

/* ---- Spread ----------------------------------------------------------------------------------------- */

/*
 * Topology spread constraints of pods. A constraint asks that the pods that match a selector are spread evenly over the
 * domains of a node label. Required constraints exclude nodes (plug-in predicates); the others contribute to scores
 * (plug-in nodeorder).
 *
 * The domains of a constraint are numbered from 0, so pods are counted in an array by domain. Pods that are being
 * evicted are not counted; pods that wait for resources are. Only nodes are counted that the task accepts and that have
 * the labels of all constraints of the same sort (required or not).
 *
 * Invariant: the functions for constraints change only the scratch memory of the session. Source:
 * kubernetes/kubernetes, pkg/scheduler/framework/plugins/podtopologyspread; volcano-sh/volcano,
 * pkg/scheduler/plugins/{predicates,nodeorder}.
 */

/* ---- Spread: counts --------------------------------------------------------------------------------- */

/* Whether the node has the labels of all required constraints of the task or, if `required` is false, of all its other
   constraints. */
static bool has_labels(const struct hr__volcano_task *task, uint32_t node, bool required) {
  for (uint32_t i = 0; i < task->n_spread; i++)
    if (task->spread[i].is_required == required && task->spread[i].domain[node] == HR__VOLCANO_NONE) return false;
  return true;
}

static bool accepts(const struct hr__volcano_task *task, uint32_t node) {
  return !task->nodes || (task->nodes[node / 64] >> node % 64 & 1);
}

/* The number of pods on a node that the constraint counts. */
static uint32_t count_on(const struct hr__volcano_session *session, const struct hr__volcano_spread *spread,
                         uint32_t node) {
  uint32_t count = 0;
  for (uint32_t at = session->nodes[node].first_task; at != HR__VOLCANO_NONE; at = session->task_next[at]) {
    enum hr__volcano_state state = session->task_state[at];
    bool is_gone = state == HR__VOLCANO_RELEASING || state == HR__VOLCANO_SUCCEEDED || state == HR__VOLCANO_FAILED;
    count += !is_gone && (spread->matches[at / 64] >> at % 64 & 1);
  }
  return count;
}

/* Counts the pods in each domain: session->spread_counts[domain]. Domains without an eligible node get
   HR__VOLCANO_NONE. */
static void count_domains(const struct hr__volcano_session *session, const struct hr__volcano_task *task,
                          const struct hr__volcano_spread *spread) {
  uint32_t *counts = session->spread_counts;
  for (uint32_t d = 0; d < spread->n_domains; d++) counts[d] = HR__VOLCANO_NONE;
  for (uint32_t node = 0; node < session->snapshot->n_nodes; node++) {
    if (!accepts(task, node) || !has_labels(task, node, spread->is_required)) continue;
    uint32_t *count = &counts[spread->domain[node]];
    if (*count == HR__VOLCANO_NONE) *count = 0;
    *count += count_on(session, spread, node);
  }
}

/* ---- Spread: required constraints ------------------------------------------------------------------- */

/* Whether, if the task is placed on the node, the domain of the node has at most `max_skew` more pods than the domain
   with the fewest pods. */
static bool is_even(const struct hr__volcano_session *session, const struct hr__volcano_task *task,
                    const struct hr__volcano_spread *spread, uint32_t node) {
  const uint32_t *counts = session->spread_counts;
  uint32_t least = HR__VOLCANO_NONE, n_domains = 0;
  count_domains(session, task, spread);
  for (uint32_t d = 0; d < spread->n_domains; d++) {
    if (counts[d] == HR__VOLCANO_NONE) continue;
    n_domains++;
    if (counts[d] < least) least = counts[d];
  }
  if ((int64_t)n_domains < spread->min_domains) least = 0;
  uint32_t own = counts[spread->domain[node]];
  if (own == HR__VOLCANO_NONE) own = 0;
  return (int64_t)own + spread->matches_itself - least <= spread->max_skew;
}

/* Checks whether the required topology spread constraints permit the node. `*reason` is set to the reason of a
   rejection; NULL: none. */
static enum hr__volcano_verdict volcano_spread_verdict(const struct hr__volcano_session *session, uint32_t task,
                                                       uint32_t node, const char **reason) {
  const struct hr__volcano_task *info = &session->snapshot->tasks[task];
  for (uint32_t i = 0; i < info->n_spread; i++) {
    if (!info->spread[i].is_required) continue;
    *reason = "node(s) didn't match pod topology spread constraints";
    if (info->spread[i].domain[node] == HR__VOLCANO_NONE) return HR__VOLCANO_UNSCHEDULABLE_FOR_GOOD;
    if (!is_even(session, info, &info->spread[i], node)) return HR__VOLCANO_UNSCHEDULABLE;
  }
  *reason = NULL;
  return HR__VOLCANO_FITS;
}

/* ---- Spread: other constraints ---------------------------------------------------------------------- */

/* The number of different domains of the candidates that have all labels. */
static uint32_t count_candidate_domains(const struct hr__volcano_session *session, const struct hr__volcano_task *task,
                                        const struct hr__volcano_spread *spread, const uint32_t *nodes, uint32_t n) {
  uint32_t *seen = session->spread_counts, n_domains = 0;
  for (uint32_t d = 0; d < spread->n_domains; d++) seen[d] = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (!has_labels(task, nodes[i], false)) continue;
    if (spread->is_by_node || !seen[spread->domain[nodes[i]]]) n_domains++;
    seen[spread->domain[nodes[i]]] = 1;
  }
  return n_domains;
}

/* Adds the number of pods in the domain of each candidate to its score, with a weight that increases with the number of
   domains. */
static void add_constraint(struct hr__volcano_session *session, const struct hr__volcano_task *task,
                           const struct hr__volcano_spread *spread, const uint32_t *nodes, uint32_t n) {
  double weight = log((double)count_candidate_domains(session, task, spread, nodes, n) + 2);
  if (!spread->is_by_node) count_domains(session, task, spread);
  for (uint32_t i = 0; i < n; i++) {
    if (!has_labels(task, nodes[i], false)) continue;
    uint32_t count =
        spread->is_by_node ? count_on(session, spread, nodes[i]) : session->spread_counts[spread->domain[nodes[i]]];
    if (count == HR__VOLCANO_NONE) count = 0;
    session->spread_scores[nodes[i]] += count * weight + (double)(spread->max_skew - 1);
  }
}

void hr__volcano_spread_prepare(struct hr__volcano_session *session, uint32_t task, const uint32_t *nodes, uint32_t n) {
  const struct hr__volcano_task *info = &session->snapshot->tasks[task];
  double *scores = session->spread_scores;
  int64_t least = INT64_MAX, most = 0;
  if (!info->n_spread) return;
  for (uint32_t i = 0; i < n; i++) scores[nodes[i]] = 0;
  bool any = false;
  for (uint32_t i = 0; i < info->n_spread; i++) {
    if (info->spread[i].is_required) continue;
    add_constraint(session, info, &info->spread[i], nodes, n);
    any = true;
  }
  if (!any) return;
  for (uint32_t i = 0; i < n; i++) {
    if (!has_labels(info, nodes[i], false)) continue;
    int64_t score = llround(scores[nodes[i]]);
    if (score < least) least = score;
    if (score > most) most = score;
  }
  for (uint32_t i = 0; i < n; i++) {
    if (!has_labels(info, nodes[i], false)) continue; /* the score of such a node is 0 */
    int64_t score = llround(scores[nodes[i]]);
    scores[nodes[i]] = most ? (double)(MAX_SCORE * (most + least - score) / most) : MAX_SCORE;
  }
}

/* ---- Accepted nodes --------------------------------------------------------------------------------- */

/* The plug-ins that decide which nodes a task may use: predicates (selectors and the number of pods), nodegroup (groups
   of nodes by queue), tdm (nodes that may be used only during a part of the day), usage (measured load), and the
   proportional part of resource-strategy-fit. The scores of nodegroup, tdm and usage are here, too. */

#define GROUP_SCORE 100.0
#define ZONE_SCORE 100.0
#define NODE_SCORE 100.0

/* ---- Accepted nodes: nodegroup ---------------------------------------------------------------------- */

static bool contains(const struct hr__volcano_id_list *list, uint32_t id) {
  for (uint32_t i = 0; i < list->n_ids; i++)
    if (list->ids[i] == id) return true;
  return false;
}

/* The groups of a queue. In a hierarchy, a queue without groups has those of its nearest ancestor with groups. NULL:
   none. */
static const struct hr__volcano_node_groups *groups_of(const struct hr__volcano_session *session, uint32_t queue) {
  const struct hr__volcano_snapshot *snapshot = session->snapshot;
  if (queue == HR__VOLCANO_NONE) return NULL;
  bool inherits = hr__volcano_enables(session->plugin[HR__VOLCANO_NODEGROUP], HR__VOLCANO_HIERARCHY);
  for (uint32_t steps = 0; steps <= snapshot->n_queues; steps++) {
    if (snapshot->queues[queue].groups) return snapshot->queues[queue].groups;
    if (!inherits || queue == snapshot->root_queue) return NULL;
    uint32_t parent = snapshot->queues[queue].parent;
    if (parent == HR__VOLCANO_NONE) parent = snapshot->root_queue;
    if (parent == HR__VOLCANO_MISSING || parent == HR__VOLCANO_NONE) return NULL;
    queue = parent;
  }
  return NULL;
}

static uint32_t queue_of(const struct hr__volcano_session *session, uint32_t task) {
  uint32_t job = session->snapshot->tasks[task].job;
  return job == HR__VOLCANO_NONE ? HR__VOLCANO_NONE : session->snapshot->jobs[job].queue;
}

static struct hr__volcano_vector *allocated_in(const struct hr__volcano_session *session, uint32_t queue,
                                               uint32_t group) {
  return &session->group_allocated[(size_t)queue * session->snapshot->n_groups + group];
}

void hr__volcano_nodegroup_notify(struct hr__volcano_session *session, uint32_t task, bool allocated) {
  uint32_t queue = queue_of(session, task), node = session->task_node[task];
  if (queue == HR__VOLCANO_NONE || node == HR__VOLCANO_NONE) return;
  uint32_t group = session->snapshot->nodes[node].group;
  if (group == HR__VOLCANO_NONE) return;
  hr__volcano_change(allocated_in(session, queue, group), hr__volcano_request(session, task), allocated);
}

/* Whether the queue stays within its limit of the group if the task is added. */
static bool within_group_limit(const struct hr__volcano_session *session, uint32_t task, uint32_t queue,
                               uint32_t group) {
  const struct hr__volcano_queue *info = &session->snapshot->queues[queue];
  for (uint32_t i = 0; i < info->n_group_limits; i++) {
    const struct hr__volcano_group_limit *limit = &info->group_limits[i];
    if (limit->group != group) continue;
    struct hr__volcano_vector used = *allocated_in(session, queue, group);
    hr__volcano_add(&used, hr__volcano_request(session, task));
    for (uint32_t k = 0; k < limit->limit.width; k++) {
      bool limits = k == HR__VOLCANO_CPU      ? limit->limits_cpu
                    : k == HR__VOLCANO_MEMORY ? limit->limits_memory
                                              : hr__volcano_has(&limit->limit, k);
      if (limits && used.amount[k] - limit->limit.amount[k] >= HR__VOLCANO_TOLERANCE) return false;
    }
  }
  return true;
}

/* Returns NULL if the node group plug-in accepts the node, else the reason why not. */
static const char *group_reason(const struct hr__volcano_session *session, uint32_t task, uint32_t node) {
  uint32_t queue = queue_of(session, task), group = session->snapshot->nodes[node].group;
  if (queue != HR__VOLCANO_NONE && session->snapshot->queues[queue].group_limits_are_invalid)
    return "the resource limits of node groups are invalid";
  const struct hr__volcano_node_groups *groups = groups_of(session, queue);
  bool is_unset = !groups || (!groups->required.n_ids && !groups->preferred.n_ids && !groups->anti_required.n_ids &&
                              !groups->anti_preferred.n_ids);
  if (group == HR__VOLCANO_NONE) {
    bool is_strict = session->plugin[HR__VOLCANO_NODEGROUP]->arguments.nodegroup.is_strict;
    return !is_strict && is_unset ? NULL : "node group label not found";
  }
  if (is_unset) return "node group affinity not found";
  bool accepted = contains(&groups->required, group) || contains(&groups->preferred, group);
  if (contains(&groups->anti_required, group)) accepted = false;
  if (contains(&groups->anti_preferred, group)) accepted = true;
  if (!accepted) return "node group not satisfied";
  return within_group_limit(session, task, queue, group) ? NULL : "node group resource limit exceeded";
}

static double volcano_nodegroup_score(const struct hr__volcano_session *session, uint32_t task, uint32_t node) {
  uint32_t group = session->snapshot->nodes[node].group;
  const struct hr__volcano_node_groups *groups = groups_of(session, queue_of(session, task));
  if (group == HR__VOLCANO_NONE || !groups) return 0;
  if (contains(&groups->anti_preferred, group)) return -1;
  double score = contains(&groups->required, group) ? GROUP_SCORE : 0;
  if (!contains(&groups->preferred, group)) return score;
  if (!session->plugin[HR__VOLCANO_NODEGROUP]->arguments.nodegroup.preferred_in_order) return score + GROUP_SCORE / 2;
  /* If a group is listed twice, its last position counts; the length of the list is the number of different groups. */
  uint32_t place = 0, n_different = 0;
  for (uint32_t i = 0; i < groups->preferred.n_ids; i++) {
    struct hr__volcano_id_list before = {groups->preferred.ids, i};
    if (groups->preferred.ids[i] == group) place = i;
    n_different += !contains(&before, groups->preferred.ids[i]);
  }
  return score + GROUP_SCORE / 2 * ((double)n_different - place) / n_different;
}

/* ---- Accepted nodes: tdm ---------------------------------------------------------------------------- */

static bool is_in_window(const struct hr__volcano_zone_window *window, int32_t minute) {
  if (window->start_min < window->end_min) return minute >= window->start_min && minute <= window->end_min;
  return minute >= window->start_min || minute <= window->end_min;
}

/* Whether the nodes of the zone may be used now. */
static bool zone_is_active(const struct hr__volcano_session *session, uint32_t zone) {
  const struct hr__volcano_tdm_arguments *tdm = &session->plugin[HR__VOLCANO_TDM]->arguments.tdm;
  for (uint32_t i = 0; i < tdm->n_windows; i++)
    if (tdm->windows[i].zone == zone)
      return !tdm->windows[i].is_invalid && is_in_window(&tdm->windows[i], session->config->minute_of_day);
  return false;
}

static const char *zone_reason(const struct hr__volcano_session *session, uint32_t task, uint32_t node) {
  uint32_t zone = session->snapshot->nodes[node].zone;
  if (zone == HR__VOLCANO_NONE) return NULL;
  if (!zone_is_active(session, zone)) return "the revocable zone is not active";
  return session->snapshot->tasks[task].uses_revocable_zones ? NULL : "the task does not use revocable nodes";
}

static double volcano_tdm_score(const struct hr__volcano_session *session, uint32_t task, uint32_t node) {
  uint32_t zone = session->snapshot->nodes[node].zone;
  return zone != HR__VOLCANO_NONE && zone_is_active(session, zone) &&
                 session->snapshot->tasks[task].uses_revocable_zones
             ? ZONE_SCORE
             : 0;
}

static int32_t budget_tasks(const struct hr__volcano_budget *budget, uint32_t n_tasks) {
  if (!budget->is_percent) return budget->value;
  return (int32_t)(((int64_t)budget->value * n_tasks + 99) / 100);
}

/* The number of tasks that the job may lose at once. */
static int32_t max_evictions(const struct hr__volcano_session *session, uint32_t job) {
  const struct hr__volcano_job *info = &session->snapshot->jobs[job];
  const uint32_t *count = session->job_count[job];
  int32_t running = (int32_t)count[HR__VOLCANO_RUNNING];
  if (info->max_unavailable.is_set) {
    int32_t ended = (int32_t)(count[HR__VOLCANO_SUCCEEDED] + count[HR__VOLCANO_FAILED]);
    int32_t unavailable = (int32_t)info->n_tasks - ended - running;
    int32_t left = budget_tasks(&info->max_unavailable, info->n_tasks) - unavailable;
    return left > 0 ? left : 0;
  }
  if (!info->min_available_budget.is_set) return 1;
  int32_t left = running - budget_tasks(&info->min_available_budget, info->n_tasks);
  return left >= 0 ? left : 1;
}

/* Whether the job of a task that runs may lose this task, with those of `victims` [n]. */
static bool may_lose(const struct hr__volcano_session *session, uint32_t task, const uint32_t *victims, uint32_t n) {
  const struct hr__volcano_task *tasks = session->snapshot->tasks;
  int32_t taken = 0;
  if (!tasks[task].preemptable || tasks[task].job == HR__VOLCANO_NONE ||
      session->task_state[task] != HR__VOLCANO_RUNNING)
    return false;
  for (uint32_t i = 0; i < n; i++) taken += tasks[victims[i]].job == tasks[task].job;
  return taken < max_evictions(session, tasks[task].job);
}

uint32_t hr__volcano_tdm_victims(struct hr__volcano_session *session, uint32_t preemptor, const uint32_t *candidates,
                                 uint32_t n, uint32_t *victims) {
  const struct hr__volcano_task *tasks = session->snapshot->tasks;
  if (tasks[preemptor].preemptable || tasks[preemptor].uses_revocable_zones) return 0;
  uint32_t n_victims = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t task = candidates[i], node = session->task_node[task];
    if (node != HR__VOLCANO_NONE && session->snapshot->nodes[node].zone == HR__VOLCANO_NONE &&
        may_lose(session, task, victims, n_victims))
      victims[n_victims++] = task;
  }
  return n_victims;
}

uint32_t hr__volcano_victims(const struct hr__volcano_session *session, uint32_t *victims) {
  const struct hr__volcano_plugin *plugin = session->plugin[HR__VOLCANO_TDM];
  if (!plugin || !hr__volcano_enables(plugin, HR__VOLCANO_VICTIM)) return 0;
  const struct hr__volcano_tdm_arguments *tdm = &plugin->arguments.tdm;
  uint32_t n_victims = 0;
  for (uint32_t i = 0; i < tdm->n_windows; i++) {
    if (zone_is_active(session, tdm->windows[i].zone)) continue;
    for (uint32_t node = 0; node < session->snapshot->n_nodes; node++) {
      if (session->snapshot->nodes[node].zone != tdm->windows[i].zone) continue;
      for (uint32_t at = session->nodes[node].first_task; at != HR__VOLCANO_NONE; at = session->task_next[at])
        if (may_lose(session, at, victims, n_victims)) victims[n_victims++] = at;
    }
  }
  return n_victims;
}

/* ---- Accepted nodes: usage -------------------------------------------------------------------------- */

static const char *usage_reason(const struct hr__volcano_session *session, uint32_t task, uint32_t node) {
  (void)task;
  const struct hr__volcano_node *info = &session->snapshot->nodes[node];
  const struct hr__volcano_usage_arguments *usage = &session->plugin[HR__VOLCANO_USAGE]->arguments.usage;
  if (!info->usage_is_fresh) return NULL;
  if (info->has_cpu_usage && info->cpu_usage > usage->cpu_threshold)
    return "the CPU load of the node exceeds the upper limit.";
  if (info->has_memory_usage && info->memory_usage > usage->memory_threshold)
    return "the memory load of the node exceeds the upper limit.";
  return NULL;
}

static double volcano_usage_score(const struct hr__volcano_session *session, uint32_t task, uint32_t node) {
  (void)task;
  const struct hr__volcano_node *info = &session->snapshot->nodes[node];
  const struct hr__volcano_usage_arguments *usage = &session->plugin[HR__VOLCANO_USAGE]->arguments.usage;
  if (!info->usage_is_fresh || !info->has_cpu_usage || !info->has_memory_usage) return 0;
  double cpu = (100 - info->cpu_usage) / 100 * usage->cpu_weight;
  double memory = (100 - info->memory_usage) / 100 * usage->memory_weight;
  return (cpu + memory) / (usage->cpu_weight + usage->memory_weight) * (NODE_SCORE * usage->weight);
}

/* ---- Accepted nodes: predicates, resource-strategy-fit ---------------------------------------------- */

static enum hr__volcano_verdict predicates_verdict(const struct hr__volcano_session *session, uint32_t task,
                                                   uint32_t node, const char **reason) {
  const uint64_t *accepted = session->snapshot->tasks[task].nodes;
  if (accepted && !(accepted[node / 64] >> node % 64 & 1)) {
    *reason = "node(s) didn't match Pod's node affinity/selector";
    return HR__VOLCANO_UNSCHEDULABLE_FOR_GOOD;
  }
  if (session->nodes[node].n_pods < session->snapshot->nodes[node].allocatable.amount[HR__VOLCANO_PODS])
    return volcano_spread_verdict(session, task, node, reason);
  *reason = "node(s) pod number exceeded";
  return HR__VOLCANO_UNSCHEDULABLE;
}

/* Returns the reason why the proportional part of resource-strategy-fit rejects the node; NULL: it accepts the node. A
   task that requests no proportional resource must leave enough CPU and memory for the idle units of these
   resources. */
static const char *proportional_reason(const struct hr__volcano_session *session, uint32_t task, uint32_t node) {
  const struct hr__volcano_strategy_arguments *strategy =
      &session->plugin[HR__VOLCANO_RESOURCE_STRATEGY_FIT]->arguments.strategy;
  const struct hr__volcano_vector *request = hr__volcano_request(session, task), *idle = &session->nodes[node].idle;
  if (!strategy->is_proportional) return NULL;
  for (uint32_t i = 0; i < request->width; i++)
    if ((strategy->proportional >> i & 1) && request->amount[i] > 0) return NULL;
  for (uint32_t i = HR__VOLCANO_PODS; i < idle->width; i++) {
    if (!(strategy->proportional >> i & 1) || !hr__volcano_has(idle, i)) continue;
    double cpu = idle->amount[i] * strategy->proportional_cpu[i];
    double memory = idle->amount[i] * strategy->proportional_memory[i] * 1000 * 1000;
    if (idle->amount[HR__VOLCANO_CPU] - request->amount[HR__VOLCANO_CPU] < cpu ||
        idle->amount[HR__VOLCANO_MEMORY] - request->amount[HR__VOLCANO_MEMORY] < memory)
      return "proportional of resource check failed";
  }
  return NULL;
}

static enum hr__volcano_verdict plugin_verdict(const struct hr__volcano_session *session,
                                               enum hr__volcano_plugin_id plugin, uint32_t task, uint32_t node,
                                               const char **reason) {
  static const char *(*const reason_of[HR__VOLCANO_N_PLUGINS])(const struct hr__volcano_session *, uint32_t task,
                                                               uint32_t node) = {[HR__VOLCANO_NODEGROUP] = group_reason,
                                                                                 [HR__VOLCANO_TDM] = zone_reason,
                                                                                 [HR__VOLCANO_USAGE] = usage_reason,
                                                                                 [HR__VOLCANO_RESOURCE_STRATEGY_FIT] =
                                                                                     proportional_reason};
  if (plugin == HR__VOLCANO_PREDICATES) return predicates_verdict(session, task, node, reason);
  if (reason_of[plugin]) *reason = reason_of[plugin](session, task, node);
  return *reason ? HR__VOLCANO_UNSCHEDULABLE_FOR_GOOD : HR__VOLCANO_FITS;
}

enum hr__volcano_verdict hr__volcano_predicate(const struct hr__volcano_session *session, uint32_t task, uint32_t node,
                                               const char **reason) {
  const char *unused;
  if (!reason) reason = &unused;
  *reason = NULL;
  for (uint32_t i = 0; i < session->config->n_plugins; i++) {
    const struct hr__volcano_plugin *plugin = &session->config->plugins[i];
    if (!hr__volcano_enables(plugin, HR__VOLCANO_PREDICATE)) continue;
    enum hr__volcano_verdict verdict = plugin_verdict(session, plugin->id, task, node, reason);
    if (verdict != HR__VOLCANO_FITS) return verdict;
  }
  return HR__VOLCANO_FITS;
}

/* ---- Scores ----------------------------------------------------------------------------------------- */

/*
 * Scores of nodes for a task: the plug-ins binpack, nodeorder and resource-strategy-fit; and the sum of all scores.
 *
 * The functions use the amounts that are in use on the node before the task is added. nodeorder counts like the scoring
 * plug-ins of kube-scheduler: scores are whole numbers from 0 to 100; tasks without a request for CPU or memory count
 * as 100 milli-cores and 200 MiB; tasks that are being evicted are not counted, but tasks that wait for resources are.
 * Source: volcano-sh/volcano, pkg/scheduler/plugins/{binpack,nodeorder,resource-strategy-fit}; kubernetes/kubernetes,
 * pkg/scheduler/framework/plugins/noderesources.
 */

#define DEFAULT_CPU_MILLI 100.0
#define DEFAULT_MEMORY 209715200.0

/* ---- Scores: binpack -------------------------------------------------------------------------------- */

/* The mean score of the weighted dimensions that the task requests: by the fraction that is used (`most_allocated`), or
   by the fraction that is left. 0 if a dimension lacks room. `ignores_zero`: this does not matter without a weight. */
static double packing_score(const struct hr__volcano_session *session, uint32_t task, uint32_t node, uint32_t weighted,
                            uint32_t most_allocated, const int32_t *weight, bool ignores_zero) {
  const struct hr__volcano_vector *request = hr__volcano_request(session, task);
  double score = 0;
  int64_t weights = 0;
  for (uint32_t i = 0; i < request->width; i++) {
    if (!hr__volcano_is_positive(request, i) || !(weighted >> i & 1)) continue;
    double capacity = session->snapshot->nodes[node].allocatable.amount[i];
    double used = session->nodes[node].used.amount[i] + request->amount[i];
    weights += weight[i];
    if (capacity == 0 || (ignores_zero && !weight[i])) continue;
    if (used > capacity) return 0;
    score += (most_allocated >> i & 1 ? used : capacity - used) * weight[i] / capacity;
  }
  return weights > 0 ? score / (double)weights : score;
}

static double binpack_score(const struct hr__volcano_session *session, uint32_t task, uint32_t node) {
  const struct hr__volcano_binpack_arguments *binpack = &session->plugin[HR__VOLCANO_BINPACK]->arguments.binpack;
  double score = packing_score(session, task, node, binpack->weighted, UINT32_MAX, binpack->dimension_weight, true);
  return score * ((double)MAX_SCORE * binpack->weight);
}

/* ---- Scores: resource-strategy-fit ------------------------------------------------------------------ */

static double strategy_score(const struct hr__volcano_strategy_arguments *strategy,
                             const struct hr__volcano_session *session, uint32_t task, uint32_t node) {
  double score = packing_score(session, task, node, strategy->weighted, strategy->most_allocated,
                               strategy->dimension_weight, false);
  return score * ((double)MAX_SCORE * strategy->weight);
}

/* The score for scarce resources: higher if the node has fewer of them. 0 if the node lacks a resource that the task
   requests. */
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

/* ---- Scores: nodeorder ------------------------------------------------------------------------------ */

/* The sum of the requests of the task and of the tasks on the node in a dimension. `with_defaults`: a missing request
   for CPU or memory counts as the default. */
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

/* The mean score of CPU and memory: by the fraction that is left (`least`), or by the fraction that is used. */
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

/* The balanced score: 100 if the used fractions of CPU, memory and GPUs are equal, and less if they differ. GPUs count
   only for tasks that request them. */
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

/* ---- Scores: all ------------------------------------------------------------------------------------ */

double hr__volcano_score(const struct hr__volcano_session *session, uint32_t task, uint32_t node) {
  static double (*const score_of[HR__VOLCANO_N_PLUGINS])(const struct hr__volcano_session *, uint32_t task,
                                                         uint32_t node) = {
      [HR__VOLCANO_BINPACK] = binpack_score,
      [HR__VOLCANO_RESOURCE_STRATEGY_FIT] = resource_strategy_score,
      [HR__VOLCANO_NODEORDER] = nodeorder_score,
      [HR__VOLCANO_USAGE] = volcano_usage_score,
      [HR__VOLCANO_NODEGROUP] = volcano_nodegroup_score,
      [HR__VOLCANO_TDM] = volcano_tdm_score};
  double score = 0;
  for (uint32_t i = 0; i < session->config->n_plugins; i++) {
    const struct hr__volcano_plugin *plugin = &session->config->plugins[i];
    if (hr__volcano_enables(plugin, HR__VOLCANO_NODE_ORDER) && score_of[plugin->id])
      score += score_of[plugin->id](session, task, node);
  }
  return score;
}
