/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints a plan, 80 columns wide: what to buy (the choice of the plan), how the choice compares with alternatives, what
   would change the choice, the conditions on which it depends, and the results of the tested mixes under other
   conditions. */

#include "base/text.h"
#include "plan/runner/runner.h"
#include "plan/search/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct plan_page {
  struct hr__console console;
  const struct hr_plan *plan;
};

static enum hr_unit plan_page_unit(const struct plan_page *page, size_t metric) {
  return hr__metric_rows[page->plan->goals.metrics[metric].id].unit;
}

/* Whether the objective is one metric in dollars. */
static bool plan_page_minimizes_money(const struct plan_page *page) {
  return page->plan->goals.n_terms == 1 && plan_page_unit(page, page->plan->goals.terms[0]) == HR_UNIT_DOLLARS;
}

/* Returns the text that is printed after a difference of the objective: that it is a cost per month, or "" if it is a
   cost of the run. */
static const char *plan_page_per_month(const struct plan_page *page) {
  const struct hr__goals *goals = &page->plan->goals;
  bool is_monthly = plan_page_minimizes_money(page) && goals->metrics[goals->terms[0]].id == HR__M_MONTHLY;
  return is_monthly ? " a month" : "";
}

/* Whether the scenario has services and no jobs, so that figures of jobs have no meaning. */
static bool plan_has_services_only(const struct hr_plan *plan) {
  return plan->config.trace->n_jobs == 0 && plan->config.scenario->services &&
         plan->config.scenario->services->count > 0;
}

/* ---- Robustness ------------------------------------------------------------------------------------- */

enum { HOLDS_WIDTH = 28, CONDITION_WIDTH = 13, FORECAST_DAYS = 42, HELD_BYTES = HR__METRIC_BYTES + 45 };

/* The heading of the column of a printed mix. */
static const char *column_name(uint32_t shown) {
  static const char *const names[HR__MAX_PRINTED_MIXES] = {"this plan", "B", "C"};
  return shown < HR__MAX_PRINTED_MIXES ? names[shown] : "";
}

/* Writes the objective, or a difference of objectives, to a buffer of HR__METRIC_BYTES bytes. */
static const char *objective_text(const struct plan_page *page, double value, bool difference, char *buffer) {
  enum hr_unit unit = plan_page_minimizes_money(page) ? HR_UNIT_DOLLARS : HR_UNIT_FACTOR;
  return difference ? hr__difference_text(unit, value, buffer) : hr__metric_text(unit, value, buffer);
}

/* Returns the variables of an option as text, such as "reserved 20, on-demand 40, policy sjf". Unless `all` is set,
   capacities of 0 are left out. The caller frees the text. NULL: out of memory. */
static char *mix_text(const struct plan_page *page, const struct hr__option *option, bool all) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  const char *comma = "";
  for (uint32_t i = 0; i < page->plan->space.n_axes; i++) {
    const char *value = hr__option_text(page->plan, option, i);
    if (!all && page->plan->space.spec->variables[i].pools && strcmp(value, "0") == 0) continue;
    fprintf(out, "%s%s %s", comma, page->plan->space.spec->variables[i].axis.name, value);
    comma = ", ";
  }
  return hr__stream_text(out, &text);
}

/* Returns the name of the group to which a condition belongs. */
static const char *group_name(const struct hr__condition *condition) {
  switch (condition->kind) {
  case HR__CONDITION_DEMAND:
    return "demand";
  case HR__CONDITION_PRICES:
    return "prices";
  case HR__CONDITION_GPU_SUPPLY:
    return "the supply of GPUs";
  default:
    return "spot availability";
  }
}

/* Prints what the choice depends on. If some of its runs miss a goal without any change, this is the first line. For
   each group of conditions, prints under how many of them it misses goals in more runs than without a change. */
