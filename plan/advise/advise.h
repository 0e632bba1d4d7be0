/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_ADVISE_ADVISE_H
#define HR_PLAN_ADVISE_ADVISE_H

/* The internal state of the advice: profile, proposals and results. The files of plan/advise share it. Pools are
   elastic if nodes are paid for only while they are acquired (on-demand, spot); other pools are fixed. */

#include "base/text.h"
#include "headroom/unstable/catalog.h"
#include "headroom/unstable/planning.h"
#include "plan/runner/runner.h"
#include "plan/search/search.h"

#include <math.h>
#include <stdlib.h>

/* ---- The profile of one run ------------------------------------------------------------------------- */

/* The use of one pool by the jobs of one class. "milli" in a name: in thousandths of a GPU. All sums are over the whole
   run. */
struct hr__pool_use {
  hr__wide allocated_milli_us;       /* GPU time allocated */
  hr__wide allocated_times_nodes;    /* allocated GPU time, weighted by the number of nodes of the job */
  hr__wide lost_milli_us;            /* lost work of jobs with their last attempt in the pool */
  hr__wide uninterruptible_milli_us; /* GPU time allocated to jobs that must not be interrupted */
  uint64_t starts, long_starts;      /* starts of all jobs; long_starts: of jobs that take more than an hour */
  uint64_t milli, peak_milli;        /* GPUs allocated now; peak_milli: maximum over the run */
  uint64_t max_mem_mib;              /* largest request of a job for memory of one GPU */
  uint64_t mem_unknown;              /* starts of jobs with unknown GPU memory */
  uint64_t typed;                    /* starts of jobs that name acceptable GPU types */
  uint64_t own_checkpoints;          /* starts of jobs with a checkpoint interval of their own */
  uint64_t checkpoint_mib;           /* checkpoint sizes, added at each start of a job that states a size */
  uint64_t sized_checkpoints;        /* number of starts that were added to checkpoint_mib */
  uint32_t max_gpus_per_task;        /* maximum over all jobs that started */
};

struct hr__pool_profile {
  uint64_t allocated_milli; /* GPUs that are allocated now */
  int64_t until_us;         /* time up to which the sums of this pool are complete */
  hr__wide allocated_milli_us, available_milli_us;
  /* [nodes + 1]; element k: time in microseconds during which k nodes were allocated. k is allocated GPUs / GPUs per
     node, rounded up. NULL if the pool is elastic */
  int64_t *at_level;
  double reclaims_per_h;  /* spot interruptions and failures per hour of a node */
  double down_share;      /* share of the time of its nodes in which they were down */
  uint32_t failed_jobs;   /* number of jobs that failures have stopped */
  uint32_t most_failures; /* the maximum over its nodes: number of jobs that failures of the node have stopped */
};

/* The current allocation of a job or, if the job does not run, its last allocation. */
struct hr__profile_allocation {
  int64_t since_us; /* start of the allocation; HR_NEVER_US: the job does not run */
  uint64_t milli;
  uint32_t pool, nodes;
};

/* The use of each pool by class and tenant, and its idle time. The profile only suggests which changes to try. */
struct hr__run_profile {
  const struct hr_trace *trace;          /* borrowed */
  const struct hr_cluster_spec *cluster; /* borrowed */
  uint32_t n_pools, n_tenants;
  struct hr__pool_use *uses; /* [HR_N_CLASSES][n_pools] */
  hr__wide *by_tenant;       /* [n_tenants][HR_N_CLASSES][n_pools] allocated GPU time, milli-GPU x microseconds */
  struct hr__pool_profile *pools;
  struct hr__profile_allocation *allocations; /* [n_jobs] */
  bool rates_known;                           /* reclaims_per_h of all pools is set */
  uint32_t *failures;                         /* [n_nodes] how many jobs failures of the node have stopped */
  int64_t end_us;
};

/* Makes the profile: runs replication 0 of the scenario with the recorded trace. The caller must call
   hr__run_profile_finish, even after an error. */
enum hr_status hr__run_profile_make(const struct hr_scenario *scenario, const struct hr_trace *trace,
                                    struct hr__run_profile *profile, struct hr_error *error);
void hr__run_profile_finish(struct hr__run_profile *profile);

static inline const struct hr__pool_use *hr__run_profile_use(const struct hr__run_profile *profile, uint32_t class_,
                                                             uint32_t pool) {
  return &profile->uses[(size_t)class_ * profile->n_pools + pool];
}

static inline double hr__run_profile_gpu_hours(hr__wide milli_us) {
  return (double)milli_us / (1000.0 * 3600.0 * 1e6);
}

/* Allocated GPU time / available GPU time over the run; 0 if the pool was never available. */
static inline double hr__run_profile_utilization(const struct hr__run_profile *profile, uint32_t pool) {
  const struct hr__pool_profile *self = &profile->pools[pool];
  return self->available_milli_us ? (double)self->allocated_milli_us / (double)self->available_milli_us : 0;
}

/* ---- Advice ----------------------------------------------------------------------------------------- */

