/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Measures how well drawn workloads reproduce the public traces. It is started manually;
 * docs/validation/workload-models.md has the results.
 *
 * Usage: workload_like_waits [FIRST_SEED [SEEDS]]; the defaults are 101 and 20.
 *
 * Prints the distances between run times (Kolmogorov and Smirnov) for a million drawn jobs, by number of GPUs. Also
 * prints mean waits on clusters of 8-GPU nodes, divided by the mean wait of the trace. Workloads are drawn from a
 * fitted model, or consist of resampled weeks. Submit times of drawn workloads are scaled so that the load equals the
 * load of the trace.
 */

#include "distance.h"
#include "headroom/headroom.h"
#include "queue_choice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define HELIOS REAL_TRACES_DIR "/helios-venus/helios_trace.csv.gz"
#define PHILLY REAL_TRACES_DIR "/philly/philly.csv.gz"
#define PAI REAL_TRACES_DIR "/alibaba-pai2020/alibaba_trace_sub.csv.gz"
#define SIMULATED "submit=arrival_s,duration=service_sec,gpus=gpu_count"

enum { N_DRAWN = 1000000, MAX_SEEDS = 1000, MIN_JOBS = 500, N_CLUSTERS = 3, N_POLICIES = 2, N_SOURCES = 2 };
static const uint32_t nodes[N_CLUSTERS] = {110, 90, 70};
static const char *const backfills[N_POLICIES] = {"strict", "easy"}, *const policies[N_POLICIES] = {"FIFO", "EASY"};
static const char *const sources[N_SOURCES] = {"model", "resample"};
static const uint32_t sizes[][2] = {{1, 1}, {2, 2}, {4, 4}, {8, 8}, {9, HR_NONE}};

static void check_status(enum hr_status status, const struct hr_error *error) {
  if (status == HR_OK) return;
  fprintf(stderr, "%s\n", error->text);
  exit(EXIT_FAILURE);
}

/* Returns the mean number of requested GPUs from the first submit to the last. */
static double load_of(const struct hr_trace *trace) {
  double gpu_us = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++) gpu_us += (double)trace->gpus[i] * (double)trace->work_us[i];
  return gpu_us / (double)(trace->submit_us[trace->n_jobs - 1] - trace->submit_us[0]);
}

/* Returns a trace of jobs with submit times, run times and GPUs only. Submit times count from the first job and are
   multiplied by `stretch`. */
static struct hr_trace *stretched(const struct hr_trace *trace, double stretch) {
  struct hr_trace_builder *builder = hr_trace_builder_create("drawn", "memory");
  struct hr_trace *copy = NULL;
  struct hr_error error = {0};
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    struct hr_job_record record;
    hr_job_record_init(&record);
    record.submit_us = llround((double)(trace->submit_us[i] - trace->submit_us[0]) * stretch);
    record.work_us = trace->work_us[i];
    record.gpus = trace->gpus[i];
    check_status(hr_trace_builder_add(builder, &record, i + 1, &error), &error);
  }
  check_status(hr_trace_builder_finish(builder, false, false, &copy, &error), &error);
  hr_trace_builder_destroy(builder);
  return copy;
}

static double mean_wait_s(const struct hr_trace *trace, uint32_t n_nodes, const char *backfill) {
  struct hr_pool_spec pool = {.name = (char[]){"gpus"}, .gpu = (char[]){"any"}, .nodes = n_nodes, .gpus_per_node = 8};
  struct hr_cluster_spec cluster = {.pools = &pool, .n_pools = 1};
  struct hr_policy_choice policy = queue_choice(backfill, "best-fit");
  struct hr_run_config config = {
      .trace = trace, .cluster = &cluster, .policy = policy.ops, .params = policy.params, .horizon_us = HR_NEVER_US};
  struct hr_result *result = NULL;
  struct hr_error error = {0};
  check_status(hr_sim_run(&config, &result, &error), &error);
  double sum = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++) sum += (double)(result->start_us[i] - trace->submit_us[i]) / 1e6;
  hr_result_destroy(result);
  hr_policy_choice_finish(&policy);
  return sum / trace->n_jobs;
}

static struct hr_trace *resampled(const struct hr_trace *trace, uint64_t seed) {
  struct hr_workload_spec spec;
  struct hr_trace *result = NULL;
  struct hr_error error = {0};
  hr_workload_spec_init(&spec);
  spec.blocks = HR_BLOCKS_WEEKS;
  check_status(hr_trace_redraw_count(trace, &spec, seed, trace->n_jobs, &result, &error), &error);
  return result;
}

