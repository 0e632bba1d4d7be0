/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output of `headroom trace` and `headroom fit` as tables of 80 columns and as JSON: checks, transformations and
   statistics of traces, and distributions that are fitted to logs of failures. */

#include "base/output_file.h"
#include "base/text.h"
#include "headroom/report.h"
#include "headroom/trace_files.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/trace_tools.h"
#include "report/tables/tables.h"
#include "traces/tools/check.h"
#include "traces/tools/stats.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Checks ---------------------------------------------------------------------------------------- */

/* The table begins with the most severe findings. Each finding is printed with the first affected job, its meaning and
   advice. Notes are printed in one or two sentences. */

struct trace_check_page {
  struct hr__console console;
  const struct hr_trace_check *check;
};

static void put_check_head(struct trace_check_page *page) {
  struct hr__console *console = &page->console;
  const struct hr_trace_check *check = page->check;
  const struct hr_trace *trace = check->config.trace;
  const struct hr_cluster_spec *cluster = check->config.cluster;
  char jobs[HR__NUMBER_BYTES], span[HR__NUMBER_BYTES], counts[HR_N_SEVERITIES][HR__NUMBER_BYTES];
  hr__put_title(console, ": check of ", trace->source, HR__LINE_WIDTH - 30, true);
  hr__put_field(console, "trace", "%s job%s (%s), submitted over %s", hr__count_text(trace->n_jobs, jobs),
                hr__plural(trace->n_jobs), trace->format,
                hr__duration_text(hr__seconds(trace->submit_us[trace->n_jobs - 1]), span));
  if (cluster)
    hr__put_field(console, "cluster", "%s: %s GPU%s", check->config.cluster_name,
                  hr__count_text(hr_cluster_spec_gpus(cluster), jobs), hr__plural(hr_cluster_spec_gpus(cluster)));
  size_t n[HR_N_SEVERITIES];
  for (unsigned i = 0; i < HR_N_SEVERITIES; i++) {
    n[i] = hr_trace_check_count(check, (enum hr_severity)i);
    hr__count_text(n[i], counts[i]);
  }
  hr__put_field(console, "found", "%s error%s, %s warning%s, %s note%s", counts[HR_SEVERITY_ERROR],
                hr__plural(n[HR_SEVERITY_ERROR]), counts[HR_SEVERITY_WARNING], hr__plural(n[HR_SEVERITY_WARNING]),
                counts[HR_SEVERITY_NOTE], hr__plural(n[HR_SEVERITY_NOTE]));
}

static void put_loads(struct trace_check_page *page) {
  enum { TYPES_WIDTH = 26 };
  struct hr__console *console = &page->console;
  if (page->check->n_loads == 0) return;
  fprintf(console->out, "\n  %s%-*s %12s %15s %9s %9s%s\n", hr__bold(console), TYPES_WIDTH, "requested GPU types",
          "GPUs", "GPU hours", "load", "days over", hr__plain(console));
  for (size_t i = 0; i < page->check->n_loads; i++) {
    const struct hr_offered_load *load = &page->check->loads[i];
    char gpus[HR__NUMBER_BYTES], hours[HR__NUMBER_BYTES], days[HR__NUMBER_BYTES];
    char percent[HR__NUMBER_BYTES];
    snprintf(days, sizeof days, "%" PRIu32 "/%" PRIu32, load->over, load->days);
    fputs("  ", console->out);
    hr__put_cell(console, load->gpu_types, TYPES_WIDTH, false);
    fprintf(console->out, "%12s %15s %7s %% %9s\n", hr__count_text(load->gpus, gpus),
            hr__fixed_text(load->gpu_hours, 0, hours), hr__fixed_text(100 * load->load, 1, percent), days);
  }
}

/* Prints the first affected job, if it is known. */
static void put_place(struct trace_check_page *page, const struct hr_finding *finding) {
  const struct hr_trace *trace = page->check->config.trace;
  char buffer[HR_JOB_ID_BUFFER], when[HR__NUMBER_BYTES];
  if (finding->job.id == HR_NONE) return;
  const char *id = hr_trace_job_id(trace, finding->job, buffer);
  int64_t submit_us = trace->submit_us[finding->job.id];
  if (submit_us == 0)
    hr__put_field(&page->console, "first", "job %s, submitted at the start of the trace", id);
  else
    hr__put_field(&page->console, "first", "job %s, submitted %s after the first job", id,
                  hr__duration_text(hr__seconds(submit_us), when));
}

static void put_finding(struct trace_check_page *page, const struct hr_finding *finding) {
  struct hr__console *console = &page->console;
  const char *meaning = hr_finding_meaning(finding->code), *advice = hr_finding_advice(finding->code);
  fprintf(console->out, "\n%s%s: %s%s\n", hr__bold(console), hr_severity_name(finding->severity),
          hr_finding_name(finding->code), hr__plain(console));
  hr__put_field(console, "found", "%s", finding->text);
  put_place(page, finding);
  if (meaning) hr__put_field(console, "meaning", "%s", meaning);
  if (advice) hr__put_field(console, "advice", "%s", advice);
}

/* Prints a note in one or two sentences. */
static void put_note(struct trace_check_page *page, const struct hr_finding *finding) {
  const char *meaning = hr_finding_meaning(finding->code);
  hr__put_field(&page->console, "", "%s: %s%s%s", hr_finding_name(finding->code), finding->text, meaning ? "; " : "",
                meaning ? meaning : "");
}

enum hr_status hr_trace_check_write(const char *path, const struct hr_trace_check *check, bool colour,
                                    struct hr_error *error) {
  struct hr__output_file file;
  enum hr_status status = hr__output_open(&file, path, error);
  if (status != HR_OK) return status;
  struct trace_check_page page = {.console = {.out = file.stream, .colour = colour}, .check = check};
  put_check_head(&page);
  put_loads(&page);
  size_t i = 0;
  for (; i < check->n_findings && check->findings[i].severity != HR_SEVERITY_NOTE; i++)
    put_finding(&page, &check->findings[i]);
  if (i < check->n_findings) fprintf(file.stream, "\n%snotes%s\n", hr__bold(&page.console), hr__plain(&page.console));
  for (; i < check->n_findings; i++) put_note(&page, &check->findings[i]);
  if (!page.console.out_of_memory) return hr__output_commit(&file, error);
  hr__output_abandon(&file);
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
}

