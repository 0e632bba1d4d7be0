/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs two scenarios on the same trace with the same seed, and finds what differs.
 *
 * Each run records its decisions: 24 bytes for each start, rejection and stop. Both records are compared instant by
 * instant, because the order of decisions of the same instant has no effect on results. Of the first instant that
 * differs, the decisions that only one side makes are stored. If a side starts a job that the other side starts later,
 * the run of the other side is repeated with an observer that finds what the job waits for.
 */

#include "plan/compare/compare.h"

#include "base/containers.h"
#include "base/text.h"
#include "base/threads.h"
#include "headroom/unstable/exports.h"
#include "headroom/unstable/replay.h"
#include "report/metrics/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum hr_status no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory for the diff");
}

/* ---- Two scenarios, key by key. The depth of the recursion is that of the JSON, which cJSON limits ----- */

enum { PATH_BYTES = 300 };

/* The place of a value in both notations. */
struct key_place {
  char path[PATH_BYTES], shown[PATH_BYTES];
};

struct key_walk {
  hr__key_visit *visit;
  void *self;
};

const char *hr__key_value_text(const cJSON *value, char *buffer) {
  char *json = cJSON_IsString(value) ? NULL : cJSON_PrintUnformatted(value);
  const char *text = value && cJSON_IsString(value) ? value->valuestring : json ? json : "";
  snprintf(buffer, HR__KEY_VALUE_BYTES, "%s", text);
  if (strlen(text) >= HR__KEY_VALUE_BYTES) memcpy(buffer + HR__KEY_VALUE_BYTES - 4, "...", 4);
  cJSON_free(json);
  return buffer;
}

static void compare_values(const struct key_walk *walk, const struct key_place *place, const cJSON *before,
                           const cJSON *now);

static void compare_member(const struct key_walk *walk, const struct key_place *place, const char *key,
                           const cJSON *before, const cJSON *now) {
  struct key_place member;
  const char *dot = place->path[0] ? "." : "";
  /* The file of a scenario may have these keys, which do not affect a run. */
  if (place->path[0] == '\0' && (strcmp(key, "$schema") == 0 || strcmp(key, "description") == 0)) return;
  snprintf(member.path, sizeof member.path, "%.200s%s%.80s", place->path, dot, key);
  snprintf(member.shown, sizeof member.shown, "%.200s%s%.80s", place->shown, dot, key);
  compare_values(walk, &member, before, now);
}

static void compare_objects(const struct key_walk *walk, const struct key_place *place, const cJSON *before,
                            const cJSON *now) {
  for (const cJSON *item = now->child; item; item = item->next)
    compare_member(walk, place, item->string, cJSON_GetObjectItemCaseSensitive(before, item->string), item);
  for (const cJSON *item = before->child; item; item = item->next)
    if (!cJSON_GetObjectItemCaseSensitive(now, item->string)) compare_member(walk, place, item->string, item, NULL);
}

static const char *name_of(const cJSON *entry) {
  const cJSON *name = cJSON_IsObject(entry) ? cJSON_GetObjectItemCaseSensitive(entry, "name") : NULL;
  return name && cJSON_IsString(name) ? name->valuestring : NULL;
}

static const cJSON *named(const cJSON *list, const char *name) {
  for (const cJSON *entry = list->child; entry; entry = entry->next)
    if (name_of(entry) && strcmp(name_of(entry), name) == 0) return entry;
  return NULL;
}

/* Whether all entries have names, and no name twice. */
static bool all_named(const cJSON *list) {
  for (const cJSON *entry = list->child; entry; entry = entry->next)
    if (!name_of(entry) || named(list, name_of(entry)) != entry) return false;
  return true;
}

/* Compares entry `index` of one of the lists. `name`: NULL if entries are matched by index. */
static void compare_entry(const struct key_walk *walk, const struct key_place *place, int index, const char *name,
                          const cJSON *before, const cJSON *now) {
  struct key_place entry;
  snprintf(entry.path, sizeof entry.path, "%.200s.%d", place->path, index);
  if (name)
    snprintf(entry.shown, sizeof entry.shown, "%.200s[%.80s]", place->shown, name);
  else
    snprintf(entry.shown, sizeof entry.shown, "%.200s.%d", place->shown, index);
  compare_values(walk, &entry, before, now);
}

