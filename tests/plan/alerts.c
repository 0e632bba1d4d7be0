/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Alerts of whole runs, compared with a naive implementation and with results computed by hand. The naive
   implementation records all events and searches them for each rule; it is not optimized for run time and memory. */

#include "harness.h"
#include "headroom/unstable/replay.h"

#include "headroom/headroom.h"
#include "output_files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_POOLS = 8, HOUR_S = 3600 };

/* ---- Recorded events ------------------------------------------------------------------------------- */

/* The state of the pools after one pass of the policy. */
struct snapshot {
  int64_t at_us;
  uint64_t allocated_milli[MAX_POOLS], total_milli[MAX_POOLS], max_milli[MAX_POOLS];
  uint32_t nodes[MAX_POOLS];
};

struct note {
  int64_t at_us;
  enum hr_event_kind kind;
  enum hr_reason reason;
  uint32_t job, pool;
};

struct record {
  struct snapshot *snapshots;
  struct note *notes;
  size_t n_snapshots, n_notes, snapshots_capacity, notes_capacity;
};

static void *room(void *items, size_t count, size_t *capacity, size_t bytes) {
  if (count < *capacity) return items;
  *capacity = *capacity ? 2 * *capacity : 256;
  void *grown = realloc(items, *capacity * bytes);
  if (!grown) abort();
  return grown;
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct record *record = self;
  (void)view;
  record->notes = room(record->notes, record->n_notes, &record->notes_capacity, sizeof *record->notes);
  uint32_t pool = event->placement ? event->placement->pool.id : event->pool.id;
  record->notes[record->n_notes++] = (struct note){event->at_us, event->kind, event->reason, event->job.id, pool};
}

static void on_instant(void *self, const struct hr_view *view) {
  struct record *record = self;
  record->snapshots =
      room(record->snapshots, record->n_snapshots, &record->snapshots_capacity, sizeof *record->snapshots);
  struct snapshot *snapshot = &record->snapshots[record->n_snapshots++];
  *snapshot = (struct snapshot){.at_us = view->now_us};
  for (uint32_t i = 0; i < hr_cluster_pools(view->cluster); i++) {
    hr_pool pool = {i};
    uint32_t offer = hr_cluster_offer(view->cluster, pool);
    snapshot->total_milli[i] = hr_cluster_total_milli(view->cluster, pool);
    snapshot->allocated_milli[i] = snapshot->total_milli[i] - hr_cluster_free_milli(view->cluster, pool);
    snapshot->max_milli[i] =
        snapshot->total_milli[i] + (uint64_t)offer * 1000 * hr_cluster_pool_spec(view->cluster, pool)->gpus_per_node;
    snapshot->nodes[i] = hr_cluster_nodes_in(view->cluster, pool, HR_NODE_UP) +
                         hr_cluster_nodes_in(view->cluster, pool, HR_NODE_BOOTING) +
                         hr_cluster_nodes_in(view->cluster, pool, HR_NODE_CLOSING);
  }
}

struct alert_run {
  struct hr_scenario *scenario;
  struct hr_trace *trace;
  struct hr_replay replay;
  struct record record;
  const struct hr_alert *list;
  size_t count;
};

