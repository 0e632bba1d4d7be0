/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_SCHEMA_KEYS_H
#define HR_SCENARIOS_SCHEMA_KEYS_H

/*
 * Key tables: the keys that a JSON document of Headroom may have, with types and bounds. Files and overrides are
 * checked against them, and error messages list the known keys and words from them. Each row is one key. The children
 * of a key follow it.
 */

#include "headroom/base.h"

#include <cjson/cJSON.h>
#include <string.h>

#define MAX_EXACT 0x1p53 /* maximum whole number that all JSON readers read exactly */
#define MAX_TEXT 10000.0
#define MAX_NAME 200.0
#define MAX_MEMBERS 1000.0
#define MAX_NUMBER 1e15
#define MIN_STEP 1e-12

#define OBJECT(path)                                                                                                   \
  { path, HR__KEY_OBJECT, false, 0, MAX_MEMBERS, NULL }
#define LIST(path, low, high)                                                                                          \
  { path, HR__KEY_LIST, false, low, high, NULL }
#define TEXT(path, low, high)                                                                                          \
  { path, HR__KEY_TEXT, false, low, high, NULL }
#define WHOLE(path, low, high)                                                                                         \
  { path, HR__KEY_WHOLE, false, low, high, NULL }
#define REAL(path, low, high)                                                                                          \
  { path, HR__KEY_REAL, false, low, high, NULL }
#define BOOLEAN(path)                                                                                                  \
  { path, HR__KEY_BOOLEAN, false, 0, 0, NULL }
#define CHOICE(path, words)                                                                                            \
  { path, HR__KEY_CHOICE, false, 0, 0, words }
#define SCALAR(path)                                                                                                   \
  { path, HR__KEY_SCALAR, false, 0, 0, NULL }
#define REQUIRED_OBJECT(path)                                                                                          \
  { path, HR__KEY_OBJECT, true, 0, MAX_MEMBERS, NULL }
#define REQUIRED_TEXT(path, high)                                                                                      \
  { path, HR__KEY_TEXT, true, 1, high, NULL }
#define REQUIRED_WHOLE(path, low, high)                                                                                \
  { path, HR__KEY_WHOLE, true, low, high, NULL }
#define REQUIRED_REAL(path, low, high)                                                                                 \
  { path, HR__KEY_REAL, true, low, high, NULL }

/* The keys of an axis of a grid or a plan. */
static const char *const hr__scales[] = {"linear", "log", NULL};

#define AXIS(axis)                                                                                                     \
  TEXT(axis ".path", 1, MAX_NAME), LIST(axis ".values", 1, HR__MAX_LEVELS), SCALAR(axis ".values.*"),                  \
      REAL(axis ".from", -MAX_NUMBER, MAX_NUMBER), REAL(axis ".to", -MAX_NUMBER, MAX_NUMBER),                          \
      REAL(axis ".step", MIN_STEP, MAX_NUMBER), WHOLE(axis ".points", 2, HR__MAX_LEVELS),                              \
      CHOICE(axis ".scale", hr__scales), LIST(axis ".settings", 1, HR__MAX_LEVELS), OBJECT(axis ".settings.*"),        \
      REQUIRED_TEXT(axis ".settings.*.label", MAX_NAME),                                                               \
      {axis ".settings.*.set", HR__KEY_LIST, true, 0, MAX_MEMBERS, NULL}, TEXT(axis ".settings.*.set.*", 1, MAX_TEXT)

/* Types of values. */
enum hr__key_type {
  HR__KEY_OBJECT,
  HR__KEY_LIST,
  HR__KEY_TEXT,
  HR__KEY_WHOLE,
  HR__KEY_REAL,
  HR__KEY_BOOLEAN,
  HR__KEY_CHOICE, /* one of `choices` */
  HR__KEY_SEED,   /* a whole number; above 2^53, a text with its digits */
  HR__KEY_SCALAR  /* text, number, true or false */
};

/* A key that a document may have. */
struct hr__key {
  const char *path; /* path from the outermost object, with dots; "*" matches any name or any index of a list */
  enum hr__key_type type;
  bool required;
  /* bounds of a number, of the length of a text in bytes, or of the number of entries of a list */
  double min, max;
  const char *const *choices; /* NULL-terminated */
};

/* The first row of a table is the outermost object. The children of a key follow it. A row with a NULL path ends the
   table. */
extern const struct hr__key hr__scenario_keys[], hr__grid_keys[], hr__suite_keys[], hr__baseline_keys[],
    hr__workload_model_keys[];

/* Returns the last component of the path of a key. */
static inline const char *hr__key_name(const struct hr__key *key) {
  const char *dot = strrchr(key->path, '.');
  return dot ? dot + 1 : key->path;
}

/* Returns true if `key` is a member of `parent`. */
static inline bool hr__key_is_child(const struct hr__key *key, const struct hr__key *parent) {
  size_t length = strlen(parent->path);
  if (key == parent || strncmp(key->path, parent->path, length) != 0) return false;
  if (length && key->path[length] != '.') return false;
  return !strchr(key->path + length + (length > 0), '.');
}

/* Writes the error for an unknown key: "unknown key 'policy.ordr'; did you mean 'policy.order'? (known keys: ...)".
   `path` is the path of the parent, "" for the outermost object. `known` is NULL-terminated. */
void hr__key_unknown(const char *path, const char *name, const char *const *known, char *text, size_t size);
/* Limits of grids: the number of axes (the dimensions of GSL's Sobol sequence), and the number of levels of an axis. */
enum { HR__MAX_AXES = 40, HR__MAX_LEVELS = 10000 };

#endif
