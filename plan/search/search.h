/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_SEARCH_SEARCH_H
#define HR_PLAN_SEARCH_SEARCH_H

/* The search of a plan: goals, candidates, their evaluation, bounds, search and selection. */

#include "headroom/scenario.h"
#include "headroom/trace_files.h"
#include "headroom/unstable/planning.h"
#include "plan/runner/runner.h"

#include <stdlib.h>

/* ---- Goals ------------------------------------------------------------------------------------------ */

/*
 * The goals (conditions on metrics) and the objective of a plan, parsed from the scenario.
 *
 * `metrics` lists each metric once: first the metrics of goals and objective, then those that are always reported.
 * Goals and terms refer to a metric by its index in this list. The values of a run have the same order.
 */

/* A goal: a metric must be at most, or at least, `bound`. */
struct hr__goal {
  uint32_t metric; /* index into hr__goals.metrics */
  bool at_most;
  double bound; /* in the metric's unit */
  char *text;   /* the goal as written in the scenario; owned */
  bool assumed; /* added by default; false: written by the user */
  /* the metric describes how well jobs are served, so additional capacity never moves it away from the bound */
  bool wants_capacity;
  /* an unknown value violates the goal fully, because it means that no job reached the state that the metric
     measures */
  bool unknown_misses;
};

struct hr__goals {
  struct hr__scoped_metric *metrics;
  size_t n_metrics;
  size_t cost; /* index of the monthly cost in `metrics` */
  struct hr__goal *goals;
  size_t n_goals;
  /* a goal limits the wait, completion time or slowdown of all jobs; without such a goal the cheapest plan does all
     work with almost no capacity, in an unlimited time */
  bool bound_waits;
  uint32_t *terms; /* [n_terms] indexes of the metrics of the objective */
  double *weights; /* [n_terms] weights of these metrics */
  size_t n_terms;
};

/* Parses goals and objective. If no goal limits completion, the goal "completed >= 99 %" is added. `priced`: the
   scenario has prices. Returns HR_BAD_INPUT, with file, line and column, in these cases: a goal cannot be parsed; goals
   contradict each other; all weights are 0; a candidate without capacity could be the best. The caller must call
   hr__goals_finish, even after an error. */
enum hr_status hr__goals_make(const struct hr_plan_spec *spec, const struct hr_trace *trace,
                              const struct hr_services *services, bool priced, struct hr__goals *goals,
                              struct hr_error *error);

/* Parses the goals and the objective only: without metrics that are always reported, an assumed goal, and a check that
   the objective is bounded. Otherwise as hr__goals_make. */
enum hr_status hr__goals_read(const struct hr_plan_spec *spec, const struct hr_trace *trace,
                              const struct hr_services *services, bool priced, struct hr__goals *goals,
                              struct hr_error *error);
/* Parses goals without an objective and without an assumed goal. Otherwise as hr__goals_make. */
enum hr_status hr__goals_of_texts(const struct hr_placed_text *texts, uint32_t count, const struct hr_trace *trace,
                                  const struct hr_services *services, struct hr__goals *goals, struct hr_error *error);

static inline void hr__goals_finish(struct hr__goals *goals) {
  for (size_t i = 0; i < goals->n_goals; i++) free(goals->goals[i].text);
  free(goals->metrics);
  free(goals->goals);
  free(goals->terms);
  free(goals->weights);
  *goals = (struct hr__goals){0};
}

/* The distance of `value` (NaN: unknown) from the goal, between 0 and 1. 0: the goal is met. v / (1 + v): `value`
   misses the bound by v times the bound, or by v if the bound is 0. 1: the value is unknown because no job reached the
   state that is measured. The excess v is unlimited. It is mapped to [0, 1) so that a goal that is missed by much does
   not count more than a goal with an unknown value. */
static inline double hr__goal_violation(const struct hr__goal *goal, double value) {
  if (isnan(value)) return goal->unknown_misses ? 1 : 0;
  double beyond = goal->at_most ? value - goal->bound : goal->bound - value;
  if (beyond <= 0) return 0;
  double share = goal->bound != 0 ? beyond / fabs(goal->bound) : beyond;
  return share / (1 + share);
}

