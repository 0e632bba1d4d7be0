/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where each job ran. Nearly all jobs sit on one node with all their GPUs: the node's number is then all there is to
 * keep, unless GPUs are told apart. The slices of all others stand one after the other in a slab. 12 bytes a job, 24
 * more a slice.
 */

#include "report/placements.h"

#include <stdlib.h>
#include <string.h>

/* What `count` says beside the number of slices in the slab. */
enum { NEVER_PLACED = 0, MAX_SLICES = 1 << 30, POOL_ONLY, WHOLE_ON_NODE };

struct entry {
  uint32_t place; /* the node, or where the slices begin in the slab */
  uint32_t count;
  uint32_t pool;
};

struct hr_placements {
  const struct hr_trace *trace;
  struct entry *entry; /* by job */
  struct hr_slice *slab;
  size_t n_slices, capacity;
  bool failed;
};

struct hr_placements *hr_placements_create(const struct hr_trace *trace) {
  struct hr_placements *placements = calloc(1, sizeof *placements);
  if (!placements) return NULL;
  placements->trace = trace;
  placements->entry = calloc((size_t)trace->n_jobs + 1, sizeof *placements->entry);
  if (placements->entry) return placements;
  free(placements);
  return NULL;
}

void hr_placements_destroy(struct hr_placements *placements) {
  if (!placements) return;
  free(placements->entry);
  free(placements->slab);
  free(placements);
}

static bool reserve(struct hr_placements *placements, size_t more) {
  size_t wanted = placements->n_slices + more, capacity = placements->capacity ? placements->capacity : 1024;
  if (wanted <= placements->capacity) return true;
  if (wanted > UINT32_MAX) return false;
  while (capacity < wanted) capacity *= 2;
  struct hr_slice *slab = realloc(placements->slab, capacity * sizeof *slab);
  if (!slab) return false;
  placements->slab = slab;
  placements->capacity = capacity;
  return true;
}

/* Of tasks on one node there is a slice for each. */
static int by_node(const void *a, const void *b) {
  uint32_t x = ((const struct hr_slice *)a)->node.id, y = ((const struct hr_slice *)b)->node.id;
  return (x > y) - (x < y);
}

/* A gang that starts again as large as it was takes the place in the slab that it has. */
static void keep_slices(struct hr_placements *placements, struct entry *entry, const struct hr_placement *placement) {
  uint32_t count = placement->n_slices;
  if (entry->count != count) {
    if (count > MAX_SLICES || !reserve(placements, count)) {
      placements->failed = true;
      return;
    }
    entry->place = (uint32_t)placements->n_slices;
    placements->n_slices += count;
  }
  memcpy(placements->slab + entry->place, placement->slices, count * sizeof *placement->slices);
  qsort(placements->slab + entry->place, count, sizeof *placement->slices, by_node);
  *entry = (struct entry){entry->place, count, placement->pool.id};
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr_placements *placements = self;
  (void)view;
  if (event->kind != HR_EVENT_START) return;
  const struct hr_placement *placement = event->placement;
  struct entry *entry = &placements->entry[event->job.id];
  uint64_t whole_milli = (uint64_t)placements->trace->gpus[event->job.id] * 1000;
  if (placement->n_slices == 0)
    *entry = (struct entry){0, POOL_ONLY, placement->pool.id};
  else if (placement->n_slices == 1 && placement->slices[0].gpu_milli == whole_milli && !placement->slices[0].gpus)
    *entry = (struct entry){placement->slices[0].node.id, WHOLE_ON_NODE, placement->pool.id};
  else
    keep_slices(placements, entry, placement);
}

struct hr_fold hr_placements_fold(struct hr_placements *placements) {
  return (struct hr_fold){.self = placements, .on_event = on_event};
}

bool hr__placements_failed(const struct hr_placements *placements) {
  return placements->failed;
}

bool hr__placements_get(const struct hr_placements *placements, hr_job job, struct hr_slice *one,
                        struct hr_placement *placement) {
  const struct entry *entry = &placements->entry[job.id];
  *placement = (struct hr_placement){.pool = {entry->pool}};
  if (entry->count == NEVER_PLACED) return false;
  if (entry->count == POOL_ONLY) return true;
  if (entry->count == WHOLE_ON_NODE) {
    *one = (struct hr_slice){{entry->place}, placements->trace->gpus[job.id] * 1000, 0, {0}};
    placement->n_slices = 1;
    placement->slices = one;
    return true;
  }
  placement->n_slices = entry->count;
  placement->slices = placements->slab + entry->place;
  return true;
}
