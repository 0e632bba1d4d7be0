/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes, GPUs and instances of the naive scheduler for GPUs: where a task fits, and which GPUs it gets. */

#include "naive_gpus_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void naive_require(bool right, const char *what, const char *value) {
  if (right) return;
  fprintf(stderr, "the naive scheduler for GPUs: %s '%s' is not implemented\n", what, value);
  abort();
}

/* ---- States ----------------------------------------------------------------------------------------- */

int naive_first_node(const struct naive_gpus_input *in, int pool) {
  int first = 0;
  for (int p = 0; p < pool; p++) first += in->pool[p].nodes;
  return first;
}

static int pool_of(const struct naive_gpus_input *in, int node) {
  int pool = 0;
  while (node >= naive_first_node(in, pool + 1)) pool++;
  return pool;
}

void naive_node_init(const struct naive_gpus_input *in, struct naive_state *state, int node) {
  int pool = pool_of(in, node);
  const struct naive_gpus_pool *spec = &in->pool[pool];
  struct naive_node *made = &state->node[node];
  *made = (struct naive_node){.pool = pool, .up = true, .cpu = spec->cpu, .mem = spec->mem};
  for (int g = 0; g < spec->gpus_per_node; g++) {
    made->gpu[g] = (struct naive_gpu){.left = spec->capacity, .mem = spec->gpu_mem};
    memset(made->gpu[g].taken, -1, sizeof made->gpu[g].taken);
    if (spec->mig && spec->mig->mode != NAIVE_MIG_ON_DEMAND) made->gpu[g].layout = spec->mig->layout_of_gpu[g];
  }
}

void naive_state_init(const struct naive_gpus_input *in, struct naive_state *state) {
  memset(state, 0, sizeof *state);
  state->n_nodes = naive_first_node(in, in->n_pools);
  for (int i = 0; i < state->n_nodes; i++) naive_node_init(in, state, i);
}

bool naive_is_empty(const struct naive_node *node) {
  return node->tasks == 0;
}

/* ---- MIG: instances --------------------------------------------------------------------------------- */

bool naive_mig_may_add(const struct naive_mig_type *type, const signed char *begins, int profile, int start) {
  const struct naive_mig_profile *added = &type->profile[profile];
  int compute = added->compute;
  bool is_start = false, used[2 * NAIVE_GPUS_SLICES] = {false};
  for (const int *at = added->starts; *at >= 0; at++) is_start = is_start || *at == start;
  if (!is_start || start + added->memory > type->memory) return false;
  for (int s = 0; s < NAIVE_GPUS_SLICES; s++) {
    if (begins[s] < 0) continue;
    const struct naive_mig_profile *other = &type->profile[(int)begins[s]];
    compute += other->compute;
    if (strstr(other->name, "+me") && strstr(added->name, "+me")) return false;
    for (int i = 0; i < other->memory; i++) used[s + i] = true;
  }
  for (int i = 0; i < added->memory; i++)
    if (used[start + i]) return false;
  return compute <= type->compute;
}

/* Returns the number of instances of the profile that can be added, if none of another profile is added. All of them
   have the same size, so taking the lowest free start each time is optimal. */
static int mig_room(const struct naive_mig_type *type, const signed char *begins, int profile) {
  signed char with[NAIVE_GPUS_SLICES];
  int room = 0;
  memcpy(with, begins, sizeof with);
  for (int start = 0; start < NAIVE_GPUS_SLICES; start++) {
    if (!naive_mig_may_add(type, with, profile, start)) continue;
    with[start] = (signed char)profile;
    room++;
  }
  return room;
}

/* Returns whether an instance of the profile suffices for a task of the job. A share is rounded up to compute slices,
   but an excess of less than a thousandth of a GPU does not count. */
static bool suffices(const struct naive_mig_type *type, const struct naive_gpus_job *job, int profile) {
  const struct naive_mig_profile *is = &type->profile[profile];
  if (job->gpus != 1 || is->mem_mib < job->gpu_mem) return false;
  if (job->profile) return strcmp(job->profile, is->name) == 0;
  return !strstr(is->name, "+me") && is->compute * 1000 > (job->milli - 1) * type->compute;
}

