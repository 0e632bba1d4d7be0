/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_NAMES_H
#define HR_BASE_NAMES_H

/* Interned strings. Each distinct text has a number. Numbers count from 0 in the order in which the texts were first
   interned. A table with all members 0 is empty. */

#include "base/hash.h"

struct hr__name_table {
  char **text;    /* [count], each NUL-terminated */
  size_t *length; /* [count] */
  uint32_t count, capacity;
  struct hr__hash table;
  uint64_t bytes; /* memory used by all texts and by the pointers to them */
};

/* Returns the number of a text of `length` bytes. The text must not contain NUL. If the text is not in the table, the
   function first stores a copy and gives it the next unused number. Returns HR_NONE if memory is exhausted. */
uint32_t hr__names_intern(struct hr__name_table *names, const char *text, size_t length);
/* Returns the number of a text, or HR_NONE if the text is not in the table. */
uint32_t hr__names_find(const struct hr__name_table *names, const char *text, size_t length);
/* Frees all texts. The table is empty afterwards. */
void hr__names_finish(struct hr__name_table *names);

#endif
