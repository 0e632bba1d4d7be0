/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Knowledge about candidates without a run: the demand of the trace, a lower bound of each candidate's cost, and
 * starting points of the search.
 *
 * Demand curve. The starts and ends of all jobs, sorted by time, give the number of GPUs in use as a step function. Its
 * steps, sorted by height, give the share of time at each level.
 *
 * Lower bound. The cost of a month is at least the price of the candidate's fixed capacity. Let e be the work that
 * cannot be done by the fixed capacity, even if this capacity is always busy. If all work must be done at its recorded
 * speed, the bound also includes e at the minimum price of elastic capacity. There are two bounds: the search assumes
 * that fixed capacity can work for twice the submit window; the proven bound computes, from the goals on waits, how
 * much work is due at each time.
 *
 * Due work. If no job is ever interrupted, a job that waits at most b starts by submit + b. Let the job run for the
 * time w on g GPUs. Then at least g min(w, h - submit - b) of its work g w must be done by the time h. This work is
 * due. A goal on a quantile of the waits allows a number of jobs to wait longer. For a lower bound, these are assumed
 * to be the jobs with the most due work. A goal on the mean limits the sum of all waits. If a job waits for h - submit,
 * all its due work is deferred. The work that can be deferred is at most the solution of a knapsack problem in which
 * jobs can be divided. The fixed capacity c does at most c h of the due work until any time h.
 */

#include "base/containers.h"
#include "plan/search/search.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A change of the number of GPUs in use. */
struct usage_change {
  int64_t at_us, milli;
};

static int by_time(const void *a, const void *b) {
  const struct usage_change *first = a, *second = b;
  return (first->at_us > second->at_us) - (first->at_us < second->at_us);
}

static int by_level(const void *a, const void *b) {
  const struct usage_change *first = a, *second = b;
  return (first->milli > second->milli) - (first->milli < second->milli);
}

static size_t list_changes(const struct hr_trace *trace, struct usage_change *changes) {
  size_t count = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    int64_t milli = (int64_t)hr_trace_gpus_milli(trace, (hr_job){i});
    if (milli == 0 || trace->work_us[i] == 0) continue;
    changes[count++] = (struct usage_change){trace->submit_us[i], milli};
    changes[count++] = (struct usage_change){trace->submit_us[i] + trace->work_us[i], -milli};
  }
  qsort(changes, count, sizeof *changes, by_time);
  return count;
}

/* Converts the sorted changes in place into levels within the window: `at_us` becomes the duration of a level, `milli`
   the level. Returns the number of levels. */
static size_t list_levels(struct usage_change *changes, size_t count, int64_t window_us) {
  int64_t now_us = 0, level = 0;
  size_t n_levels = 0;
  for (size_t i = 0; i < count && now_us < window_us; i++) {
    struct usage_change change = changes[i];
    int64_t until_us = change.at_us < window_us ? change.at_us : window_us;
    if (until_us > now_us) changes[n_levels++] = (struct usage_change){until_us - now_us, level};
    now_us = until_us;
    level += change.milli;
  }
  if (now_us < window_us) changes[n_levels++] = (struct usage_change){window_us - now_us, level};
  qsort(changes, n_levels, sizeof *changes, by_level);
  return n_levels;
}

static void fill_curve(struct hr__demand_curve *demand, const struct usage_change *levels, size_t count,
                       int64_t window_us, double growth) {
  double area = 0;
  for (size_t i = 0; i < count; i++) {
    double gpus = (double)levels[i].milli / 1000 * growth, share = (double)levels[i].at_us / (double)window_us;
    if (demand->n_steps && demand->gpus[demand->n_steps - 1] == gpus) {
      demand->share[demand->n_steps - 1] += share;
    } else {
      demand->gpus[demand->n_steps] = gpus;
      demand->share[demand->n_steps++] = share;
    }
    area += gpus * share;
  }
  demand->mean_gpus = area;
  demand->peak_gpus = demand->n_steps ? demand->gpus[demand->n_steps - 1] : 0;
}

