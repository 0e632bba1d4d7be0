/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One row of a key table is enough for a key: for every row of the tables of scenarios, the key is validated,
   suggested, set by an override, stored in its struct, listed, in the schema and in the template. */

#include "harness.h"

#include "headroom/scenario.h"
#include "headroom/unstable/scenario_files.h"
#include "key_schema.h"
#include "scenarios/build/builder.h"

#include <stdio.h>
#include <string.h>

typedef void visit(const struct hr__key *key, const char *path);

/* Visits the keys below `parent`. In paths, names and indexes are "*". Like the list of keys, omits the members of
   objects that are marked `brief`. */
static void walk(const struct hr__key *parent, const char *path, visit *visit_key) {
  for (const struct hr__key *key = parent->keys; key && key->name; key++) {
    char below[300];
    if (parent->keys == hr__policy_keys && strcmp(key->name, "*") == 0) continue;
    snprintf(below, sizeof below, "%s%s%s", path, path[0] ? "." : "", key->name);
    visit_key(key, below);
    if (!parent->brief) walk(key, below, visit_key);
  }
}

/* ---- The list, the schema, the template ---------------------------------------------------------------- */

static struct hr_scenario_key *listed;
static size_t n_listed;
static cJSON *template;

static void expect_listed(const struct hr__key *key, const char *path) {
  const struct hr_scenario_key *found = NULL;
  for (size_t i = 0; i < n_listed && !found; i++)
    if (strcmp(listed[i].path, path) == 0) found = &listed[i];
  CU_ASSERT_PTR_NOT_NULL_FATAL(found);
  CU_ASSERT_EQUAL(found->required, key->required);
  CU_ASSERT_PTR_EQUAL(found->help, key->help);
  CU_ASSERT_EQUAL(found->fallback != NULL, key->fallback || key->otherwise);
  /* entries of lists are explained with their list */
  if (strcmp(key->name, "*") != 0) CU_ASSERT(key->help && key->help[0] && key->help[strlen(key->help) - 1] == '.');
}

static void every_row_is_listed(void) {
  struct hr_error error;
  CU_ASSERT_EQUAL_FATAL(hr_scenario_keys("", &listed, &n_listed, &error), HR_OK);
  walk(&hr__scenario_keys, "", expect_listed);
  hr_scenario_keys_free(listed, n_listed);
}

static void every_row_is_in_the_schema(void) {
  struct hr_error error;
  struct hr__json_file schema = {0};
  char *json;
  CU_ASSERT_EQUAL_FATAL(hr_scenario_schema(&json, &error), HR_OK);
  schema.tree = cJSON_Parse(json);
  key_schema_expect_table(&schema, &hr__scenario_keys);
  cJSON_Delete(schema.tree);
  free(json);
}

/* Returns true if an object at or below `at` has a comment with this name. */
static bool has_comment(const cJSON *at, const char *name) {
  if (at->string && strcmp(at->string, name) == 0) return true;
  for (const cJSON *child = at->child; child; child = child->next)
    if (has_comment(child, name)) return true;
  return false;
}

/* In the template, members of the listed `objects` are explained inside their object, and members of other objects in
   the surrounding object. */
static void expect_in_template(const struct hr__key *key, const char *path) {
  static const char *const objects[] = {"cluster.pools.*.", "cluster.", "trace.", "policy."};
  char comment[310];
  (void)key;
  if (strcmp(path, "cluster.pools.*") == 0) return;
  const char *name = path;
  for (size_t i = 0; i < sizeof objects / sizeof *objects && name == path; i++)
    if (strncmp(path, objects[i], strlen(objects[i])) == 0) name = path + strlen(objects[i]);
  snprintf(comment, sizeof comment, "//%s", name);
  bool found = has_comment(template, comment);
  if (!found) printf("\n  '%s' is not in the template\n", path);
  CU_ASSERT_TRUE(found);
}

static void every_row_is_in_the_template(void) {
  struct hr_error error;
  char *json;
  CU_ASSERT_EQUAL_FATAL(hr_scenario_template("jobs.csv", true, &json, &error), HR_OK);
  template = cJSON_Parse(json);
  walk(&hr__scenario_keys, "", expect_in_template);
  cJSON_Delete(template);
  free(json);
}

/* ---- Validation, suggestions, overrides ------------------------------------------------------------- */

static void expect_error(const char *override, const char *words) {
  struct hr_scenario *scenario;
  struct hr_error error = {0};
  enum hr_status status =
      hr_scenario_load(PROJECT_DIR "/scenarios/demo.json", (const char *const[]){override}, 1, &scenario, &error);
  if (status != HR_BAD_INPUT || !strstr(error.text, words)) printf("\n  %s: %s\n", override, error.text);
  CU_ASSERT_EQUAL_FATAL(status, HR_BAD_INPUT);
  CU_ASSERT(strstr(error.text, words) != NULL);
}

