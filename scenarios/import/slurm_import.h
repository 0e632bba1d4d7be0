/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_IMPORT_SLURM_IMPORT_H
#define HR_SCENARIOS_IMPORT_SLURM_IMPORT_H

/*
 * Data and functions that the files of the import of Slurm share: lines of files, the scenario that is written, the
 * nodes by name, and the notations of values. If a function has a parameter `line`, its errors and notes begin with the
 * place of this line.
 */

#include "headroom/unstable/catalog.h"

#include "base/containers.h"

#include <cjson/cJSON.h>

/* ---- Lines (slurm_conf.c) --------------------------------------------------------------------------- */

/* Files in the syntax of slurm.conf: lines of KEY=VALUE pairs, separated by white space. A value may be in quotation
   marks. A comment begins with '#'. A line that ends with a backslash continues in the next line. Keys are not
   case-sensitive. The output of `scontrol show ... -o` also consists of such lines, but its values may contain spaces
   without quotation marks. The output of other commands is read line by line. */

/* A line, with its pairs. */
struct hr__slurm_line {
  const char *path;
  struct hr_error *error; /* receives errors about the line */
  unsigned number;        /* of its first line in the file, from 1 */
  struct {
    char *key, *value;
  } pairs[64];
  unsigned n_pairs;
};

typedef enum hr_status hr__slurm_visit(void *self, const struct hr__slurm_line *line);
/* Calls `visit`, with `self` as its first argument, for each line with pairs. Stops at the first call that does not
   return HR_OK, and returns its status. Returns HR_BAD_INPUT for a line that is not a list of pairs, has more than 64
   pairs or contains `Include`, and in the cases in which hr__slurm_text_read returns it. */
enum hr_status hr__slurm_conf_read(const char *path, hr__slurm_visit *visit, void *self, struct hr_error *error);

typedef enum hr_status hr__slurm_visit_text(void *self, struct hr__slurm_line *line, char *text);
/* Calls `visit` for each line that is neither empty nor a comment. `text` is the text of the line, which `visit` may
   change. Stops at the first call that does not return HR_OK, and returns its status. Returns HR_BAD_INPUT if the file
   cannot be read, is not a regular file, is compressed, or has a line longer than 64 KiB. */
enum hr_status hr__slurm_text_read(const char *path, hr__slurm_visit_text *visit, void *self, struct hr_error *error);

/* Splits a line of `scontrol show ... -o` into pairs. Words without '=' belong to the value before them; they are
   dropped. Pairs after the 64th are dropped, too. The pairs point into `text`, which is changed. */
void hr__slurm_split_words(struct hr__slurm_line *line, char *text);

/* Returns the value of a key of the line; NULL if the line does not have the key. */
const char *hr__slurm_value(const struct hr__slurm_line *line, const char *key);

/* Returns the number of hosts of a list such as "n[01-16,20],login"; 0 if the list is not valid. */
uint64_t hr__slurm_hosts(const char *list);

typedef bool hr__slurm_visit_host(void *self, const char *name, size_t length);
/* Calls `visit` for each host of a list that hr__slurm_hosts accepts, until `visit` returns false. Returns false if it
   did. */
bool hr__slurm_each_host(const char *list, hr__slurm_visit_host *visit, void *self);

/* ---- The import --------------------------------------------------------------------------------------- */

/* A node with GPUs: the number of its pool, and its index in the pool. */
struct hr__slurm_node {
  uint32_t pool, index;
};

/* The nodes of a line. They are added to pools when all files have been read, because pools are sorted by weight. */
struct hr__slurm_hosts {
  char *hosts;            /* a list; owned */
  const char *path;       /* of the file with the line */
  unsigned number, order; /* number of the line in its file; position of this entry in the order of reading */
  bool is_shown;          /* the line is one node of `scontrol show node` or `sinfo`; otherwise a line of slurm.conf */
  /* type: GPU type in Slurm; "": not stated. state: state of the node, set only if `is_shown` */
  char type[60], state[40];
  /* gpus: of each node. shards, mps: shares of all GPUs of a node together; 0: GPUs are not shared in this way */
  unsigned long gpus, shards, mps;
  double weight, cpus; /* weight: Slurm's Weight, 1 if not set. cpus: of each node; 0: unknown */
};

