/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_RUN_SERVICES_H
#define HR_CLI_RUN_SERVICES_H

/* Output of runs of scenarios with inference services. */

#include "headroom/headroom.h"
#include "headroom/unstable/replay.h"

/* Whether a scenario has services. */
bool has_services(const struct hr_scenario *scenario);
/* Prints warnings about services, and their tables if `wants_table` is set. */
void print_services(const struct hr_replay *replay, bool wants_table);
/* Returns HR_CHECK_FAILED if there are services, and no request was completed. */
enum hr_status require_served(const struct hr_replay *replay, struct hr_error *error);

/* Makes the requests of all services, and prints a line for each service. */
enum hr_status validate_services(const struct hr_scenario *scenario, struct hr_error *error);

#endif
