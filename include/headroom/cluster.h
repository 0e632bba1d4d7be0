/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_CLUSTER_H
#define HEADROOM_CLUSTER_H

/* Descriptions of clusters: pools of identical nodes, their topology, sharing and MIG settings, quotas, and the speeds
   of jobs. A description is input of a run and does not change during the run. */

#include "headroom/base.h"
#include "headroom/market.h"
#include "headroom/mig.h"
#include "headroom/power.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * ---- Topology ----
 *
 * The GPUs of a pool form a hierarchy of tiers. A group of a tier consists of groups of the next narrower tier. A
 * network joins these groups. The network that joins the GPUs of a job can affect the speed of the job. A job can also
 * require that all its GPUs are in one group of a tier.
 */

/* The tiers, from narrow to wide. An island or a NUMA domain consists of GPUs of one node with consecutive numbers. A
   rack or a zone consists of nodes of one pool with consecutive numbers. */
#define HR_TIER_TABLE(X)                                                                                               \
  X(HR_TIER_ANY, "")          /* not specified */                                                                      \
  X(HR_TIER_ISLAND, "island") /* GPUs with links of their own, such as NVLink */                                       \
  X(HR_TIER_NUMA, "numa")     /* GPUs of one NUMA domain */                                                            \
  X(HR_TIER_NODE, "node")                                                                                              \
  X(HR_TIER_RACK, "rack") /* nodes at one switch */                                                                    \
  X(HR_TIER_ZONE, "zone") /* consecutive racks */                                                                      \
  X(HR_TIER_POOL, "pool")

enum hr_tier {
#define HR_TIER_NAME(name, text) name,
  HR_TIER_TABLE(HR_TIER_NAME)
#undef HR_TIER_NAME
      HR_N_TIERS
};

/* Classes of network links. */
#define HR_NETWORK_TABLE(X)                                                                                            \
  X(HR_NETWORK_NONE, "") /* not specified */                                                                           \
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

/* Return the names as users type them: "island", "25gbe", ...; "" for HR_TIER_ANY and HR_NETWORK_NONE. */
HR_API const char *hr_tier_name(enum hr_tier tier);
HR_API const char *hr_network_name(enum hr_network network);

/* The topology of a pool. A size of 0 means that the tier equals the next wider tier. Within a node, the size of a tier
   divides the size of the next wider tier. The last rack and the last zone may be smaller than the others. A pool with
   `racks_per_zone` also has `nodes_per_rack`. */
struct hr_topology {
  uint32_t island_gpus, numa_gpus, nodes_per_rack, racks_per_zone;
  /* [tier]: enum hr_network, the network within a group of the tier. It joins the groups of the next narrower tier, or
     the GPUs if no tier is narrower */
  uint8_t network[HR_N_TIERS];
};

/* Returns the number of GPUs that one group of the tier has on a node. For all tiers except HR_TIER_ISLAND and
   HR_TIER_NUMA, this is `gpus_per_node`. */
static inline uint32_t hr_topology_gpus(const struct hr_topology *topology, enum hr_tier tier, uint32_t gpus_per_node) {
  uint32_t numa_gpus = topology->numa_gpus ? topology->numa_gpus : gpus_per_node;
  if (tier == HR_TIER_ISLAND) return topology->island_gpus ? topology->island_gpus : numa_gpus;
  return tier == HR_TIER_NUMA ? numa_gpus : gpus_per_node;
}

/* Returns the number of nodes in a full group of the tier. `pool_nodes`: the number of nodes of the pool; 0 counts
   as 1. The result is from 1 to `pool_nodes`. It is 1 for HR_TIER_ISLAND, HR_TIER_NUMA and HR_TIER_NODE. It is
   `pool_nodes` for HR_TIER_POOL and HR_TIER_ANY. */
static inline uint32_t hr_topology_nodes(const struct hr_topology *topology, enum hr_tier tier, uint32_t pool_nodes) {
  uint64_t all = pool_nodes ? pool_nodes : 1, racks = topology->racks_per_zone, nodes = topology->nodes_per_rack;
  uint64_t zone = nodes && racks ? nodes * racks : all;
  if (tier != HR_TIER_ANY && tier <= HR_TIER_NODE) return 1;
  if (tier == HR_TIER_RACK) zone = nodes ? nodes : zone;
  return (uint32_t)(zone > all || tier == HR_TIER_POOL || tier == HR_TIER_ANY ? all : zone);
}

