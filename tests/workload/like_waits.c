/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Run by hand: how long jobs wait on drawn workloads and on the trace that these are like, at the same load, and how
 * far the rest of them is apart. `workload_like_waits [FIRST_SEED [SEEDS [TRACE]]]`: 101, 200 and both, Helios and
 * Philly, unless given. Fails where a distance of run times on a million jobs is 0.05 or more, or where the median of
 * the waits, by the trace's, is not between a half and two on each of the clusters under both policies. The trace is
 * the part of it that the model's weeks are of. How much of what it shows is chance is told by the trace itself, when
 * its tenants are moved against each other by whole weeks.
 */

#include "distance.h"
#include "headroom/headroom.h"
#include "queue_choice.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELIOS REAL_TRACES_DIR "/helios-venus/helios_trace.csv.gz"
#define PHILLY REAL_TRACES_DIR "/philly/philly.csv.gz"

enum { MANY = 1000000, MOST_SEEDS = 400, LEAST_JOBS = 500 };
static const uint32_t nodes[] = {110, 100, 90, 80, 70};
enum { N_NODES = sizeof nodes / sizeof *nodes };
static const int64_t week_us = 7 * 86400 * HR_SECOND_US;
static const uint32_t sizes[][2] = {{1, 1}, {2, 2}, {4, 4}, {8, 8}, {9, HR_NONE}, {16, 16}, {24, 24}, {32, 32}};

static void must(enum hr_status status, const struct hr_error *error) {
  if (status == HR_OK) return;
  fprintf(stderr, "%s\n", error->text);
  exit(EXIT_FAILURE);
}

/* ---- Waits ------------------------------------------------------------------------------------------ */

static double mean_wait_s(const struct hr_trace *trace, uint32_t n_nodes, const char *backfill) {
  struct hr_pool_spec pool = {.name = (char[]){"gpus"}, .gpu = (char[]){"any"}, .nodes = n_nodes, .gpus_per_node = 8};
  struct hr_cluster_spec cluster = {.pools = &pool, .n_pools = 1};
  struct hr_policy_choice policy = queue_choice(backfill, "best-fit");
  struct hr_run_config config = {
      .trace = trace, .cluster = &cluster, .policy = policy.ops, .params = policy.params, .horizon_us = HR_NEVER_US};
  struct hr_result *result = NULL;
  struct hr_error error = {0};
  must(hr_sim_run(&config, &result, &error), &error);
  double sum = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++) sum += (double)(result->start_us[i] - trace->submit_us[i]) / 1e6;
  hr_result_destroy(result);
  hr_policy_choice_finish(&policy);
  return sum / trace->n_jobs;
}

static double load_of(const struct hr_trace *trace) {
  double gpu_us = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++) gpu_us += (double)trace->gpus[i] * (double)trace->work_us[i];
  return gpu_us / (double)trace->submit_us[trace->n_jobs - 1];
}

/* Job `i` of a trace, submitted at `submit_us`. */
static void add_job(struct hr_trace_builder *builder, const struct hr_trace *trace, uint32_t i, int64_t submit_us) {
  struct hr_job_record record;
  struct hr_error error = {0};
  hr_job_record_init(&record);
  record.submit_us = submit_us;
  record.work_us = trace->work_us[i];
  record.gpus = trace->gpus[i];
  must(hr_trace_builder_add(builder, &record, i + 1, &error), &error);
}

static struct hr_trace *built(struct hr_trace_builder *builder) {
  struct hr_trace *trace = NULL;
  struct hr_error error = {0};
  must(hr_trace_builder_finish(builder, false, false, &trace, &error), &error);
  hr_trace_builder_destroy(builder);
  return trace;
}

/* Jobs `first` .. `end`, their submits times `stretch`. */
static struct hr_trace *part_of(const struct hr_trace *trace, uint32_t first, uint32_t end, double stretch) {
  struct hr_trace_builder *builder = hr_trace_builder_create("part", "memory");
  for (uint32_t i = first; i < end; i++)
    add_job(builder, trace, i, llround((double)(trace->submit_us[i] - trace->submit_us[first]) * stretch));
  return built(builder);
}

/* ---- One trace -------------------------------------------------------------------------------------- */

struct case_ {
  struct hr_trace *trace, *part; /* the latter from job `first` on */
  uint32_t first;
  struct hr_like_model *model;
  double waits[N_NODES][2], ratios[N_NODES][2][MOST_SEEDS];
};

