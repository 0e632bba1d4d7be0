/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A slow model of the cluster autoscaler; see naive_scaling.h. */

#include "naive_scaling.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

enum state { GONE, BOOTS, UP };

struct node {
  enum state state;
  uint32_t pool, free, jobs;
  int64_t given_us, unneeded_us; /* given_us: when the provider delivered the node; unneeded_us: since when it is
                                    unneeded; -1: it is needed */
};

struct model {
  struct naive_world *world;
  struct node nodes[NAIVE_NODES];
  uint32_t n_nodes;
  int64_t now_us;
  bool is_done[NAIVE_JOBS];
  uint32_t on[NAIVE_JOBS][NAIVE_NODES]; /* GPUs by node */
  struct {
    bool failed;
    int64_t length_us, until_us, last_us;
  } backoff[NAIVE_POOLS];
  int64_t added_us, deleted_us, failed_us;
  uint32_t n_draws, n_asked[NAIVE_POOLS];
};

#define NEVER (INT64_MIN / 4)

static uint32_t largest_node(const struct naive_world *world) {
  uint32_t largest = 0;
  for (uint32_t i = 0; i < world->n_pools; i++)
    if (world->pools[i].size > largest) largest = world->pools[i].size;
  return largest;
}

static bool suits(const struct naive_world *world, uint32_t gpus, uint32_t pool) {
  return gpus > largest_node(world) || world->pools[pool].size >= gpus;
}

/* Allocates the GPUs of one job in a pool. `booting`: also uses booting nodes. Whole nodes are used first. Stores the
   GPUs by node. Returns false if the job does not fit; nothing is then allocated. */
static bool take(const struct naive_world *world, struct node *nodes, uint32_t n_nodes, uint32_t gpus, uint32_t pool,
                 bool booting, uint32_t taken[NAIVE_NODES]) {
  struct node copy[NAIVE_NODES];
  memcpy(copy, nodes, sizeof copy);
  memset(taken, 0, NAIVE_NODES * sizeof *taken);
  const uint32_t size = world->pools[pool].size;
  for (uint32_t left = gpus; left > 0;) {
    const uint32_t part = left < size ? left : size;
    uint32_t at = 0;
    while (at < n_nodes && !(copy[at].pool == pool && copy[at].free >= part &&
                             (copy[at].state == UP || (booting && copy[at].state == BOOTS))))
      at++;
    if (at == n_nodes) return false;
    copy[at].free -= part;
    taken[at] += part;
    left -= part;
  }
  memcpy(nodes, copy, sizeof copy);
  return true;
}

/* ---- Jobs ---- */

static void start_jobs(struct model *model) {
  struct naive_world *world = model->world;
  for (uint32_t job = 0; job < world->n_jobs && world->jobs[job].submit_us <= model->now_us; job++) {
    if (world->jobs[job].start_us >= 0) continue;
    bool started = false;
    for (uint32_t pool = 0; pool < world->n_pools && !started; pool++)
      started = suits(world, world->jobs[job].gpus, pool) &&
                take(world, model->nodes, model->n_nodes, world->jobs[job].gpus, pool, false, model->on[job]);
    if (!started) return;
    world->jobs[job].start_us = model->now_us;
    for (uint32_t i = 0; i < model->n_nodes; i++) model->nodes[i].jobs += model->on[job][i] > 0;
  }
}

static void end_jobs(struct model *model) {
  for (uint32_t job = 0; job < model->world->n_jobs; job++) {
    const struct naive_job *self = &model->world->jobs[job];
    if (model->is_done[job] || self->start_us < 0 || self->start_us + self->work_us > model->now_us) continue;
    model->is_done[job] = true;
    for (uint32_t i = 0; i < model->n_nodes; i++) {
      model->nodes[i].free += model->on[job][i];
      model->nodes[i].jobs -= model->on[job][i] > 0;
    }
  }
}

/* ---- Nodes ---- */

static uint32_t size_of(const struct model *model, uint32_t pool) {
  uint32_t size = 0;
  for (uint32_t i = 0; i < model->n_nodes; i++) size += model->nodes[i].pool == pool && model->nodes[i].state != GONE;
  return size;
}

