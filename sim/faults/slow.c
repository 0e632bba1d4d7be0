/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Slow nodes, as a component of the engine. Each node of a pool alternates between the usual speed and episodes in
 * which it is slow. The episodes do not depend on jobs, failures or the policy. The run begins at a random time of this
 * alternation, so a node is slow at the start with probability length / (length + time between episodes).
 *
 * Invariant: node_speed_ppm of a node is the speed of its present episode, and the speed of a running job is that of
 * its slowest node (checked in attempts.c).
 *
 * Source: synchronous training waits for its slowest worker (MegaScale, NSDI 2024; GREYHOUND, ATC 2025).
 */

#include "base/random.h"
#include "headroom/unstable/faults.h"
#include "sim/engine/engine.h"

static const struct hr_slow_spec *slow_of(const struct hr_pool_spec *pool) {
  const struct hr_slow_spec *slow = pool->faults ? &pool->faults->slow : NULL;
  return slow && pool->nodes > 0 && slow->speed_ppm > 0 ? slow : NULL;
}

uint32_t hr__slowest_ppm(const struct hr__engine *engine) {
  uint32_t least_ppm = HR__FULL_SPEED_PPM;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct hr_slow_spec *slow = slow_of(engine->cluster.pools[i].spec);
    if (slow && slow->speed_ppm < least_ppm) least_ppm = slow->speed_ppm;
  }
  return least_ppm;
}

/* Returns the stream of a node for its next change; each change has separate draws. */
static struct hr__stream stream_of(struct hr__engine *engine, uint32_t node, uint32_t change) {
  struct hr__stream stream;
  hr__stream_init(&stream, engine->config->seed, HR__PURPOSE_SLOW, node, 0);
  hr__stream_skip_to_life(&stream, change);
  return stream;
}

/* Sets the speed of a node, and that of its jobs. */
static enum hr_status set_node(struct hr__engine *engine, uint32_t node, uint32_t speed_ppm) {
  enum hr_status status = HR_OK;
  engine->node_speed_ppm[node] = speed_ppm;
  for (uint32_t link = engine->residents.first[node]; link && status == HR_OK;) {
    struct hr__resident resident = engine->residents.links[link - 1];
    struct hr_slice one;
    struct hr_placement placement = hr__allocation_placement(engine, resident.job, &one);
    HR__CALL_ACTIVE(engine, status, set_speed, resident.job, hr__speed_now_ppm(engine, resident.job, &placement));
    link = resident.next;
  }
  return status;
}

static enum hr_status advance(struct hr__engine *engine, struct hr__pending pending) {
  uint32_t node = hr__pending_entity(pending);
  const struct hr__slow *all = engine->slow;
  hr_pool pool = hr__cluster_pool_of(&engine->cluster, (hr_node){node});
  const struct hr_slow_spec *slow = slow_of(engine->cluster.pools[pool.id].spec);
  bool begins = engine->node_speed_ppm[node] == HR__FULL_SPEED_PPM;
  struct hr__stream stream = stream_of(engine, node, ++all->changes[node]);
  int64_t next_us = hr__duration_draw(begins ? &slow->length : &slow->between, &stream);
  engine->pool_accounting[pool.id].slow_episodes += begins;
  enum hr_status status = set_node(engine, node, begins ? slow->speed_ppm : HR__FULL_SPEED_PPM);
  return status == HR_OK ? hr__schedule(engine, engine->view.now_us + next_us, HR__PENDING_SLOW, node) : status;
}

static enum hr_status begin_node(struct hr__engine *engine, const struct hr_slow_spec *slow, uint32_t node) {
  struct hr__stream stream = stream_of(engine, node, 0);
  double length_s = hr__duration_mean_s(&slow->length), between_s = hr__duration_mean_s(&slow->between);
  bool is_slow = hr__stream_uniform(&stream) * (length_s + between_s) < length_s;
  if (is_slow) engine->node_speed_ppm[node] = slow->speed_ppm;
  int64_t rest_us = hr__duration_draw_rest(is_slow ? &slow->length : &slow->between, &stream);
  return hr__schedule(engine, rest_us, HR__PENDING_SLOW, node);
}

static enum hr_status allocate(struct hr__engine *engine) {
  uint32_t n_nodes = engine->cluster.n_nodes;
  engine->slow = hr_arena_alloc(&engine->arena, sizeof *engine->slow);
  engine->node_speed_ppm = hr_arena_alloc(&engine->arena, n_nodes * sizeof *engine->node_speed_ppm);
  if (engine->slow) engine->slow->changes = hr_arena_alloc(&engine->arena, n_nodes * sizeof *engine->slow->changes);
  if (!engine->slow || !engine->node_speed_ppm || !engine->slow->changes) return hr__out_of_memory(engine);
  for (uint32_t i = 0; i < n_nodes; i++) engine->node_speed_ppm[i] = HR__FULL_SPEED_PPM;
  if (engine->residents.first) return HR_OK;
  engine->residents.first = hr_arena_alloc(&engine->arena, n_nodes * sizeof *engine->residents.first);
  return engine->residents.first ? HR_OK : hr__out_of_memory(engine);
}

static enum hr_status init(struct hr__engine *engine) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < engine->cluster.n_pools && status == HR_OK; i++) {
    const struct hr_pool_spec *spec = engine->cluster.pools[i].spec;
    const struct hr_slow_spec *slow = slow_of(spec);
    if (slow && !engine->slow) status = allocate(engine);
    for (uint32_t n = 0; slow && status == HR_OK && n < spec->nodes; n++)
      status = begin_node(engine, slow, engine->cluster.pools[i].first_node.id + n);
  }
  return status;
}

static bool is_needed(const struct hr__engine *engine) {
  return engine->slow;
}

const struct hr__component hr__component_slow = {
    .disturbs_jobs = true,
    .is_endless = true,
    .init = init,
    .is_needed = is_needed,
    .kinds = 1u << HR__PENDING_SLOW,
    .advance = advance,
};
