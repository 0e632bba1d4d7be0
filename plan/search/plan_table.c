/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints a plan, 80 columns wide: what to buy (the choice of the plan), how the choice compares with alternatives, and
   what would change the choice. */

#include "base/text.h"
#include "plan/runner/runner.h"
#include "plan/search/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_WIDTH = 24, COST_WIDTH = 25, CELL_WIDTH = 15, BOUND_WIDTH = 46, MAX_PARETO = 10 };

static void put_title(struct hr__plan_page *page, const char *title) {
  fprintf(page->console.out, "\n%s%s%s\n", hr__bold(&page->console), title, hr__plain(&page->console));
}

/* ---- Text ------------------------------------------------------------------------------------------ */

/* Returns the variables of an option as text, such as "reserved 20, on-demand 40, policy sjf". The caller frees it.
   NULL when out of memory. */
static char *choice_text(const struct hr__plan_page *page, const struct hr__option *option) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  for (uint32_t i = 0; i < page->plan->space.n_axes; i++)
    fprintf(out, "%s%s %s", i ? ", " : "", page->plan->space.spec->variables[i].axis.name,
            hr__option_text(page->plan, option, i));
  if (fclose(out) == 0) return text;
  free(text);
  return NULL;
}

/* Writes the estimate of a metric, with its interval in parentheses, to a buffer and returns the buffer. */
static const char *interval_text(const struct hr__plan_page *page, const struct hr__option *option, size_t metric,
                                 char *text, size_t size) {
  const struct hr__interval *interval = &option->metrics[metric];
  char number[3][HR__METRIC_BYTES];
  enum hr_unit unit = hr__plan_page_unit(page, metric);
  hr__metric_text(unit, hr__interval_centre(interval), number[0]);
  if (isnan(interval->low) || interval->low == interval->high)
    snprintf(text, size, "%s", number[0]);
  else
    snprintf(text, size, "%s (%s to %s)", number[0],
             hr__metric_text(unit, hr__interval_low(page->plan->goals.metrics[metric].id, interval), number[1]),
             hr__metric_text(unit, hr__interval_high(page->plan->goals.metrics[metric].id, interval), number[2]));
  return text;
}

static size_t find(const struct hr__plan_page *page, enum hr__metric metric) {
  return hr__goals_find(&page->plan->goals, &(struct hr__scoped_metric){.id = metric});
}

/* ---- The answer ------------------------------------------------------------------------------------ */

static void put_head(struct hr__plan_page *page) {
  const struct hr_plan *plan = page->plan;
  struct hr__console *console = &page->console;
  char text[2][1000], counts[HR__NUMBER_BYTES];
  char *name = hr__fitted(console, plan->config.scenario->name, HR__LINE_WIDTH - 20, false);
  if (!name) return;
  fprintf(console->out, "%sHeadroom %s: plan for %s%s\n\n", hr__bold(console), hr_version(), name, hr__plain(console));
  free(name);
  if (hr__plan_has_services_only(plan))
    hr__put_field(console, "services", "%" PRIu32 ", without jobs", plan->config.scenario->services->count);
  else
    hr__put_field(console, "trace", "%s (%s jobs)", plan->config.trace->source,
                  hr__count_text(plan->config.trace->n_jobs, counts));
  if (plan->forecast)
    hr__put_field(console, "demand", "as forecast for the next %" PRIu32 " month%s",
                  hr_forecast_span(plan->forecast).months, hr_forecast_span(plan->forecast).months == 1 ? "" : "s");
  hr__put_field(console, "minimize", "%s subject to", hr__goals_objective_text(&plan->goals, text[0], 1000));
  for (size_t i = 0; i < plan->goals.n_goals; i++)
    hr__put_field(console, "", "%s%s", plan->goals.goals[i].text, plan->goals.goals[i].assumed ? " (assumed)" : "");
}

static const char *const use_texts[] = {[HR_ELASTIC_WHILE_USED] = "while used",
                                        [HR_ELASTIC_ALWAYS] = "used or not",
                                        [HR_ELASTIC_UNKNOWN] = "while the policy keeps it"};

