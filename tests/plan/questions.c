/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parts of a plan's question: metrics by name, goals with units, the grid of candidates, and the demand of a
   trace. */

#include "base/random.h"
#include "harness.h"
#include "planned.h"

#include <math.h>
#include <string.h>

static void expect(double value, double expected) {
  if (!(fabs(value - expected) <= 1e-9 * fmax(1, fabs(expected)))) printf("\n  %.17g, not %.17g\n", value, expected);
  CU_ASSERT(fabs(value - expected) <= 1e-9 * fmax(1, fabs(expected)));
}

static void says(const char *text, const char *part) {
  if (!strstr(text, part)) printf("\n  \"%s\" does not say \"%s\"\n", text, part);
  CU_ASSERT_PTR_NOT_NULL(strstr(text, part));
}

/* ---- Traces by hand -------------------------------------------------------------------------------- */

struct job {
  int submit_s, work_s;
  uint32_t gpus;
  const char *tenant;
  enum hr_job_class class_;
};

static struct hr_trace *trace_of(const struct job *jobs, size_t count) {
  struct hr_trace_builder *builder = hr_trace_builder_create("jobs.csv", "memory");
  struct hr_trace *trace = NULL;
  CU_ASSERT_PTR_NOT_NULL_FATAL(builder);
  for (size_t i = 0; i < count; i++) {
    struct hr_job_record record;
    hr_job_record_init(&record);
    record.submit_us = jobs[i].submit_s * HR_SECOND_US;
    record.work_us = jobs[i].work_s * HR_SECOND_US;
    record.gpus = jobs[i].gpus;
    record.class_ = (uint8_t)jobs[i].class_;
    if (jobs[i].tenant) record.tenant = (struct hr_text){jobs[i].tenant, strlen(jobs[i].tenant)};
    CU_ASSERT_EQUAL_FATAL(hr_trace_builder_add(builder, &record, i + 1, NULL), HR_OK);
  }
  CU_ASSERT_EQUAL_FATAL(hr_trace_builder_finish(builder, false, false, &trace, NULL), HR_OK);
  hr_trace_builder_destroy(builder);
  return trace;
}

static const struct job clients[] = {{0, 10, 1, "retail", HR_CLASS_INFERENCE},
                                     {5, 10, 1, "training", HR_CLASS_TRAINING},
                                     {9, 10, 1, "health", HR_CLASS_TRAINING}};

/* ---- Metrics --------------------------------------------------------------------------------------- */

static void metric_is(const struct hr_trace *trace, const char *text, enum hr__metric measure, const char *name) {
  struct hr__scoped_metric metric;
  struct hr_error error = {0};
  char buffer[HR__SCOPED_METRIC_BYTES];
  CU_ASSERT_EQUAL(hr__scoped_metric_parse(text, strlen(text), trace, NULL, &metric, &error), HR_OK);
  CU_ASSERT_EQUAL(metric.id, measure);
  CU_ASSERT_STRING_EQUAL(hr__scoped_metric_name(&metric, buffer), name);
}

static void metric_fails(const struct hr_trace *trace, const char *text, const char *part) {
  struct hr__scoped_metric metric;
  struct hr_error error = {0};
  CU_ASSERT_EQUAL(hr__scoped_metric_parse(text, strlen(text), trace, NULL, &metric, &error), HR_BAD_INPUT);
  says(error.text, part);
}

