/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_BUILD_POOLS_H
#define HR_SCENARIOS_BUILD_POOLS_H

/* The steps of building one pool, and its draft. The builder's place is the pool's entry before and after each step. */

#include "scenarios/build/builder.h"

struct hr__pool_draft {
  const cJSON *entry;
  struct hr_pool_spec pool;            /* its strings belong to the tree or the catalogue */
  struct hr_pool_source *source;       /* in the scenario, which frees the data stored here */
  uint32_t zone;                       /* for spot pools: the zone number of hr_spot_spec */
  const struct hr_spot_preset *preset; /* in the catalogue; NULL: none */
};

/* Fills in what the entry omits from the catalogue's row of its 'instance': GPU type, GPUs, CPUs and memory of a node.
 */
enum hr_status hr__build_shape(struct hr__builder *builder, struct hr__pool_draft *draft);

/* Market, time bounds, billing, boot time and price; for spot also the interruption model. */
enum hr_status hr__build_market(struct hr__builder *builder, struct hr__pool_draft *draft);
/* The price of a GPU-hour and the on-demand price that savings are counted against. */
enum hr_status hr__build_price(struct hr__builder *builder, struct hr__pool_draft *draft);
/* Checks that 'spot.price' has the parameters of its price model and no others. */
enum hr_status hr__check_spot_price(struct hr__builder *builder, const cJSON *spot);

/* How jobs share the GPUs; needs the number of GPUs of a node. */
enum hr_status hr__build_sharing(struct hr__builder *builder, struct hr__pool_draft *draft);
/* Islands, NUMA domains, racks and zones; needs the numbers of nodes and GPUs. */
enum hr_status hr__build_topology(struct hr__builder *builder, struct hr__pool_draft *draft);
/* Checks the sizes of nodes for per-GPU allocation, after all pools are built. */
enum hr_status hr__check_sharing(struct hr__builder *builder);

#endif
