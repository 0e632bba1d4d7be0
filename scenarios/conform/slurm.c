/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs the test vectors of Slurm against its model: advance reservations, backfill, fair share, priority, billing,
 * configuration parameters, GRES and preemption. For fair share, accounts are sorted so that parents precede their
 * children.
 */

#include "scenarios/conform/conform.h"

#include "policies/slurm/engine.h"
#include "policies/slurm/slurm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Reservations ----------------------------------------------------------------------------------- */

/*
 * A case has nodes with numbers from 0, reservations, and jobs with a start time. The result for each job is the list
 * of nodes that it may use from its start time, and the next time at which it may use more nodes. Times are in minutes.
 *
 * Source of the rules: reservations.html and src/slurmctld/reservation.c of SchedMD/slurm.
 */

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

/* Adds nodes to a set: the nodes in the list or, if `list` is NULL, all nodes. */
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

/* Reads the parents of accounts: {"account": "parent"}. */
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

/* Returns the result for a job: {"nodes": [..], "moreAtMinutes": n}. */
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

/* Runs a case of advance reservations of Slurm. */
static void run_reservations(struct hr__verdict *verdict) {
  struct reservation_case reservations = {.verdict = verdict};
  const cJSON *job;
  if (!read_world(&reservations, verdict->input)) return;
  cJSON_ArrayForEach(job, hr__case_get(verdict->input, "jobs"))
      hr__compare_json(verdict, hr__case_text(job, "id", ""), test_job(&reservations, job), HR__COMPARE_EXACTLY);
}

/* ---- Backfill --------------------------------------------------------------------------------------- */

/* A case is one backfill pass. All nodes are idle at first, and jobs get whole nodes. The selector finds the first time
   at which enough nodes of a set are free, and takes the nodes with the lowest numbers among them. */
enum { MAX_LICENSES = 32, MAX_NAMES = 32 };

/* A waiting job of a case. */
struct case_job {
  int64_t id;
  struct hr__slurm_queued queued;
  struct hr__slurm_planned planned;
};

struct backfill_case {
  struct hr__verdict *verdict;
  struct case_job *jobs; /* [n_jobs] in the order of the queue */
  uint32_t n_jobs, n_nodes;
  int64_t *free_us; /* [n_nodes] when each node becomes free */
  const char *licenses[MAX_LICENSES];
  uint32_t license_counts[MAX_LICENSES], n_licenses;
  const char *users[MAX_NAMES], *partitions[MAX_NAMES]; /* in the order in which jobs name them */
};

/* ---- The selector ----------------------------------------------------------------------------------- */

static bool find_nodes(void *self, uint32_t job, int64_t now_us, uint64_t *nodes, int64_t *start_us) {
  const struct backfill_case *backfill = self;
  uint32_t wanted = backfill->jobs[job].queued.min_nodes, n_free = 0;
  int64_t at_us = now_us;
  for (;;) { // the first time at which enough nodes are free
    int64_t next_us = HR_NEVER_US;
    n_free = 0;
    for (uint32_t n = 0; n < backfill->n_nodes; n++) {
      if (!(nodes[n / 64] >> n % 64 & 1)) continue;
      if (backfill->free_us[n] <= at_us)
        n_free++;
      else if (backfill->free_us[n] < next_us)
        next_us = backfill->free_us[n];
    }
    if (n_free >= wanted) break;
    if (next_us == HR_NEVER_US) return false;
    at_us = next_us;
  }
  for (uint32_t n = 0, taken = 0; n < backfill->n_nodes; n++) {
    uint64_t bit = UINT64_C(1) << n % 64;
    if (!(nodes[n / 64] & bit)) continue;
    if (taken < wanted && backfill->free_us[n] <= at_us)
      taken++;
    else
      nodes[n / 64] &= ~bit;
  }
  *start_us = at_us;
  return true;
}

static bool start_job(void *self, uint32_t job, const uint64_t *nodes) {
  struct backfill_case *backfill = self;
  for (uint32_t n = 0; n < backfill->n_nodes; n++)
    if (nodes[n / 64] >> n % 64 & 1) backfill->free_us[n] = backfill->jobs[job].queued.limit_us;
  return true;
}

/* ---- Reading ---------------------------------------------------------------------------------------- */

static void read_licenses(struct backfill_case *backfill, const cJSON *cluster) {
  const cJSON *license;
  cJSON_ArrayForEach(license, hr__case_get(cluster, "licenses")) {
    if (backfill->n_licenses == MAX_LICENSES) break;
    backfill->licenses[backfill->n_licenses] = license->string;
    backfill->license_counts[backfill->n_licenses++] = (uint32_t)hr__case_value_whole(license, 0);
  }
}

