/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The comparison of options: the pools of each option, the runs, and the results that are computed from the runs.
 *
 * Each option is the scenario with nodes only in the pools of the option. All options are run with the same jobs and
 * the same random events. If the demand grows or falls, each year is run with its jobs and its nodes: jobs of the trace
 * are repeated or left out at random, as in replications with a `growth`. The replications of an option give the
 * intervals of its availability, ETTR and utilization, and of all figures that depend on these. An option without
 * random events is run once.
 */

#include "plan/tco/tco.h"

#include "headroom/unstable/compare.h"
#include "headroom/unstable/scenario_clusters.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static enum hr_status no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory for the cost of ownership");
}

/* ---- Options ----------------------------------------------------------------------------------------- */

static uint32_t pool_named(const struct hr_cluster_spec *cluster, const char *name) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->pools[i].name && strcmp(cluster->pools[i].name, name) == 0) return i;
  return HR_NONE;
}

static enum hr__tco_kind kind_of_pool(const struct hr_tco *tco, const struct hr__tco_option *option, uint32_t i) {
  const struct hr_ownership *owned = hr__tco_source(tco, option, i)->ownership;
  switch (hr__tco_pool(tco, option, i)->market.market) {
  case HR_MARKET_RESERVED:
    return HR__TCO_RESERVED;
  case HR_MARKET_ON_DEMAND:
    return HR__TCO_ON_DEMAND;
  case HR_MARKET_SPOT:
    return HR__TCO_SPOT;
  default:
    return owned && owned->is_colocated ? HR__TCO_COLOCATED : HR__TCO_PRIVATE;
  }
}

static void describe(const struct hr_tco *tco, struct hr__tco_option *option) {
  for (uint32_t i = 0; i < option->n_pools; i++) {
    enum hr__tco_kind kind = kind_of_pool(tco, option, i);
    option->kind = i == 0 || kind == option->kind ? kind : HR__TCO_MIXED;
    if (hr__tco_pool(tco, option, i)->faults) option->knows_failures = true;
    if (hr__tco_pool(tco, option, i)->n_maintenance) option->has_maintenance = true;
  }
}

static enum hr_status make_listed(struct hr_tco *tco, struct hr_error *error) {
  const struct hr_tco_spec *spec = tco->scenario->tco;
  for (uint32_t k = 0; k < spec->n_options; k++) {
    const struct hr_tco_option *from = &spec->options[k];
    struct hr__tco_option *option = &tco->options[tco->n_options++];
    *option = (struct hr__tco_option){
        .name = from->name, .staff_usd_per_year = from->staff_usd_per_year, .contract_years = from->contract_years};
    option->pools = calloc(from->n_pools, sizeof *option->pools);
    if (!option->pools) return no_memory(error);
    for (uint32_t i = 0; i < from->n_pools; i++)
      option->pools[option->n_pools++] = pool_named(&tco->scenario->cluster, from->pools[i]);
  }
  return HR_OK;
}

static enum hr_status make_by_pool(struct hr_tco *tco, struct hr_error *error) {
  const struct hr_cluster_spec *cluster = &tco->scenario->cluster;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    if (cluster->pools[i].market.market == HR_MARKET_NONE || cluster->pools[i].nodes == 0) continue;
    if (tco->n_options == HR_MAX_TCO_OPTIONS)
      return hr_fail(error, HR_BAD_INPUT,
                     "%s: more than %d pools have a market; list those to compare in 'tco.options'",
                     tco->scenario->path, HR_MAX_TCO_OPTIONS);
    struct hr__tco_option *option = &tco->options[tco->n_options++];
    *option = (struct hr__tco_option){
        .name = cluster->pools[i].name, .contract_years = 1, .pools = calloc(1, sizeof *option->pools)};
    if (!option->pools) return no_memory(error);
    option->pools[option->n_pools++] = i;
  }
  if (tco->n_options) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT,
                 "%s: no pool has a 'market'; the cost of ownership needs pools with prices or with 'owned'",
                 tco->scenario->path);
}

