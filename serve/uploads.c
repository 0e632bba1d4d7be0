/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Uploaded traces: their list, and the job that reads one. There are at most HR__MAX_UPLOADS and one for each shipped
   scenario, so the list is searched from its begin, where the oldest one is. A trace is checked, packed and summarized
   by commands of the program, like all requests. */

#include "serve/request.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct hr__upload *hr__upload_find(const struct hr__uploads *uploads, const char *id) {
  for (size_t i = 0; i < uploads->count; i++)
    if (strcmp(uploads->at[i].id, id) == 0) return &uploads->at[i];
  return NULL;
}

const struct hr__upload *hr__upload_of_shipped(const struct hr__uploads *uploads, const char *shipped) {
  for (size_t i = 0; i < uploads->count; i++)
    if (uploads->at[i].shipped && strcmp(uploads->at[i].shipped, shipped) == 0) return &uploads->at[i];
  return NULL;
}

static void free_upload(struct hr__upload *upload) {
  free(upload->id);
  free(upload->name);
  free(upload->file);
}

const struct hr__upload *hr__upload_add(struct hr__uploads *uploads, const char *id, const char *name, const char *file,
                                        const char *shipped) {
  struct hr__upload fresh = {strdup(id), strdup(name), strdup(file), shipped};
  struct hr__upload *at = realloc(uploads->at, (uploads->count + 1) * sizeof *at);
  if (at) uploads->at = at;
  if (!at || !fresh.id || !fresh.name || !fresh.file) {
    free_upload(&fresh);
    return NULL;
  }
  at[uploads->count] = fresh;
  return &at[uploads->count++];
}

void hr__uploads_make_room(struct hr__uploads *uploads, size_t max) {
  size_t count = 0, oldest = 0;
  for (size_t i = uploads->count; i-- > 0;) {
    if (uploads->at[i].shipped) continue;
    oldest = i;
    count++;
  }
  if (count < max) return;
  unlink(uploads->at[oldest].file);
  free_upload(&uploads->at[oldest]);
  uploads->count--;
  memmove(uploads->at + oldest, uploads->at + oldest + 1, (uploads->count - oldest) * sizeof *uploads->at);
}

void hr__uploads_finish(struct hr__uploads *uploads) {
  for (size_t i = 0; i < uploads->count; i++) free_upload(&uploads->at[i]);
  free(uploads->at);
  *uploads = (struct hr__uploads){0};
}

/* ---- The job ------------------------------------------------------------------------------------------------ */

char *hr__plain_name(const char *name) {
  const char *from = name;
  for (const char *at = name; *at; at++)
    if (*at == '/' || *at == '\\') from = at + 1;
  char *plain = malloc(strlen(from) + sizeof "trace"), *to = plain;
  if (!plain) return NULL;
  for (; *from; from++) {
    unsigned char byte = (unsigned char)*from;
    bool first = to == plain;
    if (byte > ' ' && byte != 0x7f && !(first && (byte == '-' || byte == '.'))) *to++ = *from;
    if (byte == ' ' && !first) *to++ = '_';
  }
  *to = '\0';
  if (to == plain) strcpy(plain, "trace");
  return plain;
}

const char *hr__shipped_path(const struct hr__request_world *world, const char *name) {
  for (size_t i = 0; i < world->n_shipped; i++)
    if (strcmp(world->shipped[i].name, name) == 0) return world->shipped[i].path;
  return NULL;
}

enum hr_status hr__request_shipped_trace(const struct hr__request_world *world, const char *name, char **path,
                                         char **format, struct hr_error *error) {
  const char *file = hr__shipped_path(world, name);
  struct hr_scenario *scenario = NULL;
  *path = *format = NULL;
  if (!file) return hr_fail(error, HR_BAD_INPUT, "no scenario '%.60s' ships; see /api/scenarios", name);
  enum hr_status status = hr_scenario_load(file, NULL, 0, &scenario, error);
  if (status == HR_OK && !scenario->trace_file)
    status = hr_fail(error, HR_BAD_INPUT, "the scenario '%.60s' has no trace", name);
  if (status == HR_OK) {
    *path = strdup(scenario->trace_file);
    if (scenario->trace_format) *format = strdup(scenario->trace_format);
    if (!*path || (scenario->trace_format && !*format)) status = hr_fail(error, HR_NO_MEMORY, "out of memory");
  }
  hr_scenario_destroy(scenario);
  return status;
}

static void add_trace_options(struct hr__job *job, struct hr__step *step, const struct hr__upload_query *query) {
  if (query->format) hr__step_option(job, step, "format", query->format);
  if (query->map) hr__step_option(job, step, "map", query->map);
  if (query->lenient) hr__step_word(job, step, "--lenient");
}

/* Adds an action of `trace` on the trace `name`: its standard output is written to the file `words`. */
static void add_trace_action(struct hr__job *job, const char *name, const char *action, const char *option,
                             const char *to, const char *words, const struct hr__upload_query *query) {
  struct hr__step *step = hr__job_step(job, HR__STEP_COMMAND, NULL);
  hr__step_words(job, step, "headroom", "trace", action, (const char *)NULL);
  if (step) step->text = strdup(words);
  hr__step_option(job, step, option, to);
  add_trace_options(job, step, query);
  hr__step_words(job, step, "--", name, (const char *)NULL);
}

static void add_string(struct hr__job *job, const char *before, const char *text) {
  cJSON *string = cJSON_CreateString(text);
  char *printed = string ? cJSON_PrintUnformatted(string) : NULL;
  hr__job_step(job, HR__STEP_TEXT, before);
  if (printed) hr__job_step(job, HR__STEP_TEXT, printed);
  if (!printed) job->out_of_memory = true;
  free(printed);
  cJSON_Delete(string);
}

enum hr_status hr__request_trace_job(const struct hr__request_world *world, const struct hr__upload_query *query,
                                     const char *id, const char *raw, const char *packed, struct hr__job *job,
                                     struct hr_error *error) {
  enum hr_status status = hr__job_begin(job, world->scratch, error);
  char *name = hr__plain_name(query->name ? query->name : "trace");
  if (status == HR_OK && !name) status = hr_fail(error, HR_NO_MEMORY, "out of memory");
  if (status == HR_OK) {
    const char *check = hr__job_path(job, "check.json"), *stats = hr__job_path(job, "stats.json");
    const char *words = hr__job_path(job, "words.txt");
    hr__job_alias(job, name, raw);
    add_trace_action(job, name, "pack", "output", packed, words, query);
    add_trace_action(job, name, "check", "json", "-", check, query);
    add_trace_action(job, name, "stats", "json", "-", stats, query);
    add_string(job, "{\"trace\":", id);
    add_string(job, ",\"name\":", name);
    hr__job_step(job, HR__STEP_TEXT, ",\"check\":");
    hr__job_step(job, HR__STEP_FILE, check);
    hr__job_step(job, HR__STEP_TEXT, ",\"stats\":");
    hr__job_step(job, HR__STEP_FILE, stats);
    hr__job_step(job, HR__STEP_TEXT, "}");
    if (job->out_of_memory) status = hr_fail(error, HR_NO_MEMORY, "out of memory");
  }
  free(name);
  return status;
}
