/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_SYSTEMS_SYSTEMS_H
#define HEADROOM_UNSTABLE_SYSTEMS_SYSTEMS_H

/*
 * The configuration of real schedulers, for the policies that model them. A scenario has one optional section for each
 * system, with the system's name. Each struct is in headroom/unstable/SYSTEM_config.h; its members are filled from the
 * key table of the section.
 */

#include "headroom/base.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hr_kai_config;
struct hr_kubernetes_config;
struct hr_kueue_config;
struct hr_slurm_config;
struct hr_volcano_config;

/* NULL: the scenario does not have the section. */
struct hr_systems {
  struct hr_kai_config *kai;
  struct hr_kubernetes_config *kubernetes;
  struct hr_kueue_config *kueue;
  struct hr_slurm_config *slurm;
  struct hr_volcano_config *volcano;
};

#ifdef __cplusplus
}
#endif
#endif
