/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rules in sim/clusters: max-min sharing of bandwidth, caches and data loading, packing of new nodes, schedules,
   and dispatch by MultiKueue. They are compared with separate, simpler code and with published values. */

#include "sim/clusters/clusters.h"
#include "harness.h"
#include "sim/clusters/node_autoscalers.h"

#include <math.h>
#include <string.h>

enum { MAX_FLOWS = 12, MAX_LINKS = 6, MAX_CROSSED = MAX_FLOWS * MAX_LINKS };

/* Returns a pseudo-random number from 0 to `below` - 1, and advances `*state`. */
static uint32_t draw(uint32_t *state, uint32_t below) {
  *state = *state * 1664525U + 1013904223U;
  return (uint32_t)(((uint64_t)*state * below) >> 32);
}

/* ---- Max-min sharing ------------------------------------------------------------------------------------- */

struct world {
  struct hr__flow flows[MAX_FLOWS];
  uint32_t crossed[MAX_CROSSED];
  double capacities[MAX_LINKS];
  uint32_t n_flows, n_links;
};

static struct world draw_world(uint32_t *state) {
  struct world world = {.n_flows = 1 + draw(state, MAX_FLOWS), .n_links = 1 + draw(state, MAX_LINKS)};
  uint32_t n = 0;
  for (uint32_t i = 0; i < world.n_links; i++) world.capacities[i] = draw(state, 100);
  for (uint32_t i = 0; i < world.n_flows; i++) {
    struct hr__flow *flow = &world.flows[i];
    flow->first = n;
    flow->weight = 1 + draw(state, 4);
    flow->demand = draw(state, 3) ? draw(state, 60) : (double)INFINITY;
    for (uint32_t link = 0; link < world.n_links; link++)
      if (draw(state, 2)) world.crossed[n++] = link;
    flow->n = n - flow->first;
  }
  return world;
}

static bool crosses(const struct world *world, uint32_t flow, uint32_t link) {
  for (uint32_t i = 0; i < world->flows[flow].n; i++)
    if (world->crossed[world->flows[flow].first + i] == link) return true;
  return false;
}

/* A level is a rate per unit of weight. Returns the highest level at which the flows of a link do not exceed its
   capacity. `limits`: the maximum rate of each flow. */
static double offered_level(const struct world *world, const double *limits, uint32_t link) {
  double low = 0, high = 1e6;
  for (int step = 0; step < 100; step++) {
    const double level = (low + high) / 2;
    double used = 0;
    for (uint32_t i = 0; i < world->n_flows; i++)
      if (crosses(world, i, link)) used += fmin(limits[i], level * world->flows[i].weight);
    if (used <= world->capacities[link])
      low = level;
    else
      high = level;
  }
  return low;
}

/* The naive sharing: one link after another offers a level, and each flow uses the lowest level of its links. At a
   link, a flow is limited by its demand and by the offers of its other links. After 60 rounds the offers are
   constant. */
static void share_naively(const struct world *world, double *rates) {
  double offers[MAX_LINKS];
  for (uint32_t link = 0; link < MAX_LINKS; link++) offers[link] = 1e6;
  for (int round = 0; round < 60; round++) {
    for (uint32_t link = 0; link < world->n_links; link++) {
      double limits[MAX_FLOWS];
      for (uint32_t i = 0; i < world->n_flows; i++) {
        limits[i] = world->flows[i].demand;
        for (uint32_t other = 0; other < world->n_links; other++)
          if (other != link && crosses(world, i, other))
            limits[i] = fmin(limits[i], offers[other] * world->flows[i].weight);
      }
      offers[link] = offered_level(world, limits, link);
    }
  }
  for (uint32_t i = 0; i < world->n_flows; i++) {
    rates[i] = world->flows[i].demand;
    for (uint32_t link = 0; link < world->n_links; link++)
      if (crosses(world, i, link)) rates[i] = fmin(rates[i], offers[link] * world->flows[i].weight);
  }
}

/* Returns whether no link exceeds its capacity, and every flow gets its demand or crosses a full link on which no flow
   has a higher rate per weight. */