/* Prints a line such as "24 A100-40, reserved: $19,235 a month, $1.10 an hour each". */
static void put_pool(struct hr__plan_page *page, const struct hr_pool_spec *pool) {
  char gpus[HR__NUMBER_BYTES], price[HR__NUMBER_BYTES], month[HR__NUMBER_BYTES];
  uint64_t count = (uint64_t)pool->nodes * pool->gpus_per_node;
  const struct hr_market_spec *market = &pool->market;
  const char *type = pool->gpu ? pool->gpu : "GPUs", *word = hr_market_name(market->market);
  hr__count_text(count, gpus);
  hr__usd_text(market->price_uusd_h, price);
  if (market->market == HR_MARKET_NONE)
    hr__put_field(&page->console, pool->name, "%s %s, no price", gpus, type);
  else if (hr_market_is_elastic(market->market))
    hr__put_field(&page->console, pool->name, "up to %s %s, %s: %s an hour each, %s", gpus, type, word, price,
                  use_texts[hr_policy_choice_elastic_use(
                      &hr__runner_scenario(page->plan->runner, page->plan->choice.runner_id)->policy)]);
  else
    hr__put_field(&page->console, pool->name, "%s %s, %s: %s a month, %s an hour each", gpus, type, word,
                  hr__usd_text((int64_t)((hr_amount)market->price_uusd_h * (hr_amount)count * 730), month), price);
}

static void put_metric(struct hr__plan_page *page, const char *label, enum hr__metric id) {
  char text[200];
  size_t metric = find(page, id);
  if (metric == SIZE_MAX || page->plan->choice.metrics[metric].count == 0) return;
  hr__put_field(&page->console, label, "%s", interval_text(page, &page->plan->choice, metric, text, sizeof text));
}

/* Prints by how much the choice could be improved by candidates that were not evaluated, and how. */
static void put_improvable(struct hr__plan_page *page) {
  const struct hr_plan *plan = page->plan;
  uint64_t not_evaluated = plan->search.counts.not_evaluated;
  char count[HR__NUMBER_BYTES], share[HR__NUMBER_BYTES], most[HR__NUMBER_BYTES + 20] = "";
  double improvable = hr__plan_improvable(plan);
  if (not_evaluated == 0 || improvable == 0) return;
  if (!isnan(improvable)) snprintf(most, sizeof most, " by at most %s %%", hr__fixed_text(100 * improvable, 1, share));
  hr__put_field(&page->console, "", "may be improved%s: %s candidate%s not evaluated (--exhaustive runs all)", most,
                hr__count_text(not_evaluated, count), not_evaluated == 1 ? " was" : "s were");
}

/* Prints which pools the cost does not contain. */
static void put_unpriced(struct hr__plan_page *page, const struct hr_cluster_spec *cluster) {
  bool any_priced = false;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    any_priced = any_priced || cluster->pools[i].market.market != HR_MARKET_NONE;
  for (uint32_t i = 0; i < cluster->n_pools && any_priced; i++)
    if (cluster->pools[i].nodes && cluster->pools[i].market.market == HR_MARKET_NONE)
      hr__put_field(&page->console, "", "without %s, which has no price", cluster->pools[i].name);
}

static void put_answer(struct hr__plan_page *page) {
  const struct hr_plan *plan = page->plan;
  const struct hr_cluster_spec *cluster = &hr__runner_scenario(plan->runner, plan->choice.runner_id)->cluster;
  bool feasible = hr_plan_feasible(plan);
  put_title(page, feasible ? "Buy" : "No candidate meets the goals. The nearest:");
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->pools[i].nodes) put_pool(page, &cluster->pools[i]);
  for (uint32_t i = 0; i < plan->space.n_axes; i++)
    if (!plan->space.spec->variables[i].pools)
      hr__put_field(&page->console, plan->space.spec->variables[i].axis.name, "%s",
                    hr__option_text(plan, &plan->choice, i));
  fputc('\n', page->console.out);
  put_metric(page, "a month", HR__M_MONTHLY);
  put_unpriced(page, cluster);
  put_improvable(page);
  hr__plan_page_put_certainty(page);
  if (hr__plan_has_services_only(plan)) return;
  put_metric(page, "mean wait", HR__M_WAIT_MEAN);
  put_metric(page, "p95 wait", HR__M_WAIT_P95);
  put_metric(page, "completed", HR__M_COMPLETED_SHARE);
  put_metric(page, "in use", HR__M_UTILIZATION_SUBMIT_WINDOW);
}

