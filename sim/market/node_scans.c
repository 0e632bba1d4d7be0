/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Kubernetes' cluster autoscaler in a run: when it scans the cluster, and what a scan does. This file uses the decision
 * functions of sim/clusters/node_autoscalers.h.
 *
 * Scans are at multiples of the scan interval, after the pass of that instant. If no job or node has changed since the
 * last scan, a scan decides the same, unless an age, a delay or a back-off has ended. So scans are made only after
 * changes and at these times. A scan has four steps:
 * - Nodes that did not boot in time are given up.
 * - Nodes are requested for pools below their minimum.
 * - One pool, and pools similar to it, grow for jobs that fit on no node.
 * - If no pool has grown, unneeded nodes are removed.
 *
 * Growth: for each pool, the jobs that fit on no node are packed on new nodes (hr__ca_find_options). If a job would get
 * room for only some of its pods, some jobs are left out (drop_parts), and the remaining jobs are packed again. The
 * expanders choose one of the pools. This pool grows together with similar pools (hr__ca_grow). Each kind of jobs has
 * up to HR__KIND_ROWS rows of pods. The node groups are the pools.
 *
 * Removal: a scan finds that a node is unneeded in two cases. Either the node has no job, and no waiting job would use
 * it; or its utilization is low, and all its jobs fit on other nodes. A node that was unneeded in all scans for long
 * enough is removed, with three exceptions:
 * - The delay after an earlier scale-up, removal or failure has not ended.
 * - The pool is at its minimum.
 * - The scan already removes the maximum number of nodes.
 *
 * Invariants: after a scan, a pool is below its minimum only if the provider lacks nodes, or if a limit or a back-off
 * prevents growth. No pool grows beyond its maximum. Source: kubernetes/autoscaler, cluster-autoscaler/core
 * (static_autoscaler.go, scaleup, scaledown) and clusterstate at f7bb0c36.
 */

#include "base/random.h"
#include "sim/market/autoscaler.h"

#include <math.h>

#define LONG_AGO (INT64_MIN / 4)

/* ---- Scans ------------------------------------------------------------------------------------------------ */

/* Schedules the first possible scan that is not before `from_us`, unless an earlier scan is pending. */
static enum hr_status scan_from(struct hr__engine *engine, int64_t from_us) {
  struct hr__autoscaler *self = engine->autoscaler;
  const int64_t step_us = self->spec->scan_us;
  if (from_us <= self->last_us) from_us = self->last_us + 1;
  if (from_us > HR_NEVER_US - step_us) return HR_OK;
  const int64_t at_us = (from_us + step_us - 1) / step_us * step_us;
  if (at_us >= self->next_us) return HR_OK;
  self->next_us = at_us;
  return hr__schedule(engine, at_us, HR__PENDING_SCAN, 0);
}

static void note_change(struct hr__engine *engine, enum hr__change_kind kind, uint32_t entity) {
  struct hr__autoscaler *self = engine->autoscaler;
  if (kind == HR__CHANGE_NODE_UP || kind == HR__CHANGE_NODE_DOWN) self->unneeded_since_us[entity] = -1;
  if (scan_from(engine, engine->view.now_us) != HR_OK) self->lacks_memory = true;
}

static enum hr_status advance(struct hr__engine *engine, uint32_t entity) {
  (void)entity;
  if (engine->view.now_us == engine->autoscaler->next_us) engine->autoscaler->is_due = true;
  return HR_OK;
}

/* ---- Requests for nodes ----------------------------------------------------------------------------------- */

static struct hr__ca_backoff_spec backoff_spec(const struct hr__autoscaler *self) {
  const struct hr_autoscaler_spec *spec = self->spec;
  return (struct hr__ca_backoff_spec){spec->backoff_us, spec->max_backoff_us, spec->backoff_reset_us};
}

/* Records that a scan at this time or later may decide differently, although no job or node has changed. */
static void scan_is_due(struct hr__autoscaler *self, int64_t at_us) {
  if (at_us < self->due_us) self->due_us = at_us;
}

static void fail_pool(struct hr__engine *engine, uint32_t pool) {
  struct hr__autoscaler *self = engine->autoscaler;
  const struct hr__ca_backoff_spec spec = backoff_spec(self);
  hr__ca_forget(&spec, &self->pools[pool].backoff, engine->view.now_us); /* the last failure may be long ago */
  hr__ca_fail(&spec, &self->pools[pool].backoff, engine->view.now_us);
  engine->pool_accounting[pool].scale_failures++;
  self->failed_us = engine->view.now_us;
  scan_is_due(self, self->pools[pool].backoff.until_us + 1);
}

