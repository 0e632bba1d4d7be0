/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `headroom import`: writes a scenario with the cluster and the policy of another scheduler's configuration. */

#include "cli/cli.h"
#include "cli/input.h"
#include "cli/options.h"
#include "headroom/unstable/scenario_files.h"

struct import_args {
  const char *output; /* NULL: not set */
};

static const struct option options[] = {{.name = "output",
                                         .letter = 'o',
                                         .kind = OPTION_TEXT,
                                         .offset = offsetof(struct import_args, output),
                                         .value = "FILE",
                                         .help = "the scenario to write; - for standard output"},
                                        {0}};

static enum hr_status run_import(const void *args, const struct words *operands, struct hr_error *error) {
  const struct import_args *import = args;
  const char *system = operands->at[0];
  bool known = false;
  for (size_t i = 0; hr_import_systems[i]; i++) known |= strcmp(hr_import_systems[i], system) == 0;
  if (!known) return unknown_word("system", system, hr_import_systems, error);
  if (!import->output)
    return hr_fail(error, HR_BAD_INPUT, "import: option '-o' is missing: '-o FILE' names the scenario to write");
  const struct output output = {"--output", import->output};
  enum hr_status status = outputs_check(&output, 1, operands->at + 1, operands->count - 1, error);
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
    .min_operands = 2,
    .max_operands = SIZE_MAX,
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
    .options = options,
    .args_bytes = sizeof(struct import_args),
    .run = run_import,
};
