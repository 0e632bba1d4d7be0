/* SPDX-License-Identifier: GPL-3.0-or-later */
/* See naive_volcano.h. Written from the rules, without looking for speed: for example, the resources of a node are
   summed over all tasks of the world each time. */

#include "naive_volcano.h"

#include <string.h>

#define EACH(i, n) (uint32_t i = 0; i < (n); i++)
#define NONE HR__VOLCANO_NONE

typedef struct naive_volcano world;

static const struct hr__volcano_task *T(const world *w, uint32_t t) {
  return &w->snapshot->tasks[t];
}
static const struct hr__volcano_job *J(const world *w, uint32_t j) {
  return &w->snapshot->jobs[j];
}
static const struct hr__volcano_queue *Q(const world *w, uint32_t q) {
  return &w->snapshot->queues[q];
}
static double need(const world *w, uint32_t t, uint32_t r) {
  return T(w, t)->request->amount[r];
}
static uint32_t queue_of(const world *w, uint32_t t) {
  return J(w, T(w, t)->job)->queue;
}

static const struct hr__volcano_plugin *plugin(const world *w, enum hr__volcano_plugin_id id) {
  for
    EACH(i, w->config->n_plugins)
  if (w->config->plugins[i].id == id) return &w->config->plugins[i];
  return NULL;
}
static bool on(const world *w, enum hr__volcano_plugin_id id, enum hr__volcano_callback callback) {
  return plugin(w, id) && (plugin(w, id)->enabled & (1u << callback));
}
static bool is_tree(const world *w) {
  return on(w, HR__VOLCANO_CAPACITY, HR__VOLCANO_HIERARCHY);
}

/* ---- Sums ---- */

static bool more(double a, double b) {
  return a - b >= 0.1;
}

static bool holds(enum hr__volcano_state s) {
  return s == HR__VOLCANO_RUNNING || s == HR__VOLCANO_BOUND || s == HR__VOLCANO_BINDING || s == HR__VOLCANO_ALLOCATED;
}
static bool best_effort(const world *w, uint32_t t) {
  return need(w, t, 0) < 0.1 && need(w, t, 1) < 0.1 && need(w, t, 3) < 0.1;
}

static double idle(const world *w, uint32_t n, uint32_t r, bool later) {
  double left = w->snapshot->nodes[n].allocatable.amount[r];
  for
    EACH(t, w->snapshot->n_tasks) {
      if (w->node[t] != n) continue;
      if (holds(w->state[t])) left -= need(w, t, r);
      if (w->state[t] == HR__VOLCANO_RELEASING && !later) left -= need(w, t, r);
      if (w->state[t] == HR__VOLCANO_PIPELINED && later) left -= need(w, t, r);
    }
  return left;
}
static bool fits(const world *w, uint32_t t, uint32_t n, bool later) {
  for
    EACH(r, NAIVE_RESOURCES)
  if (need(w, t, r) > 0 && more(need(w, t, r), idle(w, n, r, later))) return false;
  return true;
}

static bool below(const world *w, uint32_t q, uint32_t top) {
  if (q == top) return true;
  if (!is_tree(w) || q == w->snapshot->root_queue) return false;
  uint32_t parent = Q(w, q)->parent;
  return below(w, parent == NONE ? w->snapshot->root_queue : parent, top);
}
/* What the tasks of a queue and its descendants have, or wait for on a node. */
static double has(const world *w, uint32_t q, uint32_t r) {
  double sum = 0;
  for
    EACH(t, w->snapshot->n_tasks)
  if ((holds(w->state[t]) || w->state[t] == HR__VOLCANO_PIPELINED) && below(w, queue_of(w, t), q)) sum += need(w, t, r);
  return sum;
}
static int count(const world *w, uint32_t j, bool ready, bool waiting, bool pending_best_effort) {
  int n = 0;
  for
    EACH(t, w->snapshot->n_tasks) {
      if (T(w, t)->job != j) continue;
      n += ready && (holds(w->state[t]) || w->state[t] == HR__VOLCANO_SUCCEEDED);
      n += waiting && w->state[t] == HR__VOLCANO_PIPELINED;
      n += pending_best_effort && w->state[t] == HR__VOLCANO_PENDING && best_effort(w, t);
    }
  return n;
}

/* ---- Shares ---- */

static double total(const world *w, uint32_t r) {
  double sum = 0;
  for
    EACH(n, w->snapshot->n_nodes) sum += w->snapshot->nodes[n].allocatable.amount[r];
  return sum;
}
static double share(const world *w, uint32_t q) {
  if (is_tree(w) && w->inner_share[q] >= 0) return w->inner_share[q];
  double best = 0;
  bool any = false;
  for
    EACH(r, NAIVE_RESOURCES) {
      if (w->deserved[q][r] < 0.1) continue;
      if (r != 2) any = true;
      if (has(w, q, r) / w->deserved[q][r] > best) best = has(w, q, r) / w->deserved[q][r];
    }
  return plugin(w, HR__VOLCANO_CAPACITY) && !any ? 1 : best;
}
static double job_share(const world *w, uint32_t j) {
  double best = 0;
  for
    EACH(r, NAIVE_RESOURCES) {
      double sum = 0;
    for
      EACH(t, w->snapshot->n_tasks)
    if (T(w, t)->job == j && (holds(w->state[t]) || w->state[t] == HR__VOLCANO_PIPELINED)) sum += need(w, t, r);
    if (total(w, r) >= 0.1 && sum / total(w, r) > best) best = sum / total(w, r);
    }
  return best;
}