/* Requests up to `count` nodes of a pool. If the provider has fewer nodes, the pool backs off. Sets `*n_requested` to
   the number of requested nodes. */
static enum hr_status request_nodes(struct hr__engine *engine, uint32_t pool, int64_t count, int64_t *n_requested) {
  struct hr__autoscaler *self = engine->autoscaler;
  enum hr_status status = HR_OK;
  *n_requested = 0;
  while (status == HR_OK && *n_requested < count) {
    hr_node node;
    status = hr__node_request(engine, pool, &node);
    if (node.id == HR_NONE) break;
    self->unneeded_since_us[node.id] = -1;
    ++*n_requested;
  }
  if (*n_requested > 0) scan_is_due(self, engine->view.now_us + self->spec->provision_us + 1);
  if (*n_requested < count) fail_pool(engine, pool);
  self->has_acted = self->has_acted || *n_requested > 0;
  return status;
}

/* Gives up nodes of a pool that did not boot in time. If there are any, the pool backs off. */
static enum hr_status give_up_late(struct hr__engine *engine, uint32_t number) {
  struct hr__autoscaler *self = engine->autoscaler;
  const struct hr__pool *pool = &engine->cluster.pools[number];
  enum hr_status status = HR_OK;
  bool any = false;
  for (uint32_t i = pool->first_node.id, end = i + pool->spec->nodes; i < end && status == HR_OK; i++) {
    if (pool->n_in[HR_NODE_BOOTING] == 0) break;
    if (engine->cluster.nodes[i].state != HR_NODE_BOOTING) continue;
    const int64_t end_us = engine->cluster.nodes[i].since_us + self->spec->provision_us;
    if (end_us >= engine->view.now_us) {
      scan_is_due(self, end_us + 1);
      continue;
    }
    status = hr__market_take_down(engine, (hr_pool){number}, (hr_node){i}, HR_REASON_NOT_PROVISIONED);
    self->has_acted = any = true;
  }
  if (any) fail_pool(engine, number);
  return status;
}

static bool backs_off(struct hr__engine *engine, uint32_t pool) {
  struct hr__autoscaler *self = engine->autoscaler;
  const struct hr__ca_backoff_spec spec = backoff_spec(self);
  struct hr__ca_backoff *backoff = &self->pools[pool].backoff;
  hr__ca_forget(&spec, backoff, engine->view.now_us);
  if (!hr__ca_is_backed_off(backoff, engine->view.now_us)) return false;
  scan_is_due(self, backoff->until_us + 1);
  return true;
}

static enum hr_status keep_minimum(struct hr__engine *engine, uint32_t number) {
  const struct hr__pool *pool = &engine->cluster.pools[number];
  const int64_t allowed = hr__nodes_allowed(engine, number);
  int64_t lacks = (int64_t)pool->spec->min_nodes - hr__scaled_size(pool), n_requested;
  if (allowed < lacks) lacks = allowed;
  if (lacks <= 0 || backs_off(engine, number)) return HR_OK;
  return request_nodes(engine, number, lacks, &n_requested);
}

/* Returns whether the scan must compute where waiting jobs fit. This is necessary if nodes with jobs can be removed
   (`drains`). If jobs wait, it is also necessary if a pool may grow or a node without jobs can be removed. */
static bool must_place_jobs(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  if (!self->first) return self->spec->drains;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++)
    if (self->pools[i].is_scaled && hr__nodes_allowed(engine, i) > 0 && !backs_off(engine, i)) return true;
  for (uint32_t i = 0; i < engine->cluster.n_nodes; i++)
    if (self->n_tasks[i] == 0 && self->empty_since_us[i] >= 0) return true;
  return self->spec->drains;
}

/* ---- Growth ---------------------------------------------------------------------------------------------------- */

/* The price of half a core and 500 MiB in the price model for GCE, in dollars per hour. The expander `price` uses
   it. */
#define STABILIZATION_USD_H (0.5 * 0.033174 + 500.0 / 1024 * 0.004446)

/* Adds the rows of pods of `jobs` equal jobs after the first `n` rows. `per_job`: the number of pods of one job in each
   row. Returns the new number of rows. */
