/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Before the run --------------------------------------------------------------------------------- */

enum hr_status page_prepare(struct page *page, const struct page_args *args, struct hr_error *error) {
  page->args = args;
  if (!args->report && args->baseline)
    return hr_fail(error, HR_BAD_INPUT,
                   "--baseline %s: it is the page that sets runs beside each other; name one with --report FILE",
                   args->baseline);
  if (!args->report) return HR_OK;
  if (!hr_page_is_built())
    return hr_fail(error, HR_BAD_INPUT,
                   "--report %s: this build has no report page: configure with node and npm, and build again",
                   args->report);
  if (!args->baseline) return HR_OK;
  struct hr_error inner = {0};
  enum hr_status status = hr_summary_read_json(args->baseline, &page->baseline, &inner);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "--baseline %s", inner.text);
}

enum hr_status page_follow(struct page *page, struct hr_replay *replay, const struct hr_history *history,
                           struct hr_error *error) {
  const struct hr_trace *trace = replay->config.trace;
  enum hr_status status = HR_OK;
  page->told = history;
  if (!history) page->told = page->history = hr_history_create(trace);
  page->watch = hr_page_watch_create(trace, &replay->config.scenario->cluster, replay->usage);
  const struct hr_waits_config waits = {.trace = trace};
  page->waits = hr_waits_create(&waits);
  if (!page->told || !page->watch || !page->waits) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  if (page->history) status = hr_replay_add(replay, hr_history_fold(page->history), error);
  if (status == HR_OK) status = hr_replay_add(replay, hr_waits_fold(page->waits), error);
  return status == HR_OK ? hr_replay_add(replay, hr_page_watch_fold(page->watch), error) : status;
}

/* ---- After it --------------------------------------------------------------------------------------- */

/* Where a pool's price comes from. */
static enum hr_status note_price(struct hr_notes *notes, const struct hr_pool_spec *pool,
                                 const struct hr_pool_source *source) {
  if (!source->status || pool->nodes == 0) return HR_OK;
  double usd = (double)pool->market.price_uusd_h / 1e6;
  return hr_notes_add(notes, "pool %s: $%.4f per GPU-hour%s, %s%s%s%s%s", pool->name, usd,
                      pool->market.n_prices ? " at first" : "", source->status, source->as_of ? " as of " : "",
                      source->as_of ? source->as_of : "", source->source ? ": " : "",
                      source->source ? source->source : "");
}

static enum hr_status note_assumptions(struct hr_notes *notes, const struct hr_scenario *scenario) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; scenario->pool_sources && i < scenario->cluster.n_pools && status == HR_OK; i++)
    status = note_price(notes, &scenario->cluster.pools[i], &scenario->pool_sources[i]);
  return status;
}

static struct hr_run_label label_of(const struct hr_replay_config *config, const struct hr_notes *const *notes,
                                    size_t n_notes) {
  return (struct hr_run_label){.scenario = config->scenario->name,
                               .trace = config->trace->source,
                               .format = config->trace->format,
                               .cluster = &config->scenario->cluster,
                               .policy = config->policy,
                               .seed = config->seed,
                               .notes = notes,
                               .n_notes = n_notes,
                               .skipped = config->trace->skipped,
                               .n_skipped_reasons = config->trace->n_skipped_reasons,
                               .clock_us = config->trace->dated ? 0 : config->trace->origin_us};
}

/* Where waiting time went, as JSON that the caller frees; NULL when out of memory. */
static char *why_text(struct page *page, const struct hr_replay *replay) {
  const struct hr_scenario *scenario = replay->config.scenario;
  const struct hr_why why = {.scenario = scenario->name,
                             .trace = replay->config.trace,
                             .cluster = &scenario->cluster,
                             .quotas = scenario->quotas,
                             .policy = replay->config.policy,
                             .seed = replay->config.seed,
                             .result = replay->result,
                             .waits = page->waits};
  const struct hr_why_question of_all = {.job = {HR_NONE}};
  return hr_waits_close(page->waits, replay->result) == HR_OK ? hr_why_json(&why, &of_all) : NULL;
}