static enum hr_status check_nodes(const struct hr_tco *tco, struct hr_error *error) {
  for (uint32_t k = 0; k < tco->n_options; k++)
    for (uint32_t i = 0; i < tco->options[k].n_pools; i++)
      if (hr__tco_pool(tco, &tco->options[k], i)->nodes == 0)
        return hr_fail(error, HR_BAD_INPUT, "%s: pool '%.60s' of option '%.60s' has 0 nodes; at least 1 is expected",
                       tco->scenario->path, hr__tco_pool(tco, &tco->options[k], i)->name, tco->options[k].name);
  return HR_OK;
}

static enum hr_status make_options(struct hr_tco *tco, struct hr_error *error) {
  bool listed = tco->scenario->tco && tco->scenario->tco->n_options;
  tco->options = calloc(HR_MAX_TCO_OPTIONS, sizeof *tco->options);
  if (!tco->options) return no_memory(error);
  enum hr_status status = listed ? make_listed(tco, error) : make_by_pool(tco, error);
  if (status == HR_OK) status = check_nodes(tco, error);
  for (uint32_t k = 0; k < tco->n_options && status == HR_OK; k++) describe(tco, &tco->options[k]);
  return status;
}

/* ---- Candidates -------------------------------------------------------------------------------------- */

enum { OVERRIDE_BYTES = HR_POOL_PATH_BYTES + sizeof ".nodes=4294967295" };

/* Returns the number of nodes of a pool of the scenario in a year of the option. */
static uint32_t nodes_in(const struct hr_tco *tco, const struct hr__tco_option *option, uint32_t pool, uint32_t year) {
  double nodes[HR_MAX_TCO_YEARS];
  for (uint32_t i = 0; i < option->n_pools; i++) {
    if (option->pools[i] != pool) continue;
    if (year == 0) return tco->scenario->cluster.pools[pool].nodes;
    hr__tco_count_nodes(tco, option, i, nodes);
    return nodes[year] < HR_MAX_NODES ? (uint32_t)nodes[year] : HR_MAX_NODES;
  }
  return 0;
}

/* Adds the option in a year as a candidate: the scenario without nodes in all other pools. */
static enum hr_status add_candidate(struct hr_tco *tco, struct hr__tco_option *option, uint32_t environment,
                                    uint32_t year, struct hr_error *error) {
  uint32_t n_pools = tco->scenario->cluster.n_pools;
  char(*texts)[OVERRIDE_BYTES] = calloc(n_pools, sizeof *texts);
  const char **overrides = calloc(n_pools, sizeof *overrides);
  size_t count = 0;
  enum hr_status status = texts && overrides ? HR_OK : no_memory(error);
  for (uint32_t i = 0; i < n_pools && status == HR_OK; i++) {
    uint32_t nodes = nodes_in(tco, option, i, year);
    if (nodes == tco->scenario->cluster.pools[i].nodes) continue;
    char path[HR_POOL_PATH_BYTES];
    snprintf(texts[count], OVERRIDE_BYTES, "%s.nodes=%" PRIu32, hr_scenario_pool_path(tco->scenario, i, path), nodes);
    overrides[count] = texts[count];
    count++;
  }
  if (status == HR_OK)
    status = hr__runner_add_candidate(tco->runner, overrides, count, environment, &option->candidates[year], error);
  if (status == HR_OK) option->random = option->random || hr__runner_is_random(tco->runner, option->candidates[year]);
  free(texts);
  free(overrides);
  return status;
}

/* Adds all options in a year, with its demand. */
static enum hr_status add_year(struct hr_tco *tco, uint32_t year, struct hr_error *error) {
  struct hr__environment environment = {.workload = tco->scenario->replications.workload};
  uint32_t number;
  environment.workload.growth *= hr_compound(tco->spec.growth - 1, year);
  /* a product such as 0.1 x 0.1 x 0.1 may differ from a bound by its rounding */
  if (hr_tco_growth_is_possible(environment.workload.growth))
    environment.workload.growth = fmin(fmax(environment.workload.growth, HR_MIN_GROWTH), HR_MAX_GROWTH);
  else
    return hr_fail(error, HR_BAD_INPUT,
                   "%s: the demand of year %" PRIu32 " is %.4g times that of the trace; a number from %g to %g is "
                   "expected; change 'tco.growth_per_year' or 'tco.years'",
                   tco->scenario->path, year + 1, environment.workload.growth, HR_MIN_GROWTH, (double)HR_MAX_GROWTH);
  hr_stress_init(&environment.stress);
  enum hr_status status = hr__runner_add_environment(tco->runner, &environment, &number, error);
  for (uint32_t k = 0; k < tco->n_options && status == HR_OK; k++)
    status = add_candidate(tco, &tco->options[k], number, year, error);
  return status;
}