static uint32_t add_pods(struct hr__autoscaler *self, uint32_t n, uint32_t kind, const struct hr__pod_rows *rows,
                         const uint32_t per_job[2], uint32_t jobs) {
  const uint32_t first = n;
  for (uint32_t k = 0; k < 2 && k < rows->n_rows && jobs > 0; k++) {
    const uint64_t count = (uint64_t)per_job[k] * jobs;
    if (count == 0) continue;
    self->pods[n] = (struct hr__ca_pods){.request = rows->row[k].request,
                                         .count = count < UINT32_MAX / 2 ? (uint32_t)count : UINT32_MAX / 2};
    self->pods_of[n++] = (struct hr__pods_of){.kind = kind, .per_job = per_job[k]};
  }
  if (n > first) self->pods_of[first].n_rows = n - first;
  return n;
}

/* Fills the rows of pods for new nodes of a pool: the pods of all jobs that fit on no node and that the pool suits.
   Returns the number of rows. */
static uint32_t fill_pods(struct hr__engine *engine, uint32_t pool) {
  struct hr__autoscaler *self = engine->autoscaler;
  uint32_t n = 0;
  for (uint32_t i = self->first_kind; i != HR_NONE; i = self->kinds[i].next) {
    const struct hr__pod_kind *kind = &self->kinds[i];
    if (kind->n_left == 0 || !hr__pod_kind_suits(engine, kind, pool)) continue;
    const struct hr__pod_rows rows = hr__pod_kind_rows(engine, kind, pool);
    const uint32_t all[2] = {rows.row[0].count, rows.row[1].count};
    const bool has_part = kind->part_pool != HR_NONE;
    if (kind->part_pool == pool) n = add_pods(self, n, i, &rows, kind->part_left, 1);
    n = add_pods(self, n, i, &rows, all, kind->n_left - has_part);
  }
  return n;
}

/* Equal jobs. Their pods are the rows `first` to `end` - 1. */
struct packed_jobs {
  uint32_t first, end; /* rows */
  uint32_t complete;   /* number of jobs with all pods placed */
  uint32_t most;       /* maximum over the rows: number of jobs with all pods of this row placed */
  bool has_part;       /* only some pods of a job were placed */
};

static struct packed_jobs jobs_at(const struct hr__autoscaler *self, uint32_t row) {
  struct packed_jobs jobs = {row, row + self->pods_of[row].n_rows, UINT32_MAX, 0, false};
  for (uint32_t k = row; k < jobs.end; k++) {
    const uint32_t n = self->pods[k].placed / self->pods_of[k].per_job;
    if (n < jobs.complete) jobs.complete = n;
    if (n > jobs.most) jobs.most = n;
  }
  for (uint32_t k = row; k < jobs.end; k++)
    jobs.has_part = jobs.has_part || self->pods[k].placed != jobs.complete * self->pods_of[k].per_job;
  return jobs;
}

/* Returns false if each job gets room for all of its pods or for none. Otherwise, let J be the first kind with a job
   that gets room for only some of its pods, and L the last kind that gets room for any pods. If L follows J, drops all
   pods of L, so that J may get their room. If L is J, drops the pods of at least one job of J. Then returns true. */
static bool drop_parts(struct hr__autoscaler *self, uint32_t n_pods) {
  struct packed_jobs part = {0}, last = {0};
  for (uint32_t i = 0; i < n_pods; i += self->pods_of[i].n_rows) {
    const struct packed_jobs jobs = jobs_at(self, i);
    if (jobs.has_part && !part.has_part) part = jobs;
    for (uint32_t k = i; k < jobs.end; k++)
      if (self->pods[k].placed > 0) last = jobs;
  }
  if (!part.has_part) return false;
  uint32_t left = 0;
  if (last.first == part.first) {
    left = self->pods[part.first].count / self->pods_of[part.first].per_job - 1;
    if (part.most < left) left = part.most;
  }
  for (uint32_t k = last.first; k < last.end; k++) self->pods[k].count = left * self->pods_of[k].per_job;
  return true;
}

/* Returns whether new nodes may be balanced between two pools: of the jobs that fit on no node, both pools suit the
   same jobs, and each of these jobs has one pod. Jobs with several pods cannot be divided among pools, because all pods
   of a job are in one pool. */
