/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks of a trace against a cluster: jobs that can never run, offered load, recorded starts.
 *
 * Offered load is the requested GPU time compared with the capacity of pools. GPU types and other constraints
 * restrict each job to a set of pools. A set of pools is overloaded if the jobs that are restricted to this set, or
 * to a subset of it, request more than its capacity. Load is computed in steps of time, up to the last submit. Each
 * job is assumed to start at its submit time. Demand above the capacity of a step becomes backlog of the next step.
 *
 * Two findings about recorded starts need no cluster: many jobs started at one instant, and almost no job waited. Two
 * findings need a cluster: more GPUs were busy than exist, and jobs waited while at least half of the GPUs were idle.
 * The number of busy GPUs changes only at starts and ends. A segment tree returns the maximum in an interval.
 */

#include "base/text.h"
#include "sim/cluster/cluster.h"
#include "traces/tools/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cluster_comparison {
  struct hr_arena arena;
  struct hr__speed_table speeds;
  struct hr_cluster cluster;
  uint8_t *refusal; /* [n] enum hr_reason: the reason why a job can never run; HR_REASON_NONE: it can run */
};

/* ---- Offered load ---------------------------------------------------------------------------------- */

enum { MAX_SETS = 64, MAX_STEPS = 100000, LONG_BACKLOG_H = 24 };
#define LITTLE 0.05

/* Sets of pools, and the load of one of these sets in each step of time. */
struct sets {
  const struct hr__check_state *checker;
  const struct cluster_comparison *against;
  uint32_t n_pools, count;
  uint8_t *row; /* [MAX_SETS][n_pools] 1: the pool is in the set */
  /* [accept classes] set of each accept class (jobs that accept the same pools); HR_NONE: not known yet, or there
     are more than MAX_SETS sets */
  uint32_t *set_of;
  int64_t step_us; /* length of a step */
  uint32_t n_steps;
  double *level; /* [n_steps + 1] change of the number of busy GPUs at the beginning of each step */
  double *part;  /* [n_steps + 1] GPUs of jobs that use only a part of the step, averaged over the whole step */
};

static uint32_t set_of_class(struct sets *sets, uint32_t class_) {
  if (sets->set_of[class_] != HR_NONE) return sets->set_of[class_];
  if (sets->count == MAX_SETS) return HR_NONE;
  uint8_t *draft = sets->row + (size_t)sets->count * sets->n_pools;
  for (uint32_t pool = 0; pool < sets->n_pools; pool++)
    draft[pool] = sets->checker->cluster->pools[pool].nodes > 0 &&
                  hr__accepts_pool(&sets->against->cluster.accepts, class_, pool);
  uint32_t set = 0;
  while (set < sets->count && memcmp(sets->row + (size_t)set * sets->n_pools, draft, sets->n_pools) != 0) set++;
  sets->count += set == sets->count;
  return sets->set_of[class_] = set;
}

static bool is_part(const struct sets *sets, uint32_t set, uint32_t of) {
  for (uint32_t pool = 0; pool < sets->n_pools; pool++)
    if (sets->row[(size_t)set * sets->n_pools + pool] && !sets->row[(size_t)of * sets->n_pools + pool]) return false;
  return true;
}

static uint64_t gpus_of(const struct sets *sets, uint32_t set) {
  const struct hr_pool_spec *pools = sets->checker->cluster->pools;
  uint64_t gpus = 0;
  for (uint32_t pool = 0; pool < sets->n_pools; pool++)
    if (sets->row[(size_t)set * sets->n_pools + pool]) gpus += (uint64_t)pools[pool].nodes * pools[pool].gpus_per_node;
  return gpus;
}

/* Returns the distinct GPU types of a set of pools, separated by `|`; NULL if out of memory. The caller frees the
   text. */
