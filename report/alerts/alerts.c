/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Alerts: conditions of a run that last longer than a limit. Groups of rules append to one list of alerts. The list is
 * sorted at the end of the run.
 *
 * Job rules. Each rule is evaluated separately for each class of jobs. Rule `queue-time`: a job waits too long. Rule
 * `no-checkpoint`: a job runs too long on spot capacity without a checkpoint. Each job to which a rule applies has a
 * timer. All timers of one rule and class have the same duration, so they expire in the order in which they were set. A
 * FIFO queue is therefore sufficient. If a timer is stopped or set again, its old entry remains in the queue and is
 * skipped when it reaches the front. An alert of a class begins when the first timer expires, and ends when no job of
 * the class has an expired timer.
 *
 * Pool rules. Rule `gpus-underused`: the utilization of a pool is too low. Rule `gpus-saturated`: the utilization is
 * too high. Rule `spot-reclaims`: too many spot nodes of the pool are reclaimed. The state of a pool is constant
 * between two passes, so the rules are evaluated only after passes in which the pool changed. Utilization is evaluated
 * only until the last submit: after it, no jobs arrive and the cluster empties. The reclaim rule counts reclaimed nodes
 * in a sliding window. For this purpose, a queue contains an entry for each spot node that left the pool within the
 * window, whether it was reclaimed or released. Entries older than the window are removed at the next evaluation of the
 * pool. For each removed entry, the rule is evaluated for the time at which the entry became too old, so alerts end at
 * exact times.
 *
 * The rules of budgets, of temperatures and of inference services are in alert_rules.c.
 */

#include "base/containers.h"
#include "base/text.h"
#include "headroom/report.h"
#include "report/metrics/metrics.h"

#include <stdlib.h>
#include <string.h>

struct timer_entry {
  int64_t set_us;
  hr_job job;
};

/* The timers of one class. */
struct timers {
  int64_t after_us;
  struct hr__fifo queue;
  uint32_t n_late, max_late; /* n_late: jobs with expired timers; max_late: its maximum in this alert */
  uint64_t n_expired;        /* number of timers that expired since the alert began */
  int64_t begin_us;
};

struct rule {
  enum hr_alert_rule rule;
  int64_t *set_us; /* [n_jobs]: when the timer was set; HR_NEVER_US: no timer. NULL: the rule is disabled */
  bool *is_late;   /* [n_jobs]: the timer has expired */
  struct timers timers[HR_N_CLASSES];
};

struct alert_jobs {
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_class_spec *classes;
  struct hr__alert_log *log;
  struct rule waiting, unsaved;
};

static bool has_spot_pool(const struct hr_cluster_spec *cluster) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->pools[i].market.market == HR_MARKET_SPOT) return true;
  return false;
}

/* `never`: the cluster cannot break the rule, so the rule is off. */
static bool rule_init(struct rule *rule, enum hr_alert_rule name, const struct hr_alerts_config *config, bool never) {
  size_t n_jobs = (size_t)config->trace->n_jobs + 1;
  rule->rule = name;
  if (config->rules->is_off[name] || never) return true;
  rule->set_us = malloc(n_jobs * sizeof *rule->set_us);
  rule->is_late = calloc(n_jobs, sizeof *rule->is_late);
  for (size_t i = 0; rule->set_us && i < n_jobs; i++) rule->set_us[i] = HR_NEVER_US;
  return rule->set_us && rule->is_late;
}

static void rule_finish(struct rule *rule) {
  free(rule->set_us);
  free(rule->is_late);
  for (unsigned i = 0; i < HR_N_CLASSES; i++) hr__fifo_finish(&rule->timers[i].queue);
}

static void alert_jobs_destroy(void *self) {
  struct alert_jobs *jobs = self;
  if (!jobs) return;
  rule_finish(&jobs->waiting);
  rule_finish(&jobs->unsaved);
  free(jobs);
}

