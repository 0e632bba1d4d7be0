/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_SYSTEMS_SLURM_H
#define HEADROOM_UNSTABLE_SYSTEMS_SLURM_H

/*
 * The configuration of Slurm: the section `slurm` of a scenario, for the policy `slurm`. The section has the settings
 * of slurm.conf and of the database of accounts. Settings of the backfill scheduler are parameters of the policy
 * instead. scenarios/schema/keys_systems.c explains each key.
 *
 * The struct, its arrays and its strings are from malloc; the scenario owns them. "Set by the checks" marks members
 * that are computed when the section is checked. An amount or count of -1 in a limit means "no limit".
 */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Words of settings. Members named `flags` are sets of bits 1 << enumerator. The columns: enumerator, word in the
   configuration. */
#define HR_SLURM_PRIORITY_FLAG_TABLE(X)                                                                                \
  X(HR_SLURM_NO_FAIR_TREE, "NO_FAIR_TREE")                     /* classic fair share instead of fair tree */           \
  X(HR_SLURM_SMALL_RELATIVE_TO_TIME, "SMALL_RELATIVE_TO_TIME") /* the size of a job is divided by its limit */         \
  /* NO_NORMAL_*: the factor is the priority or amount itself, not its share of the maximum */                         \
  X(HR_SLURM_NO_NORMAL_ASSOC, "NO_NORMAL_ASSOC")                                                                       \
  X(HR_SLURM_NO_NORMAL_PART, "NO_NORMAL_PART")                                                                         \
  X(HR_SLURM_NO_NORMAL_QOS, "NO_NORMAL_QOS")                                                                           \
  X(HR_SLURM_NO_NORMAL_TRES, "NO_NORMAL_TRES")                                                                         \
  X(HR_SLURM_INCR_ONLY, "INCR_ONLY") /* priorities never decrease */                                                   \
  X(HR_SLURM_MAX_TRES, "MAX_TRES")   /* the usage of a job is its most expensive resource, not the sum */              \
  /* the usage is the usage of GPUs, plus the most expensive usage of CPU, memory or nodes */                          \
  X(HR_SLURM_MAX_TRES_GRES, "MAX_TRES_GRES")
#define HR_SLURM_USAGE_RESET_TABLE(X)                                                                                  \
  X(HR_SLURM_RESET_NONE, "none")                                                                                       \
  X(HR_SLURM_RESET_DAILY, "daily")                                                                                     \
  X(HR_SLURM_RESET_WEEKLY, "weekly")
#define HR_SLURM_PREEMPT_TYPE_TABLE(X)                                                                                 \
  X(HR_SLURM_PREEMPT_NONE, "none")                     /* no job is preempted */                                       \
  X(HR_SLURM_PREEMPT_QOS, "qos")                       /* by jobs of a QOS that lists the QOS of the victim */         \
  X(HR_SLURM_PREEMPT_PARTITION_PRIO, "partition_prio") /* by jobs in a partition of a higher tier */
#define HR_SLURM_PREEMPT_MODE_TABLE(X)                                                                                 \
  X(HR_SLURM_PREEMPT_DEFAULT, "default") /* the mode of the cluster */                                                 \
  X(HR_SLURM_PREEMPT_OFF, "off")         /* jobs are not preempted */                                                  \
  X(HR_SLURM_PREEMPT_REQUEUE, "requeue")                                                                               \
  X(HR_SLURM_PREEMPT_CANCEL, "cancel")                                                                                 \
  /* only the CPUs of suspended jobs are free, and only for jobs that may preempt them */                              \
  X(HR_SLURM_PREEMPT_SUSPEND, "suspend")
#define HR_SLURM_STATE_TABLE(X)                                                                                        \
  X(HR_SLURM_UP, "up")             /* new jobs are accepted; waiting jobs are started */                               \
  X(HR_SLURM_DOWN, "down")         /* new jobs are accepted; no job is started */                                      \
  X(HR_SLURM_DRAIN, "drain")       /* new jobs are rejected; waiting jobs are started */                               \
  X(HR_SLURM_INACTIVE, "inactive") /* new jobs are rejected; no job is started */
