/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TESTS_SCENARIOS_MESSAGES_H
#define HR_TESTS_SCENARIOS_MESSAGES_H

/* Compares messages by their place and key words: "FILE:LINE:COLUMN: " or "--set PATH=VALUE: ", then the names in
   quotes and the numbers, in their order. The words around them may be improved without a change of the tests. */

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The next key word of a text: 'quoted', "quoted" or a number. Returns its length, 0 at the end of the text. */
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

/* Whether the key words of `expected` are the next ones of `told`; `whole`: and there are no more. */
static inline bool begins_with_key_words(const char *told, const char *expected, bool whole) {
  for (;;) {
    size_t length = next_key_word(&expected);
    if (!length && !whole) return true;
    if (next_key_word(&told) != length || strncmp(told, expected, length) != 0) return false;
    if (!length) return true;
    told += length;
    expected += length;
  }
}

/* Whether a message has the place and the key words of `expected`; one that ends in "..." is compared as far as it
   goes. */
static inline bool message_matches(const char *told, const char *expected) {
  size_t length = strlen(expected);
  bool whole = length <= 3 || strcmp(expected + length - 3, "...") != 0;
  const char *end = strstr(expected, ": ");
  bool has_place = end && (strncmp(expected, "--", 2) == 0 || !memchr(expected, ' ', (size_t)(end - expected)));
  size_t place = has_place ? (size_t)(end + 2 - expected) : 0;
  if (strncmp(told, expected, place) != 0) return false;
  return begins_with_key_words(told + place, expected + place, whole);
}

/* Whether the key words of a part are in the message, one after the other; a part without any is in it word by word. */
static inline bool message_has(const char *told, const char *part) {
  const char *first = part;
  if (!next_key_word(&first)) return strstr(told, part) != NULL;
  for (size_t length = next_key_word(&told); length; told += length, length = next_key_word(&told))
    if (begins_with_key_words(told, part, false)) return true;
  return false;
}

#endif
