/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/out.h"

#include <stdlib.h>
#include <string.h>

enum hr_status hr__out_open(struct hr__out *out, const char *path, struct hr_error *error) {
  *out = (struct hr__out){0};
  enum hr_status status = hr__output_open(&out->file, path, error);
  if (status != HR_OK) return status;
  out->buffer = malloc(HR__OUT_BYTES);
  if (out->buffer) return HR_OK;
  hr__output_abandon(&out->file);
  return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
}

void hr__out_drain(struct hr__out *out) {
  hr__output_write(&out->file, out->buffer, out->used);
  out->used = 0;
}

void hr__out_abandon(struct hr__out *out) {
  hr__output_abandon(&out->file);
  free(out->buffer);
  out->buffer = NULL;
}

enum hr_status hr__out_commit(struct hr__out *out, struct hr_error *error) {
  if (out->out_of_memory) {
    hr__out_abandon(out);
    return hr_fail(error, HR_NO_MEMORY, "out of memory");
  }
  hr__out_drain(out);
  free(out->buffer);
  out->buffer = NULL;
  return hr__output_commit(&out->file, error);
}

void hr__out_bytes(struct hr__out *out, const char *bytes, size_t count) {
  while (count > 0) {
    size_t part = count < HR__OUT_BYTES ? count : HR__OUT_BYTES;
    memcpy(hr__out_room(out, part), bytes, part);
    out->used += part;
    bytes += part;
    count -= part;
  }
}

void hr__out_text(struct hr__out *out, const char *text) {
  hr__out_bytes(out, text, strlen(text));
}
