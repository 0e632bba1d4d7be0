/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics of groups of jobs, and fairness. */

#include "report/metrics/summary.h"

#include "base/text.h"
#include "headroom/unstable/clusters.h"
#include "report/costs/costs.h"
#include "report/metrics/statistics.h"

#include <stdlib.h>
#include <string.h>

/* ---- Groups -------------------------------------------------------------------------------------------- */

/* Groups jobs with a counting sort. The first pass over the jobs counts the jobs of each group. The second pass
   stores the wait, completion time and slowdown of each job in arrays in which each group has a contiguous range, so
   that quantiles of a group are selected in place. Memory: three arrays with one element per job, two with one
   element per group. */

/* The next free positions of a group in the arrays of samples. */
struct groups_cursor {
  size_t wait, completed;
};

struct grouper {
  const struct hr_result *result;
  const struct hr_trace *trace;
  enum hr__grouping grouping;
  uint32_t n_groups;
  struct hr__totals *totals;    /* by group */
  struct groups_cursor *cursor; /* by group */
};

/* Returns the group of a job. Jobs without a tenant form an additional group after those of the tenants. */
static inline uint32_t group_of(const struct grouper *grouper, uint32_t job) {
  if (grouper->grouping == HR__BY_SIZE) return hr__size_of(grouper->trace->gpus[job]);
  if (grouper->grouping == HR__BY_CLASS) return grouper->trace->class_[job];
  if (grouper->grouping == HR__BY_CLUSTER) return grouper->result->cluster_of[job];
  uint32_t tenant = grouper->trace->tenant[job];
  return tenant == HR_NONE ? grouper->n_groups - 1 : tenant;
}

static const char *name_of(const struct grouper *grouper, uint32_t group) {
  if (grouper->grouping == HR__BY_SIZE) return hr__size_name(group);
  if (grouper->grouping == HR__BY_CLASS) return hr_job_class_name((enum hr_job_class)group);
  if (grouper->grouping == HR__BY_CLUSTER) return grouper->result->clusters[group].name;
  return group < grouper->trace->tenants.count ? grouper->trace->tenants.text[group] : "";
}

/* ---- Counting sort ------------------------------------------------------------------------------- */

static void count_outcome(struct hr__totals *totals, const struct hr_trace *trace, uint32_t job) {
  if (!trace->outcome) return;
  totals->outcome_failed += trace->outcome[job] == HR_OUTCOME_FAILED;
  totals->outcome_cancelled += trace->outcome[job] == HR_OUTCOME_CANCELLED;
}

static void count_jobs(const struct grouper *grouper) {
  const struct hr_result *result = grouper->result;
  const struct hr_trace *trace = grouper->trace;
  for (uint32_t job = 0; job < result->n_jobs; job++) {
    if (result->state[job] == HR_JOB_FUTURE) continue;
    struct hr__totals *totals = &grouper->totals[group_of(grouper, job)];
    totals->jobs++;
    totals->deadlines += hr__has_deadline(result, job);
    totals->missed_deadlines += hr__missed_deadline(result, job);
    if (result->start_us[job] == HR_NEVER_US) continue;
    totals->started++;
    if (result->state[job] == HR_JOB_COMPLETED) {
      totals->completed++;
      count_outcome(totals, trace, job);
    }
    struct hr_gpu_times times = hr__gpu_times_of(result, job);
    totals->held_milli_us += times.kept + times.lost + times.saving + times.restarting + times.hanging + times.data;
    totals->useful_milli_us += times.kept;
  }
}

static void begin_cursors(const struct grouper *grouper) {
  struct groups_cursor at = {0};
  for (uint32_t group = 0; group < grouper->n_groups; group++) {
    grouper->cursor[group] = at;
    at.wait += grouper->totals[group].started;
    at.completed += grouper->totals[group].completed;
  }
}

static double slowdown_of_job(int64_t jct_us, int64_t work_us) {
  double slowdown = (double)jct_us / (double)(work_us > HR__SHORT_RUN_US ? work_us : HR__SHORT_RUN_US);
  return slowdown > 1 ? slowdown : 1;
}

