/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which inputs of a run differ from those of its baseline, in the order in which a reader looks for a cause: the trace,
 * the keys of the scenario after overrides, other files.
 *
 * A baseline contains the scenario after overrides as JSON. Both scenarios are compared key by key. Entries of lists
 * that have names, such as pools, are matched by name, so that a pool that was inserted is one difference. A baseline
 * of an older program lacks the scenario; then only policy, seed and changed files are known.
 */

#include "plan/check/check.h"

#include "report/tables/json_tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LISTED = 12, VALUE_BYTES = 80, PATH_BYTES = 300 };

/* ---- Scenarios, key by key -------------------------------------------------------------------------- */

struct key_differences {
  struct hr_notes *causes;
  const char *file; /* name of the scenario */
  size_t count;
  bool of_policy, of_seed;
  bool out_of_memory;
};

/* Writes a value: a text without quotes, other values as JSON. Long values are cut. */
static const char *value_text(const cJSON *value, char *buffer) {
  char *json = cJSON_IsString(value) ? NULL : cJSON_PrintUnformatted(value);
  const char *text = value && cJSON_IsString(value) ? value->valuestring : json ? json : "";
  snprintf(buffer, VALUE_BYTES, "%s", text);
  if (strlen(text) >= VALUE_BYTES) memcpy(buffer + VALUE_BYTES - 4, "...", 4);
  cJSON_free(json);
  return buffer;
}

/* Adds a difference. `before` or `now` is NULL if the key exists only once. */
static void add_difference(struct key_differences *to, const char *path, const cJSON *before, const cJSON *now) {
  char was[VALUE_BYTES], is[VALUE_BYTES];
  enum hr_status status = HR_OK;
  to->of_policy = to->of_policy || strncmp(path, "policy", strlen("policy")) == 0;
  to->of_seed = to->of_seed || strcmp(path, "seed") == 0;
  if (to->count++ >= MAX_LISTED) return;
  if (before && now)
    status =
        hr_notes_add(to->causes, "%.200s: %s %s -> %s", to->file, path, value_text(before, was), value_text(now, is));
  else
    status = hr_notes_add(to->causes, "%.200s: %s %s: %s", to->file, path, now ? "added" : "removed",
                          value_text(now ? now : before, is));
  to->out_of_memory = to->out_of_memory || status != HR_OK;
}

static void compare_values(struct key_differences *to, const char *path, const cJSON *before, const cJSON *now);

/* Whether a key of the outermost object has no effect on runs. */
static bool is_ignored(const char *path, const char *key) {
  return path[0] == '\0' && (strcmp(key, "$schema") == 0 || strcmp(key, "description") == 0);
}

static void compare_member(struct key_differences *to, const char *path, const char *key, const cJSON *before,
                           const cJSON *now) {
  char member[PATH_BYTES];
  if (is_ignored(path, key)) return;
  snprintf(member, sizeof member, "%.200s%s%.80s", path, path[0] ? "." : "", key);
  compare_values(to, member, before, now);
}

static void compare_objects(struct key_differences *to, const char *path, const cJSON *before, const cJSON *now) {
  for (const cJSON *item = now->child; item; item = item->next)
    compare_member(to, path, item->string, cJSON_GetObjectItemCaseSensitive(before, item->string), item);
  for (const cJSON *item = before->child; item; item = item->next)
    if (!cJSON_HasObjectItem(now, item->string) || !cJSON_GetObjectItemCaseSensitive(now, item->string))
      compare_member(to, path, item->string, item, NULL);
}

static const char *name_of(const cJSON *entry) {
  const cJSON *name = cJSON_IsObject(entry) ? cJSON_GetObjectItemCaseSensitive(entry, "name") : NULL;
  return name && cJSON_IsString(name) ? name->valuestring : NULL;
}

static const cJSON *named(const cJSON *list, const char *name) {
  for (const cJSON *entry = list->child; entry; entry = entry->next)
    if (name_of(entry) && strcmp(name_of(entry), name) == 0) return entry;
  return NULL;
}

static bool all_named(const cJSON *list) {
  for (const cJSON *entry = list->child; entry; entry = entry->next)
    if (!name_of(entry) || named(list, name_of(entry)) != entry) return false;
  return true;
}

static void compare_lists(struct key_differences *to, const char *path, const cJSON *before, const cJSON *now) {
  bool by_name = all_named(before) && all_named(now);
  char index[16];
  int i = 0;
  if (!by_name && cJSON_GetArraySize(before) != cJSON_GetArraySize(now)) {
    add_difference(to, path, before, now);
    return;
  }
  for (const cJSON *entry = now->child; entry; entry = entry->next, i++) {
    snprintf(index, sizeof index, "%d", i);
    compare_member(to, path, index, by_name ? named(before, name_of(entry)) : cJSON_GetArrayItem(before, i), entry);
  }
  i = 0;
  for (const cJSON *entry = before->child; by_name && entry; entry = entry->next, i++) {
    snprintf(index, sizeof index, "%d", i);
    if (!named(now, name_of(entry))) compare_member(to, path, index, entry, NULL);
  }
}

static void compare_values(struct key_differences *to, const char *path, const cJSON *before, const cJSON *now) {
  if (before && now && cJSON_IsObject(before) && cJSON_IsObject(now))
    compare_objects(to, path, before, now);
  else if (before && now && cJSON_IsArray(before) && cJSON_IsArray(now))
    compare_lists(to, path, before, now);
  else if (!before || !now || !cJSON_Compare(before, now, true))
    add_difference(to, path, before, now);
}

