/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output of a run: the HTML report, OpenMetrics, the files of `headroom run`, and the tables, warnings and checks of
   inference services. */

#include "cli/cli.h"

#include "headroom/power.h"
#include "headroom/unstable/catalog.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/replay.h"
#include "headroom/unstable/scenario_files.h"
#include "headroom/unstable/series.h"
#include "headroom/unstable/trace_tools.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- The first lines of an HTML report ----------------------------------------------------------------- */

/* The first lines of an HTML report show goals, prices and the largest saving, which are not part of a run. The
   functions below find them. */

/* Characters that need no quotes in a shell. */
static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";

/* Copies a word in single quotes, and returns the end of the copy. Within single quotes only the quote itself needs
   escaping: the quoted text is ended, an escaped quote follows, and the quoted text begins again. */
static char *put_quoted(char *at, const char *word) {
  *at++ = '\'';
  for (; *word; word++) {
    if (*word == '\'')
      at = stpcpy(at, "'\\''");
    else
      *at++ = *word;
  }
  *at++ = '\'';
  return at;
}

/* Returns the words as a command line, with quotes around words that need them in a shell. The caller frees it. Returns
   NULL if out of memory. */
static char *shell_command(const char *const *words, size_t count) {
  enum { QUOTED = 4 };
  size_t bytes = 1;
  for (size_t i = 0; i < count; i++) bytes += QUOTED * strlen(words[i]) + 3;
  char *text = malloc(bytes), *at = text;
  if (!text) return NULL;
  for (size_t i = 0; i < count; i++) {
    if (i) *at++ = ' ';
    at = words[i][0] && words[i][strspn(words[i], plain)] == '\0' ? stpcpy(at, words[i]) : put_quoted(at, words[i]);
  }
  *at = '\0';
  return text;
}

/* Returns "headroom VERB SCENARIO ..." with the options of the input and further overrides. The caller frees it.
   Returns NULL if out of memory. */
static char *command_of(const struct input *input, const char *verb, const char *const *more, size_t n_more) {
  const struct words *set = &input->overrides.words;
  const char **words = calloc(9 + 2 * (set->count + n_more), sizeof *words);
  const char *own = input->scenario->trace_file;
  size_t count = 0;
  if (!words) return NULL;
  words[count++] = "headroom";
  words[count++] = verb;
  words[count++] = input->scenario->path;
  if (input->trace_path && (!own || strcmp(own, input->trace_path) != 0)) {
    words[count++] = "--trace";
    words[count++] = input->trace_path;
  }
  if (input->format && strcmp(input->format, "auto") != 0 &&
      strcmp(input->format, input->scenario->trace_format) != 0) {
    words[count++] = "--format";
    words[count++] = input->format;
  }
  for (size_t i = 0; i < set->count + n_more; i++) {
    words[count++] = "--set";
    words[count++] = i < set->count ? set->at[i] : more[i - set->count];
  }
  char *text = shell_command(words, count);
  free(words);
  return text;
}

/* ---- Facts ------------------------------------------------------------------------------------------ */

/* If a trace has more jobs, savings are not searched, because the search runs the scenario about a hundred times. With
   a limit on time instead, the report would depend on the speed of the machine. */
enum { PAGE_MAX_ADVISED_JOBS = 30000 };

/* The facts for the first lines of a report. Must be initialized to zero. `saving` points to other members, and so does
   a struct hr_page after page_facts_show(). */
struct page_facts {
  struct hr_goal_result *results;
  size_t n_results;
  struct hr_page_goal *goals;   /* [n_results] */
  struct hr_page_price *prices; /* [n_prices] */
  size_t n_prices;
  struct hr_advice *advice; /* NULL: not searched */
  char *advise_command, *saving_command;
  struct hr_page_saving saving;
  struct hr_notes notes; /* why goals are not shown */
};

static enum hr_status no_report_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory for the report");
}

/* Evaluates the goals of the scenario's plan. Goals that cannot be parsed are an error only in `headroom plan`. Here,
   the report then shows a note instead of the goals. */
