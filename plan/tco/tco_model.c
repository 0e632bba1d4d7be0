/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Years of an option: from the use of its pools in a run of each year to costs, net present values and break-even
 * points.
 *
 * A year has 8,760 hours. The demand of the first year is that of the trace; each year it is multiplied by the growth.
 * The nodes of all pools grow in the same proportion, in whole nodes. A purchase is made at the begin of a year,
 * replaced at the begin of the first year in which it is older than its life, and sold for its residual value. At the
 * end of the last year, everything is sold at its value at that time; values fall linearly from the price to the
 * residual value. All other costs are paid at the end of their year:
 *
 *   NPV = sum over years y = 0, 1, ... of bought(y) / (1 + i)^y + (running(y) - sold(y)) / (1 + i)^(y + 1)
 *
 * Costs per hour use amortized purchases. With availability A, utilization U and ETTR E, useful GPU hours are capacity
 * x A x U x E, where U is GPU hours held / available GPU hours, and E is useful GPU hours / GPU hours held.
 */

#include "plan/tco/tco.h"

#define MAX_TOTAL_USD 1e12
#define MACRS_YEARS 6

/* ---- Amounts ----------------------------------------------------------------------------------------- */

static int64_t rounded(struct hr__tco_path *path, double usd) {
  if (fabs(usd) <= MAX_TOTAL_USD) return (int64_t)llround(usd * 1e6);
  path->too_large = true;
  return 0;
}

static void add(struct hr__tco_path *path, uint32_t year, enum hr_cost_part part, double usd) {
  path->uusd[year][part] += rounded(path, usd);
}

/* ---- Purchases and contracts ------------------------------------------------------------------------- */

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

/* Buys the missing items at the begin of each year. */
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

/* A reserved node keeps the price of the year in which its contract began, for the term of the contract. Owned nodes
   with only a price per hour are like nodes with contracts of a year. Elastic nodes have no term. */
static uint32_t life_of(const struct hr_tco *tco, const struct hr__tco_option *option, uint32_t i) {
  const struct hr_ownership *owned = hr__tco_source(tco, option, i)->ownership;
  uint32_t term_months = hr__tco_source(tco, option, i)->term_months;
  if (owned) return whole_years(owned->capital[0].life_years);
  if (hr_market_is_elastic(hr__tco_pool(tco, option, i)->market.market)) return 1;
  return term_months ? whole_years(term_months / 12.0) : option->contract_years;
}

void hr__tco_count_nodes(const struct hr_tco *tco, const struct hr__tco_option *option, uint32_t i, double *nodes) {
  double needed[HR_MAX_TCO_YEARS];
  struct cohorts cohorts = {.life = life_of(tco, option, i)};
  count_nodes(tco, hr__tco_pool(tco, option, i)->nodes, needed);
  fill(&cohorts, needed, tco->spec.years);
  for (uint32_t year = 0; year < tco->spec.years; year++) nodes[year] = in_use(&cohorts, year);
}

/* Returns the demand of a year / that of the run of this year. */
static double growth_of(const struct hr_tco *tco, uint32_t year) {
  return year < tco->n_simulated ? 1 : hr_compound(tco->spec.growth - 1, year);
}

/* ---- Income tax -------------------------------------------------------------------------------------- */

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

/* ---- Owned pools ------------------------------------------------------------------------------------- */

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