static void *alert_jobs_create(const struct hr_alerts_config *config, struct hr__alert_log *log) {
  struct alert_jobs *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  self->trace = config->trace;
  self->cluster = config->cluster;
  self->classes = config->classes;
  self->log = log;
  bool made = rule_init(&self->waiting, HR_ALERT_WAITING, config, false);
  made = rule_init(&self->unsaved, HR_ALERT_UNSAVED, config, !has_spot_pool(config->cluster)) && made;
  for (unsigned i = 0; i < HR_N_CLASSES; i++) {
    self->waiting.timers[i].after_us = config->rules->waiting_us[i];
    self->unsaved.timers[i].after_us = config->rules->unsaved_us;
  }
  if (made) return self;
  alert_jobs_destroy(self);
  return NULL;
}

/* ---- Timers of jobs -------------------------------------------------------------------------------- */

static unsigned class_of(const struct alert_jobs *self, hr_job job) {
  return self->trace->class_ ? self->trace->class_[job.id] : HR_CLASS_UNKNOWN;
}

/* Marks each job whose timer expired before `now_us` as late. Begins an alert if no job of the class was late
   before. */
static void expire_until(struct rule *rule, struct timers *timers, int64_t now_us) {
  while (hr__fifo_count(&timers->queue)) {
    struct timer_entry timer_entry = *(const struct timer_entry *)hr__fifo_front(&timers->queue, sizeof timer_entry);
    if (timer_entry.set_us >= now_us - timers->after_us) return;
    hr__fifo_pop(&timers->queue);
    if (rule->set_us[timer_entry.job.id] != timer_entry.set_us || rule->is_late[timer_entry.job.id]) continue;
    rule->is_late[timer_entry.job.id] = true;
    if (timers->n_late++ == 0) {
      timers->begin_us = timer_entry.set_us + timers->after_us;
      timers->max_late = 0;
      timers->n_expired = 0;
    }
    timers->n_expired++;
    if (timers->max_late < timers->n_late) timers->max_late = timers->n_late;
  }
}

static void end_alert(struct alert_jobs *self, const struct rule *rule, unsigned class_, int64_t now_us) {
  const struct timers *timers = &rule->timers[class_];
  struct hr_alert alert = {.rule = rule->rule,
                           .where = hr_job_class_name((enum hr_job_class)class_),
                           .begin_us = timers->begin_us,
                           .end_us = now_us,
                           .value = timers->max_late,
                           .count = timers->n_expired};
  hr__alert_log_add(self->log, alert);
}

static void set_timer(struct alert_jobs *self, struct rule *rule, hr_job job, int64_t now_us) {
  if (!rule->set_us) return;
  struct timers *timers = &rule->timers[class_of(self, job)];
  expire_until(rule, timers, now_us);
  const struct timer_entry timer_entry = {now_us, job};
  if (hr__fifo_push(&timers->queue, &timer_entry, sizeof timer_entry))
    rule->set_us[job.id] = now_us;
  else
    self->log->failed = true;
}

static void stop_timer(struct alert_jobs *self, struct rule *rule, hr_job job, int64_t now_us) {
  if (!rule->set_us || rule->set_us[job.id] == HR_NEVER_US) return;
  unsigned class_ = class_of(self, job);
  struct timers *timers = &rule->timers[class_];
  expire_until(rule, timers, now_us);
  rule->set_us[job.id] = HR_NEVER_US;
  if (!rule->is_late[job.id]) return;
  rule->is_late[job.id] = false;
  if (--timers->n_late == 0) end_alert(self, rule, class_, now_us);
}

/* ---- Events of jobs -------------------------------------------------------------------------------- */

/* Returns whether the job of the event can lose work: it runs on spot nodes and does not checkpoint continuously. */
static bool may_lose(const struct alert_jobs *self, const struct hr_event *event) {
  if (self->cluster->pools[event->placement->pool.id].market.market != HR_MARKET_SPOT) return false;
  return !self->classes || self->classes[class_of(self, event->job)].checkpoint != HR_CHECKPOINT_CONTINUOUS;
}

