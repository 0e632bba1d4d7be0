/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The rule of temperatures (`gpus-hot`) of the alerts: the GPUs of a node are too hot.
 *
 * The temperature of a node is a first-order state. It approaches ambient + resistance x (mean watts of its GPUs)
 * exponentially, and is brought up to date when the power of the node changes. In between it is monotone, so it passes
 * the limit at most once, at a time that follows from the logarithm. The periods in which nodes of a pool are too hot
 * are collected, and those that overlap become one alert at the end of the run.
 *
 * Invariant: `watts_milli` of a node is the sum over its jobs of milli-GPUs x watts of a GPU. `hot_us` of a node is
 * HR_NEVER_US, or when it became too hot.
 *
 * Source: Newton's law of cooling; 90 degrees C is the usual limit of alerts on DCGM_FI_DEV_GPU_TEMP.
 */

#include "report/alerts/alerts.h"

#include "headroom/sim.h"
#include "sim/power/power.h"

#include <math.h>
#include <stdlib.h>

struct hot_node {
  double watts_milli, celsius, highest;
  int64_t touched_us, hot_us;
  uint32_t busy_milli;
  bool is_off;
};

struct hot_period {
  uint32_t pool;
  int64_t begin_us, end_us;
  double celsius;
};

struct alert_heat {
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_class_spec *classes;
  const struct hr_alert_rules *rules;
  struct hr__alert_log *log;
  struct hot_node *nodes; /* NULL: no pool has temperatures */
  uint32_t *first;        /* [n_pools + 1] first node of each pool */
  struct hot_period *periods;
  uint32_t n_periods, capacity;
};

static const struct hr_power_spec *hot_spec(const struct hr_cluster_spec *cluster, uint32_t pool) {
  const struct hr_power_spec *power = cluster->pools[pool].power;
  return power && power->heat.c_per_w > 0 ? power : NULL;
}

/* Returns the temperature that the node approaches. */
static double limit_of(const struct alert_heat *self, uint32_t pool, const struct hot_node *node) {
  const struct hr_power_spec *power = hot_spec(self->cluster, pool);
  double size_milli = 1000.0 * self->cluster->pools[pool].gpus_per_node;
  double watts = node->is_off ? 0 : node->watts_milli + (size_milli - node->busy_milli) * power->gpu_idle_w;
  return power->heat.ambient_c + power->heat.c_per_w * watts / size_milli;
}

/* ---- Periods ---- */

static void end_period(struct alert_heat *self, uint32_t pool, struct hot_node *node, int64_t end_us) {
  if (HR__ARRAY_HAS_ROOM(self->periods, self->n_periods, self->capacity))
    self->periods[self->n_periods++] = (struct hot_period){pool, node->hot_us, end_us, node->highest};
  else
    self->log->failed = true;
  node->hot_us = HR_NEVER_US;
}

/* Returns when the temperature passes the threshold, on its way from `from` to `limit`. */
static int64_t crossing_us(const struct hot_node *node, double from, double limit, double threshold, double tau_s) {
  double seconds = tau_s * log((limit - from) / (limit - threshold));
  return node->touched_us + (int64_t)(seconds * (double)HR_SECOND_US);
}

/* Brings the temperature of a node up to date. Must be called before its power changes. */
static void advance(struct alert_heat *self, uint32_t pool, uint32_t number, int64_t now_us) {
  struct hot_node *node = &self->nodes[number];
  double tau_s = hot_spec(self->cluster, pool)->heat.time_constant_s, threshold = self->rules->hot_above_c;
  double limit = limit_of(self, pool, node), from = node->celsius;
  double passed_s = (double)(now_us - node->touched_us) / (double)HR_SECOND_US;
  node->celsius = limit + (from - limit) * exp(-passed_s / tau_s);
  if (node->hot_us == HR_NEVER_US && node->celsius > threshold) {
    node->hot_us = from > threshold ? node->touched_us : crossing_us(node, from, limit, threshold, tau_s);
    node->highest = node->celsius;
  }
  if (node->hot_us != HR_NEVER_US) node->highest = fmax(node->highest, node->celsius);
  if (node->hot_us != HR_NEVER_US && node->celsius <= threshold)
    end_period(self, pool, node, crossing_us(node, from, limit, threshold, tau_s));
  node->touched_us = now_us;
}

/* ---- Events ---- */

/* The job of the event begins to use its slices (`sign` 1), or leaves them (-1). */
static void change(struct alert_heat *self, const struct hr_event *event, int sign) {
  const struct hr_placement *placement = event->placement;
  const struct hr_power_spec *power = hot_spec(self->cluster, placement->pool.id);
  if (!power) return;
  uint32_t fraction_ppm = hr__power_fraction(self->trace, self->classes, event->job);
  double watts = hr__power_limit(power, fraction_ppm).gpu_w;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    struct hr_slice slice = placement->slices[i];
    struct hot_node *node = &self->nodes[slice.node.id];
    advance(self, placement->pool.id, slice.node.id, event->at_us);
    node->busy_milli += sign > 0 ? slice.gpu_milli : -slice.gpu_milli;
    node->watts_milli = node->busy_milli ? node->watts_milli + sign * watts * slice.gpu_milli : 0;
  }
}