static bool sum_work(struct hr__demand_curve *demand, const struct hr_trace *trace, double growth, double may_fail) {
  double *hours = malloc(((size_t)trace->n_jobs + 1) * sizeof *hours);
  if (!hours) return false;
  for (uint32_t i = 0; i < trace->n_jobs; i++)
    hours[i] = (double)(int64_t)hr_trace_gpus_milli(trace, (hr_job){i}) / 1000 * (double)trace->work_us[i] /
               (3600.0 * (double)HR_SECOND_US);
  gsl_sort(hours, 1, trace->n_jobs);
  /* The small constant corrects rounding. 1 - 0.93 as a double is slightly less than 0.07. Without the constant, only 6
     of 100 jobs could fail, not 7. */
  uint32_t kept = trace->n_jobs - (uint32_t)(may_fail * trace->n_jobs + 1e-6);
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    demand->gpu_hours += hours[i] * growth;
    if (i < kept) demand->min_gpu_hours += hours[i] * growth;
  }
  free(hours);
  return true;
}

enum hr_status hr__demand_make(const struct hr_trace *trace, double growth, double may_fail,
                               struct hr__demand_curve *demand) {
  *demand = (struct hr__demand_curve){0};
  size_t max = 2 * (size_t)trace->n_jobs + 1;
  struct usage_change *changes = malloc(max * sizeof *changes);
  demand->gpus = malloc(max * sizeof *demand->gpus);
  demand->share = malloc(max * sizeof *demand->share);
  bool made = changes && demand->gpus && demand->share && sum_work(demand, trace, growth, may_fail);
  int64_t window_us = trace->n_jobs ? trace->submit_us[trace->n_jobs - 1] : 0;
  demand->window_h = (double)window_us / (3600.0 * (double)HR_SECOND_US);
  if (made && window_us > 0)
    fill_curve(demand, changes, list_levels(changes, list_changes(trace, changes), window_us), window_us, growth);
  free(changes);
  return made ? HR_OK : HR_NO_MEMORY;
}

/* ---- Prices ---------------------------------------------------------------------------------------- */

#define MONTH_H 730.0

/* The minimum of a pool's price over time, in dollars per GPU-hour. */
static double min_price(const struct hr_market_spec *market) {
  int64_t min = market->price_uusd_h;
  for (uint32_t i = 0; i < market->n_prices; i++)
    if (market->prices[i].uusd_h < min) min = market->prices[i].uusd_h;
  return (double)min / 1e6;
}

/* The price of a pool that is paid for all the time, in dollars per GPU-hour; 0 for other pools. The price may change
   over time, so the result is a lower bound. */
static double fixed_price(const struct hr_market_spec *market) {
  bool always = market->from_us == 0 && market->to_us == HR_NEVER_US;
  bool owned = market->market == HR_MARKET_OWNED || market->market == HR_MARKET_RESERVED;
  return owned && always ? min_price(market) : 0;
}

/* ---- Prices of a slice ----------------------------------------------------------------------------- */

/* Computes the prices of a GPU of a capacity axis, and what the proven bound needs to know about it. The fixed price is
   the mean over its pools, weighted by GPUs per node, since nodes are distributed evenly over the pools. The elastic
   price is the minimum over its pools. */
static void price_axis(const struct hr_scenario *scenario, const struct hr_plan_variable *variable, uint32_t axis,
                       struct hr__slice_prices *prices) {
  double gpus = 0;
  prices->elastic[axis] = (double)INFINITY;
  for (uint32_t i = 0; i < variable->n_pools; i++) {
    const struct hr_pool_spec *pool = &scenario->cluster.pools[variable->pools[i]];
    gpus += pool->gpus_per_node;
    prices->fixed[axis] += fixed_price(&pool->market) * pool->gpus_per_node;
    prices->spot[axis] = prices->spot[axis] || pool->market.market == HR_MARKET_SPOT;
    if (hr_market_is_elastic(pool->market.market))
      prices->elastic[axis] = fmin(prices->elastic[axis], min_price(&pool->market));
    else
      prices->fixed_share[axis] += pool->gpus_per_node;
  }
  prices->fixed[axis] /= gpus;
  prices->fixed_share[axis] /= gpus;
}