/* Returns the index of the group that contains the node with the index `number`. Nodes and groups are counted within
   the pool, from 0. */
static inline uint32_t hr_topology_group(const struct hr_topology *topology, enum hr_tier tier, uint32_t pool_nodes,
                                         uint32_t number) {
  return number / hr_topology_nodes(topology, tier, pool_nodes);
}

/* Returns whether the pool has the tier: its size is specified. All pools have HR_TIER_NODE and HR_TIER_POOL. */
static inline bool hr_topology_has(const struct hr_topology *topology, enum hr_tier tier) {
  if (tier == HR_TIER_ISLAND) return topology->island_gpus > 0;
  if (tier == HR_TIER_NUMA) return topology->numa_gpus > 0;
  if (tier == HR_TIER_RACK) return topology->nodes_per_rack > 0;
  if (tier == HR_TIER_ZONE) return topology->racks_per_zone > 0;
  return tier == HR_TIER_NODE || tier == HR_TIER_POOL;
}

/* Returns whether the topology divides the GPUs of a node into several groups. */
static inline bool hr_topology_parts_nodes(const struct hr_topology *topology, uint32_t gpus_per_node) {
  return hr_topology_gpus(topology, HR_TIER_ISLAND, gpus_per_node) < gpus_per_node;
}

/* ---- Speeds by network ---- */

/* The speed of jobs on `gpus` GPUs that are joined by links of class `network`, relative to the speed of the same job
   within one node. The speed applies to the jobs of a family of models: all models with a certain prefix. */
struct hr_network_speed {
  char *model; /* the prefix of the family, ignoring case; "*": all models that belong to no other family */
  enum hr_network network;
  uint32_t gpus;
  uint32_t speed_ppm; /* parts per million; above 0 */
};

/* A table of speeds, sorted by (network, family, GPUs), without duplicates. All memory is from malloc. */
struct hr_network_speeds {
  struct hr_network_speed *rows;
  uint32_t n_rows;
};

/* Frees the table, its rows and their strings. NULL is accepted. */
HR_API void hr_network_speeds_destroy(struct hr_network_speeds *speeds);

/* A range of rows of a table. */
struct hr_network_span {
  uint32_t first, count; /* rows[first .. first + count); count 0: no rows */
};
/* Returns the rows for a model and a class of links. These are the rows of the family with the longest prefix that
   `model` begins with. If `model` begins with no such prefix, these are the rows of "*". `model`: the model of a job;
   NULL: the job has no model. */
HR_API struct hr_network_span hr_network_span_of(const struct hr_network_speeds *speeds, const char *model,
                                                 enum hr_network network);
/* Returns the speed of a job on `gpus` GPUs, in ppm. Among the rows of `span` with at most `gpus` GPUs, the row with
   the largest number of GPUs applies. If all rows have more than `gpus` GPUs, the first row applies. Returns 1,000,000
   if the span has no rows. */
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
 * Each tenant and each cohort has a guaranteed number of GPUs. Members of a cohort can borrow the guaranteed GPUs that
 * other members do not use. Other cohorts can borrow the guaranteed GPUs that a whole cohort does not use. All members
 * of a cohort can use the GPUs that are guaranteed to the cohort itself. Tenants and cohorts that belong to no cohort
 * are children of one root. The root also owns the GPUs that no guarantee covers.
 *
 * GPUs are counted in milli-GPUs; all GPU types count equally. The rules are those of Kueue
 * (pkg/cache/scheduler/resource_node.go), plus maximum limits.
 */

/* HR_NO_LIMIT: no limit. HR_MAX_QUOTA_MILLI is the number of milli-GPUs of HR_MAX_GPUS GPUs; a greater guarantee counts
   as HR_MAX_QUOTA_MILLI. */
#define HR_NO_LIMIT UINT64_MAX
#define HR_MAX_QUOTA_MILLI UINT64_C(4000000000)

