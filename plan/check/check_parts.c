/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of a check: compact text of starts and decisions, the inputs that differ from those of the baseline, and
   tolerances. */

#include "plan/check/check.h"

#include "base/containers.h"
#include "base/text.h"
#include "plan/compare/compare.h"
#include "report/tables/tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Starts and decisions --------------------------------------------------------------------------- */

/*
 * Encodes the starts of jobs, and the marks of scheduling decisions, as text for baselines.
 *
 * Starts. Jobs have the order of the trace. Most jobs start immediately; consecutive jobs of this kind are counted. For
 * a job that waited, the text contains d, the wait in seconds minus the wait of the previous job that waited. d is
 * folded to a natural number: f = 2 d if d >= 0, otherwise f = -2 d - 1. A number is written with five bits per
 * character, lowest bits first. The sixth bit is set if more characters follow.
 *
 *   0 N      N + 1 consecutive jobs that started immediately
 *   1 N      N + 1 consecutive jobs that started immediately by backfill
 *   2        a job that never started
 *   3 + X    a job that waited: X = 2 f, plus one if the job was backfilled
 *
 * Decisions. At first a block contains sixteen decisions. If there are too many blocks, pairs of blocks are merged,
 * which doubles the block size. Memory is therefore bounded, and the blocks depend only on the number of decisions.
 */

enum { MAX_LETTERS = 1 << 12, LONGEST_NUMBER = 14, DIGIT_BITS = 5, MORE = 1 << DIGIT_BITS };
enum { TOKEN_IMMEDIATE = 0, TOKEN_NEVER = 2, TOKEN_WAITED = 3 };

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static char letter_of(unsigned bits) {
  return letters[bits & 63];
}

/* The six bits of a character; 64 if it is not one of the 64 characters. */
static unsigned bits_of(char letter) {
  const char *at = letter ? strchr(letters, letter) : NULL;
  return at ? (unsigned)(at - letters) : 64;
}

/* ---- Encoding of starts ----------------------------------------------------------------------------- */

struct starts_writer {
  char *text;
  size_t used;
  uint64_t immediate;  /* jobs that started immediately and are not written yet */
  unsigned backfilled; /* the jobs in `immediate` were backfilled */
  int64_t before_s;    /* wait of the previous job that waited */
};

static void put_number(struct starts_writer *writer, uint64_t number) {
  do {
    unsigned digit = (unsigned)(number & (MORE - 1));
    number >>= DIGIT_BITS;
    writer->text[writer->used++] = letter_of(number ? digit | MORE : digit);
  } while (number);
}

static void flush(struct starts_writer *writer) {
  if (writer->immediate == 0) return;
  put_number(writer, TOKEN_IMMEDIATE + writer->backfilled);
  put_number(writer, writer->immediate - 1);
  writer->immediate = 0;
}

static void put_job(struct starts_writer *writer, struct hr__job_start start) {
  if (start.wait_s != 0 || start.backfilled != writer->backfilled) flush(writer);
  writer->backfilled = start.backfilled;
  if (start.wait_s == 0) {
    writer->immediate++;
  } else if (start.wait_s == HR_NEVER_US) {
    put_number(writer, TOKEN_NEVER);
  } else {
    int64_t difference = start.wait_s - writer->before_s;
    uint64_t folded = difference < 0 ? ((uint64_t)-difference << 1) - 1 : (uint64_t)difference << 1;
    put_number(writer, TOKEN_WAITED + (folded << 1 | start.backfilled));
    writer->before_s = start.wait_s;
  }
}

char *hr__job_starts_encode(const struct hr_result *result) {
  struct starts_writer writer = {.text = malloc(MAX_LETTERS + 1)};
  if (!writer.text) return NULL;
  for (uint32_t job = 0; job < result->n_jobs && writer.used + 3 * (size_t)LONGEST_NUMBER <= MAX_LETTERS; job++)
    put_job(&writer, hr__job_start_of(result, job));
  flush(&writer);
  writer.text[writer.used] = '\0';
  (void)HR__ARRAY_RESIZE(writer.text, writer.used + 1);
  return writer.text;
}

/* ---- Decoding of starts ----------------------------------------------------------------------------- */

