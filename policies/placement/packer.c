/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The packer: finds a node and GPUs for one task by a packing rule (headroom/unstable/capacity.h).
 *
 * Scores are stored, and updated only when needed. The nodes are in a list, in order of their last change. Each request
 * stores when it was last updated, as a count of changes. An update of a request visits the nodes that have changed
 * since then, computes their scores, and sets the scores in the tournament of the request. As a result, a node that
 * changed ten times between two updates is scored once, a node that did not change is not scored again, and a request
 * for which searches are rare costs little.
 *
 * If the score depends on the node only, requests are updated in blocks of eight. Each request of a block is a lane of
 * one tournament, so one score and one walk up the tree update all of them. If scores are expensive, the first update
 * of a request computes one score for each set of equivalent nodes. The value of a node in the tournament is 0 if the
 * request does not fit on the node, else the score + 1.
 */

#include "headroom/unstable/capacity.h"
#include "policies/kit/tournament.h"

#include <string.h>

/* The first node of each set of equivalent nodes. The table has its own slots and no stored hashes (unlike
   base/containers.h), because it is cleared and filled again for each series of visits, so its size decides the speed
   of a series. Its size is fixed, so it needs no check for growth. */
struct hr__node_equivalence {
  uint32_t *slot; /* [size]: node + 1; 0: empty */
  uint32_t size;  /* a power of two, at least twice the number of nodes */
};

/* Initializes the table in the arena. False: out of memory. */
static bool node_equivalence_init(struct hr__node_equivalence *equivalence, struct hr_arena *arena, uint32_t n_nodes) {
  for (equivalence->size = 2; equivalence->size / 2 < n_nodes;) equivalence->size *= 2;
  equivalence->slot = hr_arena_alloc(arena, equivalence->size * sizeof *equivalence->slot);
  return equivalence->slot != NULL;
}

/* Clears the table. Call this before a series of visits (node_equivalence_first). No node may change during the series.
 */
static void node_equivalence_begin(struct hr__node_equivalence *equivalence) {
  memset(equivalence->slot, 0, equivalence->size * sizeof *equivalence->slot);
}

static uint64_t hash_of(const struct hr_gpu_inventory *inventory, hr_node node) {
  const uint16_t *left_milli = hr_gpu_inventory_gpus(inventory, node);
  uint64_t hash = (uint64_t)inventory->pool[node.id] << 32 | inventory->cpu_milli[node.id];
  hash = (hash ^ inventory->mem_mib[node.id]) * UINT64_C(0x9E3779B97F4A7C15);
  for (uint32_t gpu = 0; gpu < inventory->n_gpus[node.id]; gpu++)
    hash = (hash ^ left_milli[gpu]) * UINT64_C(0x9E3779B97F4A7C15);
  return hash ^ hash >> 32;
}

#define SAME(column, count)                                                                                            \
  (memcmp((column) + (size_t)a * (count), (column) + (size_t)b * (count), (count) * sizeof *(column)) == 0)

static bool same_instances(const struct hr_gpu_inventory *inventory, uint32_t a, uint32_t b) {
  uint32_t n_gpus = inventory->max_gpus;
  if (!hr_gpu_inventory_mig(inventory, (hr_node){a})) return true;
  return SAME(inventory->mig_gpu, n_gpus) && SAME(inventory->mig_taken, n_gpus) && SAME(inventory->mig_layout, n_gpus);
}

/* Returns whether two nodes are equal in everything that a score can depend on. */
static bool same_state(const struct hr_packing *packing, uint32_t a, uint32_t b) {
  const struct hr_gpu_inventory *inventory = packing->inventory;
  uint32_t n_gpus = inventory->max_gpus;
  if (inventory->pool[a] != inventory->pool[b] || inventory->cpu_milli[a] != inventory->cpu_milli[b]) return false;
  if (inventory->mem_mib[a] != inventory->mem_mib[b] || inventory->tasks[a] != inventory->tasks[b]) return false;
  if (inventory->alone[a] != inventory->alone[b] || inventory->closed[a] != inventory->closed[b]) return false;
  return SAME(inventory->gpu_milli, n_gpus) && SAME(inventory->gpu_mem_mib, n_gpus) &&
         SAME(inventory->gpu_tasks, n_gpus) && SAME(packing->tasks, 1) &&
         SAME(packing->tasks_of_kind, packing->n_kinds) && same_instances(inventory, a, b);
}

/* Visits a node. Returns the first visited node that is equivalent to it (see same_state), or the node itself if none
   is. */