static void place_samples(const struct grouper *grouper, struct hr__samples *samples) {
  const struct hr_result *result = grouper->result;
  const struct hr_trace *trace = grouper->trace;
  for (uint32_t job = 0; job < result->n_jobs; job++) {
    if (result->start_us[job] == HR_NEVER_US) continue;
    uint32_t group = group_of(grouper, job);
    struct hr__totals *totals = &grouper->totals[group];
    struct groups_cursor *cursor = &grouper->cursor[group];
    int64_t wait_us = result->start_us[job] - trace->submit_us[job];
    samples->wait_us[cursor->wait++] = wait_us;
    totals->wait_us += (uint64_t)wait_us;
    if (result->state[job] != HR_JOB_COMPLETED) continue;
    int64_t jct_us = hr_result_end_us(result, (hr_job){job}) - trace->submit_us[job];
    double slowdown = slowdown_of_job(jct_us, trace->work_us[job]);
    samples->jct_us[cursor->completed] = jct_us;
    samples->slowdown_key[cursor->completed++] = hr__slowdown_key(slowdown);
    totals->jct_us += (uint64_t)jct_us;
    totals->slowdown += slowdown;
  }
}

/* ---- Groups -------------------------------------------------------------------------------------- */

/* A group with at least one job, and its sort key. */
struct shown {
  hr_amount held_milli_us;
  uint32_t group;
};

static int by_gpu_time(const void *a, const void *b) {
  const struct shown *x = a, *y = b;
  if (x->held_milli_us != y->held_milli_us) return x->held_milli_us > y->held_milli_us ? -1 : 1;
  return (x->group > y->group) - (x->group < y->group);
}

static size_t list_shown(const struct grouper *grouper, struct shown *shown) {
  size_t count = 0;
  for (uint32_t group = 0; group < grouper->n_groups; group++)
    if (grouper->totals[group].jobs) shown[count++] = (struct shown){grouper->totals[group].held_milli_us, group};
  if (grouper->grouping == HR__BY_TENANT) qsort(shown, count, sizeof *shown, by_gpu_time);
  return count;
}

/* Computes the metrics of a group. Must be called after place_samples(), when the cursor of a group is at the end of
   its range. */
static enum hr_status make_group(const struct grouper *grouper, const struct hr__samples *samples, uint32_t group,
                                 struct hr_group *out) {
  const struct hr__totals *totals = &grouper->totals[group];
  size_t wait = grouper->cursor[group].wait - totals->started;
  size_t completed = grouper->cursor[group].completed - totals->completed;
  *out =
      (struct hr_group){.name = strdup(name_of(grouper, group)),
                        .jobs = totals->jobs,
                        .completed = totals->completed,
                        .deadlines = totals->deadlines,
                        .missed_deadlines = totals->missed_deadlines,
                        .gpu_hours = hr__gpu_hours(totals->held_milli_us),
                        .useful_gpu_hours = hr__gpu_hours(totals->useful_milli_us),
                        .wait_s = hr__distribution_of_us(samples->wait_us + wait, totals->started, totals->wait_us),
                        .jct_s = hr__distribution_of_us(samples->jct_us + completed, totals->completed, totals->jct_us),
                        .slowdown = hr__distribution_of_slowdowns(samples->slowdown_key + completed, totals->completed,
                                                                  totals->slowdown)};
  return out->name ? HR_OK : HR_NO_MEMORY;
}

static void add_totals(struct hr__totals *sum, const struct hr__totals *part) {
  sum->jobs += part->jobs;
  sum->started += part->started;
  sum->completed += part->completed;
  sum->deadlines += part->deadlines;
  sum->missed_deadlines += part->missed_deadlines;
  sum->outcome_failed += part->outcome_failed;
  sum->outcome_cancelled += part->outcome_cancelled;
  sum->wait_us += part->wait_us;
  sum->jct_us += part->jct_us;
  sum->held_milli_us += part->held_milli_us;
  sum->useful_milli_us += part->useful_milli_us;
  sum->slowdown += part->slowdown;
}

