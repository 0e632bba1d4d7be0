/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_ELASTIC_H
#define HR_POLICIES_QUEUE_ELASTIC_H

/* Elastic jobs of the `queue` policy: parameters `elastic` and `recovery`. */

#include "policies/queue/dispatch.h"

/* How the policy resizes elastic jobs. Each value includes the values before it. */
enum hr__elastic_level { HR__ELASTIC_OFF, HR__ELASTIC_START, HR__ELASTIC_GROW, HR__ELASTIC_SHRINK };
/* What happens to a running elastic job if one of its nodes fails. */
enum hr__recovery { HR__RECOVERY_REQUEUE, HR__RECOVERY_SHRINK };

struct hr__elastic;
/* Creates the module (queue->elastic) if the parameters require it. Returns HR_NO_MEMORY if memory is exhausted. */
enum hr_status hr__elastic_create(struct hr__queue *queue, enum hr__elastic_level level, enum hr__recovery recovery);
/* Returns the abilities that the module needs. */
uint32_t hr__elastic_abilities(const struct hr__queue *queue);
/* Must be called when the engine has removed failed nodes from a running job. `from`: the previous placement of the
   job. */
enum hr_status hr__elastic_job_shrank(struct hr__queue *queue, const struct hr_view *view, hr_job job,
                                      const struct hr_placement *from);
/* Jobs that lost nodes get free GPUs until they have as many as they request. Called before jobs start. */
enum hr_status hr__elastic_restore(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);
/* Starts the first job in order with fewer GPUs, if the parameters permit it and the minimum number fits. `*started`:
   whether the job was started. Called after a pass of the backfill. */
enum hr_status hr__elastic_start_first(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves,
                                       bool *started);
/* If no job waits, running jobs grow. Called at the end of a pass. */
enum hr_status hr__elastic_grow(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);

#endif
