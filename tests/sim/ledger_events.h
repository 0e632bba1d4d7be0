/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_SIM_LEDGER_EVENTS_H
#define HR_TESTS_SIM_LEDGER_EVENTS_H

/* Functions to report events to a ledger without an engine. */

#include "headroom/sim.h"

static inline void report_event(struct hr_ledger *ledger, const struct hr_event *event) {
  struct hr_observer observer = hr_ledger_observer(ledger);
  struct hr_view view = {.size = sizeof view, .now_us = event->at_us};
  observer.on_event(observer.self, &view, event);
}

static inline void report_job_event(struct hr_ledger *ledger, int64_t at_us, enum hr_event_kind kind, uint32_t job,
                                    const struct hr_placement *placement) {
  struct hr_event event = {at_us, kind, HR_REASON_NONE, {job}, placement, {HR_NONE}, {HR_NONE}};
  report_event(ledger, &event);
}

static inline void report_node_event(struct hr_ledger *ledger, int64_t at_us, enum hr_event_kind kind,
                                     enum hr_reason reason, uint32_t pool, uint32_t node) {
  struct hr_event event = {at_us, kind, reason, {HR_NONE}, NULL, {pool}, {node}};
  report_event(ledger, &event);
}

#endif
