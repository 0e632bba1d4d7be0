/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random runs with too little GPU memory, compared with a second implementation, the reference clock. The policy places
   and stops jobs at random. The reference clock gets only these placements and stops. It examines all jobs at every
   step and computes kills, retries and ends to the microsecond. */

#include "base/random.h"
#include "harness.h"
#include "headroom/sim.h"

#include <string.h>

#define S HR_SECOND_US
#define MILLION INT64_C(1000000)

enum { JOBS = 24, NODES = 2, GPUS = 2, MAX_TASKS = 2, CASES = 100, MAX_LOGGED = 20000, STEPS = 2, MEM_MIB = 16384 };

/* An event that the engine reported: a job was placed or stopped. The reference clock computes the ends of jobs
   itself. */
struct logged {
  int64_t at_us;
  uint32_t job;
  bool stops, keeps; /* stops: the job was stopped, not placed; keeps: its completed work was kept */
  uint32_t n_slices;
  struct hr_slice slices[MAX_TASKS];
};

static struct {
  int64_t submit_us[JOBS], work_us[JOBS], horizon_us, restart_us;
  uint32_t gpus[JOBS], tasks[JOBS];
  uint64_t mem_mib[JOBS];
  uint32_t replicas;
  struct hr_interference_step steps[STEPS];
  uint32_t n_steps;
  struct logged logged[MAX_LOGGED];
  uint32_t n_logged;
} scenario;

static struct hr__stream draws;

static uint32_t draw(uint32_t below) {
  return hr__stream_next(&draws) % below;
}

/* ---- The run ---- */

static void draw_scenario(void) {
  static const uint64_t memories[] = {0, 3000, 6000, 9000, 12000, 16384};
  for (uint32_t i = 0; i < JOBS; i++) {
    scenario.submit_us[i] = (i ? scenario.submit_us[i - 1] : 0) + draw(60) * S + draw(3);
    scenario.work_us[i] = 1 + draw(400) * S + draw(1000000);
    scenario.tasks[i] = 1 + draw(4) / 3;
    scenario.gpus[i] = scenario.tasks[i] * (1 + draw(GPUS));
    scenario.mem_mib[i] = memories[draw(6)];
  }
  for (uint32_t i = 0; i < STEPS; i++)
    scenario.steps[i] = (struct hr_interference_step){600 * (i + 1), 1000000 - (i + 1) * draw(300000)};
  scenario.n_steps = draw(2) * STEPS;
  scenario.steps[STEPS - 1].up_to_milli = 1000;
  scenario.replicas = 2 + draw(4);
  scenario.restart_us = draw(2) * (1 + draw(50)) * S;
  scenario.horizon_us = (2000 + draw(4000)) * S;
}

static enum hr_status no_create(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  (void)env;
  (void)self;
  (void)error;
  return HR_OK;
}

/* Returns whether all tasks of the request fit on the GPUs in the set `gpus` of the node. */
static bool has_room_for_all(const struct hr_gpu_inventory *inventory, const struct hr_request *request, hr_node node,
                             uint64_t gpus) {
  for (uint32_t gpu = 0; gpu < GPUS; gpu++)
    if (gpus >> gpu & 1 &&
        hr_gpu_inventory_gpus(inventory, node)[gpu] < request->tasks * hr_gpu_inventory_milli(inventory, request, node))
      return false;
  return true;
}

static bool place(const struct hr_view *view, hr_job job, struct hr_slice *slices, struct hr_placement *placement) {
  const struct hr_gpu_inventory *inventory = hr_cluster_gpu_inventory(view->cluster);
  const struct hr_requests *requests = hr_cluster_requests(view->cluster);
  const struct hr_request *request = &requests->request[requests->of_job[job.id]];
  uint32_t from = draw(NODES), apart = draw(2);
  *placement = (struct hr_placement){{0}, 0, slices};
  for (uint32_t i = 0; i < request->tasks; i++) {
    hr_node node = {(from + i * apart) % NODES};
    if (!hr_gpu_inventory_fits(inventory, request, node)) return false;
    uint64_t gpus = hr_gpu_inventory_pick(inventory, request, node);
    if (!apart && !has_room_for_all(inventory, request, node, gpus)) return false;
    slices[placement->n_slices++] =
        (struct hr_slice){node, request->gpus * hr_gpu_inventory_milli(inventory, request, node), gpus};
  }
  return true;
}

