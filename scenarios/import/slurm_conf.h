/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_IMPORT_SLURM_CONF_H
#define HR_SCENARIOS_IMPORT_SLURM_CONF_H

/* Files in the syntax of slurm.conf: lines of KEY=VALUE pairs, separated by white space. A value may be in quotation
   marks. A comment begins with '#'. A line that ends with a backslash continues in the next line. Case of keys does not
   matter. The output of `scontrol show ... -o` has such lines, too, but values may have spaces and no quotation marks.
   Output of other commands is read line by line. */

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

/* Calls `visit` for each line that is neither empty nor a comment, with its text, which may be changed. */
typedef enum hr_status hr__slurm_visit_text(void *self, struct hr__slurm_line *line, char *text,
                                            struct hr_error *error);
enum hr_status hr__slurm_text_read(const char *path, hr__slurm_visit_text *visit, void *self, struct hr_error *error);

/* Splits a line of `scontrol show ... -o` into pairs. Words without '=' belong to the value before them, and are cut
   off. Pairs that are too many are left out. */
void hr__slurm_split_words(struct hr__slurm_line *line, char *text);

/* Returns the value of a key of the line; NULL if the line does not set it. */
const char *hr__slurm_value(const struct hr__slurm_line *line, const char *key);

/* Returns the number of hosts of a list such as "n[01-16,20],login"; 0 if the list is not valid. */
uint64_t hr__slurm_hosts(const char *list);

/* Calls `visit` for each host of a valid list, until it returns false. Returns false if it did. */
typedef bool hr__slurm_visit_host(void *self, const char *name, size_t length);
bool hr__slurm_each_host(const char *list, hr__slurm_visit_host *visit, void *self);

#endif
