/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_POLICIES_NAIVE_VOLCANO_RULES_H
#define HR_TESTS_POLICIES_NAIVE_VOLCANO_RULES_H

/* The rules of the naive Volcano, which its actions use. `r` is a resource, `t` a task, `j` a job, `q` a queue and `n`
   a node. */

#include "naive_volcano.h"

#define NONE HR__VOLCANO_NONE

typedef struct naive_volcano world;

static inline const struct hr__volcano_task *T(const world *w, uint32_t t) {
  return &w->snapshot->tasks[t];
}
static inline const struct hr__volcano_job *J(const world *w, uint32_t j) {
  return &w->snapshot->jobs[j];
}
static inline const struct hr__volcano_queue *Q(const world *w, uint32_t q) {
  return &w->snapshot->queues[q];
}
static inline double need(const world *w, uint32_t t, uint32_t r) {
  return T(w, t)->request->amount[r];
}
static inline uint32_t queue_of(const world *w, uint32_t t) {
  return J(w, T(w, t)->job)->queue;
}

static inline const struct hr__volcano_plugin *plugin(const world *w, enum hr__volcano_plugin_id id) {
  for (uint32_t i = 0; i < w->config->n_plugins; i++)
    if (w->config->plugins[i].id == id) return &w->config->plugins[i];
  return NULL;
}
static inline bool on(const world *w, enum hr__volcano_plugin_id id, enum hr__volcano_callback callback) {
  return plugin(w, id) && (plugin(w, id)->enabled & (1u << callback));
}
static inline bool is_tree(const world *w) {
  return on(w, HR__VOLCANO_CAPACITY, HR__VOLCANO_HIERARCHY);
}
static inline bool more(double a, double b) {
  return a - b >= 0.1;
}

static inline bool holds(enum hr__volcano_state s) {
  return s == HR__VOLCANO_RUNNING || s == HR__VOLCANO_BOUND || s == HR__VOLCANO_BINDING || s == HR__VOLCANO_ALLOCATED;
}

/* A heap that behaves as container/heap of Go. */
struct list {
  uint32_t item[NAIVE_TASKS], n;
  int (*order)(const world *, uint32_t, uint32_t);
};

bool naive_best_effort(const world *w, uint32_t t);
bool naive_fits(const world *w, uint32_t t, uint32_t n, bool later);
bool naive_below(const world *w, uint32_t q, uint32_t top);
double naive_has(const world *w, uint32_t q, uint32_t r);
int naive_count(const world *w, uint32_t j, bool ready, bool waiting, bool pending_best_effort);
int naive_job_order(const world *w, uint32_t a, uint32_t b);
int naive_task_order(const world *w, uint32_t a, uint32_t b);
uint32_t naive_path(const world *w, uint32_t q, uint32_t *list);
int naive_queue_order(const world *w, uint32_t a, uint32_t b);
int naive_victim_order(const world *w, uint32_t a, uint32_t b);
void naive_push(const world *w, struct list *list, uint32_t item);
uint32_t naive_pop(const world *w, struct list *list);
void naive_queue_amounts(world *w);
void naive_open_capacity(world *w);
void naive_open_proportion(world *w);
bool naive_asks(const world *w, uint32_t t, uint32_t r);
bool naive_allocatable(world *w, uint32_t t);
bool naive_preemptive(world *w, uint32_t t);
bool naive_valid(const world *w, uint32_t j);
bool naive_ready(const world *w, uint32_t j);
bool naive_pipelined(const world *w, uint32_t j);
bool naive_starving(const world *w, uint32_t j);
int naive_refused(const world *w, uint32_t t, uint32_t n);
double naive_score(const world *w, uint32_t t, uint32_t n);
void naive_put(world *w, uint32_t t, uint32_t n, enum hr__volcano_state s);
void naive_restore(world *w, const world *before);
void naive_commit(world *w);

#endif
