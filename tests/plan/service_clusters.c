/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Services over several clusters, in random worlds. With one cluster, the output equals that of a scenario without
 * `clusters`. Clusters without spill-over have the output of each cluster alone. If regions are clusters, each request
 * has the same times as if the regions are pools of one cluster. Other tests: shares, local times, and the place of
 * each error. Runs are in checked mode.
 */

#include "harness.h"
#include "headroom/headroom.h"
#include "headroom/unstable/clusters.h"
#include "headroom/unstable/data.h"
#include "headroom/unstable/replay.h"
#include "trace_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 16000, MAX_SERVICES = 3, N_WORLDS = 20 }; /* N_WORLDS: the default of the first argument */

static uint64_t random_state;

static uint32_t draw(uint32_t below) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)((random_state >> 33) % below);
}

struct run {
  struct hr_scenario *scenario;
  struct hr_trace *trace;
  struct hr_replay replay;
};

static void finish(struct run *run) {
  hr_replay_finish(&run->replay);
  hr_trace_destroy(run->trace);
  hr_scenario_destroy(run->scenario);
}

static struct run make_run(const char *text) {
  struct run run = {0};
  struct hr_error error = {0};
  enum hr_status status = hr_scenario_load(file_write_text("world.json", text), NULL, 0, &run.scenario, &error);
  if (status == HR_OK && run.scenario->trace_file)
    status = hr_trace_read(run.scenario->trace_file, &(struct hr_trace_options){0}, &run.trace, &error);
  else if (status == HR_OK)
    status = hr_trace_empty("t", &run.trace, &error);
  if (status == HR_OK) {
    const struct hr_replay_config config = {
        .scenario = run.scenario, .trace = run.trace, .seed = 1, .check = true, .costs_by_job = true};
    status = hr_replay_init(&run.replay, &config, &error);
  }
  if (status == HR_OK) status = hr_replay_run(&run.replay, &error);
  if (status != HR_OK) fprintf(stderr, "%s\n%s\n", error.text, text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  return run;
}

/* ---- Random worlds ---------------------------------------------------------------------------------------- */

/* Writes requests to a file. One arrives at time 0, so that all runs begin then. */
static void draw_requests(const char *name) {
  char text[TEXT];
  int used = snprintf(text, sizeof text, "arrival_timestamp,prompt_size,token_size\n0,1,1\n");
  uint32_t ms = 0;
  const uint32_t gap = 200 + draw(20000), n = 20 + draw(60);
  for (uint32_t i = 0; i < n; i++) {
    ms += draw(3) ? draw(gap) : 0;
    used += snprintf(text + used, sizeof text - (size_t)used, "%" PRIu32 ".%03" PRIu32 ",%" PRIu32 ",%" PRIu32 "\n",
                     ms / 1000, ms % 1000, 1 + draw(200), 1 + draw(30));
  }
  file_write_text(name, text);
}

static const char *draw_autoscale(char text[200]) {
  static const char *const kinds[] = {
      "{\"policy\":\"fixed\",\"replicas\":%u}",
      "{\"policy\":\"knative\",\"max\":%u,\"target\":2,\"stable_window_s\":6,\"scale_to_zero_grace_s\":1}",
      "{\"policy\":\"slo\",\"max\":%u,\"idle_to_zero_s\":5}",
      "{\"policy\":\"ray-serve\",\"max\":%u,\"upscale_delay_s\":1,\"downscale_delay_s\":5}",
  };
  snprintf(text, 200, kinds[draw(4)], 1 + draw(2));
  return text;
}

/* The random settings of a service, which put_service writes. The parameter `spill` of put_service is the name of the
   service that gets spilled requests, or NULL. */
struct world_service {
  char autoscale[200], router[20];
  uint32_t cold_s, sequences, fixed_us, bound_ms, limit;
};

static void draw_service(struct world_service *service) {
  static const char *const routers[] = {"round-robin", "least-outstanding", "token-jsq"};
  draw_autoscale(service->autoscale);
  snprintf(service->router, sizeof service->router, "%s", routers[draw(3)]);
  service->cold_s = draw(3) * 4;
  service->sequences = 1 + draw(4);
  service->fixed_us = 10000 + draw(200000);
  service->bound_ms = draw(2) * draw(3000);
  service->limit = draw(2) ? 1 + draw(4) : 0;
}

static int put_service(char *text, size_t size, const struct world_service *service, uint32_t index, const char *spill,
                       const char *rest) {
  char router[200], queue[100] = "";
  snprintf(router, sizeof router, "{\"name\":\"%s\"}", service->router);
  if (spill)
    snprintf(router, sizeof router, "{\"name\":\"%s\",\"spill\":{\"to\":\"%s\",\"predicted_wait_s\":%.3f}}",
             service->router, spill, service->bound_ms / 1000.0);
  if (service->limit)
    snprintf(queue, sizeof queue, "\"queue\":{\"limit\":%" PRIu32 "%s},", service->limit,
             spill ? ",\"when_full\":\"spill\"" : "");
  return snprintf(
      text, size,
      "%s{\"name\":\"s%" PRIu32 "\",\"tenant\":\"t%" PRIu32 "\",\"requests\":{\"trace\":\"r%" PRIu32
      ".csv\"},\"router\":%s,%s\"autoscale\":%s,\"cold_start\":{\"engine_s\":%" PRIu32
      "},\"slo\":{\"e2e_ms\":20000},\"replica\":{%s\"engine\":{\"name\":\"vllm-v1\",\"max_sequences\":%" PRIu32
      ",\"kv_blocks\":1000},\"cost\":{\"fixed_us\":%" PRIu32 ",\"per_prompt_token_us\":100,\"integer\":true}}}",
      index ? "," : "", index, index, index, router, queue, service->autoscale, service->cold_s, rest,
      service->sequences, service->fixed_us);
}

/* Jobs of the tenants t0, t1 and so on; one job of each tenant at time 0. `only`: only jobs of this tenant; HR_NONE: of
   all tenants. */
static void write_jobs(uint64_t seed, uint32_t n_tenants, uint32_t only) {
  char text[TEXT];
  const uint64_t before = random_state;
  int used = snprintf(text, sizeof text, "submit_s,duration_s,gpus,tenant\n");
  random_state = seed;
  uint32_t at_s = 0;
  for (uint32_t i = 0; i < 30; i++) {
    const uint32_t tenant = i < n_tenants ? i : draw(n_tenants);
    const uint32_t work_s = 1 + draw(100), gpus = 1 + draw(2);
    at_s += i < n_tenants ? 0 : draw(40);
    if (only != HR_NONE && only != tenant) continue;
    used += snprintf(text + used, sizeof text - (size_t)used, "%" PRIu32 ",%" PRIu32 ",%" PRIu32 ",t%" PRIu32 "\n",
                     at_s, work_s, gpus, tenant);
  }
  random_state = before;
  file_write_text("jobs.csv", text);
}

#define POOL(name, nodes, region)                                                                                      \
  "{\"name\":\"" name "\",\"gpu\":\"L4\",\"gpus_per_node\":2,\"nodes\":" nodes ",\"market\":\"owned\","                \
  "\"usd_per_gpu_hour\":1" region "}"
#define QUEUE "\"policy\":{\"name\":\"queue\",\"order\":\"priority\",\"backfill\":\"skip\"}"
#define JOBS "\"trace\":{\"file\":\"jobs.csv\"},"

/* ---- Comparisons ------------------------------------------------------------------------------------------ */

static void check_same_requests(const struct hr_served *a, const struct hr_served *b) {
  const struct hr_service_result *x = a->result, *y = b->result;
  CU_ASSERT_EQUAL_FATAL(x->count, y->count);
  CU_ASSERT_EQUAL(x->n_decisions, y->n_decisions);
  CU_ASSERT_EQUAL(x->received, y->received);
  uint32_t n = 0;
  for (uint32_t i = 0; i < x->count; i++)
    n += x->state[i] != y->state[i] || x->replica[i] != y->replica[i] || x->scheduled_us[i] != y->scheduled_us[i] ||
         x->first_token_us[i] != y->first_token_us[i] || x->end_us[i] != y->end_us[i];
  CU_ASSERT_EQUAL(n, 0);
  CU_ASSERT(x->gpu_time.held == y->gpu_time.held && x->gpu_time.busy == y->gpu_time.busy);
}

/* Each job has the same account in both runs, even if it runs at the horizon. */
static void check_same_accounts(const struct hr_result *a, const struct hr_result *b) {
  uint32_t n = 0;
  CU_ASSERT_EQUAL_FATAL(a->n_jobs, b->n_jobs);
  for (uint32_t i = 0; i < a->n_jobs; i++) {
    const struct hr_job_accounting x = hr_result_accounting(a, (hr_job){i}), y = hr_result_accounting(b, (hr_job){i});
    n += x.attempts != y.attempts || x.milli_us.kept != y.milli_us.kept || x.milli_us.lost != y.milli_us.lost;
  }
  CU_ASSERT_EQUAL(n, 0);
}

/* Services that spill over to each other, and jobs, in one cluster that is or is not an entry of `clusters`. Every
   second world ends at a horizon. */
static void one_cluster_is_no_cluster(void) {
  for (uint32_t world = 0; world < test_argument(1, N_WORLDS); world++) {
    char services[TEXT] = "", text[TEXT + 1000];
    const char *end = world % 2 ? "\"horizon_s\":50," : "";
    int used = 0;
    random_state = world + 1;
    const uint32_t n = 1 + draw(MAX_SERVICES);
    for (uint32_t i = 0; i < n; i++) {
      char name[20], to[20];
      struct world_service service;
      snprintf(name, sizeof name, "r%" PRIu32 ".csv", i);
      snprintf(to, sizeof to, "s%" PRIu32, (i + 1) % n);
      draw_requests(name);
      draw_service(&service);
      used +=
          put_service(services + used, sizeof services - (size_t)used, &service, i, n > 1 && draw(2) ? to : NULL, "");
    }
    write_jobs(world, 2, HR_NONE);
    snprintf(text, sizeof text, "{%s" JOBS QUEUE ",\"cluster\":{\"pools\":[" POOL("p", "4", "") "]},\"services\":[%s]}",
             end, services);
    struct run plain = make_run(text);
    snprintf(text, sizeof text,
             "{%s" JOBS QUEUE ",\"clusters\":[{\"name\":\"c\",\"pools\":[" POOL("p", "4", "") "]}],\"services\":[%s]}",
             end, services);
    struct run wrapped = make_run(text);
    CU_ASSERT_EQUAL(plain.replay.result->digest, wrapped.replay.result->digest);
    CU_ASSERT_EQUAL(plain.replay.result->digest, wrapped.replay.result->clusters[0].digest);
    check_same_accounts(plain.replay.result, wrapped.replay.result);
    CU_ASSERT_EQUAL(plain.replay.result->n_submitted, wrapped.replay.result->clusters[0].n_submitted);
    for (uint32_t i = 0; i < n; i++) {
      check_same_requests(&plain.replay.served[i], &wrapped.replay.served[i]);
      CU_ASSERT_EQUAL(plain.replay.summary->services[i].cost_uusd, wrapped.replay.summary->services[i].cost_uusd);
    }
    finish(&plain);
    finish(&wrapped);
  }
}

/* Two clusters with a service and jobs each, without spill-over, have the results of two single runs. */
static void clusters_are_alone(void) {
  uint64_t different = 0;
  for (uint32_t world = 0; world < test_argument(1, N_WORLDS); world++) {
    struct world_service service[2];
    char services[TEXT] = "", one[2][TEXT / 4], text[TEXT + 1000];
    int used = 0;
    random_state = world + 1;
    for (uint32_t i = 0; i < 2; i++) {
      char name[20];
      snprintf(name, sizeof name, "r%" PRIu32 ".csv", i);
      draw_requests(name);
      draw_service(&service[i]);
      put_service(one[i], sizeof one[i], &service[i], i, NULL, "");
      used += put_service(services + used, sizeof services - (size_t)used, &service[i], i, NULL, "");
    }
    write_jobs(world, 2, HR_NONE);
    snprintf(text, sizeof text,
             "{" JOBS QUEUE ",\"clusters\":[{\"name\":\"a\",\"tenants\":[\"t0\"],\"pools\":[" POOL(
                 "p", "2", "") "]},{\"name\":\"b\",\"tenants\":[\"t1\"],\"pools\":[" POOL("p", "2",
                                                                                          "") "]}],\"services\":[%s]}",
             services);
    struct run both = make_run(text);
    int64_t cost_uusd = 0;
    for (uint32_t i = 0; i < 2; i++) {
      write_jobs(world, 2, i);
      snprintf(text, sizeof text, "{" JOBS QUEUE ",\"cluster\":{\"pools\":[" POOL("p", "2", "") "]},\"services\":[%s]}",
               one[i] + (i > 0));
      struct run alone = make_run(text);
      CU_ASSERT_EQUAL(alone.replay.result->digest, both.replay.result->clusters[i].digest);
      CU_ASSERT_EQUAL(alone.replay.result->n_submitted, both.replay.result->clusters[i].n_submitted);
      check_same_requests(&alone.replay.served[0], &both.replay.served[i]);
      cost_uusd += alone.replay.summary->services[0].cost_uusd;
      /* the ledger rounds the shares of all accounts so that they add up, so they can differ by a micro-dollar */
      CU_ASSERT(llabs(alone.replay.summary->services[0].cost_uusd - both.replay.summary->services[i].cost_uusd) <= 1);
      finish(&alone);
    }
    different += cost_uusd > 0;
    finish(&both);
  }
  CU_ASSERT_EQUAL(different, test_argument(1, N_WORLDS));
}

/* ---- Spill-over between clusters -------------------------------------------------------------------------- */

/* Every request of the scenario has exactly one end, and the number of tokens is unchanged. */
static void check_conservation(const struct run *run, uint32_t n) {
  uint64_t own = 0, own_tokens = 0, ended = 0, tokens = 0, spilled = 0, received = 0;
  for (uint32_t i = 0; i < n; i++) {
    const struct hr_served *served = &run->replay.served[i];
    const struct hr_service_requests *mine = &run->replay.requests[i];
    own += mine->count;
    for (uint32_t k = 0; k < mine->count; k++) own_tokens += mine->prompt_tokens[k] + (uint64_t)mine->output_tokens[k];
    received += served->result->received;
    for (uint32_t k = 0; k < served->result->count; k++) {
      const bool goes = served->result->state[k] == HR_REQUEST_SPILLED;
      spilled += goes;
      ended += !goes;
      if (!goes) tokens += served->requests->prompt_tokens[k] + (uint64_t)served->requests->output_tokens[k];
    }
  }
  CU_ASSERT_EQUAL(own, ended);
  CU_ASSERT_EQUAL(own_tokens, tokens);
  CU_ASSERT_EQUAL(spilled, received);
}

/* Regions in one cluster, with a pool each, and the same regions as clusters. No replica waits for GPUs, so requests
   must have the same times. Requests spill over in a circle of regions, in either direction. */
static void regions_are_clusters(void) {
  uint64_t spilled = 0;
  for (uint32_t world = 0; world < test_argument(1, N_WORLDS); world++) {
    char services[TEXT] = "", text[TEXT + 1000];
    int used = 0;
    random_state = world + 1000;
    const uint32_t step = 1 + draw(2);
    for (uint32_t i = 0; i < MAX_SERVICES; i++) {
      char name[20], to[20], region[40];
      struct world_service service;
      snprintf(name, sizeof name, "r%" PRIu32 ".csv", i);
      snprintf(to, sizeof to, "s%" PRIu32, (i + step) % MAX_SERVICES);
      snprintf(region, sizeof region, "\"region\":\"e%" PRIu32 "\",", i);
      draw_requests(name);
      draw_service(&service);
      used += put_service(services + used, sizeof services - (size_t)used, &service, i, draw(8) ? to : NULL, region);
    }
    snprintf(text, sizeof text,
             "{" QUEUE ",\"cluster\":{\"pools\":[" POOL("a", "2", ",\"region\":\"e0\"") "," POOL(
                 "b", "2", ",\"region\":\"e1\"") "," POOL("c", "2", ",\"region\":\"e2\"") "]},\"services\":[%s]}",
             services);
    struct run plain = make_run(text);
    snprintf(
        text, sizeof text,
        "{" QUEUE ",\"clusters\":[{\"name\":\"a\",\"tenants\":[\"t0\"],\"pools\":[" POOL(
            "p", "2",
            ",\"region\":\"e0\"") "]},{\"name\":\"b\",\"tenants\":[\"t1\"],\"pools\":[" POOL("p", "2",
                                                                                             ",\"region\":"
                                                                                             "\"e1\"") "]},{"
                                                                                                       "\"nam"
                                                                                                       "e\":"
                                                                                                       "\"c\""
                                                                                                       ",\"te"
                                                                                                       "nants"
                                                                                                       "\":["
                                                                                                       "\"t2"
                                                                                                       "\"],"
                                                                                                       "\"poo"
                                                                                                       "ls\":"
                                                                                                       "[" POOL(
                                                                                                           "p", "2",
                                                                                                           ",\"region\""
                                                                                                           ":\"e2\"") "]}],\"services\":[%s]}",
        services);
    struct run split = make_run(text);
    for (uint32_t i = 0; i < MAX_SERVICES; i++) {
      check_same_requests(&plain.replay.served[i], &split.replay.served[i]);
      CU_ASSERT(llabs(plain.replay.summary->services[i].cost_uusd - split.replay.summary->services[i].cost_uusd) <= 1);
      spilled += split.replay.served[i].result->received;
    }
    check_conservation(&split, MAX_SERVICES);
    finish(&plain);
    finish(&split);
  }
  CU_ASSERT(spilled > 500);
}

/* ---- One service in several clusters ---------------------------------------------------------------------- */

#define REPLICA                                                                                                        \
  "\"replica\":{\"engine\":{\"name\":\"vllm-v1\",\"max_sequences\":1,\"kv_blocks\":1000},"                             \
  "\"cost\":{\"fixed_us\":1000000,\"integer\":true}}"
#define THREE                                                                                                          \
  "\"clusters\":[{\"name\":\"us\",\"pools\":[" POOL(                                                                   \
      "p", "1",                                                                                                        \
      ",\"region\":\"u\"") "]},{\"name\":\"eu\",\"pools\":[" POOL("p", "1",                                            \
                                                                  ",\"region\":\"e\"") "]},{\"name\":\"ap\",\"only_"   \
                                                                                       "tenants\":[\"x\"],\"pools\":"  \
                                                                                       "[" POOL("p", "1", "") "]}]"

/* Three simultaneous requests; each takes a second. A cluster accepts two requests at a time (`limit`), so the third
   request goes to Europe. Of the six requests at 10 s, the first two remain in America. The other four go to Europe,
   which refuses two of them. */
static void goes_round(void) {
  file_write_text("r.csv", "arrival_timestamp,prompt_size,token_size\n0,1,1\n0,1,1\n0,1,1\n10,1,1\n10,1,1\n10,1,1\n"
                           "10,1,1\n10,1,1\n10,1,1\n");
  struct run run = make_run("{" THREE ",\"services\":[{\"name\":\"s\",\"requests\":{\"trace\":\"r.csv\"},\"clusters\":["
                            "{\"name\":\"us\"},{\"name\":\"eu\"}],\"router\":{\"name\":\"round-robin\",\"spill\":"
                            "{\"to\":\"clusters\"}},\"queue\":{\"limit\":2,\"when_full\":\"spill\"}," REPLICA "}]}");
  CU_ASSERT_EQUAL_FATAL(run.scenario->services->count, 2);
  CU_ASSERT_STRING_EQUAL(run.scenario->services->at[0].name, "us/s");
  CU_ASSERT_STRING_EQUAL(run.scenario->services->at[1].name, "eu/s");
  const struct hr_service_summary *us = &run.replay.summary->services[0], *eu = &run.replay.summary->services[1];
  CU_ASSERT_EQUAL(us->offered, 9);
  CU_ASSERT_EQUAL(us->completed + us->spilled, 9);
  CU_ASSERT_EQUAL(eu->offered, us->spilled);
  CU_ASSERT_EQUAL(eu->completed + eu->refused, us->spilled);
  CU_ASSERT(us->spilled == 5 && eu->refused == 2);
  check_conservation(&run, 2);
  CU_ASSERT_EQUAL(run.replay.result->clusters[0].n_submitted, 1);
  CU_ASSERT_EQUAL(run.replay.result->clusters[1].n_submitted, 1);
  finish(&run);
}

/* Drawn requests: 4,320 are expected, of which three quarters are in America. All of them arrive in the hour from 12:00
   local time: 18:00 UTC in America and 11:00 UTC in Europe. The shares of 101 requests add up to 101. */
static void shares_and_local_times(void) {
  struct run run = make_run(
      "{" THREE
      ",\"services\":[{\"name\":\"s\",\"requests\":{\"rate_per_s\":0.05,\"duration_s\":86400,\"hourly\":[0,0,0,0,"
      "0,0,0,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,0],\"prompt_tokens\":{\"mean\":1},\"output_tokens\":{\"mean\":1}},"
      "\"clusters\":[{\"name\":\"us\",\"share\":3,\"utc_offset_h\":-6},{\"name\":\"eu\",\"share\":1,\"utc_offset_h\":1}"
      "]," REPLICA "}]}");
  const struct hr_service_requests *us = &run.replay.requests[0], *eu = &run.replay.requests[1];
  CU_ASSERT(us->count > 3000 && us->count < 3500 && eu->count > 950 && eu->count < 1220);
  const int64_t hour_us = 3600 * HR_SECOND_US;
  CU_ASSERT(us->arrival_us[0] / hour_us == 18 && us->arrival_us[us->count - 1] / hour_us == 18);
  CU_ASSERT(eu->arrival_us[0] / hour_us == 11 && eu->arrival_us[eu->count - 1] / hour_us == 11);
  finish(&run);
  run = make_run(
      "{" THREE ",\"services\":[{\"name\":\"s\",\"requests\":{\"rate_per_s\":1,\"count\":101,\"prompt_tokens\":"
      "{\"mean\":1},\"output_tokens\":{\"mean\":1}},\"clusters\":[{\"name\":\"us\",\"share\":1},{\"name\":\"eu\","
      "\"share\":1}]," REPLICA "}]}");
  CU_ASSERT_EQUAL(run.replay.requests[0].count + run.replay.requests[1].count, 101);
  finish(&run);
}

static void check_error(const char *services, const char *part) {
  char text[TEXT];
  struct hr_error error = {0};
  struct hr_scenario *scenario = NULL;
  snprintf(text, sizeof text, "{" THREE ",\n\"services\":[{\"name\":\"s\",%s," REPLICA "}]}", services);
  CU_ASSERT_EQUAL(hr_scenario_load(file_write_text("bad.json", text), NULL, 0, &scenario, &error), HR_BAD_INPUT);
  if (!strstr(error.text, part)) fprintf(stderr, "%s\nlacks: %s\n", error.text, part);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, part));
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "bad.json:2:"));
}

