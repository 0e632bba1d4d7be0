/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SERVE_SERVE_H
#define HR_SERVE_SERVE_H

/* The server of `headroom serve`: routes, jobs, the conversion of requests to jobs, the checks of requests, documents,
   workers, and exchanges. */

#include "base/process.h"
#include "headroom/base.h"
#include "headroom/scenario.h"
#include "headroom/unstable/serve.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

static inline enum hr_status hr__no_memory(struct hr_error *error) {
  return hr_fail(error, HR_NO_MEMORY, "out of memory");
}

/* ---- Routes ----------------------------------------------------------------------------------------- */

/* Routes and members of bodies are tables, which docs/reference/openapi.json describes. A test compares both. */

/* Routes from HR__ROUTE_TRACE on are answered by workers. */
enum hr__route_id {
  HR__ROUTE_PAGE,
  HR__ROUTE_SCRIPT,
  HR__ROUTE_STYLE,
  HR__ROUTE_SCHEMA,
  HR__ROUTE_CATALOGUE,
  HR__ROUTE_SCENARIOS,
  HR__ROUTE_FILES,
  HR__ROUTE_FILE,
  HR__ROUTE_STOP,
  HR__ROUTE_TRACE,
  HR__ROUTE_DRAFT,
  HR__ROUTE_CHECK,
  HR__ROUTE_RUN,
  HR__ROUTE_PLAN,
  HR__ROUTE_COMPARE,
  HR__ROUTE_EXPORT
};

/* Members of a body. The columns: enumerator, name. */
#define HR__BODY_TABLE(X)                                                                                              \
  X(SCENARIO, "scenario")                                                                                              \
  X(NAME, "name")                                                                                                      \
  X(FILE, "file")                                                                                                      \
  X(SHIPPED, "shipped")                                                                                                \
  X(TRACE, "trace")                                                                                                    \
  X(TRACE_FILE, "trace_file")                                                                                          \
  X(LOAD, "load")                                                                                                      \
  X(SET, "set")                                                                                                        \
  X(POLICY, "policy")                                                                                                  \
  X(SEED, "seed")                                                                                                      \
  X(REPLICATIONS, "replications")                                                                                      \
  X(SERIES, "series")                                                                                                  \
  X(POLICIES, "policies")                                                                                              \
  X(BASELINE, "baseline")                                                                                              \
  X(BRIEF, "brief")                                                                                                    \
  X(FORECAST, "forecast")                                                                                              \
  X(OWN, "own")                                                                                                        \
  X(CLOUD, "cloud")                                                                                                    \
  X(GOALS, "goals")                                                                                                    \
  X(OF, "of")                                                                                                          \
  X(AS, "as")

#define HR__BODY_ENUM(name, text) HR__BODY_##name,
enum hr__body_member { HR__BODY_TABLE(HR__BODY_ENUM) HR__N_BODY_MEMBERS };
#undef HR__BODY_ENUM
extern const char *const hr__body_names[HR__N_BODY_MEMBERS];

struct hr__route {
  enum hr__route_id id;
  const char *method, *path;
  bool is_public;    /* needs no token: the page itself, which has no data */
  bool streams;      /* answers with server-sent events */
  uint32_t members;  /* bits of enum hr__body_member: what the body may have */
  const char *query; /* names of parameters in the address, separated by spaces; "": none */
};

extern const struct hr__route hr__routes[];
extern const size_t hr__n_routes;

/* Returns the route of a request; NULL if no route matches. Sets `*path_exists` to whether some route has this path,
   with this or another method. */
const struct hr__route *hr__route_find(const char *method, const char *path, bool *path_exists);

/* Returns true if the parameter `name` may be in the address of a request for the route. */
bool hr__route_has_query(const struct hr__route *route, const char *name);

/* ---- Jobs ------------------------------------------------------------------------------------------- */

