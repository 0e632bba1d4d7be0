/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Notifies observers of the events of a run with given starts. */

#include "replayed.h"

#include "headroom/policies.h"

#include <math.h>
#include <string.h>

static int64_t us_of(double seconds) {
  return llround(seconds * 1e6);
}

static int64_t end_of(const struct replayed *run, uint32_t job) {
  return run->start_us[job] == HR_NEVER_US ? HR_NEVER_US : run->start_us[job] + run->work_us[job];
}

static void fill_job(struct replayed *run, uint32_t i, const struct replayed_job *job, int64_t horizon_us) {
  run->submit_us[i] = us_of(job->submit_s);
  run->work_us[i] = us_of(job->work_s);
  run->gpus[i] = job->gpus;
  bool starts = job->start_s >= 0 && us_of(job->start_s) <= horizon_us;
  run->start_us[i] = starts ? us_of(job->start_s) : HR_NEVER_US;
  enum hr_job_state state = starts ? HR_JOB_RUNNING : job->rejected ? HR_JOB_REJECTED : HR_JOB_WAITING;
  if (starts && end_of(run, i) <= horizon_us) state = HR_JOB_COMPLETED;
  if (run->submit_us[i] > horizon_us) state = HR_JOB_FUTURE;
  run->state[i] = (uint8_t)state;
  enum hr_reason reason = starts ? HR_REASON_IN_ORDER : HR_REASON_NONE;
  run->reason[i] = (uint8_t)(state == HR_JOB_REJECTED ? HR_REASON_TOO_LARGE : reason);
  run->result.n_submitted += state != HR_JOB_FUTURE;
  run->result.n_completed += state == HR_JOB_COMPLETED;
  run->result.n_rejected += state == HR_JOB_REJECTED;
  run->result.n_waiting += state == HR_JOB_WAITING;
  run->result.n_running += state == HR_JOB_RUNNING;
}

static int64_t next_instant(const struct replayed *run, int64_t after_us) {
  int64_t next_us = HR_NEVER_US;
  for (uint32_t i = 0; i < run->trace.n_jobs; i++) {
    const int64_t moments[] = {run->submit_us[i], run->start_us[i], end_of(run, i)};
    for (size_t k = 0; k < 3; k++)
      if (moments[k] > after_us && moments[k] < next_us) next_us = moments[k];
  }
  return next_us;
}

void replayed_make(struct replayed *run, const struct replayed_job *jobs, uint32_t n_jobs, double horizon_s) {
  int64_t horizon_us = horizon_s < 0 ? HR_NEVER_US - 1 : us_of(horizon_s);
  *run = (struct replayed){.result = {.n_jobs = n_jobs,
                                      .state = run->state,
                                      .start_us = run->start_us,
                                      .reason = run->reason,
                                      .digest = 0x0123456789abcdef,
                                      .n_events = 42,
                                      .n_passes = 17,
                                      .n_backfilled = 1}};
  run->trace = (struct hr_trace){.source = "made.csv",
                                 .format = "memory",
                                 .n_jobs = n_jobs,
                                 .submit_us = run->submit_us,
                                 .work_us = run->work_us,
                                 .gpus = run->gpus};
  run->result.trace = &run->trace;
  run->pool[0] =
      (struct hr_pool_spec){.name = (char *)"main", .gpu = (char *)"A100-80", .nodes = 2, .gpus_per_node = 4};
  run->pool[1] = (struct hr_pool_spec){.name = (char *)"spare", .gpu = (char *)"T4", .nodes = 1, .gpus_per_node = 2};
  run->cluster = (struct hr_cluster_spec){run->pool, 1};
  for (uint32_t i = 0; i < n_jobs; i++) fill_job(run, i, &jobs[i], horizon_us);
  for (int64_t at_us = next_instant(run, -1); at_us <= horizon_us; at_us = next_instant(run, at_us))
    run->result.end_us = at_us;
}

/* ---- Events ----------------------------------------------------------------------------------------- */

struct notifier {
  struct replayed *run;
  const struct hr_observer *observers;
  uint32_t n_observers;
  const struct hr_placement *placements;
  struct hr_view view;
};

static void notify(struct notifier *notifier, enum hr_event_kind kind, uint32_t job) {
  static const struct hr_placement by_count = {.n_slices = 0};
  bool placed = kind == HR_EVENT_START || kind == HR_EVENT_END;
  const struct hr_placement *placement = notifier->placements ? &notifier->placements[job] : &by_count;
  struct hr_event event = {notifier->view.now_us,     kind,      HR_REASON_NONE, {job},
                           placed ? placement : NULL, {HR_NONE}, {HR_NONE}};
  for (uint32_t i = 0; i < notifier->n_observers; i++)
    if (notifier->observers[i].on_event)
      notifier->observers[i].on_event(notifier->observers[i].self, &notifier->view, &event);
}