#define TRACE "\"requests\":{\"trace\":\"r.csv\"},"
#define DRAWN                                                                                                          \
  "\"requests\":{\"rate_per_s\":1,\"count\":9,\"prompt_tokens\":{\"mean\":1},\"output_tokens\":{\"mean\":1}},"
static void errors_have_a_place(void) {
  file_write_text("r.csv", "arrival_timestamp,prompt_size,token_size\n0,1,1\n");
  check_error(TRACE "\"clusters\":[{\"name\":\"moon\"}]", "no cluster has the name 'moon'");
  check_error(TRACE "\"clusters\":[{\"name\":\"us\"},{\"name\":\"us\"}]", "duplicate cluster 'us'");
  check_error(TRACE "\"clusters\":[{\"name\":\"ap\"}]", "serves other tenants only");
  check_error(TRACE "\"clusters\":[{\"name\":\"us\",\"share\":1}]", "arrive in the first cluster");
  check_error(DRAWN "\"clusters\":[{\"name\":\"us\",\"share\":0}]", "all shares are 0");
  check_error(TRACE "\"clusters\":[{\"name\":\"us\",\"min\":1}]", "has 'replicas' instead");
  check_error(TRACE "\"clusters\":[{\"name\":\"us\",\"spill_to\":\"ap\"},{\"name\":\"eu\"}]", "has no cluster 'ap'");
  check_error(TRACE "\"clusters\":[{\"name\":\"us\",\"spill_to\":\"us\"},{\"name\":\"eu\"}]", "spill over to itself");
  check_error(TRACE "\"clusters\":[{\"name\":\"us\"}],\"router\":{\"name\":\"random\",\"spill\":{\"to\":\"clusters\","
                    "\"predicted_wait_s\":1}}",
              "'clusters' needs replicas in several clusters, but 'clusters' of the service has only one");
}

TEST_MAIN("services over several clusters", TEST(one_cluster_is_no_cluster), TEST(clusters_are_alone),
          TEST(regions_are_clusters), TEST(goes_round), TEST(shares_and_local_times), TEST(errors_have_a_place))
