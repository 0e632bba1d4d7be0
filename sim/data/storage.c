/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The data of a run: flows in time, caches of nodes, the paths from storage systems to clients, and copies of data sets
 * to other storage systems.
 *
 * Layout: a path begins at a storage system and ends at clients or at another storage system. It may cross a link. Each
 * pool has one path for each data set (`route`). This path may change when a copy of the data set is complete. A copy
 * is a flow. Its index is after the indices of the flows of jobs. All clusters of a run share this state. Only the flow
 * that ends first has a pending event. The event is in the engine to which the flow belongs. data.h describes the
 * layout of flows.
 *
 * Invariant: the bytes of a storage system or a link are the sum over the flows that have crossed it.
 */

#include "sim/data/data.h"

#include "base/containers.h"

#include <stdlib.h>
#include <string.h>

/* ---- Flows ------------------------------------------------------------------------------------------ */

/*
 * The clocks of classes, where clock0, time0 and service0 are the values at the last change of `is_capped`, or when the
 * class was created:
 *
 *   capped class:  clock = clock0 + (time - time0)
 *   other class:   clock = clock0 + (service - service0) / cap
 *
 * Rounding errors therefore do not increase with the number of events. A flow ends at the first microsecond at which
 * the clock of its class has reached the end of the flow.
 *
 * Invariants: a class is capped if and only if its cap is at most the level of its path. The key of a capped class is
 * the time at which its first flow ends. The key of another class is the service of its path at this time.
 */

/* ---- Flows: pairing heaps --------------------------------------------------------------------------- */

/* The array that contains the nodes of a heap: the array of flows or of classes. */
struct nodes {
  char *first;   /* the node of the first element */
  size_t stride; /* the size of an element */
};

/* Returns the node of the element with the index `at` - 1. */
static struct hr__heap_node *node_at(struct nodes nodes, uint32_t at) {
  return (struct hr__heap_node *)(void *)(nodes.first + (size_t)(at - 1) * nodes.stride);
}

static struct nodes flow_nodes(const struct hr__flows *flows) {
  return (struct nodes){(char *)&flows->flows[0].node, sizeof *flows->flows};
}

static struct nodes class_nodes(const struct hr__flows *flows) {
  return (struct nodes){(char *)&flows->classes[0].node, sizeof *flows->classes};
}

/* Joins the heaps with the roots `a` and `b`; 0 is an empty heap. Returns the new root. It is the root with the lower
   key. If both keys are equal, it is the root with the lower number. */
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

/* Adds a node to a heap. Returns the new root. */
static uint32_t add_node(struct nodes nodes, uint32_t root, uint32_t at) {
  struct hr__heap_node *node = node_at(nodes, at);
  node->child = node->next = node->before = 0;
  return meld(nodes, root, at);
}

/* Joins the children of a removed node to one heap. First joins pairs of children. Then joins the pairs, from the last
   pair to the first. Returns the root. */
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

/* Removes a node from a heap. Returns the new root; 0: the heap is empty. */
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

/* ---- Flows: clocks ---------------------------------------------------------------------------------- */

/* Returns a / b. In most cases both numbers have 64 bits. The processor has an instruction for this case. */
static hr__wide divide(hr__wide a, hr__wide b) {
  return a >> 64 || b >> 64 ? a / b : (uint64_t)a / (uint64_t)b;
}

static const struct hr__share_class *share_of(const struct hr__flows *flows, uint32_t class_) {
  return &flows->shares.classes[class_];
}

static struct hr__flow_path *path_of(const struct hr__flows *flows, uint32_t class_) {
  return &flows->paths[share_of(flows, class_)->path];
}

/* Returns the service of a path at the present time. */
static hr__wide service_at(const struct hr__flow_path *path, int64_t now_us) {
  if (path->was == HR__NO_LIMIT) return path->service; /* all classes of the path are capped */
  return path->service + path->was * (uint64_t)(now_us - path->from_us);
}

/* Returns the clock of a class at the present time. */
static hr__wide clock_at(const struct hr__flows *flows, uint32_t class_, int64_t now_us) {
  const struct hr__flow_class *self = &flows->classes[class_];
  if (self->is_capped) return self->clock + (((hr__wide)(uint64_t)now_us - self->from) << HR__CLOCK_BITS);
  const hr__wide service = service_at(path_of(flows, class_), now_us) - self->from;
  return self->clock + divide(service << HR__CLOCK_BITS, share_of(flows, class_)->cap);
}

