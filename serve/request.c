/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests: the table of routes, uploaded traces, and the conversion of a body to a job.
 *
 * A body is a JSON object. Its members become options of a command of the program, so a response contains the same
 * numbers as the output of the command. All values are passed as "--option=value" and names of files after "--", so no
 * value can be mistaken for an option. A scenario in the body is stored in the folder of the job, and workers read it
 * under the name that the user gave it (an alias), so that messages and relative paths are those of the user. A trace
 * is checked, packed and summarized by commands, too.
 *
 * Bodies are not trusted: unknown members, wrong types and wrong combinations are errors. The command itself checks the
 * values.
 */

#include "serve/serve.h"

#include "base/text.h"
#include "headroom/unstable/exports.h"
#include "traces/json/json.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Routes ----------------------------------------------------------------------------------------- */

#define BODY_NAME(name, text) text,
const char *const hr__body_names[HR__N_BODY_MEMBERS] = {HR__BODY_TABLE(BODY_NAME)};
#undef BODY_NAME

#define BIT(name) (1U << HR__BODY_##name)
/* The members that name a scenario and its trace, and those that change them. */
#define INPUT                                                                                                          \
  (BIT(SCENARIO) | BIT(NAME) | BIT(FILE) | BIT(SHIPPED) | BIT(TRACE) | BIT(TRACE_FILE) | BIT(LOAD) | BIT(SET) |        \
   BIT(POLICY) | BIT(SEED))
#define OF_RUNS (INPUT | BIT(REPLICATIONS))

const struct hr__route hr__routes[] = {
    {HR__ROUTE_PAGE, "GET", "/", true, false, 0, "token"},
    {HR__ROUTE_SCRIPT, "GET", "/app.js", true, false, 0, ""},
    {HR__ROUTE_STYLE, "GET", "/app.css", true, false, 0, ""},
    {HR__ROUTE_SCHEMA, "GET", "/api/schema", false, false, 0, ""},
    {HR__ROUTE_CATALOGUE, "GET", "/api/catalogue", false, false, 0, ""},
    {HR__ROUTE_SCENARIOS, "GET", "/api/scenarios", false, false, 0, ""},
    {HR__ROUTE_FILES, "GET", "/api/files", false, false, 0, ""},
    {HR__ROUTE_FILE, "GET", "/api/file", false, false, 0, "path shipped"},
    {HR__ROUTE_TRACE, "POST", "/api/trace", false, false, 0, "name format map lenient shipped"},
    {HR__ROUTE_STOP, "POST", "/api/stop", false, false, 0, "job"},
    {HR__ROUTE_DRAFT, "POST", "/api/draft", false, false,
     BIT(TRACE) | BIT(TRACE_FILE) | BIT(OWN) | BIT(CLOUD) | BIT(GOALS), ""},
    {HR__ROUTE_CHECK, "POST", "/api/check", false, false, INPUT, ""},
    {HR__ROUTE_RUN, "POST", "/api/run", false, false, OF_RUNS | BIT(SERIES), ""},
    {HR__ROUTE_PLAN, "POST", "/api/plan", false, true, INPUT | BIT(BRIEF) | BIT(FORECAST), ""},
    {HR__ROUTE_COMPARE, "POST", "/api/compare", false, false, OF_RUNS | BIT(POLICIES) | BIT(BASELINE), ""},
    {HR__ROUTE_EXPORT, "POST", "/api/export", false, false, OF_RUNS | BIT(POLICIES) | BIT(BRIEF) | BIT(OF) | BIT(AS),
     ""},
};
const size_t hr__n_routes = sizeof hr__routes / sizeof *hr__routes;

const struct hr__route *hr__route_find(const char *method, const char *path, bool *path_exists) {
  *path_exists = false;
  for (size_t i = 0; i < hr__n_routes; i++) {
    if (strcmp(hr__routes[i].path, path) != 0) continue;
    *path_exists = true;
    if (strcmp(hr__routes[i].method, method) == 0) return &hr__routes[i];
  }
  return NULL;
}

bool hr__route_has_query(const struct hr__route *route, const char *name) {
  size_t length = strlen(name);
  for (const char *at = route->query; *at;) {
    size_t word = strcspn(at, " ");
    if (word == length && memcmp(at, name, length) == 0) return true;
    at += word + (at[word] == ' ');
  }
  return false;
}

/* ---- Uploads ---------------------------------------------------------------------------------------- */