/* Stops some jobs and starts others. Some jobs are stopped with notice, and some keep all their work. Some moves are
   rolled back. */
static enum hr_status decide_random(void *self, const struct hr_view *view, struct hr_moves *plan) {
  (void)self;
  for (uint32_t round = 0; round < 2; round++) {
    uint32_t mark = hr_moves_mark(plan);
    for (uint32_t i = 0; i < JOBS; i++) {
      hr_job job = {i};
      struct hr_slice slices[MAX_TASKS];
      struct hr_placement placement;
      if (view->state[i] == HR_JOB_RUNNING && view->attempt_us[i] < view->now_us && draw(40) == 0)
        (void)(draw(2) ? hr_moves_preempt(plan, job, HR_REASON_PREEMPTED)
                       : hr_moves_requeue(plan, job, HR_REASON_POLICY));
      if (view->state[i] == HR_JOB_RUNNING && view->attempt_us[i] < view->now_us && draw(40) == 0)
        (void)hr_moves_notice(plan, job, view->now_us + 1 + draw(100) * S, true);
      if (view->state[i] == HR_JOB_WAITING && draw(3) && place(view, job, slices, &placement))
        (void)hr_moves_start(plan, job, &placement, HR_REASON_IN_ORDER);
    }
    if (draw(4) == 0) hr_moves_rollback(plan, mark);
  }
  return hr_moves_wake_at(plan, view->now_us + 1 + draw(200) * S);
}

static uint32_t stops(void *self) {
  (void)self;
  return HR_POLICY_PREEMPTS;
}

static const struct hr_policy_ops random_ops = {.abi = HR_POLICY_ABI,
                                                .size = sizeof random_ops,
                                                .name = "chance",
                                                .create = no_create,
                                                .decide = decide_random,
                                                .abilities = stops};

static void log_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  (void)self;
  (void)view;
  bool stops = event->kind == HR_EVENT_PREEMPT || event->kind == HR_EVENT_INTERRUPT;
  if ((!stops && event->kind != HR_EVENT_START) || scenario.n_logged == MAX_LOGGED) return;
  struct logged *logged = &scenario.logged[scenario.n_logged++];
  *logged = (struct logged){
      .at_us = event->at_us, .job = event->job.id, .stops = stops, .keeps = event->reason == HR_REASON_PREEMPTED};
  logged->n_slices = event->placement->n_slices;
  for (uint32_t i = 0; i < logged->n_slices; i++) logged->slices[i] = event->placement->slices[i];
}

static struct hr_result *run(void) {
  static char name[] = "p", gpu[] = "T4";
  const struct hr_trace trace = {.source = "test",
                                 .n_jobs = JOBS,
                                 .submit_us = scenario.submit_us,
                                 .work_us = scenario.work_us,
                                 .gpus = scenario.gpus,
                                 .tasks = scenario.tasks,
                                 .gpu_mem_mib = scenario.mem_mib};
  struct hr_pool_spec pool = {.name = name,
                              .gpu = gpu,
                              .nodes = NODES,
                              .gpus_per_node = GPUS,
                              .gpu_mem_mib = MEM_MIB,
                              .sharing = HR_SHARING_TIME_SLICE,
                              .memory = HR_GPU_MEMORY_FIRST_COME,
                              .replicas = scenario.replicas,
                              .interference = scenario.steps,
                              .n_interference = scenario.n_steps};
  const struct hr_cluster_spec cluster = {&pool, 1};
  struct hr_class_spec classes[HR_N_CLASSES];
  for (uint32_t i = 0; i < HR_N_CLASSES; i++) classes[i] = (struct hr_class_spec){.restart_us = scenario.restart_us};
  struct hr_observer observer = {.on_event = log_event};
  struct hr_run_config config = {.trace = &trace,
                                 .cluster = &cluster,
                                 .policy = &random_ops,
                                 .horizon_us = scenario.horizon_us,
                                 .check = true,
                                 .classes = classes,
                                 .observers = &observer,
                                 .n_observers = 1};
  struct hr_result *result;
  struct hr_error error = {0};
  scenario.n_logged = 0;
  enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status != HR_OK) printf("%s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  CU_ASSERT_FATAL(scenario.n_logged < MAX_LOGGED);
  return result;
}

