/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys of a sweep's grid. A new key is one line here, one in docs/sweep.schema.json, and its use in grid.c. */

#include "scenarios/keys.h"

#include "headroom/compare.h"
#include "headroom/sweep.h"
#include "scenarios/grid.h"

#define WORD(name, text) text,
static const char *const designs[] = {HR_DESIGN_TABLE(WORD) NULL};
static const char *const scales[] = {"linear", "log", NULL};

#define MAX_TEXT 10000.0
#define MAX_NAME 200.0
#define MAX_MEMBERS 1000.0
#define MAX_NUMBER 1e15
#define MAX_EXACT 0x1p53
#define LEAST_STEP 1e-12

static const struct hr__key keys[] = {{"", HR__KEY_OBJECT, false, 0, MAX_MEMBERS, NULL},
                                      {"$schema", HR__KEY_TEXT, false, 0, MAX_TEXT, NULL},
                                      {"description", HR__KEY_TEXT, false, 0, MAX_TEXT, NULL},
                                      {"scenario", HR__KEY_TEXT, true, 1, MAX_TEXT, NULL},
                                      {"set", HR__KEY_LIST, false, 0, MAX_MEMBERS, NULL},
                                      {"set.*", HR__KEY_TEXT, false, 1, MAX_TEXT, NULL},
                                      {"axes", HR__KEY_LIST, true, 1, HR__MOST_AXES, NULL},
                                      {"axes.*", HR__KEY_OBJECT, false, 0, MAX_MEMBERS, NULL},
                                      {"axes.*.name", HR__KEY_TEXT, false, 1, MAX_NAME, NULL},
                                      {"axes.*.path", HR__KEY_TEXT, false, 1, MAX_NAME, NULL},
                                      {"axes.*.values", HR__KEY_LIST, false, 1, HR__MOST_LEVELS, NULL},
                                      {"axes.*.values.*", HR__KEY_SCALAR, false, 0, 0, NULL},
                                      {"axes.*.from", HR__KEY_REAL, false, -MAX_NUMBER, MAX_NUMBER, NULL},
                                      {"axes.*.to", HR__KEY_REAL, false, -MAX_NUMBER, MAX_NUMBER, NULL},
                                      {"axes.*.step", HR__KEY_REAL, false, LEAST_STEP, MAX_NUMBER, NULL},
                                      {"axes.*.points", HR__KEY_WHOLE, false, 2, HR__MOST_LEVELS, NULL},
                                      {"axes.*.scale", HR__KEY_CHOICE, false, 0, 0, scales},
                                      {"axes.*.settings", HR__KEY_LIST, false, 1, HR__MOST_LEVELS, NULL},
                                      {"axes.*.settings.*", HR__KEY_OBJECT, false, 0, MAX_MEMBERS, NULL},
                                      {"axes.*.settings.*.label", HR__KEY_TEXT, true, 1, MAX_NAME, NULL},
                                      {"axes.*.settings.*.set", HR__KEY_LIST, true, 0, MAX_MEMBERS, NULL},
                                      {"axes.*.settings.*.set.*", HR__KEY_TEXT, false, 1, MAX_TEXT, NULL},
                                      {"design", HR__KEY_OBJECT, false, 0, MAX_MEMBERS, NULL},
                                      {"design.kind", HR__KEY_CHOICE, true, 0, 0, designs},
                                      {"design.points", HR__KEY_WHOLE, false, 1, 1e6, NULL},
                                      {"replications", HR__KEY_WHOLE, false, 1, HR_MAX_REPLICATIONS, NULL},
                                      {"seed", HR__KEY_SEED, false, 0, MAX_EXACT, NULL},
                                      {"max_runs", HR__KEY_WHOLE, false, 1, 1e9, NULL},
                                      {NULL, HR__KEY_OBJECT, false, 0, 0, NULL}};

const struct hr__key *hr__grid_keys(void) {
  return keys;
}