static void metrics_by_name(void) {
  struct hr_trace *trace = trace_of(clients, 3);
  metric_is(trace, "wait_s.p95", HR__M_WAIT_P95, "wait_s.p95");
  metric_is(trace, "  wait_p95_s ", HR__M_WAIT_P95, "wait_s.p95");
  metric_is(trace, "cost_usd", HR__M_COST, "cost.total_usd");
  metric_is(trace, "usd_per_job", HR__M_PER_JOB, "cost.usd_per_completed_job");
  metric_is(trace, "utilization", HR__M_UTILIZATION_SUBMIT_WINDOW, "utilization.submit_window");
  metric_is(trace, "monthly_usd", HR__M_MONTHLY, hr__metric_rows[HR__M_MONTHLY].path);
  metric_is(trace, "wait_s.p95 of inference", HR__M_WAIT_P95, "wait_s.p95 of inference");
  metric_is(trace, "wait_s.p95  of  class inference", HR__M_WAIT_P95, "wait_s.p95 of inference");
  metric_is(trace, "completed of retail", HR__M_COMPLETED_SHARE, "completed of retail");
  metric_is(trace, "completed of tenant retail", HR__M_COMPLETED_SHARE, "completed of retail");
  metric_is(trace, "completed of training", HR__M_COMPLETED_SHARE, "completed of training");
  metric_is(trace, "completed of tenant training", HR__M_COMPLETED_SHARE, "completed of tenant training");
  for (unsigned i = 0; i < HR__N_METRICS; i++) {
    const struct hr_metric *info = &hr__metric_rows[i];
    metric_is(trace, info->path, (enum hr__metric)i, info->path);
    metric_is(trace, info->column, (enum hr__metric)i, info->path);
  }
  hr_trace_destroy(trace);
}

static void invalid_metrics(void) {
  static const struct job plain[] = {{0, 10, 1, NULL, HR_CLASS_UNKNOWN}};
  struct hr_trace *trace = trace_of(clients, 3), *bare = trace_of(plain, 1);
  metric_fails(trace, "wait_s.p96", "unknown metric 'wait_s.p96'; did you mean 'wait_s.p9");
  metric_fails(trace, "monthly_eur of retail", "unknown metric 'monthly_eur'");
  metric_fails(trace, "wait_s.p95 of inferense",
               "'inferense' is neither a class nor a tenant of jobs.csv; did you mean "
               "'inference'?");
  metric_fails(trace, "wait_s.p95 of retial", "did you mean 'retail'?");
  metric_fails(trace, "wait_s.p95 of tenant inference", "'inference' is no tenant of jobs.csv");
  metric_fails(trace, "wait_s.p95 of tenant helth", "did you mean 'health'?");
  metric_fails(trace, "wait_s.p95 of class retail", "'retail' is no class");
  metric_fails(trace, "utilization.submit_window of inference", "known only for all jobs together");
  metric_fails(bare, "wait_s.p95 of inference", "have no classes");
  metric_fails(trace, "", "unknown metric ''");
  hr_trace_destroy(trace);
  hr_trace_destroy(bare);
}

/* ---- Goals ----------------------------------------------------------------------------------------- */

/* Parses goals and an objective. `texts` ends with NULL. */
static enum hr_status make_goals(const struct hr_trace *trace, const char *const *texts, const char *objective,
                                 struct hr__goals *goals, struct hr_error *error) {
  struct hr_placed_text constraints[4];
  char place[] = "s.json:1:1: ", copies[4][200], metric[200];
  struct hr_plan_term term = {{metric, place}, 1};
  struct hr_plan_spec spec = {.constraints = constraints, .objective = &term, .n_terms = 1, .self = {NULL, place}};
  snprintf(metric, sizeof metric, "%s", objective);
  for (; texts[spec.n_constraints]; spec.n_constraints++) {
    snprintf(copies[spec.n_constraints], sizeof copies[0], "%s", texts[spec.n_constraints]);
    constraints[spec.n_constraints] = (struct hr_placed_text){copies[spec.n_constraints], place};
  }
  return hr__goals_make(&spec, trace, NULL, strcmp(objective, "monthly_usd") == 0, goals, error);
}

static void bound_is(const char *text, double bound, bool at_most) {
  struct hr_trace *trace = trace_of(clients, 3);
  struct hr__goals goals;
  struct hr_error error = {0};
  CU_ASSERT_EQUAL(
      make_goals(trace, (const char *const[]){text, "wait_s.p95 <= 99 d", NULL}, "monthly_usd", &goals, &error), HR_OK);
  if (error.text[0]) printf("\n  %s\n", error.text);
  CU_ASSERT_FATAL(goals.n_goals >= 2);
  expect(goals.goals[0].bound, bound);
  CU_ASSERT_EQUAL(goals.goals[0].at_most, at_most);
  hr__goals_finish(&goals);
  hr_trace_destroy(trace);
}

