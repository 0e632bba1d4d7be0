/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cases of the cluster autoscaler's scale-down, and of the back-off of a group. */

#include "scenarios/conform/clusters/clusters.h"
#include "sim/clusters/node_autoscalers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The maximum of a time, in seconds. Larger times are cut to this value. */
#define LONGEST_S 1e12

static int64_t us_of(double seconds) {
  return llround(fmax(-LONGEST_S, fmin(LONGEST_S, seconds)) * (double)HR_SECOND_US);
}

/* ---- Utilization and eligibility ------------------------------------------------------------------------- */

/* Returns whether a name contains one of some words; the list ends with NULL. */
static bool has_word(const char *name, const char *const *words) {
  for (; *words; words++)
    if (strstr(name, *words)) return true;
  return false;
}

/* A pod that is being deleted: a truth value, or the seconds or minutes since it should have begun to end. The original
   gives a pod 30 s to end, and 30 s more. */
static bool is_overdue(const cJSON *pod) {
  static const char *const words[] = {"terminat", "delet", "ended", "overdue", NULL};
  const cJSON *member;
  cJSON_ArrayForEach(member, pod) {
    if (!has_word(member->string, words)) continue;
    if (!cJSON_IsNumber(member)) return cJSON_IsTrue(member);
    return fabs(member->valuedouble) * (strstr(member->string, "min") ? 60 : 1) > 60;
  }
  return false;
}

static struct hr__ca_use read_use(const cJSON *pod) {
  struct hr__ca_use use = {.containers = hr__read_amounts(pod),
                           .init = hr__read_amounts(hr__case_get(pod, "init")),
                           .is_daemon = hr__case_bool(pod, "daemonset", false),
                           .is_mirror = hr__case_bool(pod, "mirror", false),
                           .is_overdue = is_overdue(pod)};
  const struct hr__node_amounts sidecars = hr__read_amounts(hr__case_get(pod, "sidecar_init"));
  hr__amounts_add(&use.containers, &sidecars, 1);
  return use;
}

/* Pools of devices, and the devices that the pods claim. */
static bool read_devices(struct hr__cluster_case *self, struct hr__ca_used_node *node) {
  const cJSON *pools = hr__case_get(hr__case_get(self->input, "node"), "devices"), *pool, *pod;
  const uint32_t n = (uint32_t)cJSON_GetArraySize(pools);
  struct hr__ca_devices *devices = hr__verdict_alloc(self->verdict, n, sizeof *devices);
  if (!devices) return false;
  node->devices = devices;
  if (!hr__case_bool(self->input, "devices_feature", false)) return true;
  cJSON_ArrayForEach(pool, pools) {
    struct hr__ca_devices *row = &devices[node->n_devices++];
    row->total = hr__case_value_whole(pool, 0);
    cJSON_ArrayForEach(pod, hr__case_get(self->input, "pods")) row->claimed +=
        hr__case_whole(hr__case_get(pod, "claims"), pool->string, 0);
  }
  return true;
}

/* Returns whether a node has GPUs, by any of its members about GPUs. Also sets whether they work. */
static bool names_gpus(const cJSON *node, bool *is_ready) {
  static const char *const negations[] = {"unready", "not_ready", NULL};
  bool has_gpus = false;
  const cJSON *member;
  *is_ready = true;
  cJSON_ArrayForEach(member, node) {
    if (!strstr(member->string, "gpu")) continue;
    has_gpus = true;
    if (strstr(member->string, "ready") && cJSON_IsBool(member))
      *is_ready = has_word(member->string, negations) != cJSON_IsTrue(member);
  }
  return has_gpus;
}

static bool read_used_node(struct hr__cluster_case *self, struct hr__ca_used_node *node) {
  const cJSON *object = hr__case_get(self->input, "node"), *pod;
  struct hr__ca_use *pods = hr__verdict_alloc(self->verdict, hr__case_count(self->input, "pods"), sizeof *pods);
  bool is_ready;
  *node = (struct hr__ca_used_node){.allocatable = hr__read_amounts(object),
                                    .has_gpus = names_gpus(object, &is_ready),
                                    .pods = pods,
                                    .skips_daemons = hr__case_bool(self->input, "skip_daemonsets", false) ||
                                                     hr__case_bool(self->input, "ignore_daemonsets", false),
                                    .skips_mirrors = hr__case_bool(self->input, "skip_mirror", false)};
  if (!pods) return false;
  if (!is_ready) node->allocatable.of[HR__GPUS] = 0;
  cJSON_ArrayForEach(pod, hr__case_get(self->input, "pods")) pods[node->n_pods++] = read_use(pod);
  return read_devices(self, node);
}

