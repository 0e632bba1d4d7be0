/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine's containers, compared with plain arrays under random operations, and small helpers: pending events, the
   arena, tables of names, the nearest word, notes, exit codes. */

#include "base/containers.h"
#include "base/random.h"
#include "harness.h"
#include "sim/engine/engine.h"

#include <stdalign.h>
#include <string.h>

static struct hr__stream draws;

static uint32_t draw(uint32_t below) {
  return hr__stream_next(&draws) % below;
}

static uint32_t next_in(const bool *set, uint32_t size, uint32_t from) {
  while (from < size && !set[from]) from++;
  return from < size ? from : UINT32_MAX;
}

static uint32_t last_in(const bool *set, uint32_t size) {
  while (size > 0 && !set[size - 1]) size--;
  return size ? size - 1 : UINT32_MAX;
}

static void check_bitset(uint32_t size) {
  struct hr__bitset_shape shape = hr__bitset_shape(size);
  uint64_t *words = calloc(shape.n_words, sizeof *words);
  bool *set = calloc(size, sizeof *set);
  for (int i = 0; i < 2000; i++) {
    uint32_t bit = draw(size), from = draw(size + 3);
    set[bit] = draw(3) == 0;
    if (set[bit])
      hr__bitset_add(&shape, words, bit);
    else
      hr__bitset_remove(&shape, words, bit);
    CU_ASSERT_EQUAL_FATAL(hr__bitset_next(&shape, words, from), next_in(set, size, from));
    CU_ASSERT_EQUAL_FATAL(hr__bitset_last(&shape, words), last_in(set, size));
    CU_ASSERT_EQUAL_FATAL(hr__bitset_has(words, bit), set[bit]);
  }
  free(words);
  free(set);
}

static void bitset_equals_array(void) {
  const uint32_t sizes[] = {1, 2, 63, 64, 65, 127, 4096, 4097, 262144, 300000};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) check_bitset(sizes[i]);
}

static void check_free_index(uint32_t n_nodes, uint32_t size) {
  struct hr_arena arena = {0};
  struct hr_free_index *index = hr_free_index_create(&arena, n_nodes, size);
  uint32_t *free_gpus = calloc(n_nodes, sizeof *free_gpus);
  for (uint32_t i = 0; i < n_nodes; i++) free_gpus[i] = size;
  for (int i = 0; i < 500; i++) {
    uint32_t node = draw(n_nodes), gpus = draw(size + 1), requested = draw(size + 1), from = draw(n_nodes);
    free_gpus[node] = gpus;
    hr_free_index_set(index, node, gpus);
    uint32_t lowest = HR_NONE, highest = 0, count = 0, first = HR_NONE;
    for (uint32_t j = 0; j < n_nodes; j++) {
      if (free_gpus[j] >= requested && free_gpus[j] < lowest) lowest = free_gpus[j];
      if (free_gpus[j] > highest) highest = free_gpus[j];
      count += free_gpus[j] == requested;
      if (free_gpus[j] == requested && j >= from && first == HR_NONE) first = j;
    }
    CU_ASSERT_EQUAL_FATAL(hr_free_index_get(index, node), gpus);
    CU_ASSERT_EQUAL_FATAL(hr_free_index_lowest(index, requested), lowest);
    CU_ASSERT_EQUAL_FATAL(hr_free_index_highest(index), highest);
    CU_ASSERT_EQUAL_FATAL(hr_free_index_count(index, requested), count);
    CU_ASSERT_EQUAL_FATAL(hr_free_index_node(index, requested, from), first);
  }
  free(free_gpus);
  hr__arena_finish(&arena);
}

static void free_index_equals_scan(void) {
  const uint32_t shapes[][2] = {{1, 1}, {1, 300}, {7, 8}, {200, 4}, {5000, 16}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) check_free_index(shapes[i][0], shapes[i][1]);
}

static void event_heap_order(void) {
  struct hr__event_heap heap = {0};
  struct hr__pending last = {0};
  for (uint32_t round = 0; round < 20; round++) {
    for (uint32_t i = 0; i < 500; i++) {
      enum hr__pending_kind kind = draw(2) ? HR__PENDING_END : HR__PENDING_TIMER;
      CU_ASSERT_EQUAL_FATAL(hr__event_heap_push(&heap, hr__pending(1000 * round + draw(50), kind, draw(100))), HR_OK);
    }
    last = (struct hr__pending){0};
    while (heap.count > 100) {
      struct hr__pending next = hr__event_heap_pop(&heap);
      CU_ASSERT_FALSE_FATAL(hr__pending_before(next, last));
      last = next;
    }
  }
  while (heap.count) {
    struct hr__pending next = hr__event_heap_pop(&heap);
    CU_ASSERT_FALSE_FATAL(hr__pending_before(next, last));
    last = next;
  }
  hr__event_heap_finish(&heap);
}