struct hr__slurm_import {
  cJSON *pools, *policy, *section; /* `section` is the section `slurm` of the scenario */
  struct hr_notes *notes;
  struct hr_error *error;
  struct hr_catalog *catalog;
  cJSON *default_node;            /* values of NodeName=DEFAULT by key; NULL: none */
  cJSON *node_sets, *features;    /* node sets: {NAME: {KEY: VALUE}}; {FEATURE: list of hosts}; NULL: none */
  cJSON *default_qos;             /* of the cluster, in `sacctmgr dump`; NULL: none */
  cJSON *default_partition;       /* keys of PartitionName=DEFAULT; NULL: none */
  char parent[256];               /* parent account of the next lines of `sacctmgr dump` */
  double cpus, gpus;              /* sums over all nodes with known CPUs, for the number of CPUs per GPU */
  bool has_conf, enforces_limits; /* slurm.conf was read; AccountingStorageEnforce has `limits`, `safe` or `all` */
  /* AccountingStorageEnforce has `qos` or `all`; associations list the QOS that they may use */
  bool enforces_qos, lists_qos;
  struct hr__name_table names;   /* of nodes with GPUs */
  struct hr__slurm_node *nodes;  /* [names.count] */
  uint32_t capacity;             /* of `nodes` */
  struct hr__slurm_hosts *lines; /* [n_lines] */
  uint32_t n_lines, lines_capacity;
  int64_t first_start_s; /* first start of all reservations, in seconds since 1970; INT64_MAX: none */
};

/* ---- Values (slurm_conf.c) ---- */

/* Adds a note that begins with the place of the line; `line` NULL: without a place. Returns HR_OK, or HR_NO_MEMORY if
   memory is exhausted. */
enum hr_status hr__slurm_note(const struct hr__slurm_import *import, const struct hr__slurm_line *line,
                              const char *format, ...) HR_PRINTF(3, 4);

/* Reports that memory is exhausted, and returns HR_NO_MEMORY. */
static inline enum hr_status hr__slurm_no_memory(const struct hr__slurm_line *line) {
  return hr_fail(line->error, HR_NO_MEMORY, "%s: out of memory", line->path);
}

/* Reports the error "KEY is 'VALUE', expected EXPECTED" with the place of the line, and returns HR_BAD_INPUT. */
enum hr_status hr__slurm_bad(const struct hr__slurm_line *line, const char *key, const char *value,
                             const char *expected);

/* Returns whether a word is in a list, in any case. The list ends with NULL. */
bool hr__slurm_is_listed(const char *const *list, const char *word);

/* Returns whether a value means "not set" or "not limited": "", NONE, UNLIMITED, INFINITE, (null), N/A or -1. */
bool hr__slurm_is_unset(const char *value);

/* Returns a duration in seconds; -1 if it is not valid. The notations are a single number in units of `unit_s` seconds,
   minutes:seconds, hours:minutes:seconds, days-hours, days-hours:minutes and days-hours:minutes:seconds. */
int64_t hr__slurm_seconds(const char *value, int64_t unit_s);

/* Returns a date such as 2026-11-23T12:34:17 in seconds since 1970, as if it were UTC; INT64_MIN if it is not valid. */
int64_t hr__slurm_date(const char *text);

/* The notations of values. Times are added in seconds. */
enum hr__slurm_notation {
  HR__SLURM_NUMBER,    /* a number of at least 0 */
  HR__SLURM_WHOLE,     /* a whole number of at least 0 */
  HR__SLURM_SECONDS,   /* a time; a single number is in seconds */
  HR__SLURM_MINUTES,   /* a time; a single number is in minutes */
  HR__SLURM_OVER_TIME, /* as HR__SLURM_MINUTES, but UNLIMITED is a value and does not mean "not set" */
  HR__SLURM_YES_NO,    /* YES or NO */
  HR__SLURM_TEXT,      /* a name */
  HR__SLURM_WORD,      /* one of the words of the rule, in any case; added as the rule spells it */
  HR__SLURM_NAMES,     /* names or flags, separated by commas; ALL means "not set" */
  HR__SLURM_TRES,      /* limits such as cpu=64,gres/gpu=8,mem=512G */
  HR__SLURM_WEIGHTS,   /* weights such as CPU=1,Mem=0.25G,GRES/gpu=2 */
  HR__SLURM_SHARES     /* weights of shares such as cpu=1000,gres/gpu=3000 */
};

