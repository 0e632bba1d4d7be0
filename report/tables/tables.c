/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of the output that tables, pages and JSON files share: JSON trees, and lines of text about a run, which are its
   metrics, its policy, series of values as bars, and alerts. */

#include "report/tables/tables.h"

#include "base/output_file.h"
#include "base/text.h"
#include "headroom/policies.h"
#include "headroom/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- JSON: values ---------------------------------------------------------------------------------- */

void hr__json_text(struct hr__json *json, cJSON *object, const char *key, const char *text) {
  if (!text) {
    hr__json_null(json, object, key);
    return;
  }
  char *utf8 = hr__utf8_copy(text);
  if (!utf8 || !cJSON_AddStringToObject(object, key, utf8)) json->failed = true;
  free(utf8);
}

cJSON *hr__json_object(struct hr__json *json, cJSON *object, const char *key) {
  char *utf8 = hr__utf8_copy(key);
  cJSON *child = utf8 ? cJSON_AddObjectToObject(object, utf8) : NULL;
  if (!child) json->failed = true;
  free(utf8);
  return child;
}

void hr__json_head(struct hr__json *json, cJSON *root, const char *scenario, const char *file, const char *format) {
  hr__json_text(json, root, "headroom", hr_version());
  hr__json_text(json, root, "scenario", scenario);
  cJSON *trace = hr__json_object(json, root, "trace");
  hr__json_text(json, trace, "file", file);
  hr__json_text(json, trace, "format", format);
}

/* ---- JSON: output ---------------------------------------------------------------------------------- */

static void begin_line(FILE *out, unsigned depth) {
  fprintf(out, "\n%*s", (int)(2 * depth), "");
}

/* Writes the string at `text`; returns the text after it. */
static const char *write_string(FILE *out, const char *text) {
  const char *end = text + 1;
  while (*end != '"') end += *end == '\\' ? 2 : 1;
  end++;
  fwrite(text, 1, (size_t)(end - text), out);
  return end;
}

/* Writes `text`, the compact output of cJSON, with one key per line and an indentation of two spaces per level. */
static void write_laid_out(FILE *out, const char *text) {
  unsigned depth = 0;
  while (*text) {
    if (*text == '"') {
      text = write_string(out, text);
      continue;
    }
    char byte = *text++;
    bool opens = byte == '{' || byte == '[', closes = byte == '}' || byte == ']';
    if (closes) begin_line(out, --depth);
    fputc(byte, out);
    if (opens && (*text == '}' || *text == ']'))
      fputc(*text++, out);
    else if (opens || byte == ',')
      begin_line(out, depth += opens);
    else if (byte == ':')
      fputc(' ', out);
  }
  fputc('\n', out);
}

char *hr__json_print(const struct hr__json *json, cJSON *tree) {
  char *text = json->failed ? NULL : cJSON_PrintUnformatted(tree), *copy = text ? strdup(text) : NULL;
  cJSON_Delete(tree);
  cJSON_free(text);
  return copy;
}

enum hr_status hr__json_write(const struct hr__json *json, cJSON *tree, const char *path, struct hr_error *error) {
  char *text = json->failed ? NULL : cJSON_PrintUnformatted(tree);
  cJSON_Delete(tree);
  if (!text) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  struct hr__output_file file;
  enum hr_status status = hr__output_open(&file, path, error);
  if (status == HR_OK) {
    write_laid_out(file.stream, text);
    status = hr__output_commit(&file, error);
  }
  cJSON_free(text);
  return status;
}

/* ---- Lines of text ---------------------------------------------------------------------------------- */

void hr__put_title(struct hr__console *console, const char *before, const char *name, size_t width, bool keep_end) {
  char *fitted = hr__fitted(console, name, width, keep_end);
  if (!fitted) return;
  fprintf(console->out, "%sHeadroom %s%s%s%s\n\n", hr__bold(console), hr_version(), *fitted ? before : "", fitted,
          hr__plain(console));
  free(fitted);
}

void hr__put_cell(struct hr__console *console, const char *text, size_t width, bool keep_end) {
  char *fitted = hr__fitted(console, text, width, keep_end);
  if (!fitted) return;
  fprintf(console->out, "%s%*s", fitted, (int)(width + 1 - hr__width_of(fitted, strlen(fitted))), "");
  free(fitted);
}