/* Returns the key of a class: the time or the service of the path at which its first flow ends. */
static hr__wide end_of(const struct hr__flows *flows, uint32_t class_) {
  const struct hr__flow_class *self = &flows->classes[class_];
  const hr__wide mark = node_at(flow_nodes(flows), self->flows)->key;
  const hr__wide left = mark > self->clock ? mark - self->clock : 0, unit = (hr__wide)1 << HR__CLOCK_BITS;
  const hr__wide size = self->is_capped ? left : left * share_of(flows, class_)->cap;
  return self->from + ((size + unit - 1) >> HR__CLOCK_BITS);
}

/* ---- Flows: classes in their heaps ------------------------------------------------------------------ */

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

/* Sets whether a class is capped from now on. */
static void set_capped(struct hr__flows *flows, uint32_t class_, bool is_capped, int64_t now_us) {
  struct hr__flow_class *self = &flows->classes[class_];
  const hr__wide clock = clock_at(flows, class_, now_us);
  dequeue(flows, class_);
  self->clock = clock;
  self->is_capped = is_capped;
  self->from = is_capped ? (hr__wide)(uint64_t)now_us : service_at(path_of(flows, class_), now_us);
  enqueue(flows, class_);
}

/* A change of the level of a path: all classes with low < cap <= high get this value of `is_capped`. */
struct level_change {
  hr__wide low, high;
  int64_t now_us;
  bool is_capped;
};

/* Applies a change of the level to the classes in a subtree of the treap. `at`: the index of the root + 1; 0: none. */
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

/* Updates the services of all paths to the present time. Must be called before rates change. */
static void read_services(struct hr__flows *flows, int64_t now_us) {
  for (uint32_t i = 0; i < flows->shares.n_paths; i++) {
    flows->paths[i].service = service_at(&flows->paths[i], now_us);
    flows->paths[i].from_us = now_us;
  }
}

/* Computes the levels of all paths, and updates the classes. Must be called after a flow has begun or ended. */
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

/* ---- Flows: start and end of flows ------------------------------------------------------------------ */

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

/* Returns a pseudo-random number for `x`. It is the priority of a class in the treap. */
static uint32_t scrambled(uint32_t x) {
  x = (x ^ x >> 16) * 0x7feb352dU;
  x = (x ^ x >> 15) * 0x846ca68bU;
  return x ^ x >> 16;
}

/* Returns an unused class. Returns HR_NONE if memory is exhausted. */
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

/* Returns the class with this path and cap, and increases its weight by 1 for a new flow. If the class does not exist,
   creates it. Returns HR_NONE if memory is exhausted. */
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

/* ---- Flows: queries --------------------------------------------------------------------------------- */

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

/* Updates `*first` and `*at_us` if the first flow of a class ends earlier, or at the same time with a lower index. */
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

/* ---- Caches of nodes -------------------------------------------------------------------------------- */

/* Invariants: on each node, the sum of the reserved space of all data sets is at most the size of the cache. The valid
   bytes of a data set are at most its reserved space. If no running job reads the data set, both are equal. */

/* A data set in the cache of a node. */
struct cache_entry {
  int64_t room, valid; /* the reserved space and the valid data, in bytes */
  uint32_t readers;    /* the number of running jobs on the node that read the data set */
};

struct hr__caches {
  struct cache_entry *entries; /* [nodes x sets] */
  uint32_t n_sets;
  uint64_t n_changes;
};

/* Creates empty caches with memory from the arena. Returns NULL if memory is exhausted. */
static struct hr__caches *caches_create(struct hr_arena *arena, uint32_t n_nodes, uint32_t n_sets) {
  struct hr__caches *caches = hr_arena_alloc(arena, sizeof *caches);
  if (!caches) return NULL;
  caches->n_sets = n_sets;
  return HR__ARENA_ARRAY(arena, caches->entries, (size_t)n_nodes * n_sets) ? caches : NULL;
}

