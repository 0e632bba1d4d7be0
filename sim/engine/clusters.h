/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_ENGINE_CLUSTERS_H
#define HR_SIM_ENGINE_CLUSTERS_H

/*
 * The state of a run with several clusters. clusters.c has the engines, the loop, and a copy of the state of all pools.
 * routing.c chooses a cluster for each job. It also handles jobs that wait in several clusters, and jobs that are sent
 * to another cluster while they wait.
 */

#include "headroom/unstable/clusters.h"
#include "sim/clusters/clusters.h"
#include "sim/engine/engine.h"

/* A cluster of the run. The members before the engine are used at each event. */
struct hr__part {
  struct hr__clusters *all;
  uint32_t index;                  /* in hr__clusters.at */
  uint32_t first_pool, first_node; /* the numbers of its first pool and node in the whole run */
  /* the values that are already included in the view of the whole run */
  uint32_t n_waiting, n_running;
  uint64_t allocated_milli, total_milli;
  uint64_t waiting_milli; /* milli-GPUs that waiting jobs request */
  /* the number of events before the present instant; the number of these events that are not wake-ups of the policy */
  uint64_t n_events, n_others;
  uint64_t n_ended;     /* the number of jobs that had completed or were rejected at the last instant of the cluster */
  uint64_t idle_digest; /* the digest when a run of this cluster alone would have ended, see note_idle */
  bool is_outdated;     /* only an outdated wake-up of the policy is pending */
  /* for the numbers of replicas of services. n_home: the number of the first replica, see count_homes. n_replicas: how
     many replicas were submitted so far */
  uint32_t n_home, n_replicas;
  hr_job *going; /* from malloc: the jobs that the policy of the cluster must reject in its next pass (routing.c) */
  uint32_t n_going, going_capacity;
  /* only if the router predicts waits: the expected ends of the running jobs; the sum over all waiting jobs of
     milli-GPUs * expected run time in microseconds */
  struct hr__expected_releases releases;
  hr_amount waiting_work;
  struct hr__engine engine;
  struct hr_run_config config;
  struct hr_observer observer;
  struct hr_cluster_result result;
  bool has_kinds; /* the price of a job depends only on its traits, see struct hr__traits */
};

/* The properties of a job that determine whether an empty cluster could run the job, and at what price. */
struct hr__traits {
  uint32_t request; /* in per-GPU allocation: the number of the request. In counted allocation: the number of GPUs */
  uint32_t gpu_types, regions, class_, mig_profile, flags, model;
  uint64_t gpu_mem_mib;
};

/* The offers of all clusters to jobs, by the traits of the jobs. A row has the price of a GPU hour in each cluster. The
   price is HR_NEVER_US if the cluster can never run such jobs, and HR__OFFER_UNKNOWN if it is not computed yet. If the
   table is full, the prices of jobs with other traits are computed for each job. */
enum { HR__OFFER_ROWS = 1024, HR__OFFER_SLOTS = 4 * HR__OFFER_ROWS, HR__PLAIN_GPUS = 64, HR__OFFER_UNKNOWN = -1 };
struct hr__offers {
  struct hr__traits *traits; /* [HR__OFFER_ROWS] */
  int64_t *price;            /* [HR__OFFER_ROWS + 1][count]; the last row is temporary */
  uint32_t *same_as;         /* by row: the first row with the same prices; HR_NONE: not known */
  uint32_t *slot;            /* [HR__OFFER_SLOTS]: hash table with the values row + 1; 0: free */
  uint32_t *plain;           /* [HR__PLAIN_GPUS]: row + 1 by number of GPUs; 0: no row yet. Used only if is_plain */
  uint32_t n_rows;
  /* the loads (hr__clusters.loads) have the prices of this row. If several rows have these prices, `asked` is the first
     of them. HR_NONE: no row has the prices of the loads */
  uint32_t asked;
  /* is_plain: jobs differ only in their number of GPUs. by_model: the price may depend on the model of a job */
  bool is_plain, by_model;
};

