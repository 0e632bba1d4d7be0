/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_KIT_SUITES_H
#define HR_TESTS_KIT_SUITES_H

/* The table of a program's suites, which CMake generates (headroom_test_program in tests/CMakeLists.txt). */

#include "harness.h"

struct named_suite {
  const char *name; /* the source's name without its extension */
  const struct test_suite *suite;
};

extern const struct named_suite test_suites[];
extern const size_t n_test_suites;

#endif