static void put_dependence(struct plan_page *page) {
  const struct hr__robustness *robustness = &page->plan->robustness;
  const struct hr__tested_mix *mix = &robustness->mixes[0];
  const char *label = "depends on";
  if (mix->planned.missed) {
    hr__put_field(&page->console, label, "chance: %" PRIu32 " of %" PRIu32 " runs as planned miss a goal",
                  mix->planned.missed, mix->planned.runs);
    label = "";
  }
  for (uint32_t i = 0; i < robustness->n_conditions; i++) {
    const char *group = group_name(&robustness->conditions[i]), *example = NULL;
    uint32_t size = 0, missed = 0;
    for (uint32_t k = 0; k < robustness->n_conditions; k++) {
      if (strcmp(group_name(&robustness->conditions[k]), group) != 0) continue;
      if (k < i) break;
      size++;
      if (!mix->held[k].is_worse) continue;
      missed++;
      if (!example) example = robustness->conditions[k].name;
    }
    if (!missed) continue;
    hr__put_field(&page->console, label, "%s: misses a goal under %" PRIu32 " of %" PRIu32 " condition%s (%s%s)", group,
                  missed, size, size == 1 ? "" : "s", example, missed > 1 ? ", ..." : "");
    label = "";
  }
  if (label[0])
    hr__put_field(&page->console, "holds under", "all %" PRIu32 " conditions that were tested",
                  robustness->n_conditions);
}

/* Whether a mix costs as much as the choice: the difference is within the indifference zone. */
static bool costs_the_same(const struct plan_page *page, const struct hr__tested_mix *mix) {
  double difference = mix->planned.objective - page->plan->robustness.mixes[0].planned.objective;
  return fabs(difference) <= page->plan->selection.zone;
}

/* Writes the additional cost of a mix, compared with the choice. `text` has 2 * HR__METRIC_BYTES bytes. */
static void write_more(const struct plan_page *page, const struct hr__tested_mix *mix, char *text) {
  const struct hr__tested_mix *own = &page->plan->robustness.mixes[0];
  double difference = mix->planned.objective - own->planned.objective;
  char more[HR__METRIC_BYTES];
  if (fabs(difference) <= 1e-4 * fabs(own->planned.objective))
    snprintf(text, 2 * HR__METRIC_BYTES, "at the same cost");
  else
    snprintf(text, 2 * HR__METRIC_BYTES, "%s%s%s", objective_text(page, difference, true, more),
             plan_page_per_month(page), costs_the_same(page, mix) ? " (within indifference)" : "");
}

/* Prints a mix that meets the goals under more conditions, and what it costs more. */
static void put_safer_mix(struct plan_page *page, const char *label, const struct hr__tested_mix *mix) {
  const struct hr__robustness *robustness = &page->plan->robustness;
  const struct hr__tested_mix *own = &robustness->mixes[0];
  const struct hr__option option = {.candidate = mix->candidate};
  char more[2 * HR__METRIC_BYTES], over[80] = "", own_over[80] = "", *words = mix_text(page, &option, false);
  if (!words) return;
  write_more(page, mix, more);
  if (mix->n_over_dollars > 0)
    snprintf(over, sizeof over, "; over the goal in dollars in %" PRIu32 " more", mix->n_over_dollars);
  if (own->n_over_dollars > 0) snprintf(own_over, sizeof own_over, " and %" PRIu32, own->n_over_dollars);
  hr__put_field(&page->console, label,
                "%s%s: meets all goals under %" PRIu32 " of %" PRIu32 " conditions%s (this plan: %" PRIu32 "%s): %s",
                more, mix->planned.violation > 0 ? " (over the goal in dollars)" : "", mix->n_met,
                robustness->n_conditions, over, own->n_met, own_over, words);
  free(words);
}

/* Prints the safer mixes that cost the same as the choice or, if `same_cost` is false, those with another cost. */
static void put_safer(struct plan_page *page, bool same_cost) {
  const struct hr__robustness *robustness = &page->plan->robustness;
  uint32_t shown[HR__MAX_PRINTED_MIXES], count = hr__robustness_shown(robustness, page->plan->selection.zone, shown);
  const char *label = "safer";
  for (uint32_t i = 1; i < count; i++) {
    const struct hr__tested_mix *mix = &robustness->mixes[shown[i]];
    if (costs_the_same(page, mix) != same_cost) continue;
    put_safer_mix(page, label, mix);
    label = "";
  }
}