static bool is_fair(const struct world *world, const double *rates) {
  double used[MAX_LINKS] = {0}, highest[MAX_LINKS] = {0};
  for (uint32_t i = 0; i < world->n_flows; i++)
    for (uint32_t link = 0; link < world->n_links; link++)
      if (crosses(world, i, link)) {
        used[link] += rates[i];
        highest[link] = fmax(highest[link], rates[i] / world->flows[i].weight);
      }
  for (uint32_t link = 0; link < world->n_links; link++)
    if (used[link] > world->capacities[link] + 1e-9) return false;
  for (uint32_t i = 0; i < world->n_flows; i++) {
    bool is_held = rates[i] >= world->flows[i].demand || isinf(rates[i]);
    for (uint32_t link = 0; link < world->n_links; link++)
      is_held |= crosses(world, i, link) && used[link] >= world->capacities[link] - 1e-9 &&
                 rates[i] / world->flows[i].weight >= highest[link] - 1e-9;
    if (!is_held) return false;
  }
  return true;
}

static void sharing_is_fair(void) {
  uint32_t state = 1, n_wrong = 0, n_limited = 0;
  for (int round = 0; round < 1000; round++) {
    const struct world world = draw_world(&state);
    double rates[MAX_FLOWS], naive[MAX_FLOWS];
    n_wrong +=
        hr__share_max_min(world.flows, world.n_flows, world.crossed, world.capacities, world.n_links, rates) != HR_OK;
    share_naively(&world, naive);
    bool is_equal = is_fair(&world, rates);
    for (uint32_t i = 0; i < world.n_flows; i++) {
      is_equal = is_equal && (isinf(naive[i]) ? isinf(rates[i]) : fabs(naive[i] - rates[i]) < 1e-6);
      n_limited += rates[i] < world.flows[i].demand;
    }
    n_wrong += !is_equal;
  }
  CU_ASSERT_EQUAL(n_wrong, 0);
  CU_ASSERT_TRUE(n_limited > 1000); // the worlds are not trivial
}

/* Weights such as 1.1 have no exact binary representation, but the rates are exact up to 1e-12. The capacity is 21.2.
   Two flows get their demands, 2.1 and 4.3. The other flows, with a total weight of 3, share the remaining 14.8 in the
   ratio of their weights. */
static void weights_are_exact(void) {
  static const double demands[] = {(double)INFINITY, 2.1, (double)INFINITY, 4.3, (double)INFINITY},
                      weights[] = {1.1, 0.9, 1.2, 3.7, 0.7};
  const uint32_t crossed[1] = {0};
  const double capacity = 21.2;
  double rates[5];
  struct hr__flow flows[5];
  for (int i = 0; i < 5; i++) flows[i] = (struct hr__flow){.demand = demands[i], .weight = weights[i], .n = 1};
  CU_ASSERT_EQUAL(hr__share_max_min(flows, 5, crossed, &capacity, 1, rates), HR_OK);
  for (int i = 0; i < 5; i++)
    CU_ASSERT_DOUBLE_EQUAL(rates[i], isinf(demands[i]) ? 14.8 * weights[i] / 3 : demands[i], 1e-12);
}

/* ---- Caches ---------------------------------------------------------------------------------------------- */

enum { MANY_ITEMS = 1500, N_EPOCHS = 8 };

/* Uses an item with an LRU cache. The cache is a list of `*n_in` items, at most `n_cached`; the most recently used item
   is first. Returns whether the item was in the cache. */
static bool use_item(uint16_t *cache, uint32_t n_cached, uint32_t *n_in, uint16_t item) {
  uint32_t at = 0;
  while (at < *n_in && cache[at] != item) at++;
  const bool is_hit = at < *n_in;
  if (!is_hit && *n_in < n_cached) ++*n_in;
  if (!is_hit) at = *n_in - 1;
  memmove(cache + 1, cache, at * sizeof *cache);
  cache[0] = item;
  return is_hit;
}

static void shuffle(uint32_t *state, uint16_t *items, uint32_t n) {
  for (uint32_t i = n; i > 1; i--) {
    const uint32_t other = draw(state, i);
    const uint16_t item = items[other];
    items[other] = items[i - 1];
    items[i - 1] = item;
  }
}

