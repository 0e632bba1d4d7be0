/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "plan/compare/compare_table.h"

#include "base/console.h"
#include "base/text.h"
#include "report/tables/policy_words.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *magnitude_text(enum hr__unit unit, double value, char *buffer) {
  switch (unit) {
  case HR__SECONDS:
    return hr__duration_text(value, buffer);
  case HR__FACTOR:
    return hr__factor_text(value, buffer);
  case HR__INDEX:
    return hr__fixed_text(value, 4, buffer);
  case HR__COUNT:
    return hr__fixed_text(value, value == floor(value) ? 0 : 1, buffer);
  case HR__GPU_HOURS:
    return hr__fixed_text(value, value < 1000 ? 1 : 0, buffer);
  case HR__SHARE:
    return hr__fixed_text(100 * value, 1, buffer);
  case HR__DOLLARS:
    return hr__usd_text((int64_t)llround(value * 1e6), buffer);
  }
  return strcpy(buffer, "");
}

const char *hr__figure_text(enum hr__unit unit, double value, char *buffer) {
  if (isnan(value)) return strcpy(buffer, "-");
  magnitude_text(unit, value, buffer);
  return unit == HR__SHARE ? strcat(buffer, " %") : buffer;
}

static const char *with_sign(enum hr__unit unit, const char *sign, double magnitude, char *buffer) {
  magnitude_text(unit, magnitude, stpcpy(buffer, sign));
  return unit == HR__SHARE ? strcat(buffer, " pts") : buffer;
}

const char *hr__difference_text(enum hr__unit unit, double difference, char *buffer) {
  if (isnan(difference)) return strcpy(buffer, "-");
  if (difference == 0) return strcpy(buffer, "=");
  return with_sign(unit, difference < 0 ? "-" : "+", fabs(difference), buffer);
}

const char *hr__margin_text(enum hr__unit unit, const struct hr_estimate *estimate, char *buffer) {
  if (isnan(estimate->low)) return strcpy(buffer, "-");
  return with_sign(unit, "\u00b1", (estimate->high - estimate->low) / 2, buffer);
}

/*
 * A comparison for a person, 80 columns wide: policies are rows, so that there may be any number of them, and figures
 * columns, in blocks. Below each policy stands how far it is from the first one and, where anything is random, half of
 * the interval's width.
 */

enum { NAME_WIDTH = 14, CELL_WIDTH = 12, MOST_COLUMNS = 5, GROUP_ROWS = 30, LEAST_GROUPS = 3 };

struct compare_table_table {
  struct hr__console console;
  const struct hr_comparison *comparison;
  char **title;  /* of each policy's rows */
  bool numbered; /* titles are cut, and begin with a number */
  char pending;  /* the mark behind the last cell, NUL before the first */
};

/* ---- Cells ------------------------------------------------------------------------------------------ */

/* No line ends in spaces: the mark of a cell is written by what follows it. */
static void put_cell(struct compare_table_table *table, const char *text, char mark) {
  size_t width = hr__width_of(text, strlen(text));
  if (table->pending) fputc(table->pending, table->console.out);
  fprintf(table->console.out, "%*s%s", (int)(width < CELL_WIDTH ? CELL_WIDTH - width : 0), "", text);
  table->pending = mark;
}

static void put_name(struct compare_table_table *table, const char *name) {
  size_t width = hr__width_of(name, strlen(name));
  fprintf(table->console.out, "%s%*s", name, (int)(width < NAME_WIDTH ? NAME_WIDTH - width : 0), "");
}

/* What is not random differs where it differs: marks would be everywhere. */
static char mark_of(const struct compare_table_table *table, const struct hr_estimate *estimate) {
  return estimate->significant && !table->comparison->exact ? '*' : ' ';
}

static void end_line(struct compare_table_table *table) {
  if (table->pending == '*') fputc('*', table->console.out);
  table->pending = '\0';
  fprintf(table->console.out, "%s\n", hr__plain(&table->console));
}

