/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The actions `trace convert`, `cut`, `scale` and `shuffle`, and the common part of all transformations. The report is
   printed on standard output, unless the trace or the JSON is written there. */

#include "cli/verbs/trace_transform.h"

#include "cli/cli.h"
#include "headroom/unstable/exports.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *output_of(const struct transform *transform) {
  return transform->args->output ? transform->args->output : "-";
}

static enum hr_status check_outputs(const struct transform *transform, struct hr_error *error) {
  const struct output outputs[] = {{"output", output_of(transform)}, {"json", transform->args->json}};
  const size_t n_outputs = sizeof outputs / sizeof *outputs;
  enum hr_status status = outputs_check(outputs, n_outputs, transform->paths->at, transform->paths->count, error);
  if (status == HR_OK) status = outputs_spare_params(outputs, n_outputs, transform->args->input.format, error);
  if (status != HR_OK || !transform->also_read) return status;
  return outputs_check(outputs, n_outputs, &transform->also_read, 1, error);
}

static enum hr_status check_inputs(const struct words *paths, struct hr_error *error) {
  size_t n = 0;
  for (size_t i = 0; i < paths->count; i++) n += strcmp(paths->at[i], "-") == 0;
  return n < 2 ? HR_OK
               : hr_fail(error, HR_BAD_INPUT, "-: standard input is named %zu times, but can be read only once", n);
}

enum hr_status transform_open(struct transform *transform, struct hr_error *error) {
  const struct transform_args *args = transform->args;
  enum hr_status status = HR_OK;
  if (!hr_trace_writer_find(args->to, output_of(transform), error)) status = HR_BAD_INPUT;
  if (status == HR_OK) status = check_inputs(transform->paths, error);
  if (status == HR_OK) status = check_outputs(transform, error);
  if (status != HR_OK) return status;
  transform->traces = calloc(transform->paths->count, sizeof *transform->traces);
  if (!transform->traces) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  for (size_t i = 0; status == HR_OK && i < transform->paths->count; i++)
    status = transform->spooled
                 ? input_read_trace_spooled(transform->paths->at[i], &args->input, &transform->traces[i], error)
                 : input_read_trace_alone(transform->paths->at[i], &args->input, &transform->traces[i], error);
  return status;
}

void transform_finish(struct transform *transform) {
  for (size_t i = 0; transform->traces && i < transform->paths->count; i++) hr_trace_destroy(transform->traces[i]);
  free(transform->traces);
  hr_trace_destroy(transform->result);
}

/* ---- Output ----------------------------------------------------------------------------------------- */

static void print_notes(const struct transform *transform, const struct hr_notes *losses) {
  for (size_t i = 0; i < transform->paths->count; i++) input_print_trace_notes(stderr, transform->traces[i]);
  notes_print(stderr, losses);
}

static enum hr_status print_report(const struct transform *transform, const struct hr_transformation *report,
                                   struct hr_error *error) {
  const struct transform_args *args = transform->args;
  struct hr_notes losses = {0};
  enum hr_status status = args->json ? hr_transformation_write_json(args->json, report, error) : HR_OK;
  if (status != HR_OK || args->quiet) return status;
  status = hr_trace_loss_notes(report->written, &losses);
  if (status == HR_OK) print_notes(transform, &losses);
  hr_notes_finish(&losses);
  if (status == HR_OK && !is_stdout(report->path) && !is_stdout(args->json))
    status = hr_transformation_print(stdout, report);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "cannot print the report: %s", hr_status_meaning(status));
}

enum hr_status transform_write(const struct transform *transform, struct hr_error *error) {
  const struct hr_trace *result = transform->result ? transform->result : transform->traces[0];
  size_t n = transform->paths->count;
  struct hr_transform_input *inputs = calloc(n, sizeof *inputs);
  struct hr_trace_written written;
  if (!inputs) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  for (size_t i = 0; i < n; i++)
    inputs[i] = (struct hr_transform_input){transform->paths->at[i], hr_trace_size_of(transform->traces[i])};
  const struct hr_transformation report = {.action = transform->action,
                                           .inputs = inputs,
                                           .n_inputs = n,
                                           .out = hr_trace_size_of(result),
                                           .path = output_of(transform),
                                           .written = &written,
                                           .method = transform->method,
                                           .seed = transform->seed,
                                           .seeded = transform->seeded};
  enum hr_status status = hr_trace_write(result, output_of(transform), transform->args->to, &written, error);
  if (status == HR_OK) status = print_report(transform, &report, error);
  free(inputs);
  return status;
}

/* ---- trace convert ---------------------------------------------------------------------------------- */

struct convert_args {
  struct transform_args base;
};

static const struct option convert_options[] = {
    TRANSFORM_OPTIONS,
    {.name = "to",
     .kind = OPTION_TEXT,
     .offset = TRANSFORM_OPTION(to),
     .value = "FORMAT",
     .help = "csv, swf or packed, instead of the format of the output's name"},
    {0}};

