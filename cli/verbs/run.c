/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom run --stream`: memory for the jobs that wait or run, and for no others. */

#include "cli/verbs/run.h"

#include "cli/cli.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/process.h"
#include "headroom/unstable/compare.h"
#include "headroom/unstable/replay.h"
#include "headroom/unstable/replications.h"
#include "headroom/unstable/streamed.h"

#include <inttypes.h>
#include <string.h>

struct stream_args {
  const char *json;
  bool check, quiet;
};
/* Whether the scenario's policy can do without jobs that are over; an error that says what cannot. */
enum hr_status check_stream(const struct hr_scenario *scenario, struct hr_error *error);
/* Runs and tells. The input's trace was read. */
enum hr_status run_stream(const struct input *input, const struct stream_args *args, struct hr_error *error);

bool wants_many(const struct hr_scenario *scenario) {
  return scenario->replications.count > 1 || scenario->replications.metric.text;
}

enum hr_status add_replications(struct overrides *overrides, const char *value, struct hr_error *error) {
  uint64_t count;
  if (!value) return HR_OK;
  if (value[0] == '{') return overrides_add(overrides, "replications", value, error);
  if (!parse_whole(value, &count) || count < 1 || count > HR_MAX_REPLICATIONS)
    return hr_fail(error, HR_BAD_INPUT,
                   "--replications %.200s: a whole number from 1 to %d is wanted, or a precision such as "
                   "{\"metric\":\"wait_s.p95\",\"relative\":0.05}",
                   value, HR_MAX_REPLICATIONS);
  return overrides_add(overrides, "replications.count", value, error);
}

enum hr_status run_many(const struct input *input, const struct many_args *args, struct hr_error *error) {
  struct progress_bar bar;
  struct hr_replicates *replicates;
  struct hr_replicate_config config = {.scenario = input->scenario,
                                       .overrides = input->overrides.words.at,
                                       .n_overrides = input->overrides.words.count,
                                       .trace = input->trace,
                                       .spec = &input->scenario->replications,
                                       .n_threads = count_threads(args->threads),
                                       .progress = progress_bar_start(&bar, !args->quiet)};
  double begin_s = clock_s();
  enum hr_status status = hr_replicate(&config, &replicates, error);
  struct hr_perf perf = {.load_s = input->load_s, .sim_s = clock_s() - begin_s, .peak_rss_mib = peak_rss_mib()};
  progress_bar_stop(&bar);
  if (status == HR_OK && args->json) status = hr_replicates_write_json(args->json, replicates, &perf, error);
  if (status == HR_OK && !args->quiet) {
    const struct hr_notes *notes = hr_replicates_notes(replicates);
    input_print_notes(stderr, input);
    for (size_t i = 0; i < notes->count; i++) fprintf(stderr, "note: %s\n", notes->text[i]);
    if (!is_stdout(args->json)) status = hr_replicates_print(stdout, replicates, &perf, wants_colour());
    if (status != HR_OK) hr_fail(error, status, "the table cannot be printed: %s", hr_status_meaning(status));
  }
  hr_replicates_destroy(replicates);
  return status;
}

/* ---- What can be streamed --------------------------------------------------------------------------- */

/* Of `queue`: what remembers more with each job that comes. */
static const struct run_part {
  const char *key;
  const char *values[4]; /* ended by NULL */
  const char *why;
} parts[] = {
    {"order", {"wfp3", NULL}, "keeps a lane for each run time that it has seen"},
    {"market",
     {"deadline-greedy", "uniform-progress", "omniscient", NULL},
     "keeps what each job had been given, or looks ahead"},
};

static bool is_among(const char *word, const char *const *words) {
  while (*words && strcmp(*words, word) != 0) words++;
  return *words != NULL;
}

static enum hr_status check_part(const struct hr_policy_choice *policy, const struct run_part *part,
                                 struct hr_error *error) {
  for (size_t i = 0; i < policy->n_params; i++) {
    if (strcmp(policy->ops->params[i].key, part->key) != 0) continue;
    char buffer[32];
    const char *value = hr_policy_choice_text(policy, i, buffer);
    if (!is_among(value, part->values)) continue;
    return hr_fail(error, HR_BAD_INPUT, "--stream: %s '%s' %s; choose another, or leave --stream out", part->key, value,
                   part->why);
  }
  return HR_OK;
}

/* What costs more for each job, by its key; NULL: nothing. */
static const char *cost_by_job(const struct hr_scenario *scenario) {
  const struct hr_cost_spec *costs = &scenario->costs;
  if (costs->storage.uusd_per_gb_month) return "storage.usd_per_gb_month";
  for (unsigned i = 0; costs->egress.uusd_per_gb && i < HR_N_CLASSES; i++)
    if (costs->egress.mb_per_job[i]) return "egress.gb_per_job";
  return costs->downtime.uusd_per_missed_deadline ? "downtime.usd_per_missed_deadline" : NULL;
}

enum hr_status check_stream(const struct hr_scenario *scenario, struct hr_error *error) {
  const struct hr_policy_choice *policy = &scenario->policy;
  if (strcmp(policy->ops->name, "queue") != 0)
    return hr_fail(error, HR_BAD_INPUT, "--stream: policy '%s' may remember every job; 'queue' does not",
                   policy->ops->name);
  const char *by_job = cost_by_job(scenario);
  if (by_job)
    return hr_fail(error, HR_BAD_INPUT,
                   "--stream: 'costs.%s' is summed over all jobs at the end; leave it or --stream out", by_job);
  enum hr_status status = HR_OK;
  for (size_t i = 0; status == HR_OK && i < sizeof parts / sizeof *parts; i++)
    status = check_part(policy, &parts[i], error);
  return status;
}

/* ---- The run ---------------------------------------------------------------------------------------- */

/* All that a run is followed by; of scenarios without prices there are no accounts. */
struct streaming {
  const struct input *input;
  const struct stream_args *args;
  struct hr_streamed *streamed;
  struct hr_ledger *ledger;
  struct hr_meter *meter;
  struct hr_result *result;
  struct hr_streamed_figures figures;
  struct hr_notes notes;
};

static enum hr_status begin(struct streaming *self, struct hr_error *error) {
  const struct hr_scenario *scenario = self->input->scenario;
  bool has_prices = hr_scenario_has_prices(scenario);
  self->streamed = hr_streamed_create(self->input->trace);
  if (has_prices) {
    self->ledger = hr_ledger_create(self->input->trace, &scenario->cluster, false);
    self->meter = hr_meter_create(self->input->trace, &scenario->cluster, &scenario->costs);
  }
  bool made = self->streamed && (!has_prices || (self->ledger && self->meter));
  return made ? HR_OK : hr_fail(error, HR_NO_MEMORY, "out of memory");
}

static enum hr_status simulate(struct streaming *self, struct hr_error *error) {
  const struct hr_scenario *scenario = self->input->scenario;
  struct hr_observer observers[3] = {hr_streamed_observer(self->streamed)};
  struct progress_bar bar;
  struct hr_run_config config = {.trace = self->input->trace,
                                 .cluster = &scenario->cluster,
                                 .policy = scenario->policy.ops,
                                 .params = scenario->policy.params,
                                 .seed = scenario->seed,
                                 .horizon_us = scenario->horizon_us,
                                 .check = self->args->check,
                                 .classes = scenario->classes,
                                 .observers = observers,
                                 .n_observers = 1,
                                 .progress = progress_bar_start(&bar, !self->args->quiet),
                                 .quotas = scenario->quotas,
                                 .speeds = scenario->speeds,
                                 .network_speeds = scenario->network_speeds,
                                 .stream = true};
  if (self->ledger) observers[config.n_observers++] = hr_ledger_observer(self->ledger);
  if (self->meter) observers[config.n_observers++] = hr_meter_observer(self->meter);
  enum hr_status status = hr_sim_run(&config, &self->result, error);
  progress_bar_stop(&bar);
  return status;
}

static enum hr_status sum_up(struct streaming *self, struct hr_error *error) {
  const struct hr_scenario *scenario = self->input->scenario;
  const struct hr_cost_basis basis = {self->ledger, self->meter, &scenario->costs, scenario->classes};
  self->figures = hr_streamed_close(self->streamed, &scenario->cluster, self->result);
  if (!self->ledger) return HR_OK;
  enum hr_status status = hr_ledger_close(self->ledger, self->result);
  if (status != HR_OK) return hr_fail(error, status, "out of memory for the accounts");
  return hr_streamed_cost(self->streamed, &scenario->cluster, self->result, &basis, &self->figures, error);
}

static enum hr_status note(struct streaming *self, struct hr_error *error) {
  const struct hr_scenario *scenario = self->input->scenario;
  const struct hr_trace *trace = self->input->trace;
  struct hr_notes *notes = &self->notes;
  enum hr_status status = hr_run_notes(trace, &scenario->costs, scenario->quotas, self->result, notes, error);
  if (status == HR_OK) status = hr_pair_notes(trace, &scenario->cluster, notes, error);
  if (status != HR_OK || hr_streamed_notes(self->streamed, notes) == HR_OK) return status;
  return hr_fail(error, HR_NO_MEMORY, "out of memory");
}

static void print_notes(const struct streaming *self) {
  input_print_notes(stderr, self->input);
  for (size_t i = 0; i < self->notes.count; i++) fprintf(stderr, "note: %s\n", self->notes.text[i]);
}

static enum hr_status tell(const struct streaming *self, double sim_s, struct hr_error *error) {
  const struct input *input = self->input;
  const struct stream_args *args = self->args;
  const struct hr_notes *notes[] = {&input->scenario->notes, &input->trace->notes, &self->notes};
  const struct hr_run_label label = {.scenario = input->scenario->name,
                                     .trace = input->trace->source,
                                     .format = input->trace->format,
                                     .cluster = &input->scenario->cluster,
                                     .policy = &input->scenario->policy,
                                     .seed = input->scenario->seed,
                                     .notes = notes,
                                     .n_notes = sizeof notes / sizeof *notes,
                                     .skipped = input->trace->skipped,
                                     .n_skipped_reasons = input->trace->n_skipped_reasons};
  const struct hr_perf perf = {.load_s = input->load_s, .sim_s = sim_s, .peak_rss_mib = peak_rss_mib()};
  enum hr_status status = args->json ? hr_streamed_write_json(args->json, &self->figures, &label, &perf, error) : HR_OK;
  if (status != HR_OK || args->quiet) return status;
  print_notes(self);
  if (is_stdout(args->json)) return HR_OK;
  status = hr_streamed_print(stdout, &self->figures, &label, &perf, terminal_style());
  return status == HR_OK ? HR_OK
                         : hr_fail(error, status, "the figures cannot be printed: %s", hr_status_meaning(status));
}

enum hr_status run_stream(const struct input *input, const struct stream_args *args, struct hr_error *error) {
  struct streaming self = {.input = input, .args = args};
  double begin_s = clock_s();
  enum hr_status status = begin(&self, error);
  if (status == HR_OK) status = simulate(&self, error);
  if (status == HR_OK) status = sum_up(&self, error);
  if (status == HR_OK) status = note(&self, error);
  if (status == HR_OK) status = tell(&self, clock_s() - begin_s, error);
  hr_notes_finish(&self.notes);
  hr_streamed_figures_finish(&self.figures);
  hr_result_destroy(self.result);
  hr_meter_destroy(self.meter);
  hr_ledger_destroy(self.ledger);
  hr_streamed_destroy(self.streamed);
  return status;
}

/* `headroom run`: read, check the outputs, replay, fold, and only then write. */

#define AT(field) offsetof(struct run_args, field)
static const struct option options[] = {
    INPUT_OPTIONS(run_args),
    {.name = "jobs",
     .kind = OPTION_TEXT,
     .offset = AT(files.jobs),
     .value = "FILE",
     .help = "write one CSV row per job: when and where it ran ('-': standard output)"},
    {.name = "timeline",
     .kind = OPTION_TEXT,
     .offset = AT(files.timeline),
     .value = "FILE",
     .help = "write a CSV row whenever the number of waiting or running jobs or of GPUs in use changed"},
    {.name = "costs",
     .kind = OPTION_TEXT,
     .offset = AT(files.costs),
     .value = "FILE",
     .help = "write a CSV row per tenant, market and GPU type: GPU hours and dollars, idle and shared ones too"},
    {.name = "json",
     .kind = OPTION_TEXT,
     .offset = AT(files.json),
     .value = "FILE",
     .help = "write the summary as JSON ('-': standard output, and no table)"},
    {.name = "md",
     .kind = OPTION_TEXT,
     .offset = AT(files.md),
     .value = "FILE",
     .help = "write the summary as a page of Markdown ('-': standard output, and no table)"},
    {.name = "perfetto",
     .kind = OPTION_TEXT,
     .offset = AT(files.perfetto),
     .value = "FILE",
     .help = "write the run as a trace for Perfetto (ui.perfetto.dev): nodes as tracks, jobs as slices"},
    {.name = "openmetrics",
     .kind = OPTION_TEXT,
     .offset = AT(files.openmetrics.file),
     .value = "FILE",
     .help =
         "write metrics for Prometheus and Grafana (OpenMetrics text): DCGM's of GPUs, Kueue's and Slurm's of jobs"},
    {.name = "openmetrics-step",
     .kind = OPTION_TEXT,
     .offset = AT(files.openmetrics.step),
     .value = "TIME",
     .help = "the time between samples, e.g. 30s, 5min, 2h; 5min unless given, or more where the run is long"},
    {.name = "openmetrics-by",
     .kind = OPTION_TEXT,
     .offset = AT(files.openmetrics.by),
     .value = "PLACE",
     .help = "a series of GPU metrics for each node (the default), gpu or pool"},
    REPORT_OPTION(AT(files.page)),
    BASELINE_OPTION(AT(files.page)),
    {.name = "replications",
     .kind = OPTION_TEXT,
     .offset = AT(input) + offsetof(struct input_args, replications),
     .value = "N",
     .help = "run it N times with other random events, and say what all of them tell; or until a precision is reached: "
             "{\"metric\":\"wait_s.p95\", \"relative\":0.05, \"confidence\":0.95, \"max\":200}"},
    {.name = "threads",
     .kind = OPTION_WHOLE,
     .offset = AT(threads),
     .value = "N",
     .help = "replications at a time, as many as there are processors unless given; results are the same",
     .min = 1,
     .max = HR_MAX_THREADS},
    {.name = "check",
     .kind = OPTION_FLAG,
     .offset = AT(check),
     .help = "verify the engine's whole state while it runs (slow); results are the same"},
    {.name = "stream",
     .kind = OPTION_FLAG,
     .offset = AT(stream),
     .help = "keep nothing of jobs that are over: a sorted trace of any length in little memory, with fewer figures"},
    QUIET_OPTION(run_args),
    {0}};

static const char details[] = "JSON and CSV are in seconds. Files are written only when the run succeeded.\n"
                              "Exit code: 0 fine, 2 bad input or usage, 3 a policy broke its contract, 4 the\n"
                              "system failed.\n\n"
                              "Examples:\n"
                              "  headroom run scenarios/demo.json\n"
                              "  headroom run scenarios/helios.json --trace helios_trace.csv.gz \\\n"
                              "    --policy queue:order=sjf,backfill=skip --set cluster.pools.0.nodes=56\n"
                              "  headroom run scenarios/swf.json --trace RICC-2010-2.swf.gz --json summary.json\n"
                              "  headroom run scenarios/helios.json --trace jobs.hrt --stream\n";

/* A run and all that hangs off it. */
struct run_run {
  const struct run_args *args;
  struct input input;
  struct hr_replay replay;
  struct run_files files;
  struct hr_timeline_summary *course; /* only for the table and for --md */
  struct hr_perf perf;
};

static bool wants_table(const struct run_args *args) {
  return !args->quiet && !args->no_table && !run_files_to_stdout(&args->files);
}

/* ---- Replaying -------------------------------------------------------------------------------------- */

static enum hr_status add_course(struct run_run *run, struct hr_error *error) {
  run->course = hr_timeline_summary_create();
  if (!run->course) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  return hr_replay_add(&run->replay, hr_timeline_summary_observer(run->course), error);
}

static enum hr_status replay(struct run_run *run, struct hr_error *error) {
  const struct run_args *args = run->args;
  struct progress_bar bar;
  const struct hr_replay_config config = {.scenario = run->input.scenario,
                                          .trace = run->input.trace,
                                          .seed = run->input.scenario->seed,
                                          .check = args->check,
                                          .costs_by_job = run_files_need_job_costs(&args->files),
                                          .alerts = true,
                                          .progress = progress_bar_start(&bar, !args->quiet)};
  enum hr_status status = hr_replay_init(&run->replay, &config, error);
  if (status == HR_OK) status = run_files_follow(&run->files, &run->replay, error);
  if (status == HR_OK && (wants_table(args) || args->files.md)) status = add_course(run, error);
  if (status == HR_OK) status = hr_replay_run(&run->replay, error);
  progress_bar_stop(&bar);
  if (status == HR_OK && run->course) hr_timeline_summary_close(run->course, run->replay.result);
  run->perf.sim_s = run->replay.sim_s;
  return status;
}

/* ---- Telling ---------------------------------------------------------------------------------------- */

static void run_print_notes(const struct run_run *run) {
  if (run->args->quiet) return;
  input_print_notes(stderr, &run->input);
  for (size_t i = 0; i < run->replay.notes.count; i++) fprintf(stderr, "note: %s\n", run->replay.notes.text[i]);
  run_files_print_notes(stderr, &run->files);
}

static enum hr_status run_tell(struct run_run *run, struct hr_error *error) {
  const struct hr_scenario *scenario = run->input.scenario;
  const struct hr_trace *trace = run->input.trace;
  const struct hr_notes *notes[] = {&scenario->notes, &trace->notes, &run->replay.notes};
  struct hr_run_label label = {.scenario = scenario->name,
                               .trace = trace->source,
                               .format = trace->format,
                               .cluster = &scenario->cluster,
                               .policy = &scenario->policy,
                               .seed = scenario->seed,
                               .notes = notes,
                               .n_notes = sizeof notes / sizeof *notes,
                               .skipped = trace->skipped,
                               .n_skipped_reasons = trace->n_skipped_reasons,
                               .alerts = run->replay.alerts,
                               .clock_us = trace->dated ? 0 : trace->origin_us,
                               .course = run->course};
  run->perf.load_s = run->input.load_s;
  run->perf.peak_rss_mib = peak_rss_mib();
  enum hr_status status = run_files_write(&run->files, &run->replay, &label, &run->perf, error);
  if (status != HR_OK) return status;
  run_print_notes(run);
  if (!wants_table(run->args)) return HR_OK;
  status = hr_summary_print(stdout, run->replay.summary, &label, &run->perf, terminal_style());
  return status == HR_OK ? HR_OK
                         : hr_fail(error, status, "the summary cannot be printed: %s", hr_status_meaning(status));
}

/* ---- The verb --------------------------------------------------------------------------------------- */

/* The option of a file that tells what happened in one run, job by job or from instant to instant; NULL: none is
   asked for. */
static const char *file_of_one_run(const struct run_file_args *files) {
  return files->jobs               ? "jobs"
         : files->timeline         ? "timeline"
         : files->costs            ? "costs"
         : files->perfetto         ? "perfetto"
         : files->md               ? "md"
         : files->openmetrics.file ? "openmetrics"
         : files->page.report      ? "report"
                                   : NULL;
}

/* Many runs have no one list of jobs. */
static enum hr_status check_many(const struct run_run *run, struct hr_error *error) {
  const char *of_one = file_of_one_run(&run->args->files);
  if (!of_one && run->args->check) of_one = "check";
  if (!of_one || !wants_many(run->input.scenario)) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT,
                 "--%s tells of one run, and there are to be several replications; leave one of "
                 "them out (--set replications.count=1)",
                 of_one);
}

/* A streamed run keeps no jobs to tell of. */
static enum hr_status check_streamed(const struct run_run *run, struct hr_error *error) {
  const char *of_jobs = file_of_one_run(&run->args->files);
  if (of_jobs)
    return hr_fail(error, HR_BAD_INPUT,
                   "--stream keeps nothing of jobs that are over, and --%s tells of them; leave one of them out",
                   of_jobs);
  if (wants_many(run->input.scenario))
    return hr_fail(error, HR_BAD_INPUT,
                   "--stream is of one run, and there are to be several replications; leave one of them out (--set "
                   "replications.count=1)");
  return check_stream(run->input.scenario, error);
}

static enum hr_status run_or_replicate(struct run_run *run, struct hr_error *error) {
  const struct run_args *args = run->args;
  const struct many_args many = {.json = args->files.json, .threads = args->threads, .quiet = args->quiet};
  const struct stream_args stream = {.json = args->files.json, .check = args->check, .quiet = args->quiet};
  if (args->stream) return run_stream(&run->input, &stream, error);
  if (wants_many(run->input.scenario)) return run_many(&run->input, &many, error);
  enum hr_status status = replay(run, error);
  return status == HR_OK ? run_tell(run, error) : status;
}

static enum hr_status run_all(struct run_run *run, const char *path, struct hr_error *error) {
  const struct run_args *args = run->args;
  const struct run_file_args *files = &args->files;
  if (run_files_wanted(files)) signals_tell_closed_pipes();
  const struct output outputs[] = {{"jobs", files->jobs},
                                   {"timeline", files->timeline},
                                   {"costs", files->costs},
                                   {"json", files->json},
                                   {"md", files->md},
                                   {"perfetto", files->perfetto},
                                   {"openmetrics", files->openmetrics.file},
                                   {"report", files->page.report}};
  enum hr_status status = input_open(&run->input, path, &args->input, error);
  if (status == HR_OK && files->costs && !hr_scenario_has_prices(run->input.scenario))
    status = hr_fail(error, HR_BAD_INPUT,
                     "--costs %s: nothing in %s has a price; give a pool a market, or the scenario costs", files->costs,
                     path);
  if (status == HR_OK)
    status = input_check_outputs(&run->input, path, outputs, sizeof outputs / sizeof *outputs, error);
  if (status == HR_OK) status = args->stream ? check_streamed(run, error) : check_many(run, error);
  run->input.streamed = args->stream;
  if (status == HR_OK) status = run_files_init(&run->files, files, &run->input, error);
  if (status == HR_OK) status = input_read_trace(&run->input, &args->input, error);
  return status == HR_OK ? run_or_replicate(run, error) : status;
}

enum hr_status run_scenario(const struct run_args *args, const char *path, struct hr_error *error) {
  struct run_run run = {.args = args};
  enum hr_status status = run_all(&run, path, error);
  run_files_finish(&run.files);
  hr_timeline_summary_destroy(run.course);
  hr_replay_finish(&run.replay);
  input_finish(&run.input);
  return status;
}

static enum hr_status run_verb(const void *args, const struct words *operands, struct hr_error *error) {
  return run_scenario(args, operands->at[0], error);
}

static void set_command(void *args, const struct command *command) {
  ((struct run_args *)args)->files.page.command = *command;
}

const struct verb verb_run = {.name = "run",
                              .operands = "SCENARIO",
                              .min_operands = 1,
                              .max_operands = 1,
                              .summary = "replay a trace against a scenario's cluster and print the numbers",
                              .details = details,
                              .options = options,
                              .args_bytes = sizeof(struct run_args),
                              .set_command = set_command,
                              .run = run_verb};
