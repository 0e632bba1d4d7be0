/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The actions of the naive Volcano, which naive_volcano.h describes. They are written from the rules, without
   optimization. */

#include "naive_volcano_rules.h"

#include <string.h>

/* ---- enqueue, allocate, backfill ---- */

static void enqueue(world *w) {
  struct list queues = {.order = naive_queue_order}, jobs[NAIVE_QUEUES] = {0};
  for (uint32_t q = 0; q < w->snapshot->n_queues; q++) {
    bool any = false;
    jobs[q].order = naive_job_order;
    for (uint32_t j = 0; j < w->snapshot->n_jobs; j++) any |= J(w, j)->queue == q;
    if (any) naive_push(w, &queues, q);
  }
  for (uint32_t j = 0; j < w->snapshot->n_jobs; j++)
    if (w->phase[j] == HR__VOLCANO_PHASE_PENDING) naive_push(w, &jobs[J(w, j)->queue], j);
  while (queues.n) {
    uint32_t q = naive_pop(w, &queues);
    if (!jobs[q].n) continue;
    uint32_t j = naive_pop(w, &jobs[q]);
    bool votes = on(w, HR__VOLCANO_PROPORTION, HR__VOLCANO_JOB_ENQUEUED) ||
                 on(w, HR__VOLCANO_CAPACITY, HR__VOLCANO_JOB_ENQUEUED);
    bool fine = !J(w, j)->has_min_resources || !votes || (Q(w, q)->is_open && !w->is_broken);
    for (uint32_t top = 0; top < w->snapshot->n_queues; top++)
      for (uint32_t r = 0; r < NAIVE_RESOURCES; r++) {
        double least = J(w, j)->min_resources.amount[r];
        if (votes && J(w, j)->has_min_resources && !w->is_broken && naive_below(w, q, top) && r != 2 && least > 0 &&
            least + naive_has(w, top, r) + w->inqueue[top][r] - w->elastic[top][r] > w->limit[top][r])
          fine = false;
      }
    if (fine) {
      w->phase[j] = HR__VOLCANO_PHASE_INQUEUE;
      for (uint32_t top = 0; top < w->snapshot->n_queues; top++)
        for (uint32_t r = 0; r < NAIVE_RESOURCES; r++)
          if (votes && naive_below(w, q, top)) w->inqueue[top][r] += J(w, j)->min_resources.amount[r];
    }
    naive_push(w, &queues, q);
  }
}

