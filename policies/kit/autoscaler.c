/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A cluster autoscaler, which requests nodes for waiting jobs that do not fit. A pass places waiting jobs for a trial,
   in their order: on the nodes that are up or boot, and then on nodes that could be requested, beginning with the
   cheapest pool. The nodes that were needed are requested, and the trial is undone. A node that has been idle for a
   long time, and that no waiting job would use, is released. Source: kubernetes/autoscaler, cluster-autoscaler
   (scale-up by bin packing, expander `price`, scale-down-unneeded-time). */

#include "headroom/unstable/autoscaling.h"
#include "policies/kit/pods.h"

enum { AUTOSCALER };
static const char *const elastic_names[] = {[AUTOSCALER] = "autoscaler", "static", NULL};
const struct hr_param hr__pod_params[] = {
    {.key = "elastic_nodes",
     .type = HR_PARAM_CHOICE,
     .fallback = "autoscaler",
     .choices = elastic_names,
     .help = "nodes of elastic pools. autoscaler: requested for pods that do not fit, released when they are idle; "
             "static: all that are available",
     .advanced = true},
    {0}};

bool hr__pods_are_scaled(const struct hr__pods *pods, const struct hr_policy_env *env) {
  if (env->params[0].integer != AUTOSCALER || hr_cluster_is_autoscaled(pods->cluster)) return false;
  for (uint32_t i = 0; i < pods->n_pools; i++)
    if (hr_market_is_elastic(hr_cluster_pool_spec(pods->cluster, (hr_pool){i})->market.market)) return true;
  return false;
}

/* ---- Trial nodes ---- */

static void begin_trial(struct hr__pods *pods) {
  pods->n_trials = 0;
  for (uint32_t i = 0; i < pods->n_pools; i++) pods->n_opened[i] = 0;
  for (uint32_t i = 0; i < pods->n_nodes; i++) {
    pods->is_needed[i] = false;
    pods->nodes[i].is_trial = hr_cluster_node_state(pods->cluster, (hr_node){i}) == HR_NODE_BOOTING;
    if (pods->nodes[i].is_trial) pods->nodes[i].is_usable = true;
  }
}

static void end_trial(struct hr__pods *pods) {
  while (pods->n_trials > 0) {
    const struct hr__pods_trial *trial = &pods->trials[--pods->n_trials];
    hr__pods_cut(pods, trial->job, trial->last, true);
  }
  for (uint32_t i = 0; i < pods->n_nodes; i++) {
    if (!pods->nodes[i].is_trial) continue;
    pods->nodes[i].is_usable = pods->nodes[i].is_trial = false;
  }
}

/* Adds a node of the pool that could be requested. Returns false if there is none. */
static bool open_node(struct hr__pods *pods, uint32_t pool) {
  if (pods->n_opened[pool] >= hr_cluster_offer(pods->cluster, (hr_pool){pool})) return false;
  uint32_t first = hr_cluster_first_node(pods->cluster, (hr_pool){pool}).id;
  uint32_t end = first + hr_cluster_pool_spec(pods->cluster, (hr_pool){pool})->nodes;
  for (uint32_t i = first; i < end; i++) {
    struct hr__pod_node *node = &pods->nodes[i];
    if (node->is_trial || hr_cluster_node_state(pods->cluster, (hr_node){i}) != HR_NODE_OFF) continue;
    node->is_trial = node->is_usable = true;
    pods->n_opened[pool]++;
    return true;
  }
  return false;
}

/* Removes the nodes that were added last, until `n` are left. They have no pods. */
static void close_nodes(struct hr__pods *pods, uint32_t pool, uint32_t n) {
  uint32_t first = hr_cluster_first_node(pods->cluster, (hr_pool){pool}).id;
  for (uint32_t i = first + hr_cluster_pool_spec(pods->cluster, (hr_pool){pool})->nodes;
       i-- > first && pods->n_opened[pool] > n;) {
    struct hr__pod_node *node = &pods->nodes[i];
    if (!node->is_trial || hr_cluster_node_state(pods->cluster, (hr_node){i}) != HR_NODE_OFF) continue;
    node->is_trial = node->is_usable = false;
    pods->n_opened[pool]--;
  }
}

/* ---- Jobs ---- */

