/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The key table of the section `slurm`: priorities, preemption, partitions, QOS, associations and reservations.
 *
 * Names and defaults are those of slurm.conf and sacctmgr, in snake_case. Rules across keys are checked in
 * scenarios/build/systems/slurm.c. Source: doc/man/man5/slurm.conf.5, doc/man/man1/{sacctmgr,scontrol}.1 of
 * SchedMD/slurm.
 */

#include "headroom/unstable/systems/slurm.h"

#include "scenarios/schema/keys.h"

#define WORD(name, text) text,
static const char *const priority_flags[] = {HR_SLURM_PRIORITY_FLAG_TABLE(WORD) NULL};
static const char *const usage_resets[] = {HR_SLURM_USAGE_RESET_TABLE(WORD) NULL};
static const char *const preempt_types[] = {HR_SLURM_PREEMPT_TYPE_TABLE(WORD) NULL};
static const char *const preempt_modes[] = {HR_SLURM_PREEMPT_MODE_TABLE(WORD) NULL};
static const char *const states[] = {HR_SLURM_STATE_TABLE(WORD) NULL};
static const char *const qos_flags[] = {HR_SLURM_QOS_FLAG_TABLE(WORD) NULL};
static const char *const reservation_flags[] = {HR_SLURM_RESERVATION_FLAG_TABLE(WORD) NULL};

#define MAX_ROWS 100000.0
#define MAX_WEIGHT 4294967295.0
#define MAX_AMOUNT 1e12
#define COUNT WHOLE(-1, MAX_AMOUNT), DEFAULT("-1")
#define WEIGHT REAL(0, MAX_WEIGHT), DEFAULT("0")
#define NAMES(type, member, count, words)                                                                              \
  LIST(0, MAX_ROWS, EACH(NAME, AT(TEXT, struct hr_slurm_name, text), HELP(words))), AS_ARRAY(type, member, count)
#define RANGES(type)                                                                                                   \
  LIST(0, MAX_ROWS,                                                                                                    \
       EACH(NAME, AT(TEXT, struct hr_slurm_node_range, text),                                                          \
            HELP("A pool, or some of its nodes as POOL:FIRST-LAST, counted from 0."))),                                \
      AS_ARRAY(type, nodes, n_nodes)

/* ---- Resources and limits --------------------------------------------------------------------------- */

#define TRES struct hr_slurm_tres
static const struct hr__key tres_keys[] = {
    {"gpu", COUNT, AT(INTEGER, TRES, gpu), HELP("GPUs (gres/gpu). -1: no limit.")},
    {"node", COUNT, AT(INTEGER, TRES, node), HELP("Nodes. -1: no limit.")},
    {"cpu", COUNT, AT(INTEGER, TRES, cpu), HELP("CPUs. -1: no limit.")},
    {"mem_gb", COUNT, AT(INTEGER, TRES, mem_gb), HELP("Memory in GiB. -1: no limit.")},
    END};

#define WEIGHTS struct hr_slurm_tres_weights
static const struct hr__key weight_keys[] = {
    {"gpu", WEIGHT, AT(DOUBLE, WEIGHTS, gpu), HELP("Weight of a GPU (gres/gpu).")},
    {"node", WEIGHT, AT(DOUBLE, WEIGHTS, node), HELP("Weight of a node.")},
    {"cpu", WEIGHT, AT(DOUBLE, WEIGHTS, cpu), HELP("Weight of a CPU.")},
    {"mem_gb", WEIGHT, AT(DOUBLE, WEIGHTS, mem_gb), HELP("Weight of a GiB of memory.")},
    END};

