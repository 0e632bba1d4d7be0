/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The goals and the objective of a plan, the evaluation of candidates against them, and the selection of the best
 * finalist.
 *
 * Goals. Metric names, comparison signs, bounds with units, and weights are parsed. The list of metrics is allocated
 * once with room for all metrics.
 *
 * Selection. The best of a few finalists (the choice) is selected with as many replications as the selection needs. The
 * procedure is that of Kim and Nelson (ACM TOMACS 11, 2001) on common random numbers. All finalists are run side by
 * side. A finalist is dropped when another finalist, which meets the goals, is better by more than the procedure
 * allows. Both are compared over the replications that both have. Differences within the indifference zone are not
 * resolved. If metrics are normally distributed, the choice is, with the requested probability, the best finalist or
 * differs from it by at most the indifference zone.
 *
 * The reported probability is computed differently, by a paired bootstrap. Replications are resampled, the same ones
 * for all finalists. The probability is the share of resamples in which the choice meets the goals, and no other
 * finalist that meets them is better by more than the zone.
 */

#include "plan/search/search.h"

#include "base/containers.h"
#include "base/process.h"
#include "base/random.h"
#include "headroom/scenario.h"
#include "headroom/unstable/planning.h"
#include "plan/runner/runner.h"

#include <ctype.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes the objective of each replication to `values`; infinite if unknown. */
static void evaluator_objectives(const struct hr__evaluator *evaluator, uint32_t candidate, uint32_t replications,
                                 double *values) {
  for (uint32_t r = 0; r < replications; r++) {
    double objective = hr__goals_objective(evaluator->goals,
                                           hr__runner_values(evaluator->runner, evaluator->runner_ids[candidate], r));
    values[r] = isnan(objective) ? (double)INFINITY : objective;
  }
}

/* ---- The list of metrics --------------------------------------------------------------------------- */

/* Returns the index of the metric, which is appended if it is missing. The list has room for all metrics. */
static uint32_t find_or_add(struct hr__goals *goals, const struct hr__scoped_metric *metric) {
  size_t at = hr__goals_find(goals, metric);
  if (at == SIZE_MAX) goals->metrics[at = goals->n_metrics++] = *metric;
  return (uint32_t)at;
}

/* The metrics that are reported for every candidate. */
static const enum hr__metric always_reported[] = {
    HR__M_MONTHLY,         HR__M_WAIT_MEAN,     HR__M_WAIT_P95,
    HR__M_COMPLETED_SHARE, HR__M_DEADLINE_MISS, HR__M_UTILIZATION_SUBMIT_WINDOW,
    HR__M_PER_JOB,         HR__M_JCT_MEAN,      HR__M_SPOT_HOURS,
    HR__M_RECLAIMS,        HR__M_LOST};
enum { N_ALWAYS_REPORTED = sizeof always_reported / sizeof *always_reported };

/* ---- Bounds ---------------------------------------------------------------------------------------- */

/* The units of a bound, and their factor to the base unit of the metric. */
static const struct bound_unit {
  const char *text;
  double factor;
  enum hr_unit of;
} units[] = {{"s", 1, HR_UNIT_SECONDS},      {"min", 60, HR_UNIT_SECONDS},  {"h", 3600, HR_UNIT_SECONDS},
             {"d", 86400, HR_UNIT_SECONDS},  {"%", 0.01, HR_UNIT_SHARE},    {"$", 1, HR_UNIT_DOLLARS},
             {"usd", 1, HR_UNIT_DOLLARS},    {"k$", 1000, HR_UNIT_DOLLARS}, {"", 1, HR_UNIT_COUNT},
             {"ms", 1, HR_UNIT_MILLISECONDS}};

/* Rejects a bound outside 0 to 1 if the metric is a share. A goal such as "completed >= 99" probably means percent. */
static enum hr_status check_share(const struct hr_placed_text *placed, double bound, const char *unit,
                                  struct hr_error *error) {
  char advice[80] = "";
  if (bound >= 0 && bound <= 1) return HR_OK;
  if (bound > 1 && bound <= 100 && !unit[0]) snprintf(advice, sizeof advice, "; did you mean %.10g %%?", bound);
  return hr_fail(error, HR_BAD_INPUT, "%s'%s': the metric is a share from 0 to 1%s", placed->place, placed->text,
                 advice);
}

/* Whether the comma at text[i] separates thousands, as in 120,000. */
static bool is_separator(const char *text, size_t i) {
  bool between = i > 0 && isdigit((unsigned char)text[i - 1]);
  for (size_t k = 1; k <= 3 && between; k++) between = isdigit((unsigned char)text[i + k]);
  return between && !isdigit((unsigned char)text[i + 4]) && !memchr(text, '.', i);
}

/* Reads a number, with or without separators of thousands. Returns the text after it; NULL if the text has no number.
 */
static const char *read_number(const char *text, double *number) {
  char plain[100], *end;
  size_t used = 0, count = 0, places[sizeof plain];
  for (; text[used] && count + 1 < sizeof plain; used++) {
    if (text[used] == ',' && is_separator(text, used)) continue;
    places[count] = used;
    plain[count++] = text[used];
  }
  plain[count] = '\0';
  places[count] = used;
  *number = strtod(plain, &end);
  bool is_hex = memchr(plain, 'x', (size_t)(end - plain));
  return end != plain && isfinite(*number) && !is_hex ? text + places[end - plain] : NULL;
}