/* The weeks that the model keeps: those at the ends have a tenth of the usual jobs or more. */
static void cut(struct case_ *case_) {
  const struct hr_trace *trace = case_->trace;
  int64_t phase_us = (trace->origin_us + (trace->dated ? 3 * 86400 * HR_SECOND_US : 0)) % week_us;
  double usual = (double)trace->n_jobs * (double)week_us / (double)trace->submit_us[trace->n_jobs - 1];
  uint32_t first = 0, end = trace->n_jobs;
  for (uint32_t next = first; next < end; first = next) {
    int64_t week = (trace->submit_us[first] + phase_us) / week_us;
    while (next < end && (trace->submit_us[next] + phase_us) / week_us == week) next++;
    if (next - first >= usual / 10) break;
  }
  for (uint32_t next = end; next > first; end = next) {
    int64_t week = (trace->submit_us[end - 1] + phase_us) / week_us;
    while (next > first && (trace->submit_us[next - 1] + phase_us) / week_us == week) next--;
    if (end - next >= usual / 10) break;
  }
  case_->part = part_of(trace, first, end, 1);
  case_->first = first;
}

static bool distances(const struct case_ *case_, uint32_t count, uint64_t seed) {
  struct hr_trace *like = drawn(case_->model, count, seed);
  bool near = true;
  printf("  seed %3llu, %7u jobs, distances of run times:", (unsigned long long)seed, count);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    double distance = distance_of_run_times(case_->trace, like, sizes[i][0], sizes[i][1], LEAST_JOBS);
    near = near && distance < 0.05;
    if (distance >= 0)
      printf(" %.3f", distance);
    else
      printf("     -");
  }
  printf("\n");
  hr_trace_destroy(like);
  return near;
}

/* Takes `like`. */
static void compare_waits(struct case_ *case_, struct hr_trace *like, uint64_t seed, uint32_t place) {
  double stretch = load_of(like) / load_of(case_->part);
  struct hr_trace *same = part_of(like, 0, like->n_jobs, stretch);
  printf("  seed %3llu, times by %.3f:", (unsigned long long)seed, stretch);
  for (uint32_t i = 0; i < N_NODES; i++) {
    for (uint32_t k = 0; k < 2; k++)
      case_->ratios[i][k][place] = mean_wait_s(same, nodes[i], k ? "easy" : "strict") / case_->waits[i][k];
    printf("  %6.2f %6.2f", case_->ratios[i][0][place], case_->ratios[i][1][place]);
  }
  printf("\n");
  hr_trace_destroy(same);
  hr_trace_destroy(like);
}

static int by_number(const void *a, const void *b) {
  double first = *(const double *)a, second = *(const double *)b;
  return (first > second) - (first < second);
}

static void print_quantile(const struct case_ *case_, const char *name, uint32_t below, uint32_t above) {
  printf("  %s:", name);
  for (uint32_t i = 0; i < N_NODES; i++)
    for (uint32_t k = 0; k < 2; k++)
      printf(" %s%6.2f", k ? "" : " ", (case_->ratios[i][k][below] + case_->ratios[i][k][above]) / 2);
  printf("\n");
}

/* Whether the medians are within a factor of two. Sorts. */
static bool print_ratios(struct case_ *case_, uint32_t n_seeds) {
  bool near = true;
  uint32_t below = (n_seeds - 1) / 2, above = n_seeds / 2, tenth = n_seeds / 10;
  for (uint32_t i = 0; i < N_NODES; i++)
    for (uint32_t k = 0; k < 2; k++) {
      double *ratios = case_->ratios[i][k];
      qsort(ratios, n_seeds, sizeof *ratios, by_number);
      double median = (ratios[below] + ratios[above]) / 2;
      near = near && median >= 0.5 && median <= 2;
    }
  print_quantile(case_, "a tenth is below        ", tenth, tenth);
  print_quantile(case_, "median of the ratios    ", below, above);
  print_quantile(case_, "a tenth is above        ", n_seeds - 1 - tenth, n_seeds - 1 - tenth);
  return near;
}

static void compare_drawn(struct case_ *case_, uint64_t first_seed, uint32_t n_seeds) {
  printf("\n  those of drawn workloads by these:\n");
  for (uint32_t i = 0; i < n_seeds; i++)
    compare_waits(case_, drawn(case_->model, case_->part->n_jobs, first_seed + i), first_seed + i, i);
}

