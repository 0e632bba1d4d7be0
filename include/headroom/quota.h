/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_QUOTA_H
#define HEADROOM_QUOTA_H

/*
 * Who may use how many GPUs: tenants in a tree of cohorts.
 *
 * What a tenant or cohort is guaranteed and does not use, others of the same cohort may borrow; what a cohort does not
 * use as a whole, other cohorts. A cohort's own guarantee adds to those of its members. All that has no cohort stands
 * below one root, which also holds the GPUs that are guaranteed to nobody. GPUs are counted in thousandths, of all
 * types alike. The rules are Kueue's (pkg/cache/scheduler/resource_node.go), with hard caps added.
 */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* No limit. Larger guarantees than HR_MAX_QUOTA_MILLI count as that, larger limits as none. */
#define HR_NO_LIMIT UINT64_MAX
#define HR_MAX_QUOTA_MILLI UINT64_C(4000000000)

struct hr_quota_node {
  char *name;      /* of the tenant or cohort; a tenant may be called as a cohort is */
  uint32_t parent; /* place of its cohort, which stands before it; HR_NONE: the root */
  bool is_tenant;
  uint64_t guaranteed_milli;
  uint64_t borrow_milli; /* how much it may use beyond the guarantees at and below it */
  uint64_t lend_milli;   /* how much of those guarantees others may use */
  uint64_t max_milli;    /* hard cap on all that is used at and below it, borrowed or not */
  double weight;         /* above 0: who borrows for twice the weight, borrows twice as much before it comes last */
};

struct hr_quota_spec {
  struct hr_quota_node *nodes;
  uint32_t n_nodes;
  struct hr_quota_node fallback; /* of each tenant that is not named, and of jobs without one; its name is NULL */
};

/* Frees a spec that came from malloc, its nodes and their names too; takes NULL. */
HR_API void hr_quota_spec_destroy(struct hr_quota_spec *spec);

#ifdef __cplusplus
}
#endif
#endif
