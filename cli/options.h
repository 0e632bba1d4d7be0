/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_OPTIONS_H
#define HR_CLI_OPTIONS_H

#include "headroom/base.h"
#include "headroom/scenario.h"

#include <stdio.h>

/* The words that the program was started with, borrowed. */
struct command {
  int count;
  char **words;
};

/* As a person would type it into a shell; the caller frees it. NULL when out of memory. */
char *command_text(const struct command *command);

/* One table per verb says which options it has; parsing, defaults' bounds and help come from it. */

enum option_kind {
  OPTION_FLAG,  /* bool */
  OPTION_TEXT,  /* const char *, borrowed from the command line */
  OPTION_LIST,  /* struct words; may be given more than once */
  OPTION_WHOLE, /* uint64_t */
  OPTION_REAL   /* double */
};

struct option {
  const char *name; /* without "--"; NULL ends a table */
  char letter;      /* of a short form, or 0 */
  enum option_kind kind;
  size_t offset;     /* of the value in the verb's arguments */
  const char *value; /* what the value is called, NULL for a flag */
  const char *help;
  double min, max; /* of numbers */
};

/* Texts borrowed from the command line. */
struct words {
  const char **at;
  size_t count;
};
enum hr_status words_add(struct words *words, const char *text, struct hr_error *error);
void words_finish(struct words *words);

/* Fills `args` and `operands`; usage errors are HR_BAD_INPUT. */
enum hr_status options_parse(const struct option *options, int argc, char **argv, void *args, struct words *operands,
                             struct hr_error *error);
/* Frees the lists in `args`. */
void options_finish(const struct option *options, void *args);

/* The options with their help, 80 columns wide; `defaults`, if not NULL, are arguments whose numbers are told too. */
void options_print(FILE *out, const struct option *options, const void *defaults);
/* Words broken into lines of at most 80 columns, those after the first indented. Starts at column `column`. */
void print_wrapped(FILE *out, const char *text, size_t column, size_t indent);
/* Likewise what `write` puts out of `what`. */
typedef void text_writer(FILE *out, const void *what);
void print_wrapped_from(FILE *out, text_writer *write, const void *what, size_t column, size_t indent);

/* A whole number that fills all of `text`. */
bool parse_whole(const char *text, uint64_t *value);
bool parse_real(const char *text, double *value);

/* Fails with "LABEL 'word' is unknown; did you mean ...?" and the list of what is known (NULL-terminated). */
enum hr_status unknown_word(const char *label, const char *word, const char *const *known, struct hr_error *error);

/* What options change in a scenario: texts "path=value", as if the user had written --set. */

struct overrides {
  struct words words;
  char **owned; /* texts made here */
  size_t n_owned;
};

/* "PATH=VALUE" of the two; both are copied. */
enum hr_status overrides_add(struct overrides *overrides, const char *path, const char *value, struct hr_error *error);
/* A policy as --policy takes it, NAME[:KEY=VALUE,...], checked; errors name `option`. */
enum hr_status overrides_add_policy(struct overrides *overrides, const char *option, const char *policy,
                                    struct hr_error *error);
void overrides_finish(struct overrides *overrides);

/* How far ahead a forecast goes: "3", or "3mo". Errors name the option. */
enum hr_status parse_months(const char *option, const char *text, uint32_t *months, struct hr_error *error);

#endif
