/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Imports the configuration of Slurm: slurm.conf and gres.conf, and the output of `sacctmgr dump`, `sacctmgr -P show
 * qos`, `scontrol show node|partition|reservation -o`, `scontrol show config` and `sinfo -N`. The kind of a file is
 * found from its first line that is not a comment. Files may be in any order; a node or partition that is in several
 * files is one object. Parameters are read by slurm_parameters.c, nodes by slurm_nodes.c, partitions and reservations
 * by slurm_partitions.c, accounts and QOS by slurm_accounts.c. Source: doc/man/man5/{slurm,gres}.conf.5 and
 * doc/man/man1 of SchedMD/slurm.
 */

#include "scenarios/import/import.h"
#include "scenarios/import/slurm_import.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- slurm.conf and gres.conf ----------------------------------------------------------------------- */

/* Reads a line of slurm.conf or gres.conf. Lines of gres.conf have a `Name`, and may have a `NodeName` before it. Those
   of GPUs and their shares are ignored: their numbers are read from slurm.conf, where Slurm requires them, too. */
static enum hr_status read_conf_line(void *self, const struct hr__slurm_line *line, struct hr_error *error) {
  struct hr__slurm_import *import = self;
  static const char *const of_gpus[] = {"gpu", "shard", "mps"};
  const char *gres = hr__slurm_value(line, "Name");
  for (size_t i = 0; gres && i < sizeof of_gpus / sizeof *of_gpus; i++)
    if (strcasecmp(gres, of_gpus[i]) == 0) return HR_OK;
  if (gres) return hr__slurm_note(import, line, error, "GRES '%.40s' is not modelled: no job waits for it", gres);
  if (hr__slurm_value(line, "NodeSet")) return hr__slurm_read_node_set(import, line, error);
  if (hr__slurm_value(line, "NodeName")) return hr__slurm_read_node(import, line, error);
  if (hr__slurm_value(line, "PartitionName")) return hr__slurm_read_partition(import, line, error);
  if (hr__slurm_value(line, "AutoDetect")) return HR_OK;
  return hr__slurm_read_parameters(import, line, error);
}

/* ---- Output of commands ----------------------------------------------------------------------------- */

/* A line of `scontrol show ... -o`. */
static enum hr_status read_shown(void *self, struct hr__slurm_line *line, char *text, struct hr_error *error) {
  hr__slurm_split_words(line, text);
  if (hr__slurm_value(line, "ReservationName")) return hr__slurm_read_reservation(self, line, error);
  if (hr__slurm_value(line, "NodeName")) return hr__slurm_read_node(self, line, error);
  if (hr__slurm_value(line, "PartitionName")) return hr__slurm_read_partition(self, line, error);
  return HR_OK;
}

static enum hr_status read_dumped(void *self, struct hr__slurm_line *line, char *text, struct hr_error *error) {
  return hr__slurm_read_dump(self, line, text, error);
}

static enum hr_status read_qos_row(void *self, struct hr__slurm_line *line, char *text, struct hr_error *error) {
  return hr__slurm_read_qos(self, line, text, error);
}

/* Reads a line of `scontrol show config`, KEY = VALUE. Only BOOT_TIME is used, the start of slurmctld, because
   slurm.conf does not contain it. Slurm computes priorities for the first time one second after this start. */
static enum hr_status read_shown_config(void *self, struct hr__slurm_line *line, char *text, struct hr_error *error) {
  struct hr__slurm_import *import = self;
  if (strncmp(text, "BOOT_TIME", 9) != 0) return HR_OK;
  char *value = text + 9 + strspn(text + 9, " =");
  value[strcspn(value, " \r")] = '\0';
  int64_t start_s = hr__slurm_date(value);
  if (start_s < 0) return hr__slurm_bad(line, "BOOT_TIME", value, "a date such as 2026-03-01T08:00:00", error);
  cJSON *priority = hr__slurm_object(import->section, "priority");
  cJSON_DeleteItemFromObject(priority, "calc_start_s");
  if (cJSON_AddNumberToObject(priority, "calc_start_s", (double)(start_s + 1))) return HR_OK;
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", line->path);
}

/* ---- sinfo ------------------------------------------------------------------------------------------ */

/* The columns of `sinfo -N` that are read. */
enum { NODE, PARTITION, STATE, GRES, N_COLUMNS };

struct sinfo {
  struct hr__slurm_import *import;
  int columns[N_COLUMNS]; /* their numbers; -1: not in the table */
  bool has_header;
};

