/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_RUNNER_RUNNER_H
#define HR_PLAN_RUNNER_RUNNER_H

/* Runs and their metrics: metrics of groups of jobs, statistics of independent runs, one run, batches of runs on
   threads and MPI ranks, and the runner of many variants of a scenario. */

#include "base/containers.h"
#include "headroom/report.h"
#include "headroom/scenario.h"
#include "headroom/sim.h"
#include "headroom/trace.h"
#include "headroom/unstable/compare.h"
#include "headroom/unstable/experiments.h"
#include "headroom/unstable/planning.h"
#include "headroom/unstable/replay.h"
#include "headroom/unstable/services.h"
#include "report/metrics/catalog.h"
#include "report/tables/tables.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Set by the build: whether ranks of an MPI job can share runs. */
#ifndef HEADROOM_WITH_MPI
#define HEADROOM_WITH_MPI 0
#endif

/* ---- Scoped metrics (intervals.c) ---------------------------------------------------------------------- */

/* A scoped metric is a metric of all jobs, of one class, of one tenant or of one service, such as "wait_s.p95 of
   inference" or "chat.ttft_ms.p95". Goals, objectives, replications, checks and advice refer to metrics in this way. */

enum hr__metric_scope { HR__OF_ALL, HR__OF_CLASS, HR__OF_TENANT, HR__OF_SERVICE };

struct hr__scoped_metric {
  enum hr__metric id;
  enum hr__metric_scope of;
  const char *name; /* of the group, borrowed from the trace, the table of classes or the scenario; NULL: all jobs */
};

/* Parses `length` bytes such as "wait_s.p95", "wait_s.p95 of inference" or "completed of tenant retail". "of X" means
   the class X if such a class exists, otherwise the tenant X of `trace`. "of class X" and "of tenant X" are explicit.
   "NAME.METRIC" is a metric of a service; `services` may be NULL. An HR_BAD_INPUT error has no location; the caller
   adds it. */
enum hr_status hr__scoped_metric_parse(const char *text, size_t length, const struct hr_trace *trace,
                                       const struct hr_services *services, struct hr__scoped_metric *metric,
                                       struct hr_error *error);

/* Whether both metrics are of the same group: of all jobs, or of the same class, tenant or service. */
static inline bool hr__scoped_metric_same_group(const struct hr__scoped_metric *a, const struct hr__scoped_metric *b) {
  return a->of == b->of && (a->of == HR__OF_ALL || strcmp(a->name, b->name) == 0);
}

static inline bool hr__scoped_metric_same(const struct hr__scoped_metric *a, const struct hr__scoped_metric *b) {
  return a->id == b->id && hr__scoped_metric_same_group(a, b);
}

enum { HR__SCOPED_METRIC_BYTES = 300 };
/* Writes "wait_s.p95 of inference" to `buffer`, which has HR__SCOPED_METRIC_BYTES bytes, and returns the buffer. */
const char *hr__scoped_metric_name(const struct hr__scoped_metric *metric, char *buffer);

/* Writes the values of `count` metrics of a run to an array; NaN if unknown. Consecutive metrics of one group need only
   one search for the group. */
void hr__scoped_metrics_of_run(const struct hr_summary *summary, const struct hr__scoped_metric *metrics, size_t count,
                               double *values);

/* ---- Statistics of runs (intervals.c) ------------------------------------------------------------------ */

/*
 * Statistics of independent runs: confidence intervals of a metric, paired differences, and significance tests.
 *
 * For a metric that is a mean or a sum, the estimate is the mean over runs, with Student's interval corrected for the
 * skewness of the values. A metric that is a quantile has a skewed distribution over runs. For it, the estimate is the
 * median over runs, with a distribution-free interval from order statistics.
 */

/* ---- Intervals of one sample ------------------------------------------------------------------------ */

struct hr__interval {
  uint32_t count; /* number of runs in which the metric is known */
  double mean, median, sd;
  double low, high; /* NaN if there are too few runs for the confidence */
  bool of_median;   /* low and high are of the median; if false, of the mean */
};