/* Whether a value of a parameter of the policy has this text. False if it has no such parameter. */
static bool has_param(const struct hr_policy_choice *policy, const char *key, const char *text) {
  char buffer[32];
  for (size_t i = 0; i < policy->n_params; i++)
    if (strcmp(policy->ops->params[i].key, key) == 0)
      return strcmp(hr_policy_choice_text(policy, i, buffer), text) == 0;
  return false;
}

/* Whether a started job runs to its end on capacity other than spot. False if this is not certain. */
static bool runs_through(const struct hr_scenario *scenario) {
  const struct hr_policy_choice *policy = &scenario->policy;
  static const char *const preempting[] = {"srtf", "las", "gittins"};
  bool by_order = false;
  for (size_t i = 0; i < sizeof preempting / sizeof *preempting; i++)
    by_order = by_order || has_param(policy, "order", preempting[i]);
  bool preempts = !has_param(policy, "preemption", "none") && (by_order || !has_param(policy, "preemption", "auto"));
  bool is_known = !policy->library && strcmp(policy->ops->name, "queue") == 0;
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++) {
    const struct hr_pool_spec *pool = &scenario->cluster.pools[i];
    is_known = is_known && pool->market.boot.kind == HR_DURATION_FIXED && !hr_market_is_queued(&pool->market);
  }
  return is_known && !preempts && !scenario->prices_drawn && !scenario->services;
}

/* Whether elastic capacity is, or may be, paid while no job uses it. */
static bool keeps_elastic(const struct hr_scenario *scenario) {
  return scenario->clusters ||
         (!scenario->cluster.autoscaler && hr_policy_choice_elastic_use(&scenario->policy) != HR_ELASTIC_WHILE_USED);
}

static void price_slice(const struct hr__space *space, const struct hr_scenario *scenario,
                        struct hr__slice_prices *prices) {
  double min_elastic = (double)INFINITY, min_on_demand = (double)INFINITY;
  prices->keeps_elastic = keeps_elastic(scenario);
  prices->runs_through = runs_through(scenario) && !prices->keeps_elastic;
  for (uint32_t i = 0; i < space->n_capacity; i++) {
    const struct hr_plan_variable *variable = &space->spec->variables[space->capacity[i]];
    price_axis(scenario, variable, i, prices);
    min_elastic = fmin(min_elastic, prices->elastic[i]);
    if (!prices->spot[i]) min_on_demand = fmin(min_on_demand, prices->elastic[i]);
  }
  for (uint32_t i = 0; i < scenario->cluster.n_pools; i++) {
    const struct hr_pool_spec *pool = &scenario->cluster.pools[i];
    double gpus = (double)pool->nodes * pool->gpus_per_node;
    if (hr__space_has_pool(space, i) || gpus == 0) continue;
    if (hr_market_is_elastic(pool->market.market)) {
      min_elastic = fmin(min_elastic, min_price(&pool->market));
      min_on_demand = fmin(min_on_demand, min_price(&pool->market));
      prices->runs_through = prices->runs_through && pool->market.market != HR_MARKET_SPOT;
    } else {
      prices->constant_usd_h += fixed_price(&pool->market) * gpus;
      prices->constant_gpus += gpus;
    }
  }
  prices->min_elastic = isfinite(min_elastic) ? min_elastic : 0;
  prices->min_on_demand = isfinite(min_on_demand) ? min_on_demand : 0;
}

/* Whether every job takes its recorded time and costs nothing but the price of its GPUs. Only then does the lower bound
   include the work of the trace. */
static bool work_counts(const struct hr_scenario *scenario) {
  return !scenario->speeds && !scenario->network_speeds && !hr_cluster_spec_by_gpu(&scenario->cluster) &&
         scenario->costs.n_plans == 0 && scenario->horizon_us == HR_NEVER_US;
}