/* Returns whether some job of the trace may use the profile. */
static bool is_asked(const struct naive_gpus_input *in, const struct naive_mig_type *type, int profile) {
  for (int j = 0; j < in->n_jobs; j++)
    if ((in->job[j].profile || !in->strict) && suffices(type, &in->job[j], profile)) return true;
  return false;
}

/* Returns the start after which most instances of the largest requested profile can be added. If starts are equal in
   this respect, the instances of the next smaller profile decide, and so on. Of equal starts, returns the lowest.
   Returns -1 if the instance does not fit. */
static int best_start(const struct naive_gpus_input *in, const struct naive_mig_type *type, const signed char *begins,
                      int profile) {
  int best = -1, best_room[16] = {0};
  bool asked[16] = {false};
  for (int i = 0; i < type->n_profiles; i++) asked[i] = is_asked(in, type, i);
  for (int start = 0; start < NAIVE_GPUS_SLICES; start++) {
    if (!naive_mig_may_add(type, begins, profile, start)) continue;
    signed char with[NAIVE_GPUS_SLICES];
    int room[16] = {0}, p = 0;
    memcpy(with, begins, sizeof with);
    with[start] = (signed char)profile;
    for (int i = 0; i < type->n_profiles; i++) room[i] = asked[i] ? mig_room(type, with, i) : 0;
    while (p < type->n_profiles - 1 && room[p] == best_room[p]) p++;
    if (best >= 0 && room[p] <= best_room[p]) continue;
    best = start;
    memcpy(best_room, room, sizeof room);
  }
  return best;
}

/* An instance that a task would get on a GPU. */
struct instance {
  int profile, start, layout;
};

/* Finds the first idle instance of the smallest sufficient profile in a layout. Returns false if no instance suffices.
 */
static bool idle_instance(const struct naive_mig *mig, int layout, const signed char *taken,
                          const struct naive_gpus_job *job, struct instance *found) {
  for (int profile = mig->type->n_profiles - 1; profile >= 0; profile--)
    for (int start = 0; start < NAIVE_GPUS_SLICES; start++)
      if (mig->layout[layout][start] == profile && taken[start] < 0 && suffices(mig->type, job, profile)) {
        *found = (struct instance){profile, start, layout};
        return true;
      }
  return false;
}

static int n_sufficient(const struct naive_mig *mig, int layout, const struct naive_gpus_job *job) {
  int count = 0;
  for (int start = 0; start < NAIVE_GPUS_SLICES; start++)
    count += mig->layout[layout][start] >= 0 && suffices(mig->type, job, mig->layout[layout][start]);
  return count;
}

/* Chooses an instance on a GPU without tasks. A job with one task keeps the layout of the GPU if it has a sufficient
   instance, else takes the first layout with the smallest sufficient profile. A gang takes the layout with the most
   sufficient instances; of equal ones the present layout, then the first. Returns false if no instance suffices. */
static bool instance_on_empty(const struct naive_mig *mig, const struct naive_gpu *gpu,
                              const struct naive_gpus_job *job, struct instance *found) {
  int best = gpu->layout;
  struct instance other;
  if (job->tasks == 1 && idle_instance(mig, gpu->layout, gpu->taken, job, found)) return true;
  if (job->tasks == 1) {
    bool any = false;
    for (int layout = 0; layout < mig->n_layouts; layout++) {
      if (!idle_instance(mig, layout, gpu->taken, job, &other) || (any && other.profile <= found->profile)) continue;
      *found = other;
      any = true;
    }
    return any;
  }
  for (int layout = 0; layout < mig->n_layouts; layout++)
    if (n_sufficient(mig, layout, job) > n_sufficient(mig, best, job)) best = layout;
  return idle_instance(mig, best, gpu->taken, job, found);
}