/* ---- Checks: JSON (docs/reference/schemas/trace-check.schema.json) --------------------------------- */

static cJSON *put_trace(struct hr__json *json, cJSON *root, const struct hr_trace *trace, double span_s) {
  cJSON *object = hr__json_object(json, root, "trace");
  hr__json_text(json, object, "file", trace->source);
  hr__json_text(json, object, "format", trace->format);
  hr__json_count(json, object, "jobs", trace->n_jobs);
  hr__json_count(json, object, "left_out", trace->n_skipped);
  hr__json_number(json, object, "span_s", span_s);
  return object;
}

static void put_cluster(struct hr__json *json, cJSON *root, const struct hr_trace_check *check) {
  const struct hr_cluster_spec *cluster = check->config.cluster;
  if (!cluster) {
    hr__json_null(json, root, "cluster");
    return;
  }
  cJSON *object = hr__json_object(json, root, "cluster");
  hr__json_text(json, object, "scenario", check->config.cluster_name);
  hr__json_count(json, object, "gpus", hr_cluster_spec_gpus(cluster));
  cJSON *loads = hr__json_array(json, object, "loads");
  for (size_t i = 0; i < check->n_loads; i++) {
    const struct hr_offered_load *load = &check->loads[i];
    cJSON *item = hr__json_item(json, loads);
    hr__json_text(json, item, "gpu_types", load->gpu_types);
    hr__json_count(json, item, "gpus", load->gpus);
    hr__json_number(json, item, "gpu_hours", load->gpu_hours);
    hr__json_number(json, item, "load", load->load);
    hr__json_count(json, item, "days", load->days);
    hr__json_count(json, item, "days_over", load->over);
    hr__json_number(json, item, "load_within", load->within);
    hr__json_number(json, item, "worst_day_load", load->worst);
    hr__json_count(json, item, "worst_day", load->worst_day);
    hr__json_number(json, item, "backlog_h", load->backlog_h);
  }
}

static void json_put_finding(struct hr__json *json, cJSON *findings, const struct hr_trace *trace,
                             const struct hr_finding *finding) {
  cJSON *object = hr__json_item(json, findings);
  char buffer[HR_JOB_ID_BUFFER];
  bool has_job = finding->job.id != HR_NONE;
  hr__json_text(json, object, "code", hr_finding_name(finding->code));
  hr__json_text(json, object, "severity", hr_severity_name(finding->severity));
  hr__json_text(json, object, "text", finding->text);
  hr__json_text(json, object, "meaning", hr_finding_meaning(finding->code));
  hr__json_text(json, object, "advice", hr_finding_advice(finding->code));
  hr__json_text(json, object, "subject", finding->subject);
  hr__json_number_if(json, object, "count", finding->of > 0, (double)finding->count);
  hr__json_number_if(json, object, "of", finding->of > 0, (double)finding->of);
  hr__json_number_if(json, object, "line", finding->line > 0, (double)finding->line);
  hr__json_text(json, object, "job", has_job ? hr_trace_job_id(trace, finding->job, buffer) : NULL);
  hr__json_number_if(json, object, "submit_s", has_job, has_job ? hr__seconds(trace->submit_us[finding->job.id]) : 0);
}

enum hr_status hr_trace_check_write_json(const char *path, const struct hr_trace_check *check, struct hr_error *error) {
  const struct hr_trace *trace = check->config.trace;
  struct hr__json json = {false};
  cJSON *root = cJSON_CreateObject();
  hr__json_text(&json, root, "headroom", hr_version());
  put_trace(&json, root, trace, hr__seconds(trace->submit_us[trace->n_jobs - 1]));
  put_cluster(&json, root, check);
  hr__json_count(&json, root, "errors", hr_trace_check_count(check, HR_SEVERITY_ERROR));
  hr__json_count(&json, root, "warnings", hr_trace_check_count(check, HR_SEVERITY_WARNING));
  hr__json_count(&json, root, "notes", hr_trace_check_count(check, HR_SEVERITY_NOTE));
  cJSON *allowed = hr__json_array(&json, root, "allowed");
  for (unsigned code = 0; code < HR_N_FINDINGS; code++)
    if (check->config.allowed[code])
      hr__json_append(&json, allowed, cJSON_CreateString(hr_finding_name((enum hr_finding_code)code)));
  cJSON *findings = hr__json_array(&json, root, "findings");
  for (size_t i = 0; i < check->n_findings; i++) json_put_finding(&json, findings, trace, &check->findings[i]);
  return hr__json_write(&json, root, path, error);
}

/* ---- Transformations ------------------------------------------------------------------------------- */

/* The result of a transformation; JSON: docs/reference/schemas/transform.schema.json. */

/* ---- Transformations: the table -------------------------------------------------------------------- */

static void put_size(struct hr__console *console, const char *label, const char *path,
                     const struct hr_trace_size *size) {
  char jobs[HR__NUMBER_BYTES], hours[HR__NUMBER_BYTES], span[HR__NUMBER_BYTES];
  char *name = hr__fitted(console, path, HR__LINE_WIDTH - HR__LABEL_WIDTH, true);
  if (!name) return;
  hr__put_label(console, label);
  fprintf(console->out, "%s\n", name);
  free(name);
  hr__put_field(console, "", "%s job%s, %s GPU hours, submitted within %s", hr__count_text(size->n_jobs, jobs),
                hr__plural(size->n_jobs), hr__fixed_text(size->gpu_hours, 1, hours),
                hr__duration_text((double)size->span_us / (double)HR_SECOND_US, span));
}

enum hr_status hr_transformation_print(FILE *out, const struct hr_transformation *done) {
  struct hr__console console = {.out = out};
  for (size_t i = 0; i < done->n_inputs; i++)
    put_size(&console, i ? "" : "read", done->inputs[i].path, &done->inputs[i].size);
  if (done->method) hr__put_field(&console, done->action, "%s", done->method);
  if (done->seeded) hr__put_field(&console, "seed", "%llu", (unsigned long long)done->seed);
  struct hr_trace_size size = done->out;
  size.n_jobs = done->written->n_jobs;
  put_size(&console, "written", done->path, &size);
  if (console.out_of_memory) return HR_NO_MEMORY;
  return fflush(out) != 0 || ferror(out) ? HR_IO_ERROR : HR_OK;
}

/* ---- Transformations: JSON ------------------------------------------------------------------------- */

