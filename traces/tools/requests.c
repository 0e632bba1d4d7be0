/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Draws the requests of a service.
 *
 * Arrivals are a renewal process in rescaled time (Cinlar 1975): gaps of mean 1 are summed, and a request arrives when
 * the rates, summed from time 0, reach this sum of gaps. Rates are constant within each hour. With exponential gaps
 * this is a Poisson process with these rates.
 *
 * Each request has a random stream of its own, so its tokens do not depend on other requests: with more requests, or
 * another rate, the n-th request has the same tokens. If prompts and outputs are drawn from one trace, both are taken
 * from the same row.
 */

#include "headroom/unstable/trace_tools.h"

#include "base/containers.h"
#include "base/random.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HOUR_S = 3600, DAY_HOURS = 24, WEEK_DAYS = 7, YEAR_HOURS = 365 * 24 };
static const double max_tokens = 1 << 30;

/* ---- Rates ------------------------------------------------------------------------------------------ */

/* Relative rate of an entry of `factors`; their mean counts as 1. */
static double relative(const double *factors, uint32_t count, uint32_t index) {
  double sum = 0;
  for (uint32_t i = 0; i < count; i++) sum += factors[i];
  return count ? factors[index] * count / sum : 1;
}

/* Expected requests in an hour, counted from time 0. */
static double rate_of_hour(const struct hr_request_draw *draw, uint64_t hour) {
  const uint64_t local = hour + (uint64_t)(WEEK_DAYS * DAY_HOURS + draw->offset_h);
  const double of_day = relative(draw->hourly, draw->n_hourly, (uint32_t)(local % DAY_HOURS));
  const double of_week = relative(draw->weekly, draw->n_weekly, (uint32_t)(local / DAY_HOURS % WEEK_DAYS));
  const double grown = draw->growth_per_year == 1 ? 1 : pow(draw->growth_per_year, (double)hour / YEAR_HOURS);
  return draw->rate_per_s * HOUR_S * of_day * of_week * grown;
}

double hr_request_draw_expected(const struct hr_request_draw *draw, int64_t until_us) {
  const double hours = (double)until_us / 1e6 / HOUR_S;
  double sum = 0;
  uint64_t hour = 0;
  for (; (double)(hour + 1) <= hours; hour++) sum += rate_of_hour(draw, hour);
  return sum + (hours - (double)hour) * rate_of_hour(draw, hour);
}

/* ---- State ------------------------------------------------------------------------------------------ */

struct request_draw {
  const struct hr_request_draw *spec;
  uint32_t service;
  uint64_t seed;
  struct hr__stream gaps;
  gsl_rng rng;
  uint64_t hour;                               /* the hour of the last arrival */
  double in_hour, passed;                      /* expected requests: in this hour, and in its part that has passed */
  struct hr_service_requests prompts, outputs; /* traces that tokens are drawn from */
};

/* Returns the time of the next arrival in microseconds; HR_MAX_INPUT_US at the latest. */
static int64_t next_arrival(struct request_draw *draw) {
  const double cv = draw->spec->cv, shape = 1 / (cv * cv);
  const bool is_poisson = draw->spec->arrivals == HR_ARRIVALS_POISSON || cv == 1;
  draw->passed += is_poisson ? -log(hr__stream_uniform(&draw->gaps)) : gsl_ran_gamma(&draw->rng, shape, 1 / shape);
  while (draw->passed >= draw->in_hour) {
    draw->passed -= draw->in_hour;
    draw->in_hour = rate_of_hour(draw->spec, ++draw->hour);
    if (draw->hour > (uint64_t)(HR_MAX_INPUT_US / HR_SECOND_US / HOUR_S)) return HR_MAX_INPUT_US;
  }
  return llround(((double)draw->hour + draw->passed / draw->in_hour) * HOUR_S * 1e6);
}

/* ---- Tokens ----------------------------------------------------------------------------------------- */

