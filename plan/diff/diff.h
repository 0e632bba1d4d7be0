/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_DIFF_DIFF_H
#define HR_PLAN_DIFF_DIFF_H

/* The results of a diff: the keys, queues and decisions in which two runs differ. Each structure owns its texts unless
   its comment says otherwise; hr_diff_destroy frees them. */

#include "headroom/unstable/compare.h"
#include "plan/runner/runner.h"
#include "report/tables/tables.h"

/* ---- Keys of two scenarios ------------------------------------------------------------------------------ */

/*
 * The keys in which two scenarios differ. Both scenarios are JSON trees after overrides and are compared key by key.
 * Entries of lists that have names, such as pools, are matched by name, so that an inserted entry is one difference. If
 * other lists have different lengths, each list as a whole is one difference.
 */

enum { HR__KEY_VALUE_BYTES = 80 };

/* A difference. The texts are valid only during the call. */
struct hr__key_difference {
  const char *path;          /* in the notation of --set: "cluster.pools.0.nodes" */
  const char *shown;         /* the same with the names of entries: "cluster.pools[a100].nodes" */
  const cJSON *before, *now; /* NULL: the scenario lacks the key */
};

typedef void hr__key_visit(void *self, const struct hr__key_difference *difference);

/* Calls `visit` for each difference, in the order of `now`; keys that only `before` has follow those of their object.
   The keys "$schema" and "description" of the scenario are ignored, since they have no effect on runs. */
void hr__keys_compare(const cJSON *before, const cJSON *now, hr__key_visit *visit, void *self);

/* Writes a value: a text without quotes, other values as JSON. Long values are cut. Returns `buffer`, which has
   HR__KEY_VALUE_BYTES bytes. */
const char *hr__key_value_text(const cJSON *value, char *buffer);

/* ---- Results ------------------------------------------------------------------------------------------- */

enum { HR__DIFF_SIDES = 2, HR__DIFF_SHOWN_DECISIONS = 4 };

/* A key in which the scenarios differ. */
struct hr__diff_key {
  char *path, *shown;            /* as in struct hr__key_difference */
  cJSON *values[HR__DIFF_SIDES]; /* NULL: the scenario lacks the key */
};

/* The waits of the jobs of a queue. The queue of a job is its field `queue`; if no job has one, its tenant. */
struct hr__diff_queue {
  char *name;                                    /* "": jobs without a queue */
  uint64_t jobs[HR__DIFF_SIDES];                 /* submitted before the end of the run */
  struct hr_distribution wait_s[HR__DIFF_SIDES]; /* of jobs that started */
};

/* A decision: a start, a rejection, or a stop of a job. */
struct hr__diff_event {
  int64_t at_us;
  uint32_t job;
  uint32_t place; /* hash of the nodes of a start */
  uint8_t kind;   /* enum hr_event_kind */
  uint8_t reason; /* enum hr_reason */
};

/* The decisions of a run, in order. */
struct hr__diff_log {
  struct hr__diff_event *events;
  uint32_t count, capacity;
  uint32_t n_jobs; /* jobs of the trace; replicas of services, which follow, are left out */
  bool out_of_memory;
};

/* The decisions of one side at the first instant at which decisions differ. */
struct hr__diff_decisions {
  struct hr__diff_event shown[HR__DIFF_SHOWN_DECISIONS]; /* the decisions that only this side makes at this time */
  uint64_t count; /* number of these decisions; may be larger than the number that is shown */
  /* If this side starts a job: the time at which the other side starts this job; HR_NEVER_US: never. Otherwise 0. */
  int64_t other_start_us;
  bool other_rejects; /* the other side rejects this job */
  char *wait; /* what the job waits for on the other side: a sentence; NULL: unknown, or it does not wait longer */
};

/* The first start of the list; NULL: not found. */
static inline const struct hr__diff_event *hr__diff_first_start(const struct hr__diff_decisions *decisions) {
  for (uint64_t i = 0; i < decisions->count && i < HR__DIFF_SHOWN_DECISIONS; i++)
    if (decisions->shown[i].kind == HR_EVENT_START) return &decisions->shown[i];
  return NULL;
}

/* The first difference of decisions. Jobs and kinds of decisions are compared first. If they never differ, the nodes of
   starts are compared. */
struct hr__diff_first {
  bool found;
  bool only_nodes; /* all decisions are the same, but a job starts on other nodes */
  int64_t at_us;
  struct hr__diff_decisions sides[HR__DIFF_SIDES]; /* with only_nodes: the start of the job */
};

/* One run. */
struct hr__diff_run {
  struct hr__one_run run;
  struct hr__diff_log log;
  struct hr_rejections rejections;
  struct hr__diff_queue *queues; /* [n_queues]: queues of this run; only `jobs` and `wait_s` of this side are set */
  size_t n_queues;
};

struct hr_diff {
  struct hr_diff_config config;
  struct hr__diff_key *keys;
  size_t n_keys;
  bool out_of_memory; /* a key could not be stored */
  struct hr__diff_run runs[HR__DIFF_SIDES];
  struct hr__diff_queue *queues; /* sorted by the change of the sum of waits, the largest first */
  size_t n_queues;
  bool by_queue; /* the trace has the field `queue`; otherwise queues are tenants */
  struct hr__diff_first first;
  struct hr_notes notes;
};

/* The queues of a trace: the field `queue` of jobs or, if no job has it, the tenant. */
static inline const uint32_t *hr__diff_queue_column(const struct hr_trace *trace) {
  return trace->queue ? trace->queue : trace->tenant;
}
static inline const struct hr_names *hr__diff_queue_names(const struct hr_trace *trace) {
  return trace->queue ? &trace->queues : &trace->tenants;
}

#endif
