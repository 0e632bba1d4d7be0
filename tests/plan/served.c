/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics of services in runs, compared with the results of the requests; goals on services; replications and plans
   without jobs; alerts on services. */

#include "harness.h"
#include "headroom/unstable/compare.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/metrics.h"
#include "headroom/unstable/planning.h"
#include "headroom/unstable/replay.h"
#include "headroom/unstable/services.h"
#include "output_files.h"
#include "plan/runner/runner.h"
#include "planned.h"
#include "report/metrics/metrics.h"
#include "schema_check.h"
#include "trace_files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two services on GPUs at 2 $/h. `%s`: further keys. */
#define SERVICE(name, tokens, more)                                                                                    \
  "{\"name\":\"" name "\",\"requests\":{\"rate_per_s\":2,\"duration_s\":9000,\"prompt_tokens\":{\"mean\":" tokens      \
  "},\"output_tokens\":{\"distribution\":\"exponential\",\"mean\":20}},\"replica\":{\"engine\":{\"kv_blocks\":100},"   \
  "\"cost\":{\"fixed_us\":9000,\"per_prompt_token_us\":300,\"per_sequence_us\":200}},\"slo\":{\"ttft_ms\":120,"        \
  "\"tpot_ms\":15}" more "}"
static const char text_of_scenario[] =
    "{\"seed\":3,\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"A\",\"nodes\":1,\"gpus_per_node\":8,"
    "\"market\":\"on-demand\",\"boot_s\":0,\"usd_per_gpu_hour\":2}]},\"services\":[" SERVICE(
        "chat", "200", ",\"price\":{\"input\":1,\"output\":5}") "," SERVICE("a.b", "100", "") "]%s}";

static struct hr_scenario *scenario_with(const char *more) {
  char text[3000];
  snprintf(text, sizeof text, text_of_scenario, more);
  return planned_scenario(text);
}

static struct hr_trace *no_jobs(void) {
  struct hr_trace *trace;
  CU_ASSERT_EQUAL_FATAL(hr_trace_empty("none", &trace, NULL), HR_OK);
  CU_ASSERT_EQUAL(trace->n_jobs, 0);
  return trace;
}

