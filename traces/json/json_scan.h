/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_JSON_JSON_SCAN_H
#define HR_TRACES_JSON_JSON_SCAN_H

/*
 * Checks JSON text and finds positions in it, for messages. cJSON, which builds the trees, keeps no positions and
 * accepts some malformed text. Text is NUL-terminated UTF-8 without other NUL characters.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maximum nesting of lists and objects. */
enum { HR__JSON_DEPTH = 64 };

struct hr__json_flaw {
  size_t offset;
  const char *text; /* the fault and the expected input */
};
/* Whether `text` is exactly one JSON value; otherwise `flaw` describes the first error. */
bool hr__json_check(const char *text, struct hr__json_flaw *flaw);

/* Offset of a value in well-formed text: the `ordinals[0]`th child of the outermost value, the `ordinals[1]`th child
   of that, and so on. With `at_key`, the offset of its key instead. SIZE_MAX if no such value exists. */
size_t hr__json_find(const char *text, const uint32_t *ordinals, size_t depth, bool at_key);

/* Line and column of an offset, both from 1. Columns count characters. */
struct hr__json_position {
  size_t line, column;
};
struct hr__json_position hr__json_position(const char *text, size_t offset);

#endif
