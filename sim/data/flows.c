/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Flows of data in time (see flows.h).
 *
 * A class at the level of its path has clock = clock0 + (service - service0) / cap; a capped one has clock = clock0 +
 * time - time0. Both are computed from the last change between the two, so rounding errors do not add up with the
 * number of events. An end is the first microsecond at which the clock has reached the end of the flow.
 *
 * Invariants: a class is capped if and only if its cap is at most the level of its path; its key is the first instant,
 * or service, at which its first flow ends.
 */

#include "sim/data/flows.h"

#include <stdlib.h>

/* ---- Pairing heaps -------------------------------------------------------------------------------------- */

/* The nodes of a heap are at equal distances: flows, or classes. */
struct nodes {
  char *first;
  size_t stride;
};

static struct hr__heap_node *node_at(struct nodes nodes, uint32_t at) {
  return (struct hr__heap_node *)(void *)(nodes.first + (size_t)(at - 1) * nodes.stride);
}

static struct nodes flow_nodes(const struct hr__flows *flows) {
  return (struct nodes){(char *)&flows->flows[0].node, sizeof *flows->flows};
}

static struct nodes class_nodes(const struct hr__flows *flows) {
  return (struct nodes){(char *)&flows->classes[0].node, sizeof *flows->classes};
}

/* Joins two heaps; the node with the lower key, of equal ones the lower number, is the root. */
static uint32_t meld(struct nodes nodes, uint32_t a, uint32_t b) {
  if (!a || !b) return a ? a : b;
  const hr__wide key_a = node_at(nodes, a)->key, key_b = node_at(nodes, b)->key;
  if (key_b < key_a || (key_b == key_a && b < a)) {
    const uint32_t other = a;
    a = b;
    b = other;
  }
  struct hr__heap_node *root = node_at(nodes, a), *child = node_at(nodes, b);
  child->next = root->child;
  child->before = a;
  if (root->child) node_at(nodes, root->child)->before = b;
  root->child = b;
  return a;
}

static uint32_t add_node(struct nodes nodes, uint32_t root, uint32_t at) {
  struct hr__heap_node *node = node_at(nodes, at);
  node->child = node->next = node->before = 0;
  return meld(nodes, root, at);
}

/* Joins the children of a removed node: in pairs, then from the last pair to the first. */
static uint32_t join_children(struct nodes nodes, uint32_t first) {
  uint32_t pairs = 0;
  while (first) {
    const uint32_t a = first, b = node_at(nodes, a)->next;
    first = b ? node_at(nodes, b)->next : 0;
    node_at(nodes, a)->next = node_at(nodes, a)->before = 0;
    if (b) node_at(nodes, b)->next = node_at(nodes, b)->before = 0;
    const uint32_t pair = meld(nodes, a, b);
    node_at(nodes, pair)->next = pairs;
    pairs = pair;
  }
  uint32_t root = 0;
  while (pairs) {
    const uint32_t pair = pairs;
    pairs = node_at(nodes, pair)->next;
    node_at(nodes, pair)->next = node_at(nodes, pair)->before = 0;
    root = meld(nodes, root, pair);
  }
  return root;
}

static uint32_t remove_node(struct nodes nodes, uint32_t root, uint32_t at) {
  struct hr__heap_node *node = node_at(nodes, at);
  const uint32_t children = join_children(nodes, node->child);
  if (at != root) {
    struct hr__heap_node *before = node_at(nodes, node->before);
    if (before->child == at)
      before->child = node->next;
    else
      before->next = node->next;
    if (node->next) node_at(nodes, node->next)->before = node->before;
  }
  node->child = node->next = node->before = 0;
  return at == root ? children : meld(nodes, root, children);
}

/* ---- Clocks --------------------------------------------------------------------------------------------- */

/* Most quotients have 64 bits, for which the processor has an instruction. */
static hr__wide divide(hr__wide a, hr__wide b) {
  return a >> 64 || b >> 64 ? a / b : (uint64_t)a / (uint64_t)b;
}

