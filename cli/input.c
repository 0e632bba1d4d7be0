/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The input of a verb, checks of its output files, and the line that suggests the next command.
 *
 * Options that change the scenario become overrides, as --set does. Options about the trace apply when the trace is
 * read. Each option is checked here first, so that an error names the option.
 *
 * A table of rules determines the next command. The rules of the verb that has run are examined in order. A rule
 * applies if all its facts are true; the first such rule is used.
 */

#include "cli/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Overrides -------------------------------------------------------------------------------------- */

static enum hr_status add_seed(struct overrides *overrides, const char *seed, struct hr_error *error) {
  uint64_t value;
  if (!seed) return HR_OK;
  enum hr_status status = parse_seed(seed, &value, error);
  return status == HR_OK ? overrides_add(overrides, "seed", seed, error) : status;
}

/* `value` is a number or a JSON object. */
static enum hr_status add_replications(struct overrides *overrides, const char *value, struct hr_error *error) {
  uint64_t count;
  if (!value) return HR_OK;
  if (value[0] == '{') return overrides_add(overrides, "replications", value, error);
  if (!parse_whole(value, &count) || count < 1 || count > HR_MAX_REPLICATIONS)
    return hr_fail(error, HR_BAD_INPUT,
                   "--replications %.200s: expected a whole number from 1 to %d, or a precision such as "
                   "{\"metric\":\"wait_s.p95\",\"relative\":0.05}",
                   value, HR_MAX_REPLICATIONS);
  return overrides_add(overrides, "replications.count", value, error);
}

static enum hr_status collect(struct overrides *overrides, const struct input_args *args, struct hr_error *error) {
  enum hr_status status = args->policy ? overrides_add_policy(overrides, "policy", args->policy, error) : HR_OK;
  for (size_t i = 0; i < args->set.count && status == HR_OK; i++)
    status = words_add(&overrides->words, args->set.at[i], error);
  if (status == HR_OK) status = add_seed(overrides, args->seed, error);
  if (status == HR_OK) status = add_replications(overrides, args->replications, error);
  return status;
}

/* ---- The trace -------------------------------------------------------------------------------------- */

static enum hr_status check_format(const char *format, struct hr_error *error) {
  struct words known = {0};
  enum hr_status status = HR_OK;
  for (const struct hr_trace_format *at = hr_trace_formats(); at->name && status == HR_OK; at++)
    status = words_add(&known, at->name, error);
  if (status == HR_OK && !hr_trace_format_find(format)) status = unknown_word("trace format", format, known.at, error);
  words_finish(&known);
  return status;
}

/* Adds the rules that an option sets. Errors name the option. */
static enum hr_status add_rules(struct hr_column_map *map, const char *option, const char *field,
                                const struct words *rules, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < rules->count && status == HR_OK; i++) {
    struct hr_error inner = {0};
    status = hr_column_map_add_rule(map, field, rules->at[i], &inner);
    if (status != HR_OK) hr_fail(error, status, "--%s: %s", option, inner.text);
  }
  return status;
}

/* Makes the map of columns from the map of the scenario and the options. For a field that both name, --map applies. The
   rules of options precede those of the scenario. */
static enum hr_status merge_columns(struct hr_column_map *map, const struct hr_column_map *scenario,
                                    const struct input_args *args, struct hr_error *error) {
  enum hr_status status = add_rules(map, "class", "class", &args->classes, error);
  if (status == HR_OK) status = add_rules(map, "tenant-by", "tenant", &args->tenants, error);
  for (size_t i = 0; scenario && i < scenario->count && status == HR_OK; i++)
    status = hr_column_map_add_entry(map, &scenario->entry[i], error);
  if (status != HR_OK || !args->map) return status;
  struct hr_error inner = {0};
  status = hr_column_map_parse(map, args->map, &inner);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "--map %.200s: %s", args->map, inner.text);
}

enum hr_status input_read_trace(struct input *input, const struct input_args *args, struct hr_error *error) {
  const struct hr_scenario *scenario = input->scenario;
  if (!input->trace_path) return hr_trace_empty(scenario->path, &input->trace, error);
  if (input->no_stdin && strcmp(input->trace_path, "-") == 0)
    return hr_fail(error, HR_BAD_INPUT,
                   "--trace -: under mpirun, only rank 0 has a standard input, but all ranks read the trace; name a "
                   "file");
  struct hr_column_map map = {0};
  enum hr_status status = merge_columns(&map, &scenario->columns, args, error);
  if (status == HR_OK) {
    struct hr_trace_options options = {.format = args->format ? args->format : scenario->trace_format,
                                       .map = &map,
                                       .lenient = args->lenient || scenario->lenient,
                                       .untimed = input->untimed,
                                       .drop_failed = scenario->drop_failed,
                                       .streamed = input->streamed};
    double begin_s = clock_s();
    status = hr_trace_read(input->trace_path, &options, &input->trace, error);
    input->load_s = clock_s() - begin_s;
  }
  hr_column_map_finish(&map);
  return status;
}