/* Returns a number of tokens for a uniform random number. `values` are those of the trace of an empirical law. */
static uint32_t tokens_at(const struct hr_token_law *law, double p, const uint32_t *values, uint32_t n_values) {
  double tokens = law->mean;
  switch (law->kind) {
  case HR_TOKENS_EXPONENTIAL: /* P(more than n) = (1 - 1 / mean)^n */
    tokens = law->mean > 1 ? 1 + floor(log(p) / log1p(-1 / law->mean)) : 1;
    break;
  case HR_TOKENS_LOG_NORMAL:
    tokens = law->mean * exp(law->sigma * gsl_cdf_ugaussian_Pinv(p) - law->sigma * law->sigma / 2);
    break;
  case HR_TOKENS_EMPIRICAL:
    tokens = values[(uint32_t)(p * (double)n_values)];
    break;
  default:
    break;
  }
  if (tokens < law->min) tokens = law->min;
  if (law->max && tokens > law->max) tokens = law->max;
  return (uint32_t)fmin(fmax(1, floor(tokens + 0.5)), max_tokens);
}

/* P(X >= x) of a log-normal number. */
static double tail(const struct hr_token_law *law, double x) {
  const double log_ratio = log(x / law->mean) + law->sigma * law->sigma / 2;
  if (law->sigma <= 0) return law->mean >= x;
  return gsl_cdf_ugaussian_Q(log_ratio / law->sigma);
}

/* E[min(X, x)] of a log-normal number. */
static double limited_mean(const struct hr_token_law *law, double x) {
  const double sigma = law->sigma, log_ratio = log(x / law->mean);
  if (sigma <= 0) return fmin(law->mean, x);
  return law->mean * gsl_cdf_ugaussian_P(log_ratio / sigma - sigma / 2) +
         x * gsl_cdf_ugaussian_Q(log_ratio / sigma + sigma / 2);
}

/* The sum of P(N > n) over all n from 0 for the number N of tokens, which is rounded and has bounds. Of large numbers,
   the sum is an integral, by the midpoint rule. */
static double log_normal_mean(const struct hr_token_law *law, uint32_t min, uint32_t max) {
  enum { N_SUMMED = 4096 };
  const uint32_t summed = max - min > N_SUMMED ? min + N_SUMMED : max;
  double mean = min;
  for (uint32_t n = min; n < summed; n++) mean += tail(law, n + 0.5);
  return summed < max ? mean + limited_mean(law, max) - limited_mean(law, summed) : mean;
}

double hr_token_law_mean(const struct hr_token_law *law) {
  const uint32_t min = law->min ? law->min : 1, max = law->max ? law->max : (uint32_t)max_tokens;
  if (law->kind == HR_TOKENS_LOG_NORMAL) return log_normal_mean(law, min, max);
  if (law->kind == HR_TOKENS_FIXED || law->mean <= 1) return fmin(fmax(floor(law->mean + 0.5), min), max);
  const double more = log1p(-1 / law->mean); /* P(more than n) = exp(more x n) */
  return min + law->mean * (exp(more * min) - exp(more * max));
}

static void draw_tokens(const struct request_draw *draw, uint32_t id, uint32_t *prompt, uint32_t *output) {
  const struct hr_token_law *in = &draw->spec->prompt, *out = &draw->spec->output;
  struct hr__stream stream;
  hr__stream_init(&stream, draw->seed, HR__PURPOSE_TOKENS, id, draw->service);
  const double p = hr__stream_uniform(&stream), q = hr__stream_uniform(&stream);
  const bool same_row =
      in->kind == HR_TOKENS_EMPIRICAL && out->kind == HR_TOKENS_EMPIRICAL && strcmp(in->trace, out->trace) == 0;
  *prompt = tokens_at(in, p, draw->prompts.prompt_tokens, draw->prompts.count);
  *output = tokens_at(out, same_row ? p : q, draw->outputs.output_tokens, draw->outputs.count);
}

