/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SERVE_DOCUMENTS_H
#define HR_SERVE_DOCUMENTS_H

/* Documents of the server that need no worker, as JSON texts. The caller frees them with free(). */

#include "headroom/scenario.h"

#include <stdbool.h>
#include <stddef.h>

/* What a shipped scenario needs besides itself. */

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

/* The GPU types, instance types and prices of the catalogue. */
enum hr_status hr__document_catalogue(char **json, struct hr_error *error);
/* The shipped scenarios: their folder, names, descriptions, and what they lack. `states` has an item for each entry. */
enum hr_status hr__document_scenarios(const char *folder, const struct hr_scenario_entry *entries,
                                      const struct hr__shipped_state *states, size_t count, char **json,
                                      struct hr_error *error);
/* A folder and the plain files below it, at most 1,000, in the order of their names. Links and hidden files are left
 * out. */
enum hr_status hr__document_files(const char *folder, char **json, struct hr_error *error);
/* The text of a file of at most 16 MiB. HR_BAD_INPUT: it is larger, or not UTF-8. */
enum hr_status hr__document_text(const char *path, char **text, struct hr_error *error);

#endif