/* Finds the unit at the start of `text`. Returns NULL if it is unknown. Moves *text behind the unit and the spaces
   after it. `in_dollars`: a $ precedes the number, so k is the only possible unit. */
static const struct bound_unit *read_unit(const char **text, bool in_dollars) {
  static const struct bound_unit dollars = {"$", 1, HR_UNIT_DOLLARS}, thousands = {"k", 1000, HR_UNIT_DOLLARS};
  while (**text == ' ') (*text)++;
  size_t length = strcspn(*text, " ");
  const struct bound_unit *found = NULL;
  if (in_dollars && length <= 1) found = length == 0 ? &dollars : **text == 'k' ? &thousands : NULL;
  for (size_t i = 0; !in_dollars && i < sizeof units / sizeof *units; i++)
    if (strlen(units[i].text) == length && strncmp(units[i].text, *text, length) == 0) found = &units[i];
  *text += length;
  while (**text == ' ') (*text)++;
  return found;
}

/* Reads a bound: a number with a unit, dollars such as $120,000, or a sum of times such as 1 h 30 min. Sets *unit to
   the last unit, or to NULL if the text is not a bound. */
static double sum_bound(const char *text, const struct bound_unit **unit) {
  bool in_dollars = *text == '$', first = true;
  double bound = 0, number;
  do {
    const char *after = read_number(in_dollars ? text + 1 : text, &number);
    *unit = after ? read_unit(&after, in_dollars) : NULL;
    if (*unit && !first && (*unit)->of != HR_UNIT_SECONDS) *unit = NULL;
    if (!*unit) return 0;
    first = false;
    bound += number * (*unit)->factor;
    text = after;
  } while (*text && (*unit)->of == HR_UNIT_SECONDS && number >= 0);
  if (*text) *unit = NULL;
  return bound;
}

static enum hr_status read_bound(const char *text, const struct hr_placed_text *placed, enum hr_unit of, double *bound,
                                 struct hr_error *error) {
  const struct bound_unit *unit;
  *bound = sum_bound(text, &unit);
  if (!unit)
    return hr_fail(error, HR_BAD_INPUT,
                   "%s'%s': invalid bound '%.60s'; expected a number with an optional unit (s, min, h, d, %%, $, k$), "
                   "such as 10 min or $120,000",
                   placed->place, placed->text, text);
  if (unit->of != of && unit->text[0])
    return hr_fail(error, HR_BAD_INPUT, "%s'%s': unit '%s' does not match the metric", placed->place, placed->text,
                   unit->text);
  if (*bound < 0 && of != HR_UNIT_DOLLARS && of != HR_UNIT_SHARE)
    return hr_fail(error, HR_BAD_INPUT, "%s'%s': the bound must not be negative", placed->place, placed->text);
  return of == HR_UNIT_SHARE ? check_share(placed, *bound, unit->text, error) : HR_OK;
}

/* ---- Goals ----------------------------------------------------------------------------------------- */

/* Whether a metric describes how well jobs are served. Other metrics describe money or capacity. */
static bool is_of_service(enum hr__metric metric) {
  return hr__metric_rows[metric].flags & HR_METRIC_OF_SERVICE;
}

static bool wants_capacity(enum hr__metric metric, bool at_most) {
  return is_of_service(metric) && at_most != (hr__metric_rows[metric].direction == HR_HIGHER_IS_BETTER);
}

/* Whether a metric is a wait, completion time or slowdown of jobs. */
static bool is_of_job_times(enum hr__metric metric) {
  const struct hr_metric *row = &hr__metric_rows[metric];
  unsigned flags = HR_METRIC_OF_GROUPS | HR_METRIC_OF_SERVICE;
  return (row->flags & flags) == flags && (row->kind == HR_METRIC_MEAN || row->kind == HR_METRIC_QUANTILE);
}

static enum hr_status add_goal(struct hr__goals *goals, const struct hr__scoped_metric *metric, bool at_most,
                               double bound, const char *text, struct hr_error *error) {
  struct hr__goal *goal = &goals->goals[goals->n_goals++];
  /* A wait, completion time or slowdown is unknown only if no job started or ended. */
  bool is_job_time = is_of_job_times(metric->id);
  bool is_of_requests = hr__metric_rows[metric->id].flags & HR_METRIC_OF_REQUESTS;
  *goal = (struct hr__goal){.metric = find_or_add(goals, metric),
                            .at_most = at_most,
                            .bound = bound,
                            .text = strdup(text),
                            .wants_capacity = wants_capacity(metric->id, at_most),
                            .unknown_misses = !at_most || is_job_time || is_of_requests};
  bool is_time = is_job_time && hr__metric_rows[metric->id].unit == HR_UNIT_SECONDS;
  goals->bound_waits = goals->bound_waits || (is_time && at_most && metric->of == HR__OF_ALL);
  return goal->text ? HR_OK : hr_fail(error, HR_NO_MEMORY, "out of memory");
}

