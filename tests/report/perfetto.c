/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the written Perfetto file. It must be JSON with the required fields, slices of a thread must not overlap, and
   slices, counters and instants must agree with the summary. */

#include "exported.h"
#include "harness.h"
#include "headroom/unstable/exports.h"
#include "output_files.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

static struct exported exported;
static cJSON *root;

static double number(const cJSON *object, const char *key) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
  CU_ASSERT_FATAL(cJSON_IsNumber(item));
  return item->valuedouble;
}

static const char *text(const cJSON *object, const char *key) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
  CU_ASSERT_FATAL(cJSON_IsString(item));
  return item->valuestring;
}

static const cJSON *arguments(const cJSON *event) {
  return cJSON_GetObjectItemCaseSensitive(event, "args");
}

static bool is_phase(const cJSON *event, const char *phase) {
  return strcmp(text(event, "ph"), phase) == 0;
}

static const cJSON *events(void) {
  return cJSON_GetObjectItemCaseSensitive(root, "traceEvents");
}

static void write_and_read(const char *scenario, const char *const *overrides, size_t n_overrides) {
  struct hr_error error = {0};
  exported_make(&exported, scenario, overrides, n_overrides);
  CU_ASSERT_EQUAL_FATAL(hr_perfetto_write(files_path("trace.json"), &exported.run, &error), HR_OK);
  char *content = files_read(files_path("trace.json"));
  root = cJSON_Parse(content);
  CU_ASSERT_FATAL(cJSON_IsArray(events()));
  free(content);
}

static void finish(void) {
  cJSON_Delete(root);
  exported_finish(&exported);
}

/* ---- The format ------------------------------------------------------------------------------------- */

static void events_have_required_fields(void) {
  const cJSON *event;
  cJSON_ArrayForEach(event, events()) {
    CU_ASSERT(strlen(text(event, "name")) > 0);
    CU_ASSERT(number(event, "pid") >= 1 && number(event, "tid") >= 1);
    CU_ASSERT(strlen(text(event, "ph")) == 1 && strchr("MCXi", text(event, "ph")[0]) != NULL);
    if (!is_phase(event, "M")) CU_ASSERT(number(event, "ts") >= 0);
    if (is_phase(event, "X")) CU_ASSERT(number(event, "dur") >= 0);
    if (is_phase(event, "i")) CU_ASSERT(strcmp(text(event, "s"), "t") == 0 || strcmp(text(event, "s"), "p") == 0);
  }
}

struct slice {
  int pid, tid;
  double begin_us, end_us;
};

static int by_track(const void *left, const void *right) {
  const struct slice *a = left, *b = right;
  if (a->tid != b->tid) return a->tid < b->tid ? -1 : 1;
  if (a->begin_us != b->begin_us) return a->begin_us < b->begin_us ? -1 : 1;
  return (a->end_us > b->end_us) - (a->end_us < b->end_us);
}

/* A thread belongs to one process, and its slices do not overlap. */
static void slices_do_not_overlap(void) {
  const cJSON *event;
  size_t count = 0;
  struct slice *slices = calloc((size_t)cJSON_GetArraySize(events()) + 1, sizeof *slices);
  CU_ASSERT_PTR_NOT_NULL_FATAL(slices);
  cJSON_ArrayForEach(event, events()) {
    if (!is_phase(event, "X")) continue;
    double begin_us = number(event, "ts");
    slices[count++] =
        (struct slice){(int)number(event, "pid"), (int)number(event, "tid"), begin_us, begin_us + number(event, "dur")};
  }
  qsort(slices, count, sizeof *slices, by_track);
  for (size_t i = 1; i < count; i++) {
    if (slices[i].tid != slices[i - 1].tid) continue;
    CU_ASSERT_EQUAL(slices[i].pid, slices[i - 1].pid);
    CU_ASSERT(slices[i].begin_us >= slices[i - 1].end_us);
  }
  free(slices);
}

