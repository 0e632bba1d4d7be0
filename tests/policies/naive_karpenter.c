/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A slow model of Karpenter; see naive_karpenter.h. */

#include "base/random.h"
#include "naive_karpenter_model.h"

#include <string.h>

#define LAST_US (30 * 86400 * S)

/* ---- Jobs ---- */

static void add_to_batch(struct naive_model *model) {
  if (!model->batch_is_open) model->batch_first_us = model->now_us;
  model->batch_is_open = true;
  model->batch_end_us = model->now_us + model->world->idle_us;
  if (model->batch_end_us > model->batch_first_us + model->world->max_us)
    model->batch_end_us = model->batch_first_us + model->world->max_us;
}

static void submit(struct naive_model *model) {
  for (uint32_t i = 0; i < model->world->n_pods; i++) {
    if (model->world->pods[i].submit_us != model->now_us) continue;
    model->waits_us[i] = model->now_us;
    add_to_batch(model);
  }
}

static void end_jobs(struct naive_model *model) {
  for (uint32_t i = 0; i < model->world->n_pods; i++) {
    struct naive_pod *pod = &model->world->pods[i];
    if (model->began_us[i] < 0 || model->began_us[i] + pod->work_us != model->now_us) continue;
    struct naive_node *node = &model->nodes[model->on[i]];
    node->free += pod->gpus;
    node->jobs--;
    node->touched_us = model->now_us;
    pod->end_us = model->now_us;
    model->began_us[i] = -1;
  }
}