/* Parses "METRIC <= NUMBER" or "METRIC >= NUMBER". */
static enum hr_status parse_goal(struct hr__goals *goals, const struct hr_placed_text *placed,
                                 const struct hr_trace *trace, const struct hr_services *services,
                                 struct hr_error *error) {
  const char *sign = strpbrk(placed->text, "<>");
  if (!sign || sign[1] != '=')
    return hr_fail(error, HR_BAD_INPUT,
                   "%sinvalid goal '%.200s'; expected METRIC <= NUMBER or METRIC >= NUMBER, such as "
                   "wait_s.p95 of inference <= 60",
                   placed->place, placed->text);
  struct hr__scoped_metric metric;
  struct hr_error inner = {0};
  enum hr_status status =
      hr__scoped_metric_parse(placed->text, (size_t)(sign - placed->text), trace, services, &metric, &inner);
  if (status != HR_OK) return hr_fail(error, status, "%s%s", placed->place, inner.text);
  const char *number = sign + 2;
  while (*number == ' ') number++;
  double bound;
  status = read_bound(number, placed, hr__metric_rows[metric.id].unit, &bound, error);
  return status == HR_OK ? add_goal(goals, &metric, *sign == '<', bound, placed->text, error) : status;
}

/* Rejects a minimum above a maximum of the same metric. */
static enum hr_status check_contradictions(const struct hr__goals *goals, const struct hr_plan_spec *spec,
                                           struct hr_error *error) {
  for (size_t i = 0; i < goals->n_goals; i++)
    for (size_t k = 0; k < goals->n_goals; k++) {
      const struct hr__goal *max = &goals->goals[i], *min = &goals->goals[k];
      if (max->metric != min->metric || !max->at_most || min->at_most || min->bound <= max->bound) continue;
      return hr_fail(error, HR_BAD_INPUT, "%scontradictory goals: '%.200s' and '%.200s'",
                     spec->constraints[i > k ? i : k].place, max->text, min->text);
    }
  return HR_OK;
}

static bool is_of_completion(enum hr__metric metric) {
  return metric == HR__M_COMPLETED || metric == HR__M_COMPLETED_SHARE || metric == HR__M_REJECTED ||
         metric == HR__M_UNFINISHED;
}

/* Requires a goal or an objective on service. Otherwise a candidate without capacity would be the best one. */
static enum hr_status check_bounded(const struct hr__goals *goals, const struct hr_plan_spec *spec,
                                    struct hr_error *error) {
  for (size_t i = 0; i < goals->n_goals; i++)
    if (is_of_service(goals->metrics[goals->goals[i].metric].id)) return HR_OK;
  for (size_t i = 0; i < goals->n_terms; i++)
    if (is_of_service(goals->metrics[goals->terms[i]].id)) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT,
                 "%sthe objective is unbounded: the best candidate would have no capacity; add 'constraints' such as "
                 "\"completed >= 99 %%\" or \"wait_s.p95 <= 60\"",
                 spec->self.place);
}

/* Adds a goal on completion if none exists. Rejected jobs do not wait, so a goal on waits alone would favour
   candidates that reject large jobs. */
static enum hr_status assume_completion(struct hr__goals *goals, struct hr_error *error) {
  const struct hr__scoped_metric completed = {.id = HR__M_COMPLETED_SHARE};
  for (size_t i = 0; i < goals->n_goals; i++)
    if (is_of_completion(goals->metrics[goals->goals[i].metric].id)) return HR_OK;
  enum hr_status status = add_goal(goals, &completed, false, 0.99, "completed >= 99 %", error);
  goals->goals[goals->n_goals - 1].assumed = true;
  return status;
}

/* ---- The objective --------------------------------------------------------------------------------- */

static enum hr_status parse_term(struct hr__goals *goals, const struct hr_plan_term *term, const struct hr_trace *trace,
                                 const struct hr_services *services, bool priced, struct hr_error *error) {
  struct hr__scoped_metric metric;
  struct hr_error inner = {0};
  const char *text = term->metric.text;
  enum hr_status status = hr__scoped_metric_parse(text, strlen(text), trace, services, &metric, &inner);
  if (status != HR_OK) return hr_fail(error, status, "%s%s", term->metric.place, inner.text);
  if (hr__metric_rows[metric.id].unit == HR_UNIT_DOLLARS && !priced)
    return hr_fail(
        error, HR_BAD_INPUT,
        "%sthe objective '%.100s' needs prices, but the scenario has none; give pools a 'market' and a price",
        term->metric.place, text);
  if (hr__metric_rows[metric.id].direction == HR_HIGHER_IS_BETTER && term->weight > 0)
    return hr_fail(error, HR_BAD_INPUT,
                   "%sthe objective is minimized, but higher values of '%.100s' are better; use it as a goal "
                   "('constraints': [\"%.100s >= ...\"]), or give it a negative weight ('weights': {\"%.100s\": -1})",
                   term->metric.place, text, text, text);
  goals->terms[goals->n_terms] = find_or_add(goals, &metric);
  goals->weights[goals->n_terms++] = term->weight;
  return HR_OK;
}

static enum hr_status check_weights(const struct hr__goals *goals, const struct hr_plan_spec *spec,
                                    struct hr_error *error) {
  for (size_t i = 0; i < goals->n_terms; i++)
    if (goals->weights[i] != 0) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%sall weights are 0, so the objective is constant",
                 spec->objective[0].metric.place);
}

