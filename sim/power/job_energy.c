/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The energy of jobs. It is power x time, and time is measured together with the integrals of the carbon intensity and
 * of the price (struct hr__span). So the energy of an attempt with constant power follows from its start, its end and
 * its pool. A job that ran once, from its start to its end at a constant power, is undisturbed: only the number of its
 * pool is stored, and its energy is computed when it is read. A job gets a row for the sum of its energy when
 * it is stopped before its end or when its power changes.
 *
 * Integrals until a time are rounded down before differences are taken. So the result does not depend on whether the
 * energy is added in parts or computed at once.
 */

#include "sim/power/job_energy.h"

#include "base/containers.h"
#include "sim/engine/engine.h"

#include <stdlib.h>

/* ---- Rows ---- */

struct hr__job_energy *hr__job_energy_create(uint32_t n_pools, uint32_t n_jobs, uint32_t *places,
                                             const struct hr_class_spec *classes) {
  struct hr__job_energy *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  *self = (struct hr__job_energy){.pools = calloc((size_t)n_pools + 1, sizeof *self->pools),
                                  .n_pools = n_pools,
                                  .classes = classes,
                                  .place = places ? places : calloc((size_t)n_jobs + 1, sizeof *places),
                                  .owns_places = !places};
  if (self->pools && self->place) return self;
  hr__job_energy_destroy(self);
  return NULL;
}

void hr__job_energy_destroy(struct hr__job_energy *self) {
  if (!self) return;
  if (self->owns_places) free(self->place);
  free(self->pools);
  free(self->rows);
  free(self);
}

struct hr__energy_row *hr__job_energy_row(struct hr__job_energy *self, hr_job job, int64_t since_us) {
  if (hr__job_energy_has_row(self, job)) return hr__job_energy_row_of(self, job);
  uint32_t at = self->unused;
  if (at == 0 && !HR__ARRAY_HAS_ROOM(self->rows, self->count, self->capacity)) return NULL;
  if (at == 0)
    at = ++self->count;
  else
    self->unused = (uint32_t)self->rows[at - 1].since_us;
  self->rows[at - 1] = (struct hr__energy_row){.since_us = since_us};
  self->place[job.id] = self->n_pools + at;
  return &self->rows[at - 1];
}

void hr__job_energy_free_row(struct hr__job_energy *self, hr_job job) {
  if (!hr__job_energy_has_row(self, job)) return;
  struct hr__energy_row *row = hr__job_energy_row_of(self, job);
  row->since_us = self->unused;
  self->unused = self->place[job.id] - self->n_pools;
  self->place[job.id] = 0;
}

/* ---- Energy ---- */

struct hr__span hr__metered_time(const struct hr__metered_pool *pool, int64_t at_us) {
  struct hr__span time = {.us = at_us};
  const struct hr_series *carbon = pool->carbon, *price = pool->price;
  if (carbon)
    time.carbon = hr__ug_to_mg(hr_series_between(carbon, hr_series_first_us(carbon), pool->carbon_begin_us + at_us) -
                               pool->carbon_before);
  if (price)
    time.price = hr_series_between(price, hr_series_first_us(price), pool->price_begin_us + at_us) - pool->price_before;
  return time;
}

/* Returns the difference of two times of a run. */
static struct hr__span metered_span(const struct hr__metered_pool *pool, struct hr__energy_cursor *cursor,
                                    int64_t from_us, int64_t to_us) {
  struct hr__span span = {.us = to_us - from_us};
  hr_amount from, to;
  if (pool->carbon) {
    hr_series_integrals_near(pool->carbon, &cursor->carbon, pool->carbon_begin_us + from_us,
                             pool->carbon_begin_us + to_us, &from, &to);
    span.carbon = hr__ug_to_mg(to - pool->carbon_before) - hr__ug_to_mg(from - pool->carbon_before);
  }
  if (pool->price) {
    hr_series_integrals_near(pool->price, &cursor->price, pool->price_begin_us + from_us, pool->price_begin_us + to_us,
                             &from, &to);
    span.price = to - from;
  }
  return span;
}

struct hr__watts hr__job_power(const struct hr__metered_pool *pool, const struct hr_trace *trace,
                               const struct hr_class_spec *classes, hr_job job, uint64_t milli, uint32_t level) {
  uint32_t fraction_ppm = hr__power_fraction(trace, classes, job);
  struct hr__watts power = {0}, rate = pool->default_rate;
  if (level > 0 || fraction_ppm != HR__NO_FRACTION) {
    rate = hr__busy_rate_at(pool->spec, pool->gpus, level, fraction_ppm);
    rate.embodied = pool->default_rate.embodied;
  }
  hr__watts_add(&power, &rate, (int64_t)milli);
  return power;
}

/* Returns the energy of a job with a place that was not disturbed, with `milli` milli-GPUs, in a span of time. */
static struct hr_energy undisturbed(const struct hr__job_energy *self, const struct hr_trace *trace,
                                    struct hr__energy_cursor *cursor, hr_job job, uint64_t milli, int64_t from_us,
                                    int64_t to_us) {
  const struct hr__metered_pool *pool = &self->pools[self->place[job.id] - 1];
  struct hr__watts power = hr__job_power(pool, trace, self->classes, job, milli, 0);
  const struct hr__span span = metered_span(pool, cursor, from_us, to_us);
  struct hr_energy energy = {0};
  hr__energy_add_time(&energy, &power, &span);
  return energy;
}

struct hr_energy hr_view_energy(const struct hr_view *view, hr_job job) {
  const struct hr__engine *engine = hr__engine_of(view);
  const struct hr__job_energy *self = engine->energy;
  if (self->place[job.id] == 0) return (struct hr_energy){0};
  if (hr__job_energy_has_row(self, job)) return hr__job_energy_row_of(self, job)->sum;
  if (engine->state[job.id] != HR_JOB_COMPLETED) return (struct hr_energy){0};
  int64_t from_us = engine->start_us[job.id];
  int64_t to_us = engine->ended_us ? engine->ended_us[job.id] : from_us + engine->trace->work_us[job.id];
  uint64_t milli = engine->gpu_milli ? engine->gpu_milli[job.id] : hr__job_gpu_milli(engine->trace, job);
  struct hr__energy_cursor cursor = {0};
  return undisturbed(self, engine->trace, &cursor, job, milli, from_us, to_us);
}

struct hr_energy hr__result_energy_near(const struct hr_result *result, struct hr__energy_cursor *cursor, hr_job job) {
  const struct hr__job_energy *self = result->energy;
  if (self->place[job.id] == 0) return (struct hr_energy){0};
  if (hr__job_energy_has_row(self, job)) return hr__job_energy_row_of(self, job)->sum;
  int64_t to_us = result->state[job.id] == HR_JOB_COMPLETED ? hr_result_end_us(result, job) : result->end_us;
  uint64_t milli = result->gpu_milli ? result->gpu_milli[job.id] : hr__job_gpu_milli(result->trace, job);
  return undisturbed(self, result->trace, cursor, job, milli, result->start_us[job.id], to_us);
}

struct hr_energy hr_result_energy(const struct hr_result *result, hr_job job) {
  struct hr__energy_cursor cursor = {0};
  return hr__result_energy_near(result, &cursor, job);
}
