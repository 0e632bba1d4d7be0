/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_TEXT_H
#define HR_BASE_TEXT_H

/* Numbers, durations and amounts of money as text, for files and for people. Nothing here depends on the locale. */

#include "headroom/base.h"

#include <stdint.h>

/* The size of a buffer for any number below, including the NUL. */
#define HR__NUMBER_BYTES 32

/* The hr__put functions write at `at`, without a NUL, and return the end of what they wrote. */
char *hr__put_u64(char *at, uint64_t value);
static inline char *hr__put_i64(char *at, int64_t value) {
  if (value < 0) *at++ = '-';
  return hr__put_u64(at, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}
/* A value in millionths or thousandths as a decimal: 1500000 millionths are "1.5". Trailing zeros are omitted. */
char *hr__put_millionths(char *at, int64_t value);
char *hr__put_thousandths(char *at, int64_t value);
/* Micro-dollars as dollars, always with six decimals: "-12.500000". */
char *hr__put_usd(char *at, int64_t uusd);

/* The functions below write a NUL-terminated text and return `buffer`, which has HR__NUMBER_BYTES bytes. */

/* At most six decimals, without trailing zeros: a valid JSON number. */
const char *hr__decimal_text(double value, char *buffer);
/* The shortest decimal that reads back as the same number, with an exponent if that is shorter: a valid JSON number.
   `value` is finite. */
const char *hr__exact_text(double value, char *buffer);
/* "1,234,567" */
const char *hr__count_text(uint64_t count, char *buffer);
/* With `decimals` decimals (at most 6) and thousands separators: "1,234.50". */
const char *hr__fixed_text(double value, unsigned decimals, char *buffer);
/* A ratio: "1.25", "12,345", "1.23e7". At most 9 columns. */
const char *hr__factor_text(double value, char *buffer);
/* Micro-dollars, rounded to cents, or to dollars from $10,000: "$1,234.50", "$12,346", "-$3.25". */
const char *hr__usd_text(int64_t uusd, char *buffer);
/* A duration: "0 s", "1.25 s", "4 min 10 s", "3 h 12 min", "12 d 3 h". */
const char *hr__duration_text(double seconds, char *buffer);

/* A copy in valid UTF-8: a text that is not valid UTF-8 is read as Latin-1. The caller frees it; NULL if memory is
   exhausted. */
char *hr__utf8_copy(const char *text);

/* The word, or part of a sentence, that agrees with the count: "1 job", "2 jobs". */
static inline const char *hr__counted(uint64_t count, const char *one, const char *many) {
  return count == 1 ? one : many;
}

/* "s" unless the count is 1. */
static inline const char *hr__plural(uint64_t count) {
  return hr__counted(count, "", "s");
}

/* Sums of microseconds over millions of jobs, and products of GPUs and microseconds, exceed 64 bits. */
__extension__ typedef unsigned __int128 hr__wide;

/* Durations in microseconds. */

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
/* Returns the name of a size class, such as "2-4"; NULL if no class has that name. */
static inline const char *hr__size_name(uint32_t size) {
  static const char *const names[HR__SIZES] = {"0", "1", "2-4", "5-8", "9-16", "17-32", "33-64", "65-128", "129+"};
  return size < HR__SIZES ? names[size] : NULL;
}

#endif
