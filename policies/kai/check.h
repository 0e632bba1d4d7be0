/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_KAI_CHECK_H
#define HR_POLICIES_KAI_CHECK_H

/* Invariants of a session, for checked mode. */

#include "policies/kai/session.h"

/* Computes all sums again from the pods. Returns NULL, or the invariant that is broken. No statement may be open. */
const char *hr__kai_check(const struct hr__kai_session *session);

#endif