static void goals_have_units(void) {
  bound_is("wait_s.p95 <= 60", 60, true);
  bound_is("wait_s.p95<=60s", 60, true);
  bound_is("wait_s.p95 of inference <= 1.5 min", 90, true);
  bound_is("jct_s.mean <= 2 h", 7200, true);
  bound_is("jct_s.mean <=  1 d ", 86400, true);
  bound_is("completed >= 99.5 %", 0.995, false);
  bound_is("completed >= 0.995", 0.995, false);
  bound_is("deadline_miss of tenant retail <= 5%", 0.05, true);
  bound_is("monthly_usd <= 3.5 k$", 3500, true);
  bound_is("monthly_usd <= 3500 $", 3500, true);
  bound_is("monthly_usd <= 3e3 usd", 3000, true);
  bound_is("slowdown.p95 <= 2", 2, true);
  /* bounds as Headroom prints them */
  bound_is("monthly_usd <= $120,000", 120000, true);
  bound_is("monthly_usd <= $1,234,567.5", 1234567.5, true);
  bound_is("monthly_usd <= $120k", 120000, true);
  bound_is("monthly_usd <= 120,000 usd", 120000, true);
  bound_is("wait_s.p95 <= 1 h 34 min", 5640, true);
  bound_is("wait_s.p95 <= 2 d 3 h", 183600, true);
}

static void goals_fail(const char *const *texts, const char *objective, const char *part) {
  struct hr_trace *trace = trace_of(clients, 3);
  struct hr__goals goals;
  struct hr_error error = {0};
  CU_ASSERT_EQUAL(make_goals(trace, texts, objective, &goals, &error), HR_BAD_INPUT);
  says(error.text, part);
  CU_ASSERT(strncmp(error.text, "s.json:1:1: ", 12) == 0);
  hr__goals_finish(&goals);
  hr_trace_destroy(trace);
}