void hr__put_more(struct hr__console *console, size_t count, size_t max_rows) {
  char more[HR__NUMBER_BYTES];
  if (count > max_rows)
    fprintf(console->out, "%sand %s more%s\n", hr__dim(console), hr__count_text(count - max_rows, more),
            hr__plain(console));
}

bool hr__sentence_begin(struct hr__console *console, struct hr__sentence *sentence) {
  *sentence = (struct hr__sentence){0};
  sentence->out = open_memstream(&sentence->text, &sentence->size);
  if (!sentence->out) console->out_of_memory = true;
  return sentence->out;
}

void hr__sentence_end(struct hr__console *console, struct hr__sentence *sentence, const char *label) {
  if (fclose(sentence->out) == 0)
    hr__put_field(console, label, "%s", sentence->text);
  else
    console->out_of_memory = true;
  free(sentence->text);
}

/* ---- Metrics --------------------------------------------------------------------------------------- */

/* Lines of text about the metrics of a run. A line is a template: "{queue.max}" is replaced by the value of the metric
   with this path, "{-path}" by the negative value, and "{s}" by a plural s unless the last value was 1. */

/* The condition for printing a line. IF_FIRST_KNOWN: its first metric is known. IF_ALL_KNOWN: all of its metrics are
   known. IF_NOT_ZERO: at least one metric is known and not 0. IF_LAST_POSITIVE: all metrics are known and the last
   value, which is negated for "{-path}", is not negative. */
enum line_rule { IF_FIRST_KNOWN, IF_ALL_KNOWN, IF_NOT_ZERO, IF_LAST_POSITIVE };

