/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_RUNNER_ONE_RUN_H
#define HR_PLAN_RUNNER_ONE_RUN_H

/*
 * One run among many: its input files, the simulation, and the part of its results that is kept.
 *
 * The caller owns every structure in this file. A function `..._finish` releases what a structure points to, and
 * accepts a zeroed structure.
 */

#include "headroom/report.h"
#include "headroom/scenario.h"
#include "headroom/sim.h"
#include "headroom/unstable/replay.h"

#include <pthread.h>

/* ---- Inputs ----------------------------------------------------------------------------------------- */

/* Returns a text that identifies how `scenario` reads the trace `file`: path, format, columns, leniency. Scenarios with
   equal texts can share one trace. The caller frees the text. NULL when out of memory. */
char *hr__input_trace_key(const struct hr_scenario *scenario, const char *file);

/* Reads the trace `file` with the settings of `scenario`. The file may differ from the trace of the scenario. The
   caller destroys the trace with hr_trace_destroy. Errors are those of hr_trace_read. */
static inline enum hr_status hr__input_trace_read(const struct hr_scenario *scenario, const char *file,
                                                  struct hr_trace **trace, struct hr_error *error) {
  struct hr_trace_options options = {
      .format = scenario->trace_format, .map = &scenario->columns, .lenient = scenario->lenient};
  return hr_trace_read(file, &options, trace, error);
}

/* Whether each replication draws its own workload. */
static inline bool hr__workload_is_redrawn(const struct hr_workload_spec *workload) {
  return workload->blocks != HR_BLOCKS_NONE || workload->growth != 1;
}

/* Adds `count` bytes to a 64-bit digest that detects changed inputs. The digest is not cryptographic. */
uint64_t hr__input_digest_bytes(uint64_t digest, const void *bytes, size_t count);

/* Computes the digest of a file's content. The digest of a folder does not depend on its content, since scenarios list
   the files of a folder separately. Returns HR_BAD_INPUT if the file cannot be read, and HR_NO_MEMORY when out of
   memory. */
enum hr_status hr__input_digest_file(const char *path, uint64_t *digest, struct hr_error *error);

/* ---- The run ---------------------------------------------------------------------------------------- */

/* Callbacks for a caller that needs the results of single jobs, which a summary lacks. */
struct hr__one_run_details {
  void *self;
  bool costs_by_job; /* the ledger also records the cost of each job */
  enum hr_status (*prepare)(void *self, struct hr_replay *replay, struct hr_error *error); /* adds observers */
  /* called after a successful run; the results are freed afterwards */
  enum hr_status (*collect)(void *self, const struct hr_replay *replay, struct hr_error *error);
};

struct hr__one_run_config {
  const struct hr_scenario *scenario;
  const struct hr_trace *trace;
  const struct hr_policy_choice *policy;     /* replaces the policy of the scenario */
  uint64_t seed;                             /* replaces the seed of the scenario */
  bool alerts;                               /* evaluate the scenario's alert rules */
  const struct hr__one_run_details *details; /* NULL: none */
  struct hr_progress progress;
};

struct hr__one_run {
  struct hr_summary *summary;
  struct hr_notes notes;
  struct hr_alerts *alerts; /* NULL: the rules were not evaluated */
  double seconds;           /* wall clock time of the run, in seconds */
};

/* Simulates and summarizes one run. `run` is initialized even after an error; release it with hr__one_run_finish. */
enum hr_status hr__one_run_make(const struct hr__one_run_config *config, struct hr__one_run *run,
                                struct hr_error *error);

static inline void hr__one_run_finish(struct hr__one_run *run) {
  hr_summary_destroy(run->summary);
  hr_alerts_destroy(run->alerts);
  hr_notes_finish(&run->notes);
  *run = (struct hr__one_run){0};
}

/* ---- Progress of concurrent runs -------------------------------------------------------------------- */

/* The summed progress of concurrent runs. A lock ensures that only one thread at a time calls `to`. */
struct hr__progress_sum {
  pthread_mutex_t lock;
  struct hr_progress to;
  uint64_t done, total; /* number of jobs */
};

static inline void hr__progress_sum_init(struct hr__progress_sum *sum, const struct hr_progress *to, uint64_t total) {
  *sum = (struct hr__progress_sum){.to = *to, .total = total};
  pthread_mutex_init(&sum->lock, NULL);
}

static inline void hr__progress_sum_finish(struct hr__progress_sum *sum) {
  pthread_mutex_destroy(&sum->lock);
}

/* One of the runs that contribute to the summed progress. */
struct hr__progress_reporter {
  struct hr__progress_sum *sum;
  uint64_t reported; /* number of jobs of this run that were already added to sum->done */
};

/* Reports the jobs that ended since the last report of this run. A callback of struct hr_progress. */
static inline void hr__progress_add(void *self, uint64_t done, uint64_t total, int64_t now_us) {
  struct hr__progress_reporter *reporter = self;
  struct hr__progress_sum *sum = reporter->sum;
  (void)total;
  pthread_mutex_lock(&sum->lock);
  sum->done += done - reporter->reported;
  reporter->reported = done;
  sum->to.report(sum->to.self, sum->done, sum->total, now_us);
  pthread_mutex_unlock(&sum->lock);
}

/* Returns the callback to pass to the run. `reporter` must outlive the run. */
static inline struct hr_progress hr__progress_reporter_progress(struct hr__progress_reporter *reporter) {
  return (struct hr_progress){.self = reporter, .report = reporter->sum->to.report ? hr__progress_add : NULL};
}

#endif
