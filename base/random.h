/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_RANDOM_H
#define HR_BASE_RANDOM_H

/*
 * Philox4x32-10, a counter-based generator (Salmon, Moraes, Dror, Shaw: "Parallel Random Numbers: As Easy as
 * 1, 2, 3", SC'11). The key is the scenario's seed; the counter is (draw, purpose, entity, replication), so no
 * draw depends on how many draws others made.
 */

#include <gsl/gsl_rng.h>
#include <stdint.h>

/* What a stream of draws is for. A new purpose is appended: numbers are part of every result. */
enum hr__purpose {
  HR__PURPOSE_ARRIVAL = 1,
  HR__PURPOSE_RUN_TIME = 2,
  HR__PURPOSE_GPUS = 3,
  HR__PURPOSE_USER = 4,
  HR__PURPOSE_LIMIT = 5,
  HR__PURPOSE_PLACEMENT = 6,
  HR__PURPOSE_SPOT_LEVEL = 7,   /* entity: the zone */
  HR__PURPOSE_SPOT_RECLAIM = 8, /* entity: the zone */
  HR__PURPOSE_SPOT_LIFE = 9,    /* entity: the node, a life per launch */
  HR__PURPOSE_BOOT = 10,        /* likewise */
  HR__PURPOSE_SPOT_PRICE = 11,  /* entity: the zone */
  HR__PURPOSE_REPLICATION = 12, /* the seed of a replication; entity: its number */
  HR__PURPOSE_SAMPLE = 13,      /* jobs of a trace, with replacement */
  HR__PURPOSE_SHUFFLE = 14,     /* their order */
  HR__PURPOSE_BLOCKS = 15,      /* blocks of a trace; entity: the position, replication: the layer */
  HR__PURPOSE_THINNING = 16,    /* entity: the job, draw: the position, replication: the layer */
  HR__PURPOSE_FORECAST = 17,    /* demand to come; entity: the series, HR_NONE the total */
  HR__PURPOSE_DESIGN = 18,      /* a sample of points; entity: the axis */
  HR__PURPOSE_BOOTSTRAP = 20,   /* replications drawn again */
  HR__PURPOSE_MODEL_JOB = 33,   /* workload models; entity: the job */
  HR__PURPOSE_MODEL_USER = 34,  /* likewise; entity: the user, or tenant if the model has no users */
  HR__PURPOSE_JITTER = 40       /* when copies come; entity: the job, replication: the copy */
};

/* One block: `counter` encrypted under `key`. */
void hr__philox_block(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

struct hr__stream {
  uint32_t key[2], counter[4];
  uint32_t block[4];
  unsigned left;           /* words of the block not yet used */
  struct hr__stream *self; /* for hr__stream_rng */
};
void hr__stream_init(struct hr__stream *stream, uint64_t seed, enum hr__purpose purpose, uint32_t entity,
                     uint32_t replication);
/* Skips to the draws of the n-th of an entity's lives, each of which has room for a thousand draws. */
void hr__stream_skip_to_life(struct hr__stream *stream, uint32_t life);
uint32_t hr__stream_next(struct hr__stream *stream);
/* Uniform in (0, 1), 53 bits. */
double hr__stream_uniform(struct hr__stream *stream);

/* Which of `n` things, at least one, `p` in (0, 1) falls on; `sums`, rising: of their weights up to each. */
uint32_t hr__weighted_place(const double *sums, uint32_t n, double p);

/* GSL's samplers draw from `stream` through this: a gsl_rng on the caller's stack, valid while the stream stays
   where it is. */
gsl_rng hr__stream_rng(struct hr__stream *stream);

#endif
