/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The GPU inventory (see headroom/gpu_inventory.h): the state of each GPU and its MIG instances, the capacity of empty
 * nodes, and the state of a node during a time window (struct hr_node_use).
 *
 * The data of the inventory are arrays that are indexed by node or by GPU. For each node, two arrays have the sum and
 * the maximum of the free milli-GPUs of the node's GPUs. If a task does not fit on a node, the maximum usually suffices
 * to detect it, and the GPUs are not examined.
 */

#include "sim/cluster/cluster.h"

#include "headroom/gpu_inventory.h"
#include "headroom/policy.h"

#include <string.h>

/*
 * ---- MIG ----
 *
 * For a GPU that has a layout, the index of the layout and the set of occupied starts are stored. The start of an
 * instance is its first memory slice. An instance of the layout is idle if its start is not occupied. A GPU in mode
 * HR_MIG_ON_DEMAND has no layout; it has one instance for each of its tasks. A set of profiles is an integer with one
 * bit per profile. Profiles are numbered from the largest to the smallest, so the highest bit is the smallest profile.
 */

static bool mig_make_columns(struct hr_gpu_inventory *inventory, struct hr_arena *arena, uint32_t n_pools) {
  size_t n_gpus = (size_t)inventory->n_nodes * inventory->max_gpus;
  return HR__ARENA_ARRAY(arena, inventory->mig, n_pools) && HR__ARENA_ARRAY(arena, inventory->mig_asked, n_pools) &&
         HR__ARENA_ARRAY(arena, inventory->mig_gpu, n_gpus) && HR__ARENA_ARRAY(arena, inventory->mig_taken, n_gpus) &&
         HR__ARENA_ARRAY(arena, inventory->mig_layout, n_gpus) &&
         HR__ARENA_ARRAY(arena, inventory->mig_profiles, n_gpus);
}

/* If some pool has partitioned GPUs, allocates the arrays for MIG instances and sets all GPUs to their initial states.
   `requests`: the expected requests; NULL: unknown. */
static bool mig_init(struct hr_gpu_inventory *inventory, struct hr_arena *arena, const struct hr_cluster_spec *spec,
                     const struct hr_requests *requests) {
  uint32_t n_split = 0;
  for (uint32_t i = 0; i < spec->n_pools; i++) n_split += spec->pools[i].mig != NULL;
  if (n_split == 0) return true;
  if (!mig_make_columns(inventory, arena, spec->n_pools)) return false;
  for (uint32_t i = 0; i < spec->n_pools; i++) {
    inventory->mig[i] = spec->pools[i].mig;
    for (uint32_t k = 0; requests && requests->mig_needs && k < requests->count; k++)
      inventory->mig_asked[i] = (uint16_t)(inventory->mig_asked[i] | requests->request[k].mig_profiles[i]);
    if (!requests) inventory->mig_asked[i] = UINT16_MAX;
  }
  for (uint32_t node = 0; node < inventory->n_nodes; node++) hr_gpu_inventory_renew(inventory, (hr_node){node});
  return true;
}

/* ---- The state of a GPU ---- */

/* The present or a hypothetical state of a GPU. */
struct state {
  struct hr_mig_gpu gpu;
  uint32_t layout, taken;
};

static uint32_t idle_profiles(const struct hr_mig_spec *mig, const struct hr_mig_layout *layout, uint32_t taken) {
  uint32_t profiles = 0;
  for (uint32_t i = 0; i < mig->type.n_profiles; i++) profiles |= (uint32_t)((layout->starts[i] & ~taken) != 0) << i;
  return profiles;
}

static uint32_t profiles_of(const struct hr_mig_spec *mig, const struct state *state) {
  uint32_t profiles = 0;
  if (mig->mode == HR_MIG_ON_DEMAND) {
    for (uint32_t i = 0; i < mig->type.n_profiles; i++)
      profiles |= (uint32_t)(hr_mig_starts(&mig->type, &state->gpu, i) != 0) << i;
    return profiles;
  }
  if (mig->n_layouts > 0) profiles = idle_profiles(mig, &mig->layouts[state->layout], state->taken);
  for (uint32_t i = 0; mig->mode == HR_MIG_DYNAMIC && state->taken == 0 && i < mig->n_layouts; i++)
    profiles |= idle_profiles(mig, &mig->layouts[i], 0);
  return profiles;
}

static struct state state_of(const struct hr_gpu_inventory *inventory, size_t gpu) {
  return (struct state){inventory->mig_gpu[gpu], inventory->mig_layout[gpu], inventory->mig_taken[gpu]};
}

static void set_state(struct hr_gpu_inventory *inventory, const struct hr_mig_spec *mig, size_t gpu,
                      const struct state *state) {
  inventory->mig_gpu[gpu] = state->gpu;
  inventory->mig_layout[gpu] = (uint8_t)state->layout;
  inventory->mig_taken[gpu] = (uint8_t)state->taken;
  inventory->mig_profiles[gpu] = (uint16_t)profiles_of(mig, state);
}

static struct state layout_state(const struct hr_mig_spec *mig, uint32_t layout) {
  return (struct state){mig->layouts[layout].gpu, layout, 0};
}

/* Resets the GPUs of a node to their initial states: the initial layout, or no instances with HR_MIG_ON_DEMAND, and no
   tasks. */
static void mig_renew(struct hr_gpu_inventory *inventory, hr_node node) {
  const struct hr_mig_spec *mig = hr_gpu_inventory_mig(inventory, node);
  size_t first = (size_t)node.id * inventory->max_gpus;
  for (uint32_t i = 0; i < inventory->n_gpus[node.id]; i++) {
    struct state state = mig->layout_of_gpu ? layout_state(mig, mig->layout_of_gpu[i]) : (struct state){0};
    set_state(inventory, mig, first + i, &state);
  }
}

/* ---- Finding an instance ---- */

static uint32_t wanted_in(const struct hr_gpu_inventory *inventory, const struct hr_request *request, hr_node node) {
  return request->mig_profiles ? request->mig_profiles[inventory->pool[node.id]] : 0;
}

