/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Output of a comparison: a table for a terminal, CSV, JSON and Markdown, and the titles of the policies.
 *
 * The table is 80 columns wide. Policies are rows, so their number is not limited. Metrics are columns, grouped in
 * blocks. Below each policy are its differences from the first policy and, in random scenarios, half the width of the
 * intervals of these differences. The CSV has one row for each policy, group and metric, and unknown values are empty.
 * The JSON follows docs/reference/schemas/compare.schema.json.
 */

#include "base/output_file.h"
#include "base/text.h"
#include "headroom/unstable/replay.h"
#include "plan/compare/compare.h"
#include "report/exports/exports.h"
#include "report/tables/tables.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Titles -------------------------------------------------------------------------------------------- */

/*
 * Titles of policies in tables: what distinguishes each policy from the others.
 *
 * A label is NAME or NAME:KEY=VALUE,... as the user wrote it. Parameters that all policies of the same name have are
 * omitted. The name is omitted if all policies have the same name. The key is omitted if all policies differ only in
 * the value of one key. Of a path to a shared object, the folder and the suffix are omitted. A label that the user
 * chose is used as it is. If two titles were equal, all policies have their labels as titles.
 *
 * In a table, titles have a width. If they do not fit, they are shortened: first the name of a policy with parameters
 * is omitted, then keys whose values are words, and at last the text is cut. The heading explains shortened titles.
 */

/* ---- Titles: parts of a label ----------------------------------------------------------------------- */

/* A piece of a text: a name, or "KEY=VALUE". */
struct title_piece {
  const char *at;
  size_t length;
};

static struct title_piece name_of(const char *label) {
  size_t length = strcspn(label, ":"), from = 0;
  for (size_t i = 0; i < length; i++)
    if (label[i] == '/') from = i + 1;
  struct title_piece name = {label + from, length - from};
  if (name.length > 3 && name.at != label && strncmp(name.at + name.length - 3, ".so", 3) == 0) name.length -= 3;
  return name;
}

/* Sets `piece` to the next parameter of the label. Before the first call, `piece` must be zero. Returns false at the
   end. */
static bool next_param(const char *label, struct title_piece *piece) {
  const char *at = piece->at ? piece->at + piece->length : label + strcspn(label, ":");
  if (*at == '\0') return false;
  *piece = (struct title_piece){at + 1, strcspn(at + 1, ",")};
  return true;
}

static bool same_piece(struct title_piece a, struct title_piece b) {
  return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

static bool has_param(const char *label, struct title_piece param) {
  struct title_piece piece = {0};
  while (next_param(label, &piece))
    if (same_piece(piece, param)) return true;
  return false;
}

/* ---- Titles: what the policies have in common ------------------------------------------------------- */

struct titles {
  const struct hr_contender *contenders;
  uint32_t count;
  bool same_names; /* all policies without a chosen label have the same name */
  bool one_key;    /* all of these differ in the value of one key only */
};

/* Whether all policies with the name of this one have the parameter. A parameter of the only policy with its name is
   not common, unless it is the only policy without a chosen label. */
static bool is_common(const struct titles *titles, const char *label, struct title_piece param) {
  bool has_peer = titles->same_names;
  for (uint32_t i = 0; i < titles->count; i++) {
    const struct hr_contender *other = &titles->contenders[i];
    if (other->labelled || !same_piece(name_of(other->label), name_of(label))) continue;
    if (!has_param(other->label, param)) return false;
    has_peer = has_peer || other->label != label;
  }
  return has_peer;
}

/* The only parameter that distinguishes a policy; its length is 0 if there are none or several. */
static struct title_piece only_param(const struct titles *titles, const char *label) {
  struct title_piece piece = {0}, found = {"", 0};
  while (next_param(label, &piece)) {
    if (is_common(titles, label, piece)) continue;
    if (found.length) return (struct title_piece){"", 0};
    found = piece;
  }
  return found;
}

static struct title_piece key_of(struct title_piece param) {
  const char *equals = param.length ? memchr(param.at, '=', param.length) : NULL;
  return (struct title_piece){param.at, equals ? (size_t)(equals - param.at) : 0};
}

static void find_common(struct titles *titles) {
  const char *first = NULL;
  titles->same_names = true;
  for (uint32_t i = 0; i < titles->count; i++) {
    const struct hr_contender *self = &titles->contenders[i];
    if (self->labelled) continue;
    if (!first) first = self->label;
    titles->same_names = titles->same_names && same_piece(name_of(self->label), name_of(first));
  }
  titles->one_key = titles->same_names;
  for (uint32_t i = 0; i < titles->count && titles->one_key; i++) {
    const struct hr_contender *self = &titles->contenders[i];
    struct title_piece key = self->labelled ? (struct title_piece){"", 0} : key_of(only_param(titles, self->label));
    titles->one_key = self->labelled || (key.length && same_piece(key, key_of(only_param(titles, first))));
  }
}

/* ---- Titles: whole titles --------------------------------------------------------------------------- */

static void put_piece(FILE *out, struct title_piece piece) {
  fwrite(piece.at, 1, piece.length, out);
}

/* How much of a title is written. */
enum title_form {
  TITLE_WHOLE,  /* the name, unless all policies have the same one, and the parameters that are not common */
  TITLE_PARAMS, /* without the name, if there are such parameters */
  TITLE_VALUES, /* of parameters with words as values, only the values */
  N_TITLE_FORMS
};

/* Whether a value is clear without its key: it is a word, neither a number nor true nor false. */
static bool is_word(struct title_piece value) {
  static const struct title_piece yes = {"true", 4}, no = {"false", 5};
  bool is_letter = value.length && ((value.at[0] | 32) >= 'a' && (value.at[0] | 32) <= 'z');
  return is_letter && !same_piece(value, yes) && !same_piece(value, no);
}

static struct title_piece value_of(struct title_piece param) {
  size_t key = key_of(param).length;
  return key ? (struct title_piece){param.at + key + 1, param.length - key - 1} : param;
}

static void put_param(FILE *out, struct title_piece param, enum title_form form) {
  struct title_piece value = value_of(param);
  put_piece(out, form == TITLE_VALUES && is_word(value) ? value : param);
}

static void put_title(FILE *out, const struct titles *titles, const char *label, enum title_form form) {
  struct title_piece piece = {0};
  bool named = !titles->same_names && form == TITLE_WHOLE;
  const char *separator = named ? ":" : "";
  if (titles->one_key) {
    put_piece(out, value_of(only_param(titles, label)));
    return;
  }
  if (named) put_piece(out, name_of(label));
  bool any = named;
  while (next_param(label, &piece)) {
    if (is_common(titles, label, piece)) continue;
    fputs(separator, out);
    put_param(out, piece, form);
    separator = ",";
    any = true;
  }
  if (!any) put_piece(out, name_of(label));
}

static char *make_title(const struct titles *titles, uint32_t contender, enum title_form form) {
  const struct hr_contender *self = &titles->contenders[contender];
  char *text = NULL;
  size_t size = 0;
  if (self->labelled || (titles->count == 1 && form == TITLE_WHOLE)) return strdup(self->label);
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  put_title(out, titles, self->label, form);
  return hr__stream_text(out, &text);
}

static bool are_distinct(char *const *texts, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t k = 0; k < i; k++)
      if (strcmp(texts[i], texts[k]) == 0) return false;
  return true;
}