/* Returns the hit rate of a simulated LRU cache in epochs of random order, without the first two epochs. */
static double simulate_lru(uint32_t *state, uint32_t n_cached) {
  static uint16_t items[MANY_ITEMS], cache[MANY_ITEMS];
  uint32_t n_in = 0, n_hits = 0;
  for (uint32_t i = 0; i < MANY_ITEMS; i++) items[i] = (uint16_t)i;
  for (int epoch = 0; epoch < N_EPOCHS; epoch++) {
    shuffle(state, items, MANY_ITEMS);
    for (uint32_t i = 0; i < MANY_ITEMS; i++) n_hits += use_item(cache, n_cached, &n_in, items[i]) && epoch >= 2;
  }
  return (double)n_hits / (MANY_ITEMS * (N_EPOCHS - 2));
}

static void law_of_lru(void) {
  static const double shares[] = {0.1, 0.25, 0.5, 0.65, 0.75, 0.9};
  uint32_t state = 3;
  for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
    const double simulated = simulate_lru(&state, (uint32_t)(shares[i] * MANY_ITEMS));
    CU_ASSERT_DOUBLE_EQUAL(hr__cache_hits(HR__CACHE_LRU, shares[i], false), simulated, 0.01);
    CU_ASSERT_DOUBLE_EQUAL(hr__cache_hits(HR__CACHE_UNIFORM, shares[i], false), shares[i], 0);
  }
  CU_ASSERT_DOUBLE_EQUAL(hr__cache_hits(HR__CACHE_LRU, 1, false), 1, 0);
  CU_ASSERT_DOUBLE_EQUAL(hr__cache_hits(HR__CACHE_LRU, 0.9, true), 0, 0);
  CU_ASSERT_DOUBLE_EQUAL(hr__cache_hits(HR__CACHE_UNIFORM, 0.9, true), 0.9, 0);
}

/* The misses of an LRU cache in one epoch, over all orders of its items. The previous epoch has the order 0, 1, 2,
   ... */
struct count {
  uint32_t n_items, n_cached;
  int64_t n_orders, misses, least, most;
};

static void count_orders(struct count *count, uint16_t *order, uint32_t n_fixed) {
  if (n_fixed < count->n_items) {
    for (uint32_t i = n_fixed; i < count->n_items; i++) {
      const uint16_t item = order[i];
      order[i] = order[n_fixed];
      order[n_fixed] = item;
      count_orders(count, order, n_fixed + 1);
      order[n_fixed] = order[i];
      order[i] = item;
    }
    return;
  }
  uint16_t cache[8];
  uint32_t n_in = 0;
  int64_t misses = 0;
  for (uint32_t i = 0; i < count->n_items; i++) use_item(cache, count->n_cached, &n_in, (uint16_t)i);
  for (uint32_t i = 0; i < count->n_items; i++) misses += !use_item(cache, count->n_cached, &n_in, order[i]);
  count->n_orders++;
  count->misses += misses;
  if (misses < count->least) count->least = misses;
  if (misses > count->most) count->most = misses;
}

static void few_items(void) {
  for (uint32_t n_items = 2; n_items <= 6; n_items++)
    for (uint32_t n_cached = 1; n_cached < n_items; n_cached++) {
      uint16_t order[8] = {0, 1, 2, 3, 4, 5, 6, 7};
      struct count count = {n_items, n_cached, 0, 0, INT64_MAX, 0};
      count_orders(&count, order, 0);
      const struct hr__cache_misses misses = hr__cache_misses(HR__CACHE_LRU, n_items, n_cached, false);
      CU_ASSERT_DOUBLE_EQUAL(misses.mean, (double)count.misses / (double)count.n_orders, 1e-9);
      CU_ASSERT_EQUAL(misses.least, count.least);
      CU_ASSERT_EQUAL(misses.most, count.most);
    }
  CU_ASSERT_EQUAL(hr__cache_misses(HR__CACHE_UNIFORM, 6, 2, false).most, 4);
  CU_ASSERT_EQUAL(hr__cache_misses(HR__CACHE_LRU, 6, 6, false).most, 0);
  CU_ASSERT_EQUAL(hr__cache_misses(HR__CACHE_LRU, 6, 3, true).least, 6);
}

/* ---- Published figures of data loading ------------------------------------------------------------------- */

/* Returns the duration of `epochs` epochs in seconds. The first epoch has no cache hits. */
static double epochs_s(const struct hr__io_job *job, double epochs) {
  struct hr__io_job cold = *job;
  cold.is_first_epoch = true;
  return job->dataset / hr__io_speed(&cold) + (epochs - 1) * job->dataset / hr__io_speed(job);
}

