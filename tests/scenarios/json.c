/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The JSON scanner: valid texts, positions of errors, positions of values, duplicate keys. */

#include "harness.h"

#include "traces/json/json.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

static void valid_texts(void) {
  static const char *const good[] = {"{}",
                                     " [ ] ",
                                     "null",
                                     "true",
                                     "-0.5e+10",
                                     "0",
                                     "\"\"",
                                     "{\"a\":[1,{\"b\":false}]}",
                                     "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\"",
                                     "\t[1 , 2]\r\n"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    struct hr__json_flaw flaw;
    bool fine = hr__json_check(good[i], &flaw);
    if (!fine) printf("refused: %s\n", good[i]);
    CU_ASSERT_TRUE(fine);
    cJSON *tree = cJSON_Parse(good[i]);
    CU_ASSERT_PTR_NOT_NULL(tree); /* cJSON must accept what the scanner accepts */
    cJSON_Delete(tree);
  }
}

/* invalid texts with the byte offset of the error */
static const struct {
  const char *text;
  size_t offset;
} malformed[] = {
    {"", 0},
    {"{", 1},
    {"[1,", 3},
    {"[1", 2},
    {"{\"a\"", 4},
    {"{\"a\":}", 5},
    {"{\"a\":1,}", 7},
    {"[1,]", 3},
    {"[,1]", 1},
    {"{\"a\" 1}", 5},
    {"{\"a\":1 \"b\":2}", 7},
    {"{a:1}", 1},
    {"{'a':1}", 1},
    {"['a']", 1},
    {"[1] 2", 4},
    {"{} // end", 3},
    {"[/* no */ 1]", 1},
    {"01", 0},
    {"-", 1},
    {"1.", 2},
    {"1e", 2},
    {".5", 0},
    {"+1", 0},
    {"NaN", 0},
    {"Infinity", 0},
    {"True", 0},
    {"nul", 0},
    {"\"open", 0},
    {"[\"open\n\"]", 1},
    {"\"tab\there\"", 4},
    {"\"\\x\"", 1},
    {"\"\\u12g4\"", 1},
    {"\"\\u0000\"", 1},
    {"\"\\ud800\"", 1},
    {"\"\\udc00\"", 1},
    {"\"\\ud800\\u0041\"", 1},
    {"1234567890123456789012345678901234567890123456789012345678901234", 0},
};

static void errors_have_an_offset(void) {
  for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
    struct hr__json_flaw flaw = {0};
    bool fine = hr__json_check(malformed[i].text, &flaw);
    if (fine || flaw.offset != malformed[i].offset) printf("%s: at %zu\n", malformed[i].text, flaw.offset);
    CU_ASSERT_FALSE(fine);
    CU_ASSERT_EQUAL(flaw.offset, malformed[i].offset);
    CU_ASSERT_PTR_NOT_NULL(flaw.text);
  }
}

static void the_nesting_depth_is_limited(void) {
  char text[2 * HR__JSON_DEPTH + 3];
  struct hr__json_flaw flaw;
  memset(text, '[', HR__JSON_DEPTH);
  memset(text + HR__JSON_DEPTH, ']', HR__JSON_DEPTH);
  text[2 * HR__JSON_DEPTH] = '\0';
  CU_ASSERT_TRUE(hr__json_check(text, &flaw));
  memset(text, '[', HR__JSON_DEPTH + 1);
  memset(text + HR__JSON_DEPTH + 1, ']', HR__JSON_DEPTH + 1);
  text[2 * HR__JSON_DEPTH + 2] = '\0';
  CU_ASSERT_FALSE(hr__json_check(text, &flaw));
  CU_ASSERT_EQUAL(flaw.offset, HR__JSON_DEPTH);
}

