/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Exchanges of the server: checks of requests, settings and folders, bodies, workers, answers. serve/server.c connects
 * exchanges to HTTP.
 *
 * The checks protect the server from foreign sites and DNS rebinding (Host and Origin: Fetch standard, "Origin header";
 * RFC 9110, 7.2), from other users of the machine (token), and from access to files outside of the folder of the server
 * (paths).
 *
 * Invariants: n_running and n_waiting are the numbers of exchanges in these states, and n_plans is the number of plans
 * among the running exchanges. The folder of a job and the process of a worker end at the latest when their exchange is
 * freed. The answer of an exchange is set only once.
 */

#include "serve/serve.h"

#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Checks of requests: Host and Origin ------------------------------------------------------------ */

/* Splits "name:port" or "[address]:port". The default port is 80. Returns false if the text has another form. */
static bool split_host(const char *host, char *name, size_t size, unsigned long *port) {
  const char *colon = strrchr(host, ':'), *bracket = strrchr(host, ']');
  if (colon && bracket && colon < bracket) colon = NULL;
  size_t length = colon ? (size_t)(colon - host) : strlen(host);
  *port = 80;
  if (length == 0 || length >= size) return false;
  memcpy(name, host, length);
  name[length] = '\0';
  if (!colon) return true;
  size_t digits = strspn(colon + 1, "0123456789");
  if (digits == 0 || digits > 5 || colon[1 + digits] != '\0') return false;
  *port = strtoul(colon + 1, NULL, 10);
  return true;
}

static bool is_number_address(const char *name) {
  return strspn(name, "0123456789.") == strlen(name) || name[0] == '[';
}

bool hr__guard_host(const char *host, const char *address, uint16_t port) {
  char name[256];
  unsigned long named;
  if (!host || !split_host(host, name, sizeof name, &named) || named != port) return false;
  bool everywhere = strcmp(address, "0.0.0.0") == 0;
  if (strcasecmp(name, "localhost") == 0) return true;
  if (strcmp(name, "127.0.0.1") == 0 || strcmp(name, address) == 0) return true;
  return everywhere && is_number_address(name);
}

bool hr__guard_origin(const char *origin, const char *host) {
  static const char scheme[] = "http://";
  if (!origin) return true;
  return strncmp(origin, scheme, sizeof scheme - 1) == 0 && strcasecmp(origin + sizeof scheme - 1, host) == 0;
}

/* ---- Checks of requests: tokens --------------------------------------------------------------------- */

bool hr__guard_token(const char *given, const char *token) {
  if (!given || strlen(given) != strlen(token)) return false;
  unsigned different = 0;
  for (size_t i = 0; token[i]; i++) different |= (unsigned)((unsigned char)given[i] ^ (unsigned char)token[i]);
  return different == 0;
}

enum hr_status hr__token_make(char token[HR__MAX_TOKEN + 1], struct hr_error *error) {
  unsigned char bytes[HR__TOKEN_BYTES];
  if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
    return hr_fail(error, HR_IO_ERROR, "no random numbers for the token: %s", strerror(errno));
  for (size_t i = 0; i < sizeof bytes; i++) snprintf(token + 2 * i, 3, "%02x", bytes[i]);
  return HR_OK;
}

enum hr_status hr__token_read(const char *path, char token[HR__MAX_TOKEN + 1], struct hr_error *error) {
  struct stat info;
  FILE *file = fopen(path, "r");
  char *got = file ? fgets(token, HR__MAX_TOKEN + 1, file) : NULL;
  bool is_private = file && fstat(fileno(file), &info) == 0 && (info.st_mode & (S_IRWXG | S_IRWXO)) == 0;
  int number = errno;
  if (file) fclose(file);
  if (!file) return hr_fail(error, HR_BAD_INPUT, "--token-file %s: cannot be read: %s", path, strerror(number));
  if (!is_private)
    return hr_fail(error, HR_BAD_INPUT, "--token-file %s: others may read it; 'chmod 600' makes it private", path);
  size_t length = got ? strcspn(token, "\r\n") : 0;
  token[length] = '\0';
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
  if (length >= HR__MIN_TOKEN && strspn(token, allowed) == length) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "--token-file %s: expected a line of %d to %d letters, digits, '-' and '_'", path,
                 HR__MIN_TOKEN, HR__MAX_TOKEN);
}

/* ---- Checks of requests: files ---------------------------------------------------------------------- */

