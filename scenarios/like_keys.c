/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys of a model of a workload. A new one is a line here, one in docs/reference/schemas/like.schema.json, its use
   in like_model.c, and where workload/ writes it. */

#include "scenarios/like_keys.h"

#include "headroom/cluster.h"
#include "headroom/unstable/like.h"
#include "scenarios/schema/keys.h"

#define MOST_FACTOR 1e6
#define MOST_SECONDS 1e11   /* HR_MAX_INPUT_US */
#define MOST_TYPES 100000.0 /* bytes of a list of them */
#define MOST_RATIO 1e9
#define MOST_CPU 1e9
#define MOST_MIB 1073741824.0
#define LEAST_SHARE 0.001 /* so that what is put off comes one day */
#define LEAST_TREND 0.001
#define BAND "bands.*"
#define SIZE BAND ".sizes.*"
#define ASK SIZE ".asks.*"
#define CELL SIZE ".cells.*"
#define OUTCOMES SIZE ".outcomes.*"

/* A list of so many numbers. */
#define NUMBERS(path, least_many, most_many, least, most)                                                              \
  {path, HR__KEY_LIST, true, least_many, most_many, NULL}, {                                                           \
    path ".*", HR__KEY_REAL, true, least, most, NULL                                                                   \
  }
#define OPTIONAL_NUMBERS(path, n, least, most)                                                                         \
  LIST(path, n, n), {                                                                                                  \
    path ".*", HR__KEY_REAL, true, least, most, NULL                                                                   \
  }
#define REQUIRED_LIST(path, least, most)                                                                               \
  { path, HR__KEY_LIST, true, least, most, NULL }

#define WORD(name, text) text,
static const char *const classes[] = {HR_JOB_CLASS_TABLE(WORD) NULL};

