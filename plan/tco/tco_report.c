/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Prints the cost of ownership as tables, 80 columns wide: the answer in a sentence, the options with their figures,
 * costs by year and by part, break-even points, and the assumptions. If there are many options, tables with a column
 * per option are printed in blocks.
 *
 * Writes the same as JSON (docs/reference/schemas/tco.schema.json). Amounts are exact micro-dollars. If there are
 * several replications, amounts are means, rounded once, so that parts, years and totals add up.
 */

#include "base/text.h"
#include "plan/tco/tco.h"
#include "report/metrics/catalog.h"
#include "report/tables/tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME_WIDTH = 20, CELL_WIDTH = 12, WIDE_CELL_WIDTH = 20 };

struct tco_page {
  struct hr__console console;
  const struct hr_tco *tco;
  size_t cell_width; /* of a column of amounts */
};

/* ---- Cells ------------------------------------------------------------------------------------------- */

static void put_right(struct tco_page *page, const char *text, size_t width) {
  size_t used = hr__width_of(text, strlen(text));
  fprintf(page->console.out, "%*s%s", used < width ? (int)(width - used) : 1, "", text);
}

static void put_title(struct tco_page *page, const char *text, size_t width) {
  fprintf(page->console.out, "\n%s", hr__bold(&page->console));
  hr__put_fitted(&page->console, text, width);
}

static void end_titles(struct tco_page *page) {
  fprintf(page->console.out, "%s\n", hr__plain(&page->console));
}

static void put_usd(struct tco_page *page, int64_t uusd, size_t width) {
  char text[HR__NUMBER_BYTES];
  put_right(page, hr__usd_text(uusd, text), width);
}

static const char *usd_text(double usd, char *text) {
  if (isnan(usd)) return strcpy(text, "-");
  return hr__usd_text((int64_t)llround(usd * 1e6), text);
}

static double figure_of(const struct hr__tco_option *option, enum hr__tco_figure figure) {
  return option->figures[figure].mean;
}

/* ---- The answer -------------------------------------------------------------------------------------- */

/* The cheapest option; with `serving`, of those that serve the demand. NULL: none. */
static const struct hr__tco_option *cheapest(const struct hr_tco *tco, bool serving) {
  const struct hr__tco_option *best = NULL;
  for (uint32_t k = 0; k < tco->n_options; k++) {
    double usd = figure_of(&tco->options[k], HR__TCO_USEFUL_GPU_HOUR);
    if (serving && !hr__tco_serves(tco, &tco->options[k])) continue;
    if (!isnan(usd) && (!best || usd < figure_of(best, HR__TCO_USEFUL_GPU_HOUR))) best = &tco->options[k];
  }
  return best;
}

static bool is_on_demand(const struct hr__tco_option *option) {
  return option->kind == HR__TCO_ON_DEMAND;
}

/* Returns the option with which the cheapest option `best` is compared. It serves the demand. An on-demand option is
   preferred; of equally preferred options, the cheapest is used. NULL: no other option serves the demand. */
static const struct hr__tco_option *reference(const struct hr_tco *tco, const struct hr__tco_option *best) {
  const struct hr__tco_option *other = NULL;
  for (uint32_t k = 0; k < tco->n_options; k++) {
    const struct hr__tco_option *option = &tco->options[k];
    if (option == best || !hr__tco_serves(tco, option) || isnan(figure_of(option, HR__TCO_USEFUL_GPU_HOUR))) continue;
    bool better = !other || (is_on_demand(option) && !is_on_demand(other)) ||
                  (is_on_demand(option) == is_on_demand(other) &&
                   figure_of(option, HR__TCO_USEFUL_GPU_HOUR) < figure_of(other, HR__TCO_USEFUL_GPU_HOUR));
    if (better) other = option;
  }
  return other;
}

static const struct hr__tco_pair *pair_of(const struct hr_tco *tco, const struct hr__tco_option *option,
                                          const struct hr__tco_option *other) {
  for (uint32_t p = 0; p < tco->n_pairs; p++)
    if (&tco->options[tco->pairs[p].option] == option && &tco->options[tco->pairs[p].other] == other)
      return &tco->pairs[p];
  return NULL;
}