static const struct hr__share_class *share_of(const struct hr__flows *flows, uint32_t class_) {
  return &flows->shares.classes[class_];
}

static struct hr__flow_path *path_of(const struct hr__flows *flows, uint32_t class_) {
  return &flows->paths[share_of(flows, class_)->path];
}

static hr__wide service_at(const struct hr__flow_path *path, int64_t now_us) {
  if (path->was == HR__NO_LIMIT) return path->service; /* no class follows it */
  return path->service + path->was * (uint64_t)(now_us - path->from_us);
}

/* Returns the clock of a class. */
static hr__wide clock_at(const struct hr__flows *flows, uint32_t class_, int64_t now_us) {
  const struct hr__flow_class *self = &flows->classes[class_];
  if (self->is_capped) return self->clock + (((hr__wide)(uint64_t)now_us - self->from) << HR__CLOCK_BITS);
  const hr__wide service = service_at(path_of(flows, class_), now_us) - self->from;
  return self->clock + divide(service << HR__CLOCK_BITS, share_of(flows, class_)->cap);
}

/* Returns the key of a class: when its first flow ends, as time or as service of the path. */
static hr__wide end_of(const struct hr__flows *flows, uint32_t class_) {
  const struct hr__flow_class *self = &flows->classes[class_];
  const hr__wide mark = node_at(flow_nodes(flows), self->flows)->key;
  const hr__wide left = mark > self->clock ? mark - self->clock : 0, unit = (hr__wide)1 << HR__CLOCK_BITS;
  const hr__wide size = self->is_capped ? left : left * share_of(flows, class_)->cap;
  return self->from + ((size + unit - 1) >> HR__CLOCK_BITS);
}

/* ---- Classes in their heaps ------------------------------------------------------------------------------- */

static uint32_t *heap_of(struct hr__flows *flows, uint32_t class_) {
  return flows->classes[class_].is_capped ? &flows->capped : &path_of(flows, class_)->level;
}

static void enqueue(struct hr__flows *flows, uint32_t class_) {
  uint32_t *heap = heap_of(flows, class_);
  flows->classes[class_].node.key = end_of(flows, class_);
  *heap = add_node(class_nodes(flows), *heap, class_ + 1);
}

static void dequeue(struct hr__flows *flows, uint32_t class_) {
  uint32_t *heap = heap_of(flows, class_);
  *heap = remove_node(class_nodes(flows), *heap, class_ + 1);
}

/* Sets whether a class has its cap, from now on. */
static void set_capped(struct hr__flows *flows, uint32_t class_, bool is_capped, int64_t now_us) {
  struct hr__flow_class *self = &flows->classes[class_];
  const hr__wide clock = clock_at(flows, class_, now_us);
  dequeue(flows, class_);
  self->clock = clock;
  self->is_capped = is_capped;
  self->from = is_capped ? (hr__wide)(uint64_t)now_us : service_at(path_of(flows, class_), now_us);
  enqueue(flows, class_);
}

/* A change of the level of a path: the classes with caps above `low` and up to `high` get their cap, or lose it. */
struct level_change {
  hr__wide low, high;
  int64_t now_us;
  bool is_capped;
};

/* Moves the classes below a node of the treap. */
static void move_classes(struct hr__flows *flows, uint32_t at, const struct level_change *change) {
  while (at) {
    const struct hr__share_class *class_ = &flows->shares.classes[at - 1];
    if (class_->cap <= change->low) {
      at = class_->right;
      continue;
    }
    move_classes(flows, class_->left, change);
    if (class_->cap > change->high) return;
    if (flows->classes[at - 1].is_capped != change->is_capped)
      set_capped(flows, at - 1, change->is_capped, change->now_us);
    at = class_->right;
  }
}