static void compare_lists(const struct key_walk *walk, const struct key_place *place, const cJSON *before,
                          const cJSON *now) {
  bool by_name = all_named(before) && all_named(now);
  int i = 0;
  if (!by_name && cJSON_GetArraySize(before) != cJSON_GetArraySize(now)) {
    walk->visit(walk->self, &(struct hr__key_difference){place->path, place->shown, before, now});
    return;
  }
  for (const cJSON *entry = now->child; entry; entry = entry->next, i++) {
    const char *name = by_name ? name_of(entry) : NULL;
    compare_entry(walk, place, i, name, name ? named(before, name) : cJSON_GetArrayItem(before, i), entry);
  }
  i = 0;
  for (const cJSON *entry = before->child; by_name && entry; entry = entry->next, i++)
    if (!named(now, name_of(entry))) compare_entry(walk, place, i, name_of(entry), entry, NULL);
}

static void compare_values(const struct key_walk *walk, const struct key_place *place, const cJSON *before,
                           const cJSON *now) {
  if (before && now && cJSON_IsObject(before) && cJSON_IsObject(now))
    compare_objects(walk, place, before, now);
  else if (before && now && cJSON_IsArray(before) && cJSON_IsArray(now))
    compare_lists(walk, place, before, now);
  else if (!before || !now || !cJSON_Compare(before, now, true))
    walk->visit(walk->self, &(struct hr__key_difference){place->path, place->shown, before, now});
}

void hr__keys_compare(const cJSON *before, const cJSON *now, hr__key_visit *visit, void *self) {
  const struct key_walk walk = {visit, self};
  const struct key_place root = {.path = "", .shown = ""};
  compare_values(&walk, &root, before, now);
}

/* ---- Keys ------------------------------------------------------------------------------------------- */

static void add_key(void *self, const struct hr__key_difference *difference) {
  struct hr_diff *diff = self;
  if (!HR__ARRAY_RESIZE(diff->keys, diff->n_keys + 1)) {
    diff->out_of_memory = true;
    return;
  }
  struct hr__diff_key *key = &diff->keys[diff->n_keys++];
  *key = (struct hr__diff_key){.path = strdup(difference->path), .shown = strdup(difference->shown)};
  const cJSON *const values[] = {difference->before, difference->now};
  for (unsigned side = 0; side < HR__DIFF_SIDES; side++) {
    key->values[side] = values[side] ? cJSON_Duplicate(values[side], true) : NULL;
    diff->out_of_memory = diff->out_of_memory || (values[side] && !key->values[side]);
  }
  diff->out_of_memory = diff->out_of_memory || !key->path || !key->shown;
}

/* Parses the scenario of a side after overrides. */
static enum hr_status read_side(const struct hr_diff_side *side, cJSON **tree, struct hr_error *error) {
  char *text = NULL;
  enum hr_status status = hr_scenario_part(side->scenario->path, side->overrides, side->n_overrides, "", &text, error);
  if (status != HR_OK) return status;
  *tree = text ? cJSON_Parse(text) : NULL;
  free(text);
  return *tree ? HR_OK : no_memory(error);
}

static enum hr_status compare_keys(struct hr_diff *diff, struct hr_error *error) {
  cJSON *trees[HR__DIFF_SIDES] = {NULL, NULL};
  enum hr_status status = HR_OK;
  for (unsigned i = 0; i < HR__DIFF_SIDES && status == HR_OK; i++)
    status = read_side(&diff->config.sides[i], &trees[i], error);
  if (status == HR_OK) hr__keys_compare(trees[0], trees[1], add_key, diff);
  for (unsigned i = 0; i < HR__DIFF_SIDES; i++) cJSON_Delete(trees[i]);
  return status == HR_OK && diff->out_of_memory ? no_memory(error) : status;
}

/* ---- Decisions of a run ----------------------------------------------------------------------------- */

static bool is_decision(enum hr_event_kind kind) {
  return kind == HR_EVENT_START || kind == HR_EVENT_REJECT || kind == HR_EVENT_PREEMPT || kind == HR_EVENT_INTERRUPT;
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr__diff_log *log = self;
  (void)view;
  if (!is_decision(event->kind) || event->job.id >= log->n_jobs) return;
  if (!HR__ARRAY_HAS_ROOM(log->events, log->count, log->capacity)) {
    log->out_of_memory = true;
    return;
  }
  log->events[log->count++] = (struct hr__diff_event){
      .at_us = event->at_us,
      .job = event->job.id,
      .place =
          event->kind == HR_EVENT_START ? hr__hash_u64(hr__digest_placement(HR__DIGEST_SEED, event->placement)) : 0,
      .kind = (uint8_t)event->kind,
      .reason = (uint8_t)event->reason};
}