/* What is in the trace, likewise. */
static char *workload_text(const struct hr_trace *trace) {
  struct hr_trace_stats *stats;
  if (hr_trace_stats_make(trace, &stats, NULL) != HR_OK) return NULL;
  char *text = hr_trace_stats_json(stats);
  hr_trace_stats_destroy(stats);
  return text;
}

static enum hr_status write_replay(struct page *page, const struct hr_page *subject, const struct hr_replay *replay,
                                   const struct hr_perf *perf, struct hr_error *error) {
  const struct hr_scenario *scenario = replay->config.scenario;
  const struct hr_notes *notes[] = {&scenario->notes, &replay->config.trace->notes, &replay->notes,
                                    subject->n_notes ? subject->notes[0] : NULL};
  struct hr_run_label label = label_of(&replay->config, notes, 3);
  label.alerts = replay->alerts;
  const struct hr_page_run run = {.trace = replay->config.trace,
                                  .cluster = &scenario->cluster,
                                  .result = replay->result,
                                  .history = page->told,
                                  .watch = page->watch,
                                  .ledger = replay->ledger,
                                  .summary = replay->summary,
                                  .label = &label,
                                  .perf = perf};
  struct hr_notes assumptions = {0};
  enum hr_status status = page->history ? hr_history_close(page->history, replay->result) : HR_OK;
  if (status == HR_OK) status = note_assumptions(&assumptions, scenario);
  char *why = status == HR_OK ? why_text(page, replay) : NULL;
  char *workload = why ? workload_text(replay->config.trace) : NULL;
  if (status == HR_OK && !workload) status = HR_NO_MEMORY;
  if (status == HR_OK) {
    struct hr_page document = *subject;
    document.run = &run;
    document.why = why;
    document.workload = workload;
    if (!document.title) document.title = scenario->name;
    document.notes = notes;
    document.n_notes = 3 + subject->n_notes;
    document.assumptions = &assumptions;
    status = hr_page_write(page->args->report, &document, error);
  } else {
    hr_fail(error, status, "out of memory for the page");
  }
  free(why);
  free(workload);
  hr_notes_finish(&assumptions);
  return status;
}

enum hr_status page_write(struct page *page, const struct page_subject *subject, const struct hr_replay *replay,
                          const struct hr_perf *perf, struct hr_error *error) {
  char *command = command_text(&page->args->command);
  const struct hr_notes *notes[] = {subject->notes};
  struct hr_page document = {.kind = subject->kind,
                             .title = subject->title,
                             .command = command,
                             .compare = subject->compare,
                             .plan = subject->plan,
                             .sweep = subject->sweep,
                             .baseline = page->baseline,
                             .baseline_name = page->args->baseline,
                             .notes = subject->notes ? notes : NULL,
                             .n_notes = subject->notes ? 1 : 0};
  enum hr_status status;
  if (!command)
    status = hr_fail(error, HR_NO_MEMORY, "out of memory for the page");
  else if (replay)
    status = write_replay(page, &document, replay, perf, error);
  else
    status = hr_page_write(page->args->report, &document, error);
  free(command);
  return status;
}

enum hr_status page_run_and_write(struct page *page, const struct page_subject *subject,
                                  const struct hr_replay_config *config, struct hr_error *error) {
  struct hr_replay_config whole = *config;
  struct hr_replay replay;
  whole.costs_by_job = true;
  whole.alerts = true;
  enum hr_status status = hr_replay_init(&replay, &whole, error);
  if (status == HR_OK) status = page_follow(page, &replay, NULL, error);
  if (status == HR_OK) status = hr_replay_run(&replay, error);
  if (status == HR_OK) {
    const struct hr_perf perf = {.sim_s = replay.sim_s};
    status = page_write(page, subject, &replay, &perf, error);
  }
  hr_replay_finish(&replay);
  return status;
}

void page_finish(struct page *page) {
  hr_page_watch_destroy(page->watch);
  hr_history_destroy(page->history);
  hr_waits_destroy(page->waits);
  free(page->baseline);
}
