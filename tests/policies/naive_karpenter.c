/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A slow model of Karpenter; see naive_karpenter.h. */

#include "naive_karpenter.h"
#include "base/random.h"

#include <string.h>

#define S INT64_C(1000000)
#define NEVER INT64_MAX
#define LAST_US (30 * 86400 * S)

enum state { OFF, BOOTS, UP, CLOSES };

struct node {
  enum state state;
  uint32_t type, free, jobs;
  uint32_t room;      /* what the waiting jobs leave free */
  uint32_t waits_for; /* the node that replaces it + 1; 0: none */
  int64_t asked_us, touched_us;
  bool is_needed, is_chosen;
};

struct planned {
  uint32_t used, pods;
  bool may[NAIVE_TYPES];
};

/* What to do with some nodes: delete them, or replace them by a node of a type that is sent. */
struct command {
  enum naive_reason reason;
  uint32_t nodes[NAIVE_CLAIMS], n;
  bool acts, replaces, as_spot, sent[NAIVE_TYPES];
};

struct model {
  struct naive_claims *world;
  struct node nodes[NAIVE_CLAIMS]; /* those of the first type, then those of the second, ... */
  uint32_t n_nodes, n_asked[NAIVE_TYPES];
  int64_t now_us, began_us[NAIVE_PODS], waits_us[NAIVE_PODS]; /* -1: it does not run, or wait */
  uint32_t on[NAIVE_PODS], turn[NAIVE_PODS], n_starts;        /* turn: the number of the start */
  struct command command;
  int64_t blocked_until_us[NAIVE_TYPES];
  bool batch_is_open, batch_is_over;
  int64_t batch_first_us, batch_end_us, looked_us, base_us, validate_us;
};

/* ---- Jobs ---- */

static void add_to_batch(struct model *model) {
  if (!model->batch_is_open) model->batch_first_us = model->now_us;
  model->batch_is_open = true;
  model->batch_end_us = model->now_us + model->world->idle_us;
  if (model->batch_end_us > model->batch_first_us + model->world->max_us)
    model->batch_end_us = model->batch_first_us + model->world->max_us;
}

static void submit(struct model *model) {
  for (uint32_t i = 0; i < model->world->n_pods; i++) {
    if (model->world->pods[i].submit_us != model->now_us) continue;
    model->waits_us[i] = model->now_us;
    add_to_batch(model);
  }
}

static void end_jobs(struct model *model) {
  for (uint32_t i = 0; i < model->world->n_pods; i++) {
    struct naive_pod *pod = &model->world->pods[i];
    if (model->began_us[i] < 0 || model->began_us[i] + pod->work_us != model->now_us) continue;
    struct node *node = &model->nodes[model->on[i]];
    node->free += pod->gpus;
    node->jobs--;
    node->touched_us = model->now_us;
    pod->end_us = model->now_us;
    model->began_us[i] = -1;
  }
}

static void start_jobs(struct model *model) {
  for (uint32_t i = 0; i < model->world->n_pods; i++) {
    struct naive_pod *pod = &model->world->pods[i];
    if (model->waits_us[i] < 0) continue;
    uint32_t at = 0;
    while (at < model->n_nodes && (model->nodes[at].state != UP || model->nodes[at].free < pod->gpus)) at++;
    if (at == model->n_nodes) return;
    model->nodes[at].free -= pod->gpus;
    model->nodes[at].jobs++;
    model->nodes[at].touched_us = model->now_us;
    model->on[i] = at;
    model->turn[i] = ++model->n_starts;
    model->began_us[i] = model->now_us;
    model->waits_us[i] = -1;
    if (pod->start_us < 0) pod->start_us = model->now_us;
  }
}

/* ---- Nodes ---- */

/* A node goes; its jobs begin again elsewhere. A batch that ends now is over before, although a job that is submitted
   now still extends it. */
static void remove_node(struct model *model, uint32_t at) {
  struct node *node = &model->nodes[at];
  if (model->batch_is_open && model->batch_end_us == model->now_us) {
    model->batch_is_open = false;
    model->batch_is_over = true;
  }
  for (uint32_t i = 0; i < model->world->n_pods; i++) {
    if (model->began_us[i] < 0 || model->on[i] != at) continue;
    model->began_us[i] = -1;
    model->waits_us[i] = model->now_us;
    add_to_batch(model);
  }
  model->world->types[node->type].up_us += model->now_us - node->asked_us;
  node->state = OFF;
  node->waits_for = 0;
}

