/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_POWER_POWER_H
#define HR_SIM_POWER_POWER_H

/* Power as whole numbers, energy as the sum of power * time, power limits of GPUs, and the energy of jobs (power.c). */

#include "headroom/power.h"
#include "headroom/sim.h"
#include "headroom/trace.h"
#include "headroom/unstable/series.h"

#include <stdbool.h>

/* A power in nanowatts. The members are those of struct hr_energy, per microsecond. A number of nanowatts per milli-GPU
   is the same number of microwatts per GPU. The power of a pool is at most HR_POWER_MAX_W. */
struct hr__watts {
  int64_t it, loss, facility;
  int64_t embodied; /* carbon of the production of the hardware: attograms per microsecond */
};

static inline void hr__watts_add(struct hr__watts *sum, const struct hr__watts *part, int64_t times) {
  sum->it += part->it * times;
  sum->loss += part->loss * times;
  sum->facility += part->facility * times;
  sum->embodied += part->embodied * times;
}

/* A time since the start of the run, or the difference of two such times (a span). `carbon` is the integral of the
   carbon intensity until this time, in milligrams per kWh * microseconds. `price` is the integral of the price, in
   micro-dollars per kWh * microseconds. Both are 0 if unknown. The integral until a time is rounded, and a span is the
   difference of two rounded integrals. So the sum of the spans of a run does not depend on how the run is divided. */
struct hr__span {
  hr_amount us, carbon, price;
};

/* Adds `units` times the time from `from` to `to`. */
static inline void hr__span_add(struct hr__span *sum, const struct hr__span *from, const struct hr__span *to,
                                int64_t units) {
  sum->us += (to->us - from->us) * units;
  sum->carbon += (to->carbon - from->carbon) * units;
  sum->price += (to->price - from->price) * units;
}

static inline struct hr__span hr__span_between(const struct hr__span *from, const struct hr__span *to) {
  return (struct hr__span){to->us - from->us, to->carbon - from->carbon, to->price - from->price};
}

/* Adds `units` times a span. span->us must fit in 64 bits. */
static inline void hr__span_add_time(struct hr__span *sum, const struct hr__span *span, int64_t units) {
  sum->us += (hr_amount)(int64_t)span->us * units;
  if (span->carbon != 0) sum->carbon += span->carbon * units;
  if (span->price != 0) sum->price += span->price * units;
}

/* Adds the energy of a constant power for a span, as hr__energy_add does, but faster. span->us must fit in 64 bits. */
static inline void hr__energy_add_time(struct hr_energy *sum, const struct hr__watts *power,
                                       const struct hr__span *span) {
  const int64_t us = (int64_t)span->us, site = power->it + power->facility;
  sum->it += (hr_amount)power->it * us;
  sum->loss += (hr_amount)power->loss * us;
  sum->facility += (hr_amount)power->facility * us;
  sum->embodied += (hr_amount)power->embodied * us;
  if (span->carbon != 0) sum->carbon += site * span->carbon;
  if (span->price != 0) sum->price += site * span->price;
}

/* Adds the energy of a constant power for a span. The span may be a sum of spans, each multiplied by a number of
   units. */
static inline void hr__energy_add(struct hr_energy *sum, const struct hr__watts *power, const struct hr__span *span) {
  int64_t site = power->it + power->facility;
  sum->it += power->it * span->us;
  sum->loss += power->loss * span->us;
  sum->facility += power->facility * span->us;
  sum->embodied += power->embodied * span->us;
  if (span->carbon != 0) sum->carbon += site * span->carbon;
  if (span->price != 0) sum->price += site * span->price;
}

/* The result of hr__power_fraction if the power is not stated. */
#define HR__NO_FRACTION UINT32_MAX

/* Returns the power of the GPUs of a job as a share of their maximum power, in millionths, if the job or its class
   states it; otherwise HR__NO_FRACTION. For replicas of services, the power that a class states is not used. `classes`
   may be NULL. */
static inline uint32_t hr__power_fraction(const struct hr_trace *trace, const struct hr_class_spec *classes,
                                          hr_job job) {
  if (trace->gpu_power_ppm && trace->gpu_power_ppm[job.id] != HR_NONE) return trace->gpu_power_ppm[job.id];
  if (!classes || job.id >= trace->n_jobs - trace->n_added) return HR__NO_FRACTION;
  uint32_t class_ppm = classes[trace->class_ ? trace->class_[job.id] : HR_CLASS_UNKNOWN].gpu_power_ppm;
  return class_ppm ? class_ppm : HR__NO_FRACTION;
}