static uint32_t smallest(uint32_t profiles) {
  return 31U - (uint32_t)__builtin_clz(profiles);
}

/* Returns the smallest profile of the set `wanted` of which the layout has an idle instance. `taken` is the set of
   occupied starts. Returns HR_NONE if no such profile exists. */
static uint32_t idle_profile(const struct hr_mig_layout *layout, uint32_t taken, uint32_t wanted) {
  for (; wanted; wanted &= ~(1U << smallest(wanted)))
    if (layout->starts[smallest(wanted)] & ~taken) return smallest(wanted);
  return HR_NONE;
}

static struct hr_instance instance_of(const struct hr_mig_spec *mig, uint32_t layout, uint32_t taken, uint32_t profile,
                                      uint32_t before) {
  uint32_t idle = mig->layouts[layout].starts[profile] & ~taken;
  return (struct hr_instance){(uint8_t)__builtin_ctz(idle), (uint8_t)profile, (uint8_t)layout, (uint8_t)before};
}

/* For a GPU that has no tasks, finds the layout that has the smallest suitable instance, and stores this instance in
   `*found`. Returns false if no layout has a suitable instance. `present`: index of the present layout of the GPU.
   `wanted`: the suitable profiles. */
static bool find_other_layout(const struct hr_mig_spec *mig, uint32_t present, uint32_t wanted,
                              struct hr_instance *found) {
  uint32_t best = HR_NONE, best_profile = 0;
  for (uint32_t layout = 0; layout < mig->n_layouts; layout++) {
    uint32_t profile = idle_profile(&mig->layouts[layout], 0, wanted);
    if (profile == HR_NONE || (best != HR_NONE && profile <= best_profile)) continue;
    best = layout;
    best_profile = profile;
  }
  if (best == HR_NONE) return false;
  *found = instance_of(mig, best, 0, best_profile, present);
  return true;
}

static uint32_t instances_of(const struct hr_mig_layout *layout, uint32_t wanted) {
  uint32_t count = 0;
  for (; wanted; wanted &= wanted - 1)
    count += (uint32_t)__builtin_popcount(layout->starts[(uint32_t)__builtin_ctz(wanted)]);
  return count;
}

/* For a GPU that has no tasks, finds the layout with the largest number of suitable instances, so that several tasks of
   a gang can be placed on the GPU. Of equal layouts, prefers the present one, then the first. Returns false if no
   layout has a suitable instance. */
static bool find_for_gang(const struct hr_mig_spec *mig, uint32_t present, uint32_t wanted, struct hr_instance *found) {
  uint32_t best = present, most = instances_of(&mig->layouts[present], wanted);
  for (uint32_t layout = 0; layout < mig->n_layouts; layout++) {
    uint32_t count = instances_of(&mig->layouts[layout], wanted);
    if (count <= most) continue;
    best = layout;
    most = count;
  }
  if (most > 0) *found = instance_of(mig, best, 0, idle_profile(&mig->layouts[best], 0, wanted), present);
  return most > 0;
}

static bool find_room(const struct hr_mig_spec *mig, const struct hr_mig_gpu *gpu, uint32_t asked, uint32_t wanted,
                      struct hr_instance *found) {
  for (; wanted; wanted &= ~(1U << smallest(wanted))) {
    uint32_t profile = smallest(wanted);
    uint32_t start = hr_mig_best_start(&mig->type, gpu, profile, asked);
    if (start == HR_NONE) continue;
    *found = (struct hr_instance){.start = (uint8_t)start, .profile = (uint8_t)profile};
    return true;
  }
  return false;
}

/* Finds the instance that a task would get on a GPU of the pool in the given state. Returns false if the task would not
   get an instance. */
static bool find_in_state(const struct hr_gpu_inventory *inventory, const struct hr_request *request, uint32_t pool,
                          const struct state *state, struct hr_instance *found) {
  const struct hr_mig_spec *mig = inventory->mig[pool];
  uint32_t wanted = request->mig_profiles ? request->mig_profiles[pool] : 0;
  if (mig->mode == HR_MIG_ON_DEMAND) return find_room(mig, &state->gpu, inventory->mig_asked[pool], wanted, found);
  uint32_t layout = state->layout, taken = state->taken;
  bool is_free = mig->mode == HR_MIG_DYNAMIC && taken == 0;
  if (is_free && request->tasks > 1) return find_for_gang(mig, layout, wanted, found);
  uint32_t profile = idle_profile(&mig->layouts[layout], taken, wanted);
  if (profile != HR_NONE) *found = instance_of(mig, layout, taken, profile, layout);
  if (profile != HR_NONE) return true;
  return is_free && find_other_layout(mig, layout, wanted, found);
}

static bool find_on(const struct hr_gpu_inventory *inventory, const struct hr_request *request, hr_node node,
                    uint32_t gpu, struct hr_instance *found) {
  struct state state = state_of(inventory, (size_t)node.id * inventory->max_gpus + gpu);
  return find_in_state(inventory, request, inventory->pool[node.id], &state, found);
}

/* Returns the set of GPUs of the node that have, or can create, a suitable instance. */
static uint64_t mig_fitting(const struct hr_gpu_inventory *inventory, const struct hr_request *request, hr_node node) {
  const uint16_t *profiles = inventory->mig_profiles + (size_t)node.id * inventory->max_gpus;
  uint32_t wanted = wanted_in(inventory, request, node);
  uint64_t fitting = 0;
  for (uint32_t gpu = 0; gpu < inventory->n_gpus[node.id]; gpu++)
    fitting |= (uint64_t)((profiles[gpu] & wanted) != 0) << gpu;
  return fitting;
}

/* ---- Choosing a GPU ---- */

static bool is_better(const struct hr_instance *a, uint32_t a_left_milli, const struct hr_instance *b,
                      uint32_t b_left_milli) {
  bool a_keeps = a->layout == a->layout_before, b_keeps = b->layout == b->layout_before;
  if (a_keeps != b_keeps) return a_keeps;
  if (a->profile != b->profile) return a->profile > b->profile;
  return a_left_milli < b_left_milli;
}