/* Computes the interval of a metric. `values` has one value per run, NaN if unknown, and is not changed. `confidence`
   is between 0 and 1. `exact`: the runs are deterministic, so a single run gives an interval of width 0. HR_NO_MEMORY
   is the only failure. */
enum hr_status hr__interval_of(const double *values, uint32_t count, enum hr_metric_kind kind, double confidence,
                               bool exact, struct hr__interval *interval);

/* As hr__interval_of, but the interval of a mean is Student's, without the correction for skewness. It is used for
   paired differences, in which skewness mostly cancels, and for tests with Student's statistic. */
enum hr_status hr__interval_uncorrected(const double *values, uint32_t count, enum hr_metric_kind kind,
                                        double confidence, bool exact, struct hr__interval *interval);

/* The estimate to which the interval belongs: median or mean. */
static inline double hr__interval_centre(const struct hr__interval *interval) {
  return interval->of_median ? interval->median : interval->mean;
}

/* Half the width of the interval, relative to the estimate. Infinite if no interval exists, 0 if its width is 0. */
static inline double hr__interval_relative(const struct hr__interval *interval) {
  if (isnan(interval->low)) return (double)INFINITY;
  double half = (interval->high - interval->low) / 2, centre = fabs(hr__interval_centre(interval));
  return half == 0 ? 0 : half / centre;
}

/* Adds mean, low, high, median, sd and interval to `object`; unknown values are null. */
void hr__json_interval(struct hr__json *json, cJSON *object, const struct hr__interval *interval);
/* Return the ends of the interval of a metric, within the values that it can have: counts, shares, times, factors and
   rates are at least 0, the mean slowdown is at least 1, and shares and Jain's index are at most 1. Savings may be
   negative. */
double hr__interval_low(enum hr__metric metric, const struct hr__interval *interval);
double hr__interval_high(enum hr__metric metric, const struct hr__interval *interval);
/* The same as hr__json_interval for the interval of a metric, with these ends. */
void hr__json_metric_interval(struct hr__json *json, cJSON *object, enum hr__metric metric,
                              const struct hr__interval *interval);

/* Adds "notes": those of the scenario, of the trace and of the result. */
void hr__json_all_notes(struct hr__json *json, cJSON *root, const struct hr_scenario *scenario,
                        const struct hr_trace *trace, const struct hr_notes *notes);
/* Adds "perf": the time and memory of several runs on `threads` threads; zeros if `perf` is NULL. Returns the object.
 */
cJSON *hr__json_runs_perf(struct hr__json *json, cJSON *root, const struct hr_perf *perf, uint32_t threads);

/* Adds the pool and the slices of a placement to a digest. */
static inline uint64_t hr__digest_placement(uint64_t digest, const struct hr_placement *placement) {
  digest = hr__digest_add(digest, placement->pool.id);
  for (uint32_t i = 0; i < placement->n_slices; i++) {
    const struct hr_slice *slice = &placement->slices[i];
    digest = hr__digest_add(digest, (uint64_t)slice->node.id << 32 | slice->gpu_milli);
    if (slice->gpus) digest = hr__digest_add(digest, slice->gpus);
  }
  return digest;
}

/* The mean of values that may be infinite. gsl_stats_mean returns NaN for two infinite values. */
static inline double hr__mean_of(const double *values, uint32_t count) {
  double sum = 0;
  for (uint32_t i = 0; i < count; i++) sum += values[i];
  return sum / count;
}

/* A mean, and half the width of its 95 % Student interval. The half width is NaN if there is a single value. */
struct hr__mean {
  double value, margin;
};
struct hr__mean hr__interval_of_mean(const double *values, uint32_t count);

/* ---- Two samples ------------------------------------------------------------------------------------ */

/* Computes the mean of `other` and its paired difference from `first`, with the 95 % interval. Both have one value per
   replication. A single pair has no interval (NaN) unless `exact` is true: the runs are then deterministic, and the
   interval has width 0. */
struct hr_estimate hr__interval_paired(const double *first, const double *other, uint32_t count, bool exact);