static void alert_heat_note(void *self, const struct hr_event *event) {
  struct alert_heat *heat = self;
  if (!heat->nodes) return;
  switch (event->kind) {
  case HR_EVENT_START:
    change(heat, event, 1);
    break;
  case HR_EVENT_END:
  case HR_EVENT_INTERRUPT:
  case HR_EVENT_PREEMPT:
    change(heat, event, -1);
    break;
  case HR_EVENT_NODE_UP:
  case HR_EVENT_NODE_DOWN:
  case HR_EVENT_RELEASE:
    if (!hot_spec(heat->cluster, event->pool.id)) break;
    advance(heat, event->pool.id, event->node.id, event->at_us);
    heat->nodes[event->node.id].is_off = event->kind != HR_EVENT_NODE_UP;
    break;
  default:
    break;
  }
}

/* ---- Begin and end ---- */

static void alert_heat_destroy(void *self) {
  struct alert_heat *heat = self;
  if (!heat) return;
  free(heat->nodes);
  free(heat->first);
  free(heat->periods);
  free(heat);
}

static bool create_nodes(struct alert_heat *self) {
  const struct hr_cluster_spec *cluster = self->cluster;
  self->first = calloc((size_t)cluster->n_pools + 1, sizeof *self->first);
  if (!self->first) return false;
  for (uint32_t i = 0; i < cluster->n_pools; i++) self->first[i + 1] = self->first[i] + cluster->pools[i].nodes;
  self->nodes = calloc((size_t)self->first[cluster->n_pools] + 1, sizeof *self->nodes);
  for (uint32_t i = 0; self->nodes && i < cluster->n_pools; i++) {
    const struct hr_market_spec *market = &cluster->pools[i].market;
    for (uint32_t n = self->first[i]; n < self->first[i + 1]; n++) {
      struct hot_node *node = &self->nodes[n];
      *node = (struct hot_node){.hot_us = HR_NEVER_US,
                                .is_off = hr_market_is_elastic(market->market) || market->from_us > 0};
      if (hot_spec(cluster, i)) node->celsius = limit_of(self, i, node);
    }
  }
  return self->nodes != NULL;
}

static void *alert_heat_create(const struct hr_alerts_config *config, struct hr__alert_log *log) {
  struct alert_heat *self = calloc(1, sizeof *self);
  bool any = false;
  if (!self) return NULL;
  self->trace = config->trace;
  self->cluster = config->cluster;
  self->classes = config->classes;
  self->rules = config->rules;
  self->log = log;
  for (uint32_t i = 0; i < config->cluster->n_pools; i++) any = any || hot_spec(config->cluster, i);
  if (!any || config->rules->is_off[HR_ALERT_HOT] || create_nodes(self)) return self;
  alert_heat_destroy(self);
  return NULL;
}

static int in_order(const void *left, const void *right) {
  const struct hot_period *a = left, *b = right;
  if (a->pool != b->pool) return a->pool < b->pool ? -1 : 1;
  if (a->begin_us != b->begin_us) return a->begin_us < b->begin_us ? -1 : 1;
  return (a->end_us > b->end_us) - (a->end_us < b->end_us);
}

static void alert_heat_close(void *self, const struct hr_cost_summary *costs, int64_t end_us) {
  struct alert_heat *heat = self;
  (void)costs;
  for (uint32_t i = 0; heat->nodes && i < heat->cluster->n_pools; i++)
    for (uint32_t n = heat->first[i]; hot_spec(heat->cluster, i) && n < heat->first[i + 1]; n++) {
      advance(heat, i, n, end_us);
      if (heat->nodes[n].hot_us != HR_NEVER_US) end_period(heat, i, &heat->nodes[n], end_us);
    }
  if (heat->n_periods > 1) qsort(heat->periods, heat->n_periods, sizeof *heat->periods, in_order);
  for (uint32_t i = 0; i < heat->n_periods;) {
    struct hr_alert alert = {HR_ALERT_HOT,
                             heat->cluster->pools[heat->periods[i].pool].name,
                             heat->periods[i].begin_us,
                             heat->periods[i].end_us,
                             0,
                             0};
    uint32_t pool = heat->periods[i].pool;
    for (; i < heat->n_periods && heat->periods[i].pool == pool && heat->periods[i].begin_us <= alert.end_us; i++) {
      if (heat->periods[i].end_us > alert.end_us) alert.end_us = heat->periods[i].end_us;
      alert.value = fmax(alert.value, heat->periods[i].celsius);
      alert.count++;
    }
    hr__alert_log_add(heat->log, alert);
  }
}

const struct hr__alert_watcher hr__alert_heat = {
    .create = alert_heat_create, .destroy = alert_heat_destroy, .note = alert_heat_note, .close = alert_heat_close};