static uint64_t mig_pick(const struct hr_gpu_inventory *inventory, const struct hr_request *request, hr_node node,
                         uint64_t gpus) {
  const uint16_t *left_milli = hr_gpu_inventory_gpus(inventory, node);
  uint32_t best_gpu = HR_NONE;
  struct hr_instance best = {0}, found;
  for (uint32_t gpu = 0; gpu < inventory->n_gpus[node.id]; gpu++) {
    if (!(gpus >> gpu & 1) || !find_on(inventory, request, node, gpu, &found)) continue;
    if (best_gpu != HR_NONE && !is_better(&found, left_milli[gpu], &best, left_milli[best_gpu])) continue;
    best_gpu = gpu;
    best = found;
  }
  return best_gpu == HR_NONE ? 0 : UINT64_C(1) << best_gpu;
}

/* Returns the slice that a task would get on the only GPU in the set `gpus`. The task must fit on this GPU. */
static struct hr_slice mig_slice(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                 hr_node node, uint64_t gpus) {
  struct hr_slice slice = {.node = node, .gpus = gpus};
  if (find_on(inventory, request, node, (uint32_t)__builtin_ctzll(gpus), &slice.instance))
    slice.gpu_milli =
        hr_mig_milli(&hr_gpu_inventory_mig(inventory, node)->type, slice.instance.profile, slice.instance.start);
  return slice;
}

/* ---- Allocation and release ---- */

static size_t gpu_of(const struct hr_gpu_inventory *inventory, const struct hr_slice *slice) {
  return (size_t)slice->node.id * inventory->max_gpus + (uint32_t)__builtin_ctzll(slice->gpus);
}

static const char *refuse_kept(const struct hr_gpu_inventory *inventory, const struct hr_mig_spec *mig, size_t gpu,
                               struct hr_instance instance) {
  if (instance.layout_before != inventory->mig_layout[gpu]) return "the layout of a GPU differs from the slice's";
  bool changes = instance.layout != instance.layout_before;
  if (changes && (mig->mode != HR_MIG_DYNAMIC || instance.layout >= mig->n_layouts || inventory->mig_taken[gpu]))
    return "a GPU cannot get that layout now";
  const struct hr_mig_layout *layout = &mig->layouts[instance.layout];
  bool is_idle =
      layout->starts[instance.profile] >> instance.start & 1 && !(inventory->mig_taken[gpu] >> instance.start & 1);
  return is_idle ? NULL : "a GPU has no such idle instance";
}

/* Returns a description of the rule that the instance of a slice breaks, or NULL if it breaks none. The task must fit
   on the GPU. */
static const char *mig_refuse(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                              const struct hr_slice *slice) {
  const struct hr_mig_spec *mig = hr_gpu_inventory_mig(inventory, slice->node);
  struct hr_instance instance = slice->instance;
  size_t gpu = gpu_of(inventory, slice);
  if (instance.start >= HR_MIG_SLICES || !(wanted_in(inventory, request, slice->node) >> instance.profile & 1))
    return "an instance does not have a suitable profile";
  if (slice->gpu_milli != hr_mig_milli(&mig->type, instance.profile, instance.start))
    return "a slice does not have the share of its instance";
  if (mig->mode != HR_MIG_ON_DEMAND) return refuse_kept(inventory, mig, gpu, instance);
  if (instance.layout || instance.layout_before) return "the layout of a GPU differs from the slice's";
  bool has_room = hr_mig_starts(&mig->type, &inventory->mig_gpu[gpu], instance.profile) >> instance.start & 1;
  return has_room ? NULL : "a GPU has no room for the instance at its start";
}

static struct state changed(const struct hr_mig_spec *mig, struct state state, struct hr_instance instance,
                            bool taken) {
  if (taken && mig->mode == HR_MIG_DYNAMIC && instance.layout != state.layout)
    state = layout_state(mig, instance.layout);
  state.taken ^= 1U << instance.start;
  if (mig->mode == HR_MIG_ON_DEMAND && taken)
    hr_mig_create(&mig->type, &state.gpu, instance.profile, instance.start);
  else if (mig->mode == HR_MIG_ON_DEMAND)
    hr_mig_destroy(&mig->type, &state.gpu, instance.start);
  return state;
}

/* Allocates or releases an instance. */
static void mig_change(struct hr_gpu_inventory *inventory, const struct hr_slice *slice, bool taken) {
  const struct hr_mig_spec *mig = hr_gpu_inventory_mig(inventory, slice->node);
  size_t gpu = gpu_of(inventory, slice);
  struct state state = changed(mig, state_of(inventory, gpu), slice->instance, taken);
  set_state(inventory, mig, gpu, &state);
}

uint32_t hr__gpu_inventory_mig_profiles_after(const struct hr_gpu_inventory *inventory, const struct hr_slice *slice) {
  const struct hr_mig_spec *mig = hr_gpu_inventory_mig(inventory, slice->node);
  struct state state = changed(mig, state_of(inventory, gpu_of(inventory, slice)), slice->instance, true);
  return profiles_of(mig, &state);
}

/* Sets the instances of a GPU in an inventory that a policy uses for planning. With HR_MIG_ON_DEMAND, `instances` is
   used; in other modes, `layout` and `taken`. `taken`: the set of occupied starts. */
static void gpu_inventory_set_instances(struct hr_gpu_inventory *inventory, hr_node node, uint32_t gpu,
                                        const struct hr_mig_gpu *instances, uint32_t layout, uint32_t taken) {
  const struct hr_mig_spec *mig = hr_gpu_inventory_mig(inventory, node);
  struct state state = {.gpu = *instances, .taken = taken};
  if (mig->mode != HR_MIG_ON_DEMAND) state = (struct state){mig->layouts[layout].gpu, layout, taken};
  set_state(inventory, mig, (size_t)node.id * inventory->max_gpus + gpu, &state);
}

/* Restores the layout that a GPU had before the slice was allocated. If a placement has several tasks on the GPU, this
   is done for each of their slices, because any of them may have changed the layout. The starts that other tasks occupy
   stay recorded until the slices of these tasks are released. */
