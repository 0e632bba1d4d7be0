/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_CLUSTERS_H
#define HEADROOM_UNSTABLE_CLUSTERS_H

/*
 * Several clusters in one run, and autoscalers of nodes.
 *
 * Each cluster has its own pools, policy and quotas, and schedules only its own jobs. All clusters have one clock. When
 * a job is submitted, the job router sends it to a cluster. Some routers send a waiting job to another cluster later,
 * or submit copies of a job to several clusters. A job that has started remains in its cluster.
 *
 * The whole run has the pools of all clusters, in the order of the clusters. Observers have access to all these
 * pools and their nodes. The policy of a cluster has access only to the pools of its cluster, numbered from 0.
 */

#include "headroom/base.h"
#include "headroom/router.h"
#include "headroom/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The rules of job routers. The home of a job is the first cluster that lists the job's tenant in `tenants`. If no
   cluster lists the tenant, the home is the first cluster that serves the tenant.

   A cluster can run a job if it serves the job's tenant and if the job would fit into the cluster without other jobs.
   All rules except `home` choose among the clusters that can run the job. Of equally good clusters, the first in the
   order of the scenario is chosen. If no cluster can run the job, the job is sent home and rejected there. The columns:
   enumerator, name in scenarios. */
#define HR_JOB_ROUTER_TABLE(X)                                                                                         \
  X(HR_JOB_ROUTER_HOME, "home") /* every job runs at home */                                                           \
  /* at home; if the load at home exceeds a bound, in another cluster by the rule `spill` */                           \
  X(HR_JOB_ROUTER_LOCAL_FIRST, "local-first")                                                                          \
  X(HR_JOB_ROUTER_CHEAPEST, "cheapest") /* the lowest price of a GPU hour; if equal, the shortest predicted wait */    \
  X(HR_JOB_ROUTER_SHORTEST_WAIT, "shortest-predicted-wait")                                                            \
  /* the lowest share of GPUs that are allocated or that waiting jobs request */                                       \
  X(HR_JOB_ROUTER_LEAST_LOADED, "least-loaded")                                                                        \
  X(HR_JOB_ROUTER_AFFINITY, "affinity") /* the clusters that a rule for the job's tenant and class prefers */          \
  /* as MultiKueue: copies in all clusters, or in further clusters in each round; the job runs where a copy starts */  \
  X(HR_JOB_ROUTER_MULTIKUEUE, "multikueue")                                                                            \
  /* as a federation of Slurm: copies in all clusters; the job runs where a copy starts */                             \
  X(HR_JOB_ROUTER_FEDERATION, "slurm-federation")                                                                      \
  /* as SkyPilot: the cheapest cluster; if the job does not start there in time, the next cheapest */                  \
  X(HR_JOB_ROUTER_SKYPILOT, "skypilot")                                                                                \
  X(HR_JOB_ROUTER_PLUGIN, "plugin") /* a router in a shared object (headroom/router.h) */

enum hr_job_router_kind {
#define HR_JOB_ROUTER_NAME(name, text) name,
  HR_JOB_ROUTER_TABLE(HR_JOB_ROUTER_NAME)
#undef HR_JOB_ROUTER_NAME
      HR_N_JOB_ROUTERS
};

/* The maximum number of clusters with the router `multikueue`, as in kubernetes-sigs/kueue, apis/kueue: clusters of
   MultiKueueConfig, and nominated clusters of a workload (10 in early releases). */
enum { HR_MULTIKUEUE_CLUSTERS = 20 };

/* A rule of the router `affinity`, for some tenants and classes. For each job, the first rule that applies is used. If
   no rule applies to a job, the only preferred cluster is its home. The job is sent to the first preferred cluster that
   can run it and in which its predicted wait is at most max_wait_us. If no preferred cluster has such a wait and `only`
   is false, the rule `spill` selects another cluster with such a wait. If no cluster has such a wait, the job is sent
   to the first preferred cluster that can run it. */
struct hr_job_router_rule {
  char **tenants; /* [n_tenants]; n_tenants 0: any */
  uint32_t n_tenants;
  uint32_t classes;   /* a set of bits 1 << enum hr_job_class; 0: any */
  char **names;       /* [n_clusters]: the preferred clusters, in order */
  uint32_t *clusters; /* [n_clusters]: their indices */
  uint32_t n_clusters;
  bool only; /* the jobs are never sent to other clusters */
};