/* Reads the license of a job: "NAME" or "NAME:COUNT". A license that the cluster does not have is ignored. */
static void read_license(const struct backfill_case *backfill, const char *text, struct hr__slurm_queued *queued) {
  size_t length = text ? strcspn(text, ":") : 0;
  for (uint32_t i = 0; text && i < backfill->n_licenses; i++) {
    if (strlen(backfill->licenses[i]) != length || strncmp(backfill->licenses[i], text, length) != 0) continue;
    queued->license = i;
    queued->n_licenses = text[length] == ':' ? (uint32_t)strtoul(text + length + 1, NULL, 10) : 1;
  }
}

/* Returns the index of a name in a list, and adds the name if it is new. Returns HR_NONE if `name` is NULL, or if the
   list is full. */
static uint32_t number_of(const char **names, const char *name) {
  for (uint32_t i = 0; name && i < MAX_NAMES; i++) {
    if (!names[i]) names[i] = name;
    if (strcmp(names[i], name) == 0) return i;
  }
  return HR_NONE;
}

/* Sets the user, the association, the partition, and the pair of user and partition of a job. Limits such as
   bf_max_job_user count the tests of jobs in these scopes. An association is a user, because cases have no accounts.
   All jobs without a partition are in one partition. */
static void read_scopes(struct backfill_case *backfill, const cJSON *item, uint32_t *scopes) {
  uint32_t user = number_of(backfill->users, hr__case_text(item, "user", NULL)),
           part = number_of(backfill->partitions, hr__case_text(item, "partition", ""));
  scopes[HR__SLURM_OF_USER] = scopes[HR__SLURM_OF_ASSOC] = user;
  scopes[HR__SLURM_OF_PARTITION] = part == HR_NONE ? 0 : part;
  scopes[HR__SLURM_OF_USER_PARTITION] = user == HR_NONE ? HR_NONE : user * MAX_NAMES + scopes[HR__SLURM_OF_PARTITION];
}

static struct case_job read_job(struct backfill_case *backfill, const cJSON *item, int64_t id) {
  struct case_job job = {.id = hr__case_whole(item, "id", id)};
  job.queued.priority = (uint32_t)hr__case_whole(item, "priority", 0);
  job.queued.limit_us = hr__case_whole(item, "limitMinutes", 0) * MINUTE_US;
  job.queued.min_nodes = (uint32_t)hr__case_whole(item, "nodes", 1);
  job.queued.submit_us = -hr__case_whole(item, "waitSeconds", 0) * HR_SECOND_US;
  read_license(backfill, hr__case_text(item, "license", NULL), &job.queued);
  read_scopes(backfill, item, job.queued.scopes);
  return job;
}

/* Inserts a job into the queue: higher priorities first, equal priorities in the order of the case. */
static void insert_job(struct backfill_case *backfill, struct case_job job) {
  uint32_t at = backfill->n_jobs++;
  for (; at > 0 && backfill->jobs[at - 1].queued.priority < job.queued.priority; at--)
    backfill->jobs[at] = backfill->jobs[at - 1];
  backfill->jobs[at] = job;
}

/* Reads a number of jobs or nodes, limited to the range from 0 to 1,000,000. */
static uint32_t read_count(const cJSON *object, const char *name) {
  int64_t count = hr__case_whole(object, name, 0);
  return count < 0 ? 0 : count < 1000000 ? (uint32_t)count : 1000000;
}

static bool read_jobs(struct backfill_case *backfill, const cJSON *input) {
  const cJSON *list = hr__case_get(input, "jobs"), *same = hr__case_get(input, "identicalJobs"), *item;
  uint32_t count = list ? (uint32_t)cJSON_GetArraySize(list) : read_count(same, "count");
  backfill->jobs = hr__verdict_alloc(backfill->verdict, count, sizeof *backfill->jobs);
  if (!backfill->jobs) return false;
  cJSON_ArrayForEach(item, list) insert_job(backfill, read_job(backfill, item, 0));
  for (uint32_t i = 0; !list && i < count; i++) insert_job(backfill, read_job(backfill, same, i + 1));
  for (uint32_t i = 0; i < backfill->n_jobs; i++) backfill->jobs[i].queued.job = i;
  return true;
}

/* ---- Running ---------------------------------------------------------------------------------------- */

static bool allocate_line(struct backfill_case *backfill, struct hr__slurm_timeline *line) {
  line->n_nodes = backfill->n_nodes;
  line->n_words = (line->n_nodes + 63) / 64;
  line->max_slots = 2 * backfill->n_jobs + 2;
  line->n_license_kinds = backfill->n_licenses;
  line->slots = hr__verdict_alloc(backfill->verdict, line->max_slots, sizeof *line->slots);
  line->nodes = hr__verdict_alloc(backfill->verdict, (size_t)line->max_slots * line->n_words, sizeof *line->nodes);
  line->licenses =
      hr__verdict_alloc(backfill->verdict, (size_t)line->max_slots * line->n_license_kinds, sizeof *line->licenses);
  line->set = hr__verdict_alloc(backfill->verdict, line->n_words, sizeof *line->set);
  line->part_reserves = hr__verdict_alloc(backfill->verdict, MAX_NAMES, sizeof *line->part_reserves);
  bool done = line->slots && line->nodes && line->licenses && line->set && line->part_reserves;
  for (unsigned s = 0; s < HR__SLURM_N_SCOPES && done; s++) {
    line->n_scopes[s] = s == HR__SLURM_OF_USER_PARTITION ? MAX_NAMES * MAX_NAMES : MAX_NAMES;
    line->tests[s] = hr__verdict_alloc(backfill->verdict, line->n_scopes[s], sizeof *line->tests[s]);
    done = line->tests[s] != NULL;
  }
  return done;
}

