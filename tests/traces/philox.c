/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Philox4x32-10, compared with the known answers of its authors (Random123, tests/kat_vectors), and the random streams
   that use it. */
#include "harness.h"

#include "base/random.h"

#include <string.h>

static void encrypt(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
  struct hr__stream stream = {.key = {key[0], key[1]}, .counter = {counter[0], counter[1], counter[2], counter[3]}};
  for (int i = 0; i < 4; i++) out[i] = hr__stream_next(&stream);
}

static bool encrypts_to(const uint32_t counter[4], const uint32_t key[2], const uint32_t wanted[4]) {
  uint32_t out[4];
  encrypt(counter, key, out);
  return memcmp(out, wanted, sizeof out) == 0;
}

static void known_answers(void) {
  const uint32_t zeros[4] = {0}, ones[4] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX};
  const uint32_t pi[4] = {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, pi_key[2] = {0xa4093822, 0x299f31d0};
  const uint32_t expected_zeros[4] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  const uint32_t expected_ones[4] = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
  const uint32_t expected_pi[4] = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
  CU_ASSERT(encrypts_to(zeros, zeros, expected_zeros));
  CU_ASSERT(encrypts_to(ones, ones, expected_ones));
  CU_ASSERT(encrypts_to(pi, pi_key, expected_pi));
}

static void streams_are_blocks_in_order(void) {
  struct hr__stream stream;
  hr__stream_init(&stream, UINT64_C(0x299f31d0a4093822), HR__PURPOSE_GPUS, 7, 9);
  const uint32_t key[2] = {0xa4093822, 0x299f31d0};
  for (uint32_t draw = 0; draw < 3; draw++) {
    uint32_t block[4];
    encrypt((const uint32_t[4]){draw, HR__PURPOSE_GPUS, 7, 9}, key, block);
    for (int i = 0; i < 4; i++) CU_ASSERT_EQUAL(hr__stream_next(&stream), block[i]);
  }
}

static void uniforms_are_between_0_and_1(void) {
  struct hr__stream stream;
  hr__stream_init(&stream, 42, HR__PURPOSE_USER, 0, 0);
  double sum = 0, min = 1, max = 0;
  enum { N = 100000 };
  for (int i = 0; i < N; i++) {
    double u = hr__stream_uniform(&stream);
    sum += u;
    min = u < min ? u : min;
    max = u > max ? u : max;
  }
  CU_ASSERT(min > 0 && min < 1e-3);
  CU_ASSERT(max < 1 && max > 1 - 1e-3);
  CU_ASSERT_DOUBLE_EQUAL(sum / N, 0.5, 0.005); /* the bound is 5.5 standard errors */
}

static void gsl_generators_use_the_stream(void) {
  struct hr__stream direct, through_gsl;
  hr__stream_init(&direct, 1, HR__PURPOSE_LIMIT, 3, 0);
  hr__stream_init(&through_gsl, 1, HR__PURPOSE_LIMIT, 3, 0);
  gsl_rng rng = hr__stream_rng(&through_gsl);
  for (int i = 0; i < 10; i++) CU_ASSERT_EQUAL(gsl_rng_get(&rng), hr__stream_next(&direct));
  CU_ASSERT_EQUAL(gsl_rng_uniform(&rng), hr__stream_uniform(&direct));
}

TEST_MAIN("philox", TEST(known_answers), TEST(streams_are_blocks_in_order), TEST(uniforms_are_between_0_and_1),
          TEST(gsl_generators_use_the_stream))
