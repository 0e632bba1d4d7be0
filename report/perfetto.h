/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_PERFETTO_H
#define HR_REPORT_PERFETTO_H

/* Trace events in the making, one a line. An event is begun, told its place and time, and then whatever else its kind
   has, up to the brace that closes it. */

#include "report/json_out.h"
#include "report/perfetto_tracks.h"

enum { HR__PERFETTO_CLUSTER = 1, HR__PERFETTO_FIRST_POOL = 2 };

struct hr__perfetto {
  struct hr__out out;
  const struct hr_export *run;
  struct hr__tracks tracks;
  int64_t clock_us;  /* added to a time to show it */
  uint32_t first_id; /* of threads */
  bool any;          /* an event stands before the next one */
};

/* A text that is known when this is compiled. */
#define HR__PUT(perfetto, text) hr__out_bytes(&(perfetto)->out, text, sizeof text - 1)

/* `phase`: "M" names, "C" counters, "X" slices, "i" instants. */
void hr__perfetto_begin(struct hr__perfetto *perfetto, const char *phase);
void hr__perfetto_place(struct hr__perfetto *perfetto, uint32_t process, uint32_t thread);
void hr__perfetto_time(struct hr__perfetto *perfetto, int64_t at_us);
/* A whole event: `what` is "process_name" or "thread_name". */
void hr__perfetto_name(struct hr__perfetto *perfetto, const char *what, uint32_t process, uint32_t thread,
                       const char *name);

uint32_t hr__perfetto_pool_process(uint32_t pool);
/* The thread of an owner's lane. */
uint32_t hr__perfetto_thread(const struct hr__perfetto *perfetto, uint32_t owner, uint32_t lane);

/* Slices of the cluster, on as many threads as are amiss at once, behind those of the nodes. */
void hr__perfetto_alerts(struct hr__perfetto *perfetto);

#endif