/* Calls `make` for each text. Returns NULL when out of memory. */
static char **make_all(uint32_t count, char *(*make)(const void *self, uint32_t index), const void *self) {
  char **texts = calloc((size_t)count + 1, sizeof *texts);
  for (uint32_t i = 0; texts && i < count; i++) {
    texts[i] = make(self, i);
    if (texts[i]) continue;
    hr__compare_titles_free(texts, count);
    return NULL;
  }
  return texts;
}

/* The titles of all policies in one form. */
struct titles_in_form {
  const struct titles *titles;
  enum title_form form;
};

static char *title_at(const void *self, uint32_t index) {
  const struct titles_in_form *all = self;
  return make_title(all->titles, index, all->form);
}

static char *label_at(const void *self, uint32_t index) {
  const struct titles *titles = self;
  return strdup(titles->contenders[index].label);
}

char **hr__compare_titles(const struct hr_contender *contenders, uint32_t count) {
  struct titles titles = {.contenders = contenders, .count = count};
  find_common(&titles);
  char **texts = make_all(count, title_at, &(struct titles_in_form){&titles, TITLE_WHOLE});
  if (!texts || are_distinct(texts, count)) return texts;
  hr__compare_titles_free(texts, count);
  return make_all(count, label_at, &titles);
}

/* ---- Titles: short titles --------------------------------------------------------------------------- */

enum title_cut { CUT_END, CUT_BEGIN, CUT_MIDDLE, CUT_NUMBERED };

struct short_titles {
  char *const *titles;
  size_t width;
  enum title_cut cut;
};

static char *joined(const char *begin, const char *end) {
  char *text = malloc(strlen(begin) + strlen(end) + 1);
  if (text) strcat(strcpy(text, begin), end);
  return text;
}

char *hr__cut_middle(struct hr__console *console, const char *text, size_t head, size_t tail) {
  enum { DOTS = 3 };
  char *begin = hr__fitted(console, text, head, false), *end = hr__fitted(console, text, tail + DOTS, true);
  char *cut = begin && end ? joined(begin, end + DOTS) : NULL;
  console->out_of_memory = console->out_of_memory || !cut;
  free(begin);
  free(end);
  return cut;
}

static char *short_at(const void *self, uint32_t index) {
  const struct short_titles *all = self;
  struct hr__console console = {0};
  const char *title = all->titles[index];
  char number[16] = "";
  bool fits = hr__width_of(title, strlen(title)) <= all->width;
  if (all->cut == CUT_MIDDLE && !fits) {
    size_t tail = (all->width - 3) / 2;
    return hr__cut_middle(&console, title, all->width - tail, tail);
  }
  if (all->cut == CUT_NUMBERED) snprintf(number, sizeof number, "%" PRIu32 " ", index + 1);
  char *shown = hr__fitted(&console, title, all->width - strlen(number), all->cut == CUT_BEGIN);
  char *text = shown ? joined(number, shown) : NULL;
  free(shown);
  return text;
}

static bool are_narrow(char *const *texts, uint32_t count, size_t width) {
  for (uint32_t i = 0; i < count; i++)
    if (hr__width_of(texts[i], strlen(texts[i])) > width) return false;
  return true;
}

