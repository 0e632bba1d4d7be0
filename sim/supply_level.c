/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Levels. A record is read round and round. A zone that is on or off draws the lengths of its stretches one after the
 * other from its own stream. It begins as an outsider finds it: within a stretch that is the likelier to be found the
 * longer it is, at a point that is uniform in it. Such a stretch has the density x f(x) / mean, which for each kind of
 * length that there is can be drawn in closed form.
 */

#include "sim/supply.h"

#include <gsl/gsl_randist.h>
#include <math.h>

void hr__level_source_init(struct hr__level_source *source, const struct hr_spot_spec *spec, uint32_t n_nodes,
                           uint64_t seed, uint32_t replication) {
  *source = (struct hr__level_source){.spec = spec, .n_nodes = n_nodes};
  hr__stream_init(&source->stream, seed, HR__PURPOSE_SPOT_LEVEL, spec->zone, replication);
}

static bool has_record(const struct hr_spot_spec *spec) {
  return spec->model == HR_SPOT_TRACE && spec->n_levels > 0 && spec->period_us > 0;
}

/* ---- A record --------------------------------------------------------------------------------------- */

/* The step of the record that stands at `at_us` of it. */
static uint32_t standing(const struct hr_spot_spec *spec, int64_t at_us) {
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

/* `next` counts the steps of the record on from the one that stands at the beginning. */
static struct hr_level_step recorded(const struct hr__level_source *source, uint32_t next) {
  const struct hr_spot_spec *spec = source->spec;
  int64_t offset_us = spec->offset_us % spec->period_us;
  uint64_t step = (uint64_t)standing(spec, offset_us) + next;
  int64_t round = (int64_t)(step / spec->n_levels);
  struct hr_level_step found = spec->levels[step % spec->n_levels];
  found.at_us = next ? found.at_us + round * spec->period_us - offset_us : 0;
  if (found.level > source->n_nodes) found.level = source->n_nodes;
  return found;
}

/* Steps of the same level as the one before are left out; a record of one level has no second step. */
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

/* ---- On and off ------------------------------------------------------------------------------------- */

/* A stretch as an outsider finds it. */
static double draw_found_s(const struct hr_duration *duration, struct hr__stream *stream) {
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

static int64_t draw_rest_us(const struct hr_duration *duration, struct hr__stream *stream) {
  struct hr_duration rest = {HR_DURATION_FIXED, draw_found_s(duration, stream), 0};
  rest.a *= hr__stream_uniform(stream);
  return hr__duration_draw(&rest, stream);
}

static struct hr_level_step next_stretch(struct hr__level_source *source) {
  const struct hr_spot_spec *spec = source->spec;
  if (source->next++ == 0) {
    double up_s = hr__duration_mean_s(&spec->up), down_s = hr__duration_mean_s(&spec->down);
    source->is_up = hr__stream_uniform(&source->stream) * (up_s + down_s) < up_s;
    return (struct hr_level_step){0, source->is_up ? source->n_nodes : 0};
  }
  const struct hr_duration *length = source->is_up ? &spec->up : &spec->down;
  source->at_us +=
      source->next == 2 ? draw_rest_us(length, &source->stream) : hr__duration_draw(length, &source->stream);
  source->is_up = !source->is_up;
  return (struct hr_level_step){source->at_us, source->is_up ? source->n_nodes : 0};
}

struct hr_level_step hr__level_source_next(struct hr__level_source *source) {
  if (source->spec->model == HR_SPOT_ON_OFF) return next_stretch(source);
  if (has_record(source->spec)) return next_recorded(source);
  return (struct hr_level_step){source->next++ ? HR_NEVER_US : 0, source->n_nodes};
}