/* There are at most HR__MAX_UPLOADS uploaded traces and one for each shipped scenario, so their list is searched
   linearly. The oldest trace is first. */

static const struct hr__upload *upload_find(const struct hr__uploads *uploads, const char *id) {
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

/* ---- Uploads: the job ------------------------------------------------------------------------------- */

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
    if (!*path || (scenario->trace_format && !*format)) status = hr__no_memory(error);
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
  if (status == HR_OK && !name) status = hr__no_memory(error);
  if (status == HR_OK) {
    const char *check = hr__job_path(job, "check.json"), *stats = hr__job_path(job, "stats.json");
    const char *words = hr__job_path(job, "words.txt");
    hr__job_alias(job, name, raw, false);
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
    if (job->out_of_memory) status = hr__no_memory(error);
  }
  free(name);
  return status;
}

/* ---- Errors ----------------------------------------------------------------------------------------- */

/* Adds file, line and column if a message begins with them: "scenario.json:3:14: ...". */
static void add_place(cJSON *error, const char *message) {
  const char *colon = strchr(message, ':');
  for (; colon && (colon[1] < '0' || colon[1] > '9'); colon = strchr(colon + 1, ':'))
    if (colon[1] == ' ') return;
  if (!colon || colon == message) return;
  char *end;
  long line = strtol(colon + 1, &end, 10), column = *end == ':' ? strtol(end + 1, NULL, 10) : 0;
  char *file = strndup(message, (size_t)(colon - message));
  if (file && line > 0 && *end == ':') {
    cJSON_AddStringToObject(error, "file", file);
    cJSON_AddNumberToObject(error, "line", (double)line);
    if (column > 0) cJSON_AddNumberToObject(error, "column", (double)column);
  }
  free(file);
}

/* A message may quote a part of a request that was cut, to limit its length, within a UTF-8 character. */
char *hr__error_json(const char *message, unsigned code) {
  enum { LONGEST = 4 }; /* length of the replacement of an invalid byte: "\\xFF" */
  const size_t bytes = LONGEST * strlen(message) + 1;
  char *safe = malloc(bytes);
  if (!safe) return NULL;
  hr__copy_safe(safe, bytes, message, true);
  cJSON *document = cJSON_CreateObject();
  cJSON *error = document ? cJSON_AddObjectToObject(document, "error") : NULL;
  if (error) {
    cJSON_AddStringToObject(error, "message", safe);
    cJSON_AddNumberToObject(error, "code", code);
    add_place(error, safe);
  }
  char *json = error ? cJSON_PrintUnformatted(document) : NULL;
  cJSON_Delete(document);
  free(safe);
  return json;
}

/* ---- Members of a body ------------------------------------------------------------------------------ */

struct request {
  const struct hr__request_world *world;
  const struct hr__route *route;
  struct hr__json_file file; /* the body */
  const cJSON *body;         /* its tree */
  struct hr__job *job;
  const char *scenario; /* name of the scenario for the command */
  const char *trace;    /* name of an uploaded trace; NULL: not named */
  char *plain_name;     /* owned memory to which `scenario` may point */
  char *trace_name;     /* owned memory to which `trace` may point */
  struct hr_error *error;
};

static const cJSON *member(const struct request *request, enum hr__body_member id) {
  return cJSON_GetObjectItemCaseSensitive(request->body, hr__body_names[id]);
}

static enum hr_status wrong(struct request *request, enum hr__body_member id, const char *expected) {
  return hr_fail(request->error, HR_BAD_INPUT, "'%s' in the body: expected %s", hr__body_names[id], expected);
}

/* Sets `*text` to a member that is a string, and to NULL if it is missing. */
static enum hr_status text_of(struct request *request, enum hr__body_member id, const char **text) {
  const cJSON *value = member(request, id);
  *text = cJSON_IsString(value) ? value->valuestring : NULL;
  return !value || *text ? HR_OK : wrong(request, id, "a string");
}

/* Sets `*number` to a member that is a whole number, and to `fallback` if it is missing or wrong. */
static enum hr_status number_of(struct request *request, enum hr__body_member id, double max, double fallback,
                                double *number) {
  const cJSON *value = member(request, id);
  *number = fallback;
  if (!value) return HR_OK;
  if (cJSON_IsNumber(value) && value->valuedouble >= 0 && value->valuedouble <= max &&
      floor(value->valuedouble) == value->valuedouble) {
    *number = value->valuedouble;
    return HR_OK;
  }
  char expected[80];
  snprintf(expected, sizeof expected, "a whole number from 0 to %.0f", max);
  return wrong(request, id, expected);
}

