/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The steps of a job, its files and its folder. All texts of a job are copies that it owns, so a request can be freed
   before its job runs. The word list of a step has room for the NULL at its end. */

#include "serve/job.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Folder and files ---------------------------------------------------------------------------------- */

enum hr_status hr__job_begin(struct hr__job *job, const char *parent, struct hr_error *error) {
  static const char pattern[] = "/job-XXXXXX";
  *job = (struct hr__job){.type = "application/json"};
  job->folder = malloc(strlen(parent) + sizeof pattern);
  if (!job->folder) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  stpcpy(stpcpy(job->folder, parent), pattern);
  if (mkdtemp(job->folder)) return HR_OK;
  enum hr_status status =
      hr_fail(error, HR_IO_ERROR, "a folder for the request cannot be created: %s", strerror(errno));
  free(job->folder);
  job->folder = NULL;
  return status;
}

void hr__remove_folder(const char *folder) {
  DIR *directory = opendir(folder);
  if (!directory) return;
  for (struct dirent *entry; (entry = readdir(directory));)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      unlinkat(dirfd(directory), entry->d_name, 0);
  closedir(directory);
  rmdir(folder);
}

static char *join(const char *folder, const char *name) {
  char *path = malloc(strlen(folder) + strlen(name) + 2);
  if (path) stpcpy(stpcpy(stpcpy(path, folder), "/"), name);
  return path;
}

const char *hr__job_path(struct hr__job *job, const char *name) {
  char *path = job->n_paths < HR__MAX_PATHS ? join(job->folder, name) : NULL;
  if (path)
    job->paths[job->n_paths++] = path;
  else
    job->out_of_memory = true;
  return path ? path : "";
}

static void add_alias(struct hr__job *job, const char *name, const char *file, bool is_foreign) {
  char *copy = strdup(name), *target = strdup(file);
  if (!copy || !target || job->n_aliases == HR__MAX_ALIASES) {
    free(copy);
    free(target);
    job->out_of_memory = true;
    return;
  }
  job->aliases[job->n_aliases++] = (struct hr__alias){copy, target, is_foreign};
}

void hr__job_alias(struct hr__job *job, const char *name, const char *file) {
  add_alias(job, name, file, false);
}

void hr__job_foreign_alias(struct hr__job *job, const char *name, const char *file) {
  add_alias(job, name, file, true);
}

enum hr_status hr__job_input(struct hr__job *job, const char *name, const char *text, const char *alias,
                             struct hr_error *error) {
  char *path = join(job->folder, name);
  FILE *file = path ? fopen(path, "wx") : NULL;
  bool written = file && fputs(text, file) >= 0;
  if (file && fclose(file) != 0) written = false;
  if (path && written) hr__job_alias(job, alias, path);
  free(path);
  if (!written) return hr_fail(error, HR_IO_ERROR, "the input cannot be stored: %s", strerror(errno));
  return job->out_of_memory ? hr_fail(error, HR_NO_MEMORY, "out of memory") : HR_OK;
}

/* ---- Steps --------------------------------------------------------------------------------------------- */

struct hr__step *hr__job_step(struct hr__job *job, enum hr__step_kind kind, const char *text) {
  static const struct hr__step none = {0};
  struct hr__step *step = job->n_steps < HR__MAX_STEPS ? &job->steps[job->n_steps] : NULL;
  char *copy = text ? strdup(text) : NULL;
  if (!step || (text && !copy)) {
    free(copy);
    job->out_of_memory = true;
    return NULL;
  }
  *step = none;
  step->kind = kind;
  step->text = copy;
  job->n_steps++;
  return step;
}

void hr__step_word(struct hr__job *job, struct hr__step *step, const char *word) {
  if (!step) return;
  char **words = realloc(step->words, ((size_t)step->n_words + 2) * sizeof *words);
  char *copy = strdup(word);
  if (words) step->words = words;
  if (!words || !copy) {
    free(copy);
    job->out_of_memory = true;
    return;
  }
  words[step->n_words++] = copy;
  words[step->n_words] = NULL;
}

void hr__step_words(struct hr__job *job, struct hr__step *step, ...) {
  va_list words;
  va_start(words, step);
  for (const char *word; (word = va_arg(words, const char *));) hr__step_word(job, step, word);
  va_end(words);
}

void hr__job_finish(struct hr__job *job) {
  for (uint32_t i = 0; i < job->n_steps; i++) {
    for (int k = 0; k < job->steps[i].n_words; k++) free(job->steps[i].words[k]);
    free(job->steps[i].words);
    free(job->steps[i].text);
  }
  for (uint32_t i = 0; i < job->n_aliases; i++) {
    free((char *)job->aliases[i].name);
    free((char *)job->aliases[i].file);
  }
  for (uint32_t i = 0; i < job->n_paths; i++) free(job->paths[i]);
  if (job->folder) hr__remove_folder(job->folder);
  free(job->folder);
  *job = (struct hr__job){0};
}

void hr__step_option(struct hr__job *job, struct hr__step *step, const char *option, const char *value) {
  char *word = malloc(strlen(option) + strlen(value) + sizeof "--=");
  if (word) stpcpy(stpcpy(stpcpy(stpcpy(word, "--"), option), "="), value);
  if (word)
    hr__step_word(job, step, word);
  else
    job->out_of_memory = true;
  free(word);
}
