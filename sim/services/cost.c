/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The time of iterations. Each form of the cost is a function of the load that is at most linear in the context. So the
 * times of iterations that differ only in the context form an arithmetic series, apart from rounding. Sums are computed
 * with whole numbers, so a sum equals that of the single iterations. Long series are summed by a formula.
 *
 * Sources of the forms: the table is the performance model of Mutinifni/splitwise-sim; prefill and decode are those of
 * LLMServe/DistServe, simdistserve.
 */

#include "sim/services/cost.h"

#include "base/text.h"

#include <math.h>

/* ---- Forms ------------------------------------------------------------------------------------------ */

/* The value of a table: linear between knots; the first and the last piece are extended beyond the knots. */
static double interpolated(const struct hr_service_cost *cost, double tokens, bool is_prompt) {
  const struct hr_service_knot *knots = cost->knots;
  uint32_t right = 1;
  while (right + 1 < cost->n_knots && knots[right].tokens <= tokens) right++;
  const struct hr_service_knot *a = &knots[right - 1], *b = &knots[right];
  const double at_a = is_prompt ? a->prompt_us : a->token_us, at_b = is_prompt ? b->prompt_us : b->token_us;
  return at_a + (at_b - at_a) / (b->tokens - a->tokens) * (tokens - a->tokens);
}

static double table_us(const struct hr_service_cost *cost, const struct hr__batch_load *load) {
  const double prompts = (double)load->prompts, decodes = (double)load->decodes;
  if (load->prompts == 0) return interpolated(cost, decodes, false);
  if (load->decodes == 0) return interpolated(cost, prompts, true);
  return cost->mixed_factor * interpolated(cost, prompts + decodes, true);
}

/* The terms of a decode iteration. */
static const double *decode_terms(const struct hr_service_phases *phases, uint64_t decodes) {
  return phases->large_ms && decodes >= phases->large_batch ? phases->large_ms : phases->decode_ms;
}

double hr__phases_ms(const struct hr_service_phases *phases, const struct hr__batch_load *load, bool is_prefill,
                     bool is_first) {
  const double decodes = (double)load->decodes, context = (double)load->context, stages = phases->stages;
  const double *p = phases->prefill_ms, *d = decode_terms(phases, load->decodes);
  const double work_ms = is_prefill ? p[0] + p[1] * (double)load->prompts + p[2] * (double)load->squares
                                    : d[0] + d[1] * (context + decodes) + d[2] * decodes;
  const double stage_ms = work_ms * (1 / stages) + (is_prefill ? phases->stage_ms * stages : 0);
  return is_first ? stage_ms + (phases->overhead_ms + phases->overhead_token_ms * context) : stage_ms;
}

double hr__cost_us(const struct hr_service_cost *cost, const struct hr__batch_load *load) {
  if (cost->n_knots) return table_us(cost, load);
  if (cost->phases.prefill_ms) return 1000 * hr__phases_ms(&cost->phases, load, load->prompts > 0, true);
  return cost->fixed_us + cost->per_prompt_token_us * (double)load->prompts +
         cost->per_sequence_us * (double)load->decodes + cost->per_context_ktoken_us * (double)load->context / 1000;
}

/* Microseconds for 1000 tokens of context. */
static double slope_us(const struct hr_service_cost *cost, const struct hr__batch_load *load) {
  if (cost->n_knots) return 0;
  if (!cost->phases.prefill_ms) return cost->per_context_ktoken_us;
  const double token_ms = load->prompts ? 0 : decode_terms(&cost->phases, load->decodes)[1] / cost->phases.stages;
  return 1e6 * (token_ms + cost->phases.overhead_token_ms);
}

/* ---- Prices ----------------------------------------------------------------------------------------- */

/* The sum of three products is exact in floating point if each is of a whole number up to this maximum and a 32-bit
   number. */
#define MAX_WHOLE_US 0x1p19

static bool is_whole(double us) {
  return us >= 0 && us <= MAX_WHOLE_US && us <= floor(us);
}

/* Whole microseconds: parts of 10^-6; otherwise parts of 2^-16 x 10^-6. */
static void set_slope(struct hr__pricing *pricing, double slope) {
  const double parts = slope * (pricing->cost->integer ? 1 : 65536);
  pricing->factor = slope > 0 ? (uint64_t)llround(parts) : 0;
  pricing->divisor = 1000;
  if (slope > 0 && parts < 1e6 && fabs(parts - (double)pricing->factor) > 0) {
    pricing->factor = (uint64_t)llround(parts * 1e6);
    pricing->divisor = 1000000000;
  }
}

struct hr__pricing hr__pricing_of(const struct hr_service_cost *cost) {
  struct hr__pricing pricing = {.cost = cost,
                                .is_linear = !cost->n_knots && !cost->phases.prefill_ms,
                                .unit_ticks = cost->integer ? HR__TICKS(1) : 1};
  pricing.is_whole = pricing.is_linear && is_whole(cost->fixed_us) && is_whole(cost->per_prompt_token_us) &&
                     is_whole(cost->per_sequence_us);
  if (pricing.is_whole) {
    pricing.fixed_ticks = HR__TICKS(cost->fixed_us);
    pricing.prompt_ticks = HR__TICKS(cost->per_prompt_token_us);
    pricing.sequence_ticks = HR__TICKS(cost->per_sequence_us);
  }
  if (pricing.is_linear) set_slope(&pricing, cost->per_context_ktoken_us);
  return pricing;
}

/* The part of the time that does not depend on the context, for costs that are not whole numbers. */
static int64_t rounded_ticks(const struct hr_service_cost *cost, const struct hr__batch_load *load) {
  struct hr__batch_load without = *load;
  without.context = 0;
  const double base_us = hr__cost_us(cost, &without);
  return cost->integer ? HR__TICKS(llround(base_us)) : llround(base_us * 65536);
}

