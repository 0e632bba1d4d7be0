/* SPDX-License-Identifier: GPL-3.0-or-later */

/* Command-line options. A verb has a table of options. Each option has the offset of its value in the verb's struct of
   arguments, and parsing writes the value there. The help is generated from the same table. */

#include "cli/cli.h"

#include "headroom/unstable/planning.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_WIDTH = 80, HELP_COLUMN = 28 };

/* ---- Words and numbers ------------------------------------------------------------------------------ */

enum hr_status words_add(struct words *words, const char *text, struct hr_error *error) {
  const char **grown = realloc(words->at, (words->count + 2) * sizeof(*grown));
  if (!grown) return no_memory(error);
  words->at = grown;
  grown[words->count++] = text;
  grown[words->count] = NULL;
  return HR_OK;
}

void words_finish(struct words *words) {
  free(words->at);
  *words = (struct words){0};
}

bool parse_whole(const char *text, uint64_t *value) {
  if (!text[0] || text[strspn(text, "0123456789")]) return false;
  errno = 0;
  *value = strtoull(text, NULL, 10);
  return errno == 0;
}

enum hr_status parse_seed(const char *text, uint64_t *seed, struct hr_error *error) {
  if (parse_whole(text, seed)) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "--seed %.60s: expected a whole number from 0 to %" PRIu64, text, UINT64_MAX);
}

enum hr_status unknown_word(const char *label, const char *word, const char *const *known, struct hr_error *error) {
  char list[500] = "";
  size_t used = 0;
  for (size_t i = 0; known[i] && used < sizeof list; i++)
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", known[i]);
  const char *nearest = hr_nearest_word(word, known);
  if (nearest)
    return hr_fail(error, HR_BAD_INPUT, "unknown %s '%.60s'; did you mean '%s'? (known: %s)", label, word, nearest,
                   list);
  return hr_fail(error, HR_BAD_INPUT, "unknown %s '%.60s' (known: %s)", label, word, list);
}

/* ---- Parsing ---------------------------------------------------------------------------------------- */

enum hr_status find_word(const char *label, const char *word, const char *const *known, unsigned *place,
                         struct hr_error *error) {
  for (*place = 0; known[*place]; ++*place)
    if (strcmp(known[*place], word) == 0) return HR_OK;
  return unknown_word(label, word, known, error);
}

static enum hr_status unknown_option(const struct option *options, const char *name, struct hr_error *error) {
  struct words known = {0};
  for (const struct option *option = options; option->name; option++)
    if (words_add(&known, option->name, error) != HR_OK) break;
  const char *nearest = known.count ? hr_nearest_word(name, known.at) : NULL;
  words_finish(&known);
  if (nearest) return hr_fail(error, HR_BAD_INPUT, "unknown option '--%.60s'; did you mean '--%s'?", name, nearest);
  return hr_fail(error, HR_BAD_INPUT, "unknown option '--%.60s'", name);
}

static enum hr_status bad_number(const struct option *option, const char *text, struct hr_error *error) {
  bool whole = option->kind == OPTION_WHOLE;
  char highest[40];
  if (whole && option->max >= 0x1p64)
    snprintf(highest, sizeof highest, "%" PRIu64, UINT64_MAX);
  else
    snprintf(highest, sizeof highest, "%.15g", option->max);
  return hr_fail(error, HR_BAD_INPUT, "--%s %.60s: expected a %s from %.15g to %s", option->name, text,
                 whole ? "whole number" : "number", option->min, highest);
}

