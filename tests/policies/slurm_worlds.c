/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The policy `slurm` and a slow model make the same decisions in small random worlds: partitions that share nodes, with
 * tiers and time limits; QOS with priorities and limits; multifactor priorities with fair tree and decay; preemption by
 * QOS and by partition. Limits are never exceeded.
 */

#include "harness.h"
#include "headroom/policies.h"
#include "headroom/sim.h"
#include "headroom/unstable/systems/slurm.h"
#include "headroom/unstable/systems/systems.h"
#include "naive_slurm.h"

#include <stdlib.h>
#include <string.h>

enum { WORLDS = 10000, SEED = 20261127, END_S = 4000, UNLIMITED_S = 65535 * 60 };

static const char *const names[NAIVE_NAMES] = {"n0", "n1", "n2", "n3", "n4", "n5"};

/* A world, its configuration in both forms, and the events of Headroom. */
struct slurm_world {
  uint32_t number;
  uint64_t draw;
  struct naive_run naive;
  struct hr_slurm_config config;
  struct hr_slurm_partition parts[NAIVE_NAMES];
  struct hr_slurm_node_range ranges[NAIVE_NAMES];
  struct hr_slurm_qos qos[NAIVE_NAMES];
  struct hr_slurm_name preempts[NAIVE_NAMES][NAIVE_NAMES];
  struct hr_slurm_assoc assocs[2 * NAIVE_NAMES];
  char texts[NAIVE_NAMES][4];
  int64_t submit_us[NAIVE_JOBS], work_us[NAIVE_JOBS], limit_us[NAIVE_JOBS];
  uint32_t gpus[NAIVE_JOBS], tasks[NAIVE_JOBS], tenant[NAIVE_JOBS], user[NAIVE_JOBS], queue[NAIVE_JOBS];
  uint32_t qos_of[NAIVE_JOBS];
  struct naive_event events[NAIVE_EVENTS];
  uint32_t n_events;
};

static uint32_t below(struct slurm_world *world, uint32_t bound) {
  return hr_random_below(SEED, world->number, world->draw++, bound);
}

/* ---- The world -------------------------------------------------------------------------------------- */

static void make_partitions(struct slurm_world *world) {
  struct naive_run *naive = &world->naive;
  naive->n_parts = 1 + below(world, 3);
  for (uint32_t p = 0; p < naive->n_parts; p++) {
    uint32_t first = below(world, naive->n_nodes), count = 1 + below(world, naive->n_nodes - first);
    if (p == 0 && below(world, 2)) {
      first = 0;
      count = naive->n_nodes;
    }
    naive->parts[p] = (struct naive_part){.nodes = ((UINT64_C(1) << count) - 1) << first,
                                          .tier = 1 + below(world, 2),
                                          .factor = below(world, 4),
                                          .max_time_s = below(world, 3) ? INT64_MAX : 300,
                                          .over_s = below(world, 4) ? -1 : (int64_t)below(world, 100),
                                          .is_down = p > 0 && below(world, 8) == 0};
    world->ranges[p] = (struct hr_slurm_node_range){.pool = 0, .first = first, .count = count};
    world->parts[p] = (struct hr_slurm_partition){
        .name = world->texts[p],
        .nodes = &world->ranges[p],
        .n_nodes = 1,
        .is_default = p == 0,
        .priority_tier = naive->parts[p].tier,
        .priority_job_factor = naive->parts[p].factor,
        .max_time_us = naive->parts[p].max_time_s == INT64_MAX ? HR_UNKNOWN_US : 300 * HR_SECOND_US,
        .default_time_us = HR_UNKNOWN_US,
        .over_time_limit_us = naive->parts[p].over_s < 0 ? HR_UNKNOWN_US : naive->parts[p].over_s * HR_SECOND_US,
        .max_nodes = -1,
        .state = naive->parts[p].is_down ? HR_SLURM_DOWN : HR_SLURM_UP,
        .qos_index = HR_NONE};
  }
}

static struct hr_slurm_limits no_limits(void) {
  static const struct hr_slurm_tres none = {-1, -1, -1, -1};
  return (struct hr_slurm_limits){none, none, none, none, none, -1, -1, -1, -1, -1, -1, HR_UNKNOWN_US};
}