static void put_json_size(struct hr__json *json, cJSON *object, const struct hr_trace_size *size) {
  hr__json_count(json, object, "jobs", size->n_jobs);
  hr__json_number(json, object, "gpu_hours", size->gpu_hours);
  hr__json_number(json, object, "span_s", (double)size->span_us / (double)HR_SECOND_US);
}

static void put_json_inputs(struct hr__json *json, cJSON *root, const struct hr_transformation *done) {
  cJSON *list = hr__json_array(json, root, "in");
  for (size_t i = 0; i < done->n_inputs; i++) {
    cJSON *item = hr__json_item(json, list);
    hr__json_text(json, item, "file", done->inputs[i].path);
    put_json_size(json, item, &done->inputs[i].size);
  }
}

static void put_json_output(struct hr__json *json, cJSON *root, const struct hr_transformation *done) {
  const struct hr_trace_written *written = done->written;
  struct hr_trace_size out = done->out;
  out.n_jobs = written->n_jobs;
  cJSON *object = hr__json_object(json, root, "out");
  hr__json_text(json, object, "file", done->path);
  hr__json_text(json, object, "format", written->format);
  put_json_size(json, object, &out);
  hr__json_count(json, object, "bytes", written->bytes);
  cJSON *lost = hr__json_array(json, object, "lost");
  for (uint32_t i = 0; i < written->n_losses; i++) {
    cJSON *item = hr__json_item(json, lost);
    hr__json_text(json, item, "field", written->losses[i].field);
    hr__json_text(json, item, "loss", hr_loss_name(written->losses[i].kind));
    hr__json_count(json, item, "jobs", written->losses[i].n_jobs);
  }
}

enum hr_status hr_transformation_write_json(const char *path, const struct hr_transformation *done,
                                            struct hr_error *error) {
  struct hr__json json = {0};
  cJSON *root = cJSON_CreateObject();
  hr__json_text(&json, root, "headroom", hr_version());
  hr__json_text(&json, root, "action", done->action);
  hr__json_text(&json, root, "method", done->method);
  if (done->seeded)
    hr__json_seed(&json, root, "seed", done->seed);
  else
    hr__json_null(&json, root, "seed");
  put_json_inputs(&json, root, done);
  put_json_output(&json, root, done);
  return hr__json_write(&json, root, path, error);
}

/* ---- Generated workloads --------------------------------------------------------------------------- */

enum hr_status hr_workload_model_figures_write(const struct hr_workload_model *model,
                                               const struct hr_workload_model_spec *spec,
                                               const struct hr_workload_model_figures *figures, const char *path,
                                               struct hr_error *error) {
  struct hr__json json = {0};
  cJSON *root = cJSON_CreateObject();
  hr__json_text(&json, root, "headroom", hr_version());
  hr__json_text(&json, root, "model", model->name);
  hr__json_text(&json, root, "source", model->source);
  hr__json_seed(&json, root, "seed", spec->seed);
  hr__json_count(&json, root, "jobs", figures->jobs);
  hr__json_count(&json, root, "users", figures->users);
  hr__json_count(&json, root, "tenants", figures->tenants);
  hr__json_number(&json, root, "span_s", figures->span_s);
  hr__json_number(&json, root, "gpu_hours", figures->gpu_hours);
  hr__json_number(&json, root, "mean_gpus", figures->mean_gpus);
  if (spec->load > 0) {
    hr__json_number(&json, root, "load_asked", spec->load);
    hr__json_number(&json, root, "load", figures->mean_gpus / ((double)spec->nodes * spec->gpus_per_node));
    hr__json_number(&json, root, "stretch", 1); /* always 1, for readers of an older version of the format */
  }
  hr__json_count(&json, root, "most_gpus", figures->max_gpus);
  hr__json_count(&json, root, "too_large", figures->too_large);
  return hr__json_write(&json, root, path, error);
}

/* ---- Statistics ------------------------------------------------------------------------------------ */

/* The statistics of a trace; JSON: docs/reference/schemas/trace-stats.schema.json. */

/* Columns are separated by at least two spaces. */
enum { NAME_WIDTH = 15, MAX_ROWS = 10 };

struct trace_stats_page {
  struct hr__console console;
  const struct hr_trace_stats *stats;
};

typedef const char *writer(double value, char *buffer);

static const char *count_text(double value, char *buffer) {
  return hr__fixed_text(value, value < 1000 && value != floor(value) ? 1 : 0, buffer);
}

/* Formats a duration in at most ten characters, such as "23 h 59 m" or "12 d 3 h". Returns the text. */
static const char *time_text(double seconds, char *buffer) {
  char *minutes = strstr(hr__duration_text(seconds, buffer), " min");
  if (minutes) memmove(minutes + 2, minutes + 4, strlen(minutes + 4) + 1);
  return buffer;
}

static const char *percent_text(double share, char *buffer) {
  hr__fixed_text(100 * share, 1, buffer);
  return strcat(buffer, " %");
}

/* ---- Statistics: spreads --------------------------------------------------------------------------- */

static void put_spread(struct trace_stats_page *page, const char *label, const struct hr__spread *spread,
                       writer *show) {
  char text[HR__NUMBER_BYTES];
  if (spread->count == 0) return;
  const double figures[] = {spread->mean, spread->p50, spread->p90, spread->p95, spread->p99, spread->max};
  fprintf(page->console.out, "%-8s", label);
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
    fprintf(page->console.out, "  %10s", show(figures[i], text));
  fputc('\n', page->console.out);
}

static void put_spreads(struct trace_stats_page *page) {
  const struct hr_trace_stats *stats = page->stats;
  struct hr__console *console = &page->console;
  fprintf(console->out, "\n%s%20s%12s%12s%12s%12s%12s%s\n", hr__bold(console), "mean", "p50", "p90", "p95", "p99",
          "max", hr__plain(console));
  put_spread(page, "run time", &stats->run_s, time_text);
  put_spread(page, "GPUs", &stats->gpus, count_text);
  put_spread(page, "gap", &stats->arrivals.gap_s, time_text);
  put_spread(page, "wait", &stats->wait_s, time_text);
  put_spread(page, "limit", &stats->limit_ratio, hr__factor_text);
  if (stats->arrivals.gap_s.count == 0 && stats->limit_ratio.count == 0 && stats->wait_s.count == 0) return;
  fprintf(console->out, "%s%s%s%s%s\n", hr__dim(console),
          stats->arrivals.gap_s.count ? "gap: from one submit to the next." : "",
          stats->wait_s.count ? " wait: as recorded." : "", stats->limit_ratio.count ? " limit: limit / run time." : "",
          hr__plain(console));
}

