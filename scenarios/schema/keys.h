/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_SCHEMA_KEYS_H
#define HR_SCENARIOS_SCHEMA_KEYS_H

/* Rows of tables of keys, a key each, for those files that hold such a table. */

#include "headroom/base.h"

#include <cjson/cJSON.h>

#define MAX_EXACT 0x1p53 /* the last whole number before which JSON readers agree */
#define MAX_TEXT 10000.0
#define MAX_NAME 200.0
#define MAX_MEMBERS 1000.0
#define MAX_NUMBER 1e15
#define LEAST_STEP 1e-12

#define OBJECT(path)                                                                                                   \
  { path, HR__KEY_OBJECT, false, 0, MAX_MEMBERS, NULL }
#define LIST(path, least, most)                                                                                        \
  { path, HR__KEY_LIST, false, least, most, NULL }
#define TEXT(path, least, most)                                                                                        \
  { path, HR__KEY_TEXT, false, least, most, NULL }
#define WHOLE(path, least, most)                                                                                       \
  { path, HR__KEY_WHOLE, false, least, most, NULL }
#define REAL(path, least, most)                                                                                        \
  { path, HR__KEY_REAL, false, least, most, NULL }
#define BOOLEAN(path)                                                                                                  \
  { path, HR__KEY_BOOLEAN, false, 0, 0, NULL }
#define CHOICE(path, words)                                                                                            \
  { path, HR__KEY_CHOICE, false, 0, 0, words }
#define SCALAR(path)                                                                                                   \
  { path, HR__KEY_SCALAR, false, 0, 0, NULL }
#define REQUIRED_OBJECT(path)                                                                                          \
  { path, HR__KEY_OBJECT, true, 0, MAX_MEMBERS, NULL }
#define REQUIRED_TEXT(path, most)                                                                                      \
  { path, HR__KEY_TEXT, true, 1, most, NULL }
#define REQUIRED_WHOLE(path, least, most)                                                                              \
  { path, HR__KEY_WHOLE, true, least, most, NULL }
#define REQUIRED_REAL(path, least, most)                                                                               \
  { path, HR__KEY_REAL, true, least, most, NULL }

/* The levels of an axis. */
static const char *const hr__scales[] = {"linear", "log", NULL};

#define AXIS(axis)                                                                                                     \
  TEXT(axis ".path", 1, MAX_NAME), LIST(axis ".values", 1, HR__MOST_LEVELS), SCALAR(axis ".values.*"),                 \
      REAL(axis ".from", -MAX_NUMBER, MAX_NUMBER), REAL(axis ".to", -MAX_NUMBER, MAX_NUMBER),                          \
      REAL(axis ".step", LEAST_STEP, MAX_NUMBER), WHOLE(axis ".points", 2, HR__MOST_LEVELS),                           \
      CHOICE(axis ".scale", hr__scales), LIST(axis ".settings", 1, HR__MOST_LEVELS), OBJECT(axis ".settings.*"),       \
      REQUIRED_TEXT(axis ".settings.*.label", MAX_NAME),                                                               \
      {axis ".settings.*.set", HR__KEY_LIST, true, 0, MAX_MEMBERS, NULL}, TEXT(axis ".settings.*.set.*", 1, MAX_TEXT)

/* The keys that a scenario may have: one table, from which files and overrides are checked and errors worded. The grid
   of a sweep has a table of its own, of the same form. */

enum hr__key_type {
  HR__KEY_OBJECT,
  HR__KEY_LIST,
  HR__KEY_TEXT,
  HR__KEY_WHOLE,
  HR__KEY_REAL,
  HR__KEY_BOOLEAN,
  HR__KEY_CHOICE, /* one of a few words */
  HR__KEY_SEED,   /* a whole number, or its digits as text beyond 2^53 */
  HR__KEY_SCALAR  /* text, number, true or false */
};

struct hr__key {
  const char *path; /* dotted, from the outermost object; "*" stands for any name, or any index of a list */
  enum hr__key_type type;
  bool required;
  double min, max;            /* of numbers; of a text's and a list's length */
  const char *const *choices; /* NULL-terminated */
};

/* The outermost object; the table goes on after it, what is inside a key always behind the key, and ends with a NULL
   path. */
const struct hr__key *hr__scenario_keys(void);
const struct hr__key *hr__grid_keys(void);
const struct hr__key *hr__workload_model_keys(void);

/* The last name of a key's path. */
const char *hr__key_name(const struct hr__key *key);
bool hr__key_is_child(const struct hr__key *key, const struct hr__key *parent);
/* What may stand under `name` in `parent`, NULL for nothing. */
const struct hr__key *hr__key_child(const struct hr__key *parent, const char *name);

/* Whether a value has the key's type and is within its bounds; if not, words for what it is and what is wanted. */
bool hr__key_fits(const struct hr__key *key, const cJSON *value);
void hr__key_found(const cJSON *value, char *text, size_t size);
void hr__key_wanted(const struct hr__key *key, char *text, size_t size);

/* "unknown key 'policy.ordr'; did you mean 'policy.order'? (known keys: ...)". `path` is the parent's. */
void hr__key_unknown(const char *path, const char *name, const char *const *known, char *text, size_t size);
/* The names of a key's children for hr__key_unknown, ended by NULL. */
enum { HR__MOST_CHILDREN = 60 };
void hr__key_children(const struct hr__key *parent, const char *names[HR__MOST_CHILDREN + 1]);

/* Limits of grids: the dimensions of GSL's Sobol sequence, and levels of an axis. */
enum { HR__MOST_AXES = 40, HR__MOST_LEVELS = 10000 };

#endif
