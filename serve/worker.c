/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs and workers. A job is the list of steps that answer a request. A worker is a process that executes a job.
 *
 * Jobs: all texts of a job are copies that it owns, so a request can be freed before its job runs. The word list of a
 * step has room for the NULL at its end.
 *
 * Workers: between fork and the first step, a worker opens its own files (0 is empty, 1 the response, 2 errors, 3
 * progress), closes all other files, restores the default actions of signals, and sets its limits. It ends with _exit,
 * so it never runs the exit handlers of the server. If the server ends, the kernel ends its workers.
 */

#include "serve/serve.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- Jobs: folder and files ------------------------------------------------------------------------- */

enum hr_status hr__job_begin(struct hr__job *job, const char *parent, struct hr_error *error) {
  static const char pattern[] = "/job-XXXXXX";
  *job = (struct hr__job){.type = "application/json"};
  job->folder = malloc(strlen(parent) + sizeof pattern);
  if (!job->folder) return hr__no_memory(error);
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

char *hr__joined_path(const char *folder, const char *name) {
  char *path = malloc(strlen(folder) + strlen(name) + 2);
  if (path) stpcpy(stpcpy(stpcpy(path, folder), "/"), name);
  return path;
}

const char *hr__job_path(struct hr__job *job, const char *name) {
  char *path = job->n_paths < HR__MAX_PATHS ? hr__joined_path(job->folder, name) : NULL;
  if (path)
    job->paths[job->n_paths++] = path;
  else
    job->out_of_memory = true;
  return path ? path : "";
}

void hr__job_alias(struct hr__job *job, const char *name, const char *file, bool is_foreign) {
  char *copy = strdup(name), *target = strdup(file);
  if (!copy || !target || job->n_aliases == HR__MAX_ALIASES) {
    free(copy);
    free(target);
    job->out_of_memory = true;
    return;
  }
  job->aliases[job->n_aliases++] = (struct hr__alias){copy, target, is_foreign};
}

enum hr_status hr__job_input(struct hr__job *job, const char *name, const char *text, const char *alias,
                             struct hr_error *error) {
  char *path = hr__joined_path(job->folder, name);
  FILE *file = path ? fopen(path, "wx") : NULL;
  bool written = file && fputs(text, file) >= 0;
  if (file && fclose(file) != 0) written = false;
  if (path && written) hr__job_alias(job, alias, path, false);
  free(path);
  if (!written) return hr_fail(error, HR_IO_ERROR, "the input cannot be stored: %s", strerror(errno));
  return job->out_of_memory ? hr__no_memory(error) : HR_OK;
}

/* ---- Jobs: steps ------------------------------------------------------------------------------------ */

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

/* ---- Workers ---------------------------------------------------------------------------------------- */

/* The limit of address space cannot be set if a sanitizer reserves most of it. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LIMITS_MEMORY 0
#endif
#endif
#ifndef LIMITS_MEMORY
#define LIMITS_MEMORY 1
#endif

enum { MAX_OPEN_FILES = 128, FIRST_OTHER_FILE = 4 };

double hr__serve_clock_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- Workers: steps --------------------------------------------------------------------------------- */

/* Copies a file to standard output. With `opens`, the last brace and the white space after it are left out. Returns
   false if the file cannot be read. */
static bool copy_file(const char *path, bool opens) {
  FILE *file = fopen(path, "rb");
  if (!file) return false;
  char block[1 << 14], held[64];
  size_t n_held = 0;
  for (size_t count; (count = fread(block, 1, sizeof block, file)) > 0;) {
    if (!opens) {
      fwrite(block, 1, count, stdout);
      continue;
    }
    for (size_t i = 0; i < count; i++) { /* `held` is what may be the end: a brace and spaces */
      bool may_be_end = block[i] == '}' || (n_held > 0 && (block[i] == '\n' || block[i] == ' '));
      if (!may_be_end || block[i] == '}' || n_held == sizeof held) {
        fwrite(held, 1, n_held, stdout);
        n_held = 0;
      }
      if (may_be_end)
        held[n_held++] = block[i];
      else
        fputc(block[i], stdout);
    }
  }
  bool read = !ferror(file);
  fclose(file);
  return read;
}

/* Writes the contents of a file, which is UTF-8, as a JSON string. Returns false if the file cannot be opened. */
static bool write_string(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) return false;
  fputc('"', stdout);
  for (int byte; (byte = fgetc(file)) != EOF;) {
    if (byte == '"' || byte == '\\')
      printf("\\%c", byte);
    else if (byte < 0x20 || byte == 0x7f || byte == '<')
      printf("\\u%04x", (unsigned)byte);
    else
      fputc(byte, stdout);
  }
  fputc('"', stdout);
  fclose(file);
  return true;
}