static void mig_undo(struct hr_gpu_inventory *inventory, const struct hr_slice *slice) {
  const struct hr_mig_spec *mig = hr_gpu_inventory_mig(inventory, slice->node);
  if (mig->mode != HR_MIG_DYNAMIC || slice->instance.layout == slice->instance.layout_before) return;
  size_t gpu = gpu_of(inventory, slice);
  struct state state = layout_state(mig, slice->instance.layout_before);
  state.taken = inventory->mig_taken[gpu];
  set_state(inventory, mig, gpu, &state);
}

/* ---- Several tasks on one GPU ---- */

/* Returns how many tasks of the request can be placed one after the other on a GPU of the pool, beginning in the given
   state. */
static uint32_t room_in_state(const struct hr_gpu_inventory *inventory, const struct hr_request *request, uint32_t pool,
                              struct state state) {
  struct hr_instance instance;
  uint32_t count = 0;
  for (; find_in_state(inventory, request, pool, &state, &instance); count++)
    state = changed(inventory->mig[pool], state, instance, true);
  return count;
}

uint64_t hr_gpu_inventory_mig_room(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                   hr_node node, uint64_t gpus) {
  size_t first = (size_t)node.id * inventory->max_gpus;
  uint64_t sum = 0;
  for (uint32_t gpu = 0; request->gpus == 1 && gpu < inventory->n_gpus[node.id]; gpu++)
    if (gpus >> gpu & 1)
      sum += room_in_state(inventory, request, inventory->pool[node.id], state_of(inventory, first + gpu));
  return sum;
}

uint64_t hr__gpu_inventory_mig_empty_room(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                          hr_pool pool, uint32_t first, uint32_t n_gpus) {
  const struct hr_mig_spec *mig = inventory->mig[pool.id];
  uint64_t sum = 0;
  for (uint32_t gpu = first; request->gpus == 1 && gpu < first + n_gpus; gpu++) {
    struct state state = mig->layout_of_gpu ? layout_state(mig, mig->layout_of_gpu[gpu]) : (struct state){0};
    sum += room_in_state(inventory, request, pool.id, state);
  }
  return sum;
}

/* ---- An empty GPU ---- */

/* Returns the maximum number of tasks for which one empty GPU can have suitable instances. `wanted`: the suitable
   profiles. `gpu`: index of the GPU in its node. */
static uint32_t mig_max_tasks(const struct hr_mig_spec *mig, uint32_t wanted, uint32_t gpu) {
  uint32_t most = 0, count = 0;
  if (mig->mode == HR_MIG_ON_DEMAND) {
    const struct hr_mig_gpu empty = {0};
    for (; wanted; wanted &= wanted - 1) {
      count = hr_mig_room(&mig->type, &empty, (uint32_t)__builtin_ctz(wanted));
      if (count > most) most = count;
    }
    return most;
  }
  most = instances_of(&mig->layouts[mig->layout_of_gpu[gpu]], wanted);
  for (uint32_t layout = 0; mig->mode == HR_MIG_DYNAMIC && layout < mig->n_layouts; layout++) {
    count = instances_of(&mig->layouts[layout], wanted);
    if (count > most) most = count;
  }
  return most;
}

/* ---- Creation ---- */

static bool make_columns(struct hr_gpu_inventory *inventory, struct hr_arena *arena) {
  size_t n_nodes = inventory->n_nodes, n_gpus = n_nodes * inventory->max_gpus;
  return HR__ARENA_ARRAY(arena, inventory->pool, n_nodes) && HR__ARENA_ARRAY(arena, inventory->n_gpus, n_nodes) &&
         HR__ARENA_ARRAY(arena, inventory->cpu_milli, n_nodes) && HR__ARENA_ARRAY(arena, inventory->mem_mib, n_nodes) &&
         HR__ARENA_ARRAY(arena, inventory->gpu_milli, n_gpus) &&
         HR__ARENA_ARRAY(arena, inventory->gpu_mem_mib, n_gpus) &&
         HR__ARENA_ARRAY(arena, inventory->gpu_tasks, n_gpus) &&
         HR__ARENA_ARRAY(arena, inventory->left_milli, n_nodes) &&
         HR__ARENA_ARRAY(arena, inventory->widest_milli, n_nodes) &&
         HR__ARENA_ARRAY(arena, inventory->slot_milli, n_nodes) &&
         HR__ARENA_ARRAY(arena, inventory->slot_mem_mib, n_nodes) &&
         HR__ARENA_ARRAY(arena, inventory->max_tasks, n_nodes) && HR__ARENA_ARRAY(arena, inventory->closed, n_nodes) &&
         HR__ARENA_ARRAY(arena, inventory->alone, n_nodes) && HR__ARENA_ARRAY(arena, inventory->tasks, n_nodes);
}

static uint32_t max_tasks(const struct hr_pool_spec *spec) {
  if (spec->sharing == HR_SHARING_MPS) return spec->clients ? spec->clients : HR_MPS_CLIENTS;
  return HR_WHOLE_GPU_MILLI;
}

static void fill_node(struct hr_gpu_inventory *inventory, uint32_t node, uint32_t pool,
                      const struct hr_pool_spec *spec) {
  inventory->pool[node] = pool;
  inventory->n_gpus[node] = (uint8_t)spec->gpus_per_node;
  inventory->left_milli[node] = spec->gpus_per_node * HR_WHOLE_GPU_MILLI;
  inventory->widest_milli[node] = spec->gpus_per_node ? HR_WHOLE_GPU_MILLI : 0;
  inventory->slot_milli[node] = (uint16_t)hr_pool_slot_milli(spec);
  inventory->slot_mem_mib[node] = hr_pool_part_mem_mib(spec);
  inventory->max_tasks[node] = (uint16_t)max_tasks(spec);
  inventory->cpu_milli[node] = spec->cpu_milli_per_node ? spec->cpu_milli_per_node : HR_NONE;
  inventory->mem_mib[node] = spec->mem_mib_per_node ? spec->mem_mib_per_node : UINT64_MAX;
  for (uint32_t gpu = 0; gpu < spec->gpus_per_node; gpu++) {
    inventory->gpu_milli[(size_t)node * inventory->max_gpus + gpu] = HR_WHOLE_GPU_MILLI;
    inventory->gpu_mem_mib[(size_t)node * inventory->max_gpus + gpu] = hr_pool_reserved_mem_mib(spec);
  }
}

