/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Observer of the usage of the cluster: integrals over time, usage by pool, and fragmentation. Also the statistics that
 * all metrics use: time series in bounded memory, and distributions.
 *
 * Integrals. The state is constant between two passes, so each pass adds value x duration to the integrals. Copies of
 * the integrals are stored at the last submit and at the last end of a job, because utilization is reported up to these
 * two times.
 *
 * By pool. An event changes one pool, and only the integrals of this pool are advanced to the time of the event. Each
 * pool therefore has its own `until_us`. The integrals of all pools at the last end of a job are also needed. When a
 * pool changes for the first time after an end, it stores its integrals at this end in `at_last_end`. If a later job
 * ends, the next change of the pool overwrites them.
 *
 * Fragmentation, in clusters with per-GPU allocation. F is the fragmentation measure of Weng et al., "Beware of
 * fragmentation", USENIX ATC 2023 (headroom/unstable/fragmentation.h). It is an average over typical pods, which are
 * the most frequent requests of tasks in the trace (same header). Stranded GPUs and the largest gang are measured with
 * typical tasks. A typical task is a request of the trace that agrees with a typical pod in GPUs, MIG profiles, CPUs
 * and acceptable pools. In addition it has a request for memory of the node, which a typical pod does not have. GPU
 * memory is ignored in both.
 *
 * F and stranded GPUs are sums over nodes. The largest gang is the maximum over pools of a sum over the nodes of the
 * pool. The contribution of each node is stored, so that only the contributions of changed nodes are recomputed. A
 * tournament tree over the sums of the pools stores the maximum.
 */

#include "report/metrics/metrics.h"

#include "base/containers.h"
#include "headroom/policy.h"
#include "headroom/unstable/fragmentation.h"

#include <stdlib.h>
#include <string.h>

/* ---- Time series ----------------------------------------------------------------------------------- */

/* Buckets are filled without gaps from time zero. The initial width is one microsecond. Each doubling of the width
   merges the buckets in pairs. The number of doublings is the binary logarithm of the final width, about 30 for a
   run of a month in 1920 buckets. */

enum hr_status hr__buckets_init(struct hr__buckets *buckets, uint32_t room) {
  *buckets = (struct hr__buckets){.bucket = calloc(room, sizeof *buckets->bucket), .room = room, .width_us = 1};
  return buckets->bucket ? HR_OK : HR_NO_MEMORY;
}

static void merge(struct hr__bucket *into, const struct hr__bucket *other) {
  into->sum += other->sum;
  if (other->min < into->min) into->min = other->min;
  if (other->max > into->max) into->max = other->max;
}

static void double_width(struct hr__buckets *buckets) {
  for (uint32_t i = 0; i < buckets->n; i++) {
    struct hr__bucket *into = &buckets->bucket[i / 2], moved = buckets->bucket[i];
    if (i % 2 == 0)
      *into = moved;
    else
      merge(into, &moved);
  }
  buckets->n = (buckets->n + 1) / 2;
  buckets->width_us *= 2;
}

/* Adds the current value during `passed_us` microseconds to bucket `i`. `i` is the index of the last bucket or of the
   next new one. */
static void fill(struct hr__buckets *buckets, uint32_t i, int64_t passed_us) {
  const struct hr__bucket part = {(hr__wide)buckets->value * (uint64_t)passed_us, buckets->value, buckets->value};
  if (i < buckets->n)
    merge(&buckets->bucket[i], &part);
  else
    buckets->bucket[buckets->n++] = part;
}

static void buckets_advance(struct hr__buckets *buckets, int64_t to_us) {
  while (to_us / buckets->width_us >= buckets->room) double_width(buckets);
  while (buckets->until_us < to_us) {
    uint32_t i = (uint32_t)(buckets->until_us / buckets->width_us);
    int64_t left_us = (i + 1) * buckets->width_us - buckets->until_us;
    int64_t passed_us = to_us - buckets->until_us < left_us ? to_us - buckets->until_us : left_us;
    fill(buckets, i, passed_us);
    buckets->until_us += passed_us;
  }
}

void hr__buckets_set(struct hr__buckets *buckets, int64_t at_us, uint64_t value) {
  buckets_advance(buckets, at_us);
  buckets->value = value;
  fill(buckets, (uint32_t)(at_us / buckets->width_us), 0);
}

/* A value that is set exactly at the end may have created a bucket of duration 0. Such a bucket is merged into the one
   before. */
void hr__buckets_close(struct hr__buckets *buckets, int64_t end_us) {
  buckets_advance(buckets, end_us);
  if (buckets->n < 2 || hr__buckets_span_us(buckets, buckets->n - 1) > 0) return;
  buckets->n--;
  merge(&buckets->bucket[buckets->n - 1], &buckets->bucket[buckets->n]);
}

/* At least 960 buckets are used, so each of the 60 cells of a chart covers at least 16 buckets. The widths of cells
   therefore differ by at most 1/16. */
enum { ROOM = 1920 };

