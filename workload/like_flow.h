/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_WORKLOAD_LIKE_FLOW_H
#define HR_WORKLOAD_LIKE_FLOW_H

/*
 * Drawn jobs in the order of their submits, from the middle of things on: campaigns begin some weeks before time 0, and
 * what they submit by then is cut off. What is kept are the campaigns that have jobs left, and the ends of the jobs
 * under way.
 */

#include "workload/like_demand.h"
#include "workload/like_draw.h"

struct hr__flow {
  struct hr__draws draws;
  struct hr__campaign *heap; /* by when the next job of each comes */
  uint32_t n_heap, heap_room;
  bool taken; /* the first one's job was */
  struct hr__like_demand demand;
  struct hr__stream admissions;
  double usual_gpus; /* demand on average, that the model's levels are of */
  int64_t warm_ms;   /* before time 0 */
  double stretch;    /* of the clock from then on: 1 unless set */
  uint64_t n_drawn;  /* jobs, those before time 0, too */
};
/* `tempo`: of the arrivals, for those of the model. `usual_gpus`: 0 for what the model's laws give. To be finished
   whatever is returned: HR_OK or HR_NO_MEMORY. */
enum hr_status hr__flow_init(struct hr__flow *flow, const struct hr_like_model *model, uint64_t seed, double tempo,
                             double usual_gpus);
void hr__flow_finish(struct hr__flow *flow);
/* The next job at time 0 or later, and the campaign that it is of, which is so until the next call. HR_BAD_INPUT where
   none comes before the latest time that a trace may tell. */
enum hr_status hr__flow_next(struct hr__flow *flow, const struct hr__campaign **campaign, struct hr__drawn_job *job);

/* Whether the model says at what demand users hold back. */
static inline bool hr__holds_back(const struct hr_like_model *model) {
  bool any = false;
  for (uint32_t i = 0; i < HR_LIKE_MEASURES; i++) any = any || model->holding[i].levels[HR_LIKE_LEVELS - 1] > 0;
  return any;
}

/* Thousandths of a GPU that each job of a campaign asks for. */
static inline uint64_t hr__campaign_gpus_milli(const struct hr__campaign *campaign) {
  return (uint64_t)campaign->ask->gpus * campaign->ask->gpu_milli;
}

#endif
