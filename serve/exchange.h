/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SERVE_EXCHANGE_H
#define HR_SERVE_EXCHANGE_H

/*
 * An exchange: one request and its response. It receives the body, waits for a worker, follows it, and answers. The
 * server has all exchanges in one list, in the order of their arrival; everything happens in one thread.
 */

#include "headroom/unstable/serve.h"
#include "serve/documents.h"
#include "serve/guard.h"
#include "serve/request.h"
#include "serve/worker.h"

struct MHD_Connection;
struct MHD_Daemon;

enum {
  HR__MAX_BODY = 16 << 20,   /* bytes of a JSON body */
  HR__DRAINED = 16 << 20,    /* bytes beyond the limit of a body that are read so that the client reads the answer */
  HR__MAX_WAITING = 256,     /* exchanges that wait for a worker */
  HR__MAX_CONNECTIONS = 512, /* at the same time */
  HR__MAX_IDLE = 256, /* of these without a request; the oldest one is then closed, so that others are accepted */
  HR__MAX_IDLE_OF_ADDRESS = 64, /* of them from another machine */
  HR__IDLE_S = 15,              /* a connection without any byte is closed */
  HR__HEADER_S = 20,            /* a request must have arrived so far, */
  HR__BODY_S = 60,              /* and its JSON body, or the first part of an upload, */
  HR__UPLOAD_BYTES_S = 65536,   /* and an upload must arrive with this speed */
  HR__MAX_UPLOADS = 32,         /* of the user; the oldest one is then removed */
  HR__MESSAGE_BYTES = 2048
};

/* A connection, from its begin until the headers of a request have arrived, and between two requests. */
struct hr__client {
  struct MHD_Connection *connection;
  double since_s;   /* when the connection became idle; 0: it has a request */
  uint32_t address; /* of the client, in network byte order */
  bool is_closing;
  struct hr__client *next;
};

struct hr__server {
  const struct hr_serve_config *config;
  char token[HR__MAX_TOKEN + 1];
  const char *address;
  uint16_t port;
  char *folder, *scratch; /* real paths: of the files that are served; of temporary files */
  struct hr_scenario_entry *shipped;
  size_t n_shipped;
  struct hr__shipped_state *shipped_states; /* [n_shipped] */
  char *data_folder;                        /* contains the folder of the shipped scenarios; NULL: none */
  const char *shipped_folder;               /* absolute; NULL: none; belongs to `folders` */
  const char *shipped_name;                 /* of that folder, without the folders around it; belongs to `folders` */
  char **folders;                           /* [rules.n_folders] that workers may read, and single files */
  struct hr__uploads uploads;
  struct hr__worker_rules rules;
  struct hr__request_world world;
  uint32_t max_workers, n_running, n_waiting;
  uint32_t n_plans; /* among the running exchanges */
  uint64_t serial;  /* of exchanges */
  struct hr__exchange *first;
  struct hr__client *clients;
  struct MHD_Daemon *daemon;
};

enum hr__exchange_state {
  HR__RECEIVING,
  HR__WAITING, /* for a worker */
  HR__RUNNING,
  HR__ANSWERED /* `code` and what the response contains are set */
};

struct hr__exchange {
  struct hr__server *server;
  struct MHD_Connection *connection;
  const struct hr__route *route;
  enum hr__exchange_state state;
  char id[24];
  double begin_s;
  char *body; /* [used] */
  size_t used;
  uint64_t received;
  int upload; /* the file of an upload; -1: none */
  char *upload_path, *upload_packed;
  const char *shipped; /* path of the shipped scenario whose trace the upload is; NULL: a trace of the user */
  bool is_listed;      /* that trace is in the list of uploads already */
  struct hr__job job;
  struct hr__worker worker;
  unsigned code;                   /* HTTP status */
  char message[HR__MESSAGE_BYTES]; /* if it is not 200 */
  char *text;                      /* the response; NULL: the result of the worker, or the message */
  bool complete;                   /* the body has arrived */
  bool suspended, has_job;
  uint64_t max_received; /* after these bytes, the connection is closed without an answer */
  /* Server-sent events that were not sent yet: events[sent..n_events] */
  char *events;
  size_t n_events, sent;
  double next_beat_s;
  char line[8192]; /* [n_line]: the begin of a line of the worker */
  size_t n_line;
  struct hr__exchange *next;
};

/* Ends the exchange with an error. */
void hr__exchange_refuse(struct hr__exchange *exchange, unsigned code, const char *format, ...) HR_PRINTF(3, 4);
/* Takes a part of the body. */
void hr__exchange_receive(struct hr__exchange *exchange, const char *bytes, size_t count);
/* The body is complete: answers, or lets the exchange wait for a worker. */
void hr__exchange_begin(struct hr__exchange *exchange, const struct hr__upload_query *query);
/* Starts waiting exchanges, follows workers, and answers. */
void hr__exchanges_work(struct hr__server *server);
/* Stops the exchange with the id. Returns false if it is not running or waiting. */
bool hr__exchange_stop(struct hr__server *server, const char *id);
/* Ends the worker of an exchange and frees the exchange. */
void hr__exchange_free(struct hr__exchange *exchange);

/* ---- What a server knows before it listens (paths.c) ------------------------------------------------ */

/* Checks the settings, and sets those that are 0 or NULL to their defaults. Creates the temporary folder. The caller
   calls hr__serve_paths_finish, also after an error. `settings` must outlive the server. */
enum hr_status hr__serve_prepare(struct hr__server *server, struct hr_serve_config *settings, struct hr_error *error);
/* Removes the temporary folder, and frees the paths. */
void hr__serve_paths_finish(struct hr__server *server);

/* The page, its script and its style, which the build bundles from serve/web and embeds. NULL: the program was built
   without node and npm. */
extern const char *const hr__planner_page, *const hr__planner_script, *const hr__planner_style;

#endif
