/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `headroom trace` and four of its actions: generate (writes a synthetic trace), check (lists wrong or suspicious
 * jobs), stats (prints statistics) and pack (writes the packed format). The other actions are in trace_transform.c.
 *
 * `trace generate`: without --like, the parametric generator makes the jobs (Poisson arrivals with a daily wave,
 * log-normal run times). With --like, a workload model makes them. The model is shipped, read from a file, or fitted to
 * a trace. With --like and --resample, whole days or weeks of a trace are drawn with replacement.
 */

#include "cli/cli.h"
#include "headroom/headroom.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/scenario_files.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- trace generate --------------------------------------------------------------------------------- */

struct like_args {
  const char *like, *model_out, *json, *blocks, *output;
  struct input_args input;
  bool quiet, resample;
};

struct generate_args {
  uint64_t count, seed, nodes, gpus_per_node, users, tenants;
  double load, median_s, sigma, max_s, diurnal, limit_min, limit_max;
  const char *gpu_counts;
  struct like_args like; /* `output` is also used without --like */
  const struct command *command;
};

/* The arguments of --like, with those options of the parametric generator that also apply to it. */
struct like_request {
  const struct like_args *args;
  const struct command *command; /* determines which options were set */
  struct hr_workload_model_spec spec;
  uint32_t users, tenants; /* 0: as in the model */
};

/* ---- trace generate: options ---------------------------------------------------------------------------- */

#define WHOLE(name_, field_, value_, min_, max_, help_)                                                                \
  {                                                                                                                    \
    .name = name_, .kind = OPTION_WHOLE, .offset = offsetof(struct generate_args, field_), .value = value_,            \
    .min = min_, .max = max_, .help = help_                                                                            \
  }
#define REAL(name_, field_, value_, min_, max_, help_)                                                                 \
  {                                                                                                                    \
    .name = name_, .kind = OPTION_REAL, .offset = offsetof(struct generate_args, field_), .value = value_,             \
    .min = min_, .max = max_, .help = help_                                                                            \
  }
#define LIKE(name_, field_, kind_, value_, help_)                                                                      \
  {                                                                                                                    \
    .name = name_, .kind = kind_, .offset = offsetof(struct generate_args, like.field_), .value = value_,              \
    .help = help_                                                                                                      \
  }

static const struct option generate_options[] = {
    WHOLE("count", count, "N", 1, UINT32_MAX - 1, "number of jobs"),
    WHOLE("seed", seed, "N", 0, 0x1p64, "the same seed gives the same bytes"),
    REAL("load", load, "X", 1e-6, 1000, "requested GPUs, as a mean over time, divided by the GPUs of the cluster"),
    WHOLE("nodes", nodes, "N", 1, HR_MAX_NODES, "nodes of the cluster that --load refers to"),
    WHOLE("gpus-per-node", gpus_per_node, "N", 1, HR_MAX_GPUS, "GPUs of each node"),
    REAL("median-s", median_s, "S", 1e-3, 1e9, "median run time; run times are log-normal"),
    REAL("sigma", sigma, "X", 0, 10, "spread of run times: standard deviation of their logarithm"),
    REAL("max-s", max_s, "S", 0, 1e9, "maximum run time; 0: no maximum"),
    REAL("diurnal", diurnal, "X", 0, 1, "amplitude of arrivals over a day: 0 flat, 1 none at night"),
    WHOLE("users", users, "N", 1, 1000000, "number of users; their shares of jobs follow Zipf's law"),
    WHOLE("tenants", tenants, "N", 1, 1000000, "number of tenants that the users belong to"),
    REAL("limit-min", limit_min, "X", 0, 1000, "limits are the run time times a factor of at least X ..."),
    REAL("limit-max", limit_max, "X", 0, 1000, "... and at most X; both 0: no limits"),
    {.name = "gpu-counts",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct generate_args, gpu_counts),
     .value = "N:WEIGHT,...",
     .help = "GPUs per job and their frequencies, e.g. 1:0.7,2:0.1,8:0.2"},
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_TEXT,
     .offset = offsetof(struct generate_args, like.output),
     .value = "FILE",
     .help =
         "output file: CSV, compressed if the name ends in .csv.gz or .csv.zst, packed if it ends in .hrt (default: "
         "standard output)"},
    LIKE("like", like, OPTION_TEXT, "NAME|FILE",
         "generate jobs like those of philly, helios, pai, acme-seren or acme-kalos, of a trace, or of a model that "
         "--model-out wrote"),
    LIKE("resample", resample, OPTION_FLAG, NULL,
         "draw whole days or weeks of the trace of --like with replacement, instead of fitting a model"),
    LIKE("blocks", blocks, OPTION_TEXT, "days|weeks",
         "what --resample draws (default: weeks if the trace has ten whole ones, else days)"),
    LIKE("model-out", model_out, OPTION_TEXT, "FILE", "also write the model of --like as JSON"),
    LIKE("json", json, OPTION_TEXT, "FILE", "write statistics of the jobs generated by --like as JSON"),
    LIKE("format", input.format, OPTION_TEXT, "FORMAT", "format of the trace of --like (see 'headroom list formats')"),
    LIKE("map", input.map, OPTION_TEXT, "FIELD=COLUMN,...", "names of the columns of that trace, if it is CSV"),
    LIKE("lenient", input.lenient, OPTION_FLAG, NULL, "skip bad rows of that trace and list them by reason"),
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_FLAG,
     .offset = offsetof(struct generate_args, like.quiet),
     .help = "print no notes on the trace of --like or on the generated jobs"},
    {0}};

