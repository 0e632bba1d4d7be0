/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cost of ownership: the pools of each option, the runs, the years of an option, and the results.
 *
 * Each option is the scenario with nodes only in the pools of the option. All options are run with the same jobs and
 * the same random events. If the demand grows or falls, each year is run with its jobs and its nodes: jobs of the trace
 * are repeated or left out at random, as in replications with a `growth`. The replications of an option give the
 * intervals of its availability, ETTR and utilization, and of all figures that depend on these. An option without
 * random events is run once.
 *
 * The years of an option follow from the use of its pools in a run of each year: costs, net present values and
 * break-even points. A year has 8,760 hours. The demand of the first year is that of the trace; each year it is
 * multiplied by the growth. The nodes of all pools grow in the same proportion, in whole nodes. A purchase is made at
 * the start of a year, replaced at the start of the first year in which its age is at least its life, and sold for its
 * residual value. At the end of the last year, everything is sold at its value at that time; values fall linearly from
 * the price to the residual value. All other costs are paid at the end of their year:
 *
 *   NPV = sum over years y = 0, 1, ... of bought(y) / (1 + i)^y + (running(y) - sold(y)) / (1 + i)^(y + 1)
 *
 * Costs per hour use amortized purchases. With availability A, utilization U and ETTR E, useful GPU hours are capacity
 * x A x U x E, where U is GPU hours held / available GPU hours, and E is useful GPU hours / GPU hours held.
 */

#include "plan/tco/tco.h"

#include "base/threads.h"
#include "headroom/unstable/compare.h"
#include "headroom/unstable/scenario_files.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Years of an option ----------------------------------------------------------------------------- */

#define MAX_TOTAL_USD 1e12
#define MACRS_YEARS 6

/* ---- Years of an option: amounts -------------------------------------------------------------------- */

static int64_t rounded(struct hr__tco_path *path, double usd) {
  if (fabs(usd) <= MAX_TOTAL_USD) return (int64_t)llround(usd * 1e6);
  path->too_large = true;
  return 0;
}

static void add(struct hr__tco_path *path, uint32_t year, enum hr_cost_part part, double usd) {
  path->uusd[year][part] += rounded(path, usd);
}

/* ---- Years of an option: purchases and contracts ---------------------------------------------------- */

/* The number of units that are in use, by the year in which they were bought. Units are used for `life` years. */
struct cohorts {
  double units[HR_MAX_TCO_YEARS];
  uint32_t life;
};

static uint32_t whole_years(double life_years) {
  double years = ceil(life_years - 1e-9);
  return years < 1 ? 1 : years > HR_MAX_TCO_YEARS ? HR_MAX_TCO_YEARS + 1 : (uint32_t)years;
}

static bool is_used(const struct cohorts *cohorts, uint32_t bought, uint32_t year) {
  return year < bought + cohorts->life;
}

static double in_use(const struct cohorts *cohorts, uint32_t year) {
  double sum = 0;
  for (uint32_t bought = 0; bought <= year; bought++)
    if (is_used(cohorts, bought, year)) sum += cohorts->units[bought];
  return sum;
}

/* Buys the missing items at the start of each year. */
static void fill(struct cohorts *cohorts, const double *needed, uint32_t years) {
  for (uint32_t year = 0; year < years; year++) {
    cohorts->units[year] = 0;
    double missing = needed[year] - in_use(cohorts, year);
    if (missing > 0) cohorts->units[year] = missing;
  }
}

/* The whole number of nodes that are needed in each year. */
static void count_nodes(const struct hr_tco *tco, uint32_t nodes, double *needed) {
  for (uint32_t year = 0; year < tco->spec.years; year++)
    needed[year] = ceil(nodes * hr_compound(tco->spec.growth - 1, year) - 1e-9);
}

/* Returns the number of years after which a node must be bought, or put under contract, again:
   - an owned node: its life;
   - a reserved node: the term of its contract, or that of the option if the pool has no term; the node keeps the price
     of the year in which the contract began;
   - an elastic node: 1, because it has no term. */
static uint32_t life_of(const struct hr_tco *tco, const struct hr__tco_option *option, uint32_t i) {
  const struct hr_ownership *owned = hr__tco_source(tco, option, i)->ownership;
  uint32_t term_months = hr__tco_source(tco, option, i)->term_months;
  if (owned) return whole_years(owned->capital[0].life_years);
  if (hr_market_is_elastic(hr__tco_pool(tco, option, i)->market.market)) return 1;
  return term_months ? whole_years(term_months / 12.0) : option->contract_years;
}

/* Returns the nodes of a pool of the option, by the year in which they are bought or put under contract. */
static struct cohorts cohorts_of(const struct hr_tco *tco, const struct hr__tco_option *option, uint32_t i) {
  double needed[HR_MAX_TCO_YEARS];
  struct cohorts cohorts = {.life = life_of(tco, option, i)};
  count_nodes(tco, hr__tco_pool(tco, option, i)->nodes, needed);
  fill(&cohorts, needed, tco->spec.years);
  return cohorts;
}

/* Adds the capacity of nodes of a pool in a year. Returns their GPU hours. */
static double add_nodes(struct hr__tco_path *path, const struct hr_pool_spec *pool, double nodes, uint32_t year,
                        const struct hr__tco_pool_use *use) {
  double hours = nodes * pool->gpus_per_node * HR_HOURS_PER_YEAR;
  path->gpus[year] += nodes * pool->gpus_per_node;
  path->capacity_gpu_hours[year] += hours;
  path->available_gpu_hours[year] += hours * (1 - use->down_share);
  return hours;
}

/* Returns the demand of a year / that of the run of this year. */
static double growth_of(const struct hr_tco *tco, uint32_t year) {
  return year < tco->n_simulated ? 1 : hr_compound(tco->spec.growth - 1, year);
}

/* ---- Years of an option: income tax ----------------------------------------------------------------- */

