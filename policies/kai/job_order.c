/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Heaps of jobs and queues.
 *
 * All heaps are binary heaps in one array. They perform exactly the steps of Go's container/heap: the order of queues
 * is not transitive, so the result depends on these steps. For pending jobs, the key of a queue includes the request of
 * its first job; for victims, it includes the resources of its removed victims and of its next victim. After all jobs
 * were added to their leaf queues, the heaps of queues are built from the leaves to the top. Invariant: a queue without
 * jobs is in no heap.
 *
 * Source: KAI-Scheduler, actions/utils/job_order_by_queue and scheduler_util/priority_queue.
 */

#include "policies/kai/session.h"

#include "policies/kai/solver.h"

#include <math.h>

/* ---- Rules of queues ----------------------------------------------------------------------------------- */

/*
 * Two queues are compared by these criteria. A later criterion decides only if all earlier ones are equal.
 * 1. A queue is second if its allocation exceeds its fair share in every resource.
 * 2. A queue is first if it stays within its quota with its next job.
 * 3. The queue of higher priority is first.
 * 4. A queue is second if it would hold a resource although its allocatable amount (hr__kai_allocatable) is 0.
 * 5. The queue with the smaller dominant share is first. For this share, its allocation includes its next job, and does
 *    not include its victims.
 * 6. The queue with the smaller dominant share of its present allocation is first.
 * 7. The queue with the smaller allocatable amounts is first.
 * 8. The older queue is first.
 *
 * Source: KAI-Scheduler, plugins/proportion/queue_order.
 */

static int first_if(bool l, bool r) {
  return l == r ? 0 : l ? -1 : 1;
}

/* Whether `a` is less than `b` in every resource. -1 is compared as a number. */
static bool is_less(const struct hr__kai_amounts *a, const struct hr__kai_amounts *b) {
  for (int r = 0; r < HR__KAI_RESOURCES; r++)
    if (a->of[r] >= b->of[r]) return false;
  return true;
}

static bool over_utilised(const struct hr__kai_queue *queue) {
  const struct hr__kai_amounts fair = hr__kai_fair_of(queue), allocated = hr__kai_allocated_of(queue);
  return is_less(&fair, &allocated);
}

static struct hr__kai_amounts with_job(const struct hr__kai_side *side) {
  struct hr__kai_amounts sum = hr__kai_allocated_of(side->queue);
  hr__kai_add(&sum, &side->job);
  return sum;
}

static bool within_quota(const struct hr__kai_side *side) {
  const struct hr__kai_amounts sum = with_job(side), deserved = hr__kai_deserved_of(side->queue);
  return hr__kai_at_most(&sum, &deserved);
}

/* Whether the queue, with its next job, would hold a resource although its allocatable amount of it is 0. */
static bool holds_without_share(const struct hr__kai_side *side) {
  const struct hr__kai_amounts sum = with_job(side);
  for (int r = 0; r < HR__KAI_RESOURCES; r++)
    if (hr__kai_allocatable(&side->queue->share[r]) == 0 && sum.of[r] > 0) return true;
  return false;
}

/* Compares two queues by their allocatable amounts. Returns -1 if `l` has less of some resource and `r` has less of
   none, 1 in the opposite case, and 0 otherwise. */
static int by_allocatable(const struct hr__kai_queue *l, const struct hr__kai_queue *r) {
  const struct hr__kai_amounts a = hr__kai_allocatable_of(l), b = hr__kai_allocatable_of(r);
  return first_if(hr__kai_at_most(&a, &b), hr__kai_at_most(&b, &a));
}

/* The values by which queues are compared, except priority, age and allocatable amounts. The caller sets the other
   members of the key. */
static struct hr__kai_queue_key key_of(const struct hr__kai_side *side, const struct hr__kai_amounts *total) {
  struct hr__kai_amounts with = with_job(side);
  const struct hr__kai_amounts held = hr__kai_allocated_of(side->queue);
  hr__kai_subtract(&with, &side->victims);
  return (struct hr__kai_queue_key){.over_utilised = over_utilised(side->queue),
                                    .over_quota = !within_quota(side),
                                    .holds_without_share = holds_without_share(side),
                                    .share_with_job = hr__kai_dominant_share(side->queue, &with, total),
                                    .share = hr__kai_dominant_share(side->queue, &held, total)};
}

