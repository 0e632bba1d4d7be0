/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Conformance tests for policies. Every policy must have these properties:
 *
 *   - No node and no pool exceeds its capacity, and every gang starts as a whole.
 *   - Every job ends or is rejected, and no job is started while it runs.
 *   - A second run gives the same digest.
 *   - All of this also applies if the queue becomes empty, and if nodes are reclaimed with or without notice. Settings
 *     that need fixed nodes run without spot capacity only.
 *   - If memory runs out, the run fails with HR_NO_MEMORY.
 *   - A policy that declares HR_POLICY_STARVES_NOBODY starts a large job although small jobs keep arriving.
 *
 * A choice is a parameter whose value is one of a list of names (HR_PARAM_CHOICE). Each policy runs with all
 * combinations of its choices that are not marked as advanced, and with each value of each advanced choice. Policies
 * with the choices `order` and `preemption` also run with each order and the preemption rules `priority` and `reclaim`,
 * with and without quotas.
 *
 *   conformance [POLICY[:key=value,...]...]
 *
 * POLICY: a name or the path of a shared object; default: all built-in policies.
 */

#include "holds.h"
#include "scarce_memory.h"
#include "tracker.h"

#include "headroom/policies.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_JOBS = 80, N_SEEDS = 6, N_MODELS = 2, N_POOLS = 2 };

/* ---- Workloads -------------------------------------------------------------------------------------- */

/* FIXED_NODES: no spot capacity. The other kinds have a pool of spot nodes that are reclaimed with or without notice.
 */
enum kind { FIXED_NODES, SPOT_WITH_NOTICE, SPOT_WITHOUT_NOTICE, N_KINDS };

struct workload {
  enum kind kind;
  int64_t submit_us[MAX_JOBS], work_us[MAX_JOBS], limit_us[MAX_JOBS], deadline_us[MAX_JOBS];
  uint32_t gpus[MAX_JOBS], model[MAX_JOBS], tenant[MAX_JOBS], user[MAX_JOBS];
  int32_t priority[MAX_JOBS];
  uint16_t gpu_milli[MAX_JOBS];
  struct hr_trace trace;
  struct hr_speed_row rows[N_MODELS];
  uint32_t speeds_ppm[(N_MODELS + 1) * N_POOLS];
  struct hr_speeds speeds; /* without rows every job has speed 1 */
  struct hr_level_step levels[6];
  struct hr_pool_spec pools[N_POOLS];
  struct hr_cluster_spec cluster;
  struct hr_class_spec classes[HR_N_CLASSES];
};

/* Tenants a and b are in a cohort, which may borrow at most 3 GPUs. Tenant c is outside the cohort and may use at most
   4 GPUs. Tenant d has no quota. Amounts are in thousandths of a GPU. */
static char quota_names[][8] = {"cohort", "a", "b", "c"};
#define NO HR_NO_LIMIT
static struct hr_quota_node quota_nodes[] = {{quota_names[0], HR_NONE, false, 0, 3000, NO, NO, 1},
                                             {quota_names[1], 0, true, 4000, NO, 1000, NO, 1},
                                             {quota_names[2], 0, true, 2000, NO, NO, 6000, 2},
                                             {quota_names[3], HR_NONE, true, 2000, NO, NO, 4000, 1}};
static const struct hr_quota_spec quotas = {quota_nodes, 4, {NULL, HR_NONE, true, 0, NO, NO, NO, 1}};
static const char *const tenants[] = {"a", "b", "c", "d"}, *const users[] = {"u", "v"};

static uint64_t random_state;

/* Returns a random number from 0 to `below` - 1. */
static uint32_t draw(uint32_t below) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((random_state >> 33) % below);
}

/* Creates random jobs in bursts, with pauses in which the queue becomes empty. Times are whole minutes, for policies
   that plan in time slots. */
