/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_UNPACKING_H
#define HR_TRACES_UNPACKING_H

/* A packed trace that is being mapped and checked, section by section. */

#include "traces/owned.h"
#include "traces/packed.h"

#include <xxhash.h>

struct hr__unpacking {
  const char *path;
  struct hr__owned_trace *owned;
  const char *map;
  const struct hr__packed_header *header;
  const struct hr__packed_section *sections;
  bool taken[HR_PACKED_MOST_SECTIONS]; /* sections that are known */
  XXH3_state_t *summing;
  bool streamed;
  struct hr_error *error;
};

/* Each of these says what is wrong and returns its status. */
enum hr_status hr__unpack_no_memory(const struct hr__unpacking *unpacking);
enum hr_status hr__unpack_refuse(const struct hr__unpacking *unpacking, const char *what);
enum hr_status hr__unpack_refuse_section(const struct hr__unpacking *unpacking,
                                         const struct hr__packed_section *section, const char *what);

/* The section of that name, NULL: there is none; marked as known. */
const struct hr__packed_section *hr__unpack_find(struct hr__unpacking *unpacking, const char *member);
enum hr_status hr__unpack_check_sum(const struct hr__unpacking *unpacking, const struct hr__packed_section *section);
/* Of a streamed trace: pages of the file that were looked at need not stay; they come back when they are. */
void hr__unpack_drop(const struct hr__unpacking *unpacking, const char *at, size_t bytes);

/* Sections of texts. Names are all there are of every kind; ids stay in the file, what is made is a pointer to each,
   but for a streamed run. */
enum hr_status hr__unpack_names(struct hr__unpacking *unpacking);
enum hr_status hr__unpack_id_texts(struct hr__unpacking *unpacking);
enum hr_status hr__unpack_notes(struct hr__unpacking *unpacking);
enum hr_status hr__unpack_skipped(struct hr__unpacking *unpacking);

#endif
