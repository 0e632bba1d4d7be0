/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Failures by class: how many there were, what they stopped, and how long nodes were down. Classes with the same name
 * are one line, also in several pools.
 */

#include "base/text.h"
#include "headroom/unstable/faults.h"
#include "report/metrics/summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the name of a class of a process: that of the class, of the groups, or of both; NULL if memory is exhausted.
 */
static char *name_of(const struct hr_fault_process *process, uint32_t class_) {
  const char *name = process->n_classes ? process->classes[class_].name : NULL;
  char number[32];
  const char *groups = process->name ? process->name : hr_tier_name(process->unit);
  if (process->group_nodes && !process->name) {
    snprintf(number, sizeof number, "%" PRIu32 " nodes", process->group_nodes);
    groups = number;
  }
  const bool is_node = process->unit == HR_TIER_NODE && !process->name;
  if (!name || is_node) return strdup(name ? name : groups);
  const size_t size = strlen(groups) + strlen(name) + 3;
  char *both = malloc(size);
  if (both) snprintf(both, size, "%s: %s", groups, name);
  return both;
}

/* Adds an account to the line of this name, which becomes the property of the list. */
static void add(struct hr_fault_metrics *figures, char *name, const struct hr_outage_accounting *account) {
  struct hr_outage_line *line = figures->by_failure_class, *end = line + figures->n_failure_classes;
  while (line < end && strcmp(line->name, name) != 0) line++;
  if (line < end) {
    free(name);
  } else {
    *line = (struct hr_outage_line){.name = name};
    figures->n_failure_classes++;
  }
  line->failures += account->failures;
  line->jobs_stopped += account->jobs_stopped;
  line->lost_gpu_hours += hr__gpu_hours(account->lost_milli_us);
  line->down_node_hours += hr__gpu_hours(account->down_us * 1000);
}

enum hr_status hr__outages_make(const struct hr_cluster_spec *cluster, const struct hr_result *result,
                                struct hr_fault_metrics *figures) {
  const struct hr_outage_accounting *account = result->outages;
  const uint32_t count = account ? hr_outages_count(cluster->pools, cluster->n_pools) : 0;
  if (count == 0) return HR_OK;
  figures->n_failure_classes = 0;
  figures->by_failure_class = calloc(count, sizeof *figures->by_failure_class);
  if (!figures->by_failure_class) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    const struct hr_fault_spec *spec = hr_pool_fails(&cluster->pools[i]) ? cluster->pools[i].faults : NULL;
    for (uint32_t k = 0; spec && k < spec->n_processes; k++)
      for (uint32_t c = 0; c < hr_fault_classes_of(&spec->processes[k]); c++) {
        char *name = name_of(&spec->processes[k], c);
        if (!name) return HR_NO_MEMORY;
        add(figures, name, account++);
      }
  }
  return HR_OK;
}

void hr__outages_finish(struct hr_fault_metrics *figures) {
  for (size_t i = 0; i < figures->n_failure_classes; i++) free(figures->by_failure_class[i].name);
  free(figures->by_failure_class);
}
