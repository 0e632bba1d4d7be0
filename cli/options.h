/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_OPTIONS_H
#define HR_CLI_OPTIONS_H

/* One table per verb says which options it has; parsing, defaults' bounds and help come from it. */

#include "headroom/base.h"

#include <stdio.h>

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

#endif