/* Decodes a number and advances *at. Returns false at the end of the text and at an invalid character. */
static bool get_number(const char **at, uint64_t *number) {
  *number = 0;
  for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
    unsigned bits = bits_of(**at);
    if (bits == 64) return false;
    (*at)++;
    *number |= (uint64_t)(bits & (MORE - 1)) << shift;
    if (!(bits & MORE)) return true;
  }
  return false;
}

static int64_t unfold(uint64_t folded) {
  return folded & 1 ? -(int64_t)((folded + 1) >> 1) : (int64_t)(folded >> 1);
}

/* Decodes all of the text. Returns false if it is damaged or contains more than `n_jobs` jobs. */
static bool decode(const char *at, uint32_t n_jobs, struct hr__job_start *starts, uint32_t *count) {
  uint64_t token, more;
  int64_t before_s = 0;
  for (*count = 0; *at;) {
    if (!get_number(&at, &token) || *count == n_jobs) return false;
    if (token < TOKEN_NEVER) {
      if (!get_number(&at, &more) || more >= n_jobs - *count) return false;
      for (uint64_t i = 0; i <= more; i++) starts[(*count)++] = (struct hr__job_start){0, token != TOKEN_IMMEDIATE};
    } else if (token == TOKEN_NEVER) {
      starts[(*count)++] = (struct hr__job_start){.wait_s = HR_NEVER_US};
    } else {
      token -= TOKEN_WAITED;
      if (token >> 1 > (uint64_t)HR_MAX_INPUT_US) return false;
      before_s += unfold(token >> 1);
      starts[(*count)++] = (struct hr__job_start){before_s, token & 1};
    }
  }
  return true;
}

enum hr_status hr__job_starts_decode(const char *text, uint32_t n_jobs, struct hr__job_start **starts,
                                     uint32_t *count) {
  *starts = NULL;
  struct hr__job_start *fresh = calloc((size_t)n_jobs + 1, sizeof *fresh);
  if (!fresh) return HR_NO_MEMORY;
  if (decode(text, n_jobs, fresh, count)) {
    *starts = fresh;
    return HR_OK;
  }
  free(fresh);
  return HR_BAD_INPUT;
}

/* ---- Decisions -------------------------------------------------------------------------------------- */

enum { FIRST_SPACING = 16, MAX_BLOCKS = 1 << 10, MARK_LETTERS = 2, MARK_BITS = 12, HALF_BITS = 6 };

/* Merges pairs of blocks and doubles the spacing. */
static void merge_blocks(struct hr__decisions *decisions) {
  for (size_t i = 0; i < MAX_BLOCKS / 2; i++) {
    uint16_t mark = decisions->blocks[2 * i + 1].mark;
    decisions->blocks[i] = decisions->blocks[2 * i];
    decisions->blocks[i].mark = mark;
  }
  decisions->n_blocks = MAX_BLOCKS / 2;
  decisions->spacing *= 2;
}

static void count_decision(struct hr__decisions *decisions, const struct hr_event *event) {
  if (decisions->count % decisions->spacing == 0 && decisions->n_blocks == MAX_BLOCKS) merge_blocks(decisions);
  if (decisions->count % decisions->spacing == 0)
    decisions->blocks[decisions->n_blocks++] =
        (struct hr__decision_block){.at_us = event->at_us, .job = event->job, .kind = (uint8_t)event->kind};
  decisions->count++;
}

static void add_word(struct hr__decisions *decisions, uint64_t word) {
  decisions->digest = hr__digest_add(decisions->digest, word);
}

static void on_event(void *self, const struct hr_view *view, const struct hr_event *event) {
  struct hr__decisions *decisions = self;
  (void)view;
  if (event->kind >= HR_EVENT_START) count_decision(decisions, event);
  add_word(decisions, (uint64_t)event->at_us);
  add_word(decisions, (uint64_t)event->kind << 32 | event->job.id);
  if (event->kind == HR_EVENT_START) decisions->digest = hr__digest_placement(decisions->digest, event->placement);
  if (event->pool.id != HR_NONE) add_word(decisions, (uint64_t)event->pool.id << 32 | event->node.id);
  if (decisions->n_blocks)
    decisions->blocks[decisions->n_blocks - 1].mark = decisions->digest & ((1u << MARK_BITS) - 1);
}