struct hr_timeline_summary *hr_timeline_summary_create(void) {
  struct hr_timeline_summary *timeline = calloc(1, sizeof *timeline);
  if (!timeline) return NULL;
  if (hr__buckets_init(&timeline->allocated_milli, ROOM) == HR_OK &&
      hr__buckets_init(&timeline->total_milli, ROOM) == HR_OK && hr__buckets_init(&timeline->waiting, ROOM) == HR_OK)
    return timeline;
  hr_timeline_summary_destroy(timeline);
  return NULL;
}

void hr_timeline_summary_destroy(struct hr_timeline_summary *timeline) {
  if (!timeline) return;
  hr__buckets_finish(&timeline->allocated_milli);
  hr__buckets_finish(&timeline->total_milli);
  hr__buckets_finish(&timeline->waiting);
  free(timeline);
}

static void on_timeline_instant(void *self, const struct hr_view *view) {
  struct hr_timeline_summary *timeline = self;
  hr__buckets_set(&timeline->allocated_milli, view->now_us, view->allocated_milli);
  hr__buckets_set(&timeline->total_milli, view->now_us, view->total_milli);
  hr__buckets_set(&timeline->waiting, view->now_us, view->n_waiting);
}

struct hr_observer hr_timeline_summary_observer(struct hr_timeline_summary *timeline) {
  return (struct hr_observer){.self = timeline, .on_instant = on_timeline_instant};
}

void hr_timeline_summary_close(struct hr_timeline_summary *timeline, const struct hr_result *result) {
  hr__buckets_close(&timeline->allocated_milli, result->end_us);
  hr__buckets_close(&timeline->total_milli, result->end_us);
  hr__buckets_close(&timeline->waiting, result->end_us);
}

/* ---- Order statistics ------------------------------------------------------------------------------ */

/*
 * Selects several order statistics of int64 keys at once with a quickselect that continues only in ranges that contain
 * wanted ranks. Partitioning has no branches, so selection in a million keys takes a few milliseconds, whereas sorting
 * them takes about a hundred. The pivot is an approximate median of nine keys at fixed positions. If too many pivots
 * are bad, the remaining range is sorted with heap sort, so the worst case is O(n log n).
 *
 * This part also computes the distributions of the summary from order statistics, and from sketches.
 */

enum { INSERTION_SORT_TO = 24 };

static void insertion_sort(int64_t *keys, size_t count) {
  for (size_t i = 1; i < count; i++) {
    int64_t key = keys[i];
    size_t at = i;
    for (; at > 0 && keys[at - 1] > key; at--) keys[at] = keys[at - 1];
    keys[at] = key;
  }
}

static void sift_down(int64_t *keys, size_t count, size_t at) {
  int64_t key = keys[at];
  for (size_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && keys[child + 1] > keys[child]) child++;
    if (keys[child] <= key) break;
    keys[at] = keys[child];
  }
  keys[at] = key;
}

static void heap_sort(int64_t *keys, size_t count) {
  for (size_t i = count / 2; i-- > 0;) sift_down(keys, count, i);
  for (size_t last = count; last-- > 1;) {
    int64_t key = keys[last];
    keys[last] = keys[0];
    keys[0] = key;
    sift_down(keys, last, 0);
  }
}

static int64_t median_of_3(int64_t a, int64_t b, int64_t c) {
  int64_t low = a < b ? a : b, high = a < b ? b : a;
  return c < low ? low : c > high ? high : c;
}

static int64_t median_of_9(const int64_t *keys, size_t count) {
  size_t step = (count - 1) / 8;
  int64_t median[3];
  for (size_t i = 0; i < 3; i++) {
    const int64_t *at = keys + 3 * i * step;
    median[i] = median_of_3(at[0], at[step], at[2 * step]);
  }
  return median_of_3(median[0], median[1], median[2]);
}

/* Moves the keys below `bound` to the front and returns their number. The loop has no branch on the keys, because such
   a branch would be unpredictable. */
static size_t partition_below(int64_t *keys, size_t count, int64_t bound) {
  size_t below = 0;
  for (size_t i = 0; i < count; i++) {
    int64_t key = keys[i];
    keys[i] = keys[below];
    keys[below] = key;
    below += key < bound;
  }
  return below;
}

static size_t partition_up_to(int64_t *keys, size_t count, int64_t bound) {
  return bound == INT64_MAX ? count : partition_below(keys, count, bound + 1);
}

/* A range of keys, and the wanted ranks within the range in ascending order. `first` is the rank of the first key of
   the range, `least` a lower bound of its keys. */
struct span {
  int64_t *keys;
  int64_t least;
  size_t first, count;
  const size_t *ranks;
  size_t n_ranks;
};

/* Returns the sub-range [from, to) of a span, with the wanted ranks in it. */
static struct span part_of(const struct span *span, size_t from, size_t to, int64_t least) {
  struct span part = {.keys = span->keys + from, .least = least, .first = span->first + from, .count = to - from};
  size_t skipped = 0;
  while (skipped < span->n_ranks && span->ranks[skipped] < part.first) skipped++;
  part.ranks = span->ranks + skipped;
  while (skipped + part.n_ranks < span->n_ranks && part.ranks[part.n_ranks] < span->first + to) part.n_ranks++;
  return part;
}

/* Moves the key of each wanted rank to its sorted position. If no key is below the pivot, the pivot is the minimum: all
   keys equal to it are moved to the front, which is their sorted position, and the search continues after them. The
   function recurses into the smaller part and iterates over the larger one, so the recursion depth is logarithmic. */
