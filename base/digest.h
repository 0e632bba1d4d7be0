/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_DIGEST_H
#define HR_BASE_DIGEST_H

/* A 64-bit digest of a sequence of numbers: one multiplication and a shift each. Not for secrets. */

#include <stdint.h>

#define HR__DIGEST_SEED UINT64_C(0x243f6a8885a308d3) /* the first digits of pi */

static inline uint64_t hr__digest_add(uint64_t digest, uint64_t value) {
  digest = (digest ^ value) * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio */
  return digest ^ digest >> 32;
}

#endif
