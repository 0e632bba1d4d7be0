/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs the test vectors of KAI against its model: whole sessions.
 *
 * In the mode `single_session`, the actions run once, and the pods are compared in the state after the actions.
 *
 * In the mode `rounds`, several sessions run. Between two sessions the state of some pods changes: bound pods become
 * running. Pods that wait for released resources become pending. Evicted pods become pending, unless their job has
 * "keep_releasing". After the first "rounds_until_match" sessions, the pods are compared in their state at the start of
 * the next session. Then "rounds_after_match" sessions follow, and the pods are compared after the actions of each.
 */

#include "scenarios/conform/conform.h"

#include <stdio.h>
#include <string.h>

static const int64_t second_us = 1000000, age_of_start_s = 60;

enum { MOST_ROUNDS = 1000 };

/* ---- Comparison ---- */

/* The state of a comparison. */
struct compared {
  const struct hr__kai_case *read;
  const struct hr__kai_session *session;
  char place[200]; /* place of the value that is compared, such as "tasks.NAME.status" */
};

static const char *join(struct compared *compared, const char *kind, const char *name, const char *member) {
  (void)snprintf(compared->place, sizeof compared->place, "%s.%s.%s", kind, name, member);
  return compared->place;
}

static void compare_pod(struct compared *compared, uint32_t pod, const cJSON *expected, const char *kind) {
  struct hr__verdict *verdict = compared->read->verdict;
  const struct hr__kai_pod_state *state = &compared->session->pods[pod];
  const char *name = compared->read->pod_names[pod];
  hr__verdict_compare_text(verdict, join(compared, kind, name, "status"), hr__case_get(expected, "status"),
                           hr__kai_status_words[state->status]);
  const char *node = hr__case_text(expected, "node", "");
  if (*node)
    hr__verdict_compare_text(verdict, join(compared, kind, name, "node"), hr__case_get(expected, "node"),
                             state->node >= 0 ? compared->read->node_names[state->node] : "");
}

/* Compares the sums of the requests of `n` pods from `first`. Sums without an expected value are skipped. For some
   sums, KAI ignores an expected value of 0; these are skipped, too. */
static void compare_sums(struct compared *compared, uint32_t first, uint32_t n, const cJSON *expected, const char *kind,
                         const char *name) {
  const struct hr__kai_cluster *cluster = &compared->read->cluster;
  struct hr__verdict *verdict = compared->read->verdict;
  int64_t gpus = 0, accepted = 0, cpu = 0, mem = 0;
  for (uint32_t p = first; p < first + n; p++) {
    gpus += cluster->pods[p].gpus;
    if (cluster->pods[p].kind != HR__KAI_INSTANCE) accepted += compared->session->pods[p].accepted_gpus;
    cpu += cluster->pods[p].quota.of[HR__KAI_CPU];
    mem += cluster->pods[p].quota.of[HR__KAI_MEM];
  }
  const struct {
    const char *member;
    double actual;
    bool zero_counts;
  } sums[] = {{"gpus_requested", (double)gpus / HR__KAI_GPU_UNIT, true},
              {"gpus_accepted", (double)accepted / HR__KAI_GPU_UNIT, false},
              {"cpu_milli_requested", (double)cpu, false},
              {"mem_bytes_requested", (double)mem, false}};
  for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
    const cJSON *value = hr__case_get(expected, sums[i].member);
    if (!value || (!sums[i].zero_counts && value->valuedouble == 0)) continue;
    const cJSON actual = {.type = cJSON_Number, .valuedouble = sums[i].actual};
    hr__verdict_compare(verdict, join(compared, kind, name, sums[i].member), value, &actual, HR__COMPARE_EXACTLY, 1e-6);
  }
}

static void compare_jobs(struct compared *compared, const cJSON *expected) {
  const struct hr__kai_case *read = compared->read;
  for (const cJSON *job = expected ? expected->child : NULL; job; job = job->next) {
    const uint32_t j = hr__case_find(read->job_names, read->cluster.n_jobs, job->string);
    if (j == HR__KAI_NONE) {
      hr__verdict_compare_text(read->verdict, join(compared, "jobs", job->string, "status"),
                               hr__case_get(job, "status"), "missing");
      continue;
    }
    const struct hr__kai_job *described = &read->cluster.jobs[j];
    for (uint32_t p = described->first_pod; p < described->first_pod + described->n_pods; p++)
      compare_pod(compared, p, job, "jobs");
    compare_sums(compared, described->first_pod, described->n_pods, job, "jobs", job->string);
  }
}

