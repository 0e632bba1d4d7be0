/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The key tables of the documents beside scenarios: suites of runs, baselines and grids of sweeps.
 */

#include "headroom/unstable/experiments.h"
#include "scenarios/schema/keys.h"

#define MAX_SUITE_RUNS 10000.0
#define MAX_GOALS 100.0
#define MAX_GROUPS 1e6 /* maximum number of tenants of a trace */
#define MAX_LINES 1e6  /* maximum number of lines of an encoded list */
#define MAX_FIGURE 1e18

#define WORD(name, text) text,
static const char *const worse[] = {HR_WORSE_TABLE(WORD) NULL};
static const char *const digests[] = {"exact", "any", NULL};
static const char *const profiles[] = {HR_TOLERANCE_PROFILE_TABLE(WORD) NULL};
static const char *const designs[] = {HR_DESIGN_TABLE(WORD) NULL};

#define SCHEMA_KEY                                                                                                     \
  { "$schema", TEXT(0, MAX_TEXT), HELP("The schema of this file, for editors. Ignored.") }
#define DESCRIPTION_KEY                                                                                                \
  { "description", TEXT(0, MAX_TEXT), HELP("Purpose, for people.") }

/* ---- Suites ----------------------------------------------------------------------------------------- */

static const struct hr__key tolerance_keys[] = {
    {"relative", REAL(0, 1e6), DEFAULT("0"), AT(DOUBLE, struct hr_tolerance, relative),
     HELP("Allowed change, as a share of the value in the baseline.")},
    {"absolute", REAL(0, MAX_FIGURE), DEFAULT("0"), AT(DOUBLE, struct hr_tolerance, absolute),
     HELP("Allowed change, in the unit of the metric.")},
    {"worse", CHOICE(worse), AT(INTEGER, struct hr_tolerance, worse), HELP("The direction in which it gets worse.")},
    END};

static const struct hr__key tolerances_keys[] = {
    {"profile", CHOICE(profiles), OTHERWISE("slo"),
     HELP("What applies to all other metrics. slo: regressions of service and cost. exact: every metric must be equal. "
          "A text instead of the object names only a profile.")},
    {"only_worse", BOOLEAN, HELP("A metric that improved is never a failure.")},
    {"digest", CHOICE(digests), HELP("exact: digests must be equal. any: they may differ.")},
    {"*", OBJECT(tolerance_keys), HELP("Tolerance of this metric. *: all metrics without one of their own.")},
    END};

#define RUN struct hr_suite_run
static const struct hr__key suite_run_keys[] = {
    {"name", NAME, MUST, AT(TEXT, RUN, name), HELP("Name, different from those of other runs.")},
    {"scenario", PATH, MUST, AT(FILE, RUN, scenario), HELP("Scenario, relative to the folder of the suite.")},
    {"trace", PATH, AT(FILE, RUN, trace), OTHERWISE("that of the scenario"),
     HELP("Trace, relative to the folder of the suite.")},
    {"policies", LIST(1, MAX_MEMBERS, EACH(PATH, .store = HR__STORE_TEXT)), AS_ARRAY(RUN, policies, n_policies),
     HELP("One run with each of these policies.")},
    {"set", OBJECT(EACH(SCALAR)), HELP("Overrides: values by path.")},
    {"tolerances", OBJECT(tolerances_keys), HELP("Tolerances of this run.")},
    {"goals", LIST(0, MAX_GOALS, EACH(NAME, .store = HR__STORE_PLACED)), AS_ARRAY(RUN, goals, n_goals),
     HELP("Goals that this run must meet, such as wait_s.p95 of interactive <= 10 min.")},
    END};

static const struct hr__key suite_keys[] = {
    SCHEMA_KEY,
    DESCRIPTION_KEY,
    {"runs", LIST(1, MAX_SUITE_RUNS, EACH(OBJECT(suite_run_keys))), MUST, HELP("The runs.")},
    {"tolerances", OBJECT(tolerances_keys), HELP("Tolerances of all runs.")},
    {"goals", LIST(0, MAX_GOALS, EACH(NAME, .store = HR__STORE_PLACED)), AS_ARRAY(struct hr_suite, goals, n_goals),
     HELP("Goals that every run must meet.")},
    END};
const struct hr__key hr__suite_keys = {"", OBJECT(suite_keys)};