/* Removes the nodes of which the replacement has booted. */
static void settle(struct model *model) {
  for (uint32_t i = 0; i < model->n_nodes; i++) {
    struct node *node = &model->nodes[i];
    if (node->state != CLOSES || model->nodes[node->waits_for - 1].state == BOOTS) continue;
    if (model->nodes[node->waits_for - 1].state == OFF) {
      node->state = UP;
      node->waits_for = 0;
    } else {
      remove_node(model, i);
      model->world->types[node->type].removals++;
    }
  }
}

static void change_nodes(struct model *model) {
  for (uint32_t i = 0; i < model->n_nodes; i++) {
    struct node *node = &model->nodes[i];
    struct naive_type *type = &model->world->types[node->type];
    if (node->state == OFF) continue;
    if (node->state == BOOTS && model->now_us == node->asked_us + type->boot_us) {
      node->state = UP;
      node->touched_us = model->now_us;
    }
    if (model->now_us != node->asked_us + model->world->node_pools[type->node_pool].expire_us) continue;
    remove_node(model, i);
    type->removals++;
  }
  settle(model);
}

static uint32_t size_of(const struct model *model, uint32_t type) {
  uint32_t size = 0;
  for (uint32_t i = 0; i < model->n_nodes; i++) size += model->nodes[i].type == type && model->nodes[i].state != OFF;
  return size;
}

/* ---- Demand ---- */

/* Places the waiting jobs on the nodes, large jobs first. Marks the nodes they would use; lacks: those left. */
static void find_lacking(struct model *model, bool lacks[NAIVE_PODS]) {
  uint32_t free[NAIVE_CLAIMS];
  for (uint32_t i = 0; i < model->n_nodes; i++) {
    model->nodes[i].is_needed = false;
    free[i] = model->nodes[i].free;
  }
  memset(lacks, 0, NAIVE_PODS * sizeof *lacks);
  for (uint32_t gpus = 64; gpus > 0; gpus--)
    for (uint32_t i = 0; i < model->world->n_pods; i++) {
      if (model->waits_us[i] < 0 || model->world->pods[i].gpus != gpus) continue;
      uint32_t at = 0;
      while (at < model->n_nodes &&
             (model->nodes[at].state == OFF || model->nodes[at].state == CLOSES || free[at] < gpus))
        at++;
      lacks[i] = at == model->n_nodes;
      if (lacks[i]) continue;
      free[at] -= gpus;
      model->nodes[at].is_needed = true;
    }
  for (uint32_t i = 0; i < model->n_nodes; i++) model->nodes[i].room = free[i];
}

/* ---- Growth ---- */

struct plan {
  struct planned nodes[NAIVE_PODS];
  uint32_t n;
  int64_t nodes_left[NAIVE_NODE_POOLS], gpus_left[NAIVE_NODE_POOLS];
};

static bool may_plan(const struct model *model, const struct plan *plan, uint32_t type) {
  const struct naive_type *self = &model->world->types[type];
  if (model->now_us < model->blocked_until_us[type]) return false;
  if (plan->nodes_left[self->node_pool] < 1 || plan->gpus_left[self->node_pool] < self->size) return false;
  uint32_t n = size_of(model, type);
  for (uint32_t i = 0; i < plan->n; i++) {
    uint32_t others = 0;
    for (uint32_t k = 0; k < model->world->n_types; k++) others += k != type && plan->nodes[i].may[k];
    n += plan->nodes[i].may[type] && others == 0;
  }
  return n < self->nodes;
}

