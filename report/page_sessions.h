/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_PAGE_SESSIONS_H
#define HR_REPORT_PAGE_SESSIONS_H

/* The nodes of pools that come and go, while they were paid for. */

#include "report/page_parts.h"

struct hr__page_session {
  int64_t since_us, to_us;
  uint32_t pool, node;
  bool free; /* reclaimed so early that it is not paid for */
};

struct hr__page_sessions {
  struct hr__page_session *at; /* by node, then time */
  size_t count;
};

/* HR_NO_MEMORY on failure; to be finished either way. */
enum hr_status hr__page_sessions_make(struct hr__page_sessions *sessions, const struct hr__page_view *view);
void hr__page_sessions_finish(struct hr__page_sessions *sessions);
/* Whether what began on a node at a time is not paid for. */
bool hr__page_is_free(const struct hr__page_sessions *sessions, uint32_t node, int64_t begin_us);

#endif