static enum hr_status find_goals(struct page_facts *facts, const struct hr_replay *replay, struct hr_error *error) {
  struct hr_error inner = {0};
  enum hr_status status = hr_goals_of_run(replay->config.scenario, replay->config.trace, replay->summary,
                                          &facts->results, &facts->n_results, &inner);
  if (status == HR_BAD_INPUT)
    return hr_notes_add(&facts->notes, "the goals of the plan are not shown: %s", inner.text) == HR_OK
               ? HR_OK
               : no_report_memory(error);
  if (status != HR_OK) return no_report_memory(error);
  facts->goals = calloc(facts->n_results + 1, sizeof *facts->goals);
  for (size_t i = 0; facts->goals && i < facts->n_results; i++)
    facts->goals[i] = (struct hr_page_goal){facts->results[i].text, facts->results[i].value, facts->results[i].met,
                                            facts->results[i].assumed};
  return facts->goals ? HR_OK : no_report_memory(error);
}

static enum hr_status find_prices(struct page_facts *facts, const struct hr_scenario *scenario,
                                  struct hr_error *error) {
  const struct hr_cluster_spec *cluster = &scenario->cluster;
  facts->prices = calloc((size_t)cluster->n_pools + 1, sizeof *facts->prices);
  if (!facts->prices) return no_report_memory(error);
  for (uint32_t i = 0; scenario->pool_sources && i < cluster->n_pools; i++) {
    const struct hr_pool_source *source = &scenario->pool_sources[i];
    const struct hr_pool_spec *pool = &cluster->pools[i];
    if (!source->status || pool->nodes == 0) continue;
    facts->prices[facts->n_prices++] = (struct hr_page_price){.pool = pool->name,
                                                              .market = hr_market_name(pool->market.market),
                                                              .status = source->status,
                                                              .as_of = source->as_of,
                                                              .source = source->source,
                                                              .uusd_per_gpu_hour = pool->market.price_uusd_h};
  }
  return HR_OK;
}

/* Stores the number of changes that were examined, and the advised change that saves most, which is the first item. */
static enum hr_status take_best(struct page_facts *facts, const struct input *input, struct hr_error *error) {
  struct hr_page_saving *saving = &facts->saving;
  struct hr_advice_item item;
  while (hr_advice_item(facts->advice, saving->n_examined, &item)) saving->n_examined++;
  if (!hr_advice_item(facts->advice, 0, &item) || !item.advised) return HR_OK;
  saving->command = facts->saving_command = command_of(input, "run", item.set, item.n_set);
  if (!saving->command) return no_report_memory(error);
  saving->usd_per_month = -item.monthly_usd.mean;
  saving->pool = item.pool;
  saving->class_ = item.class_;
  saving->from = item.from;
  saving->to = item.to;
  return HR_OK;
}

static enum hr_status find_saving(struct page_facts *facts, const struct input *input, struct hr_error *error) {
  const struct hr_advise_config config = {.scenario = input->scenario,
                                          .overrides = input->overrides.words.at,
                                          .n_overrides = input->overrides.words.count,
                                          .trace = input->trace,
                                          .n_threads = count_threads(0)};
  /* advise needs prices and a single cluster */
  if (!hr_scenario_has_prices(input->scenario) || input->scenario->clusters) return HR_OK;
  facts->saving.advise_command = facts->advise_command = command_of(input, "advise", NULL, 0);
  if (!facts->advise_command) return no_report_memory(error);
  facts->saving.is_searched = input->trace->n_jobs <= PAGE_MAX_ADVISED_JOBS;
  if (!facts->saving.is_searched) return HR_OK;
  enum hr_status status = hr_advise(&config, &facts->advice, error);
  return status == HR_OK ? take_best(facts, input, error) : status;
}

static void page_facts_finish(struct page_facts *facts) {
  hr_goal_results_free(facts->results, facts->n_results);
  free(facts->goals);
  free(facts->prices);
  hr_advice_destroy(facts->advice);
  free(facts->advise_command);
  free(facts->saving_command);
  hr_notes_finish(&facts->notes);
}

/* Collects the facts for the report of a replay. If the replay is that of the scenario of page->input, savings are
   searched. If it is the replay of the choice of a plan (page->set), no savings are searched, and only `saving.command`
   is set, to a command that runs the choice. The caller must call page_facts_finish, even after an error. */