/* Returns whether a slice is the first slice on its node. Slices on the same node are adjacent in a placement. */
static bool is_new_node(const struct hr_placement *placement, uint32_t slice) {
  return slice == 0 || placement->slices[slice].node.id != placement->slices[slice - 1].node.id;
}

static struct cache_entry *entries_of(const struct hr__caches *caches, hr_node node, uint32_t first_node) {
  return &caches->entries[((size_t)node.id + first_node) * caches->n_sets];
}

/* Increases the reserved space of a data set on a node by up to `wanted` bytes. If the free space is not sufficient,
   removes data sets without readers. */
static void grow(const struct hr__caches *caches, struct cache_entry *entries, uint32_t set, int64_t wanted,
                 int64_t node_bytes) {
  int64_t free_bytes = node_bytes;
  for (uint32_t i = 0; i < caches->n_sets; i++) free_bytes -= entries[i].room;
  for (uint32_t i = 0; i < caches->n_sets && free_bytes < wanted; i++) {
    if (i == set || entries[i].readers > 0) continue;
    const int64_t short_of = wanted - free_bytes, less = entries[i].room < short_of ? entries[i].room : short_of;
    entries[i].room -= less;
    if (entries[i].valid > entries[i].room) entries[i].valid = entries[i].room;
    free_bytes += less;
  }
  entries[set].room += free_bytes < wanted ? free_bytes : wanted;
}

struct hr__cached hr__caches_take(struct hr__caches *caches, const struct hr_placement *placement, uint32_t first_node,
                                  uint32_t set, int64_t bytes, int64_t node_bytes) {
  struct hr__cached cached = {0, 0};
  int64_t n_nodes = 0;
  for (uint32_t i = 0; i < placement->n_slices; i++) n_nodes += is_new_node(placement, i);
  if (n_nodes == 0) return cached;
  const int64_t part = (bytes + n_nodes - 1) / n_nodes;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    if (!is_new_node(placement, i)) continue;
    struct cache_entry *entries = entries_of(caches, placement->slices[i].node, first_node), *own = &entries[set];
    if (own->room < part) caches->n_changes++;
    if (own->room < part) grow(caches, entries, set, part - own->room, node_bytes);
    own->readers++;
    cached.taken += own->room < part ? own->room : part;
    cached.valid += own->valid < part ? own->valid : part;
  }
  if (cached.taken > bytes) cached.taken = bytes;
  if (cached.valid > bytes) cached.valid = bytes;
  return cached;
}

void hr__caches_fill(struct hr__caches *caches, const struct hr_placement *placement, uint32_t first_node,
                     uint32_t set) {
  caches->n_changes++;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    struct cache_entry *own = &entries_of(caches, placement->slices[i].node, first_node)[set];
    own->valid = own->room;
  }
}

void hr__caches_leave(struct hr__caches *caches, const struct hr_placement *placement, uint32_t first_node,
                      uint32_t set) {
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    if (!is_new_node(placement, i)) continue;
    struct cache_entry *own = &entries_of(caches, placement->slices[i].node, first_node)[set];
    if (--own->readers == 0) own->room = own->valid;
  }
}

void hr__caches_clear(struct hr__caches *caches, hr_node node, uint32_t first_node) {
  caches->n_changes++;
  memset(entries_of(caches, node, first_node), 0, caches->n_sets * sizeof *caches->entries);
}

int64_t hr__caches_valid(const struct hr__caches *caches, hr_node node, uint32_t first_node, uint32_t set) {
  return entries_of(caches, node, first_node)[set].valid;
}

uint64_t hr__caches_changes(const struct hr__caches *caches) {
  return caches->n_changes;
}

/* ---- Pending events --------------------------------------------------------------------------------- */

/* Returns the engine to which a flow belongs. */
static struct hr__engine *owner_of(const struct hr__data *data, uint32_t flow) {
  return flow < data->n_jobs ? data->readers[flow].engine : data->first;
}

enum hr_status hr__data_schedule(struct hr__engine *engine) {
  struct hr__data *data = engine->data;
  int64_t at_us;
  const uint32_t flow = hr__flows_first(&data->flows, &at_us);
  if (flow == HR_NONE) {
    data->next_us = HR_NEVER_US;
    return HR_OK;
  }
  struct hr__engine *owner = owner_of(data, flow);
  if (at_us < engine->view.now_us) at_us = engine->view.now_us;
  data->next_us = at_us;
  if (owner->whole) hr__clusters_wake_at(owner, at_us);
  return hr__schedule(owner, at_us, HR__PENDING_DATA, 0);
}