static bool find_instance(const struct naive_gpus_input *in, const struct naive_gpus_pool *pool,
                          const struct naive_gpu *gpu, const struct naive_gpus_job *job, struct instance *found) {
  const struct naive_mig *mig = pool->mig;
  if (gpu->full) return false;
  for (int p = mig->type->n_profiles - 1; mig->mode == NAIVE_MIG_ON_DEMAND && p >= 0; p--) {
    if (!suffices(mig->type, job, p)) continue;
    int start = best_start(in, mig->type, gpu->taken, p);
    *found = (struct instance){p, start, 0};
    if (start >= 0) return true;
  }
  if (mig->mode == NAIVE_MIG_ON_DEMAND) return false;
  if (mig->mode == NAIVE_MIG_DYNAMIC && gpu->tasks == 0) return instance_on_empty(mig, gpu, job, found);
  return idle_instance(mig, gpu->layout, gpu->taken, job, found);
}

/* Returns whether a task can get an instance. */
static bool has_instance(const struct naive_gpus_input *in, const struct naive_gpus_pool *pool,
                         const struct naive_gpu *gpu, const struct naive_gpus_job *job) {
  const struct naive_mig_type *type = pool->mig->type;
  struct instance unused;
  if (pool->mig->mode != NAIVE_MIG_ON_DEMAND || gpu->full) return find_instance(in, pool, gpu, job, &unused);
  for (int p = 0; p < type->n_profiles; p++)
    for (int start = 0; start < NAIVE_GPUS_SLICES && suffices(type, job, p); start++)
      if (naive_mig_may_add(type, gpu->taken, p, start)) return true;
  return false;
}

/* Returns the size of an instance in thousandths of a GPU. */
static long milli_of_instance(const struct naive_mig_type *type, int profile, int start) {
  int end = start + type->profile[profile].compute;
  return end * 1000L / type->compute - start * 1000L / type->compute;
}

/* ---- What fits -------------------------------------------------------------------------------------- */

static long milli_in(const struct naive_gpus_pool *pool, const struct naive_gpus_job *job) {
  if (pool->replicas) return 1000 / pool->replicas;
  return pool->whole ? 1000 : job->milli;
}

static long cpu_in(const struct naive_gpus_pool *pool, const struct naive_gpus_job *job) {
  if (job->cpu || job->gpus == 0) return job->cpu;
  long milli = pool->mig ? job->milli : milli_in(pool, job);
  return (job->gpus * milli * pool->cpu_per_gpu + 999) / 1000;
}

static bool gpu_fits(const struct naive_gpus_input *in, const struct naive_gpus_pool *pool,
                     const struct naive_gpus_job *job, const struct naive_gpu *gpu) {
  if (pool->mig) return job->gpus == 1 && has_instance(in, pool, gpu, job);
  if (pool->clients && gpu->tasks >= pool->clients) return false;
  if (pool->replicas && pool->gpu_mem >= 0 && job->gpu_mem > pool->gpu_mem / pool->replicas) return false;
  return gpu->left >= milli_in(pool, job) && (gpu->mem < 0 || gpu->mem >= job->gpu_mem);
}

static bool node_fits(const struct naive_gpus_input *in, const struct naive_node *node,
                      const struct naive_gpus_job *job) {
  const struct naive_gpus_pool *pool = &in->pool[node->pool];
  int count = 0;
  if (!node->up || node->dedicated || (job->dedicated && node->tasks)) return false;
  if (node->cpu >= 0 && node->cpu < cpu_in(pool, job)) return false;
  if (node->mem >= 0 && node->mem < job->mem) return false;
  for (int g = 0; g < pool->gpus_per_node; g++) count += gpu_fits(in, pool, job, &node->gpu[g]);
  return count >= job->gpus;
}

/* ---- Which GPUs ------------------------------------------------------------------------------------- */

/* Returns whether a MIG task prefers GPU a to GPU b: a GPU that keeps its layout, then the smallest profile, then the
   least free capacity. */
static bool prefers(const struct naive_gpu *a, struct instance on_a, const struct naive_gpu *b, struct instance on_b) {
  bool a_keeps = on_a.layout == a->layout, b_keeps = on_b.layout == b->layout;
  if (a_keeps != b_keeps) return a_keeps;
  if (on_a.profile != on_b.profile) return on_a.profile > on_b.profile;
  return a->left < b->left;
}

/* Selects the GPUs of a task among a set, one by one: those with the least free capacity or, with `widest`, with the
   most. False: there are not enough. */