/* ---- The reference clock ---- */

enum phase { NOT_PLACED, BACKING_OFF, RESTARTING, WORKING };

static struct {
  enum phase phase;
  const struct logged *at;
  int64_t until_us;                 /* phases BACKING_OFF and RESTARTING: the end of the phase */
  int64_t done;                     /* completed work in millionths of a microsecond */
  int64_t kept_us, end_us, idle_us; /* idle_us: time that the job spent in phases BACKING_OFF and RESTARTING */
  int64_t wait_s;                   /* back-off time after the next kill */
  uint32_t attempts, kills;
} clock_of[JOBS];

static bool is_on(uint32_t job, uint32_t slice, uint32_t node, uint32_t gpu) {
  return clock_of[job].at->slices[slice].node.id == node && clock_of[job].at->slices[slice].gpus >> gpu & 1;
}

static bool holds_memory(uint32_t job) {
  return clock_of[job].phase == RESTARTING || clock_of[job].phase == WORKING;
}

/* Returns the number of tasks that run on a GPU. Sets `*mib` to the memory that they use. */
static uint32_t tasks_on(uint32_t node, uint32_t gpu, uint64_t *mib) {
  uint32_t tasks = 0;
  *mib = 0;
  for (uint32_t job = 0; job < JOBS; job++)
    for (uint32_t i = 0; holds_memory(job) && i < clock_of[job].at->n_slices; i++)
      if (is_on(job, i, node, gpu)) {
        tasks++;
        *mib += scenario.mem_mib[job];
      }
  return tasks;
}

static int64_t speed_on(uint32_t node, uint32_t gpu) {
  uint64_t mib;
  uint32_t tasks = tasks_on(node, gpu, &mib), milli = tasks * (1000 / scenario.replicas), step = 0;
  int64_t turn = MILLION / tasks;
  if (tasks < 2) return MILLION;
  if (scenario.n_steps == 0) return turn;
  while (step < scenario.n_steps - 1 && milli > scenario.steps[step].up_to_milli) step++;
  return turn * scenario.steps[step].speed_ppm / MILLION;
}

static int64_t speed_of(uint32_t job) {
  int64_t least = MILLION;
  for (uint32_t i = 0; i < clock_of[job].at->n_slices; i++)
    for (uint32_t node = 0; node < NODES; node++)
      for (uint32_t gpu = 0; gpu < GPUS; gpu++)
        if (is_on(job, i, node, gpu) && speed_on(node, gpu) < least) least = speed_on(node, gpu);
  return least;
}

static void try_to_begin_execution(uint32_t job, int64_t now_us) {
  bool exceeded = false;
  clock_of[job].phase = RESTARTING;
  clock_of[job].until_us = now_us + (clock_of[job].attempts > 1 ? scenario.restart_us : 0);
  for (uint32_t node = 0; node < NODES; node++)
    for (uint32_t gpu = 0; gpu < GPUS; gpu++) {
      uint64_t mib;
      (void)tasks_on(node, gpu, &mib);
      exceeded = exceeded || mib > MEM_MIB; /* this job is the cause, because no GPU had too little memory before */
    }
  if (!exceeded) return;
  clock_of[job].phase = BACKING_OFF;
  clock_of[job].kills++;
  clock_of[job].until_us = now_us + clock_of[job].wait_s * S;
  clock_of[job].wait_s = clock_of[job].wait_s * 2 > 300 ? 300 : clock_of[job].wait_s * 2;
}

static bool is_done(uint32_t job) {
  return clock_of[job].phase == WORKING && clock_of[job].done >= scenario.work_us[job] * MILLION;
}

/* Advances the phases of all jobs at one instant. First jobs end; then retries and restarts are handled. Both are done
   in the order of job ids. */
static void advance_phases(int64_t now_us) {
  for (uint32_t job = 0; job < JOBS; job++)
    if (is_done(job)) {
      clock_of[job].phase = NOT_PLACED;
      clock_of[job].end_us = now_us;
    }
  for (uint32_t job = 0; job < JOBS; job++) {
    if (clock_of[job].phase == BACKING_OFF && clock_of[job].until_us == now_us) try_to_begin_execution(job, now_us);
    if (clock_of[job].phase == RESTARTING && clock_of[job].until_us == now_us) clock_of[job].phase = WORKING;
  }
}

