/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_CATALOG_CATALOG_TABLES_H
#define HR_SCENARIOS_CATALOG_CATALOG_TABLES_H

/* The tables of the catalogue: columns, built-in rows, and the check of names. */

#include "headroom/base.h"
#include "headroom/unstable/catalog.h"
#include "scenarios/catalog/table.h"

#include <string.h>

/* The tables. Each has a built-in CSV file of the same name. */
enum hr__catalog_table {
  HR__CATALOG_GPUS,
  HR__CATALOG_INSTANCES,
  HR__CATALOG_PRICES,
  HR__CATALOG_REGIONS,
  HR__CATALOG_DISCOUNTS,
  HR__CATALOG_SPOT_PRESETS,
  HR__CATALOG_MIG_PROFILES,
  HR__CATALOG_NETWORK_SPEEDS,
  HR__CATALOG_GPU_NAMES,
  HR__N_CATALOG_TABLES
};

/* The columns of each table. */
extern const struct hr__table_format hr__catalog_formats[HR__N_CATALOG_TABLES];

/* The bytes of the CSV files. embed.cmake generates them. */
#define HR__EMBEDDED(name)                                                                                             \
  extern const unsigned char hr__catalog_##name[];                                                                     \
  extern const size_t hr__catalog_##name##_size;

HR__EMBEDDED(gpus)
HR__EMBEDDED(instances)
HR__EMBEDDED(prices)
HR__EMBEDDED(regions)
HR__EMBEDDED(discounts)
HR__EMBEDDED(spot_presets)
HR__EMBEDDED(mig_profiles)
HR__EMBEDDED(network_speeds)
HR__EMBEDDED(gpu_names)

/* Returns true if the name is "*", which means all providers, regions or GPU types. */
static inline bool hr__catalog_is_any(const char *name) {
  return strcmp(name, "*") == 0;
}

/* Returns true if the date of a row is not later than the date `as_of`. The dates are compared at the precision of
   `as_of`: if `as_of` is a year, rows of all months of this year are valid. If `as_of` is NULL or "", all rows are
   valid. */
static inline bool hr__catalog_is_valid_at(const char *row_as_of, const char *as_of) {
  return !as_of || strncmp(row_as_of, as_of, strlen(as_of)) <= 0;
}

/* Reports that "WHAT 'word' is unknown", with the nearest names or the first known names. `known` is NULL-terminated
   and may have duplicates. Returns HR_BAD_INPUT. */
enum hr_status hr__catalog_unknown(struct hr_error *error, const char *what, const char *word,
                                   const char *const *known);

/* Returns HR_BAD_INPUT, with the error of hr_catalog_gpu(), if a GPU type is unknown and looks like a misspelt known
   type. Returns HR_OK for other names. */
enum hr_status hr__catalog_check_spelling_gpu(const struct hr_catalog *catalog, const char *name,
                                              struct hr_error *error);
/* Returns HR_BAD_INPUT if the region of a provider is unknown and looks like a misspelt known region. Returns HR_OK
   for other names. */
enum hr_status hr__catalog_check_spelling_region(const struct hr_catalog *catalog, const char *provider,
                                                 const char *region, struct hr_error *error);

#endif