/* ---- Paths ------------------------------------------------------------------------------------------ */

/* Returns the maximum rate of a client on a path in bytes per second; 0: no limit. */
static int64_t client_limit(const struct hr__data *data, const struct hr__data_path *path) {
  const struct hr_data_spec *spec = data->spec;
  int64_t limit = spec->storage[path->storage].client_bytes_s;
  if (path->link == HR_NONE) return limit;
  const int64_t of_link = spec->links[path->link].client_bytes_s;
  return of_link && (!limit || of_link < limit) ? of_link : limit;
}

hr__wide hr__data_narrowest(const struct hr__data *data, uint32_t path) {
  const struct hr__share_path *share = &data->flows.shares.paths[path];
  hr__wide least = HR__NO_LIMIT;
  for (uint32_t i = 0; i < share->n_resources; i++) {
    const hr__wide capacity = data->flows.shares.capacity[share->resources[i]];
    if (capacity < least) least = capacity;
  }
  return least;
}

hr__wide hr__data_cap(const struct hr__data *data, uint32_t path, uint32_t clients) {
  const int64_t limit = client_limit(data, &data->paths[path]);
  const hr__wide all = hr__data_narrowest(data, path), own = hr__rate_units(limit) * clients;
  return limit && own < all ? own : all;
}

/* Returns the index of a path in `paths`. If the path is new, it is added first. */
uint32_t hr__data_add_path(struct hr__data *data, struct hr__data_path path) {
  struct hr__bandwidth *shares = &data->flows.shares;
  for (uint32_t i = 0; i < shares->n_paths; i++)
    if (data->paths[i].storage == path.storage && data->paths[i].link == path.link && data->paths[i].to == path.to)
      return i;
  struct hr__share_path *share = &shares->paths[shares->n_paths];
  data->paths[shares->n_paths] = path;
  share->resources[share->n_resources++] = path.storage;
  if (path.link != HR_NONE) share->resources[share->n_resources++] = data->spec->n_storage + path.link;
  if (path.to != HR_NONE) share->resources[share->n_resources++] = path.to;
  return shares->n_paths++;
}

/* Returns whether route `a` is better than `b`. A route without a link is better than a route with a link. Of two
   routes with links, the cheaper route is better. If both cost the same, the faster route is better. */
static bool is_better(const struct hr_data_spec *spec, const struct hr_data_route *a, const struct hr_data_route *b) {
  if (a->link == HR_NONE || b->link == HR_NONE) return b->link != HR_NONE;
  const struct hr_data_link *x = &spec->links[a->link], *y = &spec->links[b->link];
  if (x->uusd_per_gb != y->uusd_per_gb) return x->uusd_per_gb < y->uusd_per_gb;
  return x->bytes_s != y->bytes_s && y->bytes_s && (!x->bytes_s || x->bytes_s > y->bytes_s);
}

/* Returns the best path of a data set to a pool or, if `to` is not HR_NONE, to the storage system `to`. HR_NONE: no
   such path exists. `routes` has the routes from all storage systems to this target, `n_targets` elements apart. */
static uint32_t best_path(struct hr__data *data, uint32_t set, const struct hr_data_route *routes, uint32_t n_targets,
                          uint32_t to) {
  const struct hr_data_spec *spec = data->spec;
  const struct hr_data_route *best = NULL;
  uint32_t from = HR_NONE;
  for (uint32_t i = 0; i < spec->n_storage; i++) {
    const struct hr_data_route *route = &routes[(size_t)i * n_targets];
    if (i == to || !data->replicas[(size_t)set * spec->n_storage + i].is_there || !route->exists) continue;
    if (best && !is_better(spec, route, best)) continue;
    best = route;
    from = i;
  }
  return best ? hr__data_add_path(data, (struct hr__data_path){from, best->link, to}) : HR_NONE;
}

