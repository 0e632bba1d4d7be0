/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HEADROOM_UNSTABLE_SERVE_H
#define HEADROOM_UNSTABLE_SERVE_H

/* The planner in the browser: an HTTP server for one user on the same machine. docs/planner/serve.md describes it, and
   docs/reference/openapi.json its interface. */

#include "headroom/base.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All texts are borrowed. 0 and NULL mean the default. */
struct hr_serve_config {
  const char *folder;     /* its files may be read; default: the current folder */
  const char *address;    /* to listen on; default: 127.0.0.1. Others need `token_file` */
  const char *token_file; /* a file with the token; default: a random token */
  uint16_t port;          /* default: a free one */
  bool open;              /* open the page in the browser of the user */
  bool allow_plugins;     /* scenarios may name policies in shared objects */
  uint32_t workers;       /* requests that are executed at the same time; default: the number of processors */
  uint32_t threads;       /* of each plan or comparison; default: the number of processors */
  uint64_t max_upload_mib, max_memory_mib; /* of an upload; of a request */
  uint32_t max_seconds, max_plan_seconds;  /* of a request; of a plan */
  int (*command)(int count, char **words); /* runs a command of the program, as main() does; returns its exit code */
};

#define HR_SERVE_MAX_UPLOAD_MIB 512
#define HR_SERVE_MAX_MEMORY_MIB 2048
#define HR_SERVE_MAX_SECONDS 60
#define HR_SERVE_MAX_PLAN_SECONDS 3600

/* Serves until a signal ends the program (SIGINT, SIGTERM). Prints the address of the page first. Returns HR_BAD_INPUT
   if the program was built without GNU libmicrohttpd. */
HR_API enum hr_status hr_serve(const struct hr_serve_config *config, struct hr_error *error);

/* Returns what messages call `text`, an option such as "--jobs": in a worker of a server the word of its interface,
   otherwise `text`. */
HR_API const char *hr_serve_phrase(const char *text);

#ifdef __cplusplus
}
#endif
#endif