static uint32_t choose(const world *w, uint32_t t, bool later, bool check_resources) {
  uint32_t best = NONE;
  for (uint32_t n = 0; n < w->snapshot->n_nodes; n++) {
    if (naive_refused(w, t, n) ||
        (check_resources && (!naive_fits(w, t, n, true) || naive_fits(w, t, n, false) == later)))
      continue;
    if (best == NONE || naive_score(w, t, n) > naive_score(w, t, best)) best = n;
  }
  return best;
}
static bool go_on(const world *w, uint32_t j) {
  const struct hr__volcano_job *job = J(w, j);
  if (job->min_available >= (int)job->n_tasks) return false;
  bool failed[NAIVE_TASKS] = {0};
  int have[NAIVE_TASKS] = {0}, left = 0;
  for (uint32_t t = 0; t < w->snapshot->n_tasks; t++)
    if (T(w, t)->job == j && w->failed[t]) failed[T(w, t)->role] = true;
  for (uint32_t t = 0; t < w->snapshot->n_tasks; t++) {
    if (T(w, t)->job != j) continue;
    enum hr__volcano_state s = w->state[t];
    bool counts = holds(s) || s == HR__VOLCANO_SUCCEEDED;
    have[T(w, t)->role] += counts || (s == HR__VOLCANO_PENDING && naive_best_effort(w, t));
    left += counts || (s == HR__VOLCANO_PENDING && !failed[T(w, t)->role]);
  }
  if (job->min_available < job->role_min_total) return left >= job->min_available;
  for (uint32_t role = 0; role < job->n_roles; role++)
    if (failed[role] && have[role] < job->role_min[role]) return false;
  return true;
}
static bool allocate_job(world *w, uint32_t j, struct list *tasks) {
  world before = *w;
  while (tasks->n) {
    uint32_t t = naive_pop(w, tasks);
    bool skip = false;
    for (uint32_t i = 0; i < w->snapshot->n_tasks; i++)
      skip |=
          w->failed[i] && T(w, i)->job == j && T(w, i)->role == T(w, t)->role && J(w, j)->role_has_name[T(w, t)->role];
    if (!naive_allocatable(w, t) || skip) continue;
    uint32_t n = choose(w, t, false, true);
    bool later = n == NONE;
    if (later) n = choose(w, t, true, true);
    if (n == NONE) {
      w->failed[t] = before.failed[t] = true;
      if (go_on(w, j)) continue;
      break;
    }
    naive_put(w, t, n, later ? HR__VOLCANO_PIPELINED : HR__VOLCANO_ALLOCATED);
    w->placed[t] = !later;
    if (naive_ready(w, j)) break;
  }
  bool is_ready = naive_ready(w, j);
  if (is_ready) {
    naive_commit(w);
  } else if (naive_pipelined(w, j)) {
    for (uint32_t t = 0; t < w->snapshot->n_tasks; t++) w->placed[t] = false;
  } else {
    naive_restore(w, &before);
  }
  return is_ready;
}
static void allocate(world *w, bool enqueues) {
  struct list queues = {.order = naive_queue_order}, jobs[NAIVE_QUEUES] = {0}, tasks[NAIVE_JOBS] = {0};
  for (uint32_t q = 0; q < w->snapshot->n_queues; q++) jobs[q].order = naive_job_order;
  for (uint32_t j = 0; j < w->snapshot->n_jobs; j++) {
    tasks[j].order = naive_task_order;
    if (w->phase[j] == HR__VOLCANO_PHASE_PENDING && enqueues) continue;
    if (w->phase[j] == HR__VOLCANO_PHASE_PENDING) w->phase[j] = HR__VOLCANO_PHASE_INQUEUE;
    if (!naive_valid(w, j)) continue;
    for (uint32_t t = 0; t < w->snapshot->n_tasks; t++)
      if (T(w, t)->job == j && w->state[t] == HR__VOLCANO_PENDING && !naive_best_effort(w, t))
        naive_push(w, &tasks[j], t);
  }
  for (uint32_t j = 0; j < w->snapshot->n_jobs; j++) {
    if (!tasks[j].n) continue;
    if (!jobs[J(w, j)->queue].n) naive_push(w, &queues, J(w, j)->queue);
    naive_push(w, &jobs[J(w, j)->queue], j);
  }
  while (queues.n) {
    uint32_t q = naive_pop(w, &queues);
    bool over = on(w, HR__VOLCANO_PROPORTION, HR__VOLCANO_OVERUSED);
    for (uint32_t r = 0; r < NAIVE_RESOURCES; r++) over &= !more(w->deserved[q][r], naive_has(w, q, r));
    if (over || !jobs[q].n) continue;
    uint32_t j = naive_pop(w, &jobs[q]);
    if (allocate_job(w, j, &tasks[j]) && tasks[j].n) naive_push(w, &jobs[q], j);
    naive_push(w, &queues, q);
  }
}
static void backfill(world *w) {
  struct list queues = {.order = naive_queue_order}, jobs[NAIVE_QUEUES] = {0};
  uint32_t order[NAIVE_TASKS], n_order = 0;
  for (uint32_t q = 0; q < w->snapshot->n_queues; q++) jobs[q].order = naive_job_order;
  for (uint32_t j = 0; j < w->snapshot->n_jobs; j++) {
    bool any = false;
    if (w->phase[j] == HR__VOLCANO_PHASE_PENDING || !naive_valid(w, j)) continue;
    for (uint32_t t = 0; t < w->snapshot->n_tasks; t++) {
      if (T(w, t)->job != j || !naive_best_effort(w, t)) continue;
      if (w->state[t] == HR__VOLCANO_PIPELINED) w->state[t] = HR__VOLCANO_PENDING;
      if (w->state[t] == HR__VOLCANO_PENDING) w->node[t] = NONE;
      any |= w->state[t] == HR__VOLCANO_PENDING;
    }
    if (any && !jobs[J(w, j)->queue].n) naive_push(w, &queues, J(w, j)->queue);
    if (any) naive_push(w, &jobs[J(w, j)->queue], j);
  }
  while (queues.n) {
    uint32_t q = naive_pop(w, &queues);
    while (jobs[q].n) {
      uint32_t j = naive_pop(w, &jobs[q]);
      struct list tasks = {.order = naive_task_order};
      for (uint32_t t = 0; t < w->snapshot->n_tasks; t++)
        if (T(w, t)->job == j && naive_best_effort(w, t) && w->state[t] == HR__VOLCANO_PENDING)
          naive_push(w, &tasks, t);
      while (tasks.n) order[n_order++] = naive_pop(w, &tasks);
    }
  }
  for (uint32_t i = 0; i < n_order; i++) {
    uint32_t n = choose(w, order[i], false, false), j = T(w, order[i])->job;
    if (n == NONE) continue;
    naive_put(w, order[i], n, HR__VOLCANO_ALLOCATED);
    for (uint32_t t = 0; t < w->snapshot->n_tasks; t++) {
      if (!naive_ready(w, j) || T(w, t)->job != j || w->state[t] != HR__VOLCANO_ALLOCATED) continue;
      w->state[t] = HR__VOLCANO_BINDING;
      w->bound[t] = true;
    }
  }
}

