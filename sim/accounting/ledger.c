/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who pays for what. Two sums are made apart and never from each other: what a pool costs, from the time that its nodes
 * are paid for, and what jobs are charged, from the time that they hold GPUs. What is left between them is idle.
 *
 * Charges stand in one array, found through open addressing by (tenant, class, pool, month). For each node of an
 * elastic pool there is a session, from its launch to its end. Where a node that is reclaimed early is free, what its
 * jobs owe for it is held back until the session has outlived that time, as a list of links that are used again.
 *
 * Of a job only its present attempt is kept, in a list of those that run, so that memory is not for all jobs of a
 * trace.
 */

#include "base/array.h"
#include "base/digest.h"
#include "base/job_map.h"
#include "headroom/sim.h"
#include "sim/market/price.h"

#include <stdlib.h>

enum { FIRST_SLOTS = 128 };

/* Who is charged. */
struct payer {
  hr_job job;
  uint32_t tenant;
  uint8_t class_;
};

/* A running job's attempt. Kept here, as no event tells it of jobs that still run when the run ends. */
struct segment {
  int64_t from_us;
  struct payer payer;
  hr_pool pool;
  uint32_t gpu_milli;
};

/* Use of a node that is not charged yet. */
struct held {
  int64_t from_us, to_us;
  struct payer payer;
  uint32_t gpu_milli;
  uint32_t next; /* + 1 */
};

struct session {
  int64_t since_us; /* HR_NEVER_US while the node is off */
  uint32_t held;    /* + 1 */
};

struct book {
  const struct hr_pool_spec *spec;
  struct hr__price_sums prices;
  struct hr_pool_account account;
  uint64_t node_milli;
  uint32_t first_node;
  int64_t free_us;          /* a node reclaimed within this time is free; 0: none is */
  struct session *sessions; /* [nodes] of an elastic pool, else NULL */
};

struct hr_ledger {
  const struct hr_trace *trace;
  struct book *books; /* by pool */
  uint32_t n_books;
  struct segment *segments; /* of jobs that run, in no order */
  struct hr__job_map place_of;
  uint32_t n_segments, segments_capacity;
  hr_amount *job_cost; /* by job, or NULL */
  struct hr_charge *charges;
  uint32_t *slot; /* open addressing: charge + 1, 0 for empty; twice as many as there is room for charges */
  uint32_t n_charges, capacity;
  struct held *held;
  uint32_t n_held, held_capacity, unused_held; /* + 1 */
  enum hr_status status;
};

/* ---- Charges ---------------------------------------------------------------------------------------- */

static uint32_t *slot_of(const struct hr_ledger *ledger, const struct hr_account *account) {
  uint64_t digest = hr__digest_add(HR__DIGEST_SEED, (uint64_t)account->tenant << 32 | account->month);
  digest = hr__digest_add(digest, (uint64_t)account->pool << 8 | account->class_);
  uint32_t mask = 2 * ledger->capacity - 1;
  for (uint32_t place = (uint32_t)digest & mask;; place = (place + 1) & mask) {
    uint32_t *slot = &ledger->slot[place];
    if (*slot == 0) return slot;
    const struct hr_account *other = &ledger->charges[*slot - 1].account;
    if (other->tenant == account->tenant && other->month == account->month && other->pool == account->pool &&
        other->class_ == account->class_)
      return slot;
  }
}

static enum hr_status grow_charges(struct hr_ledger *ledger) {
  uint32_t n_slots = ledger->capacity ? 4 * ledger->capacity : FIRST_SLOTS;
  struct hr_charge *charges = realloc(ledger->charges, n_slots / 2 * sizeof *charges);
  if (!charges) return HR_NO_MEMORY;
  ledger->charges = charges;
  uint32_t *slot = calloc(n_slots, sizeof *slot);
  if (!slot) return HR_NO_MEMORY;
  free(ledger->slot);
  ledger->slot = slot;
  ledger->capacity = n_slots / 2;
  for (uint32_t i = 0; i < ledger->n_charges; i++) *slot_of(ledger, &charges[i].account) = i + 1;
  return HR_OK;
}

