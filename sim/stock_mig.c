/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A GPU that keeps a layout is its number and the set of starts that tasks have; what is idle of a profile follows with
 * one AND. On demand its instances are those that tasks have. Sets of profiles are words: profiles are numbered from
 * the largest to the smallest, so the highest bit is the smallest.
 */

#include "sim/stock_mig.h"

#include "headroom/policy.h"

/* ---- Columns ---------------------------------------------------------------------------------------- */

static enum hr_status make_columns(struct hr_stock *stock, struct hr_arena *arena, uint32_t n_pools) {
  size_t n_gpus = (size_t)stock->n_nodes * stock->most_gpus + 1;
  stock->mig = hr_arena_alloc(arena, ((size_t)n_pools + 1) * sizeof *stock->mig);
  stock->mig_asked = hr_arena_alloc(arena, ((size_t)n_pools + 1) * sizeof *stock->mig_asked);
  stock->mig_gpu = hr_arena_alloc(arena, n_gpus * sizeof *stock->mig_gpu);
  stock->mig_taken = hr_arena_alloc(arena, n_gpus);
  stock->mig_layout = hr_arena_alloc(arena, n_gpus);
  stock->mig_profiles = hr_arena_alloc(arena, n_gpus * sizeof *stock->mig_profiles);
  bool made = stock->mig && stock->mig_asked && stock->mig_gpu && stock->mig_taken && stock->mig_layout;
  return made && stock->mig_profiles ? HR_OK : HR_NO_MEMORY;
}

enum hr_status hr__stock_mig_init(struct hr_stock *stock, struct hr_arena *arena, const struct hr_cluster_spec *spec,
                                  const struct hr_requests *requests) {
  uint32_t n_split = 0;
  for (uint32_t i = 0; i < spec->n_pools; i++) n_split += spec->pools[i].mig != NULL;
  if (n_split == 0) return HR_OK;
  if (make_columns(stock, arena, spec->n_pools) != HR_OK) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < spec->n_pools; i++) {
    stock->mig[i] = spec->pools[i].mig;
    for (uint32_t k = 0; requests && requests->mig_needs && k < requests->count; k++)
      stock->mig_asked[i] = (uint16_t)(stock->mig_asked[i] | requests->request[k].mig_profiles[i]);
    if (!requests) stock->mig_asked[i] = UINT16_MAX;
  }
  for (uint32_t node = 0; node < stock->n_nodes; node++) hr_stock_renew(stock, (hr_node){node});
  return HR_OK;
}

/* ---- What a GPU has --------------------------------------------------------------------------------- */

/* A GPU as it is, or would be. */
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
  profiles = idle_profiles(mig, &mig->layouts[state->layout], state->taken);
  for (uint32_t i = 0; mig->mode == HR_MIG_DYNAMIC && state->taken == 0 && i < mig->n_layouts; i++)
    profiles |= idle_profiles(mig, &mig->layouts[i], 0);
  return profiles;
}

static struct state state_of(const struct hr_stock *stock, size_t gpu) {
  return (struct state){stock->mig_gpu[gpu], stock->mig_layout[gpu], stock->mig_taken[gpu]};
}

static void set_state(struct hr_stock *stock, const struct hr_mig_spec *mig, size_t gpu, const struct state *state) {
  stock->mig_gpu[gpu] = state->gpu;
  stock->mig_layout[gpu] = (uint8_t)state->layout;
  stock->mig_taken[gpu] = (uint8_t)state->taken;
  stock->mig_profiles[gpu] = (uint16_t)profiles_of(mig, state);
}

static struct state layout_state(const struct hr_mig_spec *mig, uint32_t layout) {
  return (struct state){mig->layouts[layout].gpu, layout, 0};
}

void hr__stock_mig_renew(struct hr_stock *stock, hr_node node) {
  const struct hr_mig_spec *mig = hr_stock_mig(stock, node);
  size_t first = (size_t)node.id * stock->most_gpus;
  for (uint32_t i = 0; i < stock->n_gpus[node.id]; i++) {
    struct state state = mig->layout_of_gpu ? layout_state(mig, mig->layout_of_gpu[i]) : (struct state){0};
    set_state(stock, mig, first + i, &state);
  }
}

