/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs of jobs that wait for electricity with less carbon, compared with a naive simulation that advances tick by tick,
 * as the simulators of GAIA and Let's Wait Awhile do. It shares no code with the policy: the plans of single jobs are
 * found by exhaustive search. A tick is a microsecond. On-demand capacity is sufficient for all jobs.
 */

#include "base/random.h"
#include "harness.h"
#include "headroom/unstable/series.h"
#include "lab.h"

#include <string.h>

enum { N_JOBS = 12, N_STEPS = 40, END = 400, WORLDS = 60 };

static const char *const rules[] = {"all-wait",    "lowest-slot",    "lowest-window",
                                    "carbon-time", "reserved-first", "wait-awhile-contiguous",
                                    "wait-awhile", "ecovisor"};
enum rule { ALL_WAIT, LOWEST_SLOT, LOWEST_WINDOW, CARBON_TIME, RESERVED_FIRST, CONTIGUOUS, INTERRUPTIBLE, ECOVISOR };

/* A world: an intensity for each tick, and jobs. */
struct world {
  int64_t intensity[END], at_us[N_STEPS], micros[N_STEPS];
  uint32_t n_steps;
  struct lab_job jobs[N_JOBS];
  int64_t wait_us, short_wait_us, short_us, step_us, lag_us;
  uint32_t reserved;
  bool by_average;
  enum rule rule;
  /* result: whether each job runs in each tick, and whether on reserved nodes */
  bool runs[N_JOBS][END], is_reserved[N_JOBS][END];
};

static int64_t below(struct hr__stream *random, uint32_t n) {
  return hr__stream_next(random) % n;
}

static int by_submit(const void *a, const void *b) {
  const struct lab_job *x = a, *y = b;
  return (x->submit_us > y->submit_us) - (x->submit_us < y->submit_us);
}

static void draw(struct hr__stream *random, struct world *world) {
  *world = (struct world){.rule = (enum rule)below(random, 8),
                          .wait_us = below(random, 60),
                          .short_wait_us = below(random, 30),
                          .short_us = below(random, 30)};
  world->step_us = below(random, 3) * 4;
  world->lag_us = below(random, 3);
  world->reserved = (uint32_t)below(random, 4);
  world->by_average = below(random, 2) == 0;
  for (int64_t t = 0; t < END; world->n_steps++) {
    int64_t length = 10 + below(random, 2) * 3, value = below(random, 5);
    world->at_us[world->n_steps] = t;
    world->micros[world->n_steps] = value;
    for (; length > 0 && t < END; length--) world->intensity[t++] = value;
  }
  for (int i = 0; i < N_JOBS; i++) {
    world->jobs[i].submit_us = below(random, 100);
    world->jobs[i].work_us = 1 + below(random, 40);
    world->jobs[i].gpus = 1 + (uint32_t)below(random, 2);
  }
  qsort(world->jobs, N_JOBS, sizeof *world->jobs, by_submit);
}

/* ---- Plans of single jobs ---- */

static bool is_short(const struct world *world, int job) {
  return world->jobs[job].work_us < world->short_us;
}

static int64_t mean_of(const struct world *world, bool of_short) {
  int64_t sum = 0, count = 0;
  for (int i = 0; i < N_JOBS; i++) {
    int64_t work_us = world->jobs[i].work_us;
    if (of_short ? work_us > world->short_us : work_us < world->short_us) continue;
    sum += work_us;
    count++;
  }
  return count ? sum / count : 0;
}

static int64_t carbon_of(const struct world *world, int64_t begin, int64_t length) {
  int64_t sum = 0;
  for (int64_t t = begin; t < begin + length; t++) sum += world->intensity[t < END ? t : END - 1];
  return sum;
}

