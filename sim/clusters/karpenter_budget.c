/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Karpenter's disruption budgets and their schedules. A schedule is a set of minutes; a budget is active for a duration
 * from each of them. All times are UTC. Invariant: a budget that cannot be read lets nothing go. Sources:
 * kubernetes-sigs/karpenter, pkg/apis/v1/nodepool.go; github.com/robfig/cron, parser.go and spec.go.
 */

#include "headroom/unstable/autoscaling.h"
#include "sim/clusters/karpenter.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DAY_S = 86400, HOUR_S = 3600, MINUTE_S = 60, MAX_DAYS = 366 * 9 };

/* ---- Reading a schedule ---------------------------------------------------------------------------------- */

struct cron_field {
  int first, last;
  const char *const *names; /* of first, first + 1, ...; NULL: none */
};

static const char *const month_names[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                          "jul", "aug", "sep", "oct", "nov", "dec"};
static const char *const weekday_names[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

/* Reads a number or a name at `*at`, and moves `*at` behind it. */
static bool read_value(const char **at, const struct cron_field *field, int *value) {
  if (isdigit((unsigned char)**at)) {
    char *end;
    const long number = strtol(*at, &end, 10);
    *at = end;
    *value = number > 9999 ? 9999 : (int)number;
    return true;
  }
  for (int i = 0; field->names && i <= field->last - field->first; i++)
    if (strncasecmp(*at, field->names[i], 3) == 0 && !isalpha((unsigned char)(*at)[3])) {
      *at += 3;
      *value = field->first + i;
      return true;
    }
  return false;
}

/* Reads one range: star, value or value-value, with an optional /step. */
static bool read_range(const char **at, const struct cron_field *field, uint64_t *bits, bool *is_star) {
  int first = field->first, last = field->last, step = 1;
  bool is_single = false;
  if (**at == '*' || **at == '?') {
    ++*at;
    *is_star = true;
  } else {
    if (!read_value(at, field, &first)) return false;
    last = first;
    is_single = **at != '-';
    if (!is_single && (++*at, !read_value(at, field, &last))) return false;
  }
  if (**at == '/') {
    ++*at;
    if (!isdigit((unsigned char)**at) || !read_value(at, field, &step)) return false;
    if (is_single) last = field->last;
    if (step > 1) *is_star = false;
  }
  if (first < field->first || last > field->last || first > last || step < 1) return false;
  if (step > last) step = last + 1; /* only the first value; a larger step must not overflow */
  for (int i = first; i <= last; i += step) *bits |= UINT64_C(1) << i;
  return true;
}

/* Reads a list of ranges, up to a blank or the end. */
static bool read_field(const char **at, const struct cron_field *field, uint64_t *bits, bool *is_star) {
  *bits = 0;
  *is_star = false;
  while (**at == ' ' || **at == '\t') ++*at;
  do
    if (!read_range(at, field, bits, is_star)) return false;
  while (**at == ',' && ++*at);
  return **at == '\0' || **at == ' ' || **at == '\t';
}

/* Reads a Go duration, such as 1h30m. */
static bool read_duration(const char *text, int64_t *seconds) {
  double sum = 0;
  if (!*text) return false;
  while (*text) {
    char *end;
    const double number = strtod(text, &end);
    if (end == text) return false;
    const double unit = *end == 'h' ? HOUR_S : *end == 'm' && end[1] != 's' ? MINUTE_S : *end == 's' ? 1 : 0;
    if (unit <= 0) return false;
    sum += number * unit;
    text = end + 1;
  }
  *seconds = (int64_t)sum;
  return sum >= 1 && sum < 1e12;
}

static const char *expanded(const char *text) {
  static const char *const words[][2] = {
      {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"}, {"@weekly", "0 0 * * 0"},
      {"@daily", "0 0 * * *"},  {"@midnight", "0 0 * * *"}, {"@hourly", "0 * * * *"}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(text, words[i][0]) == 0) return words[i][1];
  return text;
}

bool hr__cron_read(const char *text, struct hr__cron *cron) {
  static const struct cron_field minutes = {0, 59, NULL}, hours = {0, 23, NULL}, days = {1, 31, NULL},
                                 months = {1, 12, month_names}, weekdays = {0, 6, weekday_names};
  *cron = (struct hr__cron){0};
  if (strncmp(text, "@every ", 7) == 0) return read_duration(text + 7, &cron->every_s);
  const char *at = expanded(text);
  bool ignored;
  if (!read_field(&at, &minutes, &cron->minutes, &ignored) || !read_field(&at, &hours, &cron->hours, &ignored) ||
      !read_field(&at, &days, &cron->days, &cron->any_day) || !read_field(&at, &months, &cron->months, &ignored) ||
      !read_field(&at, &weekdays, &cron->weekdays, &cron->any_weekday))
    return false;
  while (*at == ' ' || *at == '\t') at++;
  return *at == '\0';
}

/* ---- Instants of a schedule ------------------------------------------------------------------------------ */

static int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b < 0);
}

/* Month (1 to 12) and day of a number of days since 1970-01-01, in the proleptic Gregorian calendar. Years begin in
   March here, so that the leap day is the last of a year. */
