/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fill experiments. Pods are drawn from a trace and placed on an empty cluster, one after the other, until they request
 * a given multiple of the GPUs of the cluster. No pod ends. Each run has one packing rule and one seed.
 *
 * Runs are made on a pool of threads. Each run writes only to its own rows.
 *
 * The pods of a seed are drawn from the trace with replacement until the sum of their requests reaches the target. They
 * are then shuffled. All rules have the same pods. A pod is a job of the trace, and its tasks are placed one by one. If
 * a task does not fit, the pod fails and none of its tasks is placed. A row is recorded each time the requested GPUs
 * reach the next whole per cent of the capacity.
 */

#include "headroom/unstable/planning.h"

#include "base/containers.h"
#include "base/output_file.h"
#include "base/random.h"
#include "base/text.h"
#include "base/threads.h"
#include "headroom/scenario.h"
#include "plan/runner/runner.h"
#include "report/tables/tables.h"
#include "sim/cluster/cluster.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Input of all runs. Immutable, so threads share it. */
struct fill_input {
  const struct hr_scenario *scenario;
  const struct hr_trace *trace;
  struct hr_arena arena; /* owns the arrays below */
  struct hr_requests *requests;
  struct hr_typical_pods *typical;
  struct hr_acceptance acceptance;
  uint64_t capacity_milli, target_milli; /* GPUs of the cluster; GPUs that all pods request; in milli-GPUs */
  /* number of rows of a run: one for each per cent of the capacity up to the target */
  uint32_t last;
};

struct hr_fill {
  struct hr_fill_config config;
  struct fill_input input;
  struct hr_fill_row *rows; /* [n_rules][n_seeds][last] */
  double *seconds;          /* [n_rules], wall clock time of all runs of a rule, in seconds */
};

/* The seed of run `index`: the scenario's seed + index. */
static uint64_t seed_of(const struct hr_fill *fill, uint32_t index) {
  return fill->config.scenario->seed + index;
}

/* ---- Checks ----------------------------------------------------------------------------------------- */

static enum hr_status check_nodes(const struct hr_scenario *scenario, struct hr_error *error) {
  if (hr_cluster_spec_gpus(&scenario->cluster) == 0)
    return hr_fail(error, HR_BAD_INPUT, "%s: no pool has a node; at least one is needed", scenario->path);
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++) {
    const struct hr_pool_spec *pool = &scenario->cluster.pools[i];
    if (pool->nodes > 0 && pool->gpus_per_node > HR_MAX_INVENTORY_GPUS)
      return hr_fail(error, HR_BAD_INPUT, "%s: pool '%.60s': a node has %u GPUs; fill supports at most %u",
                     scenario->path, pool->name, pool->gpus_per_node, HR_MAX_INVENTORY_GPUS);
  }
  return HR_OK;
}

enum { MAX_PODS = 200000000 };

/* Checks the requests and the expected number of pods. */
static enum hr_status check_pods(const struct fill_input *input, struct hr_error *error) {
  double requested = 0, target = (double)input->target_milli;
  if (input->trace->within)
    return hr_fail(error, HR_BAD_INPUT, "%s: jobs have topology constraints ('within'), which fill does not support",
                   input->trace->source);
  for (uint32_t i = 0; i < input->requests->count; i++)
    requested += (double)input->requests->jobs[i] * (double)hr_request_milli(&input->requests->request[i]);
  if (requested <= 0) return hr_fail(error, HR_BAD_INPUT, "%s: no job requests a GPU", input->trace->source);
  if (target / requested * input->trace->n_jobs > MAX_PODS)
    return hr_fail(error, HR_BAD_INPUT, "%s: more than %d jobs would be needed to fill the cluster",
                   input->trace->source, MAX_PODS);
  return HR_OK;
}

/* ---- Requests --------------------------------------------------------------------------------------- */

/* Collects the requests of all jobs in the trace. The pools that a job accepts are determined as in a simulation.
   Returns false when out of memory. */
