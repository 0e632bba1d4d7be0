/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random clusters with all markets, with all backfills and placements, in checked mode. An observer tracks the
 * placements; it uses only the events. It checks these properties:
 * - No node is over capacity.
 * - No job starts on a node that is not up, or on spot capacity that it must not use.
 * - Every interruption has a cause.
 * - The times for which jobs have nodes equal their accounts.
 */

#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "queue_choice.h"

#include <string.h>

enum {
  N_CASES = 250,
  MAX_JOBS = 60,
  MAX_POOLS = 5,
  MAX_NODES = 40,
  N_BACKFILLS = 4,
  N_PLACEMENTS = 3,
  MAX_NODE_EVENTS = 2000
};

static uint64_t random_state;

static uint32_t draw(uint32_t below) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((random_state >> 33) % below);
}

/* ---- A random case ---- */

struct random_case {
  int64_t submit_us[MAX_JOBS], work_us[MAX_JOBS], limit_us[MAX_JOBS];
  uint32_t gpus[MAX_JOBS];
  uint8_t class_[MAX_JOBS], flags[MAX_JOBS];
  struct hr_trace trace;
  struct hr_level_step levels[MAX_POOLS][8];
  struct hr_pool_spec pools[MAX_POOLS];
  struct hr_cluster_spec cluster;
  struct hr_class_spec classes[HR_N_CLASSES];
  uint32_t market, spot_wait_s, spot_hold_s, idle_release_s, min_on_demand, reclaim_hours;
  double max_spot_share;
  bool returns;
  uint64_t seed;
};

static int64_t seconds(uint32_t most) {
  return (int64_t)draw(most) * HR_SECOND_US + (draw(3) ? 0 : draw(1000000));
}

static void draw_jobs(struct random_case *random) {
  uint32_t n_jobs = 1 + draw(MAX_JOBS);
  int64_t at_us = 0;
  for (uint32_t i = 0; i < n_jobs; i++) {
    at_us += i && draw(3) ? seconds(300) : 0;
    random->submit_us[i] = at_us;
    random->work_us[i] = draw(20) ? seconds(3000) : 0;
    random->limit_us[i] = random->work_us[i] * (1 + draw(3)) / (1 + draw(2));
    random->gpus[i] = draw(30) ? 1 + draw(draw(4) ? 4 : 12) : 0;
    random->class_[i] = (uint8_t)draw(HR_N_CLASSES);
    random->flags[i] = draw(5) ? 0 : HR_JOB_NOT_INTERRUPTIBLE;
  }
  random->trace = (struct hr_trace){.source = "random",
                                    .n_jobs = n_jobs,
                                    .submit_us = random->submit_us,
                                    .work_us = random->work_us,
                                    .limit_us = random->limit_us,
                                    .gpus = random->gpus,
                                    .class_ = random->class_,
                                    .flags = random->flags};
}

static void draw_spot(struct random_case *random, uint32_t pool, uint32_t n_nodes, struct hr_spot_spec *spot) {
  static const enum hr_spot_model models[] = {HR_SPOT_NONE, HR_SPOT_TRACE, HR_SPOT_ON_OFF, HR_SPOT_EXPONENTIAL,
                                              HR_SPOT_BATHTUB};
  *spot = (struct hr_spot_spec){.model = models[draw(5)],
                                .zone = pool,
                                .notice_us = draw(2) ? seconds(200) : 0,
                                .up = {HR_DURATION_LOG_NORMAL, 6, 1},
                                .down = {HR_DURATION_EXPONENTIAL, 200, 0},
                                .rate_per_h = 3,
                                .batch_mean = 1 + draw(3),
                                .bathtub = {0.5, 0.05, 0.05, 0.5, 0.5}};
  int64_t at_us = 0;
  for (uint32_t i = 0; i < 8; i++) {
    random->levels[pool][i] = (struct hr_level_step){at_us, draw(n_nodes + 1)};
    at_us += 1 + seconds(600);
  }
  /* at the end all nodes are available, so every waiting job eventually runs */
  random->levels[pool][7].level = n_nodes;
  spot->levels = random->levels[pool];
  spot->n_levels = 8;
  spot->period_us = at_us + 4000 * HR_SECOND_US;
}

