/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parameters of the `queue` policy: keys, types, bounds, defaults and help texts. */

#include "policies/queue/dispatch.h"

#include "base/text.h"
#include "policies/kit/params.h"

#define TEXT(text, object) text,
#define NAME(text) text,
#define ORDER_NAME(text, ...) text,
#define ORDER_HELP(text, name, ...) " " text " (" HR__FIRST_OF(__VA_ARGS__, ) "),"
static const char *const order_names[] = {HR__ORDERS(ORDER_NAME) NULL};
static const char *const backfill_names[] = {HR__BACKFILLS(TEXT) NULL};
const char *const hr__placement_names[] = {HR__PLACEMENTS(TEXT) HR__PACKINGS(NAME) NULL};
static const char *const market_names[] = {HR__MARKETS(TEXT) NULL};
static const char *const preemption_names[] = {HR__PREEMPTIONS(TEXT) NULL};
static const char *const stopped_names[] = {HR__STOPPED(TEXT) NULL};
static const char *const carbon_names[] = {HR__CARBON_RULES(NAME) NULL};
static const char *const carbon_deadline_names[] = {HR__CARBON_DEADLINES(NAME) NULL};
static const char *const carbon_length_names[] = {"estimate", "average", NULL};
static const char *const elastic_names[] = {HR__ELASTIC_LEVELS(TEXT) NULL};
static const char *const recovery_names[] = {HR__RECOVERIES(TEXT) NULL};
static const char *const share_names[] = {"tree", "classic", NULL};
static const char *const victim_names[] = {HR__VICTIM_RULES(TEXT) NULL};

#define MAX_S 1e9