static bool find_requests(struct fill_input *input) {
  const struct hr_scenario *scenario = input->scenario;
  const struct hr_trace *trace = input->trace;
  struct hr_arena *arena = &input->arena;
  struct hr__speed_table *speeds = hr_arena_alloc(arena, sizeof *speeds);
  struct hr__accepts *accepts = hr_arena_alloc(arena, sizeof *accepts);
  uint32_t *class_ = hr_arena_alloc(arena, ((size_t)trace->n_jobs + 1) * sizeof *class_);
  if (!speeds || !accepts || !class_ ||
      hr__speeds_init(speeds, arena, scenario->speeds, &scenario->cluster, trace) != HR_OK ||
      !hr__accepts_init(accepts, arena, &scenario->cluster, trace, scenario->classes, speeds))
    return false;
  for (uint32_t i = 0; i < trace->n_jobs; i++) class_[i] = hr__accepts_class(accepts, (hr_job){i});
  input->acceptance = (struct hr_acceptance){accepts->classes.row, accepts->classes.count, accepts->classes.n_pools};
  input->requests = hr_requests_create(arena, trace, class_, NULL, &scenario->cluster);
  if (input->requests) input->typical = hr_typical_pods_create(arena, input->requests);
  return input->requests && input->typical;
}

/* Prepares the input and checks that the cluster has GPUs and that jobs request GPUs. The caller must call
   input_finish, even after an error. */
static enum hr_status input_make(struct fill_input *input, const struct hr_fill_config *config,
                                 struct hr_error *error) {
  *input = (struct fill_input){.scenario = config->scenario, .trace = config->trace};
  input->capacity_milli = hr_cluster_spec_gpus(&config->scenario->cluster) * HR_WHOLE_GPU_MILLI;
  input->target_milli = (uint64_t)ceil(config->to * (double)input->capacity_milli - 1e-6);
  input->last = (uint32_t)(config->to * 100 + 1e-6);
  enum hr_status status = check_nodes(config->scenario, error);
  if (status == HR_OK && !find_requests(input)) status = hr_fail(error, HR_NO_MEMORY, "out of memory");
  return status == HR_OK ? check_pods(input, error) : status;
}

static void input_finish(struct fill_input *input) {
  hr__arena_finish(&input->arena);
}

/* ---- Pods ------------------------------------------------------------------------------------------- */

static uint32_t below(struct hr__stream *stream, uint32_t bound) {
  return (uint32_t)((uint64_t)hr__stream_next(stream) * bound >> 32);
}

static void shuffle(uint32_t *pods, uint32_t count, uint64_t seed) {
  struct hr__stream stream;
  hr__stream_init(&stream, seed, HR__PURPOSE_SHUFFLE, 0, 0);
  for (uint32_t left = count; left > 1; left--) {
    uint32_t other = below(&stream, left), pod = pods[left - 1];
    pods[left - 1] = pods[other];
    pods[other] = pod;
  }
}

/* Draws the pods. Returns the index of each pod's request, in order of arrival. The caller frees the array. NULL when
   out of memory. */
static uint32_t *draw_pods(const struct fill_input *input, uint64_t seed, uint32_t *count) {
  const struct hr_requests *requests = input->requests;
  struct hr__stream stream;
  uint32_t *pods = NULL, capacity = 0;
  uint64_t milli = 0;
  *count = 0;
  hr__stream_init(&stream, seed, HR__PURPOSE_SAMPLE, 0, 0);
  while (milli < input->target_milli) {
    if (!HR__ARRAY_HAS_ROOM(pods, *count, capacity)) {
      free(pods);
      return NULL;
    }
    pods[*count] = requests->of_job[below(&stream, input->trace->n_jobs)];
    milli += hr_request_milli(&requests->request[pods[(*count)++]]);
  }
  shuffle(pods, *count, seed);
  return pods;
}

/* ---- One run ---------------------------------------------------------------------------------------- */

struct fill_run {
  const struct fill_input *input;
  struct hr_arena arena;
  struct hr_gpu_inventory *inventory;
  struct hr_packer *packer;
  struct hr_fragmentation *fragmentation;
  struct hr_slice *slices; /* slices of the tasks of one job */
  uint64_t f;              /* fragmentation, summed over all nodes, in pods x thousandths of a GPU */
  uint64_t allocated_milli, arrived_milli, failed;
};

static uint32_t max_tasks(const struct hr_requests *requests) {
  uint32_t max = 1;
  for (uint32_t i = 0; i < requests->count; i++)
    if (requests->request[i].tasks > max) max = requests->request[i].tasks;
  return max;
}