static void alert_jobs_note(void *self, const struct hr_event *event) {
  struct alert_jobs *jobs = self;
  struct rule *waiting = &jobs->waiting, *unsaved = &jobs->unsaved;
  switch (event->kind) {
  case HR_EVENT_SUBMIT:
    set_timer(jobs, waiting, event->job, event->at_us);
    break;
  case HR_EVENT_REJECT:
  case HR_EVENT_WITHDRAW:
    stop_timer(jobs, waiting, event->job, event->at_us);
    break;
  case HR_EVENT_START:
    stop_timer(jobs, waiting, event->job, event->at_us);
    if (may_lose(jobs, event)) set_timer(jobs, unsaved, event->job, event->at_us);
    break;
  case HR_EVENT_SAVED:
    stop_timer(jobs, unsaved, event->job, event->at_us);
    if (may_lose(jobs, event)) set_timer(jobs, unsaved, event->job, event->at_us);
    break;
  case HR_EVENT_END:
    stop_timer(jobs, unsaved, event->job, event->at_us);
    break;
  case HR_EVENT_INTERRUPT:
  case HR_EVENT_PREEMPT:
    stop_timer(jobs, unsaved, event->job, event->at_us);
    set_timer(jobs, waiting, event->job, event->at_us);
    break;
  default:
    break;
  }
}

static void rule_close(struct alert_jobs *self, struct rule *rule, int64_t end_us) {
  for (unsigned i = 0; rule->set_us && i < HR_N_CLASSES; i++) {
    expire_until(rule, &rule->timers[i], end_us);
    if (rule->timers[i].n_late) end_alert(self, rule, i, end_us);
  }
}

static void alert_jobs_close(void *self, const struct hr_cost_summary *costs, int64_t end_us) {
  struct alert_jobs *jobs = self;
  (void)costs;
  rule_close(jobs, &jobs->unsaved, end_us);
  rule_close(jobs, &jobs->waiting, end_us);
}

static const struct hr__alert_watcher alert_jobs_watcher = {
    .create = alert_jobs_create, .destroy = alert_jobs_destroy, .note = alert_jobs_note, .close = alert_jobs_close};

/* ---- Pools ----------------------------------------------------------------------------------------- */

/* A condition on the utilization of a pool. `holds` is true while the condition is true; it has been true since
   `begin_us`. */
struct watch {
  bool holds;
  int64_t begin_us;
  hr__wide allocated, total; /* milli-GPUs x microseconds since `begin_us` */
};

struct departure {
  int64_t at_us;
  bool reclaimed;
};

struct alerts_pool {
  const struct hr_pool_spec *spec;
  bool is_dirty;
  int64_t until_us;                                 /* the next three members are constant since this time */
  uint64_t allocated_milli, total_milli, max_milli; /* max_milli: total plus GPUs of nodes that could be acquired */
  struct watch underused, saturated;
  /* Spot pools only. */
  struct hr__fifo departures; /* nodes that left the pool within the window, in time order */
  uint32_t n_up, n_reclaimed; /* n_up: nodes acquired at present; n_reclaimed: nodes reclaimed within the window */
  bool losing;                /* an alert is active: the share of reclaimed nodes exceeds the limit */
  int64_t losing_since_us;
  double worst;
  uint64_t worst_reclaimed;
};

struct alert_pools {
  const struct hr_alert_rules *rules;
  const struct hr_trace *trace;
  struct hr__alert_log *log;
  struct alerts_pool *pools;
  uint32_t *dirty; /* pools to evaluate at the end of the instant */
  uint32_t n_pools, n_dirty;
  int64_t last_submit_us;
  bool begun, submits_over;
};

static void alert_pools_destroy(void *self) {
  struct alert_pools *pools = self;
  if (!pools) return;
  for (uint32_t i = 0; pools->pools && i < pools->n_pools; i++) hr__fifo_finish(&pools->pools[i].departures);
  free(pools->pools);
  free(pools->dirty);
  free(pools);
}