static void apply_event(const struct logged *logged) {
  uint32_t job = logged->job;
  if (logged->stops) {
    clock_of[job].phase = NOT_PLACED;
    if (logged->keeps) clock_of[job].kept_us = clock_of[job].done / MILLION;
    return;
  }
  clock_of[job].at = logged;
  clock_of[job].attempts++;
  clock_of[job].done = clock_of[job].kept_us * MILLION;
  clock_of[job].wait_s = 10;
  try_to_begin_execution(job, logged->at_us);
  if (clock_of[job].phase == RESTARTING && clock_of[job].until_us == logged->at_us) clock_of[job].phase = WORKING;
}

static int64_t next_us(int64_t now_us, uint32_t n_applied) {
  int64_t next = n_applied < scenario.n_logged ? scenario.logged[n_applied].at_us : scenario.horizon_us;
  for (uint32_t job = 0; job < JOBS; job++) {
    int64_t own = INT64_MAX;
    if (clock_of[job].phase == BACKING_OFF || clock_of[job].phase == RESTARTING) own = clock_of[job].until_us;
    if (clock_of[job].phase == WORKING) {
      int64_t left = scenario.work_us[job] * MILLION - clock_of[job].done, speed = speed_of(job);
      own = now_us + (left + speed - 1) / speed;
    }
    if (own < next) next = own;
  }
  return next < scenario.horizon_us ? next : scenario.horizon_us;
}

static void advance_time(int64_t passed_us) {
  int64_t speed[JOBS];
  for (uint32_t job = 0; job < JOBS; job++) speed[job] = clock_of[job].phase == WORKING ? speed_of(job) : 0;
  for (uint32_t job = 0; job < JOBS; job++) {
    clock_of[job].done += speed[job] * passed_us;
    if (clock_of[job].phase == BACKING_OFF || clock_of[job].phase == RESTARTING) clock_of[job].idle_us += passed_us;
  }
}

static void run_clock(void) {
  int64_t now_us = 0;
  uint32_t n_applied = 0;
  memset(clock_of, 0, sizeof clock_of);
  for (uint32_t job = 0; job < JOBS; job++) clock_of[job].end_us = HR_NEVER_US;
  for (;;) {
    advance_phases(now_us);
    while (n_applied < scenario.n_logged && scenario.logged[n_applied].at_us <= now_us)
      apply_event(&scenario.logged[n_applied++]);
    if (now_us >= scenario.horizon_us) break;
    int64_t next = next_us(now_us, n_applied);
    advance_time(next - now_us);
    now_us = next;
  }
}

/* ---- Comparison ---- */

static void kills_and_ends_equal_reference_clock(void) {
  uint64_t kills = 0, ended = 0, stopped = 0;
  for (uint32_t seed = 0; seed < CASES; seed++) {
    hr__stream_init(&draws, 13, HR__PURPOSE_ARRIVAL, seed, 0);
    draw_scenario();
    struct hr_result *result = run();
    run_clock();
    for (uint32_t job = 0; job < JOBS; job++) {
      const struct hr_job_accounting copy = hr_result_accounting(result, (hr_job){job}), *accounting = &copy;
      bool same = accounting->oom_kills == clock_of[job].kills && accounting->end_us == clock_of[job].end_us &&
                  accounting->restarting_us == clock_of[job].idle_us && accounting->attempts == clock_of[job].attempts;
      if (!same) printf("seed %u, job %u: %u and %u kills\n", seed, job, accounting->oom_kills, clock_of[job].kills);
      CU_ASSERT_FATAL(same);
      kills += accounting->oom_kills;
      ended += accounting->end_us != HR_NEVER_US;
      stopped += accounting->attempts > 1;
    }
    hr_result_destroy(result);
  }
  CU_ASSERT(kills > CASES * JOBS);
  CU_ASSERT(ended > CASES * JOBS / 2);
  CU_ASSERT(stopped > CASES * JOBS / 10);
}

TEST_MAIN("claims by a clock", TEST(kills_and_ends_equal_reference_clock))