static char *copy_at(const void *self, uint32_t index) {
  char *const *texts = self;
  return strdup(texts[index]);
}

/* Tries several ways to cut the titles, and uses the first one after which they are distinct. If none is found and
   `numbers` is set, the titles get numbers. Sets `cells` on success. False: out of memory. */
static bool cut_titles(struct hr__short_titles *titles, uint32_t count, size_t width, bool numbers) {
  struct short_titles all = {titles->heads, width, CUT_END};
  for (; all.cut <= (numbers ? CUT_NUMBERED : CUT_MIDDLE); all.cut++) {
    char **texts = make_all(count, short_at, &all);
    if (!texts) return false;
    titles->numbered = all.cut == CUT_NUMBERED;
    if (titles->numbered || are_distinct(texts, count)) {
      titles->cells = texts;
      return true;
    }
    hr__compare_titles_free(texts, count);
  }
  return true;
}

/* Makes the titles in one form. Sets `cells` and `heads` if they are distinct and if the cells are narrow or may be
   cut. False: out of memory. */
static bool try_form(struct hr__short_titles *short_titles, const struct titles *titles, char *const *whole,
                     enum title_form form, size_t width, bool cut) {
  uint32_t count = titles->count;
  struct titles_in_form in_form = {titles, form};
  char **heads = form == TITLE_WHOLE ? make_all(count, copy_at, whole) : make_all(count, title_at, &in_form);
  if (!heads) return false;
  short_titles->heads = heads;
  bool ok = true;
  if (are_narrow(heads, count, width) && are_distinct(heads, count))
    ok = (short_titles->cells = make_all(count, copy_at, heads)) != NULL;
  else if (cut && (form == TITLE_WHOLE || are_distinct(heads, count)))
    ok = cut_titles(short_titles, count, width, form == TITLE_WHOLE);
  if (ok && short_titles->cells) return true;
  hr__compare_titles_free(heads, count);
  short_titles->heads = NULL;
  return ok;
}

/* Tries all forms without cuts, from the longest to the shortest. Then tries all forms with cuts, from the shortest to
   the longest. */
bool hr__compare_short_titles(const struct hr_contender *contenders, char *const *whole, uint32_t count, size_t width,
                              struct hr__short_titles *short_titles) {
  struct titles titles = {.contenders = contenders, .count = count};
  *short_titles = (struct hr__short_titles){0};
  find_common(&titles);
  bool ok = true;
  for (int form = 0; form < N_TITLE_FORMS && ok && !short_titles->cells; form++)
    ok = try_form(short_titles, &titles, whole, (enum title_form)form, width, false);
  for (int form = N_TITLE_FORMS; form-- > 0 && ok && !short_titles->cells;)
    ok = try_form(short_titles, &titles, whole, (enum title_form)form, width, true);
  return ok;
}

/* ---- Table ------------------------------------------------------------------------------------------ */

enum { NAME_WIDTH = 14, CELL_WIDTH = 12, MAX_COLUMNS = 5, GROUP_ROWS = 30, MIN_GROUPS = 3 };

struct compare_terminal {
  struct hr__console console;
  const struct hr_comparison *comparison;
  struct hr__short_titles titles; /* of the rows */
  char pending;                   /* mark to print behind the last cell; NUL: no cell was printed */
};

/* ---- Table: cells ----------------------------------------------------------------------------------- */

/* Prints a cell. Its mark is printed only when the next cell follows, so that no line ends in spaces. */
static void put_cell(struct compare_terminal *table, const char *text, char mark) {
  if (table->pending) fputc(table->pending, table->console.out);
  hr__put_right(table->console.out, text, CELL_WIDTH);
  table->pending = mark;
}

/* The mark of a significant difference. If the scenario is deterministic, every difference is significant and none is
   marked. */
static char mark_of(const struct compare_terminal *table, const struct hr_estimate *estimate) {
  return estimate->significant && !table->comparison->exact ? '*' : ' ';
}

static void end_line(struct compare_terminal *table) {
  if (table->pending == '*') fputc('*', table->console.out);
  table->pending = '\0';
  fprintf(table->console.out, "%s\n", hr__plain(&table->console));
}

/* ---- Table: heading --------------------------------------------------------------------------------- */

static void put_policies(struct compare_terminal *table) {
  const struct hr_compare_config *config = &table->comparison->config;
  for (uint32_t i = 0; i < config->n_contenders; i++) {
    char number[16] = "", *text = hr__policy_words(config->contenders[i].policy);
    if (table->titles.numbered) snprintf(number, sizeof number, "%" PRIu32 " ", i + 1);
    if (!text) table->console.out_of_memory = true;
    if (text) hr__put_field(&table->console, i ? "" : "policies", "%s%s: %s", number, table->titles.heads[i], text);
    free(text);
  }
}

static void put_runs(struct compare_terminal *table) {
  const struct hr_comparison *comparison = table->comparison;
  if (comparison->exact)
    hr__put_field(&table->console, "runs",
                  "one of each policy: the scenario is deterministic, and differences are exact");
  else if (comparison->n_replications == 1)
    hr__put_field(&table->console, "runs",
                  "one of each policy, in a random scenario: significance is unknown without replications "
                  "(--replications)");
  else if (comparison->config.n_contenders > 1 && !hr__compare_has_intervals(comparison))
    hr__put_field(&table->console, "runs",
                  "%" PRIu32 " of each policy, all identical: differences are those of one run, without an interval",
                  comparison->n_replications);
  else
    hr__put_field(&table->console, "runs",
                  "%" PRIu32 " of each policy, each with its own %s, which are the same for all policies",
                  comparison->n_replications, comparison->redrawn ? "workload and random events" : "random events");
}