static int64_t parameter(const cJSON *input, const char *name) {
  return hr__case_whole(input, name, hr__slurm_parameter(name)->fallback);
}

static struct hr__slurm_backfill_limits read_limits(const cJSON *input) {
  struct hr__slurm_backfill_limits limits = {
      .resolution_us = parameter(input, "bf_resolution") * HR_SECOND_US,
      .window_us = parameter(input, "bf_window") * MINUTE_US,
      .max_job_test = (uint32_t)parameter(input, "bf_max_job_test"),
      .max_job_start = (uint32_t)parameter(input, "bf_max_job_start"),
      .min_age_reserve_us = parameter(input, "bf_min_age_reserve") * HR_SECOND_US,
      .min_prio_reserve = (uint32_t)parameter(input, "bf_min_prio_reserve"),
      .job_part_count_reserve = (uint32_t)parameter(input, "bf_job_part_count_reserve")};
  static const char *const names[HR__SLURM_N_SCOPES] = {"bf_max_job_user", "bf_max_job_part", "bf_max_job_user_part",
                                                        "bf_max_job_assoc"};
  for (unsigned s = 0; s < HR__SLURM_N_SCOPES; s++) limits.max_tests[s] = (uint32_t)parameter(input, names[s]);
  return limits;
}

static bool run_pass(struct backfill_case *backfill, const cJSON *input) {
  struct hr__slurm_timeline line = {0};
  struct hr__slurm_queued *queue = hr__verdict_alloc(backfill->verdict, backfill->n_jobs, sizeof *queue);
  struct hr__slurm_planned *planned = hr__verdict_alloc(backfill->verdict, backfill->n_jobs, sizeof *planned);
  const struct hr__slurm_backfill_limits limits = read_limits(input);
  const struct hr__slurm_selector selector = {find_nodes, start_job, backfill};
  if (!queue || !planned || !allocate_line(backfill, &line)) return false;
  for (uint32_t i = 0; i < backfill->n_jobs; i++) queue[i] = backfill->jobs[i].queued;
  hr__slurm_backfill(&line, &limits, queue, backfill->n_jobs, backfill->license_counts, &selector, 0, planned);
  for (uint32_t i = 0; i < backfill->n_jobs; i++) backfill->jobs[i].planned = planned[i];
  return true;
}

/* ---- Comparing -------------------------------------------------------------------------------------- */

static const struct case_job *job_of(const struct backfill_case *backfill, const char *id) {
  for (uint32_t i = 0; id && i < backfill->n_jobs; i++)
    if (backfill->jobs[i].id == strtoll(id, NULL, 10)) return &backfill->jobs[i];
  return NULL;
}

static void compare_jobs(struct backfill_case *backfill, const char *name, bool running) {
  const cJSON *item;
  char place[80];
  cJSON_ArrayForEach(item, hr__case_get(backfill->verdict->expect, name)) {
    const struct case_job *job = job_of(backfill, item->string);
    bool actual = job && (running ? job->planned.start_us == 0 : job->planned.start_us != HR_NEVER_US);
    snprintf(place, sizeof place, "%s.%s", name, item->string);
    hr__verdict_compare_bool(backfill->verdict, place, item, actual);
  }
}

/* Checks that the jobs in "equalStart" start at the same time. */
static void compare_equal_starts(struct backfill_case *backfill) {
  const cJSON *list = hr__case_get(backfill->verdict->expect, "equalStart"), *item;
  const struct case_job *first = list ? job_of(backfill, cJSON_GetStringValue(list->child)) : NULL;
  cJSON_ArrayForEach(item, list) {
    const struct case_job *job = job_of(backfill, cJSON_GetStringValue(item));
    bool equal =
        first && job && job->planned.start_us == first->planned.start_us && job->planned.start_us != HR_NEVER_US;
    if (!equal) hr__verdict_compare_text(backfill->verdict, "equalStart", item, "another start");
  }
}

/* Checks the property that some cases expect. Let job A have a higher priority than job B, and need at most as many
   nodes. Then A must not start later than B. */
static void compare_property(struct backfill_case *backfill) {
  const cJSON *property = hr__case_get(backfill->verdict->expect, "property");
  for (uint32_t i = 0; property && i < backfill->n_jobs; i++)
    for (uint32_t k = 0; k < backfill->n_jobs; k++) {
      const struct case_job *a = &backfill->jobs[i], *b = &backfill->jobs[k];
      if (a->queued.priority <= b->queued.priority || a->queued.min_nodes > b->queued.min_nodes) continue;
      if (a->planned.start_us <= b->planned.start_us) continue;
      char pair[80];
      snprintf(pair, sizeof pair, "job %lld starts before job %lld", (long long)b->id, (long long)a->id);
      hr__verdict_compare_text(backfill->verdict, "property", property, pair);
    }
}

