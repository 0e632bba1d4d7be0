/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_BASE_NAMES_H
#define HR_BASE_NAMES_H

/* Interned strings: equal text, equal number; numbers count from 0 in order of first appearance. */

#include "headroom/base.h"

struct hr__name_table {
  char **text;    /* [count], each NUL-terminated */
  size_t *length; /* [count] */
  uint32_t *slot; /* open addressing: number + 1, 0 for empty */
  uint32_t count, capacity, n_slots;
  uint64_t bytes;
};

/* The text's number, HR_NONE when out of memory. Bytes may hold anything but NUL. */
uint32_t hr__names_intern(struct hr__name_table *names, const char *text, size_t length);
/* The text's number, HR_NONE when it is not there. */
uint32_t hr__names_find(const struct hr__name_table *names, const char *text, size_t length);
void hr__names_finish(struct hr__name_table *names);

#endif