static const char convert_details[] =
    "Headroom's CSV preserves a trace exactly, to the microsecond. For other formats,\n"
    "notes list the fields that are lost. See docs/reference/traces.md.\n"
    "Exit code: 0 success, 2 bad input or usage, 4 system failure.\n\n"
    "Examples:\n"
    "  headroom trace convert RICC-2010-2.swf.gz -o ricc.csv.zst\n"
    "  headroom trace convert jobs.csv -o jobs.swf --json lost.json\n";

static enum hr_status convert_run(const void *args, const struct words *operands, struct hr_error *error) {
  const struct convert_args *convert = args;
  struct transform transform = {.args = &convert->base, .paths = operands, .action = "convert"};
  enum hr_status status = transform_open(&transform, error);
  if (status == HR_OK) status = transform_write(&transform, error);
  transform_finish(&transform);
  return status;
}

const struct verb verb_trace_convert = {.name = "trace convert",
                                        .operands = "TRACE",
                                        .min_operands = 1,
                                        .max_operands = 1,
                                        .summary = "write a trace in another format",
                                        .details = convert_details,
                                        .options = convert_options,
                                        .args_bytes = sizeof(struct convert_args),
                                        .run = convert_run};

/* ---- trace cut -------------------------------------------------------------------------------------- */

struct cut_args {
  struct transform_args base;
  const char *from, *to;
  uint64_t jobs; /* 0: not set */
  struct words tenants, users, gpu_types;
  bool keep_running;
};

#define AT(field) offsetof(struct cut_args, field)
static const struct option cut_options[] = {
    {.name = "from",
     .kind = OPTION_TEXT,
     .offset = AT(from),
     .value = "TIME",
     .help = "drop jobs submitted before: 2d, 36h, 90 (seconds) after the first submit, a date, or @SECONDS on the "
             "clock of a "
             "trace without dates"},
    {.name = "to",
     .kind = OPTION_TEXT,
     .offset = AT(to),
     .value = "TIME",
     .help = "drop jobs submitted at this time or later"},
    {.name = "jobs",
     .kind = OPTION_WHOLE,
     .offset = AT(jobs),
     .value = "N",
     .help = "keep only the first N of the remaining jobs",
     .min = 1,
     .max = UINT32_MAX - 1},
    {.name = "tenant",
     .kind = OPTION_LIST,
     .offset = AT(tenants),
     .value = "NAME",
     .help = "keep only jobs of this tenant; may be repeated"},
    {.name = "user",
     .kind = OPTION_LIST,
     .offset = AT(users),
     .value = "NAME",
     .help = "keep only jobs of this user; may be repeated"},
    {.name = "gpu-type",
     .kind = OPTION_LIST,
     .offset = AT(gpu_types),
     .value = "TYPE",
     .help = "keep only jobs that accept this GPU type; may be repeated"},
    {.name = "keep-running",
     .kind = OPTION_FLAG,
     .offset = AT(keep_running),
     .help =
         "also keep jobs that are running at the beginning of the window, with their remaining work (needs recorded "
         "starts)"},
    TRANSFORM_OPTIONS,
    {0}};

static const char cut_details[] = "Times, ids and all other fields of the jobs do not change.\n"
                                  "See docs/reference/traces.md.\n"
                                  "Exit code: 0 success, 2 bad input or usage, 4 system failure.\n\n"
                                  "Examples:\n"
                                  "  headroom trace cut jobs.csv --from 7d --to 14d -o week.csv\n"
                                  "  headroom trace cut helios.csv.gz --from 2020-06-01 --tenant vcA -o june.csv\n";

static enum hr_status cut_read_options(const struct cut_args *args, const struct hr_trace *trace,
                                       struct hr_cut_spec *spec, struct hr_error *error) {
  hr_cut_spec_init(spec);
  spec->tenants = (struct hr_name_list){args->tenants.at, args->tenants.count};
  spec->users = (struct hr_name_list){args->users.at, args->users.count};
  spec->gpu_types = (struct hr_name_list){args->gpu_types.at, args->gpu_types.count};
  spec->max_jobs = (uint32_t)args->jobs;
  spec->keep_running = args->keep_running;
  enum hr_status status = HR_OK;
  if (args->from) status = hr_trace_time_parse(trace, "from", args->from, &spec->from_us, error);
  if (status == HR_OK && args->to) status = hr_trace_time_parse(trace, "to", args->to, &spec->to_us, error);
  if (status == HR_OK && args->keep_running && !args->from)
    status = hr_fail(error, HR_BAD_INPUT, "--keep-running needs --from TIME, the beginning of the window");
  return status;
}