static void select_in(struct span span, unsigned depth_left) {
  while (span.n_ranks > 0) {
    if (span.count <= INSERTION_SORT_TO) {
      insertion_sort(span.keys, span.count);
      return;
    }
    if (depth_left-- == 0) {
      heap_sort(span.keys, span.count);
      return;
    }
    int64_t pivot = median_of_9(span.keys, span.count);
    size_t split = pivot == span.least ? 0 : partition_below(span.keys, span.count, pivot);
    if (split == 0) {
      split = partition_up_to(span.keys, span.count, pivot);
      span = part_of(&span, split, span.count, pivot);
      continue;
    }
    struct span low = part_of(&span, 0, split, span.least), high = part_of(&span, split, span.count, pivot);
    bool low_is_smaller = low.count < high.count;
    select_in(low_is_smaller ? low : high, depth_left);
    span = low_is_smaller ? high : low;
  }
}

/* Reorders `keys` so that keys[ranks[i]] has the value that it has in sorted order, and copies this value to out[i].
   Ranks must be ascending; equal ranks are allowed. No key is below `least`. */
static void select_ranks(int64_t *keys, size_t count, int64_t least, const size_t *ranks, size_t n_ranks,
                         int64_t *out) {
  unsigned depth_left = 16;
  for (size_t left = count; left > 1; left /= 2) depth_left += 2;
  select_in((struct span){keys, least, 0, count, ranks, n_ranks}, depth_left);
  for (size_t i = 0; i < n_ranks; i++) out[i] = keys[ranks[i]];
}

/* ---- Distributions --------------------------------------------------------------------------------- */

enum { N_QUANTILES = 4 };
static const double quantile_fraction[N_QUANTILES] = {0.50, 0.90, 0.95, 0.99};

/* For each quantile: the two order statistics between which it lies, and the weight of the upper one in the
   interpolation. `max` is the maximum of all keys. */
struct brackets {
  int64_t low[N_QUANTILES], high[N_QUANTILES], max;
  double weight[N_QUANTILES];
};

static struct brackets find_brackets(int64_t *keys, size_t count) {
  struct brackets brackets;
  size_t rank[2 * N_QUANTILES], sorted[2 * N_QUANTILES];
  int64_t value[2 * N_QUANTILES], least = keys[0];
  size_t n_ranks = 0;
  brackets.max = keys[0];
  for (size_t i = 1; i < count; i++) {
    least = keys[i] < least ? keys[i] : least;
    brackets.max = keys[i] > brackets.max ? keys[i] : brackets.max;
  }
  for (size_t q = 0; q < N_QUANTILES; q++) {
    double place = quantile_fraction[q] * (double)(count - 1);
    size_t low = (size_t)place;
    brackets.weight[q] = place - (double)low;
    brackets.low[q] = brackets.high[q] = least;
    rank[n_ranks++] = low;
    rank[n_ranks++] = low + 1 < count ? low + 1 : low;
  }
  if (least == brackets.max) return brackets;
  for (size_t i = 0; i < n_ranks; i++) { /* insertion sort, because with few keys the ranks are not ascending */
    size_t at = i;
    for (; at > 0 && sorted[at - 1] > rank[i]; at--) sorted[at] = sorted[at - 1];
    sorted[at] = rank[i];
  }
  select_ranks(keys, count, least, sorted, n_ranks, value);
  for (size_t q = 0, at; q < N_QUANTILES; q++) {
    for (at = 0; sorted[at] != rank[2 * q];) at++;
    brackets.low[q] = value[at];
    for (at = 0; sorted[at] != rank[2 * q + 1];) at++;
    brackets.high[q] = value[at];
  }
  return brackets;
}

static double interpolate(double low, double high, double weight) {
  return low + weight * (high - low); /* exact if low == high */
}

/* Returns the distribution of the values of keys with the given sum. `value_of` returns the value of a key; values and
   the sum are divided by `unit`. */
static struct hr_distribution distribution_of(int64_t *keys, size_t count, double sum, double (*value_of)(int64_t key),
                                              double unit) {
  if (count == 0) return (struct hr_distribution){0};
  struct brackets brackets = find_brackets(keys, count);
  double value[N_QUANTILES];
  for (size_t q = 0; q < N_QUANTILES; q++)
    value[q] = interpolate(value_of(brackets.low[q]), value_of(brackets.high[q]), brackets.weight[q]) / unit;
  return (struct hr_distribution){.count = count,
                                  .mean = sum / (double)count / unit,
                                  .p50 = value[0],
                                  .p90 = value[1],
                                  .p95 = value[2],
                                  .p99 = value[3],
                                  .max = value_of(brackets.max) / unit};
}

static double same_value(int64_t key) {
  return (double)key;
}

struct hr_distribution hr__distribution_of_us(int64_t *us, size_t count, hr__wide sum_us) {
  return distribution_of(us, count, (double)sum_us, same_value, (double)HR_SECOND_US);
}

static double slowdown_of(int64_t key) {
  double slowdown;
  memcpy(&slowdown, &key, sizeof slowdown);
  return slowdown;
}

