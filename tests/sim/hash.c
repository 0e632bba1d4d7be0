/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hash tables compared with plain arrays: insertion, change, removal, and entries with equal hashes. */

#include "base/containers.h"

#include "base/random.h"
#include "harness.h"

#include <stdlib.h>

enum { KEYS = 500, STEPS = 40000 };

static uint32_t numbers[KEYS]; /* number + 1; 0 if the key is not in the table */

/* Keys are multiples of 4096. With a poor hash function, many of them would have the same home slot. */
static uint32_t key_of(uint32_t i) {
  return i * 4096;
}

static uint32_t find(const struct hr__hash *table, uint32_t i, struct hr__hash_cursor *at) {
  return hr__hash_first(table, hr__hash_u32(key_of(i)), at);
}

static void assert_equal(const struct hr__hash *table, uint32_t count) {
  struct hr__hash_cursor at;
  CU_ASSERT_EQUAL(table->count, count);
  for (uint32_t i = 0; i < KEYS; i++) CU_ASSERT_EQUAL(find(table, i, &at), numbers[i] ? numbers[i] - 1 : HR_NONE);
}

/* Phases in which the table has few entries alternate with phases in which it has many. */
static void random_operations(void) {
  struct hr__hash table = {0};
  struct hr__hash_cursor at;
  struct hr__stream draws;
  uint32_t count = 0;
  hr__stream_init(&draws, 5, HR__PURPOSE_ARRIVAL, 0, 0);
  for (uint32_t step = 0; step < STEPS; step++) {
    uint64_t draw = (uint64_t)hr__stream_next(&draws) << 32 | hr__stream_next(&draws);
    uint32_t i = (uint32_t)(draw % KEYS), removals_of_10 = step / 4000 % 2 ? 9 : 2;
    bool is_there = find(&table, i, &at) != HR_NONE;
    CU_ASSERT_EQUAL(is_there, numbers[i] != 0);
    if (is_there && draw / KEYS % 10 < removals_of_10) {
      hr__hash_remove(&table, at);
      numbers[i] = 0;
      count--;
    } else {
      numbers[i] = (uint32_t)(draw >> 40) + 1;
      if (is_there)
        hr__hash_set(&table, at, numbers[i] - 1);
      else
        CU_ASSERT_TRUE_FATAL(hr__hash_add(&table, NULL, hr__hash_u32(key_of(i)), numbers[i] - 1));
      count += !is_there;
    }
    if (step % 499 == 0) assert_equal(&table, count);
  }
  CU_ASSERT_TRUE(count > 0);
  hr__hash_clear(&table);
  CU_ASSERT_EQUAL(find(&table, 0, &at), HR_NONE);
  hr__hash_finish(&table);
}

/* A search finds all entries with an equal hash, and each of them once. */
static void entries_with_equal_hashes(void) {
  enum { SAME = 100 };
  struct hr__hash table = {0};
  struct hr__hash_cursor at;
  bool found[2 * SAME] = {false};
  uint32_t count = 0;
  for (uint32_t i = 0; i < 2 * SAME; i++) CU_ASSERT_TRUE_FATAL(hr__hash_add(&table, NULL, i % 2 ? 77 : 78, i));
  for (uint32_t i = hr__hash_first(&table, 77, &at); i != HR_NONE; i = hr__hash_next(&table, &at)) {
    CU_ASSERT_TRUE_FATAL(i < 2 * SAME && i % 2 == 1 && !found[i]);
    found[i] = true;
    count++;
  }
  CU_ASSERT_EQUAL(count, SAME);
  hr__hash_finish(&table);
}

TEST_MAIN("hash", TEST(random_operations), TEST(entries_with_equal_hashes))