/* Redirects standard output to the file or, if `path` is NULL, to the response again. */
static bool redirect(const char *path, int response) {
  fflush(stdout);
  int descriptor = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : dup(response);
  if (descriptor < 0) return false;
  bool done = dup2(descriptor, STDOUT_FILENO) >= 0;
  close(descriptor);
  return done;
}

static int run_command(const struct hr__step *step, hr__command *command) {
  int response = step->text ? dup(STDOUT_FILENO) : -1;
  if (step->text && (response < 0 || !redirect(step->text, response))) return hr_status_exit_code(HR_IO_ERROR);
  int code = command(step->n_words, step->words);
  fflush(stdout);
  if (response >= 0) {
    redirect(NULL, response);
    close(response);
  }
  return code;
}

static bool execute(const struct hr__step *step, hr__command *command, int *code) {
  switch (step->kind) {
  case HR__STEP_COMMAND:
    *code = run_command(step, command);
    return *code == 0 || *code == 1;
  case HR__STEP_TEXT:
    return fputs(step->text, stdout) >= 0;
  case HR__STEP_FILE:
    return copy_file(step->text, false);
  case HR__STEP_OPEN:
    return copy_file(step->text, true);
  case HR__STEP_STRING:
    return write_string(step->text);
  }
  return false;
}

/* Executes the steps of a job in this process, writing to standard output. Returns the exit code. */
static int execute_job(const struct hr__job *job, hr__command *command) {
  const int system_failure = hr_status_exit_code(HR_IO_ERROR);
  for (uint32_t i = 0; i < job->n_steps; i++) {
    int code = 0;
    if (execute(&job->steps[i], command, &code)) continue;
    if (code == 0 || code == 1) fprintf(stderr, "headroom: the response cannot be written: %s\n", strerror(errno));
    return code == 0 || code == 1 ? system_failure : code;
  }
  return fflush(stdout) == 0 ? 0 : system_failure;
}

/* ---- Workers: the process --------------------------------------------------------------------------- */

static void limit(unsigned resource, uint64_t value) {
  struct rlimit old, limit = {(rlim_t)value, (rlim_t)value};
  if (getrlimit(resource, &old) == 0 && old.rlim_max < limit.rlim_max)
    limit = (struct rlimit){old.rlim_max, old.rlim_max};
  setrlimit(resource, &limit);
}

static void set_limits(const struct hr__worker_rules *rules, uint32_t seconds) {
  enum { PROCESSORS = 64, GRACE_S = 5 };
  if (LIMITS_MEMORY) limit(RLIMIT_AS, rules->memory_bytes);
  limit(RLIMIT_CPU, (uint64_t)seconds * PROCESSORS + GRACE_S);
  limit(RLIMIT_FSIZE, rules->file_bytes);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NOFILE, MAX_OPEN_FILES);
}

static bool place_files(const struct hr__worker *worker, int events) {
  int empty = open("/dev/null", O_RDONLY);
  int from[] = {empty, worker->result, worker->errors, events};
  for (int i = 0; i < FIRST_OTHER_FILE; i++) { /* moves the files to numbers that dup2 below does not overwrite */
    from[i] = fcntl(from[i], F_DUPFD, 64);
    if (from[i] < 0) return false;
  }
  for (int i = 0; i < FIRST_OTHER_FILE; i++)
    if (dup2(from[i], i) < 0) return false;
  long count = sysconf(_SC_OPEN_MAX);
  for (int i = FIRST_OTHER_FILE; i < (count < 4096 ? count : 4096); i++) close(i);
  return true;
}

