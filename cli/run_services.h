/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_RUN_SERVICES_H
#define HR_CLI_RUN_SERVICES_H

/* Runs of scenarios that have inference services instead of a job trace. */

#include "headroom/headroom.h"

struct run_services_args {
  const char *requests; /* path of the file with one row for each request; NULL: none */
  const char *json;     /* path of the figures as JSON; NULL: none */
  bool quiet;
  bool steps; /* run each iteration on its own */
};

/* Whether a scenario has services. */
bool has_services(const struct hr_scenario *scenario);
/* Runs all services of a scenario, writes the files and prints a table. The scenario must have services. */
enum hr_status run_services(const struct hr_scenario *scenario, const struct run_services_args *args,
                            struct hr_error *error);

/* Reads the requests of all services, and prints a line for each service. */
enum hr_status validate_services(const struct hr_scenario *scenario, struct hr_error *error);

#endif
