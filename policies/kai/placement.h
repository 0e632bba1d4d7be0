/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KAI_PLACEMENT_H
#define HR_POLICIES_KAI_PLACEMENT_H

/* Places the next pods of a job on nodes, all or none. */

#include "policies/kai/topology.h"

struct hr__kai_placer {
  struct hr__kai_session *session;
  struct hr__kai_topologies topologies;
  double *scores;        /* [n_nodes] */
  uint32_t *fitting;     /* [n_nodes] */
  uint32_t *pods, *sets; /* the next pods, and the pod sets, of the job that is placed */
  uint32_t *batch;       /* pods of groups and pod sets; each level of the tree has its own part */
  uint32_t *children;    /* groups and pod sets of a group; likewise */
  uint32_t *domains;     /* domains to try; likewise */
  uint8_t *node_sets;    /* allowed nodes; likewise */
  uint32_t n_batch, n_children, n_domains, n_node_sets; /* in use */
  uint32_t max_domains;
};

/* Allocates a placer for jobs of at most this size. Returns whether memory sufficed. */
bool hr__kai_placer_create(struct hr__kai_placer *placer, struct hr__kai_session *session);
/* Places the next pods of the job on the allowed nodes ([n_nodes]). With `wait_only`, they wait for resources that are
   idle or being released (as in a simulation); else they are bound if the resources are idle. Returns whether all have
   a place; if not, nothing has changed. */
bool hr__kai_place_job(struct hr__kai_placer *placer, uint32_t job, const uint8_t *allowed, bool wait_only);

/* The score of a shared GPU, or of a whole one (`gpu` -1), for packing or spreading; negative: the GPU memory of the
   node is not known. */
double hr__kai_gpu_score(int64_t used_mib, int64_t gpu_mib, bool whole, bool spread);

#endif
