/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_SERVICES_SLO_MODEL_H
#define HR_SIM_SERVICES_SLO_MODEL_H

/* The prediction of the autoscaler `slo`: whether a number of replicas meets the goals of a service. */

#include "headroom/unstable/services.h"

/* The load of a service. */
struct hr__slo_demand {
  double rate;       /* requests per second */
  double prompt;     /* mean tokens of a prompt, without those in the prefix cache */
  double output;     /* mean tokens of an output */
  double output_cv;  /* their coefficient of variation */
  double memory;     /* mean tokens of prompt and output that take memory */
  double dispersion; /* variance of the number of arrivals in a time, as a multiple of their mean */
};

/* Whether a number of replicas, at least 1, is predicted to meet the goals. */
bool hr__slo_is_met(const struct hr_service *spec, struct hr__slo_demand demand, uint32_t replicas);

#endif