struct hr_distribution hr__distribution_of_slowdowns(int64_t *keys, size_t count, double sum) {
  return distribution_of(keys, count, sum, slowdown_of, 1);
}

/* ---- Distributions: sketches ----------------------------------------------------------------------- */

/* Returns the middle of a bucket in microseconds. */
static int64_t value_of(uint32_t bucket) {
  if (bucket < HR__SKETCH_STEPS) return bucket;
  uint32_t shift = bucket / HR__SKETCH_STEPS - 1;
  uint64_t step = bucket % HR__SKETCH_STEPS + HR__SKETCH_STEPS;
  return (int64_t)((step << shift) + (UINT64_C(1) << shift) / 2);
}

/* Returns the approximate value of a rank, in microseconds. Ranks are counted from 0. */
static double value_at(const struct hr__sketch *sketch, uint64_t rank) {
  uint32_t bucket = 0;
  for (uint64_t below = sketch->in[0]; below <= rank; below += sketch->in[bucket]) bucket++;
  int64_t value = value_of(bucket);
  if (value < sketch->min) value = sketch->min;
  return (double)(value < sketch->max ? value : sketch->max);
}

static double quantile_s(const struct hr__sketch *sketch, double share) {
  double place = (double)(sketch->count - 1) * share;
  uint64_t rank = (uint64_t)place;
  double low = value_at(sketch, rank);
  double high = rank + 1 < sketch->count ? value_at(sketch, rank + 1) : low;
  return (low + (place - (double)rank) * (high - low)) / (double)HR_SECOND_US;
}

struct hr_distribution hr__sketch_distribution(const struct hr__sketch *sketch) {
  if (!sketch->count) return (struct hr_distribution){0};
  return (struct hr_distribution){.count = sketch->count,
                                  .mean = (double)sketch->sum / (double)sketch->count / (double)HR_SECOND_US,
                                  .p50 = quantile_s(sketch, 0.5),
                                  .p90 = quantile_s(sketch, 0.9),
                                  .p95 = quantile_s(sketch, 0.95),
                                  .p99 = quantile_s(sketch, 0.99),
                                  .max = (double)sketch->max / (double)HR_SECOND_US};
}

/* ---- Usage ----------------------------------------------------------------------------------------- */

/* The typical tasks that may run in a pool, except dominated tasks. A task is dominated if another task requests at
   most as much of every resource. Wherever the dominated task fits, the other task fits, too. */
struct hr__needs {
  struct hr_request *task; /* sorted by `gpu_milli` */
  uint32_t count;
};

struct typical_tasks {
  struct hr__needs *needs; /* [n_pools] */
  struct hr_request gang;  /* most frequent typical task with one whole GPU; if none: a request for one GPU only */
};

/* ---- Fragmentation: typical tasks ------------------------------------------------------------------ */

#define BY(x, y, member)                                                                                               \
  if ((x)->member != (y)->member) return (x)->member < (y)->member ? -1 : 1

static int by_pod(const void *a, const void *b) {
  const struct hr_request *x = a, *y = b;
  BY(x, y, accept_class);
  BY(x, y, gpus);
  BY(x, y, gpu_milli);
  BY(x, y, cpu_milli);
  BY(x, y, mig_need);
  return 0;
}

static int by_demand(const void *a, const void *b) {
  const struct hr_request *x = a, *y = b;
  BY(x, y, gpu_milli);
  BY(x, y, gpus);
  BY(x, y, cpu_milli);
  BY(x, y, mem_mib);
  BY(x, y, mig_need);
  return 0;
}

/* The typical tasks of the trace. */
struct tasks {
  struct hr_request *task;
  uint32_t count;
};

static bool find_tasks(struct tasks *tasks, struct hr_arena *arena, const struct hr_requests *requests,
                       const struct hr_typical_pods *typical, struct hr_request *gang) {
  struct hr_request *pod = hr_arena_alloc(arena, ((size_t)typical->count + 1) * sizeof *pod);
  tasks->task = hr_arena_alloc(arena, ((size_t)requests->count + 1) * sizeof *tasks->task);
  if (!pod || !tasks->task) return false;
  for (uint32_t i = 0; i < typical->count; i++) pod[i] = typical->request[i];
  if (typical->count) qsort(pod, typical->count, sizeof *pod, by_pod);
  uint64_t max_tasks = 0;
  for (uint32_t i = 0; i < requests->count; i++) {
    const struct hr_request *request = &requests->request[i];
    if (request->gpus == 0 || !bsearch(request, pod, typical->count, sizeof *pod, by_pod)) continue;
    tasks->task[tasks->count++] = *request;
    uint64_t times = requests->jobs[i] * request->tasks;
    if (request->gpus > 1 || request->gpu_milli < HR_WHOLE_GPU_MILLI || times <= max_tasks) continue;
    max_tasks = times;
    *gang = *request;
  }
  return true;
}

/* ---- Fragmentation: by pool ------------------------------------------------------------------------ */

/* Returns whether `task` requests at least as much of every resource as `than`. In MIG pools (`is_split`), GPUs are
   compared by profiles: each profile that is sufficient for `task` must also be sufficient for `than`. */