static char *types_of(const struct sets *sets, uint32_t set) {
  const struct hr_pool_spec *pools = sets->checker->cluster->pools;
  const uint8_t *row = sets->row + (size_t)set * sets->n_pools;
  size_t bytes = 1;
  for (uint32_t pool = 0; pool < sets->n_pools; pool++) bytes += row[pool] ? strlen(pools[pool].gpu) + 1 : 0;
  char *text = malloc(bytes), *at = text;
  for (uint32_t pool = 0; text && pool < sets->n_pools; pool++) {
    bool is_new = row[pool];
    for (uint32_t i = 0; i < pool && is_new; i++) is_new = !row[i] || strcmp(pools[i].gpu, pools[pool].gpu) != 0;
    if (!is_new) continue;
    if (at > text) *at++ = '|';
    at = stpcpy(at, pools[pool].gpu);
  }
  if (text) *at = '\0';
  return text;
}

/* Returns the run time of a job on the fastest pool of a set. */
static int64_t time_of(const struct sets *sets, uint32_t job, uint32_t set) {
  uint32_t fastest = 0;
  for (uint32_t pool = 0; pool < sets->n_pools; pool++) {
    if (!sets->row[(size_t)set * sets->n_pools + pool]) continue;
    uint32_t speed = hr__speed_ppm(&sets->against->speeds, (hr_job){job}, (hr_pool){pool});
    if (speed > fastest) fastest = speed;
  }
  return hr__time_for_us(sets->checker->trace->work_us[job], fastest ? fastest : HR__FULL_SPEED_PPM);
}

/* Adds `gpus` to the steps in [from_us, to_us). The part after the last step is ignored. */
static void add_span(struct sets *sets, int64_t from_us, int64_t to_us, double gpus) {
  int64_t end_us = sets->step_us * sets->n_steps, step_us = sets->step_us;
  if (to_us > end_us) to_us = end_us;
  if (from_us >= to_us) return;
  int64_t first = from_us / step_us, last = to_us / step_us;
  if (first == last) {
    sets->part[first] += gpus * (double)(to_us - from_us) / (double)step_us;
    return;
  }
  sets->part[first] += gpus * (double)((first + 1) * step_us - from_us) / (double)step_us;
  sets->part[last] += gpus * (double)(to_us - last * step_us) / (double)step_us;
  sets->level[first + 1] += gpus;
  sets->level[last] -= gpus;
}

/* Computes the steps of a set from the jobs that are restricted to it or to a subset. Adds the GPU hours of these jobs
   to `*gpu_hours`. Adds the GPU hours that they use before the last submit to `*within`. */
static void add_jobs(struct sets *sets, uint32_t set, double *gpu_hours, double *within) {
  const struct hr_trace *trace = sets->checker->trace;
  const struct hr_cluster *cluster = &sets->against->cluster;
  int64_t last_us = sets->checker->span_us;
  memset(sets->level, 0, (sets->n_steps + 1) * sizeof *sets->level);
  memset(sets->part, 0, (sets->n_steps + 1) * sizeof *sets->part);
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    if (trace->gpus[i] == 0 || sets->against->refusal[i] != HR_REASON_NONE) continue;
    uint32_t own = sets->set_of[hr_cluster_accept_class(cluster, (hr_job){i})];
    if (own == HR_NONE || !is_part(sets, own, set)) continue;
    int64_t time_us = time_of(sets, i, own);
    double gpus = (double)hr_cluster_asked_milli(cluster, (hr_job){i}) / 1000;
    int64_t left_us = last_us - trace->submit_us[i];
    *gpu_hours += gpus * hr__seconds(time_us) / 3600;
    *within += gpus * hr__seconds(time_us < left_us ? time_us : left_us) / 3600;
    add_span(sets, trace->submit_us[i], trace->submit_us[i] + time_us, gpus);
  }
}