static void put_head(struct compare_terminal *table) {
  const struct hr_compare_config *config = &table->comparison->config;
  const struct hr_summary *summary = table->comparison->first_runs[0].summary;
  char gpus[HR__NUMBER_BYTES], nodes[HR__NUMBER_BYTES];
  struct hr__console *console = &table->console;
  hr__put_page_title(console, "", config->scenario->name, HR__LINE_WIDTH - 20);
  hr__put_field(console, "trace", "%s (%s)", config->trace->source, config->trace->format);
  hr__put_field(console, "cluster", "%s GPUs on %s node%s", hr__count_text(summary->gpus, gpus),
                hr__count_text(summary->nodes, nodes), summary->nodes == 1 ? "" : "s");
  hr__put_field(console, "seed", "%" PRIu64, config->scenario->seed);
  put_policies(table);
  put_runs(table);
}

/* ---- Table: blocks of metrics ----------------------------------------------------------------------- */

struct compare_block {
  const struct hr__compare_column *column[MAX_COLUMNS];
  size_t count;
};

/* Prints half the width of each interval. The cell of an interval of width 0 is empty. If all cells are empty, the row
   is omitted. */
enum compare_row { ROW_VALUES, ROW_DIFFERENCES, ROW_MARGINS };

static const char *cell_text(enum compare_row row, enum hr_unit unit, const struct hr_estimate *estimate, char *text) {
  if (row == ROW_VALUES) return hr__metric_text(unit, estimate->value, text);
  if (row == ROW_DIFFERENCES) return hr__difference_text(unit, estimate->difference, text);
  return estimate->high > estimate->low ? hr__margin_text(unit, estimate->low, estimate->high, text) : "";
}

/* Prints the first `count` columns of a row. */
static void put_row(struct compare_terminal *table, const struct compare_block *block, size_t count, uint32_t contender,
                    enum compare_row row) {
  static const char *const names[] = {[ROW_DIFFERENCES] = "  difference", [ROW_MARGINS] = "  95 % margin"};
  char text[HR__METRIC_BYTES];
  if (row != ROW_VALUES) fputs(hr__dim(&table->console), table->console.out);
  hr__put_left(table->console.out, row == ROW_VALUES ? table->titles.cells[contender] : names[row], NAME_WIDTH);
  for (size_t i = 0; i < count; i++) {
    enum hr__metric metric = block->column[i]->metric;
    struct hr_estimate estimate = hr__compare_estimate(table->comparison, contender, metric);
    put_cell(table, cell_text(row, hr__metric_rows[metric].unit, &estimate, text),
             row == ROW_DIFFERENCES ? mark_of(table, &estimate) : ' ');
  }
  end_line(table);
}

/* Returns the number of columns up to the last one that has a margin. */
static size_t count_margins(const struct compare_terminal *table, const struct compare_block *block,
                            uint32_t contender) {
  size_t count = block->count;
  for (; count > 0; count--) {
    struct hr_estimate estimate = hr__compare_estimate(table->comparison, contender, block->column[count - 1]->metric);
    if (estimate.high > estimate.low) break;
  }
  return count;
}

static void put_block(struct compare_terminal *table, const char *name, const struct compare_block *block) {
  if (block->count == 0) return;
  fprintf(table->console.out, "\n%s", hr__bold(&table->console));
  hr__put_left(table->console.out, name, NAME_WIDTH);
  for (size_t i = 0; i < block->count; i++) put_cell(table, block->column[i]->title, ' ');
  end_line(table);
  for (uint32_t i = 0; i < table->comparison->config.n_contenders; i++) {
    put_row(table, block, block->count, i, ROW_VALUES);
    if (i == 0) continue;
    size_t n_margins = count_margins(table, block, i);
    put_row(table, block, block->count, i, ROW_DIFFERENCES);
    if (n_margins) put_row(table, block, n_margins, i, ROW_MARGINS);
  }
}

static void put_blocks(struct compare_terminal *table) {
  for (const struct hr__compare_column *at = hr__compare_columns; at->block;) {
    const char *name = at->block;
    struct compare_block block = {.count = 0};
    for (; at->block && strcmp(at->block, name) == 0; at++)
      if (hr__compare_has_metric(table->comparison, at->metric)) block.column[block.count++] = at;
    put_block(table, name, &block);
  }
}

/* ---- Table: tenants and classes --------------------------------------------------------------------- */

static void put_group(struct compare_terminal *table, const struct hr__group_table *groups, const char *name) {
  size_t index = hr__compare_find_group(groups, name);
  char *shown = hr__fitted(&table->console, name[0] ? name : "(none)", NAME_WIDTH - 1, false);
  for (uint32_t i = 0; shown && index != SIZE_MAX && i < table->comparison->config.n_contenders; i++) {
    hr__put_left(table->console.out, i ? "" : shown, NAME_WIDTH);
    hr__put_left(table->console.out, table->titles.cells[i], NAME_WIDTH);
    for (unsigned m = 0; m < HR__N_COMPARE_GROUP_METRICS; m++) {
      char text[HR__METRIC_BYTES];
      struct hr_estimate estimate = hr__compare_group_estimate(table->comparison, groups, i, index, m);
      put_cell(table, hr__metric_text(hr__metric_rows[groups->columns[m].metric].unit, estimate.value, text),
               mark_of(table, &estimate));
    }
    end_line(table);
  }
  free(shown);
}