/* ---- Victims ---- */

static void keep_gang(world *w, struct list *list) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < list->n; i++) {
    uint32_t j = T(w, list->item[i])->job;
    int taken = 0;
    for (uint32_t k = 0; k < n; k++) taken += T(w, list->item[k])->job == j;
    if (naive_count(w, j, 1, 0, 0) - taken > J(w, j)->min_available) list->item[n++] = list->item[i];
  }
  list->n = n;
}
static void keep_lower(world *w, struct list *list, uint32_t t) {
  uint32_t n = 0, own = T(w, t)->job;
  for (uint32_t i = 0; i < list->n; i++) {
    uint32_t v = list->item[i], j = T(w, v)->job;
    if (j == own ? T(w, v)->priority < T(w, t)->priority : J(w, j)->priority < J(w, own)->priority) list->item[n++] = v;
  }
  list->n = n;
}
static double rest_of(const world *w, uint32_t q, uint32_t r, const struct list *taken) {
  double left = naive_has(w, q, r);
  for (uint32_t i = 0; i < taken->n; i++)
    if (naive_below(w, queue_of(w, taken->item[i]), q)) left -= need(w, taken->item[i], r);
  return left;
}
static void keep_proportion(world *w, struct list *list) {
  struct list kept = {0};
  for (uint32_t i = 0; i < list->n; i++) {
    uint32_t q = queue_of(w, list->item[i]);
    bool over = false;
    for (uint32_t r = 0; r < NAIVE_RESOURCES; r++) over |= more(rest_of(w, q, r, &kept), w->deserved[q][r]);
    if (over) kept.item[kept.n++] = list->item[i];
  }
  *list = kept;
}
static bool common(const world *w, uint32_t t, const double *of) {
  for (uint32_t r = 0; r < NAIVE_RESOURCES; r++)
    if (need(w, t, r) >= 0.1 && of[r] >= 0.1) return true;
  return false;
}
static bool over_deserved(const world *w, uint32_t q, uint32_t v, const struct list *kept) {
  if (!common(w, v, w->deserved[q])) return true;
  for (uint32_t r = 0; r < NAIVE_RESOURCES; r++)
    if (naive_asks(w, v, r) && w->deserved[q][r] >= 0.1 && rest_of(w, q, r, kept) > w->deserved[q][r]) return true;
  return false;
}
static bool take(world *w, uint32_t t, uint32_t v, const struct list *kept) {
  uint32_t own = queue_of(w, t), q = queue_of(w, v), x[NAIVE_QUEUES], y[NAIVE_QUEUES];
  int levels = is_tree(w) ? plugin(w, HR__VOLCANO_CAPACITY)->arguments.ancestor_reclaim_level : 0;
  bool meets = false;
  for (uint32_t r = 0; r < NAIVE_RESOURCES; r++) meets |= naive_asks(w, v, r) && naive_asks(w, t, r);
  if (!meets) return false;
  for (uint32_t r = 0; r < NAIVE_RESOURCES; r++)
    if (more(Q(w, q)->guarantee.amount[r], rest_of(w, q, r, kept) - need(w, v, r))) return false;
  if (!over_deserved(w, q, v, kept)) return false;
  int n = is_tree(w) ? (int)naive_path(w, own, x) : 0, m = is_tree(w) ? (int)naive_path(w, q, y) : 0;
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
  struct list heap = {.order = naive_victim_order}, kept = {0};
  for (uint32_t i = 0; i < list->n; i++) naive_push(w, &heap, list->item[i]);
  while (heap.n && !w->is_broken) {
    uint32_t v = naive_pop(w, &heap);
    if (take(w, t, v, &kept)) kept.item[kept.n++] = v;
  }
  *list = kept;
}

