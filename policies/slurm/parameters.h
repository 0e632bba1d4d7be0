/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_SLURM_PARAMETERS_H
#define HR_POLICIES_SLURM_PARAMETERS_H

/*
 * The parameters of slurm.conf and of its SchedulerParameters that the model of Slurm knows, with units, defaults and
 * bounds. Source: doc/man/man5/slurm.conf.5 and src/plugins/sched/backfill/backfill.c of SchedMD/slurm.
 */

#include <stdint.h>

#define HR__SLURM_NO_BOUND INT64_MIN

/* A parameter whose value is a whole number. */
struct hr__slurm_parameter {
  const char *name, *unit;
  int64_t fallback, min, max;       /* HR__SLURM_NO_BOUND: none is documented */
  const char *fallback_of, *max_of; /* if the default or the bound is the value of another parameter, its name */
};

/* Returns the parameter; NULL if it is unknown. Case is ignored. */
const struct hr__slurm_parameter *hr__slurm_parameter(const char *name);

#endif