/* The share of the price that is depreciated in the year of age `age`. MACRS: 5-year property, half-year convention
   (Internal Revenue Service, publication 946, table A-1). */
static double depreciated_share(const struct hr_tco *tco, const struct hr_capital *capital, uint32_t age) {
  static const double macrs[MACRS_YEARS] = {0.2, 0.32, 0.192, 0.1152, 0.1152, 0.0576};
  if (tco->spec.macrs) return age < MACRS_YEARS ? macrs[age] : 0;
  double used = fmax(0, fmin(1, capital->life_years - age));
  return (1 - capital->residual_share) * used / capital->life_years;
}

static void depreciate(const struct hr_tco *tco, const struct hr_capital *capital, double usd, uint32_t bought,
                       uint32_t end, struct hr__tco_path *path) {
  double book_usd = usd;
  for (uint32_t year = bought; year < end; year++) {
    double part = usd * depreciated_share(tco, capital, year - bought);
    path->depreciated_usd[year] += part;
    book_usd -= part;
  }
  path->book_usd[end - 1] += book_usd;
}

/* ---- Years of an option: owned pools ---------------------------------------------------------------- */

/* The value of a purchase of one dollar after `age` years. */
static double value_at(const struct hr_capital *capital, double age) {
  double fallen = age < capital->life_years ? age / capital->life_years : 1;
  return 1 - (1 - capital->residual_share) * fallen;
}

/* Adds the purchases of one item of capital. */
static void add_capital(const struct hr_tco *tco, const struct hr_ownership *owned, const struct hr_capital *capital,
                        const double *needed, struct hr__tco_path *path) {
  const uint32_t years = tco->spec.years;
  double factor = capital->price_factor_per_year > 0 ? capital->price_factor_per_year : tco->spec.hardware_price;
  struct cohorts cohorts = {.life = whole_years(capital->life_years)};
  fill(&cohorts, needed, years);
  for (uint32_t bought = 0; bought < years; bought++) {
    double usd = cohorts.units[bought] * capital->usd * hr_compound(factor - 1, bought);
    if (usd == 0) continue;
    uint32_t end = bought + cohorts.life < years ? bought + cohorts.life : years;
    double yearly = hr_amortized_usd(owned->amortization, owned->discount_rate, usd, usd * capital->residual_share,
                                     capital->life_years);
    for (uint32_t year = bought; year < end; year++) {
      add(path, year, HR_PART_CAPITAL, yearly * fmin(1, capital->life_years - (year - bought)));
      add(path, year, HR_PART_MAINTENANCE, usd * capital->maintenance_share);
      add(path, year, HR_PART_TAX, usd * capital->tax_share);
    }
    path->bought_uusd[bought] += rounded(path, usd);
    path->sold_uusd[end - 1] += rounded(path, usd * value_at(capital, end - bought));
    depreciate(tco, capital, usd, bought, end, path);
  }
}

/* Adds the cost of operation of `nodes` nodes in a year. `use` is the share of these nodes that is in use. */
static void add_operation(const struct hr_tco *tco, const struct hr_ownership *owned, double nodes, double use,
                          uint32_t year, struct hr__tco_path *path) {
  double energy_price = hr_compound(tco->spec.energy_price - 1, year), wages = hr_compound(tco->spec.wages - 1, year);
  double usd_per_kw = nodes * owned->pue * owned->usd_per_kwh * HR_HOURS_PER_YEAR * energy_price;
  add(path, year, HR_PART_ENERGY, hr_node_kw(owned, use) * usd_per_kw);
  path->load_usd[year] +=
      owned->power_kw * (owned->load - owned->idle_load) * use * usd_per_kw * (1 + owned->staff_share);
  add(path, year, HR_PART_COLOCATION, nodes * owned->power_kw * owned->colocation_usd_per_kw_month * 12 * energy_price);
  add(path, year, HR_PART_STAFF, nodes * owned->staff_usd_per_year * wages);
}

static void add_owned(const struct hr_tco *tco, const struct hr__tco_option *option, uint32_t i, uint32_t replication,
                      struct hr__tco_path *path) {
  const struct hr_pool_spec *pool = hr__tco_pool(tco, option, i);
  const struct hr_ownership *owned = hr__tco_source(tco, option, i)->ownership;
  double needed[HR_MAX_TCO_YEARS];
  const struct cohorts cohorts = cohorts_of(tco, option, i);
  int64_t before[HR_MAX_TCO_YEARS];
  count_nodes(tco, pool->nodes, needed);
  for (uint32_t year = 0; year < tco->spec.years; year++) before[year] = hr__tco_year_uusd(path, year);
  for (uint32_t c = 0; c < owned->n_capital; c++) add_capital(tco, owned, &owned->capital[c], needed, path);
  for (uint32_t year = 0; year < tco->spec.years; year++) {
    const struct hr__tco_run *run = hr__tco_run_of(tco, option, year, replication);
    double nodes = in_use(&cohorts, year), hours = add_nodes(path, pool, nodes, year, &run->pools[i]);
    double held = run->pools[i].used_gpu_hours * run->scale * growth_of(tco, year);
    add_operation(tco, owned, nodes, hours > 0 ? fmin(1, held / hours) : 0, year, path);
    int64_t own_uusd = hr__tco_year_uusd(path, year) - before[year];
    add(path, year, HR_PART_STAFF, (double)own_uusd / 1e6 * owned->staff_share);
  }
}

/* ---- Years of an option: clouds --------------------------------------------------------------------- */

