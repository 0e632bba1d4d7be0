/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The files that a process may read.
 *
 * Data: one pointer, which a process sets at most once, before it starts threads. It is global because a function that
 * reads files could forget to check a limit that is passed as an argument. It also belongs to the process, like other
 * limits (setrlimit).
 *
 * Invariant: a confined process opens a path only in two cases. Either the path is the name of an alias that no user
 * chose. Or its real path, without "..", "." and symbolic links, is that of a regular file or folder below one of the
 * allowed folders; for an alias that a user chose, this applies to the file of the alias. Users must not see the names
 * of the allowed folders, so messages contain paths as users wrote them.
 */

#include "base/confinement.h"

#include <ctype.h>
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

/* Whether a path is that of a regular file or folder. Reading a named pipe or a device could block the process for
   ever. */
static bool is_file_or_folder(const char *real) {
  struct stat info;
  return stat(real, &info) == 0 && (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode));
}

/* For a path that cannot be resolved: whether the error may report that the file is missing. It may if the folder of
   the path is allowed, and the path is not a symbolic link, which could lead out of the allowed folders. */
static bool may_tell_missing(const char *path) {
  struct stat info;
  if (lstat(path, &info) == 0) return false;
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
    if (strcmp(confined->aliases[i].name, path) == 0) {
      path = confined->aliases[i].file;
      if (!confined->aliases[i].is_foreign) return path;
      break;
    }
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

/* ---- Messages ------------------------------------------------------------------------------------------ */

const char *hr__output_name(const char *path) {
  const char *slash = confined ? strrchr(path, '/') : NULL;
  return slash ? slash + 1 : path;
}

const char *hr__phrase(const char *text) {
  for (size_t i = 0; confined && i < confined->n_phrases; i++)
    if (strcmp(confined->phrases[i].text, text) == 0) return confined->phrases[i].plain;
  return text;
}

static bool is_word(char c) {
  return isalnum((unsigned char)c) || c == '-';
}

/* Returns the phrase that begins at `at` in a format; NULL: none. A phrase consists of whole words: "--settings" does
   not contain the phrase "--set". */
static const struct hr__phrase *phrase_at(const char *format, const char *at) {
  for (size_t i = 0; i < confined->n_phrases; i++) {
    const struct hr__phrase *phrase = &confined->phrases[i];
    size_t length = strlen(phrase->text);
    if (strncmp(at, phrase->text, length) != 0) continue;
    bool begins = at == format || !is_word(at[0]) || !is_word(at[-1]);
    if (begins && (!is_word(at[length - 1]) || !is_word(at[length]))) return phrase;
  }
  return NULL;
}

char *hr__phrased(const char *format) {
  size_t bytes = 1, n_found = 0;
  if (!confined || !confined->n_phrases) return NULL;
  for (const char *at = format; *at;) {
    const struct hr__phrase *phrase = phrase_at(format, at);
    bytes += phrase ? strlen(phrase->plain) : 1;
    n_found += phrase != NULL;
    at += phrase ? strlen(phrase->text) : 1;
  }
  char *copy = n_found ? malloc(bytes) : NULL, *to = copy;
  for (const char *at = format; copy && *at;) {
    const struct hr__phrase *phrase = phrase_at(format, at);
    if (phrase)
      to = stpcpy(to, phrase->plain);
    else
      *to++ = *at;
    at += phrase ? strlen(phrase->text) : 1;
  }
  if (copy) *to = '\0';
  return copy;
}