/* ---- Statistics: groups ---------------------------------------------------------------------------- */

static void put_row(struct trace_stats_page *page, const struct hr__stats_row *row) {
  struct hr__console *console = &page->console;
  const struct hr_trace_stats *stats = page->stats;
  char text[6][HR__NUMBER_BYTES];
  double share = stats->gpu_hours > 0 ? row->gpu_hours / stats->gpu_hours : 0;
  hr__put_cell(console, row->name[0] ? row->name : "(none)", NAME_WIDTH, false);
  fprintf(console->out, " %9s  %7s  %10s  %7s  %10s  %10s\n", hr__count_text(row->jobs, text[0]),
          percent_text((double)row->jobs / stats->trace->n_jobs, text[1]), hr__fixed_text(row->gpu_hours, 0, text[2]),
          percent_text(share, text[3]), time_text(row->run_s.p50, text[4]), time_text(row->run_s.p95, text[5]));
}

static void put_rows(struct trace_stats_page *page, const char *title, enum hr__stats_by by) {
  struct hr__console *console = &page->console;
  const struct hr__stats_rows *rows = &page->stats->by[by];
  char more[HR__NUMBER_BYTES];
  if (rows->count == 0) return;
  fprintf(console->out, "\n%s%-*s  %9s  %7s  %10s  %7s  %10s  %10s%s\n", hr__bold(console), NAME_WIDTH, title, "jobs",
          "share", "GPU hours", "share", "median run", "p95 run", hr__plain(console));
  for (size_t i = 0; i < rows->count && i < MAX_ROWS; i++) put_row(page, &rows->at[i]);
  if (rows->count > MAX_ROWS)
    fprintf(console->out, "%sand %s more (listed by --json)%s\n", hr__dim(console),
            hr__count_text(rows->count - MAX_ROWS, more), hr__plain(console));
}

/* ---- Statistics: arrivals -------------------------------------------------------------------------- */

static void put_bars(struct trace_stats_page *page, const uint64_t *counts, uint32_t n, const char *label,
                     const char *ends) {
  struct hr__sparkline line;
  uint64_t max = 0;
  for (uint32_t i = 0; i < n; i++) max = counts[i] > max ? counts[i] : max;
  hr__sparkline_of_counts(&line, counts, n, max);
  hr__put_field(&page->console, label, "%s", ends);
  hr__put_sparkline(&page->console, &line, max);
}

/* Appends "; WORDS VALUE" to `text` if the value is known. */
static void put_if_known(char *text, size_t size, const char *words, double value) {
  char number[HR__NUMBER_BYTES];
  size_t used = strlen(text);
  if (isfinite(value)) snprintf(text + used, size - used, "; %s %s", words, hr__fixed_text(value, 2, number));
}

static void put_bursts(struct trace_stats_page *page) {
  const struct hr__arrivals *arrivals = &page->stats->arrivals;
  char text[200], number[HR__NUMBER_BYTES];
  if (!isfinite(arrivals->dispersion)) return;
  snprintf(text, sizeof text, "variance / mean of jobs per hour %s (1: Poisson arrivals)",
           hr__fixed_text(arrivals->dispersion, 1, number));
  put_if_known(text, sizeof text, "autocorrelation after a day", arrivals->after_a_day);
  put_if_known(text, sizeof text, "after a week", arrivals->after_a_week);
  put_if_known(text, sizeof text, "burstiness", arrivals->burstiness);
  hr__put_field(&page->console, "bursts", "%s", text);
}

static void put_arrivals(struct trace_stats_page *page) {
  const struct hr__arrivals *arrivals = &page->stats->arrivals;
  struct hr__console *console = &page->console;
  char text[4][HR__NUMBER_BYTES];
  fputc('\n', console->out);
  put_bars(page, arrivals->by_hour, 24, "by hour", "jobs by hour of the clock, 0 to 23");
  put_bars(page, arrivals->by_weekday, 7, "by day",
           arrivals->has_weekdays ? "jobs by weekday, Monday to Sunday"
                                  : "jobs by day of a week that begins at time 0");
  if (arrivals->hours)
    hr__put_field(console, "arrivals",
                  "%s jobs per hour on average, maximum %s; %s submitted at the same time as another",
                  hr__fixed_text(arrivals->per_hour, arrivals->per_hour < 1 ? 3 : 1, text[0]),
                  hr__fixed_text(arrivals->busiest, 0, text[1]), hr__count_text(arrivals->together, text[2]));
  put_bursts(page);
}

/* ---- Statistics: concentration --------------------------------------------------------------------- */

static void put_concentration(struct trace_stats_page *page, const char *label, const char *what, const char *parties,
                              enum hr__concentrated of) {
  const struct hr__concentration *shares = &page->stats->concentration[of];
  char text[5][HR__NUMBER_BYTES];
  if (shares->parties < 2) return;
  hr__put_field(&page->console, label,
                "of %s %s, the largest has %s of the %s, the largest 10 %% have %s; half belongs to %s; Gini %s",
                hr__count_text(shares->parties, text[0]), parties, percent_text(shares->first, text[1]), what,
                percent_text(shares->tenth, text[2]), percent_text(shares->for_half, text[3]),
                hr__fixed_text(shares->gini, 2, text[4]));
}

static void put_shares(struct trace_stats_page *page) {
  char text[HR__NUMBER_BYTES];
  const struct hr_trace_stats *stats = page->stats;
  put_concentration(page, "users", "jobs", "users", HR__JOBS_OF_USERS);
  put_concentration(page, "", "GPU hours", "users", HR__GPU_TIME_OF_USERS);
  put_concentration(page, "tenants", "GPU hours", "tenants", HR__GPU_TIME_OF_TENANTS);
  put_concentration(page, "jobs", "GPU hours", "jobs", HR__GPU_TIME_OF_JOBS);
  if (isfinite(stats->size_and_run_time))
    hr__put_field(&page->console, "related", "rank correlation of GPUs and run time: %s (Spearman)",
                  hr__fixed_text(stats->size_and_run_time, 2, text));
  if (isfinite(stats->user_in_run_time))
    hr__put_field(&page->console, "", "users explain %s of the variance of log(run time)",
                  percent_text(fmax(0, stats->user_in_run_time), text));
}