/*
 * A job is the work of a worker for one request. It is a list of steps that write the response in order: commands of
 * the program (`headroom run ...`), texts, and files that earlier commands wrote. A job is made from a request without
 * touching anything outside of its own folder, and is executed in a process of its own (serve/worker.c).
 */

enum hr__step_kind {
  HR__STEP_COMMAND, /* runs a command; writes its standard output to the file `text`, or to the response if it is NULL
                     */
  HR__STEP_TEXT,    /* writes the text */
  HR__STEP_FILE,    /* writes the file `text` */
  HR__STEP_OPEN,    /* writes the file `text`, a JSON object, without its last brace, so that more members can follow */
  HR__STEP_STRING   /* writes the file `text` as a JSON string */
};

struct hr__step {
  enum hr__step_kind kind;
  char **words; /* [n_words], then NULL: the words of a command */
  int n_words;
  char *text; /* a text or the path of a file, depending on `kind` */
};

enum { HR__MAX_STEPS = 16, HR__MAX_ALIASES = 4, HR__MAX_PATHS = 8 };

struct hr__job {
  char *folder; /* of the job's files; removed with it */
  struct hr__step steps[HR__MAX_STEPS];
  uint32_t n_steps;
  struct hr__alias aliases[HR__MAX_ALIASES];
  uint32_t n_aliases;
  char *paths[HR__MAX_PATHS]; /* results of hr__job_path */
  uint32_t n_paths;
  const char *type;   /* media type of the response */
  const char *saved;  /* name under which a browser saves the response; NULL: the browser shows the response */
  bool at_data;       /* works in the folder of the shipped files, to which its paths are relative */
  bool planned;       /* has the time limit of plans, and reports its progress */
  bool out_of_memory; /* a step could not be added; the job must not be started */
};

/* Initializes a job without steps and with a response in JSON, and creates its folder in `parent`. Returns HR_IO_ERROR
   if the folder cannot be created, or HR_NO_MEMORY. */
enum hr_status hr__job_begin(struct hr__job *job, const char *parent, struct hr_error *error);
/* Frees the job and removes its folder. */
void hr__job_finish(struct hr__job *job);

/* Returns the path of a file in the folder of the job. The text belongs to the job. If memory is exhausted, or the job
   already has HR__MAX_PATHS paths, sets job->out_of_memory and returns "". */
const char *hr__job_path(struct hr__job *job, const char *name);
/* Writes a text to the file `name` in the folder of the job. The worker can read the file under the name `alias`.
   Returns HR_IO_ERROR if the file cannot be written, or HR_NO_MEMORY. */
enum hr_status hr__job_input(struct hr__job *job, const char *name, const char *text, const char *alias,
                             struct hr_error *error);
/* Lets the worker read `file` under the name `name`. A file that a user chose (`is_foreign`) can be read only if it is
   below the folders of the server. */
void hr__job_alias(struct hr__job *job, const char *name, const char *file, bool is_foreign);

/* Adds a step and returns it. `text` is copied; it may be NULL. If memory is exhausted, or the job already has
   HR__MAX_STEPS steps, sets job->out_of_memory and returns NULL. The functions below ignore a step that is NULL. */
struct hr__step *hr__job_step(struct hr__job *job, enum hr__step_kind kind, const char *text);
/* hr__step_words adds words to a command; the list of arguments ends with NULL. hr__step_word adds one word. */
void hr__step_words(struct hr__job *job, struct hr__step *step, ...);
void hr__step_word(struct hr__job *job, struct hr__step *step, const char *word);
/* Adds the word --option=value, so that no value can be mistaken for an option. */
void hr__step_option(struct hr__job *job, struct hr__step *step, const char *option, const char *value);

/* Returns "FOLDER/NAME"; the caller frees it. Returns NULL if out of memory. */
char *hr__joined_path(const char *folder, const char *name);
/* Removes a folder and the files in it. It must not contain folders. */
void hr__remove_folder(const char *folder);