/* Chooses the storage system from which each pool reads a data set. */
static void find_routes(struct hr__data *data, uint32_t set) {
  const struct hr_data_spec *spec = data->spec;
  for (uint32_t pool = 0; pool < spec->n_pools; pool++)
    data->route[(size_t)set * spec->n_pools + pool] =
        best_path(data, set, &spec->to_pool[pool], spec->n_pools, HR_NONE);
}

/* ---- Copies of data sets ---------------------------------------------------------------------------- */

/* Returns the index of the flow that copies a data set to a storage system. */
static uint32_t copy_flow(const struct hr__data *data, uint32_t set, uint32_t to) {
  return data->n_jobs + set * data->spec->n_storage + to;
}

enum hr_status hr__data_begin_copy(struct hr__engine *engine, uint32_t set, uint32_t to) {
  struct hr__data *data = engine->data;
  const struct hr_data_spec *spec = data->spec;
  struct hr__data_copy *replica = &data->replicas[(size_t)set * spec->n_storage + to];
  const uint32_t path = replica->is_there || replica->is_coming
                            ? HR_NONE
                            : best_path(data, set, &spec->to_storage[to], spec->n_storage, to);
  if (path == HR_NONE) return HR_OK;
  hr__wide cap = hr__data_cap(data, path, 1);
  const int64_t write_limit = spec->storage[to].client_bytes_s;
  if (write_limit && hr__rate_units(write_limit) < cap) cap = hr__rate_units(write_limit);
  const int64_t latency_us = data->paths[path].link == HR_NONE ? 0 : spec->links[data->paths[path].link].latency_us;
  replica->is_coming = true;
  if (hr__flows_begin(&data->flows, copy_flow(data, set, to), path, cap, cap,
                      latency_us + hr__transfer_us((uint64_t)spec->sets[set].bytes, cap), 0,
                      engine->view.now_us) != HR_OK)
    return hr__out_of_memory(engine);
  return hr__data_schedule(engine);
}

/* Returns the counter of the bytes that cross a link in the month of `now_us`. If memory is exhausted, sets
   data->status and returns another counter. The run then ends with an error at the next event of data, or when its
   result is made. */
static hr_amount *month_of(struct hr__data *data, int64_t now_us, uint32_t link) {
  struct hr_data_result *result = &data->result;
  const uint32_t month = (uint32_t)(now_us / HR_MONTH_US), n_links = result->n_links;
  if (month >= result->n_months) {
    if (!HR__ARRAY_HAS_ROOM_FOR(result->month_bytes, (size_t)(month + 1) * n_links, result->month_capacity)) {
      data->status = HR_NO_MEMORY;
      return &data->lost_bytes;
    }
    memset(result->month_bytes + (size_t)result->n_months * n_links, 0,
           (size_t)(month + 1 - result->n_months) * n_links * sizeof *result->month_bytes);
    result->n_months = month + 1;
  }
  return &result->month_bytes[(size_t)month * n_links + link];
}

void hr__data_count_bytes(struct hr__data *data, uint32_t path, hr_amount bytes, int64_t now_us) {
  const struct hr__data_path *way = &data->paths[path];
  data->result.storage[way->storage].read_bytes += bytes;
  if (way->link != HR_NONE) data->result.links[way->link].bytes += bytes;
  if (way->link != HR_NONE) *month_of(data, now_us, way->link) += bytes;
  if (way->to != HR_NONE) data->result.storage[way->to].written_bytes += bytes;
}

/* Ends the flows of all working jobs that read a data set, and begins them again. The jobs then read the data set on
   the path that is now the best. */
static enum hr_status reroute(struct hr__engine *engine, uint32_t set) {
  struct hr__data *data = engine->data;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < data->n_jobs && status == HR_OK; i++) {
    struct hr__data_reader *reader = &data->readers[i];
    if (!reader->engine || reader->set != set || reader->writes || !hr__flows_has(&data->flows, i)) continue;
    struct hr__engine *owner = reader->engine;
    if (owner->view.now_us < engine->view.now_us) hr__engine_enter(owner, engine->view.now_us);
    status = hr__attempt_resume(owner, (hr_job){i});
    if (!owner->whole) continue;
    hr__event_heap_settle(&owner->heap);
    hr__clusters_wake_at(owner, hr__engine_next_us(owner));
  }
  return status;
}