/* The effect of a power limit on a job: its speed, and the power of its GPUs. */
struct hr__power_limit {
  uint32_t speed_ppm;
  double gpu_w;
};

/* The power budget of a cluster can limit the power of GPUs in steps, which are called levels. At level 0, GPUs have
   only the limit of their pool. At the last level, they have the lowest limit with a known effect. */
enum { HR__CAP_LEVELS = 32 };
/* Returns the effect of the power limit of a level on a job. `fraction_ppm`: the result of hr__power_fraction for the
   job. */
struct hr__power_limit hr__power_limit_at(const struct hr_power_spec *spec, uint32_t level, uint32_t fraction_ppm);
/* hr__busy_rate_at returns the power per milli-GPU in use with the limit of a level, including its share of the host
   and of the losses. hr__idle_rate returns the power per free milli-GPU. hr__node_rate returns the power of a node that
   draws `node_w` watts without losses; if this is 0, the result is 0. hr__other_rate returns the constant power of the
   pool. */
struct hr__watts hr__busy_rate_at(const struct hr_power_spec *spec, uint32_t gpus_per_node, uint32_t level,
                                  uint32_t fraction_ppm);
struct hr__watts hr__idle_rate(const struct hr_power_spec *spec, uint32_t gpus_per_node);
struct hr__watts hr__node_rate(const struct hr_power_spec *spec, double node_w);
struct hr__watts hr__other_rate(const struct hr_power_spec *spec);

/* ---- Energy of jobs --------------------------------------------------------------------------------- */

/* The energy of jobs in all their attempts. */

/* The properties of a pool that determine the energy of an attempt in it. */
struct hr__metered_pool {
  const struct hr_power_spec *spec;        /* NULL: the power of the pool is unknown */
  uint32_t gpus;                           /* of a node */
  struct hr__watts default_rate;           /* of a milli-GPU of a job that does not state its power */
  const struct hr_series *carbon, *price;  /* the electricity of the pool; NULL: unknown */
  int64_t carbon_begin_us, price_begin_us; /* the start of the run, in the time of each series */
  hr_amount carbon_before, price_before;   /* integrals from the first stamp of the series to the start of the run */
};

/* The energy of a job that is not undisturbed (see power.c). */
struct hr__energy_row {
  struct hr_energy sum; /* energy until `since_us`; in a free row, since_us is the index of the next free row + 1; 0:
                           none */
  int64_t since_us;     /* when the present attempt began, or when its energy was last added */
};

struct hr__job_energy {
  struct hr__metered_pool *pools; /* the pools of all clusters of the run, by number in the whole run */
  uint32_t n_pools;
  const struct hr_class_spec *classes; /* borrowed, like the series and the power of the pools */
  /* by job. 0: the job has no energy yet; 1 + p: the job started in pool p and is undisturbed; 1 + n_pools + r: its row
     has the index r */
  uint32_t *place;
  struct hr__energy_row *rows;
  uint32_t count, capacity;
  uint32_t unused; /* the first free row + 1; 0: none */
  bool owns_places;
};

/* Creates the energy of the jobs of a run. `places`: the memory of the member `place`, zeroed, which the caller owns;
   NULL: this memory is allocated for `n_jobs` jobs. Returns NULL if memory is exhausted. hr__job_energy_destroy accepts
   NULL. */
struct hr__job_energy *hr__job_energy_create(uint32_t n_pools, uint32_t n_jobs, uint32_t *places,
                                             const struct hr_class_spec *classes);
void hr__job_energy_destroy(struct hr__job_energy *self);

static inline bool hr__job_energy_has_row(const struct hr__job_energy *self, hr_job job) {
  return self->place[job.id] > self->n_pools;
}

static inline struct hr__energy_row *hr__job_energy_row_of(const struct hr__job_energy *self, hr_job job) {
  return &self->rows[self->place[job.id] - 1 - self->n_pools];
}

/* hr__job_energy_row returns the row of a job. If the job has no row, a row with the time `since_us` is added. Returns
   NULL if memory is exhausted. hr__job_energy_free_row frees the row of a job, if it has one. */
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

/* The steps of the series that applied when the last job started. The next search begins at these steps. An object
   with all members 0 has no steps yet. */
struct hr__energy_cursor {
  struct hr_series_cursor carbon, price;
};
/* Does the same as hr_result_energy, but takes less time if it is called for many jobs in the order of their starts.
   `cursor`: the state of the last call. */
struct hr_energy hr__result_energy_near(const struct hr_result *result, struct hr__energy_cursor *cursor, hr_job job);

#endif
