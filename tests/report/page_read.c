/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads an HTML report: elements, the JSON document, and columns of binary blocks. */

#include "page_read.h"

#include "output_files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

const char page_template[] = "<html><head><title>Headroom</title></head>\n<!--headroom:data-->\n</html>\n";

static void fail(const char *why) {
  fprintf(stderr, "page: %s\n", why);
  abort();
}

/* ---- Elements --------------------------------------------------------------------------------------- */

/* Returns the content of the script element with an id; NULL if none has it. As in a browser, the content ends at the
   first end tag of a script. */
static char *element(const char *page, const char *id, size_t *length) {
  char mark[160];
  snprintf(mark, sizeof mark, "id=\"%s\">", id);
  const char *begin = strstr(page, mark);
  if (!begin) return NULL;
  begin += strlen(mark);
  const char *end = strstr(begin, "</script");
  if (!end) fail("an element has no end");
  *length = (size_t)(end - begin);
  return strndup(begin, *length);
}

struct read_page page_read(const char *path) {
  struct read_page page = {.text = files_read(path)};
  size_t length;
  char *json = element(page.text, "headroom-data", &length);
  page.document = json ? cJSON_Parse(json) : NULL;
  if (!page.document) fail("no document, or no JSON");
  free(json);
  return page;
}

struct read_page page_of(const struct hr_page_run *run) {
  struct hr_error error = {0};
  const struct hr_page page = {
      .kind = "run", .title = "a scenario", .command = "headroom report", .run = run, .template_html = page_template};
  if (hr_page_write(files_path("page.html"), &page, &error) != HR_OK) fail(error.text);
  return page_read(files_path("page.html"));
}

void page_free(struct read_page *page) {
  cJSON_Delete(page->document);
  free(page->text);
}

/* ---- The document ----------------------------------------------------------------------------------- */

const cJSON *page_at(const struct read_page *page, const char *path) {
  const cJSON *at = page->document;
  char key[80];
  while (at && *path) {
    size_t length = strcspn(path, ".");
    snprintf(key, sizeof key, "%.*s", (int)length, path);
    at = cJSON_GetObjectItemCaseSensitive(at, key);
    path += length + (path[length] == '.');
  }
  return at;
}

static double number_of(const cJSON *item) {
  if (cJSON_IsNull(item)) return (double)NAN;
  if (!cJSON_IsNumber(item)) fail("no number where one is wanted");
  return item->valuedouble;
}

double page_number(const struct read_page *page, const char *path) {
  return number_of(page_at(page, path));
}

double *page_list(const cJSON *list, size_t *n) {
  size_t count = 0;
  if (!cJSON_IsArray(list)) fail("no list where one is wanted");
  double *values = malloc(((size_t)cJSON_GetArraySize(list) + 1) * sizeof *values);
  if (!values) abort();
  for (const cJSON *item = list->child; item; item = item->next) values[count++] = number_of(item);
  *n = count;
  return values;
}

/* ---- Blocks ----------------------------------------------------------------------------------------- */

static unsigned value_of(char digit) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const char *at = strchr(digits, digit);
  if (!at || !digit) fail("no base64");
  return (unsigned)(at - digits);
}

static size_t decode(const char *text, size_t length, unsigned char *bytes) {
  size_t n = 0;
  if (length % 4) fail("base64 of a strange length");
  for (size_t i = 0; i < length; i += 4) {
    unsigned group = value_of(text[i]) << 18 | value_of(text[i + 1]) << 12;
    bytes[n++] = (unsigned char)(group >> 16);
    if (text[i + 2] == '=') break;
    group |= value_of(text[i + 2]) << 6;
    bytes[n++] = (unsigned char)(group >> 8);
    if (text[i + 3] == '=') break;
    group |= value_of(text[i + 3]);
    bytes[n++] = (unsigned char)group;
  }
  return n;
}

unsigned char *page_block(const struct read_page *page, const char *name, size_t *size) {
  enum { MOST = 1 << 22 };
  char id[80];
  size_t length;
  snprintf(id, sizeof id, "block-%s", name);
  char *text = element(page->text, id, &length);
  if (!text) return NULL;
  unsigned char *packed = malloc(length + 1), *bytes = malloc(MOST);
  if (!packed || !bytes) abort();
  uLongf unpacked = MOST;
  if (uncompress(bytes, &unpacked, packed, decode(text, length, packed)) != Z_OK) fail("a block is no zlib stream");
  *size = unpacked;
  free(packed);
  free(text);
  return bytes;
}

static double value_at(const unsigned char *at, const char *type) {
  uint64_t bits = 0;
  size_t bytes = strcmp(type, "u8") == 0 ? 1 : strcmp(type, "u16") == 0 ? 2 : strcmp(type, "i32") == 0 ? 4 : 8;
  for (size_t i = 0; i < bytes; i++) bits |= (uint64_t)at[i] << 8 * i;
  if (bytes < 4) return (double)bits;
  if (bytes == 4) return (double)(int32_t)(uint32_t)bits;
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static double *read_column(const cJSON *column, const unsigned char *bytes, size_t size, size_t *n) {
  const char *type = cJSON_GetObjectItemCaseSensitive(column, "type")->valuestring;
  const char *coding = cJSON_GetObjectItemCaseSensitive(column, "coding")->valuestring;
  const cJSON *scale = cJSON_GetObjectItemCaseSensitive(column, "scale");
  size_t offset = (size_t)cJSON_GetObjectItemCaseSensitive(column, "offset")->valuedouble;
  size_t bytes_each = strcmp(type, "u8") == 0 ? 1 : strcmp(type, "u16") == 0 ? 2 : strcmp(type, "i32") == 0 ? 4 : 8;
  *n = (size_t)cJSON_GetObjectItemCaseSensitive(column, "length")->valuedouble;
  if (offset % 8 || offset + *n * bytes_each > size) fail("a column lies badly");
  double *values = malloc((*n + 1) * sizeof *values), sum = 0;
  if (!values) abort();
  for (size_t i = 0; i < *n; i++) {
    double value = value_at(bytes + offset + i * bytes_each, type);
    sum = strcmp(coding, "delta") == 0 ? sum + value : value;
    values[i] = sum * (scale ? scale->valuedouble : 1);
  }
  return values;
}

double *page_column(const struct read_page *page, const char *table, const char *name, size_t *n) {
  char path[80];
  size_t size;
  snprintf(path, sizeof path, "%s.columns", table);
  const cJSON *columns = page_at(page, path), *column;
  cJSON_ArrayForEach(column, columns) {
    if (strcmp(cJSON_GetObjectItemCaseSensitive(column, "name")->valuestring, name) != 0) continue;
    unsigned char *bytes = page_block(page, table, &size);
    if (!bytes) fail("a table has no block");
    double *values = read_column(column, bytes, size, n);
    free(bytes);
    return values;
  }
  return NULL;
}