static enum hr_status page_facts_make(struct page_facts *facts, const struct page *page, const struct hr_replay *replay,
                                      struct hr_error *error) {
  const struct input *input = page->input;
  enum hr_status status = find_goals(facts, replay, error);
  if (status == HR_OK) status = find_prices(facts, replay->config.scenario, error);
  const bool is_of_input = input && replay->config.scenario == input->scenario;
  if (status == HR_OK && is_of_input) return find_saving(facts, input, error);
  if (status != HR_OK || !input || !page->set) return status;
  facts->saving.command = facts->saving_command = command_of(input, "run", page->set, page->n_set);
  return facts->saving_command ? HR_OK : no_report_memory(error);
}

/* Adds the facts to a report. */
static void page_facts_show(const struct page_facts *facts, struct hr_page *page) {
  page->goals = facts->goals;
  page->n_goals = facts->goals ? facts->n_results : 0;
  page->prices = facts->prices;
  page->n_prices = facts->n_prices;
  page->saving = &facts->saving;
}

/* ---- Files --------------------------------------------------------------------------------------------- */

enum hr_status page_prepare(struct page *page, const struct page_args *args, struct hr_error *error) {
  page->args = args;
  if (!args->report && args->baseline)
    return hr_fail(error, HR_BAD_INPUT, "--baseline %s: needs --report FILE, which shows the comparison",
                   args->baseline);
  if (!args->report) return HR_OK;
  if (!hr_page_is_built())
    return hr_fail(error, HR_BAD_INPUT,
                   "--report %s: this build has no HTML report; install node and npm, configure and build again",
                   args->report);
  if (!args->baseline) return HR_OK;
  struct hr_error inner = {0};
  enum hr_status status = hr_summary_read_json(args->baseline, &page->baseline, &inner);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "--baseline %s", inner.text);
}

/* Adds the observers of the report to a replay. The ledger of the replay must record the cost of each job. `history` is
   an observer that the replay already has; if it is NULL, the report creates one. */
static enum hr_status page_follow(struct page *page, struct hr_replay *replay, const struct hr_history *history,
                                  struct hr_error *error) {
  const struct hr_trace *trace = replay->config.trace;
  enum hr_status status = HR_OK;
  page->history = history;
  if (!history) page->history = page->own_history = hr_history_create(trace);
  page->watch = hr_page_watch_create(trace, &replay->config.scenario->cluster, replay->usage);
  const struct hr_waits_config waits = {.trace = trace};
  page->waits = hr_waits_create(&waits);
  if (!page->history || !page->watch || !page->waits) return no_memory(error);
  if (page->own_history) status = hr_replay_add(replay, hr_history_observer(page->own_history), error);
  if (status == HR_OK) status = hr_replay_add(replay, hr_waits_observer(page->waits), error);
  return status == HR_OK ? hr_replay_add(replay, hr_page_watch_observer(page->watch), error) : status;
}

/* Adds a note on the source of a pool's price. */
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

struct hr_run_label run_label(const struct hr_replay_config *config, const struct hr_notes *const *notes,
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
                               .clock_us = hr_trace_clock_us(config->trace)};
}

/* Returns the attribution of waiting time as JSON. The caller frees it. Returns NULL if out of memory. */
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
  const struct hr_why_question of_all = {.job = {HR_NONE}, .max_tenants = HR_PAGE_MAX_TENANTS};
  return hr_waits_close(page->waits, replay->result) == HR_OK ? hr_why_json(&why, &of_all) : NULL;
}

/* Returns statistics of the trace as JSON. The caller frees it. Returns NULL if out of memory. */
static char *workload_text(const struct hr_trace *trace) {
  struct hr_trace_stats *stats;
  if (hr_trace_stats_make(trace, &stats, NULL) != HR_OK) return NULL;
  char *text = hr_trace_stats_json(stats, HR_PAGE_MAX_TENANTS);
  hr_trace_stats_destroy(stats);
  return text;
}