static void draw_jobs(struct workload *workload) {
  int64_t minute_us = 60 * HR_SECOND_US, at_us = 0;
  uint32_t n_jobs = workload->kind == FIXED_NODES ? MAX_JOBS : MAX_JOBS / 4;
  for (uint32_t i = 0; i < n_jobs; i++) {
    at_us += minute_us * (i % 16 == 0 ? 600 : draw(3));
    workload->submit_us[i] = at_us;
    workload->work_us[i] = minute_us * (draw(12) ? 1 + draw(20) : 0);
    workload->limit_us[i] = workload->work_us[i] * (1 + draw(2));
    workload->deadline_us[i] = at_us + minute_us * 240;
    workload->gpus[i] = draw(10) ? 1 + draw(draw(4) ? 4 : 10) : draw(2) * 40;
  }
  for (uint32_t i = 0; i < n_jobs; i++) {
    workload->tenant[i] = draw(5) ? draw(4) : HR_NONE;
    workload->user[i] = draw(2);
    workload->priority[i] = (int32_t)draw(4);
  }
  workload->trace = (struct hr_trace){.source = "random",
                                      .n_jobs = n_jobs,
                                      .submit_us = workload->submit_us,
                                      .work_us = workload->work_us,
                                      .limit_us = workload->limit_us,
                                      .deadline_us = workload->deadline_us,
                                      .gpus = workload->gpus,
                                      .tenant = workload->tenant,
                                      .user = workload->user,
                                      .priority = workload->priority,
                                      .tenants = {4, tenants},
                                      .users = {2, users}};
}

/* Creates two pools. The second pool is spot capacity that changes with time, unless the kind is FIXED_NODES. */
static void draw_cluster(struct workload *workload) {
  static char names[2][8] = {"first", "second"}, gpu[] = "A100-40";
  for (uint32_t i = 0; i < 2; i++) {
    workload->pools[i] = (struct hr_pool_spec){.name = names[i],
                                               .gpu = gpu,
                                               .nodes = 2 + draw(3),
                                               .gpus_per_node = workload->kind == FIXED_NODES && i == 0 ? 2 : 4};
    workload->pools[i].market.to_us = HR_NEVER_US;
    workload->pools[i].market.price_uusd_h = 1000000 * (2 - i);
  }
  if (workload->kind != FIXED_NODES) {
    struct hr_market_spec *market = &workload->pools[1].market;
    int64_t at_us = 0;
    for (uint32_t i = 0; i < 6; i++) {
      workload->levels[i] = (struct hr_level_step){at_us, i % 2 ? draw(2) : workload->pools[1].nodes};
      at_us += 60 * HR_SECOND_US * (20 + draw(40));
    }
    workload->pools[0].market.market = HR_MARKET_ON_DEMAND;
    market->market = HR_MARKET_SPOT;
    market->spot = (struct hr_spot_spec){.model = HR_SPOT_TRACE,
                                         .levels = workload->levels,
                                         .n_levels = 6,
                                         .period_us = at_us,
                                         .notice_us = workload->kind == SPOT_WITH_NOTICE ? 120 * HR_SECOND_US : 0};
  }
  workload->cluster = (struct hr_cluster_spec){workload->pools, 2};
}

/* Reduces jobs to the size of the first pool, so that policies that never use spot capacity can run them. Jobs of 40
   GPUs are not changed: they fit into no pool and must be rejected. */
static void fit_into_first_pool(struct workload *workload) {
  uint32_t capacity = workload->pools[0].nodes * workload->pools[0].gpus_per_node;
  for (uint32_t i = 0; i < workload->trace.n_jobs; i++)
    if (workload->gpus[i] > capacity && workload->gpus[i] < 40) workload->gpus[i] = capacity;
}

static void draw_workload(struct workload *workload, enum kind kind, uint64_t seed) {
  random_state = seed * 977 + kind;
  *workload = (struct workload){.kind = kind};
  draw_jobs(workload);
  draw_cluster(workload);
  if (kind != FIXED_NODES) fit_into_first_pool(workload);
  for (uint32_t i = 0; i < HR_N_CLASSES; i++)
    workload->classes[i] = (struct hr_class_spec){.checkpoint = HR_CHECKPOINT_ON_NOTICE, .write_us = HR_SECOND_US};
}

