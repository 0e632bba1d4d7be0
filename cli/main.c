/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program: finds the verb, parses its options, runs it and reports errors. If the reader of a pipe closes it,
   SIGPIPE ends the program silently, as is usual for filters. Exception: `run` ignores SIGPIPE if it writes output
   files. The write to the pipe then fails, and the error is reported. */

#include "cli/cli.h"

#include <errno.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Declared here, since `help` prints the list of verbs below. */
static enum hr_status run_help(const void *args, const struct words *operands, struct hr_error *error);
static const struct option no_options[] = {{0}};
static const struct verb verb_help = {.name = "help",
                                      .operands = "[VERB]",
                                      .summary = "show what a verb does, and its options",
                                      .options = no_options,
                                      .run = run_help};

static const struct verb *const verbs[] = {
    &verb_run,    &verb_report,  &verb_why,    &verb_compare, &verb_diff,     &verb_check,    &verb_plan, &verb_tco,
    &verb_advise, &verb_sweep,   &verb_merge,  &verb_fill,    &verb_forecast, &verb_validate, &verb_init, &verb_list,
    &verb_trace,  &verb_conform, &verb_import, &verb_fit,     &verb_serve,    &verb_help,     NULL};
enum { N_VERBS = sizeof verbs / sizeof *verbs };

/* ---- Verbs and actions ------------------------------------------------------------------------------ */

/* The last word of a verb's name. For an action this is the word after the verb. */
static const char *word_of(const struct verb *verb) {
  const char *space = strrchr(verb->name, ' ');
  return space ? space + 1 : verb->name;
}

/* Finds the verb or action `name` in a list. If it is unknown, returns NULL and sets the error. `label` is "verb" or
   "action". */
static const struct verb *find_among(const char *label, const char *name, const struct verb *const *list,
                                     struct hr_error *error) {
  const char *names[N_VERBS + 1] = {0};
  for (size_t i = 0; list[i] && i < N_VERBS; i++) {
    if (strcmp(word_of(list[i]), name) == 0) return list[i];
    names[i] = word_of(list[i]);
  }
  unknown_word(label, name, names, error);
  return NULL;
}

static const struct verb *find_action(const struct verb *verb, const char *name, struct hr_error *error) {
  char label[64];
  snprintf(label, sizeof label, "action of %s", verb->name);
  return find_among(label, name, verb->actions, error);
}

/* ---- Help ------------------------------------------------------------------------------------------- */

static void print_overview(FILE *out) {
  fputs("Headroom replays GPU job traces against a modelled cluster.\n\n"
        "Usage: headroom VERB [OPTION]...\n\n",
        out);
  for (size_t i = 0; verbs[i]; i++) {
    fprintf(out, "  %-10s", verbs[i]->name);
    print_wrapped(out, verbs[i]->summary, 12, 12);
  }
  fputs("\n'headroom help VERB' shows the options of a verb.\n"
        "'headroom --version' prints the version.\n"
        "To begin: headroom list scenarios\n",
        out);
}

static void print_usage(FILE *out, const struct verb *verb) {
  bool has_options = verb->options->name != NULL;
  fprintf(out, "headroom %s%s%s%s", verb->name, verb->operands[0] ? " " : "", verb->operands,
          has_options ? " [OPTION]..." : "");
}

/* Prints the options. If the verb has defaults, the help of each option with a numeric value contains the default,
   unless the default means "not set". */
static void print_options(FILE *out, const struct verb *verb) {
  void *defaults = verb->set_defaults ? calloc(1, verb->args_bytes) : NULL;
  if (defaults) verb->set_defaults(defaults);
  options_print(out, verb->options, defaults);
  free(defaults);
}

static void print_actions(FILE *out, const struct verb *verb) {
  fprintf(out, "Usage: headroom %s ACTION [OPTION]...\n\n", verb->name);
  print_wrapped(out, verb->summary, 0, 0);
  fputc('\n', out);
  for (size_t i = 0; verb->actions[i]; i++) {
    fprintf(out, "  %-12s", word_of(verb->actions[i]));
    print_wrapped(out, verb->actions[i]->summary, 14, 14);
  }
  fprintf(out, "\n'headroom help %s ACTION' shows the options of an action.\n", verb->name);
}