/* A tighter bound of the goal. A maximum is multiplied by `share`, a minimum is divided by it. If the goal is a minimum
   and its metric is a share, the distance from the bound to 1 is multiplied by `share` instead. */
static inline double hr__goal_tightened(const struct hr__goals *goals, const struct hr__goal *goal, double share) {
  bool is_share = hr__metric_rows[goals->metrics[goal->metric].id].unit == HR_UNIT_SHARE;
  if (goal->at_most) return goal->bound * share;
  return is_share ? 1 - (1 - goal->bound) * share : goal->bound / share;
}

/* Writes the objective, such as "monthly_usd" or "1 x monthly_usd + 0.5 x wait_s.mean", to `buffer`, at most `size`
   bytes, and returns the buffer. */
const char *hr__goals_objective_text(const struct hr__goals *goals, char *buffer, size_t size);
/* The index of a metric in the list; SIZE_MAX if the list lacks it. */
static inline size_t hr__goals_find(const struct hr__goals *goals, const struct hr__scoped_metric *metric) {
  for (size_t i = 0; i < goals->n_metrics; i++)
    if (hr__scoped_metric_same(&goals->metrics[i], metric)) return i;
  return SIZE_MAX;
}

/* Whether any goal is on the metric, of all jobs or of a group. */
static inline bool hr__goals_have(const struct hr__goals *goals, enum hr__metric metric) {
  for (size_t i = 0; i < goals->n_goals; i++)
    if (goals->metrics[goals->goals[i].metric].id == metric) return true;
  return false;
}

/* The weighted sum of the objective's terms; NaN if a term is unknown. `values` has the order of the list of metrics.
 */
static inline double hr__goals_objective(const struct hr__goals *goals, const double *values) {
  double sum = 0;
  for (size_t i = 0; i < goals->n_terms; i++) sum += goals->weights[i] * values[goals->terms[i]];
  return sum;
}

/* ---- Candidates ------------------------------------------------------------------------------------- */

/* The candidates of a plan, and their evaluation by simulation against the plan's goals. */

/* ---- The space of candidates ------------------------------------------------------------------------ */

/*
 * A grid of levels of the plan's variables (axes). Candidates are numbered such that the level of the last axis varies
 * fastest. Levels of a capacity axis are ordered from few GPUs to many. Other axes (a policy, a term, a spot model)
 * have no order. Candidates that are equal in all axes except capacity form a slice.
 */
struct hr__space {
  const struct hr_plan_spec *spec; /* borrowed */
  uint32_t n_axes, n_candidates;
  uint32_t capacity[HR_MAX_PLAN_VARIABLES]; /* [n_capacity] the capacity axes */
  uint32_t n_capacity;
  uint32_t n_slices;
  bool non_monotone[HR_MAX_PLAN_VARIABLES]; /* by axis: jobs may be served worse with more of this capacity */
};

/* Whether the size of a pool is a variable of the plan. */
static inline bool hr__space_has_pool(const struct hr__space *space, uint32_t pool) {
  for (uint32_t i = 0; i < space->n_capacity; i++) {
    const struct hr_plan_variable *variable = &space->spec->variables[space->capacity[i]];
    for (uint32_t k = 0; k < variable->n_pools; k++)
      if (variable->pools[k] == pool) return true;
  }
  return false;
}

/* A candidate, given by its level on each axis. */
struct hr__point {
  uint32_t level[HR_MAX_PLAN_VARIABLES];
};

static inline uint32_t hr__space_levels(const struct hr__space *space, uint32_t axis) {
  return space->spec->variables[axis].axis.n_levels;
}

/* Whether the axis is a capacity axis: its levels are numbers of GPUs of one or more pools. */
static inline bool hr__space_is_capacity(const struct hr__space *space, uint32_t axis) {
  return space->spec->variables[axis].pools != NULL;
}

/* The number of GPUs of one capacity axis (an index into `capacity`) at a point. */
static inline double hr__space_gpus_at(const struct hr__space *space, const struct hr__point *point,
                                       uint32_t capacity) {
  uint32_t axis = space->capacity[capacity];
  return space->spec->variables[axis].axis.levels[point->level[axis]].number;
}