/* The member of the scenario to which a key of Slurm is converted. `words`: the words of HR__SLURM_WORD or the flags of
   HR__SLURM_NAMES that are modelled, NULL-terminated. NULL for HR__SLURM_NAMES: any names. */
struct hr__slurm_rule {
  const char *key, *member;
  enum hr__slurm_notation notation;
  const char *const *words;
};

/* Adds the member of a rule to the object. An existing member is replaced. If the value is not set (see
   hr__slurm_is_unset), adds nothing. For words, flags and resources that are not modelled, adds a note. Returns
   HR_BAD_INPUT if the value is not valid. */
enum hr_status hr__slurm_add(const struct hr__slurm_import *import, const struct hr__slurm_line *line, cJSON *object,
                             const struct hr__slurm_rule *rule, const char *value);

/* Sets a member of an object, and returns it. An existing member is replaced. */
cJSON *hr__slurm_set(cJSON *object, const char *name, cJSON *item);

/* Return the list or the object that is the member `name` of an object. Add the member if it is missing; NULL: memory
   is exhausted. */
cJSON *hr__slurm_list(cJSON *object, const char *name);
cJSON *hr__slurm_object(cJSON *object, const char *name);

/* ---- Nodes (slurm_nodes.c) ---- */

/* Reads a line with NodeName of slurm.conf or of `scontrol show node -o`. The nodes are stored until
   hr__slurm_finish_nodes. */
enum hr_status hr__slurm_read_node(struct hr__slurm_import *import, const struct hr__slurm_line *line);

/* Reads a line with NodeSet of slurm.conf. */
enum hr_status hr__slurm_read_node_set(struct hr__slurm_import *import, const struct hr__slurm_line *line);

/* Adds the nodes of all lines to pools: first the lines of slurm.conf, then the output of commands, each sorted by
   weight. Must be called after all files were read. */
enum hr_status hr__slurm_finish_nodes(struct hr__slurm_import *import);

/* Stores one node of `scontrol show node` or `sinfo` until hr__slurm_finish_nodes. `gres`: its generic resources, such
   as "gpu:a100:8". `state`: its state; NULL: unknown. */
enum hr_status hr__slurm_add_node(struct hr__slurm_import *import, const struct hr__slurm_line *line, const char *name,
                                  const char *gres, const char *state);

/* ---- Partitions and reservations (slurm_nodes.c) ---- */

/* Reads a line with PartitionName of slurm.conf or of `scontrol show partition -o`. Its nodes may be in a later file,
   so the member `nodes` remains a list of hosts until hr__slurm_finish_partitions. The values of PartitionName=DEFAULT
   apply to partitions that are added later. */
enum hr_status hr__slurm_read_partition(struct hr__slurm_import *import, const struct hr__slurm_line *line);
/* Reads a line of `scontrol show reservation -o`. Its member `nodes` also remains a list of hosts. */
enum hr_status hr__slurm_read_reservation(struct hr__slurm_import *import, const struct hr__slurm_line *line);
/* Replaces the lists of hosts of all partitions and reservations by ranges of pools. Removes partitions and
   reservations without GPUs, with a note. Makes the starts of all reservations relative to the earliest of them. */
enum hr_status hr__slurm_finish_partitions(struct hr__slurm_import *import);

/* Returns the partition with a name. If it is unknown, adds it with the values of PartitionName=DEFAULT. NULL: memory
   is exhausted. */
cJSON *hr__slurm_partition(struct hr__slurm_import *import, const char *name);

#endif