static void run_utilization(struct hr__cluster_case *self) {
  static const char *const names[] = {"cpu", "mem", "gpu"};
  struct hr__ca_used_node node;
  struct hr__ca_utilization result;
  if (!read_used_node(self, &node)) return;
  const bool is_known = hr__ca_utilization(&node, &result);
  hr__check_bool(self, "error", !is_known);
  if (!is_known) {
    hr__check_text(self, "utilization", cJSON_IsString(hr__expected(self, "utilization", NULL)) ? "error" : NULL);
    return;
  }
  const cJSON *pools = hr__case_get(hr__case_get(self->input, "node"), "devices");
  const cJSON *pool = cJSON_GetArrayItem(pools, (int)result.pool);
  hr__check_number(self, "utilization", result.share, 1e-9);
  hr__check_number(self, "cpu", result.cpu, 1e-9);
  hr__check_number(self, "mem", result.memory, 1e-9);
  hr__check_text(self, "resource", result.by == HR__CA_BY_DEVICES && pool ? pool->string : names[result.by % 3]);
}

/* A truth value of the case or of its node. */
static bool flag_of(struct hr__cluster_case *self, const char *name, bool fallback) {
  return hr__case_bool(self->input, name, hr__case_bool(hr__case_get(self->input, "node"), name, fallback));
}

/* Reads from an object the readiness of a node, its group, and whether unready nodes may be removed. */
static void read_state(const cJSON *object, struct hr__ca_candidate *candidate) {
  static const char *const negations[] = {"unready", "not_", "no_", "disabled", "without", "outside", NULL};
  static const char *const permissions[] = {"scale_down", "enabled", "disabled", "allow", "remov", NULL};
  static const char *const groups[] = {"autoscaled", "configured", "group", NULL};
  const cJSON *member;
  cJSON_ArrayForEach(member, object) {
    const char *name = member->string;
    const bool is_flag = cJSON_IsBool(member), is_true = cJSON_IsTrue(member);
    if (strstr(name, "unready") && has_word(name, permissions)) {
      if (is_flag) candidate->keeps_unready = (strstr(name, "disabled") != NULL) == is_true;
    } else if (strstr(name, "ready")) {
      if (is_flag) candidate->is_ready = has_word(name, negations) != is_true;
    } else if (has_word(name, groups) && (is_flag || cJSON_IsNull(member))) {
      candidate->has_group = has_word(name, negations) != is_true;
    }
  }
}

static struct hr__ca_candidate read_candidate(struct hr__cluster_case *self) {
  struct hr__ca_candidate candidate = {.is_being_deleted = flag_of(self, "being_deleted", false),
                                       .is_disabled = flag_of(self, "scale_down_disabled", false) ||
                                                      flag_of(self, "disabled", false),
                                       .is_ready = true,
                                       .has_group = true};
  read_state(hr__case_get(self->input, "node"), &candidate);
  read_state(self->input, &candidate);
  return candidate;
}

static void check_reason(struct hr__cluster_case *self, const char *name, enum hr__ca_reason reason) {
  hr__check_bool(self, name, reason == HR__CA_NO_REASON);
  hr__check_text(self, "reason", reason == HR__CA_NO_REASON ? NULL : hr__ca_reasons[reason]);
}

static void run_eligible(struct hr__cluster_case *self) {
  struct hr__ca_used_node node;
  struct hr__ca_candidate candidate = read_candidate(self);
  if (!read_used_node(self, &node)) return;
  candidate.threshold = hr__case_real(self->input, "threshold", 0.5);
  check_reason(self, "eligible", hr__ca_eligible(&candidate, &node));
}

