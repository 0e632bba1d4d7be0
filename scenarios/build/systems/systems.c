/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sections of a scenario that configure a model of a real scheduler: `kueue`, `kai`, `volcano`, `kubernetes` and
 * `slurm`. A section is one struct, filled from its key table. Checks across keys are in
 * scenarios/build/systems/SYSTEM.c.
 */

#include "headroom/unstable/systems/systems.h"

#include "headroom/unstable/systems/kai.h"
#include "headroom/unstable/systems/kubernetes.h"
#include "headroom/unstable/systems/kueue.h"
#include "headroom/unstable/systems/slurm.h"
#include "headroom/unstable/systems/volcano.h"
#include "scenarios/build/builder.h"

#include <stdlib.h>
#include <string.h>

typedef enum hr_status check_system(struct hr__builder *builder, const cJSON *section, void *config);

static const struct system {
  const char *name;    /* of the section and of the policy */
  size_t bytes;        /* of the struct */
  size_t offset;       /* of its pointer in struct hr_systems */
  check_system *check; /* NULL: no key depends on another */
} systems[] = {
    {"kai", sizeof(struct hr_kai_config), offsetof(struct hr_systems, kai), hr__check_kai},
    {"kueue", sizeof(struct hr_kueue_config), offsetof(struct hr_systems, kueue), hr__check_kueue},
    {"kubernetes", sizeof(struct hr_kubernetes_config), offsetof(struct hr_systems, kubernetes), hr__check_kubernetes},
    {"volcano", sizeof(struct hr_volcano_config), offsetof(struct hr_systems, volcano), hr__check_volcano},
    {"slurm", sizeof(struct hr_slurm_config), offsetof(struct hr_systems, slurm), hr__check_slurm},
    {NULL, 0, 0, NULL},
};

static void **place_of(struct hr_systems *all, const struct system *system) {
  return (void **)(void *)((char *)all + system->offset);
}

static enum hr_status build_system(struct hr__builder *builder, const struct system *system) {
  const cJSON *section = hr__get(builder->source.file.tree, system->name);
  if (!section) return HR_OK;
  struct hr_scenario *scenario = builder->scenario;
  if (!scenario->systems && !(scenario->systems = calloc(1, sizeof *scenario->systems)))
    return hr__build_no_memory(builder);
  void *config = calloc(1, system->bytes);
  if (!config) return hr__build_no_memory(builder);
  *place_of(scenario->systems, system) = config;
  enum hr_status status = hr__read(builder, section, hr__table_of(&hr__scenario_keys, system->name), config);
  if (status == HR_OK && system->check) status = system->check(builder, section, config);
  const char *policy = scenario->policy.ops->name;
  if (status != HR_OK || strcmp(policy, system->name) == 0) return status;
  if (hr_notes_add(&scenario->notes, "'%s' has no effect: the policy is '%s'", system->name, policy) == HR_OK)
    return HR_OK;
  return hr__build_no_memory(builder);
}

enum hr_status hr__build_systems(struct hr__builder *builder) {
  enum hr_status status = HR_OK;
  for (const struct system *system = systems; system->name && status == HR_OK; system++)
    status = build_system(builder, system);
  return status;
}

void hr__systems_destroy(struct hr_systems *all) {
  if (!all) return;
  for (const struct system *system = systems; system->name; system++) {
    void **config = place_of(all, system);
    if (*config) hr__finish_values(hr__table_of(&hr__scenario_keys, system->name), *config);
    free(*config);
  }
  free(all);
}
