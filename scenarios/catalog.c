/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The catalogue: its tables are read when they are asked for, the built-in rows first, then a file's. What a row names
   in another table must be there. */

#include "scenarios/catalog_tables.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct catalog {
  struct hr_catalog shown; /* first: what the caller holds */
  struct hr__names texts;
  struct hr__table table[HR__N_CATALOG_TABLES];
  struct hr_mig_type *mig_types;
  struct hr_mig_profile *mig_profiles; /* of all types, one behind the other */
};

/* ---- Tables ----------------------------------------------------------------------------------------- */

static enum hr_status read_table(struct catalog *catalog, enum hr__catalog_table table, const char *path,
                                 struct hr_error *error) {
  const struct hr__table_text built_in = hr__catalog_text(table);
  catalog->table[table].format = &hr__catalog_formats[table];
  enum hr_status status = hr__table_add(&catalog->table[table], &built_in, &catalog->texts, error);
  if (status != HR_OK || !path) return status;
  return hr__table_add_file(&catalog->table[table], path, &catalog->texts, error);
}

/* ---- What rows name in other tables ----------------------------------------------------------------- */

/* Where a row of a file stands; built-in rows are those of a table that a file made unfit. */
static const char *place_of(const struct hr__table *table, size_t row, const char *path, char *text, size_t size) {
  if (path && table->line[row])
    snprintf(text, size, "%s:%u", path, (unsigned)table->line[row]);
  else
    snprintf(text, size, "the built-in table of %s", table->format->name);
  return text;
}

/* Whether what a row names is there. */
typedef enum hr_status check_row(const struct hr_catalog *shown, size_t row, struct hr_error *error);

static enum hr_status check_instance(const struct hr_catalog *shown, size_t row, struct hr_error *error) {
  const struct hr_gpu_type *gpu;
  return hr_catalog_gpu(shown, shown->instances[row].gpu, &gpu, error);
}

/* Prices of an instance stand together, and one look does for them. */
static enum hr_status check_price(const struct hr_catalog *shown, size_t row, struct hr_error *error) {
  const struct hr_price *price = &shown->prices[row];
  const struct hr_instance_type *type;
  if (row > 0 && price[-1].instance == price->instance && price[-1].provider == price->provider) return HR_OK;
  return hr_catalog_instance(shown, price->provider, price->instance, &type, error);
}

static enum hr_status check_discount(const struct hr_catalog *shown, size_t row, struct hr_error *error) {
  const struct hr_discount *discount = &shown->discounts[row];
  enum hr_status status = hr_catalog_check_provider(shown, discount->provider, error);
  return status == HR_OK ? hr__catalog_check_family(shown, discount, error) : status;
}

static enum hr_status check_preset(const struct hr_catalog *shown, size_t row, struct hr_error *error) {
  const struct hr_spot_preset *preset = &shown->spot_presets[row];
  const struct hr_gpu_type *gpu;
  enum hr_status status = HR_OK;
  if (!hr__is_everywhere(preset->provider)) status = hr_catalog_check_provider(shown, preset->provider, error);
  return status == HR_OK && !hr__is_everywhere(preset->gpu) ? hr_catalog_gpu(shown, preset->gpu, &gpu, error) : status;
}

static enum hr_status check_mig(const struct hr_catalog *shown, size_t row, struct hr_error *error) {
  const struct hr_mig_entry *entry = &shown->mig_profiles[row];
  const struct hr_gpu_type *gpu;
  enum hr_status status = hr_catalog_gpu(shown, entry->gpu, &gpu, error);
  size_t before = 0;
  for (size_t i = 0; i < row; i++) before += strcasecmp(shown->mig_profiles[i].gpu, entry->gpu) == 0;
  if (status != HR_OK || before < HR_MIG_PROFILES) return status;
  return hr_fail(error, HR_BAD_INPUT, "a GPU type has at most %d MIG profiles", HR_MIG_PROFILES);
}

static enum hr_status check_rows(const struct catalog *catalog, enum hr__catalog_table table, check_row *check,
                                 const char *path, struct hr_error *error) {
  struct hr_error inner;
  char place[300];
  for (size_t i = 0; i < catalog->table[table].count; i++) {
    enum hr_status status = check(&catalog->shown, i, &inner);
    if (status != HR_OK)
      return hr_fail(error, status, "%s: %.600s", place_of(&catalog->table[table], i, path, place, sizeof place),
                     inner.text);
  }
  return HR_OK;
}

/* ---- MIG types -------------------------------------------------------------------------------------- */

static bool is_met_before(const struct hr_catalog *shown, size_t row) {
  for (size_t i = 0; i < row; i++)
    if (strcasecmp(shown->mig_profiles[i].gpu, shown->mig_profiles[row].gpu) == 0) return true;
  return false;
}