static void default_signals(void) {
  static const int numbers[] = {SIGHUP, SIGINT, SIGTERM, SIGPIPE, SIGXCPU, SIGCHLD};
  const struct sigaction standard = {.sa_handler = SIG_DFL};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) sigaction(numbers[i], &standard, NULL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The main function of a worker. It never returns, so `confinement` is valid until the end of the process. */
static void live(const struct hr__worker *worker, int events, const struct hr__job *job,
                 const struct hr__worker_rules *rules) {
  const struct hr__confinement confinement = {.folders = rules->folders,
                                              .n_folders = rules->n_folders,
                                              .aliases = job->aliases,
                                              .n_aliases = job->n_aliases,
                                              .phrases = hr__serve_phrases,
                                              .n_phrases = hr__n_serve_phrases,
                                              .allow_plugins = rules->allow_plugins};
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  default_signals();
  const char *folder = job->at_data ? rules->data_folder : rules->folder;
  if (!place_files(worker, events) || chdir(folder) != 0) _exit(hr_status_exit_code(HR_IO_ERROR));
  set_limits(rules, job->planned ? rules->plan_s : rules->run_s);
  hr__confine(&confinement);
  int code = execute_job(job, rules->command);
  fflush(NULL);
  _exit(code);
}

static int nameless_file(const char *folder) {
  char path[4096];
  int length = snprintf(path, sizeof path, "%s/out-XXXXXX", folder);
  if (length < 0 || (size_t)length >= sizeof path) return -1;
  int descriptor = mkstemp(path);
  if (descriptor >= 0) unlink(path);
  if (descriptor >= 0) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return descriptor;
}

static void close_file(int *descriptor) {
  if (*descriptor >= 0) close(*descriptor);
  *descriptor = -1;
}

enum hr_status hr__worker_start(struct hr__worker *worker, const struct hr__job *job,
                                const struct hr__worker_rules *rules, struct hr_error *error) {
  int ends[2] = {-1, -1};
  *worker = (struct hr__worker){.events = -1,
                                .result = nameless_file(rules->scratch),
                                .errors = nameless_file(rules->scratch),
                                .planned = job->planned,
                                .end_s = hr__serve_clock_s() + (job->planned ? rules->plan_s : rules->run_s)};
  bool ready = worker->result >= 0 && worker->errors >= 0 && pipe(ends) == 0;
  fflush(NULL);
  pid_t pid = ready ? fork() : -1;
  if (pid == 0) live(worker, ends[1], job, rules); /* does not return */
  int number = errno;
  if (ends[1] >= 0) close(ends[1]);
  if (pid < 0) {
    if (ends[0] >= 0) close(ends[0]);
    close_file(&worker->result);
    close_file(&worker->errors);
    return hr_fail(error, HR_IO_ERROR, "a worker cannot be started: %s", strerror(number));
  }
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  worker->events = ends[0];
  worker->pid = pid;
  return HR_OK;
}

void hr__worker_kill(struct hr__worker *worker) {
  if (worker->pid > 0) kill(worker->pid, SIGKILL);
}

bool hr__worker_poll(struct hr__worker *worker) {
  if (worker->pid <= 0) return true;
  if (hr__serve_clock_s() > worker->end_s && !worker->stopped) {
    worker->timed = true;
    hr__worker_kill(worker);
  }
  pid_t ended = waitpid(worker->pid, &worker->status, WNOHANG);
  if (ended == 0) return false;
  worker->pid = 0;
  return true;
}

void hr__worker_finish(struct hr__worker *worker) {
  hr__worker_kill(worker);
  if (worker->pid > 0) waitpid(worker->pid, &worker->status, 0);
  worker->pid = 0;
  close_file(&worker->events);
  close_file(&worker->result);
  close_file(&worker->errors);
}

/* ---- Workers: the answer ---------------------------------------------------------------------------- */

/* Copies the message of a failed command from the first 8 KiB of its errors: the last line that begins with
   "headroom:", and the lines that follow. */
static void read_message(int errors, char *message, size_t size) {
  static const char mark[] = "headroom: ";
  char text[8192];
  ssize_t length = pread(errors, text, sizeof text - 1, 0);
  text[length > 0 ? length : 0] = '\0';
  const char *begin = text;
  for (const char *at = text; (at = strstr(at, mark)) != NULL; at++)
    if (at == text || at[-1] == '\n') begin = at + sizeof mark - 1;
  snprintf(message, size, "%s", begin);
  size_t end = strlen(message);
  while (end > 0 && message[end - 1] == '\n') message[--end] = '\0';
}

unsigned hr__worker_answer(const struct hr__worker *worker, char *message, size_t size) {
  enum { OK = 200, UNPROCESSABLE = 422, FAILED = 500, OVERLOADED = 503 };
  int status = worker->status;
  message[0] = '\0';
  if (worker->stopped) {
    snprintf(message, size, "stopped");
    return OVERLOADED;
  }
  if (!worker->timed && WIFSIGNALED(status)) { /* a plug-in that crashed or did not return (base/process.h) */
    read_message(worker->errors, message, size);
    if (strncmp(message, "plug-in '", strlen("plug-in '")) == 0) return UNPROCESSABLE;
    message[0] = '\0';
  }
  if (worker->timed || (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)) {
    snprintf(message, size,
             "the time limit of a %s is over; use a smaller trace or fewer runs, or start the server with a larger %s",
             worker->planned ? "plan" : "request", worker->planned ? "--max-plan-seconds" : "--max-seconds");
    return OVERLOADED;
  }
  if (WIFSIGNALED(status)) {
    snprintf(message, size, "the worker ended with signal %d", WTERMSIG(status));
    return FAILED;
  }
  int code = WEXITSTATUS(status);
  if (code == 0) return OK;
  read_message(worker->errors, message, size);
  if (!message[0]) snprintf(message, size, "the worker ended with exit code %d", code);
  if (strstr(message, "out of memory")) {
    snprintf(message + strlen(message), size - strlen(message), " (the limit of a request is --max-memory)");
    return OVERLOADED;
  }
  return code == hr_status_exit_code(HR_IO_ERROR) ? FAILED : UNPROCESSABLE;
}

/* ---- Workers: phrases ------------------------------------------------------------------------------- */

/* Phrases of the command line, each with the phrase of the interface that replaces it in messages. They are replaced in
   the formats of messages before values are inserted (hr_fail), so the text of users is never changed. */

const struct hr__phrase hr__serve_phrases[] = {
    {"give a scenario, and this file with --trace; 'headroom init --from' drafts a scenario from it",
     "name it in 'trace_file', or draft a scenario from it (/api/draft)"},
    {"; 'headroom list scenarios' shows those that ship", "; /api/scenarios lists those that ship"},
    {"; 'headroom list placements' shows them", "; docs/reference/rules.md describes them"},
    {"; 'headroom sweep' reads it", "; 'headroom sweep' on the command line reads it"},
    {"; 'headroom check' reads it", "; 'headroom check' on the command line reads it"},
    {" (see 'headroom help plan')", ""},
    {"\nTry 'headroom help %s'.", "%.0s"},
    /* Outputs are in a temporary folder, or have a name that the browser chooses. */
    {"--%s %s: cannot be written: %s is not a folder", "'%s'%.0s: cannot be written%.0s"},
    {"--%s %s: cannot be written: folder %s: %s", "'%s'%.0s: cannot be written:%.0s %s"},
    {"--%s %s: cannot be written: %s", "'%s'%.0s: cannot be written: %s"},
    {"--costs %s:", "export as 'csv':%.0s"},
    {"--trace FILE", "'trace' or 'trace_file'"},
    {"--map %.200s:", "'map' in the address, %.200s:"},
    {"--map", "'map' in the address:"},
    {"--format", "'format' in the address"},
    {"--lenient", "'lenient' in the address"},
    {"--trace", "'trace'"},
    {"--set", "'set'"},
    {"--policy", "'policy'"},
    {"--policies", "'policies'"},
    {"--seed", "'seed'"},
    {"--replications", "'replications'"},
    {"--averages", "'series'"},
    {"--intervals", "'series'"},
    {"--own", "'own'"},
    {"--cloud", "'cloud'"},
    {"--goal", "'goals'"},
    {"--forecast", "'forecast'"},
    {"--brief", "'brief'"},
    {"--load", "'load'"},
    {"--from", "'trace'"},
    {"--costs", "export as 'csv'"},
    {"--jobs", "export as 'jobs'"},
    {"--timeline", "export as 'timeline'"},
    {"--md", "export as 'markdown'"},
    {"--csv", "export as 'csv'"},
    {"--report", "export as 'page'"},
    {"--json", "the answer"},
    {"--output", "the answer"},
    {"--%s", "'%s'"},
};
const size_t hr__n_serve_phrases = sizeof hr__serve_phrases / sizeof *hr__serve_phrases;

const char *hr_serve_phrase(const char *text) {
  return hr__phrase(text);
}
