/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time windows in per-GPU allocation: what tasks use of a node, and the state of a node during a window. See
   headroom/unstable/capacity.h. */

#include "headroom/unstable/node_use.h"
#include "policies/placement/gpu_capacity.h"

/* The columns of a use: those of the node, then for each GPU its share, its memory and its tasks, then the number of
   tasks of each kind. */
enum { CPU_MILLI, MEM_MIB, TASKS, ALONE, FIRST_OF_GPUS };

static uint32_t max_gpus(const struct hr__gpu_set *set) {
  return hr_cluster_gpu_inventory(set->cluster)->max_gpus;
}

uint32_t hr__gpu_set_columns(const struct hr__gpu_set *set) {
  return FIRST_OF_GPUS + 3 * max_gpus(set) + hr_packer_kinds(max_gpus(set));
}

uint32_t hr__gpu_set_first_gpu_column(void) {
  return FIRST_OF_GPUS;
}

void hr__gpu_set_add_use(const struct hr__gpu_set *set, uint32_t request, const struct hr_slice *slice, uint64_t *use) {
  const struct hr_gpu_inventory *inventory = hr_cluster_gpu_inventory(set->cluster);
  const struct hr_request *asked = &set->asked[request];
  uint32_t n = inventory->max_gpus;
  uint64_t *gpu_milli = use + FIRST_OF_GPUS, *gpu_mem_mib = gpu_milli + n, *gpu_tasks = gpu_mem_mib + n;
  bool is_split = hr_gpu_inventory_mig(inventory, slice->node) != NULL;
  uint32_t milli = is_split ? slice->gpu_milli : hr_gpu_inventory_milli(inventory, asked, slice->node);
  use[CPU_MILLI] += hr_gpu_inventory_cpu_milli(inventory, asked, slice->node);
  use[MEM_MIB] += asked->mem_mib;
  use[TASKS]++;
  use[ALONE] += asked->dedicated;
  for (uint64_t gpus = slice->gpus; gpus; gpus &= gpus - 1) {
    uint32_t gpu = (uint32_t)__builtin_ctzll(gpus);
    gpu_milli[gpu] += milli;
    gpu_mem_mib[gpu] += asked->gpu_mem_mib;
    gpu_tasks[gpu]++;
  }
  gpu_tasks[n + hr_request_kind(asked)]++;
}

/* Returns the maximum of a column so that `needed` is still free; UINT64_MAX if the resource is not accounted. If
   the node never has enough, the result is 0, and hr_capacity_fits_on is false. */
static uint64_t limit_of(uint64_t total, uint64_t needed) {
  return total == 0 ? UINT64_MAX : total - (needed < total ? needed : total);
}

struct hr_use_limits hr__gpu_set_use_limits(const struct hr__gpu_set *set, uint32_t request, hr_pool pool) {
  const struct hr_request *asked = &set->asked[request];
  const struct hr_pool_spec *spec = hr_cluster_pool_spec(set->cluster, pool);
  uint32_t slot_milli = hr_pool_slot_milli(spec), milli = slot_milli ? slot_milli : asked->gpu_milli;
  return (struct hr_use_limits){.max_first = limit_of(spec->cpu_milli_per_node, hr_pool_cpu_milli(spec, asked)),
                                .max_second = limit_of(spec->mem_mib_per_node, asked->mem_mib),
                                .max_gpu_milli = limit_of(HR_WHOLE_GPU_MILLI, milli),
                                .gpus = spec->mig ? 0 : asked->gpus,
                                .n_gpus = spec->gpus_per_node,
                                .first_gpu = FIRST_OF_GPUS};
}

void hr__gpu_state_set_window(const struct hr__gpu_set *set, const struct hr__gpu_state *state,
                              const struct hr__gpu_state *now, hr_node node, const struct hr_window_use *use) {
  const uint64_t *columns = use->columns, *gpu_milli = columns + FIRST_OF_GPUS;
  uint32_t n = state->inventory->max_gpus;
  const struct hr_node_use of_node = {.cpu_milli = columns[CPU_MILLI],
                                      .mem_mib = columns[MEM_MIB],
                                      .tasks = columns[TASKS],
                                      .alone = columns[ALONE] > 0,
                                      .gpu_milli = gpu_milli,
                                      .gpu_mem_mib = gpu_milli + n,
                                      .gpu_tasks = gpu_milli + 2 * (size_t)n,
                                      .within = use->within,
                                      .before = use->before,
                                      .n_within = use->n_within,
                                      .n_before = use->n_before};
  hr_gpu_inventory_set_use(state->inventory, hr_cluster_spec_of(set->cluster), now->inventory, node, &of_node);
  state->inventory->closed[node.id] = 0;
  hr_packer_set_tasks(state->packer, node, (uint32_t)columns[TASKS], gpu_milli + 3 * (size_t)n);
  hr__gpu_state_node_changed(state, node);
}

uint32_t hr__gpu_set_min_nodes(const struct hr__gpu_set *set, uint32_t request, hr_pool pool) {
  const struct hr_request *asked = &set->asked[request];
  const struct hr_cluster_spec *cluster = hr_cluster_spec_of(set->cluster);
  if (!hr_cluster_accepts(set->cluster, asked->accept_class, pool)) return HR_NONE;
  uint32_t on_node = hr_pool_max_tasks(cluster, pool, asked);
  if (on_node == 0) return HR_NONE;
  return cluster->pools[pool.id].mig ? 1 : (asked->tasks - 1) / on_node + 1;
}

/* Returns whether the tasks of a gang can block each other: with MIG, by the layout or the starts that the instance of
   one task has; without MIG, if each task uses shares of several GPUs, by the choice of the GPUs. */
bool hr__gpu_set_is_monotone(const struct hr__gpu_set *set, uint32_t request) {
  const struct hr_request *asked = &set->asked[request];
  const struct hr_cluster_spec *cluster = hr_cluster_spec_of(set->cluster);
  if (asked->tasks == 1) return true;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    bool shares = asked->gpu_milli < HR_WHOLE_GPU_MILLI || cluster->pools[i].replicas > 0;
    if (!hr_cluster_accepts(set->cluster, asked->accept_class, (hr_pool){i})) continue;
    if (cluster->pools[i].mig || (asked->gpus > 1 && shares)) return false;
  }
  return true;
}
