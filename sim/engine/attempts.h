/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_ENGINE_ATTEMPTS_H
#define HR_SIM_ENGINE_ATTEMPTS_H

/* The state of jobs in runs where jobs can be stopped: their attempts, accounts and checkpoints. Also the shared
   storage of pools. The memory belongs to struct hr__engine; attempts.c, accounts.c and checkpoints.c use it. */

#include "headroom/sim.h"

/* The phase of a running job, in runs where jobs can be stopped. */
enum hr__phase {
  HR__PHASE_WORKING,
  HR__PHASE_RESTARTING,
  HR__PHASE_SAVING,
  HR__PHASE_LEAVING,
  HR__PHASE_HANGING,    /* a node of the job has failed and the failure is not detected yet */
  HR__PHASE_BACKING_OFF /* killed for lack of GPU memory; waits before the next try */
};

/* The present attempt of a job, in runs where jobs can be stopped. Times are absolute; work is in microseconds at the
   reference speed. */
struct hr__engine_attempt {
  /* when the attempt began. hr__engine.attempt_us is set earlier: when the policy makes the move */
  int64_t begun_us;
  int64_t phase_us; /* when the present phase began */
  /* completed work of all attempts together when the present phase began, without lost work */
  int64_t progress_us;
  uint64_t part; /* the completed fraction of the next microsecond of work, in millionths of 1 / rate.den */
  struct hr__rate rate;
  uint32_t gpu_milli;
  uint32_t slow_ppm; /* the speed of its slowest node; 0: nodes are never slow */
  uint32_t series;   /* the index of the job's series of checkpoints in hr__engine.series, plus 1; 0: none */
  enum hr__phase phase;
  bool resizes; /* the job is being resized: it continues at this instant with another placement */
  /* the end of an undisturbed attempt uses none of the members below */
  uint32_t next_free;  /* in an unused slot: the next unused slot; 0: none */
  int64_t restart_us;  /* how long the restart takes before the job works */
  int64_t interval_us; /* work between two checkpoints; HR_NEVER_US without periodic checkpoints */
  int64_t down_us;     /* in phase HR__PHASE_LEAVING: when the job's node goes down */
  int64_t evict_us;    /* when the policy's notice to the job ends; 0 if the job has no such notice */
  bool evict_keeps;    /* whether all work of the job is kept when this notice ends */
  int64_t unkept_us;   /* time spent working since the attempt began, or since work was last kept in this attempt */
  hr_amount unkept_milli_us; /* the GPU time in unkept_us, in milli-GPUs x microseconds */
  int64_t retry_us;          /* in phase HR__PHASE_BACKING_OFF: when the job tries again */
  uint32_t kills;            /* how many consecutive times the job was killed for lack of GPU memory */
};

/* An asynchronous checkpoint that is being written. */
struct hr__async_save {
  int64_t durable_us;             /* when it is complete; 0: none is being written */
  int64_t progress_us, unkept_us; /* of the attempt, when the checkpoint began */
  hr_amount unkept_milli_us;
};

/* The accounts of disturbed jobs, which were stopped or had a phase other than HR__PHASE_WORKING. A job that ran once
   and only worked has none, because its account follows from its start and end. There is always room for the accounts
   of all running jobs. Account 0 belongs to no job; all its members are 0. */
struct hr__accounts {
  struct hr_job_accounting *rows;
  uint32_t count, capacity;
  uint32_t unused;   /* first of a linked list of unused accounts, linked by their member `attempts`; 0: none */
  uint32_t n_unused; /* number of unused accounts */
  uint32_t reserved; /* number of running jobs without an account */
};

/* The kept work of a job at the time when its results began to be corrupted. */
struct hr__clean_work {
  int64_t kept_us, kept_time_us;
  hr_amount kept_milli_us;
  bool is_set, is_found; /* is_found: the corruption was detected; when the job stops, it returns to this work */
};

/* A series of checkpoints of a running job that emit no events (see attempts.c). A period consists of work and a
   checkpoint. The job's entry in the event heap is the end of the work that follows the series. */
struct hr__checkpoint_series {
  hr_job job;
  int64_t work_us, write_us; /* the time of the work and of the checkpoint in each period */
  int64_t left;              /* the number of periods that are not complete yet */
};

/* The shared storage of a pool (see checkpoints.c). A service is a rate multiplied by a time, in units of
   2^-10 MiB per second x microseconds. */
__extension__ typedef unsigned __int128 hr__service;
struct hr__storage {
  uint64_t mib_s;
  hr__service clock; /* advances by the service that each writer receives */
  int64_t clock_us;  /* when the clock was last updated */
  int64_t next_us;   /* when the first of the writers will be done; HR_NEVER_US without writers */
  struct hr__storage_writer {
    hr__service mark;
    hr_job job;
  } * writers; /* sorted by mark; writers with equal marks are in the order in which they began */
  uint32_t count, capacity;
};

#endif
