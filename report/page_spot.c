/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pools of the spot market over time: nodes that could be had, nodes that were there, and what was taken away. */

#include "report/page_parts.h"
#include "report/page_watch.h"

#include <stdlib.h>

struct spot {
  struct hr__page_sums reclaims, interrupted;
};

static void note_reclaims(struct spot *spot, const struct hr__page_view *view, uint32_t pool) {
  for (size_t i = 0; i < view->n_changes; i++) {
    const struct hr_node_change *change = &view->changes[i];
    if (change->pool.id == pool && change->kind == HR_EVENT_NODE_DOWN && change->reason == HR_REASON_RECLAIMED)
      hr__page_put(&spot->reclaims, &view->grid, change->at_us, 1);
  }
}

static void note_jobs(struct spot *spot, const struct hr__page_view *view, uint32_t pool) {
  for (size_t i = 0; i < view->n_attempts; i++)
    if (view->attempts[i].pool.id == pool && view->attempts[i].end == HR_ATTEMPT_INTERRUPTED)
      hr__page_put(&spot->interrupted, &view->grid, view->attempts[i].end_us, 1);
}

static enum hr_status put_pool(const struct hr__page_view *view, const struct hr__page_offer *offer,
                               struct hr__page_json *json) {
  uint32_t pool = offer->pool.id;
  struct spot spot = {0};
  struct hr__page_sums *const all[] = {&spot.reclaims, &spot.interrupted};
  enum { N = sizeof all / sizeof *all };
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < N && status == HR_OK; i++) status = hr__page_sums_init(all[i], &view->grid);
  if (status == HR_OK) {
    note_reclaims(&spot, view, pool);
    note_jobs(&spot, view, pool);
    for (size_t i = 0; i < N; i++) hr__page_sums_close(all[i], &view->grid);
    hr__page_open(json, NULL, '{');
    hr__page_text(json, "pool", view->run->cluster->pools[pool].name);
    hr__page_put_buckets(json, "offered", &offer->nodes, 1);
    hr__page_put_most(json, "offered_max", &offer->nodes, 1);
    hr__page_put_buckets(json, "up", &offer->up, 1);
    hr__page_put_most(json, "up_max", &offer->up, 1);
    hr__page_put_sums(json, "reclaims", &spot.reclaims, &view->grid, 1);
    hr__page_put_sums(json, "interrupted", &spot.interrupted, &view->grid, 1);
    hr__page_close(json, '}');
  }
  for (size_t i = 0; i < N; i++) hr__page_sums_finish(all[i]);
  return status;
}

enum hr_status hr__page_spot(const struct hr__page_view *view, struct hr__page_json *json) {
  const struct hr_page_watch *watch = view->run->watch;
  if (watch->n_offers == 0) return HR_OK;
  enum hr_status status = HR_OK;
  hr__page_open(json, "spot", '[');
  for (uint32_t i = 0; i < watch->n_offers && status == HR_OK; i++) status = put_pool(view, &watch->offers[i], json);
  hr__page_close(json, ']');
  return status;
}