/* The copies of a job. Used only if jobs may have several copies or may be routed again. In a set of clusters, bit i is
   the cluster with index i. */
enum { HR__MAX_COPIES = 64 };
struct hr__sending {
  uint64_t copies;  /* set of clusters: the policy of the cluster knows the job */
  uint64_t leaving; /* subset of `copies`: the job must leave the cluster */
  uint64_t tried;   /* set of clusters: the cluster was nominated, or the job did not start there in time */
  uint32_t target;  /* the cluster to which the job is sent when it has left its present cluster; HR_NONE: none */
  uint32_t n_moves; /* how many times the job was routed again */
  int64_t sent_us;  /* when the job was last sent to a cluster */
  bool is_sent;     /* the job has been submitted to a cluster */
  /* during a pass of a cluster that the job must leave: the true state of the job (see hr__dispatch_disguise) */
  uint8_t state, reason;
};

struct hr__clusters {
  const struct hr_clusters *spec;
  struct hr__engine *whole;
  struct hr__part *at; /* [spec->count] */
  int64_t *next_us;    /* [n_blocks << block_bits]: time of the next event of each cluster; HR_NEVER_US: none */
  int64_t *first_us;   /* [n_blocks]: the earliest of these times in each block */
  uint32_t n_blocks, block_bits;
  uint64_t *awake;          /* [(count + 63) / 64]: set of clusters in which the present instant has begun */
  uint32_t *home;           /* home cluster by tenant of the trace; the last entry is for jobs without a tenant */
  uint32_t *of_job;         /* by job: its cluster; HR_NONE before the job is submitted */
  uint64_t *flows;          /* [count][count]: the number of jobs by cluster and home; set at the end of the run */
  uint32_t *number;         /* by job: its number among the jobs of its cluster */
  int64_t *expected_end_us; /* by running job; NULL unless the router predicts waits */
  struct hr__offers offers;
  struct hr__cluster_load *loads; /* by cluster; sizes and counts are always up to date */
  struct hr_slice *slices;        /* the slices of the event that is being handled, with nodes of the whole run */
  uint32_t n_slices;
  int64_t spilled_uusd; /* see hr__job_router_choose */
  bool predicts;        /* the router uses predicted waits */
  uint8_t *serves;      /* [tenants + 1][count]: the cluster serves the tenant. NULL: all clusters serve all tenants */
  uint32_t *rule;       /* [tenants + 1][HR_N_CLASSES]: number of the rule of `affinity` + 1. NULL: another router */
  const uint8_t *asked_serves; /* the row of `serves` for which `loads` was last computed */
  /* the router of a shared object */
  struct {
    void *self;
    struct hr_router_cluster *clusters; /* [count]: the input of the router */
    struct hr__policy_call *call;
    bool created;
    enum hr_status failed; /* not HR_OK if an answer of the router was wrong */
  } plugin;
  /* the following members are used only if jobs may have copies or may be routed again (routing.c) */
  struct hr__sending *sending; /* by job. NULL: each job remains in the cluster to which it is sent first */
  hr_job *todo;                /* the jobs that have started, or have left a cluster, in the present pass */
  uint32_t n_todo, todo_capacity;
  uint64_t n_extra;  /* the number of copies of all jobs minus the number of jobs with copies */
  uint32_t stays;    /* while a waiting job is routed again: its present cluster. HR_NONE: a new job is routed */
  int64_t waited_us; /* how long this waiting job has waited in its present cluster */
  bool is_copy;      /* the job that is being submitted was already submitted to another cluster */
};

/* Returns the expected run time of a job. This is the first known value of: its estimate, its time limit, its work. */
static inline int64_t hr__expected_us(const struct hr_trace *trace, hr_job job) {
  if (trace->estimate_us && trace->estimate_us[job.id] != HR_UNKNOWN_US) return trace->estimate_us[job.id];
  if (trace->limit_us && trace->limit_us[job.id] != HR_UNKNOWN_US) return trace->limit_us[job.id];
  return trace->work_us[job.id];
}

/* ---- clusters.c ---- */