static enum hr_status make_all(const struct grouper *grouper, struct hr__samples *samples, struct shown *shown,
                               struct hr__job_groups *groups) {
  count_jobs(grouper);
  begin_cursors(grouper);
  place_samples(grouper, samples);
  for (uint32_t group = 0; group < grouper->n_groups; group++) add_totals(&groups->all, &grouper->totals[group]);
  size_t n_shown = list_shown(grouper, shown);
  groups->group = calloc(n_shown + 1, sizeof *groups->group);
  if (!groups->group) return HR_NO_MEMORY;
  enum hr_status status = HR_OK;
  for (; groups->count < n_shown && status == HR_OK; groups->count++)
    status = make_group(grouper, samples, shown[groups->count].group, &groups->group[groups->count]);
  return status;
}

static uint32_t count_groups(const struct hr_result *result, enum hr__grouping grouping) {
  const struct hr_trace *trace = result->trace;
  if (grouping == HR__BY_CLUSTER) return result->n_clusters;
  if (grouping == HR__BY_SIZE) return HR__SIZES;
  if (grouping == HR__BY_CLASS) return trace->class_ ? HR_N_CLASSES : 0;
  return trace->tenant ? trace->tenants.count + 1 : 0;
}

enum hr_status hr__groups_make(const struct hr_result *result, enum hr__grouping grouping, struct hr__samples *samples,
                               struct hr__job_groups *groups) {
  *groups = (struct hr__job_groups){0};
  const struct hr_trace *trace = result->trace;
  struct grouper grouper = {
      .result = result, .trace = trace, .grouping = grouping, .n_groups = count_groups(result, grouping)};
  if (grouper.n_groups == 0) return HR_OK;
  grouper.totals = calloc(grouper.n_groups, sizeof *grouper.totals);
  grouper.cursor = calloc(grouper.n_groups, sizeof *grouper.cursor);
  struct shown *shown = calloc(grouper.n_groups, sizeof *shown);
  bool ready = grouper.totals && grouper.cursor && shown;
  enum hr_status status = ready ? make_all(&grouper, samples, shown, groups) : HR_NO_MEMORY;
  free(grouper.totals);
  free(grouper.cursor);
  free(shown);
  if (status == HR_OK) return HR_OK;
  hr__groups_free(groups->group, groups->count);
  *groups = (struct hr__job_groups){0};
  return status;
}

/* ---- Samples ------------------------------------------------------------------------------------- */

/* Returns the number of jobs that started at least once. The numbers of completed and running jobs are sufficient for
   this only if jobs cannot be interrupted. Otherwise a waiting job may have started before, so the start times of all
   jobs are examined. */
static size_t count_started(const struct hr_result *result) {
  size_t count = (size_t)(result->n_completed + result->n_running);
  if (!result->account) return count;
  count = 0;
  for (uint32_t job = 0; job < result->n_jobs; job++) count += result->start_us[job] != HR_NEVER_US;
  return count;
}

enum hr_status hr__samples_init(struct hr__samples *samples, const struct hr_result *result) {
  size_t n_started = count_started(result), n_completed = (size_t)result->n_completed;
  *samples = (struct hr__samples){.wait_us = malloc((n_started + 1) * sizeof *samples->wait_us),
                                  .jct_us = malloc((n_completed + 1) * sizeof *samples->jct_us),
                                  .slowdown_key = malloc((n_completed + 1) * sizeof *samples->slowdown_key)};
  if (samples->wait_us && samples->jct_us && samples->slowdown_key) return HR_OK;
  hr__samples_finish(samples);
  return HR_NO_MEMORY;
}

/* ---- Fairness ------------------------------------------------------------------------------------------ */

