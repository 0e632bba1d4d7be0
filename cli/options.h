/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_CLI_OPTIONS_H
#define HR_CLI_OPTIONS_H

#include "headroom/base.h"
#include "headroom/scenario.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The words of the command line, borrowed. */
struct command {
  int count;
  char **words;
};

/* Each verb has a table of options. Parsing, the check of bounds, and help use the same table. */

enum option_kind {
  OPTION_FLAG,  /* bool */
  OPTION_TEXT,  /* const char *, borrowed from the command line */
  OPTION_LIST,  /* struct words; may be repeated */
  OPTION_WHOLE, /* uint64_t */
  OPTION_REAL   /* double */
};

struct option {
  const char *name; /* without "--"; NULL ends the table */
  char letter;      /* short form; 0: the option has none */
  enum option_kind kind;
  size_t offset;     /* of the value in the verb's struct of arguments */
  const char *value; /* name of the value in the help; NULL for a flag */
  const char *help;
  double min, max; /* bounds of numbers, inclusive */
};

/* A list of texts borrowed from the command line; at[count] is NULL unless the list is empty. */
struct words {
  const char **at;
  size_t count;
};
enum hr_status words_add(struct words *words, const char *text, struct hr_error *error);
void words_finish(struct words *words);

/* Returns the number of parts of a text that are separated by commas. */
static inline size_t count_parts(const char *text) {
  size_t count = 1;
  for (; *text; text++) count += *text == ',';
  return count;
}

/* Parses the command line and fills `args` and `operands`. HR_BAD_INPUT for usage errors. */
enum hr_status options_parse(const struct option *options, int argc, char **argv, void *args, struct words *operands,
                             struct hr_error *error);
/* Frees the lists in `args`. */
void options_finish(const struct option *options, void *args);

/* Prints the options with their help, 80 columns wide. If `defaults` is not NULL, prints the default of each number;
   `defaults` is a struct of arguments that contains them. */
void options_print(FILE *out, const struct option *options, const void *defaults);
/* Prints text wrapped at 80 columns. The first line starts at `column`; the following lines are indented by `indent`.
 */
void print_wrapped(FILE *out, const char *text, size_t column, size_t indent);
/* Prints the text that a function writes, wrapped at 80 columns. `what` is passed to the function. */
typedef void text_writer(FILE *out, const void *what);
void print_wrapped_from(FILE *out, text_writer *write, const void *what, size_t column, size_t indent);

/* Parse all of `text` as a whole number, or as a finite real number. Return false if the text is not such a number. */
bool parse_whole(const char *text, uint64_t *value);
static inline bool parse_real(const char *text, double *value) {
  char *end;
  *value = strtod(text, &end);
  return end != text && *end == '\0' && isfinite(*value);
}

/* Fails with "unknown LABEL 'word'; did you mean ...?" and the known words. `known` ends with NULL. */
enum hr_status unknown_word(const char *label, const char *word, const char *const *known, struct hr_error *error);

/* Changes that options make to a scenario: texts "path=value", in the notation of --set. */

struct overrides {
  struct words words;
  struct words owned; /* the words that overrides_finish() frees; the others are borrowed */
};

/* Adds the override "PATH=VALUE". Copies both texts. */
enum hr_status overrides_add(struct overrides *overrides, const char *path, const char *value, struct hr_error *error);
/* Checks a policy in the notation of --policy, NAME[:KEY=VALUE,...], and adds its overrides. Errors name `option`. */
enum hr_status overrides_add_policy(struct overrides *overrides, const char *option, const char *policy,
                                    struct hr_error *error);
void overrides_finish(struct overrides *overrides);

/* Parses the horizon of a forecast in months, "3" or "3mo". Errors name `option`. */
enum hr_status parse_months(const char *option, const char *text, uint32_t *months, struct hr_error *error);

#endif
