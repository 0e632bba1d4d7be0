/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a trace in memory and streamed, and compares starts, metrics, costs and notes. */

#include "report/streamed_runs.h"

#include "headroom/unstable/metrics.h"
#include "trace_files.h"

#include <CUnit/CUnit.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct hr_trace *streamed_trace(const struct hr_trace *trace) {
  char path[200];
  struct hr_error error;
  snprintf(path, sizeof path, "%s", file_path("random.hrt"));
  CU_ASSERT_EQUAL_FATAL(hr_trace_pack(trace, path, NULL, &error), HR_OK);
  struct hr_trace *streamed = trace_at(path, &(struct hr_trace_options){.streamed = true});
  CU_ASSERT_PTR_NOT_NULL_FATAL(streamed);
  CU_ASSERT_TRUE(streamed->mapped);
  return streamed;
}

/* ---- Runs ------------------------------------------------------------------------------------------- */

/* Records the time and place of the last start of each job. Unlike a streamed result, these arrays contain all jobs. */
struct starts {
  int64_t at_us[STREAMED_MAX_JOBS];
  uint64_t place[STREAMED_MAX_JOBS]; /* first slice (node and GPUs), or the pool of a placement without slices */
  uint32_t count;
};

static struct starts in_memory, streamed;

static void note_start(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct starts *starts = self;
  (void)view;
  if (event->kind != HR_EVENT_START) return;
  const struct hr_placement *placement = event->placement;
  starts->at_us[event->job.id] = event->at_us;
  starts->place[event->job.id] = placement->pool.id;
  if (placement->n_slices)
    starts->place[event->job.id] = (uint64_t)placement->slices[0].node.id << 32 ^ placement->slices[0].gpus;
  starts->count++;
}

/* Observers of runs with prices; all NULL in runs without prices. */
struct accounts {
  struct hr_ledger *ledger;
  struct hr_cost_basis basis;
};

static struct accounts open_accounts(struct hr_run_config *config, struct hr_observer *observers,
                                     const struct hr_cost_spec *costs) {
  struct accounts accounts = {0};
  config->observers = observers;
  if (!costs) return accounts;
  accounts.ledger = hr_ledger_create(config->trace, config->cluster, false);
  accounts.basis = (struct hr_cost_basis){accounts.ledger, hr_meter_create(config->trace, config->cluster, costs),
                                          costs, config->classes};
  observers[config->n_observers++] = hr_ledger_observer(accounts.ledger);
  observers[config->n_observers++] = hr_meter_observer(accounts.basis.meter);
  return accounts;
}

static void close_accounts(struct accounts *accounts) {
  hr_meter_destroy(accounts->basis.meter);
  hr_ledger_destroy(accounts->ledger);
}

static struct hr_summary *run_in_memory(const struct hr_run_config *base, const struct hr_cost_spec *costs,
                                        struct hr_notes *notes) {
  static const struct hr_cost_spec nothing;
  struct hr_run_config config = *base;
  struct hr_usage *usage = hr_usage_create(config.trace);
  struct hr_result *result;
  struct hr_summary *summary;
  struct hr_error error;
  memset(&in_memory, 0, sizeof in_memory);
  struct hr_observer observers[4] = {hr_usage_observer(usage), {.self = &in_memory, .on_event = note_start}};
  config.n_observers = 2;
  struct accounts accounts = open_accounts(&config, observers, costs);
  const struct hr_cost_basis *basis = costs ? &accounts.basis : NULL;
  CU_ASSERT_EQUAL_FATAL(hr_sim_run(&config, &result, &error), HR_OK);
  if (costs) CU_ASSERT_EQUAL_FATAL(hr_ledger_close(accounts.ledger, result), HR_OK);
  CU_ASSERT_EQUAL_FATAL(hr_summarize(config.trace, config.cluster, result, usage, basis, &summary, &error), HR_OK);
  CU_ASSERT_EQUAL(hr_run_notes(config.trace, &nothing, NULL, result, notes, &error), HR_OK);
  hr_result_destroy(result);
  hr_usage_destroy(usage);
  close_accounts(&accounts);
  return summary;
}

