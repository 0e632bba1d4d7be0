/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A clock runs for each job that waits, and for each that works without a checkpoint. All clocks of one rule and class
 * ring after the same time, so they ring in the order in which they were set, and stand in a queue: one that was
 * stopped, or set anew, is passed over when its time comes. An alert of a class lasts from the first ring to the moment
 * when no job whose clock rang is left.
 */

#include "report/alert_jobs.h"

#include "report/fifo.h"

#include <stdlib.h>

struct ring {
  int64_t set_us;
  hr_job job;
};

/* Of one class. */
struct clocks {
  int64_t after_us;
  struct hr__fifo rings;
  uint32_t n_late, most_late; /* jobs whose clock has rung, now and at most since the alert began */
  uint64_t rung;              /* clocks, since then */
  int64_t begin_us;
};

struct rule {
  enum hr_alert_rule rule;
  int64_t *set_us; /* by job; HR_NEVER_US: its clock stands. NULL: the rule is off */
  bool *is_late;   /* by job */
  struct clocks clocks[HR_N_CLASSES];
};

struct hr__alert_jobs {
  const struct hr_trace *trace;
  const struct hr_cluster_spec *cluster;
  const struct hr_class_spec *classes;
  struct hr__alert_log *log;
  struct rule waiting, unsaved;
};

static bool rule_init(struct rule *rule, enum hr_alert_rule name, const struct hr_alerts_config *config) {
  size_t n_jobs = (size_t)config->trace->n_jobs + 1;
  rule->rule = name;
  if (config->rules->is_off[name]) return true;
  rule->set_us = malloc(n_jobs * sizeof *rule->set_us);
  rule->is_late = calloc(n_jobs, sizeof *rule->is_late);
  for (size_t i = 0; rule->set_us && i < n_jobs; i++) rule->set_us[i] = HR_NEVER_US;
  return rule->set_us && rule->is_late;
}

static void rule_finish(struct rule *rule) {
  free(rule->set_us);
  free(rule->is_late);
  for (unsigned i = 0; i < HR_N_CLASSES; i++) hr__fifo_finish(&rule->clocks[i].rings);
}

struct hr__alert_jobs *hr__alert_jobs_create(const struct hr_alerts_config *config, struct hr__alert_log *log) {
  struct hr__alert_jobs *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  self->trace = config->trace;
  self->cluster = config->cluster;
  self->classes = config->classes;
  self->log = log;
  bool made = rule_init(&self->waiting, HR_ALERT_WAITING, config);
  made = rule_init(&self->unsaved, HR_ALERT_UNSAVED, config) && made;
  for (unsigned i = 0; i < HR_N_CLASSES; i++) {
    self->waiting.clocks[i].after_us = config->rules->waiting_us[i];
    self->unsaved.clocks[i].after_us = config->rules->unsaved_us;
  }
  if (made) return self;
  hr__alert_jobs_destroy(self);
  return NULL;
}

void hr__alert_jobs_destroy(struct hr__alert_jobs *jobs) {
  if (!jobs) return;
  rule_finish(&jobs->waiting);
  rule_finish(&jobs->unsaved);
  free(jobs);
}

/* ---- Clocks ----------------------------------------------------------------------------------------- */

static unsigned class_of(const struct hr__alert_jobs *self, hr_job job) {
  return self->trace->class_ ? self->trace->class_[job.id] : HR_CLASS_UNKNOWN;
}

/* Those that ring before now do. */
static void ring_until(struct rule *rule, struct clocks *clocks, int64_t now_us) {
  while (hr__fifo_count(&clocks->rings)) {
    struct ring ring = *(const struct ring *)hr__fifo_front(&clocks->rings, sizeof ring);
    if (ring.set_us >= now_us - clocks->after_us) return;
    hr__fifo_pop(&clocks->rings);
    if (rule->set_us[ring.job.id] != ring.set_us || rule->is_late[ring.job.id]) continue;
    rule->is_late[ring.job.id] = true;
    if (clocks->n_late++ == 0) {
      clocks->begin_us = ring.set_us + clocks->after_us;
      clocks->most_late = 0;
      clocks->rung = 0;
    }
    clocks->rung++;
    if (clocks->most_late < clocks->n_late) clocks->most_late = clocks->n_late;
  }
}