/* Gives jobs one of two models or no model. Each model has a random speed on each pool. */
static void draw_speeds(struct workload *workload) {
  static char names[N_MODELS][8] = {"a", "b"};
  static const char *const models[N_MODELS] = {names[0], names[1]};
  for (uint32_t i = 0; i < workload->trace.n_jobs; i++) {
    uint32_t model = draw(N_MODELS + 1);
    workload->model[i] = model < N_MODELS ? model : HR_NONE;
  }
  for (uint32_t i = 0; i < N_MODELS; i++) workload->rows[i] = (struct hr_speed_row){names[i], 1};
  for (uint32_t i = 0; i < (N_MODELS + 1) * N_POOLS; i++) workload->speeds_ppm[i] = 250000 + draw(3000000);
  workload->trace.model = workload->model;
  workload->trace.models = (struct hr_names){N_MODELS, models};
  workload->speeds =
      (struct hr_speeds){.rows = workload->rows, .n_rows = N_MODELS, .n_pools = N_POOLS, .ppm = workload->speeds_ppm};
}

/* ---- Runs ------------------------------------------------------------------------------------------- */

static unsigned n_runs, n_failed, n_accepted, n_rejected;
static bool with_quotas;

/* Makes the GPUs of both pools shared. Jobs of one GPU then request a fraction of it. */
static void share_gpus(struct workload *workload) {
  for (uint32_t i = 0; i < N_POOLS; i++) workload->pools[i].sharing = HR_SHARING_FRACTION;
  for (uint32_t i = 0; i < workload->trace.n_jobs; i++)
    workload->gpu_milli[i] = (uint16_t)(workload->gpus[i] == 1 ? 1 + draw(1000) : 1000);
  workload->trace.gpu_milli = workload->gpu_milli;
}

static bool is_shared(const struct workload *workload) {
  return workload->pools[0].sharing != HR_SHARING_WHOLE;
}

/* Returns whether a run was rejected because the setting supports only whole GPUs. Counts such runs and accepted ones.
 */
static bool is_rejected_setting(const struct workload *workload, enum hr_status status) {
  bool rejected = is_shared(workload) && status == HR_BAD_INPUT;
  n_rejected += rejected;
  n_accepted += is_shared(workload) && !rejected;
  return rejected;
}

/* Prints a failure, with the policy's parameters that differ from their defaults. */
static void fail(const struct hr_policy_choice *choice, const char *property, const char *text) {
  printf("FAILED: %s", choice->ops->name);
  for (size_t i = 0; i < choice->n_params; i++) {
    char buffer[32];
    const char *value = hr_policy_choice_text(choice, i, buffer);
    if (strcmp(value, choice->ops->params[i].fallback) != 0) printf(" %s=%s", choice->ops->params[i].key, value);
  }
  if (with_quotas) printf(" with quotas");
  printf(": %s: %s\n", property, text);
  n_failed++;
}

enum { UNCHECKED, CHECKED }; /* values of `check`: checked mode takes most of the time of a run */

/* Runs the workload. The caller destroys `*result`. `check`: checked mode. */
static enum hr_status run_with(const struct workload *workload, const struct hr_policy_choice *choice, bool check,
                               const struct hr_observer *observers, uint32_t n_observers, struct hr_result **result,
                               struct hr_error *error) {
  struct hr_run_config config = {.trace = &workload->trace,
                                 .cluster = &workload->cluster,
                                 .policy = choice->ops,
                                 .params = choice->params,
                                 .seed = 1,
                                 .horizon_us = HR_NEVER_US,
                                 .check = check,
                                 .classes = workload->classes,
                                 .observers = observers,
                                 .n_observers = n_observers,
                                 .quotas = with_quotas ? &quotas : NULL,
                                 .speeds = workload->speeds.n_rows ? &workload->speeds : NULL};
  *result = NULL;
  n_runs++;
  return hr_sim_run(&config, result, error);
}

static enum hr_status run(const struct workload *workload, const struct hr_policy_choice *choice,
                          const struct hr_observer *observer, struct hr_result **result, struct hr_error *error) {
  return run_with(workload, choice, observer ? CHECKED : UNCHECKED, observer, observer != NULL, result, error);
}

/* Runs the workload again, with observers that request the wait reasons of jobs at each instant. The digest must be the
   same, and the wait reasons must be correct. */