static const char generate_details[] =
    "Without --like, arrivals are a Poisson process with a daily wave, and run times\n"
    "are log-normal. docs/researcher/generate.md describes the generator and the\n"
    "models of --like.\n"
    "Exit code: 0 success, 2 bad input or usage, 4 system failure.\n\n"
    "Examples:\n"
    "  headroom trace generate --count 5000 --seed 1 --load 0.8 --nodes 8 -o jobs.csv\n"
    "  headroom trace generate --like helios --count 100000 --seed 1 -o jobs.csv\n"
    "  headroom trace generate --like jobs.csv --resample --count 100000 -o other.csv\n";

static void generate_set_defaults(void *args) {
  struct hr_generator generator;
  hr_generator_init(&generator);
  *(struct generate_args *)args = (struct generate_args){.count = generator.count,
                                                         .seed = generator.seed,
                                                         .nodes = generator.nodes,
                                                         .gpus_per_node = generator.gpus_per_node,
                                                         .users = generator.users,
                                                         .tenants = generator.tenants,
                                                         .load = generator.load,
                                                         .median_s = generator.median_s,
                                                         .sigma = generator.sigma,
                                                         .max_s = generator.max_s,
                                                         .diurnal = generator.diurnal,
                                                         .limit_min = generator.limit_min,
                                                         .limit_max = generator.limit_max,
                                                         .like.output = "-"};
}

/* ---- trace generate: the table of GPU counts -------------------------------------------------------- */

static bool parse_pair(char *pair, struct hr_gpu_count *count) {
  char *weight = strchr(pair, ':');
  uint64_t gpus;
  if (!weight) return false;
  *weight++ = '\0';
  if (!parse_whole(pair, &gpus) || gpus < 1 || gpus > HR_MAX_GPUS) return false;
  count->gpus = (uint32_t)gpus;
  return parse_real(weight, &count->weight) && count->weight > 0;
}

/* Parses "1:0.7,2:0.1" into an array. The caller frees the array, even after an error. */
static enum hr_status parse_counts(const char *text, struct hr_gpu_count **counts, size_t *n_counts,
                                   struct hr_error *error) {
  char *copy = strdup(text);
  *counts = calloc(strlen(text) + 1, sizeof **counts); /* the number of commas + 1 would suffice */
  enum hr_status status = copy && *counts ? HR_OK : hr_fail(error, HR_NO_MEMORY, "out of memory");
  *n_counts = 0;
  for (char *pair = copy, *next; status == HR_OK && pair; pair = next) {
    next = strchr(pair, ',');
    if (next) *next++ = '\0';
    if (!parse_pair(pair, &(*counts)[(*n_counts)++]))
      status =
          hr_fail(error, HR_BAD_INPUT,
                  "--gpu-counts %.200s: expected N:WEIGHT with a whole number of GPUs and a weight above 0, such as "
                  "1:0.7,8:0.3; found '%.60s'",
                  text, pair);
  }
  free(copy);
  return status;
}

/* ---- trace generate: the parametric generator ------------------------------------------------------- */