/* ---- Orders; negative: the first one comes first ---- */

static int sign(double x) {
  return (x > 0) - (x < 0);
}
static int job_difference(const world *w, uint32_t a, uint32_t b) {
  for
    EACH(i, w->config->n_plugins) {
      const struct hr__volcano_plugin *p = &w->config->plugins[i];
      if (!(p->enabled & (1u << HR__VOLCANO_JOB_ORDER))) continue;
      int d = 0;
      if (p->id == HR__VOLCANO_PRIORITY) d = J(w, b)->priority - J(w, a)->priority;
      if (p->id == HR__VOLCANO_DRF) d = sign(job_share(w, a) - job_share(w, b));
      if (p->id == HR__VOLCANO_GANG)
        d = (count(w, a, 1, 0, 1) >= J(w, a)->min_available) - (count(w, b, 1, 0, 1) >= J(w, b)->min_available);
      if (d) return d;
    }
  return 0;
}
static int job_order(const world *w, uint32_t a, uint32_t b) {
  int d = job_difference(w, a, b);
  return d ? d : strcmp(J(w, a)->uid, J(w, b)->uid);
}
static int task_order(const world *w, uint32_t a, uint32_t b) {
  if (on(w, HR__VOLCANO_PRIORITY, HR__VOLCANO_TASK_ORDER) && T(w, a)->priority != T(w, b)->priority)
    return T(w, b)->priority - T(w, a)->priority;
  return strcmp(T(w, a)->uid, T(w, b)->uid);
}

/* The path of a queue from the root, without the queue. Returns its length. */
static uint32_t path(const world *w, uint32_t q, uint32_t *list) {
  if (q == w->snapshot->root_queue) return 0;
  uint32_t parent = Q(w, q)->parent == NONE ? w->snapshot->root_queue : Q(w, q)->parent;
  uint32_t n = path(w, parent, list);
  list[n] = parent;
  return n + 1;
}
static uint32_t level(const world *w, uint32_t a, uint32_t b) {
  uint32_t x[NAIVE_QUEUES], y[NAIVE_QUEUES], n = path(w, a, x), m = path(w, b, y), last = 0;
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
  for
    EACH(i, w->snapshot->n_queues)
  if (i != q && i != w->snapshot->root_queue &&
      (Q(w, i)->parent == q || (Q(w, i)->parent == NONE && q == w->snapshot->root_queue)))
    return true;
  return false;
}
static int queue_order(const world *w, uint32_t a, uint32_t b) {
  bool enabled = on(w, HR__VOLCANO_PROPORTION, HR__VOLCANO_QUEUE_ORDER) ||
                 (on(w, HR__VOLCANO_CAPACITY, HR__VOLCANO_QUEUE_ORDER) && !w->is_broken);
  int d = 0;
  if (enabled) {
    d = Q(w, b)->priority - Q(w, a)->priority;
    if (!d && is_tree(w)) {
      uint32_t x[NAIVE_QUEUES], y[NAIVE_QUEUES], n = path(w, a, x), m = path(w, b, y), l = level(w, a, b);
      d = share_order(w, l + 1 < n ? x[l + 1] : a, l + 1 < m ? y[l + 1] : b);
    } else if (!d) {
      d = share_order(w, a, b);
    }
  }
  return d ? d : strcmp(Q(w, a)->name, Q(w, b)->name);
}

static uint32_t preemptor; /* of the victims that are ordered */
static int victim_order(const world *w, uint32_t a, uint32_t b) {
  uint32_t j = T(w, a)->job, k = T(w, b)->job;
  if (j == k) return task_order(w, b, a);
  if (J(w, j)->queue != J(w, k)->queue) {
    if (is_tree(w) && !w->is_broken) {
      uint32_t own = queue_of(w, preemptor), x = level(w, J(w, j)->queue, own), y = level(w, J(w, k)->queue, own);
      if (x != y) return x > y ? -1 : 1;
    }
    return queue_order(w, J(w, k)->queue, J(w, j)->queue);
  }
  int d = job_difference(w, k, j);
  return d ? d : task_order(w, b, a);
}

/* ---- A heap that behaves as container/heap of Go ---- */