/* Prints the groups. The number of rows is limited, so with more policies fewer groups are printed. */
static void put_groups(struct compare_terminal *table, const struct hr__group_table *groups) {
  const struct hr_summary *first = table->comparison->first_runs[0].summary;
  const size_t count = hr__compare_group_count(groups, first);
  size_t max_groups = GROUP_ROWS / table->comparison->config.n_contenders;
  char more[HR__NUMBER_BYTES];
  if (count == 0) return;
  if (max_groups < MIN_GROUPS) max_groups = MIN_GROUPS;
  fprintf(table->console.out, "\n%s", hr__bold(&table->console));
  hr__put_left(table->console.out, groups->title, NAME_WIDTH);
  hr__put_left(table->console.out, "policy", NAME_WIDTH);
  for (unsigned m = 0; m < HR__N_COMPARE_GROUP_METRICS; m++) put_cell(table, groups->columns[m].title, ' ');
  end_line(table);
  for (size_t i = 0; i < count && i < max_groups; i++)
    put_group(table, groups, hr__compare_group_name(groups, first, i));
  if (count > max_groups)
    fprintf(table->console.out, "%sand %s more%s\n", hr__dim(&table->console), hr__count_text(count - max_groups, more),
            hr__plain(&table->console));
}

/* ---- Table: legend ---------------------------------------------------------------------------------- */

static void put_legend(const struct compare_terminal *table) {
  FILE *out = table->console.out;
  fprintf(out, "\n%s", hr__dim(&table->console));
  fputs("Differences are from the first policy; = means no difference.\n", out);
  if (hr__compare_has_intervals(table->comparison))
    fputs("* significant: the paired 95 % interval, difference -+ margin, excludes zero.\n", out);
  fputs("util. submit, total: utilization to the last submission, to the last job's end.\n", out);
  fputs("jct: submit to end. rho: finish-time fairness, jct / jct on an equal share.\n", out);
  if (hr__compare_has_metric(table->comparison, HR__M_STRANDED))
    fputs("F: share of GPUs that are idle and too fragmented for a typical task.\n", out);
  fputs(hr__plain(&table->console), out);
}

static void put_speed(struct compare_terminal *table, const struct hr_perf *perf) {
  const struct hr_comparison *comparison = table->comparison;
  uint64_t runs = (uint64_t)comparison->config.n_contenders * comparison->n_replications;
  uint32_t threads = comparison->config.n_threads < runs ? comparison->config.n_threads : (uint32_t)runs;
  if (perf) hr__put_speed(&table->console, runs, threads, perf->sim_s, perf->load_s);
}

/* ---- Table: all of it ------------------------------------------------------------------------------- */

enum hr_status hr_comparison_print(FILE *out, const struct hr_comparison *comparison, const struct hr_perf *perf,
                                   bool colour) {
  struct compare_terminal table = {.console = {.out = out, .colour = colour}, .comparison = comparison};
  uint32_t count = comparison->config.n_contenders;
  bool titled =
      hr__compare_short_titles(comparison->config.contenders, comparison->titles, count, NAME_WIDTH - 1, &table.titles);
  if (titled) {
    put_head(&table);
    put_blocks(&table);
    for (size_t i = 0; i < HR__N_GROUP_TABLES; i++) put_groups(&table, &comparison->groups[i]);
    put_legend(&table);
    put_speed(&table, perf);
  }
  hr__compare_short_titles_finish(&table.titles, count);
  return titled ? hr__console_status(&table.console) : HR_NO_MEMORY;
}

/* ---- CSV -------------------------------------------------------------------------------------------- */

static void put_number(struct hr__csv_out *out, double value) {
  char buffer[HR__NUMBER_BYTES];
  hr__csv_text(out, isnan(value) ? "" : hr__decimal_text(value, buffer));
}

static void csv_put_estimate(struct hr__csv_out *out, const char *policy, const char *group, const char *name,
                             const char *metric, const struct hr_estimate *estimate) {
  hr__csv_text(out, policy);
  hr__csv_text(out, group);
  hr__csv_text(out, name);
  hr__csv_text(out, metric);
  put_number(out, estimate->value);
  put_number(out, estimate->difference);
  put_number(out, estimate->low);
  put_number(out, estimate->high);
  hr__csv_text(out, isnan(estimate->low) ? "" : estimate->significant ? "true" : "false");
  hr__csv_end_row(out);
}

static void csv_put_groups(struct hr__csv_out *out, const struct hr_comparison *comparison,
                           const struct hr__group_table *table, uint32_t contender) {
  const struct hr_summary *first = comparison->first_runs[0].summary;
  const size_t count = hr__compare_group_count(table, first);
  for (size_t i = 0; i < count; i++) {
    const char *name = hr__compare_group_name(table, first, i);
    size_t index = hr__compare_find_group(table, name);
    for (unsigned m = 0; index != SIZE_MAX && m < HR__N_COMPARE_GROUP_METRICS; m++) {
      struct hr_estimate estimate = hr__compare_group_estimate(comparison, table, contender, index, m);
      csv_put_estimate(out, comparison->config.contenders[contender].label, table->title, name,
                       hr__metric_rows[table->columns[m].metric].column, &estimate);
    }
  }
}

