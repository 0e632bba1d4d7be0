/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ledger of costs. It computes the cost of each pool and the charges of jobs independently. A pool costs money
 * while its nodes are billed. A job is charged while GPUs are allocated to it. The cost of the pools minus the charges
 * is the cost of idle capacity.
 *
 * An account is a combination of tenant, service, class, pool and month. Each account has one charge. All charges are
 * in one array. A hash table finds the charge of an account.
 *
 * Each node of an elastic pool has a session from its launch until it is released or goes down. Some providers do not
 * bill a node that is reclaimed within a certain time after its launch. In such pools, charges for the use of a node
 * are deferred until the node's session is longer than this time. The deferred uses of a session are a linked list. The
 * elements of all lists are in one array. Freed elements are reused.
 *
 * The ledger stores only the present attempt of each running job, and nothing for finished jobs. Its memory therefore
 * does not grow with the number of finished jobs, unless costs per job are requested.
 */

#include "base/containers.h"
#include "headroom/sim.h"
#include "headroom/unstable/services.h"
#include "sim/market/market.h"

#include <stdlib.h>

/* The job that uses capacity, and the tenant, service and job class that are charged for the use. */
struct payer {
  hr_job job;
  uint32_t tenant, service; /* HR_NONE: none */
  uint8_t class_;
};

/* The present attempt of a running job. The ledger charges the attempt when it ends. Attempts that continue until the
   end of the run have no event for their end. They are charged when the ledger is closed. */
struct segment {
  int64_t from_us;
  struct payer payer;
  hr_pool pool;
  uint32_t gpu_milli;
};

/* A deferred use: a use of a node by a job that may be charged later. */
struct held_use {
  int64_t from_us, to_us;
  struct payer payer;
  uint32_t gpu_milli;
  uint32_t next; /* index of the next use in the list + 1; 0 at the end of the list */
};

/* The session of a node of an elastic pool. */
struct session {
  int64_t since_us; /* the time of its launch; HR_NEVER_US while the node is off */
  uint32_t held;    /* index of the first deferred use + 1; 0: none */
};

/* The costs of a pool. */
struct book {
  const struct hr_pool_spec *spec;
  struct hr__price_sums prices;
  struct hr_pool_account account;
  uint64_t node_milli; /* the milli-GPUs of a node */
  uint32_t first_node;
  int64_t
      free_us; /* a node that is reclaimed within this time after its launch is not billed; 0: all nodes are billed */
  struct session *sessions; /* by node of the pool; NULL unless the pool is elastic */
};

struct hr_ledger {
  const struct hr_trace *trace;
  const struct hr_fleet *fleet; /* NULL: no services */
  struct book *books;           /* by pool */
  uint32_t n_books;
  struct segment *segments; /* the attempts of running jobs, in no particular order */
  uint32_t n_segments, segments_capacity;
  struct hr__hash segment_numbers; /* maps a job to its index in `segments` */
  hr_amount *job_cost;             /* by job; NULL unless costs per job are requested */
  struct hr_charge *charges;
  uint32_t n_charges, charges_capacity;
  struct hr__hash charge_numbers; /* maps an account to its index in `charges` */
  struct held_use *held_uses;
  /* unused_held: index of the first freed element of `held_uses` + 1; 0: none */
  uint32_t n_held_uses, held_capacity, unused_held;
  enum hr_status status; /* the result of hr_ledger_close: not HR_OK after an error */
};

/* ---- Amounts ---- */

/* The maximum of each amount, about 4.6 trillion dollars. Sums of a few such amounts, and products with small numbers,
   are far below the limits of hr_amount. */
#define MAX_AMOUNT (((hr_amount)1 << 62) * HR_LEDGER_UNITS_PER_UUSD)
/* The number of milli-GPUs is less than 2^42 (HR_MAX_GPUS). Its product with a factor below 2^84 is less than 2^126. */
enum { FACTOR_BITS = 84 };

/* Returns the amount. If it exceeds MAX_AMOUNT, returns MAX_AMOUNT, and the ledger fails with HR_BAD_INPUT. */
static hr_amount bounded(struct hr_ledger *ledger, hr_amount amount) {
  if (amount <= MAX_AMOUNT) return amount;
  ledger->status = HR_BAD_INPUT;
  return MAX_AMOUNT;
}

/* Returns milli * factor. `milli`: milli-GPUs, or milli-GPUs * microseconds. `factor`: a price, or the integral of a
   price over time. If the product exceeds MAX_AMOUNT, returns MAX_AMOUNT, and the ledger fails with HR_BAD_INPUT. */
