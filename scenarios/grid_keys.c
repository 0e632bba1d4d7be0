/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys of a sweep's grid. A new key is one line here, one in docs/reference/schemas/sweep.schema.json, and its use
 * in grid.c. */

#include "headroom/compare.h"
#include "headroom/sweep.h"
#include "scenarios/key_rows.h"

#define WORD(name, text) text,
static const char *const designs[] = {HR_DESIGN_TABLE(WORD) NULL};

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