/* Writes " It costs less above a utilization of 38.1 %, and has paid off after 9,855 hours.", as far as it is known. */
static void describe_pair(const struct hr__tco_pair *pair, char *text, size_t size) {
  char number[2][HR__METRIC_BYTES];
  text[0] = '\0';
  if (!pair || isnan(pair->utilization.mean)) return;
  bool pays = !isnan(pair->hours.mean);
  snprintf(text, size, " It costs less above a utilization of %s%s%s%s.",
           hr__metric_text(HR_UNIT_SHARE, pair->utilization.mean, number[0]), pays ? ", and has paid off after " : "",
           pays ? hr__fixed_text(pair->hours.mean, 0, number[1]) : "", pays ? " hours" : "");
}

/* Prints the waits, because options with a lower cost often have longer waits. */
static void put_waits(struct tco_page *page, const struct hr__tco_option *best, const struct hr__tco_option *other) {
  char wait[2][HR__METRIC_BYTES];
  double wait_s = hr__interval_centre(&best->figures[HR__TCO_WAIT]);
  double other_wait_s = hr__interval_centre(&other->figures[HR__TCO_WAIT]);
  if (isnan(wait_s) || isnan(other_wait_s) || wait_s <= other_wait_s) return;
  hr__put_field(&page->console, "", "But the 95th percentile of waits is %s there, and %s in option %s.",
                hr__metric_text(HR_UNIT_SECONDS, wait_s, wait[0]),
                hr__metric_text(HR_UNIT_SECONDS, other_wait_s, wait[1]), other->name);
}

/* Prints that an option with a lower cost than the answer is too small for the demand. */
static void put_too_small(struct tco_page *page, const struct hr__tco_option *option, const char *label) {
  char usd[HR__NUMBER_BYTES], share[HR__METRIC_BYTES], why[100] = "it completes fewer jobs";
  if (!option) return;
  if (hr__tco_missing(option) > 0)
    snprintf(why, sizeof why, "%s of the GPU hours that its jobs need are missing",
             hr__metric_text(HR_UNIT_SHARE, hr__tco_missing(option), share));
  hr__put_field(&page->console, label, "Option %s, at %s, does not serve the demand: %s.", option->name,
                usd_text(figure_of(option, HR__TCO_USEFUL_GPU_HOUR), usd), why);
}

static void put_answer(struct tco_page *page) {
  const struct hr__tco_option *best = cheapest(page->tco, true), *least = cheapest(page->tco, false);
  const struct hr__tco_option *other = best ? reference(page->tco, best) : NULL;
  char usd[2][HR__NUMBER_BYTES], share[HR__METRIC_BYTES], more[300];
  if (!best) {
    put_too_small(page, least, "answer");
    return;
  }
  double usd_h = figure_of(best, HR__TCO_USEFUL_GPU_HOUR);
  if (!other) {
    hr__put_field(&page->console, "answer", "a useful GPU hour costs %s in option %s.", usd_text(usd_h, usd[0]),
                  best->name);
    put_too_small(page, least == best ? NULL : least, "");
    return;
  }
  double other_usd_h = figure_of(other, HR__TCO_USEFUL_GPU_HOUR);
  describe_pair(pair_of(page->tco, best, other), more, sizeof more);
  hr__put_field(&page->console, "answer",
                "a useful GPU hour costs %s in option %s, %s less than the %s in option %s.%s", usd_text(usd_h, usd[0]),
                best->name, hr__metric_text(HR_UNIT_SHARE, 1 - usd_h / other_usd_h, share),
                usd_text(other_usd_h, usd[1]), other->name, more);
  put_waits(page, best, other);
  put_too_small(page, least == best ? NULL : least, "");
}

/* ---- The head ---------------------------------------------------------------------------------------- */