enum hr_status input_read_trace_alone(const char *path, const struct input_args *args, bool spooled,
                                      struct hr_trace **trace, struct hr_error *error) {
  struct hr_column_map map = {0};
  enum hr_status status = args->format ? check_format(args->format, error) : HR_OK;
  if (status == HR_OK) status = merge_columns(&map, NULL, args, error);
  if (status == HR_OK) {
    struct hr_trace_options options = {
        .format = args->format, .map = &map, .lenient = args->lenient, .spooled = spooled};
    status = hr_trace_read(path, &options, trace, error);
  }
  hr_column_map_finish(&map);
  return status;
}

/* ---- Scenario and trace ----------------------------------------------------------------------------- */

static const struct hr_catalog *shared_catalog;

void input_share_catalog(const struct hr_catalog *catalog) {
  shared_catalog = catalog;
}

enum hr_status input_open(struct input *input, const char *path, const struct input_args *args,
                          struct hr_error *error) {
  *input = (struct input){0};
  struct overrides *overrides = &input->overrides;
  enum hr_status status = args->format ? check_format(args->format, error) : HR_OK;
  if (status == HR_OK) status = collect(overrides, args, error);
  if (status == HR_OK)
    status = hr_scenario_load_with(shared_catalog, path, overrides->words.at, overrides->words.count, &input->scenario,
                                   error);
  if (status != HR_OK) return status;
  input->trace_path = args->trace ? args->trace : input->scenario->trace_file;
  input->format = args->format ? args->format : input->scenario->trace_format;
  return HR_OK;
}

enum hr_status input_check_outputs(const struct input *input, const char *scenario_path, const struct output *outputs,
                                   size_t n_outputs, struct hr_error *error) {
  const char *const named[] = {scenario_path, input->trace_path ? input->trace_path : scenario_path};
  const struct hr_notes *files = &input->scenario->files;
  if (!input->trace_path && !(input->scenario->services && input->allows_services))
    return hr_fail(error, HR_BAD_INPUT,
                   "%s: names no trace; set one with --trace FILE, or in the file: \"trace\": {\"file\": \"jobs.csv\"}",
                   scenario_path);
  enum hr_status status = outputs_check(outputs, n_outputs, named, sizeof named / sizeof *named, input->format, error);
  if (status != HR_OK) return status;
  return outputs_check(outputs, n_outputs, (const char *const *)files->text, files->count, NULL, error);
}

struct hr_perf input_perf(const struct input *input, double begin_s) {
  return (struct hr_perf){.load_s = input->load_s, .sim_s = clock_s() - begin_s, .peak_rss_mib = peak_rss_mib()};
}

void input_finish(struct input *input) {
  hr_trace_destroy(input->trace);
  hr_scenario_destroy(input->scenario);
  overrides_finish(&input->overrides);
}

void input_warn_rejected(const struct input *input, const struct hr_cluster_spec *cluster,
                         const struct hr_rejections *rejections) {
  hr_rejections_warn(stderr, rejections, input->trace, cluster);
}

enum hr_status input_require_accepted(const struct input *input, const struct hr_rejections *rejections,
                                      struct hr_error *error) {
  if (!rejections->n_jobs || rejections->n_rejected < rejections->n_jobs) return HR_OK;
  if (rejections->n_jobs == 1)
    return hr_fail(error, HR_CHECK_FAILED, "%s: its only job was rejected", input->trace->source);
  return hr_fail(error, HR_CHECK_FAILED, "%s: all %" PRIu64 " jobs were rejected", input->trace->source,
                 rejections->n_jobs);
}

/* The argument of has_queue. */
struct queue_rule {
  const struct hr_scenario *scenario;
  const struct hr_trace *trace;
};

/* Returns true if the policy of a scenario has a queue for a job. */
static bool has_queue(const void *self, hr_job job) {
  const struct queue_rule *rule = self;
  return hr_policy_has_queue(rule->scenario->policy.ops, rule->scenario->systems, rule->trace, job);
}