static void print_help(FILE *out, const struct verb *verb) {
  if (verb->actions) {
    print_actions(out, verb);
    return;
  }
  fputs("Usage: ", out);
  print_usage(out, verb);
  fputs("\n\n", out);
  print_wrapped(out, verb->summary, 0, 0);
  if (verb->options->name) fputc('\n', out);
  print_options(out, verb);
  if (verb->details) fprintf(out, "\n%s", verb->details);
}

static enum hr_status run_help(const void *args, const struct words *operands, struct hr_error *error) {
  (void)args;
  if (operands->count == 0) {
    print_overview(stdout);
    return HR_OK;
  }
  const char *more = operands->count > 1 ? operands->at[1] : NULL;
  const struct verb *verb = find_among("verb", operands->at[0], verbs, error);
  if (verb && verb->actions && more)
    verb = find_action(verb, more, error);
  else if (verb && more && !strstr(verb->operands, more))
    return hr_fail(error, HR_BAD_INPUT, "help: '%s' has no topic '%.60s'", verb->name, more);
  if (!verb) return HR_BAD_INPUT;
  print_help(stdout, verb);
  return HR_OK;
}

/* ---- Running ---------------------------------------------------------------------------------------- */

static bool asks_for(const char *word, const char *name, const char *letter) {
  return strcmp(word, name) == 0 || strcmp(word, letter) == 0;
}

static bool asks_for_help(int argc, char **argv) {
  for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
    if (asks_for(argv[i], "--help", "-h")) return true;
  return false;
}

/* Checks the number of operands against the usage line. */
static enum hr_status check_operands(const struct verb *verb, const struct words *operands, struct hr_error *error) {
  size_t count = 0;
  for (const char *name = verb->operands; *name; count++) {
    size_t length = strcspn(name, " ");
    if (count >= operands->count && name[0] != '[')
      return hr_fail(error, HR_BAD_INPUT, "%s: %.*s is missing\nTry 'headroom help %s'.", verb->name, (int)length, name,
                     verb->name);
    name += length + (name[length] == ' ');
  }
  if (verb == &verb_help) count++; /* the action of a verb */
  if (operands->count <= count || strstr(verb->operands, "...")) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "%s: unexpected argument '%.60s'\nTry 'headroom help %s'.", verb->name,
                 operands->at[count], verb->name);
}

/* Parses options and operands. The message of a usage error ends with a hint to the help. */
static enum hr_status parse(const struct verb *verb, int argc, char **argv, void *args, struct words *operands,
                            struct hr_error *error) {
  struct hr_error inner;
  enum hr_status status = options_parse(verb->options, argc, argv, args, operands, &inner);
  if (status != HR_OK)
    return hr_fail(error, status, "%s: %s\nTry 'headroom help %s'.", verb->name, inner.text, verb->name);
  return check_operands(verb, operands, error);
}

/* Runs a verb. All its output files appear at its end, unless it fails. HR_CHECK_FAILED is a result, so its files
   appear, too. */
static enum hr_status run_and_publish(const struct verb *verb, const void *args, const struct words *operands,
                                      struct hr_error *error) {
  hr_outputs_hold();
  enum hr_status status = verb->run(args, operands, error);
  if (status != HR_OK && status != HR_CHECK_FAILED) {
    hr_outputs_discard();
    return status;
  }
  struct hr_error failure = {0};
  enum hr_status published = hr_outputs_publish(&failure);
  if (published == HR_OK) return status;
  *error = failure;
  return published;
}

/* Runs a verb. The first `before` words of the command are the program and the name of the verb. */
static enum hr_status run_verb(const struct verb *verb, const struct command *command, int before,
                               struct hr_error *error) {
  int argc = command->count - before;
  char **argv = command->words + before;
  if (asks_for_help(argc, argv)) {
    print_help(stdout, verb);
    return HR_OK;
  }
  struct words operands = {0};
  void *args = calloc(1, verb->args_bytes + 1);
  if (!args) return no_memory(error);
  if (verb->set_defaults) verb->set_defaults(args);
  if (verb->command_at) *(struct command *)(void *)((char *)args + verb->command_at) = *command;
  enum hr_status status = parse(verb, argc, argv, args, &operands, error);
  if (status == HR_OK)
    status = run_and_publish(verb, args, &operands, error);
  else if (verb->on_ranks && !hr_ranks_lead())
    status = HR_OK; /* all ranks have the same options, so rank 0 reports the error */
  options_finish(verb->options, args);
  words_finish(&operands);
  free(args);
  return status;
}