static void draw_pools(struct random_case *random) {
  static char name[] = "pool", gpu[] = "T4";
  uint32_t n_pools = 1 + draw(MAX_POOLS);
  for (uint32_t i = 0; i < n_pools; i++) {
    struct hr_pool_spec *pool = &random->pools[i];
    *pool = (struct hr_pool_spec){.name = name,
                                  .gpu = gpu,
                                  .nodes = draw(1 + MAX_NODES / MAX_POOLS),
                                  .gpus_per_node = 1 + draw(6),
                                  .storage_mib_s = draw(2) ? 10 : 0,
                                  .classes = draw(4) ? 0 : 1 + draw((1u << HR_N_CLASSES) - 1)};
    pool->market.market = (enum hr_market)draw(HR_N_MARKETS);
    pool->market.to_us = HR_NEVER_US;
    if (pool->market.market == HR_MARKET_RESERVED && draw(2)) {
      pool->market.from_us = seconds(1000);
      pool->market.to_us = pool->market.from_us + 1 + seconds(5000);
    }
    pool->market.boot =
        (struct hr_duration){draw(2) ? HR_DURATION_FIXED : HR_DURATION_EXPONENTIAL, draw(2) ? 90 : 1e-7, 0};
    draw_spot(random, i, pool->nodes, &pool->market.spot);
  }
  random->cluster = (struct hr_cluster_spec){random->pools, n_pools};
}

static void draw_classes(struct random_case *random) {
  for (uint32_t i = 0; i < HR_N_CLASSES; i++)
    random->classes[i] = (struct hr_class_spec){.no_spot = draw(4) == 0,
                                                .checkpoint = (enum hr_checkpoint)draw(HR_N_CHECKPOINTS),
                                                .interval_us = 1 + seconds(600),
                                                .checkpoint_mib = draw(2) ? draw(2000) : 0,
                                                .write_us = seconds(100),
                                                .restart_us = draw(2) ? seconds(200) : 0};
}

static void draw_market_rule(struct random_case *random) {
  random->market = draw(4);
  random->spot_wait_s = draw(2) ? draw(1000) : 0;
  random->spot_hold_s = draw(2) ? draw(1000) : 0;
  random->idle_release_s = 1 + draw(1000);
  random->min_on_demand = draw(3) ? 0 : draw(4);
  random->max_spot_share = draw(3) ? 1 : draw(11) / 10.0;
  random->returns = draw(2);
  random->reclaim_hours = draw(3);
}

/* ---- The observer ---- */

struct tracker {
  const struct random_case *random;
  uint32_t first_node[MAX_POOLS];
  bool up[MAX_NODES], closing[MAX_NODES];
  int64_t notice_us[MAX_NODES]; /* the time at which the node got notice */
  uint32_t used[MAX_NODES];
  bool runs[MAX_JOBS];
  int64_t since_us[MAX_JOBS], held_us[MAX_JOBS];
  uint32_t n_violations;
  uint32_t n_node_events; /* number of node events; only the first MAX_NODE_EVENTS of them are stored */
  struct {
    int64_t at_us;
    uint32_t kind, node;
  } node_event[MAX_NODE_EVENTS];
};

static void report_violation(struct tracker *tracker, const char *what, const struct hr_event *event) {
  if (tracker->n_violations++ == 0)
    fprintf(stderr, "\n    %s at %lld us, %s of job %u node %u\n", what, (long long)event->at_us,
            hr_event_name(event->kind), event->job.id, event->node.id);
}