/* NULL when out of memory. */
static struct hr_charge *charge_of(struct hr_ledger *ledger, const struct hr_account *account) {
  if (ledger->n_charges == ledger->capacity && grow_charges(ledger) != HR_OK) {
    ledger->status = HR_NO_MEMORY;
    return NULL;
  }
  uint32_t *slot = slot_of(ledger, account);
  if (*slot == 0) {
    ledger->charges[ledger->n_charges] = (struct hr_charge){.account = *account};
    *slot = ++ledger->n_charges;
  }
  return &ledger->charges[*slot - 1];
}

/* Within one month. */
static void charge_month(struct hr_ledger *ledger, struct payer payer, hr_pool pool, uint64_t gpu_milli,
                         int64_t from_us, int64_t to_us) {
  struct hr_account account = {
      .tenant = payer.tenant, .class_ = payer.class_, .pool = pool.id, .month = (uint32_t)(from_us / HR_MONTH_US)};
  struct hr_charge *charge = charge_of(ledger, &account);
  if (!charge) return;
  struct book *book = &ledger->books[pool.id];
  hr_amount gpu_time = (hr_amount)gpu_milli * (to_us - from_us);
  hr_amount amount = (hr_amount)gpu_milli * hr__price_sum_between(&book->prices, from_us, to_us);
  charge->amount += amount;
  charge->gpu_time += gpu_time;
  book->account.used += amount;
  book->account.used_time += gpu_time;
  if (ledger->job_cost) ledger->job_cost[payer.job.id] += amount;
}

static void charge_use(struct hr_ledger *ledger, struct payer payer, hr_pool pool, uint64_t gpu_milli, int64_t from_us,
                       int64_t to_us) {
  if (gpu_milli == 0) return;
  while (from_us < to_us) {
    int64_t month_end_us = (from_us / HR_MONTH_US + 1) * HR_MONTH_US;
    int64_t until_us = to_us < month_end_us ? to_us : month_end_us;
    charge_month(ledger, payer, pool, gpu_milli, from_us, until_us);
    from_us = until_us;
  }
}

/* ---- Charges that wait ------------------------------------------------------------------------------ */

static enum hr_status grow_held(struct hr_ledger *ledger) {
  struct held *held = hr__grown(ledger->held, &ledger->held_capacity, sizeof *held);
  if (!held) return HR_NO_MEMORY;
  ledger->held = held;
  return HR_OK;
}

static void hold(struct hr_ledger *ledger, struct session *session, struct held use) {
  uint32_t place = ledger->unused_held;
  if (place) {
    ledger->unused_held = ledger->held[place - 1].next;
  } else {
    if (ledger->n_held == ledger->held_capacity && grow_held(ledger) != HR_OK) {
      ledger->status = HR_NO_MEMORY;
      return;
    }
    place = ++ledger->n_held;
  }
  use.next = session->held;
  ledger->held[place - 1] = use;
  session->held = place;
}

/* What was held back is charged, or is free. */
static void settle_held(struct hr_ledger *ledger, hr_pool pool, struct session *session, bool charged) {
  while (session->held) {
    uint32_t place = session->held;
    struct held *use = &ledger->held[place - 1];
    if (charged) charge_use(ledger, use->payer, pool, use->gpu_milli, use->from_us, use->to_us);
    session->held = use->next;
    use->next = ledger->unused_held;
    ledger->unused_held = place;
  }
}

