/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The documents of `headroom check`: suites of runs, and baselines. */

#include "base/containers.h"
#include "headroom/unstable/experiments.h"
#include "scenarios/build/builder.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Suites -------------------------------------------------------------------------------------------- */

/* Builds a suite of runs for `headroom check`, from the file of a suite or from one scenario. The names of metrics in
   tolerances are stored with their places, and checked when the suite is run (plan/check). */

/* Parses a tolerance. "2%" is a share, "30" is in the unit of the metric. Returns false for other texts. */
static bool parse_by(const char *text, struct hr_tolerance *tolerance) {
  char *end;
  double value = strtod(text, &end);
  bool share = *end == '%';
  if (end == text || end[share] != '\0' || !isfinite(value) || value < 0) return false;
  tolerance->relative = share ? value / 100 : 0;
  tolerance->absolute = share ? 0 : value;
  return true;
}

#define WORD(name, text) text,
static const char *const profile_words[] = {HR_TOLERANCE_PROFILE_TABLE(WORD) NULL};
#undef WORD

/* Returns the profile with this name; HR_PROFILE_UNSPECIFIED if the name is unknown. */
static enum hr_tolerance_profile profile_named(const char *text) {
  for (size_t i = 0; profile_words[i]; i++)
    if (strcmp(text, profile_words[i]) == 0) return (enum hr_tolerance_profile)(i + 1);
  return HR_PROFILE_UNSPECIFIED;
}

/* Returns the first `length` bytes of `text` with a place, so that errors about them begin with "--OPTION TEXT: ". Both
   members are NULL if memory runs out. */
static struct hr_placed_text placed_option(const char *option, const char *text, size_t length) {
  size_t bytes = strlen(option) + strlen(text) + sizeof "-- : ";
  struct hr_placed_text placed = {.text = strndup(text, length), .place = malloc(bytes)};
  if (placed.place) snprintf(placed.place, bytes, "--%s %s: ", option, text);
  if (placed.text && placed.place) return placed;
  hr__placed_finish(&placed);
  return (struct hr_placed_text){0};
}

enum hr_status hr_suite_add_goal(struct hr_suite *suite, const char *text, struct hr_error *error) {
  struct hr_placed_text goal = placed_option("goal", text, strlen(text));
  if (!goal.text || !HR__ARRAY_RESIZE(suite->goals, suite->n_goals + 1)) {
    hr__placed_finish(&goal);
    return hr_fail(error, HR_NO_MEMORY, "out of memory");
  }
  suite->goals[suite->n_goals++] = goal;
  return HR_OK;
}

enum hr_status hr_suite_add_tolerance(struct hr_suite *suite, const char *text, struct hr_error *error) {
  struct hr_tolerance fresh = {.worse = HR_WORSE_UNSPECIFIED};
  struct hr_tolerances *tolerances = &suite->tolerances;
  if (profile_named(text) != HR_PROFILE_UNSPECIFIED) {
    tolerances->profile = profile_named(text);
    return HR_OK;
  }
  const char *equals = strrchr(text, '=');
  if (!equals || equals == text || !parse_by(equals + 1, &fresh))
    return hr_fail(error, HR_BAD_INPUT,
                   "--tolerance %.200s: expected METRIC=BY, where BY is a share like 2%% or a number of at least 0 in "
                   "the unit of the metric, or a profile: slo or exact",
                   text);
  bool room = HR__ARRAY_RESIZE(tolerances->at, tolerances->count + 1);
  if (room) fresh.metric = placed_option("tolerance", text, (size_t)(equals - text));
  if (!fresh.metric.place) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  tolerances->at[tolerances->count++] = fresh;
  return HR_OK;
}

/* ---- Tolerances ------------------------------------------------------------------------------------- */

static enum hr_status build_tolerance(struct hr__builder *builder, const cJSON *json, struct hr_tolerance *tolerance) {
  tolerance->worse = HR_WORSE_UNSPECIFIED;
  enum hr_status status = hr__read(builder, json, hr__table_of(&hr__suite_keys, "tolerances.*"), tolerance);
  return status == HR_OK ? hr__build_placed(builder, json, json->string, &tolerance->metric) : status;
}