static bool plan_pod(const struct model *model, struct plan *plan, uint32_t gpus) {
  const struct naive_claims *world = model->world;
  struct planned *best = NULL;
  for (uint32_t i = 0; i < plan->n; i++) {
    struct planned *node = &plan->nodes[i];
    bool has_room = false;
    for (uint32_t k = 0; k < world->n_types; k++)
      has_room = has_room || (node->may[k] && node->used + gpus <= world->types[k].size);
    if (has_room && (!best || node->pods < best->pods)) best = node;
  }
  for (int64_t weight = 100; weight >= 0 && !best; weight--)
    for (uint32_t p = 0; p < world->n_node_pools && !best; p++) {
      if (world->node_pools[p].weight != weight) continue;
      struct planned node = {0};
      uint32_t largest = 0;
      for (uint32_t k = 0; k < world->n_types; k++) {
        const uint32_t size = world->types[k].size;
        node.may[k] = world->types[k].node_pool == p && size >= gpus && may_plan(model, plan, k);
        if (node.may[k] && size > largest) largest = size;
      }
      if (largest == 0) continue;
      plan->nodes_left[p]--;
      plan->gpus_left[p] -= largest;
      best = &plan->nodes[plan->n++];
      *best = node;
    }
  if (!best) return false;
  best->used += gpus;
  best->pods++;
  for (uint32_t k = 0; k < world->n_types; k++) best->may[k] = best->may[k] && best->used <= world->types[k].size;
  return true;
}

static bool lacks_capacity(struct model *model, uint32_t type) {
  struct hr__stream stream;
  if (!(model->world->types[type].no_capacity > 0)) return false;
  hr__stream_init(&stream, model->world->seed, HR__PURPOSE_BOOT, type, 1);
  hr__stream_skip_to_life(&stream, model->n_asked[type]++);
  return hr__stream_uniform(&stream) < model->world->types[type].no_capacity;
}

static int64_t price_of(const struct model *model, uint32_t type) {
  return model->world->types[type].price_uusd_h * model->world->types[type].size;
}

static uint32_t cheapest(const struct model *model, const bool *may, bool is_spot) {
  const struct naive_claims *world = model->world;
  uint32_t best = NAIVE_TYPES;
  for (uint32_t k = 0; k < world->n_types; k++) {
    if (!may[k] || world->types[k].is_spot != is_spot || model->now_us < model->blocked_until_us[k]) continue;
    if (size_of(model, k) >= world->types[k].nodes) continue;
    if (best == NAIVE_TYPES || price_of(model, k) < price_of(model, best)) best = k;
  }
  return best;
}

/* Requests a node. Spot capacity is preferred unless it costs more. Returns the node; NAIVE_CLAIMS: none. */
static uint32_t launch(struct model *model, const bool *may) {
  struct naive_claims *world = model->world;
  const uint32_t spot = cheapest(model, may, true), other = cheapest(model, may, false);
  const bool is_spot = spot != NAIVE_TYPES && (other == NAIVE_TYPES || price_of(model, spot) <= price_of(model, other));
  for (;;) {
    const uint32_t best = cheapest(model, may, is_spot);
    if (best == NAIVE_TYPES) return NAIVE_CLAIMS;
    if (lacks_capacity(model, best)) {
      world->types[best].failures++;
      model->blocked_until_us[best] = model->now_us + world->unavailable_us;
      continue;
    }
    uint32_t at = 0;
    while (model->nodes[at].type != best || model->nodes[at].state != OFF) at++;
    model->nodes[at] =
        (struct node){.state = BOOTS, .type = best, .free = world->types[best].size, .asked_us = model->now_us};
    world->types[best].launches++;
    return at;
  }
}

static struct plan new_plan(const struct model *model) {
  const struct naive_claims *world = model->world;
  struct plan plan = {.n = 0};
  for (uint32_t p = 0; p < world->n_node_pools; p++) {
    const struct naive_node_pool *pool = &world->node_pools[p];
    plan.nodes_left[p] = pool->max_nodes == UINT32_MAX ? NEVER : pool->max_nodes;
    plan.gpus_left[p] = pool->max_gpus == UINT32_MAX ? NEVER : pool->max_gpus;
    for (uint32_t k = 0; k < world->n_types; k++) {
      if (world->types[k].node_pool != p) continue;
      if (pool->max_nodes != UINT32_MAX) plan.nodes_left[p] -= size_of(model, k);
      if (pool->max_gpus != UINT32_MAX) plan.gpus_left[p] -= size_of(model, k) * world->types[k].size;
    }
  }
  return plan;
}

static void look(struct model *model) {
  const struct naive_claims *world = model->world;
  bool lacks[NAIVE_PODS];
  model->looked_us = model->now_us;
  find_lacking(model, lacks);
  struct plan plan = new_plan(model);
  for (uint32_t gpus = 64; gpus > 0; gpus--) {
    bool goes_on = true;
    for (uint32_t i = 0; i < world->n_pods; i++)
      if (lacks[i] && goes_on && world->pods[i].gpus == gpus) goes_on = plan_pod(model, &plan, gpus);
  }
  for (uint32_t i = 0; i < plan.n; i++) launch(model, plan.nodes[i].may);
}

