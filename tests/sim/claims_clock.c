/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs that find too little GPU memory, under a policy that places and stops at random, compared with a simple clock
   that knows only placements and stops: it scans all jobs at every step and computes kills, retries and ends, to the
   microsecond. */

#include "base/random.h"
#include "harness.h"
#include "headroom/sim.h"

#include <string.h>

#define S HR_SECOND_US
#define MILLION INT64_C(1000000)

enum { JOBS = 24, NODES = 2, GPUS = 2, MAX_TASKS = 2, CASES = 100, MAX_LOGGED = 20000, STEPS = 2, MEM_MIB = 16384 };

/* Events as reported by the engine: a job was placed or stopped. When jobs end is computed by the clock. */
struct told {
  int64_t at_us;
  uint32_t job;
  bool stops, keeps; /* stopped; with its completed work */
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
  struct told told[MAX_LOGGED];
  uint32_t n_told;
} world;

static struct hr__stream draws;

static uint32_t draw(uint32_t below) {
  return hr__stream_next(&draws) % below;
}

/* ---- The run ---- */

static void draw_world(void) {
  static const uint64_t memories[] = {0, 3000, 6000, 9000, 12000, 16384};
  for (uint32_t i = 0; i < JOBS; i++) {
    world.submit_us[i] = (i ? world.submit_us[i - 1] : 0) + draw(60) * S + draw(3);
    world.work_us[i] = 1 + draw(400) * S + draw(1000000);
    world.tasks[i] = 1 + draw(4) / 3;
    world.gpus[i] = world.tasks[i] * (1 + draw(GPUS));
    world.mem_mib[i] = memories[draw(6)];
  }
  for (uint32_t i = 0; i < STEPS; i++)
    world.steps[i] = (struct hr_interference_step){600 * (i + 1), 1000000 - (i + 1) * draw(300000)};
  world.n_steps = draw(2) * STEPS;
  world.steps[STEPS - 1].up_to_milli = 1000;
  world.replicas = 2 + draw(4);
  world.restart_us = draw(2) * (1 + draw(50)) * S;
  world.horizon_us = (2000 + draw(4000)) * S;
}

static enum hr_status no_create(const struct hr_policy_env *env, void **self, struct hr_error *error) {
  (void)env;
  (void)self;
  (void)error;
  return HR_OK;
}

/* On the same GPUs. */
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

/* Stops some jobs, at once or with notice, with or without their work, and starts some; sometimes in a plan that is
   rolled back. */
