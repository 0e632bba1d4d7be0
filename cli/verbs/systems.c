/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Verbs that read files of other systems. `headroom conform` checks Headroom's model of another scheduler with test
   vectors of that scheduler. `headroom import` writes a scenario with the cluster and the policy of another scheduler's
   configuration. `headroom fit failures` fits distributions to a log of failures. */

#include "cli/cli.h"
#include "headroom/unstable/conform.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/scenario_files.h"

#include <inttypes.h>

/* ---- conform ---------------------------------------------------------------------------------------- */

struct conform_args {
  const char *json; /* NULL: none */
};

static const struct option conform_options[] = {{"json", OPTION_TEXT, offsetof(struct conform_args, json), "FILE",
                                                 "write the result as JSON; - for standard output, instead of text"},
                                                {0}};

static enum hr_status run_conform(const void *args, const struct words *operands, struct hr_error *error) {
  const struct conform_args *conform = args;
  const char *system = operands->at[0];
  const struct output output = {"json", conform->json};
  unsigned place;
  enum hr_status status = find_word("system", system, hr_conform_systems, &place, error);
  if (status == HR_OK) status = outputs_check(&output, 1, operands->at + 1, operands->count - 1, NULL, error);
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
    .summary = "check the model of another scheduler with test vectors",
    .details = "SYSTEM is kueue, kai, volcano, kubernetes, slurm, autoscalers or clusters.\n"
               "The last line has counts. The exit code is 1 if a case failed.\n",
    .options = conform_options,
    .args_bytes = sizeof(struct conform_args),
    .run = run_conform,
};

/* ---- import ----------------------------------------------------------------------------------------- */

struct import_args {
  const char *output; /* NULL: not set */
};

static const struct option import_options[] = {{"output", OPTION_TEXT, offsetof(struct import_args, output), "FILE",
                                                "the scenario to write; - for standard output", .letter = 'o'},
                                               {0}};

static enum hr_status run_import(const void *args, const struct words *operands, struct hr_error *error) {
  const struct import_args *import = args;
  const char *system = operands->at[0];
  unsigned place;
  enum hr_status status = find_word("system", system, hr_import_systems, &place, error);
  if (status != HR_OK) return status;
  if (!import->output)
    return hr_fail(error, HR_BAD_INPUT, "import: option '-o' is missing: '-o FILE' names the scenario to write");
  const struct output output = {"output", import->output};
  status = outputs_check(&output, 1, operands->at + 1, operands->count - 1, NULL, error);
  if (status != HR_OK) return status;
  struct hr_notes notes = {0};
  status = hr_import(system, operands->at + 1, operands->count - 1, import->output, &notes, error);
  if (status == HR_OK) {
    notes_print(stderr, &notes);
    if (!is_stdout(import->output))
      printf("  written    %s\n  next       headroom run %s --trace FILE\n", import->output, import->output);
  }
  hr_notes_finish(&notes);
  return status;
}

const struct verb verb_import = {
    .name = "import",
    .operands = "SYSTEM FILE...",
    .summary = "write a scenario from the configuration of another scheduler",
    .details = "SYSTEM is one of\n"
               "  kueue    FILE: Kubernetes objects as YAML or JSON, such as the output of\n"
               "           'kubectl get clusterqueues,cohorts,localqueues,resourceflavors,nodes\n"
               "           -A -o yaml', and Kueue's configuration; - is standard input\n"
               "  kai      FILE: the same with queues.scheduling.run.ai, schedulingshards and\n"
               "           the scheduler's ConfigMap\n"
               "  volcano  FILE: the same with queues.scheduling.volcano.sh and\n"
               "           volcano-scheduler.conf or its ConfigMap\n"
               "  kubernetes\n"
               "           FILE: Nodes, PriorityClasses and KubeSchedulerConfiguration\n"
               "  slurm    FILE: slurm.conf, gres.conf, files that they include, or output of\n"
               "           sacctmgr, scontrol and sinfo\n"
               "Notes list everything that is not modelled, with its effect.\n",
    .options = import_options,
    .args_bytes = sizeof(struct import_args),
    .run = run_import,
};

/* ---- fit -------------------------------------------------------------------------------------------- */

struct fit_args {
  const char *system, *json; /* NULL: all systems; none */
};

static const struct option fit_options[] = {
    {"system", OPTION_TEXT, offsetof(struct fit_args, system), "ID", "only this system of the log"},
    {"json", OPTION_TEXT, offsetof(struct fit_args, json), "FILE",
     "write the fits as JSON; - for standard output, instead of text"},
    {0}};

static enum hr_status fit_failures(const void *untyped, const struct words *operands, struct hr_error *error) {
  const struct fit_args *args = untyped;
  const char *path = operands->at[0];
  const struct output output = {"json", args->json};
  struct hr_failure_log log = {0};
  enum hr_status status = outputs_check(&output, 1, &path, 1, NULL, error);
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

static const struct verb *const fit_actions[] = {&verb_fit_failures, NULL};

const struct verb verb_fit = {.name = "fit", .summary = "fit distributions to recorded data", .actions = fit_actions};
