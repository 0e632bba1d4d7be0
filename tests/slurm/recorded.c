/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads recorded runs; see recorded.h. */

#include "recorded.h"

#include <ctype.h>
#include <string.h>

enum { MAX_LINE = 4000, MAX_CELLS = 40 };

static FILE *open_file(const struct recorded *run, const char *name) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", run->folder, name);
  FILE *file = fopen(path, "r");
  if (!file) printf("%s is missing\n", path);
  return file;
}

/* Splits a line at `|`. Returns the number of cells. */
static unsigned split(char *line, char *cells[MAX_CELLS]) {
  unsigned count = 0;
  line[strcspn(line, "\r\n")] = '\0';
  for (char *at = line; at && count < MAX_CELLS; count++) {
    cells[count] = at;
    at = strchr(at, '|');
    if (at) *at++ = '\0';
  }
  return count;
}

/* Reads a date such as 2026-11-23T12:34:17, as if it were UTC. Fractions of a second are ignored. */
static int64_t seconds_of(const char *text) {
  long part[6] = {0};
  const char *at = text;
  for (unsigned i = 0; i < 6 && isdigit((unsigned char)*at); i++) {
    char *end;
    part[i] = strtol(at, &end, 10);
    at = *end ? end + 1 : end;
  }
  int64_t year = part[0] - (part[1] <= 2), month = (part[1] + 9) % 12;
  int64_t days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + part[2] - 719469;
  return ((days * 24 + part[3]) * 60 + part[4]) * 60 + part[5];
}

/* Reads a list of nodes: n3 or n[1,4-6]. */
static uint64_t nodes_of(const char *text) {
  uint64_t set = 0;
  for (const char *at = text + 1; *at;) {
    char *end;
    unsigned long first = strtoul(at, &end, 10), last = first;
    if (end == at) {
      at++;
      continue;
    }
    if (*end == '-') last = strtoul(end + 1, &end, 10);
    for (unsigned long n = first; n <= last && n >= 1 && n <= RECORDED_NODES; n++) set |= UINT64_C(1) << (n - 1);
    at = end;
  }
  return set;
}

static void copy_word(char *word, const char *text) {
  snprintf(word, MAX_WORD, "%s", text + strspn(text, " "));
}

/* ---- slurm.conf, QOS, ticks ------------------------------------------------------------------------- */

/* Reads a time such as 00:10:00. */
static double span_of(const char *text) {
  double seconds = 0;
  for (const char *at = text; *at;) {
    char *end;
    seconds = seconds * 60 + (double)strtol(at, &end, 10);
    at = *end ? end + 1 : end;
  }
  return seconds;
}

/* The milliseconds after the second of a date. */
static int milliseconds_of(const char *text) {
  const char *dot = strchr(text, '.');
  return dot ? (int)strtol(dot + 1, NULL, 10) : 0;
}

static bool read_conf(struct recorded *run) {
  char line[MAX_LINE];
  FILE *file = open_file(run, "slurm.conf");
  if (!file) return false;
  run->is_basic = true;
  while (fgets(line, sizeof line, file)) {
    line[strcspn(line, "\r\n")] = '\0';
    char *value = strchr(line, '=');
    if (!value) continue;
    *value++ = '\0';
    if (strcmp(line, "PriorityType") == 0) run->is_basic = strcmp(value, "priority/basic") == 0;
    if (strcmp(line, "PriorityWeightAge") == 0) run->weight_age = strtod(value, NULL);
    if (strcmp(line, "PriorityWeightFairshare") == 0) run->weight_fair_share = strtod(value, NULL);
    if (strcmp(line, "PriorityWeightJobSize") == 0) run->weight_size = strtod(value, NULL);
    if (strcmp(line, "PriorityWeightQOS") == 0) run->weight_qos = strtod(value, NULL);
    if (strcmp(line, "PriorityMaxAge") == 0) run->max_age_s = span_of(value);
    if (strcmp(line, "PriorityDecayHalfLife") == 0) run->half_life_s = span_of(value);
    if (strcmp(line, "PartitionName") == 0) run->bills_gpus = strstr(value, "TRESBillingWeights=GRES/gpu=1") != NULL;
  }
  fclose(file);
  if (run->max_age_s <= 0) run->max_age_s = 7 * 86400;
  if (run->half_life_s <= 0) run->half_life_s = 7 * 86400;
  return true;
}