/* ---- Baselines -------------------------------------------------------------------------------------- */

#define FIGURE EACH(REAL(-MAX_FIGURE, MAX_FIGURE))
#define GROUPS .type = HR__KEY_OBJECT, .max = MAX_GROUPS, .keys = EACH(OBJECT(FIGURE))
#define LINES LIST(0, MAX_LINES, EACH(TEXT(0, MAX_NAME)))
#define BASELINE struct hr_baseline_run

static const struct hr__key baseline_run_keys[] = {
    {"name", PATH, MUST, AT(TEXT, BASELINE, name)},
    {"policy", PATH, MUST, AT(TEXT, BASELINE, policy)},
    {"seed", SEED, MUST, AT(INTEGER, BASELINE, seed)},
    {"trace", PATH, MUST, AT(TEXT, BASELINE, trace)},
    {"trace_digest", NAME, MUST},
    {"inputs", OBJECT(EACH(NAME)), MUST},
    {"scenario", TEXT(0, HR_MAX_BASELINE_SCENARIO_BYTES), AT(TEXT, BASELINE, scenario)},
    {"replications", WHOLE(1, 1e6), AT(INTEGER, BASELINE, replications)},
    {"digest", NAME, MUST},
    {"metrics", OBJECT(FIGURE), MUST},
    {"by_class", GROUPS},
    {"by_tenant", GROUPS},
    {"by_pool", GROUPS},
    {"samples", .type = HR__KEY_OBJECT, .max = MAX_GROUPS, .keys = EACH(LIST(1, HR_MAX_REPLICATIONS, FIGURE))},
    {"jobs", WHOLE(0, HR_NONE), AT(INTEGER, BASELINE, n_jobs)},
    {"decisions", WHOLE(0, MAX_EXACT), AT(INTEGER, BASELINE, decisions)},
    {"spacing", WHOLE(1, MAX_EXACT), DEFAULT("1"), AT(INTEGER, BASELINE, spacing)},
    {"chain", LINES},
    {"starts", LINES},
    END};

static const struct hr__key baseline_keys[] = {{"format", WHOLE(HR_BASELINE_FORMAT, HR_BASELINE_FORMAT), MUST},
                                               {"version", NAME, MUST, AT(TEXT, struct hr_baseline, version)},
                                               {"runs", LIST(0, MAX_SUITE_RUNS, EACH(OBJECT(baseline_run_keys))), MUST},
                                               END};
const struct hr__key hr__baseline_keys = {"", OBJECT(baseline_keys)};

/* ---- Grids of sweeps -------------------------------------------------------------------------------- */

static const struct hr__key design_keys[] = {
    {"kind", CHOICE(designs), MUST, AT(INTEGER, struct hr_grid, design), HELP("How points are chosen.")},
    {"points", WHOLE(1, 1e6), AT(INTEGER, struct hr_grid, n_points), HELP("Number of points of a sample.")},
    END};

static const struct hr__key grid_keys[] = {
    SCHEMA_KEY,
    DESCRIPTION_KEY,
    {"scenario", PATH, MUST, AT(TEXT, struct hr_grid, scenario), HELP("Scenario, relative to the folder of the grid.")},
    {"set", LIST(0, MAX_MEMBERS, EACH(PATH, .store = HR__STORE_TEXT)), AS_ARRAY(struct hr_grid, set, n_set),
     HELP("Overrides PATH=VALUE of all points.")},
    {"axes", LIST(1, HR__MAX_AXES, EACH(OBJECT(hr__axis_keys))), MUST, HELP("What varies.")},
    {"design", OBJECT(design_keys), .store = HR__STORE_PART, HELP("Which points are evaluated.")},
    {"replications", WHOLE(1, HR_MAX_REPLICATIONS), DEFAULT("1"), AT(INTEGER, struct hr_grid, replications),
     HELP("Maximum number of replications of each point.")},
    {"seed", SEED, DEFAULT("1"), AT(INTEGER, struct hr_grid, seed), HELP("Seed of the design.")},
    {"max_runs", WHOLE(1, 1e9), DEFAULT("100000"), AT(INTEGER, struct hr_grid, max_runs),
     HELP("A grid with more runs is refused.")},
    END};
const struct hr__key hr__grid_keys = {"", OBJECT(grid_keys)};