/* All plug-ins are in one tier. */
static struct list victims(world *w, uint32_t t, uint32_t n, int scope) {
  struct list all = {0}, result = {0};
  w->preemptor = t;
  for (uint32_t turn = 0; turn < w->n_arrivals; turn++)
    for (uint32_t v = 0; v < w->snapshot->n_tasks; v++) {
      if (w->node[v] != n || w->arrival[v] != turn || !T(w, v)->preemptable) continue;
      bool other = T(w, v)->job != T(w, t)->job, same_queue = queue_of(w, v) == queue_of(w, t);
      bool running = w->state[v] == HR__VOLCANO_RUNNING || (scope < 2 && w->state[v] == HR__VOLCANO_BOUND);
      bool in_scope = scope == 0   ? other && same_queue
                      : scope == 1 ? !other
                                   : !same_queue && Q(w, queue_of(w, v))->reclaimable;
      if (!running || !in_scope || (scope < 2 && naive_best_effort(w, t) && !naive_best_effort(w, v))) continue;
      all.item[all.n++] = v;
    }
  if (scope == 2 && !all.n) return (struct list){.n = NAIVE_TASKS + 1};
  for (uint32_t i = 0; i < w->config->n_plugins; i++) {
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
    for (uint32_t k = 0; k < result.n; k++)
      for (uint32_t m = 0; m < own.n; m++)
        if (result.item[k] == own.item[m]) result.item[kept++] = own.item[m];
    result.n = kept;
  }
  return result;
}

/* ---- preempt, reclaim ---- */

