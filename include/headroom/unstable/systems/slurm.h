/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_SYSTEMS_SLURM_H
#define HEADROOM_UNSTABLE_SYSTEMS_SLURM_H

/*
 * The configuration of Slurm: the section `slurm` of a scenario, for the policy `slurm`. It has what slurm.conf and the
 * database of accounts define, except the parameters of the schedulers, which are parameters of the policy.
 *
 * The struct, its arrays and its strings are from malloc; the owner is the scenario. Comments mark members that are set
 * by the checks of the section, not by its keys. An amount or count of -1 in a limit means "not limited".
 */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Flags are sets of bits 1 << value. The columns: name, word in the configuration. */
#define HR_SLURM_PRIORITY_FLAG_TABLE(X)                                                                                \
  X(HR_SLURM_NO_FAIR_TREE, "NO_FAIR_TREE")                     /* the classic fair share */                            \
  X(HR_SLURM_SMALL_RELATIVE_TO_TIME, "SMALL_RELATIVE_TO_TIME") /* the size of a job is divided by its limit */         \
  X(HR_SLURM_NO_NORMAL_ASSOC, "NO_NORMAL_ASSOC")               /* factors are the values themselves, not shares */     \
  X(HR_SLURM_NO_NORMAL_PART, "NO_NORMAL_PART")                                                                         \
  X(HR_SLURM_NO_NORMAL_QOS, "NO_NORMAL_QOS")                                                                           \
  X(HR_SLURM_NO_NORMAL_TRES, "NO_NORMAL_TRES")                                                                         \
  X(HR_SLURM_INCR_ONLY, "INCR_ONLY")         /* a priority never falls */                                              \
  X(HR_SLURM_MAX_TRES, "MAX_TRES")           /* jobs pay for the costliest resource of a node */                       \
  X(HR_SLURM_MAX_TRES_GRES, "MAX_TRES_GRES") /* ... for the costliest of CPU, memory and nodes, and for GPUs */
#define HR_SLURM_USAGE_RESET_TABLE(X)                                                                                  \
  X(HR_SLURM_RESET_NONE, "none")                                                                                       \
  X(HR_SLURM_RESET_DAILY, "daily")                                                                                     \
  X(HR_SLURM_RESET_WEEKLY, "weekly")
#define HR_SLURM_PREEMPT_TYPE_TABLE(X)                                                                                 \
  X(HR_SLURM_PREEMPT_NONE, "none")                     /* no job is preempted */                                       \
  X(HR_SLURM_PREEMPT_QOS, "qos")                       /* by jobs of a QOS that lists it */                            \
  X(HR_SLURM_PREEMPT_PARTITION_PRIO, "partition_prio") /* by jobs in a partition of a higher tier */
#define HR_SLURM_PREEMPT_MODE_TABLE(X)                                                                                 \
  X(HR_SLURM_PREEMPT_DEFAULT, "default") /* that of the cluster */                                                     \
  X(HR_SLURM_PREEMPT_OFF, "off")         /* jobs are not preempted */                                                  \
  X(HR_SLURM_PREEMPT_REQUEUE, "requeue")                                                                               \
  X(HR_SLURM_PREEMPT_CANCEL, "cancel")                                                                                 \
  X(HR_SLURM_PREEMPT_SUSPEND, "suspend") /* suspended jobs give up only CPUs, to jobs that may preempt them */
#define HR_SLURM_STATE_TABLE(X)                                                                                        \
  X(HR_SLURM_UP, "up")             /* jobs are accepted and started */                                                 \
  X(HR_SLURM_DOWN, "down")         /* jobs are accepted, and wait */                                                   \
  X(HR_SLURM_DRAIN, "drain")       /* jobs are not accepted; those that wait are started */                            \
  X(HR_SLURM_INACTIVE, "inactive") /* jobs are not accepted, and wait */