static void make_qos(struct slurm_world *world) {
  struct naive_run *naive = &world->naive;
  naive->n_qos = 1 + below(world, 3);
  uint32_t levels[NAIVE_NAMES]; // a QOS may preempt those of lower levels, so that the order of the queue has no cycles
  for (uint32_t q = 0; q < NAIVE_NAMES; q++) levels[q] = below(world, 3);
  for (uint32_t q = 0; q < naive->n_qos; q++) {
    bool is_limited = below(world, 3) == 0;
    struct naive_qos *of_naive = &naive->qos[q];
    *of_naive = (struct naive_qos){.priority = below(world, 5),
                                   .no_reserve = below(world, 4) == 0,
                                   .grp_jobs = is_limited && below(world, 2) ? (int64_t)below(world, 4) : -1,
                                   .grp_gpus = is_limited && below(world, 2) ? (int64_t)below(world, 12) : -1,
                                   .user_jobs = is_limited && below(world, 2) ? (int64_t)below(world, 3) : -1,
                                   .user_gpus = is_limited && below(world, 2) ? (int64_t)below(world, 8) : -1};
    struct hr_slurm_qos *qos = &world->qos[q];
    *qos = (struct hr_slurm_qos){.name = world->texts[q],
                                 .priority = of_naive->priority,
                                 .preempt = world->preempts[q],
                                 .exempt_us = HR_UNKNOWN_US,
                                 .usage_factor = 1,
                                 .flags = of_naive->no_reserve ? UINT32_C(1) << HR_SLURM_NO_RESERVE : 0,
                                 .limits = no_limits()};
    qos->limits.grp_jobs = of_naive->grp_jobs;
    qos->limits.grp_tres.gpu = of_naive->grp_gpus;
    qos->limits.max_jobs_per_user = of_naive->user_jobs;
    qos->limits.max_tres_per_user.gpu = of_naive->user_gpus;
    for (uint32_t other = 0; other < naive->n_qos; other++) {
      if (levels[other] >= levels[q]) continue;
      of_naive->preempts |= UINT32_C(1) << other;
      qos->preempt[qos->n_preempt++].text = world->texts[other];
    }
  }
}

static void add_assoc(struct slurm_world *world, uint32_t account, uint32_t user, uint32_t shares) {
  world->assocs[world->config.n_associations++] =
      (struct hr_slurm_assoc){.account = world->texts[account],
                              .user = user == HR_NONE ? NULL : world->texts[user],
                              .above = user == HR_NONE ? HR_NONE : account,
                              .fairshare = shares,
                              .default_qos_index = HR_NONE,
                              .limits = no_limits()};
}

static void make_accounts(struct slurm_world *world) {
  struct naive_run *naive = &world->naive;
  naive->n_accounts = 1 + below(world, 2);
  naive->n_users = naive->n_accounts + below(world, 3);
  for (uint32_t a = 0; a < naive->n_accounts; a++) {
    uint32_t shares = below(world, 4);
    naive->account_shares[a] = shares;
    add_assoc(world, a, HR_NONE, shares);
  }
  for (uint32_t u = 0; u < naive->n_users; u++) {
    uint32_t shares = below(world, 4);
    naive->user_account[u] = u < naive->n_accounts ? u : below(world, naive->n_accounts);
    naive->user_shares[u] = shares;
    add_assoc(world, naive->user_account[u], u, shares);
  }
}