static bool pick(const struct naive_gpus_input *in, const struct naive_node *node, const struct naive_gpus_job *job,
                 uint64_t among, bool widest, struct naive_gpus_slice *slice) {
  const struct naive_gpus_pool *pool = &in->pool[node->pool];
  for (int i = 0; i < job->gpus; i++) {
    int best = -1;
    struct instance on_best = {0, 0, 0}, on_gpu = {0, 0, 0};
    for (int g = 0; g < pool->gpus_per_node; g++) {
      const struct naive_gpu *gpu = &node->gpu[g];
      if (!(among >> g & 1) || slice->gpus >> g & 1 || !gpu_fits(in, pool, job, gpu)) continue;
      if (pool->mig) find_instance(in, pool, gpu, job, &on_gpu);
      bool better = best < 0 || (widest ? gpu->left > node->gpu[best].left : gpu->left < node->gpu[best].left);
      if (best >= 0 && pool->mig && !widest) better = prefers(gpu, on_gpu, &node->gpu[best], on_best);
      if (!better) continue;
      best = g;
      on_best = on_gpu;
    }
    if (best < 0) return false;
    slice->gpus |= UINT64_C(1) << best;
    slice->profile = on_best.profile;
    slice->start = on_best.start;
    slice->layout = on_best.layout;
  }
  return true;
}

/* ---- Taking and giving ------------------------------------------------------------------------------ */

/* Aborts unless an instance is idle, and belongs to the layout of the GPU. */
static void check_instance(const struct naive_mig *mig, const struct naive_gpu *gpu,
                           const struct naive_gpus_slice *slice) {
  bool on_demand = mig->mode == NAIVE_MIG_ON_DEMAND;
  bool right = on_demand ? naive_mig_may_add(mig->type, gpu->taken, slice->profile, slice->start)
                         : mig->layout[slice->layout][slice->start] == slice->profile && gpu->taken[slice->start] < 0;
  bool keeps = gpu->layout == slice->layout || (mig->mode == NAIVE_MIG_DYNAMIC && gpu->tasks == 0);
  naive_require(right && keeps, "two tasks on an instance of", mig->type->profile[slice->profile].name);
}

static void change(const struct naive_gpus_input *in, struct naive_state *state, const struct naive_gpus_job *job,
                   const struct naive_gpus_slice *slice, int by) {
  struct naive_node *node = &state->node[slice->node];
  const struct naive_gpus_pool *pool = &in->pool[node->pool];
  node->tasks += by;
  if (job->dedicated) node->dedicated += by;
  if (pool->cpu >= 0) node->cpu -= by * cpu_in(pool, job);
  if (pool->mem >= 0) node->mem -= by * job->mem;
  for (int g = 0; g < pool->gpus_per_node; g++) {
    struct naive_gpu *gpu = &node->gpu[g];
    if (!(slice->gpus >> g & 1)) continue;
    if (pool->mig) {
      if (by > 0) check_instance(pool->mig, gpu, slice);
      gpu->left -= by * milli_of_instance(pool->mig->type, slice->profile, slice->start);
      gpu->taken[slice->start] = (signed char)(by > 0 ? slice->profile : -1);
      if (by > 0) gpu->layout = slice->layout;
    } else {
      gpu->left -= by * milli_in(pool, job);
    }
    if (pool->gpu_mem >= 0) gpu->mem -= by * job->gpu_mem;
    gpu->tasks += by;
    bool fits =
        gpu->left >= 0 && (pool->gpu_mem < 0 || gpu->mem >= 0) && (!pool->clients || gpu->tasks <= pool->clients);
    naive_require(fits, "more on a GPU than it has, under", in->rules.backfill);
  }
  bool fits = (pool->cpu < 0 || node->cpu >= 0) && (pool->mem < 0 || node->mem >= 0);
  naive_require(fits && (!node->dedicated || node->tasks == 1), "more on a node than it has, under",
                in->rules.backfill);
}

void naive_take(const struct naive_gpus_input *in, struct naive_state *state, int job, const struct naive_seat *seat) {
  for (int i = 0; i < seat->n_slices; i++) change(in, state, &in->job[job], &seat->slice[i], 1);
}

void naive_give(const struct naive_gpus_input *in, struct naive_state *state, int job, const struct naive_seat *seat) {
  for (int i = 0; i < seat->n_slices; i++) change(in, state, &in->job[job], &seat->slice[i], -1);
}

