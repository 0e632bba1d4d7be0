/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the written metrics and checks that the text is valid OpenMetrics. The written values for jobs, GPUs and nodes
   are computed from the history. They must agree with the counts and the summary of the run, which other observers
   compute. */

#include "exported.h"
#include "harness.h"
#include "output_files.h"

#include <math.h>
#include <string.h>

struct sample {
  const char *name, *labels; /* point into the text */
  double value, at_s;
};

static struct exported exported;
static char *text;
static struct sample *samples;
static size_t n_samples;

/* ---- Reading ---------------------------------------------------------------------------------------- */

static bool ends_with(const char *name, const char *end) {
  return strlen(name) >= strlen(end) && strcmp(name + strlen(name) - strlen(end), end) == 0;
}

/* The name of a sample must be the name of its family plus a suffix of the type of the family. */
static void check_name(const char *name, const char *family, const char *type) {
  size_t length = strlen(family);
  CU_ASSERT_FATAL(strncmp(name, family, length) == 0);
  const char *suffix = name + length;
  if (strcmp(type, "gauge") == 0) CU_ASSERT_STRING_EQUAL(suffix, "");
  if (strcmp(type, "counter") == 0) CU_ASSERT_STRING_EQUAL(suffix, "_total");
  if (strcmp(type, "histogram") == 0)
    CU_ASSERT(strcmp(suffix, "_bucket") == 0 || strcmp(suffix, "_count") == 0 || strcmp(suffix, "_sum") == 0);
}

static void read_sample(char *line, const char *family, const char *type) {
  struct sample *sample = &samples[n_samples++];
  char *brace = strchr(line, '{'), *end = strrchr(line, ' ');
  CU_ASSERT_PTR_NOT_NULL_FATAL(end);
  *end = '\0';
  char *value = strrchr(line, ' ');
  CU_ASSERT_PTR_NOT_NULL_FATAL(value);
  *value = '\0';
  if (brace) {
    CU_ASSERT_EQUAL(value[-1], '}');
    value[-1] = '\0';
    *brace = '\0';
  }
  *sample = (struct sample){line, brace ? brace + 1 : "", strtod(value + 1, &value), strtod(end + 1, &end)};
  CU_ASSERT(*value == '\0' && *end == '\0');
  check_name(sample->name, family, type);
}

/* Reads all samples. Each family must occur once, with its type and help before its samples. */
static void read_lines(void) {
  static char seen[64][100];
  size_t n_seen = 0;
  char family[100] = "", type[20] = "";
  bool helped = false, over = false;
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    char name[100], word[20];
    CU_ASSERT_FALSE(over);
    over = strcmp(line, "# EOF") == 0;
    if (sscanf(line, "# TYPE %99s %19s", name, word) == 2) {
      for (size_t i = 0; i < n_seen; i++) CU_ASSERT_STRING_NOT_EQUAL(seen[i], name);
      CU_ASSERT_FATAL(n_seen < 64);
      strcpy(seen[n_seen++], name);
      strcpy(family, name);
      strcpy(type, word);
      helped = false;
    } else if (sscanf(line, "# UNIT %99s %19s", name, word) == 2) {
      CU_ASSERT(strcmp(name, family) == 0 && ends_with(family, word));
    } else if (sscanf(line, "# HELP %99s", name) == 1) {
      CU_ASSERT_STRING_EQUAL(name, family);
      helped = true;
    } else if (!over) {
      CU_ASSERT_TRUE(helped);
      read_sample(line, family, type);
    }
  }
  CU_ASSERT_TRUE(over);
}