/* Finds and runs the action. Its name directly follows the verb. */
static enum hr_status run_action(const struct verb *verb, const struct command *command, struct hr_error *error) {
  enum { BEFORE = 2 };
  const char *name = command->count > BEFORE ? command->words[BEFORE] : NULL;
  if (name && asks_for(name, "--help", "-h")) {
    print_help(stdout, verb);
    return HR_OK;
  }
  if (!name)
    return hr_fail(error, HR_BAD_INPUT, "%s: an action is missing\nTry 'headroom help %s'.", verb->name, verb->name);
  const struct verb *action = find_action(verb, name, error);
  return action ? run_verb(action, command, BEFORE + 1, error) : HR_BAD_INPUT;
}

static enum hr_status run_program(int argc, char **argv, struct hr_error *error) {
  if (asks_for(argv[1], "--help", "-h")) {
    print_overview(stdout);
    return HR_OK;
  }
  if (asks_for(argv[1], "--version", "-V")) {
    printf("headroom %s\n", hr_version());
    return HR_OK;
  }
  if (argv[1][0] == '-')
    return hr_fail(error, HR_BAD_INPUT, "unexpected option '%.60s': options follow the verb\nTry 'headroom help'.",
                   argv[1]);
  const struct verb *verb = find_among("verb", argv[1], verbs, error);
  if (!verb) return HR_BAD_INPUT;
  const struct command command = {argc, argv};
  return verb->actions ? run_action(verb, &command, error) : run_verb(verb, &command, 2, error);
}

/* 1 if main() is about to return. If a policy in a shared object calls exit(), this is 0, and refuse_exit() reports an
   error. Without refuse_exit(), the program would end with the policy's exit code and without a result. */
static volatile sig_atomic_t ends_by_itself;

static void refuse_exit(void) {
  if (ends_by_itself) return;
  hr_discard_unfinished();
  fprintf(stderr, "headroom: a policy or a library called exit() during the run; a policy reports a failure with its "
                  "return value\n");
  _exit(hr_status_exit_code(HR_BAD_POLICY));
}

/* `plan`, `sweep` and replications allocate the columns of a run, free them and allocate them again thousands of times.
   By default, glibc returns freed memory to the system as soon as twice the size of the largest block is free. A new
   run then causes a page fault for each page again. This takes a tenth of the time of a plan for 125,000 jobs. */
static void keep_freed_memory(void) {
#ifdef __GLIBC__
  enum { LARGEST_BLOCK_OF_THE_HEAP = 32 << 20 }; /* glibc does not allow more; larger blocks are always returned */
  (void)mallopt(M_MMAP_THRESHOLD, LARGEST_BLOCK_OF_THE_HEAP);
  (void)mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
}

int run_command(int argc, char **argv) {
  struct hr_error error = {0};
  enum hr_status status = run_program(argc, argv, &error);
  errno = 0;
  if (status == HR_OK && (fflush(stdout) != 0 || ferror(stdout)))
    status = hr_fail(&error, HR_IO_ERROR, "standard output: cannot be written: %s", strerror(errno ? errno : EIO));
  if (status != HR_OK) fprintf(stderr, "headroom: %s\n", error.text[0] ? error.text : hr_status_meaning(status));
  return hr_status_exit_code(status);
}

int main(int argc, char **argv) {
  keep_freed_memory();
  hr_init();
  atexit(refuse_exit);
  signals_discard_unfinished();
  signals_guard_policies();
  int code = hr_status_exit_code(HR_BAD_INPUT);
  if (argc < 2)
    print_overview(stderr);
  else
    code = run_command(argc, argv);
  ends_by_itself = 1;
  return code;
}