static void run_backfill(struct hr__verdict *verdict) {
  struct backfill_case backfill = {.verdict = verdict};
  const cJSON *input = verdict->input, *cluster = hr__case_get(input, "cluster");
  backfill.n_nodes = read_count(cluster, "nodes");
  backfill.free_us = hr__verdict_alloc(verdict, backfill.n_nodes, sizeof *backfill.free_us);
  read_licenses(&backfill, cluster);
  if (!backfill.free_us || !read_jobs(&backfill, input) || !run_pass(&backfill, input)) return;
  compare_jobs(&backfill, "running", true);
  compare_jobs(&backfill, "hasStart", false);
  compare_equal_starts(&backfill);
  compare_property(&backfill);
}

/* ---- Other cases ------------------------------------------------------------------------------------ */

static bool has_flag(const struct hr__verdict *verdict, const char *flag) {
  return hr__case_list_has(hr__case_get(verdict->input, "flags"), flag);
}

static void compare(struct hr__verdict *verdict, const char *name, cJSON *actual, double tolerance) {
  hr__verdict_compare(verdict, name, hr__case_get(verdict->expect, name), actual, HR__COMPARE_EXPECTED, tolerance);
  cJSON_Delete(actual);
}

/* ---- Fair share ------------------------------------------------------------------------------------- */

struct tree {
  struct hr__slurm_assoc *assocs;
  struct hr__slurm_share *shares;
  const char **names;
  struct hr__slurm_tree_scratch scratch;
  uint32_t count;
};

static uint32_t find_account(const struct tree *tree, const char *name) {
  for (uint32_t i = 0; name && i < tree->count; i++)
    if (!tree->assocs[i].is_user && strcmp(tree->names[i], name) == 0) return i;
  return HR_NONE;
}

static void add_assoc(struct tree *tree, const cJSON *item, const char *name, uint32_t parent, bool is_user) {
  const cJSON *shares = hr__case_get(item, "shares");
  double usage = hr__case_real(item, "usageRaw", hr__case_real(item, "usageNormalized", 0));
  tree->names[tree->count] = hr__case_text(item, name, "");
  tree->assocs[tree->count++] = (struct hr__slurm_assoc){.parent = parent,
                                                         .shares = hr__case_value_whole(shares, 1),
                                                         .uses_parent = cJSON_IsString(shares),
                                                         .is_user = is_user,
                                                         .usage = is_user ? usage : 0};
}

static bool allocate_tree(struct hr__verdict *verdict, struct tree *tree, size_t n_all) {
  struct hr__slurm_tree_scratch *scratch = &tree->scratch;
  tree->assocs = hr__verdict_alloc(verdict, n_all, sizeof *tree->assocs);
  tree->shares = hr__verdict_alloc(verdict, n_all, sizeof *tree->shares);
  tree->names = hr__verdict_alloc(verdict, n_all, sizeof *tree->names);
  scratch->sums = hr__verdict_alloc(verdict, n_all + 1, sizeof *scratch->sums);
  scratch->ancestors = hr__verdict_alloc(verdict, n_all + 2, sizeof *scratch->ancestors);
  scratch->first = hr__verdict_alloc(verdict, n_all + 2, sizeof *scratch->first);
  scratch->members = hr__verdict_alloc(verdict, n_all + 2, sizeof *scratch->members);
  scratch->place = hr__verdict_alloc(verdict, n_all + 2, sizeof *scratch->place);
  scratch->order = hr__verdict_alloc(verdict, n_all, sizeof *scratch->order);
  return tree->assocs && tree->shares && tree->names && scratch->sums && scratch->ancestors && scratch->first &&
         scratch->members && scratch->place && scratch->order;
}

/* Adds the accounts, parents before their children, and then the users. Returns false if an account has an unknown
   parent, or if memory is exhausted. */
static bool read_tree(struct hr__verdict *verdict, struct tree *tree) {
  const cJSON *accounts = hr__case_get(verdict->input, "accounts"), *users = hr__case_get(verdict->input, "users"),
              *item;
  uint32_t n_accounts = (uint32_t)cJSON_GetArraySize(accounts),
           n_all = n_accounts + (uint32_t)cJSON_GetArraySize(users);
  if (!allocate_tree(verdict, tree, n_all)) return false;
  for (uint32_t before = HR_NONE; tree->count != before && tree->count < n_accounts;) {
    before = tree->count;
    cJSON_ArrayForEach(item, accounts) {
      const char *name = hr__case_text(item, "account", ""), *parent = hr__case_text(item, "parent", NULL);
      if (find_account(tree, name) != HR_NONE || (parent && find_account(tree, parent) == HR_NONE)) continue;
      add_assoc(tree, item, "account", find_account(tree, parent), false);
    }
  }
  if (tree->count < n_accounts) verdict->malformed = "an account has an unknown parent";
  cJSON_ArrayForEach(item, users)
      add_assoc(tree, item, "user", find_account(tree, hr__case_text(item, "account", NULL)), true);
  return !verdict->malformed;
}

