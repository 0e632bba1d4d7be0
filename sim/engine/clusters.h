/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_ENGINE_CLUSTERS_H
#define HR_SIM_ENGINE_CLUSTERS_H

/*
 * The state of a run with several clusters, for clusters.c (engines, loop and copy of the state of all pools),
 * routing.c (offers of the clusters to jobs, and the choice among them; jobs that wait in several clusters, or are sent
 * to another one).
 */

#include "headroom/unstable/clusters.h"
#include "sim/clusters/clusters.h"
#include "sim/engine/engine.h"

/* A cluster of the run. The members before the engine are used at each event. */
struct hr__part {
  struct hr__clusters *all;
  uint32_t index;                  /* in hr__clusters.at */
  uint32_t first_pool, first_node; /* in the whole run */
  /* what the whole run has already counted of this cluster */
  uint32_t n_waiting, n_running;
  uint64_t allocated_milli, total_milli;
  uint64_t waiting_milli; /* milli-GPUs that waiting jobs request */
  /* at the present instant */
  uint64_t n_events, n_others; /* before the instant: all events; those that are not wake-ups of the policy */
  uint64_t n_ended;            /* jobs that had completed or were rejected */
  uint64_t idle_digest;        /* the digest at the last time at which all jobs so far had ended */
  bool is_outdated;            /* since then, only the policy would have woken up */
  uint32_t n_home, n_replicas; /* for numbers of replicas of services: jobs of the input; replicas so far */
  hr_job *going;               /* from malloc: jobs that its policy must reject in its next pass (routing.c) */
  uint32_t n_going, going_capacity;
  /* for the router, if it predicts waits: the running jobs, and the sum over waiting jobs of milli-GPUs x expected run
     time */
  struct hr__expected_releases releases;
  hr_amount waiting_work;
  struct hr__engine engine;
  struct hr_run_config config;
  struct hr_observer observer;
  struct hr_cluster_result result;
  bool has_kinds; /* the price of a job follows from its traits, see struct hr__traits */
};

/* All properties of a job that determine whether an empty cluster could run it, and its price there. */
struct hr__traits {
  uint32_t request; /* in per-GPU allocation, otherwise the number of GPUs */
  uint32_t gpu_types, regions, class_, mig_profile, flags, model;
  uint64_t gpu_mem_mib;
};

/* The offers of all clusters to jobs, by their traits. A row has a price of a GPU hour for each cluster: HR_NEVER_US if
   the cluster can never run such jobs, HR__OFFER_UNKNOWN if it is not computed yet. If the table is full, rows are
   computed for each job. */
enum { HR__OFFER_ROWS = 1024, HR__OFFER_SLOTS = 4 * HR__OFFER_ROWS, HR__PLAIN_GPUS = 64, HR__OFFER_UNKNOWN = -1 };
struct hr__offers {
  struct hr__traits *traits; /* [HR__OFFER_ROWS] */
  int64_t *price;            /* [HR__OFFER_ROWS + 1][count]; the last row is scratch */
  uint32_t *same_as;         /* by row: the first row with the same prices; HR_NONE: not known */
  uint32_t *slot;            /* [HR__OFFER_SLOTS]: hash table of rows + 1; 0: free */
  uint32_t *plain;           /* [HR__PLAIN_GPUS]: row + 1 by GPUs, if jobs differ in nothing else */
  uint32_t n_rows;
  /* the row with the prices of the loads; of rows with equal prices, the first. HR_NONE: the loads do not have the
     prices of a row */
  uint32_t asked;
  bool is_plain, by_model;
};

/* The copies of a job, if jobs may have several copies or may be routed again. Sets of clusters are bits. */
enum { HR__MAX_COPIES = 64 };
struct hr__sending {
  uint64_t copies;       /* clusters with policies that know the job */
  uint64_t leaving;      /* subset of `copies`: clusters that it must leave */
  uint64_t tried;        /* clusters that were nominated, or in which it did not start in time */
  uint32_t target;       /* the next cluster, after it has left the present one; HR_NONE: none */
  uint32_t n_moves;      /* how many times it was routed again */
  int64_t sent_us;       /* when it was sent to its cluster */
  bool is_sent;          /* it has been submitted to a cluster */
  uint8_t state, reason; /* the true values, during the pass of a cluster that the job leaves */
};