static hr_node node_equivalence_first(struct hr__node_equivalence *equivalence, const struct hr_packing *packing,
                                      hr_node node) {
  uint32_t at = (uint32_t)hash_of(packing->inventory, node) & (equivalence->size - 1);
  while (equivalence->slot[at] && !same_state(packing, equivalence->slot[at] - 1, node.id))
    at = (at + 1) & (equivalence->size - 1);
  if (!equivalence->slot[at]) equivalence->slot[at] = node.id + 1;
  return (hr_node){equivalence->slot[at] - 1};
}

/* Requests that are updated together. Each request has one lane. */
struct packer_block {
  uint32_t *tree;
  uint64_t good_at; /* packer->changes + 1 at the last update of the tournament */
  uint32_t n_lanes; /* number of lanes in use */
  const struct hr_request *request[HR__MAX_LANES];
  const uint8_t *accepted[HR__MAX_LANES]; /* by lane: [n_pools], whether the request accepts the pool */
};

/* The result of the last search, valid until a node changes. */
struct answer {
  uint64_t asked; /* packer->changes + 1 at the search; 0: no search yet */
  uint64_t gpus;
  uint32_t request;
  hr_node node;
  bool found;
};

struct hr_packer {
  struct hr_packing packing;
  const struct hr_packing_rule *rule;
  const struct hr_gpu_inventory *inventory;
  const struct hr_request *requests;
  struct hr_acceptance acceptance;
  uint32_t *tasks, *tasks_of_kind;
  uint32_t n_nodes;
  /* node_at: node by its place in the cluster's order of nodes; place_of: place by node */
  uint32_t *node_at, *place_of;
  /* [n_nodes + 1]: neighbours in the list in order of change; the last entry is the head of the list */
  uint32_t *before, *after;
  uint64_t *changed; /* [n_nodes]: value of `changes` at the last change */
  uint64_t changes;
  struct hr__tournament_shape shape;
  struct packer_block *blocks; /* [n_requests / n_lanes, rounded up] */
  uint32_t n_lanes;            /* number of lanes of each block: 1 or HR__MAX_LANES */
  /* [n_requests]: index of the request's lane, counted across all blocks; lanes are assigned at the first search for a
     request; HR_NONE: no lane yet */
  uint32_t *lane_of;
  uint32_t n_asked; /* number of requests with a lane */
  uint64_t finds;   /* number of searches; not used if the configuration provides a counter */
  struct answer last;
  struct hr__node_equivalence equivalence; /* only for rules that score fragmentation */
};

/* ---- Construction --------------------------------------------------------------------------------- */

static void order_nodes(struct hr_packer *packer, const struct hr_cluster_spec *cluster) {
  for (uint32_t node = 0; node < packer->n_nodes; node++) {
    uint32_t place = cluster->node_order ? cluster->node_order[node] : node;
    packer->place_of[node] = place;
    packer->node_at[place] = node;
  }
}

static void list_nodes(struct hr_packer *packer) {
  uint32_t n = packer->n_nodes;
  for (uint32_t i = 0; i <= n; i++) {
    packer->after[i] = i == n ? 0 : i + 1;
    packer->before[i] = i == 0 ? n : i - 1;
  }
}

static void measure_nodes(struct hr_packing *packing, const struct hr_cluster_spec *cluster) {
  packing->max_cpu_milli = packing->max_gpu_milli = 1;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *pool = &cluster->pools[i];
    uint64_t gpu_milli = (uint64_t)pool->gpus_per_node * HR_WHOLE_GPU_MILLI;
    if (pool->nodes == 0) continue;
    if (pool->cpu_milli_per_node > packing->max_cpu_milli) packing->max_cpu_milli = pool->cpu_milli_per_node;
    if (gpu_milli > packing->max_gpu_milli) packing->max_gpu_milli = gpu_milli;
  }
}

static bool make_columns(struct hr_packer *packer, struct hr_arena *arena, uint32_t n_requests) {
  size_t n = (size_t)packer->n_nodes + 1;
  packer->tasks = hr_arena_alloc(arena, n * sizeof *packer->tasks);
  packer->tasks_of_kind = hr_arena_alloc(arena, n * packer->packing.n_kinds * sizeof *packer->tasks_of_kind);
  packer->node_at = hr_arena_alloc(arena, n * sizeof *packer->node_at);
  packer->place_of = hr_arena_alloc(arena, n * sizeof *packer->place_of);
  packer->before = hr_arena_alloc(arena, n * sizeof *packer->before);
  packer->after = hr_arena_alloc(arena, n * sizeof *packer->after);
  packer->changed = hr_arena_alloc(arena, n * sizeof *packer->changed);
  packer->lane_of = hr_arena_alloc(arena, ((size_t)n_requests + 1) * sizeof *packer->lane_of);
  return packer->tasks && packer->tasks_of_kind && packer->node_at && packer->place_of && packer->before &&
         packer->after && packer->changed && packer->lane_of;
}