/* Returns the planned start of a job by a rule that does not interrupt jobs. */
static int64_t planned_start(const struct world *world, int job) {
  bool uses_mean = world->by_average && world->rule != CONTIGUOUS;
  int64_t from = world->jobs[job].submit_us, wait = is_short(world, job) ? world->short_wait_us : world->wait_us;
  int64_t length = uses_mean ? mean_of(world, is_short(world, job)) : world->jobs[job].work_us, best = 0;
  if (world->rule == ALL_WAIT) return from + wait;
  for (int64_t t = 1; t <= wait; t++) {
    int64_t now = carbon_of(world, from, length), was = carbon_of(world, from + best, length);
    int64_t is = carbon_of(world, from + t, length);
    bool better = is < was;
    if (world->rule == LOWEST_SLOT)
      better = world->intensity[from + t] < world->intensity[from + best];
    else if (world->step_us && t % world->step_us)
      continue;
    else if (world->rule == CARBON_TIME || world->rule == RESERVED_FIRST)
      better = (now - is) * (best + length) > (now - was) * (t + length);
    if (better) best = t;
  }
  return from + best;
}

/* Marks the ticks in which a job runs, by a rule that interrupts jobs. */
static void run_interrupted(struct world *world, int job) {
  int64_t from = world->jobs[job].submit_us, left = world->jobs[job].work_us;
  int64_t wait = is_short(world, job) ? world->short_wait_us : world->wait_us, sorted[100], threshold;
  if (world->rule == INTERRUPTIBLE) {
    for (int64_t end = from + left + wait; left > 0; left--) {
      int64_t best = -1;
      for (int64_t t = from; t < end; t++)
        if (!world->runs[job][t] && (best < 0 || world->intensity[t] < world->intensity[best])) best = t;
      world->runs[job][best] = true;
    }
    return;
  }
  for (int64_t t = 0; t < 100; t++) {
    int64_t value = world->intensity[from + t], i = t;
    for (; i > 0 && sorted[i - 1] > value; i--) sorted[i] = sorted[i - 1];
    sorted[i] = value;
  }
  threshold = sorted[29]; /* at least 30 of the 100 ticks have at most this intensity */
  for (int64_t t = from; left > 0; t++) {
    world->runs[job][t] = world->intensity[t] < threshold || wait <= 0;
    left -= world->runs[job][t];
    wait -= !world->runs[job][t];
  }
}

/* ---- The naive simulation ---- */

static uint32_t reserved_in_use(const struct world *world, int64_t t) {
  uint32_t sum = 0;
  for (int i = 0; i < N_JOBS && t >= 0; i++) sum += world->is_reserved[i][t] ? world->jobs[i].gpus : 0;
  return sum;
}

/* Returns the number of free reserved nodes that a waiting job can use: `free_now` minus the nodes that became free
   within the last `lag_us` ticks. */
static uint32_t seen(const struct world *world, int64_t t, uint32_t free_now) {
  uint32_t freed = 0;
  for (int i = 0; i < N_JOBS; i++)
    for (int64_t s = t; s > t - world->lag_us && s > 0; s--)
      if (world->is_reserved[i][s - 1] && !world->is_reserved[i][s]) freed += world->jobs[i].gpus;
  return free_now > freed ? free_now - freed : 0;
}

static void begin(struct world *world, int job, int64_t t, bool on_reserved) {
  for (int64_t s = t; s < t + world->jobs[job].work_us; s++) {
    world->runs[job][s] = true;
    world->is_reserved[job][s] = on_reserved;
  }
}

static void simulate(struct world *world) {
  bool early = world->rule == ALL_WAIT || world->rule == RESERVED_FIRST, started[N_JOBS] = {false};
  for (int i = 0; i < N_JOBS && world->rule >= INTERRUPTIBLE; i++) run_interrupted(world, i);
  for (int64_t t = 0; t < END / 2 && world->rule < INTERRUPTIBLE; t++)
    for (int i = 0; i < N_JOBS; i++) {
      if (started[i] || world->jobs[i].submit_us > t) continue;
      uint32_t free_now = world->reserved - reserved_in_use(world, t);
      bool is_due = planned_start(world, i) <= t;
      bool fits = (is_due ? free_now : early ? seen(world, t, free_now) : 0) >= world->jobs[i].gpus;
      if (!is_due && !fits) continue;
      begin(world, i, t, fits);
      started[i] = true;
    }
}

/* ---- Headroom ---- */