static int compare_keys(const struct hr__kai_queue *l, const struct hr__kai_queue_key *a, const struct hr__kai_queue *r,
                        const struct hr__kai_queue_key *b) {
  if (a->over_utilised != b->over_utilised) return a->over_utilised ? 1 : -1;
  if (a->over_quota != b->over_quota) return a->over_quota ? 1 : -1;
  if (l->priority != r->priority) return l->priority > r->priority ? -1 : 1;
  if (a->holds_without_share != b->holds_without_share) return a->holds_without_share ? 1 : -1;
  if (a->share_with_job != b->share_with_job) return a->share_with_job < b->share_with_job ? -1 : 1;
  if (a->share != b->share) return a->share < b->share ? -1 : 1;
  const int order = by_allocatable(l, r);
  return order ? order : l->created < r->created ? -1 : 1;
}

int hr__kai_compare_queues(const struct hr__kai_side *l, const struct hr__kai_side *r,
                           const struct hr__kai_amounts *total) {
  const struct hr__kai_queue_key a = key_of(l, total), b = key_of(r, total);
  return compare_keys(l->queue, &a, r->queue, &b);
}

/* ---- The order of jobs --------------------------------------------------------------------------------- */

/* Divides `heaps` among the queues: each gets room for its jobs, or for its child queues. */
static void divide_heaps(struct hr__kai_job_order *order, const uint32_t *n_jobs) {
  const struct hr__kai_cluster *cluster = order->session->cluster;
  uint32_t first = 0;
  for (uint32_t q = 0; q < cluster->n_queues; q++) {
    order->first[q] = first;
    first += n_jobs[q] > cluster->queues[q].n_children ? n_jobs[q] : cluster->queues[q].n_children;
  }
}

/* Lists the queues by depth, the deepest first; queues of equal depth are ordered by id. */
static void sort_by_depth(struct hr__kai_job_order *order) {
  const struct hr__kai_cluster *cluster = order->session->cluster;
  uint32_t n = 0, deepest = 0;
  for (uint32_t q = 0; q < cluster->n_queues; q++)
    if (hr__kai_depth_of(cluster->queues, q) > deepest) deepest = hr__kai_depth_of(cluster->queues, q);
  for (uint32_t depth = deepest + 1; depth-- > 0;)
    for (uint32_t q = 0; q < cluster->n_queues; q++)
      if (hr__kai_depth_of(cluster->queues, q) == depth) order->deepest_first[n++] = q;
}

bool hr__kai_order_create(struct hr__kai_job_order *order, struct hr__kai_session *session, uint32_t *pods,
                          uint32_t *sets) {
  const struct hr__kai_cluster *cluster = session->cluster;
  const size_t n = cluster->n_queues, n_jobs = cluster->n_jobs;
  struct hr_arena *arena = session->arena;
  *order = (struct hr__kai_job_order){.session = session, .pods = pods, .sets = sets};
  if (!HR__ARENA_ARRAY(arena, order->heaps, n + n_jobs) || !HR__ARENA_ARRAY(arena, order->first, n) ||
      !HR__ARENA_ARRAY(arena, order->length, n) || !HR__ARENA_ARRAY(arena, order->is_linked, n) ||
      !HR__ARENA_ARRAY(arena, order->is_marked, n) || !HR__ARENA_ARRAY(arena, order->popped, n) ||
      !HR__ARENA_ARRAY(arena, order->size, n_jobs) || !HR__ARENA_ARRAY(arena, order->elastic, n_jobs) ||
      !HR__ARENA_ARRAY(arena, order->top, n) || !HR__ARENA_ARRAY(arena, order->cursor, n) ||
      !HR__ARENA_ARRAY(arena, order->keys, n) || !HR__ARENA_ARRAY(arena, order->n_asked, n) ||
      !HR__ARENA_ARRAY(arena, order->deepest_first, n) ||
      !HR__ARENA_ARRAY(arena, order->passed, cluster->room_classes) || !HR__ARENA_ARRAY(arena, order->passed_in, n) ||
      !HR__ARENA_ARRAY(arena, order->n_passed, n) || !HR__ARENA_ARRAY(arena, order->left, n))
    return false;
  for (uint32_t j = 0; j < cluster->n_jobs && !cluster->jobs_in_queue; j++)
    if (cluster->jobs[j].queue != HR__KAI_NONE) order->length[cluster->jobs[j].queue]++;
  divide_heaps(order, order->length);
  sort_by_depth(order);
  hr__kai_order_clear(order, false, NULL);
  return true;
}