/* ---- Requests --------------------------------------------------------------------------------------- */

/* A trace that was uploaded. Its packed form is read in milliseconds. */
struct hr__upload {
  char *id, *name, *file; /* id: shown to the user; name: chosen by the user; file: path of the packed trace */
  const char *shipped;    /* path of the scenario whose trace it is; borrowed; NULL: a trace of the user */
};

struct hr__uploads {
  struct hr__upload *at;
  size_t count;
  uint64_t serial; /* not used */
};

/* Returns the trace of the shipped scenario with this path; NULL if it is not in the list. */
const struct hr__upload *hr__upload_of_shipped(const struct hr__uploads *uploads, const char *shipped);
/* Adds a trace and returns it. The texts are copied, except `shipped`, which may be NULL. Returns NULL if out of
 * memory.
 */
const struct hr__upload *hr__upload_add(struct hr__uploads *uploads, const char *id, const char *name, const char *file,
                                        const char *shipped);
/* Removes the oldest trace of the user, and its file, if the user has at least `max` traces. `max` must be above 0. The
   traces of shipped scenarios are not counted: there is at most one for each scenario. */
void hr__uploads_make_room(struct hr__uploads *uploads, size_t max);
void hr__uploads_finish(struct hr__uploads *uploads);

/* The folders, uploads and scenarios that a request may name. Everything is borrowed. */
struct hr__request_world {
  const char *scratch;        /* the folder in which folders of jobs are created */
  const char *folder;         /* of the user's files */
  const char *shipped_folder; /* of the shipped scenarios, relative to the folder of the shipped files */
  const struct hr__uploads *uploads;
  const struct hr_scenario_entry *shipped; /* [n_shipped] */
  size_t n_shipped;
  uint32_t threads; /* of plans and comparisons */
};

/* Makes the job of a route with a JSON body. Returns HR_BAD_INPUT if the body is invalid; `error` has the reason. The
   caller must call hr__job_finish, even after an error. */
enum hr_status hr__request_job(const struct hr__request_world *world, const struct hr__route *route, const char *body,
                               size_t bytes, struct hr__job *job, struct hr_error *error);

/* The parameters in the address of an upload. NULL: not set. */
struct hr__upload_query {
  const char *name, *format, *map;
  const char *shipped; /* name of a shipped scenario: its trace is used, and the upload has no body */
  bool lenient;
};

/* Makes the job that packs an uploaded trace from the file `raw` to the file `packed`. The job answers with the id and
   the name of the trace, the findings of its check and its statistics. The caller must call hr__job_finish, even after
   an error. */
enum hr_status hr__request_trace_job(const struct hr__request_world *world, const struct hr__upload_query *query,
                                     const char *id, const char *raw, const char *packed, struct hr__job *job,
                                     struct hr_error *error);

/* Returns the path of a shipped scenario; NULL if no shipped scenario has this name. */
const char *hr__shipped_path(const struct hr__request_world *world, const char *name);

/* Sets `*path` to the path of the trace of a shipped scenario, and `*format` to its format; NULL if the scenario does
   not state it. Returns HR_BAD_INPUT if there is no such scenario or it has no trace. The caller frees both texts, even
   after an error. */
enum hr_status hr__request_shipped_trace(const struct hr__request_world *world, const char *name, char **path,
                                         char **format, struct hr_error *error);

/* Returns the name of a file without folders, without control characters, and without '-', '.' and spaces at its
   beginning. Other spaces become '_'. Returns "trace" if nothing is left, and NULL if out of memory. The caller frees
   the name. */
char *hr__plain_name(const char *name);

/* Returns a JSON document with an error: {"error": {"message": ..., "code": ..., "file": ..., "line": ..., "column":
   ...}}. The members `file`, `line` and `column` exist if the message begins with them. The caller frees the document
   with free(). Returns NULL if out of memory. */
char *hr__error_json(const char *message, unsigned code);

/* ---- Checks of requests ----------------------------------------------------------------------------- */

