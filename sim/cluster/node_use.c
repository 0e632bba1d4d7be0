/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of a node during a time window: see struct hr_node_use in headroom/gpu_inventory.h. */

#include "headroom/gpu_inventory.h"

#include "sim/cluster/cluster.h"

/* ---- MIG ---- */

/* The union of the instances of one GPU. */
struct instance_union {
  struct hr_mig_gpu gpu; /* HR_MIG_ON_DEMAND: the instances */
  uint32_t layout, taken, n_tasks;
  bool is_full;
};

static bool is_on(const struct hr_slice *slice, uint32_t gpu) {
  return slice->gpus == UINT64_C(1) << gpu;
}

/* Adds an instance to the union. An instance that the union already has is counted once. */
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

/* Changes the union so that no instance can be added to it. */
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
    hr__gpu_inventory_set_instances(inventory, node, gpu, &all.gpu, all.layout, all.taken);
  }
}

/* ---- Nodes ---- */

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

static void find_widest(struct hr_gpu_inventory *inventory, hr_node node) {
  const uint16_t *milli = hr_gpu_inventory_gpus(inventory, node);
  uint16_t widest = 0;
  for (uint32_t i = 0; i < inventory->n_gpus[node.id]; i++) widest = milli[i] > widest ? milli[i] : widest;
  inventory->widest_milli[node.id] = widest;
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
  find_widest(inventory, node);
}

/* Returns whether a slice is on the GPU of a slice before it. */
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
