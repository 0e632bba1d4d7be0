/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes advice as a table, 80 columns wide, and as JSON (docs/reference/schemas/advise.schema.json). The table begins
 * with the savings, and contains the overrides as options that can be copied to a command line.
 */

#include "base/text.h"
#include "plan/advise/advise.h"
#include "plan/runner/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct advice_page {
  struct hr__console console;
  const struct hr_advice *advice;
};

/* ---- Overrides ------------------------------------------------------------------------------------- */

/* Length of the first piece of `text`. A line may end after a piece: JSON allows a line break after a comma, and a
   shell allows one within quotes. A piece never ends within a JSON string; *in_text stores whether the scan is within a
   JSON string. */
static size_t piece_length(const char *text, bool *in_text) {
  size_t at = 0;
  for (; text[at]; at++) {
    if (text[at] == '\\' && *in_text && text[at + 1])
      at++;
    else if (text[at] == '"')
      *in_text = !*in_text;
    else if (text[at] == ',' && !*in_text)
      return at + 1;
  }
  return at;
}

/* Prints text for use within single quotes of a shell command. Escapes single quotes in the text. */
static void put_quoted(FILE *out, const char *text, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (text[i] == '\'')
      fputs("'\\''", out);
    else
      fputc(text[i], out);
  }
}

static void put_override(struct advice_page *page, const char *text) {
  FILE *out = page->console.out;
  bool plain = text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-=")] == '\0';
  bool in_text = false;
  size_t column = strlen("    --set '");
  fprintf(out, "    --set %s", plain ? "" : "'");
  while (*text) {
    size_t length = piece_length(text, &in_text), width = hr__width_of(text, length);
    if (column > 11 && column + width + 1 > HR__LINE_WIDTH) {
      fputs("\n      ", out);
      column = 6;
    }
    put_quoted(out, text, length);
    column += width;
    text += length;
  }
  fputs(plain ? "\n" : "'\n", out);
}

/* ---- Items ----------------------------------------------------------------------------------------- */

static const char *usd_text(const struct hr_replicated *usd, char *text, size_t size) {
  char number[3][HR__METRIC_BYTES];
  hr__difference_text(HR_UNIT_DOLLARS, usd->mean, number[0]);
  if (usd->mean == 0) snprintf(number[0], sizeof number[0], "$0");
  hr__difference_text(HR_UNIT_DOLLARS, usd->low, number[1]);
  hr__difference_text(HR_UNIT_DOLLARS, usd->high, number[2]);
  if (isnan(usd->low) || strcmp(number[1], number[2]) == 0)
    snprintf(text, size, "%s", number[0]);
  else
    snprintf(text, size, "%s (%s to %s)", number[0], number[1], number[2]);
  return text;
}

/* Prints the subject of an item, such as "training of retail in pool aws". */
static void put_subject(struct advice_page *page, const struct hr_advice_item *item) {
  char text[700];
  snprintf(text, sizeof text, "%s%s%.200s%s%.200s", item->class_ ? item->class_ : "all jobs",
           item->tenant ? " of " : "", item->tenant ? item->tenant : "", item->pool ? " in pool " : " in all pools",
           item->pool ? item->pool : "");
  hr__put_field(&page->console, "  for", "%s", text);
}

/* Prints the metric of each goal today and with the change. */
static void put_goals(struct advice_page *page, uint32_t candidate, bool brief) {
  const struct hr_advice *advice = page->advice;
  char text[2][HR__METRIC_BYTES];
  for (size_t i = 0; i < advice->goals.n_goals && !brief; i++) {
    const struct hr__goal *goal = &advice->goals.goals[i];
    enum hr_unit unit = hr__metric_rows[advice->goals.metrics[goal->metric].id].unit;
    struct hr_advice_metric value = hr__advice_goal(advice, candidate, i, advice->n_replications);
    hr__put_field(&page->console, i ? "" : "  goals", "%s: %s -> %s%s", goal->text,
                  hr__metric_text(unit, value.before, text[0]), hr__metric_text(unit, value.after, text[1]),
                  hr__goal_violation(goal, value.after) > 0 ? ", missed" : "");
  }
}