static bool run_make(struct fill_run *run, const struct hr_packing_rule *rule, uint64_t seed) {
  const struct fill_input *input = run->input;
  const struct hr_cluster_spec *cluster = &input->scenario->cluster;
  run->inventory = hr_gpu_inventory_create(&run->arena, cluster, input->requests);
  if (run->inventory) /* a pod gets exactly the share it requests, even if a pool defines parts of a fixed size */
    memset(run->inventory->slot_milli, 0, run->inventory->n_nodes * sizeof *run->inventory->slot_milli);
  run->slices = hr_arena_alloc(&run->arena, max_tasks(input->requests) * sizeof *run->slices);
  if (!run->inventory || !run->slices) return false;
  const struct hr_packer_config config = {.rule = rule,
                                          .inventory = run->inventory,
                                          .cluster = cluster,
                                          .acceptance = input->acceptance,
                                          .requests = input->requests->request,
                                          .n_requests = input->requests->count,
                                          .typical = input->typical,
                                          .seed = seed};
  run->packer = hr_packer_create(&run->arena, &config);
  run->fragmentation = hr_fragmentation_create(&run->arena, input->typical, &input->acceptance, run->inventory);
  if (!run->packer || !run->fragmentation) return false;
  for (uint32_t node = 0; node < run->inventory->n_nodes; node++)
    run->f += hr_fragmentation_of(run->fragmentation, (hr_node){node});
  return true;
}

/* ---- One pod ---------------------------------------------------------------------------------------- */

typedef void change(struct hr_gpu_inventory *inventory, const struct hr_request *request, const struct hr_slice *slice);

static void change_inventory(struct fill_run *run, uint32_t number, const struct hr_slice *slice, change *each) {
  run->f -= hr_fragmentation_of(run->fragmentation, slice->node);
  each(run->inventory, &run->input->requests->request[number], slice);
  run->f += hr_fragmentation_of(run->fragmentation, slice->node);
}

static bool place_task(struct fill_run *run, uint32_t number, struct hr_slice *slice) {
  hr_node node;
  uint64_t gpus;
  if (!hr_packer_find(run->packer, number, &node, &gpus)) return false;
  *slice = hr_gpu_inventory_slice(run->inventory, &run->input->requests->request[number], node, gpus);
  change_inventory(run, number, slice, hr_gpu_inventory_take);
  hr_packer_taken(run->packer, number, node);
  return true;
}

static bool place_job(struct fill_run *run, uint32_t number) {
  uint32_t tasks = run->input->requests->request[number].tasks, placed = 0;
  while (placed < tasks && place_task(run, number, &run->slices[placed])) placed++;
  if (placed == tasks) return true;
  while (placed-- > 0) {
    change_inventory(run, number, &run->slices[placed], hr_gpu_inventory_undo);
    hr_packer_given(run->packer, number, run->slices[placed].node);
  }
  return false;
}

static void arrive(struct fill_run *run, uint32_t number) {
  const struct hr_request *request = &run->input->requests->request[number];
  uint64_t milli = (uint64_t)request->tasks * request->gpus * request->gpu_milli;
  run->arrived_milli += milli;
  if (place_job(run, number))
    run->allocated_milli += milli;
  else
    run->failed++;
}

/* ---- All pods --------------------------------------------------------------------------------------- */

static struct hr_fill_row row_of(const struct fill_run *run) {
  double capacity = (double)run->input->capacity_milli;
  double f = (double)run->f / (double)run->input->typical->total;
  return (struct hr_fill_row){.alloc_pct = 100 * (double)run->allocated_milli / capacity,
                              .frag_pct = 100 * f / capacity,
                              .failed = run->failed};
}

static void place_pods(struct fill_run *run, const uint32_t *pods, uint32_t count, struct hr_fill_row *rows) {
  uint32_t row = 0;
  for (uint32_t i = 0; i < count; i++) {
    arrive(run, pods[i]);
    while (row < run->input->last && run->arrived_milli * 100 >= (row + 1) * run->input->capacity_milli)
      rows[row++] = row_of(run);
  }
  while (row < run->input->last) rows[row++] = row_of(run);
}

/* Runs one rule with one seed and fills the array `rows`, which has input->last rows. HR_NO_MEMORY is the only failure.
 */