static enum hr_status generate(const struct generate_args *args, struct hr_error *error) {
  struct hr_gpu_count *counts = NULL;
  struct hr_generator generator;
  hr_generator_init(&generator);
  generator.count = args->count;
  generator.seed = args->seed;
  generator.load = args->load;
  generator.nodes = (uint32_t)args->nodes;
  generator.gpus_per_node = (uint32_t)args->gpus_per_node;
  generator.median_s = args->median_s;
  generator.sigma = args->sigma;
  generator.max_s = args->max_s;
  generator.limit_min = args->limit_min;
  generator.limit_max = args->limit_max;
  generator.diurnal = args->diurnal;
  generator.users = (uint32_t)args->users;
  generator.tenants = (uint32_t)args->tenants;
  enum hr_status status = HR_OK;
  if (args->gpu_counts) {
    status = parse_counts(args->gpu_counts, &counts, &generator.n_gpu_counts, error);
    generator.gpu_counts = counts;
  }
  if (status == HR_OK) status = hr_generate(&generator, args->like.output, error);
  free(counts);
  return status;
}

/* ---- trace generate: --like: a workload model ------------------------------------------------------- */

/* Returns true if the command line has "--NAME" or "--NAME=...". */
static bool is_set(const struct command *command, const char *name) {
  size_t length = strlen(name);
  for (int i = 0; i < command->count && strcmp(command->words[i], "--") != 0; i++) {
    const char *word = command->words[i];
    if (strncmp(word, "--", 2) == 0 && strncmp(word + 2, name, length) == 0 && strchr("=", word[2 + length]))
      return true;
  }
  return false;
}

/* Rejects the first option of `names` that is set, with the message "--NAME REASON". `names` ends with NULL. */
static enum hr_status refuse(const struct command *command, const char *const *names, const char *reason,
                             struct hr_error *error) {
  for (; *names; names++)
    if (is_set(command, *names)) return hr_fail(error, HR_BAD_INPUT, "--%s %s", *names, reason);
  return HR_OK;
}

/* Rejects options that need --like. */
static enum hr_status refuse_without_like(const struct command *command, struct hr_error *error) {
  static const char *const names[] = {"model-out", "json", "format", "map", "lenient", "resample", "blocks", NULL};
  return refuse(command, names, "has no effect without --like NAME|FILE", error);
}

/* Rejects options that have no effect with --like. */
static enum hr_status refuse_with_like(const struct command *command, struct hr_error *error) {
  static const char *const model_options[] = {"median-s",  "sigma",     "max-s",      "diurnal",
                                              "limit-min", "limit-max", "gpu-counts", NULL};
  static const char *const load_options[] = {"nodes", "gpus-per-node", NULL}, *const resample_options[] = {"blocks",
                                                                                                           NULL};
  enum hr_status status = refuse(command, model_options, "cannot be used with --like: the model determines it", error);
  if (status == HR_OK && !is_set(command, "resample"))
    status = refuse(command, resample_options, "has no effect without --resample", error);
  if (status != HR_OK || is_set(command, "load") || is_set(command, "resample")) return status;
  return refuse(command, load_options, "has no effect without --load: jobs arrive at the model's own rate", error);
}

static bool is_shipped(const char *name) {
  for (const char *const *known = hr_workload_model_names(); *known; known++)
    if (strcmp(*known, name) == 0) return true;
  return false;
}

/* Checks a value of --like that does not name a shipped model. It must be a readable file, or "-". Otherwise, a value
   with a dot or a slash is reported as a file that cannot be read, and any other value as an unknown model. */
static enum hr_status check_name(const char *like, struct hr_error *error) {
  FILE *file = strcmp(like, "-") == 0 ? NULL : fopen(like, "rb");
  int reason = errno;
  if (file) fclose(file);
  if (file || strcmp(like, "-") == 0) return HR_OK;
  if (strpbrk(like, "./")) return hr_fail(error, HR_BAD_INPUT, "--like %s: cannot be read: %s", like, strerror(reason));
  return unknown_word("--like", like, hr_workload_model_names(), error);
}

static enum hr_status fit(const struct like_args *args, struct hr_workload_model **model, struct hr_error *error) {
  enum { FEW = 30 };
  struct hr_trace *trace = NULL;
  enum hr_status status = input_read_trace_alone(args->like, &args->input, &trace, error);
  if (status != HR_OK) return status;
  if (!args->quiet) input_print_trace_notes(stderr, trace);
  if (!args->quiet && trace->n_jobs < FEW)
    fprintf(stderr, "note: %s: fitted to %u job%s only, so the model overfits; use at least %d\n", trace->source,
            trace->n_jobs, trace->n_jobs == 1 ? "" : "s", FEW);
  status = hr_workload_model_fit(trace, model, error);
  hr_trace_destroy(trace);
  return status;
}