bool hr__guard_file(const char *folder, const char *name, char **real) {
  struct stat info;
  *real = NULL;
  if (!name[0] || name[0] == '/') return false;
  char *path = hr__joined_path(folder, name);
  if (!path) return false;
  *real = realpath(path, NULL);
  free(path);
  bool is_shown = *real && hr__is_below(*real, folder) && !strstr(*real + (folder[1] ? strlen(folder) : 0), "/.");
  if (is_shown && stat(*real, &info) == 0 && S_ISREG(info.st_mode)) return true;
  free(*real);
  *real = NULL;
  return false;
}

/* ---- Settings and folders --------------------------------------------------------------------------- */

/* The files that ship with Headroom are in two adjacent folders, scenarios and traces, because scenarios name their
   traces by relative paths. */

enum { MAX_FILES = 2048 };

static void set_defaults(struct hr_serve_config *settings) {
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  uint32_t count = processors < 1 ? 1 : (uint32_t)processors;
  if (!settings->folder) settings->folder = ".";
  if (!settings->address) settings->address = "127.0.0.1";
  if (!settings->workers) settings->workers = count;
  if (!settings->threads) settings->threads = count;
  if (!settings->max_upload_mib) settings->max_upload_mib = HR_SERVE_MAX_UPLOAD_MIB;
  if (!settings->max_memory_mib) settings->max_memory_mib = HR_SERVE_MAX_MEMORY_MIB;
  if (!settings->max_seconds) settings->max_seconds = HR_SERVE_MAX_SECONDS;
  if (!settings->max_plan_seconds) settings->max_plan_seconds = HR_SERVE_MAX_PLAN_SECONDS;
}

static enum hr_status find_folder(struct hr__server *server, struct hr_error *error) {
  struct stat info;
  const char *folder = server->config->folder;
  server->folder = realpath(folder, NULL);
  if (!server->folder) return hr_fail(error, HR_BAD_INPUT, "%s: %s", folder, strerror(errno));
  if (stat(server->folder, &info) == 0 && S_ISDIR(info.st_mode)) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: is not a folder", folder);
}

static enum hr_status make_scratch(struct hr__server *server, struct hr_error *error) {
  const char *parent = getenv("TMPDIR");
  char path[4096];
  if (!parent || !parent[0]) parent = "/tmp";
  int length = snprintf(path, sizeof path, "%s/headroom-serve-XXXXXX", parent);
  if (length < 0 || (size_t)length >= sizeof path || !mkdtemp(path))
    return hr_fail(error, HR_IO_ERROR, "%s: a temporary folder cannot be created: %s", parent, strerror(errno));
  server->scratch = realpath(path, NULL);
  return server->scratch ? HR_OK : hr_fail(error, HR_IO_ERROR, "%s: %s", path, strerror(errno));
}

/* Returns the real path of the folder `name` beside the folder of the shipped scenarios, or of that folder itself if
   `name` is NULL. `scenario` is the path of a shipped scenario. Returns NULL if the folder does not exist. The caller
   frees the path. */
static char *shipped_folder(const char *scenario, const char *name) {
  char path[4096];
  const char *slash = strrchr(scenario, '/');
  int length = slash ? (int)(slash - scenario) : 0;
  snprintf(path, sizeof path, "%.*s%s%s", length, scenario, name ? "/../" : "", name ? name : "");
  return slash ? realpath(path, NULL) : NULL;
}

/* Adds a folder or a single file that workers may read. Takes ownership of `path`, even after an error. */
static enum hr_status allow(struct hr__server *server, char *path, struct hr_error *error) {
  size_t count = server->rules.n_folders;
  char **folders = path ? realloc(server->folders, (count + 1) * sizeof *folders) : NULL;
  if (!folders) {
    free(path);
    return hr__no_memory(error);
  }
  server->folders = folders;
  folders[count] = path;
  server->rules.n_folders++;
  return HR_OK;
}

static bool is_allowed(const struct hr__server *server, const char *path) {
  for (size_t i = 0; i < server->rules.n_folders; i++)
    if (hr__is_below(path, server->folders[i])) return true;
  return false;
}

/* Lets workers read the files of a shipped scenario that are in other folders, such as public traces beside the
   checkout. */
static enum hr_status allow_data(struct hr__server *server, const struct hr__shipped_state *state,
                                 struct hr_error *error) {
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < state->n_files && status == HR_OK; i++)
    if (!is_allowed(server, state->files[i])) status = allow(server, strdup(state->files[i]), error);
  return status;
}