/* ---- Waits by queue --------------------------------------------------------------------------------- */

/* The index of the queue of a job. Jobs without a queue have an index of their own, which is the last. */
static uint32_t queue_of(const struct hr_trace *trace, uint32_t job) {
  const uint32_t *column = hr__diff_queue_column(trace);
  return column && column[job] != HR_NONE ? column[job] : hr__diff_queue_names(trace)->count;
}

/* The waits of started jobs, sorted by queue. */
struct diff_waits {
  int64_t *us;
  size_t *ends; /* [n_queues + 1]: index behind the last wait of each queue */
};

/* Sorts the waits by queue with a counting sort. */
static void sort_waits(const struct hr_result *result, struct diff_waits *waits, size_t n_queues) {
  const int64_t *submit_us = result->trace->submit_us;
  for (uint32_t job = 0; job < result->n_jobs; job++)
    if (result->start_us[job] != HR_NEVER_US) waits->ends[queue_of(result->trace, job)]++;
  size_t sum = 0;
  for (size_t i = 0; i < n_queues; i++) {
    size_t count = waits->ends[i];
    waits->ends[i] = sum;
    sum += count;
  }
  for (uint32_t job = 0; job < result->n_jobs; job++)
    if (result->start_us[job] != HR_NEVER_US)
      waits->us[waits->ends[queue_of(result->trace, job)]++] = result->start_us[job] - submit_us[job];
}

static bool fill_queues(const struct hr_result *result, unsigned side, const struct diff_waits *waits,
                        struct hr__diff_run *run) {
  const struct hr_names *names = hr__diff_queue_names(result->trace);
  size_t first = 0;
  for (uint32_t job = 0; job < result->n_jobs; job++)
    if (result->state[job] != HR_JOB_FUTURE) run->queues[queue_of(result->trace, job)].jobs[side]++;
  for (uint32_t i = 0; i < run->n_queues; i++) {
    hr__wide sum_us = 0;
    for (size_t k = first; k < waits->ends[i]; k++) sum_us += (uint64_t)waits->us[k];
    run->queues[i].wait_s[side] = hr__distribution_of_us(waits->us + first, waits->ends[i] - first, sum_us);
    run->queues[i].name = strdup(i < names->count ? names->text[i] : "");
    if (!run->queues[i].name) return false;
    first = waits->ends[i];
  }
  return true;
}

/* Computes the waits by queue. The last queue is that of jobs without a queue. */
static enum hr_status collect_queues(const struct hr_result *result, unsigned side, struct hr__diff_run *run,
                                     struct hr_error *error) {
  run->n_queues = (size_t)hr__diff_queue_names(result->trace)->count + 1;
  run->queues = calloc(run->n_queues, sizeof *run->queues);
  struct diff_waits waits = {calloc((size_t)result->n_jobs + 1, sizeof *waits.us),
                             calloc(run->n_queues, sizeof *waits.ends)};
  bool complete = run->queues && waits.us && waits.ends;
  if (complete) sort_waits(result, &waits, run->n_queues);
  complete = complete && fill_queues(result, side, &waits, run);
  free(waits.us);
  free(waits.ends);
  return complete ? HR_OK : no_memory(error);
}

/* ---- One run ---------------------------------------------------------------------------------------- */

struct diff_work {
  struct hr_diff *diff;
  struct hr__progress_sum sum;
};

/* The run of a side, for the callbacks of struct hr__one_run_details. */
struct diff_details {
  struct hr__diff_run *run;
  unsigned side;
};

static enum hr_status prepare(void *self, struct hr_replay *replay, struct hr_error *error) {
  struct diff_details *details = self;
  return hr_replay_add(replay, (struct hr_observer){.self = &details->run->log, .on_event = on_event}, error);
}

static enum hr_status collect(void *self, const struct hr_replay *replay, struct hr_error *error) {
  struct diff_details *details = self;
  if (details->run->log.out_of_memory) return no_memory(error);
  hr_rejections_of(replay->result, &details->run->rejections);
  return collect_queues(replay->result, details->side, details->run, error);
}