static enum hr_status find_model(const struct like_args *args, struct hr_workload_model **model,
                                 struct hr_error *error) {
  bool ships = is_shipped(args->like);
  if (!ships && !hr_workload_model_is_file(args->like)) return fit(args, model, error);
  if (args->input.format || args->input.map || args->input.lenient)
    return hr_fail(error, HR_BAD_INPUT, "--format, --map and --lenient need a trace; '%s' is a %s", args->like,
                   ships ? "shipped model" : "model file");
  return ships ? hr_workload_model_shipped(args->like, model, error) : hr_workload_model_load(args->like, model, error);
}

/* Prints a note if jobs do not fit on the cluster; such jobs are part of the workload and are kept. Prints a note if
   the requested load is not reached. With few jobs, not every load is possible. */
static void print_notes(const struct hr_workload_model_spec *spec, const struct hr_workload_model_figures *figures) {
  if (!(spec->load > 0)) return;
  double load = figures->mean_gpus / ((double)spec->nodes * spec->gpus_per_node);
  if (figures->too_large)
    fprintf(stderr,
            "note: %" PRIu64 " of %" PRIu64
            " jobs do not fit on the cluster's %u nodes of %u GPUs; the largest needs %u\n",
            figures->too_large, figures->jobs, spec->nodes, spec->gpus_per_node, figures->max_gpus);
  if (fabs(load / spec->load - 1) > 0.01)
    fprintf(stderr, "note: the load is %.3g, not %.3g: arrivals of so few jobs cannot be scaled to it\n", load,
            spec->load);
}

static enum hr_status generate_from_model(const struct like_request *request, struct hr_workload_model *model,
                                          struct hr_error *error) {
  const struct like_args *args = request->args;
  struct hr_workload_model_figures figures;
  enum hr_status status = hr_workload_model_set_people(model, request->users, request->tenants, error);
  if (status == HR_OK && args->model_out) status = hr_workload_model_write(model, args->model_out, error);
  if (status == HR_OK) status = hr_workload_model_generate(model, &request->spec, args->output, &figures, error);
  if (status == HR_OK && !args->quiet) print_notes(&request->spec, &figures);
  if (status != HR_OK || !args->json) return status;
  return hr_workload_model_figures_write(model, &request->spec, &figures, args->json, error);
}

/* ---- trace generate: --like --resample: days or weeks of a trace ------------------------------------ */

/* Determines the blocks to draw: those of --blocks. By default they are weeks if the trace has ten whole weeks,
   otherwise days. Draws from fewer blocks would be too similar to each other. Returns HR_BAD_INPUT for an unknown name,
   or if the trace has fewer than two whole blocks. */
static enum hr_status choose_blocks(const char *blocks, const struct hr_trace *trace, struct hr_workload_spec *spec,
                                    struct hr_error *error) {
  static const char *const known[] = {"days", "weeks", NULL};
  enum { ENOUGH_WEEKS = 10 };
  struct hr_workload_cut cut;
  if (blocks && strcmp(blocks, known[0]) != 0 && strcmp(blocks, known[1]) != 0)
    return unknown_word("--blocks", blocks, known, error);
  spec->blocks = HR_BLOCKS_WEEKS;
  bool enough = hr_trace_cut(trace, spec, &cut, NULL) == HR_OK && cut.n_whole >= ENOUGH_WEEKS;
  if (blocks ? strcmp(blocks, "days") == 0 : !enough) spec->blocks = HR_BLOCKS_DAYS;
  if (hr_trace_cut(trace, spec, &cut, NULL) == HR_OK) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: the trace has fewer than two whole %s to draw from", trace->source,
                 hr_blocks_name(spec->blocks));
}

static enum hr_status redraw(const struct like_request *request, const struct hr_trace *trace, struct hr_error *error) {
  struct hr_workload_spec spec;
  struct hr_trace *drawn = NULL;
  hr_workload_spec_init(&spec);
  enum hr_status status = choose_blocks(request->args->blocks, trace, &spec, error);
  if (status != HR_OK) return status;
  if (is_set(request->command, "count"))
    status = hr_trace_redraw_count(trace, &spec, request->spec.seed, (uint32_t)request->spec.count, &drawn, error);
  else
    status = hr_trace_redraw(trace, &spec, request->spec.seed, &drawn, error);
  if (status == HR_OK) status = hr_trace_write(drawn, request->args->output, NULL, NULL, error);
  hr_trace_destroy(drawn);
  return status;
}

