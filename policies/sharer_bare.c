/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether it is for want of CPU or memory that a job finds no place: the same stock, looked at by a packer to which all
 * requests are for GPUs alone. It is made when it is first asked, as only explanations do.
 */

#include "policies/dispatch.h"
#include "policies/sharer_state.h"

static struct hr_request *bare_requests(struct hr_arena *arena, const struct hr__sharer *sharer) {
  struct hr_request *bare = hr_arena_alloc(arena, ((size_t)sharer->n_asked + 1) * sizeof *bare);
  for (uint32_t i = 0; bare && i < sharer->n_asked; i++) {
    bare[i] = sharer->asked[i];
    bare[i].cpu_milli = 0;
    bare[i].mem_mib = 0;
  }
  return bare;
}

/* Its slices are those of the sharer: whoever finds a place is told so before the next question. */
static struct hr__sharer *make_bare(struct hr_arena *arena, struct hr__sharer *sharer) {
  struct hr__sharer *bare = hr_arena_alloc(arena, sizeof *bare);
  const struct hr_packing_rule *rule = hr_packing_rule_find("first-fit", NULL);
  if (!bare || !rule) return NULL;
  *bare = *sharer;
  bare->asked = bare_requests(arena, sharer);
  struct hr_packer_config config = {.rule = rule,
                                    .stock = sharer->now.stock,
                                    .cluster = hr_cluster_spec_of(sharer->cluster),
                                    .acceptance = sharer->acceptance,
                                    .requests = bare->asked,
                                    .n_requests = sharer->n_asked};
  struct hr_packer *packer = bare->asked ? hr_packer_create(arena, &config) : NULL;
  if (!packer) return NULL;
  bare->now = (struct hr__yard){.stock = sharer->now.stock, .packer = packer};
  sharer->now.bare = packer;
  return bare;
}

bool hr__sharer_lacks_node(struct hr__queue *queue, hr_job job) {
  struct hr__sharer *sharer = queue->sharer;
  uint32_t request = sharer->requests->of_job[job.id];
  const struct hr_request *asked = &sharer->asked[request];
  struct hr_placement unused;
  if (asked->cpu_milli == 0 && asked->mem_mib == 0) return false;
  if (!sharer->bare) sharer->bare = make_bare(queue->arena, sharer);
  if (!sharer->bare) sharer->failed = true;
  return sharer->bare && hr__yard_find(sharer->bare, &sharer->bare->now, request, &unused);
}
