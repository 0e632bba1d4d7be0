/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rules of the naive Volcano, which naive_volcano.h describes: sums, shares, orders, the amounts of queues, and the
   decisions of plug-ins. They are not optimized: for example, the resources of a node are summed over all tasks of the
   world each time. */

#include "naive_volcano_rules.h"

#include <string.h>

/* ---- Sums ---- */

bool naive_best_effort(const world *w, uint32_t t) {
  return need(w, t, 0) < 0.1 && need(w, t, 1) < 0.1 && need(w, t, 3) < 0.1;
}

static double idle(const world *w, uint32_t n, uint32_t r, bool later) {
  double left = w->snapshot->nodes[n].allocatable.amount[r];
  for (uint32_t t = 0; t < w->snapshot->n_tasks; t++) {
    if (w->node[t] != n) continue;
    if (holds(w->state[t])) left -= need(w, t, r);
    if (w->state[t] == HR__VOLCANO_RELEASING && !later) left -= need(w, t, r);
    if (w->state[t] == HR__VOLCANO_PIPELINED && later) left -= need(w, t, r);
  }
  return left;
}
bool naive_fits(const world *w, uint32_t t, uint32_t n, bool later) {
  for (uint32_t r = 0; r < NAIVE_RESOURCES; r++)
    if (need(w, t, r) > 0 && more(need(w, t, r), idle(w, n, r, later))) return false;
  return true;
}

bool naive_below(const world *w, uint32_t q, uint32_t top) {
  if (q == top) return true;
  if (!is_tree(w) || q == w->snapshot->root_queue) return false;
  uint32_t parent = Q(w, q)->parent;
  return naive_below(w, parent == NONE ? w->snapshot->root_queue : parent, top);
}
/* Returns the amount that the tasks of a queue and its descendants use, or for which they wait on a node. */
double naive_has(const world *w, uint32_t q, uint32_t r) {
  double sum = 0;
  for (uint32_t t = 0; t < w->snapshot->n_tasks; t++)
    if ((holds(w->state[t]) || w->state[t] == HR__VOLCANO_PIPELINED) && naive_below(w, queue_of(w, t), q))
      sum += need(w, t, r);
  return sum;
}
int naive_count(const world *w, uint32_t j, bool ready, bool waiting, bool pending_best_effort) {
  int n = 0;
  for (uint32_t t = 0; t < w->snapshot->n_tasks; t++) {
    if (T(w, t)->job != j) continue;
    n += ready && (holds(w->state[t]) || w->state[t] == HR__VOLCANO_SUCCEEDED);
    n += waiting && w->state[t] == HR__VOLCANO_PIPELINED;
    n += pending_best_effort && w->state[t] == HR__VOLCANO_PENDING && naive_best_effort(w, t);
  }
  return n;
}

/* ---- Shares ---- */

static double total(const world *w, uint32_t r) {
  double sum = 0;
  for (uint32_t n = 0; n < w->snapshot->n_nodes; n++) sum += w->snapshot->nodes[n].allocatable.amount[r];
  return sum;
}
static double share(const world *w, uint32_t q) {
  if (is_tree(w) && w->inner_share[q] >= 0) return w->inner_share[q];
  double best = 0;
  bool any = false;
  for (uint32_t r = 0; r < NAIVE_RESOURCES; r++) {
    if (w->deserved[q][r] < 0.1) continue;
    if (r != 2) any = true;
    if (naive_has(w, q, r) / w->deserved[q][r] > best) best = naive_has(w, q, r) / w->deserved[q][r];
  }
  return plugin(w, HR__VOLCANO_CAPACITY) && !any ? 1 : best;
}
static double job_share(const world *w, uint32_t j) {
  double best = 0;
  for (uint32_t r = 0; r < NAIVE_RESOURCES; r++) {
    double sum = 0;
    for (uint32_t t = 0; t < w->snapshot->n_tasks; t++)
      if (T(w, t)->job == j && (holds(w->state[t]) || w->state[t] == HR__VOLCANO_PIPELINED)) sum += need(w, t, r);
    if (total(w, r) >= 0.1 && sum / total(w, r) > best) best = sum / total(w, r);
  }
  return best;
}

/* ---- Orders: a negative result means that `a` precedes `b` ---- */