static enum hr_status price_all(const struct hr__evaluator *evaluator, const struct hr__runner_config *config,
                                const struct hr_catalog *catalog, struct hr__bounds *bounds, struct hr_error *error) {
  const struct hr__space *space = evaluator->space;
  for (uint32_t slice = 0; slice < space->n_slices; slice++) {
    struct hr__point corner = hr__space_corner(space, slice, true);
    uint32_t candidate = hr__space_candidate(space, &corner);
    size_t n_own, n = config->n_overrides;
    const char **all = hr__space_overrides(space, candidate, &n_own);
    if (!all || !HR__ARRAY_RESIZE(all, n + n_own)) {
      free(all);
      return hr_fail(error, HR_NO_MEMORY, "out of memory for the candidates");
    }
    for (size_t i = n_own; i-- > 0;) all[n + i] = all[i];
    for (size_t i = 0; i < n; i++) all[i] = config->overrides[i];
    struct hr_scenario *scenario;
    struct hr_error inner = {0};
    enum hr_status status =
        hr_scenario_load_candidate(catalog, config->scenario->path, all, n + n_own, &scenario, &inner);
    free(all);
    if (status != HR_OK) return hr_fail(error, status, "%s%s", space->spec->self.place, inner.text);
    price_slice(space, scenario, &bounds->slices[slice]);
    bounds->work_counts = bounds->work_counts && work_counts(scenario);
    hr_scenario_destroy(scenario);
  }
  return HR_OK;
}

/* The minimum increase of the objective per dollar of monthly cost; 0 if any weight is negative. */
static double weight_of_cost(const struct hr__goals *goals) {
  double weight = 0;
  for (size_t i = 0; i < goals->n_terms; i++) {
    const struct hr__scoped_metric *metric = &goals->metrics[goals->terms[i]];
    if (goals->weights[i] < 0) return 0;
    if (metric->id == HR__M_MONTHLY && metric->of == HR__OF_ALL) weight += goals->weights[i];
  }
  return weight;
}

/* ---- Due work -------------------------------------------------------------------------------------- */

/* How a goal on waits limits them: `late` jobs may wait arbitrarily long, the others at most `most_h`; or the sum of
   all waits is at most `sum_h`. */
struct wait_limit {
  size_t late;
  double most_h, sum_h;
  bool of_sum;
};

/* Sets the limit that a goal implies. Returns false if the goal is not one on the waits of all jobs. A quantile lies
   between two order statistics, so the lower one meets the goal. A completion time is at least as long as the wait, so
   a goal on completion times limits waits, too. */
static bool limit_of(const struct hr__goals *goals, const struct hr__goal *goal, uint32_t n_jobs,
                     struct wait_limit *limit) {
  static const struct {
    enum hr__metric id;
    double quantile; /* negative: a mean */
  } known[] = {{HR__M_WAIT_MEAN, -1},  {HR__M_WAIT_P50, 0.5}, {HR__M_WAIT_P90, 0.9}, {HR__M_WAIT_P95, 0.95},
               {HR__M_WAIT_P99, 0.99}, {HR__M_WAIT_MAX, 1},   {HR__M_JCT_MEAN, -1},  {HR__M_JCT_P50, 0.5},
               {HR__M_JCT_P90, 0.9},   {HR__M_JCT_P95, 0.95}, {HR__M_JCT_P99, 0.99}, {HR__M_JCT_MAX, 1}};
  const struct hr__scoped_metric *metric = &goals->metrics[goal->metric];
  for (size_t i = 0; i < sizeof known / sizeof *known && goal->at_most && metric->of == HR__OF_ALL; i++) {
    if (known[i].id != metric->id) continue;
    double hours = fmax(0, goal->bound) / 3600, below = floor(known[i].quantile * (n_jobs - 1.0)) + 1;
    *limit = (struct wait_limit){.of_sum = known[i].quantile < 0, .most_h = hours, .sum_h = hours * n_jobs};
    if (!limit->of_sum) limit->late = n_jobs - (size_t)below;
    return true;
  }
  return false;
}