static bool requests_no_less(const struct hr_request *task, const struct hr_request *than, hr_pool pool,
                             bool is_split) {
  bool less_of_node = task->cpu_milli < than->cpu_milli || task->mem_mib < than->mem_mib;
  if (is_split) return !less_of_node && !(task->mig_profiles[pool.id] & ~than->mig_profiles[pool.id]);
  return task->gpu_milli >= than->gpu_milli && task->gpus >= than->gpus && task->cpu_milli >= than->cpu_milli &&
         task->mem_mib >= than->mem_mib;
}

/* Removes dominated tasks. Tasks are first sorted by ascending demand, so it is sufficient to compare each task with
   the tasks before it. `is_split`: GPUs of the pool are divided into instances. */
static void drop_dominated(struct hr__needs *needs, hr_pool pool, bool is_split) {
  uint32_t kept = 0;
  if (needs->count) qsort(needs->task, needs->count, sizeof *needs->task, by_demand);
  for (uint32_t i = 0; i < needs->count; i++) {
    uint32_t k = 0;
    while (k < kept && !requests_no_less(&needs->task[i], &needs->task[k], pool, is_split)) k++;
    if (k == kept) needs->task[kept++] = needs->task[i];
  }
  needs->count = kept;
}

/* Finds the typical tasks of a pool. `scratch` has space for all typical tasks. Returns false if out of memory. */
static bool make_needs(struct hr__needs *needs, struct hr_arena *arena, const struct hr_cluster *cluster, hr_pool pool,
                       const struct tasks *tasks, struct hr_request *scratch) {
  *needs = (struct hr__needs){scratch, 0};
  for (uint32_t i = 0; i < tasks->count; i++) {
    if (!hr_cluster_accepts(cluster, tasks->task[i].accept_class, pool)) continue;
    struct hr_request *task = &needs->task[needs->count++];
    *task = tasks->task[i];
    task->gpu_mem_mib = 0;
    task->cpu_milli = hr_pool_cpu_milli(hr_cluster_pool_spec(cluster, pool), task);
  }
  drop_dominated(needs, pool, hr_cluster_pool_spec(cluster, pool)->mig != NULL);
  needs->task = hr_arena_alloc(arena, ((size_t)needs->count + 1) * sizeof *needs->task);
  for (uint32_t i = 0; needs->task && i < needs->count; i++) needs->task[i] = scratch[i];
  return needs->task != NULL;
}

/* Allocates from the arena; returns NULL if out of memory. */
static struct typical_tasks *typical_tasks_create(struct hr_arena *arena, const struct hr_cluster *cluster,
                                                  const struct hr_typical_pods *typical) {
  uint32_t n_pools = hr_cluster_pools(cluster);
  struct typical_tasks *self = hr_arena_alloc(arena, sizeof *self);
  if (!self) return NULL;
  self->gang = (struct hr_request){.tasks = 1, .gpus = 1, .gpu_milli = HR_WHOLE_GPU_MILLI};
  self->needs = hr_arena_alloc(arena, ((size_t)n_pools + 1) * sizeof *self->needs);
  struct tasks tasks = {0};
  if (!self->needs || !find_tasks(&tasks, arena, hr_cluster_requests(cluster), typical, &self->gang)) return NULL;
  struct hr_request *scratch = hr_arena_alloc(arena, ((size_t)tasks.count + 1) * sizeof *scratch);
  if (!scratch) return NULL;
  for (uint32_t i = 0; i < n_pools; i++)
    if (!make_needs(&self->needs[i], arena, cluster, (hr_pool){i}, &tasks, scratch)) return NULL;
  return self;
}

/* ---- Fragmentation: counts of one node ------------------------------------------------------------- */

static uint32_t stranded_instances_milli(const struct hr__needs *needs, const struct hr_gpu_inventory *inventory,
                                         hr_node node) {
  bool any = false;
  for (uint32_t i = 0; i < needs->count; i++) {
    const struct hr_request *task = &needs->task[i];
    if (task->gpus != 1 || !hr_gpu_inventory_fitting_gpus(inventory, task, node)) continue;
    if (inventory->cpu_milli[node.id] >= task->cpu_milli && inventory->mem_mib[node.id] >= task->mem_mib) return 0;
    any = true;
  }
  return any ? inventory->left_milli[node.id] : 0;
}

/* Returns the idle milli-GPUs of the node if they are stranded, otherwise 0. They are stranded if the idle GPUs are
   sufficient for at least one task, but the free CPU and memory are not sufficient for any of these tasks. */
static uint32_t hr__stranded_milli(const struct typical_tasks *tasks, const struct hr_gpu_inventory *inventory,
                                   hr_node node) {
  const struct hr__needs *needs = &tasks->needs[inventory->pool[node.id]];
  uint32_t n_fitting = 0, for_milli = 0;
  bool any = false;
  if (inventory->cpu_milli[node.id] == HR_NONE && inventory->mem_mib[node.id] == UINT64_MAX) return 0; /* unlimited */
  if (hr_gpu_inventory_mig(inventory, node)) return stranded_instances_milli(needs, inventory, node);
  if (needs->count == 0 || hr_gpu_inventory_fits(inventory, &needs->task[0], node)) return 0;
  for (uint32_t i = 0; i < needs->count; i++) {
    const struct hr_request *task = &needs->task[i];
    if (task->gpu_milli != for_milli)
      n_fitting = (uint32_t)__builtin_popcountll(hr_gpu_inventory_fitting_gpus(inventory, task, node));
    for_milli = task->gpu_milli;
    if (n_fitting == 0) break; /* the remaining tasks request more of each GPU */
    if (n_fitting < task->gpus) continue;
    if (inventory->cpu_milli[node.id] >= task->cpu_milli && inventory->mem_mib[node.id] >= task->mem_mib) return 0;
    any = true;
  }
  return any ? inventory->left_milli[node.id] : 0;
}

