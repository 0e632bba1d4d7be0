/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_SERVICE_REPORT_H
#define HEADROOM_UNSTABLE_SERVICE_REPORT_H

/* Results of inference services: figures of a service, and a file with one row for each request. */

#include "headroom/unstable/metrics.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Prints the figures as a table. */
HR_API void hr_service_print(FILE *out, const struct hr_served *served, const struct hr_service_summary *summary);
/* Writes all requests of several services as CSV, in order of arrival; "-": standard output. Requests are numbered from
   0 for each service. */
HR_API enum hr_status hr_services_write_requests(const char *path, const struct hr_served *served, uint32_t count,
                                                 struct hr_error *error);

/* Where the time of a completed request went. The parts add up to its E2E. */
struct hr_request_parts {
  int64_t queue_us;      /* arrival to the start of the first iteration, without `cold_start_us` */
  int64_t cold_start_us; /* before the first iteration, while no replica was ready and one was starting */
  int64_t prompt_us;     /* to the first token */
  int64_t transfer_us;   /* of the memory, from the replica of the prompt to the one that decodes */
  int64_t batch_us;      /* to the last token, without `transfer_us` and `preemption_us` */
  int64_t preemption_us; /* from losses of memory to the next token */
};
/* The request must be completed. */
HR_API struct hr_request_parts hr_request_parts_of(const struct hr_served *served, uint32_t request);
/* Explains the time of all completed requests of a service and of those that missed the goals, or of one request;
   HR_NONE: all. Prints a table to `out` unless it is NULL, and writes JSON to `json` unless it is NULL; "-": standard
   output. HR_BAD_INPUT: no such request. */
HR_API enum hr_status hr_service_why(FILE *out, const char *json, const struct hr_served *served, uint32_t request,
                                     struct hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
