/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The cheapest itinerary that meets the deadline of one job, given the recorded spot capacity. Its cost is a lower
 * bound for rules that do not know the future.
 *
 * Method: dynamic programming over (time, time spent without work, place), where a place is a pool or the state without
 * nodes. The step of the time grid is the greatest common divisor of all relevant times (steps of the records,
 * change-over time, work, time to the deadline, tick), so no time is rounded. A job that changes to a pool pays for the
 * pool during the change-over time and does not work in that time. Spot capacity can be acquired only if it remains
 * available for the change-over time, and for longer than the notice of the pool. Assumptions: the job loses no work
 * when it changes nodes, and no other job uses the nodes.
 *
 * With ticks, the job acquires and releases nodes at ticks only, unless spot capacity is reclaimed. The search begins
 * at the first tick and ends at the last tick that is not after the deadline, as that of Wu et al. (NSDI'24). A job
 * without remaining work keeps its nodes until the next tick.
 */

#include "policies/deadline/deadline.h"

#include <stdlib.h>
#include <string.h>

/* Maximum number of cells (time x time without work x place) to search. The limit corresponds to a few seconds and a
   few hundred megabytes. */
#define MAX_CELLS UINT64_C(600000000)

enum { MAX_PLACES = 30 }; /* a place is stored in five bits */
#define UNREACHED INT64_MAX

/* Place 0 is the state without nodes; places from 1 on are the pools that the job may use. */
struct omniscient_search {
  const struct hr__deadline *deadline;
  hr_job job;
  int64_t from_us, work_us, change_us; /* as in hr__itinerary_make; from_us: a tick */
  int64_t end_us;                      /* the deadline, or the tick at or before it */
  int64_t grid_us;
  uint32_t n_times, n_work, n_change; /* in grid steps */
  uint32_t n_tick;                    /* grid steps between ticks; 1 without ticks */
  /* by place: spot capacity can be acquired only if it remains available for at least this number of steps; 0 for
     on-demand */
  uint32_t n_notice[MAX_PLACES];
  /* number of grid steps that the job can spend without work and still meet the deadline, plus one */
  uint32_t n_spent;
  uint32_t n_places, pool[MAX_PLACES];
  bool *available; /* [place][time]: all nodes that the job needs are available during the step */
  int64_t *price;  /* [place][time]: price of the step, in micro-dollars */
  /* [time modulo (n_change + 2)][place][spent]: minimum cost of a path to the cell; UNREACHED: no path */
  int64_t *cost;
  /* [time][place][spent]: previous place of the cheapest path to the cell, plus STEP if the last move took time */
  uint8_t *choice;
};

/* ---- The grid ------------------------------------------------------------------------------------- */

static int64_t gcd(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

static int64_t min_i64(int64_t a, uint64_t b) {
  return (uint64_t)a < b ? a : (int64_t)b;
}

static const struct hr_pool_spec *spec_at(const struct omniscient_search *search, uint32_t place) {
  return hr__deadline_spec(search->deadline, search->pool[place]);
}

/* Calls `visit` for each change of the pool's capacity before the end, in order of time. A change before the start is
   passed with the time of the start, so the last of these calls has the capacity at the start. */
static void read_steps(struct omniscient_search *search, uint32_t place,
                       void (*visit)(struct omniscient_search *, uint32_t, int64_t, uint32_t)) {
  const struct hr_pool_spec *spec = spec_at(search, place);
  const struct hr_spot_spec *spot = &spec->market.spot;
  if (spec->market.market != HR_MARKET_SPOT || spot->model == HR_SPOT_NONE) {
    visit(search, place, search->from_us, spec->nodes);
    return;
  }
  int64_t origin_us = spot->offset_us % spot->period_us;
  for (int64_t round = 0;; round++)
    for (uint32_t i = 0; i < spot->n_levels; i++) {
      int64_t at_us = round * spot->period_us + spot->levels[i].at_us - origin_us;
      if (at_us >= search->end_us) return;
      visit(search, place, at_us > search->from_us ? at_us : search->from_us, spot->levels[i].level);
    }
}

/* Reduces the grid step so that it divides the time of the change. */
static void measure_step(struct omniscient_search *search, uint32_t place, int64_t at_us, uint32_t level) {
  (void)place, (void)level;
  search->grid_us = gcd(search->grid_us, at_us - search->from_us);
}

/* Sets the availability from `at_us` to the end. The next change of the capacity overwrites the part after it. */
static void mark_step(struct omniscient_search *search, uint32_t place, int64_t at_us, uint32_t level) {
  bool available = level >= hr__deadline_nodes(search->deadline, search->job, search->pool[place]);
  bool *row = search->available + (size_t)place * search->n_times;
  uint32_t from = (uint32_t)((at_us - search->from_us) / search->grid_us);
  memset(row + from, available, (search->n_times - from) * sizeof *row);
}

/* Lists the pools that the job may use. HR_BAD_INPUT if a spot pool has no record. */
static enum hr_status list_places(struct omniscient_search *search) {
  uint32_t accept_class = hr_cluster_accept_class(search->deadline->cluster, search->job);
  search->n_places = 1;
  for (uint32_t i = 0; i < hr_cluster_pools(search->deadline->cluster); i++) {
    const struct hr_pool_spec *spec = hr__deadline_spec(search->deadline, i);
    if (!hr_market_is_elastic(spec->market.market) ||
        !hr_cluster_accepts(search->deadline->cluster, accept_class, (hr_pool){i}))
      continue;
    bool known = spec->market.market != HR_MARKET_SPOT || spec->market.spot.model == HR_SPOT_TRACE ||
                 spec->market.spot.model == HR_SPOT_NONE;
    if (!known)
      return hr_fail(search->deadline->error, HR_BAD_INPUT,
                     "rule 'omniscient' needs recorded spot capacity: pool '%s' has spot model '%s', expected 'trace'",
                     spec->name, hr_spot_model_name(spec->market.spot.model));
    if (search->n_places == MAX_PLACES)
      return hr_fail(search->deadline->error, HR_BAD_INPUT, "rule 'omniscient' supports at most %d pools",
                     MAX_PLACES - 1);
    search->pool[search->n_places++] = i;
  }
  return HR_OK;
}

/* Computes the grid and all times in grid steps. HR_BAD_INPUT if the search would be too large. */
static enum hr_status make_grid(struct omniscient_search *search) {
  search->grid_us = gcd(gcd(search->work_us, search->end_us - search->from_us), search->change_us);
  search->grid_us = gcd(search->grid_us, search->deadline->tick_us);
  for (uint32_t place = 1; place < search->n_places; place++) read_steps(search, place, measure_step);
  uint64_t n_times = (uint64_t)((search->end_us - search->from_us) / search->grid_us);
  uint64_t n_work = (uint64_t)(search->work_us / search->grid_us), n_spent = n_times - n_work + 1;
  if (n_times > MAX_CELLS || n_times * n_spent * search->n_places > MAX_CELLS)
    return hr_fail(
        search->deadline->error, HR_BAD_INPUT,
        "rule 'omniscient' needs times with a coarse common divisor: work, deadline, change-over time and the steps "
        "of "
        "the record share only %lld us, which makes too many cases; round them, for example to whole minutes",
        (long long)search->grid_us);
  search->n_times = (uint32_t)n_times;
  search->n_tick = search->deadline->tick_us > 0 ? (uint32_t)(search->deadline->tick_us / search->grid_us) : 1;
  search->n_work = (uint32_t)n_work;
  search->n_spent = (uint32_t)n_spent;
  search->n_change = (uint32_t)(search->change_us / search->grid_us);
  for (uint32_t place = 1; place < search->n_places; place++) {
    const struct hr_market_spec *market = &spec_at(search, place)->market;
    bool is_spot = market->market == HR_MARKET_SPOT;
    search->n_notice[place] = is_spot ? (uint32_t)min_i64(market->spot.notice_us / search->grid_us, n_times) + 1 : 0;
  }
  return HR_OK;
}

/* ---- Search --------------------------------------------------------------------------------------- */

static enum hr_status make_tables(struct omniscient_search *search) {
  size_t places = search->n_places, times = search->n_times, spent = search->n_spent;
  search->available = calloc(places * times + 1, sizeof *search->available);
  search->price = calloc(places * times + 1, sizeof *search->price);
  search->cost = malloc((search->n_change + 2) * places * spent * sizeof *search->cost);
  search->choice = malloc((times + 1) * places * spent * sizeof *search->choice);
  if (!search->available || !search->price || !search->cost || !search->choice) return HR_NO_MEMORY;
  for (uint32_t place = 1; place < search->n_places; place++) {
    read_steps(search, place, mark_step);
    hr_amount nodes = hr__deadline_nodes(search->deadline, search->job, search->pool[place]),
              gpus = nodes * spec_at(search, place)->gpus_per_node;
    for (uint32_t at = 0; at < search->n_times; at++) {
      int64_t begin_us = search->from_us + at * search->grid_us;
      hr_amount sum = hr_market_price_sum(&spec_at(search, place)->market, begin_us + search->grid_us) -
                      hr_market_price_sum(&spec_at(search, place)->market, begin_us);
      search->price[(size_t)place * times + at] = (int64_t)(sum * gpus / HR_SECOND_US);
    }
  }
  return HR_OK;
}

static int64_t *costs_at(const struct omniscient_search *search, uint32_t time, uint32_t place) {
  size_t ring = time % (search->n_change + 2);
  return search->cost + (ring * search->n_places + place) * search->n_spent;
}

static uint8_t *choices_at(const struct omniscient_search *search, uint32_t time, uint32_t place) {
  return search->choice + ((size_t)time * search->n_places + place) * search->n_spent;
}

/* flags in `choice`. STEP: the path reached the cell by a move that takes time. A release of nodes takes no time, nor
   does a change to a pool if the change-over time is 0. KEEP: the job did not work in this time, although it had
   nodes */
enum { STEP = 32, KEEP = 64 };

static void clear_costs(const struct omniscient_search *search, uint32_t time) {
  int64_t *cost = costs_at(search, time, 0);
  for (size_t i = 0; i < (size_t)search->n_places * search->n_spent; i++) cost[i] = UNREACHED;
}

/* Stores a path to a cell if it is cheaper than the cheapest known path to the cell. */
static void reach(const struct omniscient_search *search, uint32_t time, uint32_t place, uint32_t spent, int64_t cost,
                  uint8_t choice) {
  int64_t *known = &costs_at(search, time, place)[spent];
  if (cost >= *known) return;
  *known = cost;
  choices_at(search, time, place)[spent] = choice;
}

/* Extends all paths that are at the place, and that have remaining work, by one step of work. With ticks, also extends
   the path at the place that has no remaining work by one step. */
static void work_at(const struct omniscient_search *search, uint32_t time, uint32_t place) {
  const int64_t *cost = costs_at(search, time, place);
  if (!search->available[(size_t)place * search->n_times + time]) return;
  int64_t price = search->price[(size_t)place * search->n_times + time];
  if (search->n_tick > 1 && time >= search->n_work) {
    uint32_t spent = time - search->n_work;
    if (spent + 1 < search->n_spent && cost[spent] != UNREACHED)
      reach(search, time + 1, place, spent + 1, cost[spent] + price, (uint8_t)(KEEP | STEP | place));
  }
  uint32_t from = time >= search->n_work ? time - search->n_work + 1 : 0;
  for (uint32_t spent = from; spent < search->n_spent; spent++)
    if (cost[spent] != UNREACHED) reach(search, time + 1, place, spent, cost[spent] + price, (uint8_t)(STEP | place));
}

/* Extends all paths that are at place 0 (no nodes) by one step of waiting. */
static void wait_nowhere(const struct omniscient_search *search, uint32_t time) {
  const int64_t *cost = costs_at(search, time, 0);
  for (uint32_t spent = 0; spent + 1 < search->n_spent; spent++)
    if (cost[spent] != UNREACHED) reach(search, time + 1, 0, spent + 1, cost[spent], STEP);
}

/* Extends all paths that are at the place by the release of the nodes, which costs nothing and takes no time. Between
   ticks, only capacity that is not available any more is released. */
static void leave(const struct omniscient_search *search, uint32_t time, uint32_t place) {
  const int64_t *cost = costs_at(search, time, place);
  if (time % search->n_tick && search->available[(size_t)place * search->n_times + time]) return;
  for (uint32_t spent = 0; spent < search->n_spent; spent++)
    if (cost[spent] != UNREACHED) reach(search, time, 0, spent, cost[spent], (uint8_t)place);
}

/* Extends all paths that are at place 0 (no nodes) by a change to the place. The job pays for the change-over time, but
   does no work in that time. */
static void change_to(const struct omniscient_search *search, uint32_t time, uint32_t place) {
  const int64_t *cost = costs_at(search, time, 0);
  const bool *available = search->available + (size_t)place * search->n_times;
  int64_t price = 0;
  if (time % search->n_tick || time + search->n_change >= search->n_times || !available[time]) return;
  for (uint32_t at = time; at < time + search->n_notice[place] && at < search->n_times; at++)
    if (!available[at]) return;
  for (uint32_t at = time; at < time + search->n_change; at++) {
    if (!available[at]) return;
    price += search->price[(size_t)place * search->n_times + at];
  }
  for (uint32_t spent = 0; spent + search->n_change < search->n_spent; spent++)
    if (cost[spent] != UNREACHED)
      reach(search, time + search->n_change, place, spent + search->n_change, cost[spent] + price,
            search->n_change ? STEP : 0);
}

/* Extends all paths, in order of time. A path ends at the end of the search, without nodes. */
static void search_all(const struct omniscient_search *search) {
  for (uint32_t time = 0; time <= search->n_change + 1; time++) clear_costs(search, time);
  costs_at(search, 0, 0)[0] = 0;
  for (uint32_t time = 0;; time++) {
    for (uint32_t place = 1; place < search->n_places; place++) leave(search, time, place);
    if (time == search->n_times) return;
    for (uint32_t place = 1; place < search->n_places; place++) change_to(search, time, place);
    for (uint32_t place = 1; place < search->n_places; place++) work_at(search, time, place);
    wait_nowhere(search, time);
    /* the table has the costs of n_change + 2 times, so this entry belongs to `time`, and it is not needed any more */
    clear_costs(search, time + search->n_change + 2);
  }
}

/* ---- Itinerary ------------------------------------------------------------------------------------ */

/* Writes the steps of the itinerary in reverse order of time, unless `steps` is NULL. Returns the number of steps. */
static uint32_t trace_back(const struct omniscient_search *search, struct hr__itinerary_step *steps) {
  uint32_t time = search->n_times, place = 0, spent = search->n_spent - 1, count = 0;
  while (time > 0 || place > 0) {
    uint8_t choice = choices_at(search, time, place)[spent];
    uint32_t before = choice & (STEP - 1u);
    if (before == place) { /* a grid step without a change of place */
      time--;
      spent -= place == 0 || choice & KEEP;
    } else if (place > 0) { /* a change to a pool: the step of the itinerary begins when the change begins */
      time -= search->n_change;
      spent -= search->n_change;
      if (steps)
        steps[count] = (struct hr__itinerary_step){search->from_us + time * search->grid_us, search->pool[place]};
      count++;
    } else { /* a release of the nodes */
      if (steps) steps[count] = (struct hr__itinerary_step){search->from_us + time * search->grid_us, HR_NONE};
      count++;
    }
    place = before;
  }
  return count;
}

static enum hr_status write_itinerary(const struct omniscient_search *search, struct hr__itinerary *itinerary) {
  if (costs_at(search, search->n_times, 0)[search->n_spent - 1] == UNREACHED) return HR_OK;
  uint32_t count = trace_back(search, NULL);
  struct hr__itinerary_step *steps = hr_arena_alloc(search->deadline->arena, (count + 1) * sizeof *steps);
  if (!steps) return HR_NO_MEMORY;
  trace_back(search, steps);
  for (uint32_t i = 0; i < count / 2; i++) {
    struct hr__itinerary_step swapped = steps[i];
    steps[i] = steps[count - 1 - i];
    steps[count - 1 - i] = swapped;
  }
  *itinerary = (struct hr__itinerary){steps, count};
  return HR_OK;
}

enum hr_status hr__itinerary_make(const struct hr__deadline *self, hr_job job, int64_t from_us,
                                  struct hr__itinerary *itinerary) {
  int64_t deadline_us = self->trace->deadline_us[job.id], tick_us = self->tick_us;
  struct omniscient_search search = {.deadline = self,
                                     .job = job,
                                     .from_us = hr__deadline_tick_us(self, from_us),
                                     .end_us = tick_us > 0 ? deadline_us / tick_us * tick_us : deadline_us,
                                     .work_us = self->trace->work_us[job.id],
                                     .change_us = self->changeover_us};
  *itinerary = (struct hr__itinerary){0};
  if (search.work_us <= 0 || search.end_us - search.from_us < search.work_us) return HR_OK;
  enum hr_status status = list_places(&search);
  if (status == HR_OK) status = make_grid(&search);
  if (status == HR_OK) status = make_tables(&search);
  if (status == HR_OK) {
    search_all(&search);
    status = write_itinerary(&search, itinerary);
  }
  free(search.available);
  free(search.price);
  free(search.cost);
  free(search.choice);
  return status;
}