static void compare_pods(struct compared *compared, const cJSON *expected) {
  const struct hr__kai_case *read = compared->read;
  for (const cJSON *task = expected ? expected->child : NULL; task; task = task->next) {
    const uint32_t p = hr__case_find(read->pod_names, read->cluster.n_pods, task->string);
    if (p == HR__KAI_NONE) continue; /* KAI ignores expectations of pods that do not exist */
    compare_pod(compared, p, task, "tasks");
    compare_sums(compared, p, 1, task, "tasks", task->string);
  }
}

/* Compares the nodes of `expected`: {NAME: {"idle_gpus": n, "releasing_gpus": n}}. */
static void compare_nodes(struct compared *compared, const cJSON *expected) {
  const struct hr__kai_case *read = compared->read;
  for (const cJSON *node = expected ? expected->child : NULL; node; node = node->next) {
    const uint32_t n = hr__case_find(read->node_names, read->cluster.n_nodes, node->string);
    if (n == HR__KAI_NONE) continue;
    const size_t cell = (size_t)n * read->cluster.n_dims + HR__KAI_DIM_GPUS;
    const cJSON *idle = hr__case_get(node, "idle_gpus"), *releasing = hr__case_get(node, "releasing_gpus");
    if (idle)
      hr__verdict_compare_number(read->verdict, join(compared, "nodes", node->string, "idle_gpus"), idle,
                                 (double)compared->session->idle[cell]);
    if (releasing)
      hr__verdict_compare_number(read->verdict, join(compared, "nodes", node->string, "releasing_gpus"), releasing,
                                 (double)compared->session->releasing[cell]);
  }
}

/* Compares the numbers of bound, evicted and pipelined pods of a session. A pipelined pod waits for resources that are
   being released. The expected numbers are upper bounds. */
static void compare_limits(const struct hr__kai_case *read, const struct hr__kai_session *session) {
  const cJSON *expected = hr__case_get(read->verdict->expect, "per_session_call_limits");
  struct compared compared = {.read = read, .session = session};
  const struct {
    const char *member;
    uint32_t actual;
  } limits[] = {
      {"binds_max", session->n_bound}, {"evictions_max", session->n_evicted}, {"pipelines_max", session->n_pipelined}};
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    const cJSON *value = hr__case_get(expected, limits[i].member);
    if (value && (double)limits[i].actual > value->valuedouble)
      hr__verdict_compare_number(read->verdict, join(&compared, "calls", "per_session", limits[i].member), value,
                                 limits[i].actual);
  }
}

static void compare(const struct hr__kai_case *read, const struct hr__kai_session *session) {
  struct compared compared = {.read = read, .session = session};
  const cJSON *expected = read->verdict->expect;
  compare_jobs(&compared, hr__case_get(expected, "jobs"));
  compare_pods(&compared, hr__case_get(expected, "tasks"));
  compare_nodes(&compared, hr__case_get(expected, "nodes"));
}

/* ---- Sessions ---- */

static enum hr__kai_action action_of(const char *word) {
  static const char *const words[] = {
#define ACTION_WORD(name, text) text,
      HR__KAI_ACTIONS(ACTION_WORD)
#undef ACTION_WORD
  };
  const uint32_t action = hr__case_find(words, HR__KAI_N_ACTIONS, word);
  return action == HR__KAI_NONE ? HR__KAI_N_ACTIONS : (enum hr__kai_action)action;
}