/* Finds the shipped files, and lets workers read them. If there are none, the server has only the files of the user. */
static enum hr_status find_shipped(struct hr__server *server, struct hr_error *error) {
  if (hr_scenario_list(&server->shipped, &server->n_shipped, NULL) != HR_OK || !server->n_shipped) return HR_OK;
  const char *first = server->shipped[0].path;
  char *found[] = {shipped_folder(first, NULL), shipped_folder(first, "traces")};
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < sizeof found / sizeof *found; i++)
    if (found[i] && allow(server, found[i], error) != HR_OK) status = HR_NO_MEMORY;
  server->data_folder = shipped_folder(first, ".");
  server->shipped_folder = status == HR_OK ? found[0] : NULL;
  server->shipped_name = status == HR_OK && found[0] ? strrchr(found[0], '/') + 1 : "";
  server->shipped_states = calloc(server->n_shipped, sizeof *server->shipped_states);
  if (!server->shipped_states) return hr__no_memory(error);
  for (size_t i = 0; i < server->n_shipped && status == HR_OK; i++) {
    status = hr__shipped_look(server->shipped[i].path, &server->shipped_states[i], error);
    if (status == HR_OK) status = allow_data(server, &server->shipped_states[i], error);
  }
  return status;
}

static void set_rules(struct hr__server *server) {
  const struct hr_serve_config *config = server->config;
  server->max_workers = config->workers;
  server->rules.command = config->command;
  server->rules.folder = server->folder;
  server->rules.folders = (const char *const *)server->folders;
  server->rules.scratch = server->scratch;
  server->rules.data_folder = server->data_folder;
  server->rules.allow_plugins = config->allow_plugins;
  server->rules.memory_bytes = config->max_memory_mib << 20;
  server->rules.file_bytes = UINT64_C(8) * (config->max_upload_mib << 20);
  server->rules.run_s = config->max_seconds;
  server->rules.plan_s = config->max_plan_seconds;
  server->world = (struct hr__request_world){.scratch = server->scratch,
                                             .folder = server->folder,
                                             .shipped_folder = server->shipped_name,
                                             .uploads = &server->uploads,
                                             .shipped = server->shipped,
                                             .n_shipped = server->n_shipped,
                                             .threads = config->threads};
}

/* Limits the number of open files, because each worker closes all possible file descriptors of the server. */
static void limit_files(void) {
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max < MAX_FILES ? files.rlim_max : MAX_FILES;
  setrlimit(RLIMIT_NOFILE, &files);
}

enum hr_status hr__serve_prepare(struct hr__server *server, struct hr_serve_config *settings, struct hr_error *error) {
  bool is_local = !settings->address || strcmp(settings->address, "127.0.0.1") == 0;
  if (!is_local && !settings->token_file)
    return hr_fail(error, HR_BAD_INPUT, "--listen %s: other machines can connect, so --token-file is needed",
                   settings->address);
  set_defaults(settings);
  server->config = settings;
  server->address = settings->address;
  enum hr_status status = settings->token_file ? hr__token_read(settings->token_file, server->token, error)
                                               : hr__token_make(server->token, error);
  if (status == HR_OK) status = find_folder(server, error);
  if (status == HR_OK) status = make_scratch(server, error);
  if (status != HR_OK) return status;
  limit_files();
  status = allow(server, strdup(server->folder), error);
  if (status == HR_OK) status = find_shipped(server, error);
  set_rules(server);
  return status;
}

void hr__serve_paths_finish(struct hr__server *server) {
  for (size_t i = 0; i < server->rules.n_folders; i++) free(server->folders[i]);
  free(server->folders);
  for (size_t i = 0; server->shipped_states && i < server->n_shipped; i++)
    hr__shipped_finish(&server->shipped_states[i]);
  free(server->shipped_states);
  free(server->data_folder);
  hr_scenario_list_free(server->shipped, server->n_shipped);
  if (server->scratch) hr__remove_folder(server->scratch);
  free(server->scratch);
  free(server->folder);
}

/* ---- Exchanges -------------------------------------------------------------------------------------- */

enum { OK = 200, BAD_REQUEST = 400, TOO_LARGE = 413, UNPROCESSABLE = 422, FAILED = 500, OVERLOADED = 503 };

/* Seconds after which a stream without a new event sends a comment, which shows that the connection is alive. */
static const double beat_s = 1;