static void track_start(struct tracker *tracker, const struct hr_event *event) {
  const struct hr_placement *placement = event->placement;
  const struct random_case *random = tracker->random;
  uint32_t sum = 0, job = event->job.id;
  if (tracker->runs[job]) report_violation(tracker, "a running job starts", event);
  tracker->runs[job] = true;
  tracker->since_us[job] = event->at_us;
  bool must_not_use_spot = random->flags[job] || random->classes[random->class_[job]].no_spot;
  if (random->gpus[job] && must_not_use_spot && random->pools[placement->pool.id].market.market == HR_MARKET_SPOT)
    report_violation(tracker, "a job that must not use spot starts on spot", event);
  uint32_t allowed = random->pools[placement->pool.id].classes;
  if (random->gpus[job] && allowed && !(allowed >> random->class_[job] & 1))
    report_violation(tracker, "a job starts in a pool for other classes", event);
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    uint32_t node = placement->slices[i].node.id, gpus = placement->slices[i].gpu_milli / 1000;
    if (!tracker->up[node] || tracker->closing[node])
      report_violation(tracker, "a start on a node that is not up", event);
    tracker->used[node] += gpus;
    if (tracker->used[node] > random->pools[placement->pool.id].gpus_per_node)
      report_violation(tracker, "over capacity", event);
    sum += gpus;
  }
  if (sum != random->gpus[job]) report_violation(tracker, "a gang does not have the GPUs that it requests", event);
}

static void track_stop(struct tracker *tracker, const struct hr_event *event) {
  uint32_t job = event->job.id;
  if (!tracker->runs[job]) report_violation(tracker, "a job stops that does not run", event);
  tracker->runs[job] = false;
  tracker->held_us[job] += event->at_us - tracker->since_us[job];
  bool leaves_closing_node = false;
  for (uint32_t i = 0; i < event->placement->n_slices; i++) {
    uint32_t node = event->placement->slices[i].node.id;
    tracker->used[node] -= event->placement->slices[i].gpu_milli / 1000;
    leaves_closing_node = leaves_closing_node || tracker->closing[node];
  }
  if (event->kind == HR_EVENT_INTERRUPT && event->reason == HR_REASON_SAVED && !leaves_closing_node)
    report_violation(tracker, "a job leaves nodes that have no notice", event);
}

/* Returns the minimum level of a pool with recorded levels during the notice period that begins at `at_us`. */
static uint32_t min_level(const struct hr_pool_spec *pool, int64_t at_us) {
  const struct hr_spot_spec *spot = &pool->market.spot;
  uint32_t lowest = UINT32_MAX;
  for (int64_t round = at_us / spot->period_us; round * spot->period_us <= at_us + spot->notice_us; round++)
    for (uint32_t i = 0; i < spot->n_levels; i++) {
      int64_t from_us = round * spot->period_us + spot->levels[i].at_us;
      int64_t to_us = round * spot->period_us + (i + 1 < spot->n_levels ? spot->levels[i + 1].at_us : spot->period_us);
      bool within = from_us <= at_us + spot->notice_us && to_us > at_us;
      if (within && spot->levels[i].level < lowest) lowest = spot->levels[i].level;
    }
  return lowest;
}

static void track_launch(struct tracker *tracker, const struct hr_event *event) {
  const struct hr_pool_spec *pool = &tracker->random->pools[event->pool.id];
  uint32_t number = event->node.id - tracker->first_node[event->pool.id];
  if (pool->market.market == HR_MARKET_SPOT && pool->market.spot.model == HR_SPOT_TRACE &&
      number >= min_level(pool, event->at_us))
    report_violation(tracker, "launch of a node that is not available", event);
}