/* Holds back what was used of nodes that may yet turn out to be free; returns the rest. */
static uint64_t hold_young(struct hr_ledger *ledger, const struct hr_event *event, struct segment segment) {
  const struct book *book = &ledger->books[segment.pool.id];
  uint64_t rest_milli = 0;
  for (uint32_t i = 0; i < event->placement->n_slices; i++) {
    struct hr_slice slice = event->placement->slices[i];
    struct session *session = &book->sessions[slice.node.id - book->first_node];
    if (event->at_us - session->since_us <= book->free_us) {
      struct held use = {segment.from_us, event->at_us, segment.payer, slice.gpu_milli, 0};
      hold(ledger, session, use);
    } else {
      settle_held(ledger, segment.pool, session, true);
      rest_milli += slice.gpu_milli;
    }
  }
  return rest_milli;
}

/* ---- Jobs and nodes --------------------------------------------------------------------------------- */

static struct payer payer_of(const struct hr_ledger *ledger, hr_job job) {
  const struct hr_trace *trace = ledger->trace;
  return (struct payer){.job = job,
                        .tenant = trace->tenant ? trace->tenant[job.id] : HR_NONE,
                        .class_ = trace->class_ ? trace->class_[job.id] : HR_CLASS_UNKNOWN};
}

static enum hr_status grow_segments(struct hr_ledger *ledger) {
  struct segment *segments = hr__grown(ledger->segments, &ledger->segments_capacity, sizeof *segments);
  if (!segments) return HR_NO_MEMORY;
  ledger->segments = segments;
  return HR_OK;
}

static void begin_segment(struct hr_ledger *ledger, const struct hr_event *event) {
  uint64_t gpu_milli = hr_placement_milli(event->placement, ledger->trace, event->job);
  struct segment segment = {event->at_us, payer_of(ledger, event->job), event->placement->pool, (uint32_t)gpu_milli};
  if ((ledger->n_segments == ledger->segments_capacity && grow_segments(ledger) != HR_OK) ||
      !hr__job_map_put(&ledger->place_of, event->job.id, ledger->n_segments)) {
    ledger->status = HR_NO_MEMORY;
    return;
  }
  ledger->segments[ledger->n_segments++] = segment;
}

/* The last one takes the place of the one that goes. */
static struct segment take_segment(struct hr_ledger *ledger, hr_job job) {
  uint32_t place = hr__job_map_find(&ledger->place_of, job.id);
  if (place == HR_NONE) return (struct segment){.from_us = HR_NEVER_US}; /* it was lost for want of memory */
  struct segment segment = ledger->segments[place], last = ledger->segments[--ledger->n_segments];
  ledger->segments[place] = last;
  (void)hr__job_map_put(&ledger->place_of, last.payer.job.id, place); /* has a slot */
  hr__job_map_remove(&ledger->place_of, job.id);
  return segment;
}

static void end_segment(struct hr_ledger *ledger, const struct hr_event *event) {
  struct segment segment = take_segment(ledger, event->job);
  if (segment.from_us >= event->at_us) return;
  bool may_be_free = ledger->books[segment.pool.id].free_us > 0;
  uint64_t gpu_milli = may_be_free ? hold_young(ledger, event, segment) : segment.gpu_milli;
  charge_use(ledger, segment.payer, segment.pool, gpu_milli, segment.from_us, event->at_us);
}

/* What rounding and the minimum add is billed at the price that stands when the node goes. */
static void bill_session(struct book *book, int64_t since_us, int64_t to_us) {
  int64_t length_us = hr__billed_us(&book->spec->market.billing, to_us - since_us);
  hr_amount extra_us = length_us - (to_us - since_us);
  hr_amount price_sum = hr__price_sum_between(&book->prices, since_us, to_us);
  if (extra_us > 0) price_sum += extra_us * hr_market_price_at(&book->spec->market, to_us);
  book->account.cost += (hr_amount)book->node_milli * price_sum;
  book->account.gpu_time += (hr_amount)book->node_milli * length_us;
}

