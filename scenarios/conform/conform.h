/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_CONFORM_CONFORM_H
#define HR_SCENARIOS_CONFORM_CONFORM_H

/*
 * What the adapters of the systems share. An adapter (one per system, SYSTEM.c and SYSTEM_*.c) reads the input of a
 * case from JSON, calls the core in policies/SYSTEM/, writes the result as JSON in the form of the expected values, and
 * compares both. An adapter must not depend on the id of a case.
 */

#include "base/array.h"
#include "headroom/unstable/conform.h"

#include <cjson/cJSON.h>

/* The systems. The columns: name, function that runs a case. */
#define HR__CONFORM_SYSTEMS(X)                                                                                         \
  X("kueue", hr__conform_kueue)                                                                                        \
  X("kai", hr__conform_kai)                                                                                            \
  X("volcano", hr__conform_volcano)                                                                                    \
  X("kubernetes", hr__conform_kubernetes)                                                                              \
  X("slurm", hr__conform_slurm)

/* The verdict on one case. Without a difference and an unsupported feature the case has passed. */
struct hr__verdict {
  struct hr_arena *arena;      /* memory that lasts until the end of the case */
  struct hr_conform_case *row; /* collects the differences */
  bool no_memory;              /* memory was exhausted; the run ends with HR_NO_MEMORY */
  const char *malformed;       /* what is missing or wrong in the case, as text with static lifetime; NULL: nothing.
                                  The run ends with HR_BAD_INPUT */
  void (*release)(
      void *data); /* called with `released` at the end of the case, before the arena is freed; NULL: none */
  void *released;
};

/* A function that runs one case. `whole` is the object of the case, `kind` its member "kind". */
typedef void hr__conform_run_case(const cJSON *whole, const char *kind, struct hr__verdict *verdict);
#define HR__CONFORM_DECLARE(name, run) hr__conform_run_case run;
HR__CONFORM_SYSTEMS(HR__CONFORM_DECLARE)
#undef HR__CONFORM_DECLARE

/* Marks the case as not supported. `what` names the feature that the model does not cover. */
void hr__verdict_unsupported(struct hr__verdict *verdict, const char *what);

/* ---- Comparing ---- */

enum hr__compare_flags {
  HR__COMPARE_EXACTLY = 0,
  HR__COMPARE_SETS = 1,    /* the order of list items does not matter, at any depth */
  HR__COMPARE_EXPECTED = 2 /* members of objects that only the actual value has are ignored, at any depth */
};

/* Returns whether two values are equal at any depth. Numbers may differ by `tolerance`. A missing member equals null.
   NULL stands for a missing value. */
bool hr__json_is_equal(const cJSON *expected, const cJSON *actual, unsigned flags, double tolerance);
/* Compares two values in the same way, and adds a difference for each member or item that differs (at most 20 per
 * case). */
void hr__verdict_compare(struct hr__verdict *verdict, const char *place, const cJSON *expected, const cJSON *actual,
                         unsigned flags, double tolerance);
/* Like hr__verdict_compare, exactly, for single values. */
void hr__verdict_compare_number(struct hr__verdict *verdict, const char *place, const cJSON *expected, double actual);
void hr__verdict_compare_bool(struct hr__verdict *verdict, const char *place, const cJSON *expected, bool actual);
void hr__verdict_compare_text(struct hr__verdict *verdict, const char *place, const cJSON *expected,
                              const char *actual);

/* ---- Reading ---- */

/* Returns the member `name` of an object, NULL if it is missing or null. `object` may be NULL. Case matters. */
const cJSON *hr__case_get(const cJSON *object, const char *name);
/* The member as a whole number, number, text or truth value; `fallback` if it is missing or of another type. Whole
   numbers beyond the range of int64_t become INT64_MAX or INT64_MIN. */
int64_t hr__case_whole(const cJSON *object, const char *name, int64_t fallback);
double hr__case_real(const cJSON *object, const char *name, double fallback);
const char *hr__case_text(const cJSON *object, const char *name, const char *fallback);
bool hr__case_bool(const cJSON *object, const char *name, bool fallback);
/* The value itself as a whole number, as above. */
int64_t hr__case_value_whole(const cJSON *value, int64_t fallback);
/* The number of items of the list or object that is the member `name`; 0 if it is missing. */
uint32_t hr__case_count(const cJSON *object, const char *name);

/* Allocates zeroed memory that lasts until the end of the case. If memory is exhausted, sets `no_memory` and returns
   NULL. */
void *hr__verdict_alloc(struct hr__verdict *verdict, size_t count, size_t bytes);

#endif