/* The due work of a job, and by how many hours it must be deferred so that nothing is due. */
struct due_job {
  double gpu_hours, defer_h;
};

static int by_density(const void *a, const void *b) {
  const struct due_job *first = a, *second = b;
  double x = first->gpu_hours * second->defer_h, y = second->gpu_hours * first->defer_h;
  return (x < y) - (x > y);
}

static int by_work(const void *a, const void *b) {
  const struct due_job *first = a, *second = b;
  return (first->gpu_hours < second->gpu_hours) - (first->gpu_hours > second->gpu_hours);
}

/* Lists the jobs with due work until `until_h` if each waits for `wait_h`, and returns the sum of their due work. */
static double list_due(const struct hr_trace *trace, double until_h, double wait_h, struct due_job *due,
                       size_t *count) {
  static const double hour_us = 3600.0 * (double)HR_SECOND_US;
  double sum = 0;
  *count = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    double left_h = until_h - wait_h - (double)trace->submit_us[i] / hour_us;
    double gpus = (double)(int64_t)hr_trace_gpus_milli(trace, (hr_job){i}) / 1000;
    double work = gpus * fmin((double)trace->work_us[i] / hour_us, left_h);
    if (work <= 0) continue;
    due[(*count)++] = (struct due_job){work, left_h};
    sum += work;
  }
  return sum;
}

/* The least work that is due until `until_h`. `failed`: jobs that may stay incomplete. */
static double due_work(const struct hr_trace *trace, const struct wait_limit *limit, size_t failed, double until_h,
                       struct due_job *due) {
  size_t count, dropped = failed + limit->late;
  double work = list_due(trace, until_h, limit->of_sum ? 0 : limit->most_h, due, &count), left_h = limit->sum_h;
  qsort(due, count, sizeof *due, by_work);
  for (size_t i = 0; i < count && i < dropped; i++) work -= due[i].gpu_hours;
  if (!limit->of_sum) return work;
  qsort(due, count, sizeof *due, by_density);
  for (size_t i = 0; i < count && left_h > 0; i++) {
    work -= due[i].gpu_hours * fmin(1, left_h / due[i].defer_h);
    left_h -= due[i].defer_h;
  }
  return work;
}

static enum hr_status list_due_work(const struct hr__evaluator *evaluator, const struct hr_trace *trace,
                                    double may_fail, struct hr__bounds *bounds) {
  static const double parts[] = {0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3};
  enum { PARTS = sizeof parts / sizeof *parts };
  const struct hr__goals *goals = evaluator->goals;
  struct due_job *due = malloc(((size_t)trace->n_jobs + 1) * sizeof *due);
  bounds->due = calloc(goals->n_goals * PARTS + 1, sizeof *bounds->due);
  bool made = due && bounds->due;
  for (size_t i = 0; made && i < goals->n_goals; i++) {
    struct wait_limit limit;
    if (!limit_of(goals, &goals->goals[i], trace->n_jobs, &limit)) continue;
    for (size_t k = 0; k < PARTS; k++) {
      double until_h = parts[k] * bounds->demand->window_h + limit.most_h;
      double work = due_work(trace, &limit, (size_t)(may_fail * trace->n_jobs + 1e-6), until_h, due);
      if (work > 0) bounds->due[bounds->n_due++] = (struct hr__due_work){until_h, work};
    }
  }
  free(due);
  return made ? HR_OK : HR_NO_MEMORY;
}

