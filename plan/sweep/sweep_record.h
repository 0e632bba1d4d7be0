/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_PLAN_SWEEP_SWEEP_RECORD_H
#define HR_PLAN_SWEEP_SWEEP_RECORD_H

/* What is kept of a run of a sweep. */

#include "plan/runner/measures.h"

enum hr__group_kind { HR__SWEEP_TENANT, HR__SWEEP_CLASS };

struct hr__group_record {
  enum hr__group_kind kind;
  char *name;
  double values[HR__N_MEASURES]; /* NaN where it has none */
};

struct hr__record {
  uint64_t run, seed, digest;
  double values[HR__N_MEASURES]; /* likewise */
  struct hr__group_record *groups;
  size_t n_groups;
};

/* Takes what is to be kept; false: out of memory. */
bool hr__record_take(struct hr__record *record, const struct hr__one_run *run);
void hr__record_finish(struct hr__record *record);

/* As bytes for another process of the same program, and back. The caller frees them; NULL or false: out of memory. */
void *hr__record_pack(const struct hr__record *record, size_t *size);
bool hr__record_unpack(struct hr__record *record, const void *bytes, size_t size);

#endif