void hr__exchange_refuse(struct hr__exchange *exchange, unsigned code, const char *format, ...) {
  va_list values;
  if (exchange->state == HR__ANSWERED) return;
  va_start(values, format);
  vsnprintf(exchange->message, sizeof exchange->message, format, values);
  va_end(values);
  exchange->code = code;
  exchange->state = HR__ANSWERED;
}

static void refuse_error(struct hr__exchange *exchange, enum hr_status status, const struct hr_error *error) {
  unsigned code = status == HR_BAD_INPUT ? BAD_REQUEST : FAILED;
  hr__exchange_refuse(exchange, code, "%s", error->text[0] ? error->text : hr_status_meaning(status));
}

/* ---- Exchanges: bodies ------------------------------------------------------------------------------ */

static void receive_upload(struct hr__exchange *exchange, const char *bytes, size_t count) {
  uint64_t max_mib = exchange->server->config->max_upload_mib;
  if (exchange->received > max_mib << 20) {
    hr__exchange_refuse(exchange, TOO_LARGE, "the upload is larger than %" PRIu64 " MiB (--max-upload)", max_mib);
    return;
  }
  for (ssize_t written; count > 0; bytes += written, count -= (size_t)written) {
    written = write(exchange->upload, bytes, count);
    if (written > 0) continue;
    hr__exchange_refuse(exchange, FAILED, "the upload cannot be stored: %s", strerror(errno));
    return;
  }
}

void hr__exchange_receive(struct hr__exchange *exchange, const char *bytes, size_t count) {
  exchange->received += count;
  if (exchange->state != HR__RECEIVING) return;
  if (exchange->upload >= 0) {
    receive_upload(exchange, bytes, count);
    return;
  }
  if (exchange->received > HR__MAX_BODY) {
    hr__exchange_refuse(exchange, TOO_LARGE, "the body is larger than 16 MiB");
    return;
  }
  char *body = realloc(exchange->body, exchange->used + count);
  if (!body) {
    hr__exchange_refuse(exchange, FAILED, "out of memory");
    return;
  }
  memcpy(body + exchange->used, bytes, count);
  exchange->body = body;
  exchange->used += count;
}

/* ---- Exchanges: begin ------------------------------------------------------------------------------- */

static void wait_for_worker(struct hr__exchange *exchange) {
  struct hr__server *server = exchange->server;
  if (server->n_waiting >= HR__MAX_WAITING) {
    hr__exchange_refuse(exchange, OVERLOADED, "too many requests wait; try again later");
    return;
  }
  server->n_waiting++;
  exchange->state = HR__WAITING;
}

static void begin_upload(struct hr__exchange *exchange, const struct hr__upload_query *query) {
  struct hr_error error = {0};
  char *packed = malloc(strlen(exchange->upload_path) + sizeof ".hrt");
  close(exchange->upload);
  exchange->upload = -1;
  if (!packed) {
    hr__exchange_refuse(exchange, FAILED, "out of memory");
    return;
  }
  stpcpy(stpcpy(packed, exchange->upload_path), ".hrt");
  exchange->upload_packed = packed;
  struct hr__upload_query asked = *query;
  char *shipped = NULL, *format = NULL;
  if (query->shipped && (query->name || query->format || query->map || query->lenient || exchange->received > 0)) {
    hr__exchange_refuse(exchange, BAD_REQUEST,
                        "shipped in the address names a trace: expected no body, and no name, "
                        "format, map or lenient");
    return;
  }
  if (query->shipped &&
      hr__request_shipped_trace(&exchange->server->world, query->shipped, &shipped, &format, &error) != HR_OK) {
    free(shipped);
    free(format);
    refuse_error(exchange, HR_BAD_INPUT, &error);
    return;
  }
  if (shipped) asked.name = shipped;
  if (shipped) asked.format = format;
  if (shipped) exchange->shipped = hr__shipped_path(&exchange->server->world, query->shipped);
  const struct hr__upload *listed =
      shipped ? hr__upload_of_shipped(&exchange->server->uploads, exchange->shipped) : NULL;
  exchange->is_listed = listed != NULL;
  enum hr_status status =
      hr__request_trace_job(&exchange->server->world, &asked, listed ? listed->id : exchange->id,
                            shipped ? shipped : exchange->upload_path, packed, &exchange->job, &error);
  free(shipped);
  free(format);
  if (status != HR_OK)
    refuse_error(exchange, status, &error);
  else
    wait_for_worker(exchange);
}

