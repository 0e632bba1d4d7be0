/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef HR_TRACES_PACKED_PACK_H
#define HR_TRACES_PACKED_PACK_H

/*
 * Layout of packed traces (docs/reference/formats.md): a header, a section table, and the sections. Integers are
 * little-endian. The name of a section identifies its content: a column, or a list of texts that each end with NUL.
 * Each section begins at the next multiple of HR__PACKED_ALIGNMENT. The bytes between sections are zeros, so equal
 * traces give equal files.
 */

#include "headroom/trace_files.h"

#include <string.h>

/* Programs that convert line ends or strip the eighth bit change these bytes, so such damage is detected. */
#define HR__PACKED_MAGIC "\x89HRT\r\n\x1A\n"

enum {
  HR__PACKED_MAGIC_BYTES = 8,
  HR__PACKED_VERSION = 1,
  HR__PACKED_ALIGNMENT = 64,
  HR__PACKED_DATED = 1,
  HR__PACKED_IDS_TOLD = 2
};

/* The beginning of a packed file. The section table follows it. */
struct hr__packed_header {
  char magic[HR__PACKED_MAGIC_BYTES];
  uint32_t version, n_sections;
  uint64_t file_bytes, n_jobs;
  int64_t origin_us;
  uint64_t flags;    /* bits HR__PACKED_DATED and HR__PACKED_IDS_TOLD */
  uint64_t unused;   /* must be 0 */
  uint64_t checksum; /* checksum of the section table and of the members of the header before this one */
};

/* An entry of the section table. `offset` counts bytes from the beginning of the file. */
struct hr__packed_section {
  char name[HR_PACKED_NAME_BYTES]; /* padded with NUL */
  uint64_t entries, offset, bytes; /* `bytes` does not include the padding */
  uint64_t checksum;               /* checksum of the bytes of the section */
};

/* Number of skipped rows for one reason. Section "skipped" has one such entry for each text of section
   "skipped_reasons". */
struct hr__packed_skipped {
  uint64_t count, first_line;
};

/* Returns the next multiple of HR__PACKED_ALIGNMENT at or above `offset`. */
static inline uint64_t hr__packed_align(uint64_t offset) {
  return (offset + HR__PACKED_ALIGNMENT - 1) / HR__PACKED_ALIGNMENT * HR__PACKED_ALIGNMENT;
}

/* Returns true on little-endian machines. Packed files are memory images, so big-endian machines can neither write
   them nor read them. */
static inline bool hr__is_little_endian(void) {
  const union {
    uint16_t word;
    uint8_t byte[2];
  } one = {1};
  return one.byte[0] == 1;
}

/* Writes the name of the section of a column: the name of its member in struct hr_trace, without a trailing
   underscore. */
static inline void hr__packed_column_name(char name[HR_PACKED_NAME_BYTES], const char *member) {
  size_t length = strlen(member);
  if (member[length - 1] == '_') length--;
  memset(name, 0, HR_PACKED_NAME_BYTES);
  memcpy(name, member, length < HR_PACKED_NAME_BYTES ? length : HR_PACKED_NAME_BYTES - 1);
}

/* Maps a packed trace and checks it. Of the options, `streamed` and `spooled` apply. If the file
   cannot be opened, is not a plain file or does not begin with HR__PACKED_MAGIC, returns HR_OK and sets `*trace` to
   NULL. */
enum hr_status hr__packed_read(const char *path, const struct hr_trace_options *options, struct hr_trace **trace,
                               struct hr_error *error);

#endif