/* ---- Finding an instance ---------------------------------------------------------------------------- */

static uint32_t wanted_in(const struct hr_stock *stock, const struct hr_request *request, hr_node node) {
  return request->mig_profiles ? request->mig_profiles[stock->pool[node.id]] : 0;
}

static uint32_t smallest(uint32_t profiles) {
  return 31U - (uint32_t)__builtin_clz(profiles);
}

/* The smallest profile of which one of `wanted` is in a layout and not taken; HR_NONE. */
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

/* Of a GPU without tasks that does not have what is wanted. */
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

/* Of a GPU without tasks: the layout that has the most for a gang. */
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

static bool find_room(const struct hr_stock *stock, const struct hr_mig_spec *mig, size_t gpu, uint32_t pool,
                      uint32_t wanted, struct hr_instance *found) {
  for (; wanted; wanted &= ~(1U << smallest(wanted))) {
    uint32_t profile = smallest(wanted);
    uint32_t start = hr_mig_best_start(&mig->type, &stock->mig_gpu[gpu], profile, stock->mig_asked[pool]);
    if (start == HR_NONE) continue;
    *found = (struct hr_instance){.start = (uint8_t)start, .profile = (uint8_t)profile};
    return true;
  }
  return false;
}

static bool find_on(const struct hr_stock *stock, const struct hr_request *request, hr_node node, uint32_t gpu,
                    struct hr_instance *found) {
  const struct hr_mig_spec *mig = hr_stock_mig(stock, node);
  uint32_t wanted = wanted_in(stock, request, node);
  size_t at = (size_t)node.id * stock->most_gpus + gpu;
  if (mig->mode == HR_MIG_ON_DEMAND) return find_room(stock, mig, at, stock->pool[node.id], wanted, found);
  uint32_t layout = stock->mig_layout[at], taken = stock->mig_taken[at];
  bool is_free = mig->mode == HR_MIG_DYNAMIC && taken == 0;
  if (is_free && request->tasks > 1) return find_for_gang(mig, layout, wanted, found);
  uint32_t profile = idle_profile(&mig->layouts[layout], taken, wanted);
  if (profile != HR_NONE) *found = instance_of(mig, layout, taken, profile, layout);
  if (profile != HR_NONE) return true;
  return is_free && find_other_layout(mig, layout, wanted, found);
}

uint64_t hr__stock_mig_fitting(const struct hr_stock *stock, const struct hr_request *request, hr_node node) {
  const uint16_t *profiles = stock->mig_profiles + (size_t)node.id * stock->most_gpus;
  uint32_t wanted = wanted_in(stock, request, node);
  uint64_t fitting = 0;
  for (uint32_t gpu = 0; gpu < stock->n_gpus[node.id]; gpu++)
    fitting |= (uint64_t)((profiles[gpu] & wanted) != 0) << gpu;
  return fitting;
}

/* ---- Choosing --------------------------------------------------------------------------------------- */

static bool is_better(const struct hr_instance *a, uint32_t a_left_milli, const struct hr_instance *b,
                      uint32_t b_left_milli) {
  bool a_keeps = a->layout == a->layout_before, b_keeps = b->layout == b->layout_before;
  if (a_keeps != b_keeps) return a_keeps;
  if (a->profile != b->profile) return a->profile > b->profile;
  return a_left_milli < b_left_milli;
}

uint64_t hr__stock_mig_pick(const struct hr_stock *stock, const struct hr_request *request, hr_node node) {
  const uint16_t *left_milli = hr_stock_gpus(stock, node);
  uint32_t best_gpu = HR_NONE;
  struct hr_instance best = {0}, found;
  for (uint32_t gpu = 0; gpu < stock->n_gpus[node.id]; gpu++) {
    if (!find_on(stock, request, node, gpu, &found)) continue;
    if (best_gpu != HR_NONE && !is_better(&found, left_milli[gpu], &best, left_milli[best_gpu])) continue;
    best_gpu = gpu;
    best = found;
  }
  return best_gpu == HR_NONE ? 0 : UINT64_C(1) << best_gpu;
}