/* Makes the grid of a plan. `scenario` (NULL: none) determines which capacity is not monotone: spot nodes may attract
   jobs away from nodes that are never interrupted, and slow GPUs away from fast ones. HR_BAD_INPUT if the grid exceeds
   the plan's limit on candidates. */
enum hr_status hr__space_make(const struct hr_plan_spec *spec, const struct hr_scenario *scenario,
                              struct hr__space *space, struct hr_error *error);

/* Converts the index of a candidate to its levels. hr__space_candidate() converts them back. */
static inline struct hr__point hr__space_point(const struct hr__space *space, uint32_t candidate) {
  struct hr__point point = {{0}};
  for (uint32_t i = space->n_axes; i-- > 0;) {
    uint32_t n_levels = hr__space_levels(space, i);
    if (n_levels == 0) continue; /* never: the scenario reader rejects a variable without levels */
    point.level[i] = candidate % n_levels;
    candidate /= n_levels;
  }
  return point;
}

static inline uint32_t hr__space_candidate(const struct hr__space *space, const struct hr__point *point) {
  uint32_t candidate = 0;
  for (uint32_t i = 0; i < space->n_axes; i++) candidate = candidate * hr__space_levels(space, i) + point->level[i];
  return candidate;
}

/* The point of the slice with the minimum of every capacity or, with `max`, the maximum. */
static inline struct hr__point hr__space_corner(const struct hr__space *space, uint32_t slice, bool max) {
  struct hr__point point = {{0}};
  for (uint32_t i = space->n_axes; i-- > 0;) {
    uint32_t levels = hr__space_levels(space, i);
    if (hr__space_is_capacity(space, i)) {
      point.level[i] = max ? levels - 1 : 0;
      continue;
    }
    point.level[i] = slice % levels;
    slice /= levels;
  }
  return point;
}

/* The index of the slice to which a candidate belongs. */
static inline uint32_t hr__space_slice(const struct hr__space *space, uint32_t candidate) {
  struct hr__point point = hr__space_point(space, candidate);
  uint32_t slice = 0;
  for (uint32_t i = 0; i < space->n_axes; i++)
    if (!hr__space_is_capacity(space, i)) slice = slice * hr__space_levels(space, i) + point.level[i];
  return slice;
}

/* Whether `a` covers `b`: both are in one slice, `a` has at least as much of every monotone capacity, and both have the
   same amount of every other capacity. If so, `a` serves jobs at least as well as `b`. */
static inline bool hr__space_covers(const struct hr__space *space, uint32_t a, uint32_t b) {
  struct hr__point first = hr__space_point(space, a), second = hr__space_point(space, b);
  for (uint32_t i = 0; i < space->n_axes; i++) {
    bool more_will_do = hr__space_is_capacity(space, i) && !space->non_monotone[i];
    if (more_will_do ? first.level[i] < second.level[i] : first.level[i] != second.level[i]) return false;
  }
  return true;
}

/* The number of GPUs of all capacity axes together. */
static inline double hr__space_gpus(const struct hr__space *space, uint32_t candidate) {
  struct hr__point point = hr__space_point(space, candidate);
  double gpus = 0;
  for (uint32_t i = 0; i < space->n_capacity; i++) gpus += hr__space_gpus_at(space, &point, i);
  return gpus;
}

/* The overrides that turn the scenario into the candidate. The caller frees the list; the texts belong to the plan.
   NULL when out of memory. */
const char **hr__space_overrides(const struct hr__space *space, uint32_t candidate, size_t *count);

/* ---- Evaluation ------------------------------------------------------------------------------------- */

/* Evaluates the candidates in one environment. If two candidates are evaluated over their first r replications, both
   have the same random events, so they can be compared. */
struct hr__evaluator {
  struct hr__runner *runner; /* borrowed, as are space and goals */
  const struct hr__space *space;
  const struct hr__goals *goals;
  uint32_t environment; /* index of the environment in the runner */
  uint32_t *runner_ids; /* [n_candidates] index of the candidate in the runner; HR_NONE: not added */
  bool random;          /* some candidate that was run depends on random numbers */
};

