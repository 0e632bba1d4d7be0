/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_SERVE_H
#define HEADROOM_UNSTABLE_SERVE_H

/* The planner in the browser: an HTTP server for one user. docs/planner/serve.md describes the server;
   docs/reference/openapi.json describes its HTTP interface. */

#include "headroom/base.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The settings of a server. All texts are borrowed. A number or text that is 0 or NULL means the default. */
struct hr_serve_config {
  const char *folder;     /* scenarios and traces may be read from this folder; default: the current folder */
  const char *address;    /* the address to listen on; default: 127.0.0.1. Other addresses need `token_file` */
  const char *token_file; /* a file with the token that requests must have; default: a random token */
  uint16_t port;          /* the port to listen on; default: a free port */
  bool open;              /* open the page in the browser of the user */
  bool allow_plugins;     /* scenarios may name policies in shared objects */
  uint32_t workers;       /* maximum number of requests that are executed at once; default: the number of processors */
  uint32_t threads;       /* threads of each plan or comparison; default: the number of processors */
  uint64_t max_upload_mib, max_memory_mib; /* maximum size of an upload; maximum memory of a request */
  /* maximum duration of a request that is not a plan; maximum duration of a plan */
  uint32_t max_seconds, max_plan_seconds;
  int (*command)(int count, char **words); /* runs a command of the program, as main() does; returns its exit code */
};

/* The defaults of the four limits. */
#define HR_SERVE_MAX_UPLOAD_MIB 512
#define HR_SERVE_MAX_MEMORY_MIB 2048
#define HR_SERVE_MAX_SECONDS 60
#define HR_SERVE_MAX_PLAN_SECONDS 3600

/* Prints the address of the page, and serves until the process receives SIGINT, SIGTERM or SIGHUP; then returns HR_OK.
   Returns HR_BAD_INPUT if a setting is invalid, or if the program was built without GNU libmicrohttpd. */
HR_API enum hr_status hr_serve(const struct hr_serve_config *config, struct hr_error *error);

/* Returns the name of a command-line option, such as "--jobs", for messages. In a process that executes a request of
   the server, the result is the name of the option in the HTTP interface. If the option has no such name, and in all
   other processes, the result is `text`. */
HR_API const char *hr_serve_phrase(const char *text);

#ifdef __cplusplus
}
#endif
#endif