static void end_jobs(struct notifier *notifier) {
  for (uint32_t i = 0; i < notifier->run->trace.n_jobs; i++) {
    if (end_of(notifier->run, i) != notifier->view.now_us || notifier->run->work_us[i] == 0) continue;
    notifier->view.n_running--;
    notifier->view.allocated_milli -= (uint64_t)notifier->run->gpus[i] * 1000;
    notify(notifier, HR_EVENT_END, i);
  }
}

static void submit_jobs(struct notifier *notifier) {
  for (uint32_t i = 0; i < notifier->run->trace.n_jobs; i++) {
    if (notifier->run->submit_us[i] != notifier->view.now_us) continue;
    notify(notifier, HR_EVENT_SUBMIT, i);
    if (notifier->run->state[i] == HR_JOB_REJECTED)
      notify(notifier, HR_EVENT_REJECT, i);
    else
      notifier->view.n_waiting++;
  }
}

static void start_jobs(struct notifier *notifier) {
  for (uint32_t i = 0; i < notifier->run->trace.n_jobs; i++) {
    if (notifier->run->start_us[i] != notifier->view.now_us) continue;
    notifier->view.n_waiting--;
    notifier->view.n_running++;
    notifier->view.allocated_milli += (uint64_t)notifier->run->gpus[i] * 1000;
    notify(notifier, HR_EVENT_START, i);
  }
}

static void notify_pass(struct notifier *notifier) {
  for (uint32_t i = 0; i < notifier->n_observers; i++)
    if (notifier->observers[i].on_instant)
      notifier->observers[i].on_instant(notifier->observers[i].self, &notifier->view);
}

/* Jobs with a run time of 0 end at the instant at which they start, after the first pass of this instant. Their ends
   cause a second pass. */
static void end_jobs_of_duration_zero(struct notifier *notifier) {
  bool any = false;
  for (uint32_t i = 0; i < notifier->run->trace.n_jobs; i++) {
    if (notifier->run->start_us[i] != notifier->view.now_us || notifier->run->work_us[i] > 0) continue;
    notifier->view.n_running--;
    notifier->view.allocated_milli -= (uint64_t)notifier->run->gpus[i] * 1000;
    notify(notifier, HR_EVENT_END, i);
    any = true;
  }
  if (any) notify_pass(notifier);
}

void replayed_notify(struct replayed *run, const struct hr_observer *observers, uint32_t n_observers,
                     const struct hr_placement *placements) {
  uint64_t total_milli = hr_cluster_spec_gpus(&run->cluster) * 1000;
  struct notifier notifier = {
      run, observers, n_observers, placements, {.size = sizeof notifier.view, .total_milli = total_milli}};
  for (int64_t at_us = next_instant(run, -1); at_us <= run->result.end_us; at_us = next_instant(run, at_us)) {
    notifier.view.now_us = at_us;
    end_jobs(&notifier);
    submit_jobs(&notifier);
    start_jobs(&notifier);
    notify_pass(&notifier);
    end_jobs_of_duration_zero(&notifier);
  }
}

struct hr_summary *replayed_summary(struct replayed *run) {
  struct hr_usage *usage = hr_usage_create(&run->trace);
  if (!usage) return NULL;
  struct hr_observer observer = hr_usage_observer(usage);
  struct hr_summary *summary = NULL;
  replayed_notify(run, &observer, 1, NULL);
  if (hr_summarize(&run->trace, &run->cluster, &run->result, usage, NULL, &summary, NULL) != HR_OK) summary = NULL;
  hr_usage_destroy(usage);
  return summary;
}

void replayed_policy_init(struct replayed_policy *policy) {
  static const char *const orders[] = {"fifo", "sjf", NULL};
  *policy = (struct replayed_policy){
      .ops = {.abi = HR_POLICY_ABI, .size = sizeof policy->ops, .name = "made", .params = policy->params},
      .params = {{.key = "order", .type = HR_PARAM_CHOICE, .choices = orders},
                 {.key = "depth", .type = HR_PARAM_INTEGER},
                 {.key = "share", .type = HR_PARAM_REAL},
                 {.key = "eager", .type = HR_PARAM_BOOLEAN}},
      .values = {{.integer = 1}, {.integer = -3}, {.real = 0.5}, {.integer = 1}}};
  policy->choice = (struct hr_policy_choice){.ops = &policy->ops, .params = policy->values, .n_params = 4};
}
