/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom init`: writes a scenario to begin with. With --all, it explains every key. */

#include "cli/cli.h"
#include "cli/options.h"
#include "headroom/unstable/scenario_keys.h"

#include <errno.h>
#include <string.h>

struct init_args {
  bool all, force;
  const char *trace; /* NULL: a shipped trace */
};

static const struct option options[] = {{.name = "all",
                                         .kind = OPTION_FLAG,
                                         .offset = offsetof(struct init_args, all),
                                         .help = "explain every key: type, unit, default and meaning"},
                                        {.name = "trace",
                                         .kind = OPTION_TEXT,
                                         .offset = offsetof(struct init_args, trace),
                                         .value = "FILE",
                                         .help = "the trace, relative to the folder of the scenario (default: a "
                                                 "trace that ships with Headroom)"},
                                        {.name = "force",
                                         .letter = 'f',
                                         .kind = OPTION_FLAG,
                                         .offset = offsetof(struct init_args, force),
                                         .help = "overwrite an existing file"},
                                        {0}};

static const char details[] = "FILE is the file to write (default: scenario.json); '-' is standard output.\n"
                              "A member whose name begins with // is a comment.\n"
                              "Exit code: 0 success, 2 bad input or usage, 4 system failure.\n\n"
                              "Examples:\n"
                              "  headroom init\n"
                              "  headroom init --all mine.json --trace jobs.csv\n";

static enum hr_status write_file(const char *path, const char *text, bool force, struct hr_error *error) {
  FILE *file = is_stdout(path) ? stdout : fopen(path, force ? "w" : "wx");
  if (!file && errno == EEXIST)
    return hr_fail(error, HR_BAD_INPUT, "%s: the file exists; overwrite it with --force", path);
  if (!file) return hr_fail(error, HR_BAD_INPUT, "%s: cannot be written: %s", path, strerror(errno));
  bool is_written = fputs(text, file) >= 0 && fflush(file) == 0;
  int failure = errno;
  if (file != stdout && fclose(file) != 0 && is_written) {
    is_written = false;
    failure = errno;
  }
  return is_written ? HR_OK : hr_fail(error, HR_IO_ERROR, "%s: cannot be written: %s", path, strerror(failure));
}

static enum hr_status run_verb(const void *args, const struct words *operands, struct hr_error *error) {
  const struct init_args *init = args;
  const char *path = operands->count ? operands->at[0] : "scenario.json";
  char *text;
  enum hr_status status = hr_scenario_template(init->trace, init->all, &text, error);
  if (status != HR_OK) return status;
  status = write_file(path, text, init->force, error);
  free(text);
  if (status == HR_OK && !is_stdout(path)) printf("wrote %s; to check it: headroom validate %s\n", path, path);
  return status;
}

const struct verb verb_init = {.name = "init",
                               .operands = "[FILE]",
                               .max_operands = 1,
                               .summary = "write a scenario file to begin with, or one that explains every key",
                               .details = details,
                               .options = options,
                               .args_bytes = sizeof(struct init_args),
                               .run = run_verb};
