/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The power of GPUs and nodes as whole numbers, step series (carbon intensity, prices of energy), and the energy of
 * jobs.
 *
 * The power of a node is the power of its host and its GPUs, plus the losses of the stages of conversion. Each part is
 * divided among the GPUs of the node. The power of a pool is therefore the sum over its milli-GPUs in use and its free
 * milli-GPUs, and the energies of jobs and of idle capacity add up exactly. A power is rounded once, to a nanowatt per
 * milli-GPU.
 *
 * Curves: OpenDC, PowerModels. Losses: RAPS, node (P + 13) / 0.98, then rectifier (P + 17) / 0.96.
 */

#include "sim/power/power.h"

#include "base/containers.h"
#include "base/text.h"
#include "headroom/unstable/series.h"
#include "sim/engine/engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Power of GPUs and nodes ------------------------------------------------------------------------ */

#define PPM 1e6

/* ---- Power of GPUs and nodes: curves ---------------------------------------------------------------- */

/* Returns the position between idle power (0) and maximum power (1). */
static double shape(const struct hr_power_spec *spec, double u) {
  switch (spec->model) {
  case HR_POWER_SQRT:
    return sqrt(u);
  case HR_POWER_SQUARE:
    return u * u;
  case HR_POWER_CUBIC:
    return u * u * u;
  case HR_POWER_ASYMPTOTIC:
    return 0.5 * (1 + u - exp(-u / spec->asymptote));
  case HR_POWER_LINEAR:
  case HR_POWER_TABLE:
  case HR_N_POWER_MODELS:
    break;
  }
  return u;
}

/* Returns the watts of the table at a utilization. Outside of the table, its first or last point applies. */
static double from_table(const struct hr_power_spec *spec, double u) {
  const struct hr_power_point *points = spec->table;
  uint32_t last = spec->n_table - 1, at = 0;
  if (u <= points[0].utilization) return points[0].gpu_w;
  if (u >= points[last].utilization) return points[last].gpu_w;
  while (points[at + 1].utilization < u) at++;
  double part = (u - points[at].utilization) / (points[at + 1].utilization - points[at].utilization);
  return points[at].gpu_w + part * (points[at + 1].gpu_w - points[at].gpu_w);
}

/* Returns the watts of a GPU in use, without a limit. `fraction_ppm`: the power as a share of the maximum power;
   HR__NO_FRACTION: the power follows from the utilization of the pool. */
static double gpu_watts(const struct hr_power_spec *spec, uint32_t fraction_ppm) {
  if (fraction_ppm != HR__NO_FRACTION) {
    double watts = spec->gpu_max_w * fraction_ppm / PPM;
    return watts > spec->gpu_idle_w ? watts : spec->gpu_idle_w;
  }
  if (spec->model == HR_POWER_TABLE) return from_table(spec, spec->utilization);
  return spec->gpu_idle_w + (spec->gpu_max_w - spec->gpu_idle_w) * shape(spec, spec->utilization);
}

/* Returns the watts of the host of a node in use. The load of the host equals that of its GPUs. If the job states its
   power, the load is the position of this power between idle and maximum power. */
static double host_watts(const struct hr_power_spec *spec, uint32_t fraction_ppm) {
  double part = shape(spec, spec->utilization), range = spec->gpu_max_w - spec->gpu_idle_w;
  if (fraction_ppm != HR__NO_FRACTION)
    part = range > 0 ? (gpu_watts(spec, fraction_ppm) - spec->gpu_idle_w) / range : 1;
  return spec->host_idle_w + (spec->host_max_w - spec->host_idle_w) * part;
}

/* ---- Power of GPUs and nodes: power limits ---------------------------------------------------------- */

