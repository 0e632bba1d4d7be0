/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SERVE_REQUEST_H
#define HR_SERVE_REQUEST_H

/* From the body of a request to the job that answers it. */

#include "headroom/scenario.h"
#include "serve/job.h"
#include "serve/routes.h"

/* A trace that was uploaded. Its packed form is read in milliseconds. */
struct hr__upload {
  char *id, *name, *file; /* as the user sees it; as the user named it; path of the packed trace */
  const char *shipped;    /* path of the scenario whose trace it is; borrowed; NULL: a trace of the user */
};

struct hr__uploads {
  struct hr__upload *at;
  size_t count;
  uint64_t serial; /* of the next id */
};

const struct hr__upload *hr__upload_find(const struct hr__uploads *uploads, const char *id);
/* Returns the trace of the shipped scenario with this path; NULL if it is not in the list. */
const struct hr__upload *hr__upload_of_shipped(const struct hr__uploads *uploads, const char *shipped);
/* Adds a trace; the texts are copied, except `shipped`, which may be NULL. Returns NULL when out of memory. */
const struct hr__upload *hr__upload_add(struct hr__uploads *uploads, const char *id, const char *name, const char *file,
                                        const char *shipped);
/* Removes the oldest trace of the user, and its file, if there are `max` of them. Those of shipped scenarios are not
   counted: there is one for each. */
void hr__uploads_make_room(struct hr__uploads *uploads, size_t max);
void hr__uploads_finish(struct hr__uploads *uploads);

/* What a request may refer to. Everything is borrowed. */
struct hr__request_world {
  const char *scratch;        /* the folder in which folders of jobs are created */
  const char *folder;         /* of the user's files */
  const char *shipped_folder; /* of the shipped scenarios, in the folder of the shipped files */
  const struct hr__uploads *uploads;
  const struct hr_scenario_entry *shipped; /* [n_shipped] */
  size_t n_shipped;
  uint32_t threads; /* of plans and comparisons */
};

/* Makes the job of a route with a JSON body. HR_BAD_INPUT: the body is wrong, and `error` says why. The caller calls
   hr__job_finish, also after an error. */
enum hr_status hr__request_job(const struct hr__request_world *world, const struct hr__route *route, const char *body,
                               size_t bytes, struct hr__job *job, struct hr_error *error);

/* What an upload says in its address. NULL: not said. */
struct hr__upload_query {
  const char *name, *format, *map;
  const char *shipped; /* the trace of this shipped scenario; the upload is empty */
  bool lenient;
};

/* Makes the job that checks an uploaded trace in the file `raw`, packs it to `packed`, and answers with its id. */
enum hr_status hr__request_trace_job(const struct hr__request_world *world, const struct hr__upload_query *query,
                                     const char *id, const char *raw, const char *packed, struct hr__job *job,
                                     struct hr_error *error);

/* Returns the path of a shipped scenario; NULL if there is none with this name. */
const char *hr__shipped_path(const struct hr__request_world *world, const char *name);

/* Sets `*path` to the path of the trace of a shipped scenario, and `*format` to its format or NULL. The caller frees
   both, also after an error. */
enum hr_status hr__request_shipped_trace(const struct hr__request_world *world, const char *name, char **path,
                                         char **format, struct hr_error *error);

/* Returns the name of a file without folders and without characters that are not printable; "trace" if nothing is left.
   The caller frees it. NULL when out of memory. */
char *hr__plain_name(const char *name);

/* Returns a JSON document with an error: {"error": {"message": ..., "code": ..., "file": ..., "line": ..., "column":
   ...}}. The place is that at the beginning of the message, if it has one. The caller frees it with free(). NULL when
   out of memory. */
char *hr__error_json(const char *message, unsigned code);

#endif
