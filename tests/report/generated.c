/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text that is generated from the catalogue of metrics: tables of the documentation, and JSON schemas. */

#include "generated.h"

#include "output_files.h"

#include <CUnit/CUnit.h>
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

/* ---- Documentation ----------------------------------------------------------------------------------- */

/* Returns whether the words of a marker, up to `end`, contain the path, or a prefix of the path that ends with a dot.
 */
static bool is_marked(const char *words, const char *end, const char *path) {
  while (words < end) {
    size_t length = strcspn(words, " ");
    bool begins = strncmp(words, path, length) == 0;
    if (begins && (words[length - 1] == '.' || path[length] == '\0')) return true;
    words += length + 1;
  }
  return false;
}

/* Returns whether both metrics are statistics of one distribution, which has one row in the documentation. */
static bool same_distribution(unsigned a, unsigned b) {
  return a < HR__N_METRICS && b < HR__N_METRICS && strcmp(hr__metric_rows[a].help, hr__metric_rows[b].help) == 0;
}

static void put_row(FILE *out, unsigned i) {
  const struct hr_metric *metric = &hr__metric_rows[i];
  const char *json = hr__metric_json_path((enum hr__metric)i);
  bool is_distribution = same_distribution(i, i + 1);
  size_t length = is_distribution ? (size_t)(strrchr(metric->path, '.') - metric->path) : strlen(metric->path);
  fprintf(out, "| `%.*s`", (int)length, metric->path);
  if (strcmp(json, metric->path) != 0) fprintf(out, " (in the summary `%s`)", json);
  fprintf(out, " | %s | %s | %s |\n", hr_unit_name(metric->unit), hr_direction_name(metric->direction), metric->help);
}

static void put_rows(FILE *out, const char *words, const char *end, bool documented[HR__N_METRICS]) {
  fputs("| metric | unit | better | definition |\n|---|---|---|---|\n", out);
  for (unsigned i = 0; i < HR__N_METRICS; i++) {
    if (!is_marked(words, end, hr__metric_rows[i].path)) continue;
    documented[i] = true;
    if (i == 0 || !same_distribution(i - 1, i)) put_row(out, i);
  }
}

char *generated_tables(const char *name, bool documented[HR__N_METRICS]) {
  static const char begin[] = "<!-- metrics: ", end[] = "<!-- end -->";
  char path[600], *text = NULL;
  size_t size;
  snprintf(path, sizeof path, PROJECT_DIR "/%s", name);
  char *now = files_read(path), *at = now, *marker;
  CU_ASSERT_PTR_NOT_NULL_FATAL(now);
  FILE *out = open_memstream(&text, &size);
  while ((marker = strstr(at, begin))) {
    char *words = marker + strlen(begin), *words_end = strstr(words, " -->"), *rest = strstr(words, end);
    CU_ASSERT_FATAL(words_end && rest);
    fprintf(out, "%.*s -->\n\n", (int)(words_end - at), at);
    put_rows(out, words, words_end, documented);
    fputc('\n', out);
    at = rest;
  }
  fputs(at, out);
  fclose(out);
  free(now);
  return text;
}

/* ---- Schemas: text ------------------------------------------------------------------------------------ */

enum { SCHEMA_WIDTH = 120 };

static void put_indent(FILE *out, int depth) {
  fprintf(out, "%*s", 2 * depth, "");
}

/* Writes a value on one line. */
static void put_short(FILE *out, const cJSON *item) {
  bool is_object = cJSON_IsObject(item);
  if (!is_object && !cJSON_IsArray(item)) {
    char *text = cJSON_PrintUnformatted(item);
    fputs(text, out);
    free(text);
    return;
  }
  fputs(is_object ? "{ " : "[", out);
  for (const cJSON *inner = item->child; inner; inner = inner->next) {
    if (is_object) fprintf(out, "\"%s\": ", inner->string);
    put_short(out, inner);
    if (inner->next) fputs(", ", out);
  }
  fputs(is_object ? " }" : "]", out);
}

/* Returns the text of put_short. The caller frees it. */
static char *short_text(const cJSON *item) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  put_short(out, item);
  fclose(out);
  return text;
}