#define HR_SLURM_QOS_FLAG_TABLE(X)                                                                                     \
  X(HR_SLURM_DENY_ON_LIMIT, "DenyOnLimit")               /* jobs that alone exceed a limit are rejected */             \
  X(HR_SLURM_NO_DECAY, "NoDecay")                        /* the usage of the QOS does not decay */                     \
  X(HR_SLURM_NO_RESERVE, "NoReserve")                    /* backfill reserves no nodes for waiting jobs */             \
  X(HR_SLURM_PARTITION_TIME_LIMIT, "PartitionTimeLimit") /* jobs may exceed the maximum time of the partition */       \
  X(HR_SLURM_PARTITION_MAX_NODES, "PartitionMaxNodes")   /* jobs may have more nodes than the partition allows */      \
  X(HR_SLURM_PARTITION_MIN_NODES, "PartitionMinNodes")   /* jobs may have fewer nodes than the partition requires */   \
  X(HR_SLURM_OVER_PART_QOS, "OverPartQOS")               /* limits of a job's QOS override the partition's limits */
#define HR_SLURM_RESERVATION_FLAG_TABLE(X)                                                                             \
  X(HR_SLURM_MAINT, "MAINT")             /* for maintenance; may overlap other reservations */                         \
  X(HR_SLURM_OVERLAP, "OVERLAP")         /* may overlap other reservations */                                          \
  X(HR_SLURM_IGNORE_JOBS, "IGNORE_JOBS") /* jobs may run on its nodes when it begins */                                \
  X(HR_SLURM_FLEX, "FLEX")               /* its jobs may start before it begins, and may use other nodes */            \
  X(HR_SLURM_MAGNETIC, "MAGNETIC")       /* jobs that are allowed to use it need not request it */                     \
  X(HR_SLURM_TIME_FLOAT, "TIME_FLOAT")   /* its begin is always a fixed time after now; no job may use it */

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

/* Nodes of a pool: "POOL" for all nodes, or "POOL:FIRST-LAST" with numbers from 0. */
struct hr_slurm_node_range {
  char *text;
  uint32_t pool, first, count; /* set by the checks; `first` is the index within the pool */
};

/* Amounts of resources. */
struct hr_slurm_tres {
  int64_t gpu, node, cpu, mem_gb;
};
struct hr_slurm_tres_weights {
  double gpu, node, cpu, mem_gb;
};

/* A value of over_time_limit_us of at least 65,535 minutes means OverTimeLimit=UNLIMITED. */
#define HR_SLURM_OVER_TIME_UNLIMITED_US (65535 * 60 * HR_SECOND_US)

/* The settings of the plug-in priority/multifactor. */
struct hr_slurm_priority_config {
  double weight_age, weight_assoc, weight_fairshare, weight_job_size, weight_partition, weight_qos;
  struct hr_slurm_tres_weights weight_tres;
  int64_t max_age_us, calc_period_us;
  /* time of one of the computations of priorities, since 1970; the others are multiples of calc_period_us before and
     after. HR_UNKNOWN_US: the begin of the trace */
  int64_t calc_start_us;
  int64_t decay_half_life_us; /* 0: no decay */
  enum hr_slurm_usage_reset usage_reset;
  bool favor_small;
  uint32_t flags;   /* bits 1 << enum hr_slurm_priority_flag */
  double dampening; /* FairShareDampeningFactor */
};

/* Limits of a QOS or an association. grp_* limit the sum over all its jobs; *_per_user and *_per_account limit the sum
   over the jobs of each user or account. An association stores MaxJobs in `max_jobs_per_user` and MaxSubmitJobs in
   `max_submit_jobs_per_user`. */
