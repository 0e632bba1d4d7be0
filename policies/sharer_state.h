/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_SHARER_STATE_H
#define HR_POLICIES_SHARER_STATE_H

/* What the sharer's own files share. */

#include "policies/sharer.h"

/* A state of the cluster, and who looks for places in it. */
struct hr__yard {
  struct hr_stock *stock;
  struct hr_packer *packer;
  struct hr__groups *groups; /* NULL unless jobs are to be within some */
  struct hr_packer *bare;    /* sharer_bare.c; NULL until it is asked */
};

struct hr__sharer {
  struct hr__yard now;   /* follows what happens */
  struct hr__yard empty; /* all nodes there, and no job; NULL unless some gang may never find places */
  const struct hr_requests *requests;
  struct hr_request *asked; /* the packer's: those of the trace, and those of gangs for each pool */
  uint32_t *first_variant;  /* by request: its variant for pool 0; HR_NONE: it has one task, or none */
  uint32_t n_asked, n_pools;
  const struct hr_typical_pods *typical;
  struct hr_acceptance acceptance; /* of the cluster's classes, and of each pool alone */
  struct hr_slice *slices;         /* room for the largest gang */
  const struct hr_cluster *cluster;
  struct hr__sharer *bare; /* sharer_bare.c; likewise */
  bool failed;             /* out of memory while it was asked something */
};

#endif