void hr__exchange_begin(struct hr__exchange *exchange, const struct hr__upload_query *query) {
  struct hr_error error = {0};
  if (exchange->state != HR__RECEIVING) return;
  exchange->has_job = true;
  if (exchange->route->id == HR__ROUTE_TRACE) {
    begin_upload(exchange, query);
    return;
  }
  enum hr_status status = hr__request_job(&exchange->server->world, exchange->route,
                                          exchange->body ? exchange->body : "", exchange->used, &exchange->job, &error);
  free(exchange->body);
  exchange->body = NULL;
  if (status != HR_OK)
    refuse_error(exchange, status, &error);
  else
    wait_for_worker(exchange);
}

/* ---- Exchanges: events ------------------------------------------------------------------------------ */

static void add_events(struct hr__exchange *exchange, const char *bytes, size_t count) {
  if (exchange->sent > 0 && exchange->sent == exchange->n_events) exchange->sent = exchange->n_events = 0;
  char *events = realloc(exchange->events, exchange->n_events + count);
  if (!events) return; /* an event is lost; the result follows */
  memcpy(events + exchange->n_events, bytes, count);
  exchange->events = events;
  exchange->n_events += count;
  exchange->next_beat_s = hr__serve_clock_s() + beat_s;
}

/* Adds an event. Each line of `data` becomes one data line of the event. */
static void add_event(struct hr__exchange *exchange, const char *name, const char *data) {
  add_events(exchange, "event: ", 7);
  add_events(exchange, name, strlen(name));
  for (const char *at = data, *end;; at = end + 1) {
    end = strchr(at, '\n');
    add_events(exchange, "\ndata: ", 7);
    add_events(exchange, at, end ? (size_t)(end - at) : strlen(at));
    if (!end) break;
  }
  add_events(exchange, "\n\n", 2);
}

/* Adds a line of the worker, {"event":"NAME",...}, as an event with this name. */
static void pass_line(struct hr__exchange *exchange, char *line) {
  static const char mark[] = "{\"event\":\"";
  char name[32] = "";
  if (strncmp(line, mark, sizeof mark - 1) != 0) return;
  size_t length = strcspn(line + sizeof mark - 1, "\"");
  if (length == 0 || length >= sizeof name) return;
  memcpy(name, line + sizeof mark - 1, length);
  add_event(exchange, name, line);
}

/* Adds the complete lines of a block as events, and stores the rest. A line that is too long is omitted, because a part
   of a JSON document is not valid JSON. */
static void pass_lines(struct hr__exchange *exchange, const char *block, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (block[i] != '\n') {
      if (exchange->n_line < sizeof exchange->line) exchange->line[exchange->n_line++] = block[i];
      continue;
    }
    bool fits = exchange->n_line < sizeof exchange->line;
    if (fits) exchange->line[exchange->n_line] = '\0';
    exchange->n_line = 0;
    if (fits) pass_line(exchange, exchange->line);
  }
}

static void read_events(struct hr__exchange *exchange) {
  char block[4096];
  struct hr__worker *worker = &exchange->worker;
  while (worker->events >= 0) {
    ssize_t count = read(worker->events, block, sizeof block);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) {
      close(worker->events);
      worker->events = -1;
      return;
    }
    if (exchange->route->streams) pass_lines(exchange, block, (size_t)count);
  }
}

/* ---- Exchanges: workers ----------------------------------------------------------------------------- */

/* Returns true if a worker may start. Plans take minutes to hours, so they must leave one worker for other requests. If
   the maximum is one worker, one plan and one other request may run at the same time. */
static bool has_worker(const struct hr__server *server, bool planned) {
  const uint32_t max = server->max_workers;
  if (max == 1) return planned ? server->n_plans == 0 : server->n_running - server->n_plans == 0;
  return server->n_running < max && (!planned || server->n_plans < max - 1);
}

static void count_running(struct hr__exchange *exchange, bool begins) {
  struct hr__server *server = exchange->server;
  const bool planned = exchange->job.planned;
  server->n_running = begins ? server->n_running + 1 : server->n_running - 1;
  if (planned) server->n_plans = begins ? server->n_plans + 1 : server->n_plans - 1;
}