/* ---- Unneeded nodes -------------------------------------------------------------------------------------- */

static void run_min_size(struct hr__cluster_case *self) {
  const int64_t minimum = hr__case_whole(self->input, "min_size", 0);
  int64_t left = hr__case_whole(self->input, "target_size", 0) - hr__case_whole(self->input, "deletions_under_way", 0);
  const int64_t empty = hr__ca_above_minimum(hr__case_whole(self->input, "empty", 0), left, minimum);
  left -= empty;
  const int64_t drained = hr__ca_above_minimum(hr__case_whole(self->input, "need_drain", 0), left, minimum);
  hr__check_number(self, "empty_removed", (double)empty, 0);
  hr__check_number(self, "drained", (double)drained, 0);
}

static int64_t minutes_of(struct hr__cluster_case *self, const char *name) {
  return us_of(60 * hr__case_real(self->input, name, 0));
}

static void run_unneeded(struct hr__cluster_case *self) {
  const int64_t size = hr__case_whole(self->input, "size", 1);
  const int64_t cluster_nodes = hr__case_whole(self->input, "cluster_nodes", size);
  struct hr__ca_candidate candidate = read_candidate(self);
  /* the present is 0 */
  candidate.since_us = -minutes_of(self, "since_min");
  candidate.unneeded_us = minutes_of(self, "unneeded_min");
  candidate.unready_us = minutes_of(self, "unready_min");
  candidate.group_size = size - hr__case_whole(self->input, "deletions_under_way", 0);
  candidate.group_min = hr__case_whole(self->input, "min", 0);
  candidate.cluster_left = (struct hr__node_amounts){{INT64_MAX, INT64_MAX, INT64_MAX}};
  candidate.cluster_nodes_left = cluster_nodes - hr__case_whole(self->input, "cluster_min_nodes", 0);
  const struct hr__node_amounts node = hr__read_amounts(hr__case_get(self->input, "node"));
  check_reason(self, "removable", hr__ca_removable(&candidate, &node, 0));
}

static const char *loop_name(char text[30], uint32_t loop) {
  snprintf(text, 30, "at_t%u", (unsigned)loop);
  return text;
}

/* The lists at_t0, at_t1, ... have the unneeded nodes of each loop. */
static void run_unneeded_since(struct hr__cluster_case *self) {
  const cJSON *list, *name;
  uint32_t n_nodes = 0, n_loops = 0;
  char text[30];
  cJSON_ArrayForEach(list, self->input) n_nodes += (uint32_t)cJSON_GetArraySize(list);
  const char **names = hr__verdict_alloc(self->verdict, n_nodes, sizeof *names);
  int64_t *since = hr__verdict_alloc(self->verdict, n_nodes, sizeof *since);
  bool *is_unneeded = hr__verdict_alloc(self->verdict, n_nodes, sizeof *is_unneeded);
  if (!names || !since || !is_unneeded) return;
  n_nodes = 0;
  cJSON_ArrayForEach(list, self->input) cJSON_ArrayForEach(name, list) {
    uint32_t at = 0;
    while (at < n_nodes && strcmp(names[at], cJSON_IsString(name) ? name->valuestring : "") != 0) at++;
    if (at < n_nodes || !cJSON_IsString(name)) continue;
    names[n_nodes] = name->valuestring;
    since[n_nodes++] = -1;
  }
  for (; (list = hr__case_get(self->input, loop_name(text, n_loops))); n_loops++) {
    for (uint32_t i = 0; i < n_nodes; i++) is_unneeded[i] = hr__position_of(list, names[i]) != UINT32_MAX;
    hr__ca_note_unneeded(since, is_unneeded, n_nodes, n_loops);
  }
  cJSON *result = cJSON_CreateObject();
  for (uint32_t i = 0; i < n_nodes; i++) {
    snprintf(text, sizeof text, "t%d", (int)since[i]);
    if (since[i] >= 0) cJSON_AddStringToObject(result, names[i], text);
  }
  hr__check_json(self, "since", result, HR__COMPARE_EXACTLY, 0);
}

/* ---- Back-off -------------------------------------------------------------------------------------------- */

enum { MAX_GROUPS = 32 };

