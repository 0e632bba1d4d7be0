/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_KEY_ROWS_H
#define HR_SCENARIOS_KEY_ROWS_H

/* Rows of tables of keys, a key each, for those files that hold such a table. */

#include "scenarios/grid.h"
#include "scenarios/keys.h"

#define MAX_EXACT 0x1p53 /* the last whole number before which JSON readers agree */
#define MAX_TEXT 10000.0
#define MAX_NAME 200.0
#define MAX_MEMBERS 1000.0
#define MAX_NUMBER 1e15
#define LEAST_STEP 1e-12

#define OBJECT(path)                                                                                                   \
  { path, HR__KEY_OBJECT, false, 0, MAX_MEMBERS, NULL }
#define LIST(path, least, most)                                                                                        \
  { path, HR__KEY_LIST, false, least, most, NULL }
#define TEXT(path, least, most)                                                                                        \
  { path, HR__KEY_TEXT, false, least, most, NULL }
#define WHOLE(path, least, most)                                                                                       \
  { path, HR__KEY_WHOLE, false, least, most, NULL }
#define REAL(path, least, most)                                                                                        \
  { path, HR__KEY_REAL, false, least, most, NULL }
#define BOOLEAN(path)                                                                                                  \
  { path, HR__KEY_BOOLEAN, false, 0, 0, NULL }
#define CHOICE(path, words)                                                                                            \
  { path, HR__KEY_CHOICE, false, 0, 0, words }
#define SCALAR(path)                                                                                                   \
  { path, HR__KEY_SCALAR, false, 0, 0, NULL }
#define REQUIRED_OBJECT(path)                                                                                          \
  { path, HR__KEY_OBJECT, true, 0, MAX_MEMBERS, NULL }
#define REQUIRED_TEXT(path, most)                                                                                      \
  { path, HR__KEY_TEXT, true, 1, most, NULL }
#define REQUIRED_WHOLE(path, least, most)                                                                              \
  { path, HR__KEY_WHOLE, true, least, most, NULL }
#define REQUIRED_REAL(path, least, most)                                                                               \
  { path, HR__KEY_REAL, true, least, most, NULL }

/* The levels of an axis. */
static const char *const hr__scales[] = {"linear", "log", NULL};

#define AXIS(axis)                                                                                                     \
  TEXT(axis ".path", 1, MAX_NAME), LIST(axis ".values", 1, HR__MOST_LEVELS), SCALAR(axis ".values.*"),                 \
      REAL(axis ".from", -MAX_NUMBER, MAX_NUMBER), REAL(axis ".to", -MAX_NUMBER, MAX_NUMBER),                          \
      REAL(axis ".step", LEAST_STEP, MAX_NUMBER), WHOLE(axis ".points", 2, HR__MOST_LEVELS),                           \
      CHOICE(axis ".scale", hr__scales), LIST(axis ".settings", 1, HR__MOST_LEVELS), OBJECT(axis ".settings.*"),       \
      REQUIRED_TEXT(axis ".settings.*.label", MAX_NAME),                                                               \
      {axis ".settings.*.set", HR__KEY_LIST, true, 0, MAX_MEMBERS, NULL}, TEXT(axis ".settings.*.set.*", 1, MAX_TEXT)

#endif