static enum hr_status run_side(void *self, size_t task, struct hr_error *error) {
  struct diff_work *work = self;
  const struct hr_diff_config *config = &work->diff->config;
  const struct hr_diff_side *side = &config->sides[task];
  struct hr__progress_reporter reporter = {.sum = &work->sum};
  struct hr_error inner = {0};
  struct diff_details own = {&work->diff->runs[task], (unsigned)task};
  own.run->log.n_jobs = side->trace->n_jobs;
  const struct hr__one_run_details details = {.self = &own, .prepare = prepare, .collect = collect};
  const struct hr__one_run_config one = {.scenario = side->scenario,
                                         .trace = side->trace,
                                         .policy = &side->scenario->policy,
                                         .seed = config->seed,
                                         .details = &details,
                                         .progress = hr__progress_reporter_progress(&reporter)};
  enum hr_status status = hr__one_run_make(&one, &work->diff->runs[task].run, &inner);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "%.200s: %s", side->label, inner.text);
}

static enum hr_status run_sides(struct hr_diff *diff, struct hr_error *error) {
  struct diff_work work = {.diff = diff};
  const struct hr__tasks tasks = {.self = &work, .run = run_side, .count = HR__DIFF_SIDES};
  uint64_t jobs = (uint64_t)diff->config.sides[0].trace->n_jobs + diff->config.sides[1].trace->n_jobs;
  hr__progress_sum_init(&work.sum, &diff->config.progress, jobs);
  enum hr_status status = hr__pool_run(&tasks, diff->config.n_threads, error);
  hr__progress_sum_finish(&work.sum);
  return status;
}

/* ---- Queues of both sides --------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
  return strcmp(((const struct hr__diff_queue *)a)->name, ((const struct hr__diff_queue *)b)->name);
}

/* The absolute change of the sum of the waits of a queue, in seconds. */
static double effect_of(const struct hr__diff_queue *queue) {
  const struct hr_distribution *a = &queue->wait_s[0], *b = &queue->wait_s[1];
  return fabs(b->mean * (double)b->count - a->mean * (double)a->count);
}

static int by_effect(const void *a, const void *b) {
  double x = effect_of(a), y = effect_of(b);
  return x != y ? (x < y) - (x > y) : by_name(a, b);
}

/* Moves the queues of a run, except those without jobs, to the list of both runs. */
static void take_queues(struct hr_diff *diff, unsigned side) {
  struct hr__diff_run *run = &diff->runs[side];
  for (size_t i = 0; i < run->n_queues; i++) {
    struct hr__diff_queue *queue = &run->queues[i];
    if (!queue->jobs[side]) continue;
    diff->queues[diff->n_queues++] = *queue;
    queue->name = NULL;
  }
}

/* Merges the queues of the two runs by name. */
static enum hr_status merge_queues(struct hr_diff *diff, struct hr_error *error) {
  diff->queues = calloc(diff->runs[0].n_queues + diff->runs[1].n_queues, sizeof *diff->queues);
  if (!diff->queues) return no_memory(error);
  take_queues(diff, 0);
  take_queues(diff, 1);
  qsort(diff->queues, diff->n_queues, sizeof *diff->queues, by_name);
  size_t count = 0;
  for (size_t i = 0; i < diff->n_queues; i++) {
    struct hr__diff_queue *queue = &diff->queues[i], *last = count ? &diff->queues[count - 1] : NULL;
    if (!last || strcmp(last->name, queue->name) != 0) {
      diff->queues[count++] = *queue;
      continue;
    }
    /* Two runs have the name; each has set the members of its own side. */
    unsigned side = queue->jobs[1] ? 1 : 0;
    last->jobs[side] = queue->jobs[side];
    last->wait_s[side] = queue->wait_s[side];
    free(queue->name);
  }
  diff->n_queues = count;
  qsort(diff->queues, diff->n_queues, sizeof *diff->queues, by_effect);
  return HR_OK;
}

/* ---- The first difference --------------------------------------------------------------------------- */

static int by_job(const void *a, const void *b) {
  const struct hr__diff_event *x = a, *y = b;
  if (x->job != y->job) return (x->job > y->job) - (x->job < y->job);
  return (x->kind > y->kind) - (x->kind < y->kind);
}

/* The decisions of one instant, sorted by job and kind. */
struct diff_instant {
  struct hr__diff_event *events;
  uint32_t count;
};

