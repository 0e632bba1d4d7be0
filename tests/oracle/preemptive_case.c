/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Creates random workloads for the preemptive orders, runs them by Headroom and by the naive scheduler, and compares
   the outcomes of each job. */

#include "preemptive_case.h"
#include "headroom/trace_files.h"
#include "or_abort.h"

#include "base/random.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const order_names[] = {"srtf", "las", "gittins"};

bool preemptive_has_order(const char *order) {
  for (size_t i = 0; i < NAIVE_PREEMPTIVE_ORDERS; i++)
    if (strcmp(order_names[i], order) == 0) return true;
  return false;
}

/* Formats a time as seconds with six decimals, such as "12.000003". `buffer`: at least 32 bytes. */
static const char *seconds(int64_t us, char *buffer) {
  snprintf(buffer, 32, "%" PRId64 ".%06" PRId64, us / HR_SECOND_US, us % HR_SECOND_US);
  return buffer;
}

void preemptive_outcome_finish(struct preemptive_outcome *outcome) {
  free(outcome->job);
}

/* ---- Random cases --------------------------------------------------------------------------------------- */

static uint32_t below(struct hr__stream *stream, uint32_t bound) {
  return hr__stream_next(stream) % bound;
}

static bool chance(struct hr__stream *stream, uint32_t percent) {
  return below(stream, 100) < percent;
}

/* Returns a number of GPUs: often at most 3, otherwise any number up to the capacity, rarely more than the capacity,
   and rarely 0. */
static uint32_t random_gpus(struct hr__stream *stream, uint32_t capacity) {
  if (chance(stream, 8)) return 0;
  if (chance(stream, 50)) return 1 + below(stream, 3);
  if (chance(stream, 90)) return 1 + below(stream, capacity);
  return 1 + below(stream, 2 * capacity);
}

/* Returns a random time in microseconds: at most `range` times the unit of the grain (enum preemptive_grain). */
static int64_t random_time(struct hr__stream *stream, enum preemptive_grain grain, uint32_t range) {
  static const int64_t units_us[] = {1, HR_SECOND_US, HR_SECOND_US, 150 * HR_SECOND_US};
  if (grain != PREEMPTIVE_FINE) return below(stream, range + 1) * units_us[grain];
  return below(stream, range * (uint32_t)units_us[grain] + 1);
}

static void random_thresholds(struct hr__stream *stream, enum preemptive_grain grain, struct preemptive_rules *rules) {
  static const int64_t defaults[] = PREEMPTIVE_DEFAULTS;
  int64_t min_us = grain == PREEMPTIVE_SECONDS ? HR_SECOND_US : 1;
  rules->defaults = grain == PREEMPTIVE_LONG ? chance(stream, 80) : chance(stream, 10);
  rules->thresholds_us[0] = min_us + random_time(stream, grain, 20);
  rules->thresholds_us[1] = rules->thresholds_us[0] + min_us + random_time(stream, grain, 40);
  for (uint32_t k = 0; k < NAIVE_THRESHOLDS && rules->defaults; k++) rules->thresholds_us[k] = defaults[k];
}

void preemptive_random(uint32_t number, enum preemptive_grain grain, struct replay_case *workload,
                       struct preemptive_rules *rules) {
  static const uint32_t works[] = {2, 5, 20}, gaps[] = {0, 1, 1, 3};
  struct hr__stream stream;
  hr__stream_init(&stream, 2, HR__PURPOSE_ARRIVAL, number, grain);
  uint32_t longest = works[below(&stream, 3)], gap = gaps[below(&stream, 4)], capacity = 1 + below(&stream, 16);
  bool one_node = chance(&stream, 50);
  int64_t at_us = random_time(&stream, grain, 10);
  workload->pools[0] =
      (struct replay_pool){.shape = {one_node ? 1 : capacity, one_node ? capacity : 1}, .type = 0, .region = 0};
  workload->n_pools = 1;
  workload->n_jobs = 1 + below(&stream, PREEMPTIVE_MAX_JOBS);
  for (uint32_t i = 0; i < workload->n_jobs; i++) {
    int64_t work_us = chance(&stream, 5) ? 0 : random_time(&stream, grain, longest);
    workload->jobs[i] = (struct replay_job){
        .submit = at_us, .work = work_us, .limit = -1, .estimate = -1, .gpus = random_gpus(&stream, capacity)};
    if (chance(&stream, 60)) at_us += random_time(&stream, grain, gap);
  }
  random_thresholds(&stream, grain, rules);
}