/* These functions decide which requests are accepted, and which files may be read. */

enum { HR__TOKEN_BYTES = 16, HR__MIN_TOKEN = 16, HR__MAX_TOKEN = 128 };

/* Returns true if the header Host names this server: the address that it listens on, "localhost" or 127.0.0.1, with its
   port. A server that listens on all addresses accepts any numeric address. Returns false if the header is missing
   (NULL). This check prevents DNS rebinding: if a foreign site binds its name to this machine, the header has the name
   of that site. */
bool hr__guard_host(const char *host, const char *address, uint16_t port);

/* Returns true if the header Origin, which browsers send with requests of scripts, names this server. A missing header
   (NULL) is allowed, because other programs do not send it. `host` must have passed hr__guard_host. */
bool hr__guard_origin(const char *origin, const char *host);

/* Returns true if the token `given` of a request is `token`. `given` may be NULL. The comparison takes the same time
   for all wrong tokens of the same length. */
bool hr__guard_token(const char *given, const char *token);

/* hr__token_make makes a random token of 2 * HR__TOKEN_BYTES hexadecimal digits; returns HR_OK or HR_IO_ERROR.
   hr__token_read reads a token of HR__MIN_TOKEN to HR__MAX_TOKEN letters, digits, '-' and '_' from a file; returns
   HR_BAD_INPUT if the file cannot be read, if other users may access it, or if it has no such token. */
enum hr_status hr__token_make(char token[HR__MAX_TOKEN + 1], struct hr_error *error);
enum hr_status hr__token_read(const char *path, char token[HR__MAX_TOKEN + 1], struct hr_error *error);

/* Sets `*real` to the real path of `name`, a path relative to `folder`, and returns true if it is a plain file below
   the folder. Returns false, and sets `*real` to NULL, for absolute paths, for paths and links that lead out of the
   folder, for hidden files and folders (their names begin with a dot), and if there is no such file. The caller frees
   `*real`.
 */
bool hr__guard_file(const char *folder, const char *name, char **real);

/* ---- Documents -------------------------------------------------------------------------------------- */

/* Documents are responses that need no worker. Each function sets its result to a text that the caller frees with
   free(); it is JSON, except for hr__document_text. */

/* The files and the trace that a shipped scenario needs. */
struct hr__shipped_state {
  char **files; /* [n_files] real paths of the files that it names and that exist */
  size_t n_files;
  char *missing;    /* the first file that does not exist, as the scenario names it; NULL: all exist */
  bool needs_trace; /* it has no workload of its own */
};

/* Reads a shipped scenario and finds its files. If the scenario cannot be read, it has no files, and HR_OK is returned:
   a run of the scenario reports the error. Returns HR_NO_MEMORY if out of memory. The caller must call
   hr__shipped_finish, even after an error. */
enum hr_status hr__shipped_look(const char *path, struct hr__shipped_state *state, struct hr_error *error);
void hr__shipped_finish(struct hr__shipped_state *state);

/* Makes the document with the GPU types, instance types and prices of the catalogue, and the list of metrics. */
enum hr_status hr__document_catalogue(char **json, struct hr_error *error);
/* Makes the document with the shipped scenarios: their folder, names, descriptions, and the trace or file that they
   lack. `states` has an item for each entry. */
enum hr_status hr__document_scenarios(const char *folder, const struct hr_scenario_entry *entries,
                                      const struct hr__shipped_state *states, size_t count, char **json,
                                      struct hr_error *error);
/* Makes the document with a folder and the plain files below it, at most 1,000, in the order of their names. Links,
   hidden files, and files below more than three folders are left out. */
enum hr_status hr__document_files(const char *folder, char **json, struct hr_error *error);
/* Sets `*text` to the text of a file of at most 16 MiB. Returns HR_BAD_INPUT if the file cannot be read, is larger, or
   is not UTF-8. */