static uint32_t all_nodes(const struct model *model) {
  uint32_t sum = 0;
  for (uint32_t i = 0; i < model->world->n_pools; i++) sum += size_of(model, i);
  return sum;
}

/* Returns the number of nodes that a pool may still get: by its maximum, the maximum of the cluster, and the quotas. */
static uint32_t nodes_allowed(const struct model *model, uint32_t pool) {
  const struct naive_world *world = model->world;
  for (uint32_t more = 0;; more++) {
    if (size_of(model, pool) + more >= world->pools[pool].nodes) return more;
    if (world->spec.max_nodes && all_nodes(model) + more >= world->spec.max_nodes) return more;
    for (uint32_t k = 0; k < world->spec.n_quotas; k++) {
      const struct hr_scaling_quota *quota = &world->spec.quotas[k];
      uint32_t gpus = (more + 1) * world->pools[pool].size;
      for (uint32_t i = 0; i < world->n_pools; i++)
        if (quota->of_pool[i]) gpus += size_of(model, i) * world->pools[i].size;
      if (quota->of_pool[pool] && gpus > quota->max_gpus) return more;
    }
  }
}

static bool lacks_capacity(struct model *model, uint32_t pool) {
  struct hr__stream stream;
  if (!(model->world->pools[pool].no_capacity > 0)) return false;
  hr__stream_init(&stream, model->world->seed, HR__PURPOSE_BOOT, pool, 1);
  hr__stream_skip_to_life(&stream, model->n_asked[pool]++);
  const double draw = hr__stream_uniform(&stream);
  return draw < model->world->pools[pool].no_capacity;
}

static void fail(struct model *model, uint32_t pool);

/* Requests nodes of a pool one by one, until the provider refuses. Returns their number. */
static uint32_t ask(struct model *model, uint32_t pool, uint32_t count) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < model->n_nodes && n < count; i++) {
    struct node *node = &model->nodes[i];
    if (node->pool != pool || node->state != GONE) continue;
    if (lacks_capacity(model, pool)) break;
    *node = (struct node){
        BOOTS, pool, model->world->pools[pool].size, 0, model->now_us + model->world->pools[pool].queue_us, -1};
    model->world->pools[pool].added++;
    n++;
  }
  if (n < count) fail(model, pool);
  return n;
}

static void end_node(struct model *model, uint32_t at) {
  struct node *node = &model->nodes[at];
  if (model->now_us > node->given_us) model->world->pools[node->pool].up_us += model->now_us - node->given_us;
  node->state = GONE;
  node->free = 0;
  node->unneeded_us = -1;
}

static void boot_nodes(struct model *model) {
  for (uint32_t i = 0; i < model->n_nodes; i++)
    if (model->nodes[i].state == BOOTS &&
        model->nodes[i].given_us + model->world->pools[model->nodes[i].pool].boot_us <= model->now_us)
      model->nodes[i].state = UP;
}

static void fail(struct model *model, uint32_t pool) {
  const struct hr_autoscaler_spec *spec = &model->world->spec;
  if (!model->backoff[pool].failed) {
    model->backoff[pool].length_us = spec->backoff_us;
  } else if (model->now_us > model->backoff[pool].until_us) {
    model->backoff[pool].length_us *= 2;
    if (model->backoff[pool].length_us > spec->max_backoff_us) model->backoff[pool].length_us = spec->max_backoff_us;
  }
  model->backoff[pool].failed = true;
  model->backoff[pool].until_us = model->now_us + model->backoff[pool].length_us;
  model->backoff[pool].last_us = model->now_us;
  model->failed_us = model->now_us;
  model->world->pools[pool].failures++;
}

/* Each scan calls this function first. */
static void forget_failures(struct model *model) {
  for (uint32_t pool = 0; pool < model->world->n_pools; pool++)
    if (model->now_us > model->backoff[pool].last_us + model->world->spec.backoff_reset_us)
      model->backoff[pool].failed = false;
}

static bool rests(const struct model *model, uint32_t pool) {
  return model->backoff[pool].failed && model->now_us <= model->backoff[pool].until_us;
}