struct groups {
  struct hr__ca_backoff_spec spec;
  const char *names[MAX_GROUPS];
  struct hr__ca_backoff at[MAX_GROUPS];
  uint32_t n;
};

static struct hr__ca_backoff *backoff_of(struct groups *groups, const char *name) {
  uint32_t at = 0;
  while (at < groups->n && strcmp(groups->names[at], name) != 0) at++;
  if (at == MAX_GROUPS) return NULL;
  if (at == groups->n) groups->names[groups->n++] = name;
  return &groups->at[at];
}

/* A step: the action, then the group, the time in seconds and the expected answer, each of its own type. */
struct step {
  const char *what, *group;
  double at_s;
  bool has_answer, answer;
};

static struct step read_step(const cJSON *list, bool names_action) {
  struct step step = {.what = "fail", .group = ""};
  const cJSON *item;
  cJSON_ArrayForEach(item, list) {
    if (cJSON_IsString(item) && names_action && item == list->child)
      step.what = item->valuestring;
    else if (cJSON_IsString(item))
      step.group = item->valuestring;
    if (cJSON_IsNumber(item)) step.at_s = item->valuedouble;
    if (cJSON_IsBool(item)) step.has_answer = true;
    if (cJSON_IsTrue(item)) step.answer = true;
  }
  return step;
}

/* Returns whether the answer of a step is as expected. */
static bool do_step(struct groups *groups, const struct step *step) {
  struct hr__ca_backoff *backoff = backoff_of(groups, step->group);
  if (!backoff) return false;
  if (strcmp(step->what, "fail") == 0) {
    hr__ca_fail(&groups->spec, backoff, us_of(step->at_s));
    return true;
  }
  if (strcmp(step->what, "ask") == 0)
    return !step->has_answer || hr__ca_is_backed_off(backoff, us_of(step->at_s)) == step->answer;
  *backoff = (struct hr__ca_backoff){0}; // remove
  return true;
}

static void check_entries(struct hr__cluster_case *self, struct groups *groups) {
  cJSON *left = cJSON_CreateArray();
  const cJSON *at;
  cJSON_ArrayForEach(at, hr__case_get(self->input, "clean_at")) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < groups->n; i++) {
      hr__ca_forget(&groups->spec, &groups->at[i], us_of(at->valuedouble));
      n += groups->at[i].has_failed;
    }
    cJSON_AddItemToArray(left, cJSON_CreateNumber(n));
  }
  hr__check_json(self, "entries_left", left, HR__COMPARE_EXACTLY, 0);
}

static void run_backoff(struct hr__cluster_case *self) {
  struct groups groups = {.spec = {us_of(hr__case_real(self->input, "initial_s", 300)),
                                   us_of(hr__case_real(self->input, "max_s", 1800)),
                                   us_of(hr__case_real(self->input, "reset_s", 10800))}};
  bool follows = true;
  const cJSON *item;
  cJSON_ArrayForEach(item, hr__case_get(self->input, "fail")) {
    const struct step step = read_step(item, false);
    do_step(&groups, &step);
  }
  cJSON_ArrayForEach(item, hr__case_get(self->input, "sequence")) {
    const struct step step = read_step(item, true);
    follows = do_step(&groups, &step) && follows;
  }
  hr__check_bool(self, "follows", follows);
  check_entries(self, &groups);
}

/* ---- Budgets --------------------------------------------------------------------------------------------- */

struct budget_groups {
  const char **names;
  struct hr__ca_deletion *at;
  uint32_t n;
};

static uint32_t budget_group(struct budget_groups *groups, const char *name) {
  uint32_t at = 0;
  while (at < groups->n && strcmp(groups->names[at], name) != 0) at++;
  if (at < groups->n) return at;
  groups->names[groups->n] = name;
  groups->at[groups->n++] =
      (struct hr__ca_deletion){.is_atomic = strncmp(name, "atomic-", 7) == 0,
                               .target = strncmp(name, "atomic-", 7) == 0 ? strtoll(name + 7, NULL, 10) : 0};
  return at;
}

