/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lines of text about the metrics of a run. A line is a template: "{queue.max}" stands for the value of the metric with
 * this path, "{-path}" for the negative value, and "{s}" for a plural s unless the last value was 1.
 */

#include "report/tables/metric_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* When a line is printed: if its first metric is known; if all are known; if any is known and not 0; if all are known
   and the last text is not negative. */
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
     "{oom_kills.count} kill{s} of {oom_kills.jobs} job{s}; {oom_kills.back_off_gpu_hours} GPU hours in back-off"}};
enum { N_LINES = sizeof lines / sizeof *lines };

/* ---- Templates --------------------------------------------------------------------------------------- */

/* Returns the value of the metric whose path is the `length` bytes at `path`. */
static double value_of(const struct hr_summary *summary, const char *path, size_t length, enum hr_unit *unit) {
  bool is_negated = path[0] == '-';
  enum hr__metric metric = hr__metric_find(path + is_negated, length - is_negated);
  if (metric == HR__N_METRICS) return HR__UNKNOWN;
  *unit = hr__metric_rows[metric].unit;
  double value = hr__metric_of_run(metric, summary).value;
  return is_negated && value != 0 ? -value : is_negated ? HR__UNKNOWN : value;
}

/* Writes the template with the values of the metrics. Returns whether its rule allows to print it. */
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

/* ---- Lists ------------------------------------------------------------------------------------------- */

static bool is_in_a_line(const char *path) {
  char word[HR__METRIC_BYTES + 2];
  snprintf(word, sizeof word, "{%s}", path);
  for (size_t i = 0; i < N_LINES; i++)
    if (strstr(lines[i].template, word)) return true;
  return false;
}

/* Writes the value of a metric to `text` if the metric is listed and known in this run. */
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
  for (unsigned i = 0; i < HR__N_METRICS; i++)
    if (is_listed((enum hr__metric)i, summary, text))
      fprintf(page->out, "| %s | %s |\n", hr__metric_rows[i].title, text);
}
