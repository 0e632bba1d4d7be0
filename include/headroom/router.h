/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_ROUTER_H
#define HEADROOM_ROUTER_H

/*
 * The interface of a job router in a shared object. The router selects one of several clusters for each job that is
 * submitted. With `router.reroute_s` of the scenario, the router is called again for jobs that wait.
 *
 * A router is called for one job at a time, in the order of events. Its decisions must depend only on its arguments and
 * on its own state, so that equal runs have equal results.
 */

#include "headroom/policy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. Headroom refuses routers that were compiled for another version. */
#define HR_ROUTER_ABI 1u

/* The state of a cluster, for the selection of a cluster for one job. */
struct hr_router_cluster {
  const char *name;
  bool eligible;       /* the cluster could run the job if it were empty, and serves its tenant */
  bool has_data;       /* a storage system in the cluster has the data set of the job, or the job reads no data set */
  uint32_t n_waiting;  /* number of jobs that wait in the cluster */
  uint64_t size_milli; /* milli-GPUs of all nodes, including nodes that can be requested */
  uint64_t used_milli; /* milli-GPUs that are allocated, plus those that waiting jobs request */
  /* predicted wait of the job: 0 if it fits at once; HR_NEVER_US if the cluster has no GPUs or is not eligible */
  int64_t wait_us;
  /* the lowest additional price of a GPU-hour for the job, in micro-dollars: 0 for owned and reserved nodes;
     HR_NEVER_US if the cluster is not eligible, HR_NEVER_US - 1 if no price is known */
  int64_t price_uusd_h;
};

/* The job for which a cluster is selected. */
struct hr_router_job {
  hr_job job;       /* id of the job in hr_router_env.jobs, which has its other properties */
  uint64_t milli;   /* milli-GPUs that the job requests */
  int64_t now_us;   /* present time */
  int64_t run_us;   /* expected run time, see hr_trace_estimate_us */
  int64_t slack_us; /* time from now until the deadline of the job; HR_NEVER_US: the job has no deadline */
  uint32_t home;    /* index of the home cluster of the job, see docs/glossary.md */
  uint32_t present; /* index of the cluster in which the job waits now; HR_NONE: it was just submitted */
};

/* The input of a router. The struct is valid during `create`; everything to which it points is borrowed and valid until
   the end of the run. */
struct hr_router_env {
  uint32_t size;          /* size of this struct in bytes; later versions add members at the end only */
  struct hr_arena *arena; /* memory that is freed after the run */
  const struct hr_trace *jobs;
  const char *const *names; /* [n_clusters]: names of the clusters */
  uint32_t n_clusters;
  const struct hr_param_value *params; /* [number of entries of the router's table] */
};

/* A router: its name, parameters and functions. The struct is immutable; runs and threads share it. The state of the
   router in a run is separate, see `create`. */
struct hr_router_ops {
  uint32_t abi;  /* HR_ROUTER_ABI */
  uint32_t size; /* sizeof (struct hr_router_ops). Later versions add members at the end only */
  const char *name, *summary;
  const struct hr_param *params; /* numbers and booleans; terminated by a NULL key; may be NULL */
  /* Creates the state of a router for one run, and sets `*self` to it. `*self` is passed to the other functions. On
     failure, writes `error` and returns HR_BAD_INPUT; HR_NO_MEMORY needs no message. NULL: the router has no state. */
  enum hr_status (*create)(const struct hr_router_env *env, void **self, struct hr_error *error);
  /* Returns the index of an eligible cluster. HR_NONE: the job is sent to its home cluster, which rejects the job if it
     cannot run there. Any other index ends the run with HR_BAD_POLICY. `clusters`: [n_clusters], in the order of the
     scenario, valid during the call. */
  uint32_t (*choose)(void *self, const struct hr_router_job *job, const struct hr_router_cluster *clusters,
                     uint32_t n_clusters);
  /* Frees what `create` allocated outside the arena. May be NULL. */
  void (*destroy)(void *self);
};

/* Defines the router of a source file that is compiled as a shared object: HR_ROUTER(name) = {HR_ROUTER_HEAD, .name =
   ..., .summary = ..., .choose = ...}. */
#define HR_ROUTER_HEAD .abi = HR_ROUTER_ABI, .size = sizeof(struct hr_router_ops)
#define HR_ROUTER(id)                                                                                                  \
  extern const struct hr_router_ops hr__router_##id;                                                                   \
  HR_API const struct hr_router_ops *headroom_router(void);                                                            \
  const struct hr_router_ops *headroom_router(void) {                                                                  \
    return &hr__router_##id;                                                                                           \
  }                                                                                                                    \
  const struct hr_router_ops hr__router_##id

#ifdef __cplusplus
}
#endif
#endif