struct hr__evaluation {
  double objective; /* infinite if unknown; lower is better */
  /* sum over the goals of hr__goal_violation, which is 1 for a goal on a cost that is unknown; 0: all goals are met.
     Larger than their number if a service can never run */
  double violation;
  double cost; /* monthly cost in dollars; 0 if the scenario has no prices */
};

/* Initializes an evaluator without any runs. HR_NO_MEMORY is the only failure. */
enum hr_status hr__evaluator_make(struct hr__evaluator *evaluator, struct hr__runner *runner,
                                  const struct hr__space *space, const struct hr__goals *goals, uint32_t environment,
                                  struct hr_error *error);

static inline void hr__evaluator_finish(struct hr__evaluator *evaluator) {
  free(evaluator->runner_ids);
  *evaluator = (struct hr__evaluator){0};
}

/* Appends replications 0 to `replications` - 1 of every candidate. */
enum hr_status hr__evaluator_list(struct hr__evaluator *evaluator, const uint32_t *candidates, size_t count,
                                  uint32_t replications, struct hr__trial_list *trials, struct hr_error *error);
/* Runs replications 0 to `replications` - 1 of every listed candidate, in one batch. Existing runs are not repeated. In
   a look-ahead (hr__runner_look_ahead), returns HR_CHECK_FAILED if runs are missing. */
enum hr_status hr__evaluator_run(struct hr__evaluator *evaluator, const uint32_t *candidates, size_t count,
                                 uint32_t replications, struct hr_error *error);

/* Evaluates a candidate over replications 0 to `replications` - 1, as far as they were made (hr__evaluator_made). */
struct hr__evaluation hr__evaluator_evaluate(const struct hr__evaluator *evaluator, uint32_t candidate,
                                             uint32_t replications);

/* Whether a goal is a maximum of the cost of capacity, in dollars. */
bool hr__goal_is_of_cost(const struct hr__goals *goals, const struct hr__goal *goal);

/* Returns a pool because of which the cost of the scenario is unknown; HR_NONE if the cost is known. If no pool has a
   price, this is the first pool. Otherwise it is the first pool that has nodes and no price, and whose number of nodes
   is a variable of the plan. Nodes that exist under all candidates do not affect the choice, so their price may be
   missing. */
uint32_t hr__space_unpriced_pool(const struct hr__space *space, const struct hr_scenario *scenario);

/* The number of goals that a candidate cannot meet because its cost is unknown. */
static inline uint32_t hr__evaluator_unknown_costs(const struct hr__evaluator *evaluator, uint32_t candidate) {
  uint32_t count = 0;
  for (size_t i = 0; i < evaluator->goals->n_goals; i++)
    count += hr__goal_is_of_cost(evaluator->goals, &evaluator->goals->goals[i]);
  if (count == 0) return 0;
  const struct hr_scenario *scenario = hr__runner_scenario(evaluator->runner, evaluator->runner_ids[candidate]);
  return hr__space_unpriced_pool(evaluator->space, scenario) == HR_NONE ? 0 : count;
}

/* The number of replications of a candidate that were made, from the first one on, at most `replications`; at least 1.
   The first one must have been made. */
static inline uint32_t hr__evaluator_made(const struct hr__evaluator *evaluator, uint32_t candidate,
                                          uint32_t replications) {
  uint32_t made = 1;
  while (made < replications && hr__runner_values(evaluator->runner, evaluator->runner_ids[candidate], made)) made++;
  return made;
}

/* The mean of the known values or, if `kind` is HR_METRIC_QUANTILE, their median. NaN if no value is known. Reorders
   `values`. */
double hr__metric_centre(double *values, uint32_t count, enum hr_metric_kind kind);

/* Writes a metric of each replication to `values`; NaN if unknown. */
static inline void hr__evaluator_values(const struct hr__evaluator *evaluator, uint32_t candidate,
                                        uint32_t replications, size_t metric, double *values) {
  for (uint32_t r = 0; r < replications; r++)
    values[r] = hr__runner_values(evaluator->runner, evaluator->runner_ids[candidate], r)[metric];
}