static enum hr_status write_replay(struct page *page, const struct hr_page *subject, const struct page_facts *facts,
                                   const struct hr_replay *replay, const struct hr_perf *perf, struct hr_error *error) {
  const struct hr_scenario *scenario = replay->config.scenario;
  const struct hr_notes *notes[] = {&scenario->notes, &replay->config.trace->notes, &replay->notes, &facts->notes,
                                    subject->n_notes ? subject->notes[0] : NULL};
  struct hr_run_label label = run_label(&replay->config, notes, 3);
  label.alerts = replay->alerts;
  const struct hr_page_run run = {.trace = replay->config.trace,
                                  .cluster = &scenario->cluster,
                                  .result = replay->result,
                                  .history = page->history,
                                  .watch = page->watch,
                                  .ledger = replay->ledger,
                                  .summary = replay->summary,
                                  .label = &label,
                                  .perf = perf};
  struct hr_notes assumptions = {0};
  enum hr_status status = page->own_history ? hr_history_close(page->own_history, replay->result) : HR_OK;
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
    document.description = scenario->description;
    page_facts_show(facts, &document);
    document.notes = notes;
    document.n_notes = 4 + subject->n_notes;
    document.assumptions = &assumptions;
    status = hr_page_write(page->args->report, &document, error);
  } else {
    hr_fail(error, status, "out of memory for the report");
  }
  free(why);
  free(workload);
  hr_notes_finish(&assumptions);
  return status;
}

static enum hr_status write_with_facts(struct page *page, const struct hr_page *subject, const struct hr_replay *replay,
                                       const struct hr_perf *perf, struct hr_error *error) {
  struct page_facts facts = {0};
  enum hr_status status = page_facts_make(&facts, page, replay, error);
  if (status == HR_OK) status = write_replay(page, subject, &facts, replay, perf, error);
  page_facts_finish(&facts);
  return status;
}

/* Returns the command as it was typed, with "headroom" as its first word. The caller frees it. Returns NULL if out of
   memory. */
static char *command_text(const struct command *command) {
  size_t count = (size_t)command->count;
  const char **words = calloc(count + 1, sizeof *words);
  if (!words) return NULL;
  words[0] = "headroom";
  for (size_t i = 1; i < count; i++) words[i] = command->words[i];
  char *text = shell_command(words, count ? count : 1);
  free(words);
  return text;
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
                             .tco = subject->tco,
                             .baseline = page->baseline,
                             .baseline_name = page->args->baseline,
                             .notes = subject->notes ? notes : NULL,
                             .n_notes = subject->notes ? 1 : 0};
  enum hr_status status;
  if (!command)
    status = no_report_memory(error);
  else if (replay)
    status = write_with_facts(page, &document, replay, perf, error);
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
  hr_history_destroy(page->own_history);
  hr_waits_destroy(page->waits);
  free(page->baseline);
}

/* Parses a time such as "30s", "5min", "5m", "2h" or "1d". Returns HR_BAD_INPUT for any other text. */
static enum hr_status read_step(const char *text, int64_t *step_us, struct hr_error *error) {
  static const struct {
    const char *unit;
    double seconds;
  } units[] = {{"s", 1}, {"min", 60}, {"m", 60}, {"h", 3600}, {"d", 86400}};
  char *unit;
  double count = strtod(text, &unit), seconds = 0;
  for (size_t i = 0; i < sizeof units / sizeof *units && unit > text; i++)
    if (strcmp(unit, units[i].unit) == 0) seconds = count * units[i].seconds;
  if (!(seconds >= 0.001 && seconds <= 1e9))
    return hr_fail(error, HR_BAD_INPUT,
                   "--openmetrics-step %.60s: expected a time of at least a millisecond, such as 30s, 5min, 2h or 1d",
                   text);
  *step_us = llround(seconds * 1000) * 1000;
  return HR_OK;
}

static enum hr_status read_place(const char *text, enum hr_metrics_place *place, struct hr_error *error) {
  static const char *const known[] = {
      [HR_METRICS_BY_NODE] = "node", [HR_METRICS_BY_GPU] = "gpu", [HR_METRICS_BY_POOL] = "pool", NULL};
  unsigned choice;
  enum hr_status status = find_word("--openmetrics-by", text, known, &choice, error);
  if (status == HR_OK) *place = (enum hr_metrics_place)choice;
  return status;
}