/* Brings the services of all paths up to now, before rates change. */
static void read_services(struct hr__flows *flows, int64_t now_us) {
  for (uint32_t i = 0; i < flows->shares.n_paths; i++) {
    flows->paths[i].service = service_at(&flows->paths[i], now_us);
    flows->paths[i].from_us = now_us;
  }
}

/* Shares the bandwidth again after the flows have changed. */
static void share_again(struct hr__flows *flows, int64_t now_us) {
  hr__shares_solve(&flows->shares);
  for (uint32_t i = 0; i < flows->shares.n_paths; i++) {
    const hr__wide was = flows->paths[i].was, is = flows->shares.paths[i].level;
    if (was == is) continue;
    const struct level_change change = {was < is ? was : is, was < is ? is : was, now_us, is > was};
    move_classes(flows, flows->shares.paths[i].root, &change);
    flows->paths[i].was = is;
  }
}

/* ---- Begin and end of flows ------------------------------------------------------------------------------- */

void hr__flows_open(struct hr__flows *flows) {
  for (uint32_t i = 0; i < flows->n_flows; i++) flows->flows[i].class_ = HR_NONE;
  for (uint32_t i = 0; i < flows->shares.n_paths; i++)
    flows->paths[i].was = flows->shares.paths[i].level = HR__NO_LIMIT;
}

void hr__flows_close(struct hr__flows *flows) {
  free(flows->classes);
  free(flows->shares.classes);
  flows->classes = NULL;
  flows->shares.classes = NULL;
}

static uint32_t scrambled(uint32_t x) {
  x = (x ^ x >> 16) * 0x7feb352dU;
  x = (x ^ x >> 15) * 0x846ca68bU;
  return x ^ x >> 16;
}

/* Returns an unused class; HR_NONE: out of memory. */
static uint32_t make_class(struct hr__flows *flows) {
  if (flows->unused) {
    const uint32_t class_ = flows->unused - 1;
    flows->unused = flows->classes[class_].node.next;
    return class_;
  }
  if (!HR__ARRAY_HAS_ROOM(flows->classes, flows->n_classes, flows->class_capacity) ||
      !HR__ARRAY_HAS_ROOM(flows->shares.classes, flows->n_classes, flows->share_capacity))
    return HR_NONE;
  return flows->n_classes++;
}

/* Returns the class of a path with a cap, for one more flow; HR_NONE: out of memory. */
static uint32_t class_for(struct hr__flows *flows, uint32_t path, hr__wide cap, int64_t now_us) {
  const struct hr__share_path *share_path = &flows->shares.paths[path];
  uint32_t class_ = hr__shares_find(&flows->shares, share_path, cap);
  if (class_ != HR_NONE) {
    hr__shares_add(&flows->shares, class_, 1);
    return class_;
  }
  class_ = make_class(flows);
  if (class_ == HR_NONE) return HR_NONE;
  flows->shares.classes[class_] =
      (struct hr__share_class){.cap = cap, .weight = 1, .path = path, .priority = scrambled(class_ + 1)};
  const bool is_capped = cap <= flows->paths[path].was;
  flows->classes[class_] = (struct hr__flow_class){
      .is_capped = is_capped, .from = is_capped ? (hr__wide)(uint64_t)now_us : flows->paths[path].service};
  hr__shares_insert(&flows->shares, class_);
  return class_;
}

static void drop_class(struct hr__flows *flows, uint32_t class_) {
  hr__shares_remove(&flows->shares, class_);
  flows->classes[class_].node.next = flows->unused;
  flows->unused = class_ + 1;
}

