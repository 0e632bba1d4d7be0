/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Topology spread constraints of pods: how evenly the pods that a selector matches are spread over the domains of a
 * node label. Required constraints forbid nodes (plug-in predicates), the others count for scores (plug-in nodeorder).
 *
 * A constraint has the domain of each node as a dense number, so that pods are counted in an array of domains. Pods
 * that are being evicted do not count, and pods that wait for resources do. Only nodes that the task accepts and that
 * have the labels of all constraints of the same sort count.
 *
 * Invariant: nothing here changes the session but its scratch memory. Source: kubernetes/kubernetes,
 * pkg/scheduler/framework/plugins/podtopologyspread; volcano-sh/volcano, pkg/scheduler/plugins/{predicates,nodeorder}.
 */

#include "policies/volcano/session.h"

#include <math.h>

#define MOST_SCORE 100

/* ---- Counts ---- */

/* Whether the node has the labels of all constraints of the task that are required, or of all others. */
static bool has_labels(const struct hr__volcano_task *task, uint32_t node, bool required) {
  for (uint32_t i = 0; i < task->n_spread; i++)
    if (task->spread[i].is_required == required && task->spread[i].domain[node] == HR__VOLCANO_NONE) return false;
  return true;
}

static bool accepts(const struct hr__volcano_task *task, uint32_t node) {
  return !task->nodes || (task->nodes[node / 64] >> node % 64 & 1);
}

/* The pods on a node that the constraint counts. */
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

/* ---- Required constraints ---- */

/* Whether the domain of the node stays within the permitted skew over the domain with the fewest pods. */
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

enum hr__volcano_verdict hr__volcano_spread_verdict(const struct hr__volcano_session *session, uint32_t task,
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

/* ---- Other constraints ---- */

/* The number of different domains among the candidates that have the labels. */
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

/* Adds what a constraint counts to the scores of the candidates: the pods in their domains, with more weight if there
   are more domains. */
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
    if (!has_labels(info, nodes[i], false)) continue; /* their score is 0 */
    int64_t score = llround(scores[nodes[i]]);
    scores[nodes[i]] = most ? (double)(MOST_SCORE * (most + least - score) / most) : MOST_SCORE;
  }
}
