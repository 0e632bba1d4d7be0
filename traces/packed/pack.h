/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_PACKED_PACK_H
#define HR_TRACES_PACKED_PACK_H

/*
 * The layout of a packed trace, as docs/reference/formats.md tells it: a header, a table of sections, the sections, all
 * integers little-endian. A section's name says what it holds: a column, a set of texts each ended by NUL. Each begins
 * at the first multiple of HR__PACKED_ALIGNMENT behind the one before, zeros between them, so that no byte of the file
 * is free.
 */

#include "headroom/trace_files.h"

#include <string.h>

#define HR__PACKED_MAGIC "\x89HRT\r\n\x1A\n" /* damaged by whatever takes it for text */

enum {
  HR__PACKED_MAGIC_BYTES = 8,
  HR__PACKED_VERSION = 1,
  HR__PACKED_ALIGNMENT = 64,
  HR__PACKED_DATED = 1,
  HR__PACKED_IDS_TOLD = 2
};

struct hr__packed_header {
  char magic[HR__PACKED_MAGIC_BYTES];
  uint32_t version, n_sections;
  uint64_t file_bytes, n_jobs;
  int64_t origin_us;
  uint64_t flags;    /* HR__PACKED_DATED, HR__PACKED_IDS_TOLD */
  uint64_t unused;   /* 0 */
  uint64_t checksum; /* of the header up to here and the table of sections behind it */
};

struct hr__packed_section {
  char name[HR_PACKED_NAME_BYTES]; /* the rest is NUL */
  uint64_t entries, offset, bytes; /* bytes: without what fills up to the next section */
  uint64_t checksum;               /* of those bytes */
};

/* Rows left out, by reason: what section "skipped" holds for each text of section "skipped_reasons". */
struct hr__packed_skipped {
  uint64_t count, first_line;
};

static inline uint64_t hr__packed_align(uint64_t offset) {
  return (offset + HR__PACKED_ALIGNMENT - 1) / HR__PACKED_ALIGNMENT * HR__PACKED_ALIGNMENT;
}

/* Files are as they lie in memory; other machines may neither write nor read them. */
static inline bool hr__is_little_endian(void) {
  const union {
    uint16_t word;
    uint8_t byte[2];
  } one = {1};
  return one.byte[0] == 1;
}

/* A column is called like the member of struct hr_trace, without an underscore at its end. */
static inline void hr__packed_column_name(char name[HR_PACKED_NAME_BYTES], const char *member) {
  size_t length = strlen(member);
  if (member[length - 1] == '_') length--;
  memset(name, 0, HR_PACKED_NAME_BYTES);
  memcpy(name, member, length < HR_PACKED_NAME_BYTES ? length : HR_PACKED_NAME_BYTES - 1);
}

/* Whether the file at `path` is a plain file that begins like a packed trace. */
bool hr__is_packed(const char *path);
/* Maps and checks it; `streamed` as in struct hr_trace_options. */
enum hr_status hr__unpack(const char *path, bool streamed, struct hr_trace **trace, struct hr_error *error);

#endif