struct hr__clusters {
  const struct hr_clusters *spec;
  struct hr__engine *whole;
  struct hr__part *at; /* [spec->count] */
  int64_t *next_us;    /* [n_blocks << block_bits] time of the next event of each cluster; HR_NEVER_US: none */
  int64_t *first_us;   /* [n_blocks] the earliest of these times in each block */
  uint32_t n_blocks, block_bits;
  uint64_t *awake;          /* [(count + 63) / 64]: clusters with events at the present instant */
  uint32_t *home;           /* by tenant of the trace, then one for jobs without a tenant */
  uint32_t *of_job;         /* the cluster of each job; HR_NONE before it is submitted */
  uint64_t *flows;          /* [count][count]: at the end, the jobs of each cluster by their home */
  uint32_t *number;         /* of each job among the jobs of its cluster */
  int64_t *expected_end_us; /* of running jobs; NULL unless the router predicts waits */
  struct hr__offers offers;
  struct hr__cluster_load *loads; /* by cluster; sizes and counts are always up to date */
  struct hr_slice *slices;        /* of one event, with the numbers of the whole run */
  uint32_t n_slices;
  int64_t spilled_uusd;
  bool predicts;   /* the router uses predicted waits */
  uint8_t *serves; /* [tenants + 1][count]: the cluster serves the tenant; NULL: all serve all */
  uint32_t *rule;  /* [tenants + 1][HR_N_CLASSES]: rule of `affinity` + 1; NULL: other routers */
  const uint8_t *asked_serves;
  /* the router of a shared object */
  struct {
    void *self;
    struct hr_router_cluster *clusters; /* [count]: the input of the router */
    struct hr__policy_call *call;
    bool created;
    enum hr_status failed; /* HR_OK, unless an answer of the router was wrong */
  } plugin;
  /* the following only if jobs may have copies (routing.c) */
  struct hr__sending *sending; /* by job; NULL: each job stays where it is sent */
  hr_job *todo;                /* jobs that have started, or have left a cluster, in this pass */
  uint32_t n_todo, todo_capacity;
  uint64_t n_extra;  /* copies in addition to the first copy or the running job */
  uint32_t stays;    /* if a waiting job is routed again: its present cluster; HR_NONE: a new job is routed */
  int64_t waited_us; /* how long the job has waited in its present cluster */
  bool is_copy;      /* the job that is being submitted was submitted before */
};

/* Returns the expected run time of a job: its estimate, otherwise its limit, otherwise its run time. */
static inline int64_t hr__expected_us(const struct hr_trace *trace, hr_job job) {
  if (trace->estimate_us && trace->estimate_us[job.id] != HR_UNKNOWN_US) return trace->estimate_us[job.id];
  if (trace->limit_us && trace->limit_us[job.id] != HR_UNKNOWN_US) return trace->limit_us[job.id];
  return trace->work_us[job.id];
}

/* ---- clusters.c ---- */

/* Begins the present instant in a cluster, if it has not begun yet: handles the events before submissions. */
enum hr_status hr__clusters_wake(struct hr__part *part, int64_t now_us);
/* Returns the number of a job of the input that is submitted next to a cluster. */
static inline uint32_t hr__clusters_job_number(const struct hr__part *part) {
  return (uint32_t)part->engine.n_submitted - part->n_replicas;
}
/* Updates the counts of the whole run from the cluster. The counts change just before an event is emitted, or when a
   job is submitted. */
void hr__clusters_count(struct hr__part *part);
/* Adds a job to the waiting jobs that the router counts, or removes it. */
static inline void hr__clusters_count_waiting(struct hr__part *part, hr_job job, bool waits) {
  const struct hr__engine *whole = part->all->whole;
  const uint64_t milli = hr_cluster_asked_milli(&whole->cluster, job);
  part->waiting_milli += waits ? milli : -milli;
  if (!part->all->predicts) return;
  const hr_amount work = (hr_amount)milli * hr__expected_us(whole->trace, job);
  part->waiting_work += waits ? work : -work;
}

/* ---- routing.c, dispatch: only if `sending` is not NULL, except hr__dispatch_begin ---- */

enum hr_status hr__dispatch_begin(struct hr__clusters *all);
/* Sends a job that is submitted. */
enum hr_status hr__dispatch_submit(struct hr__clusters *all, hr_job job, int64_t now_us);
/* Records that a job has started in a cluster. */
enum hr_status hr__dispatch_started(struct hr__part *part, hr_job job);
/* Records that a policy has rejected a job. Returns whether other copies of the job wait; then the job is not rejected.
 */
bool hr__dispatch_rejected(struct hr__part *part, hr_job job);
/* Before a pass of a cluster: sets the state of the jobs that must leave it to waiting. After the pass: restores their
   states. */
void hr__dispatch_disguise(struct hr__part *part);
void hr__dispatch_undisguise(struct hr__part *part);
/* After a pass: withdraws the other copies of jobs that have started, and sends jobs to their next clusters. */
enum hr_status hr__dispatch_go_on(struct hr__clusters *all, int64_t now_us);
/* hr__dispatch_timers routes the jobs again that are due; hr__dispatch_next_us returns the next time at which a job is
   due; hr__dispatch_is_idle returns whether further calls would change nothing if the clusters have no further events.
   */
enum hr_status hr__dispatch_timers(struct hr__clusters *all, int64_t now_us);
int64_t hr__dispatch_next_us(struct hr__clusters *all);
bool hr__dispatch_is_idle(const struct hr__clusters *all);

/* ---- routing.c, choice of a cluster ---- */

/* Allocates what routing needs, after all engines were created. */
enum hr_status hr__routing_begin(struct hr__clusters *all);
/* Frees the state of the router. */
void hr__routing_end(struct hr__clusters *all);
/* Returns the cluster for a job that is submitted now; HR_NONE: no cluster may run it. Sets `plugin.failed` if the
   router of a shared object gives a wrong answer. */
uint32_t hr__routing_choose(struct hr__clusters *all, hr_job job, int64_t now_us);
/* Returns the home of a job; HR_NONE: no cluster serves its tenant. */
uint32_t hr__routing_home(const struct hr__clusters *all, hr_job job);

#endif