/* Stores, for each pool, the milli-CPUs per GPU of a task that does not state its CPU. Stores nothing if no pool has
   this setting. */
static bool init_gpu_cpus(struct hr_gpu_inventory *inventory, struct hr_arena *arena,
                          const struct hr_cluster_spec *spec) {
  bool any = false;
  for (uint32_t i = 0; i < spec->n_pools; i++) any = any || spec->pools[i].cpu_milli_per_gpu > 0;
  if (!any) return true;
  if (!HR__ARENA_ARRAY(arena, inventory->gpu_cpu_milli, spec->n_pools)) return false;
  for (uint32_t i = 0; i < spec->n_pools; i++) inventory->gpu_cpu_milli[i] = spec->pools[i].cpu_milli_per_gpu;
  return true;
}

struct hr_gpu_inventory *hr_gpu_inventory_create(struct hr_arena *arena, const struct hr_cluster_spec *spec,
                                                 const struct hr_requests *requests) {
  struct hr_gpu_inventory *inventory = hr_arena_alloc(arena, sizeof *inventory);
  if (!inventory) return NULL;
  for (uint32_t i = 0; i < spec->n_pools; i++) {
    inventory->n_nodes += spec->pools[i].nodes;
    if (spec->pools[i].nodes == 0) continue;
    if (spec->pools[i].gpus_per_node > inventory->max_gpus) inventory->max_gpus = spec->pools[i].gpus_per_node;
  }
  if (inventory->max_gpus > HR_MAX_INVENTORY_GPUS || !make_columns(inventory, arena)) return NULL;
  for (uint32_t i = 0, node = 0; i < spec->n_pools; i++)
    for (uint32_t end = node + spec->pools[i].nodes; node < end; node++) fill_node(inventory, node, i, &spec->pools[i]);
  return init_gpu_cpus(inventory, arena, spec) && mig_init(inventory, arena, spec, requests) ? inventory : NULL;
}

uint32_t hr_gpu_inventory_idle_gpus(const struct hr_gpu_inventory *inventory, hr_node node) {
  const uint16_t *milli = hr_gpu_inventory_gpus(inventory, node);
  uint32_t idle = 0;
  if (inventory->widest_milli[node.id] < HR_WHOLE_GPU_MILLI) return 0;
  for (uint32_t gpu = 0; gpu < inventory->n_gpus[node.id]; gpu++) idle += milli[gpu] == HR_WHOLE_GPU_MILLI;
  return idle;
}

uint64_t hr_gpu_inventory_fitting_gpus(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                       hr_node node) {
  if (hr_gpu_inventory_mig(inventory, node)) return mig_fitting(inventory, request, node);
  const uint16_t *milli = hr_gpu_inventory_gpus(inventory, node);
  uint32_t requested_milli = hr_gpu_inventory_milli(inventory, request, node);
  size_t first = (size_t)node.id * inventory->max_gpus;
  const uint32_t *mem_mib = inventory->gpu_mem_mib + first;
  uint32_t n_gpus = inventory->n_gpus[node.id];
  uint64_t fitting = 0;
  for (uint32_t gpu = 0; gpu < n_gpus; gpu++) fitting |= (uint64_t)(milli[gpu] >= requested_milli) << gpu;
  if (inventory->max_tasks[node.id] < HR_WHOLE_GPU_MILLI)
    for (uint32_t gpu = 0; gpu < n_gpus; gpu++)
      fitting &= ~((uint64_t)(inventory->gpu_tasks[first + gpu] >= inventory->max_tasks[node.id]) << gpu);
  if (request->gpu_mem_mib == 0) return fitting;
  if (request->gpu_mem_mib > inventory->slot_mem_mib[node.id]) return 0;
  for (uint32_t gpu = 0; gpu < n_gpus; gpu++) fitting &= ~((uint64_t)(mem_mib[gpu] < request->gpu_mem_mib) << gpu);
  return fitting;
}

/* Returns whether a set has at least `count` members (at least one member if `count` is 0). This is fast if `count` is
   small. */
static bool has_as_many(uint64_t set, uint32_t count) {
  for (; count > 1 && set; count--) set &= set - 1;
  return set != 0;
}

/* Returns whether the task requests one GPU and the free milli-GPUs of a GPU alone decide whether the task fits on
   it. */
static bool is_by_share(const struct hr_gpu_inventory *inventory, const struct hr_request *request, hr_node node) {
  return request->gpus == 1 && request->gpu_mem_mib == 0 && inventory->max_tasks[node.id] == HR_WHOLE_GPU_MILLI;
}

bool hr_gpu_inventory_fits(const struct hr_gpu_inventory *inventory, const struct hr_request *request, hr_node node) {
  if (inventory->closed[node.id] || inventory->alone[node.id]) return false;
  if (request->dedicated && inventory->tasks[node.id] > 0) return false;
  if (inventory->cpu_milli[node.id] < hr_gpu_inventory_cpu_milli(inventory, request, node)) return false;
  if (inventory->mem_mib[node.id] < request->mem_mib) return false;
  if (request->gpus == 0) return true;
  if (hr_gpu_inventory_mig(inventory, node)) return request->gpus == 1 && mig_fitting(inventory, request, node) != 0;
  if (inventory->widest_milli[node.id] < hr_gpu_inventory_milli(inventory, request, node)) return false;
  if (is_by_share(inventory, request, node)) return true;
  return has_as_many(hr_gpu_inventory_fitting_gpus(inventory, request, node), request->gpus);
}

/* Returns the GPU of the set `gpus` that has the fewest free milli-GPUs; of equal GPUs, the one with the lowest
   index. */
