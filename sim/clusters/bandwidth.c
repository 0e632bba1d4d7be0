/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Max-min fair sharing of bandwidth, and the speed of jobs that read data.
 *
 * Progressive filling: the levels of all paths rise together until a resource is full. The paths through this resource
 * keep their level, and their use is subtracted from the capacity of their other resources. The levels of all other
 * paths continue to rise. So in each round, the resource that is full at the lowest level determines the level of its
 * paths.
 *
 * The use of a path at a level is a sum over its classes, weighted: the cap of each class with a cap below the level,
 * and the level for each other class. This sum is a concave function of the level. From a level at which the use is
 * within the capacity, Newton's method therefore rises to the solution without passing it. From a level above the
 * solution, the first step leads to a level below the solution. The search begins at the last solution, which is
 * usually close to the next one.
 */

#include "sim/clusters/clusters.h"

#include "base/containers.h"

#include <math.h>
#include <stdlib.h>

/* ---- Classes of a path: a treap --------------------------------------------------------------------------- */

static struct hr__share_class *class_at(const struct hr__bandwidth *shares, uint32_t at) {
  return &shares->classes[at - 1];
}

static uint64_t weight_below(const struct hr__bandwidth *shares, uint32_t at) {
  return at ? class_at(shares, at)->tree_weight : 0;
}

static hr__wide caps_below(const struct hr__bandwidth *shares, uint32_t at) {
  return at ? class_at(shares, at)->tree_caps : 0;
}

static void sum_up(const struct hr__bandwidth *shares, uint32_t at) {
  struct hr__share_class *class_ = class_at(shares, at);
  class_->tree_weight = weight_below(shares, class_->left) + weight_below(shares, class_->right) + class_->weight;
  class_->tree_caps =
      caps_below(shares, class_->left) + caps_below(shares, class_->right) + class_->cap * class_->weight;
}

/* Splits a tree into the classes with caps below `cap` and the others. */
static void split(const struct hr__bandwidth *shares, uint32_t at, hr__wide cap, uint32_t *low, uint32_t *high) {
  *low = *high = 0;
  if (!at) return;
  struct hr__share_class *class_ = class_at(shares, at);
  if (class_->cap < cap) {
    split(shares, class_->right, cap, &class_->right, high);
    *low = at;
  } else {
    split(shares, class_->left, cap, low, &class_->left);
    *high = at;
  }
  sum_up(shares, at);
}

/* Joins two trees; all caps of `low` are below those of `high`. */
static uint32_t join(const struct hr__bandwidth *shares, uint32_t low, uint32_t high) {
  if (!low || !high) return low ? low : high;
  struct hr__share_class *a = class_at(shares, low), *b = class_at(shares, high);
  if (a->priority > b->priority) {
    a->right = join(shares, a->right, high);
    sum_up(shares, low);
    return low;
  }
  b->left = join(shares, low, b->left);
  sum_up(shares, high);
  return high;
}

void hr__shares_insert(struct hr__bandwidth *shares, uint32_t class_) {
  struct hr__share_class *self = &shares->classes[class_];
  struct hr__share_path *path = &shares->paths[self->path];
  uint32_t low, high;
  self->left = self->right = 0;
  sum_up(shares, class_ + 1);
  split(shares, path->root, self->cap, &low, &high);
  path->root = join(shares, join(shares, low, class_ + 1), high);
}

void hr__shares_remove(struct hr__bandwidth *shares, uint32_t class_) {
  const struct hr__share_class *self = &shares->classes[class_];
  struct hr__share_path *path = &shares->paths[self->path];
  uint32_t low, rest, own, high;
  split(shares, path->root, self->cap, &low, &rest);
  split(shares, rest, self->cap + 1, &own, &high);
  path->root = join(shares, low, high);
}

void hr__shares_add(struct hr__bandwidth *shares, uint32_t class_, int64_t weight) {
  const hr__wide cap = shares->classes[class_].cap;
  const hr__wide size = cap * (uint64_t)(weight < 0 ? -weight : weight), change = weight < 0 ? 0 - size : size;
  for (uint32_t at = shares->paths[shares->classes[class_].path].root; at;) {
    struct hr__share_class *class_at_node = class_at(shares, at);
    class_at_node->tree_weight += (uint64_t)weight;
    class_at_node->tree_caps += change;
    if (at == class_ + 1) class_at_node->weight += (uint64_t)weight;
    if (at == class_ + 1) break;
    at = class_at_node->cap < cap ? class_at_node->right : class_at_node->left;
  }
}