/* ---- Removal ---- */

/* Whether the budget applies now: it begins at minutes of each hour. */
static bool applies(const struct model *model, const struct naive_node_pool *pool, enum naive_reason reason) {
  const int64_t now_s = model->now_us / S;
  if (!pool->limits[reason]) return false;
  if (pool->every_min == 0) return true;
  for (int64_t at_s = now_s; at_s > now_s - pool->active_s; at_s--)
    if (at_s % 60 == 0 && at_s / 60 % 60 % pool->every_min == 0) return true; /* at_s may be before the run */
  return false;
}

static int64_t allowed(const struct model *model, uint32_t node_pool, enum naive_reason reason) {
  const struct naive_node_pool *pool = &model->world->node_pools[node_pool];
  int64_t booted = 0, closing = 0;
  for (uint32_t i = 0; i < model->n_nodes; i++) {
    if (model->world->types[model->nodes[i].type].node_pool != node_pool) continue;
    booted += model->nodes[i].state == UP || model->nodes[i].state == CLOSES;
    closing += model->nodes[i].state == CLOSES;
  }
  if (!applies(model, pool, reason)) return NEVER;
  const int64_t most = pool->percent == UINT32_MAX ? pool->budget : (booted * pool->percent + 99) / 100;
  return most > closing ? most - closing : 0;
}

static bool is_empty(const struct model *model, uint32_t at) {
  const struct node *node = &model->nodes[at];
  const struct naive_node_pool *pool = &model->world->node_pools[model->world->types[node->type].node_pool];
  return node->state == UP && node->jobs == 0 && !node->is_needed && pool->removes_empty &&
         model->now_us - node->touched_us >= pool->after_us;
}

/* Chooses empty nodes, as many as the budgets allow, the most expensive first; `only`: of those chosen before. */
static bool choose(struct model *model, bool only) {
  int64_t left[NAIVE_NODE_POOLS];
  bool lacks[NAIVE_PODS], may[NAIVE_CLAIMS], any = false;
  find_lacking(model, lacks);
  for (uint32_t p = 0; p < model->world->n_node_pools; p++) left[p] = allowed(model, p, NAIVE_EMPTY);
  for (uint32_t i = 0; i < model->n_nodes; i++) {
    may[i] = is_empty(model, i) && (!only || model->nodes[i].is_chosen);
    model->nodes[i].is_chosen = false;
  }
  for (;;) {
    uint32_t best = NAIVE_CLAIMS;
    int64_t highest = -1;
    for (uint32_t i = 0; i < model->n_nodes; i++) {
      const struct naive_type *type = &model->world->types[model->nodes[i].type];
      if (!may[i] || left[type->node_pool] < 1 || type->price_uusd_h * type->size <= highest) continue;
      best = i;
      highest = type->price_uusd_h * type->size;
    }
    if (best == NAIVE_CLAIMS) return any;
    may[best] = false;
    model->nodes[best].is_chosen = any = true;
    left[model->world->types[model->nodes[best].type].node_pool]--;
  }
}

/* ---- Nodes with jobs ---- */

static uint32_t node_pool_of(const struct model *model, uint32_t at) {
  return model->world->types[model->nodes[at].type].node_pool;
}

/* Places the jobs of the nodes of a command on other nodes. Returns the GPUs of those that are left. */
static uint32_t left_over(const struct model *model, const struct command *command) {
  uint32_t room[NAIVE_CLAIMS], left = 0;
  for (uint32_t i = 0; i < model->n_nodes; i++) room[i] = model->nodes[i].state == UP ? model->nodes[i].room : 0;
  for (uint32_t k = 0; k < command->n; k++) room[command->nodes[k]] = 0;
  for (uint32_t k = 0; k < command->n; k++)
    for (uint32_t turn = model->n_starts; turn > 0; turn--) /* the last one that has started comes first */
      for (uint32_t i = 0; i < model->world->n_pods; i++) {
        const uint32_t gpus = model->world->pods[i].gpus;
        if (model->began_us[i] < 0 || model->turn[i] != turn || model->on[i] != command->nodes[k]) continue;
        uint32_t at = 0;
        while (at < model->n_nodes && room[at] < gpus) at++;
        if (at < model->n_nodes)
          room[at] -= gpus;
        else
          left += gpus;
      }
  return left;
}

