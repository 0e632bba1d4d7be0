/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_MARKET_SUPPLY_H
#define HR_SIM_MARKET_SUPPLY_H

/*
 * How much spot capacity there is, as a function of time alone: no draw depends on what a policy does, so all policies
 * meet the same market. Nodes of a pool are numbered from 0.
 */

#include "base/random.h"
#include "headroom/market.h"

/* A length of time, drawn from the stream: at least 1 us, at most about 100 years, rounded to a microsecond. */
int64_t hr__duration_draw(const struct hr_duration *duration, struct hr__stream *stream);
/* Its mean in seconds. */
double hr__duration_mean_s(const struct hr_duration *duration);

/* ---- Levels: trace, on-off -------------------------------------------------------------------------- */

/* The steps of a pool's level, one after the other. The level before the first step is `n_nodes`. */
struct hr__level_source {
  const struct hr_spot_spec *spec;
  uint32_t n_nodes, next;
  int64_t at_us;
  bool is_up;
  struct hr__stream stream;
};
/* on-off begins in its stationary state: up with probability mean up / (mean up + mean down), and within the length of
   time that is going on (drawn by length, cut at a uniform point). A trace begins at the spec's offset. */
void hr__level_source_init(struct hr__level_source *source, const struct hr_spot_spec *spec, uint32_t n_nodes,
                           uint64_t seed, uint32_t replication);
/* The next step, later than the one before; the first one is at 0. Steps that change nothing are left out (but the
   first). HR_NEVER_US when none comes any more, as for models without levels, whose only step is (0, n_nodes). */
struct hr_level_step hr__level_source_next(struct hr__level_source *source);

/* ---- Blows: exponential, advisor -------------------------------------------------------------------- */

/* Times at which some of a pool's nodes are reclaimed. Each node is hit at the spec's rate; together with others, in
   batches whose mean size is the spec's, as far as there are nodes. */
struct hr__interruption_source {
  const struct hr_spot_spec *spec;
  uint32_t n_nodes;
  double per_h; /* blows per hour */
  int64_t at_us;
  struct hr__stream stream;
};
/* How often a blow hits at least one of `held` nodes, in times of how often it hits one node. (A blow is taken to have
   the mean size, which need not be a whole number.) */
double hr__blow_share(const struct hr_spot_spec *spec, uint32_t n_nodes, uint32_t held);
void hr__interruption_source_init(struct hr__interruption_source *source, const struct hr_spot_spec *spec,
                                  uint32_t n_nodes, uint64_t seed, uint32_t replication);
/* The next blow: its time, and the nodes that it hits, in increasing order, in `nodes` (room for n_nodes); their number
   in `*count`. HR_NEVER_US when none comes. */
int64_t hr__interruption_source_next(struct hr__interruption_source *source, uint32_t *nodes, uint32_t *count);

/* ---- Lives: bathtub --------------------------------------------------------------------------------- */

/* How long a node lives from its launch, drawn for its n-th launch; HR_NEVER_US for models without ages. */
int64_t hr__life_draw(const struct hr_spot_spec *spec, uint64_t seed, uint32_t node, uint32_t launch,
                      uint32_t replication);

/* The mean time until a node of such a pool is reclaimed, in seconds, for the choice of checkpoint intervals: from the
   rate, the mean up time, the mean life, or the record (node time up per reclaim); infinite when it never is. */
double hr__spot_mean_life_s(const struct hr_spot_spec *spec);

#endif