static hr_amount product(struct hr_ledger *ledger, hr_amount milli, hr_amount factor) {
  bool is_small = milli >> (126 - FACTOR_BITS) == 0 && factor >> FACTOR_BITS <= 0;
  hr_amount amount;
  if (!is_small && __builtin_mul_overflow(milli, factor, &amount)) return bounded(ledger, MAX_AMOUNT + 1);
  return bounded(ledger, milli * factor);
}

static void add(struct hr_ledger *ledger, hr_amount *sum, hr_amount amount) {
  *sum = bounded(ledger, *sum + amount);
}

/* ---- Charges ---- */

static uint32_t hash_account(const struct hr_account *account) {
  uint64_t digest = hr__digest_add(HR__DIGEST_SEED, (uint64_t)account->tenant << 32 | account->month);
  digest = hr__digest_add(digest, account->service);
  return (uint32_t)hr__digest_add(digest, (uint64_t)account->pool << 8 | account->class_);
}

static bool is_same_account(const struct hr_account *a, const struct hr_account *b) {
  return a->tenant == b->tenant && a->month == b->month && a->pool == b->pool && a->class_ == b->class_ &&
         a->service == b->service;
}

/* Returns the charge of an account. If the account has no charge yet, adds an empty charge. Returns NULL if memory is
   exhausted. */
static struct hr_charge *charge_of(struct hr_ledger *ledger, const struct hr_account *account) {
  struct hr__hash_cursor at;
  uint32_t hash = hash_account(account), i = hr__hash_first(&ledger->charge_numbers, hash, &at);
  while (i != HR_NONE && !is_same_account(&ledger->charges[i].account, account))
    i = hr__hash_next(&ledger->charge_numbers, &at);
  if (i != HR_NONE) return &ledger->charges[i];
  if (!HR__ARRAY_HAS_ROOM(ledger->charges, ledger->n_charges, ledger->charges_capacity) ||
      !hr__hash_add(&ledger->charge_numbers, NULL, hash, ledger->n_charges)) {
    ledger->status = HR_NO_MEMORY;
    return NULL;
  }
  ledger->charges[ledger->n_charges] = (struct hr_charge){.account = *account};
  return &ledger->charges[ledger->n_charges++];
}

/* Charges a use of capacity that begins and ends in the same month. */
static void charge_month(struct hr_ledger *ledger, struct payer payer, hr_pool pool, uint64_t gpu_milli,
                         int64_t from_us, int64_t to_us) {
  struct hr_account account = {.tenant = payer.tenant,
                               .class_ = payer.class_,
                               .pool = pool.id,
                               .month = (uint32_t)(from_us / HR_MONTH_US),
                               .service = payer.service};
  struct hr_charge *charge = charge_of(ledger, &account);
  if (!charge) return;
  struct book *book = &ledger->books[pool.id];
  hr_amount gpu_time = (hr_amount)gpu_milli * (to_us - from_us);
  hr_amount amount = product(ledger, gpu_milli, hr__price_sum_between(&book->prices, from_us, to_us));
  add(ledger, &charge->amount, amount);
  charge->gpu_time += gpu_time;
  add(ledger, &book->account.used, amount);
  book->account.used_time += gpu_time;
  if (ledger->job_cost) add(ledger, &ledger->job_cost[payer.job.id], amount);
}

/* Charges a use of capacity. A use in several months is divided into one part for each month. */
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

/* ---- Deferred charges ---- */

/* Adds a deferred use to a session. */
static void hold_back(struct hr_ledger *ledger, struct session *session, struct held_use use) {
  uint32_t place = ledger->unused_held;
  if (place) {
    ledger->unused_held = ledger->held_uses[place - 1].next;
  } else {
    if (!HR__ARRAY_HAS_ROOM(ledger->held_uses, ledger->n_held_uses, ledger->held_capacity)) {
      ledger->status = HR_NO_MEMORY;
      return;
    }
    place = ++ledger->n_held_uses;
  }
  use.next = session->held;
  ledger->held_uses[place - 1] = use;
  session->held = place;
}

/* Removes all deferred uses of a session. `charged`: also charges them. */
static void settle_held(struct hr_ledger *ledger, hr_pool pool, struct session *session, bool charged) {
  while (session->held) {
    uint32_t place = session->held;
    struct held_use *use = &ledger->held_uses[place - 1];
    if (charged) charge_use(ledger, use->payer, pool, use->gpu_milli, use->from_us, use->to_us);
    session->held = use->next;
    use->next = ledger->unused_held;
    ledger->unused_held = place;
  }
}

/* Handles the end of a segment in a pool that does not bill nodes which are reclaimed early. A node is young if its
   session is not longer than free_us, so that the provider does not bill it if it reclaims it now. The use of young
   nodes is deferred. For all other nodes of the placement, earlier deferred uses are charged. Returns how many
   milli-GPUs the job had on these other nodes. The caller charges these milli-GPUs. */