/* Reads ranges of nodes: adds their sizes to the groups, and lists each group once. */
static uint32_t read_ranges(struct budget_groups *groups, const cJSON *list, bool is_empty, bool is_drain,
                            uint32_t *order) {
  uint32_t n = 0;
  const cJSON *item;
  cJSON_ArrayForEach(item, list) {
    const uint32_t at = budget_group(groups, hr__case_text(item, "group", ""));
    const int64_t nodes = hr__case_whole(item, "to", 0) - hr__case_whole(item, "from", 0);
    groups->at[at].registered += nodes;
    if (is_empty) groups->at[at].empty += nodes;
    if (is_drain) groups->at[at].drain += nodes;
    uint32_t seen = 0;
    while (seen < n && order[seen] != at) seen++;
    if (seen == n && (is_empty || is_drain)) order[n++] = at;
  }
  return n;
}

/* Writes the ranges of the nodes that are taken: atomic groups first. */
static void check_ranges(struct hr__cluster_case *self, struct budget_groups *groups, const char *name, bool is_empty) {
  cJSON *result = cJSON_CreateArray();
  for (int atomic = 1; atomic >= 0; atomic--) {
    const cJSON *item;
    cJSON_ArrayForEach(item, hr__case_get(self->input, name)) {
      struct hr__ca_deletion *group = &groups->at[budget_group(groups, hr__case_text(item, "group", ""))];
      int64_t *taken = is_empty ? &group->take_empty : &group->take_drain;
      const int64_t from = hr__case_whole(item, "from", 0), nodes = hr__case_whole(item, "to", 0) - from;
      const int64_t part = *taken < nodes ? *taken : nodes;
      if (group->is_atomic != (atomic == 1) || part <= 0) continue;
      cJSON *range = cJSON_CreateObject();
      cJSON_AddStringToObject(range, "group", hr__case_text(item, "group", ""));
      cJSON_AddNumberToObject(range, "from", (double)from);
      cJSON_AddNumberToObject(range, "to", (double)(from + part));
      cJSON_AddItemToArray(result, range);
      *taken -= part;
    }
  }
  hr__check_json(self, name, result, HR__COMPARE_SETS, 0);
}

static void run_budget(struct hr__cluster_case *self) {
  const cJSON *empty = hr__case_get(self->input, "empty"), *drain = hr__case_get(self->input, "drain");
  const cJSON *others = hr__case_get(self->input, "other_nodes");
  const uint32_t n = (uint32_t)(cJSON_GetArraySize(empty) + cJSON_GetArraySize(drain) + cJSON_GetArraySize(others));
  struct budget_groups groups = {hr__verdict_alloc(self->verdict, n, sizeof *groups.names),
                                 hr__verdict_alloc(self->verdict, n, sizeof *groups.at), 0};
  uint32_t *orders = hr__verdict_alloc(self->verdict, (size_t)2 * n, sizeof *orders);
  if (!groups.names || !groups.at || !orders) return;
  const int64_t empty_now = hr__case_whole(self->input, "empty_under_way", 0);
  const int64_t drain_now = hr__case_whole(self->input, "drain_under_way", 0);
  struct hr__ca_deletions deletions = {.groups = groups.at, .empty = orders, .drain = orders + n};
  deletions.n_empty = read_ranges(&groups, empty, true, false, orders);
  deletions.n_drain = read_ranges(&groups, drain, false, true, orders + n);
  read_ranges(&groups, others, false, false, NULL);
  hr__ca_take(&deletions,
              (struct hr__ca_budget){hr__case_whole(self->input, "max_parallel", 10) - empty_now - drain_now,
                                     hr__case_whole(self->input, "max_drain_parallel", 1) - drain_now});
  check_ranges(self, &groups, "empty", true);
  check_ranges(self, &groups, "drain", false);
}

const struct hr__cluster_kind hr__scale_down_kinds[] = {{"ca-utilization", run_utilization},
                                                        {"ca-scale-down-eligible", run_eligible},
                                                        {"ca-min-size", run_min_size},
                                                        {"ca-unneeded", run_unneeded},
                                                        {"ca-unneeded-since", run_unneeded_since},
                                                        {"ca-backoff", run_backoff},
                                                        {"ca-scale-down-budget", run_budget},
                                                        {NULL, NULL}};
