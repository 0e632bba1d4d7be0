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

#ifdef __cplusplus
}
#endif
#endif