static void positions_of_values(void) {
  static const char text[] = "{ \"a\": [10, {\"b]\": \"}\\\"\", \"c\" : 2}], \"d\":3 }";
  struct {
    uint32_t path[3];
    size_t depth;
    const char *value, *key;
  } cases[] = {
      {{0}, 0, "{ \"a\"", "{ \"a\""},         {{0}, 1, "[10", "\"a\": ["},      {{0, 0}, 2, "10", "10"},
      {{0, 1, 0}, 3, "\"}\\\"\"", "\"b]\":"}, {{0, 1, 1}, 3, "2}", "\"c\" : "}, {{1}, 1, "3 }", "\"d\":"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    size_t value = hr__json_find(text, cases[i].path, cases[i].depth, false);
    size_t key = hr__json_find(text, cases[i].path, cases[i].depth, true);
    CU_ASSERT_FATAL(value < sizeof text && key < sizeof text);
    CU_ASSERT_EQUAL(strncmp(text + value, cases[i].value, strlen(cases[i].value)), 0);
    CU_ASSERT_EQUAL(strncmp(text + key, cases[i].key, strlen(cases[i].key)), 0);
  }
  CU_ASSERT_EQUAL(hr__json_find(text, (uint32_t[]){2}, 1, false), SIZE_MAX);
  CU_ASSERT_EQUAL(hr__json_find(text, (uint32_t[]){1, 0}, 2, false), SIZE_MAX);
  CU_ASSERT_EQUAL(hr__json_find("[]", (uint32_t[]){0}, 1, false), SIZE_MAX);
}

static void columns_count_characters(void) {
  static const char text[] = "{\n  \"\xc3\xa9\xf0\x9f\x98\x80\": 1\n}";
  struct hr__json_position at = hr__json_position(text, (size_t)(strchr(text, '1') - text));
  CU_ASSERT_EQUAL(at.line, 2);
  CU_ASSERT_EQUAL(at.column, 9);
  at = hr__json_position(text, 0);
  CU_ASSERT_EQUAL(at.line, 1);
  CU_ASSERT_EQUAL(at.column, 1);
}

/* ---- Duplicate keys --------------------------------------------------------------------------------- */

/* Returns the byte offset of the first key that repeats a key of the same object; SIZE_MAX if no key is repeated. */
static size_t duplicate_in(const char *text) {
  struct hr__json_repeat repeat;
  cJSON *tree = cJSON_Parse(text);
  CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
  CU_ASSERT_TRUE_FATAL(hr__json_repeat_find(tree, &repeat));
  size_t offset = repeat.key ? hr__json_find(text, repeat.ordinals, repeat.depth, true) : SIZE_MAX;
  cJSON_Delete(tree);
  return offset;
}

static void duplicate_keys_are_found(void) {
  CU_ASSERT_EQUAL(duplicate_in("{\"a\":1,\"b\":2,\"a\":3}"), 13);
  CU_ASSERT_EQUAL(duplicate_in("{\"b\":1,\"b\":2,\"a\":3,\"a\":4}"), 7);
  CU_ASSERT_EQUAL(duplicate_in("{\"a\":1,\"a\":2,\"a\":3}"), 7);
  CU_ASSERT_EQUAL(duplicate_in("[1,[{\"a\":{}},{\"b\":{\"c\":1,\"c\":1}}]]"), 25);
  CU_ASSERT_EQUAL(duplicate_in("{\"a\":1,\"\\u0061\":2}"), 7);
}

static void equal_keys_of_different_objects_are_allowed(void) {
  CU_ASSERT_EQUAL(duplicate_in("{\"a\":{\"a\":{\"a\":1}},\"b\":[{\"a\":1},{\"a\":1}]}"), SIZE_MAX);
  CU_ASSERT_EQUAL(duplicate_in("{\"a\":1,\"A\":1,\"\":1,\"aa\":1}"), SIZE_MAX);
  CU_ASSERT_EQUAL(duplicate_in("3"), SIZE_MAX);
}

/* If all pairs of these keys were compared, the test would take too long. */
static void large_objects_are_searched_in_linear_time(void) {
  enum { KEYS = 200000, BYTES = 12 };
  char *text = malloc((size_t)KEYS * BYTES + 20);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  size_t used = 0;
  for (int i = 0; i < KEYS; i++) used += (size_t)sprintf(text + used, "%c\"%d\":0", i ? ',' : '{', i);
  strcpy(text + used, "}");
  CU_ASSERT_EQUAL(duplicate_in(text), SIZE_MAX);
  strcpy(text + used, ",\"7\":0}");
  CU_ASSERT_EQUAL(duplicate_in(text), used + 1);
  free(text);
}

TEST_MAIN("scenarios_json", TEST(valid_texts), TEST(errors_have_an_offset), TEST(the_nesting_depth_is_limited),
          TEST(positions_of_values), TEST(columns_count_characters), TEST(duplicate_keys_are_found),
          TEST(equal_keys_of_different_objects_are_allowed), TEST(large_objects_are_searched_in_linear_time))