static bool suits_as(struct hr__engine *engine, uint32_t pool, uint32_t other) {
  const struct hr__autoscaler *self = engine->autoscaler;
  for (uint32_t i = self->first_kind; i != HR_NONE; i = self->kinds[i].next) {
    const struct hr__pod_kind *kind = &self->kinds[i];
    if (kind->n_left == 0) continue;
    const bool suits = hr__pod_kind_suits(engine, kind, pool);
    if (suits != hr__pod_kind_suits(engine, kind, other)) return false;
    if (!suits) continue;
    const struct hr__pod_rows rows = hr__pod_kind_rows(engine, kind, pool);
    if (rows.n_rows > 1 || rows.row[0].count > 1) return false;
  }
  return true;
}

/* Sets the node groups for a scale-up in which only this pool, and the pools with which it may be balanced, can
   grow. */
static void set_groups(struct hr__engine *engine, uint32_t pool) {
  struct hr__autoscaler *self = engine->autoscaler;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct hr__pool *at = &engine->cluster.pools[i];
    const bool takes_part = i == pool || (self->spec->balances && suits_as(engine, pool, i));
    self->groups[i] = (struct hr__ca_group){.node = self->pools[i].node,
                                            .size = hr__scaled_size(at),
                                            .max = hr__scaled_size(at) + hr__nodes_allowed(engine, i),
                                            .max_pods = INT64_MAX,
                                            .is_fixed = !self->pools[i].is_scaled,
                                            .is_unready = !takes_part || self->rules->backs_off(engine, i)};
  }
}

/* Packs the jobs that fit on no node on new nodes of a pool. The result is in `groups` and in `pods`. */
static void estimate(struct hr__engine *engine, uint32_t pool, struct hr__ca_scale_up *scale_up) {
  struct hr__autoscaler *self = engine->autoscaler;
  set_groups(engine, pool);
  *scale_up = (struct hr__ca_scale_up){.groups = self->groups,
                                       .n_groups = engine->cluster.n_pools,
                                       .pods = self->pods,
                                       .states = self->states,
                                       .n_pods = fill_pods(engine, pool),
                                       .quotas = self->quotas,
                                       .n_quotas = self->spec->n_quotas,
                                       .max_nodes = self->spec->max_nodes,
                                       .balances = self->spec->balances,
                                       .nodes = self->packed,
                                       .order = self->order};
  if (self->groups[pool].is_unready || self->groups[pool].is_fixed || scale_up->n_pods == 0) return;
  do hr__ca_find_options(scale_up);
  while (self->groups[pool].option_nodes > 0 && drop_parts(self, scale_up->n_pods));
}

static double usd_h(const struct hr__engine *engine, uint32_t pool, int64_t milli) {
  const int64_t uusd_h = hr_cluster_price_uusd_h(&engine->cluster, (hr_pool){pool}, engine->view.now_us);
  return (double)uusd_h * 1e-6 * (double)milli * 1e-3;
}

/* Returns the lowest price of `milli` milli-GPUs in the pools that suit a kind of jobs, in dollars per hour. */
static double lowest_usd_h(const struct hr__engine *engine, const struct hr__pod_kind *kind, int64_t milli) {
  double lowest = (double)INFINITY;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++)
    if (engine->autoscaler->pools[i].is_scaled && hr__pod_kind_suits(engine, kind, i))
      lowest = fmin(lowest, usd_h(engine, i, milli));
  return lowest;
}

static struct hr__ca_option option_of(const struct hr__engine *engine, uint32_t pool,
                                      const struct hr__ca_scale_up *scale_up) {
  const struct hr__autoscaler *self = engine->autoscaler;
  const struct hr_pool_spec *spec = engine->cluster.pools[pool].spec;
  struct hr__ca_option option = {.nodes = self->groups[pool].option_nodes,
                                 .node = self->pools[pool].node,
                                 .has_gpus = spec->gpus_per_node > 0,
                                 .has_priority = spec->scale_priority > 0,
                                 .priority = spec->scale_priority};
  option.node_usd_h = usd_h(engine, pool, option.node.of[HR__GPUS]);
  for (uint32_t i = 0; i < scale_up->n_pods; i++) {
    const struct hr__ca_pods *pods = &scale_up->pods[i];
    if (pods->placed == 0) continue;
    option.n_pods += pods->placed;
    hr__amounts_add(&option.pods, &pods->request, pods->placed);
    option.pods_usd_h +=
        lowest_usd_h(engine, &self->kinds[self->pods_of[i].kind], pods->request.of[HR__GPUS] * pods->placed);
  }
  return option;
}

