/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_JOB_FIELDS_H
#define HEADROOM_JOB_FIELDS_H

/*
 * The fields of a job. This table is the only list of the fields. The columns of struct hr_trace, struct hr_job_record,
 * the trace builder, CSV files, column maps, packed files, streaming, the tools and the tables of fields in
 * docs/reference/formats/ are generated from it. To add a field, add a row and generate these pages again
 * (CONTRIBUTING.md).
 *
 * The order of the rows is the order of the columns in CSV files and in lists of fields. The arguments of the table are
 * macros, one for each form of row:
 *
 *   ID(key, column, help)
 *     the id of the job, which is stored as a number or as a text
 *   VALUE(id, member, type, record_type, kind, key, column, required, unknown, min, max, section, fault, help)
 *     a number, an instant or a word
 *   NAME(id, member, kind, key, column, section, set_id, set, set_section, help)
 *     a text, stored as an index into the set of names `set` of struct hr_trace; HR_NONE: unknown
 *   FLAG_COLUMN, with the arguments of VALUE
 *     the column that contains the flags
 *   FLAG(kind, key, column, bit, help)
 *     a bit of that column
 *
 *   id, set_id            name in enumerations
 *   member                name in struct hr_trace and in struct hr_job_record; the suffix is the unit
 *   type, record_type     type in struct hr_trace, and in struct hr_job_record
 *   kind                  how the value is written as text (enum hr__kind)
 *   key                   name in column maps
 *   column                name in Headroom's CSV files
 *   required              each job must have the field
 *   unknown               value in a record if the field is unknown; in a trace, unknown instants are HR_UNKNOWN_US
 *   min, max              bounds in a record, in units of the member
 *   section               position among the columns of a packed file
 *   set_section           position among the sets of names of a packed file. The positions of existing rows never
 *                         change; a new row gets the next number
 *   fault                 the error for a value that is out of bounds; NULL: no value is out of bounds
 *   help                  the meaning of the field
 *
 * The fields that nearly every trace has are in a separate table, HR_JOB_COMMON_FIELD_TABLE, because the trace builder
 * stores them in a faster way.
 */

#include "headroom/base.h"
#include "headroom/cluster.h"

#define HR_JOB_COMMON_FIELD_TABLE(ID, VALUE, NAME)                                                                     \
  ID("job_id", "job_id",                                                                                               \
     "the name of the job. Without ids, jobs are numbered from 1; rows skipped by `--lenient` are not counted")        \
  VALUE(SUBMIT, submit_us, int64_t, int64_t, INSTANT, "submit", "submit_s", true, 0, -HR_MAX_INPUT_US,                 \
        HR_MAX_INPUT_US, 0, "the submit time is out of range", "submit time")                                          \
  VALUE(WORK, work_us, int64_t, int64_t, DURATION, "duration", "duration_s", true, 0, 0, HR_MAX_INPUT_US, 1,           \
        "the duration is negative or out of range", "run time")                                                        \
  VALUE(GPUS, gpus, uint32_t, uint32_t, GPUS, "gpus", "gpus", true, 0, 0, HR_MAX_GPUS, 2,                              \
        "the job requests more than 4000000 GPUs",                                                                     \
        "number of whole GPUs, the sum over all tasks; 0 for jobs without GPUs")                                       \
  NAME(USER, user, TEXT, "user", "user", 4, USERS, users, 1, "the person who submitted the job")                       \
  NAME(TENANT, tenant, TEXT, "tenant", "tenant", 3, TENANTS, tenants, 0, "the party that pays for the job")

