/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SIM_DATA_FLOWS_H
#define HR_SIM_DATA_FLOWS_H

/*
 * Flows of data in time. Each flow has a length, and ends when it has received its service. Bandwidth is shared max-min
 * fair among the active flows, so each begin or end of a flow changes the rates of others. Paths, caps and levels are
 * defined in sim/clusters/clusters.h.
 *
 * The demand of a flow is the rate at which its reader never waits for data. The length of a flow is the time that it
 * takes at this rate. The cap of a flow is its demand, or less if its path only allows a lower rate, also because of a
 * limit per client (node). A reader that never waits for data takes exactly the length of its flow, to the microsecond.
 *
 * Layout: flows with the same path and cap are one flow class. A class has one clock, which advances by rate / cap. The
 * rate of a class is its cap (the class is capped, and its clock advances with the time) or the level of its path (its
 * clock advances with the service of the path). If a level changes, only the classes that become capped, or stop being
 * capped, are updated; their flows are not. Three kinds of pairing heaps find the next end: one heap per class, of its
 * flows, by the clock at which they end; one heap per path, of the classes that are not capped, by the service at which
 * their first flow ends; and one heap of all capped classes, by the time at which their first flow ends. A begin or end
 * takes O(log n), plus O(log n) for each class that becomes capped or stops being capped.
 *
 * Rates are in 2^-10 bytes a second, clocks in 2^-20 us, services in rate x us.
 */

#include "base/array.h"
#include "headroom/base.h"
#include "sim/clusters/clusters.h"

/* Units of a rate per byte a second. Rates are at most HR__MAX_BYTES_S, so that products fit into 128 bits. */
#define HR__RATE_UNITS UINT64_C(1024)
#define HR__MAX_BYTES_S INT64_C(1000000000000000)
enum { HR__CLOCK_BITS = 20 };

/* A node of a pairing heap: links are indices + 1. */
struct hr__heap_node {
  hr__wide key;
  uint32_t child, next, before; /* before: the parent of a first child, otherwise the previous child */
};

struct hr__data_flow {
  struct hr__heap_node node; /* key: the clock of the class at which the flow ends */
  hr__wide begin;            /* the clock of the class when the flow began */
  hr__wide demand;           /* at least the cap of its class */
  uint32_t class_;           /* HR_NONE: not active */
};

struct hr__flow_class {
  struct hr__heap_node node; /* in the heap of its path, or of capped classes */
  hr__wide clock, from;      /* `clock`: the clock at `from`, a time if capped, otherwise a service of the path */
  uint32_t flows;            /* heap of its flows: index + 1 */
  uint32_t count;
  bool is_capped;
};

struct hr__flow_path {
  hr__wide service; /* that a flow at the level would have received since the begin of the run */
  int64_t from_us;  /* when `service` was computed */
  uint32_t level;   /* heap of the classes at the level: index + 1 */
  hr__wide was;     /* the level since `from_us` */
};

struct hr__flows {
  struct hr__bandwidth shares;
  struct hr__flow_path *paths;
  struct hr__flow_class *classes; /* numbered as those of `shares` */
  struct hr__data_flow *flows;
  uint32_t n_flows, n_classes, class_capacity, share_capacity, unused; /* unused: list of classes, index + 1 */
  uint32_t capped;                                                     /* heap of classes: index + 1 */
  uint32_t n_active;
};

/* Before hr__flows_open(), the caller allocates all arrays of `flows` and `shares` except those of classes. They are
   zero except the paths and capacities of `shares`. The arrays of classes grow, and hr__flows_close() frees them. */
void hr__flows_open(struct hr__flows *flows);
void hr__flows_close(struct hr__flows *flows);

/* Begins flow `id` on a path. `length_us`: the length of the flow, at least 0. `carry`: the part of the length that
   has already passed, in 2^-20 us. `cap`: from 1 to `demand`. Returns HR_NO_MEMORY if memory is exhausted. */
enum hr_status hr__flows_begin(struct hr__flows *flows, uint32_t id, uint32_t path, hr__wide demand, hr__wide cap,
                               int64_t length_us, uint32_t carry, int64_t now_us);
/* Ends flow `id`, which must be active. */
void hr__flows_end(struct hr__flows *flows, uint32_t id, int64_t now_us);
static inline bool hr__flows_has(const struct hr__flows *flows, uint32_t id) {
  return flows->flows[id].class_ != HR_NONE;
}
/* Returns the part of the length of an active flow that has passed, in 2^-20 us, without `carry`. */
hr__wide hr__flows_passed(const struct hr__flows *flows, uint32_t id, int64_t now_us);
/* Returns the flow that ends first, and sets `*at_us` to its end. If several flows end first, it is the one with the
   lowest number. Returns HR_NONE if no flow is active or makes progress. */
uint32_t hr__flows_first(const struct hr__flows *flows, int64_t *at_us);
/* Returns the rate of an active flow. */
hr__wide hr__flows_rate(const struct hr__flows *flows, uint32_t id);
#endif