static enum hr_status make_run(const struct fill_input *input, const struct hr_packing_rule *rule, uint64_t seed,
                               struct hr_fill_row *rows) {
  struct fill_run run = {.input = input};
  uint32_t count;
  uint32_t *pods = draw_pods(input, seed, &count);
  bool made = pods && run_make(&run, rule, seed);
  if (made) place_pods(&run, pods, count, rows);
  hr__arena_finish(&run.arena);
  free(pods);
  return made ? HR_OK : HR_NO_MEMORY;
}

/* ---- All runs --------------------------------------------------------------------------------------- */

struct fill_work {
  struct hr_fill *fill;
  pthread_mutex_t lock;
  size_t done, total;
};

static struct hr_fill_row *rows_of(const struct hr_fill *fill, uint32_t rule, uint32_t seed_index) {
  return fill->rows + ((size_t)rule * fill->config.n_seeds + seed_index) * fill->input.last;
}

static void report_progress(struct fill_work *work, uint32_t rule, double seconds) {
  const struct hr_progress *to = &work->fill->config.progress;
  uint64_t jobs = work->fill->config.trace->n_jobs;
  pthread_mutex_lock(&work->lock);
  work->fill->seconds[rule] += seconds;
  work->done++;
  if (to->report) to->report(to->self, work->done * jobs, work->total * jobs, 0);
  pthread_mutex_unlock(&work->lock);
}

/* Makes one run. Runs are numbered by seed, then by rule. */
static enum hr_status run_one(void *self, size_t task, struct hr_error *error) {
  struct fill_work *work = self;
  struct hr_fill *fill = work->fill;
  uint32_t rule = (uint32_t)(task % fill->config.n_rules), index = (uint32_t)(task / fill->config.n_rules);
  double begin_s = hr__clock_s();
  enum hr_status status =
      make_run(&fill->input, fill->config.rules[rule], seed_of(fill, index), rows_of(fill, rule, index));
  report_progress(work, rule, hr__clock_s() - begin_s);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "out of memory");
}

static enum hr_status run_all(struct hr_fill *fill, struct hr_error *error) {
  size_t count = (size_t)fill->config.n_rules * fill->config.n_seeds;
  struct fill_work work = {.fill = fill, .total = count};
  struct hr__tasks tasks = {.self = &work, .run = run_one, .count = count};
  fill->rows = calloc(count * fill->input.last, sizeof *fill->rows);
  fill->seconds = calloc(fill->config.n_rules, sizeof *fill->seconds);
  if (!fill->rows || !fill->seconds) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  pthread_mutex_init(&work.lock, NULL);
  enum hr_status status = hr__pool_run(&tasks, fill->config.n_threads, error);
  pthread_mutex_destroy(&work.lock);
  return status;
}

static enum hr_status check(const struct hr_fill_config *config, struct hr_error *error) {
  if (config->n_rules == 0 || config->n_seeds == 0 || config->n_seeds > HR_MAX_FILL_SEEDS || config->n_threads == 0)
    return hr_fail(error, HR_BAD_INPUT, "fill needs at least one rule, one seed and one thread");
  if (!(config->to >= 0.01 && config->to <= HR_MAX_FILL_TO))
    return hr_fail(error, HR_BAD_INPUT, "fill up to %g times the cluster: expected 0.01 to %g", config->to,
                   HR_MAX_FILL_TO);
  return HR_OK;
}

enum hr_status hr_fill(const struct hr_fill_config *config, struct hr_fill **fill, struct hr_error *error) {
  *fill = NULL;
  enum hr_status status = check(config, error);
  if (status != HR_OK) return status;
  struct hr_fill *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  fresh->config = *config;
  status = input_make(&fresh->input, config, error);
  if (status == HR_OK) status = run_all(fresh, error);
  if (status == HR_OK)
    *fill = fresh;
  else
    hr_fill_destroy(fresh);
  return status;
}

void hr_fill_destroy(struct hr_fill *fill) {
  if (!fill) return;
  input_finish(&fill->input);
  free(fill->rows);
  free(fill->seconds);
  free(fill);
}

/* ---- Results ---------------------------------------------------------------------------------------- */

struct hr_fill_row hr_fill_at(const struct hr_fill *fill, uint32_t rule, uint32_t seed_index, uint32_t pct) {
  return rows_of(fill, rule, seed_index)[pct - 1];
}

