/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One run: pods come one by one until all are there. A job of several tasks is placed whole, task by task, or fails. */

#include "plan/filling.h"

#include <stdlib.h>
#include <string.h>

struct run {
  const struct hr__fill_input *input;
  struct hr_arena arena;
  struct hr_stock *stock;
  struct hr_packer *packer;
  struct hr_fragmentation *fragmentation;
  struct hr_slice *slices; /* of one job's tasks */
  uint64_t f;              /* sum over nodes, in pods x thousandths */
  uint64_t allocated_milli, arrived_milli, failed;
};

static uint32_t most_tasks(const struct hr_requests *requests) {
  uint32_t most = 1;
  for (uint32_t i = 0; i < requests->count; i++)
    if (requests->request[i].tasks > most) most = requests->request[i].tasks;
  return most;
}

static bool run_make(struct run *run, const struct hr_packing_rule *rule, uint64_t seed) {
  const struct hr__fill_input *input = run->input;
  const struct hr_cluster_spec *cluster = &input->scenario->cluster;
  run->stock = hr_stock_create(&run->arena, cluster, input->requests);
  if (run->stock) /* pods get what they ask for, whatever the pools say */
    memset(run->stock->slot_milli, 0, run->stock->n_nodes * sizeof *run->stock->slot_milli);
  run->slices = hr_arena_alloc(&run->arena, most_tasks(input->requests) * sizeof *run->slices);
  if (!run->stock || !run->slices) return false;
  const struct hr_packer_config config = {.rule = rule,
                                          .stock = run->stock,
                                          .cluster = cluster,
                                          .acceptance = input->acceptance,
                                          .requests = input->requests->request,
                                          .n_requests = input->requests->count,
                                          .typical = input->typical,
                                          .seed = seed};
  run->packer = hr_packer_create(&run->arena, &config);
  run->fragmentation = hr_fragmentation_create(&run->arena, input->typical, &input->acceptance, run->stock);
  if (!run->packer || !run->fragmentation) return false;
  for (uint32_t node = 0; node < run->stock->n_nodes; node++)
    run->f += hr_fragmentation_of(run->fragmentation, (hr_node){node});
  return true;
}

/* ---- One pod ---------------------------------------------------------------------------------------- */

typedef void change(struct hr_stock *stock, const struct hr_request *request, const struct hr_slice *slice);

static void change_stock(struct run *run, uint32_t number, const struct hr_slice *slice, change *each) {
  run->f -= hr_fragmentation_of(run->fragmentation, slice->node);
  each(run->stock, &run->input->requests->request[number], slice);
  run->f += hr_fragmentation_of(run->fragmentation, slice->node);
}

static bool place_task(struct run *run, uint32_t number, struct hr_slice *slice) {
  hr_node node;
  uint64_t gpus;
  if (!hr_packer_find(run->packer, number, &node, &gpus)) return false;
  *slice = hr_stock_slice(run->stock, &run->input->requests->request[number], node, gpus);
  change_stock(run, number, slice, hr_stock_take);
  hr_packer_taken(run->packer, number, node);
  return true;
}

static bool place(struct run *run, uint32_t number) {
  uint32_t tasks = run->input->requests->request[number].tasks, placed = 0;
  while (placed < tasks && place_task(run, number, &run->slices[placed])) placed++;
  if (placed == tasks) return true;
  while (placed-- > 0) {
    change_stock(run, number, &run->slices[placed], hr_stock_undo);
    hr_packer_given(run->packer, number, run->slices[placed].node);
  }
  return false;
}

static void come(struct run *run, uint32_t number) {
  const struct hr_request *request = &run->input->requests->request[number];
  uint64_t milli = (uint64_t)request->tasks * request->gpus * request->gpu_milli;
  run->arrived_milli += milli;
  if (place(run, number))
    run->allocated_milli += milli;
  else
    run->failed++;
}

/* ---- All of them ------------------------------------------------------------------------------------ */

static struct hr_fill_row row_of(const struct run *run) {
  double capacity = (double)run->input->capacity_milli;
  double f = (double)run->f / (double)run->input->typical->total;
  return (struct hr_fill_row){.alloc_pct = 100 * (double)run->allocated_milli / capacity,
                              .frag_pct = 100 * f / capacity,
                              .failed = run->failed};
}

static void fill(struct run *run, const uint32_t *pods, uint32_t count, struct hr_fill_row *rows) {
  uint32_t row = 0;
  for (uint32_t i = 0; i < count; i++) {
    come(run, pods[i]);
    while (row < run->input->last && run->arrived_milli * 100 >= (row + 1) * run->input->capacity_milli)
      rows[row++] = row_of(run);
  }
  while (row < run->input->last) rows[row++] = row_of(run);
}

enum hr_status hr__fill_run(const struct hr__fill_input *input, const struct hr_packing_rule *rule, uint64_t seed,
                            struct hr_fill_row *rows) {
  struct run run = {.input = input};
  uint32_t count;
  uint32_t *pods = hr__fill_pods(input, seed, &count);
  bool made = pods && run_make(&run, rule, seed);
  if (made) fill(&run, pods, count, rows);
  hr__arena_finish(&run.arena);
  free(pods);
  return made ? HR_OK : HR_NO_MEMORY;
}
