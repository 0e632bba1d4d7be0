/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * bare_fifo TRACE NODES GPUS_PER_NODE: simulates strict FIFO order with best-fit placement in a hand-written loop. The
 * run time of headroom is compared with the run time of this program. The loop has no policies, no events and only one
 * metric. The mean wait that it prints must equal that of headroom.
 *
 * For each number of free GPUs there is one bitmap, the set of the nodes with that many free GPUs. The ends of running
 * jobs are in a binary heap.
 */

#include "bare_trace.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_GPUS_PER_NODE = 16 };

struct end {
  int64_t at_us;
  uint32_t job;
};

struct loop {
  struct bare_trace trace;
  uint32_t n_nodes, size, words;
  uint64_t *with_free[MAX_GPUS_PER_NODE + 1]; /* [g]: set of the nodes with exactly g free GPUs */
  uint32_t count[MAX_GPUS_PER_NODE + 1];      /* [g]: number of these nodes */
  uint8_t *free;                              /* [node]: number of free GPUs */
  uint32_t *node;                             /* [job]: the node of a job that fits on one node */
  /* [job]: all nodes of a larger job; a node of which it uses only a part is the last */
  uint32_t **nodes;
  struct end *heap; /* ends of running jobs, the earliest first */
  uint32_t n_heap;
  double wait_us; /* sum of the waits of all started jobs */
};

static void *fresh(size_t count, size_t size) {
  void *memory = calloc(count, size);
  if (!memory) exit(4);
  return memory;
}

static void set_free(struct loop *loop, uint32_t node, uint32_t gpus) {
  uint64_t bit = UINT64_C(1) << node % 64;
  uint32_t old = loop->free[node];
  loop->with_free[old][node / 64] &= ~bit;
  loop->with_free[gpus][node / 64] |= bit;
  loop->count[old]--;
  loop->count[gpus]++;
  loop->free[node] = (uint8_t)gpus;
}

static uint32_t lowest_node(const struct loop *loop, uint32_t gpus) {
  for (uint32_t word = 0;; word++)
    if (loop->with_free[gpus][word]) return 64 * word + (uint32_t)__builtin_ctzll(loop->with_free[gpus][word]);
}

static void push(struct loop *loop, struct end end) {
  uint32_t place = loop->n_heap++;
  for (; place > 0 && loop->heap[(place - 1) / 2].at_us > end.at_us; place = (place - 1) / 2)
    loop->heap[place] = loop->heap[(place - 1) / 2];
  loop->heap[place] = end;
}

static struct end pop(struct loop *loop) {
  struct end first = loop->heap[0], last = loop->heap[--loop->n_heap];
  uint32_t place = 0;
  for (uint32_t child; (child = 2 * place + 1) < loop->n_heap; place = child) {
    if (child + 1 < loop->n_heap && loop->heap[child + 1].at_us < loop->heap[child].at_us) child++;
    if (loop->heap[child].at_us >= last.at_us) break;
    loop->heap[place] = loop->heap[child];
  }
  loop->heap[place] = last;
  return first;
}

/* Among the nodes with at least `gpus` free GPUs, returns the minimum number of free GPUs; size + 1 if no such node
   exists. */
static uint32_t best_count(const struct loop *loop, uint32_t gpus) {
  while (gpus <= loop->size && loop->count[gpus] == 0) gpus++;
  return gpus;
}

static bool place_gang(struct loop *loop, uint32_t job, uint32_t gpus) {
  uint32_t whole = gpus / loop->size, rest = gpus % loop->size;
  if (loop->count[loop->size] < whole) return false;
  if (rest && loop->count[loop->size] == whole) {
    uint32_t best = best_count(loop, rest);
    if (best >= loop->size) return false;
  }
  uint32_t *nodes = loop->nodes[job] = fresh(whole + 1, sizeof *nodes);
  for (uint32_t i = 0; i < whole; i++) {
    nodes[i] = lowest_node(loop, loop->size);
    set_free(loop, nodes[i], 0);
  }
  if (rest) {
    nodes[whole] = lowest_node(loop, best_count(loop, rest));
    set_free(loop, nodes[whole], loop->free[nodes[whole]] - rest);
  }
  return true;
}

static bool place(struct loop *loop, uint32_t job) {
  uint32_t gpus = loop->trace.gpus[job];
  if (gpus == 0) return true;
  if (gpus > loop->size) return place_gang(loop, job, gpus);
  uint32_t best = best_count(loop, gpus);
  if (best > loop->size) return false;
  uint32_t node = loop->node[job] = lowest_node(loop, best);
  set_free(loop, node, best - gpus);
  return true;
}

static void release(struct loop *loop, uint32_t job) {
  uint32_t gpus = loop->trace.gpus[job], *nodes = loop->nodes[job];
  if (gpus == 0) return;
  if (!nodes) {
    set_free(loop, loop->node[job], loop->free[loop->node[job]] + gpus);
    return;
  }
  uint32_t whole = gpus / loop->size, rest = gpus % loop->size;
  for (uint32_t i = 0; i < whole; i++) set_free(loop, nodes[i], loop->size);
  if (rest) set_free(loop, nodes[whole], loop->free[nodes[whole]] + rest);
  free(nodes);
}

static void run(struct loop *loop) {
  const struct bare_trace *trace = &loop->trace;
  uint32_t arrived = 0, head = 0;
  while (arrived < trace->n || loop->n_heap > 0) {
    int64_t now_us = arrived < trace->n ? trace->submit_us[arrived] : INT64_MAX;
    if (loop->n_heap > 0 && loop->heap[0].at_us < now_us) now_us = loop->heap[0].at_us;
    while (loop->n_heap > 0 && loop->heap[0].at_us == now_us) release(loop, pop(loop).job);
    while (arrived < trace->n && trace->submit_us[arrived] == now_us) arrived++;
    for (; head < arrived && place(loop, head); head++) {
      loop->wait_us += (double)(now_us - trace->submit_us[head]);
      push(loop, (struct end){now_us + trace->work_us[head], head});
    }
  }
}

static void make_cluster(struct loop *loop) {
  loop->words = (loop->n_nodes + 63) / 64;
  for (uint32_t gpus = 0; gpus <= loop->size; gpus++) loop->with_free[gpus] = fresh(loop->words, sizeof(uint64_t));
  loop->free = fresh(loop->n_nodes, 1);
  loop->count[0] = loop->n_nodes;
  for (uint32_t node = 0; node < loop->n_nodes; node++) set_free(loop, node, loop->size);
}

static void finish(struct loop *loop) {
  for (uint32_t gpus = 0; gpus <= loop->size; gpus++) free(loop->with_free[gpus]);
  free(loop->free);
  free(loop->node);
  free(loop->nodes);
  free(loop->heap);
  bare_trace_finish(&loop->trace);
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  struct loop loop = {.n_nodes = bare_argument(argv[2], 1000000), .size = bare_argument(argv[3], MAX_GPUS_PER_NODE)};
  bare_trace_read(argv[1], &loop.trace);
  make_cluster(&loop);
  loop.node = fresh(loop.trace.n, sizeof *loop.node);
  loop.nodes = fresh(loop.trace.n, sizeof *loop.nodes);
  loop.heap = fresh(loop.trace.n, sizeof *loop.heap);
  run(&loop);
  printf("jobs %u mean_wait_s %.6f\n", loop.trace.n, loop.wait_us / loop.trace.n / 1e6);
  finish(&loop);
  return 0;
}
