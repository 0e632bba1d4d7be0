/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Holds are listed as the attempts come, which is by their begins, and then dealt out to the units. */

#include "report/gpu_units.h"

#include "report/lanes.h"

#include <stdlib.h>

struct listed {
  uint32_t unit;
  struct hr__hold hold;
};

struct list {
  struct listed *items;
  size_t count, room;
};

static enum hr_status append(struct list *list, uint32_t unit, uint32_t attempt, uint32_t milli) {
  if (list->count == list->room) {
    size_t room = list->room ? 2 * list->room : 1024;
    struct listed *grown = realloc(list->items, room * sizeof *grown);
    if (!grown) return HR_NO_MEMORY;
    list->items = grown;
    list->room = room;
  }
  list->items[list->count++] = (struct listed){unit, {attempt, milli}};
  return HR_OK;
}

/* ---- Units ------------------------------------------------------------------------------------------ */

static enum hr_status number_units(struct hr__gpu_units *units, const struct hr_cluster_spec *cluster) {
  uint32_t n_nodes = 0, node = 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++) n_nodes += cluster->pools[i].nodes;
  units->n_nodes = n_nodes;
  units->n_pools = cluster->n_pools;
  units->first_node = calloc((size_t)cluster->n_pools + 1, sizeof *units->first_node);
  units->first_unit = calloc((size_t)n_nodes + cluster->n_pools + 1, sizeof *units->first_unit);
  if (!units->first_node || !units->first_unit) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    units->first_node[i + 1] = units->first_node[i] + cluster->pools[i].nodes;
    for (; node < units->first_node[i + 1]; node++)
      units->first_unit[node + 1] = units->first_unit[node] + (units->by_gpu ? cluster->pools[i].gpus_per_node : 1);
  }
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    units->first_unit[n_nodes + i + 1] = units->first_unit[n_nodes + i] + 1;
  return HR_OK;
}

static uint32_t count_units(const struct hr__gpu_units *units) {
  return units->first_unit[units->n_nodes + units->n_pools];
}

/* ---- Holds ------------------------------------------------------------------------------------------ */

/* A slice of GPUs that are told apart is the same part of each. */
static enum hr_status list_gpus(struct list *list, uint32_t first_unit, uint32_t attempt,
                                const struct hr_slice *slice) {
  uint32_t n_gpus = (uint32_t)__builtin_popcountll(slice->gpus);
  enum hr_status status = HR_OK;
  for (uint64_t rest = slice->gpus; rest && status == HR_OK; rest &= rest - 1)
    status = append(list, first_unit + (uint32_t)__builtin_ctzll(rest), attempt, slice->gpu_milli / n_gpus);
  return status;
}

static enum hr_status list_first_free(struct list *list, uint32_t first_unit, uint32_t attempt, uint32_t milli,
                                      const struct hr_attempt *times, struct hr__lanes *lanes) {
  for (; milli > 0; milli -= milli < 1000 ? milli : 1000) {
    uint32_t gpu = hr__lanes_take(lanes, times->begin_us, times->end_us);
    enum hr_status status =
        gpu == HR_NONE ? HR_NO_MEMORY : append(list, first_unit + gpu, attempt, milli < 1000 ? milli : 1000);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

static enum hr_status list_attempt(const struct hr__gpu_units *units, struct list *list, struct hr__lanes *lanes,
                                   const struct hr_export *run, const struct hr_attempt *attempt, uint32_t place) {
  const struct hr_slice *slices = hr_history_slices(run->history, attempt);
  enum hr_status status = HR_OK;
  if (attempt->n_slices == 0)
    return append(list, units->first_unit[units->n_nodes + attempt->pool.id], place, attempt->gpu_milli);
  for (uint32_t i = 0; i < attempt->n_slices && status == HR_OK; i++) {
    uint32_t node = slices[i].node.id, first_unit = units->first_unit[node];
    if (slices[i].gpu_milli == 0) continue;
    if (!units->by_gpu)
      status = append(list, first_unit, place, slices[i].gpu_milli);
    else if (slices[i].gpus)
      status = list_gpus(list, first_unit, place, &slices[i]);
    else
      status = list_first_free(list, first_unit, place, slices[i].gpu_milli, attempt, &lanes[node]);
  }
  return status;
}

static enum hr_status list_holds(const struct hr__gpu_units *units, struct list *list, const struct hr_export *run) {
  const struct hr_attempt *attempts;
  size_t n_attempts = hr_history_attempts(run->history, &attempts);
  struct hr__lanes *lanes = calloc((size_t)units->n_nodes + 1, sizeof *lanes);
  enum hr_status status = lanes ? HR_OK : HR_NO_MEMORY;
  for (size_t i = 0; i < n_attempts && status == HR_OK; i++)
    if (attempts[i].end_us > attempts[i].begin_us)
      status = list_attempt(units, list, lanes, run, &attempts[i], (uint32_t)i);
  for (uint32_t i = 0; lanes && i < units->n_nodes; i++) hr__lanes_finish(&lanes[i]);
  free(lanes);
  return status;
}

/* `first_hold` is used as where the next one goes, and put right at the end. */
static enum hr_status deal(struct hr__gpu_units *units, const struct list *list) {
  uint32_t n_units = count_units(units);
  units->first_hold = calloc((size_t)n_units + 2, sizeof *units->first_hold);
  units->holds = calloc(list->count + 1, sizeof *units->holds);
  if (!units->first_hold || !units->holds) return HR_NO_MEMORY;
  for (size_t i = 0; i < list->count; i++) units->first_hold[list->items[i].unit + 2]++;
  for (uint32_t i = 1; i <= n_units; i++) units->first_hold[i + 1] += units->first_hold[i];
  for (size_t i = 0; i < list->count; i++)
    units->holds[units->first_hold[list->items[i].unit + 1]++] = list->items[i].hold;
  return HR_OK;
}

enum hr_status hr__gpu_units_init(struct hr__gpu_units *units, const struct hr_export *run, bool each_gpu) {
  struct list list = {0};
  *units = (struct hr__gpu_units){.by_gpu = each_gpu || hr_cluster_spec_by_gpu(run->cluster)};
  enum hr_status status = number_units(units, run->cluster);
  if (status == HR_OK) status = list_holds(units, &list, run);
  if (status == HR_OK) status = deal(units, &list);
  free(list.items);
  return status;
}

void hr__gpu_units_finish(struct hr__gpu_units *units) {
  free(units->first_node);
  free(units->first_unit);
  free(units->first_hold);
  free(units->holds);
  *units = (struct hr__gpu_units){0};
}
