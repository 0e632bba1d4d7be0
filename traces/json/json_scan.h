/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_JSON_JSON_SCAN_H
#define HR_TRACES_JSON_JSON_SCAN_H

/*
 * JSON text as a person sees it: is it well formed, and where does a value stand? cJSON, which builds the tree,
 * answers neither well: it keeps no positions and lets some malformed text pass. Text here is NUL-terminated UTF-8
 * without NUL inside.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How deep lists and objects may be nested. */
enum { HR__JSON_DEPTH = 64 };

struct hr__json_flaw {
  size_t offset;
  const char *text; /* what is wrong and what would be right */
};
/* Whether `text` is exactly one JSON value; `flaw` says what is wrong if it is not. */
bool hr__json_check(const char *text, struct hr__json_flaw *flaw);

/* The offset of a value of well-formed text: the `ordinals[0]`th child of the outermost value, the `ordinals[1]`th
   child of that one, and so on; with `at_key`, of the key in front of it. SIZE_MAX when the text has none. */
size_t hr__json_find(const char *text, const uint32_t *ordinals, size_t depth, bool at_key);

/* Line and column of an offset, both from 1; columns count characters. */
struct hr__json_position {
  size_t line, column;
};
struct hr__json_position hr__json_position(const char *text, size_t offset);

#endif