/* ---- Goals ----------------------------------------------------------------------------------------- */

/* Returns the remark on a goal that excluded a better candidate. */
static const char *binding_text(const struct hr__plan_page *page, size_t goal) {
  if (hr__plan_is_at_bound(page->plan, goal)) return ", binds";
  return hr__plan_page_minimizes_money(page) ? ", excluded a cheaper candidate" : ", excluded a better candidate";
}

static void put_goals(struct hr__plan_page *page) {
  const struct hr_plan *plan = page->plan;
  put_title(page, "Goals");
  for (size_t i = 0; i < plan->goals.n_goals; i++) {
    const struct hr__goal *goal = &plan->goals.goals[i];
    const struct hr__interval *interval = &plan->choice.metrics[goal->metric];
    bool unknown = hr__plan_cost_is_unknown(plan, i);
    bool met = !unknown && hr__goal_violation(goal, hr__interval_centre(interval)) == 0;
    double worst = goal->at_most ? interval->high : interval->low;
    bool uncertain = met && !isnan(worst) && hr__goal_violation(goal, worst) > 0;
    char value[200], remark[100];
    char *words = hr__fitted(&page->console, goal->text, 36, false);
    if (!words) return;
    if (unknown)
      snprintf(value, sizeof value, "unknown");
    else
      interval_text(page, &plan->choice, goal->metric, value, sizeof value);
    snprintf(remark, sizeof remark, "%s%s",
             unknown     ? ", as a pool has no price"
             : !met      ? ", missed"
             : uncertain ? ", met, not significantly"
                         : "",
             met && plan->excluding[i] ? binding_text(page, i) : "");
    size_t width = hr__width_of(value, strlen(value)) + 40;
    bool value_fits = width <= HR__LINE_WIDTH, remark_fits = width + strlen(remark) <= HR__LINE_WIDTH;
    fprintf(page->console.out, value_fits ? "  %-36s  " : "  %s\n      ", words);
    fputs(value, page->console.out);
    /* A remark that does not fit is printed on the next line, without its leading comma. */
    fprintf(page->console.out, "%s\n", remark_fits || !value_fits ? remark : "");
    if (value_fits && !remark_fits) fprintf(page->console.out, "      %s\n", remark + strlen(", "));
    free(words);
  }
}

/* ---- Alternatives ---------------------------------------------------------------------------------- */

/* Prints an indented line of text that belongs to an option. */
static void put_detail_line(struct hr__plan_page *page, const char *words) {
  char *fitted = hr__fitted(&page->console, words, HR__LINE_WIDTH - 6, false);
  if (fitted) fprintf(page->console.out, "      %s%s%s\n", hr__dim(&page->console), fitted, hr__plain(&page->console));
  free(fitted);
}

/* Writes a metric with its interval, unless this is narrower than the printed precision, to a buffer and returns the
   buffer. */
static const char *margin_text(const struct hr__plan_page *page, const struct hr__option *option, size_t metric,
                               char *text, size_t size) {
  const struct hr__interval *interval = &option->metrics[metric];
  double half = (interval->high - interval->low) / 2;
  if (!isnan(half) && half > 1e-6 * fabs(hr__interval_centre(interval)))
    return interval_text(page, option, metric, text, size);
  hr__metric_text(hr__plan_page_unit(page, metric), hr__interval_centre(interval), text);
  return text;
}

/* Prints the first two columns of an option. If they do not fit, the name has its own line. */
static void put_name_and_cost(struct hr__plan_page *page, const char *name, const char *cost) {
  size_t taken = hr__width_of(name, strlen(name)), width = NAME_WIDTH + COST_WIDTH;
  bool fits = taken == 0 || taken + 1 + hr__width_of(cost, strlen(cost)) <= width;
  fprintf(page->console.out, fits ? "  %s" : "  %s\n  ", name);
  hr__plan_page_put_right(page, cost, fits ? width - taken : width);
}

/* Prints name, cost, wait, and whether the goals are met. `with_mix`: prints the option's variables too. If `name` is
   empty and the variables are short enough, they are printed in its place, otherwise on a separate line. */