struct hr_slurm_limits {
  struct hr_slurm_tres grp_tres, max_tres_per_job, min_tres_per_job;
  struct hr_slurm_tres max_tres_per_user, max_tres_per_account;
  int64_t grp_jobs, grp_submit_jobs;
  int64_t max_jobs_per_user, max_submit_jobs_per_user;
  int64_t max_jobs_per_account, max_submit_jobs_per_account;
  int64_t max_wall_us; /* HR_UNKNOWN_US: no limit */
};

/* A partition. */
struct hr_slurm_partition {
  char *name;
  struct hr_slurm_node_range *nodes;
  uint32_t n_nodes; /* entries of `nodes`; 0: all nodes */
  bool is_default;
  uint32_t priority_tier, priority_job_factor;
  int64_t max_time_us, default_time_us; /* HR_UNKNOWN_US: not specified */
  uint32_t min_nodes;
  int64_t max_nodes; /* -1: no limit */
  enum hr_slurm_state state;
  enum hr_slurm_preempt_mode preempt_mode;
  int64_t grace_us, over_time_limit_us; /* over_time_limit_us HR_UNKNOWN_US: as in the cluster */
  char *qos;                            /* name of the QOS with limits for all jobs of the partition; NULL: none */
  uint32_t qos_index;                   /* its index, set by the checks; HR_NONE: none */
  struct hr_slurm_name *allow_accounts, *deny_accounts, *allow_qos, *deny_qos;
  uint32_t n_allow_accounts, n_deny_accounts, n_allow_qos, n_deny_qos;
  struct hr_slurm_tres_weights billing; /* TRESBillingWeights */
  bool has_billing;                     /* set by the checks */
};

/* A quality of service (QOS). */
struct hr_slurm_qos {
  char *name;
  uint32_t priority;
  struct hr_slurm_name *preempt; /* names of QOS: jobs of this QOS may preempt jobs of these QOS */
  uint32_t n_preempt;
  enum hr_slurm_preempt_mode preempt_mode;
  int64_t grace_us, exempt_us; /* exempt_us HR_UNKNOWN_US: as in the cluster */
  double usage_factor;
  uint32_t flags; /* bits 1 << enum hr_slurm_qos_flag */
  struct hr_slurm_limits limits;
};

/* An association: an account, or a user of an account. */
struct hr_slurm_assoc {
  char *account;
  char *user;        /* NULL: the association is the account itself */
  char *parent;      /* of an account: name of its parent account; NULL: the root */
  uint32_t above;    /* index of the parent association; HR_NONE: the root. Set by the checks */
  int64_t fairshare; /* shares; -1: "parent", the shares of the parent are used */
  uint32_t priority;
  char *default_qos;          /* NULL: the default QOS of the parent association */
  uint32_t default_qos_index; /* set by the checks; HR_NONE: none */
  struct hr_slurm_limits limits;
};

/* A reservation. */
struct hr_slurm_reservation {
  char *name;
  int64_t start_us, duration_us;
  int64_t repeat_us; /* time between two repetitions; 0: no repetition */
  struct hr_slurm_node_range *nodes;
  uint32_t n_nodes; /* entries of `nodes` */
  struct hr_slurm_name *users, *accounts;
  uint32_t n_users, n_accounts;
  uint32_t flags; /* bits 1 << enum hr_slurm_reservation_flag */
};

/* The section `slurm`. */
struct hr_slurm_config {
  struct hr_slurm_priority_config priority;
  enum hr_slurm_preempt_type preempt_type;
  enum hr_slurm_preempt_mode preempt_mode;
  int64_t preempt_exempt_us; /* HR_UNKNOWN_US: not specified */
  bool preempt_youngest_first;
  /* HR_UNKNOWN_US: not specified. No job is then stopped because it exceeds its limit, except in partitions that
     specify their own value */
  int64_t over_time_limit_us;
  bool enforce_limits; /* AccountingStorageEnforce has `limits` */
  double cpus_per_gpu; /* CPUs per GPU of nodes, if pools do not specify CPUs */
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