static int sign(double x) {
  return (x > 0) - (x < 0);
}
static int job_difference(const world *w, uint32_t a, uint32_t b) {
  for (uint32_t i = 0; i < w->config->n_plugins; i++) {
    const struct hr__volcano_plugin *p = &w->config->plugins[i];
    if (!(p->enabled & (1u << HR__VOLCANO_JOB_ORDER))) continue;
    int d = 0;
    if (p->id == HR__VOLCANO_PRIORITY) d = J(w, b)->priority - J(w, a)->priority;
    if (p->id == HR__VOLCANO_DRF) d = sign(job_share(w, a) - job_share(w, b));
    if (p->id == HR__VOLCANO_GANG)
      d = (naive_count(w, a, 1, 0, 1) >= J(w, a)->min_available) -
          (naive_count(w, b, 1, 0, 1) >= J(w, b)->min_available);
    if (d) return d;
  }
  return 0;
}
int naive_job_order(const world *w, uint32_t a, uint32_t b) {
  int d = job_difference(w, a, b);
  return d ? d : strcmp(J(w, a)->uid, J(w, b)->uid);
}
int naive_task_order(const world *w, uint32_t a, uint32_t b) {
  if (on(w, HR__VOLCANO_PRIORITY, HR__VOLCANO_TASK_ORDER) && T(w, a)->priority != T(w, b)->priority)
    return T(w, b)->priority - T(w, a)->priority;
  return strcmp(T(w, a)->uid, T(w, b)->uid);
}

/* Stores the path from the root to a queue, without the queue itself, in `list`. Returns its length. */
uint32_t naive_path(const world *w, uint32_t q, uint32_t *list) {
  if (q == w->snapshot->root_queue) return 0;
  uint32_t parent = Q(w, q)->parent == NONE ? w->snapshot->root_queue : Q(w, q)->parent;
  uint32_t n = naive_path(w, parent, list);
  list[n] = parent;
  return n + 1;
}
static uint32_t level(const world *w, uint32_t a, uint32_t b) {
  uint32_t x[NAIVE_QUEUES], y[NAIVE_QUEUES], n = naive_path(w, a, x), m = naive_path(w, b, y), last = 0;
  for (uint32_t i = 0; i < n && i < m && x[i] == y[i]; i++) last = i;
  return last;
}
static bool deserves(const world *w, uint32_t q) {
  return w->deserved[q][0] >= 0.1 || w->deserved[q][1] >= 0.1 || w->deserved[q][3] >= 0.1;
}
static int share_order(const world *w, uint32_t a, uint32_t b) {
  int d = sign(share(w, a) - share(w, b));
  return d || !plugin(w, HR__VOLCANO_CAPACITY) ? d : (int)deserves(w, b) - (int)deserves(w, a);
}
static bool has_children(const world *w, uint32_t q) {
  for (uint32_t i = 0; i < w->snapshot->n_queues; i++)
    if (i != q && i != w->snapshot->root_queue &&
        (Q(w, i)->parent == q || (Q(w, i)->parent == NONE && q == w->snapshot->root_queue)))
      return true;
  return false;
}
int naive_queue_order(const world *w, uint32_t a, uint32_t b) {
  bool enabled = on(w, HR__VOLCANO_PROPORTION, HR__VOLCANO_QUEUE_ORDER) ||
                 (on(w, HR__VOLCANO_CAPACITY, HR__VOLCANO_QUEUE_ORDER) && !w->is_broken);
  int d = 0;
  if (enabled) {
    d = Q(w, b)->priority - Q(w, a)->priority;
    if (!d && is_tree(w)) {
      uint32_t x[NAIVE_QUEUES], y[NAIVE_QUEUES], n = naive_path(w, a, x), m = naive_path(w, b, y), l = level(w, a, b);
      d = share_order(w, l + 1 < n ? x[l + 1] : a, l + 1 < m ? y[l + 1] : b);
    } else if (!d) {
      d = share_order(w, a, b);
    }
  }
  return d ? d : strcmp(Q(w, a)->name, Q(w, b)->name);
}