/* A node of the tree: a tenant or a cohort. "Subtree" means the node itself and all nodes below it. Limits are
   HR_NO_LIMIT if not set. */
struct hr_quota_node {
  char *name;      /* name of the tenant or cohort; a tenant and a cohort may have the same name */
  uint32_t parent; /* index of the cohort that contains the node, less than the node's own index; HR_NONE: the root */
  bool is_tenant;
  uint64_t guaranteed_milli;
  /* how much the subtree may use beyond its guarantees */
  uint64_t borrow_milli;
  /* how much of the subtree's guarantees others may borrow */
  uint64_t lend_milli;
  /* maximum use of the subtree, including borrowed GPUs */
  uint64_t max_milli;
  double weight; /* weight in fair sharing of borrowed GPUs; above 0 */
};

/* The quotas of a cluster. All memory is from malloc. */
struct hr_quota_spec {
  struct hr_quota_node *nodes;
  uint32_t n_nodes;
  /* applies to tenants that have no node in `nodes`, and to jobs without a tenant; its name is NULL */
  struct hr_quota_node fallback;
};

/* Frees the quotas with the nodes and their names. NULL is accepted. */
HR_API void hr_quota_spec_destroy(struct hr_quota_spec *spec);

/* How tasks share the GPUs of a pool. */
#define HR_SHARING_TABLE(X)                                                                                            \
  X(HR_SHARING_WHOLE, "whole")           /* each GPU is used by one task at a time */                                  \
  X(HR_SHARING_FRACTION, "fraction")     /* each task has the fraction of a GPU that it requests */                    \
  X(HR_SHARING_MPS, "mps")               /* fractions, or `replicas` equal parts; at most `clients` tasks per GPU */   \
  X(HR_SHARING_TIME_SLICE, "time-slice") /* up to `replicas` tasks alternate on a GPU */                               \
  X(HR_SHARING_MIG, "mig")               /* each task has a MIG instance, see struct hr_mig_spec */

enum hr_sharing {
#define HR_SHARING_NAME(name, text) name,
  HR_SHARING_TABLE(HR_SHARING_NAME)
#undef HR_SHARING_NAME
      HR_N_SHARINGS
};

/* Returns the name as users type it: "whole", "fraction", ... */
HR_API const char *hr_sharing_name(enum hr_sharing sharing);

/* How the memory of shared GPUs is allocated.
   HR_GPU_MEMORY_RESERVED: Each task reserves the memory that it requests. A task is placed only on GPUs with enough
   unreserved memory.
   HR_GPU_MEMORY_FIRST_COME: Placement ignores GPU memory. Each task of a job allocates its memory when it begins to
   run. If a GPU has too little free memory, all tasks of the job are killed. The job keeps its placement and tries
   again later. Scenarios use HR_GPU_MEMORY_FIRST_COME with HR_SHARING_TIME_SLICE only, because NVIDIA's device plugin
   neither reserves nor isolates the memory of time-sliced GPUs (NVIDIA/k8s-device-plugin, README.md, "Shared Access to
   GPUs"). */
#define HR_GPU_MEMORY_TABLE(X)                                                                                         \
  X(HR_GPU_MEMORY_RESERVED, "reserved")                                                                                \
  X(HR_GPU_MEMORY_FIRST_COME, "first-come")

enum hr_gpu_memory {
#define HR_GPU_MEMORY_NAME(name, text) name,
  HR_GPU_MEMORY_TABLE(HR_GPU_MEMORY_NAME)
#undef HR_GPU_MEMORY_NAME
      HR_N_GPU_MEMORIES
};

/* Returns the name as users type it: "reserved" or "first-come". */
HR_API const char *hr_gpu_memory_name(enum hr_gpu_memory memory);

/* The speed of jobs while at least two tasks share a GPU and the used part of the GPU is in a certain range. The used
   part is the sum of the milli-GPUs of all tasks on the GPU. With HR_SHARING_TIME_SLICE, the speed is also divided by
   the number of tasks on the GPU. */
struct hr_interference_step {
  uint32_t up_to_milli; /* upper end of the range, inclusive; the range begins after the end of the previous step */
  uint32_t speed_ppm;   /* speed of each job relative to running alone; above 0 */
};