const char *hr__goals_objective_text(const struct hr__goals *goals, char *buffer, size_t size) {
  char name[HR__SCOPED_METRIC_BYTES];
  size_t used = 0;
  buffer[0] = '\0';
  for (size_t i = 0; i < goals->n_terms && used < size; i++) {
    hr__scoped_metric_name(&goals->metrics[goals->terms[i]], name);
    bool plain = goals->n_terms == 1 && goals->weights[i] == 1;
    int more = plain ? snprintf(buffer + used, size - used, "%s", name)
                     : snprintf(buffer + used, size - used, "%s%.6g x %s", i ? " + " : "", goals->weights[i], name);
    used += (size_t)more;
  }
  return buffer;
}

/* ---- Goals and objective --------------------------------------------------------------------------- */

static bool allocate(const struct hr_plan_spec *spec, struct hr__goals *goals) {
  size_t max = spec->n_constraints + spec->n_terms + N_ALWAYS_REPORTED + 2;
  goals->metrics = calloc(max, sizeof *goals->metrics);
  goals->goals = calloc((size_t)spec->n_constraints + 2, sizeof *goals->goals);
  goals->terms = calloc((size_t)spec->n_terms + 1, sizeof *goals->terms);
  goals->weights = calloc((size_t)spec->n_terms + 1, sizeof *goals->weights);
  return goals->metrics && goals->goals && goals->terms && goals->weights;
}

enum hr_status hr__goals_read(const struct hr_plan_spec *spec, const struct hr_trace *trace,
                              const struct hr_services *services, bool priced, struct hr__goals *goals,
                              struct hr_error *error) {
  *goals = (struct hr__goals){0};
  if (!allocate(spec, goals)) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < spec->n_constraints && status == HR_OK; i++)
    status = parse_goal(goals, &spec->constraints[i], trace, services, error);
  for (uint32_t i = 0; i < spec->n_terms && status == HR_OK; i++)
    status = parse_term(goals, &spec->objective[i], trace, services, priced, error);
  if (status == HR_OK && spec->n_terms) status = check_weights(goals, spec, error);
  return status == HR_OK ? check_contradictions(goals, spec, error) : status;
}

enum hr_status hr__goals_make(const struct hr_plan_spec *spec, const struct hr_trace *trace,
                              const struct hr_services *services, bool priced, struct hr__goals *goals,
                              struct hr_error *error) {
  enum hr_status status = hr__goals_read(spec, trace, services, priced, goals, error);
  if (status == HR_OK) status = check_bounded(goals, spec, error);
  if (status == HR_OK && trace->n_jobs) status = assume_completion(goals, error);
  goals->bound_waits = goals->bound_waits || trace->n_jobs == 0;
  for (size_t i = 0; status == HR_OK && i < N_ALWAYS_REPORTED; i++)
    find_or_add(goals, &(struct hr__scoped_metric){.id = always_reported[i]});
  goals->cost = hr__goals_find(goals, &(struct hr__scoped_metric){.id = HR__M_MONTHLY});
  return status;
}

enum hr_status hr__goals_of_texts(const struct hr_placed_text *texts, uint32_t count, const struct hr_trace *trace,
                                  const struct hr_services *services, struct hr__goals *goals, struct hr_error *error) {
  struct hr_placed_text *list = (struct hr_placed_text *)(uintptr_t)texts; /* it is only read */
  const struct hr_plan_spec spec = {.constraints = list, .n_constraints = count};
  return hr__goals_read(&spec, trace, services, false, goals, error);
}

enum hr_status hr_plan_goal_check(const char *goal, const struct hr_trace *trace, struct hr_error *error) {
  char place[40], *text = strdup(goal);
  if (!text) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  snprintf(place, sizeof place, "%s: ", hr__phrase("--goal"));
  const struct hr_placed_text placed = {text, place};
  struct hr__goals goals;
  enum hr_status status = hr__goals_of_texts(&placed, 1, trace, NULL, &goals, error);
  hr__goals_finish(&goals);
  free(text);
  return status;
}

/* ---- Goals of one run ------------------------------------------------------------------------------ */

void hr_goal_results_free(struct hr_goal_result *results, size_t count) {
  for (size_t i = 0; i < count; i++) free(results[i].text);
  free(results);
}

/* Moves the texts of the goals to the results. */
static void fill_results(struct hr__goals *goals, const double *values, struct hr_goal_result *results) {
  for (size_t i = 0; i < goals->n_goals; i++) {
    struct hr__goal *goal = &goals->goals[i];
    double value = values[goal->metric];
    results[i] = (struct hr_goal_result){goal->text, value, hr__goal_violation(goal, value) <= 0, goal->assumed};
    goal->text = NULL;
  }
}

enum hr_status hr_goals_of_run(const struct hr_scenario *scenario, const struct hr_trace *trace,
                               const struct hr_summary *summary, struct hr_goal_result **results, size_t *count,
                               struct hr_error *error) {
  struct hr__goals goals;
  *results = NULL;
  *count = 0;
  if (!scenario->plan) return HR_OK;
  /* the objective is not needed, so it may be a cost even if the scenario has no prices */
  enum hr_status status = hr__goals_make(scenario->plan, trace, scenario->services, true, &goals, error);
  double *values = calloc(goals.n_metrics + 1, sizeof *values);
  if (status == HR_OK && values) *results = calloc(goals.n_goals + 1, sizeof **results);
  if (status == HR_OK && !*results) status = hr_fail(error, HR_NO_MEMORY, "out of memory");
  if (status == HR_OK) {
    hr__scoped_metrics_of_run(summary, goals.metrics, goals.n_metrics, values);
    fill_results(&goals, values, *results);
    *count = goals.n_goals;
  }
  free(values);
  hr__goals_finish(&goals);
  return status;
}

