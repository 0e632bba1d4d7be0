/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_BUILD_POOL_NOTES_H
#define HR_SCENARIOS_BUILD_POOL_NOTES_H

/* What is said of pools while they are built: "pool 'a': ...", "pools 'a', 'b': ..." where it is the same of both. */

#include "headroom/base.h"

enum { HR__POOLS_NAMED = 3 };

struct hr__pool_note {
  char *text;
  char *pools[HR__POOLS_NAMED]; /* the first of them */
  uint32_t count;               /* of all */
};

struct hr__pool_notes {
  struct hr__pool_note *at;
  size_t count;
};

/* In order of first appearance. */
enum hr_status hr__pool_notes_put(const struct hr__pool_notes *notes, struct hr_notes *to);
void hr__pool_notes_finish(struct hr__pool_notes *notes);

#endif
