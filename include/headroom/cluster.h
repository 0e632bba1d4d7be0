/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_CLUSTER_H
#define HEADROOM_CLUSTER_H

/* Descriptions of clusters: pools of identical nodes, their topology, sharing and MIG settings, quotas, and speeds
   of jobs. All of it is input of a run and does not change during the run. */

#include "headroom/base.h"
#include "headroom/market.h"
#include "headroom/mig.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * ---- Topology ----
 *
 * The GPUs of a pool form tiers. Each tier is made of groups of the previous one, joined by a network. The speed of a
 * job can depend on the network that joins its GPUs, and a job can require that its GPUs are near to each other.
 */

/* From narrow to wide. Groups of the first two tiers are GPUs of one node, in the order of their numbers; groups of
   racks and zones are nodes of one pool. */
#define HR_TIER_TABLE(X)                                                                                               \
  X(HR_TIER_ANY, "")          /* unspecified */                                                                        \
  X(HR_TIER_ISLAND, "island") /* GPUs with links of their own, such as NVLink */                                       \
  X(HR_TIER_NUMA, "numa")     /* GPUs of one NUMA domain */                                                            \
  X(HR_TIER_NODE, "node")                                                                                              \
  X(HR_TIER_RACK, "rack") /* nodes at one switch */                                                                    \
  X(HR_TIER_ZONE, "zone") /* racks */                                                                                  \
  X(HR_TIER_POOL, "pool")

enum hr_tier {
#define HR_TIER_NAME(name, text) name,
  HR_TIER_TABLE(HR_TIER_NAME)
#undef HR_TIER_NAME
      HR_N_TIERS
};

/* Classes of network links. */
#define HR_NETWORK_TABLE(X)                                                                                            \
  X(HR_NETWORK_NONE, "") /* unspecified */                                                                             \
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

/* Names as users type them: "island", "25gbe", ...; "" if unspecified. */
HR_API const char *hr_tier_name(enum hr_tier tier);
HR_API const char *hr_network_name(enum hr_network network);

/* The topology of a pool. A size of 0 means that the tier equals the next wider one. Within a node, each size
   divides that of the next wider tier; the last rack and the last zone may be smaller. */
struct hr_topology {
  uint32_t island_gpus, numa_gpus, nodes_per_rack, racks_per_zone;
  uint8_t network[HR_N_TIERS]; /* by tier: enum hr_network between the parts of a group */
};

/* The number of GPUs of a node in a group of the tier; all GPUs of the node for wider tiers. */
static inline uint32_t hr_topology_gpus(const struct hr_topology *topology, enum hr_tier tier, uint32_t gpus_per_node) {
  uint32_t numa_gpus = topology->numa_gpus ? topology->numa_gpus : gpus_per_node;
  if (tier == HR_TIER_ISLAND) return topology->island_gpus ? topology->island_gpus : numa_gpus;
  return tier == HR_TIER_NUMA ? numa_gpus : gpus_per_node;
}

/* The number of nodes in a group of the tier, at least 1; 1 for tiers within a node. */
static inline uint32_t hr_topology_nodes(const struct hr_topology *topology, enum hr_tier tier, uint32_t pool_nodes) {
  uint64_t all = pool_nodes ? pool_nodes : 1, racks = topology->racks_per_zone, nodes = topology->nodes_per_rack;
  uint64_t zone = nodes && racks ? nodes * racks : all;
  if (tier != HR_TIER_ANY && tier <= HR_TIER_NODE) return 1;
  if (tier == HR_TIER_RACK) zone = nodes ? nodes : zone;
  return (uint32_t)(zone > all || tier == HR_TIER_POOL || tier == HR_TIER_ANY ? all : zone);
}

/* The group of a tier that a node belongs to; both are numbered within the pool from 0. */
static inline uint32_t hr_topology_group(const struct hr_topology *topology, enum hr_tier tier, uint32_t pool_nodes,
                                         uint32_t number) {
  return number / hr_topology_nodes(topology, tier, pool_nodes);
}

/* Whether the tier differs from the next wider one. */
static inline bool hr_topology_has(const struct hr_topology *topology, enum hr_tier tier) {
  if (tier == HR_TIER_ISLAND) return topology->island_gpus > 0;
  if (tier == HR_TIER_NUMA) return topology->numa_gpus > 0;
  if (tier == HR_TIER_RACK) return topology->nodes_per_rack > 0;
  if (tier == HR_TIER_ZONE) return topology->racks_per_zone > 0;
  return tier == HR_TIER_NODE || tier == HR_TIER_POOL;
}

