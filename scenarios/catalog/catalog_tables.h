/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_CATALOG_CATALOG_TABLES_H
#define HR_SCENARIOS_CATALOG_CATALOG_TABLES_H

/* What is said of a name that is not there. */

#include "headroom/base.h"
#include "headroom/unstable/catalog.h"
#include "scenarios/catalog/table.h"

/* Fails with "WHAT 'word' is unknown" and the names that come nearest, or the first of those there are. `known` may
   hold a name more than once. */
enum hr_status hr__catalog_unknown(struct hr_error *error, const char *what, const char *word,
                                   const char *const *known);

/* The catalogue's tables: their columns, and their built-in rows. */

enum hr__catalog_table {
  HR__CATALOG_GPUS,
  HR__CATALOG_INSTANCES,
  HR__CATALOG_PRICES,
  HR__CATALOG_REGIONS,
  HR__CATALOG_DISCOUNTS,
  HR__CATALOG_SPOT_PRESETS,
  HR__CATALOG_MIG_PROFILES,
  HR__CATALOG_NETWORK_SPEEDS,
  HR__N_CATALOG_TABLES
};

extern const struct hr__table_format hr__catalog_formats[HR__N_CATALOG_TABLES];
struct hr__table_text hr__catalog_text(enum hr__catalog_table table);

/* The region that stands for all. */
bool hr__is_everywhere(const char *region);
/* Whether a row is of a date or before it, as far as both tell it; NULL and "": of any. */
bool hr__is_of(const char *row_as_of, const char *as_of);

/* HR_BAD_INPUT for a GPU type that is unknown and looks like a misspelt one, as hr_catalog_gpu; a name of one's own is
   HR_OK. */
enum hr_status hr__catalog_doubt_gpu(const struct hr_catalog *catalog, const char *name, struct hr_error *error);
/* Likewise for a region of a provider. */
enum hr_status hr__catalog_doubt_region(const struct hr_catalog *catalog, const char *provider, const char *region,
                                        struct hr_error *error);

#endif