static enum hr_status read_header(struct sinfo *sinfo, const struct hr__slurm_line *line, char *text,
                                  struct hr_error *error) {
  static const char *const names[] = {"NODELIST", "PARTITION", "STATE", "GRES"};
  int number = 0;
  char *rest = text;
  for (int c = 0; c < N_COLUMNS; c++) sinfo->columns[c] = -1;
  for (char *name; (name = strtok_r(rest, " \t|", &rest)); number++)
    for (int c = 0; c < N_COLUMNS; c++)
      if (strcmp(name, names[c]) == 0 || (c == NODE && strcmp(name, "HOSTNAMES") == 0)) sinfo->columns[c] = number;
  sinfo->has_header = true;
  if (sinfo->columns[NODE] >= 0 && sinfo->columns[GRES] >= 0) return HR_OK;
  return hr_fail(
      error, HR_BAD_INPUT,
      "%s:%u: the table has no column NODELIST or GRES; expected the output of sinfo -N -o '%%N %%P %%T %%G'",
      line->path, line->number);
}

/* Appends a node to the list of a partition. */
static enum hr_status add_to_partition(struct hr__slurm_import *import, const struct hr__slurm_line *line, char *name,
                                       const char *node, struct hr_error *error) {
  size_t length = strlen(name);
  bool is_default = length > 0 && name[length - 1] == '*';
  if (is_default) name[length - 1] = '\0';
  cJSON *partition = hr__slurm_partition(import, name), *nodes = cJSON_GetObjectItemCaseSensitive(partition, "nodes");
  if (nodes && !cJSON_HasObjectItem(partition, "from sinfo")) return HR_OK; // the list of another file is complete
  if (is_default && !cJSON_HasObjectItem(partition, "default")) cJSON_AddTrueToObject(partition, "default");
  if (!nodes) cJSON_AddTrueToObject(partition, "from sinfo");
  size_t bytes = (nodes ? strlen(nodes->valuestring) : 0) + strlen(node) + 2;
  char *list = malloc(bytes);
  if (!partition || !list) {
    free(list);
    return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", line->path);
  }
  snprintf(list, bytes, "%s%s%s", nodes ? nodes->valuestring : "", nodes ? "," : "", node);
  cJSON_DeleteItemFromObject(partition, "nodes");
  cJSON_AddStringToObject(partition, "nodes", list);
  free(list);
  return HR_OK;
}

static enum hr_status read_sinfo(void *self, struct hr__slurm_line *line, char *text, struct hr_error *error) {
  struct sinfo *sinfo = self;
  char *cells[N_COLUMNS] = {NULL}, *rest = text;
  int number = 0;
  if (!sinfo->has_header) return read_header(sinfo, line, text, error);
  for (char *cell; (cell = strtok_r(rest, " \t|", &rest)); number++)
    for (int c = 0; c < N_COLUMNS; c++)
      if (sinfo->columns[c] == number) cells[c] = cell;
  if (!cells[NODE] || !cells[GRES])
    return hr_fail(error, HR_BAD_INPUT, "%s:%u: the row has %d columns, expected those of the header", line->path,
                   line->number, number);
  enum hr_status status = hr__slurm_add_node(sinfo->import, line, cells[NODE], cells[GRES], cells[STATE], error);
  if (status != HR_OK || !cells[PARTITION]) return status;
  return add_to_partition(sinfo->import, line, cells[PARTITION], cells[NODE], error);
}

/* ---- Kinds of files --------------------------------------------------------------------------------- */

enum kind { CONF, SHOWN, SHOWN_CONFIG, DUMP, QOS_TABLE, SINFO, SACCT };

static enum hr_status find_kind(void *self, struct hr__slurm_line *line, char *text, struct hr_error *error) {
  int *kind = self;
  (void)line;
  (void)error;
  if (*kind >= 0) return HR_OK;
  bool is_shown = strncmp(text, "ReservationName=", 16) == 0 ||
                  (strncmp(text, "NodeName=", 9) == 0 && strstr(text, " CPUTot=")) ||
                  (strncmp(text, "PartitionName=", 14) == 0 && strstr(text, " TotalNodes="));
  *kind = is_shown                                                                  ? SHOWN
          : strncmp(text, "Configuration data as of", 24) == 0                      ? SHOWN_CONFIG
          : strncmp(text, "Cluster - ", 10) == 0                                    ? DUMP
          : strncmp(text, "Name|", 5) == 0                                          ? QOS_TABLE
          : strncmp(text, "JobID", 5) == 0                                          ? SACCT
          : strncmp(text, "NODELIST", 8) == 0 || strncmp(text, "HOSTNAMES", 9) == 0 ? SINFO
                                                                                    : CONF;
  return HR_OK;
}

