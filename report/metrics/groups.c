/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics of groups of jobs, fairness among groups, and metrics of inference services. */

#include "report/metrics/metrics.h"

#include "base/text.h"
#include "headroom/unstable/clusters.h"
#include "headroom/unstable/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Groups ---------------------------------------------------------------------------------------- */

/* Groups jobs with a counting sort. The first pass over the jobs counts the jobs of each group. The second pass
   stores the wait, completion time and slowdown of each job in arrays. Each group has a contiguous range of the arrays,
   so quantiles of a group are selected in place. Memory: three arrays with at most one element per job, and three
   arrays with one element per group. */

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

/* ---- Groups: counting sort ------------------------------------------------------------------------- */

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
    totals->held_milli_us += hr__gpu_times_sum(&times);
    totals->useful_milli_us += times.kept;
    totals->training_milli_us += hr__training_milli_us(result, job, &times);
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

/* ---- Groups: all groups ---------------------------------------------------------------------------- */

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
                        .ettr = hr__ettr_of(totals),
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
  sum->training_milli_us += part->training_milli_us;
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
  hr__lines_free(groups->group, groups->count, sizeof *groups->group);
  *groups = (struct hr__job_groups){0};
  return status;
}

/* ---- Groups: samples ------------------------------------------------------------------------------- */

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

/* ---- Fairness -------------------------------------------------------------------------------------- */

/*
 * Fairness of a run, as two metrics. Jain's index (Jain, Chiu, Hawe, 1984) is computed over the progress rates of the
 * parties. Finish-time fairness follows Themis (Mahajan et al., NSDI 2020): rho of a job is its completion time divided
 * by its completion time on 1/n of the cluster, where n is the average number of parties that were present while the
 * job was present. Parties are the tenants; the users if the trace has no tenants; the jobs if it has neither. A job is
 * present from its submit until its end, or until the end of the run.
 *
 * Computing n. A party is present while at least one of its jobs is present. Jobs are sorted by submit, so one pass
 * over them finds the presence intervals of all parties, sorted by begin; the end of an interval is the departure of
 * the job that closes it. Let P(t) be the integral of the number of present parties from time zero to t. Then n =
 * (P(end) - P(submit)) / (end - submit). P(t) is the sum of (t - begin) over intervals that began before t, minus the
 * sum of (t - end) over intervals that ended before t. A cursor that advances over sorted begins and sorted departures
 * computes P for ascending t: once for the departures, once for the submits. Total cost for m jobs: O(m), with a radix
 * sort.
 */

/* ---- Fairness: parties ----------------------------------------------------------------------------- */

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

/* ---- Fairness: presence intervals ------------------------------------------------------------------ */

struct presence {
  int64_t *begin_us; /* [count] ascending */
  size_t count;
  struct hr__keyed_row *departures; /* [n_departures] ascending; `key`: the time, `row`: the job */
  size_t n_departures, max_count;   /* max_count: maximum number of intervals that overlap */
  bool *closes;                     /* [n_jobs]: the departure of the job is the end of an interval */
  hr__wide *until_left;             /* [n_jobs]: P at the departure of each job */
};

static void presence_finish(struct presence *presence) {
  free(presence->begin_us);
  free(presence->departures);
  free(presence->closes);
  free(presence->until_left);
}

/* Finds the presence intervals. `last` is scratch space, which the caller has set to zeros; last[party] is 1 + the
   job whose departure closes the last interval found for the party. */