enum hr_status hr_comparison_write_csv(const char *path, const struct hr_comparison *comparison,
                                       struct hr_error *error) {
  struct hr__csv_out out;
  enum hr_status status =
      hr__csv_open(&out, path, "policy,group,name,metric,value,difference,low,high,significant", error);
  if (status != HR_OK) return status;
  for (uint32_t i = 0; i < comparison->config.n_contenders; i++) {
    for (unsigned m = 0; m < HR__N_METRICS; m++) {
      if (!hr__compare_has_metric(comparison, (enum hr__metric)m)) continue;
      struct hr_estimate estimate = hr__compare_estimate(comparison, i, (enum hr__metric)m);
      csv_put_estimate(&out, comparison->config.contenders[i].label, "all", "", hr__metric_rows[m].column, &estimate);
    }
    for (size_t k = 0; k < HR__N_GROUP_TABLES; k++) csv_put_groups(&out, comparison, &comparison->groups[k], i);
  }
  return hr__csv_commit(&out, error);
}

/* ---- JSON ------------------------------------------------------------------------------------------- */

/* Returns the heading of the summary of a policy's first run. Stores pointers to three borrowed lists in `notes`, to
   which the result points. */
static struct hr_run_label run_label(const struct hr_comparison *comparison, uint32_t contender,
                                     const struct hr_notes **notes) {
  const struct hr_compare_config *config = &comparison->config;
  const struct hr_trace *trace = config->trace;
  notes[0] = &config->scenario->notes;
  notes[1] = &trace->notes;
  notes[2] = &comparison->first_runs[contender].notes;
  return (struct hr_run_label){.scenario = config->scenario->name,
                               .trace = trace->source,
                               .format = trace->format,
                               .cluster = &config->scenario->cluster,
                               .policy = config->contenders[contender].policy,
                               .seed = config->scenario->seed,
                               .notes = notes,
                               .n_notes = 3,
                               .skipped = trace->skipped,
                               .n_skipped_reasons = trace->n_skipped_reasons,
                               .alerts = comparison->first_runs[contender].alerts,
                               .clock_us = hr_trace_clock_us(trace)};
}

static void put_metric(struct hr__json *json, cJSON *object, const char *key, double value) {
  hr__json_number_if(json, object, key, !isnan(value), value);
}

/* Adds the mean to `means`, and the difference from the first policy to `differences`. */
static void put_estimate(struct hr__json *json, cJSON *means, cJSON *differences, const char *key,
                         const struct hr_estimate *estimate) {
  put_metric(json, means, key, estimate->value);
  cJSON *inner = hr__json_object(json, differences, key);
  put_metric(json, inner, "mean", estimate->difference);
  put_metric(json, inner, "low", estimate->low);
  put_metric(json, inner, "high", estimate->high);
  if (isnan(estimate->low))
    hr__json_null(json, inner, "significant");
  else
    hr__json_bool(json, inner, "significant", estimate->significant);
}

static void put_metrics(struct hr__json *json, cJSON *policy, const struct hr_comparison *comparison,
                        uint32_t contender) {
  cJSON *means = hr__json_object(json, policy, "mean");
  cJSON *differences = hr__json_object(json, policy, "difference");
  for (unsigned i = 0; i < HR__N_METRICS; i++) {
    struct hr_estimate estimate = hr__compare_estimate(comparison, contender, (enum hr__metric)i);
    put_estimate(json, means, differences, hr__metric_rows[i].column, &estimate);
  }
}

/* Writes the groups in the order of the first policy's summary. */
static void json_put_groups(struct hr__json *json, cJSON *policy, const char *key,
                            const struct hr_comparison *comparison, const struct hr__group_table *table,
                            uint32_t contender) {
  const struct hr_summary *first = comparison->first_runs[0].summary;
  const size_t count = hr__compare_group_count(table, first);
  cJSON *all = hr__json_object(json, policy, key);
  for (size_t i = 0; i < count; i++) {
    const char *name = hr__compare_group_name(table, first, i);
    size_t index = hr__compare_find_group(table, name);
    if (index == SIZE_MAX) continue;
    cJSON *inner = hr__json_object(json, all, name);
    cJSON *means = hr__json_object(json, inner, "mean");
    cJSON *differences = hr__json_object(json, inner, "difference");
    for (unsigned m = 0; m < HR__N_COMPARE_GROUP_METRICS; m++) {
      struct hr_estimate estimate = hr__compare_group_estimate(comparison, table, contender, index, m);
      put_estimate(json, means, differences, hr__metric_rows[table->columns[m].metric].column, &estimate);
    }
  }
}

static void put_curve(struct hr__json *json, cJSON *object, const char *key, const double *seconds) {
  cJSON *array = hr__json_array(json, object, key);
  for (size_t i = 0; i < HR__CURVE_POINTS && !isnan(seconds[0]); i++) {
    char buffer[HR__NUMBER_BYTES];
    hr__json_append(json, array, cJSON_CreateRaw(hr__decimal_text(seconds[i], buffer)));
  }
}