static const struct line {
  enum hr__metric_part part;
  const char *label;
  enum line_rule rule;
  const char *template;
} lines[] = {
    {HR__PART_JOBS, "jobs", IF_FIRST_KNOWN,
     "{jobs.submitted} submitted, {jobs.completed} completed, {jobs.rejected} rejected, {jobs.unfinished} unfinished"},
    {HR__PART_JOBS, "jobs", IF_NOT_ZERO,
     "of the completed, {jobs.outcome_failed} failed and {jobs.outcome_cancelled} were cancelled in the trace"},
    {HR__PART_GPUS, "GPUs", IF_ALL_KNOWN,
     "{utilization.submit_window} allocated over the submit window, {submit_window_s}"},
    {HR__PART_GPUS, "GPUs", IF_ALL_KNOWN, "{utilization.makespan} allocated over the makespan, {makespan_s}"},
    {HR__PART_FRAGMENTS, "fragments", IF_ALL_KNOWN, "{fragmentation.submit_window} of GPUs over the submit window"},
    {HR__PART_FRAGMENTS, "fragments", IF_ALL_KNOWN, "{fragmentation.makespan} of GPUs over the makespan"},
    {HR__PART_FRAGMENTS, "fragments", IF_ALL_KNOWN,
     "maximum {fragmentation.max}; {fragmentation.stranded} stranded; largest gang {fragmentation.largest_gang.mean} "
     "GPUs, minimum {fragmentation.largest_gang.min}"},
    {HR__PART_HOURS, "GPU hours", IF_FIRST_KNOWN, "{gpu_hours}"},
    {HR__PART_QUEUE, "queue", IF_FIRST_KNOWN,
     "{queue.mean} jobs on average, maximum {queue.max}; {jobs.backfilled} job{s} backfilled"},
    {HR__PART_COST, "cost", IF_FIRST_KNOWN, "{cost.total_usd}; {monthly_usd} a month (730 h of this demand)"},
    {HR__PART_COST, "cost", IF_FIRST_KNOWN,
     "{cost.usd_per_completed_job} per completed job, {cost.usd_per_goodput_gpu_hour} per useful GPU hour"},
    {HR__PART_IDLE, "idle", IF_FIRST_KNOWN, "{cost.idle_usd}, {cost.idle_share} of the cost"},
    {HR__PART_SHARED, "shared", IF_NOT_ZERO, "{cost.shared_usd}"},
    {HR__PART_ON_DEMAND, "on demand", IF_LAST_POSITIVE,
     "{cost.all_on_demand_usd} for the same GPU hours; {cost.saving_vs_on_demand} saved"},
    {HR__PART_ON_DEMAND, "on demand", IF_LAST_POSITIVE,
     "{cost.all_on_demand_usd} for the same GPU hours; {-cost.saving_vs_on_demand} more was paid"},
    {HR__PART_GOODPUT, "goodput", IF_FIRST_KNOWN,
     "{goodput.fraction} of GPU hours; lost {goodput.lost_gpu_hours}, checkpoints {goodput.checkpoint_gpu_hours}, "
     "restarts {goodput.restart_gpu_hours}"},
    {HR__PART_SPOT, "spot", IF_FIRST_KNOWN,
     "{spot.gpu_hours} GPU hours, {spot.reclaims} reclaim{s} ({spot.reclaims_per_node_hour} per node hour), "
     "{spot.jobs_interrupted} job{s} interrupted; {spot.availability} available"},
    {HR__PART_OOM, "out of mem", IF_FIRST_KNOWN,
     "{oom_kills.count} kill{s} of {oom_kills.jobs} job{s}; {oom_kills.back_off_gpu_hours} GPU hours in back-off"},
    {HR__PART_FAULTS, "failures", IF_FIRST_KNOWN,
     "{faults.failures}, stopped jobs {faults.jobs_stopped} times; nodes {faults.availability} available"},
    {HR__PART_FAULTS, "failures", IF_ALL_KNOWN,
     "a job is interrupted every {faults.mtti_s} (95 %: {faults.mtti_low_s} to {faults.mtti_high_s}); ETTR "
     "{faults.ettr}"},
    {HR__PART_MAINTENANCE, "maintenance", IF_FIRST_KNOWN,
     "{maintenance.groups} times, stopped {maintenance.jobs_stopped} jobs; GPU hours planned "
     "{maintenance.planned_gpu_hours}, unplanned {maintenance.unplanned_gpu_hours}; {maintenance.availability} "
     "available"},
    {HR__PART_ENERGY, "energy", IF_FIRST_KNOWN,
     "{energy.it_kwh}: jobs {energy.jobs_kwh}, idle {energy.idle_kwh}; {energy.site_kwh} with the facility"},
    {HR__PART_ENERGY, "energy", IF_FIRST_KNOWN,
     "{energy.mean_kw} on average, maximum {energy.peak_kw}; PUE {energy.pue}"},
    {HR__PART_ENERGY, "battery", IF_FIRST_KNOWN,
     "{battery.grid_kwh} from the grid; batteries charged {battery.charged_kwh}, discharged {battery.discharged_kwh}; "
     "carbon by batteries {battery.carbon_kg}"},
    {HR__PART_ENERGY, "carbon", IF_FIRST_KNOWN, "{carbon.operational_kg} of CO2e, jobs {carbon.jobs_kg}"},
    {HR__PART_ENERGY, "carbon", IF_FIRST_KNOWN, "{carbon.of_no_wait} of the carbon of the same jobs without a wait"},
    {HR__PART_ENERGY, "carbon", IF_FIRST_KNOWN, "{carbon.embodied_kg} embodied in the hardware for this time"},
    {HR__PART_ENERGY, "energy", IF_FIRST_KNOWN, "{carbon.energy_usd}, {carbon.usd_per_kwh} per kWh"},
    {HR__PART_ENERGY, "water", IF_FIRST_KNOWN, "{carbon.water_l}"},
    {HR__PART_DATA, "data", IF_FIRST_KNOWN,
     "{data.waiting_gpu_hours} GPU hours waited for data, {data.waiting_share} of all"},
    {HR__PART_DATA, "data", IF_FIRST_KNOWN,
     "{data.read_gb} read, {data.cached_share} from caches; {data.moved_gb} over links"},
    {HR__PART_DATA, "data", IF_FIRST_KNOWN, "{data.storage_usd} for storage, {data.egress_usd} for links"}};
enum { N_LINES = sizeof lines / sizeof *lines };

/* ---- Metrics: templates ---------------------------------------------------------------------------- */