/* Finds the pools that could grow. Stores them in `options` and `option_pool`, and returns their number. */
static uint32_t find_options(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  uint32_t n = 0;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    struct hr__ca_scale_up scale_up;
    if (!self->pools[i].is_scaled || hr__nodes_allowed(engine, i) == 0) continue;
    estimate(engine, i, &scale_up);
    if (self->groups[i].option_nodes == 0) continue;
    self->options[n] = option_of(engine, i, &scale_up);
    self->option_pool[n] = i;
    self->kept[n] = n;
    n++;
  }
  return n;
}

struct expander {
  struct hr__engine *engine;
  enum hr__ca_expander kind;
};

static uint32_t keep_best(const void *state, uint32_t *kept, uint32_t n_kept) {
  const struct expander *expander = state;
  const struct hr__engine *engine = expander->engine;
  const struct hr__autoscaler *self = engine->autoscaler;
  int64_t nodes = 0;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) nodes += hr__scaled_size(&engine->cluster.pools[i]);
  const struct hr__ca_price_settings price = {hr__ca_preferred_cores(nodes) * 1000, STABILIZATION_USD_H};
  return hr__ca_expand(expander->kind, self->options, &price, self->scores, kept, n_kept);
}

/* Returns the pool of the option that the expanders choose; HR_NONE: no option exists. If several options remain, one
   of them is chosen at random. */
static uint32_t choose(struct hr__engine *engine, uint32_t n_options) {
  static const enum hr__ca_expander kinds[HR_N_EXPANDERS] = {[HR_EXPANDER_RANDOM] = HR__CA_RANDOM,
                                                             [HR_EXPANDER_MOST_PODS] = HR__CA_MOST_PODS,
                                                             [HR_EXPANDER_LEAST_NODES] = HR__CA_LEAST_NODES,
                                                             [HR_EXPANDER_LEAST_WASTE] = HR__CA_LEAST_WASTE,
                                                             [HR_EXPANDER_PRICE] = HR__CA_PRICE,
                                                             [HR_EXPANDER_PRIORITY] = HR__CA_PRIORITY};
  struct hr__autoscaler *self = engine->autoscaler;
  struct expander expanders[HR_N_EXPANDERS];
  struct hr__ca_filter filters[HR_N_EXPANDERS];
  const uint32_t n_filters = self->spec->n_expanders ? self->spec->n_expanders : 1;
  for (uint32_t i = 0; i < n_filters; i++) {
    expanders[i] =
        (struct expander){engine, self->spec->n_expanders ? kinds[self->spec->expanders[i].kind] : HR__CA_LEAST_WASTE};
    filters[i] = (struct hr__ca_filter){keep_best, &expanders[i]};
  }
  const uint32_t n_kept = n_options > 1 ? hr__ca_chain(filters, n_filters, self->kept, n_options) : n_options;
  if (n_kept <= 1) return n_kept ? self->option_pool[self->kept[0]] : HR_NONE;
  struct hr__stream stream;
  hr__stream_init(&stream, engine->config->seed, HR__PURPOSE_EXPANDER, self->n_draws++, 0);
  const double draw = hr__stream_uniform(&stream);
  return self->option_pool[self->kept[(uint32_t)(draw * n_kept)]];
}

/* Grows one pool, and pools similar to it, for the jobs that fit on no node. Sets `*grew` if nodes were requested. */
static enum hr_status grow(struct hr__engine *engine, bool *grew) {
  struct hr__autoscaler *self = engine->autoscaler;
  const uint32_t pool = choose(engine, find_options(engine));
  struct hr__ca_scale_up scale_up;
  enum hr_status status = HR_OK;
  if (pool == HR_NONE) return HR_OK;
  estimate(engine, pool, &scale_up);
  hr__ca_grow(&scale_up, pool);
  for (uint32_t i = 0; i < engine->cluster.n_pools && status == HR_OK; i++) {
    int64_t n_requested;
    if (self->groups[i].grow == 0) continue;
    status = request_nodes(engine, i, self->groups[i].grow, &n_requested);
    *grew = *grew || n_requested > 0;
    scan_is_due(self, engine->view.now_us + 1); /* other pools may be tried */
  }
  if (*grew) self->added_us = engine->view.now_us;
  return status;
}

/* ---- Removal --------------------------------------------------------------------------------------------------- */

/* Reserves room on other nodes that are up or booting for the jobs of a node. Stops, and returns false, at the first
   job that does not fit. */