static void put_policy(struct hr__json *json, cJSON *policies, const struct hr_comparison *comparison,
                       uint32_t contender) {
  const struct hr_contender *self = &comparison->config.contenders[contender];
  cJSON *policy = hr__json_append(json, policies, cJSON_CreateObject());
  hr__json_text(json, policy, "name", self->name);
  hr__json_text(json, policy, "label", self->label);
  hr__json_text(json, policy, "title", comparison->titles[contender]);
  hr__json_text(json, policy, "policy", self->policy->ops->name);
  hr__json_params(json, hr__json_object(json, policy, "params"), self->policy);
  hr__json_bool(json, policy, "identical", comparison->identical[contender]);
  put_metrics(json, policy, comparison, contender);
  cJSON *curves = hr__json_object(json, policy, "cdf");
  put_curve(json, curves, "wait_s", comparison->curves[contender].wait_s);
  put_curve(json, curves, "jct_s", comparison->curves[contender].jct_s);
  static const char *const keys[HR__N_GROUP_TABLES] = {"by_class", "by_tenant", "by_service"};
  for (size_t i = 0; i < HR__N_GROUP_TABLES; i++)
    json_put_groups(json, policy, keys[i], comparison, &comparison->groups[i], contender);
  const struct hr_notes *notes[3];
  struct hr_run_label label = run_label(comparison, contender, notes);
  hr__json_summary(json, hr__json_object(json, policy, "summary"), comparison->first_runs[contender].summary, &label);
}

static void put_json_head(struct hr__json *json, cJSON *root, const struct hr_comparison *comparison) {
  const struct hr_compare_config *config = &comparison->config;
  hr__json_head(json, root, config->scenario->name, config->trace->source, config->trace->format);
  hr__json_bool(json, root, "random", !comparison->exact);
  hr__json_count(json, root, "replications", comparison->n_replications);
  hr__json_text(json, root, "resample", hr_blocks_name(config->scenario->replications.workload.blocks));
  hr__json_number(json, root, "growth", config->scenario->replications.workload.growth);
  hr__json_number(json, root, "confidence", 0.95);
  cJSON *seeds = hr__json_array(json, root, "seeds");
  for (uint32_t i = 0; i < comparison->n_replications; i++) hr__json_append_seed(json, seeds, comparison->seeds[i]);
}

static cJSON *make_tree(struct hr__json *json, const struct hr_comparison *comparison, const struct hr_perf *perf) {
  cJSON *root = cJSON_CreateObject();
  put_json_head(json, root, comparison);
  cJSON *policies = hr__json_array(json, root, "policies");
  for (uint32_t i = 0; i < comparison->config.n_contenders; i++) put_policy(json, policies, comparison, i);
  hr__json_notes(json, hr__json_array(json, root, "notes"), &comparison->notes);
  cJSON *seconds = hr__json_object(json, hr__json_runs_perf(json, root, perf, comparison->config.n_threads), "seconds");
  for (uint32_t i = 0; i < comparison->config.n_contenders; i++)
    hr__json_number(json, seconds, comparison->config.contenders[i].label, comparison->seconds[i]);
  return root;
}

char *hr_comparison_json(const struct hr_comparison *comparison, const struct hr_perf *perf) {
  struct hr__json json = {false};
  return hr__json_print(&json, make_tree(&json, comparison, perf));
}

enum hr_status hr_comparison_write_json(const char *path, const struct hr_comparison *comparison,
                                        const struct hr_perf *perf, struct hr_error *error) {
  struct hr__json json = {false};
  return hr__json_write(&json, make_tree(&json, comparison, perf), path, error);
}

/* ---- Markdown --------------------------------------------------------------------------------------- */

/* Writes a table of all jobs, with a row for each metric and a column for each policy, then a table of classes and a
   table of tenants. A table has at most MAX_GROUPS groups. */

enum { MAX_GROUPS = 20 };

struct compare_markdown {
  struct hr__console console;
  const struct hr_comparison *comparison;
};

static void put_text(struct compare_markdown *page, const char *text) {
  hr__markdown_text(&page->console, text);
}

/* Writes "1 h 2 min (-4 h)". Significant differences are bold. If the scenario is deterministic, every difference is
   significant and none is bold. The first column of a table (`first`) has no difference. */
static void markdown_put_estimate(struct compare_markdown *page, enum hr_unit unit, const struct hr_estimate *estimate,
                                  bool first) {
  char text[HR__METRIC_BYTES];
  FILE *out = page->console.out;
  bool bold = estimate->significant && !page->comparison->exact;
  fprintf(out, " %s%s", bold ? "**" : "", hr__metric_text(unit, estimate->value, text));
  if (!first && !isnan(estimate->difference)) {
    fprintf(out, " (%s", hr__difference_text(unit, estimate->difference, text));
    if (page->comparison->n_replications > 1 && !isnan(estimate->low))
      fprintf(out, " %s", hr__margin_text(unit, estimate->low, estimate->high, text));
    fputc(')', out);
  }
  fprintf(out, "%s |", bold ? "**" : "");
}