/* Rejects a body that has both members, because one of them would be ignored. */
static enum hr_status refuse_both(struct request *request, enum hr__body_member first, enum hr__body_member second) {
  if (!member(request, first) || !member(request, second)) return HR_OK;
  return hr_fail(request->error, HR_BAD_INPUT, "the body has both '%s' and '%s'", hr__body_names[first],
                 hr__body_names[second]);
}

/* Returns a copy of a value as the body spells it. Numbers thus have all their digits, and messages about a scenario
   have the lines of its text. `ordinals` is the path of the value (hr__json_find). The caller frees the copy. Returns
   NULL if out of memory. */
static char *spelled(const struct request *request, const uint32_t *ordinals, size_t depth) {
  size_t offset = hr__json_find(request->file.text, ordinals, depth, false);
  const char *begin = request->file.text + offset, *end = begin;
  unsigned open = 0;
  bool quoted = false;
  for (; *end; end++) {
    if (*end == '"') quoted = !quoted;
    if (quoted) {
      end += *end == '\\';
      continue;
    }
    bool closes = *end == '}' || *end == ']';
    if (open == 0 && (closes || *end == ',')) break;
    open += *end == '{' || *end == '[';
    open -= closes;
  }
  return strndup(begin, (size_t)(end - begin));
}

static uint32_t ordinal_of(const cJSON *parent, const cJSON *child) {
  uint32_t ordinal = 0;
  for (const cJSON *at = parent->child; at != child; at = at->next) ordinal++;
  return ordinal;
}

static enum hr_status check_members(struct request *request) {
  for (const cJSON *at = request->body->child; at; at = at->next) {
    bool known = false;
    for (unsigned i = 0; i < HR__N_BODY_MEMBERS; i++)
      known |= request->route->members >> i & 1U && strcmp(hr__body_names[i], at->string) == 0;
    if (!known)
      return hr_fail(request->error, HR_BAD_INPUT,
                     "'%.60s' in the body: unknown; docs/reference/openapi.json lists "
                     "what %s accepts",
                     at->string, request->route->path);
  }
  return HR_OK;
}

/* ---- Options ---------------------------------------------------------------------------------------- */

static void add_option(struct request *request, struct hr__step *step, const char *option, const char *value) {
  hr__step_option(request->job, step, option, value);
}

static enum hr_status add_text_option(struct request *request, struct hr__step *step, const char *option,
                                      enum hr__body_member id) {
  const char *text;
  enum hr_status status = text_of(request, id, &text);
  if (text) add_option(request, step, option, text);
  return status;
}

static enum hr_status add_number_option(struct request *request, struct hr__step *step, const char *option,
                                        enum hr__body_member id, double max) {
  double number;
  char text[40];
  enum hr_status status = number_of(request, id, max, -1, &number);
  if (status != HR_OK || number < 0) return status;
  snprintf(text, sizeof text, "%.0f", number);
  add_option(request, step, option, text);
  return HR_OK;
}

/* Adds an option --set for each entry of the member `set`, an object such as {"cluster.pools.0.nodes": 56}. */
static enum hr_status add_overrides(struct request *request, struct hr__step *step) {
  const cJSON *set = member(request, HR__BODY_SET);
  if (set && !cJSON_IsObject(set)) return wrong(request, HR__BODY_SET, "an object of paths and values");
  for (const cJSON *at = set ? set->child : NULL; at; at = at->next) {
    if (!at->string[0] || strchr(at->string, '='))
      return hr_fail(request->error, HR_BAD_INPUT,
                     "'set' in the body: '%.60s' is not the path of a key; expected a path such as "
                     "'cluster.pools.0.nodes'",
                     at->string);
    const uint32_t path[] = {ordinal_of(request->body, set), ordinal_of(set, at)};
    char *value = cJSON_IsNumber(at) ? spelled(request, path, 2) : cJSON_PrintUnformatted(at);
    char *text = value ? malloc(strlen(at->string) + strlen(value) + 2) : NULL;
    if (text) stpcpy(stpcpy(stpcpy(text, at->string), "="), value);
    if (text) add_option(request, step, "set", text);
    if (!text) request->job->out_of_memory = true;
    free(text);
    free(value);
  }
  return HR_OK;
}