static uint32_t wanted_replications(const struct hr_tco *tco, bool any_random) {
  uint32_t listed = tco->scenario->replications.count;
  if (!any_random) return 1;
  if (tco->config.n_replications) return tco->config.n_replications;
  return listed ? listed : HR_DEFAULT_MIN_REPLICATIONS;
}

static enum hr_status make_candidates(struct hr_tco *tco, struct hr_error *error) {
  const struct hr_tco_config *config = &tco->config;
  struct hr__runner_config runner = {.scenario = config->scenario,
                                     .overrides = config->overrides,
                                     .n_overrides = config->n_overrides,
                                     .trace = config->trace,
                                     .n_threads = config->n_threads,
                                     .progress = config->progress};
  bool any_random = false;
  tco->runner = hr__runner_create(&runner);
  if (!tco->runner) return no_memory(error);
  enum hr_status status = HR_OK;
  tco->n_simulated = tco->spec.growth == 1 || tco->spec.first_year_only ? 1 : tco->spec.years;
  for (uint32_t year = 0; year < tco->n_simulated && status == HR_OK; year++) status = add_year(tco, year, error);
  for (uint32_t k = 0; k < tco->n_options; k++) any_random = any_random || tco->options[k].random;
  tco->n_replications = wanted_replications(tco, any_random);
  return status;
}

/* ---- Runs -------------------------------------------------------------------------------------------- */

/* All runs. Each has its configuration, which the runner prepared. */
struct batch {
  struct hr_tco *tco;
  struct tco_item {
    uint32_t option, year, replication;
    struct hr__one_run_config config;
  } * items;
  size_t count;
  struct hr__progress_sum progress;
};

static double gpu_hours(hr_amount milli_us) {
  return (double)milli_us / ((double)HR_LEDGER_UNITS_PER_UUSD);
}

/* A run and the option that it is of. */
struct observed {
  const struct hr_tco *tco;
  const struct hr__tco_option *option;
  uint32_t year;
  struct hr__tco_run *run;
};

static enum hr_status prepare(void *self, struct hr_replay *replay, struct hr_error *error) {
  (void)self, (void)replay, (void)error;
  return HR_OK;
}

static void take_pool(const struct observed *observed, const struct hr_replay *replay, uint32_t i) {
  const uint32_t pool = observed->option->pools[i];
  const struct hr_pool_spec *spec = &replay->config.scenario->cluster.pools[pool];
  const struct hr_pool_account *account = hr_ledger_pool(replay->ledger, (hr_pool){pool});
  struct hr__tco_pool_use *use = &observed->run->pools[i];
  double node_us = (double)spec->nodes * (double)replay->result->end_us;
  use->billed_gpu_hours = gpu_hours(account->gpu_time);
  use->used_gpu_hours = gpu_hours(account->used_time);
  use->usd = (double)account->cost / (double)HR_LEDGER_UNITS_PER_UUSD / 1e6;
  if (!hr_market_is_elastic(spec->market.market) && node_us > 0)
    use->down_share = (double)(replay->result->pools[pool].down_us + replay->result->pools[pool].planned_us) / node_us;
}

/* Returns the GPUs x run time of all jobs. */
static double work_of(const struct hr_trace *trace) {
  double sum = 0;
  for (uint32_t job = 0; job < trace->n_jobs - trace->n_added; job++)
    sum += (double)trace->gpus[job] * (double)trace->work_us[job];
  return sum;
}

/* Returns the demand of a year / the work of the jobs that were drawn for it, which is random. */
static double demand_share(const struct observed *observed, const struct hr_trace *drawn) {
  const struct hr_workload_spec *workload = &observed->tco->scenario->replications.workload;
  if (observed->tco->n_simulated == 1 || workload->blocks != HR_BLOCKS_NONE) return 1;
  double wanted = work_of(observed->tco->config.trace) * workload->growth *
                  hr_compound(observed->tco->spec.growth - 1, observed->year);
  double work = work_of(drawn);
  return work > 0 ? wanted / work : 1;
}

