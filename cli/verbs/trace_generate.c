/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom trace generate`: a synthetic workload as a trace file. */

#include "cli/cli.h"
#include "cli/verbs/trace_like.h"
#include "headroom/headroom.h"
#include "headroom/unstable/workload_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct generate_args {
  uint64_t count, seed, nodes, gpus_per_node, users, tenants;
  double load, median_s, sigma, max_s, diurnal, limit_min, limit_max;
  const char *gpu_counts;
  struct like_args like;
  const struct command *command;
};

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
    WHOLE("count", count, "N", 1, UINT32_MAX - 1, "jobs to make"),
    WHOLE("seed", seed, "N", 0, 0x1p64, "the same seed gives the same bytes"),
    REAL("load", load, "X", 1e-6, 1000, "mean GPUs asked for, as a share of the cluster's"),
    WHOLE("nodes", nodes, "N", 1, HR_MAX_NODES, "nodes of the cluster that the load is for"),
    WHOLE("gpus-per-node", gpus_per_node, "N", 1, HR_MAX_GPUS, "GPUs of each node"),
    REAL("median-s", median_s, "S", 1e-3, 1e9, "median run time; run times are log-normal"),
    REAL("sigma", sigma, "X", 0, 10, "spread of run times: standard deviation of their logarithm"),
    REAL("max-s", max_s, "S", 0, 1e9, "longest run time; 0: none"),
    REAL("diurnal", diurnal, "X", 0, 1, "how much arrivals swing over a day: 0 flat, 1 silent at night"),
    WHOLE("users", users, "N", 1, 1000000, "users; how much each submits follows Zipf's law"),
    WHOLE("tenants", tenants, "N", 1, 1000000, "tenants that the users belong to"),
    REAL("limit-min", limit_min, "X", 0, 1000, "limits are the run time times a number from --limit-min ..."),
    REAL("limit-max", limit_max, "X", 0, 1000, "... to --limit-max; both 0: no limits"),
    {.name = "gpu-counts",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct generate_args, gpu_counts),
     .value = "N:WEIGHT,...",
     .help = "how many GPUs jobs ask for and how often, e.g. 1:0.7,2:0.1,8:0.2"},
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_TEXT,
     .offset = offsetof(struct generate_args, like.output),
     .value = "FILE",
     .help =
         "where to write: CSV, compressed behind .csv.gz and .csv.zst, packed where the name ends in .hrt; standard "
         "output unless given"},
    LIKE("like", like, OPTION_TEXT, "NAME|FILE",
         "jobs like those of philly, helios, pai, acme-seren or acme-kalos, of a trace, or of a model that --model-out "
         "wrote"),
    LIKE("resample", resample, OPTION_FLAG, NULL,
         "draw whole days or weeks of the trace of --like with replacement, instead of jobs from a model"),
    LIKE("blocks", blocks, OPTION_TEXT, "days|weeks",
         "what --resample draws; weeks unless set, if the trace has ten whole ones, else days"),
    LIKE("model-out", model_out, OPTION_TEXT, "FILE", "also write the model of --like as JSON"),
    LIKE("json", json, OPTION_TEXT, "FILE", "figures of the jobs that --like generated, as JSON"),
    LIKE("format", input.format, OPTION_TEXT, "FORMAT", "the format of the trace of --like ('headroom list formats')"),
    LIKE("map", input.map, OPTION_TEXT, "FIELD=COLUMN,...", "the column names of that trace, a CSV file"),
    LIKE("lenient", input.lenient, OPTION_FLAG, NULL, "leave bad rows of that trace out, counted and listed by reason"),
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_FLAG,
     .offset = offsetof(struct generate_args, like.quiet),
     .help = "no notes on the trace of --like, or on the generated jobs"},
    {0}};

static const char details[] = "Example:\n"
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

/* "1:0.7,2:0.1" as an array that the caller frees. */
static enum hr_status parse_counts(const char *text, struct hr_gpu_count **counts, size_t *n_counts,
                                   struct hr_error *error) {
  char *copy = strdup(text);
  *counts = calloc(strlen(text) + 1, sizeof **counts); /* more than there are commas */
  enum hr_status status = copy && *counts ? HR_OK : hr_fail(error, HR_NO_MEMORY, "out of memory");
  *n_counts = 0;
  for (char *pair = copy, *next; status == HR_OK && pair; pair = next) {
    next = strchr(pair, ',');
    if (next) *next++ = '\0';
    if (!parse_pair(pair, &(*counts)[(*n_counts)++]))
      status =
          hr_fail(error, HR_BAD_INPUT,
                  "--gpu-counts %.200s: '%.60s' is not of the form N:WEIGHT, GPUs of at least 1 and a weight above "
                  "0, as in 1:0.7,8:0.3",
                  text, pair);
  }
  free(copy);
  return status;
}

/* ---- The verb --------------------------------------------------------------------------------------- */

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

/* ---- From a workload model or a trace --------------------------------------------------------------- */

static enum hr_status generate_like(const struct generate_args *args, struct hr_error *error) {
  struct like_request request = {.args = &args->like, .command = args->command};
  hr_workload_model_spec_init(&request.spec);
  request.spec.count = args->count;
  request.spec.seed = args->seed;
  request.spec.nodes = (uint32_t)args->nodes;
  request.spec.gpus_per_node = (uint32_t)args->gpus_per_node;
  request.spec.load = like_is_given(args->command, "load") ? args->load : 0;
  request.users = like_is_given(args->command, "users") ? (uint32_t)args->users : 0;
  request.tenants = like_is_given(args->command, "tenants") ? (uint32_t)args->tenants : 0;
  return like_run(&request, error);
}

static void set_command(void *args, const struct command *command) {
  ((struct generate_args *)args)->command = command;
}

static enum hr_status run_action(const void *args, const struct words *operands, struct hr_error *error) {
  const struct generate_args *generate_args = args;
  (void)operands;
  if (generate_args->like.like) return generate_like(generate_args, error);
  enum hr_status status = like_refuse_alone(generate_args->command, error);
  return status == HR_OK ? generate(generate_args, error) : status;
}

const struct verb verb_trace_generate = {.name = "trace generate",
                                         .operands = "",
                                         .summary = "make a synthetic trace",
                                         .details = details,
                                         .options = options,
                                         .args_bytes = sizeof(struct generate_args),
                                         .set_defaults = set_defaults,
                                         .set_command = set_command,
                                         .run = run_action};