/* Sets what to do with the nodes of a command, which are of one node pool. */
static void decide(const struct model *model, struct command *command) {
  const struct naive_claims *world = model->world;
  const uint32_t left = left_over(model, command), p = node_pool_of(model, command->nodes[0]);
  const struct plan plan = new_plan(model);
  int64_t cost = 0, limit = NEVER;
  bool all_spot = true, any = false;
  command->acts = left == 0;
  command->replaces = command->as_spot = false;
  memset(command->sent, 0, sizeof command->sent);
  if (left == 0) return;
  for (uint32_t k = 0; k < command->n; k++) {
    cost += price_of(model, model->nodes[command->nodes[k]].type);
    all_spot = all_spot && world->types[model->nodes[command->nodes[k]].type].is_spot;
  }
  if (command->reason == NAIVE_DRIFTED) cost = NEVER;
  for (uint32_t k = 0; k < world->n_types; k++)
    command->sent[k] = world->types[k].node_pool == p && world->types[k].size >= left && price_of(model, k) < cost &&
                       model->now_us >= model->blocked_until_us[k] && size_of(model, k) < world->types[k].nodes &&
                       plan.nodes_left[p] > 0 && plan.gpus_left[p] >= world->types[k].size;
  for (uint32_t k = 0; k < command->n && command->n > 1; k++) {
    const uint32_t type = model->nodes[command->nodes[k]].type;
    if (command->sent[type] && price_of(model, type) < limit) limit = price_of(model, type);
  }
  for (uint32_t k = 0; k < world->n_types; k++) {
    command->sent[k] = command->sent[k] && price_of(model, k) < limit;
    any = any || command->sent[k];
    command->as_spot = command->as_spot || (command->sent[k] && world->types[k].is_spot);
  }
  if (command->reason == NAIVE_DRIFTED) command->as_spot = false; /* whatever costs less */
  /* a single spot node would need 15 types that cost less */
  if (command->as_spot && all_spot && (command->n == 1 || !world->spot_to_spot)) any = false;
  command->acts = command->replaces = any;
}

static bool may_consolidate(const struct model *model, uint32_t at) {
  const struct node *node = &model->nodes[at];
  const struct naive_node_pool *pool = &model->world->node_pools[node_pool_of(model, at)];
  return node->state == UP && node->jobs > 0 && !node->is_needed && pool->consolidates &&
         model->now_us - node->touched_us >= pool->after_us;
}

/* Lists the nodes of a node pool that may go: those that save most for each job and node that is disturbed first. */
static uint32_t list_candidates(const struct model *model, uint32_t p, uint32_t list[NAIVE_CLAIMS]) {
  bool is_listed[NAIVE_CLAIMS] = {false};
  for (uint32_t n = 0;; n++) {
    uint32_t best = NAIVE_CLAIMS;
    for (uint32_t i = 0; i < model->n_nodes; i++) {
      if (is_listed[i] || node_pool_of(model, i) != p || !may_consolidate(model, i)) continue;
      const struct node *node = &model->nodes[i], *other = &model->nodes[best < NAIVE_CLAIMS ? best : i];
      if (best == NAIVE_CLAIMS ||
          price_of(model, node->type) * (1 + other->jobs) > price_of(model, other->type) * (1 + node->jobs))
        best = i;
    }
    if (best == NAIVE_CLAIMS) return n;
    is_listed[best] = true;
    list[n] = best;
  }
}

static bool find_underutilized(struct model *model) {
  static struct command best;
  for (uint32_t p = 0; p < model->world->n_node_pools; p++) {
    uint32_t list[NAIVE_CLAIMS];
    const uint32_t n = list_candidates(model, p, list);
    const int64_t most = allowed(model, p, NAIVE_UNDERUTILIZED);
    static struct command command;
    best.acts = false;
    command.reason = NAIVE_UNDERUTILIZED;
    /* the longest prefix, if longer ones than one that cannot go cannot go either */
    for (uint32_t low = 2, high = most < n ? (uint32_t)most : n; low <= high;) {
      command.n = (low + high) / 2;
      memcpy(command.nodes, list, sizeof list);
      decide(model, &command);
      if (command.acts) best = command;
      if (command.acts)
        low = command.n + 1;
      else
        high = command.n - 1;
    }
    for (uint32_t i = 0; i < n && most > 0 && !best.acts; i++) {
      command.n = 1;
      command.nodes[0] = list[i];
      decide(model, &command);
      if (command.acts) best = command;
    }
    if (!best.acts) continue;
    model->command = best;
    return true;
  }
  return false;
}