static enum hr_status collect(void *self, const struct hr_replay *replay, struct hr_error *error) {
  struct observed *observed = self;
  struct hr__tco_run *run = observed->run;
  const struct hr_summary *summary = replay->summary;
  double run_s = (double)replay->result->end_us / 1e6, year_s = HR_HOURS_PER_YEAR * 3600;
  double window_s = summary->submit_window_s;
  /* jobs of later years are as many as in the time of the trace, although the last of them may be submitted later */
  if (observed->tco->n_simulated > 1) window_s = (double)hr_trace_last_submit_us(observed->tco->config.trace) / 1e6;
  if (!(window_s > 0 && window_s < run_s)) window_s = run_s;
  if (run_s <= 0) return hr_fail(error, HR_BAD_INPUT, "option '%.60s': no job runs", observed->option->name);
  run->scale = year_s / window_s * demand_share(observed, replay->result->trace);
  run->other_scale = year_s / run_s;
  run->held_gpu_hours = summary->gpu_hours;
  run->useful_gpu_hours = summary->stoppable ? summary->goodput.useful_gpu_hours : summary->gpu_hours;
  run->wait_p95_s = summary->wait_s.count ? summary->wait_s.p95 : (double)NAN;
  run->submitted = summary->jobs_submitted;
  run->completed = summary->jobs_completed;
  if (summary->costs) run->other_usd = (double)(summary->costs->total_uusd - summary->costs->capacity_uusd) / 1e6;
  for (uint32_t i = 0; i < observed->option->n_pools; i++) take_pool(observed, replay, i);
  run->made = true;
  return HR_OK;
}

static enum hr_status run_item(void *self, size_t index, struct hr_error *error) {
  struct batch *batch = self;
  struct tco_item *item = &batch->items[index];
  const struct hr__tco_option *option = &batch->tco->options[item->option];
  size_t place = (size_t)item->year * batch->tco->n_replications + item->replication;
  struct observed observed = {batch->tco, option, item->year, &option->runs[place]};
  const struct hr__one_run_details details = {.self = &observed, .prepare = prepare, .collect = collect};
  struct hr__progress_reporter reporter = {.sum = &batch->progress};
  struct hr__one_run run;
  item->config.details = &details;
  item->config.progress = hr__progress_reporter_progress(&reporter);
  enum hr_status status = hr__one_run_make(&item->config, &run, error);
  hr__one_run_finish(&run);
  return status;
}

/* Without ranks, results stay where the runs have put them. */
static void exchange(void *self, size_t index, struct hr__parcel *parcel) {
  (void)self, (void)index, (void)parcel;
}

static enum hr_status list_year(struct batch *batch, uint32_t k, uint32_t year, struct hr_error *error) {
  struct hr_tco *tco = batch->tco;
  const struct hr__tco_option *option = &tco->options[k];
  enum hr_status status = HR_OK;
  for (uint32_t r = 0; r < (option->random ? tco->n_replications : 1) && status == HR_OK; r++) {
    struct tco_item *item = &batch->items[batch->count++];
    *item = (struct tco_item){.option = k, .year = year, .replication = r};
    status = hr__runner_case(tco->runner, (struct hr__trial){option->candidates[year], r}, &item->config, error);
    if (status == HR_OK) batch->progress.total += item->config.trace->n_jobs;
  }
  return status;
}

static enum hr_status list_items(struct batch *batch, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (uint32_t k = 0; k < batch->tco->n_options; k++)
    for (uint32_t year = 0; year < batch->tco->n_simulated && status == HR_OK; year++)
      status = list_year(batch, k, year, error);
  return status;
}

static enum hr_status make_room(struct hr_tco *tco, struct hr_error *error) {
  for (uint32_t k = 0; k < tco->n_options; k++) {
    struct hr__tco_option *option = &tco->options[k];
    const uint32_t count = tco->n_simulated * tco->n_replications;
    option->runs = calloc(count, sizeof *option->runs);
    for (uint32_t r = 0; option->runs && r < count; r++) {
      option->runs[r].pools = calloc((size_t)option->n_pools + 1, sizeof *option->runs[r].pools);
      if (!option->runs[r].pools) return no_memory(error);
    }
    if (!option->runs) return no_memory(error);
  }
  return HR_OK;
}