/* Compares in the same way, unless the member is missing. */
static void compare_if_expected(struct hr__verdict *verdict, const char *name, cJSON *actual, double tolerance) {
  if (hr__case_get(verdict->expect, name))
    compare(verdict, name, actual, tolerance);
  else
    cJSON_Delete(actual);
}

/* Compares one member of the shares, at `offset` in the struct, for the names that the case expects. */
static void compare_column(struct hr__verdict *verdict, const struct tree *tree, const char *name, size_t offset) {
  cJSON *column = cJSON_CreateObject();
  for (uint32_t i = 0; i < tree->count; i++) {
    double value;
    memcpy(&value, (const char *)&tree->shares[i] + offset, sizeof value);
    cJSON_AddItemToObject(column, tree->names[i], isinf(value) ? cJSON_CreateNull() : cJSON_CreateNumber(value));
  }
  compare_if_expected(verdict, name, column, hr__case_real(verdict->expect, "tolerance", 0));
}

static void compare_order(struct hr__verdict *verdict, const struct tree *tree, uint32_t n_users) {
  cJSON *order = cJSON_CreateArray();
  for (uint32_t i = 0; i < n_users; i++)
    cJSON_AddItemToArray(order, cJSON_CreateString(tree->names[tree->scratch.order[i]]));
  compare_if_expected(verdict, "order", order, 0);
}

static void compare_tree(struct hr__verdict *verdict, const struct tree *tree) {
  compare_column(verdict, tree, "normShares", offsetof(struct hr__slurm_share, norm_shares));
  compare_column(verdict, tree, "normUsage", offsetof(struct hr__slurm_share, norm_usage));
  compare_column(verdict, tree, "effectiveUsage", offsetof(struct hr__slurm_share, effective_usage));
  compare_column(verdict, tree, "levelFs", offsetof(struct hr__slurm_share, level_fs));
  compare_column(verdict, tree, "fairshare", offsetof(struct hr__slurm_share, factor));
}

static void run_classic(struct hr__verdict *verdict) {
  struct tree tree = {0};
  if (!read_tree(verdict, &tree)) return;
  double total = hr__slurm_usage_sum(tree.assocs, tree.count);
  const cJSON *first = cJSON_GetArrayItem(hr__case_get(verdict->input, "users"), 0);
  if (hr__case_get(first, "usageNormalized")) total = 1; // these are shares of the cluster's usage
  double dampening = hr__case_real(verdict->input, "dampening", 1);
  hr__slurm_classic_shares(tree.assocs, tree.count, total, dampening, tree.shares, &tree.scratch);
  compare_tree(verdict, &tree);
}

static void run_fair_tree(struct hr__verdict *verdict) {
  struct tree tree = {0};
  if (!read_tree(verdict, &tree)) return;
  double total = hr__slurm_usage_sum(tree.assocs, tree.count);
  uint32_t n_users = hr__slurm_fair_tree(tree.assocs, tree.count, total, tree.shares, &tree.scratch);
  compare_tree(verdict, &tree);
  compare_order(verdict, &tree, n_users);
}

static void run_decay(struct hr__verdict *verdict) {
  double decay = hr__slurm_decay(hr__case_real(verdict->input, "halfLifeSeconds", 0),
                                 hr__case_real(verdict->input, "elapsedSeconds", 0));
  compare(verdict, "usage", cJSON_CreateNumber(hr__case_real(verdict->input, "usage", 0) * decay),
          hr__case_real(verdict->expect, "tolerance", 0));
}

/* ---- Priority --------------------------------------------------------------------------------------- */

/* The names of the factors in cases, and the flags that turn off the normalization of a factor. */
static const struct {
  const char *name, *raw_flag;
} factors[HR__SLURM_N_FACTORS] = {[HR__SLURM_AGE] = {"age", NULL},
                                  [HR__SLURM_ASSOC] = {"assoc", "NO_NORMAL_ASSOC"},
                                  [HR__SLURM_FAIR_SHARE] = {"fairshare", NULL},
                                  [HR__SLURM_JOB_SIZE] = {"jobSize", NULL},
                                  [HR__SLURM_PARTITION] = {"partition", "NO_NORMAL_PART"},
                                  [HR__SLURM_QOS] = {"qos", "NO_NORMAL_QOS"}};

