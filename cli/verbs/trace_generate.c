/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom trace generate`: writes a synthetic trace. Without --like, the parametric generator makes the jobs (Poisson
   arrivals with a daily wave, log-normal run times). With --like, a workload model makes them. The model is shipped,
   read from a file, or fitted to a trace. With --like and --resample, whole days or weeks of a trace are drawn with
   replacement. */

#include "cli/cli.h"
#include "cli/input.h"
#include "headroom/headroom.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/scenario_files.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct like_args {
  const char *like, *model_out, *json, *blocks, *output;
  struct input_args input;
  bool quiet, resample;
};

struct generate_args {
  uint64_t count, seed, nodes, gpus_per_node, users, tenants;
  double load, median_s, sigma, max_s, diurnal, limit_min, limit_max;
  const char *gpu_counts;
  struct like_args like; /* `output` and `quiet` are also used without --like */
  const struct command *command;
};

/* The arguments of --like, with those options of the parametric generator that also apply to it. */
struct like_request {
  const struct like_args *args;
  const struct command *command; /* determines which options were set */
  struct hr_workload_model_spec spec;
  uint32_t users, tenants; /* 0: as in the model */
};

/* ---- Options ---------------------------------------------------------------------------------------- */

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

static const struct option options[] = {
    WHOLE("count", count, "N", 1, UINT32_MAX - 1, "number of jobs"),
    WHOLE("seed", seed, "N", 0, 0x1p64, "the same seed gives the same bytes"),
    REAL("load", load, "X", 1e-6, 1000, "mean number of requested GPUs, as a share of the cluster's"),
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

static const char details[] = "Without --like, arrivals are a Poisson process with a daily wave, and run times\n"
                              "are log-normal. docs/researcher/generate.md describes the generator and the\n"
                              "models of --like.\n"
                              "Exit code: 0 success, 2 bad input or usage, 4 system failure.\n\n"
                              "Examples:\n"
                              "  headroom trace generate --count 5000 --seed 1 --load 0.8 --nodes 8 -o jobs.csv\n"
                              "  headroom trace generate --like helios --count 100000 --seed 1 -o jobs.csv\n"
                              "  headroom trace generate --like jobs.csv --resample --count 100000 -o other.csv\n";

static void set_defaults(void *args) {
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

/* ---- The table of GPU counts ------------------------------------------------------------------------ */

static bool parse_pair(char *pair, struct hr_gpu_count *count) {
  char *weight = strchr(pair, ':');
  uint64_t gpus;
  if (!weight) return false;
  *weight++ = '\0';
  if (!parse_whole(pair, &gpus) || gpus < 1 || gpus > HR_MAX_GPUS) return false;
  count->gpus = (uint32_t)gpus;
  return parse_real(weight, &count->weight) && count->weight > 0;
}

/* Parses "1:0.7,2:0.1" into an array. The caller frees the array. */
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

/* ---- The parametric generator ----------------------------------------------------------------------- */

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

/* ---- --like: a workload model ------------------------------------------------------------------------ */

/* Whether the command line has "--NAME" or "--NAME=...". */
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
   the requested load is not reached, since few jobs cannot be scaled to every load. */
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

/* ---- --like --resample: days or weeks of a trace ---------------------------------------------------- */

/* Determines the blocks to draw: those of --blocks. By default they are weeks if the trace has ten whole weeks,
   otherwise days. Draws from fewer blocks would be too similar to each other. */
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

/* ---- The verb --------------------------------------------------------------------------------------- */

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

static void set_command(void *args, const struct command *command) {
  ((struct generate_args *)args)->command = command;
}

static enum hr_status run_action(const void *args, const struct words *operands, struct hr_error *error) {
  const struct generate_args *generate_args = args;
  (void)operands;
  if (generate_args->like.like) return generate_like(generate_args, error);
  enum hr_status status = refuse_without_like(generate_args->command, error);
  return status == HR_OK ? generate(generate_args, error) : status;
}

const struct verb verb_trace_generate = {.name = "trace generate",
                                         .operands = "",
                                         .summary = "generate a synthetic trace",
                                         .details = details,
                                         .options = options,
                                         .args_bytes = sizeof(struct generate_args),
                                         .set_defaults = set_defaults,
                                         .set_command = set_command,
                                         .run = run_action};