/* Returns the effect of a limit, interpolated linearly between the measured limits. */
static struct hr_power_cap effect_of_limit(const struct hr_power_spec *spec, double cap_w) {
  const struct hr_power_cap *caps = spec->caps;
  uint32_t at = 0, last = spec->n_caps - 1;
  if (cap_w >= caps[0].limit_w) return caps[0];
  if (cap_w <= caps[last].limit_w) return caps[last];
  while (caps[at + 1].limit_w > cap_w) at++;
  const struct hr_power_cap *high = &caps[at], *low = &caps[at + 1];
  double part = (high->limit_w - cap_w) / (high->limit_w - low->limit_w);
  return (struct hr_power_cap){.limit_w = cap_w,
                               .time_ratio = high->time_ratio + part * (low->time_ratio - high->time_ratio),
                               .power_ratio = high->power_ratio + part * (low->power_ratio - high->power_ratio)};
}

/* Returns the power limit of a GPU of a pool at a level, in watts; 0: no limit. */
static double limit_w(const struct hr_power_spec *spec, uint32_t level) {
  double most_w = spec->gpu_max_w, least_w = spec->n_caps ? spec->caps[spec->n_caps - 1].limit_w : most_w;
  if (level == 0) return spec->gpu_cap_w;
  if (spec->gpu_cap_w > 0 && spec->gpu_cap_w < most_w) most_w = spec->gpu_cap_w;
  if (least_w < spec->gpu_idle_w) least_w = spec->gpu_idle_w;
  if (least_w > most_w) least_w = most_w;
  return most_w - (most_w - least_w) * level / HR__CAP_LEVELS;
}

struct hr__power_limit hr__power_limit_at(const struct hr_power_spec *spec, uint32_t level, uint32_t fraction_ppm) {
  const double cap_w = limit_w(spec, level);
  struct hr__power_limit limit = {1000000, gpu_watts(spec, fraction_ppm)};
  if (!(cap_w > 0) || limit.gpu_w <= cap_w) return limit;
  struct hr_power_cap effect = spec->n_caps ? effect_of_limit(spec, cap_w) : (struct hr_power_cap){0, 1, 1};
  limit.speed_ppm = (uint32_t)lround(PPM / effect.time_ratio);
  limit.gpu_w *= effect.power_ratio;
  if (limit.gpu_w > cap_w) limit.gpu_w = cap_w;
  if (limit.gpu_w < spec->gpu_idle_w) limit.gpu_w = spec->gpu_idle_w;
  return limit;
}

double hr_power_gpu_watts(const struct hr_power_spec *spec) {
  return hr__power_limit_at(spec, 0, HR__NO_FRACTION).gpu_w;
}

/* ---- Power of GPUs and nodes: losses and rates ------------------------------------------------------ */

/* Returns the power at the input of the conversion for a part of a node. `watts`: the power of the part at the output
   of the conversion. `parts`: the number of such parts of a node. */
static double before_losses(const struct hr_power_spec *spec, double watts, double parts) {
  for (uint32_t i = 0; i < spec->n_losses; i++)
    watts = (watts + spec->losses[i].constant_w / (spec->losses[i].nodes * parts)) / spec->losses[i].efficiency;
  return watts;
}

/* Returns a power as whole numbers. `watts`: the power at the input of the conversion. `output_w`: the power at its
   output. `units`: how many units of the result are one watt. */
static struct hr__watts rate_of(const struct hr_power_spec *spec, double watts, double output_w, double units) {
  struct hr__watts rate = {.it = llround(watts * units)};
  rate.loss = rate.it - llround(output_w * units);
  rate.facility = llround(watts * (spec->pue - 1) * units);
  return rate;
}

/* Returns the power per milli-GPU. A watt per GPU is 10^9 / 1000 nanowatts per milli-GPU. */
static struct hr__watts per_milli(const struct hr_power_spec *spec, double gpu_w, double host_w, uint32_t gpus) {
  double output_w = gpu_w + host_w / gpus;
  return rate_of(spec, before_losses(spec, output_w, gpus), output_w, 1e6);
}

