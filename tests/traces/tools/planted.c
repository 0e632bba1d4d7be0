/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "planted.h"

#include "headroom/scenario.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double two_pi = 6.283185307179586;

/* The generator SplitMix64 of Steele, Lea and Flood. */
static uint64_t next(struct planted *planted) {
  uint64_t z = planted->state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return z ^ z >> 31;
}

double planted_uniform(struct planted *planted) {
  return (double)(next(planted) >> 11) * 0x1p-53;
}

uint32_t planted_below(struct planted *planted, uint32_t n) {
  return (uint32_t)(planted_uniform(planted) * n);
}

static double between(struct planted *planted, double low, double high) {
  return low + (high - low) * planted_uniform(planted);
}

static double normal(struct planted *planted) {
  double radius = sqrt(-2 * log(1 - planted_uniform(planted)));
  return radius * cos(two_pi * planted_uniform(planted));
}

/* ---- Shapes ----------------------------------------------------------------------------------------- */

struct shape {
  double days, diurnal, weekend, median_s, sigma, limit;
  uint32_t users;
  int64_t grain_us;
};

static struct shape draw_shape(struct planted *planted) {
  static const int64_t grains_us[] = {1, 1000, SECOND_US};
  struct shape shape = {.days = between(planted, 21, 35),
                        .diurnal = planted_uniform(planted),
                        .weekend = between(planted, 0.1, 1),
                        .median_s = exp(between(planted, log(600), log(7200))),
                        .sigma = between(planted, 0.7, 1.8),
                        .limit = between(planted, 1.5, 4),
                        .users = 5 + planted_below(planted, 60)};
  shape.grain_us = grains_us[planted_below(planted, 3)];
  return shape;
}

/* Draws a submit time from a Poisson process with a daily and weekly pattern, by rejection. */
static int64_t draw_submit(struct planted *planted, const struct shape *shape) {
  for (;;) {
    double day = planted_uniform(planted) * shape->days;
    double rate = (1 - shape->diurnal * cos(two_pi * day)) / 2 * (fmod(day, 7) < 5 ? 1 : shape->weekend);
    if (planted_uniform(planted) < rate) return (int64_t)(day * (double)DAY_US) / shape->grain_us * shape->grain_us;
  }
}

static uint32_t draw_user(struct planted *planted, uint32_t users) {
  double all = 0, sum = 0;
  for (uint32_t i = 1; i <= users; i++) all += 1.0 / i;
  double at = planted_uniform(planted) * all;
  for (uint32_t i = 1; i < users; i++)
    if ((sum += 1.0 / i) > at) return i - 1;
  return users - 1;
}

static struct planted_job draw_job(struct planted *planted, const struct shape *shape) {
  static const uint32_t gpus[] = {1, 1, 1, 1, 2, 2, 4, 8, 8, 16};
  static const uint8_t outcomes[] = {HR_OUTCOME_COMPLETED, HR_OUTCOME_COMPLETED, HR_OUTCOME_COMPLETED,
                                     HR_OUTCOME_FAILED, HR_OUTCOME_CANCELLED};
  int64_t submit_us = draw_submit(planted, shape);
  double run_s = shape->median_s * exp(shape->sigma * normal(planted));
  int64_t work_us = ((int64_t)(run_s * 1e6) / shape->grain_us + 1) * shape->grain_us;
  double wait_s = planted_uniform(planted) < 0.4 ? -600 * log(1 - planted_uniform(planted)) : 0;
  return (struct planted_job){.submit_us = submit_us,
                              .work_us = work_us,
                              .limit_us = (int64_t)((double)work_us * between(planted, 1, shape->limit)),
                              .start_us = submit_us + (int64_t)wait_s * SECOND_US,
                              .deadline_us = INT64_MIN,
                              .gpus = gpus[planted_below(planted, 10)],
                              .tasks = 1,
                              .gpu_milli = 1000,
                              .user = draw_user(planted, shape->users),
                              .class_ = planted_uniform(planted) < 0.7 ? HR_CLASS_TRAINING : HR_CLASS_FINE_TUNE,
                              .outcome = outcomes[planted_below(planted, 5)]};
}

static int by_submit(const void *a, const void *b) {
  const struct planted_job *first = a, *second = b;
  return (first->submit_us > second->submit_us) - (first->submit_us < second->submit_us);
}

