/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output_files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/headroom-report-XXXXXX";
static bool made;

static bool is_entry(const char *name) {
  return strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static void remove_all(void) {
  DIR *entries = opendir(folder);
  for (struct dirent *entry; entries && (entry = readdir(entries));)
    if (is_entry(entry->d_name)) unlink(files_path(entry->d_name));
  if (entries) closedir(entries);
  rmdir(folder);
}

const char *files_path(const char *name) {
  static char path[400];
  if (!made) {
    if (!mkdtemp(folder)) abort();
    made = true;
    atexit(remove_all);
  }
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

char *files_read(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) abort();
  fseek(file, 0, SEEK_END);
  size_t size = (size_t)ftell(file);
  rewind(file);
  char *text = malloc(size + 1);
  if (!text || fread(text, 1, size, file) != size) abort();
  text[size] = '\0';
  fclose(file);
  return text;
}

bool files_only(const char *name) {
  bool only = true;
  DIR *entries = opendir(folder);
  for (struct dirent *entry; entries && (entry = readdir(entries));)
    if (is_entry(entry->d_name) && !(name && strcmp(entry->d_name, name) == 0)) only = false;
  if (entries) closedir(entries);
  return only;
}
