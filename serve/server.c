/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The server: GNU libmicrohttpd in the only thread of the process, so that workers can be forked safely.
 *
 * The loop waits for connections, for the pipes of workers and for signals. A connection is suspended while its request
 * waits for a worker or its worker runs. The connection of a stream is resumed as soon as it has events. The checks of
 * a request precede its body, so a refused upload is not stored.
 *
 * Invariant: MHD calls handle() for an exchange until a response is queued, and then completed() once.
 */

#include "serve/serve.h"

#ifdef HEADROOM_WITH_MICROHTTPD

#include "base/text.h"
#include "headroom/unstable/scenario_files.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- Responses ----------------------------------------------------------------------------------------- */

static void add_headers(struct MHD_Response *response, const char *type) {
  static const char *const headers[][2] = {
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
       "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
      {"X-Content-Type-Options", "nosniff"},
      {"X-Frame-Options", "DENY"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Cache-Control", "no-store"},
  };
  for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
    MHD_add_response_header(response, headers[i][0], headers[i][1]);
  MHD_add_response_header(response, "Content-Type", type);
}

static enum MHD_Result queue(struct hr__exchange *exchange, unsigned code, struct MHD_Response *response,
                             const char *type) {
  if (!response) return MHD_NO;
  add_headers(response, type);
  if (exchange->job.saved && code == MHD_HTTP_OK) {
    char value[160];
    snprintf(value, sizeof value, "attachment; filename=\"%s\"", exchange->job.saved);
    MHD_add_response_header(response, "Content-Disposition", value);
  }
  if (code == MHD_HTTP_SERVICE_UNAVAILABLE) MHD_add_response_header(response, "Retry-After", "2");
  enum MHD_Result result = MHD_queue_response(exchange->connection, code, response);
  MHD_destroy_response(response);
  return result;
}

static enum MHD_Result queue_error(struct hr__exchange *exchange) {
  char *text = hr__error_json(exchange->message, exchange->code);
  if (!text) return MHD_NO;
  struct MHD_Response *response = MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
  return queue(exchange, exchange->code, response, "application/json");
}

static enum MHD_Result queue_result(struct hr__exchange *exchange) {
  int descriptor = dup(exchange->worker.result);
  off_t size = descriptor >= 0 ? lseek(descriptor, 0, SEEK_END) : -1;
  if (size < 0) return MHD_NO;
  struct MHD_Response *response = MHD_create_response_from_fd((size_t)size, descriptor);
  if (!response) close(descriptor);
  return queue(exchange, exchange->code, response, exchange->job.type);
}

static enum MHD_Result queue_text(struct hr__exchange *exchange, const char *type, const char *text) {
  struct MHD_Response *response =
      MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
  return queue(exchange, MHD_HTTP_OK, response, type);
}

/* ---- Streams ------------------------------------------------------------------------------------------- */

static void suspend(struct hr__exchange *exchange) {
  if (exchange->suspended) return;
  exchange->suspended = true;
  MHD_suspend_connection(exchange->connection);
}

static ssize_t send_events(void *self, uint64_t position, char *buffer, size_t max) {
  struct hr__exchange *exchange = self;
  (void)position;
  size_t left = exchange->n_events - exchange->sent, count = left < max ? left : max;
  if (count == 0 && exchange->state == HR__ANSWERED) return MHD_CONTENT_READER_END_OF_STREAM;
  if (count == 0) {
    suspend(exchange);
    return 0;
  }
  memcpy(buffer, exchange->events + exchange->sent, count);
  exchange->sent += count;
  return (ssize_t)count;
}

static enum MHD_Result queue_stream(struct hr__exchange *exchange) {
  char first[80];
  int length = snprintf(first, sizeof first, "event: start\ndata: {\"job\":\"%s\"}\n\n", exchange->id);
  exchange->events = strdup(first);
  if (!exchange->events) return MHD_NO;
  exchange->n_events = (size_t)length;
  enum { BLOCK_BYTES = 4096 };
  struct MHD_Response *response =
      MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, send_events, exchange, NULL);
  return queue(exchange, MHD_HTTP_OK, response, "text/event-stream");
}

