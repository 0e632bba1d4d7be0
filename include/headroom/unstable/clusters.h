/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_CLUSTERS_H
#define HEADROOM_UNSTABLE_CLUSTERS_H

/*
 * Several clusters in one run. Each cluster has its own pools, policy and quotas, and schedules only its own jobs. All
 * clusters have one clock. When a job is submitted, the job router sends it to a cluster. Waiting jobs may be sent to
 * another cluster, or may have copies in several clusters; a job that has started stays in its cluster.
 *
 * The whole run has the pools of all clusters, in the order of the clusters. Observers see these pools and their nodes;
 * the policy of a cluster sees its own pools only, numbered from 0.
 */

#include "headroom/base.h"
#include "headroom/router.h"
#include "headroom/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How jobs are distributed. The home of a job is the cluster that lists the job's tenant; otherwise the first one that
   serves this tenant. Among equally good clusters, the one that is listed first is chosen. Only clusters that could run
   the job if they were empty are considered; if no cluster can, the job is sent home and rejected there. */
#define HR_JOB_ROUTER_TABLE(X)                                                                                         \
  X(HR_JOB_ROUTER_HOME, "home")               /* every job runs at home */                                             \
  X(HR_JOB_ROUTER_LOCAL_FIRST, "local-first") /* at home, or if a bound is exceeded, by the rule `spill` */            \
  X(HR_JOB_ROUTER_CHEAPEST, "cheapest")       /* the lowest price of a GPU hour; if equal, the shortest wait */        \
  X(HR_JOB_ROUTER_SHORTEST_WAIT, "shortest-predicted-wait")                                                            \
  X(HR_JOB_ROUTER_LEAST_LOADED, "least-loaded")   /* the lowest share of GPUs that are allocated or waited for */      \
  X(HR_JOB_ROUTER_AFFINITY, "affinity")           /* the clusters that a rule for its tenant and class prefers */      \
  X(HR_JOB_ROUTER_MULTIKUEUE, "multikueue")       /* copies in all clusters, maybe in rounds; the first start wins */  \
  X(HR_JOB_ROUTER_FEDERATION, "slurm-federation") /* copies in all clusters; the first start wins */                   \
  X(HR_JOB_ROUTER_SKYPILOT, "skypilot")           /* the cheapest; after a time without a start, the next one */       \
  X(HR_JOB_ROUTER_PLUGIN, "plugin")               /* a router in a shared object */

enum hr_job_router_kind {
#define HR_JOB_ROUTER_NAME(name, text) name,
  HR_JOB_ROUTER_TABLE(HR_JOB_ROUTER_NAME)
#undef HR_JOB_ROUTER_NAME
      HR_N_JOB_ROUTERS
};

/* Clusters that MultiKueue can have (kubernetes-sigs/kueue, apis/kueue: clusters of MultiKueueConfig, and nominated
   clusters of a workload; 10 in early releases). */
enum { HR_MULTIKUEUE_CLUSTERS = 20 };

/* A rule of `affinity`. For each job, the first rule that applies is used. */
struct hr_job_router_rule {
  char **tenants; /* [n_tenants]; n_tenants 0: any */
  uint32_t n_tenants;
  uint32_t classes;   /* a set of bits 1 << enum hr_job_class; 0: any */
  char **names;       /* [n_clusters]: the preferred clusters, in order */
  uint32_t *clusters; /* [n_clusters]: their indices */
  uint32_t n_clusters;
  bool only; /* other clusters are not allowed */
};

/* The job router. The bounds are those of `local-first`; a job is spilled if any of them is exceeded. Without a bound,
   a job is spilled if it would have to wait at home. */
struct hr_job_router_spec {
  enum hr_job_router_kind kind;
  enum hr_job_router_kind spill;    /* how the other clusters are compared */
  uint32_t max_waiting;             /* jobs that wait at home; HR_NONE: no bound */
  int64_t max_wait_us;              /* predicted wait at home; HR_NEVER_US: no bound */
  bool keep_deadlines;              /* spill jobs that would probably miss their deadline at home */
  int64_t budget_uusd;              /* predicted cost of all spilled jobs; HR_NEVER_US: unlimited */
  struct hr_job_router_rule *rules; /* [n_rules], of `affinity` */
  uint32_t n_rules;
  /* multikueue */
  bool incremental; /* `step` more clusters in each round, otherwise all at once */
  uint32_t step;
  int64_t round_us;
  int64_t timeout_us; /* skypilot: a job that has not started after this time is sent to the next cluster */
  /* other routers: waiting jobs that have never started are routed again at this interval; 0: never. A job moves at
     most `max_reroutes` times, also with skypilot */
  int64_t reroute_us;
  uint32_t max_reroutes;
  /* a job goes to one of the clusters in which it reads its data without a link, if its predicted wait in one of them
     is at most `local_wait_us`; only for routers that use the load of clusters */
  bool prefers_local_data;
  int64_t local_wait_us;
  char *file;                          /* of `plugin`: the shared object */
  const struct hr_router_ops *ops;     /* of `plugin`; borrowed */
  const struct hr_param_value *params; /* of `plugin`: the values of its parameters; borrowed */
};