/* Each track with events has a name that is unique in its process. */
static void tracks_are_named(void) {
  const cJSON *event, *other;
  size_t n_tracks = 0;
  cJSON *names = cJSON_CreateObject(), *tracks = cJSON_CreateObject();
  char key[200];
  cJSON_ArrayForEach(other, events()) {
    if (strcmp(text(other, "name"), "thread_name") != 0) continue;
    snprintf(key, sizeof key, "%d %s", (int)number(other, "pid"), text(arguments(other), "name"));
    CU_ASSERT_FALSE(cJSON_HasObjectItem(names, key));
    cJSON_AddTrueToObject(names, key);
    snprintf(key, sizeof key, "%d %d", (int)number(other, "pid"), (int)number(other, "tid"));
    CU_ASSERT_FALSE(cJSON_HasObjectItem(tracks, key));
    cJSON_AddTrueToObject(tracks, key);
    n_tracks++;
  }
  CU_ASSERT(n_tracks >= 2);
  cJSON_ArrayForEach(event, events()) {
    bool on_track = is_phase(event, "X") || (is_phase(event, "i") && strcmp(text(event, "s"), "t") == 0);
    if (!on_track) continue;
    snprintf(key, sizeof key, "%d %d", (int)number(event, "pid"), (int)number(event, "tid"));
    CU_ASSERT_TRUE(cJSON_HasObjectItem(tracks, key));
  }
  cJSON_Delete(names);
  cJSON_Delete(tracks);
}

/* ---- The run ---------------------------------------------------------------------------------------- */

static void near(double a, double b) {
  CU_ASSERT_DOUBLE_EQUAL(a, b, 1e-6 * (1 + fabs(b)));
}

static void slices_match_summary(void) {
  const cJSON *event;
  double gpu_hours = 0, lost_hours = 0;
  uint64_t completed = 0;
  cJSON_ArrayForEach(event, events()) {
    if (!is_phase(event, "X") || strcmp(text(event, "cat"), "alert") == 0) continue;
    const cJSON *args = arguments(event);
    double gpus = number(args, "gpus"), lost_s = 0;
    const cJSON *lost = cJSON_GetObjectItemCaseSensitive(args, "lost_s");
    if (lost) lost_s = lost->valuedouble;
    CU_ASSERT_EQUAL(lost_s > 0, strcmp(text(event, "cat"), "job,lost") == 0);
    gpu_hours += gpus * number(event, "dur") / 3.6e9;
    lost_hours += gpus * lost_s / 3600;
    /* Counts jobs on one node only, so that a gang on several nodes is not counted more than once. */
    completed += gpus == number(args, "job_gpus") && strcmp(text(args, "ended"), "completed") == 0;
    CU_ASSERT(number(args, "wait_s") >= 0 && number(args, "attempt") >= 1);
  }
  near(gpu_hours, exported.replay.summary->gpu_hours);
  near(lost_hours, exported.replay.summary->goodput.lost_gpu_hours);
  CU_ASSERT(completed > 0 && completed <= exported.replay.summary->jobs_completed);
}

/* Integrals of the counters equal those of the summary. */
static void counters_match_summary(void) {
  const cJSON *event;
  double jobs_us = 0, gpus_us = 0, jobs_at_us = 0, gpus_at_us = 0, jobs = 0, gpus = 0, max_jobs = 0;
  cJSON_ArrayForEach(event, events()) {
    if (!is_phase(event, "C")) continue;
    double at_us = number(event, "ts");
    if (strcmp(text(event, "name"), "jobs") == 0) {
      CU_ASSERT(jobs_at_us == 0 || at_us > jobs_at_us);
      jobs_us += jobs * (at_us - jobs_at_us);
      jobs = number(arguments(event), "waiting");
      jobs_at_us = at_us;
      if (jobs > max_jobs) max_jobs = jobs;
    } else {
      gpus_us += gpus * (at_us - gpus_at_us);
      gpus = number(arguments(event), "allocated");
      gpus_at_us = at_us;
    }
  }
  near(gpus_us / 3.6e9, exported.replay.summary->gpu_hours);
  near(jobs_us / 1e6, exported.replay.summary->queue_mean * exported.replay.summary->makespan_s);
  CU_ASSERT_EQUAL(max_jobs, (double)exported.replay.summary->queue_max);
}