/* ---- Evaluation of candidates -------------------------------------------------------------------------- */

/*
 * The grid of candidates, and their evaluation by simulation.
 *
 * The index of a candidate is a number in mixed radix: its digits are the levels of the candidate, and the last axis is
 * the least significant digit. The index of a slice is computed in the same way from the axes that are not capacity.
 * The runner stores the runs. The evaluator only maps candidates to their indexes in the runner, so an evaluation is a
 * pure function of existing runs.
 */

static bool may_draw_jobs_away(const struct hr_scenario *scenario, const struct hr_plan_variable *variable) {
  const struct hr_cluster_spec *cluster = &scenario->cluster;
  for (uint32_t i = 0; i < variable->n_pools; i++)
    if (cluster->pools[variable->pools[i]].market.market == HR_MARKET_SPOT && cluster->n_pools > 1) return true;
  return scenario->speeds && cluster->n_pools > variable->n_pools;
}

enum hr_status hr__space_make(const struct hr_plan_spec *spec, const struct hr_scenario *scenario,
                              struct hr__space *space, struct hr_error *error) {
  *space = (struct hr__space){.spec = spec, .n_axes = spec->n_variables, .n_slices = 1};
  double count = 1;
  for (uint32_t i = 0; i < spec->n_variables; i++) count *= spec->variables[i].axis.n_levels;
  if (count > (double)spec->max_candidates)
    return hr_fail(error, HR_BAD_INPUT,
                   "%sthe variables span %.0f candidates, but 'max_candidates' is %" PRIu64 "; use wider steps",
                   spec->self.place, count, spec->max_candidates);
  space->n_candidates = (uint32_t)count;
  for (uint32_t i = 0; i < space->n_axes; i++) {
    space->non_monotone[i] =
        scenario && hr__space_is_capacity(space, i) && may_draw_jobs_away(scenario, &spec->variables[i]);
    if (hr__space_is_capacity(space, i))
      space->capacity[space->n_capacity++] = i;
    else
      space->n_slices *= hr__space_levels(space, i);
  }
  return HR_OK;
}

const char **hr__space_overrides(const struct hr__space *space, uint32_t candidate, size_t *count) {
  struct hr__point point = hr__space_point(space, candidate);
  size_t max = 0;
  *count = 0;
  for (uint32_t i = 0; i < space->n_axes; i++) max += space->spec->variables[i].axis.levels[point.level[i]].n_set;
  const char **overrides = calloc(max + 1, sizeof *overrides);
  for (uint32_t i = 0; overrides && i < space->n_axes; i++) {
    const struct hr_grid_level *level = &space->spec->variables[i].axis.levels[point.level[i]];
    for (size_t k = 0; k < level->n_set; k++) overrides[(*count)++] = level->set[k];
  }
  return overrides;
}

enum hr_status hr__evaluator_make(struct hr__evaluator *evaluator, struct hr__runner *runner,
                                  const struct hr__space *space, const struct hr__goals *goals, uint32_t environment,
                                  struct hr_error *error) {
  *evaluator = (struct hr__evaluator){.runner = runner, .space = space, .goals = goals, .environment = environment};
  evaluator->runner_ids = malloc(((size_t)space->n_candidates + 1) * sizeof *evaluator->runner_ids);
  if (!evaluator->runner_ids) return hr_fail(error, HR_NO_MEMORY, "out of memory for the candidates");
  for (uint32_t i = 0; i < space->n_candidates; i++) evaluator->runner_ids[i] = HR_NONE;
  return HR_OK;
}

/* ---- Runs ------------------------------------------------------------------------------------------ */

static enum hr_status add(struct hr__evaluator *evaluator, uint32_t candidate, struct hr_error *error) {
  size_t count;
  if (evaluator->runner_ids[candidate] != HR_NONE) return HR_OK;
  const char **overrides = hr__space_overrides(evaluator->space, candidate, &count);
  if (!overrides) return hr_fail(error, HR_NO_MEMORY, "out of memory for the candidates");
  struct hr_error inner = {0};
  enum hr_status status = hr__runner_add_candidate(evaluator->runner, overrides, count, evaluator->environment,
                                                   &evaluator->runner_ids[candidate], &inner);
  free(overrides);
  if (status != HR_OK) return hr_fail(error, status, "%s%s", evaluator->space->spec->self.place, inner.text);
  evaluator->random = evaluator->random || hr__runner_is_random(evaluator->runner, evaluator->runner_ids[candidate]);
  return HR_OK;
}

enum hr_status hr__evaluator_list(struct hr__evaluator *evaluator, const uint32_t *candidates, size_t count,
                                  uint32_t replications, struct hr__trial_list *trials, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < count && status == HR_OK; i++) status = add(evaluator, candidates[i], error);
  for (uint32_t r = 0; r < replications && status == HR_OK; r++)
    for (size_t i = 0; i < count && status == HR_OK; i++) {
      if (HR__ARRAY_HAS_ROOM(trials->list, trials->count, trials->capacity))
        trials->list[trials->count++] = (struct hr__trial){evaluator->runner_ids[candidates[i]], r};
      else
        status = hr_fail(error, HR_NO_MEMORY, "out of memory for the runs");
    }
  return status;
}