static enum hr_status store(const struct option *option, const char *text, void *args, struct hr_error *error) {
  void *target = (char *)args + option->offset;
  uint64_t whole = 0;
  double real = 0;
  switch (option->kind) {
  case OPTION_FLAG:
    *(bool *)target = true;
    return HR_OK;
  case OPTION_TEXT:
    /* If another option with a text is repeated, the last value applies. Policies form a list, so none of them may be
       ignored. */
    if (strcmp(option->name, "policies") == 0 && *(const char **)target)
      return hr_fail(error, HR_BAD_INPUT, "--policies is given twice; write all policies in one list: A,B,...");
    *(const char **)target = text;
    return HR_OK;
  case OPTION_LIST:
    return words_add(target, text, error);
  case OPTION_WHOLE:
    if (!parse_whole(text, &whole) || (double)whole < option->min || (double)whole > option->max)
      return bad_number(option, text, error);
    *(uint64_t *)target = whole;
    return HR_OK;
  case OPTION_REAL:
    if (!parse_real(text, &real) || real < option->min || real > option->max) return bad_number(option, text, error);
    *(double *)target = real;
    return HR_OK;
  }
  return HR_INTERNAL;
}

/* Finds the option of a word "--name", "--name=value" or "-n". Sets *value to the value if it is part of the word,
   otherwise to NULL. */
static const struct option *find_option(const struct option *options, const char *word, const char **value) {
  *value = NULL;
  if (word[1] != '-') {
    for (; options->name; options++)
      if (options->letter && options->letter == word[1] && word[2] == '\0') return options;
    return NULL;
  }
  size_t length = strcspn(word + 2, "=");
  if (word[2 + length] == '=') *value = word + 2 + length + 1;
  for (; options->name; options++)
    if (strlen(options->name) == length && strncmp(options->name, word + 2, length) == 0) return options;
  return NULL;
}

/* Parses the option at argv[*at] and its value. Sets *at to the index of the last word of the option. */
static enum hr_status parse_option(const struct option *options, int argc, char **argv, int *at, void *args,
                                   struct hr_error *error) {
  const char *value;
  const char *word = argv[*at];
  const struct option *option = find_option(options, word, &value);
  if (!option && word[1] != '-') return hr_fail(error, HR_BAD_INPUT, "unknown option '%.60s'", word);
  if (!option) {
    char name[61];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    return unknown_option(options, name, error);
  }
  if (option->kind == OPTION_FLAG && value)
    return hr_fail(error, HR_BAD_INPUT, "option '--%s' takes no value", option->name);
  if (option->kind != OPTION_FLAG && !value) {
    if (*at + 1 >= argc)
      return hr_fail(error, HR_BAD_INPUT, "option '--%s' needs a value: --%s %s", option->name, option->name,
                     option->value);
    value = argv[++*at];
  }
  return store(option, value, args, error);
}

enum hr_status options_parse(const struct option *options, int argc, char **argv, void *args, struct words *operands,
                             struct hr_error *error) {
  enum hr_status status = HR_OK;
  bool all_operands = false; /* "--" was found */
  for (int at = 0; at < argc && status == HR_OK; at++) {
    bool dashed = !all_operands && argv[at][0] == '-' && argv[at][1];
    if (dashed && strcmp(argv[at], "--") == 0)
      all_operands = true;
    else if (dashed)
      status = parse_option(options, argc, argv, &at, args, error);
    else
      status = words_add(operands, argv[at], error);
  }
  return status;
}

void options_finish(const struct option *options, void *args) {
  for (; options->name; options++)
    if (options->kind == OPTION_LIST) words_finish((struct words *)(void *)((char *)args + options->offset));
}

/* ---- Help ------------------------------------------------------------------------------------------- */

void print_wrapped(FILE *out, const char *text, size_t column, size_t indent) {
  bool first = true;
  while (*text) {
    size_t length = strcspn(text, " \n");
    if (!first && column + 1 + length > LINE_WIDTH) {
      fprintf(out, "\n%*s", (int)indent, "");
      column = indent;
    } else if (!first) {
      fputc(' ', out);
      column++;
    }
    hr_print_safe(out, text, length);
    column += length;
    text += length;
    text += strspn(text, " \n");
    first = false;
  }
  fputc('\n', out);
}

void print_wrapped_from(FILE *out, text_writer *write, const void *what, size_t column, size_t indent) {
  char *text = NULL;
  size_t size = 0;
  FILE *memory = open_memstream(&text, &size);
  write(memory ? memory : out, what);
  bool whole = memory && fclose(memory) == 0;
  if (whole) print_wrapped(out, text, column, indent);
  free(text);
}

