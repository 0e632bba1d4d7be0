/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checked mode. Each check has three steps. First it finds the running jobs, and checks the order of the event heap. A
 * running job has a pending event, writes to shared storage, or has flows of data. Then the check computes the state
 * from these jobs and compares the result with the state that the engine maintains: free GPUs per node, per pool and in
 * the index, the GPU inventory with its MIG instances, and counts of jobs. Last, it calls the hooks `check` of all
 * active components. Temporary memory comes from malloc. This code is not optimized for speed.
 */

#include "sim/cluster/cluster.h"
#include "sim/data/data.h"
#include "sim/engine/engine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The resources of each node and GPU that the running jobs use. */

struct node_use {
  uint64_t cpu_milli, mem_mib;
  uint32_t tasks, alone; /* number of tasks; number of tasks that use the node exclusively */
};

struct gpu_use {
  uint64_t milli, mem_mib;
  /* The instances that tasks use. Only the member `at` is used. The value UINT8_MAX means that two tasks use the same
     instance. */
  struct hr_mig_gpu instances;
};

/* In counted allocation, the arrays are NULL. */
struct inventory_use {
  struct node_use *nodes;
  struct gpu_use *gpus; /* by node and GPU, as in the inventory */
};

/* Initializes all sums to 0. Returns false if memory is exhausted. */
static bool inventory_use_init(struct inventory_use *use, const struct hr_gpu_inventory *inventory) {
  return !inventory || (HR__ARRAY_MAKE(use->nodes, inventory->n_nodes) &&
                        HR__ARRAY_MAKE(use->gpus, (size_t)inventory->n_nodes * inventory->max_gpus));
}

/* Adds the resources of a job. */
static void inventory_use_add(struct inventory_use *use, const struct hr_cluster *cluster, hr_job job,
                              const struct hr_placement *placement) {
  const struct hr_gpu_inventory *inventory = cluster->inventory;
  if (!inventory) return;
  const struct hr_request *request = hr__cluster_request(cluster, job);
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    struct hr_slice slice = placement->slices[i];
    struct node_use *node = &use->nodes[slice.node.id];
    node->tasks++;
    node->alone += request->dedicated;
    node->cpu_milli += hr_gpu_inventory_cpu_milli(inventory, request, slice.node);
    node->mem_mib += request->mem_mib;
    for (uint32_t gpu = 0; gpu < inventory->max_gpus; gpu++) {
      struct gpu_use *of_gpu = &use->gpus[(size_t)slice.node.id * inventory->max_gpus + gpu];
      if (!(slice.gpus >> gpu & 1)) continue;
      if (hr_gpu_inventory_mig(inventory, slice.node)) {
        uint8_t *at = &of_gpu->instances.at[slice.instance.start];
        *at = *at ? UINT8_MAX : (uint8_t)(slice.instance.profile + 1);
      }
      of_gpu->milli += slice.gpu_milli / request->gpus;
      of_gpu->mem_mib += request->gpu_mem_mib;
    }
  }
}

/* Checks the free capacity of a GPU. Returns a description of the first inconsistency. Returns NULL if no inconsistency
   exists. */
static const char *check_inventory_gpu(const struct hr_gpu_inventory *inventory, const struct inventory_use *use,
                                       size_t gpu, const struct hr_pool_spec *spec) {
  if (use->gpus[gpu].milli + inventory->gpu_milli[gpu] != HR_WHOLE_GPU_MILLI) return "the free share of a GPU differs";
  uint32_t mem_mib = hr_pool_reserved_mem_mib(spec);
  if (mem_mib != HR_NONE && use->gpus[gpu].mem_mib + inventory->gpu_mem_mib[gpu] != mem_mib)
    return "the free memory of a GPU differs";
  return NULL;
}

/* Checks that the tasks on a GPU use different instances, and that the inventory has these instances for the GPU.
   Returns a description of the first inconsistency. Returns NULL if no inconsistency exists. */
static const char *check_instances(const struct hr_gpu_inventory *inventory, const struct inventory_use *use,
                                   size_t gpu, const struct hr_mig_spec *mig) {
  const struct hr_mig_gpu *used = &use->gpus[gpu].instances, *has = &inventory->mig_gpu[gpu];
  struct hr_mig_gpu alone = {0};
  for (uint32_t start = 0; start < HR_MIG_SLICES; start++) {
    if ((used->at[start] != 0) != (inventory->mig_taken[gpu] >> start & 1)) return "the instances in use differ";
    if (used->at[start] && used->at[start] != has->at[start]) return "an instance does not exist, or two tasks have it";
    if (used->at[start] && !hr_mig_create(&mig->type, &alone, used->at[start] - 1U, start)) return "instances overlap";
  }
  if (mig->mode == HR_MIG_ON_DEMAND) return alone.occupied == has->occupied ? NULL : "an instance belongs to no task";
  const struct hr_mig_gpu *layout = &mig->layouts[inventory->mig_layout[gpu]].gpu;
  return memcmp(layout, has, sizeof *layout) == 0 ? NULL : "the instances of a GPU differ from its layout";
}