/* Returns whether a comma-separated list contains a name. */
static bool has_name(const char *list, const char *name) {
  for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',')
    if (strcspn(at, ",") == strlen(name) && strncmp(at, name, strlen(name)) == 0) return true;
  return false;
}

/* Reads qos.txt. Columns 1, 2 and 4 are the name, the priority, and a list of the QOS whose jobs may be preempted.
   Returns false if the file cannot be opened. */
static bool read_qos(struct recorded *run) {
  char line[MAX_LINE], *cells[MAX_CELLS], preempt[MAX_QOS][100] = {{0}};
  FILE *file = open_file(run, "qos.txt");
  if (!file) return false;
  for (bool header = true; fgets(line, sizeof line, file) && run->n_qos < MAX_QOS; header = false) {
    if (header || split(line, cells) < 4) continue;
    copy_word(run->qos[run->n_qos], cells[0]);
    snprintf(preempt[run->n_qos], sizeof preempt[0], "%s", cells[3]);
    run->qos_priority[run->n_qos++] = strtod(cells[1], NULL);
  }
  for (uint32_t a = 0; a < run->n_qos; a++)
    for (uint32_t b = 0; b < run->n_qos; b++) run->may_preempt[a][b] = has_name(preempt[a], run->qos[b]);
  fclose(file);
  return true;
}

static bool read_ticks(struct recorded *run) {
  char line[MAX_LINE];
  FILE *file = open_file(run, "ticks");
  if (!file) return false;
  for (; fgets(line, sizeof line, file) && run->n_ticks < MAX_TICKS; run->n_ticks++) {
    run->ticks[run->n_ticks] = seconds_of(line);
    run->tick_ms[run->n_ticks] = milliseconds_of(line);
  }
  fclose(file);
  return true;
}

/* ---- The tree of associations ----------------------------------------------------------------------- */

/* Reads the tree of associations from the first table of sshare. Accounts are indented by their depth. The row of the
   root is skipped. Returns false if the file cannot be opened. */
static bool read_tree(struct recorded *run) {
  char line[MAX_LINE], *cells[MAX_CELLS];
  uint32_t above[MAX_ASSOCS] = {HR_NONE, HR_NONE};
  FILE *file = open_file(run, "samples");
  if (!file) return false;
  while (fgets(line, sizeof line, file) && strncmp(line, "Account|", 8) != 0) continue;
  while (fgets(line, sizeof line, file) && line[0] != '@' && strchr(line, '|') && run->n_assocs < MAX_ASSOCS) {
    size_t depth = strspn(line, " ");
    if (split(line, cells) < 3 || depth == 0 || depth + 1 >= MAX_ASSOCS) continue;
    bool is_user = *cells[1] != '\0';
    uint32_t number = run->n_assocs++;
    copy_word(run->rows[number].account, cells[0]);
    copy_word(run->rows[number].user, cells[1]);
    run->assocs[number] =
        (struct hr__slurm_assoc){.parent = above[depth], .shares = strtol(cells[2], NULL, 10), .is_user = is_user};
    if (!is_user) above[depth + 1] = number;
  }
  fclose(file);
  return true;
}

static uint32_t find_assoc(const struct recorded *run, const char *account, const char *user) {
  for (uint32_t i = 0; i < run->n_assocs; i++)
    if (strcmp(run->rows[i].account, account) == 0 && strcmp(run->rows[i].user, user) == 0) return i;
  return HR_NONE;
}

/* ---- Attempts --------------------------------------------------------------------------------------- */

