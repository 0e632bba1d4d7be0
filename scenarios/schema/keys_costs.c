/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The key tables of cost of ownership (`owned` of a pool, and `tco` of a scenario), and of `carbon` and `energy_price`
 * of a pool or of the cluster.
 *
 * Keys of the nodes in `owned` (price, life, residual value) become the first purchase; the entries of `capital` are
 * further ones.
 */

#include "headroom/unstable/ownership.h"
#include "headroom/unstable/series.h"
#include "scenarios/schema/keys.h"

#define WORD(name, text) text,
static const char *const amortizations[] = {HR_AMORTIZATION_TABLE(WORD) NULL};
static const char *const simulated_years[] = {"each-year", "first-year", NULL};
static const char *const depreciations[] = {"straight-line", "macrs-5", NULL};

#define MAX_YEARLY_FACTOR 10.0
#define YEARS REAL(0.01, 100), .unit = "years"
#define YEARLY_FACTOR REAL(0.1, MAX_YEARLY_FACTOR), DEFAULT("1")
#define RATE REAL(0, 1), .unit = "share"

/* ---- owned ------------------------------------------------------------------------------------------- */

#define CAPITAL struct hr_capital
static const struct hr__key capital_keys[] = {
    {"name", NAME, MUST, AT(TEXT, CAPITAL, name), HELP("The purchase, such as network, storage, spares or facility.")},
    {"usd_per_node", USD, AT(DOUBLE, CAPITAL, usd), HELP("Price per node. Or 'usd_per_gpu', or 'usd_per_kw'.")},
    {"usd_per_gpu", USD, AT(DOUBLE, CAPITAL, usd_per_gpu), HELP("Price per GPU.")},
    {"usd_per_kw", USD, AT(DOUBLE, CAPITAL, usd_per_kw),
     HELP("Price per kW of 'power_kw_per_node', for buildings and cooling.")},
    {"lifetime_years", YEARS, OTHERWISE("that of the nodes"), AT(DOUBLE, CAPITAL, life_years),
     HELP("Time over which the purchase is depreciated.")},
    {"residual_share", SHARE, DEFAULT("0"), AT(DOUBLE, CAPITAL, residual_share),
     HELP("Value at the end of its life, as a share of the price.")},
    {"maintenance_share_per_year", SHARE, OTHERWISE("that of 'owned'"), AT(DOUBLE, CAPITAL, maintenance_share),
     HELP("Maintenance contracts per year, as a share of the price.")},
    {"tax_share_per_year", SHARE, OTHERWISE("that of 'owned'"), AT(DOUBLE, CAPITAL, tax_share),
     HELP("Insurance and property tax per year, as a share of the price.")},
    {"price_per_year", REAL(0.1, MAX_YEARLY_FACTOR), OTHERWISE("'hardware_price_per_year' of 'tco'"),
     AT(DOUBLE, CAPITAL, price_factor_per_year),
     HELP("Price of a purchase a year later, relative to this one, for 'headroom tco'.")},
    END};