struct hr__watts hr__busy_rate_at(const struct hr_power_spec *spec, uint32_t gpus_per_node, uint32_t level,
                                  uint32_t fraction_ppm) {
  double gpu_w = hr__power_limit_at(spec, level, fraction_ppm).gpu_w;
  return per_milli(spec, gpu_w, host_watts(spec, fraction_ppm), gpus_per_node);
}

struct hr__watts hr__idle_rate(const struct hr_power_spec *spec, uint32_t gpus_per_node) {
  return per_milli(spec, spec->gpu_idle_w, spec->host_idle_w, gpus_per_node);
}

struct hr__watts hr__node_rate(const struct hr_power_spec *spec, double node_w) {
  if (!(node_w > 0)) return (struct hr__watts){0};
  return rate_of(spec, before_losses(spec, node_w, 1), node_w, 1e9);
}

struct hr__watts hr__other_rate(const struct hr_power_spec *spec) {
  struct hr__watts rate = rate_of(spec, spec->other_w, spec->other_w, 1e9);
  rate.facility += llround(spec->cooling_w * 1e9);
  return rate;
}

/* ---- Power of GPUs and nodes: names ----------------------------------------------------------------- */

void hr_power_spec_destroy(struct hr_power_spec *spec) {
  if (!spec) return;
  free(spec->table);
  free(spec->losses);
  free(spec->caps);
  free(spec);
}

/* ---- Step series ------------------------------------------------------------------------------------ */

/*
 * A series has values that apply from one stamp to the next, with exact integrals.
 *
 * Layout: three parallel arrays by step: stamps, values, and the integral from the first stamp to each stamp. If all
 * steps have the same length, a step is found by division, otherwise by bisection. The integral from the first stamp to
 * any time is a stored sum plus a part of a step. So an integral between two times takes at most two searches.
 *
 * Invariant: stamps ascend strictly, and sums[i + 1] = sums[i] + values[i] * (stamps[i + 1] - stamps[i]). Sums are
 * 128-bit numbers, which suffices for 2^32 steps with an integral of up to 2^63 each.
 *
 * Repetition: the series covers the period from its first stamp to its end. A later time is reduced by whole periods.
 */

struct hr_series {
  int64_t *at_us, *micros;
  hr_amount *sums;
  uint32_t count;
  int64_t end_us;  /* end of the last value; HR_NEVER_US: a single value */
  int64_t step_us; /* the length of all steps; 0: they differ */
  hr_amount total; /* integral from the first stamp to the end */
  bool repeats;
  double per_step, per_period; /* 1 / step_us and 1 / (end_us - first stamp); 0: unknown */
};

/* Returns value / by, for a value of at least 0. `inverse`: 1 / by. The multiplication takes less time than a division
   of integers. Its result may differ by one, which is corrected. */
static int64_t quotient(int64_t value, int64_t by, double inverse) {
  const int64_t max_exact = INT64_C(1) << 52;
  if (value > max_exact) return value / by;
  int64_t result = (int64_t)((double)value * inverse), rest = value - result * by;
  return rest < 0 ? result - 1 : result + (rest >= by);
}

static int64_t common_step_us(const int64_t *at_us, uint32_t count) {
  int64_t step_us = count > 1 ? at_us[1] - at_us[0] : 0;
  for (uint32_t i = 1; i < count; i++)
    if (at_us[i] - at_us[i - 1] != step_us) return 0;
  return step_us;
}

static void sum_up(struct hr_series *series) {
  hr_amount sum = 0;
  for (uint32_t i = 0; i < series->count; i++) {
    int64_t end_us = i + 1 < series->count ? series->at_us[i + 1] : series->end_us;
    series->sums[i] = sum;
    if (end_us != HR_NEVER_US) sum += (hr_amount)series->micros[i] * (end_us - series->at_us[i]);
  }
  series->total = sum;
}

