/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The running jobs of each node, for passes by rank (ranked.c). From these lists, the module determines how many GPUs
 * of a node a waiting job could have, and which jobs of one node it must preempt, without a search among all running
 * jobs.
 *
 * The jobs of a node that may be preempted are an array, sorted in the order in which a search preempts them: the last
 * job in order first. A node has few GPUs, and a job has at least one of them, so the arrays are short. Nodes with more
 * than HR__MAX_ON_NODE GPUs are not supported; then this module is not used.
 *
 * Sets of nodes are masks of 64 bits. A node is in the set if the bit (id mod 64) is 1, so a set may contain more nodes
 * than were added to it.
 *
 * Jobs that have started at this instant cannot be preempted, but are in the arrays. If the jobs that a waiting job may
 * preempt include such jobs, the module cannot be used for this waiting job (hr__node_jobs_answer).
 */

#include "policies/queue/preemption/preemption.h"

enum { SET_BITS = 64 };

/* The part of a running job on one node. */
struct node_job {
  int64_t key, start_us;
  hr_job job;
  uint32_t gpus;
  bool alone; /* the job uses no other node */
};

struct hr__node_jobs {
  uint32_t capacity;     /* of the array of a node */
  uint32_t *count;       /* by node: length of its array */
  struct node_job *jobs; /* by node: its array */
  /* the largest key of the jobs that were added at `added_us` and had started at that instant */
  int64_t added_us, added_key;
};

bool hr__node_jobs_create(struct hr__queue *queue) {
  const struct hr_cluster *cluster = queue->cluster;
  uint32_t most = 0, n_nodes = 0;
  for (uint32_t i = 0; i < hr_cluster_pools(cluster); i++) {
    const struct hr_free_index *index = hr_cluster_free_index(cluster, (hr_pool){i});
    uint32_t gpus = hr_free_index_gpus_per_node(index), end = hr_cluster_first_node(cluster, (hr_pool){i}).id;
    end += hr_free_index_nodes(index);
    if (gpus > most) most = gpus;
    if (end > n_nodes) n_nodes = end;
  }
  if (!hr__ranked_applies(queue) || most == 0 || most > HR__MAX_ON_NODE) return true;
  struct hr__node_jobs *all = hr_arena_alloc(queue->arena, sizeof *all);
  if (!all) return false;
  *all = (struct hr__node_jobs){.capacity = most, .added_us = INT64_MIN};
  all->count = hr_arena_alloc(queue->arena, n_nodes * sizeof *all->count);
  all->jobs = hr_arena_alloc(queue->arena, (size_t)n_nodes * most * sizeof *all->jobs);
  queue->preemptor->node_jobs = all;
  return all->count && all->jobs;
}

/* ---- Running jobs --------------------------------------------------------------------------------- */

/* Returns whether a search would preempt `a` before `b`. */
static bool goes_first(const struct node_job *a, const struct node_job *b) {
  if (a->key != b->key) return a->key > b->key;
  return a->start_us != b->start_us ? a->start_us > b->start_us : a->job.id > b->job.id;
}

static void add_to_node(struct hr__node_jobs *all, uint32_t node, struct node_job added) {
  struct node_job *jobs = all->jobs + (size_t)node * all->capacity;
  uint32_t at = all->count[node]++;
  for (; at > 0 && goes_first(&added, &jobs[at - 1]); at--) jobs[at] = jobs[at - 1];
  jobs[at] = added;
}

static void remove_from_node(struct hr__node_jobs *all, uint32_t node, hr_job job) {
  struct node_job *jobs = all->jobs + (size_t)node * all->capacity;
  uint32_t at = 0, count = all->count[node];
  while (at < count && jobs[at].job.id != job.id) at++;
  if (at == count) return;
  for (all->count[node] = --count; at < count; at++) jobs[at] = jobs[at + 1];
}

void hr__node_jobs_add(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                       const struct hr_placement *placement, int64_t key) {
  struct hr__node_jobs *all = queue->preemptor->node_jobs;
  int64_t start_us = view->attempt_us[job.id];
  if (start_us == view->now_us) {
    if (all->added_us != view->now_us) all->added_key = INT64_MIN;
    all->added_us = view->now_us;
    if (key > all->added_key) all->added_key = key;
  }
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    uint32_t gpus = placement->slices[i].gpu_milli / HR_WHOLE_GPU_MILLI;
    add_to_node(all, placement->slices[i].node.id,
                (struct node_job){key, start_us, job, gpus, placement->n_slices == 1});
  }
}

void hr__node_jobs_remove(struct hr__queue *queue, hr_job job, const struct hr_placement *placement) {
  for (uint32_t i = 0; i < placement->n_slices; i++)
    remove_from_node(queue->preemptor->node_jobs, placement->slices[i].node.id, job);
}

uint64_t hr__node_set_of(const struct hr_placement *placement) {
  uint64_t nodes = 0;
  for (uint32_t i = 0; i < placement->n_slices; i++) nodes |= UINT64_C(1) << (placement->slices[i].node.id % SET_BITS);
  return nodes;
}

/* ---- Answers -------------------------------------------------------------------------------------- */

bool hr__node_jobs_answer(const struct hr__queue *queue, const struct hr_view *view, int64_t bound) {
  const struct hr__node_jobs *all = queue->preemptor->node_jobs;
  return all && (all->added_us != view->now_us || all->added_key <= bound);
}

/* A walk over the nodes of a pool that are in a set. */
struct node_walk {
  const struct hr_free_index *index;
  uint64_t nodes;             /* the bits that are not visited yet */
  uint32_t first, n, at, bit; /* at: the node, relative to `first` */
};

