/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the backfill cases of the test vectors of Slurm. All nodes are idle and are given whole; the selector takes the
   first nodes of a set that are free early enough. */

#include "scenarios/conform/slurm_backfill.h"

#include "policies/slurm/backfill.h"
#include "policies/slurm/parameters.h"

#include <stdlib.h>
#include <string.h>

#define MINUTE_US (60 * HR_SECOND_US)
enum { MAX_LICENSES = 32 };

/* A waiting job of a case. */
struct case_job {
  int64_t id;
  struct hr__slurm_queued queued;
  struct hr__slurm_planned planned;
};

struct backfill_case {
  struct hr__verdict *verdict;
  struct case_job *jobs; /* [n_jobs] in the order of the queue */
  uint32_t n_jobs, n_nodes;
  int64_t *free_us; /* [n_nodes] when each node becomes free */
  const char *licenses[MAX_LICENSES];
  uint32_t license_counts[MAX_LICENSES], n_licenses;
};

/* ---- The selector ----------------------------------------------------------------------------------- */

static bool find_nodes(void *self, uint32_t job, int64_t now_us, uint64_t *nodes, int64_t *start_us) {
  const struct backfill_case *backfill = self;
  uint32_t wanted = backfill->jobs[job].queued.min_nodes, n_free = 0;
  int64_t at_us = now_us;
  for (;;) { // the first time at which enough nodes are free
    int64_t next_us = HR_NEVER_US;
    n_free = 0;
    for (uint32_t n = 0; n < backfill->n_nodes; n++) {
      if (!(nodes[n / 64] >> n % 64 & 1)) continue;
      if (backfill->free_us[n] <= at_us)
        n_free++;
      else if (backfill->free_us[n] < next_us)
        next_us = backfill->free_us[n];
    }
    if (n_free >= wanted) break;
    if (next_us == HR_NEVER_US) return false;
    at_us = next_us;
  }
  for (uint32_t n = 0, taken = 0; n < backfill->n_nodes; n++) {
    uint64_t bit = UINT64_C(1) << n % 64;
    if (!(nodes[n / 64] & bit)) continue;
    if (taken < wanted && backfill->free_us[n] <= at_us)
      taken++;
    else
      nodes[n / 64] &= ~bit;
  }
  *start_us = at_us;
  return true;
}

static bool start_job(void *self, uint32_t job, const uint64_t *nodes) {
  struct backfill_case *backfill = self;
  for (uint32_t n = 0; n < backfill->n_nodes; n++)
    if (nodes[n / 64] >> n % 64 & 1) backfill->free_us[n] = backfill->jobs[job].queued.limit_us;
  return true;
}

/* ---- Reading ---------------------------------------------------------------------------------------- */

static void read_licenses(struct backfill_case *backfill, const cJSON *cluster) {
  const cJSON *license;
  cJSON_ArrayForEach(license, hr__case_get(cluster, "licenses")) {
    if (backfill->n_licenses == MAX_LICENSES) break;
    backfill->licenses[backfill->n_licenses] = license->string;
    backfill->license_counts[backfill->n_licenses++] = (uint32_t)hr__case_value_whole(license, 0);
  }
}

/* Reads "NAME" or "NAME:COUNT". */
static void read_license(const struct backfill_case *backfill, const char *text, struct hr__slurm_queued *queued) {
  size_t length = text ? strcspn(text, ":") : 0;
  for (uint32_t i = 0; text && i < backfill->n_licenses; i++) {
    if (strlen(backfill->licenses[i]) != length || strncmp(backfill->licenses[i], text, length) != 0) continue;
    queued->license = i;
    queued->n_licenses = text[length] == ':' ? (uint32_t)strtoul(text + length + 1, NULL, 10) : 1;
  }
}

static struct case_job read_job(const struct backfill_case *backfill, const cJSON *item, int64_t id) {
  struct case_job job = {.id = hr__case_whole(item, "id", id)};
  job.queued.priority = (uint32_t)hr__case_whole(item, "priority", 0);
  job.queued.limit_us = hr__case_whole(item, "limitMinutes", 0) * MINUTE_US;
  job.queued.min_nodes = (uint32_t)hr__case_whole(item, "nodes", 1);
  read_license(backfill, hr__case_text(item, "license", NULL), &job.queued);
  return job;
}

/* Inserts a job into the queue: higher priority first, otherwise as listed. */
static void insert_job(struct backfill_case *backfill, struct case_job job) {
  uint32_t at = backfill->n_jobs++;
  for (; at > 0 && backfill->jobs[at - 1].queued.priority < job.queued.priority; at--)
    backfill->jobs[at] = backfill->jobs[at - 1];
  backfill->jobs[at] = job;
}

static bool read_jobs(struct backfill_case *backfill, const cJSON *input) {
  const cJSON *list = hr__case_get(input, "jobs"), *same = hr__case_get(input, "identicalJobs"), *item;
  uint32_t count = list ? (uint32_t)cJSON_GetArraySize(list) : (uint32_t)hr__case_whole(same, "count", 0);
  backfill->jobs = hr__verdict_alloc(backfill->verdict, count, sizeof *backfill->jobs);
  if (!backfill->jobs) return false;
  cJSON_ArrayForEach(item, list) insert_job(backfill, read_job(backfill, item, 0));
  for (uint32_t i = 0; !list && i < count; i++) insert_job(backfill, read_job(backfill, same, i + 1));
  for (uint32_t i = 0; i < backfill->n_jobs; i++) backfill->jobs[i].queued.job = i;
  return true;
}

/* ---- Running ---------------------------------------------------------------------------------------- */

