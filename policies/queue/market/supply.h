/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_POLICIES_QUEUE_MARKET_SUPPLY_H
#define HR_POLICIES_QUEUE_MARKET_SUPPLY_H

/*
 * The supply state: the capacity that is free or booting. During a pass, waiting jobs are packed on it, and nodes are
 * acquired for those that cannot be packed. Packing starts no jobs.
 *
 * There are two implementations. The counted one (counted_supply.c) counts nodes by number of free GPUs, and its cost
 * does not depend on the number of jobs. The placed one (placed_supply.c) places job by job by the placement rule. It
 * is used with per-GPU allocation and with topology constraints.
 */

#include "policies/queue/market/market.h"

/* Sets the supply state to the free and booting capacity. False: out of memory. */
bool hr__supply_begin(struct hr__queue *queue);
/* Discards the supply state. Must be called after each hr__supply_begin. False: out of memory. */
bool hr__supply_end(struct hr__queue *queue);
/* Packs up to `count` jobs of a demand, in the pools that the jobs accept (if `spot_only`, in spot pools only). Returns
   the number of packed jobs. */
uint32_t hr__supply_pack(struct hr__queue *queue, const struct hr__market_demand *demand, uint32_t count,
                         bool spot_only);
/* Acquires nodes for up to `count` jobs of a demand that cannot be packed, adds the nodes to the supply state, and
   packs the jobs. `spot_only`: only spot pools are used. `*found`: the number of jobs that were packed. */
enum hr_status hr__supply_acquire(struct hr__queue *queue, const struct hr__market_demand *demand, uint32_t count,
                                  bool spot_only, const struct hr_view *view, struct hr_moves *moves, uint32_t *found);
/* Returns the number of empty nodes of a pool in the supply state. */
uint32_t hr__supply_empty_nodes(const struct hr__queue *queue, uint32_t pool);
/* Acquires nodes without regard to demands. The supply state must not be in use. */
enum hr_status hr__supply_request(struct hr__queue *queue, struct hr_moves *moves, uint32_t pool, uint32_t nodes);
/* Acquires nodes for all waiting jobs that cannot be packed. */
enum hr_status hr__supply_all(struct hr__queue *queue, const struct hr_view *view, struct hr_moves *moves);

/* ---- Offers (offers.c) ---------------------------------------------------------------------------- */

/* Returns the number of nodes of the pool that the rule may acquire now. */
uint32_t hr__offer_room(const struct hr__queue *queue, uint32_t pool, int64_t now_us);
/* Returns the value by which the rule chooses a pool: the least one is chosen. */
double hr__offer_value(const struct hr__queue *queue, uint32_t pool, int64_t now_us);
/* Returns whether nodes of the pool may be acquired for jobs of the demand. */
bool hr__offer_accepts(const struct hr__queue *queue, uint32_t pool, const struct hr__market_demand *demand,
                       bool spot_only);

/* ---- Counted supply ------------------------------------------------------------------------------- */

bool hr__counted_supply_create(struct hr__queue *queue);
void hr__counted_supply_begin(struct hr__queue *queue);
uint32_t hr__counted_supply_pack(struct hr__queue *queue, const struct hr__market_demand *demand, uint32_t count,
                                 bool spot_only);
enum hr_status hr__counted_supply_acquire(struct hr__queue *queue, const struct hr__market_demand *demand,
                                          uint32_t count, bool spot_only, const struct hr_view *view,
                                          struct hr_moves *moves, uint32_t *found);
bool hr__counted_supply_could_acquire(const struct hr__queue *queue, const struct hr__market_demand *demand);

/* ---- Placed supply -------------------------------------------------------------------------------- */

bool hr__placed_supply_create(struct hr__queue *queue);
bool hr__placed_supply_begin(struct hr__queue *queue);
bool hr__placed_supply_end(struct hr__queue *queue);
uint32_t hr__placed_supply_pack(struct hr__queue *queue, const struct hr__market_demand *demand, uint32_t count,
                                bool spot_only);
enum hr_status hr__placed_supply_acquire(struct hr__queue *queue, const struct hr__market_demand *demand,
                                         uint32_t count, bool spot_only, const struct hr_view *view,
                                         struct hr_moves *moves, uint32_t *found);
uint32_t hr__placed_supply_empty_nodes(const struct hr__queue *queue, uint32_t pool);
bool hr__placed_supply_could_acquire(struct hr__queue *queue, const struct hr__market_demand *demand);
/* Acquires nodes outside of the supply state. */
enum hr_status hr__placed_supply_request(struct hr__queue *queue, struct hr_moves *moves, hr_pool pool, uint32_t nodes);
/* Called for a running job that starts on a placement (`starts`) or leaves it. */
void hr__placed_supply_job_changes(struct hr__queue *queue, hr_job job, const struct hr_placement *placement,
                                   bool starts);
void hr__placed_supply_node_changes(struct hr__queue *queue, const struct hr_event *event);

#endif