int naive_victim_order(const world *w, uint32_t a, uint32_t b) {
  uint32_t j = T(w, a)->job, k = T(w, b)->job;
  if (j == k) return naive_task_order(w, b, a);
  if (J(w, j)->queue != J(w, k)->queue) {
    if (is_tree(w) && !w->is_broken) {
      uint32_t own = queue_of(w, w->preemptor), x = level(w, J(w, j)->queue, own), y = level(w, J(w, k)->queue, own);
      if (x != y) return x > y ? -1 : 1;
    }
    return naive_queue_order(w, J(w, k)->queue, J(w, j)->queue);
  }
  int d = job_difference(w, k, j);
  return d ? d : naive_task_order(w, b, a);
}

/* ---- A heap that behaves as container/heap of Go ---- */

static void swap(uint32_t *a, uint32_t *b) {
  uint32_t c = *a;
  *a = *b;
  *b = c;
}
void naive_push(const world *w, struct list *list, uint32_t item) {
  uint32_t i = list->n++;
  list->item[i] = item;
  while (i > 0 && list->order(w, list->item[i], list->item[(i - 1) / 2]) < 0) {
    swap(&list->item[i], &list->item[(i - 1) / 2]);
    i = (i - 1) / 2;
  }
}
uint32_t naive_pop(const world *w, struct list *list) {
  swap(&list->item[0], &list->item[--list->n]);
  for (uint32_t i = 0;;) {
    uint32_t c = 2 * i + 1;
    if (c >= list->n) break;
    if (c + 1 < list->n && list->order(w, list->item[c + 1], list->item[c]) < 0) c++;
    if (list->order(w, list->item[c], list->item[i]) >= 0) break;
    swap(&list->item[i], &list->item[c]);
    i = c;
  }
  return list->item[list->n];
}

/* ---- Opening ---- */