/* The estimate of a metric (an index into the goals' list) over replications 0 to `replications` - 1: the mean or, for
   a quantile, the median. NaN if unknown. */
static inline double hr__evaluator_centre(const struct hr__evaluator *evaluator, uint32_t candidate,
                                          uint32_t replications, size_t metric) {
  enum { MAX = 1024 };
  double values[MAX];
  uint32_t count = hr__evaluator_made(evaluator, candidate, replications < MAX ? replications : MAX);
  hr__evaluator_values(evaluator, candidate, count, metric, values);
  return hr__metric_centre(values, count, hr__metric_rows[evaluator->goals->metrics[metric].id].kind);
}

/* Whether the candidate misses a goal for which more capacity helps (see hr__goal). If so, every candidate that it
   covers misses this goal, too. */
static inline bool hr__evaluator_is_short(const struct hr__evaluator *evaluator, uint32_t candidate,
                                          uint32_t replications) {
  for (size_t i = 0; i < evaluator->goals->n_goals; i++) {
    const struct hr__goal *goal = &evaluator->goals->goals[i];
    if (!goal->wants_capacity) continue;
    if (hr__goal_violation(goal, hr__evaluator_centre(evaluator, candidate, replications, goal->metric)) > 0)
      return true;
  }
  return false;
}

/* Whether candidate `a` is better than `b`. Compares violations first, then objectives, then costs, then numbers of
   GPUs, then the indexes of the candidates; lower is better. */
static inline bool hr__evaluation_is_better(const struct hr__space *space, uint32_t a,
                                            const struct hr__evaluation *a_evaluation, uint32_t b,
                                            const struct hr__evaluation *b_evaluation) {
  if (a_evaluation->violation != b_evaluation->violation) return a_evaluation->violation < b_evaluation->violation;
  if (a_evaluation->objective != b_evaluation->objective) return a_evaluation->objective < b_evaluation->objective;
  if (a_evaluation->cost != b_evaluation->cost) return a_evaluation->cost < b_evaluation->cost;
  double gpus_a = hr__space_gpus(space, a), gpus_b = hr__space_gpus(space, b);
  return gpus_a != gpus_b ? gpus_a < gpus_b : a < b;
}

/*
 * The parts of the search for the best candidate: bounds on the objective that need no run (bounds.c), the search of
 * the grid with few replications (search.c), and the selection among finalists with many replications (goals.c).
 * Capacity is fixed if it is paid for whether it is used or not (owned, reserved). It is elastic if it is paid for only
 * while it is used (on-demand, spot). A candidate serves its jobs if it misses no goal for which more capacity helps.
 */

/* ---- Demand ----------------------------------------------------------------------------------------- */

/* The distribution over time of the number of GPUs in use if no job waited. */
struct hr__demand_curve {
  double window_h; /* from the first to the last submit */
  double mean_gpus, peak_gpus;
  double gpu_hours;     /* of all work */
  double min_gpu_hours; /* of all work except the largest jobs; the excluded jobs are those that may stay incomplete */
  double *gpus, *share; /* [n_steps] increasing numbers of GPUs in use, and the share of the window with each number */
  size_t n_steps;
};

/* Computes the demand curve. `growth` multiplies the demand. `may_fail`: the share of jobs that may stay incomplete.
   HR_NO_MEMORY is the only failure. The caller must call hr__demand_finish, even after an error. */
enum hr_status hr__demand_make(const struct hr_trace *trace, double growth, double may_fail,
                               struct hr__demand_curve *demand);

static inline void hr__demand_finish(struct hr__demand_curve *demand) {
  free(demand->gpus);
  free(demand->share);
  *demand = (struct hr__demand_curve){0};
}

/* The minimum level that demand exceeds for at most `share` of the window. With share 0.05 this is the 95 % quantile.
 */
static inline double hr__demand_exceeded(const struct hr__demand_curve *demand, double share) {
  double above = 0;
  for (size_t i = demand->n_steps; i-- > 0;) {
    above += demand->share[i];
    if (above > share) return demand->gpus[i];
  }
  return 0;
}

