/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_SCENARIO_KEYS_H
#define HEADROOM_UNSTABLE_SCENARIO_KEYS_H

/* The keys of scenario files, as a list, as a JSON Schema and as a template. */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A key of a scenario. */
struct hr_scenario_key {
  char *path;        /* such as "cluster.pools.*.nodes"; "*" is any name, or any index of a list */
  char *type;        /* with bounds or choices: "whole number from 0 to 16000000" */
  char *only_with;   /* the choice with which the key may be used: "market reserved or spot"; NULL: it always may */
  char *fallback;    /* the default, or what happens without the key; NULL: nothing */
  const char *unit;  /* NULL: none */
  const char *help;  /* sentences; the first one also stands alone */
  bool required;     /* in its object */
  bool is_constant;  /* `fallback` is a value, not words */
  const char *newer; /* the key is an old name of this one; NULL: it is not */
};

/* Lists the key at `path` ("" for all keys) and the keys below it, including the parameters of the built-in policies.
   An index of a list may be "*" or a number. The caller frees the list with hr_scenario_keys_free. HR_BAD_INPUT: there
   is no such key. */
HR_API enum hr_status hr_scenario_keys(const char *path, struct hr_scenario_key **keys, size_t *count,
                                       struct hr_error *error);
HR_API void hr_scenario_keys_free(struct hr_scenario_key *keys, size_t count);

/* Sets `*json` to the JSON Schema of scenarios. The caller frees it with free(). */
HR_API enum hr_status hr_scenario_schema(char **json, struct hr_error *error);

/* Sets `*json` to a small scenario that can be run. With `all`, it also has a comment on every key: a member whose name
   begins with "//". `trace` is the path of the trace; NULL: a shipped trace, or none if there is none. The caller frees
   `*json` with free(). */
HR_API enum hr_status hr_scenario_template(const char *trace, bool all, char **json, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