static void put_years(struct tco_page *page) {
  const struct hr_tco_spec *spec = &page->tco->spec;
  const struct {
    const char *what;
    double factor;
  } factors[] = {{"demand", spec->growth},
                 {"cloud prices", spec->cloud_price},
                 {"hardware prices", spec->hardware_price},
                 {"energy prices", spec->energy_price},
                 {"wages", spec->wages}};
  char text[300] = "", number[HR__NUMBER_BYTES];
  size_t used = 0;
  for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
    if (factors[i].factor != 1)
      used += (size_t)snprintf(text + used, sizeof text - used, "%s%s x %s", used ? ", " : "; each year ",
                               factors[i].what, hr__decimal_text(factors[i].factor, number));
  hr__put_field(&page->console, "years", "%" PRIu32 "%s", spec->years, used ? text : "; demand and prices as today");
}

static void put_head(struct tco_page *page) {
  const struct hr_tco *tco = page->tco;
  struct hr__console *console = &page->console;
  char text[HR__NUMBER_BYTES];
  hr__put_page_title(console, "cost of ownership, ", tco->scenario->name, SIZE_MAX);
  put_answer(page);
  fputc('\n', console->out);
  hr__put_field(console, "trace", "%s (%s)", tco->config.trace->source, tco->config.trace->format);
  put_years(page);
  hr__put_field(console, "discount", "%s %% a year", hr__decimal_text(100 * tco->spec.discount_rate, text));
  if (tco->n_replications > 1)
    hr__put_field(console, "runs", "%" PRIu32 " replications of each random option", tco->n_replications);
}

/* ---- Options ----------------------------------------------------------------------------------------- */

static void put_options(struct tco_page *page) {
  const struct hr_tco *tco = page->tco;
  char text[HR__METRIC_BYTES];
  put_title(page, "option", NAME_WIDTH);
  put_right(page, "GPUs", 7);
  put_right(page, "available", 11);
  put_right(page, "ETTR", 9);
  put_right(page, "used", 9);
  put_right(page, "$/GPU h", 11);
  put_right(page, "$/useful h", 12);
  end_titles(page);
  for (uint32_t k = 0; k < tco->n_options; k++) {
    const struct hr__tco_option *option = &tco->options[k];
    double gpus = option->mean.gpus[0];
    hr__put_fitted(&page->console, option->name, NAME_WIDTH);
    put_right(page, gpus > 0 ? hr__count_text((uint64_t)llround(gpus), text) : "-", 7);
    put_right(page, hr__metric_text(HR_UNIT_SHARE, figure_of(option, HR__TCO_AVAILABILITY), text), 11);
    put_right(page, hr__metric_text(HR_UNIT_SHARE, figure_of(option, HR__TCO_ETTR), text), 9);
    put_right(page, hr__metric_text(HR_UNIT_SHARE, figure_of(option, HR__TCO_UTILIZATION), text), 9);
    put_right(page, usd_text(figure_of(option, HR__TCO_GPU_HOUR), text), 11);
    put_right(page, usd_text(figure_of(option, HR__TCO_USEFUL_GPU_HOUR), text), 12);
    fputc('\n', page->console.out);
  }
}

/* Writes the interval of the cost per useful GPU hour; "" if it is unknown or smaller than a cent. */
static const char *span_text(const struct hr__tco_option *option, char *text, size_t size) {
  const struct hr__interval *interval = &option->figures[HR__TCO_USEFUL_GPU_HOUR];
  char low[HR__NUMBER_BYTES], high[HR__NUMBER_BYTES];
  text[0] = '\0';
  if (isnan(interval->low) || strcmp(usd_text(interval->low, low), usd_text(interval->high, high)) == 0) return text;
  snprintf(text, size, "%s-%s", low, high);
  return text;
}

static bool has_spans(const struct hr_tco *tco) {
  char text[2 * HR__NUMBER_BYTES + 8];
  for (uint32_t k = 0; k < tco->n_options; k++)
    if (span_text(&tco->options[k], text, sizeof text)[0]) return true;
  return false;
}

