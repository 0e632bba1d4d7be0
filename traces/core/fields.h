/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_CORE_FIELDS_H
#define HR_TRACES_CORE_FIELDS_H

/* Fields of jobs: numbers and dates, the kinds of values and their parsers, and the columns of a trace. */

#include "headroom/trace_files.h"

#include <stddef.h>
#include <string.h>

/* ---- Texts ----------------------------------------------------------------------------------------- */

static inline struct hr_text hr__text_make(const char *text) {
  return (struct hr_text){text, strlen(text)};
}

static inline bool hr__text_is(struct hr_text text, const char *word) {
  return text.length == strlen(word) && memcmp(text.at, word, text.length) == 0;
}

/* Returns the text before the first `end`, or all of `rest` if `rest` does not contain `end`. Moves `rest` past `end`.
 */
static inline struct hr_text hr__text_take(struct hr_text *rest, char end) {
  const char *stop = rest->length ? memchr(rest->at, end, rest->length) : NULL;
  struct hr_text taken = {rest->at, stop ? (size_t)(stop - rest->at) : rest->length};
  size_t used = stop ? taken.length + 1 : taken.length;
  *rest = (struct hr_text){rest->at + used, rest->length - used};
  return taken;
}

/* Returns a text without the characters `blanks` at its beginning and end. */
static inline struct hr_text hr__text_trim(struct hr_text text, const char *blanks) {
  const size_t n = strlen(blanks);
  while (text.length && memchr(blanks, *text.at, n)) text = (struct hr_text){text.at + 1, text.length - 1};
  while (text.length && memchr(blanks, text.at[text.length - 1], n)) text.length--;
  return text;
}

/* ---- Numbers --------------------------------------------------------------------------------------- */

/* Parses decimal text as integers. No floating point is used, so the only inexact step is the rounding of a number_rule
   that permits it. The locale has no effect. */

/* Results of parsing a number. */
enum hr__number_fault {
  HR__NUMBER_FINE,
  HR__NUMBER_BAD,       /* the text is not a number */
  HR__NUMBER_NEGATIVE,  /* the number is below 0 */
  HR__NUMBER_NOT_WHOLE, /* the result is not whole, but hr__number_rule.whole is set */
  HR__NUMBER_TOO_LARGE  /* the result is above hr__number_rule.max */
};

/* Unit and range of a number. */
struct hr__number_rule {
  uint64_t factor; /* units of the result for one unit of the text */
  uint64_t max;    /* maximum of the result, below 2^63 */
  bool whole;      /* true: a result that is not whole is HR__NUMBER_NOT_WHOLE; false: the result is rounded half up */
};

/* Parses a number such as "12", "+0.5", "5." or "1.5e3". Other texts (nan, inf, hexadecimal, empty) are
   HR__NUMBER_BAD. `*value` is the result if HR__NUMBER_FINE is returned; otherwise it is undefined. */
enum hr__number_fault hr__number_parse(struct hr_text text, const struct hr__number_rule *rule, uint64_t *value);

/* Parses an integer in canonical form: no plus sign, no leading zeros, not "-0", from -INT64_MAX to INT64_MAX. Returns
   false for any other text; `*value` is then unchanged. */
bool hr__integer_parse(struct hr_text text, int64_t *value);

#define HR__QUOTE_BYTES 256
/* Formats text from a file for a message, on one line. If the text has more than 60 bytes, the rest is replaced by
   "...". Bytes that are not printable ASCII are escaped as \xHH. Returns `buffer`. */
const char *hr__quote(struct hr_text text, char buffer[HR__QUOTE_BYTES]);

/* ---- Dates ----------------------------------------------------------------------------------------- */

/* Parses a date of the form `YYYY-MM-DD[THH:MM[:SS[.FRACTION]][ZONE]]`. The `T` may be a space. ZONE is `Z`, `+HH:MM`,
   `+HHMM` or `+HH`, with `+` or `-`. Sets `*zoned` to whether the text has a zone. `*us` is in microseconds since
   1970-01-01 00:00: in UTC if the text has a zone, otherwise in local time. Returns false if the text has another form
   or if the day does not exist; `*us` and `*zoned` are then undefined. */
bool hr__date_parse(struct hr_text text, int64_t *us, bool *zoned);

enum { HR__DATE_BYTES = 32 };
/* Writes a time as `YYYY-MM-DDTHH:MM:SS`, followed by a fraction of a second if it is not 0, and by `Z` if `zoned` is
   set. `at` must have room for HR__DATE_BYTES. The text has no NUL at its end. Returns the end of the text, or NULL if
   the year is not in 1 .. 9999. */
char *hr__date_put(char *at, int64_t us, bool zoned);

/* The note on a trace that has dates without a zone. */
#define HR__LOCAL_DATES_NOTE                                                                                           \
  "dates have no time zone and are used as they are: across changes to or from summer time, times are one hour off"

/* ---- Values ---------------------------------------------------------------------------------------- */

