/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_CONFORM_CONFORM_H
#define HR_SCENARIOS_CONFORM_CONFORM_H

/*
 * Functions and types that the adapters of the systems share. An adapter (one per system, SYSTEM.c and SYSTEM_*.c)
 * reads the input of a case from JSON, calls the core in policies/SYSTEM/, writes the result as JSON in the form of the
 * expected values, and compares both. An adapter must not depend on the id of a case.
 */

#include "base/containers.h"
#include "headroom/unstable/conform.h"

#include <cjson/cJSON.h>
#include <string.h>

/* The systems. The columns: name, function that runs a case, whether files have groups of cases instead of one list. */
#define HR__CONFORM_SYSTEMS(X)                                                                                         \
  X("kueue", hr__conform_kueue, false)                                                                                 \
  X("kai", hr__conform_kai, false)                                                                                     \
  X("volcano", hr__conform_volcano, false)                                                                             \
  X("kubernetes", hr__conform_kubernetes, false)                                                                       \
  X("slurm", hr__conform_slurm, false)                                                                                 \
  X("autoscalers", hr__conform_autoscalers, true)                                                                      \
  X("clusters", hr__conform_clusters, false)

/* The verdict on one case. Without a difference and an unsupported feature the case has passed. */
struct hr__verdict {
  struct hr_arena *arena;      /* memory that lasts until the end of the case */
  struct hr_conform_case *row; /* collects the differences */
  bool no_memory;              /* memory was exhausted; the run ends with HR_NO_MEMORY */
  const char *malformed;       /* what is missing or wrong in the case, as text with static lifetime; NULL: nothing.
                                  The case fails */
  void (*release)(
      void *data); /* called with `released` at the end of the case, before the arena is freed; NULL: none */
  void *released;
};

/* A function that runs one case. `whole` is the object of the case, `kind` its member "kind", or its group. */
typedef void hr__conform_run_case(const cJSON *whole, const char *kind, struct hr__verdict *verdict);
#define HR__CONFORM_DECLARE(name, run, grouped) hr__conform_run_case run;
HR__CONFORM_SYSTEMS(HR__CONFORM_DECLARE)
#undef HR__CONFORM_DECLARE

/* Runs a case of advance reservations of Slurm. */
void hr__conform_slurm_reservations(const cJSON *input, const cJSON *expect, struct hr__verdict *verdict);

/* Marks the case as not supported. `what` names the feature that the model does not cover. */
static inline void hr__verdict_unsupported(struct hr__verdict *verdict, const char *what) {
  if (verdict->row->unsupported) return;
  verdict->row->unsupported = strdup(what);
  if (!verdict->row->unsupported) verdict->no_memory = true;
}

/* ---- Comparing ---- */

enum hr__compare_flags {
  HR__COMPARE_EXACTLY = 0,
  HR__COMPARE_SETS = 1,    /* the order of list items does not matter, at any depth */
  HR__COMPARE_EXPECTED = 2 /* members of objects that only the actual value has are ignored, at any depth */
};

/* Returns whether two values are equal at any depth. Numbers may differ by `tolerance`. A missing member equals null.
   NULL means a missing value. */
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

/* Marks the case as malformed if it has a number, or a text that is a quantity, beyond `limit` on either side of 0.
   Members with a name that begins with "mem_bytes" may be 4096 times larger. */
void hr__verdict_limit_numbers(struct hr__verdict *verdict, const cJSON *whole, double limit);

/* Makes a case fail because the model does not know its kind. */
static inline void hr__verdict_unknown_kind(struct hr__verdict *verdict, const char *kind) {
  cJSON *expected = cJSON_CreateString(kind);
  hr__verdict_compare_text(verdict, "kind", expected, NULL);
  if (!expected) verdict->no_memory = true;
  cJSON_Delete(expected);
}

/* ---- Reading ---- */

/* Returns the member `name` of an object, NULL if it is missing or null. `object` may be NULL. Case matters. */
static inline const cJSON *hr__case_get(const cJSON *object, const char *name) {
  const cJSON *value = cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, name) : NULL;
  return cJSON_IsNull(value) ? NULL : value;
}

/* Reads a quantity of Kubernetes, such as "2", "500m" or "100Mi", in thousandths, rounded up. Returns false for other
   texts, and if `value` is not a text. */
bool hr__case_value_milli(const cJSON *value, int64_t *milli);

/* A value as a whole number; `fallback` if it is NULL or of another type. Whole numbers beyond the range of int64_t
   become INT64_MAX or INT64_MIN. A text that is a quantity is rounded up. */
static inline int64_t hr__case_value_whole(const cJSON *value, int64_t fallback) {
  int64_t milli;
  if (hr__case_value_milli(value, &milli)) return milli / 1000 + (milli % 1000 > 0);
  if (!cJSON_IsNumber(value)) return fallback;
  if (value->valuedouble >= 0x1p63) return INT64_MAX;
  if (value->valuedouble <= -0x1p63) return INT64_MIN;
  return (int64_t)value->valuedouble;
}

/* The member as a whole number, as above, and as a number, text or truth value; `fallback` if it is missing or of
   another type. */
static inline int64_t hr__case_whole(const cJSON *object, const char *name, int64_t fallback) {
  return hr__case_value_whole(hr__case_get(object, name), fallback);
}

/* The same in thousandths: numbers are thousandths already, texts are quantities. */
static inline int64_t hr__case_milli(const cJSON *object, const char *name, int64_t fallback) {
  int64_t milli;
  const cJSON *value = hr__case_get(object, name);
  return hr__case_value_milli(value, &milli) ? milli : hr__case_value_whole(value, fallback);
}

static inline double hr__case_real(const cJSON *object, const char *name, double fallback) {
  int64_t milli;
  const cJSON *value = hr__case_get(object, name);
  if (hr__case_value_milli(value, &milli)) return (double)milli / 1000;
  return cJSON_IsNumber(value) ? value->valuedouble : fallback;
}

static inline const char *hr__case_text(const cJSON *object, const char *name, const char *fallback) {
  const cJSON *value = hr__case_get(object, name);
  return cJSON_IsString(value) && value->valuestring ? value->valuestring : fallback;
}

/* Whether the member is this text. */
static inline bool hr__case_text_is(const cJSON *object, const char *name, const char *text) {
  return strcmp(hr__case_text(object, name, ""), text) == 0;
}

/* Whether a list has this text. */
static inline bool hr__case_list_has(const cJSON *list, const char *text) {
  const cJSON *item;
  cJSON_ArrayForEach(item, list) if (cJSON_IsString(item) && strcmp(item->valuestring, text) == 0) return true;
  return false;
}

static inline bool hr__case_bool(const cJSON *object, const char *name, bool fallback) {
  const cJSON *value = hr__case_get(object, name);
  return cJSON_IsBool(value) ? cJSON_IsTrue(value) : fallback;
}

/* The number of items of the list or object that is the member `name`; 0 if it is missing. */
static inline uint32_t hr__case_count(const cJSON *object, const char *name) {
  const cJSON *value = hr__case_get(object, name);
  return value ? (uint32_t)cJSON_GetArraySize(value) : 0;
}

/* Allocates zeroed memory that lasts until the end of the case. If memory is exhausted, sets `no_memory` and returns
   NULL. */
static inline void *hr__verdict_alloc(struct hr__verdict *verdict, size_t count, size_t bytes) {
  void *memory = hr_arena_alloc(verdict->arena, (count ? count : 1) * bytes);
  if (!memory) verdict->no_memory = true;
  return memory;
}

#endif
