/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A slow model of Karpenter; see naive_karpenter.h. */

#include "naive_karpenter.h"
#include "base/random.h"

#include <string.h>

#define S INT64_C(1000000)
#define NEVER INT64_MAX
#define LAST_US (30 * 86400 * S)

enum state { OFF, BOOTS, UP };

struct node {
  enum state state;
  uint32_t type, free, jobs;
  int64_t asked_us, touched_us;
  bool is_needed, is_chosen;
};

struct planned {
  uint32_t used, pods;
  bool may[NAIVE_TYPES];
};

struct model {
  struct naive_claims *world;
  struct node nodes[NAIVE_CLAIMS]; /* those of the first type, then those of the second, ... */
  uint32_t n_nodes, n_asked[NAIVE_TYPES];
  int64_t now_us, began_us[NAIVE_PODS], waits_us[NAIVE_PODS]; /* -1: it does not run, or wait */
  uint32_t on[NAIVE_PODS];
  int64_t blocked_until_us[NAIVE_TYPES];
  bool batch_is_open;
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
    model->began_us[i] = model->now_us;
    model->waits_us[i] = -1;
    if (pod->start_us < 0) pod->start_us = model->now_us;
  }
}

/* ---- Nodes ---- */

/* A node goes; its jobs begin again elsewhere. */
static void remove_node(struct model *model, uint32_t at) {
  struct node *node = &model->nodes[at];
  for (uint32_t i = 0; i < model->world->n_pods; i++) {
    if (model->began_us[i] < 0 || model->on[i] != at) continue;
    model->began_us[i] = -1;
    model->waits_us[i] = model->now_us;
    add_to_batch(model);
  }
  model->world->types[node->type].up_us += model->now_us - node->asked_us;
  node->state = OFF;
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
      while (at < model->n_nodes && (model->nodes[at].state == OFF || free[at] < gpus)) at++;
      lacks[i] = at == model->n_nodes;
      if (lacks[i]) continue;
      free[at] -= gpus;
      model->nodes[at].is_needed = true;
    }
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

static void launch(struct model *model, const struct planned *planned) {
  struct naive_claims *world = model->world;
  for (;;) {
    uint32_t best = NAIVE_TYPES;
    for (uint32_t k = 0; k < world->n_types; k++) {
      if (!planned->may[k] || model->now_us < model->blocked_until_us[k]) continue;
      if (size_of(model, k) >= world->types[k].nodes) continue;
      if (best == NAIVE_TYPES || world->types[k].price_uusd_h * world->types[k].size <
                                     world->types[best].price_uusd_h * world->types[best].size)
        best = k;
    }
    if (best == NAIVE_TYPES) return;
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
    return;
  }
}

static void look(struct model *model) {
  const struct naive_claims *world = model->world;
  bool lacks[NAIVE_PODS];
  struct plan plan = {.n = 0};
  model->looked_us = model->now_us;
  find_lacking(model, lacks);
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
  for (uint32_t gpus = 64; gpus > 0; gpus--) {
    bool goes_on = true;
    for (uint32_t i = 0; i < world->n_pods; i++)
      if (lacks[i] && goes_on && world->pods[i].gpus == gpus) goes_on = plan_pod(model, &plan, gpus);
  }
  for (uint32_t i = 0; i < plan.n; i++) launch(model, &plan.nodes[i]);
}

/* ---- Removal ---- */

static int64_t allowed(const struct model *model, uint32_t node_pool) {
  const struct naive_node_pool *pool = &model->world->node_pools[node_pool];
  int64_t booted = 0;
  for (uint32_t i = 0; i < model->n_nodes; i++)
    booted += model->nodes[i].state == UP && model->world->types[model->nodes[i].type].node_pool == node_pool;
  return pool->percent == UINT32_MAX ? pool->budget : (booted * pool->percent + 99) / 100;
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
  for (uint32_t p = 0; p < model->world->n_node_pools; p++) left[p] = allowed(model, p);
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

static void pass(struct model *model) {
  if (choose(model, false)) model->validate_us = model->now_us + 15 * S;
}

static void validate(struct model *model) {
  model->validate_us = NEVER;
  model->base_us = model->now_us;
  if (!choose(model, true)) return;
  for (uint32_t i = 0; i < model->n_nodes; i++) {
    if (!model->nodes[i].is_chosen) continue;
    remove_node(model, i);
    model->world->types[model->nodes[i].type].removals++;
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
  const bool batch_ends = model->batch_is_open && model->batch_end_us == model->now_us;
  const bool retries = model->looked_us >= 0 && model->now_us > model->looked_us &&
                       (model->now_us - model->looked_us) % (10 * S) == 0 && has_seen_waiting(model);
  const bool passes =
      model->validate_us == NEVER && model->now_us > model->base_us && (model->now_us - model->base_us) % (10 * S) == 0;
  if (batch_ends) model->batch_is_open = false;
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
  }
  for (uint32_t i = 0; i < model.n_nodes; i++)
    if (model.nodes[i].state != OFF) world->types[model.nodes[i].type].up_us += model.now_us - model.nodes[i].asked_us;
  return is_over(&model);
}