static void put_option(struct hr__plan_page *page, const char *name, const struct hr__option *option, bool with_mix) {
  const struct hr_plan *plan = page->plan;
  char cost[3 * HR__METRIC_BYTES + 8], wait[HR__METRIC_BYTES];
  if (hr__plan_is_unpriced(plan, option->runner_id))
    snprintf(cost, sizeof cost, "no price");
  else
    margin_text(page, option, plan->pareto_cost, cost, sizeof cost);
  hr__metric_text(hr__plan_page_unit(page, plan->pareto_wait), hr__interval_centre(&option->metrics[plan->pareto_wait]),
                  wait);
  char *words = with_mix ? choice_text(page, option) : NULL;
  bool in_row = words && !name[0] && strlen(words) < NAME_WIDTH;
  if (words && !name[0] && !in_row) put_detail_line(page, words);
  put_name_and_cost(page, in_row ? words : name, cost);
  hr__plan_page_put_right(page, wait, CELL_WIDTH);
  fprintf(page->console.out, "  %s\n", option->violation == 0 ? "meets goals" : "misses goals");
  if (words && name[0]) put_detail_line(page, words);
  free(words);
}

static void put_columns(struct hr__plan_page *page, const char *title) {
  const struct hr_plan *plan = page->plan;
  char wait[HR__SCOPED_METRIC_BYTES];
  hr__scoped_metric_name(&plan->goals.metrics[plan->pareto_wait], wait);
  char *fitted = hr__fitted(&page->console, wait, CELL_WIDTH - 1, false);
  fprintf(page->console.out, "\n%s%-*s%*s%*s%s\n", hr__bold(&page->console), NAME_WIDTH + 2, title, COST_WIDTH,
          "a month", CELL_WIDTH, fitted ? fitted : "", hr__plain(&page->console));
  free(fitted);
}

/* Whether both options exist and have equal variables. */
static bool is_same_mix(const struct hr__plan_page *page, const struct hr__option *a, const struct hr__option *b) {
  if (a->runner_id == HR_NONE || b->runner_id == HR_NONE) return false;
  for (uint32_t i = 0; i < page->plan->space.n_axes; i++)
    if (strcmp(hr__option_text(page->plan, a, i), hr__option_text(page->plan, b, i)) != 0) return false;
  return true;
}

static const char *own_name(const struct hr__plan_page *page) {
  return hr_plan_feasible(page->plan) ? "this plan" : "the nearest";
}

static void put_baselines(struct hr__plan_page *page) {
  const struct hr_plan *plan = page->plan;
  if (plan->today.runner_id == HR_NONE && plan->all_on_demand.runner_id == HR_NONE) return;
  put_columns(page, "Compared");
  put_option(page, own_name(page), &plan->choice, false);
  bool same = is_same_mix(page, &plan->today, &plan->all_on_demand);
  if (plan->today.runner_id != HR_NONE) put_option(page, same ? "today, all on demand" : "today", &plan->today, true);
  if (plan->all_on_demand.runner_id != HR_NONE && !same) put_option(page, "all on demand", &plan->all_on_demand, true);
}

static void put_candidate(struct hr__plan_page *page, const char *name, uint32_t candidate) {
  const struct hr_plan *plan = page->plan;
  struct hr__option option;
  if (hr__option_make(plan, &plan->evaluator, candidate, plan->evaluator.runner_ids[candidate], plan->depth, &option,
                      NULL) != HR_OK)
    page->console.out_of_memory = true;
  else
    put_option(page, name, &option, true);
  hr__option_finish(plan, &option);
}

/* Prints at most ten points of the frontier, evenly spread. */
static void put_pareto(struct hr__plan_page *page) {
  const struct hr_plan *plan = page->plan;
  size_t shown = plan->n_pareto < MAX_PARETO ? plan->n_pareto : MAX_PARETO;
  if (shown < 2) return;
  const struct hr__scoped_metric *wait = &plan->goals.metrics[plan->pareto_wait];
  bool is_of_requests = hr__metric_rows[wait->id].flags & HR_METRIC_OF_REQUESTS;
  put_columns(page, is_of_requests ? "Cost against latency" : "Cost against wait");
  for (size_t i = 0; i < shown; i++) {
    uint32_t candidate = plan->pareto[i * (plan->n_pareto - 1) / (shown - 1)];
    put_candidate(page, candidate == plan->choice.candidate ? own_name(page) : "", candidate);
  }
}