static void end_alert(struct hr__alert_jobs *self, const struct rule *rule, unsigned class_, int64_t now_us) {
  const struct clocks *clocks = &rule->clocks[class_];
  struct hr_alert alert = {.rule = rule->rule,
                           .where = hr_job_class_name((enum hr_job_class)class_),
                           .begin_us = clocks->begin_us,
                           .end_us = now_us,
                           .value = clocks->most_late,
                           .count = clocks->rung};
  hr__alert_log_add(self->log, alert);
}

static void set_clock(struct hr__alert_jobs *self, struct rule *rule, hr_job job, int64_t now_us) {
  if (!rule->set_us) return;
  struct clocks *clocks = &rule->clocks[class_of(self, job)];
  ring_until(rule, clocks, now_us);
  const struct ring ring = {now_us, job};
  if (hr__fifo_push(&clocks->rings, &ring, sizeof ring))
    rule->set_us[job.id] = now_us;
  else
    self->log->failed = true;
}

static void stop_clock(struct hr__alert_jobs *self, struct rule *rule, hr_job job, int64_t now_us) {
  if (!rule->set_us || rule->set_us[job.id] == HR_NEVER_US) return;
  unsigned class_ = class_of(self, job);
  struct clocks *clocks = &rule->clocks[class_];
  ring_until(rule, clocks, now_us);
  rule->set_us[job.id] = HR_NEVER_US;
  if (!rule->is_late[job.id]) return;
  rule->is_late[job.id] = false;
  if (--clocks->n_late == 0) end_alert(self, rule, class_, now_us);
}

/* ---- The fold --------------------------------------------------------------------------------------- */

/* Work is at stake only where nodes may be taken away, and only what is not kept at all times. */
static bool may_lose(const struct hr__alert_jobs *self, const struct hr_event *event) {
  if (self->cluster->pools[event->placement->pool.id].market.market != HR_MARKET_SPOT) return false;
  return !self->classes || self->classes[class_of(self, event->job)].checkpoint != HR_CHECKPOINT_CONTINUOUS;
}

void hr__alert_jobs_note(struct hr__alert_jobs *jobs, const struct hr_event *event) {
  struct rule *waiting = &jobs->waiting, *unsaved = &jobs->unsaved;
  switch (event->kind) {
  case HR_EVENT_SUBMIT:
    set_clock(jobs, waiting, event->job, event->at_us);
    break;
  case HR_EVENT_REJECT:
    stop_clock(jobs, waiting, event->job, event->at_us);
    break;
  case HR_EVENT_START:
    stop_clock(jobs, waiting, event->job, event->at_us);
    if (may_lose(jobs, event)) set_clock(jobs, unsaved, event->job, event->at_us);
    break;
  case HR_EVENT_SAVED:
    stop_clock(jobs, unsaved, event->job, event->at_us);
    if (may_lose(jobs, event)) set_clock(jobs, unsaved, event->job, event->at_us);
    break;
  case HR_EVENT_END:
    stop_clock(jobs, unsaved, event->job, event->at_us);
    break;
  case HR_EVENT_INTERRUPT:
  case HR_EVENT_PREEMPT:
    stop_clock(jobs, unsaved, event->job, event->at_us);
    set_clock(jobs, waiting, event->job, event->at_us);
    break;
  default:
    break;
  }
}

static void rule_close(struct hr__alert_jobs *self, struct rule *rule, int64_t end_us) {
  for (unsigned i = 0; rule->set_us && i < HR_N_CLASSES; i++) {
    ring_until(rule, &rule->clocks[i], end_us);
    if (rule->clocks[i].n_late) end_alert(self, rule, i, end_us);
  }
}

void hr__alert_jobs_close(struct hr__alert_jobs *jobs, int64_t end_us) {
  rule_close(jobs, &jobs->unsaved, end_us);
  rule_close(jobs, &jobs->waiting, end_us);
}