static void put_totals(struct tco_page *page) {
  const struct hr_tco *tco = page->tco;
  bool taxed = tco->spec.tax_rate > 0, spans = !taxed && has_spans(tco);
  char text[200], title[40];
  snprintf(title, sizeof title, "paid in %" PRIu32 " y", tco->spec.years);
  put_title(page, "option", NAME_WIDTH);
  put_right(page, "p95 wait", 13);
  put_right(page, title, 16);
  put_right(page, "NPV", 16);
  if (taxed) put_right(page, "NPV after tax", 16);
  if (spans) put_right(page, "$/useful h", 15);
  end_titles(page);
  for (uint32_t k = 0; k < tco->n_options; k++) {
    const struct hr__tco_option *option = &tco->options[k];
    hr__put_fitted(&page->console, option->name, NAME_WIDTH);
    put_right(page, hr__metric_text(HR_UNIT_SECONDS, hr__interval_centre(&option->figures[HR__TCO_WAIT]), text), 13);
    put_right(page, usd_text(figure_of(option, HR__TCO_TOTAL), text), 16);
    put_right(page, usd_text(figure_of(option, HR__TCO_NPV), text), 16);
    if (taxed) put_right(page, usd_text(figure_of(option, HR__TCO_AFTER_TAX_NPV), text), 16);
    if (span_text(option, text, sizeof text)[0] && spans) put_right(page, text, 15);
    fputc('\n', page->console.out);
  }
}

/* ---- Tables with a column per option ----------------------------------------------------------------- */

struct block {
  uint32_t first, end; /* options */
};

/* Amounts of 100 million dollars or more need wide cells. */
static size_t cell_width(const struct hr_tco *tco) {
  double most = 0;
  for (uint32_t k = 0; k < tco->n_options; k++) {
    most = fmax(most, (double)hr__tco_total_uusd(&tco->options[k].mean));
  }
  return most < 99.9e12 ? CELL_WIDTH : WIDE_CELL_WIDTH;
}

static void put_block_head(struct tco_page *page, struct block block, const char *title) {
  put_title(page, title, NAME_WIDTH);
  for (uint32_t k = block.first; k < block.end; k++) {
    char *name = hr__fitted(&page->console, page->tco->options[k].name, page->cell_width - 1, false);
    put_right(page, name ? name : "", page->cell_width);
    free(name);
  }
  end_titles(page);
}

static void put_by_year(struct tco_page *page, struct block block) {
  const struct hr_tco *tco = page->tco;
  put_block_head(page, block, "cost of a year");
  for (uint32_t year = 0; year < tco->spec.years; year++) {
    char name[32];
    snprintf(name, sizeof name, "year %" PRIu32, year + 1);
    hr__put_fitted(&page->console, name, NAME_WIDTH);
    for (uint32_t k = block.first; k < block.end; k++)
      put_usd(page, hr__tco_year_uusd(&tco->options[k].mean, year), page->cell_width);
    fputc('\n', page->console.out);
  }
}

static int64_t part_uusd(const struct hr__tco_path *path, unsigned part) {
  int64_t sum = 0;
  for (uint32_t year = 0; year < path->years; year++) sum += path->uusd[year][part];
  return sum;
}

static void put_by_part(struct tco_page *page, struct block block) {
  const struct hr_tco *tco = page->tco;
  put_block_head(page, block, "cost of all years");
  for (unsigned part = 0; part <= HR_N_COST_PARTS; part++) {
    bool any = part == HR_N_COST_PARTS;
    for (uint32_t k = block.first; k < block.end && !any; k++) any = part_uusd(&tco->options[k].mean, part) != 0;
    if (!any) continue;
    hr__put_fitted(&page->console, part == HR_N_COST_PARTS ? "sum" : hr_cost_part_name((enum hr_cost_part)part),
                   NAME_WIDTH);
    for (uint32_t k = block.first; k < block.end; k++) {
      const struct hr__tco_path *path = &tco->options[k].mean;
      put_usd(page, part == HR_N_COST_PARTS ? hr__tco_total_uusd(path) : part_uusd(path, part), page->cell_width);
    }
    fputc('\n', page->console.out);
  }
}

/* ---- Break-even points ------------------------------------------------------------------------------- */