static void write_and_read(int64_t step_us, enum hr_metrics_place place) {
  static const struct hr_gpu_watts watts[8] = {{50, 400}, {50, 400}, {50, 400}, {-1, -1}, {50, 400}, {50, 400}};
  const struct hr_openmetrics_config config = {
      .step_us = step_us, .place = place, .watts = exported.run.cluster->n_pools <= 8 ? watts : NULL};
  struct hr_openmetrics_size size;
  struct hr_error error = {0};
  CU_ASSERT_EQUAL_FATAL(hr_openmetrics_write(files_path("metrics.txt"), &exported.run, &config, &size, &error), HR_OK);
  text = files_read(files_path("metrics.txt"));
  CU_ASSERT_TRUE(ends_with(text, "\n# EOF\n"));
  n_samples = 0;
  samples = calloc(size.samples + 1, sizeof *samples);
  CU_ASSERT_PTR_NOT_NULL_FATAL(samples);
  read_lines();
  CU_ASSERT_EQUAL(n_samples, size.samples);
}

static void free_run(void) {
  free(samples);
  free(text);
}

/* ---- Series ----------------------------------------------------------------------------------------- */

static bool is_series(const struct sample *sample, const struct sample *other) {
  return strcmp(sample->name, other->name) == 0 && strcmp(sample->labels, other->labels) == 0;
}

/* The samples of a series are sorted by time, and counters never decrease. The counts of a histogram's
   buckets do not decrease. */
static void series_are_in_order(void) {
  for (size_t i = 1; i < n_samples; i++) {
    const struct sample *before = &samples[i - 1], *now = &samples[i];
    CU_ASSERT(now->value >= 0);
    if (ends_with(now->name, "_bucket") && ends_with(before->name, "_bucket") && now->at_s == before->at_s)
      CU_ASSERT(now->value >= before->value);
    if (!is_series(before, now)) continue;
    CU_ASSERT(now->at_s > before->at_s);
    if (ends_with(now->name, "_total")) CU_ASSERT(now->value >= before->value);
  }
}

/* Returns the sum of the samples that have the given name and time. If `part` is not NULL, only series whose labels
   contain `part` are included. */
static double sum_at(const char *name, const char *part, double at_s) {
  double sum = 0;
  for (size_t i = 0; i < n_samples; i++)
    if (samples[i].at_s == at_s && strcmp(samples[i].name, name) == 0 && (!part || strstr(samples[i].labels, part)))
      sum += samples[i].value;
  return sum;
}

static double last_time(void) {
  double at_s = 0;
  for (size_t i = 0; i < n_samples; i++)
    if (samples[i].at_s > at_s) at_s = samples[i].at_s;
  return at_s;
}

static void near(double a, double b) {
  if (fabs(a - b) > 1e-4 * (1 + fabs(b))) printf("\n%.9g is not %.9g\n", a, b);
  CU_ASSERT_DOUBLE_EQUAL(a, b, 1e-4 * (1 + fabs(b)));
}

/* The events of all tenants sum to the counts of the cluster. */
static void tenants_sum_to_counts(void) {
  for (size_t i = 0; i < n_samples; i++) {
    if (strcmp(samples[i].name, "slurm_queue_pending") != 0) continue;
    double at_s = samples[i].at_s;
    near(sum_at("kueue_pending_workloads", NULL, at_s), samples[i].value);
    near(sum_at("kueue_admitted_active_workloads", NULL, at_s), sum_at("slurm_queue_running", NULL, at_s));
    near(sum_at("kueue_cluster_queue_resource_usage", NULL, at_s), sum_at("slurm_gpus_alloc", NULL, at_s));
    near(sum_at("slurm_gpus_alloc", NULL, at_s) + sum_at("slurm_gpus_idle", NULL, at_s),
         sum_at("slurm_gpus_total", NULL, at_s));
    near(sum_at("kueue_admission_wait_time_seconds_count", NULL, at_s),
         sum_at("kueue_admitted_workloads_total", NULL, at_s));
  }
}

