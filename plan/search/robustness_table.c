/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the conditions on which the choice of a plan depends, and the results of the tested mixes under other
   conditions. */

#include "base/text.h"
#include "plan/search/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HOLDS_WIDTH = 28, CONDITION_WIDTH = 13, FORECAST_DAYS = 42, HELD_BYTES = HR__METRIC_BYTES + 45 };

/* The heading of the column of a printed mix. */
static const char *column_name(uint32_t shown) {
  static const char *const names[HR__MAX_PRINTED_MIXES] = {"this plan", "B", "C"};
  return shown < HR__MAX_PRINTED_MIXES ? names[shown] : "";
}

/* Writes the objective, or a difference of objectives, to a buffer of HR__METRIC_BYTES bytes. */
static const char *objective_text(const struct hr__plan_page *page, double value, bool difference, char *buffer) {
  enum hr_unit unit = hr__plan_page_minimizes_money(page) ? HR_UNIT_DOLLARS : HR_UNIT_FACTOR;
  return difference ? hr__difference_text(unit, value, buffer) : hr__metric_text(unit, value, buffer);
}

/* Returns the capacities of a mix that are above 0, and its settings. The caller frees the text. */
static char *mix_text(const struct hr__plan_page *page, uint32_t candidate) {
  const struct hr__option option = {.candidate = candidate};
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  const char *comma = "";
  for (uint32_t i = 0; i < page->plan->space.n_axes; i++) {
    const char *value = hr__option_text(page->plan, &option, i);
    if (page->plan->space.spec->variables[i].pools && strcmp(value, "0") == 0) continue;
    fprintf(out, "%s%s %s", comma, page->plan->space.spec->variables[i].axis.name, value);
    comma = ", ";
  }
  if (fclose(out) == 0) return text;
  free(text);
  return NULL;
}

/* The groups of conditions on which a choice may depend. */
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