static void alert_run_make(struct alert_run *alert_run, const char *path, const char *const *overrides,
                           size_t n_overrides) {
  struct hr_error error = {0};
  *alert_run = (struct alert_run){0};
  CU_ASSERT_EQUAL_FATAL(hr_scenario_load(path, overrides, n_overrides, &alert_run->scenario, &error), HR_OK);
  const struct hr_trace_options options = {.format = alert_run->scenario->trace_format,
                                           .map = &alert_run->scenario->columns};
  CU_ASSERT_EQUAL_FATAL(hr_trace_read(alert_run->scenario->trace_file, &options, &alert_run->trace, &error), HR_OK);
  CU_ASSERT_FATAL(alert_run->scenario->cluster.n_pools <= MAX_POOLS);
  const struct hr_replay_config config = {
      .scenario = alert_run->scenario, .trace = alert_run->trace, .seed = alert_run->scenario->seed, .alerts = true};
  const struct hr_observer observer = {&alert_run->record, on_event, on_instant};
  CU_ASSERT_EQUAL_FATAL(hr_replay_init(&alert_run->replay, &config, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_replay_add(&alert_run->replay, observer, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_replay_run(&alert_run->replay, &error), HR_OK);
  alert_run->count = hr_alerts_list(alert_run->replay.alerts, &alert_run->list);
}

static void alert_run_finish(struct alert_run *alert_run) {
  free(alert_run->record.snapshots);
  free(alert_run->record.notes);
  hr_replay_finish(&alert_run->replay);
  hr_trace_destroy(alert_run->trace);
  hr_scenario_destroy(alert_run->scenario);
}

/* ---- The naive implementation ---------------------------------------------------------------------- */

/* Returns the next alert of a rule and subject in the list, from index *at on; NULL: none. Sets *at to the index after
   this alert. */
static const struct hr_alert *next_alert(const struct alert_run *alert_run, enum hr_alert_rule rule, const char *where,
                                         size_t *at) {
  for (; *at < alert_run->count; (*at)++)
    if (alert_run->list[*at].rule == rule && strcmp(alert_run->list[*at].where, where) == 0)
      return &alert_run->list[(*at)++];
  return NULL;
}

static void expect(const struct alert_run *alert_run, enum hr_alert_rule rule, const char *where, size_t *at,
                   int64_t begin_us, int64_t end_us, double value) {
  const struct hr_alert *alert = next_alert(alert_run, rule, where, at);
  CU_ASSERT_PTR_NOT_NULL(alert);
  if (!alert) return;
  CU_ASSERT_EQUAL(alert->begin_us, begin_us);
  CU_ASSERT_EQUAL(alert->end_us, end_us);
  CU_ASSERT_DOUBLE_EQUAL(alert->value, value, 1e-9);
}

static int64_t last_submit_us(const struct alert_run *alert_run) {
  return alert_run->trace->submit_us[alert_run->trace->n_jobs - 1];
}

static bool is_violated(const struct snapshot *snapshot, uint32_t pool, enum hr_alert_rule rule,
                        const struct hr_alert_rules *rules) {
  double used = (double)snapshot->allocated_milli[pool];
  if (rule == HR_ALERT_UNDERUSED)
    return snapshot->total_milli[pool] && used / (double)snapshot->total_milli[pool] < rules->underused_below;
  return snapshot->max_milli[pool] && used / (double)snapshot->max_milli[pool] > rules->saturated_above;
}

/* Compares the alerts on the use of a pool. Of several snapshots at one instant only the last one counts. Returns the
   number of alerts. */
static size_t check_use_alerts(const struct alert_run *alert_run, uint32_t pool, enum hr_alert_rule rule,
                               int64_t for_us) {
  const struct record *record = &alert_run->record;
  const struct hr_alert_rules *rules = &alert_run->scenario->alerts;
  int64_t stop_us = last_submit_us(alert_run), begin_us = -1, end_us = alert_run->replay.result->end_us;
  double used = 0, total = 0;
  size_t at = 0, found = 0;
  if (end_us < stop_us) stop_us = end_us;
  for (size_t i = 0; i < record->n_snapshots && record->snapshots[i].at_us <= stop_us; i++) {
    const struct snapshot *snapshot = &record->snapshots[i];
    int64_t until_us = i + 1 < record->n_snapshots ? record->snapshots[i + 1].at_us : end_us;
    if (until_us > stop_us) until_us = stop_us;
    if (begin_us >= 0 && !is_violated(snapshot, pool, rule, rules)) {
      if (snapshot->at_us - begin_us >= for_us)
        found++, expect(alert_run, rule, alert_run->scenario->cluster.pools[pool].name, &at, begin_us, snapshot->at_us,
                        total > 0 ? used / total : 0);
      begin_us = -1;
    }
    if (begin_us < 0 && is_violated(snapshot, pool, rule, rules)) begin_us = snapshot->at_us, used = total = 0;
    if (begin_us < 0) continue;
    used += (double)snapshot->allocated_milli[pool] * (double)(until_us - snapshot->at_us);
    total += (double)snapshot->total_milli[pool] * (double)(until_us - snapshot->at_us);
  }
  if (begin_us >= 0 && stop_us - begin_us >= for_us)
    found++, expect(alert_run, rule, alert_run->scenario->cluster.pools[pool].name, &at, begin_us, stop_us,
                    total > 0 ? used / total : 0);
  CU_ASSERT_PTR_NULL(next_alert(alert_run, rule, alert_run->scenario->cluster.pools[pool].name, &at));
  return found;
}

/* An interval in which the limit of a rule was exceeded for a job. */
struct late_interval {
  int64_t begin_us, end_us;
  unsigned class_;
};

static int by_begin(const void *a, const void *b) {
  const struct late_interval *x = a, *y = b;
  return (x->begin_us > y->begin_us) - (x->begin_us < y->begin_us);
}

static bool may_lose_work(const struct alert_run *alert_run, const struct note *note, unsigned class_) {
  return alert_run->scenario->cluster.pools[note->pool].market.market == HR_MARKET_SPOT &&
         alert_run->scenario->classes[class_].checkpoint != HR_CHECKPOINT_CONTINUOUS;
}

/* Sets `*begins` to whether an event begins an interval of a rule, and `*ends` to whether it ends one. An event may do
   both or neither. */
static void find_begin_and_end(const struct alert_run *alert_run, enum hr_alert_rule rule, const struct note *note,
                               unsigned class_, bool *begins, bool *ends) {
  enum hr_event_kind kind = note->kind;
  bool stops = kind == HR_EVENT_INTERRUPT || kind == HR_EVENT_PREEMPT;
  if (rule == HR_ALERT_WAITING) {
    *begins = kind == HR_EVENT_SUBMIT || stops;
    *ends = kind == HR_EVENT_START || kind == HR_EVENT_REJECT;
  } else {
    *begins = (kind == HR_EVENT_START || kind == HR_EVENT_SAVED) && may_lose_work(alert_run, note, class_);
    *ends = stops || kind == HR_EVENT_END || kind == HR_EVENT_SAVED;
  }
}

static size_t find_late_intervals(const struct alert_run *alert_run, enum hr_alert_rule rule,
                                  struct late_interval *intervals) {
  const struct hr_alert_rules *rules = &alert_run->scenario->alerts;
  size_t count = 0;
  for (uint32_t job = 0; job < alert_run->trace->n_jobs; job++) {
    unsigned class_ = alert_run->trace->class_ ? alert_run->trace->class_[job] : 0;
    int64_t after_us = rule == HR_ALERT_WAITING ? rules->waiting_us[class_] : rules->unsaved_us, since_us = -1;
    for (size_t i = 0; i <= alert_run->record.n_notes; i++) {
      bool begins = false, ends = i == alert_run->record.n_notes;
      const struct note *note = &alert_run->record.notes[i];
      if (!ends && note->job != job) continue;
      if (!ends) find_begin_and_end(alert_run, rule, note, class_, &begins, &ends);
      int64_t at_us = i == alert_run->record.n_notes ? alert_run->replay.result->end_us : note->at_us;
      if (ends && since_us >= 0 && at_us > since_us + after_us)
        intervals[count++] = (struct late_interval){since_us + after_us, at_us, class_};
      if (ends) since_us = -1;
      if (begins) since_us = at_us;
    }
  }
  qsort(intervals, count, sizeof *intervals, by_begin);
  return count;
}

/* Compares the alerts on the jobs of a class. Overlapping intervals are one alert. Returns the number of alerts. */
static size_t check_job_alerts(const struct alert_run *alert_run, enum hr_alert_rule rule, unsigned class_) {
  struct late_interval *intervals =
      malloc((alert_run->record.n_notes + alert_run->trace->n_jobs + 1) * sizeof *intervals);
  CU_ASSERT_PTR_NOT_NULL_FATAL(intervals);
  size_t count = find_late_intervals(alert_run, rule, intervals), at = 0, found = 0;
  const char *where = hr_job_class_name((enum hr_job_class)class_);
  for (size_t i = 0; i < count;) {
    if (intervals[i].class_ != class_) {
      i++;
      continue;
    }
    int64_t end_us = intervals[i].end_us;
    size_t last = i, first = i, most = 0;
    for (; i < count && intervals[i].begin_us < end_us; i++) {
      if (intervals[i].class_ != class_) continue;
      if (intervals[i].end_us > end_us) end_us = intervals[i].end_us;
      last = i;
    }
    for (size_t k = first; k <= last; k++) {
      size_t now = 0;
      for (size_t j = first; j <= k; j++)
        now += intervals[j].class_ == class_ && intervals[k].class_ == class_ &&
               intervals[j].end_us > intervals[k].begin_us;
      if (now > most) most = now;
    }
    found++, expect(alert_run, rule, where, &at, intervals[first].begin_us, end_us, (double)most);
  }
  free(intervals);
  CU_ASSERT_PTR_NULL(next_alert(alert_run, rule, where, &at));
  return found;
}

/* Reclaimed nodes in (t - window, t], as a share of the nodes that are present now, or that went down or were released
   in this interval. */
static double reclaimed_share(const struct alert_run *alert_run, uint32_t pool, size_t snapshot, int64_t t_us) {
  int64_t within_us = alert_run->scenario->alerts.reclaims_within_us;
  double reclaimed = 0, gone = 0;
  for (size_t i = 0; i < alert_run->record.n_notes; i++) {
    const struct note *note = &alert_run->record.notes[i];
    if (note->pool != pool || note->at_us > t_us || note->at_us <= t_us - within_us) continue;
    if (note->kind != HR_EVENT_NODE_DOWN && note->kind != HR_EVENT_RELEASE) continue;
    gone++;
    reclaimed += note->kind == HR_EVENT_NODE_DOWN && note->reason == HR_REASON_RECLAIMED;
  }
  double nodes = gone + alert_run->record.snapshots[snapshot].nodes[pool];
  return nodes > 0 ? reclaimed / nodes : 0;
}

/* Compares the alerts on reclaimed nodes of a pool. The share can change at a snapshot, and at the instant when a lost
   or released node leaves the window. Returns the number of alerts. */
static size_t check_reclaim_alerts(const struct alert_run *alert_run, uint32_t pool) {
  const struct record *record = &alert_run->record;
  const struct hr_alert_rules *rules = &alert_run->scenario->alerts;
  int64_t begin_us = -1, end_us = alert_run->replay.result->end_us;
  size_t at = 0, found = 0;
  double worst = 0;
  const char *name = alert_run->scenario->cluster.pools[pool].name;
  for (size_t i = 0; i < record->n_snapshots; i++) {
    int64_t next_us = i + 1 < record->n_snapshots ? record->snapshots[i + 1].at_us : end_us;
    int64_t t_us = record->snapshots[i].at_us;
    if (next_us == t_us && i + 1 < record->n_snapshots) continue;
    for (size_t k = 0; k <= record->n_notes;
         /* first the instant of the snapshot, then each instant before the next snapshot at which a loss leaves the
            window */
         k++) {
      if (k > 0) {
        const struct note *note = &record->notes[k - 1];
        bool goes = note->pool == pool && (note->kind == HR_EVENT_NODE_DOWN || note->kind == HR_EVENT_RELEASE);
        int64_t out_us = note->at_us + rules->reclaims_within_us;
        if (!goes || out_us <= record->snapshots[i].at_us || out_us > next_us || (out_us == next_us && out_us < end_us))
          continue;
        t_us = out_us;
      }
      double share = reclaimed_share(alert_run, pool, i, t_us);
      if (share > rules->reclaims_above && begin_us < 0) begin_us = t_us, worst = 0;
      if (begin_us >= 0 && share > worst) worst = share;
      if (share > rules->reclaims_above || begin_us < 0) continue;
      found++, expect(alert_run, HR_ALERT_RECLAIMS, name, &at, begin_us, t_us, worst);
      begin_us = -1;
    }
  }
  if (begin_us >= 0) found++, expect(alert_run, HR_ALERT_RECLAIMS, name, &at, begin_us, end_us, worst);
  CU_ASSERT_PTR_NULL(next_alert(alert_run, HR_ALERT_RECLAIMS, name, &at));
  return found;
}

static void agrees(const char *path, const char *const *overrides, size_t n_overrides, size_t found[HR_N_ALERTS]) {
  struct alert_run alert_run;
  alert_run_make(&alert_run, path, overrides, n_overrides);
  const struct hr_alert_rules *rules = &alert_run.scenario->alerts;
  for (uint32_t i = 0; i < alert_run.scenario->cluster.n_pools; i++) {
    found[HR_ALERT_UNDERUSED] += check_use_alerts(&alert_run, i, HR_ALERT_UNDERUSED, rules->underused_for_us);
    found[HR_ALERT_SATURATED] += check_use_alerts(&alert_run, i, HR_ALERT_SATURATED, rules->saturated_for_us);
    if (alert_run.scenario->cluster.pools[i].market.market == HR_MARKET_SPOT)
      found[HR_ALERT_RECLAIMS] += check_reclaim_alerts(&alert_run, i);
  }
  for (unsigned i = 0; i < HR_N_CLASSES; i++) {
    found[HR_ALERT_WAITING] += check_job_alerts(&alert_run, HR_ALERT_WAITING, i);
    found[HR_ALERT_UNSAVED] += check_job_alerts(&alert_run, HR_ALERT_UNSAVED, i);
  }
  alert_run_finish(&alert_run);
}

#define SHIPPED(name) PROJECT_DIR "/scenarios/" name ".json"

static void alerts_of_shipped_scenarios(void) {
  size_t found[HR_N_ALERTS] = {0};
  const char *const strict[] = {"alerts.queue_time.above_s=600", "alerts.no_checkpoint.for_s=1200",
                                "alerts.spot_reclaims.within_s=7200", "alerts.gpus_saturated.above=0.8"};
  agrees(SHIPPED("demo"), NULL, 0, found);
  agrees(SHIPPED("agency-before"), NULL, 0, found);
  agrees(SHIPPED("agency"), NULL, 0, found);
  agrees(SHIPPED("agency"), strict, 4, found);
  agrees(SHIPPED("reserved-spot-mix"), NULL, 0, found);
  agrees(SHIPPED("reserved-spot-mix"), strict, 4, found);
  for (unsigned i = 0; i < HR_ALERT_LATENCY; i++) /* served.c tests alerts on services */
    if (i != HR_ALERT_BUDGET) CU_ASSERT(found[i] > 0);
}

/* ---- Results computed by hand ---------------------------------------------------------------------- */

static void put_file(const char *name, const char *text) {
  FILE *file = fopen(files_path(name), "w");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  fputs(text, file);
  CU_ASSERT_EQUAL_FATAL(fclose(file), 0);
}

/* One node of 4 GPUs at $2 per GPU-hour. Job 1 has all GPUs for ten hours from time zero, so the node is full for 10 h.
   Job 2 requests one GPU and waits from hour 1 to hour 10; the alert begins when it has waited for 15 min. Then it runs
   until hour 30, so a quarter of the GPUs is used. Job 3 is the last job and is submitted at hour 40, so no job runs
   from hour 30 to hour 40. Tenant a spends $80 until hour 10, and exceeds a budget of $60 after 7.5 h. */
static void alerts_of_one_node_by_hand(void) {
  put_file("jobs.csv",
           "job_id,submit_s,gpus,duration_s,tenant,class\n1,0,4,36000,a,training\n2,3600,1,72000,b,interactive\n"
           "3,144000,1,3600,a,training\n");
  put_file(
      "s.json",
      "{\"trace\":{\"file\":\"jobs.csv\"},\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"V100\",\"nodes\":1,"
      "\"gpus_per_node\":4,\"market\":\"reserved\",\"usd_per_gpu_hour\":2}]},\"policy\":{\"name\":\"fifo\"},"
      "\"costs\":{\"budgets\":[{\"tenant\":\"a\",\"usd_per_month\":60},{\"tenant\":\"b\",\"usd_per_month\":1000}]}}");
  struct alert_run alert_run;
  alert_run_make(&alert_run, files_path("s.json"), NULL, 0);
  const int64_t hour_us = HOUR_S * HR_SECOND_US;
  size_t at = 0;
  expect(&alert_run, HR_ALERT_UNDERUSED, "p", &at, 30 * hour_us, 40 * hour_us, 0);
  expect(&alert_run, HR_ALERT_SATURATED, "p", &at, 0, 10 * hour_us, 1);
  expect(&alert_run, HR_ALERT_WAITING, "interactive", &at, hour_us + hour_us / 4, 10 * hour_us, 1);
  const struct hr_alert *budget = next_alert(&alert_run, HR_ALERT_BUDGET, "a", &at);
  CU_ASSERT_PTR_NOT_NULL_FATAL(budget);
  /* the first microsecond in which the cost exceeds the budget */
  CU_ASSERT_EQUAL(budget->begin_us, hour_us * 15 / 2 + 1);
  CU_ASSERT_EQUAL(budget->end_us, 41 * hour_us);
  CU_ASSERT_DOUBLE_EQUAL(budget->value, 82.0 / 60, 1e-9);
  CU_ASSERT_EQUAL(alert_run.count, at);
  alert_run_finish(&alert_run);
}

static void rules_can_be_changed(void) {
  const char *const off[] = {"alerts.gpus_underused.on=false", "alerts.gpus_saturated.on=false",
                             "alerts.queue_time.on=false", "alerts.over_budget.on=false"};
  const char *const changed[] = {"alerts.gpus_underused.for_s=36001", "alerts.gpus_saturated={\"above\":1}",
                                 "alerts.queue_time={\"classes\":{\"default\":1,\"interactive\":32400}}",
                                 "alerts.over_budget.above=1.2"};
  struct alert_run alert_run;
  alerts_of_one_node_by_hand();
  alert_run_make(&alert_run, files_path("s.json"), off, 4);
  CU_ASSERT_EQUAL(alert_run.count, 0);
  alert_run_finish(&alert_run);
  alert_run_make(&alert_run, files_path("s.json"), changed, 4);
  /* the limit is $72: exceeded after nine hours */
  CU_ASSERT_FATAL(alert_run.count == 1 && alert_run.list[0].rule == HR_ALERT_BUDGET);
  CU_ASSERT_EQUAL(alert_run.list[0].begin_us, 9 * HOUR_S * HR_SECOND_US + 1);
  alert_run_finish(&alert_run);
}

/* ---- Bad rules -------------------------------------------------------------------------------------- */

static void expect_rejected(const char *override, const char *words) {
  struct hr_scenario *scenario = NULL;
  struct hr_error error = {0};
  CU_ASSERT_EQUAL(hr_scenario_load(SHIPPED("demo"), &override, 1, &scenario, &error), HR_BAD_INPUT);
  if (!strstr(error.text, words)) printf("\n  \"%s\" does not say \"%s\"\n", error.text, words);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, words));
  hr_scenario_destroy(scenario);
}

static void bad_rules_are_rejected(void) {
  expect_rejected("alerts.gpus_underused.below=2", "alerts.gpus_underused.below");
  expect_rejected("alerts.gpu_underused={}", "gpus_underused");
  expect_rejected("alerts.queue_time={\"classes\":{\"trainin\":5}}", "training");
}

TEST_MAIN("plan: alerts", TEST(alerts_of_shipped_scenarios), TEST(alerts_of_one_node_by_hand),
          TEST(rules_can_be_changed), TEST(bad_rules_are_rejected))