struct hr_fill_mean hr_fill_mean_at(const struct hr_fill *fill, uint32_t rule, uint32_t pct) {
  double alloc[HR_MAX_FILL_SEEDS], frag[HR_MAX_FILL_SEEDS], failed[HR_MAX_FILL_SEEDS];
  uint32_t count = fill->config.n_seeds;
  for (uint32_t i = 0; i < count; i++) {
    struct hr_fill_row row = hr_fill_at(fill, rule, i, pct);
    alloc[i] = row.alloc_pct;
    frag[i] = row.frag_pct;
    failed[i] = (double)row.failed;
  }
  struct hr__mean a = hr__interval_of_mean(alloc, count), f = hr__interval_of_mean(frag, count),
                  n = hr__interval_of_mean(failed, count);
  return (struct hr_fill_mean){a.value, a.margin, f.value, f.margin, n.value, n.margin};
}

/* ---- Output -------------------------------------------------------------------------------------------- */

/* Writes results of fill experiments as CSV (one row for each rule, seed and per cent), as JSON
   (docs/researcher/fill.md), as Markdown, and as a table for a terminal. The table is 80 columns wide, and its rows
   are rules. */

/* ---- CSV -------------------------------------------------------------------------------------------- */

static void put_row(struct hr__csv_out *out, const struct hr_fill *fill, uint32_t rule, uint32_t index, uint32_t pct) {
  char buffer[HR__NUMBER_BYTES];
  struct hr_fill_row row = hr_fill_at(fill, rule, index, pct);
  hr__csv_text(out, fill->config.rules[rule]->name);
  hr__csv_u64(out, seed_of(fill, index));
  hr__csv_u64(out, pct);
  hr__csv_text(out, hr__decimal_text(row.alloc_pct, buffer));
  hr__csv_text(out, hr__decimal_text(row.frag_pct, buffer));
  hr__csv_u64(out, row.failed);
  hr__csv_end_row(out);
}

enum hr_status hr_fill_write_csv(const char *path, const struct hr_fill *fill, struct hr_error *error) {
  struct hr__csv_out out;
  enum hr_status status = hr__csv_open(&out, path, "policy,seed,arrived_pct,alloc_pct,frag_pct,failed", error);
  if (status != HR_OK) return status;
  for (uint32_t rule = 0; rule < fill->config.n_rules; rule++)
    for (uint32_t index = 0; index < fill->config.n_seeds; index++)
      for (uint32_t pct = 1; pct <= fill->input.last; pct++) put_row(&out, fill, rule, index, pct);
  return hr__csv_commit(&out, error);
}

/* ---- JSON ------------------------------------------------------------------------------------------- */

static void put_mean(struct hr__json *json, cJSON *object, const char *key, double value, double margin) {
  cJSON *inner = hr__json_object(json, object, key);
  hr__json_number(json, inner, "mean", value);
  hr__json_number_if(json, inner, "margin", !isnan(margin), margin);
}

static void put_policy(struct hr__json *json, cJSON *policies, const struct hr_fill *fill, uint32_t rule) {
  cJSON *policy = hr__json_append(json, policies, cJSON_CreateObject());
  hr__json_text(json, policy, "name", fill->config.rules[rule]->name);
  cJSON *rows = hr__json_array(json, policy, "arrived");
  for (uint32_t pct = 1; pct <= fill->input.last; pct++) {
    struct hr_fill_mean mean = hr_fill_mean_at(fill, rule, pct);
    cJSON *row = hr__json_append(json, rows, cJSON_CreateObject());
    hr__json_count(json, row, "pct", pct);
    put_mean(json, row, "alloc_pct", mean.alloc_pct, mean.alloc_margin);
    put_mean(json, row, "frag_pct", mean.frag_pct, mean.frag_margin);
    put_mean(json, row, "failed", mean.failed, mean.failed_margin);
  }
}

static void put_head(struct hr__json *json, cJSON *root, const struct hr_fill *fill) {
  const struct hr_fill_config *config = &fill->config;
  hr__json_head(json, root, config->scenario->name, config->trace->source, config->trace->format);
  hr__json_number(json, root, "gpus", (double)fill->input.capacity_milli / HR_WHOLE_GPU_MILLI);
  hr__json_number(json, root, "to", config->to);
  hr__json_number(json, root, "confidence", 0.95);
  cJSON *seeds = hr__json_array(json, root, "seeds");
  for (uint32_t i = 0; i < config->n_seeds; i++) hr__json_append_seed(json, seeds, seed_of(fill, i));
}

