/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_SERVICE_REPORT_H
#define HEADROOM_UNSTABLE_SERVICE_REPORT_H

/* Results of inference services: figures of a service, and a file with one row for each request. */

#include "headroom/report.h"
#include "headroom/unstable/services.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A service after its run. */
struct hr_served {
  const struct hr_service *service;
  const struct hr_service_requests *requests;
  const struct hr_service_result *result;
};

/* The figures of a service. Durations are in seconds; those of refused requests are left out. */
struct hr_service_summary {
  uint64_t offered, completed, refused, unfinished;
  uint64_t attained; /* requests within the goals; refused ones are not */
  bool has_goals;
  struct hr_distribution ttft_s, tpot_s, e2e_s; /* tpot: of requests with more than one output token */
  uint64_t prompt_tokens, output_tokens, recomputed_tokens, restarts, iterations;
  double span_s;                    /* from the first arrival to the end of the last request */
  double gpu_hours, busy_gpu_hours; /* held over the span; in iterations */
  double goodput_per_gpu;           /* requests within the goals, per second and GPU */
};

/* Computes the figures. The only error is HR_NO_MEMORY. */
HR_API enum hr_status hr_service_summarize(const struct hr_served *served, struct hr_service_summary *summary,
                                           struct hr_error *error);
/* Prints the figures as a table. */
HR_API void hr_service_print(FILE *out, const struct hr_served *served, const struct hr_service_summary *summary);
/* Writes the figures of several services as JSON to a file; "-": standard output. */
HR_API enum hr_status hr_services_write_json(const char *path, const struct hr_served *served,
                                             const struct hr_service_summary *summaries, uint32_t count,
                                             struct hr_error *error);
/* Writes all requests of several services as CSV, in order of arrival; "-": standard output. Requests are numbered from
   0 for each service. */
HR_API enum hr_status hr_services_write_requests(const char *path, const struct hr_served *served, uint32_t count,
                                                 struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
