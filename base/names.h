/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_NAMES_H
#define HR_BASE_NAMES_H

/* Interned strings: equal texts have equal numbers, which count from 0 in the order of first appearance. A table that
   is all zero is empty. */

#include "base/hash.h"

struct hr__name_table {
  char **text;    /* [count], each NUL-terminated */
  size_t *length; /* [count] */
  uint32_t count, capacity;
  struct hr__hash table;
  uint64_t bytes; /* of all texts and the pointers to them */
};

/* The number of a text of `length` bytes other than NUL; a new text is copied and gets the next number. HR_NONE if
   memory is exhausted. */
uint32_t hr__names_intern(struct hr__name_table *names, const char *text, size_t length);
/* The number of a text; HR_NONE if it is not in the table. */
uint32_t hr__names_find(const struct hr__name_table *names, const char *text, size_t length);
/* Frees all texts; the table is empty afterwards. */
void hr__names_finish(struct hr__name_table *names);

#endif