#define LIMITS struct hr_slurm_limits
#define TRES_LIMIT(name, words)                                                                                        \
  { #name, OBJECT(tres_keys), AT(PART, LIMITS, name), OTHERWISE("no limit"), HELP(words) }
#define COUNT_LIMIT(key, name, words)                                                                                  \
  { key, COUNT, AT(INTEGER, LIMITS, name), HELP(words " -1: no limit.") }
#define COMMON_LIMITS                                                                                                  \
  TRES_LIMIT(grp_tres, "GrpTRES: the most that all running jobs use together."),                                       \
      TRES_LIMIT(max_tres_per_job, "MaxTRESPerJob: the most that a job requests."),                                    \
      COUNT_LIMIT("grp_jobs", grp_jobs, "GrpJobs: running jobs."),                                                     \
      COUNT_LIMIT("grp_submit_jobs", grp_submit_jobs, "GrpSubmitJobs: waiting and running jobs."), {                   \
    "max_wall_s", SECONDS, AS_US(LIMITS, max_wall_us), OTHERWISE("no limit"),                                          \
        HELP("MaxWall: the longest time limit of a job.")                                                              \
  }

static const struct hr__key qos_limit_keys[] = {
    COMMON_LIMITS,
    TRES_LIMIT(min_tres_per_job, "MinTRESPerJob: the least that a job requests."),
    TRES_LIMIT(max_tres_per_user, "MaxTRESPerUser: the most that running jobs of a user use."),
    TRES_LIMIT(max_tres_per_account, "MaxTRESPerAccount: the most that running jobs of an account use."),
    COUNT_LIMIT("max_jobs_per_user", max_jobs_per_user, "MaxJobsPerUser: running jobs of a user."),
    COUNT_LIMIT("max_jobs_per_account", max_jobs_per_account, "MaxJobsPerAccount: running jobs of an account."),
    COUNT_LIMIT("max_submit_jobs_per_user", max_submit_jobs_per_user,
                "MaxSubmitJobsPerUser: waiting and running jobs of a user."),
    COUNT_LIMIT("max_submit_jobs_per_account", max_submit_jobs_per_account,
                "MaxSubmitJobsPerAccount: waiting and running jobs of an account."),
    END};

static const struct hr__key assoc_limit_keys[] = {
    COMMON_LIMITS, COUNT_LIMIT("max_jobs", max_jobs_per_user, "MaxJobs: running jobs of each user."),
    COUNT_LIMIT("max_submit_jobs", max_submit_jobs_per_user, "MaxSubmitJobs: waiting and running jobs of each user."),
    END};

/* ---- Priorities ------------------------------------------------------------------------------------- */

#define PRIORITY struct hr_slurm_priority_config
#define FACTOR(name, words)                                                                                            \
  { #name, WEIGHT, AT(DOUBLE, PRIORITY, name), HELP(words) }
static const struct hr__key priority_keys[] = {
    FACTOR(weight_age, "PriorityWeightAge: weight of the time that a job has waited."),
    FACTOR(weight_assoc, "PriorityWeightAssoc: weight of the priority of the association."),
    FACTOR(weight_fairshare, "PriorityWeightFairshare: weight of the fair share."),
    FACTOR(weight_job_size, "PriorityWeightJobSize: weight of the size of the job."),
    FACTOR(weight_partition, "PriorityWeightPartition: weight of the partition's priority_job_factor."),
    FACTOR(weight_qos, "PriorityWeightQOS: weight of the priority of the QOS."),
    {"weight_tres", OBJECT(weight_keys), AT(PART, PRIORITY, weight_tres),
     HELP("PriorityWeightTRES: weights of the requested shares of the partition's resources.")},
    {"max_age_s", SECONDS_FROM(1), DEFAULT("604800"), AS_US(PRIORITY, max_age_us),
     HELP("PriorityMaxAge: wait at which the factor of age is 1.")},
    {"calc_period_s", SECONDS_FROM(1), DEFAULT("300"), AS_US(PRIORITY, calc_period_us),
     HELP("PriorityCalcPeriod: time between two computations of usage and priorities.")},
    {"calc_start_s", SECONDS, AS_US(PRIORITY, calc_start_us), OTHERWISE("the begin of the trace"),
     HELP("Date of a computation, in seconds since 1970: when slurmctld was started. Others are whole periods before "
          "and after it.")},
    {"decay_half_life_s", SECONDS, DEFAULT("604800"), AS_US(PRIORITY, decay_half_life_us),
     HELP("PriorityDecayHalfLife: time after which usage counts half. 0: no decay.")},
    {"usage_reset", CHOICE(usage_resets), DEFAULT("none"), AT(INTEGER, PRIORITY, usage_reset),
     HELP("PriorityUsageResetPeriod: when usage is set to 0.")},
    {"favor_small", BOOLEAN, DEFAULT("false"), AT(INTEGER, PRIORITY, favor_small),
     HELP("PriorityFavorSmall: small jobs have the larger factor of size.")},
    {"flags", LIST(0, MAX_MEMBERS, EACH(CHOICE(priority_flags), HELP("A flag of PriorityFlags."))),
     AT(BITS, PRIORITY, flags), HELP("PriorityFlags.")},
    {"fairshare_dampening", REAL(MIN_SCALE, MAX_NUMBER), DEFAULT("1"), AT(DOUBLE, PRIORITY, dampening),
     HELP("FairShareDampeningFactor. Only with the flag NO_FAIR_TREE.")},
    END};

/* ---- Partitions, QOS, associations, reservations ---------------------------------------------------- */

#define PARTITION struct hr_slurm_partition
static const struct hr__key partition_keys[] = {
    {"name", NAME, MUST, AT(TEXT, PARTITION, name), HELP("PartitionName, different from those of other partitions.")},
    {"nodes", RANGES(PARTITION), OTHERWISE("all nodes"), HELP("Nodes of the partition. Partitions may share nodes.")},
    {"default", BOOLEAN, DEFAULT("false"), AT(INTEGER, PARTITION, is_default),
     HELP("Default: the partition of jobs that name none.")},
    {"priority_tier", WHOLE(0, 65533), DEFAULT("1"), AT(INTEGER, PARTITION, priority_tier),
     HELP("PriorityTier: jobs of higher tiers go first, whatever their priority.")},
    {"priority_job_factor", WHOLE(0, 65533), DEFAULT("1"), AT(INTEGER, PARTITION, priority_job_factor),
     HELP("PriorityJobFactor: what the partition adds to priorities.")},
    {"max_time_s", SECONDS, AS_US(PARTITION, max_time_us), OTHERWISE("no limit"),
     HELP("MaxTime: the longest time limit of a job.")},
    {"default_time_s", SECONDS, AS_US(PARTITION, default_time_us), OTHERWISE("max_time_s, else the run time"),
     HELP("DefaultTime: the time limit of jobs without one.")},
    {"min_nodes", WHOLE(0, 1e9), DEFAULT("0"), AT(INTEGER, PARTITION, min_nodes),
     HELP("MinNodes: the fewest nodes of a job.")},
    {"max_nodes", WHOLE(-1, 1e9), DEFAULT("-1"), AT(INTEGER, PARTITION, max_nodes),
     HELP("MaxNodes: the most nodes of a job. -1: no limit.")},
    {"state", CHOICE(states), DEFAULT("up"), AT(INTEGER, PARTITION, state),
     HELP("State: whether jobs are accepted and started.")},
    {"preempt_mode", CHOICE(preempt_modes), DEFAULT("default"), AT(INTEGER, PARTITION, preempt_mode),
     HELP("PreemptMode: what happens to jobs of the partition that are preempted.")},
    {"grace_time_s", SECONDS, DEFAULT("0"), AS_US(PARTITION, grace_us),
     HELP("GraceTime: time that a preempted job may still run.")},
    {"over_time_limit_s", SECONDS, AS_US(PARTITION, over_time_limit_us), OTHERWISE("that of the cluster"),
     HELP("OverTimeLimit: time after which a job that is over its limit is stopped.")},
    {"qos", NAME, AT(TEXT, PARTITION, qos), HELP("QOS with limits for all jobs of the partition.")},
    {"allow_accounts", NAMES(PARTITION, allow_accounts, n_allow_accounts, "An account."), OTHERWISE("all"),
     HELP("AllowAccounts: accounts that may use the partition.")},
    {"deny_accounts", NAMES(PARTITION, deny_accounts, n_deny_accounts, "An account."),
     HELP("DenyAccounts: accounts that must not use the partition.")},
    {"allow_qos", NAMES(PARTITION, allow_qos, n_allow_qos, "A QOS."), OTHERWISE("all"),
     HELP("AllowQos: QOS that may use the partition.")},
    {"deny_qos", NAMES(PARTITION, deny_qos, n_deny_qos, "A QOS."),
     HELP("DenyQos: QOS that must not use the partition.")},
    {"tres_billing_weights", OBJECT(weight_keys), AT(PART, PARTITION, billing), OTHERWISE("1 per CPU"),
     HELP("TRESBillingWeights: usage of a job per second.")},
    END};

#define QOS struct hr_slurm_qos
static const struct hr__key qos_keys[] = {
    {"name", NAME, MUST, AT(TEXT, QOS, name), HELP("Name, different from those of other QOS.")},
    {"priority", WHOLE(0, MAX_WEIGHT), DEFAULT("0"), AT(INTEGER, QOS, priority),
     HELP("Priority: what the QOS adds to priorities, and the order in which jobs are preempted.")},
    {"preempt", NAMES(QOS, preempt, n_preempt, "A QOS."), HELP("Preempt: QOS with jobs that may be preempted.")},
    {"preempt_mode", CHOICE(preempt_modes), DEFAULT("default"), AT(INTEGER, QOS, preempt_mode),
     HELP("PreemptMode: what happens to jobs of the QOS that are preempted.")},
    {"grace_time_s", SECONDS, DEFAULT("0"), AS_US(QOS, grace_us),
     HELP("GraceTime: time that a preempted job may still run.")},
    {"preempt_exempt_time_s", SECONDS, AS_US(QOS, exempt_us), OTHERWISE("that of the cluster"),
     HELP("PreemptExemptTime: time after its start in which a job is not preempted.")},
    {"usage_factor", REAL(0, MAX_AMOUNT), DEFAULT("1"), AT(DOUBLE, QOS, usage_factor),
     HELP("UsageFactor: factor of the usage of the jobs.")},
    {"flags", LIST(0, MAX_MEMBERS, EACH(CHOICE(qos_flags), HELP("A flag of the QOS."))), AT(BITS, QOS, flags),
     HELP("Flags of the QOS.")},
    {"limits", OBJECT(qos_limit_keys), AT(PART, QOS, limits), OTHERWISE("no limits"), HELP("Limits of the QOS.")},
    END};

#define ASSOC struct hr_slurm_assoc
static const struct hr__key assoc_keys[] = {
    {"account", NAME, MUST, AT(TEXT, ASSOC, account), HELP("The account, which is the tenant of a job.")},
    {"user", NAME, AT(TEXT, ASSOC, user), OTHERWISE("the account itself"), HELP("A user of the account.")},
    {"parent", NAME, AT(TEXT, ASSOC, parent), OTHERWISE("the root"), HELP("Of an account: the account above it.")},
    {"fairshare", WHOLE(-1, MAX_AMOUNT), DEFAULT("1"), AT(INTEGER, ASSOC, fairshare),
     HELP("Fairshare: shares among its siblings. -1: 'parent', the shares of the account above.")},
    {"priority", WHOLE(0, MAX_WEIGHT), DEFAULT("0"), AT(INTEGER, ASSOC, priority),
     HELP("Priority: what the association adds to priorities.")},
    {"default_qos", NAME, AT(TEXT, ASSOC, default_qos), OTHERWISE("that of the account above"),
     HELP("DefaultQOS: QOS of jobs that name none.")},
    {"limits", OBJECT(assoc_limit_keys), AT(PART, ASSOC, limits), OTHERWISE("no limits"),
     HELP("Limits of the association, which apply to all associations below it, too.")},
    END};

#define RESERVATION struct hr_slurm_reservation
static const struct hr__key reservation_keys[] = {
    {"name", NAME, MUST, AT(TEXT, RESERVATION, name), HELP("Name, different from those of other reservations.")},
    {"start_s", SECONDS, MUST, AS_US(RESERVATION, start_us),
     HELP("StartTime: seconds since the trace begins; with the flag TIME_FLOAT, from now on.")},
    {"duration_s", SECONDS_FROM(1), MUST, AS_US(RESERVATION, duration_us), HELP("Duration.")},
    {"repeat_s", SECONDS, DEFAULT("0"), AS_US(RESERVATION, repeat_us),
     HELP("Time from one begin to the next: 3600 for the flag HOURLY, 86400 for DAILY, 604800 for WEEKLY. 0: once.")},
    {"nodes", RANGES(RESERVATION), OTHERWISE("all nodes"), HELP("Reserved nodes.")},
    {"users", NAMES(RESERVATION, users, n_users, "A user."),
     HELP("Users with access to the nodes. Names with a '-' before them: all but these. With 'accounts', a job must be "
          "in "
          "both lists.")},
    {"accounts", NAMES(RESERVATION, accounts, n_accounts, "An account."),
     HELP("Accounts with access to the nodes, and those below them, or all but these ('-').")},
    {"flags", LIST(0, MAX_MEMBERS, EACH(CHOICE(reservation_flags), HELP("A flag of the reservation."))),
     AT(BITS, RESERVATION, flags), HELP("Flags of the reservation.")},
    END};

#define SLURM struct hr_slurm_config
const struct hr__key hr__slurm_keys[] = {
    {"priority", OBJECT(priority_keys), AT(PART, SLURM, priority),
     HELP("Settings of priority/multifactor, for the policy parameter priority=multifactor.")},
    {"preempt_type", CHOICE(preempt_types), DEFAULT("none"), AT(INTEGER, SLURM, preempt_type),
     HELP("PreemptType: which jobs may be preempted.")},
    {"preempt_mode", CHOICE(preempt_modes), DEFAULT("off"), AT(INTEGER, SLURM, preempt_mode),
     HELP("PreemptMode: what happens to jobs that are preempted. Suspended jobs keep all but CPUs.")},
    {"preempt_exempt_time_s", SECONDS, AS_US(SLURM, preempt_exempt_us), OTHERWISE("none"),
     HELP("PreemptExemptTime: time after its start in which a job is not preempted.")},
    {"preempt_youngest_first", BOOLEAN, DEFAULT("false"), AT(INTEGER, SLURM, preempt_youngest_first),
     HELP("PreemptParameters=youngest_first: jobs that started last are preempted first.")},
    {"over_time_limit_s", SECONDS, AS_US(SLURM, over_time_limit_us), OTHERWISE("jobs run as long as in the trace"),
     HELP("OverTimeLimit: time after which a job that is over its limit is stopped. 3932100: unlimited.")},
    {"enforce_limits", BOOLEAN, DEFAULT("true"), AT(INTEGER, SLURM, enforce_limits),
     HELP(
         "AccountingStorageEnforce has 'limits'. If not, limits of QOS and associations have no effect, and what a job "
         "uses after the last computation of usage before its end is not counted.")},
    {"cpus_per_gpu", REAL(MIN_SCALE, 1e6), DEFAULT("1"), AT(DOUBLE, SLURM, cpus_per_gpu),
     HELP("CPUs of a node per GPU, for the factor of size.")},
    {"partitions", LIST(0, MAX_ROWS, EACH(OBJECT(partition_keys))), AS_ARRAY(SLURM, partitions, n_partitions),
     OTHERWISE("one partition of all nodes"), HELP("Partitions, in any order. The queue of a job is its partition.")},
    {"qos", LIST(0, MAX_ROWS, EACH(OBJECT(qos_keys))), AS_ARRAY(SLURM, qos, n_qos),
     HELP("Qualities of service, in any order.")},
    {"associations", LIST(0, MAX_ROWS, EACH(OBJECT(assoc_keys))), AS_ARRAY(SLURM, associations, n_associations),
     OTHERWISE("an account per tenant with its users, all with one share"),
     HELP("Accounts, in any order, and their users.")},
    {"reservations", LIST(0, MAX_ROWS, EACH(OBJECT(reservation_keys))), AS_ARRAY(SLURM, reservations, n_reservations),
     HELP("Advance reservations.")},
    END};
