/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom fit failures`: fits distributions to a log of failures. */

#include "cli/cli.h"
#include "cli/options.h"
#include "headroom/unstable/failure_fits.h"

struct fit_args {
  const char *system, *json; /* NULL: all systems; none */
};

static const struct option fit_options[] = {{.name = "system",
                                             .kind = OPTION_TEXT,
                                             .offset = offsetof(struct fit_args, system),
                                             .value = "ID",
                                             .help = "only this system of the log"},
                                            {.name = "json",
                                             .kind = OPTION_TEXT,
                                             .offset = offsetof(struct fit_args, json),
                                             .value = "FILE",
                                             .help = "write the fits as JSON; - for standard output, instead of text"},
                                            {0}};

static enum hr_status fit_failures(const void *untyped, const struct words *operands, struct hr_error *error) {
  const struct fit_args *args = untyped;
  const char *path = operands->at[0];
  const struct output output = {"json", args->json};
  struct hr_failure_log log = {0};
  enum hr_status status = outputs_check(&output, 1, &path, 1, error);
  if (status == HR_OK) status = hr_failure_log_read(path, &log, error);
  if (status == HR_OK && args->json) status = hr_failure_fits_write_json(args->json, path, &log, args->system, error);
  if (status == HR_OK && !is_stdout(args->json))
    status = hr_failure_fits_print(stdout, path, &log, args->system, error);
  hr_failure_log_finish(&log);
  return status;
}

static const struct verb verb_fit_failures = {
    .name = "fit failures",
    .operands = "LOG",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "fit distributions to the times between failures and the repairs of a log",
    .details = "Distributions: exponential, Weibull, log-normal and gamma, by maximum likelihood.\n"
               "docs/reference/failures.md describes the formats of logs and each figure.\n"
               "Exit code: 0 success, 2 bad input or usage, 4 system failure.\n\n"
               "Examples:\n"
               "  headroom fit failures lanl.csv.gz --system 20\n"
               "  headroom fit failures events.csv --json fits.json\n",
    .options = fit_options,
    .args_bytes = sizeof(struct fit_args),
    .run = fit_failures,
};

static const struct verb *const actions[] = {&verb_fit_failures, NULL};

const struct verb verb_fit = {.name = "fit", .summary = "fit distributions to recorded data", .actions = actions};