static void track_node(struct tracker *tracker, const struct hr_event *event) {
  uint32_t node = event->node.id;
  int64_t notice_us = tracker->random->pools[event->pool.id].market.spot.notice_us;
  if (event->kind != HR_EVENT_NODE_UP && tracker->closing[node] && event->at_us - tracker->notice_us[node] > notice_us)
    report_violation(tracker, "a node stays up after the end of its notice", event);
  if (event->kind == HR_EVENT_NODE_UP) {
    if (tracker->up[node]) report_violation(tracker, "a node comes up twice", event);
    tracker->up[node] = true;
    tracker->closing[node] = false;
  } else if (event->kind == HR_EVENT_NOTICE) {
    if (!tracker->up[node]) report_violation(tracker, "notice for a node that is not up", event);
    tracker->closing[node] = true;
    tracker->notice_us[node] = event->at_us;
  } else {
    if (tracker->used[node]) report_violation(tracker, "a node with jobs goes down", event);
    tracker->up[node] = tracker->closing[node] = false;
  }
}

static void store_node_event(struct tracker *tracker, const struct hr_event *event) {
  uint32_t at = tracker->n_node_events++;
  if (at >= MAX_NODE_EVENTS) return;
  tracker->node_event[at].at_us = event->at_us;
  tracker->node_event[at].kind = event->kind;
  tracker->node_event[at].node = event->node.id;
}

static void track(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct tracker *tracker = self;
  (void)view;
  if (event->node.id != HR_NONE) store_node_event(tracker, event);
  switch (event->kind) {
  case HR_EVENT_START:
    track_start(tracker, event);
    return;
  case HR_EVENT_END:
  case HR_EVENT_INTERRUPT:
  case HR_EVENT_PREEMPT:
    track_stop(tracker, event);
    return;
  case HR_EVENT_ACQUIRE:
    track_launch(tracker, event);
    return;
  case HR_EVENT_NODE_UP:
  case HR_EVENT_NOTICE:
  case HR_EVENT_NODE_DOWN:
  case HR_EVENT_RELEASE:
    track_node(tracker, event);
    return;
  default:
    return;
  }
}

static void tracker_init(struct tracker *tracker, const struct random_case *random) {
  memset(tracker, 0, sizeof *tracker);
  tracker->random = random;
  uint32_t node = 0;
  for (uint32_t i = 0; i < random->cluster.n_pools; i++) {
    const struct hr_pool_spec *pool = &random->pools[i];
    bool comes = hr_market_is_elastic(pool->market.market) ||
                 (pool->market.market == HR_MARKET_RESERVED && pool->market.to_us != HR_NEVER_US);
    tracker->first_node[i] = node;
    for (uint32_t k = 0; k < pool->nodes; k++) tracker->up[node++] = !comes;
  }
}

/* ---- Runs ---- */

static struct hr_policy_choice policy_of(const struct random_case *random, uint32_t backfill, uint32_t placement) {
  struct hr_policy_choice choice = queue_choice("strict", "pool");
  queue_set_place(&choice, "backfill", backfill);
  queue_set_place(&choice, "placement", 1 + placement);
  queue_set_place(&choice, "market", random->market);
  queue_set_number(&choice, "spot_wait_s", random->spot_wait_s);
  queue_set_number(&choice, "spot_hold_s", random->spot_hold_s);
  queue_set_number(&choice, "idle_release_s", random->idle_release_s);
  queue_set_number(&choice, "min_on_demand", random->min_on_demand);
  queue_set_number(&choice, "max_spot_share", random->max_spot_share);
  queue_set_number(&choice, "reclaim_hours", random->reclaim_hours);
  queue_set_place(&choice, "return_to_spot", random->returns);
  return choice;
}

static struct hr_result *run(const struct random_case *random, uint32_t backfill, uint32_t placement, bool check,
                             struct tracker *tracker) {
  struct hr_policy_choice choice = policy_of(random, backfill, placement);
  struct hr_observer observer = {tracker, track, NULL};
  struct hr_error error;
  tracker_init(tracker, random);
  struct hr_run_config config = {.trace = &random->trace,
                                 .cluster = &random->cluster,
                                 .policy = choice.ops,
                                 .params = choice.params,
                                 .seed = random->seed,
                                 .horizon_us = INT64_C(3) * 86400 * HR_SECOND_US,
                                 .check = check,
                                 .classes = random->classes,
                                 .observers = &observer,
                                 .n_observers = 1};
  struct hr_result *result = NULL;
  if (hr_sim_run(&config, &result, &error) != HR_OK) fprintf(stderr, "\n    %s\n", error.text);
  hr_policy_choice_finish(&choice);
  return result;
}