/* Computes the worst day, the number of overloaded days and the largest backlog from the steps. */
static void summarize_steps(const struct sets *sets, struct hr_offered_load *load) {
  double step_h = hr__seconds(sets->step_us) / 3600, level = 0, backlog = 0, day = 0, day_h = 0;
  double gpus = (double)load->gpus;
  for (uint32_t i = 0; i < sets->n_steps; i++) {
    level += sets->level[i];
    double requested = level + sets->part[i];
    backlog = fmax(0, backlog + (requested - gpus) * step_h / gpus);
    load->backlog_h = fmax(load->backlog_h, backlog);
    day += requested * step_h;
    day_h += step_h;
    bool ends =
        i + 1 == sets->n_steps || (int64_t)(i + 1) * sets->step_us / HR__DAY_US > i * sets->step_us / HR__DAY_US;
    if (!ends) continue;
    double share = day / (day_h * gpus);
    load->over += share > 1;
    if (share > load->worst) {
      load->worst = share;
      load->worst_day = load->days;
    }
    load->days++;
    day = day_h = 0;
  }
}

static void report_idle(struct hr__check_state *checker, const struct hr_offered_load *load) {
  char gpus[HR__NUMBER_BYTES];
  hr__check_add(checker, HR_FINDING_UNDERLOAD, HR_SEVERITY_NOTE,
                &(struct hr__check_subject){.job = HR_NONE, .subject = load->gpu_types},
                "%.80s: %.2g %% of the capacity of %s GPU%s is requested while jobs arrive", load->gpu_types,
                100 * load->load, hr__count_text(load->gpus, gpus), hr__plural(load->gpus));
}

/* Reports overload. The finding is an error only if the trace is at least a day long, and if both the total of all GPU
   hours and the GPU hours until the last submit exceed the capacity. If only the total exceeds it, the excess is after
   the last submit and may be due to a few long jobs. */
static void report_load(struct hr__check_state *checker, const struct hr_offered_load *load) {
  bool overloaded = load->load > 1 && load->within > 1, is_short = checker->span_us < HR__DAY_US;
  char gpus[HR__NUMBER_BYTES], days[160] = "", backlog[HR__NUMBER_BYTES], percent[HR__NUMBER_BYTES];
  if (load->load < LITTLE && load->over == 0) report_idle(checker, load);
  if (!overloaded && load->over == 0) return;
  enum hr_severity severity = overloaded                          ? HR_SEVERITY_ERROR
                              : load->backlog_h >= LONG_BACKLOG_H ? HR_SEVERITY_WARNING
                                                                  : HR_SEVERITY_NOTE;
  if (load->over)
    snprintf(days, sizeof days, "; demand exceeds capacity on %u of %u day%s (day %u: %.0f %%)", load->over, load->days,
             hr__plural(load->days), load->worst_day + 1, 100 * load->worst);
  hr__check_add(
      checker, overloaded ? HR_FINDING_OVERLOAD : HR_FINDING_OVERLOADED_DAYS, is_short ? HR_SEVERITY_NOTE : severity,
      &(struct hr__check_subject){.count = load->over, .of = load->days, .job = HR_NONE, .subject = load->gpu_types},
      "%.80s: %s %% of the capacity of %s GPU%s is requested while jobs arrive%s; the backlog grows to what "
      "these GPUs do in %s",
      load->gpu_types, hr__fixed_text(100 * load->load, load->load < 1 ? 1 : 0, percent),
      hr__count_text(load->gpus, gpus), hr__plural(load->gpus), days,
      hr__duration_text(3600 * load->backlog_h, backlog));
}

static int by_load(const void *a, const void *b) {
  double first = ((const struct hr_offered_load *)a)->load, second = ((const struct hr_offered_load *)b)->load;
  return (first < second) - (first > second);
}

static bool open_sets(struct sets *sets) {
  const struct hr__check_state *checker = sets->checker;
  uint32_t n_classes = sets->against->cluster.accepts.classes.count;
  sets->step_us = checker->span_us / MAX_STEPS > HR__HOUR_US ? checker->span_us / MAX_STEPS : HR__HOUR_US;
  sets->n_steps = (uint32_t)((checker->span_us + sets->step_us - 1) / sets->step_us);
  sets->row = calloc((size_t)MAX_SETS + 1, sets->n_pools);
  sets->set_of = malloc(((size_t)n_classes + 1) * sizeof *sets->set_of);
  sets->level = malloc(((size_t)sets->n_steps + 1) * sizeof *sets->level);
  sets->part = malloc(((size_t)sets->n_steps + 1) * sizeof *sets->part);
  if (!sets->row || !sets->set_of || !sets->level || !sets->part) return false;
  for (uint32_t i = 0; i < n_classes; i++) sets->set_of[i] = HR_NONE;
  for (uint32_t i = 0; i < checker->n; i++)
    if (checker->trace->gpus[i] > 0 && sets->against->refusal[i] == HR_REASON_NONE)
      (void)set_of_class(sets, hr_cluster_accept_class(&sets->against->cluster, (hr_job){i}));
  return true;
}