void naive_queue_amounts(world *w) {
  for (uint32_t j = 0; j < w->snapshot->n_jobs; j++)
    for (uint32_t q = 0; q < w->snapshot->n_queues; q++)
      for (uint32_t r = 0; r < NAIVE_RESOURCES; r++) {
        if (!naive_below(w, J(w, j)->queue, q)) continue;
        double own = 0, least = J(w, j)->min_resources.amount[r];
        for (uint32_t t = 0; t < w->snapshot->n_tasks; t++)
          if (T(w, t)->job == j && holds(w->state[t])) own += need(w, t, r);
        bool keeps =
            J(w, j)->phase == HR__VOLCANO_PHASE_INQUEUE ||
            (J(w, j)->phase == HR__VOLCANO_PHASE_RUNNING && naive_count(w, j, 1, 0, 0) >= J(w, j)->min_available);
        if (keeps && J(w, j)->has_min_resources && least > own) w->inqueue[q][r] += least - own;
        if (own > least) w->elastic[q][r] += own - least;
      }
}
static double capability(const world *w, uint32_t q, uint32_t r) {
  const struct hr__volcano_queue *queue = Q(w, q);
  if (!queue->has_capability) return 1e300;
  if (r > 1) return queue->capability.present >> r & 1 ? queue->capability.amount[r] : 1e300;
  return queue->capability.amount[r] > 0 ? queue->capability.amount[r] : 1e300;
}
static double smaller(double a, double b) {
  return a < b ? a : b;
}
static void flat_limits(world *w) {
  for (uint32_t q = 0; q < w->snapshot->n_queues; q++)
    for (uint32_t r = 0; r < NAIVE_RESOURCES; r++) {
      double rest = total(w, r);
      for (uint32_t i = 0; i < w->snapshot->n_queues; i++) rest -= Q(w, i)->guarantee.amount[r];
      w->limit[q][r] = smaller((rest > 0 ? rest : 0) + Q(w, q)->guarantee.amount[r], capability(w, q, r));
    }
}
static void tree_limits(world *w, uint32_t top, double inherited[NAIVE_RESOURCES]) {
  for (uint32_t r = 0; r < NAIVE_RESOURCES; r++) {
    double guarantees = 0, deserved = 0;
    for (uint32_t i = 0; i < w->snapshot->n_queues; i++) {
      uint32_t parent = Q(w, i)->parent == NONE ? w->snapshot->root_queue : Q(w, i)->parent;
      if (i == w->snapshot->root_queue || parent != top) continue;
      w->deserved[i][r] = Q(w, i)->deserved.amount[r] > Q(w, i)->guarantee.amount[r] ? Q(w, i)->deserved.amount[r]
                                                                                     : Q(w, i)->guarantee.amount[r];
      guarantees += Q(w, i)->guarantee.amount[r];
      deserved += w->deserved[i][r];
    }
    if (top == w->snapshot->root_queue) w->deserved[top][r] = deserved;
    for (uint32_t i = 0; i < w->snapshot->n_queues; i++) {
      uint32_t parent = Q(w, i)->parent == NONE ? w->snapshot->root_queue : Q(w, i)->parent;
      if (i == w->snapshot->root_queue || parent != top) continue;
      double rest = w->limit[top][r] > guarantees ? w->limit[top][r] - guarantees : 0;
      double own = capability(w, i, r) < 1e300 ? capability(w, i, r) : inherited[r];
      w->limit[i][r] = smaller(rest + Q(w, i)->guarantee.amount[r], own);
    }
  }
  for (uint32_t i = 0; i < w->snapshot->n_queues; i++) {
    uint32_t parent = Q(w, i)->parent == NONE ? w->snapshot->root_queue : Q(w, i)->parent;
    if (i == w->snapshot->root_queue || parent != top) continue;
    double next[NAIVE_RESOURCES];
    for (uint32_t r = 0; r < NAIVE_RESOURCES; r++)
      next[r] = capability(w, i, r) < 1e300 ? capability(w, i, r) : inherited[r];
    tree_limits(w, i, next);
  }
}
void naive_open_capacity(world *w) {
  if (is_tree(w)) {
    for (uint32_t j = 0; j < w->snapshot->n_jobs; j++) w->is_broken |= has_children(w, J(w, j)->queue);
    if (w->is_broken) return;
    double unlimited[NAIVE_RESOURCES] = {1e300, 1e300, 1e300, 1e300};
    for (uint32_t r = 0; r < NAIVE_RESOURCES; r++) w->limit[w->snapshot->root_queue][r] = 1e300;
    tree_limits(w, w->snapshot->root_queue, unlimited);
    for (uint32_t q = 0; q < w->snapshot->n_queues; q++)
      if (has_children(w, q)) w->inner_share[q] = share(w, q);
    return;
  }
  flat_limits(w);
  for (uint32_t q = 0; q < w->snapshot->n_queues; q++)
    for (uint32_t r = 0; r < NAIVE_RESOURCES; r++) {
      /* As in Volcano, there is no limit on a resource that the cluster does not have. */
      w->deserved[q][r] =
          total(w, r) > 0 ? smaller(Q(w, q)->deserved.amount[r], w->limit[q][r]) : Q(w, q)->deserved.amount[r];
      if (Q(w, q)->guarantee.amount[r] > w->deserved[q][r]) w->deserved[q][r] = Q(w, q)->guarantee.amount[r];
    }
}
void naive_open_proportion(world *w) {
  bool active[NAIVE_QUEUES] = {0};
  double rest[NAIVE_RESOURCES], wants[NAIVE_QUEUES][NAIVE_RESOURCES] = {{0}};
  flat_limits(w);
  for (uint32_t j = 0; j < w->snapshot->n_jobs; j++) active[J(w, j)->queue] = true;
  for (uint32_t t = 0; t < w->snapshot->n_tasks; t++)
    for (uint32_t r = 0; r < NAIVE_RESOURCES; r++)
      if (holds(w->state[t]) || w->state[t] == HR__VOLCANO_PENDING) wants[queue_of(w, t)][r] += need(w, t, r);
  for (uint32_t r = 0; r < NAIVE_RESOURCES; r++) rest[r] = total(w, r);
  for (;;) {
    int weights = 0;
    double spent[NAIVE_RESOURCES] = {0}, freed[NAIVE_RESOURCES] = {0};
    for (uint32_t q = 0; q < w->snapshot->n_queues; q++) weights += active[q] ? Q(w, q)->weight : 0;
    if (!weights) return;
    for (uint32_t q = 0; q < w->snapshot->n_queues; q++) {
      if (!active[q]) continue;
      bool met = true, changed = false;
      for (uint32_t r = 0; r < NAIVE_RESOURCES; r++) {
        double old = w->deserved[q][r], now = old + rest[r] * ((double)Q(w, q)->weight / weights);
        now = smaller(smaller(now, w->limit[q][r]), wants[q][r]);
        if (now < Q(w, q)->guarantee.amount[r]) now = Q(w, q)->guarantee.amount[r];
        w->deserved[q][r] = now;
        if (more(wants[q][r], now)) met = false;
        if (now != old) changed = true;
        if (now > old) spent[r] += now - old;
        if (now < old) freed[r] += old - now;
      }
      if (met || !changed) active[q] = false;
    }
    bool empty = true, moved = false;
    for (uint32_t r = 0; r < NAIVE_RESOURCES; r++) {
      double next = rest[r] + freed[r] > spent[r] ? rest[r] + freed[r] - spent[r] : 0;
      if (next != rest[r]) moved = true;
      rest[r] = next;
      if (r != 2 && next >= 0.1) empty = false;
    }
    if (empty || !moved) return;
  }
}

