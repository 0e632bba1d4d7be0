/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_CLI_H
#define HR_CLI_CLI_H

/* A verb is a command of the program, `headroom VERB`. An action is a command of a verb, `headroom VERB ACTION`. main.c
   lists the verbs, and each verb lists its actions. */

#include "cli/options.h"
#include "cli/process.h"

#include <string.h>

struct verb {
  const char *name; /* the name of an action includes its verb: "trace generate" */
  /* list of actions that ends with NULL; if the pointer itself is NULL, the verb has no actions. Of a verb with
     actions, only the members `name`, `summary` and `actions` are used. */
  const struct verb *const *actions;
  const char *operands; /* as printed in the usage line */
  size_t min_operands, max_operands;
  const char *summary;
  const char *details; /* help text that follows the options; may be NULL */
  const struct option *options;
  /* size of the struct to which the options write their values */
  size_t args_bytes;
  void (*set_defaults)(void *args); /* NULL: all values are zero by default */
  /* stores the command line, for verbs that show it in their output; may be NULL */
  void (*set_command)(void *args, const struct command *command);
  bool on_ranks; /* the ranks of an MPI job share the runs of this verb, and only rank 0 has output */
  enum hr_status (*run)(const void *args, const struct words *operands, struct hr_error *error);
};

extern const struct verb verb_run, verb_report, verb_why, verb_compare, verb_check, verb_plan, verb_advise, verb_sweep,
    verb_merge, verb_fill, verb_forecast, verb_validate, verb_init, verb_list, verb_trace, verb_conform, verb_import,
    verb_diff, verb_fit, verb_tco, verb_serve;
/* Actions of `trace`. */
extern const struct verb verb_trace_generate, verb_trace_convert, verb_trace_cut, verb_trace_scale, verb_trace_merge,
    verb_trace_anonymise, verb_trace_shuffle;

/* Runs a command (its first word is the program), reports its error, and returns its exit code. Workers of `headroom
   serve` run several commands in one process. */
int run_command(int argc, char **argv);

/* The options of `headroom list`. */
struct list_args {
  bool verbose;
  const char *provider, *gpu;       /* NULL: all */
  const char *region;               /* NULL: the base region of each provider, but presets of all regions */
  const char *as_of;                /* NULL: the newest prices */
  const char *path;                 /* of `metrics`; NULL: all metrics */
  bool schema, markdown;            /* of `keys` */
  const struct hr_catalog *catalog; /* set by list_catalog */
};

/* Loads the catalogue and prints its list with this name, which must exist. Errors: unknown provider, region, GPU type
   or date. */
enum hr_status list_catalog(const char *name, const struct list_args *args, struct hr_error *error);

/* ---- Output files that options name: input.c ----------------------------------------------------- */

/* An option that names an output file, and its path. NULL: not set; "-": standard output. */
struct output {
  const char *option, *path;
};

static inline bool is_stdout(const char *path) {
  return path && strcmp(path, "-") == 0;
}

/* Checks before a run that each output is writable, that no two outputs are the same file, and that no output is an
   input. */
enum hr_status outputs_check(const struct output *outputs, size_t n_outputs, const char *const *inputs, size_t n_inputs,
                             struct hr_error *error);
/* Checks that no output is an input file that a parameter of the trace format names ("pai2020:jobs=FILE"; NULL: no
   format). */
enum hr_status outputs_spare_params(const struct output *outputs, size_t n_outputs, const char *format,
                                    struct hr_error *error);

#endif
