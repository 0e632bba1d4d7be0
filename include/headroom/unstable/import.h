/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_IMPORT_H
#define HEADROOM_UNSTABLE_IMPORT_H

/* Scenarios from the configuration of other schedulers. */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The systems with a configuration that can be imported; ends with NULL. */
HR_API extern const char *const hr_import_systems[];

/* Writes a scenario with the cluster and the policy of a configuration to the file `output` ("-": standard output).
   `notes` lists everything that is not modelled, with its place and its effect; the caller finishes it. Returns
   HR_BAD_INPUT, with file and line, if the system is unknown or the configuration is not valid. */
HR_API enum hr_status hr_import(const char *system, const char *const *files, size_t n_files, const char *output,
                                struct hr_notes *notes, struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
