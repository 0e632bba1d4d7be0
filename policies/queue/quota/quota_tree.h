/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_QUOTA_QUOTA_TREE_H
#define HR_POLICIES_QUEUE_QUOTA_QUOTA_TREE_H

/* The tree of quotas as bars that hold tenants back: each of its nodes is a place, the root the first of all. */

#include "headroom/policy_kit.h"
#include "policies/queue/quota/admission.h"

uint32_t hr__quota_tree_places(const struct hr_quota_tree *tree);
/* The tenant's own place, and the one above another, HR_NONE above the root. */
uint32_t hr__quota_tree_place(const struct hr_quota_tree *tree, uint32_t tenant);
uint32_t hr__quota_tree_above(const struct hr_quota_tree *tree, uint32_t place);
/* Whether the tenant may not use `milli` more now, and the lowest of the bars that stop it. Its `spare` then changes
   with what the tenant itself uses alone; no bar is named where what others use would change it. */
bool hr__quota_tree_is_barred(const struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli,
                              struct hr__admission_limit *bar);
/* The lowest place whose bar that is; HR_NONE: the tenant may. */
uint32_t hr__quota_tree_stop(const struct hr_quota_tree *tree, uint32_t tenant, uint64_t milli);
/* How much room a bar leaves. It shrinks when something is taken at or below its place, and grows when it is given. */
int64_t hr__quota_tree_room(const struct hr_quota_tree *tree, uint32_t place, enum hr__admission_limit_kind kind);
/* Whether the tenant keeps something to itself, so that what it uses changes `spare`. */
bool hr__quota_tree_keeps(const struct hr_quota_tree *tree, uint32_t tenant);

#endif