enum hr_status hr_fill_write_json(const char *path, const struct hr_fill *fill, const struct hr_perf *perf,
                                  struct hr_error *error) {
  struct hr__json json = {false};
  cJSON *root = cJSON_CreateObject();
  put_head(&json, root, fill);
  cJSON *policies = hr__json_array(&json, root, "policies");
  for (uint32_t i = 0; i < fill->config.n_rules; i++) put_policy(&json, policies, fill, i);
  cJSON *seconds = hr__json_object(&json, hr__json_runs_perf(&json, root, perf, fill->config.n_threads), "seconds");
  for (uint32_t i = 0; i < fill->config.n_rules; i++)
    hr__json_number(&json, seconds, fill->config.rules[i]->name, fill->seconds[i]);
  return hr__json_write(&json, root, path, error);
}

/* ---- Figures of both tables ------------------------------------------------------------------------- */

enum { NAME_WIDTH = 20, CELL_WIDTH = 10, MAX_CELLS = 5 };

struct fill_terminal {
  struct hr__console console;
  const struct hr_fill *fill;
};

/* Selects the rows to show and returns their number. Sets `points` to the requested GPUs at these rows, as percentages
   of the capacity. The rows are the one at 100 % and the last one. If the last row is at 100 % or less, only it is
   shown. */
static uint32_t points_of(const struct hr_fill *fill, uint32_t points[2]) {
  points[0] = 100;
  points[1] = fill->input.last;
  if (fill->input.last > 100) return 2;
  points[0] = fill->input.last;
  return 1;
}

static void figures_of(const struct hr_fill *fill, uint32_t rule, double values[MAX_CELLS], double margins[MAX_CELLS],
                       uint32_t *count) {
  uint32_t points[2], n = points_of(fill, points);
  struct hr_fill_mean mean = {0};
  *count = 0;
  for (uint32_t i = 0; i < n; i++) {
    mean = hr_fill_mean_at(fill, rule, points[i]);
    values[*count] = mean.alloc_pct;
    margins[(*count)++] = mean.alloc_margin;
    values[*count] = mean.frag_pct;
    margins[(*count)++] = mean.frag_margin;
  }
  values[*count] = mean.failed;
  margins[(*count)++] = mean.failed_margin;
}

static const char *value_text(double value, bool last, char *buffer) {
  return hr__fixed_text(value, last ? 0 : 2, buffer);
}

/* ---- Terminal --------------------------------------------------------------------------------------- */

static void table_put_head(struct fill_terminal *page) {
  const struct hr_fill_config *config = &page->fill->config;
  struct hr__console *console = &page->console;
  char gpus[HR__NUMBER_BYTES], nodes[HR__NUMBER_BYTES];
  uint64_t n_nodes = 0;
  for (uint32_t i = 0; i < config->scenario->cluster.n_pools; i++) n_nodes += config->scenario->cluster.pools[i].nodes;
  hr__put_page_title(console, "", config->scenario->name, HR__LINE_WIDTH - 20);
  hr__put_field(console, "trace", "%s (%s)", config->trace->source, config->trace->format);
  hr__put_field(console, "cluster", "%s GPUs on %s node%s",
                hr__count_text(page->fill->input.capacity_milli / HR_WHOLE_GPU_MILLI, gpus),
                hr__count_text(n_nodes, nodes), n_nodes == 1 ? "" : "s");
  hr__put_field(console, "pods", "drawn from the trace until they request %g times the GPUs; none ends", config->to);
  if (config->n_seeds == 1)
    hr__put_field(console, "seed", "%" PRIu64, seed_of(page->fill, 0));
  else
    hr__put_field(console, "seeds", "%" PRIu32 ", starting at %" PRIu64 "; the same pods for all rules",
                  config->n_seeds, seed_of(page->fill, 0));
}

static void put_titles(struct fill_terminal *page) {
  uint32_t points[2], n = points_of(page->fill, points);
  FILE *out = page->console.out;
  char over[32];
  fprintf(out, "\n%*s", NAME_WIDTH, "");
  for (uint32_t i = 0; i < n; i++) {
    snprintf(over, sizeof over, "%" PRIu32 " %% arrived", points[i]);
    fprintf(out, "%*s", 2 * CELL_WIDTH, over);
  }
  fprintf(out, "\n%s%-*s", hr__bold(&page->console), NAME_WIDTH, "in % of the GPUs");
  for (uint32_t i = 0; i < n; i++) fprintf(out, "%*s%*s", CELL_WIDTH, "taken", CELL_WIDTH, "fragments");
  fprintf(out, "%*s%*s%s\n", CELL_WIDTH, "failed", CELL_WIDTH, "seconds", hr__plain(&page->console));
}

