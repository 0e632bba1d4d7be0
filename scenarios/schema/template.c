/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes a scenario to begin with, and explains all keys in it.
 *
 * JSON has no comments. A member whose name begins with "//" is one, because the reader of JSON files removes it. Each
 * key of an object in the template is preceded by such a member; a key that is not in the template has only the
 * comment. The members of an object that is not in the template are explained in the object around it, with dotted
 * names: "//mig.layout".
 */

#include "headroom/scenario.h"
#include "headroom/unstable/scenario_keys.h"
#include "scenarios/schema/json_text.h"
#include "scenarios/schema/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char *hr__json_pretty(const cJSON *tree) {
  char *tabbed = cJSON_Print(tree), *at;
  char *text = tabbed ? malloc(2 * strlen(tabbed) + 2) : NULL;
  at = text;
  /* strings contain no tabs: cJSON writes them as \t */
  for (const char *from = tabbed; text && *from; from++) {
    bool is_tab = *from == '\t', is_space = is_tab && from != tabbed && from[-1] == ':';
    *at++ = is_tab ? ' ' : *from;
    if (is_tab && !is_space) *at++ = ' ';
  }
  if (text) strcpy(at, "\n");
  cJSON_free(tabbed);
  return text;
}

static const char skeleton[] =
    "{\"name\": \"my-scenario\", \"trace\": {},"
    "\"cluster\": {\"pools\": [{\"name\": \"a100\", \"gpu\": \"A100-80\", \"nodes\": 8, \"gpus_per_node\": 8}]},"
    "\"policy\": {\"name\": \"queue\", \"order\": \"fifo\", \"backfill\": \"easy\"}, \"seed\": 1}";

/* Returns the trace of the shipped scenario 'demo'; NULL if it is not found. The caller frees it. */
static char *shipped_trace(void) {
  struct hr_scenario_entry *entries;
  size_t count;
  char *found = NULL;
  if (hr_scenario_list(&entries, &count, NULL) != HR_OK) return NULL;
  for (size_t i = 0; i < count && !found; i++) {
    char path[4300];
    const char *slash = strrchr(entries[i].path, '/');
    snprintf(path, sizeof path, "%.*s/../traces/reference/demo.csv", (int)(slash - entries[i].path), entries[i].path);
    found = realpath(path, NULL);
  }
  hr_scenario_list_free(entries, count);
  return found;
}

static cJSON *make_skeleton(const char *trace) {
  cJSON *tree = cJSON_Parse(skeleton);
  cJSON *member = cJSON_GetObjectItemCaseSensitive(tree, "trace");
  if (!trace) {
    cJSON_DeleteItemFromObjectCaseSensitive(tree, "trace");
    return tree;
  }
  if (tree && cJSON_AddStringToObject(member, "file", trace)) return tree;
  cJSON_Delete(tree);
  return NULL;
}

/* ---- Comments --------------------------------------------------------------------------------------- */

/* Writes "number from 0 to 100000 USD; default: 0; only with market spot. HELP". */
static void explain(const struct hr_scenario_key *key, char *text, size_t size) {
  snprintf(text, size, "%s%s%s%s%s%s%s%s%s%s. %s", key->type, key->unit ? ", in " : "", key->unit ? key->unit : "",
           key->required ? "; required" : "", key->fallback ? "; default: " : "", key->fallback ? key->fallback : "",
           key->only_with ? "; only with " : "", key->only_with ? key->only_with : "",
           key->newer ? "; old name of " : "", key->newer ? key->newer : "", key->help ? key->help : "");
}

/* Returns the object of the template that contains the key at `path`, or the objects around it. Sets `*name` to the
   rest of the path. Entries of lists are represented by the first one. */
static cJSON *place_of(cJSON *tree, const char *path, const char **name) {
  cJSON *at = tree;
  *name = path;
  for (const char *dot = strchr(path, '.'); dot; dot = strchr(*name, '.')) {
    char step[100];
    snprintf(step, sizeof step, "%.*s", (int)(dot - *name), *name);
    cJSON *below = cJSON_IsArray(at) ? at->child : cJSON_GetObjectItemCaseSensitive(at, step);
    if (!cJSON_IsObject(below) && !cJSON_IsArray(below)) break;
    at = below;
    *name = dot + 1;
  }
  return at;
}

/* Moves the member `name` of an object to its end. */
static void move_to_end(cJSON *object, const char *name) {
  cJSON *member = cJSON_DetachItemFromObjectCaseSensitive(object, name);
  if (member) cJSON_AddItemToObject(object, name, member);
}

static bool add_comment(cJSON *tree, const struct hr_scenario_key *key) {
  const char *name;
  char comment[200], text[1600];
  cJSON *object = place_of(tree, key->path, &name);
  if (!cJSON_IsObject(object)) return true; /* the entry of a list is explained with its members */
  snprintf(comment, sizeof comment, "//%s", name);
  if (cJSON_GetObjectItemCaseSensitive(object, comment)) return true; /* a parameter of two policies */
  explain(key, text, sizeof text);
  if (!cJSON_AddStringToObject(object, comment, text)) return false;
  move_to_end(object, name);
  return true;
}

static bool add_comments(cJSON *tree, struct hr_error *error) {
  struct hr_scenario_key *keys;
  size_t count;
  if (hr_scenario_keys("", &keys, &count, error) != HR_OK) return false;
  bool is_whole = true;
  for (size_t i = 0; i < count && is_whole; i++) is_whole = add_comment(tree, &keys[i]);
  hr_scenario_keys_free(keys, count);
  return is_whole;
}

enum hr_status hr_scenario_template(const char *trace, bool all, char **json, struct hr_error *error) {
  char *shipped = trace ? NULL : shipped_trace();
  cJSON *tree = make_skeleton(trace ? trace : shipped);
  free(shipped);
  bool is_whole = tree && (!all || add_comments(tree, error));
  *json = is_whole ? hr__json_pretty(tree) : NULL;
  cJSON_Delete(tree);
  return *json ? HR_OK : hr_fail(error, HR_NO_MEMORY, "out of memory");
}