enum hr_status hr__document_text(const char *path, char **text, struct hr_error *error);

/* ---- Workers ---------------------------------------------------------------------------------------- */

/*
 * A worker is a process that executes one job and ends. It is a copy of the server (fork), so it starts in a
 * millisecond. If a hostile scenario exhausts the memory or the time of a worker, or makes it crash, the server is not
 * affected. setrlimit limits the memory, the CPU time and the files of a worker; the server also ends it when its time
 * is over. A worker may read only the folders of the server (base/process.h).
 *
 * A worker writes the response to a file without a name, its errors to a second file, and its progress as lines of JSON
 * to a pipe. When the pipe is closed, the worker has ended.
 */

/* Runs a command of the program in this process, as main() does, and returns its exit code. */
typedef int hr__command(int count, char **words);

/* The settings of all workers. Everything is borrowed. */
struct hr__worker_rules {
  hr__command *command;
  const char *folder;         /* the working folder of workers */
  const char *const *folders; /* [n_folders] that may be read */
  size_t n_folders;
  const char *scratch;     /* folder of files without a name */
  const char *data_folder; /* of the files that ship with Headroom; NULL: none */
  bool allow_plugins;
  uint64_t memory_bytes, file_bytes; /* maximum address space; maximum size of a file that a worker writes */
  uint32_t run_s, plan_s;            /* time limits: of a plan, plan_s; of any other job, run_s */
};

struct hr__worker {
  pid_t pid;           /* 0: not running */
  int events;          /* reading end of the pipe; -1: closed */
  int result, errors;  /* the files with the response and with the errors; -1: closed */
  double end_s;        /* time of hr__serve_clock_s at which the server ends the worker */
  bool planned;        /* it has the time limit of a plan */
  bool timed, stopped; /* timed: it was ended because of its time limit; stopped: the user ended it */
  int status;          /* of waitpid; set when pid is 0 again */
};

/* Returns the time of the monotonic clock, in seconds. */
double hr__serve_clock_s(void);

/* Starts a worker. Returns HR_IO_ERROR if this fails; the worker is then not running and has no open files. */
enum hr_status hr__worker_start(struct hr__worker *worker, const struct hr__job *job,
                                const struct hr__worker_rules *rules, struct hr_error *error);
/* Kills a worker. hr__worker_poll reports its end. */
void hr__worker_kill(struct hr__worker *worker);
/* Kills the worker if its time limit is over, and collects its status if it has ended. Returns true if the worker
   is not running (any more). */
bool hr__worker_poll(struct hr__worker *worker);
/* Kills a worker that is running, and closes its files. */
void hr__worker_finish(struct hr__worker *worker);

/* Returns the HTTP status of the answer of a worker that has ended. Writes the error to `message` if the status is not
   200, otherwise "". */
unsigned hr__worker_answer(const struct hr__worker *worker, char *message, size_t size);

/* Phrases that replace those of the command line in messages of a worker. */
extern const struct hr__phrase hr__serve_phrases[];
extern const size_t hr__n_serve_phrases;

/* ---- Exchanges -------------------------------------------------------------------------------------- */

/* An exchange is one request and its response. It receives the body, waits for a worker, reads the output of the
   worker, and answers. The server has all exchanges in one list, in the order of their arrival. All of this is done in
   one thread. */

struct MHD_Connection;
struct MHD_Daemon;

enum {
  HR__MAX_BODY = 16 << 20,      /* bytes of a JSON body */
  HR__DRAINED = 16 << 20,       /* bytes beyond the limit of a body that are read so that the client reads the answer */
  HR__MAX_WAITING = 256,        /* exchanges that wait for a worker */
  HR__MAX_CONNECTIONS = 512,    /* at the same time */
  HR__MAX_IDLE = 256,           /* connections without a request; if there are more, the oldest one is closed */
  HR__MAX_IDLE_OF_ADDRESS = 64, /* the same, from one other machine */
  HR__IDLE_S = 15,              /* a connection that is silent for this time is closed */
  HR__HEADER_S = 20,            /* maximum time until the headers of a request have arrived */
  HR__BODY_S = 60,              /* time limit of a body: HR__BODY_S + (bytes so far) / HR__UPLOAD_BYTES_S seconds */
  HR__UPLOAD_BYTES_S = 65536,   /* bytes per second */
  HR__MAX_UPLOADS = 32,         /* uploads of the user; if there are more, the oldest one is removed */
  HR__MESSAGE_BYTES = 2048
};