struct hr_series *hr_series_create(const int64_t *at_us, const int64_t *micros, uint32_t count, bool repeats) {
  struct hr_series *series = calloc(1, sizeof *series);
  if (!series) return NULL;
  if (!HR__ARRAY_MAKE(series->at_us, count) || !HR__ARRAY_MAKE(series->micros, count) ||
      !HR__ARRAY_MAKE(series->sums, count)) {
    hr_series_destroy(series);
    return NULL;
  }
  memcpy(series->at_us, at_us, count * sizeof *at_us);
  memcpy(series->micros, micros, count * sizeof *micros);
  series->count = count;
  series->step_us = common_step_us(at_us, count);
  series->end_us = count > 1 ? 2 * at_us[count - 1] - at_us[count - 2] : HR_NEVER_US;
  series->repeats = repeats && count > 1;
  if (series->step_us) series->per_step = 1 / (double)series->step_us;
  if (series->repeats) series->per_period = 1 / (double)(series->end_us - at_us[0]);
  sum_up(series);
  return series;
}

void hr_series_destroy(struct hr_series *series) {
  if (!series) return;
  free(series->at_us);
  free(series->micros);
  free(series->sums);
  free(series);
}

int64_t hr_series_first_us(const struct hr_series *series) {
  return series->at_us[0];
}

int64_t hr_series_end_us(const struct hr_series *series) {
  return series->end_us;
}

bool hr_series_repeats(const struct hr_series *series) {
  return series->repeats;
}

/* Reduces a time to the first period of a series that is repeated. Returns the number of periods. */
static int64_t reduce(const struct hr_series *series, int64_t *at_us) {
  if (!series->repeats || *at_us < series->end_us) return 0;
  int64_t period_us = series->end_us - series->at_us[0];
  int64_t periods = quotient(*at_us - series->at_us[0], period_us, series->per_period);
  *at_us -= periods * period_us;
  return periods;
}

/* Returns the step that applies at a reduced time. Before the first stamp, this is the first step. */
static uint32_t find(const struct hr_series *series, int64_t at_us) {
  uint32_t low = 0, high = series->count;
  if (at_us < series->at_us[0]) return 0;
  if (series->step_us) {
    int64_t i = quotient(at_us - series->at_us[0], series->step_us, series->per_step);
    return i < (int64_t)series->count ? (uint32_t)i : series->count - 1;
  }
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (series->at_us[middle] <= at_us)
      low = middle;
    else
      high = middle;
  }
  return low;
}

int64_t hr_series_at(const struct hr_series *series, int64_t at_us) {
  reduce(series, &at_us);
  return series->micros[find(series, at_us)];
}

int64_t hr_series_next_us(const struct hr_series *series, int64_t at_us) {
  int64_t reduced_us = at_us;
  if (series->count == 1) return HR_NEVER_US;
  reduce(series, &reduced_us);
  if (reduced_us < series->at_us[0]) return series->at_us[1];
  uint32_t i = find(series, reduced_us);
  if (i + 1 < series->count) return at_us + (series->at_us[i + 1] - reduced_us);
  return series->repeats ? at_us + (series->end_us - reduced_us) : HR_NEVER_US;
}

/* Returns the integral from the first stamp to a time; negative before the first stamp. */
static hr_amount sum_to(const struct hr_series *series, int64_t at_us) {
  int64_t periods = reduce(series, &at_us);
  uint32_t i = find(series, at_us);
  return series->total * periods + series->sums[i] + (hr_amount)series->micros[i] * (at_us - series->at_us[i]);
}

/* Returns the end of a step, in the first period. */
static int64_t step_end_us(const struct hr_series *series, uint32_t step) {
  if (step + 1 < series->count) return series->at_us[step + 1];
  return series->repeats ? series->end_us : HR_NEVER_US;
}

/* Moves the cursor to the step that applies at a time. */
static void seek(const struct hr_series *series, struct hr_series_cursor *cursor, int64_t us) {
  int64_t at_us = us, periods = reduce(series, &at_us);
  const uint32_t step = find(series, at_us);
  const int64_t end_us = step_end_us(series, step), shift_us = us - at_us;
  *cursor = (struct hr_series_cursor){.series = series,
                                      .from_us = series->at_us[step] + shift_us,
                                      .until_us = end_us == HR_NEVER_US ? end_us : end_us + shift_us,
                                      .shift_us = shift_us,
                                      .sum = series->total * periods + series->sums[step],
                                      .step = step};
}