static uint64_t hold_young(struct hr_ledger *ledger, const struct hr_event *event, struct segment segment) {
  const struct book *book = &ledger->books[segment.pool.id];
  uint64_t rest_milli = 0;
  for (uint32_t i = 0; i < event->placement->n_slices; i++) {
    struct hr_slice slice = event->placement->slices[i];
    struct session *session = &book->sessions[slice.node.id - book->first_node];
    if (event->at_us - session->since_us <= book->free_us) {
      struct held_use use = {segment.from_us, event->at_us, segment.payer, slice.gpu_milli, 0};
      hold_back(ledger, session, use);
    } else {
      settle_held(ledger, segment.pool, session, true);
      rest_milli += slice.gpu_milli;
    }
  }
  return rest_milli;
}

/* ---- Jobs and nodes ---- */

static struct payer payer_of(const struct hr_ledger *ledger, hr_job job) {
  const struct hr_trace *trace = ledger->trace;
  return (struct payer){.job = job,
                        .tenant = trace->tenant ? trace->tenant[job.id] : HR_NONE,
                        .service = ledger->fleet ? hr_fleet_service_of(ledger->fleet, job) : HR_NONE,
                        .class_ = trace->class_ ? trace->class_[job.id] : HR_CLASS_UNKNOWN};
}

static void begin_segment(struct hr_ledger *ledger, const struct hr_event *event) {
  uint64_t gpu_milli = hr_placement_milli(event->placement, ledger->trace, event->job);
  struct segment segment = {event->at_us, payer_of(ledger, event->job), event->placement->pool, (uint32_t)gpu_milli};
  if (!HR__ARRAY_HAS_ROOM(ledger->segments, ledger->n_segments, ledger->segments_capacity) ||
      !hr__hash_add(&ledger->segment_numbers, NULL, hr__hash_u32(event->job.id), ledger->n_segments)) {
    ledger->status = HR_NO_MEMORY;
    return;
  }
  ledger->segments[ledger->n_segments++] = segment;
}

/* Removes the segment of a job from the array and returns the segment. The last segment of the array moves to the free
   place. If the job has no segment, the result has from_us = HR_NEVER_US. */
static struct segment take_segment(struct hr_ledger *ledger, hr_job job) {
  struct hr__hash_cursor at, last_at;
  uint32_t place = hr__hash_first(&ledger->segment_numbers, hr__hash_u32(job.id), &at);
  /* no segment was stored, because memory was exhausted when the attempt began */
  if (place == HR_NONE) return (struct segment){.from_us = HR_NEVER_US};
  struct segment segment = ledger->segments[place], last = ledger->segments[--ledger->n_segments];
  ledger->segments[place] = last;
  (void)hr__hash_first(&ledger->segment_numbers, hr__hash_u32(last.payer.job.id), &last_at);
  hr__hash_set(&ledger->segment_numbers, last_at, place);
  hr__hash_remove(&ledger->segment_numbers, at);
  return segment;
}

static void end_segment(struct hr_ledger *ledger, const struct hr_event *event) {
  struct segment segment = take_segment(ledger, event->job);
  if (segment.from_us >= event->at_us) return;
  bool may_be_free = ledger->books[segment.pool.id].free_us > 0;
  uint64_t gpu_milli = may_be_free ? hold_young(ledger, event, segment) : segment.gpu_milli;
  charge_use(ledger, segment.payer, segment.pool, gpu_milli, segment.from_us, event->at_us);
}

/* Bills a session. The billed time is rounded up and has a minimum, so it can be longer than the session. The price of
   the additional time is the price at the end of the session. */
static void bill_session(struct hr_ledger *ledger, struct book *book, int64_t since_us, int64_t to_us) {
  int64_t length_us = hr__billed_us(&book->spec->market.billing, to_us - since_us);
  hr_amount extra_us = length_us - (to_us - since_us);
  hr_amount price_sum = hr__price_sum_between(&book->prices, since_us, to_us);
  if (extra_us > 0) price_sum += extra_us * hr_market_price_at(&book->spec->market, to_us);
  add(ledger, &book->account.cost, product(ledger, book->node_milli, price_sum));
  book->account.gpu_time += (hr_amount)book->node_milli * length_us;
}

/* Ends a session: bills the session and charges its deferred uses. Does neither if the node was reclaimed so early that
   it is not billed. */