static enum hr_status run_resample(const struct like_request *request, bool ships, struct hr_error *error) {
  static const char *const model_options[] = {"model-out", "json", "users", "tenants", NULL};
  static const char *const load_options[] = {"load", "nodes", "gpus-per-node", NULL};
  const struct like_args *args = request->args;
  struct hr_trace *trace = NULL;
  bool row_by_row;
  if (ships || hr_workload_model_is_file(args->like))
    return hr_fail(error, HR_BAD_INPUT, "--resample needs a trace; '%s' is a %s, which holds no jobs", args->like,
                   ships ? "shipped model" : "model file");
  enum hr_status status =
      refuse(request->command, model_options, "cannot be used with --resample, which draws from no model", error);
  if (status == HR_OK)
    status = refuse(request->command, load_options,
                    "cannot be used with --resample, which keeps the trace's load; 'headroom trace scale' changes it",
                    error);
  if (status == HR_OK) status = hr_generated_file(args->output, &row_by_row, error);
  if (status == HR_OK) status = input_read_trace_alone(args->like, &args->input, &trace, error);
  if (status != HR_OK) return status;
  if (!args->quiet) input_print_trace_notes(stderr, trace);
  status = redraw(request, trace, error);
  hr_trace_destroy(trace);
  return status;
}

/* ---- trace generate: the verb ----------------------------------------------------------------------- */

static enum hr_status run_like(const struct like_request *request, struct hr_error *error) {
  const struct like_args *args = request->args;
  const struct output outputs[] = {{"output", args->output}, {"model-out", args->model_out}, {"json", args->json}};
  const char *inputs[] = {args->like};
  const size_t n_outputs = sizeof outputs / sizeof *outputs;
  bool ships = is_shipped(args->like);
  enum hr_status status = refuse_with_like(request->command, error);
  if (status == HR_OK) status = outputs_check(outputs, n_outputs, inputs, ships ? 0 : 1, error);
  if (status == HR_OK) status = outputs_spare_params(outputs, n_outputs, args->input.format, error);
  if (status == HR_OK && !ships) status = check_name(args->like, error);
  if (status != HR_OK || args->resample) return status == HR_OK ? run_resample(request, ships, error) : status;
  struct hr_workload_model *model = NULL;
  status = find_model(args, &model, error);
  if (status == HR_OK) status = generate_from_model(request, model, error);
  hr_workload_model_destroy(model);
  return status;
}

static enum hr_status generate_like(const struct generate_args *args, struct hr_error *error) {
  struct like_request request = {.args = &args->like, .command = args->command};
  hr_workload_model_spec_init(&request.spec);
  request.spec.count = args->count;
  request.spec.seed = args->seed;
  request.spec.nodes = (uint32_t)args->nodes;
  request.spec.gpus_per_node = (uint32_t)args->gpus_per_node;
  request.spec.load = is_set(args->command, "load") ? args->load : 0;
  request.users = is_set(args->command, "users") ? (uint32_t)args->users : 0;
  request.tenants = is_set(args->command, "tenants") ? (uint32_t)args->tenants : 0;
  return run_like(&request, error);
}

static void generate_set_command(void *args, const struct command *command) {
  ((struct generate_args *)args)->command = command;
}

static enum hr_status generate_run_action(const void *args, const struct words *operands, struct hr_error *error) {
  const struct generate_args *generate_args = args;
  (void)operands;
  if (generate_args->like.like) return generate_like(generate_args, error);
  enum hr_status status = refuse_without_like(generate_args->command, error);
  return status == HR_OK ? generate(generate_args, error) : status;
}

const struct verb verb_trace_generate = {.name = "trace generate",
                                         .operands = "",
                                         .summary = "generate a synthetic trace",
                                         .details = generate_details,
                                         .options = generate_options,
                                         .args_bytes = sizeof(struct generate_args),
                                         .set_defaults = generate_set_defaults,
                                         .set_command = generate_set_command,
                                         .run = generate_run_action};

/* ---- trace check ------------------------------------------------------------------------------------ */

struct trace_check_args {
  struct input_args input;
  const char *cluster, *allow, *output, *json;
  bool quiet;
};