/* ---- What was run ----------------------------------------------------------------------------------- */

static void put_policies(struct compare_table_table *table) {
  const struct hr_compare_config *config = &table->comparison->config;
  for (uint32_t i = 0; i < config->n_contenders; i++) {
    const char *label = config->contenders[i].label;
    char *words = hr__policy_words(config->contenders[i].policy);
    if (!words) table->console.out_of_memory = true;
    if (words) hr__put_field(&table->console, i ? "" : "policies", "%s: %s", label, words);
    free(words);
  }
}

static void put_runs(struct compare_table_table *table) {
  const struct hr_comparison *comparison = table->comparison;
  if (comparison->exact)
    hr__put_field(&table->console, "runs",
                  "one of each policy: nothing in it is random, and every difference is exact");
  else if (comparison->n_replications == 1)
    hr__put_field(&table->console, "runs",
                  "one of each policy, of a scenario that is random: to tell what is significant, replications are "
                  "needed (--replications)");
  else
    hr__put_field(&table->console, "runs",
                  "%" PRIu32 " of each policy, each with random events of its own, the same "
                  "for all policies",
                  comparison->n_replications);
}

static void put_head(struct compare_table_table *table) {
  const struct hr_compare_config *config = &table->comparison->config;
  const struct hr_summary *summary = table->comparison->first_runs[0].summary;
  char gpus[HR__NUMBER_BYTES], nodes[HR__NUMBER_BYTES];
  struct hr__console *console = &table->console;
  char *name = hr__fitted(console, config->scenario->name, HR__LINE_WIDTH - 20, false);
  if (!name) return;
  fprintf(console->out, "%sHeadroom %s: %s%s\n\n", hr__bold(console), hr_version(), name, hr__plain(console));
  free(name);
  hr__put_field(console, "trace", "%s (%s)", config->trace->source, config->trace->format);
  hr__put_field(console, "cluster", "%s GPUs on %s node%s", hr__count_text(summary->gpus, gpus),
                hr__count_text(summary->nodes, nodes), summary->nodes == 1 ? "" : "s");
  hr__put_field(console, "seed", "%" PRIu64, config->scenario->seed);
  put_policies(table);
  put_runs(table);
}

/* ---- Blocks of figures ------------------------------------------------------------------------------ */

struct compare_table_block {
  enum hr__metric metric[MOST_COLUMNS];
  size_t count;
};

static void put_values(struct compare_table_table *table, const struct compare_table_block *block, uint32_t contender) {
  char text[HR__FIGURE_BYTES];
  put_name(table, table->title[contender]);
  for (size_t i = 0; i < block->count; i++) {
    struct hr_estimate estimate = hr__estimate(table->comparison, contender, block->metric[i]);
    put_cell(table, hr__figure_text(hr__metric_unit(&hr__metric_infos[block->metric[i]]), estimate.value, text), ' ');
  }
  end_line(table);
}

static void put_differences(struct compare_table_table *table, const struct compare_table_block *block,
                            uint32_t contender) {
  char text[HR__FIGURE_BYTES];
  fputs(hr__dim(&table->console), table->console.out);
  put_name(table, "  difference");
  for (size_t i = 0; i < block->count; i++) {
    struct hr_estimate estimate = hr__estimate(table->comparison, contender, block->metric[i]);
    put_cell(table,
             hr__difference_text(hr__metric_unit(&hr__metric_infos[block->metric[i]]), estimate.difference, text),
             mark_of(table, &estimate));
  }
  end_line(table);
}