static void give_up(struct model *model) {
  for (uint32_t pool = 0; pool < model->world->n_pools; pool++) {
    bool any = false;
    for (uint32_t i = 0; i < model->n_nodes; i++) {
      const struct node *node = &model->nodes[i];
      if (node->pool != pool || node->state != BOOTS) continue;
      if (model->now_us - node->given_us <= model->world->spec.provision_us) continue;
      end_node(model, i);
      any = true;
    }
    if (any) fail(model, pool);
  }
}

static void keep_minima(struct model *model) {
  for (uint32_t pool = 0; pool < model->world->n_pools; pool++) {
    const uint32_t minimum = model->world->pools[pool].min_nodes, there = size_of(model, pool);
    if (!model->world->pools[pool].is_elastic || there >= minimum || rests(model, pool)) continue;
    const uint32_t allowed = nodes_allowed(model, pool), lacks = minimum - there;
    ask(model, pool, lacks < allowed ? lacks : allowed);
  }
}

/* ---- Demand ---- */

/* A job that does not fit on the present nodes. If `pool` is not HR_NONE, some of its pods are on nodes of this pool,
   and the job needs `whole` further nodes and one more node for `rest` GPUs. */
struct lacking {
  uint32_t job, pool, whole, rest;
};

static uint32_t room_to_grow(struct model *model, uint32_t pool) {
  return model->world->pools[pool].is_elastic && !rests(model, pool) ? nodes_allowed(model, pool) : 0;
}

/* Places as many pods of a job as fit on nodes of a pool. Sets the missing nodes and GPUs, and `used` for each node
   that gets a pod. Returns the number of placed pods. */
static uint32_t put_part(const struct model *model, struct node *nodes, uint32_t pool, struct lacking *lack,
                         bool used[NAIVE_NODES]) {
  const uint32_t size = model->world->pools[pool].size, gpus = model->world->jobs[lack->job].gpus;
  uint32_t n = 0;
  lack->whole = gpus / size;
  lack->rest = gpus % size;
  for (uint32_t i = 0; i < model->n_nodes; i++) {
    used[i] = false;
    if (nodes[i].pool != pool || nodes[i].state == GONE || nodes[i].free < size || lack->whole == 0) continue;
    nodes[i].free -= size;
    lack->whole--;
    used[i] = true;
    n++;
  }
  for (uint32_t i = 0; i < model->n_nodes && lack->rest > 0; i++) {
    if (nodes[i].pool != pool || nodes[i].state == GONE || nodes[i].free < lack->rest) continue;
    nodes[i].free -= lack->rest;
    lack->rest = 0;
    used[i] = true;
    n++;
  }
  return n;
}

/* Places pods in the pool in which the maximum number fits, if the pool can get nodes for the other pods. Sets `needed`
   for the used nodes. */
static void reserve(struct model *model, struct node *nodes, struct lacking *lack, bool needed[NAIVE_NODES]) {
  uint32_t most = 0, best = HR_NONE;
  bool used[NAIVE_NODES];
  for (uint32_t pool = 0; pool < model->world->n_pools; pool++) {
    struct node copy[NAIVE_NODES];
    memcpy(copy, nodes, sizeof copy);
    if (!suits(model->world, model->world->jobs[lack->job].gpus, pool)) continue;
    const uint32_t n = put_part(model, copy, pool, lack, used);
    if (n <= most || lack->whole + (lack->rest > 0) > room_to_grow(model, pool)) continue;
    most = n;
    best = pool;
  }
  lack->pool = best;
  if (best == HR_NONE) return;
  put_part(model, nodes, best, lack, used);
  for (uint32_t i = 0; i < model->n_nodes; i++) needed[i] = needed[i] || used[i];
}

/* Lists the waiting jobs that do not fit on the present nodes. Equal jobs form a group; groups are ordered by their
   oldest job. Sets `needed` for the nodes that other jobs use. Returns the number of listed jobs. */