/* ---- Scenario and trace ----------------------------------------------------------------------------- */

/* Stores a scenario, which is a text or an object, in the file `file`. The worker reads it under the name `name`. */
static enum hr_status store_scenario(struct request *request, const cJSON *scenario, const char *file,
                                     const char *name) {
  const uint32_t path[] = {ordinal_of(request->body, scenario)};
  char *printed = cJSON_IsObject(scenario) ? spelled(request, path, 1) : NULL;
  const char *text = cJSON_IsString(scenario) ? scenario->valuestring : printed;
  if (!text && cJSON_IsObject(scenario)) return hr__no_memory(request->error);
  if (!text) return hr_fail(request->error, HR_BAD_INPUT, "a scenario in the body: expected an object, or its text");
  enum hr_status status = hr__job_input(request->job, file, text, name, request->error);
  free(printed);
  return status;
}

/* A shipped scenario is named relative to the folder of the shipped files, in which the worker works. */
static enum hr_status name_shipped(struct request *request, const char *shipped) {
  const char *path = hr__shipped_path(request->world, shipped);
  if (!path)
    return hr_fail(request->error, HR_BAD_INPUT, "'shipped' in the body: no scenario '%.60s' ships; see /api/scenarios",
                   shipped);
  const char *slash = strrchr(path, '/');
  request->plain_name = hr__joined_path(request->world->shipped_folder, slash ? slash + 1 : path);
  request->scenario = request->plain_name;
  request->job->at_data = true;
  return request->scenario ? HR_OK : hr__no_memory(request->error);
}

/* A worker has no standard input, so "-" is not allowed. */
static bool is_file_name(const char *name) {
  return name[0] && strcmp(name, "-") != 0;
}

/* Sets the name of the scenario for the command:
   - of a shipped scenario, its path, so that its relative paths can be resolved;
   - of a scenario in a file of the user (member `file`), the name of the file;
   - of a scenario in the body, the member `name`; by default "scenario.json". */
static enum hr_status name_scenario(struct request *request) {
  const char *shipped, *file, *name;
  const bool has_scenario = member(request, HR__BODY_SCENARIO) != NULL;
  enum hr_status status = text_of(request, HR__BODY_SHIPPED, &shipped);
  if (status == HR_OK) status = text_of(request, HR__BODY_FILE, &file);
  if (status == HR_OK) status = text_of(request, HR__BODY_NAME, &name);
  if (status == HR_OK) status = refuse_both(request, HR__BODY_SHIPPED, HR__BODY_FILE);
  if (status == HR_OK) status = refuse_both(request, HR__BODY_SHIPPED, HR__BODY_NAME);
  if (status == HR_OK) status = refuse_both(request, HR__BODY_FILE, HR__BODY_NAME);
  if (status != HR_OK) return status;
  if (shipped) return name_shipped(request, shipped);
  if (file) {
    request->scenario = file;
    return is_file_name(file) ? HR_OK : wrong(request, HR__BODY_FILE, "the name of a file");
  }
  if (name && !has_scenario)
    return hr_fail(request->error, HR_BAD_INPUT, "'name' in the body has no effect without 'scenario'");
  request->scenario = request->plain_name = hr__plain_name(name && name[0] ? name : "scenario.json");
  return request->scenario ? HR_OK : hr__no_memory(request->error);
}

static enum hr_status find_scenario(struct request *request) {
  const cJSON *scenario = member(request, HR__BODY_SCENARIO);
  if (!(request->route->members >> HR__BODY_SCENARIO & 1U)) return HR_OK;
  enum hr_status status = name_scenario(request);
  if (status != HR_OK) return status;
  if (scenario) return store_scenario(request, scenario, "scenario.json", request->scenario);
  if (member(request, HR__BODY_SHIPPED) || member(request, HR__BODY_FILE)) return HR_OK;
  return hr_fail(request->error, HR_BAD_INPUT, "the body names no scenario: expected 'scenario', 'file' or 'shipped'");
}

/* Lets the worker read a trace of the user under its name. The name is relative to the folder of the user's files, but
   the worker works in the folder of the shipped files, so an alias is necessary. */
static enum hr_status name_trace_file(struct request *request, const char *file) {
  char *path = hr__joined_path(request->world->folder, file);
  if (!path) return hr__no_memory(request->error);
  hr__job_alias(request->job, file, path, true);
  free(path);
  return HR_OK;
}