/* No row where all intervals are of no width, and no cell where one is. */
static void put_margins(struct compare_table_table *table, const struct compare_table_block *block,
                        uint32_t contender) {
  char text[HR__FIGURE_BYTES];
  size_t count = 0; /* up to the last that has a width */
  for (size_t i = 0; i < block->count; i++) {
    struct hr_estimate estimate = hr__estimate(table->comparison, contender, block->metric[i]);
    if (estimate.high > estimate.low) count = i + 1;
  }
  if (count == 0) return;
  fputs(hr__dim(&table->console), table->console.out);
  put_name(table, "  95 % margin");
  for (size_t i = 0; i < count; i++) {
    struct hr_estimate estimate = hr__estimate(table->comparison, contender, block->metric[i]);
    bool wide = estimate.high > estimate.low;
    put_cell(table, wide ? hr__margin_text(hr__metric_unit(&hr__metric_infos[block->metric[i]]), &estimate, text) : "",
             ' ');
  }
  end_line(table);
}

static void put_block(struct compare_table_table *table, const char *name, const struct compare_table_block *block) {
  if (block->count == 0) return;
  fprintf(table->console.out, "\n%s", hr__bold(&table->console));
  put_name(table, name);
  for (size_t i = 0; i < block->count; i++) put_cell(table, hr__metric_infos[block->metric[i]].title, ' ');
  end_line(table);
  for (uint32_t i = 0; i < table->comparison->config.n_contenders; i++) {
    put_values(table, block, i);
    if (i == 0) continue;
    put_differences(table, block, i);
    put_margins(table, block, i);
  }
}

static void put_blocks(struct compare_table_table *table) {
  for (unsigned i = 0; i < HR__N_METRICS;) {
    const char *name = hr__metric_infos[i].block;
    struct compare_table_block block = {.count = 0};
    for (; i < HR__N_METRICS && strcmp(hr__metric_infos[i].block, name) == 0; i++)
      if (hr__has_metric(table->comparison, (enum hr__metric)i)) block.metric[block.count++] = (enum hr__metric)i;
    put_block(table, name, &block);
  }
}

/* ---- Tenants and classes ---------------------------------------------------------------------------- */

static void put_group(struct compare_table_table *table, const struct hr__group_table *groups, const char *name) {
  size_t place = hr__group_find(groups, name);
  char *shown = hr__fitted(&table->console, name[0] ? name : "(none)", NAME_WIDTH - 1, false);
  for (uint32_t i = 0; shown && place != SIZE_MAX && i < table->comparison->config.n_contenders; i++) {
    put_name(table, i ? "" : shown);
    put_name(table, table->title[i]);
    for (unsigned m = 0; m < HR__N_GROUP_METRICS; m++) {
      char text[HR__FIGURE_BYTES];
      struct hr_estimate estimate = hr__group_estimate(table->comparison, groups, i, place, (enum hr__group_metric)m);
      put_cell(table, hr__figure_text(hr__metric_unit(&hr__group_metric_infos[m]), estimate.value, text),
               mark_of(table, &estimate));
    }
    end_line(table);
  }
  free(shown);
}

/* As many as are read: with more policies, fewer. */
static void put_groups(struct compare_table_table *table, const struct hr__group_table *groups) {
  size_t count, most = GROUP_ROWS / table->comparison->config.n_contenders;
  const struct hr_group *of_first = groups->of(table->comparison->first_runs[0].summary, &count);
  char more[HR__NUMBER_BYTES];
  if (count == 0) return;
  if (most < LEAST_GROUPS) most = LEAST_GROUPS;
  fprintf(table->console.out, "\n%s", hr__bold(&table->console));
  put_name(table, groups->title);
  put_name(table, "policy");
  for (unsigned m = 0; m < HR__N_GROUP_METRICS; m++) put_cell(table, hr__group_metric_infos[m].title, ' ');
  end_line(table);
  for (size_t i = 0; i < count && i < most; i++) put_group(table, groups, of_first[i].name);
  if (count > most)
    fprintf(table->console.out, "%sand %s more%s\n", hr__dim(&table->console), hr__count_text(count - most, more),
            hr__plain(&table->console));
}

/* ---- The foot --------------------------------------------------------------------------------------- */