bool hr__decisions_init(struct hr__decisions *decisions, struct hr_observer *observer) {
  *observer = (struct hr_observer){.self = decisions, .on_event = on_event};
  *decisions = (struct hr__decisions){
      .digest = HR__DIGEST_SEED, .spacing = FIRST_SPACING, .blocks = calloc(MAX_BLOCKS, sizeof *decisions->blocks)};
  return decisions->blocks != NULL;
}

/* ---- Marks ------------------------------------------------------------------------------------------ */

char *hr__decisions_chain(const struct hr__decisions *decisions) {
  char *chain = malloc(MARK_LETTERS * decisions->n_blocks + 1), *at = chain;
  if (!chain) return NULL;
  for (size_t i = 0; i < decisions->n_blocks; i++) {
    *at++ = letter_of(decisions->blocks[i].mark >> HALF_BITS);
    *at++ = letter_of(decisions->blocks[i].mark);
  }
  *at = '\0';
  return chain;
}

static uint16_t mark_at(const char *chain, size_t i) {
  return (uint16_t)(bits_of(chain[MARK_LETTERS * i]) << HALF_BITS | bits_of(chain[MARK_LETTERS * i + 1]));
}

/* A wide block consists of `ratio` blocks. Returns the index of the last existing block in wide block `i`. */
static size_t last_of(size_t i, uint64_t ratio, size_t n_blocks) {
  size_t last = (size_t)((i + 1) * ratio - 1);
  return last < n_blocks ? last : n_blocks - 1;
}

bool hr__decisions_first(const struct hr__decisions *decisions, const char *chain, uint64_t spacing, uint64_t *from) {
  size_t n_other = strlen(chain) / MARK_LETTERS;
  uint64_t wide = spacing > decisions->spacing ? spacing : decisions->spacing;
  uint64_t own_ratio = wide / decisions->spacing, other_ratio = wide / spacing;
  for (size_t i = 0;; i++) {
    bool has_own = i * own_ratio < decisions->n_blocks, has_other = i * other_ratio < n_other;
    *from = i * wide;
    if (!has_own && !has_other) return false;
    if (has_own != has_other) return true;
    uint16_t own_mark = decisions->blocks[last_of(i, own_ratio, decisions->n_blocks)].mark;
    if (own_mark != mark_at(chain, last_of(i, other_ratio, n_other))) return true;
  }
}

/* ---- Inputs ----------------------------------------------------------------------------------------- */

/*
 * Which inputs of a run differ from those of its baseline, in the order in which a reader looks for a cause: the trace,
 * the keys of the scenario after overrides, other files.
 *
 * A baseline contains the scenario after overrides as JSON. Both scenarios are compared key by key (hr__keys_compare).
 * A baseline of an older program, or with a very large scenario, lacks the scenario; then only differences of the
 * policy, the seed, the number of replications and files are known.
 */

enum { MAX_LISTED = 12 };

/* ---- Inputs: scenarios, key by key ------------------------------------------------------------------ */

struct key_differences {
  struct hr_notes *causes;
  const char *file; /* name of the scenario */
  size_t count;
  bool of_policy, of_seed;
  bool out_of_memory;
};

/* Adds a difference. Called by hr__keys_compare. */
static void add_difference(void *self, const struct hr__key_difference *difference) {
  struct key_differences *to = self;
  const char *path = difference->path;
  const cJSON *before = difference->before, *now = difference->now;
  char was[HR__KEY_VALUE_BYTES], is[HR__KEY_VALUE_BYTES];
  enum hr_status status = HR_OK;
  to->of_policy = to->of_policy || strncmp(path, "policy", strlen("policy")) == 0;
  to->of_seed = to->of_seed || strcmp(path, "seed") == 0;
  if (to->count++ >= MAX_LISTED) return;
  if (before && now)
    status = hr_notes_add(to->causes, "%.200s: %s %s -> %s", to->file, path, hr__key_value_text(before, was),
                          hr__key_value_text(now, is));
  else
    status = hr_notes_add(to->causes, "%.200s: %s %s: %s", to->file, path, now ? "added" : "removed",
                          hr__key_value_text(now ? now : before, is));
  to->out_of_memory = to->out_of_memory || status != HR_OK;
}

