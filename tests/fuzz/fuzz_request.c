/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz target: arbitrary bytes as a request. The first byte selects the route. The next line is a header (Host, Origin
   or token) or the name of a file. The rest is the body. A body becomes a job or is rejected with a message. Commands
   must have the form that check_command describes, and no file of a job may be outside of its folder. */

#include "input.h"
#include "serve/serve.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void require(bool condition) {
  if (!condition) abort();
}

/* The command is "headroom" and at least one more word. A word that begins with a hyphen must begin with two. After the
   word "--" the words are operands, which may begin with anything. */
static void check_command(const struct hr__step *step) {
  bool operands = false;
  require(step->n_words >= 2 && strcmp(step->words[0], "headroom") == 0);
  for (int i = 1; i < step->n_words; i++) {
    if (strcmp(step->words[i], "--") == 0) operands = true;
    if (!operands && step->words[i][0] == '-') require(strncmp(step->words[i], "--", 2) == 0);
  }
  require(step->words[step->n_words] == NULL);
}

static void check_job(const struct hr__job *job) {
  require(job->folder && job->n_steps <= HR__MAX_STEPS && !job->out_of_memory);
  for (uint32_t i = 0; i < job->n_steps; i++)
    if (job->steps[i].kind == HR__STEP_COMMAND) check_command(&job->steps[i]);
  for (uint32_t i = 0; i < job->n_paths; i++) require(strncmp(job->paths[i], job->folder, strlen(job->folder)) == 0);
}

static void make_job(const struct hr__route *route, const char *body, size_t bytes) {
  static char path[] = "/no/demo.json", name[] = "demo", words[] = "words", id[] = "1", file[] = "jobs.csv",
              packed[] = "/no/packed.hrt";
  static const struct hr_scenario_entry shipped = {path, name, words};
  static struct hr__upload upload = {id, file, packed};
  const struct hr__uploads uploads = {&upload, 1, 1};
  const struct hr__request_world world = {.scratch = ".",
                                          .folder = ".",
                                          .shipped_folder = "scenarios",
                                          .uploads = &uploads,
                                          .shipped = &shipped,
                                          .n_shipped = 1,
                                          .threads = 2};
  struct hr__job job = {0};
  struct hr_error error = {0};
  enum hr_status status = hr__request_job(&world, route, body, bytes, &job, &error);
  if (status == HR_OK)
    check_job(&job);
  else
    require(error.text[0]);
  hr__job_finish(&job);
}

static void check_line(const char *line) {
  char *real = NULL, *plain = hr__plain_name(line), *json = hr__error_json(line, 400);
  require(plain && plain[0] && !strchr(plain, '/') && plain[0] != '-' && plain[0] != '.');
  require(json && json[0] == '{');
  if (hr__guard_host(line, "127.0.0.1", 8080)) require(strstr(line, "8080") != NULL);
  require(!hr__guard_origin(line, "localhost:8080") || strcasecmp(line, "http://localhost:8080") == 0);
  (void)hr__guard_token(line, "0123456789abcdef");
  if (hr__guard_file("/no-such-folder", line, &real)) abort();
  free(plain);
  free(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2) return 0;
  const struct hr__route *route = &hr__routes[data[0] % hr__n_routes];
  const char *text = (const char *)data + 1, *newline = memchr(text, '\n', size - 1);
  size_t length = newline ? (size_t)(newline - text) : size - 1;
  char *line = strndup(text, length);
  require(line != NULL);
  check_line(line);
  free(line);
  if (newline) make_job(route, newline + 1, size - length - 2);
  return 0;
}