static void put_point(struct tco_page *page, bool is_share, const struct hr__interval *interval, size_t width) {
  char text[4 * HR__METRIC_BYTES], number[3][HR__METRIC_BYTES];
  const double values[3] = {interval->mean, interval->low, interval->high};
  for (unsigned i = 0; i < 3; i++)
    if (is_share || isnan(values[i]))
      hr__metric_text(HR_UNIT_SHARE, values[i], number[i]);
    else
      hr__fixed_text(values[i], 0, number[i]);
  if (isnan(interval->low) || strcmp(number[1], number[2]) == 0)
    snprintf(text, sizeof text, "%s", number[0]);
  else
    snprintf(text, sizeof text, "%s (%s to %s)", number[0], number[1], number[2]);
  put_right(page, isnan(interval->mean) ? "never" : text, width);
}

static void put_pairs(struct tco_page *page) {
  const struct hr_tco *tco = page->tco;
  char name[500];
  if (!tco->n_pairs) return;
  put_title(page, "costs less than", 28);
  put_right(page, "above utilization", 26);
  put_right(page, "after hours", 26);
  end_titles(page);
  for (uint32_t p = 0; p < tco->n_pairs; p++) {
    const struct hr__tco_pair *pair = &tco->pairs[p];
    snprintf(name, sizeof name, "%.200s / %.200s", tco->options[pair->option].name, tco->options[pair->other].name);
    hr__put_fitted(&page->console, name, 28);
    put_point(page, true, &pair->utilization, 26);
    if (tco->options[pair->option].mean.bought_uusd[0])
      put_point(page, false, &pair->hours, 26);
    else
      put_right(page, "-", 26);
    fputc('\n', page->console.out);
  }
}

/* ---- Assumptions ------------------------------------------------------------------------------------ */

/* Prints the options without failures: those with planned downtime (`maintained`), or those without. `is_first`: the
   line gets the label. Returns whether there are any. */
static bool put_without_failures(struct tco_page *page, bool maintained, bool is_first) {
  const struct hr_tco *tco = page->tco;
  char names[300] = "";
  size_t used = 0;
  for (uint32_t k = 0; k < tco->n_options; k++)
    if (!tco->options[k].knows_failures && tco->options[k].has_maintenance == maintained && used < sizeof names)
      used += (size_t)snprintf(names + used, sizeof names - used, "%s%.60s", used ? ", " : "", tco->options[k].name);
  if (used)
    hr__put_field(&page->console, is_first ? "assumed" : "", "%s, as no pool has 'faults': %s",
                  maintained ? "planned downtime only" : "availability 1", names);
  return used > 0;
}

static void put_assumed(struct tco_page *page) {
  const struct hr_tco *tco = page->tco;
  fputc('\n', page->console.out);
  bool used = put_without_failures(page, false, true);
  used = put_without_failures(page, true, !used) || used;
  if (tco->spec.growth != 1)
    hr__put_field(&page->console, used ? "" : "assumed", "%s",
                  tco->n_simulated > 1 ? "jobs of later years are those of the trace, repeated or left out at random"
                                       : "availability, ETTR and use of the first year in all years");
}

static void put_legend(struct tco_page *page) {
  struct hr__console *console = &page->console;
  bool any_owned = false;
  for (uint32_t k = 0; k < page->tco->n_options; k++)
    any_owned = any_owned || page->tco->options[k].mean.bought_uusd[0];
  hr__put_field(console, "$/useful h", "cost / (GPU hours x available x ETTR x used)");
  hr__put_field(console, "ETTR", "useful GPU hours / GPU hours held by jobs");
  hr__put_field(console, "used", "GPU hours held by jobs / available GPU hours");
  if (any_owned)
    hr__put_field(console, "cost", "with amortized purchases; paid: purchases when made, minus residual values");
}

enum hr_status hr_tco_print(FILE *out, const struct hr_tco *tco, bool colour) {
  struct tco_page page = {.console = {.out = out, .colour = colour}, .tco = tco, .cell_width = cell_width(tco)};
  const uint32_t in_block = (uint32_t)((HR__LINE_WIDTH - NAME_WIDTH) / page.cell_width);
  put_head(&page);
  put_options(&page);
  put_totals(&page);
  for (uint32_t first = 0; first < tco->n_options; first += in_block) {
    uint32_t end = first + in_block < tco->n_options ? first + in_block : tco->n_options;
    put_by_year(&page, (struct block){first, end});
    put_by_part(&page, (struct block){first, end});
  }
  put_pairs(&page);
  put_assumed(&page);
  put_legend(&page);
  return hr__console_status(&page.console);
}

