/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_KIT_SUITES_H
#define HR_TESTS_KIT_SUITES_H

/* The table of a program's suites. CMake generates it (headroom_test_program in tests/CMakeLists.txt). */

#include "harness.h"

struct named_suite {
  const char *name; /* the name of the source file without its extension */
  const struct test_suite *suite;
};

extern const struct named_suite test_suites[];
extern const size_t n_test_suites;

#endif