static void start(struct hr__exchange *exchange) {
  struct hr__server *server = exchange->server;
  struct hr_error error = {0};
  server->n_waiting--;
  if (hr__worker_start(&exchange->worker, &exchange->job, &server->rules, &error) != HR_OK) {
    hr__exchange_refuse(exchange, OVERLOADED, "%s", error.text);
    return;
  }
  count_running(exchange, true);
  exchange->state = HR__RUNNING;
}

static void register_upload(struct hr__exchange *exchange) {
  struct hr__uploads *uploads = &exchange->server->uploads;
  const char *shipped = exchange->shipped;
  if (exchange->is_listed) return;
  if (shipped && hr__upload_of_shipped(uploads, shipped)) shipped = NULL; /* another exchange has just added it */
  if (!shipped) hr__uploads_make_room(uploads, HR__MAX_UPLOADS);
  if (!hr__upload_add(uploads, exchange->id, exchange->job.aliases[0].name, exchange->upload_packed, shipped)) {
    exchange->code = FAILED;
    snprintf(exchange->message, sizeof exchange->message, "out of memory");
    return;
  }
  free(exchange->upload_packed); /* the file belongs to the list now */
  exchange->upload_packed = NULL;
}

static char *read_result(int descriptor) {
  off_t size = lseek(descriptor, 0, SEEK_END);
  char *text = size >= 0 ? malloc((size_t)size + 1) : NULL;
  ssize_t count = text ? pread(descriptor, text, (size_t)size, 0) : -1;
  if (text) text[count > 0 ? count : 0] = '\0';
  return text;
}

/* Adds the last event of a stream. */
static void add_last_event(struct hr__exchange *exchange) {
  char *data =
      exchange->code == OK ? read_result(exchange->worker.result) : hr__error_json(exchange->message, exchange->code);
  add_event(exchange, exchange->code == OK ? "result" : "failed", data ? data : "{}");
  free(data);
}

static void end(struct hr__exchange *exchange) {
  read_events(exchange);
  count_running(exchange, false);
  exchange->state = HR__ANSWERED;
  exchange->code = hr__worker_answer(&exchange->worker, exchange->message, sizeof exchange->message);
  if (exchange->code == OK && exchange->route->id == HR__ROUTE_TRACE) register_upload(exchange);
  if (exchange->route->streams) add_last_event(exchange);
}

static void follow(struct hr__exchange *exchange) {
  read_events(exchange);
  if (hr__worker_poll(&exchange->worker)) end(exchange);
  if (exchange->route->streams && hr__serve_clock_s() > exchange->next_beat_s) add_events(exchange, ":\n\n", 3);
}

void hr__exchanges_work(struct hr__server *server) {
  for (struct hr__exchange *at = server->first; at; at = at->next) {
    if (at->state == HR__RUNNING) follow(at);
    if (at->state == HR__WAITING && has_worker(server, at->job.planned)) start(at);
    if (at->state == HR__WAITING && at->route->streams && hr__serve_clock_s() > at->next_beat_s)
      add_events(at, ":\n\n", 3);
    if (at->state == HR__ANSWERED && at->route && at->route->streams && at->code != OK && !at->events)
      add_last_event(at);
  }
}

bool hr__exchange_stop(struct hr__server *server, const char *id) {
  for (struct hr__exchange *at = server->first; at; at = at->next) {
    if (strcmp(at->id, id) != 0) continue;
    if (at->state == HR__WAITING) {
      server->n_waiting--;
      hr__exchange_refuse(at, OVERLOADED, "stopped");
      return true;
    }
    if (at->state != HR__RUNNING) return false;
    at->worker.stopped = true;
    hr__worker_kill(&at->worker);
    return true;
  }
  return false;
}

void hr__exchange_free(struct hr__exchange *exchange) {
  struct hr__server *server = exchange->server;
  if (exchange->state == HR__RUNNING) count_running(exchange, false);
  if (exchange->state == HR__WAITING) server->n_waiting--;
  for (struct hr__exchange **at = &server->first; *at; at = &(*at)->next)
    if (*at == exchange) {
      *at = exchange->next;
      break;
    }
  hr__worker_finish(&exchange->worker);
  if (exchange->has_job) hr__job_finish(&exchange->job);
  if (exchange->upload >= 0) close(exchange->upload);
  if (exchange->upload_path) unlink(exchange->upload_path);
  if (exchange->upload_packed) unlink(exchange->upload_packed);
  free(exchange->upload_path);
  free(exchange->upload_packed);
  free(exchange->body);
  free(exchange->text);
  free(exchange->events);
  free(exchange);
}
