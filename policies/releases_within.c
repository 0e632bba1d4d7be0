/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When a gang fits one group of a tier: for each (pool, nodes of a group, GPUs) that was ever asked about, a tournament
 * over groups of the times at which they have room. Groups whose bins have changed are looked at again when the next
 * question comes.
 */

#include "policies/releases_parts.h"

struct hr__release_race {
  uint32_t gpus, nodes_per_group, n_groups, leaves;
  int64_t *time;      /* [2 * leaves]; the root is 1, group i's leaf is leaves + i */
  uint32_t *marked;   /* [n_groups], the first n_marked: groups to look at again */
  uint8_t *is_marked; /* [n_groups] */
  uint32_t n_marked;
  struct hr__release_race *next;
};

static void mark(struct hr__release_race *race, uint32_t group) {
  if (race->is_marked[group]) return;
  race->is_marked[group] = true;
  race->marked[race->n_marked++] = group;
}

void hr__races_mark(struct hr__release_race *races, uint32_t number) {
  for (; races; races = races->next) mark(races, number / races->nodes_per_group);
}

static struct hr__release_race *make_race(struct hr_releases *releases, struct hr__release_group *pool,
                                          uint32_t nodes_per_group, uint32_t gpus) {
  struct hr_arena *arena = releases->arena;
  struct hr__release_race *race = hr_arena_alloc(arena, sizeof *race);
  if (!race) return NULL;
  *race = (struct hr__release_race){.gpus = gpus, .nodes_per_group = nodes_per_group, .leaves = 1, .next = pool->races};
  race->n_groups = (pool->n_bins + nodes_per_group - 1) / nodes_per_group;
  while (race->leaves < race->n_groups) race->leaves *= 2;
  race->time = hr_arena_alloc(arena, 2 * (size_t)race->leaves * sizeof *race->time);
  race->marked = hr_arena_alloc(arena, race->n_groups * sizeof *race->marked);
  race->is_marked = hr_arena_alloc(arena, race->n_groups);
  if (!race->time || !race->marked || !race->is_marked) return NULL;
  for (uint32_t i = 0; i < 2 * race->leaves; i++) race->time[i] = HR_NEVER_US;
  for (uint32_t group = 0; group < race->n_groups; group++) mark(race, group);
  pool->races = race;
  return race;
}

static struct hr__release_race *race_for(struct hr_releases *releases, struct hr__release_group *pool,
                                         uint32_t nodes_per_group, uint32_t gpus) {
  for (struct hr__release_race *each = pool->races; each; each = each->next)
    if (each->gpus == gpus && each->nodes_per_group == nodes_per_group) return each;
  struct hr__release_race *made = make_race(releases, pool, nodes_per_group, gpus);
  if (!made) releases->out_of_memory = true;
  return made;
}

/* A gang fits once its whole nodes are wholly free and, for its rest, one node more has as much, as in the whole pool.
 */
static int64_t range_time(struct hr_releases *releases, struct hr__release_group *pool, struct hr__bin_range range,
                          uint32_t gpus) {
  uint32_t whole = gpus / pool->bin_size, rest = gpus % pool->bin_size;
  const struct hr__release_tournament *wholly = hr__releases_tournament(releases, pool, pool->bin_size);
  const struct hr__release_tournament *partly = rest ? hr__releases_tournament(releases, pool, rest) : wholly;
  if (!wholly || !partly) return HR_NEVER_US;
  int64_t whole_time = hr__releases_kth_time(releases, pool, wholly, range, whole);
  if (rest == 0 || whole_time == HR_NEVER_US) return whole_time;
  int64_t rest_time = hr__releases_kth_time(releases, pool, partly, range, whole + 1);
  return rest_time > whole_time ? rest_time : whole_time;
}

static int64_t pool_time(struct hr_releases *releases, struct hr__release_group *pool, uint32_t nodes_per_group,
                         uint32_t gpus) {
  struct hr__release_race *race = race_for(releases, pool, nodes_per_group, gpus);
  if (!race) return HR_NEVER_US;
  while (race->n_marked > 0) {
    uint32_t group = race->marked[--race->n_marked], from = group * nodes_per_group, end = from + nodes_per_group;
    struct hr__bin_range range = {from, end < pool->n_bins ? end : pool->n_bins};
    race->is_marked[group] = false;
    hr__times_replay(race->time, race->leaves + group, range_time(releases, pool, range, gpus));
  }
  return race->time[1];
}

int64_t hr_releases_earliest_within(struct hr_releases *releases, enum hr_tier tier, uint32_t gpus,
                                    uint32_t accept_class, int64_t now_us) {
  int64_t earliest_us = HR_NEVER_US;
  if (hr__releases_single(releases, gpus, accept_class))
    return hr_releases_earliest(releases, gpus, accept_class, now_us);
  hr__releases_settle(releases);
  for (uint32_t i = 0; i < releases->n_groups && tier > HR_TIER_NODE; i++) {
    const struct hr_pool_spec *spec = hr_cluster_pool_spec(releases->cluster, (hr_pool){i});
    if (!hr_cluster_accepts(releases->cluster, accept_class, (hr_pool){i})) continue;
    uint32_t nodes_per_group = hr_topology_nodes(&spec->topology, tier, spec->nodes);
    earliest_us = hr__earlier(earliest_us, pool_time(releases, &releases->groups[i], nodes_per_group, gpus));
  }
  return earliest_us > now_us ? earliest_us : now_us + 1;
}

bool hr_releases_allow_within(struct hr_releases *releases, const struct hr_placement *placement, uint32_t taken,
                              enum hr_tier tier, uint32_t gpus, uint32_t accept_class, int64_t at_us, int64_t now_us) {
  if (taken == 0) return true;
  hr__releases_shrink(releases, placement, taken, false);
  int64_t earliest_us = hr_releases_earliest_within(releases, tier, gpus, accept_class, now_us);
  hr__releases_shrink(releases, placement, taken, true);
  return earliest_us <= at_us;
}