static void invalid_goals(void) {
  static const struct {
    const char *text, *part;
  } wrong[] = {{"wait_s.p95 < 60", "expected METRIC <= NUMBER"},
               {"wait_s.p95", "invalid goal"},
               {"wait_s.p95 <= soon", "invalid bound 'soon'"},
               {"wait_s.p95 <= 60 weeks", "invalid bound '60 weeks'"},
               {"wait_s.p95 <= inf", "invalid bound"},
               {"wait_s.p95 <= 60 %", "unit '%' does not match"},
               {"wait_s.p95 <= $60", "unit '$' does not match"},
               {"wait_s.p95 <= 1 h 30", "invalid bound '1 h 30'"},
               {"wait_s.p95 <= 1 h 30 %", "invalid bound"},
               {"monthly_usd <= $1,20", "invalid bound"},
               {"monthly_usd <= $", "invalid bound"},
               {"monthly_usd <= 1,000,00", "invalid bound"},
               {"completed >= 99 h", "unit 'h' does not match"},
               {"completed >= 99", "a share from 0 to 1; did you mean 99 %?"},
               {"deadline_miss <= -0.1", "a share from 0 to 1"},
               {"wait_s.p95 of nobody <= 60", "neither a class nor a tenant"},
               {"wiat_s.p95 <= 60", "did you mean 'wait_s.p95'?"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    goals_fail((const char *const[]){wrong[i].text, NULL}, "monthly_usd", wrong[i].part);
}

static void contradictory_goals(void) {
  goals_fail((const char *const[]){"completed >= 90 %", "completed <= 80 %", NULL}, "monthly_usd",
             "'completed <= 80 %' and 'completed >= 90 %'");
  goals_fail((const char *const[]){"wait_s.mean <= 1 min", "wait_s.mean >= 61", NULL}, "monthly_usd",
             "contradictory goals");
  /* the maximum of 99 d and this minimum do not contradict each other */
  bound_is("wait_s.p95 >= 99 d", 99 * 86400.0, false);
}

static void goals_that_bound_nothing(void) {
  goals_fail((const char *const[]){NULL}, "monthly_usd", "unbounded");
  goals_fail((const char *const[]){"monthly_usd <= 5 k$", NULL}, "monthly_usd", "unbounded");
  goals_fail((const char *const[]){"wait_s.p95 <= 60", NULL}, "cost.total_usd", "needs prices");
}

static void completion_is_assumed(void) {
  struct hr_trace *trace = trace_of(clients, 3);
  struct hr__goals goals;
  struct hr_error error = {0};
  CU_ASSERT_EQUAL_FATAL(
      make_goals(trace, (const char *const[]){"wait_s.p95 <= 60", NULL}, "monthly_usd", &goals, &error), HR_OK);
  CU_ASSERT_EQUAL_FATAL(goals.n_goals, 2);
  CU_ASSERT(goals.goals[1].assumed && !goals.goals[1].at_most && !goals.goals[0].assumed);
  expect(goals.goals[1].bound, 0.99);
  CU_ASSERT_TRUE(goals.goals[0].wants_capacity);
  CU_ASSERT_TRUE(goals.goals[1].wants_capacity);
  expect(hr__goal_violation(&goals.goals[0], 60), 0);
  expect(hr__goal_violation(&goals.goals[0], 90), 1.0 / 3);
  expect(hr__goal_violation(&goals.goals[0], 120), 0.5);
  expect(hr__goal_violation(&goals.goals[1], 0.495), 1.0 / 3);
  expect(hr__goal_violation(&goals.goals[0], (double)NAN), 1);
  expect(hr__goal_violation(&goals.goals[1], (double)NAN), 1);
  expect(hr__goal_tightened(&goals, &goals.goals[0], 0.75), 45);
  expect(hr__goal_tightened(&goals, &goals.goals[1], 0.5), 0.995);
  hr__goals_finish(&goals);
  CU_ASSERT_EQUAL_FATAL(
      make_goals(trace, (const char *const[]){"completed >= 0.5", NULL}, "monthly_usd", &goals, &error), HR_OK);
  CU_ASSERT_EQUAL(goals.n_goals, 1);
  hr__goals_finish(&goals);
  hr_trace_destroy(trace);
}

/* ---- The grid -------------------------------------------------------------------------------------- */

static struct hr_scenario *grid(void) {
  return planned_scenario(
      "{\"cluster\":{\"pools\":["
      "{\"name\":\"a\",\"gpu\":\"A\",\"nodes\":1,\"gpus_per_node\":4},"
      "{\"name\":\"b\",\"gpu\":\"B\",\"nodes\":1,\"gpus_per_node\":2},"
      "{\"name\":\"c\",\"gpu\":\"B\",\"nodes\":1,\"gpus_per_node\":2}]},\"policy\":{\"name\":\"queue\"},"
      "\"plan\":{\"variables\":[{\"pool\":\"a\",\"values\":[8,0,4]},"
      "{\"path\":\"policy.order\",\"values\":[\"fifo\",\"sjf\"]},"
      "{\"name\":\"bc\",\"pools\":[\"b\",\"c\"],\"from\":0,\"to\":12,\"step\":4}],"
      "\"constraints\":[\"wait_s.p95 <= 1\"]}}");
}

static void candidates_are_numbered(void) {
  struct hr_scenario *scenario = grid();
  struct hr__space space;
  CU_ASSERT_EQUAL_FATAL(hr__space_make(scenario->plan, NULL, &space, NULL), HR_OK);
  CU_ASSERT(space.n_candidates == 24 && space.n_slices == 2 && space.n_capacity == 2);
  uint32_t expected = 0;
  for (uint32_t a = 0; a < 3; a++)
    for (uint32_t order = 0; order < 2; order++)
      for (uint32_t bc = 0; bc < 4; bc++, expected++) {
        struct hr__point point = {{a, order, bc}}, back = hr__space_point(&space, expected);
        CU_ASSERT_EQUAL(hr__space_candidate(&space, &point), expected);
        CU_ASSERT(back.level[0] == a && back.level[1] == order && back.level[2] == bc);
        CU_ASSERT_EQUAL(hr__space_slice(&space, expected), order);
        CU_ASSERT_EQUAL(hr__space_gpus(&space, expected), 4 * a + 4 * bc);
      }
  for (uint32_t slice = 0; slice < 2; slice++) {
    struct hr__point least = hr__space_corner(&space, slice, false), most = hr__space_corner(&space, slice, true);
    CU_ASSERT(least.level[0] == 0 && least.level[1] == slice && least.level[2] == 0);
    CU_ASSERT(most.level[0] == 2 && most.level[1] == slice && most.level[2] == 3);
  }
  hr_scenario_destroy(scenario);
}

static void candidates_cover_others(void) {
  struct hr_scenario *scenario = grid();
  struct hr__space space;
  CU_ASSERT_EQUAL_FATAL(hr__space_make(scenario->plan, NULL, &space, NULL), HR_OK);
  for (uint32_t i = 0; i < 24; i++)
    for (uint32_t k = 0; k < 24; k++) {
      bool covers = i / 8 >= k / 8 && i / 4 % 2 == k / 4 % 2 && i % 4 >= k % 4;
      CU_ASSERT_EQUAL(hr__space_covers(&space, i, k), covers);
    }
  hr_scenario_destroy(scenario);
}

static void candidates_set_nodes(void) {
  struct hr_scenario *scenario = grid();
  struct hr__space space;
  size_t count;
  CU_ASSERT_EQUAL_FATAL(hr__space_make(scenario->plan, NULL, &space, NULL), HR_OK);
  const char **overrides = hr__space_overrides(&space, 2 * 8 + 4 + 3, &count);
  CU_ASSERT_FATAL(overrides && count == 4);
  CU_ASSERT_STRING_EQUAL(overrides[0], "cluster.pools.0.nodes=2");
  CU_ASSERT_STRING_EQUAL(overrides[1], "policy.order=sjf");
  CU_ASSERT_STRING_EQUAL(overrides[2], "cluster.pools.1.nodes=3");
  CU_ASSERT_STRING_EQUAL(overrides[3], "cluster.pools.2.nodes=3");
  free(overrides);
  hr_scenario_destroy(scenario);
}

/* ---- Demand ---------------------------------------------------------------------------------------- */

/* The jobs use 2 GPUs until 5 s, 3 until 10 s, 1 until 15 s, and none until the last submit at 20 s. */
static void demand_computed_by_hand(void) {
  static const struct job jobs[] = {{0, 10, 2, NULL, 0}, {5, 10, 1, NULL, 0}, {20, 100, 7, NULL, 0}};
  struct hr_trace *trace = trace_of(jobs, 3);
  struct hr__demand_curve demand;
  CU_ASSERT_EQUAL_FATAL(hr__demand_make(trace, 1, 0, &demand), HR_OK);
  expect(demand.window_h, 20.0 / 3600);
  expect(demand.mean_gpus, 1.5);
  expect(demand.peak_gpus, 3);
  expect(demand.gpu_hours, 730.0 / 3600);
  expect(demand.min_gpu_hours, 730.0 / 3600);
  expect(hr__demand_exceeded(&demand, 0), 3);
  expect(hr__demand_exceeded(&demand, 0.25), 2);
  expect(hr__demand_exceeded(&demand, 0.24), 3);
  expect(hr__demand_exceeded(&demand, 0.6), 1);
  expect(hr__demand_exceeded(&demand, 0.8), 0);
  /* the cost of 1 and of 2 GPUs is equal: the second is needed half of the time */
  expect(hr__demand_newsvendor(&demand, 1, 2), 1);
  expect(hr__demand_newsvendor(&demand, 2, 2), 0);
  hr__demand_finish(&demand);
  CU_ASSERT_EQUAL_FATAL(hr__demand_make(trace, 2, 0.34, &demand),
                        HR_OK); /* twice the demand; one job may stay incomplete */
  expect(demand.mean_gpus, 3);
  expect(demand.gpu_hours, 1460.0 / 3600);
  expect(demand.min_gpu_hours, 60.0 / 3600);
  hr__demand_finish(&demand);
  hr_trace_destroy(trace);
}

/* "completed >= 93 %" of 100 jobs allows seven to fail, although 1 - 0.93 as a double is slightly less than 0.07. */
static void number_of_jobs_that_may_fail(void) {
  struct job jobs[100];
  struct hr__demand_curve demand;
  for (int i = 0; i < 100; i++) jobs[i] = (struct job){i, 36, 1, NULL, 0};
  struct hr_trace *trace = trace_of(jobs, 100);
  for (int percent = 1; percent <= 100; percent++) {
    CU_ASSERT_EQUAL_FATAL(hr__demand_make(trace, 1, 1 - percent / 100.0, &demand), HR_OK);
    expect(demand.min_gpu_hours, percent / 100.0);
    hr__demand_finish(&demand);
  }
  hr_trace_destroy(trace);
}

enum { SECONDS = 2000 };

/* No other level costs less than the newsvendor solution. The costs are summed second by second. */
static void expect_newsvendor(const struct hr__demand_curve *demand, const int *level, int window, double standing) {
  double least = (double)INFINITY, own = 0, chosen = hr__demand_newsvendor(demand, standing, 1);
  for (int gpus = 0; gpus <= (int)demand->peak_gpus; gpus++) {
    double cost = standing * gpus * window;
    for (int s = 0; s < window; s++) cost += level[s] > gpus ? level[s] - gpus : 0;
    least = fmin(least, cost);
    if (gpus == (int)chosen) own = cost;
  }
  expect(own, least);
}

static void demand_equals_sum_over_seconds(void) {
  struct hr__stream stream;
  hr__stream_init(&stream, 5, HR__PURPOSE_SAMPLE, 0, 0);
  for (int round = 0; round < 50; round++) {
    struct job jobs[40];
    int level[2 * SECONDS] = {0}, sum = 0, peak = 0, window = 0;
    for (int i = 0; i < 40; i++) {
      jobs[i] = (struct job){(int)(hr__stream_next(&stream) % SECONDS), (int)(hr__stream_next(&stream) % 500),
                             hr__stream_next(&stream) % 9, NULL, 0};
      if (i == 0) jobs[i].submit_s = 0;
      for (int s = 0; s < jobs[i].work_s; s++) level[jobs[i].submit_s + s] += (int)jobs[i].gpus;
      if (jobs[i].submit_s > window) window = jobs[i].submit_s;
    }
    for (int s = 0; s < window; s++) sum += level[s], peak = level[s] > peak ? level[s] : peak;
    struct hr_trace *trace = trace_of(jobs, 40);
    struct hr__demand_curve demand;
    CU_ASSERT_EQUAL_FATAL(hr__demand_make(trace, 1, 0, &demand), HR_OK);
    expect(demand.mean_gpus, (double)sum / window);
    expect(demand.peak_gpus, peak);
    for (int tenth = 1; tenth < 10; tenth++) expect_newsvendor(&demand, level, window, tenth / 10.0 + 0.01);
    hr__demand_finish(&demand);
    hr_trace_destroy(trace);
  }
}

TEST_MAIN("plan: questions", TEST(metrics_by_name), TEST(invalid_metrics), TEST(goals_have_units), TEST(invalid_goals),
          TEST(contradictory_goals), TEST(goals_that_bound_nothing), TEST(completion_is_assumed),
          TEST(candidates_are_numbered), TEST(candidates_cover_others), TEST(candidates_set_nodes),
          TEST(demand_computed_by_hand), TEST(number_of_jobs_that_may_fail), TEST(demand_equals_sum_over_seconds))