/* Rows of one GPU type, wherever they stand, become its profiles. */
static enum hr_status make_mig_types(struct catalog *catalog, struct hr_error *error) {
  struct hr_catalog *shown = &catalog->shown;
  size_t n_rows = shown->n_mig_profiles;
  catalog->mig_types = calloc(n_rows + 1, sizeof *catalog->mig_types);
  catalog->mig_profiles = calloc(n_rows + 1, sizeof *catalog->mig_profiles);
  if (!catalog->mig_types || !catalog->mig_profiles) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  struct hr_mig_profile *next = catalog->mig_profiles;
  for (size_t i = 0; i < n_rows; i++) {
    const struct hr_mig_entry *first = &shown->mig_profiles[i];
    struct hr_mig_profile *own = next;
    if (is_met_before(shown, i)) continue;
    for (size_t k = i; k < n_rows; k++)
      if (strcasecmp(shown->mig_profiles[k].gpu, first->gpu) == 0) *next++ = shown->mig_profiles[k].profile;
    hr_mig_type_init(&catalog->mig_types[shown->n_mig_types++], first->gpu, own, (uint32_t)(next - own));
  }
  shown->mig_types = catalog->mig_types;
  return HR_OK;
}

/* ---- Whole ------------------------------------------------------------------------------------------ */

static void show(struct catalog *catalog) {
  const struct hr__table *table = catalog->table;
  catalog->shown = (struct hr_catalog){
      .gpus = table[HR__CATALOG_GPUS].rows,
      .n_gpus = table[HR__CATALOG_GPUS].count,
      .instances = table[HR__CATALOG_INSTANCES].rows,
      .n_instances = table[HR__CATALOG_INSTANCES].count,
      .prices = table[HR__CATALOG_PRICES].rows,
      .n_prices = table[HR__CATALOG_PRICES].count,
      .regions = table[HR__CATALOG_REGIONS].rows,
      .n_regions = table[HR__CATALOG_REGIONS].count,
      .discounts = table[HR__CATALOG_DISCOUNTS].rows,
      .n_discounts = table[HR__CATALOG_DISCOUNTS].count,
      .spot_presets = table[HR__CATALOG_SPOT_PRESETS].rows,
      .n_spot_presets = table[HR__CATALOG_SPOT_PRESETS].count,
      .mig_profiles = table[HR__CATALOG_MIG_PROFILES].rows,
      .n_mig_profiles = table[HR__CATALOG_MIG_PROFILES].count,
      .network_speeds = table[HR__CATALOG_NETWORK_SPEEDS].rows,
      .n_network_speeds = table[HR__CATALOG_NETWORK_SPEEDS].count,
  };
}

enum hr_status hr_catalog_load(const struct hr_catalog_files *files, struct hr_catalog **catalog,
                               struct hr_error *error) {
  static const struct hr_catalog_files none;
  if (!files) files = &none;
  const char *const paths[HR__N_CATALOG_TABLES] = {[HR__CATALOG_GPUS] = files->gpus,
                                                   [HR__CATALOG_INSTANCES] = files->instances,
                                                   [HR__CATALOG_PRICES] = files->prices,
                                                   [HR__CATALOG_REGIONS] = files->regions,
                                                   [HR__CATALOG_DISCOUNTS] = files->discounts,
                                                   [HR__CATALOG_SPOT_PRESETS] = files->spot_presets,
                                                   [HR__CATALOG_MIG_PROFILES] = files->mig_profiles,
                                                   [HR__CATALOG_NETWORK_SPEEDS] = files->network_speeds};
  *catalog = NULL;
  struct catalog *loaded = calloc(1, sizeof *loaded);
  if (!loaded) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  enum hr_status status = HR_OK;
  for (unsigned i = 0; i < HR__N_CATALOG_TABLES && status == HR_OK; i++)
    status = read_table(loaded, (enum hr__catalog_table)i, paths[i], error);
  show(loaded);
  static check_row *const checks[HR__N_CATALOG_TABLES] = {[HR__CATALOG_INSTANCES] = check_instance,
                                                          [HR__CATALOG_PRICES] = check_price,
                                                          [HR__CATALOG_DISCOUNTS] = check_discount,
                                                          [HR__CATALOG_SPOT_PRESETS] = check_preset,
                                                          [HR__CATALOG_MIG_PROFILES] = check_mig};
  for (unsigned i = 0; i < HR__N_CATALOG_TABLES && status == HR_OK; i++)
    if (checks[i]) status = check_rows(loaded, (enum hr__catalog_table)i, checks[i], paths[i], error);
  if (status == HR_OK) status = make_mig_types(loaded, error);
  if (status == HR_OK)
    *catalog = &loaded->shown;
  else
    hr_catalog_destroy(&loaded->shown);
  return status;
}

void hr_catalog_destroy(struct hr_catalog *shown) {
  if (!shown) return;
  struct catalog *catalog = (struct catalog *)shown;
  for (size_t i = 0; i < HR__N_CATALOG_TABLES; i++) hr__table_finish(&catalog->table[i]);
  hr__names_finish(&catalog->texts);
  free(catalog->mig_types);
  free(catalog->mig_profiles);
  free(catalog);
}