/* Allocates the blocks and their trees. Trees of large clusters have their own pages in the arena, so a tree uses no
   memory before the first search for one of its requests. */
static bool make_blocks(struct hr_packer *packer, struct hr_arena *arena, uint32_t n_requests) {
  size_t n_blocks = ((size_t)n_requests + packer->n_lanes - 1) / packer->n_lanes;
  packer->blocks = hr_arena_alloc(arena, (n_blocks + 1) * sizeof *packer->blocks);
  for (size_t i = 0; packer->blocks && i < n_blocks; i++) {
    packer->blocks[i].tree = hr_arena_alloc(arena, packer->shape.size * packer->n_lanes * sizeof(uint32_t));
    if (!packer->blocks[i].tree) return false;
  }
  for (uint32_t i = 0; i < n_requests; i++) packer->lane_of[i] = HR_NONE;
  return packer->blocks != NULL;
}

static struct hr_packing packing_of(const struct hr_packer_config *config) {
  struct hr_packing packing = {.inventory = config->inventory,
                               .cluster = config->cluster,
                               .n_kinds = hr_packer_kinds(config->inventory->max_gpus),
                               .typical = config->typical,
                               .seed = config->seed,
                               .finds = config->finds};
  measure_nodes(&packing, config->cluster);
  return packing;
}

struct hr_packer *hr_packer_create(struct hr_arena *arena, const struct hr_packer_config *config) {
  struct hr_packer *packer = hr_arena_alloc(arena, sizeof *packer);
  if (!packer) return NULL;
  *packer = (struct hr_packer){.packing = packing_of(config),
                               .rule = config->rule,
                               .inventory = config->inventory,
                               .requests = config->requests,
                               .acceptance = config->acceptance,
                               .n_nodes = config->inventory->n_nodes,
                               .n_lanes = config->rule->scores_nodes || !config->rule->score ? HR__MAX_LANES : 1,
                               .shape = hr__tournament_shape(config->inventory->n_nodes)};
  if (!make_columns(packer, arena, config->n_requests) || !make_blocks(packer, arena, config->n_requests)) return NULL;
  if (!packer->packing.finds) packer->packing.finds = &packer->finds;
  order_nodes(packer, config->cluster);
  list_nodes(packer);
  packer->packing.tasks = packer->tasks;
  packer->packing.tasks_of_kind = packer->tasks_of_kind;
  if (config->rule->wants_fragmentation) {
    if (!node_equivalence_init(&packer->equivalence, arena, packer->n_nodes)) return NULL;
    packer->packing.fragmentation =
        hr_fragmentation_create(arena, config->typical, &packer->acceptance, config->inventory);
    if (!packer->packing.fragmentation) return NULL;
  }
  return packer;
}

/* ---- Scores --------------------------------------------------------------------------------------- */

/* Returns whether the rule is `random`. The trees of this rule are tallies, in which each node on which the request
   fits has the value 1. */
static bool is_tally(const struct hr_packer *packer) {
  return packer->rule->score == NULL;
}

static uint32_t value_of(const struct hr_packer *packer, const struct hr_request *request, hr_node node) {
  return is_tally(packer) ? 1 : (uint32_t)packer->rule->score(&packer->packing, request, node) + 1;
}

/* Computes the values of a node in all lanes of a block. The score is the same in all lanes, so it is computed once. */
static void find_values(const struct hr_packer *packer, const struct packer_block *block, hr_node node,
                        uint32_t values[HR__MAX_LANES]) {
  uint32_t pool = packer->inventory->pool[node.id], value = 0;
  uint64_t fitting = hr_gpu_inventory_fits_each(packer->inventory, block->request, block->n_lanes, node);
  for (uint32_t lane = 0; lane < HR__MAX_LANES; lane++) values[lane] = 0;
  for (; fitting; fitting &= fitting - 1) {
    uint32_t lane = (uint32_t)__builtin_ctzll(fitting);
    if (!block->accepted[lane][pool]) continue;
    if (value == 0) value = value_of(packer, block->request[lane], node);
    values[lane] = value;
  }
}