/* Returns the value of a metric. Its path consists of the `length` bytes at `path`. With a '-' before the path, returns
   the negative value; unknown if the value is 0. */
static double value_of(const struct hr_summary *summary, const char *path, size_t length, enum hr_unit *unit) {
  bool is_negated = path[0] == '-';
  enum hr__metric metric = hr__metric_find(path + is_negated, length - is_negated);
  if (metric == HR__N_METRICS) return HR__UNKNOWN;
  *unit = hr__metric_rows[metric].unit;
  double value = hr__metric_of_run(metric, summary).value;
  return is_negated && value != 0 ? -value : is_negated ? HR__UNKNOWN : value;
}

/* Writes the template with the values of the metrics. Returns whether its rule is met, so that the line may be
   printed. */
static bool expand(const struct line *line, const struct hr_summary *summary, FILE *out) {
  bool first_known = false, all_known = true, not_zero = false, is_first = true;
  double last = 0;
  for (const char *at = line->template; *at;) {
    size_t plain = strcspn(at, "{"), length = at[plain] ? strcspn(at + plain, "}") - 1 : 0;
    const char *path = at + plain + 1;
    char text[HR__METRIC_BYTES];
    enum hr_unit unit = HR_UNIT_COUNT;
    fwrite(at, 1, plain, out);
    if (!at[plain]) break;
    at = path + length + 1;
    if (length == 1) {
      fputs(last == 1 ? "" : "s", out);
      continue;
    }
    last = value_of(summary, path, length, &unit);
    fputs(hr__metric_text(unit, last, text), out);
    if (is_first) first_known = !isnan(last);
    is_first = false;
    all_known = all_known && !isnan(last);
    not_zero = not_zero || (!isnan(last) && last != 0);
  }
  if (line->rule == IF_FIRST_KNOWN) return first_known;
  if (line->rule == IF_NOT_ZERO) return not_zero;
  return all_known && (line->rule == IF_ALL_KNOWN || last >= 0);
}

void hr__put_metric_lines(struct hr__console *console, enum hr__metric_part part, const struct hr_summary *summary) {
  bool is_first = true;
  for (size_t i = 0; i < N_LINES; i++) {
    char *text = NULL;
    size_t size = 0;
    if (lines[i].part != part) continue;
    FILE *out = open_memstream(&text, &size);
    bool shown = out && expand(&lines[i], summary, out);
    if (!out || fclose(out) != 0)
      console->out_of_memory = true;
    else if (shown)
      hr__put_field(console, is_first ? lines[i].label : "", "%s", text);
    if (shown) is_first = false;
    free(text);
  }
}

/* ---- Metrics: lists -------------------------------------------------------------------------------- */

static bool is_in_a_line(const char *path) {
  char word[HR__METRIC_BYTES + 2];
  snprintf(word, sizeof word, "{%s}", path);
  for (size_t i = 0; i < N_LINES; i++)
    if (strstr(lines[i].template, word)) return true;
  return false;
}

/* Writes the value of a metric to `text`. Returns whether the metric is listed and known in this run. */
static bool is_listed(enum hr__metric metric, const struct hr_summary *summary, char *text) {
  const struct hr_metric *row = &hr__metric_rows[metric];
  bool stoppable = hr__metric_section(metric) != HR__SECTION_GOODPUT || summary->stoppable;
  double value = hr__metric_of_run(metric, summary).value;
  hr__metric_text(row->unit, value, text);
  return row->flags & HR_METRIC_LISTED && stoppable && !isnan(value);
}

void hr__put_other_metrics(struct hr__console *console, const struct hr_summary *summary) {
  char text[HR__METRIC_BYTES];
  for (unsigned i = 0; i < HR__N_METRICS; i++)
    if (is_listed((enum hr__metric)i, summary, text) && !is_in_a_line(hr__metric_rows[i].path))
      hr__put_field(console, "", "%s: %s", hr__metric_rows[i].title, text);
}

void hr__markdown_metrics(struct hr__console *page, const struct hr_summary *summary) {
  char text[HR__METRIC_BYTES];
  bool unpriced = hr__is_unpriced(summary);
  for (unsigned i = 0; i < HR__N_METRICS; i++) {
    if (!is_listed((enum hr__metric)i, summary, text)) continue;
    bool unknown = unpriced && hr__metric_rows[i].unit == HR_UNIT_DOLLARS;
    fprintf(page->out, "| %s | %s |\n", hr__metric_rows[i].title, unknown ? "unknown" : text);
  }
}

