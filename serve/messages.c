/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From messages of the command line to those of the interface.
 *
 * A message is copied from left to right. What begins with a known folder loses the folder, which keeps the place at
 * the beginning of a message ("scenario.json:3:14: ..."); an option becomes the member of the body from which
 * serve/request.c made it. Everything else is copied.
 */

#include "serve/messages.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Options of commands, with the word for their value, and what they are called in a request. */
static const struct {
  const char *option, *plain;
} names[] = {
    {"--trace FILE", "'trace' or 'trace_file'"},
    {"--map", "'map' in the address"},
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
    {"--costs", "export as 'csv':"},
    {"--jobs", "export as 'jobs':"},
    {"--timeline", "export as 'timeline':"},
    {"--md", "export as 'markdown':"},
    {"--csv", "export as 'csv':"},
    {"--report", "export as 'page':"},
    {"--json", "the answer"},
    {"--output", "the answer"},
};

static bool is_word(char c) {
  return isalnum((unsigned char)c) || c == '-' || c == '_';
}

/* Sets `*plain` for the option at `at`, and returns its length; 0 if there is none. */
static size_t option_at(const char *at, const char **plain) {
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    size_t length = strlen(names[i].option);
    if (strncmp(at, names[i].option, length) != 0 || is_word(at[length])) continue;
    *plain = names[i].plain;
    return length;
  }
  return 0;
}

/* Returns the length of the folder and the slash after it at `at`; 0 if another path is there. */
static size_t folder_at(const char *at, const char *folder) {
  size_t length = folder ? strlen(folder) : 0;
  return length > 1 && strncmp(at, folder, length) == 0 && at[length] == '/' ? length + 1 : 0;
}

static size_t any_folder_at(const char *at, const struct hr__message_folders *folders) {
  static const char job[] = "job-";
  size_t length = folder_at(at, folders->scratch);
  if (length && strncmp(at + length, job, sizeof job - 1) == 0) {
    size_t name = strcspn(at + length, "/");
    length += name + (at[length + name] == '/');
  }
  if (!length) length = folder_at(at, folders->served);
  return length ? length : folder_at(at, folders->data);
}

/* Whether an option or a path may begin after this byte. */
static bool ends_name(char before) {
  return !is_word(before) && before != '/' && before != '.';
}

/* Returns the length of an escape sequence of JSON at `at`: "\\n" or "\\u000a", after which a name may begin. */
static size_t escape_at(const char *at) {
  enum { SHORT = 2, UNICODE = 6 };
  if (*at != '\\' || !at[1]) return 0;
  return at[1] == 'u' && strspn(at + 2, "0123456789abcdefABCDEF") >= UNICODE - 2 ? UNICODE : SHORT;
}

/* The answer is copied to its own begin, so the last byte that was read may be overwritten: `before` remembers it. */
size_t hr__answer_plain(char *answer, size_t length, const struct hr__message_folders *folders) {
  char *to = answer, before = ' ';
  for (const char *at = answer; at < answer + length;) {
    size_t folder = *at == '/' && ends_name(before) ? any_folder_at(at, folders) : 0;
    size_t escape = escape_at(at), copied = folder ? 0 : escape ? escape : 1;
    before = folder ? '/' : escape ? ' ' : *at;
    memmove(to, at, copied);
    to += copied;
    at += folder ? folder : copied;
  }
  *to = '\0';
  return (size_t)(to - answer);
}

char *hr__message_plain(const char *message, const struct hr__message_folders *folders) {
  enum { LONGEST = 32 }; /* of the names above, and the shortest option has 4 bytes */
  static const char help[] = "\nTry 'headroom help";
  char *plain = malloc(strlen(message) * LONGEST / 4 + 1), *to = plain;
  if (!plain) return NULL;
  for (const char *at = message; *at;) {
    const char *name = NULL;
    bool begins = at == message || ends_name(at[-1]);
    if (strncmp(at, help, sizeof help - 1) == 0) break;
    size_t length = begins ? option_at(at, &name) : 0;
    if (name) to = stpcpy(to, name);
    if (!length && begins) length = any_folder_at(at, folders);
    if (length)
      at += length;
    else
      *to++ = *at++;
  }
  *to = '\0';
  return plain;
}