enum hr_status hr__bounds_make(const struct hr__evaluator *evaluator, const struct hr__runner_config *config,
                               const struct hr__demand_curve *demand, bool redrawn, double may_fail,
                               struct hr__bounds *bounds, struct hr_error *error) {
  *bounds = (struct hr__bounds){.space = evaluator->space,
                                .demand = demand,
                                .weight = weight_of_cost(evaluator->goals),
                                .work_counts = !redrawn && evaluator->goals->bound_waits,
                                .slices = calloc((size_t)evaluator->space->n_slices + 1, sizeof *bounds->slices)};
  enum hr_status status = bounds->slices ? HR_OK : HR_NO_MEMORY;
  if (status == HR_OK && !redrawn && demand->window_h > 0)
    status = list_due_work(evaluator, config->trace, may_fail, bounds);
  if (status != HR_OK) return hr_fail(error, status, "out of memory for the candidates");
  return price_all(evaluator, config, evaluator->runner->catalog, bounds, error);
}

/* ---- The lower bound ------------------------------------------------------------------------------- */

/* The cost of the fixed capacity of a candidate, in dollars per hour. */
static double fixed_usd_h(const struct hr__bounds *bounds, uint32_t candidate) {
  const struct hr__slice_prices *prices = &bounds->slices[hr__space_slice(bounds->space, candidate)];
  struct hr__point point = hr__space_point(bounds->space, candidate);
  double usd_h = prices->constant_usd_h;
  for (uint32_t i = 0; i < bounds->space->n_capacity; i++)
    usd_h += prices->fixed[i] * hr__space_gpus_at(bounds->space, &point, i);
  return usd_h;
}

double hr__bounds_min_objective(const struct hr__bounds *bounds, uint32_t candidate) {
  const struct hr__space *space = bounds->space;
  if (bounds->weight == 0) return -(double)INFINITY;
  const struct hr__slice_prices *prices = &bounds->slices[hr__space_slice(space, candidate)];
  struct hr__point point = hr__space_point(space, candidate);
  double fixed_gpus = prices->constant_gpus;
  for (uint32_t i = 0; i < space->n_capacity; i++)
    if (isinf(prices->elastic[i])) fixed_gpus += hr__space_gpus_at(space, &point, i);
  double window_h = bounds->demand->window_h;
  /* GPUs that must be bought elsewhere. Fixed capacity may continue to work after the last submit, to finish waiting
     jobs. With a goal on waits a run is assumed to last at most twice the submit window, hence the factor of 2. The
     cost of elastic capacity that is always paid is divided by the length of the run, that of other elastic capacity by
     the window. */
  double elsewhere =
      bounds->work_counts && window_h > 0 ? fmax(0, bounds->demand->min_gpu_hours / window_h - 2 * fixed_gpus) : 0;
  if (prices->keeps_elastic) elsewhere /= 2;
  return bounds->weight * MONTH_H * (fixed_usd_h(bounds, candidate) + elsewhere * prices->min_elastic);
}

double hr__bounds_proven(const struct hr__bounds *bounds, uint32_t candidate) {
  const struct hr__space *space = bounds->space;
  if (bounds->weight == 0) return -(double)INFINITY;
  const struct hr__slice_prices *prices = &bounds->slices[hr__space_slice(space, candidate)];
  struct hr__point point = hr__space_point(space, candidate);
  double fixed_gpus = prices->constant_gpus, bought_h = 0;
  bool counts = bounds->work_counts && prices->runs_through;
  for (uint32_t i = 0; i < space->n_capacity; i++) {
    double gpus = hr__space_gpus_at(space, &point, i);
    fixed_gpus += gpus * prices->fixed_share[i];
    counts = counts && !(prices->spot[i] && gpus > 0);
  }
  for (size_t i = 0; i < bounds->n_due && counts; i++)
    bought_h = fmax(bought_h, bounds->due[i].gpu_hours - fixed_gpus * bounds->due[i].until_h);
  double elsewhere = bought_h > 0 ? bought_h / bounds->demand->window_h : 0;
  return bounds->weight * MONTH_H * (fixed_usd_h(bounds, candidate) + elsewhere * prices->min_on_demand);
}

/* ---- Starting points ------------------------------------------------------------------------------- */

