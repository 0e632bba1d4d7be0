/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Heaps of jobs and queues.
 *
 * All heaps are binary heaps in one array. The steps of a heap are those of Go's container/heap, because the order of
 * queues is not transitive and depends on these steps. For pending jobs, a queue is compared with the request of its
 * first job; for victims, with what the victims taken so far and the next one hold. Invariant: a queue with an empty
 * heap is in no heap.
 *
 * Source: KAI-Scheduler, actions/utils/job_order_by_queue and scheduler_util/priority_queue.
 */

#include "policies/kai/job_order.h"

#include "policies/kai/gangs.h"

bool hr__kai_order_create(struct hr__kai_job_order *order, struct hr__kai_session *session, uint32_t *pods,
                          uint32_t *sets) {
  const struct hr__kai_cluster *cluster = session->cluster;
  const size_t n_queues = cluster->n_queues ? cluster->n_queues : 1, n_jobs = cluster->n_jobs ? cluster->n_jobs : 1;
  *order = (struct hr__kai_job_order){.session = session, .pods = pods, .sets = sets};
  order->heaps = hr_arena_alloc(session->arena, (n_queues + n_jobs) * sizeof *order->heaps);
  order->first = hr_arena_alloc(session->arena, n_queues * sizeof *order->first);
  order->length = hr_arena_alloc(session->arena, n_queues * sizeof *order->length);
  order->is_linked = hr_arena_alloc(session->arena, n_queues * sizeof *order->is_linked);
  order->is_marked = hr_arena_alloc(session->arena, n_queues * sizeof *order->is_marked);
  order->popped = hr_arena_alloc(session->arena, n_queues * sizeof *order->popped);
  order->size = hr_arena_alloc(session->arena, n_jobs * sizeof *order->size);
  order->elastic = hr_arena_alloc(session->arena, n_jobs * sizeof *order->elastic);
  order->top = hr_arena_alloc(session->arena, n_queues * sizeof *order->top);
  if (!order->heaps || !order->first || !order->length || !order->is_linked || !order->is_marked || !order->popped ||
      !order->size || !order->elastic || !order->top) {
    session->no_memory = true;
    return false;
  }
  for (uint32_t j = 0; j < cluster->n_jobs; j++)
    if (cluster->jobs[j].queue != HR__KAI_NONE) order->length[cluster->jobs[j].queue]++;
  uint32_t first = 0;
  for (uint32_t q = 0; q < cluster->n_queues; q++) {
    order->first[q] = first;
    first += order->length[q] > cluster->queues[q].n_children ? order->length[q] : cluster->queues[q].n_children;
  }
  hr__kai_order_clear(order, false, NULL);
  return true;
}

void hr__kai_order_clear(struct hr__kai_job_order *order, bool victims, const uint8_t *taken) {
  order->victims = victims;
  order->taken = taken;
  order->n_top = 0;
  for (uint32_t q = 0; q < order->session->cluster->n_queues; q++) {
    order->length[q] = 0;
    order->is_linked[q] = order->is_marked[q] = false;
    order->popped[q] = (struct hr__kai_amounts){{0}};
  }
}

bool hr__kai_order_is_empty(const struct hr__kai_job_order *order) {
  return order->n_top == 0;
}

/* ---- Comparison ---- */

static bool is_leaf(const struct hr__kai_job_order *order, uint32_t queue) {
  return order->session->cluster->queues[queue].n_children == 0;
}

static int elastic_state(const struct hr__kai_job_order *order, uint32_t job) {
  if (order->victims) return order->elastic[job];
  hr__kai_cache_job(order->session, job, order->pods, order->sets);
  return order->session->jobs[job].elastic;
}

/* The order of jobs in a queue: priority, elastic state, age, name. */
static bool job_before(const struct hr__kai_job_order *order, uint32_t l, uint32_t r) {
  const struct hr__kai_cluster *cluster = order->session->cluster;
  const struct hr__kai_job *a = &cluster->jobs[l], *b = &cluster->jobs[r];
  if (cluster->config.priority && a->priority != b->priority) return a->priority > b->priority;
  if (cluster->config.elastic) {
    const int state_a = elastic_state(order, l), state_b = elastic_state(order, r);
    if (state_a != state_b) return state_a < state_b;
  }
  if (a->created != b->created) return a->created < b->created;
  return a->name_rank < b->name_rank;
}

/* A queue for a comparison, with the first job of its subtree. */
static struct hr__kai_side side_of(const struct hr__kai_job_order *order, uint32_t queue) {
  struct hr__kai_side side = {.queue = &order->session->cluster->queues[queue]};
  while (!is_leaf(order, queue)) queue = order->heaps[order->first[queue]];
  const uint32_t job = order->heaps[order->first[queue]];
  if (order->victims) {
    side.victims = order->popped[queue];
    hr__kai_add(&side.victims, &order->size[job]);
  } else {
    hr__kai_cache_job(order->session, job, order->pods, order->sets);
    side.job = order->session->jobs[job].request;
  }
  return side;
}

static bool queue_before(const struct hr__kai_job_order *order, uint32_t l, uint32_t r) {
  const struct hr__kai_cluster *cluster = order->session->cluster;
  if (cluster->config.proportion) {
    const struct hr__kai_side a = side_of(order, l), b = side_of(order, r);
    return hr__kai_compare_queues(&a, &b, &order->session->total) < 0;
  }
  if (cluster->queues[l].created != cluster->queues[r].created)
    return cluster->queues[l].created < cluster->queues[r].created;
  return cluster->queues[l].name_rank < cluster->queues[r].name_rank;
}