static bool would_fit(const world *w, uint32_t t, uint32_t n, const struct list *list) {
  world after = *w;
  for (uint32_t i = 0; i < list->n; i++) after.state[list->item[i]] = HR__VOLCANO_RELEASING;
  return naive_fits(&after, t, n, true);
}
static bool evict_on(world *w, uint32_t t, uint32_t n, int scope) {
  struct list list = victims(w, t, n, scope), heap = {.order = naive_victim_order};
  if (list.n > NAIVE_TASKS || !would_fit(w, t, n, &list)) return false;
  world before = *w;
  for (uint32_t i = 0; i < list.n; i++) naive_push(w, &heap, list.item[i]);
  bool done = false;
  for (bool first = true;; first = false) {
    done = scope == 2 ? naive_fits(w, t, n, true) && (!first || !heap.n)
                      : naive_allocatable(w, t) && naive_fits(w, t, n, true) && !naive_refused(w, t, n);
    if (done || !heap.n) break;
    w->state[naive_pop(w, &heap)] = HR__VOLCANO_RELEASING;
  }
  if (done)
    naive_put(w, t, n, HR__VOLCANO_PIPELINED);
  else
    naive_restore(w, &before);
  return done;
}
static bool evict_for(world *w, uint32_t t, int scope) {
  uint32_t nodes[64], n_nodes = 0;
  if (T(w, t)->never_preempts || (scope == 2 && !naive_preemptive(w, t))) return false;
  for (uint32_t n = 0; n < w->snapshot->n_nodes; n++)
    if (naive_refused(w, t, n) < 2) nodes[n_nodes++] = n;
  for (uint32_t i = 0; i < n_nodes; i++) {
    uint32_t best = i; /* stable selection by score */
    for (uint32_t k = i + 1; k < n_nodes && scope < 2; k++)
      if (naive_score(w, t, nodes[k]) > naive_score(w, t, nodes[best])) best = k;
    uint32_t chosen = nodes[best];
    for (uint32_t k = best; k > i; k--) nodes[k] = nodes[k - 1];
    nodes[i] = chosen;
  }
  for (uint32_t i = 0; i < n_nodes; i++)
    if (evict_on(w, t, nodes[i], scope)) return true;
  return false;
}
static struct list pending_tasks(const world *w, uint32_t j) {
  struct list list = {.order = naive_task_order};
  for (uint32_t t = 0; t < w->snapshot->n_tasks; t++)
    if (T(w, t)->job == j && w->state[t] == HR__VOLCANO_PENDING) naive_push(w, &list, t);
  return list;
}
static void evict_for_job(world *w, uint32_t j, struct list *tasks, int scope) {
  world before = *w;
  while (naive_starving(w, j) && tasks->n) evict_for(w, naive_pop(w, tasks), scope);
  if (naive_pipelined(w, j))
    naive_commit(w);
  else
    naive_restore(w, &before);
}
static void evict_all(world *w, int scope) {
  struct list queues = {.order = naive_queue_order}, jobs[NAIVE_QUEUES] = {0}, tasks[NAIVE_JOBS];
  bool known[NAIVE_QUEUES] = {0};
  for (uint32_t q = 0; q < w->snapshot->n_queues; q++) jobs[q].order = naive_job_order;
  for (uint32_t j = 0; j < w->snapshot->n_jobs; j++) {
    uint32_t q = J(w, j)->queue;
    if (w->phase[j] == HR__VOLCANO_PHASE_PENDING || !naive_valid(w, j)) continue;
    if ((scope == 2 || naive_starving(w, j)) && !known[q]) {
      naive_push(w, &queues, q);
      known[q] = true;
    }
    if (naive_starving(w, j)) naive_push(w, &jobs[q], j);
    tasks[j] = pending_tasks(w, j);
  }
  while (queues.n) {
    uint32_t q = naive_pop(w, &queues);
    bool over = scope == 2 && on(w, HR__VOLCANO_PROPORTION, HR__VOLCANO_OVERUSED);
    for (uint32_t r = 0; r < NAIVE_RESOURCES; r++) over &= !more(w->deserved[q][r], naive_has(w, q, r));
    if (over) continue;
    struct list all = jobs[q];
    while (jobs[q].n) {
      uint32_t j = naive_pop(w, &jobs[q]);
      evict_for_job(w, j, &tasks[j], scope);
    }
    for (uint32_t i = 0; i < (scope == 2 ? 0 : all.n); i++) {
      struct list own = pending_tasks(w, all.item[i]);
      while (own.n && evict_for(w, naive_pop(w, &own), 1)) naive_commit(w);
    }
  }
}

void naive_volcano_run(struct naive_volcano *w, const struct hr__volcano_snapshot *snapshot,
                       const struct hr__volcano_config *config) {
  memset(w, 0, sizeof *w);
  w->snapshot = snapshot;
  w->config = config;
  bool enqueues = false;
  for (uint32_t t = 0; t < snapshot->n_tasks; t++) {
    w->state[t] = snapshot->tasks[t].state;
    w->node[t] = snapshot->tasks[t].node;
    w->arrival[t] = w->n_arrivals++;
  }
  for (uint32_t j = 0; j < snapshot->n_jobs; j++) w->phase[j] = snapshot->jobs[j].phase;
  for (uint32_t q = 0; q < NAIVE_QUEUES; q++) w->inner_share[q] = -1;
  naive_queue_amounts(w);
  if (plugin(w, HR__VOLCANO_PROPORTION)) naive_open_proportion(w);
  if (plugin(w, HR__VOLCANO_CAPACITY)) naive_open_capacity(w);
  for (uint32_t i = 0; i < config->n_actions; i++) enqueues |= config->actions[i] == HR__VOLCANO_ENQUEUE;
  for (uint32_t i = 0; i < config->n_actions; i++) switch (config->actions[i]) {
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