#define HR_SLURM_QOS_FLAG_TABLE(X)                                                                                     \
  X(HR_SLURM_DENY_ON_LIMIT, "DenyOnLimit")               /* jobs that alone exceed a limit are rejected */             \
  X(HR_SLURM_NO_DECAY, "NoDecay")                        /* the usage of the QOS does not decay */                     \
  X(HR_SLURM_NO_RESERVE, "NoReserve")                    /* waiting jobs get no nodes reserved by backfill */          \
  X(HR_SLURM_PARTITION_TIME_LIMIT, "PartitionTimeLimit") /* jobs may be longer than the partition allows */            \
  X(HR_SLURM_PARTITION_MAX_NODES, "PartitionMaxNodes")   /* ... or have more nodes */                                  \
  X(HR_SLURM_PARTITION_MIN_NODES, "PartitionMinNodes")   /* ... or fewer */                                            \
  X(HR_SLURM_OVER_PART_QOS, "OverPartQOS")               /* the limits of the QOS of the job precede the partition's */
#define HR_SLURM_RESERVATION_FLAG_TABLE(X)                                                                             \
  X(HR_SLURM_MAINT, "MAINT")             /* for maintenance; may overlap others */                                     \
  X(HR_SLURM_OVERLAP, "OVERLAP")         /* may overlap others */                                                      \
  X(HR_SLURM_IGNORE_JOBS, "IGNORE_JOBS") /* nodes may have running jobs when it begins */                              \
  X(HR_SLURM_FLEX, "FLEX")               /* its jobs may start before, and use other nodes */                          \
  X(HR_SLURM_MAGNETIC, "MAGNETIC")       /* jobs that may use it do so without a request */                            \
  X(HR_SLURM_TIME_FLOAT, "TIME_FLOAT")   /* begins at a fixed time after now; no job may use it */

#define HR_SLURM_NAME(name, word) name,
enum hr_slurm_priority_flag { HR_SLURM_PRIORITY_FLAG_TABLE(HR_SLURM_NAME) };
enum hr_slurm_usage_reset { HR_SLURM_USAGE_RESET_TABLE(HR_SLURM_NAME) };
enum hr_slurm_preempt_type { HR_SLURM_PREEMPT_TYPE_TABLE(HR_SLURM_NAME) };
enum hr_slurm_preempt_mode { HR_SLURM_PREEMPT_MODE_TABLE(HR_SLURM_NAME) };
enum hr_slurm_state { HR_SLURM_STATE_TABLE(HR_SLURM_NAME) };
enum hr_slurm_qos_flag { HR_SLURM_QOS_FLAG_TABLE(HR_SLURM_NAME) };
enum hr_slurm_reservation_flag { HR_SLURM_RESERVATION_FLAG_TABLE(HR_SLURM_NAME) };
#undef HR_SLURM_NAME

/* An entry of a list of names. */
struct hr_slurm_name {
  char *text;
};

/* Nodes of a pool: "POOL", or "POOL:FIRST-LAST" with numbers from 0. */
struct hr_slurm_node_range {
  char *text;
  uint32_t pool, first, count; /* set by the checks; `first` is the number within the pool */
};

/* Amounts of resources. */
struct hr_slurm_tres {
  int64_t gpu, node, cpu, mem_gb;
};
struct hr_slurm_tres_weights {
  double gpu, node, cpu, mem_gb;
};

/* Values of at least this, 65,535 minutes, mean OverTimeLimit=UNLIMITED. */
#define HR_SLURM_OVER_TIME_UNLIMITED_US (65535 * 60 * HR_SECOND_US)

struct hr_slurm_priority_config {
  double weight_age, weight_assoc, weight_fairshare, weight_job_size, weight_partition, weight_qos;
  struct hr_slurm_tres_weights weight_tres;
  int64_t max_age_us, calc_period_us;
  int64_t calc_start_us;      /* the date of a computation, since 1970; HR_UNKNOWN_US: the begin of the trace */
  int64_t decay_half_life_us; /* 0: no decay */
  enum hr_slurm_usage_reset usage_reset;
  bool favor_small;
  uint32_t flags;   /* enum hr_slurm_priority_flag */
  double dampening; /* FairShareDampeningFactor */
};

/* Limits of a QOS or an association. The second line has limits for each user, the third line limits for each account.
   An association uses `max_jobs_per_user` and `max_submit_jobs_per_user` for its MaxJobs and MaxSubmitJobs. */