static enum hr_status read_file(struct hr__slurm_import *import, const char *path, struct hr_error *error) {
  struct sinfo sinfo = {.import = import};
  int kind = -1;
  enum hr_status status = hr__slurm_text_read(path, find_kind, &kind, error);
  if (status != HR_OK) return status;
  switch (kind) {
  case SHOWN:
    return hr__slurm_text_read(path, read_shown, import, error);
  case SHOWN_CONFIG:
    return hr__slurm_text_read(path, read_shown_config, import, error);
  case DUMP:
    return hr__slurm_text_read(path, read_dumped, import, error);
  case QOS_TABLE:
    return hr__slurm_text_read(path, read_qos_row, import, error);
  case SINFO:
    return hr__slurm_text_read(path, read_sinfo, &sinfo, error);
  case SACCT:
    return hr_fail(error, HR_BAD_INPUT,
                   "%s:1: the file is output of sacct, which is a trace; give it to 'headroom run "
                   "--trace'",
                   path);
  default:
    return hr__slurm_conf_read(path, read_conf_line, import, error);
  }
}

/* ---- The scenario ----------------------------------------------------------------------------------- */

/* Removes the keys that only this import uses. Adds the number of CPUs per GPU, if it is known. Removes the section
   `slurm` if it is empty. */
static void tidy(struct hr__slurm_import *import, cJSON *root) {
  cJSON *entry;
  cJSON_ArrayForEach(entry, import->pools) {
    cJSON_DeleteItemFromObject(entry, "type of Slurm");
    cJSON_DeleteItemFromObject(entry, "first nodes");
  }
  cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(import->section, "partitions")) {
    cJSON_DeleteItemFromObject(entry, "from sinfo");
  }
  if (import->gpus > 0 && import->cpus > 0)
    cJSON_AddNumberToObject(import->section, "cpus_per_gpu", import->cpus / import->gpus);
  if (!import->section->child) cJSON_DeleteItemFromObject(root, "slurm");
}

static enum hr_status finish(struct hr__slurm_import *import, const char *path, cJSON *root, struct hr_error *error) {
  enum hr_status status = hr__slurm_finish_nodes(import, error);
  if (status != HR_OK) return status;
  if (cJSON_GetArraySize(import->pools) == 0)
    return hr_fail(error, HR_BAD_INPUT, "%s: no node has GPUs; expected lines such as NodeName=n[1-8] Gres=gpu:a100:8",
                   path);
  status = hr__slurm_finish_partitions(import, error);
  if (status == HR_OK) status = hr__slurm_finish_accounts(import, error);
  tidy(import, root);
  return status;
}

enum hr_status hr__import_slurm(const char *const *files, size_t n_files, cJSON *root, struct hr_notes *notes,
                                struct hr_error *error) {
  struct hr__slurm_import import = {.notes = notes, .first_start_s = INT64_MAX};
  enum hr_status status = hr_catalog_load(NULL, &import.catalog, error);
  if (status != HR_OK) return status;
  cJSON *cluster = cJSON_AddObjectToObject(root, "cluster");
  import.pools = cJSON_AddArrayToObject(cluster, "pools");
  import.policy = cJSON_AddObjectToObject(root, "policy");
  import.section = cJSON_AddObjectToObject(root, "slurm");
  if (!cJSON_AddStringToObject(import.policy, "name", "slurm") || !import.section)
    status = hr_fail(error, HR_NO_MEMORY, "import: out of memory");
  for (size_t i = 0; i < n_files && status == HR_OK; i++) status = read_file(&import, files[i], error);
  if (status == HR_OK) status = finish(&import, files[0], root, error);
  cJSON_Delete(import.default_partition);
  cJSON_Delete(import.default_qos);
  cJSON_Delete(import.default_node);
  cJSON_Delete(import.node_sets);
  cJSON_Delete(import.features);
  for (uint32_t i = 0; i < import.n_lines; i++) free(import.lines[i].hosts);
  free(import.lines);
  hr__names_finish(&import.names);
  free(import.nodes);
  hr_catalog_destroy(import.catalog);
  return status;
}