static void last_samples_match_result(void) {
  const struct hr_result *result = exported.replay.result;
  const struct hr_summary *summary = exported.replay.summary;
  double at_s = last_time();
  uint64_t starts = 0, reclaims = 0;
  for (uint32_t i = 0; i < result->n_jobs; i++)
    starts += result->account ? hr_result_accounting(result, (hr_job){i}).attempts : result->start_us[i] != HR_NEVER_US;
  for (uint32_t i = 0; i < result->n_pools; i++) reclaims += result->pools[i].reclaims;
  near(sum_at("kueue_admitted_workloads_total", NULL, at_s), (double)starts);
  near(sum_at("kueue_finished_workloads_total", NULL, at_s), (double)summary->jobs_completed);
  near(sum_at("headroom_rejected_workloads_total", NULL, at_s), (double)summary->jobs_rejected);
  near(sum_at("kueue_evicted_workloads_total", "Preempted", at_s), (double)exported.replay.summary->preemptions);
  near(sum_at("headroom_node_reclaims_total", NULL, at_s), (double)reclaims);
  near(sum_at("kueue_admission_wait_time_seconds_bucket", "+Inf", at_s), (double)starts);
  if (starts == summary->wait_s.count)
    near(sum_at("kueue_admission_wait_time_seconds_sum", NULL, at_s), summary->wait_s.mean * (double)starts);
}

/* ---- GPUs ------------------------------------------------------------------------------------------- */

static void shares_are_at_most_1(void) {
  for (size_t i = 0; i < n_samples; i++) {
    if (strcmp(samples[i].name, "DCGM_FI_DEV_GPU_UTIL") == 0) CU_ASSERT(samples[i].value <= 100);
    if (strcmp(samples[i].name, "headroom_gpu_allocated_ratio") == 0) CU_ASSERT(samples[i].value <= 1);
    if (strcmp(samples[i].name, "DCGM_FI_PROF_SM_ACTIVE") == 0) CU_ASSERT(samples[i].value <= 1);
  }
}

/* In a run in which all nodes are always up, the shares of all steps sum to the GPU time of the run. `name` is the
   metric, `whole` its value at full use, and `gpus` the number of GPUs per series. */
static void shares_sum_to_gpu_hours(const char *name, double whole, double gpus, double step_s, double wanted_hours) {
  double hours = 0, end_s = (double)(hr_history_end_us(exported.history) + exported.trace->origin_us) / 1e6;
  for (size_t i = 0; i < n_samples; i++) {
    if (strcmp(samples[i].name, name) != 0) continue;
    double over_s = samples[i].at_s > end_s ? samples[i].at_s - end_s : 0;
    hours += samples[i].value / whole * gpus * (step_s - over_s) / 3600;
  }
  near(hours, wanted_hours);
}

static void gpu_time_matches_summary(double step_s, double gpus_of_series) {
  double held_hours = exported.replay.summary->gpu_hours;
  const struct hr_goodput *goodput = &exported.replay.summary->goodput;
  double busy_hours = held_hours;
  if (exported.replay.summary->stoppable) busy_hours = goodput->useful_gpu_hours + goodput->lost_gpu_hours;
  shares_sum_to_gpu_hours("headroom_gpu_allocated_ratio", 1, gpus_of_series, step_s, held_hours);
  shares_sum_to_gpu_hours("DCGM_FI_DEV_GPU_UTIL", 100, gpus_of_series, step_s, busy_hours);
}

/* The power draw of a GPU is 50 W if it is idle and 400 W at full use. */
static void power_follows_use(double gpus) {
  for (size_t i = 0, k = 0; i < n_samples; i++) {
    if (strcmp(samples[i].name, "DCGM_FI_DEV_POWER_USAGE") != 0) continue;
    while (strcmp(samples[k].name, "DCGM_FI_DEV_GPU_UTIL") != 0) k++;
    CU_ASSERT(samples[k].at_s == samples[i].at_s && strcmp(samples[k].labels, samples[i].labels) == 0);
    near(samples[i].value, gpus * (50 + 3.5 * samples[k].value));
    k++;
  }
}

/* ---- Cases ------------------------------------------------------------------------------------------ */

static void check_all(int64_t step_us, enum hr_metrics_place place) {
  write_and_read(step_us, place);
  series_are_in_order();
  tenants_sum_to_counts();
  last_samples_match_result();
  shares_are_at_most_1();
}

