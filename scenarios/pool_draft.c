/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What every step in the making of a pool does: the catalogue, where a price comes from. */

#include "scenarios/pool_draft.h"

#include "headroom/catalog.h"

#include <stdlib.h>
#include <string.h>

enum hr_status hr__price_source_set(const struct hr__builder *builder, struct hr_pool_source *source,
                                    const char *status, const char *as_of, const char *origin) {
  source->status = strdup(status);
  source->as_of = as_of ? strdup(as_of) : NULL;
  source->source = strdup(origin);
  bool done = source->status && source->source && (source->as_of || !as_of);
  return done ? HR_OK : hr__build_no_memory(builder);
}

/* ---- The catalogue ---------------------------------------------------------------------------------- */

enum { N_FILES = 8 };
static const char *const file_keys[N_FILES] = {"gpus_file",         "instances_file",     "prices_file",
                                               "regions_file",      "discounts_file",     "spot_presets_file",
                                               "mig_profiles_file", "network_speeds_file"};

static enum hr_status load_catalog(struct hr__builder *builder, const cJSON *names) {
  char *path[N_FILES] = {NULL};
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < N_FILES && status == HR_OK; i++) {
    const char *file = hr__text_of(names, file_keys[i], NULL);
    if (!file) continue;
    path[i] = hr__resolve(builder, file);
    if (!path[i]) status = hr__build_no_memory(builder);
  }
  const struct hr_catalog_files files = {path[0], path[1], path[2], path[3], path[4], path[5], path[6], path[7]};
  if (status == HR_OK) status = hr_catalog_load(&files, &builder->catalog, builder->error);
  for (size_t i = 0; i < N_FILES; i++) free(path[i]);
  return status;
}

enum hr_status hr__open_catalog(struct hr__builder *builder) {
  if (builder->catalog) return HR_OK;
  return load_catalog(builder, cJSON_GetObjectItemCaseSensitive(builder->source.file.tree, "catalog"));
}