/*
 * Fairness of a run, as two metrics. Jain's index (Jain, Chiu, Hawe, 1984) is computed over the progress rates of the
 * parties. Finish-time fairness follows Themis (Mahajan et al., NSDI 2020): rho of a job is its completion time divided
 * by its completion time on 1/n of the cluster, where n is the average number of parties that were present while the
 * job was present. Parties are the tenants; the users if the trace has no tenants; the jobs if it has neither. A job is
 * present from its submit until its end, or until the end of the run.
 *
 * Computing n. A party is present while at least one of its jobs is present. Jobs are sorted by submit, so one pass
 * over them finds the presence intervals of all parties, sorted by begin. Let P(t) be the integral of the number of
 * present parties from time zero to t. Then n = (P(end) - P(submit)) / (end - submit). P(t) is the sum of (t - begin)
 * over intervals that began before t, minus the sum of (t - end) over intervals that ended before t. Each of the two
 * sums needs one binary search in sorted times and one lookup of a prefix sum. Total cost for m jobs: O(m log m).
 */

/* ---- Parties ------------------------------------------------------------------------------------- */

/* The parties of a trace. If parties are tenants (or users), all jobs without a tenant (or user) form one additional
   party, the last one. */
struct parties {
  const uint32_t *of; /* [n_jobs]: party or HR_NONE; NULL: each job is a party */
  uint32_t count;
};

static struct parties parties_of(const struct hr_trace *trace, const char **over) {
  *over = trace->tenant ? "tenants" : trace->user ? "users" : "jobs";
  if (trace->tenant) return (struct parties){trace->tenant, trace->tenants.count + 1};
  if (trace->user) return (struct parties){trace->user, trace->users.count + 1};
  return (struct parties){NULL, trace->n_jobs};
}

static inline uint32_t party_of(const struct parties *parties, uint32_t job) {
  if (!parties->of) return job;
  return parties->of[job] == HR_NONE ? parties->count - 1 : parties->of[job];
}

static inline bool was_there(const struct hr_result *result, uint32_t job) {
  return result->state[job] != HR_JOB_FUTURE && result->state[job] != HR_JOB_REJECTED;
}

static inline int64_t left_us(const struct hr_result *result, uint32_t job) {
  int64_t end_us = hr_result_end_us(result, (hr_job){job});
  return end_us == HR_NEVER_US ? result->end_us : end_us;
}

/* ---- Presence intervals -------------------------------------------------------------------------- */

/* Either the begins or the ends of all presence intervals, in ascending order. before[i] is the sum of the first i
   times. */
struct instants {
  int64_t *at_us;
  hr__wide *before;
};

struct presence {
  struct instants begins, ends;
  size_t count, max_count; /* max_count: maximum number of intervals that overlap */
};

static void presence_finish(struct presence *presence) {
  free(presence->begins.at_us);
  free(presence->begins.before);
  free(presence->ends.at_us);
  free(presence->ends.before);
}

/* Sorts times >= 0 with a radix sort by bytes, least significant byte first. Skips bytes that are equal in all times.
   Returns false if out of memory. */
static bool sort_times(int64_t *times, size_t count) {
  enum { RADIX = 256 };
  int64_t *from = times, *spare = malloc((count + 1) * sizeof *spare), *to = spare;
  if (!spare) return false;
  for (unsigned shift = 0; shift < 64; shift += 8) {
    size_t place[RADIX + 1] = {0};
    for (size_t i = 0; i < count; i++) place[(((uint64_t)from[i] >> shift) & 0xff) + 1]++;
    if (count == 0 || place[(((uint64_t)from[0] >> shift) & 0xff) + 1] == count) continue;
    for (size_t i = 0; i < RADIX; i++) place[i + 1] += place[i];
    for (size_t i = 0; i < count; i++) to[place[((uint64_t)from[i] >> shift) & 0xff]++] = from[i];
    int64_t *sorted = to;
    to = from;
    from = sorted;
  }
  if (from != times) memcpy(times, from, count * sizeof *times);
  free(spare);
  return true;
}

/* Finds the presence intervals. `last` is scratch space, which the caller has set to zeros; last[party] is 1 + the
   index of the last interval found for the party. */