static struct node_walk begin_walk(const struct hr_cluster *cluster, hr_pool pool, uint64_t nodes) {
  struct node_walk walk = {.index = hr_cluster_free_index(cluster, pool), .nodes = nodes};
  walk.n = hr_free_index_nodes(walk.index);
  walk.first = hr_cluster_first_node(cluster, pool).id;
  walk.at = walk.n;
  return walk;
}

static bool next_node(struct node_walk *walk) {
  walk->at = walk->at < walk->n ? walk->at + SET_BITS : walk->at;
  while (walk->at >= walk->n && walk->nodes) {
    uint32_t bit = (uint32_t)__builtin_ctzll(walk->nodes);
    walk->nodes &= walk->nodes - 1;
    walk->at = (bit - walk->first) % SET_BITS;
  }
  return walk->at < walk->n;
}

/* Returns the array of the node at which the walk is. */
static const struct node_job *jobs_at(const struct hr__node_jobs *all, const struct node_walk *walk, uint32_t *count) {
  uint32_t node = walk->first + walk->at;
  *count = all->count[node];
  return all->jobs + (size_t)node * all->capacity;
}

uint32_t hr__node_jobs_needed(const struct hr__queue *queue, uint32_t gpus, uint32_t accept_class) {
  uint32_t least = gpus;
  if (hr_placer_is_single(queue->placer, gpus, accept_class)) return gpus;
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster); i++) {
    uint32_t size = hr_free_index_gpus_per_node(hr_cluster_free_index(queue->cluster, (hr_pool){i}));
    uint32_t rest = size ? gpus % size : 0, fewest = rest ? rest : size;
    if (fewest && fewest < least) least = fewest;
  }
  return least;
}

uint32_t hr__node_jobs_room(const struct hr__queue *queue, int64_t bound, uint64_t nodes) {
  const struct hr__node_jobs *all = queue->preemptor->node_jobs;
  uint32_t most = 0, count;
  for (uint32_t i = 0; i < hr_cluster_pools(queue->cluster); i++) {
    struct node_walk walk = begin_walk(queue->cluster, (hr_pool){i}, nodes);
    if (walk.n > SET_BITS && nodes == HR__ALL_NODES) return UINT32_MAX; /* a search is faster than these lists */
    while (next_node(&walk)) {
      const struct node_job *jobs = jobs_at(all, &walk, &count);
      uint32_t room = hr_free_index_get(walk.index, walk.at);
      for (uint32_t k = 0; k < count && jobs[k].key > bound; k++) room += jobs[k].gpus;
      if (room > most) most = room;
    }
  }
  return most;
}

/* Returns the number of jobs of a node, from the first on, that must be stopped so that at least `gpus` GPUs are free;
   `*free`: the free GPUs then. UINT32_MAX: even without all jobs with keys above the bound fewer are free. */
static uint32_t jobs_to_stop(const struct hr__node_jobs *all, const struct node_walk *walk, int64_t bound,
                             uint32_t gpus, uint32_t *free) {
  uint32_t count, k = 0;
  const struct node_job *jobs = jobs_at(all, walk, &count);
  *free = hr_free_index_get(walk->index, walk->at);
  while (*free < gpus && k < count && jobs[k].key > bound) *free += jobs[k++].gpus;
  return *free >= gpus ? k : UINT32_MAX;
}

/* Writes those of the first `count` jobs that must be stopped. A job is not stopped if enough GPUs are free without it;
   the last job is checked first. */
static void write_needed(const struct node_job *jobs, uint32_t count, uint32_t spare,
                         struct hr__node_victims *victims) {
  uint32_t needed = 0;
  for (uint32_t k = count; k-- > 0;) {
    bool is_needed = jobs[k].gpus > spare;
    if (is_needed)
      needed |= UINT32_C(1) << k;
    else
      spare -= jobs[k].gpus;
  }
  victims->count = 0;
  for (uint32_t k = 0; k < count; k++)
    if (needed >> k & 1) victims->jobs[victims->count++] = jobs[k].job;
}

/*
 * A search among all running jobs would stop jobs in their order until a node has enough free GPUs. This is the node
 * for which the last of its jobs to be stopped comes first in that order. All jobs of other nodes are then not needed.
 * If this last job uses several nodes, more than one node may have enough GPUs; then only a search finds the victims.
 */
bool hr__node_jobs_select(const struct hr__queue *queue, uint32_t pool, uint32_t gpus, int64_t bound, uint64_t nodes,
                          struct hr__node_victims *victims) {
  const struct hr__node_jobs *all = queue->preemptor->node_jobs;
  struct node_walk walk = begin_walk(queue->cluster, (hr_pool){pool}, nodes);
  const struct node_job *best = NULL, *best_jobs = NULL;
  uint32_t best_free = 0, best_count = 0, free;
  victims->count = 0;
  if (walk.n > SET_BITS && nodes == HR__ALL_NODES) return false;
  if (hr_free_index_gpus_per_node(walk.index) < gpus) return true;
  while (next_node(&walk)) {
    uint32_t count = jobs_to_stop(all, &walk, bound, gpus, &free);
    if (count == UINT32_MAX) continue;
    if (count == 0) return false;
    uint32_t unused;
    const struct node_job *jobs = jobs_at(all, &walk, &unused), *last = &jobs[count - 1];
    if (best && !goes_first(last, best)) continue;
    best = last;
    best_jobs = jobs;
    best_count = count;
    best_free = free;
  }
  if (!best) return true;
  if (!best->alone) return false;
  write_needed(best_jobs, best_count, best_free - gpus, victims);
  return true;
}
