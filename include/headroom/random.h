/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_RANDOM_H
#define HEADROOM_RANDOM_H

/* Random numbers for policies, by number: no draw depends on how many others were made. */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The draw of that number in a stream of a seed, uniform in 0 .. bound - 1 (each to within 2^-32); `bound` is at
   least 1. Streams have nothing in common with each other, nor with what the engine draws. */
HR_API uint32_t hr_random_below(uint64_t seed, uint32_t stream, uint64_t number, uint32_t bound);

#ifdef __cplusplus
}
#endif
#endif