static void add_reserved(const struct hr_tco *tco, const struct hr__tco_option *option, uint32_t i,
                         uint32_t replication, struct hr__tco_path *path) {
  const struct hr_pool_spec *pool = hr__tco_pool(tco, option, i);
  double usd_h = (double)pool->market.price_uusd_h / 1e6;
  double price = pool->market.market == HR_MARKET_OWNED ? tco->spec.hardware_price : tco->spec.cloud_price;
  const struct cohorts cohorts = cohorts_of(tco, option, i);
  for (uint32_t year = 0; year < tco->spec.years; year++) {
    add_nodes(path, pool, in_use(&cohorts, year), year, &hr__tco_run_of(tco, option, year, replication)->pools[i]);

    for (uint32_t begun = 0; begun <= year; begun++)
      if (is_used(&cohorts, begun, year))
        add(path, year, HR_PART_RENT,
            cohorts.units[begun] * pool->gpus_per_node * HR_HOURS_PER_YEAR * usd_h * hr_compound(price - 1, begun));
  }
}

static void add_elastic(const struct hr_tco *tco, const struct hr__tco_option *option, uint32_t i, uint32_t replication,
                        struct hr__tco_path *path) {
  for (uint32_t year = 0; year < tco->spec.years; year++) {
    const struct hr__tco_run *run = hr__tco_run_of(tco, option, year, replication);
    const struct hr__tco_pool_use *use = &run->pools[i];
    double growth = growth_of(tco, year), price = hr_compound(tco->spec.cloud_price - 1, year);
    path->capacity_gpu_hours[year] += use->billed_gpu_hours * run->scale * growth;
    path->available_gpu_hours[year] += use->billed_gpu_hours * run->scale * growth;
    add(path, year, HR_PART_RENT, use->usd * run->scale * growth * price);
  }
}

/* ---- Years of an option: figures -------------------------------------------------------------------- */

static double sum_of(const double *values, uint32_t years) {
  double sum = 0;
  for (uint32_t year = 0; year < years; year++) sum += values[year];
  return sum;
}

/* Sums the payments, discounted. With taxes, costs and depreciation reduce the tax of their year. */
static double present_usd(const struct hr__tco_path *path, double discount_rate, double tax_rate) {
  double sum = 0;
  for (uint32_t year = 0; year < path->years; year++) {
    double bought = (double)path->bought_uusd[year] / 1e6, sold = (double)path->sold_uusd[year] / 1e6;
    double running = (double)hr__tco_running_uusd(path, year) / 1e6;
    double tax = tax_rate * (sold - path->book_usd[year] - running - path->depreciated_usd[year]);
    sum += bought / hr_compound(discount_rate, year);
    sum += (running - sold + tax) / hr_compound(discount_rate, year + 1);
  }
  return sum;
}

static double ratio(double part, double whole) {
  return whole > 0 ? part / whole : (double)NAN;
}

static void set_figures(const struct hr_tco *tco, struct hr__tco_path *path) {
  double capacity = sum_of(path->capacity_gpu_hours, path->years);
  double available = sum_of(path->available_gpu_hours, path->years);
  double held = sum_of(path->held_gpu_hours, path->years), useful = sum_of(path->useful_gpu_hours, path->years);
  double rate = tco->spec.discount_rate, usd = (double)hr__tco_total_uusd(path) / 1e6;
  path->figures[HR__TCO_AVAILABILITY] = ratio(available, capacity);
  path->figures[HR__TCO_UTILIZATION] = ratio(held, available);
  path->figures[HR__TCO_ETTR] = ratio(useful, held);
  path->figures[HR__TCO_GPU_HOUR] = ratio(usd, capacity);
  path->figures[HR__TCO_USEFUL_GPU_HOUR] = ratio(usd, useful);
  path->figures[HR__TCO_TOTAL] = present_usd(path, 0, 0);
  path->figures[HR__TCO_NPV] = present_usd(path, rate, 0);
  path->figures[HR__TCO_AFTER_TAX_NPV] = present_usd(path, rate, tco->spec.tax_rate);
}

/* Sets the work of a year. Jobs hold at most the available GPU hours. */
static void set_work(const struct hr__tco_run *run, double growth, uint32_t year, struct hr__tco_path *path) {
  double needed = run->held_gpu_hours * run->scale * growth, available = path->available_gpu_hours[year];
  double served = needed > available * (1 + 1e-9) ? available / needed : 1;
  path->held_gpu_hours[year] = needed * served;
  path->useful_gpu_hours[year] = run->useful_gpu_hours * run->scale * growth * served;
  path->unserved_gpu_hours += needed * (1 - served);
}

void hr__tco_path_make(const struct hr_tco *tco, const struct hr__tco_option *option, uint32_t replication,
                       struct hr__tco_path *path) {
  double wait_s = (double)NAN;
  *path = (struct hr__tco_path){.years = tco->spec.years};
  for (uint32_t i = 0; i < option->n_pools; i++) {
    if (hr__tco_source(tco, option, i)->ownership)
      add_owned(tco, option, i, replication, path);
    else if (hr_market_is_elastic(hr__tco_pool(tco, option, i)->market.market))
      add_elastic(tco, option, i, replication, path);
    else
      add_reserved(tco, option, i, replication, path);
  }
  for (uint32_t year = 0; year < path->years; year++) {
    const struct hr__tco_run *run = hr__tco_run_of(tco, option, year, replication);
    double growth = growth_of(tco, year);
    if (!(run->wait_p95_s <= wait_s)) wait_s = run->wait_p95_s;
    set_work(run, growth, year, path);
    add(path, year, HR_PART_STAFF, option->staff_usd_per_year * hr_compound(tco->spec.wages - 1, year));
    add(path, year, HR_PART_SERVICES, run->other_usd * run->other_scale * growth);
  }
  set_figures(tco, path);
  path->figures[HR__TCO_WAIT] = wait_s;
}

/* ---- Years of an option: break-even points ---------------------------------------------------------- */

/* The utilization at which a useful GPU hour of the option costs as much as one of the other. NaN: none. If the use is
   multiplied by x, the option costs F + V x and does x times the useful work. This work costs C x in the other option.
   Both costs are equal at x = F / (C - V). */