static void put_item(struct advice_page *page, size_t place) {
  struct hr_advice_item item;
  struct hr__console *console = &page->console;
  char text[200], number[4][HR__METRIC_BYTES];
  hr_advice_item(page->advice, place, &item);
  bool is_priced = item.monthly_usd.count && !isnan(item.monthly_usd.mean);
  fprintf(console->out, "\n  %s%-17s %s%s%s\n", hr__bold(console), hr_advice_kind_name(item.kind),
          is_priced ? usd_text(&item.monthly_usd, text, sizeof text) : "cost unknown", is_priced ? " a month" : "",
          hr__plain(console));
  put_subject(page, &item);
  hr__put_field(console, "  change", "%s -> %s", item.from, item.to);
  hr__put_field(console, "  p95 wait", "%s -> %s; completed %s -> %s",
                hr__metric_text(HR_UNIT_SECONDS, item.wait_p95_s.before, number[0]),
                hr__metric_text(HR_UNIT_SECONDS, item.wait_p95_s.after, number[1]),
                hr__metric_text(HR_UNIT_SHARE, item.completed.before, number[2]),
                hr__metric_text(HR_UNIT_SHARE, item.completed.after, number[3]));
  if (item.figure) {
    enum hr_unit unit = hr__metric_rows[page->advice->metrics[page->advice->proposals[place].figure].id].unit;
    hr__put_field(console, "  decides", "%s: %s -> %s", item.figure,
                  hr__metric_text(unit, item.figure_value.before, number[0]),
                  hr__metric_text(unit, item.figure_value.after, number[1]));
  }
  put_goals(page, page->advice->proposals[place].candidate, item.reason != NULL);
  if (item.reason) {
    hr__put_field(console, "  reason", "%s", item.reason);
    return; /* details of proposals that are not advised are only in the JSON */
  }
  for (size_t i = 0; i < item.assumed->count; i++)
    hr__put_field(console, i ? "" : "  assumed", "%s", item.assumed->text[i]);
  for (size_t i = 0; i < item.n_set; i++) put_override(page, item.set[i]);
}

static void put_items(struct advice_page *page, bool advised, const char *title, const char *nothing) {
  const struct hr_advice *advice = page->advice;
  bool any = false;
  fprintf(page->console.out, "\n%s%s%s\n", hr__bold(&page->console), title, hr__plain(&page->console));
  for (size_t i = 0; i < advice->n_proposals; i++) {
    if (advice->proposals[i].advised != advised) continue;
    put_item(page, i);
    any = true;
  }
  if (!any) fprintf(page->console.out, "  %s\n", nothing);
}

/* ---- The table ------------------------------------------------------------------------------------- */

/* Returns the costs of the unchanged scenario as text. If nothing was paid and a pool has no price, they are unknown.
 */
static const char *today_text(const struct hr_advice *advice, char *text, size_t size) {
  char number[HR__METRIC_BYTES];
  const struct hr_cluster_spec *cluster = &advice->config.scenario->cluster;
  double usd = hr__advice_metric(advice, advice->base, HR__A_MONTHLY, advice->n_replications).before;
  for (uint32_t i = 0; i < cluster->n_pools && !(usd > 0); i++) {
    if (cluster->pools[i].market.market != HR_MARKET_NONE) continue;
    snprintf(text, size, "unknown cost, as pool %.100s has no price", cluster->pools[i].name);
    return text;
  }
  snprintf(text, size, "%s a month", hr__metric_text(HR_UNIT_DOLLARS, usd, number));
  return text;
}