/* ---- Headroom ------------------------------------------------------------------------------------------- */

static void set(struct hr_policy_choice *choice, const char *key, const char *text,
                struct preemptive_outcome *outcome) {
  if (!outcome->failed) outcome->failed = hr_policy_choice_set(choice, key, text, &outcome->error) != HR_OK;
}

static void set_rules(struct hr_policy_choice *choice, const struct preemptive_rules *rules,
                      struct preemptive_outcome *outcome) {
  char text[32];
  set(choice, "order", order_names[rules->order], outcome);
  set(choice, "backfill", "skip", outcome);
  set(choice, "placement", "pool", outcome);
  if (!rules->preempts) set(choice, "preemption", "none", outcome);
  if (rules->order != NAIVE_LAS || rules->defaults) return;
  set(choice, "las_threshold_1_s", seconds(rules->thresholds_us[0], text), outcome);
  set(choice, "las_threshold_2_s", seconds(rules->thresholds_us[1], text), outcome);
}

/* An observer that counts the starts and preemptions of each job. */
static void count_starts_and_preemptions(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct naive_outcome *jobs = self;
  (void)view;
  if (event->kind == HR_EVENT_START) jobs[event->job.id].starts++;
  if (event->kind == HR_EVENT_PREEMPT) jobs[event->job.id].preemptions++;
}

static void copy_times(const struct hr_result *result, struct preemptive_outcome *outcome) {
  for (uint32_t i = 0; i < result->n_jobs; i++) {
    struct naive_outcome *job = &outcome->job[i];
    int64_t end_us = hr_result_end_us(result, (hr_job){i});
    job->start = result->start_us[i] == HR_NEVER_US ? -1 : result->start_us[i];
    job->end = end_us == HR_NEVER_US ? -1 : end_us;
    if (result->account) job->starts = hr_result_accounting(result, (hr_job){i}).attempts;
  }
}

static void run(const struct hr_trace *trace, const struct hr_cluster_spec *cluster,
                const struct hr_policy_choice *policy, bool check, struct preemptive_outcome *outcome) {
  struct hr_observer observer = {.self = outcome->job, .on_event = count_starts_and_preemptions};
  struct hr_run_config config = {.trace = trace,
                                 .cluster = cluster,
                                 .policy = policy->ops,
                                 .params = policy->params,
                                 .horizon_us = HR_NEVER_US,
                                 .check = check,
                                 .observers = &observer,
                                 .n_observers = 1};
  struct hr_result *result = NULL;
  outcome->failed = hr_sim_run(&config, &result, &outcome->error) != HR_OK;
  if (!outcome->failed) copy_times(result, outcome);
  hr_result_destroy(result);
}

struct preemptive_outcome preemptive_headroom(const struct replay_case *workload, const struct preemptive_rules *rules,
                                              bool check) {
  struct preemptive_outcome outcome = {.n_jobs = workload->n_jobs,
                                       .job = calloc_or_abort(workload->n_jobs, sizeof *outcome.job)};
  char name[] = "pool", gpu[] = "G";
  struct hr_pool_spec pool = {.name = name,
                              .gpu = gpu,
                              .nodes = workload->pools[0].shape.nodes,
                              .gpus_per_node = workload->pools[0].shape.gpus_per_node};
  struct hr_cluster_spec cluster = {0};
  struct hr_policy_choice policy;
  struct hr_error error;
  ok_or_abort(hr_cluster_spec_add(&cluster, &pool, &error), &error);
  ok_or_abort(hr_policy_choice_init(&policy, "queue", &error), &error);
  set_rules(&policy, rules, &outcome);
  struct hr_trace *trace = replay_trace(workload);
  if (!outcome.failed) run(trace, &cluster, &policy, check, &outcome);
  hr_trace_destroy(trace);
  hr_policy_choice_finish(&policy);
  hr_cluster_spec_finish(&cluster);
  return outcome;
}