static int64_t drifted_us(const struct model *model, uint32_t at) {
  const struct naive_node_pool *pool = &model->world->node_pools[node_pool_of(model, at)];
  int64_t first_us = NEVER;
  for (uint32_t k = 0; k < NAIVE_DRIFTS; k++)
    if (pool->drifts_us[k] > model->nodes[at].asked_us && pool->drifts_us[k] <= model->now_us &&
        pool->drifts_us[k] < first_us)
      first_us = pool->drifts_us[k];
  return first_us;
}

static bool find_drifted(struct model *model) {
  static struct command command;
  bool is_done[NAIVE_CLAIMS] = {false};
  for (;;) {
    uint32_t best = NAIVE_CLAIMS;
    for (uint32_t i = 0; i < model->n_nodes; i++) {
      if (is_done[i] || model->nodes[i].state != UP || drifted_us(model, i) == NEVER) continue;
      const bool is_empty = model->nodes[i].jobs == 0, other_is = best < NAIVE_CLAIMS && model->nodes[best].jobs == 0;
      if (best == NAIVE_CLAIMS || (is_empty && !other_is) ||
          (is_empty == other_is && drifted_us(model, i) < drifted_us(model, best)))
        best = i;
    }
    if (best == NAIVE_CLAIMS) return false;
    is_done[best] = true;
    if (model->nodes[best].is_needed || allowed(model, node_pool_of(model, best), NAIVE_DRIFTED) < 1) continue;
    command = (struct command){.reason = NAIVE_DRIFTED, .nodes = {best}, .n = 1};
    decide(model, &command);
    if (!command.acts) continue;
    model->command = command;
    return true;
  }
}

/* Deletes the nodes of the command, or requests a node that replaces them. Returns whether that was possible. */
static bool execute(struct model *model) {
  const struct command *command = &model->command;
  uint32_t at = NAIVE_CLAIMS;
  bool may[NAIVE_TYPES];
  for (uint32_t k = 0; k < NAIVE_TYPES; k++)
    may[k] = command->sent[k] && (!command->as_spot || model->world->types[k].is_spot);
  if (command->replaces && (at = launch(model, may)) == NAIVE_CLAIMS) return false;
  for (uint32_t i = 0; i < command->n; i++) {
    struct node *node = &model->nodes[command->nodes[i]];
    if (command->replaces) {
      node->state = CLOSES;
      node->waits_for = at + 1;
    } else {
      remove_node(model, command->nodes[i]);
      model->world->types[node->type].removals++;
    }
  }
  if (command->replaces)
    model->world->n_replaced[command->reason]++;
  else
    model->world->n_moved[command->reason]++;
  return true;
}

static bool is_still_valid(struct model *model) {
  struct command *old = &model->command;
  static struct command command;
  bool lacks[NAIVE_PODS];
  find_lacking(model, lacks);
  command = *old;
  decide(model, &command);
  bool same = command.acts && command.replaces == old->replaces && command.as_spot == old->as_spot &&
              allowed(model, node_pool_of(model, old->nodes[0]), NAIVE_UNDERUTILIZED) >= old->n;
  for (uint32_t i = 0; i < old->n; i++) same = same && may_consolidate(model, old->nodes[i]);
  for (uint32_t k = 0; k < NAIVE_TYPES; k++) same = same && (!old->sent[k] || command.sent[k]);
  return same;
}

/* ---- Passes ---- */

static void pass(struct model *model) {
  for (;;) {
    if (choose(model, false)) {
      model->command.reason = NAIVE_EMPTY;
      break;
    }
    if (find_drifted(model)) {
      if (execute(model)) continue;
      return;
    }
    if (!find_underutilized(model)) return;
    break;
  }
  model->validate_us = model->now_us + 15 * S;
}