#define AT(field) offsetof(struct trace_check_args, field)
static const struct option check_options[] = {
    {.name = "cluster",
     .kind = OPTION_TEXT,
     .offset = AT(cluster),
     .value = "SCENARIO",
     .help =
         "also compare the jobs with this scenario's cluster; the trace is read with the settings of this scenario"},
    {.name = "allow",
     .kind = OPTION_TEXT,
     .offset = AT(allow),
     .value = "CODE,...",
     .help = "skip these kinds of findings, e.g. burst,gap (see 'headroom list findings')"},
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_TEXT,
     .offset = AT(output),
     .value = "FILE",
     .help = "write the table to a file (default: standard output)"},
    {.name = "json",
     .kind = OPTION_TEXT,
     .offset = AT(json),
     .value = "FILE",
     .help = "write the findings as JSON ('-': standard output; the table is then only written to the file of -o)"},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_FLAG,
     .offset = AT(quiet),
     .help = "print no table on standard output; files and errors are still written, the exit code is the same"},
    TRACE_OPTIONS(trace_check_args),
    {0}};

static const char check_details[] = "The trace is read with --lenient: bad rows are findings too. A finding is an\n"
                                    "error (rows are lost, jobs never run, queues never drain), a warning\n"
                                    "(suspicious) or a note (for information). docs/reference/trace-check.md lists\n"
                                    "each kind, when it is reported, what it means and what to do.\n"
                                    "Exit code: 0 no errors or warnings, 1 errors or warnings, 2 the trace cannot be\n"
                                    "read, or bad usage, 4 system failure.\n\n"
                                    "Examples:\n"
                                    "  headroom trace check jobs.csv --cluster scenarios/demo.json\n"
                                    "  headroom trace check philly.csv.gz --allow burst,gap --json findings.json\n";

struct trace_check_state {
  const struct trace_check_args *args;
  struct input input;
  struct hr_trace_check_config config;
  struct hr_trace_check *check;
};

static enum hr_status parse_allowed(struct trace_check_state *check, struct hr_error *error) {
  const char *text = check->args->allow;
  struct hr_error inner = {0};
  enum hr_status status = text ? hr_findings_parse(text, check->config.allowed, &inner) : HR_OK;
  return status == HR_OK ? HR_OK : hr_fail(error, status, "--allow %.200s: %s", text, inner.text);
}

static enum hr_status check_outputs(const struct trace_check_state *check, const char *path, struct hr_error *error) {
  const struct trace_check_args *args = check->args;
  const struct output outputs[] = {{"output", args->output}, {"json", args->json}};
  const char *const inputs[] = {path, args->cluster ? args->cluster : path};
  const size_t n_outputs = sizeof outputs / sizeof *outputs;
  enum hr_status status = outputs_check(outputs, n_outputs, inputs, sizeof inputs / sizeof *inputs, error);
  return status == HR_OK ? outputs_spare_params(outputs, n_outputs, args->input.format, error) : status;
}

/* Reads the trace; bad rows are skipped, since the check reports them. With --cluster, the trace is read as by `run
   SCENARIO --trace FILE --lenient`. */
static enum hr_status read_all(struct trace_check_state *check, const char *path, struct hr_error *error) {
  struct input_args args = check->args->input;
  args.lenient = true;
  args.trace = path;
  if (!check->args->cluster) return input_read_trace_alone(path, &args, &check->input.trace, error);
  enum hr_status status = input_open(&check->input, check->args->cluster, &args, error);
  return status == HR_OK ? input_read_trace(&check->input, &args, error) : status;
}

static enum hr_status check_print(const struct trace_check_state *check, struct hr_error *error) {
  const struct trace_check_args *args = check->args;
  bool to_file = args->output && !is_stdout(args->output);
  bool table = to_file || (!args->quiet && !is_stdout(args->json));
  enum hr_status status = args->json ? hr_trace_check_write_json(args->json, check->check, error) : HR_OK;
  if (status != HR_OK || !table) return status;
  status = hr_trace_check_write(to_file ? args->output : "-", check->check, !to_file && wants_colour(), error);
  if (status == HR_OK && !to_file && !check->input.scenario)
    next_step_print(
        stdout, &(struct next_step){
                    .verb = "trace check", .apart = true, .input = &args->input, .trace = check->input.trace->source});
  return status;
}

static enum hr_status fail_on_findings(const struct trace_check_state *check, const char *path,
                                       struct hr_error *error) {
  size_t errors = hr_trace_check_count(check->check, HR_SEVERITY_ERROR);
  size_t warnings = hr_trace_check_count(check->check, HR_SEVERITY_WARNING);
  if (errors + warnings == 0) return HR_OK;
  return hr_fail(error, HR_CHECK_FAILED,
                 "%s: %zu error%s and %zu warning%s; use --allow CODE,... to ignore expected findings", path, errors,
                 errors == 1 ? "" : "s", warnings, warnings == 1 ? "" : "s");
}

