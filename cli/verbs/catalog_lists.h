/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_VERBS_CATALOG_LISTS_H
#define HR_CLI_VERBS_CATALOG_LISTS_H

/* Lists of the catalogue, as `headroom list` prints them. */

#include "cli/options.h"

struct list_args {
  bool verbose;
  const char *provider, *region, *gpu, *as_of; /* NULL: all; the provider's base region; all; the newest */
};

enum hr_status list_gpus(const struct list_args *args, struct hr_error *error);
enum hr_status list_mig_profiles(const struct list_args *args, struct hr_error *error);
enum hr_status list_network_speeds(const struct list_args *args, struct hr_error *error);
enum hr_status list_instances(const struct list_args *args, struct hr_error *error);
enum hr_status list_prices(const struct list_args *args, struct hr_error *error);
enum hr_status list_discounts(const struct list_args *args, struct hr_error *error);
enum hr_status list_spot_presets(const struct list_args *args, struct hr_error *error);

#endif