static void walk_jobs(const struct hr_result *result, const struct parties *parties, uint32_t *last,
                      struct presence *presence) {
  for (uint32_t job = 0; job < result->n_jobs; job++) {
    if (!was_there(result, job)) continue;
    uint32_t party = party_of(parties, job);
    int64_t submit_us = result->trace->submit_us[job], left_at_us = left_us(result, job);
    if (last[party] == 0 || presence->ends.at_us[last[party] - 1] < submit_us) {
      presence->begins.at_us[presence->count] = submit_us;
      presence->ends.at_us[presence->count] = left_at_us;
      last[party] = (uint32_t)++presence->count;
    } else if (presence->ends.at_us[last[party] - 1] < left_at_us) {
      presence->ends.at_us[last[party] - 1] = left_at_us;
    }
  }
}

static bool sum_up(struct instants *instants, size_t count) {
  instants->before = malloc((count + 1) * sizeof *instants->before);
  if (!instants->before) return false;
  instants->before[0] = 0;
  for (size_t i = 0; i < count; i++) instants->before[i + 1] = instants->before[i] + (uint64_t)instants->at_us[i];
  return true;
}

static size_t max_present(const struct presence *presence) {
  size_t max_count = 0;
  for (size_t begun = 0, ended = 0; begun < presence->count; begun++) {
    while (presence->ends.at_us[ended] < presence->begins.at_us[begun]) ended++;
    if (begun + 1 - ended > max_count) max_count = begun + 1 - ended;
  }
  return max_count;
}

static bool presence_make(const struct hr_result *result, const struct parties *parties, struct presence *presence) {
  size_t room = (size_t)result->n_jobs + 1;
  uint32_t *last = calloc((size_t)parties->count + 1, sizeof *last);
  *presence =
      (struct presence){.begins.at_us = malloc(room * sizeof(int64_t)), .ends.at_us = malloc(room * sizeof(int64_t))};
  bool good = last && presence->begins.at_us && presence->ends.at_us;
  if (good) walk_jobs(result, parties, last, presence);
  free(last);
  good = good && sort_times(presence->ends.at_us, presence->count);
  if (good) presence->max_count = max_present(presence);
  return good && sum_up(&presence->begins, presence->count) && sum_up(&presence->ends, presence->count);
}

/* Returns the number of times before `at_us`, given that it is at least `from`. Searches in growing steps from there,
   since most jobs leave soon after their submit. */