/* Returns the cluster of an engine in a run with several clusters. */
static inline struct hr__part *hr__part_of(const struct hr__engine *engine) {
  return (struct hr__part *)((char *)(uintptr_t)engine - offsetof(struct hr__part, engine));
}

/* Begins the present instant in a cluster: handles the events before submissions. Has no effect if the instant has
   already begun there. */
enum hr_status hr__clusters_wake(struct hr__part *part, int64_t now_us);
/* Returns the number that the next job of the input gets if it is submitted to this cluster. */
static inline uint32_t hr__clusters_job_number(const struct hr__part *part) {
  return (uint32_t)part->engine.n_submitted - part->n_replicas;
}
/* Updates the counts in the view of the whole run from the counts of a cluster. */
void hr__clusters_count(struct hr__part *part);
/* With `waits`, adds a job to the waiting jobs that the router counts. Without `waits`, removes it. */
static inline void hr__clusters_count_waiting(struct hr__part *part, hr_job job, bool waits) {
  const struct hr__engine *whole = part->all->whole;
  const uint64_t milli = hr_cluster_asked_milli(&whole->cluster, job);
  part->waiting_milli += waits ? milli : -milli;
  if (!part->all->predicts) return;
  const hr_amount work = (hr_amount)milli * hr__expected_us(whole->trace, job);
  part->waiting_work += waits ? work : -work;
}

/* ---- routing.c, dispatch: only if `sending` is not NULL, except hr__dispatch_begin ---- */

/* Allocates `sending` if jobs may have copies or may be routed again. Returns HR_BAD_INPUT if the run has more
   clusters than the router supports. */
enum hr_status hr__dispatch_begin(struct hr__clusters *all);
/* Sends a job that is submitted to one or more clusters. */
enum hr_status hr__dispatch_submit(struct hr__clusters *all, hr_job job, int64_t now_us);
/* Records that a job has started in a cluster. */
enum hr_status hr__dispatch_started(struct hr__part *part, hr_job job);
/* Records that the policy of a cluster has rejected a job. If other clusters have copies of the job, returns true, and
   the job is not rejected. Returns false in all other cases. */
bool hr__dispatch_rejected(struct hr__part *part, hr_job job);
/* hr__dispatch_disguise is called before a pass of a cluster. It sets the state of the jobs that must leave the cluster
   to waiting. hr__dispatch_undisguise is called after the pass. It restores the states of these jobs, except of jobs
   that the policy has started in the pass. */
void hr__dispatch_disguise(struct hr__part *part);
void hr__dispatch_undisguise(struct hr__part *part);
/* Called after a pass. Withdraws the other copies of jobs that have started, and sends jobs that have left a cluster to
   their next cluster. */
enum hr_status hr__dispatch_go_on(struct hr__clusters *all, int64_t now_us);
/* A waiting job is due when it must be routed again. hr__dispatch_timers routes all jobs that are due now.
   hr__dispatch_next_us returns the next time at which a job is due; HR_NEVER_US: never. hr__dispatch_is_idle returns
   whether routing jobs again would change nothing if the clusters have no further events. */
enum hr_status hr__dispatch_timers(struct hr__clusters *all, int64_t now_us);
int64_t hr__dispatch_next_us(struct hr__clusters *all);
bool hr__dispatch_is_idle(const struct hr__clusters *all);

/* ---- routing.c, choice of a cluster ---- */

/* Allocates the data of the router. Must be called after all engines were created. */
enum hr_status hr__routing_begin(struct hr__clusters *all);
/* Frees the state of the router. */
void hr__routing_end(struct hr__clusters *all);
/* Returns the cluster for a job that is submitted or routed again now. Returns HR_NONE if the job may not run in any
   cluster. If the router of a shared object returns a wrong cluster, sets `plugin.failed`. */
uint32_t hr__routing_choose(struct hr__clusters *all, hr_job job, int64_t now_us);
/* Returns the home cluster of a job. Returns HR_NONE if no cluster serves the tenant of the job. */
uint32_t hr__routing_home(const struct hr__clusters *all, hr_job job);

#endif