void hr_series_integrals_near(const struct hr_series *series, struct hr_series_cursor *cursor, int64_t from_us,
                              int64_t to_us, hr_amount *from, hr_amount *to) {
  enum { STEPS = 4 };
  if (cursor->series != series || from_us < cursor->from_us || from_us >= cursor->until_us)
    seek(series, cursor, from_us);
  uint32_t i = cursor->step;
  const uint32_t last = series->count - 1;
  const int64_t then_us = to_us - cursor->shift_us;
  const hr_amount before = cursor->sum - series->sums[i];
  *from = cursor->sum + (hr_amount)series->micros[i] * (from_us - cursor->from_us);
  /* the end is usually a few steps later, and is then found without a search */
  for (int k = 0; k < STEPS && i < last && series->at_us[i + 1] <= then_us; k++) i++;
  if (to_us >= from_us && then_us < step_end_us(series, i))
    *to = before + series->sums[i] + (hr_amount)series->micros[i] * (then_us - series->at_us[i]);
  else
    *to = sum_to(series, to_us);
}

void hr_series_integrals(const struct hr_series *series, int64_t from_us, int64_t to_us, hr_amount *from,
                         hr_amount *to) {
  struct hr_series_cursor cursor = {0};
  hr_series_integrals_near(series, &cursor, from_us, to_us, from, to);
}

hr_amount hr_series_between_near(const struct hr_series *series, struct hr_series_cursor *cursor, int64_t from_us,
                                 int64_t to_us) {
  hr_amount from, to;
  hr_series_integrals_near(series, cursor, from_us, to_us, &from, &to);
  return to - from;
}

hr_amount hr_series_between(const struct hr_series *series, int64_t from_us, int64_t to_us) {
  hr_amount from, to;
  if (from_us != series->at_us[0]) {
    hr_series_integrals(series, from_us, to_us, &from, &to);
    return to - from;
  }
  /* the integral to the first stamp is 0 */
  return sum_to(series, to_us);
}

/* ---- Step series: electricity of a pool ------------------------------------------------------------- */

HR__NAME_FUNCTION(hr_carbon_signal_name, enum hr_carbon_signal, HR_CARBON_SIGNAL_TABLE)

int64_t hr_series_begin_us(const struct hr_series *series, int64_t start_us, const struct hr_trace *trace) {
  if (start_us == HR_NEVER_US) start_us = trace->dated ? 0 : hr_series_first_us(series);
  return start_us + trace->origin_us;
}

/* ---- Energy of jobs --------------------------------------------------------------------------------- */

/*
 * The energy of a job is power * time, and time is measured together with the integrals of the carbon intensity and of
 * the price (struct hr__span). So the energy of an attempt with constant power follows from its start, its end and its
 * pool. A job is undisturbed if it has only one attempt, and if this attempt has the same power from its start to its
 * end. For such a job, only the number of its pool is stored, and its energy is computed when it is read. A job gets a
 * row for the sum of its energy when it is stopped before its end, when its power changes, or when it starts while the
 * power of GPUs is limited by the power budget.
 *
 * Integrals until a time are rounded before differences are taken. So the result does not depend on whether the energy
 * is added in parts or computed at once.
 */

/* ---- Energy of jobs: rows --------------------------------------------------------------------------- */

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

/* ---- Energy of jobs: energy ------------------------------------------------------------------------- */

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

/* Returns the span between two times of a run. */
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

/* Returns the energy of an undisturbed job with `milli` milli-GPUs between two times. self->place[job] must be the
   number of its pool plus 1. */
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
  uint64_t milli = hr__job_milli(engine, job);
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