#define HR_JOB_OTHER_FIELD_TABLE(VALUE, NAME, FLAG_COLUMN, FLAG)                                                       \
  VALUE(CLASS, class_, uint8_t, uint8_t, CLASS, "class", "class", false, HR_CLASS_UNKNOWN, 0, HR_N_CLASSES - 1, 18,    \
        "the class, the outcome or a flag is invalid", "kind of workload")                                             \
  VALUE(PRIORITY, priority, int32_t, int32_t, PRIORITY, "priority", "priority", false, 0, INT32_MIN, INT32_MAX, 9,     \
        NULL, "jobs with a higher priority go first")                                                                  \
  VALUE(LIMIT, limit_us, int64_t, int64_t, DURATION, "limit", "limit_s", false, HR_UNKNOWN_US, 0, HR_MAX_INPUT_US, 6,  \
        "the limit is negative or out of range", "maximum run time requested by the user")                             \
  VALUE(ESTIMATE, estimate_us, int64_t, int64_t, DURATION, "estimate", "estimate_s", false, HR_UNKNOWN_US, 0,          \
        HR_MAX_INPUT_US, 7, "the estimate is negative or out of range", "run time predicted by an estimator")          \
  VALUE(DEADLINE, deadline_us, int64_t, int64_t, INSTANT, "deadline", "deadline_s", false, INT64_MIN,                  \
        -HR_MAX_INPUT_US, HR_MAX_INPUT_US, 8, "the deadline is out of range",                                          \
        "time by which the job should be complete, not before `submit_s`")                                             \
  VALUE(TASKS, tasks, uint32_t, uint32_t, TASKS, "tasks", "tasks", false, 1, 1, UINT32_MAX, 5,                         \
        "'gpus', which counts all tasks together, is not a multiple of 'tasks'",                                       \
        "number of tasks of the gang; `gpus` must be a multiple of it")                                                \
  VALUE(CPU, cpu_milli, uint32_t, uint32_t, CPUS, "cpu", "cpu", false, 0, 0, 1000000000, 10,                           \
        "a task of the job requests more than 1000000 CPUs or 1048576 GiB of memory", "CPUs per task")                 \
  VALUE(MEM, mem_mib, uint64_t, uint64_t, GIB, "mem", "mem_gb", false, 0, 0, 1 << 30, 11,                              \
        "a task of the job requests more than 1000000 CPUs or 1048576 GiB of memory", "memory per task")               \
  VALUE(GPU_MEM, gpu_mem_mib, uint64_t, uint64_t, GIB, "gpu_mem", "gpu_mem_gb", false, 0, 0, UINT64_MAX, 12, NULL,     \
        "memory per GPU")                                                                                              \
  VALUE(GPU_MILLI, gpu_milli, uint16_t, uint32_t, GPU_SHARE, "gpu_milli", "gpu_milli", false, 1000, 1, 1000, 13,       \
        "'gpu_milli' is not from 1 to 1000", "requested share of each GPU; 1000: whole GPUs")                          \
  NAME(GPU_TYPES, gpu_types, LIST, "gpu_type", "gpu_type", 15, GPU_TYPE_LISTS, gpu_type_lists, 4,                      \
       "acceptable GPU types; empty: any")                                                                             \
  VALUE(OUTCOME, outcome, uint8_t, uint8_t, STATUS, "status", "status", false, HR_OUTCOME_UNKNOWN, 0,                  \
        HR_N_OUTCOMES - 1, 19, "the class, the outcome or a flag is invalid",                                          \
        "how the job ended when the trace was recorded")                                                               \
  NAME(MODEL, model, TEXT, "model", "model", 14, MODELS, models, 2, "the model that the job trains or serves")         \
  NAME(REGIONS, regions, LIST, "regions", "regions", 16, REGION_LISTS, region_lists, 5,                                \
       "acceptable regions, compared with the pools' `region`; empty: any. If a job names regions, it does not "       \
       "accept pools without `region`")                                                                                \
  NAME(MIG_PROFILE, mig_profile, TEXT, "mig_profile", "mig_profile", 17, MIG_PROFILES, mig_profiles, 3,                \
       "MIG profile, such as `1g.10gb`")                                                                               \
  FLAG_COLUMN(FLAGS, flags, uint8_t, uint8_t, FLAGS, NULL, NULL, false, 0, 0,                                          \
              HR_JOB_DEDICATED | HR_JOB_NOT_INTERRUPTIBLE, 20, "the class, the outcome or a flag is invalid",          \
              "1: dedicated; 2: not interruptible")                                                                    \
  FLAG(DEDICATED, "dedicated", "dedicated", HR_JOB_DEDICATED,                                                          \
       "`true`: no other job may run on the nodes of this job; needs per-GPU allocation")                              \
  FLAG(INTERRUPTIBLE, "interruptible", "interruptible", HR_JOB_NOT_INTERRUPTIBLE,                                      \
       "`false`: the job must not be interrupted")                                                                     \
  VALUE(CHECKPOINT_INTERVAL, checkpoint_interval_us, int64_t, int64_t, DURATION, "checkpoint_interval",                \
        "checkpoint_interval_s", false, HR_UNKNOWN_US, 0, HR_MAX_INPUT_US, 22,                                         \
        "the checkpoint interval is negative or out of range", "work between two checkpoints")                         \
  VALUE(CHECKPOINT, checkpoint_mib, uint64_t, uint64_t, GIB, "checkpoint", "checkpoint_gb", false, 0, 0, UINT64_MAX,   \
        23, NULL, "size of a checkpoint")                                                                              \
  VALUE(FAIL_AT, fail_at_ppm, uint32_t, uint32_t, FRACTION, "fail_at", "fail_at", false, HR_NONE, 0, 1000000, 21,      \
        "'fail_at' is not from 0 to 1", "for a failed job: the part of the work after which it failed")                \
  VALUE(MIN_GPUS, min_gpus, uint32_t, uint32_t, GPU_BOUND, "min_gpus", "min_gpus", false, HR_NONE, 0, HR_MAX_GPUS, 24, \
        "'min_gpus' is more than 'gpus'", "minimum number of GPUs of an elastic job")                                  \
  VALUE(MAX_GPUS, max_gpus, uint32_t, uint32_t, GPU_BOUND, "max_gpus", "max_gpus", false, HR_NONE, 0, UINT32_MAX - 1,  \
        25, "'max_gpus' is less than 'gpus'", "maximum number of GPUs of an elastic job")                              \
  VALUE(WITHIN, within, uint8_t, uint8_t, TIER, "within", "within", false, HR_TIER_ANY, 0, HR_TIER_POOL - 1, 26,       \
        "the topology level of 'within' is invalid",                                                                   \
        "all GPUs of the job must be within one group of this tier. Empty: as specified for its class, otherwise "     \
        "anywhere")                                                                                                    \
  VALUE(WITHIN_WAIT, within_wait_us, int64_t, int64_t, DURATION, "within_wait", "within_wait_s", false, HR_UNKNOWN_US, \
        0, HR_MAX_INPUT_US, 27, "'within_wait_s' is negative or out of range",                                         \
        "time after submission during which the job waits for a placement as specified by `within`; after this time "  \
        "it accepts any placement. 0: a placement within one group is only tried first. Empty: it is always required") \
  VALUE(RECORDED_START, recorded_start_us, int64_t, int64_t, INSTANT, "start", "start_s", false, INT64_MIN,            \
        -HR_MAX_INPUT_US, HR_MAX_INPUT_US, 28, "the recorded start is out of range",                                   \
        "recorded start, not before `submit_s`; ignored by a replay")                                                  \
  NAME(QUEUE, queue, TEXT, "queue", "queue", 29, QUEUES, queues, 6,                                                    \
       "the queue to which the job was submitted, for policies that model a real scheduler: LocalQueue, Queue or "     \
       "partition. Empty: the tenant")                                                                                 \
  NAME(QOS, qos, TEXT, "qos", "qos", 30, QOS_NAMES, qos_names, 7,                                                      \
       "the quality of service that the job requested, as in Slurm")                                                   \
  VALUE(GPU_POWER, gpu_power_ppm, uint32_t, uint32_t, FRACTION, "gpu_power_fraction", "gpu_power_fraction", false,     \
        HR_NONE, 0, 1000000, 31, "'gpu_power_fraction' is not from 0 to 1",                                            \
        "power of the GPUs of the job, relative to their maximum. Empty: as specified for its class, otherwise for "   \
        "the pool")                                                                                                    \
  NAME(DATA_SET, data_set, TEXT, "data_set", "data_set", 32, DATA_SETS, data_sets, 8,                                  \
       "the data set that the job reads, by its name in `data` of the scenario")

#define HR_JOB_FIELD_TABLE(ID, VALUE, NAME, FLAG_COLUMN, FLAG)                                                         \
  HR_JOB_COMMON_FIELD_TABLE(ID, VALUE, NAME)                                                                           \
  HR_JOB_OTHER_FIELD_TABLE(VALUE, NAME, FLAG_COLUMN, FLAG)

/* The argument for forms of rows that are to be omitted. */
#define HR_NO_FIELD(...)
/* The rows that are columns of a trace. */
#define HR_JOB_COLUMN_TABLE(VALUE, NAME) HR_JOB_FIELD_TABLE(HR_NO_FIELD, VALUE, NAME, VALUE, HR_NO_FIELD)
/* The rows that are fields of a CSV file. */
#define HR_JOB_CSV_TABLE(ID, VALUE, NAME, FLAG) HR_JOB_FIELD_TABLE(ID, VALUE, NAME, HR_NO_FIELD, FLAG)

#endif