static void make_settings(struct slurm_world *world) {
  struct naive_run *naive = &world->naive;
  naive->is_multifactor = below(world, 3) > 0;
  naive->enforces = below(world, 4) > 0;
  naive->weight_age = below(world, 2) * 100000;
  naive->weight_fairshare = below(world, 2) * 10000;
  naive->weight_size = below(world, 2) * 500;
  naive->weight_partition = below(world, 2) * 300;
  naive->weight_qos = below(world, 2) * 2000;
  naive->half_life_s = 500 + below(world, 5000);
  naive->period_s = 20 + below(world, 200);
  naive->preempts = below(world, 4) > 0;
  naive->preempts_by_qos = below(world, 2) == 0;
  naive->cancels = below(world, 2) == 0;
  naive->youngest_first = below(world, 3) == 0;
  naive->exempt_s = below(world, 2) ? 0 : 100;
  naive->min_age_s = below(world, 3) ? 0 : 45;
  naive->min_prio = below(world, 3) ? 0 : below(world, 3000);
  naive->max_job_test = naive->enforces || below(world, 3) ? NAIVE_JOBS : 1 + below(world, 5);
  naive->part_reserves = below(world, 3) ? 0 : 1 + below(world, 3);
  for (unsigned s = 0; s < HR__SLURM_N_SCOPES; s++) naive->max_tests[s] = below(world, 4) ? 0 : 1 + below(world, 4);
  naive->over_s = below(world, 2) ? -1 : below(world, 3) ? (int64_t)below(world, 100) : UNLIMITED_S;
  naive->calc_start_s = below(world, 300);
  naive->depth = below(world, 3) ? 100 : 1 + below(world, 3);
  naive->sched_interval_s = below(world, 4) ? 60 : (int64_t)below(world, 5) * 20 - 20;
  if (naive->sched_interval_s < 0) naive->sched_interval_s = -1;
  // not drawn, so that the other random numbers of a world do not change
  static const int64_t delays_s[] = {3, 7, 40, 0};
  naive->batch_delay_s = delays_s[world->number % 4];
  naive->interval_s = below(world, 2) ? 30 : 1 + below(world, 60);
  struct hr_slurm_config *config = &world->config;
  config->priority = (struct hr_slurm_priority_config){.weight_age = naive->weight_age,
                                                       .weight_fairshare = naive->weight_fairshare,
                                                       .weight_job_size = naive->weight_size,
                                                       .weight_partition = naive->weight_partition,
                                                       .weight_qos = naive->weight_qos,
                                                       .max_age_us = 604800 * HR_SECOND_US,
                                                       .calc_period_us = naive->period_s * HR_SECOND_US,
                                                       .calc_start_us = naive->calc_start_s * HR_SECOND_US,
                                                       .decay_half_life_us = (int64_t)naive->half_life_s * HR_SECOND_US,
                                                       .dampening = 1};
  config->preempt_type = !naive->preempts         ? HR_SLURM_PREEMPT_NONE
                         : naive->preempts_by_qos ? HR_SLURM_PREEMPT_QOS
                                                  : HR_SLURM_PREEMPT_PARTITION_PRIO;
  config->preempt_mode = naive->cancels ? HR_SLURM_PREEMPT_CANCEL : HR_SLURM_PREEMPT_REQUEUE;
  config->preempt_exempt_us = naive->exempt_s ? naive->exempt_s * HR_SECOND_US : HR_UNKNOWN_US;
  config->over_time_limit_us = naive->over_s < 0 ? HR_UNKNOWN_US : naive->over_s * HR_SECOND_US;
  config->preempt_youngest_first = naive->youngest_first;
  config->cpus_per_gpu = 1;
  config->enforce_limits = naive->enforces;
  config->partitions = world->parts;
  config->n_partitions = naive->n_parts;
  config->qos = world->qos;
  config->n_qos = naive->n_qos;
  config->associations = world->assocs;
}

static void make_jobs(struct slurm_world *world) {
  struct naive_run *naive = &world->naive;
  naive->n_jobs = 1 + below(world, NAIVE_JOBS);
  int64_t submit_s = 0;
  for (uint32_t i = 0; i < naive->n_jobs; i++) {
    struct naive_job *job = &naive->jobs[i];
    if (i) submit_s += below(world, 3) ? below(world, 40) : 0;
    uint32_t nodes = below(world, 3) ? 1 : 1 + below(world, naive->n_nodes),
             each = 1 + below(world, naive->gpus_per_node);
    int64_t work_s = 1 + below(world, 400);
    *job =
        (struct naive_job){.submit_s = submit_s,
                           .work_s = work_s,
                           .limit_s = below(world, 4) ? work_s + below(world, 200) : 1 + below(world, (uint32_t)work_s),
                           .gpus = nodes * each,
                           .nodes = nodes,
                           .part = below(world, naive->n_parts),
                           .qos = below(world, naive->n_qos),
                           .user = below(world, naive->n_users),
                           .shape = {nodes, each, each, 0, 0, 0}};
    world->submit_us[i] = job->submit_s * HR_SECOND_US;
    world->work_us[i] = job->work_s * HR_SECOND_US;
    world->limit_us[i] = job->limit_s * HR_SECOND_US;
    world->gpus[i] = job->gpus;
    world->tasks[i] = nodes;
    world->tenant[i] = naive->user_account[job->user];
    world->user[i] = job->user;
    world->queue[i] = job->part;
    world->qos_of[i] = job->qos;
  }
}

