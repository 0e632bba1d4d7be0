/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_SERVICE_H
#define HR_POLICIES_SERVICE_H

/*
 * Attained service: the time that a job has held its GPUs, times their number (shares count as such); and queues by it,
 * parted by thresholds (Gu et al., "Tiresias: A GPU Cluster Manager for Distributed Deep Learning", NSDI'19). A running
 * job comes into the next queue at the microsecond at which its service reaches the threshold.
 */

#include "policies/dispatch.h"

struct hr__standing {
  int64_t entered_us;  /* when the job came into its queue */
  int64_t held_us;     /* time that it has held its GPUs, the present attempt not included */
  int64_t crossing_us; /* running: when it reaches the next queue; HR_NEVER_US */
  uint32_t queue;
};

struct hr__service {
  const int64_t *threshold_us; /* GPUs x microseconds, rising; at most INT64_MAX / 1000 */
  uint32_t n_thresholds;
  struct hr__standing *jobs;
  struct hr_job_tree crossings; /* running jobs by when they reach the next queue */
};

/* False: out of memory. */
bool hr__service_init(struct hr__service *service, struct hr__queue *queue, const int64_t *threshold_us,
                      uint32_t n_thresholds);
/* A job that has no service, or whose service is to count anew, comes into the first queue. */
void hr__service_begin(struct hr__service *service, hr_job job, int64_t now_us);
bool hr__service_start(struct hr__service *service, const struct hr__queue *queue, hr_job job, int64_t now_us);
bool hr__service_stop(struct hr__service *service, const struct hr__queue *queue, const struct hr_view *view,
                      hr_job job);
/* Takes a running job into its next queue if one is due; its id is HR_NONE when none is. False: out of memory. */
bool hr__service_cross(struct hr__service *service, const struct hr__queue *queue, const struct hr_view *view,
                       hr_job *job);
/* When the next one is; HR_NEVER_US. */
int64_t hr__service_next_us(const struct hr__service *service);

/* The key of who came into the queue of that rank at that moment; ranks up to 15. The second: after all of the rank. */
int64_t hr__service_key(uint32_t rank, int64_t entered_us);
int64_t hr__service_end_of(uint32_t rank);

#endif
