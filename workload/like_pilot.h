/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_WORKLOAD_LIKE_PILOT_H
#define HR_WORKLOAD_LIKE_PILOT_H

/* Jobs drawn to see what will come: the same draws as those that are written later on. */

#include "headroom/unstable/like.h"

/* Mean demand of this seed's first round of the weeks, in GPUs; 0 where the model has no levels, and nobody asks. */
enum hr_status hr__pilot_usual(const struct hr_like_model *model, uint64_t seed, double *gpus);

/* How much faster than in the model jobs must come for those `spec.count` to ask for `wanted_gpus` from the first
   submit to the last, about; and what times are then to be multiplied with. `*tempo`: a first guess. */
enum hr_status hr__pilot_tempo(const struct hr_like_model *model, const struct hr_like_spec *spec, double wanted_gpus,
                               double *tempo, double *stretch);

#endif