/* ---- Statistics: fits ------------------------------------------------------------------------------ */

static const char *parameters_of(enum hr__family family, const struct hr__distribution_fit *fit, char *buffer,
                                 size_t size) {
  char a[HR__NUMBER_BYTES], b[HR__NUMBER_BYTES];
  switch (family) {
  case HR__EXPONENTIAL:
    snprintf(buffer, size, "mean %s", hr__duration_text(fit->b, b));
    break;
  case HR__LOG_NORMAL:
    snprintf(buffer, size, "mu %s, sigma %s", hr__fixed_text(fit->a, 3, a), hr__fixed_text(fit->b, 3, b));
    break;
  case HR__WEIBULL:
    snprintf(buffer, size, "shape %s, scale %s", hr__fixed_text(fit->a, 3, a), hr__duration_text(fit->b, b));
    break;
  default:
    snprintf(buffer, size, "alpha %s, minimum %s", hr__fixed_text(fit->a, 3, a), hr__duration_text(fit->b, b));
    break;
  }
  return buffer;
}

static void put_fits(struct trace_stats_page *page, const char *title, const struct hr__distribution_fit *fits) {
  struct hr__console *console = &page->console;
  enum hr__family best = hr__best_family(fits);
  bool any = false;
  for (unsigned i = 0; i < HR__N_FAMILIES; i++) {
    char count[HR__NUMBER_BYTES], distance[HR__NUMBER_BYTES], parameters[80];
    if (!fits[i].known) continue;
    if (!any)
      fprintf(console->out, "\n%s%-18s%10s  %-34s %9s%s\n", hr__bold(console), title, "values", "maximum likelihood",
              "distance", hr__plain(console));
    any = true;
    fprintf(console->out, "%-18s%10s  %-34s %9s%s\n", hr__family_name((enum hr__family)i),
            hr__count_text(fits[i].count, count),
            parameters_of((enum hr__family)i, &fits[i], parameters, sizeof parameters),
            hr__fixed_text(fits[i].ks, 3, distance), i == best ? "  best" : "");
  }
}

/* ---- Statistics: all parts ------------------------------------------------------------------------- */

static void put_statistics_head(struct trace_stats_page *page) {
  struct hr__console *console = &page->console;
  const struct hr_trace_stats *stats = page->stats;
  char text[4][HR__NUMBER_BYTES];
  hr__put_title(console, ": statistics of ", stats->trace->source, HR__LINE_WIDTH - 30, true);
  hr__put_field(console, "trace", "%s job%s (%s), submitted over %s", hr__count_text(stats->trace->n_jobs, text[0]),
                hr__plural(stats->trace->n_jobs), stats->trace->format, hr__duration_text(stats->span_s, text[1]));
  if (stats->trace->n_skipped)
    hr__put_field(console, "skipped", "%s row%s", hr__count_text(stats->trace->n_skipped, text[0]),
                  hr__plural(stats->trace->n_skipped));
  hr__put_field(console, "GPU hours", "%s%s%s%s",
                hr__fixed_text(stats->gpu_hours, stats->gpu_hours < 1000 ? 1 : 0, text[0]),
                stats->span_s > 0 ? "; " : "",
                stats->span_s > 0 ? hr__fixed_text(stats->gpu_hours * 3600 / stats->span_s, 1, text[1]) : "",
                stats->span_s > 0 ? " GPUs requested on average over the submit window" : "");
}

static void put_all(struct trace_stats_page *page) {
  put_statistics_head(page);
  put_spreads(page);
  put_rows(page, "GPUs requested", HR__STATS_BY_SIZE);
  put_rows(page, "class", HR__STATS_BY_CLASS);
  put_rows(page, "tenant", HR__STATS_BY_TENANT);
  put_rows(page, "user", HR__STATS_BY_USER);
  put_rows(page, "GPU type", HR__STATS_BY_GPU_TYPE);
  put_rows(page, "outcome", HR__STATS_BY_OUTCOME);
  put_arrivals(page);
  put_shares(page);
  put_fits(page, "run time", page->stats->run_fits);
  put_fits(page, "submit gap", page->stats->gap_fits);
}

enum hr_status hr_trace_stats_write(const char *path, const struct hr_trace_stats *stats, unsigned style,
                                    struct hr_error *error) {
  struct hr__output_file file;
  enum hr_status status = hr__output_open(&file, path, error);
  if (status != HR_OK) return status;
  struct trace_stats_page page = {
      .console = {.out = file.stream, .colour = style & HR_STYLE_COLOUR, .unicode = style & HR_STYLE_UNICODE},
      .stats = stats};
  put_all(&page);
  if (!page.console.out_of_memory) return hr__output_commit(&file, error);
  hr__output_abandon(&file);
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
}

/* ---- Statistics: JSON ------------------------------------------------------------------------------ */

static void json_put_spread(struct hr__json *json, cJSON *parent, const char *key, const struct hr__spread *spread) {
  if (spread->count == 0) {
    hr__json_null(json, parent, key);
    return;
  }
  cJSON *object = hr__json_object(json, parent, key);
  hr__json_count(json, object, "count", spread->count);
  const struct {
    const char *key;
    double value;
  } figures[] = {{"mean", spread->mean}, {"sd", spread->sd},   {"min", spread->min}, {"p10", spread->p10},
                 {"p25", spread->p25},   {"p50", spread->p50}, {"p75", spread->p75}, {"p90", spread->p90},
                 {"p95", spread->p95},   {"p99", spread->p99}, {"max", spread->max}};
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
    hr__json_number(json, object, figures[i].key, figures[i].value);
}

/* ---- Statistics: JSON: fits ------------------------------------------------------------------------ */

/* Names of the parameters of each distribution family. A family has at most two parameters; unused names are NULL. */
static const char *const parameters[HR__N_FAMILIES][2] = {[HR__EXPONENTIAL] = {NULL, "mean"},
                                                          [HR__LOG_NORMAL] = {"mu", "sigma"},
                                                          [HR__WEIBULL] = {"shape", "scale"},
                                                          [HR__PARETO_TAIL] = {"alpha", "from"}};