/* Hoard: 16 GPUs can read 2.625 GB/s, and the remote storage has 10 Gb/s (1.25 GB/s). The data set is ImageNet (150
   GB). With a cache, all epochs after the first are 2.625 / 1.25 = 2.1 times as fast, so E epochs have the speed-up E /
   (1 + (E - 1) / 2.1). */
static void hoard(void) {
  const double dataset = 150e9;
  const struct hr__io_job job = {.full_speed = 2.625e9, .remote = 1.25e9, .cached = dataset, .dataset = dataset};
  static const double epochs[] = {2, 10, 60}, speedups[] = {1.35, 1.89, 2.06};
  struct hr__io_job remote = job;
  remote.cached = 0;
  for (size_t i = 0; i < sizeof epochs / sizeof *epochs; i++)
    CU_ASSERT_DOUBLE_EQUAL(epochs_s(&remote, epochs[i]) / epochs_s(&job, epochs[i]), speedups[i], 0.01);
}

/* Two jobs, with data sets of 100 GB and 1,000 GB, share a cache of 100 GB and 100 MB/s of remote bandwidth. Each can
   read 100 MB/s. A job with the remote bandwidth r and the cached share h of its data has the speed r / (1 - h). If the
   first job gets the cache, both have 100 MB/s. If the second gets it, each job gets 50 MB/s, and the sum is 50 + 50 /
   0.9. If each gets half of the cache, the sum is 100 + 50 / 0.95. */
static void cache_goes_to_the_small_data_set(void) {
  static const double cached[][2] = {{100, 0}, {0, 100}, {50, 50}}, sums[] = {200, 105.6, 152.6};
  for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
    struct hr__io_job jobs[2] = {{.full_speed = 100, .cached = cached[i][0], .dataset = 100},
                                 {.full_speed = 100, .cached = cached[i][1], .dataset = 1000}};
    struct hr__flow flows[2] = {{.weight = 1, .n = 1}, {.weight = 1, .n = 1}};
    const uint32_t crossed[1] = {0};
    const double capacity = 100;
    double rates[2], sum = 0;
    for (int k = 0; k < 2; k++) flows[k].demand = hr__io_remote_need(&jobs[k]);
    CU_ASSERT_EQUAL(hr__share_max_min(flows, 2, crossed, &capacity, 1, rates), HR_OK);
    for (int k = 0; k < 2; k++) {
      jobs[k].remote = rates[k];
      sum += hr__io_speed(&jobs[k]);
    }
    CU_ASSERT_DOUBLE_EQUAL(sum, sums[i], 0.1);
  }
}

/* MLPerf Storage v1.0, unet3d: one bandwidth, 104.2 GB/s, explains both measured runs of one system within 0.4 %:
   708.23 and 713.20 samples a second. */
static void one_storage_two_runs(void) {
  const double bandwidth = 104.2e9;
  const struct hr__mlperf h100 = {.accelerators = 36, .batch = 7, .sample_bytes = 146600628, .step_s = 0.323};
  const struct hr__mlperf a100 = {.accelerators = 72, .batch = 7, .sample_bytes = 146600628, .step_s = 0.636};
  CU_ASSERT_DOUBLE_EQUAL(hr__mlperf_rate(&h100, bandwidth, (double)INFINITY) / 708.23, 1, 0.004);
  CU_ASSERT_DOUBLE_EQUAL(hr__mlperf_rate(&a100, bandwidth, (double)INFINITY) / 713.20, 1, 0.004);
  CU_ASSERT_DOUBLE_EQUAL(hr__mlperf_rate(&a100, (double)INFINITY, 500), 500, 0);
}

/* ---- Packing --------------------------------------------------------------------------------------------- */

enum { MAX_KINDS = 4, MAX_PODS = 120 };

