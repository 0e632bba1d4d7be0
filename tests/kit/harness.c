/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness.h"

#include <unistd.h>

bool real_trace_missing(const char *path) {
  if (access(path, R_OK) == 0) return false;
  fprintf(stderr, "\n*** SKIPPED: real trace %s is missing ***\n", path);
  return true;
}
