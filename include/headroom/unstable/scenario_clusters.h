/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_SCENARIO_CLUSTERS_H
#define HEADROOM_UNSTABLE_SCENARIO_CLUSTERS_H

/* The clusters of a scenario: its sections `clusters` and `router`; and whether replicas of services fit into them. */

#include "headroom/policies.h"
#include "headroom/scenario.h"
#include "headroom/unstable/clusters.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A cluster of a scenario. */
struct hr_scenario_cluster {
  char *name;
  char **tenants; /* [n_tenants]: tenants that have this cluster as their home */
  uint32_t n_tenants;
  char **only; /* [n_only]: it serves only these tenants; n_only 0: all */
  uint32_t n_only;
  bool own_policy;              /* the cluster has a policy of its own; otherwise that of the scenario */
  struct hr_scenario *scenario; /* pools, policy, quotas, classes and speeds of the cluster */
};

/* The clusters of a scenario. hr_scenario.cluster has the pools of all of them, named "CLUSTER/POOL". */
struct hr_scenario_clusters {
  struct hr_scenario_cluster *at; /* [count] */
  uint32_t count;
  struct hr_job_router_spec router;
  struct hr_router_choice router_plugin; /* with a router in a shared object: the data that `router` borrows */
  struct hr_cluster_part *parts;         /* [count]: the same for hr_sim_run; borrows from `at` */
};

/* Writes the path of a pool in the scenario file, such as "cluster.pools.0" or "clusters.1.pools.0", and returns
   `text`. `pool`: its index in scenario->cluster. */
enum { HR_POOL_PATH_BYTES = 60 };
HR_API const char *hr_scenario_pool_path(const struct hr_scenario *scenario, uint32_t pool,
                                         char text[HR_POOL_PATH_BYTES]);
/* Copies changed values of the pools of the whole scenario to those of its clusters. */
HR_API void hr_scenario_clusters_update(struct hr_scenario *scenario);

/* Whether the replicas of all services, if their numbers are fixed, fit into the pools at once and hold their GPUs for
   the whole run. If so, hr_service_run gives the results of a run in which replicas are jobs. HR_NO_MEMORY. */
struct hr_service;
HR_API enum hr_status hr_replicas_fit(const struct hr_scenario *scenario, bool *fit, struct hr_error *error);
/* Finds why no pool with nodes can hold a replica of a service; HR_REASON_NONE: one can. HR_NO_MEMORY. */
HR_API enum hr_status hr_replica_refusal(const struct hr_scenario *scenario, const struct hr_service *service,
                                         enum hr_reason *reason, struct hr_error *error);

#ifdef __cplusplus
}
#endif

#endif