/* Whether the topology divides the GPUs of a node. */
static inline bool hr_topology_parts_nodes(const struct hr_topology *topology, uint32_t gpus_per_node) {
  return hr_topology_gpus(topology, HR_TIER_ISLAND, gpus_per_node) < gpus_per_node;
}

/* ---- Speeds by network ---- */

/* The speed of jobs of a model family on `gpus` GPUs joined by such links, relative to their run time within one
   node. */
struct hr_network_speed {
  char *model; /* prefix of the names of their models, ignoring case; "*": all others */
  enum hr_network network;
  uint32_t gpus;
  uint32_t speed_ppm; /* above 0 */
};

/* Sorted by (network, family, GPUs), without duplicates. Allocated with malloc, like its strings. */
struct hr_network_speeds {
  struct hr_network_speed *rows;
  uint32_t n_rows;
};

/* Frees a table from malloc. NULL is accepted. */
HR_API void hr_network_speeds_destroy(struct hr_network_speeds *speeds);

/* The rows for a model on such links: those of the longest matching family, else of "*". `model` may be NULL: the
   job has none. */
struct hr_network_span {
  uint32_t first, count; /* 0: there are none */
};
HR_API struct hr_network_span hr_network_span_of(const struct hr_network_speeds *speeds, const char *model,
                                                 enum hr_network network);
/* The speed of a job on that many GPUs, in ppm: the row with the largest number of GPUs that is not larger; the
   first row if all are larger; 1,000,000 without rows. */
static inline uint32_t hr_network_span_ppm(const struct hr_network_speeds *speeds, struct hr_network_span span,
                                           uint32_t gpus) {
  if (span.count == 0) return 1000000;
  uint32_t row = span.first;
  while (row + 1 < span.first + span.count && speeds->rows[row + 1].gpus <= gpus) row++;
  return speeds->rows[row].speed_ppm;
}

/*
 * ---- Quotas: tenants in a tree of cohorts ----
 *
 * A guarantee that a tenant or cohort does not use can be borrowed by others of the same cohort; what a cohort does not
 * use as a whole, by other cohorts. The guarantee of a cohort itself adds to those of its members. Everything without a
 * cohort is below one root, which also has the GPUs that no guarantee covers. GPUs are counted in milli-GPUs, all
 * types alike. The rules are those of Kueue (pkg/cache/scheduler/resource_node.go), plus hard caps.
 */

/* No limit. Guarantees above HR_MAX_QUOTA_MILLI count as that, limits above it as no limit. */
#define HR_NO_LIMIT UINT64_MAX
#define HR_MAX_QUOTA_MILLI UINT64_C(4000000000)

struct hr_quota_node {
  char *name;      /* of the tenant or cohort; a tenant and a cohort may have the same name */
  uint32_t parent; /* index of its cohort, which precedes it; HR_NONE: the root */
  bool is_tenant;
  uint64_t guaranteed_milli;
  uint64_t borrow_milli; /* how much it may use beyond the guarantees at and below it */
  uint64_t lend_milli;   /* how much of those guarantees others may borrow */
  uint64_t max_milli;    /* hard cap on the use at and below it, borrowed or not */
  double weight;         /* above 0; weight in fair sharing of borrowed GPUs */
};

struct hr_quota_spec {
  struct hr_quota_node *nodes;
  uint32_t n_nodes;
  struct hr_quota_node fallback; /* of each tenant without a node, and of jobs without a tenant; its name is NULL */
};

/* Frees a specification from malloc with its nodes and names. NULL is accepted. */
HR_API void hr_quota_spec_destroy(struct hr_quota_spec *spec);

/* How jobs share the GPUs of a pool. */
#define HR_SHARING_TABLE(X)                                                                                            \
  X(HR_SHARING_WHOLE, "whole")           /* not at all: jobs have GPUs exclusively */                                  \
  X(HR_SHARING_FRACTION, "fraction")     /* a job has a fraction of a GPU; others have the rest */                     \
  X(HR_SHARING_MPS, "mps")               /* fractions, or `replicas` equal parts; at most `clients` tasks per GPU */   \
  X(HR_SHARING_TIME_SLICE, "time-slice") /* `replicas` jobs on a GPU take turns */                                     \
  X(HR_SHARING_MIG, "mig")               /* each job has a MIG instance, struct hr_mig_spec */