static double size_factor(const struct hr__verdict *verdict, const cJSON *job) {
  const cJSON *cluster = hr__case_get(verdict->input, "cluster");
  const struct hr__slurm_size size = {.nodes = hr__case_real(job, "nodes", 0),
                                      .cpus = hr__case_real(job, "cpus", 0),
                                      .limit_min = hr__case_real(job, "limitMinutes", 0),
                                      .all_nodes = hr__case_real(cluster, "nodes", 0),
                                      .all_cpus = hr__case_real(cluster, "cpus", 0),
                                      .favors_small = hr__case_bool(verdict->input, "favorSmall", false),
                                      .is_relative_to_time =
                                          hr__case_bool(verdict->input, "smallRelativeToTime", false) ||
                                          has_flag(verdict, "SMALL_RELATIVE_TO_TIME")};
  return hr__slurm_size_factor(&size);
}

/* Returns the value of a factor: the value that the case states, or else the value computed from the job. */
static double factor_of(const struct hr__verdict *verdict, const cJSON *job, enum hr__slurm_factor factor) {
  const char *name = factors[factor].name;
  const cJSON *given = hr__case_get(hr__case_get(verdict->input, "factors"), name);
  if (cJSON_IsNumber(given)) return given->valuedouble;
  if (factor == HR__SLURM_AGE)
    return hr__slurm_age_factor(
        hr__case_real(job, "waitSeconds", 0),
        hr__case_real(verdict->input, "maxAgeSeconds", (double)hr__slurm_parameter("PriorityMaxAge")->fallback));
  if (factor == HR__SLURM_JOB_SIZE) return size_factor(verdict, job);
  if (!factors[factor].raw_flag) return hr__case_real(job, name, 0);
  return hr__slurm_relative_factor(hr__case_real(job, name, 0),
                                   hr__case_real(hr__case_get(verdict->input, "maxima"), name, 0),
                                   has_flag(verdict, factors[factor].raw_flag));
}

enum { MAX_TRES = 32 };

/* Returns the weights and factors of a job. `tres` receives the weights (row 0) and the factors (row 1) of trackable
   resources (TRES), and must outlive the result. */
static struct hr__slurm_priority read_priority(const struct hr__verdict *verdict, const cJSON *job,
                                               double tres[2][MAX_TRES]) {
  const cJSON *weights = hr__case_get(verdict->input, "weights"), *item;
  const cJSON *given = hr__case_get(hr__case_get(verdict->input, "factors"), "tres");
  struct hr__slurm_priority priority = {.tres_weights = tres[0], .tres_factors = tres[1]};
  for (unsigned f = 0; f < HR__SLURM_N_FACTORS; f++) {
    priority.weights[f] = hr__case_real(weights, factors[f].name, 0);
    priority.factors[f] = factor_of(verdict, job, (enum hr__slurm_factor)f);
  }
  cJSON_ArrayForEach(item, hr__case_get(weights, "tres")) {
    if (priority.n_tres == MAX_TRES) break;
    tres[0][priority.n_tres] = cJSON_IsNumber(item) ? item->valuedouble : 0;
    tres[1][priority.n_tres++] =
        hr__case_real(given ? given : hr__case_get(job, "tresFractionOfPartition"), item->string, 0);
  }
  priority.site = hr__case_real(job, "site", 0);
  priority.nice = hr__case_whole(job, "nice", 0);
  return priority;
}

static void run_priority(struct hr__verdict *verdict) {
  double tres[2][MAX_TRES];
  struct hr__slurm_priority priority = read_priority(verdict, hr__case_get(verdict->input, "job"), tres);
  if (hr__case_get(verdict->expect, "priority")) hr__compare_number(verdict, "priority", hr__slurm_priority(&priority));
  cJSON *weighted = cJSON_CreateObject(), *factor = cJSON_CreateObject();
  for (unsigned f = 0; f < HR__SLURM_N_FACTORS; f++) {
    cJSON_AddNumberToObject(weighted, factors[f].name, trunc(priority.weights[f] * priority.factors[f]));
    cJSON_AddNumberToObject(factor, factors[f].name, priority.factors[f]);
  }
  cJSON *weighted_tres = cJSON_AddObjectToObject(weighted, "tres"),
        *factor_tres = cJSON_AddObjectToObject(factor, "tres");
  const cJSON *item;
  uint32_t at = 0;
  cJSON_ArrayForEach(item, hr__case_get(hr__case_get(verdict->input, "weights"), "tres")) {
    if (at == priority.n_tres) break;
    cJSON_AddNumberToObject(weighted_tres, item->string, trunc(tres[0][at] * tres[1][at]));
    cJSON_AddNumberToObject(factor_tres, item->string, tres[1][at++]);
  }
  compare_if_expected(verdict, "weighted", weighted, 0);
  compare_if_expected(verdict, "factor", factor, 1e-6);
}

/* Compares the priority of a job in each of several partitions. */
static void run_partition(struct hr__verdict *verdict) {
  const cJSON *partitions = hr__case_get(verdict->input, "partitions"), *item;
  double highest = 0, tres[2][MAX_TRES];
  cJSON_ArrayForEach(item, partitions) if (cJSON_IsNumber(item)) highest = fmax(highest, item->valuedouble);
  cJSON *actual = cJSON_CreateObject();
  cJSON_ArrayForEach(item, partitions) {
    struct hr__slurm_priority priority = read_priority(verdict, hr__case_get(verdict->input, "job"), tres);
    priority.factors[HR__SLURM_PARTITION] = hr__slurm_relative_factor(cJSON_IsNumber(item) ? item->valuedouble : 0,
                                                                      highest, has_flag(verdict, "NO_NORMAL_PART"));
    cJSON_AddNumberToObject(actual, item->string, hr__slurm_priority(&priority));
  }
  compare(verdict, "priority", actual, 0);
}

