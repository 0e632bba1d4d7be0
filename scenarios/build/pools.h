/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_BUILD_POOLS_H
#define HR_SCENARIOS_BUILD_POOLS_H

/* A pool in the making. The builder's place is the pool's entry; each step leaves it there. */

#include "scenarios/build/builder.h"

struct hr__pool_draft {
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
enum hr_status hr__pool_note(const struct hr__builder *builder, const struct hr__pool_draft *draft, const char *format,
                             ...) HR_PRINTF(3, 4);

/* The steps in the making of a pool: its shape, its market, its price, how spot is taken away. */

/* What the entry does not say of the shape of its 'instance'. */
enum hr_status hr__list_shape(struct hr__builder *builder, struct hr__pool_draft *draft);

/* Market, time bounds, billing, boot and price; for spot also how it is taken away. */
enum hr_status hr__build_market(struct hr__builder *builder, struct hr__pool_draft *draft);
/* The model by which spot nodes are reclaimed, and their notice. */
enum hr_status hr__build_price(struct hr__builder *builder, struct hr__pool_draft *draft);

/* How a spot price changes. */
enum hr__spot_price_model { HR__SPOT_PRICE_FIXED, HR__SPOT_PRICE_TRACE, HR__SPOT_PRICE_OU };
enum hr__spot_price_model hr__spot_price_model(const cJSON *entry);
/* Whether 'spot' has the keys that its price model wants, and no others. */
enum hr_status hr__check_spot_price(struct hr__builder *builder, const cJSON *spot);

/* How jobs share its GPUs, their number being known. */
enum hr_status hr__build_sharing(struct hr__builder *builder, struct hr__pool_draft *draft);
/* How it hangs together, likewise. */
enum hr_status hr__build_topology(struct hr__builder *builder, struct hr__pool_draft *draft);
/* Once all pools are there. */
enum hr_status hr__check_sharing(struct hr__builder *builder);

#endif