enum hr_sharing {
#define HR_SHARING_NAME(name, text) name,
  HR_SHARING_TABLE(HR_SHARING_NAME)
#undef HR_SHARING_NAME
      HR_N_SHARINGS
};

/* Names as users type them: "whole", "fraction", ... */
HR_API const char *hr_sharing_name(enum hr_sharing sharing);

/* How the memory of shared GPUs is given out. First come: it is taken when it is used, and a task that finds too little
   is killed and tries again. Scenarios have this with time-slice only, where NVIDIA's device plugin neither reserves
   nor isolates memory (NVIDIA/k8s-device-plugin, README.md, "Shared Access to GPUs"). */
#define HR_GPU_MEMORY_TABLE(X)                                                                                         \
  X(HR_GPU_MEMORY_RESERVED, "reserved") /* by each task; others go where enough is left */                             \
  X(HR_GPU_MEMORY_FIRST_COME, "first-come")

enum hr_gpu_memory {
#define HR_GPU_MEMORY_NAME(name, text) name,
  HR_GPU_MEMORY_TABLE(HR_GPU_MEMORY_NAME)
#undef HR_GPU_MEMORY_NAME
      HR_N_GPU_MEMORIES
};

/* Names as users type them: "reserved", "first-come". */
HR_API const char *hr_gpu_memory_name(enum hr_gpu_memory memory);

/* The speed of jobs that share a GPU, by its use. */
struct hr_interference_step {
  uint32_t up_to_milli; /* of the GPU, used by all of them together */
  uint32_t speed_ppm;   /* of each job, relative to running alone; above 0 */
};

/* The speed of a job of one model next to a job of another, if only these two are on a GPU. */
struct hr_pair_speed {
  char *model, *with;
  uint32_t speed_ppm; /* of `model`; above 0 */
};

/* When the MIG instances of a pool are created. */
#define HR_MIG_MODE_TABLE(X)                                                                                           \
  X(HR_MIG_STATIC, "static")       /* before the run: the layout of each GPU is fixed */                               \
  X(HR_MIG_DYNAMIC, "dynamic")     /* a GPU without jobs can get another layout, which takes time */                   \
  X(HR_MIG_ON_DEMAND, "on-demand") /* for each job, if a GPU has room; destroyed with the job */

enum hr_mig_mode {
#define HR_MIG_MODE_NAME(name, text) name,
  HR_MIG_MODE_TABLE(HR_MIG_MODE_NAME)
#undef HR_MIG_MODE_NAME
      HR_N_MIG_MODES
};

/* The name of a mode as users type it. */
HR_API const char *hr_mig_mode_name(enum hr_mig_mode mode);

struct hr_mig_layout {
  char *name;
  struct hr_mig_gpu gpu;
  uint8_t starts[HR_MIG_PROFILES]; /* of its instances of each profile, as a set: bit s is memory slice s */
};

/* The MIG settings of a pool. Allocated with malloc. */
struct hr_mig_spec {
  struct hr_mig_type type; /* with its own copies of profiles and names */
  enum hr_mig_mode mode;
  struct hr_mig_layout *layouts; /* HR_MIG_DYNAMIC: a GPU can get any of them */
  uint32_t n_layouts;
  uint8_t *layout_of_gpu; /* [gpus_per_node], initially; NULL with HR_MIG_ON_DEMAND */
  int64_t lead_us;        /* time to change the layout of a GPU, or to create an instance on demand */
};
/* Creates settings with a copy of the type and no layouts; hr_pool_sharing_finish frees them with their pool. NULL if
   memory is exhausted. */
HR_API struct hr_mig_spec *hr_mig_spec_create(const struct hr_mig_type *type, enum hr_mig_mode mode);
/* Adds a layout with a copy of the name, unless an equal layout exists; `*number` is its index. HR_NO_MEMORY. */
HR_API enum hr_status hr_mig_spec_add(struct hr_mig_spec *spec, const char *name, const struct hr_mig_gpu *gpu,
                                      uint32_t *number);