/* Prints how much of a commitment is at risk if demand falls by 25 %. */
static void put_commitment(struct plan_page *page, const struct hr__commitment *commitment) {
  const char *name = page->plan->space.spec->variables[commitment->axis].axis.name;
  const struct hr__regret *regret = &commitment->demand_falls;
  char committed[HR__METRIC_BYTES], month[HR__METRIC_BYTES], sum[HR__METRIC_BYTES];
  uint32_t months = commitment->months;
  hr__metric_text(HR_UNIT_DOLLARS, commitment->monthly_usd * (months ? months : 1), committed);
  hr__metric_text(HR_UNIT_DOLLARS, regret->usd, month);
  hr__metric_text(HR_UNIT_DOLLARS, regret->usd * months, sum);
  if (commitment->is_smallest)
    hr__put_field(&page->console, "at risk",
                  "%s for %s%s, if demand falls by 25 %%: not tested: the variable has no smaller value", committed,
                  name, months ? "" : " a month");
  else if (regret->known && regret->usd > 0 && months)
    hr__put_field(&page->console, "at risk",
                  "%s of %s committed to %s for %" PRIu32 " months, if demand falls by 25 %% "
                  "(%s a month more than with %.0f GPUs)",
                  sum, committed, name, months, month, regret->gpus);
  else if (regret->known && regret->usd > 0)
    hr__put_field(&page->console, "at risk",
                  "%s a month of %s for %s, if demand falls by 25 %% (more than with %.0f GPUs)", month, committed,
                  name, regret->gpus);
  else if (regret->known)
    hr__put_field(&page->console, "at risk", "nothing of %s for %s%s, if demand falls by 25 %%", committed, name,
                  months ? "" : " a month");
}

/* Prints the conditions on which the choice depends, safer mixes, and commitments at risk. */
static void plan_page_put_certainty(struct plan_page *page) {
  const struct hr__robustness *robustness = &page->plan->robustness;
  if (robustness->n_conditions == 0) return;
  put_safer(page, true);
  put_dependence(page);
  put_safer(page, false);
  for (uint32_t i = 0; i < robustness->n_commitments; i++) put_commitment(page, &robustness->commitments[i]);
  if (!plan_has_services_only(page->plan)) fputc('\n', page->console.out);
}

/* Whether some runs meet the goals that are not in dollars, and others do not. */
static bool is_split(const struct hr__held *held) {
  return held->missed > 0 && held->missed < held->runs;
}

/* Writes the objective, with a star if a goal in dollars is missed. If another goal is missed, writes "misses" instead.
   If only some runs miss such a goal, adds their number. `buffer` has HELD_BYTES bytes. */
static const char *held_text(const struct plan_page *page, const struct hr__held *held, char *buffer) {
  char objective[HR__METRIC_BYTES] = "no price", split[40] = "";
  if (held->priced) objective_text(page, held->objective, false, objective);
  if (is_split(held)) snprintf(split, sizeof split, " %" PRIu32 "/%" PRIu32, held->missed, held->runs);
  snprintf(buffer, HELD_BYTES, "%s%s%s", held->serves ? objective : "misses",
           held->serves && held->violation > 0 ? "*" : "", split);
  return buffer;
}

/* The width of a column: one more than that of the widest cell, but at least CONDITION_WIDTH. */
static uint32_t cell_width(const struct plan_page *page) {
  const struct hr__robustness *robustness = &page->plan->robustness;
  uint32_t shown[HR__MAX_PRINTED_MIXES], count = hr__robustness_shown(robustness, page->plan->selection.zone, shown),
                                         width = CONDITION_WIDTH;
  char text[HELD_BYTES];
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t k = 0; k <= robustness->n_conditions; k++) {
      const struct hr__tested_mix *mix = &robustness->mixes[shown[i]];
      uint32_t taken = 1 + (uint32_t)strlen(held_text(page, k ? &mix->held[k - 1] : &mix->planned, text));
      if (taken > width) width = taken;
    }
  return width;
}