static void build_words(const cJSON *json, struct hr_tolerances *tolerances) {
  const char *digest = hr__text_of(json, "digest", "");
  tolerances->profile = profile_named(hr__text_of(json, "profile", ""));
  tolerances->only_worse_is_set = hr__has(json, "only_worse");
  tolerances->only_worse = cJSON_IsTrue(hr__get(json, "only_worse"));
  tolerances->exact_digest = strcmp(digest, "exact") == 0;
  tolerances->loose_digest = strcmp(digest, "any") == 0;
}

/* Reads tolerances. If the value of a member is an object, it is the tolerance of one metric, and the key is the name
   of this metric. Other members apply to all metrics and have fixed keys. */
static enum hr_status build_tolerances(struct hr__builder *builder, const cJSON *object,
                                       struct hr_tolerances *tolerances) {
  const cJSON *json = hr__get(object, "tolerances");
  if (!json) return HR_OK;
  build_words(json, tolerances);
  tolerances->at = calloc((size_t)cJSON_GetArraySize(json) + 1, sizeof *tolerances->at);
  if (!tolerances->at) return hr__build_no_memory(builder);
  enum hr_status status = HR_OK;
  for (const cJSON *member = json->child; member && status == HR_OK; member = member->next)
    if (cJSON_IsObject(member)) status = build_tolerance(builder, member, &tolerances->at[tolerances->count++]);
  return status;
}

static void goals_finish(struct hr_placed_text *goals, size_t count) {
  for (size_t i = 0; goals && i < count; i++) hr__placed_finish(&goals[i]);
  free(goals);
}

static void tolerances_finish(struct hr_tolerances *tolerances) {
  for (size_t i = 0; i < tolerances->count; i++) hr__placed_finish(&tolerances->at[i].metric);
  free(tolerances->at);
}

/* ---- Runs ------------------------------------------------------------------------------------------- */

/* Converts each member of the object to an override "path=value". */
static enum hr_status build_set(const struct hr__builder *builder, const cJSON *json, struct hr_suite_run *run) {
  const cJSON *set = hr__get(json, "set");
  run->set = calloc((size_t)cJSON_GetArraySize(set) + 1, sizeof *run->set);
  if (!run->set) return hr__build_no_memory(builder);
  for (const cJSON *member = set ? set->child : NULL; member; member = member->next) {
    char buffer[32];
    const char *value = hr__scalar_text(member, buffer);
    size_t bytes = strlen(member->string) + strlen(value) + 2;
    char *text = malloc(bytes);
    if (!text) return hr__build_no_memory(builder);
    snprintf(text, bytes, "%s=%s", member->string, value);
    run->set[run->n_set++] = text;
  }
  return HR_OK;
}

static enum hr_status build_run(struct hr__builder *builder, const cJSON *json, struct hr_suite_run *run) {
  enum hr_status status = hr__read(builder, json, hr__table_of(&hr__suite_keys, "runs"), run);
  if (status == HR_OK) status = build_set(builder, json, run);
  return status == HR_OK ? build_tolerances(builder, json, &run->tolerances) : status;
}

static enum hr_status check_policies(struct hr__builder *builder, const cJSON *json) {
  const cJSON *policy = hr__repeated(hr__get(json, "policies"), NULL);
  if (!policy) return HR_OK;
  return hr__build_fail_at(builder, json, "policies", "duplicate policy '%.200s'; keep one", policy->valuestring);
}

static enum hr_status check_name(struct hr__builder *builder, const cJSON *json, const struct hr_suite *suite) {
  const struct hr_suite_run *last = &suite->runs[suite->n_runs - 1];
  for (const struct hr_suite_run *run = suite->runs; run < last; run++)
    if (strcmp(run->name, last->name) == 0)
      return hr__build_fail_at(builder, json, "name", "duplicate run '%.200s'; use another name", last->name);
  return check_policies(builder, json);
}