/* Compares the scenarios. Returns false if one of them is unknown. */
static bool compare_scenarios(struct hr__check_case *item, struct key_differences *to) {
  cJSON *before = item->before->scenario ? cJSON_Parse(item->before->scenario) : NULL;
  cJSON *now = item->now.scenario ? cJSON_Parse(item->now.scenario) : NULL;
  bool known = cJSON_IsObject(before) && cJSON_IsObject(now);
  if (known) hr__keys_compare(before, now, add_difference, to);
  if (known && to->count > MAX_LISTED &&
      hr_notes_add(to->causes, "%.200s: and %zu more keys", to->file, to->count - MAX_LISTED) != HR_OK)
    to->out_of_memory = true;
  cJSON_Delete(before);
  cJSON_Delete(now);
  return known;
}

/* ---- Inputs: policies as words ---------------------------------------------------------------------- */

/* Whether `list` contains the word. The words of `list` are separated by ", ". */
static bool has_word(const char *list, const char *word, size_t length) {
  for (const char *at = strstr(list, word); at; at = strstr(at + 1, word)) {
    bool begins = at == list || at[-1] == ' ', ends = at[length] == '\0' || at[length] == ',';
    if (begins && ends) return true;
  }
  return false;
}

/* Writes to `text` the words of `list` that `other` lacks. */
static void words_missing(const char *list, const char *other, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (const char *at = list; *at && used < size;) {
    char word[200];
    size_t length = strcspn(at, ":,");
    snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), at);
    if (!has_word(other, word, strlen(word)) && strncmp(other, word, strlen(word)) != 0)
      used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", word);
    at += length;
    at += strspn(at, ":, ");
  }
}

static enum hr_status note_policy(struct hr__check_case *item) {
  char was[400], is[400];
  if (strcmp(item->before->policy, item->now.policy) == 0) return HR_OK;
  words_missing(item->before->policy, item->now.policy, was, sizeof was);
  words_missing(item->now.policy, item->before->policy, is, sizeof is);
  return hr_notes_add(&item->causes, "policy: %s; before: %s", is[0] ? is : "(not set)", was[0] ? was : "(not set)");
}

/* ---- Inputs: other inputs --------------------------------------------------------------------------- */

static const struct hr_baseline_input *find_input(const struct hr_baseline_run *run, const char *name) {
  for (size_t i = 0; i < run->n_inputs; i++)
    if (strcmp(run->inputs[i].name, name) == 0) return &run->inputs[i];
  return NULL;
}

/* Adds the files that differ to the causes. `scenario`: name of the scenario if its keys were compared; NULL: its keys
   were not compared. */
static enum hr_status note_inputs(struct hr__check_case *item, const char *scenario, bool keys_differ) {
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < item->now.n_inputs && status == HR_OK; i++) {
    const struct hr_baseline_input *now = &item->now.inputs[i], *before = find_input(item->before, now->name);
    bool is_scenario = scenario && strcmp(now->name, scenario) == 0;
    if ((before && before->digest == now->digest) || (is_scenario && keys_differ)) continue;
    status = hr_notes_add(&item->causes, "%.200s was %s since the baseline%s", now->name, before ? "changed" : "added",
                          before && is_scenario ? ", but all its values are the same" : "");
  }
  for (size_t i = 0; i < item->before->n_inputs && status == HR_OK; i++)
    if (!find_input(&item->now, item->before->inputs[i].name))
      status = hr_notes_add(&item->causes, "%.200s is no longer an input", item->before->inputs[i].name);
  return status;
}

static enum hr_status note_trace(struct hr__check_case *item) {
  if (!item->other_trace) return HR_OK;
  return hr_notes_add(&item->causes, "the trace %.200s differs from the baseline's%s", item->now.trace,
                      item->wants_digest ? "" : "; jobs are not compared");
}

/* If no input has changed, the difference must come from the program or from a shared object. */
static enum hr_status note_program(struct hr__check_case *item, const char *version) {
  if (item->causes.count || (!item->n_changes && !item->other_digest)) return HR_OK;
  if (strcmp(version, hr_version()) == 0)
    return hr_notes_add(&item->causes, "no input changed since the baseline, so the program or a policy did");
  return hr_notes_add(&item->causes, "no input changed since the baseline, so the program did: headroom %.100s -> %s",
                      version, hr_version());
}

