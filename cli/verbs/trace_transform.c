/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The actions of `headroom trace` that transform traces into one trace: convert, cut, scale, shuffle, merge and
   anonymise. Their common part is options, input, output and the report. The report is printed on standard output,
   unless the trace or the JSON is written there. */

#include "cli/cli.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/trace_tools.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct transform_args {
  struct input_args input;
  const char *output, *json;
  const char *to; /* output format, if the action has this option; NULL: determined by the name of the output */
  bool quiet;
};

/* A transformation. The action sets args, paths and action and, if they apply, method, seed, seeded, also_read and
   spooled. */
struct transform {
  const struct transform_args *args;
  const struct words *paths;
  struct hr_trace **traces; /* [paths->count] */
  struct hr_trace *result;  /* NULL: the result is the first trace, unchanged */
  const char *action, *method;
  const char *also_read; /* a further input file; no output may overwrite it; NULL: none */
  uint64_t seed;
  bool seeded;  /* the report contains the seed */
  bool spooled; /* traces that are in order are read into files, so that they need not fit into memory */
};

/* The offset of the member `field` of struct transform_args, for a row of an option table. The action's struct of
   arguments must begin with the member `struct transform_args base`. */
#define TRANSFORM_OPTION(field) offsetof(struct transform_args, field)

#define TRANSFORM_OPTIONS                                                                                              \
  {"output",                                                                                                           \
   OPTION_TEXT,                                                                                                        \
   TRANSFORM_OPTION(output),                                                                                           \
   "FILE",                                                                                                             \
   "output file: its name ends in .csv, .swf or .hrt (packed); .csv and .swf are compressed if .gz or .zst "           \
   "follows (default: CSV on standard output)",                                                                        \
   .letter = 'o'},                                                                                                     \
      {"json", OPTION_TEXT, TRANSFORM_OPTION(json), "FILE",                                                            \
       "write a report as JSON: jobs, GPU hours, losses ('-': standard output)"},                                      \
      {"quiet",                                                                                                        \
       OPTION_FLAG,                                                                                                    \
       TRANSFORM_OPTION(quiet),                                                                                        \
       NULL,                                                                                                           \
       "print no report and no notes; errors are still printed",                                                       \
       .letter = 'q'},                                                                                                 \
      TRACE_OPTIONS(transform_args)

static const char *output_of(const struct transform *transform) {
  return transform->args->output ? transform->args->output : "-";
}

static enum hr_status check_outputs(const struct transform *transform, struct hr_error *error) {
  const struct output outputs[] = {{"output", output_of(transform)}, {"json", transform->args->json}};
  const size_t n_outputs = sizeof outputs / sizeof *outputs;
  enum hr_status status = outputs_check(outputs, n_outputs, transform->paths->at, transform->paths->count,
                                        transform->args->input.format, error);
  if (status != HR_OK || !transform->also_read) return status;
  return outputs_check(outputs, n_outputs, &transform->also_read, 1, NULL, error);
}

static enum hr_status check_inputs(const struct words *paths, struct hr_error *error) {
  size_t n = 0;
  for (size_t i = 0; i < paths->count; i++) n += strcmp(paths->at[i], "-") == 0;
  return n < 2 ? HR_OK
               : hr_fail(error, HR_BAD_INPUT, "-: standard input is named %zu times, but can be read only once", n);
}

/* Checks outputs and format, and reads all traces. The caller must call transform_end, even after an error. */
static enum hr_status transform_open(struct transform *transform, struct hr_error *error) {
  const struct transform_args *args = transform->args;
  enum hr_status status = HR_OK;
  if (!hr_trace_writer_find(args->to, output_of(transform), error)) status = HR_BAD_INPUT;
  if (status == HR_OK) status = check_inputs(transform->paths, error);
  if (status == HR_OK) status = check_outputs(transform, error);
  if (status != HR_OK) return status;
  transform->traces = calloc(transform->paths->count, sizeof *transform->traces);
  if (!transform->traces) return no_memory(error);
  for (size_t i = 0; status == HR_OK && i < transform->paths->count; i++)
    status =
        input_read_trace_alone(transform->paths->at[i], &args->input, transform->spooled, &transform->traces[i], error);
  return status;
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
  return printed(status, "report", error);
}

