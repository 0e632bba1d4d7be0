/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom trace scale`: a trace with more load, or less. */

#include "cli/cli.h"
#include "cli/transform.h"

#include <inttypes.h>
#include <string.h>

struct scale_args {
  struct transform_args base;
  const char *by, *jitter, *seed; /* NULL: not given */
  double load;                    /* 0: not given */
};

#define AT(field) offsetof(struct scale_args, field)
static const struct option options[] = {
    {.name = "load",
     .kind = OPTION_REAL,
     .offset = AT(load),
     .value = "X",
     .help = "load for that of the trace: 0.5 is half, 2 twice",
     .min = HR_MIN_LOAD_SCALE,
     .max = HR_MAX_LOAD_SCALE},
    {.name = "by",
     .kind = OPTION_TEXT,
     .offset = AT(by),
     .value = "METHOD",
     .help =
         "thin: leave jobs out; duplicate: let jobs come more than once, copies at about the same time; compress: let "
         "all come faster or slower. Unless given: thin below 1, duplicate from 1 on"},
    {.name = "jitter",
     .kind = OPTION_TEXT,
     .offset = AT(jitter),
     .value = "TIME",
     .help = "how far from their jobs copies come, either way: 1h unless given; of duplicate alone"},
    {.name = "seed",
     .kind = OPTION_TEXT,
     .offset = AT(seed),
     .value = "N",
     .help = "of the draw, 1 unless given; the same seed gives the same jobs. Not of compress, which draws nothing"},
    TRANSFORM_OPTIONS,
    {0}};

static const char details[] = "Thinning and duplication keep the course of days and weeks and what jobs are;\n"
                              "compression keeps the order and every job, and makes days shorter: of each\n"
                              "docs/reference/traces.md says what it keeps and what it does not.\n\n"
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

/* What the method would not look at. */
static enum hr_status check_meaning(const struct scale_args *args, enum hr_scaling by, struct hr_error *error) {
  if (args->jitter && by != HR_SCALING_DUPLICATE)
    return hr_fail(error, HR_BAD_INPUT, "--jitter %.60s: is how far copies come from their jobs, and '%s' makes none",
                   args->jitter, hr_scaling_name(by));
  if (args->seed && by == HR_SCALING_COMPRESS)
    return hr_fail(error, HR_BAD_INPUT, "--seed %.60s: '%s' draws nothing; leave the seed out", args->seed,
                   hr_scaling_name(by));
  return HR_OK;
}

static enum hr_status parse_seed(const char *text, uint64_t *seed, struct hr_error *error) {
  *seed = 1;
  if (!text || parse_whole(text, seed)) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "--seed %.60s: a whole number from 0 to %" PRIu64 " is wanted", text, UINT64_MAX);
}

static enum hr_status settle(const struct scale_args *args, struct hr_scale_spec *spec, struct hr_error *error) {
  *spec = (struct hr_scale_spec){.by = args->load < 1 ? HR_SCALING_THIN : HR_SCALING_DUPLICATE, .load = args->load};
  if (!(args->load > 0))
    return hr_fail(
        error, HR_BAD_INPUT,
        "trace scale: --load X is missing: the load for that of the trace\nTry 'headroom help trace scale'.");
  enum hr_status status = args->by ? find_method(args->by, &spec->by, error) : HR_OK;
  if (status == HR_OK) status = check_meaning(args, spec->by, error);
  if (status == HR_OK) status = parse_seed(args->seed, &spec->seed, error);
  if (status != HR_OK) return status;
  return hr_span_parse("jitter", args->jitter ? args->jitter : "1h", false, &spec->jitter_us, error);
}

static enum hr_status run(const void *args, const struct words *operands, struct hr_error *error) {
  const struct scale_args *scale = args;
  struct transform transform = {.args = &scale->base, .paths = operands, .action = "scale"};
  struct hr_scale_spec spec;
  enum hr_status status = settle(scale, &spec, error);
  if (status == HR_OK) status = transform_open(&transform, error);
  transform.method = hr_scaling_name(spec.by);
  transform.seed = spec.seed;
  transform.seeded = spec.by != HR_SCALING_COMPRESS;
  if (status == HR_OK) status = hr_transform_scale(transform.traces[0], &spec, &transform.made, error);
  if (status == HR_OK) status = transform_tell(&transform, error);
  transform_finish(&transform);
  return status;
}

const struct verb verb_trace_scale = {.name = "trace scale",
                                      .operands = "TRACE",
                                      .least_operands = 1,
                                      .most_operands = 1,
                                      .summary = "give a trace more load, or less",
                                      .details = details,
                                      .options = options,
                                      .args_bytes = sizeof(struct scale_args),
                                      .run = run};