static struct diff_instant instant_at(struct hr__diff_log *log, uint32_t from, int64_t at_us) {
  struct diff_instant instant = {log->events + from, 0};
  while (from + instant.count < log->count && instant.events[instant.count].at_us == at_us) instant.count++;
  if (instant.count) qsort(instant.events, instant.count, sizeof *instant.events, by_job);
  return instant;
}

static void add_decision(struct hr__diff_decisions *decisions, const struct hr__diff_event *event) {
  if (decisions->count < HR__DIFF_SHOWN_DECISIONS) decisions->shown[decisions->count] = *event;
  decisions->count++;
}

/* Stores the decisions that only one side makes. */
static void compare_instant(struct hr__diff_first *first, const struct diff_instant *a, const struct diff_instant *b) {
  uint32_t i = 0, k = 0;
  while (i < a->count || k < b->count) {
    int order = i == a->count ? 1 : k == b->count ? -1 : by_job(&a->events[i], &b->events[k]);
    if (order < 0) add_decision(&first->sides[0], &a->events[i]);
    if (order > 0) add_decision(&first->sides[1], &b->events[k]);
    i += order <= 0;
    k += order >= 0;
  }
  first->found = first->sides[0].count || first->sides[1].count;
}

/* Finds the first start of a job on other nodes in two instants with the same decisions. */
static void compare_nodes(struct hr__diff_first *first, const struct diff_instant *a, const struct diff_instant *b) {
  for (uint32_t i = 0; i < a->count && !first->found; i++) {
    if (a->events[i].place == b->events[i].place) continue;
    add_decision(&first->sides[0], &a->events[i]);
    add_decision(&first->sides[1], &b->events[i]);
    first->found = first->only_nodes = true;
  }
}

static void find_first(struct hr_diff *diff) {
  struct hr__diff_log *a = &diff->runs[0].log, *b = &diff->runs[1].log;
  struct hr__diff_first nodes = {.found = false};
  for (uint32_t i = 0, k = 0; i < a->count || k < b->count;) {
    int64_t a_us = i < a->count ? a->events[i].at_us : INT64_MAX;
    int64_t b_us = k < b->count ? b->events[k].at_us : INT64_MAX;
    int64_t at_us = a_us < b_us ? a_us : b_us;
    struct diff_instant of_a = instant_at(a, i, at_us), of_b = instant_at(b, k, at_us);
    diff->first.at_us = at_us;
    compare_instant(&diff->first, &of_a, &of_b);
    if (diff->first.found) return;
    if (!nodes.found) {
      nodes.at_us = at_us;
      compare_nodes(&nodes, &of_a, &of_b);
    }
    i += of_a.count;
    k += of_b.count;
  }
  diff->first = nodes;
}

/* ---- What a job waits for --------------------------------------------------------------------------- */

/* Finds the next decision of the other side about a job that only this side starts. Until the first difference, the
   job has the same decisions on both sides, so it waits on the other side. */
static void find_other_start(const struct hr_diff *diff, const struct hr__diff_log *log, uint32_t job,
                             struct hr__diff_decisions *decisions) {
  decisions->other_start_us = HR_NEVER_US;
  for (uint32_t i = 0; i < log->count; i++) {
    const struct hr__diff_event *event = &log->events[i];
    if (event->job != job || event->at_us < diff->first.at_us) continue;
    decisions->other_rejects = event->kind == HR_EVENT_REJECT;
    if (event->kind == HR_EVENT_START) decisions->other_start_us = event->at_us;
    return;
  }
}

/* Repeats a run to find what a job waits for at the first difference. */
static enum hr_status explain(const struct hr_diff *diff, unsigned side, hr_job job, char **text,
                              struct hr_error *error) {
  const struct hr_diff_side *own = &diff->config.sides[side];
  const struct hr_replay_config config = {.scenario = own->scenario, .trace = own->trace, .seed = diff->config.seed};
  return hr__wait_explain(&config, job, diff->first.at_us, "the diff", text, error);
}

/* For the first job that only this side starts, finds for each side when the other side starts it, and why it does not
   start there now. */
static enum hr_status explain_starts(struct hr_diff *diff, struct hr_error *error) {
  enum hr_status status = HR_OK;
  if (!diff->first.found || diff->first.only_nodes) return HR_OK;
  for (unsigned side = 0; side < HR__DIFF_SIDES && status == HR_OK; side++) {
    struct hr__diff_decisions *decisions = &diff->first.sides[side];
    const struct hr__diff_event *start = hr__diff_first_start(decisions);
    if (!start) continue;
    find_other_start(diff, &diff->runs[1 - side].log, start->job, decisions);
    if (!decisions->other_rejects) status = explain(diff, 1 - side, (hr_job){start->job}, &decisions->wait, error);
  }
  return status;
}

