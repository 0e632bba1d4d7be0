/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_IMPORT_SLURM_IMPORT_H
#define HR_SCENARIOS_IMPORT_SLURM_IMPORT_H

/*
 * Data and functions that the parts of Slurm's import share: the scenario that is written, the nodes by name, and the
 * notations of values. A function that takes a line reports mistakes and notes with its place.
 */

#include "headroom/unstable/catalog.h"

#include "base/containers.h"

#include <cjson/cJSON.h>

/* ---- Lines (slurm_conf.c) --------------------------------------------------------------------------- */

/* Files in the syntax of slurm.conf: lines of KEY=VALUE pairs, separated by white space. A value may be in quotation
   marks. A comment begins with '#'. A line that ends with a backslash continues in the next line. Case of keys does not
   matter. The output of `scontrol show ... -o` has such lines, too, but values may have spaces and no quotation marks.
   Output of other commands is read line by line. */

/* A line, with the pairs that it sets. */
struct hr__slurm_line {
  const char *path;
  unsigned number; /* of its first line in the file, from 1 */
  struct {
    char *key, *value;
  } pairs[64];
  unsigned n_pairs;
};

typedef enum hr_status hr__slurm_visit(void *self, const struct hr__slurm_line *line, struct hr_error *error);
/* Calls `visit` for each line that sets something, until it fails. Returns HR_BAD_INPUT for lines that are not lists of
   pairs, and for `Include`. */
enum hr_status hr__slurm_conf_read(const char *path, hr__slurm_visit *visit, void *self, struct hr_error *error);

typedef enum hr_status hr__slurm_visit_text(void *self, struct hr__slurm_line *line, char *text,
                                            struct hr_error *error);
/* Calls `visit` for each line that is neither empty nor a comment. `text` is the text of the line; `visit` may change
   it. */
enum hr_status hr__slurm_text_read(const char *path, hr__slurm_visit_text *visit, void *self, struct hr_error *error);

/* Splits a line of `scontrol show ... -o` into pairs. Words without '=' belong to the value before them, and are cut
   off. Pairs that are too many are left out. */
void hr__slurm_split_words(struct hr__slurm_line *line, char *text);

/* Returns the value of a key of the line; NULL if the line does not set it. */
const char *hr__slurm_value(const struct hr__slurm_line *line, const char *key);

/* Returns the number of hosts of a list such as "n[01-16,20],login"; 0 if the list is not valid. */
uint64_t hr__slurm_hosts(const char *list);

typedef bool hr__slurm_visit_host(void *self, const char *name, size_t length);
/* Calls `visit` for each host of a valid list, until it returns false. Returns false if it did. */
bool hr__slurm_each_host(const char *list, hr__slurm_visit_host *visit, void *self);

/* ---- The import --------------------------------------------------------------------------------------- */

/* A node with GPUs: the pool, and its number in the pool. */
struct hr__slurm_node {
  uint32_t pool, index;
};

/* Nodes that a line names. They are added when all files are read, because they are sorted by weight.
 */
struct hr__slurm_hosts {
  char *hosts;      /* a list; owned */
  const char *path; /* the place of the line */
  unsigned number, order;
  bool is_shown; /* one node of `scontrol show node` or `sinfo`, else a line of slurm.conf */
  char type[60], state[40];
  unsigned long gpus, shards, mps; /* shards, and shares for MPS, of all GPUs of a node; 0: GPUs are not shared */
  double weight, cpus;             /* CPUs of a node; 0: not known */
};

struct hr__slurm_import {
  cJSON *pools, *policy, *section; /* `section` is the section `slurm` of the scenario */
  struct hr_notes *notes;
  struct hr_catalog *catalog;
  cJSON *default_node;            /* values of NodeName=DEFAULT by key; NULL: none */
  cJSON *node_sets, *features;    /* {NAME: {KEY: VALUE}} of NodeSet; {FEATURE: list of hosts}; NULL: none */
  cJSON *default_qos;             /* of the cluster, in `sacctmgr dump`; NULL: none */
  cJSON *default_partition;       /* keys of PartitionName=DEFAULT; NULL: none */
  char parent[256];               /* the account above the next lines of `sacctmgr dump` */
  double cpus, gpus;              /* sums over nodes, for the CPUs per GPU */
  bool has_conf, enforces_limits; /* slurm.conf was read; AccountingStorageEnforce has `limits` */
  bool enforces_qos, lists_qos;   /* AccountingStorageEnforce has `qos`; associations name the QOS they may use */
  struct hr__name_table names;    /* of nodes with GPUs */
  struct hr__slurm_node *nodes;   /* [names.count] */
  uint32_t capacity;              /* of `nodes` */
  struct hr__slurm_hosts *lines;  /* [n_lines] */
  uint32_t n_lines, lines_capacity;
  int64_t first_start_s; /* of all reservations, since 1970; INT64_MAX: none */
};

