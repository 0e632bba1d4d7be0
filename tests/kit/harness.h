/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_KIT_HARNESS_H
#define HR_TESTS_KIT_HARNESS_H

/*
 * The test harness. Each test source is one suite; TEST_MAIN lists its tests. The suites of a folder are
 * linked into one program, test_FOLDER, with kit/main.c. The program runs the suite that its first argument names.
 * CMake defines TEST_SUITE for the source of each suite: the name of the object that TEST_MAIN defines. CMake also
 * generates the program's table of suites.
 *
 * A suite that exits with code 77 is counted as skipped by ctest.
 */

#include <CUnit/Basic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct test_case {
  const char *name;
  void (*run)(void);
};

struct test_suite {
  const char *title;
  const struct test_case *cases;
  size_t n_cases;
};

#define TEST(function)                                                                                                 \
  { #function, function }
#define TEST_MAIN(title, ...)                                                                                          \
  static const struct test_case test_cases[] = {__VA_ARGS__};                                                          \
  extern const struct test_suite TEST_SUITE;                                                                           \
  const struct test_suite TEST_SUITE = {title, test_cases, sizeof test_cases / sizeof *test_cases};

/* Returns the argument at position `place` after the suite's name, as a number; 1 is the first. Returns `fallback` if
   there are fewer arguments. Some suites use such an argument as a number of repetitions. */
uint32_t test_argument(int place, uint32_t fallback);

/* Real traces are not part of the repository. If the trace at `path` is missing, the function prints that the test is
   skipped and returns true. */
bool real_trace_missing(const char *path);

#endif