static enum hr_status cut_run(const void *args, const struct words *operands, struct hr_error *error) {
  const struct cut_args *cut = args;
  struct transform transform = {.args = &cut->base, .paths = operands, .action = "cut"};
  struct hr_cut_spec spec;
  enum hr_status status = transform_open(&transform, error);
  if (status == HR_OK) status = cut_read_options(cut, transform.traces[0], &spec, error);
  if (status == HR_OK) status = hr_transform_cut(transform.traces[0], &spec, &transform.result, error);
  if (status == HR_OK) status = transform_write(&transform, error);
  transform_finish(&transform);
  return status;
}

const struct verb verb_trace_cut = {.name = "trace cut",
                                    .operands = "TRACE",
                                    .min_operands = 1,
                                    .max_operands = 1,
                                    .summary = "cut a trace to a time window, or to some of its jobs",
                                    .details = cut_details,
                                    .options = cut_options,
                                    .args_bytes = sizeof(struct cut_args),
                                    .run = cut_run};

/* ---- trace scale ------------------------------------------------------------------------------------ */

struct scale_args {
  struct transform_args base;
  const char *by, *jitter, *seed; /* NULL: not set */
  double load;                    /* 0: not set */
};

#define SCALE_AT(field) offsetof(struct scale_args, field)
static const struct option scale_options[] = {
    {.name = "load",
     .kind = OPTION_REAL,
     .offset = SCALE_AT(load),
     .value = "X",
     .help = "load relative to the trace's: 0.5 is half, 2 is twice",
     .min = HR_MIN_LOAD_SCALE,
     .max = HR_MAX_LOAD_SCALE},
    {.name = "by",
     .kind = OPTION_TEXT,
     .offset = SCALE_AT(by),
     .value = "METHOD",
     .help = "thin: drop jobs; duplicate: repeat jobs at about the same time; compress: change the time between jobs "
             "(default: thin below 1, duplicate from 1)"},
    {.name = "jitter",
     .kind = OPTION_TEXT,
     .offset = SCALE_AT(jitter),
     .value = "TIME",
     .help = "maximum distance of copies from their jobs, in either direction (default: 1h); only with duplicate"},
    {.name = "seed",
     .kind = OPTION_TEXT,
     .offset = SCALE_AT(seed),
     .value = "N",
     .help = "random seed (default: 1); the same seed gives the same jobs; not with compress, which is deterministic"},
    TRANSFORM_OPTIONS,
    {0}};

static const char scale_details[] = "thin and duplicate preserve daily and weekly patterns and the mix of jobs.\n"
                                    "compress preserves all jobs and their order, but changes the length of days.\n"
                                    "docs/reference/traces.md lists what each method preserves.\n"
                                    "Exit code: 0 success, 2 bad input or usage, 4 system failure.\n\n"
                                    "Examples:\n"
                                    "  headroom trace scale jobs.csv --load 0.5 -o half.csv\n"
                                    "  headroom trace scale jobs.csv --load 1.5 --by compress -o denser.csv\n";

static enum hr_status find_method(const char *name, enum hr_scaling *by, struct hr_error *error) {
  static const char *const known[] = {
#define SCALING_WORD(name, text) text,
      HR_SCALING_TABLE(SCALING_WORD)
#undef SCALING_WORD
          NULL};
  for (int i = 0; i < HR_N_SCALINGS; i++) {
    *by = (enum hr_scaling)i;
    if (strcmp(known[i], name) == 0) return HR_OK;
  }
  return unknown_word("method", name, known, error);
}

/* Rejects options that have no effect with the scaling method `by`. */
static enum hr_status check_method(const struct scale_args *args, enum hr_scaling by, struct hr_error *error) {
  if (args->jitter && by != HR_SCALING_DUPLICATE)
    return hr_fail(error, HR_BAD_INPUT, "--jitter %.60s has no effect with '%s', which makes no copies", args->jitter,
                   hr_scaling_name(by));
  if (args->seed && by == HR_SCALING_COMPRESS)
    return hr_fail(error, HR_BAD_INPUT, "--seed %.60s has no effect with '%s', which is deterministic", args->seed,
                   hr_scaling_name(by));
  return HR_OK;
}

static enum hr_status parse_seed(const char *text, uint64_t *seed, struct hr_error *error) {
  *seed = 1;
  if (!text || parse_whole(text, seed)) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "--seed %.60s: expected a whole number from 0 to %" PRIu64, text, UINT64_MAX);
}

static enum hr_status scale_read_options(const struct scale_args *args, struct hr_scale_spec *spec,
                                         struct hr_error *error) {
  *spec = (struct hr_scale_spec){.by = args->load < 1 ? HR_SCALING_THIN : HR_SCALING_DUPLICATE, .load = args->load};
  if (!(args->load > 0))
    return hr_fail(error, HR_BAD_INPUT, "trace scale: --load X is missing\nTry 'headroom help trace scale'.");
  enum hr_status status = args->by ? find_method(args->by, &spec->by, error) : HR_OK;
  if (status == HR_OK) status = check_method(args, spec->by, error);
  if (status == HR_OK) status = parse_seed(args->seed, &spec->seed, error);
  if (status != HR_OK) return status;
  return hr_span_parse("jitter", args->jitter ? args->jitter : "1h", false, &spec->jitter_us, error);
}

