/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Exchanges: bodies, workers, answers. serve/server.c connects them to HTTP.
 *
 * Invariant: an exchange has a folder and may have a worker from its begin until it is freed; n_running and n_waiting
 * are the numbers of exchanges in these states, and n_plans is the number of plans among the running ones. An answered
 * exchange changes no more.
 */

#include "serve/exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 200, BAD_REQUEST = 400, TOO_LARGE = 413, UNPROCESSABLE = 422, FAILED = 500, OVERLOADED = 503 };

/* Waits of a stream without news after which a comment shows that it lives. */
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

/* ---- Bodies -------------------------------------------------------------------------------------------- */

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

/* ---- Begin --------------------------------------------------------------------------------------------- */

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

/* ---- Events -------------------------------------------------------------------------------------------- */

static void add_events(struct hr__exchange *exchange, const char *bytes, size_t count) {
  if (exchange->sent > 0 && exchange->sent == exchange->n_events) exchange->sent = exchange->n_events = 0;
  char *events = realloc(exchange->events, exchange->n_events + count);
  if (!events) return; /* an event is lost; the result follows */
  memcpy(events + exchange->n_events, bytes, count);
  exchange->events = events;
  exchange->n_events += count;
  exchange->next_beat_s = hr__serve_clock_s() + beat_s;
}

/* Adds an event; each line of the data is a line of the event. */
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

/* Passes a line of the worker on, {"event":"NAME",...}, as an event of this name. */
static void pass_line(struct hr__exchange *exchange, char *line) {
  static const char mark[] = "{\"event\":\"";
  char name[32] = "";
  if (strncmp(line, mark, sizeof mark - 1) != 0) return;
  size_t length = strcspn(line + sizeof mark - 1, "\"");
  if (length == 0 || length >= sizeof name) return;
  memcpy(name, line + sizeof mark - 1, length);
  add_event(exchange, name, line);
}

/* Passes complete lines on, and keeps the rest. A line that is too long is lost. */
static void pass_lines(struct hr__exchange *exchange, const char *block, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (block[i] != '\n') {
      if (exchange->n_line < sizeof exchange->line - 1) exchange->line[exchange->n_line++] = block[i];
      continue;
    }
    exchange->line[exchange->n_line] = '\0';
    exchange->n_line = 0;
    pass_line(exchange, exchange->line);
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

/* ---- Workers ------------------------------------------------------------------------------------------- */

/* Plans take minutes to hours, so they leave a worker for the other requests. A single worker has an additional one
   while there is a plan. */
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
