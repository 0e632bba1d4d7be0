/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kinetic tournament, compared with a scan over all contestants. Random contestants are added, changed and removed
   while time passes. The first contestant, and the first contestant whose `value` is within a bound, must be the same
   as in the scan, which compares rounded values. */

#include "base/containers.h"
#include "base/random.h"
#include "harness.h"
#include "policies/kit/tournament.h"

#include <math.h>

enum { MAX_CONTESTANTS = 200, STEPS = 3000, ROUNDS = 60 };

struct field {
  struct hr_arena arena;
  struct hr__kinetic kinetic;
  struct hr__contestant
      racing[MAX_CONTESTANTS]; /* by name; the name is HR_NONE if the contestant is not in the tournament */
  uint32_t place[MAX_CONTESTANTS];
  int64_t now_us;
  struct hr__stream draws;
};

static uint64_t draw(struct field *field, uint64_t below) {
  uint64_t upper = hr__stream_next(&field->draws);
  return (upper << 32 | hr__stream_next(&field->draws)) % below;
}

/* The value that an order (such as WFP3) would use. It is cubed and rounded, so close values become equal. */
static double value(const struct field *field, uint32_t name) {
  struct hr__line line = field->racing[name].line;
  return pow((double)(field->now_us - line.since_us) / line.slowness, 3);
}

static bool is_before(void *self, uint32_t a, uint32_t b) {
  double left = value(self, a), right = value(self, b);
  return left != right ? left > right : a < b;
}

struct finding {
  struct field *field;
  uint32_t first;
};

static bool find(void *self, const struct hr__contestant *first, bool alone) {
  struct finding *finding = self;
  const struct field *field = finding->field;
  if (finding->first != HR_NONE) {
    bool precedes = hr__kinetic_precedes(&field->kinetic, first, &field->racing[finding->first]);
    CU_ASSERT_EQUAL(precedes, is_before(finding->field, first->name, finding->first));
    if (!precedes) return false;
  }
  if (alone) finding->first = first->name;
  return true;
}

static uint32_t first_within(struct field *field, int64_t bound) {
  struct finding finding = {field, HR_NONE};
  hr__kinetic_search(&field->kinetic, bound, find, &finding);
  return finding.first;
}

static uint32_t first_of_all(struct field *field, int64_t bound) {
  uint32_t first = HR_NONE;
  for (uint32_t name = 0; name < MAX_CONTESTANTS; name++) {
    if (field->racing[name].name == HR_NONE || field->racing[name].value > bound) continue;
    if (first == HR_NONE || is_before(field, name, first)) first = name;
  }
  return first;
}

/* With a small range of times and speeds, contestants often change their order. With a large range, their values are
   close. */
static void set(struct field *field, uint32_t name, uint64_t range) {
  struct hr__contestant *contestant = &field->racing[name];
  if (contestant->name == HR_NONE) field->place[name] = hr__kinetic_add(&field->kinetic);
  CU_ASSERT_NOT_EQUAL_FATAL(field->place[name], HR_NONE);
  uint64_t age = draw(field, range);
  *contestant = (struct hr__contestant){.line = {field->now_us - (int64_t)age, (double)(1 + draw(field, range))},
                                        .value = (int64_t)draw(field, 10),
                                        .name = name};
  contestant->own = draw(field, 2) ? contestant->value : INT64_MAX;
  if (draw(field, 3) == 0) contestant->line.slowness /= cbrt((double)(1 + draw(field, 8)));
  field->kinetic.now_us = field->now_us;
  hr__kinetic_set(&field->kinetic, field->place[name], *contestant);
}

static void change(struct field *field, uint64_t range) {
  uint32_t name = (uint32_t)draw(field, MAX_CONTESTANTS);
  if (field->racing[name].name == HR_NONE || draw(field, 3) == 0) {
    set(field, name, range);
    return;
  }
  field->kinetic.now_us = field->now_us;
  field->racing[name].name = HR_NONE;
  hr__kinetic_remove(&field->kinetic, field->place[name]);
}

static void run_field(struct field *field, uint64_t range) {
  field->kinetic = (struct hr__kinetic){.arena = &field->arena, .is_before = is_before, .self = field};
  field->now_us = (int64_t)range;
  for (uint32_t name = 0; name < MAX_CONTESTANTS; name++) field->racing[name].name = HR_NONE;
  for (int step = 0; step < STEPS; step++) {
    field->now_us += (int64_t)draw(field, draw(field, 4) ? 3 : range);
    for (uint64_t n = draw(field, 3); n > 0; n--) change(field, range);
    hr__kinetic_advance(&field->kinetic, field->now_us);
    int64_t bound = (int64_t)draw(field, 11) - 1;
    CU_ASSERT_EQUAL(hr__kinetic_first(&field->kinetic), first_of_all(field, INT64_MAX));
    CU_ASSERT_EQUAL(first_within(field, bound), first_of_all(field, bound));
  }
  hr__arena_finish(&field->arena);
}

static void first_contestant_equals_scan(void) {
  static const uint64_t ranges[] = {4, 30, 1000, 1000000, 1000000000000};
  static struct field field;
  for (uint32_t round = 0; round < ROUNDS; round++) {
    field = (struct field){0};
    hr__stream_init(&field.draws, round, HR__PURPOSE_ARRIVAL, 0, 0);
    run_field(&field, ranges[round % 5]);
  }
}

static void empty_tournament(void) {
  struct hr__kinetic kinetic = {.is_before = is_before};
  hr__kinetic_advance(&kinetic, 5);
  CU_ASSERT_EQUAL(hr__kinetic_first(&kinetic), HR_NONE);
}

TEST_MAIN("policies_kinetic", TEST(first_contestant_equals_scan), TEST(empty_tournament))