/* Writes the help text of an option. The text for a number contains the default. A default outside the bounds means
   that the option is not set. */
static void describe(const struct option *option, const void *defaults, char *text, size_t size) {
  const char *value = defaults ? (const char *)defaults + option->offset : NULL;
  double number = 0;
  if (value && option->kind == OPTION_WHOLE) {
    uint64_t whole;
    memcpy(&whole, value, sizeof whole);
    number = (double)whole;
  } else if (value && option->kind == OPTION_REAL) {
    memcpy(&number, value, sizeof number);
  } else {
    value = NULL;
  }
  if (value && number >= option->min && number <= option->max)
    snprintf(text, size, "%s (default: %.15g)", option->help, number);
  else
    snprintf(text, size, "%s", option->help);
}

void options_print(FILE *out, const struct option *options, const void *defaults) {
  for (; options->name; options++) {
    char head[64], letter[8] = "", help[300];
    if (options->letter) snprintf(letter, sizeof letter, "-%c, ", options->letter);
    int length = snprintf(head, sizeof head, "  %s--%s%s%s", letter, options->name, options->value ? " " : "",
                          options->value ? options->value : "");
    if (length + 2 > HELP_COLUMN)
      fprintf(out, "%s\n%*s", head, HELP_COLUMN, "");
    else
      fprintf(out, "%-*s", HELP_COLUMN, head);
    describe(options, defaults, help, sizeof help);
    print_wrapped(out, help, HELP_COLUMN, HELP_COLUMN);
  }
}

/* Adds an override and takes ownership of its text. If this fails, the text is freed now or by overrides_finish(). */
static enum hr_status take(struct overrides *overrides, char *text, struct hr_error *error) {
  enum hr_status status = words_add(&overrides->owned, text, error);
  if (status != HR_OK) free(text);
  return status == HR_OK ? words_add(&overrides->words, text, error) : status;
}

enum hr_status overrides_add(struct overrides *overrides, const char *path, const char *value, struct hr_error *error) {
  size_t bytes = strlen(path) + strlen(value) + 2;
  char *text = malloc(bytes);
  if (!text) return no_memory(error);
  snprintf(text, bytes, "%s=%s", path, value);
  return take(overrides, text, error);
}

enum hr_status overrides_add_policy(struct overrides *overrides, const char *option, const char *policy,
                                    struct hr_error *error) {
  char **texts;
  size_t count;
  struct hr_error inner = {0};
  enum hr_status status = hr_policy_overrides(policy, &texts, &count, &inner);
  for (size_t i = 0; i < count; i++)
    if (status == HR_OK)
      status = take(overrides, texts[i], &inner);
    else
      free(texts[i]);
  free(texts);
  return status == HR_OK ? HR_OK : hr_fail(error, status, "--%s %.200s: %s", option, policy, inner.text);
}

void overrides_finish(struct overrides *overrides) {
  for (size_t i = 0; i < overrides->owned.count; i++) free((void *)(uintptr_t)overrides->owned.at[i]);
  words_finish(&overrides->owned);
  words_finish(&overrides->words);
}

enum hr_status parse_months(const char *option, const char *text, uint32_t *months, struct hr_error *error) {
  char number[8] = "";
  size_t length = strlen(text);
  if (length > 2 && strcmp(text + length - 2, "mo") == 0) length -= 2;
  uint64_t value = 0;
  bool good = length < sizeof number;
  if (good) memcpy(number, text, length);
  good = good && parse_whole(number, &value) && value >= 1 && value <= HR_MAX_FORECAST_MONTHS;
  *months = (uint32_t)value;
  if (good) return HR_OK;
  return hr_fail(error, HR_BAD_INPUT, "--%s %.60s: expected a whole number of months from 1 to %d, such as 3 or 3mo",
                 option, text, HR_MAX_FORECAST_MONTHS);
}