enum hr_status hr__check_causes(struct hr__check_case *item, const char *version) {
  struct key_differences keys = {.causes = &item->causes, .file = hr__check_base_name(item->run->scenario)};
  enum hr_status status = note_trace(item);
  bool known = status == HR_OK && compare_scenarios(item, &keys);
  if (keys.out_of_memory) status = HR_NO_MEMORY;
  if (status == HR_OK && !keys.of_policy) status = note_policy(item);
  if (status == HR_OK && !keys.of_seed && item->before->seed != item->now.seed)
    status = hr_notes_add(&item->causes, "seed: %" PRIu64 "; before: %" PRIu64, item->now.seed, item->before->seed);
  if (status == HR_OK && item->before->replications != item->now.replications)
    status = hr_notes_add(&item->causes, "replications: %" PRIu32 "; before: %" PRIu32, item->now.replications,
                          item->before->replications);
  if (status == HR_OK) status = note_inputs(item, known ? keys.file : NULL, keys.count > 0);
  return status == HR_OK ? note_program(item, version) : status;
}

/* ---- Tolerances ------------------------------------------------------------------------------------- */

/* Tolerances of a suite and its runs. The most specific tolerance for a metric applies. A metric with its class,
   tenant, pool or service is most specific, then a metric alone, then "*". Of equally specific tolerances, the
   tolerance of the run precedes that of the suite. For metrics without a tolerance, the profile applies. */

/* ---- Tolerances: names ------------------------------------------------------------------------------ */

static const char *group_in(const char *name) {
  const char *of = strstr(name, " of ");
  return of ? of + 4 : NULL;
}

static bool is_group(const char *text, const struct hr_baseline_metric *metric) {
  static const char *const heads[HR_N_METRIC_OF] = {[HR_METRIC_OF_CLASS] = "class ",
                                                    [HR_METRIC_OF_TENANT] = "tenant ",
                                                    [HR_METRIC_OF_POOL] = "pool ",
                                                    [HR_METRIC_OF_ONE_SERVICE] = "service "};
  if (metric->of == HR_METRIC_OF_RUN) return false;
  size_t length = strlen(heads[metric->of]);
  return strcmp(text, metric->group) == 0 ||
         (strncmp(text, heads[metric->of], length) == 0 && strcmp(text + length, metric->group) == 0);
}

/* Whether a name of `length` bytes is the path, the column or an alias of the metric with the path `path`. */
static bool is_path(const char *name, size_t length, const char *path) {
  enum hr__metric metric = hr__metric_find(name, length);
  if (metric != HR__N_METRICS) return strcmp(hr__metric_rows[metric].path, path) == 0;
  return strlen(path) == length && strncmp(name, path, length) == 0;
}

bool hr__tolerance_names(const struct hr_tolerance *tolerance, const struct hr_baseline_metric *metric, bool broadly) {
  const char *name = tolerance->metric.text, *group = group_in(name);
  size_t length = group ? (size_t)(group - name) - 4 : strlen(name);
  if (strcmp(name, "*") == 0) return broadly;
  if (metric->of == HR_METRIC_OF_ONE_SERVICE) { /* also as in goals: chat.ttft_ms.p95 */
    const size_t head = strlen(metric->group);
    if (strncmp(name, metric->group, head) == 0 && name[head] == '.' &&
        is_path(name + head + 1, strlen(name + head + 1), metric->path))
      return true;
  }
  if (!is_path(name, length, metric->path)) return false;
  if (group) return is_group(group, metric);
  return broadly || metric->of == HR_METRIC_OF_RUN;
}

/* Whether a name has the form SERVICE.METRIC, in which METRIC is the name of a metric. */
static bool is_of_service(const char *name) {
  for (const char *point = strchr(name, '.'); point; point = strchr(point + 1, '.'))
    if (point > name && hr__metric_find(point + 1, strlen(point + 1)) != HR__N_METRICS) return true;
  return false;
}

