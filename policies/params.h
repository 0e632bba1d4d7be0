/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_PARAMS_H
#define HR_POLICIES_PARAMS_H

/* Tables of parameters (struct hr_param) of policies and routers, and the conversion of text to values. Functions that
   return enum hr_status write `error` on failure: HR_BAD_INPUT or HR_NO_MEMORY. */

#include "headroom/policy.h"

#include <stddef.h>

/* A table of parameters, and its owner: "policy", "queue". */
struct hr__params_of {
  const char *kind, *name;
  const struct hr_param *params; /* terminated by a NULL key; may be NULL */
};

/* Sets `*values`, from malloc, to the defaults of all `*count` parameters. The caller frees it, also on failure. */
enum hr_status hr__params_create(const struct hr_param *params, struct hr_param_value **values, size_t *count,
                                 struct hr_error *error);
/* Returns the parameter with the key; NULL: none has it. */
const struct hr_param *hr__param_find(const struct hr_param *params, const char *key);
/* Sets one of the values from text. `error` lists the valid keys or values. */
enum hr_status hr__params_set(const struct hr__params_of *of, struct hr_param_value *values, const char *key,
                              const char *text, struct hr_error *error);
/* Converts text to a value within the bounds of the parameter. */
enum hr_status hr__param_parse(const struct hr_param *param, const char *text, struct hr_param_value *value,
                               struct hr_error *error);
/* Returns a value as text. A number is written to `buffer`, of at least 32 bytes; other texts are constants. */
const char *hr__param_text(const struct hr_param *param, const struct hr_param_value *value, char *buffer);

/* Writes a suggestion for a mistyped word: "did you mean 'x'? (known: a, b)". */
void hr__suggest_word(const char *word, const char *const *words, char *text, size_t size);

#endif
