/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom init`: writes a scenario to begin with. With --all, it explains every key. With --from, --own, --cloud or
   --goal, it drafts a scenario from a trace, from owned nodes and from the prices of a provider. */

#include "cli/cli.h"
#include "headroom/unstable/planning.h"
#include "headroom/unstable/scenario_files.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

struct init_args {
  struct input_args input; /* only the options for reading a trace */
  bool all, force;
  const char *trace;                 /* NULL: a shipped trace */
  const char *from, *cloud, *output; /* NULL: not set */
  struct words own, goals;
};

#define AT(field) offsetof(struct init_args, field)
static const struct option options[] = {
    {"from", OPTION_TEXT, AT(from), "TRACE",
     "draft the scenario from this trace: sizes, classes, tenants, GPU types (default: a small trace that ships "
     "with Headroom)"},
    {"own", OPTION_LIST, AT(own), "NODESxGPUSxTYPE",
     "nodes that you have, e.g. 8x8xA100-80: 8 nodes with 8 GPUs each; may be repeated"},
    {"cloud", OPTION_TEXT, AT(cloud), "PROVIDER[:REGION]",
     "add capacity that can be bought there, with prices and their dates, and a plan, e.g. aws:us-east-1"},
    {"goal", OPTION_LIST, AT(goals), "GOAL",
     "a goal of the plan, e.g. 'wait_s.p95 <= 1 h'; may be repeated (default: the waits recorded in the trace)"},
    {"output", OPTION_TEXT, AT(output), "FILE", "the file to write; the same as the operand", .letter = 'o'},
    {"all", OPTION_FLAG, AT(all), NULL, "explain every key: type, unit, default and meaning"},
    {"trace", OPTION_TEXT, AT(trace), "FILE",
     "write this name as the trace, without reading the file; the name is relative to the folder of the scenario"},
    {"force", OPTION_FLAG, AT(force), NULL, "overwrite an existing file", .letter = 'f'},
    TRACE_OPTIONS(init_args),
    {0}};

static const char details[] = "FILE is the file to write (default: scenario.json); '-' is standard output.\n"
                              "With --from, --own, --cloud or --goal, the scenario is drafted: it can be run at\n"
                              "once, and its comments list facts about the trace and assumptions. Members with\n"
                              "names that begin with // are comments.\n"
                              "Exit code: 0 success, 2 bad input or usage, 4 system failure.\n\n"
                              "Examples:\n"
                              "  headroom init\n"
                              "  headroom init --all mine.json --trace jobs.csv\n"
                              "  headroom init --from jobs.txt --own 8x8xA100-80 -o mine.json\n"
                              "  headroom init --from jobs.txt --own 8x8xA100-80 --cloud aws:us-east-1 \\\n"
                              "    --goal 'wait_s.p95 <= 1 h' -o mine.json\n";

static enum hr_status write_file(const char *path, const char *text, bool force, struct hr_error *error) {
  FILE *file = is_stdout(path) ? stdout : fopen(path, force ? "w" : "wx");
  if (!file && errno == EEXIST)
    return hr_fail(error, HR_BAD_INPUT, "%s: the file exists; overwrite it with --force", path);
  if (!file) return hr_fail(error, HR_BAD_INPUT, "%s: cannot be written: %s", path, strerror(errno));
  bool is_written = fputs(text, file) >= 0 && fflush(file) == 0;
  int failure = errno;
  if (file != stdout && fclose(file) != 0 && is_written) {
    is_written = false;
    failure = errno;
  }
  return is_written ? HR_OK : hr_fail(error, HR_IO_ERROR, "%s: cannot be written: %s", path, strerror(failure));
}

/* ---- The path of the trace -------------------------------------------------------------------------- */

/* Returns the length of the longest common folder of two absolute paths, with its slash. */
static size_t common_folder(const char *a, const char *b) {
  size_t common = 0;
  for (size_t i = 0; a[i] && a[i] == b[i]; i++)
    if (a[i] == '/') common = i + 1;
  return common;
}

/* Returns the path of `file` relative to `folder`. Both are absolute; `folder` ends with a slash. The caller frees the
   path. Returns NULL if out of memory. */
static char *relative_path(const char *folder, const char *file) {
  size_t common = common_folder(folder, file), ups = 0;
  for (const char *at = folder + common; *at; at++) ups += *at == '/';
  char *path = malloc(3 * ups + strlen(file + common) + 1), *at = path;
  for (; path && ups; ups--) at = stpcpy(at, "../");
  if (path) strcpy(at, file + common);
  return path;
}

/* Returns the path by which a scenario in the file `scenario` names the trace: as the user wrote it if the scenario is
   written to the current folder, if the path is absolute, or if a folder or the trace cannot be found; otherwise
   relative to the folder of the scenario. The caller frees the path. Returns NULL if out of memory. */
static char *path_in_scenario(const char *scenario, const char *trace) {
  char folder[PATH_MAX + 1], here[PATH_MAX], file[PATH_MAX];
  char *copy = strdup(is_stdout(scenario) ? "." : scenario), *slash = copy ? strrchr(copy, '/') : NULL;
  if (slash) slash[slash == copy] = '\0';
  bool is_known = copy && realpath(slash ? copy : ".", folder) && realpath(".", here) && realpath(trace, file);
  free(copy);
  if (!is_known || trace[0] == '/' || strcmp(folder, here) == 0) return strdup(trace);
  if (strcmp(folder, "/") != 0) strcat(folder, "/");
  return relative_path(folder, file);
}

/* ---- Drafting --------------------------------------------------------------------------------------- */

/* Returns the name of a scenario in a file: the name of the file without folder and extension, at most 60 bytes. The
   caller frees the name. Returns NULL if out of memory. */
static char *name_of(const char *path) {
  const char *slash = strrchr(path, '/'), *base = is_stdout(path) ? "scenario" : slash ? slash + 1 : path;
  const char *dot = strrchr(base, '.');
  size_t length = dot && dot != base ? (size_t)(dot - base) : strlen(base);
  return strndup(base, length < 60 ? length : 60);
}

static enum hr_status check_goals(const struct init_args *init, const struct hr_trace *trace, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < init->goals.count && status == HR_OK; i++)
    status = hr_plan_goal_check(init->goals.at[i], trace, error);
  return status;
}

/* ---- Classes by guess ------------------------------------------------------------------------------- */

static bool has_classes(const struct hr_trace *trace) {
  for (uint32_t i = 0; trace->class_ && i < trace->n_jobs; i++)
    if (trace->class_[i] != HR_CLASS_UNKNOWN) return true;
  return false;
}

/* Reads the trace with one more pattern for classes. Replaces `*trace` and adds the pattern to `args` if some but not
   all jobs match. If the trace cannot be read with the pattern, both are unchanged. Returns HR_OK or HR_NO_MEMORY. */
static enum hr_status try_pattern(struct input_args *args, const char *from, const char *pattern,
                                  struct hr_trace **trace, struct hr_error *error) {
  struct hr_trace *mapped = NULL;
  struct hr_error no_column;
  enum hr_status status = words_add(&args->classes, pattern, error);
  if (status != HR_OK) return status;
  uint32_t n_matches = 0;
  if (input_read_trace_alone(from, args, false, &mapped, &no_column) == HR_OK && mapped->class_)
    for (uint32_t i = 0; i < mapped->n_jobs; i++) n_matches += mapped->class_[i] != HR_CLASS_UNKNOWN;
  bool helps = mapped && n_matches > 0 && n_matches < mapped->n_jobs;
  if (helps) {
    hr_trace_destroy(*trace);
    *trace = mapped;
  } else {
    hr_trace_destroy(mapped);
    args->classes.count--;
  }
  return HR_OK;
}

/* Finds interactive jobs in the output of sacct, which has no classes, by common names of QOS, partitions and jobs. The
   pattern is written into the scenario. */
static enum hr_status guess_classes(struct input_args *args, const char *from, struct hr_trace **trace,
                                    struct hr_error *error) {
  static const char *const patterns[] = {
      "interactive=QOS~interactive|jupyter", "interactive=Partition~interactive|jupyter|debug",
      "interactive=JobName~^(interactive|bash|zsh|sh|srun)$|jupyter|notebook|vscode|code-server"};
  enum hr_status status = HR_OK;
  if (strcmp((*trace)->format, "sacct") != 0 || args->map || args->classes.count) return HR_OK;
  for (size_t i = 0; i < sizeof patterns / sizeof *patterns && status == HR_OK && !has_classes(*trace); i++)
    status = try_pattern(args, from, patterns[i], trace, error);
  return status;
}

/* ---- The draft -------------------------------------------------------------------------------------- */

/* Makes the map of columns and patterns from the options. */
static enum hr_status make_map(const struct input_args *args, struct hr_column_map *map, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < args->classes.count && status == HR_OK; i++)
    status = hr_column_map_add_rule(map, "class", args->classes.at[i], error);
  for (size_t i = 0; i < args->tenants.count && status == HR_OK; i++)
    status = hr_column_map_add_rule(map, "tenant", args->tenants.at[i], error);
  return status == HR_OK && args->map ? hr_column_map_parse(map, args->map, error) : status;
}

static enum hr_status copy_words(struct words *to, const struct words *from, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < from->count && status == HR_OK; i++) status = words_add(to, from->at[i], error);
  return status;
}

/* Drafts a scenario from the trace `from`. Sets `*text` to the scenario and `*read` to the trace. The caller frees
   `*text`. The caller destroys `*read`, even after an error. */
static enum hr_status draft_from(const struct init_args *init, const char *from, const char *path, char **text,
                                 struct hr_trace **read, struct hr_error *error) {
  struct hr_trace *trace = NULL;
  struct hr_column_map map = {0};
  struct input_args args = init->input;
  char *name = name_of(path), *file = path_in_scenario(path, from);
  struct hr_draft_config config = {.name = name,
                                   .file = file,
                                   .format = init->input.format,
                                   .map = &map,
                                   .lenient = init->input.lenient,
                                   .own = init->own.at,
                                   .n_own = init->own.count,
                                   .cloud = init->cloud,
                                   .goals = init->goals.at,
                                   .n_goals = init->goals.count};
  enum hr_status status = name && file ? HR_OK : no_memory(error);
  args.classes = (struct words){0}; /* `args` needs its own list, because guess_classes may add a pattern */
  if (status == HR_OK) status = copy_words(&args.classes, &init->input.classes, error);
  if (status == HR_OK) status = input_read_trace_alone(from, &args, false, &trace, error);
  if (status == HR_OK) status = guess_classes(&args, from, &trace, error);
  if (status == HR_OK) status = make_map(&args, &map, error);
  if (status == HR_OK) status = check_goals(init, trace, error);
  config.trace = trace;
  if (status == HR_OK) status = hr_scenario_draft(&config, text, error);
  if (status == HR_OK) input_print_trace_notes(stderr, trace);
  hr_column_map_finish(&map);
  words_finish(&args.classes);
  *read = trace;
  free(name);
  free(file);
  return status;
}

static bool wants_draft(const struct init_args *init) {
  return init->from || init->own.count || init->cloud || init->goals.count;
}

static enum hr_status make_draft(const struct init_args *init, const char *path, char **text, struct hr_trace **trace,
                                 struct hr_error *error) {
  if (init->all || init->trace)
    return hr_fail(error, HR_BAD_INPUT, "init: --%s and --%s exclude each other", init->all ? "all" : "trace",
                   init->from        ? "from"
                   : init->own.count ? "own"
                   : init->cloud     ? "cloud"
                                     : "goal");
  if (is_stdout(init->from))
    return hr_fail(error, HR_BAD_INPUT, "--from -: expected a file, since every run reads the trace again");
  char *shipped = init->from ? NULL : hr_scenario_demo_trace();
  if (!init->from && !shipped) return hr_fail(error, HR_BAD_INPUT, "init: --from TRACE is missing");
  enum hr_status status = draft_from(init, init->from ? init->from : shipped, path, text, trace, error);
  free(shipped);
  return status;
}

/* Warns of the jobs that the drafted cluster rejects, as a run does, and names the options that help. Sets `*all` to
   whether all jobs are rejected. */
static enum hr_status warn_rejected(const struct init_args *init, const char *path, struct hr_trace *trace, bool *all,
                                    struct hr_error *error) {
  const char *remedy = init->own.count == 0 ? "add --own NODESxGPUSxTYPE for each type"
                       : init->cloud        ? "repeat --own NODESxGPUSxTYPE for each type"
                                            : "repeat --own NODESxGPUSxTYPE for each type, or leave it out";
  struct input input = {.trace = trace};
  struct hr_rejections rejections;
  enum hr_status status = hr_scenario_load(path, NULL, 0, &input.scenario, error);
  if (status == HR_OK) status = input_predict_rejected(&input, input.scenario, &rejections, error);
  if (status == HR_OK) input_warn_rejected(&input, &input.scenario->cluster, &rejections);
  if (status == HR_OK) *all = rejections.n_rejected > 0 && rejections.n_rejected == rejections.n_jobs;
  if (status == HR_OK && hr_rejections_are_many(&rejections) && rejections.by_reason[HR_REASON_NO_GPU_TYPE])
    fprintf(stderr, "warning: to draft nodes for these jobs, %s\n", remedy);
  hr_scenario_destroy(input.scenario);
  return status;
}

/* ---- The verb --------------------------------------------------------------------------------------- */

static enum hr_status check_words(const struct init_args *init, const struct words *operands, struct hr_error *error) {
  if (init->output && operands->count)
    return hr_fail(error, HR_BAD_INPUT, "init: two files to write: '%.60s' and --output %.60s", operands->at[0],
                   init->output);
  const struct input_args *input = &init->input;
  if (!init->from && (input->format || input->map || input->lenient || input->classes.count || input->tenants.count))
    return hr_fail(error, HR_BAD_INPUT, "init: options for reading a trace need --from TRACE");
  return HR_OK;
}

static enum hr_status run_verb(const void *args, const struct words *operands, struct hr_error *error) {
  const struct init_args *init = args;
  const char *path = init->output ? init->output : operands->count ? operands->at[0] : "scenario.json";
  char *text = NULL;
  struct hr_trace *trace = NULL;
  enum hr_status status = check_words(init, operands, error);
  if (status == HR_OK && !init->force && !is_stdout(path) && access(path, F_OK) == 0)
    status = hr_fail(error, HR_BAD_INPUT, "%s: the file exists; overwrite it with --force", path);
  if (status == HR_OK)
    status = wants_draft(init) ? make_draft(init, path, &text, &trace, error)
                               : hr_scenario_template(init->trace, init->all, &text, error);
  if (status == HR_OK) status = write_file(path, text, init->force, error);
  bool all_rejected = false;
  if (status == HR_OK && trace && !is_stdout(path)) status = warn_rejected(init, path, trace, &all_rejected, error);
  hr_trace_destroy(trace);
  free(text);
  if (status != HR_OK || is_stdout(path)) return status;
  if (!wants_draft(init)) {
    printf("wrote %s; to check it: headroom validate %s\n", path, path);
    return HR_OK;
  }
  printf("wrote %s\n", path);
  next_step_print(stdout, &(struct next_step){.verb = "init",
                                              .facts = all_rejected && init->from ? NEXT_REJECTS : 0,
                                              .path = path,
                                              .trace = init->from,
                                              .input = all_rejected ? &init->input : NULL});
  return status;
}

const struct verb verb_init = {.name = "init",
                               .operands = "[FILE]",
                               .summary = "write a scenario file to begin with: a draft from a trace, or one that "
                                          "explains every key",
                               .details = details,
                               .options = options,
                               .args_bytes = sizeof(struct init_args),
                               .run = run_verb};
