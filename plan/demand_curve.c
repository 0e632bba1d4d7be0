/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starts and ends of all jobs in order of time make a step function; its steps in order of height make the curve. */

#include "plan/demand_curve.h"

#include <gsl/gsl_sort.h>
#include <stdlib.h>

struct change {
  int64_t at_us, milli;
};

static int by_time(const void *a, const void *b) {
  const struct change *first = a, *second = b;
  return (first->at_us > second->at_us) - (first->at_us < second->at_us);
}

static int by_level(const void *a, const void *b) {
  const struct change *first = a, *second = b;
  return (first->milli > second->milli) - (first->milli < second->milli);
}

static size_t list_changes(const struct hr_trace *trace, struct change *changes) {
  size_t count = 0;
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    int64_t milli = (int64_t)hr_trace_gpus_milli(trace, (hr_job){i});
    if (milli == 0 || trace->work_us[i] == 0) continue;
    changes[count++] = (struct change){trace->submit_us[i], milli};
    changes[count++] = (struct change){trace->submit_us[i] + trace->work_us[i], -milli};
  }
  qsort(changes, count, sizeof *changes, by_time);
  return count;
}

/* In place: changes become spells within the window, `at_us` their length and `milli` their level. */
static size_t list_spells(struct change *changes, size_t count, int64_t window_us) {
  int64_t now_us = 0, level = 0;
  size_t n_spells = 0;
  for (size_t i = 0; i < count && now_us < window_us; i++) {
    struct change change = changes[i];
    int64_t until_us = change.at_us < window_us ? change.at_us : window_us;
    if (until_us > now_us) changes[n_spells++] = (struct change){until_us - now_us, level};
    now_us = until_us;
    level += change.milli;
  }
  if (now_us < window_us) changes[n_spells++] = (struct change){window_us - now_us, level};
  qsort(changes, n_spells, sizeof *changes, by_level);
  return n_spells;
}

static void fill_curve(struct hr__demand *demand, const struct change *spells, size_t count, int64_t window_us,
                       double growth) {
  double area = 0;
  for (size_t i = 0; i < count; i++) {
    double gpus = (double)spells[i].milli / 1000 * growth, share = (double)spells[i].at_us / (double)window_us;
    if (demand->n_steps && demand->gpus[demand->n_steps - 1] == gpus) {
      demand->share[demand->n_steps - 1] += share;
    } else {
      demand->gpus[demand->n_steps] = gpus;
      demand->share[demand->n_steps++] = share;
    }
    area += gpus * share;
  }
  demand->mean_gpus = area;
  demand->peak_gpus = demand->n_steps ? demand->gpus[demand->n_steps - 1] : 0;
}

static bool sum_work(struct hr__demand *demand, const struct hr_trace *trace, double growth, double may_fail) {
  double *hours = malloc(((size_t)trace->n_jobs + 1) * sizeof *hours);
  if (!hours) return false;
  for (uint32_t i = 0; i < trace->n_jobs; i++)
    hours[i] = (double)(int64_t)hr_trace_gpus_milli(trace, (hr_job){i}) / 1000 * (double)trace->work_us[i] /
               (3600.0 * (double)HR_SECOND_US);
  gsl_sort(hours, 1, trace->n_jobs);
  /* 7 of 100 where the share is 1 - 0.93, which as a double is a little less. */
  uint32_t kept = trace->n_jobs - (uint32_t)(may_fail * trace->n_jobs + 1e-6);
  for (uint32_t i = 0; i < trace->n_jobs; i++) {
    demand->gpu_hours += hours[i] * growth;
    if (i < kept) demand->least_gpu_hours += hours[i] * growth;
  }
  free(hours);
  return true;
}

enum hr_status hr__demand_make(const struct hr_trace *trace, double growth, double may_fail,
                               struct hr__demand *demand) {
  *demand = (struct hr__demand){0};
  size_t most = 2 * (size_t)trace->n_jobs + 1;
  struct change *changes = malloc(most * sizeof *changes);
  demand->gpus = malloc(most * sizeof *demand->gpus);
  demand->share = malloc(most * sizeof *demand->share);
  bool made = changes && demand->gpus && demand->share && sum_work(demand, trace, growth, may_fail);
  int64_t window_us = trace->n_jobs ? trace->submit_us[trace->n_jobs - 1] : 0;
  demand->window_h = (double)window_us / (3600.0 * (double)HR_SECOND_US);
  if (made && window_us > 0)
    fill_curve(demand, changes, list_spells(changes, list_changes(trace, changes), window_us), window_us, growth);
  free(changes);
  return made ? HR_OK : HR_NO_MEMORY;
}

void hr__demand_finish(struct hr__demand *demand) {
  free(demand->gpus);
  free(demand->share);
  *demand = (struct hr__demand){0};
}

double hr__demand_exceeded(const struct hr__demand *demand, double share) {
  double above = 0;
  for (size_t i = demand->n_steps; i-- > 0;) {
    above += demand->share[i];
    if (above > share) return demand->gpus[i];
  }
  return 0;
}

double hr__demand_newsvendor(const struct hr__demand *demand, double standing, double elastic) {
  return standing < elastic ? hr__demand_exceeded(demand, standing / elastic) : 0;
}