/* Paths through lists and names that the scenario 'demo' does not have are skipped. */
static void expect_checked(const struct hr__key *key, const char *path) {
  char place[300], override[400], words[400];
  snprintf(place, sizeof place, "%s", path);
  char *star = strstr(place, "cluster.pools.*");
  if (star) star[strlen("cluster.pools.")] = '0';
  if (strchr(place, '*')) return;
  bool is_text = key->type == HR__KEY_TEXT;
  snprintf(override, sizeof override, "%s=%s", place, is_text || key->type == HR__KEY_OBJECT ? "[]" : "{}");
  snprintf(words, sizeof words, "'%s' is ", place);
  if (!is_text) expect_error(override, words); /* the value of a text is used unchanged */
  snprintf(override, sizeof override, "%sx=1", place);
  snprintf(words, sizeof words, "did you mean '%s'?", place);
  if (strcmp(key->name, "*") != 0 && strcmp(path, "policy.name") != 0) expect_error(override, words);
}

static void every_row_is_checked(void) {
  walk(&hr__scenario_keys, "", expect_checked);
}

/* ---- Storing ---------------------------------------------------------------------------------------- */

static cJSON *value_of(const struct hr__key *key) {
  int count = 0;
  switch (key->type) {
  case HR__KEY_OBJECT: {
    cJSON *object = cJSON_CreateObject();
    if (key->store == HR__STORE_BY_CLASS) cJSON_AddItemToObject(object, "default", value_of(key->keys));
    return object;
  }
  case HR__KEY_LIST: {
    cJSON *list = cJSON_CreateArray();
    cJSON_AddItemToArray(list, value_of(key->keys));
    return list;
  }
  case HR__KEY_CHOICE:
    while (key->choices[count + 1]) count++;
    return cJSON_CreateString(key->choices[count]);
  case HR__KEY_BOOLEAN:
    return cJSON_CreateBool(key->store != HR__STORE_NOT);
  case HR__KEY_TEXT:
  case HR__KEY_SCALAR:
    return cJSON_CreateString("auto");
  case HR__KEY_WHOLE:
  case HR__KEY_REAL:
  case HR__KEY_SEED:
    return cJSON_CreateNumber(key->max);
  }
  return NULL;
}

static void free_stored(const struct hr__key *key, char *at) {
  struct hr_placed_text placed;
  char *text;
  memcpy(&text, at, sizeof text);
  if (key->store == HR__STORE_PLACED) {
    memcpy(&placed, at, sizeof placed);
    free(placed.text);
    free(placed.place);
  } else if (key->store == HR__STORE_ARRAY) {
    if (key->keys->store != HR__STORE_NONE) free_stored(key->keys, text);
    if (key->keys->type == HR__KEY_OBJECT) hr__finish_values(key->keys->keys, text); /* defaults of the entry */
    free(text);
  } else if (key->store == HR__STORE_TEXT || key->store == HR__STORE_FILE) {
    free(text);
  }
}

static void expect_stored(const struct hr__key *key, const char *path) {
  enum { BYTES = 1 << 14 };
  static const char zeros[BYTES];
  bool is_class_object = key->store == HR__STORE_BY_CLASS && key->keys->type == HR__KEY_OBJECT;
  if (key->store == HR__STORE_NONE || key->store == HR__STORE_PART || is_class_object) return;
  if (strcmp(key->name, "*") == 0) return; /* stored with its list */
  char *memory = calloc(1, BYTES), text[] = "{}";
  struct hr_error error;
  struct hr__builder builder = {.source = {.path = "test.json", .file = {.text = text}}, .error = &error};
  const struct hr__key row[] = {*key, END};
  cJSON *object = builder.source.file.tree = cJSON_CreateObject();
  cJSON_AddItemToObject(object, key->name, value_of(key));
  CU_ASSERT_EQUAL_FATAL(hr__read(&builder, object, row, memory), HR_OK);
  size_t bytes = key->store == HR__STORE_ARRAY ? sizeof(void *) : key->bytes;
  if (key->store == HR__STORE_BY_CLASS) bytes *= HR_N_CLASSES;
  bool stored = memcmp(memory + key->offset, zeros, bytes) != 0;
  if (!stored) printf("\n  '%s' is not stored\n", path);
  CU_ASSERT_TRUE(stored);
  free_stored(key, memory + key->offset);
  memset(memory + key->offset, 0, bytes);
  if (key->store == HR__STORE_ARRAY) memset(memory + key->count_offset, 0, key->count_bytes);
  CU_ASSERT_EQUAL(memcmp(memory, zeros, BYTES), 0); /* nothing else was written */
  cJSON_Delete(object);
  free(memory);
}

static void every_row_is_stored(void) {
  walk(&hr__scenario_keys, "", expect_stored);
  walk(&hr__suite_keys, "", expect_stored);
  walk(&hr__grid_keys, "", expect_stored);
  walk(&hr__baseline_keys, "", expect_stored);
}

TEST_MAIN("scenarios_keys", TEST(every_row_is_listed), TEST(every_row_is_in_the_schema),
          TEST(every_row_is_in_the_template), TEST(every_row_is_checked), TEST(every_row_is_stored))
