# SPDX-License-Identifier: GPL-3.0-or-later
"""Declarations of the C library for CFFI: the parts of the public headers that the package uses.

A struct that ends with "...;" has more members. The C compiler takes its layout from the headers. So a change of a
header needs no change here, unless it removes a member that is declared here.
"""

import os

import cffi

DECLARATIONS = """
enum hr_status { HR_OK = ..., HR_CHECK_FAILED = ..., HR_BAD_INPUT = ..., HR_BAD_POLICY = ..., HR_NO_MEMORY = ...,
  HR_IO_ERROR = ..., HR_STOPPED = ..., ... };
enum hr_reason { HR_REASON_IN_ORDER = ..., HR_REASON_BACKFILL = ..., HR_REASON_POLICY = ..., HR_REASON_WITHDRAWN = ...,
  ... };
enum { HR_POLICY_PREEMPTS = ..., HR_POLICY_STARVES_NOBODY = ..., ... };
typedef struct { uint32_t id; } hr_job;
typedef struct { uint32_t id; } hr_pool;
typedef struct { uint32_t id; } hr_node;
struct hr_error { int status; char text[...]; ...; };
struct hr_notes { char **text; size_t count; ...; };
struct hr_names { uint32_t count; const char *const *text; };
const char *hr_version(void);
const char *hr_status_meaning(int);
void hr_init(void);
void free(void *);

struct hr_skipped_rows;
struct hr_trace { const char *source; const char *format; uint32_t n_jobs; int64_t origin_us; bool dated;
  struct hr_notes notes; uint64_t n_skipped; uint32_t n_added; struct hr_skipped_rows *skipped;
  uint32_t n_skipped_reasons; ...; };
struct hr_column_map { size_t count; ...; };
struct hr_trace_options { const char *format; const struct hr_column_map *map; bool lenient; bool drop_failed; ...; };
int hr_trace_read(const char *, const struct hr_trace_options *, struct hr_trace **, struct hr_error *);
int hr_trace_empty(const char *, struct hr_trace **, struct hr_error *);
int64_t hr_trace_clock_us(const struct hr_trace *);
void hr_trace_destroy(struct hr_trace *);
int hr_column_map_parse(struct hr_column_map *, const char *, struct hr_error *);
void hr_column_map_finish(struct hr_column_map *);
const char *hr_trace_job_id(const struct hr_trace *, hr_job, char *);

struct hr_job_record { uint8_t flags; ...; };
struct hr_trace_builder;
void hr_job_record_init(struct hr_job_record *);
struct hr_trace_builder *hr_trace_builder_create(const char *, const char *);
void hr_trace_builder_destroy(struct hr_trace_builder *);
int hr_trace_builder_add(struct hr_trace_builder *, const struct hr_job_record *, uint64_t, struct hr_error *);
int hr_trace_builder_finish(struct hr_trace_builder *, bool, bool, struct hr_trace **, struct hr_error *);

struct hr_policy_ops { const char *name; ...; };
struct hr_param_value { int64_t integer; double real; };
struct hr_policy_choice { const struct hr_policy_ops *ops; struct hr_param_value *params; size_t n_params; ...; };
struct hr_cluster_spec { ...; };
struct hr_replication_spec { uint32_t count; ...; };
struct hr_plan_spec;
struct hr_scenario { char *path; char *name; char *trace_file; char *trace_format; struct hr_column_map columns;
  bool lenient; bool drop_failed; struct hr_cluster_spec cluster; struct hr_policy_choice policy; uint64_t seed; struct hr_notes notes;
  struct hr_replication_spec replications; struct hr_plan_spec *plan; struct hr_services *services; ...; };
struct hr_catalog;
struct hr_catalog_files;
int hr_catalog_load(const struct hr_catalog_files *, struct hr_catalog **, struct hr_error *);
int hr_scenario_load_with(const struct hr_catalog *, const char *, const char *const *, size_t, struct hr_scenario **,
                          struct hr_error *);
void hr_scenario_destroy(struct hr_scenario *);
bool hr_scenario_has_prices(const struct hr_scenario *);
int hr_policy_choice_init(struct hr_policy_choice *, const char *, struct hr_error *);
int hr_policy_choice_set(struct hr_policy_choice *, const char *, const char *, struct hr_error *);
void hr_policy_choice_finish(struct hr_policy_choice *);
int hr_policy_overrides(const char *, char ***, size_t *, struct hr_error *);

struct hr_job_accounting { uint32_t attempts; int64_t end_us, kept_us, lost_us, saving_us, restarting_us, held_us; ...; };
struct hr_result { uint32_t n_jobs; uint8_t *state; int64_t *start_us; uint8_t *reason;
  struct hr_job_accounting *accounts; uint32_t *account; uint64_t digest; int64_t end_us; int64_t *ended_us; ...; };
const char *hr_reason_name(int);
const char *hr_event_name(int);
struct hr_observer { void *self; ...; };
struct hr_progress { void *self; bool (*is_stopped)(void *); ...; };
bool hrpy_is_stopped(void *);
#define HRPY_CALL_FLAGS ...
bool hrpy_call_take(void *);
void hrpy_call_end(void *);
void hrpy_call_stop(void *);
struct hr_usage;
struct hr_replay_config { const struct hr_scenario *scenario; const struct hr_trace *trace;
  const struct hr_policy_choice *policy; uint64_t seed; bool check; bool costs_by_job; bool alerts;
  struct hr_progress progress; ...; };
struct hr_summary;
struct hr_replay { struct hr_replay_config config; struct hr_usage *usage; struct hr_ledger *ledger;
  struct hr_alerts *alerts; struct hr_result *result; struct hr_summary *summary; struct hr_notes notes;
  double sim_s; double seconds; ...; };
int hr_replay_init(struct hr_replay *, const struct hr_replay_config *, struct hr_error *);
int hr_replay_add(struct hr_replay *, struct hr_observer, struct hr_error *);
int hr_replay_input_notes(const struct hr_scenario *, const struct hr_policy_choice *, const struct hr_trace *,
                          struct hr_notes *, struct hr_error *);
int hr_replay_run(struct hr_replay *, struct hr_error *);
void hr_replay_finish(struct hr_replay *);
void hr_notes_finish(struct hr_notes *);

struct hr_perf { double load_s, sim_s, peak_rss_mib; };
struct hr_run_label { const char *scenario, *trace, *format; const struct hr_cluster_spec *cluster;
  const struct hr_policy_choice *policy; uint64_t seed; const struct hr_notes *const *notes; size_t n_notes;
  const struct hr_alerts *alerts; int64_t clock_us; const struct hr_skipped_rows *skipped; size_t n_skipped_reasons;
  ...; };
char *hr_summary_json(const struct hr_summary *, const struct hr_run_label *, const struct hr_perf *);
struct hr_timeline;
int hr_timeline_create(const char *, const struct hr_trace *, const struct hr_usage *, bool, bool,
                       struct hr_timeline **,
                       struct hr_error *);
struct hr_observer hr_timeline_observer(struct hr_timeline *);
int hr_timeline_finish(struct hr_timeline *, struct hr_error *);
void hr_timeline_destroy(struct hr_timeline *);

struct hr_contender { const char *name; const char *label; const struct hr_policy_choice *policy; bool labelled; };
struct hr_compare_config { const struct hr_scenario *scenario; const char *const *overrides; size_t n_overrides;
  const struct hr_trace *trace; const struct hr_contender *contenders; uint32_t n_contenders, n_replications, n_threads;
  struct hr_progress progress; ...; };
struct hr_comparison;
int hr_compare(const struct hr_compare_config *, struct hr_comparison **, struct hr_error *);
void hr_comparison_destroy(struct hr_comparison *);
char *hr_comparison_json(const struct hr_comparison *, const struct hr_perf *);

struct hr_plan_config { const struct hr_scenario *scenario; const char *const *overrides; size_t n_overrides;
  const struct hr_trace *trace; int search; bool no_sensitivity; uint32_t n_threads;
  struct hr_progress progress; ...; };
struct hr_plan;
int hr_plan(const struct hr_plan_config *, struct hr_plan **, struct hr_error *);
void hr_plan_destroy(struct hr_plan *);
bool hr_plan_feasible(const struct hr_plan *);
char *hr_plan_json(const struct hr_plan *, const struct hr_perf *);

struct hr_sweep_counts { uint64_t points, runs, before, now, missing; struct hr_notes notes; ...; };
struct hr_sweep_config { const char *grid; const char *file; uint64_t max_runs; uint32_t n_threads;
  struct hr_progress progress; ...; };
int hr_sweep(const struct hr_sweep_config *, struct hr_sweep_counts *, struct hr_error *);
int hr_sweep_write_csv(const char *, const char *, struct hr_error *);

struct hrpy_column { const char *name; const void *at; uint32_t width; bool is_signed; const struct hr_names *names; };
uint32_t hrpy_columns(const struct hr_trace *, struct hrpy_column *);
#define HRPY_MAX_COLUMNS ...
struct hrpy_field { const char *column, *member, *kind; uint32_t flag; };
uint32_t hrpy_fields(struct hrpy_field *);
enum { HR_N_CLASSES = ..., HR_N_OUTCOMES = ..., HR_TIER_POOL = ..., ... };
const char *hr_job_class_name(int);
const char *hr_outcome_name(int);
const char *hr_tier_name(int);
bool hrpy_set_number(struct hr_job_record *, const char *, int64_t);
bool hrpy_set_text(struct hr_job_record *, const char *, const char *);

struct hr_view { uint32_t n_waiting, n_running; int64_t now_us; const struct hr_trace *jobs; const uint8_t *state;
  const int64_t *start_us; uint64_t allocated_milli, total_milli; const int64_t *attempt_us; ...; };
struct hr_event { int64_t at_us; int kind; int reason; hr_job job; hr_pool pool; hr_node node; ...; };
struct hr_policy_env { const struct hr_trace *jobs; uint64_t seed; ...; };
struct hr_moves;
struct hrpy_run;
int hr_moves_wake_at(struct hr_moves *, int64_t);
int64_t hr_view_done_us(const struct hr_view *, hr_job);
const struct hr_policy_ops *hrpy_policy_create(const char *, int64_t, uint32_t, const char *);
void hrpy_policy_destroy(const struct hr_policy_ops *);
const struct hr_policy_env *hrpy_run_env(const struct hrpy_run *);
int hrpy_start(struct hrpy_run *, const struct hr_view *, struct hr_moves *, uint32_t, int, bool *);
int hrpy_stop(struct hrpy_run *, const struct hr_view *, struct hr_moves *, uint32_t, bool);
int hrpy_reject(struct hr_moves *, uint32_t, int);
extern "Python+C" {
  int hrpy_python_create(int64_t, struct hrpy_run *, int64_t *);
  void hrpy_python_destroy(int64_t);
  int hrpy_python_observe(int64_t, const struct hr_view *, const struct hr_event *);
  int hrpy_python_decide(int64_t, const struct hr_view *, struct hr_moves *);
}
"""

SOURCE = """
#include "glue.h"
#include "headroom/unstable/catalog.h"
#include "headroom/unstable/compare.h"
#include "headroom/unstable/planning.h"
#include "headroom/unstable/replay.h"
#include <stdlib.h>
"""


def builder(root, library_dir, beside=True):
    """The CFFI builder of the module headroom._native. `root`: the source tree. `library_dir`: the folder of
    libheadroom.so during the build. `beside`: whether the library is in the folder of the module at run time; otherwise
    the dynamic linker searches for it in the system."""
    here = os.path.join(root, "python", "headroom")
    ffi = cffi.FFI()
    ffi.cdef(DECLARATIONS)
    ffi.set_source(
        "headroom._native",
        SOURCE,
        sources=[os.path.join(here, "glue.c")],
        include_dirs=[here, os.path.join(root, "include"), root],
        library_dirs=[library_dir],
        libraries=["headroom"],
        extra_link_args=["-Wl,-rpath,$ORIGIN"] if beside else [],
        # Debug information would contain the path of the build folder, so builds in two folders would differ.
        extra_compile_args=["-std=gnu17", "-O2", "-g0"],
    )
    return ffi
