/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_CARBON_CARBON_H
#define HR_POLICIES_QUEUE_CARBON_CARBON_H

/* Jobs that wait for electricity with less carbon. While a job waits for such electricity, it is held: it is not in the
   queue. */

#include "headroom/unstable/series.h"
#include "policies/queue/dispatch.h"

/* The rules. Their names in scenarios are in policies/queue/dispatch.h. */
enum hr__carbon_rule {
  HR__CARBON_NO_WAIT,
  HR__CARBON_ALL_WAIT,       /* as long as allowed, or until reserved capacity is free */
  HR__CARBON_LOWEST_SLOT,    /* start in the step with the lowest intensity */
  HR__CARBON_LOWEST_WINDOW,  /* start so that the run has the lowest carbon */
  HR__CARBON_TIME,           /* start so that the carbon saved per time until the end is largest */
  HR__CARBON_RESERVED_FIRST, /* HR__CARBON_TIME, or start as soon as reserved capacity is free */
  HR__CARBON_CONTIGUOUS,     /* as LOWEST_WINDOW */
  HR__CARBON_INTERRUPTIBLE,  /* run in the steps with the lowest intensity */
  HR__CARBON_ECOVISOR        /* run while the intensity is below a quantile of the first hours after the submission */
};

/* The time by which a job must end. */
enum hr__carbon_deadline {
  HR__CARBON_BY_WAIT,      /* it may wait for carbon_wait_s or, if it is shorter than carbon_short_s, for
                              carbon_short_wait_s */
  HR__CARBON_BY_JOB,       /* the deadline of the job in the trace */
  HR__CARBON_NEXT_WORKDAY, /* if it would end outside Monday to Friday, 9 to 17 h: the next 9 h on a workday (after 17 h
                              on a Friday: Saturday at 9 h); else it may not wait */
  HR__CARBON_NEXT_MONDAY,  /* the next Monday at 9 h */
  HR__CARBON_SEMI_WEEKLY   /* Monday or Thursday at 9 h, whichever is next */
};

/* A job for which a plan is made: when it may start and end. Times are in UTC. */
struct hr__carbon_job {
  const struct hr_series *series;
  int64_t from_us;    /* now */
  int64_t slack_us;   /* how much later the job may start or, if it can be interrupted, end */
  int64_t length_us;  /* expected run time, with checkpoints */
  int64_t step_us;    /* starts are `from_us` plus multiples of this; 0: any start */
  int64_t restart_us; /* time that each interruption adds to the run time */
};

/* The times in which a job that can be interrupted runs: from `from_us` on, while the intensity is less than `below`.
   Before `tie_until_us`, it also runs while the intensity is equal to `below`. Times are in UTC. */
struct hr__carbon_slots {
  int64_t below, tie_until_us, from_us;
};

/* The overheads of a job (checkpoints and restarts), and its speed in millionths of full speed; 0: no pool can run
   it. */
struct hr__carbon_needs {
  struct hr_job_overhead overhead;
  uint32_t speed_ppm;
};

/* A part of a step of a series: an intensity (`value`), and the time for which it applies. */
struct hr__carbon_part {
  int64_t value, from_us, length_us;
};

/* A buffer of parts that grows in an arena. */
struct hr__carbon_parts {
  struct hr_arena *arena;
  struct hr__carbon_part *at;
  uint32_t count, capacity;
};

struct hr__stream;

/* ---- plans.c: functions without state ---------------------------------------------- */

/* Each of these functions returns how much later than now the job should start (see enum hr__carbon_rule; best_rate:
   HR__CARBON_TIME). If several starts are equally good, the earliest is chosen. */
int64_t hr__carbon_lowest_slot(const struct hr__carbon_job *given);
int64_t hr__carbon_lowest_window(const struct hr__carbon_job *given);
int64_t hr__carbon_best_rate(const struct hr__carbon_job *given);
/* Finds when a job with interruptions runs, so that it ends within `length_us` plus `slack_us` from now. It runs in the
   parts of steps with the lowest intensity; if intensities are equal, in the earliest. Without a restart time, these
   parts have a total length of `length_us`. With a restart time, they suffice for the work and the restarts; but the
   job is not interrupted if no such parts are found, or if a run without interruptions causes the same or less carbon.
   False: out of memory. */
bool hr__carbon_best_slots(const struct hr__carbon_job *job, struct hr__carbon_parts *parts,
                           struct hr__carbon_slots *slots);
