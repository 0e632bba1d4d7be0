/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Per-GPU allocation: which GPUs of their nodes the pods of a job get when it starts.
 *
 * KAI decides about nodes, and about which pods share a GPU. A shared GPU of the session has the number of a GPU of its
 * node from the start of its first pod on. The inventory has the slices of all running jobs, so the pods of one job are
 * placed one after the other. Invariant: between two passes the inventory agrees with that of the engine.
 */

#include "policies/kai/world.h"

#include "policies/kai/node_usage.h"

bool hr__kai_gpus_create(struct hr__kai_world *world) {
  if (!hr_cluster_gpu_inventory(world->simulated)) return true;
  world->inventory = hr_gpu_inventory_create(world->arena, hr_cluster_spec_of(world->simulated),
                                             hr_cluster_requests(world->simulated));
  return world->inventory != NULL;
}

/* GPUs of a node on which nothing runs. */
static uint64_t idle_gpus(const struct hr_gpu_inventory *inventory, uint32_t node) {
  uint64_t idle = 0;
  for (uint32_t g = 0; g < inventory->n_gpus[node]; g++)
    if (inventory->gpu_tasks[(size_t)node * inventory->max_gpus + g] == 0) idle |= UINT64_C(1) << g;
  return idle;
}

/* The GPUs of the shared GPUs of a pod; 0: they do not have room. */
static uint64_t shared_gpus(struct hr__kai_world *world, uint32_t pod, const struct hr_request *request,
                            uint32_t node) {
  struct hr__kai_session *session = world->session;
  const uint64_t room = hr_gpu_inventory_fitting_gpus(world->inventory, request, (hr_node){node});
  uint64_t chosen = 0;
  for (int64_t i = 0; i < session->pods[pod].n_gpus; i++) {
    struct hr__kai_shared_gpu *shared = &session->shared[hr__kai_gpus_of(session, pod, 0)[i]];
    if (shared->physical < 0) {
      const uint64_t idle = idle_gpus(world->inventory, node) & room & ~chosen;
      if (!idle) return 0;
      for (shared->physical = 0; !(idle >> shared->physical & 1);) shared->physical++;
    }
    if (!(room >> shared->physical & 1)) return 0;
    chosen |= UINT64_C(1) << shared->physical;
  }
  return chosen;
}

/* Which GPUs a pod gets within a set; 0: too few. */
static uint64_t choose(struct hr__kai_world *world, uint32_t pod, const struct hr_request *request, uint32_t node,
                       uint64_t within) {
  if (request->gpus == 0) return 0;
  const uint64_t gpus = world->pods[pod].kind == HR__KAI_FRACTION
                            ? shared_gpus(world, pod, request, node) & within
                            : hr_gpu_inventory_pick_of(world->inventory, request, (hr_node){node}, within);
  uint32_t n = 0;
  for (uint64_t left = gpus; left; left &= left - 1) n++;
  return n == request->gpus ? gpus : 0;
}

static void give_back(struct hr__kai_world *world, const struct hr_request *request, const struct hr_slice *slices,
                      uint32_t n) {
  while (n-- > 0) hr_gpu_inventory_undo(world->inventory, request, &slices[n]);
}

/* Places all pods of a job on GPUs within the set. */
static bool place_within(struct hr__kai_world *world, uint32_t slot, uint64_t within, struct hr_slice *slices) {
  const struct hr__kai_job *job = &world->jobs[slot];
  const struct hr_request *request =
      &hr_cluster_requests(world->simulated)->request[world->kinds[world->kind_of[slot]].request];
  for (uint32_t i = 0; i < job->n_pods; i++) {
    const uint32_t node = (uint32_t)world->session->pods[job->first_pod + i].node;
    const uint64_t gpus = choose(world, job->first_pod + i, request, node, within);
    if (request->gpus > 0 && gpus == 0) {
      give_back(world, request, slices, i);
      return false;
    }
    slices[i] = hr_gpu_inventory_slice(world->inventory, request, (hr_node){node}, gpus);
    if (hr_gpu_inventory_refuse(world->inventory, request, &slices[i])) {
      give_back(world, request, slices, i);
      return false;
    }
    hr_gpu_inventory_take(world->inventory, request, &slices[i]);
  }
  return true;
}

bool hr__kai_gpus_place(struct hr__kai_world *world, uint32_t slot, struct hr_slice *slices) {
  const struct hr__kai_kind *kind = &world->kinds[world->kind_of[slot]];
  const uint32_t node = (uint32_t)world->session->pods[world->jobs[slot].first_pod].node;
  const struct hr_pool_spec *spec = hr_cluster_pool_spec(world->simulated, (hr_pool){world->pool_of[node]});
  const uint32_t group = hr_topology_gpus(&spec->topology, kind->tier, spec->gpus_per_node);
  const bool in_groups = kind->tier != HR_TIER_ANY && kind->tier < HR_TIER_NODE && group < spec->gpus_per_node;
  for (uint32_t first = 0; in_groups && first < spec->gpus_per_node; first += group)
    if (place_within(world, slot, ((UINT64_C(1) << group) - 1) << first, slices)) return true;
  return (!in_groups || kind->preferred) && place_within(world, slot, UINT64_MAX, slices);
}

void hr__kai_gpus_leave(struct hr__kai_world *world, hr_job job, const struct hr_placement *placement) {
  if (!world->inventory || !placement) return;
  const struct hr_requests *requests = hr_cluster_requests(world->simulated);
  const struct hr_request *request = &requests->request[requests->of_job[job.id]];
  for (uint32_t i = 0; i < placement->n_slices; i++)
    hr_gpu_inventory_give(world->inventory, request, &placement->slices[i]);
}