struct hr_slice hr__stock_mig_slice(const struct hr_stock *stock, const struct hr_request *request, hr_node node,
                                    uint64_t gpus) {
  struct hr_slice slice = {.node = node, .gpus = gpus};
  if (find_on(stock, request, node, (uint32_t)__builtin_ctzll(gpus), &slice.instance))
    slice.gpu_milli = hr_mig_milli(&hr_stock_mig(stock, node)->type, slice.instance.profile, slice.instance.start);
  return slice;
}

/* ---- Taking and giving ------------------------------------------------------------------------------ */

static size_t gpu_of(const struct hr_stock *stock, const struct hr_slice *slice) {
  return (size_t)slice->node.id * stock->most_gpus + (uint32_t)__builtin_ctzll(slice->gpus);
}

static const char *refuse_kept(const struct hr_stock *stock, const struct hr_mig_spec *mig, size_t gpu,
                               struct hr_instance instance) {
  if (instance.layout_before != stock->mig_layout[gpu]) return "a GPU has another layout than the slice says";
  bool changes = instance.layout != instance.layout_before;
  if (changes && (mig->mode != HR_MIG_DYNAMIC || instance.layout >= mig->n_layouts || stock->mig_taken[gpu]))
    return "a GPU cannot be given that layout now";
  const struct hr_mig_layout *layout = &mig->layouts[instance.layout];
  bool is_idle =
      layout->starts[instance.profile] >> instance.start & 1 && !(stock->mig_taken[gpu] >> instance.start & 1);
  return is_idle ? NULL : "a GPU has no such instance idle";
}

const char *hr__stock_mig_refuse(const struct hr_stock *stock, const struct hr_request *request,
                                 const struct hr_slice *slice) {
  const struct hr_mig_spec *mig = hr_stock_mig(stock, slice->node);
  struct hr_instance instance = slice->instance;
  size_t gpu = gpu_of(stock, slice);
  if (instance.start >= HR_MIG_SLICES || !(wanted_in(stock, request, slice->node) >> instance.profile & 1))
    return "an instance is not of a profile that will do";
  if (slice->gpu_milli != hr_mig_milli(&mig->type, instance.profile, instance.start))
    return "a slice does not have as much of its GPU as its instance";
  if (mig->mode != HR_MIG_ON_DEMAND) return refuse_kept(stock, mig, gpu, instance);
  if (instance.layout || instance.layout_before) return "a GPU has another layout than the slice says";
  bool has_room = hr_mig_starts(&mig->type, &stock->mig_gpu[gpu], instance.profile) >> instance.start & 1;
  return has_room ? NULL : "a GPU has no room for such an instance there";
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

void hr__stock_mig_change(struct hr_stock *stock, const struct hr_slice *slice, bool taken) {
  const struct hr_mig_spec *mig = hr_stock_mig(stock, slice->node);
  size_t gpu = gpu_of(stock, slice);
  struct state state = changed(mig, state_of(stock, gpu), slice->instance, taken);
  set_state(stock, mig, gpu, &state);
}

uint32_t hr__stock_mig_profiles_after(const struct hr_stock *stock, const struct hr_slice *slice) {
  const struct hr_mig_spec *mig = hr_stock_mig(stock, slice->node);
  struct state state = changed(mig, state_of(stock, gpu_of(stock, slice)), slice->instance, true);
  return profiles_of(mig, &state);
}

/* Of several tasks on the GPU, whichever brought the layout: the others' instances are all given back with it. */
void hr__stock_mig_undo(struct hr_stock *stock, const struct hr_slice *slice) {
  const struct hr_mig_spec *mig = hr_stock_mig(stock, slice->node);
  if (mig->mode != HR_MIG_DYNAMIC || slice->instance.layout == slice->instance.layout_before) return;
  size_t gpu = gpu_of(stock, slice);
  struct state state = layout_state(mig, slice->instance.layout_before);
  state.taken = stock->mig_taken[gpu];
  set_state(stock, mig, gpu, &state);
}

/* ---- An empty GPU ----------------------------------------------------------------------------------- */

uint32_t hr__mig_most_tasks(const struct hr_mig_spec *mig, uint32_t wanted, uint32_t gpu) {
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