static void markdown_put_head(struct compare_markdown *page) {
  const struct hr_compare_config *config = &page->comparison->config;
  FILE *out = page->console.out;
  fputs("# ", out);
  put_text(page, config->scenario->name);
  fputs("\n\nTrace ", out);
  put_text(page, config->trace->source);
  fprintf(out, ", %" PRIu32 " jobs; seed %" PRIu64 ". ", config->trace->n_jobs, config->scenario->seed);
  if (page->comparison->exact)
    fputs("Deterministic: one run of each policy. Differences from the first policy, in brackets, are exact.\n\n", out);
  else if (page->comparison->n_replications == 1)
    fputs("One run of each policy. In brackets: differences from the first policy, whose significance is unknown.\n\n",
          out);
  else if (config->n_contenders > 1 && !hr__compare_has_intervals(page->comparison))
    fprintf(out,
            "%" PRIu32 " runs of each policy, all identical. In brackets: differences from the first policy, which "
            "have no interval.\n\n",
            page->comparison->n_replications);
  else
    fprintf(out,
            "%" PRIu32
            " runs of each policy, with the same %srandom events for all. In brackets: the difference from the "
            "first policy with the margin of its paired 95 %% interval; bold: significant.\n\n",
            page->comparison->n_replications, page->comparison->redrawn ? "workloads and " : "");
}

static void markdown_put_policies(struct compare_markdown *page) {
  const struct hr_compare_config *config = &page->comparison->config;
  for (uint32_t i = 0; i < config->n_contenders; i++) {
    char *text = hr__policy_words(config->contenders[i].policy);
    if (!text) page->console.out_of_memory = true;
    fputs("- ", page->console.out);
    put_text(page, page->comparison->titles[i]);
    fputs(": ", page->console.out);
    if (text) put_text(page, text);
    fputc('\n', page->console.out);
    free(text);
  }
  fputc('\n', page->console.out);
}

static void markdown_put_metrics(struct compare_markdown *page) {
  const struct hr_compare_config *config = &page->comparison->config;
  FILE *out = page->console.out;
  fputs("| |", out);
  for (uint32_t i = 0; i < config->n_contenders; i++) {
    fputc(' ', out);
    put_text(page, page->comparison->titles[i]);
    fputs(" |", out);
  }
  fputs("\n|---|", out);
  for (uint32_t i = 0; i < config->n_contenders; i++) fputs("---:|", out);
  fputc('\n', out);
  for (const struct hr__compare_column *at = hr__compare_columns; at->block; at++) {
    if (!hr__compare_has_metric(page->comparison, at->metric)) continue;
    fprintf(out, "| %s: %s |", at->block, at->title);
    for (uint32_t i = 0; i < config->n_contenders; i++) {
      struct hr_estimate estimate = hr__compare_estimate(page->comparison, i, at->metric);
      markdown_put_estimate(page, hr__metric_rows[at->metric].unit, &estimate, i == 0);
    }
    fputc('\n', out);
  }
}

static void markdown_put_group(struct compare_markdown *page, const struct hr__group_table *groups, const char *name) {
  const struct hr_compare_config *config = &page->comparison->config;
  size_t index = hr__compare_find_group(groups, name);
  for (uint32_t i = 0; index != SIZE_MAX && i < config->n_contenders; i++) {
    fputs("| ", page->console.out);
    put_text(page, name[0] ? name : "(none)");
    fputs(" | ", page->console.out);
    put_text(page, page->comparison->titles[i]);
    fputs(" |", page->console.out);
    for (unsigned m = 0; m < HR__N_COMPARE_GROUP_METRICS; m++) {
      struct hr_estimate estimate = hr__compare_group_estimate(page->comparison, groups, i, index, m);
      markdown_put_estimate(page, hr__metric_rows[groups->columns[m].metric].unit, &estimate, i == 0);
    }
    fputc('\n', page->console.out);
  }
}

static void markdown_put_groups(struct compare_markdown *page, const struct hr__group_table *groups) {
  const struct hr_summary *first = page->comparison->first_runs[0].summary;
  const size_t count = hr__compare_group_count(groups, first);
  if (count == 0) return;
  fprintf(page->console.out, "\n| %s | policy |", groups->title);
  for (unsigned m = 0; m < HR__N_COMPARE_GROUP_METRICS; m++)
    fprintf(page->console.out, " %s |", groups->columns[m].title);
  fputs("\n|---|---|---:|---:|---:|---:|\n", page->console.out);
  for (size_t i = 0; i < count && i < MAX_GROUPS; i++)
    markdown_put_group(page, groups, hr__compare_group_name(groups, first, i));
  if (count > MAX_GROUPS) fprintf(page->console.out, "\nand %zu more\n", count - MAX_GROUPS);
}

enum hr_status hr_comparison_write_markdown(const char *path, const struct hr_comparison *comparison,
                                            struct hr_error *error) {
  struct hr__output_file file;
  enum hr_status status = hr__output_open(&file, path, error);
  if (status != HR_OK) return status;
  struct compare_markdown page = {.console = {.out = file.stream}, .comparison = comparison};
  markdown_put_head(&page);
  markdown_put_policies(&page);
  markdown_put_metrics(&page);
  for (size_t i = 0; i < HR__N_GROUP_TABLES; i++) markdown_put_groups(&page, &comparison->groups[i]);
  return hr__output_finish(&file, path, page.console.out_of_memory, error);
}