/* ---- Placement in a group --------------------------------------------------------------------------- */

/* A range of nodes, or a set of GPUs of one node (`parted`). */
struct group {
  int first, end;
  uint64_t gpus;
  bool parted;
};

/* Returns the free capacity of a node, which is what the rules compare. */
static long free_on(const struct naive_gpus_input *in, const struct naive_node *node) {
  long sum = 0;
  for (int g = 0; g < in->pool[node->pool].gpus_per_node; g++) sum += node->gpu[g].left;
  return sum;
}

/* Finds the node and the GPUs of one task by the placement rule. In a part of a node, the rule does not affect the
   choice of GPUs. Returns false if the task does not fit. */
static bool place_task(const struct naive_gpus_input *in, const struct naive_state *state, int job, unsigned pools,
                       struct group group, struct naive_gpus_slice *slice) {
  const char *rule = in->rules.placement;
  bool widest = strcmp(rule, "worst-fit") == 0;
  long best_score = 0;
  int best = -1;
  for (int i = group.first; i < group.end; i++) {
    const struct naive_node *node = &state->node[i];
    if (!((pools & in->job[job].accepts) >> node->pool & 1) || !node_fits(in, node, &in->job[job])) continue;
    long score = widest ? free_on(in, node) : strcmp(rule, "best-fit") == 0 ? -free_on(in, node) : 0;
    if (best >= 0 && score <= best_score) continue;
    best = i;
    best_score = score;
  }
  *slice = (struct naive_gpus_slice){.node = best};
  return best >= 0 && pick(in, &state->node[best], &in->job[job], group.gpus, widest && !group.parted, slice);
}

/* Places all tasks of a job in a group. Returns false if they do not fit. */
static bool place_all(const struct naive_gpus_input *in, const struct naive_state *state, int job, unsigned pools,
                      struct group group, struct naive_seat *seat) {
  struct naive_state copy = *state;
  seat->n_slices = 0;
  for (; seat->n_slices < in->job[job].tasks; seat->n_slices++) {
    struct naive_gpus_slice *slice = &seat->slice[seat->n_slices];
    if (!place_task(in, &copy, job, pools, group, slice)) return false;
    change(in, &copy, &in->job[job], slice, 1);
  }
  return true;
}

/* A number of tasks that is larger than any limit that follows from the CPUs and the memory of a group. */
enum { NAIVE_UNLIMITED = 1000000 };

/* Returns the number of tasks that fit into a group, one after the other; NAIVE_UNLIMITED if a task uses nothing that
   is limited. */
static int room_of(const struct naive_gpus_input *in, const struct naive_state *state, int job, struct group group) {
  struct naive_state copy = *state;
  const struct naive_gpus_job *asked = &in->job[job];
  int room = 0;
  for (int i = group.first; i < group.end; i++) {
    struct naive_gpus_slice slice = {.node = i};
    while (node_fits(in, &copy.node[i], asked) && pick(in, &copy.node[i], asked, group.gpus, false, &slice)) {
      const struct naive_node before = copy.node[i];
      change(in, &copy, asked, &slice, 1);
      if (!slice.gpus && before.cpu == copy.node[i].cpu && before.mem == copy.node[i].mem) return NAIVE_UNLIMITED;
      slice = (struct naive_gpus_slice){.node = i};
      room++;
    }
  }
  return room;
}

/* ---- Groups ----------------------------------------------------------------------------------------- */

/* Returns the number of GPUs of a node that are in one group. */
static int gpus_of_tier(const struct naive_gpus_pool *pool, enum naive_gpus_tier tier) {
  int numa = pool->numa_gpus ? pool->numa_gpus : pool->gpus_per_node;
  if (tier == NAIVE_TIER_ISLAND) return pool->island_gpus ? pool->island_gpus : numa;
  return tier == NAIVE_TIER_NUMA ? numa : pool->gpus_per_node;
}

