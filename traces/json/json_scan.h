/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_JSON_JSON_SCAN_H
#define HR_TRACES_JSON_JSON_SCAN_H

/*
 * Checks JSON text and finds positions in it, for messages. cJSON builds the trees, but it stores no positions and
 * accepts some malformed text. YAJL 2.1 accepts malformed text, too: vertical tabs and form feeds as white space, and
 * unpaired surrogates and U+0000 in strings. The text must be NUL-terminated UTF-8 without other NUL characters.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maximum nesting depth of lists and objects. */
enum { HR__JSON_DEPTH = 64 };

/* The first error in a text. */
struct hr__json_flaw {
  size_t offset;    /* offset of the error in the text, in bytes */
  const char *text; /* a description of the error and of the expected input */
};
/* Returns true if `text` is exactly one JSON value. Otherwise `flaw` describes the first error. */
bool hr__json_check(const char *text, struct hr__json_flaw *flaw);

/* Returns the offset of a value in valid JSON text. `ordinals` is the path to the value: the child with index
   ordinals[0] of the outermost value, then the child with index ordinals[1] of that child, and so on. If `at_key` is
   set, returns the offset of the key of the value. Returns SIZE_MAX if the value does not exist. */
size_t hr__json_find(const char *text, const uint32_t *ordinals, size_t depth, bool at_key);

/* Line and column of an offset, both from 1. Columns count characters. */
struct hr__json_position {
  size_t line, column;
};
struct hr__json_position hr__json_position(const char *text, size_t offset);

#endif