static bool measure(struct hr__check_state *checker, struct sets *sets) {
  struct hr_trace_check *check = checker->check;
  double span_h = hr__seconds(checker->span_us) / 3600;
  check->loads = calloc((size_t)sets->count + 1, sizeof *check->loads);
  for (uint32_t set = 0; check->loads && set < sets->count; set++) {
    struct hr_offered_load *load = &check->loads[check->n_loads];
    *load = (struct hr_offered_load){.gpu_types = types_of(sets, set), .gpus = gpus_of(sets, set)};
    if (!load->gpu_types) return false;
    check->n_loads++;
    double within = 0;
    add_jobs(sets, set, &load->gpu_hours, &within);
    load->load = load->gpu_hours / ((double)load->gpus * span_h);
    load->within = within / ((double)load->gpus * span_h);
    summarize_steps(sets, load);
  }
  if (!check->loads) return false;
  qsort(check->loads, check->n_loads, sizeof *check->loads, by_load);
  for (size_t i = 0; i < check->n_loads; i++) report_load(checker, &check->loads[i]);
  return true;
}

static void check_load(struct hr__check_state *checker, const struct cluster_comparison *against) {
  struct sets sets = {.checker = checker, .against = against, .n_pools = checker->cluster->n_pools};
  if (checker->span_us == 0) return;
  if (!open_sets(&sets) || !measure(checker, &sets)) checker->out_of_memory = true;
  free(sets.row);
  free(sets.set_of);
  free(sets.level);
  free(sets.part);
}

/* ---- Recorded starts ------------------------------------------------------------------------------- */

enum { MIN_JOBS = 20, LONG_WAIT_S = 600 };

/* Returns the starts of the jobs that waited, sorted; NULL if out of memory. Sets `*count` to the number of these jobs,
   and `*known` to the number of all jobs with a recorded start. The caller frees the list. */
static struct hr__job_value *order_starts(const struct hr__check_state *checker, uint32_t *known, uint32_t *count) {
  const struct hr_trace *trace = checker->trace;
  struct hr__job_value *starts = malloc(((size_t)checker->n + 1) * sizeof *starts);
  *known = *count = 0;
  for (uint32_t i = 0; starts && i < checker->n; i++) {
    *known += trace->recorded_start_us[i] >= 0;
    if (trace->recorded_start_us[i] > trace->submit_us[i])
      starts[(*count)++] = (struct hr__job_value){trace->recorded_start_us[i], i};
  }
  if (starts && hr__pairs_sort(starts, *count)) return starts;
  free(starts);
  return NULL;
}

static void check_starts(struct hr__check_state *checker) {
  uint32_t known, waited, begin;
  struct hr__job_value *starts = order_starts(checker, &known, &waited);
  if (!starts) {
    checker->out_of_memory = true;
    return;
  }
  uint32_t max = waited < MIN_JOBS ? 0 : hr__check_most_frequent(starts, waited, 0, &begin);
  char text[HR__NUMBER_BYTES], when[HR__NUMBER_BYTES];
  if (max >= MIN_JOBS && max >= known / 10)
    hr__check_add_jobs(checker, HR_FINDING_SIMULTANEOUS_STARTS, HR__ALWAYS_WARN, max, known,
                       hr__check_first_job(starts + begin, max), "",
                       "that had waited started at one instant, %s after the first submit",
                       hr__duration_text(hr__seconds(starts[begin].key), when));
  if (known >= MIN_JOBS && waited <= known / 100)
    hr__check_add(checker, HR_FINDING_NO_RECORDED_WAITS, HR_SEVERITY_NOTE,
                  &(struct hr__check_subject){.count = known - waited, .of = known, .job = HR_NONE},
                  "%s of %s jobs with a recorded start started when they were submitted",
                  hr__count_text(known - waited, text), hr__count_text(known, when));
  free(starts);
}