static void check_repeated_run(const struct workload *workload, const struct hr_policy_choice *choice,
                               uint64_t digest) {
  struct hr_observer observers[HOLDS_FOLDS];
  struct hr_result *again;
  struct hr_error error;
  struct holds holds;
  if (!holds_init(&holds, &workload->trace)) abort();
  holds_observers(&holds, observers);
  if (run_with(workload, choice, UNCHECKED, observers, HOLDS_FOLDS, &again, &error) == HR_OK) {
    holds_check_end(&holds, again);
    if (again->digest != digest) fail(choice, "determinism", "a second run has another digest");
    if (holds.fault[0]) fail(choice, "explanations", holds.fault);
    hr_result_destroy(again);
  }
  holds_finish(&holds);
}

/* Verifies a run and a repetition of it. */
static void check_run(const struct workload *workload, const struct hr_policy_choice *choice) {
  static const char *const properties[N_KINDS] = {"fixed nodes", "spot nodes with notice", "spot nodes without notice"};
  struct hr_error error = {0};
  struct hr_result *result;
  struct tracker tracker;
  if (!tracker_init(&tracker, &workload->trace, &workload->cluster)) abort();
  struct hr_observer observer = tracker_observer(&tracker);
  enum hr_status status = run(workload, choice, &observer, &result, &error);
  bool rejected = is_rejected_setting(workload, status);
  if (status != HR_OK && !rejected) fail(choice, properties[workload->kind], error.text);
  if (status == HR_OK) tracker_check_end(&tracker, result);
  if (tracker.fault[0]) fail(choice, properties[workload->kind], tracker.fault);
  if (status == HR_OK) check_repeated_run(workload, choice, result->digest);
  hr_result_destroy(result);
  tracker_finish(&tracker);
}

/* Runs the workload with 0, 1, 2, ... allowed allocations until it succeeds. All runs before must fail with
   HR_NO_MEMORY. */
static void check_out_of_memory(const struct workload *workload, const struct hr_policy_choice *choice) {
  struct hr_error error;
  struct hr_result *result;
  for (long allowed = 0;; allowed++) {
    memory_ends_after(allowed, true);
    enum hr_status status = run(workload, choice, NULL, &result, &error);
    bool failed = memory_is_ample();
    hr_result_destroy(result);
    if (!failed && (status == HR_OK || is_rejected_setting(workload, status))) return;
    if (status == HR_NO_MEMORY && failed) continue;
    fail(choice, "out of memory", hr_status_meaning(status));
    return;
  }
}

/* Submits a job of 2 GPUs and 10 minutes every minute: they need 20 GPUs, but the pool has at most 16. Job LARGE needs
   all nodes of the pool. A policy that promises that no job starves must start it before more than half of all jobs
   have started. */
static void check_starvation(const struct hr_policy_choice *choice) {
  static struct workload workload;
  enum { LARGE = 5 };
  struct hr_error error;
  struct hr_result *result;
  draw_workload(&workload, FIXED_NODES, 1);
  for (uint32_t i = 0; i < MAX_JOBS; i++) {
    workload.submit_us[i] = 60 * HR_SECOND_US * i;
    workload.work_us[i] = workload.limit_us[i] = 600 * HR_SECOND_US;
    workload.gpus[i] = i == LARGE ? workload.pools[1].nodes * 4 : 2;
  }
  workload.cluster.pools = &workload.pools[1];
  workload.cluster.n_pools = 1;
  if (run(&workload, choice, NULL, &result, &error) != HR_OK) {
    fail(choice, "starvation", error.text);
    return;
  }
  uint32_t n_before = 0;
  bool promised = (result->abilities & HR_POLICY_STARVES_NOBODY) != 0;
  for (uint32_t i = 0; i < MAX_JOBS; i++) n_before += result->start_us[i] < result->start_us[LARGE];
  if (promised && n_before > MAX_JOBS / 2)
    fail(choice, "starvation", "more than half of all jobs start before the large job");
  hr_result_destroy(result);
}

/* ---- Policies --------------------------------------------------------------------------------------- */