static size_t count_before(const struct instants *instants, size_t count, size_t from, int64_t at_us) {
  size_t low = from, step = 1;
  while (low + step <= count && instants->at_us[low + step - 1] < at_us) {
    low += step;
    step *= 2;
  }
  size_t high = low + step - 1 < count ? low + step - 1 : count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (instants->at_us[middle] < at_us)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* How many presence intervals have begun and ended before an instant. */
struct presence_place {
  size_t begun, ended;
};

static struct presence_place place_of(const struct presence *presence, struct presence_place from, int64_t at_us) {
  return (struct presence_place){count_before(&presence->begins, presence->count, from.begun, at_us),
                                 count_before(&presence->ends, presence->count, from.ended, at_us)};
}

/* Returns P(at_us), the integral of the number of present parties from time zero: parties x microseconds. `place` is
   that of the instant. */
static hr__wide integral(const struct presence *presence, struct presence_place place, int64_t at_us) {
  return (hr__wide)place.begun * (uint64_t)at_us - presence->begins.before[place.begun] -
         ((hr__wide)place.ended * (uint64_t)at_us - presence->ends.before[place.ended]);
}

/* ---- Metrics ------------------------------------------------------------------------------------- */

/* Completion time and run time of a completed job. If the run time is shorter than HR__SHORT_RUN_US, it is increased to
   HR__SHORT_RUN_US, and the completion time is increased by the same amount. */
struct completion {
  double jct_us, work_us;
};

static struct completion completion_of(const struct hr_result *result, uint32_t job) {
  int64_t work_us = result->trace->work_us[job],
          short_by_us = work_us < HR__SHORT_RUN_US ? HR__SHORT_RUN_US - work_us : 0;
  int64_t jct_us = hr_result_end_us(result, (hr_job){job}) - result->trace->submit_us[job];
  return (struct completion){(double)(jct_us + short_by_us), (double)(work_us + short_by_us)};
}

/* Returns by which factor the job would run longer on 1/n of the cluster: GPUs of the job / GPUs of the share, at least
   1. The first test avoids computing n for most jobs: a job that fits into the smallest share that occurs in the run
   has the factor 1. `place` is that of the submit of an earlier job, and becomes that of this job. */
static double stretch_of(const struct hr_result *result, const struct presence *presence, uint64_t gpus, uint32_t job,
                         struct presence_place *place) {
  int64_t submit_us = result->trace->submit_us[job], left_at_us = left_us(result, job);
  uint64_t milli = result->gpu_milli ? result->gpu_milli[job] : (uint64_t)result->trace->gpus[job] * 1000;
  if (milli * presence->max_count <= gpus * 1000 || submit_us == left_at_us) return 1;
  *place = place_of(presence, *place, submit_us);
  hr__wide shared =
      integral(presence, place_of(presence, *place, left_at_us), left_at_us) - integral(presence, *place, submit_us);
  double sharing = (double)shared / (double)(left_at_us - submit_us);
  double stretch = (double)milli / 1000 * sharing / (double)gpus;
  return stretch > 1 ? stretch : 1;
}

static void fill_finish_times(const struct hr_result *result, const struct presence *presence, uint64_t gpus,
                              int64_t *keys, struct hr_fairness *fairness) {
  struct presence_place place = {0};
  size_t count = 0, late = 0;
  double sum = 0;
  for (uint32_t job = 0; job < result->n_jobs; job++) {
    if (result->state[job] != HR_JOB_COMPLETED) continue;
    struct completion times = completion_of(result, job);
    double rho = times.jct_us / (times.work_us * stretch_of(result, presence, gpus, job, &place));
    keys[count++] = hr__slowdown_key(rho);
    sum += rho;
    late += rho > 1;
  }
  fairness->finish_time = hr__distribution_of_slowdowns(keys, count, sum);
  fairness->share_above_1 = count ? (double)late / (double)count : 0;
}

/* Sums for the progress rate of a party, which is the mean of run time / completion time over its completed jobs. */
struct progress {
  double sum;
  uint32_t jobs;
};

static void fill_jain(const struct hr_result *result, const struct parties *parties, struct progress *rates,
                      struct hr_fairness *fairness) {
  double sum = 0, squares = 0;
  for (uint32_t job = 0; job < result->n_jobs; job++) {
    if (result->state[job] != HR_JOB_COMPLETED) continue;
    struct completion times = completion_of(result, job);
    struct progress *rate = &rates[party_of(parties, job)];
    rate->sum += times.work_us / times.jct_us;
    rate->jobs++;
  }
  for (uint32_t party = 0; party < parties->count; party++) {
    if (rates[party].jobs == 0) continue;
    double mean = rates[party].sum / rates[party].jobs;
    sum += mean;
    squares += mean * mean;
    fairness->parties++;
  }
  fairness->jain = squares > 0 ? sum * sum / ((double)fairness->parties * squares) : 0;
}

enum hr_status hr__fairness_make(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                 struct hr_fairness *fairness) {
  *fairness = (struct hr_fairness){0};
  struct parties parties = parties_of(result->trace, &fairness->over);
  struct progress *rates = calloc((size_t)parties.count + 1, sizeof *rates);
  int64_t *keys = malloc((size_t)(result->n_completed + 1) * sizeof *keys);
  struct presence presence = {0};
  bool good = rates && keys && presence_make(result, &parties, &presence);
  if (good) {
    fill_jain(result, &parties, rates, fairness);
    fill_finish_times(result, &presence, hr_cluster_spec_gpus(cluster), keys, fairness);
  }
  presence_finish(&presence);
  free(keys);
  free(rates);
  return good ? HR_OK : HR_NO_MEMORY;
}
