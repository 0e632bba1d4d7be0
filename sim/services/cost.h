/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_SERVICES_COST_H
#define HR_SIM_SERVICES_COST_H

/* The time of iterations, in ticks of 2^-16 microseconds. */

#include "headroom/unstable/services.h"

enum { HR__TICK_BITS = 16 };
#define HR__TICKS(us) ((int64_t)((uint64_t)(us) << HR__TICK_BITS))

/* The load that determines the time of an iteration: tokens of prompts and the sum of their squares, sequences that
   decode, and tokens that the sequences have processed before. */
struct hr__batch_load {
  uint64_t prompts, squares, decodes, context;
};

/* The times of iterations that differ only in the context: iteration i takes base + unit x floor((first + i x step) /
   divisor). Both numerators are stored as quotient and remainder. */
struct hr__price {
  int64_t base_ticks, unit_ticks;
  uint64_t divisor, first_quotient, first_rest, step_quotient, step_rest;
};

/* The values that all prices of a cost share. */
struct hr__pricing {
  const struct hr_service_cost *cost;
  bool is_linear; /* the cost has the form of terms, so `factor` and `divisor` are the same for all loads */
  bool is_whole;  /* these terms are whole microseconds, so that prices need no floating point */
  int64_t fixed_ticks, prompt_ticks, sequence_ticks; /* is_whole */
  int64_t unit_ticks;
  uint64_t factor, divisor; /* a token of context costs unit x factor / divisor */
};

struct hr__pricing hr__pricing_of(const struct hr_service_cost *cost);
/* Sets the price of iterations with a context that grows by `growth` tokens each time. */
void hr__price_set(struct hr__price *price, const struct hr__pricing *pricing, const struct hr__batch_load *load,
                   uint64_t growth);

/* The time of the first iteration. */
static inline int64_t hr__price_first_ticks(const struct hr__price *price) {
  return price->base_ticks + price->unit_ticks * (int64_t)price->first_quotient;
}

/* Iterations that run one after another. */
struct hr__price_run {
  uint32_t count;
  int64_t sum_ticks;  /* their time */
  int64_t last_ticks; /* the time of the last one */
};

/* Sums at most `most` iterations, at least 1, and stops after the first one that ends at `until_ticks` or later. */
struct hr__price_run hr__price_sum(const struct hr__price *price, uint32_t most, int64_t until_ticks);
/* The time of one iteration in microseconds, not rounded. */
double hr__cost_us(const struct hr_service_cost *cost, const struct hr__batch_load *load);
/* The same in milliseconds for phases: prefill or decode, with the overhead of the first pipeline stage. */
double hr__phases_ms(const struct hr_service_phases *phases, const struct hr__batch_load *load, bool is_prefill,
                     bool is_first);

#endif