static void whole_gpus(void) {
  static const double gpus[] = {[HR_METRICS_BY_NODE] = 8, [HR_METRICS_BY_GPU] = 1, [HR_METRICS_BY_POOL] = 64};
  exported_make(&exported, "demo", NULL, 0);
  for (int place = HR_METRICS_BY_NODE; place <= HR_METRICS_BY_POOL; place++) {
    check_all(7 * 3600 * HR_SECOND_US + 1234567, (enum hr_metrics_place)place);
    gpu_time_matches_summary(7 * 3600 + 1.234567, gpus[place]);
    power_follows_use(gpus[place]);
    free_run();
  }
  exported_finish(&exported);
}

static void preemptions_and_rejections(void) {
  const char *const overrides[] = {"policy={\"name\":\"las\"}", "cluster.pools.0.nodes=3"};
  exported_make(&exported, "demo", overrides, 2);
  CU_ASSERT(exported.replay.summary->preemptions > 0 && exported.replay.summary->jobs_rejected > 0);
  check_all(12 * 3600 * HR_SECOND_US, HR_METRICS_BY_NODE);
  gpu_time_matches_summary(12 * 3600, 8);
  free_run();
  exported_finish(&exported);
}

/* In this scenario, jobs without a class need ten minutes to restart. Their GPUs are not busy in this time. */
static void restarts_are_not_busy(void) {
  const char *const overrides[] = {"policy={\"name\":\"las\"}", "classes={\"default\":{\"restart_s\":600}}"};
  exported_make(&exported, "demo", overrides, 2);
  const struct hr_goodput *goodput = &exported.replay.summary->goodput;
  CU_ASSERT(goodput->restart_gpu_hours > 50);
  check_all(12 * 3600 * HR_SECOND_US, HR_METRICS_BY_GPU);
  gpu_time_matches_summary(12 * 3600, 1);
  free_run();
  exported_finish(&exported);
}

static void run_with_horizon(void) {
  const char *const horizon[] = {"horizon_s=200000"};
  exported_make(&exported, "demo", horizon, 1);
  check_all(3600 * HR_SECOND_US, HR_METRICS_BY_POOL);
  gpu_time_matches_summary(3600, 64);
  free_run();
  exported_finish(&exported);
}

static void spot_nodes(void) {
  exported_make(&exported, "reserved-spot-mix", NULL, 0);
  check_all(24 * 3600 * HR_SECOND_US, HR_METRICS_BY_NODE);
  free_run();
  exported_finish(&exported);
}

static void shared_gpus(void) {
  exported_make(&exported, "shared-inference", NULL, 0);
  for (int place = HR_METRICS_BY_NODE; place <= HR_METRICS_BY_POOL; place++) {
    check_all(3600 * HR_SECOND_US, (enum hr_metrics_place)place);
    free_run();
  }
  exported_finish(&exported);
}

/* ---- Comparison with the history -------------------------------------------------------------------- */

static int64_t overlap_us(int64_t begin_us, int64_t end_us, int64_t from_us, int64_t to_us) {
  if (begin_us < from_us) begin_us = from_us;
  if (end_us > to_us) end_us = to_us;
  return end_us > begin_us ? end_us - begin_us : 0;
}

/* Returns the time for which a node was up between two times. */
static int64_t up_us(const struct hr_pool_spec *pool, uint32_t node, int64_t from_us, int64_t to_us) {
  const struct hr_node_change *changes;
  size_t n_changes = hr_history_changes(exported.history, &changes);
  bool up = !hr_market_is_elastic(pool->market.market) && pool->market.from_us <= 0;
  int64_t since_us = 0, sum_us = 0;
  for (size_t i = 0; i < n_changes; i++) {
    if (changes[i].node.id != node) continue;
    bool begins = changes[i].kind == HR_EVENT_NODE_UP;
    bool ends = changes[i].kind == HR_EVENT_NODE_DOWN || changes[i].kind == HR_EVENT_RELEASE;
    if (up && ends) sum_us += overlap_us(since_us, changes[i].at_us, from_us, to_us);
    if (!up && begins) since_us = changes[i].at_us;
    if (begins || ends) up = begins;
  }
  return sum_us + (up ? overlap_us(since_us, hr_history_end_us(exported.history), from_us, to_us) : 0);
}