static bool place_jobs_of(struct hr__engine *engine, uint32_t node) {
  HR__EACH_RESIDENT(engine, node, link) {
    const hr_job job = hr__resident(engine, link);
    const struct hr__pod_kind *kind = hr__node_demand_kind(engine, job);
    const struct hr_placement placement = HR__PLACEMENT_OF(engine, job);
    bool fits = false;
    for (uint32_t i = 0; i < placement.n_slices; i++)
      if (placement.slices[i].node.id != node) return false; /* the job has other nodes, too */
    for (uint32_t pool = 0; pool < engine->cluster.n_pools && !fits; pool++)
      fits = hr__pod_kind_suits(engine, kind, pool) && hr__node_demand_place(engine, kind, pool, node);
    if (!fits) return false;
  }
  return true;
}

/* Returns whether all jobs of a node fit on other nodes that are up or booting. If so, reserves room for all of them;
   otherwise reserves none. */
static bool may_drain(struct hr__engine *engine, uint32_t node) {
  hr__node_demand_begin(engine);
  return hr__node_demand_end(engine, place_jobs_of(engine, node));
}

static bool is_unneeded(struct hr__engine *engine, uint32_t pool, uint32_t node) {
  struct hr__autoscaler *self = engine->autoscaler;
  const struct hr__node_amounts *whole = &self->pools[pool].node;
  const struct hr__node_room *room = &self->room[node];
  if (engine->cluster.nodes[node].state != HR_NODE_UP || room->is_needed) return false;
  if (self->n_tasks[node] == 0) return true;
  if (!self->spec->drains) return false;
  struct hr__ca_use use = {.containers = *whole};
  hr__amounts_add(&use.containers, &room->free, -1);
  const struct hr__ca_used_node used = {
      .allocatable = *whole, .has_gpus = whole->of[HR__GPUS] > 0, .pods = &use, .n_pods = 1};
  const struct hr__ca_candidate candidate = {
      .is_ready = true, .has_group = true, .threshold = self->spec->utilization_threshold};
  if (hr__ca_eligible(&candidate, &used) != HR__CA_NO_REASON) return false;
  self->room[node].is_usable = false;
  const bool may = may_drain(engine, node);
  self->room[node].is_usable = !may; /* jobs of other nodes must not move to a node that may be removed */
  return may;
}

/* Records which nodes are unneeded. Nodes without jobs are examined first, then nodes with jobs that could move. */
static void note_unneeded(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  memset(self->is_unneeded, 0, engine->cluster.n_nodes * sizeof *self->is_unneeded);
  for (int with_jobs = 0; with_jobs <= (self->spec->drains ? 1 : 0); with_jobs++)
    for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
      const struct hr__pool *pool = &engine->cluster.pools[i];
      const uint32_t first = pool->first_node.id;
      for (uint32_t k = 0; k < pool->spec->nodes && self->pools[i].is_scaled; k++) {
        if ((self->n_tasks[first + k] > 0) != (with_jobs == 1)) continue;
        self->is_unneeded[first + k] = is_unneeded(engine, i, first + k);
        /* jobs of other nodes are not moved to an empty unneeded node */
        if (self->is_unneeded[first + k]) self->room[first + k].is_usable = false;
      }
    }
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct hr__pool *pool = &engine->cluster.pools[i];
    const uint32_t first = pool->first_node.id;
    if (self->pools[i].is_scaled)
      hr__ca_note_unneeded(&self->unneeded_since_us[first], &self->is_unneeded[first], pool->spec->nodes,
                           engine->view.now_us);
  }
}

/* Returns when the delays before removals end. */
static int64_t delays_end_us(const struct hr__autoscaler *self) {
  const struct hr_autoscaler_spec *spec = self->spec;
  int64_t end_us = self->added_us + spec->after_add_us;
  const int64_t others[] = {self->deleted_us + spec->after_delete_us, self->failed_us + spec->after_failure_us};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (others[i] > end_us) end_us = others[i];
  return end_us;
}

static bool may_go(const struct hr__engine *engine, uint32_t pool, uint32_t node, int64_t size) {
  const struct hr__autoscaler *self = engine->autoscaler;
  const struct hr__node_amounts no_minimum = {{INT64_MAX, INT64_MAX, INT64_MAX}};
  const struct hr__ca_candidate candidate = {.is_ready = true,
                                             .has_group = true,
                                             .since_us = self->unneeded_since_us[node],
                                             .unneeded_us = self->spec->unneeded_us,
                                             .group_size = size,
                                             .group_min = engine->cluster.pools[pool].spec->min_nodes,
                                             .cluster_left = no_minimum,
                                             .cluster_nodes_left = INT64_MAX};
  return self->unneeded_since_us[node] >= 0 &&
         hr__ca_removable(&candidate, &self->pools[pool].node, engine->view.now_us) == HR__CA_NO_REASON;
}