/* The metrics that are stored for every run. First come HR__A_GROUPS metrics of the whole run, then HR__A_GROUP_METRICS
   metrics for each group. The groups are: all jobs, each class of the trace, each tenant. */
enum { HR__A_MONTHLY, HR__A_COST, HR__A_LOST, HR__A_ETTR, HR__A_ENERGY, HR__A_GROUPS };
enum { HR__A_WAIT, HR__A_COMPLETED, HR__A_GROUP_COST, HR__A_GROUP_METRICS };

/* A list of texts. The list owns the texts. */
struct hr__texts {
  char **at;
  uint32_t count, capacity;
};

/* A change that may be advised: its overrides in the notation of --set, its assumptions, and the results of its runs.
 */
struct hr__proposal {
  enum hr_advice_kind kind;
  uint32_t class_; /* HR_N_CLASSES: the change affects all jobs of the pool */
  uint32_t pool;   /* HR_NONE: the change affects several pools */
  char from[200], to[200];
  struct hr__texts set;
  struct hr_notes assumed;
  uint32_t candidate; /* index of the proposal in the runner; HR_NONE: not loaded, or it cannot be run */
  uint32_t stricter;  /* index of the proposal with the catalogue's GPU speeds; HR_NONE: not run with them */
  unsigned figure; /* the metric that decides: HR__A_MONTHLY, HR__A_ETTR, HR__A_ENERGY or, for the wait, HR__A_GROUPS */
  char objection[200]; /* a reason, known without runs, not to advise the proposal; "": none */
  bool
      out_of_memory; /* an override or an assumption could not be added; hr__proposal_load and hr__proposal_keep fail */
  /* Results of the runs: */
  bool advised;
  char reason[300];                /* why the proposal is not advised */
  struct hr__interval monthly_usd; /* monthly cost of the proposal minus that of the unchanged scenario, in dollars */
  struct hr__interval change;      /* the same of the metric that decides */
};

struct hr_advice {
  struct hr_advise_config config;
  struct hr__runner *runner;
  struct hr_catalog *catalog;
  struct hr__run_profile profile;
  struct hr__scoped_metric *metrics; /* metrics that are stored for every run, [n_metrics] */
  size_t n_metrics;
  struct hr__goals goals;          /* goals of the scenario's plan; none if it has no plan */
  size_t goals_at;                 /* index of the first metric of `goals` in `metrics` */
  uint32_t class_at[HR_N_CLASSES]; /* index of the first metric of a class; HR_NONE: the class has no metrics */
  uint32_t *tenant_at;             /* [n_tenants] index of the first metric of a tenant */
  uint32_t environment, base;      /* indexes in the runner; base: the unchanged scenario */
  uint32_t n_replications;
  double *scratch;      /* [n_replications] */
  bool managed;         /* the policy acquires elastic nodes when needed, and releases them */
  bool has_market_rule; /* the policy has a parameter for acquiring and releasing elastic nodes */
  cJSON *pools;         /* `cluster.pools` of the scenario; NULL: the pools come from a list of nodes */
  cJSON *classes;       /* `classes` of the scenario; NULL: the scenario has none */
  struct hr__proposal *proposals;
  uint32_t n_proposals, proposal_capacity;
  struct hr_notes notes;
};

static inline enum hr_status hr__advice_no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory for the advice");
}

static inline const struct hr_pool_spec *hr__advice_pool(const struct hr_advice *advice, uint32_t pool) {
  return &advice->config.scenario->cluster.pools[pool];
}

/* Index of a metric (HR__A_WAIT, HR__A_COMPLETED or HR__A_GROUP_COST) of a class. Returns the metric of all jobs if
   `class_` is HR_N_CLASSES or the class has no metrics. */
static inline size_t hr__advice_group_metric(const struct hr_advice *advice, uint32_t class_, unsigned metric) {
  bool known = class_ < HR_N_CLASSES && advice->class_at[class_] != HR_NONE;
  return (known ? advice->class_at[class_] : HR__A_GROUPS) + metric;
}

/* Returns the name of a class, such as "training"; "jobs without a class" for HR_CLASS_UNKNOWN; "all jobs" for
   HR_N_CLASSES. */
static inline const char *hr__advice_class_text(uint32_t class_) {
  if (class_ == HR_N_CLASSES) return "all jobs";
  return class_ == HR_CLASS_UNKNOWN ? "jobs without a class" : hr_job_class_name((enum hr_job_class)class_);
}

/* ---- Kinds of advice: each function adds the proposals that are worth a run --------------------------- */

/* Proposes other GPU types (proposal.c). */
enum hr_status hr__advise_gpu_types(struct hr_advice *advice, struct hr_error *error);
/* Proposes smaller reservations, spot capacity and checkpoint intervals (advise_capacity.c). */
enum hr_status hr__advise_capacity(struct hr_advice *advice, struct hr_error *error);

/* Proposes spare nodes, the exclusion of bad nodes, and power limits (advise_capacity.c). */
enum hr_status hr__advise_reliability(struct hr_advice *advice, struct hr_error *error);

/* ---- Proposals (proposal.c) ------------------------------------------------------------------------- */

