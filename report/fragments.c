/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All counts are sums over nodes, but for the largest gang, which is the most of sums over the nodes of a pool. So each
 * node's part is kept, and only nodes that changed are counted anew; pools stand at the leaves of a tree that knows the
 * most below each of its knots.
 */

#include "report/fragments.h"

#include "headroom/fragmentation.h"
#include "report/typical_tasks.h"
#include "sim/arena.h"

#include <stdlib.h>

struct part {
  uint64_t fragment;
  uint32_t stranded_milli, gang;
};

struct hr__fragments {
  struct hr_arena arena;
  const struct hr_cluster *cluster;
  const struct hr_stock *stock;
  const struct hr_typical_pods *typical;
  struct hr_acceptance acceptance;
  struct hr_fragmentation *fragmentation;
  struct hr__typical_tasks *tasks;
  struct part *part;    /* [n_nodes], as last counted */
  uint32_t *changed;    /* [n_nodes]: the first n_changed */
  uint8_t *has_changed; /* [n_nodes] */
  uint64_t *gang;       /* [2 x n_leaves]; a pool's at n_leaves + its number */
  uint32_t n_changed, n_leaves;
  struct hr__fragment_counts counts;
};

/* ---- Making one ------------------------------------------------------------------------------------- */

static bool make_acceptance(struct hr__fragments *self) {
  const struct hr_requests *requests = hr_cluster_requests(self->cluster);
  uint32_t n_pools = hr_cluster_pools(self->cluster), n_classes = 0;
  for (uint32_t i = 0; i < requests->count; i++)
    if (requests->request[i].accept_class >= n_classes) n_classes = requests->request[i].accept_class + 1;
  uint8_t *row = hr_arena_alloc(&self->arena, (size_t)n_classes * n_pools + 1);
  if (!row) return false;
  for (uint32_t class_ = 0; class_ < n_classes; class_++)
    for (uint32_t pool = 0; pool < n_pools; pool++)
      row[(size_t)class_ * n_pools + pool] = hr_cluster_accepts(self->cluster, class_, (hr_pool){pool});
  self->acceptance = (struct hr_acceptance){row, n_classes, n_pools};
  return true;
}

static bool make_counts(struct hr__fragments *self) {
  size_t n_nodes = (size_t)self->stock->n_nodes + 1;
  for (self->n_leaves = 1; self->n_leaves < hr_cluster_pools(self->cluster);) self->n_leaves *= 2;
  self->part = hr_arena_alloc(&self->arena, n_nodes * sizeof *self->part);
  self->changed = hr_arena_alloc(&self->arena, n_nodes * sizeof *self->changed);
  self->has_changed = hr_arena_alloc(&self->arena, n_nodes);
  self->gang = hr_arena_alloc(&self->arena, (size_t)2 * self->n_leaves * sizeof *self->gang);
  return self->part && self->changed && self->has_changed && self->gang;
}

static void note_node(struct hr__fragments *self, hr_node node) {
  if (self->has_changed[node.id]) return;
  self->has_changed[node.id] = 1;
  self->changed[self->n_changed++] = node.id;
}

static bool make(struct hr__fragments *self) {
  struct hr_arena *arena = &self->arena;
  self->typical = hr_typical_pods_create(arena, hr_cluster_requests(self->cluster));
  if (!self->typical || !make_acceptance(self) || !make_counts(self)) return false;
  self->tasks = hr__typical_tasks_create(arena, self->cluster, self->typical);
  self->fragmentation = hr_fragmentation_create(arena, self->typical, &self->acceptance, self->stock);
  return self->tasks && self->fragmentation;
}

struct hr__fragments *hr__fragments_create(const struct hr_cluster *cluster) {
  struct hr__fragments *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  self->cluster = cluster;
  self->stock = hr_cluster_stock(cluster);
  if (!make(self)) {
    hr__fragments_destroy(self);
    return NULL;
  }
  for (uint32_t node = 0; node < self->stock->n_nodes; node++) note_node(self, (hr_node){node});
  return self;
}

void hr__fragments_destroy(struct hr__fragments *fragments) {
  if (!fragments) return;
  hr__arena_finish(&fragments->arena);
  free(fragments);
}

uint64_t hr__fragments_pods(const struct hr__fragments *fragments) {
  return fragments->typical->total;
}

/* ---- Counting --------------------------------------------------------------------------------------- */

void hr__fragments_note(struct hr__fragments *fragments, const struct hr_event *event) {
  if (event->node.id != HR_NONE) note_node(fragments, event->node);
  if (!event->placement) return;
  for (uint32_t i = 0; i < event->placement->n_slices; i++) note_node(fragments, event->placement->slices[i].node);
}

/* Nothing is idle where nothing may start. */
static struct part part_of(struct hr__fragments *self, hr_node node) {
  if (self->stock->closed[node.id]) return (struct part){0};
  return (struct part){.fragment = hr_fragmentation_of(self->fragmentation, node),
                       .stranded_milli = hr__stranded_milli(self->tasks, self->stock, node),
                       .gang = hr__gang_on(self->tasks, self->stock, node)};
}

static void set_gang(struct hr__fragments *self, uint32_t pool, uint64_t gang) {
  uint32_t at = self->n_leaves + pool;
  self->gang[at] = gang;
  while (at > 1) {
    uint64_t one = self->gang[at], other = self->gang[at ^ 1];
    at /= 2;
    self->gang[at] = one > other ? one : other;
  }
}

static void count_node(struct hr__fragments *self, hr_node node) {
  struct part *before = &self->part[node.id], after = part_of(self, node);
  uint32_t pool = self->stock->pool[node.id];
  self->counts.fragment += (hr__wide)after.fragment - before->fragment;
  self->counts.stranded_milli += (uint64_t)after.stranded_milli - before->stranded_milli;
  if (after.gang != before->gang) set_gang(self, pool, self->gang[self->n_leaves + pool] + after.gang - before->gang);
  *before = after;
}

struct hr__fragment_counts hr__fragments_count(struct hr__fragments *fragments) {
  for (uint32_t i = 0; i < fragments->n_changed; i++) {
    count_node(fragments, (hr_node){fragments->changed[i]});
    fragments->has_changed[fragments->changed[i]] = 0;
  }
  fragments->n_changed = 0;
  fragments->counts.largest_gang = fragments->gang[1];
  return fragments->counts;
}