/* Reads the power of the GPUs of each pool: from the pool itself or, if it does not state it, from the catalogue. A GPU
   type that is not in the catalogue has no power metric. */
static enum hr_status read_watts(struct metrics *metrics, const struct input *input, struct hr_error *error) {
  const struct hr_cluster_spec *cluster = &input->scenario->cluster;
  const struct words *overrides = &input->overrides.words;
  struct hr_catalog *catalog = NULL;
  enum hr_status status = hr_scenario_catalog(input->scenario->path, overrides->at, overrides->count, &catalog, error);
  if (status != HR_OK) return status;
  metrics->watts = calloc((size_t)cluster->n_pools + 1, sizeof *metrics->watts);
  for (uint32_t i = 0; metrics->watts && i < cluster->n_pools; i++) {
    const struct hr_gpu_type *gpu = NULL;
    bool known = cluster->pools[i].gpu && hr_catalog_gpu(catalog, cluster->pools[i].gpu, &gpu, NULL) == HR_OK;
    metrics->watts[i] = known ? (struct hr_gpu_watts){gpu->idle_w, gpu->tdp_w} : (struct hr_gpu_watts){-1, -1};
    const struct hr_power_spec *power = cluster->pools[i].power;
    if (power) metrics->watts[i] = (struct hr_gpu_watts){power->gpu_idle_w, hr_power_gpu_watts(power)};
  }
  hr_catalog_destroy(catalog);
  if (!metrics->watts) return no_memory(error);
  metrics->config.watts = metrics->watts;
  return HR_OK;
}

/* Parses the options, and reads the power of the scenario's GPUs from its catalogue. Does nothing if no file is set.
   The caller must finish `metrics`, even after an error. */
static enum hr_status metrics_init(struct metrics *metrics, const struct metrics_args *args, const struct input *input,
                                   struct hr_error *error) {
  enum hr_status status = HR_OK;
  if (!args->file && (args->step || args->by))
    return hr_fail(error, HR_BAD_INPUT, "--openmetrics-%s needs --openmetrics FILE", args->step ? "step" : "by");
  if (!args->file) return HR_OK;
  if (args->step) status = read_step(args->step, &metrics->config.step_us, error);
  if (status == HR_OK && args->by) status = read_place(args->by, &metrics->config.place, error);
  return status == HR_OK ? read_watts(metrics, input, error) : status;
}

static void metrics_finish(struct metrics *metrics) {
  free(metrics->watts);
  metrics->watts = NULL;
}

static void print_step(FILE *out, int64_t step_us) {
  double seconds = (double)step_us / 1e6;
  if (seconds >= 86400)
    fprintf(out, "%.10g d", seconds / 86400);
  else if (seconds >= 3600)
    fprintf(out, "%.10g h", seconds / 3600);
  else
    fprintf(out, "%.10g min", seconds / 60);
}

/* If the time between samples was chosen automatically, prints it and the number of samples. */
static void metrics_print_note(FILE *out, const struct metrics *metrics, const struct metrics_args *args) {
  if (!args->file || args->step) return;
  fprintf(out, "note: --openmetrics: one sample every ");
  print_step(out, metrics->size.step_us);
  fprintf(out, ", %" PRIu64 " points in time, %" PRIu64 " samples; --openmetrics-step sets the interval\n",
          metrics->size.steps, metrics->size.samples);
}

/* ---- Observers -------------------------------------------------------------------------------------- */

static enum hr_status follow_placements(struct run_files *files, struct hr_replay *replay, struct hr_error *error) {
  files->placements = hr_placements_create(replay->config.trace);
  if (!files->placements) return no_memory(error);
  return hr_replay_add(replay, hr_placements_observer(files->placements), error);
}