static double tco_break_even_utilization(const struct hr__tco_path *option, const struct hr__tco_path *other) {
  double load_usd = sum_of(option->load_usd, option->years);
  double other_usd = other->figures[HR__TCO_USEFUL_GPU_HOUR] * sum_of(option->useful_gpu_hours, option->years);
  if (!(other_usd > load_usd)) return (double)NAN;
  return option->figures[HR__TCO_UTILIZATION] * ((double)hr__tco_total_uusd(option) / 1e6 - load_usd) /
         (other_usd - load_usd);
}

/* The hours of operation after which the cost of the option equals the cost of the same useful work in the other
   option. NaN: this time is not within the years. */
static double tco_break_even_hours(const struct hr__tco_path *option, const struct hr__tco_path *other) {
  double ahead_usd = 0; /* additional cost of the option so far */
  if (option->bought_uusd[0] == 0) return (double)NAN;
  for (uint32_t year = 0; year < option->years; year++) {
    double useful = other->useful_gpu_hours[year];
    double other_usd = ratio((double)hr__tco_paid_uusd(other, year) / 1e6, useful) * option->useful_gpu_hours[year];
    double saved_usd = other_usd - (double)hr__tco_running_uusd(option, year) / 1e6;
    ahead_usd += (double)option->bought_uusd[year] / 1e6;
    if (ahead_usd <= 0) return HR_HOURS_PER_YEAR * year;
    if (saved_usd > 0 && ahead_usd <= saved_usd) return HR_HOURS_PER_YEAR * (year + ahead_usd / saved_usd);
    ahead_usd -= saved_usd;
  }
  return (double)NAN;
}

const char *hr__tco_kind_name(enum hr__tco_kind kind) {
  static const char *const names[] = {"private", "colocated", "reserved", "on-demand", "spot", "mixed"};
  return names[kind];
}

/* ---- Options ---------------------------------------------------------------------------------------- */

static enum hr_status no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory for the cost of ownership");
}

static uint32_t pool_named(const struct hr_cluster_spec *cluster, const char *name) {
  for (uint32_t i = 0; i < cluster->n_pools; i++)
    if (cluster->pools[i].name && strcmp(cluster->pools[i].name, name) == 0) return i;
  return HR_NONE;
}

static enum hr__tco_kind kind_of_pool(const struct hr_tco *tco, const struct hr__tco_option *option, uint32_t i) {
  const struct hr_ownership *owned = hr__tco_source(tco, option, i)->ownership;
  switch (hr__tco_pool(tco, option, i)->market.market) {
  case HR_MARKET_RESERVED:
    return HR__TCO_RESERVED;
  case HR_MARKET_ON_DEMAND:
    return HR__TCO_ON_DEMAND;
  case HR_MARKET_SPOT:
    return HR__TCO_SPOT;
  default:
    return owned && owned->is_colocated ? HR__TCO_COLOCATED : HR__TCO_PRIVATE;
  }
}

static void describe(const struct hr_tco *tco, struct hr__tco_option *option) {
  for (uint32_t i = 0; i < option->n_pools; i++) {
    enum hr__tco_kind kind = kind_of_pool(tco, option, i);
    option->kind = i == 0 || kind == option->kind ? kind : HR__TCO_MIXED;
    if (hr__tco_pool(tco, option, i)->faults) option->knows_failures = true;
    if (hr__tco_pool(tco, option, i)->n_maintenance) option->has_maintenance = true;
  }
}

static enum hr_status make_listed(struct hr_tco *tco, struct hr_error *error) {
  const struct hr_tco_spec *spec = tco->scenario->tco;
  for (uint32_t k = 0; k < spec->n_options; k++) {
    const struct hr_tco_option *from = &spec->options[k];
    struct hr__tco_option *option = &tco->options[tco->n_options++];
    *option = (struct hr__tco_option){
        .name = from->name, .staff_usd_per_year = from->staff_usd_per_year, .contract_years = from->contract_years};
    option->pools = calloc(from->n_pools, sizeof *option->pools);
    if (!option->pools) return no_memory(error);
    for (uint32_t i = 0; i < from->n_pools; i++)
      option->pools[option->n_pools++] = pool_named(&tco->scenario->cluster, from->pools[i]);
  }
  return HR_OK;
}

static enum hr_status make_by_pool(struct hr_tco *tco, struct hr_error *error) {
  const struct hr_cluster_spec *cluster = &tco->scenario->cluster;
  for (uint32_t i = 0; i < cluster->n_pools; i++) {
    if (cluster->pools[i].market.market == HR_MARKET_NONE || cluster->pools[i].nodes == 0) continue;
    if (tco->n_options == HR_MAX_TCO_OPTIONS)
      return hr_fail(error, HR_BAD_INPUT,
                     "%s: more than %d pools have a market; list those to compare in 'tco.options'",
                     tco->scenario->path, HR_MAX_TCO_OPTIONS);
    struct hr__tco_option *option = &tco->options[tco->n_options++];
    *option = (struct hr__tco_option){
        .name = cluster->pools[i].name, .contract_years = 1, .pools = calloc(1, sizeof *option->pools)};
    if (!option->pools) return no_memory(error);
    option->pools[option->n_pools++] = i;
  }
  if (tco->n_options) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT,
                 "%s: no pool has a 'market'; the cost of ownership needs pools with prices or with 'owned'",
                 tco->scenario->path);
}

static enum hr_status check_nodes(const struct hr_tco *tco, struct hr_error *error) {
  for (uint32_t k = 0; k < tco->n_options; k++)
    for (uint32_t i = 0; i < tco->options[k].n_pools; i++)
      if (hr__tco_pool(tco, &tco->options[k], i)->nodes == 0)
        return hr_fail(error, HR_BAD_INPUT, "%s: pool '%.60s' of option '%.60s' has 0 nodes; at least 1 is expected",
                       tco->scenario->path, hr__tco_pool(tco, &tco->options[k], i)->name, tco->options[k].name);
  return HR_OK;
}