enum hr_status hr__data_finish_copy(struct hr__engine *engine, uint32_t flow) {
  struct hr__data *data = engine->data;
  const uint32_t at = flow - data->n_jobs, set = at / data->spec->n_storage;
  struct hr__data_copy *replica = &data->replicas[at];
  const int64_t bytes = data->spec->sets[set].bytes;
  hr__data_count_bytes(data, hr__data_path_of_flow(data, flow), bytes, engine->view.now_us);
  hr__flows_end(&data->flows, flow, engine->view.now_us);
  data->result.copied_bytes += bytes;
  data->result.n_copies++;
  data->n_changes++;
  *replica = (struct hr__data_copy){.is_there = true, .since_us = engine->view.now_us};
  find_routes(data, set);
  const enum hr_status status = reroute(engine, set);
  return status == HR_OK ? hr__data_schedule(engine) : status;
}

/* ---- Start and end of a run ------------------------------------------------------------------------- */

static bool allocate(struct hr__engine *owner, struct hr__data *data) {
  const struct hr_data_spec *spec = data->spec;
  struct hr__flows *flows = &data->flows;
  struct hr__bandwidth *shares = &flows->shares;
  const size_t n_replicas = (size_t)spec->n_sets * spec->n_storage;
  /* paths: a storage system with any link or none, to clients or to another storage system */
  const size_t n_paths = (size_t)spec->n_storage * (spec->n_links + 1) * (spec->n_storage + 1);
  flows->n_flows = data->n_jobs + (uint32_t)n_replicas;
  shares->n_resources = spec->n_storage + spec->n_links;
  struct hr_arena *arena = &owner->arena;
  return HR__ARENA_ARRAY(arena, flows->flows, flows->n_flows) && HR__ARENA_ARRAY(arena, flows->paths, n_paths) &&
         HR__ARENA_ARRAY(arena, shares->paths, n_paths) && HR__ARENA_ARRAY(arena, data->paths, n_paths) &&
         HR__ARENA_ARRAY(arena, shares->capacity, shares->n_resources) &&
         HR__ARENA_ARRAY(arena, shares->left, shares->n_resources) &&
         HR__ARENA_ARRAY(arena, shares->level, shares->n_resources) &&
         HR__ARENA_ARRAY(arena, data->readers, data->n_jobs) && HR__ARENA_ARRAY(arena, data->replicas, n_replicas) &&
         HR__ARENA_ARRAY(arena, data->route, (size_t)spec->n_sets * spec->n_pools) &&
         HR__ARENA_ARRAY(arena, data->set_of_name, owner->trace->data_sets.count);
}

static bool allocate_result(struct hr__data *data) {
  struct hr_data_result *result = &data->result;
  result->n_storage = data->spec->n_storage;
  result->n_links = data->spec->n_links;
  result->spec = data->spec;
  return HR__ARRAY_MAKE(result->replicas, (size_t)data->spec->n_sets * data->spec->n_storage) &&
         HR__ARRAY_MAKE(result->storage, result->n_storage) && HR__ARRAY_MAKE(result->links, result->n_links);
}

static void set_capacities(struct hr__data *data) {
  const struct hr_data_spec *spec = data->spec;
  hr__wide *capacity = data->flows.shares.capacity;
  for (uint32_t i = 0; i < spec->n_storage; i++) capacity[i] = hr__rate_units(spec->storage[i].bytes_s);
  for (uint32_t i = 0; i < spec->n_links; i++)
    capacity[spec->n_storage + i] = spec->links[i].bytes_s ? hr__rate_units(spec->links[i].bytes_s) : HR__NO_LIMIT;
}

/* Finds the data sets that the trace names. Returns HR_BAD_INPUT if a data set does not exist. */
static enum hr_status find_named(struct hr__engine *owner, struct hr__data *data) {
  const struct hr_names *names = &owner->trace->data_sets;
  for (uint32_t name = 0; name < names->count; name++) {
    uint32_t set = 0;
    while (set < data->spec->n_sets && strcmp(data->spec->sets[set].name, names->text[name]) != 0) set++;
    if (set == data->spec->n_sets)
      return hr_fail(owner->error, HR_BAD_INPUT, "the trace names the data set '%.60s', which is not in 'data.sets'",
                     names->text[name]);
    data->set_of_name[name] = set;
  }
  return HR_OK;
}