static uint32_t smallest_left(const uint16_t *milli, uint64_t gpus) {
  uint32_t best = (uint32_t)__builtin_ctzll(gpus);
  for (uint64_t rest = gpus; rest; rest &= rest - 1) {
    uint32_t gpu = (uint32_t)__builtin_ctzll(rest);
    if (milli[gpu] < milli[best]) best = gpu;
  }
  return best;
}

/* Among the GPUs with at least `requested_milli` free milli-GPUs, selects the one with the fewest; of equal GPUs, the
   one with the lowest index. Returns the set with this GPU, or the empty set if no GPU has enough free milli-GPUs. */
static uint64_t pick_one(const uint16_t *milli, uint32_t n_gpus, uint32_t requested_milli) {
  enum { GPU_BITS = 6 };
  uint32_t best = UINT32_MAX;
  for (uint32_t gpu = 0; gpu < n_gpus; gpu++) {
    uint32_t key = (uint32_t)milli[gpu] << GPU_BITS | gpu;
    best = milli[gpu] >= requested_milli && key < best ? key : best;
  }
  return best == UINT32_MAX ? 0 : UINT64_C(1) << (best & ((1u << GPU_BITS) - 1));
}

/* Without MIG, selects GPUs in ascending order of free milli-GPUs. GPUs with equal free milli-GPUs are in ascending
   order of index. */
uint64_t hr_gpu_inventory_pick_of(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                  hr_node node, uint64_t gpus) {
  if (request->gpus > 0 && hr_gpu_inventory_mig(inventory, node)) return mig_pick(inventory, request, node, gpus);
  const uint16_t *milli = hr_gpu_inventory_gpus(inventory, node);
  uint64_t fitting = hr_gpu_inventory_fitting_gpus(inventory, request, node) & gpus, picked = 0;
  for (uint32_t i = 0; i < request->gpus && fitting; i++) {
    uint64_t gpu = UINT64_C(1) << smallest_left(milli, fitting);
    picked |= gpu;
    fitting &= ~gpu;
  }
  return picked;
}

uint64_t hr_gpu_inventory_pick(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                               hr_node node) {
  if (request->gpus > 0 && hr_gpu_inventory_mig(inventory, node)) return mig_pick(inventory, request, node, UINT64_MAX);
  if (is_by_share(inventory, request, node))
    return pick_one(hr_gpu_inventory_gpus(inventory, node), inventory->n_gpus[node.id],
                    hr_gpu_inventory_milli(inventory, request, node));
  return hr_gpu_inventory_pick_of(inventory, request, node, UINT64_MAX);
}

/* Sets `widest_milli`, which is at most `most`. */
static void find_widest(struct hr_gpu_inventory *inventory, hr_node node, uint32_t most) {
  const uint16_t *milli = hr_gpu_inventory_gpus(inventory, node);
  uint32_t widest = 0, n_gpus = inventory->n_gpus[node.id];
  for (uint32_t gpu = 0; gpu < n_gpus && widest < most; gpu++) widest = milli[gpu] > widest ? milli[gpu] : widest;
  inventory->widest_milli[node.id] = (uint16_t)widest;
}

struct hr_slice hr_gpu_inventory_slice(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                       hr_node node, uint64_t gpus) {
  if (gpus && hr_gpu_inventory_mig(inventory, node)) return mig_slice(inventory, request, node, gpus);
  return (struct hr_slice){
      .node = node, .gpu_milli = request->gpus * hr_gpu_inventory_milli(inventory, request, node), .gpus = gpus};
}

/* Returns whether one task has room on all GPUs of the slice. */
static bool all_fit(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                    const struct hr_slice *slice) {
  uint32_t node = slice->node.id, gpu = (uint32_t)__builtin_ctzll(slice->gpus);
  if (!is_by_share(inventory, request, slice->node) || hr_gpu_inventory_mig(inventory, slice->node))
    return !(slice->gpus & ~hr_gpu_inventory_fitting_gpus(inventory, request, slice->node));
  return gpu < inventory->n_gpus[node] && inventory->gpu_milli[(size_t)node * inventory->max_gpus + gpu] >=
                                              hr_gpu_inventory_milli(inventory, request, slice->node);
}

const char *hr_gpu_inventory_refuse(const struct hr_gpu_inventory *inventory, const struct hr_request *request,
                                    const struct hr_slice *slice) {
  uint32_t n_gpus = (uint32_t)__builtin_popcountll(slice->gpus);
  bool is_split = n_gpus > 0 && hr_gpu_inventory_mig(inventory, slice->node);
  if (n_gpus != request->gpus) return "a slice does not have the number of GPUs that a task requests";
  if (!is_split && slice->gpu_milli != n_gpus * hr_gpu_inventory_milli(inventory, request, slice->node))
    return "a slice does not have the share of its GPUs that a task requests";
  if (n_gpus > 0 && !all_fit(inventory, request, slice)) return "a GPU has too little free";
  if (!hr_gpu_inventory_fits(inventory, request, slice->node)) return "a node has too little CPU or memory free";
  return is_split ? mig_refuse(inventory, request, slice) : NULL;
}