static enum hr_status make_options(struct hr_tco *tco, struct hr_error *error) {
  bool listed = tco->scenario->tco && tco->scenario->tco->n_options;
  tco->options = calloc(HR_MAX_TCO_OPTIONS, sizeof *tco->options);
  if (!tco->options) return no_memory(error);
  enum hr_status status = listed ? make_listed(tco, error) : make_by_pool(tco, error);
  if (status == HR_OK) status = check_nodes(tco, error);
  for (uint32_t k = 0; k < tco->n_options && status == HR_OK; k++) describe(tco, &tco->options[k]);
  return status;
}

/* ---- Candidates ------------------------------------------------------------------------------------- */

enum { OVERRIDE_BYTES = HR_POOL_PATH_BYTES + sizeof ".nodes=4294967295" };

/* Returns the number of nodes of a pool of the scenario in a year of the option. */
static uint32_t nodes_in(const struct hr_tco *tco, const struct hr__tco_option *option, uint32_t pool, uint32_t year) {
  for (uint32_t i = 0; i < option->n_pools; i++) {
    if (option->pools[i] != pool) continue;
    if (year == 0) return tco->scenario->cluster.pools[pool].nodes;
    const struct cohorts cohorts = cohorts_of(tco, option, i);
    return (uint32_t)fmin(in_use(&cohorts, year), HR_MAX_NODES);
  }
  return 0;
}

/* Adds the option in a year as a candidate: the scenario without nodes in all other pools. */
static enum hr_status add_candidate(struct hr_tco *tco, struct hr__tco_option *option, uint32_t environment,
                                    uint32_t year, struct hr_error *error) {
  uint32_t n_pools = tco->scenario->cluster.n_pools;
  char(*texts)[OVERRIDE_BYTES] = calloc(n_pools, sizeof *texts);
  const char **overrides = calloc(n_pools, sizeof *overrides);
  size_t count = 0;
  enum hr_status status = texts && overrides ? HR_OK : no_memory(error);
  for (uint32_t i = 0; i < n_pools && status == HR_OK; i++) {
    uint32_t nodes = nodes_in(tco, option, i, year);
    if (nodes == tco->scenario->cluster.pools[i].nodes) continue;
    char path[HR_POOL_PATH_BYTES];
    snprintf(texts[count], OVERRIDE_BYTES, "%s.nodes=%" PRIu32, hr_scenario_pool_path(tco->scenario, i, path), nodes);
    overrides[count] = texts[count];
    count++;
  }
  if (status == HR_OK)
    status = hr__runner_add_candidate(tco->runner, overrides, count, environment, &option->candidates[year], error);
  if (status == HR_OK) option->random = option->random || hr__runner_is_random(tco->runner, option->candidates[year]);
  free(texts);
  free(overrides);
  return status;
}

/* Adds all options in a year, with its demand. */
static enum hr_status add_year(struct hr_tco *tco, uint32_t year, struct hr_error *error) {
  struct hr__environment environment = {.workload = tco->scenario->replications.workload};
  uint32_t number;
  environment.workload.growth *= hr_compound(tco->spec.growth - 1, year);
  if (!hr_tco_growth_is_possible(environment.workload.growth))
    return hr_fail(error, HR_BAD_INPUT,
                   "%s: the demand of year %" PRIu32 " is %.4g times that of the trace; a number from %g to %g is "
                   "expected; change 'tco.growth_per_year' or 'tco.years'",
                   tco->scenario->path, year + 1, environment.workload.growth, HR_MIN_GROWTH, (double)HR_MAX_GROWTH);
  /* a product such as 0.1 x 0.1 x 0.1 may differ from a bound by its rounding */
  environment.workload.growth = fmin(fmax(environment.workload.growth, HR_MIN_GROWTH), HR_MAX_GROWTH);
  hr_stress_init(&environment.stress);
  enum hr_status status = hr__runner_add_environment(tco->runner, &environment, &number, error);
  for (uint32_t k = 0; k < tco->n_options && status == HR_OK; k++)
    status = add_candidate(tco, &tco->options[k], number, year, error);
  return status;
}

static uint32_t wanted_replications(const struct hr_tco *tco, bool any_random) {
  uint32_t listed = tco->scenario->replications.count;
  if (!any_random) return 1;
  if (tco->config.n_replications) return tco->config.n_replications;
  return listed ? listed : HR_DEFAULT_MIN_REPLICATIONS;
}

static enum hr_status make_candidates(struct hr_tco *tco, struct hr_error *error) {
  const struct hr_tco_config *config = &tco->config;
  struct hr__runner_config runner = {.scenario = config->scenario,
                                     .overrides = config->overrides,
                                     .n_overrides = config->n_overrides,
                                     .trace = config->trace,
                                     .n_threads = config->n_threads,
                                     .progress = config->progress};
  bool any_random = false;
  tco->runner = hr__runner_create(&runner);
  if (!tco->runner) return no_memory(error);
  enum hr_status status = HR_OK;
  tco->n_simulated = tco->spec.growth == 1 || tco->spec.first_year_only ? 1 : tco->spec.years;
  for (uint32_t year = 0; year < tco->n_simulated && status == HR_OK; year++) status = add_year(tco, year, error);
  for (uint32_t k = 0; k < tco->n_options; k++) any_random = any_random || tco->options[k].random;
  tco->n_replications = wanted_replications(tco, any_random);
  return status;
}

/* ---- Runs ------------------------------------------------------------------------------------------- */

/* All runs. Each has its configuration, which the runner prepared. */
struct batch {
  struct hr_tco *tco;
  struct tco_item {
    uint32_t option, year, replication;
    struct hr__one_run_config config;
  } * items;
  size_t count;
  struct hr__progress_sum progress;
};

static double gpu_hours(hr_amount milli_us) {
  return (double)milli_us / ((double)HR_LEDGER_UNITS_PER_UUSD);
}

/* A run and its option. */
struct observed {
  const struct hr_tco *tco;
  const struct hr__tco_option *option;
  uint32_t year;
  struct hr__tco_run *run;
};