/* A connection. It is idle until the headers of a request have arrived, and between two requests. */
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
  char **folders;                           /* [rules.n_folders] folders and single files that workers may read */
  struct hr__uploads uploads;
  struct hr__worker_rules rules;
  struct hr__request_world world;
  uint32_t max_workers, n_running, n_waiting;
  uint32_t n_plans; /* number of plans among the running exchanges */
  uint64_t serial;  /* number of the last exchange, from 1 */
  struct hr__exchange *first;
  struct hr__client *clients;
  struct MHD_Daemon *daemon;
};

enum hr__exchange_state {
  HR__RECEIVING,
  HR__WAITING, /* for a worker */
  HR__RUNNING,
  HR__ANSWERED /* `code` and the contents of the response are set */
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
  bool is_listed;      /* the trace of the shipped scenario is already in the list of uploads */
  struct hr__job job;
  struct hr__worker worker;
  unsigned code;                   /* HTTP status */
  char message[HR__MESSAGE_BYTES]; /* the error, if `code` is not 200 */
  char *text;                      /* the response; NULL: the result of the worker, or the message */
  bool complete;                   /* the body has arrived */
  bool suspended, has_job;
  uint64_t max_received; /* after these bytes, the connection is closed without an answer */
  /* Server-sent events that were not sent yet: events[sent..n_events] */
  char *events;
  size_t n_events, sent;
  double next_beat_s;
  char line[8192]; /* [n_line]: the beginning of a line of the worker */
  size_t n_line;
  struct hr__exchange *next;
};

/* Sets the answer of an exchange to an error with the HTTP status `code`. Does nothing if the answer is already set. */
void hr__exchange_refuse(struct hr__exchange *exchange, unsigned code, const char *format, ...) HR_PRINTF(3, 4);
/* Processes a part of the body. */
void hr__exchange_receive(struct hr__exchange *exchange, const char *bytes, size_t count);
/* Must be called when the body is complete. Makes the job, and lets the exchange wait for a worker; sets the answer if
   the request is invalid or too many exchanges wait. `query` is used only by uploads. */
void hr__exchange_begin(struct hr__exchange *exchange, const struct hr__upload_query *query);
/* Starts workers for waiting exchanges, reads the events of running workers, and sets the answers of exchanges
   after their workers have ended. */
void hr__exchanges_work(struct hr__server *server);
/* Stops the exchange with the id. Returns false if it is not running or waiting. */
bool hr__exchange_stop(struct hr__server *server, const char *id);
/* Ends the worker of an exchange and frees the exchange. */
void hr__exchange_free(struct hr__exchange *exchange);

/* ---- Settings and folders --------------------------------------------------------------------------- */

/* Checks the settings, and sets those that are 0 or NULL to their defaults. Makes or reads the token, finds the shipped
   files, and creates the temporary folder. `settings` must outlive the server. The caller must call
   hr__serve_paths_finish, even after an error. */
enum hr_status hr__serve_prepare(struct hr__server *server, struct hr_serve_config *settings, struct hr_error *error);
/* Removes the temporary folder, and frees the paths. */
void hr__serve_paths_finish(struct hr__server *server);

/* The page, its script and its style, which the build bundles from serve/web and embeds. NULL: the program was built
   without node and npm. */
extern const char *const hr__planner_page, *const hr__planner_script, *const hr__planner_style;

#endif