/* Two-sided p-values of a difference of means. The first function is for pairs with the same random events (Student),
   the second for independent samples (Welch). NaN if a sample has fewer than two values. */
double hr__p_value_paired(const double *first, const double *other, uint32_t count);
double hr__p_value_welch(const double *first, uint32_t n_first, const double *other, uint32_t n_other);

/* Returns the largest p-value that is significant at the false discovery rate `rate` (Benjamini and Hochberg), or -1 if
   no p-value is significant. `p_values` contains the `count` smallest p-values of `n_tests` tests, and is sorted in
   place. */
double hr__p_value_threshold(double *p_values, size_t count, size_t n_tests, double rate);

/* ---- One run (one_run.c) ------------------------------------------------------------------------------- */

/*
 * One run among many: its input files, the simulation, and the part of its results that is kept.
 *
 * The caller owns every structure in this part. A function `..._finish` releases what a structure points to, and
 * accepts a zeroed structure.
 */

/* ---- Inputs ----------------------------------------------------------------------------------------- */

/* Returns a text that identifies how `scenario` reads the trace `file`: path, format, columns, rows left out. Scenarios
   with equal texts can share one trace. The caller frees the text. NULL when out of memory. */
char *hr__input_trace_key(const struct hr_scenario *scenario, const char *file);

/* Reads the trace `file` with the settings of `scenario`. The file may differ from the trace of the scenario. "": a
   trace without jobs, which scenarios with services may have. The caller destroys the trace with hr_trace_destroy.
   Errors are those of hr_trace_read. */
static inline enum hr_status hr__input_trace_read(const struct hr_scenario *scenario, const char *file,
                                                  struct hr_trace **trace, struct hr_error *error) {
  if (!file[0]) return hr_trace_empty(scenario->path, trace, error);
  struct hr_trace_options options = {.format = scenario->trace_format,
                                     .map = &scenario->columns,
                                     .lenient = scenario->lenient,
                                     .drop_failed = scenario->drop_failed};
  return hr_trace_read(file, &options, trace, error);
}

