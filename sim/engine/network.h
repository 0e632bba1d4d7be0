/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_ENGINE_NETWORK_H
#define HR_SIM_ENGINE_NETWORK_H

/* A table of speeds by network bound to a trace: which of its rows each model goes by on each kind of links. */

#include "base/arena.h"
#include "headroom/policy.h"

struct hr__network_speeds {
  const struct hr_network_speeds *table; /* NULL: no link slows a job down */
  struct hr_network_span *spans;         /* [models + 1][HR_N_NETWORKS]; the last ones of jobs without a model */
  uint32_t min_ppm;                      /* of all speeds that there are */
};

/* In the arena. HR_NO_MEMORY is the only failure. `table` may be NULL, and is of no concern where no pool tells its
   networks. */
enum hr_status hr__network_init(struct hr__network_speeds *network, struct hr_arena *arena,
                                const struct hr_network_speeds *table, const struct hr_cluster_spec *cluster,
                                const struct hr_trace *trace);

#endif