enum hr_status hr__evaluator_run(struct hr__evaluator *evaluator, const uint32_t *candidates, size_t count,
                                 uint32_t replications, struct hr_error *error) {
  struct hr__trial_list trials = {0};
  enum hr_status status = hr__evaluator_list(evaluator, candidates, count, replications, &trials, error);
  if (status == HR_OK) status = hr__runner_run(evaluator->runner, trials.list, trials.count, error);
  free(trials.list);
  return status;
}

/* ---- Evaluations ----------------------------------------------------------------------------------- */

bool hr__goal_is_of_cost(const struct hr__goals *goals, const struct hr__goal *goal) {
  static const char cost[] = "cost.";
  const enum hr__metric id = goals->metrics[goal->metric].id;
  return goal->at_most && hr__metric_rows[id].unit == HR_UNIT_DOLLARS &&
         (id == HR__M_MONTHLY || strncmp(hr__metric_rows[id].path, cost, sizeof cost - 1) == 0);
}

uint32_t hr__space_unpriced_pool(const struct hr__space *space, const struct hr_scenario *scenario) {
  const struct hr_cluster_spec *cluster = &scenario->cluster;
  bool any_priced = false;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    any_priced = any_priced || cluster->pools[i].market.market != HR_MARKET_NONE;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_pool_spec *pool = &cluster->pools[i];
    bool counts = pool->nodes && pool->market.market == HR_MARKET_NONE && hr__space_has_pool(space, i);
    if (counts || !any_priced) return i;
  }
  return HR_NONE;
}

double hr__metric_centre(double *values, uint32_t count, enum hr_metric_kind kind) {
  uint32_t known = 0;
  for (uint32_t i = 0; i < count; i++)
    if (!isnan(values[i])) values[known++] = values[i];
  if (known == 0) return HR__UNKNOWN;
  gsl_sort(values, 1, known);
  return kind == HR_METRIC_QUANTILE ? gsl_stats_median_from_sorted_data(values, 1, known) : hr__mean_of(values, known);
}

struct hr__evaluation hr__evaluator_evaluate(const struct hr__evaluator *evaluator, uint32_t candidate,
                                             uint32_t replications) {
  enum { MAX = 1024 };
  double values[MAX];
  struct hr__evaluation evaluation = {0};
  uint32_t count = hr__evaluator_made(evaluator, candidate, replications < MAX ? replications : MAX);
  evaluator_objectives(evaluator, candidate, count, values);
  evaluation.objective = hr__mean_of(values, count);
  double cost = hr__evaluator_centre(evaluator, candidate, count, evaluator->goals->cost);
  evaluation.cost = isnan(cost) ? 0 : cost;
  const bool unknown_costs = hr__evaluator_unknown_costs(evaluator, candidate) > 0;
  for (size_t i = 0; i < evaluator->goals->n_goals; i++) {
    const struct hr__goal *goal = &evaluator->goals->goals[i];
    bool unknown = unknown_costs && hr__goal_is_of_cost(evaluator->goals, goal);
    evaluation.violation +=
        unknown ? 1 : hr__goal_violation(goal, hr__evaluator_centre(evaluator, candidate, count, goal->metric));
  }
  if (hr__runner_unfit(evaluator->runner, evaluator->runner_ids[candidate]))
    evaluation.violation += (double)evaluator->goals->n_goals + 1;
  return evaluation;
}

/* ---- Selection -------------------------------------------------------------------------------------- */

enum { DRAWS = 2000 };

struct contest {
  const struct hr__selection_config *config;
  struct hr__evaluator *evaluator;
  const uint32_t *finalists;
  uint32_t count;
  uint32_t replications; /* number of replications of the active finalists */
  uint32_t *made;        /* [count] number of replications of each finalist */
  bool *active;          /* [count] the finalist was not dropped */
  double *objectives;    /* [count][max_replications] */
  struct hr_error *error;
};

static double *objectives_of(const struct contest *contest, uint32_t finalist) {
  return contest->objectives + (size_t)finalist * contest->config->max_replications;
}

static enum hr_status no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory for the finalists");
}

/* ---- Selection: running ----------------------------------------------------------------------------- */

static enum hr_status run(struct contest *contest, uint32_t replications) {
  uint32_t *batch = calloc((size_t)contest->count + 1, sizeof *batch), n = 0;
  if (!batch) return no_memory(contest->error);
  for (uint32_t i = 0; i < contest->count; i++)
    if (contest->active[i]) batch[n++] = contest->finalists[i];
  enum hr_status status = hr__evaluator_run(contest->evaluator, batch, n, replications, contest->error);
  free(batch);
  if (status != HR_OK) return status;
  contest->replications = replications;
  for (uint32_t i = 0; i < contest->count; i++) {
    if (!contest->active[i]) continue;
    contest->made[i] = replications;
    evaluator_objectives(contest->evaluator, contest->finalists[i], replications, objectives_of(contest, i));
  }
  return HR_OK;
}

/* ---- Selection: dropping ---------------------------------------------------------------------------- */

static struct hr__evaluation evaluation_of(const struct contest *contest, uint32_t finalist) {
  return hr__evaluator_evaluate(contest->evaluator, contest->finalists[finalist], contest->made[finalist]);
}