/* Updates all lanes of a block: computes the values of the nodes that have changed since the last update. */
static void score_changed(struct hr_packer *packer, struct packer_block *block) {
  uint32_t head = packer->n_nodes, values[HR__MAX_LANES];
  for (uint32_t node = packer->before[head]; node != head; node = packer->before[node]) {
    if (packer->changed[node] < block->good_at) break;
    find_values(packer, block, (hr_node){node}, values);
    if (packer->n_lanes == 1)
      hr__tournament_set(&packer->shape, block->tree, 1, false, packer->place_of[node], values);
    else if (is_tally(packer))
      hr__tournament_set(&packer->shape, block->tree, HR__MAX_LANES, true, packer->place_of[node], values);
    else
      hr__tournament_set(&packer->shape, block->tree, HR__MAX_LANES, false, packer->place_of[node], values);
  }
  block->good_at = packer->changes + 1;
}

/* ---- Search --------------------------------------------------------------------------------------- */

/* Scores all nodes for a new lane. The other lanes of the block must be up to date. */
static void score_all(struct hr_packer *packer, struct packer_block *block, uint32_t lane) {
  const struct hr_request *request = block->request[lane];
  bool shares = packer->equivalence.size > 0;
  if (shares) node_equivalence_begin(&packer->equivalence);
  for (uint32_t i = 0; i < packer->n_nodes; i++) {
    hr_node node = {i}, first = shares ? node_equivalence_first(&packer->equivalence, &packer->packing, node) : node;
    uint32_t *value = &block->tree[(size_t)packer->place_of[i] * packer->n_lanes + lane];
    bool accepted = block->accepted[lane][packer->inventory->pool[i]];
    if (first.id != i)
      *value = block->tree[(size_t)packer->place_of[first.id] * packer->n_lanes + lane];
    else
      *value =
          accepted && hr_gpu_inventory_fits(packer->inventory, request, node) ? value_of(packer, request, node) : 0;
  }
  hr__tournament_build(&packer->shape, block->tree, packer->n_lanes, is_tally(packer));
}

/* Updates the block of the request, and returns it. */
static const struct packer_block *refresh(struct hr_packer *packer, uint32_t request) {
  bool is_new = packer->lane_of[request] == HR_NONE;
  if (is_new) packer->lane_of[request] = packer->n_asked++;
  uint32_t lane = packer->lane_of[request] % packer->n_lanes;
  struct packer_block *block = &packer->blocks[packer->lane_of[request] / packer->n_lanes];
  score_changed(packer, block);
  if (!is_new) return block;
  const struct hr_request *asked = &packer->requests[request];
  block->request[lane] = asked;
  block->accepted[lane] = packer->acceptance.row + (size_t)asked->accept_class * packer->acceptance.n_pools;
  block->n_lanes++;
  score_all(packer, block, lane);
  return block;
}

/* Searches for a node and GPUs for the request. */
static struct answer find(struct hr_packer *packer, uint32_t request) {
  const struct hr_packing *packing = &packer->packing;
  const struct hr_request *asked = &packer->requests[request];
  const struct packer_block *block = refresh(packer, request);
  const struct hr__tournament_shape *shape = &packer->shape;
  uint32_t lanes = packer->n_lanes, lane = packer->lane_of[request] % lanes;
  uint32_t root = hr__tournament_root(shape, block->tree, lanes, lane);
  struct answer answer = {.asked = block->good_at, .request = request, .found = root != 0};
  if (!answer.found) return answer;
  uint32_t drawn = is_tally(packer) ? hr_random_below(packing->seed, 0, *packing->finds, root) : 0;
  uint32_t place = is_tally(packer) ? hr__tally_place(shape, block->tree, lanes, lane, drawn)
                                    : hr__tournament_best(shape, block->tree, lanes, lane);
  answer.node = (hr_node){packer->node_at[place]};
  answer.gpus = packer->rule->pick ? packer->rule->pick(packing, asked, answer.node)
                                   : hr_gpu_inventory_pick(packer->inventory, asked, answer.node);
  return answer;
}

/* If no node has changed since the last search, and the request is the same, the stored result is returned. This is
   frequent, because a check whether a job fits is often followed by the search for its placement. Random rules always
   search again. */
bool hr_packer_find(struct hr_packer *packer, uint32_t request, hr_node *node, uint64_t *gpus) {
  struct answer *last = &packer->last;
  bool is_known = last->request == request && last->asked == packer->changes + 1 && !is_tally(packer);
  if (!is_known) *last = find(packer, request);
  ++*packer->packing.finds;
  *node = last->node;
  *gpus = last->gpus;
  return last->found;
}