/* Runs one session. Returns NULL if memory is exhausted or the case has an unknown action. */
static const struct hr__kai_session *run_session(const struct hr__kai_case *read) {
  const cJSON *actions = hr__case_get(hr__case_get(read->verdict->whole, "run"), "actions"), *action;
  const struct hr__kai_cluster *cluster = &read->cluster;
  for (uint32_t j = 0; j < cluster->n_jobs; j++) {
    struct hr__kai_job *job = &cluster->jobs[j];
    job->stale_since_us = read->stale_s[j] < 0 ? INT64_MIN : cluster->now_us - read->stale_s[j] * second_us;
    job->last_start_us = INT64_MIN;
    for (uint32_t p = job->first_pod; p < job->first_pod + job->n_pods; p++)
      if (hr__kai_is(read->start[p].status, HR__KAI_HOLDING))
        job->last_start_us = cluster->now_us - age_of_start_s * second_us;
  }
  struct hr__kai_session *session = hr__kai_session_create(read->verdict->arena, cluster, read->start);
  struct hr__kai_cycle *cycle = session ? hr__kai_cycle_create(session) : NULL;
  if (!cycle) {
    read->verdict->no_memory = true;
    return NULL;
  }
  cJSON_ArrayForEach(action, actions) {
    const enum hr__kai_action which = action_of(cJSON_IsString(action) ? action->valuestring : "");
    if (which == HR__KAI_N_ACTIONS) {
      read->verdict->malformed = "run.actions: expected actions of KAI";
      return NULL;
    }
    hr__kai_run_action(cycle, which);
  }
  if (session->no_memory) read->verdict->no_memory = true;
  return session->no_memory ? NULL : session;
}

/* Sets the state of a pod at the start of the next session. */
static void go_on(struct hr__kai_case *read, const struct hr__kai_session *session, uint32_t pod) {
  const struct hr__kai_pod_state *state = &session->pods[pod];
  struct hr__kai_start *start = &read->start[pod];
  const bool keeps = read->keeps_releasing[read->cluster.pods[pod].job];
  if (state->status == HR__KAI_PIPELINED || (state->status == HR__KAI_RELEASING && !keeps)) {
    *start = (struct hr__kai_start){.status = HR__KAI_PENDING, .node = HR__KAI_NONE};
    return;
  }
  start->status = state->status == HR__KAI_BINDING ? HR__KAI_RUNNING : (enum hr__kai_status)state->status;
  start->node = state->node >= 0 ? (uint32_t)state->node : HR__KAI_NONE;
  start->n_gpus = (uint32_t)state->n_gpus;
  uint32_t *gpus = hr__verdict_alloc(read->verdict, start->n_gpus, sizeof *gpus);
  for (uint32_t i = 0; gpus && i < start->n_gpus; i++) gpus[i] = (uint32_t)session->gpus[session->first_gpu[pod] + i];
  start->gpus = gpus;
}

/* Runs one session, compares its numbers of calls, and sets the states of the pods for the next session. If `compares`
   is set, also compares the pods in the state after the actions. Returns false if memory is exhausted or the case has
   an unknown action. */
static bool run_round(struct hr__kai_case *read, bool compares) {
  const struct hr__kai_session *session = run_session(read);
  if (!session) return false;
  if (compares) compare(read, session);
  compare_limits(read, session);
  for (uint32_t p = 0; p < read->cluster.n_pods; p++) go_on(read, session, p);
  return !read->verdict->no_memory;
}

/* Compares the pods in their state at the start of the next session. Returns false if memory is exhausted. */
static bool compare_between(const struct hr__kai_case *read) {
  const struct hr__kai_session *session = hr__kai_session_create(read->verdict->arena, &read->cluster, read->start);
  if (!session) read->verdict->no_memory = true;
  if (session) compare(read, session);
  return session != NULL;
}

void hr__kai_run_schedule(struct hr__verdict *verdict) {
  struct hr__kai_case read;
  const cJSON *run = hr__case_get(verdict->whole, "run");
  if (!hr__kai_case_read(&read, verdict)) return;
  read.cluster.config.stale_grace_us = hr__case_whole(run, "staleness_grace_s", 0) * second_us;
  if (!hr__case_text_is(run, "mode", "rounds")) {
    const struct hr__kai_session *session = run_session(&read);
    if (!session) return;
    compare(&read, session);
    compare_limits(&read, session);
    return;
  }
  const int64_t n_until = hr__case_whole(run, "rounds_until_match", 2),
                n_after = hr__case_whole(run, "rounds_after_match", 5);
  if (n_until > MOST_ROUNDS || n_after > MOST_ROUNDS) {
    verdict->malformed = "run: expected at most 1000 rounds";
    return;
  }
  for (int64_t i = 0; i < n_until; i++)
    if (!run_round(&read, false)) return;
  if (!compare_between(&read)) return;
  for (int64_t i = 0; i < n_after; i++)
    if (!run_round(&read, true)) return;
}
