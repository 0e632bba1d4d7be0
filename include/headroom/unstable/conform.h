/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_CONFORM_H
#define HEADROOM_UNSTABLE_CONFORM_H

/* Conformance with other schedulers: the models of Kueue, KAI, Volcano, kube-scheduler and Slurm run test vectors of
   these systems. A vector file is a JSON list of cases. Each case has an id, a kind, the input of one decision and the
   expected result. */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A value that differs from the expected one. */
struct hr_conform_difference {
  char *place;             /* of the value in the case, such as "podSets.0.count" */
  char *expected, *actual; /* as JSON */
};

/* A case that failed or is not supported. */
struct hr_conform_case {
  char *id, *kind;
  char *unsupported;                         /* the feature that is not modelled; NULL: the case failed */
  struct hr_conform_difference *differences; /* [n_differences]; empty if the case is not supported */
  size_t n_differences;
};

/* The result of running vectors. */
struct hr_conform_report {
  const char *system;
  uint64_t passed, failed, not_supported;
  struct hr_conform_case *cases; /* [n_cases] those that did not pass, in the order of the files */
  uint32_t n_cases, capacity;
};

/* The names of the systems; ends with NULL. */
HR_API extern const char *const hr_conform_systems[];

/* Runs the cases of vector files against the model of a system. The caller finishes the report, also after an error.
   Returns HR_BAD_INPUT if the system is unknown, or if a file is not a list of cases. Failed cases are not errors. */
HR_API enum hr_status hr_conform_run(const char *system, const char *const *files, size_t n_files,
                                     struct hr_conform_report *report, struct hr_error *error);
/* Prints the cases that failed, and at last the counts: "N passed, M failed, K not supported". */
HR_API void hr_conform_print(FILE *out, const struct hr_conform_report *report);
/* Writes the report as JSON to a file; "-": standard output. */
HR_API enum hr_status hr_conform_write_json(const char *path, const struct hr_conform_report *report,
                                            struct hr_error *error);
/* Frees what the report points to. */
HR_API void hr_conform_finish(struct hr_conform_report *report);

#ifdef __cplusplus
}
#endif
#endif