static void walk_jobs(const struct hr_result *result, const struct parties *parties, uint32_t *last,
                      struct presence *presence) {
  for (uint32_t job = 0; job < result->n_jobs; job++) {
    if (!was_there(result, job)) continue;
    uint32_t *closing = &last[party_of(parties, job)];
    int64_t submit_us = result->trace->submit_us[job], left_at_us = left_us(result, job);
    int64_t closed_us = *closing ? left_us(result, *closing - 1) : -1;
    bool begins = closed_us < submit_us;
    if (begins) presence->begin_us[presence->count++] = submit_us;
    presence->departures[presence->n_departures++] = (struct hr__keyed_row){(uint64_t)left_at_us, job};
    presence->closes[job] = begins || closed_us < left_at_us;
    if (!presence->closes[job]) continue;
    if (!begins) presence->closes[*closing - 1] = false;
    *closing = job + 1;
  }
}

static size_t max_present(const struct presence *presence) {
  size_t max_count = 0, ended = 0;
  const struct hr__keyed_row *next = presence->departures;
  for (size_t begun = 0; begun < presence->count; begun++) {
    for (; next->key < (uint64_t)presence->begin_us[begun]; next++) ended += presence->closes[next->row];
    if (begun + 1 - ended > max_count) max_count = begun + 1 - ended;
  }
  return max_count;
}

/* How many presence intervals have begun and ended before an instant, and the sums of their begins and ends. */
struct presence_cursor {
  size_t begun, departed;
  uint64_t ended;
  hr__wide begins_us, ends_us;
};

/* Advances to an instant and returns P, the integral of the number of present parties from time zero: parties x
   microseconds. */
static hr__wide integral_until(struct presence_cursor *cursor, const struct presence *presence, int64_t at_us) {
  for (; cursor->begun < presence->count && presence->begin_us[cursor->begun] < at_us; cursor->begun++)
    cursor->begins_us += (uint64_t)presence->begin_us[cursor->begun];
  for (; cursor->departed < presence->n_departures; cursor->departed++) {
    const struct hr__keyed_row *departure = &presence->departures[cursor->departed];
    if (departure->key >= (uint64_t)at_us) break;
    if (!presence->closes[departure->row]) continue;
    cursor->ended++;
    cursor->ends_us += departure->key;
  }
  return (hr__wide)cursor->begun * (uint64_t)at_us - cursor->begins_us -
         ((hr__wide)cursor->ended * (uint64_t)at_us - cursor->ends_us);
}

static void integrate(struct presence *presence) {
  struct presence_cursor cursor = {0};
  for (size_t i = 0; i < presence->n_departures; i++) {
    const struct hr__keyed_row *departure = &presence->departures[i];
    presence->until_left[departure->row] = integral_until(&cursor, presence, (int64_t)departure->key);
  }
}

static bool presence_make(const struct hr_result *result, const struct parties *parties, struct presence *presence) {
  size_t room = (size_t)result->n_jobs + 1;
  uint32_t *last = calloc((size_t)parties->count + 1, sizeof *last);
  *presence = (struct presence){.begin_us = malloc(room * sizeof *presence->begin_us),
                                .departures = malloc(room * sizeof *presence->departures),
                                .closes = malloc(room * sizeof *presence->closes),
                                .until_left = malloc(room * sizeof *presence->until_left)};
  bool good = last && presence->begin_us && presence->departures && presence->closes && presence->until_left;
  if (good) walk_jobs(result, parties, last, presence);
  free(last);
  good = good && hr__sort_keyed_rows(presence->departures, presence->n_departures);
  if (good) presence->max_count = max_present(presence);
  if (good) integrate(presence);
  return good;
}

/* ---- Fairness: metrics ----------------------------------------------------------------------------- */

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
   has the factor 1. `submits` is at the submit of an earlier job, and advances to that of this job. */
static double stretch_of(const struct hr_result *result, const struct presence *presence, uint64_t gpus, uint32_t job,
                         struct presence_cursor *submits) {
  int64_t submit_us = result->trace->submit_us[job], left_at_us = left_us(result, job);
  uint64_t milli = result->gpu_milli ? result->gpu_milli[job] : (uint64_t)result->trace->gpus[job] * 1000;
  if (milli * presence->max_count <= gpus * 1000 || submit_us == left_at_us) return 1;
  hr__wide shared = presence->until_left[job] - integral_until(submits, presence, submit_us);
  double sharing = (double)shared / (double)(left_at_us - submit_us);
  double stretch = (double)milli / 1000 * sharing / (double)gpus;
  return stretch > 1 ? stretch : 1;
}