struct hr_summary streamed_figures(const struct hr_run_config *base, const struct hr_cost_spec *costs,
                                   struct hr_notes *notes) {
  struct hr_run_config config = *base;
  struct hr_streamed *figures = hr_streamed_create(config.trace);
  struct hr_result *result;
  struct hr_error error;
  memset(&streamed, 0, sizeof streamed);
  struct hr_observer observers[4] = {hr_streamed_observer(figures), {.self = &streamed, .on_event = note_start}};
  config.n_observers = 2;
  config.stream = true;
  struct accounts accounts = open_accounts(&config, observers, costs);
  CU_ASSERT_EQUAL_FATAL(hr_sim_run(&config, &result, &error), HR_OK);
  CU_ASSERT_PTR_NULL(result->state);
  CU_ASSERT_PTR_NULL(result->start_us);
  CU_ASSERT_PTR_NULL(result->account);
  CU_ASSERT_EQUAL(result->n_jobs, 0);
  struct hr_summary found = hr_streamed_close(figures, config.cluster, result);
  if (costs) {
    CU_ASSERT_EQUAL_FATAL(hr_ledger_close(accounts.ledger, result), HR_OK);
    CU_ASSERT_EQUAL_FATAL(hr_streamed_cost(figures, config.cluster, result, &accounts.basis, &found, &error), HR_OK);
  }
  CU_ASSERT_EQUAL(hr_streamed_notes(figures, notes), HR_OK);
  hr_result_destroy(result);
  hr_streamed_destroy(figures);
  close_accounts(&accounts);
  return found;
}

/* ---- Comparison ------------------------------------------------------------------------------------- */

static bool is_near(double found, double exact) {
  return fabs(found - exact) <= exact / 256 * 1.000001 + 1e-6;
}

/* Asserts that means and maxima differ by at most `off`, and that quantiles are near each other. */
static void assert_distribution(const struct hr_distribution *found, const struct hr_distribution *exact, double off) {
  CU_ASSERT_EQUAL(found->count, exact->count);
  CU_ASSERT_DOUBLE_EQUAL(found->mean, exact->mean, off + 1e-12 * exact->mean);
  CU_ASSERT_DOUBLE_EQUAL(found->max, exact->max, off);
  CU_ASSERT_TRUE(is_near(found->p50, exact->p50) && is_near(found->p90, exact->p90));
  CU_ASSERT_TRUE(is_near(found->p95, exact->p95) && is_near(found->p99, exact->p99));
}

static void assert_figures(const struct hr_summary *found, const struct hr_summary *exact) {
  CU_ASSERT_EQUAL(found->digest, exact->digest);
  CU_ASSERT_EQUAL(found->jobs_submitted, exact->jobs_submitted);
  CU_ASSERT_EQUAL(found->jobs_completed, exact->jobs_completed);
  CU_ASSERT_EQUAL(found->jobs_rejected, exact->jobs_rejected);
  CU_ASSERT_EQUAL(found->jobs_unfinished, exact->jobs_unfinished);
  CU_ASSERT_EQUAL(found->jobs_backfilled, exact->jobs_backfilled);
  CU_ASSERT_EQUAL(found->outcome_failed, exact->outcome_failed);
  CU_ASSERT_EQUAL(found->outcome_cancelled, exact->outcome_cancelled);
  CU_ASSERT_EQUAL(found->deadlines, exact->deadlines);
  CU_ASSERT_EQUAL(found->missed_deadlines, exact->missed_deadlines);
  assert_distribution(&found->wait_s, &exact->wait_s, 0);
  assert_distribution(&found->jct_s, &exact->jct_s, 0);
  assert_distribution(&found->slowdown, &exact->slowdown, 1e-6);
  CU_ASSERT_EQUAL(found->makespan_s, exact->makespan_s);
  CU_ASSERT_EQUAL(found->submit_window_s, exact->submit_window_s);
  CU_ASSERT_EQUAL(found->utilization_makespan, exact->utilization_makespan);
  CU_ASSERT_EQUAL(found->utilization_submit_window, exact->utilization_submit_window);
  CU_ASSERT_DOUBLE_EQUAL(found->gpu_hours, exact->gpu_hours, 1e-9 * exact->gpu_hours);
  CU_ASSERT_EQUAL(found->queue_mean, exact->queue_mean);
  CU_ASSERT_EQUAL(found->queue_max, exact->queue_max);
  CU_ASSERT_EQUAL(found->n_events, exact->n_events);
  CU_ASSERT_EQUAL(found->n_passes, exact->n_passes);
}

