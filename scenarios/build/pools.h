/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_BUILD_POOLS_H
#define HR_SCENARIOS_BUILD_POOLS_H

/* The draft of a pool and the steps of building it. */

#include "scenarios/build/builder.h"

/* A pool while it is built. */
struct hr__pool_draft {
  const cJSON *entry;                  /* entry of the pool in the scenario */
  struct hr_pool_spec pool;            /* its strings belong to the tree or to the catalogue */
  struct hr_pool_source *source;       /* entry in the scenario; data that is stored here is freed with the scenario */
  uint32_t zone;                       /* zone number of a spot pool, see hr_spot_spec */
  const struct hr_spot_preset *preset; /* row of the catalogue; NULL: no preset */
};

/* Returns the value that defines the nodes: 'pools' or 'nodes_file'. Errors that concern all pools name it. */
static inline const cJSON *hr__nodes_place(const struct hr__builder *builder) {
  const cJSON *cluster = hr__get(builder->source.file.tree, "cluster"), *pools = hr__get(cluster, "pools");
  return pools ? pools : hr__get(cluster, "nodes_file");
}

/* Sets GPU type, GPUs, CPUs and memory of a node from the row of its 'instance' in the catalogue, if the entry does
   not set them. */
enum hr_status hr__build_shape(struct hr__builder *builder, struct hr__pool_draft *draft);

/* Builds the market, the time bounds, billing, boot time and price. For spot pools, also builds the interruption
   model. */
enum hr_status hr__build_market(struct hr__builder *builder, struct hr__pool_draft *draft);
/* Sets the price of a GPU-hour, and the on-demand price from which savings are computed. */
enum hr_status hr__build_price(struct hr__builder *builder, struct hr__pool_draft *draft);
/* Checks that 'spot.price' of the entry of a pool has all parameters of its price model and no others. */
enum hr_status hr__check_spot_price(struct hr__builder *builder, const cJSON *entry);

/* Builds the sharing of GPUs between jobs. The number of GPUs of a node must be known. */
enum hr_status hr__build_sharing(struct hr__builder *builder, struct hr__pool_draft *draft);
/* Builds islands, NUMA domains, racks and zones. The numbers of nodes and GPUs must be known. */
enum hr_status hr__build_topology(struct hr__builder *builder, struct hr__pool_draft *draft);
/* Checks that nodes are not too large for per-GPU allocation. Must be called after all pools are built. */
enum hr_status hr__check_sharing(struct hr__builder *builder);

#endif