static inline void hr__proposal_init(struct hr__proposal *proposal, enum hr_advice_kind kind, uint32_t class_,
                                     uint32_t pool) {
  *proposal =
      (struct hr__proposal){.kind = kind, .class_ = class_, .pool = pool, .candidate = HR_NONE, .stricter = HR_NONE};
}

static inline void hr__proposal_finish(struct hr__proposal *proposal) {
  for (size_t i = 0; i < proposal->set.count; i++) free(proposal->set.at[i]);
  free(proposal->set.at);
  hr_notes_finish(&proposal->assumed);
  *proposal = (struct hr__proposal){.candidate = HR_NONE, .stricter = HR_NONE};
}

/* Adds an override, a formatted text "path=value". */
void hr__proposal_set(struct hr__proposal *proposal, const char *format, ...) HR_PRINTF(2, 3);
/* Adds the override "path=value". Takes ownership of the value, which is NULL when out of memory. */
void hr__proposal_set_json(struct hr__proposal *proposal, const char *path, cJSON *value);
/* Adds an assumption, a formatted text. */
void hr__proposal_assume(struct hr__proposal *proposal, const char *format, ...) HR_PRINTF(2, 3);
/* Adds the proposal to the runner. If its scenario cannot be loaded or run: adds a note, sets `candidate` to HR_NONE
   and returns HR_OK. */
enum hr_status hr__proposal_load(struct hr_advice *advice, struct hr__proposal *proposal, struct hr_error *error);
/* Loads the proposal if it is not loaded, and appends it to the advice. Discards a proposal that cannot be run. Takes
   ownership of the proposal, even after an error. */
enum hr_status hr__proposal_keep(struct hr_advice *advice, struct hr__proposal *proposal, struct hr_error *error);

/* Copies a pool's entry without the keys `unwanted` (NULL-terminated). If `suffix` is not empty, the copy gets a new
   name, which is derived from the pool's name and the suffix. The caller owns the copy. Returns NULL when out of
   memory. */
cJSON *hr__pool_entry(const struct hr_advice *advice, uint32_t pool, const char *suffix, const char *const *unwanted);
/* Sets a key of an entry. Takes ownership of the value. Returns false when out of memory, or if the value is NULL. */
static inline bool hr__put_item(cJSON *entry, const char *key, cJSON *value) {
  cJSON_DeleteItemFromObjectCaseSensitive(entry, key);
  if (value && cJSON_AddItemToObject(entry, key, value)) return true;
  cJSON_Delete(value);
  return false;
}

/* Sets `classes` of an entry to a list of one class. Returns false when out of memory. */
static inline bool hr__put_class(cJSON *entry, uint32_t class_) {
  cJSON *list = cJSON_CreateArray(), *name = cJSON_CreateString(hr_job_class_name((enum hr_job_class)class_));
  if (list && name && cJSON_AddItemToArray(list, name)) return hr__put_item(entry, "classes", list);
  cJSON_Delete(list);
  cJSON_Delete(name);
  return false;
}

static inline bool hr__put_number(cJSON *entry, const char *key, double number) {
  return hr__put_item(entry, key, cJSON_CreateNumber(number));
}

static inline bool hr__put_text(cJSON *entry, const char *key, const char *text) {
  return hr__put_item(entry, key, cJSON_CreateString(text));
}

/* ---- Runs of proposals (proposal.c) ----------------------------------------------------------------- */

/* Runs the unchanged scenario and the candidates, each with replications 0 to `replications` - 1. Existing runs are not
   repeated. */
enum hr_status hr__advice_run(struct hr_advice *advice, const uint32_t *candidates, size_t count, uint32_t replications,
                              struct hr_error *error);
/* Computes the interval of the paired difference of a metric: candidate minus unchanged scenario. */
enum hr_status hr__advice_difference(const struct hr_advice *advice, uint32_t candidate, size_t metric,
                                     uint32_t replications, struct hr__interval *interval, struct hr_error *error);
/* Returns the value of a metric in the unchanged scenario and its value in the candidate. */
struct hr_advice_metric hr__advice_metric(const struct hr_advice *advice, uint32_t candidate, size_t metric,
                                          uint32_t replications);
/* The metric of a goal in the unchanged scenario and in the candidate. */
static inline struct hr_advice_metric hr__advice_goal(const struct hr_advice *advice, uint32_t candidate, size_t goal,
                                                      uint32_t replications) {
  return hr__advice_metric(advice, candidate, advice->goals_at + advice->goals.goals[goal].metric, replications);
}
/* Whether the candidate serves jobs as well as the unchanged scenario does. If the scenario has goals: no goal is
   missed by more than in the unchanged scenario. Otherwise: neither a class nor all jobs together wait much longer (see
   HR_ADVISE_WAIT_SHARE). In both cases, no class completes a smaller share of its jobs, unless goals bound completion.
   If one of these conditions is not met, `reason` names the goal, or the class and metric that get worse. */
bool hr__advice_serves(const struct hr_advice *advice, uint32_t candidate, uint32_t replications, char *reason,
                       size_t size);

#endif