/* A range of consecutive nodes, and their values for one request. */
struct among {
  const uint32_t *values; /* value of place 0; values of successive places are `lanes` entries apart */
  uint32_t lanes, first, end;
};

static uint32_t value_at(const struct hr_packer *packer, const struct among *among, uint32_t node) {
  return among->values[(size_t)packer->place_of[node] * among->lanes];
}

/* Returns the node of the range with the maximum value; of equal nodes, the one with the first place. HR_NONE: the task
   fits on no node of the range. */
static uint32_t best_among(const struct hr_packer *packer, const struct among *among) {
  uint32_t best = HR_NONE, max_value = 0;
  for (uint32_t node = among->first; node < among->end; node++) {
    uint32_t value = value_at(packer, among, node);
    bool is_before = best != HR_NONE && packer->place_of[node] < packer->place_of[best];
    if (value < max_value || value == 0 || (value == max_value && !is_before)) continue;
    max_value = value;
    best = node;
  }
  return best;
}

/* Returns a random node of the range on which the task fits; HR_NONE: the task fits on no node of the range. */
static uint32_t drawn_among(const struct hr_packer *packer, const struct among *among) {
  uint32_t n_fitting = 0;
  for (uint32_t node = among->first; node < among->end; node++) n_fitting += value_at(packer, among, node);
  if (n_fitting == 0) return HR_NONE;
  uint32_t rest = hr_random_below(packer->packing.seed, 0, *packer->packing.finds, n_fitting), node = among->first;
  while (rest >= value_at(packer, among, node)) rest -= value_at(packer, among, node++);
  return node;
}

bool hr_packer_find_among(struct hr_packer *packer, uint32_t request, hr_node first, uint32_t n_nodes, hr_node *node,
                          uint64_t *gpus) {
  const struct hr_packing *packing = &packer->packing;
  const struct hr_request *asked = &packer->requests[request];
  const struct packer_block *block = refresh(packer, request);
  uint32_t lane = packer->lane_of[request] % packer->n_lanes;
  const struct among among = {block->tree + lane, packer->n_lanes, first.id, first.id + n_nodes};
  uint32_t found = is_tally(packer) ? drawn_among(packer, &among) : best_among(packer, &among);
  ++*packing->finds;
  if (found == HR_NONE) return false;
  *node = (hr_node){found};
  *gpus = packer->rule->pick ? packer->rule->pick(packing, asked, *node)
                             : hr_gpu_inventory_pick(packer->inventory, asked, *node);
  return true;
}

void hr_packer_changed(struct hr_packer *packer, hr_node node) {
  uint32_t i = node.id, head = packer->n_nodes;
  packer->after[packer->before[i]] = packer->after[i];
  packer->before[packer->after[i]] = packer->before[i];
  packer->before[i] = packer->before[head];
  packer->after[i] = head;
  packer->after[packer->before[head]] = i;
  packer->before[head] = i;
  packer->changed[i] = ++packer->changes;
}

static void count(struct hr_packer *packer, uint32_t request, hr_node node, uint32_t by) {
  packer->tasks[node.id] += by;
  packer->tasks_of_kind[(size_t)node.id * packer->packing.n_kinds + hr_request_kind(&packer->requests[request])] += by;
  hr_packer_changed(packer, node);
}

void hr_packer_taken(struct hr_packer *packer, uint32_t request, hr_node node) {
  count(packer, request, node, 1);
}

void hr_packer_given(struct hr_packer *packer, uint32_t request, hr_node node) {
  count(packer, request, node, UINT32_MAX);
}

void hr_packer_cleared(struct hr_packer *packer, hr_node node) {
  uint32_t n_kinds = packer->packing.n_kinds;
  packer->tasks[node.id] = 0;
  memset(packer->tasks_of_kind + (size_t)node.id * n_kinds, 0, n_kinds * sizeof *packer->tasks_of_kind);
  hr_packer_changed(packer, node);
}

void hr_packer_set_tasks(struct hr_packer *packer, hr_node node, uint32_t tasks, const uint64_t *tasks_of_kind) {
  uint32_t n_kinds = packer->packing.n_kinds;
  packer->tasks[node.id] = tasks;
  for (uint32_t i = 0; i < n_kinds; i++)
    packer->tasks_of_kind[(size_t)node.id * n_kinds + i] = (uint32_t)tasks_of_kind[i];
  hr_packer_changed(packer, node);
}
