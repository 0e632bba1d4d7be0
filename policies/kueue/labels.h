/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KUEUE_LABELS_H
#define HR_POLICIES_KUEUE_LABELS_H

/* Labels and taints of nodes, and whether they match what pods ask for. The rules are those of Kubernetes. */

#include "policies/kueue/kueue.h"

/* Returns the value of a label; NULL if the label is missing. */
const char *hr__kueue_label_get(const struct hr__kueue_labels *labels, const char *key);
/* Returns whether `labels` has all of `wanted`. */
bool hr__kueue_labels_include(const struct hr__kueue_labels *labels, const struct hr__kueue_labels *wanted);
/* Returns whether all expressions of a term match. A term without expressions matches nothing. */
bool hr__kueue_term_matches(const struct hr__kueue_term *term, const struct hr__kueue_labels *labels);
/* Returns whether one of the tolerations tolerates a taint. */
bool hr__kueue_tolerates(const struct hr__kueue_tolerations *tolerations, const struct hr__kueue_taint *taint);
/* Returns the first taint that keeps pods away and that neither list tolerates; NULL if there is none. */
const struct hr__kueue_taint *hr__kueue_untolerated(const struct hr__kueue_taints *taints,
                                                    const struct hr__kueue_tolerations *pods,
                                                    const struct hr__kueue_tolerations *flavor);

#endif