static int by_number(const void *a, const void *b) {
  double first = *(const double *)a, second = *(const double *)b;
  return (first > second) - (first < second);
}

static void print_distances(const struct hr_trace *trace, const struct hr_workload_model *model, uint64_t seed) {
  struct hr_trace *like = drawn(model, N_DRAWN, seed);
  printf("  distances of run times, 1, 2, 4, 8 and more GPUs:");
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    printf(" %.3f", distance_of_run_times(trace, like, sizes[i][0], sizes[i][1], MIN_JOBS));
  printf("\n");
  hr_trace_destroy(like);
}

static void compare_waits(const struct hr_trace *trace, const struct hr_workload_model *model, uint64_t first_seed,
                          uint32_t n_seeds) {
  static double waits[N_SOURCES][N_CLUSTERS][N_POLICIES][MAX_SEEDS];
  struct hr_trace *real = stretched(trace, 1);
  for (uint32_t i = 0; i < n_seeds * N_SOURCES; i++) {
    uint64_t seed = first_seed + i / N_SOURCES;
    struct hr_trace *like = i % N_SOURCES ? resampled(trace, seed) : drawn(model, trace->n_jobs, seed);
    struct hr_trace *same = stretched(like, load_of(like) / load_of(real));
    for (uint32_t k = 0; k < N_CLUSTERS * N_POLICIES; k++)
      waits[i % N_SOURCES][k / N_POLICIES][k % N_POLICIES][i / N_SOURCES] =
          mean_wait_s(same, nodes[k / N_POLICIES], backfills[k % N_POLICIES]);
    hr_trace_destroy(same);
    hr_trace_destroy(like);
  }
  for (uint32_t k = 0; k < N_CLUSTERS * N_POLICIES; k++) {
    double wait_s = mean_wait_s(real, nodes[k / N_POLICIES], backfills[k % N_POLICIES]);
    printf("  %3u nodes, %s: real %.0f s", nodes[k / N_POLICIES], policies[k % N_POLICIES], wait_s);
    for (uint32_t source = 0; source < N_SOURCES; source++) {
      double *of = waits[source][k / N_POLICIES][k % N_POLICIES];
      qsort(of, n_seeds, sizeof *of, by_number);
      double median = (of[(n_seeds - 1) / 2] + of[n_seeds / 2]) / 2;
      printf("; %s / real %.3g (%.3g to %.3g)", sources[source], median / wait_s, of[n_seeds / 10] / wait_s,
             of[n_seeds - 1 - n_seeds / 10] / wait_s);
    }
    printf("\n");
  }
  hr_trace_destroy(real);
}

static void print_results(const char *name, const char *path, const char *map_text, bool waits, uint64_t first_seed,
                          uint32_t n_seeds) {
  struct hr_column_map map = {0};
  struct hr_trace *trace = NULL;
  struct hr_error error = {0};
  if (map_text) check_status(hr_column_map_parse(&map, map_text, &error), &error);
  check_status(hr_trace_read(path, &(struct hr_trace_options){.map = &map}, &trace, &error), &error);
  hr_column_map_finish(&map);
  struct hr_workload_model *model = fitted(trace);
  printf("%s: %u jobs that request %.1f GPUs on average\n", name, trace->n_jobs, load_of(trace));
  print_distances(trace, model, first_seed);
  if (waits) compare_waits(trace, model, first_seed, n_seeds);
  hr_workload_model_destroy(model);
  hr_trace_destroy(trace);
}

int main(int argc, char **argv) {
  uint64_t first_seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 101;
  uint32_t n_seeds = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 20;
  FILE *file = fopen(HELIOS, "rb");
  if (!file || n_seeds < 1 || n_seeds > MAX_SEEDS) {
    fprintf(stderr, "skipped: the public traces are missing, or the number of seeds is not from 1 to %d\n", MAX_SEEDS);
    return 77;
  }
  fclose(file);
  hr_init();
  print_results("Philly", PHILLY, NULL, true, first_seed, n_seeds);
  print_results("Helios", HELIOS, SIMULATED, true, first_seed, n_seeds);
  print_results("PAI", PAI, SIMULATED, true, first_seed, n_seeds);
  return EXIT_SUCCESS;
}