static enum hr_status run_all(struct trace_check_state *check, const char *path, struct hr_error *error) {
  enum hr_status status = parse_allowed(check, error);
  if (status == HR_OK) status = check_outputs(check, path, error);
  if (status == HR_OK) status = read_all(check, path, error);
  if (status != HR_OK) return status;
  check->config.trace = check->input.trace;
  const struct hr_scenario *scenario = check->input.scenario;
  if (scenario) {
    check->config.cluster = &scenario->cluster;
    check->config.cluster_name = scenario->name;
    check->config.classes = scenario->classes;
    check->config.speeds = scenario->speeds;
  }
  status = hr_trace_check_make(&check->config, &check->check, error);
  if (status == HR_OK) status = check_print(check, error);
  return status == HR_OK ? fail_on_findings(check, path, error) : status;
}

static enum hr_status check_run_action(const void *args, const struct words *operands, struct hr_error *error) {
  struct trace_check_state check = {.args = args};
  enum hr_status status = run_all(&check, operands->at[0], error);
  hr_trace_check_destroy(check.check);
  input_finish(&check.input);
  return status;
}

static const struct verb verb_trace_check = {.name = "trace check",
                                             .operands = "TRACE",
                                             .min_operands = 1,
                                             .max_operands = 1,
                                             .summary = "list wrong and suspicious data of a trace: exit code 0 or 1",
                                             .details = check_details,
                                             .options = check_options,
                                             .args_bytes = sizeof(struct trace_check_args),
                                             .run = check_run_action};

/* ---- trace stats ------------------------------------------------------------------------------------ */

struct stats_args {
  struct input_args input;
  const char *output, *json;
  bool quiet;
};

#define STATS_AT(field) offsetof(struct stats_args, field)
static const struct option stats_options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_TEXT,
     .offset = STATS_AT(output),
     .value = "FILE",
     .help = "write the tables to a file (default: standard output)"},
    {.name = "json",
     .kind = OPTION_TEXT,
     .offset = STATS_AT(json),
     .value = "FILE",
     .help = "write all figures as JSON ('-': standard output; the tables are then only written to the file of -o)"},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_FLAG,
     .offset = STATS_AT(quiet),
     .help = "print no tables on standard output and no notes; files are still written"},
    TRACE_OPTIONS(stats_args),
    {0}};

static const char stats_details[] = "Prints sizes, run times and GPU hours by size, class, tenant, user and outcome;\n"
                                    "arrivals by hour and weekday; burstiness; fitted distributions.\n"
                                    "docs/reference/trace-stats.md defines each figure.\n"
                                    "Exit code: 0 success, 2 bad input or usage, 4 system failure.\n\n"
                                    "Examples:\n"
                                    "  headroom trace stats jobs.csv\n"
                                    "  headroom trace stats philly.csv.gz --json stats.json\n";

static enum hr_status stats_check_outputs(const struct stats_args *args, const char *path, struct hr_error *error) {
  const struct output outputs[] = {{"output", args->output}, {"json", args->json}};
  const size_t n_outputs = sizeof outputs / sizeof *outputs;
  enum hr_status status = outputs_check(outputs, n_outputs, &path, 1, error);
  return status == HR_OK ? outputs_spare_params(outputs, n_outputs, args->input.format, error) : status;
}

static enum hr_status stats_print(const struct stats_args *args, const char *path, const struct hr_trace_stats *stats,
                                  struct hr_error *error) {
  bool to_file = args->output && !is_stdout(args->output);
  bool table = to_file || (!args->quiet && !is_stdout(args->json));
  enum hr_status status = args->json ? hr_trace_stats_write_json(args->json, stats, error) : HR_OK;
  if (status != HR_OK || !table) return status;
  status =
      hr_trace_stats_write(to_file ? args->output : "-", stats, to_file ? HR_STYLE_UNICODE : terminal_style(), error);
  if (status == HR_OK && !to_file)
    next_step_print(stdout,
                    &(struct next_step){.verb = "trace stats", .apart = true, .input = &args->input, .trace = path});
  return status;
}

static enum hr_status stats_run_action(const void *untyped, const struct words *operands, struct hr_error *error) {
  const struct stats_args *args = untyped;
  const char *path = operands->at[0];
  struct hr_trace *trace = NULL;
  struct hr_trace_stats *stats = NULL;
  enum hr_status status = stats_check_outputs(args, path, error);
  if (status == HR_OK) status = input_read_trace_alone(path, &args->input, &trace, error);
  if (status == HR_OK && !args->quiet) input_print_trace_notes(stderr, trace);
  if (status == HR_OK) status = hr_trace_stats_make(trace, &stats, error);
  if (status == HR_OK) status = stats_print(args, path, stats, error);
  hr_trace_stats_destroy(stats);
  hr_trace_destroy(trace);
  return status;
}