/* Checks the stored sums over the GPUs of a node. Returns a description of an inconsistency. Returns NULL if no
   inconsistency exists. */
static const char *check_sums(const struct hr_gpu_inventory *inventory, uint32_t node) {
  const uint16_t *milli = hr_gpu_inventory_gpus(inventory, (hr_node){node});
  uint32_t sum = 0, widest = 0;
  for (uint32_t gpu = 0; gpu < inventory->n_gpus[node]; gpu++) {
    sum += milli[gpu];
    if (milli[gpu] > widest) widest = milli[gpu];
  }
  bool same = sum == inventory->left_milli[node] && widest == inventory->widest_milli[node];
  return same ? NULL : "the free capacity summed over its GPUs differs";
}

/* Checks a node and its GPUs. Returns a description of the first inconsistency. Returns NULL if none exists. */
static const char *check_inventory_node(const struct hr_gpu_inventory *inventory, const struct inventory_use *use,
                                        uint32_t node, const struct hr_pool_spec *spec) {
  const struct node_use *used = &use->nodes[node];
  if (spec->cpu_milli_per_node && used->cpu_milli + inventory->cpu_milli[node] != spec->cpu_milli_per_node)
    return "the free CPU differs";
  if (spec->mem_mib_per_node && used->mem_mib + inventory->mem_mib[node] != spec->mem_mib_per_node)
    return "the free memory differs";
  if (used->tasks != inventory->tasks[node]) return "the number of its tasks differs";
  if (used->alone && used->tasks > 1) return "a task does not have the node exclusively";
  if ((used->alone > 0) != inventory->alone[node]) return "whether a task has the node exclusively differs";
  const char *sums = check_sums(inventory, node);
  if (sums) return sums;
  for (uint32_t i = 0; i < spec->gpus_per_node; i++) {
    size_t gpu = (size_t)node * inventory->max_gpus + i;
    const char *fault = check_inventory_gpu(inventory, use, gpu, spec);
    if (!fault && spec->mig) fault = check_instances(inventory, use, gpu, spec->mig);
    if (fault) return fault;
  }
  return NULL;
}

/* ---- The running jobs ---- */

/* The running jobs, and the capacity that they use. */
struct usage {
  uint64_t *pool_milli; /* allocated milli-GPUs, by pool */
  uint32_t *node_milli; /* allocated milli-GPUs, by node */
  struct inventory_use inventory;
  struct hr__running running;
  uint64_t all_milli; /* the sum over all pools */
};

static void add_job(const struct hr__engine *engine, hr_job job, struct usage *usage) {
  struct hr_placement placement = HR__PLACEMENT_OF(engine, job);
  uint64_t gpu_milli = hr_placement_milli(&placement, engine->trace, job);
  usage->running.jobs[usage->running.count++] = job;
  usage->all_milli += gpu_milli;
  inventory_use_add(&usage->inventory, &engine->cluster, job, &placement);
  if (gpu_milli == 0) return;
  usage->pool_milli[placement.pool.id] += gpu_milli;
  for (uint32_t i = 0; i < placement.n_slices; i++)
    usage->node_milli[placement.slices[i].node.id] += placement.slices[i].gpu_milli;
}

/* Finds the running jobs and adds their capacity. Also checks the event heap. */
static enum hr_status add_running(const struct hr__engine *engine, struct usage *usage) {
  for (uint32_t i = 0; i < engine->heap.count; i++) {
    struct hr__pending pending = engine->heap.entries[i];
    if (i > 0 && hr__pending_before(pending, engine->heap.entries[(i - 1) / 2]))
      return hr__broken(engine, "the event heap is out of order at %" PRIu32, i);
    if (pending.at_us < engine->view.now_us) return hr__broken(engine, "an event lies in the past");
    if (hr__pending_kind(pending) > HR__PENDING_PHASE) continue;
    hr_job job = {hr__pending_entity(pending)};
    if (engine->state[job.id] != HR_JOB_RUNNING)
      return hr__broken(engine, "job %" PRIu32 " ends but does not run", job.id);
    add_job(engine, job, usage);
  }
  for (uint32_t i = 0; engine->storage && i < engine->cluster.n_pools; i++)
    for (uint32_t k = 0; k < engine->storage[i].count; k++) add_job(engine, engine->storage[i].writers[k].job, usage);
  for (uint32_t job = hr__data_next_flow(engine, 0); job != HR_NONE; job = hr__data_next_flow(engine, job + 1))
    add_job(engine, (hr_job){job}, usage);
  return HR_OK;
}