/* The lowest level of the axis that has at least `gpus` GPUs. */
static uint32_t level_of(const struct hr__space *space, uint32_t axis, double gpus) {
  const struct hr_grid_axis *levels = &space->spec->variables[axis].axis;
  uint32_t level = 0;
  while (level + 1 < levels->n_levels && levels->levels[level].number < gpus) level++;
  return level;
}

/* Of the elastic prices of the slice, the minimum if `cheapest` is true, otherwise the maximum. */
static double elastic_price(const struct hr__bounds *bounds, uint32_t slice, bool cheapest) {
  const struct hr__slice_prices *prices = &bounds->slices[slice];
  double costliest = prices->min_elastic;
  for (uint32_t i = 0; i < bounds->space->n_capacity; i++)
    if (isfinite(prices->elastic[i])) costliest = fmax(costliest, prices->elastic[i]);
  return cheapest ? prices->min_elastic : costliest;
}

/* Of the capacity axes with fixed capacity that are not `done`, the cheapest one; HR_NONE: no such axis remains. */
static uint32_t cheapest_axis(const struct hr__slice_prices *prices, uint32_t count, const bool *done) {
  uint32_t cheapest = HR_NONE;
  for (uint32_t i = 0; i < count; i++)
    if (prices->fixed[i] > 0 && !done[i] && (cheapest == HR_NONE || prices->fixed[i] < prices->fixed[cheapest]))
      cheapest = i;
  return cheapest;
}

/* Assigns demand to the cheapest fixed capacity first. More expensive fixed capacity serves the demand above it, which
   is less frequent. `low`: elastic capacity has the lowest of its prices, otherwise the highest. */
struct hr__point hr__bounds_start(const struct hr__bounds *bounds, uint32_t slice, bool low) {
  const struct hr__space *space = bounds->space;
  const struct hr__slice_prices *prices = &bounds->slices[slice];
  struct hr__point point = hr__space_corner(space, slice, true);
  double elastic = elastic_price(bounds, slice, low), fixed = prices->constant_gpus;
  bool done[HR_MAX_PLAN_VARIABLES] = {false};
  for (uint32_t i = cheapest_axis(prices, space->n_capacity, done); i != HR_NONE;
       i = cheapest_axis(prices, space->n_capacity, done)) {
    uint32_t axis = space->capacity[i];
    double profitable =
        elastic > 0 ? hr__demand_newsvendor(bounds->demand, prices->fixed[i], elastic) : bounds->demand->peak_gpus;
    point.level[axis] = level_of(space, axis, fmax(0, profitable - fixed));
    fixed += hr__space_gpus_at(space, &point, i);
    done[i] = true;
  }
  return point;
}

/* The number of GPUs of fixed capacity that pay off, with each pool at its own price. `low`: elastic capacity has the
   lowest of its prices, otherwise the highest. */
static double profitable_gpus(const struct hr__bounds *bounds, uint32_t slice, bool low) {
  const struct hr__space *space = bounds->space;
  const struct hr__slice_prices *prices = &bounds->slices[slice];
  double elastic = elastic_price(bounds, slice, low), fixed = 0;
  bool done[HR_MAX_PLAN_VARIABLES] = {false};
  for (uint32_t i = cheapest_axis(prices, space->n_capacity, done); i != HR_NONE;
       i = cheapest_axis(prices, space->n_capacity, done)) {
    const struct hr_grid_axis *axis = &space->spec->variables[space->capacity[i]].axis;
    double profitable =
        elastic > 0 ? hr__demand_newsvendor(bounds->demand, prices->fixed[i], elastic) : bounds->demand->peak_gpus;
    fixed += fmin(fmax(0, profitable - fixed), axis->levels[axis->n_levels - 1].number);
    done[i] = true;
  }
  return fixed;
}

void hr__bounds_bracket(const struct hr__bounds *bounds, uint32_t slice, double *low, double *high) {
  *low = profitable_gpus(bounds, slice, true);
  *high = profitable_gpus(bounds, slice, false);
}
