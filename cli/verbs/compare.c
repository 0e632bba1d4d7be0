/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom compare`: runs several policies on the same trace. The scenario is loaded once per policy, with the
   override that `run --policy` would add. Both verbs therefore interpret a policy in the same way. */

#include "headroom/unstable/compare.h"
#include "cli/cli.h"
#include "headroom/unstable/catalog.h"
#include "headroom/unstable/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

struct compare_args {
  struct input_args input;
  const char *policies, *json, *csv, *markdown, *jobs;
  struct page_args page;
  uint64_t replications, threads; /* 0: not set */
  bool quiet;
};

#define AT(field) offsetof(struct compare_args, field)
static const struct option options[] = {
    {"policies", OPTION_TEXT, AT(policies), "A,B,...",
     "the policies, each written as for --policy; label=TEXT among the parameters names one in the output; the "
     "others are compared with the first"},
    {"replications", OPTION_WHOLE, AT(replications), "N",
     "runs of each policy, each with its own random events and workload (default: the scenario's number, else "
     "10; 1 if nothing is random, and more are then refused)",
     1, HR_MAX_REPLICATIONS},
    RANK_THREADS_OPTION(compare_args),
    {"json", OPTION_TEXT, AT(json), "FILE",
     "write everything as JSON, including each policy's summary ('-': standard output, without the table)"},
    {"csv", OPTION_TEXT, AT(csv), "FILE",
     "write a CSV row for each policy and metric, of all jobs and by tenant and class ('-': standard output)"},
    {"md", OPTION_TEXT, AT(markdown), "FILE", "write the tables as Markdown ('-': standard output)"},
    {"jobs", OPTION_TEXT, AT(jobs), "DIR",
     "write the jobs of each policy in replication 0 to DIR/LABEL.csv, as run --jobs does"},
    REPORT_OPTION(AT(page)),
    QUIET_OPTION(compare_args),
    INPUT_OPTIONS(compare_args),
    {0}};

static const char details[] = "A listed policy that is also the scenario's policy starts from the scenario's\n"
                              "parameters. Commas separate policies and parameters: KEY=VALUE belongs to\n"
                              "the policy before it.\n"
                              "Replication 0 uses the scenario's seed. In each replication all policies see the\n"
                              "same random events and, with 'replications.workload', the same redrawn workload.\n"
                              "Files are written only if all runs succeed. Under mpirun, the ranks share the\n"
                              "runs; with --jobs, rank 0 makes those of replication 0.\n"
                              "Exit code: 0 success, 1 all jobs were rejected, 2 bad input or usage, 3 a policy\n"
                              "broke its contract, 4 system failure.\n\n"
                              "Examples:\n"
                              "  headroom compare scenarios/demo.json --policies fifo,sjf,conservative\n"
                              "  headroom compare scenarios/demo.json \\\n"
                              "    --policies queue:order=sjf,backfill=easy,queue:order=fifo --md table.md\n"
                              "  headroom compare scenarios/demo.json --policies fifo,sjf --replications 5 \\\n"
                              "    --set 'replications.workload={\"resample\":\"days\"}'\n"
                              "  headroom compare scenarios/demo.json --jobs jobs \\\n"
                              "    --policies easy:label=base,easy:order=sjf,label=short-first\n"
                              "  headroom compare scenarios/reserved-spot-mix.json --replications 30 \\\n"
                              "    --policies queue:market=spot-first,queue:market=on-demand-only --csv -\n";

/* A policy of the list. */
struct item {
  char *text;  /* the policy as written, without its label */
  char *label; /* chosen by the user, or a copy of `text` */
  char *name;
  char *jobs;                   /* path of its file of jobs; NULL: none */
  bool labelled;                /* the user chose the label */
  struct hr_scenario *scenario; /* loaded with this policy */
};

struct compare {
  const struct compare_args *args;
  struct hr_ranks ranks;
  struct input input;
  struct item *items;
  uint32_t n_items;
  struct hr_contender *contenders;
  const char **jobs; /* [n_items]: paths of the files of jobs; NULL: none */
  struct hr_comparison *comparison;
  struct page page;
  struct hr_perf perf;
};

/* ---- The list of policies --------------------------------------------------------------------------- */

/* Returns true if the text between two commas is a parameter of the preceding policy. */
static bool is_param(const char *piece, size_t length) {
  const char *equals = memchr(piece, '=', length), *colon = memchr(piece, ':', length);
  return equals && !(colon && colon < equals);
}

/* Returns the length of the policy at the start of `text`, including its parameters. */
static size_t item_length(const char *text) {
  size_t length = strcspn(text, ",");
  while (text[length] == ',') {
    size_t more = strcspn(text + length + 1, ",");
    if (!is_param(text + length + 1, more)) break;
    length += 1 + more;
  }
  return length;
}

static enum hr_status check_item(const struct compare *compare, const char *text, size_t length,
                                 struct hr_error *error) {
  const char *list = compare->args->policies;
  if (length == 0) return hr_fail(error, HR_BAD_INPUT, "--policies %.200s: empty policy name", list);
  if (is_param(text, strcspn(text, ",")))
    return hr_fail(error, HR_BAD_INPUT, "--policies %.200s: '%.*s' has no policy before it; expected NAME:KEY=VALUE",
                   list, length > 60 ? 60 : (int)length, text);
  return HR_OK;
}

/* Moves the parameter label=TEXT of an item from its text to its label. Returns HR_BAD_INPUT if there are several
   labels, or if the label is empty. Returns HR_NO_MEMORY if out of memory. */
static enum hr_status take_label(struct item *item, const char *list, struct hr_error *error) {
  static const char key[] = "label=";
  char *at = strchr(item->text, ':');
  while (at && *at) {
    char *piece = at + 1;
    size_t length = strcspn(piece, ",");
    if (strncmp(piece, key, sizeof key - 1) != 0) {
      at = piece + length;
      continue;
    }
    if (item->labelled || length == sizeof key - 1)
      return hr_fail(error, HR_BAD_INPUT, "--policies %.200s: %s", list,
                     item->labelled ? "a policy has two labels; keep one" : "empty label; expected label=TEXT");
    free(item->label);
    item->label = strndup(piece + sizeof key - 1, length - (sizeof key - 1));
    item->labelled = true;
    if (!item->label) return no_memory(error);
    /* The separator before the label is removed, too, unless it is the colon before other parameters. */
    char *rest = piece + length, *to = *at == ':' && *rest == ',' ? piece : at;
    rest += *at == ':' && *rest == ',';
    memmove(to, rest, strlen(rest) + 1);
    at = to == piece ? at : to;
  }
  return HR_OK;
}

static enum hr_status check_label(const struct compare *compare, const struct item *item, struct hr_error *error) {
  for (const struct item *other = compare->items; other < item; other++)
    if (strcmp(other->label, item->label) == 0)
      return hr_fail(error, HR_BAD_INPUT, "--policies %.200s: %.60s is listed twice", compare->args->policies,
                     item->label);
  return HR_OK;
}

static enum hr_status add_item(struct compare *compare, const char *text, size_t length, struct hr_error *error) {
  struct item *item = &compare->items[compare->n_items++];
  *item = (struct item){.text = strndup(text, length), .name = strndup(text, strcspn(text, ":,"))};
  enum hr_status status = item->text && item->name ? HR_OK : no_memory(error);
  if (status == HR_OK) status = take_label(item, compare->args->policies, error);
  if (status == HR_OK && !item->labelled) item->label = strdup(item->text);
  if (status == HR_OK && !item->label) return no_memory(error);
  return status == HR_OK ? check_label(compare, item, error) : status;
}

static enum hr_status split_policies(struct compare *compare, struct hr_error *error) {
  const char *text = compare->args->policies;
  if (!text)
    return hr_fail(error, HR_BAD_INPUT, "compare: --policies A,B,... is missing\nTry 'headroom help compare'.");
  compare->items = calloc(count_parts(text), sizeof *compare->items);
  if (!compare->items) return no_memory(error);
  for (;;) {
    size_t length = item_length(text);
    enum hr_status status = check_item(compare, text, length, error);
    if (status == HR_OK) status = add_item(compare, text, length, error);
    if (status != HR_OK || text[length] == '\0') return status;
    text += length + 1;
  }
}

/* Loads the scenario with the overrides of the command line, then those of the policy. */
static enum hr_status load_item(const struct compare *compare, const struct hr_catalog *catalog, struct item *item,
                                struct hr_error *error) {
  struct overrides overrides = {0};
  const struct words *common = &compare->input.overrides.words;
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < common->count && status == HR_OK; i++)
    status = words_add(&overrides.words, common->at[i], error);
  if (status == HR_OK) status = overrides_add_policy(&overrides, "policies", item->text, error);
  if (status == HR_OK) {
    struct hr_error inner = {0};
    status = hr_scenario_load_with(catalog, compare->input.scenario->path, overrides.words.at, overrides.words.count,
                                   &item->scenario, &inner);
    if (status != HR_OK) hr_fail(error, status, "--policies %.200s: %s", item->text, inner.text);
  }
  overrides_finish(&overrides);
  return status;
}

static enum hr_status load_items(struct compare *compare, struct hr_error *error) {
  enum hr_status status = HR_OK;
  compare->contenders = calloc(compare->n_items, sizeof *compare->contenders);
  if (!compare->contenders) return no_memory(error);
  struct hr_catalog *catalog = NULL;
  (void)hr_catalog_load(NULL, &catalog, NULL); /* on failure, each scenario reads it and reports the error */
  for (uint32_t i = 0; i < compare->n_items && status == HR_OK; i++) {
    struct item *item = &compare->items[i];
    status = load_item(compare, catalog, item, error);
    if (status == HR_OK)
      compare->contenders[i] = (struct hr_contender){item->name, item->label, &item->scenario->policy, item->labelled};
  }
  hr_catalog_destroy(catalog);
  return status;
}

/* ---- Files of jobs ---------------------------------------------------------------------------------- */

/* Returns the path of a file in `folder` with a name made from a label. Folders in the name of a policy are omitted.
   Characters other than letters, digits and "._=-+" are replaced by '_'. A `number` above 1 is appended. The caller
   frees the path. Returns NULL if out of memory. */
static char *file_of(const char *folder, const char *label, unsigned number) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._=-+";
  const char *name = label, *end = label + strcspn(label, ":");
  for (const char *at = label; at < end; at++)
    if (*at == '/') name = at + 1;
  size_t bytes = strlen(folder) + strlen(name) + sizeof "/-4294967295.csv";
  char *path = malloc(bytes), *at = path ? stpcpy(stpcpy(path, folder), "/") : NULL;
  if (!path) return NULL;
  for (const char *from = name; *from; from++, at++) *at = strchr(plain, *from) ? *from : '_';
  if (number > 1) at += snprintf(at, sizeof "-4294967295", "-%u", number);
  strcpy(at, ".csv");
  return path;
}

static bool is_used(const struct compare *compare, const char *path, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (strcasecmp(compare->items[i].jobs, path) == 0) return true;
  return false;
}

/* Creates the folder unless it exists, and makes a distinct path for the jobs of each policy. */
static enum hr_status prepare_jobs(struct compare *compare, struct hr_error *error) {
  const char *folder = compare->args->jobs;
  if (!folder) return HR_OK;
  if (mkdir(folder, 0777) != 0 && errno != EEXIST)
    return hr_fail(error, HR_BAD_INPUT, "--jobs %.200s: cannot create the folder: %s", folder, strerror(errno));
  compare->jobs = calloc(compare->n_items, sizeof(*compare->jobs));
  if (!compare->jobs) return no_memory(error);
  for (uint32_t i = 0; i < compare->n_items; i++) {
    struct item *item = &compare->items[i];
    item->jobs = file_of(folder, item->label, 1);
    for (unsigned number = 2; item->jobs && is_used(compare, item->jobs, i); number++) {
      free(item->jobs);
      item->jobs = file_of(folder, item->label, number);
    }
    if (!item->jobs) return no_memory(error);
    compare->jobs[i] = item->jobs;
  }
  return HR_OK;
}

/* ---- Running ---------------------------------------------------------------------------------------- */

static enum hr_status replay(struct compare *compare, struct hr_error *error) {
  struct progress_bar bar;
  bool leads = compare->ranks.rank == 0;
  const struct hr_compare_config config = {.scenario = compare->input.scenario,
                                           .overrides = compare->input.overrides.words.at,
                                           .n_overrides = compare->input.overrides.words.count,
                                           .trace = compare->input.trace,
                                           .contenders = compare->contenders,
                                           .n_contenders = compare->n_items,
                                           .n_replications = (uint32_t)compare->args->replications,
                                           .jobs = compare->jobs,
                                           .n_threads = count_rank_threads(compare->args->threads),
                                           .ranks = &compare->ranks,
                                           .progress = progress_bar_start(&bar, leads && !compare->args->quiet)};
  progress_bar_count(&bar, compare->input.trace->n_jobs, false);
  double begin_s = clock_s();
  enum hr_status status = hr_compare(&config, &compare->comparison, error);
  compare->perf = input_perf(&compare->input, begin_s);
  progress_bar_stop(&bar);
  return status;
}

/* ---- Output ----------------------------------------------------------------------------------------- */

/* Writes the report. It shows the run of the first policy in detail. The run is repeated with observers for this. */
static enum hr_status write_page(struct compare *compare, struct hr_error *error) {
  const struct hr_scenario *scenario = compare->items[0].scenario;
  const struct hr_replay_config config = {
      .scenario = scenario, .trace = hr_comparison_trace(compare->comparison), .seed = scenario->seed};
  char *text = hr_comparison_json(compare->comparison, &compare->perf);
  if (!text) return hr_fail(error, HR_NO_MEMORY, "out of memory for the HTML report");
  const struct page_subject subject = {
      .kind = "compare", .compare = text, .notes = hr_comparison_notes(compare->comparison)};
  enum hr_status status = page_run_and_write(&compare->page, &subject, &config, error);
  free(text);
  return status;
}

static enum hr_status write_files(struct compare *compare, struct hr_error *error) {
  const struct compare_args *args = compare->args;
  enum hr_status status = HR_OK;
  if (args->csv) status = hr_comparison_write_csv(args->csv, compare->comparison, error);
  if (status == HR_OK && args->markdown)
    status = hr_comparison_write_markdown(args->markdown, compare->comparison, error);
  if (status == HR_OK && args->json)
    status = hr_comparison_write_json(args->json, compare->comparison, &compare->perf, error);
  if (status == HR_OK && args->page.report) status = write_page(compare, error);
  return status == HR_OK ? hr_comparison_commit_jobs(compare->comparison, error) : status;
}

/* Counts the jobs that can never run. This number is predicted for each policy, and the smallest one is returned. */
static enum hr_status predict_rejected(const struct compare *compare, struct hr_rejections *rejections,
                                       struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (uint32_t i = 0; i < compare->n_items && status == HR_OK; i++) {
    struct hr_rejections predicted;
    status = input_predict_rejected(&compare->input, compare->items[i].scenario, &predicted, error);
    if (status == HR_OK && (i == 0 || predicted.n_rejected < rejections->n_rejected)) *rejections = predicted;
  }
  return status;
}

/* Counts the rejected jobs of the policy that rejects the fewest jobs. Rejected jobs that could run on the cluster were
   rejected because of their tenant's quota, or by the policy. */
static enum hr_status count_rejected(const struct compare *compare, struct hr_rejections *rejections,
                                     struct hr_error *error) {
  enum hr_status status = predict_rejected(compare, rejections, error);
  uint64_t fewest = UINT64_MAX;
  /* The prediction is for the recorded trace, so it is not compared with runs of other workloads. */
  if (hr_comparison_trace(compare->comparison) != compare->input.trace) return status;
  for (uint32_t i = 0; i < compare->n_items && status == HR_OK; i++) {
    const struct hr_summary *summary = hr_comparison_summary(compare->comparison, i);
    if (summary->jobs_rejected < fewest) fewest = summary->jobs_rejected;
  }
  if (status != HR_OK || fewest == UINT64_MAX || fewest <= rejections->n_rejected) return status;
  rejections->by_reason[compare->input.scenario->quotas ? HR_REASON_OVER_QUOTA : HR_REASON_POLICY] +=
      fewest - rejections->n_rejected;
  rejections->n_rejected = fewest;
  return HR_OK;
}

static enum hr_status print_tables(struct compare *compare, struct hr_error *error) {
  const struct compare_args *args = compare->args;
  const struct hr_notes *notes = hr_comparison_notes(compare->comparison);
  enum hr_status status;
  if (args->quiet) return HR_OK;
  input_print_notes(stderr, &compare->input);
  notes_print(stderr, notes);
  if (is_stdout(args->json) || is_stdout(args->csv) || is_stdout(args->markdown) || is_stdout(args->page.report))
    return HR_OK;
  status = hr_comparison_print(stdout, compare->comparison, &compare->perf, wants_colour());
  unsigned facts = next_facts_of(&compare->input);
  const struct hr_replication_spec *spec = &compare->input.scenario->replications;
  bool redraws = spec->workload.blocks != HR_BLOCKS_NONE;
  if (args->replications > 1 || spec->count > 1 || spec->metric.text || redraws) facts &= ~(unsigned)NEXT_EXACT;
  if (status == HR_OK)
    next_step_print(stdout, &(struct next_step){.verb = "compare",
                                                .facts = facts,
                                                .path = compare->input.scenario->path,
                                                .input = &args->input,
                                                .other = args->policies,
                                                .replications = args->replications});
  return printed(status, "table", error);
}

static enum hr_status print_results(struct compare *compare, struct hr_error *error) {
  struct hr_rejections rejections;
  enum hr_status status = write_files(compare, error);
  if (status == HR_OK) status = count_rejected(compare, &rejections, error);
  if (status != HR_OK) return status;
  input_warn_rejected(&compare->input, &compare->input.scenario->cluster, &rejections);
  status = print_tables(compare, error);
  return status == HR_OK ? input_require_accepted(&compare->input, &rejections, error) : status;
}

/* ---- The verb --------------------------------------------------------------------------------------- */

/* Checks the outputs against the inputs and the shared objects of policies. */
static enum hr_status check_list(const struct compare *compare, const char *scenario_path, const struct output *outputs,
                                 size_t count, struct hr_error *error) {
  enum hr_status status = input_check_outputs(&compare->input, scenario_path, outputs, count, error);
  for (uint32_t i = 0; i < compare->n_items && status == HR_OK; i++) {
    const char *const library[] = {compare->items[i].name};
    if (strchr(library[0], '/')) status = outputs_check(outputs, count, library, 1, NULL, error);
  }
  return status;
}

static enum hr_status check_outputs(const struct compare *compare, const char *scenario_path, struct hr_error *error) {
  const struct compare_args *args = compare->args;
  const struct output files[] = {
      {"csv", args->csv}, {"md", args->markdown}, {"json", args->json}, {"report", args->page.report}};
  size_t count = sizeof files / sizeof *files;
  struct output *outputs = calloc(count + compare->n_items, sizeof *outputs);
  if (!outputs) return no_memory(error);
  memcpy(outputs, files, sizeof files);
  for (uint32_t i = 0; i < compare->n_items; i++) outputs[count++] = (struct output){"jobs", compare->items[i].jobs};
  if (compare->ranks.rank != 0) count = 0; /* only rank 0 writes files */
  enum hr_status status = check_list(compare, scenario_path, outputs, count, error);
  free(outputs);
  return status;
}

static enum hr_status run_all(struct compare *compare, const char *path, struct hr_error *error) {
  enum hr_status status = split_policies(compare, error);
  if (status == HR_OK) status = input_open(&compare->input, path, &compare->args->input, error);
  compare->input.allows_services = true;
  if (status == HR_OK) status = load_items(compare, error);
  if (status == HR_OK) status = prepare_jobs(compare, error);
  if (status == HR_OK) status = check_outputs(compare, path, error);
  bool leads = compare->ranks.rank == 0;
  if (status == HR_OK && leads) status = page_prepare(&compare->page, &compare->args->page, error);
  compare->input.no_stdin = compare->ranks.size > 1;
  if (status == HR_OK) status = input_read_trace(&compare->input, &compare->args->input, error);
  if (status == HR_OK) status = replay(compare, error);
  return status == HR_OK && leads ? print_results(compare, error) : status;
}

static enum hr_status run_verb(const void *args, const struct words *operands, struct hr_error *error) {
  struct compare compare = {.args = args};
  const struct command *command = &compare.args->page.command;
  enum hr_status status = ranks_start(&compare.ranks, command->count, command->words, error);
  if (status == HR_OK) status = run_all(&compare, operands->at[0], error);
  page_finish(&compare.page);
  hr_comparison_destroy(compare.comparison);
  for (uint32_t i = 0; i < compare.n_items; i++) {
    hr_scenario_destroy(compare.items[i].scenario);
    free(compare.items[i].text);
    free(compare.items[i].label);
    free(compare.items[i].name);
    free(compare.items[i].jobs);
  }
  free(compare.items);
  free(compare.contenders);
  free(compare.jobs);
  input_finish(&compare.input);
  return hr_ranks_leave(&compare.ranks, status, error);
}

const struct verb verb_compare = {.name = "compare",
                                  .operands = "SCENARIO",
                                  .summary = "run several policies on the same trace and print how they differ",
                                  .details = details,
                                  .options = options,
                                  .args_bytes = sizeof(struct compare_args),
                                  .command_at = AT(page.command),
                                  .on_ranks = true,
                                  .run = run_verb};