struct hr_slurm_limits {
  struct hr_slurm_tres grp_tres, max_tres_per_job, min_tres_per_job;
  struct hr_slurm_tres max_tres_per_user, max_tres_per_account;
  int64_t grp_jobs, grp_submit_jobs;
  int64_t max_jobs_per_user, max_submit_jobs_per_user;
  int64_t max_jobs_per_account, max_submit_jobs_per_account;
  int64_t max_wall_us; /* HR_UNKNOWN_US: none */
};

struct hr_slurm_partition {
  char *name;
  struct hr_slurm_node_range *nodes;
  uint32_t n_nodes; /* entries of `nodes`; 0: all nodes */
  bool is_default;
  uint32_t priority_tier, priority_job_factor;
  int64_t max_time_us, default_time_us; /* HR_UNKNOWN_US: none */
  uint32_t min_nodes;
  int64_t max_nodes; /* -1: no limit */
  enum hr_slurm_state state;
  enum hr_slurm_preempt_mode preempt_mode;
  int64_t grace_us, over_time_limit_us; /* HR_UNKNOWN_US: that of the cluster */
  char *qos;                            /* the QOS with limits for all jobs of the partition; NULL: none */
  uint32_t qos_index;                   /* set by the checks; HR_NONE: none */
  struct hr_slurm_name *allow_accounts, *deny_accounts, *allow_qos, *deny_qos;
  uint32_t n_allow_accounts, n_deny_accounts, n_allow_qos, n_deny_qos;
  struct hr_slurm_tres_weights billing; /* TRESBillingWeights */
  bool has_billing;                     /* set by the checks */
};

struct hr_slurm_qos {
  char *name;
  uint32_t priority;
  struct hr_slurm_name *preempt; /* names of QOS with jobs that it may preempt */
  uint32_t n_preempt;
  enum hr_slurm_preempt_mode preempt_mode;
  int64_t grace_us, exempt_us; /* exempt_us HR_UNKNOWN_US: that of the cluster */
  double usage_factor;
  uint32_t flags; /* enum hr_slurm_qos_flag */
  struct hr_slurm_limits limits;
};

struct hr_slurm_assoc {
  char *account;
  char *user;        /* NULL: the account itself */
  char *parent;      /* of an account: the account above; NULL: the root */
  uint32_t above;    /* index of the entry above; HR_NONE: the root. Set by the checks */
  int64_t fairshare; /* shares; -1: those of the parent ("parent") */
  uint32_t priority;
  char *default_qos;          /* NULL: that of the account above */
  uint32_t default_qos_index; /* set by the checks; HR_NONE: none */
  struct hr_slurm_limits limits;
};

struct hr_slurm_reservation {
  char *name;
  int64_t start_us, duration_us;
  int64_t repeat_us; /* 0: once */
  struct hr_slurm_node_range *nodes;
  uint32_t n_nodes; /* entries of `nodes` */
  struct hr_slurm_name *users, *accounts;
  uint32_t n_users, n_accounts;
  uint32_t flags; /* enum hr_slurm_reservation_flag */
};

struct hr_slurm_config {
  struct hr_slurm_priority_config priority;
  enum hr_slurm_preempt_type preempt_type;
  enum hr_slurm_preempt_mode preempt_mode;
  int64_t preempt_exempt_us; /* HR_UNKNOWN_US: none */
  bool preempt_youngest_first;
  int64_t over_time_limit_us; /* HR_UNKNOWN_US: not set, jobs are not stopped */
  bool enforce_limits;        /* AccountingStorageEnforce has `limits` */
  double cpus_per_gpu;        /* of nodes, if pools have no CPUs */
  struct hr_slurm_partition *partitions;
  uint32_t n_partitions;
  struct hr_slurm_qos *qos;
  uint32_t n_qos;
  struct hr_slurm_assoc *associations;
  uint32_t n_associations;
  struct hr_slurm_reservation *reservations;
  uint32_t n_reservations;
};

#ifdef __cplusplus
}
#endif
#endif