/* Returns the value of a choice as its index in the list of names; 0: the policy has no such choice. */
static int64_t value_of(const struct hr_policy_choice *choice, const char *key) {
  for (size_t i = 0; i < choice->n_params; i++)
    if (strcmp(choice->ops->params[i].key, key) == 0) return choice->params[i].integer;
  return 0;
}

/* Returns whether the placement needs per-GPU allocation: all placements after the first four, which use only numbers
   of free GPUs. */
static bool needs_per_gpu_allocation(const struct hr_policy_choice *choice) {
  enum { BY_NODE = 4 };
  return strcmp(choice->ops->name, "queue") == 0 && value_of(choice, "placement") >= BY_NODE;
}

/* Returns whether `param` is the parameter `key` and has the value `value`. */
static bool has_value(const struct hr_param *param, const struct hr_policy_choice *choice, const char *key,
                      const char *value) {
  char buffer[32];
  size_t index = (size_t)(param - choice->ops->params);
  return strcmp(param->key, key) == 0 && strcmp(hr_policy_choice_text(choice, index, buffer), value) == 0;
}

/* Returns whether a setting works with fixed nodes only: the placement `pool`, which does not select nodes, and elastic
   jobs. */
static bool needs_fixed_nodes(const struct hr_policy_choice *choice) {
  static const char *const settings[][2] = {
      {"placement", "pool"}, {"elastic", "start"}, {"elastic", "grow"}, {"elastic", "shrink"}, {"recovery", "shrink"}};
  for (size_t i = 0; i < choice->n_params; i++)
    for (size_t k = 0; k < sizeof settings / sizeof *settings; k++)
      if (has_value(&choice->ops->params[i], choice, settings[k][0], settings[k][1])) return true;
  return false;
}

/* Returns whether a combination of parameters is skipped. If the environment variable HEADROOM_CONFORMANCE_STEP is N,
   only every Nth combination is checked, because runs with sanitizers are slow. */
static bool is_skipped(void) {
  static uint32_t n_settings;
  const char *text = getenv("HEADROOM_CONFORMANCE_STEP");
  uint32_t step = text ? (uint32_t)strtoul(text, NULL, 10) : 1;
  return step > 1 && n_settings++ % step != 0;
}

/* Checks the current parameters of a policy on all kinds of workloads. */
static void check_setting(const struct hr_policy_choice *choice) {
  static struct workload workload;
  if (is_skipped()) return;
  for (enum kind kind = FIXED_NODES; kind < N_KINDS; kind++)
    for (uint64_t seed = 1; seed <= N_SEEDS && !(kind != FIXED_NODES && needs_fixed_nodes(choice)); seed++) {
      draw_workload(&workload, kind, seed);
      if (needs_per_gpu_allocation(choice)) share_gpus(&workload);
      if (seed % 2 == 0) draw_speeds(&workload);
      check_run(&workload, choice);
      if (seed <= 2) check_out_of_memory(&workload, choice); /* seed 1: without speeds; seed 2: with speeds */
    }
  if (!needs_per_gpu_allocation(choice)) check_starvation(choice);
}

/* Checks all combinations of the choices from parameter `index` on, without advanced choices. */
static void check_combinations(struct hr_policy_choice *choice, size_t index) {
  while (index < choice->n_params &&
         (choice->ops->params[index].type != HR_PARAM_CHOICE || choice->ops->params[index].advanced))
    index++;
  if (index == choice->n_params) {
    check_setting(choice);
    return;
  }
  struct hr_param_value saved = choice->params[index];
  for (int64_t i = 0; choice->ops->params[index].choices[i]; i++) {
    choice->params[index].integer = i;
    check_combinations(choice, index + 1);
  }
  choice->params[index] = saved;
}

/* Checks each value of each advanced choice, except the current value, which check_combinations checks, and except the
   choice `carbon`, which needs a series of carbon intensities. The other parameters are unchanged. */
static void check_advanced_choices(struct hr_policy_choice *choice) {
  for (size_t index = 0; index < choice->n_params; index++) {
    const struct hr_param *param = &choice->ops->params[index];
    struct hr_param_value saved = choice->params[index];
    if (param->type != HR_PARAM_CHOICE || !param->advanced || strcmp(param->key, "carbon") == 0) continue;
    for (int64_t i = 0; param->choices[i]; i++) {
      choice->params[index].integer = i;
      if (i != saved.integer) check_setting(choice);
    }
    choice->params[index] = saved;
  }
}