/* ---- Requests without work ----------------------------------------------------------------------------- */

static const char *query_of(const struct hr__exchange *exchange, const char *name) {
  return MHD_lookup_connection_value(exchange->connection, MHD_GET_ARGUMENT_KIND, name);
}

/* Reads the text of a shipped scenario, or of a file in the folder. */
static enum hr_status read_file(struct hr__exchange *exchange, char **text, struct hr_error *error) {
  const struct hr__server *server = exchange->server;
  const char *path = query_of(exchange, "path"), *shipped = query_of(exchange, "shipped");
  for (size_t i = 0; shipped && i < server->n_shipped; i++)
    if (strcmp(server->shipped[i].name, shipped) == 0) return hr__document_text(server->shipped[i].path, text, error);
  char *real = NULL;
  if (shipped || !hr__guard_file(server->folder, path, &real))
    return hr_fail(error, HR_BAD_INPUT, "%s", shipped ? "no such scenario ships" : "no such file in the folder");
  enum hr_status status = hr__document_text(real, text, error);
  free(real);
  return status;
}

static enum MHD_Result queue_document(struct hr__exchange *exchange) {
  struct hr__server *server = exchange->server;
  struct hr_error error = {0};
  enum hr_status status = HR_OK;
  if (exchange->route->id == HR__ROUTE_FILE && !query_of(exchange, "path") == !query_of(exchange, "shipped")) {
    hr__exchange_refuse(exchange, MHD_HTTP_BAD_REQUEST, "expected either path or shipped in the address");
    return queue_error(exchange);
  }
  switch (exchange->route->id) {
  case HR__ROUTE_SCHEMA:
    status = hr_scenario_schema(&exchange->text, &error);
    break;
  case HR__ROUTE_CATALOGUE:
    status = hr__document_catalogue(&exchange->text, &error);
    break;
  case HR__ROUTE_SCENARIOS:
    status = hr__document_scenarios(server->shipped_folder, server->shipped, server->shipped_states, server->n_shipped,
                                    &exchange->text, &error);
    break;
  case HR__ROUTE_FILES:
    status = hr__document_files(server->folder, &exchange->text, &error);
    break;
  default:
    status = read_file(exchange, &exchange->text, &error);
    break;
  }
  if (status == HR_OK)
    return queue_text(exchange,
                      exchange->route->id == HR__ROUTE_FILE ? "text/plain; charset=utf-8" : "application/json",
                      exchange->text);
  hr__exchange_refuse(exchange, status == HR_BAD_INPUT ? MHD_HTTP_NOT_FOUND : MHD_HTTP_INTERNAL_SERVER_ERROR, "%s",
                      error.text);
  return queue_error(exchange);
}

static enum MHD_Result queue_asset(struct hr__exchange *exchange) {
  const char *const assets[][2] = {[HR__ROUTE_PAGE] = {hr__planner_page, "text/html; charset=utf-8"},
                                   [HR__ROUTE_SCRIPT] = {hr__planner_script, "text/javascript; charset=utf-8"},
                                   [HR__ROUTE_STYLE] = {hr__planner_style, "text/css; charset=utf-8"}};
  const char *text = assets[exchange->route->id][0], *type = assets[exchange->route->id][1];
  if (text) return queue_text(exchange, type, text);
  hr__exchange_refuse(exchange, MHD_HTTP_NOT_FOUND,
                      "this program was built without node and npm, so it has no page; the interface below /api works");
  return queue_error(exchange);
}

static enum MHD_Result queue_stop(struct hr__exchange *exchange) {
  const char *job = query_of(exchange, "job");
  if (!job) {
    hr__exchange_refuse(exchange, MHD_HTTP_BAD_REQUEST, "expected job in the address");
    return queue_error(exchange);
  }
  bool stopped = job && hr__exchange_stop(exchange->server, job);
  return queue_text(exchange, "application/json", stopped ? "{\"stopped\":true}" : "{\"stopped\":false}");
}