/* One cluster of a run. Everything that it points to is borrowed. */
struct hr_cluster_part {
  const char *name;
  const struct hr_cluster_spec *cluster;
  const struct hr_policy_ops *policy; /* NULL: the policy of the run, with its parameters */
  const struct hr_param_value *params;
  const struct hr_class_spec *classes;
  const struct hr_quota_spec *quotas;
  const struct hr_systems *systems;
  const struct hr_speeds *speeds;
  const struct hr_network_speeds *network_speeds;
  const struct hr_scaling_table *scaling;
  char *const *tenants; /* [n_tenants]: names of the tenants that have this cluster as their home */
  uint32_t n_tenants;
  char *const *only; /* [n_only]: the cluster serves only these tenants; n_only 0: all */
  uint32_t n_only;
};

/* The clusters of a run, for hr_run_config.clusters. hr_run_config.cluster has the pools of all of them, in order. */
struct hr_clusters {
  const struct hr_cluster_part *at; /* [count] */
  uint32_t count;                   /* at least 1 */
  struct hr_job_router_spec router;
};

/* What happened in one cluster. */
struct hr_cluster_result {
  const char *name;                              /* borrowed from the configuration */
  uint64_t n_submitted, n_completed, n_rejected; /* jobs */
  uint64_t n_spilled_in, n_spilled_out;          /* jobs that came from another home; jobs that left this home */
  uint64_t *n_from; /* [number of clusters] its jobs by their home, from malloc; jobs without a home are not counted */
  uint64_t n_rerouted; /* how many times a waiting job left this cluster for another one */
  uint64_t n_passes;
  /* digest of the events of the cluster, equal to that of a separate run of this cluster with the same jobs */
  uint64_t digest;
};

/* Returns the name of a router. */
HR_API const char *hr_job_router_name(enum hr_job_router_kind kind);
/* Returns whether the router uses predicted waits. */
static inline bool hr_job_router_predicts(const struct hr_job_router_spec *router) {
  switch (router->kind) {
  case HR_JOB_ROUTER_LOCAL_FIRST:
  case HR_JOB_ROUTER_CHEAPEST:
  case HR_JOB_ROUTER_SHORTEST_WAIT:
  case HR_JOB_ROUTER_PLUGIN:
    return true;
  case HR_JOB_ROUTER_AFFINITY:
  case HR_JOB_ROUTER_LEAST_LOADED:
    return router->max_wait_us != HR_NEVER_US || router->prefers_local_data ||
           (router->kind == HR_JOB_ROUTER_AFFINITY && router->spill != HR_JOB_ROUTER_LEAST_LOADED);
  default:
    return false;
  }
}

/* ---- Autoscaling of nodes --------------------------------------------------------------------------- */

/*
 * Autoscalers of nodes: how the nodes of elastic pools are requested and released during a run. An autoscaler belongs
 * to a cluster (hr_cluster_spec.autoscaler) and manages all its elastic pools. Each of them is a node group. The
 * maximum of a group is the number of nodes of the pool.
 */

/* How the cluster autoscaler chooses the pool that grows. The columns: enumerator, name in scenarios. */
#define HR_EXPANDER_TABLE(X)                                                                                           \
  X(HR_EXPANDER_RANDOM, "random")                                                                                      \
  X(HR_EXPANDER_MOST_PODS, "most-pods")                                                                                \
  X(HR_EXPANDER_LEAST_NODES, "least-nodes")                                                                            \
  X(HR_EXPANDER_LEAST_WASTE, "least-waste")                                                                            \
  X(HR_EXPANDER_PRICE, "price")                                                                                        \
  X(HR_EXPANDER_PRIORITY, "priority")

enum hr_expander_kind {
#define HR_EXPANDER_NAME(name, text) name,
  HR_EXPANDER_TABLE(HR_EXPANDER_NAME)
#undef HR_EXPANDER_NAME
      HR_N_EXPANDERS
};

struct hr_expander {
  enum hr_expander_kind kind;
};

/* A quota of the provider: the maximum number of GPUs of a type in a region. */
struct hr_scaling_quota {
  char *gpu, *region; /* NULL: any */
  uint32_t max_gpus;
  bool *of_pool; /* [n_pools], from malloc: the elastic pools to which it applies */
};

/* Kinds of autoscalers. The columns: enumerator, name in scenarios. */
#define HR_NODE_AUTOSCALER_TABLE(X)                                                                                    \
  X(HR_NODE_AUTOSCALER_CLUSTER, "cluster-autoscaler")                                                                  \
  X(HR_NODE_AUTOSCALER_KARPENTER, "karpenter")

enum hr_node_autoscaler {
#define HR_NODE_AUTOSCALER_NAME(name, text) name,
  HR_NODE_AUTOSCALER_TABLE(HR_NODE_AUTOSCALER_NAME)
#undef HR_NODE_AUTOSCALER_NAME
      HR_N_NODE_AUTOSCALERS
};