static void take_pool(const struct observed *observed, const struct hr_replay *replay, uint32_t i) {
  const uint32_t pool = observed->option->pools[i];
  const struct hr_pool_spec *spec = &replay->config.scenario->cluster.pools[pool];
  const struct hr_pool_account *account = hr_ledger_pool(replay->ledger, (hr_pool){pool});
  struct hr__tco_pool_use *use = &observed->run->pools[i];
  double node_us = (double)spec->nodes * (double)replay->result->end_us;
  use->billed_gpu_hours = gpu_hours(account->gpu_time);
  use->used_gpu_hours = gpu_hours(account->used_time);
  use->usd = (double)account->cost / (double)HR_LEDGER_UNITS_PER_UUSD / 1e6;
  if (!hr_market_is_elastic(spec->market.market) && node_us > 0)
    use->down_share = (double)(replay->result->pools[pool].down_us + replay->result->pools[pool].planned_us) / node_us;
}

/* Returns the GPUs x run time of all jobs. */
static double work_of(const struct hr_trace *trace) {
  double sum = 0;
  for (uint32_t job = 0; job < trace->n_jobs - trace->n_added; job++)
    sum += (double)trace->gpus[job] * (double)trace->work_us[job];
  return sum;
}

/* Returns the demand of a year / the work of the jobs that were drawn for it, which is random. */
static double demand_share(const struct observed *observed, const struct hr_trace *drawn) {
  const struct hr_workload_spec *workload = &observed->tco->scenario->replications.workload;
  if (observed->tco->n_simulated == 1 || workload->blocks != HR_BLOCKS_NONE) return 1;
  double wanted = work_of(observed->tco->config.trace) * workload->growth *
                  hr_compound(observed->tco->spec.growth - 1, observed->year);
  double work = work_of(drawn);
  return work > 0 ? wanted / work : 1;
}

static enum hr_status collect(void *self, const struct hr_replay *replay, struct hr_error *error) {
  struct observed *observed = self;
  struct hr__tco_run *run = observed->run;
  const struct hr_summary *summary = replay->summary;
  double run_s = (double)replay->result->end_us / 1e6, year_s = HR_HOURS_PER_YEAR * 3600;
  double window_s = summary->submit_window_s;
  /* a later year has as many jobs as the trace has in its window, although the last job may be submitted later */
  if (observed->tco->n_simulated > 1) window_s = (double)hr_trace_last_submit_us(observed->tco->config.trace) / 1e6;
  if (!(window_s > 0 && window_s < run_s)) window_s = run_s;
  if (run_s <= 0) return hr_fail(error, HR_BAD_INPUT, "option '%.60s': no job runs", observed->option->name);
  run->scale = year_s / window_s * demand_share(observed, replay->result->trace);
  run->other_scale = year_s / run_s;
  run->held_gpu_hours = summary->gpu_hours;
  run->useful_gpu_hours = summary->stoppable ? summary->goodput.useful_gpu_hours : summary->gpu_hours;
  run->wait_p95_s = summary->wait_s.count ? summary->wait_s.p95 : (double)NAN;
  run->submitted = summary->jobs_submitted;
  run->completed = summary->jobs_completed;
  if (summary->costs) run->other_usd = (double)(summary->costs->total_uusd - summary->costs->capacity_uusd) / 1e6;
  for (uint32_t i = 0; i < observed->option->n_pools; i++) take_pool(observed, replay, i);
  return HR_OK;
}

static enum hr_status run_item(void *self, size_t index, struct hr_error *error) {
  struct batch *batch = self;
  struct tco_item *item = &batch->items[index];
  const struct hr__tco_option *option = &batch->tco->options[item->option];
  size_t place = (size_t)item->year * batch->tco->n_replications + item->replication;
  struct observed observed = {batch->tco, option, item->year, &option->runs[place]};
  const struct hr__one_run_details details = {.self = &observed, .collect = collect};
  struct hr__progress_reporter reporter = {.sum = &batch->progress};
  struct hr__one_run run;
  item->config.details = &details;
  item->config.progress = hr__progress_reporter_progress(&reporter);
  enum hr_status status = hr__one_run_make(&item->config, &run, error);
  hr__one_run_finish(&run);
  return status;
}

static enum hr_status list_year(struct batch *batch, uint32_t k, uint32_t year, struct hr_error *error) {
  struct hr_tco *tco = batch->tco;
  const struct hr__tco_option *option = &tco->options[k];
  enum hr_status status = HR_OK;
  for (uint32_t r = 0; r < (option->random ? tco->n_replications : 1) && status == HR_OK; r++) {
    struct tco_item *item = &batch->items[batch->count++];
    *item = (struct tco_item){.option = k, .year = year, .replication = r};
    status = hr__runner_case(tco->runner, (struct hr__trial){option->candidates[year], r}, &item->config, error);
    if (status == HR_OK) batch->progress.total += item->config.trace->n_jobs;
  }
  return status;
}

static enum hr_status list_items(struct batch *batch, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (uint32_t k = 0; k < batch->tco->n_options; k++)
    for (uint32_t year = 0; year < batch->tco->n_simulated && status == HR_OK; year++)
      status = list_year(batch, k, year, error);
  return status;
}

static enum hr_status make_room(struct hr_tco *tco, struct hr_error *error) {
  for (uint32_t k = 0; k < tco->n_options; k++) {
    struct hr__tco_option *option = &tco->options[k];
    const uint32_t count = tco->n_simulated * tco->n_replications;
    option->runs = calloc(count, sizeof *option->runs);
    for (uint32_t r = 0; option->runs && r < count; r++) {
      option->runs[r].pools = calloc((size_t)option->n_pools + 1, sizeof *option->runs[r].pools);
      if (!option->runs[r].pools) return no_memory(error);
    }
    if (!option->runs) return no_memory(error);
  }
  return HR_OK;
}

