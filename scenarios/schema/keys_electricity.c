/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The key tables of `carbon` and `energy_price` of a pool or of the cluster. */

#include "headroom/unstable/series.h"
#include "scenarios/schema/keys.h"

#define WORD(name, text) text,
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