/* Parses one field of a table into one member of a row. */

/* Kinds of numbers. The columns: kind; type of the member; units of the member for one unit of the text; minimum and
   maximum in units of the member; true if the result must be whole; the expected value in words; the maximum in words.

   The unit of HR__DURATION is the argument `unit_us` of hr__value_read, not that of the table. HR__GPU_BOUND is the
   minimum or maximum number of GPUs of an elastic job; in a trace, an unknown bound equals the number of GPUs. */
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
  HR__DEDICATED,                    /* uint8_t: true sets the bit HR_JOB_DEDICATED, false clears it */
  HR__INTERRUPTIBLE,                /* uint8_t: false sets the bit HR_JOB_NOT_INTERRUPTIBLE, true clears it */
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

/* State of parsing the values of a file. `clock` is HR__CLOCK_UNKNOWN until the first time of the file is parsed. */
struct hr__value_reader {
  enum hr__clock clock;
  struct hr__text_store texts;
};

/* Parses `text`, which must not be empty, into `member`. `kind` must not be HR__FLAGS. `unit_us` is the number of
   microseconds per unit of a plain number; only HR__INSTANT, HR__INSTANT_OR_NONE and HR__DURATION use it. Returns NULL
   if the text is valid. Otherwise returns the fault, a constant text that completes a sentence after "is". */
const char *hr__value_read(struct hr__value_reader *reader, enum hr__kind kind, uint64_t unit_us, struct hr_text text,
                           void *member);

/* ---- Columns of a trace ---------------------------------------------------------------------------- */

/* The columns and the sets of names of a trace, generated from the table in headroom/job_fields.h. Code that works
   on all columns is a loop over hr__columns. Code that runs for each job expands the table instead, so that types
   and offsets are constants. */

/* The identifier of a column equals its position in packed files. HR__COLUMN_ID, the ids of jobs, is not in the
   table. */
enum hr__column_id {
#define HR__VALUE_NUMBER(id, member, type, record_type, kind, key, column, required, unknown, min, max, section, ...)  \
  HR__COLUMN_##id = section,
#define HR__NAME_NUMBER(id, member, kind, key, column, section, ...) HR__COLUMN_##id = section,
#define HR__COUNT(...) +1
  HR_JOB_COLUMN_TABLE(HR__VALUE_NUMBER, HR__NAME_NUMBER) HR__COLUMN_ID = HR_JOB_COLUMN_TABLE(HR__COUNT, HR__COUNT),
  HR__N_COLUMNS
#undef HR__VALUE_NUMBER
#undef HR__NAME_NUMBER
};

/* The sets of names. A set numbers its distinct texts from 0. The number of a text is called its name number. The
   identifier of a set equals its position in packed files. */
enum hr__names_id {
#define HR__SET_NUMBER(id, member, kind, key, column, section, set_id, set, set_section, ...)                          \
  HR__##set_id = set_section,
  HR_JOB_COLUMN_TABLE(HR_NO_FIELD, HR__SET_NUMBER) HR__N_NAMES = HR_JOB_COLUMN_TABLE(HR_NO_FIELD, HR__COUNT)
#undef HR__SET_NUMBER
#undef HR__COUNT
};

/* A column. `required`: every trace has the column. `has_names`: its entries are name numbers. `at` and `names`:
   offsets in struct hr_trace of the column, and of its set of names if `has_names` is set. */
struct hr__column_type {
  const char *name; /* of the member of struct hr_trace */
  enum hr__kind kind;
  uint8_t width; /* bytes per entry */
  bool required, has_names;
  size_t at, names;
  uint64_t unknown, min, max; /* values in a record; `min` and `max` are 0 for columns of names */
};
extern const struct hr__column_type hr__columns[HR__N_COLUMNS];

/* A set of names, and its offset in struct hr_trace. */
struct hr__names_type {
  const char *name;
  size_t at;
};
extern const struct hr__names_type hr__name_sets[HR__N_NAMES];

/* Returns a column of a trace; NULL if the trace has no such column. */
static inline const void *hr__trace_column(const struct hr_trace *trace, enum hr__column_id id) {
  const void *column;
  memcpy(&column, (const char *)trace + hr__columns[id].at, sizeof column);
  return column;
}
static inline void hr__trace_set_column(struct hr_trace *trace, enum hr__column_id id, const void *column) {
  memcpy((char *)trace + hr__columns[id].at, &column, sizeof column);
}
static inline struct hr_names *hr__trace_names(const struct hr_trace *trace, enum hr__names_id id) {
  return (struct hr_names *)((uintptr_t)trace + hr__name_sets[id].at);
}

/* The valid values of a column: first .. first + span, in arithmetic modulo 2^(8 * width). */
struct hr__value_range {
  uint64_t first, span;
};
/* Returns the valid values of a column of a trace. The sets of names of the trace must be complete. */
struct hr__value_range hr__column_range(const struct hr_trace *trace, enum hr__column_id id);

#endif