static uint32_t find_lacking(struct model *model, struct lacking *lacking, bool needed[NAIVE_NODES]) {
  const struct naive_world *world = model->world;
  struct node nodes[NAIVE_NODES];
  bool seen[NAIVE_JOBS] = {false};
  uint32_t n = 0, taken[NAIVE_NODES];
  memcpy(nodes, model->nodes, sizeof nodes);
  for (uint32_t first = 0; first < world->n_jobs && world->jobs[first].submit_us <= model->now_us; first++) {
    bool has_part = false;
    for (uint32_t job = first; job < world->n_jobs && world->jobs[job].submit_us <= model->now_us; job++) {
      if (seen[job] || world->jobs[job].start_us >= 0 || world->jobs[job].gpus != world->jobs[first].gpus ||
          world->jobs[first].start_us >= 0)
        continue;
      seen[job] = true;
      bool placed = false;
      for (uint32_t pool = 0; pool < world->n_pools && !placed; pool++)
        placed = suits(world, world->jobs[job].gpus, pool) &&
                 take(world, nodes, model->n_nodes, world->jobs[job].gpus, pool, true, taken);
      for (uint32_t i = 0; i < model->n_nodes && placed; i++) needed[i] = needed[i] || taken[i] > 0;
      if (placed) continue;
      lacking[n] = (struct lacking){.job = job, .pool = HR_NONE};
      if (!has_part) reserve(model, nodes, &lacking[n], needed);
      has_part = true;
      n++;
    }
  }
  return n;
}

/* ---- Growth ---- */

struct option {
  uint32_t pool, nodes, pods, gpus;
  double pods_usd;
};

static double usd(const struct naive_world *world, uint32_t pool, uint32_t gpus) {
  return (double)world->pools[pool].price_uusd_h * 1e-6 * (double)(gpus * 1000) * 1e-3;
}

/* Equal jobs. Each needs `whole` new nodes, and `rest` GPUs on one more node. `placed`: the number of placed pods of
   each kind. */
struct group {
  uint32_t gpus, whole, rest, jobs, placed[2];
};

/* Packs the pods of the groups onto new nodes, the largest pods first. Returns the number of nodes. */
static uint32_t pack(uint32_t size, struct group *groups, uint32_t n_groups, uint32_t limit) {
  uint32_t free[NAIVE_NODES], n = 0;
  for (uint32_t i = 0; i < n_groups; i++) groups[i].placed[0] = groups[i].placed[1] = 0;
  for (uint32_t pod = size; pod > 0; pod--)
    for (uint32_t i = 0; i < n_groups; i++)
      for (uint32_t part = 0; part < 2; part++) {
        const uint32_t wanted = (part == 0 ? groups[i].whole : 1) * groups[i].jobs;
        if ((part == 0 ? size : groups[i].rest) != pod) continue;
        for (uint32_t k = 0; k < wanted; k++) {
          uint32_t at = 0;
          while (at < n && free[at] < pod) at++;
          if (at == n && n == limit) break;
          if (at == n) free[n++] = size;
          free[at] -= pod;
          groups[i].placed[part]++;
        }
      }
  return n;
}

/* Lists the groups of jobs that may get new nodes of a pool. Returns their number. */
static uint32_t group_jobs(const struct naive_world *world, uint32_t pool, const struct lacking *lacking,
                           uint32_t n_lacking, struct group *groups) {
  const uint32_t size = world->pools[pool].size;
  uint32_t n = 0;
  for (uint32_t i = 0; i < n_lacking; i++) {
    const uint32_t gpus = world->jobs[lacking[i].job].gpus;
    if (!suits(world, gpus, pool)) continue;
    if (lacking[i].pool == pool) groups[n++] = (struct group){gpus, lacking[i].whole, lacking[i].rest, 1, {0}};
    if (lacking[i].pool != HR_NONE) continue;
    const bool again = i > 0 && world->jobs[lacking[i - 1].job].gpus == gpus && lacking[i - 1].pool == HR_NONE;
    if (again)
      groups[n - 1].jobs++;
    else
      groups[n++] = (struct group){gpus, gpus / size, gpus % size, 1, {0}};
  }
  return n;
}

/* Finds the first group in which some job has only a part of its pods. If groups after it have pods, removes all jobs
   of the last of these groups. Otherwise removes jobs of the group that was found. Returns false if no job has only a
   part of its pods. */