static int groups_of(const struct naive_gpus_input *in, int pool, enum naive_gpus_tier tier, struct group *groups) {
  const struct naive_gpus_pool *spec = &in->pool[pool];
  int gpus = gpus_of_tier(spec, tier), nodes = 1, count = 0;
  int first = naive_first_node(in, pool), end = first + spec->nodes;
  if (tier == NAIVE_TIER_RACK) nodes = spec->nodes_per_rack ? spec->nodes_per_rack : spec->nodes;
  for (int from = first; from < end; from += nodes)
    for (int g = 0; g < spec->gpus_per_node; g += gpus)
      groups[count++] = (struct group){.first = from,
                                       .end = from + nodes < end ? from + nodes : end,
                                       .gpus = ((UINT64_C(1) << gpus) - 1) << g,
                                       .parted = gpus < spec->gpus_per_node};
  return count;
}

bool naive_is_constrained(const struct naive_gpus_input *in, int job) {
  const struct naive_gpus_job *asked = &in->job[job];
  bool any_parted = false;
  if (asked->tier == NAIVE_TIER_ANY || asked->tasks > 1) return asked->tier != NAIVE_TIER_ANY;
  for (int p = 0; p < in->n_pools; p++)
    any_parted =
        any_parted || (asked->accepts >> p & 1 && gpus_of_tier(&in->pool[p], asked->tier) < in->pool[p].gpus_per_node);
  return asked->gpus > 1 && any_parted;
}

/* Places a job in one group of a pool: the smallest group with enough capacity for all tasks. If the tasks cannot be
   placed there, tries the next group. Returns false if they fit in no group. */
static bool place_in_group(const struct naive_gpus_input *in, const struct naive_state *state, int job, int pool,
                           struct naive_seat *seat) {
  struct group groups[NAIVE_GPUS_NODES * NAIVE_GPUS_PER_NODE];
  int room[NAIVE_GPUS_NODES * NAIVE_GPUS_PER_NODE], count = groups_of(in, pool, in->job[job].tier, groups);
  for (int i = 0; i < count; i++) room[i] = room_of(in, state, job, groups[i]);
  for (;;) {
    int best = -1;
    for (int i = 0; i < count; i++)
      if (room[i] >= in->job[job].tasks && (best < 0 || room[i] < room[best])) best = i;
    if (best < 0) return false;
    if (place_all(in, state, job, 1U << pool, groups[best], seat)) return true;
    room[best] = 0;
  }
}

static bool place_anywhere(const struct naive_gpus_input *in, const struct naive_state *state, int job, unsigned pools,
                           struct naive_seat *seat) {
  const struct group all = {0, state->n_nodes, UINT64_MAX, false};
  if (in->job[job].tasks == 1) return place_all(in, state, job, pools, all, seat);
  for (int p = 0; p < in->n_pools; p++)
    if (pools >> p & 1 && place_all(in, state, job, 1U << p, all, seat)) return true;
  return false;
}

/* A job that names a MIG profile is placed in pools that have it, if it can be. Returns these pools; 0: no preference.
 */
static unsigned preferred_pools(const struct naive_gpus_input *in, int job) {
  unsigned pools = 0;
  for (int p = 0; in->job[job].profile && p < in->n_pools; p++) {
    const struct naive_mig_type *type = in->pool[p].mig ? in->pool[p].mig->type : NULL;
    for (int i = 0; type && i < type->n_profiles; i++)
      if (strcmp(type->profile[i].name, in->job[job].profile) == 0) pools |= 1U << p;
  }
  return pools;
}

bool naive_place(const struct naive_gpus_input *in, const struct naive_state *state, int job, bool required,
                 unsigned pools, struct naive_seat *seat) {
  const struct naive_gpus_job *asked = &in->job[job];
  unsigned first = preferred_pools(in, job);
  bool constrained = naive_is_constrained(in, job);
  seat->n_slices = 0;
  if (asked->gpus == 0 && asked->cpu == 0 && asked->mem == 0) return true;
  for (int pass = 0; pass < 2 && constrained; pass++)
    for (int p = 0; p < in->n_pools; p++)
      if ((pools & asked->accepts & (pass ? ~first : first)) >> p & 1 && place_in_group(in, state, job, p, seat))
        return true;
  if (constrained && required) return false;
  return (first && place_anywhere(in, state, job, pools & first, seat)) ||
         place_anywhere(in, state, job, pools & ~first, seat);
}