/* ---- Diff ------------------------------------------------------------------------------------------- */

static enum hr_status check_jobs(const struct hr_diff_config *config, struct hr_error *error) {
  const struct hr_trace *a = config->sides[0].trace, *b = config->sides[1].trace;
  size_t bytes = a->n_jobs * sizeof *a->submit_us;
  if (a == b || (a->n_jobs == b->n_jobs && memcmp(a->submit_us, b->submit_us, bytes) == 0)) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT,
                 "%.200s and %.200s read different jobs: %" PRIu32 " from %s, and %" PRIu32 " from %s; expected the "
                 "same trace, read in the same way",
                 config->sides[0].label, config->sides[1].label, a->n_jobs, a->source, b->n_jobs, b->source);
}

/* Adds a note with the label of the side to which it applies. The prefix of a warning remains at the beginning. */
static enum hr_status note_of_side(struct hr_diff *diff, unsigned side, const char *text) {
  static const char warning[] = "warning: ";
  bool warns = strncmp(text, warning, sizeof warning - 1) == 0;
  return hr_notes_add(&diff->notes, "%s%.200s: %s", warns ? warning : "", diff->config.sides[side].label,
                      text + (warns ? sizeof warning - 1 : 0));
}

/* Adds the notes on the runs. A note that both runs have is added once. */
static enum hr_status note_runs(struct hr_diff *diff, struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (unsigned side = 0; side < HR__DIFF_SIDES; side++) {
    const struct hr_notes *own = &diff->runs[side].run.notes, *other = &diff->runs[1 - side].run.notes;
    for (size_t i = 0; i < own->count && status == HR_OK; i++) {
      bool both = false;
      for (size_t k = 0; k < other->count; k++) both = both || strcmp(own->text[i], other->text[k]) == 0;
      if (both && side == 1) continue;
      status = both ? hr_notes_add(&diff->notes, "%s", own->text[i]) : note_of_side(diff, side, own->text[i]);
    }
  }
  return status == HR_OK ? HR_OK : no_memory(error);
}

enum hr_status hr_diff(const struct hr_diff_config *config, struct hr_diff **diff, struct hr_error *error) {
  *diff = NULL;
  struct hr_diff *fresh = calloc(1, sizeof *fresh);
  if (!fresh) return no_memory(error);
  fresh->config = *config;
  fresh->by_queue = config->sides[0].trace->queue != NULL;
  enum hr_status status = check_jobs(config, error);
  if (status == HR_OK) status = compare_keys(fresh, error);
  if (status == HR_OK) status = run_sides(fresh, error);
  if (status == HR_OK) status = merge_queues(fresh, error);
  if (status == HR_OK) find_first(fresh);
  if (status == HR_OK) status = explain_starts(fresh, error);
  if (status == HR_OK) status = note_runs(fresh, error);
  if (status == HR_OK)
    *diff = fresh;
  else
    hr_diff_destroy(fresh);
  return status;
}

static void run_finish(struct hr__diff_run *run) {
  for (size_t i = 0; run->queues && i < run->n_queues; i++) free(run->queues[i].name);
  free(run->queues);
  free(run->log.events);
  hr__one_run_finish(&run->run);
}

void hr_diff_destroy(struct hr_diff *diff) {
  if (!diff) return;
  for (size_t i = 0; i < diff->n_keys; i++) {
    free(diff->keys[i].path);
    free(diff->keys[i].shown);
    for (unsigned side = 0; side < HR__DIFF_SIDES; side++) cJSON_Delete(diff->keys[i].values[side]);
  }
  free(diff->keys);
  for (size_t i = 0; i < diff->n_queues; i++) free(diff->queues[i].name);
  free(diff->queues);
  for (unsigned side = 0; side < HR__DIFF_SIDES; side++) {
    run_finish(&diff->runs[side]);
    free(diff->first.sides[side].wait);
  }
  hr_notes_finish(&diff->notes);
  free(diff);
}

const struct hr_notes *hr_diff_notes(const struct hr_diff *diff) {
  return &diff->notes;
}

const struct hr_rejections *hr_diff_rejections(const struct hr_diff *diff, unsigned side) {
  return &diff->runs[side].rejections;
}