/* The best active finalist. */
static uint32_t leader(const struct contest *contest) {
  uint32_t best = HR_NONE;
  struct hr__evaluation best_evaluation = {0};
  for (uint32_t i = 0; i < contest->count; i++) {
    if (!contest->active[i]) continue;
    struct hr__evaluation evaluation = evaluation_of(contest, i);
    if (best != HR_NONE && !hr__evaluation_is_better(contest->evaluator->space, contest->finalists[i], &evaluation,
                                                     contest->finalists[best], &best_evaluation))
      continue;
    best = i;
    best_evaluation = evaluation;
  }
  return best;
}

static double mean_difference(const double *a, const double *b, uint32_t count) {
  double sum = 0;
  for (uint32_t i = 0; i < count; i++) sum += a[i] - b[i];
  return sum / count;
}

/* The sample variance of the differences a - b over the first `count` replications. */
static double variance(const double *a, const double *b, uint32_t count) {
  double mean = mean_difference(a, b, count), squares = 0;
  for (uint32_t i = 0; i < count; i++) squares += (a[i] - b[i] - mean) * (a[i] - b[i] - mean);
  return squares / (count - 1);
}

/* The maximum difference from the leader with which a finalist is not dropped: W = max(0, d / (2 r) (h^2 S^2 / d^2 -
   r)), where h^2 = 2 eta (n0 - 1), eta = ((2 alpha / (k - 1))^(-2 / (n0 - 1)) - 1) / 2. Here d is the zone, r the
   number of replications, S^2 the `spread`, n0 the size of the first stage, k the number of finalists, and alpha is 1 -
   confidence. */
static double allowance(const struct contest *contest, double zone, double spread) {
  const struct hr__selection_config *config = contest->config;
  double n0 = config->first, r = contest->replications, alpha = 1 - config->confidence;
  double eta = (pow(2 * alpha / fmax(1, contest->count - 1.0), -2 / (n0 - 1)) - 1) / 2;
  double h2 = 2 * eta * (n0 - 1);
  return zone > 0 ? fmax(0, zone / (2 * r) * (h2 * spread / (zone * zone) - r)) : (spread > 0 ? (double)INFINITY : 0);
}

/* Sets *fails to whether the finalist misses a goal with statistical significance, or has unknown costs. */
static enum hr_status significantly_fails(const struct contest *contest, uint32_t finalist, bool *fails) {
  const struct hr__goals *goals = contest->evaluator->goals;
  double *values = malloc(((size_t)contest->made[finalist] + 1) * sizeof *values);
  enum hr_status status = values ? HR_OK : HR_NO_MEMORY;
  *fails = hr__evaluator_unknown_costs(contest->evaluator, contest->finalists[finalist]) > 0;
  for (size_t i = 0; i < goals->n_goals && status == HR_OK; i++) {
    const struct hr__goal *goal = &goals->goals[i];
    struct hr__interval interval;
    hr__evaluator_values(contest->evaluator, contest->finalists[finalist], contest->made[finalist], goal->metric,
                         values);
    status =
        hr__interval_uncorrected(values, contest->made[finalist], hr__metric_rows[goals->metrics[goal->metric].id].kind,
                                 contest->config->confidence, !contest->evaluator->random, &interval);
    double best_case = goal->at_most ? interval.low : interval.high;
    *fails = *fails || (!isnan(best_case) && hr__goal_violation(goal, best_case) > 0);
  }
  free(values);
  return status;
}

/* If the leader meets all goals: drops finalists that are significantly worse, or that significantly miss a goal. Sets
   `*settled` to true if no further replications are needed. */
static enum hr_status drop_losers(struct contest *contest, double *zone, bool *settled) {
  uint32_t best = leader(contest);
  struct hr__evaluation best_evaluation = evaluation_of(contest, best);
  *zone = contest->config->indifference * fabs(best_evaluation.objective);
  *settled = true;
  if (best_evaluation.violation > 0) {
    *settled = false;
    return HR_OK;
  }
  for (uint32_t i = 0; i < contest->count; i++) {
    bool fails;
    if (!contest->active[i] || i == best) continue;
    if (significantly_fails(contest, i, &fails) != HR_OK) return no_memory(contest->error);
    double spread = variance(objectives_of(contest, i), objectives_of(contest, best), contest->config->first);
    double behind = mean_difference(objectives_of(contest, i), objectives_of(contest, best), contest->replications);
    double allowed = allowance(contest, *zone, spread);
    if (fails || behind > allowed)
      contest->active[i] = false;
    else
      *settled = *settled && allowed == 0;
  }
  return HR_OK;
}

enum hr_status hr__significantly_lower(const struct hr__evaluator *evaluator, uint32_t a, uint32_t b,
                                       uint32_t replications, double confidence, bool *lower, struct hr_error *error) {
  uint32_t count_a = hr__evaluator_made(evaluator, a, replications),
           count_b = hr__evaluator_made(evaluator, b, replications), count = count_a < count_b ? count_a : count_b;
  bool exact = !hr__runner_is_random(evaluator->runner, evaluator->runner_ids[a]) &&
               !hr__runner_is_random(evaluator->runner, evaluator->runner_ids[b]);
  double *values = malloc(2 * (size_t)count * sizeof *values), *other = values + count;
  struct hr__interval interval;
  if (!values) return no_memory(error);
  evaluator_objectives(evaluator, a, count, values);
  evaluator_objectives(evaluator, b, count, other);
  for (uint32_t r = 0; r < count; r++) values[r] -= other[r];
  enum hr_status status = hr__interval_uncorrected(values, count, HR_METRIC_MEAN, confidence, exact, &interval);
  *lower = interval.high < 0; /* false if there is no interval */
  free(values);
  return status == HR_OK ? HR_OK : no_memory(error);
}