static enum hr_status follow_timeline(struct run_files *files, struct hr_replay *replay, struct hr_error *error) {
  const struct hr_cluster_spec *cluster = &replay->config.scenario->cluster;
  struct hr_timeline_columns columns = {.power = hr_cluster_spec_metered(cluster)};
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    if (!hr_pool_emits(&cluster->pools[i])) continue;
    columns.carbon = true;
    columns.battery = columns.battery || cluster->pools[i].power->battery.capacity_kwh > 0;
  }
  enum hr_status status = hr_timeline_create_with(files->args->timeline, replay->config.trace, replay->usage, &columns,
                                                  &files->timeline, error);
  return status == HR_OK ? hr_replay_add(replay, hr_timeline_observer(files->timeline), error) : status;
}

static enum hr_status follow_averages(struct run_files *files, struct hr_replay *replay, struct hr_error *error) {
  enum { STANDARD = 240 };
  const uint64_t count = files->args->intervals ? files->args->intervals : STANDARD;
  enum hr_status status =
      hr_averages_create(files->args->averages, replay->config.trace, (uint32_t)count, &files->averages, error);
  return status == HR_OK ? hr_replay_add(replay, hr_averages_observer(files->averages), error) : status;
}

static void pass_row(void *self, const char *table, const char *const *cells, uint32_t count) {
  const struct run_files *files = self;
  hr_value_file_row(files->priorities, table, cells, count);
  hr_value_file_row(files->shares, table, cells, count);
}

static enum hr_status follow_values(struct run_files *files, struct hr_replay *replay, struct hr_error *error) {
  const struct run_file_args *args = files->args;
  enum hr_status status = HR_OK;
  files->values = (struct hr_values){.self = files, .row = pass_row};
  replay->values = &files->values;
  if (args->priorities) status = hr_value_file_create(args->priorities, "priorities", &files->priorities, error);
  if (status == HR_OK && args->shares) status = hr_value_file_create(args->shares, "shares", &files->shares, error);
  return status;
}

static enum hr_status follow_all(struct run_files *files, struct hr_replay *replay, struct hr_error *error) {
  files->history = hr_history_create(replay->config.trace);
  files->counts = hr_counts_create();
  if (!files->history || !files->counts) return no_memory(error);
  enum hr_status status = hr_replay_add(replay, hr_history_observer(files->history), error);
  return status == HR_OK ? hr_replay_add(replay, hr_counts_observer(files->counts), error) : status;
}

enum hr_status run_files_init(struct run_files *files, const struct run_file_args *args, const struct input *input,
                              struct hr_error *error) {
  files->args = args;
  enum hr_status status = metrics_init(&files->metrics, &args->openmetrics, input, error);
  files->page.input = input;
  return status == HR_OK ? page_prepare(&files->page, &args->page, error) : status;
}

enum hr_status run_files_follow(struct run_files *files, struct hr_replay *replay, struct hr_error *error) {
  const struct run_file_args *args = files->args;
  enum hr_status status = HR_OK;
  if (args->jobs) status = follow_placements(files, replay, error);
  if (status == HR_OK && args->timeline) status = follow_timeline(files, replay, error);
  if (status == HR_OK && args->averages) status = follow_averages(files, replay, error);
  if (status == HR_OK && (args->priorities || args->shares)) status = follow_values(files, replay, error);
  if (status == HR_OK && (args->perfetto || args->openmetrics.file)) status = follow_all(files, replay, error);
  if (status == HR_OK && args->page.report) status = page_follow(&files->page, replay, files->history, error);
  return status;
}

/* ---- Writing ---------------------------------------------------------------------------------------- */

static enum hr_status write_exports(struct run_files *files, const struct hr_replay *replay,
                                    const struct hr_run_label *label, struct hr_error *error) {
  const struct run_file_args *args = files->args;
  const struct hr_export run = {.trace = replay->config.trace,
                                .cluster = &replay->config.scenario->cluster,
                                .result = replay->result,
                                .history = files->history,
                                .counts = files->counts,
                                .ledger = replay->ledger,
                                .label = label,
                                .summary = replay->summary};
  enum hr_status status = hr_history_close(files->history, replay->result);
  if (status != HR_OK) return hr_fail(error, status, "out of memory for the history of the run");
  if (args->perfetto) status = hr_perfetto_write(args->perfetto, &run, error);
  if (status == HR_OK && args->openmetrics.file)
    status = hr_openmetrics_write(args->openmetrics.file, &run, &files->metrics.config, &files->metrics.size, error);
  return status;
}