/* Sets the name of an uploaded trace for the command. If it equals the name of the scenario, " (trace)" is appended. */
static enum hr_status name_upload(struct request *request, const struct hr__upload *upload) {
  static const char other[] = " (trace)";
  request->trace = upload->name;
  if (!request->scenario || strcmp(upload->name, request->scenario) != 0) return HR_OK;
  request->trace_name = malloc(strlen(upload->name) + sizeof other);
  if (!request->trace_name) return hr__no_memory(request->error);
  stpcpy(stpcpy(request->trace_name, upload->name), other);
  request->trace = request->trace_name;
  return HR_OK;
}

static enum hr_status find_trace(struct request *request) {
  const char *id, *file;
  enum hr_status status = text_of(request, HR__BODY_TRACE, &id);
  if (status == HR_OK) status = text_of(request, HR__BODY_TRACE_FILE, &file);
  if (status == HR_OK && file && !is_file_name(file))
    status = wrong(request, HR__BODY_TRACE_FILE, "the name of a file");
  if (status == HR_OK && !id && file && file[0] != '/' && request->job->at_data) return name_trace_file(request, file);
  if (status != HR_OK || !id) return status;
  if (file) return hr_fail(request->error, HR_BAD_INPUT, "the body has both 'trace' and 'trace_file'");
  const struct hr__upload *upload = upload_find(request->world->uploads, id);
  if (!upload) return hr_fail(request->error, HR_BAD_INPUT, "'trace' in the body: no trace '%.60s' was uploaded", id);
  status = name_upload(request, upload);
  if (status == HR_OK) hr__job_alias(request->job, request->trace, upload->file, false);
  return status;
}

/* Adds a command on the scenario and the trace. The name of the scenario must be added as its last word. */
static struct hr__step *begin_command(struct request *request, const char *verb) {
  struct hr__step *step = hr__job_step(request->job, HR__STEP_COMMAND, NULL);
  hr__step_words(request->job, step, "headroom", verb, (const char *)NULL);
  return step;
}

/* Inserts, before the last step `step`, a command that writes the trace with another load, and lets the last step read
   the result. The inserted command does not know how the scenario reads a trace. The trace must therefore be an upload,
   which has already been read and packed. */
static enum hr_status add_scaled_trace(struct request *request, struct hr__step *step, double load) {
  struct hr__job *job = request->job;
  const char *source = request->trace;
  if (!source)
    return hr_fail(request->error, HR_BAD_INPUT, "'load' in the body needs 'trace', an upload of /api/trace");
  const char *scaled = hr__job_path(job, "scaled.hrt");
  struct hr__step *first = hr__job_step(job, HR__STEP_COMMAND, NULL);
  char text[40], name[300];
  if (!step || !first) return HR_OK; /* out of memory, which the job knows */
  struct hr__step command = *step;
  *step = *first;
  *first = command;
  snprintf(text, sizeof text, "%.15g", load);
  hr__step_words(job, step, "headroom", "trace", "scale", "--quiet", "--by=compress", (const char *)NULL);
  add_option(request, step, "load", text);
  add_option(request, step, "output", scaled);
  hr__step_words(job, step, "--", source, (const char *)NULL);
  snprintf(name, sizeof name, "%.200s, load x %s", source, text);
  hr__job_alias(job, name, scaled, false);
  add_option(request, first, "trace", name);
  add_option(request, first, "format", "auto");
  return HR_OK;
}

static enum hr_status add_trace(struct request *request, struct hr__step **step) {
  const cJSON *load = member(request, HR__BODY_LOAD);
  if (load && (!cJSON_IsNumber(load) || !(load->valuedouble >= 0.01 && load->valuedouble <= 100)))
    return wrong(request, HR__BODY_LOAD, "a number from 0.01 to 100");
  if (load && load->valuedouble != 1) {
    enum hr_status status = add_scaled_trace(request, *step, load->valuedouble);
    *step = &request->job->steps[request->job->n_steps - 1];
    return status;
  }
  if (request->trace) {
    add_option(request, *step, "trace", request->trace);
    add_option(request, *step, "format", "auto"); /* it was packed, whatever its format was */
    return HR_OK;
  }
  return add_text_option(request, *step, "trace", HR__BODY_TRACE_FILE);
}

