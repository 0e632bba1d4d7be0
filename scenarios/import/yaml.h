/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_SCENARIOS_IMPORT_YAML_H
#define HR_SCENARIOS_IMPORT_YAML_H

/*
 * YAML and JSON files as trees. A file may have several documents. Each value has its place in the file, for messages.
 *
 * Aliases refer to the children of their anchor, so they take no memory. The size of a document after its aliases are
 * expanded is limited, so that walks over a tree take bounded time. Merge keys ("<<") are applied.
 */

#include "base/array.h"
#include "headroom/base.h"

enum hr__yaml_kind { HR__YAML_SCALAR, HR__YAML_LIST, HR__YAML_MAP };

/* The type of a scalar. Quoted scalars are texts; the type of others follows from their form, as in YAML 1.1. */
enum hr__yaml_type { HR__YAML_TEXT, HR__YAML_NULL, HR__YAML_BOOLEAN, HR__YAML_WHOLE, HR__YAML_REAL };

/* A value. Children are a linked list. */
struct hr__yaml {
  const char *path; /* of the file */
  const char *key;  /* in the map that contains the value; otherwise NULL */
  const char *text; /* of a scalar; otherwise "" */
  struct hr__yaml *first, *next;
  uint32_t line, column;         /* from 1 */
  uint32_t key_line, key_column; /* of the key; otherwise those of the value */
  uint32_t count;                /* number of children */
  uint32_t weight;               /* number of values of the tree below, after expansion of aliases; at least 1 */
  uint8_t kind;                  /* enum hr__yaml_kind */
  bool quoted;                   /* the scalar is not plain */
  bool block;                    /* the scalar begins in the line after its key: "|" or ">" */
};

/* Documents of any number of files. A list with all members 0 is empty. */
struct hr__yaml_documents {
  struct hr_arena arena;
  struct hr__yaml **roots;
  uint32_t count, capacity;
};

/* Adds the documents of a file; "-" is standard input. Empty documents are left out. Returns HR_BAD_INPUT with the
   place for syntax errors, duplicate keys, unknown anchors, aliases of an enclosing value, and values that are nested
   too deeply or too many. `path` is borrowed. */
enum hr_status hr__yaml_read(struct hr__yaml_documents *documents, const char *path, struct hr_error *error);
/* The same for a text, such as a value of a ConfigMap. Its first line has the number `line`. */
enum hr_status hr__yaml_read_text(struct hr__yaml_documents *documents, const char *path, const char *text,
                                  uint32_t line, struct hr_error *error);
void hr__yaml_finish(struct hr__yaml_documents *documents);

/* The line of the first line of a scalar's text. */
static inline uint32_t hr__yaml_text_line(const struct hr__yaml *scalar) {
  return scalar->line + scalar->block;
}

enum hr__yaml_type hr__yaml_type_of(const struct hr__yaml *scalar);

/* The child of a map with this key, unless it is null; NULL: not found. `map` may be NULL or have any kind. */
struct hr__yaml *hr__yaml_child(const struct hr__yaml *map, const char *key);
/* The value at a path of keys, separated by '.'; NULL: not found. */
struct hr__yaml *hr__yaml_at(const struct hr__yaml *map, const char *path);
/* The text of the scalar at a path; NULL: not found. */
const char *hr__yaml_text(const struct hr__yaml *map, const char *path);

/* The first child of the value at a path; NULL: not found. */
static inline struct hr__yaml *hr__yaml_first(const struct hr__yaml *map, const char *path) {
  const struct hr__yaml *value = hr__yaml_at(map, path);
  return value ? value->first : NULL;
}

#endif