static enum hr_status make_runs(struct hr_tco *tco, struct hr_error *error) {
  struct batch batch = {.tco = tco};
  enum hr_status status = make_room(tco, error);
  if (status != HR_OK) return status;
  batch.items = calloc((size_t)tco->n_options * tco->n_simulated * tco->n_replications + 1, sizeof *batch.items);
  if (!batch.items) return no_memory(error);
  hr__progress_sum_init(&batch.progress, &tco->config.progress, 0);
  status = list_items(&batch, error);
  if (status == HR_OK) {
    const struct hr__run_batch all = {.self = &batch, .count = batch.count, .run = run_item, .exchange = exchange};
    status = hr__batch_run(&all, NULL, tco->config.n_threads, error);
  }
  hr__progress_sum_finish(&batch.progress);
  free(batch.items);
  return status;
}

/* ---- Results ----------------------------------------------------------------------------------------- */

static bool is_owned(const struct hr__tco_option *option) {
  return option->kind == HR__TCO_PRIVATE || option->kind == HR__TCO_COLOCATED;
}

static bool is_paired(const struct hr__tco_option *option, const struct hr__tco_option *other) {
  bool in_cloud = other->kind == HR__TCO_ON_DEMAND || other->kind == HR__TCO_SPOT;
  if (option->kind == HR__TCO_RESERVED) return in_cloud;
  return is_owned(option) && (in_cloud || other->kind == HR__TCO_RESERVED);
}

/* The values of all replications, figure by figure and pair by pair, and sums of the amounts. */
struct values {
  struct hr__tco_path *paths;    /* [n_options] of one replication */
  double *of_options, *of_pairs; /* [n_options][figures][n_replications], [n_pairs][2][n_replications] */
  hr_amount (*sums)[HR_MAX_TCO_YEARS][HR_N_COST_PARTS + 2]; /* [n_options]: parts, bought, sold */
};

static void add_to_mean(struct hr__tco_path *mean, const struct hr__tco_path *path,
                        hr_amount sums[HR_MAX_TCO_YEARS][HR_N_COST_PARTS + 2], uint32_t count) {
  mean->years = path->years;
  mean->too_large = mean->too_large || path->too_large;
  mean->unserved_gpu_hours += path->unserved_gpu_hours / count;
  for (uint32_t year = 0; year < path->years; year++) {
    for (unsigned part = 0; part < HR_N_COST_PARTS; part++) sums[year][part] += path->uusd[year][part];
    sums[year][HR_N_COST_PARTS] += path->bought_uusd[year];
    sums[year][HR_N_COST_PARTS + 1] += path->sold_uusd[year];
    mean->gpus[year] = path->gpus[year];
    mean->capacity_gpu_hours[year] += path->capacity_gpu_hours[year] / count;
    mean->available_gpu_hours[year] += path->available_gpu_hours[year] / count;
    mean->held_gpu_hours[year] += path->held_gpu_hours[year] / count;
    mean->useful_gpu_hours[year] += path->useful_gpu_hours[year] / count;
  }
}

static int64_t mean_of(hr_amount sum, uint32_t count) {
  hr_amount twice = 2 * sum + (sum < 0 ? -(hr_amount)count : (hr_amount)count);
  return (int64_t)(twice / (2 * (hr_amount)count));
}

static void finish_mean(struct hr__tco_path *mean, hr_amount sums[HR_MAX_TCO_YEARS][HR_N_COST_PARTS + 2],
                        uint32_t count) {
  for (uint32_t year = 0; year < mean->years; year++) {
    for (unsigned part = 0; part < HR_N_COST_PARTS; part++) mean->uusd[year][part] = mean_of(sums[year][part], count);
    mean->bought_uusd[year] = mean_of(sums[year][HR_N_COST_PARTS], count);
    mean->sold_uusd[year] = mean_of(sums[year][HR_N_COST_PARTS + 1], count);
  }
}