static void json_put_fits(struct hr__json *json, cJSON *parent, const char *key,
                          const struct hr__distribution_fit *fits) {
  cJSON *array = hr__json_array(json, parent, key);
  enum hr__family best = hr__best_family(fits);
  for (unsigned i = 0; i < HR__N_FAMILIES; i++) {
    if (!fits[i].known) continue;
    cJSON *object = hr__json_item(json, array);
    hr__json_text(json, object, "family", hr__family_name((enum hr__family)i));
    hr__json_count(json, object, "count", fits[i].count);
    if (parameters[i][0]) hr__json_number(json, object, parameters[i][0], fits[i].a);
    hr__json_number(json, object, parameters[i][1], fits[i].b);
    hr__json_number(json, object, "log_likelihood", fits[i].log_likelihood);
    hr__json_number(json, object, "aic", fits[i].aic);
    hr__json_number(json, object, "ks", fits[i].ks);
    hr__json_bool(json, object, "best", i == best);
  }
}

static void put_curve(struct hr__json *json, cJSON *parent, const double *curve_s) {
  cJSON *array = hr__json_array(json, parent, "run_quantiles_s");
  for (int i = 0; i < HR__CURVE_POINTS; i++) {
    char number[HR__NUMBER_BYTES];
    hr__json_append(json, array, cJSON_CreateRaw(hr__decimal_text(curve_s[i], number)));
  }
}

/* ---- Statistics: JSON: groups ---------------------------------------------------------------------- */

static void json_put_row(struct hr__json *json, cJSON *array, const struct hr_trace_stats *stats, enum hr__stats_by by,
                         const struct hr__stats_row *row) {
  bool has_outcome = stats->trace->outcome != NULL;
  cJSON *object = hr__json_item(json, array);
  hr__json_text(json, object, "name", row->name);
  hr__json_count(json, object, "jobs", row->jobs);
  hr__json_number(json, object, "jobs_share", (double)row->jobs / stats->trace->n_jobs);
  hr__json_number(json, object, "gpu_hours", row->gpu_hours);
  hr__json_number_if(json, object, "gpu_hours_share", stats->gpu_hours > 0, row->gpu_hours / stats->gpu_hours);
  hr__json_number_if(json, object, "failed", has_outcome, (double)row->failed);
  hr__json_number_if(json, object, "cancelled", has_outcome, (double)row->cancelled);
  json_put_spread(json, object, "run_s", &row->run_s);
  if (by != HR__STATS_BY_SIZE) return;
  json_put_fits(json, object, "run_fits", row->fits);
  put_curve(json, object, row->curve_s);
}

static void put_groups(struct hr__json *json, cJSON *root, const struct hr_trace_stats *stats, size_t max_rows) {
  cJSON *by = hr__json_object(json, root, "by");
  for (unsigned i = 0; i < HR__N_STATS_BY; i++) {
    cJSON *array = hr__json_array(json, by, hr__stats_by_name((enum hr__stats_by)i));
    for (size_t k = 0; k < stats->by[i].count && (max_rows == 0 || k < max_rows); k++)
      json_put_row(json, array, stats, (enum hr__stats_by)i, &stats->by[i].at[k]);
  }
}

/* ---- Statistics: JSON: arrivals -------------------------------------------------------------------- */

static void put_counts(struct hr__json *json, cJSON *object, const char *key, const uint64_t *counts, size_t n) {
  cJSON *array = hr__json_array(json, object, key);
  for (size_t i = 0; i < n; i++) hr__json_append(json, array, cJSON_CreateNumber((double)counts[i]));
}

static void json_put_arrivals(struct hr__json *json, cJSON *root, const struct hr_trace_stats *stats) {
  const struct hr__arrivals *arrivals = &stats->arrivals;
  cJSON *object = hr__json_object(json, root, "arrivals");
  hr__json_bool(json, object, "dated", arrivals->has_weekdays);
  put_counts(json, object, "by_hour", arrivals->by_hour, 24);
  put_counts(json, object, "by_weekday", arrivals->by_weekday, 7);
  hr__json_count(json, object, "hours", arrivals->hours);
  hr__json_finite(json, object, "per_hour", arrivals->hours ? arrivals->per_hour : (double)NAN);
  hr__json_number_if(json, object, "busiest_hour", arrivals->hours > 0, arrivals->busiest);
  hr__json_finite(json, object, "dispersion_by_hour", arrivals->dispersion);
  hr__json_finite(json, object, "dispersion_by_day", arrivals->dispersion_by_day);
  hr__json_finite(json, object, "autocorrelation_day", arrivals->after_a_day);
  hr__json_finite(json, object, "autocorrelation_week", arrivals->after_a_week);
  hr__json_finite(json, object, "burstiness", arrivals->burstiness);
  hr__json_count(json, object, "together", arrivals->together);
  json_put_spread(json, object, "gap_s", &arrivals->gap_s);
  json_put_fits(json, object, "gap_fits", stats->gap_fits);
}

static void json_put_concentration(struct hr__json *json, cJSON *root, const struct hr_trace_stats *stats) {
  cJSON *all = hr__json_object(json, root, "concentration");
  for (unsigned i = 0; i < HR__N_CONCENTRATED; i++) {
    const struct hr__concentration *of = &stats->concentration[i];
    const char *key = hr__concentrated_name((enum hr__concentrated)i);
    if (of->parties == 0) {
      hr__json_null(json, all, key);
      continue;
    }
    cJSON *object = hr__json_object(json, all, key);
    hr__json_count(json, object, "parties", of->parties);
    hr__json_number(json, object, "gini", of->gini);
    hr__json_number(json, object, "first_share", of->first);
    hr__json_number(json, object, "first_tenth_share", of->tenth);
    hr__json_number(json, object, "parties_for_half", of->for_half);
  }
}

/* ---- Statistics: JSON: all parts ------------------------------------------------------------------- */

static cJSON *make_tree(struct hr__json *json, const struct hr_trace_stats *stats, size_t max_rows) {
  cJSON *root = cJSON_CreateObject();
  hr__json_text(json, root, "headroom", hr_version());
  cJSON *object = put_trace(json, root, stats->trace, stats->span_s);
  hr__json_number(json, object, "gpu_hours", stats->gpu_hours);
  hr__json_number_if(json, object, "gpus_asked_for", stats->span_s > 0, stats->gpu_hours * 3600 / stats->span_s);
  json_put_spread(json, root, "run_s", &stats->run_s);
  json_put_fits(json, root, "run_fits", stats->run_fits);
  put_curve(json, root, stats->curve_s);
  json_put_spread(json, root, "gpus", &stats->gpus);
  json_put_spread(json, root, "recorded_wait_s", &stats->wait_s);
  json_put_spread(json, root, "limit_ratio", &stats->limit_ratio);
  put_groups(json, root, stats, max_rows);
  json_put_arrivals(json, root, stats);
  json_put_concentration(json, root, stats);
  cJSON *correlation = hr__json_object(json, root, "correlation");
  hr__json_finite(json, correlation, "gpus_and_run_time", stats->size_and_run_time);
  hr__json_finite(json, correlation, "run_time_explained_by_user", stats->user_in_run_time);
  return root;
}