static void put_head(struct advice_page *page) {
  const struct hr_advice *advice = page->advice;
  struct hr__console *console = &page->console;
  char wait_text[HR__METRIC_BYTES], today[200], counts[HR__NUMBER_BYTES];
  char *name = hr__fitted(console, advice->config.scenario->name, HR__LINE_WIDTH - 24, false);
  if (!name) return;
  fprintf(console->out, "%sHeadroom %s: advice on %s%s\n\n", hr__bold(console), hr_version(), name, hr__plain(console));
  free(name);
  hr__put_field(console, "trace", "%s (%s jobs)", advice->config.trace->source,
                hr__count_text(advice->config.trace->n_jobs, counts));
  size_t wait = hr__advice_group_metric(advice, HR_N_CLASSES, HR__A_WAIT);
  double wait_s = hr__advice_metric(advice, advice->base, wait, advice->n_replications).before;
  hr__put_field(console, "today", "%s, p95 wait %s", today_text(advice, today, sizeof today),
                hr__metric_text(HR_UNIT_SECONDS, wait_s, wait_text));
}

static void put_foot(struct advice_page *page, const struct hr_perf *perf) {
  const struct hr_advice *advice = page->advice;
  struct hr__console *console = &page->console;
  char text[2][HR__NUMBER_BYTES];
  fputc('\n', console->out);
  hr__put_field(console, "method",
                "each change is run alone, over at most %s replication%s, on the same random events as the "
                "unchanged scenario; savings do not add up. Confidence of intervals: %.4g %%.",
                hr__count_text(advice->n_replications, text[0]), advice->n_replications == 1 ? "" : "s",
                100 * advice->config.scenario->replications.confidence);
  if (advice->goals.n_goals)
    hr__put_field(console, "advised",
                  "savings are significant, and no goal of the scenario's plan is missed, or missed by more than "
                  "today.");
  else
    hr__put_field(console, "advised",
                  "savings are significant, each class completes as large a share of its jobs, and no p95 "
                  "wait grows by more than %d %% or %d s, whichever is larger.",
                  (int)(100 * HR_ADVISE_WAIT_SHARE), HR_ADVISE_WAIT_S);
  if (perf) hr__put_speed(console, hr__runner_runs(advice->runner), advice->config.n_threads, perf->sim_s, 0);
}

enum hr_status hr_advice_print(FILE *out, const struct hr_advice *advice, const struct hr_perf *perf, bool colour) {
  struct advice_page page = {.console = {.out = out, .colour = colour}, .advice = advice};
  put_head(&page);
  put_items(&page, true, "Advised", "Nothing found that saves anything and serves as well.");
  if (advice->n_proposals) put_items(&page, false, "Examined, not advised", "Nothing.");
  put_foot(&page, perf);
  if (page.console.out_of_memory) return HR_NO_MEMORY;
  return ferror(out) ? HR_IO_ERROR : HR_OK;
}

/* ---- JSON ------------------------------------------------------------------------------------------ */

struct advice_json_writer {
  struct hr__json json;
  const struct hr_advice *advice;
};

static void put_pair(struct advice_json_writer *writer, cJSON *object, uint32_t candidate, size_t metric) {
  const struct hr_advice *advice = writer->advice;
  struct hr_advice_metric pair = hr__advice_metric(advice, candidate, metric, advice->n_replications);
  cJSON *inner = hr__json_object(&writer->json, object, hr__metric_rows[advice->metrics[metric].id].path);
  hr__json_finite(&writer->json, inner, "before", pair.before);
  hr__json_finite(&writer->json, inner, "after", pair.after);
}

static void put_group(struct advice_json_writer *writer, cJSON *object, uint32_t candidate, size_t first) {
  for (size_t i = 0; i < HR__A_GROUP_METRICS; i++) put_pair(writer, object, candidate, first + i);
}