static void pending_event_fields(void) {
  struct hr__pending pending = hr__pending(5, HR__PENDING_TIMER, UINT32_MAX);
  CU_ASSERT_EQUAL(pending.at_us, 5);
  CU_ASSERT_EQUAL(hr__pending_kind(pending), HR__PENDING_TIMER);
  CU_ASSERT_EQUAL(hr__pending_entity(pending), UINT32_MAX);
  CU_ASSERT_EQUAL(sizeof pending, 16);
}

static void arena_memory_is_zero_and_aligned(void) {
  struct hr_arena arena = {0};
  for (size_t bytes = 1; bytes < 1 << 20; bytes = bytes * 3 + 1) {
    unsigned char *memory = hr_arena_alloc(&arena, bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(memory);
    CU_ASSERT_EQUAL((uintptr_t)memory % alignof(max_align_t), 0);
    for (size_t i = 0; i < bytes; i++) CU_ASSERT_EQUAL_FATAL(memory[i], 0);
    memset(memory, 0xff, bytes);
  }
  CU_ASSERT_PTR_NULL(hr_arena_alloc(&arena, SIZE_MAX));
  hr__arena_finish(&arena);
}

static void names_are_numbered_by_appearance(void) {
  struct hr__name_table names = {0};
  char text[32];
  for (uint32_t i = 0; i < 5000; i++) {
    int length = snprintf(text, sizeof text, "name-%u", (unsigned)i);
    CU_ASSERT_EQUAL(hr__names_find(&names, text, (size_t)length), HR_NONE);
    CU_ASSERT_EQUAL_FATAL(hr__names_intern(&names, text, (size_t)length), i);
  }
  CU_ASSERT_EQUAL(hr__names_intern(&names, "name-77xyz", 7), 77);
  CU_ASSERT_EQUAL(hr__names_find(&names, "name-4999", 9), 4999);
  CU_ASSERT_EQUAL(hr__names_intern(&names, "", 0), 5000);
  CU_ASSERT_EQUAL(names.count, 5001);
  hr__names_finish(&names);
}

static void misspellings_find_nearest_word(void) {
  static const char *const words[] = {"order", "backfill", "placement", NULL};
  CU_ASSERT_STRING_EQUAL(hr_nearest_word("ordr", words), "order");
  CU_ASSERT_STRING_EQUAL(hr_nearest_word("oredr", words), "order");
  CU_ASSERT_STRING_EQUAL(hr_nearest_word("plcaement", words), "placement");
  CU_ASSERT_STRING_EQUAL(hr_nearest_word("ORDER", words), "order");
  CU_ASSERT_PTR_NULL(hr_nearest_word("gpus", words));
}

static void equal_notes_are_stored_once(void) {
  struct hr_notes notes = {0};
  for (int i = 0; i < 30; i++) CU_ASSERT_EQUAL(hr_notes_add(&notes, "note %d", i % 10), HR_OK);
  CU_ASSERT_EQUAL(notes.count, 10);
  CU_ASSERT_STRING_EQUAL(notes.text[9], "note 9");
  hr_notes_finish(&notes);
}

static void exit_codes(void) {
  CU_ASSERT_EQUAL(hr_status_exit_code(HR_OK), 0);
  CU_ASSERT_EQUAL(hr_status_exit_code(HR_CHECK_FAILED), 1);
  CU_ASSERT_EQUAL(hr_status_exit_code(HR_BAD_INPUT), 2);
  CU_ASSERT_EQUAL(hr_status_exit_code(HR_BAD_POLICY), 3);
  CU_ASSERT_EQUAL(hr_status_exit_code(HR_NO_MEMORY), 4);
  CU_ASSERT_EQUAL(hr_status_exit_code(HR_IO_ERROR), 4);
}

TEST_MAIN("sim parts", TEST(bitset_equals_array), TEST(free_index_equals_scan), TEST(event_heap_order),
          TEST(pending_event_fields), TEST(arena_memory_is_zero_and_aligned), TEST(names_are_numbered_by_appearance),
          TEST(misspellings_find_nearest_word), TEST(equal_notes_are_stored_once), TEST(exit_codes))
