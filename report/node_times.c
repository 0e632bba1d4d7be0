/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Changes are told in order of time: they are followed once to count the times of each node, and once to list them. */

#include "report/node_times.h"

#include <stdlib.h>

/* Nodes of elastic pools, and of reservations that begin later, are not there at first. */
static bool is_up_at_first(const struct hr_pool_spec *pool) {
  return !hr_market_is_elastic(pool->market.market) && pool->market.from_us <= 0;
}

static void mark_first(const struct hr_export *run, int64_t *up_since_us) {
  uint32_t node = 0;
  for (uint32_t i = 0; i < run->cluster->n_pools; i++)
    for (uint32_t k = 0; k < run->cluster->pools[i].nodes; k++)
      up_since_us[node++] = is_up_at_first(&run->cluster->pools[i]) ? 0 : HR_NEVER_US;
}

/* Those that are not listed yet are only counted: `times->times` is NULL. */
static void end_time(struct hr__node_times *times, uint32_t node, int64_t *up_since_us, int64_t at_us) {
  if (up_since_us[node] == HR_NEVER_US) return;
  uint32_t place = times->first[node + 1]++;
  if (times->times) times->times[place] = (struct hr__up_time){up_since_us[node], at_us};
  up_since_us[node] = HR_NEVER_US;
}

static void follow(struct hr__node_times *times, const struct hr_export *run, uint32_t n_nodes, int64_t *up_since_us) {
  const struct hr_node_change *changes;
  size_t count = hr_history_changes(run->history, &changes);
  mark_first(run, up_since_us);
  for (size_t i = 0; i < count; i++) {
    uint32_t node = changes[i].node.id;
    if (changes[i].kind == HR_EVENT_NODE_UP && up_since_us[node] == HR_NEVER_US) up_since_us[node] = changes[i].at_us;
    if (changes[i].kind == HR_EVENT_NODE_DOWN || changes[i].kind == HR_EVENT_RELEASE)
      end_time(times, node, up_since_us, changes[i].at_us);
  }
  for (uint32_t i = 0; i < n_nodes; i++) end_time(times, i, up_since_us, hr_history_end_us(run->history));
}

/* Where each node's times begin, from how many each has. */
static uint32_t place_times(struct hr__node_times *times, uint32_t n_nodes) {
  for (uint32_t i = 0; i < n_nodes; i++) times->first[i + 1] += times->first[i];
  uint32_t count = times->first[n_nodes];
  for (uint32_t i = n_nodes; i > 0; i--) times->first[i] = times->first[i - 1];
  times->first[0] = 0;
  return count;
}

enum hr_status hr__node_times_init(struct hr__node_times *times, const struct hr_export *run) {
  uint32_t n_nodes = 0;
  for (uint32_t i = 0; i < run->cluster->n_pools; i++) n_nodes += run->cluster->pools[i].nodes;
  *times = (struct hr__node_times){.first = calloc((size_t)n_nodes + 2, sizeof *times->first)};
  int64_t *up_since_us = calloc((size_t)n_nodes + 1, sizeof *up_since_us);
  if (!times->first || !up_since_us) {
    free(up_since_us);
    return HR_NO_MEMORY;
  }
  follow(times, run, n_nodes, up_since_us);
  times->times = calloc((size_t)place_times(times, n_nodes) + 1, sizeof *times->times);
  if (times->times) follow(times, run, n_nodes, up_since_us);
  free(up_since_us);
  return times->times ? HR_OK : HR_NO_MEMORY;
}

void hr__node_times_finish(struct hr__node_times *times) {
  free(times->first);
  free(times->times);
  *times = (struct hr__node_times){0};
}