static void end_session(struct hr_ledger *ledger, hr_pool pool, struct session *session, int64_t to_us,
                        bool reclaimed) {
  struct book *book = &ledger->books[pool.id];
  bool is_free = reclaimed && book->free_us > 0 && to_us - session->since_us <= book->free_us;
  if (is_free)
    book->account.waived_time += (hr_amount)book->node_milli * (to_us - session->since_us);
  else
    bill_session(book, session->since_us, to_us);
  settle_held(ledger, pool, session, !is_free);
  session->since_us = HR_NEVER_US;
}

/* The session of the event's node; NULL where a node's coming and going costs nothing: pools that are not elastic are
   paid for by the window, whether their nodes are there or not. */
static struct session *session_of(const struct hr_ledger *ledger, const struct hr_event *event) {
  const struct book *book = &ledger->books[event->pool.id];
  return book->sessions ? &book->sessions[event->node.id - book->first_node] : NULL;
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr_ledger *ledger = self;
  struct session *session;
  (void)view;
  switch (event->kind) {
  case HR_EVENT_START:
    begin_segment(ledger, event);
    break;
  case HR_EVENT_END:
  case HR_EVENT_INTERRUPT:
  case HR_EVENT_PREEMPT:
    end_segment(ledger, event);
    break;
  case HR_EVENT_ACQUIRE:
    session = session_of(ledger, event);
    if (session) session->since_us = event->at_us;
    break;
  case HR_EVENT_RELEASE:
  case HR_EVENT_NODE_DOWN:
    session = session_of(ledger, event);
    if (session) end_session(ledger, event->pool, session, event->at_us, event->reason == HR_REASON_RECLAIMED);
    break;
  case HR_EVENT_SAVED:
  case HR_EVENT_NOTICE:
  case HR_EVENT_OFFER:
  case HR_EVENT_NODE_UP:
  case HR_EVENT_SUBMIT:
  case HR_EVENT_TIMER:
  case HR_EVENT_REJECT:
    break;
  }
}

struct hr_observer hr_ledger_observer(struct hr_ledger *ledger) {
  return (struct hr_observer){.self = ledger, .on_event = on_event};
}

/* ---- Beginning -------------------------------------------------------------------------------------- */

static enum hr_status open_book(struct book *book, const struct hr_pool_spec *spec, uint32_t first_node) {
  const struct hr_market_spec *market = &spec->market;
  book->spec = spec;
  book->first_node = first_node;
  book->node_milli = (uint64_t)spec->gpus_per_node * 1000;
  book->free_us = market->market == HR_MARKET_SPOT ? market->billing.free_if_reclaimed_us : 0;
  enum hr_status status = hr__price_sums_init(&book->prices, market);
  if (status != HR_OK || !hr_market_is_elastic(market->market)) return status;
  book->sessions = calloc((size_t)spec->nodes + 1, sizeof *book->sessions);
  if (!book->sessions) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < spec->nodes; i++) book->sessions[i].since_us = HR_NEVER_US;
  return HR_OK;
}

static enum hr_status open_books(struct hr_ledger *ledger, const struct hr_cluster_spec *cluster) {
  uint32_t first_node = 0;
  ledger->books = calloc((size_t)cluster->n_pools + 1, sizeof *ledger->books);
  if (!ledger->books) return HR_NO_MEMORY;
  ledger->n_books = cluster->n_pools;
  for (uint32_t i = 0; i < cluster->n_pools; first_node += cluster->pools[i++].nodes)
    if (open_book(&ledger->books[i], &cluster->pools[i], first_node) != HR_OK) return HR_NO_MEMORY;
  return HR_OK;
}

struct hr_ledger *hr_ledger_create(const struct hr_trace *trace, const struct hr_cluster_spec *cluster, bool by_job) {
  struct hr_ledger *ledger = calloc(1, sizeof *ledger);
  if (!ledger) return NULL;
  ledger->trace = trace;
  if (by_job) ledger->job_cost = calloc((size_t)trace->n_jobs + 1, sizeof *ledger->job_cost);
  if ((ledger->job_cost || !by_job) && open_books(ledger, cluster) == HR_OK) return ledger;
  hr_ledger_destroy(ledger);
  return NULL;
}

