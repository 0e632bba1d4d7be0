/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom report`: a run whose page is what is wanted of it. */

#include "cli/cli.h"
#include "cli/verbs/run.h"

#define AT(field) offsetof(struct run_args, field)
static const struct option options[] = {
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_TEXT,
     .offset = AT(files.page.report),
     .value = "FILE",
     .help = "the page, report.html in this folder unless given ('-': standard output)"},
    BASELINE_OPTION(AT(files.page)),
    QUIET_OPTION(run_args),
    INPUT_OPTIONS(run_args),
    {0}};

static const char details[] = "The page is one HTML file that needs no network: send it, print it, keep it.\n"
                              "run, compare, plan and sweep write one, too, with --report FILE.\n"
                              "Exit code: 0 fine, 2 bad input or usage, 3 a policy broke its contract, 4 the\n"
                              "system failed.\n\n"
                              "Examples:\n"
                              "  headroom report scenarios/demo.json\n"
                              "  headroom run scenarios/demo.json --policy fifo --json fifo.json\n"
                              "  headroom report scenarios/demo.json --policy sjf --baseline fifo.json \\\n"
                              "    -o sjf.html\n";

static void set_defaults(void *args) {
  struct run_args *run = args;
  run->no_table = true;
  run->files.page.report = "report.html";
}

static void set_command(void *args, const struct command *command) {
  ((struct run_args *)args)->files.page.command = *command;
}

static enum hr_status run_verb(const void *args, const struct words *operands, struct hr_error *error) {
  const struct run_args *run = args;
  enum hr_status status = run_scenario(run, operands->at[0], error);
  if (status == HR_OK && !run->quiet && !run_files_to_stdout(&run->files))
    printf("%s is written: open it in a browser\n", run->files.page.report);
  return status;
}

const struct verb verb_report = {.name = "report",
                                 .operands = "SCENARIO",
                                 .min_operands = 1,
                                 .max_operands = 1,
                                 .summary = "replay a trace as 'run' does and write a page to be looked at",
                                 .details = details,
                                 .options = options,
                                 .args_bytes = sizeof(struct run_args),
                                 .set_defaults = set_defaults,
                                 .set_command = set_command,
                                 .run = run_verb};
