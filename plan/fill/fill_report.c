/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes results of fill experiments as CSV (one row for each rule, seed and per cent), as JSON
 * (docs/researcher/fill.md), as Markdown, and as a table for a terminal. The table is 80 columns wide, and its rows are
 * rules.
 */

#include "base/console.h"
#include "base/output_file.h"
#include "base/text.h"
#include "base/writers.h"
#include "plan/fill/fill.h"
#include "report/tables/json_tree.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- CSV -------------------------------------------------------------------------------------------- */

static void put_row(struct hr__csv_out *out, const struct hr_fill *fill, uint32_t rule, uint32_t index, uint32_t pct) {
  char buffer[HR__NUMBER_BYTES];
  struct hr_fill_row row = hr_fill_at(fill, rule, index, pct);
  hr__csv_text(out, fill->config.rules[rule]->name);
  hr__csv_u64(out, hr__fill_seed(fill, index));
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
  hr__json_text(json, root, "headroom", hr_version());
  hr__json_text(json, root, "scenario", config->scenario->name);
  cJSON *trace = hr__json_object(json, root, "trace");
  hr__json_text(json, trace, "file", config->trace->source);
  hr__json_text(json, trace, "format", config->trace->format);
  hr__json_number(json, root, "gpus", (double)fill->input.capacity_milli / HR_WHOLE_GPU_MILLI);
  hr__json_number(json, root, "to", config->to);
  hr__json_number(json, root, "confidence", 0.95);
  cJSON *seeds = hr__json_array(json, root, "seeds");
  for (uint32_t i = 0; i < config->n_seeds; i++) hr__json_append_seed(json, seeds, hr__fill_seed(fill, i));
}

static void put_perf(struct hr__json *json, cJSON *root, const struct hr_fill *fill, const struct hr_perf *perf) {
  cJSON *inner = hr__json_object(json, root, "perf");
  hr__json_number(json, inner, "load_s", perf->load_s);
  hr__json_number(json, inner, "sim_s", perf->sim_s);
  hr__json_count(json, inner, "threads", fill->config.n_threads);
  hr__json_number(json, inner, "peak_rss_mib", perf->peak_rss_mib);
  cJSON *seconds = hr__json_object(json, inner, "seconds");
  for (uint32_t i = 0; i < fill->config.n_rules; i++)
    hr__json_number(json, seconds, fill->config.rules[i]->name, fill->seconds[i]);
}

enum hr_status hr_fill_write_json(const char *path, const struct hr_fill *fill, const struct hr_perf *perf,
                                  struct hr_error *error) {
  static const struct hr_perf nothing = {0};
  struct hr__json json = {false};
  cJSON *root = cJSON_CreateObject();
  put_head(&json, root, fill);
  cJSON *policies = hr__json_array(&json, root, "policies");
  for (uint32_t i = 0; i < fill->config.n_rules; i++) put_policy(&json, policies, fill, i);
  put_perf(&json, root, fill, perf ? perf : &nothing);
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
  char *name = hr__fitted(console, config->scenario->name, HR__LINE_WIDTH - 20, false);
  for (uint32_t i = 0; i < config->scenario->cluster.n_pools; i++) n_nodes += config->scenario->cluster.pools[i].nodes;
  if (!name) return;
  fprintf(console->out, "%sHeadroom %s: %s%s\n\n", hr__bold(console), hr_version(), name, hr__plain(console));
  free(name);
  hr__put_field(console, "trace", "%s (%s)", config->trace->source, config->trace->format);
  hr__put_field(console, "cluster", "%s GPUs on %s node%s",
                hr__count_text(page->fill->input.capacity_milli / HR_WHOLE_GPU_MILLI, gpus),
                hr__count_text(n_nodes, nodes), n_nodes == 1 ? "" : "s");
  hr__put_field(console, "pods", "drawn from the trace until they request %g times the GPUs; none ends", config->to);
  if (config->n_seeds == 1)
    hr__put_field(console, "seed", "%" PRIu64, hr__fill_seed(page->fill, 0));
  else
    hr__put_field(console, "seeds", "%" PRIu32 ", starting at %" PRIu64 "; the same pods for all rules",
                  config->n_seeds, hr__fill_seed(page->fill, 0));
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
  char text[3][HR__NUMBER_BYTES];
  uint64_t runs = (uint64_t)config->n_rules * config->n_seeds;
  uint32_t threads = config->n_threads < runs ? config->n_threads : (uint32_t)runs;
  fprintf(page->console.out,
          "\n%sfragments: idle GPUs that typical pods of the trace cannot use (docs/researcher/fill.md).%s\n",
          hr__dim(&page->console), hr__plain(&page->console));
  if (perf && perf->sim_s > 0)
    hr__put_field(&page->console, "speed", "%s runs in %s s on %" PRIu32 " thread%s; trace read in %s s",
                  hr__count_text(runs, text[0]), hr__fixed_text(perf->sim_s, perf->sim_s < 0.1 ? 4 : 2, text[1]),
                  threads, threads == 1 ? "" : "s", hr__fixed_text(perf->load_s, 2, text[2]));
}

enum hr_status hr_fill_print(FILE *out, const struct hr_fill *fill, const struct hr_perf *perf, bool colour) {
  struct fill_terminal page = {.console = {.out = out, .colour = colour}, .fill = fill};
  table_put_head(&page);
  put_titles(&page);
  for (uint32_t i = 0; i < fill->config.n_rules; i++) put_rule(&page, i);
  put_foot(&page, perf);
  if (page.console.out_of_memory) return HR_NO_MEMORY;
  return ferror(out) ? HR_IO_ERROR : HR_OK;
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
