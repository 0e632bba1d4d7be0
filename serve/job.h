/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SERVE_JOB_H
#define HR_SERVE_JOB_H

/*
 * A job: what a worker does for one request. It is a list of steps that write the response in order: commands of the
 * program (`headroom run ...`), texts, and files that earlier commands wrote. A job is made from a request without
 * touching anything outside of its own folder, and is executed in a process of its own (serve/worker.h).
 */

#include "base/process.h"
#include "headroom/base.h"

#include <stdint.h>

enum hr__step_kind {
  HR__STEP_COMMAND, /* runs a command; its standard output goes to `text`, or into the response if that is NULL */
  HR__STEP_TEXT,    /* writes the text */
  HR__STEP_FILE,    /* writes the file `text` */
  HR__STEP_OPEN,    /* writes the file `text`, a JSON object, without its last brace, so that more members can follow */
  HR__STEP_STRING   /* writes the file `text` as a JSON string */
};

struct hr__step {
  enum hr__step_kind kind;
  char **words; /* [n_words], then NULL; of a command */
  int n_words;
  char *text;
};

enum { HR__MAX_STEPS = 16, HR__MAX_ALIASES = 4, HR__MAX_PATHS = 8 };

struct hr__job {
  char *folder; /* of the job's files; removed with it */
  struct hr__step steps[HR__MAX_STEPS];
  uint32_t n_steps;
  struct hr__alias aliases[HR__MAX_ALIASES];
  uint32_t n_aliases;
  char *paths[HR__MAX_PATHS];
  uint32_t n_paths;
  const char *type;   /* media type of the response */
  const char *saved;  /* name under which a browser saves the response; NULL: it shows it */
  bool at_data;       /* works in the folder of the shipped files, to which its paths are relative */
  bool planned;       /* has the time limit of plans, and reports its progress */
  bool out_of_memory; /* a step could not be added; the job must not be started */
};

/* Creates the folder of a job in `parent`. Otherwise a job is initialized to zero. */
enum hr_status hr__job_begin(struct hr__job *job, const char *parent, struct hr_error *error);
/* Frees the job and removes its folder. */
void hr__job_finish(struct hr__job *job);

/* Returns the path of a file in the folder of the job, which belongs to the job. */
const char *hr__job_path(struct hr__job *job, const char *name);
/* Writes a file in the folder of the job and gives it the name `alias` for readers of the worker. */
enum hr_status hr__job_input(struct hr__job *job, const char *name, const char *text, const char *alias,
                             struct hr_error *error);
void hr__job_alias(struct hr__job *job, const char *name, const char *file);
/* The same for a file that a user chose, which may be read only if it is below the folders of the server. */
void hr__job_foreign_alias(struct hr__job *job, const char *name, const char *file);

/* Adds a step and returns it; its texts are copied. */
struct hr__step *hr__job_step(struct hr__job *job, enum hr__step_kind kind, const char *text);
/* Adds words to a command; the list ends with NULL. */
void hr__step_words(struct hr__job *job, struct hr__step *step, ...);
void hr__step_word(struct hr__job *job, struct hr__step *step, const char *word);
/* Adds the word --option=value, so that no value can be taken for an option. */
void hr__step_option(struct hr__job *job, struct hr__step *step, const char *option, const char *value);

/* Removes a folder and the files in it. It has no folders. */
void hr__remove_folder(const char *folder);

#endif
