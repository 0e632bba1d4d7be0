/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_PAGE_SPEND_H
#define HR_REPORT_PAGE_SPEND_H

/* When the dollars of a run are spent: in units of the ledger, whose sums these are. */

#include "report/page_sessions.h"
#include "report/page_split.h"

/* Of a micro-dollar: such a small amount is spread over many buckets. */
#define HR__PAGE_OTHER_PARTS 1000000

struct hr__page_spending {
  struct hr__page_sums used;                  /* by jobs */
  struct hr__page_sums market[HR_N_MARKETS];  /* what pools cost, used or not */
  struct hr__page_sums other;                 /* what is charged beside capacity, evenly over the run: in parts */
  struct hr__page_sums tenant[HR__PAGE_ROWS]; /* used, by the rows of `tenants`; none where the trace has none */
  struct hr__page_split tenants;
  bool in_use[HR_N_MARKETS];
  hr_amount after; /* of reserved nodes, for the time beyond the run's end */
};

/* HR_NO_MEMORY on failure; to be finished either way. All sums are closed. */
enum hr_status hr__page_spending_make(struct hr__page_spending *spending, const struct hr__page_view *view);
void hr__page_spending_finish(struct hr__page_spending *spending);

#endif
