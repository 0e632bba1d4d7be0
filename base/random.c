/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Philox4x32-10 (see random.h for the paper), streams of draws, and an adapter for GSL. */

#include "base/random.h"

#include "headroom/base.h"

#include <string.h>

enum { ROUNDS = 10 };

static void philox_round(uint32_t counter[4], const uint32_t key[2]) {
  uint64_t product0 = UINT64_C(0xD2511F53) * counter[0];
  uint64_t product1 = UINT64_C(0xCD9E8D57) * counter[2];
  uint32_t next[4] = {(uint32_t)(product1 >> 32) ^ counter[1] ^ key[0], (uint32_t)product1,
                      (uint32_t)(product0 >> 32) ^ counter[3] ^ key[1], (uint32_t)product0};
  memcpy(counter, next, sizeof next);
}

/* Encrypts the block `counter` under `key` into `out`. */
static void philox_block(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
  uint32_t round_key[2] = {key[0], key[1]};
  memcpy(out, counter, 4 * sizeof *out);
  for (int round = 0; round < ROUNDS; round++) {
    philox_round(out, round_key);
    round_key[0] += UINT32_C(0x9E3779B9);
    round_key[1] += UINT32_C(0xBB67AE85);
  }
}

void hr__stream_init(struct hr__stream *stream, uint64_t seed, enum hr__purpose purpose, uint32_t entity,
                     uint32_t replication) {
  *stream = (struct hr__stream){.key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
                                .counter = {0, (uint32_t)purpose, entity, replication}};
}

uint32_t hr__stream_next(struct hr__stream *stream) {
  if (stream->left == 0) {
    philox_block(stream->counter, stream->key, stream->block);
    stream->counter[0]++;
    stream->left = 4;
  }
  return stream->block[4 - stream->left--];
}

uint32_t hr__weighted_place(const double *sums, uint32_t n, double p) {
  uint32_t low = 0, high = n - 1;
  double wanted = p * sums[high];
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (sums[middle] < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

uint32_t hr_random_below(uint64_t seed, uint32_t stream, uint64_t number, uint32_t bound) {
  const uint32_t counter[4] = {(uint32_t)number, HR__PURPOSE_PLACEMENT, stream, (uint32_t)(number >> 32)};
  const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  uint32_t word[4];
  philox_block(counter, key, word);
  return (uint32_t)((uint64_t)word[0] * bound >> 32);
}

static unsigned long adapter_get(void *state) {
  struct hr__stream *stream = *(struct hr__stream **)state;
  return hr__stream_next(stream);
}

static double adapter_get_double(void *state) {
  struct hr__stream *stream = *(struct hr__stream **)state;
  return hr__stream_uniform(stream);
}

static void adapter_set(void *state, unsigned long seed) {
  (void)state;
  (void)seed;
}

static const gsl_rng_type philox_type = {.name = "philox4x32-10",
                                         .max = UINT32_MAX,
                                         .min = 0,
                                         .size = sizeof(struct hr__stream *),
                                         .set = adapter_set,
                                         .get = adapter_get,
                                         .get_double = adapter_get_double};

gsl_rng hr__stream_rng(struct hr__stream *stream) {
  /* GSL passes `state` to the adapter functions. It is the address of stream->self, which points to the stream. */
  stream->self = stream;
  return (gsl_rng){.type = &philox_type, .state = &stream->self};
}
