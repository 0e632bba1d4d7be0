/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Alerts of inference services, computed after the run from the results of their requests.
 *
 * Rule `service-latency`: requests are grouped by arrival into windows of equal length. The latency of a window is the
 * p95 of the time to the first token of its completed requests; windows with fewer than MIN_REQUESTS have none. The
 * baseline is the median of all windows. An alert lasts for successive windows that exceed a multiple of the baseline.
 *
 * Rule `serving-idle`: a ready replica runs no iteration for too long. The periods come from the run. The alert of a
 * service begins when the first of its replicas has been idle for too long, and ends when none is.
 *
 * Rule `out-of-memory`: sequences lose their KV memory. Losses that are less than a window apart are one alert.
 *
 * Layout: all data of a rule are arrays of one service, sorted by time; each rule is one pass over them.
 */

#include "report/alerts/alerts.h"

#include <stdlib.h>
#include <string.h>

enum { MIN_REQUESTS = 20, MIN_WINDOWS = 3 };

/* The data that all rules of a service need. */
struct alert_service {
  const struct hr_alert_rules *rules;
  const struct hr_served *served;
  int64_t origin_us; /* time 0 of the run in the clock of the requests */
  struct hr__alert_log *log;
};

static void add_alert(const struct alert_service *self, enum hr_alert_rule rule, int64_t begin_us, int64_t end_us,
                      double value, uint64_t count) {
  hr__alert_log_add(self->log, (struct hr_alert){.rule = rule,
                                                 .where = self->served->service->name,
                                                 .begin_us = begin_us - self->origin_us,
                                                 .end_us = end_us - self->origin_us,
                                                 .value = value,
                                                 .count = count});
}