/* ---- Values (slurm_conf.c) ---- */

/* Adds a note that begins with the place of the line. */
enum hr_status hr__slurm_note(const struct hr__slurm_import *import, const struct hr__slurm_line *line,
                              struct hr_error *error, const char *format, ...) HR_PRINTF(4, 5);

/* Fails with the place of the line: KEY is VALUE, expected EXPECTED. */
enum hr_status hr__slurm_bad(const struct hr__slurm_line *line, const char *key, const char *value,
                             const char *expected, struct hr_error *error);

/* Returns whether a value means that nothing is set or limited: "", NONE, UNLIMITED, (null), N/A ... */
bool hr__slurm_is_unset(const char *value);

/* Reads a time such as 90, 10:00, 12:00:00, 1-12 or 1-12:00:00; a single number counts `unit_s` seconds. Returns -1 if
   it is not valid. */
int64_t hr__slurm_seconds(const char *value, int64_t unit_s);

/* Reads a date such as 2026-11-23T12:34:17 as if it were UTC. Returns INT64_MIN if it is not valid. */
int64_t hr__slurm_date(const char *text);

/* Values of different notations. The member is not added if the value is unset. */
enum hr__slurm_notation {
  HR__SLURM_NUMBER,    /* a number of at least 0 */
  HR__SLURM_WHOLE,     /* a whole number of at least 0 */
  HR__SLURM_SECONDS,   /* a time, a single number counts seconds */
  HR__SLURM_MINUTES,   /* a time, a single number counts minutes */
  HR__SLURM_OVER_TIME, /* the same; UNLIMITED is a value of its own */
  HR__SLURM_YES_NO,    /* YES or NO */
  HR__SLURM_TEXT,      /* a name */
  HR__SLURM_WORD,      /* a word, written in lower case */
  HR__SLURM_NAMES,     /* names with commas between them; ALL is unset */
  HR__SLURM_TRES,      /* limits such as cpu=64,gres/gpu=8,mem=512G */
  HR__SLURM_WEIGHTS,   /* weights such as CPU=1,Mem=0.25G,GRES/gpu=2 */
  HR__SLURM_SHARES     /* weights of shares such as cpu=1000,gres/gpu=3000 */
};

/* The member of the scenario to which a key of Slurm is converted. `words`: those that are allowed for HR__SLURM_WORD,
   NULL-terminated. */
struct hr__slurm_rule {
  const char *key, *member;
  enum hr__slurm_notation notation;
  const char *const *words;
};

/* Adds the member of a rule to the object. An existing member is replaced. */
enum hr_status hr__slurm_add(const struct hr__slurm_import *import, const struct hr__slurm_line *line, cJSON *object,
                             const struct hr__slurm_rule *rule, const char *value, struct hr_error *error);

/* Returns the list or object of that name in the object, and adds it if it is missing. */
cJSON *hr__slurm_list(cJSON *object, const char *name);
cJSON *hr__slurm_object(cJSON *object, const char *name);

/* ---- Nodes (slurm_nodes.c) ---- */

/* Reads a line with NodeName of slurm.conf or of `scontrol show node -o`. */
enum hr_status hr__slurm_read_node(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                   struct hr_error *error);

/* Reads a line with NodeSet of slurm.conf. */
enum hr_status hr__slurm_read_node_set(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                       struct hr_error *error);

/* Adds the nodes of all lines to pools, sorted by weight. */
enum hr_status hr__slurm_finish_nodes(struct hr__slurm_import *import, struct hr_error *error);

/* Adds one node of `scontrol show node` or `sinfo`. Successive nodes that are alike become one pool. */
enum hr_status hr__slurm_add_node(struct hr__slurm_import *import, const struct hr__slurm_line *line, const char *name,
                                  const char *gres, const char *state, struct hr_error *error);

/* ---- Partitions and reservations (slurm_nodes.c) ---- */

/* Reads a line with PartitionName of slurm.conf or of `scontrol show partition -o`. The list of nodes remains in the
   member `nodes` until hr__slurm_finish_partitions, because nodes may be in a later file. */
enum hr_status hr__slurm_read_partition(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                        struct hr_error *error);
enum hr_status hr__slurm_read_reservation(struct hr__slurm_import *import, const struct hr__slurm_line *line,
                                          struct hr_error *error);
enum hr_status hr__slurm_finish_partitions(struct hr__slurm_import *import, struct hr_error *error);

/* Returns a partition of `sinfo`. Adds the partition if it is unknown. */
cJSON *hr__slurm_partition(struct hr__slurm_import *import, const char *name);

#endif