/* Sets a choice to its next value; the first value follows the last. */
static void set_next_value(struct hr_policy_choice *choice, const char *key) {
  for (size_t i = 0; i < choice->n_params; i++)
    if (strcmp(choice->ops->params[i].key, key) == 0 && !choice->ops->params[i].choices[++choice->params[i].integer])
      choice->params[i].integer = 0;
}

/* Returns the parameter of a choice; NULL: the policy has no such choice. */
static const struct hr_param *find_choice(const struct hr_policy_choice *choice, const char *key) {
  for (size_t i = 0; i < choice->n_params; i++)
    if (choice->ops->params[i].type == HR_PARAM_CHOICE && strcmp(choice->ops->params[i].key, key) == 0)
      return &choice->ops->params[i];
  return NULL;
}

/* Checks each order with the preemption rules that all orders support, with and without quotas. Combinations with
   further choices would be too many. So the choices `backfill` and `victims` take their next value in each run, and
   `placement` and `preempted` in every second run. */
static void check_preemption(struct hr_policy_choice *choice) {
  static const char *const preemptions[] = {"priority", "reclaim"}, *const others[] = {"backfill", "victims"};
  const struct hr_param *order = find_choice(choice, "order");
  struct hr_error error;
  if (!order || !find_choice(choice, "preemption")) return;
  for (uint32_t i = 0; order->choices[i]; i++)
    for (uint32_t k = 0; k < 4; k++) {
      choice->params[order - choice->ops->params].integer = i;
      if (hr_policy_choice_set(choice, "preemption", preemptions[k % 2], &error) != HR_OK) return;
      with_quotas = k / 2 == 0;
      for (uint32_t o = 0; o < 2; o++) set_next_value(choice, others[o]);
      if (k % 2) set_next_value(choice, "placement");
      if (k % 2 == 0) set_next_value(choice, "preempted");
      check_setting(choice);
    }
  with_quotas = false;
}

/* Parses "POLICY[:key=value,...]". Changes `text`. */
static enum hr_status parse_policy(struct hr_policy_choice *choice, char *text, struct hr_error *error) {
  char *pairs = strchr(text, ':');
  if (pairs) *pairs++ = '\0';
  enum hr_status status = hr_policy_choice_init(choice, text, error);
  for (char *pair = pairs ? strtok(pairs, ",") : NULL; pair && status == HR_OK; pair = strtok(NULL, ",")) {
    char *value = strchr(pair, '=');
    if (!value) return hr_fail(error, HR_BAD_INPUT, "'%s' is not key=value", pair);
    *value++ = '\0';
    status = hr_policy_choice_set(choice, pair, value, error);
  }
  return status;
}

static int check_policy(const char *name) {
  struct hr_policy_choice choice = {0};
  struct hr_error error;
  char *text = strdup(name);
  if (!text) return EXIT_FAILURE;
  enum hr_status status = parse_policy(&choice, text, &error);
  n_runs = n_failed = n_accepted = n_rejected = 0;
  if (status == HR_OK) {
    check_combinations(&choice, 0);
    check_advanced_choices(&choice);
    check_preemption(&choice);
    if (n_rejected > 0 && n_accepted < n_rejected / 20)
      fail(&choice, "shared GPUs", "nearly all settings were rejected");
    printf("%s: %u runs, %u failed\n", name, n_runs, n_failed);
  } else {
    printf("FAILED: %s\n", error.text);
  }
  hr_policy_choice_finish(&choice);
  free(text);
  return status == HR_OK && n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv) {
  int code = EXIT_SUCCESS;
  hr_init();
  for (int i = 1; i < argc; i++)
    if (check_policy(argv[i]) != EXIT_SUCCESS) code = EXIT_FAILURE;
  for (const struct hr_policy_ops *const *at = hr_policies(); argc == 1 && *at; at++)
    if (check_policy((*at)->name) != EXIT_SUCCESS) code = EXIT_FAILURE;
  return code;
}
