/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_JSON_REPEAT_H
#define HR_TRACES_JSON_REPEAT_H

/* Keys that stand twice in one object: cJSON keeps both and finds the first, so the second would be read past in
   silence. */

#include "traces/json_scan.h"

#include <cjson/cJSON.h>

struct hr__json_repeat {
  const char *key;                       /* of the tree; NULL: no key stands twice */
  uint32_t ordinals[HR__JSON_DEPTH + 1]; /* the way to its second place, as hr__json_find takes it */
  size_t depth;
};
/* False: out of memory. The tree is no deeper than HR__JSON_DEPTH. */
bool hr__json_repeat_find(const cJSON *tree, struct hr__json_repeat *repeat);

#endif
