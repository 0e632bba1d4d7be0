/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which pool an autoscaler grows, and by how many nodes. For each pool, the jobs that fit on no node are packed on new
 * nodes (hr__ca_find_options). If a job would get only some of its pods, this job is left out, and the other jobs are
 * packed again. The expanders choose one of the pools, which grows together with similar ones (hr__ca_grow).
 *
 * Layout: one or two rows of pods for each kind of jobs; the groups are the pools. Invariant: no pool grows beyond its
 * maximum. Source: kubernetes/autoscaler, cluster-autoscaler/core/scaleup.
 */

#include "base/random.h"
#include "sim/market/autoscaler.h"

#include <math.h>

/* The price of half a core and 500 MiB in the price model for GCE, by which the expander `price` compares. */
#define STABILIZATION_USD_H (0.5 * 0.033174 + 500.0 / 1024 * 0.004446)

/* Adds the rows of pods of `jobs` equal jobs. `per_job`: the pods of one job, by row. Returns the number of rows. */
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

/* Fills the rows of pods that the jobs that fit on no node would have on new nodes of a pool. Returns the number of
   rows. */
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

/* If a job would get only some of its pods, drops pods of other jobs: those of the last kind that got any pods, if this
   kind follows the kind of the job; otherwise those of one job of its own kind. Returns false if each job gets all of
   its pods or none. */
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

/* Considers the jobs that fit on no node. Returns whether the two pools suit the same of these jobs, and each of them
   has one pod. Jobs with several pods cannot be divided among pools, because all pods of a job are in one pool. */
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

/* Sets the node groups for a scale-up of one pool, and of those that it may be balanced with. */
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

/* Packs the jobs that fit on no node on new nodes of a pool. */
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

/* Returns the lowest price of the GPUs of a kind of jobs. */
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

/* Finds the pools that could grow. Returns their number. */
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

/* Chooses one of the best options at random. */
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

/* Grows one pool, and pools similar to it, for the jobs that fit on no node. */
enum hr_status hr__nodes_grow(struct hr__engine *engine, bool *grew) {
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
    status = hr__nodes_request(engine, i, self->groups[i].grow, &n_requested);
    *grew = *grew || n_requested > 0;
    hr__scan_is_due(self, engine->view.now_us + 1); /* other pools may be tried */
  }
  if (*grew) self->added_us = engine->view.now_us;
  return status;
}