/* ---- The policy ------------------------------------------------------------------------------------ */

/* Describes a policy and its parameters as text. */

char *hr__policy_words(const struct hr_policy_choice *choice) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  const char *separator = ": ";
  fputs(choice->ops->name, out);
  for (size_t i = 0; i < choice->n_params; i++) {
    char buffer[HR__NUMBER_BYTES];
    const struct hr_param *param = &choice->ops->params[i];
    const char *value = hr_policy_choice_text(choice, i, buffer);
    if (param->advanced && strcmp(value, param->fallback) == 0) continue;
    fprintf(out, "%s%s %s", separator, param->key, value);
    separator = ", ";
  }
  if (fclose(out) == 0) return text;
  free(text);
  return NULL;
}

/* ---- Sparklines ------------------------------------------------------------------------------------ */

/* Bars in a line of text. A bar is a Unicode block character with a height in eighths, or an ASCII character that is
   darker for larger values. */

enum { STEPS = HR__SPARK_HEIGHTS - 1 };

/* Returns sum / max as a height from 0 to `steps`, rounded to an integer. The height is 0 only if the sum or `max` is
   0. */
static uint8_t height_of(hr__wide sum, hr__wide max, uint8_t steps) {
  if (sum == 0 || max == 0) return 0;
  if (sum >= max) return steps;
  uint8_t height = (uint8_t)((2 * steps * sum + max) / (2 * max));
  return height ? height : 1;
}

/* Returns the height of the mean over the buckets [from, to), relative to `top`. */
static uint8_t mean_height(const struct hr__buckets *closed, uint32_t from, uint32_t to, uint64_t top) {
  hr__wide sum = 0;
  int64_t passed_us = 0;
  for (uint32_t i = from; i < to; i++) {
    sum += closed->bucket[i].sum;
    passed_us += hr__buckets_span_us(closed, i);
  }
  return height_of(sum, (hr__wide)top * (uint64_t)passed_us, STEPS);
}

static uint8_t peak_height(const struct hr__buckets *closed, uint32_t from, uint32_t to, uint64_t top) {
  uint64_t max = 0;
  for (uint32_t i = from; i < to; i++)
    if (closed->bucket[i].max > max) max = closed->bucket[i].max;
  return height_of(max, top, STEPS);
}

void hr__sparkline_of_buckets(struct hr__sparkline *line, enum hr__spark_value value, const struct hr__buckets *closed,
                              uint64_t top) {
  line->n = closed->n < HR__SPARK_CELLS ? closed->n : HR__SPARK_CELLS;
  line->blank_zeros = false;
  for (uint32_t i = 0; i < line->n; i++) {
    uint32_t from = (uint32_t)((uint64_t)i * closed->n / line->n);
    uint32_t to = (uint32_t)((uint64_t)(i + 1) * closed->n / line->n);
    line->height[i] =
        value == HR__SPARK_PEAKS ? peak_height(closed, from, to, top) : mean_height(closed, from, to, top);
  }
}

void hr__sparkline_of_counts(struct hr__sparkline *line, const uint64_t *counts, uint32_t count, uint64_t top) {
  line->n = count < HR__SPARK_CELLS ? count : HR__SPARK_CELLS;
  line->blank_zeros = true;
  for (uint32_t i = 0; i < line->n; i++) line->height[i] = height_of(counts[i], top, HR__SPARK_HEIGHTS);
}

static const char *shape_of(const struct hr__sparkline *line, uint8_t height, const char *const *shapes) {
  if (!line->blank_zeros) return shapes[height];
  return height == 0 ? " " : shapes[height - 1];
}

