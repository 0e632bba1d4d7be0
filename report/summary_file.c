/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A summary that an earlier run wrote, read back to be set beside another. */

#include "report/json_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static enum hr_status cannot_read(const char *path, struct hr_error *error) {
  return hr_fail(error, HR_BAD_INPUT, "%s: cannot be read: %s", path, strerror(errno ? errno : EIO));
}

/* The whole file with a NUL; the caller frees it. */
static enum hr_status read_file(const char *path, char **text, struct hr_error *error) {
  size_t size = 0, capacity = 1 << 16, got;
  FILE *file = fopen(path, "rb");
  if (!file) return cannot_read(path, error);
  char *buffer = malloc(capacity);
  errno = 0;
  while (buffer && (got = fread(buffer + size, 1, capacity - size - 1, file)) > 0) {
    size += got;
    if (capacity - size > 1) continue;
    char *grown = realloc(buffer, capacity *= 2);
    if (!grown) free(buffer);
    buffer = grown;
  }
  bool failed = ferror(file) != 0;
  fclose(file);
  if (buffer && failed) {
    free(buffer);
    return cannot_read(path, error);
  }
  if (!buffer) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  buffer[size] = '\0';
  *text = buffer;
  return HR_OK;
}

static uint64_t line_of(const char *text, const char *at) {
  uint64_t line = 1;
  for (; text < at; text++) line += *text == '\n';
  return line;
}

/* What every version of such a summary has. */
static bool is_summary(const cJSON *root) {
  static const char *const keys[] = {"headroom", "scenario", "jobs", "wait_s", "utilization", "digest"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (!cJSON_GetObjectItemCaseSensitive(root, keys[i])) return false;
  return true;
}

enum hr_status hr_summary_read_json(const char *path, char **json, struct hr_error *error) {
  char *text = NULL;
  const char *end = NULL;
  enum hr_status status = read_file(path, &text, error);
  if (status != HR_OK) return status;
  cJSON *root = cJSON_ParseWithOpts(text, &end, 1);
  if (!root)
    status = hr_fail(error, HR_BAD_INPUT,
                     "%s:%" PRIu64 ": this is no JSON; the file that 'headroom run --json' writes is wanted", path,
                     end ? line_of(text, end) : 1);
  else if (!is_summary(root))
    status = hr_fail(error, HR_BAD_INPUT,
                     "%s: no summary of a run; the file that 'headroom run --json' writes is wanted", path);
  cJSON_Delete(root);
  if (status == HR_OK) {
    cJSON_Minify(text);
    *json = text;
  } else {
    free(text);
  }
  return status;
}
