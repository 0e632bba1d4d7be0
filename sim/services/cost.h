/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_SERVICES_COST_H
#define HR_SIM_SERVICES_COST_H

/* The time of iterations, in ticks of 2^-16 microseconds. */

#include "headroom/unstable/services.h"

enum { HR__TICK_BITS = 16 };
#define HR__TICKS(us) ((int64_t)((uint64_t)(us) << HR__TICK_BITS))

/* What the time of an iteration depends on: tokens of prompts and the sum of their squares, sequences that decode, and
   tokens that the sequences have processed before. */
struct hr__batch_load {
  uint64_t prompts, squares, decodes, context;
};

/* The times of iterations that differ only in the context: iteration i takes base + unit x floor((first + i x step) /
   divisor). Both numerators are kept as quotient and rest. */
struct hr__price {
  int64_t base_ticks, unit_ticks;
  uint64_t divisor, first_quotient, first_rest, step_quotient, step_rest;
};

/* The price of iterations with a context that grows by `growth` tokens each time. */
struct hr__price hr__price_of(const struct hr_service_cost *cost, const struct hr__batch_load *load, uint64_t growth);
/* Sums iterations until there are `count` of them, or until one ends at `until_ticks` or later. Returns their number.
 */
uint32_t hr__price_sum(const struct hr__price *price, uint32_t count, int64_t until_ticks, int64_t *sum_ticks);
/* The time of one iteration in microseconds, not rounded. */
double hr__cost_us(const struct hr_service_cost *cost, const struct hr__batch_load *load);
/* The same in milliseconds for phases: prefill or decode, with the overhead of the first pipeline stage. */
double hr__phases_ms(const struct hr_service_phases *phases, const struct hr__batch_load *load, bool is_prefill,
                     bool is_first);

#endif
