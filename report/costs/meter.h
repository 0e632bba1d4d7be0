/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_REPORT_COSTS_METER_H
#define HR_REPORT_COSTS_METER_H

/* What the meter has gathered; read by the costs. */

#include "headroom/report.h"

/* What went by in a month. */
struct hr__meter_month {
  hr_amount covered;        /* what savings plans cover, at its price: in units of the ledger */
  hr_amount withheld_milli; /* milli-GPUs that jobs waited for and the spot market withheld x microseconds */
};

/* Accounts for the time up to the run's end. HR_NO_MEMORY if some of it was lost. */
enum hr_status hr__meter_close(struct hr_meter *meter, int64_t end_us);

/* Zero for a month that the run did not reach. */
struct hr__meter_month hr__meter_month(const struct hr_meter *meter, uint32_t month);
/* Nodes of a pool x microseconds within a month: nodes that come and go, while they were paid for; others, while they
   were there, up to `end_us`. */
hr_amount hr__meter_node_us(const struct hr_meter *meter, hr_pool pool, uint32_t month, int64_t end_us);

/* How long two spans of time have in common. */
static inline int64_t hr__overlap_us(int64_t from_us, int64_t to_us, int64_t begin_us, int64_t end_us) {
  int64_t first_us = from_us > begin_us ? from_us : begin_us, last_us = to_us < end_us ? to_us : end_us;
  return last_us > first_us ? last_us - first_us : 0;
}

/* How much of the span from zero to `end_us` lies in a month. */
static inline int64_t hr__month_part_us(uint32_t month, int64_t end_us) {
  return hr__overlap_us(0, end_us, month * HR_MONTH_US, (month + INT64_C(1)) * HR_MONTH_US);
}

#endif
