/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_IMPORT_SLURM_CONF_H
#define HR_SCENARIOS_IMPORT_SLURM_CONF_H

/* Files in the syntax of slurm.conf: lines of KEY=VALUE pairs, separated by white space. A value may be in quotation
   marks. A comment begins with '#'. A line that ends with a backslash goes on in the next line. Case of keys does not
   matter. */

#include "headroom/base.h"

/* A line, with the pairs that it sets. */
struct hr__slurm_line {
  const char *path;
  unsigned number; /* of its first line in the file, from 1 */
  struct {
    char *key, *value;
  } pairs[64];
  unsigned n_pairs;
};

/* Calls `visit` for each line that sets something, until it fails. Returns HR_BAD_INPUT for lines that are no list of
   pairs, and for `Include`. */
typedef enum hr_status hr__slurm_visit(void *self, const struct hr__slurm_line *line, struct hr_error *error);
enum hr_status hr__slurm_conf_read(const char *path, hr__slurm_visit *visit, void *self, struct hr_error *error);

/* Returns the value of a key of the line; NULL if the line does not set it. */
const char *hr__slurm_value(const struct hr__slurm_line *line, const char *key);

/* Returns the number of hosts of a list such as "n[01-16,20],login"; 0 if the list is not valid. */
uint64_t hr__slurm_hosts(const char *list);

#endif