static const struct verb verb_trace_stats = {
    .name = "trace stats",
    .operands = "TRACE",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "print statistics of a trace: sizes, run times, arrivals, shares, fits",
    .details = stats_details,
    .options = stats_options,
    .args_bytes = sizeof(struct stats_args),
    .run = stats_run_action};

/* ---- trace pack ------------------------------------------------------------------------------------- */

struct pack_args {
  struct input_args input;
  const char *output, *json;
  bool quiet;
};

static const struct option pack_options[] = {{.name = "output",
                                              .letter = 'o',
                                              .kind = OPTION_TEXT,
                                              .offset = offsetof(struct pack_args, output),
                                              .value = "FILE",
                                              .help = "the packed trace to write, e.g. jobs.hrt"},
                                             {.name = "json",
                                              .kind = OPTION_TEXT,
                                              .offset = offsetof(struct pack_args, json),
                                              .value = "FILE",
                                              .help = "write jobs, bytes and sections as JSON ('-': standard output)"},
                                             {.name = "quiet",
                                              .letter = 'q',
                                              .kind = OPTION_FLAG,
                                              .offset = offsetof(struct pack_args, quiet),
                                              .help = "print no notes; errors are still printed"},
                                             TRACE_OPTIONS(pack_args),
                                             {0}};

static const char pack_details[] = "A packed trace is memory-mapped, so it opens without parsing. It is recognised\n"
                                   "without --format, and contains all fields that were read from the input.\n"
                                   "docs/reference/formats/packed.md describes its layout.\n"
                                   "Exit code: 0 success, 2 bad input or usage, 4 system failure.\n\n"
                                   "Examples:\n"
                                   "  headroom trace pack jobs.csv.gz -o jobs.hrt\n"
                                   "  headroom run scenarios/demo.json --trace jobs.hrt\n";

static enum hr_status pack_check_outputs(const char *path, const struct pack_args *args, struct hr_error *error) {
  if (!args->output)
    return hr_fail(error, HR_BAD_INPUT, "trace pack: -o FILE is missing\nTry 'headroom help trace pack'.");
  if (!hr_trace_writer_find("packed", args->output, error)) return HR_BAD_INPUT;
  const struct output outputs[] = {{"output", args->output}, {"json", args->json}};
  const char *const inputs[] = {path};
  const size_t n_outputs = sizeof outputs / sizeof *outputs;
  enum hr_status status = outputs_check(outputs, n_outputs, inputs, 1, error);
  return status == HR_OK ? outputs_spare_params(outputs, n_outputs, args->input.format, error) : status;
}

static enum hr_status pack(const void *untyped, const struct words *operands, struct hr_error *error) {
  const struct pack_args *args = untyped;
  struct hr_trace *trace = NULL;
  struct hr_packed packed;
  enum hr_status status = pack_check_outputs(operands->at[0], args, error);
  if (status == HR_OK) status = input_read_trace_spooled(operands->at[0], &args->input, &trace, error);
  if (status == HR_OK) status = hr_trace_pack(trace, args->output, &packed, error);
  if (status == HR_OK && args->json) status = hr_packed_write_json(&packed, args->json, error);
  if (status == HR_OK && !args->quiet) input_print_trace_notes(stderr, trace);
  hr_trace_destroy(trace);
  return status;
}

static const struct verb verb_trace_pack = {.name = "trace pack",
                                            .operands = "TRACE",
                                            .min_operands = 1,
                                            .max_operands = 1,
                                            .summary =
                                                "write a trace in the packed format, which opens without parsing",
                                            .details = pack_details,
                                            .options = pack_options,
                                            .args_bytes = sizeof(struct pack_args),
                                            .run = pack};

/* ---- trace ------------------------------------------------------------------------------------------ */

static const struct verb *const actions[] = {&verb_trace_generate,
                                             &verb_trace_check,
                                             &verb_trace_stats,
                                             &verb_trace_convert,
                                             &verb_trace_pack,
                                             &verb_trace_cut,
                                             &verb_trace_scale,
                                             &verb_trace_merge,
                                             &verb_trace_anonymise,
                                             &verb_trace_shuffle,
                                             NULL};

const struct verb verb_trace = {
    .name = "trace", .summary = "generate, check, describe and transform traces", .actions = actions};
