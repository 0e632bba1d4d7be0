/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The key table of the section `kai`: queues, priority classes and settings of KAI-Scheduler.
 *
 * Names, units and defaults are those of KAI's Queue objects, SchedulingShard objects and scheduler options, in
 * snake_case. Rules across keys are checked in scenarios/build/systems/kai.c.
 *
 * Source: KAI-Scheduler, CRDs queues.scheduling.run.ai and schedulingshards.kai.scheduler, cmd/scheduler/app/options.
 */

#include "headroom/unstable/systems/kai.h"

#include "scenarios/schema/keys.h"

#define WORD(name, text) text,
static const char *const strategies[] = {HR_KAI_STRATEGY_TABLE(WORD) NULL};
static const char *const reclaim_methods[] = {HR_KAI_RECLAIM_METHOD_TABLE(WORD) NULL};
static const char *const windows[] = {HR_KAI_WINDOW_TABLE(WORD) NULL};

#define MAX_AMOUNT 1e12
#define MAX_QUEUES 10000.0
#define PRIORITY WHOLE(INT32_MIN, INT32_MAX)

static const struct hr__key resource_keys[] = {
    {"quota", REAL(-1, MAX_AMOUNT), DEFAULT("0"), AT(DOUBLE, struct hr_kai_resource, quota),
     HELP("What the queue deserves. -1: unlimited.")},
    {"limit", REAL(-1, MAX_AMOUNT), DEFAULT("0"), AT(DOUBLE, struct hr_kai_resource, limit),
     HELP("The most that the queue may use. -1: no limit.")},
    {"over_quota_weight", REAL(0, MAX_AMOUNT), DEFAULT("0"), AT(DOUBLE, struct hr_kai_resource, over_quota_weight),
     HELP("The queue's part of what exceeds all quotas, relative to its siblings.")},
    END};

#define QUEUE struct hr_kai_queue
#define MIN_RUNTIME(name, member, words)                                                                               \
  { name, SECONDS, AT(INTEGER, QUEUE, member), .scale = 1e6, OTHERWISE("that of the parent"), HELP(words) }
static const struct hr__key queue_keys[] = {
    {"name", NAME, MUST, AT(TEXT, QUEUE, name), HELP("Name, different from those of other queues.")},
    {"parent", NAME, AT(TEXT, QUEUE, parent), OTHERWISE("a top queue"), HELP("The queue above this one.")},
    {"priority", PRIORITY, DEFAULT("100"), AT(INTEGER, QUEUE, priority),
     HELP("Queues of higher priority are first to get what exceeds the quotas.")},
    {"gpu", OBJECT(resource_keys), AT(PART, QUEUE, gpu), HELP("GPUs.")},
    {"cpu", OBJECT(resource_keys), AT(PART, QUEUE, cpu), HELP("CPUs, in thousandths.")},
    {"memory", OBJECT(resource_keys), AT(PART, QUEUE, memory), HELP("Memory, in megabytes of 1000000 bytes.")},
    MIN_RUNTIME("preempt_min_runtime_s", preempt_min_runtime_us,
                "For this time after its start, a job is not preempted by jobs of the same queue."),
    MIN_RUNTIME("reclaim_min_runtime_s", reclaim_min_runtime_us,
                "For this time after its start, a job is not reclaimed for other queues."),
    END};

#define CLASS struct hr_kai_priority_class
static const struct hr__key class_keys[] = {
    {"name", NAME, MUST, AT(TEXT, CLASS, name), HELP("Name, for people.")},
    {"value", PRIORITY, MUST, AT(INTEGER, CLASS, value), HELP("The priority of the jobs.")},
    {"preemptible", BOOLEAN, AT(INTEGER, CLASS, preemptible), OTHERWISE("true if the value is below 100"),
     HELP("Whether the jobs may be evicted for other jobs. If not, they only use quota.")},
    END};

#define USAGE struct hr_kai_usage
static const struct hr__key usage_keys[] = {
    {"window", CHOICE(windows), DEFAULT("sliding"), AT(INTEGER, USAGE, window),
     HELP("Which past counts: sliding or tumbling.")},
    {"window_s", SECONDS_FROM(1), DEFAULT("604800"), AS_US(USAGE, window_us), HELP("Length of the window.")},
    {"half_life_s", SECONDS, DEFAULT("0"), AS_US(USAGE, half_life_us),
     HELP("Time after which usage counts half. 0: no decay.")},
    {"fetch_interval_s", SECONDS_FROM(1), DEFAULT("60"), AS_US(USAGE, fetch_interval_us),
     HELP("Time between two readings of the usage.")},
    END};

