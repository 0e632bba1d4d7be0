/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The time of iterations. Each form of the cost is a function of the load, and at most linear in the context, so
 * iterations that differ only in the context are an arithmetic series, apart from the rounding. It is summed with
 * whole numbers, so that the sum is the same as that of the iterations one by one.
 *
 * Sources of the forms: the terms are those of the request for services; the table is the performance model of
 * Mutinifni/splitwise-sim; prefill and decode are those of LLMServe/DistServe, simdistserve.
 */

#include "sim/services/cost.h"

#include "base/text.h"

#include <math.h>

/* ---- Forms ------------------------------------------------------------------------------------------ */

/* The value of a table: linear between knots; the first and the last piece continue outside. */
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

/* ---- Series ----------------------------------------------------------------------------------------- */

/* Splits factor x count into a quotient and a rest. */
static void split(uint64_t factor, uint64_t count, uint64_t divisor, uint64_t *quotient, uint64_t *rest) {
  if (count && factor > UINT64_MAX / count) {
    const hr__wide product = (hr__wide)factor * count;
    *quotient = (uint64_t)(product / divisor);
    *rest = (uint64_t)(product % divisor);
    return;
  }
  *quotient = factor * count / divisor;
  *rest = factor * count % divisor;
}

struct hr__price hr__price_of(const struct hr_service_cost *cost, const struct hr__batch_load *load, uint64_t growth) {
  const double slope = slope_us(cost, load);
  struct hr__batch_load without = *load;
  without.context = 0;
  const double base_us = hr__cost_us(cost, &without);
  struct hr__price price = {.base_ticks = cost->integer ? HR__TICKS(llround(base_us)) : llround(base_us * 65536),
                            .unit_ticks = cost->integer ? HR__TICKS(1) : 1,
                            .divisor = 1000};
  if (price.base_ticks < 1) price.base_ticks = 1; /* time passes in every iteration */
  if (slope <= 0) return price;
  /* whole microseconds: parts of 10^-6; otherwise parts of 2^-16 x 10^-6 */
  const double parts = slope * (cost->integer ? 1 : 65536);
  uint64_t factor = (uint64_t)llround(parts);
  if (parts < 1e6 && fabs(parts - (double)factor) > 0) {
    factor = (uint64_t)llround(parts * 1e6);
    price.divisor = 1000000000;
  }
  split(factor, load->context, price.divisor, &price.first_quotient, &price.first_rest);
  split(factor, growth, price.divisor, &price.step_quotient, &price.step_rest);
  return price;
}

uint32_t hr__price_sum(const struct hr__price *price, uint32_t count, int64_t until_ticks, int64_t *sum_ticks) {
  const int64_t base_ticks = price->base_ticks + price->unit_ticks * (int64_t)price->first_quotient;
  if (count == 1) {
    *sum_ticks = base_ticks;
    return 1;
  }
  if (price->step_quotient == 0 && price->step_rest == 0) {
    if (until_ticks < INT64_MAX) {
      const int64_t needed = until_ticks / base_ticks + (until_ticks % base_ticks > 0);
      count = needed < count ? (uint32_t)needed : count;
    }
    *sum_ticks = count * base_ticks;
    return count;
  }
  uint64_t rest = price->first_rest;
  int64_t one_ticks = base_ticks, sum = 0;
  uint32_t n = 0;
  for (; n < count && sum < until_ticks; n++) {
    sum += one_ticks;
    rest += price->step_rest;
    const bool carries = rest >= price->divisor;
    rest -= carries ? price->divisor : 0;
    one_ticks += price->unit_ticks * (int64_t)(price->step_quotient + carries);
  }
  *sum_ticks = sum;
  return n;
}