static enum hr_status scale_run(const void *args, const struct words *operands, struct hr_error *error) {
  const struct scale_args *scale = args;
  struct transform transform = {.args = &scale->base, .paths = operands, .action = "scale", .spooled = true};
  struct hr_scale_spec spec;
  enum hr_status status = scale_read_options(scale, &spec, error);
  if (status == HR_OK) status = transform_open(&transform, error);
  transform.method = hr_scaling_name(spec.by);
  transform.seed = spec.seed;
  transform.seeded = spec.by != HR_SCALING_COMPRESS;
  if (status == HR_OK) status = hr_transform_scale(transform.traces[0], &spec, &transform.result, error);
  if (status == HR_OK) status = transform_write(&transform, error);
  transform_finish(&transform);
  return status;
}

const struct verb verb_trace_scale = {.name = "trace scale",
                                      .operands = "TRACE",
                                      .min_operands = 1,
                                      .max_operands = 1,
                                      .summary = "change the load of a trace",
                                      .details = scale_details,
                                      .options = scale_options,
                                      .args_bytes = sizeof(struct scale_args),
                                      .run = scale_run};

/* ---- trace shuffle ---------------------------------------------------------------------------------- */

struct shuffle_args {
  struct transform_args base;
  const char *what;
  uint64_t seed;
};

#define SHUFFLE_AT(field) offsetof(struct shuffle_args, field)
static const struct option shuffle_options[] = {
    {.name = "what",
     .kind = OPTION_TEXT,
     .offset = SHUFFLE_AT(what),
     .value = "WHAT",
     .help =
         "arrivals: permute submit times among jobs; rows: permute jobs with equal submit times; users: permute users "
         "among jobs (default: arrivals)"},
    {.name = "seed",
     .kind = OPTION_WHOLE,
     .offset = SHUFFLE_AT(seed),
     .value = "N",
     .help = "random seed; the same seed gives the same trace",
     .min = 0,
     .max = 0x1p64},
    TRANSFORM_OPTIONS,
    {0}};

static const char shuffle_details[] =
    "Permutes one property among the jobs and preserves all others. Shuffling removes\n"
    "correlations, for example bursts of similar jobs of one user, so their effect on\n"
    "a policy can be measured. See docs/reference/traces.md.\n"
    "Exit code: 0 success, 2 bad input or usage, 4 system failure.\n\n"
    "Example:\n"
    "  headroom trace shuffle jobs.csv --what arrivals --seed 7 -o shuffled.csv\n";

static void shuffle_set_defaults(void *args) {
  *(struct shuffle_args *)args = (struct shuffle_args){.what = "arrivals", .seed = 1};
}

static enum hr_status find_what(const char *name, enum hr_shuffling *what, struct hr_error *error) {
  static const char *const known[] = {
#define SHUFFLING_WORD(name, text) text,
      HR_SHUFFLING_TABLE(SHUFFLING_WORD)
#undef SHUFFLING_WORD
          NULL};
  for (int i = 0; i < HR_N_SHUFFLINGS; i++) {
    *what = (enum hr_shuffling)i;
    if (strcmp(known[i], name) == 0) return HR_OK;
  }
  return unknown_word("shuffle", name, known, error);
}

static enum hr_status shuffle_run(const void *args, const struct words *operands, struct hr_error *error) {
  const struct shuffle_args *shuffle = args;
  struct transform transform = {.args = &shuffle->base,
                                .paths = operands,
                                .action = "shuffle",
                                .method = shuffle->what,
                                .seed = shuffle->seed,
                                .seeded = true};
  enum hr_shuffling what;
  enum hr_status status = find_what(shuffle->what, &what, error);
  if (status == HR_OK) status = transform_open(&transform, error);
  if (status == HR_OK)
    status = hr_transform_shuffle(transform.traces[0], what, shuffle->seed, &transform.result, error);
  if (status == HR_OK) status = transform_write(&transform, error);
  transform_finish(&transform);
  return status;
}

const struct verb verb_trace_shuffle = {.name = "trace shuffle",
                                        .operands = "TRACE",
                                        .min_operands = 1,
                                        .max_operands = 1,
                                        .summary = "permute the jobs of a trace",
                                        .details = shuffle_details,
                                        .options = shuffle_options,
                                        .args_bytes = sizeof(struct shuffle_args),
                                        .set_defaults = shuffle_set_defaults,
                                        .run = shuffle_run};