enum hr_status hr__tolerance_check_names(const struct hr_tolerances *tolerances, struct hr_error *error) {
  const char *names[HR__N_METRICS + 1];
  for (size_t i = 0; i < tolerances->count; i++) {
    const struct hr_placed_text *metric = &tolerances->at[i].metric;
    const char *group = group_in(metric->text);
    size_t length = group ? (size_t)(group - metric->text) - 4 : strlen(metric->text);
    if (strcmp(metric->text, "*") == 0 || hr__metric_find(metric->text, length) != HR__N_METRICS) continue;
    if (!group && is_of_service(metric->text)) continue;
    hr__metric_names(group != NULL, names);
    char word[100];
    snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), metric->text);
    const char *nearest = hr_nearest_word(word, names);
    return hr_fail(error, HR_BAD_INPUT, "%sunknown metric '%s'; %s%s%s", metric->place, word,
                   nearest ? "did you mean '"
                           : "examples are wait_s.p95, utilization.makespan, monthly_usd and * (all)",
                   nearest ? nearest : "", nearest ? "'?" : "");
  }
  return HR_OK;
}

/* ---- Tolerances: evaluation ------------------------------------------------------------------------- */

/* How specific the tolerance is for the metric: 3 (metric and group), 2 (metric), 1 ("*"); 0: it does not apply. */
static unsigned rank_of(const struct hr_tolerance *tolerance, const struct hr_baseline_metric *metric) {
  if (hr__tolerance_names(tolerance, metric, false)) return 3;
  if (!hr__tolerance_names(tolerance, metric, true)) return 0;
  return strcmp(tolerance->metric.text, "*") == 0 ? 1 : 2;
}

static const struct hr_tolerance *find(const struct hr__allowance *allowance, const struct hr_baseline_metric *metric) {
  const struct hr_tolerances *const lists[] = {allowance->own, allowance->common};
  const struct hr_tolerance *best = NULL;
  unsigned best_rank = 0;
  for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
    for (size_t i = 0; i < lists[k]->count; i++) {
      unsigned rank = rank_of(&lists[k]->at[i], metric);
      if (rank <= best_rank) continue;
      best = &lists[k]->at[i];
      best_rank = rank;
    }
  return best;
}

/* ---- Tolerances: the profile slo -------------------------------------------------------------------- */

/* The metrics that fail in the profile slo if they get worse by more than a tolerance. `groups`: also those of
   classes. docs/ci/check.md has this table. */
static const struct slo_tolerance {
  enum hr__metric metric;
  bool groups;
  double relative, absolute;
} slo_tolerances[] = {{HR__M_MONTHLY, false, 0.02, 0},         {HR__M_COST, false, 0.02, 0},
                      {HR__M_WAIT_MEAN, true, 0.1, 60},        {HR__M_WAIT_P95, true, 0.1, 60},
                      {HR__M_JCT_MEAN, false, 0.1, 60},        {HR__M_JCT_P95, false, 0.1, 60},
                      {HR__M_COMPLETED_SHARE, true, 0, 0.001}, {HR__M_DEADLINE_MISS, true, 0, 0.005}};

static const struct slo_tolerance *find_slo(const struct hr_baseline_metric *metric) {
  enum hr__metric id = hr__metric_find(metric->path, strlen(metric->path));
  bool is_class = metric->of == HR_METRIC_OF_CLASS;
  for (size_t i = 0; i < sizeof slo_tolerances / sizeof *slo_tolerances; i++)
    if (slo_tolerances[i].metric == id && (metric->of == HR_METRIC_OF_RUN || (slo_tolerances[i].groups && is_class)))
      return &slo_tolerances[i];
  return NULL;
}

/* Whether a metric is one of the times of jobs, which replicas have, too. */
static bool is_of_jobs(const struct hr_baseline_metric *metric) {
  static const char *const heads[] = {"wait_s.", "jct_s.", "slowdown."};
  for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
    if (strncmp(metric->path, heads[i], strlen(heads[i])) == 0) return true;
  return false;
}

bool hr__tolerance_is_unrated(const struct hr__allowance *allowance, const struct hr_baseline_metric *metric) {
  if (!allowance->without_jobs || hr__tolerance_profile(allowance) == HR_PROFILE_EXACT || !is_of_jobs(metric))
    return false;
  const struct hr_tolerance *tolerance = find(allowance, metric);
  return !tolerance || strcmp(tolerance->metric.text, "*") == 0;
}

