/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Blows: a Poisson process of instants, each of which takes some nodes. The size of a blow is one more than a geometric
 * number, cut at the number of nodes; with E its mean, n nodes and a rate r for each of them, blows come at the rate
 * n r / E, so that each node is hit at the rate r, exactly, whatever the cut.
 */

#include "sim/supply.h"

#include <gsl/gsl_sf_gamma.h>
#include <math.h>

/* A blow of k nodes goes on to one more with this probability: it takes `batch_mean` on average before the cut. */
static double going_on(const struct hr_spot_spec *spec) {
  return spec->batch_mean > 1 ? 1 - 1 / spec->batch_mean : 0;
}

/* 1 + q + q^2 + ... + q^(n-1) = (1 - q^n) / (1 - q), without loss of figures where batches are far larger than n. */
static double mean_size(const struct hr_spot_spec *spec, uint32_t n_nodes) {
  if (!(spec->batch_mean > 1)) return 1;
  return -expm1(n_nodes * log1p(-1 / spec->batch_mean)) * spec->batch_mean;
}

double hr__blow_share(const struct hr_spot_spec *spec, uint32_t n_nodes, uint32_t held) {
  double size = mean_size(spec, n_nodes), n = n_nodes;
  if (held == 0) return 0;
  double misses = size > n - held ? 0
                                  : exp(gsl_sf_lngamma(n - held + 1) + gsl_sf_lngamma(n - size + 1) -
                                        gsl_sf_lngamma(n - size - held + 1) -
                                        gsl_sf_lngamma(n + 1)); /* C(n - held, size) / C(n, size) */
  return n / size * (1 - misses);
}

static bool has_blows(const struct hr_spot_spec *spec) {
  return (spec->model == HR_SPOT_EXPONENTIAL || spec->model == HR_SPOT_ADVISOR) && spec->rate_per_h > 0;
}

void hr__blow_source_init(struct hr__blow_source *source, const struct hr_spot_spec *spec, uint32_t n_nodes,
                          uint64_t seed, uint32_t replication) {
  *source = (struct hr__blow_source){.spec = spec, .n_nodes = n_nodes};
  if (has_blows(spec) && n_nodes > 0) source->per_h = n_nodes * spec->rate_per_h / mean_size(spec, n_nodes);
  hr__stream_init(&source->stream, seed, HR__PURPOSE_SPOT_RECLAIM, spec->zone, replication);
}

/* `count` of n_nodes without replacement, in increasing order: each node in turn is taken with the probability that
   what is still to be taken bears to what is still there. */
static void choose_nodes(struct hr__blow_source *source, uint32_t *nodes, uint32_t count) {
  uint32_t chosen = 0;
  for (uint32_t node = 0; chosen < count; node++)
    if (hr__stream_uniform(&source->stream) * (source->n_nodes - node) < count - chosen) nodes[chosen++] = node;
}

int64_t hr__blow_source_next(struct hr__blow_source *source, uint32_t *nodes, uint32_t *count) {
  *count = 0;
  if (!(source->per_h > 0)) return HR_NEVER_US;
  struct hr_duration between = {HR_DURATION_EXPONENTIAL, 3600 / source->per_h, 0};
  source->at_us += hr__duration_draw(&between, &source->stream);
  uint32_t size = 1;
  double q = going_on(source->spec);
  while (size < source->n_nodes && q > 0 && hr__stream_uniform(&source->stream) < q) size++;
  if (size == 1)
    nodes[0] = (uint32_t)(hr__stream_uniform(&source->stream) * source->n_nodes);
  else
    choose_nodes(source, nodes, size);
  *count = size;
  return source->at_us;
}