static void evaluate(struct hr_tco *tco, struct values *values) {
  const uint32_t count = tco->n_replications;
  for (uint32_t r = 0; r < count; r++) {
    for (uint32_t k = 0; k < tco->n_options; k++) {
      struct hr__tco_option *option = &tco->options[k];
      hr__tco_path_make(tco, option, r, &values->paths[k]);
      add_to_mean(&option->mean, &values->paths[k], values->sums[k], count);
      for (unsigned f = 0; f < HR__TCO_N_FIGURES; f++)
        values->of_options[((size_t)k * HR__TCO_N_FIGURES + f) * count + r] = values->paths[k].figures[f];
    }
    for (uint32_t p = 0; p < tco->n_pairs; p++) {
      const struct hr__tco_path *option = &values->paths[tco->pairs[p].option];
      const struct hr__tco_path *other = &values->paths[tco->pairs[p].other];
      values->of_pairs[(size_t)p * 2 * count + r] = hr__tco_break_even_utilization(option, other);
      values->of_pairs[((size_t)p * 2 + 1) * count + r] = hr__tco_break_even_hours(option, other);
    }
  }
  for (uint32_t k = 0; k < tco->n_options; k++) finish_mean(&tco->options[k].mean, values->sums[k], count);
}

static enum hr_status interval(const struct hr_tco *tco, const double *values, enum hr_metric_kind kind, bool exact,
                               struct hr__interval *interval) {
  return hr__interval_of(values, tco->n_replications, kind, tco->confidence, exact, interval);
}

static enum hr_status make_intervals(struct hr_tco *tco, const struct values *values) {
  const uint32_t count = tco->n_replications;
  enum hr_status status = HR_OK;
  for (uint32_t k = 0; k < tco->n_options; k++)
    for (unsigned f = 0; f < HR__TCO_N_FIGURES && status == HR_OK; f++)
      status = interval(tco, &values->of_options[((size_t)k * HR__TCO_N_FIGURES + f) * count],
                        f == HR__TCO_WAIT ? HR_METRIC_QUANTILE : HR_METRIC_MEAN, !tco->options[k].random,
                        &tco->options[k].figures[f]);
  for (uint32_t p = 0; p < tco->n_pairs && status == HR_OK; p++) {
    struct hr__tco_pair *pair = &tco->pairs[p];
    bool exact = !tco->options[pair->option].random && !tco->options[pair->other].random;
    status = interval(tco, &values->of_pairs[(size_t)p * 2 * count], HR_METRIC_MEAN, exact, &pair->utilization);
    if (status == HR_OK)
      status = interval(tco, &values->of_pairs[((size_t)p * 2 + 1) * count], HR_METRIC_MEAN, exact, &pair->hours);
  }
  return status;
}

static bool list_pairs(struct hr_tco *tco) {
  tco->pairs = calloc((size_t)tco->n_options * tco->n_options, sizeof *tco->pairs);
  if (!tco->pairs) return false;
  for (uint32_t k = 0; k < tco->n_options; k++)
    for (uint32_t other = 0; other < tco->n_options; other++)
      if (is_paired(&tco->options[k], &tco->options[other]))
        tco->pairs[tco->n_pairs++] = (struct hr__tco_pair){.option = k, .other = other};
  return true;
}

static enum hr_status check_sizes(const struct hr_tco *tco, struct hr_error *error) {
  for (uint32_t k = 0; k < tco->n_options; k++)
    if (tco->options[k].mean.too_large)
      return hr_fail(error, HR_BAD_INPUT, "%s: an amount of option '%.60s' is above 10^12 dollars", tco->scenario->path,
                     tco->options[k].name);
  return HR_OK;
}

static enum hr_status make_results(struct hr_tco *tco, struct hr_error *error) {
  struct values values = {.paths = calloc(tco->n_options, sizeof *values.paths),
                          .sums = calloc(tco->n_options, sizeof *values.sums)};
  enum hr_status status = list_pairs(tco) ? HR_OK : HR_NO_MEMORY;
  size_t n = tco->n_replications;
  values.of_options = calloc((size_t)tco->n_options * HR__TCO_N_FIGURES * n, sizeof *values.of_options);
  values.of_pairs = calloc((size_t)tco->n_pairs * 2 * n + 1, sizeof *values.of_pairs);
  if (!values.paths || !values.sums || !values.of_options || !values.of_pairs) status = HR_NO_MEMORY;
  if (status == HR_OK) {
    evaluate(tco, &values);
    status = make_intervals(tco, &values);
  }
  free(values.paths);
  free(values.sums);
  free(values.of_options);
  free(values.of_pairs);
  return status == HR_OK ? check_sizes(tco, error) : no_memory(error);
}

