/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is asked of pools against what they have. Jobs that accept no pool outside of a set can only be done there: so
 * each set of pools that some jobs are bound to must bear all jobs bound to it or to a part of it. Over the time in
 * which jobs come, hour by hour: jobs are taken to begin when they are submitted, and what an hour asks for beyond all
 * GPUs is a backlog for the next.
 */

#include "report/text.h"
#include "workload/against.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SETS = 64, MOST_STEPS = 100000, LONG_BACKLOG_H = 24 };
#define LITTLE 0.05

struct sets {
  const struct hr__checker *checker;
  const struct hr__against *against;
  uint32_t n_pools, count;
  uint8_t *row;     /* [MOST_SETS][n_pools] */
  uint32_t *set_of; /* [accept classes], HR_NONE: not seen yet, or beyond the most */
  int64_t step_us;
  uint32_t n_steps;
  double *level, *part; /* [n_steps + 1], GPUs: change from a step on; mean of what fills a step in part */
};

/* ---- Sets ----------------------------------------------------------------------------------------------- */

static bool has_nodes(const struct sets *sets, uint32_t pool) {
  return sets->checker->scenario->cluster.pools[pool].nodes > 0;
}

static uint32_t set_of_class(struct sets *sets, uint32_t class_) {
  if (sets->set_of[class_] != HR_NONE) return sets->set_of[class_];
  if (sets->count == MOST_SETS) return HR_NONE;
  uint8_t *draft = sets->row + (size_t)sets->count * sets->n_pools;
  for (uint32_t pool = 0; pool < sets->n_pools; pool++)
    draft[pool] = has_nodes(sets, pool) && hr__accepts_pool(&sets->against->cluster.accepts, class_, pool);
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
  const struct hr_pool_spec *pools = sets->checker->scenario->cluster.pools;
  uint64_t gpus = 0;
  for (uint32_t pool = 0; pool < sets->n_pools; pool++)
    if (sets->row[(size_t)set * sets->n_pools + pool]) gpus += (uint64_t)pools[pool].nodes * pools[pool].gpus_per_node;
  return gpus;
}

/* The pools' types, each once, between `|`; NULL when out of memory. */
static char *types_of(const struct sets *sets, uint32_t set) {
  const struct hr_pool_spec *pools = sets->checker->scenario->cluster.pools;
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

/* ---- What is asked -------------------------------------------------------------------------------------- */

/* At the fastest speed of the pools that it accepts. */
static int64_t time_of(const struct sets *sets, uint32_t job, uint32_t set) {
  uint32_t fastest = 0;
  for (uint32_t pool = 0; pool < sets->n_pools; pool++) {
    if (!sets->row[(size_t)set * sets->n_pools + pool]) continue;
    uint32_t speed = hr__speed_ppm(&sets->against->speeds, (hr_job){job}, (hr_pool){pool});
    if (speed > fastest) fastest = speed;
  }
  return hr__time_for_us(sets->checker->trace->work_us[job], fastest ? fastest : HR__FULL_SPEED_PPM);
}

/* `gpus` from one time to another, as far as jobs come. */
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

/* GPU hours, of all that the jobs do and of what they do before the last submit; fills the steps. */
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

/* Days and the backlog, from the steps. */
static void follow(const struct sets *sets, struct hr_offered_load *load) {
  double step_h = hr__seconds(sets->step_us) / 3600, level = 0, backlog = 0, day = 0, day_h = 0;
  double gpus = (double)load->gpus;
  for (uint32_t i = 0; i < sets->n_steps; i++) {
    level += sets->level[i];
    double asked = level + sets->part[i];
    backlog = fmax(0, backlog + (asked - gpus) * step_h / gpus);
    load->backlog_h = fmax(load->backlog_h, backlog);
    day += asked * step_h;
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

/* ---- Telling -------------------------------------------------------------------------------------------- */

static void tell_idle(struct hr__checker *checker, const struct hr_offered_load *load) {
  char gpus[HR__NUMBER_BYTES];
  hr__find(checker, HR_FINDING_UNDERLOAD, HR_SEVERITY_NOTE,
           &(struct hr__where){.job = HR_NONE, .subject = load->gpu_types},
           "%.80s: %.2g %% of what %s GPU%s give is asked for while jobs come", load->gpu_types, 100 * load->load,
           hr__count_text(load->gpus, gpus), hr__plural(load->gpus));
}

/* A queue that grows without end must grow while jobs come: work that runs on after the last one alone proves nothing.
 */
static void tell(struct hr__checker *checker, const struct hr_offered_load *load) {
  bool overloaded = load->load > 1 && load->within > 1, is_short = checker->span_us < HR__DAY_US;
  char gpus[HR__NUMBER_BYTES], days[160] = "", backlog[HR__NUMBER_BYTES], percent[HR__NUMBER_BYTES];
  if (load->load < LITTLE && load->over == 0) tell_idle(checker, load);
  if (!overloaded && load->over == 0) return;
  enum hr_severity severity = overloaded                          ? HR_SEVERITY_ERROR
                              : load->backlog_h >= LONG_BACKLOG_H ? HR_SEVERITY_WARNING
                                                                  : HR_SEVERITY_NOTE;
  if (load->over)
    snprintf(days, sizeof days, "; %u of %u day%s for more than there is, day %u for %.0f %%", load->over, load->days,
             hr__counted(load->over, load->days == 1 ? " asks" : "s asks", "s ask"), load->worst_day + 1,
             100 * load->worst);
  hr__find(
      checker, overloaded ? HR_FINDING_OVERLOAD : HR_FINDING_OVERLOADED_DAYS, is_short ? HR_SEVERITY_NOTE : severity,
      &(struct hr__where){.count = load->over, .of = load->days, .job = HR_NONE, .subject = load->gpu_types},
      "%.80s: %s %% of what %s GPU%s give is asked for while jobs come%s; work for up to %s of all of them is left "
      "over",
      load->gpu_types, hr__fixed_text(100 * load->load, load->load < 1 ? 1 : 0, percent),
      hr__count_text(load->gpus, gpus), hr__plural(load->gpus), days,
      hr__duration_text(3600 * load->backlog_h, backlog));
}

static int by_load(const void *a, const void *b) {
  double first = ((const struct hr_offered_load *)a)->load, second = ((const struct hr_offered_load *)b)->load;
  return (first < second) - (first > second);
}

static bool open_sets(struct sets *sets) {
  const struct hr__checker *checker = sets->checker;
  uint32_t n_classes = sets->against->cluster.accepts.classes.count;
  sets->step_us = checker->span_us / MOST_STEPS > HR__HOUR_US ? checker->span_us / MOST_STEPS : HR__HOUR_US;
  sets->n_steps = (uint32_t)((checker->span_us + sets->step_us - 1) / sets->step_us);
  sets->row = calloc((size_t)MOST_SETS + 1, sets->n_pools);
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

static bool measure(struct hr__checker *checker, struct sets *sets) {
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
    follow(sets, load);
  }
  if (!check->loads) return false;
  qsort(check->loads, check->n_loads, sizeof *check->loads, by_load);
  for (size_t i = 0; i < check->n_loads; i++) tell(checker, &check->loads[i]);
  return true;
}

void hr__check_load(struct hr__checker *checker, const struct hr__against *against) {
  struct sets sets = {.checker = checker, .against = against, .n_pools = checker->scenario->cluster.n_pools};
  if (checker->span_us == 0) return;
  if (!open_sets(&sets) || !measure(checker, &sets)) checker->out_of_memory = true;
  free(sets.row);
  free(sets.set_of);
  free(sets.level);
  free(sets.part);
}
