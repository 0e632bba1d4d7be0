/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_SCENARIOS_MESSAGES_H
#define HR_TESTS_SCENARIOS_MESSAGES_H

/* Compares messages by position and key words. The position is "FILE:LINE:COLUMN: " or "--set PATH=VALUE: ". Key words
   are names in quotes and numbers. Other words of messages can be improved without a change of the tests. */

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Moves `*at` to the next key word of a text: 'quoted', "quoted" or a number. Returns the length of the key word; 0 at
   the end of the text. */
static inline size_t next_key_word(const char **at) {
  char before = ' ';
  for (const char *c = *at; *c; before = *c++) {
    bool opens = (*c == '\'' || *c == '"') && !isalnum((unsigned char)before);
    const char *end = opens ? strchr(c + 1, *c) : NULL;
    if (end) {
      *at = c;
      return (size_t)(end + 1 - c);
    }
    if (!isdigit((unsigned char)*c) || isalpha((unsigned char)before)) continue;
    *at = c;
    return strspn(c, "0123456789");
  }
  *at += strlen(*at);
  return 0;
}

/* Returns whether the key words of `message` begin with the key words of `expected`. `whole`: there must be no
   others. */
static inline bool begins_with_key_words(const char *message, const char *expected, bool whole) {
  for (;;) {
    size_t length = next_key_word(&expected);
    if (!length && !whole) return true;
    if (next_key_word(&message) != length || strncmp(message, expected, length) != 0) return false;
    if (!length) return true;
    message += length;
    expected += length;
  }
}

/* Returns whether a message has the position and the key words of `expected`. If `expected` ends in "...", further key
   words of the message are ignored. */
static inline bool message_matches(const char *message, const char *expected) {
  size_t length = strlen(expected);
  bool whole = length <= 3 || strcmp(expected + length - 3, "...") != 0;
  const char *end = strstr(expected, ": ");
  bool has_place = end && (strncmp(expected, "--", 2) == 0 || !memchr(expected, ' ', (size_t)(end - expected)));
  size_t place = has_place ? (size_t)(end + 2 - expected) : 0;
  if (strncmp(message, expected, place) != 0) return false;
  return begins_with_key_words(message + place, expected + place, whole);
}

/* Returns whether the key words of `part` are consecutive key words of the message. If `part` has no key words, the
   message must contain `part` literally. */
static inline bool message_has(const char *message, const char *part) {
  const char *first = part;
  if (!next_key_word(&first)) return strstr(message, part) != NULL;
  for (size_t length = next_key_word(&message); length; message += length, length = next_key_word(&message))
    if (begins_with_key_words(message, part, false)) return true;
  return false;
}

#endif
