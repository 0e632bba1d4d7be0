/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/command.h"

#include <stdlib.h>
#include <string.h>

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";

/* Between quotes all stands for itself but the quote, which is told outside of them. */
static char *put_quoted(char *at, const char *word) {
  *at++ = '\'';
  for (; *word; word++) {
    if (*word == '\'')
      at = stpcpy(at, "'\\''");
    else
      *at++ = *word;
  }
  *at++ = '\'';
  return at;
}

char *command_text(const struct command *command) {
  enum { QUOTED = 4 };
  size_t bytes = sizeof "headroom";
  for (int i = 1; i < command->count; i++) bytes += QUOTED * strlen(command->words[i]) + 3;
  char *text = malloc(bytes), *at = text;
  if (!text) return NULL;
  at = stpcpy(at, "headroom");
  for (int i = 1; i < command->count; i++) {
    const char *word = command->words[i];
    *at++ = ' ';
    at = word[0] && word[strspn(word, plain)] == '\0' ? stpcpy(at, word) : put_quoted(at, word);
  }
  *at = '\0';
  return text;
}
