/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a scenario says of costs: its names and its memory. */

#include "headroom/costs.h"

#include <stdlib.h>

const char *hr_idle_split_name(enum hr_idle_split split) {
  static const char *const names[] = {
#define SPLIT_TEXT(name, text) text,
      HR_IDLE_SPLIT_TABLE(SPLIT_TEXT)
#undef SPLIT_TEXT
  };
  return split < HR_N_IDLE_SPLITS ? names[split] : "";
}

static void free_texts(char **text, size_t count) {
  for (size_t i = 0; i < count; i++) free(text[i]);
  free(text);
}

void hr_cost_spec_finish(struct hr_cost_spec *spec) {
  for (size_t i = 0; i < spec->storage.n_datasets; i++) free(spec->storage.datasets[i].tenant);
  for (size_t i = 0; i < spec->n_budgets; i++) free(spec->budgets[i].tenant);
  for (size_t i = 0; i < spec->n_plans; i++) {
    free_texts(spec->plans[i].pools, spec->plans[i].n_pools);
    free_texts(spec->plans[i].gpus, spec->plans[i].n_gpus);
  }
  free(spec->storage.datasets);
  free(spec->budgets);
  free(spec->plans);
  *spec = (struct hr_cost_spec){0};
}