static bool has_caches(const struct hr_data_spec *spec) {
  for (uint32_t i = 0; i < spec->n_pools; i++)
    if (spec->cache_of[i] != HR_NONE) return true;
  return false;
}

enum hr_status hr__data_open(struct hr__engine *engine, struct hr__engine *owner) {
  struct hr__data *data = hr_arena_alloc(&owner->arena, sizeof *data);
  if (!data) return hr__out_of_memory(engine);
  *data = (struct hr__data){
      .spec = engine->config->data, .first = engine, .n_jobs = engine->trace->n_jobs, .next_us = HR_NEVER_US};
  owner->data = engine->data = data;
  if (!allocate(owner, data) || !allocate_result(data)) return hr__out_of_memory(engine);
  const enum hr_status status = find_named(owner, data);
  if (status != HR_OK) return status;
  if (has_caches(data->spec)) {
    data->caches = caches_create(&owner->arena, owner->cluster.n_nodes, data->spec->n_sets);
    if (!data->caches) return hr__out_of_memory(engine);
  }
  set_capacities(data);
  for (uint32_t i = 0; i < data->spec->n_sets; i++) {
    const struct hr_data_set *set = &data->spec->sets[i];
    for (uint32_t k = 0; k < set->n_storage; k++)
      data->replicas[(size_t)i * data->spec->n_storage + set->storage[k]].is_there = true;
    find_routes(data, i);
  }
  hr__flows_open(&data->flows);
  return HR_OK;
}

enum hr_status hr__data_begin_copies(struct hr__engine *engine) {
  const struct hr_data_spec *spec = engine->data->spec;
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < spec->n_sets; i++)
    for (uint32_t k = 0; k < spec->sets[i].n_copies && status == HR_OK; k++)
      if (spec->sets[i].when == HR_DATA_COPY_START) status = hr__data_begin_copy(engine, i, spec->sets[i].copies[k]);
  return status;
}

void hr__data_close(struct hr__data *data) {
  hr__flows_close(&data->flows);
  free(data->result.storage);
  free(data->result.links);
  free(data->result.replicas);
  free(data->result.month_bytes);
  data->result = (struct hr_data_result){0};
}

/* Counts the bytes that incomplete copies have transferred. */
static void count_partial_copies(struct hr__data *data, int64_t end_us) {
  for (uint32_t flow = data->n_jobs; flow < data->flows.n_flows; flow++) {
    if (!hr__flows_has(&data->flows, flow)) continue;
    const uint32_t path = hr__data_path_of_flow(data, flow), set = (flow - data->n_jobs) / data->spec->n_storage;
    const hr__wide passed = hr__flows_passed(&data->flows, flow, end_us);
    const struct hr__data_flow *self = &data->flows.flows[flow];
    const hr__wide all = self->node.key - self->begin;
    const hr_amount bytes = (hr_amount)((hr__wide)(uint64_t)data->spec->sets[set].bytes * (passed >> HR__CLOCK_BITS) /
                                        ((all >> HR__CLOCK_BITS) ? all >> HR__CLOCK_BITS : 1));
    hr__data_count_bytes(data, path, bytes, end_us);
    data->result.copied_bytes += bytes;
  }
}

/* Adds the complete copies of data sets, and the storage that they have used, to the result. */
static void count_stored(struct hr__data *data, int64_t end_us) {
  for (uint32_t i = 0; i < data->spec->n_sets; i++)
    for (uint32_t k = 0; k < data->spec->n_storage; k++) {
      const struct hr__data_copy *replica = &data->replicas[(size_t)i * data->spec->n_storage + k];
      if (!replica->is_there) continue;
      data->result.replicas[data->result.n_replicas++] = (struct hr_data_replica){i, k, replica->since_us};
      data->result.storage[k].stored_byte_us += (hr_amount)data->spec->sets[i].bytes * (end_us - replica->since_us);
    }
}

void hr__data_settle(struct hr__data *data, int64_t end_us) {
  count_partial_copies(data, end_us);
  count_stored(data, end_us);
}