static void date_of(int64_t days, int *month, int *day) {
  const int64_t since = days + 719468, era = floor_div(since, 146097), of_era = since - era * 146097;
  const int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  const int64_t of_year = of_era - (365 * year + year / 4 - year / 100), from_march = (5 * of_year + 2) / 153;
  *day = (int)(of_year - (153 * from_march + 2) / 5 + 1);
  *month = (int)(from_march < 10 ? from_march + 3 : from_march - 9);
}

static bool has_bit(uint64_t bits, int at) {
  return bits >> at & 1;
}

static bool has_day(const struct hr__cron *cron, int64_t days) {
  int month, day;
  date_of(days, &month, &day);
  if (!has_bit(cron->months, month)) return false;
  const int weekday = (int)(days + 4 - 7 * floor_div(days + 4, 7)); // 1970-01-01 was a Thursday
  const bool by_day = has_bit(cron->days, day), by_weekday = has_bit(cron->weekdays, weekday);
  return cron->any_day || cron->any_weekday ? by_day && by_weekday : by_day || by_weekday;
}

/* Returns the first instant from second `first` to second `last` of a day; -1: none. */
static int64_t first_hit(const struct hr__cron *cron, int64_t first, int64_t last) {
  for (int64_t minute = (first + MINUTE_S - 1) / MINUTE_S; minute * MINUTE_S <= last; minute++)
    if (has_bit(cron->hours, (int)(minute / 60)) && has_bit(cron->minutes, (int)(minute % 60)))
      return minute * MINUTE_S;
  return -1;
}

bool hr__cron_hits(const struct hr__cron *cron, int64_t after_s, int64_t until_s) {
  if (cron->every_s) return after_s + cron->every_s <= until_s;
  if (until_s <= after_s) return false;
  const int64_t first = floor_div(after_s + 1, DAY_S);
  int64_t last = floor_div(until_s, DAY_S);
  if (last > first + MAX_DAYS) last = first + MAX_DAYS; // the calendar of any schedule that has instants is shorter
  for (int64_t day = first; day <= last; day++) {
    if (!has_day(cron, day)) continue;
    const int64_t from = day == first ? after_s + 1 - day * DAY_S : 0;
    const int64_t to = until_s - day * DAY_S < DAY_S ? until_s - day * DAY_S : DAY_S - 1;
    if (first_hit(cron, from, to) >= 0) return true;
  }
  return false;
}

int64_t hr__cron_next(const struct hr__cron *cron, int64_t after_s) {
  const int64_t first = floor_div(after_s + 1, DAY_S);
  for (int64_t day = first; day <= first + MAX_DAYS; day++) {
    if (!has_day(cron, day)) continue;
    const int64_t at = first_hit(cron, day == first ? after_s + 1 - day * DAY_S : 0, DAY_S - 1);
    if (at >= 0) return day * DAY_S + at;
  }
  return INT64_MAX;
}

bool hr_disruption_schedule_is_valid(const char *schedule) {
  struct hr__cron cron;
  return hr__cron_read(schedule, &cron) && !cron.every_s; // not "@every", as in Karpenter
}

/* ---- Budgets --------------------------------------------------------------------------------------------- */

bool hr__karpenter_read_nodes(const char *text, struct hr__karpenter_budget *budget) {
  char *end;
  const long number = isdigit((unsigned char)*text) ? strtol(text, &end, 10) : -1;
  if (number < 0 || number > INT32_MAX) return false;
  budget->is_percent = *end == '%';
  budget->nodes = number;
  return end[budget->is_percent] == '\0';
}

bool hr__karpenter_is_active(const struct hr__karpenter_budget *budget, int64_t now_s) {
  return budget->is_always || hr__cron_hits(&budget->schedule, now_s - budget->duration_s, now_s);
}

int64_t hr__karpenter_constant_until(const struct hr__karpenter_budget *budget, int64_t now_s) {
  if (budget->is_always || budget->is_wrong || budget->schedule.every_s) return INT64_MAX;
  if (!hr__karpenter_is_active(budget, now_s)) return hr__cron_next(&budget->schedule, now_s);
  return hr__cron_next(&budget->schedule, now_s - budget->duration_s) + budget->duration_s;
}

int64_t hr__karpenter_allowed(const struct hr__karpenter_budget *budget, int64_t pool_nodes, int64_t now_s) {
  if (budget->is_wrong) return 0;
  if (!hr__karpenter_is_active(budget, now_s)) return INT64_MAX;
  return budget->is_percent ? (budget->nodes * pool_nodes + 99) / 100 : budget->nodes;
}

int64_t hr__karpenter_allowed_for(const struct hr__karpenter_budget *budgets, uint32_t n_budgets,
                                  enum hr__karpenter_reason reason, int64_t pool_nodes, int64_t now_s) {
  int64_t least = INT64_MAX;
  for (uint32_t i = 0; i < n_budgets; i++) {
    if (budgets[i].reasons && !(budgets[i].reasons >> reason & 1)) continue;
    const int64_t allowed = hr__karpenter_allowed(&budgets[i], pool_nodes, now_s);
    if (allowed < least) least = allowed;
  }
  return least;
}