enum hr_status run_files_write(struct run_files *files, const struct hr_replay *replay,
                               const struct hr_run_label *label, const struct hr_perf *perf, struct hr_error *error) {
  const struct run_file_args *args = files->args;
  const struct hr_summary *summary = replay->summary;
  enum hr_status status = HR_OK;
  if (args->jobs)
    status = hr_jobs_write(args->jobs, replay->config.trace, &replay->config.scenario->cluster, replay->result,
                           files->placements, replay->ledger, error);
  if (status == HR_OK && args->timeline) status = hr_timeline_finish(files->timeline, error);
  if (status == HR_OK && args->averages) status = hr_averages_finish(files->averages, error);
  if (status == HR_OK && files->priorities) status = hr_value_file_finish(files->priorities, error);
  if (status == HR_OK && files->shares) status = hr_value_file_finish(files->shares, error);
  if (status == HR_OK && args->costs) status = hr_costs_write(args->costs, summary->costs, error);
  if (status == HR_OK && files->history) status = write_exports(files, replay, label, error);
  if (status == HR_OK && args->json) status = hr_summary_write_json(args->json, summary, label, perf, error);
  if (status == HR_OK && args->md) status = hr_summary_write_markdown(args->md, summary, label, error);
  const struct page_subject subject = {.kind = "run"};
  if (status == HR_OK && args->page.report) status = page_write(&files->page, &subject, replay, perf, error);
  /* publish the files before the table is printed, because printing fails if standard output is closed */
  return status == HR_OK ? hr_outputs_publish(error) : status;
}

void run_files_print_notes(FILE *out, const struct run_files *files) {
  metrics_print_note(out, &files->metrics, &files->args->openmetrics);
}

void run_files_finish(struct run_files *files) {
  metrics_finish(&files->metrics);
  page_finish(&files->page);
  hr_timeline_destroy(files->timeline);
  hr_averages_destroy(files->averages);
  hr_value_file_destroy(files->priorities);
  hr_value_file_destroy(files->shares);
  hr_placements_destroy(files->placements);
  hr_history_destroy(files->history);
  hr_counts_destroy(files->counts);
}

/* ---- Inference services ----------------------------------------------------------------------------- */

bool has_services(const struct hr_scenario *scenario) {
  return scenario->services && scenario->services->count > 0;
}

/* Returns the number of requests that no replica can serve. */
static uint32_t count_too_large(const struct hr_served *served) {
  const struct hr_service_requests *requests = served->requests;
  uint32_t count = 0;
  for (uint32_t i = 0; i < requests->count; i++)
    count += served->result->state[i] == HR_REQUEST_REFUSED &&
             hr_service_refusal(served->service, requests->prompt_tokens[i], requests->output_tokens[i]) != NULL;
  return count;
}

/* Returns true if a replica was ready at some time. If the replicas of a service are not jobs, all of them are ready
   from the beginning. */
static bool was_ready(const struct hr_service_result *result) {
  for (uint32_t i = 0; i < result->n_levels; i++)
    if (result->levels[i].ready) return true;
  return result->n_levels == 0;
}

static const char *why_unfinished(const struct hr_served *served) {
  const enum hr_service_engine engine = served->service->engine;
  if (engine == HR_SERVICE_ORCA_SPLITWISE)
    return "with orca-splitwise, sequences that have their prompt can wait for each other's memory for ever; raise "
           "'kv_tokens', or use another engine";
  if (!was_ready(served->result))
    return "no replica was ready for them; the file of --jobs has the states of the replicas, and 'headroom why "
           "SCENARIO --job replica-N' explains how the N-th of them waited";
  return engine == HR_SERVICE_DISAGGREGATED ? "the run ended before; each needs a replica "
                                              "for its prompt and one that decodes"
                                            : "the run ended before";
}