static enum hr_status add_input(struct request *request, struct hr__step **command) {
  struct hr__step *step = *command;
  enum hr_status status = add_overrides(request, step);
  if (status == HR_OK) status = add_text_option(request, step, "policy", HR__BODY_POLICY);
  if (status == HR_OK) status = add_number_option(request, step, "seed", HR__BODY_SEED, 9007199254740991.0);
  return status == HR_OK ? add_trace(request, command) : status;
}

static void end_command(struct request *request, struct hr__step *step) {
  hr__step_words(request->job, step, "--", request->scenario, (const char *)NULL);
}

static void add_threads(struct request *request, struct hr__step *step) {
  char text[16];
  snprintf(text, sizeof text, "%" PRIu32, request->world->threads);
  add_option(request, step, "threads", text);
}

/* ---- Jobs of the routes ----------------------------------------------------------------------------- */

static enum hr_status make_check(struct request *request) {
  struct hr__job *job = request->job;
  const char *words = hr__job_path(job, "words.txt");
  struct hr__step *step = begin_command(request, "validate");
  enum hr_status status = add_input(request, &step);
  end_command(request, step);
  if (step) step->text = strdup(words);
  hr__job_step(job, HR__STEP_TEXT, "{\"valid\":true,\"text\":");
  hr__job_step(job, HR__STEP_STRING, words);
  hr__job_step(job, HR__STEP_TEXT, "}");
  return status;
}

static enum hr_status make_run(struct request *request) {
  struct hr__job *job = request->job;
  double series;
  enum hr_status status = number_of(request, HR__BODY_SERIES, HR_MAX_AVERAGES, 0, &series);
  const char *summary = series > 0 ? hr__job_path(job, "summary.json") : NULL;
  const char *averages = series > 0 ? hr__job_path(job, "averages.json") : NULL;
  struct hr__step *step = begin_command(request, "run");
  hr__step_word(job, step, "--quiet");
  add_option(request, step, "json", "-");
  if (step && summary) step->text = strdup(summary);
  if (averages) {
    char count[16];
    snprintf(count, sizeof count, "%.0f", series);
    add_option(request, step, "averages", averages);
    add_option(request, step, "intervals", count);
  }
  if (status == HR_OK) status = add_number_option(request, step, "replications", HR__BODY_REPLICATIONS, 1e6);
  if (status == HR_OK) status = add_input(request, &step);
  end_command(request, step);
  if (!averages) return status;
  hr__job_step(job, HR__STEP_OPEN, summary);
  hr__job_step(job, HR__STEP_TEXT, ",\"series\":");
  hr__job_step(job, HR__STEP_FILE, averages);
  hr__job_step(job, HR__STEP_TEXT, "}");
  return status;
}

static enum hr_status add_plan_options(struct request *request, struct hr__step *step) {
  const cJSON *brief = member(request, HR__BODY_BRIEF);
  if (brief && !cJSON_IsBool(brief)) return wrong(request, HR__BODY_BRIEF, "true or false");
  if (cJSON_IsTrue(brief)) hr__step_word(request->job, step, "--brief");
  enum hr_status status = HR_OK;
  if (request->route->members >> HR__BODY_FORECAST & 1U)
    status = add_number_option(request, step, "forecast", HR__BODY_FORECAST, 18);
  add_threads(request, step);
  return status;
}

static enum hr_status make_plan(struct request *request) {
  struct hr__step *step = begin_command(request, "plan");
  request->job->planned = true;
  hr__step_word(request->job, step, "--quiet");
  add_option(request, step, "json", "-");
  add_option(request, step, "events", "/dev/fd/3"); /* the pipe of a worker */
  enum hr_status status = add_plan_options(request, step);
  if (status == HR_OK) status = add_input(request, &step);
  end_command(request, step);
  return status;
}

/* Returns a name for the baseline in the folder of the scenario, so that equal relative paths in both scenarios name
   the same files. The caller frees the name. Returns NULL if out of memory. */
static char *baseline_name(const char *scenario) {
  static const char name[] = "baseline of the body";
  const char *slash = strrchr(scenario, '/');
  size_t length = slash ? (size_t)(slash - scenario) + 1 : 0;
  char *path = malloc(length + sizeof name);
  if (!path) return NULL;
  memcpy(path, scenario, length);
  memcpy(path + length, name, sizeof name);
  return path;
}