static bool allocate_line(struct backfill_case *backfill, struct hr__slurm_timeline *line) {
  line->n_nodes = backfill->n_nodes;
  line->n_words = (line->n_nodes + 63) / 64;
  line->max_slots = 2 * backfill->n_jobs + 2;
  line->n_license_kinds = backfill->n_licenses;
  line->slots = hr__verdict_alloc(backfill->verdict, line->max_slots, sizeof *line->slots);
  line->nodes = hr__verdict_alloc(backfill->verdict, (size_t)line->max_slots * line->n_words, sizeof *line->nodes);
  line->licenses =
      hr__verdict_alloc(backfill->verdict, (size_t)line->max_slots * line->n_license_kinds, sizeof *line->licenses);
  line->set = hr__verdict_alloc(backfill->verdict, line->n_words, sizeof *line->set);
  return line->slots && line->nodes && line->licenses && line->set;
}

static int64_t parameter(const cJSON *input, const char *name) {
  return hr__case_whole(input, name, hr__slurm_parameter(name)->fallback);
}

static bool run_pass(struct backfill_case *backfill, const cJSON *input) {
  struct hr__slurm_timeline line = {0};
  struct hr__slurm_queued *queue = hr__verdict_alloc(backfill->verdict, backfill->n_jobs, sizeof *queue);
  struct hr__slurm_planned *planned = hr__verdict_alloc(backfill->verdict, backfill->n_jobs, sizeof *planned);
  const struct hr__slurm_backfill_limits limits = {.resolution_us = parameter(input, "bf_resolution") * HR_SECOND_US,
                                                   .window_us = parameter(input, "bf_window") * MINUTE_US,
                                                   .max_job_test = (uint32_t)parameter(input, "bf_max_job_test"),
                                                   .max_job_start = (uint32_t)parameter(input, "bf_max_job_start")};
  const struct hr__slurm_selector selector = {find_nodes, start_job, backfill};
  if (!queue || !planned || !allocate_line(backfill, &line)) return false;
  for (uint32_t i = 0; i < backfill->n_jobs; i++) queue[i] = backfill->jobs[i].queued;
  hr__slurm_backfill(&line, &limits, queue, backfill->n_jobs, backfill->license_counts, &selector, 0, planned);
  for (uint32_t i = 0; i < backfill->n_jobs; i++) backfill->jobs[i].planned = planned[i];
  return true;
}

/* ---- Comparing -------------------------------------------------------------------------------------- */

static const struct case_job *job_of(const struct backfill_case *backfill, const char *id) {
  for (uint32_t i = 0; id && i < backfill->n_jobs; i++)
    if (backfill->jobs[i].id == strtoll(id, NULL, 10)) return &backfill->jobs[i];
  return NULL;
}

static void compare_jobs(struct backfill_case *backfill, const cJSON *expect, const char *name, bool running) {
  const cJSON *item;
  char place[80];
  cJSON_ArrayForEach(item, hr__case_get(expect, name)) {
    const struct case_job *job = job_of(backfill, item->string);
    bool actual = job && (running ? job->planned.start_us == 0 : job->planned.start_us != HR_NEVER_US);
    snprintf(place, sizeof place, "%s.%s", name, item->string);
    hr__verdict_compare_bool(backfill->verdict, place, item, actual);
  }
}

/* Jobs that are expected to start at the same time. */
static void compare_equal_starts(struct backfill_case *backfill, const cJSON *expect) {
  const cJSON *list = hr__case_get(expect, "equalStart"), *item;
  const struct case_job *first = list ? job_of(backfill, cJSON_GetStringValue(list->child)) : NULL;
  cJSON_ArrayForEach(item, list) {
    const struct case_job *job = job_of(backfill, cJSON_GetStringValue(item));
    bool equal =
        first && job && job->planned.start_us == first->planned.start_us && job->planned.start_us != HR_NEVER_US;
    if (!equal) hr__verdict_compare_text(backfill->verdict, "equalStart", item, "another start");
  }
}

/* The property that some cases expect: a job that is not wider than one of lower priority does not start later. */
static void compare_property(struct backfill_case *backfill, const cJSON *expect) {
  const cJSON *property = hr__case_get(expect, "property");
  for (uint32_t i = 0; property && i < backfill->n_jobs; i++)
    for (uint32_t k = 0; k < backfill->n_jobs; k++) {
      const struct case_job *a = &backfill->jobs[i], *b = &backfill->jobs[k];
      if (a->queued.priority <= b->queued.priority || a->queued.min_nodes > b->queued.min_nodes) continue;
      if (a->planned.start_us <= b->planned.start_us) continue;
      char pair[80];
      snprintf(pair, sizeof pair, "job %lld starts before job %lld", (long long)b->id, (long long)a->id);
      hr__verdict_compare_text(backfill->verdict, "property", property, pair);
    }
}

void hr__conform_slurm_backfill(const cJSON *input, const cJSON *expect, struct hr__verdict *verdict) {
  struct backfill_case backfill = {.verdict = verdict};
  const cJSON *cluster = hr__case_get(input, "cluster");
  backfill.n_nodes = (uint32_t)hr__case_whole(cluster, "nodes", 0);
  backfill.free_us = hr__verdict_alloc(verdict, backfill.n_nodes, sizeof *backfill.free_us);
  read_licenses(&backfill, cluster);
  if (!backfill.free_us || !read_jobs(&backfill, input) || !run_pass(&backfill, input)) return;
  compare_jobs(&backfill, expect, "running", true);
  compare_jobs(&backfill, expect, "hasStart", false);
  compare_equal_starts(&backfill, expect);
  compare_property(&backfill, expect);
}