enum hr_status input_predict_rejected(const struct input *input, const struct hr_scenario *scenario,
                                      struct hr_rejections *rejections, struct hr_error *error) {
  uint32_t *usable_nodes = hr_scenario_usable_nodes(scenario);
  if (!usable_nodes) return no_memory(error);
  const struct queue_rule rule = {scenario, input->trace};
  enum hr_status status = hr_rejections_predict(input->trace, &scenario->cluster, usable_nodes, scenario->classes,
                                                scenario->speeds, has_queue, &rule, rejections, error);
  free(usable_nodes);
  return status;
}

void notes_print(FILE *out, const struct hr_notes *notes) {
  static const char warning[] = "warning: ";
  for (size_t i = 0; i < notes->count; i++) {
    bool warns = strncmp(notes->text[i], warning, sizeof warning - 1) == 0;
    fprintf(out, "%s%s\n", warns ? "" : "note: ", notes->text[i]);
  }
}

void input_print_trace_notes(FILE *out, const struct hr_trace *trace) {
  notes_print(out, &trace->notes);
  for (uint32_t i = 0; i < trace->n_skipped_reasons; i++) {
    const struct hr_skipped_rows *skipped = &trace->skipped[i];
    fprintf(out, "note: %s: %" PRIu64 " row%s in line %" PRIu64 ": %s\n", trace->source, skipped->count,
            skipped->count == 1 ? " left out," : "s left out, the first", skipped->first_line, skipped->reason);
  }
}

void input_print_notes(FILE *out, const struct input *input) {
  notes_print(out, &input->scenario->notes);
  if (input->trace) input_print_trace_notes(out, input->trace);
}

/* ---- Output files -------------------------------------------------------------------------------------- */

/* Checks output files before a run. An output file is written under another name and then renamed, so its folder must
   be writable. If the output is a symbolic link, the folder of its target must be writable. The checks do not guarantee
   success: if the write itself fails, it reports the error. */

static enum hr_status cannot_write(const char *option, const char *path, const char *why, struct hr_error *error) {
  return hr_fail(error, HR_BAD_INPUT, "--%s %s: cannot be written: %s", option, path, why);
}

static enum hr_status check_folder(const char *option, const char *path, struct hr_error *error) {
  char *folder = strdup(path);
  if (!folder) return no_memory(error);
  char *slash = strrchr(folder, '/');
  if (slash) slash[slash == folder] = '\0'; /* the folder of "/file" is "/" */
  const char *place = slash ? folder : ".";
  enum hr_status status = HR_OK;
  struct stat info;
  if (stat(place, &info) != 0)
    status =
        hr_fail(error, HR_BAD_INPUT, "--%s %s: cannot be written: folder %s: %s", option, path, place, strerror(errno));
  else if (!S_ISDIR(info.st_mode))
    status = hr_fail(error, HR_BAD_INPUT, "--%s %s: cannot be written: %s is not a folder", option, path, place);
  else if (access(place, W_OK | X_OK) != 0)
    status =
        hr_fail(error, HR_BAD_INPUT, "--%s %s: cannot be written: folder %s: %s", option, path, place, strerror(errno));
  free(folder);
  return status;
}

static enum hr_status check_path(const char *option, const char *path, struct hr_error *error) {
  struct stat info;
  if (is_stdout(path)) return HR_OK;
  if (!path[0]) return cannot_write(option, "''", "expected a file name", error);
  if (stat(path, &info) != 0 || S_ISREG(info.st_mode)) {
    char *target = hr_output_target(path);
    if (!target) return cannot_write(option, path, strerror(errno), error);
    enum hr_status status = check_folder(option, target, error);
    free(target);
    return status;
  }
  if (S_ISDIR(info.st_mode)) return cannot_write(option, path, "it is a directory", error);
  return access(path, W_OK) == 0 ? HR_OK : cannot_write(option, path, strerror(errno), error);
}

static bool is_same_file(const char *a, const char *b) {
  struct stat first, second;
  if (stat(a, &first) != 0 || stat(b, &second) != 0) return false;
  return S_ISREG(first.st_mode) && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

static enum hr_status check_clash(const struct output *a, const struct output *b, struct hr_error *error) {
  if (!a->path || is_stdout(a->path) != is_stdout(b->path) || !hr_output_same(a->path, b->path)) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "--%s and --%s both write to %s; use two files", a->option, b->option,
                 is_stdout(b->path) ? "standard output" : b->path);
}