/* ---- JSON ------------------------------------------------------------------------------------------------- */

static void put_interval(struct hr__json *json, cJSON *object, const char *key, const struct hr__interval *interval) {
  hr__json_interval(json, hr__json_object(json, object, key), interval);
}

static void put_spec(struct hr__json *json, cJSON *root, const struct hr_tco_spec *spec) {
  hr__json_count(json, root, "years", spec->years);
  hr__json_number(json, root, "growth_per_year", spec->growth);
  hr__json_number(json, root, "cloud_price_per_year", spec->cloud_price);
  hr__json_number(json, root, "hardware_price_per_year", spec->hardware_price);
  hr__json_number(json, root, "energy_price_per_year", spec->energy_price);
  hr__json_number(json, root, "wages_per_year", spec->wages);
  hr__json_number(json, root, "discount_rate", spec->discount_rate);
  hr__json_number(json, root, "tax_rate", spec->tax_rate);
  hr__json_text(json, root, "tax_depreciation", spec->macrs ? "macrs-5" : "straight-line");
}

/* ---- Purchases --------------------------------------------------------------------------------------- */

/* Writes the purchases of a pool, as they are in the first year: price and amortized cost of all its nodes. */
static void put_capital(struct hr__json *json, cJSON *array, const struct hr_pool_spec *pool,
                        const struct hr_ownership *owned) {
  for (uint32_t i = 0; i < owned->n_capital; i++) {
    const struct hr_capital *capital = &owned->capital[i];
    double usd = capital->usd * pool->nodes;
    double yearly = hr_amortized_usd(owned->amortization, owned->discount_rate, usd, usd * capital->residual_share,
                                     capital->life_years);
    cJSON *item = hr__json_append(json, array, cJSON_CreateObject());
    hr__json_text(json, item, "pool", pool->name);
    hr__json_text(json, item, "name", capital->name);
    hr__json_usd(json, item, "usd", llround(usd * 1e6));
    hr__json_number(json, item, "lifetime_years", capital->life_years);
    hr__json_number(json, item, "residual_share", capital->residual_share);
    hr__json_text(json, item, "amortization", hr_amortization_name(owned->amortization));
    hr__json_number(json, item, "discount_rate", owned->discount_rate);
    hr__json_usd(json, item, "monthly_usd", llround(yearly / 12 * 1e6));
  }
}

/* ---- Options ----------------------------------------------------------------------------------------- */

static void put_parts(struct hr__json *json, cJSON *object, const int64_t *uusd) {
  for (unsigned part = 0; part < HR_N_COST_PARTS; part++)
    hr__json_usd(json, object, hr_cost_part_name((enum hr_cost_part)part), uusd[part]);
}

static void put_year(struct hr__json *json, cJSON *array, const struct hr__tco_path *path, uint32_t year) {
  cJSON *object = hr__json_append(json, array, cJSON_CreateObject());
  hr__json_count(json, object, "year", year + 1);
  hr__json_number(json, object, "gpus", path->gpus[year]);
  hr__json_number(json, object, "gpu_hours", path->capacity_gpu_hours[year]);
  hr__json_number(json, object, "available_gpu_hours", path->available_gpu_hours[year]);
  hr__json_number(json, object, "held_gpu_hours", path->held_gpu_hours[year]);
  hr__json_number(json, object, "useful_gpu_hours", path->useful_gpu_hours[year]);
  hr__json_usd(json, object, "usd", hr__tco_year_uusd(path, year));
  put_parts(json, hr__json_object(json, object, "parts"), path->uusd[year]);
  hr__json_usd(json, object, "bought_usd", path->bought_uusd[year]);
  hr__json_usd(json, object, "sold_usd", path->sold_uusd[year]);
  hr__json_usd(json, object, "paid_usd", hr__tco_paid_uusd(path, year));
}