/* ---- Busy GPUs ------------------------------------------------------------------------------------- */

struct busy_gpus {
  /* [n] starts and ends of jobs, sorted by time. `value` is the number of busy GPUs after that time, in thousandths;
     while the marks are built, it is the change of that number. */
  struct hr__job_value *mark;
  uint32_t n;
  uint32_t size; /* number of leaves of the tree, a power of two */
  int64_t *tree; /* [2 * size], leaf i at size + i */
};

static bool make_tree(struct busy_gpus *busy) {
  for (busy->size = 1; busy->size < busy->n;) busy->size *= 2;
  busy->tree = calloc((size_t)2 * busy->size, sizeof *busy->tree);
  if (!busy->tree) return false;
  for (uint32_t i = 0; i < busy->n; i++) busy->tree[busy->size + i] = busy->mark[i].value;
  for (uint32_t i = busy->size; --i > 0;) {
    int64_t left = busy->tree[2 * (size_t)i], right = busy->tree[2 * (size_t)i + 1];
    busy->tree[i] = left > right ? left : right;
  }
  return true;
}

static bool make_busy_gpus(const struct hr__check_state *checker, struct busy_gpus *busy) {
  const struct hr_trace *trace = checker->trace;
  *busy = (struct busy_gpus){.mark = malloc(((size_t)2 * checker->n + 1) * sizeof *busy->mark)};
  if (!busy->mark) return false;
  for (uint32_t i = 0; i < checker->n; i++) {
    int64_t milli = (int64_t)hr_trace_gpus_milli(trace, (hr_job){i}), start_us = trace->recorded_start_us[i];
    if (start_us < 0 || milli == 0 || trace->work_us[i] == 0) continue;
    busy->mark[busy->n++] = (struct hr__job_value){start_us, milli};
    busy->mark[busy->n++] = (struct hr__job_value){start_us + trace->work_us[i], -milli};
  }
  if (!hr__pairs_sort(busy->mark, busy->n)) return false;
  for (uint32_t i = 1; i < busy->n; i++) busy->mark[i].value += busy->mark[i - 1].value;
  for (uint32_t i = busy->n; i-- > 1;) /* marks at the same instant get the value of the last one */
    if (busy->mark[i - 1].key == busy->mark[i].key) busy->mark[i - 1].value = busy->mark[i].value;
  return make_tree(busy);
}

/* Returns the maximum number of busy GPUs in [from_us, to_us), in thousandths. */
static int64_t max_between(const struct busy_gpus *busy, int64_t from_us, int64_t to_us) {
  uint32_t before = hr__check_count_below(busy->mark, busy->n, from_us + 1);
  uint32_t until = hr__check_count_below(busy->mark, busy->n, to_us);
  int64_t max = 0;
  size_t low = (size_t)busy->size + (before ? before - 1 : 0), high = (size_t)busy->size + until;
  for (; low < high; low /= 2, high /= 2) {
    if (low % 2 && busy->tree[low++] > max) max = busy->tree[low - 1];
    if (high % 2 && busy->tree[--high] > max) max = busy->tree[high];
  }
  return max;
}

/* ---- Recorded starts on the cluster ---------------------------------------------------------------- */

/* Reports that more GPUs are busy than the cluster has. This is tolerated for a total of up to 1 % of the time from
   the first start to the last end. */