/* Checks that no output is a file that a parameter of the trace format names. */
static enum hr_status spare_params(const struct output *outputs, size_t n_outputs, const char *format,
                                   struct hr_error *error) {
  const char *params = format ? strchr(format, ':') : NULL;
  char *copy = params ? strdup(params + 1) : NULL;
  if (params && !copy) return no_memory(error);
  enum hr_status status = HR_OK;
  for (char *param = copy, *next; param && status == HR_OK; param = next) {
    next = strchr(param, ',');
    if (next) *next++ = '\0';
    const char *value = strchr(param, '=') ? strchr(param, '=') + 1 : param;
    for (size_t i = 0; i < n_outputs && status == HR_OK; i++)
      if (outputs[i].path && is_same_file(outputs[i].path, value))
        status = cannot_write(outputs[i].option, outputs[i].path, "this run reads it", error);
  }
  free(copy);
  return status;
}

enum hr_status outputs_check(const struct output *outputs, size_t n_outputs, const char *const *inputs, size_t n_inputs,
                             const char *format, struct hr_error *error) {
  for (size_t i = 0; i < n_outputs; i++) {
    const struct output *output = &outputs[i];
    if (!output->path) continue;
    enum hr_status status = check_path(output->option, output->path, error);
    for (size_t j = 0; j < i && status == HR_OK; j++) status = check_clash(&outputs[j], output, error);
    if (status != HR_OK) return status;
    for (size_t j = 0; j < n_inputs; j++)
      if (is_same_file(output->path, inputs[j]))
        return cannot_write(output->option, output->path, "this run reads it", error);
  }
  return spare_params(outputs, n_outputs, format, error);
}

/* ---- The next command ------------------------------------------------------------------------------- */

/* Rules for the suggested command. The first rule that applies is used. In a command:
   %p  the path and the input options of the command that has run, so that both use the same jobs, cluster and policy
   %s  only the path
   %t  the trace, with the options for reading it
   %n  an option --own for the nodes of each pool
   %o  `other` of struct next_step
   %r  the option --replications, if it was set
   %f  the options --forecast and --growth, if they were set
   The reason for the suggestion follows as a shell comment, so that the whole line can be pasted into a shell. */
static const struct next_rule {
  const char *verb;
  unsigned facts;
  const char *command, *reason;
} rules[] = {{"run", NEXT_REJECTS, "trace check %t --cluster %s", "finds the jobs that no pool can run"},
             {"run", NEXT_WAITS, "why %p", "shows why jobs wait"},
             {"run", NEXT_PLANNED, "plan %p", "finds the cheapest capacity for the goals"},
             {"run", NEXT_IDLE, "advise %p", "finds savings"},
             {"run", NEXT_UNPRICED, "init --from %t%n --cloud aws -o priced.json", "drafts a plan with cloud prices"},
             {"run", 0, "report %p", "writes an HTML page"},
             {"why", NEXT_PLANNED, "plan %p", "finds the cheapest capacity for the goals"},
             {"why", 0, "compare %p --policies fifo,sjf,conservative", "tries other policies"},
             {"compare", NEXT_EXACT,
              "compare %p --policies %o --replications 5 --set 'replications.workload={\"resample\":\"days\"}'",
              "shows whether the difference is due to chance"},
             {"compare", 0, "compare %p --policies %o%r --report compare.html", "writes an HTML page"},
             {"diff", 0, "why %p", "shows why jobs wait after the change"},
             {"plan", NEXT_FAILED, "why %p", "shows what jobs wait for"},
             {"plan", NEXT_BRIEF, "plan %p%f", "adds the what-ifs"},
             {"plan", NEXT_LONG, "plan %p --forecast 3", "plans for the next 3 months"},
             {"plan", 0, "plan %p%f --report plan.html", "writes an HTML page"},
             {"advise", NEXT_PLANNED, "plan %p", "finds the cheapest capacity for the goals"},
             {"advise", 0, "report %p", "writes an HTML page"},
             {"tco", NEXT_PLANNED, "plan %p", "finds the cheapest capacity for the goals"},
             {"tco", 0, "tco %p --report tco.html", "writes an HTML page"},
             {"check", NEXT_FAILED, "check %p --baseline %o --json check.json", "lists every metric"},
             {"check", 0, "check %p --baseline %o --junit check.xml", "for CI"},
             {"sweep", NEXT_FAILED, "merge all.sqlite %o SHARD...", "merges the files of all shards"},
             {"sweep", 0, "sweep %p --db %o --report sweep.html", "writes an HTML page"},
             {"fill", 0, "fill %p --policies %o --csv fill.csv", "for plots"},
             {"forecast", 0, "plan SCENARIO --trace %t --forecast 3", "finds what to buy for it"},
             {"validate", 0, "run %p", "replays the trace"},
             {"init", NEXT_REJECTS, "trace check %t --cluster %s", "finds the jobs that no pool can run"},
             {"init", 0, "run %p", "replays the trace"},
             {"trace check", 0, "init --from %t -o mine.json", "drafts a scenario"},
             {"trace stats", 0, "init --from %t -o mine.json", "drafts a scenario"}};