/* The width of the column of names: what `count` columns of this width leave of the line, but at least MIN_WIDTH and at
   most HOLDS_WIDTH. */
static int name_width(uint32_t count, uint32_t width) {
  enum { MIN_WIDTH = 16 };
  int left = HR__LINE_WIDTH - (int)(count * width);
  return left > HOLDS_WIDTH ? HOLDS_WIDTH : left < MIN_WIDTH ? MIN_WIDTH : left;
}

/* Prints a row of the table of conditions: the mixes as planned or, with a condition, under it. Returns whether a mix
   of the row has a star (held_text). */
static bool put_condition(struct plan_page *page, uint32_t width, const char *name, const uint32_t *condition) {
  const struct hr__robustness *robustness = &page->plan->robustness;
  uint32_t shown[HR__MAX_PRINTED_MIXES], count = hr__robustness_shown(robustness, page->plan->selection.zone, shown);
  char text[HELD_BYTES], *fitted = hr__fitted(&page->console, name, (size_t)name_width(count, width) - 3, false);
  bool starred = false;
  fprintf(page->console.out, "  %-*s", name_width(count, width) - 2, fitted ? fitted : "");
  free(fitted);
  for (uint32_t i = 0; i < count; i++) {
    const struct hr__tested_mix *mix = &robustness->mixes[shown[i]];
    const struct hr__held *held = condition ? &mix->held[*condition] : &mix->planned;
    hr__put_right(page->console.out, held_text(page, held, text), width);
    starred = starred || (held->serves && held->violation > 0);
  }
  fputc('\n', page->console.out);
  return starred;
}

/* The printed cells: how many runs they have, and the cell with the largest difference between its runs. */
struct cells {
  uint32_t min_runs, max_runs; /* of the random cells; max_runs is 0 if there are none */
  bool split;
  double spread; /* difference of the highest and the lowest objective, relative to the lowest */
  const char *mix, *condition;
};

static void count_cell(const struct hr__held *held, const char *mix, const char *condition, struct cells *cells) {
  if (held->runs < 2) return;
  if (cells->max_runs == 0 || held->runs < cells->min_runs) cells->min_runs = held->runs;
  if (held->runs > cells->max_runs) cells->max_runs = held->runs;
  cells->split = cells->split || is_split(held);
  double spread = (held->high - held->low) / fabs(held->low);
  if (!held->serves || !held->priced || !isfinite(spread) || spread <= cells->spread) return;
  cells->spread = spread;
  cells->mix = mix;
  cells->condition = condition;
}

/* Writes " (8, 4, 4)": the numbers of runs of the cells of a row, if those of random cells differ; otherwise nothing.
   Returns `text`. */
static const char *uneven_row(const struct hr__robustness *robustness, const uint32_t *shown, uint32_t count,
                              uint32_t condition, char *text, size_t size) {
  uint32_t min = UINT32_MAX, max = 0;
  size_t used = 0;
  text[0] = '\0';
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t runs = robustness->mixes[shown[i]].held[condition].runs;
    if (runs < 2) continue;
    if (runs < min) min = runs;
    if (runs > max) max = runs;
  }
  for (uint32_t i = 0; i < count && max > min && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%" PRIu32 "%s", i ? ", " : " (",
                             robustness->mixes[shown[i]].held[condition].runs, i + 1 < count ? "" : ")");
  return text;
}

/* Lists the rows in which cells have different numbers of runs: 'What if' makes more runs of some mixes. */
static void put_uneven_rows(struct plan_page *page, const uint32_t *shown, uint32_t count) {
  const struct hr__robustness *robustness = &page->plan->robustness;
  char text[100], *rows = NULL;
  size_t bytes;
  FILE *out = open_memstream(&rows, &bytes);
  if (!out) return;
  for (uint32_t k = 0, n = 0; k < robustness->n_conditions; k++)
    if (uneven_row(robustness, shown, count, k, text, sizeof text)[0])
      fprintf(out, "%s%s%s", n++ ? ", " : "", robustness->conditions[k].name, text);
  if (fclose(out) == 0 && rows[0])
    hr__put_field(&page->console, "", "cells of a row have different numbers of runs in: %s", rows);
  free(rows);
}