static void run(struct hr_replay *replay, const struct hr_scenario *scenario, const struct hr_trace *trace) {
  const struct hr_replay_config config = {.scenario = scenario, .trace = trace, .seed = scenario->seed, .check = true};
  struct hr_error error = {0};
  enum hr_status status = hr_replay_init(replay, &config, &error);
  if (status == HR_OK) status = hr_replay_run(replay, &error);
  if (status != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
}

/* Sets the number of replicas of the first service. */
static void set_replicas(struct hr_scenario *scenario, uint32_t count) {
  struct hr_service *service = &scenario->services->at[0];
  service->replicas = service->autoscale.min = service->autoscale.max = count;
}

static double metric_of(const struct hr_summary *summary, size_t service, const char *path) {
  const enum hr__metric metric = hr__metric_find(path, strlen(path));
  CU_ASSERT_NOT_EQUAL_FATAL(metric, HR__N_METRICS);
  return hr__metric_of_service(metric, &summary->services[service]).value;
}

/* Sums over the requests of a service, computed from its result in another way. */
struct sums {
  double ttft_ms, tpot_ms, e2e_ms, revenue;
  uint64_t attained, prompt, output, n_tpot;
};

static struct sums sums_of(const struct hr_served *served) {
  struct sums sums = {0};
  for (uint32_t i = 0; i < served->requests->count; i++) {
    const double arrival = (double)served->requests->arrival_us[i], end = (double)served->result->end_us[i];
    const double first = (double)served->result->first_token_us[i], output = served->requests->output_tokens[i];
    const double tpot = output > 1 ? (end - first) / (output - 1) : 0;
    CU_ASSERT_EQUAL_FATAL(served->result->state[i], HR_REQUEST_COMPLETED);
    sums.ttft_ms += (first - arrival) / 1000;
    sums.e2e_ms += (end - arrival) / 1000;
    sums.tpot_ms += tpot / 1000;
    sums.n_tpot += output > 1;
    sums.attained += first - arrival <= 120000 && tpot <= 15000;
    sums.prompt += served->requests->prompt_tokens[i];
    sums.output += served->requests->output_tokens[i];
  }
  return sums;
}

static void metrics_are_those_of_the_requests(void) {
  struct hr_scenario *scenario = scenario_with("");
  struct hr_trace *trace = no_jobs();
  struct hr_replay replay;
  run(&replay, scenario, trace);
  const struct hr_summary *summary = replay.summary;
  CU_ASSERT_EQUAL_FATAL(summary->n_services, 2);
  double offered = 0, cost = 0;
  for (size_t i = 0; i < 2; i++) {
    const struct hr_served *served = &replay.served[i];
    const struct sums sums = sums_of(served);
    const double n = served->requests->count, held = metric_of(summary, i, "gpu_hours.held");
    CU_ASSERT_EQUAL(metric_of(summary, i, "requests.offered"), n);
    CU_ASSERT_EQUAL(metric_of(summary, i, "requests.completed"), n);
    CU_ASSERT_EQUAL(metric_of(summary, i, "requests.attained"), (double)sums.attained);
    CU_ASSERT(sums.attained > 0 && (double)sums.attained < n);
    CU_ASSERT_DOUBLE_EQUAL(metric_of(summary, i, "attainment"), (double)sums.attained / n, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(metric_of(summary, i, "ttft_ms.mean"), sums.ttft_ms / n, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(metric_of(summary, i, "e2e_ms.mean"), sums.e2e_ms / n, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(metric_of(summary, i, "tpot_ms.mean"), sums.tpot_ms / (double)sums.n_tpot, 1e-3);
    CU_ASSERT(metric_of(summary, i, "ttft_ms.p95") >= metric_of(summary, i, "ttft_ms.p50"));
    CU_ASSERT_EQUAL(metric_of(summary, i, "tokens.prompt"), (double)sums.prompt);
    CU_ASSERT_EQUAL(metric_of(summary, i, "tokens.output"), (double)sums.output);
    CU_ASSERT_DOUBLE_EQUAL(metric_of(summary, i, "gpu_hours.busy") + metric_of(summary, i, "gpu_hours.idle"), held,
                           1e-9);
    CU_ASSERT_DOUBLE_EQUAL(metric_of(summary, i, "serving_usd"), 2 * held, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(metric_of(summary, i, "usd_per_mtok"), 2e6 * held / (double)(sums.prompt + sums.output),
                           1e-6);
    CU_ASSERT_DOUBLE_EQUAL(metric_of(summary, i, "usd_per_attained_request"), 2 * held / (double)sums.attained, 1e-6);
    if (i == 0)
      CU_ASSERT_DOUBLE_EQUAL(metric_of(summary, i, "revenue_usd"),
                             1e-6 * ((double)sums.prompt + 5 * (double)sums.output), 1e-6);
    if (i == 1) CU_ASSERT(isnan(metric_of(summary, i, "revenue_usd")));
    uint64_t in_hours = 0, attained = 0;
    for (uint32_t k = 0; k < summary->services[i].n_hours; k++) {
      in_hours += summary->services[i].hours[k].offered;
      attained += summary->services[i].hours[k].attained;
    }
    CU_ASSERT_EQUAL(summary->services[i].n_hours, 3);
    CU_ASSERT_EQUAL(in_hours, served->requests->count);
    CU_ASSERT_EQUAL(attained, sums.attained);
    offered += n;
    cost += metric_of(summary, i, "serving_usd");
  }
  CU_ASSERT_EQUAL(hr__metric_of_run(HR__M_OFFERED, summary).value, offered);
  CU_ASSERT_DOUBLE_EQUAL(hr__metric_of_run(HR__M_SERVING_COST, summary).value, cost, 2e-6);
  hr_replay_finish(&replay);
  hr_trace_destroy(trace);
  hr_scenario_destroy(scenario);
}

/* Backfill in a run with services. The backfill `easy` stores the expected end of each running job, and must find it
   again when the job ends. Of the 8 GPUs, two replicas use 2. The second job waits for the first one, and the third job
   must not delay the second one. */
static void backfill_with_services(void) {
  static const int64_t submit_us[] = {0, 10 * HR_SECOND_US, 20 * HR_SECOND_US};
  static const int64_t work_us[] = {100 * HR_SECOND_US, 100 * HR_SECOND_US, 50 * HR_SECOND_US};
  static const uint32_t gpus[] = {4, 6, 1};
  const struct hr_trace trace = {
      .n_jobs = 3, .source = "test", .format = "memory", .submit_us = submit_us, .work_us = work_us, .gpus = gpus};
  struct hr_scenario *scenario = scenario_with(",\"policy\":{\"name\":\"queue\",\"backfill\":\"easy\"}");
  struct hr_replay replay;
  run(&replay, scenario, &trace);
  CU_ASSERT_EQUAL(hr__metric_of_run(HR__M_COMPLETED, replay.summary).value, 5); /* 3 jobs, 2 replicas */
  hr_replay_finish(&replay);
  hr_scenario_destroy(scenario);
}

/* The metrics of services are unchanged by the transfer between processes. */
static void parcels_have_services(void) {
  struct hr_scenario *scenario = scenario_with("");
  struct hr_trace *trace = no_jobs();
  struct hr_replay replay;
  run(&replay, scenario, trace);
  struct hr__parcel out = {0};
  hr__parcel_summary(&out, &replay.summary);
  CU_ASSERT_FALSE_FATAL(out.failed);
  struct hr__parcel in = {.bytes = out.bytes, .size = out.used, .reading = true};
  struct hr_summary *copy = NULL;
  hr__parcel_summary(&in, &copy);
  CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
  CU_ASSERT_EQUAL_FATAL(copy->n_services, 2);
  CU_ASSERT_STRING_EQUAL(copy->services[1].name, "a.b");
  CU_ASSERT_EQUAL(copy->services[1].hours[2].offered, replay.summary->services[1].hours[2].offered);
  CU_ASSERT_EQUAL(copy->all_services->attained, replay.summary->all_services->attained);
  hr_summary_destroy(copy);
  free(out.bytes);
  hr_replay_finish(&replay);
  hr_trace_destroy(trace);
  hr_scenario_destroy(scenario);
}

static void goals_name_services(void) {
  static const struct {
    const char *text, *name, *path, *message;
  } rows[] = {{"chat.ttft_ms.p95", "chat", "ttft_ms.p95", NULL},
              {" a.b.attainment ", "a.b", "attainment", NULL},
              {"attainment", NULL, "attainment", NULL},
              {"chat.wait_s.p95", NULL, NULL, "'wait_s.p95' is no metric of the service 'chat'"},
              {"chat.ttft.p95", NULL, NULL, "did you mean 'ttft_ms.p95'"},
              {"chatt.attainment", NULL, NULL, "unknown service 'chatt'; did you mean 'chat'?"},
              {"chatt.attainmentt", NULL, NULL, "unknown metric 'chatt.attainmentt'"}};
  struct hr_scenario *scenario = scenario_with("");
  struct hr_trace *trace = no_jobs();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct hr__scoped_metric metric;
    struct hr_error error = {0};
    char name[HR__SCOPED_METRIC_BYTES];
    enum hr_status status =
        hr__scoped_metric_parse(rows[i].text, strlen(rows[i].text), trace, scenario->services, &metric, &error);
    CU_ASSERT_EQUAL(status, rows[i].message ? HR_BAD_INPUT : HR_OK);
    if (rows[i].message) CU_ASSERT_PTR_NOT_NULL(strstr(error.text, rows[i].message));
    if (status != HR_OK) continue;
    CU_ASSERT_STRING_EQUAL(hr__metric_rows[metric.id].path, rows[i].path);
    CU_ASSERT_EQUAL(metric.of, rows[i].name ? HR__OF_SERVICE : HR__OF_ALL);
    if (rows[i].name) CU_ASSERT_STRING_EQUAL(metric.name, rows[i].name);
    hr__scoped_metric_name(&metric, name);
    CU_ASSERT_PTR_NOT_NULL(strstr(rows[i].text, name));
  }
  hr_trace_destroy(trace);
  hr_scenario_destroy(scenario);
}

/* Each replication draws different requests. A scenario whose requests have their own seed is not random, unless a
   router is. */
static void replications_draw_requests(void) {
  struct hr_scenario *scenario = scenario_with(",\"replications\":{\"count\":3}");
  struct hr_trace *trace = no_jobs();
  CU_ASSERT_TRUE(hr_scenario_is_random(scenario));
  const struct hr_replicate_config config = {
      .scenario = scenario, .trace = trace, .spec = &scenario->replications, .n_threads = 2};
  struct hr_replicates *replicates;
  struct hr_replicated figure;
  CU_ASSERT_EQUAL_FATAL(hr_replicate(&config, &replicates, NULL), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_replicates_metric(replicates, "chat.requests.offered", &figure, NULL), HR_OK);
  CU_ASSERT_EQUAL(figure.count, 3);
  CU_ASSERT(figure.sd > 0);
  CU_ASSERT_DOUBLE_EQUAL(figure.mean, 18000, 5 * sqrt(18000 / 3));
  hr_replicates_destroy(replicates);
  scenario->services->at[0].draw.seed = scenario->services->at[1].draw.seed = 5;
  CU_ASSERT_FALSE(hr_scenario_is_random(scenario));
  scenario->services->at[1].router = HR_SERVICE_POWER_OF_TWO;
  CU_ASSERT_TRUE(hr_scenario_is_random(scenario));
  hr_trace_destroy(trace);
  hr_scenario_destroy(scenario);
}

/* A goal below the time of one iteration is reported with its closed form; the run shows that it is missed. */
static void goals_that_cannot_be_met(void) {
  struct hr_scenario *scenario = scenario_with("");
  struct hr_trace *trace = no_jobs();
  struct hr_replay replay;
  run(&replay, scenario, trace);
  CU_ASSERT_EQUAL(replay.notes.count, 0);
  hr_replay_finish(&replay);
  set_replicas(scenario, 6);
  scenario->services->at[0].slo.attainment = 0.9;
  scenario->services->at[0].slo.tpot_ms = 9.19; /* 9.2 ms are needed */
  run(&replay, scenario, trace);
  CU_ASSERT_EQUAL_FATAL(replay.notes.count, 1);
  CU_ASSERT_PTR_NOT_NULL(strstr(replay.notes.text[0], "'chat'"));
  CU_ASSERT_PTR_NOT_NULL(strstr(replay.notes.text[0], "fixed_us + per_sequence_us = 9.2 ms"));
  /* only requests with one output token meet the goal: 1 of 20 */
  CU_ASSERT_DOUBLE_EQUAL(metric_of(replay.summary, 0, "attainment"), 0.05, 0.01);
  hr_replay_finish(&replay);
  hr_trace_destroy(trace);
  hr_scenario_destroy(scenario);
}

/* The plan finds the minimum number of replicas that meets the goals. Runs with each number of replicas give the same
   minimum. */
static void plans_choose_replicas(void) {
  struct hr_scenario *scenario = scenario_with(
      ",\"plan\":{\"variables\":[{\"path\":\"services.0.autoscale.replicas\",\"name\":\"replicas\",\"values\":[1,2,3,4,"
      "5,6]}],\"constraints\":[\"chat.ttft_ms.p95 <= 100\",\"chat.attainment >= 90 %\"],\"objective\":"
      "\"chat.serving_usd\"}");
  struct hr_trace *trace = no_jobs();
  uint32_t fewest = 0;
  for (uint32_t n = 6; n >= 1; n--) {
    struct hr_replay replay;
    set_replicas(scenario, n);
    run(&replay, scenario, trace);
    if (metric_of(replay.summary, 0, "ttft_ms.p95") <= 100 && metric_of(replay.summary, 0, "attainment") >= 0.9)
      fewest = n;
    hr_replay_finish(&replay);
  }
  CU_ASSERT(fewest > 1 && fewest < 6);
  set_replicas(scenario, 1);
  struct hr_plan *plan;
  struct hr_error error = {0};
  const struct hr_plan_config config = {.scenario = scenario, .trace = trace, .n_threads = 2};
  enum hr_status status = hr_plan(&config, &plan, &error);
  if (status != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  CU_ASSERT(hr_plan_feasible(plan));
  const struct hr_perf perf = {0};
  char *json = hr_plan_json(plan, &perf), choice[60];
  snprintf(choice, sizeof choice, "\"replicas\":%u", (unsigned)fewest);
  const char *recommendation = strstr(json, "\"recommendation\"");
  CU_ASSERT_PTR_NOT_NULL_FATAL(recommendation);
  CU_ASSERT_TRUE(strncmp(strstr(recommendation, "\"replicas\""), choice, strlen(choice)) == 0);
  free(json);
  hr_plan_destroy(plan);
  hr_trace_destroy(trace);
  hr_scenario_destroy(scenario);
}

/* Two replicas just meet the goal. With more demand, the best choice has more replicas. The number of replicas is a
   setting, not a capacity. */
static void plans_answer_more_demand(void) {
  struct hr_scenario *scenario = scenario_with("");
  struct hr_trace *trace = no_jobs();
  struct hr_replay replay;
  char more[400];
  set_replicas(scenario, 2);
  run(&replay, scenario, trace);
  snprintf(
      more, sizeof more,
      ",\"plan\":{\"variables\":[{\"path\":\"services.0.autoscale.replicas\",\"name\":\"replicas\",\"values\":[2,3,4,"
      "6]}],\"constraints\":[\"chat.ttft_ms.p95 <= %.6f\"],\"objective\":\"chat.serving_usd\"}",
      1.01 * metric_of(replay.summary, 0, "ttft_ms.p95"));
  hr_replay_finish(&replay);
  hr_scenario_destroy(scenario);
  scenario = scenario_with(more);
  struct hr_plan *plan;
  struct hr_error error = {0};
  const struct hr_plan_config config = {.scenario = scenario, .trace = trace, .n_threads = 2};
  CU_ASSERT_EQUAL_FATAL(hr_plan(&config, &plan, &error), HR_OK);
  const struct hr_perf perf = {0};
  char *json = hr_plan_json(plan, &perf);
  cJSON *root = cJSON_Parse(json), *environment;
  uint32_t n_larger = 0;
  cJSON_ArrayForEach(environment, cJSON_GetObjectItem(root, "sensitivity")) {
    const cJSON *best = cJSON_GetObjectItem(environment, "best_choice");
    const cJSON *replicas = cJSON_GetObjectItem(cJSON_GetObjectItem(best, "choice"), "replicas");
    n_larger += cJSON_IsNumber(replicas) && replicas->valuedouble > 2;
  }
  CU_ASSERT(n_larger > 0);
  cJSON_Delete(root);
  free(json);
  hr_plan_destroy(plan);
  hr_trace_destroy(trace);
  hr_scenario_destroy(scenario);
}

/* ---- Alerts ----------------------------------------------------------------------------------------- */

/* Runs a scenario of one service with alerts. An iteration takes one second. */
static void run_with_alerts(struct hr_replay *replay, struct hr_scenario **scenario, struct hr_trace **trace,
                            const char *requests, uint32_t replicas, const char *engine) {
  char text[2000];
  struct hr_error error = {0};
  snprintf(text, sizeof text,
           "{\"seed\":3,\"cluster\":{\"pools\":[{\"name\":\"p\",\"gpu\":\"A\",\"nodes\":1,\"gpus_per_node\":8,"
           "\"market\":\"owned\",\"usd_per_gpu_hour\":2}]},\"services\":[{\"name\":\"s\",\"requests\":{%s},"
           "\"router\":\"least-outstanding\",\"autoscale\":{\"policy\":\"fixed\",\"replicas\":%u},\"replica\":{"
           "\"engine\":{%s},"
           "\"cost\":{\"fixed_us\":1000000,\"integer\":true}}}]}",
           requests, (unsigned)replicas, engine);
  *scenario = planned_scenario(text);
  *trace = no_jobs();
  const struct hr_replay_config config = {
      .scenario = *scenario, .trace = *trace, .seed = 3, .check = true, .alerts = true};
  enum hr_status status = hr_replay_init(replay, &config, &error);
  if (status == HR_OK) status = hr_replay_run(replay, &error);
  if (status != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
}

static void finish_run(struct hr_replay *replay, struct hr_scenario *scenario, struct hr_trace *trace) {
  hr_replay_finish(replay);
  hr_trace_destroy(trace);
  hr_scenario_destroy(scenario);
}

/* The alerts of a rule. */
static size_t alerts_of(const struct hr_replay *replay, enum hr_alert_rule rule, struct hr_alert *alerts, size_t most) {
  const struct hr_alert *list;
  size_t n = hr_alerts_list(replay->alerts, &list), count = 0;
  for (size_t i = 0; i < n; i++)
    if (list[i].rule == rule && count < most) alerts[count++] = list[i];
  return count;
}

/* One request every 10 s for an hour, 100 more at 1,800 s, and a last one after three hours. Alone, a request takes
   1 s. The 100 requests are served one after the other in the window that begins at 1,800 s. */
static void service_alerts_by_hand(void) {
  char csv[20000] = "arrival_timestamp,prompt_size,token_size\n";
  for (unsigned at = 0; at < 3600; at += 10)
    for (unsigned k = 0; k < (at == 1800 ? 101U : 1U); k++)
      snprintf(csv + strlen(csv), sizeof csv - strlen(csv), "%u,1,1\n", at);
  snprintf(csv + strlen(csv), sizeof csv - strlen(csv), "10800,1,1\n");
  char path[400];
  snprintf(path, sizeof path, "\"trace\":\"%s\"", file_write_text("alerts.csv", csv));
  struct hr_replay replay;
  struct hr_scenario *scenario;
  struct hr_trace *trace;
  struct hr_alert alerts[4];
  run_with_alerts(&replay, &scenario, &trace, path, 1, "\"max_sequences\":1,\"kv_blocks\":1000");
  CU_ASSERT_EQUAL_FATAL(alerts_of(&replay, HR_ALERT_LATENCY, alerts, 4), 1);
  CU_ASSERT_EQUAL(alerts[0].begin_us, 1800 * HR_SECOND_US);
  CU_ASSERT_EQUAL(alerts[0].end_us, 2100 * HR_SECOND_US);
  CU_ASSERT_STRING_EQUAL(alerts[0].where, "s");
  /* Requests at 1,800 s take 1 to 101 s; those every 10 s after it take 92, 83, ..., 11, 2 and then 1 s. Of these 130,
     the 124th takes 95 s, and 96 + 10 take more than 5 s. */
  CU_ASSERT_DOUBLE_EQUAL(alerts[0].value, 95, 1e-9);
  CU_ASSERT_EQUAL(alerts[0].count, 106);
  CU_ASSERT_EQUAL_FATAL(alerts_of(&replay, HR_ALERT_IDLE_REPLICA, alerts, 4), 1);
  /* idle since 3,591 s */
  CU_ASSERT_EQUAL(alerts[0].begin_us, (3591 + 1800) * HR_SECOND_US);
  CU_ASSERT_EQUAL(alerts[0].end_us, 10800 * HR_SECOND_US);
  CU_ASSERT_EQUAL(alerts[0].value, 1);
  CU_ASSERT_EQUAL(alerts_of(&replay, HR_ALERT_KV_MEMORY, alerts, 4), 0);
  finish_run(&replay, scenario, trace);
}

/* Returns the number of replicas that, at an instant, have been idle for more than `for_us`. It is computed from the
   times of their requests. */
static uint32_t count_late(const struct hr_served *served, uint32_t n_replicas, int64_t at_us, int64_t for_us) {
  uint32_t count = 0;
  for (uint32_t r = 0; r < n_replicas; r++) {
    int64_t last_us = served->requests->arrival_us[0];
    bool is_busy = false;
    for (uint32_t i = 0; i < served->requests->count; i++) {
      if (served->result->replica[i] != r || served->result->scheduled_us[i] > at_us) continue;
      if (served->result->end_us[i] > at_us) is_busy = true;
      if (served->result->end_us[i] > last_us) last_us = served->result->end_us[i];
    }
    count += !is_busy && at_us - last_us > for_us;
  }
  return count;
}

/* Few requests on four replicas: every 191 s, an alert is active if and only if some replica has been idle for too
   long. */
static void idle_alerts_are_those_of_the_requests(void) {
  struct hr_replay replay;
  struct hr_scenario *scenario;
  struct hr_trace *trace;
  struct hr_alert alerts[200];
  run_with_alerts(&replay, &scenario, &trace,
                  "\"rate_per_s\":0.004,\"duration_s\":100000,\"prompt_tokens\":{\"mean\":1},\"output_tokens\":"
                  "{\"distribution\":\"exponential\",\"mean\":300}",
                  4, "\"max_sequences\":1,\"kv_blocks\":1000");
  const size_t n_alerts = alerts_of(&replay, HR_ALERT_IDLE_REPLICA, alerts, 200);
  const struct hr_served *served = &replay.served[0];
  const int64_t origin_us = hr_fleet_origin_us(replay.fleet), for_us = scenario->alerts.idle_for_us;
  uint32_t n_active = 0;
  CU_ASSERT_TRUE(n_alerts > 3 && n_alerts < 200);
  for (int64_t at_us = 7 * HR_SECOND_US; at_us < 99000 * HR_SECOND_US; at_us += 191 * HR_SECOND_US) {
    uint32_t active = 0, late = count_late(served, 4, at_us + origin_us, for_us);
    for (size_t i = 0; i < n_alerts; i++)
      if (alerts[i].begin_us < at_us && at_us < alerts[i].end_us) {
        active++;
        CU_ASSERT_TRUE(alerts[i].value >= late);
      }
    CU_ASSERT_EQUAL(active, late > 0);
    n_active += active;
  }
  CU_ASSERT_TRUE(n_active > 50 && n_active < 500);
  finish_run(&replay, scenario, trace);
}

/* A replica for prompts and one for decodes, one request at 0 s and one at 8,000 s. The prompt takes 1 s, the decode
   ends at 3 s. The replica for prompts is idle since 1 s, so the alert begins 30 minutes later. */
static void idle_alert_of_replicas_with_phases(void) {
  char path[400];
  struct hr_replay replay;
  struct hr_scenario *scenario;
  struct hr_trace *trace;
  struct hr_alert alerts[4];
  snprintf(path, sizeof path, "\"trace\":\"%s\"",
           file_write_text("phases.csv", "arrival_timestamp,prompt_size,token_size\n0,1,2\n8000,1,2\n"));
  run_with_alerts(&replay, &scenario, &trace, path, 2, "\"name\":\"disaggregated\"");
  CU_ASSERT_EQUAL_FATAL(alerts_of(&replay, HR_ALERT_IDLE_REPLICA, alerts, 4), 1);
  CU_ASSERT_EQUAL(alerts[0].begin_us, (1 + 1800) * HR_SECOND_US);
  CU_ASSERT_EQUAL(alerts[0].end_us, 8001 * HR_SECOND_US);
  CU_ASSERT_EQUAL(alerts[0].value, 2);
  CU_ASSERT_EQUAL(alerts[0].count, 2);
  finish_run(&replay, scenario, trace);
}

/* With little memory for the KV cache, requests are preempted and restart. The alerts count all restarts. */
static void memory_alerts_have_all_losses(void) {
  struct hr_replay replay;
  struct hr_scenario *scenario;
  struct hr_trace *trace;
  struct hr_alert alerts[200];
  run_with_alerts(&replay, &scenario, &trace,
                  "\"rate_per_s\":0.05,\"duration_s\":20000,\"prompt_tokens\":{\"mean\":20},\"output_tokens\":"
                  "{\"distribution\":\"exponential\",\"mean\":60,\"max\":150}",
                  1, "\"max_sequences\":8,\"block_tokens\":4,\"kv_blocks\":60");
  uint64_t restarts = 0, count = 0;
  for (uint32_t i = 0; i < replay.served[0].requests->count; i++) restarts += replay.served[0].result->restarts[i];
  const size_t n_alerts = alerts_of(&replay, HR_ALERT_KV_MEMORY, alerts, 200);
  for (size_t i = 0; i < n_alerts; i++) count += alerts[i].count;
  CU_ASSERT_TRUE(restarts > 20);
  CU_ASSERT_EQUAL(count, restarts);
  for (size_t i = 1; i < n_alerts; i++) CU_ASSERT_TRUE(alerts[i].begin_us - alerts[i - 1].end_us >= 300 * HR_SECOND_US);
  finish_run(&replay, scenario, trace);
}

/* ---- Parts of the latency --------------------------------------------------------------------------- */

static cJSON *read_json(const char *path) {
  char *text = files_read(path);
  cJSON *tree = cJSON_Parse(text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
  free(text);
  return tree;
}

/* Checks the file against its schema, and that the parts add up. */
static void check_parts(const char *path, const char *key, double requests) {
  static const char *const parts[] = {"queue", "cold_start", "prompt", "transfer", "batch", "preemption"};
  cJSON *schema = read_json(PROJECT_DIR "/docs/reference/schemas/why-service.schema.json"), *tree = read_json(path);
  CU_ASSERT_TRUE(schema_fits(schema, tree, "written"));
  const cJSON *object = schema_get(tree, key), *sums = schema_get(object, "sums_us");
  double sum = 0;
  CU_ASSERT_EQUAL(cJSON_GetNumberValue(schema_get(object, "requests")), requests);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) sum += cJSON_GetNumberValue(schema_get(sums, parts[i]));
  CU_ASSERT_EQUAL(cJSON_GetNumberValue(schema_get(sums, "e2e")), sum);
  cJSON_Delete(schema);
  cJSON_Delete(tree);
}

static void why_fits_its_schema(void) {
  struct hr_scenario *scenario = scenario_with("");
  struct hr_trace *trace = no_jobs();
  struct hr_replay replay;
  char path[300];
  run(&replay, scenario, trace);
  const struct hr_served *served = &replay.served[0];
  const double n = served->requests->count, missed = n - metric_of(replay.summary, 0, "requests.attained");
  strcpy(path, file_write_text("why.json", ""));
  CU_ASSERT_EQUAL_FATAL(hr_service_why(NULL, path, served, HR_NONE, NULL), HR_OK);
  check_parts(path, "completed", n);
  check_parts(path, "missed", missed);
  CU_ASSERT_EQUAL_FATAL(hr_service_why(NULL, path, served, 5, NULL), HR_OK);
  check_parts(path, "completed", 1);
  finish_run(&replay, scenario, trace);
}

TEST_MAIN("services in runs", TEST(metrics_are_those_of_the_requests), TEST(backfill_with_services),
          TEST(parcels_have_services), TEST(goals_name_services), TEST(replications_draw_requests),
          TEST(goals_that_cannot_be_met), TEST(plans_choose_replicas), TEST(plans_answer_more_demand),
          TEST(service_alerts_by_hand), TEST(idle_alerts_are_those_of_the_requests),
          TEST(idle_alert_of_replicas_with_phases), TEST(memory_alerts_have_all_losses), TEST(why_fits_its_schema))