static void validate(struct model *model) {
  model->validate_us = NEVER;
  model->base_us = model->now_us;
  if (model->command.reason == NAIVE_UNDERUTILIZED) {
    if (is_still_valid(model) && execute(model)) pass(model);
    return;
  }
  if (!choose(model, true)) return;
  for (uint32_t i = 0; i < model->n_nodes; i++) {
    if (!model->nodes[i].is_chosen) continue;
    remove_node(model, i);
    model->world->types[model->nodes[i].type].removals++;
    model->world->n_moved[NAIVE_EMPTY]++;
  }
  pass(model);
}

/* ---- The run ---- */

static bool has_seen_waiting(const struct model *model) {
  for (uint32_t i = 0; i < model->world->n_pods; i++)
    if (model->waits_us[i] >= 0 && model->waits_us[i] <= model->looked_us) return true;
  return false;
}

static void act(struct model *model) {
  const bool batch_ends = model->batch_is_over || (model->batch_is_open && model->batch_end_us == model->now_us);
  const bool retries = model->looked_us >= 0 && model->now_us > model->looked_us &&
                       (model->now_us - model->looked_us) % (10 * S) == 0 && has_seen_waiting(model);
  const bool passes =
      model->validate_us == NEVER && model->now_us > model->base_us && (model->now_us - model->base_us) % (10 * S) == 0;
  if (batch_ends && !model->batch_is_over) model->batch_is_open = false;
  model->batch_is_over = false;
  if (batch_ends || retries) look(model);
  if (model->validate_us == model->now_us)
    validate(model);
  else if (passes)
    pass(model);
}

static void note_earlier(int64_t *next_us, int64_t now_us, int64_t at_us) {
  if (at_us > now_us && at_us < *next_us) *next_us = at_us;
}

static int64_t next_us(const struct model *model) {
  const int64_t now_us = model->now_us, step_us = 10 * S;
  int64_t next = model->base_us + ((now_us - model->base_us) / step_us + 1) * step_us;
  if (model->looked_us >= 0)
    note_earlier(&next, now_us, model->looked_us + ((now_us - model->looked_us) / step_us + 1) * step_us);
  if (model->batch_is_open) note_earlier(&next, now_us, model->batch_end_us);
  note_earlier(&next, now_us, model->validate_us);
  for (uint32_t i = 0; i < model->world->n_pods; i++) {
    note_earlier(&next, now_us, model->world->pods[i].submit_us);
    if (model->began_us[i] >= 0) note_earlier(&next, now_us, model->began_us[i] + model->world->pods[i].work_us);
  }
  for (uint32_t i = 0; i < model->n_nodes; i++) {
    const struct naive_type *type = &model->world->types[model->nodes[i].type];
    if (model->nodes[i].state == OFF) continue;
    note_earlier(&next, now_us, model->nodes[i].asked_us + type->boot_us);
    note_earlier(&next, now_us, model->nodes[i].asked_us + model->world->node_pools[type->node_pool].expire_us);
  }
  return next;
}

static bool is_over(const struct model *model) {
  for (uint32_t i = 0; i < model->world->n_pods; i++)
    if (model->world->pods[i].end_us < 0) return false;
  return true;
}

bool naive_karpenter_run(struct naive_claims *world) {
  static struct model model;
  memset(&model, 0, sizeof model);
  model.world = world;
  model.looked_us = -1;
  model.validate_us = NEVER;
  for (uint32_t k = 0; k < world->n_types; k++)
    for (uint32_t i = 0; i < world->types[k].nodes; i++) model.nodes[model.n_nodes++].type = k;
  for (uint32_t i = 0; i < world->n_pods; i++) {
    model.began_us[i] = model.waits_us[i] = -1;
    world->pods[i].start_us = world->pods[i].end_us = -1;
  }
  for (; model.now_us < LAST_US; model.now_us = next_us(&model)) {
    end_jobs(&model);
    change_nodes(&model);
    submit(&model);
    start_jobs(&model);
    if (is_over(&model)) break;
    act(&model);
    start_jobs(&model); /* those of nodes that have gone */
  }
  for (uint32_t i = 0; i < model.n_nodes; i++)
    if (model.nodes[i].state != OFF) world->types[model.nodes[i].type].up_us += model.now_us - model.nodes[i].asked_us;
  return is_over(&model);
}
