/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_KIT_HARNESS_H
#define HR_TESTS_KIT_HARNESS_H

/*
 * Each test source is one suite: it lists its tests in TEST_MAIN. The suites of a folder are linked into one program,
 * test_FOLDER, with kit/main.c, which runs the suite that its first argument names. CMake defines TEST_SUITE for each
 * suite's source (the name of the object that TEST_MAIN defines) and generates the program's table of suites.
 *
 * A suite that exits with code 77 counts as skipped in ctest.
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

/* The number at position `place` (1 is the first) of the arguments that follow the suite's name, `fallback` if there
   are fewer. Some suites take a number of repetitions. */
uint32_t test_argument(int place, uint32_t fallback);

/* Real traces are not part of the repository. If this one is missing, prints that the test is skipped and returns
   true. */
bool real_trace_missing(const char *path);

#endif