/* Writes the words of an array in lines of at most SCHEMA_WIDTH columns. */
static void put_words(FILE *out, const cJSON *array, int depth) {
  int column = SCHEMA_WIDTH;
  fputc('[', out);
  for (const cJSON *inner = array->child; inner; inner = inner->next) {
    char *text = short_text(inner);
    int width = (int)strlen(text) + 2;
    if (column + width > SCHEMA_WIDTH) {
      fputc('\n', out);
      put_indent(out, depth + 1);
      column = 2 * depth + 2;
    } else {
      fputc(' ', out);
    }
    fprintf(out, "%s%s", text, inner->next ? "," : "");
    column += width;
    free(text);
  }
  fputc('\n', out);
  put_indent(out, depth);
  fputc(']', out);
}

/* Writes a value that begins at `column` of a line. */
static void put_value(FILE *out, const cJSON *item, int depth, size_t column) {
  char *text = short_text(item);
  bool is_short = !(cJSON_IsObject(item) || cJSON_IsArray(item)) || column + strlen(text) < SCHEMA_WIDTH;
  if (depth == 0) is_short = false;
  if (is_short) {
    fputs(text, out);
  } else if (cJSON_IsArray(item)) {
    put_words(out, item, depth);
  } else {
    fputs("{\n", out);
    for (const cJSON *inner = item->child; inner; inner = inner->next) {
      put_indent(out, depth + 1);
      fprintf(out, "\"%s\": ", inner->string);
      put_value(out, inner, depth + 1, 2 * (size_t)depth + strlen(inner->string) + 6);
      fputs(inner->next ? ",\n" : "\n", out);
    }
    put_indent(out, depth);
    fputc('}', out);
  }
  free(text);
}

/* ---- Schemas: metrics --------------------------------------------------------------------------------- */

static void put_key(cJSON *object, const char *key, cJSON *value) {
  if (cJSON_HasObjectItem(object, key))
    cJSON_ReplaceItemInObjectCaseSensitive(object, key, value);
  else
    cJSON_AddItemToObject(object, key, value);
}

/* Makes all properties of an object required. */
static void require_all(cJSON *object) {
  cJSON *required = cJSON_CreateArray();
  for (const cJSON *key = cJSON_GetObjectItem(object, "properties")->child; key; key = key->next)
    cJSON_AddItemToArray(required, cJSON_CreateString(key->string));
  put_key(object, "required", required);
}

/* Makes a key optional, because not every object has it. */
static void require_less(cJSON *object, const char *key) {
  cJSON *required = cJSON_GetObjectItem(object, "required");
  for (int i = cJSON_GetArraySize(required); i-- > 0;)
    if (strcmp(cJSON_GetArrayItem(required, i)->valuestring, key) == 0) cJSON_DeleteItemFromArray(required, i);
}

/* Returns the schema of an object in the schema `rule`, which is added if it is missing. */
static cJSON *object_in(cJSON *rule, const char *key) {
  cJSON *properties = cJSON_GetObjectItem(rule, "properties");
  cJSON *object = cJSON_GetObjectItemCaseSensitive(properties, key);
  if (object && cJSON_HasObjectItem(object, "properties")) return object;
  object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "type", "object");
  cJSON_AddFalseToObject(object, "additionalProperties");
  cJSON_AddArrayToObject(object, "required");
  cJSON_AddObjectToObject(object, "properties");
  put_key(properties, key, object);
  return object;
}

static cJSON *schema_of(const struct hr_metric *metric) {
  bool nullable = metric->flags & HR_METRIC_NULLABLE, is_signed = metric->flags & HR_METRIC_SIGNED;
  bool whole = metric->kind == HR_METRIC_COUNT || metric->kind == HR_METRIC_EXTREME;
  cJSON *rule = cJSON_CreateObject();
  if (metric->unit == HR_UNIT_DOLLARS) {
    cJSON_AddStringToObject(rule, "$ref", nullable ? "#/$defs/usd_or_null" : "#/$defs/usd");
  } else if (is_signed) {
    const char *const types[] = {"number", "null"};
    cJSON_AddItemToObject(rule, "type", cJSON_CreateStringArray(types, nullable ? 2 : 1));
    if (metric->unit == HR_UNIT_SHARE) cJSON_AddNumberToObject(rule, "maximum", 1);
  } else if (metric->unit == HR_UNIT_SHARE || metric->unit == HR_UNIT_INDEX) {
    cJSON_AddStringToObject(rule, "$ref", "#/$defs/share");
  } else if (whole || nullable) {
    const char *const number = whole ? "#/$defs/count" : "#/$defs/figure";
    cJSON_AddStringToObject(rule, "$ref", whole && nullable ? "#/$defs/count_or_null" : number);
  } else {
    cJSON_AddStringToObject(rule, "type", "number");
    cJSON_AddNumberToObject(rule, "minimum", 0);
  }
  return rule;
}