/* Which nodes Karpenter removes. The columns: enumerator, name in scenarios. */
#define HR_CONSOLIDATION_TABLE(X)                                                                                      \
  X(HR_CONSOLIDATION_UNDERUTILIZED, "when-empty-or-underutilized")                                                     \
  X(HR_CONSOLIDATION_EMPTY, "when-empty")                                                                              \
  X(HR_CONSOLIDATION_NEVER, "never")

enum hr_consolidation {
#define HR_CONSOLIDATION_NAME(name, text) name,
  HR_CONSOLIDATION_TABLE(HR_CONSOLIDATION_NAME)
#undef HR_CONSOLIDATION_NAME
      HR_N_CONSOLIDATIONS
};

/* Reasons to remove a node, for budgets. */
enum hr_disruption { HR_DISRUPTION_EMPTY, HR_DISRUPTION_UNDERUTILIZED, HR_DISRUPTION_DRIFTED };

/* How many nodes of a node pool may be removed at once: a number, or a percentage of its nodes. */
struct hr_disruption_budget {
  /* `percent`: share of the nodes that have booted, rounded up; UINT32_MAX: the number is `nodes` */
  uint32_t nodes, percent;
  uint32_t reasons; /* bits 1 << enum hr_disruption; 0: all */
  /* the budget applies for duration_us, at least a second, from each instant of a cron schedule in UTC; NULL: always */
  char *schedule;
  int64_t duration_us;
};
/* Returns whether a text is a schedule: five fields of cron, or @hourly, @daily, @weekly, @monthly or @yearly. */
HR_API bool hr_disruption_schedule_is_valid(const char *schedule);

/* A node pool of Karpenter: several elastic pools with common rules. */
struct hr_named_pool {
  char *name;
};
struct hr_node_pool {
  char *name;
  struct hr_named_pool *pools; /* [n_pools], from malloc */
  uint32_t n_pools;
  bool *of_pool; /* by pool, from malloc */
  uint32_t weight;
  /* limits of its nodes; UINT32_MAX, or INT64_MAX: none */
  uint32_t max_nodes, max_gpus;
  int64_t max_cpu_milli, max_mem_mib;
  enum hr_consolidation consolidation;
  int64_t consolidate_after_us;         /* since a job has last started or ended on the node, or the node has booted */
  int64_t expire_us;                    /* since the request for the node; HR_NEVER_US: never */
  struct hr_disruption_budget *budgets; /* [n_budgets], from malloc */
  uint32_t n_budgets;
  /* [n_drifts], from malloc: times at which the template changes, so that nodes requested before are replaced */
  int64_t *drifts_us;
  uint32_t n_drifts;
};

/* An autoscaler. The members up to failure_share are those of Kubernetes' cluster autoscaler; Karpenter uses
   provision_us, quotas and failure_share, too. Times are in microseconds; their defaults are in the table of keys. */
struct hr_autoscaler_spec {
  int64_t scan_us; /* the autoscaler scans the cluster at multiples of this time */
  /* [n_expanders], a chain, from malloc; the last draw is random. NULL: least-waste */
  struct hr_expander *expanders;
  uint32_t n_expanders;
  bool balances;      /* new nodes are divided among similar pools */
  uint32_t max_nodes; /* of the cluster; 0: no limit */
  /* no scale-up while all jobs that need nodes are younger than new_job_us, or those with GPUs than new_gpu_job_us */
  int64_t new_job_us, new_gpu_job_us;
  int64_t provision_us; /* a node that has not booted within provision_us is given up, and its pool backs off */
  int64_t backoff_us, max_backoff_us, backoff_reset_us;
  /* a node is removed if it was unneeded for longer than unneeded_us: without jobs or, with `drains`, used at most to
     utilization_threshold with jobs that fit on other nodes */
  int64_t unneeded_us;
  double utilization_threshold;
  bool drains;
  /* no removals for this time after a scale-up, after a removal, and after a failed scale-up */
  int64_t after_add_us, after_delete_us, after_failure_us;
  uint32_t max_deletions, max_drains; /* in one scan */
  struct hr_scaling_quota *quotas;    /* [n_quotas], from malloc */
  uint32_t n_quotas;
  /* [n_pools], from malloc: the probability that the provider has no capacity when a node is requested; NULL: 0 */
  double *failure_share;
  enum hr_node_autoscaler kind;
  /* ---- Karpenter ---- */
  struct hr_node_pool *node_pools; /* [n_node_pools], from malloc */
  uint32_t n_node_pools;
  /* nodes are requested when no job has begun to wait for batch_idle_us, at the latest after batch_max_us */
  int64_t batch_idle_us, batch_max_us;
  int64_t unavailable_us; /* a pool without capacity is not tried again for this time */
  bool spot_to_spot;      /* spot nodes may be replaced by cheaper spot nodes */
};

/* Frees what a specification owns, and the specification. NULL is accepted. */
HR_API void hr_autoscaler_spec_destroy(struct hr_autoscaler_spec *spec);

struct hr_cluster;
/* Returns whether an autoscaler requests the nodes of elastic pools, so that the policy must not. */
HR_API bool hr_cluster_is_autoscaled(const struct hr_cluster *cluster);

#ifdef __cplusplus
}
#endif

#endif