/* ---- Votes ---- */

bool naive_asks(const world *w, uint32_t t, uint32_t r) {
  return r != 2 && need(w, t, r) > 0;
}
static bool under(const world *w, uint32_t q, uint32_t t, double (*of)[NAIVE_RESOURCES]) {
  for (uint32_t r = 0; r < NAIVE_RESOURCES; r++)
    if (naive_asks(w, t, r) && naive_has(w, q, r) + need(w, t, r) > of[q][r]) return false;
  return true;
}
bool naive_allocatable(world *w, uint32_t t) {
  uint32_t q = queue_of(w, t);
  if (on(w, HR__VOLCANO_PROPORTION, HR__VOLCANO_ALLOCATABLE) && (!Q(w, q)->is_open || !under(w, q, t, w->deserved)))
    return false;
  if (!on(w, HR__VOLCANO_CAPACITY, HR__VOLCANO_ALLOCATABLE)) return true;
  if (!Q(w, q)->is_open || w->is_broken) return false;
  for (uint32_t top = 0; top < w->snapshot->n_queues; top++)
    if (naive_below(w, q, top) && !under(w, top, t, w->limit)) return false;
  return true;
}
static bool partly_deserves(const world *w, uint32_t q, uint32_t t) {
  for (uint32_t r = 0; r < NAIVE_RESOURCES; r++)
    if (naive_asks(w, t, r) && !more(naive_has(w, q, r) + need(w, t, r), w->deserved[q][r])) return true;
  return false;
}
bool naive_preemptive(world *w, uint32_t t) {
  uint32_t q = queue_of(w, t), list[NAIVE_QUEUES];
  if (on(w, HR__VOLCANO_PROPORTION, HR__VOLCANO_PREEMPTIVE) && (!Q(w, q)->is_open || !under(w, q, t, w->deserved)))
    return false;
  if (!on(w, HR__VOLCANO_CAPACITY, HR__VOLCANO_PREEMPTIVE)) return true;
  if (w->is_broken || !Q(w, q)->is_open || !under(w, q, t, w->limit)) return false;
  if (partly_deserves(w, q, t)) return true;
  int levels = plugin(w, HR__VOLCANO_CAPACITY)->arguments.ancestor_reclaim_level;
  uint32_t n = is_tree(w) ? naive_path(w, q, list) : 0;
  for (int i = 1; i <= levels; i++)
    if (i < (int)n && partly_deserves(w, list[(int)n - i], t)) return true;
  return false;
}
static bool role_counts(const world *w, uint32_t j, bool waiting, bool pending, bool pending_best_effort) {
  if (J(w, j)->min_available < J(w, j)->role_min_total) return true;
  for (uint32_t role = 0; role < J(w, j)->n_roles; role++) {
    int n = 0;
    for (uint32_t t = 0; t < w->snapshot->n_tasks; t++) {
      if (T(w, t)->job != j || T(w, t)->role != role) continue;
      enum hr__volcano_state s = w->state[t];
      n += holds(s) || s == HR__VOLCANO_SUCCEEDED || (waiting && s == HR__VOLCANO_PIPELINED) ||
           (s == HR__VOLCANO_PENDING && (pending || (pending_best_effort && naive_best_effort(w, t))));
    }
    if (n < J(w, j)->role_min[role]) return false;
  }
  return true;
}
bool naive_valid(const world *w, uint32_t j) {
  int pending = 0;
  for (uint32_t t = 0; t < w->snapshot->n_tasks; t++)
    pending += T(w, t)->job == j && w->state[t] == HR__VOLCANO_PENDING;
  return !plugin(w, HR__VOLCANO_GANG) ||
         (role_counts(w, j, true, true, false) && naive_count(w, j, 1, 1, 0) + pending >= J(w, j)->min_available);
}
bool naive_ready(const world *w, uint32_t j) {
  return !on(w, HR__VOLCANO_GANG, HR__VOLCANO_JOB_READY) ||
         (naive_count(w, j, 1, 0, 1) >= J(w, j)->min_available && role_counts(w, j, false, false, true));
}
bool naive_pipelined(const world *w, uint32_t j) {
  return !on(w, HR__VOLCANO_GANG, HR__VOLCANO_JOB_PIPELINED) ||
         (naive_count(w, j, 1, 1, 1) >= J(w, j)->min_available && role_counts(w, j, true, false, true));
}
/* Returns whether a job is starving. All plug-ins of the worlds are in one tier, so all of them must agree. */
bool naive_starving(const world *w, uint32_t j) {
  bool gang = on(w, HR__VOLCANO_GANG, HR__VOLCANO_JOB_STARVING);
  bool priority = on(w, HR__VOLCANO_PRIORITY, HR__VOLCANO_JOB_STARVING);
  if (gang && naive_count(w, j, 1, 1, 0) >= J(w, j)->min_available) return false;
  if (priority && naive_count(w, j, 1, 1, 0) >= (int)J(w, j)->n_tasks) return false;
  return gang || priority;
}
/* Returns 0 if the node is not refused, 1 if evictions may help, and 2 if they do not help. */
int naive_refused(const world *w, uint32_t t, uint32_t n) {
  if (!on(w, HR__VOLCANO_PREDICATES, HR__VOLCANO_PREDICATE)) return 0;
  if (T(w, t)->nodes && !(T(w, t)->nodes[0] >> n & 1)) return 2;
  int pods = 0;
  for (uint32_t i = 0; i < w->snapshot->n_tasks; i++)
    pods += w->node[i] == n && (holds(w->state[i]) || w->state[i] == HR__VOLCANO_PIPELINED);
  return pods + 1 > w->snapshot->nodes[n].allocatable.amount[2];
}