static enum hr_status check_node(const struct hr__engine *engine, const struct hr__pool *pool, uint32_t number,
                                 uint32_t used_milli) {
  uint32_t id = pool->first_node.id + number;
  enum hr_node_state state = hr_cluster_node_state(&engine->cluster, (hr_node){id});
  bool there = state == HR_NODE_UP || state == HR_NODE_CLOSING;
  uint32_t size_milli = there ? pool->spec->gpus_per_node * 1000 : 0;
  uint32_t free_milli = engine->cluster.node_free_milli[id], gpus = hr_free_index_get(pool->index, number);
  if (used_milli > size_milli) return hr__broken(engine, "node %" PRIu32 " is over its capacity", id);
  if (free_milli != size_milli - used_milli) return hr__broken(engine, "node %" PRIu32 ": free GPUs differ", id);
  const struct hr_gpu_inventory *inventory = engine->cluster.inventory;
  uint32_t whole_gpus = inventory ? hr_gpu_inventory_idle_gpus(inventory, (hr_node){id}) : free_milli / 1000;
  if (gpus != (state == HR_NODE_UP ? whole_gpus : 0) || hr_free_index_node(pool->index, gpus, number) != number)
    return hr__broken(engine, "node %" PRIu32 ": the free index differs", id);
  if (pool->comes_and_goes && hr__bitset_has(pool->off, number) != (state == HR_NODE_OFF))
    return hr__broken(engine, "node %" PRIu32 ": the set of nodes that are off differs", id);
  return HR_OK;
}

static enum hr_status check_nodes(const struct hr__engine *engine, const struct hr__pool *pool,
                                  const struct usage *usage) {
  uint64_t total_milli = 0, free_milli = 0;
  uint32_t n_in[HR__NODE_STATES] = {0}, n_offered = 0;
  for (uint32_t number = 0; number < pool->spec->nodes; number++) {
    uint32_t id = pool->first_node.id + number;
    enum hr_status status = check_node(engine, pool, number, usage->node_milli[id]);
    if (status != HR_OK) return status;
    enum hr_node_state state = hr_cluster_node_state(&engine->cluster, (hr_node){id});
    n_in[state]++;
    n_offered += state == HR_NODE_OFF && number < pool->obtainable;
    if (state == HR_NODE_UP || state == HR_NODE_CLOSING) total_milli += pool->spec->gpus_per_node * 1000;
    if (state == HR_NODE_UP) free_milli += engine->cluster.node_free_milli[id];
  }
  if (!hr__group_index_is_consistent(pool->index))
    return hr__broken(engine, "pool '%s': the group index differs", pool->spec->name);
  if (memcmp(n_in, pool->n_in, sizeof n_in) != 0 || n_offered != pool->n_offered)
    return hr__broken(engine, "pool '%s': the counts of nodes by state differ", pool->spec->name);
  if (total_milli != pool->total_milli) return hr__broken(engine, "pool '%s': its GPUs differ", pool->spec->name);
  if (pool->comes_and_goes && free_milli != pool->free_milli)
    return hr__broken(engine, "pool '%s': free GPUs differ", pool->spec->name);
  return HR_OK;
}

static enum hr_status check_capacity(const struct hr__engine *engine, const struct usage *usage) {
  uint64_t free_milli = 0, total_milli = 0;
  for (uint32_t i = 0; i < engine->cluster.n_pools; i++) {
    const struct hr__pool *pool = &engine->cluster.pools[i];
    if (usage->pool_milli[i] > pool->total_milli)
      return hr__broken(engine, "pool '%s' is over its capacity", pool->spec->name);
    if (!pool->comes_and_goes && pool->free_milli != pool->total_milli - usage->pool_milli[i])
      return hr__broken(engine, "pool '%s': free GPUs differ", pool->spec->name);
    free_milli += pool->free_milli;
    total_milli += pool->total_milli;
    enum hr_status status = check_nodes(engine, pool, usage);
    if (status != HR_OK) return status;
  }
  if (free_milli != engine->cluster.free_milli) return hr__broken(engine, "the cluster's free GPUs differ");
  if (total_milli != engine->cluster.total_milli || total_milli != engine->view.total_milli)
    return hr__broken(engine, "the cluster's GPUs differ");
  if (usage->all_milli != engine->view.allocated_milli) return hr__broken(engine, "the allocated GPUs differ");
  return HR_OK;
}

