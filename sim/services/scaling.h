/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_SERVICES_SCALING_H
#define HR_SIM_SERVICES_SCALING_H

/*
 * How many replicas a service wants: samples of its load, and the rules of its autoscaler (autoscalers.h) with their
 * memory. Times are those of the requests, relative to the begin of the run.
 */

#include "sim/services/autoscalers.h"
#include "sim/services/service.h"

/* The load since the begin of the run. */
struct hr__load_sample {
  double outstanding_s;    /* sum of outstanding requests over time */
  double busy_s;           /* time in which replicas ran iterations, summed over replicas */
  double ready_s;          /* time in which replicas were ready, summed over replicas */
  double prompts, outputs; /* tokens of the requests that arrived */
  double output_squares;   /* sum of the squares of their output tokens */
  double memory;           /* as prompts + outputs, with tokens in the prefix cache */
  uint64_t arrived;
  uint32_t outstanding, waiting, ready; /* at the time of the sample; waiting: before their first iteration */
};

struct hr__scaler {
  const struct hr_service *spec;
  int64_t sample_us, interval_us;  /* between samples, and between decisions */
  struct hr__load_sample *samples; /* [n_samples] the last ones: a ring */
  uint32_t n_samples;
  uint64_t count;       /* samples that were taken */
  uint32_t n_summed;    /* requests with tokens in `prompts` and `outputs` */
  uint64_t n_seen;      /* requests that had arrived at the last sample */
  int64_t active_us;    /* the last sample at which requests were outstanding or had arrived; HR_UNKNOWN_US: never */
  int64_t activated_us; /* when the service last changed from no replica */
  int64_t inactive_us;  /* knative: when no replica was wanted any more; HR_UNKNOWN_US: some are */
  double prompts, outputs, output_squares, memory;
  struct hr__knative knative;
  struct hr__knative_window stable, panic;
  struct hr__hpa_rules up, down;
  struct hr__hpa_history history;
  struct hr__hpa_pod *pods;
  struct hr__ray ray;
  /* slo: time since which fewer replicas suffice (HR_UNKNOWN_US: they do not), and the maximum number needed since then
   */
  int64_t fewer_us;
  uint32_t fewer_most;
  double *percent; /* [n_samples] utilization of successive samples */
};

/* The replicas of a service at a decision. */
struct hr__scale_state {
  uint32_t wanted;  /* the last decision */
  uint32_t present; /* replicas that are not draining, whether ready or not */
};

struct hr__scale_choice {
  uint32_t wanted;
  enum hr_scale_reason reason;
};

/* Initializes a scaler for a service with at most `n_places` replicas. Returns false if memory is exhausted. */
bool hr__scaler_open(struct hr__scaler *scaler, const struct hr_service *spec, uint32_t n_places);
void hr__scaler_close(struct hr__scaler *scaler);
/* Whether the number ever changes by time or load. */
bool hr__scaler_is_active(const struct hr__scaler *scaler);
/* An upper bound of the time for which it can want no replica, and then want one, while requests wait and nothing else
   happens: the sum of all its times, and a day. */
int64_t hr__scaler_patience_us(const struct hr__scaler *scaler);
/* The number at the begin of the run. */
uint32_t hr__scaler_initial(const struct hr__scaler *scaler);
/* Takes a sample at a multiple of `sample_us`, and decides if it is time to. Returns whether a decision was made. */
bool hr__scaler_tick(struct hr__scaler *scaler, const struct hr__service_run *run, int64_t now_us,
                     struct hr__scale_state state, struct hr__scale_choice *choice);
/* Whether the service is activated as soon as a request arrives while no replica is wanted. */
bool hr__scaler_activates_at_once(const struct hr__scaler *scaler);
struct hr__scale_choice hr__scaler_activate(struct hr__scaler *scaler, int64_t now_us);

/* ---- The autoscaler `slo` (slo_model.c) ------------------------------------------------------------- */

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