/* Returns the number of tasks of the gang that fit on the node. */
static uint32_t gang_on(const struct typical_tasks *tasks, const struct hr_gpu_inventory *inventory, hr_node node) {
  const struct hr_request *gang = &tasks->gang;
  bool is_split = hr_gpu_inventory_mig(inventory, node) != NULL;
  uint64_t max_tasks = is_split ? (uint64_t)__builtin_popcountll(hr_gpu_inventory_fitting_gpus(inventory, gang, node))
                                : hr_gpu_inventory_idle_gpus(inventory, node);
  uint64_t cpu_milli = inventory->cpu_milli[node.id], mem_mib = inventory->mem_mib[node.id];
  uint32_t asked_milli = hr_gpu_inventory_cpu_milli(inventory, gang, node);
  if (cpu_milli != HR_NONE && max_tasks * asked_milli > cpu_milli) max_tasks = cpu_milli / asked_milli;
  if (mem_mib != UINT64_MAX && gang->mem_mib && max_tasks > mem_mib / gang->mem_mib)
    max_tasks = mem_mib / gang->mem_mib;
  return (uint32_t)max_tasks;
}

struct fragments_part {
  uint64_t fragment;
  uint32_t stranded_milli, gang;
};

struct hr__fragments {
  struct hr_arena arena;
  const struct hr_cluster *cluster;
  const struct hr_gpu_inventory *inventory;
  const struct hr_typical_pods *typical;
  struct hr_acceptance acceptance;
  struct hr_fragmentation *fragmentation;
  struct typical_tasks *tasks;
  struct fragments_part *part; /* [n_nodes]: contribution of each node at its last count */
  uint32_t *changed;           /* [n_nodes]: the first n_changed elements are nodes to recompute */
  uint8_t *has_changed;        /* [n_nodes]: the node is in `changed` */
  uint64_t *gang;              /* [2 x n_leaves]: tournament tree; the leaf of pool i is at n_leaves + i */
  uint32_t n_changed, n_leaves;
  struct hr__fragment_counts counts;
};

/* ---- Fragmentation: life cycle --------------------------------------------------------------------- */

static bool make_acceptance(struct hr__fragments *self) {
  const struct hr_requests *requests = hr_cluster_requests(self->cluster);
  uint32_t n_pools = hr_cluster_pools(self->cluster), n_classes = 0;
  for (uint32_t i = 0; i < requests->count; i++)
    if (requests->request[i].accept_class >= n_classes) n_classes = requests->request[i].accept_class + 1;
  uint8_t *row = hr_arena_alloc(&self->arena, (size_t)n_classes * n_pools + 1);
  if (!row) return false;
  for (uint32_t class_ = 0; class_ < n_classes; class_++)
    for (uint32_t pool = 0; pool < n_pools; pool++)
      row[(size_t)class_ * n_pools + pool] = hr_cluster_accepts(self->cluster, class_, (hr_pool){pool});
  self->acceptance = (struct hr_acceptance){row, n_classes, n_pools};
  return true;
}

static bool make_counts(struct hr__fragments *self) {
  size_t n_nodes = (size_t)self->inventory->n_nodes + 1;
  for (self->n_leaves = 1; self->n_leaves < hr_cluster_pools(self->cluster);) self->n_leaves *= 2;
  self->part = hr_arena_alloc(&self->arena, n_nodes * sizeof *self->part);
  self->changed = hr_arena_alloc(&self->arena, n_nodes * sizeof *self->changed);
  self->has_changed = hr_arena_alloc(&self->arena, n_nodes);
  self->gang = hr_arena_alloc(&self->arena, (size_t)2 * self->n_leaves * sizeof *self->gang);
  return self->part && self->changed && self->has_changed && self->gang;
}

static void mark_node(struct hr__fragments *self, hr_node node) {
  if (self->has_changed[node.id]) return;
  self->has_changed[node.id] = 1;
  self->changed[self->n_changed++] = node.id;
}

static bool make(struct hr__fragments *self) {
  struct hr_arena *arena = &self->arena;
  self->typical = hr_typical_pods_create(arena, hr_cluster_requests(self->cluster));
  if (!self->typical || !make_acceptance(self) || !make_counts(self)) return false;
  self->tasks = typical_tasks_create(arena, self->cluster, self->typical);
  self->fragmentation = hr_fragmentation_create(arena, self->typical, &self->acceptance, self->inventory);
  return self->tasks && self->fragmentation;
}

static void fragments_destroy(struct hr__fragments *fragments) {
  if (!fragments) return;
  hr__arena_finish(&fragments->arena);
  free(fragments);
}