/* A priority that an administrator has set replaces the sum of the factors, and all factors are 0. */
static void run_manual(struct hr__verdict *verdict) {
  hr__compare_number(verdict, "priority", hr__case_real(verdict->input, "setPriority", 0));
  hr__compare_number(verdict, "factor", 0);
}

/* ---- Billing, parameters, GRES, preemption ---------------------------------------------------------- */

static enum hr__slurm_tres_kind kind_of_tres(const char *name) {
  if (strncmp(name, "gres", 4) == 0) return HR__SLURM_TRES_GRES;
  bool is_of_node = strncmp(name, "cpu", 3) == 0 || strncmp(name, "mem", 3) == 0 || strncmp(name, "node", 4) == 0;
  return is_of_node ? HR__SLURM_TRES_NODE : HR__SLURM_TRES_GLOBAL;
}

static void run_billing(struct hr__verdict *verdict) {
  struct hr__slurm_tres tres[MAX_TRES];
  uint32_t count = 0;
  const cJSON *weight;
  cJSON_ArrayForEach(weight, hr__case_get(verdict->input, "weights")) {
    if (count == MAX_TRES) break;
    tres[count++] = (struct hr__slurm_tres){cJSON_IsNumber(weight) ? weight->valuedouble : 0,
                                            hr__case_real(hr__case_get(verdict->input, "tres"), weight->string, 0),
                                            kind_of_tres(weight->string)};
  }
  enum hr__slurm_billing rule = has_flag(verdict, "MAX_TRES_GRES") ? HR__SLURM_BILL_MAX_GRES
                                : has_flag(verdict, "MAX_TRES")    ? HR__SLURM_BILL_MAX
                                                                   : HR__SLURM_BILL_SUM;
  hr__compare_number(verdict, "billing", hr__slurm_billing(tres, count, rule));
}

static cJSON *bound_json(int64_t value, const char *name) {
  if (name) return cJSON_CreateString(name);
  return value == HR__SLURM_NO_BOUND ? cJSON_CreateNull() : cJSON_CreateNumber((double)value);
}

static bool is_time_unit(const char *unit, size_t length) {
  static const char *const units[] = {"us", "ms", "s", "min", "h", "d"};
  for (size_t i = 0; i < sizeof units / sizeof *units; i++)
    if (strlen(units[i]) == length && strncmp(units[i], unit, length) == 0) return true;
  return false;
}

static void run_parameter(struct hr__verdict *verdict) {
  const struct hr__slurm_parameter *parameter = hr__slurm_parameter(hr__case_text(verdict->input, "parameter", ""));
  if (!parameter) {
    compare(verdict, "default", cJSON_CreateNull(), 0);
    return;
  }
  compare(verdict, "default", bound_json(parameter->fallback, parameter->fallback_of), 0);
  compare(verdict, "min", bound_json(parameter->min, NULL), 0);
  compare(verdict, "max", bound_json(parameter->max, parameter->max_of), 0);
  // In the expected unit, the text after a comma is a remark. Units are compared only if at least one of the two is a
  // unit of time, because the names of counted items are not standardized.
  const char *unit = hr__case_text(verdict->expect, "unit", NULL);
  size_t length = unit ? strcspn(unit, ",") : 0;
  bool is_same = unit && strlen(parameter->unit) == length && strncmp(unit, parameter->unit, length) == 0;
  if (unit && !is_same && (is_time_unit(unit, length) || is_time_unit(parameter->unit, strlen(parameter->unit))))
    hr__compare_text(verdict, "unit", parameter->unit);
}

/* Returns the number of GPUs of the node of a case, at most 64. */
static uint32_t read_gpus(const struct hr__verdict *verdict) {
  int64_t gpus = hr__case_whole(verdict->input, "gpus", 0);
  return gpus < 0 ? 0 : gpus < 64 ? (uint32_t)gpus : 64;
}

static void run_shared_count(struct hr__verdict *verdict) {
  uint32_t n_gpus = read_gpus(verdict);
  uint32_t count = (uint32_t)hr__case_whole(verdict->input, "sharedCount", 0);
  cJSON *counts = cJSON_CreateArray();
  for (uint32_t i = 0; i < n_gpus; i++)
    cJSON_AddItemToArray(counts, cJSON_CreateNumber(hr__slurm_shared_count(count, n_gpus, i)));
  compare(verdict, "perGpu", counts, 0);
}

static bool is_in_list(const cJSON *list, uint32_t number) {
  const cJSON *item;
  cJSON_ArrayForEach(item, list) if (cJSON_IsNumber(item) && item->valuedouble == number) return true;
  return false;
}

