/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A new key of a suite is one line here, one in docs/reference/schemas/check.schema.json, and its use in suite.c; of a
   baseline one here, one in docs/reference/schemas/baseline.schema.json, its use in baseline.c and where plan/ writes
   it. */

#include "scenarios/schema/experiment_keys.h"

#include "headroom/unstable/experiments.h"
#include "scenarios/schema/keys.h"

#define MOST_RUNS 10000.0
#define MOST_GROUPS 1e6 /* tenants of a trace */
#define MOST_LINES 1e6  /* of what is coded */
#define MAX_FIGURE 1e18

#define WORD(name, text) text,
static const char *const worse[] = {HR_WORSE_TABLE(WORD) NULL};
static const char *const digests[] = {"exact", "any", NULL};

#define TOLERANCES(path)                                                                                               \
  OBJECT(path), BOOLEAN(path ".only_worse"), CHOICE(path ".digest", digests), OBJECT(path ".*"),                       \
      REAL(path ".*.relative", 0, 1e6), REAL(path ".*.absolute", 0, MAX_FIGURE), CHOICE(path ".*.worse", worse)

static const struct hr__key suite_keys[] = {OBJECT(""),
                                            TEXT("$schema", 0, MAX_TEXT),
                                            TEXT("description", 0, MAX_TEXT),
                                            {"runs", HR__KEY_LIST, true, 1, MOST_RUNS, NULL},
                                            OBJECT("runs.*"),
                                            REQUIRED_TEXT("runs.*.name", MAX_NAME),
                                            REQUIRED_TEXT("runs.*.scenario", MAX_TEXT),
                                            TEXT("runs.*.trace", 1, MAX_TEXT),
                                            LIST("runs.*.policies", 1, MAX_MEMBERS),
                                            TEXT("runs.*.policies.*", 1, MAX_TEXT),
                                            OBJECT("runs.*.set"),
                                            SCALAR("runs.*.set.*"),
                                            TOLERANCES("runs.*.tolerances"),
                                            TOLERANCES("tolerances"),
                                            {NULL, HR__KEY_OBJECT, false, 0, 0, NULL}};

const struct hr__key *hr__suite_keys(void) {
  return suite_keys;
}

#define GROUPS(path)                                                                                                   \
  {path, HR__KEY_OBJECT, false, 0, MOST_GROUPS, NULL}, OBJECT(path ".*"), REAL(path ".*.*", -MAX_FIGURE, MAX_FIGURE)

static const struct hr__key baseline_keys[] = {OBJECT(""),
                                               REQUIRED_WHOLE("format", HR_BASELINE_FORMAT, HR_BASELINE_FORMAT),
                                               REQUIRED_TEXT("version", MAX_NAME),
                                               {"runs", HR__KEY_LIST, true, 0, MOST_RUNS, NULL},
                                               OBJECT("runs.*"),
                                               REQUIRED_TEXT("runs.*.name", MAX_TEXT),
                                               REQUIRED_TEXT("runs.*.policy", MAX_TEXT),
                                               {"runs.*.seed", HR__KEY_SEED, true, 0, MAX_EXACT, NULL},
                                               REQUIRED_TEXT("runs.*.trace", MAX_TEXT),
                                               REQUIRED_TEXT("runs.*.trace_digest", MAX_NAME),
                                               REQUIRED_OBJECT("runs.*.inputs"),
                                               TEXT("runs.*.inputs.*", 1, MAX_NAME),
                                               WHOLE("runs.*.replications", 1, 1e6),
                                               REQUIRED_TEXT("runs.*.digest", MAX_NAME),
                                               REQUIRED_OBJECT("runs.*.metrics"),
                                               REAL("runs.*.metrics.*", -MAX_FIGURE, MAX_FIGURE),
                                               GROUPS("runs.*.by_class"),
                                               GROUPS("runs.*.by_tenant"),
                                               GROUPS("runs.*.by_pool"),
                                               {"runs.*.samples", HR__KEY_OBJECT, false, 0, MOST_GROUPS, NULL},
                                               LIST("runs.*.samples.*", 1, HR_MAX_REPLICATIONS),
                                               REAL("runs.*.samples.*.*", -MAX_FIGURE, MAX_FIGURE),
                                               WHOLE("runs.*.jobs", 0, HR_NONE),
                                               WHOLE("runs.*.decisions", 0, MAX_EXACT),
                                               WHOLE("runs.*.spacing", 1, MAX_EXACT),
                                               LIST("runs.*.chain", 0, MOST_LINES),
                                               TEXT("runs.*.chain.*", 0, MAX_NAME),
                                               LIST("runs.*.starts", 0, MOST_LINES),
                                               TEXT("runs.*.starts.*", 0, MAX_NAME),
                                               {NULL, HR__KEY_OBJECT, false, 0, 0, NULL}};

const struct hr__key *hr__baseline_keys(void) {
  return baseline_keys;
}

/* The keys of a sweep's grid. A new key is one line here, one in docs/reference/schemas/sweep.schema.json, and its use
 * in grid.c. */

#define KEYS_WORD(name, text) text,
static const char *const designs[] = {HR_DESIGN_TABLE(KEYS_WORD) NULL};

static const struct hr__key keys[] = {OBJECT(""),
                                      TEXT("$schema", 0, MAX_TEXT),
                                      TEXT("description", 0, MAX_TEXT),
                                      REQUIRED_TEXT("scenario", MAX_TEXT),
                                      LIST("set", 0, MAX_MEMBERS),
                                      TEXT("set.*", 1, MAX_TEXT),
                                      {"axes", HR__KEY_LIST, true, 1, HR__MOST_AXES, NULL},
                                      OBJECT("axes.*"),
                                      TEXT("axes.*.name", 1, MAX_NAME),
                                      AXIS("axes.*"),
                                      OBJECT("design"),
                                      {"design.kind", HR__KEY_CHOICE, true, 0, 0, designs},
                                      WHOLE("design.points", 1, 1e6),
                                      WHOLE("replications", 1, HR_MAX_REPLICATIONS),
                                      {"seed", HR__KEY_SEED, false, 0, MAX_EXACT, NULL},
                                      WHOLE("max_runs", 1, 1e9),
                                      {NULL, HR__KEY_OBJECT, false, 0, 0, NULL}};

const struct hr__key *hr__grid_keys(void) {
  return keys;
}
