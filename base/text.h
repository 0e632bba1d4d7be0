/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_TEXT_H
#define HR_BASE_TEXT_H

/* Numbers as text, for machines and for people. No locale has a say in any of it. */

#include "headroom/base.h"

#include <stdint.h>

/* Room for any number that the functions below write, with its NUL. */
#define HR__NUMBER_BYTES 32

/* Each writes without a NUL and returns where it stopped. */
char *hr__put_u64(char *at, uint64_t value);
char *hr__put_i64(char *at, int64_t value);
/* A value counted in millionths or thousandths ("1500000" millionths: "1.5"): zeros at the end are cut, and the point
   with them. */
char *hr__put_millionths(char *at, int64_t value);
char *hr__put_thousandths(char *at, int64_t value);
/* Micro-dollars as dollars, always with six decimals: "-12.500000". */
char *hr__put_usd(char *at, int64_t uusd);

/* Each writes a NUL at the end and returns `buffer`, of HR__NUMBER_BYTES. */

/* At most six decimals, zeros at the end cut: what JSON calls a number. */
const char *hr__decimal_text(double value, char *buffer);
/* The shortest decimal that reads as the same number, which is finite: what JSON calls one, with an exponent where that
   is shorter. */
const char *hr__exact_text(double value, char *buffer);
/* "1,234,567" */
const char *hr__count_text(uint64_t count, char *buffer);
/* `decimals` (at most 6) places after the point, with commas: "1,234.50". */
const char *hr__fixed_text(double value, unsigned decimals, char *buffer);
/* How many times as long or as much: "1.25", "12,345", "1.23e7". At most 9 columns. */
const char *hr__factor_text(double value, char *buffer);
/* Micro-dollars for a person, in cents where they are few: "$1,234.50", "$12,346", "-$3.25". */
const char *hr__usd_text(int64_t uusd, char *buffer);
/* A duration for a person: "0 s", "1.25 s", "4 min 10 s", "3 h 12 min", "12 d 3 h". */
const char *hr__duration_text(double seconds, char *buffer);

/* A copy that is UTF-8 whatever the input held: bytes that are not are read as Latin-1. The caller frees it; NULL when
   out of memory. */
char *hr__utf8_copy(const char *text);

/* Counts in sentences: "1 job", "2 jobs". */

/* The one of two words, or parts of a sentence, that goes with the count. */
static inline const char *hr__counted(uint64_t count, const char *one, const char *many) {
  return count == 1 ? one : many;
}

/* "s" unless there is one. */
static inline const char *hr__plural(uint64_t count) {
  return hr__counted(count, "", "s");
}

/* Time in the units that people count it in, and how many of it. */

#define HR__MINUTE_US (60 * HR_SECOND_US)
#define HR__HOUR_US (3600 * HR_SECOND_US)
#define HR__DAY_US (24 * HR__HOUR_US)

static inline double hr__seconds(int64_t us) {
  return (double)us / (double)HR_SECOND_US;
}

/* Size classes of requests, from small to large. */
enum { HR__SIZES = 9 };
/* Returns the size class of a request for `gpus` GPUs. */
static inline uint32_t hr__size_of(uint32_t gpus) {
  if (gpus <= 1) return gpus;
  if (gpus <= 4) return 2;
  uint32_t doublings = 32u - (uint32_t)__builtin_clz(gpus - 1);
  return doublings < HR__SIZES - 1 ? doublings : HR__SIZES - 1;
}
/* Returns the name of a size class, such as "2-4"; NULL if there is no such class. */
const char *hr__size_name(uint32_t size);

#endif