bool hr__tolerance_concerns(const struct hr__allowance *allowance, const struct hr_baseline_metric *metric) {
  if (hr__tolerance_is_unrated(allowance, metric)) return false;
  return hr__tolerance_profile(allowance) == HR_PROFILE_EXACT || find(allowance, metric) || find_slo(metric);
}

static enum hr_worse direction(const struct hr__allowance *allowance, const struct hr_tolerance *tolerance,
                               const struct hr_baseline_metric *metric) {
  if (tolerance && tolerance->worse != HR_WORSE_UNSPECIFIED) return tolerance->worse;
  if (!hr__tolerance_only_worse(allowance)) return HR_WORSE_EITHER;
  static const enum hr_worse worse[] = {[HR_NEITHER_IS_BETTER] = HR_WORSE_EITHER,
                                        [HR_LOWER_IS_BETTER] = HR_WORSE_HIGHER,
                                        [HR_HIGHER_IS_BETTER] = HR_WORSE_LOWER};
  enum hr__metric id = hr__metric_find(metric->path, strlen(metric->path));
  return id == HR__N_METRICS ? HR_WORSE_EITHER : worse[hr__metric_rows[id].direction];
}

/* Removes the pairs in which a value is unknown. Returns the number of remaining pairs. */
static uint32_t known_pairs(double *first, double *other, uint32_t count) {
  uint32_t known = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (!isfinite(first[i]) || !isfinite(other[i])) continue;
    first[known] = first[i];
    other[known++] = other[i];
  }
  return known;
}

static uint32_t known_values(double *values, uint32_t count) {
  uint32_t known = 0;
  for (uint32_t i = 0; i < count; i++)
    if (isfinite(values[i])) values[known++] = values[i];
  return known;
}

static void copy_samples(double *to, const struct hr_baseline_metric *from) {
  for (uint32_t i = 0; i < from->n_samples; i++) to[i] = from->samples[i];
}

/* The p-value of a difference. `paired`: the replications have the same seeds and therefore the same random events. A
   paired test then detects smaller differences. */
static double p_value_of(bool paired, const struct hr_baseline_metric *before, const struct hr_baseline_metric *now) {
  uint32_t n_before = before->n_samples, n_now = now->n_samples, both = n_before < n_now ? n_before : n_now;
  double *first = malloc(((size_t)n_before + n_now + 1) * sizeof *first), *other = first + n_before,
         p_value = HR__UNKNOWN;
  if (!first) return p_value;
  copy_samples(first, before);
  copy_samples(other, now);
  if (paired) {
    both = known_pairs(first, other, both);
    p_value = hr__p_value_paired(first, other, both);
  } else {
    n_before = known_values(first, n_before);
    p_value = hr__p_value_welch(first, n_before, other, known_values(other, n_now));
  }
  free(first);
  return p_value;
}

enum hr__tolerance_verdict hr__tolerance_evaluate(const struct hr__allowance *allowance,
                                                  const struct hr_baseline_metric *before,
                                                  const struct hr_baseline_metric *now, double *p_value) {
  *p_value = HR__UNKNOWN;
  if (before->value == now->value) return HR__SAME;
  if (hr__tolerance_is_unrated(allowance, now)) return HR__ALLOWED;
  const struct hr_tolerance *tolerance = find(allowance, now);
  enum hr_worse worse = direction(allowance, tolerance, now);
  double difference = now->value - before->value, size = fabs(before->value);
  bool is_slo = !tolerance && hr__tolerance_profile(allowance) == HR_PROFILE_SLO;
  const struct slo_tolerance *slo = is_slo ? find_slo(now) : NULL;
  if (is_slo && !slo) return HR__ALLOWED;
  if (worse == HR_WORSE_HIGHER && difference < 0) return HR__BETTER;
  if (worse == HR_WORSE_LOWER && difference > 0) return HR__BETTER;
  /* The last term absorbs rounding of decimal sums. */
  double relative = tolerance ? tolerance->relative : slo ? slo->relative : 0;
  double absolute = tolerance ? tolerance->absolute : slo ? slo->absolute : 0;
  double allowed = tolerance || slo ? fmax(absolute, relative * size) + 1e-12 * size : 0;
  if ((tolerance || slo) && fabs(difference) <= allowed) return HR__ALLOWED;
  if (allowance->replicated) *p_value = p_value_of(allowance->paired, before, now);
  return HR__WORSE;
}
