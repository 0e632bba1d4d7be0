/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plan/file_digest.h"

#include "sim/digest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t hr__digest_bytes(uint64_t digest, const void *bytes, size_t count) {
  const char *at = bytes;
  for (uint64_t word; count >= sizeof word; count -= sizeof word, at += sizeof word) {
    memcpy(&word, at, sizeof word);
    digest = hr__digest_add(digest, word);
  }
  uint64_t rest = 0;
  memcpy(&rest, at, count);
  return hr__digest_add(digest, rest);
}

enum hr_status hr__digest_file(const char *path, uint64_t *digest, struct hr_error *error) {
  enum { BLOCK_BYTES = 1 << 16 };
  FILE *file = fopen(path, "rb");
  char *block = malloc(BLOCK_BYTES);
  uint64_t bytes = 0;
  *digest = HR__DIGEST_SEED;
  for (size_t count; file && block && (count = fread(block, 1, BLOCK_BYTES, file)) > 0; bytes += count)
    *digest = hr__digest_bytes(*digest, block, count);
  bool failed = !file || (ferror(file) && errno != EISDIR);
  *digest = hr__digest_add(*digest, bytes);
  enum hr_status status = HR_OK;
  if (!block)
    status = hr_fail(error, HR_NO_MEMORY, "out of memory");
  else if (failed)
    status = hr_fail(error, HR_BAD_INPUT, "%s: cannot be read: %s", path, strerror(errno));
  if (file) fclose(file);
  free(block);
  return status;
}