static void put_legend(const struct compare_table_table *table) {
  FILE *out = table->console.out;
  fprintf(out, "\n%s", hr__dim(&table->console));
  fputs("Differences are to the first policy; = stands for none.\n", out);
  if (table->comparison->n_replications > 1)
    fputs("* significant: the paired 95 % interval, difference -+ margin, leaves zero out.\n", out);
  fputs("jct: submit to end. rho: jct / that on an equal share of the cluster.\n", out);
  if (hr__has_metric(table->comparison, HR__STRANDED))
    fputs("F: of all GPUs, the part that is idle and of no use to a typical task.\n", out);
  fputs(hr__plain(&table->console), out);
}

static void put_speed(struct compare_table_table *table, const struct hr_perf *perf) {
  char text[3][HR__NUMBER_BYTES];
  const struct hr_comparison *comparison = table->comparison;
  uint64_t runs = (uint64_t)comparison->config.n_contenders * comparison->n_replications;
  uint32_t threads = comparison->config.n_threads < runs ? comparison->config.n_threads : (uint32_t)runs;
  if (perf && perf->sim_s > 0)
    hr__put_field(&table->console, "speed", "%s runs in %s s on %" PRIu32 " thread%s; trace read in %s s",
                  hr__count_text(runs, text[0]), hr__fixed_text(perf->sim_s, perf->sim_s < 0.1 ? 4 : 2, text[1]),
                  threads, threads == 1 ? "" : "s", hr__fixed_text(perf->load_s, 2, text[2]));
}

/* ---- Titles ----------------------------------------------------------------------------------------- */

static void titles_free(struct compare_table_table *table) {
  for (uint32_t i = 0; table->title && i < table->comparison->config.n_contenders; i++) free(table->title[i]);
  free(table->title);
}

static bool are_cut(const struct hr_compare_config *config) {
  for (uint32_t i = 0; i < config->n_contenders; i++)
    if (hr__width_of(config->contenders[i].label, strlen(config->contenders[i].label)) > NAME_WIDTH - 1) return true;
  return false;
}

/* A label, behind a number where any of them must be cut: then names do without their parameters, but of those of
   `queue` the last matter most, and of a path its end. */
static char *make_title(struct compare_table_table *table, uint32_t contender) {
  const char *label = table->comparison->config.contenders[contender].label;
  char number[16] = "", text[HR__FIGURE_BYTES * 2];
  if (table->numbered) snprintf(number, sizeof number, "%" PRIu32 " ", contender + 1);
  bool is_name = table->numbered && strncmp(label, "queue:", 6) != 0;
  char *name = strndup(label, is_name ? strcspn(label, ":") : strlen(label));
  if (!name) return NULL;
  char *shown =
      hr__fitted(&table->console, name, NAME_WIDTH - 1 - strlen(number), !is_name || strchr(name, '/') != NULL);
  free(name);
  if (!shown) return NULL;
  snprintf(text, sizeof text, "%s%s", number, shown);
  free(shown);
  return strdup(text);
}

static bool titles_make(struct compare_table_table *table) {
  const struct hr_compare_config *config = &table->comparison->config;
  table->numbered = are_cut(config);
  table->title = calloc(config->n_contenders, sizeof(*table->title));
  for (uint32_t i = 0; table->title && i < config->n_contenders; i++) {
    table->title[i] = make_title(table, i);
    if (!table->title[i]) return false;
  }
  return table->title != NULL;
}

enum hr_status hr_comparison_print(FILE *out, const struct hr_comparison *comparison, const struct hr_perf *perf,
                                   bool colour) {
  struct compare_table_table table = {.console = {.out = out, .colour = colour}, .comparison = comparison};
  bool good = titles_make(&table);
  if (good) {
    put_head(&table);
    put_blocks(&table);
    put_groups(&table, &comparison->groups[HR__CLASSES]);
    put_groups(&table, &comparison->groups[HR__TENANTS]);
    put_legend(&table);
    put_speed(&table, perf);
  }
  titles_free(&table);
  if (!good || table.console.out_of_memory) return HR_NO_MEMORY;
  return ferror(out) ? HR_IO_ERROR : HR_OK;
}
