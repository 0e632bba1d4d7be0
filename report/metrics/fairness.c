/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jain's index (Jain, Chiu, Hawe, 1984) of how fast each one's jobs got on, and finish-time fairness after Themis
 * (Mahajan et al., NSDI 2020): a job's completion time / what it would have been on an n-th of the cluster, where n is
 * how many shared it while the job was there.
 *
 * That n is an integral over time. Who is there is a union of his jobs' stays, and as jobs come in order of submit, one
 * walk over them finds the spells of presence of all, sorted by their begin. With the ends sorted too, the integral up
 * to t is the sum of t - begin over spells begun before t, less the sum of t - end over those ended: two searches and
 * sums kept for every place, whatever the order in which jobs end.
 */

#include "report/metrics/groups.h"
#include "report/metrics/quantiles.h"

#include <stdlib.h>
#include <string.h>

/* ---- Who shares ------------------------------------------------------------------------------------- */

/* Jobs without a name, in a trace that has names, are all of one nameless party. */
struct parties {
  const uint32_t *of; /* by job; NULL: each job is one */
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

/* ---- Spells of presence ----------------------------------------------------------------------------- */

/* Begins or ends, sorted, and before[i], the sum of the first i. */
struct instants {
  int64_t *at_us;
  hr__wide *before;
};

struct presence {
  struct instants begins, ends;
  size_t count, most; /* spells; at one time */
};

static void presence_finish(struct presence *presence) {
  free(presence->begins.at_us);
  free(presence->begins.before);
  free(presence->ends.at_us);
  free(presence->ends.before);
}

/* By bytes, the lowest first; a byte that is the same in all is passed over. Times are not negative. */
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

/* The last spell of each party so far, counted from one; 0: none. */
static void walk_jobs(const struct hr_result *result, const struct parties *parties, uint32_t *last,
                      struct presence *presence) {
  for (uint32_t job = 0; job < result->n_jobs; job++) {
    if (!was_there(result, job)) continue;
    uint32_t party = party_of(parties, job);
    int64_t came_us = result->trace->submit_us[job], went_us = left_us(result, job);
    if (last[party] == 0 || presence->ends.at_us[last[party] - 1] < came_us) {
      presence->begins.at_us[presence->count] = came_us;
      presence->ends.at_us[presence->count] = went_us;
      last[party] = (uint32_t)++presence->count;
    } else if (presence->ends.at_us[last[party] - 1] < went_us) {
      presence->ends.at_us[last[party] - 1] = went_us;
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

static size_t max_at_once(const struct presence *presence) {
  size_t most = 0;
  for (size_t begun = 0, ended = 0; begun < presence->count; begun++) {
    while (presence->ends.at_us[ended] < presence->begins.at_us[begun]) ended++;
    if (begun + 1 - ended > most) most = begun + 1 - ended;
  }
  return most;
}

static bool presence_make(const struct hr_result *result, const struct parties *parties, struct presence *presence) {
  size_t most = (size_t)result->n_jobs + 1;
  uint32_t *last = calloc((size_t)parties->count + 1, sizeof *last);
  *presence =
      (struct presence){.begins.at_us = malloc(most * sizeof(int64_t)), .ends.at_us = malloc(most * sizeof(int64_t))};
  bool good = last && presence->begins.at_us && presence->ends.at_us;
  if (good) walk_jobs(result, parties, last, presence);
  free(last);
  good = good && sort_times(presence->ends.at_us, presence->count);
  if (good) presence->most = max_at_once(presence);
  return good && sum_up(&presence->begins, presence->count) && sum_up(&presence->ends, presence->count);
}

/* The sum of `at_us` - x over all x before it. */
static hr__wide passed_since(const struct instants *instants, size_t count, int64_t at_us) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (instants->at_us[middle] < at_us)
      low = middle + 1;
    else
      high = middle;
  }
  return (hr__wide)low * (uint64_t)at_us - instants->before[low];
}

/* Parties x microseconds from time zero. */
static hr__wide integral(const struct presence *presence, int64_t at_us) {
  return passed_since(&presence->begins, presence->count, at_us) -
         passed_since(&presence->ends, presence->count, at_us);
}

/* ---- Figures ---------------------------------------------------------------------------------------- */

/* Of a job that completed: completion time and run time, where a short run time counts as a longer one in both. */
struct fairness_course {
  double jct_us, work_us;
};

static struct fairness_course course_of(const struct hr_result *result, uint32_t job) {
  int64_t work_us = result->trace->work_us[job],
          short_by_us = work_us < HR__SHORT_RUN_US ? HR__SHORT_RUN_US - work_us : 0;
  int64_t jct_us = hr_result_end_us(result, (hr_job){job}) - result->trace->submit_us[job];
  return (struct fairness_course){(double)(jct_us + short_by_us), (double)(work_us + short_by_us)};
}

/* By how much an n-th of the cluster is too small for the job. Most jobs fit into any share that there ever was. */
static double stretch_of(const struct hr_result *result, const struct presence *presence, uint64_t gpus, uint32_t job) {
  int64_t came_us = result->trace->submit_us[job], went_us = left_us(result, job);
  uint64_t milli = result->gpu_milli ? result->gpu_milli[job] : (uint64_t)result->trace->gpus[job] * 1000;
  if (milli * presence->most <= gpus * 1000 || came_us == went_us) return 1;
  double sharing = (double)(integral(presence, went_us) - integral(presence, came_us)) / (double)(went_us - came_us);
  double stretch = (double)milli / 1000 * sharing / (double)gpus;
  return stretch > 1 ? stretch : 1;
}

static void fill_finish_times(const struct hr_result *result, const struct presence *presence, uint64_t gpus,
                              int64_t *keys, struct hr_fairness *fairness) {
  size_t count = 0, late = 0;
  double sum = 0;
  for (uint32_t job = 0; job < result->n_jobs; job++) {
    if (result->state[job] != HR_JOB_COMPLETED) continue;
    struct fairness_course course = course_of(result, job);
    double rho = course.jct_us / (course.work_us * stretch_of(result, presence, gpus, job));
    keys[count++] = hr__slowdown_key(rho);
    sum += rho;
    late += rho > 1;
  }
  fairness->finish_time = hr__distribution_of_slowdowns(keys, count, sum);
  fairness->share_above_1 = count ? (double)late / (double)count : 0;
}

/* A party's pace: the mean over its completed jobs of run time / completion time. */
struct pace {
  double sum;
  uint32_t jobs;
};

static void fill_jain(const struct hr_result *result, const struct parties *parties, struct pace *paces,
                      struct hr_fairness *fairness) {
  double sum = 0, squares = 0;
  for (uint32_t job = 0; job < result->n_jobs; job++) {
    if (result->state[job] != HR_JOB_COMPLETED) continue;
    struct fairness_course course = course_of(result, job);
    struct pace *pace = &paces[party_of(parties, job)];
    pace->sum += course.work_us / course.jct_us;
    pace->jobs++;
  }
  for (uint32_t party = 0; party < parties->count; party++) {
    if (paces[party].jobs == 0) continue;
    double mean = paces[party].sum / paces[party].jobs;
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
  struct pace *paces = calloc((size_t)parties.count + 1, sizeof *paces);
  int64_t *keys = malloc((size_t)(result->n_completed + 1) * sizeof *keys);
  struct presence presence = {0};
  bool good = paces && keys && presence_make(result, &parties, &presence);
  if (good) {
    fill_jain(result, &parties, paces, fairness);
    fill_finish_times(result, &presence, hr_cluster_spec_gpus(cluster), keys, fairness);
  }
  presence_finish(&presence);
  free(keys);
  free(paces);
  return good ? HR_OK : HR_NO_MEMORY;
}