/* First fit, pod by pod, in the order that hr__ca_pack chose: each pod goes to the first new node with enough room. */
static uint32_t pack_naively(const struct hr__ca_pods *kinds, const uint32_t *order, uint32_t n_kinds, int64_t cpu,
                             int64_t memory, uint32_t *n_placed) {
  int64_t free_cpu[MAX_PODS], free_memory[MAX_PODS];
  uint32_t n_nodes = 0;
  *n_placed = 0;
  for (uint32_t i = 0; i < n_kinds; i++) {
    const int64_t *request = kinds[order[i]].request.of;
    for (uint32_t pod = 0; pod < kinds[order[i]].count && request[0] <= cpu && request[1] <= memory; pod++) {
      uint32_t at = 0;
      while (at < n_nodes && (free_cpu[at] < request[0] || free_memory[at] < request[1])) at++;
      if (at == n_nodes) {
        free_cpu[n_nodes] = cpu;
        free_memory[n_nodes++] = memory;
      }
      free_cpu[at] -= request[0];
      free_memory[at] -= request[1];
      ++*n_placed;
    }
  }
  return n_nodes;
}

static void packing_is_first_fit(void) {
  uint32_t state = 4, n_wrong = 0;
  for (int round = 0; round < 1000; round++) {
    struct hr__ca_pods kinds[MAX_KINDS] = {0};
    struct hr__ca_node nodes[MAX_PODS + 1];
    uint32_t order[MAX_KINDS], n_placed, n_kinds = 1 + draw(&state, MAX_KINDS);
    const int64_t cpu = 100 + draw(&state, 400), memory = 100 + draw(&state, 400);
    for (uint32_t i = 0; i < n_kinds; i++)
      kinds[i] = (struct hr__ca_pods){.request = {{1 + draw(&state, 150), 1 + draw(&state, 150), 0}},
                                      .count = 1 + draw(&state, MAX_PODS / MAX_KINDS)};
    struct hr__ca_packing packing = {
        .fresh = {.free = {{cpu, memory, 0}}, .pods_left = 1000}, .nodes = nodes, .order = order};
    hr__ca_pack(&packing, kinds, n_kinds);
    const uint32_t n_nodes = pack_naively(kinds, order, n_kinds, cpu, memory, &n_placed);
    n_wrong += n_nodes != packing.n_used || n_placed != packing.n_placed;
    for (uint32_t i = 1; i < n_kinds; i++) {
      const int64_t *a = kinds[order[i - 1]].request.of, *b = kinds[order[i]].request.of;
      n_wrong += a[0] * memory + a[1] * cpu < b[0] * memory + b[1] * cpu;
    }
  }
  CU_ASSERT_EQUAL(n_wrong, 0);
}

/* ---- Schedules ------------------------------------------------------------------------------------------- */

/* Returns whether a schedule has an instant in the minute that begins at `at_s`. */
static bool hits_at(const char *text, int64_t at_s) {
  struct hr__cron cron;
  CU_ASSERT_TRUE_FATAL(hr__cron_read(text, &cron));
  return hr__cron_hits(&cron, at_s - 1, at_s + 59);
}

static void schedules(void) {
  const int64_t day = 86400, leap_day = 1709164800,
                friday_13 = 1694563200; // 2024-02-29, and 30 days before Friday, 2023-10-13
  CU_ASSERT_TRUE(hits_at("0 0 29 2 *", leap_day));
  CU_ASSERT_FALSE(hits_at("0 0 29 2 *", leap_day + day));
  CU_ASSERT_TRUE(hits_at("0 0 1 3 *", leap_day + day));
  CU_ASSERT_TRUE(hits_at("*/15 9-17 * * mon-fri", leap_day + 9 * 3600 + 45 * 60)); // a Thursday
  CU_ASSERT_FALSE(hits_at("*/15 9-17 * * mon-fri", leap_day + 9 * 3600 + 46 * 60));
  CU_ASSERT_FALSE(hits_at("*/15 9-17 * * mon-fri", leap_day + 2 * day + 9 * 3600)); // a Saturday
  /* if the day of the month and the weekday are both restricted, one of them must match; a star always matches */
  CU_ASSERT_TRUE(hits_at("0 0 13 * fri", friday_13 + 30 * day));
  CU_ASSERT_TRUE(hits_at("0 0 13 * fri", friday_13 + 37 * day));
  CU_ASSERT_FALSE(hits_at("0 0 13 * *", friday_13 + 37 * day));
  CU_ASSERT_TRUE(hits_at("0 0 * * 5", friday_13 + 37 * day));
  struct hr__cron cron;
  static const char *const wrong[] = {"",          "* * * *",    "* * * * * *", "60 * * * *",      "* 24 * * *",
                                      "* * 0 * *", "* * * 13 *", "* * * * 7",   "0 0 * * tue-mon", "*/0 * * * *",
                                      "@often",    "a * * * *"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) CU_ASSERT_FALSE(hr__cron_read(wrong[i], &cron));
  CU_ASSERT_TRUE(hr__cron_read("@every 1h30m", &cron));
  CU_ASSERT_TRUE(hr__cron_hits(&cron, 0, 5400));
  CU_ASSERT_FALSE(hr__cron_hits(&cron, 0, 5399));
}