enum hr_status hr_trace_stats_write_json(const char *path, const struct hr_trace_stats *stats, struct hr_error *error) {
  struct hr__json json = {false};
  return hr__json_write(&json, make_tree(&json, stats, 0), path, error);
}

char *hr_trace_stats_json(const struct hr_trace_stats *stats, size_t max_rows) {
  struct hr__json json = {false};
  return hr__json_print(&json, make_tree(&json, stats, max_rows));
}

/* ---- Logs of failures ------------------------------------------------------------------------------ */

/* Distributions that are fitted to the intervals of a log of failures (docs/reference/failures.md). Intervals of length
   0, between failures at one instant, are included in the mean of the intervals, but the distributions are fitted
   without them. */

static const char *const keys[] = {
#define FAILURE_INTERVAL_KEY(name, key, words) key,
    HR_FAILURE_INTERVAL_TABLE(FAILURE_INTERVAL_KEY)
#undef FAILURE_INTERVAL_KEY
};
static const char *const labels[] = {
#define FAILURE_INTERVAL_WORDS(name, key, words) words,
    HR_FAILURE_INTERVAL_TABLE(FAILURE_INTERVAL_WORDS)
#undef FAILURE_INTERVAL_WORDS
};

/* The distributions. A parameter without a key is not printed. */
enum { EXPONENTIAL, WEIBULL, LOG_NORMAL, GAMMA, N_FITTED };
static const struct {
  const char *name, *key, *a, *b;
} fitted[N_FITTED] = {{"exponential", "exponential", NULL, "mean"},
                      {"Weibull", "weibull", "shape", "scale"},
                      {"log-normal", "log_normal", "mu", "sigma"},
                      {"gamma", "gamma", "shape", "scale"}};

struct interval_fits {
  struct hr__distribution_fit fits[N_FITTED];
  unsigned best; /* lowest Akaike information criterion; N_FITTED: none is known */
  double mean, median;
};

static bool fit(const struct hr_failure_sample *sample, struct interval_fits *fits) {
  struct hr__distribution_fit all[HR__N_FAMILIES];
  double sum = 0;
  uint32_t n = sample->count;
  *fits = (struct interval_fits){.best = N_FITTED, .mean = (double)NAN, .median = (double)NAN};
  if (n == 0) return true;
  if (!hr__fit_all(sample->hours, n, all)) return false;
  fits->fits[EXPONENTIAL] = all[HR__EXPONENTIAL];
  fits->fits[WEIBULL] = all[HR__WEIBULL];
  fits->fits[LOG_NORMAL] = all[HR__LOG_NORMAL];
  hr__fit_gamma(sample->hours, n, &fits->fits[GAMMA]);
  for (unsigned i = 0; i < N_FITTED; i++)
    if (fits->fits[i].known && (fits->best == N_FITTED || fits->fits[i].aic < fits->fits[fits->best].aic))
      fits->best = i;
  for (uint32_t i = 0; i < n; i++) sum += sample->hours[i];
  fits->mean = sum / ((double)n + sample->zeros);
  fits->median = (sample->hours[(n - 1) / 2] + sample->hours[n / 2]) / 2;
  return true;
}

static enum hr_status no_memory(const char *source, struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", source);
}

/* Checks that the log contains the system. */
static enum hr_status check_system(const char *source, const struct hr_failure_log *log, const char *system,
                                   struct hr_error *error) {
  char known[600] = "";
  for (uint32_t i = 0; i < log->n_groups; i++) {
    if (!system || strcmp(system, log->groups[i].name) == 0 || strcmp(system, log->all.name) == 0) return HR_OK;
    size_t length = strlen(known);
    snprintf(known + length, sizeof known - length, "%s%.40s", i ? ", " : "", log->groups[i].name);
  }
  bool none = log->n_groups == 1 && log->groups[0].name[0] == '\0';
  return hr_fail(error, HR_BAD_INPUT, "%s: no system '%.100s'; %s%s", source, system,
                 none ? "the log has no column 'system'" : "known: ", none ? "" : known);
}

static bool is_selected(const struct hr_failure_group *group, const char *system) {
  return !system || strcmp(system, group->name) == 0;
}

static double per_1000_node_days(const struct hr_failure_group *group) {
  double node_days = group->nodes * group->span_days;
  return node_days > 0 ? 1000 * group->failures / node_days : (double)NAN;
}

/* ---- Logs of failures: the table ------------------------------------------------------------------- */

static const char *number_text(double value, char *text) {
  double size = fabs(value);
  return isnan(value) ? "-" : hr__fixed_text(value, size < 10 ? 4 : size < 1000 ? 2 : 0, text);
}

static void put_fit(FILE *out, unsigned family, const struct hr__distribution_fit *at, bool best) {
  char text[HR__NUMBER_BYTES];
  fprintf(out, "    %-12s", fitted[family].name);
  fprintf(out, "%6s%10s", fitted[family].a ? fitted[family].a : "", fitted[family].a ? number_text(at->a, text) : "");
  fprintf(out, "%8s%12s", fitted[family].b, number_text(at->b, text));
  fprintf(out, "   distance %s%s\n", hr__fixed_text(at->ks, 3, text), best ? "  best" : "");
}

static enum hr_status put_sample(FILE *out, const char *source, const struct hr_failure_sample *sample,
                                 const char *label, struct hr_error *error) {
  struct interval_fits fits;
  char text[4][HR__NUMBER_BYTES];
  if (sample->count + sample->zeros == 0) return HR_OK;
  if (!fit(sample, &fits)) return no_memory(source, error);
  fprintf(out, "  hours %s: %s", label, hr__count_text(sample->count, text[0]));
  if (sample->zeros) fprintf(out, ", and %s of length 0", hr__count_text(sample->zeros, text[1]));
  fprintf(out, "; mean %s, median %s\n", number_text(fits.mean, text[2]), number_text(fits.median, text[3]));
  for (unsigned i = 0; i < N_FITTED; i++)
    if (fits.fits[i].known) put_fit(out, i, &fits.fits[i], i == fits.best);
  return HR_OK;
}