/* ---- Checks of a request ------------------------------------------------------------------------------- */

static const char *header_of(const struct hr__exchange *exchange, const char *name) {
  return MHD_lookup_connection_value(exchange->connection, MHD_HEADER_KIND, name);
}

static enum MHD_Result check_query(void *self, enum MHD_ValueKind kind, const char *name, const char *value) {
  struct hr__exchange *exchange = self;
  (void)kind;
  if (!hr__is_utf8(name) || !hr__is_utf8(value ? value : ""))
    hr__exchange_refuse(exchange, MHD_HTTP_BAD_REQUEST, "the address is not valid UTF-8");
  else if (!hr__route_has_query(exchange->route, name) || !value)
    hr__exchange_refuse(exchange, MHD_HTTP_BAD_REQUEST, "unknown parameter in the address: '%.60s'", name);
  else if (query_of(exchange, name) != value)
    hr__exchange_refuse(exchange, MHD_HTTP_BAD_REQUEST, "the parameter '%s' is twice in the address", name);
  else if (strcmp(name, "lenient") == 0 && strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
    hr__exchange_refuse(exchange, MHD_HTTP_BAD_REQUEST, "lenient in the address: expected 0 or 1");
  return MHD_YES;
}

static void check_length(struct hr__exchange *exchange) {
  uint64_t max = exchange->route->id == HR__ROUTE_TRACE ? exchange->server->config->max_upload_mib << 20
                 : exchange->route->members             ? HR__MAX_BODY
                                                        : 0;
  const char *text = header_of(exchange, MHD_HTTP_HEADER_CONTENT_LENGTH);
  exchange->max_received = max + HR__DRAINED;
  if (!text) return;
  char *end;
  errno = 0;
  unsigned long long length = strtoull(text, &end, 10);
  if (*end || errno || length > exchange->max_received) exchange->max_received = 0; /* answer at once */
  if (*end || errno || length > max)
    hr__exchange_refuse(exchange, MHD_HTTP_CONTENT_TOO_LARGE, "the body is larger than %" PRIu64 " bytes%s", max,
                        exchange->route->id == HR__ROUTE_TRACE ? " (--max-upload)" : "");
}

static void check_type(struct hr__exchange *exchange) {
  const char *type = header_of(exchange, MHD_HTTP_HEADER_CONTENT_TYPE);
  static const char json[] = "application/json";
  bool matches = type && strncasecmp(type, json, sizeof json - 1) == 0 && strchr("; ", type[sizeof json - 1]);
  if (!exchange->route->members || matches) return;
  hr__exchange_refuse(exchange, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "expected the header 'Content-Type: %s'", json);
}

/* Refuses repeated headers, because a proxy and this server could use different values of such a header. */
static enum MHD_Result check_header(void *self, enum MHD_ValueKind kind, const char *name, const char *value) {
  static const char *const single[] = {"Host",         "Origin",         "X-Headroom-Token",
                                       "Content-Type", "Content-Length", "Transfer-Encoding"};
  struct hr__exchange *exchange = self;
  (void)kind;
  for (size_t i = 0; i < sizeof single / sizeof *single; i++)
    if (strcasecmp(name, single[i]) == 0 && header_of(exchange, single[i]) != value)
      hr__exchange_refuse(exchange, MHD_HTTP_BAD_REQUEST, "the header %s is repeated", single[i]);
  return MHD_YES;
}

/* Refuses an unknown Transfer-Encoding, because MHD then assumes that the body lasts until the connection ends. RFC
   9112, 6.1. */
static void check_encoding(struct hr__exchange *exchange) {
  const char *encoding = header_of(exchange, MHD_HTTP_HEADER_TRANSFER_ENCODING);
  if (encoding && strcasecmp(encoding, "chunked") != 0)
    hr__exchange_refuse(exchange, MHD_HTTP_NOT_IMPLEMENTED, "the header Transfer-Encoding: expected chunked");
}

/* Marks requests with a zero byte in the address ("%00"). MHD decodes addresses as strings, so such a byte would cut
   a name. MHD passes the result to handle() as the state of the request: the pointer to the server is the mark. */
static void *look_at_address(void *self, const char *address, struct MHD_Connection *connection) {
  (void)connection;
  return strstr(address, "%00") ? self : NULL;
}

/* Checks a request before its body is read. The first failed check determines the answer. */
static void check(struct hr__exchange *exchange, const char *url, const char *method) {
  struct hr__server *server = exchange->server;
  const char *host = header_of(exchange, MHD_HTTP_HEADER_HOST);
  bool path_exists;
  MHD_get_connection_values(exchange->connection, MHD_HEADER_KIND, check_header, exchange);
  check_encoding(exchange);
  if (exchange->state == HR__ANSWERED) return;
  if (!hr__guard_host(host, server->address, server->port)) {
    hr__exchange_refuse(exchange, MHD_HTTP_FORBIDDEN, "the header Host does not name this server");
    return;
  }
  if (!hr__guard_origin(header_of(exchange, MHD_HTTP_HEADER_ORIGIN), host)) {
    hr__exchange_refuse(exchange, MHD_HTTP_FORBIDDEN, "requests of other sites are not answered (header Origin)");
    return;
  }
  exchange->route = hr__route_find(method, url, &path_exists);
  if (!exchange->route) {
    hr__exchange_refuse(exchange, path_exists ? MHD_HTTP_METHOD_NOT_ALLOWED : MHD_HTTP_NOT_FOUND, "%s",
                        path_exists ? "this address has another method" : "no such address");
    return;
  }
  if (!exchange->route->is_public && !hr__guard_token(header_of(exchange, "X-Headroom-Token"), server->token)) {
    hr__exchange_refuse(exchange, MHD_HTTP_UNAUTHORIZED,
                        "the header X-Headroom-Token is missing or wrong; the server printed the token at its start");
    return;
  }
  MHD_get_connection_values(exchange->connection, MHD_GET_ARGUMENT_KIND, check_query, exchange);
  check_length(exchange);
  check_type(exchange);
}

/* ---- Handling ------------------------------------------------------------------------------------------ */

static struct hr__exchange *create(struct hr__server *server, struct MHD_Connection *connection) {
  struct hr__exchange *exchange = calloc(1, sizeof *exchange), **at = &server->first;
  if (!exchange) return NULL;
  *exchange = (struct hr__exchange){.server = server,
                                    .connection = connection,
                                    .begin_s = hr__serve_clock_s(),
                                    .upload = -1,
                                    .worker = {.events = -1, .result = -1, .errors = -1}};
  snprintf(exchange->id, sizeof exchange->id, "%" PRIu64, ++server->serial);
  while (*at) at = &(*at)->next;
  *at = exchange;
  return exchange;
}

static void open_upload(struct hr__exchange *exchange) {
  size_t bytes = strlen(exchange->server->scratch) + sizeof "/trace-" + sizeof exchange->id;
  exchange->upload_path = malloc(bytes);
  if (exchange->upload_path)
    snprintf(exchange->upload_path, bytes, "%s/trace-%s", exchange->server->scratch, exchange->id);
  exchange->upload =
      exchange->upload_path ? open(exchange->upload_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
  if (exchange->upload < 0)
    hr__exchange_refuse(exchange, MHD_HTTP_INTERNAL_SERVER_ERROR, "the upload cannot be stored");
}

static void note_request(struct MHD_Connection *connection, double since_s) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  struct hr__client *client = info ? info->socket_context : NULL;
  if (client) client->since_s = since_s;
}

static enum MHD_Result answer(struct hr__exchange *exchange) {
  if (exchange->code != MHD_HTTP_OK) return queue_error(exchange);
  return queue_result(exchange);
}

/* Called when the body is complete, or if the request has none. Queues the response, or suspends the connection until
   the exchange is answered. */
static enum MHD_Result proceed(struct hr__exchange *exchange) {
  exchange->complete = true;
  if (exchange->state == HR__ANSWERED) return answer(exchange);
  enum hr__route_id id = exchange->route->id;
  if (exchange->state == HR__RECEIVING && exchange->route->is_public) return queue_asset(exchange);
  if (exchange->state == HR__RECEIVING && id == HR__ROUTE_STOP) return queue_stop(exchange);
  if (exchange->state == HR__RECEIVING && id < HR__ROUTE_TRACE) return queue_document(exchange);
  if (exchange->state == HR__RECEIVING) {
    const char *lenient = query_of(exchange, "lenient");
    const struct hr__upload_query query = {query_of(exchange, "name"), query_of(exchange, "format"),
                                           query_of(exchange, "map"), query_of(exchange, "shipped"),
                                           lenient && strcmp(lenient, "1") == 0};
    hr__exchange_begin(exchange, &query);
    if (exchange->state == HR__WAITING && exchange->route->streams) return queue_stream(exchange);
  }
  if (exchange->state == HR__ANSWERED) return answer(exchange);
  suspend(exchange);
  return MHD_YES;
}

static enum MHD_Result handle(void *self, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *body, size_t *bytes, void **state) {
  struct hr__exchange *exchange = *state;
  (void)version;
  const bool is_cut = exchange && *state == self;
  if (!exchange || is_cut) {
    exchange = create(self, connection);
    if (!exchange) return MHD_NO;
    *state = exchange;
    note_request(connection, 0);
    check(exchange, url, method);
    if (is_cut) hr__exchange_refuse(exchange, MHD_HTTP_BAD_REQUEST, "the address has a zero byte");
    if (exchange->state == HR__RECEIVING && exchange->route->id == HR__ROUTE_TRACE) open_upload(exchange);
    return exchange->state == HR__ANSWERED && !exchange->max_received ? queue_error(exchange) : MHD_YES;
  }
  if (*bytes > 0) {
    hr__exchange_receive(exchange, body, *bytes);
    *bytes = 0;
    return exchange->received <= exchange->max_received ? MHD_YES : MHD_NO;
  }
  return proceed(exchange);
}

static void completed(void *self, struct MHD_Connection *connection, void **state,
                      enum MHD_RequestTerminationCode code) {
  (void)code;
  note_request(connection, hr__serve_clock_s());
  if (*state && *state != self) hr__exchange_free(*state);
  *state = NULL;
}

/* ---- Connections --------------------------------------------------------------------------------------- */

static int socket_of(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info ? info->connect_fd : -1;
}

static uint32_t address_of(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  struct sockaddr_in place = {0};
  if (info && info->client_addr && info->client_addr->sa_family == AF_INET)
    memcpy(&place, info->client_addr, sizeof place);
  return place.sin_addr.s_addr;
}

/* Closes the connection that has been idle for the longest time, if more than `max` connections are idle. If
   `one_address` is set, only connections from the address of `client` are considered. */
static void limit_idle(const struct hr__server *server, const struct hr__client *client, bool one_address,
                       unsigned max) {
  struct hr__client *oldest = NULL;
  unsigned count = 0;
  for (struct hr__client *at = server->clients; at; at = at->next) {
    if (at->since_s <= 0 || at->is_closing || (one_address && at->address != client->address)) continue;
    count++;
    if (!oldest || at->since_s <= oldest->since_s) oldest = at; /* later ones in the list are older */
  }
  if (count <= max) return;
  oldest->is_closing = true;
  shutdown(socket_of(oldest->connection), SHUT_RDWR);
}

static void notice(void *self, struct MHD_Connection *connection, void **context,
                   enum MHD_ConnectionNotificationCode code) {
  struct hr__server *server = self;
  if (code == MHD_CONNECTION_NOTIFY_STARTED) {
    struct hr__client *client = calloc(1, sizeof *client);
    *context = client;
    if (!client) return;
    *client = (struct hr__client){.connection = connection,
                                  .since_s = hr__serve_clock_s(),
                                  .address = address_of(connection),
                                  .next = server->clients};
    server->clients = client;
    if (client->address != htonl(INADDR_LOOPBACK)) limit_idle(server, client, true, HR__MAX_IDLE_OF_ADDRESS);
    limit_idle(server, client, false, HR__MAX_IDLE);
    return;
  }
  for (struct hr__client **at = &server->clients; *at; at = &(*at)->next)
    if (*at == *context) {
      *at = (*at)->next;
      break;
    }
  free(*context);
  *context = NULL;
}

/* Closes connections that send their requests too slowly. A timeout between two bytes is not enough: a client that
   sends a byte now and then would keep its connection open forever. */
static void close_slow(struct hr__server *server) {
  double now_s = hr__serve_clock_s();
  for (struct hr__client *at = server->clients; at; at = at->next)
    if (at->since_s > 0 && now_s - at->since_s > HR__HEADER_S) shutdown(socket_of(at->connection), SHUT_RDWR);
  for (struct hr__exchange *at = server->first; at; at = at->next) {
    double allowed_s = HR__BODY_S + (double)at->received / HR__UPLOAD_BYTES_S;
    if (!at->complete && now_s - at->begin_s > allowed_s) shutdown(socket_of(at->connection), SHUT_RDWR);
  }
}

/* Ends the work for clients that have disconnected, because MHD does not check suspended connections. */
static void end_abandoned(struct hr__server *server) {
  for (struct hr__exchange *at = server->first; at; at = at->next) {
    char byte;
    if (!at->suspended || (at->state != HR__WAITING && at->state != HR__RUNNING)) continue;
    if (recv(socket_of(at->connection), &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0) continue;
    hr__exchange_stop(server, at->id);
  }
}

/* Resumes the suspended connections that have an answer or new events. Returns true if there are any. */
static bool resume_ready(struct hr__server *server) {
  bool any = false;
  for (struct hr__exchange *at = server->first; at; at = at->next) {
    if (!at->suspended || (at->state != HR__ANSWERED && at->sent == at->n_events)) continue;
    at->suspended = false;
    MHD_resume_connection(at->connection);
    any = true;
  }
  return any;
}

/* ---- The loop ------------------------------------------------------------------------------------------ */

enum { MAX_WATCHED = 64, IDLE_MS = 1000, BUSY_MS = 100, ENDING_MS = 1 };

/* Waits for a connection, for output of a worker, for a signal or for the end of a timeout. Returns true if a signal
   requests the end of the server. */
static bool wait_for_news(struct hr__server *server, int signals) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
  struct pollfd watched[MAX_WATCHED] = {{info ? info->epoll_fd : -1, POLLIN, 0}, {signals, POLLIN, 0}};
  nfds_t count = 2;
  int timeout = server->n_running ? BUSY_MS : IDLE_MS;
  for (struct hr__exchange *at = server->first; at; at = at->next) {
    if (at->state == HR__RUNNING && at->worker.events < 0) timeout = ENDING_MS;
    if (at->state == HR__RUNNING && at->worker.events >= 0 && count < MAX_WATCHED)
      watched[count++] = (struct pollfd){at->worker.events, POLLIN, 0};
  }
  MHD_UNSIGNED_LONG_LONG mhd_ms;
  if (MHD_get_timeout(server->daemon, &mhd_ms) == MHD_YES && mhd_ms < (unsigned)timeout) timeout = (int)mhd_ms;
  poll(watched, count, timeout);
  return (watched[1].revents & POLLIN) != 0;
}

static void loop(struct hr__server *server, int signals) {
  double next_check_s = 0;
  for (bool ends = false; !ends;) {
    MHD_run(server->daemon);
    hr__exchanges_work(server);
    if (hr__serve_clock_s() > next_check_s) {
      close_slow(server);
      next_check_s = hr__serve_clock_s() + 0.2;
    }
    end_abandoned(server);
    if (resume_ready(server)) continue;
    ends = wait_for_news(server, signals);
  }
}

/* ---- Start and end ------------------------------------------------------------------------------------- */

static enum hr_status listen_on(struct hr__server *server, struct hr_error *error) {
  struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons(server->config->port)};
  if (inet_pton(AF_INET, server->address, &place.sin_addr) != 1)
    return hr_fail(error, HR_BAD_INPUT, "--listen %s: expected an IPv4 address, such as 0.0.0.0", server->address);
  server->daemon = MHD_start_daemon(
      MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, server->config->port, NULL, NULL, handle, server, MHD_OPTION_SOCK_ADDR,
      (struct sockaddr *)&place, MHD_OPTION_URI_LOG_CALLBACK, look_at_address, server, MHD_OPTION_NOTIFY_COMPLETED,
      completed, server, MHD_OPTION_NOTIFY_CONNECTION, notice, server, MHD_OPTION_CONNECTION_LIMIT,
      (unsigned)HR__MAX_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HR__IDLE_S, MHD_OPTION_STRICT_FOR_CLIENT,
      1, MHD_OPTION_END);
  if (!server->daemon)
    return hr_fail(error, HR_BAD_INPUT, "cannot listen on %s, port %u: %s", server->address,
                   (unsigned)server->config->port, strerror(errno));
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);
  server->port = info && info->port ? info->port : server->config->port;
  return HR_OK;
}

