/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_POWER_JOB_ENERGY_H
#define HR_SIM_POWER_JOB_ENERGY_H

/* The energy of jobs in all their attempts (job_energy.c). */

#include "headroom/sim.h"
#include "headroom/unstable/series.h"
#include "sim/power/power.h"

#include <stdbool.h>

/* What determines the energy of an attempt in a pool. */
struct hr__metered_pool {
  const struct hr_power_spec *spec; /* NULL: the power of the pool is unknown */
  uint32_t gpus;                    /* of a node */
  struct hr__watts default_rate;    /* of a milli-GPU of a job that does not state its power */
  /* the electricity of the pool, and the begin of the run in its series; NULL: unknown */
  const struct hr_series *carbon, *price;
  int64_t carbon_begin_us, price_begin_us;
  hr_amount carbon_before, price_before; /* integrals from the first stamp of the series to the begin of the run */
};

/* The energy of a job that was disturbed. */
struct hr__energy_row {
  struct hr_energy sum; /* until `since_us`; in a free row, since_us is the next free row */
  int64_t since_us;     /* when the present attempt began, or when its energy was last added */
};

struct hr__job_energy {
  struct hr__metered_pool *pools; /* by number in the whole run; see above */
  uint32_t n_pools;
  const struct hr_class_spec *classes; /* borrowed, like the series and the power of the pools */
  /* by job: 0: no energy yet; 1 + pool: it started there and was not disturbed; 1 + n_pools + row: its row */
  uint32_t *place;
  struct hr__energy_row *rows;
  uint32_t count, capacity;
  uint32_t unused; /* the first free row + 1; 0: none */
  bool owns_places;
};

/* Creates the energy of the jobs of a run. `places`: zeroed memory, which remains the property of the caller; NULL: it
   is allocated for `n_jobs` jobs. Returns NULL if memory is exhausted. hr__job_energy_destroy accepts NULL. */
struct hr__job_energy *hr__job_energy_create(uint32_t n_pools, uint32_t n_jobs, uint32_t *places,
                                             const struct hr_class_spec *classes);
void hr__job_energy_destroy(struct hr__job_energy *self);

static inline bool hr__job_energy_has_row(const struct hr__job_energy *self, hr_job job) {
  return self->place[job.id] > self->n_pools;
}

static inline struct hr__energy_row *hr__job_energy_row_of(const struct hr__job_energy *self, hr_job job) {
  return &self->rows[self->place[job.id] - 1 - self->n_pools];
}

/* hr__job_energy_row returns the row of a job. If it has none, it gets one, with the time `since_us`. Returns NULL if
   memory is exhausted. hr__job_energy_free_row frees the row of a job, if it has one. */
struct hr__energy_row *hr__job_energy_row(struct hr__job_energy *self, hr_job job, int64_t since_us);
void hr__job_energy_free_row(struct hr__job_energy *self, hr_job job);

/* Converts an integral of a carbon intensity from micrograms to milligrams, rounded towards 0. Numbers that do not fit
   in 64 bits are divided in two steps, because a division of 128 bits takes more time. */
static inline hr_amount hr__ug_to_mg(hr_amount ug) {
  enum { UG_PER_MG = 1000, LOW_BITS = 40, MAX_BITS = 100 };
  if (ug < 0 || ug >> MAX_BITS != 0) return ug / UG_PER_MG;
  const uint64_t high = (uint64_t)(ug >> LOW_BITS), low = (uint64_t)ug & ((UINT64_C(1) << LOW_BITS) - 1);
  return ((hr_amount)(high / UG_PER_MG) << LOW_BITS) + (hr_amount)(((high % UG_PER_MG << LOW_BITS) | low) / UG_PER_MG);
}
/* Returns a time of the run with the integrals until then. Without series this is the time itself. */
struct hr__span hr__metered_time(const struct hr__metered_pool *pool, int64_t at_us);

/* Returns the power of a job with `milli` milli-GPUs at a level of the power limits. */
struct hr__watts hr__job_power(const struct hr__metered_pool *pool, const struct hr_trace *trace,
                               const struct hr_class_spec *classes, hr_job job, uint64_t milli, uint32_t level);

/* The steps of the series in which the last job started. Zero-initialized: none. */
struct hr__energy_cursor {
  struct hr_series_cursor carbon, price;
};
/* As hr_result_energy, for many jobs in the order of their starts. `cursor`: the state of the last call. */
struct hr_energy hr__result_energy_near(const struct hr_result *result, struct hr__energy_cursor *cursor, hr_job job);

#endif