static void put_margin(FILE *out, double margin, bool last) {
  char text[HR__NUMBER_BYTES];
  size_t width = strlen(value_text(margin, last, text));
  fprintf(out, "%*s\xC2\xB1%s", (int)(width + 1 < CELL_WIDTH ? CELL_WIDTH - width - 1 : 0), "", text);
}

static void put_rule(struct fill_terminal *page, uint32_t rule) {
  FILE *out = page->console.out;
  double values[MAX_CELLS], margins[MAX_CELLS];
  uint32_t count;
  char text[HR__NUMBER_BYTES];
  figures_of(page->fill, rule, values, margins, &count);
  fprintf(out, "%-*s", NAME_WIDTH, page->fill->config.rules[rule]->name);
  for (uint32_t i = 0; i < count; i++) fprintf(out, "%*s", CELL_WIDTH, value_text(values[i], i + 1 == count, text));
  fprintf(out, "%*s\n", CELL_WIDTH, hr__fixed_text(page->fill->seconds[rule], 2, text));
  if (isnan(margins[0])) return;
  fprintf(out, "%s%-*s", hr__dim(&page->console), NAME_WIDTH, "  95 % margin");
  for (uint32_t i = 0; i < count; i++) put_margin(out, margins[i], i + 1 == count);
  fprintf(out, "%s\n", hr__plain(&page->console));
}

static void put_foot(struct fill_terminal *page, const struct hr_perf *perf) {
  const struct hr_fill_config *config = &page->fill->config;
  uint64_t runs = (uint64_t)config->n_rules * config->n_seeds;
  uint32_t threads = config->n_threads < runs ? config->n_threads : (uint32_t)runs;
  fprintf(page->console.out,
          "\n%sfragments: idle GPUs that typical pods of the trace cannot use (docs/researcher/fill.md).%s\n",
          hr__dim(&page->console), hr__plain(&page->console));
  if (perf) hr__put_speed(&page->console, runs, threads, perf->sim_s, perf->load_s);
}

enum hr_status hr_fill_print(FILE *out, const struct hr_fill *fill, const struct hr_perf *perf, bool colour) {
  struct fill_terminal page = {.console = {.out = out, .colour = colour}, .fill = fill};
  table_put_head(&page);
  put_titles(&page);
  for (uint32_t i = 0; i < fill->config.n_rules; i++) put_rule(&page, i);
  put_foot(&page, perf);
  return hr__console_status(&page.console);
}

/* ---- Markdown --------------------------------------------------------------------------------------- */

static void put_markdown_row(FILE *out, const struct hr_fill *fill, uint32_t rule) {
  double values[MAX_CELLS], margins[MAX_CELLS];
  uint32_t count;
  char text[HR__NUMBER_BYTES];
  figures_of(fill, rule, values, margins, &count);
  fprintf(out, "| %s |", fill->config.rules[rule]->name);
  for (uint32_t i = 0; i < count; i++) {
    fprintf(out, " %s", value_text(values[i], i + 1 == count, text));
    if (!isnan(margins[i])) fprintf(out, " \xC2\xB1%s", value_text(margins[i], i + 1 == count, text));
    fputs(" |", out);
  }
  fputc('\n', out);
}

enum hr_status hr_fill_write_markdown(const char *path, const struct hr_fill *fill, struct hr_error *error) {
  struct hr__output_file file;
  uint32_t points[2], n = points_of(fill, points);
  enum hr_status status = hr__output_open(&file, path, error);
  if (status != HR_OK) return status;
  fprintf(file.stream, "| policy |");
  for (uint32_t i = 0; i < n; i++)
    fprintf(file.stream, " taken at %" PRIu32 " %%, %% of GPUs | fragments |", points[i]);
  fprintf(file.stream, " failed pods |\n|---|");
  for (uint32_t i = 0; i < 2 * n + 1; i++) fputs("---:|", file.stream);
  fputc('\n', file.stream);
  for (uint32_t i = 0; i < fill->config.n_rules; i++) put_markdown_row(file.stream, fill, i);
  return hr__output_commit(&file, error);
}
