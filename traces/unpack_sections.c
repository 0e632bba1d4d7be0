/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/unpacking.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BLOCK_BYTES = 1 << 18 };

enum hr_status hr__unpack_no_memory(const struct hr__unpacking *unpacking) {
  return hr_fail(unpacking->error, HR_NO_MEMORY, "%s: out of memory", unpacking->path);
}

enum hr_status hr__unpack_refuse(const struct hr__unpacking *unpacking, const char *what) {
  return hr_fail(unpacking->error, HR_BAD_INPUT,
                 "%s: is a damaged packed trace: %s; make it anew with 'headroom trace pack'", unpacking->path, what);
}

enum hr_status hr__unpack_refuse_section(const struct hr__unpacking *unpacking,
                                         const struct hr__packed_section *section, const char *what) {
  char text[2 * HR_PACKED_NAME_BYTES + 100];
  snprintf(text, sizeof text, "its section '%s' %s", section->name, what);
  return hr__unpack_refuse(unpacking, text);
}

const struct hr__packed_section *hr__unpack_find(struct hr__unpacking *unpacking, const char *member) {
  char name[HR_PACKED_NAME_BYTES];
  hr__packed_column_name(name, member);
  for (uint32_t i = 0; i < unpacking->header->n_sections; i++) {
    if (unpacking->taken[i] || memcmp(unpacking->sections[i].name, name, sizeof name) != 0) continue;
    unpacking->taken[i] = true;
    return &unpacking->sections[i];
  }
  return NULL;
}

void hr__unpack_drop(const struct hr__unpacking *unpacking, const char *at, size_t bytes) {
  if (!unpacking->streamed) return;
  size_t over = (uintptr_t)at % (size_t)sysconf(_SC_PAGESIZE);
  (void)madvise((char *)(uintptr_t)at - over, over + bytes, MADV_DONTNEED);
}

enum hr_status hr__unpack_check_sum(const struct hr__unpacking *unpacking, const struct hr__packed_section *section) {
  const char *at = unpacking->map + section->offset;
  XXH3_64bits_reset(unpacking->summing);
  for (uint64_t left = section->bytes, bytes; left > 0; left -= bytes, at += bytes) {
    bytes = left < BLOCK_BYTES ? left : BLOCK_BYTES;
    XXH3_64bits_update(unpacking->summing, at, bytes);
    hr__unpack_drop(unpacking, at, bytes);
  }
  if (XXH3_64bits_digest(unpacking->summing) == section->checksum) return HR_OK;
  return hr__unpack_refuse_section(unpacking, section, "has another checksum than it should");
}