void hr__kai_order_clear(struct hr__kai_job_order *order, bool victims, const uint8_t *taken) {
  order->victims = victims;
  order->taken = taken;
  order->lists = order->is_built = order->passes = false;
  order->last = HR__KAI_NONE;
  order->depth = 0;
  order->stamp++;
  order->n_top = 0;
  if (order->session->cluster->jobs_in_queue) divide_heaps(order, order->session->cluster->jobs_in_queue);
  for (uint32_t q = 0; q < order->session->cluster->n_queues; q++) {
    order->length[q] = 0;
    order->is_linked[q] = order->is_marked[q] = false;
    if (victims) order->popped[q] = (struct hr__kai_amounts){{0}};
  }
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

/* Whether job `l` precedes job `r` in their queue: by priority, elastic state, age, name. */
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

/* ---- Jobs that are passed ---- */

/*
 * If a job had no effect, the later jobs of its class are skipped. This changes no decision:
 * - A queue stays at the top of its heap until its next job gives it a larger key than another queue of the heap has.
 * - While nothing changes, these keys depend only on the classes of the jobs.
 * - If the order is total and a job of a class was returned since the last change, the next job of this class is
 *   returned as soon as it is the first job of its queue. It has no effect either.
 *
 * Exception: a queue is moved to the top of its heap by the key of the first job of its first child. During the descent
 * to a job, marked children are moved, and another child may become the first one. The returned job is then a job of
 * this other child. It was never compared with the other queues of the heaps above, so later jobs of its class may not
 * be skipped (`is_clean` is false).
 */

static bool is_passed(const struct hr__kai_job_order *order, uint32_t job) {
  return order->passes && order->passed[order->session->cluster->class_of[job]] == order->stamp;
}

static bool belongs(const struct hr__kai_job_order *order, uint32_t job) {
  const struct hr__kai_session *session = order->session;
  return session->jobs[job].n_pending > 0 && (!order->only_preemptible || session->cluster->jobs[job].preemptible);
}

/* The pending job at the cursor of a queue; HR__KAI_NONE: none. Skips jobs that do not belong to the order, and jobs of
   passed classes. If `depth` limits the order, jobs of passed classes count toward the limit. Without a limit, the
   class is checked first. Most jobs of a long queue are skipped, and this check is cheap. */
static uint32_t listed_job(const struct hr__kai_job_order *order, uint32_t queue) {
  const struct hr__kai_session *session = order->session;
  if (!order->lists) return HR__KAI_NONE;
  const struct hr__kai_leaf_list *list = &session->cluster->leaves[queue];
  uint32_t *at = &order->cursor[queue];
  if (*at < list->n && order->passes && order->passed_in[queue] == order->stamp &&
      order->n_passed[queue] == session->cluster->classes_in_queue[queue])
    *at = list->n;
  for (; *at < list->n && (!order->depth || order->left[queue] > 0); ++*at) {
    const uint32_t job = list->jobs[*at];
    const bool passed = is_passed(order, job);
    if ((passed && !order->depth) || !belongs(order, job)) continue;
    if (!passed) return job;
    order->left[queue]--;
  }
  return HR__KAI_NONE;
}

/* The first job of a leaf queue; HR__KAI_NONE: none. Sets `*listed` if the job is from the list of the queue, not from
   its heap. */
static uint32_t first_job(const struct hr__kai_job_order *order, uint32_t queue, bool *listed) {
  const uint32_t a = listed_job(order, queue);
  const uint32_t b = order->length[queue] > 0 ? order->heaps[order->first[queue]] : HR__KAI_NONE;
  *listed = a != HR__KAI_NONE && (b == HR__KAI_NONE || job_before(order, a, b));
  return *listed ? a : b;
}

static bool same_amounts(const struct hr__kai_amounts *a, const struct hr__kai_amounts *b) {
  for (int r = 0; r < HR__KAI_RESOURCES; r++)
    if (a->of[r] != b->of[r]) return false;
  return true;
}

/* The key of a queue with the first job of its subtree. It is computed again only if its inputs have changed. */
static const struct hr__kai_queue_key *current_key(const struct hr__kai_job_order *order, uint32_t queue) {
  const struct hr__kai_session *session = order->session;
  struct hr__kai_queue_key *key = &order->keys[queue];
  struct hr__kai_side side = {.queue = &session->cluster->queues[queue]};
  while (!is_leaf(order, queue)) queue = order->heaps[order->first[queue]];
  bool listed;
  const uint32_t job = first_job(order, queue, &listed);
  if (order->victims) {
    side.victims = order->popped[queue];
    hr__kai_add(&side.victims, &order->size[job]);
  } else {
    hr__kai_cache_job(order->session, job, order->pods, order->sets);
    side.job = session->jobs[job].request;
  }
  const struct hr__kai_amounts held = hr__kai_allocated_of(side.queue);
  if (key->division == session->n_divisions + 1 && same_amounts(&key->held, &held) &&
      same_amounts(&key->job, &side.job) && same_amounts(&key->victims, &side.victims))
    return key;
  *key = key_of(&side, &session->total);
  key->division = session->n_divisions + 1;
  key->held = held;
  key->job = side.job;
  key->victims = side.victims;
  return key;
}

static bool queue_before(const struct hr__kai_job_order *order, uint32_t l, uint32_t r) {
  const struct hr__kai_queue *a = &order->session->cluster->queues[l], *b = &order->session->cluster->queues[r];
  if (order->session->cluster->config.proportion)
    return compare_keys(a, current_key(order, l), b, current_key(order, r)) < 0;
  return a->created != b->created ? a->created < b->created : a->name_rank < b->name_rank;
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

/* The amounts that a victim holds, without the pods that are taken. */
static struct hr__kai_amounts size_of(const struct hr__kai_job_order *order, uint32_t job) {
  const struct hr__kai_cluster *cluster = order->session->cluster;
  struct hr__kai_amounts size = order->session->jobs[job].allocated;
  for (uint32_t p = cluster->jobs[job].first_pod; p < cluster->jobs[job].first_pod + cluster->jobs[job].n_pods; p++)
    if (order->taken && order->taken[p] && hr__kai_is(order->session->pods[p].status, HR__KAI_HOLDING))
      hr__kai_subtract(&size, &cluster->pods[p].quota);
  return size;
}

/* Adds a leaf queue that has jobs, and the queues above it, to the heaps of their parents. */
static void link_path(struct hr__kai_job_order *order, uint32_t leaf) {
  const struct hr__kai_cluster *cluster = order->session->cluster;
  for (uint32_t q = leaf; q != HR__KAI_NONE && !order->is_linked[q]; q = cluster->queues[q].parent) {
    order->is_linked[q] = true;
    const struct heap heap = heap_of(order, cluster->queues[q].parent);
    push(&heap, q);
  }
  mark_path(order, leaf);
}

/* Removes the last job in the order. KAI removes the last entry of the heap's array instead. Which job that
   is depends on the iteration order of a Go map. According to KAI's documentation, the first jobs are kept. */
static void remove_last(const struct heap *heap) {
  uint32_t last = 0;
  for (uint32_t i = 1; i < *heap->length; i++)
    if (before(heap, last, i)) last = i;
  --*heap->length;
  swap(heap, last, *heap->length);
  if (last == *heap->length) return;
  move_up(heap, last);
  move_down(heap, last, *heap->length);
}

void hr__kai_order_push(struct hr__kai_job_order *order, uint32_t job) {
  const struct hr__kai_cluster *cluster = order->session->cluster;
  const uint32_t leaf = cluster->jobs[job].queue;
  if (leaf == HR__KAI_NONE || !is_leaf(order, leaf)) return;
  if (order->victims) {
    order->size[job] = size_of(order, job);
    order->elastic[job] = (int8_t)hr__kai_elastic_state(order->session, job, order->taken);
  }
  const struct heap heap = heap_of(order, leaf);
  push(&heap, job);
  if (order->is_built)
    link_path(order, leaf);
  else if (order->depth && *heap.length > order->depth)
    remove_last(&heap);
}

/* Whether the allocatable amounts of siblings differ in one resource only, and this resource is the same for all groups
   of siblings. Siblings then have a total order. */
static bool differ_in_one(struct hr__kai_job_order *order) {
  const struct hr__kai_cluster *cluster = order->session->cluster;
  uint32_t *first_child = order->n_asked, first_top = HR__KAI_NONE;
  int resource = HR__KAI_RESOURCES;
  bool in_one = true;
  for (uint32_t q = 0; q < cluster->n_queues; q++) first_child[q] = HR__KAI_NONE;
  for (uint32_t q = 0; q < cluster->n_queues; q++) {
    uint32_t *first = cluster->queues[q].parent == HR__KAI_NONE ? &first_top : &first_child[cluster->queues[q].parent];
    if (*first == HR__KAI_NONE) *first = q;
    const struct hr__kai_amounts a = hr__kai_allocatable_of(&cluster->queues[*first]);
    const struct hr__kai_amounts b = hr__kai_allocatable_of(&cluster->queues[q]);
    for (int r = 0; r < HR__KAI_RESOURCES; r++) {
      if (a.of[r] == b.of[r]) continue;
      in_one = in_one && (resource == r || resource == HR__KAI_RESOURCES);
      resource = r;
    }
  }
  for (uint32_t q = 0; q < cluster->n_queues; q++) first_child[q] = 0;
  return in_one;
}

/* Whether siblings are known to have a total order with the present fair shares. */
static bool has_total_order(struct hr__kai_job_order *order) {
  if (order->division == order->session->n_divisions + 1) return order->is_total;
  order->division = order->session->n_divisions + 1;
  order->is_total = !order->session->cluster->config.proportion || differ_in_one(order);
  return order->is_total;
}

void hr__kai_order_add_lists(struct hr__kai_job_order *order, bool only_preemptible) {
  order->lists = true;
  order->passes = has_total_order(order);
  order->only_preemptible = only_preemptible;
  for (uint32_t q = 0; q < order->session->cluster->n_queues; q++) {
    order->cursor[q] = 0;
    order->left[q] = order->depth;
  }
}

void hr__kai_order_build(struct hr__kai_job_order *order) {
  const struct hr__kai_cluster *cluster = order->session->cluster;
  for (uint32_t i = 0; i < cluster->n_queues; i++) {
    const uint32_t q = order->deepest_first[i];
    if (order->length[q] == 0 && !(is_leaf(order, q) && listed_job(order, q) != HR__KAI_NONE)) continue;
    order->is_linked[q] = true;
    const struct heap heap = heap_of(order, cluster->queues[q].parent);
    push(&heap, q);
  }
  order->is_built = true;
}

/* The lowest queue that contains all `n` requested leaf queues (`n_asked`); HR__KAI_NONE: none. */
static uint32_t common_queue(const struct hr__kai_job_order *order, uint32_t leaf, uint32_t n) {
  uint32_t queue = leaf;
  while (queue != HR__KAI_NONE && order->n_asked[queue] < n) queue = order->session->cluster->queues[queue].parent;
  return queue;
}

/* The child of `above` on the path to `queue`; HR__KAI_NONE: `queue` is not below `above`. */
static uint32_t step_towards(const struct hr__kai_cluster *cluster, uint32_t above, uint32_t queue) {
  while (queue != HR__KAI_NONE && cluster->queues[queue].parent != above) queue = cluster->queues[queue].parent;
  return queue;
}

/* Jobs outside the lowest common queue of the requested leaf queues get no place and change nothing. The same is true
   of jobs in those branches of this queue that have no requested leaf queue. If the order is total, the lists of all
   these jobs are left out. */
void hr__kai_order_add_lists_of(struct hr__kai_job_order *order, const uint32_t *leaves, uint32_t n) {
  const struct hr__kai_cluster *cluster = order->session->cluster;
  if (!has_total_order(order)) {
    hr__kai_order_add_lists(order, false);
    return;
  }
  order->lists = true;
  order->only_preemptible = false;
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t q = leaves[i]; q != HR__KAI_NONE; q = cluster->queues[q].parent) order->n_asked[q]++;
  const uint32_t common = common_queue(order, leaves[0], n);
  const bool one_leaf = common != HR__KAI_NONE && is_leaf(order, common);
  for (uint32_t q = 0; q < cluster->n_queues; q++) {
    const uint32_t branch = one_leaf ? HR__KAI_NONE : step_towards(cluster, common, q);
    const bool is_needed = one_leaf ? q == common : branch != HR__KAI_NONE && order->n_asked[branch] > 0;
    order->cursor[q] = is_needed ? 0 : UINT32_MAX;
  }
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t q = leaves[i]; q != HR__KAI_NONE; q = cluster->queues[q].parent) order->n_asked[q] = 0;
}

