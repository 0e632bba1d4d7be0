/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom trace convert`: a trace in another format. */

#include "cli/cli.h"
#include "cli/transform.h"

struct convert_args {
  struct transform_args base;
};

static const struct option options[] = {TRANSFORM_OPTIONS,
                                        {.name = "to",
                                         .kind = OPTION_TEXT,
                                         .offset = TRANSFORM_OPTION(to),
                                         .value = "FORMAT",
                                         .help = "csv, swf or packed, whatever the output's name ends in"},
                                        {0}};

static const char details[] =
    "Headroom's CSV holds all that a trace has, to the microsecond: read again, it is\n"
    "the same trace. What another format has no place for is named. docs/reference/traces.md.\n\n"
    "Examples:\n"
    "  headroom trace convert RICC-2010-2.swf.gz -o ricc.csv.zst\n"
    "  headroom trace convert jobs.csv -o jobs.swf --json lost.json\n";

static enum hr_status run(const void *args, const struct words *operands, struct hr_error *error) {
  const struct convert_args *convert = args;
  struct transform transform = {.args = &convert->base, .paths = operands, .action = "convert"};
  enum hr_status status = transform_open(&transform, error);
  if (status == HR_OK) status = transform_tell(&transform, error);
  transform_finish(&transform);
  return status;
}

const struct verb verb_trace_convert = {.name = "trace convert",
                                        .operands = "TRACE",
                                        .least_operands = 1,
                                        .most_operands = 1,
                                        .summary = "write a trace in another format",
                                        .details = details,
                                        .options = options,
                                        .args_bytes = sizeof(struct convert_args),
                                        .run = run};
