/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Scores are kept, not computed. Nodes stand in a list by when they last changed; a request remembers when it was last
 * asked for, walks the list back to that time, scores those nodes again and sets them in its tournament. So a node that
 * changed ten times is scored once, one that did not change never, and requests that are rarely asked for cost little.
 * A value in a tournament is 0 where the request does not fit, else its score + 1.
 */

#include "headroom/packing.h"
#include "policies/tournament.h"

/* What was found for a request, as long as no node changes. */
struct answer {
  uint64_t asked; /* packer->changes + 1 when it was asked for; 0: never */
  uint64_t gpus;
  uint32_t request;
  hr_node node;
  bool found;
};

struct hr_packer {
  struct hr_packing packing;
  const struct hr_packing_rule *rule;
  const struct hr_stock *stock;
  const struct hr_request *requests;
  struct hr_acceptance acceptance;
  uint32_t *tasks, *tasks_of_kind;
  uint32_t n_nodes;
  uint32_t *node_at, *place_of; /* in the cluster's order of nodes */
  uint32_t *before, *after;     /* [n_nodes + 1], neighbours in the list by change; the last entry is its head */
  uint64_t *changed;            /* [n_nodes], when: a count of changes */
  uint64_t changes;
  uint64_t *asked; /* [n_requests], changes + 1 when the tournament was last made good; 0: never */
  struct hr__tournament_shape shape;
  uint32_t **trees; /* [n_requests] */
  struct answer last;
};

/* ---- Making one ------------------------------------------------------------------------------------- */

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
  packing->most_cpu_milli = packing->most_gpu_milli = 1;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *pool = &cluster->pools[i];
    uint64_t gpu_milli = (uint64_t)pool->gpus_per_node * HR_WHOLE_GPU_MILLI;
    if (pool->nodes == 0) continue;
    if (pool->cpu_milli_per_node > packing->most_cpu_milli) packing->most_cpu_milli = pool->cpu_milli_per_node;
    if (gpu_milli > packing->most_gpu_milli) packing->most_gpu_milli = gpu_milli;
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
  packer->asked = hr_arena_alloc(arena, ((size_t)n_requests + 1) * sizeof *packer->asked);
  packer->trees = hr_arena_alloc(arena, ((size_t)n_requests + 1) * sizeof *packer->trees);
  return packer->tasks && packer->tasks_of_kind && packer->node_at && packer->place_of && packer->before &&
         packer->after && packer->changed && packer->asked && packer->trees;
}

/* Trees of large clusters are memory of their own, which takes no room before its request is asked for. */
static bool make_trees(struct hr_packer *packer, struct hr_arena *arena, uint32_t n_requests) {
  for (uint32_t i = 0; i < n_requests; i++) {
    packer->trees[i] = hr_arena_alloc(arena, packer->shape.size * sizeof *packer->trees[i]);
    if (!packer->trees[i]) return false;
  }
  return true;
}

static struct hr_packing packing_of(const struct hr_packer_config *config) {
  struct hr_packing packing = {.stock = config->stock,
                               .cluster = config->cluster,
                               .n_kinds = HR_KIND_WHOLE + config->stock->most_gpus,
                               .typical = config->typical,
                               .seed = config->seed};
  measure_nodes(&packing, config->cluster);
  return packing;
}

struct hr_packer *hr_packer_create(struct hr_arena *arena, const struct hr_packer_config *config) {
  struct hr_packer *packer = hr_arena_alloc(arena, sizeof *packer);
  if (!packer) return NULL;
  *packer = (struct hr_packer){.packing = packing_of(config),
                               .rule = config->rule,
                               .stock = config->stock,
                               .requests = config->requests,
                               .acceptance = config->acceptance,
                               .n_nodes = config->stock->n_nodes,
                               .shape = hr__tournament_shape(config->stock->n_nodes)};
  if (!make_columns(packer, arena, config->n_requests) || !make_trees(packer, arena, config->n_requests)) return NULL;
  order_nodes(packer, config->cluster);
  list_nodes(packer);
  packer->packing.tasks = packer->tasks;
  packer->packing.tasks_of_kind = packer->tasks_of_kind;
  if (config->rule->wants_fragmentation) {
    packer->packing.fragmentation = hr_fragmentation_create(arena, config->typical, &packer->acceptance, config->stock);
    if (!packer->packing.fragmentation) return NULL;
  }
  return packer;
}

/* ---- Scores ----------------------------------------------------------------------------------------- */

static bool is_tally(const struct hr_packer *packer) {
  return packer->rule->score == NULL;
}

static uint32_t value_of(const struct hr_packer *packer, const struct hr_request *request, hr_node node) {
  const uint8_t *accepted = packer->acceptance.row + (size_t)request->accept_class * packer->acceptance.n_pools;
  if (!accepted[packer->stock->pool[node.id]] || !hr_stock_fits(packer->stock, request, node)) return 0;
  return is_tally(packer) ? 1 : (uint32_t)packer->rule->score(&packer->packing, request, node) + 1;
}

static void score_all(struct hr_packer *packer, uint32_t request) {
  uint32_t *tree = packer->trees[request];
  for (uint32_t node = 0; node < packer->n_nodes; node++)
    tree[packer->place_of[node]] = value_of(packer, &packer->requests[request], (hr_node){node});
  hr__tournament_build(&packer->shape, tree, is_tally(packer));
}

static void score_changed(struct hr_packer *packer, uint32_t request) {
  uint32_t *tree = packer->trees[request], head = packer->n_nodes;
  for (uint32_t node = packer->before[head]; node != head; node = packer->before[node]) {
    if (packer->changed[node] < packer->asked[request]) return;
    uint32_t value = value_of(packer, &packer->requests[request], (hr_node){node});
    if (is_tally(packer))
      hr__tally_set(&packer->shape, tree, packer->place_of[node], value);
    else
      hr__tournament_set(&packer->shape, tree, packer->place_of[node], value);
  }
}

/* ---- Finding ---------------------------------------------------------------------------------------- */

static void refresh(struct hr_packer *packer, uint32_t request) {
  if (packer->asked[request])
    score_changed(packer, request);
  else
    score_all(packer, request);
  packer->asked[request] = packer->changes + 1;
}

static struct answer find(struct hr_packer *packer, uint32_t request) {
  const struct hr_packing *packing = &packer->packing;
  const struct hr_request *asked = &packer->requests[request];
  const uint32_t *tree = packer->trees[request];
  refresh(packer, request);
  uint32_t root = hr__tournament_root(&packer->shape, tree);
  struct answer answer = {.asked = packer->asked[request], .request = request, .found = root != 0};
  if (!answer.found) return answer;
  uint32_t drawn = is_tally(packer) ? hr_random_below(packing->seed, 0, packing->finds, root) : 0;
  uint32_t place =
      is_tally(packer) ? hr__tally_place(&packer->shape, tree, drawn) : hr__tournament_best(&packer->shape, tree);
  answer.node = (hr_node){packer->node_at[place]};
  answer.gpus =
      packer->rule->pick ? packer->rule->pick(packing, asked, answer.node) : hr_stock_pick(packer->stock, asked, answer.node);
  return answer;
}

/* Whoever looks whether a job fits often looks where at once. Draws are not the same twice. */
bool hr_packer_find(struct hr_packer *packer, uint32_t request, hr_node *node, uint64_t *gpus) {
  struct answer *last = &packer->last;
  bool is_known = last->request == request && last->asked == packer->changes + 1 && !is_tally(packer);
  if (!is_known) *last = find(packer, request);
  packer->packing.finds++;
  *node = last->node;
  *gpus = last->gpus;
  return last->found;
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
