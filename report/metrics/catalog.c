/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The catalogue of metrics: the rows, the values of a run or a group, names, and text with units. The getters are
 * functions that are generated from the expressions in the table. Costs are integer micro-dollars in the summary and
 * dollars in values; both are kept, so that files contain exact amounts.
 */

#include "report/metrics/catalog.h"

#include "base/text.h"

#include <math.h>
#include <string.h>

/* ---- The table ------------------------------------------------------------------------------------- */

enum {
  COUNTS = HR_UNIT_COUNT,
  SECONDS = HR_UNIT_SECONDS,
  GPU_HOURS = HR_UNIT_GPU_HOURS,
  SHARE = HR_UNIT_SHARE,
  FACTOR = HR_UNIT_FACTOR,
  INDEX = HR_UNIT_INDEX,
  RATE = HR_UNIT_RATE,
  DOLLARS = HR_UNIT_DOLLARS,
  MILLISECONDS = HR_UNIT_MILLISECONDS,
  KWH = HR_UNIT_KWH,
  KW = HR_UNIT_KW,
  KG = HR_UNIT_KG,
  G_PER_KWH = HR_UNIT_G_PER_KWH,
  LITRES = HR_UNIT_LITRES,
  GIGABYTES = HR_UNIT_GIGABYTES
};
enum {
  COUNT = HR_METRIC_COUNT,
  SUM = HR_METRIC_SUM,
  RATIO = HR_METRIC_RATIO,
  MEAN = HR_METRIC_MEAN,
  QUANTILE = HR_METRIC_QUANTILE,
  EXTREME = HR_METRIC_EXTREME
};
enum { NEITHER = HR_NEITHER_IS_BETTER, LOWER = HR_LOWER_IS_BETTER, HIGHER = HR_HIGHER_IS_BETTER };
enum {
  GROUPS = HR_METRIC_OF_GROUPS,
  SERVICE = HR_METRIC_OF_SERVICE,
  NULLABLE = HR_METRIC_NULLABLE,
  SIGNED = HR_METRIC_SIGNED,
  NO_JSON = HR_METRIC_NO_JSON,
  LISTED = HR_METRIC_LISTED,
  REQUESTS = HR_METRIC_OF_REQUESTS
};

#define ROW(id, path, column, unit, kind, direction, flags, title, help, ...)                                          \
  [id] = {path,  column, (enum hr_unit)(unit), (enum hr_metric_kind)(kind), (enum hr_direction)(direction), flags,     \
          title, help},
const struct hr_metric hr__metric_rows[HR__N_METRICS] = {HR__METRIC_TABLE(ROW)};

size_t hr_metrics(const struct hr_metric **metrics) {
  *metrics = hr__metric_rows;
  return HR__N_METRICS;
}

const char *hr_unit_name(enum hr_unit unit) {
  static const char *const names[] = {"count", "s",   "GPU-hours", "share", "factor", "index", "per hour", "USD",
                                      "ms",    "kWh", "kW",        "kg",    "g/kWh",  "l",     "GB"};
  return names[unit];
}

const char *hr_direction_name(enum hr_direction direction) {
  static const char *const names[] = {"-", "lower", "higher"};
  return names[direction];
}

/* ---- Getters --------------------------------------------------------------------------------------- */

#define UNKNOWN ((struct hr__metric_value){HR__UNKNOWN, 0})
#define SECOND_OF(first, second, ...) second

/* Members of a part of the summary that may be unknown, and of its costs. */
#define KNOWN(part, member) number(s->part.known, s->part.member)
#define KNOWN_COUNT(part, member) known_count(s->part.known, s->part.member)
#define COST(member) usd(s->costs ? s->costs->member : HR_UNKNOWN_UUSD)

static const struct hr_distribution no_distribution;

static struct hr__metric_value number(bool known, double value) {
  return (struct hr__metric_value){known ? value : HR__UNKNOWN, 0};
}

static struct hr__metric_value positive(double value) {
  return number(value > 0, value);
}

static struct hr__metric_value known_count(bool known, uint64_t count) {
  return (struct hr__metric_value){known ? (double)count : HR__UNKNOWN, (int64_t)count};
}

static struct hr__metric_value count(uint64_t count) {
  return known_count(true, count);
}

static struct hr__metric_value requests(const struct hr_service_summary *service, uint64_t count) {
  return known_count(service->offered > 0, count);
}

static struct hr__metric_value share(uint64_t count, uint64_t all) {
  return number(all > 0, all ? (double)count / (double)all : 0);
}

static struct hr__metric_value usd(int64_t uusd) {
  bool known = uusd != HR_UNKNOWN_UUSD;
  return (struct hr__metric_value){known ? (double)uusd / 1e6 : HR__UNKNOWN, known ? uusd : 0};
}

static struct hr__metric_value dollars(bool known, double value) {
  return known ? usd((int64_t)llround(value * 1e6)) : number(false, 0);
}

/* Returns an amount in micro-dollars divided by `divisor`. Returns HR_UNKNOWN_UUSD if the amount is unknown or the
   divisor is not above 0. */
