/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SERVE_WORKER_H
#define HR_SERVE_WORKER_H

/*
 * A worker: a process that executes one job and ends. It is a copy of the server (fork), so it starts in a millisecond,
 * and whatever a hostile scenario does to it (memory, time, a crash) ends with it. Its limits are those of setrlimit;
 * the server also ends it when its time is over. It may read only the folders of the server (base/process.h).
 *
 * A worker writes the response to a file without a name, its errors to a second one, and its progress as lines of JSON
 * to a pipe. The end of the pipe says that the worker has ended.
 */

#include "base/process.h"
#include "serve/job.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Runs a command of the program in this process, as main() does, and returns its exit code. */
typedef int hr__command(int count, char **words);

/* What all workers share. Everything is borrowed. */
struct hr__worker_rules {
  hr__command *command;
  const char *folder;         /* the working folder of workers */
  const char *const *folders; /* [n_folders] that may be read */
  size_t n_folders;
  const char *scratch;     /* folder of files without a name */
  const char *data_folder; /* of the files that ship with Headroom; NULL: none */
  bool allow_plugins;
  uint64_t memory_bytes, file_bytes;
  uint32_t run_s, plan_s;
};

struct hr__worker {
  pid_t pid;  /* 0: not running */
  int events; /* reading end of the pipe; -1: closed */
  int result, errors;
  double end_s;        /* of the clock of hr__serve_clock_s, when it is ended */
  bool planned;        /* its time is that of a plan */
  bool timed, stopped; /* it was ended: because of its time, or by the user */
  int status;          /* of waitpid; set when pid is 0 again */
};

double hr__serve_clock_s(void);

/* Starts a worker. On failure, it is not running. */
enum hr_status hr__worker_start(struct hr__worker *worker, const struct hr__job *job,
                                const struct hr__worker_rules *rules, struct hr_error *error);
/* Ends a worker at once. Its end is noticed by hr__worker_poll. */
void hr__worker_kill(struct hr__worker *worker);
/* Collects a worker that has ended, and ends one that has run for too long. Returns whether it has ended. */
bool hr__worker_poll(struct hr__worker *worker);
/* Closes the files of a worker, which is ended first. */
void hr__worker_finish(struct hr__worker *worker);

/* The answer of an ended worker: its HTTP status, and in `message` what it said, if that is not 200. */
unsigned hr__worker_answer(const struct hr__worker *worker, char *message, size_t size);

/* What messages of a worker say for the options of the command line. */
extern const struct hr__phrase hr__serve_phrases[];
extern const size_t hr__n_serve_phrases;

#endif