#define SCHEDULER struct hr_kai_scheduler
static const struct hr__key scheduler_keys[] = {
    {"schedule_period_s", REAL(0.001, 3600), .unit = "s", DEFAULT("1"), AS_US(SCHEDULER, period_us),
     HELP("Time between two cycles.")},
    {"k_value", REAL(0, MAX_AMOUNT), DEFAULT("1"), AT(DOUBLE, SCHEDULER, k_value),
     HELP("Weight of past usage. Only with 'usage'.")},
    {"usage", OBJECT(usage_keys), AT(PART, SCHEDULER, usage), OTHERWISE("past usage does not count"),
     HELP("Time-based fair share: past usage reduces the part of what exceeds the quotas.")},
    {"gpu_placement", CHOICE(strategies), DEFAULT("binpack"), AT(INTEGER, SCHEDULER, gpu_placement),
     HELP("How pods with GPUs are placed on nodes: binpack or spread.")},
    {"cpu_placement", CHOICE(strategies), DEFAULT("binpack"), AT(INTEGER, SCHEDULER, cpu_placement),
     HELP("How pods without GPUs are placed on nodes: binpack or spread.")},
    {"shared_gpu_placement", CHOICE(strategies), AT(INTEGER, SCHEDULER, gpu_spread),
     OTHERWISE("that of 'gpu_placement'"), HELP("How pods with parts of GPUs are placed on GPUs: binpack or spread.")},
    {"allow_consolidating_reclaim", BOOLEAN, DEFAULT("true"), AT(INTEGER, SCHEDULER, allow_consolidating_reclaim),
     HELP("Whether pods that get another place do not count as reclaimed.")},
    {"max_consolidation_victims", WHOLE(-1, 1e9), DEFAULT("16"), AT(INTEGER, SCHEDULER, max_consolidation_victims),
     HELP("Most jobs that are considered for a move to other nodes. -1: no limit. 0: no consolidation.")},
    {"stale_gang_grace_s", REAL(-1, MAX_SECONDS), .unit = "s", DEFAULT("60"), AS_US(SCHEDULER, stale_grace_us),
     HELP("Time after which a gang below its minimum is evicted. -1: never.")},
    {"preempt_min_runtime_s", SECONDS, DEFAULT("0"), AS_US(SCHEDULER, preempt_min_runtime_us),
     HELP("Minimum run time before preemption, for queues without one.")},
    {"reclaim_min_runtime_s", SECONDS, DEFAULT("0"), AS_US(SCHEDULER, reclaim_min_runtime_us),
     HELP("Minimum run time before reclaim, for queues without one.")},
    {"reclaim_min_runtime_method", CHOICE(reclaim_methods), DEFAULT("lca"), AT(INTEGER, SCHEDULER, reclaim_method),
     HELP("Which queue's minimum run time counts for reclaim: lca or queue.")},
    {"saturation_multiplier", REAL(1, MAX_AMOUNT), DEFAULT("1"), AT(DOUBLE, SCHEDULER, saturation_multiplier),
     HELP("Factor of the reclaiming queue's saturation, when it is compared with that of a victim's queue.")},
    {"termination_grace_s", SECONDS, DEFAULT("30"), AS_US(SCHEDULER, termination_grace_us),
     HELP("Longest time from the eviction of a job to its end, in which it may write a checkpoint.")},
    {"scheduling_signatures", BOOLEAN, DEFAULT("true"), AT(INTEGER, SCHEDULER, signatures),
     HELP("Whether jobs like one that has failed are skipped in the same action.")},
    {"allocate_depth", WHOLE(1, 1e9), AT(INTEGER, SCHEDULER, allocate_depth), OTHERWISE("all jobs"),
     HELP("Most jobs of a queue that a cycle tries to start: the first ones. KAI: queueDepthPerAction.")},
    {"consolidation_depth", WHOLE(1, 1e9), AT(INTEGER, SCHEDULER, consolidation_depth), OTHERWISE("all jobs"),
     HELP("Most jobs of a queue for which consolidation moves others.")},
    {"reclaim_depth", WHOLE(1, 1e9), AT(INTEGER, SCHEDULER, reclaim_depth), OTHERWISE("all jobs"),
     HELP("Most jobs of a queue that reclaim from other queues.")},
    {"preempt_depth", WHOLE(1, 1e9), AT(INTEGER, SCHEDULER, preempt_depth), OTHERWISE("all jobs"),
     HELP("Most jobs of a queue that preempt others of their queue.")},
    END};

#define KAI struct hr_kai_config
const struct hr__key hr__kai_keys[] = {
    {"queues", LIST(0, MAX_QUEUES, EACH(OBJECT(queue_keys))), AS_ARRAY(KAI, queues, n_queues),
     OTHERWISE("one queue without limits"),
     HELP("Queues, in any order. Jobs are in queues that have no queues below.")},
    {"default_queue", NAME, AT(TEXT, KAI, default_queue), OTHERWISE("such jobs are rejected"),
     HELP("Queue of jobs without a queue, or with a queue that does not exist.")},
    {"priority_classes", LIST(0, MAX_MEMBERS, EACH(OBJECT(class_keys))), AS_ARRAY(KAI, classes, n_classes),
     HELP("Preemptibility of jobs by their priority. Jobs of other priorities are preemptible below 100.")},
    {"default_priority", PRIORITY, DEFAULT("50"), AT(INTEGER, KAI, default_priority),
     HELP("Priority of jobs in traces without priorities.")},
    {"scheduler", OBJECT(scheduler_keys), AT(PART, KAI, scheduler), HELP("Settings of the scheduler.")},
    {"topology", NAME, AT(TEXT, KAI, topology),
     HELP("Name of the topology, for people. Its levels are the tiers of the pools.")},
    END};
