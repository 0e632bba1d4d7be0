/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_CLUSTER_H
#define HEADROOM_CLUSTER_H

/* What a cluster is made of: pools of identical nodes; and how fast jobs work on them. */

#include "headroom/base.h"
#include "headroom/market.h"
#include "headroom/mig.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * How the GPUs of a pool hang together: tiers, each made of groups of the one before, and the network that joins the
 * parts of a group; how fast jobs are whose GPUs are joined by it; and how near together a job wants to be.
 */

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

/*
 * Who may use how many GPUs: tenants in a tree of cohorts.
 *
 * What a tenant or cohort is guaranteed and does not use, others of the same cohort may borrow; what a cohort does not
 * use as a whole, other cohorts. A cohort's own guarantee adds to those of its members. All that has no cohort stands
 * below one root, which also holds the GPUs that are guaranteed to nobody. GPUs are counted in thousandths, of all
 * types alike. The rules are Kueue's (pkg/cache/scheduler/resource_node.go), with hard caps added.
 */

/* No limit. Larger guarantees than HR_MAX_QUOTA_MILLI count as that, larger limits as none. */
#define HR_NO_LIMIT UINT64_MAX
#define HR_MAX_QUOTA_MILLI UINT64_C(4000000000)

struct hr_quota_node {
  char *name;      /* of the tenant or cohort; a tenant may be called as a cohort is */
  uint32_t parent; /* place of its cohort, which stands before it; HR_NONE: the root */
  bool is_tenant;
  uint64_t guaranteed_milli;
  uint64_t borrow_milli; /* how much it may use beyond the guarantees at and below it */
  uint64_t lend_milli;   /* how much of those guarantees others may use */
  uint64_t max_milli;    /* hard cap on all that is used at and below it, borrowed or not */
  double weight;         /* above 0: who borrows for twice the weight, borrows twice as much before it comes last */
};

struct hr_quota_spec {
  struct hr_quota_node *nodes;
  uint32_t n_nodes;
  struct hr_quota_node fallback; /* of each tenant that is not named, and of jobs without one; its name is NULL */
};

/* Frees a spec that came from malloc, its nodes and their names too; takes NULL. */
HR_API void hr_quota_spec_destroy(struct hr_quota_spec *spec);

/* How jobs share the GPUs of a pool. */
#define HR_SHARING_TABLE(X)                                                                                            \
  X(HR_SHARING_WHOLE, "whole")       /* not at all: each has GPUs of its own */                                        \
  X(HR_SHARING_FRACTION, "fraction") /* a job that asks for thousandths of a GPU gets these, and others the rest */    \
  X(HR_SHARING_MPS, "mps")           /* likewise, or one of `replicas` equal parts; at most `clients` on a GPU */      \
  X(HR_SHARING_TIME_SLICE, "time-slice") /* `replicas` jobs on a GPU take turns */                                     \
  X(HR_SHARING_MIG, "mig")               /* each has an instance of a GPU that is split, struct hr_mig_spec */

enum hr_sharing {
#define HR_SHARING_NAME(name, text) name,
  HR_SHARING_TABLE(HR_SHARING_NAME)
#undef HR_SHARING_NAME
      HR_N_SHARINGS
};

/* "whole", "fraction", ... */
HR_API const char *hr_sharing_name(enum hr_sharing sharing);

/* Whose the memory of shared GPUs is. */
#define HR_GPU_MEMORY_TABLE(X)                                                                                         \
  X(HR_GPU_MEMORY_RESERVED, "reserved")     /* the task's that asks for it: others go where there is enough left */    \
  X(HR_GPU_MEMORY_FIRST_COME, "first-come") /* his who takes it first, and who finds too little dies and tries again;  \
                                               scenarios have it with time-slice alone, where NVIDIA's device plugin   \
                                               neither reserves nor isolates memory (NVIDIA/k8s-device-plugin,         \
                                               README.md, "Shared Access to GPUs") */

enum hr_gpu_memory {
#define HR_GPU_MEMORY_NAME(name, text) name,
  HR_GPU_MEMORY_TABLE(HR_GPU_MEMORY_NAME)
#undef HR_GPU_MEMORY_NAME
      HR_N_GPU_MEMORIES
};

/* "reserved", "first-come". */
HR_API const char *hr_gpu_memory_name(enum hr_gpu_memory memory);

/* How fast jobs are that share a GPU. */
struct hr_interference_step {
  uint32_t up_to_milli; /* of the GPU, by all of them together */
  uint32_t speed_ppm;   /* of each, against being alone; above 0 */
};

/* How fast a job of one model is beside one of another, when these two alone are on a GPU. */
struct hr_pair_speed {
  char *model, *with;
  uint32_t speed_ppm; /* of `model`; above 0 */
};

/* When the instances of a pool's GPUs are made. */
#define HR_MIG_MODE_TABLE(X)                                                                                           \
  X(HR_MIG_STATIC, "static")       /* before the run: each GPU has its layout for good */                              \
  X(HR_MIG_DYNAMIC, "dynamic")     /* a GPU without jobs may be given another layout, which takes a time */            \
  X(HR_MIG_ON_DEMAND, "on-demand") /* each for one job, where there is room on a GPU, and gone with the job */

enum hr_mig_mode {
#define HR_MIG_MODE_NAME(name, text) name,
  HR_MIG_MODE_TABLE(HR_MIG_MODE_NAME)
#undef HR_MIG_MODE_NAME
      HR_N_MIG_MODES
};
HR_API const char *hr_mig_mode_name(enum hr_mig_mode mode);