static void open_browser(const char *url) {
  pid_t pid = fork();
  if (pid != 0) return;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  execlp("xdg-open", "xdg-open", url, (char *)NULL);
  _exit(1);
}

static void announce(const struct hr__server *server) {
  char url[HR__MAX_TOKEN + 128];
  const char *host = strcmp(server->address, "0.0.0.0") == 0 ? "127.0.0.1" : server->address;
  snprintf(url, sizeof url, "http://%s:%u/?token=%s", host, (unsigned)server->port, server->token);
  printf("Headroom planner: %s\nfiles of %s; Ctrl+C ends the server\n", url, server->folder);
  fflush(stdout);
  if (server->config->open) open_browser(url);
}

static void finish(struct hr__server *server) {
  for (struct hr__exchange *at = server->first; at; at = at->next) {
    hr__worker_kill(&at->worker);
    if (at->suspended) MHD_resume_connection(at->connection);
    at->suspended = false;
  }
  if (server->daemon) MHD_stop_daemon(server->daemon);
  for (size_t i = 0; i < server->uploads.count; i++) unlink(server->uploads.at[i].file);
  hr__uploads_finish(&server->uploads);
  hr__serve_paths_finish(server);
}

enum hr_status hr_serve(const struct hr_serve_config *config, struct hr_error *error) {
  struct hr_serve_config settings = *config;
  struct hr__server server = {0};
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGHUP);
  const struct sigaction ignored = {.sa_handler = SIG_IGN};
  sigaction(SIGPIPE, &ignored, NULL);
  enum hr_status status = hr__serve_prepare(&server, &settings, error);
  sigprocmask(SIG_BLOCK, &ends, NULL);
  int signals = signalfd(-1, &ends, SFD_CLOEXEC);
  if (status == HR_OK && signals < 0) status = hr_fail(error, HR_IO_ERROR, "signals: %s", strerror(errno));
  if (status == HR_OK) status = listen_on(&server, error);
  if (status == HR_OK) {
    announce(&server);
    loop(&server, signals);
  }
  finish(&server);
  if (signals >= 0) close(signals);
  return status;
}

#else

enum hr_status hr_serve(const struct hr_serve_config *config, struct hr_error *error) {
  (void)config;
  return hr_fail(error, HR_BAD_INPUT,
                 "serve: this program was built without GNU libmicrohttpd; install the package libmicrohttpd-dev, and "
                 "configure and build again");
}

#endif