/* ---- Notes ------------------------------------------------------------------------------------------- */

static double gpu_hours_held(const struct hr__tco_path *path) {
  double sum = 0;
  for (uint32_t year = 0; year < path->years; year++) sum += path->held_gpu_hours[year];
  return sum;
}

double hr__tco_missing(const struct hr__tco_option *option) {
  double missing = option->mean.unserved_gpu_hours, held = gpu_hours_held(&option->mean);
  return missing > 0 ? missing / (missing + held) : 0;
}

bool hr__tco_serves(const struct hr_tco *tco, const struct hr__tco_option *option) {
  uint64_t most = 0;
  for (uint32_t k = 0; k < tco->n_options; k++)
    if (tco->options[k].runs[0].completed > most) most = tco->options[k].runs[0].completed;
  return hr__tco_missing(option) < 0.01 && (double)option->runs[0].completed >= 0.99 * (double)most;
}

static enum hr_status note_option(struct hr_tco *tco, const struct hr__tco_option *option) {
  const struct hr__tco_run *run = &option->runs[0];
  enum hr_status status = HR_OK;
  if (hr__tco_missing(option) > 0)
    status = hr_notes_add(&tco->notes,
                          "option '%.60s' has too few nodes: of the GPU hours that its jobs need, %.3g %% are missing",
                          option->name, 100 * hr__tco_missing(option));
  if (status == HR_OK && run->completed < run->submitted)
    status = hr_notes_add(&tco->notes,
                          "option '%.60s' completes %" PRIu64 " of %" PRIu64 " jobs; its work is that of fewer jobs",
                          option->name, run->completed, run->submitted);
  return status;
}

static enum hr_status add_notes(struct hr_tco *tco, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (uint32_t k = 0; k < tco->n_options && status == HR_OK; k++) status = note_option(tco, &tco->options[k]);
  return status == HR_OK ? HR_OK : no_memory(error);
}

/* ---- The comparison ---------------------------------------------------------------------------------- */

static const struct hr_tco_spec defaults = {.years = 5,
                                            .growth = 1,
                                            .cloud_price = 1,
                                            .hardware_price = 1,
                                            .energy_price = 1,
                                            .wages = 1,
                                            .discount_rate = 0.08};

enum hr_status hr_tco(const struct hr_tco_config *config, struct hr_tco **tco, struct hr_error *error) {
  *tco = NULL;
  struct hr_tco *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return no_memory(error);
  fresh->config = *config;
  fresh->scenario = config->scenario;
  fresh->spec = config->scenario->tco ? *config->scenario->tco : defaults;
  fresh->confidence = config->scenario->replications.confidence;
  enum hr_status status = make_options(fresh, error);
  if (status == HR_OK) status = make_candidates(fresh, error);
  if (status == HR_OK) status = make_runs(fresh, error);
  if (status == HR_OK) status = make_results(fresh, error);
  if (status == HR_OK) status = add_notes(fresh, error);
  if (status == HR_OK)
    *tco = fresh;
  else
    hr_tco_destroy(fresh);
  return status;
}

void hr_tco_destroy(struct hr_tco *tco) {
  if (!tco) return;
  for (uint32_t k = 0; k < tco->n_options; k++) {
    struct hr__tco_option *option = &tco->options[k];
    for (uint32_t r = 0; option->runs && r < tco->n_simulated * tco->n_replications; r++) free(option->runs[r].pools);
    free(option->runs);
    free(option->pools);
  }
  free(tco->options);
  free(tco->pairs);
  hr__runner_destroy(tco->runner);
  hr_notes_finish(&tco->notes);
  free(tco);
}

const struct hr_notes *hr_tco_notes(const struct hr_tco *tco) {
  return &tco->notes;
}