void hr__put_sparkline(struct hr__console *console, const struct hr__sparkline *line, uint64_t top) {
  static const char *const blocks[HR__SPARK_HEIGHTS] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static const char *const letters[HR__SPARK_HEIGHTS] = {"_", ".", ":", "-", "=", "+", "*", "#"};
  const char *const *shapes = console->unicode ? blocks : letters;
  char text[HR__NUMBER_BYTES];
  size_t room = HR__LINE_WIDTH - HR__LABEL_WIDTH - line->n - 1;
  hr__put_label(console, "");
  for (uint32_t i = 0; i < line->n; i++) fputs(shape_of(line, line->height[i], shapes), console->out);
  hr__count_text(top, text);
  if (strlen(text) <= room) fprintf(console->out, "%s %s%s", hr__dim(console), text, hr__plain(console));
  fputc('\n', console->out);
}

/* ---- Alerts ---------------------------------------------------------------------------------------- */

enum { RULE_WIDTH = 15, WHERE_WIDTH = 15, MAX_ROWS = 12 };

static int64_t length_us(const struct hr_alert *alert) {
  return alert->end_us - alert->begin_us;
}

/* ---- Alerts: sentences ----------------------------------------------------------------------------- */

static const char *subject_of(const struct hr_alert *alert) {
  return alert->where[0] ? alert->where : "no class";
}

static void put_words(FILE *out, const struct hr_alert *alert) {
  char lasted[HR__NUMBER_BYTES], percent[HR__NUMBER_BYTES], count[2][HR__NUMBER_BYTES];
  hr__duration_text(hr__seconds(length_us(alert)), lasted);
  hr__fixed_text(100 * alert->value, 1, percent);
  hr__count_text(alert->count, count[0]);
  hr__count_text((uint64_t)alert->value, count[1]);
  switch (alert->rule) {
  case HR_ALERT_UNDERUSED:
  case HR_ALERT_SATURATED:
    fprintf(out, "%s %% of the GPUs of pool %s were allocated on average, for %s", percent, alert->where, lasted);
    break;
  case HR_ALERT_RECLAIMS:
    fprintf(out, "up to %s %% of the nodes of pool %s were reclaimed within the window (%s), for %s", percent,
            alert->where, count[0], lasted);
    break;
  case HR_ALERT_UNSAVED:
    fprintf(out, "%s job%s of %s ran too long without a checkpoint, up to %s at once, for %s", count[0],
            hr__plural(alert->count), subject_of(alert), count[1], lasted);
    break;
  case HR_ALERT_WAITING:
    fprintf(out, "%s job%s of %s waited longer than allowed, up to %s at once, for %s", count[0],
            hr__plural(alert->count), subject_of(alert), count[1], lasted);
    break;
  case HR_ALERT_LATENCY:
    fprintf(out,
            "the p95 TTFT of service %s was up to %.1f times its baseline, for %s; %s request%s exceeded the bound",
            alert->where, alert->value, lasted, count[0], hr__plural(alert->count));
    break;
  case HR_ALERT_IDLE_REPLICA:
    fprintf(out, "ready replicas of service %s had no request for too long, up to %s at once, %s time%s, for %s",
            alert->where, count[1], count[0], hr__plural(alert->count), lasted);
    break;
  case HR_ALERT_KV_MEMORY:
    fprintf(out, "sequences of service %s lost their KV memory %s time%s, up to %s in a minute, for %s", alert->where,
            count[0], hr__plural(alert->count), count[1], lasted);
    break;
  case HR_ALERT_HOT:
    fprintf(out, "GPUs of pool %s had up to %.1f degrees C, %s time%s, for %s", alert->where, alert->value, count[0],
            hr__plural(alert->count), lasted);
    break;
  default:
    fprintf(out, "tenant %s spent %s %% of its monthly budget, over budget for %s", alert->where, percent, lasted);
  }
}

char *hr__alert_words(const struct hr_alert *alert) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (out) put_words(out, alert);
  if (out && fclose(out) == 0) return text;
  free(text);
  return NULL;
}

static bool counts_jobs(enum hr_alert_rule rule) {
  return rule == HR_ALERT_UNSAVED || rule == HR_ALERT_WAITING;
}

/* ---- Alerts: table --------------------------------------------------------------------------------- */

struct hr__alert_group hr__alert_group_at(const struct hr_alert *list, size_t count) {
  struct hr__alert_group group = {.longest = list};
  for (; group.count < count; group.count++) {
    const struct hr_alert *alert = &list[group.count];
    if (alert->rule != list->rule || strcmp(alert->where, list->where) != 0) break;
    group.sum_us += length_us(alert);
    if (length_us(alert) > length_us(group.longest)) group.longest = alert;
  }
  return group;
}