/* Writes the tenants that use the capacity that would change, with the metrics of all jobs of each tenant. */
static void put_tenants(struct advice_json_writer *writer, cJSON *object, const struct hr__proposal *proposal) {
  const struct hr_advice *advice = writer->advice;
  cJSON *list = hr__json_array(&writer->json, object, "tenants");
  for (uint32_t i = 0; i < advice->profile.n_tenants; i++) {
    double gpu_hours = hr__run_profile_tenant_hours(&advice->profile, i, proposal->class_, proposal->pool);
    if (gpu_hours <= 0) continue;
    cJSON *inner = hr__json_append(&writer->json, list, cJSON_CreateObject());
    hr__json_text(&writer->json, inner, "tenant", advice->config.trace->tenants.text[i]);
    hr__json_number(&writer->json, inner, "gpu_hours", gpu_hours);
    put_group(writer, inner, proposal->candidate, advice->tenant_at[i]);
  }
}

static void json_put_goals(struct advice_json_writer *writer, cJSON *object, uint32_t candidate) {
  const struct hr_advice *advice = writer->advice;
  cJSON *list = hr__json_array(&writer->json, object, "goals");
  for (size_t i = 0; i < advice->goals.n_goals; i++) {
    const struct hr__goal *goal = &advice->goals.goals[i];
    struct hr_advice_metric value = hr__advice_goal(advice, candidate, i, advice->n_replications);
    cJSON *inner = hr__json_append(&writer->json, list, cJSON_CreateObject());
    hr__json_text(&writer->json, inner, "goal", goal->text);
    hr__json_finite(&writer->json, inner, "before", value.before);
    hr__json_finite(&writer->json, inner, "after", value.after);
    hr__json_bool(&writer->json, inner, "met", hr__goal_violation(goal, value.after) == 0);
  }
}

static void json_put_item(struct advice_json_writer *writer, cJSON *list, size_t place) {
  struct hr__json *json = &writer->json;
  const struct hr_advice *advice = writer->advice;
  const struct hr__proposal *proposal = &advice->proposals[place];
  struct hr_advice_item item;
  hr_advice_item(advice, place, &item);
  cJSON *inner = hr__json_append(json, list, cJSON_CreateObject());
  hr__json_text(json, inner, "kind", hr_advice_kind_name(item.kind));
  hr__json_text(json, inner, "tenant", item.tenant);
  hr__json_text(json, inner, "class", item.class_);
  hr__json_text(json, inner, "pool", item.pool);
  char change[sizeof proposal->from + sizeof proposal->to + 4];
  snprintf(change, sizeof change, "%s -> %s", item.from, item.to);
  hr__json_text(json, inner, "change", change);
  cJSON *set = hr__json_array(json, inner, "set");
  for (size_t i = 0; i < item.n_set; i++) hr__json_append(json, set, cJSON_CreateString(item.set[i]));
  cJSON *usd = hr__json_object(json, inner, "monthly_usd");
  hr__json_finite(&writer->json, usd, "mean", item.monthly_usd.mean);
  hr__json_finite(&writer->json, usd, "low", item.monthly_usd.low);
  hr__json_finite(&writer->json, usd, "high", item.monthly_usd.high);
  cJSON *metrics = hr__json_object(json, inner, "metrics");
  put_group(writer, metrics, proposal->candidate, hr__advice_group_metric(advice, proposal->class_, 0));
  put_pair(writer, metrics, proposal->candidate, HR__A_LOST);
  if (item.figure) {
    cJSON *figure = hr__json_object(json, inner, "figure");
    hr__json_text(json, figure, "metric", item.figure);
    hr__json_finite(&writer->json, figure, "before", item.figure_value.before);
    hr__json_finite(&writer->json, figure, "after", item.figure_value.after);
    hr__json_finite(&writer->json, figure, "change", item.figure_change.mean);
    hr__json_finite(&writer->json, figure, "low", item.figure_change.low);
    hr__json_finite(&writer->json, figure, "high", item.figure_change.high);
  }
  json_put_goals(writer, inner, proposal->candidate);
  put_tenants(writer, inner, proposal);
  hr__json_notes(json, hr__json_array(json, inner, "assumed"), item.assumed);
  if (item.reason) hr__json_text(json, inner, "reason", item.reason);
}

