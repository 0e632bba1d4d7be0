/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes strings as JSON, reads them with cJSON, and compares them with the original strings. */

#include "base/output_file.h"

#include "harness.h"
#include "output_files.h"

#include <cjson/cJSON.h>
#include <string.h>

static void expect_back(const char *text, const char *wanted) {
  struct hr__out out;
  CU_ASSERT_EQUAL_FATAL(hr__out_open(&out, files_path("text.json"), NULL), HR_OK);
  hr__out_json_text(&out, text);
  CU_ASSERT_EQUAL_FATAL(hr__out_commit(&out, NULL), HR_OK);
  char *content = files_read(files_path("text.json"));
  cJSON *item = cJSON_Parse(content);
  CU_ASSERT_FATAL(cJSON_IsString(item));
  CU_ASSERT_STRING_EQUAL(item->valuestring, wanted);
  for (const char *at = content; *at; at++) CU_ASSERT((unsigned char)*at >= 0x20);
  cJSON_Delete(item);
  free(content);
}

static void strings_are_read_back(void) {
  expect_back("", "");
  expect_back("job-1", "job-1");
  expect_back("a \"quoted\" \\ text", "a \"quoted\" \\ text");
  expect_back("line\nbreak\ttab\x01\x1f", "line\nbreak\ttab\x01\x1f");
  expect_back("M\xc3\xbcller \xe2\x82\xac", "M\xc3\xbcller \xe2\x82\xac");
  expect_back("M\xfcller", "M\xc3\xbcller");
}

static void string_longer_than_the_buffer(void) {
  size_t length = 3 * (size_t)HR__OUT_BYTES;
  char *text = malloc(length + 1);
  CU_ASSERT_PTR_NOT_NULL_FATAL(text);
  for (size_t i = 0; i < length; i++) text[i] = "ab\"c\n"[i % 5];
  text[length] = '\0';
  expect_back(text, text);
  free(text);
}

TEST_MAIN("report: JSON as it comes", TEST(strings_are_read_back), TEST(string_longer_than_the_buffer))
