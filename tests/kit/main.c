/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * main() of every test program:
 *
 *   test_FOLDER SUITE [NUMBER...]   runs one suite; the suite may read the numbers (test_argument)
 *   test_FOLDER                     runs every suite, each in a separate process, as ctest does
 *   test_FOLDER --list              prints the names of the suites
 */
#include "suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIPPED = 77 };

static int n_arguments;
static char **arguments;

uint32_t test_argument(int place, uint32_t fallback) {
  return place <= n_arguments ? (uint32_t)strtoul(arguments[place - 1], NULL, 10) : fallback;
}

static int run_suite(const struct test_suite *suite) {
  if (CU_initialize_registry() != CUE_SUCCESS) return EXIT_FAILURE;
  CU_pSuite registered = CU_add_suite(suite->title, NULL, NULL);
  for (size_t i = 0; registered && i < suite->n_cases; i++)
    if (!CU_add_test(registered, suite->cases[i].name, suite->cases[i].run)) registered = NULL;
  if (!registered) return EXIT_FAILURE;
  CU_basic_set_mode(CU_BRM_VERBOSE);
  CU_basic_run_tests();
  unsigned failures = CU_get_number_of_failures();
  CU_cleanup_registry();
  return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Runs a suite in a separate process, because suites use static variables and change the working directory. */
static int run_apart(const struct named_suite *named) {
  int status;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) exit(run_suite(named->suite));
  if (child < 0 || waitpid(child, &status, 0) != child) return EXIT_FAILURE;
  return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

static int run_all(void) {
  size_t n_failed = 0, n_skipped = 0;
  for (size_t i = 0; i < n_test_suites; i++) {
    int code = run_apart(&test_suites[i]);
    n_skipped += code == SKIPPED;
    if (code == EXIT_SUCCESS || code == SKIPPED) continue;
    n_failed++;
    printf("FAILED: suite %s\n", test_suites[i].name);
  }
  printf("suites: %zu passed, %zu skipped, %zu failed\n", n_test_suites - n_skipped - n_failed, n_skipped, n_failed);
  return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int print_names(void) {
  for (size_t i = 0; i < n_test_suites; i++) puts(test_suites[i].name);
  return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
  if (argc < 2) return run_all();
  if (strcmp(argv[1], "--list") == 0) return print_names();
  n_arguments = argc - 2;
  arguments = argv + 2;
  for (size_t i = 0; i < n_test_suites; i++)
    if (strcmp(test_suites[i].name, argv[1]) == 0) return run_suite(test_suites[i].suite);
  fprintf(stderr, "%s: no suite '%s'; --list prints the names\n", argv[0], argv[1]);
  return 2;
}