static void assert_goodput(const struct hr_goodput *found, const struct hr_goodput *exact) {
  CU_ASSERT_EQUAL(found->useful_gpu_hours, exact->useful_gpu_hours);
  CU_ASSERT_EQUAL(found->lost_gpu_hours, exact->lost_gpu_hours);
  CU_ASSERT_EQUAL(found->checkpoint_gpu_hours, exact->checkpoint_gpu_hours);
  CU_ASSERT_EQUAL(found->restart_gpu_hours, exact->restart_gpu_hours);
}

static void assert_spot(const struct hr_spot_metrics *found, const struct hr_spot_metrics *exact) {
  CU_ASSERT_EQUAL(found->pools, exact->pools);
  CU_ASSERT_EQUAL(found->reclaims, exact->reclaims);
  CU_ASSERT_EQUAL(found->jobs_interrupted, exact->jobs_interrupted);
  CU_ASSERT_EQUAL(found->node_hours, exact->node_hours);
  CU_ASSERT_EQUAL(found->gpu_hours, exact->gpu_hours);
  CU_ASSERT_EQUAL(found->availability, exact->availability);
}

static void assert_leftovers(const struct hr_summary *found, const struct hr_summary *exact) {
  CU_ASSERT_EQUAL(found->stoppable, exact->stoppable);
  assert_goodput(&found->goodput, &exact->goodput);
  assert_spot(&found->spot, &exact->spot);
  CU_ASSERT_EQUAL(found->oom.known, exact->oom.known);
  CU_ASSERT_EQUAL(found->oom.kills, exact->oom.kills);
  CU_ASSERT_EQUAL(found->oom.jobs, exact->oom.jobs);
  CU_ASSERT_EQUAL(found->oom.back_off_gpu_hours, exact->oom.back_off_gpu_hours);
}

static void assert_costs(const struct hr_cost_summary *found, const struct hr_cost_summary *exact) {
  CU_ASSERT_EQUAL_FATAL(found == NULL, exact == NULL);
  if (!exact) return;
  CU_ASSERT_EQUAL(found->total_uusd, exact->total_uusd);
  CU_ASSERT_EQUAL(found->capacity_uusd, exact->capacity_uusd);
  CU_ASSERT_EQUAL(found->idle_uusd, exact->idle_uusd);
  CU_ASSERT_EQUAL(found->per_completed_job_uusd, exact->per_completed_job_uusd);
  CU_ASSERT_EQUAL(found->per_goodput_gpu_hour_uusd, exact->per_goodput_gpu_hour_uusd);
  CU_ASSERT_EQUAL(found->monthly_uusd, exact->monthly_uusd);
  CU_ASSERT_EQUAL_FATAL(found->by_tenant.count, exact->by_tenant.count);
  for (size_t i = 0; i < exact->by_tenant.count; i++) {
    CU_ASSERT_STRING_EQUAL(found->by_tenant.line[i].name, exact->by_tenant.line[i].name);
    CU_ASSERT_EQUAL(found->by_tenant.line[i].uusd, exact->by_tenant.line[i].uusd);
  }
}

/* Asserts that both runs have equal notes. In runs that do not stall, these are the notes on rejections. */
static void assert_notes(const struct hr_notes *found, const struct hr_notes *exact) {
  CU_ASSERT_EQUAL_FATAL(found->count, exact->count);
  for (size_t i = 0; i < exact->count; i++) CU_ASSERT_STRING_EQUAL(found->text[i], exact->text[i]);
}

uint32_t assert_same_run(const struct hr_run_config *base, const struct hr_trace *mapped,
                         const struct hr_cost_spec *costs) {
  struct hr_notes notes[2] = {{0}, {0}};
  struct hr_run_config config = *base;
  struct hr_summary *summary = run_in_memory(&config, costs, &notes[0]);
  config.trace = mapped;
  struct hr_summary figures = streamed_figures(&config, costs, &notes[1]);
  assert_figures(&figures, summary);
  assert_leftovers(&figures, summary);
  assert_costs(figures.costs, summary->costs);
  assert_notes(&notes[1], &notes[0]);
  CU_ASSERT_TRUE(in_memory.count > base->trace->n_jobs / 20);
  CU_ASSERT_EQUAL(in_memory.count, streamed.count);
  CU_ASSERT_EQUAL(memcmp(in_memory.at_us, streamed.at_us, sizeof streamed.at_us), 0);
  CU_ASSERT_EQUAL(memcmp(in_memory.place, streamed.place, sizeof streamed.place), 0);
  for (int i = 0; i < 2; i++) hr_notes_finish(&notes[i]);
  hr_streamed_summary_finish(&figures);
  hr_summary_destroy(summary);
  return streamed.count;
}
