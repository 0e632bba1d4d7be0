/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "policies/pack.h"

#include <string.h>

static const struct hr_packing_rule *const rules[] = {&hr__pack_fgd,
                                                      &hr__pack_weighted_best_fit,
                                                      &hr__pack_dot_product,
                                                      &hr__pack_gpu_packing,
                                                      &hr__pack_gpu_clustering,
                                                      &hr__pack_best_fit,
                                                      &hr__pack_worst_fit,
                                                      &hr__pack_first_fit,
                                                      &hr__pack_spread,
                                                      &hr__pack_random,
                                                      &hr__pack_kube_default,
                                                      &hr__pack_kube_most_allocated,
                                                      NULL};

const struct hr_packing_rule *const *hr_packing_rules(void) {
  return rules;
}

const struct hr_packing_rule *hr_packing_rule_find(const char *name, struct hr_error *error) {
  const char *names[sizeof rules / sizeof *rules] = {0};
  for (size_t i = 0; rules[i]; i++) {
    if (strcmp(rules[i]->name, name) == 0) return rules[i];
    names[i] = rules[i]->name;
  }
  const char *nearest = hr_nearest_word(name, names);
  if (nearest)
    hr_fail(error, HR_BAD_INPUT, "unknown placement rule '%.60s'; did you mean '%s'?", name, nearest);
  else
    hr_fail(error, HR_BAD_INPUT, "unknown placement rule '%.60s'; 'headroom list placements' shows them", name);
  return NULL;
}