/* The first queue of a heap. Marked queues at its top are first moved to their positions. */
static uint32_t first_queue(const struct heap *heap) {
  while (heap->order->is_marked[heap->items[0]]) {
    const uint32_t queue = heap->items[0];
    move_down(heap, 0, *heap->length);
    heap->order->is_marked[queue] = false;
  }
  return heap->items[0];
}

uint32_t hr__kai_order_pop_pushed(struct hr__kai_job_order *order, uint32_t leaf) {
  const struct heap heap = heap_of(order, leaf);
  return order->length[leaf] > 0 ? pop(&heap) : HR__KAI_NONE;
}

/* Starting with `queue` and going up, removes queues without jobs from the tops of their heaps. Returns the first queue
   on this path that has jobs; HR__KAI_NONE: none. */
static uint32_t unlink_empty(struct hr__kai_job_order *order, uint32_t queue) {
  while (queue != HR__KAI_NONE && order->length[queue] == 0 && listed_job(order, queue) == HR__KAI_NONE) {
    const uint32_t parent = order->session->cluster->queues[queue].parent;
    const struct heap heap = heap_of(order, parent);
    pop(&heap);
    order->is_linked[queue] = order->is_marked[queue] = false;
    queue = parent;
  }
  return queue;
}

bool hr__kai_order_is_empty(struct hr__kai_job_order *order) {
  if (order->passes && order->last != HR__KAI_NONE && order->is_linked[order->last])
    unlink_empty(order, order->last); // the queue is still at the top of its heap
  order->last = HR__KAI_NONE;
  return order->n_top == 0;
}