static void *alert_pools_create(const struct hr_alerts_config *config, struct hr__alert_log *log) {
  struct alert_pools *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  uint32_t n_pools = config->cluster->n_pools;
  self->rules = config->rules;
  self->trace = config->trace;
  self->log = log;
  self->n_pools = n_pools;
  self->last_submit_us = hr_trace_last_submit_us(config->trace);
  self->pools = calloc((size_t)n_pools + 1, sizeof *self->pools);
  self->dirty = calloc((size_t)n_pools + 1, sizeof *self->dirty);
  if (!self->pools || !self->dirty) {
    alert_pools_destroy(self);
    return NULL;
  }
  for (uint32_t i = 0; i < n_pools; i++) self->pools[i].spec = &config->cluster->pools[i];
  return self;
}

/* ---- Utilization ----------------------------------------------------------------------------------- */

/* Updates a condition: `holds` is whether it is true from `now_us` on. Adds an alert if it was true for long enough. */
static void watch_set(struct alert_pools *self, struct alerts_pool *pool, enum hr_alert_rule rule, bool holds,
                      int64_t now_us) {
  const bool is_underused = rule == HR_ALERT_UNDERUSED;
  struct watch *watch = is_underused ? &pool->underused : &pool->saturated;
  const struct watch before = *watch;
  if (holds == before.holds) return;
  *watch = (struct watch){.holds = holds, .begin_us = now_us};
  if (holds ||
      now_us - before.begin_us < (is_underused ? self->rules->underused_for_us : self->rules->saturated_for_us))
    return;
  double mean = before.total ? (double)before.allocated / (double)before.total : 0;
  hr__alert_log_add(self->log, (struct hr_alert){rule, pool->spec->name, before.begin_us, now_us, mean, 0});
}

static void watch_advance(struct watch *watch, const struct alerts_pool *pool, int64_t now_us) {
  if (!watch->holds) return;
  uint64_t passed_us = (uint64_t)(now_us - pool->until_us);
  watch->allocated += (hr__wide)pool->allocated_milli * passed_us;
  watch->total += (hr__wide)pool->total_milli * passed_us;
}

static void advance(struct alerts_pool *pool, int64_t now_us) {
  watch_advance(&pool->underused, pool, now_us);
  watch_advance(&pool->saturated, pool, now_us);
  pool->until_us = now_us;
}

/* Evaluates both conditions on the utilization of a pool. A pool without nodes has no utilization, so both are false.
   The saturation of an elastic pool is computed with `max_milli`: if all present nodes of a pool are full, but the pool
   can still acquire nodes, it is not saturated. */
static void evaluate_utilization(struct alert_pools *self, struct alerts_pool *pool) {
  const struct hr_alert_rules *rules = self->rules;
  double share = pool->total_milli ? (double)pool->allocated_milli / (double)pool->total_milli : -1;
  bool low = share >= 0 && share < rules->underused_below && !rules->is_off[HR_ALERT_UNDERUSED];
  double full = pool->max_milli == pool->total_milli ? share
                : pool->max_milli                    ? (double)pool->allocated_milli / (double)pool->max_milli
                                                     : -1;
  bool high = full > rules->saturated_above && !rules->is_off[HR_ALERT_SATURATED];
  watch_set(self, pool, HR_ALERT_UNDERUSED, low, pool->until_us);
  watch_set(self, pool, HR_ALERT_SATURATED, high, pool->until_us);
}

static void end_submits(struct alert_pools *self) {
  self->submits_over = true;
  for (uint32_t i = 0; i < self->n_pools; i++) {
    struct alerts_pool *pool = &self->pools[i];
    advance(pool, self->last_submit_us);
    watch_set(self, pool, HR_ALERT_UNDERUSED, false, self->last_submit_us);
    watch_set(self, pool, HR_ALERT_SATURATED, false, self->last_submit_us);
  }
}

/* ---- Reclaims -------------------------------------------------------------------------------------- */