static int64_t quotient(int64_t uusd, double divisor) {
  return uusd == HR_UNKNOWN_UUSD || divisor <= 0 ? HR_UNKNOWN_UUSD : llround((double)uusd / divisor);
}

static bool spanned(const struct hr_summary *summary) {
  return summary->makespan_s > 0;
}

static int64_t line_of(const struct hr_cost_lines *lines, const char *name) {
  for (size_t i = 0; lines && i < lines->count; i++)
    if (strcmp(lines->line[i].name, name) == 0) return lines->line[i].uusd;
  return HR_UNKNOWN_UUSD;
}

struct hr__metric_value hr__metric_of_run(enum hr__metric metric, const struct hr_summary *summary) {
  static const struct hr_service_summary no_services;
  const struct hr_summary *s = summary;
  const struct hr_service_summary *v = s->all_services ? s->all_services : &no_services;
  switch (metric) {
#define OF_RUN(id, path, column, unit, kind, direction, flags, title, help, ...)                                       \
  case id:                                                                                                             \
    return HR__FIRST_OF(__VA_ARGS__, );
    HR__METRIC_TABLE(OF_RUN)
  default:
    return UNKNOWN;
  }
}

struct hr__metric_value hr__metric_of_group(enum hr__metric metric, const struct hr_group *group,
                                            const struct hr_cost_lines *lines) {
  const struct hr_group *g = group;
  switch (metric) {
#define OF_GROUP(id, path, column, unit, kind, direction, flags, title, help, ...)                                     \
  case id:                                                                                                             \
    return SECOND_OF(__VA_ARGS__, UNKNOWN, );
    HR__METRIC_TABLE(OF_GROUP)
  default:
    return UNKNOWN;
  }
}

struct hr__metric_value hr__metric_of_service(enum hr__metric metric, const struct hr_service_summary *service) {
  const struct hr_service_summary *v = service;
  switch (metric) {
    HR__SERVICE_METRICS(OF_RUN)
  default:
    return UNKNOWN;
  }
}

void hr__metrics_of_run(const struct hr_summary *summary, double values[HR__N_METRICS]) {
  for (unsigned i = 0; i < HR__N_METRICS; i++) values[i] = hr__metric_of_run((enum hr__metric)i, summary).value;
}

void hr__metrics_of_group(const struct hr_group *group, const struct hr_cost_lines *lines,
                          double values[HR__N_METRICS]) {
  for (unsigned i = 0; i < HR__N_METRICS; i++) values[i] = hr__metric_of_group((enum hr__metric)i, group, lines).value;
}

/* ---- Names ----------------------------------------------------------------------------------------- */

static bool is_word(const char *word, const char *name, size_t length) {
  return strlen(word) == length && strncmp(word, name, length) == 0;
}

enum hr__metric hr__metric_find(const char *name, size_t length) {
  static const struct {
    const char *name;
    enum hr__metric metric;
  } aliases[] = {{"cost_usd", HR__M_COST},
                 {"usd_per_job", HR__M_PER_JOB},
                 {"utilization", HR__M_UTILIZATION_SUBMIT_WINDOW},
                 {"cost.monthly_usd", HR__M_MONTHLY}};
  for (unsigned i = 0; i < HR__N_METRICS; i++)
    if (is_word(hr__metric_rows[i].path, name, length) || is_word(hr__metric_rows[i].column, name, length))
      return (enum hr__metric)i;
  for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
    if (is_word(aliases[i].name, name, length)) return aliases[i].metric;
  return HR__N_METRICS;
}

unsigned hr__metric_importance(enum hr__metric metric) {
  static const enum hr__metric first[] = {HR__M_MONTHLY,
                                          HR__M_COST,
                                          HR__M_WAIT_P95,
                                          HR__M_COMPLETED_SHARE,
                                          HR__M_WAIT_MEAN,
                                          HR__M_DEADLINE_MISS,
                                          HR__M_COMPLETED,
                                          HR__M_UNFINISHED,
                                          HR__M_REJECTED,
                                          HR__M_JCT_MEAN,
                                          HR__M_JCT_P95,
                                          HR__M_SLOWDOWN_P95,
                                          HR__M_UTILIZATION_MAKESPAN,
                                          HR__M_COST_IDLE,
                                          HR__M_LOST,
                                          HR__M_PREEMPTIONS,
                                          HR__M_RECLAIMS,
                                          HR__M_JAIN};
  unsigned count = sizeof first / sizeof *first;
  for (unsigned i = 0; i < count; i++)
    if (first[i] == metric) return i;
  return count + (unsigned)metric;
}

void hr__metric_names(bool of_groups, const char *names[HR__N_METRICS + 1]) {
  size_t n = 0;
  for (size_t i = 0; i < HR__N_METRICS; i++)
    if (!of_groups || hr__metric_rows[i].flags & HR_METRIC_OF_GROUPS) names[n++] = hr__metric_rows[i].path;
  names[n] = NULL;
}