/* Adds the command that runs the baseline and the scenario on the same trace and compares them. */
static enum hr_status make_diff(struct request *request, const cJSON *baseline) {
  enum hr_status status = refuse_both(request, HR__BODY_BASELINE, HR__BODY_POLICIES);
  if (status == HR_OK) status = refuse_both(request, HR__BODY_BASELINE, HR__BODY_REPLICATIONS);
  if (status != HR_OK) return status;
  char *name = baseline_name(request->scenario);
  if (!name) return hr__no_memory(request->error);
  status = store_scenario(request, baseline, "baseline.json", name);
  struct hr__step *step = begin_command(request, "diff");
  add_option(request, step, "json", "-");
  add_threads(request, step);
  if (status == HR_OK) status = add_input(request, &step);
  hr__step_words(request->job, step, "--", name, request->scenario, (const char *)NULL);
  free(name);
  return status;
}

static enum hr_status add_compare_options(struct request *request, struct hr__step *step) {
  const char *policies;
  enum hr_status status = text_of(request, HR__BODY_POLICIES, &policies);
  if (status != HR_OK) return status;
  if (!policies)
    return hr_fail(request->error, HR_BAD_INPUT,
                   "the body names nothing to compare with: expected 'policies', such as \"fifo,sjf\", or 'baseline'");
  status = refuse_both(request, HR__BODY_POLICY, HR__BODY_POLICIES);
  if (status != HR_OK) return status;
  add_option(request, step, "policies", policies);
  add_threads(request, step);
  return add_number_option(request, step, "replications", HR__BODY_REPLICATIONS, 1e6);
}

static enum hr_status make_compare(struct request *request) {
  const cJSON *baseline = member(request, HR__BODY_BASELINE);
  if (baseline) return make_diff(request, baseline);
  struct hr__step *step = begin_command(request, "compare");
  hr__step_word(request->job, step, "--quiet");
  add_option(request, step, "json", "-");
  enum hr_status status = add_compare_options(request, step);
  if (status == HR_OK) status = add_input(request, &step);
  end_command(request, step);
  return status;
}

/* Adds an option for each text of a list. */
static enum hr_status add_list(struct request *request, struct hr__step *step, const char *option,
                               enum hr__body_member id) {
  const cJSON *list = member(request, id);
  if (list && !cJSON_IsArray(list)) return wrong(request, id, "a list of strings");
  for (const cJSON *at = list ? list->child : NULL; at; at = at->next) {
    if (!cJSON_IsString(at)) return wrong(request, id, "a list of strings");
    add_option(request, step, option, at->valuestring);
  }
  return HR_OK;
}

static enum hr_status make_draft(struct request *request) {
  const char *file;
  enum hr_status status = text_of(request, HR__BODY_TRACE_FILE, &file);
  if (status != HR_OK) return status;
  if (!request->trace && !file)
    return hr_fail(request->error, HR_BAD_INPUT, "the body names no trace: expected 'trace' or 'trace_file'");
  struct hr__step *step = begin_command(request, "init");
  add_option(request, step, "from", request->trace ? request->trace : file);
  add_option(request, step, "output", "-"); /* so the draft names the trace as the user does */
  status = add_list(request, step, "own", HR__BODY_OWN);
  if (status == HR_OK) status = add_text_option(request, step, "cloud", HR__BODY_CLOUD);
  return status == HR_OK ? add_list(request, step, "goal", HR__BODY_GOALS) : status;
}

/* Exports. The columns: the result, the form in which it is exported, the verb and its option for a file, the media
   type, and the name of the file. */
static const struct export {
  const char *of, *as, *verb, *option, *type, *saved;
}
exports[] = {
    {"run", "page", "report", "output", "text/html", "report.html"},
    {"run", "json", "run", "json", "application/json", "summary.json"},
    {"run", "csv", "run", "costs", "text/csv", "costs.csv"},
    {"run", "jobs", "run", "jobs", "text/csv", "jobs.csv"},
    {"run", "timeline", "run", "timeline", "text/csv", "timeline.csv"},
    {"run", "markdown", "run", "md", "text/markdown", "summary.md"},
    {"compare", "page", "compare", "report", "text/html", "compare.html"},
    {"compare", "json", "compare", "json", "application/json", "compare.json"},
    {"compare", "csv", "compare", "csv", "text/csv", "compare.csv"},
    {"compare", "markdown", "compare", "md", "text/markdown", "compare.md"},
    {"plan", "page", "plan", "report", "text/html", "plan.html"},
    {"plan", "json", "plan", "json", "application/json", "plan.json"},
};