/* The speed of a job of `model` on a GPU with exactly two tasks: its own and one of a job of the model `with`. */
struct hr_pair_speed {
  char *model, *with;
  uint32_t speed_ppm; /* speed of the job of `model`, relative to running alone; above 0 */
};

/* When the MIG instances of a pool are created. */
#define HR_MIG_MODE_TABLE(X)                                                                                           \
  X(HR_MIG_STATIC, "static")       /* before the run; the layout of each GPU is fixed */                               \
  X(HR_MIG_DYNAMIC, "dynamic")     /* a GPU without jobs can get another layout, which takes `lead_us` */              \
  X(HR_MIG_ON_DEMAND, "on-demand") /* for each job, if a GPU has room; destroyed when the job ends */

enum hr_mig_mode {
#define HR_MIG_MODE_NAME(name, text) name,
  HR_MIG_MODE_TABLE(HR_MIG_MODE_NAME)
#undef HR_MIG_MODE_NAME
      HR_N_MIG_MODES
};

/* Returns the name of a mode as users type it. */
HR_API const char *hr_mig_mode_name(enum hr_mig_mode mode);

/* A layout: a set of MIG instances that a GPU can have. */
struct hr_mig_layout {
  char *name;
  struct hr_mig_gpu gpu;
  /* [profile]: the starts of the layout's instances of that profile, as a set: bit s is memory slice s */
  uint8_t starts[HR_MIG_PROFILES];
};

/* The MIG settings of a pool. Allocated with malloc. */
struct hr_mig_spec {
  struct hr_mig_type type; /* the GPU type, with copies of its profiles and names */
  enum hr_mig_mode mode;
  /* the initial layouts of the GPUs; with HR_MIG_DYNAMIC also all other layouts that a GPU can get; none with
     HR_MIG_ON_DEMAND */
  struct hr_mig_layout *layouts;
  uint32_t n_layouts;     /* at most 256 */
  uint8_t *layout_of_gpu; /* [gpus_per_node]: index of the initial layout; NULL with HR_MIG_ON_DEMAND */
  int64_t lead_us;        /* time to change the layout of a GPU, or to create an instance on demand */
};
/* Creates settings without layouts. `type` is copied. The settings belong to a pool (`mig` of struct hr_pool_spec) and
   are freed with it. Returns NULL if memory is exhausted. */
HR_API struct hr_mig_spec *hr_mig_spec_create(const struct hr_mig_type *type, enum hr_mig_mode mode);
/* Adds a layout, unless the settings already have a layout with the same instances. Sets `*number` to the index of the
   new or existing layout. `name` and `gpu` are copied. */
HR_API enum hr_status hr_mig_spec_add(struct hr_mig_spec *spec, const char *name, const struct hr_mig_gpu *gpu,
                                      uint32_t *number);