static void json_put_items(struct advice_json_writer *writer, cJSON *root, const char *key, bool advised) {
  cJSON *list = hr__json_array(&writer->json, root, key);
  for (size_t i = 0; i < writer->advice->n_proposals; i++)
    if (writer->advice->proposals[i].advised == advised) json_put_item(writer, list, i);
}

static void put_base(struct advice_json_writer *writer, cJSON *root) {
  const struct hr_advice *advice = writer->advice;
  cJSON *base = hr__json_object(&writer->json, root, "base");
  for (size_t i = 0; i < HR__A_GROUPS + HR__A_GROUP_METRICS; i++) {
    const struct hr_metric *info = &hr__metric_rows[advice->metrics[i].id];
    if (i == HR__A_GROUPS + HR__A_GROUP_COST || i == HR__A_ETTR || i == HR__A_ENERGY) continue;
    hr__json_finite(&writer->json, base, info->path,
                    hr__advice_metric(advice, advice->base, i, advice->n_replications).before);
  }
}

static void put_uses(struct advice_json_writer *writer, cJSON *root) {
  const struct hr_advice *advice = writer->advice;
  struct hr__json *json = &writer->json;
  cJSON *list = hr__json_array(json, root, "uses");
  for (uint32_t pool = 0; pool < advice->profile.n_pools; pool++) {
    for (uint32_t class_ = 0; class_ < HR_N_CLASSES; class_++) {
      double gpu_hours =
          hr__run_profile_gpu_hours(hr__run_profile_use(&advice->profile, class_, pool)->allocated_milli_us);
      if (gpu_hours <= 0) continue;
      cJSON *inner = hr__json_append(json, list, cJSON_CreateObject());
      hr__json_text(json, inner, "pool", hr__advice_pool(advice, pool)->name);
      hr__json_text(json, inner, "class", class_ ? hr_job_class_name((enum hr_job_class)class_) : NULL);
      hr__json_number(json, inner, "gpu_hours", gpu_hours);
      hr__json_number(json, inner, "pool_utilization", hr__run_profile_utilization(&advice->profile, pool));
    }
  }
}

static void json_put_head(struct advice_json_writer *writer, cJSON *root) {
  struct hr__json *json = &writer->json;
  const struct hr_advise_config *config = &writer->advice->config;
  hr__json_head(json, root, config->scenario->name, config->trace->source, config->trace->format);
  hr__json_seed(json, root, "seed", config->scenario->seed);
  hr__json_number(json, root, "confidence", config->scenario->replications.confidence);
  hr__json_count(json, root, "replications", writer->advice->n_replications);
}

enum hr_status hr_advice_write_json(const char *path, const struct hr_advice *advice, const struct hr_perf *perf,
                                    struct hr_error *error) {
  static const struct hr_perf nothing = {0};
  struct advice_json_writer writer = {.advice = advice};
  struct hr__json *json = &writer.json;
  cJSON *root = cJSON_CreateObject();
  if (!perf) perf = &nothing;
  json_put_head(&writer, root);
  put_base(&writer, root);
  put_uses(&writer, root);
  json_put_items(&writer, root, "advice", true);
  json_put_items(&writer, root, "rejected", false);
  hr__json_count(json, root, "runs", hr__runner_runs(advice->runner));
  cJSON *notes = hr__json_array(json, root, "notes");
  hr__json_notes(json, notes, &advice->config.scenario->notes);
  hr__json_notes(json, notes, &advice->config.trace->notes);
  hr__json_notes(json, notes, &advice->notes);
  cJSON *inner = hr__json_object(json, root, "perf");
  hr__json_number(json, inner, "load_s", perf->load_s);
  hr__json_number(json, inner, "sim_s", perf->sim_s);
  hr__json_count(json, inner, "threads", advice->config.n_threads);
  hr__json_number(json, inner, "peak_rss_mib", perf->peak_rss_mib);
  return hr__json_write(json, root, path, error);
}
