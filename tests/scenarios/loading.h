/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_SCENARIOS_LOADING_H
#define HR_TESTS_SCENARIOS_LOADING_H

/* Loads scenarios from texts through a file in a temporary folder, which is the current folder of the test. */

#include "harness.h"
#include "messages.h"

#include "headroom/scenario.h"

#include <string.h>
#include <unistd.h>

static const char file_name[] = "s.json";

/* Writes the scenario file, which all functions below use. */
static inline void write_bytes(const char *bytes, size_t length) {
  FILE *file = fopen(file_name, "wb");
  CU_ASSERT_PTR_NOT_NULL_FATAL(file);
  CU_ASSERT_EQUAL(fwrite(bytes, 1, length, file), length);
  fclose(file);
}

static inline void write_text(const char *text) {
  write_bytes(text, strlen(text));
}

/* Asserts that loading the file with these overrides fails with the message `expected`; see message_matches. */
static inline void expect_error(const char *const *overrides, size_t n_overrides, const char *expected) {
  struct hr_scenario *scenario;
  struct hr_error error = {0};
  enum hr_status status = hr_scenario_load(file_name, overrides, n_overrides, &scenario, &error);
  CU_ASSERT_EQUAL(status, HR_BAD_INPUT);
  CU_ASSERT_PTR_NULL(scenario);
  bool same = message_matches(error.text, expected);
  if (!same) printf("\n  expected: %s\n  got:      %s\n", expected, error.text);
  CU_ASSERT_TRUE(same);
  hr_scenario_destroy(scenario);
}

/* Loads the file with these overrides; an error fails the test. The caller destroys the scenario. */
static inline struct hr_scenario *load(const char *const *overrides, size_t n_overrides) {
  struct hr_scenario *scenario;
  struct hr_error error = {0};
  enum hr_status status = hr_scenario_load(file_name, overrides, n_overrides, &scenario, &error);
  if (status != HR_OK) printf("\n  %s\n", error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_OK);
  return scenario;
}

/* Creates a temporary folder and makes it the current folder. This must be the first test of a suite. */
static inline void create_test_folder(void) {
  char folder[] = "/tmp/headroom-scenario-XXXXXX";
  CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
  CU_ASSERT_EQUAL_FATAL(chdir(folder), 0);
}

/* Removes the scenario and the temporary folder, which must not contain other files. Used as the last test. */
static inline void remove_test_folder(void) {
  char folder[200];
  CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(folder, sizeof folder));
  remove(file_name);
  CU_ASSERT_EQUAL(chdir("/"), 0);
  CU_ASSERT_EQUAL(rmdir(folder), 0);
}

#endif