/* Writes the tightened goal in the notation of the scenario. */
static void put_tighter_goal(const struct hr__plan_page *page, const struct hr__tightening *tightening, char *text,
                             size_t size) {
  const struct hr__goal *goal = &page->plan->goals.goals[tightening->goal];
  char name[HR__SCOPED_METRIC_BYTES], bound[HR__METRIC_BYTES];
  enum hr_unit unit = hr__plan_page_unit(page, goal->metric);
  hr__scoped_metric_name(&page->plan->goals.metrics[goal->metric], name);
  if (unit == HR_UNIT_SHARE)
    snprintf(bound, sizeof bound, "%.6g %%", 100 * tightening->bound);
  else
    hr__metric_text(unit, tightening->bound, bound);
  snprintf(text, size, "%.200s %s %s", name, goal->at_most ? "<=" : ">=", bound);
}

/* Whether the tightened goal costs nothing. A negative cost is smaller than the resolution of the search, and counts as
   no cost. */
static bool is_free(const struct hr__plan_page *page, const struct hr__tightening *tightening) {
  const struct hr_plan *plan = page->plan;
  double own = hr__evaluator_evaluate(&plan->evaluator, plan->choice.candidate, plan->depth).objective;
  return tightening->candidate != HR_NONE && tightening->objective <= own;
}

/* Prints the cost of tighter goals. If several bounds of a goal cost nothing, only the tightest is printed. */
static void put_tightening(struct hr__plan_page *page) {
  const struct hr_plan *plan = page->plan;
  double own = hr__evaluator_evaluate(&plan->evaluator, plan->choice.candidate, plan->depth).objective;
  bool of_money = hr__plan_page_minimizes_money(page);
  if (plan->n_tightenings == 0) return;
  put_title(page, "Tighter goals");
  for (size_t i = 0; i < plan->n_tightenings; i++) {
    const struct hr__tightening *tightening = &plan->tightenings[i];
    bool next_is_free = i + 1 < plan->n_tightenings && plan->tightenings[i + 1].goal == tightening->goal &&
                        is_free(page, &plan->tightenings[i + 1]);
    char cost[HR__METRIC_BYTES], line[400];
    if (is_free(page, tightening) && next_is_free) continue;
    put_tighter_goal(page, tightening, line, sizeof line);
    hr__difference_text(of_money ? HR_UNIT_DOLLARS : HR_UNIT_FACTOR, tightening->objective - own, cost);
    char *fitted = hr__fitted(&page->console, line, BOUND_WIDTH, false);
    fprintf(page->console.out, "  %-*s  %s%s\n", BOUND_WIDTH, fitted ? fitted : "",
            tightening->candidate == HR_NONE ? "no candidate"
            : is_free(page, tightening)      ? "costs nothing"
                                             : cost,
            tightening->candidate != HR_NONE && !is_free(page, tightening) ? hr__plan_page_per_month(page) : "");
    free(fitted);
  }
}

static void put_sensitivity(struct hr__plan_page *page) {
  const struct hr_plan *plan = page->plan;
  uint32_t runs = 1;
  if (plan->n_cases == 0) return;
  put_columns(page, "What if");
  for (size_t i = 0; i < plan->n_cases; i++) {
    const struct hr__sensitivity_case *environment = &plan->cases[i];
    put_option(page, environment->name, &environment->same, false);
    if (!environment->best_meets)
      fprintf(page->console.out, "    no candidate%s meets the goals\n",
              environment->same_settings ? " with the same settings" : "");
    else if (environment->best_is_better)
      put_option(page, "  best then", &environment->best, true);
    else if (environment->best.candidate != plan->choice.candidate)
      fprintf(page->console.out, "    this plan is still the best%s\n",
              environment->same.replications > 1 ? " within noise" : "");
    if (environment->same.replications > runs) runs = environment->same.replications;
  }
  if (runs > 1) hr__put_field(&page->console, "runs", "%" PRIu32 " for each random row", runs);
}

