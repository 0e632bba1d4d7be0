/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which jobs sit on a node: short lists, as a node has few GPUs, of links that are used again. */

#include "sim/engine.h"

#include "sim/grow.h"

#include <stdlib.h>

static enum hr_status take_link(struct hr__residents *residents, uint32_t *link) {
  if (residents->unused) {
    *link = residents->unused - 1;
    residents->unused = residents->links[*link].next;
    return HR_OK;
  }
  if (residents->count == residents->capacity) {
    struct hr__resident *links = hr__grown(residents->links, &residents->capacity, sizeof *links);
    if (!links) return HR_NO_MEMORY;
    residents->links = links;
  }
  *link = residents->count++;
  return HR_OK;
}

enum hr_status hr__residents_add(struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  struct hr__residents *residents = &engine->residents;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    uint32_t link, *first = &residents->first[placement->slices[i].node.id];
    if (*first && residents->links[*first - 1].job.id == job.id) continue; /* another of its tasks is there */
    if (take_link(residents, &link) != HR_OK) return hr__out_of_memory(engine);
    residents->links[link] = (struct hr__resident){job, *first};
    *first = link + 1;
  }
  return HR_OK;
}

void hr__residents_remove(struct hr__engine *engine, hr_job job, const struct hr_placement *placement) {
  struct hr__residents *residents = &engine->residents;
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    uint32_t *at = &residents->first[placement->slices[i].node.id];
    while (*at && residents->links[*at - 1].job.id != job.id) at = &residents->links[*at - 1].next;
    if (!*at) continue; /* it was there with several tasks */
    uint32_t link = *at - 1;
    *at = residents->links[link].next;
    residents->links[link].next = residents->unused;
    residents->unused = link + 1;
  }
}