/*
 * The job router.
 *
 * With `local-first`, a job is spilled, that is sent to a cluster other than its home, if a bound is exceeded. The
 * bounds are max_waiting, max_wait_us and keep_deadlines. If none of them is set, a job is spilled if it would have to
 * wait at home.
 */
struct hr_job_router_spec {
  enum hr_job_router_kind kind;
  /* `local-first` and `affinity`: the rule by which the other clusters are compared: cheapest, shortest-predicted-wait
     or least-loaded */
  enum hr_job_router_kind spill;
  uint32_t max_waiting; /* `local-first`: maximum number of jobs that wait at home; HR_NONE: no bound */
  /* `local-first`: maximum predicted wait at home. Rules that compare clusters choose a cluster with a longer predicted
     wait only if the predicted wait is longer in all clusters that can run the job. HR_NEVER_US: no bound */
  int64_t max_wait_us;
  bool keep_deadlines;              /* `local-first`: spill jobs that are predicted to miss their deadline at home */
  int64_t budget_uusd;              /* `local-first`: maximum predicted cost of all spilled jobs; HR_NEVER_US: none */
  struct hr_job_router_rule *rules; /* [n_rules], of `affinity` */
  uint32_t n_rules;
  /* `multikueue`. true: a job gets copies in `step` more clusters in each round of length round_us; false: in all
     clusters at once */
  bool incremental;
  uint32_t step;
  int64_t round_us;
  int64_t timeout_us; /* `skypilot`: a job that has not started after this time is sent to the next cluster */
  /* `local-first`, `cheapest`, `shortest-predicted-wait`, `least-loaded`, `affinity` and `plugin`: interval at which
     waiting jobs that have never started are routed again; 0: never */
  int64_t reroute_us;
  uint32_t max_reroutes; /* how often a job may be moved to another cluster, also with `skypilot` */
  /* If a job would wait at most `local_wait_us` in a cluster that stores its data, only such clusters are considered.
     For routers that compare the loads of clusters. */
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

/* The result of one cluster. Its jobs are the jobs that are in the cluster at the end of the run, including replicas of
   services. */
struct hr_cluster_result {
  const char *name;                              /* borrowed from the configuration */
  uint64_t n_submitted, n_completed, n_rejected; /* its jobs */
  /* its jobs with their home in another cluster; jobs of other clusters with their home in this cluster */
  uint64_t n_spilled_in, n_spilled_out;
  /* [number of clusters], from malloc: its jobs by their home. Replicas, and jobs that have no home, are not counted */
  uint64_t *n_from;
  uint64_t n_rerouted; /* how many times a waiting job was moved from this cluster to another one */
  uint64_t n_passes;
  /* digest of the events of the cluster. A run of this cluster alone with the same jobs has the same digest */
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
 * Autoscalers request and release the nodes of elastic pools during a run. An autoscaler belongs to a cluster
 * (hr_cluster_spec.autoscaler) and manages all elastic pools of the cluster. Each elastic pool is a node group, and
 * hr_pool_spec.nodes is the maximum size of the group.
 */

/* The rules by which the cluster autoscaler chooses the pool in which it requests nodes. docs/planner/autoscaling.md
   describes them. The columns: enumerator, name in scenarios. */
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

/* An entry of hr_autoscaler_spec.expanders. */
struct hr_expander {
  enum hr_expander_kind kind;
};

/* A quota of the provider: the maximum number of GPUs of a type in a region, including nodes that were requested. */
struct hr_scaling_quota {
  char *gpu, *region; /* NULL: any */
  uint32_t max_gpus;
  bool *of_pool; /* [n_pools], from malloc: the elastic pools to which the quota applies */
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

/* The maximum number of nodes of a node pool that may be in removal at the same time. */
struct hr_disruption_budget {
  /* the maximum is `percent` of the nodes that have booted, rounded up. If `percent` is UINT32_MAX, the maximum is
     `nodes` */
  uint32_t nodes, percent;
  uint32_t reasons; /* the budget applies to these reasons: bits 1 << enum hr_disruption; 0: all reasons */
  /* a cron schedule in UTC. The budget applies for duration_us from each instant of the schedule. duration_us is at
     least one second. NULL: the budget always applies */
  char *schedule;
  int64_t duration_us;
};
/* Returns whether a text is a valid schedule: the five fields of cron, or @hourly, @daily, @weekly, @monthly or
   @yearly. */
HR_API bool hr_disruption_schedule_is_valid(const char *schedule);

/* The name of an elastic pool. */
struct hr_named_pool {
  char *name;
};
/* A node pool of Karpenter: several elastic pools with common rules. */
struct hr_node_pool {
  char *name;
  struct hr_named_pool *pools; /* [n_pools], from malloc: the names of its elastic pools */
  uint32_t n_pools;
  bool *of_pool;   /* by pool of the cluster, from malloc: the pool belongs to this node pool */
  uint32_t weight; /* new nodes are requested from the node pool with the highest weight that can have them */
  /* maximum of the sums over all its nodes, including nodes that were requested. UINT32_MAX or INT64_MAX: no limit */
  uint32_t max_nodes, max_gpus;
  int64_t max_cpu_milli, max_mem_mib;
  enum hr_consolidation consolidation; /* which of its nodes are removed */
  /* a node is removed by consolidation only if this time has passed since its boot and since the last start or end of a
     job on the node */
  int64_t consolidate_after_us;
  int64_t expire_us; /* a node is removed when this time has passed since its request; HR_NEVER_US: never */
  struct hr_disruption_budget *budgets; /* [n_budgets], from malloc; the smallest budget that applies limits removals */
  uint32_t n_budgets;
  /* [n_drifts], from malloc: times at which the template of the nodes changes; nodes that were requested before such a
     time are replaced */
  int64_t *drifts_us;
  uint32_t n_drifts;
};

/* An autoscaler. The members up to failure_share are settings of Kubernetes' cluster autoscaler. Of these, Karpenter
   uses provision_us, quotas and failure_share, too. The defaults are in scenarios/schema/keys_pool.c. */
struct hr_autoscaler_spec {
  int64_t scan_us; /* the autoscaler scans the cluster at multiples of this time */
  /* [n_expanders], from malloc: rules that select pools. Each rule is applied to the pools that the previous rule has
     selected. If the last rule selects several pools, one of them is drawn at random. NULL: least-waste */
  struct hr_expander *expanders;
  uint32_t n_expanders;
  bool balances;      /* new nodes are divided among similar pools */
  uint32_t max_nodes; /* maximum number of nodes of the cluster; 0: no limit */
  /* no scale-up before the oldest job that needs nodes has waited for new_job_us. If jobs with GPUs need nodes, the
     oldest of them must also have waited for new_gpu_job_us */
  int64_t new_job_us, new_gpu_job_us;
  /* a requested node that has not booted within this time is removed. For the cluster autoscaler, this is a failed
     scale-up of the pool */
  int64_t provision_us;
  /* After a failed scale-up, no nodes of the pool are requested for backoff_us. Each further failure doubles this time,
     up to max_backoff_us. backoff_reset_us after the last failure, the time is backoff_us again. */
  int64_t backoff_us, max_backoff_us, backoff_reset_us;
  /* A node is removed if it was unneeded for longer than unneeded_us. A node without jobs is unneeded, unless a waiting
     job would be placed on it. With `drains`, a node is also unneeded if at most utilization_threshold of its GPUs are
     allocated and its jobs fit on other nodes. */
  int64_t unneeded_us;
  double utilization_threshold;
  bool drains;
  /* no removals for this time after a scale-up, after a removal, and after a failed scale-up */
  int64_t after_add_us, after_delete_us, after_failure_us;
  uint32_t max_deletions, max_drains; /* maximum number of nodes, and of nodes with jobs, that one scan removes */
  struct hr_scaling_quota *quotas;    /* [n_quotas], from malloc */
  uint32_t n_quotas;
  /* [n_pools], from malloc: the probability that the provider has no capacity for a requested node; NULL: 0 */
  double *failure_share;
  enum hr_node_autoscaler kind;
  /* ---- Karpenter ---- */
  struct hr_node_pool *node_pools; /* [n_node_pools], from malloc */
  uint32_t n_node_pools;
  /* Jobs that begin to wait form a batch. Nodes for the batch are requested when no further job has begun to wait for
     batch_idle_us, and at the latest batch_max_us after its first job. */
  int64_t batch_idle_us, batch_max_us;
  int64_t unavailable_us; /* a pool without capacity is not tried again for this time */
  bool spot_to_spot;      /* spot nodes may be replaced by cheaper spot nodes */
};

/* Frees a specification and everything that it points to. NULL is accepted. */
HR_API void hr_autoscaler_spec_destroy(struct hr_autoscaler_spec *spec);

struct hr_cluster;
/* Returns whether an autoscaler manages the nodes of elastic pools. If so, the policy must not request or release nodes
   of these pools. */
HR_API bool hr_cluster_is_autoscaled(const struct hr_cluster *cluster);

#ifdef __cplusplus
}
#endif

#endif
