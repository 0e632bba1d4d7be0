/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs cases of advance reservations of Slurm against its model. A case has nodes with numbers from 0, reservations and
 * jobs; the result is, for each job, which nodes it may use if it starts at its time, and the next time at which it may
 * use more. Times are minutes.
 *
 * Source of the rules: reservations.html and src/slurmctld/reservation.c of SchedMD/slurm.
 */

#include "policies/slurm/engine.h"
#include "scenarios/conform/conform.h"

#include <string.h>

#define MINUTE_US (60 * HR_SECOND_US)
enum { MAX_NODES = 4096, MAX_RESERVATIONS = 64 };

struct reservation_case {
  struct hr__verdict *verdict;
  struct hr__slurm_run run;
  struct hr_slurm_config config;
  struct hr_view view;
};

/* Returns the text of a value; "" if the value is not a text. */
static char *text_of(const cJSON *value) {
  static char empty[] = "";
  return cJSON_IsString(value) && value->valuestring ? value->valuestring : empty;
}

static struct hr_slurm_name *read_names(struct hr__verdict *verdict, const cJSON *list, uint32_t *count) {
  uint32_t n = list ? (uint32_t)cJSON_GetArraySize(list) : 0, i = 0;
  struct hr_slurm_name *names = hr__verdict_alloc(verdict, n, sizeof *names);
  const cJSON *item;
  if (!names) return NULL;
  cJSON_ArrayForEach(item, list) names[i++].text = text_of(item);
  *count = n;
  return names;
}

static uint32_t read_flags(const cJSON *list) {
  static const char *const words[] = {
#define WORD(name, word) word,
      HR_SLURM_RESERVATION_FLAG_TABLE(WORD)
#undef WORD
  };
  uint32_t flags = 0;
  const cJSON *item;
  cJSON_ArrayForEach(item, list) for (uint32_t i = 0; i < sizeof words / sizeof *words;
                                      i++) if (strcmp(text_of(item), words[i]) == 0) flags |= UINT32_C(1) << i;
  return flags;
}

/* Sets the nodes of a reservation: those in the list; without a list, all nodes. */
static void read_nodes(struct hr__slurm_run *run, const cJSON *list, uint64_t *set) {
  const cJSON *item;
  for (uint32_t n = 0; !list && n < run->nodes.n_nodes; n++) set[n / 64] |= UINT64_C(1) << n % 64;
  cJSON_ArrayForEach(item, list) {
    int64_t node = hr__case_value_whole(item, -1);
    if (node >= 0 && node < run->nodes.n_nodes) set[node / 64] |= UINT64_C(1) << node % 64;
  }
}

static void read_reservation(struct reservation_case *reservations, const cJSON *item, uint32_t number) {
  struct hr_slurm_reservation *to = &reservations->config.reservations[number];
  struct hr__verdict *verdict = reservations->verdict;
  to->start_us = hr__case_whole(item, "startMinutes", 0) * MINUTE_US;
  to->duration_us = hr__case_whole(item, "durationMinutes", 0) * MINUTE_US;
  to->repeat_us = hr__case_whole(item, "repeatMinutes", 0) * MINUTE_US;
  to->users = read_names(verdict, hr__case_get(item, "users"), &to->n_users);
  to->accounts = read_names(verdict, hr__case_get(item, "accounts"), &to->n_accounts);
  to->flags = read_flags(hr__case_get(item, "flags"));
  read_nodes(&reservations->run, hr__case_get(item, "nodes"),
             reservations->run.reserved_nodes + (size_t)number * reservations->run.nodes.n_words);
}

/* Accounts below others: {"account": "parent"}. */
static void read_accounts(struct reservation_case *reservations, const cJSON *input) {
  const cJSON *tree = hr__case_get(input, "accountsBelow"), *item;
  uint32_t n = hr__case_count(input, "accountsBelow"), i = 0;
  struct hr_slurm_assoc *list = hr__verdict_alloc(reservations->verdict, n, sizeof *list);
  if (!list) return;
  cJSON_ArrayForEach(item, tree) list[i++] = (struct hr_slurm_assoc){.account = item->string, .parent = text_of(item)};
  reservations->config.associations = list;
  reservations->config.n_associations = n;
}

