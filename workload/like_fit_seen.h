/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_WORKLOAD_LIKE_FIT_SEEN_H
#define HR_WORKLOAD_LIKE_FIT_SEEN_H

/* What is seen of a trace, and of a pilot that is drawn by the model as it is so far. */

#include "workload/like_fit.h"

enum { HR__HOURS = 24, HR__WEEKDAYS = 7 };

struct hr__seen {
  double usual_gpus;                                    /* demand on average */
  double times_above[HR_LIKE_MEASURES][HR_LIKE_LEVELS]; /* shares of the time */
  double hours[HR__HOURS], weekdays[HR__WEEKDAYS];      /* of the jobs: factors of their rate */
  double *weeks; /* [n_bands][n_weeks] GPU-weeks in demand, while the trace lasts */
};
/* Sets `weeks`. HR_OK or HR_NO_MEMORY; to be finished whatever is returned. */
enum hr_status hr__seen_init(struct hr__seen *seen, const struct hr_like_model *model);
void hr__seen_finish(struct hr__seen *seen);

/* Sees the trace, and sets the model's trend and levels by it. */
enum hr_status hr__see_trace(struct hr__like_fit *fit, struct hr__seen *seen);
/* Sees a pilot of this seed, as long as the trace. `usual_gpus`: of the pilot of that seed before; 0: there was none.
 */
enum hr_status hr__see_pilot(const struct hr__like_fit *fit, uint64_t seed, double usual_gpus, struct hr__seen *seen);

#endif