/* Allocates or releases a slice. `taken` is 1 to allocate and -1 (as unsigned) to release. */
static void change(struct hr_gpu_inventory *inventory, const struct hr_request *request, const struct hr_slice *slice,
                   uint32_t taken) {
  uint32_t node = slice->node.id;
  if (inventory->cpu_milli[node] != HR_NONE)
    inventory->cpu_milli[node] -= taken * hr_gpu_inventory_cpu_milli(inventory, request, slice->node);
  if (inventory->mem_mib[node] != UINT64_MAX) inventory->mem_mib[node] -= (uint64_t)(int32_t)taken * request->mem_mib;
  inventory->tasks[node] += taken;
  inventory->alone[node] = request->dedicated && taken == 1;
  if (!slice->gpus) return;
  bool is_split = hr_gpu_inventory_mig(inventory, slice->node) != NULL;
  if (is_split) mig_change(inventory, slice, taken == 1);
  size_t first = (size_t)node * inventory->max_gpus;
  uint32_t milli = is_split ? slice->gpu_milli : hr_gpu_inventory_milli(inventory, request, slice->node);
  bool had_widest = false;
  for (uint64_t gpus = slice->gpus; gpus; gpus &= gpus - 1) {
    size_t gpu = first + (uint32_t)__builtin_ctzll(gpus);
    had_widest |= inventory->gpu_milli[gpu] == inventory->widest_milli[node];
    inventory->gpu_milli[gpu] = (uint16_t)(inventory->gpu_milli[gpu] - taken * milli);
    if (inventory->gpu_milli[gpu] > inventory->widest_milli[node])
      inventory->widest_milli[node] = inventory->gpu_milli[gpu];
    inventory->left_milli[node] -= taken * milli;
    inventory->gpu_tasks[gpu] = (uint16_t)(inventory->gpu_tasks[gpu] + taken);
    if (inventory->gpu_mem_mib[gpu] != HR_NONE) inventory->gpu_mem_mib[gpu] -= taken * request->gpu_mem_mib;
  }
  if (taken == 1 && had_widest) find_widest(inventory, slice->node, inventory->widest_milli[node]);
}

void hr_gpu_inventory_take(struct hr_gpu_inventory *inventory, const struct hr_request *request,
                           const struct hr_slice *slice) {
  change(inventory, request, slice, 1);
}

void hr_gpu_inventory_give(struct hr_gpu_inventory *inventory, const struct hr_request *request,
                           const struct hr_slice *slice) {
  change(inventory, request, slice, UINT32_MAX);
}

void hr_gpu_inventory_undo(struct hr_gpu_inventory *inventory, const struct hr_request *request,
                           const struct hr_slice *slice) {
  hr_gpu_inventory_give(inventory, request, slice);
  if (slice->gpus && hr_gpu_inventory_mig(inventory, slice->node)) mig_undo(inventory, slice);
}

void hr_gpu_inventory_renew(struct hr_gpu_inventory *inventory, hr_node node) {
  if (hr_gpu_inventory_mig(inventory, node)) mig_renew(inventory, node);
}

void hr_gpu_inventory_rebase(const struct hr_gpu_inventory *inventory, struct hr_slice *slices, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    if (!slices[i].gpus || !hr_gpu_inventory_mig(inventory, slices[i].node)) continue;
    uint32_t earlier = i;
    while (earlier > 0 &&
           (slices[earlier - 1].node.id != slices[i].node.id || slices[earlier - 1].gpus != slices[i].gpus))
      earlier--;
    slices[i].instance.layout_before =
        earlier > 0 ? slices[earlier - 1].instance.layout : inventory->mig_layout[gpu_of(inventory, &slices[i])];
  }
}

void hr_gpu_inventory_copy_layouts(struct hr_gpu_inventory *inventory, const struct hr_gpu_inventory *from,
                                   hr_node node) {
  const struct hr_mig_spec *mig = hr_gpu_inventory_mig(inventory, node);
  size_t first = (size_t)node.id * inventory->max_gpus;
  for (uint32_t i = 0; mig && mig->n_layouts > 0 && i < inventory->n_gpus[node.id]; i++) {
    struct state state = layout_state(mig, from->mig_layout[first + i]);
    set_state(inventory, mig, first + i, &state);
  }
}

void hr_gpu_inventory_clear(struct hr_gpu_inventory *inventory, const struct hr_cluster_spec *spec, hr_node node) {
  uint32_t pool = inventory->pool[node.id];
  const struct hr_mig_spec *mig = spec->pools[pool].mig;
  size_t first = (size_t)node.id * inventory->max_gpus;
  fill_node(inventory, node.id, pool, &spec->pools[pool]);
  memset(inventory->gpu_tasks + first, 0, inventory->max_gpus * sizeof *inventory->gpu_tasks);
  inventory->tasks[node.id] = inventory->alone[node.id] = 0;
  for (uint32_t i = 0; mig && i < inventory->n_gpus[node.id]; i++) {
    struct state state =
        mig->mode == HR_MIG_ON_DEMAND ? (struct state){0} : layout_state(mig, inventory->mig_layout[first + i]);
    set_state(inventory, mig, first + i, &state);
  }
}

/* ---- An empty node ---- */