static void make_world(struct slurm_world *world) {
  struct naive_run *naive = &world->naive;
  for (uint32_t i = 0; i < NAIVE_NAMES; i++) memcpy(world->texts[i], names[i], 3);
  naive->n_nodes = 1 + below(world, 5);
  naive->gpus_per_node = 1 + below(world, 4);
  for (uint32_t n = 0; n < naive->n_nodes; n++) naive->gpus[n] = naive->gpus_per_node;
  make_partitions(world);
  make_qos(world);
  make_accounts(world);
  make_settings(world);
  make_jobs(world);
}

/* ---- Headroom --------------------------------------------------------------------------------------- */

static void record(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct slurm_world *world = self;
  (void)view;
  if ((event->kind != HR_EVENT_START && event->kind != HR_EVENT_PREEMPT && event->kind != HR_EVENT_INTERRUPT) ||
      world->n_events == NAIVE_EVENTS)
    return;
  uint64_t nodes = 0;
  for (uint32_t i = 0; event->kind == HR_EVENT_START && i < event->placement->n_slices; i++)
    nodes |= UINT64_C(1) << event->placement->slices[i].node.id;
  world->events[world->n_events++] = (struct naive_event){
      event->at_us / HR_SECOND_US, event->kind == HR_EVENT_START ? 's' : 'p', event->job.id, nodes};
}

static bool run_product(struct slurm_world *world) {
  static char pool_name[] = "p", gpu[] = "G";
  const struct naive_run *naive = &world->naive;
  struct hr_trace trace = {.source = "world",
                           .format = "memory",
                           .n_jobs = naive->n_jobs,
                           .submit_us = world->submit_us,
                           .work_us = world->work_us,
                           .limit_us = world->limit_us,
                           .gpus = world->gpus,
                           .tasks = world->tasks,
                           .tenant = world->tenant,
                           .user = world->user,
                           .queue = world->queue,
                           .qos = world->qos_of,
                           .tenants = {NAIVE_NAMES, names},
                           .users = {NAIVE_NAMES, names},
                           .queues = {NAIVE_NAMES, names},
                           .qos_names = {NAIVE_NAMES, names}};
  struct hr_pool_spec pool = {
      .name = pool_name, .gpu = gpu, .nodes = naive->n_nodes, .gpus_per_node = naive->gpus_per_node};
  pool.market.to_us = HR_NEVER_US;
  const struct hr_cluster_spec cluster = {.pools = &pool, .n_pools = 1};
  const struct hr_systems systems = {.slurm = &world->config};
  const struct hr_observer observer = {.self = world, .on_event = record};
  struct hr_policy_choice choice;
  struct hr_error error;
  struct hr_result *result = NULL;
  CU_ASSERT_EQUAL_FATAL(hr_policy_choice_init(&choice, "slurm", &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(
      hr_policy_choice_set(&choice, "priority", naive->is_multifactor ? "multifactor" : "basic", &error), HR_OK);
  const struct {
    const char *name;
    int64_t value;
  } numbers[] = {{"bf_min_age_reserve", naive->min_age_s},
                 {"bf_interval", naive->interval_s},
                 {"bf_min_prio_reserve", naive->min_prio},
                 {"default_queue_depth", naive->depth},
                 {"sched_interval", naive->sched_interval_s},
                 {"batch_sched_delay", naive->batch_delay_s},
                 {"bf_max_job_test", naive->max_job_test},
                 {"bf_job_part_count_reserve", naive->part_reserves},
                 {"bf_max_job_user", naive->max_tests[HR__SLURM_OF_USER]},
                 {"bf_max_job_part", naive->max_tests[HR__SLURM_OF_PARTITION]},
                 {"bf_max_job_user_part", naive->max_tests[HR__SLURM_OF_USER_PARTITION]},
                 {"bf_max_job_assoc", naive->max_tests[HR__SLURM_OF_ASSOC]}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)numbers[i].value);
    CU_ASSERT_EQUAL_FATAL(hr_policy_choice_set(&choice, numbers[i].name, text, &error), HR_OK);
  }
  const struct hr_run_config config = {.trace = &trace,
                                       .cluster = &cluster,
                                       .policy = choice.ops,
                                       .params = choice.params,
                                       .seed = 1,
                                       .horizon_us = END_S * HR_SECOND_US,
                                       .check = true,
                                       .observers = &observer,
                                       .n_observers = 1,
                                       .systems = &systems};
  bool done = hr_sim_run(&config, &result, &error) == HR_OK;
  if (!done) printf("world %u: %s\n", world->number, error.text);
  hr_result_destroy(result);
  hr_policy_choice_finish(&choice);
  return done;
}