static void compare_occupancy(struct hr__verdict *verdict, const struct hr__slurm_gpu *gpus, uint32_t n_gpus) {
  cJSON *whole = cJSON_CreateArray(), *left = cJSON_CreateArray();
  uint32_t used = 0;
  for (uint32_t i = 0; i < n_gpus; i++) {
    used += gpus[i].shards_used;
    if (hr__slurm_gpu_is_free(&gpus[i])) cJSON_AddItemToArray(whole, cJSON_CreateNumber(i));
    cJSON_AddItemToArray(left, cJSON_CreateNumber(hr__slurm_shards_free(&gpus[i])));
  }
  hr__compare_number(verdict, "shardsInUse", used);
  compare(verdict, "gpuAvailableWhole", whole, 0);
  compare(verdict, "shardsFree", left, 0);
}

static void run_shards(struct hr__verdict *verdict) {
  uint32_t n_gpus = read_gpus(verdict);
  struct hr__slurm_gpu *gpus = hr__verdict_alloc(verdict, n_gpus, sizeof *gpus);
  const cJSON *used = hr__case_get(verdict->input, "shardsAllocated"),
              *request = hr__case_get(verdict->input, "request");
  if (!gpus) return;
  for (uint32_t i = 0; i < n_gpus; i++) {
    gpus[i].is_whole = is_in_list(hr__case_get(verdict->input, "wholeGpuAllocated"), i);
    gpus[i].shards = (uint32_t)hr__case_whole(verdict->input, "shardsPerGpu", 0);
    gpus[i].shards_used = (uint32_t)hr__case_value_whole(cJSON_GetArrayItem(used, (int)i), 0);
  }
  if (!request) {
    compare_occupancy(verdict, gpus, n_gpus);
    return;
  }
  bool fits = hr__slurm_gres_fit(gpus, n_gpus, (uint32_t)hr__case_whole(request, "gpu", 0),
                                 (uint32_t)hr__case_whole(request, "shard", 0),
                                 hr__case_bool(verdict->input, "OPT_MULTIPLE_SHARING_GRES_PJ", false));
  hr__compare_bool(verdict, "fits", fits);
}

static void run_victims(struct hr__verdict *verdict) {
  const cJSON *list = hr__case_get(verdict->input, "candidates"), *item;
  uint32_t n_victims = (uint32_t)cJSON_GetArraySize(list), count = 0;
  struct hr__slurm_victim *victims = hr__verdict_alloc(verdict, n_victims, sizeof *victims);
  bool youngest_first = hr__case_bool(verdict->input, "youngestFirst", false);
  if (!victims) return;
  cJSON_ArrayForEach(item, list) {
    const struct hr__slurm_victim victim = {
        (uint32_t)hr__case_whole(item, "id", 0), (uint32_t)hr__case_whole(item, "preemptPriority", 0),
        (uint32_t)hr__case_whole(item, "nodes", 0), hr__case_whole(item, "start", 0)};
    uint32_t at = count++;
    for (; at > 0 && hr__slurm_victim_before(&victim, &victims[at - 1], youngest_first); at--)
      victims[at] = victims[at - 1];
    victims[at] = victim;
  }
  cJSON *order = cJSON_CreateArray();
  for (uint32_t i = 0; i < count; i++) cJSON_AddItemToArray(order, cJSON_CreateNumber(victims[i].job));
  compare(verdict, "order", order, 0);
}

static void run_exempt(struct hr__verdict *verdict) {
  int64_t exempt_s = hr__case_whole(verdict->input, "exemptSeconds", -1);
  bool may = hr__slurm_may_be_preempted(hr__case_whole(verdict->input, "runSeconds", 0) * HR_SECOND_US,
                                        exempt_s < 0 ? HR_UNKNOWN_US : exempt_s * HR_SECOND_US);
  hr__compare_bool(verdict, "preemptable", may);
}

/* ---- Kinds ------------------------------------------------------------------------------------------ */

void hr__conform_slurm(struct hr__verdict *verdict) {
  static const struct hr__case_kind kinds[] = {{"fairshare.classic", run_classic},
                                               {"fairshare.fairTree", run_fair_tree},
                                               {"decay.halfLife", run_decay},
                                               {"priority.formula", run_priority},
                                               {"priority.max", run_priority},
                                               {"priority.factors", run_priority},
                                               {"priority.partition", run_partition},
                                               {"priority.manual", run_manual},
                                               {"billing.sum", run_billing},
                                               {"billing.max", run_billing},
                                               {"config.default", run_parameter},
                                               {"gres.count", run_shared_count},
                                               {"gres.shard", run_shards},
                                               {"preempt.order", run_victims},
                                               {"preempt.exempt", run_exempt},
                                               {"backfill", run_backfill},
                                               {"reservation", run_reservations},
                                               {NULL, NULL}};
  if (!hr__run_kind(verdict, kinds)) hr__verdict_unknown_kind(verdict);
}