static void check_excess(struct hr__check_state *checker, const struct busy_gpus *busy, int64_t capacity_milli) {
  int64_t excess_us = 0, max = 0, all_us = busy->n ? busy->mark[busy->n - 1].key - busy->mark[0].key : 0;
  for (uint32_t i = 0; i + 1 < busy->n; i++) {
    if (busy->mark[i].value > max) max = busy->mark[i].value;
    if (busy->mark[i].value > capacity_milli) excess_us += busy->mark[i + 1].key - busy->mark[i].key;
  }
  if (excess_us <= all_us / 100) return;
  char peak[HR__NUMBER_BYTES], gpus[HR__NUMBER_BYTES], of[HR__SHARE_BYTES];
  hr__check_add(checker, HR_FINDING_RECORDED_OVER_CAPACITY, HR_SEVERITY_WARNING,
                &(struct hr__check_subject){.job = HR_NONE},
                "as recorded, up to %s GPU%s busy at once on a cluster of %s; more than it has for %s of the time",
                hr__count_text((uint64_t)max / 1000, peak), hr__counted((uint64_t)max / 1000, " is", "s are"),
                hr__count_text((uint64_t)capacity_milli / 1000, gpus),
                hr__check_share_text((double)excess_us / (double)all_us, of));
}

static void check_idle(struct hr__check_state *checker, const struct busy_gpus *busy, int64_t capacity_milli) {
  enum { SHARE = 20 };
  const struct hr_trace *trace = checker->trace;
  uint32_t known = 0, count = 0, first = HR_NONE;
  for (uint32_t i = 0; i < checker->n; i++) {
    int64_t start_us = trace->recorded_start_us[i], milli = (int64_t)hr_trace_gpus_milli(trace, (hr_job){i});
    if (start_us < 0 || milli == 0) continue;
    known++;
    if (start_us - trace->submit_us[i] < LONG_WAIT_S * HR_SECOND_US || milli > capacity_milli / 2) continue;
    if (max_between(busy, trace->submit_us[i], start_us) + milli > capacity_milli / 2) continue;
    if (count++ == 0) first = i;
  }
  if (count < MIN_JOBS || count < known / SHARE) return;
  hr__check_add_jobs(
      checker, HR_FINDING_WAITS_WITHOUT_CAUSE, HR__ALWAYS_WARN, count, known, first, " of those with a recorded start",
      "waited 10 min or more although at least half of the cluster's GPUs were idle during the whole wait");
}

static void check_recorded_part(struct hr__check_state *checker) {
  if (!checker->trace->recorded_start_us) return;
  check_starts(checker);
  if (!checker->cluster || checker->out_of_memory) return;
  struct busy_gpus busy;
  int64_t capacity_milli = 1000 * (int64_t)hr_cluster_spec_gpus(checker->cluster);
  if (make_busy_gpus(checker, &busy)) {
    check_excess(checker, &busy, capacity_milli);
    check_idle(checker, &busy, capacity_milli);
  } else {
    checker->out_of_memory = true;
  }
  free(busy.mark);
  free(busy.tree);
}

/* ---- Jobs that never run --------------------------------------------------------------------------- */

enum { REASONS = 256, MAX_TYPES = 8 };

static bool open_cluster(const struct hr__check_state *checker, struct cluster_comparison *against) {
  const struct hr_trace_check_config *config = &checker->check->config;
  const struct hr_trace *trace = checker->trace;
  return hr__speeds_init(&against->speeds, &against->arena, config->speeds, config->cluster, trace) == HR_OK &&
         hr__cluster_init(&against->cluster, &against->arena, config->cluster, trace, config->classes,
                          &against->speeds) == HR_OK;
}

static bool find_refusals(const struct hr__check_state *checker, struct cluster_comparison *against) {
  against->refusal = malloc(checker->n * sizeof *against->refusal);
  for (uint32_t i = 0; against->refusal && i < checker->n; i++)
    against->refusal[i] = (uint8_t)hr__cluster_never_fits(&against->cluster, (hr_job){i});
  return against->refusal != NULL;
}

/* Jobs that can never run, and the first of them. */
struct never_group {
  uint32_t count, first;
};

/* Returns true if the job can never run because the cluster has none of the GPU types that it requests. */
static bool is_of_type(const struct hr_trace *trace, const struct cluster_comparison *against, uint32_t job) {
  return against->refusal[job] == HR_REASON_NO_GPU_TYPE && trace->gpu_types && trace->gpu_types[job] != HR_NONE;
}

