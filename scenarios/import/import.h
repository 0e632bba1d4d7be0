/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_IMPORT_IMPORT_H
#define HR_SCENARIOS_IMPORT_IMPORT_H

/* Types and functions that the readers of configurations share. */

#include "headroom/unstable/scenario_files.h"

#include <cjson/cJSON.h>

/* A function that reads the configuration files of a system, and adds members to the scenario `root`. */
typedef enum hr_status hr__import_read(const char *const *files, size_t n_files, cJSON *root, struct hr_notes *notes,
                                       struct hr_error *error);

/* The systems. The columns: name, function that reads their configuration. */
#define HR__IMPORT_SYSTEMS(X)                                                                                          \
  X("kueue", hr__import_kueue)                                                                                         \
  X("kai", hr__import_kai)                                                                                             \
  X("volcano", hr__import_volcano)                                                                                     \
  X("kubernetes", hr__import_kubernetes)                                                                               \
  X("slurm", hr__import_slurm)

#define HR__IMPORT_DECLARE(name, read) hr__import_read read;
HR__IMPORT_SYSTEMS(HR__IMPORT_DECLARE)
#undef HR__IMPORT_DECLARE

#endif