/* Returns the GPU time of jobs in a pool, or on one of its nodes, between two times. */
static double held_milli_us(uint32_t pool, uint32_t node, int64_t from_us, int64_t to_us) {
  const struct hr_attempt *attempts;
  size_t n_attempts = hr_history_attempts(exported.history, &attempts);
  double sum = 0;
  for (size_t i = 0; i < n_attempts; i++) {
    const struct hr_slice *slices = hr_history_slices(exported.history, &attempts[i]);
    uint64_t milli = node == HR_NONE ? attempts[i].gpu_milli : 0;
    if (attempts[i].pool.id != pool) continue;
    for (uint32_t k = 0; node != HR_NONE && k < attempts[i].n_slices; k++)
      if (slices[k].node.id == node) milli += slices[k].gpu_milli;
    sum += (double)milli * (double)overlap_us(attempts[i].begin_us, attempts[i].end_us, from_us, to_us);
  }
  return sum;
}

/* Checks a sample: the share of a pool, or of one of its nodes, in the step that ends at the time of the sample. */
static void check_share(const struct sample *sample, uint32_t pool, uint32_t first, uint32_t node, int64_t step_us) {
  const struct hr_pool_spec *spec = &exported.run.cluster->pools[pool];
  int64_t to_us = llround(sample->at_s * 1e6) - exported.trace->origin_us;
  double up = 0;
  for (uint32_t i = first; i < first + spec->nodes; i++)
    if (node == HR_NONE || node == i) up += (double)up_us(spec, i, to_us - step_us, to_us);
  CU_ASSERT(up > 0);
  near(sample->value, held_milli_us(pool, node, to_us - step_us, to_us) / (up * 1000 * spec->gpus_per_node));
}

/* Every written share equals the share that the test computes from the history. Each step in which nodes were up has a
   sample. */
static void shares_match_history(int64_t step_us, enum hr_metrics_place place) {
  const struct hr_cluster_spec *cluster = exported.run.cluster;
  int64_t end_us = hr_history_end_us(exported.history);
  size_t n_shares = 0, n_up = 0;
  write_and_read(step_us, place);
  for (uint32_t pool = 0, first = 0; pool < cluster->n_pools; first += cluster->pools[pool++].nodes) {
    char label[120];
    snprintf(label, sizeof label, "pool=\"%.100s\"", cluster->pools[pool].name);
    for (size_t i = 0; i < n_samples; i++) {
      if (strcmp(samples[i].name, "headroom_gpu_allocated_ratio") != 0 || !strstr(samples[i].labels, label)) continue;
      const char *host = strstr(samples[i].labels, "Hostname=\"node-");
      CU_ASSERT_FATAL((host != NULL) == (place == HR_METRICS_BY_NODE));
      uint32_t node = host ? (uint32_t)strtoul(host + strlen("Hostname=\"node-"), NULL, 10) : HR_NONE;
      check_share(&samples[i], pool, first, node, step_us);
      n_shares++;
    }
    for (int64_t at_us = 0; at_us < end_us; at_us += step_us) {
      size_t n_nodes_up = 0;
      for (uint32_t i = first; i < first + cluster->pools[pool].nodes; i++)
        n_nodes_up += up_us(&cluster->pools[pool], i, at_us, at_us + step_us) > 0;
      n_up += place == HR_METRICS_BY_NODE ? n_nodes_up : n_nodes_up > 0;
    }
  }
  CU_ASSERT_EQUAL(n_shares, n_up);
  free_run();
}

/* The GPU time that the test computes from the history agrees with the number of GPUs of the run. */
static void history_matches_gpu_count(void) {
  const struct hr_cluster_spec *cluster = exported.run.cluster;
  const struct hr_count_change *changes;
  size_t n_changes = hr_counts_changes(exported.counts, &changes);
  int64_t end_us = hr_history_end_us(exported.history);
  double up = 0, counted = 0;
  uint32_t node = 0;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    for (uint32_t end = node + cluster->pools[i].nodes; node < end; node++)
      up += (double)up_us(&cluster->pools[i], node, 0, end_us) * 1000 * cluster->pools[i].gpus_per_node;
  for (size_t i = 0; i < n_changes; i++)
    counted += (double)changes[i].total_milli *
               (double)((i + 1 < n_changes ? changes[i + 1].at_us : end_us) - changes[i].at_us);
  near(up, counted);
}