/* ---- Comparison ------------------------------------------------------------------------------------- */

static bool same_events(const struct slurm_world *world) {
  const struct naive_run *naive = &world->naive;
  uint32_t n = world->n_events < naive->n_events ? world->n_events : naive->n_events;
  for (uint32_t i = 0; i < n; i++) {
    const struct naive_event *a = &world->events[i], *b = &naive->events[i];
    if (a->at_s == b->at_s && a->kind == b->kind && a->job == b->job && a->nodes == b->nodes) continue;
    printf("world %u: event %u: %c %u at %lld s on %llx, naive %c %u at %lld s on %llx\n", world->number, i, a->kind,
           a->job, (long long)a->at_s, (unsigned long long)a->nodes, b->kind, b->job, (long long)b->at_s,
           (unsigned long long)b->nodes);
    return false;
  }
  if (world->n_events != naive->n_events)
    printf("world %u: %u events, naive %u\n", world->number, world->n_events, naive->n_events);
  return world->n_events == naive->n_events;
}

/* Makes a world, and runs it in both ways. Returns whether the events are equal. */
static bool same_in_world(struct slurm_world *world, uint32_t number) {
  memset(world, 0, sizeof *world);
  world->number = number;
  make_world(world);
  bool done = run_product(world);
  naive_slurm_run(&world->naive, END_S);
  return done && same_events(world);
}

/* Two running jobs have the same limit; the one that was submitted first started last. The first batch of ends, and
   therefore the backfilled job, depends on the order of these two jobs. */
static void equal_ends_are_in_the_order_of_submission(void) {
  struct slurm_world *world = malloc(sizeof *world);
  CU_ASSERT_PTR_NOT_NULL_FATAL(world);
  CU_ASSERT(same_in_world(world, 24275));
  free(world);
}

static void equal_decisions_in_random_worlds(void) {
  struct slurm_world *world = malloc(sizeof *world);
  CU_ASSERT_PTR_NOT_NULL_FATAL(world);
  uint32_t n_worlds = test_argument(1, WORLDS), n_different = 0, n_started = 0, n_preempted = 0;
  for (uint32_t number = 0; number < n_worlds && n_different < 5; number++) {
    n_different += !same_in_world(world, number);
    for (uint32_t i = 0; i < world->n_events; i++) {
      n_started += world->events[i].kind == 's';
      n_preempted += world->events[i].kind == 'p';
    }
  }
  printf("%u starts, %u preemptions\n", n_started, n_preempted);
  CU_ASSERT_EQUAL(n_different, 0);
  CU_ASSERT(n_started > 3 * n_worlds && n_preempted * 20 > n_worlds);
  free(world);
}

TEST_MAIN("decisions of the model of Slurm", TEST(equal_ends_are_in_the_order_of_submission),
          TEST(equal_decisions_in_random_worlds))