uint32_t hr__kai_order_pop(struct hr__kai_job_order *order) {
  if (hr__kai_order_is_empty(order)) return HR__KAI_NONE;
  struct heap heap = heap_of(order, HR__KAI_NONE);
  uint32_t queue = first_queue(&heap);
  order->is_clean = true;
  while (!is_leaf(order, queue)) {
    heap = heap_of(order, queue);
    const uint32_t before = heap.items[0];
    queue = first_queue(&heap);
    order->is_clean = order->is_clean && queue == before;
  }
  heap = heap_of(order, queue);
  bool listed;
  const uint32_t job = first_job(order, queue, &listed);
  if (listed) {
    order->cursor[queue]++;
    order->left[queue]--;
  } else {
    (void)pop(&heap);
  }
  if (order->victims) hr__kai_add(&order->popped[queue], &order->size[job]);
  order->last = queue;
  const bool passes = order->passes;
  order->passes = false; // the job may still have an effect
  queue = unlink_empty(order, queue);
  order->passes = passes;
  if (queue != HR__KAI_NONE) mark_path(order, queue);
  return job;
}

void hr__kai_order_pass(struct hr__kai_job_order *order, uint32_t job) {
  if (!order->passes || !order->is_clean) return;
  const struct hr__kai_cluster *cluster = order->session->cluster;
  const uint32_t class = cluster->class_of[job], queue = cluster->jobs[job].queue;
  if (order->passed[class] == order->stamp) return;
  order->passed[class] = order->stamp;
  if (order->passed_in[queue] != order->stamp) order->n_passed[queue] = 0;
  order->passed_in[queue] = order->stamp;
  order->n_passed[queue]++;
}