enum hr_status hr__flows_begin(struct hr__flows *flows, uint32_t id, uint32_t path, hr__wide demand, hr__wide cap,
                               int64_t length_us, uint32_t carry, int64_t now_us) {
  read_services(flows, now_us);
  const uint32_t class_ = class_for(flows, path, cap, now_us);
  if (class_ == HR_NONE) return HR_NO_MEMORY;
  struct hr__flow_class *self = &flows->classes[class_];
  hr__wide length = (hr__wide)(uint64_t)length_us << HR__CLOCK_BITS;
  length = length > carry ? length - carry : 0;
  if (cap < demand) length = length / cap * demand + (length % cap * demand + cap - 1) / cap;
  struct hr__data_flow *flow = &flows->flows[id];
  if (self->count) dequeue(flows, class_);
  flow->begin = clock_at(flows, class_, now_us);
  flow->demand = demand;
  flow->class_ = class_;
  flow->node.key = flow->begin + length;
  self->flows = add_node(flow_nodes(flows), self->flows, id + 1);
  self->count++;
  flows->n_active++;
  enqueue(flows, class_);
  share_again(flows, now_us);
  return HR_OK;
}

void hr__flows_end(struct hr__flows *flows, uint32_t id, int64_t now_us) {
  read_services(flows, now_us);
  const uint32_t class_ = flows->flows[id].class_;
  struct hr__flow_class *self = &flows->classes[class_];
  dequeue(flows, class_);
  self->flows = remove_node(flow_nodes(flows), self->flows, id + 1);
  flows->flows[id].class_ = HR_NONE;
  flows->n_active--;
  if (--self->count) {
    enqueue(flows, class_);
    hr__shares_add(&flows->shares, class_, -1);
  } else {
    drop_class(flows, class_);
  }
  share_again(flows, now_us);
}

/* ---- Queries -------------------------------------------------------------------------------------------- */

hr__wide hr__flows_passed(const struct hr__flows *flows, uint32_t id, int64_t now_us) {
  const struct hr__data_flow *flow = &flows->flows[id];
  const hr__wide cap = share_of(flows, flow->class_)->cap;
  hr__wide clock = clock_at(flows, flow->class_, now_us);
  if (clock > flow->node.key) clock = flow->node.key;
  const hr__wide passed = clock - flow->begin;
  if (cap == flow->demand) return passed;
  return passed / flow->demand * cap + passed % flow->demand * cap / flow->demand;
}

/* Returns when the first flow of a class ends. */
static int64_t time_of(const struct hr__flows *flows, uint32_t class_) {
  const hr__wide key = flows->classes[class_].node.key;
  const struct hr__flow_path *path = path_of(flows, class_);
  if (flows->classes[class_].is_capped) return key < (hr__wide)HR_NEVER_US ? (int64_t)key : HR_NEVER_US;
  const hr__wide left = key > path->service ? key - path->service : 0;
  if (path->was == 0) return left ? HR_NEVER_US : path->from_us;
  const hr__wide us = divide(left + path->was - 1, path->was);
  return us < (hr__wide)HR_NEVER_US / 2 ? path->from_us + (int64_t)us : HR_NEVER_US;
}

static void consider(const struct hr__flows *flows, uint32_t class_, uint32_t *first, int64_t *at_us) {
  const int64_t time_us = time_of(flows, class_);
  const uint32_t flow = flows->classes[class_].flows - 1;
  if (time_us > *at_us || (time_us == *at_us && flow > *first)) return;
  *at_us = time_us;
  *first = flow;
}

uint32_t hr__flows_first(const struct hr__flows *flows, int64_t *at_us) {
  uint32_t first = HR_NONE;
  *at_us = HR_NEVER_US - 1;
  if (flows->capped) consider(flows, flows->capped - 1, &first, at_us);
  for (uint32_t i = 0; i < flows->shares.n_paths; i++)
    if (flows->paths[i].level) consider(flows, flows->paths[i].level - 1, &first, at_us);
  if (first == HR_NONE) *at_us = HR_NEVER_US;
  return first;
}

hr__wide hr__flows_rate(const struct hr__flows *flows, uint32_t id) {
  const struct hr__share_class *class_ = share_of(flows, flows->flows[id].class_);
  return hr__share_rate(&flows->shares.paths[class_->path], class_->cap);
}