struct hr_pool_spec {
  char *name;
  char *gpu;      /* GPU type, e.g. "A100-80"; compared with the acceptable types of jobs */
  char *region;   /* compared with the acceptable regions of jobs; NULL: none */
  uint32_t nodes; /* 0: the pool is ignored */
  uint32_t gpus_per_node;
  uint32_t cpu_milli_per_node; /* 0: unknown */
  uint64_t mem_mib_per_node;   /* 0: unknown */
  uint64_t storage_mib_s;      /* bandwidth shared by jobs that write checkpoints, in MiB/s; 0: unknown */
  struct hr_market_spec market;
  uint32_t classes;     /* job classes that may use it: bits 1 << enum hr_job_class; 0: all */
  uint32_t gpu_mem_mib; /* memory of each GPU; 0: unknown */
  enum hr_sharing sharing;
  enum hr_gpu_memory memory;
  uint32_t replicas;                         /* equal parts of each GPU; 0: none */
  uint32_t clients;                          /* maximum tasks on a GPU with MPS; 0: HR_MPS_CLIENTS */
  struct hr_interference_step *interference; /* ascending; the last step also applies beyond it. From malloc */
  uint32_t n_interference;                   /* 0: jobs do not slow each other down */
  struct hr_pair_speed *pairs;               /* take precedence over `interference`. From malloc, with their strings */
  uint32_t n_pairs;
  struct hr_mig_spec *mig; /* NULL unless its GPUs are partitioned by MIG */
  struct hr_topology topology;
  uint32_t cpu_milli_per_gpu; /* CPU per GPU of tasks that do not state their CPU, in per-GPU allocation */
};

/* Whether tasks that find too little GPU memory are killed. */
static inline bool hr_pool_kills(const struct hr_pool_spec *spec) {
  return spec->memory == HR_GPU_MEMORY_FIRST_COME && spec->gpu_mem_mib > 0;
}

struct hr_cluster_spec {
  struct hr_pool_spec *pools;
  uint32_t n_pools;
  /* [nodes]: rank of each node for rules that take the first of equal nodes; from malloc; NULL: the order of ids */
  uint32_t *node_order;
  bool by_gpu; /* per-GPU allocation, whatever the pools need */
};

/* Maximum clients of a GPU with MPS, from NVIDIA's documentation for Volta and later. */
#define HR_MPS_CLIENTS 48u

/* Limits on the size of clusters in scenarios. */
#define HR_MAX_NODES UINT32_C(16000000)
#define HR_MAX_GPUS UINT32_C(4000000)
#define HR_MAX_POOLS 1024u

/* Appends a pool. Strings are copied. On success it takes ownership of the pool's arrays: prices, levels,
   interference, pairs, MIG settings. HR_NO_MEMORY. */
HR_API enum hr_status hr_cluster_spec_add(struct hr_cluster_spec *spec, const struct hr_pool_spec *pool,
                                          struct hr_error *error);
/* Frees the interference, pairs and MIG settings with their layouts of a pool. */
HR_API void hr_pool_sharing_finish(struct hr_pool_spec *pool);
/* Frees all pools and node_order; the description is empty afterwards. */
HR_API void hr_cluster_spec_finish(struct hr_cluster_spec *spec);
/* The number of GPUs of all pools. */
static inline uint64_t hr_cluster_spec_gpus(const struct hr_cluster_spec *spec) {
  uint64_t gpus = 0;
  for (uint32_t i = 0; i < spec->n_pools; i++) gpus += (uint64_t)spec->pools[i].nodes * spec->pools[i].gpus_per_node;
  return gpus;
}

/* Whether the cluster needs per-GPU allocation: some pool with nodes shares its GPUs or has a topology within nodes,
   or `by_gpu` is set. */
HR_API bool hr_cluster_spec_by_gpu(const struct hr_cluster_spec *spec);

/* ---- Speeds by GPU type ---- */

/* A model as trained on a number of GPUs. */
struct hr_speed_row {
  char *model;
  uint32_t gpus;
};

/*
 * The speed of jobs by model and pool, in ppm of their speed on the reference type, on which they take their recorded
 * run time. 0: such jobs cannot run there. Rows are sorted by (model, gpus), without duplicates. A job uses the row of
 * its model with the largest number of GPUs that does not exceed its own; the first row of the model if all exceed it;
 * and the row after the last one if its model has none. Allocated with malloc.
 */
struct hr_speeds {
  char *reference; /* GPU type */
  struct hr_speed_row *rows;
  uint32_t n_rows, n_pools;
  uint32_t *ppm; /* [n_rows + 1][n_pools] */
};

/* Frees a table from malloc. NULL is accepted. */
HR_API void hr_speeds_destroy(struct hr_speeds *speeds);

#ifdef __cplusplus
}
#endif
#endif