static void instants_match_result(void) {
  const cJSON *event;
  uint64_t rejections = 0, reclaims = 0, n_reclaims = 0;
  cJSON_ArrayForEach(event, events()) {
    if (!is_phase(event, "i")) continue;
    rejections += strncmp(text(event, "name"), "rejected: ", 10) == 0;
    reclaims += strcmp(text(event, "name"), "node-down: reclaimed") == 0;
  }
  for (uint32_t i = 0; i < exported.replay.result->n_pools; i++)
    n_reclaims += exported.replay.result->pools[i].reclaims;
  CU_ASSERT_EQUAL(rejections, exported.replay.summary->jobs_rejected);
  CU_ASSERT_EQUAL(reclaims, n_reclaims);
}

static void alerts_are_slices(void) {
  const struct hr_alert *list;
  size_t count = hr_alerts_list(exported.replay.alerts, &list), n_instants = 0;
  double sum_us = 0, alerts_us = 0;
  const cJSON *event;
  for (size_t i = 0; i < count; i++) sum_us += (double)(list[i].end_us - list[i].begin_us);
  cJSON_ArrayForEach(event, events()) {
    if (!is_phase(event, "X") || strcmp(text(event, "cat"), "alert") != 0) continue;
    CU_ASSERT(strlen(text(arguments(event), "text")) > 20);
    n_instants++;
    alerts_us += number(event, "dur");
  }
  CU_ASSERT_EQUAL(n_instants, count);
  near(alerts_us, sum_us);
}

static void check_scenario(const char *scenario, const char *const *overrides, size_t n_overrides) {
  write_and_read(scenario, overrides, n_overrides);
  events_have_required_fields();
  slices_do_not_overlap();
  tracks_are_named();
  slices_match_summary();
  counters_match_summary();
  instants_match_result();
  alerts_are_slices();
  finish();
}

static void whole_gpus(void) {
  check_scenario("demo", NULL, 0);
}

static void too_large_jobs(void) {
  const char *const small[] = {"cluster.pools.0.nodes=2"};
  check_scenario("demo", small, 1);
}

static void spot_nodes(void) {
  check_scenario("reserved-spot-mix", NULL, 0);
}

static void shared_gpus(void) {
  check_scenario("shared-inference", NULL, 0);
}

static void preemption(void) {
  const char *const las[] = {"policy={\"name\":\"las\"}"};
  check_scenario("demo", las, 1);
}

/* Several tasks of a gang on one node are drawn as one slice. */
static void gang_tasks_on_one_node_are_one_slice(void) {
  char trace[600];
  snprintf(trace, sizeof trace, "trace={\"file\":\"%s\"}", exported_gangs(files_path("gangs.csv")));
  const char *const overrides[] = {trace, "cluster.pools.0.sharing=\"fraction\""};
  check_scenario("demo", overrides, 2);
}

static void write_error_is_returned(void) {
  struct hr_error error = {0};
  exported_make(&exported, "demo", NULL, 0);
  CU_ASSERT_EQUAL(hr_perfetto_write("/dev/full", &exported.run, &error), HR_IO_ERROR);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "/dev/full: cannot be written: No space left on device"));
  CU_ASSERT_NOT_EQUAL(hr_perfetto_write(files_path("no-such-folder/t.json"), &exported.run, &error), HR_OK);
  exported_finish(&exported);
}

TEST_MAIN("report: perfetto", TEST(whole_gpus), TEST(too_large_jobs), TEST(spot_nodes), TEST(shared_gpus),
          TEST(preemption), TEST(gang_tasks_on_one_node_are_one_slice), TEST(write_error_is_returned))