static void report_reason(struct hr__check_state *checker, enum hr_reason reason, const struct never_group *group) {
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES], gpus[HR__NUMBER_BYTES];
  uint32_t requested = checker->trace->gpus[group->first];
  hr__check_add(checker, HR_FINDING_NEVER_FITS, HR_SEVERITY_ERROR,
                &(struct hr__check_subject){
                    .count = group->count, .of = checker->n, .job = group->first, .subject = hr_reason_name(reason)},
                "%s job%s (%s) can never run on this cluster: %s (%s); the first requests %s GPU%s",
                hr__count_text(group->count, text), hr__plural(group->count),
                hr__check_share_text((double)group->count / checker->n, of), hr_rejection_words(reason),
                hr_reason_name(reason), hr__count_text(requested, gpus), hr__plural(requested));
}

static void report_type(struct hr__check_state *checker, const char *types, const struct never_group *group) {
  char text[HR__NUMBER_BYTES], of[HR__SHARE_BYTES];
  hr__check_add(
      checker, HR_FINDING_UNKNOWN_GPU_TYPE, HR_SEVERITY_ERROR,
      &(struct hr__check_subject){.count = group->count, .of = checker->n, .job = group->first, .subject = types},
      "%s job%s (%s) %s %.60s, which the cluster does not have", hr__count_text(group->count, text),
      hr__plural(group->count), hr__check_share_text((double)group->count / checker->n, of),
      group->count == 1 ? "requests" : "request", types);
}

/* Adds one finding for each list of GPU types that the cluster does not have, up to MAX_TYPES lists. One additional
   finding covers all further lists. */
static void report_types(struct hr__check_state *checker, const struct never_group *lists) {
  const struct hr_names *names = &checker->trace->gpu_type_lists;
  struct never_group rest = {0, HR_NONE};
  uint32_t n_reported = 0;
  for (uint32_t i = 0; i < names->count; i++) {
    if (!lists[i].count) continue;
    if (n_reported++ < MAX_TYPES) {
      report_type(checker, names->text[i], &lists[i]);
      continue;
    }
    rest.count += lists[i].count;
    if (lists[i].first < rest.first) rest.first = lists[i].first;
  }
  if (rest.count) report_type(checker, "other types", &rest);
}

static void check_fit(struct hr__check_state *checker, const struct cluster_comparison *against) {
  const struct hr_trace *trace = checker->trace;
  struct never_group reasons[REASONS] = {{0}};
  struct never_group *lists = calloc((size_t)trace->gpu_type_lists.count + 1, sizeof *lists);
  if (!lists) {
    checker->out_of_memory = true;
    return;
  }
  for (uint32_t i = 0; i < checker->n; i++) {
    if (against->refusal[i] == HR_REASON_NONE) continue;
    struct never_group *group =
        is_of_type(trace, against, i) ? &lists[trace->gpu_types[i]] : &reasons[against->refusal[i]];
    if (group->count++ == 0) group->first = i;
  }
  for (unsigned reason = 1; reason < REASONS; reason++)
    if (reasons[reason].count) report_reason(checker, (enum hr_reason)reason, &reasons[reason]);
  report_types(checker, lists);
  free(lists);
}

static void check_cluster_part(struct hr__check_state *checker) {
  if (!checker->cluster) return;
  struct cluster_comparison against = {0};
  if (open_cluster(checker, &against) && find_refusals(checker, &against)) {
    check_fit(checker, &against);
    check_load(checker, &against);
  } else {
    checker->out_of_memory = true;
  }
  free(against.refusal);
  hr__arena_finish(&against.arena);
}

/* ---- All parts ------------------------------------------------------------------------------------- */

void hr__check_cluster(struct hr__check_state *checker) {
  static void (*const parts[])(struct hr__check_state *) = {check_recorded_part, check_cluster_part};
  for (size_t i = 0; i < sizeof parts / sizeof *parts && !checker->out_of_memory; i++) parts[i](checker);
}