static bool no_node_outlives_its_notice(const struct random_case *random, const struct tracker *tracker,
                                        int64_t end_us) {
  for (uint32_t i = 0; i < random->cluster.n_pools; i++)
    for (uint32_t k = 0; k < random->pools[i].nodes; k++) {
      uint32_t node = tracker->first_node[i] + k;
      if (tracker->closing[node] && end_us - tracker->notice_us[node] > random->pools[i].market.spot.notice_us)
        return false;
    }
  return true;
}

/* Returns whether three conditions are met. The time for which a job had nodes, as seen by the observer, equals the
   job's account. The parts of the account add up. Completed jobs kept all their work. */
static bool accounts_agree(const struct random_case *random, const struct tracker *tracker,
                           const struct hr_result *result) {
  for (uint32_t i = 0; i < random->trace.n_jobs && result->account; i++) {
    const struct hr_job_accounting copy = hr_result_accounting(result, (hr_job){i}), *accounting = &copy;
    int64_t held_us = tracker->held_us[i] + (tracker->runs[i] ? result->end_us - tracker->since_us[i] : 0);
    if (accounting->held_us != held_us) return false;
    if (held_us != accounting->kept_us + accounting->lost_us + accounting->saving_us + accounting->restarting_us)
      return false;
    if (result->state[i] == HR_JOB_COMPLETED && accounting->kept_us != random->work_us[i]) return false;
  }
  return true;
}

/* Returns whether two runs have the same node events up to the end of the shorter one. With the market rule `static`
   the engine requests all nodes, so node events must not depend on the policy. */
static bool node_events_agree(const struct tracker *a, const struct tracker *b) {
  uint32_t count = a->n_node_events < b->n_node_events ? a->n_node_events : b->n_node_events;
  if (count > MAX_NODE_EVENTS) count = MAX_NODE_EVENTS;
  return memcmp(a->node_event, b->node_event, count * sizeof *a->node_event) == 0;
}

static bool case_passes(uint32_t number) {
  static struct random_case random;
  static struct tracker tracker, first;
  bool passes = true;
  random_state = number;
  random.seed = number;
  draw_jobs(&random);
  draw_pools(&random);
  draw_classes(&random);
  draw_market_rule(&random);
  for (uint32_t rules = 0; rules < N_BACKFILLS * N_PLACEMENTS && passes; rules++) {
    struct hr_result *checked = run(&random, rules / N_PLACEMENTS, rules % N_PLACEMENTS, true, &tracker);
    if (!checked) return false;
    passes = tracker.n_violations == 0 && accounts_agree(&random, &tracker, checked) &&
             no_node_outlives_its_notice(&random, &tracker, checked->end_us);
    if (rules == 0) first = tracker;
    if (random.market == 0) passes = passes && node_events_agree(&first, &tracker);
    struct hr_result *again = run(&random, rules / N_PLACEMENTS, rules % N_PLACEMENTS, false, &tracker);
    passes = passes && again && again->digest == checked->digest;
    hr_result_destroy(checked);
    hr_result_destroy(again);
  }
  return passes;
}

static void random_markets_keep_all_invariants(void) {
  uint32_t n_failed = 0;
  for (uint32_t i = 0; i < N_CASES; i++) {
    bool passes = case_passes(i);
    if (!passes && n_failed++ == 0) fprintf(stderr, "\n    case %u\n", i);
  }
  CU_ASSERT_EQUAL(n_failed, 0);
}

TEST_MAIN("random markets", TEST(random_markets_keep_all_invariants))
