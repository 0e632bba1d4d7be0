/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom conform`: checks Headroom's model of another scheduler with test vectors of that scheduler. */

#include "headroom/unstable/conform.h"
#include "cli/cli.h"
#include "cli/options.h"

#include <inttypes.h>

struct conform_args {
  const char *json; /* NULL: none */
};

static const struct option options[] = {{.name = "json",
                                         .kind = OPTION_TEXT,
                                         .offset = offsetof(struct conform_args, json),
                                         .value = "FILE",
                                         .help = "write the result as JSON; - for standard output, instead of text"},
                                        {0}};

static enum hr_status run_conform(const void *args, const struct words *operands, struct hr_error *error) {
  const struct conform_args *conform = args;
  const char *system = operands->at[0];
  bool known = false;
  for (size_t i = 0; hr_conform_systems[i]; i++) known |= strcmp(hr_conform_systems[i], system) == 0;
  if (!known) return unknown_word("system", system, hr_conform_systems, error);
  const struct output output = {"--json", conform->json};
  enum hr_status status = outputs_check(&output, conform->json != NULL, operands->at + 1, operands->count - 1, error);
  if (status != HR_OK) return status;
  struct hr_conform_report report;
  status = hr_conform_run(system, operands->at + 1, operands->count - 1, &report, error);
  if (status == HR_OK && conform->json) status = hr_conform_write_json(conform->json, &report, error);
  if (status == HR_OK && !is_stdout(conform->json)) hr_conform_print(stdout, &report);
  if (status == HR_OK && report.failed > 0)
    status = hr_fail(error, HR_CHECK_FAILED, "%s: %" PRIu64 " case%s failed", system, report.failed,
                     report.failed == 1 ? "" : "s");
  hr_conform_finish(&report);
  return status;
}

const struct verb verb_conform = {
    .name = "conform",
    .operands = "SYSTEM FILE...",
    .min_operands = 2,
    .max_operands = SIZE_MAX,
    .summary = "check the model of another scheduler with test vectors",
    .details = "SYSTEM is kueue, kai, volcano, kubernetes, slurm, autoscalers or clusters.\n"
               "The last line has counts. The exit code is 1 if a case failed.\n",
    .options = options,
    .args_bytes = sizeof(struct conform_args),
    .run = run_conform,
};