uint32_t hr__shares_find(const struct hr__bandwidth *shares, const struct hr__share_path *path, hr__wide cap) {
  for (uint32_t at = path->root; at;) {
    const struct hr__share_class *class_ = class_at(shares, at);
    if (class_->cap == cap) return at - 1;
    at = class_->cap > cap ? class_->left : class_->right;
  }
  return HR_NONE;
}

/* ---- Levels ----------------------------------------------------------------------------------------------- */

/* The use of flows at a level: the sum of the caps of the classes with a cap of at most the level, and the total weight
   of the classes with a higher cap. */
struct level_use {
  hr__wide caps;
  uint64_t rising;
};

static void add_use(const struct hr__bandwidth *shares, const struct hr__share_path *path, hr__wide level,
                    struct level_use *use) {
  for (uint32_t at = path->root; at;) {
    const struct hr__share_class *class_ = class_at(shares, at);
    if (class_->cap > level) {
      use->rising += class_->weight + weight_below(shares, class_->right);
      at = class_->left;
    } else {
      use->caps += class_->cap * class_->weight + caps_below(shares, class_->left);
      at = class_->right;
    }
  }
}

static bool crosses(const struct hr__share_path *path, uint32_t resource) {
  for (uint32_t i = 0; i < path->n_resources; i++)
    if (path->resources[i] == resource) return true;
  return false;
}

/* Returns the use, at a level, of the paths through a resource that have no fixed level yet. */
static struct level_use use_of(const struct hr__bandwidth *shares, uint32_t resource, hr__wide level) {
  struct level_use use = {0, 0};
  for (uint32_t i = 0; i < shares->n_paths; i++) {
    const struct hr__share_path *path = &shares->paths[i];
    if (path->root && !path->is_set && crosses(path, resource)) add_use(shares, path, level, &use);
  }
  return use;
}

/* Returns a / b. Most dividends have at most 64 bits, for which the processor has an instruction. */
static hr__wide divide(hr__wide a, uint64_t b) {
  return a >> 64 ? a / b : (uint64_t)a / b;
}

/* Returns the highest level at which the resource has enough capacity; HR__NO_LIMIT if all flows get their cap. */
static hr__wide full_level(const struct hr__bandwidth *shares, uint32_t resource) {
  const hr__wide left = shares->left[resource];
  hr__wide level = shares->level[resource];
  for (;;) {
    const struct level_use use = use_of(shares, resource, level);
    const hr__wide used = use.caps + level * use.rising;
    if (used > left) {
      const hr__wide step = use.rising ? divide(used - left + use.rising - 1, use.rising) : level;
      level = step < level ? level - step : 0;
      continue;
    }
    if (use.rising == 0) return HR__NO_LIMIT;
    const hr__wide step = divide(left - used, use.rising);
    if (step == 0) return level;
    level += step;
  }
}

static bool is_used(const struct hr__bandwidth *shares, uint32_t resource) {
  for (uint32_t i = 0; i < shares->n_paths; i++) {
    const struct hr__share_path *path = &shares->paths[i];
    if (path->root && !path->is_set && crosses(path, resource)) return true;
  }
  return false;
}

/* Fixes the level of the paths through a resource, and subtracts their use from the other resources of these paths. */
static void set_paths(struct hr__bandwidth *shares, uint32_t resource, hr__wide level) {
  for (uint32_t i = 0; i < shares->n_paths; i++) {
    struct hr__share_path *path = &shares->paths[i];
    if (!path->root || path->is_set || !crosses(path, resource)) continue;
    struct level_use use = {0, 0};
    if (path->n_resources > 1) add_use(shares, path, level, &use);
    const hr__wide used = use.caps + level * use.rising;
    for (uint32_t k = 0; k < path->n_resources; k++)
      if (path->resources[k] != resource && shares->left[path->resources[k]] != HR__NO_LIMIT)
        shares->left[path->resources[k]] -= used;
    path->is_set = true;
    path->level = level;
  }
}

