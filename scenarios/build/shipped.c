/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lists the scenarios that ship with Headroom. They are in the folder `scenarios` of $HEADROOM_DATA. If this variable
 * is not set, two folders relative to the running program are tried. The first is ../share/headroom/scenarios, where
 * the scenarios are installed. The second is the folder in the source tree.
 */

#include "base/array.h"
#include "headroom/scenario.h"
#include "traces/json/json.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_FOLDER = 4096 };

static bool is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Removes the last component of a path. Returns false if the path has only one component. */
static bool cut_to_folder(char *path) {
  char *slash = strrchr(path, '/');
  if (slash) *slash = '\0';
  return slash != NULL;
}

/* Starts at the folder of the running program, goes up by `levels` folders, and sets `found` to the folder `tail`
   there. Returns false if this folder does not exist. */
static bool find_beside_program(unsigned levels, const char *tail, char *found, size_t size) {
  char program[MAX_FOLDER];
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length <= 0) return false;
  program[length] = '\0';
  for (unsigned i = 0; i <= levels; i++)
    if (!cut_to_folder(program)) return false;
  snprintf(found, size, "%s/%s", program, tail);
  return is_folder(found);
}

static bool find_folder(char *found, size_t size, struct hr_error *error) {
  const char *data = getenv("HEADROOM_DATA");
  if (data && data[0]) {
    snprintf(found, size, "%s/scenarios", data);
    if (is_folder(found)) return true;
    hr_fail(error, HR_BAD_INPUT, "%s: no such folder; HEADROOM_DATA is the folder that contains it", found);
    return false;
  }
  if (find_beside_program(1, "share/headroom/scenarios", found, size)) return true;
  if (find_beside_program(2, "scenarios", found, size)) return true;
  hr_fail(error, HR_BAD_INPUT,
          "no shipped scenarios beside the program; set HEADROOM_DATA to the folder that contains 'scenarios'");
  return false;
}

static char *member_text(const cJSON *tree, const char *name) {
  const cJSON *member = cJSON_GetObjectItemCaseSensitive(tree, name);
  return strdup(cJSON_IsString(member) ? member->valuestring : "");
}

static enum hr_status describe(char *path, struct hr_scenario_entry *entry, struct hr_error *error) {
  struct hr__json_file file;
  enum hr_status status = hr__json_file_read(path, &file, error);
  if (status != HR_OK) {
    free(path);
    return status;
  }
  *entry = (struct hr_scenario_entry){
      .path = path, .name = member_text(file.tree, "name"), .description = member_text(file.tree, "description")};
  hr__json_file_finish(&file);
  if (entry->name && entry->description) return HR_OK;
  free(path);
  free(entry->name);
  free(entry->description);
  return hr_fail(error, HR_NO_MEMORY, "out of memory");
}

static enum hr_status add_file(const char *folder, const char *name, struct hr_scenario_entry **entries, size_t *count,
                               struct hr_error *error) {
  size_t length = strlen(folder) + strlen(name) + 2;
  char *path = HR__ARRAY_RESIZE(*entries, *count + 1) ? malloc(length) : NULL;
  if (!path) return hr_fail(error, HR_NO_MEMORY, "out of memory");
  snprintf(path, length, "%s/%s", folder, name);
  enum hr_status status = describe(path, &(*entries)[*count], error);
  *count += status == HR_OK;
  return status;
}

static bool is_scenario_name(const char *name) {
  const char *dot = strrchr(name, '.');
  return name[0] != '.' && dot && strcmp(dot, ".json") == 0;
}

static int by_path(const void *a, const void *b) {
  const struct hr_scenario_entry *first = a, *second = b;
  return strcmp(first->path, second->path);
}

enum hr_status hr_scenario_list(struct hr_scenario_entry **entries, size_t *count, struct hr_error *error) {
  char folder[MAX_FOLDER + 64];
  *entries = NULL;
  *count = 0;
  if (!find_folder(folder, sizeof folder, error)) return HR_BAD_INPUT;
  DIR *directory = opendir(folder);
  if (!directory) return hr_fail(error, HR_IO_ERROR, "%s: cannot be read: %s", folder, strerror(errno));
  enum hr_status status = HR_OK;
  for (struct dirent *file; status == HR_OK && (file = readdir(directory));)
    if (is_scenario_name(file->d_name)) status = add_file(folder, file->d_name, entries, count, error);
  closedir(directory);
  if (status == HR_OK) {
    if (*count) qsort(*entries, *count, sizeof **entries, by_path);
    return HR_OK;
  }
  hr_scenario_list_free(*entries, *count);
  *entries = NULL;
  *count = 0;
  return status;
}

void hr_scenario_list_free(struct hr_scenario_entry *entries, size_t count) {
  for (size_t i = 0; i < count; i++) {
    free(entries[i].path);
    free(entries[i].name);
    free(entries[i].description);
  }
  free(entries);
}