static void json_totals(struct hr__json *json, cJSON *object, const struct hr__tco_path *path) {
  int64_t paid_uusd = 0, parts[HR_N_COST_PARTS];
  for (uint32_t year = 0; year < path->years; year++) paid_uusd += hr__tco_paid_uusd(path, year);
  for (unsigned part = 0; part < HR_N_COST_PARTS; part++) parts[part] = part_uusd(path, part);
  hr__json_usd(json, object, "usd", hr__tco_total_uusd(path));
  put_parts(json, hr__json_object(json, object, "parts"), parts);
  hr__json_usd(json, object, "paid_usd", paid_uusd);
}

static void put_figures(struct hr__json *json, cJSON *object, const struct hr__tco_option *option) {
  static const char *const names[HR__TCO_N_FIGURES] = {
      "availability", "ettr",    "utilization",       "usd_per_gpu_hour", "usd_per_useful_gpu_hour",
      "total_usd",    "npv_usd", "after_tax_npv_usd", "wait_p95_s"};
  for (unsigned f = 0; f < HR__TCO_N_FIGURES; f++) put_interval(json, object, names[f], &option->figures[f]);
}

static void put_option(struct hr__json *json, cJSON *array, const struct hr_tco *tco,
                       const struct hr__tco_option *option) {
  cJSON *object = hr__json_append(json, array, cJSON_CreateObject());
  hr__json_text(json, object, "name", option->name);
  hr__json_text(json, object, "kind", hr__tco_kind_name(option->kind));
  cJSON *pools = hr__json_array(json, object, "pools");
  for (uint32_t i = 0; i < option->n_pools; i++)
    hr__json_append(json, pools, cJSON_CreateString(hr__tco_pool(tco, option, i)->name));
  hr__json_bool(json, object, "random", option->random);
  hr__json_bool(json, object, "knows_failures", option->knows_failures);
  hr__json_bool(json, object, "serves", hr__tco_serves(tco, option));
  put_figures(json, object, option);
  cJSON *capital = hr__json_array(json, object, "capital");
  for (uint32_t i = 0; i < option->n_pools; i++) {
    const struct hr_ownership *owned = hr__tco_source(tco, option, i)->ownership;
    if (owned) put_capital(json, capital, hr__tco_pool(tco, option, i), owned);
  }
  json_totals(json, hr__json_object(json, object, "total"), &option->mean);
  cJSON *years = hr__json_array(json, object, "by_year");
  for (uint32_t year = 0; year < option->mean.years; year++) put_year(json, years, &option->mean, year);
}

static void put_pair(struct hr__json *json, cJSON *array, const struct hr_tco *tco, const struct hr__tco_pair *pair) {
  cJSON *object = hr__json_append(json, array, cJSON_CreateObject());
  hr__json_text(json, object, "option", tco->options[pair->option].name);
  hr__json_text(json, object, "other", tco->options[pair->other].name);
  put_interval(json, object, "utilization", &pair->utilization);
  put_interval(json, object, "hours", &pair->hours);
}

static cJSON *make_tree(struct hr__json *json, const struct hr_tco *tco) {
  cJSON *root = cJSON_CreateObject();
  hr__json_head(json, root, tco->scenario->name, tco->config.trace->source, tco->config.trace->format);
  hr__json_seed(json, root, "seed", tco->scenario->seed);
  hr__json_count(json, root, "replications", tco->n_replications);
  hr__json_number(json, root, "confidence", tco->confidence);
  put_spec(json, hr__json_object(json, root, "tco"), &tco->spec);
  cJSON *options = hr__json_array(json, root, "options");
  for (uint32_t k = 0; k < tco->n_options; k++) put_option(json, options, tco, &tco->options[k]);
  cJSON *pairs = hr__json_array(json, root, "break_even");
  for (uint32_t p = 0; p < tco->n_pairs; p++) put_pair(json, pairs, tco, &tco->pairs[p]);
  hr__json_all_notes(json, root, tco->scenario, tco->config.trace, &tco->notes);
  return root;
}

char *hr_tco_json(const struct hr_tco *tco) {
  struct hr__json json = {false};
  return hr__json_print(&json, make_tree(&json, tco));
}

enum hr_status hr_tco_write_json(const char *path, const struct hr_tco *tco, struct hr_error *error) {
  struct hr__json json = {false};
  return hr__json_write(&json, make_tree(&json, tco), path, error);
}