/* Splits factor x count into a quotient and a remainder. Most divisors are 1000; for them, the compiler can use a
   constant. */
static inline void split(uint64_t factor, uint64_t count, uint64_t divisor, uint64_t *quotient, uint64_t *rest) {
  const hr__wide product = (hr__wide)factor * count;
  const uint64_t low = (uint64_t)product;
  if (product > UINT64_MAX) {
    *quotient = (uint64_t)(product / divisor);
    *rest = (uint64_t)(product % divisor);
    return;
  }
  *quotient = divisor == 1000 ? low / 1000 : low / divisor;
  *rest = low - *quotient * divisor;
}

void hr__price_set(struct hr__price *price, const struct hr__pricing *pricing, const struct hr__batch_load *load,
                   uint64_t growth) {
  struct hr__pricing present;
  if (!pricing->is_linear) {
    present = *pricing;
    set_slope(&present, slope_us(pricing->cost, load));
    pricing = &present;
  }
  price->base_ticks = pricing->is_whole && (load->prompts | load->decodes) <= UINT32_MAX
                          ? pricing->fixed_ticks + pricing->prompt_ticks * (int64_t)load->prompts +
                                pricing->sequence_ticks * (int64_t)load->decodes
                          : rounded_ticks(pricing->cost, load);
  if (price->base_ticks < 1) price->base_ticks = 1; /* time passes in every iteration */
  price->unit_ticks = pricing->unit_ticks;
  price->divisor = pricing->divisor;
  split(pricing->factor, load->context, pricing->divisor, &price->first_quotient, &price->first_rest);
  price->step_quotient = price->step_rest = 0;
  if (growth) split(pricing->factor, growth, pricing->divisor, &price->step_quotient, &price->step_rest);
}

/* ---- Series ----------------------------------------------------------------------------------------- */

/* The sum of floor((first + i x step) / divisor) for i < count, by the Euclidean algorithm: the lattice points above
   the line are the same kind of sum, with step and divisor exchanged. All arguments are below 2^32. */
static uint64_t floor_sum(uint64_t count, uint64_t divisor, uint64_t step, uint64_t first) {
  uint64_t sum = 0;
  while (count > 0) {
    sum += count * (count - 1) / 2 * (step / divisor) + count * (first / divisor);
    const uint64_t next = divisor, rest = step % divisor, most = rest * count + first % divisor;
    count = most / divisor;
    first = most % divisor;
    divisor = rest;
    step = next;
  }
  return sum;
}

/* The time of the first `count` iterations. */
static int64_t time_of_first(const struct hr__price *price, uint64_t count) {
  const uint64_t units = count * price->first_quotient + count * (count - 1) / 2 * price->step_quotient +
                         floor_sum(count, price->divisor, price->step_rest, price->first_rest);
  return (int64_t)count * price->base_ticks + price->unit_ticks * (int64_t)units;
}

/* A lower bound, close to the exact value, for the number of iterations that end before `until_ticks`. */
static uint32_t surely_before(const struct hr__price *price, uint32_t most, int64_t until_ticks) {
  if (until_ticks == INT64_MAX) return most;
  const double unit = (double)price->unit_ticks, divisor = (double)price->divisor, until = (double)until_ticks;
  const double first =
      (double)price->base_ticks + unit * ((double)price->first_quotient + (double)price->first_rest / divisor);
  const double step = unit * ((double)price->step_quotient + (double)price->step_rest / divisor);
  /* first x n + step x n^2 / 2 is at least the time of n iterations */
  const double n = 2 * until / (first + sqrt(first * first + 2 * step * until)) * (1 - 1e-12) - 1;
  return n < 0 ? 0 : n < most ? (uint32_t)n : most;
}

/* From this number of iterations on, the formula is faster than a loop. */
enum { MANY = 48 };

struct hr__price_run hr__price_sum(const struct hr__price *price, uint32_t most, int64_t until_ticks) {
  int64_t one_ticks = hr__price_first_ticks(price), sum_ticks = 0;
  if (most == 1 || until_ticks <= one_ticks) return (struct hr__price_run){1, one_ticks, one_ticks};
  if (price->step_quotient == 0 && price->step_rest == 0) {
    const int64_t needed = until_ticks / one_ticks + (until_ticks % one_ticks > 0);
    const uint32_t count = needed < most ? (uint32_t)needed : most;
    return (struct hr__price_run){count, count * one_ticks, one_ticks};
  }
  const uint64_t divisor = price->divisor, step_rest = price->step_rest;
  const int64_t unit_ticks = price->unit_ticks, step_ticks = unit_ticks * (int64_t)price->step_quotient;
  uint64_t rest = price->first_rest;
  uint32_t n = 0;
  if (most > MANY) {
    const uint32_t skipped = surely_before(price, most - 1, until_ticks);
    const int64_t skipped_ticks = time_of_first(price, skipped);
    if (skipped > 0 && skipped_ticks < until_ticks) {
      n = skipped;
      sum_ticks = skipped_ticks;
      rest += n * step_rest;
      one_ticks += n * step_ticks + unit_ticks * (int64_t)(rest / divisor);
      rest %= divisor;
    }
  }
  int64_t last_ticks;
  do {
    last_ticks = one_ticks;
    sum_ticks += one_ticks;
    rest += step_rest;
    const bool carries = rest >= divisor;
    rest -= carries ? divisor : 0;
    one_ticks += step_ticks + (carries ? unit_ticks : 0);
  } while (++n < most && sum_ticks < until_ticks);
  return (struct hr__price_run){n, sum_ticks, last_ticks};
}