/* Counts the nodes of a pool that may be removed now, empty nodes first. No node may be removed before `delayed_us`.
   Records the times at which other unneeded nodes may be removed. */
static struct hr__ca_deletion count_candidates(struct hr__engine *engine, uint32_t number, int64_t delayed_us) {
  struct hr__autoscaler *self = engine->autoscaler;
  const struct hr__pool *pool = &engine->cluster.pools[number];
  struct hr__ca_deletion found = {0};
  int64_t size = hr__scaled_size(pool);
  for (int with_jobs = 0; with_jobs <= 1; with_jobs++)
    for (uint32_t k = 0; k < pool->spec->nodes; k++) {
      const uint32_t node = pool->first_node.id + k;
      const int64_t since_us = self->unneeded_since_us[node];
      if (since_us < 0 || (self->n_tasks[node] > 0) != (with_jobs == 1) || size <= pool->spec->min_nodes) continue;
      if (engine->view.now_us < delayed_us || !may_go(engine, number, node, size)) {
        const int64_t age_us = since_us + self->spec->unneeded_us + 1;
        scan_is_due(self, age_us > delayed_us ? age_us : delayed_us);
        continue;
      }
      size--;
      found.empty += with_jobs == 0;
      found.drain += with_jobs == 1;
    }
  return found;
}

static enum hr_status remove_nodes(struct hr__engine *engine, uint32_t number, int64_t count, bool with_jobs) {
  struct hr__autoscaler *self = engine->autoscaler;
  const struct hr__pool *pool = &engine->cluster.pools[number];
  enum hr_status status = HR_OK;
  for (uint32_t k = 0; k < pool->spec->nodes && count > 0 && status == HR_OK; k++) {
    const uint32_t node = pool->first_node.id + k;
    if (self->unneeded_since_us[node] < 0 || (self->n_tasks[node] > 0) != with_jobs) continue;
    if (!may_go(engine, number, node, hr__scaled_size(pool))) continue;
    status = hr__market_take_down(engine, (hr_pool){number}, (hr_node){node}, HR_REASON_SCALED_DOWN);
    engine->pool_accounting[number].removals++;
    self->deleted_us = engine->view.now_us;
    self->has_acted = true;
    count--;
  }
  return status;
}

/* Removes nodes that were unneeded for long enough. If `is_off` is set, removes no node and only records which nodes
   are unneeded. */
static enum hr_status remove_unneeded(struct hr__engine *engine, bool is_off) {
  struct hr__autoscaler *self = engine->autoscaler;
  const uint32_t n_pools = engine->cluster.n_pools;
  const int64_t end_us = delays_end_us(self), delayed_us = is_off ? engine->view.now_us + 1 : end_us;
  enum hr_status status = HR_OK;
  int64_t left = 0;
  note_unneeded(engine);
  for (uint32_t i = 0; i < n_pools; i++) {
    self->deletions[i] = (struct hr__ca_deletion){0};
    self->kept[i] = i;
    if (self->pools[i].is_scaled) self->deletions[i] = count_candidates(engine, i, delayed_us);
  }
  struct hr__ca_deletions all = {self->deletions, self->kept, self->kept, n_pools, n_pools};
  hr__ca_take(&all, (struct hr__ca_budget){self->spec->max_deletions, self->spec->max_drains});
  for (uint32_t i = 0; i < n_pools; i++) {
    const struct hr__ca_deletion *taken = &self->deletions[i];
    left += taken->empty + taken->drain - taken->take_empty - taken->take_drain;
    if (status == HR_OK) status = remove_nodes(engine, i, taken->take_empty, false);
    if (status == HR_OK) status = remove_nodes(engine, i, taken->take_drain, true);
  }
  if (left > 0) scan_is_due(self, engine->view.now_us + 1);
  return status;
}

/* ---- A scan ----------------------------------------------------------------------------------------------- */

/* Returns whether no nodes may be requested yet because the jobs that need nodes are too young. The oldest job must
   have waited for new_job_us, and the oldest job with GPUs for new_gpu_job_us. Records the end of this delay. */
