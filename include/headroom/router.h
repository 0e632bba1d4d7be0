/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_ROUTER_H
#define HEADROOM_ROUTER_H

/*
 * The interface of a job router in a shared object. The router sends each job that is submitted to one of several
 * clusters. With `router.reroute_s` of the scenario, it is asked again for jobs that wait.
 *
 * A router is called for one job at a time, in the order of events. Its decisions must depend only on its arguments and
 * on its own state, so that equal runs have equal results.
 */

#include "headroom/policy.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_ROUTER_ABI 1u

/* A cluster, when a job is sent. GPUs are in thousandths. */
struct hr_router_cluster {
  const char *name;
  bool eligible;       /* the cluster could run the job if it were empty, and serves its tenant */
  bool has_data;       /* the job would read its data set without a link; true for jobs that read nothing */
  uint32_t n_waiting;  /* jobs that wait in it */
  uint64_t size_milli; /* of all nodes, including those that can be requested */
  uint64_t used_milli; /* allocated, or requested by waiting jobs */
  /* predicted wait of the job: 0 if it fits at once; HR_NEVER_US if the cluster has no GPUs or is not eligible */
  int64_t wait_us;
  /* the lowest additional price of a GPU hour for the job, in micro-dollars: 0 for owned and reserved nodes;
     HR_NEVER_US if the cluster is not eligible, HR_NEVER_US - 1 if no price is known */
  int64_t price_uusd_h;
};

/* The job that is sent. */
struct hr_router_job {
  hr_job job;       /* its number in hr_router_env.jobs, which has its other properties */
  uint64_t milli;   /* its GPUs, in thousandths */
  int64_t now_us;   /* time of the run */
  int64_t run_us;   /* expected run time: its estimate, otherwise its limit, otherwise its run time */
  int64_t slack_us; /* from now to its deadline; HR_NEVER_US: it has none */
  uint32_t home;    /* index of its home cluster, see docs/glossary.md */
  uint32_t present; /* index of the cluster in which it waits now; HR_NONE: it was just submitted */
};

/* The input of a router. Everything is borrowed and valid until the end of the run. */
struct hr_router_env {
  uint32_t size;          /* size of this struct in bytes; later versions add members at the end only */
  struct hr_arena *arena; /* memory that is freed after the run */
  const struct hr_trace *jobs;
  const char *const *names; /* [n_clusters]: names of the clusters */
  uint32_t n_clusters;
  const struct hr_param_value *params; /* [number of entries of the router's table] */
};

/* A router. Instances are immutable; they are shared by runs and threads. */
struct hr_router_ops {
  uint32_t abi;  /* HR_ROUTER_ABI */
  uint32_t size; /* sizeof (struct hr_router_ops). Later versions add members at the end only */
  const char *name, *summary;
  const struct hr_param *params; /* numbers and booleans; terminated by a NULL key; may be NULL */
  /* Creates the state of a router for one run. `*self` is passed to the other functions. On failure, writes `error` and
     returns a status other than HR_OK. NULL: the router has no state. */
  enum hr_status (*create)(const struct hr_router_env *env, void **self, struct hr_error *error);
  /* Returns the index of an eligible cluster; HR_NONE: the job is sent home, and rejected there if it cannot run there.
     `clusters`: [n_clusters], in the order of the scenario, valid during the call. */
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