static void scenarios_match_history(void) {
  static const char *const scenarios[] = {"demo", "reserved-spot-mix", "spot-v100", "agency"};
  for (size_t s = 0; s < sizeof scenarios / sizeof *scenarios; s++) {
    bool recorded =
        strcmp(scenarios[s], "spot-v100") == 0; /* the scenario refers to a file of recorded spot capacity */
    if (recorded &&
        real_trace_missing(REAL_TRACES_DIR "/spot-skypilot/availability/1-node/aws-02-15-2023/us-east-1a_v100_1.json"))
      continue;
    exported_make(&exported, scenarios[s], NULL, 0);
    history_matches_gpu_count();
    shares_match_history(23 * 3600 * HR_SECOND_US + 1234567, HR_METRICS_BY_POOL);
    shares_match_history(59 * 3600 * HR_SECOND_US + 7654321, HR_METRICS_BY_NODE);
    exported_finish(&exported);
  }
}

/* The default step is five minutes if there are few samples, and longer if there are many. */
static void default_step(void) {
  const struct hr_openmetrics_config by_node = {.place = HR_METRICS_BY_NODE}, by_gpu = {.place = HR_METRICS_BY_GPU};
  struct hr_openmetrics_size size;
  exported_make(&exported, "demo", NULL, 0);
  CU_ASSERT_EQUAL(hr_openmetrics_write(files_path("metrics.txt"), &exported.run, &by_node, &size, NULL), HR_OK);
  CU_ASSERT_EQUAL(size.step_us, 300 * HR_SECOND_US);
  CU_ASSERT(size.samples > 100000 && size.samples <= 500000);
  CU_ASSERT_EQUAL(hr_openmetrics_write(files_path("metrics.txt"), &exported.run, &by_gpu, &size, NULL), HR_OK);
  CU_ASSERT_EQUAL(size.step_us, 600 * HR_SECOND_US);
  CU_ASSERT(size.samples > 100000 && size.samples <= 500000);
  exported_finish(&exported);
}

/* A cluster with per-GPU allocation, in which slices have several GPUs. Each GPU has its own series. */
static void gangs_with_per_gpu_allocation(void) {
  char trace[600];
  snprintf(trace, sizeof trace, "trace={\"file\":\"%s\"}", exported_gangs(files_path("gangs.csv")));
  const char *const overrides[] = {trace, "cluster.pools.0.sharing=\"fraction\""};
  exported_make(&exported, "demo", overrides, 2);
  check_all(60 * HR_SECOND_US, HR_METRICS_BY_GPU);
  gpu_time_matches_summary(60, 1);
  free_run();
  exported_finish(&exported);
}

static void write_error_is_returned(void) {
  const struct hr_openmetrics_config config = {0}, tiny = {.step_us = 1};
  struct hr_error error = {0};
  exported_make(&exported, "demo", NULL, 0);
  CU_ASSERT_EQUAL(hr_openmetrics_write("/dev/full", &exported.run, &config, NULL, &error), HR_IO_ERROR);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "/dev/full: cannot be written: No space left on device"));
  CU_ASSERT_EQUAL(hr_openmetrics_write(files_path("m.txt"), &exported.run, &tiny, NULL, &error), HR_BAD_INPUT);
  CU_ASSERT_PTR_NOT_NULL(strstr(error.text, "use a longer step"));
  exported_finish(&exported);
}

TEST_MAIN("report: openmetrics", TEST(whole_gpus), TEST(preemptions_and_rejections), TEST(restarts_are_not_busy),
          TEST(run_with_horizon), TEST(spot_nodes), TEST(shared_gpus), TEST(scenarios_match_history),
          TEST(default_step), TEST(gangs_with_per_gpu_allocation), TEST(write_error_is_returned))