static void end_session(struct hr_ledger *ledger, hr_pool pool, struct session *session, int64_t to_us,
                        bool reclaimed) {
  struct book *book = &ledger->books[pool.id];
  bool is_free = reclaimed && book->free_us > 0 && to_us - session->since_us <= book->free_us;
  if (is_free)
    book->account.waived_time += (hr_amount)book->node_milli * (to_us - session->since_us);
  else
    bill_session(ledger, book, session->since_us, to_us);
  settle_held(ledger, pool, session, !is_free);
  session->since_us = HR_NEVER_US;
}

/* Returns the session of the event's node. Returns NULL if the pool is not elastic. Such pools are billed for a fixed
   time, so the states of their nodes have no effect. */
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
  case HR_EVENT_WITHDRAW:
  case HR_EVENT_RESIZE:
    break;
  }
}

struct hr_observer hr_ledger_observer(struct hr_ledger *ledger) {
  return (struct hr_observer){.self = ledger, .on_event = on_event};
}

/* ---- Creation ---- */

static enum hr_status open_book(struct book *book, const struct hr_pool_spec *spec, uint32_t first_node) {
  const struct hr_market_spec *market = &spec->market;
  book->spec = spec;
  book->first_node = first_node;
  book->node_milli = (uint64_t)spec->gpus_per_node * 1000;
  book->free_us = market->market == HR_MARKET_SPOT ? market->billing.free_if_reclaimed_us : 0;
  enum hr_status status = hr__price_sums_init(&book->prices, market);
  if (status != HR_OK || !hr_market_is_elastic(market->market)) return status;
  if (!HR__ARRAY_MAKE(book->sessions, spec->nodes)) return HR_NO_MEMORY;
  for (uint32_t i = 0; i < spec->nodes; i++) book->sessions[i].since_us = HR_NEVER_US;
  return HR_OK;
}

static enum hr_status open_books(struct hr_ledger *ledger, const struct hr_cluster_spec *cluster) {
  uint32_t first_node = 0;
  if (!HR__ARRAY_MAKE(ledger->books, cluster->n_pools)) return HR_NO_MEMORY;
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

void hr_ledger_set_fleet(struct hr_ledger *ledger, const struct hr_fleet *fleet) {
  ledger->fleet = fleet;
}

void hr_ledger_destroy(struct hr_ledger *ledger) {
  if (!ledger) return;
  for (uint32_t i = 0; i < ledger->n_books; i++) {
    hr__price_sums_finish(&ledger->books[i].prices);
    free(ledger->books[i].sessions);
  }
  free(ledger->books);
  free(ledger->segments);
  hr__hash_finish(&ledger->segment_numbers);
  free(ledger->job_cost);
  free(ledger->charges);
  hr__hash_finish(&ledger->charge_numbers);
  free(ledger->held_uses);
  free(ledger);
}

/* ---- Results ---- */

/* Bills a pool that is not elastic. All its nodes are billed from market.from_us. A reserved pool with an end is billed
   until market.to_us. All other pools are billed until the end of the run. */
static void bill_window(struct hr_ledger *ledger, struct book *book, int64_t end_us) {
  const struct hr_market_spec *market = &book->spec->market;
  bool reserved = market->market == HR_MARKET_RESERVED;
  int64_t from_us = market->from_us;
  int64_t to_us = reserved && market->to_us != HR_NEVER_US ? market->to_us : end_us;
  if (to_us <= from_us) return;
  hr_amount pool_milli = (hr_amount)book->node_milli * book->spec->nodes;
  book->account.cost = product(ledger, pool_milli, hr__price_sum_between(&book->prices, from_us, to_us));
  book->account.gpu_time = pool_milli * (to_us - from_us);
}

static void close_book(struct hr_ledger *ledger, hr_pool pool, int64_t end_us) {
  struct book *book = &ledger->books[pool.id];
  if (!book->sessions) {
    bill_window(ledger, book, end_us);
    return;
  }
  for (uint32_t i = 0; i < book->spec->nodes; i++)
    if (book->sessions[i].since_us != HR_NEVER_US) end_session(ledger, pool, &book->sessions[i], end_us, false);
}

/* Charges the attempts of jobs that run at the end of the run. */
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
  if (!order) order = compare_u32(left->service, right->service);
  return order ? order : compare_u32(left->month, right->month);
}

enum hr_status hr_ledger_close(struct hr_ledger *ledger, const struct hr_result *result) {
  for (uint32_t i = 0; i < ledger->n_books; i++) close_book(ledger, (hr_pool){i}, result->end_us);
  charge_running(ledger, result);
  for (uint32_t i = 0; i < ledger->n_books; i++) {
    struct book *book = &ledger->books[i];
    int64_t price_uusd_h = book->spec->market.on_demand_uusd_h;
    if (price_uusd_h != HR_UNKNOWN_UUSD_H)
      book->account.on_demand = product(ledger, book->account.used_time, price_uusd_h);
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
