/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long jobs waited, in bins whose bounds are four to a factor of ten. Bin 0 is of jobs that did not wait; bin k of
   those that waited longer than bound k and at most bound k + 1. */

#include "report/groups.h"
#include "report/page_parts.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BINS = 80, MOST_GROUPS = 12 };

struct bins {
  int64_t edge_us[MOST_BINS + 1]; /* [n + 1]; the first is 0 */
  uint32_t n;
};

/* Numbers from 1 us on, four to a factor of ten. */
static int64_t edge_at(uint32_t place) {
  static const int64_t step[] = {1000000, 1778279, 3162278, 5623413};
  int64_t edge = step[place % 4];
  uint32_t tens = place / 4;
  for (; tens < 6; tens++) edge /= 10;
  for (; tens > 6; tens--) edge *= 10;
  return edge;
}

static int64_t wait_us_of(const struct hr_page_run *run, uint32_t job) {
  return run->result->start_us[job] - run->trace->submit_us[job];
}

static bool started(const struct hr_page_run *run, uint32_t job) {
  return run->result->start_us[job] != HR_NEVER_US;
}

/* From the bound below the shortest wait to the one above the longest; bounds below 10 us are not distinct. */
static void make_bins(const struct hr_page_run *run, struct bins *bins) {
  int64_t least_us = HR_NEVER_US, most_us = 0;
  for (uint32_t job = 0; job < run->result->n_jobs; job++) {
    int64_t wait_us = started(run, job) ? wait_us_of(run, job) : 0;
    if (wait_us > 0 && wait_us < least_us) least_us = wait_us;
    if (wait_us > most_us) most_us = wait_us;
  }
  uint32_t place = 4;
  while (most_us && edge_at(place + 1) < least_us) place++;
  *bins = (struct bins){.edge_us = {0, edge_at(place)}, .n = 1};
  while (most_us && bins->n < MOST_BINS && (bins->n < 2 || bins->edge_us[bins->n] < most_us))
    bins->edge_us[++bins->n] = edge_at(++place);
}

static uint32_t bin_of(const struct bins *bins, int64_t wait_us) {
  uint32_t low = 1, high = bins->n - 1;
  if (wait_us <= 0) return 0;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (bins->edge_us[middle + 1] < wait_us)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void put_bins(struct hr__page_json *json, const char *key, const uint64_t *counts, uint32_t n) {
  hr__page_open(json, key, '[');
  for (uint32_t i = 0; i < n; i++) hr__page_count(json, NULL, counts[i]);
  hr__page_close(json, ']');
}

/* ---- Groups ----------------------------------------------------------------------------------------- */

/* Groups as the summary has them, and which of them a job is in. */
struct grouping {
  const char *key;
  const struct hr_group *group;
  size_t n_groups;
  uint32_t n_keys;
  const char *(*key_name)(const struct hr_trace *trace, uint32_t key);
  uint32_t (*key_of)(const struct hr_trace *trace, uint32_t job);
};

static const char *tenant_name(const struct hr_trace *trace, uint32_t key) {
  return key < trace->tenants.count ? trace->tenants.text[key] : "";
}
static uint32_t tenant_of(const struct hr_trace *trace, uint32_t job) {
  return trace->tenant[job] == HR_NONE ? trace->tenants.count : trace->tenant[job];
}
static const char *class_name(const struct hr_trace *trace, uint32_t key) {
  (void)trace;
  return hr_job_class_name((enum hr_job_class)key);
}
static uint32_t class_of(const struct hr_trace *trace, uint32_t job) {
  return trace->class_[job];
}
static const char *size_name(const struct hr_trace *trace, uint32_t key) {
  (void)trace;
  return hr__size_name(key);
}
static uint32_t size_of_job(const struct hr_trace *trace, uint32_t job) {
  return hr__size_of(trace->gpus[job]);
}

/* By key the number of the group, `n` for those that are not shown. */
static uint32_t *number_keys(const struct grouping *grouping, const struct hr_trace *trace, size_t n) {
  uint32_t *number = malloc(((size_t)grouping->n_keys + 1) * sizeof *number);
  for (uint32_t key = 0; number && key < grouping->n_keys; key++) {
    size_t i = 0;
    while (i < n && strcmp(grouping->group[i].name, grouping->key_name(trace, key)) != 0) i++;
    number[key] = (uint32_t)i;
  }
  return number;
}

static void put_group(struct hr__page_json *json, const struct hr_group *group, const uint64_t *counts, uint32_t n) {
  hr__page_open(json, NULL, '{');
  hr__page_text(json, "name", group->name);
  put_bins(json, "counts", counts, n);
  if (group->wait_s.count) {
    hr__page_number(json, "median_s", group->wait_s.p50);
    hr__page_number(json, "p95_s", group->wait_s.p95);
  } else {
    hr__page_null(json, "median_s");
    hr__page_null(json, "p95_s");
  }
  hr__page_close(json, '}');
}

static enum hr_status put_groups(const struct hr_page_run *run, struct hr__page_json *json, const struct bins *bins,
                                 const struct grouping *grouping) {
  size_t n = grouping->n_groups < MOST_GROUPS ? grouping->n_groups : MOST_GROUPS;
  uint32_t *number = number_keys(grouping, run->trace, n);
  uint64_t *counts = calloc((n + 1) * MOST_BINS, sizeof *counts);
  hr__page_open(json, grouping->key, '[');
  if (number && counts && n) {
    for (uint32_t job = 0; job < run->result->n_jobs; job++)
      if (started(run, job))
        counts[(size_t)number[grouping->key_of(run->trace, job)] * MOST_BINS + bin_of(bins, wait_us_of(run, job))]++;
    for (size_t i = 0; i < n; i++) put_group(json, &grouping->group[i], counts + i * MOST_BINS, bins->n);
  }
  hr__page_close(json, ']');
  bool good = number && counts;
  free(number);
  free(counts);
  return good ? HR_OK : HR_NO_MEMORY;
}

enum hr_status hr__page_distributions(const struct hr__page_view *view, struct hr__page_json *json) {
  const struct hr_page_run *run = view->run;
  const struct hr_summary *summary = run->summary;
  const struct grouping groupings[] = {
      {"by_class", summary->by_class, summary->n_classes, HR_N_CLASSES, class_name, class_of},
      {"by_size", summary->by_size, summary->n_sizes, hr__size_of(UINT32_MAX) + 1, size_name, size_of_job},
      {"by_tenant", summary->by_tenant, summary->n_tenants, run->trace->tenants.count + 1, tenant_name, tenant_of}};
  uint64_t all[MOST_BINS] = {0};
  struct bins bins;
  make_bins(run, &bins);
  for (uint32_t job = 0; job < run->result->n_jobs; job++)
    if (started(run, job)) all[bin_of(&bins, wait_us_of(run, job))]++;
  hr__page_open(json, "distributions", '{');
  hr__page_open(json, "wait_s", '{');
  hr__page_open(json, "edges_s", '[');
  for (uint32_t i = 0; i <= bins.n; i++) hr__page_seconds(json, NULL, bins.edge_us[i]);
  hr__page_close(json, ']');
  put_bins(json, "all", all, bins.n);
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < sizeof groupings / sizeof *groupings && status == HR_OK; i++)
    status = put_groups(run, json, &bins, &groupings[i]);
  hr__page_close(json, '}');
  hr__page_close(json, '}');
  return status;
}