static enum hr_status act(void *self, const struct hr_view *view, struct hr_moves *plan) {
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

static const struct hr_policy_ops chance_ops = {.abi = HR_POLICY_ABI,
                                                .size = sizeof chance_ops,
                                                .name = "chance",
                                                .create = no_create,
                                                .decide = act,
                                                .abilities = stops};

static void hear(void *self, const struct hr_view *view, const struct hr_event *event) {
  (void)self;
  (void)view;
  bool stops = event->kind == HR_EVENT_PREEMPT || event->kind == HR_EVENT_INTERRUPT;
  if ((!stops && event->kind != HR_EVENT_START) || world.n_told == MAX_LOGGED) return;
  struct told *told = &world.told[world.n_told++];
  *told = (struct told){
      .at_us = event->at_us, .job = event->job.id, .stops = stops, .keeps = event->reason == HR_REASON_PREEMPTED};
  told->n_slices = event->placement->n_slices;
  for (uint32_t i = 0; i < told->n_slices; i++) told->slices[i] = event->placement->slices[i];
}

static struct hr_result *run(void) {
  static char name[] = "p", gpu[] = "T4";
  const struct hr_trace trace = {.source = "test",
                                 .n_jobs = JOBS,
                                 .submit_us = world.submit_us,
                                 .work_us = world.work_us,
                                 .gpus = world.gpus,
                                 .tasks = world.tasks,
                                 .gpu_mem_mib = world.mem_mib};
  struct hr_pool_spec pool = {.name = name,
                              .gpu = gpu,
                              .nodes = NODES,
                              .gpus_per_node = GPUS,
                              .gpu_mem_mib = MEM_MIB,
                              .sharing = HR_SHARING_TIME_SLICE,
                              .memory = HR_GPU_MEMORY_FIRST_COME,
                              .replicas = world.replicas,
                              .interference = world.steps,
                              .n_interference = world.n_steps};
  const struct hr_cluster_spec cluster = {&pool, 1};
  struct hr_class_spec classes[HR_N_CLASSES];
  for (uint32_t i = 0; i < HR_N_CLASSES; i++) classes[i] = (struct hr_class_spec){.restart_us = world.restart_us};
  struct hr_observer observer = {.on_event = hear};
  struct hr_run_config config = {.trace = &trace,
                                 .cluster = &cluster,
                                 .policy = &chance_ops,
                                 .horizon_us = world.horizon_us,
                                 .check = true,
                                 .classes = classes,
                                 .observers = &observer,
                                 .n_observers = 1};
  struct hr_result *result;
  struct hr_error error = {0};
  world.n_told = 0;
  enum hr_status status = hr_sim_run(&config, &result, &error);
  if (status != HR_OK) printf("%s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  CU_ASSERT_FATAL(world.n_told < MAX_LOGGED);
  return result;
}

/* ---- The simple clock ---- */

enum doing { AWAY, DEAD, RESTARTING, WORKING };

static struct {
  enum doing doing;
  const struct told *at;
  int64_t until_us;                 /* of killed and restarting jobs */
  int64_t done;                     /* millionths of a microsecond */
  int64_t kept_us, end_us, idle_us; /* idle: killed or restarting */
  int64_t wait_s;                   /* of killed jobs: the next try */
  uint32_t attempts, kills;
} clock_of[JOBS];

static bool is_on(uint32_t job, uint32_t slice, uint32_t node, uint32_t gpu) {
  return clock_of[job].at->slices[slice].node.id == node && clock_of[job].at->slices[slice].gpus >> gpu & 1;
}

static bool is_up(uint32_t job) {
  return clock_of[job].doing == RESTARTING || clock_of[job].doing == WORKING;
}

/* Tasks that run on a GPU, and the memory that they use. */
static uint32_t tasks_on(uint32_t node, uint32_t gpu, uint64_t *mib) {
  uint32_t tasks = 0;
  *mib = 0;
  for (uint32_t job = 0; job < JOBS; job++)
    for (uint32_t i = 0; is_up(job) && i < clock_of[job].at->n_slices; i++)
      if (is_on(job, i, node, gpu)) {
        tasks++;
        *mib += world.mem_mib[job];
      }
  return tasks;
}

static int64_t speed_on(uint32_t node, uint32_t gpu) {
  uint64_t mib;
  uint32_t tasks = tasks_on(node, gpu, &mib), milli = tasks * (1000 / world.replicas), step = 0;
  int64_t turn = MILLION / tasks;
  if (tasks < 2) return MILLION;
  if (world.n_steps == 0) return turn;
  while (step < world.n_steps - 1 && milli > world.steps[step].up_to_milli) step++;
  return turn * world.steps[step].speed_ppm / MILLION;
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
  bool over = false;
  clock_of[job].doing = RESTARTING;
  clock_of[job].until_us = now_us + (clock_of[job].attempts > 1 ? world.restart_us : 0);
  for (uint32_t node = 0; node < NODES; node++)
    for (uint32_t gpu = 0; gpu < GPUS; gpu++) {
      uint64_t mib;
      (void)tasks_on(node, gpu, &mib);
      over = over || mib > MEM_MIB; /* there was none before */
    }
  if (!over) return;
  clock_of[job].doing = DEAD;
  clock_of[job].kills++;
  clock_of[job].until_us = now_us + clock_of[job].wait_s * S;
  clock_of[job].wait_s = clock_of[job].wait_s * 2 > 300 ? 300 : clock_of[job].wait_s * 2;
}

static bool is_done(uint32_t job) {
  return clock_of[job].doing == WORKING && clock_of[job].done >= world.work_us[job] * MILLION;
}

/* Ends come first, then retries, by number. */
static void turn(int64_t now_us) {
  for (uint32_t job = 0; job < JOBS; job++)
    if (is_done(job)) {
      clock_of[job].doing = AWAY;
      clock_of[job].end_us = now_us;
    }
  for (uint32_t job = 0; job < JOBS; job++) {
    if (clock_of[job].doing == DEAD && clock_of[job].until_us == now_us) try_to_begin_execution(job, now_us);
    if (clock_of[job].doing == RESTARTING && clock_of[job].until_us == now_us) clock_of[job].doing = WORKING;
  }
}

static void hear_again(const struct told *told) {
  uint32_t job = told->job;
  if (told->stops) {
    clock_of[job].doing = AWAY;
    if (told->keeps) clock_of[job].kept_us = clock_of[job].done / MILLION;
    return;
  }
  clock_of[job].at = told;
  clock_of[job].attempts++;
  clock_of[job].done = clock_of[job].kept_us * MILLION;
  clock_of[job].wait_s = 10;
  try_to_begin_execution(job, told->at_us);
  if (clock_of[job].doing == RESTARTING && clock_of[job].until_us == told->at_us) clock_of[job].doing = WORKING;
}

static int64_t next_us(int64_t now_us, uint32_t n_heard) {
  int64_t next = n_heard < world.n_told ? world.told[n_heard].at_us : world.horizon_us;
  for (uint32_t job = 0; job < JOBS; job++) {
    int64_t own = INT64_MAX;
    if (clock_of[job].doing == DEAD || clock_of[job].doing == RESTARTING) own = clock_of[job].until_us;
    if (clock_of[job].doing == WORKING) {
      int64_t left = world.work_us[job] * MILLION - clock_of[job].done, speed = speed_of(job);
      own = now_us + (left + speed - 1) / speed;
    }
    if (own < next) next = own;
  }
  return next < world.horizon_us ? next : world.horizon_us;
}

static void pass(int64_t passed_us) {
  int64_t speed[JOBS];
  for (uint32_t job = 0; job < JOBS; job++) speed[job] = clock_of[job].doing == WORKING ? speed_of(job) : 0;
  for (uint32_t job = 0; job < JOBS; job++) {
    clock_of[job].done += speed[job] * passed_us;
    if (clock_of[job].doing == DEAD || clock_of[job].doing == RESTARTING) clock_of[job].idle_us += passed_us;
  }
}

static void run_clock(void) {
  int64_t now_us = 0;
  uint32_t n_heard = 0;
  memset(clock_of, 0, sizeof clock_of);
  for (uint32_t job = 0; job < JOBS; job++) clock_of[job].end_us = HR_NEVER_US;
  for (;;) {
    turn(now_us);
    while (n_heard < world.n_told && world.told[n_heard].at_us <= now_us) hear_again(&world.told[n_heard++]);
    if (now_us >= world.horizon_us) break;
    int64_t next = next_us(now_us, n_heard);
    pass(next - now_us);
    now_us = next;
  }
}

/* ---- Comparison ---- */

static void each_dies_and_ends_as_the_clock_says(void) {
  uint64_t kills = 0, ended = 0, stopped = 0;
  for (uint32_t seed = 0; seed < CASES; seed++) {
    hr__stream_init(&draws, 13, HR__PURPOSE_ARRIVAL, seed, 0);
    draw_world();
    struct hr_result *result = run();
    run_clock();
    for (uint32_t job = 0; job < JOBS; job++) {
      const struct hr_job_accounting *accounting = &result->accounting[job];
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

TEST_MAIN("claims by a clock", TEST(each_dies_and_ends_as_the_clock_says))