const char *hr__metric_json_path(enum hr__metric metric) {
  return metric == HR__M_MONTHLY ? "cost.monthly_usd" : hr__metric_rows[metric].path;
}

const char *hr__metric_group_path(enum hr__metric metric) {
  const struct hr_metric *row = &hr__metric_rows[metric];
  if (!(row->flags & HR_METRIC_OF_GROUPS) || row->flags & HR_METRIC_NO_JSON || row->unit == HR_UNIT_DOLLARS)
    return NULL;
  if (metric == HR__M_SUBMITTED) return "jobs";
  static const char *const heads[] = {"jobs.", "goodput.", "faults."};
  for (unsigned i = 0; i < sizeof heads / sizeof *heads; i++) {
    const char *head = heads[i];
    if (strncmp(row->path, head, strlen(head)) == 0) return row->path + strlen(head);
  }
  return row->path;
}

enum hr__metric_section hr__metric_section(enum hr__metric metric) {
#define NAME(id, name) name,
  static const char *const names[] = {HR__METRIC_SECTION_TABLE(NAME)};
#undef NAME
  if (hr__metric_rows[metric].flags & HR_METRIC_NO_JSON) return HR__N_METRIC_SECTIONS;
  const char *path = hr__metric_json_path(metric);
  for (unsigned i = HR__SECTION_MAIN + 1; i < HR__N_METRIC_SECTIONS; i++)
    if (is_word(names[i], path, strcspn(path, "."))) return (enum hr__metric_section)i;
  return HR__SECTION_MAIN;
}

/* ---- Text ------------------------------------------------------------------------------------------ */

static const char *magnitude_text(enum hr_unit unit, double value, char *buffer) {
  switch (unit) {
  case HR_UNIT_SECONDS:
    return hr__duration_text(value, buffer);
  case HR_UNIT_FACTOR:
    return hr__factor_text(value, buffer);
  case HR_UNIT_INDEX:
  case HR_UNIT_RATE:
    return hr__fixed_text(value, 4, buffer);
  case HR_UNIT_COUNT:
    return hr__fixed_text(value, value == floor(value) ? 0 : 1, buffer);
  case HR_UNIT_GPU_HOURS:
    return hr__fixed_text(value, value < 1000 ? 1 : 0, buffer);
  case HR_UNIT_SHARE:
    return hr__fixed_text(100 * value, 1, buffer);
  case HR_UNIT_MILLISECONDS:
    hr__fixed_text(value, value < 100 ? 2 : 0, buffer);
    return strcat(buffer, " ms");
  case HR_UNIT_KWH:
  case HR_UNIT_KW:
    hr__fixed_text(value, value < 1000 ? 2 : 0, buffer);
    return strcat(buffer, unit == HR_UNIT_KW ? " kW" : " kWh");
  case HR_UNIT_KG:
  case HR_UNIT_G_PER_KWH:
  case HR_UNIT_LITRES:
    hr__fixed_text(value, value < 10 ? 4 : value < 1000 ? 1 : 0, buffer);
    return strcat(buffer, unit == HR_UNIT_KG ? " kg" : unit == HR_UNIT_LITRES ? " l" : " g/kWh");
  case HR_UNIT_GIGABYTES:
    hr__fixed_text(value, value < 1000 ? 1 : 0, buffer);
    return strcat(buffer, " GB");
  case HR_UNIT_DOLLARS:
    return hr__usd_text((int64_t)llround(value * 1e6), buffer);
  }
  return strcpy(buffer, "");
}

const char *hr__metric_text(enum hr_unit unit, double value, char *buffer) {
  if (isnan(value)) return strcpy(buffer, "-");
  if (unit == HR_UNIT_DOLLARS && value > 0 && value < 0.005) { /* such as the cost of a request */
    snprintf(buffer, HR__METRIC_BYTES, "$%.6f", value);
    return buffer;
  }
  magnitude_text(unit, value, buffer);
  return unit == HR_UNIT_SHARE ? strcat(buffer, " %") : buffer;
}

static const char *with_sign(enum hr_unit unit, const char *sign, double magnitude, char *buffer) {
  magnitude_text(unit, magnitude, stpcpy(buffer, sign));
  return unit == HR_UNIT_SHARE ? strcat(buffer, " pts") : buffer;
}

const char *hr__difference_text(enum hr_unit unit, double difference, char *buffer) {
  if (isnan(difference)) return strcpy(buffer, "-");
  if (difference == 0) return strcpy(buffer, "=");
  if (unit == HR_UNIT_DOLLARS && fabs(difference) < 0.005) return magnitude_text(unit, 0, buffer); /* no -$0.00 */
  return with_sign(unit, difference < 0 ? "-" : "+", fabs(difference), buffer);
}

const char *hr__margin_text(enum hr_unit unit, double low, double high, char *buffer) {
  if (isnan(low)) return strcpy(buffer, "-");
  return with_sign(unit, "\u00b1", (high - low) / 2, buffer);
}