static void start_jobs(struct naive_model *model) {
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

/* Removes a node; its jobs start again elsewhere. If the open batch ends at this instant, it ends before the removal,
   so the jobs of the node begin a new batch. (A job that is submitted at this instant is still in the old batch.) */
void naive_remove_node(struct naive_model *model, uint32_t at) {
  struct naive_node *node = &model->nodes[at];
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

/* Removes the nodes whose replacement has booted. */
static void settle(struct naive_model *model) {
  for (uint32_t i = 0; i < model->n_nodes; i++) {
    struct naive_node *node = &model->nodes[i];
    if (node->state != CLOSES || model->nodes[node->waits_for - 1].state == BOOTS) continue;
    if (model->nodes[node->waits_for - 1].state == OFF) {
      node->state = UP;
      node->waits_for = 0;
    } else {
      naive_remove_node(model, i);
      model->world->types[node->type].removals++;
    }
  }
}

static void change_nodes(struct naive_model *model) {
  for (uint32_t i = 0; i < model->n_nodes; i++) {
    struct naive_node *node = &model->nodes[i];
    struct naive_type *type = &model->world->types[node->type];
    if (node->state == OFF) continue;
    if (node->state == BOOTS && model->now_us == node->asked_us + type->boot_us) {
      node->state = UP;
      node->touched_us = model->now_us;
    }
    if (model->now_us != node->asked_us + model->world->node_pools[type->node_pool].expire_us) continue;
    naive_remove_node(model, i);
    type->removals++;
  }
  settle(model);
}

uint32_t naive_size_of(const struct naive_model *model, uint32_t type) {
  uint32_t size = 0;
  for (uint32_t i = 0; i < model->n_nodes; i++) size += model->nodes[i].type == type && model->nodes[i].state != OFF;
  return size;
}

/* ---- Demand ---- */

/* Places the waiting jobs on the nodes, large jobs first. Marks the nodes that these jobs would use. `lacks`: the jobs
   that do not fit. */
void naive_find_lacking(struct naive_model *model, bool lacks[NAIVE_PODS]) {
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

static bool may_plan(const struct naive_model *model, const struct naive_plan *plan, uint32_t type) {
  const struct naive_type *self = &model->world->types[type];
  if (model->now_us < model->blocked_until_us[type]) return false;
  if (plan->nodes_left[self->node_pool] < 1 || plan->gpus_left[self->node_pool] < self->size) return false;
  uint32_t n = naive_size_of(model, type);
  for (uint32_t i = 0; i < plan->n; i++) {
    uint32_t others = 0;
    for (uint32_t k = 0; k < model->world->n_types; k++) others += k != type && plan->nodes[i].may[k];
    n += plan->nodes[i].may[type] && others == 0;
  }
  return n < self->nodes;
}

static bool plan_pod(const struct naive_model *model, struct naive_plan *plan, uint32_t gpus) {
  const struct naive_claims *world = model->world;
  struct naive_planned *best = NULL;
  for (uint32_t i = 0; i < plan->n; i++) {
    struct naive_planned *node = &plan->nodes[i];
    bool has_room = false;
    for (uint32_t k = 0; k < world->n_types; k++)
      has_room = has_room || (node->may[k] && node->used + gpus <= world->types[k].size);
    if (has_room && (!best || node->pods < best->pods)) best = node;
  }
  for (int64_t weight = 100; weight >= 0 && !best; weight--)
    for (uint32_t p = 0; p < world->n_node_pools && !best; p++) {
      if (world->node_pools[p].weight != weight) continue;
      struct naive_planned node = {0};
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

static bool lacks_capacity(struct naive_model *model, uint32_t type) {
  struct hr__stream stream;
  if (!(model->world->types[type].no_capacity > 0)) return false;
  hr__stream_init(&stream, model->world->seed, HR__PURPOSE_BOOT, type, 1);
  hr__stream_skip_to_life(&stream, model->n_asked[type]++);
  return hr__stream_uniform(&stream) < model->world->types[type].no_capacity;
}

int64_t naive_price_of(const struct naive_model *model, uint32_t type) {
  return model->world->types[type].price_uusd_h * model->world->types[type].size;
}

static uint32_t cheapest(const struct naive_model *model, const bool *may, bool is_spot) {
  const struct naive_claims *world = model->world;
  uint32_t best = NAIVE_TYPES;
  for (uint32_t k = 0; k < world->n_types; k++) {
    if (!may[k] || world->types[k].is_spot != is_spot || model->now_us < model->blocked_until_us[k]) continue;
    if (naive_size_of(model, k) >= world->types[k].nodes) continue;
    if (best == NAIVE_TYPES || naive_price_of(model, k) < naive_price_of(model, best)) best = k;
  }
  return best;
}

/* Requests a node. Spot capacity is preferred unless it costs more. Returns the node; NAIVE_CLAIMS: none. */
uint32_t naive_launch(struct naive_model *model, const bool *may) {
  struct naive_claims *world = model->world;
  const uint32_t spot = cheapest(model, may, true), other = cheapest(model, may, false);
  const bool is_spot =
      spot != NAIVE_TYPES && (other == NAIVE_TYPES || naive_price_of(model, spot) <= naive_price_of(model, other));
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
        (struct naive_node){.state = BOOTS, .type = best, .free = world->types[best].size, .asked_us = model->now_us};
    world->types[best].launches++;
    return at;
  }
}

struct naive_plan naive_new_plan(const struct naive_model *model) {
  const struct naive_claims *world = model->world;
  struct naive_plan plan = {.n = 0};
  for (uint32_t p = 0; p < world->n_node_pools; p++) {
    const struct naive_node_pool *pool = &world->node_pools[p];
    plan.nodes_left[p] = pool->max_nodes == UINT32_MAX ? NEVER : pool->max_nodes;
    plan.gpus_left[p] = pool->max_gpus == UINT32_MAX ? NEVER : pool->max_gpus;
    for (uint32_t k = 0; k < world->n_types; k++) {
      if (world->types[k].node_pool != p) continue;
      if (pool->max_nodes != UINT32_MAX) plan.nodes_left[p] -= naive_size_of(model, k);
      if (pool->max_gpus != UINT32_MAX) plan.gpus_left[p] -= naive_size_of(model, k) * world->types[k].size;
    }
  }
  return plan;
}

static void look(struct naive_model *model) {
  const struct naive_claims *world = model->world;
  bool lacks[NAIVE_PODS];
  model->looked_us = model->now_us;
  naive_find_lacking(model, lacks);
  struct naive_plan plan = naive_new_plan(model);
  for (uint32_t gpus = 64; gpus > 0; gpus--) {
    bool goes_on = true;
    for (uint32_t i = 0; i < world->n_pods; i++)
      if (lacks[i] && goes_on && world->pods[i].gpus == gpus) goes_on = plan_pod(model, &plan, gpus);
  }
  for (uint32_t i = 0; i < plan.n; i++) naive_launch(model, plan.nodes[i].may);
}

/* ---- The run ---- */

static bool has_seen_waiting(const struct naive_model *model) {
  for (uint32_t i = 0; i < model->world->n_pods; i++)
    if (model->waits_us[i] >= 0 && model->waits_us[i] <= model->looked_us) return true;
  return false;
}

static void act(struct naive_model *model) {
  const bool batch_ends = model->batch_is_over || (model->batch_is_open && model->batch_end_us == model->now_us);
  const bool retries = model->looked_us >= 0 && model->now_us > model->looked_us &&
                       (model->now_us - model->looked_us) % (10 * S) == 0 && has_seen_waiting(model);
  const bool passes =
      model->validate_us == NEVER && model->now_us > model->base_us && (model->now_us - model->base_us) % (10 * S) == 0;
  if (batch_ends && !model->batch_is_over) model->batch_is_open = false;
  model->batch_is_over = false;
  if (batch_ends || retries) look(model);
  if (model->validate_us == model->now_us)
    naive_validate(model);
  else if (passes)
    naive_pass(model);
}

static void note_earlier(int64_t *next_us, int64_t now_us, int64_t at_us) {
  if (at_us > now_us && at_us < *next_us) *next_us = at_us;
}

static int64_t next_us(const struct naive_model *model) {
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

static bool is_over(const struct naive_model *model) {
  for (uint32_t i = 0; i < model->world->n_pods; i++)
    if (model->world->pods[i].end_us < 0) return false;
  return true;
}

bool naive_karpenter_run(struct naive_claims *world) {
  static struct naive_model model;
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
    start_jobs(&model); /* jobs of removed nodes */
  }
  for (uint32_t i = 0; i < model.n_nodes; i++)
    if (model.nodes[i].state != OFF) world->types[model.nodes[i].type].up_us += model.now_us - model.nodes[i].asked_us;
  return is_over(&model);
}
