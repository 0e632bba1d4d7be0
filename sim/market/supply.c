/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Supply and prices of a market as functions of time.
 *
 * There are three kinds of spot supply: group interruptions, levels and lifetimes.
 *
 * Group interruptions are a Poisson process. Each interruption reclaims one or several nodes. The size of an
 * interruption is the number of nodes that it reclaims: one plus a geometric random variable, limited to the number n
 * of nodes of the pool. Let E be the mean size (with the limit) and r the rate at which each node is to be reclaimed.
 * The rate of interruptions is set to n * r / E. Each node is then reclaimed at exactly the rate r, even if the limit
 * reduces the sizes.
 *
 * Levels come from a record or from the model on-off. A record is repeated cyclically. In the model on-off, a zone
 * draws the lengths of its up and down periods from a separate random stream. The run begins at a random time within a
 * period (the stationary state). A period that contains a given time is longer on average than other periods. If f is
 * the density of the lengths of all periods, the length x of this period has the density x * f(x) / mean. Lengths with
 * this density can be drawn in closed form for each kind of duration. The start of the run is at a uniformly
 * distributed point of the period.
 *
 * With lifetimes, each node is reclaimed at a random age.
 */

#include "sim/market/market.h"

#include "base/random.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_sf_gamma.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ---- Supply -------------------------------------------------------------------------------------------- */

/* Returns the probability q that an interruption reclaims a further node. It is chosen such that an interruption would
   reclaim `batch_mean` nodes on average if the number of nodes were not limited. */
static double continue_probability(const struct hr_spot_spec *spec) {
  return spec->batch_mean > 1 ? 1 - 1 / spec->batch_mean : 0;
}

/* Returns the mean number of nodes of an interruption, 1 + q + q^2 + ... + q^(n-1) = (1 - q^n) / (1 - q). The formula
   is evaluated without loss of precision if batch_mean is much larger than n. */
static double mean_size(const struct hr_spot_spec *spec, uint32_t n_nodes) {
  if (!(spec->batch_mean > 1)) return 1;
  return -expm1(n_nodes * log1p(-1 / spec->batch_mean)) * spec->batch_mean;
}

double hr__interruption_share(const struct hr_spot_spec *spec, uint32_t n_nodes, uint32_t held) {
  double size = mean_size(spec, n_nodes), n = n_nodes;
  if (held == 0) return 0;
  double misses = size > n - held ? 0
                                  : exp(gsl_sf_lngamma(n - held + 1) + gsl_sf_lngamma(n - size + 1) -
                                        gsl_sf_lngamma(n - size - held + 1) -
                                        gsl_sf_lngamma(n + 1)); /* C(n - held, size) / C(n, size) */
  return n / size * (1 - misses);
}

static bool has_interruptions(const struct hr_spot_spec *spec) {
  return (spec->model == HR_SPOT_EXPONENTIAL || spec->model == HR_SPOT_ADVISOR) && spec->rate_per_h > 0;
}

void hr__interruption_source_init(struct hr__interruption_source *source, const struct hr_spot_spec *spec,
                                  uint32_t n_nodes, uint64_t seed, uint32_t replication) {
  *source = (struct hr__interruption_source){.spec = spec, .n_nodes = n_nodes};
  if (has_interruptions(spec) && n_nodes > 0) source->per_h = n_nodes * spec->rate_per_h / mean_size(spec, n_nodes);
  hr__stream_init(&source->stream, seed, HR__PURPOSE_SPOT_RECLAIM, spec->zone, replication);
}

/* Draws `count` of the n_nodes nodes of the pool without replacement, in ascending order. The nodes are examined one
   after the other. Each is selected with the probability a / b, where `a` nodes must still be selected and `b` nodes
   are not yet examined. */
static void choose_nodes(struct hr__interruption_source *source, uint32_t *nodes, uint32_t count) {
  uint32_t chosen = 0;
  for (uint32_t node = 0; chosen < count; node++)
    if (hr__stream_uniform(&source->stream) * (source->n_nodes - node) < count - chosen) nodes[chosen++] = node;
}

int64_t hr__interruption_source_next(struct hr__interruption_source *source, uint32_t *nodes, uint32_t *count) {
  *count = 0;
  if (!(source->per_h > 0)) return HR_NEVER_US;
  struct hr_duration between = {HR_DURATION_EXPONENTIAL, 3600 / source->per_h, 0};
  source->at_us += hr__duration_draw(&between, &source->stream);
  uint32_t size = 1;
  double q = continue_probability(source->spec);
  while (size < source->n_nodes && q > 0 && hr__stream_uniform(&source->stream) < q) size++;
  if (size == 1)
    nodes[0] = (uint32_t)(hr__stream_uniform(&source->stream) * source->n_nodes);
  else
    choose_nodes(source, nodes, size);
  *count = size;
  return source->at_us;
}