/* Writes the result, the notes and the report. */
static enum hr_status transform_write(const struct transform *transform, struct hr_error *error) {
  const struct hr_trace *result = transform->result ? transform->result : transform->traces[0];
  size_t n = transform->paths->count;
  struct hr_transform_input *inputs = calloc(n, sizeof *inputs);
  struct hr_trace_written written;
  if (!inputs) return no_memory(error);
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

/* Writes the result unless `status` is an error, and frees the traces. Returns the first error. */
static enum hr_status transform_end(struct transform *transform, enum hr_status status, struct hr_error *error) {
  if (status == HR_OK) status = transform_write(transform, error);
  for (size_t i = 0; transform->traces && i < transform->paths->count; i++) hr_trace_destroy(transform->traces[i]);
  free(transform->traces);
  hr_trace_destroy(transform->result);
  return status;
}

/* The names of the values of an enumeration, for find_word. */
#define WORD(value, text) text,

/* ---- trace convert ---------------------------------------------------------------------------------- */

static const struct option convert_options[] = {TRANSFORM_OPTIONS,
                                                {"to", OPTION_TEXT, TRANSFORM_OPTION(to), "FORMAT",
                                                 "csv, swf or packed, instead of the format of the output's name"},
                                                {0}};

static const char convert_details[] =
    "Headroom's CSV preserves a trace exactly, to the microsecond. For other formats,\n"
    "notes list the fields that are lost. See docs/reference/traces.md.\n"
    "Exit code: 0 success, 2 bad input or usage, 4 system failure.\n\n"
    "Examples:\n"
    "  headroom trace convert RICC-2010-2.swf.gz -o ricc.csv.zst\n"
    "  headroom trace convert jobs.csv -o jobs.swf --json lost.json\n";

static enum hr_status convert_run(const void *args, const struct words *operands, struct hr_error *error) {
  struct transform transform = {.args = args, .paths = operands, .action = "convert"};
  enum hr_status status = transform_open(&transform, error);
  return transform_end(&transform, status, error);
}

const struct verb verb_trace_convert = {.name = "trace convert",
                                        .operands = "TRACE",
                                        .summary = "write a trace in another format",
                                        .details = convert_details,
                                        .options = convert_options,
                                        .args_bytes = sizeof(struct transform_args),
                                        .run = convert_run};

/* ---- trace cut -------------------------------------------------------------------------------------- */

struct cut_args {
  struct transform_args base;
  const char *from, *to;
  uint64_t jobs; /* 0: not set */
  struct words tenants, users, gpu_types;
  bool keep_running;
};

#define CUT_AT(field) offsetof(struct cut_args, field)
static const struct option cut_options[] = {
    {"from", OPTION_TEXT, CUT_AT(from), "TIME",
     "drop jobs submitted before this time: a date, a duration after the first submit (2d, 36h, or 90 for 90 s), or "
     "@SECONDS on the clock of a trace without dates"},
    {"to", OPTION_TEXT, CUT_AT(to), "TIME", "drop jobs submitted at this time or later"},
    {"jobs", OPTION_WHOLE, CUT_AT(jobs), "N", "keep only the first N of the remaining jobs", 1, UINT32_MAX - 1},
    {"tenant", OPTION_LIST, CUT_AT(tenants), "NAME", "keep only jobs of this tenant; may be repeated"},
    {"user", OPTION_LIST, CUT_AT(users), "NAME", "keep only jobs of this user; may be repeated"},
    {"gpu-type", OPTION_LIST, CUT_AT(gpu_types), "TYPE", "keep only jobs that accept this GPU type; may be repeated"},
    {"keep-running", OPTION_FLAG, CUT_AT(keep_running), NULL,
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
  return transform_end(&transform, status, error);
}

const struct verb verb_trace_cut = {.name = "trace cut",
                                    .operands = "TRACE",
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
    {"load", OPTION_REAL, SCALE_AT(load), "X", "load relative to the trace's: 0.5 is half, 2 is twice",
     HR_MIN_LOAD_SCALE, HR_MAX_LOAD_SCALE},
    {"by", OPTION_TEXT, SCALE_AT(by), "METHOD",
     "thin: drop jobs; duplicate: repeat jobs at about the same time; compress: change the time between jobs "
     "(default: thin below 1, duplicate from 1)"},
    {"jitter", OPTION_TEXT, SCALE_AT(jitter), "TIME",
     "maximum distance of copies from their jobs, in either direction (default: 1h); only with duplicate"},
    {"seed", OPTION_TEXT, SCALE_AT(seed), "N",
     "random seed (default: 1); the same seed gives the same jobs; not with compress, which is deterministic"},
    TRANSFORM_OPTIONS,
    {0}};

static const char scale_details[] = "thin and duplicate preserve daily and weekly patterns and the mix of jobs.\n"
                                    "compress preserves all jobs and their order, but changes the length of days.\n"
                                    "docs/reference/traces.md lists what each method preserves.\n"
                                    "Exit code: 0 success, 2 bad input or usage, 4 system failure.\n\n"
                                    "Examples:\n"
                                    "  headroom trace scale jobs.csv --load 0.5 -o half.csv\n"
                                    "  headroom trace scale jobs.csv --load 1.5 --by compress -o denser.csv\n";

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

static enum hr_status scale_read_options(const struct scale_args *args, struct hr_scale_spec *spec,
                                         struct hr_error *error) {
  *spec = (struct hr_scale_spec){
      .by = args->load < 1 ? HR_SCALING_THIN : HR_SCALING_DUPLICATE, .load = args->load, .seed = 1};
  if (!(args->load > 0))
    return hr_fail(error, HR_BAD_INPUT, "trace scale: --load X is missing\nTry 'headroom help trace scale'.");
  static const char *const methods[] = {HR_SCALING_TABLE(WORD) NULL};
  unsigned method = spec->by;
  enum hr_status status = args->by ? find_word("method", args->by, methods, &method, error) : HR_OK;
  spec->by = (enum hr_scaling)method;
  if (status == HR_OK) status = check_method(args, spec->by, error);
  if (status == HR_OK) status = args->seed ? parse_seed(args->seed, &spec->seed, error) : HR_OK;
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
  return transform_end(&transform, status, error);
}

const struct verb verb_trace_scale = {.name = "trace scale",
                                      .operands = "TRACE",
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
    {"what", OPTION_TEXT, SHUFFLE_AT(what), "WHAT",
     "arrivals: permute submit times among jobs; rows: permute jobs with equal submit times; users: permute users "
     "among jobs (default: arrivals)"},
    {"seed", OPTION_WHOLE, SHUFFLE_AT(seed), "N", "random seed; the same seed gives the same trace", 0, 0x1p64},
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

static enum hr_status shuffle_run(const void *args, const struct words *operands, struct hr_error *error) {
  const struct shuffle_args *shuffle = args;
  struct transform transform = {.args = &shuffle->base,
                                .paths = operands,
                                .action = "shuffle",
                                .method = shuffle->what,
                                .seed = shuffle->seed,
                                .seeded = true};
  static const char *const properties[] = {HR_SHUFFLING_TABLE(WORD) NULL};
  unsigned what;
  enum hr_status status = find_word("shuffle", shuffle->what, properties, &what, error);
  if (status == HR_OK) status = transform_open(&transform, error);
  if (status == HR_OK)
    status =
        hr_transform_shuffle(transform.traces[0], (enum hr_shuffling)what, shuffle->seed, &transform.result, error);
  return transform_end(&transform, status, error);
}

const struct verb verb_trace_shuffle = {.name = "trace shuffle",
                                        .operands = "TRACE",
                                        .summary = "permute the jobs of a trace",
                                        .details = shuffle_details,
                                        .options = shuffle_options,
                                        .args_bytes = sizeof(struct shuffle_args),
                                        .set_defaults = shuffle_set_defaults,
                                        .run = shuffle_run};

/* ---- trace merge ------------------------------------------------------------------------------------ */

/* Merges several traces into one, and several tenants into one. */

struct trace_merge_args {
  struct transform_args base;
  const char *align, *labels;
  struct words merge_tenants;
  bool keep_ids, tenant_prefix;
};

#define MERGE_AT(field) offsetof(struct trace_merge_args, field)
static const struct option merge_options[] = {
    {"align", OPTION_TEXT, MERGE_AT(align), "HOW",
     "clock: keep each trace's own clock; start: shift each trace to begin when the first one does (default: "
     "clock)"},
    {"labels", OPTION_TEXT, MERGE_AT(labels), "A,B,...",
     "labels of the traces, one word each (default: their file names)"},
    {"keep-ids", OPTION_FLAG, MERGE_AT(keep_ids), NULL,
     "keep job ids, which must be distinct, instead of putting 'LABEL/' before each"},
    {"tenant-prefix", OPTION_FLAG, MERGE_AT(tenant_prefix), NULL,
     "also put 'LABEL/' before tenants and users, so that those of different traces are distinct"},
    {"merge-tenants", OPTION_LIST, MERGE_AT(merge_tenants), "A+B=NAME",
     "merge tenants A, B and more into NAME; may be repeated"},
    TRANSFORM_OPTIONS,
    {0}};

static const char merge_details[] = "Jobs with equal submit times are in the order of the traces. A single\n"
                                    "trace is accepted, to merge its tenants; add --keep-ids to leave its job ids\n"
                                    "unchanged. See docs/reference/traces.md.\n"
                                    "Exit code: 0 success, 2 bad input or usage, 4 system failure.\n\n"
                                    "Examples:\n"
                                    "  headroom trace merge east.csv west.csv --tenant-prefix -o both.csv\n"
                                    "  headroom trace merge jobs.csv --keep-ids --merge-tenants cv+nlp=research \\\n"
                                    "    -o merged.csv\n";

static void merge_set_defaults(void *args) {
  *(struct trace_merge_args *)args = (struct trace_merge_args){.align = "clock"};
}

struct merge_state {
  const struct trace_merge_args *args;
  struct hr_merge_spec spec;
  char **labels; /* [n] */
  size_t n;
  struct hr_tenant_merge *tenants; /* [merge_tenants.count] */
  struct words *from;              /* [merge_tenants.count] names of the tenants to merge */
  char **texts;                    /* [merge_tenants.count] copies of the options; the names point into them */
};

/* ---- trace merge: labels ---------------------------------------------------------------------------- */

/* Returns "jobs" for "folder/jobs.csv.gz" and "stdin" for "-". The caller frees it. Returns NULL if out of memory. */
static char *label_of_path(const char *path) {
  if (strcmp(path, "-") == 0) return strdup("stdin");
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  size_t length = strcspn(name, ".");
  return length ? strndup(name, length) : strdup(name);
}

/* Copies the next word of a comma-separated list and advances *list. The caller frees the copy. Returns NULL at the end
   of the list, or if out of memory. */
static char *next_label(const char **list) {
  if (!**list) return NULL;
  size_t length = strcspn(*list, ",");
  char *label = strndup(*list, length);
  *list += length + ((*list)[length] == ',');
  return label;
}

static enum hr_status check_count(const struct merge_state *merge, struct hr_error *error) {
  const char *labels = merge->args->labels;
  bool empty = !*labels || *labels == ',' || strstr(labels, ",,") || labels[strlen(labels) - 1] == ',';
  if (count_parts(labels) == merge->n && !empty) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "--labels %.200s: expected %zu words separated by commas, one for each trace",
                 labels, merge->n);
}

static enum hr_status make_labels(struct merge_state *merge, const struct words *paths, struct hr_error *error) {
  const char *list = merge->args->labels;
  merge->n = paths->count;
  merge->labels = calloc(merge->n, sizeof *merge->labels);
  if (!merge->labels) return no_memory(error);
  enum hr_status status = list ? check_count(merge, error) : HR_OK;
  for (size_t i = 0; status == HR_OK && i < merge->n; i++) {
    merge->labels[i] = list ? next_label(&list) : label_of_path(paths->at[i]);
    if (!merge->labels[i]) status = no_memory(error);
    for (size_t j = 0; status == HR_OK && j < i; j++)
      if (strcmp(merge->labels[i], merge->labels[j]) == 0)
        status = hr_fail(error, HR_BAD_INPUT,
                         "%s: its label '%.60s' is also the label of %s; set other labels with --labels A,B,...",
                         paths->at[i], merge->labels[i], paths->at[j]);
  }
  return status;
}

/* ---- trace merge: tenants --------------------------------------------------------------------------- */

static enum hr_status parse_tenants(struct merge_state *merge, size_t number, struct hr_error *error) {
  const char *option = merge->args->merge_tenants.at[number];
  char *text = merge->texts[number] = strdup(option), *equals = text ? strrchr(text, '=') : NULL;
  if (!text) return no_memory(error);
  enum hr_status status = HR_OK;
  bool good = equals && equals > text && equals[1];
  if (good) *equals = '\0';
  for (char *at = text, *plus; status == HR_OK && good && at; at = plus ? plus + 1 : NULL) {
    plus = strchr(at, '+');
    if (plus) *plus = '\0';
    good = *at != '\0';
    status = words_add(&merge->from[number], at, error);
  }
  if (!good)
    return hr_fail(error, HR_BAD_INPUT, "--merge-tenants %.200s: expected A+B=NAME, such as vision+speech=research",
                   option);
  const struct words *from = &merge->from[number];
  merge->tenants[number] = (struct hr_tenant_merge){{from->at, from->count}, equals + 1};
  return status;
}

static enum hr_status make_tenants(struct merge_state *merge, struct hr_error *error) {
  size_t n = merge->args->merge_tenants.count;
  merge->tenants = calloc(n + 1, sizeof *merge->tenants);
  merge->from = calloc(n + 1, sizeof *merge->from);
  merge->texts = calloc(n + 1, sizeof *merge->texts);
  if (!merge->tenants || !merge->from || !merge->texts) return no_memory(error);
  enum hr_status status = HR_OK;
  for (size_t i = 0; status == HR_OK && i < n; i++) status = parse_tenants(merge, i, error);
  return status;
}

static void merge_finish(struct merge_state *merge) {
  for (size_t i = 0; merge->labels && i < merge->n; i++) free(merge->labels[i]);
  for (size_t i = 0; merge->from && i < merge->args->merge_tenants.count; i++) words_finish(&merge->from[i]);
  for (size_t i = 0; merge->texts && i < merge->args->merge_tenants.count; i++) free(merge->texts[i]);
  free(merge->labels);
  free(merge->tenants);
  free(merge->from);
  free(merge->texts);
}

/* ---- trace merge: the verb -------------------------------------------------------------------------- */

static enum hr_status read_options(struct merge_state *merge, const struct words *paths, struct hr_error *error) {
  const struct trace_merge_args *args = merge->args;
  static const char *const alignments[] = {HR_ALIGN_TABLE(WORD) NULL};
  unsigned align;
  enum hr_status status = find_word("alignment", args->align, alignments, &align, error);
  merge->spec.align = (enum hr_align)align;
  if (status == HR_OK && args->keep_ids && args->tenant_prefix)
    status = hr_fail(error, HR_BAD_INPUT, "--keep-ids cannot be combined with --tenant-prefix, which needs labels");
  if (status == HR_OK && args->keep_ids && args->labels)
    status = hr_fail(error, HR_BAD_INPUT, "--keep-ids cannot be combined with --labels");
  if (status == HR_OK && !args->keep_ids) status = make_labels(merge, paths, error);
  if (status == HR_OK) status = make_tenants(merge, error);
  merge->spec.labels = (const char *const *)merge->labels;
  merge->spec.renames_tenants = args->tenant_prefix;
  merge->spec.tenants = merge->tenants;
  merge->spec.n_tenants = args->merge_tenants.count;
  return status;
}

static enum hr_status merge_run(const void *args, const struct words *operands, struct hr_error *error) {
  struct merge_state merge = {.args = args};
  struct transform transform = {.args = &merge.args->base, .paths = operands, .action = "merge"};
  transform.method = merge.args->align;
  enum hr_status status = read_options(&merge, operands, error);
  if (status == HR_OK) status = transform_open(&transform, error);
  if (status == HR_OK)
    status = hr_transform_merge((const struct hr_trace *const *)transform.traces, operands->count, &merge.spec,
                                &transform.result, error);
  status = transform_end(&transform, status, error);
  merge_finish(&merge);
  return status;
}

const struct verb verb_trace_merge = {.name = "trace merge",
                                      .operands = "TRACE...",
                                      .summary = "merge several traces into one",
                                      .details = merge_details,
                                      .options = merge_options,
                                      .args_bytes = sizeof(struct trace_merge_args),
                                      .set_defaults = merge_set_defaults,
                                      .run = merge_run};

/* ---- trace anonymise -------------------------------------------------------------------------------- */

/* Replaces names by keyed pseudonyms. The key never appears in a message or in an output file. The program's copy of
   the key is erased from memory after use; the argument of --key is not. */

enum { MAX_KEY_BYTES = 4096 };

struct anonymise_args {
  struct transform_args base;
  const char *key, *key_file, *shift, *drop;
  uint64_t digits;
  bool undated;
};

#define ANONYMISE_AT(field) offsetof(struct anonymise_args, field)
static const struct option anonymise_options[] = {
    {"key-file", OPTION_TEXT, ANONYMISE_AT(key_file), "FILE",
     "file with the key: up to 4096 bytes, including a line end, which is not part of the key"},
    {"key", OPTION_TEXT, ANONYMISE_AT(key), "TEXT",
     "the key itself; other users of the machine can see it while the program runs"},
    {"digits", OPTION_WHOLE, ANONYMISE_AT(digits), "N", "hexadecimal digits of a pseudonym", HR_MIN_PSEUDONYM_DIGITS,
     HR_MAX_PSEUDONYM_DIGITS},
    {"drop", OPTION_TEXT, ANONYMISE_AT(drop), "FIELD,...",
     "remove these fields, e.g. user,model (see 'headroom list fields')"},
    {"shift", OPTION_TEXT, ANONYMISE_AT(shift), "TIME", "move all times later, e.g. 100d, or earlier, e.g. -36h"},
    {"undated", OPTION_FLAG, ANONYMISE_AT(undated), NULL, "replace times by seconds since the first submit"},
    TRANSFORM_OPTIONS,
    {0}};

static const char anonymise_details[] =
    "Job ids, users, tenants and models become pseudonyms: j-, u-, t- or m- with\n"
    "digits of HMAC-SHA-256. The same name and key give the same pseudonym in every\n"
    "trace; without the key, names cannot be guessed and verified. Fields that affect\n"
    "a simulation are kept, and may identify a user to people who know the cluster.\n"
    "See docs/reference/traces.md.\n"
    "Exit code: 0 success, 2 bad input or usage, 4 system failure.\n\n"
    "Example:\n"
    "  headroom trace anonymise jobs.csv --key-file secret --drop model -o shared.csv\n";

static void set_anonymise_defaults(void *args) {
  *(struct anonymise_args *)args = (struct anonymise_args){.digits = HR_PSEUDONYM_DIGITS};
}

/* ---- trace anonymise: the key ----------------------------------------------------------------------- */

struct pseudonym_key {
  char bytes[MAX_KEY_BYTES + 1];
  size_t count;
};

static enum hr_status read_key(const char *path, struct pseudonym_key *key, struct hr_error *error) {
  FILE *file = fopen(path, "rb");
  if (!file) return hr_fail(error, HR_BAD_INPUT, "%s: cannot be read: %s", path, strerror(errno));
  setvbuf(file, NULL, _IONBF, 0); /* avoids a copy of the key in a buffer */
  key->count = fread(key->bytes, 1, sizeof key->bytes, file);
  bool failed = ferror(file);
  fclose(file);
  if (failed) return hr_fail(error, HR_BAD_INPUT, "%s: cannot be read as a file", path);
  if (key->count > MAX_KEY_BYTES)
    return hr_fail(error, HR_BAD_INPUT, "%s: the key has more than %d bytes", path, MAX_KEY_BYTES);
  if (key->count && key->bytes[key->count - 1] == '\n') key->count--;
  if (key->count && key->bytes[key->count - 1] == '\r') key->count--;
  return key->count ? HR_OK : hr_fail(error, HR_BAD_INPUT, "%s: the file contains no key", path);
}

static enum hr_status get_key(const struct anonymise_args *args, struct pseudonym_key *key, struct hr_error *error) {
  if (!args->key == !args->key_file)
    return hr_fail(error, HR_BAD_INPUT,
                   "trace anonymise: expected one of --key-file FILE and --key TEXT\n"
                   "Try 'headroom help trace anonymise'.");
  if (args->key_file) return read_key(args->key_file, key, error);
  key->count = strlen(args->key);
  if (key->count == 0 || key->count > MAX_KEY_BYTES)
    return hr_fail(error, HR_BAD_INPUT, "--key: expected a key of 1 to %d bytes", MAX_KEY_BYTES);
  memcpy(key->bytes, args->key, key->count);
  return HR_OK;
}

static void erase_key(struct pseudonym_key *key) {
  volatile char *at = key->bytes; /* prevents the compiler from removing the stores */
  for (size_t i = 0; i < sizeof key->bytes; i++) at[i] = 0;
}

/* ---- trace anonymise: the verb ---------------------------------------------------------------------- */

static enum hr_status read_anonymise_options(const struct anonymise_args *args, const struct pseudonym_key *key,
                                             struct hr_anonymise_spec *spec, struct hr_error *error) {
  hr_anonymise_spec_init(spec);
  spec->key = key->bytes;
  spec->key_bytes = key->count;
  spec->digits = (unsigned)args->digits;
  spec->undated = args->undated;
  if (args->undated && args->shift)
    return hr_fail(error, HR_BAD_INPUT, "--undated cannot be combined with --shift: times then begin at 0");
  enum hr_status status = args->shift ? hr_span_parse("shift", args->shift, true, &spec->shift_us, error) : HR_OK;
  struct hr_error inner = {0};
  if (status == HR_OK && args->drop && hr_fields_parse(args->drop, &spec->forget, &inner) != HR_OK)
    status = hr_fail(error, HR_BAD_INPUT, "--drop %.200s: %s", args->drop, inner.text);
  return status;
}

static enum hr_status anonymise(const struct anonymise_args *args, struct transform *transform,
                                struct pseudonym_key *key, struct hr_error *error) {
  struct hr_anonymise_spec spec;
  enum hr_status status = get_key(args, key, error);
  if (status == HR_OK) status = read_anonymise_options(args, key, &spec, error);
  if (status == HR_OK) status = transform_open(transform, error);
  if (status == HR_OK) status = hr_transform_anonymise(transform->traces[0], &spec, &transform->result, error);
  return status;
}

static enum hr_status run_anonymise(const void *args, const struct words *operands, struct hr_error *error) {
  const struct anonymise_args *anonymise_args = args;
  struct transform transform = {
      .args = &anonymise_args->base, .paths = operands, .action = "anonymise", .also_read = anonymise_args->key_file};
  struct pseudonym_key key = {.count = 0};
  enum hr_status status = anonymise(anonymise_args, &transform, &key, error);
  erase_key(&key);
  return transform_end(&transform, status, error);
}

const struct verb verb_trace_anonymise = {.name = "trace anonymise",
                                          .operands = "TRACE",
                                          .summary = "replace names in a trace by keyed pseudonyms",
                                          .details = anonymise_details,
                                          .options = anonymise_options,
                                          .args_bytes = sizeof(struct anonymise_args),
                                          .set_defaults = set_anonymise_defaults,
                                          .run = run_anonymise};
