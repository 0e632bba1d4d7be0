/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_KEYS_H
#define HR_SCENARIOS_KEYS_H

/* The keys that a scenario may have: one table, from which files and overrides are checked and errors worded. The grid
   of a sweep has a table of its own, of the same form. */

#include "headroom/base.h"

#include <cjson/cJSON.h>

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

#endif