/* ---- Requests --------------------------------------------------------------------------------------- */

static enum hr_status draw_all(struct request_draw *draw, struct hr_service_requests *requests,
                               struct hr_error *error) {
  const struct hr_request_draw *spec = draw->spec;
  const uint64_t most = spec->count ? spec->count : UINT32_MAX - 1;
  const int64_t until_us = spec->duration_us ? spec->duration_us : HR_MAX_INPUT_US;
  uint32_t arrivals = 0, prompts = 0, outputs = 0; /* capacities */
  while (requests->count < most) {
    const int64_t at_us = next_arrival(draw);
    const uint32_t n = requests->count;
    if (at_us >= until_us) break;
    if (!HR__ARRAY_HAS_ROOM(requests->arrival_us, n, arrivals) ||
        !HR__ARRAY_HAS_ROOM(requests->prompt_tokens, n, prompts) ||
        !HR__ARRAY_HAS_ROOM(requests->output_tokens, n, outputs))
      return hr_fail(error, HR_NO_MEMORY, "out of memory for the requests of a service");
    requests->arrival_us[n] = at_us;
    draw_tokens(draw, n, &requests->prompt_tokens[n], &requests->output_tokens[n]);
    requests->count = n + 1;
  }
  return HR_OK;
}

static enum hr_status read_law(const struct hr_token_law *law, struct hr_service_requests *values,
                               struct hr_error *error) {
  return law->kind == HR_TOKENS_EMPIRICAL ? hr_requests_read(law->trace, values, error) : HR_OK;
}

static enum hr_status draw_requests(const struct hr_service *service, uint32_t index, uint64_t seed,
                                    struct hr_service_requests *requests, struct hr_error *error) {
  *requests = (struct hr_service_requests){0};
  struct request_draw draw = {
      .spec = &service->draw, .service = index, .seed = service->draw.seed ? service->draw.seed : seed};
  draw.in_hour = rate_of_hour(draw.spec, 0);
  hr__stream_init(&draw.gaps, draw.seed, HR__PURPOSE_REQUEST, index, 0);
  draw.rng = hr__stream_rng(&draw.gaps);
  enum hr_status status = read_law(&draw.spec->prompt, &draw.prompts, error);
  if (status == HR_OK) status = read_law(&draw.spec->output, &draw.outputs, error);
  if (status == HR_OK) status = draw_all(&draw, requests, error);
  hr_requests_finish(&draw.prompts);
  hr_requests_finish(&draw.outputs);
  return status;
}

/* Gives all requests the share of the service, if they have none of their own. */
static enum hr_status add_cached(const struct hr_service *service, struct hr_service_requests *requests,
                                 struct hr_error *error) {
  if (requests->cached_tokens || !service->prefix_hit_ppm) return HR_OK;
  requests->cached_tokens = calloc(requests->count, sizeof *requests->cached_tokens);
  if (!requests->cached_tokens) return hr_fail(error, HR_NO_MEMORY, "out of memory for the requests of a service");
  for (uint32_t i = 0; i < requests->count; i++)
    requests->cached_tokens[i] = hr_request_cached_tokens(requests->prompt_tokens[i], service->prefix_hit_ppm);
  return HR_OK;
}

enum hr_status hr_requests_of_service(const struct hr_service *service, uint32_t index, uint64_t seed,
                                      struct hr_service_requests *requests, struct hr_error *error) {
  *requests = (struct hr_service_requests){0};
  if (service->only_gets) return HR_OK;
  const enum hr_status status = service->requests ? hr_requests_read(service->requests, requests, error)
                                                  : draw_requests(service, index, seed, requests, error);
  return status == HR_OK ? add_cached(service, requests, error) : status;
}

bool hr_requests_are_random(const struct hr_service *service) {
  return !service->requests && !service->draw.seed;
}