static void fill_finish_times(const struct hr_result *result, const struct presence *presence, uint64_t gpus,
                              int64_t *keys, struct hr_fairness *fairness) {
  struct presence_cursor submits = {0};
  size_t count = 0, late = 0;
  double sum = 0;
  for (uint32_t job = 0; job < result->n_jobs; job++) {
    if (result->state[job] != HR_JOB_COMPLETED) continue;
    struct completion times = completion_of(result, job);
    double rho = times.jct_us / (times.work_us * stretch_of(result, presence, gpus, job, &submits));
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

/* ---- Services -------------------------------------------------------------------------------------- */

/*
 * Metrics of inference services, computed from the results of all requests.
 *
 * TTFT: time from arrival to first token. TPOT: time from the first to the last token, divided by the number of tokens
 * after the first. E2E: time from arrival to last token. A request is within the goals if it was completed and meets
 * all goals that are set. A request that was spilled to another service is counted as a request of that service. The
 * metrics of all services together are computed from all of their requests; each request is compared with the goals of
 * its own service.
 */

static const int64_t hour_us = 3600 * HR_SECOND_US;

/* Durations of completed requests. */
struct durations {
  int64_t *ttft_us, *tpot_us, *e2e_us; /* [count], tpot: [n_tpot] */
  size_t count, n_tpot;
  hr__wide ttft_sum, tpot_sum, e2e_sum;
};

static bool meets_goals(const struct hr_service_slo *slo, int64_t ttft_us, double tpot_us, int64_t e2e_us) {
  return (slo->ttft_ms <= 0 || (double)ttft_us <= slo->ttft_ms * 1000) &&
         (slo->tpot_ms <= 0 || tpot_us <= slo->tpot_ms * 1000) &&
         (slo->e2e_ms <= 0 || (double)e2e_us <= slo->e2e_ms * 1000);
}

static int64_t first_arrival_us(const struct hr_service_requests *requests) {
  return requests->count ? requests->arrival_us[0] : 0;
}

static bool has_goals(const struct hr_service_slo *slo) {
  return slo->ttft_ms > 0 || slo->tpot_ms > 0 || slo->e2e_ms > 0;
}

/* ---- Services: requests ---------------------------------------------------------------------------- */

static void add_completed(const struct hr_served *served, uint32_t id, struct durations *all,
                          struct hr_service_summary *summary) {
  const struct hr_service_result *result = served->result;
  const int64_t arrival_us = served->requests->arrival_us[id];
  const int64_t ttft_us = result->first_token_us[id] - arrival_us, e2e_us = result->end_us[id] - arrival_us;
  const uint32_t later = served->requests->output_tokens[id] - 1;
  const double tpot_us = later ? (double)(e2e_us - ttft_us) / later : 0;
  const bool attains = meets_goals(&served->service->slo, ttft_us, tpot_us, e2e_us);
  all->ttft_us[all->count] = ttft_us;
  all->e2e_us[all->count++] = e2e_us;
  all->ttft_sum += (uint64_t)ttft_us;
  all->e2e_sum += (uint64_t)e2e_us;
  if (later) {
    all->tpot_us[all->n_tpot++] = (e2e_us - ttft_us) / later;
    all->tpot_sum += (uint64_t)((e2e_us - ttft_us) / later);
  }
  summary->completed++;
  summary->attained += attains;
  summary->hours[arrival_us / hour_us - summary->first_hour].attained += attains;
  summary->prompt_tokens += served->requests->prompt_tokens[id];
  summary->output_tokens += served->requests->output_tokens[id];
}

/* Adds all requests of a service. Requests that were spilled are counted as offered and spilled only, because the other
   service counts their results. Returns the end of the last completed request; the first arrival if none was
   completed. */
static int64_t add_requests(const struct hr_served *served, struct durations *all, struct hr_service_summary *summary) {
  const struct hr_service_requests *requests = served->requests;
  int64_t end_us = first_arrival_us(requests);
  for (uint32_t id = 0; id < requests->count; id++) {
    const enum hr_request_state state = (enum hr_request_state)served->result->state[id];
    struct hr_service_hour *hour = &summary->hours[requests->arrival_us[id] / hour_us - summary->first_hour];
    summary->offered++;
    hour->offered++;
    if (state == HR_REQUEST_SPILLED) {
      summary->spilled++;
      continue;
    }
    summary->due++;
    hour->due++;
    summary->timed_out += state == HR_REQUEST_TIMED_OUT;
    summary->refused += state == HR_REQUEST_REFUSED;
    summary->unfinished += state == HR_REQUEST_UNFINISHED;
    summary->restarts += served->result->restarts[id];
    if (state != HR_REQUEST_COMPLETED) continue;
    if (served->result->end_us[id] > end_us) end_us = served->result->end_us[id];
    add_completed(served, id, all, summary);
  }
  return end_us;
}

/* ---- Services: GPUs and money ---------------------------------------------------------------------- */

/* Adds an amount in micro-dollars to a sum. A sum that is unknown counts as 0. */
static int64_t sum_uusd(int64_t sum_uusd, double uusd) {
  return (sum_uusd == HR_UNKNOWN_UUSD ? 0 : sum_uusd) + llround(uusd);
}

/* Prices are whole micro-dollars per million tokens, so the sum is a whole number of 10^-12 dollars. A double is exact
   up to 2^53 of them. */
static void add_revenue(const struct hr_served *served, struct hr_service_summary *summary) {
  const struct hr_service_price *price = &served->service->price;
  double uusd = 0;
  if (price->input_uusd <= 0 && price->output_uusd <= 0) return;
  for (uint32_t id = 0; id < served->requests->count; id++) {
    if (served->result->state[id] != HR_REQUEST_COMPLETED) continue;
    uusd += (double)served->requests->prompt_tokens[id] * (double)price->input_uusd +
            (double)served->requests->output_tokens[id] * (double)price->output_uusd;
  }
  summary->revenue_uusd = sum_uusd(summary->revenue_uusd, uusd / 1e6);
}

static double hours_of(hr_amount milli_us) {
  return (double)milli_us / 1000 / (double)HR_SECOND_US / 3600;
}

/* Adds the cost of the GPUs from the cost items of the run. */
static void add_cost(const struct hr_cost_summary *costs, uint32_t index, struct hr_service_summary *summary) {
  if (!costs) return;
  const bool is_known = index >= costs->n_services || !costs->services[index].is_partial;
  for (size_t i = 0; index < costs->n_services && i < HR_N_MARKETS; i++) {
    summary->market_uusd[i] += costs->services[index].uusd[i];
    summary->cost_uusd = sum_uusd(summary->cost_uusd, (double)costs->services[index].uusd[i]);
  }
  if (summary->cost_uusd == HR_UNKNOWN_UUSD && is_known) summary->cost_uusd = 0;
  summary->has_unpriced |= !is_known;
}

static void add_gpus(const struct hr_served *served, int64_t end_us, struct hr_service_summary *summary) {
  const struct hr_service *service = served->service;
  const double gpus = (double)service->gpus * (double)service->replicas;
  const double span_s = (double)(end_us - first_arrival_us(served->requests)) / (double)HR_SECOND_US;
  const struct hr_replica_times *times = &served->result->gpu_time;
  const bool are_jobs = served->result->n_levels > 0;
  const double hours = are_jobs ? hours_of(times->held) : span_s * gpus / 3600;
  int64_t busy_us = 0;
  for (uint32_t i = 0; i < served->result->n_replicas; i++) busy_us += served->result->busy_us[i];
  if (span_s > summary->span_s) summary->span_s = span_s;
  summary->gpu_hours += hours;
  summary->starting_gpu_hours += hours_of(times->starting);
  summary->busy_gpu_hours +=
      are_jobs ? hours_of(times->busy) : (double)busy_us * (double)service->gpus / (double)HR_SECOND_US / 3600;
}

/* ---- Services: replicas ---------------------------------------------------------------------------- */

static void add_memory(const struct hr_service_result *result, struct hr_service_summary *summary) {
  if (!result->memory_capacity || !result->iterations) return;
  const double capacity = (double)result->memory_capacity, before = (double)summary->memory_iterations,
               more = (double)result->iterations;
  const double mean = (double)result->memory_sum / capacity / more, peak = (double)result->memory_peak / capacity;
  summary->memory_mean = (summary->memory_mean * before + mean * more) / (before + more);
  if (peak > summary->memory_peak) summary->memory_peak = peak;
  summary->memory_iterations += result->iterations;
}

static void add_replicas(const struct hr_service_result *result, struct hr_service_summary *summary) {
  summary->recomputed_tokens += result->recomputed_tokens;
  summary->iterations += result->iterations;
  summary->cold_starts += result->cold_starts;
  summary->interruptions += result->interruptions;
  summary->held_requests += result->met_cold_start;
  summary->n_decisions += result->n_decisions;
  add_memory(result, summary);
}

static void raise(uint32_t *to, uint32_t value) {
  if (value > *to) *to = value;
}

/* Divides the time into HR_MAX_LISTED intervals of equal length, and stores the maximum of each number of replicas in
   each interval. */
static void thin_levels(const struct hr_service_result *result, struct hr_service_summary *summary) {
  const struct hr_replica_level *all = result->levels;
  const int64_t begin_us = all[0].at_us, length_us = (summary->end_us - begin_us) / HR_MAX_LISTED + 1;
  uint32_t at = 0;
  for (uint32_t i = 0; i < HR_MAX_LISTED; i++) {
    struct hr_replica_level *level = &summary->levels[i];
    *level = all[at];
    level->at_us = begin_us + i * length_us;
    for (; at + 1 < result->n_levels && all[at + 1].at_us < level->at_us + length_us; at++) {
      raise(&level->wanted, all[at + 1].wanted);
      raise(&level->ready, all[at + 1].ready);
      raise(&level->starting, all[at + 1].starting);
    }
  }
}

/* Copies the decisions of the autoscaler and the numbers of replicas of a service, at most HR_MAX_LISTED of each.
   Returns false when out of memory. */
static bool list_changes(const struct hr_served *served, struct hr_service_summary *summary) {
  const struct hr_service_result *result = served->result;
  const uint32_t n_listed = result->n_decisions < HR_MAX_LISTED ? result->n_decisions : HR_MAX_LISTED;
  const uint32_t n_levels = result->n_levels < HR_MAX_LISTED ? result->n_levels : HR_MAX_LISTED;
  summary->decisions = calloc((size_t)n_listed + 1, sizeof *summary->decisions);
  summary->levels = calloc((size_t)n_levels + 1, sizeof *summary->levels);
  if (!summary->decisions || !summary->levels) return false;
  summary->n_listed = n_listed;
  summary->n_levels = n_levels;
  if (n_listed) memcpy(summary->decisions, result->decisions, n_listed * sizeof *result->decisions);
  if (n_levels == 0) return true;
  summary->end_us = result->levels[result->n_levels - 1].at_us;
  if (n_levels < result->n_levels)
    thin_levels(result, summary);
  else
    memcpy(summary->levels, result->levels, n_levels * sizeof *result->levels);
  return true;
}

/* ---- Services: summaries --------------------------------------------------------------------------- */

static struct hr_distribution in_ms(struct hr_distribution seconds) {
  double *const values[] = {&seconds.mean, &seconds.p50, &seconds.p90, &seconds.p95, &seconds.p99, &seconds.max};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) *values[i] *= 1000;
  return seconds;
}

/* Allocates one entry for each hour from the first to the last arrival. Returns false when out of memory. */
static bool make_hours(const struct hr_served *served, uint32_t count, struct hr_service_summary *summary) {
  int64_t first = INT64_MAX, last = 0;
  for (uint32_t i = 0; i < count; i++) {
    const struct hr_service_requests *requests = served[i].requests;
    if (!requests->count) continue;
    const int64_t begin = requests->arrival_us[0] / hour_us, end = requests->arrival_us[requests->count - 1] / hour_us;
    if (begin < first) first = begin;
    if (end > last) last = end;
  }
  summary->first_hour = first <= last ? first : 0;
  summary->n_hours = first <= last ? (uint32_t)(last - first + 1) : 0;
  summary->hours = calloc((size_t)summary->n_hours + 1, sizeof *summary->hours);
  return summary->hours != NULL;
}

static void summarize(const struct hr_served *served, uint32_t count, const struct hr_cost_summary *costs,
                      struct durations *all, struct hr_service_summary *summary) {
  for (uint32_t i = 0; i < count; i++) {
    summary->has_goals = summary->has_goals || has_goals(&served[i].service->slo);
    summary->overflowed += served[i].result->overflowed;
    add_gpus(&served[i], add_requests(&served[i], all, summary), summary);
    add_replicas(served[i].result, summary);
    add_cost(costs, served[i].index, summary);
    add_revenue(&served[i], summary);
  }
  if (summary->has_unpriced) summary->cost_uusd = HR_UNKNOWN_UUSD;
  if (count == 1) summary->required = served->service->slo.attainment;
  /* a spilled request is also offered to the service that received it, so the sum of `offered` would count it twice */
  if (count > 1) summary->offered = summary->due;
  for (uint32_t i = 0; count > 1 && i < summary->n_hours; i++) summary->hours[i].offered = summary->hours[i].due;
  summary->ttft_ms = in_ms(hr__distribution_of_us(all->ttft_us, all->count, all->ttft_sum));
  summary->tpot_ms = in_ms(hr__distribution_of_us(all->tpot_us, all->n_tpot, all->tpot_sum));
  summary->e2e_ms = in_ms(hr__distribution_of_us(all->e2e_us, all->count, all->e2e_sum));
  const double gpu_s = summary->gpu_hours * 3600;
  summary->goodput_per_gpu = gpu_s > 0 ? (double)summary->attained / gpu_s : 0;
}

/* Computes the metrics of `count` services together. Returns false when out of memory. */
static bool make_summary(const struct hr_served *served, uint32_t count, const struct hr_cost_summary *costs,
                         struct hr_service_summary *summary) {
  size_t room = 1;
  for (uint32_t i = 0; i < count; i++) room += served[i].requests->count;
  struct durations all = {.ttft_us = calloc(room, sizeof *all.ttft_us),
                          .tpot_us = calloc(room, sizeof *all.tpot_us),
                          .e2e_us = calloc(room, sizeof *all.e2e_us)};
  *summary =
      (struct hr_service_summary){.is_present = true, .cost_uusd = HR_UNKNOWN_UUSD, .revenue_uusd = HR_UNKNOWN_UUSD};
  const bool has_memory = all.ttft_us && all.tpot_us && all.e2e_us && make_hours(served, count, summary);
  if (has_memory) summarize(served, count, costs, &all, summary);
  free(all.ttft_us);
  free(all.tpot_us);
  free(all.e2e_us);
  return has_memory;
}

enum hr_status hr_summary_add_services(struct hr_summary *summary, const struct hr_served *served, uint32_t count,
                                       struct hr_error *error) {
  if (!count) return HR_OK;
  summary->services = calloc(count, sizeof *summary->services);
  summary->all_services = calloc(1, sizeof *summary->all_services);
  summary->n_services = summary->services ? count : 0;
  bool has_memory = summary->services && summary->all_services;
  for (uint32_t i = 0; i < count && has_memory; i++) {
    has_memory = make_summary(&served[i], 1, summary->costs, &summary->services[i]) &&
                 list_changes(&served[i], &summary->services[i]);
    summary->services[i].name = has_memory ? strdup(served[i].service->name) : NULL;
    has_memory = summary->services[i].name != NULL;
  }
  if (has_memory) has_memory = make_summary(served, count, summary->costs, summary->all_services);
  return has_memory ? HR_OK : hr_fail(error, HR_NO_MEMORY, "out of memory for the figures of the services");
}

/* ---- Services: goals that cannot be met ------------------------------------------------------------ */

/* Returns a lower bound of the TTFT in microseconds: the time of the iterations for a prompt that is alone on a
   replica. */
static double least_ttft_us(const struct hr_service *service, uint32_t prompt) {
  const struct hr_service_cost *cost = &service->cost;
  uint32_t budget = prompt;
  if (service->engine == HR_SERVICE_VLLM_V1) budget = service->limits.max_batch_tokens;
  if (service->engine == HR_SERVICE_SARATHI) budget = service->limits.chunk_tokens;
  return ceil((double)prompt / budget) * cost->fixed_us + prompt * cost->per_prompt_token_us;
}

/* Returns a lower bound of the TPOT in microseconds. 1 us is subtracted, because times may be rounded down to whole
   microseconds. */
static double least_tpot_us(const struct hr_service *service, uint32_t prompt) {
  const struct hr_service_cost *cost = &service->cost;
  return cost->fixed_us + cost->per_sequence_us + prompt * cost->per_context_ktoken_us / 1000 - 1;
}

/* Returns an upper bound of the number of requests that meet the goals. It is the number of requests that would meet
   them if each were alone on a replica. */
static uint32_t count_attainable(const struct hr_service *service, const struct hr_service_requests *requests) {
  const struct hr_service_slo *slo = &service->slo;
  uint32_t count = 0;
  for (uint32_t i = 0; i < requests->count; i++) {
    const uint32_t later = requests->output_tokens[i] - 1;
    const double ttft_us = least_ttft_us(service, hr_request_new_tokens(requests, i));
    const double tpot_us = later ? least_tpot_us(service, requests->prompt_tokens[i]) : 0;
    count += (slo->ttft_ms <= 0 || ttft_us <= 1000 * slo->ttft_ms) &&
             (slo->tpot_ms <= 0 || tpot_us <= 1000 * slo->tpot_ms) &&
             (slo->e2e_ms <= 0 || ttft_us + later * tpot_us <= 1000 * slo->e2e_ms);
  }
  return count;
}

enum hr_status hr_service_goal_notes(const struct hr_service *service, const struct hr_service_requests *requests,
                                     struct hr_notes *notes) {
  const bool is_linear = service->engine <= HR_SERVICE_ORCA_SPLITWISE && !service->cost.n_knots;
  if (!is_linear || !has_goals(&service->slo) || !requests->count) return HR_OK;
  const double share = (double)count_attainable(service, requests) / requests->count;
  if (share > 0 && share >= service->slo.attainment) return HR_OK;
  return hr_notes_add(
      notes,
      "warning: service '%.60s': no number of replicas meets its goals. Alone on a replica, at most "
      "%.2f %% of the requests would: a token takes at least fixed_us + per_sequence_us = %.6g ms, and a "
      "prompt of n tokens fixed_us for each iteration + n x per_prompt_token_us",
      service->name, 100 * share, (service->cost.fixed_us + service->cost.per_sequence_us) / 1000);
}
