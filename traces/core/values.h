/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_CORE_VALUES_H
#define HR_TRACES_CORE_VALUES_H

/* Parses one field of a table into one member of a row. */

#include "headroom/trace_files.h"

/* Numbers: kind, type of the member, units of the member for one unit of the text, minimum and maximum in units of
   the member, true if the result must be whole, the expected value in words, the maximum in words. HR__GPU_BOUND is a
   bound of an elastic job; in a trace, an unknown bound equals the number of GPUs. */
#define HR__NUMBER_KIND_TABLE(X)                                                                                       \
  X(HR__DURATION, int64_t, 1000000, 0, HR_MAX_INPUT_US, false, "a number of seconds of at least 0", "100000000000 s")  \
  X(HR__GIB, uint64_t, 1024, 0, 1 << 30, false, "a number of GiB of at least 0", "1048576 GiB")                        \
  X(HR__MIB, uint64_t, 1, 0, 1 << 30, true, "a whole number of MiB of at least 0", "1073741824 MiB")                   \
  X(HR__GPUS, uint32_t, 1, 0, HR_MAX_GPUS, true, "a whole number of at least 0", "4000000")                            \
  X(HR__GPU_BOUND, uint32_t, 1, 0, HR_MAX_GPUS, true, "a whole number of at least 0", "4000000")                       \
  X(HR__TASKS, uint32_t, 1, 1, HR_MAX_GPUS, true, "a whole number of at least 1", "4000000")                           \
  X(HR__CPUS, uint32_t, 1000, 0, 1000000000, false, "a number of CPUs of at least 0", "1000000 CPUs")                  \
  X(HR__CPU_MILLI, uint32_t, 1, 0, 1000000000, true, "a whole number of at least 0", "1000000000")                     \
  X(HR__GPU_SHARE, uint32_t, 1, 1, 1000, true, "a whole number from 1 to 1000", "1000, a whole GPU")                   \
  X(HR__GPU_SHARE_OR_NONE, uint32_t, 1, 0, 1000, true, "a whole number from 0 to 1000", "1000, a whole GPU")           \
  X(HR__GPU_PARTS, uint32_t, 1000, 0, 4000000000, false, "a number of GPUs of at least 0", "4000000 GPUs")             \
  X(HR__TOKENS, uint32_t, 1, 0, 1000000000, true, "a whole number of at least 0", "1000000000")                        \
  X(HR__STEPS, uint64_t, 1, 0, INT64_C(1) << 50, true, "a whole number of at least 0", "1125899906842624")             \
  X(HR__FRACTION, uint32_t, 1000000, 0, 1000000, false, "a fraction from 0 to 1", "1")

/* Kinds of values, with the type of the member in which the value is stored. HR__N_NUMBER_KINDS is the number of
   kinds of numbers, not a kind. */
enum hr__kind {
#define HR__KIND_NAME(kind, ...) kind,
  HR__NUMBER_KIND_TABLE(HR__KIND_NAME)
#undef HR__KIND_NAME
      HR__N_NUMBER_KINDS,
  HR__INSTANT = HR__N_NUMBER_KINDS, /* int64_t: seconds, or a date */
  HR__INSTANT_OR_NONE,              /* int64_t: as HR__INSTANT; unchanged for "Unknown", "None" and similar words */
  HR__PRIORITY,                     /* int32_t */
  HR__TEXT,                         /* struct hr_text */
  HR__LIST,                         /* struct hr_text: trimmed items separated by `|` */
  HR__CLASS,                        /* uint8_t: enum hr_job_class */
  HR__STATUS,                       /* uint8_t: enum hr_outcome */
  HR__DEDICATED,                    /* uint8_t: sets HR_JOB_DEDICATED if true */
  HR__INTERRUPTIBLE,                /* uint8_t: sets HR_JOB_NOT_INTERRUPTIBLE if false */
  HR__TIER,                         /* uint8_t: enum hr_tier, at most HR_TIER_ZONE */
  HR__FLAGS                         /* uint8_t: a set of flags; not a value in text */
};

/* How a file writes times. All times of a file are written in the same way. */
enum hr__clock { HR__CLOCK_UNKNOWN, HR__CLOCK_SECONDS, HR__CLOCK_LOCAL_DATES, HR__CLOCK_ZONED_DATES };

/* Memory for the texts of the current row. The owner allocates enough for all texts of a row. */
struct hr__text_store {
  char *at;
  size_t used;
};

/* State of parsing the values of a file. `clock` is set by the first time of the file. */
struct hr__value_reader {
  enum hr__clock clock;
  struct hr__text_store texts;
};

/* Parses `text`, which must not be empty, into `member`. Returns NULL if the text is valid. Otherwise returns the
   fault, which completes a sentence after "is". `unit_us`: microseconds per unit of a plain number; used by
   HR__INSTANT and HR__DURATION only. */
const char *hr__value_read(struct hr__value_reader *reader, enum hr__kind kind, uint64_t unit_us, struct hr_text text,
                           void *member);

#endif