/*
 * The newsvendor solution: how many GPUs of fixed capacity pay off. Fixed capacity costs `fixed` dollars per GPU-hour
 * whether it is used or not. Elastic capacity costs `elastic` dollars per GPU-hour, but only while it is used. A GPU of
 * fixed capacity pays off if demand needs it for at least the share fixed / elastic of the time. Returns 0 if elastic
 * capacity is not more expensive. (Arrow, Harris and Marschak, Econometrica 19, 1951.)
 */
static inline double hr__demand_newsvendor(const struct hr__demand_curve *demand, double fixed, double elastic) {
  return fixed < elastic ? hr__demand_exceeded(demand, fixed / elastic) : 0;
}

/* ---- Bounds ----------------------------------------------------------------------------------------- */

/* The prices of one slice, in dollars per hour. Prices by capacity axis are per GPU. */
struct hr__slice_prices {
  double fixed[HR_MAX_PLAN_VARIABLES]; /* by capacity axis; 0: the capacity is not paid for while idle */
  /* by capacity axis: price of capacity that is paid for only while used; infinite for other capacity */
  double elastic[HR_MAX_PLAN_VARIABLES];
  double constant_usd_h; /* cost of the fixed pools that are not variable */
  double constant_gpus;  /* GPUs of these pools */
  /* minimum over all elastic capacity; 0: no such capacity exists, or its price is unknown */
  double min_elastic;
  /* The next four members are for the proven bound. fixed_share: by capacity axis, the share of its GPUs that is not
     elastic. spot: by capacity axis, whether it has spot capacity. min_on_demand: the minimum price of elastic capacity
     that is never reclaimed; 0: no such capacity exists. runs_through: each job that starts runs to its end. */
  double fixed_share[HR_MAX_PLAN_VARIABLES];
  bool spot[HR_MAX_PLAN_VARIABLES];
  double min_on_demand;
  bool runs_through;
  bool keeps_elastic; /* elastic capacity is, or may be, paid while it is not used */
};

/* The least work, in GPU-hours, that must be done in the first `until_h` hours so that a goal on waits is met. */
struct hr__due_work {
  double until_h, gpu_hours;
};

struct hr__bounds {
  const struct hr__space *space;         /* borrowed */
  const struct hr__demand_curve *demand; /* borrowed */
  /* weight of the monthly cost in the objective; 0: no bound of the objective is known */
  double weight;
  /* all work is done at its recorded speed, so elastic capacity must be bought for the work that exceeds the fixed
     capacity */
  bool work_counts;
  struct hr__slice_prices *slices; /* [n_slices] */
  struct hr__due_work *due;        /* [n_due] for the goals on waits of all jobs; for the proven bound */
  size_t n_due;
};

/* Loads one scenario per slice and computes its prices. `redrawn`: the workload differs from the trace. `may_fail`: the
   share of jobs that may stay incomplete. The caller must call hr__bounds_finish, even after an error. */
enum hr_status hr__bounds_make(const struct hr__evaluator *evaluator, const struct hr__runner_config *config,
                               const struct hr__demand_curve *demand, bool redrawn, double may_fail,
                               struct hr__bounds *bounds, struct hr_error *error);

static inline void hr__bounds_finish(struct hr__bounds *bounds) {
  free(bounds->slices);
  free(bounds->due);
  *bounds = (struct hr__bounds){0};
}

/* The lower bound of the candidate's objective with which the search works. It assumes that a run with a goal on waits
   ends within twice the submit window. */
double hr__bounds_min_objective(const struct hr__bounds *bounds, uint32_t candidate);
/* A lower bound of the candidate's objective if it meets the goals. This bound needs no assumption. It can be lower or
   higher than hr__bounds_min_objective. */
double hr__bounds_proven(const struct hr__bounds *bounds, uint32_t candidate);

/* A starting point of the search: the maximum of elastic capacity, and the newsvendor solution for fixed capacity. The
   solution is computed from the most expensive elastic price or, with `low`, from the cheapest. */
struct hr__point hr__bounds_start(const struct hr__bounds *bounds, uint32_t slice, bool low);
/* Computes two newsvendor solutions, in GPUs: *low from the cheapest elastic price, *high from the most expensive. */
void hr__bounds_bracket(const struct hr__bounds *bounds, uint32_t slice, double *low, double *high);