static const struct export *find_export(const char *of, const char *as) {
  for (size_t i = 0; i < sizeof exports / sizeof *exports; i++)
    if (strcmp(exports[i].of, of) == 0 && strcmp(exports[i].as, as) == 0) return &exports[i];
  return NULL;
}

/* Rejects members of the body that have no effect on the command of the export. */
static enum hr_status check_export(struct request *request, const struct export *export) {
  const bool plans = strcmp(export->verb, "plan") == 0, compares = strcmp(export->verb, "compare") == 0;
  const bool accepted[HR__N_BODY_MEMBERS] = {[HR__BODY_BRIEF] = plans,
                                             [HR__BODY_POLICIES] = compares,
                                             [HR__BODY_REPLICATIONS] = compares || strcmp(export->verb, "run") == 0};
  static const enum hr__body_member some[] = {HR__BODY_BRIEF, HR__BODY_POLICIES, HR__BODY_REPLICATIONS};
  for (size_t i = 0; i < sizeof some / sizeof *some; i++)
    if (member(request, some[i]) && !accepted[some[i]])
      return hr_fail(request->error, HR_BAD_INPUT, "'%s' in the body has no effect on the export of '%s' as '%s'",
                     hr__body_names[some[i]], export->of, export->as);
  return HR_OK;
}

static enum hr_status make_export(struct request *request) {
  const char *of, *as;
  enum hr_status status = text_of(request, HR__BODY_OF, &of);
  if (status == HR_OK) status = text_of(request, HR__BODY_AS, &as);
  if (status != HR_OK) return status;
  const struct export *export = find_export(of ? of : "run", as ? as : "page");
  if (!export)
    return hr_fail(request->error, HR_BAD_INPUT,
                   "'of' and 'as' in the body: expected run as page, json, csv, jobs, timeline or markdown; compare as "
                   "page, json, csv or markdown; or plan as page or json");
  status = check_export(request, export);
  if (status != HR_OK) return status;
  struct hr__job *job = request->job;
  struct hr__step *step = begin_command(request, export->verb);
  job->type = export->type;
  job->saved = export->saved;
  job->planned = strcmp(export->verb, "plan") == 0;
  hr__step_word(job, step, "--quiet");
  add_option(request, step, export->option, "-");
  if (job->planned) status = add_plan_options(request, step);
  if (status == HR_OK && strcmp(export->verb, "compare") == 0) status = add_compare_options(request, step);
  if (status == HR_OK && strcmp(export->verb, "run") == 0)
    status = add_number_option(request, step, "replications", HR__BODY_REPLICATIONS, 1e6);
  if (status == HR_OK) status = add_input(request, &step);
  end_command(request, step);
  return status;
}

static enum hr_status make(struct request *request) {
  const enum hr__route_id id = request->route->id;
  if (id == HR__ROUTE_DRAFT) return make_draft(request);
  if (id == HR__ROUTE_CHECK) return make_check(request);
  if (id == HR__ROUTE_RUN) return make_run(request);
  if (id == HR__ROUTE_PLAN) return make_plan(request);
  if (id == HR__ROUTE_COMPARE) return make_compare(request);
  if (id == HR__ROUTE_EXPORT) return make_export(request);
  return hr_fail(request->error, HR_BAD_INPUT, "%s has no body", request->route->path);
}

enum hr_status hr__request_job(const struct hr__request_world *world, const struct hr__route *route, const char *body,
                               size_t bytes, struct hr__job *job, struct hr_error *error) {
  struct request request = {.world = world, .route = route, .job = job, .error = error};
  *job = (struct hr__job){0};
  enum hr_status status = hr__json_file_copy("body", (const unsigned char *)body, bytes, &request.file, error);
  if (status != HR_OK) return status;
  request.body = request.file.tree;
  if (!cJSON_IsObject(request.body)) status = hr_fail(error, HR_BAD_INPUT, "the body is not a JSON object");
  if (status == HR_OK) status = check_members(&request);
  if (status == HR_OK) status = hr__job_begin(job, world->scratch, error);
  if (status == HR_OK) status = find_scenario(&request);
  if (status == HR_OK) status = find_trace(&request);
  if (status == HR_OK) status = make(&request);
  if (status == HR_OK && job->out_of_memory) status = hr__no_memory(error);
  hr__json_file_finish(&request.file);
  free(request.plain_name);
  free(request.trace_name);
  return status;
}