/* Writes to `*value` the smallest intensity such that, in at least the given share of the time from `from_us` to
   `to_us`, the intensity is at most this value. False: out of memory. */
bool hr__carbon_quantile(const struct hr_series *series, int64_t from_us, int64_t to_us, double share,
                         struct hr__carbon_parts *parts, int64_t *value);
/* Returns whether a job should pause from `from_us` until `to_us`, although it then needs `restart_us` to restart. It
   should pause if the carbon of running in this time exceeds the sum of two amounts: the carbon of the restart, and the
   carbon of an equally long time at the intensity slots->below. If `restart_us` is 0, it should always pause. */
bool hr__carbon_pause_saves(const struct hr_series *series, const struct hr__carbon_slots *slots, int64_t restart_us,
                            int64_t from_us, int64_t to_us);
/* Returns an upper bound of the time that a job needs for the rest of its work (`work_us`) if it is not interrupted any
   more. `again`: the job has run before, so it needs the restart time. */
int64_t hr__carbon_time_us(const struct hr__carbon_needs *needs, int64_t work_us, bool again);
/* Returns the largest overheads and the lowest speed of a job over the pools that it accepts. */
struct hr__carbon_needs hr__carbon_needs_of(const struct hr__queue *queue, const struct hr_view *view, hr_job job);
/* Creates a copy of a series with noise: each value plus a draw from the normal distribution with mean 0 and standard
   deviation error x (mean of the series). NULL: out of memory. */
struct hr_series *hr__carbon_add_noise(const struct hr_series *series, double error, struct hr__stream *stream);
/* Returns how much later than `end_us` (UTC) a job may end under the rules HR__CARBON_NEXT_WORKDAY,
   HR__CARBON_NEXT_MONDAY and HR__CARBON_SEMI_WEEKLY. */
int64_t hr__carbon_calendar_slack(enum hr__carbon_deadline rule, int64_t end_us);

/* Returns whether a job runs at a time. */
static inline bool hr__carbon_runs_at(const struct hr_series *series, const struct hr__carbon_slots *slots,
                                      int64_t at_us) {
  int64_t value = hr_series_at(series, at_us);
  if (at_us < slots->from_us) return false;
  return value < slots->below || (value == slots->below && at_us < slots->tie_until_us);
}
/* Returns the first time in [at_us, until_us) at which hr__carbon_runs_at returns `runs`; `until_us` if no such time
   exists. */
int64_t hr__carbon_next(const struct hr_series *series, const struct hr__carbon_slots *slots, bool runs, int64_t at_us,
                        int64_t until_us);

/* ---- carbon.c: the module of the queue ---------------------------------------------------------------- */

/* Creates queue->carbon if the rule makes jobs wait. HR_BAD_INPUT: no pool has a carbon intensity, but the rule needs
   it. */
enum hr_status hr__carbon_create(struct hr__queue *queue, const struct hr_policy_env *env, struct hr_error *error);
/* The function `destroy` of the policy. Frees what hr__carbon_create has allocated outside the arena. */
void hr__carbon_destroy(void *self);
/* Called when a job begins to wait: the job is held, or added to the queue. Without queue->carbon, it is added. */
enum hr_status hr__carbon_job_waits(struct hr__queue *queue, const struct hr_view *view, hr_job job);
/* Adds a job to the queue if it is held. */
enum hr_status hr__carbon_release(struct hr__queue *queue, const struct hr_view *view, hr_job job);
/* Called before a pass: stops jobs that pause, and adds the jobs that are due to the queue. */
enum hr_status hr__carbon_begin_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);
/* Called after jobs from the queue were started. If the parameters allow it (`carbon_reserved_first`), starts held jobs
   on free capacity that is paid for anyway. */
enum hr_status hr__carbon_start_early(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);
/* Called after a pass: requests a wake-up. */
enum hr_status hr__carbon_end_pass(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);
/* If the job is held, writes the reason to `*wait` and returns true. */
bool hr__carbon_explains(const struct hr__queue *queue, hr_job job, struct hr_wait_reason *wait);
/* Both return whether the rule stops running jobs. hr__carbon_stops_jobs can be called before queue->carbon is
   created. */
bool hr__carbon_stops(const struct hr__queue *queue);
bool hr__carbon_stops_jobs(const struct hr_policy_env *env);

#endif
