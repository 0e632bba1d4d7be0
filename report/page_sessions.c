/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/page_sessions.h"

#include <stdlib.h>

static int compare(const void *a, const void *b) {
  const struct hr__page_session *x = a, *y = b;
  if (x->node != y->node) return x->node < y->node ? -1 : 1;
  if (x->since_us != y->since_us) return x->since_us < y->since_us ? -1 : 1;
  return (x->to_us > y->to_us) - (x->to_us < y->to_us);
}

static void close_session(const struct hr__page_view *view, struct hr__page_session *session,
                          const struct hr_node_change *change) {
  const struct hr_market_spec *market = &view->run->cluster->pools[session->pool].market;
  int64_t free_us = market->market == HR_MARKET_SPOT ? market->billing.free_if_reclaimed_us : 0;
  session->to_us = change->at_us;
  session->free = change->reason == HR_REASON_RECLAIMED && free_us > 0 && session->to_us - session->since_us <= free_us;
}

/* `open`: by node, the place of its session + 1. */
static void note_change(struct hr__page_sessions *sessions, const struct hr__page_view *view, uint32_t *open,
                        const struct hr_node_change *change) {
  if (!hr_market_is_elastic(view->run->cluster->pools[change->pool.id].market.market)) return;
  uint32_t node = change->node.id;
  if (change->kind == HR_EVENT_ACQUIRE) {
    sessions->at[sessions->count++] =
        (struct hr__page_session){change->at_us, view->grid.end_us, change->pool.id, node, false};
    open[node] = (uint32_t)sessions->count;
  } else if ((change->kind == HR_EVENT_RELEASE || change->kind == HR_EVENT_NODE_DOWN) && open[node]) {
    close_session(view, &sessions->at[open[node] - 1], change);
    open[node] = 0;
  }
}

enum hr_status hr__page_sessions_make(struct hr__page_sessions *sessions, const struct hr__page_view *view) {
  size_t n_nodes = view->first_node[view->run->cluster->n_pools], most = 0;
  for (size_t i = 0; i < view->n_changes; i++) most += view->changes[i].kind == HR_EVENT_ACQUIRE;
  uint32_t *open = calloc(n_nodes + 1, sizeof *open);
  *sessions = (struct hr__page_sessions){.at = calloc(most + 1, sizeof *sessions->at)};
  if (open && sessions->at)
    for (size_t i = 0; i < view->n_changes; i++) note_change(sessions, view, open, &view->changes[i]);
  bool good = open && sessions->at;
  if (good && sessions->count) qsort(sessions->at, sessions->count, sizeof *sessions->at, compare);
  free(open);
  return good ? HR_OK : HR_NO_MEMORY;
}

void hr__page_sessions_finish(struct hr__page_sessions *sessions) {
  free(sessions->at);
  *sessions = (struct hr__page_sessions){0};
}

/* The node's last session that began by then. */
bool hr__page_is_free(const struct hr__page_sessions *sessions, uint32_t node, int64_t begin_us) {
  size_t low = 0, high = sessions->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const struct hr__page_session *session = &sessions->at[middle];
    bool before = session->node != node ? session->node < node : session->since_us <= begin_us;
    if (before)
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 && sessions->at[low - 1].node == node && sessions->at[low - 1].free;
}