void hr__shares_solve(struct hr__bandwidth *shares) {
  for (uint32_t i = 0; i < shares->n_resources; i++) shares->left[i] = shares->capacity[i];
  for (uint32_t i = 0; i < shares->n_paths; i++) {
    shares->paths[i].is_set = false;
    shares->paths[i].level = HR__NO_LIMIT;
  }
  for (;;) {
    uint32_t first = HR_NONE;
    hr__wide lowest = HR__NO_LIMIT;
    for (uint32_t i = 0; i < shares->n_resources; i++) {
      if (shares->capacity[i] == HR__NO_LIMIT || !is_used(shares, i)) continue;
      const hr__wide level = full_level(shares, i);
      if (level != HR__NO_LIMIT) shares->level[i] = level;
      if (level < lowest) {
        lowest = level;
        first = i;
      }
    }
    if (first == HR_NONE) return;
    set_paths(shares, first, lowest);
  }
}

/* ---- Sharing among given flows ------------------------------------------------------------------------- */

/* The largest weight and the largest rate are converted to these numbers of units. Then sums do not overflow, and
   weights are exact to 2^-45 of the largest weight. */
#define LARGEST_WEIGHT 0x1p44
#define LARGEST_RATE 0x1p100

struct share_units {
  double rate, weight; /* units of a rate and of a weight of 1 */
};

static hr__wide to_units(double rate, double scale) {
  return isinf(rate) ? HR__NO_LIMIT : (hr__wide)(rate * scale);
}

static struct share_units units_of(const struct hr__flow *flows, uint32_t n_flows, const double *capacities,
                                   uint32_t n_resources) {
  double rate = 0, weight = 0;
  for (uint32_t i = 0; i < n_flows; i++) {
    if (!isinf(flows[i].demand)) rate = fmax(rate, flows[i].demand);
    weight = fmax(weight, flows[i].weight);
  }
  for (uint32_t i = 0; i < n_resources; i++)
    if (!isinf(capacities[i])) rate = fmax(rate, capacities[i]);
  return (struct share_units){rate > 0 ? LARGEST_RATE / rate : 1, weight > 0 ? LARGEST_WEIGHT / weight : 1};
}

/* Each flow has a path and a class of its own. */
static void fill(struct hr__bandwidth *shares, const struct hr__flow *flows, uint32_t n_flows, const uint32_t *crossed,
                 const double *capacities, struct share_units units) {
  for (uint32_t i = 0; i < shares->n_resources; i++) shares->capacity[i] = to_units(capacities[i], units.rate);
  for (uint32_t i = 0; i < n_flows; i++) {
    struct hr__share_path *path = &shares->paths[i];
    path->n_resources = flows[i].n;
    for (uint32_t k = 0; k < flows[i].n; k++) path->resources[k] = crossed[flows[i].first + k];
    const double weight = fmax(1, round(flows[i].weight * units.weight));
    shares->classes[i] = (struct hr__share_class){
        .cap = to_units(flows[i].demand, units.rate / weight), .weight = (uint64_t)weight, .path = i, .priority = i};
    hr__shares_insert(shares, i);
  }
}

enum hr_status hr__share_max_min(const struct hr__flow *flows, uint32_t n_flows, const uint32_t *crossed,
                                 const double *capacities, uint32_t n_resources, double *rates) {
  struct hr__bandwidth shares = {.n_paths = n_flows, .n_resources = n_resources};
  const bool made = HR__ARRAY_MAKE(shares.paths, n_flows) && HR__ARRAY_MAKE(shares.classes, n_flows) &&
                    HR__ARRAY_MAKE(shares.capacity, 3 * ((size_t)n_resources + 1));
  if (made) {
    const struct share_units units = units_of(flows, n_flows, capacities, n_resources);
    shares.left = shares.capacity + n_resources + 1;
    shares.level = shares.left + n_resources + 1;
    fill(&shares, flows, n_flows, crossed, capacities, units);
    hr__shares_solve(&shares);
    for (uint32_t i = 0; i < n_flows; i++) {
      const hr__wide rate = hr__share_rate(&shares.paths[i], shares.classes[i].cap);
      const bool is_capped = shares.classes[i].cap <= shares.paths[i].level;
      rates[i] = is_capped              ? flows[i].demand
                 : rate == HR__NO_LIMIT ? (double)INFINITY
                                        : (double)(rate * shares.classes[i].weight) / units.rate;
    }
  }
  free(shares.paths);
  free(shares.classes);
  free(shares.capacity);
  return made ? HR_OK : HR_NO_MEMORY;
}