static enum hr_status make_runs(struct hr_tco *tco, struct hr_error *error) {
  struct batch batch = {.tco = tco};
  enum hr_status status = make_room(tco, error);
  if (status != HR_OK) return status;
  batch.items = calloc((size_t)tco->n_options * tco->n_simulated * tco->n_replications + 1, sizeof *batch.items);
  if (!batch.items) return no_memory(error);
  hr__progress_sum_init(&batch.progress, &tco->config.progress, 0);
  status = list_items(&batch, error);
  if (status == HR_OK) {
    const struct hr__tasks tasks = {.self = &batch, .count = batch.count, .run = run_item};
    status = hr__pool_run(&tasks, tco->config.n_threads, error);
  }
  hr__progress_sum_finish(&batch.progress);
  free(batch.items);
  return status;
}

/* ---- Results ---------------------------------------------------------------------------------------- */

static bool is_paired(const struct hr__tco_option *option, const struct hr__tco_option *other) {
  bool in_cloud = other->kind == HR__TCO_ON_DEMAND || other->kind == HR__TCO_SPOT;
  bool owned = option->kind == HR__TCO_PRIVATE || option->kind == HR__TCO_COLOCATED;
  if (option->kind == HR__TCO_RESERVED) return in_cloud;
  return owned && (in_cloud || other->kind == HR__TCO_RESERVED);
}

/* The values of all replications, figure by figure and pair by pair, and sums of the amounts. */
struct values {
  struct hr__tco_path *paths;    /* [n_options] of one replication */
  double *of_options, *of_pairs; /* [n_options][figures][n_replications], [n_pairs][2][n_replications] */
  hr_amount (*sums)[HR_MAX_TCO_YEARS][HR_N_COST_PARTS + 2]; /* [n_options]: parts, bought, sold */
};

static void add_to_mean(struct hr__tco_path *mean, const struct hr__tco_path *path,
                        hr_amount sums[HR_MAX_TCO_YEARS][HR_N_COST_PARTS + 2], uint32_t count) {
  mean->years = path->years;
  mean->too_large = mean->too_large || path->too_large;
  mean->unserved_gpu_hours += path->unserved_gpu_hours / count;
  for (uint32_t year = 0; year < path->years; year++) {
    for (unsigned part = 0; part < HR_N_COST_PARTS; part++) sums[year][part] += path->uusd[year][part];
    sums[year][HR_N_COST_PARTS] += path->bought_uusd[year];
    sums[year][HR_N_COST_PARTS + 1] += path->sold_uusd[year];
    mean->gpus[year] = path->gpus[year];
    mean->capacity_gpu_hours[year] += path->capacity_gpu_hours[year] / count;
    mean->available_gpu_hours[year] += path->available_gpu_hours[year] / count;
    mean->held_gpu_hours[year] += path->held_gpu_hours[year] / count;
    mean->useful_gpu_hours[year] += path->useful_gpu_hours[year] / count;
  }
}

static int64_t mean_of(hr_amount sum, uint32_t count) {
  hr_amount twice = 2 * sum + (sum < 0 ? -(hr_amount)count : (hr_amount)count);
  return (int64_t)(twice / (2 * (hr_amount)count));
}

static void finish_mean(struct hr__tco_path *mean, hr_amount sums[HR_MAX_TCO_YEARS][HR_N_COST_PARTS + 2],
                        uint32_t count) {
  for (uint32_t year = 0; year < mean->years; year++) {
    for (unsigned part = 0; part < HR_N_COST_PARTS; part++) mean->uusd[year][part] = mean_of(sums[year][part], count);
    mean->bought_uusd[year] = mean_of(sums[year][HR_N_COST_PARTS], count);
    mean->sold_uusd[year] = mean_of(sums[year][HR_N_COST_PARTS + 1], count);
  }
}

static void evaluate(struct hr_tco *tco, struct values *values) {
  const uint32_t count = tco->n_replications;
  for (uint32_t r = 0; r < count; r++) {
    for (uint32_t k = 0; k < tco->n_options; k++) {
      struct hr__tco_option *option = &tco->options[k];
      hr__tco_path_make(tco, option, r, &values->paths[k]);
      add_to_mean(&option->mean, &values->paths[k], values->sums[k], count);
      for (unsigned f = 0; f < HR__TCO_N_FIGURES; f++)
        values->of_options[((size_t)k * HR__TCO_N_FIGURES + f) * count + r] = values->paths[k].figures[f];
    }
    for (uint32_t p = 0; p < tco->n_pairs; p++) {
      const struct hr__tco_path *option = &values->paths[tco->pairs[p].option];
      const struct hr__tco_path *other = &values->paths[tco->pairs[p].other];
      values->of_pairs[(size_t)p * 2 * count + r] = tco_break_even_utilization(option, other);
      values->of_pairs[((size_t)p * 2 + 1) * count + r] = tco_break_even_hours(option, other);
    }
  }
  for (uint32_t k = 0; k < tco->n_options; k++) finish_mean(&tco->options[k].mean, values->sums[k], count);
}

static enum hr_status interval(const struct hr_tco *tco, const double *values, enum hr_metric_kind kind, bool exact,
                               struct hr__interval *interval) {
  return hr__interval_of(values, tco->n_replications, kind, tco->confidence, exact, interval);
}

static enum hr_status make_intervals(struct hr_tco *tco, const struct values *values) {
  const uint32_t count = tco->n_replications;
  enum hr_status status = HR_OK;
  for (uint32_t k = 0; k < tco->n_options; k++)
    for (unsigned f = 0; f < HR__TCO_N_FIGURES && status == HR_OK; f++)
      status = interval(tco, &values->of_options[((size_t)k * HR__TCO_N_FIGURES + f) * count],
                        f == HR__TCO_WAIT ? HR_METRIC_QUANTILE : HR_METRIC_MEAN, !tco->options[k].random,
                        &tco->options[k].figures[f]);
  for (uint32_t p = 0; p < tco->n_pairs && status == HR_OK; p++) {
    struct hr__tco_pair *pair = &tco->pairs[p];
    bool exact = !tco->options[pair->option].random && !tco->options[pair->other].random;
    status = interval(tco, &values->of_pairs[(size_t)p * 2 * count], HR_METRIC_MEAN, exact, &pair->utilization);
    if (status == HR_OK)
      status = interval(tco, &values->of_pairs[((size_t)p * 2 + 1) * count], HR_METRIC_MEAN, exact, &pair->hours);
  }
  return status;
}

