/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds JSON trees and writes them to files. */

#include "report/tables/json_tree.h"

#include "base/output_file.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* ---- Values -------------------------------------------------------------------------------------- */

void hr__json_text(struct hr__json *json, cJSON *object, const char *key, const char *text) {
  if (!text) {
    hr__json_null(json, object, key);
    return;
  }
  char *utf8 = hr__utf8_copy(text);
  if (!utf8 || !cJSON_AddStringToObject(object, key, utf8)) json->failed = true;
  free(utf8);
}

cJSON *hr__json_object(struct hr__json *json, cJSON *object, const char *key) {
  char *utf8 = hr__utf8_copy(key);
  cJSON *child = utf8 ? cJSON_AddObjectToObject(object, utf8) : NULL;
  if (!child) json->failed = true;
  free(utf8);
  return child;
}

void hr__json_head(struct hr__json *json, cJSON *root, const char *scenario, const char *file, const char *format) {
  hr__json_text(json, root, "headroom", hr_version());
  hr__json_text(json, root, "scenario", scenario);
  cJSON *trace = hr__json_object(json, root, "trace");
  hr__json_text(json, trace, "file", file);
  hr__json_text(json, trace, "format", format);
}

/* ---- Output -------------------------------------------------------------------------------------- */

static void begin_line(FILE *out, unsigned depth) {
  fprintf(out, "\n%*s", (int)(2 * depth), "");
}

/* Writes the string at `text`; returns the text after it. */
static const char *write_string(FILE *out, const char *text) {
  const char *end = text + 1;
  while (*end != '"') end += *end == '\\' ? 2 : 1;
  end++;
  fwrite(text, 1, (size_t)(end - text), out);
  return end;
}

/* Writes `text`, the compact output of cJSON, with one key per line and an indentation of two spaces per level. */
static void write_laid_out(FILE *out, const char *text) {
  unsigned depth = 0;
  while (*text) {
    if (*text == '"') {
      text = write_string(out, text);
      continue;
    }
    char byte = *text++;
    bool opens = byte == '{' || byte == '[', closes = byte == '}' || byte == ']';
    if (closes) begin_line(out, --depth);
    fputc(byte, out);
    if (opens && (*text == '}' || *text == ']'))
      fputc(*text++, out);
    else if (opens || byte == ',')
      begin_line(out, depth += opens);
    else if (byte == ':')
      fputc(' ', out);
  }
  fputc('\n', out);
}

char *hr__json_print(const struct hr__json *json, cJSON *tree) {
  char *text = json->failed ? NULL : cJSON_PrintUnformatted(tree), *copy = text ? strdup(text) : NULL;
  cJSON_Delete(tree);
  cJSON_free(text);
  return copy;
}

enum hr_status hr__json_write(const struct hr__json *json, cJSON *tree, const char *path, struct hr_error *error) {
  char *text = json->failed ? NULL : cJSON_PrintUnformatted(tree);
  cJSON_Delete(tree);
  if (!text) return hr_fail(error, HR_NO_MEMORY, "%s: out of memory", path);
  struct hr__output_file file;
  enum hr_status status = hr__output_open(&file, path, error);
  if (status == HR_OK) {
    write_laid_out(file.stream, text);
    status = hr__output_commit(&file, error);
  }
  cJSON_free(text);
  return status;
}