/* Returns the reason why no request arrived at a service, as the end of a warning. */
static const char *why_none(const struct hr_served *served) {
  if (served->result->count > served->requests->count)
    return "': no request arrived before the end of the run; raise 'horizon_s'\n";
  return served->service->only_gets ? "': no request came from other services\n"
                                    : "': no request arrived; raise 'rate_per_s' or 'duration_s'\n";
}

static void begin_warning(const char *service) {
  fputs("warning: service '", stderr);
  hr_print_safe(stderr, service, 60);
}

static void warn(const struct hr_service_summary *summary, const struct hr_served *served) {
  if (!summary->offered) {
    begin_warning(summary->name);
    fputs(why_none(served), stderr);
  }
  const uint64_t too_large = 100 * summary->refused > summary->offered ? count_too_large(served) : 0;
  if (100 * too_large > summary->offered) {
    begin_warning(summary->name);
    fprintf(stderr,
            "': %.1f %% of the requests were refused, because they need more memory or a larger batch than a replica "
            "has; raise 'kv_blocks' or 'max_batch_tokens'\n",
            100 * (double)too_large / (double)summary->offered);
  }
  if (summary->unfinished) {
    begin_warning(summary->name);
    fprintf(stderr, "': %llu request%s did not complete: %s\n", (unsigned long long)summary->unfinished,
            summary->unfinished == 1 ? "" : "s", why_unfinished(served));
  }
}

void print_services(const struct hr_replay *replay, bool wants_table) {
  const struct hr_summary *summary = replay->summary;
  for (size_t i = 0; i < summary->n_services; i++) {
    warn(&summary->services[i], &replay->served[i]);
    if (wants_table) hr_service_print(stdout, &replay->served[i], &summary->services[i]);
  }
}

enum hr_status require_served(const struct hr_replay *replay, struct hr_error *error) {
  const struct hr_service_summary *all = replay->summary->all_services;
  return !all || all->completed ? HR_OK : hr_fail(error, HR_CHECK_FAILED, "no request of a service was completed");
}

/* ---- Inference services: validation ----------------------------------------------------------------- */

static void print_requests(const struct hr_service *service, const struct hr_service_requests *requests) {
  uint32_t refused = 0;
  const char *reason = NULL;
  for (uint32_t i = 0; i < requests->count; i++) {
    const char *why = hr_service_refusal(service, requests->prompt_tokens[i], requests->output_tokens[i]);
    refused += why != NULL;
    if (!reason) reason = why;
  }
  fputs("service   ", stdout);
  hr_print_safe(stdout, service->name, 60);
  printf(": %u requests, %u replica%s, engine %s\n", (unsigned)requests->count, (unsigned)service->replicas,
         service->replicas == 1 ? "" : "s", hr_service_engine_name(service->engine));
  if (refused) printf("          %u will be refused: %s\n", (unsigned)refused, reason);
}

/* Warns of replicas that fit in no pool with nodes. A run starts nevertheless, because the numbers of nodes may be
   variables of a sweep. */
static enum hr_status warn_never(const struct hr_scenario *scenario, const struct hr_service *service,
                                 struct hr_error *error) {
  enum hr_reason reason;
  const enum hr_status status = hr_replica_refusal(scenario, service, &reason, error);
  if (status != HR_OK || reason == HR_REASON_NONE) return status;
  begin_warning(service->name);
  fprintf(stderr, "': its replicas can never run and will be rejected (%s: %s)\n", hr_reason_name(reason),
          hr_rejection_words(reason));
  return HR_OK;
}

enum hr_status validate_services(const struct hr_scenario *scenario, struct hr_error *error) {
  struct hr_notes notes = {0};
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < scenario->services->count && status == HR_OK; i++) {
    const struct hr_service *service = &scenario->services->at[i];
    struct hr_service_requests requests;
    status = hr_requests_of_service(service, i, scenario->seed, &requests, error);
    if (status == HR_OK) print_requests(service, &requests);
    if (status == HR_OK && hr_service_goal_notes(service, &requests, &notes) != HR_OK) status = no_memory(error);
    hr_requests_finish(&requests);
    if (status == HR_OK) status = warn_never(scenario, service, error);
  }
  if (status == HR_OK) notes_print(stderr, &notes);
  hr_notes_finish(&notes);
  return status;
}