struct list {
  uint32_t item[NAIVE_TASKS], n;
  int (*order)(const world *, uint32_t, uint32_t);
};
static void swap(uint32_t *a, uint32_t *b) {
  uint32_t c = *a;
  *a = *b;
  *b = c;
}
static void push(const world *w, struct list *list, uint32_t item) {
  uint32_t i = list->n++;
  list->item[i] = item;
  while (i > 0 && list->order(w, list->item[i], list->item[(i - 1) / 2]) < 0) {
    swap(&list->item[i], &list->item[(i - 1) / 2]);
    i = (i - 1) / 2;
  }
}
static uint32_t pop(const world *w, struct list *list) {
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

static void queue_amounts(world *w) {
  for EACH (j, w->snapshot->n_jobs) for EACH (q, w->snapshot->n_queues) for EACH (r, NAIVE_RESOURCES) {
      if (!below(w, J(w, j)->queue, q)) continue;
      double own = 0, least = J(w, j)->min_resources.amount[r];
    for
      EACH(t, w->snapshot->n_tasks)
    if (T(w, t)->job == j && holds(w->state[t])) own += need(w, t, r);
    bool keeps = J(w, j)->phase == HR__VOLCANO_PHASE_INQUEUE ||
                 (J(w, j)->phase == HR__VOLCANO_PHASE_RUNNING && count(w, j, 1, 0, 0) >= J(w, j)->min_available);
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
  for EACH (q, w->snapshot->n_queues) for EACH (r, NAIVE_RESOURCES) {
      double rest = total(w, r);
    for
      EACH(i, w->snapshot->n_queues) rest -= Q(w, i)->guarantee.amount[r];
    w->limit[q][r] = smaller((rest > 0 ? rest : 0) + Q(w, q)->guarantee.amount[r], capability(w, q, r));
    }
}
static void tree_limits(world *w, uint32_t top, double inherited[NAIVE_RESOURCES]) {
  for
    EACH(r, NAIVE_RESOURCES) {
      double guarantees = 0, deserved = 0;
    for
      EACH(i, w->snapshot->n_queues) {
        uint32_t parent = Q(w, i)->parent == NONE ? w->snapshot->root_queue : Q(w, i)->parent;
        if (i == w->snapshot->root_queue || parent != top) continue;
        w->deserved[i][r] = Q(w, i)->deserved.amount[r] > Q(w, i)->guarantee.amount[r] ? Q(w, i)->deserved.amount[r]
                                                                                       : Q(w, i)->guarantee.amount[r];
        guarantees += Q(w, i)->guarantee.amount[r];
        deserved += w->deserved[i][r];
      }
    if (top == w->snapshot->root_queue) w->deserved[top][r] = deserved;
    for
      EACH(i, w->snapshot->n_queues) {
        uint32_t parent = Q(w, i)->parent == NONE ? w->snapshot->root_queue : Q(w, i)->parent;
        if (i == w->snapshot->root_queue || parent != top) continue;
        double rest = w->limit[top][r] > guarantees ? w->limit[top][r] - guarantees : 0;
        double own = capability(w, i, r) < 1e300 ? capability(w, i, r) : inherited[r];
        w->limit[i][r] = smaller(rest + Q(w, i)->guarantee.amount[r], own);
      }
    }
  for
    EACH(i, w->snapshot->n_queues) {
      uint32_t parent = Q(w, i)->parent == NONE ? w->snapshot->root_queue : Q(w, i)->parent;
      if (i == w->snapshot->root_queue || parent != top) continue;
      double next[NAIVE_RESOURCES];
    for
      EACH(r, NAIVE_RESOURCES) next[r] = capability(w, i, r) < 1e300 ? capability(w, i, r) : inherited[r];
    tree_limits(w, i, next);
    }
}
static void open_capacity(world *w) {
  if (is_tree(w)) {
    for
      EACH(j, w->snapshot->n_jobs) w->is_broken |= has_children(w, J(w, j)->queue);
    if (w->is_broken) return;
    double unlimited[NAIVE_RESOURCES] = {1e300, 1e300, 1e300, 1e300};
    for
      EACH(r, NAIVE_RESOURCES) w->limit[w->snapshot->root_queue][r] = 1e300;
    tree_limits(w, w->snapshot->root_queue, unlimited);
    for
      EACH(q, w->snapshot->n_queues) if (has_children(w, q)) w->inner_share[q] = share(w, q);
    return;
  }
  flat_limits(w);
  for EACH (q, w->snapshot->n_queues) for EACH (r, NAIVE_RESOURCES) {
      /* As in Volcano, there is no limit on a resource that the cluster does not have. */
      w->deserved[q][r] =
          total(w, r) > 0 ? smaller(Q(w, q)->deserved.amount[r], w->limit[q][r]) : Q(w, q)->deserved.amount[r];
      if (Q(w, q)->guarantee.amount[r] > w->deserved[q][r]) w->deserved[q][r] = Q(w, q)->guarantee.amount[r];
    }
}
static void open_proportion(world *w) {
  bool active[NAIVE_QUEUES] = {0};
  double rest[NAIVE_RESOURCES], wants[NAIVE_QUEUES][NAIVE_RESOURCES] = {{0}};
  flat_limits(w);
  for
    EACH(j, w->snapshot->n_jobs) active[J(w, j)->queue] = true;
  for EACH (t, w->snapshot->n_tasks) for EACH (r, NAIVE_RESOURCES)
    if (holds(w->state[t]) || w->state[t] == HR__VOLCANO_PENDING) wants[queue_of(w, t)][r] += need(w, t, r);
  for
    EACH(r, NAIVE_RESOURCES) rest[r] = total(w, r);
  for (;;) {
    int weights = 0;
    double spent[NAIVE_RESOURCES] = {0}, freed[NAIVE_RESOURCES] = {0};
    for
      EACH(q, w->snapshot->n_queues) weights += active[q] ? Q(w, q)->weight : 0;
    if (!weights) return;
    for
      EACH(q, w->snapshot->n_queues) {
        if (!active[q]) continue;
        bool met = true, changed = false;
      for
        EACH(r, NAIVE_RESOURCES) {
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
    for
      EACH(r, NAIVE_RESOURCES) {
        double next = rest[r] + freed[r] > spent[r] ? rest[r] + freed[r] - spent[r] : 0;
        if (next != rest[r]) moved = true;
        rest[r] = next;
        if (r != 2 && next >= 0.1) empty = false;
      }
    if (empty || !moved) return;
  }
}

/* ---- Votes ---- */

static bool asks(const world *w, uint32_t t, uint32_t r) {
  return r != 2 && need(w, t, r) > 0;
}
static bool under(const world *w, uint32_t q, uint32_t t, double (*of)[NAIVE_RESOURCES]) {
  for
    EACH(r, NAIVE_RESOURCES)
  if (asks(w, t, r) && has(w, q, r) + need(w, t, r) > of[q][r]) return false;
  return true;
}
static bool allocatable(world *w, uint32_t t) {
  uint32_t q = queue_of(w, t);
  if (on(w, HR__VOLCANO_PROPORTION, HR__VOLCANO_ALLOCATABLE) && (!Q(w, q)->is_open || !under(w, q, t, w->deserved)))
    return false;
  if (!on(w, HR__VOLCANO_CAPACITY, HR__VOLCANO_ALLOCATABLE)) return true;
  if (!Q(w, q)->is_open || w->is_broken) return false;
  for
    EACH(top, w->snapshot->n_queues)
  if (below(w, q, top) && !under(w, top, t, w->limit)) return false;
  return true;
}
static bool partly_deserves(const world *w, uint32_t q, uint32_t t) {
  for
    EACH(r, NAIVE_RESOURCES)
  if (asks(w, t, r) && !more(has(w, q, r) + need(w, t, r), w->deserved[q][r])) return true;
  return false;
}
static bool preemptive(world *w, uint32_t t) {
  uint32_t q = queue_of(w, t), list[NAIVE_QUEUES];
  if (on(w, HR__VOLCANO_PROPORTION, HR__VOLCANO_PREEMPTIVE) && (!Q(w, q)->is_open || !under(w, q, t, w->deserved)))
    return false;
  if (!on(w, HR__VOLCANO_CAPACITY, HR__VOLCANO_PREEMPTIVE)) return true;
  if (w->is_broken || !Q(w, q)->is_open || !under(w, q, t, w->limit)) return false;
  if (partly_deserves(w, q, t)) return true;
  int levels = plugin(w, HR__VOLCANO_CAPACITY)->arguments.ancestor_reclaim_level;
  uint32_t n = is_tree(w) ? path(w, q, list) : 0;
  for (int i = 1; i <= levels; i++)
    if (i < (int)n && partly_deserves(w, list[(int)n - i], t)) return true;
  return false;
}
static bool role_counts(const world *w, uint32_t j, bool waiting, bool pending, bool pending_best_effort) {
  if (J(w, j)->min_available < J(w, j)->role_min_total) return true;
  for
    EACH(role, J(w, j)->n_roles) {
      int n = 0;
    for
      EACH(t, w->snapshot->n_tasks) {
        if (T(w, t)->job != j || T(w, t)->role != role) continue;
        enum hr__volcano_state s = w->state[t];
        n += holds(s) || s == HR__VOLCANO_SUCCEEDED || (waiting && s == HR__VOLCANO_PIPELINED) ||
             (s == HR__VOLCANO_PENDING && (pending || (pending_best_effort && best_effort(w, t))));
      }
    if (n < J(w, j)->role_min[role]) return false;
    }
  return true;
}
static bool valid(const world *w, uint32_t j) {
  int pending = 0;
  for
    EACH(t, w->snapshot->n_tasks) pending += T(w, t)->job == j && w->state[t] == HR__VOLCANO_PENDING;
  return !plugin(w, HR__VOLCANO_GANG) ||
         (role_counts(w, j, true, true, false) && count(w, j, 1, 1, 0) + pending >= J(w, j)->min_available);
}
static bool ready(const world *w, uint32_t j) {
  return !on(w, HR__VOLCANO_GANG, HR__VOLCANO_JOB_READY) ||
         (count(w, j, 1, 0, 1) >= J(w, j)->min_available && role_counts(w, j, false, false, true));
}
static bool pipelined(const world *w, uint32_t j) {
  return !on(w, HR__VOLCANO_GANG, HR__VOLCANO_JOB_PIPELINED) ||
         (count(w, j, 1, 1, 1) >= J(w, j)->min_available && role_counts(w, j, true, false, true));
}
/* All plug-ins of the worlds are in one tier. */
static bool starving(const world *w, uint32_t j) {
  bool gang = on(w, HR__VOLCANO_GANG, HR__VOLCANO_JOB_STARVING);
  bool priority = on(w, HR__VOLCANO_PRIORITY, HR__VOLCANO_JOB_STARVING);
  if (gang && count(w, j, 1, 1, 0) >= J(w, j)->min_available) return false;
  if (priority && count(w, j, 1, 1, 0) >= (int)J(w, j)->n_tasks) return false;
  return gang || priority;
}
/* 0: fits, 1: evictions may help, 2: they do not. */
static int refused(const world *w, uint32_t t, uint32_t n) {
  if (!on(w, HR__VOLCANO_PREDICATES, HR__VOLCANO_PREDICATE)) return 0;
  if (T(w, t)->nodes && !(T(w, t)->nodes[0] >> n & 1)) return 2;
  int pods = 0;
  for
    EACH(i, w->snapshot->n_tasks)
  pods += w->node[i] == n && (holds(w->state[i]) || w->state[i] == HR__VOLCANO_PIPELINED);
  return pods + 1 > w->snapshot->nodes[n].allocatable.amount[2];
}

/* ---- Scores: binpack with weight 1 for CPU and memory ---- */

static double score(const world *w, uint32_t t, uint32_t n) {
  if (!on(w, HR__VOLCANO_BINPACK, HR__VOLCANO_NODE_ORDER)) return 0;
  double sum = 0;
  int weights = 0;
  for
    EACH(r, 2) {
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

static void put(world *w, uint32_t t, uint32_t n, enum hr__volcano_state s) {
  w->state[t] = s;
  w->node[t] = n;
  w->arrival[t] = w->n_arrivals++;
}
/* Takes changes back. As in Volcano, a bound task whose eviction is taken back counts as running. */
static void restore(world *w, const world *before) {
  bool runs[NAIVE_TASKS];
  for
    EACH(t, w->snapshot->n_tasks)
  runs[t] = (w->state[t] == HR__VOLCANO_RELEASING || w->state[t] == HR__VOLCANO_RUNNING) &&
            before->state[t] == HR__VOLCANO_BOUND;
  *w = *before;
  for
    EACH(t, w->snapshot->n_tasks) if (runs[t]) w->state[t] = HR__VOLCANO_RUNNING;
}
static void commit(world *w) {
  for
    EACH(t, w->snapshot->n_tasks) {
      if (w->placed[t]) w->bound[t] = true;
      if (w->placed[t]) w->state[t] = HR__VOLCANO_BINDING;
      w->placed[t] = false;
      if (w->state[t] == HR__VOLCANO_RELEASING && T(w, t)->state != HR__VOLCANO_RELEASING) w->evicted[t] = true;
    }
}

/* ---- enqueue, allocate, backfill ---- */

static void enqueue(world *w) {
  struct list queues = {.order = queue_order}, jobs[NAIVE_QUEUES] = {0};
  for
    EACH(q, w->snapshot->n_queues) {
      bool any = false;
      jobs[q].order = job_order;
    for
      EACH(j, w->snapshot->n_jobs) any |= J(w, j)->queue == q;
    if (any) push(w, &queues, q);
    }
  for
    EACH(j, w->snapshot->n_jobs)
  if (w->phase[j] == HR__VOLCANO_PHASE_PENDING) push(w, &jobs[J(w, j)->queue], j);
  while (queues.n) {
    uint32_t q = pop(w, &queues);
    if (!jobs[q].n) continue;
    uint32_t j = pop(w, &jobs[q]);
    bool votes = on(w, HR__VOLCANO_PROPORTION, HR__VOLCANO_JOB_ENQUEUED) ||
                 on(w, HR__VOLCANO_CAPACITY, HR__VOLCANO_JOB_ENQUEUED);
    bool fine = !J(w, j)->has_min_resources || !votes || (Q(w, q)->is_open && !w->is_broken);
    for EACH (top, w->snapshot->n_queues) for EACH (r, NAIVE_RESOURCES) {
        double least = J(w, j)->min_resources.amount[r];
        if (votes && J(w, j)->has_min_resources && !w->is_broken && below(w, q, top) && r != 2 && least > 0 &&
            least + has(w, top, r) + w->inqueue[top][r] - w->elastic[top][r] > w->limit[top][r])
          fine = false;
      }
    if (fine) {
      w->phase[j] = HR__VOLCANO_PHASE_INQUEUE;
      for EACH (top, w->snapshot->n_queues) for EACH (r, NAIVE_RESOURCES)
        if (votes && below(w, q, top)) w->inqueue[top][r] += J(w, j)->min_resources.amount[r];
    }
    push(w, &queues, q);
  }
}

static uint32_t choose(const world *w, uint32_t t, bool later, bool check_resources) {
  uint32_t best = NONE;
  for
    EACH(n, w->snapshot->n_nodes) {
      if (refused(w, t, n) || (check_resources && (!fits(w, t, n, true) || fits(w, t, n, false) == later))) continue;
      if (best == NONE || score(w, t, n) > score(w, t, best)) best = n;
    }
  return best;
}
static bool go_on(const world *w, uint32_t j) {
  const struct hr__volcano_job *job = J(w, j);
  if (job->min_available >= (int)job->n_tasks) return false;
  bool failed[NAIVE_TASKS] = {0};
  int have[NAIVE_TASKS] = {0}, left = 0;
  for
    EACH(t, w->snapshot->n_tasks) if (T(w, t)->job == j && w->failed[t]) failed[T(w, t)->role] = true;
  for
    EACH(t, w->snapshot->n_tasks) {
      if (T(w, t)->job != j) continue;
      enum hr__volcano_state s = w->state[t];
      bool counts = holds(s) || s == HR__VOLCANO_SUCCEEDED;
      have[T(w, t)->role] += counts || (s == HR__VOLCANO_PENDING && best_effort(w, t));
      left += counts || (s == HR__VOLCANO_PENDING && !failed[T(w, t)->role]);
    }
  if (job->min_available < job->role_min_total) return left >= job->min_available;
  for
    EACH(role, job->n_roles) if (failed[role] && have[role] < job->role_min[role]) return false;
  return true;
}
static bool allocate_job(world *w, uint32_t j, struct list *tasks) {
  world before = *w;
  while (tasks->n) {
    uint32_t t = pop(w, tasks);
    bool skip = false;
    for
      EACH(i, w->snapshot->n_tasks)
    skip |=
        w->failed[i] && T(w, i)->job == j && T(w, i)->role == T(w, t)->role && J(w, j)->role_has_name[T(w, t)->role];
    if (!allocatable(w, t) || skip) continue;
    uint32_t n = choose(w, t, false, true);
    bool later = n == NONE;
    if (later) n = choose(w, t, true, true);
    if (n == NONE) {
      w->failed[t] = before.failed[t] = true;
      if (go_on(w, j)) continue;
      break;
    }
    put(w, t, n, later ? HR__VOLCANO_PIPELINED : HR__VOLCANO_ALLOCATED);
    w->placed[t] = !later;
    if (ready(w, j)) break;
  }
  bool is_ready = ready(w, j);
  if (is_ready) {
    commit(w);
  } else if (pipelined(w, j)) {
    for
      EACH(t, w->snapshot->n_tasks) w->placed[t] = false;
  } else {
    restore(w, &before);
  }
  return is_ready;
}
static void allocate(world *w, bool enqueues) {
  struct list queues = {.order = queue_order}, jobs[NAIVE_QUEUES] = {0}, tasks[NAIVE_JOBS] = {0};
  for
    EACH(q, w->snapshot->n_queues) jobs[q].order = job_order;
  for
    EACH(j, w->snapshot->n_jobs) {
      tasks[j].order = task_order;
      if (w->phase[j] == HR__VOLCANO_PHASE_PENDING && enqueues) continue;
      if (w->phase[j] == HR__VOLCANO_PHASE_PENDING) w->phase[j] = HR__VOLCANO_PHASE_INQUEUE;
      if (!valid(w, j)) continue;
    for
      EACH(t, w->snapshot->n_tasks)
    if (T(w, t)->job == j && w->state[t] == HR__VOLCANO_PENDING && !best_effort(w, t)) push(w, &tasks[j], t);
    }
  for
    EACH(j, w->snapshot->n_jobs) {
      if (!tasks[j].n) continue;
      if (!jobs[J(w, j)->queue].n) push(w, &queues, J(w, j)->queue);
      push(w, &jobs[J(w, j)->queue], j);
    }
  while (queues.n) {
    uint32_t q = pop(w, &queues);
    bool over = on(w, HR__VOLCANO_PROPORTION, HR__VOLCANO_OVERUSED);
    for
      EACH(r, NAIVE_RESOURCES) over &= !more(w->deserved[q][r], has(w, q, r));
    if (over || !jobs[q].n) continue;
    uint32_t j = pop(w, &jobs[q]);
    if (allocate_job(w, j, &tasks[j]) && tasks[j].n) push(w, &jobs[q], j);
    push(w, &queues, q);
  }
}
static void backfill(world *w) {
  struct list queues = {.order = queue_order}, jobs[NAIVE_QUEUES] = {0};
  uint32_t order[NAIVE_TASKS], n_order = 0;
  for
    EACH(q, w->snapshot->n_queues) jobs[q].order = job_order;
  for
    EACH(j, w->snapshot->n_jobs) {
      bool any = false;
      if (w->phase[j] == HR__VOLCANO_PHASE_PENDING || !valid(w, j)) continue;
    for
      EACH(t, w->snapshot->n_tasks) {
        if (T(w, t)->job != j || !best_effort(w, t)) continue;
        if (w->state[t] == HR__VOLCANO_PIPELINED) w->state[t] = HR__VOLCANO_PENDING;
        if (w->state[t] == HR__VOLCANO_PENDING) w->node[t] = NONE;
        any |= w->state[t] == HR__VOLCANO_PENDING;
      }
    if (any && !jobs[J(w, j)->queue].n) push(w, &queues, J(w, j)->queue);
    if (any) push(w, &jobs[J(w, j)->queue], j);
    }
  while (queues.n) {
    uint32_t q = pop(w, &queues);
    while (jobs[q].n) {
      uint32_t j = pop(w, &jobs[q]);
      struct list tasks = {.order = task_order};
      for
        EACH(t, w->snapshot->n_tasks)
      if (T(w, t)->job == j && best_effort(w, t) && w->state[t] == HR__VOLCANO_PENDING) push(w, &tasks, t);
      while (tasks.n) order[n_order++] = pop(w, &tasks);
    }
  }
  for
    EACH(i, n_order) {
      uint32_t n = choose(w, order[i], false, false), j = T(w, order[i])->job;
      if (n == NONE) continue;
      put(w, order[i], n, HR__VOLCANO_ALLOCATED);
    for
      EACH(t, w->snapshot->n_tasks) {
        if (!ready(w, j) || T(w, t)->job != j || w->state[t] != HR__VOLCANO_ALLOCATED) continue;
        w->state[t] = HR__VOLCANO_BINDING;
        w->bound[t] = true;
      }
    }
}

/* ---- Victims ---- */

static void keep_gang(world *w, struct list *list) {
  uint32_t n = 0;
  for
    EACH(i, list->n) {
      uint32_t j = T(w, list->item[i])->job;
      int taken = 0;
    for
      EACH(k, n) taken += T(w, list->item[k])->job == j;
    if (count(w, j, 1, 0, 0) - taken > J(w, j)->min_available) list->item[n++] = list->item[i];
    }
  list->n = n;
}
static void keep_lower(world *w, struct list *list, uint32_t t) {
  uint32_t n = 0, own = T(w, t)->job;
  for
    EACH(i, list->n) {
      uint32_t v = list->item[i], j = T(w, v)->job;
      if (j == own ? T(w, v)->priority < T(w, t)->priority : J(w, j)->priority < J(w, own)->priority)
        list->item[n++] = v;
    }
  list->n = n;
}
static double rest_of(const world *w, uint32_t q, uint32_t r, const struct list *taken) {
  double left = has(w, q, r);
  for
    EACH(i, taken->n) if (below(w, queue_of(w, taken->item[i]), q)) left -= need(w, taken->item[i], r);
  return left;
}
static void keep_proportion(world *w, struct list *list) {
  struct list kept = {0};
  for
    EACH(i, list->n) {
      uint32_t q = queue_of(w, list->item[i]);
      bool over = false;
    for
      EACH(r, NAIVE_RESOURCES) over |= more(rest_of(w, q, r, &kept), w->deserved[q][r]);
    if (over) kept.item[kept.n++] = list->item[i];
    }
  *list = kept;
}
static bool common(const world *w, uint32_t t, const double *of) {
  for
    EACH(r, NAIVE_RESOURCES) if (need(w, t, r) >= 0.1 && of[r] >= 0.1) return true;
  return false;
}
static bool over_deserved(const world *w, uint32_t q, uint32_t v, const struct list *kept) {
  if (!common(w, v, w->deserved[q])) return true;
  for
    EACH(r, NAIVE_RESOURCES)
  if (asks(w, v, r) && w->deserved[q][r] >= 0.1 && rest_of(w, q, r, kept) > w->deserved[q][r]) return true;
  return false;
}
static bool take(world *w, uint32_t t, uint32_t v, const struct list *kept) {
  uint32_t own = queue_of(w, t), q = queue_of(w, v), x[NAIVE_QUEUES], y[NAIVE_QUEUES];
  int levels = is_tree(w) ? plugin(w, HR__VOLCANO_CAPACITY)->arguments.ancestor_reclaim_level : 0;
  bool meets = false;
  for
    EACH(r, NAIVE_RESOURCES) meets |= asks(w, v, r) && asks(w, t, r);
  if (!meets) return false;
  for
    EACH(r, NAIVE_RESOURCES)
  if (more(Q(w, q)->guarantee.amount[r], rest_of(w, q, r, kept) - need(w, v, r))) return false;
  if (!over_deserved(w, q, v, kept)) return false;
  int n = is_tree(w) ? (int)path(w, own, x) : 0, m = is_tree(w) ? (int)path(w, q, y) : 0;
  for (int i = 1; i <= levels && !common(w, v, w->deserved[q]) && !common(w, t, w->deserved[own]); i++)
    for (int k = 1; k <= levels; k++)
      if (i < n && k < m && x[n - i] == y[m - k]) return false;
  for (int i = 1; i <= levels; i++) {
    if (i >= m || (i < n && x[n - i] == y[m - i])) continue;
    if (!over_deserved(w, y[m - i], v, kept)) return false;
  }
  return true;
}
static void keep_capacity(world *w, struct list *list, uint32_t t) {
  struct list heap = {.order = victim_order}, kept = {0};
  for
    EACH(i, list->n) push(w, &heap, list->item[i]);
  while (heap.n && !w->is_broken) {
    uint32_t v = pop(w, &heap);
    if (take(w, t, v, &kept)) kept.item[kept.n++] = v;
  }
  *list = kept;
}

/* All plug-ins are in one tier. */
static struct list victims(world *w, uint32_t t, uint32_t n, int scope) {
  struct list all = {0}, result = {0};
  preemptor = t;
  for EACH (turn, w->n_arrivals) for EACH (v, w->snapshot->n_tasks) {
      if (w->node[v] != n || w->arrival[v] != turn || !T(w, v)->preemptable) continue;
      bool other = T(w, v)->job != T(w, t)->job, same_queue = queue_of(w, v) == queue_of(w, t);
      bool running = w->state[v] == HR__VOLCANO_RUNNING || (scope < 2 && w->state[v] == HR__VOLCANO_BOUND);
      bool in_scope = scope == 0   ? other && same_queue
                      : scope == 1 ? !other
                                   : !same_queue && Q(w, queue_of(w, v))->reclaimable;
      if (!running || !in_scope || (scope < 2 && best_effort(w, t) && !best_effort(w, v))) continue;
      all.item[all.n++] = v;
    }
  if (scope == 2 && !all.n) return (struct list){.n = NAIVE_TASKS + 1};
  for
    EACH(i, w->config->n_plugins) {
      const struct hr__volcano_plugin *p = &w->config->plugins[i];
      struct list own = all;
      if (!(p->enabled & (1u << (scope == 2 ? HR__VOLCANO_RECLAIMABLE : HR__VOLCANO_PREEMPTABLE)))) continue;
      if (p->id == HR__VOLCANO_GANG)
        keep_gang(w, &own);
      else if (p->id == HR__VOLCANO_PRIORITY && scope < 2)
        keep_lower(w, &own, t);
      else if (p->id == HR__VOLCANO_PROPORTION && scope == 2)
        keep_proportion(w, &own);
      else if (p->id == HR__VOLCANO_CAPACITY && scope == 2)
        keep_capacity(w, &own, t);
      else
        continue;
      if (!own.n) return own;
      if (!result.n) {
        result = own;
        continue;
      }
      uint32_t kept = 0;
    for EACH (k, result.n) for EACH (m, own.n) if (result.item[k] == own.item[m]) result.item[kept++] = own.item[m];
    result.n = kept;
    }
  return result;
}

/* ---- preempt, reclaim ---- */

static bool would_fit(const world *w, uint32_t t, uint32_t n, const struct list *list) {
  world after = *w;
  for
    EACH(i, list->n) after.state[list->item[i]] = HR__VOLCANO_RELEASING;
  return fits(&after, t, n, true);
}
static bool evict_on(world *w, uint32_t t, uint32_t n, int scope) {
  struct list list = victims(w, t, n, scope), heap = {.order = victim_order};
  if (list.n > NAIVE_TASKS || !would_fit(w, t, n, &list)) return false;
  world before = *w;
  for
    EACH(i, list.n) push(w, &heap, list.item[i]);
  bool done = false;
  for (bool first = true;; first = false) {
    done = scope == 2 ? fits(w, t, n, true) && (!first || !heap.n)
                      : allocatable(w, t) && fits(w, t, n, true) && !refused(w, t, n);
    if (done || !heap.n) break;
    w->state[pop(w, &heap)] = HR__VOLCANO_RELEASING;
  }
  if (done)
    put(w, t, n, HR__VOLCANO_PIPELINED);
  else
    restore(w, &before);
  return done;
}
static bool evict_for(world *w, uint32_t t, int scope) {
  uint32_t nodes[64], n_nodes = 0;
  if (T(w, t)->never_preempts || (scope == 2 && !preemptive(w, t))) return false;
  for
    EACH(n, w->snapshot->n_nodes) if (refused(w, t, n) < 2) nodes[n_nodes++] = n;
  for
    EACH(i, n_nodes) {
      uint32_t best = i; /* stable selection by score */
      for (uint32_t k = i + 1; k < n_nodes && scope < 2; k++)
        if (score(w, t, nodes[k]) > score(w, t, nodes[best])) best = k;
      uint32_t chosen = nodes[best];
      for (uint32_t k = best; k > i; k--) nodes[k] = nodes[k - 1];
      nodes[i] = chosen;
    }
  for
    EACH(i, n_nodes) if (evict_on(w, t, nodes[i], scope)) return true;
  return false;
}
static struct list pending_tasks(const world *w, uint32_t j) {
  struct list list = {.order = task_order};
  for
    EACH(t, w->snapshot->n_tasks) if (T(w, t)->job == j && w->state[t] == HR__VOLCANO_PENDING) push(w, &list, t);
  return list;
}
static void evict_for_job(world *w, uint32_t j, struct list *tasks, int scope) {
  world before = *w;
  while (starving(w, j) && tasks->n) evict_for(w, pop(w, tasks), scope);
  if (pipelined(w, j))
    commit(w);
  else
    restore(w, &before);
}
static void evict_all(world *w, int scope) {
  struct list queues = {.order = queue_order}, jobs[NAIVE_QUEUES] = {0}, tasks[NAIVE_JOBS];
  bool known[NAIVE_QUEUES] = {0};
  for
    EACH(q, w->snapshot->n_queues) jobs[q].order = job_order;
  for
    EACH(j, w->snapshot->n_jobs) {
      uint32_t q = J(w, j)->queue;
      if (w->phase[j] == HR__VOLCANO_PHASE_PENDING || !valid(w, j)) continue;
      if ((scope == 2 || starving(w, j)) && !known[q]) {
        push(w, &queues, q);
        known[q] = true;
      }
      if (starving(w, j)) push(w, &jobs[q], j);
      tasks[j] = pending_tasks(w, j);
    }
  while (queues.n) {
    uint32_t q = pop(w, &queues);
    bool over = scope == 2 && on(w, HR__VOLCANO_PROPORTION, HR__VOLCANO_OVERUSED);
    for
      EACH(r, NAIVE_RESOURCES) over &= !more(w->deserved[q][r], has(w, q, r));
    if (over) continue;
    struct list all = jobs[q];
    while (jobs[q].n) {
      uint32_t j = pop(w, &jobs[q]);
      evict_for_job(w, j, &tasks[j], scope);
    }
    for
      EACH(i, scope == 2 ? 0 : all.n) {
        struct list own = pending_tasks(w, all.item[i]);
        while (own.n && evict_for(w, pop(w, &own), 1)) commit(w);
      }
  }
}

void naive_volcano_run(struct naive_volcano *w, const struct hr__volcano_snapshot *snapshot,
                       const struct hr__volcano_config *config) {
  memset(w, 0, sizeof *w);
  w->snapshot = snapshot;
  w->config = config;
  bool enqueues = false;
  for
    EACH(t, snapshot->n_tasks) {
      w->state[t] = snapshot->tasks[t].state;
      w->node[t] = snapshot->tasks[t].node;
      w->arrival[t] = w->n_arrivals++;
    }
  for
    EACH(j, snapshot->n_jobs) w->phase[j] = snapshot->jobs[j].phase;
  for
    EACH(q, NAIVE_QUEUES) w->inner_share[q] = -1;
  queue_amounts(w);
  if (plugin(w, HR__VOLCANO_PROPORTION)) open_proportion(w);
  if (plugin(w, HR__VOLCANO_CAPACITY)) open_capacity(w);
  for
    EACH(i, config->n_actions) enqueues |= config->actions[i] == HR__VOLCANO_ENQUEUE;
  for
    EACH(i, config->n_actions) switch (config->actions[i]) {
    case HR__VOLCANO_ENQUEUE:
      enqueue(w);
      break;
    case HR__VOLCANO_ALLOCATE:
      allocate(w, enqueues);
      break;
    case HR__VOLCANO_BACKFILL:
      backfill(w);
      break;
    case HR__VOLCANO_PREEMPT:
      evict_all(w, 0);
      break;
    case HR__VOLCANO_RECLAIM:
      evict_all(w, 2);
      break;
    default:
      break;
    }
}