static struct hr__fragments *fragments_create(const struct hr_cluster *cluster) {
  struct hr__fragments *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  self->cluster = cluster;
  self->inventory = hr_cluster_gpu_inventory(cluster);
  if (!make(self)) {
    fragments_destroy(self);
    return NULL;
  }
  for (uint32_t node = 0; node < self->inventory->n_nodes; node++) mark_node(self, (hr_node){node});
  return self;
}

/* ---- Fragmentation: counting ----------------------------------------------------------------------- */

static void fragments_note(struct hr__fragments *fragments, const struct hr_event *event) {
  if (event->node.id != HR_NONE) mark_node(fragments, event->node);
  if (!event->placement) return;
  for (uint32_t i = 0; i < event->placement->n_slices; i++) mark_node(fragments, event->placement->slices[i].node);
}

/* Returns the contribution of a node. A closed node contributes nothing, because no job can start on it. */
static struct fragments_part part_of_node(struct hr__fragments *self, hr_node node) {
  if (self->inventory->closed[node.id]) return (struct fragments_part){0};
  return (struct fragments_part){.fragment = hr_fragmentation_of(self->fragmentation, node),
                                 .stranded_milli = hr__stranded_milli(self->tasks, self->inventory, node),
                                 .gang = gang_on(self->tasks, self->inventory, node)};
}

static void set_gang(struct hr__fragments *self, uint32_t pool, uint64_t gang) {
  uint32_t at = self->n_leaves + pool;
  self->gang[at] = gang;
  while (at > 1) {
    uint64_t one = self->gang[at], other = self->gang[at ^ 1];
    at /= 2;
    self->gang[at] = one > other ? one : other;
  }
}

static void count_node(struct hr__fragments *self, hr_node node) {
  struct fragments_part *before = &self->part[node.id], after = part_of_node(self, node);
  uint32_t pool = self->inventory->pool[node.id];
  self->counts.fragment += (hr__wide)after.fragment - before->fragment;
  self->counts.stranded_milli += (uint64_t)after.stranded_milli - before->stranded_milli;
  if (after.gang != before->gang) set_gang(self, pool, self->gang[self->n_leaves + pool] + after.gang - before->gang);
  *before = after;
}

static struct hr__fragment_counts fragments_count(struct hr__fragments *fragments) {
  for (uint32_t i = 0; i < fragments->n_changed; i++) {
    count_node(fragments, (hr_node){fragments->changed[i]});
    fragments->has_changed[fragments->changed[i]] = 0;
  }
  fragments->n_changed = 0;
  fragments->counts.largest_gang = fragments->gang[1];
  return fragments->counts;
}

/* ---- Usage by pool --------------------------------------------------------------------------------- */

static void by_pool_destroy(struct hr__by_pool *by_pool);

static struct hr__by_pool *by_pool_create(const struct hr_cluster *cluster, uint32_t n_jobs) {
  struct hr__by_pool *self = calloc(1, sizeof *self);
  uint32_t n_pools = hr_cluster_pools(cluster);
  if (!self) return NULL;
  self->cluster = cluster;
  self->pools = calloc(n_pools, sizeof *self->pools);
  self->last = malloc(((size_t)n_jobs + 1) * sizeof *self->last);
  if (!self->pools || !self->last) {
    by_pool_destroy(self);
    return NULL;
  }
  for (uint32_t pool = 0; pool < n_pools; pool++)
    self->pools[pool].total_milli = hr_cluster_total_milli(cluster, (hr_pool){pool});
  for (uint32_t job = 0; job < n_jobs; job++) self->last[job] = HR_NONE;
  return self;
}

static void by_pool_destroy(struct hr__by_pool *by_pool) {
  if (!by_pool) return;
  free(by_pool->pools);
  free(by_pool->last);
  free(by_pool);
}

static void pool_advance(struct hr__usage_pool *pool, int64_t now_us, int64_t last_end_us) {
  if (pool->until_us <= last_end_us) pool->at_last_end = hr__pool_time_at(pool, last_end_us);
  pool->now = hr__pool_time_at(pool, now_us);
  pool->until_us = now_us;
}

static void note_job(struct hr__by_pool *self, const struct hr_trace *trace, const struct hr_event *event) {
  bool starts = event->kind == HR_EVENT_START;
  if (!starts && !hr__releases(event->kind)) return;
  struct hr__usage_pool *pool = &self->pools[event->placement->pool.id];
  uint64_t milli = hr_placement_milli(event->placement, trace, event->job);
  pool_advance(pool, event->at_us, self->last_end_us);
  pool->allocated_milli += starts ? milli : -milli;
  if (starts) self->last[event->job.id] = event->placement->pool.id;
  if (event->kind == HR_EVENT_END) self->last_end_us = event->at_us;
}

/* Updates the total of a pool after a node event. Observers are notified after the cluster has changed, so the total is
   read from the cluster. */
static void note_node(struct hr__by_pool *self, const struct hr_event *event) {
  struct hr__usage_pool *pool = &self->pools[event->pool.id];
  pool_advance(pool, event->at_us, self->last_end_us);
  pool->total_milli = hr_cluster_total_milli(self->cluster, event->pool);
}

