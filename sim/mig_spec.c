/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a pool's GPUs are split by MIG, as it is told. */

#include "headroom/cluster.h"

#include <stdlib.h>
#include <string.h>

const char *hr_mig_mode_name(enum hr_mig_mode mode) {
  static const char *const names[] = {
#define MODE_TEXT(name, text) text,
      HR_MIG_MODE_TABLE(MODE_TEXT)
#undef MODE_TEXT
  };
  return names[mode];
}

/* Profiles and their names in one block; NULL when out of memory. */
static struct hr_mig_profile *copy_profiles(const struct hr_mig_type *type) {
  struct hr_mig_profile *copy = malloc(type->n_profiles * (sizeof *copy + HR_MIG_NAME_BYTES));
  if (!copy) return NULL;
  char *names = (char *)(copy + type->n_profiles);
  for (uint32_t i = 0; i < type->n_profiles; i++) {
    copy[i] = type->profiles[i];
    copy[i].name = strcpy(names + (size_t)i * HR_MIG_NAME_BYTES, type->profiles[i].name);
  }
  return copy;
}

struct hr_mig_spec *hr_mig_spec_create(const struct hr_mig_type *type, enum hr_mig_mode mode) {
  struct hr_mig_spec *spec = calloc(1, sizeof *spec);
  if (!spec) return NULL;
  spec->mode = mode;
  spec->type = *type;
  spec->type.gpu = strdup(type->gpu);
  spec->type.profiles = copy_profiles(type);
  if (spec->type.gpu && spec->type.profiles) return spec;
  hr_mig_spec_destroy(spec);
  return NULL;
}

static bool same_layout(const struct hr_mig_gpu *a, const struct hr_mig_gpu *b) {
  return memcmp(a->at, b->at, sizeof a->at) == 0;
}

enum hr_status hr_mig_spec_add(struct hr_mig_spec *spec, const char *name, const struct hr_mig_gpu *gpu,
                               uint32_t *number) {
  for (*number = 0; *number < spec->n_layouts; ++*number)
    if (same_layout(&spec->layouts[*number].gpu, gpu)) return HR_OK;
  struct hr_mig_layout *layouts = realloc(spec->layouts, (spec->n_layouts + 1) * sizeof *layouts);
  if (!layouts) return HR_NO_MEMORY;
  spec->layouts = layouts;
  struct hr_mig_layout layout = {.name = strdup(name), .gpu = *gpu};
  if (!layout.name) return HR_NO_MEMORY;
  for (uint32_t start = 0; start < HR_MIG_SLICES; start++)
    if (gpu->at[start]) layout.starts[gpu->at[start] - 1] = (uint8_t)(layout.starts[gpu->at[start] - 1] | 1U << start);
  layouts[spec->n_layouts++] = layout;
  return HR_OK;
}

void hr_mig_spec_destroy(struct hr_mig_spec *spec) {
  if (!spec) return;
  for (uint32_t i = 0; i < spec->n_layouts; i++) free(spec->layouts[i].name);
  free(spec->layouts);
  free(spec->layout_of_gpu);
  free((void *)(uintptr_t)spec->type.gpu);
  free((void *)(uintptr_t)spec->type.profiles);
  free(spec);
}