static void put_value(const struct hr_alert *alert, char buffer[HR__NUMBER_BYTES + 8]) {
  if (counts_jobs(alert->rule)) {
    hr__count_text((uint64_t)alert->value, buffer);
    strcat(buffer, alert->value > 1 ? " jobs" : " job");
    return;
  }
  bool is_heat = alert->rule == HR_ALERT_HOT;
  hr__fixed_text((is_heat ? 1 : 100) * alert->value, is_heat || alert->value < 9.9995 ? 1 : 0, buffer);
  strcat(buffer, is_heat ? " C" : " %");
}

/* The values of a row: count, total and longest duration, begin of the longest alert, and its value. */
struct row_texts {
  char text[4][HR__NUMBER_BYTES], value[HR__NUMBER_BYTES + 8];
};

static void make_row(const struct hr__alert_group *group, int64_t clock_us, struct row_texts *row) {
  const struct hr_alert *longest = group->longest;
  put_value(longest, row->value);
  hr__count_text(group->count, row->text[0]);
  hr__duration_text(hr__seconds(group->sum_us), row->text[1]);
  hr__duration_text(hr__seconds(length_us(longest)), row->text[2]);
  hr__duration_text(hr__seconds(longest->begin_us + clock_us), row->text[3]);
}

static void put_row(struct hr__console *console, const struct hr__alert_group *group, int64_t clock_us) {
  const struct hr_alert *longest = group->longest;
  struct row_texts row;
  make_row(group, clock_us, &row);
  const int value_width = strlen(row.value) < 8 ? 8 : (int)strlen(row.value) + 1; /* at least one blank before it */
  fprintf(console->out, "%-*s", RULE_WIDTH, hr_alert_name(longest->rule));
  hr__put_cell(console, longest->where[0] ? longest->where : "-", WHERE_WIDTH - 1, false);
  fprintf(console->out, "%5s%12s%12s%12s%*s\n", row.text[0], row.text[1], row.text[2], row.text[3], value_width,
          row.value);
}

void hr__put_alerts(struct hr__console *console, const struct hr_alerts *alerts, int64_t clock_us) {
  const struct hr_alert *list;
  size_t count = alerts ? hr_alerts_list(alerts, &list) : 0, n_groups = 0;
  if (count == 0) return;
  fprintf(console->out, "\n%s%-*s%-*s%5s%12s%12s%12s%8s%s\n", hr__bold(console), RULE_WIDTH, "alert", WHERE_WIDTH,
          "subject", "count", "total", "longest", "began", "value", hr__plain(console));
  for (size_t i = 0; i < count; n_groups++) {
    struct hr__alert_group group = hr__alert_group_at(list + i, count - i);
    if (n_groups < MAX_ROWS) put_row(console, &group, clock_us);
    i += group.count;
  }
  hr__put_more(console, n_groups, MAX_ROWS);
}

/* ---- Alerts: Markdown ------------------------------------------------------------------------------ */

static void markdown_row(struct hr__console *page, const struct hr__alert_group *group, int64_t clock_us) {
  const struct hr_alert *longest = group->longest;
  struct row_texts row;
  make_row(group, clock_us, &row);
  fprintf(page->out, "| %s: ", hr_alert_name(longest->rule));
  hr__markdown_text(page, longest->where[0] ? longest->where : "-");
  fprintf(page->out, " | %s | %s | %s | %s | %s |\n", row.text[0], row.text[1], row.text[2], row.text[3], row.value);
}

void hr__markdown_alerts(struct hr__console *page, const struct hr_alerts *alerts, int64_t clock_us) {
  const struct hr_alert *list;
  size_t count = alerts ? hr_alerts_list(alerts, &list) : 0;
  if (count == 0) return;
  hr__markdown_head(page, "Alert", " count | total | longest | longest began | value ");
  for (size_t i = 0; i < count;) {
    struct hr__alert_group group = hr__alert_group_at(list + i, count - i);
    markdown_row(page, &group, clock_us);
    i += group.count;
  }
}