static void end_reclaim_alert(struct alert_pools *self, struct alerts_pool *pool, int64_t now_us) {
  struct hr_alert alert = {HR_ALERT_RECLAIMS, pool->spec->name,     pool->losing_since_us, now_us,
                           pool->worst,       pool->worst_reclaimed};
  pool->losing = false;
  hr__alert_log_add(self->log, alert);
}

static void evaluate_reclaims(struct alert_pools *self, struct alerts_pool *pool, int64_t now_us) {
  uint32_t n_nodes = pool->n_up + hr__fifo_count(&pool->departures);
  double share = n_nodes ? (double)pool->n_reclaimed / n_nodes : 0;
  bool losing = share > self->rules->reclaims_above;
  if (losing && !pool->losing) {
    pool->losing = true;
    pool->losing_since_us = now_us;
    pool->worst = 0;
  }
  if (losing && share > pool->worst) {
    pool->worst = share;
    pool->worst_reclaimed = pool->n_reclaimed;
  }
  if (!losing && pool->losing) end_reclaim_alert(self, pool, now_us);
}

/* Removes the entries of `departures` that are older than the window at `now_us`. For each of them, evaluates the rule
   for the time at which it became too old. */
static void drop_departures(struct alert_pools *self, struct alerts_pool *pool, int64_t now_us) {
  int64_t within_us = self->rules->reclaims_within_us;
  while (hr__fifo_count(&pool->departures)) {
    const struct departure *departure = hr__fifo_front(&pool->departures, sizeof *departure);
    int64_t out_us = departure->at_us + within_us;
    if (out_us > now_us) return;
    pool->n_reclaimed -= departure->reclaimed;
    hr__fifo_pop(&pool->departures);
    evaluate_reclaims(self, pool, out_us);
  }
}

static void add_departure(struct alert_pools *self, struct alerts_pool *pool, const struct hr_event *event) {
  drop_departures(self, pool, event->at_us);
  bool reclaimed = event->kind == HR_EVENT_NODE_DOWN && event->reason == HR_REASON_RECLAIMED;
  const struct departure departure = {event->at_us, reclaimed};
  if (hr__fifo_push(&pool->departures, &departure, sizeof departure))
    pool->n_reclaimed += reclaimed;
  else
    self->log->failed = true;
}

static bool watches_reclaims(const struct alert_pools *self, const struct alerts_pool *pool) {
  return pool->spec->market.market == HR_MARKET_SPOT && !self->rules->is_off[HR_ALERT_RECLAIMS];
}

/* ---- Events of pools ------------------------------------------------------------------------------- */

static void mark_dirty(struct alert_pools *self, hr_pool pool) {
  if (self->pools[pool.id].is_dirty) return;
  self->pools[pool.id].is_dirty = true;
  self->dirty[self->n_dirty++] = pool.id;
}

static void alert_pools_note(void *self, const struct hr_event *event) {
  struct alert_pools *pools = self;
  if (event->placement) mark_dirty(pools, event->placement->pool);
  if (event->pool.id == HR_NONE) return;
  mark_dirty(pools, event->pool);
  struct alerts_pool *pool = &pools->pools[event->pool.id];
  if ((event->kind == HR_EVENT_NODE_DOWN || event->kind == HR_EVENT_RELEASE) && watches_reclaims(pools, pool))
    add_departure(pools, pool, event);
}

static void evaluate_pool(struct alert_pools *self, const struct hr_view *view, hr_pool id) {
  struct alerts_pool *pool = &self->pools[id.id];
  const struct hr_cluster *cluster = view->cluster;
  if (watches_reclaims(self, pool)) {
    drop_departures(self, pool, view->now_us);
    pool->n_up = hr__acquired_nodes(cluster, id);
    evaluate_reclaims(self, pool, view->now_us);
  }
  if (self->submits_over) return;
  advance(pool, view->now_us);
  pool->total_milli = hr_cluster_total_milli(cluster, id);
  pool->max_milli = pool->total_milli + 1000 * (uint64_t)hr_cluster_offer(cluster, id) * pool->spec->gpus_per_node;
  pool->allocated_milli = pool->total_milli - hr_cluster_free_milli(cluster, id);
  evaluate_utilization(self, pool);
}