/* Compares the scenarios. Returns false if one of them is unknown. */
static bool compare_scenarios(struct hr__check_case *item, struct key_differences *to) {
  cJSON *before = item->before->scenario ? cJSON_Parse(item->before->scenario) : NULL;
  cJSON *now = item->now.scenario ? cJSON_Parse(item->now.scenario) : NULL;
  bool known = cJSON_IsObject(before) && cJSON_IsObject(now);
  if (known) compare_values(to, "", before, now);
  if (known && to->count > MAX_LISTED &&
      hr_notes_add(to->causes, "%.200s: and %zu more keys", to->file, to->count - MAX_LISTED) != HR_OK)
    to->out_of_memory = true;
  cJSON_Delete(before);
  cJSON_Delete(now);
  return known;
}

/* ---- Policies as words ------------------------------------------------------------------------------ */

/* Whether `list` contains the word. The words of `list` are separated by ", ". */
static bool has_word(const char *list, const char *word, size_t length) {
  for (const char *at = strstr(list, word); at; at = strstr(at + 1, word)) {
    bool begins = at == list || at[-1] == ' ', ends = at[length] == '\0' || at[length] == ',';
    if (begins && ends) return true;
  }
  return false;
}

/* Writes to `text` the words of `list` that `other` lacks. */
static void words_missing(const char *list, const char *other, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (const char *at = list; *at && used < size;) {
    char word[200];
    size_t length = strcspn(at, ":,");
    snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), at);
    if (!has_word(other, word, strlen(word)) && strncmp(other, word, strlen(word)) != 0)
      used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", word);
    at += length;
    at += strspn(at, ":, ");
  }
}

static enum hr_status note_policy(struct hr__check_case *item) {
  char was[400], is[400];
  if (strcmp(item->before->policy, item->now.policy) == 0) return HR_OK;
  words_missing(item->before->policy, item->now.policy, was, sizeof was);
  words_missing(item->now.policy, item->before->policy, is, sizeof is);
  return hr_notes_add(&item->causes, "policy: %s; before: %s", is[0] ? is : "(not set)", was[0] ? was : "(not set)");
}

/* ---- Other inputs ----------------------------------------------------------------------------------- */

static const struct hr_baseline_input *find_input(const struct hr_baseline_run *run, const char *name) {
  for (size_t i = 0; i < run->n_inputs; i++)
    if (strcmp(run->inputs[i].name, name) == 0) return &run->inputs[i];
  return NULL;
}

/* Notes the files that differ. `scenario`: name of the scenario if its keys were compared; NULL: they were not. */
static enum hr_status note_inputs(struct hr__check_case *item, const char *scenario, bool keys_differ) {
  enum hr_status status = HR_OK;
  for (size_t i = 0; i < item->now.n_inputs && status == HR_OK; i++) {
    const struct hr_baseline_input *now = &item->now.inputs[i], *before = find_input(item->before, now->name);
    bool is_scenario = scenario && strcmp(now->name, scenario) == 0;
    if ((before && before->digest == now->digest) || (is_scenario && keys_differ)) continue;
    status = hr_notes_add(&item->causes, "%.200s was %s since the baseline%s", now->name, before ? "changed" : "added",
                          before && is_scenario ? ", but all its values are the same" : "");
  }
  for (size_t i = 0; i < item->before->n_inputs && status == HR_OK; i++)
    if (!find_input(&item->now, item->before->inputs[i].name))
      status = hr_notes_add(&item->causes, "%.200s is no longer an input", item->before->inputs[i].name);
  return status;
}

static enum hr_status note_trace(struct hr__check_case *item) {
  if (!item->other_trace) return HR_OK;
  return hr_notes_add(&item->causes, "the trace %.200s differs from the baseline's%s", item->now.trace,
                      item->wants_digest ? "" : "; jobs are not compared");
}

/* Without a changed input, the program or a shared object differs. */
static enum hr_status note_program(struct hr__check_case *item, const char *version) {
  if (item->causes.count || (!item->n_changes && !item->other_digest)) return HR_OK;
  if (strcmp(version, hr_version()) == 0)
    return hr_notes_add(&item->causes, "no input changed since the baseline, so the program or a policy did");
  return hr_notes_add(&item->causes, "no input changed since the baseline, so the program did: headroom %.100s -> %s",
                      version, hr_version());
}

/* Returns the name of a file without its folders; points into `path`. */
static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash && slash[1] ? slash + 1 : path;
}

enum hr_status hr__check_causes(struct hr__check_case *item, const char *version) {
  struct key_differences keys = {.causes = &item->causes, .file = base_name(item->run->scenario)};
  enum hr_status status = note_trace(item);
  bool known = status == HR_OK && compare_scenarios(item, &keys);
  if (keys.out_of_memory) status = HR_NO_MEMORY;
  if (status == HR_OK && !keys.of_policy) status = note_policy(item);
  if (status == HR_OK && !keys.of_seed && item->before->seed != item->now.seed)
    status = hr_notes_add(&item->causes, "seed: %" PRIu64 "; before: %" PRIu64, item->now.seed, item->before->seed);
  if (status == HR_OK && item->before->replications != item->now.replications)
    status = hr_notes_add(&item->causes, "replications: %" PRIu32 "; before: %" PRIu32, item->now.replications,
                          item->before->replications);
  if (status == HR_OK) status = note_inputs(item, known ? keys.file : NULL, keys.count > 0);
  return status == HR_OK ? note_program(item, version) : status;
}