static const char *const columns[] = {"JobID", "User", "Account", "State",        "Submit",  "Eligible", "Start",
                                      "End",   "QOS",  "NNodes",  "TimelimitRaw", "ReqTRES", "NodeList"};
enum { JOB, USER, ACCOUNT, STATE, SUBMIT, ELIGIBLE, START, END_, QOS_, N_NODES, LIMIT, TRES, NODE_LIST, N_COLUMNS };

static void read_attempt(struct recorded *run, char *cells[N_COLUMNS]) {
  struct attempt *attempt = &run->attempts[run->n_attempts++];
  const char *gpus = strstr(cells[TRES], "gres/gpu=");
  uint32_t nodes = (uint32_t)strtoul(cells[N_NODES], NULL, 10);
  *attempt = (struct attempt){.job = (uint32_t)strtoul(cells[JOB], NULL, 10),
                              .submit_s = seconds_of(cells[SUBMIT]),
                              .eligible_s = seconds_of(cells[ELIGIBLE]),
                              .start_s = seconds_of(cells[START]),
                              .end_s = seconds_of(cells[END_]),
                              .limit_s = 60 * strtol(cells[LIMIT], NULL, 10),
                              .gpus = gpus ? (uint32_t)strtoul(gpus + 9, NULL, 10) : 0,
                              .nodes = nodes_of(cells[NODE_LIST]),
                              .is_preempted = strcmp(cells[STATE], "PREEMPTED") == 0};
  attempt->shape = (struct hr__slurm_shape){nodes, attempt->gpus / nodes, attempt->gpus / nodes, 0, 0, 0};
  copy_word(attempt->user, cells[USER]);
  copy_word(attempt->account, cells[ACCOUNT]);
  attempt->assoc = find_assoc(run, attempt->account, attempt->user);
  for (attempt->qos = 0; attempt->qos < run->n_qos; attempt->qos++)
    if (strcmp(run->qos[attempt->qos], cells[QOS_]) == 0) break;
}

static bool read_attempts(struct recorded *run) {
  char line[MAX_LINE], *cells[MAX_CELLS], *chosen[N_COLUMNS];
  unsigned place[N_COLUMNS] = {0};
  FILE *file = open_file(run, "run.sacct.all");
  if (!file) return false;
  for (bool header = true; fgets(line, sizeof line, file) && run->n_attempts < MAX_ATTEMPTS; header = false) {
    unsigned count = split(line, cells);
    for (unsigned c = 0; c < N_COLUMNS; c++) {
      for (unsigned i = 0; header && i < count; i++)
        if (strcmp(cells[i], columns[c]) == 0) place[c] = i;
      chosen[c] = cells[place[c]];
    }
    if (!header) read_attempt(run, chosen);
  }
  fclose(file);
  return true;
}

/* Sets the milliseconds at which attempts started and ended, which sacct does not print. Returns false if the file
   cannot be opened. */
static bool read_times(struct recorded *run) {
  char line[MAX_LINE];
  FILE *file = open_file(run, "times");
  if (!file) return false;
  while (fgets(line, sizeof line, file)) {
    const char *date = strrchr(line, ' ');
    uint32_t job = (uint32_t)strtoul(line, NULL, 10);
    bool is_end = strstr(line, " end ") != NULL;
    for (uint32_t i = 0; date && i < run->n_attempts; i++) {
      struct attempt *attempt = &run->attempts[i];
      if (attempt->job != job || (is_end ? attempt->end_s : attempt->start_s) != seconds_of(date + 1)) continue;
      *(is_end ? &attempt->end_ms : &attempt->start_ms) = milliseconds_of(date);
    }
  }
  fclose(file);
  return true;
}

bool recorded_read(struct recorded *run, const char *folder) {
  *run = (struct recorded){0};
  snprintf(run->folder, sizeof run->folder, "%s", folder);
  return read_conf(run) && read_qos(run) && read_ticks(run) && read_tree(run) && read_attempts(run) && read_times(run);
}