/* ---- Search ----------------------------------------------------------------------------------------- */

/* Whether searches are races. A race makes fewer runs. It is used for traces with many jobs, because then a run takes
   long, and replications differ little. */
static inline bool hr__search_should_race(const struct hr_trace *trace) {
  enum { MANY_JOBS = 20000 };
  return trace->n_jobs >= MANY_JOBS;
}

/* Receives each candidate after its first run, with the number of its replications. */
struct hr__search_watch {
  void *self;
  void (*ran)(void *self, uint32_t candidate, uint32_t replications);
};

struct hr__search_config {
  struct hr__evaluator *evaluator;
  struct hr__search_watch watch;   /* `ran` is NULL: not called */
  const struct hr__bounds *bounds; /* NULL: no bounds are known */
  uint32_t replications;           /* number of replications of each candidate */
  uint64_t max_runs;               /* maximum number of runs of the runner in total; at this number the search ends */
  bool exhaustive;                 /* run every candidate; the members below then have no effect */
  bool thorough;                   /* also try points that are spread over the grid */
  /* candidates that are clearly worse than the best one in their first replication get no further replications */
  bool races;
  /* For a search that repeats an earlier search with harder goals or in a harder environment: */
  uint32_t begin;            /* begin with this candidate alone, in small steps; HR_NONE: a full search */
  bool one_slice;            /* search only the slice of `begin` */
  const uint32_t *too_small; /* candidates that served jobs too badly in the earlier search */
  uint32_t n_too_small;
};

/* Number of candidates by final state. The sum is the number of all candidates. */
struct hr__search_counts {
  uint32_t run, too_expensive, too_small, not_evaluated;
};

struct hr__search_result {
  uint32_t *ranking; /* all candidates that were run; the best is first */
  uint32_t n_ranked;
  uint32_t *too_small; /* candidates that were run and serve jobs too badly */
  uint32_t n_too_small;
  struct hr__search_counts counts;
  /* proven lower bounds of the objective. min_left: of all candidates that were not evaluated; min_all: of all
     candidates that meet the goals. Infinite if there are none, -infinite if nothing is known */
  double min_left, min_all;
};

/* Searches the grid. The caller must call hr__search_finish, even after an error. */
enum hr_status hr__search(const struct hr__search_config *config, struct hr__search_result *result,
                          struct hr_error *error);

static inline void hr__search_finish(struct hr__search_result *result) {
  free(result->ranking);
  free(result->too_small);
  *result = (struct hr__search_result){0};
}

/* ---- Selection -------------------------------------------------------------------------------------- */

struct hr__selection_config {
  struct hr__evaluator *evaluator;
  uint32_t first;            /* number of replications before any finalist is dropped */
  uint32_t max_replications; /* maximum number of replications of a finalist */
  double confidence;
  double indifference; /* width of the indifference zone, as a share of the best objective */
  uint64_t max_runs;   /* maximum number of runs of the runner in total */
  uint64_t seed;       /* seed of the bootstrap */
};

struct hr__selection {
  uint32_t choice;       /* HR_NONE: no finalist meets the goals */
  uint32_t nearest;      /* the finalist with the smallest violation; equal to `choice` if that is set */
  uint32_t replications; /* number of replications of `nearest` */
  /* probability that the choice is the best finalist, or is worse than the best one by at most the indifference zone */
  double probability;
  double zone; /* width of the indifference zone, in units of the objective */
};

/* Selects the best of `count` finalists (borrowed). They must be sorted by the runs so far; the best is first. */
enum hr_status hr__select(const struct hr__selection_config *config, const uint32_t *finalists, uint32_t count,
                          struct hr__selection *selection, struct hr_error *error);

/* Determines whether the objective of candidate `a` is significantly lower than that of `b`: the interval of their
   paired differences is below 0. Uses replications 0 to `replications` - 1, as far as both have them. HR_NO_MEMORY is
   the only failure. */
enum hr_status hr__significantly_lower(const struct hr__evaluator *evaluator, uint32_t a, uint32_t b,
                                       uint32_t replications, double confidence, bool *lower, struct hr_error *error);

#endif