void hr_ledger_destroy(struct hr_ledger *ledger) {
  if (!ledger) return;
  for (uint32_t i = 0; i < ledger->n_books; i++) {
    hr__price_sums_finish(&ledger->books[i].prices);
    free(ledger->books[i].sessions);
  }
  free(ledger->books);
  free(ledger->segments);
  hr__job_map_finish(&ledger->place_of);
  free(ledger->job_cost);
  free(ledger->charges);
  free(ledger->slot);
  free(ledger->held);
  free(ledger);
}

/* ---- End -------------------------------------------------------------------------------------------- */

/* A pool that is always there, or reserved: all of its nodes for the time that was bought. */
static void bill_window(struct book *book, int64_t end_us) {
  const struct hr_market_spec *market = &book->spec->market;
  bool reserved = market->market == HR_MARKET_RESERVED;
  int64_t from_us = reserved ? market->from_us : 0;
  int64_t to_us = reserved && market->to_us != HR_NEVER_US ? market->to_us : end_us;
  if (to_us <= from_us) return;
  hr_amount pool_milli = (hr_amount)book->node_milli * book->spec->nodes;
  book->account.cost = pool_milli * hr__price_sum_between(&book->prices, from_us, to_us);
  book->account.gpu_time = pool_milli * (to_us - from_us);
}

static void close_book(struct hr_ledger *ledger, hr_pool pool, int64_t end_us) {
  struct book *book = &ledger->books[pool.id];
  if (!book->sessions) {
    bill_window(book, end_us);
    return;
  }
  for (uint32_t i = 0; i < book->spec->nodes; i++)
    if (book->sessions[i].since_us != HR_NEVER_US) end_session(ledger, pool, &book->sessions[i], end_us, false);
}

static void charge_running(struct hr_ledger *ledger, const struct hr_result *result) {
  for (uint32_t i = 0; i < ledger->n_segments; i++) {
    const struct segment *segment = &ledger->segments[i];
    charge_use(ledger, segment->payer, segment->pool, segment->gpu_milli, segment->from_us, result->end_us);
  }
}

static int compare_u32(uint32_t a, uint32_t b) {
  return (a > b) - (a < b);
}

static int compare_charges(const void *a, const void *b) {
  const struct hr_account *left = &((const struct hr_charge *)a)->account;
  const struct hr_account *right = &((const struct hr_charge *)b)->account;
  int order = compare_u32(left->pool, right->pool);
  if (!order) order = compare_u32(left->tenant, right->tenant);
  if (!order) order = compare_u32(left->class_, right->class_);
  return order ? order : compare_u32(left->month, right->month);
}

enum hr_status hr_ledger_close(struct hr_ledger *ledger, const struct hr_result *result) {
  for (uint32_t i = 0; i < ledger->n_books; i++) close_book(ledger, (hr_pool){i}, result->end_us);
  charge_running(ledger, result);
  for (uint32_t i = 0; i < ledger->n_books; i++) {
    struct book *book = &ledger->books[i];
    int64_t price_uusd_h = book->spec->market.on_demand_uusd_h;
    if (price_uusd_h != HR_UNKNOWN_UUSD_H) book->account.on_demand = book->account.used_time * price_uusd_h;
  }
  if (ledger->n_charges > 1) qsort(ledger->charges, ledger->n_charges, sizeof *ledger->charges, compare_charges);
  return ledger->status;
}

size_t hr_ledger_charges(const struct hr_ledger *ledger, const struct hr_charge **charges) {
  *charges = ledger->charges;
  return ledger->n_charges;
}

const struct hr_pool_account *hr_ledger_pool(const struct hr_ledger *ledger, hr_pool pool) {
  return &ledger->books[pool.id].account;
}

hr_amount hr_ledger_job(const struct hr_ledger *ledger, hr_job job) {
  return ledger->job_cost ? ledger->job_cost[job.id] : 0;
}