static bool drop(struct group *groups, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    struct group *group = &groups[i];
    const uint32_t a = group->whole ? group->placed[0] / group->whole : group->placed[1];
    const uint32_t b = group->rest ? group->placed[1] : a, fewer = a < b ? a : b, more = a < b ? b : a;
    if (group->placed[0] == fewer * group->whole && group->placed[1] == (group->rest ? fewer : 0)) continue;
    for (uint32_t k = n - 1; k > i; k--)
      if (groups[k].placed[0] + groups[k].placed[1] > 0) {
        groups[k].jobs = 0;
        return true;
      }
    group->jobs = more < group->jobs - 1 ? more : group->jobs - 1;
    return true;
  }
  return false;
}

static bool estimate(struct model *model, uint32_t pool, const struct lacking *lacking, uint32_t n_lacking,
                     struct option *option) {
  const struct naive_world *world = model->world;
  const uint32_t size = world->pools[pool].size, limit = room_to_grow(model, pool);
  struct group groups[NAIVE_JOBS];
  if (limit == 0) return false;
  const uint32_t n = group_jobs(world, pool, lacking, n_lacking, groups);
  do option->nodes = pack(size, groups, n, limit);
  while (drop(groups, n));
  option->pool = pool;
  option->pods = option->gpus = 0;
  option->pods_usd = 0;
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t part = 0; part < 2; part++) {
      const uint32_t gpus = groups[i].placed[part] * (part == 0 ? size : groups[i].rest);
      double lowest = (double)INFINITY;
      option->pods += groups[i].placed[part];
      option->gpus += gpus;
      for (uint32_t k = 0; k < world->n_pools; k++)
        if (world->pools[k].is_elastic && suits(world, groups[i].gpus, k)) lowest = fmin(lowest, usd(world, k, gpus));
      if (gpus > 0) option->pods_usd += lowest;
    }
  return option->nodes > 0;
}

static double score(const struct naive_world *world, enum hr_expander_kind kind, const struct option *option) {
  const double all = option->nodes * world->pools[option->pool].size, small = 0.5 * 0.033174 + 500.0 / 1024 * 0.004446;
  switch (kind) {
  case HR_EXPANDER_MOST_PODS:
    return -(double)option->pods;
  case HR_EXPANDER_LEAST_NODES:
    return option->nodes;
  case HR_EXPANDER_LEAST_WASTE:
    return 2 * ((all - option->gpus) / all);
  case HR_EXPANDER_PRICE:
    return 1000 * ((option->nodes * usd(world, option->pool, world->pools[option->pool].size) + small) /
                   (option->pods_usd + small));
  case HR_EXPANDER_PRIORITY:
    return -(double)world->pools[option->pool].priority;
  case HR_EXPANDER_RANDOM:
  case HR_N_EXPANDERS:
    break;
  }
  return 0;
}

static bool grow(struct model *model, const struct lacking *lacking, uint32_t n_lacking) {
  const struct naive_world *world = model->world;
  struct option options[NAIVE_POOLS];
  uint32_t n = 0;
  for (uint32_t pool = 0; pool < world->n_pools; pool++)
    if (estimate(model, pool, lacking, n_lacking, &options[n])) n++;
  for (uint32_t step = 0; step < world->spec.n_expanders && n > 1; step++) {
    double best = (double)INFINITY;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < n; i++) best = fmin(best, score(world, world->expanders[step].kind, &options[i]));
    for (uint32_t i = 0; i < n; i++)
      if (score(world, world->expanders[step].kind, &options[i]) <= best) options[kept++] = options[i];
    n = kept;
  }
  if (n == 0) return false;
  uint32_t chosen = 0;
  if (n > 1) {
    struct hr__stream stream;
    hr__stream_init(&stream, world->seed, HR__PURPOSE_EXPANDER, model->n_draws++, 0);
    const double draw = hr__stream_uniform(&stream);
    chosen = (uint32_t)(draw * n);
  }
  const bool grew = ask(model, options[chosen].pool, options[chosen].nodes) > 0;
  if (grew) model->added_us = model->now_us;
  return grew;
}

/* ---- Removal ---- */