/* Prints what the choice depends on: for each group of conditions, under how many of them it misses a goal. */
static void put_dependence(struct hr__plan_page *page) {
  const struct hr__robustness *robustness = &page->plan->robustness;
  const struct hr__tested_mix *mix = &robustness->mixes[0];
  const char *label = "depends on";
  for (uint32_t i = 0; i < robustness->n_conditions; i++) {
    const char *group = group_name(&robustness->conditions[i]), *example = NULL;
    uint32_t size = 0, missed = 0;
    for (uint32_t k = 0; k < robustness->n_conditions; k++) {
      if (strcmp(group_name(&robustness->conditions[k]), group) != 0) continue;
      if (k < i) break;
      size++;
      missed += !hr__held_meets(&mix->held[k]);
      if (!hr__held_meets(&mix->held[k]) && !example) example = robustness->conditions[k].name;
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
static bool costs_the_same(const struct hr__plan_page *page, const struct hr__tested_mix *mix) {
  double difference = mix->planned.objective - page->plan->robustness.mixes[0].planned.objective;
  return fabs(difference) <= page->plan->selection.zone;
}

/* Writes the additional cost of a mix, compared with the choice. `text` has 2 * HR__METRIC_BYTES bytes. */
static void write_more(const struct hr__plan_page *page, const struct hr__tested_mix *mix, char *text) {
  const struct hr__tested_mix *own = &page->plan->robustness.mixes[0];
  double difference = mix->planned.objective - own->planned.objective;
  char more[HR__METRIC_BYTES];
  if (fabs(difference) <= 1e-4 * fabs(own->planned.objective))
    snprintf(text, 2 * HR__METRIC_BYTES, "at the same cost");
  else
    snprintf(text, 2 * HR__METRIC_BYTES, "%s%s%s", objective_text(page, difference, true, more),
             hr__plan_page_per_month(page), costs_the_same(page, mix) ? " (within indifference)" : "");
}

/* Prints a mix that meets the goals under more conditions, and what it costs more. */
static void put_safer_mix(struct hr__plan_page *page, const char *label, const struct hr__tested_mix *mix) {
  const struct hr__robustness *robustness = &page->plan->robustness;
  const struct hr__tested_mix *own = &robustness->mixes[0];
  char more[2 * HR__METRIC_BYTES], over[80] = "", own_over[80] = "", *words = mix_text(page, mix->candidate);
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

/* Prints the safer mixes; `same_cost` selects those that cost as much as the choice, or the others. */
static void put_safer(struct hr__plan_page *page, bool same_cost) {
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

/* Prints, for each commitment, how much of it is at risk if less is needed. */
static void put_commitment(struct hr__plan_page *page, const struct hr__commitment *commitment) {
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

void hr__plan_page_put_certainty(struct hr__plan_page *page) {
  const struct hr__robustness *robustness = &page->plan->robustness;
  if (robustness->n_conditions == 0) return;
  put_safer(page, true);
  put_dependence(page);
  put_safer(page, false);
  for (uint32_t i = 0; i < robustness->n_commitments; i++) put_commitment(page, &robustness->commitments[i]);
  if (!hr__plan_has_services_only(page->plan)) fputc('\n', page->console.out);
}

/* Whether some runs meet the goals that are not in dollars, and others do not. */
static bool is_split(const struct hr__held *held) {
  return held->missed > 0 && held->missed < held->runs;
}

/* Writes the objective, with a star if a goal in dollars is missed. If another goal is missed, writes "misses" instead.
   If only some runs miss such a goal, adds their number. `buffer` has HELD_BYTES bytes. */
static const char *held_text(const struct hr__plan_page *page, const struct hr__held *held, char *buffer) {
  char objective[HR__METRIC_BYTES] = "no price", split[40] = "";
  if (held->priced) objective_text(page, held->objective, false, objective);
  if (is_split(held)) snprintf(split, sizeof split, " %" PRIu32 "/%" PRIu32, held->missed, held->runs);
  snprintf(buffer, HELD_BYTES, "%s%s%s", held->serves ? objective : "misses",
           held->serves && held->violation > 0 ? "*" : "", split);
  return buffer;
}

/* The width of a column: that of the widest cell. */
static uint32_t cell_width(const struct hr__plan_page *page) {
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

/* The width of the column of names: what `count` columns of this width leave of the line. */
static int name_width(uint32_t count, uint32_t width) {
  enum { MIN_WIDTH = 16 };
  int left = HR__LINE_WIDTH - (int)(count * width);
  return left > HOLDS_WIDTH ? HOLDS_WIDTH : left < MIN_WIDTH ? MIN_WIDTH : left;
}

/* Prints a row of the table of conditions: the mixes as planned or, with a condition, under it. */
static bool put_condition(struct hr__plan_page *page, uint32_t width, const char *name, const uint32_t *condition) {
  const struct hr__robustness *robustness = &page->plan->robustness;
  uint32_t shown[HR__MAX_PRINTED_MIXES], count = hr__robustness_shown(robustness, page->plan->selection.zone, shown);
  char text[HELD_BYTES], *fitted = hr__fitted(&page->console, name, (size_t)name_width(count, width) - 3, false);
  bool starred = false;
  fprintf(page->console.out, "  %-*s", name_width(count, width) - 2, fitted ? fitted : "");
  free(fitted);
  for (uint32_t i = 0; i < count; i++) {
    const struct hr__tested_mix *mix = &robustness->mixes[shown[i]];
    const struct hr__held *held = condition ? &mix->held[*condition] : &mix->planned;
    hr__plan_page_put_right(page, held_text(page, held, text), width);
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

/* Writes " (8, 4, 4)": the runs of the cells of a row, if random cells differ; otherwise nothing. Returns `text`. */
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
static void put_uneven_rows(struct hr__plan_page *page, const uint32_t *shown, uint32_t count) {
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
static void put_cells(struct hr__plan_page *page) {
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

/* Prints a table with a column for each mix. */
void hr__plan_page_put_conditions(struct hr__plan_page *page) {
  const struct hr__robustness *robustness = &page->plan->robustness;
  uint32_t shown[HR__MAX_PRINTED_MIXES], count = hr__robustness_shown(robustness, page->plan->selection.zone, shown);
  if (robustness->n_conditions == 0) return;
  const uint32_t width = cell_width(page);
  fprintf(page->console.out, "\n%s%-*s", hr__bold(&page->console), name_width(count, width), "Holds under");
  for (uint32_t i = 0; i < count; i++) hr__plan_page_put_right(page, column_name(i), width);
  fprintf(page->console.out, "%s\n", hr__plain(&page->console));
  bool starred = put_condition(page, width, "as planned", NULL);
  for (uint32_t k = 0; k < robustness->n_conditions; k++)
    starred = put_condition(page, width, robustness->conditions[k].name, &k) || starred;
  for (uint32_t i = 1; i < count; i++) {
    char *words = mix_text(page, robustness->mixes[shown[i]].candidate);
    if (words) hr__put_field(&page->console, column_name(i), "%s", words);
    free(words);
  }
  put_cells(page);
  if (starred) hr__put_field(&page->console, "*", "over the goal in dollars; all other goals are met");
  if (hr__plan_page_minimizes_money(page) && !hr__plan_page_per_month(page)[0]) {
    char name[1000];
    hr__put_field(&page->console, "in dollars", "%s of the run, not of a month",
                  hr__goals_objective_text(&page->plan->goals, name, sizeof name));
  }
  if (!page->plan->forecast && page->plan->demand.window_h >= FORECAST_DAYS * 24)
    hr__put_field(&page->console, "forecast",
                  "--forecast 3 plans for the forecast demand of the next 3 months instead");
}