static uint32_t find_node(const struct hr__pods *pods, uint32_t kind, uint32_t number, uint32_t pool) {
  uint32_t first = hr_cluster_first_node(pods->cluster, (hr_pool){pool}).id;
  uint32_t end = first + hr_cluster_pool_spec(pods->cluster, (hr_pool){pool})->nodes;
  for (uint32_t i = first; i < end; i++)
    if (hr__pods_fit(pods, kind, number, i)) return i;
  return HR_NONE;
}

enum trial_outcome { PLACED, DOES_NOT_FIT, OUT_OF_MEMORY };

/* The condition under which a trial succeeds: all pods are on present nodes; or, with added nodes, the job has more
   pods than before and can run; or the job can run on present nodes. The last two differ from the first only for
   elastic jobs. */
enum trial { ALL_ON_PRESENT, MORE_ON_ADDED, SOME_ON_PRESENT };

/* Places a job in a pool for a trial, after the pods that it already has. */
static enum trial_outcome place_in(struct hr__pods *pods, hr_job job, uint32_t kind, uint32_t pool, enum trial trial) {
  const struct hr__pod_shape *shape = &pods->kinds[kind].shapes[pool];
  uint32_t n_pods = shape->n_pods, number = 0, n_before = pods->n_opened[pool], last = hr__pods_last(pods, job);
  for (uint32_t at = hr__pods_first(pods, job); at != HR_NONE; at = pods->pods[at].next_of_job) number++;
  uint32_t held = number, enough = trial == ALL_ON_PRESENT ? n_pods : shape->fewest;
  if (trial == MORE_ON_ADDED && enough <= held) enough = held + 1;
  for (; number < n_pods; number++) {
    uint32_t node = find_node(pods, kind, number, pool);
    if (node == HR_NONE && trial == MORE_ON_ADDED && open_node(pods, pool)) node = find_node(pods, kind, number, pool);
    if (node == HR_NONE && number >= enough) break;
    if (node != HR_NONE && hr__pods_place(pods, job, kind, number, node) == HR_NONE) return OUT_OF_MEMORY;
    if (node != HR_NONE) continue;
    hr__pods_cut(pods, job, last, true);
    close_nodes(pods, pool, n_before);
    return DOES_NOT_FIT;
  }
  for (uint32_t at = hr__pods_first(pods, job); at != HR_NONE; at = pods->pods[at].next_of_job)
    pods->is_needed[pods->pods[at].slice.node.id] = true;
  pods->trials[pods->n_trials++] = (struct hr__pods_trial){job, last};
  return n_pods ? PLACED : DOES_NOT_FIT;
}

/* The next pool by price, after the pool `before` (HR_NONE: the cheapest); HR_NONE: no further pool. */
static uint32_t next_pool(const struct hr__pods *pods, uint32_t kind, uint32_t before, int64_t now_us) {
  uint32_t best = HR_NONE;
  int64_t best_price = 0;
  int64_t last = before == HR_NONE ? -1 : hr_cluster_price_uusd_h(pods->cluster, (hr_pool){before}, now_us);
  for (uint32_t i = 0; i < pods->n_pools; i++) {
    int64_t price = hr_cluster_price_uusd_h(pods->cluster, (hr_pool){i}, now_us);
    if (pods->kinds[kind].shapes[i].n_pods == 0 || hr_cluster_offer(pods->cluster, (hr_pool){i}) == 0) continue;
    if (!hr_market_is_elastic(hr_cluster_pool_spec(pods->cluster, (hr_pool){i})->market.market)) continue;
    if (before != HR_NONE && (price < last || (price == last && i <= before))) continue;
    if (best != HR_NONE && price >= best_price) continue;
    best = i;
    best_price = price;
  }
  return best;
}

