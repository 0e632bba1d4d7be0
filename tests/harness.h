/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_HARNESS_H
#define HR_TESTS_HARNESS_H

/* One CUnit program per test file: list its functions in TEST_MAIN. Exit code 77 means "skipped" to ctest. */

#include <CUnit/Basic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct test_case {
  const char *name;
  void (*run)(void);
};

static int run_tests(const char *suite_name, const struct test_case *cases, size_t count) {
  if (CU_initialize_registry() != CUE_SUCCESS) return EXIT_FAILURE;
  CU_pSuite suite = CU_add_suite(suite_name, NULL, NULL);
  for (size_t i = 0; suite && i < count; i++)
    if (!CU_add_test(suite, cases[i].name, cases[i].run)) suite = NULL;
  if (!suite) return EXIT_FAILURE;
  CU_basic_set_mode(CU_BRM_VERBOSE);
  CU_basic_run_tests();
  unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}

#define TEST(function)                                                                                                 \
  { #function, function }
#define TEST_MAIN(suite, ...)                                                                                          \
  int main(void) {                                                                                                     \
    static const struct test_case cases[] = {__VA_ARGS__};                                                             \
    return run_tests(suite, cases, sizeof cases / sizeof *cases);                                                      \
  }

/* Real traces stay outside the repository: a test that needs one says loudly that it was skipped. */
static inline bool real_trace_missing(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file) {
    fclose(file);
    return false;
  }
  fprintf(stderr, "\n*** SKIPPED: real trace %s is not there ***\n", path);
  return true;
}

#endif
