/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes the statistics of a trace as a table of 80 columns and as JSON
   (docs/reference/schemas/trace-stats.schema.json). */

#include "base/output_file.h"
#include "base/text.h"
#include "headroom/report.h"
#include "headroom/unstable/exports.h"
#include "report/tables/json_tree.h"
#include "report/tables/tables.h"
#include "traces/tools/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* ---- Spreads ------------------------------------------------------------------------------------- */

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

/* ---- Groups -------------------------------------------------------------------------------------- */

static void put_row(struct trace_stats_page *page, const struct hr__stats_row *row) {
  struct hr__console *console = &page->console;
  const struct hr_trace_stats *stats = page->stats;
  char text[6][HR__NUMBER_BYTES];
  char *name = hr__fitted(console, row->name[0] ? row->name : "(none)", NAME_WIDTH, false);
  if (!name) return;
  double share = stats->gpu_hours > 0 ? row->gpu_hours / stats->gpu_hours : 0;
  fprintf(console->out, "%s%*s  %9s  %7s  %10s  %7s  %10s  %10s\n", name,
          NAME_WIDTH - (int)hr__width_of(name, strlen(name)), "", hr__count_text(row->jobs, text[0]),
          percent_text((double)row->jobs / stats->trace->n_jobs, text[1]), hr__fixed_text(row->gpu_hours, 0, text[2]),
          percent_text(share, text[3]), time_text(row->run_s.p50, text[4]), time_text(row->run_s.p95, text[5]));
  free(name);
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

/* ---- Arrivals ------------------------------------------------------------------------------------ */

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

/* ---- Concentration ------------------------------------------------------------------------------- */

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

/* ---- Fits ---------------------------------------------------------------------------------------- */

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

/* ---- All parts ----------------------------------------------------------------------------------- */

static void put_head(struct trace_stats_page *page) {
  struct hr__console *console = &page->console;
  const struct hr_trace_stats *stats = page->stats;
  char text[4][HR__NUMBER_BYTES];
  char *name = hr__fitted(console, stats->trace->source, HR__LINE_WIDTH - 30, true);
  if (!name) return;
  fprintf(console->out, "%sHeadroom %s: statistics of %s%s\n\n", hr__bold(console), hr_version(), name,
          hr__plain(console));
  free(name);
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
  put_head(page);
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

/* ---- JSON ---------------------------------------------------------------------------------------- */

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

/* ---- Fits ---------------------------------------------------------------------------------------- */

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
    cJSON *object = hr__json_append(json, array, cJSON_CreateObject());
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

/* ---- Groups -------------------------------------------------------------------------------------- */

static void json_put_row(struct hr__json *json, cJSON *array, const struct hr_trace_stats *stats, enum hr__stats_by by,
                         const struct hr__stats_row *row) {
  bool has_outcome = stats->trace->outcome != NULL;
  cJSON *object = hr__json_append(json, array, cJSON_CreateObject());
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

/* ---- Arrivals ------------------------------------------------------------------------------------ */

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

/* ---- All parts ----------------------------------------------------------------------------------- */

static cJSON *make_tree(struct hr__json *json, const struct hr_trace_stats *stats, size_t max_rows) {
  const struct hr_trace *trace = stats->trace;
  cJSON *root = cJSON_CreateObject();
  hr__json_text(json, root, "headroom", hr_version());
  cJSON *object = hr__json_object(json, root, "trace");
  hr__json_text(json, object, "file", trace->source);
  hr__json_text(json, object, "format", trace->format);
  hr__json_count(json, object, "jobs", trace->n_jobs);
  hr__json_count(json, object, "left_out", trace->n_skipped);
  hr__json_number(json, object, "span_s", stats->span_s);
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