#define OWNERSHIP struct hr_ownership
const struct hr__key hr__owned_keys[] = {
    {"capex_usd_per_node", USD, MUST, HELP("Purchase price of a node.")},
    {"lifetime_years", YEARS, MUST, HELP("Time over which the purchase is depreciated.")},
    {"residual_share", SHARE, DEFAULT("0"),
     HELP("Value of a node at the end of its life, as a share of the purchase price.")},
    {"capital", LIST(0, 100, EACH(OBJECT(capital_keys))),
     HELP("Further purchases: network, storage, spares, building.")},
    {"amortization", CHOICE(amortizations), DEFAULT("straight-line"), AT(INTEGER, OWNERSHIP, amortization),
     HELP("How purchases become costs per year. straight-line: (price - residual value) / life. crf-annual: equal "
          "payments at the end of each year, with 'discount_rate'. pmt-monthly: equal payments at the end of each "
          "month, with a twelfth of 'discount_rate'.")},
    {"discount_rate", RATE, DEFAULT("0"), AT(DOUBLE, OWNERSHIP, discount_rate),
     HELP("Cost of capital per year, for 'amortization'.")},
    {"power_kw_per_node", REAL(0, 1e6), .unit = "kW", OTHERWISE("board power of the GPUs plus 30 % for the host"),
     AT(DOUBLE, OWNERSHIP, power_kw), HELP("Provisioned power, used or not.")},
    {"load", SHARE, DEFAULT("1"), AT(DOUBLE, OWNERSHIP, load),
     HELP("Power that a node in use draws, as a share of 'power_kw_per_node'.")},
    {"idle_load", SHARE, OTHERWISE("'load'"), AT(DOUBLE, OWNERSHIP, idle_load),
     HELP("Power that an idle node draws, as a share of 'power_kw_per_node'. The price of the pool is computed for "
          "nodes in use; 'headroom tco' uses both.")},
    {"pue", REAL(1, 10), DEFAULT("1.55"), AT(DOUBLE, OWNERSHIP, pue), HELP("Power usage effectiveness of the site.")},
    {"usd_per_kwh", USD_UP_TO(1e6), DEFAULT("0"), AT(DOUBLE, OWNERSHIP, usd_per_kwh), HELP("Price of energy.")},
    {"colocation_usd_per_kw_month", USD, DEFAULT("0"), AT(DOUBLE, OWNERSHIP, colocation_usd_per_kw_month),
     HELP("Price of provisioned power.")},
    {"maintenance_share_per_year", SHARE, DEFAULT("0"),
     HELP("Maintenance contracts per year, as a share of purchase prices.")},
    {"tax_share_per_year", SHARE, DEFAULT("0"),
     HELP("Insurance and property tax per year, as a share of purchase prices.")},
    {"staff_usd_per_node_year", USD, DEFAULT("0"), AT(DOUBLE, OWNERSHIP, staff_usd_per_year),
     HELP("Staff per node and year.")},
    {"staff_share", REAL(0, 10), .unit = "share", DEFAULT("0"), AT(DOUBLE, OWNERSHIP, staff_share),
     HELP("Staff, network and spare parts, as a share added to the other costs. Usual values are 0.2 to 0.35.")},
    END};

/* ---- tco --------------------------------------------------------------------------------------------- */

#define OPTION struct hr_tco_option
static const struct hr__key option_keys[] = {
    {"name", NAME, MUST, AT(TEXT, OPTION, name), HELP("Name in results.")},
    {"pools", LIST(1, 100, EACH(NAME, .store = HR__STORE_TEXT)), MUST, AS_ARRAY(OPTION, pools, n_pools),
     HELP("The pools that have nodes. All other pools are run without nodes.")},
    {"staff_usd_per_year", USD, DEFAULT("0"), AT(DOUBLE, OPTION, staff_usd_per_year),
     HELP("Staff that does not depend on the number of nodes.")},
    {"contract_years", WHOLE(1, HR_MAX_TCO_YEARS), DEFAULT("1"), AT(INTEGER, OPTION, contract_years),
     HELP("For how long reserved nodes keep the price of the year in which they were reserved, if their pool has no "
          "'term'.")},
    END};

#define TCO struct hr_tco_spec
const struct hr__key hr__tco_keys[] = {
    {"years", WHOLE(1, HR_MAX_TCO_YEARS), DEFAULT("5"), AT(INTEGER, TCO, years),
     HELP("Number of years that are compared.")},
    {"growth_per_year", YEARLY_FACTOR, AT(DOUBLE, TCO, growth),
     HELP("Demand of a year, relative to the year before. Nodes are bought or rented in proportion.")},
    {"simulate", CHOICE(simulated_years), DEFAULT("each-year"), AT(INTEGER, TCO, first_year_only),
     HELP("Which years are simulated if the demand changes. each-year: all, with their nodes, and with jobs of the "
          "trace "
          "that are repeated or left out at random. first-year: only the first; the use of its nodes is scaled.")},
    {"cloud_price_per_year", YEARLY_FACTOR, AT(DOUBLE, TCO, cloud_price),
     HELP("Prices of reserved, on-demand and spot nodes in a year, relative to the year before.")},
    {"hardware_price_per_year", YEARLY_FACTOR, AT(DOUBLE, TCO, hardware_price),
     HELP("Purchase prices in a year, relative to the year before.")},
    {"energy_price_per_year", YEARLY_FACTOR, AT(DOUBLE, TCO, energy_price),
     HELP("Prices of energy and colocation in a year, relative to the year before.")},
    {"wages_per_year", YEARLY_FACTOR, AT(DOUBLE, TCO, wages),
     HELP("Cost of staff in a year, relative to the year before.")},
    {"discount_rate", RATE, DEFAULT("0.08"), AT(DOUBLE, TCO, discount_rate),
     HELP("Discount rate per year of net present values.")},
    {"tax_rate", RATE, DEFAULT("0"), AT(DOUBLE, TCO, tax_rate),
     HELP("Rate of income tax, which costs and depreciation reduce. 0: taxes are ignored.")},
    {"tax_depreciation", CHOICE(depreciations), DEFAULT("straight-line"), AT(INTEGER, TCO, macrs),
     HELP("Depreciation for income tax. macrs-5: MACRS of five years, 20, 32, 19.2, 11.52, 11.52 and 5.76 %.")},
    {"options", LIST(1, HR_MAX_TCO_OPTIONS, EACH(OBJECT(option_keys))), AS_ARRAY(TCO, options, n_options),
     OTHERWISE("each pool with a market, alone"), HELP("The alternatives to compare.")},
    END};