/* Prints on how many runs the cells are based, and how much these runs differ. */
static void put_cells(struct plan_page *page) {
  const struct hr__robustness *robustness = &page->plan->robustness;
  uint32_t shown[HR__MAX_PRINTED_MIXES], count = hr__robustness_shown(robustness, page->plan->selection.zone, shown);
  struct cells cells = {0};
  char number[HR__NUMBER_BYTES], to[30] = "";
  for (uint32_t i = 0; i < count; i++) {
    const struct hr__tested_mix *mix = &robustness->mixes[shown[i]];
    count_cell(&mix->planned, column_name(i), "as planned", &cells);
    for (uint32_t k = 0; k < robustness->n_conditions; k++)
      count_cell(&mix->held[k], column_name(i), robustness->conditions[k].name, &cells);
  }
  if (cells.max_runs == 0) return;
  if (cells.max_runs > cells.min_runs) snprintf(to, sizeof to, " to %" PRIu32, cells.max_runs);
  hr__put_field(&page->console, "runs", "%" PRIu32 "%s for each random cell", cells.min_runs, to);
  if (cells.max_runs > cells.min_runs) put_uneven_rows(page, shown, count);
  if (cells.spread >= 0.0005)
    hr__put_field(&page->console, "", "the lowest and the highest of them differ by up to %s %% (%s, %s)",
                  hr__fixed_text(100 * cells.spread, 1, number), cells.condition, cells.mix);
  if (cells.split) hr__put_field(&page->console, "k/n", "k of n runs miss a goal that is not in dollars");
}

/* Prints the tested mixes under all conditions, as a table with a column for each mix. */
static void plan_page_put_conditions(struct plan_page *page) {
  const struct hr__robustness *robustness = &page->plan->robustness;
  uint32_t shown[HR__MAX_PRINTED_MIXES], count = hr__robustness_shown(robustness, page->plan->selection.zone, shown);
  if (robustness->n_conditions == 0) return;
  const uint32_t width = cell_width(page);
  fprintf(page->console.out, "\n%s%-*s", hr__bold(&page->console), name_width(count, width), "Holds under");
  for (uint32_t i = 0; i < count; i++) hr__put_right(page->console.out, column_name(i), width);
  fprintf(page->console.out, "%s\n", hr__plain(&page->console));
  bool starred = put_condition(page, width, "as planned", NULL);
  for (uint32_t k = 0; k < robustness->n_conditions; k++)
    starred = put_condition(page, width, robustness->conditions[k].name, &k) || starred;
  for (uint32_t i = 1; i < count; i++) {
    const struct hr__option option = {.candidate = robustness->mixes[shown[i]].candidate};
    char *words = mix_text(page, &option, false);
    if (words) hr__put_field(&page->console, column_name(i), "%s", words);
    free(words);
  }
  put_cells(page);
  if (starred) hr__put_field(&page->console, "*", "over the goal in dollars; all other goals are met");
  if (plan_page_minimizes_money(page) && !plan_page_per_month(page)[0]) {
    char name[1000];
    hr__put_field(&page->console, "in dollars", "%s of the run, not of a month",
                  hr__goals_objective_text(&page->plan->goals, name, sizeof name));
  }
  if (!page->plan->forecast && page->plan->demand.window_h >= FORECAST_DAYS * 24)
    hr__put_field(&page->console, "forecast",
                  "--forecast 3 plans for the forecast demand of the next 3 months instead");
}

/* ---- Text ------------------------------------------------------------------------------------------- */

enum { NAME_WIDTH = 24, COST_WIDTH = 25, CELL_WIDTH = 15, BOUND_WIDTH = 46, MAX_PARETO = 10 };

static void put_title(struct plan_page *page, const char *title) {
  fprintf(page->console.out, "\n%s%s%s\n", hr__bold(&page->console), title, hr__plain(&page->console));
}