static const struct hr__key keys[] = {OBJECT(""),
                                      REQUIRED_WHOLE("headroom_workload", 1, 1),
                                      TEXT("$schema", 0, MAX_TEXT),
                                      REQUIRED_TEXT("name", MAX_NAME),
                                      TEXT("source", 0, MAX_TEXT),
                                      NUMBERS("hours", 24, 24, 0, MOST_FACTOR),
                                      NUMBERS("weekdays", 7, 7, 0, MOST_FACTOR),
                                      OPTIONAL_NUMBERS("levels", HR_LIKE_LEVELS, 0, MOST_FACTOR),
                                      OPTIONAL_NUMBERS("admits", HR_LIKE_LEVELS, LEAST_SHARE, 1),
                                      LIST("trend", 1, HR_LIKE_MOST_WEEKS),
                                      {"trend.*", HR__KEY_REAL, true, LEAST_TREND, MOST_FACTOR, NULL},
                                      OPTIONAL_NUMBERS("trend_levels", HR_LIKE_LEVELS, 0, MOST_FACTOR),
                                      OPTIONAL_NUMBERS("trend_admits", HR_LIKE_LEVELS, LEAST_SHARE, 1),
                                      REQUIRED_LIST("bands", 1, HR_LIKE_MOST_BANDS),
                                      OBJECT(BAND),
                                      REQUIRED_REAL(BAND ".jobs_per_day", 0, 1e12),
                                      REAL(BAND ".day_variance", 0, 100),
                                      REAL(BAND ".day_correlation", 0, 0.99),
                                      NUMBERS(BAND ".weeks", 1, HR_LIKE_MOST_WEEKS, 0, MOST_FACTOR),
                                      NUMBERS(BAND ".shifts", 1, HR_LIKE_MOST_WEEKS, -4, 4),
                                      NUMBERS(BAND ".length_shifts", 1, HR_LIKE_MOST_WEEKS, -4, 4),
                                      REQUIRED_LIST(BAND ".sizes", 1, HR_LIKE_MOST_SIZES),
                                      OBJECT(SIZE),
                                      REQUIRED_REAL(SIZE ".share", 0, MOST_FACTOR),
                                      REAL(SIZE ".repeats", 0, 1),
                                      REAL(SIZE ".most_gpu_s", 0, 1e18),
                                      REQUIRED_LIST(SIZE ".asks", 1, HR_LIKE_MOST_ASKS),
                                      OBJECT(ASK),
                                      REQUIRED_REAL(ASK ".share", 0, MOST_FACTOR),
                                      REQUIRED_WHOLE(ASK ".gpus", 0, HR_MAX_GPUS),
                                      WHOLE(ASK ".tasks", 1, HR_MAX_GPUS),
                                      WHOLE(ASK ".gpu_milli", 1, 1000),
                                      WHOLE(ASK ".cpu_milli", 0, MOST_CPU),
                                      WHOLE(ASK ".mem_mib", 0, MOST_MIB),
                                      TEXT(ASK ".gpu_type", 1, MOST_TYPES),
                                      CHOICE(ASK ".class", classes),
                                      REQUIRED_LIST(SIZE ".cells", 1, HR_LIKE_MOST_CELLS),
                                      OBJECT(CELL),
                                      REQUIRED_REAL(CELL ".share", 0, MOST_FACTOR),
                                      REAL(CELL ".together", 0, 1),
                                      OPTIONAL_NUMBERS(CELL ".spreads", HR_LIKE_KNOTS, 0, 1),
                                      OPTIONAL_NUMBERS(CELL ".alike", HR_LIKE_PAUSES, 0, 0.99),
                                      REAL(CELL ".steady", 0, 1),
                                      OPTIONAL_NUMBERS(CELL ".holds", HR_LIKE_PAUSES, 0, 1),
                                      REAL(CELL ".gaps_together", 0, 1),
                                      NUMBERS(CELL ".jobs", HR_LIKE_KNOTS, HR_LIKE_KNOTS, 1, 1e9),
                                      NUMBERS(CELL ".gaps_s", HR_LIKE_KNOTS, HR_LIKE_KNOTS, 0, MOST_SECONDS),
                                      NUMBERS(CELL ".run_s", HR_LIKE_RUN_KNOTS, HR_LIKE_RUN_KNOTS, 0, MOST_SECONDS),
                                      REAL(CELL ".tail_from", 0.5, 1),
                                      REAL(CELL ".tail_scale", 0, 100),
                                      REAL(CELL ".tail_shape", -10, 1),
                                      REAL(CELL ".most_s", 0.001, MOST_SECONDS),
                                      LIST(SIZE ".outcomes", HR_LIKE_STRATA, HR_LIKE_STRATA),
                                      OBJECT(OUTCOMES),
                                      REAL(OUTCOMES ".completed", 0, 1),
                                      REAL(OUTCOMES ".failed", 0, 1),
                                      REAL(OUTCOMES ".cancelled", 0, 1),
                                      OBJECT("users"),
                                      NUMBERS("users.shares", 1, HR_LIKE_MOST_PEOPLE, 0, MOST_FACTOR),
                                      REAL("users.together", 0, 0.95),
                                      OBJECT("tenants"),
                                      NUMBERS("tenants.shares", 1, HR_LIKE_MOST_PEOPLE, 0, MOST_FACTOR),
                                      REAL("tenants.together", 0, 0.95),
                                      OBJECT("limits"),
                                      REQUIRED_REAL("limits.share", 0, 1),
                                      REQUIRED_LIST("limits.ratios", HR_LIKE_STRATA, HR_LIKE_STRATA),
                                      LIST("limits.ratios.*", HR_LIKE_KNOTS, HR_LIKE_KNOTS),
                                      REAL("limits.ratios.*.*", 0, MOST_RATIO),
                                      {NULL, HR__KEY_OBJECT, false, 0, 0, NULL}};

const struct hr__key *hr__like_keys(void) {
  return keys;
}