struct record {
  bool runs[N_JOBS][END];
  int64_t since[N_JOBS];
  bool fails;
};

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct record *record = self;
  uint32_t i = event->job.id;
  (void)view;
  if (event->kind == HR_EVENT_START) record->since[i] = event->at_us;
  if (event->kind != HR_EVENT_END && event->kind != HR_EVENT_PREEMPT) return;
  record->fails = record->fails || event->at_us > END;
  for (int64_t t = record->since[i]; t < event->at_us && t < END; t++) record->runs[i][t] = true;
}

static void set_us(struct lab *lab, const char *key, int64_t us) {
  char text[40];
  snprintf(text, sizeof text, "%.6f", (double)us / 1e6);
  lab_set(lab, key, text);
}

static bool run(const struct world *world, struct record *record) {
  static struct lab lab;
  struct hr_series *series = hr_series_create(world->at_us, world->micros, world->n_steps, false);
  CU_ASSERT_PTR_NOT_NULL_FATAL(series);
  struct hr_electricity electricity = {.carbon = series, .carbon_start_us = HR_NEVER_US};
  struct hr_observer observer = {.self = record, .on_event = on_event};
  *record = (struct record){.fails = false};
  lab_begin(&lab);
  lab_add_pool(&lab, world->reserved, 1);
  lab_add_pool(&lab, 40, 1);
  lab.pools[0].market.market = HR_MARKET_RESERVED;
  lab.pools[1].market.market = HR_MARKET_ON_DEMAND;
  lab.pools[0].electricity = lab.pools[1].electricity = &electricity;
  lab_set(&lab, "market", "static");
  lab_set(&lab, "backfill", "skip");
  lab_set(&lab, "placement", "first-fit");
  lab_set(&lab, "carbon", rules[world->rule]);
  lab_set(&lab, "carbon_length", world->by_average ? "average" : "estimate");
  set_us(&lab, "carbon_wait_s", world->wait_us);
  set_us(&lab, "carbon_short_wait_s", world->short_wait_us);
  set_us(&lab, "carbon_short_s", world->short_us);
  set_us(&lab, "carbon_step_s", world->step_us);
  set_us(&lab, "carbon_lag_s", world->lag_us);
  for (size_t i = 0; i < lab.policy.n_params; i++) /* set directly, because text cannot set less than a second */
    if (strcmp(lab.policy.ops->params[i].key, "carbon_lookahead_s") == 0) lab.policy.params[i].real = 100e-6;
  for (int i = 0; i < N_JOBS; i++) lab_add_job(&lab, world->jobs[i]);
  bool fine = lab_run(&lab, &observer);
  lab_finish(&lab);
  hr_series_destroy(series);
  return fine && !record->fails;
}

static void equals_the_naive_simulation(void) {
  static struct world world;
  static struct record record;
  struct hr__stream random;
  uint32_t n_paused = 0, n_late = 0, n_early = 0;
  hr__stream_init(&random, 11, HR__PURPOSE_SAMPLE, 0, 0);
  for (int i = 0; i < WORLDS * 8; i++) {
    draw(&random, &world);
    simulate(&world);
    CU_ASSERT_FATAL(run(&world, &record));
    int wrong = -1;
    for (int k = 0; k < N_JOBS; k++) {
      if (memcmp(record.runs[k], world.runs[k], sizeof record.runs[k]) != 0) wrong = k;
      uint32_t starts = 0;
      for (int64_t t = 1; t < END; t++) starts += world.runs[k][t] && !world.runs[k][t - 1];
      n_paused += starts > 1;
      n_late += !world.runs[k][world.jobs[k].submit_us];
      for (int64_t t = 0; t < END && world.rule < INTERRUPTIBLE; t++)
        if (world.runs[k][t]) {
          n_early += t < planned_start(&world, k);
          break;
        }
    }
    if (wrong >= 0) printf("\n  world %d, rule %s: job %d differs\n", i, rules[world.rule], wrong);
    CU_ASSERT_EQUAL(wrong, -1);
  }
  /* the worlds must contain all tested cases */
  CU_ASSERT(n_paused > 100 && n_late > 1000 && n_early > 20);
}

TEST_MAIN("runs with less carbon", TEST(equals_the_naive_simulation))