/* Writes the estimate of a metric, with its interval in parentheses, to a buffer and returns the buffer. */
static const char *interval_text(const struct plan_page *page, const struct hr__option *option, size_t metric,
                                 char *text, size_t size) {
  const struct hr__interval *interval = &option->metrics[metric];
  char number[3][HR__METRIC_BYTES];
  enum hr_unit unit = plan_page_unit(page, metric);
  hr__metric_text(unit, hr__interval_centre(interval), number[0]);
  if (isnan(interval->low) || interval->low == interval->high)
    snprintf(text, size, "%s", number[0]);
  else
    snprintf(text, size, "%s (%s to %s)", number[0],
             hr__metric_text(unit, hr__interval_low(page->plan->goals.metrics[metric].id, interval), number[1]),
             hr__metric_text(unit, hr__interval_high(page->plan->goals.metrics[metric].id, interval), number[2]));
  return text;
}

/* ---- The answer ------------------------------------------------------------------------------------- */

static void put_head(struct plan_page *page) {
  const struct hr_plan *plan = page->plan;
  struct hr__console *console = &page->console;
  char text[2][1000], counts[HR__NUMBER_BYTES];
  hr__put_page_title(console, "plan for ", plan->config.scenario->name, HR__LINE_WIDTH - 20);
  if (plan_has_services_only(plan))
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
static void put_pool(struct plan_page *page, const struct hr_pool_spec *pool) {
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

static void put_metric(struct plan_page *page, const char *label, enum hr__metric id) {
  char text[200];
  size_t metric = hr__goals_find(&page->plan->goals, &(struct hr__scoped_metric){.id = id});
  if (metric == SIZE_MAX || page->plan->choice.metrics[metric].count == 0) return;
  hr__put_field(&page->console, label, "%s", interval_text(page, &page->plan->choice, metric, text, sizeof text));
}

/* Prints by how much the choice could be improved by candidates that were not evaluated, and how. */
static void put_improvable(struct plan_page *page) {
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
static void put_unpriced(struct plan_page *page, const struct hr_cluster_spec *cluster) {
  bool any_priced = false;
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    any_priced = any_priced || cluster->pools[i].market.market != HR_MARKET_NONE;
  for (uint32_t i = 0; i < cluster->n_pools && any_priced; i++)
    if (cluster->pools[i].nodes && cluster->pools[i].market.market == HR_MARKET_NONE)
      hr__put_field(&page->console, "", "without %s, which has no price", cluster->pools[i].name);
}

static void put_answer(struct plan_page *page) {
  const struct hr_plan *plan = page->plan;
  const struct hr_cluster_spec *cluster = &hr__runner_scenario(plan->runner, plan->choice.runner_id)->cluster;
  bool feasible = hr_plan_feasible(plan);
  if (feasible)
    put_title(page, "Buy");
  else if (plan->search.counts.not_evaluated)
    put_title(page, "No candidate that was evaluated meets the goals. The nearest:");
  else
    put_title(page, "No candidate meets the goals. The nearest:");
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
  plan_page_put_certainty(page);
  if (plan_has_services_only(plan)) return;
  put_metric(page, "mean wait", HR__M_WAIT_MEAN);
  put_metric(page, "p95 wait", HR__M_WAIT_P95);
  put_metric(page, "completed", HR__M_COMPLETED_SHARE);
  put_metric(page, "in use", HR__M_UTILIZATION_SUBMIT_WINDOW);
}

/* ---- Goals ------------------------------------------------------------------------------------------ */

/* Returns the remark on a goal that excluded a better candidate. */
static const char *binding_text(const struct plan_page *page, size_t goal) {
  if (hr__plan_is_at_bound(page->plan, goal)) return ", binds";
  return plan_page_minimizes_money(page) ? ", excluded a cheaper candidate" : ", excluded a better candidate";
}

static void put_goals(struct plan_page *page) {
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

/* ---- Alternatives ----------------------------------------------------------------------------------- */

/* Prints an indented line of text that belongs to an option. */
static void put_detail_line(struct plan_page *page, const char *words) {
  char *fitted = hr__fitted(&page->console, words, HR__LINE_WIDTH - 6, false);
  if (fitted) fprintf(page->console.out, "      %s%s%s\n", hr__dim(&page->console), fitted, hr__plain(&page->console));
  free(fitted);
}

/* Writes a metric to a buffer and returns the buffer. Adds the interval unless half its width is at most a millionth of
   the estimate. */
static const char *margin_text(const struct plan_page *page, const struct hr__option *option, size_t metric, char *text,
                               size_t size) {
  const struct hr__interval *interval = &option->metrics[metric];
  double half = (interval->high - interval->low) / 2;
  if (!isnan(half) && half > 1e-6 * fabs(hr__interval_centre(interval)))
    return interval_text(page, option, metric, text, size);
  hr__metric_text(plan_page_unit(page, metric), hr__interval_centre(interval), text);
  return text;
}

/* Prints the first two columns of an option. If they do not fit, the name has its own line. */
static void put_name_and_cost(struct plan_page *page, const char *name, const char *cost) {
  size_t taken = hr__width_of(name, strlen(name)), width = NAME_WIDTH + COST_WIDTH;
  bool fits = taken == 0 || taken + 1 + hr__width_of(cost, strlen(cost)) <= width;
  fprintf(page->console.out, fits ? "  %s" : "  %s\n  ", name);
  hr__put_right(page->console.out, cost, fits ? width - taken : width);
}

/* Prints name, cost, wait, and whether the goals are met. `with_mix`: prints the option's variables too. If `name` is
   empty and the variables are short enough, they are printed in its place, otherwise on a separate line. */
static void put_option(struct plan_page *page, const char *name, const struct hr__option *option, bool with_mix) {
  const struct hr_plan *plan = page->plan;
  char cost[3 * HR__METRIC_BYTES + 8], wait[HR__METRIC_BYTES];
  if (hr__plan_is_unpriced(plan, option->runner_id))
    snprintf(cost, sizeof cost, "no price");
  else
    margin_text(page, option, plan->pareto_cost, cost, sizeof cost);
  hr__metric_text(plan_page_unit(page, plan->pareto_wait), hr__interval_centre(&option->metrics[plan->pareto_wait]),
                  wait);
  char *words = with_mix ? mix_text(page, option, true) : NULL;
  bool in_row = words && !name[0] && strlen(words) < NAME_WIDTH;
  if (words && !name[0] && !in_row) put_detail_line(page, words);
  put_name_and_cost(page, in_row ? words : name, cost);
  hr__put_right(page->console.out, wait, CELL_WIDTH);
  fprintf(page->console.out, "  %s\n", option->violation == 0 ? "meets goals" : "misses goals");
  if (words && name[0]) put_detail_line(page, words);
  free(words);
}

static void put_columns(struct plan_page *page, const char *title) {
  const struct hr_plan *plan = page->plan;
  char wait[HR__SCOPED_METRIC_BYTES];
  hr__scoped_metric_name(&plan->goals.metrics[plan->pareto_wait], wait);
  char *fitted = hr__fitted(&page->console, wait, CELL_WIDTH - 1, false);
  fprintf(page->console.out, "\n%s%-*s%*s%*s%s\n", hr__bold(&page->console), NAME_WIDTH + 2, title, COST_WIDTH,
          "a month", CELL_WIDTH, fitted ? fitted : "", hr__plain(&page->console));
  free(fitted);
}

/* Whether both options exist and have equal variables. */
static bool is_same_mix(const struct plan_page *page, const struct hr__option *a, const struct hr__option *b) {
  if (a->runner_id == HR_NONE || b->runner_id == HR_NONE) return false;
  for (uint32_t i = 0; i < page->plan->space.n_axes; i++)
    if (strcmp(hr__option_text(page->plan, a, i), hr__option_text(page->plan, b, i)) != 0) return false;
  return true;
}

static const char *own_name(const struct plan_page *page) {
  return hr_plan_feasible(page->plan) ? "this plan" : "the nearest";
}

static void put_baselines(struct plan_page *page) {
  const struct hr_plan *plan = page->plan;
  if (plan->today.runner_id == HR_NONE && plan->all_on_demand.runner_id == HR_NONE) return;
  put_columns(page, "Compared");
  put_option(page, own_name(page), &plan->choice, false);
  bool same = is_same_mix(page, &plan->today, &plan->all_on_demand);
  if (plan->today.runner_id != HR_NONE) put_option(page, same ? "today, all on demand" : "today", &plan->today, true);
  if (plan->all_on_demand.runner_id != HR_NONE && !same) put_option(page, "all on demand", &plan->all_on_demand, true);
}

static void put_candidate(struct plan_page *page, const char *name, uint32_t candidate) {
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
static void put_pareto(struct plan_page *page) {
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
static void put_tighter_goal(const struct plan_page *page, const struct hr__tightening *tightening, char *text,
                             size_t size) {
  const struct hr__goal *goal = &page->plan->goals.goals[tightening->goal];
  char name[HR__SCOPED_METRIC_BYTES], bound[HR__METRIC_BYTES];
  enum hr_unit unit = plan_page_unit(page, goal->metric);
  hr__scoped_metric_name(&page->plan->goals.metrics[goal->metric], name);
  if (unit == HR_UNIT_SHARE)
    snprintf(bound, sizeof bound, "%.6g %%", 100 * tightening->bound);
  else
    hr__metric_text(unit, tightening->bound, bound);
  snprintf(text, size, "%.200s %s %s", name, goal->at_most ? "<=" : ">=", bound);
}

/* Whether the tightened goal costs nothing. A negative cost is smaller than the resolution of the search, and counts as
   no cost. */
static bool is_free(const struct plan_page *page, const struct hr__tightening *tightening) {
  const struct hr_plan *plan = page->plan;
  double own = hr__evaluator_evaluate(&plan->evaluator, plan->choice.candidate, plan->depth).objective;
  return tightening->candidate != HR_NONE && tightening->objective <= own;
}

/* Prints the cost of tighter goals. If several bounds of a goal cost nothing, only the tightest is printed. */
static void put_tightening(struct plan_page *page) {
  const struct hr_plan *plan = page->plan;
  double own = hr__evaluator_evaluate(&plan->evaluator, plan->choice.candidate, plan->depth).objective;
  bool of_money = plan_page_minimizes_money(page);
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
            tightening->candidate != HR_NONE && !is_free(page, tightening) ? plan_page_per_month(page) : "");
    free(fitted);
  }
}

static void put_sensitivity(struct plan_page *page) {
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

/* ---- Search statistics ------------------------------------------------------------------------------ */

/* Prints the demand, and the range of fixed capacity that pays off by prices alone (hr__bounds_bracket). */
static void put_demand(struct plan_page *page) {
  const struct hr_plan *plan = page->plan;
  char text[4][HR__NUMBER_BYTES], profitable[200] = "";
  hr__fixed_text(plan->bracket[0], 0, text[2]);
  hr__fixed_text(plan->bracket[1], 0, text[3]);
  bool one = strcmp(text[2], text[3]) == 0;
  if (plan_has_services_only(plan)) return;
  if (plan->bracket[0] > 0)
    snprintf(profitable, sizeof profitable, "; by prices alone, fixed capacity pays off up to %s%s%s GPUs", text[2],
             one ? "" : " to ", one ? "" : text[3]);
  hr__put_field(&page->console, "demand", "%s GPUs on average, %s at peak%s",
                hr__fixed_text(plan->demand.mean_gpus, 1, text[0]), hr__fixed_text(plan->demand.peak_gpus, 0, text[1]),
                profitable);
}

static void put_confidence(struct plan_page *page) {
  const struct hr_plan *plan = page->plan;
  bool of_money = plan_page_minimizes_money(page);
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

static void put_foot(struct plan_page *page, const struct hr_perf *perf) {
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
  struct plan_page page = {.console = {.out = out, .colour = colour}, .plan = plan};
  put_head(&page);
  put_answer(&page);
  put_goals(&page);
  plan_page_put_conditions(&page);
  put_baselines(&page);
  put_pareto(&page);
  put_tightening(&page);
  put_sensitivity(&page);
  put_foot(&page, perf);
  return hr__console_status(&page.console);
}