static void alert_pools_instant(void *self, const struct hr_view *view) {
  struct alert_pools *pools = self;
  if (!view->cluster) return;
  if (!pools->begun)
    for (uint32_t i = 0; i < pools->n_pools; i++) mark_dirty(pools, (hr_pool){i});
  pools->begun = true;
  if (!pools->submits_over && view->now_us > pools->last_submit_us) end_submits(pools);
  for (uint32_t i = 0; i < pools->n_dirty; i++) {
    pools->pools[pools->dirty[i]].is_dirty = false;
    evaluate_pool(pools, view, (hr_pool){pools->dirty[i]});
  }
  pools->n_dirty = 0;
}

static void alert_pools_close(void *self, const struct hr_cost_summary *costs, int64_t end_us) {
  struct alert_pools *pools = self;
  (void)costs;
  if (end_us < pools->last_submit_us) pools->last_submit_us = end_us;
  if (!pools->submits_over) end_submits(pools);
  for (uint32_t i = 0; i < pools->n_pools; i++) {
    struct alerts_pool *pool = &pools->pools[i];
    if (!watches_reclaims(pools, pool)) continue;
    drop_departures(pools, pool, end_us);
    if (pool->losing) end_reclaim_alert(pools, pool, end_us);
  }
}

static const struct hr__alert_watcher alert_pools_watcher = {.create = alert_pools_create,
                                                             .destroy = alert_pools_destroy,
                                                             .note = alert_pools_note,
                                                             .instant = alert_pools_instant,
                                                             .close = alert_pools_close};

/* ---- All rules ------------------------------------------------------------------------------------- */

static const struct hr__alert_watcher *const watchers[] = {&alert_pools_watcher, &alert_jobs_watcher,
                                                           &hr__alert_budgets, &hr__alert_heat};
enum { N_WATCHERS = sizeof watchers / sizeof *watchers };

struct hr_alerts {
  const struct hr_alert_rules *rules;
  struct hr__alert_log log;
  void *selves[N_WATCHERS]; /* by watcher; NULL if the alerts were read from a parcel */
  char **places; /* [log.count] owned texts of `where`, if the alerts were read from a parcel; NULL: borrowed */
};

HR__NAME_FUNCTION(hr_alert_name, enum hr_alert_rule, HR_ALERT_TABLE)

void hr_alert_rules_init(struct hr_alert_rules *rules) {
  const int64_t minute_us = 60 * HR_SECOND_US, hour_us = 60 * minute_us;
  *rules = (struct hr_alert_rules){.underused_below = 0.2,
                                   .saturated_above = 0.95,
                                   .underused_for_us = hour_us,
                                   .saturated_for_us = 30 * minute_us,
                                   .reclaims_above = 0.2,
                                   .reclaims_within_us = 24 * hour_us,
                                   .unsaved_us = 2 * hour_us,
                                   .budget_above = 1,
                                   .latency_above = 5,
                                   .latency_within_us = 5 * minute_us,
                                   .idle_for_us = 30 * minute_us,
                                   .memory_within_us = 5 * minute_us,
                                   .hot_above_c = 90};
  for (unsigned i = 0; i < HR_N_CLASSES; i++) rules->waiting_us[i] = 24 * hour_us;
  rules->waiting_us[HR_CLASS_INFERENCE] = 5 * minute_us;
  rules->waiting_us[HR_CLASS_INTERACTIVE] = 15 * minute_us;
}

struct hr_alerts *hr_alerts_create(const struct hr_alerts_config *config) {
  struct hr_alerts *alerts = calloc(1, sizeof *alerts);
  bool made = alerts != NULL;
  if (made) alerts->rules = config->rules;
  for (size_t i = 0; made && i < N_WATCHERS; i++) {
    alerts->selves[i] = watchers[i]->create(config, &alerts->log);
    made = alerts->selves[i] != NULL;
  }
  if (made) return alerts;
  hr_alerts_destroy(alerts);
  return NULL;
}

