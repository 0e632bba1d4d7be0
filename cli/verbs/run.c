/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom run` and `headroom report`. `run` replays a trace once, replays it several times (--replications), or
   streams it in bounded memory (--stream). `report` does the same as `run`, but writes an HTML report instead of the
   table. Outputs are checked before the run, and written only if the run succeeds. */

#include "cli/cli.h"
#include "headroom/unstable/compare.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/planning.h"
#include "headroom/unstable/replay.h"
#include "headroom/unstable/serve.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

struct run_args {
  struct input_args input;
  struct run_file_args files;
  const char *requests; /* path; NULL: none */
  uint64_t threads;     /* 0: not set */
  bool check, quiet, stream;
  bool no_table; /* set by `report`, which prints no table */
};

/* Prints the line "next", which suggests the next command. `rejected` is the share of rejected jobs, `idle` the share
   of idle cost in the total cost. */
static void print_next(const struct input *input, const struct run_args *args, double p95_wait_s, double rejected,
                       double idle) {
  const double long_wait_s = 600, many_rejected = 0.01, much_idle = 0.2;
  unsigned facts = next_facts_of(input);
  if (p95_wait_s > long_wait_s) facts |= NEXT_WAITS;
  if (rejected > many_rejected) facts |= NEXT_REJECTS;
  if (idle > much_idle && !input->scenario->clusters) facts |= NEXT_IDLE; /* advise needs one cluster */
  next_step_print(stdout, &(struct next_step){.verb = "run",
                                              .facts = facts,
                                              .path = input->scenario->path,
                                              .input = &args->input,
                                              .trace = input->trace_path,
                                              .cluster = &input->scenario->cluster});
}

static double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

static void print_next_of_summary(const struct input *input, const struct run_args *args,
                                  const struct hr_summary *summary) {
  const struct hr_cost_summary *costs = summary->costs;
  print_next(input, args, summary->wait_s.p95, share((double)summary->jobs_rejected, (double)summary->jobs_submitted),
             costs ? share((double)costs->idle_uusd, (double)costs->total_uusd) : 0);
}

/* ---- Replications ----------------------------------------------------------------------------------- */

static bool is_replicated(const struct hr_scenario *scenario) {
  return scenario->replications.count > 1 || scenario->replications.metric.text;
}

/* Prints a warning if no job completed and --quiet is set. */
static void warn_if_none_completed(const struct run_args *args, const struct hr_replicates *replicates) {
  struct hr_replicated completed;
  if (!args->quiet || hr_replicates_metric(replicates, "completed", &completed, NULL) != HR_OK) return;
  if (completed.count > 0 && completed.mean <= 0) fprintf(stderr, "warning: no job completed in any replication\n");
}

static enum hr_status print_replications(const struct input *input, const struct run_args *args,
                                         const struct hr_replicates *replicates, const struct hr_perf *perf,
                                         struct hr_error *error) {
  enum hr_status status = HR_OK;
  struct hr_rejections rejections = {0};
  if (args->files.json) status = hr_replicates_write_json(args->files.json, replicates, perf, error);
  if (status == HR_OK) status = input_predict_rejected(input, input->scenario, &rejections, error);
  if (status == HR_OK) input_warn_rejected(input, &input->scenario->cluster, &rejections);
  if (status == HR_OK) warn_if_none_completed(args, replicates);
  if (status == HR_OK && !args->quiet) {
    const struct hr_notes *notes = hr_replicates_notes(replicates);
    input_print_notes(stderr, input);
    notes_print(stderr, notes);
    struct hr_replicated wait = {0};
    bool wants_table = !is_stdout(args->files.json);
    if (wants_table) status = hr_replicates_print(stdout, replicates, perf, wants_colour());
    if (wants_table && status == HR_OK) {
      hr_replicates_metric(replicates, "wait_s.p95", &wait, NULL);
      print_next(input, args, wait.mean, 0, 0);
    }
    printed(status, "table", error);
  }
  return status == HR_OK ? input_require_accepted(input, &rejections, error) : status;
}

/* Runs the scenario several times and prints the results. The trace must have been read. */
static enum hr_status run_replications(const struct input *input, const struct run_args *args, struct hr_ranks *ranks,
                                       struct hr_error *error) {
  struct progress_bar bar;
  bool leads = ranks->rank == 0;
  struct hr_replicates *replicates;
  struct hr_replicate_config config = {.scenario = input->scenario,
                                       .overrides = input->overrides.words.at,
                                       .n_overrides = input->overrides.words.count,
                                       .trace = input->trace,
                                       .spec = &input->scenario->replications,
                                       .n_threads = count_rank_threads(args->threads),
                                       .ranks = ranks,
                                       .progress = progress_bar_start(&bar, leads && !args->quiet)};
  progress_bar_count(&bar, input->trace->n_jobs, input->scenario->replications.metric.text != NULL);
  double begin_s = clock_s();
  enum hr_status status = hr_replicate(&config, &replicates, error);
  const struct hr_perf perf = input_perf(input, begin_s);
  progress_bar_stop(&bar);
  if (status == HR_OK && leads) status = print_replications(input, args, replicates, &perf, error);
  hr_replicates_destroy(replicates);
  return status;
}

/* ---- Streaming: which scenarios can be streamed ----------------------------------------------------- */

/* Parameters that make the memory of the policy `queue` grow with the number of submitted jobs. */
static const struct unbounded_param {
  const char *key;
  const char *values[4]; /* ends with NULL */
  const char *reason;
} unbounded_params[] = {
    {"order", {"wfp3", NULL}, "keeps a queue for each distinct run time"},
};

static bool is_among(const char *word, const char *const *words) {
  while (*words && strcmp(*words, word) != 0) words++;
  return *words != NULL;
}

static enum hr_status check_param(const struct hr_policy_choice *policy, const struct unbounded_param *unbounded,
                                  struct hr_error *error) {
  for (size_t i = 0; i < policy->n_params; i++) {
    if (strcmp(policy->ops->params[i].key, unbounded->key) != 0) continue;
    char buffer[32];
    const char *value = hr_policy_choice_text(policy, i, buffer);
    if (!is_among(value, unbounded->values)) continue;
    return hr_fail(error, HR_BAD_INPUT, "--stream: %s '%s' %s; use another one, or drop --stream", unbounded->key,
                   value, unbounded->reason);
  }
  return HR_OK;
}

/* Returns the key of the first cost that needs a record of each job; NULL if the scenario has no such cost. */
static const char *cost_per_job_key(const struct hr_scenario *scenario) {
  const struct hr_cost_spec *costs = &scenario->costs;
  if (costs->storage.uusd_per_gb_month) return "storage.usd_per_gb_month";
  for (unsigned i = 0; costs->egress.uusd_per_gb && i < HR_N_CLASSES; i++)
    if (costs->egress.mb_per_job[i]) return "egress.gb_per_job";
  return costs->downtime.uusd_per_missed_deadline ? "downtime.usd_per_missed_deadline" : NULL;
}

/* Checks that the scenario can be streamed: it has one cluster and no 'data', and its policy and costs need no record
   of finished jobs. */
static enum hr_status check_stream(const struct hr_scenario *scenario, struct hr_error *error) {
  const struct hr_policy_choice *policy = &scenario->policy;
  if (scenario->clusters)
    return hr_fail(error, HR_BAD_INPUT, "--stream cannot be combined with several clusters; drop the option");
  if (scenario->data) return hr_fail(error, HR_BAD_INPUT, "--stream cannot be combined with 'data'; drop the option");
  if (strcmp(policy->ops->name, "queue") != 0)
    return hr_fail(error, HR_BAD_INPUT, "--stream: policy '%s' may keep a record of every job; use 'queue'",
                   policy->ops->name);
  const char *by_job = cost_per_job_key(scenario);
  if (by_job)
    return hr_fail(error, HR_BAD_INPUT,
                   "--stream: 'costs.%s' is summed over all jobs at the end; remove it, or drop --stream", by_job);
  enum hr_status status = HR_OK;
  for (size_t i = 0; status == HR_OK && i < sizeof unbounded_params / sizeof *unbounded_params; i++)
    status = check_param(policy, &unbounded_params[i], error);
  return status;
}

/* ---- Streaming: the run ----------------------------------------------------------------------------- */

/* A streamed run and its observers. Ledger and meter are NULL if the scenario has no prices. */
struct streaming {
  const struct input *input;
  const struct run_args *args;
  struct hr_streamed *streamed;
  struct hr_ledger *ledger;
  struct hr_meter *meter;
  struct hr_result *result;
  struct hr_summary figures;
  struct hr_notes notes;
};

static enum hr_status create_observers(struct streaming *self, struct hr_error *error) {
  const struct hr_scenario *scenario = self->input->scenario;
  bool has_prices = hr_scenario_has_prices(scenario);
  self->streamed = hr_streamed_create(self->input->trace);
  if (has_prices) {
    self->ledger = hr_ledger_create(self->input->trace, &scenario->cluster, false);
    self->meter = hr_meter_create(self->input->trace, &scenario->cluster, &scenario->costs);
  }
  bool created = self->streamed && (!has_prices || (self->ledger && self->meter));
  return created ? HR_OK : no_memory(error);
}

static enum hr_status stream_simulate(struct streaming *self, struct hr_error *error) {
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
                                 .systems = scenario->systems,
                                 .speeds = scenario->speeds,
                                 .network_speeds = scenario->network_speeds,
                                 .scaling = scenario->scaling,
                                 .stream = true};
  if (self->ledger) observers[config.n_observers++] = hr_ledger_observer(self->ledger);
  if (self->meter) observers[config.n_observers++] = hr_meter_observer(self->meter);
  enum hr_status status = hr_sim_run(&config, &self->result, error);
  progress_bar_stop(&bar);
  return status;
}

static enum hr_status stream_summarize(struct streaming *self, struct hr_error *error) {
  const struct hr_scenario *scenario = self->input->scenario;
  const struct hr_cost_basis basis = {self->ledger, self->meter, &scenario->costs, scenario->classes};
  self->figures = hr_streamed_close(self->streamed, &scenario->cluster, self->result);
  if (!self->ledger) return HR_OK;
  enum hr_status status = hr_ledger_close(self->ledger, self->result);
  if (status == HR_BAD_INPUT)
    return hr_fail(error, status, "%s: costs exceed 4 trillion dollars; prices or times are too large",
                   self->input->trace->source);
  if (status != HR_OK) return hr_fail(error, status, "out of memory for the costs");
  return hr_streamed_cost(self->streamed, &scenario->cluster, self->result, &basis, &self->figures, error);
}

static enum hr_status stream_collect_notes(struct streaming *self, struct hr_error *error) {
  const struct hr_scenario *scenario = self->input->scenario;
  const struct hr_trace *trace = self->input->trace;
  struct hr_notes *notes = &self->notes;
  enum hr_status status = hr_run_notes(trace, &scenario->costs, scenario->quotas, self->result, notes, error);
  if (status == HR_OK) status = hr_replay_input_notes(scenario, &scenario->policy, trace, notes, error);
  if (status == HR_OK) status = hr_series_notes(trace, &scenario->cluster, self->result, notes, error);
  if (status != HR_OK || hr_streamed_notes(self->streamed, notes) == HR_OK) return status;
  return no_memory(error);
}

static void stream_print_notes(const struct streaming *self) {
  input_print_notes(stderr, self->input);
  notes_print(stderr, &self->notes);
}

static enum hr_status stream_print_results(const struct streaming *self, double sim_s, struct hr_error *error) {
  const struct input *input = self->input;
  const struct run_args *args = self->args;
  const struct hr_notes *notes[] = {&input->scenario->notes, &input->trace->notes, &self->notes};
  const struct hr_replay_config config = {.scenario = input->scenario,
                                          .trace = input->trace,
                                          .policy = &input->scenario->policy,
                                          .seed = input->scenario->seed};
  const struct hr_run_label label = run_label(&config, notes, sizeof notes / sizeof *notes);
  const struct hr_perf perf = {.load_s = input->load_s, .sim_s = sim_s, .peak_rss_mib = peak_rss_mib()};
  enum hr_status status =
      args->files.json ? hr_streamed_write_json(args->files.json, &self->figures, &label, &perf, error) : HR_OK;
  if (status != HR_OK) return status;
  struct hr_rejections rejections;
  hr_streamed_rejections(self->streamed, self->result, &rejections);
  input_warn_rejected(input, &input->scenario->cluster, &rejections);
  if (!args->quiet) stream_print_notes(self);
  if (args->quiet || is_stdout(args->files.json)) return input_require_accepted(input, &rejections, error);
  status = hr_streamed_print(stdout, &self->figures, &label, &perf, terminal_style());
  if (status == HR_OK) print_next_of_summary(input, args, &self->figures);
  if (status == HR_OK) return input_require_accepted(input, &rejections, error);
  return printed(status, "figures", error);
}

static enum hr_status run_stream(const struct input *input, const struct run_args *args, struct hr_error *error) {
  struct streaming self = {.input = input, .args = args};
  double begin_s = clock_s();
  enum hr_status status = create_observers(&self, error);
  if (status == HR_OK) status = stream_simulate(&self, error);
  if (status == HR_OK) status = stream_summarize(&self, error);
  if (status == HR_OK) status = stream_collect_notes(&self, error);
  if (status == HR_OK) status = stream_print_results(&self, clock_s() - begin_s, error);
  hr_notes_finish(&self.notes);
  hr_streamed_summary_finish(&self.figures);
  hr_result_destroy(self.result);
  hr_meter_destroy(self.meter);
  hr_ledger_destroy(self.ledger);
  hr_streamed_destroy(self.streamed);
  return status;
}

/* ---- run: options ----------------------------------------------------------------------------------- */

#define AT(field) offsetof(struct run_args, field)
static const struct option options[] = {
    INPUT_OPTIONS(run_args),
    {"jobs", OPTION_TEXT, AT(files.jobs), "FILE",
     "write one CSV row per job: when and where it ran ('-': standard output)"},
    {"requests", OPTION_TEXT, AT(requests), "FILE",
     "write one CSV row per request of the scenario's services: when and by which replica it was served"},
    {"timeline", OPTION_TEXT, AT(files.timeline), "FILE",
     "write a CSV row for each change of the number of waiting jobs, running jobs or allocated GPUs"},
    {"averages", OPTION_TEXT, AT(files.averages), "FILE",
     "write the means of the timeline over intervals of equal length as JSON, for charts"},
    {"intervals", OPTION_WHOLE, AT(files.intervals), "N", "the number of intervals of --averages (default: 240)", 1,
     HR_MAX_AVERAGES},
    {"priorities", OPTION_TEXT, AT(files.priorities), "FILE",
     "write a CSV row for each priority of a waiting job that the policy slurm computes, with the columns of "
     "sprio"},
    {"shares", OPTION_TEXT, AT(files.shares), "FILE",
     "write a CSV row per account and user whenever the policy slurm computes fair shares, with the columns of "
     "sshare"},
    {"costs", OPTION_TEXT, AT(files.costs), "FILE",
     "write a CSV row per tenant, market and GPU type with GPU hours and dollars, and rows for idle and shared "
     "costs"},
    {"json", OPTION_TEXT, AT(files.json), "FILE",
     "write the summary as JSON ('-': standard output, without the table)"},
    {"md", OPTION_TEXT, AT(files.md), "FILE",
     "write the summary as Markdown ('-': standard output, without the table)"},
    {"perfetto", OPTION_TEXT, AT(files.perfetto), "FILE",
     "write the run as a trace for Perfetto (ui.perfetto.dev): nodes as tracks, jobs as slices"},
    {"openmetrics", OPTION_TEXT, AT(files.openmetrics.file), "FILE",
     "write metrics for Prometheus and Grafana (OpenMetrics text), named as by dcgm-exporter, Kueue and a Slurm "
     "exporter"},
    {"openmetrics-step", OPTION_TEXT, AT(files.openmetrics.step), "TIME",
     "time between samples, e.g. 30s, 5min, 2h (default: 5min, or more for long runs)"},
    {"openmetrics-by", OPTION_TEXT, AT(files.openmetrics.by), "PLACE",
     "one series of GPU metrics per node (default), gpu or pool"},
    REPORT_OPTION(AT(files.page)),
    BASELINE_OPTION(AT(files.page)),
    {"replications", OPTION_TEXT, AT(input) + offsetof(struct input_args, replications), "N",
     "run N times with different random events, and print each metric with its confidence interval; or until a "
     "precision is reached: "
     "{\"metric\":\"wait_s.p95\", \"relative\":0.05, \"confidence\":0.95, \"max\":200}"},
    {"threads", OPTION_WHOLE, AT(threads), "N",
     "number of parallel replications (default: number of processors; under mpirun per rank, default: 1); does "
     "not change results",
     1, HR_MAX_THREADS},
    {"check", OPTION_FLAG, AT(check), NULL,
     "verify the engine's whole state during the run (slow); does not change results"},
    {"stream", OPTION_FLAG, AT(stream), NULL,
     "discard finished jobs (bounded memory): replays a sorted trace of any length, and reports fewer metrics"},
    QUIET_OPTION(run_args),
    {0}};

static const char details[] = "Times in JSON and CSV files are in seconds. Files are written only if the run\n"
                              "succeeds. Rejected jobs do not change the exit code. Under mpirun, the ranks\n"
                              "share the replications; a single run is made by rank 0 only.\n"
                              "Exit code: 0 success, 1 all jobs were rejected, 2 bad input or usage, 3 a policy\n"
                              "broke its contract, 4 system failure.\n\n"
                              "Examples:\n"
                              "  headroom run scenarios/demo.json\n"
                              "  headroom run scenarios/helios.json --trace helios_trace.csv.gz \\\n"
                              "    --policy queue:order=sjf,backfill=skip --set cluster.pools.0.nodes=56\n"
                              "  headroom run scenarios/swf.json --trace RICC-2010-2.swf.gz --json summary.json\n"
                              "  headroom run scenarios/helios.json --trace jobs.hrt --stream\n";

/* A run with its observers and its files. */
struct run_state {
  const struct run_args *args;
  struct hr_ranks ranks;
  struct input input;
  struct hr_replay replay;
  struct run_files files;
  struct hr_timeline_summary *timeline; /* only for the table and for --md */
  struct hr_perf perf;
};

static bool wants_table(const struct run_args *args) {
  return !args->quiet && !args->no_table && !run_files_to_stdout(&args->files) && !is_stdout(args->requests);
}

/* ---- run: replay ------------------------------------------------------------------------------------ */

static enum hr_status add_timeline(struct run_state *run, struct hr_error *error) {
  run->timeline = hr_timeline_summary_create();
  if (!run->timeline) return no_memory(error);
  return hr_replay_add(&run->replay, hr_timeline_summary_observer(run->timeline), error);
}

static enum hr_status replay(struct run_state *run, struct hr_error *error) {
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
  if (status == HR_OK && (wants_table(args) || args->files.md)) status = add_timeline(run, error);
  if (status == HR_OK) status = hr_replay_run(&run->replay, error);
  progress_bar_stop(&bar);
  if (status == HR_OK && run->timeline) hr_timeline_summary_close(run->timeline, run->replay.result);
  run->perf.sim_s = run->replay.sim_s;
  return status;
}

/* ---- run: output ------------------------------------------------------------------------------------ */

static void print_notes(const struct run_state *run) {
  if (run->args->quiet) return;
  input_print_notes(stderr, &run->input);
  notes_print(stderr, &run->replay.notes);
  run_files_print_notes(stderr, &run->files);
}

static enum hr_status print_results(struct run_state *run, struct hr_error *error) {
  const struct hr_scenario *scenario = run->input.scenario;
  const struct hr_trace *trace = run->input.trace;
  const struct hr_notes *notes[] = {&scenario->notes, &trace->notes, &run->replay.notes};
  struct hr_run_label label = run_label(&run->replay.config, notes, sizeof notes / sizeof *notes);
  label.alerts = run->replay.alerts;
  label.timeline = run->timeline;
  run->perf.load_s = run->input.load_s;
  run->perf.peak_rss_mib = peak_rss_mib();
  enum hr_status status = run_files_write(&run->files, &run->replay, &label, &run->perf, error);
  if (status == HR_OK && run->args->requests)
    status = hr_services_write_requests(run->args->requests, run->replay.served, scenario->services->count, error);
  if (status != HR_OK) return status;
  struct hr_rejections rejections;
  hr_rejections_of(run->replay.result, &rejections);
  input_warn_rejected(&run->input, &scenario->cluster, &rejections);
  print_notes(run);
  print_services(&run->replay, wants_table(run->args));
  if (wants_table(run->args) && trace->n_jobs) {
    status = hr_summary_print(stdout, run->replay.summary, &label, &run->perf, terminal_style());
    if (printed(status, "summary", error) != HR_OK) return status;
    print_next_of_summary(&run->input, run->args, run->replay.summary);
  }
  if (status == HR_OK) status = input_require_accepted(&run->input, &rejections, error);
  return status == HR_OK ? require_served(&run->replay, error) : status;
}

/* ---- run: the verb ---------------------------------------------------------------------------------- */

/* Some files describe a single run in detail. Returns the name, with dashes, of the first option that requests such
   a file; NULL: no such option is set. */
static const char *single_run_option(const struct run_file_args *files) {
  return files->jobs               ? "--jobs"
         : files->timeline         ? "--timeline"
         : files->averages         ? "--averages"
         : files->priorities       ? "--priorities"
         : files->shares           ? "--shares"
         : files->costs            ? "--costs"
         : files->perfetto         ? "--perfetto"
         : files->md               ? "--md"
         : files->openmetrics.file ? "--openmetrics"
         : files->page.report      ? "--report"
                                   : NULL;
}

/* Rejects options for single runs if there are several replications. Replications have no common list of jobs and no
   common timeline. */
static enum hr_status check_replicated(const struct run_state *run, struct hr_error *error) {
  const char *option = single_run_option(&run->args->files);
  if (!option && run->args->requests) option = "--requests";
  if (!option && run->args->check) option = "--check";
  if (!option || !is_replicated(run->input.scenario)) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT,
                 "%s needs a single run, but this scenario has several replications; add --set replications.count=1",
                 hr_serve_phrase(option));
}

/* Rejects options for files about jobs, since a streamed run has no record of finished jobs. Also rejects replications,
   and scenarios that cannot be streamed. */
static enum hr_status check_streamed(const struct run_state *run, struct hr_error *error) {
  const char *option = single_run_option(&run->args->files);
  if (option)
    return hr_fail(error, HR_BAD_INPUT, "--stream discards finished jobs, which %s needs; use one of the two", option);
  if (is_replicated(run->input.scenario))
    return hr_fail(
        error, HR_BAD_INPUT,
        "--stream needs a single run, but this scenario has several replications; add --set replications.count=1");
  return check_stream(run->input.scenario, error);
}

static enum hr_status run_or_replicate(struct run_state *run, struct hr_error *error) {
  const struct run_args *args = run->args;
  if (args->stream) return run_stream(&run->input, args, error);
  if (is_replicated(run->input.scenario)) return run_replications(&run->input, args, &run->ranks, error);
  enum hr_status status = replay(run, error);
  return status == HR_OK ? print_results(run, error) : status;
}

/* After this call a closed pipe does not end the program: the write fails and is reported. */
static void report_closed_pipes(void) {
  const struct sigaction action = {.sa_handler = SIG_IGN};
  sigaction(SIGPIPE, &action, NULL);
}

static enum hr_status run_all(struct run_state *run, const char *path, struct hr_error *error) {
  const struct run_args *args = run->args;
  const struct run_file_args *files = &args->files;
  if (run_files_wanted(files)) report_closed_pipes();
  const struct output outputs[] = {{"requests", args->requests},
                                   {"jobs", files->jobs},
                                   {"timeline", files->timeline},
                                   {"averages", files->averages},
                                   {"costs", files->costs},
                                   {"priorities", files->priorities},
                                   {"shares", files->shares},
                                   {"json", files->json},
                                   {"md", files->md},
                                   {"perfetto", files->perfetto},
                                   {"openmetrics", files->openmetrics.file},
                                   {"report", files->page.report}};
  enum hr_status status = input_open(&run->input, path, &args->input, error);
  if (status == HR_OK && has_services(run->input.scenario) && args->stream)
    status = hr_fail(error, HR_BAD_INPUT, "--stream needs jobs, but %s has services; remove the option", path);
  if (status == HR_OK && !has_services(run->input.scenario) && args->requests)
    status = hr_fail(error, HR_BAD_INPUT, "--requests needs services, but %s has none", path);
  if (status == HR_OK && files->costs && !hr_scenario_has_prices(run->input.scenario))
    status = hr_fail(error, HR_BAD_INPUT, "--costs %s: %s has no prices; set a pool's market, or the scenario's costs",
                     files->costs, path);
  bool leads = run->ranks.rank == 0;
  size_t n_outputs = leads ? sizeof outputs / sizeof *outputs : 0;
  run->input.allows_services = true;
  if (status == HR_OK) status = input_check_outputs(&run->input, path, outputs, n_outputs, error);
  if (status == HR_OK) status = args->stream ? check_streamed(run, error) : check_replicated(run, error);
  /* ranks cannot share a single run; rank 0 makes it */
  if (status == HR_OK && !leads && !is_replicated(run->input.scenario)) return HR_OK;
  run->input.streamed = args->stream;
  run->input.no_stdin = run->ranks.size > 1 && status == HR_OK && is_replicated(run->input.scenario);
  if (status == HR_OK && leads) status = run_files_init(&run->files, files, &run->input, error);
  if (status == HR_OK) status = input_read_trace(&run->input, &args->input, error);
  if (status == HR_OK)
    status = hr_plan_check(run->input.scenario, run->input.overrides.words.at, run->input.overrides.words.count,
                           run->input.trace, error);
  return status == HR_OK ? run_or_replicate(run, error) : status;
}

static enum hr_status run_scenario(struct run_state *run, const char *path, struct hr_error *error) {
  enum hr_status status = run_all(run, path, error);
  run_files_finish(&run->files);
  hr_timeline_summary_destroy(run->timeline);
  hr_replay_finish(&run->replay);
  input_finish(&run->input);
  return status;
}

static enum hr_status run_verb(const void *args, const struct words *operands, struct hr_error *error) {
  struct run_state run = {.args = args};
  const struct command *command = &run.args->files.page.command;
  enum hr_status status = ranks_start(&run.ranks, command->count, command->words, error);
  if (status == HR_OK) status = run_scenario(&run, operands->at[0], error);
  return hr_ranks_leave(&run.ranks, status, error);
}

const struct verb verb_run = {.name = "run",
                              .operands = "SCENARIO",
                              .summary = "replay a trace on a scenario's cluster and print the main metrics",
                              .details = details,
                              .options = options,
                              .args_bytes = sizeof(struct run_args),
                              .command_at = AT(files.page.command),
                              .on_ranks = true,
                              .run = run_verb};

/* ---- report ----------------------------------------------------------------------------------------- */

static const struct option report_options[] = {
    {"output", OPTION_TEXT, AT(files.page.report), "FILE",
     "the HTML file (default: report.html in the current folder; '-': standard output)", .letter = 'o'},
    BASELINE_OPTION(AT(files.page)),
    QUIET_OPTION(run_args),
    INPUT_OPTIONS(run_args),
    {0}};

static const char report_details[] =
    "The report is one HTML file that needs no network. run, compare, plan and sweep\n"
    "also write one with --report FILE.\n"
    "Exit code: 0 success, 1 all jobs were rejected, 2 bad input or usage, 3 a policy\n"
    "broke its contract, 4 system failure.\n\n"
    "Examples:\n"
    "  headroom report scenarios/demo.json\n"
    "  headroom run scenarios/demo.json --policy fifo --json fifo.json\n"
    "  headroom report scenarios/demo.json --policy sjf --baseline fifo.json \\\n"
    "    -o sjf.html\n";

static void set_report_defaults(void *args) {
  struct run_args *run = args;
  run->no_table = true;
  run->files.page.report = "report.html";
}

static void print_written(const char *path) {
  printf("wrote ");
  hr_print_safe(stdout, path, SIZE_MAX);
  printf("; open it in a browser\n");
}

static enum hr_status run_report(const void *args, const struct words *operands, struct hr_error *error) {
  struct run_state run = {.args = args};
  const struct run_file_args *files = &run.args->files;
  enum hr_status status = run_scenario(&run, operands->at[0], error);
  if (status == HR_OK && !run.args->quiet && !run_files_to_stdout(files)) print_written(files->page.report);
  return status;
}

const struct verb verb_report = {.name = "report",
                                 .operands = "SCENARIO",
                                 .summary = "replay a trace like 'run' and write an HTML report",
                                 .details = report_details,
                                 .options = report_options,
                                 .args_bytes = sizeof(struct run_args),
                                 .set_defaults = set_report_defaults,
                                 .command_at = AT(files.page.command),
                                 .run = run_report};