static enum hr_status check_inventory(const struct hr__engine *engine, const struct inventory_use *use) {
  const struct hr_cluster *cluster = &engine->cluster;
  for (uint32_t i = 0; cluster->inventory && i < cluster->n_pools; i++) {
    const struct hr__pool *pool = &cluster->pools[i];
    for (uint32_t node = pool->first_node.id; node < pool->first_node.id + pool->spec->nodes; node++) {
      const char *fault = check_inventory_node(cluster->inventory, use, node, pool->spec);
      bool is_up = hr_cluster_node_state(cluster, (hr_node){node}) == HR_NODE_UP;
      if (!fault && cluster->inventory->closed[node] == is_up) fault = "whether it is closed differs from its state";
      if (fault) return hr__broken(engine, "node %" PRIu32 ": %s", node, fault);
    }
  }
  return HR_OK;
}

static enum hr_status check_counts(const struct hr__engine *engine, const struct usage *usage) {
  if (usage->running.count != engine->view.n_running) return hr__broken(engine, "the number of running jobs differs");
  uint64_t known = engine->view.n_waiting + engine->view.n_running + engine->n_completed + engine->n_rejected;
  const bool counted = engine->whole || engine->n_submitted == engine->cursor + engine->n_added;
  if (known + engine->n_left != engine->n_submitted || !counted)
    return hr__broken(engine, "jobs are lost: %" PRIu64 " submitted, %" PRIu64 " known", engine->n_submitted, known);
  return HR_OK;
}

static enum hr_status check_jobs(const struct hr__engine *engine) {
  uint64_t count[HR_JOB_REJECTED + 1] = {0};
  if (engine->whole) return HR_OK; /* the columns have the jobs of all clusters */
  for (uint32_t i = 0; i < engine->trace->n_jobs; i++) {
    count[engine->state[i]]++;
    if (engine->start_us[i] != HR_NEVER_US && engine->start_us[i] < engine->trace->submit_us[i])
      return hr__broken(engine, "job %" PRIu32 " starts before its submit", i);
  }
  bool same = count[HR_JOB_WAITING] == engine->view.n_waiting && count[HR_JOB_RUNNING] == engine->view.n_running &&
              count[HR_JOB_COMPLETED] == engine->n_completed && count[HR_JOB_REJECTED] == engine->n_rejected;
  return same ? HR_OK : hr__broken(engine, "the counts of jobs by state differ from the jobs");
}

static enum hr_status check_components(const struct hr__engine *engine, const struct hr__running *running) {
  enum hr_status status = HR_OK;
  HR__CALL_ACTIVE(engine, status, check, running);
  return status;
}

/* Returns an upper limit of the number of running jobs that add_running can find. */
static size_t max_running(const struct hr__engine *engine) {
  size_t count = engine->heap.count;
  for (uint32_t i = 0; engine->storage && i < engine->cluster.n_pools; i++) count += engine->storage[i].count;
  for (uint32_t job = hr__data_next_flow(engine, 0); job != HR_NONE; job = hr__data_next_flow(engine, job + 1)) count++;
  return count;
}

enum hr_status hr__check_state(const struct hr__engine *engine, bool every_job) {
  struct usage usage = {.running.every_job = every_job};
  enum hr_status status = HR_NO_MEMORY;
  if (inventory_use_init(&usage.inventory, engine->cluster.inventory) &&
      HR__ARRAY_MAKE(usage.pool_milli, engine->cluster.n_pools) &&
      HR__ARRAY_MAKE(usage.node_milli, engine->cluster.n_nodes) &&
      HR__ARRAY_MAKE(usage.running.jobs, max_running(engine))) {
    status = add_running(engine, &usage);
    if (status == HR_OK) status = check_capacity(engine, &usage);
    if (status == HR_OK) status = check_inventory(engine, &usage.inventory);
    if (status == HR_OK) status = check_counts(engine, &usage);
    if (status == HR_OK && every_job) status = check_jobs(engine);
    if (status == HR_OK) status = check_components(engine, &usage.running);
  } else {
    hr_fail(engine->error, HR_NO_MEMORY, "out of memory");
  }
  free(usage.inventory.nodes);
  free(usage.inventory.gpus);
  free(usage.pool_milli);
  free(usage.node_milli);
  free(usage.running.jobs);
  return status;
}