/* ---- The next command: writing ---------------------------------------------------------------------- */

/* Writes a word so that a shell reads it as one word. Control characters become '?'. */
static void write_word(FILE *out, const char *word) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,+@%-";
  bool is_plain = word[0] && strspn(word, plain) == strlen(word);
  if (!is_plain) fputc('\'', out);
  for (; *word; word++) {
    unsigned char byte = (unsigned char)*word;
    if (byte == '\'')
      fputs("'\\''", out);
    else
      fputc(byte < 0x20 || byte == 0x7f ? '?' : byte, out);
  }
  if (!is_plain) fputc('\'', out);
}

static void write_option(FILE *out, const char *name, const char *value) {
  if (!value) return;
  fprintf(out, " --%s ", name);
  write_word(out, value);
}

static void write_trace_options(FILE *out, const struct input_args *input) {
  if (!input) return;
  write_option(out, "format", input->format);
  write_option(out, "map", input->map);
  for (size_t i = 0; i < input->classes.count; i++) write_option(out, "class", input->classes.at[i]);
  for (size_t i = 0; i < input->tenants.count; i++) write_option(out, "tenant-by", input->tenants.at[i]);
  if (input->lenient) fputs(" --lenient", out);
}

static void write_input_options(FILE *out, const struct input_args *input) {
  if (!input) return;
  write_option(out, "trace", input->trace);
  write_trace_options(out, input);
  write_option(out, "policy", input->policy);
  for (size_t i = 0; i < input->set.count; i++) write_option(out, "set", input->set.at[i]);
  write_option(out, "seed", input->seed);
}

/* Writes the nodes of a cluster as `headroom init` reads them. */
static void write_nodes(FILE *out, const struct hr_cluster_spec *cluster) {
  char own[200];
  for (uint32_t i = 0; cluster && i < cluster->n_pools; i++) {
    const struct hr_pool_spec *pool = &cluster->pools[i];
    if (!pool->nodes || !pool->gpus_per_node || strlen(pool->gpu) > 100) continue;
    snprintf(own, sizeof own, "%" PRIu32 "x%" PRIu32 "x%s", pool->nodes, (uint32_t)pool->gpus_per_node, pool->gpu);
    write_option(out, "own", own);
  }
}

static void write_command(FILE *out, const char *command, const struct next_step *step) {
  for (; *command; command++) {
    if (*command != '%') {
      fputc(*command, out);
      continue;
    }
    char what = *++command;
    if (what == 'n') {
      write_nodes(out, step->cluster);
      continue;
    }
    if (what == 'r') {
      if (step->replications) fprintf(out, " --replications %" PRIu64, step->replications);
      continue;
    }
    if (what == 'f') {
      if (step->forecast) fputs(" --forecast ", out);
      if (step->forecast) write_word(out, step->forecast);
      if (step->growth > 0) fprintf(out, " --growth %g", step->growth);
      continue;
    }
    const char *word = what == 'p' || what == 's' ? step->path : what == 't' ? step->trace : step->other;
    write_word(out, word ? word : "FILE");
    if (what == 'p') write_input_options(out, step->input);
    if (what == 't') write_trace_options(out, step->input);
  }
}

void next_step_print(FILE *out, const struct next_step *step) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    const struct next_rule *rule = &rules[i];
    if (strcmp(rule->verb, step->verb) != 0 || (rule->facts & ~step->facts)) continue;
    bool colour = wants_colour();
    fprintf(out, "%s  %snext%s       headroom ", step->apart ? "\n" : "", colour ? "\033[2m" : "",
            colour ? "\033[0m" : "");
    write_command(out, rule->command, step);
    fprintf(out, "  # %s\n", rule->reason);
    return;
  }
}

unsigned next_facts_of(const struct input *input) {
  enum { DAYS = 5, WEEKS = 6 };
  const int64_t day_us = 86400 * HR_SECOND_US;
  const struct hr_trace *trace = input->trace;
  int64_t span_us = trace && trace->n_jobs ? trace->submit_us[trace->n_jobs - 1] : 0;
  unsigned facts = input->scenario->plan ? NEXT_PLANNED : 0;
  if (!hr_scenario_has_prices(input->scenario)) facts |= NEXT_UNPRICED;
  if (span_us >= DAYS * day_us && !hr_scenario_is_random(input->scenario)) facts |= NEXT_EXACT;
  if (span_us >= WEEKS * 7 * day_us) facts |= NEXT_LONG;
  return facts;
}