static bool list_pairs(struct hr_tco *tco) {
  tco->pairs = calloc((size_t)tco->n_options * tco->n_options, sizeof *tco->pairs);
  if (!tco->pairs) return false;
  for (uint32_t k = 0; k < tco->n_options; k++)
    for (uint32_t other = 0; other < tco->n_options; other++)
      if (is_paired(&tco->options[k], &tco->options[other]))
        tco->pairs[tco->n_pairs++] = (struct hr__tco_pair){.option = k, .other = other};
  return true;
}

static enum hr_status check_sizes(const struct hr_tco *tco, struct hr_error *error) {
  for (uint32_t k = 0; k < tco->n_options; k++)
    if (tco->options[k].mean.too_large)
      return hr_fail(error, HR_BAD_INPUT, "%s: an amount of option '%.60s' is above 10^12 dollars", tco->scenario->path,
                     tco->options[k].name);
  return HR_OK;
}

static enum hr_status make_results(struct hr_tco *tco, struct hr_error *error) {
  struct values values = {.paths = calloc(tco->n_options, sizeof *values.paths),
                          .sums = calloc(tco->n_options, sizeof *values.sums)};
  enum hr_status status = list_pairs(tco) ? HR_OK : HR_NO_MEMORY;
  size_t n = tco->n_replications;
  values.of_options = calloc((size_t)tco->n_options * HR__TCO_N_FIGURES * n, sizeof *values.of_options);
  values.of_pairs = calloc((size_t)tco->n_pairs * 2 * n + 1, sizeof *values.of_pairs);
  if (!values.paths || !values.sums || !values.of_options || !values.of_pairs) status = HR_NO_MEMORY;
  if (status == HR_OK) {
    evaluate(tco, &values);
    status = make_intervals(tco, &values);
  }
  free(values.paths);
  free(values.sums);
  free(values.of_options);
  free(values.of_pairs);
  return status == HR_OK ? check_sizes(tco, error) : no_memory(error);
}

/* ---- Notes ------------------------------------------------------------------------------------------ */

double hr__tco_missing(const struct hr__tco_option *option) {
  double missing = option->mean.unserved_gpu_hours, held = sum_of(option->mean.held_gpu_hours, option->mean.years);
  return missing > 0 ? missing / (missing + held) : 0;
}

bool hr__tco_serves(const struct hr_tco *tco, const struct hr__tco_option *option) {
  uint64_t most = 0;
  for (uint32_t k = 0; k < tco->n_options; k++)
    if (tco->options[k].runs[0].completed > most) most = tco->options[k].runs[0].completed;
  return hr__tco_missing(option) < 0.01 && (double)option->runs[0].completed >= 0.99 * (double)most;
}

static enum hr_status note_option(struct hr_tco *tco, const struct hr__tco_option *option) {
  const struct hr__tco_run *run = &option->runs[0];
  enum hr_status status = HR_OK;
  if (hr__tco_missing(option) > 0)
    status = hr_notes_add(&tco->notes,
                          "option '%.60s' has too few nodes: of the GPU hours that its jobs need, %.3g %% are missing",
                          option->name, 100 * hr__tco_missing(option));
  if (status == HR_OK && run->completed < run->submitted)
    status = hr_notes_add(&tco->notes,
                          "option '%.60s' completes %" PRIu64 " of %" PRIu64 " jobs; its work is that of fewer jobs",
                          option->name, run->completed, run->submitted);
  return status;
}

static enum hr_status add_notes(struct hr_tco *tco, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (uint32_t k = 0; k < tco->n_options && status == HR_OK; k++) status = note_option(tco, &tco->options[k]);
  return status == HR_OK ? HR_OK : no_memory(error);
}

/* ---- The comparison --------------------------------------------------------------------------------- */

static const struct hr_tco_spec defaults = {.years = 5,
                                            .growth = 1,
                                            .cloud_price = 1,
                                            .hardware_price = 1,
                                            .energy_price = 1,
                                            .wages = 1,
                                            .discount_rate = 0.08};

enum hr_status hr_tco(const struct hr_tco_config *config, struct hr_tco **tco, struct hr_error *error) {
  *tco = NULL;
  struct hr_tco *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return no_memory(error);
  fresh->config = *config;
  fresh->scenario = config->scenario;
  fresh->spec = config->scenario->tco ? *config->scenario->tco : defaults;
  fresh->confidence = config->scenario->replications.confidence;
  enum hr_status status = make_options(fresh, error);
  if (status == HR_OK) status = make_candidates(fresh, error);
  if (status == HR_OK) status = make_runs(fresh, error);
  if (status == HR_OK) status = make_results(fresh, error);
  if (status == HR_OK) status = add_notes(fresh, error);
  if (status == HR_OK)
    *tco = fresh;
  else
    hr_tco_destroy(fresh);
  return status;
}

void hr_tco_destroy(struct hr_tco *tco) {
  if (!tco) return;
  for (uint32_t k = 0; k < tco->n_options; k++) {
    struct hr__tco_option *option = &tco->options[k];
    for (uint32_t r = 0; option->runs && r < tco->n_simulated * tco->n_replications; r++) free(option->runs[r].pools);
    free(option->runs);
    free(option->pools);
  }
  free(tco->options);
  free(tco->pairs);
  hr__runner_destroy(tco->runner);
  hr_notes_finish(&tco->notes);
  free(tco);
}

const struct hr_notes *hr_tco_notes(const struct hr_tco *tco) {
  return &tco->notes;
}