/* Adds the operation of `nodes` nodes in a year, of which the share `use` is in use. */
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
  double needed[HR_MAX_TCO_YEARS], in_year[HR_MAX_TCO_YEARS];
  int64_t before[HR_MAX_TCO_YEARS];
  count_nodes(tco, pool->nodes, needed);
  hr__tco_count_nodes(tco, option, i, in_year);
  for (uint32_t year = 0; year < tco->spec.years; year++) before[year] = hr__tco_year_uusd(path, year);
  for (uint32_t c = 0; c < owned->n_capital; c++) add_capital(tco, owned, &owned->capital[c], needed, path);
  for (uint32_t year = 0; year < tco->spec.years; year++) {
    const struct hr__tco_run *run = hr__tco_run_of(tco, option, year, replication);
    double nodes = in_year[year], hours = nodes * pool->gpus_per_node * HR_HOURS_PER_YEAR;
    double held = run->pools[i].used_gpu_hours * run->scale * growth_of(tco, year);
    path->gpus[year] += nodes * pool->gpus_per_node;
    path->capacity_gpu_hours[year] += hours;
    path->available_gpu_hours[year] += hours * (1 - run->pools[i].down_share);
    add_operation(tco, owned, nodes, hours > 0 ? fmin(1, held / hours) : 0, year, path);
    int64_t own_uusd = hr__tco_year_uusd(path, year) - before[year];
    add(path, year, HR_PART_STAFF, (double)own_uusd / 1e6 * owned->staff_share);
  }
}

/* ---- Clouds ------------------------------------------------------------------------------------------ */

static void add_reserved(const struct hr_tco *tco, const struct hr__tco_option *option, uint32_t i,
                         uint32_t replication, struct hr__tco_path *path) {
  const struct hr_pool_spec *pool = hr__tco_pool(tco, option, i);
  double needed[HR_MAX_TCO_YEARS], usd_h = (double)pool->market.price_uusd_h / 1e6;
  double price = pool->market.market == HR_MARKET_OWNED ? tco->spec.hardware_price : tco->spec.cloud_price;
  struct cohorts cohorts = {.life = life_of(tco, option, i)};
  count_nodes(tco, pool->nodes, needed);
  fill(&cohorts, needed, tco->spec.years);
  for (uint32_t year = 0; year < tco->spec.years; year++) {
    double nodes = in_use(&cohorts, year), hours = nodes * pool->gpus_per_node * HR_HOURS_PER_YEAR;
    path->gpus[year] += nodes * pool->gpus_per_node;
    path->capacity_gpu_hours[year] += hours;
    path->available_gpu_hours[year] +=
        hours * (1 - hr__tco_run_of(tco, option, year, replication)->pools[i].down_share);
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

/* ---- Figures ----------------------------------------------------------------------------------------- */

static double sum_of(const double *values, uint32_t years) {
  double sum = 0;
  for (uint32_t year = 0; year < years; year++) sum += values[year];
  return sum;
}

static double total_usd(const struct hr__tco_path *path) {
  int64_t sum = 0;
  for (uint32_t year = 0; year < path->years; year++) sum += hr__tco_year_uusd(path, year);
  return (double)sum / 1e6;
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
  double rate = tco->spec.discount_rate;
  path->figures[HR__TCO_AVAILABILITY] = ratio(available, capacity);
  path->figures[HR__TCO_UTILIZATION] = ratio(held, available);
  path->figures[HR__TCO_ETTR] = ratio(useful, held);
  path->figures[HR__TCO_GPU_HOUR] = ratio(total_usd(path), capacity);
  path->figures[HR__TCO_USEFUL_GPU_HOUR] = ratio(total_usd(path), useful);
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

/* ---- Break-even points ------------------------------------------------------------------------------- */

/* If the use is multiplied by x, the option costs F + V x and does x times the useful work. This work costs C x in the
   other option. Both costs are equal at x = F / (C - V). */
double hr__tco_break_even_utilization(const struct hr__tco_path *option, const struct hr__tco_path *other) {
  double load_usd = sum_of(option->load_usd, option->years);
  double other_usd = other->figures[HR__TCO_USEFUL_GPU_HOUR] * sum_of(option->useful_gpu_hours, option->years);
  if (!(other_usd > load_usd)) return (double)NAN;
  return option->figures[HR__TCO_UTILIZATION] * (total_usd(option) - load_usd) / (other_usd - load_usd);
}

double hr__tco_break_even_hours(const struct hr__tco_path *option, const struct hr__tco_path *other) {
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