static const char *const requeue_names[] = {"order", "head", "tail", NULL};
const struct hr_param hr__queue_params[] = {
    HR__CHOICE("order", "fifo", order_names, HR__BASIC,
               "which waiting job comes first:" HR__ORDERS(ORDER_HELP) " ties by submit time"),
    HR__CHOICE("backfill", "strict", backfill_names, HR__BASIC,
               "what happens if a job does not fit. strict: no later job starts; skip: later jobs are tried; easy: the "
               "job gets a reservation, and later jobs start if they do not delay it; conservative: every waiting job "
               "gets a reservation"),
    HR__CHOICE(
        "placement", "best-fit", hr__placement_names, HR__BASIC,
        "where a job is placed. pool: only the free GPUs of a pool are counted; all other rules choose nodes and, "
        "with per-GPU allocation, GPUs. data-local: as best-fit, on nodes near the job's data if there are any "
        "(docs/reference/data.md)"),
    HR__REAL("data_local_wait_s", "0", 0, MAX_S, HR__ADVANCED,
             "data-local: maximum time from its submission for which a job waits for nodes near its data while other "
             "nodes are free"),
    HR__CHOICE(
        "requeue", "order", requeue_names, HR__ADVANCED,
        "place in the queue of a job that was stopped by a failure, a reclaim or maintenance. order: its place in "
        "the order; head: the first place (needs an order with keys that do not change, such as fifo); tail: the "
        "last place (needs order=fifo)"),
    HR__INTEGER(
        "exclude_nodes", "0", 0, 1000, HR__ADVANCED,
        "a job does not start again on the last nodes that failed while it ran on them. Number of these nodes; 0: "
        "none"),
    HR__REAL("exclude_s", "86400", 1, MAX_S, HR__ADVANCED,
             "exclude_nodes: time after its failure for which a node is excluded for a job"),
    HR__CHOICE("market", "spot-first", market_names, HR__ADVANCED,
               "how on-demand and spot nodes are requested. static: all available nodes, which are paid for at all "
               "times. All other rules request a node when a job needs it, and release it when it is idle. "
               "on-demand-only: on-demand nodes; spot-first: spot nodes, and on-demand nodes after spot_wait_s; "
               "price-capacity: nodes with the lowest price, which includes the risk of reclaims"),
    HR__REAL("spot_wait_s", "600", 0, MAX_S, HR__ADVANCED,
             "spot-first: time for which a job waits for spot nodes before it uses on-demand nodes"),
    HR__REAL("spot_hold_s", "600", 0, MAX_S, HR__ADVANCED,
             "spot-first: time for which a spot pool must have been available, without a reclaim, before it is used"),
    HR__REAL("idle_release_s", "300", 1e-6, MAX_S, HR__ADVANCED, "idle time after which an elastic node is released"),
    HR__INTEGER(
        "min_on_demand", "0", 0, HR_MAX_NODES, HR__ADVANCED,
        "on-demand-only, spot-first, price-capacity: minimum number of on-demand nodes, whether they are used or not"),
    HR__REAL("max_spot_share", "1", 0, 1, HR__ADVANCED,
             "spot-first, price-capacity: maximum share of spot nodes among all elastic nodes"),
    HR__REAL("reclaim_hours", "0.5", 0, 1000, HR__ADVANCED,
             "price-capacity: assumed cost of a reclaim, in hours of work"),
    HR__BOOLEAN("return_to_spot", "true", HR__ADVANCED,
                "spot-first: while no job waits, running jobs move from on-demand nodes to spot nodes"),
    HR__CHOICE("preemption", "auto", preemption_names, HR__ADVANCED,
               "which waiting jobs may stop running jobs. none: no job; order: jobs that precede the running job in "
               "order; priority: jobs of higher priority; reclaim: jobs within the guarantee of their tenant, if other "
               "tenants exceed their own guarantees; auto: as order under srtf, las and gittins, otherwise as none"),
    HR__CHOICE(
        "preempted", "auto", stopped_names, HR__ADVANCED,
        "what happens to a preempted job. checkpoint: it loses no work; requeue: it loses the work since its last "
        "checkpoint; kill: it is rejected; auto: as checkpoint if it was preempted by order and its class has no "
        "checkpoints, otherwise as requeue"),
    HR__CHOICE(
        "victims", "last", victim_names, HR__ADVANCED,
        "which job is preempted first. last: the last in order (with preemption=priority: the one with the lowest "
        "priority); least-lost: the one that loses the least work; youngest: the one that started last; "
        "lowest-priority: the one with the lowest priority"),
    HR__REAL("min_run_s", "0", 0, MAX_S, HR__ADVANCED, "minimum run time before a job may be preempted"),
    HR__REAL("grace_s", "0", 0, MAX_S, HR__ADVANCED,
             "grace period: maximum time for which a preempted job may continue, to save its work"),
    HR__CHOICE(
        "elastic", "off", elastic_names, HR__ADVANCED,
        "number of GPUs of elastic jobs (with min_gpus or max_gpus). off: as requested; start: the first job in "
        "order starts with fewer GPUs if it does not fit; grow: as start, and running jobs get more GPUs while no "
        "job waits; shrink: as grow, and running jobs release GPUs for the first job in order"),
    HR__CHOICE(
        "recovery", "requeue", recovery_names, HR__ADVANCED,
        "what happens to an elastic job if one of its nodes fails. requeue: it waits again; shrink: it continues "
        "with its other GPUs if they are at least min_gpus, and gets new GPUs before other jobs start"),
    HR__REAL("aging_s", "0", 0, 1e6, HR__ADVANCED,
             "priority: waiting time that raises the priority by one; 0: no aging"),
    HR__REAL("las_threshold_1_s", "3250", 1e-6, MAX_S, HR__ADVANCED,
             "las: GPU-seconds of service after which a job leaves the first queue"),
    HR__REAL("las_threshold_2_s", "7200", 1e-6, MAX_S, HR__ADVANCED,
             "las: GPU-seconds of service after which a job leaves the second queue"),
    HR__REAL("las_promote", "0", 0, 1e6, HR__ADVANCED,
             "las: a job returns to the first queue when its wait exceeds this multiple of the time for which it has "
             "run; 0: never"),
    HR__CHOICE(
        "fair_share", "tree", share_names, HR__ADVANCED,
        "fair-share, multifactor: how usage is compared with shares. tree: ranks in the tree of tenants and users "
        "(Slurm's Fair Tree); classic: 2^(-usage / share)"),
    HR__REAL("half_life_s", "604800", 0, MAX_S, HR__ADVANCED,
             "fair-share, multifactor: half-life of past usage; 0: no decay"),
    HR__REAL("calc_period_s", "300", 0, MAX_S, HR__ADVANCED,
             "fair-share=classic, multifactor: minimum time between two computations of the factors; 0: in each pass"),
    HR__REAL("weight_age", "1000", 0, MAX_S, HR__ADVANCED, "multifactor: weight of the waiting time"),
    HR__REAL("weight_fair_share", "1000", 0, MAX_S, HR__ADVANCED, "multifactor: weight of the fair share"),
    HR__REAL("weight_size", "1000", 0, MAX_S, HR__ADVANCED, "multifactor: weight of the requested share of all GPUs"),
    HR__REAL("weight_qos", "1000", 0, MAX_S, HR__ADVANCED,
             "multifactor: weight of the priority, relative to the highest priority of the trace"),
    HR__REAL("max_age_s", "604800", 1e-6, MAX_S, HR__ADVANCED,
             "multifactor: waiting time at which the age factor reaches its maximum"),
    HR__BOOLEAN("favor_small", "false", HR__ADVANCED,
                "multifactor: the size factor favors small jobs instead of large ones"),
    HR__REAL("qssf_decay", "0.8", 0, 1, HR__ADVANCED,
             "qssf: weight of a past run time, divided by the weight of the next run time"),
    HR__REAL("qssf_similarity", "0.7", 0, 1, HR__ADVANCED,
             "qssf: minimum similarity of two job names (1: equal) for one job to predict the other"),
    HR__CHOICE(
        "carbon", "no-wait", carbon_names, HR__ADVANCED,
        "how jobs wait for electricity with less carbon (docs/reference/carbon.md). no-wait: they do not wait; "
        "lowest-slot: a job starts in the step with the lowest intensity; lowest-window, wait-awhile-contiguous: "
        "it starts so that its carbon is lowest; carbon-time, reserved-first: it starts so that saved carbon / "
        "completion time is largest; wait-awhile: it runs in the steps with the lowest intensity; ecovisor: it "
        "runs while the intensity is below a quantile; all-wait: it waits as long as allowed"),
    HR__REAL("carbon_wait_s", "86400", 0, MAX_S, HR__ADVANCED, "carbon: maximum delay of the start of a job"),
    HR__REAL("carbon_short_wait_s", "21600", 0, MAX_S, HR__ADVANCED,
             "carbon: maximum delay of the start of a short job"),
    HR__REAL("carbon_short_s", "7200", 0, MAX_S, HR__ADVANCED, "carbon: jobs with a shorter run time are short jobs"),
    HR__CHOICE("carbon_deadline", "wait", carbon_deadline_names, HR__ADVANCED,
               "carbon: time by which a job must end. wait: at most its maximum delay later than without a wait; job: "
               "its deadline in the trace; next-workday, next-monday, semi-weekly: the rules of Let's Wait Awhile"),
    HR__CHOICE(
        "carbon_length", "estimate", carbon_length_names, HR__ADVANCED,
        "lowest-window, carbon-time, reserved-first: expected run time of a job. estimate: its estimate, limit or "
        "run time; average: the mean of all short jobs or of all other jobs, as in GAIA"),
    HR__REAL("carbon_step_s", "0", 0, MAX_S, HR__ADVANCED,
             "carbon: a job may start only at multiples of this time after its submission; 0: at any time"),
    HR__BOOLEAN(
        "carbon_reserved_first", "false", HR__ADVANCED,
        "carbon: a job does not wait while it fits on free nodes that are paid for in any case; always true with "
        "reserved-first and all-wait"),
    HR__REAL("carbon_lag_s", "0", 0, 86400, HR__ADVANCED,
             "carbon_reserved_first: delay after which waiting jobs use capacity that became free; GAIA's tick is 5 s"),
    HR__REAL("carbon_quantile", "0.3", 0, 1, HR__ADVANCED,
             "ecovisor: jobs run while the intensity is below this quantile of the intensities of the next "
             "carbon_lookahead_s"),
    HR__REAL("carbon_lookahead_s", "86400", 1, MAX_S, HR__ADVANCED,
             "ecovisor: length of the period, from the submission, for which the quantile is computed"),
    HR__REAL("carbon_forecast_error", "0", 0, 10, HR__ADVANCED,
             "carbon: standard deviation of the forecast error, relative to the mean intensity"),
    {0}};