/* ---- How much is chance ----------------------------------------------------------------------------- */

/* The whole weeks of a trace, each tenant's jobs moved round them by a drawn number of weeks. */
static struct hr_trace *moved(const struct hr_trace *trace, const uint32_t *tenants, uint64_t seed) {
  int64_t weeks = trace->submit_us[trace->n_jobs - 1] / week_us;
  struct hr_trace_builder *builder = hr_trace_builder_create("moved", "memory");
  for (uint32_t i = 0; i < trace->n_jobs && trace->submit_us[i] < weeks * week_us; i++) {
    int64_t by_us = week_us * hr_random_below(seed, 0, tenants[i], (uint32_t)weeks);
    add_job(builder, trace, i, (trace->submit_us[i] + by_us) % (weeks * week_us));
  }
  return built(builder);
}

static void compare_moved(struct case_ *case_, uint64_t first_seed, uint32_t n_seeds) {
  printf("  those of the trace, its tenants moved against each other by whole weeks:\n");
  const uint32_t *tenants = case_->trace->tenant + case_->first;
  for (uint32_t i = 0; i < n_seeds; i++)
    compare_waits(case_, moved(case_->part, tenants, first_seed + i), first_seed + i, i);
  print_ratios(case_, n_seeds);
}

/* ---- All of it -------------------------------------------------------------------------------------- */

static bool show(const char *name, const char *path, const char *map_text, uint64_t first_seed, uint32_t n_seeds) {
  static struct case_ case_;
  struct hr_column_map map = {0};
  struct hr_error error = {0};
  memset(&case_, 0, sizeof case_);
  if (map_text) must(hr_column_map_parse(&map, map_text, &error), &error);
  must(hr_trace_read(path, &(struct hr_trace_options){.map = &map}, &case_.trace, &error), &error);
  hr_column_map_finish(&map);
  case_.model = fitted(case_.trace);
  cut(&case_);
  printf("%s: %u of %u jobs, %.1f GPUs asked for on average\n", name, case_.part->n_jobs, case_.trace->n_jobs,
         load_of(case_.part));
  bool near = true;
  for (uint32_t i = 0; i < 3; i++) near = distances(&case_, MANY, first_seed + i) && near;
  for (uint32_t i = 0; i < 3; i++) distances(&case_, case_.part->n_jobs, first_seed + i);
  printf("  mean wait of the trace, s, first come first served and EASY:\n                         ");
  for (uint32_t i = 0; i < N_NODES; i++) {
    for (uint32_t k = 0; k < 2; k++) case_.waits[i][k] = mean_wait_s(case_.part, nodes[i], k ? "easy" : "strict");
    printf("  %u nodes %.0f %.0f", nodes[i], case_.waits[i][0], case_.waits[i][1]);
  }
  compare_drawn(&case_, first_seed, n_seeds);
  near = print_ratios(&case_, n_seeds) && near;
  if (case_.trace->tenant) compare_moved(&case_, first_seed, n_seeds);
  hr_like_destroy(case_.model);
  hr_trace_destroy(case_.part);
  hr_trace_destroy(case_.trace);
  return near;
}

int main(int argc, char **argv) {
  static const struct {
    const char *name, *path, *map;
  } traces[] = {{"Helios", HELIOS, "submit=arrival_s,duration=service_sec,gpus=gpu_count"}, {"Philly", PHILLY, NULL}};
  uint64_t first_seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 101;
  uint32_t n_seeds = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 200, n_shown = 0;
  FILE *file = fopen(HELIOS, "rb");
  if (!file || n_seeds < 1 || n_seeds > MOST_SEEDS) {
    fprintf(stderr, "*** SKIPPED: the real traces are not there, or not 1 to %d seeds were asked for ***\n",
            MOST_SEEDS);
    return 77;
  }
  fclose(file);
  hr_init();
  bool near = true;
  for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
    if (argc > 3 && strcmp(argv[3], traces[i].name) != 0) continue;
    near = show(traces[i].name, traces[i].path, traces[i].map, first_seed, n_seeds) && near;
    n_shown++;
  }
  return near && n_shown ? EXIT_SUCCESS : EXIT_FAILURE;
}