/* ---- Scores: binpack with weight 1 for CPU and memory ---- */

double naive_score(const world *w, uint32_t t, uint32_t n) {
  if (!on(w, HR__VOLCANO_BINPACK, HR__VOLCANO_NODE_ORDER)) return 0;
  double sum = 0;
  int weights = 0;
  for (uint32_t r = 0; r < 2; r++) {
    double size = w->snapshot->nodes[n].allocatable.amount[r], used = size - idle(w, n, r, false) + need(w, t, r);
    if (need(w, t, r) < 0.1) continue;
    weights++;
    if (size == 0) continue;
    if (used > size) return 0;
    sum += used / size;
  }
  return weights ? sum / weights * 100 : 0;
}

/* ---- Changes ---- */

void naive_put(world *w, uint32_t t, uint32_t n, enum hr__volcano_state s) {
  w->state[t] = s;
  w->node[t] = n;
  w->arrival[t] = w->n_arrivals++;
}
/* Undoes changes. As in Volcano, a bound task whose eviction is undone counts as running. */
void naive_restore(world *w, const world *before) {
  bool runs[NAIVE_TASKS] = {false};
  for (uint32_t t = 0; t < w->snapshot->n_tasks; t++)
    runs[t] = (w->state[t] == HR__VOLCANO_RELEASING || w->state[t] == HR__VOLCANO_RUNNING) &&
              before->state[t] == HR__VOLCANO_BOUND;
  *w = *before;
  for (uint32_t t = 0; t < w->snapshot->n_tasks; t++)
    if (runs[t]) w->state[t] = HR__VOLCANO_RUNNING;
}
void naive_commit(world *w) {
  for (uint32_t t = 0; t < w->snapshot->n_tasks; t++) {
    if (w->placed[t]) w->bound[t] = true;
    if (w->placed[t]) w->state[t] = HR__VOLCANO_BINDING;
    w->placed[t] = false;
    if (w->state[t] == HR__VOLCANO_RELEASING && T(w, t)->state != HR__VOLCANO_RELEASING) w->evicted[t] = true;
  }
}