/* ---- The naive scheduler -------------------------------------------------------------------------------- */

struct preemptive_outcome preemptive_naive(const struct replay_case *workload, const struct preemptive_rules *rules) {
  uint32_t n = workload->n_jobs;
  int64_t *submit = calloc_or_abort(n, sizeof *submit), *work = calloc_or_abort(n, sizeof *work);
  uint32_t *gpus = calloc_or_abort(n, sizeof *gpus);
  for (uint32_t i = 0; i < n; i++) {
    submit[i] = workload->jobs[i].submit - workload->jobs[0].submit;
    work[i] = workload->jobs[i].work;
    gpus[i] = workload->jobs[i].gpus;
  }
  struct naive_preemptive_input input = {
      .n_jobs = n,
      .capacity = workload->pools[0].shape.nodes * workload->pools[0].shape.gpus_per_node,
      .submit = submit,
      .work = work,
      .gpus = gpus,
      .order = rules->order,
      .preempts = rules->preempts,
      .thresholds = {rules->thresholds_us[0], rules->thresholds_us[1]},
  };
  struct preemptive_outcome outcome = {.n_jobs = n, .job = naive_preemptive_run(&input)};
  free(submit);
  free(work);
  free(gpus);
  return outcome;
}

/* ---- Comparison ----------------------------------------------------------------------------------------- */

static bool same_outcome(const struct naive_outcome *a, const struct naive_outcome *b) {
  return a->start == b->start && a->end == b->end && a->starts == b->starts && a->preemptions == b->preemptions;
}

uint32_t preemptive_first_difference(const struct preemptive_outcome *a, const struct preemptive_outcome *b) {
  for (uint32_t i = 0; i < a->n_jobs; i++)
    if (a->failed || b->failed || !same_outcome(&a->job[i], &b->job[i])) return i;
  return HR_NONE;
}

static void print_command(const struct replay_case *workload, const struct preemptive_rules *rules) {
  char first[32], second[32];
  printf("\nheadroom run scenarios/demo.json --trace case.csv --check --jobs - -q \\\n"
         "  --set cluster.pools.0.nodes=%" PRIu32 " --set cluster.pools.0.gpus_per_node=%" PRIu32 " \\\n"
         "  --policy queue:order=%s,backfill=skip,placement=pool%s",
         workload->pools[0].shape.nodes, workload->pools[0].shape.gpus_per_node, order_names[rules->order],
         rules->preempts ? "" : ",preemption=none");
  if (rules->order == NAIVE_LAS && !rules->defaults)
    printf(",las_threshold_1_s=%s,las_threshold_2_s=%s", seconds(rules->thresholds_us[0], first),
           seconds(rules->thresholds_us[1], second));
  printf("\n");
}

static void print_outcome(const struct naive_outcome *job) {
  printf(" %" PRId64 " to %" PRId64 ", %" PRIu32 " starts, %" PRIu32 " preemptions", job->start, job->end, job->starts,
         job->preemptions);
}

void preemptive_print(const struct replay_case *workload, const struct preemptive_rules *rules,
                      const struct preemptive_outcome *naive, const struct preemptive_outcome *other) {
  print_command(workload, rules);
  printf("case.csv:\njob_id,submit_s,duration_s,gpus\n");
  for (uint32_t i = 0; i < workload->n_jobs; i++) {
    char submit[32], work[32];
    printf("%" PRIu32 ",%s,%s,%" PRIu32 "\n", i, seconds(workload->jobs[i].submit - workload->jobs[0].submit, submit),
           seconds(workload->jobs[i].work, work), workload->jobs[i].gpus);
  }
  if (other->failed) {
    printf("Headroom failed: %s\n", other->error.text);
    return;
  }
  printf("job: naive, in microseconds | other\n");
  for (uint32_t i = 0; i < workload->n_jobs; i++) {
    printf("%" PRIu32 ":", i);
    print_outcome(&naive->job[i]);
    printf(" |");
    print_outcome(&other->job[i]);
    printf("%s\n", same_outcome(&naive->job[i], &other->job[i]) ? "" : "  <- differs");
  }
}
