/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The files that a process may read.
 *
 * Data: one pointer, which is set at most once in the life of a worker, before it starts threads. It is global because
 * a reader could forget to check a limit that is passed as an argument, and because it belongs to the process, like
 * other limits (setrlimit).
 *
 * Invariant: of a confined process, a path is opened only if its real path, without "..", "." and symbolic links, is
 * below one of the folders and is that of a regular file or folder, or if it is the name of an alias.
 */

#include "base/confinement.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct hr__confinement *confined; /* NULL: the process may read all files */

void hr__confine(const struct hr__confinement *confinement) {
  confined = confinement;
}

bool hr__allows_plugins(void) {
  return !confined || confined->allow_plugins;
}

bool hr__is_below(const char *path, const char *folder) {
  size_t length = strlen(folder);
  while (length > 0 && folder[length - 1] == '/') length--;
  return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static bool is_allowed(const char *real) {
  for (size_t i = 0; i < confined->n_folders; i++)
    if (hr__is_below(real, confined->folders[i])) return true;
  return false;
}

/* Whether reading ends: a named pipe or a device could block the process for ever. */
static bool is_file_or_folder(const char *real) {
  struct stat info;
  return stat(real, &info) == 0 && (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode));
}

/* Whether the folder of a path that does not exist is allowed, so that the error may say that the file is missing. */
static bool may_tell_missing(const char *path) {
  char *folder = strdup(path);
  if (!folder) return false;
  char *slash = strrchr(folder, '/');
  if (slash) slash[slash == folder] = '\0';
  char *real = realpath(slash ? folder : ".", NULL);
  bool may = real && is_allowed(real);
  free(real);
  free(folder);
  return may;
}

const char *hr__input_path(const char *path) {
  if (!confined) return path;
  for (size_t i = 0; i < confined->n_aliases; i++)
    if (strcmp(confined->aliases[i].name, path) == 0) return confined->aliases[i].file;
  char *real = realpath(path, NULL);
  if (!real) {
    int number = errno;
    errno = may_tell_missing(path) ? number : EACCES;
    return NULL;
  }
  bool allowed = is_allowed(real) && is_file_or_folder(real);
  free(real);
  if (allowed) return path;
  errno = EACCES;
  return NULL;
}