static void shrink(struct model *model, const bool needed[NAIVE_NODES], bool only_notes) {
  const struct hr_autoscaler_spec *spec = &model->world->spec;
  uint32_t budget = spec->max_deletions;
  for (uint32_t i = 0; i < model->n_nodes; i++) {
    struct node *node = &model->nodes[i];
    const bool unneeded =
        model->world->pools[node->pool].is_elastic && node->state == UP && node->jobs == 0 && !needed[i];
    if (!unneeded) node->unneeded_us = -1;
    if (unneeded && node->unneeded_us < 0) node->unneeded_us = model->now_us;
  }
  if (only_notes || model->now_us < model->added_us + spec->after_add_us ||
      model->now_us < model->deleted_us + spec->after_delete_us ||
      model->now_us < model->failed_us + spec->after_failure_us)
    return;
  for (uint32_t i = 0; i < model->n_nodes && budget > 0; i++) {
    const struct node *node = &model->nodes[i];
    if (node->unneeded_us < 0 || model->now_us - node->unneeded_us <= spec->unneeded_us) continue;
    if (size_of(model, node->pool) <= model->world->pools[node->pool].min_nodes) continue;
    end_node(model, i);
    model->world->pools[node->pool].removed++;
    model->deleted_us = model->now_us;
    budget--;
  }
}

/* ---- The run ---- */

static void scan(struct model *model) {
  const struct naive_world *world = model->world;
  struct lacking lacking[NAIVE_JOBS];
  bool needed[NAIVE_NODES] = {false}, is_young = false, grew = false;
  forget_failures(model);
  give_up(model);
  keep_minima(model);
  const uint32_t n = find_lacking(model, lacking, needed);
  if (n > 0) {
    int64_t oldest_us = model->now_us;
    for (uint32_t i = 0; i < n; i++)
      if (world->jobs[lacking[i].job].submit_us < oldest_us) oldest_us = world->jobs[lacking[i].job].submit_us;
    is_young =
        model->now_us - oldest_us < world->spec.new_job_us || model->now_us - oldest_us < world->spec.new_gpu_job_us;
    if (!is_young) grew = grow(model, lacking, n);
  }
  if (!grew) shrink(model, needed, is_young);
}

static bool is_over(const struct model *model) {
  for (uint32_t job = 0; job < model->world->n_jobs; job++)
    if (!model->is_done[job]) return false;
  return true;
}

static int64_t next_us(const struct model *model) {
  const int64_t step_us = model->world->spec.scan_us;
  int64_t next = (model->now_us / step_us + 1) * step_us;
  for (uint32_t job = 0; job < model->world->n_jobs; job++) {
    const struct naive_job *self = &model->world->jobs[job];
    if (self->submit_us > model->now_us && self->submit_us < next) next = self->submit_us;
    if (self->start_us >= 0 && !model->is_done[job] && self->start_us + self->work_us < next)
      next = self->start_us + self->work_us;
  }
  for (uint32_t i = 0; i < model->n_nodes; i++) {
    const int64_t up_us = model->nodes[i].given_us + model->world->pools[model->nodes[i].pool].boot_us;
    if (model->nodes[i].state == BOOTS && up_us < next) next = up_us;
  }
  return next;
}

bool naive_scaling_run(struct naive_world *world) {
  static struct model model;
  memset(&model, 0, sizeof model);
  model.world = world;
  model.added_us = model.deleted_us = model.failed_us = NEVER;
  for (uint32_t pool = 0; pool < world->n_pools; pool++)
    for (uint32_t i = 0; i < world->pools[pool].nodes; i++)
      model.nodes[model.n_nodes++] = world->pools[pool].is_elastic
                                         ? (struct node){GONE, pool, 0, 0, 0, -1}
                                         : (struct node){UP, pool, world->pools[pool].size, 0, 0, -1};
  for (uint32_t job = 0; job < world->n_jobs; job++) world->jobs[job].start_us = -1;
  for (uint32_t steps = 0; steps < 6000; steps++) {
    end_jobs(&model);
    boot_nodes(&model);
    start_jobs(&model);
    if (is_over(&model)) break;
    if (model.now_us % world->spec.scan_us == 0) scan(&model);
    boot_nodes(&model);
    start_jobs(&model);
    model.now_us = next_us(&model);
  }
  world->end_us = model.now_us;
  for (uint32_t i = 0; i < model.n_nodes; i++)
    if (model.nodes[i].state != GONE) end_node(&model, i);
  return is_over(&model);
}
