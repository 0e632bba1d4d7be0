/* SPDX-License-Identifier: GPL-3.0-or-later */

#include "plan/runner/input_key.h"

#include "base/hash.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *hr__trace_key(const struct hr_scenario *scenario, const char *file) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (!out) return NULL;
  fprintf(out, "%s\n%s\n%d", file, scenario->trace_format, scenario->lenient);
  for (size_t i = 0; i < scenario->columns.count; i++)
    fprintf(out, "\n%s=%s", scenario->columns.entry[i].field, scenario->columns.entry[i].column);
  if (fclose(out) == 0) return text;
  free(text);
  return NULL;
}

enum hr_status hr__trace_read(const struct hr_scenario *scenario, const char *file, struct hr_trace **trace,
                              struct hr_error *error) {
  struct hr_trace_options options = {
      .format = scenario->trace_format, .map = &scenario->columns, .lenient = scenario->lenient};
  return hr_trace_read(file, &options, trace, error);
}

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