/* Returns the path of the trace of a scenario: "" if it has services and no jobs, NULL if it has neither. */
static inline const char *hr__input_trace_file(const struct hr_scenario *scenario) {
  return scenario->trace_file ? scenario->trace_file : scenario->services ? "" : NULL;
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

/* Returns HR_BAD_INPUT on all ranks of an MPI job if they have read different scenarios or traces. `ranks` NULL:
   without MPI. */
enum hr_status hr__input_same(struct hr_ranks *ranks, const struct hr_scenario *scenario, const struct hr_trace *trace,
                              struct hr_error *error);

/* ---- The run ---------------------------------------------------------------------------------------- */

/* Callbacks for a caller that needs the results of single jobs, because a summary does not have them. */
struct hr__one_run_details {
  void *self;
  bool costs_by_job; /* the ledger also records the cost of each job */
  enum hr_status (*prepare)(void *self, struct hr_replay *replay,
                            struct hr_error *error); /* adds observers; NULL: none */
  /* called after a successful run; the results are freed afterwards */
  enum hr_status (*collect)(void *self, const struct hr_replay *replay, struct hr_error *error);
};

struct hr__one_run_config {
  const struct hr_scenario *scenario;
  const struct hr_trace *trace;
  const struct hr_policy_choice *policy;     /* replaces the policy of the scenario */
  uint64_t seed;                             /* replaces the seed of the scenario */
  bool alerts;                               /* evaluate the scenario's alert rules */
  bool skip_fairness;                        /* the metrics of fairness are not needed; they are 0 */
  double growth;                             /* factor of the rates of requests; 0 means 1 */
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

/* Repeats a run to find what a job waited for. Sets *text to a sentence about the wait that contains the time `at_us`.
   Example: "It waited 12 min for free GPUs, 3 min behind the reservations of others in the queue." If the job did not
   wait at that time, *text remains unchanged. The caller frees *text. `user` is what runs out of memory, for an error
   message, such as "the check". */
enum hr_status hr__wait_explain(const struct hr_replay_config *config, hr_job job, int64_t at_us, const char *user,
                                char **text, struct hr_error *error);

/* Copies a run into the parcel or out of it. If reading fails, the run must still be finished. */
void hr__parcel_one_run(struct hr__parcel *parcel, struct hr__one_run *run);

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

/* Adds the jobs of a run that did not report its progress itself. */
static inline void hr__progress_sum_add(struct hr__progress_sum *sum, uint64_t jobs) {
  pthread_mutex_lock(&sum->lock);
  sum->done += jobs;
  if (sum->to.report) sum->to.report(sum->to.self, sum->done, sum->total, 0);
  pthread_mutex_unlock(&sum->lock);
}

/* Corrects the total if a run has `jobs` jobs, but was counted as `counted` jobs. */
static inline void hr__progress_sum_correct(struct hr__progress_sum *sum, uint64_t jobs, uint64_t counted) {
  pthread_mutex_lock(&sum->lock);
  sum->total += jobs - counted;
  pthread_mutex_unlock(&sum->lock);
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

/* Whether the caller wants the runs to end. A callback of struct hr_progress. */
static inline bool hr__progress_is_stopped(void *self) {
  const struct hr__progress_reporter *reporter = self;
  return reporter->sum->to.is_stopped(reporter->sum->to.self);
}

/* Returns the callbacks to pass to the run. `reporter` must outlive the run. */
static inline struct hr_progress hr__progress_reporter_progress(struct hr__progress_reporter *reporter) {
  const struct hr_progress *to = &reporter->sum->to;
  return (struct hr_progress){.self = reporter,
                              .report = to->report ? hr__progress_add : NULL,
                              .is_stopped = to->is_stopped ? hr__progress_is_stopped : NULL};
}

/* ---- Batches of runs (batches.c) -------------------------------------------------------------- */

/*
 * A batch: independent items of work, such as runs, that are divided among the threads of this process and, in an MPI
 * job, among the threads of all ranks. Sweeps, plans, comparisons and replications make their runs in batches.
 */

/* Items, numbered 0 .. count - 1. Each callback is called with `self`. */
struct hr__run_batch {
  void *self;
  size_t count;
  /* Computes an item and keeps its result. Called on any thread of any rank. */
  enum hr_status (*run)(void *self, size_t item, struct hr_error *error);
  /* Copies the result of an item into a parcel or out of it. Unless the batch is shared, ranks other than rank 0 do not
     use a result after they have packed it. */
  void (*exchange)(void *self, size_t item, struct hr__parcel *parcel);
  /* Uses a result on rank 0, in the order in which items end; only one thread at a time calls this function. NULL: the
     result remains where `run` or `exchange` has put it. */
  enum hr_status (*store)(void *self, size_t item, struct hr_error *error);
  size_t n_own; /* rank 0 itself computes the first `n_own` items */
  size_t group; /* this number of consecutive items share a preparation, such as a workload; ranks get whole groups. 0:
                   none */
  bool shared;  /* all ranks get all results; otherwise only rank 0 */
};

/* Computes all items. All ranks must call this function with equal batches; `ranks` NULL: without MPI. Items are begun
   in ascending order. If items fail, returns the status and error of the failed item with the lowest number, and every
   item before it has a result. All ranks return the same status; only rank 0 gets the error. */
enum hr_status hr__batch_run(const struct hr__run_batch *batch, struct hr_ranks *ranks, uint32_t n_threads,
                             struct hr_error *error);

/* Whether several ranks share the work. */
static inline bool hr__ranks_several(const struct hr_ranks *ranks) {
  return ranks && ranks->size > 1;
}

/* Whether this process has the results of batches that are not shared. */
static inline bool hr__ranks_first(const struct hr_ranks *ranks) {
  return !ranks || ranks->rank == 0;
}

/* The following function is called only if there are several ranks. */

/* Sends bytes of rank 0 to all other ranks. All ranks must call this function with an equal `count`. */
void hr__ranks_share(void *bytes, size_t count);
/* Kinds of messages. */
enum hr__rank_tag { HR__TAG_REPORT = 1, HR__TAG_RESULTS, HR__TAG_ITEMS };

/* ---- Workloads of replications (runner.c) ---------------------------------------------------------------- */

/*
 * The workloads of replications. A workload is drawn by the first run that needs it, in the thread of this run. So
 * threads draw in parallel, and a rank of an MPI job draws only the workloads of its own runs.
 */

/* One workload. It is drawn once. */
struct hr__workload {
  struct hr_trace *trace; /* NULL: not drawn */
  bool in_work;           /* a thread draws it now */
};

/* Workloads by replication. A list with all members 0 is empty. */
struct hr__workloads {
  struct hr__workload *list; /* [count] */
  uint32_t count;
};

/* Lets threads wait for a workload that another thread draws. Any number of lists can share it. */
struct hr__drawing {
  pthread_mutex_t lock;
  pthread_cond_t ended;
};

static inline void hr__drawing_init(struct hr__drawing *drawing) {
  pthread_mutex_init(&drawing->lock, NULL);
  pthread_cond_init(&drawing->ended, NULL);
}

static inline void hr__drawing_finish(struct hr__drawing *drawing) {
  pthread_cond_destroy(&drawing->ended);
  pthread_mutex_destroy(&drawing->lock);
}

/* Makes room for `count` workloads. No thread may use the list meanwhile. Returns false when out of memory. */
bool hr__workloads_reserve(struct hr__workloads *workloads, uint32_t count);

/* Sets *trace to the workload, which belongs to the list. `draw` draws it from `self` if no thread has drawn it yet. */
enum hr_status hr__workloads_get(struct hr__workload *workload, struct hr__drawing *drawing, const void *self,
                                 enum hr_status (*draw)(const void *self, uint64_t seed, struct hr_trace **drawn,
                                                        struct hr_error *error),
                                 uint64_t seed, const struct hr_trace **trace, struct hr_error *error);

static inline void hr__workloads_finish(struct hr__workloads *workloads) {
  for (uint32_t i = 0; i < workloads->count; i++) hr_trace_destroy(workloads->list[i].trace);
  free(workloads->list);
  *workloads = (struct hr__workloads){0};
}

/* ---- Many runs (runner.c) ------------------------------------------------------------------------------ */

/*
 * Runs many variants of one scenario, and stores the metrics of every run.
 *
 * A candidate is the scenario with some overrides, in an environment (spot behaviour, prices, workload). A candidate
 * has as many replications as a caller requests. No run is made twice.
 *
 * Replication r of every candidate has the seed hr_replication_seed(seed, r). If an environment resamples the workload,
 * it has one workload per r, which all its candidates share. The candidates then see the same random events (common
 * random numbers). A deterministic candidate is run once: all its replications have the results of replication 0. The
 * result of a run depends only on candidate, environment and replication, not on threads or on earlier runs.
 */

/* ---- Runner ----------------------------------------------------------------------------------------- */

/* The conditions in which candidates are run. */
struct hr__environment {
  struct hr_stress stress;
  struct hr_workload_spec workload;
  /* If not NULL, each replication draws a path of this forecast. The workload of the replication then covers the weeks
     of the forecast, and is multiplied by the growth. Borrowed. */
  const struct hr_forecast *forecast;
};

struct hr__runner_config {
  /* its file is loaded again for each candidate; its seed is the origin of all seeds */
  const struct hr_scenario *scenario;
  const char *const *overrides; /* `scenario` was loaded with these; those of a candidate are appended */
  size_t n_overrides;
  const struct hr_trace *trace;
  const struct hr__scoped_metric *metrics; /* metrics to store for every run; copied */
  size_t n_metrics;
  uint32_t n_threads;
  struct hr_ranks *ranks; /* the ranks that share the runs; NULL: this process makes all. Borrowed */
  bool accepts_unfit;     /* a candidate with a service that can never run is not an error; see hr__runner_unfit */
  /* If not NULL, keeps replication 0 of candidate 0, on rank 0. Borrowed. */
  struct hr__one_run *first;
  struct hr_progress progress; /* counts the jobs of all runs that were requested so far */
};

/* The data of a runner. Other files access it only through the functions below. */

/* One run of a candidate. */
struct hr__runner_replication {
  double *metrics;   /* [config.n_metrics], valid if `made` is true; NULL: the run was not prepared */
  bool listed, made; /* listed: the run will be made together with others; made: the run was made */
  uint32_t counted;  /* number of the last look-ahead in which n_runs counted this run; HR__NO_LOOK_AHEAD: counted
                        outside look-aheads */
  /* scenario of this replication if prices are random; NULL: the scenario of the candidate */
  struct hr_scenario *scenario;
};

struct hr__runner_candidate {
  const char **overrides; /* overrides of the config (borrowed), then those of the candidate (copied) */
  size_t n_overrides, n_own;
  uint32_t environment;
  struct hr_scenario *scenario;
  bool random;
  struct hr__runner_replication *replications;
  uint32_t n_replications;
};

struct hr__runner_environment {
  struct hr__environment spec;
  bool redrawn;                   /* the workload is resampled */
  struct hr_workload_cut cut;     /* set only if redrawn */
  struct hr__workloads workloads; /* by replication */
};

/* A trial is one run: a replication of a candidate. */
struct hr__trial {
  uint32_t candidate, replication;
};
/* Runs to make together. The owner frees the list. */
struct hr__trial_list {
  struct hr__trial *list; /* [count] */
  uint32_t count, capacity;
};

/* Value of hr__runner.look_ahead while there is no look-ahead. */
#define HR__NO_LOOK_AHEAD UINT32_MAX

struct hr__runner {
  struct hr__runner_config config;
  struct hr__scoped_metric *metrics;
  bool reads_fairness; /* some metric is one of fairness */
  struct hr__runner_candidate *candidates;
  struct hr__runner_environment *environments;
  uint32_t n_candidates, candidate_capacity, n_environments, environment_capacity;
  uint64_t n_runs;
  uint32_t look_ahead;         /* number of the current look-ahead; HR__NO_LOOK_AHEAD: none */
  uint32_t n_look_aheads;      /* number of look-aheads so far */
  uint64_t n_runs_before;      /* n_runs at the start of the look-ahead */
  struct hr__trial_list ahead; /* runs that are missing in the look-ahead */
  struct hr__progress_sum progress;
  struct hr_catalog *catalog; /* the built-in catalogue, with which scenarios are loaded */
  struct hr__drawing drawing; /* of the workloads of all environments */
};

struct hr__runner *hr__runner_create(const struct hr__runner_config *config); /* NULL when out of memory */
void hr__runner_destroy(struct hr__runner *runner);                           /* accepts NULL */

/* Adds an environment (copied) and sets *number to its index in the runner. */
enum hr_status hr__runner_add_environment(struct hr__runner *runner, const struct hr__environment *environment,
                                          uint32_t *number, struct hr_error *error);
/* Loads the scenario with the overrides (copied) in an environment, and sets the candidate's index in the runner.
   Errors are those of hr_scenario_load. */
enum hr_status hr__runner_add_candidate(struct hr__runner *runner, const char *const *overrides, size_t n_overrides,
                                        uint32_t environment, uint32_t *number, struct hr_error *error);

/* The candidate's scenario for replication 0; owned by the runner. */
static inline const struct hr_scenario *hr__runner_scenario(const struct hr__runner *runner, uint32_t candidate) {
  return runner->candidates[candidate].scenario;
}

/* Whether the replications of the candidate are random. If not, all its replications are equal. */
static inline bool hr__runner_is_random(const struct hr__runner *runner, uint32_t candidate) {
  return runner->candidates[candidate].random;
}

/* Returns why a service of the candidate can never run; NULL: all services can run. */
static inline const char *hr__runner_unfit(const struct hr__runner *runner, uint32_t candidate) {
  const struct hr_services *services = runner->candidates[candidate].scenario->services;
  return services ? services->unfit : NULL;
}

/* Adds a note for each distinct reason, with the number of candidates or points (`noun`) that have this reason. Sorts
   `reasons`. HR_NO_MEMORY is the only failure. */
enum hr_status hr__runner_note_unfit(struct hr_notes *notes, const char *noun, const char **reasons, size_t count);

/* The index of the entry of a replication. It is 0 if all replications are equal. */
static inline uint32_t hr__runner_replication_of(const struct hr__runner_candidate *candidate, uint32_t replication) {
  return candidate->random ? replication : 0;
}

/* Makes the missing runs on threads and ranks. All ranks get all results. If several runs fail, the error is that of
   the first one in the list. */
enum hr_status hr__runner_run(struct hr__runner *runner, const struct hr__trial *trials, size_t count,
                              struct hr_error *error);

/* The metrics of a run, in the order of the config; NULL if the run was not requested. In and after a look-ahead, runs
   that were requested only in earlier look-aheads count as not requested, because the results of computations depend on
   which runs were requested. The runner owns the metrics. */
static inline const double *hr__runner_values(const struct hr__runner *runner, uint32_t candidate,
                                              uint32_t replication) {
  const struct hr__runner_candidate *self = &runner->candidates[candidate];
  uint32_t r = hr__runner_replication_of(self, replication);
  if (r >= self->n_replications || !self->replications[r].made) return NULL;
  uint32_t counted = self->replications[r].counted;
  return counted == runner->look_ahead || counted == HR__NO_LOOK_AHEAD ? self->replications[r].metrics : NULL;
}

/* Number of runs that were requested so far. */
static inline uint64_t hr__runner_runs(const struct hr__runner *runner) {
  return runner->n_runs;
}

/*
 * Look-ahead: several computations that do not depend on each other make their runs together, so that all threads and
 * ranks have work. Between hr__runner_look_ahead and hr__runner_catch_up, hr__runner_run only lists missing runs. If
 * any are missing, it returns HR_CHECK_FAILED without an error, and the computation must return as after a failure. The
 * caller begins all computations, ends the look-ahead, and repeats this until no run is missing. It finally begins them
 * again without a look-ahead. So their results and hr__runner_runs are the same as without look-aheads.
 */
void hr__runner_look_ahead(struct hr__runner *runner);
static inline bool hr__runner_looks_ahead(const struct hr__runner *runner) {
  return runner->look_ahead != HR__NO_LOOK_AHEAD;
}
/* Ends the look-ahead and makes the missing runs, unless more than `max_runs` runs would then have been made. Sets
   `*made` to the number of runs that it has made. */
enum hr_status hr__runner_catch_up(struct hr__runner *runner, uint64_t max_runs, size_t *made, struct hr_error *error);

/* Fills `config` for callers that make the run themselves. The runner owns everything that `config` points to. */
enum hr_status hr__runner_case(struct hr__runner *runner, struct hr__trial trial, struct hr__one_run_config *config,
                               struct hr_error *error);

/* Returns the overrides with which a candidate was added. */
const char *const *hr__runner_settings(const struct hr__runner *runner, uint32_t candidate, size_t *count);

/* ---- Replications of one scenario ------------------------------------------------------------------- */

struct hr_replicates {
  struct hr_replicate_config config;
  struct hr__scoped_metric *metrics; /* first of all jobs, then of each class, then of each tenant */
  size_t n_metrics;
  struct hr__runner *runner;
  uint32_t candidate, count;
  bool exact;               /* the scenario is deterministic */
  size_t metric;            /* index of the metric for which a precision is requested */
  double relative;          /* precision that was reached: half the width of the interval / estimate */
  struct hr__one_run first; /* replication 0; only on rank 0 */
  struct hr_notes notes;
};

/* Computes the interval of the metric with index `metric` over all replications. HR_NO_MEMORY is the only failure. */
enum hr_status hr__replicates_interval(const struct hr_replicates *replicates, size_t metric,
                                       struct hr__interval *interval);

/* ---- Small functions ----------------------------------------------------------------------------------- */

/* Compares two texts of an array, for qsort. */
static inline int hr__by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The elapsed time since an arbitrary instant, in seconds. */
static inline double hr__clock_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Sleeps for less than a second. */
static inline void hr__pause_us(long us) {
  const struct timespec pause = {.tv_nsec = us * 1000};
  nanosleep(&pause, NULL);
}

#endif