/* Adds the schema of a metric at a path. A distribution has one description, at its object. */
static void add_metric(cJSON *rule, const char *path, unsigned metric) {
  char key[HR__METRIC_BYTES];
  bool is_statistic = same_distribution(metric, metric + 1) || (metric > 0 && same_distribution(metric - 1, metric));
  cJSON *leaf = schema_of(&hr__metric_rows[metric]), *objects[4] = {rule};
  size_t depth = 0;
  for (const char *dot; (dot = strchr(path, '.')); path = dot + 1) {
    snprintf(key, sizeof key, "%.*s", (int)(dot - path), path);
    objects[depth + 1] = object_in(objects[depth], key);
    depth++;
  }
  put_key(is_statistic ? objects[depth] : leaf, "description", cJSON_CreateString(hr__metric_rows[metric].help));
  put_key(cJSON_GetObjectItem(objects[depth], "properties"), path, leaf);
  for (size_t i = 1; i <= depth; i++) require_all(objects[i]);
}

/* Adds the first key of a path to the keys that every summary has. */
static void require_first(cJSON *tree, const char *path) {
  cJSON *required = cJSON_GetObjectItem(tree, "required"), *item;
  size_t length = strcspn(path, ".");
  cJSON_ArrayForEach(item, required) {
    if (strlen(item->valuestring) == length && strncmp(item->valuestring, path, length) == 0) return;
  }
  char key[HR__METRIC_BYTES];
  snprintf(key, sizeof key, "%.*s", (int)length, path);
  cJSON_AddItemToArray(required, cJSON_CreateString(key));
}

/* Returns the text of the tree, and frees the tree. */
static char *tree_text(cJSON *tree) {
  char *text = NULL;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  put_value(out, tree, 0, 0);
  fputc('\n', out);
  fclose(out);
  cJSON_Delete(tree);
  return text;
}

static cJSON *read_tree(const char *name) {
  char path[600];
  snprintf(path, sizeof path, PROJECT_DIR "/%s", name);
  char *now = files_read(path);
  cJSON *tree = cJSON_Parse(now);
  CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
  free(now);
  return tree;
}

char *generated_schema(const char *name, unsigned sections, bool groups) {
  cJSON *tree = read_tree(name);
  cJSON *group = cJSON_GetObjectItem(cJSON_GetObjectItem(tree, "$defs"), "group");
  for (unsigned i = 0; i < HR__N_METRICS; i++) {
    enum hr__metric metric = (enum hr__metric)i;
    enum hr__metric_section section = hr__metric_section(metric);
    const char *in_group = hr__metric_group_path(metric);
    if (section < HR__N_METRIC_SECTIONS && sections >> section & 1) add_metric(tree, hr__metric_json_path(metric), i);
    if (section == HR__SECTION_MAIN) require_first(tree, hr__metric_json_path(metric));
    if (groups && in_group) add_metric(group, in_group, i);
  }
  if (groups) require_all(group);
  if (groups) require_less(group, "ettr"); /* only if nodes fail */
  return tree_text(tree);
}

char *generated_columns(const char *name) {
  cJSON *tree = read_tree(name), *defs = cJSON_GetObjectItem(tree, "$defs");
  cJSON *means = cJSON_GetObjectItem(defs, "means"), *differences = cJSON_GetObjectItem(defs, "differences");
  for (unsigned i = 0; i < HR__N_METRICS; i++) {
    const struct hr_metric *metric = &hr__metric_rows[i];
    cJSON *mean = cJSON_CreateObject(), *difference = cJSON_CreateObject();
    cJSON_AddStringToObject(mean, "$ref", metric->flags & HR_METRIC_SIGNED ? "#/$defs/figure" : "#/$defs/mean");
    cJSON_AddStringToObject(difference, "$ref", "#/$defs/difference");
    put_key(cJSON_GetObjectItem(means, "properties"), metric->column, mean);
    put_key(cJSON_GetObjectItem(differences, "properties"), metric->column, difference);
  }
  require_all(means);
  require_all(differences);
  return tree_text(tree);
}
