/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_TOPOLOGY_H
#define HEADROOM_TOPOLOGY_H

/*
 * How the GPUs of a pool hang together: tiers, each made of groups of the one before, and the network that joins the
 * parts of a group; how fast jobs are whose GPUs are joined by it; and how near together a job wants to be.
 */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* From narrow to wide. Groups of the first two are GPUs of one node, in the order of their numbers; of those that
   follow, nodes of one pool. */
#define HR_TIER_TABLE(X)                                                                                               \
  X(HR_TIER_ANY, "")          /* nothing is said */                                                                    \
  X(HR_TIER_ISLAND, "island") /* GPUs with links of their own, as NVLink */                                            \
  X(HR_TIER_NUMA, "numa")     /* GPUs of one NUMA domain */                                                            \
  X(HR_TIER_NODE, "node")                                                                                              \
  X(HR_TIER_RACK, "rack") /* nodes of one switch */                                                                    \
  X(HR_TIER_ZONE, "zone") /* racks */                                                                                  \
  X(HR_TIER_POOL, "pool")

enum hr_tier {
#define HR_TIER_NAME(name, text) name,
  HR_TIER_TABLE(HR_TIER_NAME)
#undef HR_TIER_NAME
      HR_N_TIERS
};

/* Classes of links. */
#define HR_NETWORK_TABLE(X)                                                                                            \
  X(HR_NETWORK_NONE, "") /* nothing is said */                                                                         \
  X(HR_NETWORK_NVLINK, "nvlink")                                                                                       \
  X(HR_NETWORK_PCIE, "pcie")                                                                                           \
  X(HR_NETWORK_INFINIBAND, "infiniband")                                                                               \
  X(HR_NETWORK_25GBE, "25gbe")                                                                                         \
  X(HR_NETWORK_50GBE, "50gbe")                                                                                         \
  X(HR_NETWORK_100GBE, "100gbe")                                                                                       \
  X(HR_NETWORK_200GBE, "200gbe")                                                                                       \
  X(HR_NETWORK_400GBE, "400gbe")

enum hr_network {
#define HR_NETWORK_NAME(name, text) name,
  HR_NETWORK_TABLE(HR_NETWORK_NAME)
#undef HR_NETWORK_NAME
      HR_N_NETWORKS
};

/* "island", "25gbe", ...; "" where nothing is said. */
HR_API const char *hr_tier_name(enum hr_tier tier);
HR_API const char *hr_network_name(enum hr_network network);

/* Of a pool. A size of 0: the tier is the next wider one. Each size divides that of the next wider tier within a node;
   the last rack and the last zone may have fewer nodes. */
struct hr_topology {
  uint32_t island_gpus, numa_gpus, nodes_per_rack, racks_per_zone;
  uint8_t network[HR_N_TIERS]; /* enum hr_network, by tier: between the parts of a group */
};

/* GPUs of a node in a group of a tier up to the node; all of them for wider tiers. */
static inline uint32_t hr_topology_gpus(const struct hr_topology *topology, enum hr_tier tier, uint32_t gpus_per_node) {
  uint32_t numa_gpus = topology->numa_gpus ? topology->numa_gpus : gpus_per_node;
  if (tier == HR_TIER_ISLAND) return topology->island_gpus ? topology->island_gpus : numa_gpus;
  return tier == HR_TIER_NUMA ? numa_gpus : gpus_per_node;
}

/* Nodes in a group of a tier; 1 for narrower ones than racks. At least 1. */
static inline uint32_t hr_topology_nodes(const struct hr_topology *topology, enum hr_tier tier, uint32_t pool_nodes) {
  uint64_t all = pool_nodes ? pool_nodes : 1, racks = topology->racks_per_zone, nodes = topology->nodes_per_rack;
  uint64_t zone = nodes && racks ? nodes * racks : all;
  if (tier != HR_TIER_ANY && tier <= HR_TIER_NODE) return 1;
  if (tier == HR_TIER_RACK) zone = nodes ? nodes : zone;
  return (uint32_t)(zone > all || tier == HR_TIER_POOL || tier == HR_TIER_ANY ? all : zone);
}

/* The group of a tier that a node of the pool is in; both numbered within the pool from 0. */
static inline uint32_t hr_topology_group(const struct hr_topology *topology, enum hr_tier tier, uint32_t pool_nodes,
                                         uint32_t number) {
  return number / hr_topology_nodes(topology, tier, pool_nodes);
}

/* Whether the tier is there: it is not the next wider one. */
static inline bool hr_topology_has(const struct hr_topology *topology, enum hr_tier tier) {
  if (tier == HR_TIER_ISLAND) return topology->island_gpus > 0;
  if (tier == HR_TIER_NUMA) return topology->numa_gpus > 0;
  if (tier == HR_TIER_RACK) return topology->nodes_per_rack > 0;
  if (tier == HR_TIER_ZONE) return topology->racks_per_zone > 0;
  return tier == HR_TIER_NODE || tier == HR_TIER_POOL;
}

/* Whether it parts the GPUs of a node. */
static inline bool hr_topology_parts_nodes(const struct hr_topology *topology, uint32_t gpus_per_node) {
  return hr_topology_gpus(topology, HR_TIER_ISLAND, gpus_per_node) < gpus_per_node;
}

/* ---- Speeds ----------------------------------------------------------------------------------------- */

/* How fast jobs of a family of models work on so many GPUs that are joined by such links, against their run time within
   one node. */
struct hr_network_speed {
  char *model; /* the beginning of their models' names, upper and lower case the same; "*": all others */
  enum hr_network network;
  uint32_t gpus;
  uint32_t speed_ppm; /* above 0 */
};

/* In order of network, family and GPUs, and distinct; from malloc, as are its texts. */
struct hr_network_speeds {
  struct hr_network_speed *rows;
  uint32_t n_rows;
};
HR_API void hr_network_speeds_destroy(struct hr_network_speeds *speeds);

/* The rows that a model goes by on such links: of the longest family that it belongs to, else of "*". `model` may be
   NULL: the job has none. */
struct hr_network_span {
  uint32_t first, count; /* 0: there are none */
};
HR_API struct hr_network_span hr_network_span_of(const struct hr_network_speeds *speeds, const char *model,
                                                 enum hr_network network);
/* Of a job on so many GPUs: by the row for the most GPUs that are not more, by the first where all are for more;
   1,000,000 without rows. */
HR_API uint32_t hr_network_span_ppm(const struct hr_network_speeds *speeds, struct hr_network_span span, uint32_t gpus);

#ifdef __cplusplus
}
#endif
#endif
