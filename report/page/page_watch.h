/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_PAGE_PAGE_WATCH_H
#define HR_REPORT_PAGE_PAGE_WATCH_H

/* What the watch has gathered; read by the page. */

#include "headroom/unstable/exports.h"
#include "report/metrics/buckets.h"
#include "report/page/page_writer.h"

enum hr__page_count {
  HR__PAGE_WAITING,
  HR__PAGE_WAITING_MILLI,
  HR__PAGE_RUNNING,
  HR__PAGE_ALLOCATED_MILLI,
  HR__PAGE_TOTAL_MILLI,
  HR__PAGE_FRAGMENTED_MILLI,
  HR__PAGE_STRANDED_MILLI,
  HR__PAGE_COUNTS
};

/* Spot pools beyond these are not drawn. */
enum { HR__PAGE_SPOT_POOLS = 12 };

/* Nodes that could be had, or were there; and those that were there, and are paid for. */
struct hr__page_offer {
  hr_pool pool;
  struct hr__buckets nodes, up;
};

struct hr_page_watch {
  const struct hr_trace *trace;
  struct hr__page_offer offers[HR__PAGE_SPOT_POOLS];
  uint32_t n_offers;
  const struct hr_usage *usage; /* NULL: fragments are not known */
  uint64_t waiting_milli;
  bool knows_fragments;
  struct hr__buckets counts[HR__PAGE_COUNTS];
};

/* Nothing happens any more; does nothing the second time. */
void hr__page_watch_close(struct hr_page_watch *watch, int64_t end_us);

#endif
