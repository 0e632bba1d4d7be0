/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom trace cut`: a window of a trace. */

#include "cli/cli.h"
#include "cli/transform.h"

struct cut_args {
  struct transform_args base;
  const char *from, *to;
  uint64_t jobs; /* 0: not given */
  struct words tenants, users, gpu_types;
  bool keep_running;
};

#define AT(field) offsetof(struct cut_args, field)
static const struct option options[] = {
    {.name = "from",
     .kind = OPTION_TEXT,
     .offset = AT(from),
     .value = "TIME",
     .help = "leave out what is submitted before: 2d, 36h, 90 (seconds) from the first submit, a date, or @SECONDS on "
             "the clock of a trace without dates"},
    {.name = "to",
     .kind = OPTION_TEXT,
     .offset = AT(to),
     .value = "TIME",
     .help = "leave out what is submitted then or later"},
    {.name = "jobs",
     .kind = OPTION_WHOLE,
     .offset = AT(jobs),
     .value = "N",
     .help = "the first N jobs of those",
     .min = 1,
     .max = UINT32_MAX - 1},
    {.name = "tenant",
     .kind = OPTION_LIST,
     .offset = AT(tenants),
     .value = "NAME",
     .help = "only jobs of this tenant; may be given more than once, as may those below"},
    {.name = "user", .kind = OPTION_LIST, .offset = AT(users), .value = "NAME", .help = "only jobs of this user"},
    {.name = "gpu-type",
     .kind = OPTION_LIST,
     .offset = AT(gpu_types),
     .value = "TYPE",
     .help = "only jobs that can take this type of GPU"},
    {.name = "keep-running",
     .kind = OPTION_FLAG,
     .offset = AT(keep_running),
     .help = "and jobs that had been running when the window begins, with what was left of them (wants recorded "
             "starts)"},
    TRANSFORM_OPTIONS,
    {0}};

static const char details[] = "Times, ids and all else of the jobs stay as they are. docs/reference/traces.md.\n\n"
                              "Examples:\n"
                              "  headroom trace cut jobs.csv --from 7d --to 14d -o week.csv\n"
                              "  headroom trace cut helios.csv.gz --from 2020-06-01 --tenant vcA -o june.csv\n";

static enum hr_status settle(const struct cut_args *args, const struct hr_trace *trace, struct hr_cut_spec *spec,
                             struct hr_error *error) {
  hr_cut_spec_init(spec);
  spec->tenants = (struct hr_name_list){args->tenants.at, args->tenants.count};
  spec->users = (struct hr_name_list){args->users.at, args->users.count};
  spec->gpu_types = (struct hr_name_list){args->gpu_types.at, args->gpu_types.count};
  spec->most_jobs = (uint32_t)args->jobs;
  spec->keep_running = args->keep_running;
  enum hr_status status = HR_OK;
  if (args->from) status = hr_trace_time_parse(trace, "from", args->from, &spec->from_us, error);
  if (status == HR_OK && args->to) status = hr_trace_time_parse(trace, "to", args->to, &spec->to_us, error);
  if (status == HR_OK && args->keep_running && !args->from)
    status = hr_fail(error, HR_BAD_INPUT, "--keep-running: is about the begin of a window; give one with --from TIME");
  return status;
}

static enum hr_status run(const void *args, const struct words *operands, struct hr_error *error) {
  const struct cut_args *cut = args;
  struct transform transform = {.args = &cut->base, .paths = operands, .action = "cut"};
  struct hr_cut_spec spec;
  enum hr_status status = transform_open(&transform, error);
  if (status == HR_OK) status = settle(cut, transform.traces[0], &spec, error);
  if (status == HR_OK) status = hr_transform_cut(transform.traces[0], &spec, &transform.made, error);
  if (status == HR_OK) status = transform_tell(&transform, error);
  transform_finish(&transform);
  return status;
}

const struct verb verb_trace_cut = {.name = "trace cut",
                                    .operands = "TRACE",
                                    .least_operands = 1,
                                    .most_operands = 1,
                                    .summary = "keep a window of a trace, or some of its jobs",
                                    .details = details,
                                    .options = options,
                                    .args_bytes = sizeof(struct cut_args),
                                    .run = run};
