/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_SERIES_H
#define HEADROOM_UNSTABLE_SERIES_H

/*
 * Step series, such as the carbon intensity or the price of electricity over time, and properties of the electricity of
 * a pool.
 *
 * A series has values with stamps (times in UTC, in microseconds). A value applies from its stamp until the next stamp.
 * Before the first stamp, the first value applies. After the end of the series, the last value applies, or the series
 * is repeated. Values are integers in millionths of a unit, so a value in g/kWh is stored in micrograms per kWh.
 * Integrals are exact.
 */

#include "headroom/cluster.h"
#include "headroom/market.h"
#include "headroom/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A step series. It is immutable; runs and threads share it. */
struct hr_series;

/* Creates a series of `count` values `micros`, at least one, with the stamps `at_us`, which must be strictly ascending.
   The arrays are copied. The last value lasts as long as the value before it; then the series ends. A single value has
   no end. `repeats`: the series is repeated after its end. Returns NULL if memory is exhausted. */
HR_API struct hr_series *hr_series_create(const int64_t *at_us, const int64_t *micros, uint32_t count, bool repeats);
/* Frees a series. NULL is accepted. */
HR_API void hr_series_destroy(struct hr_series *series);

/* hr_series_first_us returns the first stamp. hr_series_end_us returns the end of the series; HR_NEVER_US: it has no
   end. */
HR_API int64_t hr_series_first_us(const struct hr_series *series);
HR_API int64_t hr_series_end_us(const struct hr_series *series);
/* Returns whether the series is repeated after its end. */
HR_API bool hr_series_repeats(const struct hr_series *series);

/* Returns the value at a time, in millionths. */
HR_API int64_t hr_series_at(const struct hr_series *series, int64_t at_us);
/* Returns the first time after `at_us` at which a value begins; HR_NEVER_US: no value begins later. */
HR_API int64_t hr_series_next_us(const struct hr_series *series, int64_t at_us);
/* Returns the integral of the value from `from_us` to `to_us`, in millionths x microseconds. `from_us` may be later
   than `to_us`; the result is then negative. */
HR_API hr_amount hr_series_between(const struct hr_series *series, int64_t from_us, int64_t to_us);
/* Sets `*from` and `*to` to the integrals from the first stamp until these times. */
HR_API void hr_series_integrals(const struct hr_series *series, int64_t from_us, int64_t to_us, hr_amount *from,
                                hr_amount *to);

/* The step of a series in which the last integral began. An integral that begins in the same step needs no search. A
   cursor with all members 0 has no step. */
struct hr_series_cursor {
  const struct hr_series *series;
  int64_t from_us, until_us; /* begin and end of the step */
  int64_t shift_us;          /* of a repeated series: total length of the repetitions before the step */
  hr_amount sum;             /* integral from the first stamp to the begin of the step */
  uint32_t step;             /* index of the step */
};

/* Do the same as hr_series_integrals and hr_series_between, and are faster if successive calls have ascending
   `from_us`. `cursor`: state that successive calls share. If the last call was for another series, that series must
   still exist. */
HR_API void hr_series_integrals_near(const struct hr_series *series, struct hr_series_cursor *cursor, int64_t from_us,
                                     int64_t to_us, hr_amount *from, hr_amount *to);
HR_API hr_amount hr_series_between_near(const struct hr_series *series, struct hr_series_cursor *cursor,
                                        int64_t from_us, int64_t to_us);

/* Kinds of carbon intensity of a grid. Series of different kinds are never comparable. The columns: enumerator, name in
   scenarios. */
#define HR_CARBON_SIGNAL_TABLE(X)                                                                                      \
  X(HR_CARBON_AVERAGE, "average")   /* of all electricity that is produced */                                          \
  X(HR_CARBON_MARGINAL, "marginal") /* of the power plants that react to a change of demand */

enum hr_carbon_signal {
#define HR_CARBON_SIGNAL_NAME(name, text) name,
  HR_CARBON_SIGNAL_TABLE(HR_CARBON_SIGNAL_NAME)
#undef HR_CARBON_SIGNAL_NAME
      HR_N_CARBON_SIGNALS
};

/* Returns the name in scenarios. */
HR_API const char *hr_carbon_signal_name(enum hr_carbon_signal signal);

/* Properties of the electricity and the hardware of a pool. */
struct hr_electricity {
  const struct hr_series *carbon; /* micrograms of CO2e per kWh; NULL: unknown */
  const struct hr_series *price;  /* micro-dollars per kWh; NULL: unknown */
  enum hr_carbon_signal signal;
  /* for each series, the time in UTC that is time zero of the trace's clock. HR_NEVER_US: not specified. If the trace
     has dates, this time then follows from the dates. If not, it is the first stamp of the series */
  int64_t carbon_start_us, price_start_us;
  int64_t water_ul_kwh; /* water per kWh of the machines (WUE), in microlitres; 0: unknown */
  int64_t embodied_ug;  /* carbon of the production of a GPU with its part of the node, in micrograms; 0: unknown */
  int64_t life_us;      /* lifetime over which `embodied_ug` is spread evenly */
};

/* Returns whether the operational carbon of the pool is computed. */
static inline bool hr_pool_emits(const struct hr_pool_spec *pool) {
  return pool->nodes > 0 && pool->power && pool->electricity && pool->electricity->carbon;
}

/* Returns the time in UTC of the first submit of the trace, which is time zero of a run. `start_us`: carbon_start_us or
   price_start_us of struct hr_electricity. */
HR_API int64_t hr_series_begin_us(const struct hr_series *series, int64_t start_us, const struct hr_trace *trace);

#ifdef __cplusplus
}
#endif
#endif
