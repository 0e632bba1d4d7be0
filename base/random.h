/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_RANDOM_H
#define HR_BASE_RANDOM_H

/*
 * Philox4x32-10, a counter-based generator (Salmon, Moraes, Dror, Shaw: "Parallel Random Numbers: As Easy as 1, 2, 3",
 * SC'11). The key is the scenario's seed. The counter is (block, purpose, entity, replication), where a block has four
 * draws of 32 bits. Each draw is a function of the key, the counter and its place in the block only, so it does not
 * depend on how many numbers were drawn for other purposes, entities and replications.
 *
 * A stream is the sequence of draws of one purpose, entity and replication. The caller owns the memory of the stream; a
 * stream needs no clean-up.
 */

#include <gsl/gsl_rng.h>
#include <stdint.h>

/* The purpose of a stream of draws. All random draws depend on these numbers, so a change of a number changes results:
   never change a number, only append new ones. Layers: if a workload has more load than its trace, it consists of
   several layers, and each layer is drawn from all jobs of the trace. */
enum hr__purpose {
  HR__PURPOSE_ARRIVAL = 1,
  HR__PURPOSE_RUN_TIME = 2,
  HR__PURPOSE_GPUS = 3,
  HR__PURPOSE_USER = 4,
  HR__PURPOSE_LIMIT = 5,
  HR__PURPOSE_PLACEMENT = 6,
  HR__PURPOSE_SPOT_LEVEL = 7,   /* entity: the zone */
  HR__PURPOSE_SPOT_RECLAIM = 8, /* entity: the zone */
  HR__PURPOSE_SPOT_LIFE = 9,    /* entity: the node; each launch has separate draws */
  HR__PURPOSE_BOOT = 10,        /* entity: the node; each launch has separate draws */
  HR__PURPOSE_SPOT_PRICE = 11,  /* entity: the zone */
  HR__PURPOSE_REPLICATION = 12, /* the seeds of replications; entity: the index of the replication */
  HR__PURPOSE_SAMPLE = 13,      /* a sample of the jobs of a trace, drawn with replacement */
  HR__PURPOSE_SHUFFLE = 14,     /* the random order of jobs */
  HR__PURPOSE_BLOCKS = 15,      /* the block of a trace at a position; entity: the position, replication: the layer */
  HR__PURPOSE_THINNING = 16,    /* whether a job is kept; entity: the job; draw: the position; replication: the layer */
  HR__PURPOSE_FORECAST = 17, /* future demand; entity: the time series, or HR_NONE for the series of the total demand */
  HR__PURPOSE_DESIGN = 18,   /* a sample of design points; entity: the axis */
  HR__PURPOSE_BOOTSTRAP = 20,  /* replications, drawn with replacement */
  HR__PURPOSE_MODEL_JOB = 33,  /* workload models; entity: the job */
  HR__PURPOSE_MODEL_USER = 34, /* workload models; entity: the user, or the tenant if the model has no users */
  HR__PURPOSE_JITTER = 40,     /* submit times of copies; entity: the job; replication: the copy */
  HR__PURPOSE_ROUTER = 41,     /* random assignment of requests to replicas */
  HR__PURPOSE_REQUEST = 42,    /* arrivals of requests; entity: the service */
  HR__PURPOSE_EXPANDER = 46,   /* choice among equal options of an autoscaler; entity: number of earlier choices */
  HR__PURPOSE_SLOW = 45,       /* slow nodes; entity: the node */
  HR__PURPOSE_FAULT = 44,      /* failures and repairs; entity: the unit that fails, replication: the process */
  HR__PURPOSE_TOKENS = 43      /* tokens of requests; entity: the request, replication: the service */
};

struct hr__stream {
  uint32_t key[2], counter[4];
  uint32_t block[4];
  unsigned left;           /* how many words of the block are not used yet */
  struct hr__stream *self; /* the address of this member is the `state` of the gsl_rng that hr__stream_rng returns */
};
/* Initializes a stream; its first draw is draw 0. */
void hr__stream_init(struct hr__stream *stream, uint64_t seed, enum hr__purpose purpose, uint32_t entity,
                     uint32_t replication);
/* Moves the stream to the draws of launch `life` of the entity. Launches are numbered from 0, and each has 1,024
   draws. */
static inline void hr__stream_skip_to_life(struct hr__stream *stream, uint32_t life) {
  stream->counter[0] = life << 8;
  stream->left = 0;
}

/* Returns the next 32 random bits. */
uint32_t hr__stream_next(struct hr__stream *stream);
/* Returns a uniform random number in (0, 1) with 53 bits. */
static inline double hr__stream_uniform(struct hr__stream *stream) {
  uint64_t high = hr__stream_next(stream) >> 5, low = hr__stream_next(stream) >> 6;
  return ((double)(high << 26 | low) + 0.5) * 0x1p-53;
}

/* Returns a random index in 0 .. n - 1 (n >= 1) with the given weights. `sums` are the cumulative sums of the weights.
   `p` is a uniform random number in (0, 1). The search takes O(log n) time. */
uint32_t hr__weighted_place(const double *sums, uint32_t n, double p);

/* Returns a gsl_rng that draws from `stream`, for GSL's samplers. It is valid as long as `stream` is not moved in
   memory. */
gsl_rng hr__stream_rng(struct hr__stream *stream);

#endif