/* ---- Search statistics ----------------------------------------------------------------------------- */

/* Prints the demand, and the range of fixed capacity that pays off by prices alone (hr__bounds_bracket). */
static void put_demand(struct hr__plan_page *page) {
  const struct hr_plan *plan = page->plan;
  char text[4][HR__NUMBER_BYTES], profitable[200] = "";
  hr__fixed_text(plan->bracket[0], 0, text[2]);
  hr__fixed_text(plan->bracket[1], 0, text[3]);
  bool one = strcmp(text[2], text[3]) == 0;
  if (hr__plan_has_services_only(plan)) return;
  if (plan->bracket[0] > 0)
    snprintf(profitable, sizeof profitable, "; by prices alone, fixed capacity pays off up to %s%s%s GPUs", text[2],
             one ? "" : " to ", one ? "" : text[3]);
  hr__put_field(&page->console, "demand", "%s GPUs on average, %s at peak%s",
                hr__fixed_text(plan->demand.mean_gpus, 1, text[0]), hr__fixed_text(plan->demand.peak_gpus, 0, text[1]),
                profitable);
}

static void put_confidence(struct hr__plan_page *page) {
  const struct hr_plan *plan = page->plan;
  bool of_money = hr__plan_page_minimizes_money(page);
  char zone[HR__METRIC_BYTES];
  hr__metric_text(of_money ? HR_UNIT_DOLLARS : HR_UNIT_FACTOR, plan->selection.zone, zone);
  if (!hr_plan_feasible(plan))
    hr__put_field(&page->console, "certainty", "none of the candidates that were run meets the goals");
  else if (!plan->evaluator.random)
    hr__put_field(&page->console, "certainty", "deterministic: the best of the candidates that were run");
  else if (plan->choice.replications == 1)
    hr__put_field(&page->console, "certainty",
                  "the best of the candidates that were run; a single run has no probability");
  else
    hr__put_field(&page->console, "certainty",
                  "the best of the finalists, or within %s of it, with probability %.3f over %s (%" PRIu32
                  " replications)%s",
                  zone, plan->selection.probability, hr__plan_randomness(plan), plan->choice.replications,
                  plan->robustness.n_conditions ? "; it does not cover the conditions under 'Holds under'"
                                                : "; other conditions were not tested");
}

static void put_foot(struct hr__plan_page *page, const struct hr_perf *perf) {
  const struct hr_plan *plan = page->plan;
  struct hr__console *console = &page->console;
  const struct hr__search_counts *counts = &plan->search.counts;
  char text[6][HR__NUMBER_BYTES];
  fputc('\n', console->out);
  put_demand(page);
  hr__put_field(console, "searched", "%s candidates: %s run, %s excluded by price, %s too small, %s not evaluated",
                hr__count_text(plan->space.n_candidates, text[0]), hr__count_text(counts->run, text[1]),
                hr__count_text(counts->too_expensive, text[2]), hr__count_text(counts->too_small, text[3]),
                hr__count_text(counts->not_evaluated, text[4]));
  uint64_t beside = plan->baseline_runs + plan->tightening_runs + plan->sensitivity_runs + plan->robustness_runs;
  hr__put_field(console, "runs", "%s to choose, %s for comparisons",
                hr__count_text(plan->search_runs + plan->selection_runs, text[0]), hr__count_text(beside, text[1]));
  put_confidence(page);
  if (perf) hr__put_speed(console, hr__runner_runs(plan->runner), plan->config.n_threads, perf->sim_s, 0);
}

enum hr_status hr_plan_print(FILE *out, const struct hr_plan *plan, const struct hr_perf *perf, bool colour) {
  struct hr__plan_page page = {.console = {.out = out, .colour = colour}, .plan = plan};
  put_head(&page);
  put_answer(&page);
  put_goals(&page);
  hr__plan_page_put_conditions(&page);
  put_baselines(&page);
  put_pareto(&page);
  put_tightening(&page);
  put_sensitivity(&page);
  put_foot(&page, perf);
  if (page.console.out_of_memory) return HR_NO_MEMORY;
  return ferror(out) ? HR_IO_ERROR : HR_OK;
}
