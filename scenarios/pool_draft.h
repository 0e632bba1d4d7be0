/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_POOL_DRAFT_H
#define HR_SCENARIOS_POOL_DRAFT_H

/* A pool in the making. The builder's place is the pool's entry; each step leaves it there. */

#include "scenarios/builder.h"

struct hr__draft {
  const cJSON *entry;
  struct hr_pool_spec pool;            /* texts are the tree's or the catalogue's */
  struct hr_pool_source *source;       /* the scenario's: what is stored here is freed with it */
  uint32_t zone;                       /* of spot pools: hr_spot_spec's */
  const struct hr_spot_preset *preset; /* the catalogue's; NULL: none */
};

/* Loads the catalogue unless that has been done. */
enum hr_status hr__open_catalog(struct hr__builder *builder);

/* Remembers where a price comes from; no `as_of`: NULL. */
enum hr_status hr__price_source_set(const struct hr__builder *builder, struct hr_pool_source *source,
                                    const char *status, const char *as_of, const char *origin);
/* Adds a note on a pool; pools of which the same is said share one. */
enum hr_status hr__pool_note(const struct hr__builder *builder, const struct hr__draft *draft, const char *format, ...)
    HR_PRINTF(3, 4);

#endif