/* ---- carbon, energy_price --------------------------------------------------------------------------------- */

static const char *const signals[] = {HR_CARBON_SIGNAL_TABLE(WORD) NULL};
const char *const hr__carbon_units[] = {"g/kWh", "kg/MWh", "lb/MWh", NULL};
const char *const hr__price_units[] = {"USD/kWh", "USD/MWh", NULL};
static const char *const gap_rules[] = {"error", "hold", NULL};
static const char *const end_rules[] = {"hold", "repeat", NULL};

/* The keys of a series in a file. */
#define SERIES(units, unit_default)                                                                                    \
  {"file", PATH,                                                                                                       \
   HELP("A CSV file with a column of stamps and columns of values, relative to the scenario's folder.")},              \
      {"zone", NAME, OTHERWISE("the only one of the file"),                                                            \
       HELP("The zone of the grid: the name of a column, or a value of the column 'zone'.")},                          \
      {"column", NAME, OTHERWISE("the only one, or that of the zone"), HELP("The column of values.")},                 \
      {"unit", CHOICE(units), DEFAULT(unit_default), HELP("Unit of the values in the file.")},                         \
      {"utc", BOOLEAN, DEFAULT("false"),                                                                               \
       HELP("Stamps without an offset are in UTC. Otherwise they are refused, unless the name of their column says "   \
            "UTC.")},                                                                                                  \
      {"gaps", CHOICE(gap_rules), DEFAULT("error"),                                                                    \
       HELP("What a missing stamp means. error: the file is refused. hold: the value before it applies.")},            \
      {"after", CHOICE(end_rules), DEFAULT("hold"),                                                                    \
       HELP("What applies after the end of the file. hold: its last value. repeat: the file again.")},                 \
  {                                                                                                                    \
    "start", NAME, OTHERWISE("the dates of the trace; for a trace without dates the first stamp of the file"),         \
        HELP("UTC of time zero of the trace's clock, such as 2022-10-19T16:00Z.")                                      \
  }

const struct hr__key hr__carbon_keys[] = {
    SERIES(hr__carbon_units, "g/kWh"),
    {"g_per_kwh", REAL(0, 1e6), .unit = "g/kWh", HELP("Instead of 'file': the carbon intensity at all times.")},
    {"signal", CHOICE(signals), DEFAULT("average"), AT(INTEGER, struct hr_electricity, signal),
     HELP("What the values count. average: all electricity that is produced. marginal: the power plants that react to "
          "a change of demand. All pools must have the same.")},
    {"embodied_kg_per_gpu", REAL(0, 5000), .unit = "kg", DEFAULT("0"), SCALED(1e9, struct hr_electricity, embodied_ug),
     HELP("Carbon of the production of a GPU and of its part of the node, spread evenly over 'life_h'.")},
    {"life_h", REAL(1000, 1e7), .unit = "h", DEFAULT("26280"), SCALED(3600e6, struct hr_electricity, life_us),
     HELP("Hours over which embodied carbon is spread. The default is three years.")},
    END};

const struct hr__key hr__energy_price_keys[] = {
    SERIES(hr__price_units, "USD/kWh"),
    {"usd_per_kwh", REAL(-100, 100), .unit = "USD", HELP("Instead of 'file': the price at all times.")},
    END};