static bool are_young(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  const int64_t oldest_us = hr__node_demand_oldest_us(engine, false);
  const int64_t with_gpus_us = hr__node_demand_oldest_us(engine, true);
  int64_t old_us = oldest_us + self->spec->new_job_us;
  if (with_gpus_us != HR_NEVER_US && with_gpus_us + self->spec->new_gpu_job_us > old_us)
    old_us = with_gpus_us + self->spec->new_gpu_job_us;
  if (old_us <= engine->view.now_us) return false;
  scan_is_due(self, old_us);
  return true;
}

static enum hr_status scan(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  enum hr_status status = HR_OK;
  bool grew = false, are_new = false;
  self->due_us = HR_NEVER_US;
  for (uint32_t i = 0; i < engine->cluster.n_pools && status == HR_OK; i++)
    if (self->pools[i].is_scaled) status = give_up_late(engine, i);
  for (uint32_t i = 0; i < engine->cluster.n_pools && status == HR_OK; i++)
    if (self->pools[i].is_scaled) status = keep_minimum(engine, i);
  const bool any = status == HR_OK && must_place_jobs(engine);
  if (status == HR_OK && !any) memset(self->room, 0, engine->cluster.n_nodes * sizeof *self->room);
  if (any && hr__node_demand_find(engine)) {
    are_new = are_young(engine);
    if (!are_new) status = grow(engine, &grew);
  }
  if (status == HR_OK && !grew) status = remove_unneeded(engine, are_new);
  return status;
}

static enum hr_status after_pass(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  if (!self->is_due) return HR_OK;
  self->is_due = false;
  if (!engine->whole && hr__engine_is_over(engine, engine->view.now_us)) return HR_OK;
  self->last_us = engine->view.now_us;
  self->next_us = HR_NEVER_US;
  const enum hr_status status = scan(engine);
  return status == HR_OK && self->due_us != HR_NEVER_US ? scan_from(engine, self->due_us) : status;
}

/* ---- Start of a run ---------------------------------------------------------------------------------------- */

static bool create(struct hr__engine *engine) {
  struct hr__autoscaler *self = engine->autoscaler;
  const struct hr_autoscaler_spec *spec = self->spec;
  struct hr_arena *arena = &engine->arena;
  const size_t n_pools = engine->cluster.n_pools, n_nodes = engine->cluster.n_nodes;
  if (!HR__ARENA_ARRAY(arena, self->groups, n_pools) || !HR__ARENA_ARRAY(arena, self->options, n_pools) ||
      !HR__ARENA_ARRAY(arena, self->option_pool, n_pools) || !HR__ARENA_ARRAY(arena, self->kept, n_pools) ||
      !HR__ARENA_ARRAY(arena, self->scores, n_pools) || !HR__ARENA_ARRAY(arena, self->deletions, n_pools) ||
      !HR__ARENA_ARRAY(arena, self->packed, n_nodes + 2) || !HR__ARENA_ARRAY(arena, self->unneeded_since_us, n_nodes) ||
      !HR__ARENA_ARRAY(arena, self->is_unneeded, n_nodes) || !HR__ARENA_ARRAY(arena, self->quotas, spec->n_quotas))
    return false;
  for (uint32_t i = 0; i < spec->n_quotas; i++)
    self->quotas[i] = (struct hr__ca_quota){HR__CA_ALL_GROUPS,
                                            {{[HR__CPU_M] = INT64_MAX,
                                              [HR__MEMORY_BYTES] = INT64_MAX,
                                              [HR__GPUS] = (int64_t)spec->quotas[i].max_gpus * 1000}},
                                            spec->quotas[i].of_pool};
  self->next_us = HR_NEVER_US;
  self->last_us = -1;
  self->added_us = self->deleted_us = self->failed_us = LONG_AGO;
  for (uint32_t i = 0; i < n_nodes; i++) self->unneeded_since_us[i] = -1;
  return true;
}

static enum hr_status begin(struct hr__engine *engine) {
  return scan_from(engine, 0);
}

/* Kinds with a higher priority are first. Among kinds with equal priorities, the kind with the oldest job is first. */
static bool precedes(const struct hr__pod_kind *kind, const struct hr__pod_kind *other) {
  return kind->priority > other->priority;
}

const struct hr__scaling_rules hr__cluster_autoscaler_rules = {.create = create,
                                                               .begin = begin,
                                                               .note = note_change,
                                                               .advance = advance,
                                                               .after_pass = after_pass,
                                                               .backs_off = backs_off,
                                                               .precedes = precedes};