static int by_time(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* ---- Latency ---------------------------------------------------------------------------------------- */

struct window {
  uint32_t number;     /* from the first arrival */
  uint32_t first, end; /* requests [first, end) arrived in it */
  int64_t p95_us;
};

static int64_t ttft_us(const struct hr_served *served, uint32_t id) {
  return served->result->first_token_us[id] - served->requests->arrival_us[id];
}

static bool is_complete(const struct hr_served *served, uint32_t id) {
  return served->result->state[id] == HR_REQUEST_COMPLETED;
}

/* Measures the window that begins with a request. `times` is scratch space for all requests. Returns false if too few
   requests were completed. */
static bool measure(const struct alert_service *self, struct window *window, int64_t *times) {
  const struct hr_service_requests *requests = self->served->requests;
  const int64_t length_us = self->rules->latency_within_us, first_us = requests->arrival_us[0];
  window->number = (uint32_t)((requests->arrival_us[window->first] - first_us) / length_us);
  const int64_t until_us = first_us + (int64_t)(window->number + 1) * length_us;
  size_t count = 0;
  for (window->end = window->first; window->end < requests->count; window->end++) {
    if (requests->arrival_us[window->end] >= until_us) break;
    if (is_complete(self->served, window->end)) times[count++] = ttft_us(self->served, window->end);
  }
  if (count < MIN_REQUESTS) return false;
  qsort(times, count, sizeof *times, by_time);
  window->p95_us = times[(95 * count + 99) / 100 - 1];
  return true;
}

/* Finds the windows. Returns their number. */
static uint32_t find_windows(const struct alert_service *self, struct window *windows, int64_t *times) {
  const uint32_t n_requests = self->served->requests->count;
  struct window window = {0};
  uint32_t count = 0;
  for (uint32_t at = 0; at < n_requests; at = window.end) {
    window.first = at;
    if (measure(self, &window, times)) windows[count++] = window;
  }
  return count;
}

static uint64_t count_slow(const struct alert_service *self, const struct window *window, double bound_us) {
  uint64_t count = 0;
  for (uint32_t id = window->first; id < window->end; id++)
    count += is_complete(self->served, id) && (double)ttft_us(self->served, id) > bound_us;
  return count;
}

/* Merges successive windows above the bound to alerts. */
static void report_slow(const struct alert_service *self, const struct window *windows, uint32_t n_windows,
                        int64_t baseline_us) {
  const double bound_us = self->rules->latency_above * (double)baseline_us;
  const int64_t length_us = self->rules->latency_within_us, first_us = self->served->requests->arrival_us[0];
  for (uint32_t i = 0; i < n_windows;) {
    uint32_t end = i;
    uint64_t count = 0;
    int64_t worst_us = 0;
    while (end < n_windows && windows[end].number == windows[i].number + (end - i) &&
           (double)windows[end].p95_us > bound_us) {
      if (windows[end].p95_us > worst_us) worst_us = windows[end].p95_us;
      count += count_slow(self, &windows[end++], bound_us);
    }
    if (end > i)
      add_alert(self, HR_ALERT_LATENCY, first_us + windows[i].number * length_us,
                first_us + (int64_t)(windows[end - 1].number + 1) * length_us, (double)worst_us / (double)baseline_us,
                count);
    i = end > i ? end : i + 1;
  }
}

static void check_latency(const struct alert_service *self) {
  const uint32_t n_requests = self->served->requests->count;
  if (self->rules->is_off[HR_ALERT_LATENCY] || n_requests < MIN_REQUESTS * MIN_WINDOWS) return;
  struct window *windows = calloc((size_t)n_requests / MIN_REQUESTS + 1, sizeof *windows);
  int64_t *times = calloc(n_requests, sizeof *times);
  self->log->failed |= !windows || !times;
  if (windows && times) {
    const uint32_t count = find_windows(self, windows, times);
    for (uint32_t i = 0; i < count; i++) times[i] = windows[i].p95_us;
    if (count) qsort(times, count, sizeof *times, by_time);
    if (count >= MIN_WINDOWS && times[count / 2] > 0) report_slow(self, windows, count, times[count / 2]);
  }
  free(windows);
  free(times);
}

/* ---- Idle replicas ---------------------------------------------------------------------------------- */

/* Reports the times at which at least one period is open. Begins and ends are sorted. At equal times begins are first,
   so periods that touch are one alert. */
static void report_idle(const struct alert_service *self, const int64_t *begins, const int64_t *ends, uint32_t count) {
  uint32_t n_begun = 0, n_ended = 0, before = 0, most = 0;
  while (n_ended < count) {
    if (n_begun < count && begins[n_begun] <= ends[n_ended]) {
      n_begun++;
      if (n_begun - n_ended > most) most = n_begun - n_ended;
      continue;
    }
    n_ended++;
    if (n_begun > n_ended) continue;
    add_alert(self, HR_ALERT_IDLE_REPLICA, begins[before], ends[n_ended - 1], most, n_begun - before);
    before = n_begun;
    most = 0;
  }
}

static void check_idle(const struct alert_service *self) {
  const struct hr_service_result *result = self->served->result;
  if (self->rules->is_off[HR_ALERT_IDLE_REPLICA] || !result->n_idle) return;
  int64_t *begins = calloc((size_t)result->n_idle, sizeof *begins), *ends = calloc(result->n_idle, sizeof *ends);
  uint32_t count = 0;
  self->log->failed |= !begins || !ends;
  for (uint32_t i = 0; begins && ends && i < result->n_idle; i++) {
    const struct hr_idle_period *period = &result->idle[i];
    if (period->to_us - period->from_us <= self->rules->idle_for_us) continue;
    begins[count] = period->from_us + self->rules->idle_for_us;
    ends[count++] = period->to_us;
  }
  if (count) {
    qsort(begins, count, sizeof *begins, by_time);
    qsort(ends, count, sizeof *ends, by_time);
    report_idle(self, begins, ends, count);
  }
  free(begins);
  free(ends);
}

/* ---- Memory ----------------------------------------------------------------------------------------- */

/* Losses are counted by minute. The value of an alert is the largest number in a minute. */
static void check_memory(const struct alert_service *self) {
  const struct hr_service_result *result = self->served->result;
  const int64_t minute_us = 60 * HR_SECOND_US;
  if (self->rules->is_off[HR_ALERT_KV_MEMORY]) return;
  for (uint32_t i = 0; i < result->n_losses;) {
    uint64_t sum = 0, most = 0;
    uint32_t end = i;
    do {
      sum += result->losses[end].count;
      if (result->losses[end].count > most) most = result->losses[end].count;
      end++;
    } while (end < result->n_losses && (result->losses[end].minute - result->losses[end - 1].minute - 1) * minute_us <
                                           self->rules->memory_within_us);
    add_alert(self, HR_ALERT_KV_MEMORY, result->losses[i].minute * minute_us,
              (result->losses[end - 1].minute + 1) * minute_us, (double)most, sum);
    i = end;
  }
}

void hr__alert_services(const struct hr_alert_rules *rules, const struct hr_served *served, uint32_t count,
                        int64_t origin_us, struct hr__alert_log *log) {
  for (uint32_t i = 0; i < count; i++) {
    const struct alert_service self = {rules, &served[i], origin_us, log};
    check_latency(&self);
    check_idle(&self);
    check_memory(&self);
  }
}