/* ---- Heaps ---- */

/* A heap: of jobs if `leaf`, else of queues. */
struct heap {
  struct hr__kai_job_order *order;
  uint32_t *items, *length;
  bool leaf;
};

/* The heap of a queue; HR__KAI_NONE: of the top queues. */
static struct heap heap_of(struct hr__kai_job_order *order, uint32_t queue) {
  if (queue == HR__KAI_NONE) return (struct heap){order, order->top, &order->n_top, false};
  return (struct heap){order, order->heaps + order->first[queue], &order->length[queue], is_leaf(order, queue)};
}

static bool before(const struct heap *heap, uint32_t i, uint32_t j) {
  const uint32_t l = heap->items[i], r = heap->items[j];
  const bool result = heap->leaf ? job_before(heap->order, l, r) : queue_before(heap->order, l, r);
  return result != heap->order->victims;
}

static void swap(const struct heap *heap, uint32_t i, uint32_t j) {
  const uint32_t item = heap->items[i];
  heap->items[i] = heap->items[j];
  heap->items[j] = item;
}

static void move_up(const struct heap *heap, uint32_t j) {
  while (j > 0 && before(heap, j, (j - 1) / 2)) {
    swap(heap, (j - 1) / 2, j);
    j = (j - 1) / 2;
  }
}

static void move_down(const struct heap *heap, uint32_t i, uint32_t n) {
  for (uint32_t j = 2 * i + 1; j < n; j = 2 * i + 1) {
    if (j + 1 < n && before(heap, j + 1, j)) j++;
    if (!before(heap, j, i)) break;
    swap(heap, i, j);
    i = j;
  }
}

static void push(const struct heap *heap, uint32_t item) {
  heap->items[(*heap->length)++] = item;
  move_up(heap, *heap->length - 1);
}

static uint32_t pop(const struct heap *heap) {
  const uint32_t n = *heap->length - 1;
  swap(heap, 0, n);
  move_down(heap, 0, n);
  *heap->length = n;
  return heap->items[n];
}

/* ---- Jobs ---- */

static void mark_path(struct hr__kai_job_order *order, uint32_t queue) {
  for (uint32_t q = queue; q != HR__KAI_NONE; q = order->session->cluster->queues[q].parent) order->is_marked[q] = true;
}

/* What a victim holds without the pods that are taken. */
static struct hr__kai_amounts size_of(const struct hr__kai_job_order *order, uint32_t job) {
  const struct hr__kai_cluster *cluster = order->session->cluster;
  struct hr__kai_amounts size = order->session->jobs[job].allocated;
  for (uint32_t p = cluster->jobs[job].first_pod; p < cluster->jobs[job].first_pod + cluster->jobs[job].n_pods; p++)
    if (order->taken && order->taken[p] && hr__kai_is(order->session->pods[p].status, HR__KAI_HOLDING))
      hr__kai_subtract(&size, &cluster->pods[p].quota);
  return size;
}

void hr__kai_order_push(struct hr__kai_job_order *order, uint32_t job) {
  const struct hr__kai_cluster *cluster = order->session->cluster;
  const uint32_t leaf = cluster->jobs[job].queue;
  if (leaf == HR__KAI_NONE || !is_leaf(order, leaf)) return;
  if (order->victims) {
    order->size[job] = size_of(order, job);
    order->elastic[job] = (int8_t)hr__kai_elastic_state(order->session, job, order->taken);
  }
  struct heap heap = heap_of(order, leaf);
  push(&heap, job);
  for (uint32_t q = leaf; q != HR__KAI_NONE && !order->is_linked[q]; q = cluster->queues[q].parent) {
    order->is_linked[q] = true;
    heap = heap_of(order, cluster->queues[q].parent);
    push(&heap, q);
  }
  mark_path(order, leaf);
}

/* The first queue of a heap, after marked queues at the top were moved to their positions. */
static uint32_t first_queue(const struct heap *heap) {
  while (heap->order->is_marked[heap->items[0]]) {
    const uint32_t queue = heap->items[0];
    move_down(heap, 0, *heap->length);
    heap->order->is_marked[queue] = false;
  }
  return heap->items[0];
}

uint32_t hr__kai_order_pop(struct hr__kai_job_order *order) {
  const struct hr__kai_cluster *cluster = order->session->cluster;
  if (order->n_top == 0) return HR__KAI_NONE;
  struct heap heap = heap_of(order, HR__KAI_NONE);
  uint32_t queue = first_queue(&heap);
  while (!is_leaf(order, queue)) {
    heap = heap_of(order, queue);
    queue = first_queue(&heap);
  }
  heap = heap_of(order, queue);
  const uint32_t job = pop(&heap);
  if (order->victims) hr__kai_add(&order->popped[queue], &order->size[job]);
  while (queue != HR__KAI_NONE && order->length[queue] == 0) {
    const uint32_t parent = cluster->queues[queue].parent;
    heap = heap_of(order, parent);
    pop(&heap);
    order->is_linked[queue] = order->is_marked[queue] = false;
    queue = parent;
  }
  if (queue != HR__KAI_NONE) mark_path(order, queue);
  return job;
}