/* Updates the usage by pool. Must be called for every event. */
static void by_pool_note(struct hr__by_pool *by_pool, const struct hr_trace *trace, const struct hr_event *event) {
  if (event->placement) note_job(by_pool, trace, event);
  if (event->pool.id != HR_NONE) note_node(by_pool, event);
}

/* ---- Usage of the cluster -------------------------------------------------------------------------- */

struct hr_usage *hr_usage_create(const struct hr_trace *trace) {
  struct hr_usage *usage = calloc(1, sizeof *usage);
  if (usage) usage->last_submit_us = hr_trace_last_submit_us(trace);
  return usage;
}

void hr_usage_destroy(struct hr_usage *usage) {
  if (!usage) return;
  free(usage->resized_milli);
  fragments_destroy(usage->fragments);
  by_pool_destroy(usage->by_pool);
  free(usage);
}

/* Creates the state that depends on the cluster, which is unknown when the observer is created. Called at the first
   event or pass. */
static void begin(struct hr_usage *usage, const struct hr_view *view) {
  usage->begun = true;
  if (!view->cluster) return;
  if (view->jobs->min_gpus || view->jobs->max_gpus) {
    usage->resized_milli = calloc((size_t)view->jobs->n_jobs + 1, sizeof *usage->resized_milli);
    usage->out_of_memory = !usage->resized_milli;
  }
  if (hr_cluster_pools(view->cluster) > 1) {
    usage->by_pool = by_pool_create(view->cluster, view->jobs->n_jobs);
    usage->out_of_memory |= !usage->by_pool;
  }
  if (!hr_cluster_gpu_inventory(view->cluster)) return;
  usage->fragments = fragments_create(view->cluster);
  usage->out_of_memory |= !usage->fragments;
  if (usage->fragments) usage->fragment_pods = usage->fragments->typical->total;
  usage->min_gang = UINT64_MAX;
}

/* Counts resizes. A resize consists of two events of a job: its placement ends, and a new placement starts. Events of
   other jobs may be between them. */
static void note_resize(struct hr_usage *usage, const struct hr_event *event) {
  uint64_t milli = 0;
  for (uint32_t i = 0; i < event->placement->n_slices; i++) milli += event->placement->slices[i].gpu_milli;
  if (event->kind == HR_EVENT_START) {
    usage->grows += milli > usage->resized_milli[event->job.id];
    usage->shrinks += milli < usage->resized_milli[event->job.id];
  }
  usage->resized_milli[event->job.id] = milli;
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr_usage *usage = self;
  if (!usage->begun) begin(usage, view);
  if (event->kind == HR_EVENT_END) usage->ended = true;
  if (event->kind == HR_EVENT_PREEMPT && event->reason != HR_REASON_RESIZED) usage->preemptions++;
  if (event->reason == HR_REASON_RESIZED && usage->resized_milli) note_resize(usage, event);
  if (usage->by_pool) by_pool_note(usage->by_pool, view->jobs, event);
  if (usage->fragments) fragments_note(usage->fragments, event);
}

static void usage_advance(struct hr_usage *usage, int64_t now_us) {
  uint64_t passed_us = (uint64_t)(now_us - usage->now.until_us);
  usage->now.waiting += (hr__wide)usage->waiting * passed_us;
  usage->now.allocated_milli += (hr__wide)usage->allocated_milli * passed_us;
  usage->now.total_milli += (hr__wide)usage->total_milli * passed_us;
  usage->now.fragment += usage->counts.fragment * passed_us;
  usage->now.stranded_milli += (hr__wide)usage->counts.stranded_milli * passed_us;
  usage->now.largest_gang += (hr__wide)usage->counts.largest_gang * passed_us;
  usage->now.until_us = now_us;
}

/* Updates the fragmentation counts, the maximum of the fragmented share, and the minimum of the largest gang. Shares
   are compared by cross multiplication of integers, which is exact. */
static void count_fragments(struct hr_usage *usage) {
  usage->counts = fragments_count(usage->fragments);
  struct hr__fragment_share *max = &usage->max_share, now = {usage->counts.fragment, usage->total_milli};
  if (now.total_milli > 0 &&
      (max->total_milli == 0 || now.fragment * max->total_milli > max->fragment * now.total_milli))
    *max = now;
  if (usage->min_gang > usage->counts.largest_gang) usage->min_gang = usage->counts.largest_gang;
}

static void on_usage_instant(void *self, const struct hr_view *view) {
  struct hr_usage *usage = self;
  usage_advance(usage, view->now_us);
  if (!usage->submits_over && view->now_us >= usage->last_submit_us) {
    usage->at_last_submit = usage->now;
    usage->submits_over = true;
  }
  if (usage->ended) usage->at_last_end = usage->now;
  usage->ended = false;
  usage->waiting = view->n_waiting;
  usage->allocated_milli = view->allocated_milli;
  usage->total_milli = view->total_milli;
  if (usage->max_waiting < view->n_waiting) usage->max_waiting = view->n_waiting;
  if (!usage->begun) begin(usage, view);
  if (usage->fragments) count_fragments(usage);
}

struct hr_observer hr_usage_observer(struct hr_usage *usage) {
  return (struct hr_observer){.self = usage, .on_event = on_event, .on_instant = on_usage_instant};
}