static uint64_t smaller(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

/* Returns the maximum number of tasks for which an empty node can have suitable MIG instances. */
static uint64_t max_on_instances(const struct hr_pool_spec *spec, const struct hr_request *request, uint32_t wanted) {
  uint64_t most = 0;
  for (uint32_t gpu = 0; request->gpus == 1 && gpu < spec->gpus_per_node; gpu++)
    most += mig_max_tasks(spec->mig, wanted, gpu);
  return most;
}

/* Returns the number of tasks for which an empty node without MIG has enough GPUs and GPU memory. */
static uint64_t max_on_gpus(const struct hr_pool_spec *spec, const struct hr_request *request) {
  uint32_t slot_milli = hr_pool_slot_milli(spec), milli = slot_milli ? slot_milli : request->gpu_milli;
  uint64_t on_each = smaller(HR_WHOLE_GPU_MILLI / milli, max_tasks(spec));
  if (request->gpu_mem_mib) on_each = smaller(on_each, hr_pool_reserved_mem_mib(spec) / request->gpu_mem_mib);
  if (request->gpu_mem_mib > hr_pool_part_mem_mib(spec)) on_each = 0;
  return spec->gpus_per_node < request->gpus ? 0 : spec->gpus_per_node * on_each / request->gpus;
}

uint32_t hr_pool_max_tasks(const struct hr_cluster_spec *cluster, hr_pool pool, const struct hr_request *request) {
  const struct hr_pool_spec *spec = &cluster->pools[pool.id];
  uint32_t wanted = request->mig_profiles ? request->mig_profiles[pool.id] : 0;
  uint64_t most = HR_NONE;
  if (request->dedicated) most = 1;
  if (request->gpus > 0)
    most = smaller(most, spec->mig ? max_on_instances(spec, request, wanted) : max_on_gpus(spec, request));
  uint32_t cpu_milli = hr_pool_cpu_milli(spec, request);
  if (spec->cpu_milli_per_node && cpu_milli) most = smaller(most, spec->cpu_milli_per_node / cpu_milli);
  if (spec->mem_mib_per_node && request->mem_mib) most = smaller(most, spec->mem_mib_per_node / request->mem_mib);
  return (uint32_t)most;
}

/* ---- Use of a node ---------------------------------------------------------------------------------- */

/* ---- Use of a node: MIG ----------------------------------------------------------------------------- */

/* The union of the instances that tasks use on one GPU during a time window. */
struct instance_union {
  struct hr_mig_gpu gpu; /* HR_MIG_ON_DEMAND: the instances */
  uint32_t layout, taken, n_tasks;
  bool is_full;
};

static bool is_on(const struct hr_slice *slice, uint32_t gpu) {
  return slice->gpus == UINT64_C(1) << gpu;
}

/* Adds an instance to the union. An instance that the union already has is counted once. If the union becomes
   impossible (see struct hr_node_use), sets `is_full`. */
static void add_instance(const struct hr_mig_spec *mig, struct instance_union *all, struct hr_instance instance) {
  if (mig->mode == HR_MIG_ON_DEMAND) {
    bool is_known = hr_mig_profile_at(&all->gpu, instance.start) == instance.profile;
    if (!is_known && !hr_mig_create(&mig->type, &all->gpu, instance.profile, instance.start)) all->is_full = true;
  } else {
    if (all->n_tasks > 0 && all->layout != instance.layout) all->is_full = true;
    all->layout = instance.layout;
    all->taken |= 1U << instance.start;
  }
  all->n_tasks++;
}

static struct instance_union union_of(const struct hr_mig_spec *mig, uint32_t layout, uint32_t gpu,
                                      const struct hr_node_use *use) {
  struct instance_union all = {.layout = layout};
  for (uint32_t i = 0; i < use->n_before; i++)
    if (is_on(&use->before[i], gpu)) all.layout = use->before[i].instance.layout;
  for (uint32_t i = 0; i < use->n_within && !all.is_full; i++)
    if (is_on(&use->within[i], gpu)) add_instance(mig, &all, use->within[i].instance);
  return all;
}

/* Changes the union such that no instance can be added to it. */
static void fill(const struct hr_mig_spec *mig, struct instance_union *all) {
  all->taken = UINT8_MAX;
  all->gpu.occupied = UINT8_MAX;
  all->gpu.compute_used = mig->type.compute_slices;
}

static void set_instances(struct hr_gpu_inventory *inventory, const struct hr_gpu_inventory *now, hr_node node,
                          const struct hr_node_use *use) {
  const struct hr_mig_spec *mig = hr_gpu_inventory_mig(inventory, node);
  for (uint32_t gpu = 0; gpu < inventory->n_gpus[node.id]; gpu++) {
    size_t at = (size_t)node.id * inventory->max_gpus + gpu;
    struct instance_union all = union_of(mig, now->mig_layout[at], gpu, use);
    if (all.is_full) {
      fill(mig, &all);
      inventory->left_milli[node.id] -= inventory->gpu_milli[at];
      inventory->gpu_milli[at] = 0;
    }
    gpu_inventory_set_instances(inventory, node, gpu, &all.gpu, all.layout, all.taken);
  }
}

/* ---- Use of a node: nodes --------------------------------------------------------------------------- */

static void use_gpus(struct hr_gpu_inventory *inventory, hr_node node, const struct hr_node_use *use) {
  size_t first = (size_t)node.id * inventory->max_gpus;
  for (uint32_t i = 0; i < inventory->n_gpus[node.id]; i++) {
    inventory->gpu_milli[first + i] = (uint16_t)(inventory->gpu_milli[first + i] - use->gpu_milli[i]);
    inventory->left_milli[node.id] -= (uint32_t)use->gpu_milli[i];
    inventory->gpu_tasks[first + i] = (uint16_t)use->gpu_tasks[i];
    if (inventory->gpu_mem_mib[first + i] != HR_NONE)
      inventory->gpu_mem_mib[first + i] -= (uint32_t)use->gpu_mem_mib[i];
  }
}

void hr_gpu_inventory_set_use(struct hr_gpu_inventory *inventory, const struct hr_cluster_spec *spec,
                              const struct hr_gpu_inventory *now, hr_node node, const struct hr_node_use *use) {
  uint32_t i = node.id;
  hr_gpu_inventory_clear(inventory, spec, node);
  if (inventory->cpu_milli[i] != HR_NONE) inventory->cpu_milli[i] -= (uint32_t)use->cpu_milli;
  if (inventory->mem_mib[i] != UINT64_MAX) inventory->mem_mib[i] -= use->mem_mib;
  inventory->tasks[i] = (uint32_t)use->tasks;
  inventory->alone[i] = use->alone;
  use_gpus(inventory, node, use);
  if (hr_gpu_inventory_mig(inventory, node)) set_instances(inventory, now, node, use);
  find_widest(inventory, node, HR_WHOLE_GPU_MILLI);
}

/* Returns whether slice `i` is on the same GPUs as a slice with a lower index. */
static bool is_repeated(const struct hr_slice *slices, uint32_t i) {
  for (uint32_t k = 0; k < i; k++)
    if (slices[k].node.id == slices[i].node.id && slices[k].gpus == slices[i].gpus) return true;
  return false;
}

void hr_gpu_inventory_adopt_layouts(const struct hr_gpu_inventory *now, struct hr_slice *slices, uint32_t n_slices) {
  for (uint32_t i = 0; i < n_slices; i++) {
    const struct hr_mig_spec *mig = hr_gpu_inventory_mig(now, slices[i].node);
    if (!mig || mig->mode != HR_MIG_DYNAMIC || !slices[i].gpus || is_repeated(slices, i)) continue;
    size_t gpu = (size_t)slices[i].node.id * now->max_gpus + (uint32_t)__builtin_ctzll(slices[i].gpus);
    slices[i].instance.layout_before = now->mig_layout[gpu];
  }
}