struct hr_mig_layout {
  char *name;
  struct hr_mig_gpu gpu;
  uint8_t starts[HR_MIG_PROFILES]; /* of its instances of each profile: a set, bit s for memory slice s */
};

/* How a pool's GPUs are split. It all comes from malloc. */
struct hr_mig_spec {
  struct hr_mig_type type; /* with profiles and names of its own */
  enum hr_mig_mode mode;
  struct hr_mig_layout *layouts; /* under HR_MIG_DYNAMIC, a GPU may be given any of them */
  uint32_t n_layouts;
  uint8_t *layout_of_gpu; /* [gpus_per_node], at first; NULL under HR_MIG_ON_DEMAND */
  int64_t lead_us;        /* to give a GPU another layout; to make an instance on demand */
};
/* A copy of the type, no layout yet; NULL when out of memory. */
HR_API struct hr_mig_spec *hr_mig_spec_create(const struct hr_mig_type *type, enum hr_mig_mode mode);
/* Adds a layout, its name copied, or finds it; `number`: its place. */
HR_API enum hr_status hr_mig_spec_add(struct hr_mig_spec *spec, const char *name, const struct hr_mig_gpu *gpu,
                                      uint32_t *number);
HR_API void hr_mig_spec_destroy(struct hr_mig_spec *spec);

struct hr_pool_spec {
  char *name;
  char *gpu;      /* GPU type, e.g. "A100-80"; what a job's acceptable types are compared with */
  char *region;   /* likewise; NULL: in none */
  uint32_t nodes; /* 0: the pool is as good as not there */
  uint32_t gpus_per_node;
  uint32_t cpu_milli_per_node; /* 0: unknown */
  uint64_t mem_mib_per_node;   /* 0: unknown */
  uint64_t storage_mib_s;      /* bandwidth that the writers of checkpoints share; 0: unknown */
  struct hr_market_spec market;
  uint32_t classes;     /* only jobs of these may use it: bits 1 << enum hr_job_class; 0: any job */
  uint32_t gpu_mem_mib; /* memory of each GPU; 0: unknown */
  enum hr_sharing sharing;
  enum hr_gpu_memory memory;
  uint32_t replicas;                         /* equal parts of each GPU; 0: there are none */
  uint32_t clients;                          /* of a GPU under MPS, at most; 0: HR_MPS_CLIENTS */
  struct hr_interference_step *interference; /* rising; beyond the last one, the last one's. From malloc */
  uint32_t n_interference;                   /* 0: jobs do not slow each other down */
  struct hr_pair_speed *pairs; /* go before all else where they are known. From malloc, with their texts */
  uint32_t n_pairs;
  struct hr_mig_spec *mig; /* NULL unless its GPUs are split by MIG */
  struct hr_topology topology;
  uint32_t cpu_milli_per_gpu; /* that a task which tells no CPU takes with each GPU, where GPUs are told apart */
};

/* Whether tasks that find too little memory on their GPUs die there, as it is kept for nobody. */
static inline bool hr_pool_kills(const struct hr_pool_spec *spec) {
  return spec->memory == HR_GPU_MEMORY_FIRST_COME && spec->gpu_mem_mib > 0;
}

struct hr_cluster_spec {
  struct hr_pool_spec *pools;
  uint32_t n_pools;
  uint32_t *node_order; /* [nodes], by node: its place among all, where a rule takes the first of equal ones; from
                           malloc; NULL: the order of nodes */
  bool by_gpu;          /* GPUs are told apart, whatever the pools say */
};

/* Clients of a GPU under MPS, as NVIDIA's documentation has it for Volta and later. */
#define HR_MPS_CLIENTS 48u

/* Bounds on what a scenario may ask for. */
#define HR_MAX_NODES UINT32_C(16000000)
#define HR_MAX_GPUS UINT32_C(4000000)
#define HR_MAX_POOLS 1024u

/* Appends a pool; strings are copied; prices and levels of its market, its interference, its pairs and how it is split,
   from malloc, are taken over on success. */
HR_API enum hr_status hr_cluster_spec_add(struct hr_cluster_spec *spec, const struct hr_pool_spec *pool,
                                          struct hr_error *error);
/* Frees its interference, its pairs and how it is split. */
HR_API void hr_pool_sharing_finish(struct hr_pool_spec *pool);
HR_API void hr_cluster_spec_finish(struct hr_cluster_spec *spec);
HR_API uint64_t hr_cluster_spec_gpus(const struct hr_cluster_spec *spec);
/* Whether GPUs are told apart: a pool that has nodes shares its own, or parts those of its nodes, or `by_gpu` says so.
 */
HR_API bool hr_cluster_spec_by_gpu(const struct hr_cluster_spec *spec);

/* ---- Speeds ----------------------------------------------------------------------------------------- */

/* A model as it trains on so many GPUs. */
struct hr_speed_row {
  char *model;
  uint32_t gpus;
};

/*
 * How fast jobs work, by their model and the pool, in millionths of their speed on the reference type, on which they
 * take their recorded run time. 0: such jobs cannot run there. Rows are in order of (model, gpus) and distinct; a job
 * goes by the row of its model with the most GPUs that are not more than its own, by the model's first row where all
 * are for more, and by the row after the last where its model has none. It all comes from malloc.
 */
struct hr_speeds {
  char *reference; /* GPU type */
  struct hr_speed_row *rows;
  uint32_t n_rows, n_pools;
  uint32_t *ppm; /* [n_rows + 1][n_pools] */
};
HR_API void hr_speeds_destroy(struct hr_speeds *speeds);

#ifdef __cplusplus
}
#endif
#endif