static void put_group_head(FILE *out, const struct hr_failure_group *group, bool is_all) {
  char text[4][HR__NUMBER_BYTES];
  double rate = per_1000_node_days(group);
  fputc('\n', out);
  if (group->name[0]) fprintf(out, "%s%.60s: ", is_all ? "" : "system ", is_all ? "all systems" : group->name);
  if (group->nodes) fprintf(out, "%s node%s, ", hr__count_text(group->nodes, text[0]), hr__plural(group->nodes));
  if (group->failures == 0) {
    fputs("intervals\n", out);
    return;
  }
  fprintf(out, "%s failure%s", hr__count_text(group->failures, text[1]), hr__plural(group->failures));
  if (group->span_days > 0) fprintf(out, " in %s days", hr__fixed_text(group->span_days, 0, text[2]));
  if (!isnan(rate)) fprintf(out, ", %s per 1,000 node-days", hr__fixed_text(rate, 3, text[3]));
  fputc('\n', out);
  if (!isnan(group->top_share))
    fprintf(out, "  %s %% of the failures are on 5 %% of the nodes\n",
            hr__fixed_text(100 * group->top_share, 1, text[0]));
  if (group->dropped)
    fprintf(out, "  repairs left out, as they end at their start or before: %s\n",
            hr__count_text(group->dropped, text[0]));
  if (group->duplicates)
    fprintf(out, "  failures that repeat another one (node, start and end): %s\n",
            hr__count_text(group->duplicates, text[0]));
}

static enum hr_status put_group(FILE *out, const char *source, const struct hr_failure_group *group, bool is_all,
                                struct hr_error *error) {
  enum hr_status status = HR_OK;
  put_group_head(out, group, is_all);
  for (unsigned kind = 0; kind < HR_N_FAILURE_INTERVALS && status == HR_OK; kind++)
    status = put_sample(out, source, &group->samples[kind], labels[kind], error);
  return status;
}

enum hr_status hr_failure_fits_print(FILE *out, const char *source, const struct hr_failure_log *log,
                                     const char *system, struct hr_error *error) {
  enum hr_status status = check_system(source, log, system, error);
  if (status != HR_OK) return status;
  char text[HR__NUMBER_BYTES];
  fprintf(out, "Failures of %s (%s)\n", source, log->format);
  if (log->n_negative)
    fprintf(out, "  rows left out, as they have a negative interval: %s\n", hr__count_text(log->n_negative, text));
  for (uint32_t i = 0; i < log->n_groups && status == HR_OK; i++)
    if (is_selected(&log->groups[i], system)) status = put_group(out, source, &log->groups[i], false, error);
  if (status == HR_OK && log->n_groups > 1 && is_selected(&log->all, system))
    status = put_group(out, source, &log->all, true, error);
  return status;
}

/* ---- Logs of failures: JSON ------------------------------------------------------------------------ */

static void add_fits(struct hr__json *json, cJSON *object, const struct interval_fits *fits) {
  for (unsigned i = 0; i < N_FITTED; i++) {
    const struct hr__distribution_fit *at = &fits->fits[i];
    cJSON *child = hr__json_object(json, object, fitted[i].key);
    if (fitted[i].a) hr__json_number_if(json, child, fitted[i].a, at->known, at->a);
    hr__json_number_if(json, child, fitted[i].b, at->known, at->b);
    hr__json_number_if(json, child, "log_likelihood", at->known, at->log_likelihood);
    hr__json_number_if(json, child, "aic", at->known, at->aic);
    hr__json_number_if(json, child, "ks", at->known, at->ks);
  }
  hr__json_text(json, object, "best", fits->best < N_FITTED ? fitted[fits->best].key : NULL);
}

static bool add_group(struct hr__json *json, cJSON *list, const struct hr_failure_group *group) {
  cJSON *object = hr__json_item(json, list);
  double rate = per_1000_node_days(group);
  hr__json_text(json, object, "system", group->name);
  hr__json_count(json, object, "nodes", group->nodes);
  hr__json_count(json, object, "failures", group->failures);
  hr__json_number(json, object, "span_days", group->span_days);
  hr__json_finite(json, object, "per_1000_node_days", rate);
  hr__json_finite(json, object, "top_5_percent_share", group->top_share);
  hr__json_count(json, object, "dropped_repairs", group->dropped);
  hr__json_count(json, object, "duplicates", group->duplicates);
  for (unsigned kind = 0; kind < HR_N_FAILURE_INTERVALS; kind++) {
    const struct hr_failure_sample *sample = &group->samples[kind];
    struct interval_fits fits;
    if (!fit(sample, &fits)) return false;
    cJSON *child = hr__json_object(json, object, keys[kind]);
    double all = (double)sample->count + sample->zeros;
    hr__json_count(json, child, "count", sample->count);
    hr__json_count(json, child, "zeros", sample->zeros);
    hr__json_number_if(json, child, "zero_share", all > 0, sample->zeros / (all > 0 ? all : 1));
    hr__json_finite(json, child, "mean", fits.mean);
    hr__json_finite(json, child, "median", fits.median);
    add_fits(json, child, &fits);
  }
  return true;
}

enum hr_status hr_failure_fits_write_json(const char *path, const char *source, const struct hr_failure_log *log,
                                          const char *system, struct hr_error *error) {
  enum hr_status status = check_system(source, log, system, error);
  if (status != HR_OK) return status;
  struct hr__json json = {0};
  cJSON *root = cJSON_CreateObject();
  hr__json_text(&json, root, "log", source);
  hr__json_text(&json, root, "format", log->format);
  hr__json_count(&json, root, "negative_rows", log->n_negative);
  cJSON *list = hr__json_array(&json, root, "systems");
  bool added = true;
  for (uint32_t i = 0; i < log->n_groups && added; i++)
    if (is_selected(&log->groups[i], system)) added = add_group(&json, list, &log->groups[i]);
  if (added && log->n_groups > 1 && is_selected(&log->all, system)) added = add_group(&json, list, &log->all);
  json.failed = json.failed || !added;
  return hr__json_write(&json, root, path, error);
}