static enum hr_status build_runs(struct hr__builder *builder, struct hr_suite *suite) {
  const cJSON *runs = hr__get(builder->source.file.tree, "runs");
  suite->runs = calloc((size_t)cJSON_GetArraySize(runs), sizeof *suite->runs);
  if (!suite->runs) return hr__build_no_memory(builder);
  for (const cJSON *json = runs->child; json; json = json->next) {
    enum hr_status status = build_run(builder, json, &suite->runs[suite->n_runs++]);
    if (status == HR_OK) status = check_name(builder, json, suite);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

/* ---- The suite -------------------------------------------------------------------------------------- */

/* Replaces a text "tolerances": "slo" by the object {"profile": "slo"}. */
static enum hr_status expand_profile(struct hr__builder *builder, const cJSON *object) {
  cJSON *json = cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, "tolerances") : NULL;
  if (!json || !cJSON_IsString(json)) return HR_OK;
  if (profile_named(json->valuestring) == HR_PROFILE_UNSPECIFIED)
    return hr__build_fail(builder, json, "unknown profile '%.100s'; expected slo, exact or an object with tolerances",
                          json->valuestring);
  cJSON *profile = cJSON_CreateString(json->valuestring);
  if (!profile) return hr__build_no_memory(builder);
  cJSON_free(json->valuestring);
  json->valuestring = NULL;
  json->type = cJSON_Object;
  if (cJSON_AddItemToObject(json, "profile", profile)) return HR_OK;
  cJSON_Delete(profile);
  return hr__build_no_memory(builder);
}

static enum hr_status expand_profiles(struct hr__builder *builder) {
  const cJSON *tree = builder->source.file.tree, *runs = cJSON_IsObject(tree) ? hr__get(tree, "runs") : NULL;
  enum hr_status status = expand_profile(builder, tree);
  for (const cJSON *run = runs && cJSON_IsArray(runs) ? runs->child : NULL; run && status == HR_OK; run = run->next)
    status = expand_profile(builder, run);
  return status;
}

static enum hr_status build(struct hr__builder *builder, struct hr_suite *suite) {
  enum hr_status status = expand_profiles(builder);
  if (status == HR_OK) status = hr__source_validate(&builder->source, &hr__suite_keys, "the suite", builder->error);
  if (status == HR_OK) status = hr__read(builder, builder->source.file.tree, hr__suite_keys.keys, suite);
  if (status != HR_OK) return status;
  suite->path = strdup(builder->source.path);
  status = suite->path ? build_runs(builder, suite) : hr__build_no_memory(builder);
  return status == HR_OK ? build_tolerances(builder, builder->source.file.tree, &suite->tolerances) : status;
}

enum hr_status hr_suite_load(const char *path, struct hr_suite **suite, struct hr_error *error) {
  struct hr__builder builder = {.source = {.path = path}, .error = error};
  *suite = NULL;
  enum hr_status status = hr__json_file_read(path, &builder.source.file, error);
  if (status != HR_OK) return status;
  struct hr_suite *fresh = calloc(1, sizeof *fresh);
  status = fresh ? build(&builder, fresh) : hr__build_no_memory(&builder);
  hr__json_file_finish(&builder.source.file);
  if (status == HR_OK)
    *suite = fresh;
  else
    hr_suite_destroy(fresh);
  return status;
}

enum hr_status hr_suite_recognise(const char *path, bool *is_suite, struct hr_error *error) {
  struct hr__json_file file;
  enum hr_status status = hr__json_file_read(path, &file, error);
  if (status != HR_OK) return status;
  *is_suite = cJSON_IsObject(file.tree) && hr__has(file.tree, "runs");
  hr__json_file_finish(&file);
  return HR_OK;
}

static bool fill_run(struct hr_suite_run *run, const char *path, const char *trace, const char *const *overrides,
                     size_t n_overrides) {
  run->name = hr__stem(path);
  run->scenario = strdup(path);
  run->trace = trace ? strdup(trace) : NULL;
  run->set = calloc(n_overrides + 1, sizeof *run->set);
  if (!run->name || !run->scenario || (trace && !run->trace) || !run->set) return false;
  for (; run->n_set < n_overrides; run->n_set++)
    if (!(run->set[run->n_set] = strdup(overrides[run->n_set]))) return false;
  return true;
}

enum hr_status hr_suite_of_scenario(const char *path, const char *trace, const char *const *overrides,
                                    size_t n_overrides, struct hr_suite **suite, struct hr_error *error) {
  struct hr_suite *fresh = calloc(1, sizeof *fresh);
  *suite = NULL;
  if (fresh) fresh->runs = calloc(1, sizeof *fresh->runs);
  if (fresh && fresh->runs) fresh->n_runs = 1;
  if (fresh) fresh->path = strdup(path);
  if (fresh && fresh->runs && fresh->path && fill_run(fresh->runs, path, trace, overrides, n_overrides)) {
    *suite = fresh;
    return HR_OK;
  }
  hr_suite_destroy(fresh);
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
}

void hr_suite_destroy(struct hr_suite *suite) {
  if (!suite) return;
  for (size_t i = 0; i < suite->n_runs; i++) {
    struct hr_suite_run *run = &suite->runs[i];
    hr__grid_texts_free(run->policies, run->n_policies);
    hr__grid_texts_free(run->set, run->n_set);
    tolerances_finish(&run->tolerances);
    goals_finish(run->goals, run->n_goals);
    free(run->name);
    free(run->scenario);
    free(run->trace);
  }
  tolerances_finish(&suite->tolerances);
  goals_finish(suite->goals, suite->n_goals);
  free(suite->runs);
  free(suite->path);
  free(suite);
}

/* ---- Baselines ----------------------------------------------------------------------------------------- */

/* Reads a baseline of `headroom check`: metrics, digests of inputs, and the encoded decisions of each run. plan/check
   writes these files. A value of a metric is for a whole run, or for a class, a tenant, a pool or a service of it. A
   long text is stored as a list of lines, which the reader joins. */

#define WORD(name, text) text,
static const char *const parts[] = {HR_METRIC_OF_TABLE(WORD) NULL};

/* ---- Numbers and texts ------------------------------------------------------------------------------ */

static enum hr_status read_digest(struct hr__builder *builder, const cJSON *object, const char *name,
                                  uint64_t *digest) {
  const char *text = hr__text_of(object, name, "");
  *digest = 0;
  if (strlen(text) != 16 || text[strspn(text, "0123456789abcdef")])
    return hr__build_fail_at(builder, object, name, "'%.60s' is not a digest; 16 hexadecimal digits are expected",
                             text);
  *digest = (uint64_t)strtoumax(text, NULL, 16);
  return HR_OK;
}

/* Joins the lines of a list. Returns NULL if out of memory. The caller frees the text. */
static char *joined(const cJSON *list) {
  size_t bytes = 1;
  const cJSON *line;
  cJSON_ArrayForEach(line, list) bytes += strlen(line->valuestring);
  char *text = malloc(bytes), *at = text;
  if (!text) return NULL;
  *at = '\0';
  cJSON_ArrayForEach(line, list) at = stpcpy(at, line->valuestring);
  return text;
}

/* ---- Metrics ---------------------------------------------------------------------------------------- */

static size_t count_metrics(const cJSON *json) {
  size_t count = (size_t)cJSON_GetArraySize(hr__get(json, parts[HR_METRIC_OF_RUN]));
  for (size_t of = HR_METRIC_OF_RUN + 1; of < HR_N_METRIC_OF; of++) {
    const cJSON *group;
    cJSON_ArrayForEach(group, hr__get(json, parts[of])) count += (size_t)cJSON_GetArraySize(group);
  }
  return count;
}

static bool add_metrics(const cJSON *values, enum hr_metric_of of, const char *group, struct hr_baseline_run *run) {
  const cJSON *value;
  cJSON_ArrayForEach(value, values) {
    struct hr_baseline_metric *metric = &run->metrics[run->n_metrics++];
    *metric = (struct hr_baseline_metric){
        .path = strdup(value->string), .of = of, .value = value->valuedouble, .low = (double)NAN, .high = (double)NAN};
    if (group) metric->group = strdup(group);
    if (!metric->path || (group && !metric->group)) return false;
  }
  return true;
}

static bool build_metrics(const cJSON *json, struct hr_baseline_run *run) {
  run->metrics = calloc(count_metrics(json) + 1, sizeof *run->metrics);
  bool whole = run->metrics && add_metrics(hr__get(json, parts[HR_METRIC_OF_RUN]), HR_METRIC_OF_RUN, NULL, run);
  for (size_t of = HR_METRIC_OF_RUN + 1; of < HR_N_METRIC_OF && whole; of++)
    for (const cJSON *group = hr__first(json, parts[of]); group && whole; group = group->next)
      whole = add_metrics(group, (enum hr_metric_of)of, group->string, run);
  return whole;
}

/* Returns the samples of a metric, its values in single replications; NULL if there are none. `all` has a list of
   samples for each metric, with a key such as "wait_s.p95" (of the run) or "wait_s.p95 of class training". */
static const cJSON *samples_of(const cJSON *all, const struct hr_baseline_metric *metric) {
  static const char *const kinds[HR_N_METRIC_OF] = {[HR_METRIC_OF_CLASS] = "class",
                                                    [HR_METRIC_OF_TENANT] = "tenant",
                                                    [HR_METRIC_OF_POOL] = "pool",
                                                    [HR_METRIC_OF_ONE_SERVICE] = "service"};
  char label[400];
  if (metric->of == HR_METRIC_OF_RUN) return hr__get(all, metric->path);
  snprintf(label, sizeof label, "%s of %s %s", metric->path, kinds[metric->of], metric->group);
  return hr__get(all, label);
}

static bool build_samples(const cJSON *json, struct hr_baseline_run *run) {
  const cJSON *all = hr__get(json, "samples"), *sample;
  for (size_t i = 0; all && i < run->n_metrics; i++) {
    struct hr_baseline_metric *metric = &run->metrics[i];
    const cJSON *samples = samples_of(all, metric);
    if (!samples) continue;
    metric->samples = calloc((size_t)cJSON_GetArraySize(samples), sizeof *metric->samples);
    if (!metric->samples) return false;
    cJSON_ArrayForEach(sample, samples) metric->samples[metric->n_samples++] = sample->valuedouble;
  }
  return true;
}

/* ---- Runs ------------------------------------------------------------------------------------------- */

static enum hr_status build_inputs(struct hr__builder *builder, const cJSON *json, struct hr_baseline_run *run) {
  const cJSON *inputs = hr__get(json, "inputs");
  enum hr_status status = HR_OK;
  run->inputs = calloc((size_t)cJSON_GetArraySize(inputs) + 1, sizeof *run->inputs);
  if (!run->inputs) return hr__build_no_memory(builder);
  for (const cJSON *input = inputs->child; input && status == HR_OK; input = input->next) {
    struct hr_baseline_input *to = &run->inputs[run->n_inputs++];
    to->name = strdup(input->string);
    status = to->name ? read_digest(builder, inputs, input->string, &to->digest) : hr__build_no_memory(builder);
  }
  return status;
}

static bool build_texts(const cJSON *json, struct hr_baseline_run *run) {
  run->chain = joined(hr__get(json, "chain"));
  run->starts = hr__has(json, "starts") ? joined(hr__get(json, "starts")) : NULL;
  return run->chain && (run->starts || !hr__has(json, "starts"));
}

static enum hr_status build_baseline_run(struct hr__builder *builder, const cJSON *json, struct hr_baseline_run *run) {
  enum hr_status status = hr__read(builder, json, hr__table_of(&hr__baseline_keys, "runs"), run);
  if (status == HR_OK && (!build_texts(json, run) || !build_metrics(json, run) || !build_samples(json, run)))
    status = hr__build_no_memory(builder);
  if (status == HR_OK) status = read_digest(builder, json, "trace_digest", &run->trace_digest);
  if (status == HR_OK) status = read_digest(builder, json, "digest", &run->digest);
  return status == HR_OK ? build_inputs(builder, json, run) : status;
}

static enum hr_status check_baseline_name(struct hr__builder *builder, const cJSON *json,
                                          const struct hr_baseline *baseline) {
  const struct hr_baseline_run *last = &baseline->runs[baseline->n_runs - 1];
  for (const struct hr_baseline_run *run = baseline->runs; run < last; run++)
    if (strcmp(run->name, last->name) == 0)
      return hr__build_fail_at(builder, json, "name",
                               "duplicate run '%.200s', perhaps from a merge by hand; write the baseline again "
                               "with --update",
                               last->name);
  return HR_OK;
}

static enum hr_status build_baseline_runs(struct hr__builder *builder, struct hr_baseline *baseline) {
  const cJSON *runs = hr__get(builder->source.file.tree, "runs");
  baseline->runs = calloc((size_t)cJSON_GetArraySize(runs) + 1, sizeof *baseline->runs);
  if (!baseline->runs) return hr__build_no_memory(builder);
  for (const cJSON *json = runs->child; json; json = json->next) {
    enum hr_status status = build_baseline_run(builder, json, &baseline->runs[baseline->n_runs++]);
    if (status == HR_OK) status = check_baseline_name(builder, json, baseline);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

/* ---- The baseline ----------------------------------------------------------------------------------- */

/* Checks the version of the format. This must precede the check of the keys, because versions have different keys. */
static enum hr_status check_format(const struct hr__builder *builder) {
  const cJSON *format = cJSON_IsObject(builder->source.file.tree) ? hr__get(builder->source.file.tree, "format") : NULL;
  if (!format || !cJSON_IsNumber(format))
    return hr_fail(builder->error, HR_BAD_INPUT,
                   "%s: is not a baseline, which has a 'format'; 'headroom check --update' writes one",
                   builder->source.path);
  if (format->valuedouble == HR_BASELINE_FORMAT) return HR_OK;
  return hr_fail(builder->error, HR_BAD_INPUT,
                 "%s: is a baseline of format %.15g, but this version of headroom (%s) reads format %d; write it again "
                 "with --update",
                 builder->source.path, format->valuedouble, hr_version(), HR_BASELINE_FORMAT);
}

static enum hr_status build_baseline(struct hr__builder *builder, struct hr_baseline *baseline) {
  enum hr_status status = check_format(builder);
  if (status == HR_OK)
    status = hr__source_validate(&builder->source, &hr__baseline_keys, "the baseline", builder->error);
  if (status != HR_OK) return status;
  baseline->path = strdup(builder->source.path);
  baseline->version = strdup(hr__text_of(builder->source.file.tree, "version", ""));
  return baseline->path && baseline->version ? build_baseline_runs(builder, baseline) : hr__build_no_memory(builder);
}

enum hr_status hr_baseline_load(const char *path, struct hr_baseline **baseline, struct hr_error *error) {
  struct hr__builder builder = {.source = {.path = path}, .error = error};
  *baseline = NULL;
  enum hr_status status = hr__json_file_read(path, &builder.source.file, error);
  if (status != HR_OK) return status;
  struct hr_baseline *fresh = calloc(1, sizeof *fresh);
  status = fresh ? build_baseline(&builder, fresh) : hr__build_no_memory(&builder);
  hr__json_file_finish(&builder.source.file);
  if (status == HR_OK)
    *baseline = fresh;
  else
    hr_baseline_destroy(fresh);
  return status;
}

bool hr_baseline_recognise(const char *path) {
  struct hr__json_file file;
  if (hr__json_file_read(path, &file, NULL) != HR_OK) return false;
  bool is_one = cJSON_IsObject(file.tree) && hr__has(file.tree, "format") && hr__has(file.tree, "runs");
  hr__json_file_finish(&file);
  return is_one;
}

void hr_baseline_run_finish(struct hr_baseline_run *run) {
  for (size_t i = 0; i < run->n_metrics; i++) {
    free(run->metrics[i].path);
    free(run->metrics[i].group);
    free(run->metrics[i].samples);
  }
  for (size_t i = 0; i < run->n_inputs; i++) free(run->inputs[i].name);
  free(run->metrics);
  free(run->inputs);
  free(run->name);
  free(run->policy);
  free(run->scenario);
  free(run->trace);
  free(run->chain);
  free(run->starts);
  *run = (struct hr_baseline_run){0};
}

void hr_baseline_destroy(struct hr_baseline *baseline) {
  if (!baseline) return;
  for (size_t i = 0; i < baseline->n_runs; i++) hr_baseline_run_finish(&baseline->runs[i]);
  free(baseline->runs);
  free(baseline->path);
  free(baseline->version);
  free(baseline);
}