/* ---- Selection: probability ------------------------------------------------------------------------- */

/* The objective of a finalist over resampled replications; infinite if the finalist misses a goal over them. */
static double resampled_objective(const struct contest *contest, uint32_t finalist, const double *uniform,
                                  double *values) {
  const struct hr__goals *goals = contest->evaluator->goals;
  uint32_t made = contest->made[finalist], candidate = contest->finalists[finalist];
  const struct hr__runner *runner = contest->evaluator->runner;
  uint32_t runner_id = contest->evaluator->runner_ids[candidate];
  double sum = 0;
  if (hr__evaluator_unknown_costs(contest->evaluator, candidate)) return (double)INFINITY;
  for (uint32_t r = 0; r < made; r++) sum += objectives_of(contest, finalist)[(uint32_t)(uniform[r] * made)];
  for (size_t i = 0; i < goals->n_goals; i++) {
    const struct hr__goal *goal = &goals->goals[i];
    for (uint32_t r = 0; r < made; r++)
      values[r] = hr__runner_values(runner, runner_id, (uint32_t)(uniform[r] * made))[goal->metric];
    double centre = hr__metric_centre(values, made, hr__metric_rows[goals->metrics[goal->metric].id].kind);
    if (hr__goal_violation(goal, centre) > 0) return (double)INFINITY;
  }
  return sum / made;
}

static enum hr_status estimate_probability(const struct contest *contest, uint32_t choice, double zone, uint64_t seed,
                                           double *probability) {
  size_t max = (size_t)contest->config->max_replications + 1;
  double *uniform = malloc(max * sizeof *uniform), *values = malloc(max * sizeof *values);
  uint32_t wins = 0;
  struct hr__stream stream;
  if (!uniform || !values) {
    free(uniform);
    free(values);
    return no_memory(contest->error);
  }
  hr__stream_init(&stream, seed, HR__PURPOSE_BOOTSTRAP, 0, 0);
  for (uint32_t draw = 0; draw < DRAWS; draw++) {
    for (uint32_t r = 0; r < contest->config->max_replications; r++) uniform[r] = hr__stream_uniform(&stream);
    double own = resampled_objective(contest, choice, uniform, values), min = (double)INFINITY;
    for (uint32_t i = 0; i < contest->count && !isinf(own); i++)
      if (i != choice) min = fmin(min, resampled_objective(contest, i, uniform, values));
    wins += !isinf(own) && own <= min + zone;
  }
  *probability = (double)wins / DRAWS;
  free(uniform);
  free(values);
  return HR_OK;
}

/* ---- Selection: the whole selection ----------------------------------------------------------------- */

/* Runs rounds until the selection is settled. Each round has 1.5 times as many replications as the round before. */
static enum hr_status run_rounds(struct contest *contest, double *zone) {
  const struct hr__selection_config *config = contest->config;
  bool settled = false;
  enum hr_status status = run(contest, 1); /* shows which finalists depend on random numbers */
  if (status == HR_OK && contest->evaluator->random && config->first > 1) status = run(contest, config->first);
  while (status == HR_OK) {
    uint32_t best = leader(contest);
    if (!contest->evaluator->random) {
      *zone = config->indifference * fabs(evaluation_of(contest, best).objective);
      return HR_OK;
    }
    status = drop_losers(contest, zone, &settled);
    uint32_t next = contest->replications + (contest->replications + 1) / 2;
    bool done = settled || contest->replications >= config->max_replications ||
                hr__runner_runs(contest->evaluator->runner) >= config->max_runs;
    if (status != HR_OK || done) return status;
    status = run(contest, next < config->max_replications ? next : config->max_replications);
  }
  return status;
}

enum hr_status hr__select(const struct hr__selection_config *config, const uint32_t *finalists, uint32_t count,
                          struct hr__selection *selection, struct hr_error *error) {
  struct contest contest = {.config = config,
                            .evaluator = config->evaluator,
                            .finalists = finalists,
                            .count = count,
                            .made = calloc((size_t)count + 1, sizeof *contest.made),
                            .active = malloc((size_t)count + 1),
                            .objectives =
                                malloc(((size_t)count * config->max_replications + 1) * sizeof *contest.objectives),
                            .error = error};
  enum hr_status status = contest.made && contest.active && contest.objectives ? HR_OK : no_memory(error);
  for (uint32_t i = 0; i < count && status == HR_OK; i++) contest.active[i] = true;
  if (status == HR_OK) status = run_rounds(&contest, &selection->zone);
  if (status == HR_OK) {
    uint32_t best = leader(&contest);
    selection->nearest = finalists[best];
    selection->choice = evaluation_of(&contest, best).violation == 0 ? finalists[best] : HR_NONE;
    selection->replications = contest.made[best];
    selection->probability = selection->choice == HR_NONE ? 0 : 1;
    if (selection->choice != HR_NONE && contest.evaluator->random)
      status = estimate_probability(&contest, best, selection->zone, config->seed, &selection->probability);
  }
  free(contest.made);
  free(contest.active);
  free(contest.objectives);
  return status;
}