void planted_grow(struct planted *planted, uint64_t seed, uint32_t n) {
  *planted = (struct planted){.state = seed * 1000003};
  struct shape shape = draw_shape(planted);
  for (uint32_t i = 0; i < n; i++) planted_add(planted, draw_job(planted, &shape));
  qsort(planted->jobs, planted->n, sizeof *planted->jobs, by_submit);
}

void planted_finish(struct planted *planted) {
  free(planted->jobs);
}

void planted_add(struct planted *planted, struct planted_job job) {
  if (planted->n >= planted->capacity) {
    planted->capacity = 2 * planted->n + 64;
    planted->jobs = realloc(planted->jobs, planted->capacity * sizeof *planted->jobs);
  }
  if (!planted->jobs) abort();
  planted->jobs[planted->n++] = job;
}

void planted_drop(struct planted *planted, uint32_t job) {
  planted->jobs[job] = planted->jobs[--planted->n];
}

/* ---- Traces and checks ------------------------------------------------------------------------------ */

static struct hr_text text_of(const char *text) {
  return (struct hr_text){text, text ? strlen(text) : 0};
}

static void add_record(struct hr_trace_builder *builder, const struct planted_job *job, uint32_t row) {
  char id[24], user[24], tenant[24];
  struct hr_job_record record;
  hr_job_record_init(&record);
  snprintf(id, sizeof id, "j%u", row + 1);
  snprintf(user, sizeof user, "user-%u", job->user);
  snprintf(tenant, sizeof tenant, "tenant-%u", job->user % 7);
  record.id = text_of(id);
  record.user = text_of(user);
  record.tenant = text_of(tenant);
  record.gpu_types = text_of(job->types);
  record.submit_us = job->submit_us;
  record.work_us = job->work_us;
  record.limit_us = job->limit_us;
  record.recorded_start_us = job->start_us;
  record.deadline_us = job->deadline_us;
  record.gpus = job->gpus;
  record.tasks = job->tasks;
  record.gpu_milli = job->gpu_milli;
  record.class_ = job->class_;
  record.outcome = job->outcome;
  struct hr_error error = {0};
  if (hr_trace_builder_add(builder, &record, row + 2, &error) != HR_OK) {
    fprintf(stderr, "\n    %s\n", error.text);
    abort();
  }
}

struct hr_trace *planted_trace(const struct planted *planted) {
  struct hr_trace_builder *builder = hr_trace_builder_create("planted", "memory");
  struct hr_trace *trace = NULL;
  struct hr_error error = {0};
  for (uint32_t i = 0; builder && i < planted->n; i++) add_record(builder, &planted->jobs[i], i);
  if (!builder || hr_trace_builder_finish(builder, planted->dated, true, &trace, &error) != HR_OK)
    fprintf(stderr, "\n    %s\n", error.text);
  hr_trace_builder_destroy(builder);
  if (!trace) abort();
  return trace;
}

struct hr_trace_check *check_of(const struct hr_trace *trace, const struct hr_scenario *scenario) {
  struct hr_trace_check_config config = {.trace = trace,
                                         .cluster = scenario ? &scenario->cluster : NULL,
                                         .cluster_name = scenario ? scenario->name : NULL,
                                         .classes = scenario ? scenario->classes : NULL,
                                         .speeds = scenario ? scenario->speeds : NULL};
  struct hr_trace_check *check = NULL;
  struct hr_error error = {0};
  if (hr_trace_check_make(&config, &check, &error) != HR_OK) fprintf(stderr, "\n    %s\n", error.text);
  if (!check) abort();
  return check;
}

const struct hr_finding *finding_of(const struct hr_trace_check *check, enum hr_finding_code code) {
  for (size_t i = 0; i < check->n_findings; i++)
    if (check->findings[i].code == code) return &check->findings[i];
  return NULL;
}

size_t alarms_of(const struct hr_trace_check *check) {
  size_t alarms = 0;
  const struct hr_finding *findings = check->findings;
  for (size_t i = 0; i < check->n_findings; i++) {
    if (findings[i].severity == HR_SEVERITY_NOTE) continue;
    printf("\n    %s: %s", hr_finding_name(findings[i].code), findings[i].text);
    alarms++;
  }
  return alarms;
}
