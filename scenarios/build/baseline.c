/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads a baseline of `headroom check`: metrics, digests of inputs, and the encoded decisions of each run. plan/check
 * writes these files. A metric is the value of a metric for a run, or for a class, a tenant or a pool of a run. A long
 * text is stored as a list of lines, which the reader joins.
 */

#include "headroom/unstable/experiments.h"
#include "scenarios/build/builder.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    for (const cJSON *group = hr__get(json, parts[of]) ? hr__get(json, parts[of])->child : NULL; group && whole;
         group = group->next)
      whole = add_metrics(group, (enum hr_metric_of)of, group->string, run);
  return whole;
}

/* Returns the samples of a metric; NULL if there are none. `all` contains a list of samples for each key, such as
   "wait_s.p95" (of the run) or "wait_s.p95 of class training". */
static const cJSON *samples_of(const cJSON *all, const struct hr_baseline_metric *metric) {
  static const char *const kinds[HR_N_METRIC_OF] = {
      [HR_METRIC_OF_CLASS] = "class", [HR_METRIC_OF_TENANT] = "tenant", [HR_METRIC_OF_POOL] = "pool"};
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

static enum hr_status build_run(struct hr__builder *builder, const cJSON *json, struct hr_baseline_run *run) {
  enum hr_status status = hr__read(builder, json, hr__table_of(&hr__baseline_keys, "runs"), run);
  if (status == HR_OK && (!build_texts(json, run) || !build_metrics(json, run) || !build_samples(json, run)))
    status = hr__build_no_memory(builder);
  if (status == HR_OK) status = read_digest(builder, json, "trace_digest", &run->trace_digest);
  if (status == HR_OK) status = read_digest(builder, json, "digest", &run->digest);
  return status == HR_OK ? build_inputs(builder, json, run) : status;
}

static enum hr_status check_name(struct hr__builder *builder, const cJSON *json, const struct hr_baseline *baseline) {
  const struct hr_baseline_run *last = &baseline->runs[baseline->n_runs - 1];
  for (const struct hr_baseline_run *run = baseline->runs; run < last; run++)
    if (strcmp(run->name, last->name) == 0)
      return hr__build_fail_at(builder, json, "name",
                               "duplicate run '%.200s', perhaps from a merge by hand; write the baseline again "
                               "with --update",
                               last->name);
  return HR_OK;
}

static enum hr_status build_runs(struct hr__builder *builder, struct hr_baseline *baseline) {
  const cJSON *runs = hr__get(builder->source.file.tree, "runs");
  baseline->runs = calloc((size_t)cJSON_GetArraySize(runs) + 1, sizeof *baseline->runs);
  if (!baseline->runs) return hr__build_no_memory(builder);
  for (const cJSON *json = runs->child; json; json = json->next) {
    enum hr_status status = build_run(builder, json, &baseline->runs[baseline->n_runs++]);
    if (status == HR_OK) status = check_name(builder, json, baseline);
    if (status != HR_OK) return status;
  }
  return HR_OK;
}

/* ---- The baseline ----------------------------------------------------------------------------------- */

/* Checks the version of the format. It is checked before the keys, because versions have different keys. */
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

static enum hr_status build(struct hr__builder *builder, struct hr_baseline *baseline) {
  enum hr_status status = check_format(builder);
  if (status == HR_OK)
    status = hr__source_validate(&builder->source, &hr__baseline_keys, "the baseline", builder->error);
  if (status != HR_OK) return status;
  baseline->path = strdup(builder->source.path);
  baseline->version = strdup(hr__text_of(builder->source.file.tree, "version", ""));
  return baseline->path && baseline->version ? build_runs(builder, baseline) : hr__build_no_memory(builder);
}

enum hr_status hr_baseline_load(const char *path, struct hr_baseline **baseline, struct hr_error *error) {
  struct hr__builder builder = {.source = {.path = path}, .error = error};
  *baseline = NULL;
  enum hr_status status = hr__json_file_read(path, &builder.source.file, error);
  if (status != HR_OK) return status;
  struct hr_baseline *fresh = calloc(1, sizeof *fresh);
  status = fresh ? build(&builder, fresh) : hr__build_no_memory(&builder);
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