/* A pool. Arrays and strings are from malloc. */
struct hr_pool_spec {
  char *name;
  char *gpu; /* GPU type, e.g. "A100-80"; a job is placed here only if it accepts this type */
  /* other names of the GPU type, separated by '|', such as "A100|NVIDIA-A100-SXM4-80GB"; NULL: none. If a name
     that a job requests equals the type (`gpu`) of some pools, ignoring case, the name selects only these pools.
     Otherwise it selects each pool that has this name, as its type or among its other names. In this second comparison,
     case, separators and words such as the vendor are ignored */
  char *gpu_names;
  char *region;   /* a job is placed here only if it accepts this region; NULL: no region */
  uint32_t nodes; /* 0: the pool is ignored */
  uint32_t gpus_per_node;
  uint32_t cpu_milli_per_node; /* 0: unknown */
  uint64_t mem_mib_per_node;   /* 0: unknown */
  uint64_t storage_mib_s;      /* storage bandwidth that jobs share for checkpoints, in MiB/s; 0: unknown */
  struct hr_market_spec market;
  /* job classes that may use the pool: a set of bits 1 << enum hr_job_class; 0: all classes */
  uint32_t classes;
  uint32_t gpu_mem_mib; /* memory of each GPU; 0: unknown */
  enum hr_sharing sharing;
  enum hr_gpu_memory memory;
  uint32_t replicas; /* number of equal parts of each GPU; 0: GPUs are not divided into equal parts */
  uint32_t clients;  /* maximum number of tasks on a GPU with MPS; 0: HR_MPS_CLIENTS */
  /* ascending by up_to_milli; the last step also applies above its up_to_milli */
  struct hr_interference_step *interference;
  uint32_t n_interference;     /* 0: tasks do not slow each other down, except by time slices */
  struct hr_pair_speed *pairs; /* speeds that override `interference` and time slices */
  uint32_t n_pairs;
  struct hr_mig_spec *mig; /* NULL unless GPUs of the pool are partitioned by MIG */
  struct hr_topology topology;
  /* in per-GPU allocation: the milli-CPUs per GPU of a task that does not request CPU; 0: such a task takes no CPU */
  uint32_t cpu_milli_per_gpu;
  struct hr_fault_spec *faults; /* how nodes fail (headroom/unstable/faults.h), from malloc; NULL: they never fail */
  /* carbon and price of electricity (headroom/unstable/series.h). It belongs to the scenario; NULL: unknown */
  const struct hr_electricity *electricity;
  /* [n_maintenance]: planned work on nodes (headroom/unstable/faults.h), from malloc; or NULL */
  struct hr_maintenance *maintenance;
  uint32_t n_maintenance;
  struct hr_power_spec *power; /* from malloc; NULL: unknown */
  uint32_t min_nodes;          /* with an autoscaler: the minimum number of nodes that it keeps in the pool */
  /* for the autoscaler's expander `priority`, which selects the pools with the highest number. 0: the pool has no
     priority and is selected only if no other pool has one */
  int64_t scale_priority;
};

/* Returns the power budget of the cluster to which the pool belongs, in watts. 0: the cluster has no budget, or the
   pool has no nodes or no known power. */
static inline double hr_pool_power_budget_w(const struct hr_pool_spec *spec) {
  return spec->power && spec->nodes > 0 ? spec->power->budget_w : 0;
}

/* Returns whether tasks that find too little free GPU memory are killed in the pool (HR_GPU_MEMORY_FIRST_COME). False
   if the memory of the GPUs is unknown. */
static inline bool hr_pool_kills(const struct hr_pool_spec *spec) {
  return spec->memory == HR_GPU_MEMORY_FIRST_COME && spec->gpu_mem_mib > 0;
}

/* A cluster. A cluster with all members 0 has no pools. hr_cluster_spec_finish frees its members. */
struct hr_cluster_spec {
  struct hr_pool_spec *pools;
  uint32_t n_pools;
  /* [number of nodes]: the rank of each node, from malloc. In per-GPU allocation, placement rules select the node with
     the lowest rank among equal nodes. NULL: the rank of a node is its id */
  uint32_t *node_order;
  bool by_gpu; /* use per-GPU allocation even if no pool needs it */
  /* true: MIG instances, shares of GPUs and whole GPUs may replace each other. A job that names a MIG profile may get a
     share or a whole GPU in a pool without MIG. A job that names no profile may get an instance that is large enough.
     false: jobs that name a profile run only on MIG instances; other jobs with GPUs never do */
  bool mig_fallback;
  /* the autoscaler of the elastic pools (headroom/unstable/clusters.h), from malloc. NULL: if the policy manages
     capacity (HR_POLICY_MANAGES_CAPACITY), it requests the nodes; otherwise all available nodes are requested */
  struct hr_autoscaler_spec *autoscaler;
  /* all known names of GPU types, for messages about types that no pool has: entries "NAME=TYPE", separated by '|',
     from malloc. Each type also has an entry for its own name. NULL: names are unknown */
  char *gpu_vocabulary;
};

/* The maximum number of clients of a GPU with MPS, from NVIDIA's documentation for Volta and later. */
#define HR_MPS_CLIENTS 48u

/* Limits on the size of clusters in scenarios. */
#define HR_MAX_NODES UINT32_C(16000000)
#define HR_MAX_GPUS UINT32_C(4000000)
#define HR_MAX_POOLS 1024u