/* ---- Levels ---- */

void hr__level_source_init(struct hr__level_source *source, const struct hr_spot_spec *spec, uint32_t n_nodes,
                           uint64_t seed, uint32_t replication) {
  *source = (struct hr__level_source){.spec = spec, .n_nodes = n_nodes};
  hr__stream_init(&source->stream, seed, HR__PURPOSE_SPOT_LEVEL, spec->zone, replication);
}

static bool has_record(const struct hr_spot_spec *spec) {
  return spec->model == HR_SPOT_TRACE && spec->n_levels > 0 && spec->period_us > 0;
}

/* Returns the index of the step of the record that is valid at `at_us`. */
static uint32_t step_at(const struct hr_spot_spec *spec, int64_t at_us) {
  uint32_t low = 0, high = spec->n_levels - 1;
  while (low < high) {
    uint32_t middle = (low + high + 1) / 2;
    if (spec->levels[middle].at_us <= at_us)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/* Returns step `next` of the repeated record. Step 0 is the one that is valid at the start of the run. */
static struct hr_level_step recorded(const struct hr__level_source *source, uint32_t next) {
  const struct hr_spot_spec *spec = source->spec;
  int64_t offset_us = spec->offset_us % spec->period_us;
  uint64_t step = (uint64_t)step_at(spec, offset_us) + next;
  int64_t round = (int64_t)(step / spec->n_levels);
  struct hr_level_step found = spec->levels[step % spec->n_levels];
  found.at_us = next ? found.at_us + round * spec->period_us - offset_us : 0;
  if (found.level > source->n_nodes) found.level = source->n_nodes;
  return found;
}

/* Returns the next step of the record that changes the level. If all steps of the record have the same level, the
   source has only its first step. */
static struct hr_level_step next_recorded(struct hr__level_source *source) {
  struct hr_level_step found = recorded(source, source->next);
  if (source->next == 0) {
    source->next = 1;
    return found;
  }
  uint32_t before = recorded(source, source->next - 1).level;
  for (uint32_t i = 0; i < source->spec->n_levels; i++) {
    found = recorded(source, source->next++);
    if (found.level != before) return found;
  }
  return (struct hr_level_step){HR_NEVER_US, before};
}

/* ---- On and off ---- */

/* Draws the length of the period that contains a random time. */
static double draw_observed_s(const struct hr_duration *duration, struct hr__stream *stream) {
  gsl_rng rng = hr__stream_rng(stream);
  switch (duration->kind) {
  case HR_DURATION_FIXED:
    break;
  case HR_DURATION_EXPONENTIAL:
    return gsl_ran_gamma(&rng, 2, duration->a);
  case HR_DURATION_LOG_NORMAL:
    return gsl_ran_lognormal(&rng, duration->a + duration->b * duration->b, duration->b);
  case HR_DURATION_WEIBULL:
    return duration->b * pow(gsl_ran_gamma(&rng, 1 + 1 / duration->a, 1), 1 / duration->a);
  }
  return duration->a;
}

int64_t hr__duration_draw_rest(const struct hr_duration *duration, struct hr__stream *stream) {
  struct hr_duration rest = {HR_DURATION_FIXED, draw_observed_s(duration, stream), 0};
  rest.a *= hr__stream_uniform(stream);
  return hr__duration_draw(&rest, stream);
}

static struct hr_level_step next_period(struct hr__level_source *source) {
  const struct hr_spot_spec *spec = source->spec;
  if (source->next++ == 0) {
    double up_s = hr__duration_mean_s(&spec->up), down_s = hr__duration_mean_s(&spec->down);
    source->is_up = hr__stream_uniform(&source->stream) * (up_s + down_s) < up_s;
    return (struct hr_level_step){0, source->is_up ? source->n_nodes : 0};
  }
  const struct hr_duration *length = source->is_up ? &spec->up : &spec->down;
  source->at_us +=
      source->next == 2 ? hr__duration_draw_rest(length, &source->stream) : hr__duration_draw(length, &source->stream);
  source->is_up = !source->is_up;
  return (struct hr_level_step){source->at_us, source->is_up ? source->n_nodes : 0};
}

struct hr_level_step hr__level_source_next(struct hr__level_source *source) {
  if (source->spec->model == HR_SPOT_ON_OFF) return next_period(source);
  if (has_record(source->spec)) return next_recorded(source);
  return (struct hr_level_step){source->next++ ? HR_NEVER_US : 0, source->n_nodes};
}

/* ---- Lifetimes, and the mean lifetime in any model ---- */

/* Returns the share of nodes with a lifetime of at most `age_h`, by the formula of Kadupitige, Jadhao and Sharma
   (HPDC'20). At age 0 the formula is slightly greater than 0; this share of nodes is reclaimed at once. Shortly before
   `last_h` the formula may exceed 1; the result is limited to 1. */
static double gone_share(const struct hr_bathtub *bathtub, double age_h) {
  if (age_h >= bathtub->last_h) return 1;
  double raw = bathtub->a * (1 - exp(-age_h / bathtub->tau1_h) + exp((age_h - bathtub->b_h) / bathtub->tau2_h));
  return raw < 1 ? raw : 1;
}

/* Returns the age by which the given share of nodes is reclaimed. The age is found by bisection, to less than a
   microsecond. */
static double age_h(const struct hr_bathtub *bathtub, double share) {
  double low = 0, high = bathtub->last_h;
  for (int i = 0; i < 44; i++) {
    double middle = (low + high) / 2;
    if (gone_share(bathtub, middle) < share)
      low = middle;
    else
      high = middle;
  }
  return high;
}

int64_t hr__life_draw(const struct hr_spot_spec *spec, uint64_t seed, uint32_t node, uint32_t launch,
                      uint32_t replication) {
  if (spec->model != HR_SPOT_BATHTUB) return HR_NEVER_US;
  struct hr__stream stream;
  hr__stream_init(&stream, seed, HR__PURPOSE_SPOT_LIFE, node, replication);
  hr__stream_skip_to_life(&stream, launch);
  int64_t life_us = llround(age_h(&spec->bathtub, hr__stream_uniform(&stream)) * 3600 * (double)HR_SECOND_US);
  return life_us > 0 ? life_us : 1;
}

/* Returns the mean lifetime. It is the integral of the survival function, computed by the midpoint rule. The grid is
   much finer than the features of the curve. */
static double mean_life_h(const struct hr_bathtub *bathtub) {
  enum { STEPS = 20000 };
  double sum = 0, step = bathtub->last_h / STEPS;
  for (int i = 0; i < STEPS; i++) sum += 1 - gone_share(bathtub, (i + 0.5) * step);
  return sum * step;
}

/* Returns the mean time in seconds until a node is reclaimed, according to the record: the node time of one period of
   the record, divided by the number of nodes that are reclaimed in it. */
static double recorded_life_s(const struct hr_spot_spec *spec) {
  double up_us = 0, lost = 0;
  for (uint32_t i = 0; i < spec->n_levels; i++) {
    const struct hr_level_step *step = &spec->levels[i], *next = &spec->levels[(i + 1) % spec->n_levels];
    int64_t until_us = i + 1 < spec->n_levels ? next->at_us : spec->period_us;
    up_us += (double)step->level * (double)(until_us - step->at_us);
    if (next->level < step->level) lost += step->level - next->level;
  }
  return lost > 0 ? up_us / (double)HR_SECOND_US / lost : (double)INFINITY;
}

double hr__spot_mean_life_s(const struct hr_spot_spec *spec) {
  switch (spec->model) {
  case HR_SPOT_TRACE:
    return spec->n_levels ? recorded_life_s(spec) : (double)INFINITY;
  case HR_SPOT_ON_OFF:
    return hr__duration_mean_s(&spec->up);
  case HR_SPOT_EXPONENTIAL:
  case HR_SPOT_ADVISOR:
    return spec->rate_per_h > 0 ? 3600 / spec->rate_per_h : (double)INFINITY;
  case HR_SPOT_BATHTUB:
    return 3600 * mean_life_h(&spec->bathtub);
  case HR_SPOT_NONE:
  case HR_N_SPOT_MODELS:
    break;
  }
  return (double)INFINITY;
}

/* ---- Durations ---- */

#define MAX_US (INT64_C(100) * 365 * 86400 * HR_SECOND_US)

static double draw_s(const struct hr_duration *duration, struct hr__stream *stream) {
  gsl_rng rng = hr__stream_rng(stream);
  switch (duration->kind) {
  case HR_DURATION_FIXED:
    break;
  case HR_DURATION_EXPONENTIAL:
    return gsl_ran_exponential(&rng, duration->a);
  case HR_DURATION_LOG_NORMAL:
    return gsl_ran_lognormal(&rng, duration->a, duration->b);
  case HR_DURATION_WEIBULL:
    return gsl_ran_weibull(&rng, duration->b, duration->a);
  }
  return duration->a;
}

int64_t hr__duration_draw(const struct hr_duration *duration, struct hr__stream *stream) {
  double us = draw_s(duration, stream) * (double)HR_SECOND_US;
  if (!(us >= 1)) return 1;
  return us < (double)MAX_US ? (int64_t)llround(us) : MAX_US;
}

double hr__duration_mean_s(const struct hr_duration *duration) {
  switch (duration->kind) {
  case HR_DURATION_FIXED:
  case HR_DURATION_EXPONENTIAL:
    break;
  case HR_DURATION_LOG_NORMAL:
    return exp(duration->a + duration->b * duration->b / 2);
  case HR_DURATION_WEIBULL:
    return duration->b * gsl_sf_gamma(1 + 1 / duration->a);
  }
  return duration->a;
}

/* ---- Prices -------------------------------------------------------------------------------------------- */

/* Prices that are constant or change in steps. The step that is valid at a given time is found by binary search.
   Price sums are exact: prices and times are integers, so the integral of the price is a sum of products of
   integers. */

/* Returns the index of the last step at or before `at_us`. */
static uint32_t price_step_at(const struct hr_market_spec *market, int64_t at_us) {
  const struct hr_price_step *first = market->prices;
  for (uint32_t left = market->n_prices; left > 1;) {
    uint32_t half = left / 2;
    if (first[half].at_us <= at_us) first += half;
    left -= half;
  }
  return (uint32_t)(first - market->prices);
}

static hr_amount step_sum(const struct hr_price_step *step, int64_t to_us) {
  return (hr_amount)step->uusd_h * (to_us - step->at_us);
}

int64_t hr_market_price_at(const struct hr_market_spec *market, int64_t at_us) {
  return market->n_prices ? market->prices[price_step_at(market, at_us)].uusd_h : market->price_uusd_h;
}

hr_amount hr_market_price_sum(const struct hr_market_spec *market, int64_t to_us) {
  if (!market->n_prices) return (hr_amount)market->price_uusd_h * to_us;
  hr_amount sum = 0;
  uint32_t last = price_step_at(market, to_us);
  for (uint32_t i = 0; i < last; i++) sum += step_sum(&market->prices[i], market->prices[i + 1].at_us);
  return sum + step_sum(&market->prices[last], to_us);
}

enum hr_status hr__price_sums_init(struct hr__price_sums *sums, const struct hr_market_spec *market) {
  *sums = (struct hr__price_sums){.market = market};
  if (!market->n_prices) return HR_OK;
  sums->before = malloc(market->n_prices * sizeof *sums->before);
  if (!sums->before) return HR_NO_MEMORY;
  sums->before[0] = 0;
  for (uint32_t i = 1; i < market->n_prices; i++)
    sums->before[i] = sums->before[i - 1] + step_sum(&market->prices[i - 1], market->prices[i].at_us);
  return HR_OK;
}

hr_amount hr__price_sum_stepped(const struct hr__price_sums *sums, int64_t to_us) {
  uint32_t step = price_step_at(sums->market, to_us);
  return sums->before[step] + step_sum(&sums->market->prices[step], to_us);
}

/* If an earlier value of an Ornstein-Uhlenbeck process is known, each later value has a known normal distribution. The
   values at the interval ends are therefore drawn from the exact distribution, without numerical integration. */

static int64_t bounded(const struct hr__price_walk *walk, double deviation) {
  double uusd_h = (double)walk->mean_uusd_h * exp(deviation);
  if (uusd_h >= (double)walk->max_uusd_h) return walk->max_uusd_h;
  return uusd_h <= (double)walk->min_uusd_h ? walk->min_uusd_h : (int64_t)llround(uusd_h);
}

enum hr_status hr__price_walk_draw(const struct hr__price_walk *walk, uint64_t seed, uint32_t zone,
                                   struct hr_price_step **steps, uint32_t *n_steps, struct hr_error *error) {
  *n_steps = 0;
  *steps = malloc(walk->n_steps * sizeof **steps);
  if (!*steps) return hr_fail(error, HR_NO_MEMORY, "out of memory for %" PRIu32 " prices", walk->n_steps);
  struct hr__stream stream;
  hr__stream_init(&stream, seed, HR__PURPOSE_SPOT_PRICE, zone, 0);
  gsl_rng rng = hr__stream_rng(&stream);
  double interval_h = (double)walk->interval_us / (3600 * (double)HR_SECOND_US);
  double reverted = exp(-interval_h / walk->reversion_h), spread = walk->volatility * sqrt(1 - reverted * reverted);
  double deviation = gsl_ran_gaussian(&rng, walk->volatility); /* drawn from the stationary distribution */
  for (uint32_t i = 0; i < walk->n_steps; i++) {
    int64_t uusd_h = bounded(walk, deviation);
    bool same = *n_steps && (*steps)[*n_steps - 1].uusd_h == uusd_h;
    if (!same) (*steps)[(*n_steps)++] = (struct hr_price_step){i * walk->interval_us, uusd_h};
    deviation = reverted * deviation + gsl_ran_gaussian(&rng, spread);
  }
  return HR_OK;
}