/* hr__cron_next returns the first instant of a schedule after a time. hr__karpenter_constant_until returns a time
   before which a budget neither becomes active nor inactive. An inactive budget becomes active at this time. An active
   budget becomes inactive at this time if instants are further apart than its duration (texts[1] and texts[4]). */
static void next_instants(void) {
  static const char *const texts[] = {
      "*/15 9-17 * * mon-fri", "0 0 29 2 *", "30 4 1,15 * fri", "@hourly", "@weekly", "* * * * *", "59 23 31 12 *"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    for (int64_t after_s = 1709000000; after_s < 1709000000 + 40 * 86400; after_s += 276543) {
      struct hr__karpenter_budget budget = {.duration_s = 60 * (1 + after_s % 50)};
      CU_ASSERT_TRUE_FATAL(hr__cron_read(texts[i], &budget.schedule));
      const int64_t next_s = hr__cron_next(&budget.schedule, after_s);
      CU_ASSERT_TRUE(hr__cron_hits(&budget.schedule, next_s - 1, next_s));
      CU_ASSERT_FALSE(hr__cron_hits(&budget.schedule, after_s, next_s - 1));
      const int64_t until_s = hr__karpenter_constant_until(&budget, after_s);
      const bool is_active = hr__karpenter_is_active(&budget, after_s);
      CU_ASSERT_TRUE_FATAL(until_s > after_s);
      uint32_t n_changes = 0;
      for (int64_t k = 1; k <= 50; k++) /* times from after_s + 1 to until_s - 1, both inclusive */
        n_changes += hr__karpenter_is_active(&budget, after_s + 1 + (until_s - 2 - after_s) * k / 50) != is_active;
      if (until_s > after_s + 1) CU_ASSERT_EQUAL(n_changes, 0);
      if (!is_active || i == 1 || i == 4) CU_ASSERT_NOT_EQUAL(hr__karpenter_is_active(&budget, until_s), is_active);
    }
  struct hr__cron never;
  CU_ASSERT_TRUE_FATAL(hr__cron_read("0 0 30 2 *", &never));
  CU_ASSERT_EQUAL(hr__cron_next(&never, 0), INT64_MAX);
}

/* ---- MultiKueue ------------------------------------------------------------------------------------------ */

static void dispatch(void) {
  const int64_t minute = 60 * HR_SECOND_US;
  static const uint32_t preference[] = {4, 3, 2, 1, 0};
  uint32_t nominated[5];
  struct hr__multikueue_offer offer = {.nominated = nominated};
  struct hr__multikueue_spec spec = hr__multikueue_defaults;
  spec.is_incremental = true;
  CU_ASSERT_TRUE(hr__multikueue_nominate(&spec, &offer, preference, 5, 0));
  CU_ASSERT_EQUAL(offer.n_nominated, 3);
  CU_ASSERT_TRUE(hr__multikueue_nominate(&spec, &offer, preference, 5, 5 * minute)); // not more than 5 min
  CU_ASSERT_EQUAL(offer.n_nominated, 3);
  CU_ASSERT_TRUE(hr__multikueue_nominate(&spec, &offer, preference, 5, 5 * minute + 1));
  CU_ASSERT_EQUAL(offer.n_nominated, 5);
  CU_ASSERT_EQUAL(nominated[4], 0);
  CU_ASSERT_FALSE(hr__multikueue_nominate(&spec, &offer, preference, 5, 20 * minute));
}

TEST_MAIN("rules for several clusters", TEST(sharing_is_fair), TEST(weights_are_exact), TEST(law_of_lru),
          TEST(few_items), TEST(hoard), TEST(cache_goes_to_the_small_data_set), TEST(one_storage_two_runs),
          TEST(packing_is_first_fit), TEST(schedules), TEST(next_instants), TEST(dispatch))
