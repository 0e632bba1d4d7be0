/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SERVE_SHIPPED_H
#define HR_SERVE_SHIPPED_H

/* What a shipped scenario needs besides itself. */

#include "headroom/base.h"

#include <stdbool.h>
#include <stddef.h>

struct hr__shipped_state {
  char **files; /* [n_files] real paths of the files that it names and that exist */
  size_t n_files;
  char *missing;    /* the first file that does not exist, as the scenario names it; NULL: all exist */
  bool needs_trace; /* it has no workload of its own */
};

/* Reads a shipped scenario and finds its files. The caller calls hr__shipped_finish, also after an error. A scenario
   that cannot be read has no files; the error follows when it is run. */
enum hr_status hr__shipped_look(const char *path, struct hr__shipped_state *state, struct hr_error *error);
void hr__shipped_finish(struct hr__shipped_state *state);

#endif