void hr_alerts_destroy(struct hr_alerts *alerts) {
  if (!alerts) return;
  for (size_t i = 0; i < N_WATCHERS; i++) watchers[i]->destroy(alerts->selves[i]);
  for (uint32_t i = 0; alerts->places && i < alerts->log.count; i++) free(alerts->places[i]);
  free(alerts->places);
  free(alerts->log.list);
  free(alerts);
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr_alerts *alerts = self;
  (void)view;
  for (size_t i = 0; i < N_WATCHERS; i++) watchers[i]->note(alerts->selves[i], event);
}

static void on_instant(void *self, const struct hr_view *view) {
  struct hr_alerts *alerts = self;
  for (size_t i = 0; i < N_WATCHERS; i++)
    if (watchers[i]->instant) watchers[i]->instant(alerts->selves[i], view);
}

struct hr_observer hr_alerts_observer(struct hr_alerts *alerts) {
  return (struct hr_observer){.self = alerts, .on_event = on_event, .on_instant = on_instant};
}

static int in_order(const void *a, const void *b) {
  const struct hr_alert *left = a, *right = b;
  if (left->rule != right->rule) return left->rule < right->rule ? -1 : 1;
  int names = strcmp(left->where, right->where);
  if (names) return names;
  if (left->begin_us != right->begin_us) return left->begin_us < right->begin_us ? -1 : 1;
  return (left->end_us > right->end_us) - (left->end_us < right->end_us);
}

void hr_alerts_add_services(struct hr_alerts *alerts, const struct hr_served *served, uint32_t count,
                            int64_t origin_us) {
  hr__alert_services(alerts->rules, served, count, origin_us, &alerts->log);
}

enum hr_status hr_alerts_close(struct hr_alerts *alerts, const struct hr_result *result,
                               const struct hr_cost_summary *costs) {
  for (size_t i = 0; i < N_WATCHERS; i++) watchers[i]->close(alerts->selves[i], costs, result->end_us);
  if (alerts->log.count > 1) qsort(alerts->log.list, alerts->log.count, sizeof *alerts->log.list, in_order);
  return alerts->log.failed ? HR_NO_MEMORY : HR_OK;
}

size_t hr_alerts_list(const struct hr_alerts *alerts, const struct hr_alert **list) {
  *list = alerts->log.list;
  return alerts->log.count;
}

/* ---- Alerts as bytes ------------------------------------------------------------------------------- */

/* Reads the texts of `where` into `places`. */
static void read_places(struct hr__parcel *parcel, struct hr_alerts *alerts) {
  alerts->places = calloc((size_t)alerts->log.count + 1, sizeof *alerts->places);
  parcel->failed = parcel->failed || !alerts->places;
  for (uint32_t i = 0; i < alerts->log.count; i++) {
    if (alerts->places) hr__parcel_text(parcel, &alerts->places[i]);
    alerts->log.list[i].where = alerts->places && alerts->places[i] ? alerts->places[i] : "";
  }
}

static void write_places(struct hr__parcel *parcel, const struct hr_alerts *alerts) {
  for (uint32_t i = 0; i < alerts->log.count; i++) {
    char *place = (char *)(uintptr_t)alerts->log.list[i].where; /* is not changed */
    hr__parcel_text(parcel, &place);
  }
}

void hr__parcel_alerts(struct hr__parcel *parcel, struct hr_alerts **alerts) {
  if (parcel->reading) *alerts = calloc(1, sizeof **alerts);
  struct hr_alerts *self = *alerts;
  if (!self) {
    parcel->failed = true;
    return;
  }
  size_t count = self->log.count;
  hr__parcel_bytes(parcel, &count, sizeof count);
  void *list = hr__parcel_array(parcel, self->log.list, &count, sizeof *self->log.list);
  if (!parcel->reading) {
    write_places(parcel, self);
    return;
  }
  self->log.list = list;
  self->log.count = (uint32_t)count;
  read_places(parcel, self);
}