/* ---- Data loading ----------------------------------------------------------------------------------- */

/*
 * Hits of an LRU cache: each epoch reads every item once, in a new random order. Let c be the number of items that fit
 * into the cache. The read of an item is a hit if fewer than c different items were read since the last read of this
 * item. Let u be the place of an item in one epoch and v its place in the next one, as uniform shares of the epoch.
 * Then a share (1 - u) + u * v of the items was read in between. So with x = c / d, where d is the number of items, the
 * share of hits is P(u * (1 - v) > 1 - x) = x + (1 - x) * ln(1 - x). With few items, the number of different items in
 * between is computed exactly. Consider the items that were read before the item in the new epoch. Some of these items
 * were read after it in the old epoch, so they are already counted. The number of the remaining items has a
 * hypergeometric distribution.
 */

/* ---- Data loading: need and speed ------------------------------------------------------------------- */

/* Returns the share of the reads that the remote storage serves. */
static double remote_share(const struct hr__io_job *job) {
  if (job->is_first_epoch || job->dataset <= 0) return job->dataset > 0;
  return fmax(0, 1 - job->cached / job->dataset);
}

double hr__io_speed(const struct hr__io_job *job) {
  const double share = remote_share(job);
  return share > 0 ? fmin(job->full_speed, job->remote / share) : job->full_speed;
}

double hr__io_remote_need(const struct hr__io_job *job) {
  return job->full_speed * remote_share(job);
}

/* ---- Data loading: caches --------------------------------------------------------------------------- */

double hr__cache_hits(enum hr__cache_policy policy, double share, bool same_order) {
  const double x = fmin(1, fmax(0, share));
  if (policy == HR__CACHE_UNIFORM || x >= 1) return x;
  return same_order ? 0 : x + (1 - x) * log1p(-x);
}

static double log_choose(int64_t n, int64_t k) {
  return lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1);
}

/* Returns the probability that at most `most` of `drawn` items are marked, if `marked` of the n items are marked and
   `drawn` items are drawn without replacement. */
static double at_most(int64_t n, int64_t marked, int64_t drawn, int64_t most) {
  double sum = 0;
  const int64_t first = drawn + marked > n ? drawn + marked - n : 0;
  const int64_t last = drawn < marked ? drawn : marked;
  if (most >= last) return 1;
  for (int64_t k = first; k <= most; k++)
    sum += exp(log_choose(marked, k) + log_choose(n - marked, drawn - k) - log_choose(n, drawn));
  return sum;
}

/* Returns the expected hits of an epoch under LRU: a sum over the places of an item in the old and in the new epoch. */
static double expected_hits(int64_t n_items, int64_t n_cached) {
  double hits = 0;
  for (int64_t was = n_items - n_cached + 1; was <= n_items; was++)
    for (int64_t is = 1; is <= n_items; is++)
      hits += at_most(n_items - 1, was - 1, is - 1, n_cached - 1 - (n_items - was));
  return hits / (double)n_items;
}

struct hr__cache_misses hr__cache_misses(enum hr__cache_policy policy, int64_t n_items, int64_t n_cached,
                                         bool same_order) {
  if (n_cached >= n_items) return (struct hr__cache_misses){0};
  const int64_t kept = n_items - n_cached;
  if (policy == HR__CACHE_UNIFORM) return (struct hr__cache_misses){(double)kept, kept, kept};
  if (same_order || n_cached <= 0) return (struct hr__cache_misses){(double)n_items, n_items, n_items};
  /* fewest misses: all cached items are read first; most misses: each item is read just after it was evicted */
  return (struct hr__cache_misses){(double)n_items - expected_hits(n_items, n_cached), kept, n_items};
}

/* ---- Data loading: MLPerf Storage ------------------------------------------------------------------- */

int64_t hr__mlperf_files(const struct hr__mlperf *run) {
  const double by_steps = run->min_steps * run->batch * (double)run->accelerators;
  const double by_memory = run->memory_factor * (double)run->clients * run->client_bytes / run->sample_bytes;
  return (int64_t)floor(fmax(by_steps, by_memory) / run->samples_per_file);
}