/* Appends a copy of a pool. The strings of the pool itself (`name`, `gpu`, `gpu_names`, `region`) are copied, too. On
   success the cluster takes ownership of all other memory to which the pool points, except `electricity`. */
HR_API enum hr_status hr_cluster_spec_add(struct hr_cluster_spec *spec, const struct hr_pool_spec *pool,
                                          struct hr_error *error);
/* Frees the interference, pairs and MIG settings of a pool that was not added to a cluster. The pool itself is not
   freed. */
HR_API void hr_pool_sharing_finish(struct hr_pool_spec *pool);
/* Frees all pools and all other members. All members are 0 afterwards. */
HR_API void hr_cluster_spec_finish(struct hr_cluster_spec *spec);
/* Returns the total number of GPUs of all pools. */
static inline uint64_t hr_cluster_spec_gpus(const struct hr_cluster_spec *spec) {
  uint64_t gpus = 0;
  for (uint32_t i = 0; i < spec->n_pools; i++) gpus += (uint64_t)spec->pools[i].nodes * spec->pools[i].gpus_per_node;
  return gpus;
}

/* Returns whether a run computes energy: the power of at least one pool with nodes is known. */
static inline bool hr_cluster_spec_metered(const struct hr_cluster_spec *spec) {
  for (uint32_t i = 0; i < spec->n_pools; i++)
    if (spec->pools[i].power && spec->pools[i].nodes > 0) return true;
  return false;
}

/* Returns whether the cluster uses per-GPU allocation. It does in three cases: `by_gpu` is set; a pool has another
   sharing than HR_SHARING_WHOLE; or the topology of a pool divides nodes into several groups. Pools without nodes are
   ignored. */
HR_API bool hr_cluster_spec_by_gpu(const struct hr_cluster_spec *spec);

/* ---- Speeds by GPU type ---- */

/* A model and a number of GPUs on which the speed of the model was measured. */
struct hr_speed_row {
  char *model;
  uint32_t gpus;
};

/*
 * The speed of jobs by model and pool, in ppm of the speed on the reference GPU type. On the reference type the run
 * time of a job is the recorded run time. Speed 0: jobs of the model cannot run in the pool.
 *
 * Rows are sorted by (model, gpus), without duplicates. A job with n GPUs uses the last row of its model with
 * gpus <= n. If all rows of the model have gpus > n, the job uses the first row of the model. If the model has no row,
 * or the job has no model, the job uses the extra row at the end of the table. A job without GPUs has full speed in all
 * pools. All memory is from malloc.
 */
struct hr_speeds {
  char *reference; /* name of the reference GPU type */
  struct hr_speed_row *rows;
  uint32_t n_rows, n_pools;
  uint32_t *ppm; /* [n_rows + 1][n_pools]; the extra row at the end is the default */
};

/* Frees the table with its rows and strings. NULL is accepted. */
HR_API void hr_speeds_destroy(struct hr_speeds *speeds);

/* ---- Speeds of elastic jobs ---- */

/* The speed of the jobs of a model on a number of GPUs, in thousandths of an arbitrary unit. */
struct hr_scaling_row {
  char *model; /* NULL: all models without rows of their own */
  uint32_t gpus, speed_milli;
};

/* The speeds of elastic jobs, sorted by (model, gpus), NULL first, without duplicates. Only the ratio of two speeds of
   one model matters, because a job on its requested number of GPUs has speed 1. */
struct hr_scaling_table {
  struct hr_scaling_row *rows;
  uint32_t n_rows;
};

/* Returns the speed of a model on `gpus` GPUs, at least 1, in the unit of its rows. Between two rows, the speed is
   interpolated linearly and rounded to thousandths. Below the first row, it is proportional to the number of GPUs.
   Above the last row, it is the speed of the last row. The rows are those of the model; if there are none, those for
   all models; if there are none either, the result is `gpus`. `model` and `table` may be NULL. */
HR_API uint32_t hr_scaling_speed(const struct hr_scaling_table *table, const char *model, uint32_t gpus);
/* Frees the table with its rows and strings, which are from malloc. NULL is accepted. */
HR_API void hr_scaling_destroy(struct hr_scaling_table *table);

#ifdef __cplusplus
}
#endif
#endif
