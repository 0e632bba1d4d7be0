/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_CONFORM_H
#define HEADROOM_UNSTABLE_CONFORM_H

/* Conformance with other systems: Headroom's models of schedulers (Kueue, KAI, Volcano, kube-scheduler, Slurm),
   autoscalers and clusters are run with test vectors of these systems. A vector file is a JSON list of cases. Each case
   has an id, a kind, the input of one decision and the expected result. The files of the system "autoscalers" have
   another format, see docs/reference/conform.md. */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A value of a case that differs from the expected value. */
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
  struct hr_conform_case *cases; /* [n_cases]: the cases that did not pass, in the order of the files */
  uint32_t n_cases, capacity;    /* capacity: allocated entries of `cases` */
};

/* The names of the systems, terminated by NULL. */
HR_API extern const char *const hr_conform_systems[];

/* Runs the cases of vector files with the model of a system. The caller frees the report with hr_conform_finish, also
   after an error. Returns HR_BAD_INPUT if the system is unknown, or if a file does not have the format of vector files.
   Failed cases are not errors. */
HR_API enum hr_status hr_conform_run(const char *system, const char *const *files, size_t n_files,
                                     struct hr_conform_report *report, struct hr_error *error);
/* Prints the cases that failed or are not supported, and then the counts: "N passed, M failed, K not supported". */
HR_API void hr_conform_print(FILE *out, const struct hr_conform_report *report);
/* Writes the report as JSON to a file; "-": standard output. */
HR_API enum hr_status hr_conform_write_json(const char *path, const struct hr_conform_report *report,
                                            struct hr_error *error);
/* Frees everything that the report points to. The report is empty afterwards. */
HR_API void hr_conform_finish(struct hr_conform_report *report);

#ifdef __cplusplus
}
#endif
#endif