static enum trial_outcome place_job(struct hr__pods *pods, hr_job job, uint32_t kind, int64_t now_us) {
  enum trial_outcome outcome = DOES_NOT_FIT;
  uint32_t first = hr__pods_first(pods, job), only = HR_NONE;
  if (first != HR_NONE) only = pods->nodes[pods->pods[first].slice.node.id].pool;
  if (pods->n_trials == pods->trials_capacity) {
    struct hr__pods_trial *grown = hr_arena_grown(pods->arena, pods->trials, &pods->trials_capacity, sizeof *grown);
    if (!grown) return OUT_OF_MEMORY;
    pods->trials = grown;
  }
  for (uint32_t pool = 0; pool < pods->n_pools && outcome == DOES_NOT_FIT; pool++)
    if (pods->kinds[kind].shapes[pool].n_pods && (only == HR_NONE || pool == only))
      outcome = place_in(pods, job, kind, pool, ALL_ON_PRESENT);
  for (uint32_t pool = next_pool(pods, kind, HR_NONE, now_us); pool != HR_NONE && outcome == DOES_NOT_FIT;
       pool = next_pool(pods, kind, pool, now_us))
    if (only == HR_NONE || pool == only) outcome = place_in(pods, job, kind, pool, MORE_ON_ADDED);
  for (uint32_t pool = 0; pool < pods->n_pools && outcome == DOES_NOT_FIT; pool++)
    if (pods->kinds[kind].shapes[pool].fewest < pods->kinds[kind].shapes[pool].n_pods &&
        (only == HR_NONE || pool == only))
      outcome = place_in(pods, job, kind, pool, SOME_ON_PRESENT);
  return outcome;
}

uint32_t hr__pods_pool_that_fits(struct hr__pods *pods, hr_job job, uint32_t kind) {
  uint32_t first = hr__pods_first(pods, job), last = hr__pods_last(pods, job), only = HR_NONE, held = 0;
  uint32_t fallback = HR_NONE;
  if (first != HR_NONE) only = pods->nodes[pods->pods[first].slice.node.id].pool;
  for (uint32_t at = first; at != HR_NONE; at = pods->pods[at].next_of_job) held++;
  for (uint32_t pool = 0; pool < pods->n_pools; pool++) {
    uint32_t n_pods = pods->kinds[kind].shapes[pool].n_pods, number = held, node = HR_NONE;
    if (n_pods == 0 || (only != HR_NONE && pool != only)) continue;
    for (; number < n_pods && (node = find_node(pods, kind, number, pool)) != HR_NONE; number++)
      if (hr__pods_place(pods, job, kind, number, node) == HR_NONE) break;
    hr__pods_cut(pods, job, last, true);
    if (number == n_pods) return pool;
    if (fallback == HR_NONE && number >= pods->kinds[kind].shapes[pool].fewest) fallback = pool;
  }
  return fallback;
}

/* ---- Idle nodes ---- */

static enum hr_status release_idle(struct hr__pods *pods, const struct hr_view *view, struct hr_moves *moves,
                                   int64_t *wake_us) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < pods->n_nodes && status == HR_OK; i++) {
    struct hr__pod_node *node = &pods->nodes[i];
    if (!hr_market_is_elastic(hr_cluster_pool_spec(pods->cluster, (hr_pool){node->pool})->market.market)) continue;
    bool is_idle = node->is_usable && node->first_pod == HR_NONE && !pods->is_needed[i];
    if (!is_idle) {
      pods->idle_us[i] = HR_NEVER_US;
      continue;
    }
    if (pods->idle_us[i] == HR_NEVER_US) pods->idle_us[i] = view->now_us;
    int64_t end_us = pods->idle_us[i] + pods->idle_release_us;
    if (end_us > view->now_us) {
      if (end_us < *wake_us) *wake_us = end_us;
      continue;
    }
    if (hr_cluster_node_state(pods->cluster, (hr_node){i}) != HR_NODE_UP) continue;
    node->is_usable = false;
    pods->idle_us[i] = HR_NEVER_US;
    status = hr_moves_release(moves, (hr_node){i});
  }
  return status;
}

enum hr_status hr__pods_scale(struct hr__pods *pods, const struct hr_view *view, struct hr_moves *moves,
                              hr__pods_next *next, void *self, int64_t *wake_us) {
  enum trial_outcome outcome = PLACED;
  enum hr_status status = HR_OK;
  uint32_t kind = HR_NONE;
  begin_trial(pods);
  for (hr_job job = next(self, true, &kind); job.id != HR_NONE && outcome != OUT_OF_MEMORY;
       job = next(self, outcome == PLACED, &kind))
    outcome = place_job(pods, job, kind, view->now_us);
  end_trial(pods);
  if (outcome == OUT_OF_MEMORY) return HR_NO_MEMORY;
  *wake_us = HR_NEVER_US;
  for (uint32_t i = 0; i < pods->n_pools && status == HR_OK; i++)
    if (pods->n_opened[i]) status = hr_moves_acquire(moves, (hr_pool){i}, pods->n_opened[i]);
  return status == HR_OK ? release_idle(pods, view, moves, wake_us) : status;
}