static bool read_world(struct reservation_case *reservations, const cJSON *input) {
  struct hr__slurm_run *run = &reservations->run;
  int64_t n_nodes = hr__case_whole(input, "nodes", 0);
  uint32_t n = hr__case_count(input, "reservations"), number = 0;
  if (n_nodes < 1 || n_nodes > MAX_NODES || n > MAX_RESERVATIONS) {
    reservations->verdict->malformed = "expected 1 to 4096 nodes and at most 64 reservations";
    return false;
  }
  run->nodes.n_nodes = (uint32_t)n_nodes;
  run->nodes.n_words = run->nodes.n_nodes / 64 + 1;
  run->config = &reservations->config;
  run->view = &reservations->view;
  reservations->view.now_us = hr__case_whole(input, "nowMinutes", 0) * MINUTE_US;
  reservations->config.reservations =
      hr__verdict_alloc(reservations->verdict, n, sizeof *reservations->config.reservations);
  run->reserved_nodes =
      hr__verdict_alloc(reservations->verdict, (size_t)n * run->nodes.n_words, sizeof *run->reserved_nodes);
  run->set = hr__verdict_alloc(reservations->verdict, run->nodes.n_words, sizeof *run->set);
  read_accounts(reservations, input);
  if (reservations->verdict->no_memory) return false;
  reservations->config.n_reservations = n;
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(input, "reservations")) read_reservation(reservations, item, number++);
  return !reservations->verdict->no_memory;
}

/* Returns the result for a job. */
static cJSON *test_job(struct reservation_case *reservations, const cJSON *job) {
  struct hr__slurm_run *run = &reservations->run;
  const char *user = hr__case_text(job, "user", ""), *account = hr__case_text(job, "account", "");
  const uint32_t first[1] = {0};
  const struct hr_trace trace = {
      .n_jobs = 1, .user = first, .tenant = first, .users = {1, &user}, .tenants = {1, &account}};
  int64_t from_us = hr__case_whole(job, "startMinutes", 0) * MINUTE_US;
  int64_t to_us = from_us + hr__case_whole(job, "limitMinutes", 1) * MINUTE_US;
  run->trace = &trace;
  read_nodes(run, NULL, run->set);
  uint64_t denied = hr__slurm_denied(run, 0);
  int64_t more_us =
      hr__slurm_remove_reserved(run, (hr_job){0}, denied, hr__slurm_allowed(run, denied), from_us, to_us, run->set);
  run->trace = NULL;
  cJSON *result = cJSON_CreateObject(), *nodes = cJSON_AddArrayToObject(result, "nodes");
  for (uint32_t n = 0; n < run->nodes.n_nodes; n++)
    if (run->set[n / 64] >> n % 64 & 1) cJSON_AddItemToArray(nodes, cJSON_CreateNumber(n));
  if (more_us != HR_NEVER_US) cJSON_AddNumberToObject(result, "moreAtMinutes", (double)(more_us / MINUTE_US));
  return result;
}

void hr__conform_slurm_reservations(const cJSON *input, const cJSON *expect, struct hr__verdict *verdict) {
  struct reservation_case reservations = {.verdict = verdict};
  const cJSON *job;
  if (!read_world(&reservations, input)) return;
  cJSON_ArrayForEach(job, hr__case_get(input, "jobs")) {
    const char *id = hr__case_text(job, "id", "");
    cJSON *result = test_job(&reservations, job);
    hr__verdict_compare(verdict, id, hr__case_get(expect, id), result, HR__COMPARE_EXACTLY, 0);
    cJSON_Delete(result);
  }
}
